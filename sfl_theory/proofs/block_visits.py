"""One round of SFL-V2 as printed, unweighted server steps, as App. E.3 of han2024 goes.

Any order of the visits. The drift is that of all clients together, for each client's
points contain every step that others have made before. The server follows
``sum_n grad F_n``, which is N grad f where the weights are equal; nothing else needs
equal weights.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import block_steps, derived, drawn_visits, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import factor, moved, own_gradient, pull, total
from sfl_theory.proofs.drawn_visits import Drawn
from sfl_theory.proofs.local_steps import N, S, eps2, i, n, now, sigma2, young
from sfl_theory.proofs.notation import combine, count, mean, of, sign, steps, sum_over

tau, T = count("tau"), count("T")
ROUND_T = local.Round(notation.equal_paces(k.Kind.V2, tau, notation.rates("eta")))
sigmas = mean(n, sigma2(n))
ALL, HALF = Drawn(k.Participants.EVERYONE), Fraction(1, 2)


def all_steps(theorem: Theorem, scale: Number = 1) -> Theorem:
    """Return the theorem summed over steps and clients."""
    return ROUND_T.summed(theorem, tau, scale)


def total_drift() -> k.Lin:
    """Return ``D = sum_n sum_i ||p_i - x||^2``."""
    return ROUND_T.drift(tau, 1)


@cache
def drift() -> Theorem:
    """Return ``D <= 2 eta^2 tau^2 (N^2 Gamma + (N + 1/2) sum_n sigma_n^2)``.

    Gamma = sum_n sum_i ||gp_i||^2.
    """
    r, side = ROUND_T, k.Side.CLIENT
    gp, xi, away = r.local_gradient(of(i)), r.noise(of(i)), r.away(of(i))
    size = 2 * r.eta**2
    var = derived.variance(r.run, sigma2(n), n, now, of(i))
    return combine(
        (all_steps(local.both_parts(away)), -1),
        drawn_visits.client_drift(ALL),
        drawn_visits.server_drift(ALL),
        (all_steps(local.both_parts(gp)), size * N**2 * tau**2),
        (all_steps(combine((k.part(side, gp), 1))), size * tau**2 * (N**2 - HALF)),
        (all_steps(local.block_below(k.Side.SERVER, xi, var)), size * N * tau),
        target=r.over(k.norm2(gp), tau, 1) * (size * N**2 * tau**2)
        + k.constant(size * (N + HALF) * tau**2 * sigmas)
        - total_drift(),
    )


def small(times: int) -> Theorem:
    """Return ``times (S eta N tau)^2 <= 1``, an assumption."""
    return rules.assume(k.constant(1 - times * (S * ROUND_T.eta * N * tau) ** 2))


@cache
def drift_closed(short: Theorem | None = None) -> Theorem:
    """Return ``D <= 8 eta^2 N^2 tau^3 sum ||gx||^2 + 6 eta^2 N tau^2 sum sigma_n^2``.

    For `short`, which is ``8 (S eta N tau)^2 <= 1``, an assumption if left out.
    """
    r = ROUND_T
    gx, gp = r.own_gradient(), r.local_gradient(of(i))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    one = combine(young(gx, gp - gx, 1), (near, 2))
    theta = 2 * r.eta**2 * N**2 * tau**2
    spare = 1 - 4 * theta * S**2
    positive = all_steps(combine((r.away(of(i)), 1)))
    own = k.summed(k.CLIENTS, n, k.norm2(gx))
    return combine(
        (drift(), 2),
        (all_steps(one), 2 * theta),
        (positive, spare),
        target=own * (4 * theta * tau)
        + k.constant(6 * r.eta**2 * N * tau**2 * sigmas)
        - total_drift(),
        signs=[sign(spare, (short or small(8), 1))],
    )


@cache
def drift_by_mean() -> Theorem:
    """Return ``D <= 16 N^2 tau^3 eta^2 sum_n (sigma_n^2 + eps2 + ||grad f||^2)``."""
    r = ROUND_T
    own, most = sum_over(own_gradient(r), k.CLIENTS, n), 16 * N**2 * tau**3 * r.eta**2
    bound = k.norm2(r.gradient) * N + k.constant(sigmas + N * eps2)
    return combine(drift_closed(), (own, most / 2), target=bound * most - total_drift())


def toward_mean(side: k.Side) -> tuple[Theorem, Ratio]:
    """Return ``||W tau grad_b f - M_b||^2 <= W tau sum_n w_n sum_i ||[gx - gp]_b||^2``.

    And W, the sum of the side's weights w_n: 1 for the clients, N for the server.
    """
    r, w = ROUND_T, factor(ROUND_T, side)
    block, W = k.part(side, r.own_gradient() - r.local_gradient(of(i))), mean(n, w)
    clients = rules.jensen(k.CLIENTS, n, w, k.summed(steps(tau), i, block))
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    M = total(r, side, r.local_gradient(of(i)))
    own = k.part(side, k.summed(k.CLIENTS, n, r.own_gradient() * w)) * tau
    mean_ = k.part(side, r.gradient) * (W * tau)
    uses: list[tuple[Theorem, Number]] = [
        (clients, 1),
        (sum_over(inside, k.CLIENTS, n, W * w), 1),
    ]
    for direction in (mean_ - M, own - M):
        if side is k.Side.CLIENT:
            uses.append((rules.mean_gradient(r.x, k.part(side, direction)), -tau))
        else:
            uses.append((drawn_visits.follows(ALL, side, direction), tau))
    right = r.over(k.norm2(block), tau, w) * (W * tau)
    return combine(*uses, target=right - k.norm2(mean_ - M)), W


def first_order(side: k.Side) -> Theorem:
    """Return ``<grad_b f, x' - x> <= -W eta tau/2 ||grad_b f||^2 - .. + eta S^2/2 D``.

    Of ||M_b||^2 what is left out is eta/(2 W tau); for equal weights on the server.
    """
    r, (deviation, W) = ROUND_T, toward_mean(side)
    M = total(r, side, r.local_gradient(of(i)))
    g = k.part(side, r.gradient)
    w = factor(r, side)
    near = sum_over(block_steps.apart(r, side, tau), k.CLIENTS, n, w)
    small = combine(rules.weight_below_one(n))
    positive = combine((r.away(of(i)), 1))
    more = sum_over(sum_over(positive, steps(tau), i), k.CLIENTS, n, 1 - w, [small])
    half = r.eta / 2
    return combine(
        (pull(r, side), -1),
        (deviation, r.eta / (2 * W * tau)),
        (near, half),
        (more, half * S**2),
        target=total_drift() * (half * S**2)
        - k.norm2(g) * (half * W * tau)
        - k.norm2(M) * (half / (W * tau))
        - k.inner(g, r.next - r.x),
    )


def first_order_printed() -> Theorem:
    """Return (115) with the whole vector's move, for equal weights."""
    r, g = ROUND_T, k.part(k.Side.SERVER, ROUND_T.gradient)
    half = r.eta / 2
    M = total(r, k.Side.SERVER, r.local_gradient(of(i)))
    positive = all_steps(combine((r.away(of(i)), 1)), N - 1)
    return combine(
        first_order(k.Side.SERVER),
        (positive, half * S**2),
        (M, half / (N * tau)),
        (g, half * tau * (N - 1)),
        target=total_drift() * (N * half * S**2)
        - k.norm2(g) * (half * tau)
        - k.inner(g, r.next - r.x),
    )


