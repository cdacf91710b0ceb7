r"""MiniBatch-SFL with a rate that falls at every step, any number of local steps.

The run steps at rate 1; its stochastic gradients are those of the statement times
:math:`\eta=2/(\mu x)`, :math:`x=\gamma+Kt+j`. :math:`\Phi=(x-1)(x-2)\Delta+A_jD` with
:math:`A_j=\frac{4S}\mu(\gamma+Kt+K)(K-j)` grows by at most :math:`4V/\mu^2` in a step;
:math:`\Delta` is the distance of the mean model and D how far the local ones are apart.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Kind,
    Lin,
    Local,
    Rate,
    Side,
    Var,
    Vec,
    constant,
    gradient,
    inner,
    iterate,
    lin_at,
    local_point,
    norm2,
    number_at,
    part,
    summed,
    weight,
)
from sfl_theory.proofs.local_steps import S, m, n, now, t
from sfl_theory.proofs.minibatch import BEST, R2, gamma, growth, mu
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    nat,
    nonnegative,
    of,
    positive,
    sign,
    steps,
    sum_over,
)

K, delta2, any_gamma = count("K"), nonnegative("delta2"), positive("gamma")
RUN = equal_paces(Kind.MINIBATCH, K, Rate(ratio(1)))
j, i = nat("j"), nat("i")
other = Client("k")
J, ONE = of(j), ratio(1)
CLIENT, SERVER = Side.CLIENT, Side.SERVER
r = K - 1 - J
"""How many steps of the round are left after this one."""
LEFT = rules.assume(constant(r))
B = R2 + 2 * K * delta2
V = R2 + (K - 1) * B * 8 / 7


def point(step: Number, client: Client = n) -> Vec:
    """Return the local point."""
    return local_point(RUN, client, now, step)


def middle(step: Number) -> Vec:
    """Return the mean of the local points."""
    return summed(CLIENTS, m, point(step, m) * weight(m))


def clock(step: Number, low: Ratio = gamma) -> Ratio:
    """Return ``x = gamma + K t + j``; `any_gamma` is not at least 7."""
    return low + K * now + step


def moved(client: Client = n, step: Ratio = J) -> Vec:
    """Return by how much step j moves against client n's gradient."""
    g = stochastic(RUN, client, now, step + of(i))
    return summed(steps(1), i, g)


def gradients(client: Client, upper: Ratio) -> Vec:
    """Return the sum of the stochastic gradients before a step."""
    return summed(steps(upper), i, stochastic(RUN, client, now, of(i)))


def one_more(client: Client, w: Vec) -> Theorem:
    """Return ``<sum_{i<j+1} g - sum_{i<j} g - moved, w> = 0``."""
    g, later = (stochastic(RUN, client, now, at) for at in (of(i), J + of(i)))
    return combine([
        (rules.linear(steps(J + 1), i, g, w), 1),
        (rules.linear(steps(J), i, g, w), -1),
        (rules.linear(steps(1), i, later, w), -1),
        (rules.split(i, inner(g, w), J, ONE), 1),
    ])


def none(client: Client, w: Vec) -> Theorem:
    """Return ``<sum_{i<0} g, w> = 0``."""
    g, zero = stochastic(RUN, client, now, of(i)), ratio(0)
    return combine([
        (rules.linear(steps(0), i, g, w), 1),
        (rules.split(i, inner(g, w), zero, zero), -1),
    ])


def of_all(theorem: Theorem, client: Client, u: Vec, w: Vec) -> Theorem:
    """Return ``<sum a u, w>`` zero from ``<u, w> = 0`` for each client."""
    return combine([
        (rules.linear(CLIENTS, client, u * weight(client), w), 1),
        (sum_over(theorem, CLIENTS, client, weight(client)), 1),
    ])


def step(client: Client, w: Vec) -> Theorem:
    """Return ``<p' - p + [moved_n]_c + [sum a moved]_s, w> = 0``."""
    c, s = part(CLIENT, w), part(SERVER, w)
    change = gradients(m, J + 1) - gradients(m, J) - moved(m)
    uses: list[tuple[Theorem, Number]] = [
        (one_more(client, c), -1),
        (of_all(one_more(m, s), m, change, s), -1),
    ]
    for side, v in ((CLIENT, c), (SERVER, s)):
        uses += [
            (rules.local_update(RUN, client, now, J + 1, side, v), 1),
            (rules.local_update(RUN, client, now, J, side, v), -1),
        ]
    uses.append((rules.blocks(point(J + 1, client) - point(J, client), w), 1))
    return combine(uses)


