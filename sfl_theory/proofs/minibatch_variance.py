r"""The distance after T rounds of MiniBatch-SFL, with and without bounded gradients.

:math:`(x-1)(x-2)\Delta+\frac{44S}{7\mu}(K-j)(x-1)D` grows by at most
:math:`4H/\mu^2` in a step, where
:math:`H=\sum a_n^2\sigma_n^2+\frac{44}{49}(K-1)(\sum a_n\sigma_n^2+(2K+1)\delta^2)`.

With :math:`c(x)=(x-1)(x-2)(x-3)(x-4)` and :math:`P(x)=x^3-10x^2+35x-50`,
:math:`c\Delta+\frac{4S}\mu(K-j)(x-1)(x-2)(x-3)D-P\frac{4V}{3\mu^2}` does not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Lin, constant, iterate, norm2
from sfl_theory.proofs import derived
from sfl_theory.proofs import minibatch_steps as st
from sfl_theory.proofs.foundations import (
    cocoercive,
    lipschitz,
    majorant_of_mean,
    monotone,
)
from sfl_theory.proofs.local_steps import S, m, n, now, sigma2, t
from sfl_theory.proofs.minibatch import BEST, R2, gamma, mu
from sfl_theory.proofs.minibatch_steps import LEFT, RUN, J, K, clock, j, point, r
from sfl_theory.proofs.minibatch_stepwise import of_all, over
from sfl_theory.proofs.notation import combine, count, mean, sign, steps, sum_over

x = clock(J)
h = mu * x / 2
EPS = 1 / (2 * K)
SMOOTH = rules.assume(k.constant(gamma - 8 * S / mu + 1))
g, wbar, d = (
    k.gradient(k.Local(n), point(J)),
    st.middle(J),
    st.apart(J),
)
there, total = k.gradient(k.Local(n), wbar), k.gradient(k.MEAN, wbar)
z = st.moved() * h - g
"""The noise of a client's stochastic gradient."""
SINGLE = mean(n, k.weight(n) ** 2 * sigma2(n))
LEVEL = mean(n, k.weight(n) * sigma2(n)) + (2 * K + 1) * st.delta2
H = SINGLE + Fraction(44, 49) * (K - 1) * LEVEL


def averaged(u: k.Vec) -> k.Vec:
    """Return the mean over clients."""
    return k.summed(k.CLIENTS, n, u * k.weight(n))


def fresh(u: k.Vec) -> Theorem:
    """Return ``<z, u> >= 0``, assumed."""
    return rules.assume(k.inner(z, u))


def steep() -> Theorem:
    """Return ``gamma/7 - S/mu >= 0``."""
    return combine(
        (SMOOTH, ratio(Fraction(1, 8))), target=k.constant(gamma / 7 - S / mu)
    )


@cache
def noisy_descent() -> Theorem:
    """Return ``Delta' <= (1 - mu eta) Delta + (S eta + 2 S^2 eta^2) D + eta^2 s2``.

    s2 is `SINGLE`, the variance of the mean gradient.
    """
    y, G, Gw = wbar - BEST, averaged(g), averaged(there)
    all_ = k.summed(k.CLIENTS, m, st.moved(m) * k.weight(m))
    new, after = y - all_, st.middle(J + 1) - BEST
    square = combine(
        (st.from_7(st.mean_step(after + new)), -1),
        target=k.norm2(new) - k.norm2(after),
    )
    u = y * h - G
    toward = combine(
        derived.majorant(k.Local(n), S, point(J), wbar),
        derived.convex(k.Local(n), mu, point(J), BEST),
    )
    below = wbar - total * (1 / S)
    gap = 2 / h - 4 * S / h**2
    right = st.distance(J) * (1 - mu / h) + st.spread(J) * (S / h + 2 * S**2 / h**2)
    return combine(
        square,
        (over(fresh(u)), 2 / h**2),
        (rules.linear(k.CLIENTS, n, z * k.weight(n), u), 2 / h**2),
        (rules.assume(k.constant(SINGLE) - k.norm2(averaged(z))), 1 / h**2),
        (over(toward), 2 / h),
        (rules.linear(k.CLIENTS, n, g * k.weight(n), y), 2 / h),
        (rules.mean_value(wbar), -2 / h),
        (rules.mean_value(BEST), 2 / h),
        (rules.jensen(k.CLIENTS, n, k.weight(n), point(J) - BEST), mu / h),
        (rules.jensen(k.CLIENTS, n, k.weight(n), g - there), 2 / h**2),
        (rules.mean_gradient(wbar, G * 2 - total - Gw), 2 / h**2),
        (over(lipschitz(k.Local(n), S, point(J), wbar, mu)), 2 / h**2),
        (majorant_of_mean(S, wbar, below), 4 * S / h**2),
        (derived.lowest(k.MEAN, below), 4 * S / h**2),
        (derived.lowest(k.MEAN, wbar), gap),
        (G - total * 2, 1 / h**2),
        target=right + k.constant(SINGLE / h**2) - st.distance(J + 1),
        signs=[sign(gap, (SMOOTH, 2 / (mu * x**2)))],
    )


