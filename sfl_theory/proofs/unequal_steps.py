r"""Clients that make numbers of steps of their own, averaged: what FedAvg then lowers.

Client n makes :math:`\tau_n=1+b_n\le\tau` local steps of a round, and the mean of the
clients' models after these is the next model. It descends on :math:`\tilde f=\sum_nw_n
F_n`, :math:`w_n=a_n\tau_n/\tau_e`, :math:`\tau_e=\sum_na_n\tau_n`. Written here are
:math:`\phi=\tau_e\tilde f` and sums with the weights :math:`a_n\tau_n`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.equal_steps import CONSTANTS, eta, gx, r, run, tau
from sfl_theory.proofs.local_steps import S, i, j, n, now, sigma2, t, young
from sfl_theory.proofs.notation import (
    combine,
    count,
    mean,
    nonnegative,
    of,
    point,
    sign,
    steps,
    sum_over,
)

T, eps2 = count("T"), nonnegative("eps2_w")
own = 1 + k.symbol(k.PerClient(k.ClientFamily("more", Sort.NATURAL), n))
"""``tau_n``, at least 1."""
share = k.weight(n) * own
together = mean(n, share)
"""``tau_e``."""
NEAR, LOOSE = Fraction(1, 10), Fraction(512, 501)
r"""Young's c in the drift, :math:`1/(1-\frac{11}2u^2)` for :math:`u\le\frac1{16}`."""
SLOPES, NOISES = (LOOSE * (1 + NEAR) / by for by in (3, 2))
"""Of a client's gradient and noise in its drift."""
LITTLE = Fraction(1, 1000)
"""What is given away for a difference of length 0."""
few = rules.assume(k.constant(tau - own))
small = combine(
    (rules.assume(k.constant(1 / (16 * S * tau) - eta)), 16 * S * tau),
    target=k.constant(1 - 16 * S * eta * tau),
)


def made(each: k.Vec) -> k.Vec:
    """Return ``sum_n a_n sum_{i<tau_n} each``."""
    return k.summed(k.CLIENTS, n, k.summed(steps(own), i, each) * k.weight(n))


def over(theorem: Theorem) -> Theorem:
    """Return the theorem summed likewise."""
    return r.summed(theorem, own, k.weight(n))


x = r.x
slope = k.summed(k.CLIENTS, n, gx * share)
"""``grad phi(x)``."""
M, Z = made(r.local_gradient(of(i))), made(r.noise(of(i)))
ends = k.summed(k.CLIENTS, n, r.point(own) * k.weight(n))
"""The mean of the clients' models after their steps."""
away = k.summed(steps(own), i, k.norm2(r.away(of(i))))
"""``D_n``, a client's drift; `drift` is its mean."""
drift = k.summed(k.CLIENTS, n, away * k.weight(n))
noisy = mean(n, k.weight(n) * own**2 * sigma2(n))
"""``sum_n a_n tau_n^2 sigma_n^2``."""


def phi(at: k.Vec) -> k.Lin:
    """Return ``sum_n a_n tau_n F_n``."""
    return k.summed(k.CLIENTS, n, k.value_of(k.Local(n), at) * share)


def linear(u: k.Vec, w: k.Vec) -> Theorem:
    """Return ``<sum_n a_n sum_{i<tau_n} u, w> = sum_n a_n sum_i <u, w>``."""
    return local.linear_both(r, u, w, own, k.weight(n))


def reached(w: k.Vec) -> Theorem:
    """Return ``<ends - x + eta (M + Z), w> = 0``."""
    g = r.local_gradient(of(i)) + r.noise(of(i))
    moved = r.away(own) + k.summed(steps(own), i, g) * eta
    whole = sum_over(local.walked(run, now, own, w), k.CLIENTS, n, k.weight(n))
    return combine(whole, rules.linear(k.CLIENTS, n, moved * k.weight(n), w))


def deviation() -> Theorem:
    """Return ``||M - grad phi(x)||^2 <= tau_e S^2 drift``: a double Jensen."""
    u = r.local_gradient(of(i)) - gx
    V = made(u)
    near = derived.lipschitz(k.Local(n), S, r.point(of(i)), x)
    one = combine((near, together**2), (u * together - V, 1))
    return combine(
        (over(one), 1 / together),
        (linear(u, V), -2),
        target=drift * (together * S**2) - k.norm2(V),
    )


def passed(each: k.Vec) -> k.Vec:
    """Return the sum over the steps j before i."""
    return k.summed(steps(of(i)), j, each)


