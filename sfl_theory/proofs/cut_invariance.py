"""Proposition 1 of dachille2024: one round of SFL-V1 by blocks, and summed.

The other block moves too and changes this block's gradient, so distances on the right
are of whole vectors. On top of `equal_steps`. A round of both blocks is that of han2024
for equal numbers of steps (`non_convex`), which does not use the paper's Lemma 2.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import (
    block_steps,
    derived,
    equal_steps,
    non_convex,
    sharp_rounds,
)
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.equal_steps import each_client, eta, gf, gx, noisy, r, run, tau
from sfl_theory.proofs.local_steps import N, S, eps2, i, n, now, sigma2, t
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.proofs.notation import combine, count, mean, of, steps, sum_over
from sfl_theory.proofs.sharp_rounds import Sharp

T = count("T")
own = N * k.weight(n) ** 2
kappa = mean(n, own)
sigma_w = mean(n, own * sigma2(n))
step = r.next - r.x


def eq_18(side: k.Side) -> Theorem:
    """Return (18) with whole displacements: ``<grad_b f, x' - x> <= ...``."""
    return block_steps.first_order(r, side)


def eq_19(side: k.Side) -> Theorem:
    """Return (19) with the whole gradient, by Lemma 1; summed over clients."""
    inside = sum_over(local.block_at_most(side, r.away(of(i))), steps(tau), i)
    return combine(each_client(inside), equal_steps.lemma_1())


def eq_20(side: k.Side) -> Theorem:
    """Return (20) with the whole gradient in its second term."""
    return combine(eq_18(side), (equal_steps.lemma_1(own), eta * S**2 / 2))


