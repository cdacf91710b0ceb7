r"""MiniBatch-SFL under bounded gradients: a local step, its drift, T rounds.

The run steps at rate 1; its stochastic gradients are those of the statement times
:math:`\eta=2/(\mu x)`, :math:`x=\gamma+Kt+j`. :math:`\Delta` is the mean model's
distance, D how far the local ones are apart.

With :math:`c(x)=(x-1)(x-2)(x-3)(x-4)` and :math:`P(x)=x^3-10x^2+35x-50`,
:math:`c\Delta+\frac{4S}\mu(K-j)(x-1)(x-2)(x-3)D-P\frac{4V}{3\mu^2}` does not grow.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.local_steps import S, m, n, now, t
from sfl_theory.proofs.minibatch import BEST, R2, gamma, growth, mu
from sfl_theory.proofs.minibatch_stepwise import Walk, of_all, over
from sfl_theory.proofs.notation import (
    combine,
    count,
    nat,
    of,
    sign,
    steps,
    sum_over,
    variable,
)

K, delta2, any_gamma = (
    count("K"),
    notation.nonnegative("delta2"),
    notation.positive("gamma"),
)
RUN = notation.equal_paces(k.Kind.MINIBATCH, K, k.Rate(ratio(1)))
j, i = nat("j"), nat("i")
J, ONE = of(j), ratio(1)
CLIENT, SERVER = k.Side.CLIENT, k.Side.SERVER
r = K - 1 - J
"""How many steps of the round are left after this one."""
LEFT = rules.assume(k.constant(r))
B = R2 + 2 * K * delta2


def clock(step: Number, low: Ratio = gamma) -> Ratio:
    """Return ``x = gamma + K t + j``; `any_gamma` is not at least 7."""
    return low + K * now + step


def gradient_of(step: Ratio, client: k.Client) -> k.Vec:
    """Return the stochastic gradient, which the run steps along at rate 1."""
    return stochastic(RUN, client, now, step)


WALK = Walk(RUN, gradient_of)
point, moved, step, mean_step = WALK.point, WALK.moved, WALK.step, WALK.mean_step
middle, apart, spread, distance = WALK.middle, WALK.apart, WALK.spread, WALK.distance
same_start, ends = WALK.same_start, WALK.ends

# One step: how far the local models are apart, and the mean model's distance --------


def rate() -> Ratio:
    """Return ``1/eta = mu x/2``."""
    return mu * clock(J, any_gamma) / 2


def sampled(w: k.Vec) -> Theorem:
    """Return ``<moved/eta - grad F_n(p), w> >= 0``, assumed."""
    own = k.gradient(k.Local(n), point(J))
    return rules.assume(k.inner(moved() * rate() - own, w))


def bounded() -> Theorem:
    """Return ``||moved||^2 <= eta^2 R2``, assumed times 1/eta^2."""
    one = rules.assume(k.constant(R2) - k.norm2(moved()) * rate() ** 2)
    return combine((one, 1 / rate() ** 2))


def server_same(w: k.Vec) -> Theorem:
    """Return ``<[p - wbar]_s, w> = 0``: the server's block is one for all."""
    x = k.iterate(RUN, now)
    past = k.summed(k.CLIENTS, m, k.part(SERVER, WALK.moves(J, m)) * k.weight(m))

    def own(client: k.Client) -> Theorem:
        return derived.local_update(RUN, client, now, J, SERVER, w)

    seen = k.part(SERVER, point(J, m) - x) + past
    return combine(own(n), (of_all(own(m), m, seen, w), -1))


