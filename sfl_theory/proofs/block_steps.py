"""One round of SFL-V1, block by block, in the order of App. D.3 and F.3 of han2024.

What is true of its steps: where the paper has a block's own move or gradient, smooth
functions need those of the whole vector, for a block's gradient changes when the other
block moves. Every lemma holds for any weights and any numbers of steps, and where
clients are drawn: local points of SFL-V1 do not depend on who takes part.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, direction
from sfl_theory.proofs import derived, non_convex, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.local_steps import N, Round, S, eps2, i, n, now, sigma2, young
from sfl_theory.proofs.non_convex import TwoPaces, deviation, one_round
from sfl_theory.proofs.non_convex import drift as weighted_drift
from sfl_theory.proofs.notation import combine, mean, of, sign, steps, sum_over

v_n = notation.per_client("v", n)
"""Any weights >= 0: a sum with them is an inequality for each client."""


def factor(r: Round, side: k.Side) -> Ratio:
    """Return by what a side's steps are weighted: a_n, or 1 on the server of SFL-V2."""
    unweighted = r.run.kind is k.Kind.V2 and side is k.Side.SERVER
    return ratio(1) if unweighted else k.weight(n)


def spread(r: Round, side: k.Side) -> Ratio:
    """Return the mean square of what a side's steps are weighted by, w_n^2 E J_n^2."""
    own = factor(r, side) ** 2
    return own * notation.inverse_q(n) if r.run.drawn else own


def total(r: Round, side: k.Side, each: k.Vec, w: Ratio | None = None) -> k.Vec:
    """Return ``sum_n w_n sum_{i<tau_b} each``, the side's block."""
    inside = k.part(side, k.summed(steps(r.steps(side)), i, each))
    return k.summed(k.CLIENTS, n, inside * (factor(r, side) if w is None else w))


def drawn(r: Round, side: k.Side, each: k.Vec) -> k.Vec:
    """Return the same with the draws, ``w_n J_n`` for ``w_n``."""
    return total(r, side, each, rules.share(r.run, n, now, side))


def averaged(r: Round, form: k.Lin, c: Number) -> list[tuple[Theorem, Number]]:
    """Return c times: a form is its mean over who takes part; none without draws."""
    return [(derived.expect(r.run, now, form), c)] if r.run.drawn else []


def pull(r: Round, side: k.Side) -> Theorem:
    """Return ``<grad_b f, x' - x> = -eta <grad_b f, M>``, M without draws and noise."""
    g, tau = r.gradient, r.steps(side)
    M = total(r, side, r.local_gradient(of(i)))
    means = averaged(r, k.inner(direction(r.run, now, side), g), -r.rate(side))
    return combine(
        rules.update(r.run, side, now, g),
        *means,
        (local.centred(r, side, g, tau, factor(r, side)), -r.rate(side)),
        target=k.inner(k.part(side, g), r.next - r.x) + k.inner(M, g) * r.rate(side),
    )


def apart(r: Round, side: k.Side, upper: Number) -> Theorem:
    """Return ``sum_i ||[grad F_n(x) - grad F_n(p)]_b||^2 <= S^2 sum_i ||p - x||^2``."""
    change = r.own_gradient() - r.local_gradient(of(i))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    return sum_over(local.block_below(side, change, near), steps(upper), i)


def first_order(r: Round, side: k.Side) -> Theorem:
    """Return (78) with the whole vector's move on the right."""
    tau, eta = r.steps(side), r.eta
    M = r.whole(side, r.local_gradient(of(i)))
    own, b = N * k.weight(n) ** 2, N * spread(r, side)
    near = sum_over(apart(r, side, tau), k.CLIENTS, n, own)
    more = r.summed(combine((r.away(of(i)), 1)), tau, b - own)
    return combine(
        (pull(r, side), -1),
        (local.mean_deviation(r, side), eta / (2 * tau)),
        (near, eta / 2),
        (more, eta * S**2 / 2),
        (M, eta / (2 * tau)),
        target=r.drift(tau, b) * (eta * S**2 / 2)
        - k.norm2(k.part(side, r.gradient)) * (eta * tau / 2)
        - k.inner(k.part(side, r.gradient), r.next - r.x),
    )


