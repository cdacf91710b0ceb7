r"""SFL-V1 without noise: how squared moves of rounds fall, and what drift adds to them.

As in `successive_rounds`, beside round t stands round t + 1, its steps rescaled to the
rate of round t. Where q_i is the point of round t + 1, y_i the rescaled one and p_i
that of round t, ``d = grad F_n(q_i) - grad F_n(p_i)`` and ``a = d - mu (q_i - p_i)``,

    y_{i+1} - p_{i+1} = (1 - mu eta)(y_i - p_i) - mu eta (q_i - y_i) - eta a,

and ``<a, q_i - p_i> >= ||a||^2/(S - mu/2)``: what separates q_i from y_i enters through
its square, about S/2 times, where a step by its length would enter S times.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import moves as moving
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, i, n, now, t, young
from sfl_theory.proofs.moves import BEST, before, d, drift, m, turn
from sfl_theory.proofs.notation import (
    at_least,
    combine,
    of,
    sign,
    steps,
    sum_over,
    variable,
)
from sfl_theory.proofs.strongly_convex import S, gamma, mu, tau
from sfl_theory.proofs.successive_rounds import (
    STEP,
    P,
    Q,
    R,
    after,
    apart,
    eta,
    first,
    next_eta,
    next_step,
    noisy,
    off,
    p,
    q,
    silent,
    unmoved,
    v,
    x,
    y,
)

Y = k.Point("y")
M = S - mu / 2
theta, less = notation.positive("theta"), notation.positive("b")
"""Young's constant beside mu (q_i - y_i), and what ``||q_i - y_i||^2`` costs."""


def coercive() -> Theorem:
    """Return ``<a, p - q> >= ||a||^2/(S - mu/2)`` for points p and q."""
    F, one, two = k.Local(n), k.vec(P), k.vec(Q)
    a = k.gradient(F, one) - k.gradient(F, two) - (one - two) * mu
    both = [
        theorem
        for here, there, way in ((one, two, -1), (two, one, 1))
        for theorem in (
            rules.smooth(F, S, here, here + a * (way / S)),
            derived.convex(F, mu, there, here + a * (way / S)),
        )
    ]
    spare = (S + mu) / S**2 - 1 / M
    return combine(
        *both, (a, spare), target=k.inner(a, one - two) - k.norm2(a) * (1 / M)
    )


def kept_apart() -> Theorem:
    """Return how far a step leaves y and p from each other, for any points.

    ``||y - p - eta d||^2 <= (1 + theta)(1 - mu eta)^2 ||y - p||^2 + C ||q - y||^2``, d
    the gradient at q less that at p, C as below.
    """
    F, there, here, odd = k.Local(n), k.vec(P), k.vec(Q), k.vec(Y)
    d = k.gradient(F, there) - k.gradient(F, here)
    a, e, delta = d - (there - here) * mu, odd - here, there - odd
    keep = 1 - mu * eta
    room = 2 * keep / M - eta - 1 / less
    return combine(
        (coercive(), 2 * eta * keep),
        (a - delta * less, eta / less),
        (a, eta * room),
        (young(e * keep, -delta * (mu * eta), theta), 1),
        target=k.norm2(e) * ((1 + theta) * keep**2)
        + k.norm2(delta) * (eta * less + (1 + 1 / theta) * (mu * eta) ** 2)
        - k.norm2(e - d * eta),
        signs=[at_least(keep), at_least(room)],
    )


# One round ---------------------------------------------------------------------------

added, wider = notation.positive("X"), notation.nonnegative("e")
costs, length = notation.positive("costs"), notation.positive("l")
"""Step i adds ``X i^2 G2``, ``||q_i - y_i||^2`` costs this; ``l = 4/(mu eta)``."""
rest, past = notation.nonnegative("r"), notation.nonnegative("o")
"""``tau - 1 - i`` and l - 7."""
WIDE = length + wider + 2 * tau
"""1/theta."""
Of = Callable[[Ratio, Ratio, Ratio], Ratio]
"""A number by the step, l and 1/theta."""


def factor(step: Ratio, long: Ratio = length, wide: Ratio = WIDE) -> Ratio:
    """Return ``f_i = (l + 2 i)^4 (1/theta - i)``; it makes up for what steps shrink."""
    return (long + 2 * step) ** 4 * (wide - step)


def later(step: Ratio, long: Ratio = length, wide: Ratio = WIDE) -> Ratio:
    """Return ``f_{i+1}``."""
    return factor(step + 1, long, wide)


def growth(step: Ratio, long: Ratio = length, wide: Ratio = WIDE) -> Ratio:
    """Return ``f_{i+1} - f_i``."""
    return later(step, long, wide) - factor(step, long, wide)