@cache
def drift() -> Theorem:
    """Return ``D' <= (1 + 1/(2K) - 2 mu eta) D + eta^2 B``."""
    d, after, h = apart(J), apart(J + 1), rate()
    u = k.part(CLIENT, moved())
    all_ = k.summed(k.CLIENTS, m, moved(m) * k.weight(m))
    mean = k.part(CLIENT, all_)
    there = d - u + mean
    w = after + there
    square = combine(
        (step(n, w), -1),
        mean_step(w),
        (rules.blocks(all_, w), -1),
        target=k.norm2(there) - k.norm2(after),
    )
    g, at_mean = k.gradient(k.Local(n), point(J)), k.gradient(k.Local(n), middle(J))
    total = k.gradient(k.MEAN, middle(J))
    near = combine(
        (sampled(k.part(CLIENT, d)), 2 / h),
        (rules.blocks(g, d), -2 / h),
        (server_same(g), -2 / h),
        (derived.convex(k.Local(n), mu, point(J), middle(J)), 2 / h),
        (derived.convex(k.Local(n), mu, middle(J), point(J)), 2 / h),
        (derived.heterogeneity(delta2, n, middle(J)), 2 * K / h**2),
        bounded(),
        rules.blocks(moved(), moved()),
        (d + (at_mean - total) * (2 * K / h), 1 / (2 * K)),
        (k.part(SERVER, moved()), 1),
    )
    right = spread(J) * (1 + 1 / (2 * K) - 2 * mu / h) + k.constant(B / h**2)
    return combine(
        over(square),
        over(near),
        (rules.linear(k.CLIENTS, n, d * k.weight(n), mean), 2),
        (rules.linear(k.CLIENTS, n, d * k.weight(n), total), -2 / h),
        (rules.linear(k.CLIENTS, n, u * k.weight(n), mean), -2),
        (mean, 1),
        target=right - spread(J + 1),
    )


@cache
def descent() -> Theorem:
    """Return ``Delta' <= (1 - 2 mu eta) Delta + S eta D + eta^2 R2``."""
    y, h, wbar = middle(J) - BEST, rate(), middle(J)
    all_ = k.summed(k.CLIENTS, m, moved(m) * k.weight(m))
    there = y - all_
    after = middle(J + 1) - BEST
    square = combine(
        (mean_step(after + there), -1), target=k.norm2(there) - k.norm2(after)
    )
    toward = combine(
        sampled(y),
        derived.majorant(k.Local(n), S, point(J), wbar),
        derived.convex(k.Local(n), mu, point(J), BEST),
    )
    right = distance(J) * (1 - 2 * mu / h) + spread(J) * (S / h) + k.constant(R2 / h**2)
    return combine(
        square,
        (over(toward), 2 / h),
        (rules.linear(k.CLIENTS, n, moved() * k.weight(n), y), 2),
        (rules.mean_value(wbar), -2 / h),
        (rules.mean_value(BEST), 2 / h),
        (growth(wbar), 2 / h),
        (rules.jensen(k.CLIENTS, n, k.weight(n), point(J) - BEST), mu / h),
        rules.jensen(k.CLIENTS, n, k.weight(n), moved()),
        over(bounded()),
        target=right - distance(J + 1),
    )


def from_7(theorem: Theorem) -> Theorem:
    """Return the theorem for ``gamma = 7 + g``."""
    return rules.instantiate(theorem, ((variable(any_gamma), gamma),), ())


# How far the local models of MiniBatch-SFL drift apart in a round, any gamma > 0 -----


def shrunk(step_: Ratio) -> k.Lin:
    """Return ``(x-1)^2 (1 - j/(2K)) D``."""
    x = clock(step_, any_gamma)
    return spread(step_) * ((x - 1) ** 2 * (1 - step_ / (2 * K)))


def spreading() -> Theorem:
    """Return that `shrunk` grows by at most ``4B/mu^2`` in a step."""
    x = clock(J, any_gamma)
    factor = x**2 * (1 - (J + 1) / (2 * K))
    a = (K + 1 + r) / (2 * K)
    spare = x * (K - 1 + r) / K + a + x**2 * (J + 1) / (4 * K**2)
    return combine(
        (drift(), factor),
        (over(combine((apart(J), 1))), spare),
        target=shrunk(J) + k.constant(4 * B / mu**2) - shrunk(J + 1),
        signs=[
            sign(factor, (LEFT, x**2 / (2 * K))),
            sign(spare, (LEFT, x / K + 1 / (2 * K))),
        ],
    )


