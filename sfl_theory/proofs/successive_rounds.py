r"""SFL-V1 without noise: a round's move, seen from the round before it.

Both sides make tau steps at the rate eta_t; F_n is mu-convex and S-smooth. Beside
round t stands round t + 1, its steps rescaled to the rate of round t:
``y_i = x' - eta_t sum_{j<i} g'_j``. A step of both shrinks ``y_i - p_i`` by
1 - mu eta_t, up to ``S eta_t (eta_t - eta_{t+1}) i G``, for so far from y_i is the
point where g'_i was taken. Averaged over clients ``y_i - p_i`` begins as x' - x and
ends as ``eta_t/eta_{t+1} (x'' - x')``: see `moves`.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import hypotheses, rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import G2, Round, j, n, now, young
from sfl_theory.proofs.notation import (
    at_least,
    combine,
    nat,
    of,
    sign,
    steps,
    sum_over,
    variable,
)
from sfl_theory.proofs.strongly_convex import S, mu, tau

RUN = notation.equal_paces(k.Kind.V1, tau, notation.rates("eta"))
R = Round(RUN)
x, after = k.iterate(RUN, now), k.iterate(RUN, now + 1)
eta, next_eta = R.eta, RUN.client.rate.at(now + 1)
c, q_, tiny, fall, later_fall = (
    notation.positive(name) for name in ("c", "q", "tiny", "f", "f2")
)
later_h, spent = notation.nonnegative("h"), notation.nonnegative("spent")
"""A step shrinks what is apart by c and adds q G. Its potential is ``f_i (h_i u_i -
spent_i G2)``, f_i grows as c^(-2i), ``h_{i+1} = h_i - q_i``. tiny: Young's constant
beside what vanishes."""
v = nat("v")
STEP = of(v) + 1
"""The step i, from 1 on."""


def g(step: Ratio) -> k.Vec:
    """Return a client's stochastic gradient of round t."""
    return stochastic(RUN, n, now, step)


def h(step: Ratio) -> k.Vec:
    """Return a client's stochastic gradient of round t + 1."""
    return stochastic(RUN, n, now + 1, step)


def p(step: Ratio) -> k.Vec:
    """Return a client's point of round t."""
    return k.local_point(RUN, n, now, step)


def q(step: Ratio) -> k.Vec:
    """Return a client's point of round t + 1."""
    return k.local_point(RUN, n, now + 1, step)


def path(step: Ratio) -> k.Vec:
    """Return ``sum_{j<i} g'_j``."""
    return k.summed(steps(step), j, h(of(j)))


def y(step: Ratio) -> k.Vec:
    """Return the point of round t + 1 rescaled to the rate of round t."""
    return after - path(step) * eta


def apart(step: Ratio) -> k.Vec:
    """Return ``y_i - p_i``."""
    return y(step) - p(step)


# Definitions, tested with u ----------------------------------------------------------


def walked(round_: Ratio, step: Ratio, u: k.Vec) -> Theorem:
    """Return ``<p_i - x + eta sum_{j<i} g_j, u> = 0`` for round t or t + 1."""
    return local.walked(RUN, round_, step, u)


def longer(each: k.Vec, step: Ratio, u: k.Vec, way: int) -> Theorem:
    """Return ``way <z_i + sum_{j<i} z_j - sum_{j<i+1} z_j, u> >= 0`` (it vanishes)."""
    up = step + 1
    here, there = (k.summed(steps(end), j, each) for end in (step, up))
    return combine(
        (rules.linear(steps(up), j, each, u), -way),
        (rules.linear(steps(step), j, each, u), way),
        (rules.split(j, k.inner(each, u), step, ratio(1)), -way),
        target=k.inner(k.vec_at(each, {j: step}) + here - there, u) * way,
    )


def first(step: Ratio) -> k.Vec:
    """Return ``y_i - p_i - eta (g'_i - g_i)``, which is ``y_{i+1} - p_{i+1}``."""
    return apart(step) - (h(step) - g(step)) * eta