def by(client: Client = n) -> Vec:
    """Return by how much the local point moves."""
    all_ = summed(CLIENTS, m, moved(m) * weight(m))
    return part(CLIENT, moved(client)) + part(SERVER, all_)


def mean_step(w: Vec) -> Theorem:
    """Return ``<wbar' - wbar + sum a moved, w> = 0``."""
    change = point(J + 1, other) - point(J, other) + by(other)
    all_ = summed(CLIENTS, m, moved(m) * weight(m))
    return combine([
        (of_all(step(other, w), other, change, w), 1),
        (rules.blocks(all_, w), 1),
    ])


# One step: how far the local models are apart, and the mean model's distance --------


def rate() -> Ratio:
    """Return ``1/eta = mu x/2``."""
    return mu * clock(J, any_gamma) / 2


def sampled(w: Vec) -> Theorem:
    """Return ``<moved/eta - grad F_n(p), w> >= 0``, assumed."""
    own = gradient(Local(n), point(J))
    return rules.assume(inner(moved() * rate() - own, w))


def bounded() -> Theorem:
    """Return ``||moved||^2 <= eta^2 R2``, assumed times 1/eta^2."""
    one = rules.assume(constant(R2) - norm2(moved()) * rate() ** 2)
    return combine([(one, 1 / rate() ** 2)])


def over(theorem: Theorem) -> Theorem:
    """Return the mean over clients."""
    return sum_over(theorem, CLIENTS, n, weight(n))


def apart(step_: Ratio) -> Vec:
    """Return the local point seen from their mean."""
    return point(step_) - middle(step_)


def spread(step_: Ratio) -> Lin:
    """Return ``D = sum a ||p - wbar||^2``."""
    return summed(CLIENTS, n, norm2(apart(step_)) * weight(n))


def distance(step_: Ratio) -> Lin:
    """Return ``||wbar - x*||^2``."""
    return norm2(middle(step_) - BEST)


def server_same(w: Vec) -> Theorem:
    """Return ``<[p - wbar]_s, w> = 0``: the server's block is one for all."""
    x = iterate(RUN, now)
    past = summed(CLIENTS, m, part(SERVER, gradients(m, J)) * weight(m))

    def own(client: Client) -> Theorem:
        return rules.local_update(RUN, client, now, J, SERVER, w)

    seen = part(SERVER, point(J, m) - x) + past
    return combine([(own(n), 1), (of_all(own(m), m, seen, w), -1)])


@cache
def drift() -> Theorem:
    """Return ``D' <= (1 + 1/(2K) - 2 mu eta) D + eta^2 B``."""
    d, after, h = apart(J), apart(J + 1), rate()
    u = part(CLIENT, moved())
    all_ = summed(CLIENTS, m, moved(m) * weight(m))
    mean = part(CLIENT, all_)
    there = d - u + mean
    w = after + there
    square = combine(
        [(step(n, w), -1), (mean_step(w), 1), (rules.blocks(all_, w), -1)],
        target=norm2(there) - norm2(after),
    )
    g, at_mean = gradient(Local(n), point(J)), gradient(Local(n), middle(J))
    total = gradient(MEAN, middle(J))
    near = combine(
        [
            (sampled(part(CLIENT, d)), 2 / h),
            (rules.blocks(g, d), -2 / h),
            (server_same(g), -2 / h),
            (rules.convex(Local(n), mu, point(J), middle(J)), 2 / h),
            (rules.convex(Local(n), mu, middle(J), point(J)), 2 / h),
            (rules.heterogeneity(delta2, n, middle(J)), 2 * K / h**2),
            (bounded(), 1),
            (rules.blocks(moved(), moved()), 1),
        ],
        [
            (d + (at_mean - total) * (2 * K / h), 1 / (2 * K)),
            (part(SERVER, moved()), 1),
        ],
    )
    right = spread(J) * (1 + 1 / (2 * K) - 2 * mu / h) + constant(B / h**2)
    return combine(
        [
            (over(square), 1),
            (over(near), 1),
            (rules.linear(CLIENTS, n, d * weight(n), mean), 2),
            (rules.linear(CLIENTS, n, d * weight(n), total), -2 / h),
            (rules.linear(CLIENTS, n, u * weight(n), mean), -2),
        ],
        [(mean, 1)],
        target=right - spread(J + 1),
    )