def own_gradient(r: Round) -> Theorem:
    """Return ``||grad F_n(x)||^2 <= 2 ||grad f(x)||^2 + 2 eps2``."""
    g, gx = r.gradient, r.own_gradient()
    near = derived.heterogeneity(eps2, n, r.x)
    return combine(young(g, gx - g, 1), (near, 2))


def drift_of(p: TwoPaces, side: k.Side, small: Theorem, c: Number) -> Theorem:
    """Return ``D_n <= c (2 theta H ||grad F_n(x)||^2 + theta sigma_n^2)``.

    D_n = sum_{i<H} ||p_i - x||^2, H the side's steps, theta = eta^2 H (H - 1); `small`
    is ``1 - times (S eta H)^2 >= 0``, for which c (1 - 4/times) = 1.
    """
    r, H = p.round, p.round.steps(side)
    theta, gx = r.eta**2 * H * (H - 1), r.own_gradient()
    one = _near_gradients(r, H)
    D = k.summed(steps(H), i, k.norm2(r.away(of(i))))
    spare = c * (1 - 2 * theta * S**2) - 1
    bound = k.norm2(gx) * (2 * H) + k.constant(sigma2(n))
    return combine(
        (non_convex.one_client_drift(p, side), c),
        (one, c * theta),
        (sum_over(combine((r.away(of(i)), 1)), steps(H), i), spare),
        target=bound * (c * theta) - D,
        signs=[sign(spare, (small, ratio(c) - 1))],
    )


def _near_gradients(r: Round, upper: Ratio) -> Theorem:
    """Return ``sum_i ||gp||^2 <= 2 upper ||gx||^2 + 2 S^2 D_n``."""
    gx, gp = r.own_gradient(), r.local_gradient(of(i))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    one = combine(young(gx, gp - gx, 1), (near, 2))
    return sum_over(one, steps(upper), i)


def small(p: TwoPaces, side: k.Side, times: int) -> Theorem:
    """Return ``times (S eta tau_b)^2 <= 1``, an assumption."""
    return rules.assume(_small(p.round, side, times))


def _small(r: Round, side: k.Side, times: int) -> k.Lin:
    return k.constant(1 - times * (S * r.eta * r.steps(side)) ** 2)


@cache
def drift_by_mean(p: TwoPaces, side: k.Side) -> Theorem:
    """Return ``D_n <= 16 tau_b^3 eta^2 (sigma_n^2 + eps2 + ||grad f||^2)``, for each n.

    The step size is that of Lemma C.6, ``8 (S eta tau_b)^2 <= 1``.
    """
    r, H, c = p.round, p.round.steps(side), Fraction(4, 3)
    theta, most, g = r.eta**2 * H * (H - 1), 16 * H**3 * r.eta**2, r.gradient
    spare = 4 * H * c * theta
    D = k.summed(steps(H), i, k.norm2(r.away(of(i))))
    return combine(
        drift_of(p, side, small(p, side, 8), c),
        (own_gradient(r), 2 * H * c * theta),
        (g, most - spare),
        target=(k.norm2(g) + k.constant(sigma2(n) + eps2)) * most - D,
    )


def drift(p: TwoPaces, side: k.Side) -> Theorem:
    """Return (79) with the whole vector's move and gradient, for each client."""
    return sum_over(drift_by_mean(p, side), k.CLIENTS, n, v_n)


def first_order_closed(p: TwoPaces, side: k.Side) -> Theorem:
    """Return (80) or (84) with the whole gradient behind eta^3."""
    r = p.round
    moved = sum_over(drift_by_mean(p, side), k.CLIENTS, n, N * spread(r, side))
    return combine(first_order(r, side), (moved, r.eta * S**2 / 2))


def first(r: Round) -> k.Vec:
    """Return ``g_n^t``: the gradient at x(t) with the noise of the first step."""
    return r.own_gradient() + r.noise(0)


