r"""Theorems 3.6 to 3.9, convex cases: the nearest true statements, one per line.

Each stands under the name that the library's bounds have: "repaired", "sharper",
"equal_periods", "any_periods". What changes:

- SFL-V1: each side's rate is divided by its own number of steps, :math:`\eta_b\tau_b`
  is the same for both; where the numbers are unequal, a statement has two parts, by
  which side makes :math:`d\ge0` steps more.
- SFL-V2: the server's step at a visit of client n is weighted by :math:`a_n`. For
  :math:`a_n=1/N` that is the printed server with its rate divided by N.
- General convex: the bound speaks of the weighted mean of the gaps and keeps the rate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Part, Proof, Repair, Says, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024.repaired_algorithms import (
    DRIFT,
    SECOND,
    Algorithm,
    Line,
    Named,
    S,
    example,
    gamma,
    orders,
    times,
)
from sfl_theory.papers.han2024.setting import G2, T, f, mu, t
from sfl_theory.papers.han2024.theorems_convex_mean import general_convex
from sfl_theory.proofs import value_recursion as value
from sfl_theory.written import Assumed, Number, Run

LEVEL = {"3.6": 4, "3.7": 5, "3.8": 4, "3.9": 8}
"""L: a bound without the initial distance is L c_1 S G^2/(mu^2 (gamma + T))."""


def fast(one: Algorithm) -> Run:
    """Return the run at the rates 4/(mu tau_b (gamma + t))."""

    def rate(side: Side) -> k.Rate:
        return w.rate(lambda at: 4 / (mu * (gamma + at)) / one.steps(side))

    return one.run(rate)


def bounded_at(r: Run, at: Number | int) -> Assumed:
    """Return Assumption 3.3 at a model."""
    return w.at_most(w.norm2(f.gradient(r.x(at))), G2).called("Assumption 3.3")


def printed_shape(one: Algorithm) -> Says:
    """Return the printed right side with the constants of `SECOND` and `DRIFT`."""
    r = fast(one)
    late, c1, cd = gamma + T, SECOND[one.number], DRIFT[one.number]
    first = w.norm2(r.x(0) - f.best)
    right = (
        w.as_form(8 * times(S, c1) * G2 / (mu**2 * late))
        + w.as_form(times(64, cd) * S**2 * G2 / (mu**3 * late * (gamma + 1)))
        + S * (gamma + 1) * first / (2 * late)
    )
    return says(f.gap(r.x(T)), right, *one.assumed(r, S, mu))


def as_printed(one: Algorithm) -> Says:
    """Return (11) or (17) as printed."""
    r = fast(one)
    data = printed.Data(S=S, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(one.number, "strongly_convex", data).right
    return says(f.gap(r.x(T)), right, *one.assumed(r, S, mu))


def without_distance(one: Algorithm) -> Says:
    """Return a bound without the initial distance, which Assumption 3.3 bounds."""
    r, c1 = fast(one), SECOND[one.number]
    level = times(LEVEL[one.number], c1)
    if one.longer is not None:
        level = 4 * times(1 + one.unequal, c1) + 2
    extra: tuple[Assumed, ...] = ()
    if printed.shared(one.number):
        extra = (bounded_at(r, 0),)
    if one.number == "3.9":
        extra = (*extra, bounded_at(r, T))
    right = level * S * G2 / (mu**2 * (gamma + T))
    return says(f.gap(r.x(T)), right, *one.assumed(r, S, mu), *extra)


def recursion(one: Algorithm) -> value.Recursion:
    """Return the recursion of one round."""
    if printed.shared(one.number):
        return value.visits(one.weighted)
    each = value.two_paces if one.longer else value.equal_paces
    return each(one.paces)


def at_end(theorem: Theorem) -> Theorem:
    """Return a theorem on every round for the last one."""
    return rules.instantiate(theorem, ((w.variable(t), T.value),), ())


def larger(one: Algorithm, what: Says) -> Theorem:
    """Return a statement whose right side is term by term larger than the rate."""
    return recursion(one).by_distance(what.right.value, T.value)


def to_level(one: Algorithm, _: Says) -> Theorem:
    """Return the bound without the initial distance."""
    found, c1 = recursion(one), SECOND[one.number].value
    if one.number == "3.9":
        return found.level_at_end(8 * c1, T.value)
    if one.number == "3.7":
        bounded = value.assumed(bounded_at(fast(one), 0).value)
        return at_end(found.level(5 * c1, bounded))
    first = value.first_gradient(one.paces)
    if one.longer is None:
        first = value.equal_steps(first)
        return at_end(found.level(4 * found.c1, first))
    return at_end(found.level(4 * found.c1 + 2, first))


ROUND = (
    r"A round lowers f: $\phi_{t+1}\le(1-4u)\phi_t+8c_1\frac{SG^2}{\mu^2}u^2"
    r"+32c_d\frac{S^2G^2}{\mu^3}u^3$, $\phi_t=\mathbb Ef(x^t)-f^*$, "
    r"$u=\frac1{\gamma+t}$: smoothness, $\|\nabla f\|^2\ge2\mu\phi$, a move of second "
    r"moment $c_1\theta^2G^2$ and points $c_d\theta^2G^2$ away, $\theta=\frac4\mu u$. "
)
BY_RATE = (
    ROUND + r"So $\phi_T\le(\gamma u)^4\phi_0+\frac83c_1\frac{SG^2}{\mu^2}u"
    r"+16c_d\frac{S^2G^2}{\mu^3}u^2$, and $\phi_0\le\frac S2\|x^0-x^*\|^2$; every "
    r"term is larger here."
)
BY_LEVEL = (
    ROUND
    + r"$\phi_t\le Lu\frac{SG^2}{\mu^2}$ is kept if $3L\ge8c_1+\frac{32}7c_d$, and "
    r"$\phi_0\le\frac{\|\nabla f(x^0)\|^2}{2\mu}\le\frac{G^2}{2\mu}$."
)
BY_CASES = (
    ROUND
    + r"Where $\gamma+T\le\frac L4(\gamma+1)$, $\phi_T\le\frac{G^2}{2\mu}$ is enough; "
    r"else $(\gamma+1)u$ is small, and so is the drift in the bound by $\phi_0$."
)
FAST = r"rates $\frac4{\mu\tau_b(\gamma+t)}$, b the side"
AT_START = "Assumption 3.3 also at x^0, where the first visited client alone starts"
AT_MODELS = "Assumption 3.3 also at x^0 and x^T"


def strongly_convex(number: str) -> Named:
    """Return the repairs of (11), (14), (17) or (20)."""

    def line(
        one: Algorithm,
        make: Callable[[Algorithm], Says],
        prove: Callable[[Algorithm, Says], Theorem],
        words: str,
        reading: str = "",
    ) -> Line:
        what = make(one)
        told = "; ".join(filter(None, (one.reading, FAST, reading)))
        proof = Proof(partial(prove, one, what), words, partial(example, one, what))
        return Line(one, fast(one), Part(what, proof, told))

    equal = Algorithm(number)
    by_level = BY_CASES if number == "3.9" else BY_LEVEL
    extra = {"3.7": AT_START, "3.9": AT_MODELS}.get(number, "")
    shape = (line(equal, printed_shape, larger, BY_RATE),)
    found: Named = {
        "sharper": (line(equal, without_distance, to_level, by_level, extra),)
    }
    if printed.shared(number):
        return {"repaired": shape} | found
    both = orders(number)
    return {
        "repaired": tuple(line(one, as_printed, larger, BY_RATE) for one in both),
        "any_periods": tuple(
            line(one, without_distance, to_level, BY_LEVEL) for one in both
        ),
        "equal_periods": shape,
        **found,
    }


BOUNDS: dict[tuple[str, str], Named] = {
    (number, case): build(number)
    for number in printed.NUMBERS
    for case, build in (
        ("strongly_convex", strongly_convex),
        ("general_convex", general_convex),
    )
}
"""Theorem and case -> the name of a bound -> the lines that prove it."""


WEIGHTS = "equal weights; or, for any weights, weighted server steps"
PERIODS = (
    "equal periods; or, for any, each side's rate divided by its own number of steps"
)
CHANGES = {
    "3.6": PERIODS,
    "3.7": WEIGHTS,
    "3.8": f"{PERIODS}; updates aggregated",
    "3.9": f"{WEIGHTS}; updates aggregated",
}
MEAN = "the weighted mean of the gaps, the rate kept in the bound"


def repair(number: str, case: str, others: tuple[Part, ...] = ()) -> Repair:
    """Return the nearest true statements of a case, after other ones."""
    parts = tuple(
        line.part for lines in BOUNDS[number, case].values() for line in lines
    )
    if case == "strongly_convex":
        return Repair((*others, *parts), CHANGES[number])
    return Repair((*others, *parts), f"{MEAN}; {CHANGES[number]}")