@cache
def descent() -> Theorem:
    """Return ``Delta' <= (1 - mu eta) Delta + S eta D + eta^2 R2``."""
    y, h, wbar = middle(J) - BEST, rate(), middle(J)
    all_ = summed(CLIENTS, m, moved(m) * weight(m))
    there = y - all_
    after = middle(J + 1) - BEST
    square = combine(
        [(mean_step(after + there), -1)], target=norm2(there) - norm2(after)
    )
    toward = combine(
        [
            (sampled(y), 1),
            (rules.majorant(Local(n), S, point(J), wbar), 1),
            (rules.convex(Local(n), mu, point(J), BEST), 1),
        ],
        [(point(J) - BEST, mu / 2)],
    )
    right = distance(J) * (1 - mu / h) + spread(J) * (S / h) + constant(R2 / h**2)
    return combine(
        [
            (square, 1),
            (over(toward), 2 / h),
            (rules.linear(CLIENTS, n, moved() * weight(n), y), 2),
            (rules.mean_value(wbar), -2 / h),
            (rules.mean_value(BEST), 2 / h),
            (growth(wbar), 2 / h),
            (rules.jensen(CLIENTS, n, weight(n), moved()), 1),
            (over(bounded()), 1),
        ],
        target=right - distance(J + 1),
    )


def from_7(theorem: Theorem) -> Theorem:
    """Return the theorem for ``gamma = 7 + g``."""
    return rules.instantiate(theorem, ((variable(any_gamma), gamma),), ())


def variable(number: Ratio) -> Var:
    """Return the parameter that a number is.

    Raises:
        TypeError: it is none.
    """
    (one,) = number.free
    if not isinstance(one, Var):
        raise TypeError(f"{number} is no parameter")
    return one


# The potential -----------------------------------------------------------------------

X = gamma + K * now + K


def potential(step_: Ratio) -> Lin:
    """Return ``Phi``."""
    x = clock(step_)
    return distance(step_) * ((x - 1) * (x - 2)) + spread(step_) * (
        4 * S / mu * X * (K - step_)
    )


@cache
def small() -> Theorem:
    """Return ``4S/mu X r <= 8/7 (K - 1) x^2``."""
    x = clock(J)
    smooth = rules.assume(constant(gamma - 8 * S / mu + 1))
    long = rules.assume(constant(gamma - K))

    def positive(c: Ratio) -> Theorem:
        return sign(c * r, (LEFT, c))

    ratio_ = combine([(smooth, ratio(1) / 8)], target=constant(gamma / 7 - S / mu))
    return combine(
        [
            (ratio_, 4 * X * r),
            (long, gamma * r * 4 / 7),
            (LEFT, 4 * gamma * (K * now + 2 * J) / 7),
            (LEFT, 8 * x * (x - gamma) / 7),
        ],
        target=constant((K - 1) * x**2 * 8 / 7 - 4 * S / mu * X * r),
        signs=[positive(4 * X), positive(gamma * 4 / 7)],
    )


@cache
def grown() -> Theorem:
    """Return ``Phi' <= Phi + 4V/mu^2``."""
    x = clock(J)
    later = 4 * S / mu * X * r
    spare = 2 * S / mu * (r + 2 + X * (J + 1) / K) + later * 4 / x
    most = 4 * V / mu**2
    return combine(
        [
            (from_7(descent()), x * (x - 1)),
            (from_7(drift()), later),
            (small(), 4 * B / (mu**2 * x**2)),
            (over(combine(squares=[(apart(J), 1)])), spare),
        ],
        target=potential(J) + constant(most) - potential(J + 1),
        signs=[
            sign(later, (LEFT, 4 * S / mu * X)),
            sign(spare, (LEFT, 2 * S / mu + 16 * S * X / (mu * x))),
        ],
    )