@cache
def noisy_drift() -> Theorem:
    """Return ``D' <= (1 + 1/(2K)) (1 - mu eta) D + eta^2 LEVEL``."""
    u, after = (
        k.part(st.CLIENT, st.moved()),
        st.apart(J + 1),
    )
    all_ = k.summed(k.CLIENTS, m, st.moved(m) * k.weight(m))
    ubar, f = (
        k.part(st.CLIENT, all_),
        k.part(st.CLIENT, total),
    )
    new = d - u + ubar
    w = after + new
    square = combine(
        (st.from_7(st.step(n, w)), -1),
        st.from_7(st.mean_step(w)),
        (rules.blocks(all_, w), -1),
        target=k.norm2(new) - k.norm2(after),
    )
    a, e = g - there, there - total
    a_c, e_c = k.part(st.CLIENT, a), k.part(st.CLIENT, e)
    rest = 2 / h - S / h**2
    most = 1 + EPS
    one = combine(
        (fresh(k.part(st.CLIENT, d * h - g + total)), 2 / h**2),
        (rules.assume(k.constant(sigma2(n)) - k.norm2(z)), 1 / h**2),
        (rules.blocks(z, z), 1 / h**2),
        (derived.heterogeneity(st.delta2, n, wbar), (1 + 1 / EPS) / h**2),
        (rules.blocks(e, e), (1 + 1 / EPS) / h**2),
        (rules.blocks(a, a), most / h**2),
        (rules.blocks(a, d), -2 * most / h),
        (st.from_7(st.server_same(a)), -2 * most / h),
        (cocoercive(k.Local(n), S, point(J), wbar, mu), most / h**2),
        (monotone(k.Local(n), mu, point(J), wbar), most * rest),
        (k.part(st.SERVER, z), 1 / h**2),
        (k.part(st.SERVER, e), (1 + 1 / EPS) / h**2),
        (k.part(st.SERVER, a), most / h**2),
        ((d - a_c * (1 / h)) * EPS + e_c * (1 / h), 1 / EPS),
        (d, most * mu * (rest - 1 / h)),
        signs=[
            sign(most * rest, (SMOOTH, most / (2 * mu * x**2))),
            sign(most * mu * (rest - 1 / h), (SMOOTH, most / (2 * x**2))),
        ],
    )
    right = st.spread(J) * ((1 + EPS) * (1 - mu / h)) + k.constant(LEVEL / h**2)
    return combine(
        over(square),
        over(one),
        (rules.linear(k.CLIENTS, n, d * k.weight(n), ubar), 2),
        (rules.linear(k.CLIENTS, n, u * k.weight(n), ubar), -2),
        (rules.linear(k.CLIENTS, n, d * k.weight(n), f), -2 / h),
        (rules.linear(k.CLIENTS, n, u * k.weight(n), f), 2 / h),
        (ubar - f * (1 / h), 1),
        target=right - st.spread(J + 1),
    )


