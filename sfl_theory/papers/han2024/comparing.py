r"""Statements that compare printed bounds, and the rows of App. H as written numbers.

A statement is a function of the `Data` of its bounds. Where it needs ``mu <= S`` it is
proved for ``S = mu + (S - mu)``, where signs show it.

:math:`\sigma_n=\sigma`, :math:`Q=\sum_n1/q_n`. ``decay`` stands for
:math:`e^{-\mu T/S}`. Roots are parameters, as in `printed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence import Claim, Kind, Model, Part, Proof, Says, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import with_roots
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number, Written
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.printed import Bound, Data, Root, partial, shared
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs import numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import Uses

K = 1000
"""What "absolute constants are omitted" may hide."""

Build = Callable[[Data], Says]
Shown = Callable[[Data, Statement], Uses]
Built = Callable[[], ModelData]
SIGMA2 = w.nonnegative("sigma2", r"\sigma^2")
ONE_SIGMA = Data(sigma2=lambda _: SIGMA2)
EQUAL = replace(ONE_SIGMA, a=lambda _: 1 / N)
SMOOTHER = w.at_most(s.mu, s.S).called("mu <= S")
PRINTED = "a sentence about the printed bounds, whether or not they hold themselves"
SIGNS = "Over a common denominator every term of the difference has a sign."


def nothing(_: Data, __: Statement) -> Uses:
    """Return no theorems: signs are enough."""
    return ()


def compared(
    build: Build,
    d: Data,
    uses: Shown = nothing,
    words: str = SIGNS,
    reading: str = "",
    model: Built | None = None,
) -> Part:
    """Return a statement on bounds and its proof, for S >= mu if it assumes that."""
    says = build(d)

    def theorem() -> Theorem:
        if SMOOTHER not in says.assumed:
            statement = says.statement("numbers")
            return numbers.shown(statement, uses(d, statement))
        apart = replace(d, S=s.steep)
        statement = build(apart).statement("numbers")
        proved = numbers.shown(statement, uses(apart, statement))
        return numbers.at_least(proved, d.S.value, d.mu.value)

    return Part(says, Proof(theorem, words, model), reading)


def broken(
    says: Says,
    data: Built,
    words: str = "",
    reading: str = "",
    small: Bound | None = None,
    large: Bound | None = None,
) -> Part:
    """Return a statement that a model breaks; roots of both sides are added to it."""

    def model() -> ModelData:
        return with_roots(data(), _roots(small), _roots(large))

    return Part(says, Model(model, words), reading)


def _roots(bound: Bound | None) -> list[tuple[w.Number, int, w.Form]]:
    roots = bound.roots if bound else ()
    return [(root.value, root.degree, root.radicand) for root in roots]


def entry(
    name: str,
    location: str,
    title: str,
    parts: tuple[Part, ...],
    uses: str,
    scope: str = "",
) -> Claim:
    """Return a claim on a sentence that nothing refutes."""
    name = f"han2024/text/{name}"
    return Kind.TEXT(name, location, title, *parts, uses=uses, scope=scope)


def theorems(case: str, of: tuple[str, ...] = printed.NUMBERS) -> str:
    """Return the ids of a case of theorems."""
    return " ".join(f"thm-{number}/{case}" for number in of)


def smaller(number: str, case: str, d: Data) -> Bound:
    """Return a printed bound for the smaller side: its roots r may vanish."""
    if case != "general_convex":
        return printed.bound(number, case, d)
    r2, r3 = (w.nonnegative(f"r{k}", f"r_{k}") for k in (2, 3))
    return printed.general_convex(number, d, r2, r3)


def roots_of(
    statement: Statement,
    small: Bound,
    large: Bound,
    grown: tuple[int, int] = (1, 1),
    uses: tuple[Uses, Uses] = ((), ()),
) -> list[Theorem]:
    """Return ``r <= k c`` for the square and the cube roots of two bounds.

    Args:
        statement: assumes what `Bound.below` and `Bound.above` say.
        small: with roots r.
        large: with roots c.
        grown: the factors k.
        uses: what shows, beside signs, that the radicands compare.

    Returns:
        A theorem for each; none where there are no roots.
    """
    if not small.roots:
        return []
    return [
        numbers.roots(
            statement, r.value.value, c.value.value, r.degree, (1, factor), more
        )
        for r, c, factor, more in zip(
            small.roots, large.roots, grown, uses, strict=True
        )
    ]


def below(
    number: str, other: str, case: str, larger: Data, reading: str = PRINTED
) -> Part:
    """Return that a bound is at most another one, or itself with other data."""

    def build(d: Data) -> Says:
        small, large = smaller(number, case, d), printed.bound(other, case, larger)
        return says(small.right, large.right, *small.below, *large.above)

    def uses(d: Data, statement: Statement) -> Uses:
        small, large = smaller(number, case, d), printed.bound(other, case, larger)
        return [(one, Fraction(1, 2)) for one in roots_of(statement, small, large)]

    return compared(build, Data(), uses, reading=reading)


def grows(of: tuple[str, ...], cases: tuple[str, ...], d: Data) -> tuple[Part, ...]:
    """Return that bounds are no larger than with other data."""
    return tuple(below(number, number, case, d) for case in cases for number in of)


# The rows of Tables 1-3 of App. H as printed, as written numbers ---------------------

decay = w.nonnegative("decay", r"e^{-\mu T/S}")
Gamma = w.nonnegative("Gamma", r"\Gamma")
star_noise = w.nonnegative("star_noise", r"\sigma_*^2")
star_apart = w.nonnegative("star_apart", r"\epsilon_*^2")


def Q(d: Data) -> Number:
    r"""Return :math:`Q=\sum_n1/q_n`."""
    return Written(w.over_clients(n, d.inverse_q(n)).value, "Q")


def _power(number: str) -> Number:
    return N**2 if shared(number) else N


def _noise(number: str, d: Data) -> Number:
    gradients = d.G2 * (1 + Q(d)) if partial(number) else d.G2
    return _power(number) * (d.sigma2(n) + gradients)


def strongly_convex(number: str, d: Data) -> Bound:
    """Return the strongly convex row of a theorem."""
    inside = w.as_form(_noise(number, d)) + d.mu * d.S * d.I_err
    return Bound((d.S / (d.mu * (d.S + d.mu * d.T)) * inside,))


def _radicands(number: str, d: Data) -> tuple[Number, Number]:
    drift = _power(number) * (d.sigma2(n) + d.G2)
    return _noise(number, d) / d.T, drift / d.T


def general_convex(number: str, d: Data, square: Number, cube: Number) -> Bound:
    """Return the general convex row of a theorem."""
    second, third = map(w.as_form, _radicands(number, d))
    return Bound(
        (w.as_form(square), w.as_form(cube), d.S / d.T * d.I_err),
        (Root(square, 2, second), Root(cube, 3, third)),
    )


def non_convex(number: str, d: Data) -> Bound:
    """Return the non-convex row of a theorem."""
    top = _power(number) * d.S * (d.sigma2(n) + d.eps2)
    top = top * Q(d) if partial(number) else top
    return Bound((w.as_form(top / d.T), d.F_err / d.T))


def rate(number: str, d: Data) -> Form:
    """Return what the strongly convex row is without the factors N that it gives away.

    For equal weights: no N for SFL-V1, Q/N for Q, N Q for N^2 Q.
    """
    noise, gradients = d.sigma2(n) + d.G2, d.G2 * Q(d)
    noise = N**2 * noise if shared(number) else noise
    if partial(number):
        noise = noise + (N * gradients if shared(number) else gradients / N)
    inside = w.as_form(noise) + d.mu * d.S * d.I_err
    return d.S / (d.mu * (d.S + d.mu * d.T)) * inside


def scaled(number: str, d: Data, square: Number, cube: Number) -> Bound:
    """Return the general convex row with I_err, and S, kept under its roots."""
    second, third = _radicands(number, d)
    return Bound(
        general_convex(number, d, square, cube).terms,
        (Root(square, 2, d.I_err * second), Root(cube, 3, d.S * d.I_err * third)),
    )


def with_rates(number: str, d: Data) -> Form:
    """Return the non-convex row with the learning rates and tau kept."""
    top = _power(number) * d.S * d.tau * (d.sigma2(n) + d.eps2)
    top = top * Q(d) if partial(number) else top
    return w.as_form(top / d.T * d.squares) + d.F_err / (d.T * d.tau)


def row(number: str, case: str, d: Data) -> Bound:
    """Return the row of a theorem's case; its roots are c2 and c3."""
    if case == "general_convex":
        c2, c3 = (w.positive(f"c{k}", f"c_{k}") for k in (2, 3))
        return general_convex(number, d, c2, c3)
    return (strongly_convex if case == "strongly_convex" else non_convex)(number, d)


