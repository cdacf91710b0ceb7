"""SFL-V2 as printed where clients are drawn, equal weights: (175) and (177) of G.3."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import drawn_visits as visits
from sfl_theory.proofs.block_steps import own_gradient
from sfl_theory.proofs.drawn_visits import Drawn, tau
from sfl_theory.proofs.local_steps import N, S, eps2, i, n, sigma2
from sfl_theory.proofs.notation import (
    combine,
    inverse_q,
    mean,
    of,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.partial_blocks import at_most_inverse

d = Drawn()
r, eta, g = d.round, d.round.eta, k.part(k.Side.SERVER, d.round.gradient)
most = mean(n, inverse_q(n))
sigmas = mean(n, sigma2(n)) + 2 * most * mean(n, inverse_q(n) * sigma2(n))
v = S * eta * tau * most


def first_order() -> Theorem:
    """Return ``<grad_s f, x' - x> <= -eta tau/2 ||grad_s f||^2 + eta S^2/2 D``.

    D = sum_n J_n sum_i ||p - x||^2.
    """
    far, client = d.change(of(i)), k.part(k.Side.CLIENT, d.change(of(i)))
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    return combine(
        [
            (visits.first_order(d, k.Side.SERVER), 1),
            (d.all(rules.blocks(far, far), d.J), eta / 2),
            (d.all(combine(squares=[(client, 1)]), d.J), eta / 2),
            (d.all(near, d.J), eta / 2),
        ],
        [(g, eta * tau * (N - 1) / 2)],
        target=d.over(k.norm2(r.away(of(i))), d.J) * (eta * S**2 / 2)
        - k.norm2(g) * (eta * tau / 2)
        - k.inner(g, r.next - r.x),
    )


def first_order_printed() -> Theorem:
    """Return (175) with the whole vector's move: J_n <= 1/q_n <= N/q_n."""
    spare = N * inverse_q(n) - d.J
    few = combine([(at_most_inverse(r), 1)], target=k.constant(spare))
    away = sum_over(combine(squares=[(r.away(of(i)), 1)]), steps(tau), i)
    more = sum_over(away, k.CLIENTS, n, spare, [few])
    return combine([(first_order(), 1), (more, eta * S**2 / 2)])


def drift() -> Theorem:
    """Return ``D <= 6 N eta^2 tau^3 (sum 1/q_n)^2 (||grad f||^2 + eps2) + noise``.

    For ``8 S eta tau sum 1/q_n <= 1``; the noise is ``6/5 (eta tau)^2 sigmas``.
    """
    c, size, gx = Fraction(6, 5), 2 * (eta * tau * most) ** 2, r.own_gradient()
    small, spare = rules.assume(d.rate), c * (1 - 5 * S**2 * size) - 1
    own = c * size * tau * Fraction(5, 4)
    client = combine(squares=[(k.part(k.Side.CLIENT, gx), 1)])
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    F = k.norm2(r.gradient) + k.constant(eps2)
    return combine(
        [
            (visits.drift(d), c),
            (d.all(near, d.J), 5 * c * size),
            (d.all(combine(squares=[(r.away(of(i)), 1)]), d.J), spare),
            (sum_over(rules.blocks(gx, gx), k.CLIENTS, n), own),
            (
                sum_over(client, k.CLIENTS, n),
                own - c * (eta * tau) ** 2 * tau * Fraction(5, 4),
            ),
            (sum_over(own_gradient(r), k.CLIENTS, n), own),
        ],
        target=F * (2 * N * own) + k.constant(c * (eta * tau) ** 2 * sigmas) - d.D,
        signs=[sign(spare, (small, (1 + 8 * v) * Fraction(3, 16)))],
    )


def first_order_closed() -> Theorem:
    """Return (177) with the whole gradient and (sum 1/q_n)^2 behind eta^3."""
    return combine([(first_order(), 1), (drift(), eta * S**2 / 2)])
