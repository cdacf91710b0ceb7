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
from sfl_theory.kernel.algebra import Number
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import block_steps, derived, drawn_visits, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import factor, moved, own_gradient, total
from sfl_theory.proofs.drawn_visits import Drawn
from sfl_theory.proofs.local_steps import N, S, eps2, i, n, sigma2, young
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
        (drawn_visits.drift_by_steps(ALL), 2),
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


def first_order_printed() -> Theorem:
    """Return (115) with the whole vector's move, for equal weights."""
    more = all_steps(combine((ROUND_T.away(of(i)), 1)), N - 1)
    one = drawn_visits.first_order_by_drift(ALL, k.Side.SERVER)
    return combine(one, (more, ROUND_T.eta * S**2 / 2))


def first_order_closed(side: k.Side) -> Theorem:
    """Return N times (117), for either side; on the server for equal weights."""
    one = drawn_visits.first_order_by_drift(ALL, side)
    return combine(one, (drift_by_mean(), ROUND_T.eta * S**2 / 2))


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
