"""How proofs are written: short names for terms, rules that take plain numbers."""

from __future__ import annotations

from collections.abc import Iterable

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem

Use = Theorem | tuple[Theorem | k.Vec, Number]
"""What a combination adds up: a theorem or ``||u||^2 >= 0``, with its factor."""
Uses = Iterable[tuple[Theorem, Number]]
Squares = Iterable[tuple[k.Vec, Number]]


def nat(name: str) -> k.Var:
    """Return a natural number."""
    return k.Var(name, Sort.NATURAL)


def count(name: str) -> Ratio:
    """Return a natural number that is at least 1."""
    return k.symbol(k.Var(name, Sort.COUNT))


def nonnegative(name: str) -> Ratio:
    """Return a number >= 0."""
    return k.symbol(k.Var(name, Sort.NONNEGATIVE))


def positive(name: str) -> Ratio:
    """Return a number > 0."""
    return k.symbol(k.Var(name, Sort.POSITIVE))


def of(v: k.Var) -> Ratio:
    """Return a variable as a number."""
    return k.symbol(v)


def per_client(name: str, n: k.Client) -> Ratio:
    """Return a number >= 0 that belongs to a client."""
    return k.symbol(k.PerClient(k.ClientFamily(name, Sort.NONNEGATIVE), n))


def rates(name: str) -> k.Rate:
    """Return positive learning rates, one for each round."""
    return k.Rate(
        k.symbol(k.PerRound(k.RoundFamily(name, Sort.POSITIVE), k.natural(of_round())))
    )


def of_round() -> Ratio:
    """Return the argument of a rate."""
    return k.symbol(k.ROUND)


def point(name: str) -> k.Vec:
    """Return an arbitrary vector."""
    return k.vec(k.Point(name))


def inverse_q(n: k.Client) -> Ratio:
    """Return ``1/q_n``."""
    return 1 + k.symbol(k.Odds(n))


def equal_paces(
    kind: k.Kind,
    tau: Number,
    rate: k.Rate,
    who: k.Participants = k.Participants.EVERYONE,
) -> k.Split:
    """Return a run in which both sides step together."""
    pace = k.Pace(k.natural(tau), rate)
    return k.Split(kind, who, pace, pace)


def steps(upper: Number) -> k.Steps:
    """Return the binder of the naturals below a limit."""
    return k.Steps(k.natural(upper))


def mean(n: k.Client, number: Number) -> Ratio:
    """Return ``sum_n number`` as a number."""
    form = k.summed(k.CLIENTS, n, k.constant(number))
    return form.coefficients.get(k.UNIT, ratio(0))


def number_of_clients() -> Ratio:
    """Return N."""
    return mean(k.Client("n"), 1)


def combine(
    *uses: Use, target: k.Lin | None = None, signs: Iterable[Theorem] = ()
) -> Theorem:
    """Return a sum of theorems and squares; `rules.combine` of plain numbers.

    Args:
        *uses: ``theorem`` or ``(theorem, c)``: c times a theorem; ``(u, c)``: c times
            ``||u||^2 >= 0``.
        target: what the sum has to be, up to a remainder that is >= 0 by its signs.
        signs: theorems on numbers that show a factor or the remainder to be >= 0.

    Returns:
        ``target >= 0``, or that the sum is.
    """
    pairs = [(use, 1) if isinstance(use, Theorem) else use for use in uses]
    return rules.combine(
        tuple((one, ratio(c)) for one, c in pairs if isinstance(one, Theorem)),
        tuple((one, ratio(c)) for one, c in pairs if isinstance(one, k.Vec)),
        target,
        tuple(signs),
    )


def sign(number: Ratio, *uses: Use) -> Theorem:
    """Return ``number >= 0`` from sign theorems."""
    return combine(*uses, target=k.constant(number))


def at_least(number: Number) -> Theorem:
    """Return the assumption ``number >= 0``."""
    return rules.assume(k.constant(ratio(number)))


def variable(number: Ratio) -> k.Var:
    """Return the parameter that a number is."""
    (found,) = (one for one in number.free if isinstance(one, k.Var))
    return found


def sum_over(
    theorem: Theorem,
    binder: k.Binder,
    v: k.Client | k.Var,
    factor: Number = 1,
    signs: Iterable[Theorem] = (),
) -> Theorem:
    """Return `rules.sum_over` with a plain number."""
    return rules.sum_over(theorem, binder, v, ratio(factor), tuple(signs))
