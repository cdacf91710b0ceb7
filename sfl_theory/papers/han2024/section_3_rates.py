r"""Convergence rates of the printed bounds: abstract, Sec. 1.3 and Sec. 3.3.

Of the right sides as numbers, whether or not they hold; `section_3_runs` has what the
abstract says of the algorithms.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import (
    Part,
    Proof,
    Says,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.comparing import (
    SMOOTHER,
    compared,
    entry,
    smaller,
    theorems,
)
from sfl_theory.papers.han2024.printed import CASES, NUMBERS, Data, I_err, bound
from sfl_theory.papers.han2024.setting import N
from sfl_theory.proofs import numbers
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.notation import Uses, combine
from sfl_theory.written import Form

STRONG, GENERAL, NON = CASES
HALF = Fraction(1, 2)
third = w.positive("third", "T^{1/3}")
"""Any number whose cube is at most T."""
UP_TO_T = w.at_most(third**3, s.T)
total = w.nonnegative("squares", "E")
"""A bound on the sum of squared learning rates."""
SUMMABLE = w.at_most(printed.SQUARES, total)


# Rates of the formulas -------------------------------------------------------------


def late_rate(number: str, d: Data) -> Form:
    r"""Return a bound on T times (11), ...: :math:`\frac T{\gamma+T}\le1`."""
    S, mu = d.S, d.mu
    return (
        w.as_form(8 * S * N * printed.noise(number, d) / mu**2)
        + w.as_form(768 * S**2 * printed.drift(number, d) / (mu**3 * (d.gamma + 1)))
        + S * (d.gamma + 1) * d.I_err / 2
    )


def strongly_convex_rate(number: str) -> tuple[Part, Part]:
    """Return that T times the bound lies between two numbers without T."""

    def upper(d: Data) -> Says:
        right = late_rate(number, d)
        return says(s.T * printed.strongly_convex(number, d).right, right, SMOOTHER)

    def lower(d: Data) -> Says:
        first = printed.strongly_convex(number, replace(d, T=w.number(1))).right
        return says(first, s.T * printed.strongly_convex(number, d).right, SMOOTHER)

    reading = "the lower number is positive where some client has a_n sigma_n > 0"
    return (
        compared(upper, Data(), words=r"$\frac T{\gamma+T}\le1$."),
        compared(
            lower,
            Data(),
            words=r"$\frac T{\gamma+T}\ge\frac1{\gamma+1}$.",
            reading=reading,
        ),
    )


def at_zero(number: str) -> printed.Bound:
    """Return (12), ... with T = 0: what T^(1/3) times the bound is compared with."""
    return bound(number, GENERAL, replace(Data(), T=w.number(0)))


def cube_root(power: int) -> rules.Theorem:
    """Return ``w^power <= T + 1`` for power 1, 2 or 3 and w^3 <= T."""
    x = third.value
    known = rules.assume(k.constant(s.T.value - x**3))
    squares = [(rules.square(x - 1), x), (rules.square(x - HALF), 3 - power)]
    uses = [(known, 1), *(squares if power < 3 else ())]
    return combine(uses, target=k.constant(s.T.value + 1 - x**power))


def general_convex_rate(number: str) -> Part:
    r"""Return that :math:`T^{1/3}` times the bound is at most the bound at T = 0."""

    def build(d: Data) -> Says:
        small, large = smaller(number, GENERAL, d), at_zero(number)
        known = (*small.below, *large.above, UP_TO_T)
        return says(third * small.right, large.right, *known)

    def uses(d: Data, statement: Statement) -> Uses:
        small, large = smaller(number, GENERAL, d), at_zero(number)
        late, x = s.T.value + 1, third.value
        out = [(cube_root(1), (s.S * I_err).value / (2 * late))]
        for r, c in zip(small.roots, large.roots, strict=True):
            grown = rules.number_of(c.radicand.value) / late
            one = numbers.roots(
                statement, r.value.value, c.value.value, r.degree, (x, 1),
                [(cube_root(r.degree), grown)],
            )  # fmt: skip
            out.append((one, w.number(HALF).value))
        return out

    words = (
        r"For $w^3\le T$: $w,w^2,w^3\le T+1$, so each term times w is at most what it "
        r"is at $T=0$; roots are compared by their powers."
    )
    reading = "T^(1/3) is any number whose cube is at most T; c_2, c_3 belong to T = 0"
    return compared(build, Data(), uses, words, reading)


def non_convex_rate(number: str) -> Part:
    """Return that T times (13), ... is at most a number, for summable squares."""

    def build(d: Data) -> Says:
        first = replace(d, T=w.number(1), squares=total)
        right = printed.non_convex(number, first).right
        return says(s.T * printed.non_convex(number, d).right, right, SUMMABLE)

    def uses(d: Data, statement: Statement) -> Uses:
        second = replace(d, T=w.number(1), squares=w.number(1))
        factor = rules.number_of(printed.non_convex(number, second).terms[1].value)
        (known,) = numbers.on(statement, total.value)
        return [(known, factor)]

    reading = "where the sum of (eta^t)^2 is at most E; the metric weighs round t by it"
    return compared(build, Data(), uses, "Term by term.", reading)


RATES = (
    entry(
        "rate/strongly_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "The strongly convex bounds (11), (14), (17), (20) are of order 1/T.",
        tuple(part for number in NUMBERS for part in strongly_convex_rate(number)),
        theorems(STRONG),
    ),
    entry(
        "rate/general_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "The general convex bounds (12), (15), (18), (21) are O(T^(-1/3)).",
        tuple(map(general_convex_rate, NUMBERS)),
        theorems(GENERAL),
    ),
    entry(
        "rate/non_convex",
        "Sec. 3.3",
        "The non-convex bounds (13), (16), (19), (22) are O(1/T), in the paper's "
        "metric, where sum_t (eta^t)^2 stays bounded.",
        tuple(map(non_convex_rate, NUMBERS)),
        theorems(NON),
    ),
)


def extracted(number: str) -> Part:
    r"""Return that no schedule makes the bound over the mean rate less than T^(-1/2).

    With :math:`H=\sum\eta^t`: :math:`T\,\text{bound}=A+C\sum(\eta^t)^2\ge
    A+CH^2/T\ge2H\sqrt{AC/T}`.
    """
    d = Data()
    first = printed.non_convex(number, d).terms[0]
    one = printed.non_convex(number, replace(d, squares=w.number(1))).terms[1]
    A, C = (
        w.Written(s.T.value * rules.number_of(term.value), letter)
        for term, letter in ((first, "A"), (one, "C"))
    )
    whole = A + C * printed.SQUARES
    H = w.below(s.t, s.T, s.eta())
    statement = says(4 * A * C * H**2, s.T * whole**2)

    def theorem() -> rules.Theorem:
        q = printed.SQUARES.value
        jensen = numbers.mean_of_squares(s.eta().value, w.variable(s.t), s.T.value)
        apart = rules.square(A.value - C.value * q)
        uses: Uses = [(apart, s.T.value), (jensen, 4 * A.value * C.value * s.T.value)]
        target = statement.right.value - statement.left.value
        return combine(uses, target=target)

    words = (
        r"$(A+CQ)^2\ge4ACQ$ and $TQ\ge H^2$ for $Q=\sum(\eta^t)^2$, $H=\sum\eta^t$; so "
        r"the bound over the mean rate is at least $2\sqrt{AC/T}$."
    )
    reading = (
        "A: T times the first term; C: T times the second without its sum Q of "
        "squares; the claim is the square of bound/(H/T) >= 2 sqrt(A C/T)"
    )
    return Part(statement, Proof(theorem, words), reading)


EXTRACTED = entry(
    "rate/non_convex/extracted",
    "Sec. 3.3, on (13), (16), (19), (22)",
    "The metric is weighted by the learning rates: divided by their mean, no schedule "
    "makes the non-convex bounds smaller than a constant times T^(-1/2).",
    tuple(map(extracted, NUMBERS)),
    theorems(NON),
)


CLAIMS = (*RATES, EXTRACTED)
