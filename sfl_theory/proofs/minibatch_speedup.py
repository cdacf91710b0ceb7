r"""MiniBatch-SFL without bounded gradients: noise over N, drift of order 1/steps^2.

The learning rate falls at every step, :math:`\eta=\frac2{\mu x}`,
:math:`x=\gamma+Kt+j`. :math:`\Delta` is the squared distance of the mean model
:math:`\bar w`, :math:`D=\sum_na_n\|p_n-\bar w\|^2` how far the local models are apart,
r = K - 1 - j how many steps of the round are left. A step grows
:math:`(x-1)(x-2)\Delta+\frac{44S}{7\mu}(K-j)(x-1)D` by at most :math:`4/\mu^2` times

.. math:: \sum_na_n^2\sigma_n^2+\frac{44S}{7\mu x}
    \Big(r\sum_na_n(1-a_n)\sigma_n^2+(r+2r^2)\delta^2\Big).
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, Vec, constant, norm2, part, weight
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.foundations import (
    cocoercive,
    lipschitz,
    majorant_of_mean,
    monotone,
)
from sfl_theory.proofs.minibatch_stepwise import RUN, J, K, S, T, h, m, mu, n, now, r, x
from sfl_theory.proofs.notation import combine, mean, sign, steps, sum_over

HALF = ratio(Fraction(1, 2))
SINGLE = mean(n, weight(n) ** 2 * st.sigma2)
APART = mean(n, weight(n) * (1 - weight(n)) * st.sigma2)
LEVEL = APART + (4 * K + 1) / 3 * st.delta2
"""Noise and heterogeneity that drive the local models of a round apart."""
TWICE = combine(st.MADE, (rules.square(r), 2))


# One step of the mean model, and of the local models ----------------------------------

g, wbar, d = (
    k.gradient(Local(n), st.point(J)),
    st.middle(J),
    st.apart(J),
)
there, total = k.gradient(Local(n), wbar), k.gradient(k.MEAN, wbar)


@cache
def descent() -> Theorem:
    """Return ``Delta' <= (1 - mu h) Delta + (S h + 2 S^2 h^2) D + h^2 SINGLE``."""
    y, G, Gw = (
        wbar - st.BEST,
        st.averaged(g),
        st.averaged(there),
    )
    new, after = (
        y - st.averaged(st.move(J)),
        st.middle(J + 1) - st.BEST,
    )
    square = combine(st.mean_step(after + new, -1), target=norm2(new) - norm2(after))
    variance = sum_over(
        rules.variance(RUN, st.sigma2, n, now, J),
        CLIENTS,
        n,
        weight(n) ** 2,
    )
    toward = combine(
        rules.majorant(Local(n), S, st.point(J), wbar),
        rules.convex(Local(n), mu, st.point(J), st.BEST),
    )
    below = wbar - total * (1 / S)
    gap = 2 * h - 4 * S * h**2
    right = st.from_best(J) * (1 - mu * h) + st.spread(J) * (S * h + 2 * S**2 * h**2)
    return combine(
        square,
        (st.fresh(y - G * h), 2 * h),
        (st.uncorrelated(None, 1), h**2),
        (variance, h**2),
        (st.over(toward), 2 * h),
        (st.of_mean(g, y), 2 * h),
        (rules.mean_value(wbar), -2 * h),
        (rules.mean_value(st.BEST), 2 * h),
        (
            rules.jensen(
                CLIENTS,
                n,
                weight(n),
                st.point(J) - st.BEST,
            ),
            mu * h,
        ),
        (rules.jensen(CLIENTS, n, weight(n), g - there), 2 * h**2),
        (rules.mean_gradient(wbar, G * 2 - total - Gw), 2 * h**2),
        (st.over(lipschitz(Local(n), S, st.point(J), wbar, mu)), 2 * h**2),
        (majorant_of_mean(S, wbar, below), 4 * S * h**2),
        (rules.lowest(k.MEAN, below), 4 * S * h**2),
        (rules.lowest(k.MEAN, wbar), gap),
        (G - total * 2, h**2),
        target=right + constant(SINGLE * h**2) - st.from_best(J + 1),
        signs=[sign(gap, (st.small(), 4 * h))],
    )


def server_same(w: Vec) -> Theorem:
    """Return ``<[p - wbar]_s, w> = 0``: the server's block is one for all."""
    past = st.averaged(st.moves(J, m), m)
    seen = part(
        st.SERVER,
        st.point(J, m) - k.iterate(RUN, now) + past,
    )

    def own(client: k.Client) -> Theorem:
        return rules.local_update(RUN, client, now, J, st.SERVER, w)

    whole = combine(
        own(n),
        (st.over(own(m), m), -1),
        (st.of_mean(seen, part(st.SERVER, w), m), -1),
    )
    return rules.cut(whole, st.STARTED)


