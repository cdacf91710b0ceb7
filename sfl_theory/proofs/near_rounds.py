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

from sfl_theory.kernel import hypotheses, rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import moves as moving
from sfl_theory.proofs import notation
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, j, n, now, t, young
from sfl_theory.proofs.notation import combine, of, sign, steps, sum_over
from sfl_theory.proofs.strongly_convex import S, gamma, mu, tau
from sfl_theory.proofs.successive_rounds import (
    RUN,
    SHRINKS,
    STEP,
    TINY,
    P,
    Q,
    after,
    apart,
    at_least,
    c,
    cleared,
    eta,
    first,
    level,
    next_eta,
    next_step,
    noisy,
    off,
    p,
    q,
    silent,
    tiny,
    unmoved,
    v,
    variable,
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
            rules.convex(F, mu, there, here + a * (way / S)),
        )
    ]
    spare = (S + mu) / S**2 - 1 / M
    return combine(
        *both, (a, spare), target=k.inner(a, one - two) - k.norm2(a) * (1 / M)
    )


def kept_apart() -> Theorem:
    """Return how far a step leaves y and p from each other, for any points.

    ``||y - p - eta d||^2 <= (1 + theta) c^2 ||y - p||^2 + C ||q - y||^2``, d the
    gradient at q less that at p, c >= 1 - mu eta, C as below.
    """
    F, there, here, odd = k.Local(n), k.vec(P), k.vec(Q), k.vec(Y)
    d = k.gradient(F, there) - k.gradient(F, here)
    a, e, delta = d - (there - here) * mu, odd - here, there - odd
    keep = 1 - mu * eta
    kept, more = at_least(keep), at_least(c - keep)
    room = 2 * keep / M - eta - 1 / less
    grown, wide = 1 + theta, sign(c + keep, kept)
    return combine(
        (coercive(), 2 * eta * keep),
        (a - delta * less, eta / less),
        (a, eta * room),
        (young(e * keep, -delta * (mu * eta), theta), 1),
        (e, grown * (c**2 - keep**2)),
        target=k.norm2(e) * (grown * c**2)
        + k.norm2(delta) * (eta * less + (1 + 1 / theta) * (mu * eta) ** 2)
        - k.norm2(e - d * eta),
        signs=[
            kept,
            at_least(room),
            combine((more, c + keep), target=k.constant(c**2 - keep**2), signs=[wide]),
        ],
    )


# One round ---------------------------------------------------------------------------

added, wider = notation.positive("X"), notation.nonnegative("e")
"""Step i adds ``X i^2 G2``; Young's constant beside mu (q_i - y_i) is theta."""
rest = notation.nonnegative("r")
"""``tau - 1 - i``."""


def wide(last: Ratio = tau) -> Ratio:
    """Return ``l + e + 2 tau``, which is 1/theta."""
    return level + wider + 2 * last


def factor_at(step: Number, last: Ratio = tau) -> Ratio:
    """Return ``f_i = ((l + 2 i)/l)^4 (1 - i/(l + e + 2 tau))``; f_0 = 1."""
    i_ = ratio(step)
    return ((level + 2 * i_) / level) ** 4 * (1 - i_ / wide(last))


def spare_at(step: Number, last: Ratio = tau) -> Ratio:
    """Return ``f_i - (1 + tiny)(1 + theta) c^2 f_{i+1}``."""
    keeps = (1 + TINY) * (1 + 1 / wide(last)) * SHRINKS**2
    return factor_at(step, last) - keeps * factor_at(ratio(step) + 1, last)


def growth(step: Number, last: Ratio = tau) -> Ratio:
    """Return ``f_{i+1} - f_i``."""
    return factor_at(ratio(step) + 1, last) - factor_at(step, last)


def shown(number: Callable[[Number, Ratio], Ratio], step: Ratio) -> Theorem:
    """Return that a number is >= 0 in a step that is made, i < tau."""
    (left,) = (one for one in rest.free if isinstance(one, k.Var))
    ahead = combine(target=k.constant(number(step, rest + 1 + step)))
    made = at_least(tau - 1 - step)
    return rules.instantiate(ahead, ((left, tau - 1 - step),), (made,))


def spent_at(step: Number) -> Ratio:
    """Return ``X sum_{j<i} j^2``."""
    i_ = ratio(step)
    return added * (i_ - 1) * i_ * (2 * i_ - 1) / 6


@cache
def one_step(step: Ratio) -> Theorem:
    """Return how ``u_i = ||y_i - p_i||^2`` goes on.

    ``u_{i+1} <= (1 + tiny)(1 + theta) c^2 u_i + X i^2 G2``.
    """
    values = ((P, q(step)), (Q, p(step)), (Y, y(step)))
    near = rules.instantiate(kept_apart(), values, ())
    inside = first(step) + noisy(step)
    each = (1 + tiny) * (eta * less + (1 + 1 / theta) * (mu * eta) ** 2)
    spare = added - each * (eta - next_eta) ** 2
    bound = k.norm2(apart(step)) * ((1 + tiny) * (1 + theta) * c**2)
    bound = bound + k.constant(added * step**2 * G2)
    return combine(
        next_step(step),
        young(inside, -noisy(step), tiny),
        (silent(step), 1 + 1 / tiny),
        (near, 1 + tiny),
        (off(step), each),
        (at_least(spare), step**2 * G2),
        target=bound - k.norm2(apart(step + 1)),
    )


