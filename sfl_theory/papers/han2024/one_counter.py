r"""SFL-V1 on Algorithm 1's clock: one counter of iterations for both sides.

Iteration :math:`k=0,1,\dots` has its own learning rate; the models of a side are
averaged after every :math:`\tau` (:math:`\tilde\tau`) of them. For any two periods
gradients are bounded block by block, T are iterations, and the mean model x(t) is
followed through them. For equal periods a joint bound does; there a round is
:math:`\tau` iterations, n are those of T rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import prod

from sfl_theory.evidence import Kind, Part, meeting, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation import written as w
from sfl_theory.notation.written import (
    ATOM,
    Assumed,
    Form,
    Number,
    Run,
    Vector,
    Written,
)
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import (
    G2,
    S,
    T,
    a,
    best,
    f,
    i,
    m,
    mu,
    n,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs import counted_steps, one_clock
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.mean_steps import Averaged
from sfl_theory.proofs.notation import combine

v = w.natural("v")
above_8 = w.nonnegative("g")
gamma = w.called(8 + above_8, r"\gamma")
eta = w.positive("eta", r"\eta")
PERIODS = {k.Side.CLIENT: tau, k.Side.SERVER: tau_server}
BLOCKS = {
    k.Side.CLIENT: w.nonnegative("G2_c", "G_c^2"),
    k.Side.SERVER: w.nonnegative("G2_s", "G_s^2"),
}
NOISE = w.over_clients(n, a() ** 2 * s.sigma2())
READINGS = {
    k.Kind.V1: r"$\tilde\tau=\tau$; $n=\tau T$",
    k.Kind.COUNTED: r"any two periods; T iterations, $x^t$ the mean model before one",
}


def taken(r: Run) -> Number:
    """Return the number of iterations."""
    return T if r.split.kind is k.Kind.COUNTED else w.called(tau * T, "n")


def rate(r: Run, at: Number) -> Number:
    r"""Return the rate of iteration k = at, which runs in rounds count from one."""
    return s.eta(at + 1 if r.split.kind is k.Kind.V1 else at)


def run(kind: k.Kind, falling: bool) -> Run:
    """Return the run, at rates of iterations or at a constant one."""
    equal = kind is k.Kind.V1
    of_step = w.rate(lambda at: s.eta(at + 1 if equal else at))
    each = of_step if falling else w.rate(eta)
    paces = (
        w.pace(tau if equal else period, each, stepwise=falling and equal)
        for period in PERIODS.values()
    )
    return Run(k.Split(kind, k.Participants.EVERYONE, *paces), "SFL-V1")


def mean_model(r: Run) -> Vector:
    r"""Return :math:`\bar x`, the mean of the models before iteration i of round t."""
    total, above = w.over_clients(m, a(m) * r.p(m, t, i)), f"{t.tex},{i.tex}"
    name = w.Name(r"\bar{x}", above=above)
    return Written(total.value, str(name), ATOM, name)


def average(r: Run, of: Callable[[Vector], Form]) -> Form:
    """Return the mean over the mean models before all iterations."""
    if r.split.kind is k.Kind.COUNTED:
        return w.below(t, T, of(r.x(t))) / T
    return w.below(t, T, w.below(i, tau, of(mean_model(r)))) / taken(r)


def rate_rule(r: Run) -> tuple[Assumed, ...]:
    r"""Return :math:`\eta=4/(\mu(\gamma+k))` of iteration k, for all, as a product."""
    left = mu * (gamma + v) * rate(r, v)
    return tuple(
        w.every_natural(v, one).called("iteration k at 4/(mu (gamma + k))")
        for one in w.equals(left, w.number(4))
    )


def assumed(r: Run, modulus: Number | int | None, noisy: bool = True) -> tuple[
    Assumed, ...
]:  # fmt: skip
    """Return the assumptions; the modulus is None where there is no convexity.

    A joint bound on gradients is needed for equal periods, and in place of noise.
    """
    counted = r.split.kind is k.Kind.COUNTED
    above = w.smooth if modulus is None else w.majorised
    fair, noise, apart = s.assumption_32(r)
    return (
        w.every_client(n, above(w.local(n), S)).called("Assumption 3.1"),
        *(() if modulus is None else (s.assumption_C2(modulus),)),
        fair,
        *((noise,) if noisy else ()),
        *((apart,) if noisy or not counted else ()),
        *((s.assumption_33(r),) if not (noisy and counted) else ()),
        *(
            w.bounded_block(r, G2_b, side).called("Assumption 3.3, by blocks")
            for side, G2_b in BLOCKS.items()
            if counted
        ),
    )


def level(r: Run) -> Number:
    r"""Return the mean over a period of :math:`(i\eta G)^2`, of both sides."""
    periods = zip(PERIODS.values(), BLOCKS.values(), strict=True)
    each = [*periods] if r.split.kind is k.Kind.COUNTED else [(tau, G2)]
    first, *later = ((p - 1) * (2 * p - 1) * bound for p, bound in each)
    return Fraction(1, 6) * eta**2 * w.bracket(sum(later, start=first))


# The bounds ---------------------------------------------------------------------------


def product(at: Number, first: int, last: int) -> Number:
    """Return ``(at - first)...(at - last)``."""
    return prod((at - q for q in range(first + 1, last + 1)), start=at - first)


def in_distance(r: Run) -> Form:
    """Return the bound with the first distance, for equal periods."""
    steps = taken(r)
    end = gamma + steps
    squares = gamma**2 + gamma * steps + steps**2 / 3
    rest = gamma + steps / 2 + Fraction(9, 4) * tau
    early = (2 * tau - 1) / 6 * squares + tau * (tau - 1) * w.bracket(rest)
    first = product(gamma, 1, 5) * w.norm2(r.x(0) - best)
    noise = 4 / mu**2 * (product(end, 2, 5) - product(gamma, 2, 5)) * NOISE
    drift = 160 * S / mu**3 * steps * (tau - 1) * w.bracket(early) * G2
    whole = first + w.as_form(noise) + w.as_form(drift)
    return S / 2 * (whole / product(end, 1, 5))


def in_gap(r: Run) -> Form:
    """Return the bound with the first gap."""
    steps = taken(r)
    end = gamma + steps

    def drift(period: Number, bound: Number) -> Form:
        early = (2 * period - 1) / 6 * (gamma + steps / 2)
        early = early + Fraction(7, 4) * period * (period - 1)
        way = 32 * S**2 / mu**3 * steps * (period - 1)
        return w.as_form(way * w.bracket(early) * bound)

    first = product(gamma, 1, 4) * f.gap(r.x(0))
    noise = 8 * S / (3 * mu**2) * (product(end, 2, 4) - product(gamma, 2, 4)) * NOISE
    whole = first + w.as_form(noise)
    if r.split.kind is k.Kind.V1:
        return (whole + drift(tau, G2)) / product(end, 1, 4)
    sides = [drift(PERIODS[side], BLOCKS[side]) for side in k.Side]
    return (whole + sides[0] + sides[1]) / product(end, 1, 4)


def named(found: Theorem) -> Theorem:
    """Return a theorem with tau for the number of steps."""
    return rules.instantiate(found, ((k.Var("K", Sort.COUNT), tau.value),), ())


def near() -> Theorem:
    """Return the strongly convex bound by the distance, for equal periods."""
    falling = counted_steps.Falling(4, 5, Fraction(1, 2))
    last = run(k.Kind.V1, falling=True).x(T).value
    return combine((named(falling.after()), S.value / 2), value_gap(S.value, last))


def low() -> Theorem:
    """Return the strongly convex bound by the gap, for equal periods."""
    return named(counted_steps.FallingGap(4, 4, Fraction(1)).after())


LAWS = {
    k.Kind.V1: k.Rate(4 / (7 + k.symbol(k.ROUND))),
    k.Kind.COUNTED: k.Rate(4 / (8 + k.symbol(k.ROUND))),
}
EIGHTH = Fraction(1, 8)

STRONG_WORDS = (
    r"$\mu\eta x=4$ for the rate of iteration k, $x=\gamma+k$, so "
    r"$S\eta\le\frac12$, and "
    r"$D\le(i\eta_{first}G)^2$ before iteration i of a round, $\eta_{first}$ its first "
    "rate. "
)
NEAR_WORDS = STRONG_WORDS + (
    r"$\Delta'\le(1-\mu\eta(2-\frac32S\eta))\Delta+S\eta(1+3S\eta)D+\eta^2\sum_n"
    r"a_n^2\sigma_n^2$, times $xW$ for W = (x-1)(x-2)(x-3)(x-4), telescopes; $W\le "
    r"y^2(y^2+4iy+11i\tau)$ for $x=y+i$, $i<\tau\le y$."
)
LOW_WORDS = STRONG_WORDS + (
    r"$\phi'\le(1-\mu\eta)\phi+\frac{S^2\eta}2D+\frac S2\eta^2\sum_na_n^2\sigma_n^2$, "
    r"times $x(x-1)(x-2)(x-3)$, telescopes; $(x-1)(x-2)(x-3)\le y^2(y+7i)$."
)
BY_BLOCKS = (
    " D by blocks, each in its own side's periods, whole or not: "
    r"$\sum_{i<r}i^2\le\frac r6(s-1)(2s-1)$ for r <= s."
)
STRONG = {
    "distance": (k.Kind.V1, in_distance, near, NEAR_WORDS),
    "gap": (k.Kind.V1, in_gap, low, LOW_WORDS),
    "any periods": (
        k.Kind.COUNTED,
        in_gap,
        lambda: one_clock.Falling().last_gap(),
        LOW_WORDS + BY_BLOCKS,
    ),
}


def strongly_convex(which: str) -> Part:
    """Return the gap of the last model at rates 4/(mu (gamma + k))."""
    kind, right, found, words = STRONG[which]
    r = run(kind, falling=True)
    long = [tau] if kind is k.Kind.V1 else [*PERIODS.values()]
    said = says(
        f.gap(r.x(T)),
        right(r),
        *assumed(r, mu),
        s.minimum(),
        *rate_rule(r),
        w.at_most(8 * S / mu, gamma),
        *(w.at_most(period, gamma) for period in long),
    )
    periods = r"$\gamma\ge\tau$" + r" and $\gamma\ge\tilde\tau$" * (len(long) - 1)

    def theorem() -> Theorem:
        return combine(found(), target=said.right.value - said.left.value)

    return proved(
        said,
        theorem,
        words,
        f"{READINGS[kind]}; $\\gamma\\ge8S/\\mu$, {periods}",
        model=meeting(said, rates={"eta": LAWS[kind]}, tau=2),
    )


SUMMED: dict[k.Kind, Averaged] = {
    k.Kind.V1: counted_steps.Rounds(),
    k.Kind.COUNTED: one_clock.Steps(),
}
"""Who sums over all iterations."""


def general_convex(kind: k.Kind, divided: bool) -> Part:
    """Return the mean gap at a constant rate; with noise divided by N, or any rate."""
    r, found = run(kind, falling=False), SUMMED[kind]
    start, rest, n = w.norm2(r.x(0) - best), tuple[Assumed, ...](), taken(r)
    if divided:
        right = start / (eta * n) + w.as_form(eta * NOISE + 3 * S / 2 * level(r))
        rest = (s.minimum(), w.at_most(4 * S * eta, 1).called("S eta <= 1/4"))
        theorem = found.average_gap_divided
    else:
        right = start / (2 * eta * n) + w.as_form(eta / 2 * G2 + S / 2 * level(r))
        theorem = found.average_gap
    said = says(average(r, f.gap), right, *assumed(r, 0, divided), *rest)
    return proved(
        said,
        lambda: quarter(named(theorem()), divided),
        r"$\langle\nabla F_n(x_n),\bar x-x^*\rangle\ge F_n(\bar x)-F_n(x^*)-\frac S2\|"
        r"\bar x-x_n\|^2$ and $D\le(i\eta G)^2$; the mean gradient's second moment is "
        + (
            r"$\|\cdot\|^2\le4S(f(\bar x)-f^*)+2S^2D$ and that of the mean noise."
            if divided
            else "at most $G^2$."
        )
        + BY_BLOCKS * (kind is k.Kind.COUNTED),
        READINGS[kind],
        model=meeting(said, tau=2, eta=EIGHTH),
    )


def quarter(found: Theorem, divided: bool) -> Theorem:
    """Return a theorem that assumes ``4 S eta <= 1`` where it did ``S eta <= 1/4``."""
    if not divided:
        return found
    whole = rules.assume(k.constant(1 - 4 * S.value * eta.value))
    return rules.cut(found, combine((whole, Fraction(1, 4))))


def non_convex(kind: k.Kind) -> Part:
    """Return the mean squared gradient at a constant rate."""
    r = run(kind, falling=False)
    right = 2 * f.gap(r.x(0)) / (eta * taken(r))
    right = right + w.as_form(S * eta * NOISE + S**2 * level(r))
    said = says(
        average(r, lambda x: w.norm2(f.gradient(x))),
        right,
        *assumed(r, None),
        s.minimum(),
        w.at_most(S * eta, 1),
    )

    return proved(
        said,
        lambda: named(SUMMED[kind].average_gradient()),
        r"$\phi'\le\phi-\frac\eta2\|\nabla f(\bar x)\|^2+\frac{S^2\eta}2D+\frac S2"
        r"\eta^2\sum_na_n^2\sigma_n^2$, $D\le(i\eta G)^2$."
        + BY_BLOCKS
        * (kind is k.Kind.COUNTED),
        READINGS[kind],
        model=meeting(said, tau=2, eta=EIGHTH),
    )


SCOPE = (
    "where everyone takes part, any weights; stochastic gradients bounded along the "
    "run: for equal periods, after whole rounds, by a joint G; for any two by blocks"
)
CLAIMS = (
    Kind.THEOREM(
        "han2024/alg-1/one-counter/strongly_convex",
        "not in the paper",
        "SFL-V1 on one counter of iterations: the gap of the last model at rates "
        "4/(mu (gamma + k)), noise divided by N, drift at 1/T^2.",
        *map(strongly_convex, STRONG),
        scope=SCOPE,
    ),
    Kind.THEOREM(
        "han2024/alg-1/one-counter/general_convex",
        "not in the paper",
        "SFL-V1 on one counter of iterations: the mean gap of all mean models at a "
        "constant rate.",
        *(general_convex(kind, one) for one in (False, True) for kind in READINGS),
        scope=SCOPE,
    ),
    Kind.THEOREM(
        "han2024/alg-1/one-counter/non_convex",
        "not in the paper",
        "SFL-V1 on one counter of iterations: the mean squared gradient at all mean "
        "models at a constant rate.",
        *map(non_convex, READINGS),
        scope=SCOPE,
    ),
)