def by_gradients() -> Theorem:
    """Return ``D <= 2 (R2 + delta2)/mu^2``: bounded gradients, strong convexity."""
    d, wbar = apart(J), middle(J)
    g, at_mean = k.gradient(k.Local(n), point(J)), k.gradient(k.Local(n), wbar)
    total, own = k.gradient(k.MEAN, wbar), moved() * rate()
    seen = k.part(CLIENT, d)
    one = combine(
        sampled(seen),
        (rules.blocks(g, d), -1),
        (server_same(g), -1),
        derived.convex(k.Local(n), mu, point(J), wbar),
        derived.convex(k.Local(n), mu, wbar, point(J)),
        (derived.heterogeneity(delta2, n, wbar), 1 / mu),
        (bounded(), rate() ** 2 / mu),
        (rules.blocks(d, d), mu / 4),
        (d * (mu / 2) + (at_mean - total), 1 / mu),
        (own - seen * (mu / 2), 1 / mu),
        (k.part(SERVER, d), mu / 4),
    )
    return combine(
        (over(one), 2 / mu),
        (rules.linear(k.CLIENTS, n, d * k.weight(n), total), -2 / mu),
    )


STEP, REST = count("j"), of(nat("r"))
SIZE = STEP + 1 + REST
"""K where r steps are left after step j >= 1."""


def long(theorem: Theorem) -> Theorem:
    """Return the theorem for ``K = j + 1 + r``."""
    return rules.instantiate(theorem, ((variable(K), SIZE),), ())


@cache
def drift_of_round() -> Theorem:
    """Return ``sum a ||[p - wbar]_c||^2 <= 3 eta^2 K B``, K = j + 1 + r, j >= 1."""
    by: dict[k.Variable, k.Replacement] = {variable(K): SIZE}
    x = k.number_at(clock(STEP, any_gamma), by)
    bound = k.number_at(3 * K * B * 4 / mu**2, by) / x**2
    d = apart(STEP)
    client = combine(
        rules.blocks(d, d),
        (k.part(SERVER, d), 1),
        target=k.norm2(d) - k.norm2(k.part(CLIENT, d)),
    )
    whole = combine(
        sum_over(long(spreading()), steps(STEP), j),
        derived.telescope(j, k.lin_at(shrunk(J), by), STEP),
        (long(same_start()), k.number_at((clock(0, any_gamma) - 1) ** 2, by)),
        signs=[rules.square(k.number_at(clock(0, any_gamma) - 1, by))],
    )
    late, early = (rules.assume(k.constant(c)) for c in (x - 3, 3 - x))
    share = 3 * SIZE / (STEP * x**2)
    enough = (x - 1) ** 2 * (STEP + 2 + 2 * REST) * 3 / 2 - STEP * x**2
    left_over = combine(
        (rules.square(x - 3), STEP / 2),
        (rules.square(x - 1), 3 * REST),
        (late, 3 * x),
        target=k.constant(enough),
    )
    spare = enough / (STEP * x**2)
    target = k.constant(bound) - k.lin_at(spread(STEP), by)
    above = combine(
        (whole, share),
        (long(over(combine((d, 1)))), spare),
        target=target,
        signs=[sign(spare, (left_over, 1 / (STEP * x**2)))],
    )
    level = k.number_at(R2 + delta2, by) * 2 / mu**2
    below = combine(
        long(rules.instantiate(by_gradients(), ((j, STEP),), ())),
        (early, level * (3 + x) / x**2),
        target=target,
    )
    both = rules.cases(above, below, x - 3)
    return combine(both, long(over(client)))


def no_drift() -> Theorem:
    """Return the same for j = 0 and ``K = EM``, where D is 0."""
    d, h = apart(ratio(0)), mu * clock(0, any_gamma) / 2
    client = combine(rules.blocks(d, d), (k.part(SERVER, d), 1))
    bound = k.constant(3 * K * B / h**2)
    block = k.summed(k.CLIENTS, n, k.norm2(k.part(CLIENT, d)) * k.weight(n))
    one = combine(same_start(), over(client), target=bound - block)
    size = count("epochs") * count("batches")
    return rules.instantiate(one, ((variable(K), size),), ())


