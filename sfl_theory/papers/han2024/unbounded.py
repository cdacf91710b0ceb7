r"""Theorems 3.6 to 3.9 without bounded gradients: what is proved beside the paper.

No strongly convex function on :math:`\mathbb R^d` has bounded gradients, so Assumption
3.3 empties the printed strongly convex cases there; here 3.1, 3.2, 3.4 and C.2 are
enough. Noise is that of the mean of all samples of a round, :math:`\sum_na_n^2
\sigma_n^2/\tau`, a linear speed-up in :math:`N\tau`; drift stands at its own order, the
cube of the learning rate. Equal numbers of steps; SFL-V2's server weights a visit of
client n by :math:`a_n`: for :math:`a_n=1/N` the printed server with its rate divided by
N. Each statement stands under the name of the library's bound.

Theorem 3.6, strongly convex, has a second one, at the learning rates that the paper
prints for equal numbers of steps; so has Theorem 3.9, non-convex, for every learning
rate, which takes 3.3 in place of 3.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Claim, Kind, Says, meeting, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import T, a, eps2, eta, f, mu, n, sigma2, t, tau
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    SHARP_DRIFT,
    Algorithm,
    Line,
)
from sfl_theory.proofs import derived, sharp_rates
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.sharp_rates import Decay
from sfl_theory.proofs.sharp_rounds import Sharp

S = s.steep
s_a2, sbar2 = (w.over_clients(n, one * sigma2()) for one in (a() ** 2, a()))
inverse = w.inverse_chance(n)
rho = w.over_clients(n, a() ** 2 * (inverse - 1))
drawn = w.over_clients(n, a() ** 2 * inverse * sigma2())
kappa = w.over_clients(n, a() * inverse)


def of(number: int | str) -> Number:
    """Return a fraction."""
    return w.number(Fraction(number))


ONE = w.number(1)
OWN = of("5/8") * sbar2 + of("5/12") * tau * eps2
VISITS = of("2/3") * (sbar2 + 2 * s_a2 + 2 * tau * eps2)
DRAWN_VISITS = of("2/3") * (sbar2 + 2 * kappa * drawn + 2 * kappa**2 * tau * eps2)
DRAWN = drawn + 2 * tau * eps2 * rho


@dataclass(frozen=True)
class Constants:
    """What the bounds of a theorem differ in.

    Attributes:
        samples: what samples, and draws, cost at second order.
        spread: what noise and heterogeneity of a round's drift cost.
        step: c of the rates c/(mu tau (gamma + t)), strongly convex.
        offset: gamma over S/mu, or gamma + 1 where the rates are the printed ones.
        strong: factors of samples and spread, strongly convex.
        first: of the first gap, non-convex.
        mean: factors of samples and spread, non-convex.
        wide: the rates are at most 1/(8 S tau wide), general convex.
        most: the same for each of these, non-convex.
    """

    samples: Number
    spread: Number
    step: Number
    offset: Number
    strong: tuple[Number, Number]
    first: Number
    mean: tuple[Number, Number]
    wide: Number = ONE
    most: tuple[Number, ...] = (ONE,)

    @property
    def gamma(self) -> Number:
        """The offset of the strongly convex rates."""
        less = 1 if self is AT_PRINTED else 0
        offset = self.offset * S / mu
        return w.called(offset - less if less else offset, r"\gamma")


CONSTANTS = {
    "3.6": Constants(
        s_a2,
        OWN,
        of("41/10"),
        of(33),
        (of("16/5"), of(16)),
        of("81/40"),
        (of("7/6"), ONE),
    ),
    "3.7": Constants(
        s_a2,
        VISITS,
        of("41/10"),
        of(33),
        (of("16/5"), of(17)),
        of("49/24"),
        (of("7/6"), ONE),
    ),
    "3.8": Constants(
        DRAWN,
        OWN,
        of("19/4"),
        38 * (1 + 2 * rho),
        (of("9/2"), of(26)),
        of("12/5"),
        (of("10/7"), of("8/7")),
        1 + 2 * rho,
        (ONE, 2 * rho),
    ),
    "3.9": Constants(
        DRAWN,
        DRAWN_VISITS,
        of("19/4"),
        38 * (kappa + 2 * rho),
        (of("23/5"), of(41)),
        of("93/40"),
        (of("3/2"), of("15/8")),
        kappa + 2 * rho,
        (kappa + 2 * rho,),
    ),
}


AT_PRINTED = Constants(
    s_a2, OWN, of(4), of(8), (of("53/5"), of(94)), of("81/40"), (of("7/6"), ONE)
)
"""Of Theorem 3.6 at the printed rates, strongly convex."""


def constants(number: str, name: str) -> Constants:
    """Return those of a theorem's bound."""
    return AT_PRINTED if name == PRINTED_RATES.name else CONSTANTS[number]


