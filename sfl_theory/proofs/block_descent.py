"""One round of SFL-V1 from both blocks, as (86) to (88) and (153), (154) of han2024."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.block_steps import block_noise, moved, pull, small, total
from sfl_theory.proofs.local_steps import (
    N,
    Round,
    S,
    eps2,
    i,
    local_gradients,
    n,
    own_gradients,
    sigma2,
    young,
)
from sfl_theory.proofs.non_convex import (
    TwoPaces,
    deviation,
    one_round,
    one_round_partial,
)
from sfl_theory.proofs.non_convex import drift as weighted_drift
from sfl_theory.proofs.notation import combine, mean, of, sign


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
        (local_gradients(r, H, b, 1), lam * theta),
        (own_gradients(r, b), of_F),
        (r.summed(combine(squares=[(r.away(of(i)), 1)]), H, b), D_left),
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
    return combine(uses, squares, target=target, signs=signs)


def descent(p: TwoPaces) -> Theorem:
    """Return (87) or (153), end to end."""
    return combine([(one_round_partial(p) if p.partial else one_round(p), 1)])


def rearranged(p: TwoPaces) -> Theorem:
    """Return (88) or (154)."""
    return combine([(descent(p), 4 / p.low)])