def starts(client: Client, w: Vec) -> Theorem:
    """Return ``<p(n,t,0) - x, w> = 0``."""
    zero, x = ratio(0), iterate(RUN, now)
    all_ = gradients(m, zero)
    c, s = part(CLIENT, w), part(SERVER, w)
    return combine([
        (rules.blocks(point(zero, client) - x, w), 1),
        (rules.local_update(RUN, client, now, zero, CLIENT, c), 1),
        (rules.local_update(RUN, client, now, zero, SERVER, s), 1),
        (none(client, c), -1),
        (of_all(none(m, s), m, all_, s), -1),
    ])


def ends(w: Vec) -> Theorem:
    """Return ``<wbar - x(t+1), w> = 0`` after the last step."""
    x, after = iterate(RUN, now), iterate(RUN, now + 1)
    own, all_ = gradients(n, K), summed(CLIENTS, m, gradients(m, K) * weight(m))
    uses: list[tuple[Theorem, Number]] = [(rules.blocks(middle(K) - after, w), 1)]
    for side, made in ((CLIENT, own), (SERVER, all_)):
        v = part(side, w)
        local = rules.local_update(RUN, n, now, K, side, v)
        seen = part(side, point(K) - x + made)
        uses += [
            (of_all(local, n, seen, v), 1),
            (rules.update(RUN, side, now, v), -1),
        ]
    return combine(uses)


@cache
def one_round() -> Theorem:
    """Return what ``(x-1)(x-2) ||x(t) - x*||^2`` grows by in a round."""
    zero, x, after = ratio(0), iterate(RUN, now), iterate(RUN, now + 1)
    whole = combine([
        (sum_over(grown(), steps(K), j), 1),
        (rules.telescope(j, potential(J), K), 1),
    ])
    seen = point(zero, m) - x
    first, last = middle(zero) + x - BEST * 2, middle(K) + after - BEST * 2
    x0, x1 = clock(0), clock(K)
    return combine([
        (whole, 1),
        (same_start(), 4 * S / mu * X * K),
        (of_all(starts(m, first), m, seen, first), -(x0 - 1) * (x0 - 2)),
        (ends(last), (x1 - 1) * (x1 - 2)),
    ])


@cache
def rounds() -> Theorem:
    """Return ``||x(T) - x*||^2 <= (4V/mu^2 + gamma ||x(0) - x*||^2)/(gamma + KT)``."""
    T = count("T")
    end = gamma + K * T

    def level(at: Ratio) -> Lin:
        x = gamma + K * at
        return norm2(iterate(RUN, at) - BEST) * ((x - 1) * (x - 2))

    whole = combine([
        (sum_over(one_round(), steps(T), t), 1),
        (rules.telescope(t, level(now), T), 1),
    ])
    start = iterate(RUN, 0) - BEST
    share = 1 / ((end - 1) * (end - 2))
    target = (norm2(start) * gamma + constant(4 * V / mu**2)) * (1 / end)
    spare = gamma / end - (gamma - 1) * (gamma - 2) * share
    return combine(
        [(whole, share)],
        [(start, spare)],
        target=target - norm2(iterate(RUN, T) - BEST),
    )


# How far the local models are apart ---------------------------------------------------


def same_start() -> Theorem:
    """Return ``D <= 0`` at the start of a round."""
    zero, x = ratio(0), iterate(RUN, now)
    d, seen = apart(zero), point(zero, m) - x
    return over(combine([(starts(n, d), -1), (of_all(starts(m, d), m, seen, d), 1)]))


def shrunk(step_: Ratio) -> Lin:
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
        [
            (drift(), factor),
            (over(combine(squares=[(apart(J), 1)])), spare),
        ],
        target=shrunk(J) + constant(4 * B / mu**2) - shrunk(J + 1),
        signs=[
            sign(factor, (LEFT, x**2 / (2 * K))),
            sign(spare, (LEFT, x / K + 1 / (2 * K))),
        ],
    )


