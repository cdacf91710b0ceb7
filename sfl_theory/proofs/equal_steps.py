"""Rounds of SFL-V1 in which both sides make tau steps; its view as FedAvg.

What speaks of one client is summed with arbitrary weights ``c_n >= 0``, so it holds for
each of them.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import block_steps, derived, non_convex, notation, sharp_rounds
from sfl_theory.proofs import local_recursion as recursion
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import (
    N,
    Round,
    S,
    eps2,
    i,
    j,
    n,
    now,
    sigma2,
    t,
    young,
)
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    mean,
    of,
    rates,
    steps,
    sum_over,
)
from sfl_theory.proofs.sharp_rounds import Sharp

HALF = Fraction(1, 2)
r, LAST = recursion.R, k.Var("i", Sort.COUNT)
tau = notation.count("tau")
eta, run = r.eta, r.run
gx, gf = r.own_gradient(), r.gradient
c = notation.per_client("c", n)


def noisy(step: Number) -> k.Vec:
    """Return ``g_n^step``."""
    return r.local_gradient(step) + r.noise(step)


def each_client(theorem: Theorem, factor: Number = c) -> Theorem:
    """Return the sum over clients."""
    return sum_over(theorem, k.CLIENTS, n, factor)


def local_steps(form: k.Lin) -> k.Lin:
    """Return the sum over a round's steps."""
    return k.summed(steps(tau), i, form)


def next_one(theorem: Theorem) -> Theorem:
    """Return a theorem that leads to step i >= 1 for step i + 1."""
    return rules.instantiate(theorem, ((LAST, of(i) + 1),), ())


def small_drift() -> Theorem:
    """Return ``D <= 8/3 eta^2 tau^3 ||gx||^2 + 2 eta^2 tau^2 sigma^2``.

    D is a client's ``sum_i ||p_i - x||^2``; for ``2 S eta tau <= 1``.
    """
    u = S * eta * tau
    half = rules.assume(k.constant(1 - 2 * u))
    square = combine((half, 1 + 2 * u), target=k.constant(1 - 4 * u**2))
    size = k.norm2(gx) * (8 * eta**2 * tau**3 / 3)
    noise = k.constant(2 * eta**2 * tau**2 * sigma2(n))
    found = recursion.drift_bound(4, 1, 1, HALF)
    return rules.cut(
        combine(
            found,
            (gx, 4 * eta**2 * tau * (3 * tau - 1) / 3),
            target=size + noise - local_steps(k.norm2(r.away(of(i)))),
        ),
        square,
    )


def lemma_1(factor: Number = c) -> Theorem:
    """Return ``D <= 16 eta^2 tau^3 (sigma^2 + eps2 + ||grad f||^2)``, summed.

    For ``8 S^2 eta^2 tau^2 <= 1``: Lemma C.6 of han2024.
    """
    return each_client(recursion.lemma_c6(), factor)


def eq_8() -> Theorem:
    """Return (8): Young with 1/tau, then four squares; summed over clients."""
    return each_client(next_one(recursion.heterogeneous_recursion()))


def sharper_step() -> Theorem:
    """Return more than (8): the noise is orthogonal to what came before its step."""
    small = rules.assume(k.constant(1 - 8 * S**2 * tau**2 * eta**2))
    a = r.away(of(i))
    apart, foreign, eta2 = r.local_gradient(of(i)) - gx, gx - gf, eta**2
    before = a - r.local_gradient(of(i)) * eta
    size = 6 * tau * eta2
    pairs = ((apart, foreign), (apart, gf), (foreign, gf))
    one = combine(
        next_one(recursion.one_step()),
        (derived.unbiased(run, n, now, of(i), before), 2 * eta),
        (derived.variance(run, sigma2(n), n, now, of(i)), eta2),
        (derived.lipschitz(k.Local(n), S, r.x, r.point(of(i))), size),
        (derived.heterogeneity(eps2, n, r.x), size),
        (a + r.local_gradient(of(i)) * (eta * tau), 1 / tau),
        (r.local_gradient(of(i)), (tau - 1) * eta2),
        *((u - v, 2 * tau * eta2) for u, v in pairs),
        (a, 1 / tau - size * S**2),
        target=k.norm2(a) * (1 + 2 / tau)
        + k.constant(eta2 * sigma2(n) + size * eps2)
        + k.norm2(gf) * size
        - k.norm2(r.away(of(i) + 1)),
        signs=[combine((small, 1 / tau))],
    )
    return each_client(one)


