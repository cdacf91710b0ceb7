r"""Theorems 3.6 to 3.9, general convex: the last model, and a mean's smaller constants.

(12), (15), (18), (21) speak of the last model. At a constant learning rate it loses a
factor of :math:`1+\frac12+\dots+\frac1T` against the mean. Equal numbers of steps;
SFL-V2's server weights a visit of client n by :math:`a_n`. Each statement stands under
the name of the library's bound.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Claim, Kind, Part, Proof, Says, meeting, says
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import printed, strongly_convex_repairs
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, T, eta, f, t, tau
from sfl_theory.papers.han2024.strongly_convex_repairs import Algorithm, Line, times
from sfl_theory.proofs import last_iterate as proofs
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.weighted_rounds import Weighted

rate = w.positive("eta", r"\eta")
"""The learning rate of every round."""
m = w.natural("m")


def reciprocal(at: Number | int) -> Number:
    r"""Return :math:`k^t`, which stands for :math:`\frac1{T+1-t}`, or T + 2 - t."""
    return w.of_round("k", w.number(at), "k^{{t}}")


def reciprocals() -> tuple[Assumed, ...]:
    r"""Return what is used of :math:`k^t=\frac1{T+1-t}`."""
    rises = w.at_most(reciprocal(m), reciprocal(m + 1))
    falls = w.at_most((T - t) * reciprocal(t + 1), (T + 1 - t) * reciprocal(t))
    found = (
        w.at_most((T + 1) * reciprocal(0), 1),
        w.every_round(t, T, falls),
        w.every_round(m, T, rises),
        w.every_round(t, T, w.every_round(m, t + 1, rises)),
        *w.equals(reciprocal(T), 1),
    )
    return tuple(one.called("k^t = 1/(T + 1 - t)") for one in found)


def constants(one: Algorithm) -> tuple[Number, Number]:
    """Return c_1 of a round's move and c_d of its drift."""
    repairs = strongly_convex_repairs
    return repairs.SHARP_SECOND[one.number], repairs.SHARP_DRIFT[one.number]


def any_rates(one: Algorithm) -> Run:
    """Return the run at the rates eta(t)."""
    return one.run(lambda _: w.rate(eta))


def one_rate(one: Algorithm) -> Run:
    """Return the run at a constant rate."""
    return one.run(lambda _: w.rate(rate))


def last_gap(one: Algorithm) -> Says:
    """Return the gap of the last model at a constant rate."""
    r, (c1, cd) = one_rate(one), constants(one)
    sums = 1 + w.below(t, T, reciprocal(t + 1))
    right: w.Terms = {
        "initial distance": w.norm2(r.x(0) - f.best) / (2 * rate * tau * (T + 1)),
        "gradient noise": times(rate * tau, c1) * G2 / 2 * sums,
        "client drift": times(s.S, cd) * rate**2 * tau**2 * G2 / 2 * sums,
    }
    return says(f.gap(r.x(T)), right, *one.assumed(r, s.S, 0), *reciprocals())


first_rate = w.positive("eta0", r"\eta_0")
"""The learning rate of round 0 where rates fall."""


def falling(first: Number = first_rate) -> tuple[Assumed, ...]:
    r"""Return what is used of the rates and of :math:`k^t=\frac1{T+2-t}`."""
    e, k_ = first, reciprocal
    rises = w.at_most(k_(m), k_(m + 2))
    rates = (
        *(
            w.every_round(t, T, one)
            for one in w.equals((T + 1) * eta(), e * (T + 1 - t))
        ),
        *w.equals((T + 1) * eta(T), e),
    )
    numbers = (
        w.every_round(t, T, w.at_most((T + 1) * k_(t + 1) * eta(), e)),
        w.every_round(t, T, w.at_most((T - t) * k_(t + 2), (T + 2 - t) * k_(t))),
        w.every_round(t, T, w.at_most((T - t) * k_(t + 2), 1)),
        w.every_round(m, T, rises),
        w.every_round(t, T, w.every_round(m, t + 1, rises)),
        w.at_most((T + 2) * k_(0), 1),
        w.at_most((T + 1) * k_(1), 1),
        *w.equals(2 * k_(T), 1),
        *w.equals(k_(T + 1), 1),
    )
    return (
        *(one.called("eta^t = eta_0 (T + 1 - t)/(T + 1)") for one in rates),
        *(one.called("k^t = 1/(T + 2 - t)") for one in numbers),
    )


def last_gap_at_falling_rates(one: Algorithm) -> Says:
    """Return the gap of the last model at rates that fall linearly to it."""
    r, (c1, cd) = any_rates(one), constants(one)
    e, sums = first_rate, w.below(t, T, reciprocal(t + 2))
    first = w.norm2(r.x(0) - f.best) / (e * tau * (T + 2))
    noise = times(e * tau, c1) * G2 * (T + Fraction(1, 2) + sums) / (T + 1)
    drift = times(s.S, cd) * e**2 * tau**2 * G2 / 2
    drift = drift * (T**2 + 5 * T + 1 + 2 * sums) / (T + 1) ** 2
    right = first + w.as_form(noise) + w.as_form(drift)
    return says(f.gap(r.x(T)), right, *one.assumed(r, s.S, 0), *falling())