def moved(side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2 tau N sum a^2 sum_i ||[g_i]_b||^2``."""
    g = k.part(side, noisy(of(i)))
    G, inside = r.whole(side, noisy(of(i))), k.summed(steps(tau), i, g)
    return combine(
        (rules.update(run, side, now, k.part(side, step)), -1),
        (rules.update(run, side, now, G), eta),
        (rules.jensen(k.CLIENTS, n, ratio(1), inside * k.weight(n)), eta**2),
        (each_client(rules.jensen(steps(tau), i, ratio(1), g), own), eta**2),
        target=r.over(k.norm2(g), tau, own) * (eta**2 * tau)
        - k.norm2(k.part(side, step)),
    )


def eq_21(side: k.Side) -> Theorem:
    """Return (21) with the factor 2 of ``||u + v||^2 <= 2||u||^2 + 2||v||^2``."""
    g, first = k.part(side, noisy(of(i))), k.part(side, noisy(0))
    start = k.part(side, r.local_gradient(0))
    return combine(
        (moved(side), S / 2),
        (r.summed(local.young(first, g - first, 1), tau, own), S * eta**2 * tau / 2),
        (r.summed(centred_start(side), tau, own), S * eta**2 * tau),
        target=r.over(
            k.norm2(g - first) + k.norm2(start) + k.constant(sigma2(n)), tau, own
        )
        * (S * eta**2 * tau)
        - k.norm2(k.part(side, step)) * (S / 2),
    )


def centred_start(side: k.Side) -> Theorem:
    """Return ``||[g_0]_b||^2 <= ||[grad F_n(p_0)]_b||^2 + sigma_n^2``."""
    start, xi = k.part(side, r.local_gradient(0)), r.noise(0)
    return combine(
        (derived.unbiased(run, n, now, ratio(0), start), -2),
        local.block_at_most(side, xi),
        derived.variance(run, sigma2(n), n, now, ratio(0)),
    )


def eq_23(side: k.Side) -> Theorem:
    """Return (23) with 4 for 2 and the whole gradient; ``2 S eta tau <= 1``."""
    u2 = S**2 * eta**2 * tau**2
    gp = r.local_gradient(of(i))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    half = S * eta**2 * tau / 2
    one = combine(
        local.block_at_most(side, noisy(of(i))),
        (derived.unbiased(run, n, now, of(i), gp), -2),
        local.young(gx, gp - gx, 1),
        (near, 2),
        derived.variance(run, sigma2(n), n, now, of(i)),
    )
    size, of_F = tau * (1 + 8 * u2), tau * (2 + 16 * u2 / 3)
    return combine(
        (moved(side), S / 2),
        (r.summed(one, tau, own), half),
        (each_client(equal_steps.small_drift(), own), 2 * S**2 * half),
        (local.own_gradients(r, own), half * of_F),
        (gf, half * kappa * (4 * size - 2 * of_F)),
        target=k.norm2(gf) * (half * kappa * size * 4)
        + k.constant(half * size * (4 * kappa * eps2 + sigma_w))
        - k.norm2(k.part(side, step)) * (S / 2),
    )


# Proposition 1 of dachille2024, printed and sharper: one round of SFL-V1, summed -----

u = S * eta * tau


def small() -> Theorem:
    """Return ``1 - 16 u >= 0`` from ``eta <= 1/(16 S tau)``."""
    return combine((rules.assume(k.constant(1 / (16 * S * tau) - eta)), 16 * S * tau))


def fall() -> k.Lin:
    """Return ``f(x) - f(x')``."""
    return k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)


@cache
def one_round() -> Theorem:
    """Return (26): ``f' - f <= -eta tau/4 ||grad f||^2 + 2 K S eta^2 tau^2 ...``.

    A round of Theorem 3.6 of han2024, both sides making tau steps.
    """
    found = non_convex.equal_paces(non_convex.one_round(TwoPaces(k.Side.SERVER), 1))
    by_weights = rules.assume(k.constant(1 - 8 * S * kappa * tau * eta))
    return rules.cut(rules.cut(found, small()), combine((by_weights, tau)))


def eq_27() -> Theorem:
    """Return (27): four times (26), divided by tau, its last term doubled."""
    more = 16 * S * eta**2 * tau * (sigma_w + kappa * eps2)
    target = fall() * (4 / tau) + k.constant(more) - k.norm2(gf) * eta
    return combine((one_round(), 4 / tau), target=target)


CONSTANTS = ("2.01", "1.08", "0.38", "0.57")
"""Of the gap, of noise at second order, of heterogeneity and noise at third."""


def averaged(one: Theorem, factor: Number) -> Theorem:
    """Return a bound on a round's gradient, summed over rounds, times factor/T."""
    ends = derived.telescope(t, k.value_of(k.MEAN, r.x), T)
    last = derived.lowest(k.MEAN, k.iterate(run, T))
    c = ratio(factor) / T
    return combine((sum_over(one, steps(T), t), 1 / T), (ends, c), (last, c))


def proposition_1() -> Theorem:
    """Return (6), as printed."""
    return averaged(eq_27(), 4 / tau)


def sharper() -> Theorem:
    """Return the sharper average, `sharp_rounds.one_round` to two decimals."""
    two, single, het, noise = map(Fraction, CONSTANTS)
    bound = (
        single * S * eta**2 * mean(n, k.weight(n) ** 2 * sigma2(n))
        + het * S**2 * eta**3 * tau**2 * eps2
        + noise * S**2 * eta**3 * tau * mean(n, k.weight(n) * sigma2(n))
    )
    a, factor = Sharp(k.Kind.V1, limit=Fraction(16)), two / tau
    one = combine(
        (rules.cut(sharp_rounds.one_round(a), small()), factor),
        (gf, eta * (two * (1 - a.lost) / 2 - 1)),
        target=fall() * factor + k.constant(bound) - k.norm2(gf) * eta,
    )
    return averaged(one, factor)


def half_rate() -> Theorem:
    """Return ``eta <= 1/(2 S tau)`` from the condition of Proposition 1."""
    target = k.constant(1 / (2 * S * tau) - eta)
    first = rules.assume(k.constant(1 / (16 * S * tau) - eta))
    return combine(first, target=target)


def eighth_rate() -> Theorem:
    """Return ``8 S^2 eta^2 tau^2 <= 1`` from it."""
    return combine((small(), (1 + 16 * u) / 32), target=k.constant(1 - 8 * u**2))