def assumed(one: Algorithm, r: Run, smooth: Number) -> tuple[Assumed, ...]:
    """Return 3.1, 3.2, 3.4, that f has a minimiser, who takes part.

    Samples are independent across clients for SFL-V1; SFL-V2 does not need it.
    """
    *samples, independent = s.assumption_32(r)
    more = [] if printed.shared(one.number) else [independent]
    if printed.partial(one.number):
        more.append(w.participation(r))
    return (
        s.assumption_31(smooth),
        *samples,
        *more,
        s.assumption_34(),
        s.minimum(),
    )


def fast(one: Algorithm, own: Constants | None = None) -> Run:
    """Return the run at the rates c/(mu tau (gamma + t))."""
    c = own or CONSTANTS[one.number]
    return one.run(lambda _: w.rate(lambda at: c.step / (mu * tau * (c.gamma + at))))


def any_rate(one: Algorithm) -> Run:
    """Return the run at the rates eta(t)."""
    return one.run(lambda _: w.rate(eta))


def small(*wide: Number) -> list[Assumed]:
    """Return that the rates are at most 1/(8 S tau), divided by each of these."""
    return [
        w.every_round(t, T, w.at_most(8 * s.S * tau * eta() * one, 1)) for one in wide
    ]


def powers(power: int) -> Number:
    """Return the sum of a power of the rates."""
    return w.below(t, T, eta() ** power)


def strongly_convex(one: Algorithm, own: Constants | None = None) -> Says:
    """Return the gap of the last model."""
    r, c = fast(one, own), own or CONSTANTS[one.number]
    late, (samples, spread) = c.gamma + T, c.strong
    noise = samples * S * c.samples / (mu**2 * tau * late)
    drift = spread * S**2 * c.spread / (mu**3 * tau * late**2)
    right: w.Terms = {
        "initial gap": (c.gamma / late) ** (2 if own else 4) * f.gap(r.x(0)),
        "gradient noise": noise,
        "client drift": drift,
    }
    return says(f.gap(r.x(T)), right, *assumed(one, r, S), s.assumption_C2(mu))


def general_convex(one: Algorithm) -> Says:
    """Return the weighted mean of the gaps."""
    r, c = any_rate(one), CONSTANTS[one.number]
    left = w.below(t, T, eta() * f.gap(r.x(t))) / T
    right: w.Terms = {
        "initial distance": of("5/8") / (tau * T) * w.norm2(r.x(0) - f.best),
        "gradient noise": of("25/32") * c.samples / T * powers(2),
        "client drift": s.S * tau * c.spread / T * powers(3),
    }
    return says(left, right, *assumed(one, r, s.S), s.assumption_C2(0), *small(c.wide))


def non_convex(one: Algorithm) -> Says:
    """Return the weighted mean of the squared gradients."""
    r, c = any_rate(one), CONSTANTS[one.number]
    samples, spread = c.mean
    left = w.below(t, T, eta() * w.norm2(f.gradient(r.x(t)))) / T
    right: w.Terms = {
        "initial gap": c.first / (tau * T) * f.gap(r.x(0)),
        "gradient noise": samples * s.S * c.samples / T * powers(2),
        "client drift": spread * s.S**2 * tau * c.spread / T * powers(3),
    }
    return says(left, right, *assumed(one, r, s.S), *small(*c.most))


def at_every_rate(one: Algorithm) -> Says:
    """Return the weighted mean of the squared gradients under Assumption 3.3."""
    r, G2 = any_rate(one), s.G2
    late = SHARP_DRIFT["3.9"]
    right: w.Terms = {
        "initial gap": 2 / (tau * T) * f.gap(r.x(0)),
        "gradient noise": (1 + rho) * s.S * tau * G2 / T * powers(2),
        "client drift": late * s.S**2 * tau**2 * G2 / T * powers(3),
    }
    left = w.below(t, T, eta() * w.norm2(f.gradient(r.x(t)))) / T
    return says(
        left,
        right,
        s.assumption_31(),
        w.unbiased(r).called("Assumption 3.2, (5)"),
        s.assumption_33(r),
        s.minimum(),
        w.participation(r),
    )


def below(what: Says, r: Run, theorem: Theorem, spare: Number | int = 0) -> Theorem:
    """Return a statement whose terms are larger; `spare` is by how much the first."""
    lowest = derived.lowest(MEAN, r.x(0).value)
    uses = [(theorem, ratio(1)), (lowest, w.number(spare).value)]
    return combine(*uses, target=what.right.value - what.left.value)