def proved(
    what: Says, theorem: Callable[[Weighted], Theorem], one: Algorithm
) -> Theorem:
    """Return the statement."""
    found = theorem(one.weighted)
    return combine(found, target=what.right.value - what.left.value)


def with_reciprocals(what: Says) -> Callable[[], ModelData]:
    """Return a model with k(t) = (1 + t)/2, which is 1/(2 - t) for T = 1."""
    return meeting(what, rates={"k": k.Rate((1 + k.symbol(k.ROUND)) / 2)})


def with_falling_rates(what: Says) -> Callable[[], ModelData]:
    """Return a model for T = 1: k(t) = 1/3, 1/2, 1 and rates 1/64, 1/128."""
    at = k.symbol(k.ROUND)
    rates = {"k": k.Rate((2 + at * at) / 6), "eta": k.Rate(1 / (64 * (1 + at)))}
    return meeting(what, rates=rates, eta0=Fraction(1, 64))


NEARER = (
    r"For every y that the rounds before t determine, "
    r"$\|x^{t+1}-y\|^2\le\|x^t-y\|^2-2\theta(f(x^t)-f(y))"
    r"+\theta^2G^2(c_1+Sc_d\theta)$, $\theta=\eta^t\tau$: smoothness from the local "
    r"points to x^t, convexity to y. "
)
BY_LAST = (
    NEARER + r"So $P_t=b_0\|x^t-x^*\|^2+\sum_{s<t}(b_{s+1}-b_s)\|x^t-x^s\|^2$ with "
    r"$b_t=\frac{k^t}\eta$ changes by at most "
    r"$-2\theta(b_{t+1}\phi_t-A_t)+b_{t+1}\theta^2G^2(c_1+Sc_d\theta)$, "
    r"$A_t=\sum_{s\le t}(b_{s+1}-b_s)\phi_s$, and "
    r"$b_{t+1}\phi_t-A_t=(T-t)A_t-(T+1-t)A_{t-1}$ telescopes. One round more, "
    r"from x^T, leaves $2\tau\phi_T$."
)
WORDS = "k^t stands for 1/(T + 1 - t), so the sum is 1 + 1/2 + ... + 1/T"
BY_FALLING = (
    f"{BY_LAST} The same with the inverse of "
    r"$\rho_t=\eta^t+\dots+\eta^T=\frac{\eta_0(T+1-t)(T+2-t)}{2(T+1)}$ for $b_t$, and "
    r"$b_{t+1}(\eta^t)^2=\frac{2\eta_0}{T+1}(1+\frac1{T-t})$: no logarithm is left."
)
HORIZON = "falling_rates"
"""Rates that depend on the last round: no bound of the library."""
CASES: dict[
    str,
    tuple[
        Callable[[Algorithm], Run],
        Callable[[Algorithm], Says],
        Callable[[Weighted], Theorem],
        Callable[[Says], Callable[[], ModelData]],
        str,
        str,
    ],
] = {
    HORIZON: (
        any_rates,
        last_gap_at_falling_rates,
        proofs.last_gap_at_falling_rates,
        with_falling_rates,
        BY_FALLING,
        "rates that fall linearly to the last round, T known; k^t stands for "
        "1/(T + 2 - t); Assumption 3.3 also in a round that starts from x^T",
    ),
    "last_iterate": (
        one_rate,
        last_gap,
        proofs.last_gap_at_constant_rate,
        with_reciprocals,
        BY_LAST,
        f"for every constant learning rate; {WORDS}; Assumption 3.3 also in a round "
        "that starts from x^T",
    ),
}


def line(number: str, name: str) -> Line:
    """Return the proved statement of a theorem's general convex case."""
    one = Algorithm(number)
    run, make, theorem, model, words, told = CASES[name]
    what = make(one)
    proof = Proof(partial(proved, what, theorem, one), words, model(what))
    return Line(one, run(one), Part(what, proof, f"{one.reading}; {told}"))


BOUNDS = {
    (number, "general_convex"): {
        name: (line(number, name),) for name in CASES if name != HORIZON
    }
    for number in printed.NUMBERS
}
"""Theorem and case -> the name of a bound -> the line that proves it."""
TITLES = {
    "last_iterate": "The gap of the last model at a constant learning rate.",
    HORIZON: "The gap of the last model at rates that fall linearly to it.",
}
SCOPES = {
    "last_iterate": "for every constant learning rate",
    HORIZON: "for rates eta_0 (T + 1 - t)/(T + 1), whatever eta_0 is",
}


def claim(number: str, name: str) -> Claim:
    """Return what is proved of a case beside the paper."""
    if name == HORIZON:
        lines = (line(number, name),)
    else:
        lines = BOUNDS[number, "general_convex"][name]
    weights = "weighted server steps" if printed.shared(number) else "equal periods"
    return Kind.THEOREM(
        f"han2024/thm-{number}/general_convex/{name.replace('_', '-')}",
        "not in the paper",
        TITLES[name],
        *tuple(one.part for one in lines),
        scope=f"{SCOPES[name]}, {weights}",
    )


CLAIMS = tuple(claim(number, name) for number in printed.NUMBERS for name in CASES)