def by_gradients() -> Theorem:
    """Return ``D <= 2 (R2 + delta2)/mu^2``: bounded gradients, strong convexity."""
    d, wbar = apart(J), middle(J)
    g, at_mean = gradient(Local(n), point(J)), gradient(Local(n), wbar)
    total, own = gradient(MEAN, wbar), moved() * rate()
    seen = part(CLIENT, d)
    one = combine(
        [
            (sampled(seen), 1),
            (rules.blocks(g, d), -1),
            (server_same(g), -1),
            (rules.convex(Local(n), mu, point(J), wbar), 1),
            (rules.convex(Local(n), mu, wbar, point(J)), 1),
            (rules.heterogeneity(delta2, n, wbar), 1 / mu),
            (bounded(), rate() ** 2 / mu),
            (rules.blocks(d, d), mu / 4),
        ],
        [
            (d * (mu / 2) + (at_mean - total), 1 / mu),
            (own - seen * (mu / 2), 1 / mu),
            (part(SERVER, d), mu / 4),
        ],
    )
    return combine([
        (over(one), 2 / mu),
        (rules.linear(CLIENTS, n, d * weight(n), total), -2 / mu),
    ])


STEP, REST = count("j"), of(nat("r"))
SIZE = STEP + 1 + REST
"""K where r steps are left after step j >= 1."""


def long(theorem: Theorem) -> Theorem:
    """Return the theorem for ``K = j + 1 + r``."""
    return rules.instantiate(theorem, ((variable(K), SIZE),), ())


@cache
def drift_of_round() -> Theorem:
    """Return ``sum a ||[p_j - wbar]_c||^2 <= 3 eta^2 K B`` for K = j + 1 + r, j >= 1."""
    by = {variable(K): SIZE}
    x = number_at(clock(STEP, any_gamma), by)
    bound = number_at(3 * K * B * 4 / mu**2, by) / x**2
    d = apart(STEP)
    client = combine(
        [(rules.blocks(d, d), 1)],
        [(part(SERVER, d), 1)],
        target=norm2(d) - norm2(part(CLIENT, d)),
    )
    whole = combine(
        [
            (sum_over(long(spreading()), steps(STEP), j), 1),
            (rules.telescope(j, lin_at(shrunk(J), by), STEP), 1),
            (long(same_start()), number_at((clock(0, any_gamma) - 1) ** 2, by)),
        ],
        signs=[rules.square(number_at(clock(0, any_gamma) - 1, by))],
    )
    late, early = (rules.assume(constant(c)) for c in (x - 3, 3 - x))
    share = 3 * SIZE / (STEP * x**2)
    enough = (x - 1) ** 2 * (STEP + 2 + 2 * REST) * 3 / 2 - STEP * x**2
    left_over = combine(
        [
            (rules.square(x - 3), STEP / 2),
            (rules.square(x - 1), 3 * REST),
            (late, 3 * x),
        ],
        target=constant(enough),
    )
    spare = enough / (STEP * x**2)
    target = constant(bound) - lin_at(spread(STEP), by)
    above = combine(
        [(whole, share), (long(over(combine(squares=[(d, 1)]))), spare)],
        target=target,
        signs=[sign(spare, (left_over, 1 / (STEP * x**2)))],
    )
    level = number_at(R2 + delta2, by) * 2 / mu**2
    below = combine(
        [
            (long(rules.instantiate(by_gradients(), ((j, STEP),), ())), 1),
            (early, level * (3 + x) / x**2),
        ],
        target=target,
    )
    both = rules.cases(above, below, x - 3)
    return combine([(both, 1), (long(over(client)), 1)])


def no_drift() -> Theorem:
    """Return the same for j = 0 and ``K = EM``, where D is 0."""
    d, h = apart(ratio(0)), mu * clock(0, any_gamma) / 2
    client = combine([(rules.blocks(d, d), 1)], [(part(SERVER, d), 1)])
    bound = constant(3 * K * B / h**2)
    block = summed(CLIENTS, n, norm2(part(CLIENT, d)) * weight(n))
    one = combine([(same_start(), 1), (over(client), 1)], target=bound - block)
    size = count("epochs") * count("batches")
    return rules.instantiate(one, ((variable(K), size),), ())