def noisy_potential(step_: Ratio) -> k.Lin:
    """Return ``Phi``."""
    at = clock(step_)
    near = Fraction(44, 7) * S / mu * (K - step_) * (at - 1)
    return st.distance(step_) * ((at - 1) * (at - 2)) + st.spread(step_) * near


def noisy_small() -> Theorem:
    """Return ``44/7 S/mu r/x <= 44/49 (K - 1)``."""
    return combine(
        (steep(), r * Fraction(44, 7) / x),
        (LEFT, Fraction(44, 49) * (x - gamma) / x),
        target=k.constant(
            Fraction(44, 49) * (K - 1) - Fraction(44, 7) * S / mu * r / x
        ),
        signs=[sign(r * Fraction(44, 7) / x, (LEFT, Fraction(44, 7) / x))],
    )


@cache
def noisy_growth() -> Theorem:
    """Return ``Phi' <= Phi + 4H/mu^2``."""
    later = Fraction(44, 7) * S / mu * r * x
    level = 4 / mu**2
    first = 2 * S / mu * (x - 1) * (Fraction(4, 7) - 4 * S / (mu * x))
    second = Fraction(44, 7) * S / mu * ((x - 1) * (J + 1) / (2 * K) + r * (1 + EPS))
    signs = [
        sign(later, (LEFT, Fraction(44, 7) * S / mu * x)),
        sign(first, (steep(), 8 * S / mu * (x - 1) / x)),
        sign(second, (LEFT, Fraction(44, 7) * S / mu * (1 + EPS))),
    ]
    own = combine((d, 1))
    return combine(
        (noisy_descent(), x * (x - 1)),
        (noisy_drift(), later),
        (noisy_small(), level * LEVEL),
        (over(own), first),
        (over(own), second),
        target=noisy_potential(J) + k.constant(level * H) - noisy_potential(J + 1),
        signs=signs,
    )


def over_round(
    growth: Theorem,
    phi: Callable[[Ratio], k.Lin],
    apart: Callable[[Ratio], Ratio],
    near: Callable[[Ratio], Ratio],
) -> Theorem:
    """Return what ``near(x) ||x(t) - x*||^2`` grows by in a round.

    Args:
        growth: what the potential grows by in a step.
        phi: the potential before a step.
        apart: its factor of D at the start of a round, by the clock.
        near: its factor of the distance.

    Returns:
        The sum over the round's steps; local points start and end at the models.
    """
    zero, now_, after = ratio(0), k.iterate(RUN, now), k.iterate(RUN, now + 1)
    first, last = st.middle(zero) + now_ - BEST * 2, st.middle(K) + after - BEST * 2
    together = of_all(st.starts(m, first), m, point(zero, m) - now_, first)
    return combine(
        sum_over(growth, steps(K), j),
        derived.telescope(j, phi(J), K),
        (st.same_start(), apart(clock(0))),
        (together, -near(clock(0))),
        (st.ends(last), near(clock(K))),
    )


def over_rounds(
    one: Theorem,
    level: Callable[[Ratio], k.Lin],
    near: Callable[[Ratio], Ratio],
    noise: Ratio,
) -> Theorem:
    """Return ``||x(T) - x*||^2 <= (noise + gamma ||x(0) - x*||^2)/(gamma + KT)``."""
    T = count("T")
    end, start = gamma + K * T, k.iterate(RUN, 0) - BEST
    share = 1 / near(end)
    target = (k.norm2(start) * gamma + k.constant(noise)) * (1 / end)
    return combine(
        (sum_over(one, steps(T), t), share),
        (derived.telescope(t, level(now), T), share),
        (start, gamma / end - near(gamma) * share),
        target=target - k.norm2(k.iterate(RUN, T) - BEST),
    )


def rising(x: Ratio) -> Ratio:
    """Return ``(x - 1)(x - 2)``."""
    return (x - 1) * (x - 2)