def contraction() -> Theorem:
    """Return ``||d - h a_c||^2 <= (1 - mu h) ||d||^2``, a how gradients differ."""
    a = g - there
    rest, near = 2 * h - S * h**2, part(st.CLIENT, a)
    return combine(
        (rules.blocks(a, a), h**2),
        (rules.blocks(a, d), -2 * h),
        (server_same(a), -2 * h),
        (cocoercive(Local(n), S, st.point(J), wbar, mu), h**2),
        (monotone(Local(n), mu, st.point(J), wbar), rest),
        (part(st.SERVER, a), h**2),
        (d, mu * (rest - h)),
        target=norm2(d) * (1 - mu * h) - norm2(d - near * h),
        signs=[
            sign(rest, (st.small(), h)),
            sign(mu * (rest - h), (st.small(), mu * h)),
        ],
    )


@cache
def drift() -> Theorem:
    """Return ``r D' <= (r + 1/2)(1 - mu h) D + h^2 (r APART + (r + 2 r^2) delta^2)``.

    The mean of the clients' moves is subtracted, and with it the mean of their noises.
    """
    f, after = part(st.CLIENT, total), st.apart(J + 1)
    own, all_ = (
        part(st.CLIENT, st.move(J)),
        part(
            st.CLIENT,
            st.averaged(st.move(J)),
        ),
    )
    new = d - own + all_
    both = after + new
    square = combine(
        st.step(n, both, -1),
        st.mean_step(both, 1),
        (
            rules.blocks(st.averaged(st.move(J)), both),
            -1,
        ),
        target=norm2(new) - norm2(after),
    )
    e, z = (
        part(st.CLIENT, there - total),
        part(st.CLIENT, st.xi),
    )
    seen = d - part(st.CLIENT, g) * h + f * h
    noisy = seen - z * h
    mean_g = part(st.CLIENT, st.averaged(g) - total)
    differs = there - total
    one = combine(
        (contraction(), r + HALF),
        (
            rules.heterogeneity(st.delta2, n, wbar),
            (r + 2 * r**2) * h**2,
        ),
        (rules.blocks(differs, differs), (r + 2 * r**2) * h**2),
        (d - part(st.CLIENT, g - there) * h + e * (2 * r * h), HALF),
        (part(st.SERVER, differs), (r + 2 * r**2) * h**2),
        target=norm2(d) * ((r + HALF) * (1 - mu * h))
        + constant((r + 2 * r**2) * h**2 * st.delta2)
        - norm2(seen) * r,
        signs=[
            sign(r + HALF, (st.MADE, 1)),
            sign((r + 2 * r**2) * h**2, (TWICE, h**2)),
        ],
    )
    weights = weight(n) * (1 - weight(n))
    below = rules.weight_below_one(n)
    single = combine(
        rules.variance(RUN, st.sigma2, n, now, J),
        rules.blocks(st.xi, st.xi),
        (part(st.SERVER, st.xi), 1),
    )
    right = st.spread(J) * ((r + HALF) * (1 - mu * h))
    cost = (r * APART + (r + 2 * r**2) * st.delta2) * h**2
    return combine(
        (st.over(square), r),
        st.over(one),
        (
            st.over(rules.unbiased(RUN, n, now, J, part(st.CLIENT, seen))),
            2 * r * h,
        ),
        (st.fresh(mean_g), 2 * r * h**2),
        (st.uncorrelated(st.CLIENT, -1), r * h**2),
        (sum_over(single, CLIENTS, n, weights, [below]), r * h**2),
        (st.of_mean(noisy, all_ - f * h), 2 * r),
        (mean_g, r * h**2),
        target=right + constant(cost) - st.spread(J + 1) * r,
        signs=[
            sign(r * h**2, (st.MADE, h**2)),
            st.MADE,
        ],
    )


# Rounds -------------------------------------------------------------------------------


def potential(step_: Ratio) -> k.Lin:
    """Return ``(x - 1)(x - 2) Delta + 44 S/(7 mu) (K - j)(x - 1) D``."""
    at = st.gamma + K * now + step_
    near = Fraction(44, 7) * S / mu * (K - step_) * (at - 1)
    return st.from_best(step_) * ((at - 1) * (at - 2)) + st.spread(step_) * near


def level(single: Ratio) -> Ratio:
    """Return ``4/mu^2`` times noise and ``44 S/(7 mu) u(Kt)`` times the drift's."""
    more = r * APART + (r + 2 * r**2) * st.delta2
    return 4 / mu**2 * (single + Fraction(44, 7) * S / mu * more * st.inverse(K * now))


def no_later() -> Theorem:
    """Return ``1/x <= u(Kt)``."""
    first = st.inverse(K * now)
    start = rules.assume(constant((st.gamma + K * now) * first - 1))
    return combine((start, 1 / x), target=constant(first - 1 / x))