def first_order_closed(side: k.Side) -> Theorem:
    """Return N times (117), for either side; on the server for equal weights."""
    r, g = ROUND_T, k.part(side, ROUND_T.gradient)
    half, W = r.eta / 2, toward_mean(side)[1]
    M = total(r, side, r.local_gradient(of(i)))
    bound = k.norm2(r.gradient) * N + k.constant(sigmas + N * eps2)
    return combine(
        first_order(side),
        (drift_by_mean(), half * S**2),
        (M, half / (W * tau)),
        (g, half * tau * (W - 1)),
        target=bound * (8 * N**2 * r.eta**3 * S**2 * tau**3)
        - k.norm2(g) * (half * tau)
        - k.inner(g, r.next - r.x),
    )


def change() -> Theorem:
    """Return (119) summed over clients, with N^2, the whole gradient and 3 tau sigma^2.

    For ``8 (S eta N tau)^2 <= 1``.
    """
    r, gx = ROUND_T, ROUND_T.own_gradient()
    far = r.local_gradient(of(i)) + r.noise(of(i)) - block_steps.first(r)
    one = sum_over(block_steps.change_of_gradient(r, k.Side.SERVER), k.CLIENTS, n)
    most = 16 * N**2 * tau**3 * r.eta**2 * S**2
    right = k.summed(k.CLIENTS, n, k.norm2(gx)) * most
    right = right + k.constant((most + 3 * tau) * sigmas)
    left = k.summed(
        k.CLIENTS, n, k.summed(steps(tau), i, k.norm2(k.part(k.Side.SERVER, far)))
    )
    return combine(one, (drift_closed(), 2 * S**2), target=right - left)


def second_order_closed(side: k.Side) -> Theorem:
    """Return 5/2 times (120) or (122); the late term has N^2, the whole gradient."""
    r, g, w = ROUND_T, ROUND_T.gradient, factor(ROUND_T, side)
    half, c = S * r.eta**2 / 2, Fraction(2, 3)
    M, Z = total(r, side, r.local_gradient(of(i))), total(r, side, r.noise(of(i)))
    gradients = sum_over(block_steps.block_gradients(r, side), k.CLIENTS, n, N * w**2)
    below = combine((rules.weight_below_one(n), 1 + k.weight(n)))
    positive = sum_over(combine((r.away(of(i)), 1)), steps(tau), i)
    more = sum_over(positive, k.CLIENTS, n, 1 - w**2, [below])
    own = sum_over(own_gradient(r), k.CLIENTS, n)
    share = half * (1 + c) * tau * 3 * N * S**2
    noise = k.constant(2 * eps2 + sigma2(n))
    bracket = (k.norm2(k.part(side, g)) * 2 + noise) * (tau * w**2)
    bracket = bracket + (k.norm2(g) * 2 + noise) * (
        16 * N**2 * tau**3 * (S * r.eta) ** 2
    )
    target = k.summed(k.CLIENTS, n, bracket) * (N * half * tau * Fraction(5, 2))
    return combine(
        (moved(r, side), -S / 2),
        (young(M, Z, c), half),
        (block_steps.block_noise(r, side), half * (1 + 1 / c)),
        (block_steps.total_size(r, side, r.local_gradient(of(i))), half * (1 + c)),
        (gradients, half * (1 + c) * tau),
        (more, share),
        (drift_closed(), share),
        (own, share * 8 * r.eta**2 * N**2 * tau**3),
        target=target - k.norm2(k.part(side, r.next - r.x)) * (S / 2),
    )