def next_step(step: Ratio) -> Theorem:
    """Return ``||y_{i+1} - p_{i+1}||^2 <= ||y_i - p_i - eta (g'_i - g_i)||^2``."""
    up, here = step + 1, first(step)
    u = apart(up) + here
    return combine(
        (walked(now, up, u), 1),
        (walked(now, step, u), -1),
        (longer(g(of(j)), step, u, 1), eta),
        (longer(h(of(j)), step, u, -1), eta),
        target=k.norm2(here) - k.norm2(apart(up)),
    )


# One step ----------------------------------------------------------------------------

P, Q = k.Point("p"), k.Point("q")


@cache
def contraction() -> Theorem:
    """Return ``||p - q - eta d||^2 <= c^2 ||p - q||^2`` for any points.

    c >= 1 - mu eta, ``d = grad F_n(p) - grad F_n(q)``: with ``a = d - mu (p - q)``,
    F_n at ``p - eta a`` and ``q + eta a`` gives
    ``<a, p - q> >= eta (2 - eta (S - mu)) ||a||^2``.
    """
    F, one, two = k.Local(n), k.vec(P), k.vec(Q)
    d = k.gradient(F, one) - k.gradient(F, two)
    a, keep = d - (one - two) * mu, 1 - mu * eta
    both = [
        theorem
        for here, there, way in ((one, two, -1), (two, one, 1))
        for theorem in (
            rules.smooth(F, S, here, here + a * (way * eta)),
            derived.convex(F, mu, there, here + a * (way * eta)),
        )
    ]
    kept, more = at_least(keep), at_least(c - keep)
    spare = 2 * keep * (2 - eta * (S - mu)) - 1
    wide = sign(c + keep, kept)
    return combine(
        *[(theorem, 2 * eta * keep) for theorem in both],
        (a, eta**2 * spare),
        (one - two, c**2 - keep**2),
        target=k.norm2(one - two) * c**2 - k.norm2(one - two - d * eta),
        signs=[
            kept,
            at_least(spare),
            combine((more, c + keep), target=k.constant(c**2 - keep**2), signs=[wide]),
        ],
    )


def turned(step: Ratio) -> k.Vec:
    """Return ``y_i - p_i - eta (grad F_n(y_i) - grad F_n(p_i))``."""
    F = k.Local(n)
    return apart(step) - (k.gradient(F, y(step)) - k.gradient(F, p(step))) * eta


def shift(step: Ratio) -> k.Vec:
    """Return ``eta (grad F_n(q_i) - grad F_n(y_i))``."""
    F = k.Local(n)
    return (k.gradient(F, q(step)) - k.gradient(F, y(step))) * eta


def off(step: Ratio) -> Theorem:
    """Return ``||q_i - y_i||^2 <= ((eta - eta') i)^2 G2``."""
    u, less = path(step), eta - next_eta
    away = q(step) - y(step)
    bounded = derived.bounded_gradient(RUN, G2, n, now + 1, of(j))
    return combine(
        (walked(now + 1, step, away + u * less), -1),
        (rules.jensen(steps(step), j, ratio(1), h(of(j))), less**2),
        (sum_over(bounded, steps(step), j), less**2 * step),
        target=k.constant((less * step) ** 2 * G2) - k.norm2(away),
        signs=[rules.square(less)],
    )


def shifted(step: Ratio) -> Theorem:
    """Return ``||shift_i||^2 <= (S eta (eta - eta') i)^2 G2``."""
    near = derived.lipschitz(k.Local(n), S, q(step), y(step))
    return combine((near, eta**2), (off(step), (S * eta) ** 2))


def noisy(step: Ratio) -> k.Vec:
    """Return ``eta (xi'_i - xi_i)``."""
    return (k.noise(RUN, n, now + 1, step) - k.noise(RUN, n, now, step)) * eta


def silent(step: Ratio) -> Theorem:
    """Return ``||eta (xi'_i - xi_i)||^2 <= 0``."""
    one, two = (k.noise(RUN, n, at, step) for at in (now + 1, now))
    quiet = [derived.variance(RUN, ratio(0), n, at, step) for at in (now + 1, now)]
    return combine(
        (one + two, eta**2),
        *[(each, 2 * eta**2) for each in quiet],
        target=-k.norm2(noisy(step)),
    )