def sharp(one: Algorithm) -> Sharp:
    """Return the algorithm in the proofs' terms."""
    return Sharp(one.weighted.kind, one.weighted.partial)


def at_end(one: Algorithm, what: Says) -> Theorem:
    """Return the strongly convex rate after T rounds."""
    rate = Decay(sharp(one)).rate()
    values = ((w.variable(t), T.value),)
    return below(what, fast(one), rules.instantiate(rate, values, ()))


def at_printed(one: Algorithm, what: Says) -> Theorem:
    """Return the same at the printed rates."""
    rate = Decay(replace(sharp(one), limit=Fraction(7, 4))).rate()
    values = ((w.variable(t), T.value),)
    run = fast(one, AT_PRINTED)
    return below(what, run, rules.instantiate(rate, values, ()))


def of_gaps(one: Algorithm, what: Says) -> Theorem:
    """Return the mean of the gaps."""
    theorem = sharp_rates.mean_gap(sharp(one))
    return below(what, any_rate(one), theorem)


def of_gradients(one: Algorithm, what: Says) -> Theorem:
    """Return the mean of the squared gradients."""
    algorithm = sharp(one)
    own = 2 / (1 - algorithm.lost)
    spare = (CONSTANTS[one.number].first - own) / (tau * T)
    theorem = sharp_rates.non_convex(algorithm)
    return below(what, any_rate(one), theorem, spare)


def of_bounded(one: Algorithm, what: Says) -> Theorem:
    """Return the mean of the squared gradients under Assumption 3.3."""
    return below(what, any_rate(one), sharp_rates.bounded_non_convex())


DRIFT = (
    r"$p_n^i-x=-\eta(G+Z+\Delta)$: gradients at x and noise of the steps made before, "
    r"and what gradients have changed since. $\langle G,Z\rangle=0$, so only $\Delta$ "
    r"needs Young; it is at most S times the drift, which absorbs it. "
)
DESCENT = (
    r"A round lowers f by $\frac\alpha2(1-d)\|\nabla f\|^2$, d the small share that "
    r"the drift takes, up to $\frac47S\alpha^2\sum_na_n^2\sigma_n^2/\tau$ and drift "
    r"of order $\alpha^3$, $\alpha=\eta\tau$: polarisation leaves "
    r"$-\frac{\eta}{2\tau}\|M\|^2$, and Young with 7 pays the move by it. "
)
DRAWS = {
    "3.8": r"Draws add $\sum_na_n^2(\frac1{q_n}-1)\|\sum_ig_n^i\|^2$ to the squared "
    r"move, a client's sum compared with $\tau\nabla F_n(x)$ likewise.",
    "3.9": r"The draws decide on the points: their mean deviation given x turns the "
    r"round, the rest is part of the squared move.",
}
WORDS = {
    "strongly_convex": DRIFT
    + DESCENT
    + r"$\|\nabla f\|^2\ge2\mu\phi$ and $8S\alpha\le1$ give "
    r"$\phi_{t+1}\le(1-pu)\phi_t+Au^2+Bu^3$, $p>4$, $u=\frac1{\gamma+t}$; by induction "
    r"$\phi_T\le(\gamma u)^4\phi_0+\frac A{p-1}u+\frac B{p-2}u^2$. ",
    "general_convex": DRIFT
    + r"$\langle\nabla F_n(p),x-x^*\rangle\ge F_n(x)-F_n(x^*)-\frac S2\|p-x\|^2$, "
    r"$\|\nabla f\|^2\le2S(f-f^*)$, and the squared move is at most "
    r"$\frac54(\alpha^2\|\nabla f\|^2+\alpha^2\sum_na_n^2\sigma_n^2/\tau)$ and drift: "
    r"of $2\alpha(f-f^*)$ a round keeps $\frac85$; summed over rounds. ",
    "non_convex": DRIFT + DESCENT + "Summed over rounds. ",
}
FAST = (
    r"rates $\frac c{\mu\tau(\gamma+t)}$: $c=4.1$, $\gamma=33S/\mu$; where clients are "
    r"drawn $c=4.75$, $\gamma=38wS/\mu$, w as in the scope"
)


@dataclass(frozen=True)
class Bound:
    """How a bound is stated and proved.

    Attributes:
        name: the library's.
        title: what it says.
        run: the algorithm.
        says: the statement.
        prove: its theorem.
        words: the proof in words.
        rates: which learning rates are meant.
    """

    name: str
    title: str
    run: Callable[[Algorithm], Run]
    says: Callable[[Algorithm], Says]
    prove: Callable[[Algorithm, Says], Theorem]
    words: str
    rates: str = ""