def total_size(r: Round, side: k.Side, each: k.Vec) -> Theorem:
    """Return ``||sum w_n J_n sum_i u||^2 <= N tau_b sum w_n^2/q_n sum_i ||u||^2``."""
    tau, w, block = r.steps(side), rules.share(r.run, n, now, side), k.part(side, each)
    own = k.summed(steps(tau), i, block)
    clients = rules.jensen(k.CLIENTS, n, ratio(1), own * w)
    means = averaged(r, k.summed(k.CLIENTS, n, k.norm2(own) * w**2), -N)
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    more = sum_over(inside, k.CLIENTS, n, N * spread(r, side))
    return combine(clients, *means, more)


def moved(r: Round, side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 = eta_b^2 ||sum_n w_n J_n sum_i g||^2``."""
    step = k.part(side, r.next - r.x)
    G = drawn(r, side, r.local_gradient(of(i)) + r.noise(of(i)))
    return combine(
        rules.update(r.run, side, now, step),
        (rules.update(r.run, side, now, G), -r.rate(side)),
        target=k.norm2(step) - k.norm2(G) * r.rate(side) ** 2,
    )


def step_size(r: Round, side: k.Side) -> Theorem:
    """Return ``||g_i||^2 <= 2 ||g_i - g||^2 + 2 ||grad F_n(x)||^2 + 2 sigma_n^2``."""
    g_0, gx, xi = first(r), r.own_gradient(), r.noise(0)
    b_i, b_0 = k.part(side, r.local_gradient(of(i)) + r.noise(of(i))), k.part(side, g_0)
    zero = ratio(0)
    var = combine(
        (derived.unbiased(r.run, n, now, zero, k.part(side, gx)), -2),
        derived.variance(r.run, sigma2(n), n, now, zero),
        rules.blocks(xi, xi),
        (k.part(local.other(side), xi), 1),
        target=k.norm2(k.part(side, gx)) + k.constant(sigma2(n)) - k.norm2(b_0),
    )
    return combine(young(b_i - b_0, b_0, 1), (var, 2))


def second_order(r: Round, side: k.Side) -> Theorem:
    """Return twice (81), from Young's inequality with factor 2."""
    tau, g_i = r.steps(side), r.local_gradient(of(i)) + r.noise(of(i))
    each = r.summed(step_size(r, side), tau, N * tau * spread(r, side))
    half = S * r.eta**2 / 2
    return combine(
        (moved(r, side), -S / 2), (total_size(r, side, g_i), half), (each, half)
    )


def change_of_gradient(r: Round, side: k.Side) -> Theorem:
    """Return ``sum_i ||[g_i - g]_b||^2 <= 2 S^2 D_n + 3 tau_b sigma_n^2``, i < tau_b.

    Noises of different steps are orthogonal; step 0 has that of g.
    """
    H, gx = r.steps(side), r.own_gradient()
    change = k.part(side, r.local_gradient(of(i)) + r.noise(of(i)) - first(r))
    away, after = r.away(of(i)), of(i) + 1

    def far(step: Ratio) -> k.Vec:
        return k.part(side, r.local_gradient(step) - gx)

    def near(step: Ratio) -> Theorem:
        apart = r.local_gradient(step) - gx
        lipschitz = derived.lipschitz(k.Local(n), S, r.x, r.point(step))
        return local.block_below(side, apart, lipschitz)

    def noisy(step: Ratio) -> Theorem:
        var = derived.variance(r.run, sigma2(n), n, now, step)
        return local.block_below(side, r.noise(step), var)

    old = k.part(side, r.noise(0))
    fixed = far(after) - old
    later = combine(
        (derived.unbiased(r.run, n, now, after, fixed), -2),
        young(far(after), -old, 1),
        (near(after), 2),
        (noisy(ratio(0)), 2),
        noisy(after),
    )
    S2 = S**2
    return combine(
        (rules.split(i, k.norm2(change), ratio(1), H - 1), -1),
        (rules.split(i, k.norm2(away), ratio(1), H - 1), 2 * S2),
        sum_over(later, steps(H - 1), i),
        near(ratio(0)),
        (r.away(0), S2),
        target=k.summed(steps(H), i, k.norm2(away)) * (2 * S2)
        + k.constant(3 * H * sigma2(n))
        - k.summed(steps(H), i, k.norm2(change)),
    )


def change_closed(p: TwoPaces, side: k.Side) -> Theorem:
    """Return (82) with ``3 tau_b sigma_n^2`` and the whole gradient, for each client.

    The step size is that of Lemma C.7, ``4 (S eta tau_b)^2 <= 1``.
    """
    r, H, gx = p.round, p.round.steps(side), p.round.own_gradient()
    change = k.part(side, r.local_gradient(of(i)) + r.noise(of(i)) - first(r))
    theta, most = r.eta**2 * H * (H - 1), 8 * H**3 * r.eta**2 * S**2
    bound = (k.norm2(gx) + k.constant(sigma2(n))) * most + k.constant(3 * H * sigma2(n))
    one = combine(
        change_of_gradient(r, side),
        (drift_of(p, side, small(p, side, 4), 2), 2 * S**2),
        (gx, most - 8 * S**2 * theta * H),
        target=bound - k.summed(steps(H), i, k.norm2(change)),
    )
    return sum_over(one, k.CLIENTS, n, v_n)


def block_noise(r: Round, side: k.Side) -> Theorem:
    """Return ``||sum_n w_n J_n sum_i xi||^2 <= tau_b sum_n w_n^2/q_n sigma_n^2``."""
    tau, w, xi = r.steps(side), rules.share(r.run, n, now, side), r.noise(of(i))
    apart = derived.independent(r.run, n, i, w, now, tau, side)
    var = derived.variance(r.run, sigma2(n), n, now, of(i))
    one = local.block_below(side, xi, var)
    means = averaged(r, k.constant(mean(n, w**2 * sigma2(n))), -tau)
    return combine(apart, r.summed(one, tau, w**2), *means)


def block_gradients(r: Round, side: k.Side) -> Theorem:
    """Return ``sum_i ||[gp]_b||^2 <= 3 tau_b (||grad_b f||^2 + eps2) + 3 S^2 D_n``."""
    tau, g, gx = r.steps(side), r.gradient, r.own_gradient()
    gp, far = r.local_gradient(of(i)), gx - g
    half, rest = Fraction(1, 2), k.part(local.other(side), far)
    own = combine(
        young(k.part(side, g), k.part(side, far), 1),
        (derived.heterogeneity(eps2, n, r.x), 2),
        (rules.blocks(far, far), 2),
        (rest, 2),
    )
    near = k.part(side, gp - gx)
    one = combine(young(k.part(side, gx), near, half), (own, 1 + half))
    return combine(sum_over(one, steps(tau), i), (apart(r, side, tau), 3))


def second_order_closed(p: TwoPaces, side: k.Side) -> Theorem:
    """Return 5/2 times (83) or (85), with the whole gradient behind eta^4."""
    r, H, g = p.round, p.round.steps(side), p.round.gradient
    half, b = S * r.eta**2 / 2, N * spread(r, side)
    M, Z = drawn(r, side, r.local_gradient(of(i))), drawn(r, side, r.noise(of(i)))
    theta, c = r.eta**2 * H * (H - 1), Fraction(2, 3)
    one = combine(
        block_gradients(r, side),
        (drift_of(p, side, small(p, side, 8), Fraction(4, 3)), 3 * S**2),
        (own_gradient(r), 8 * S**2 * theta * H),
    )
    all_of_them = half * (1 + c) * H
    u2 = (S * r.eta * H) ** 2
    of_g = 40 * half * H**2 * u2 - 16 * S**2 * theta * H * all_of_them

    noise = k.constant(2 * eps2 + sigma2(n))
    bracket = (k.norm2(k.part(side, g)) * 2 + noise) * H
    bracket = bracket + (k.norm2(g) * 2 + noise) * (8 * H * u2)
    target = k.summed(k.CLIENTS, n, bracket * (b * half * H * Fraction(5, 2)))
    step = k.part(side, r.next - r.x)
    return combine(
        (moved(r, side), -S / 2),
        (young(M, Z, c), half),
        (block_noise(r, side), half * (1 + 1 / c)),
        (total_size(r, side, r.local_gradient(of(i))), half * (1 + c)),
        (sum_over(one, k.CLIENTS, n, b), all_of_them),
        (g, of_g * mean(n, b)),
        target=target - k.norm2(step) * (S / 2),
    )


def decomposition(r: Round) -> Theorem:
    """Return ``f(x') - f(x) <= sum_b <grad_b f, x' - x> + S/2 ||[x' - x]_b||^2``."""
    step, g = r.next - r.x, r.gradient
    return combine(
        smooth_mean(S, r.x, r.next),
        (rules.blocks(g, step), -1),
        (rules.blocks(step, step), -S / 2),
    )


# One round of SFL-V1 from both blocks, as (86) to (88) and (153), (154) of han2024


def both_blocks(r: Round) -> k.Lin:
    """Return ``sum_b <grad_b f, x' - x> + S/2 ||[x' - x]_b||^2``."""
    step, out = r.next - r.x, k.Lin({})
    for side in k.Side:
        block = k.part(side, step)
        out = out + k.inner(k.part(side, r.gradient), block) + k.norm2(block) * (S / 2)
    return out


def superposition(p: TwoPaces) -> Theorem:
    """Return (86) for the sum of the blocks' moves, ``8 (S eta tau_max)^2 <= 1``.

    Not by adding its printed steps, which are false: ``-eta/(2 tau_b) ||M_b||^2`` from
    the first order pays for the second.
    """
    r, H, b, eta = p.round, p.high, p.b, p.round.eta
    theta, S2, g = eta**2 * H * (H - 1), S**2, r.gradient
    lam, is_small = Fraction(2, 3) * eta * S2, small(p, p.longer, 8)
    D_left = lam * (1 - 2 * theta * S2) - eta * S2 / 2
    of_F = lam * theta * 2 * H
    signs = [sign(D_left, (is_small, eta * S2 / 6))]
    uses: list[tuple[Theorem, Number]] = [
        (deviation(p), eta / 2),
        (weighted_drift(p), lam),
        (local.local_gradients(r, H, b, 1), lam * theta),
        (local.own_gradients(r, b), of_F),
        (r.summed(combine((r.away(of(i)), 1)), H, b), D_left),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    right, A, noise = k.Lin({}), mean(n, k.weight(n) ** 2), 2 * eps2 + sigma2(n)
    for side in k.Side:
        tau = r.steps(side)
        M, Z = (total(r, side, e) for e in (r.local_gradient(of(i)), r.noise(of(i))))
        u, half = S * eta * tau, S * eta**2 / 2
        m_left = eta / (4 * tau) - half
        square = rules.square(1 - 2 * u)
        below = sign(1 - 2 * u, (square, Fraction(1, 2)), (is_small, Fraction(1, 2)))
        signs.append(sign(m_left, (below, eta / (4 * tau))))
        uses += [
            (pull(r, side), -1),
            (moved(r, side), -S / 2),
            (young(M, Z, 1 / (2 * u)), half),
            (block_noise(r, side), half * (1 + 2 * u)),
        ]
        squares += [(M, m_left), (k.part(side, g), eta * (tau - p.low) / 2)]
        own = mean(n, k.weight(n) ** 2 * (sigma2(n) + eps2))
        twice = mean(n, k.weight(n) ** 2 * noise) * (1 + 8 * u**2) * tau**2
        right = right + k.constant(
            8 * N * eta**3 * S2 * tau**3 * own + N * half * twice
        )
    u = S * eta * H
    of_g = 8 * N * eta * H * A * u**2 + N * eta * u * H * A * (1 + 8 * u**2)
    squares.append((g, of_g - 2 * p.kappa * of_F))
    uses.append((rules.blocks(g, g), -eta * p.low / 2))
    target = right + k.norm2(g) * (of_g - eta * p.low / 2) - both_blocks(r)
    return combine(*uses, *squares, target=target, signs=signs)


def descent(p: TwoPaces) -> Theorem:
    """Return (87) or (153), end to end."""
    return combine(one_round(p))


def rearranged(p: TwoPaces) -> Theorem:
    """Return (88) or (154)."""
    return combine((descent(p), 4 / p.low))