def shrinks(long: Ratio = length, wide: Ratio = WIDE) -> Ratio:
    """Return ``(1 + tiny)(1 + theta) c^2``."""
    return (1 + 1 / long**2) * (1 + 1 / wide) * ((long - 4) / long) ** 2


def spare(step: Ratio, long: Ratio = length, wide: Ratio = WIDE) -> Ratio:
    """Return ``f_i - (1 + tiny)(1 + theta) c^2 f_{i+1}``."""
    return factor(step, long, wide) - shrinks(long, wide) * later(step, long, wide)


def shown(number: Of, step: Ratio) -> Theorem:
    """Return that a number is >= 0 in a step i < tau, for l >= 7."""
    long = 7 + past
    wide = long + wider + 2 * (rest + 1 + step)
    ahead = combine(target=k.constant(number(step, long, wide)))
    values = {past: length - 7, rest: tau - 1 - step}
    pairs = tuple((variable(old), new) for old, new in values.items())
    return rules.instantiate(ahead, pairs, tuple(map(at_least, values.values())))


def spent_at(step: Number) -> Ratio:
    """Return ``X sum_{j<i} j^2``."""
    i_ = ratio(step)
    return added * (i_ - 1) * i_ * (2 * i_ - 1) / 6


@cache
def one_step(step: Ratio) -> Theorem:
    """Return how ``u_i = ||y_i - p_i||^2`` goes on.

    ``u_{i+1} <= (1 + tiny)(1 + theta) c^2 u_i + X i^2 G2``, c = 1 - 4/l and tiny =
    1/l^2.
    """
    inside, little = first(step) + noisy(step), 1 / length**2
    values = ((P, q(step)), (Q, p(step)), (Y, y(step)), (variable(theta), 1 / WIDE))
    near = rules.instantiate(kept_apart(), values, ())
    keep, most = 1 - mu * eta, 1 - 4 / length
    less_ = (1 + little) * (1 + 1 / WIDE) * (most**2 - keep**2)
    each = eta * less + (1 + WIDE) * (mu * eta) ** 2
    change = (1 + little) * (eta - next_eta) ** 2
    bound = k.norm2(apart(step)) * shrinks() + k.constant(added * step**2 * G2)
    return combine(
        next_step(step),
        young(inside, -noisy(step), little),
        (silent(step), 1 + 1 / little),
        (near, 1 + little),
        (off(step), (1 + little) * each),
        (apart(step), less_),
        (at_least(costs - each), change * step**2 * G2),
        (at_least(added - change * costs), step**2 * G2),
        target=bound - k.norm2(apart(step + 1)),
        signs=[
            rules.square(eta - next_eta),
            squares(most, keep),
        ],
    )


def squares(large: Ratio, small: Ratio) -> Theorem:
    """Return ``small^2 <= large^2`` from ``0 <= small <= large``."""
    more, least = at_least(large - small), at_least(small)
    both = sign(large + small, more, (least, 2))
    return combine(
        (more, large + small), target=k.constant(large**2 - small**2), signs=[both]
    )


def potential(step: Number) -> k.Lin:
    """Return ``f_i (u_i - spent_i G2)``."""
    left = k.norm2(apart(ratio(step))) - k.constant(spent_at(step) * G2)
    return left * factor(ratio(step))


@cache
def falls() -> Theorem:
    """Return that the potential falls in step i >= 1."""
    return combine(
        (one_step(STEP), later(STEP)),
        (apart(STEP), spare(STEP)),
        target=potential(STEP) - potential(STEP + 1),
        signs=[
            shown(later, STEP),
            shown(spare, STEP),
            combine((shown(growth, STEP), spent_at(STEP) * G2)),
        ],
    )


@cache
def begins() -> Theorem:
    """Return ``f_1 u_1 <= f_0 ||x' - x||^2``."""
    none = ratio(0)
    return combine(
        (one_step(none), later(none)),
        (apart(none), spare(none)),
        (unmoved(), factor(none)),
        target=k.norm2(after - x) * factor(none) - potential(1),
        signs=[shown(later, none), shown(spare, none)],
    )


@cache
def last_step() -> Theorem:
    """Return ``||y_tau - p_tau||^2 <= reached``."""
    low = 1 / factor(tau)
    return combine(
        (sum_over(falls(), steps(tau - 1), v), low),
        (derived.telescope(v, potential(STEP), tau - 1), low),
        (begins(), low),
        target=reached() - k.norm2(apart(tau)),
    )


def reached() -> k.Lin:
    """Return ``f_0/f_tau ||x' - x||^2 + spent_tau G2``."""
    kept_ = factor(ratio(0)) / factor(tau)
    return k.norm2(after - x) * kept_ + k.constant(spent_at(tau) * G2)