CASES = {
    "strongly_convex": Bound(
        "no_bounded_gradients",
        "The gap of the last model, without bounded gradients.",
        fast,
        strongly_convex,
        at_end,
        WORDS["strongly_convex"],
        FAST,
    ),
    "general_convex": Bound(
        "no_bounded_gradients",
        "The mean gap, without bounded gradients.",
        any_rate,
        general_convex,
        of_gaps,
        WORDS["general_convex"],
    ),
    "non_convex": Bound(
        "linear_speedup",
        "The mean squared gradient, noise with the linear speed-up.",
        any_rate,
        non_convex,
        of_gradients,
        WORDS["non_convex"],
    ),
}
EVERY_RATE = Bound(
    "bounded_gradients",
    "The mean squared gradient under bounded gradients, for every learning rate.",
    any_rate,
    at_every_rate,
    of_bounded,
    r"$-\langle\nabla f,\cdot\rangle$ by polarisation with the mean of the deviation "
    r"given x. Given the draws, Jensen with the weights $a_nJ_n$ bounds the squared "
    r"move by $W^2\tau^2G^2$, $W=\sum_na_nJ_n$, "
    r"$\mathbb EW^2=1+\rho$. The drift is at most $\frac12(W+W^3)$ times "
    r"$\alpha^2\tau G^2$, $\mathbb EW^3=1+3\rho+\sum_na_n^3(\frac1{q_n}-1)"
    r"(\frac1{q_n}-2)$.",
)


PRINTED_RATES = Bound(
    "printed_rates",
    "The gap of the last model at the paper's rates, without bounded gradients.",
    partial(fast, own=AT_PRINTED),
    partial(strongly_convex, own=AT_PRINTED),
    at_printed,
    DRIFT
    + r"At the printed rates $S\alpha\le\frac47$: Young with 3/4 pays the move, the "
    r"drift takes less than a third of $\|\nabla f\|^2$, and "
    r"$\phi_{t+1}\le(1-pu)\phi_t+Au^2+Bu^3$ with $p>\frac{11}4$.",
)


def stated(number: str, case: str) -> list[Bound]:
    """Return the bounds of a case."""
    more = {
        ("3.6", "strongly_convex"): [PRINTED_RATES],
        ("3.9", "non_convex"): [EVERY_RATE],
    }
    return [CASES[case], *more.get((number, case), [])]


def line(number: str, bound: Bound) -> Line:
    """Return the proved statement of a bound."""
    one = Algorithm(number)
    what = bound.says(one)
    draws = "" if bound is EVERY_RATE else DRAWS.get(number, "")
    theorem = partial(bound.prove, one, what)
    told = "; ".join(filter(None, (one.reading, bound.rates)))
    return Line(
        one,
        bound.run(one),
        proved(what, theorem, bound.words + draws, told, model=meeting(what, s=3)),
    )


BOUNDS = {
    (number, case): {one.name: (line(number, one),) for one in stated(number, case)}
    for number in printed.NUMBERS
    for case in CASES
}
"""Theorem and case -> the name of a bound -> the line that proves it."""

SCOPES = {
    "3.6": "for rates up to 1/(8 S tau), equal numbers of steps",
    "3.7": "for rates up to 1/(8 S tau), weighted server steps",
    "3.8": "for rates up to 1/(8 S tau w), w = 1 + 2 rho, rho = sum a_n^2 (1/q_n - 1), "
    "non-convex w = max(1, 2 rho); equal numbers of steps, updates aggregated",
    "3.9": "for rates up to 1/(8 S tau w), w = kappa + 2 rho, kappa = sum a_n/q_n, "
    "rho = sum a_n^2 (1/q_n - 1), weighted server steps, updates aggregated",
}


def claim(number: str, case: str, bound: Bound) -> Claim:
    """Return what is proved of a case beside the paper."""
    scope = SCOPES[number]
    if bound is EVERY_RATE:
        scope = "for every learning rate; weighted server steps, updates aggregated"
    if bound is PRINTED_RATES:
        scope = "for equal numbers of steps"
    return Kind.THEOREM(
        f"han2024/thm-{number}/{case}/{bound.name.replace('_', '-')}",
        "not in the paper",
        bound.title,
        *tuple(one.part for one in BOUNDS[number, case][bound.name]),
        scope=scope,
    )


CLAIMS = tuple(claim(*key, bound) for key in BOUNDS for bound in stated(*key))