def sized(step: Ratio) -> Theorem:
    """Return `one_step` with the sizes of `factor_at`."""
    parts = {c: SHRINKS, tiny: TINY, theta: 1 / wide()}
    values = tuple((variable(old), new) for old, new in parts.items())
    return cleared(rules.instantiate(one_step(step), values, ()))


def potential(step: Number) -> k.Lin:
    """Return ``f_i (u_i - spent_i G2)``."""
    left = k.norm2(apart(ratio(step))) - k.constant(spent_at(step) * G2)
    return left * factor_at(step)


def later(step: Number, last: Ratio = tau) -> Ratio:
    """Return ``f_{i+1}``."""
    return factor_at(ratio(step) + 1, last)


@cache
def falls() -> Theorem:
    """Return that the potential falls in step i >= 1."""
    up, spent = STEP + 1, spent_at(STEP) * G2
    return combine(
        (sized(STEP), later(STEP)),
        (apart(STEP), spare_at(STEP)),
        target=potential(STEP) - potential(up),
        signs=[
            shown(later, STEP),
            shown(spare_at, STEP),
            combine((shown(growth, STEP), spent)),
        ],
    )


@cache
def begins() -> Theorem:
    """Return ``f_1 u_1 <= ||x' - x||^2``."""
    none = ratio(0)
    return combine(
        (sized(none), later(none)),
        (apart(none), spare_at(none)),
        unmoved(),
        target=k.norm2(after - x) - potential(1),
        signs=[shown(later, none), shown(spare_at, none)],
    )


@cache
def last_step() -> Theorem:
    """Return ``||y_tau - p_tau||^2 <= ||x' - x||^2/f_tau + spent_tau G2``."""
    low = 1 / factor_at(tau)
    return combine(
        (sum_over(falls(), steps(tau - 1), v), low),
        (rules.telescope(v, potential(STEP), tau - 1), low),
        (begins(), low),
        target=reached() - k.norm2(apart(tau)),
    )


def reached() -> k.Lin:
    """Return the bound of `last_step`."""
    return k.norm2(after - x) * (1 / factor_at(tau)) + k.constant(spent_at(tau) * G2)


# At the rates 4/(mu tau (gamma + t)) -------------------------------------------------

kappa = S / mu


def fallen(at: Ratio) -> Ratio:
    """Return what is left of the first move, squared, in round t."""
    s = gamma + at
    return (gamma * (gamma + 1) / (s * (s + 1))) ** 4 * (s + 2 * gamma) / (3 * gamma)


def kept(at: Ratio) -> Ratio:
    """Return what drift adds to it, over ``(1 - 1/tau)(2 - 1/tau)``."""
    s = gamma + at
    return (kappa + 8) / (14 * s**2) + (kappa**2 / 2 + 15 * kappa + 8) / s**3


SPREAD = (1 - 1 / tau) * (2 - 1 / tau)


def share(at: Ratio) -> Ratio:
    """Return what ``||x(t+1) - x(t)||^2/(eta_t tau)^2`` is at most, over G2."""
    return fallen(at) + SPREAD * kept(at)


def claim(at: Ratio) -> k.Lin:
    """Return ``(eta_t tau)^2 share_t G2 - ||x(t+1) - x(t)||^2``."""
    size = (moving.AT_RATE.at(at) * tau) ** 2 * share(at)
    return k.constant(size * G2) - k.norm2(moving.move(at))


def slows() -> Ratio:
    """Return what a round leaves of a squared move, over the rates' change."""
    return fallen(now + 1) / fallen(now)


past, start = notation.nonnegative("o"), notation.nonnegative("g")
"""``gamma + t - 7`` and ``gamma - 7``."""


@cache
def next_round() -> Theorem:
    """Return how ``||x(t+2) - x(t+1)||^2`` follows from ``||x(t+1) - x(t)||^2``.

    Over ``(eta tau)^2`` a round adds ``2/3 SPREAD B/(s (s + 1)^2)``, s = gamma + t.
    """
    sizes = ((level, tau * (7 + past) - 7), (wider, tau * (13 + 2 * start)))
    values = tuple((variable(old), new) for old, new in sizes)
    whole = moving.averaged(last_step(), reached())
    one = cleared(rules.instantiate(whole, values, ()))
    s, m, beyond = gamma + now, M / mu, 8 * (S - mu) / mu
    B = 4 + m / 2 + (Fraction(4, 3) * m**2 + 73 * m + 36) / s
    rates = 4 * (4 / (mu * tau * s)) ** 2 / (tau * s * (s + 1) ** 2)
    own = (
        (past, beyond + now),
        (start, beyond),
        (less, (m / 2 + (Fraction(4, 3) * m**2 + 9 * m) / s) * mu),
        (added, rates * B),
    )
    return moving.at_rates(
        rules.instantiate(one, tuple((variable(a), b) for a, b in own), ())
    )


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