@cache
def one_step() -> Theorem:
    """Return how ``u_i = ||y_i - p_i||^2`` goes on, from step 1 on, for any h >= 0.

    ``h u_{i+1} <= (1 + tiny) (h + q) c^2 u_i + (h q + h^2) q G2`` by Young with q/h,
    where ``q >= (1 + tiny) S eta (eta - eta') i``.
    """
    grown = 1 + tiny
    most, least = q_ / grown, S * eta * (eta - next_eta) * STEP
    less, enough = at_least(eta - next_eta), at_least(most - least)
    wide = sign(most + least, (less, S * eta * STEP))
    room = combine(
        (enough, most + least), target=k.constant(most**2 - least**2), signs=[wide]
    )
    moved = combine(shifted(STEP), (room, G2))
    one, two = turned(STEP), shift(STEP)
    near = rules.instantiate(contraction(), ((P, y(STEP)), (Q, p(STEP))), ())
    bound = k.norm2(apart(STEP)) * (grown * c**2) + k.constant(later_h * q_ * G2)
    return combine(
        (next_step(STEP), later_h),
        (young(one - two, -noisy(STEP), tiny), later_h),
        (silent(STEP), later_h * (1 + 1 / tiny)),
        (one * q_ + two * later_h, grown / q_),
        (near, grown * (later_h + q_)),
        (moved, grown * later_h * (1 + later_h / q_)),
        target=bound * (later_h + q_) - k.norm2(apart(STEP + 1)) * later_h,
    )


def potential(u: k.Lin, factor: Ratio, h_: Ratio, spent_: Ratio) -> k.Lin:
    """Return ``f (h u - spent G2)``."""
    return u * (factor * h_) - k.constant(factor * spent_ * G2)


@cache
def falls() -> Theorem:
    """Return that the potential falls in a step.

    For ``f >= (1 + tiny) c^2 f'``, ``f' >= f``, ``spent' = spent + q (h'^2 + h' q +
    q^2/3)``, so that ``3 spent + h^3`` stays.
    """
    u, up = k.norm2(apart(STEP)), k.norm2(apart(STEP + 1))
    here = later_h + q_
    slower = at_least(fall - (1 + tiny) * c**2 * later_fall)
    wider = at_least(later_fall - fall)
    after_ = spent + q_ * (later_h**2 + later_h * q_ + q_**2 / 3)
    return combine(
        (one_step(), later_fall),
        (apart(STEP), here * (fall - (1 + tiny) * c**2 * later_fall)),
        target=potential(u, fall, here, spent)
        - potential(up, later_fall, later_h, after_),
        signs=[combine((slower, here)), combine((wider, spent * G2))],
    )


# One round ---------------------------------------------------------------------------

A, K, H = (notation.positive(name) for name in ("A", "K", "H"))
"""``||x' - x|| <= A G``; the change of the rates adds K i G in step i; H is A and all
that is added."""
W = notation.positive("W")
"""At least ``1/f_tau``."""
level = 7 + notation.nonnegative("z")
"""``4/(mu eta_t)``."""


def factor_at(step: Number) -> Ratio:
    """Return ``f_i = ((l + 2 i)/l)^4``: below (1 - 4/l)^(-2i)."""
    return ((level + 2 * ratio(step)) / level) ** 4


def added(step: Number) -> Ratio:
    """Return what the first i steps add, ``K i (i - 1)/2``."""
    i_ = ratio(step)
    return K * i_ * (i_ - 1) / 2


def h_at(step: Number) -> Ratio:
    """Return h_i, which ends at A."""
    return H - added(step)


def spent_at(step: Number) -> Ratio:
    """Return ``(H^3 - h_i^3)/3``."""
    return (H**3 - h_at(step) ** 3) / 3


SHRINKS, TINY = (level - 4) / level, 1 / level**2


def cleared(theorem: Theorem) -> Theorem:
    """Return a theorem without the hypotheses that sorts alone show."""
    for one in theorem.hypotheses:
        if not isinstance(one, hypotheses.Holds) or one.form.expects:
            continue
        if k.number_of(one.form).nonnegative():
            theorem = rules.cut(theorem, combine(target=one.form))
    return theorem


