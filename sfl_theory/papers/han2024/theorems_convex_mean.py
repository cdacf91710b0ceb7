r"""Theorems 3.6 to 3.9, general convex: the nearest true statements.

The bound speaks of the weighted mean of the gaps and keeps the rate. For unequal
numbers of steps the squared distance to a minimiser may grow from round to round; what
it grows by in all stands in the bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Part, Proof, Says, says
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.repaired_algorithms import (
    DRIFT,
    SECOND,
    Algorithm,
    Line,
    Named,
    example,
    orders,
    times,
)
from sfl_theory.papers.han2024.setting import (
    G2,
    T,
    eta,
    f,
    t,
    tau,
)
from sfl_theory.proofs import unequal_paces, weighted_rounds
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Form, Number, Run


def rounds(body: Form) -> Form:
    """Return the sum over rounds."""
    return w.below(t, T, body)


def given_rates(one: Algorithm) -> Run:
    """Return the run at the rates eta(t) on both sides."""
    return one.run(lambda side: w.rate(eta))


def mean_gap(one: Algorithm) -> Says:
    """Return the weighted mean of the gaps with the constants c_1 and c_d."""
    r = given_rates(one)
    c1, cd = SECOND[one.number], DRIFT[one.number]
    first = w.norm2(r.x(0) - f.best)
    right = (
        first / (2 * tau * T)
        + w.as_form(times(tau, c1) * G2 / (2 * T) * w.below(t, T, eta() ** 2))
        + w.as_form(times(s.S, cd) * tau**2 * G2 / T * w.below(t, T, eta() ** 3))
    )
    left = rounds(eta() * f.gap(r.x(t))) / T
    return says(left, right, *one.assumed(r, s.S, 0))


BY_SUM = (
    r"$\langle\nabla F_n(p),x-x^*\rangle\ge F_n(x)-F_n(x^*)-\frac S2\|p-x\|^2$ gives "
    r"$\|x^{t+1}-x^*\|^2\le\|x^t-x^*\|^2-2\theta(f(x^t)-f^*)+c_1\theta^2G^2"
    r"+Sc_d\theta^3G^2$, $\theta=\eta^t\tau$; summed over rounds, where half of the "
    r"drift is left over."
)
EVERY_RATE = "for every learning rate; the condition of the theorem is not needed"


LIMIT = w.positive("grown", r"\Lambda")


def decay(at: Number | int) -> Number:
    r"""Return :math:`h^t`."""
    return w.of_round("h", w.number(at), "h^{{t}}")


def growth(one: Algorithm) -> Number:
    """Return by what share the squared distance may grow in round t."""
    square = s.S**2 * one.steps(Side.CLIENT) ** 2 * eta() ** 2
    return one.unequal * square / 4


def same_moves(one: Algorithm) -> Run:
    """Return the run whose client has the rates eta(t), both sides moving alike."""
    tau_ = one.steps(Side.CLIENT)
    return one.run(lambda side: w.rate(lambda at: eta(at) * tau_ / one.steps(side)))


def growing_gap(one: Algorithm) -> Says:
    """Return the weighted mean of the gaps for unequal numbers of steps."""
    r, tau_ = same_moves(one), one.steps(Side.CLIENT)
    more = times(1 + one.unequal, SECOND[one.number])
    second = more + Fraction(5, 4) * one.unequal
    first = w.norm2(r.x(0) - f.best)
    squares, cubes = (w.below(t, T, eta() ** power) for power in (2, 3))
    right = (
        LIMIT / (2 * tau_ * T) * first
        + w.as_form(LIMIT * second * tau_ * G2 / (2 * T) * squares)
        + w.as_form(LIMIT * s.S * tau_**2 * G2 / (3 * T) * cubes)
    )
    left = rounds(eta() * f.gap(r.x(t))) / T
    falls = w.at_most((1 + growth(one)) * decay(t + 1), decay(t))
    return says(
        left,
        right,
        *one.assumed(r, s.S, 0),
        w.at_most(decay(0), 1),
        w.every_round(t, T, falls),
        w.every_round(t, T, w.at_most(decay(t + 1), 1)),
        w.every_round(t, T, w.at_most(1, LIMIT * decay(t + 1))),
    )


BY_GROWTH = (
    r"What the shorter side a weighs more, $[\nabla F_n(p^i)]_a$, and what the longer "
    r"side b makes more, $[\nabla F_n(p^l)]_b$, are compared with the gradient at the "
    r"point $([p^i]_a,[p^l]_b)$: by cocoercivity a block differs by at most "
    r"$\frac S2$ times the way of the other block. So the distance grows by "
    r"$\frac\delta4S^2\theta^2$ at most, $\delta=1-\tau_{min}/\tau_{max}$; each round "
    r"is multiplied by $\Lambda h^{t+1}$."
)
MOVES = r"the server's rate is $\eta^t\tau/\tilde\tau$"
EXPONENTIAL = (
    "Lambda stands for the exponential of the summed growths x_t = delta (S tau "
    "eta^t)^2/4: h^t = exp(-sum_{r<t} x_r) and Lambda = exp(sum_{r<T} x_r) meet what "
    "is assumed of them, by 1 + x <= e^x"
)


def unequal_example(one: Algorithm, what: Says) -> ModelData:
    """Return `example` with h(t) = 1/(1 + t); Lambda is 2."""
    model = example(one, what)
    (family,) = (each for each in model.rates if each.name == "h")
    rates = model.rates | {family: k.Rate(1 / (1 + k.symbol(k.ROUND)))}
    return replace(model, rates=rates)


def given(what: Says, theorem: Callable[[], Theorem]) -> Theorem:
    """Return a statement whose right side is larger than a theorem's by its sorts."""
    return combine([(theorem(), 1)], target=what.right.value - what.left.value)


def general_convex(number: str) -> Named:
    """Return the repairs of (12), (15), (18) or (21)."""

    def line(
        one: Algorithm,
        run: Run,
        what: Says,
        theorem: Callable[[], Theorem],
        words: str,
        model: Callable[[], ModelData] | None = None,
        reading: str = "",
    ) -> Line:
        proof = Proof(partial(given, what, theorem), words, model)
        told = "; ".join(filter(None, (one.reading, EVERY_RATE, reading)))
        return Line(one, run, Part(what, proof, told))

    equal = Algorithm(number)
    theorem = partial(weighted_rounds.mean_gap, equal.weighted)
    first = line(equal, given_rates(equal), mean_gap(equal), theorem, BY_SUM)
    if printed.shared(number):
        return {"repaired": (first,)}
    others = []
    for one in orders(number):
        what = growing_gap(one)
        theorem = partial(unequal_paces.mean_gap, one.paces)
        model = partial(unequal_example, one, what)
        told = f"{MOVES}; {EXPONENTIAL}"
        others.append(line(one, same_moves(one), what, theorem, BY_GROWTH, model, told))
    return {"repaired": (first,), "any_periods": tuple(others)}