def client_drift(walk: Theorem, apart: Theorem) -> Theorem:
    """Return ``D_n <= eta^2 (SLOPES tau_n^3 ||gx||^2 + NOISES tau_n^2 sigma_n^2)``.

    Args:
        walk: ``||sum_{j<i} xi||^2 <= i sigma_n^2``.
        apart: ``<gx, sum_{j<i} xi> <= 0``.

    Returns:
        The bound.
    """
    differs, eta2 = r.local_gradient(of(j)) - gx, eta**2
    first, later = gx * of(i) + passed(r.noise(of(j))), passed(differs)
    near = derived.lipschitz(k.Local(n), S, x, r.point(of(j)))
    size, far = (1 + NEAR) * eta2, (1 + 1 / NEAR) * eta2 * of(i)
    one = combine(
        (local.whole_moved(r), -1),
        (young(first, later, NEAR), eta2),
        (walk, size),
        (apart, 2 * of(i) * size),
        (rules.jensen(steps(of(i)), j, ratio(1), differs), (1 + 1 / NEAR) * eta2),
        (sum_over(near, steps(of(i)), j), far),
        (rules.longer(j, r.away(of(j)), of(i), own), far * S**2),
        target=away * (far * S**2)
        + k.norm2(gx) * (size * of(i) ** 2)
        + k.constant(size * of(i) * sigma2(n))
        - k.norm2(r.away(of(i))),
    )
    positive = sum_over(combine((r.away(of(i)), 1)), steps(own), i)
    u = S * eta * own
    drop = (1 + 1 / NEAR) / 2
    kept = LOOSE * (1 - drop * u**2 + drop * u * S * eta) - 1
    less = sign(1 - 16 * u, (small, 1), (few, 16 * S * eta))
    square = combine((less, 1 + 16 * u))
    whole = combine(
        (sum_over(one, steps(own), i), LOOSE),
        (positive, kept),
        (gx, SLOPES * eta2 * own * (3 * own - 1) / 2),
        target=k.norm2(gx) * (SLOPES * eta2 * own**3)
        + k.constant(NOISES * eta2 * own**2 * sigma2(n))
        - away,
        signs=[sign(kept, (square, LOOSE * drop / 256))],
    )
    return rules.cut(whole, combine((few, 1), target=k.constant(tau + 1 - own)))


def mean_drift(walk: Theorem, apart: Theorem) -> Theorem:
    """Return ``drift <= eta^2 (SLOPES tau^2 gradients + NOISES noisy)``."""
    square = combine((few, tau + own), target=k.constant(tau**2 - own**2))
    factor = SLOPES * eta**2 * own
    longer = combine(
        client_drift(walk, apart),
        (gx, factor * (tau**2 - own**2)),
        signs=[combine((square, factor))],
    )
    return sum_over(longer, k.CLIENTS, n, k.weight(n))


def spread() -> Theorem:
    """Return ``gradients <= ||grad phi||^2/tau_e + tau_e eps2``, by what is assumed.

    That is ``sum_n w_n ||grad F_n - grad phi/tau_e||^2 <= eps2``.
    """
    apart = gx - slope * (1 / together)
    wide = k.summed(k.CLIENTS, n, k.norm2(apart) * (share / together))
    assumed = rules.assume(k.constant(eps2) - wide)
    return combine(
        (assumed, together),
        (rules.linear(k.CLIENTS, n, gx * share, slope), 2 / together),
    )


@dataclass(frozen=True)
class Ends:
    """Where a round ends, and what is known of its noise.

    Attributes:
        after: the next model.
        same: ``-||after - ends||^2 >= 0``.
        walk: ``||sum_{j<i} xi(n,t,j)||^2 <= i sigma_n^2``.
        apart: ``<grad F_n(x), sum_{j<i} xi(n,t,j)> <= 0``.
        fresh: ``<grad phi(x), Z> >= 0``.
        size: ``||Z||^2 <= sum_n a_n^2 tau_n sigma_n^2``.
    """

    after: k.Vec
    same: Theorem
    walk: Theorem
    apart: Theorem
    fresh: Theorem
    size: Theorem