def mini_batch_sgd(d: Data, decay: Number = decay) -> Form:
    """Return Table 2's row "Mini-Batch SGD [33]"."""
    noise = w.as_form(star_noise / (d.mu * N * d.tau * d.T))
    return noise + d.S * d.F_err / d.mu * decay


def federated_16(d: Data, apart: Number = Gamma) -> Form:
    """Return Table 2's row "FL [16]"."""
    top = d.sigma2(n) + d.S * apart * N + N * d.tau**2 * d.G2
    inside = w.as_form(top / (d.mu * N)) + d.S * d.I_err
    return d.S / (d.mu * d.tau + d.T) * inside


def federated_10(d: Data, decay: Number = decay) -> Form:
    """Return Table 2's row "FL [10]"."""
    sigma2, square = d.sigma2(n), d.mu**2
    noise = (
        sigma2 / (d.mu * N * d.tau * d.T)
        + d.S * sigma2 / (square * d.tau * d.T**2)
        + d.S * d.eps2 / (square * d.T**2)
    )
    return w.as_form(noise) + d.mu * d.I_err * decay


def split_17(d: Data, decay: Number = decay) -> Form:
    """Return Table 2's row "SL [17]"."""
    sigma2, square = d.sigma2(n), d.mu**2
    noise = (
        sigma2 / (d.mu * N * d.tau * d.T)
        + d.S * sigma2 / (square * N * d.tau * d.T**2)
        + d.S * star_apart / (square * N * d.T**2)
    )
    return w.as_form(noise) + d.mu * d.I_err * decay


def sgd(case: str, d: Data) -> Form:
    """Return Table 3's rows "Distributed SGD [12]"."""
    sigma2 = d.sigma2(n)
    if case == "strongly_convex":
        noise = w.as_form(sigma2 / (d.mu * N * d.T))
        return noise + d.S * d.I_err * decay
    late = sigma2 / (N * d.T**2)
    if case == "general_convex":
        return (late + d.S / d.T) * d.I_err
    return (late + 1 / d.T) * (d.S * d.F_err)
