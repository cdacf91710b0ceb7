r"""From one step to Theorem 1: rates, the recursion times u (u - 1), its sums.

With :math:`u=\gamma+s`, s the paper's number of the step, the rate is
:math:`\eta_s=2/(\mu u)`. It is a family with :math:`\mu(\gamma+s)\eta_s=2`, for sums
over steps have no denominators that depend on the step.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Lin, Vec, constant, iterate, norm2, weight
from sfl_theory.papers.li2020 import one_step as st
from sfl_theory.papers.li2020.one_step import BEST, RUN, E, L, eta, gamma, k, mu, step
from sfl_theory.proofs import derived
from sfl_theory.proofs.counted_steps import at_step
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.notation import combine, mean, nat, of, steps, sum_over

r, v, o = nat("r"), nat("v"), nat("o")
d, e = of(nat("d")), of(nat("e"))


# Rates ------------------------------------------------------------------------------


def falls(s: Ratio) -> Ratio:
    """Return what is >= 0 if the rate of step s + 1 is no larger than that of s."""
    return eta(s) - eta(s + 1)


def rates_fall(s: Ratio, later: Ratio) -> Theorem:
    """Return ``eta_s >= eta_{s + later}``."""

    def claim(at: Ratio) -> Lin:
        return constant(eta(s) - eta(s + at))

    one = combine(rules.assume(claim(of(o))), at_step(falls, s + of(o)))
    always = rules.induct(combine(target=claim(ratio(0))), one, o, claim(of(o)))
    return rules.instantiate(always, ((o, later),), ())


def twice(s: Ratio, later: Ratio, rest: Ratio) -> Theorem:
    """Return ``eta_s <= 2 eta_{s + later}``, for E = later + rest."""
    slow = at_step(lambda at: 2 * eta(at + later + rest) - eta(at), s)
    return combine(slow, (rates_fall(s + later, rest), 2))


def slow_enough() -> Theorem:
    """Return `twice` of any step."""
    return twice(of(v) + 1, d, e)


def above(s: Ratio) -> Ratio:
    """Return what is >= 0 if the rate is at least ``2/(mu (gamma + s))``."""
    return mu * (gamma + s) * eta(s) - 2


def below(s: Ratio) -> Ratio:
    """Return what is >= 0 if the rate is at most that."""
    return -above(s)


SMOOTH = rules.assume(constant(gamma - 8 * L / mu))
LONG = rules.assume(constant(gamma - E))


def small(s: Ratio) -> Theorem:
    """Return ``eta_s <= 1/(4 L)``."""
    return combine(
        (at_step(below, s), 1 / (8 * L)),
        (SMOOTH, mu * eta(s) / (8 * L)),
        target=constant(1 / (4 * L) - eta(s)),
    )


def doubled() -> Theorem:
    """Return ``eta_j <= 2 eta_i`` for steps i, j < E of a round."""
    s, early = st.number(step), st.number(of(st.j))
    u = mu * (gamma + early)
    return combine(
        (at_step(above, s), 1 / u),
        (at_step(below, early), 1 / u),
        (LONG, mu * eta(s) / u),
        (st.MADE, mu * eta(s) / u),
        target=constant(2 * eta(s) - eta(early)),
    )


def short_enough() -> Theorem:
    """Return ``1 - 4 L eta >= 0`` as Lemma 1 assumes it, ``eta <= 1/(4 L)``."""
    rate = eta(st.number(step))
    return combine((rules.assume(constant(1 / (4 * L) - rate)), 4 * L))


def since() -> Theorem:
    """Return ``2 eta_i - eta_j >= 0`` as Lemma 3 assumes it."""
    return rules.assume(constant(2 * eta(st.number(step)) - eta(st.number(of(st.j)))))


def rate_is_small() -> Theorem:
    """Return `small` of any step."""
    return small(of(v) + 1)


def rate_falls() -> Theorem:
    """Return ``eta_{s+1} <= eta_s``."""
    s = of(v) + 1
    u = mu * (gamma + s)
    return combine(
        (at_step(above, s), 1 / u),
        (at_step(below, s + 1), 1 / u),
        target=constant(eta(s) - eta(s + 1)),
    )


def rate_falls_slowly() -> Theorem:
    """Return ``eta_s <= 2 eta_{s+E}``."""
    s = of(v) + 1
    u = mu * (gamma + s)
    return combine(
        (at_step(above, s + E), 1 / u),
        (at_step(below, s), 1 / u),
        (LONG, mu * eta(s + E) / u),
        target=constant(2 * eta(s + E) - eta(s)),
    )


# Theorem 1 --------------------------------------------------------------------------


def noises() -> Lin:
    """Return ``B = sum_k p_k^2 sigma_k^2 + 6 L Gamma + 8 (E - 1)^2 G^2``."""
    own = mean(k, weight(k) ** 2 * st.sigma2) + 8 * (E - 1) ** 2 * st.G2
    return constant(own) + st.heterogeneity() * (6 * L)


@cache
def one_step() -> Theorem:
    """Return ``u (u - 1) D' <= (u - 1) (u - 2) D + 4 B/mu^2``.

    Lemmas 1-3 times u (u - 1), where mu u eta = 2; ``D = ||wbar - w*||^2``.
    """
    s = st.number(step)
    u, rate = gamma + s, eta(s)
    low, high = at_step(above, s), at_step(below, s)
    size = u * (u - 1)
    less = combine(
        (high, (mu * u * rate + 2) / mu**2), target=constant(4 / mu**2 - size * rate**2)
    )
    now_, after = st.model(step) - BEST, st.model(step + 1) - BEST
    own = mean(k, weight(k) ** 2 * st.sigma2) + 8 * (E - 1) ** 2 * st.G2
    return combine(
        (st.lemma_1(combine((small(s), 4 * L))), size),
        (st.lemma_2(), size * rate**2),
        (st.lemma_3(doubled()), 2 * size),
        (less, own),
        (st.heterogeneous(), 6 * L * (4 / mu**2 - size * rate**2)),
        (now_, (u - 1) * (mu * u * rate - 2)),
        target=norm2(now_) * ((u - 1) * (u - 2))
        + noises() * (4 / mu**2)
        - norm2(after) * size,
        signs=[low, less],
    )


def scaled(at: Ratio, u: Vec) -> Lin:
    """Return ``(gamma + at) (gamma + at - 1) ||u - w*||^2``."""
    return norm2(u - BEST) * ((gamma + at) * (gamma + at - 1))


@cache
def within(upper: Ratio) -> Theorem:
    """Return what `upper` steps of a round do: `scaled` grows by 4 B/mu^2 a step."""
    x, at = iterate(RUN, st.now), E * st.now
    made = sum_over(one_step(), steps(upper), st.i)
    ways = derived.telescope(st.i, scaled(at + step, st.model(step)), upper)
    size = (gamma + at) * (gamma + at - 1)
    both = st.model(0) + x - 2 * BEST
    return combine(
        made,
        ways,
        (st.starts(both), -size),
        target=scaled(at, x)
        + noises() * (4 * upper / mu**2)
        - scaled(at + upper, st.model(upper)),
    )


@cache
def distance() -> Theorem:
    """Return the same after r whole rounds."""
    first, x = iterate(RUN, 0), iterate(RUN, of(r))
    later = iterate(RUN, st.now + 1)
    at = E * (st.now + 1)
    last = st.model(E)
    one = combine(
        within(E),
        (st.ends(later + last - 2 * BEST), -(gamma + at) * (gamma + at - 1)),
    )
    rounds = sum_over(one, steps(of(r)), st.t)
    ways = derived.telescope(st.t, scaled(E * st.now, iterate(RUN, st.now)), of(r))
    return combine(
        rounds,
        ways,
        target=scaled(ratio(0), first)
        + noises() * (4 * E * of(r) / mu**2)
        - scaled(E * of(r), x),
    )


def gap_by_distance(p: Vec) -> Theorem:
    """Return ``F(p) - F* <= L/2 ||p - w*||^2``."""
    flat = rules.stationary(MEAN, p - BEST)
    return combine(smooth_mean(L, BEST, p), (flat, -1))


def bound(made: Ratio) -> Lin:
    """Return ``kappa/(gamma + made) (2 B/mu + mu gamma/2 ||w_1 - w*||^2)``."""
    start = norm2(iterate(RUN, 0) - BEST) * (mu * gamma / 2)
    return (noises() * (2 / mu) + start) * (L / mu / (gamma + made))


def _bounded(near: Theorem, p: Vec, made: Ratio, by: Ratio | None = None) -> Theorem:
    """Return ``F(p) - F* <= bound(by)`` from a bound on ``scaled(made, p)``."""
    by = made if by is None else by
    low, high = gamma + made - 1, gamma + made
    more = combine(LONG, target=constant(gamma - 1))
    c = L / (2 * low * high)
    rest = 4 / mu**2 * (low * high / (gamma + by) - made) * c
    own = mean(k, weight(k) ** 2 * st.sigma2) + 8 * (E - 1) ** 2 * st.G2
    spare = combine((more, 4 / mu**2 * c), target=constant(rest))
    return combine(
        (near, c),
        gap_by_distance(p),
        (spare, own),
        (st.heterogeneous(), 6 * L * rest),
        (iterate(RUN, 0) - BEST, gamma * c * (low * high / (gamma + by) - gamma + 1)),
        target=bound(by) - terms.value_of(MEAN, p) + terms.value_of(MEAN, BEST),
        signs=[spare],
    )


def theorem_1(rounds: Ratio, sharp: bool = True) -> Theorem:
    """Return Theorem 1 after whole rounds, at least one.

    Its T - 1 is the number of steps made (`sharp`), or one less.
    """
    made = E * rounds
    near = rules.instantiate(distance(), ((r, rounds),), ())
    return _bounded(near, iterate(RUN, rounds), made, made if sharp else made - 1)


def theorem_1_within(rounds: Ratio, steps_: Ratio) -> Theorem:
    """Return Theorem 1 after whole rounds and steps of the next one, at least one."""
    before = rules.instantiate(distance(), ((r, rounds),), ())
    last = rules.instantiate(within(steps_), ((st.t, rounds),), ())
    mean_ = terms.vec_at(st.model(steps_), {st.t: rounds})
    return _bounded(combine(before, last), mean_, E * rounds + steps_)