def one_round(by: Ends) -> Theorem:
    r"""Return what a round gains.

    :math:`\eta\|\nabla\tilde f\|^2\le\frac{2.01}{\tau_e}(\tilde f(x)-\tilde f(x'))
    +\frac{1.08}{\tau_e}S\eta^2\sum a_n^2\tau_n\sigma_n^2
    +S^2\eta^3(0.38\tau^2\tilde\epsilon^2+0.57\sum w_n\tau_n\sigma_n^2)`.
    """
    y = by.after
    v, h, grown = y - ends, eta * LITTLE, 1 + LITTLE
    step, u = (M + Z) * eta, S * eta * tau
    cost = S * together / 2
    fewer = sum_over(few, k.CLIENTS, n, k.weight(n))
    half = eta * together * S**2 / 2
    left = eta / 2 - 15 * cost * grown * eta**2
    square = combine((small, 1 + 16 * u))
    lost = eta / 2 * (1 - LITTLE - SLOPES * u**2)
    gap, second, het, third = (Fraction(one) for one in CONSTANTS)
    factor = gap / together**2
    size = mean(n, k.weight(n) * share * sigma2(n))
    cube = S**2 * eta**3 * (het * tau**2 * eps2 + third * noisy / together)
    left_over = factor * lost - eta / together**2
    return combine(
        (sum_over(rules.smooth(k.Local(n), S, x, y), k.CLIENTS, n, share), factor),
        (rules.linear(k.CLIENTS, n, gx * share, y - x), factor),
        (reached(slope), -factor),
        (v - slope * h, factor / (2 * h)),
        (young(ends - x, v, LITTLE), factor * cost),
        (reached(ends - x - step), -factor * cost * grown),
        (young(M, Z, 14), factor * cost * grown * eta**2),
        (by.same, factor * (cost * (1 + 1 / LITTLE) + 1 / (2 * h))),
        (by.size, factor * cost * grown * eta**2 * Fraction(15, 14)),
        (by.fresh, factor * eta),
        (deviation(), factor * eta / 2),
        (mean_drift(by.walk, by.apart), factor * half),
        (spread(), factor * half * SLOPES * eta**2 * tau**2),
        (M, factor * left),
        (slope, left_over),
        target=(phi(x) - phi(y)) * factor
        + k.constant(second * S * eta**2 * size / together + cube)
        - k.norm2(slope) * (eta / together**2),
        signs=[
            sign(
                factor * left,
                (small, factor * eta / 2 * Fraction(15, 16) * grown),
                (fewer, 15 * factor * S * eta**2 / 2 * grown),
            ),
            sign(left_over, (square, factor * eta / 2 * SLOPES / 256)),
        ],
    )


def of_round() -> Theorem:
    """Return `one_round` to the mean of the clients' models, for honest samples."""
    xi, before = r.noise(of(i)), r.noise(of(j))
    bound = derived.variance(run, sigma2(n), n, now, of(j))
    walk = combine(
        derived.martingale(run, n, now, of(i), None), sum_over(bound, steps(of(i)), j)
    )
    each = derived.variance(run, sigma2(n), n, now, of(i))
    size = combine(
        derived.independent(run, n, i, k.weight(n), now, own, None),
        r.summed(each, own, k.weight(n) ** 2),
    )
    fresh = combine(
        over(derived.unbiased(run, n, now, of(i), slope)), linear(xi, slope)
    )
    none = sum_over(derived.unbiased(run, n, now, of(j), gx), steps(of(i)), j)
    apart = combine(
        (none, -1),
        (rules.linear(steps(of(i)), j, before, gx), -1),
        target=k.inner(gx, passed(before)) * -1,
    )
    return one_round(Ends(ends, combine(), walk, apart, fresh, size))


def rounds() -> Theorem:
    """Return the mean over T rounds whose ends and noise are as assumed."""
    y = r.next
    size = k.constant(mean(n, k.weight(n) * share * sigma2(n))) - k.norm2(Z)
    before = passed(r.noise(of(j)))
    assumed = (
        k.norm2(y - ends) * -1,
        k.constant(of(i) * sigma2(n)) - k.norm2(before),
        k.inner(gx, before) * -1,
        k.inner(slope * (1 / together), Z),
        size,
    )
    same, walk, apart, fresh, whole = map(rules.assume, assumed)
    fresh = combine((fresh, together))
    one = one_round(Ends(y, same, walk, apart, fresh, whole))
    c = Fraction(CONSTANTS[0]) / together**2 / T
    best = phi(k.iterate(run, T)) - phi(LOWEST)
    return combine(
        (sum_over(one, steps(T), t), 1 / T),
        (derived.telescope(t, phi(x), T), c),
        (rules.assume(best * (1 / together)), c * together),
    )


LOWEST = point("lowest")
"""Where the function that is lowered is no larger than at the end."""


def bias() -> Theorem:
    """Return ``||grad f - grad phi/tau_e||^2 <= (sum_n d_n)^2 eps2`` at a point.

    d_n > 0 is at least the distance of a_n and ``w_n``.
    """
    at = point("theta")
    d = k.symbol(k.PerClient(k.ClientFamily("d", Sort.POSITIVE), n))
    D, c = mean(n, d), k.weight(n) - share / together
    g, gn = k.gradient(k.MEAN, at), k.gradient(k.Local(n), at)
    u = gn - g
    lowered = k.summed(k.CLIENTS, n, gn * (share / together))
    V = g - lowered
    both = [rules.assume(k.constant(d + way * c)) for way in (1, -1)]
    one = combine(
        (derived.heterogeneity(local.eps2, n, at), D * d / 2),
        (u * D + V, (d - c) / (4 * D)),
        (u * D - V, (d + c) / (4 * D)),
        signs=[combine((sign_, 1 / (4 * D))) for sign_ in both],
    )
    return combine(
        (sum_over(one, k.CLIENTS, n), 2),
        (rules.linear(k.CLIENTS, n, gn * c, V), -2),
        (rules.mean_gradient(at, V), -2),
        target=k.constant(D**2 * local.eps2) - k.norm2(V),
    )