def at_sizes() -> Theorem:
    """Return that the potential falls in step i >= 1 for ``f_i``, ``h_i``."""
    up = STEP + 1
    made, before = (at_least(tau - step) for step in (up, STEP))
    all_of_it = at_least(h_at(tau))
    later = sign(h_at(up), all_of_it, (made, K * (tau + STEP) / 2))
    own = sign(h_at(STEP), all_of_it, (before, K * (tau + of(v)) / 2))
    # spent = a (h^2 + a h + a^2/3) for a, what was added
    a = added(STEP)
    used = sign(spent_at(STEP), (rules.square(h_at(STEP)), a), (own, a**2))
    parts = {
        c: SHRINKS,
        tiny: TINY,
        q_: K * STEP,
        fall: factor_at(STEP),
        later_fall: factor_at(up),
        later_h: h_at(up),
        spent: spent_at(STEP),
    }
    values = tuple((variable(old), new) for old, new in parts.items())
    here = cleared(rules.instantiate(falls(), values, (later, used)))
    least = S * eta * (eta - next_eta) * STEP
    step = k.constant(K * STEP / (1 + TINY) - least)
    enough = at_least(K / (1 + TINY) - S * eta * (eta - next_eta))
    return rules.cut(here, combine((enough, STEP), target=step))


def start() -> k.Lin:
    """Return ``A^2 G2 - ||x' - x||^2``."""
    return k.constant(A**2 * G2) - k.norm2(after - x)


def unmoved() -> Theorem:
    """Return ``||y_0 - p_0||^2 <= ||x' - x||^2``: sums of no steps."""
    none = ratio(0)
    whole = after - x
    u = apart(none) + whole

    def empty(each: k.Vec) -> Theorem:
        split = rules.split(j, k.inner(each, u), none, none)
        return combine((split, -1), rules.linear(steps(none), j, each, u))

    return combine(
        (walked(now, none, u), 1),
        (empty(g(of(j))), -eta),
        (empty(h(of(j))), eta),
        target=k.norm2(whole) - k.norm2(apart(none)),
    )


def first_step() -> Theorem:
    """Return ``f_1 ||y_1 - p_1||^2 <= A^2 G2``."""
    none = ratio(0)
    odd = shift(none) + noisy(none)
    values = ((variable(c), SHRINKS), (P, y(none)), (Q, p(none)))
    near = rules.instantiate(contraction(), values, ())
    twice = (shift(none) - noisy(none), 1)
    nothing = combine((shifted(none), 2), (silent(none), 2), twice)
    whole = SHRINKS**2 * (1 + TINY)
    one = combine(
        next_step(none),
        young(turned(none), -odd, TINY),
        (nothing, 1 + 1 / TINY),
        (near, 1 + TINY),
        (unmoved(), whole),
        (rules.assume(start()), whole),
    )
    first_ = k.norm2(apart(ratio(1))) * factor_at(1)
    return combine((one, factor_at(1)), target=k.constant(A**2 * G2) - first_)


@cache
def last_step() -> Theorem:
    """Return ``||y_tau - p_tau||^2 <= reached G2``; the potential telescopes."""
    more, one = tau - 1, ratio(1)

    def there(step: Ratio) -> k.Lin:
        u = k.norm2(apart(step))
        return potential(u, factor_at(step), h_at(step), spent_at(step))

    end = k.norm2(apart(tau))
    low = 1 / factor_at(tau)
    first_ = k.constant((h_at(one) * A**2 * W + spent_at(tau)) * G2)
    total = combine(
        (sum_over(at_sizes(), steps(more), v), low),
        (derived.telescope(v, there(STEP), more), low),
        (first_step(), h_at(one) * low),
        target=first_ - end * h_at(tau),
        signs=[combine((at_least(W - low), h_at(one) * A**2 * G2))],
    )
    own = ((variable(H), A + added(tau)),)
    return combine(
        (rules.instantiate(total, own, ()), 1 / A),
        target=k.constant(reached() * G2) - end,
    )


def reached() -> Ratio:
    """Return ``(A + P) A W + (A + P + P^2/(3 A)) P``, P what all steps add."""
    P = added(tau)
    return (A + P) * A * W + (A + P + P**2 / A / 3) * P