def gradient_change(late: Number, early: Number, side: k.Side | None = None) -> Theorem:
    """Return ``||g_l - g_e||^2 <= 2 S^2 ||p_l - p_e||^2 + 3 sigma^2``, or its block.

    The later noise is orthogonal to the rest; the earlier one is not: it moved p_l.
    """
    apart = r.local_gradient(late) - r.local_gradient(early)
    one, two, rest = r.noise(late), r.noise(early), apart - r.noise(early)
    moment = derived.variance(run, sigma2(n), n, now, ratio(late))
    other = derived.variance(run, sigma2(n), n, now, ratio(early))
    near = derived.lipschitz(k.Local(n), S, r.point(late), r.point(early))
    centred = derived.unbiased(run, n, now, ratio(late), rest)
    change = noisy(late) - noisy(early)
    whole = combine(
        (centred, -2),
        young(apart, -two, 1),
        (near, 2),
        moment,
        (other, 2),
        target=k.norm2(r.point(late) - r.point(early)) * (2 * S**2)
        + k.constant(3 * sigma2(n))
        - k.norm2(one + rest),
    )
    return whole if side is None else combine(whole, local.block_at_most(side, change))


def block(side: k.Side | None, u: k.Vec) -> k.Vec:
    """Return a block of a vector, or all of it."""
    return u if side is None else k.part(side, u)


def at_start(w: k.Vec) -> Theorem:
    """Return ``<p_0 - x, w> = 0``: a sum of no steps."""
    moved = r.away(0)
    uses: list[tuple[Theorem, Number]] = [
        (rules.blocks(moved, w), 1),
        *((derived.local_update(run, n, now, ratio(0), side, w), 1) for side in k.Side),
    ]
    return combine(*uses, target=k.inner(r.away(0), w))


def after_first(u: k.Vec, own: Theorem) -> Theorem:
    """Return a bound on ``sum_{i<tau} ||u(i)||^2``, u(0) = 0, from one on u(1+i)."""
    parts = rules.split(i, k.norm2(u), ratio(1), tau - 1)
    later = sum_over(own, steps(tau - 1), i)
    return combine((parts, -1), later)


def change_of_gradients(side: k.Side | None = None) -> Theorem:
    """Return Lemma 2 with the noise that it forgets, for a client.

    ``sum_i ||g_i - g_0||^2 <= 8 u^2 tau (||gx||^2 + sigma^2) + 3 tau sigma^2`` where
    ``2 u <= 1``, ``u = S eta tau``; on the left a block if one is named.
    """
    size = 8 * S**2 * eta**2 * tau**3
    change, away = block(side, noisy(of(i)) - noisy(0)), r.away(of(i))
    up = 1 + of(i)
    seen = r.point(up) * 2 - r.point(0) - r.x
    own = combine(gradient_change(up, 0, side), (at_start(seen), 2 * S**2))
    each = combine((away, 1))
    rest = combine(
        rules.split(i, k.norm2(away), ratio(1), tau - 1), sum_over(each, steps(1), i)
    )
    return combine(
        after_first(change, own),
        (rest, 2 * S**2),
        (small_drift(), 2 * S**2),
        (gx, size / 3),
        target=k.norm2(gx) * size
        + k.constant((size + 3 * tau) * sigma2(n))
        - local_steps(k.norm2(change)),
    )


# SFL-V1 as FedAvg: whole vectors make local steps, their mean is the next model ------


def step() -> Theorem:
    """Return ``p_{i+1} = p_i - eta g_i``, summed over clients."""
    apart = recursion.away - recursion.STEP
    one = combine(recursion.step_back(-apart), target=-k.norm2(apart))
    return each_client(next_one(one))


