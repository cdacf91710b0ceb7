"""Statements that compare printed bounds, and how they are decided.

A statement is a function of the `Data` of its bounds. Where it needs ``mu <= S`` it is
proved for ``S = mu + s``, where signs show it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Proof, Says, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import with_roots
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.printed import NUMBERS, Bound, Data
from sfl_theory.papers.han2024.setting import N
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
        apart = replace(d, S=s.mu + s.excess)
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
    name: str, location: str, title: str, parts: tuple[Part, ...], uses: str
) -> Claim:
    """Return a claim on a sentence that nothing refutes."""
    return Claim(f"han2024/text/{name}", location, Kind.TEXT, title, parts, uses=uses)


def theorems(case: str, of: tuple[str, ...] = NUMBERS) -> str:
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