# At the rates 4/(mu tau (gamma + t)) -------------------------------------------------

kappa, late = S / mu, gamma + now


def fallen(at: Ratio) -> Ratio:
    """Return what is left of the first move, squared, in round t."""
    s, first_ = gamma + at, 3 * gamma + 1
    falls_ = (gamma * (gamma + 1) / (s * (s + 1))) ** 4
    return falls_ * ((s + 2 * gamma + 1) / first_)


def slows() -> Ratio:
    """Return what a round leaves of it."""
    s = late
    return (s / (s + 2)) ** 4 * ((s + 2 * gamma + 2) / (s + 2 * gamma + 1))


def kept(at: Ratio) -> Ratio:
    """Return what drift adds to it, over ``(1 - 1/tau)(2 - 1/tau)``."""
    s = gamma + at
    return (2 * kappa + 15) / (30 * s**2) + (kappa**2 / 4 + 13 * kappa + 10) / s**3


SPREAD = (1 - 1 / tau) * (2 - 1 / tau)


def share(at: Ratio) -> Ratio:
    """Return what ``||x(t+1) - x(t)||^2/(eta_t tau)^2`` is at most, over G2."""
    return fallen(at) + SPREAD * kept(at)


def claim(at: Ratio) -> k.Lin:
    """Return ``(eta_t tau)^2 share_t G2 - ||x(t+1) - x(t)||^2``."""
    size = (moving.AT_RATE.at(at) * tau) ** 2 * share(at)
    return k.constant(size * G2) - k.norm2(moving.move(at))


def spread_by() -> Ratio:
    """Return B: over ``(eta tau)^2`` a round adds ``2/3 SPREAD B/(s (s + 1)^2)``."""
    return of_drift() * (1 + 1 / (7 * late))


def of_drift() -> Ratio:
    """Return B without what noises cost that vanish."""
    m = M / mu
    return 4 + m / 2 + (Fraction(4, 3) * m**2 + 73 * m + 36) / late


@cache
def next_round() -> Theorem:
    """Return how ``||x(t+2) - x(t+1)||^2`` follows from ``||x(t+1) - x(t)||^2``."""
    m, rate = M / mu, 4 / (mu * tau * late)
    values = {
        length: tau * late,
        wider: 2 * gamma * tau,
        less: (m / 2 + (Fraction(4, 3) * m**2 + 9 * m) / late) * mu,
        costs: rate * of_drift() * mu,
        added: rate**3 * spread_by() * mu / (late + 1) ** 2,
    }
    pairs = tuple((variable(old), new) for old, new in values.items())
    whole = rules.instantiate(moving.averaged(last_step(), reached()), pairs, ())
    return moving.at_rates(whole)


@cache
def moves() -> Theorem:
    """Return ``||x(t+1) - x(t)||^2 <= (eta_t tau)^2 share_t G2`` for every round t."""
    low, later = (moving.AT_RATE.at(at) for at in (now, now + 1))
    step = combine(
        (next_round(), 1 / low**2),
        (rules.assume(claim(now)), later**2 * slows() / low**2),
        target=claim(now + 1),
    )
    first = combine(moving.first_move(), target=claim(ratio(0)))
    return rules.induct(first, step, t, claim(now))


# The gap before a round, by its move and its drift ------------------------------------
# For F_n at a model x, a local point p and any w, with S = mu + mu/4 (2 z + z^2),
#
#     F_n(x) - F_n(w) <= <grad F_n(p), x - w> + (1 + z/4) mu <x - p, x - w>
#                        - 3/8 mu ||x - w||^2 + mu/8 z^2 ||x - p||^2.
#
# Averaged over points and clients at w = x*, gradients are the round's move over its
# rate, and x - p is nearly half of it: drift counts mu z^2/8, for a large S/mu about
# S/2, and nothing where S is mu.

z, rho = notation.positive("z"), notation.positive("rho")
EXCESS = mu / 4 * (2 * z + z**2)
STEEP = mu + EXCESS
half = (1 + z / 4) * mu
"""What a point's distance from x counts along the distance from w."""


def at_root(theorem: Theorem) -> Theorem:
    """Return a theorem on S = mu + s for ``s = mu/4 (2 z + z^2)``."""
    return rules.instantiate(theorem, ((variable(strong.excess), EXCESS),), ())