@cache
def noisy_rounds() -> Theorem:
    """Return ``||x(T) - x*||^2 <= (4H/mu^2 + gamma ||x(0) - x*||^2)/(gamma + KT)``."""

    def level(at: Ratio) -> k.Lin:
        return k.norm2(k.iterate(RUN, at) - BEST) * rising(gamma + K * at)

    def apart(low: Ratio) -> Ratio:
        return Fraction(44, 7) * S / mu * K * (low - 1)

    one = over_round(noisy_growth(), noisy_potential, apart, rising)
    return over_rounds(one, level, rising, 4 * H / mu**2)


# The distance to the optimum after T rounds of MiniBatch-SFL -------------------------

V = R2 + (K - 1) * st.B


def falling(x: Ratio) -> Ratio:
    """Return ``c(x)``, for which ``c(x+1) (1 - 4/x) = c(x)``."""
    return (x - 1) * (x - 2) * (x - 3) * (x - 4)


def noisy(x: Ratio) -> Ratio:
    """Return ``P(x) <= c(x)/x``, for which ``P(x+1) - P(x) >= 3 c(x+1)/x^2``."""
    return x**3 - 10 * x**2 + 35 * x - 50


def weighted(d: Lin, x: Ratio) -> Lin:
    """Return ``c(x) Delta - P(x) 4V/(3 mu^2)``."""
    return d * falling(x) - constant(noisy(x) * 4 * V / (3 * mu**2))


def potential(step_: Ratio) -> Lin:
    """Return ``Phi``."""
    x = clock(step_)
    near = 4 * S / mu * (K - step_) * (x - 1) * (x - 2) * (x - 3)
    return weighted(st.distance(step_), x) + st.spread(step_) * near


@cache
def small() -> Theorem:
    """Return ``4S/mu r <= (K - 1)(x - 3)``."""
    x = clock(J)
    smooth = rules.assume(constant(gamma - 8 * S / mu + 1))
    ratio_ = combine((smooth, ratio(1) / 8), target=constant(gamma / 7 - S / mu))
    return combine(
        (ratio_, 4 * r),
        (LEFT, 4 * (x - gamma) / 7 + 3 * (x - 7) / 7),
        target=constant((K - 1) * (x - 3) - 4 * S / mu * r),
        signs=[sign(4 * r, (LEFT, 4))],
    )


def spare() -> Theorem:
    """Return that what is left of D is not negative, times 2K."""
    x = clock(J)
    number = (x - 3) * (J + 1) + r * (2 * K - 3)
    return combine((rules.square(r - 1), 2), (LEFT, 3 + 2 * J), target=constant(number))


@cache
def grown() -> Theorem:
    """Return ``Phi' <= Phi``."""
    x = clock(J)
    low, rate_ = (x - 1) * (x - 2), 4 / (mu**2 * x**2)
    later = 4 * S / mu * r * x * low
    left = 2 * S / mu * low / K
    kept = ((x - 3) * (J + 1) + r * (2 * K - 3)) * left
    return combine(
        (st.from_7(st.descent()), x * low * (x - 3)),
        (st.from_7(st.drift()), later),
        (small(), rate_ * st.B * x * low),
        (over(combine((st.apart(J), 1))), kept),
        target=potential(J) - potential(J + 1),
        signs=[sign(later, (LEFT, 4 * S / mu * x * low)), sign(kept, (spare(), left))],
    )


@cache
def rounds() -> Theorem:
    """Return ``||x(T) - x*||^2 <= (4V/(3mu^2) + gamma ||x(0) - x*||^2)/(gamma+KT)``.

    In a round ``c ||x(t) - x*||^2 - P 4V/(3 mu^2)`` does not grow.
    """

    def level(at: Ratio) -> Lin:
        return weighted(norm2(iterate(RUN, at) - BEST), gamma + K * at)

    def apart(x: Ratio) -> Ratio:
        return 4 * S / mu * K * (x - 1) * (x - 2) * (x - 3)

    one = over_round(grown(), potential, apart, falling)
    return over_rounds(one, level, falling, 4 * V / (3 * mu**2))