def aggregation() -> Theorem:
    """Return ``x' = sum_n a_n p_n^tau``."""
    ends = k.summed(k.CLIENTS, n, r.point(tau) * k.weight(n))
    w = r.next - ends
    g, binder = noisy(of(j)), steps(tau)
    moved = r.away(tau) + k.summed(binder, j, g) * eta
    one = local.walked(run, now, tau, w)
    outer = rules.linear(k.CLIENTS, n, moved * k.weight(n), w)
    return combine(
        (local.whole_update(r, w), -1),
        each_client(one, k.weight(n)),
        outer,
        target=-1 * k.norm2(w),
    )


def single_step(side: k.Side) -> Theorem:
    """Return ``[x' - x + eta sum_n a_n g_n^0]_b = 0`` for rounds of one step."""
    only = Round(equal_paces(k.Kind.V1, 1, rates("eta")))
    first = k.part(side, only.local_gradient(ratio(0)) + only.noise(ratio(0)))
    z = (
        k.part(side, only.next - only.x)
        + k.summed(k.CLIENTS, n, first * k.weight(n)) * eta
    )
    return combine((rules.update(only.run, side, now, z), -1), target=-1 * k.norm2(z))


# Proposition 1 of dachille2024: a round by blocks, and summed -------------------------
# The other block moves too and changes this block's gradient, so distances on the right
# are of whole vectors. A round of both blocks is that of han2024 for equal numbers of
# steps (`non_convex`), which does not use the paper's Lemma 2.

T = count("T")
own = N * k.weight(n) ** 2
kappa = mean(n, own)
sigma_w = mean(n, own * sigma2(n))
whole_move = r.next - r.x


def eq_18(side: k.Side) -> Theorem:
    """Return (18) with whole displacements: ``<grad_b f, x' - x> <= ...``."""
    return block_steps.first_order(r, side)


def eq_19(side: k.Side) -> Theorem:
    """Return (19) with the whole gradient, by Lemma 1; summed over clients."""
    inside = sum_over(local.block_at_most(side, r.away(of(i))), steps(tau), i)
    return combine(each_client(inside), lemma_1())


def eq_20(side: k.Side) -> Theorem:
    """Return (20) with the whole gradient in its second term."""
    return combine(eq_18(side), (lemma_1(own), eta * S**2 / 2))


def moved(side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2 tau N sum a^2 sum_i ||[g_i]_b||^2``."""
    g = k.part(side, noisy(of(i)))
    G, inside = r.whole(side, noisy(of(i))), k.summed(steps(tau), i, g)
    return combine(
        (rules.update(run, side, now, k.part(side, whole_move)), -1),
        (rules.update(run, side, now, G), eta),
        (rules.jensen(k.CLIENTS, n, ratio(1), inside * k.weight(n)), eta**2),
        (each_client(rules.jensen(steps(tau), i, ratio(1), g), own), eta**2),
        target=r.over(k.norm2(g), tau, own) * (eta**2 * tau)
        - k.norm2(k.part(side, whole_move)),
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
        - k.norm2(k.part(side, whole_move)) * (S / 2),
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
        (each_client(small_drift(), own), 2 * S**2 * half),
        (local.own_gradients(r, own), half * of_F),
        (gf, half * kappa * (4 * size - 2 * of_F)),
        target=k.norm2(gf) * (half * kappa * size * 4)
        + k.constant(half * size * (4 * kappa * eps2 + sigma_w))
        - k.norm2(k.part(side, whole_move)) * (S / 2),
    )


# Proposition 1 of dachille2024, printed and sharper: one round of SFL-V1, summed -----

u = S * eta * tau


def small() -> Theorem:
    """Return ``1 - 16 u >= 0`` from ``eta <= 1/(16 S tau)``."""
    return combine((rules.assume(k.constant(1 / (16 * S * tau) - eta)), 16 * S * tau))


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
    target = r.fall * (4 / tau) + k.constant(more) - k.norm2(gf) * eta
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
        target=r.fall * factor + k.constant(bound) - k.norm2(gf) * eta,
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