def positive_apart() -> Theorem:
    """Return ``r APART >= 0``."""
    one = rules.weight_below_one(n)
    total_ = sum_over(one, CLIENTS, n, weight(n) * st.sigma2)
    return combine((total_, r), signs=[st.MADE])


@cache
def grown() -> Theorem:
    """Return ``Phi' <= Phi + level``: descent times x (x - 1), drift, and u = 1/x."""
    c, u, cost = (
        Fraction(44, 7) * S / mu,
        st.inverse(K * now + J),
        4 / mu**2,
    )
    low, high = st.exact(-1), st.exact(1)
    half = combine((st.MADE, c), combine(target=constant(c / 2)))
    spare = combine(
        (low, 2 * S / mu * (x - 1) * (1 + 4 * S / mu * u)),
        (st.small(), 4 * S / mu * (x - 1)),
        (high, 2 * c * (r + HALF)),
        half,
        signs=[half],
    )
    single = combine((low, 1 + x * u), target=constant(1 - x * (x - 1) * u**2))
    twice = combine((low, (1 + x * u) / x), no_later())
    later = sign(c * x, (combine(target=constant(c * x)), 1))
    return combine(
        (descent(), x * (x - 1)),
        (drift(), c * x),
        (single, cost * SINGLE),
        (twice, c * cost * r * APART),
        (twice, c * cost * (r + 2 * r**2) * st.delta2),
        (st.over(combine((d, 1))), rules.number_of(spare.form)),
        (wbar - st.BEST, 2 * (x - 1) * (x * u - 1)),
        target=potential(J) + constant(level(SINGLE)) - potential(J + 1),
        signs=[spare, high, positive_apart(), TWICE, later],
    )


@cache
def one_round() -> Theorem:
    """Return what ``(x - 1)(x - 2) ||x(t) - x*||^2`` grows by in a round."""
    zero, before, after = ratio(0), k.iterate(RUN, now), k.iterate(RUN, now + 1)
    first, last = (
        st.middle(zero) + before - st.BEST * 2,
        st.middle(K) + after - st.BEST * 2,
    )
    low, high = (
        st.gamma + K * now,
        st.gamma + K * (now + 1),
    )
    return combine(
        sum_over(grown(), steps(K), st.j),
        rules.telescope(st.j, potential(J), K),
        (st.same_start(), Fraction(44, 7) * S / mu * K * (low - 1)),
        (st.start_of_mean(first), -(low - 1) * (low - 2)),
        (st.ends(last), (high - 1) * (high - 2)),
    )


END = st.gamma + K * T


@cache
def rounds() -> Theorem:
    r"""Return the distance after T rounds.

    ``(E - 1)(E - 2) ||x(T) - x*||^2 <= (gamma - 1)(gamma - 2) ||x(0) - x*||^2
    + 4KT/mu^2 SINGLE + 88 S/(7 mu^3) K (K - 1) LEVEL sum_t 1/(gamma + Kt)``,
    E = gamma + KT.
    """

    def scaled(at: Ratio) -> k.Lin:
        low = st.gamma + K * at
        return norm2(k.iterate(RUN, at) - st.BEST) * ((low - 1) * (low - 2))

    whole = combine(
        sum_over(one_round(), steps(T), st.t),
        rules.telescope(st.t, scaled(now), T),
    )
    harmonic = rules.number_of(
        k.summed(
            steps(T),
            st.t,
            constant(st.inverse(K * now)),
        )
    )
    far = Fraction(88, 7) * S / mu**3 * K * (K - 1) * LEVEL * harmonic
    right = scaled(ratio(0)) + constant(4 * K * T / mu**2 * SINGLE + far)
    return combine(whole, target=right - scaled(T))


def distance() -> Theorem:
    """Return `rounds` divided by ``(E - 1)(E - 2)``."""
    return combine((rounds(), 1 / ((END - 1) * (END - 2))))


def closed_form() -> Theorem:
    """Return `distance` with ``u <= 1/gamma`` and ``S/mu <= gamma/7``.

    The drift is then ``4KT/mu^2 22/49 (K - 1) LEVEL``.
    """
    u, share = st.inverse(K * now), 1 / ((END - 1) * (END - 2))
    more = combine(
        (st.SMOOTH, ratio(Fraction(1, 8))),
        target=constant(st.gamma / 7 - S / mu),
    )
    once = rules.assume(constant(1 - (st.gamma + K * now) * u))
    one = combine(
        (once, Fraction(1, 7)), (more, u), target=constant(Fraction(1, 7) - S / mu * u)
    )
    all_ = sum_over(one, steps(T), st.t)
    apart_ = sum_over(rules.weight_below_one(n), CLIENTS, n, weight(n) * st.sigma2)
    size = Fraction(88, 7) / mu**2 * K * (K - 1)
    positive = combine((apart_, size * share))
    return combine(
        distance(),
        (all_, size * share * APART),
        (all_, size * share * (4 * K + 1) / 3 * st.delta2),
        signs=[positive],
    )
