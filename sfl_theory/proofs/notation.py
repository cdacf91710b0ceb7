"""How proofs are written: short names for terms, rules that take plain numbers."""

from __future__ import annotations

from collections.abc import Iterable

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    ROUND,
    UNIT,
    Binder,
    Client,
    ClientFamily,
    Kind,
    Lin,
    Odds,
    Pace,
    Participants,
    PerClient,
    PerRound,
    Point,
    Rate,
    RoundFamily,
    Split,
    Steps,
    Var,
    Vec,
    constant,
    natural,
    summed,
    symbol,
    vec,
)

Uses = Iterable[tuple[Theorem, Number]]
Squares = Iterable[tuple[Vec, Number]]


def nat(name: str) -> Var:
    """Return a natural number."""
    return Var(name, Sort.NATURAL)


def count(name: str) -> Ratio:
    """Return a natural number that is at least 1."""
    return symbol(Var(name, Sort.COUNT))


def nonnegative(name: str) -> Ratio:
    """Return a number >= 0."""
    return symbol(Var(name, Sort.NONNEGATIVE))


def positive(name: str) -> Ratio:
    """Return a number > 0."""
    return symbol(Var(name, Sort.POSITIVE))


def of(v: Var) -> Ratio:
    """Return a variable as a number."""
    return symbol(v)


def per_client(name: str, n: Client) -> Ratio:
    """Return a number >= 0 that belongs to a client."""
    return symbol(PerClient(ClientFamily(name, Sort.NONNEGATIVE), n))


def rates(name: str) -> Rate:
    """Return positive learning rates, one for each round."""
    return Rate(symbol(PerRound(RoundFamily(name, Sort.POSITIVE), natural(of_round()))))


def of_round() -> Ratio:
    """Return the argument of a rate."""
    return symbol(ROUND)


def point(name: str) -> Vec:
    """Return an arbitrary vector."""
    return vec(Point(name))


def inverse_q(n: Client) -> Ratio:
    """Return ``1/q_n``."""
    return 1 + symbol(Odds(n))


def equal_paces(
    kind: Kind, tau: Number, rate: Rate, who: Participants = Participants.EVERYONE
) -> Split:
    """Return a run in which both sides step together."""
    pace = Pace(natural(tau), rate)
    return Split(kind, who, pace, pace)


def steps(upper: Number) -> Steps:
    """Return the binder of the naturals below a limit."""
    return Steps(natural(upper))


def clients(n: Client, form: Lin) -> Lin:
    """Return the sum over clients."""
    return summed(CLIENTS, n, form)


def mean(n: Client, number: Number) -> Ratio:
    """Return ``sum_n number`` as a number."""
    form = summed(CLIENTS, n, constant(number))
    return form.coefficients.get(UNIT, ratio(0))


def number_of_clients() -> Ratio:
    """Return N."""
    return mean(Client("n"), 1)


def combine(
    uses: Uses = (),
    squares: Squares = (),
    target: Lin | None = None,
    signs: Iterable[Theorem] = (),
) -> Theorem:
    """Return `rules.combine` of plain numbers."""
    return rules.combine(
        tuple((theorem, ratio(c)) for theorem, c in uses),
        tuple((vector, ratio(c)) for vector, c in squares),
        target,
        tuple(signs),
    )


def sign(number: Ratio, *uses: tuple[Theorem, Number]) -> Theorem:
    """Return ``number >= 0`` from sign theorems."""
    return combine(uses, target=constant(number))


def sum_over(
    theorem: Theorem,
    binder: Binder,
    v: Client | Var,
    factor: Number = 1,
    signs: Iterable[Theorem] = (),
) -> Theorem:
    """Return `rules.sum_over` with a plain number."""
    return rules.sum_over(theorem, binder, v, ratio(factor), tuple(signs))


def both(
    theorem: Theorem, tau: Number, i: Var, n: Client, factor: Number = 1
) -> Theorem:
    """Return the sum over local steps, then over clients."""
    return sum_over(sum_over(theorem, steps(tau), i), CLIENTS, n, factor)


def over(tau: Number, i: Var, n: Client, form: Lin, factor: Number = 1) -> Lin:
    """Return the form summed over local steps, then over clients."""
    return summed(CLIENTS, n, summed(steps(tau), i, form) * factor)