def between(there: k.Vec, here: k.Vec) -> Theorem:
    """Return how far F_n lies above its tangent parabola, by gradients.

    ``F_n(q) >= F_n(p) + <grad F_n(p), q - p> + mu/2 ||q - p||^2
    + ||a||^2/(2 (S - mu))`` for ``a = grad F_n(q) - grad F_n(p) - mu (q - p)``: F_n at
    ``q - a/(S - mu)``.
    """
    F = k.Local(n)
    a = k.gradient(F, there) - k.gradient(F, here) - (there - here) * mu
    lower = there - a * (1 / EXCESS)
    return combine(
        rules.smooth(F, STEEP, there, lower), derived.convex(F, mu, here, lower)
    )


def three_points(x: k.Vec, p: k.Vec, w: k.Vec) -> Theorem:
    """Return the inequality above."""
    F, share = k.Local(n), 1 / (1 + z)
    gx, gp, gw = (k.gradient(F, at) for at in (x, p, w))
    change, all_of_it = gx - gp - (x - p) * mu, gx - gw - (x - w) * mu
    right = k.inner(gp, x - w) + k.inner(x - p, x - w) * half
    right = right - k.norm2(x - w) * (3 * mu / 8) + k.norm2(x - p) * (mu * z**2 / 8)
    return combine(
        (between(w, x), share),
        (between(w, p), 1 - share),
        (between(p, x), 1 - share),
        (all_of_it - change * (1 - share), 1 / (2 * EXCESS)),
        (x - w - change * (4 * share / mu) + (x - p) * z, mu / 8),
        target=right - k.value_of(F, x) + k.value_of(F, w),
    )


def by_move() -> Theorem:
    """Return the gap by what a round moves, and its drift.

    ``f(x) - f* <= 2/(3 mu) (1 + rho) (1 + half (tau - 1) eta/2)^2 ||m||^2/(eta tau)^2
    + (mu z^2/8 + (1 + 1/rho) (half eta tau S)^2/(18 mu)) drift/tau``.
    """
    gap = k.value_of(k.MEAN, R.x) - k.value_of(k.MEAN, BEST)
    along = 1 / eta + half * (tau - 1) / 2
    whole = m * along + turn * (half * eta)
    size = 2 / (3 * mu * tau)
    of_move = size * (1 + rho) * along**2
    of_drift = mu * z**2 / 8 + size * (1 + 1 / rho) * (half * eta) ** 2 * (
        tau**3 * STEEP**2 / 12
    )
    right = k.norm2(m) * of_move + drift * of_drift
    one = combine(
        moving.summed(three_points(R.x, R.point(of(i)), BEST)),
        (rules.mean_value(R.x), -tau),
        (rules.mean_value(BEST), tau),
        moving.linear(k.gradient(k.Local(n), R.point(of(i))), before),
        (moving.linear(d, before), half),
        local.whole_centred(R, before),
        (moving.updated(now, before), -1 / eta),
        (moving.by_parts(-before), half),
        (before * (3 * mu * tau / 4) - whole, size),
        (young(m * along, turn * (half * eta), rho), size),
        (at_root(moving.small_turn()), size * (1 + 1 / rho) * (half * eta) ** 2),
        target=right - gap * tau,
    )
    return combine((one, 1 / tau), target=right * (1 / tau) - gap)


# At the rates 4/(mu tau (gamma + t)) -------------------------------------------------

steep = STEEP / mu
gamma_z = 8 * steep - 1
RATE = k.Rate(4 / (mu * tau * (gamma_z + notation.of_round())))


def bound(at: Ratio) -> Ratio:
    """Return what the gap after `at` rounds is at most, over G2."""
    s = gamma_z + at
    along = 1 + 2 * (1 + z / 4) * (1 - 1 / tau) / s
    moved = k.number_at(share(at), {variable(strong.excess): EXCESS})
    far = z**2 + Fraction(2, 9) * (4 + z) ** 2 * steep / s * (1 + 2 * steep / s)
    moved = Fraction(2, 3) / mu * (1 + 2 * steep / s) * along**2 * moved
    return moved + SPREAD * far / (3 * mu * s**2)


@cache
def rate() -> Theorem:
    """Return the bound after every number t of rounds."""
    of_drift = mu * z**2 / 8 + (1 + 1 / rho) * (half * eta * tau * STEEP) ** 2 / (
        18 * mu
    )
    one = combine((by_move(), 1), (moving.bounded_drift(), of_drift / tau))
    s = gamma_z + now
    values = ((moving.FAMILY, RATE), (variable(rho), 2 * steep / s))
    here = rules.instantiate(one, values, ())
    size = 4 / (mu * tau * s)
    along = 1 / size + half * (tau - 1) / 2
    run = notation.equal_paces(k.Kind.V1, tau, RATE)
    gap = strong.gap(local.Round(run), now)
    return combine(
        here,
        (at_root(moves()), 2 / (3 * mu * tau**2) * (1 + 2 * steep / s) * along**2),
        target=k.constant(bound(now) * G2) - gap,
    )