# The distance to the optimum after T rounds ------------------------------------------

V = R2 + (K - 1) * B


def falling(x: Ratio) -> Ratio:
    """Return ``c(x)``, for which ``c(x+1) (1 - 4/x) = c(x)``."""
    return (x - 1) * (x - 2) * (x - 3) * (x - 4)


def weighted(d: k.Lin, x: Ratio) -> k.Lin:
    """Return ``c(x) d - P(x) 4V/(3 mu^2)``.

    ``P(x) <= c(x)/x`` and ``P(x+1) - P(x) >= 3 c(x+1)/x^2``.
    """
    P = x**3 - 10 * x**2 + 35 * x - 50
    return d * falling(x) - k.constant(P * 4 * V / (3 * mu**2))


def near(x: Ratio) -> Ratio:
    """Return what D weighs in the potential, for every step that is left."""
    return 4 * S / mu * (x - 1) * (x - 2) * (x - 3)


def potential(step_: Ratio) -> k.Lin:
    """Return ``Phi``: `weighted` of the distance, and D."""
    x = clock(step_)
    return weighted(distance(step_), x) + spread(step_) * (near(x) * (K - step_))


def few() -> Theorem:
    """Return ``4S/mu r <= (K - 1)(x - 3)``."""
    x = clock(J)
    smooth = rules.assume(k.constant(gamma - 8 * S / mu + 1))
    return combine(
        (sign(gamma / 7 - S / mu, (smooth, ratio(1) / 8)), 4 * r),
        (LEFT, 4 * (x - gamma) / 7 + 3 * (x - 7) / 7),
        target=k.constant((K - 1) * (x - 3) - 4 * S / mu * r),
        signs=[sign(4 * r, (LEFT, 4))],
    )


def grown() -> Theorem:
    """Return ``Phi' <= Phi``."""
    x = clock(J)
    low, later = (x - 1) * (x - 2), near(clock(J + 1)) * r
    rest, left = (x - 3) * (J + 1) + r * (2 * K - 3), 2 * S / mu * low / K
    kept = sign(rest, (rules.square(r - 1), 2), (LEFT, 3 + 2 * J))
    signs = [sign(later, (LEFT, near(clock(J + 1)))), sign(rest * left, (kept, left))]
    return combine(
        (from_7(descent()), x * low * (x - 3)),
        (from_7(drift()), later),
        (few(), 4 / (mu**2 * x**2) * B * x * low),
        (over(combine((apart(J), 1))), rest * left),
        target=potential(J) - potential(J + 1),
        signs=signs,
    )


@cache
def rounds() -> Theorem:
    """Return ``||x(T) - x*||^2 <= (4V/(3mu^2) + gamma ||x(0) - x*||^2)/(gamma+KT)``.

    In a round ``c ||x(t) - x*||^2 - P 4V/(3 mu^2)`` does not grow; local points start
    and end it at the models.
    """

    def level(at: Ratio) -> k.Lin:
        return weighted(k.norm2(k.iterate(RUN, at) - BEST), gamma + K * at)

    zero, T = ratio(0), count("T")
    first = middle(zero) + k.iterate(RUN, now) - BEST * 2
    last = middle(K) + k.iterate(RUN, now + 1) - BEST * 2
    one = combine(
        sum_over(grown(), steps(K), j),
        derived.telescope(j, potential(J), K),
        (same_start(), near(clock(0)) * K),
        (WALK.start_of_mean(first), -falling(clock(0))),
        (ends(last), falling(clock(K))),
    )
    end, start = gamma + K * T, k.iterate(RUN, 0) - BEST
    share = 1 / falling(end)
    bound = k.norm2(start) * gamma + k.constant(4 * V / (3 * mu**2))
    return combine(
        (sum_over(one, steps(T), t), share),
        (derived.telescope(t, level(now), T), share),
        (start, gamma / end - falling(gamma) * share),
        target=bound * (1 / end) - k.norm2(k.iterate(RUN, T) - BEST),
    )
