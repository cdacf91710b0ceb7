"""SFL-V2 where clients are drawn, block by block, in the order of App. G.3 of han2024.

Server steps have the weight a_n, but in `second_order`. kappa = sum a_n/q_n.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits as visits
from sfl_theory.proofs.block_steps import drawn, first, moved, step_size
from sfl_theory.proofs.drawn_visits import drift_by_steps
from sfl_theory.proofs.local_steps import N, S, both_parts, eps2, i, j, n, now, sigma2
from sfl_theory.proofs.notation import combine, inverse_q, of, sign, steps, sum_over
from sfl_theory.proofs.partial_visits import RUN, B, W, eta, g, gp, kappa, r, share, tau
from sfl_theory.proofs.visited import Visited, at_most_inverse

PRINTED = local.Round(
    notation.equal_paces(k.Kind.V2, tau, notation.rates("eta"), k.Participants.UPDATES)
)
sigmas = visits.sigma_a + 2 * kappa * visits.sigma_q
D = visits.drawn_sum(k.norm2(visits.away))
v = S * eta * tau * kappa


def small() -> Theorem:
    """Return ``16 (S eta tau kappa)^2 <= 1``, an assumption."""
    return rules.assume(k.constant(1 - 16 * v**2))


def most(F: k.Lin) -> k.Lin:
    """Return ``16 tau^3 (eta kappa)^2 F + 2 (eta tau)^2 sigmas``."""
    noise = k.constant(2 * (eta * tau) ** 2 * sigmas)
    return F * (16 * (eta * kappa) ** 2 * tau**3) + noise


@cache
def drift() -> Theorem:
    """Return ``D <= most(||grad f||^2 + eps2)``, draws as weights in D."""
    c, size = Fraction(4, 3), 2 * (kappa * eta * tau) ** 2
    spare = c * (1 - 2 * S**2 * size) - 1
    positive = r.summed(combine((visits.away, 1)), tau, share())
    return combine(
        (drift_by_steps(visits.DRAWN), c),
        (local.local_gradients(r, tau, share(), 1), c * size),
        (local.own_size(r), 2 * c * size * tau),
        (positive, spare),
        (g, (8 - 2 * c) * size * tau),
        target=most(k.norm2(g) + k.constant(eps2)) - D,
        signs=[sign(spare, (small(), Fraction(1, 3)))],
    )


def first_order_printed(side: k.Side) -> Theorem:
    """Return (175) with weights a_n/q_n and the whole vector's move."""
    few, positive = at_most_inverse(RUN), combine((visits.away, 1))
    spare = k.weight(n) * inverse_q(n) - share()
    each = combine((few, k.weight(n)), target=k.constant(spare))
    more = sum_over(sum_over(positive, steps(tau), i), k.CLIENTS, n, spare, [each])
    return combine(first_order(side), (more, eta * S**2 / 2))


@cache
def plain_drift() -> Theorem:
    """Return (176) for whole vectors, weights a_n: ``D <= most(||grad f||^2 + eps2)``.

    A client that is not drawn is there, too, at the points where it would be.
    """
    a, c, size = k.weight(n), Fraction(8, 7), eta**2 * tau**2
    plain = k.summed(k.CLIENTS, n, k.summed(steps(tau), i, k.norm2(visits.away)) * a)
    clients = local.block_drift(r, k.Side.CLIENT, of(i), of(i), tau)
    xc = k.part(k.Side.CLIENT, visits.xi)
    gc, gs = (k.part(side, gp) for side in k.Side)
    early = r.noise(of(j))
    earlier = [
        sum_over(one, steps(of(i)), j)
        for one in (
            derived.variance(RUN, sigma2(n), n, now, of(j)),
            both_parts(early),
            combine((k.part(k.Side.SERVER, early), 1)),
        )
    ]
    noisy = k.constant(notation.mean(n, share() ** 2 * sigma2(n)))
    at_visits = (
        both_parts(visits.xi),
        combine((xc, 1)),
        derived.variance(RUN, sigma2(n), n, now, of(i)),
    )
    few, positive = visits.at_most_kappa(), combine((gs, 1))
    own = k.summed(k.CLIENTS, n, k.norm2(visits.gx) * share())
    one = combine(
        (r.summed(both_parts(visits.away), tau, a), -1),
        r.summed(clients, tau, a),
        r.summed(Visited(r).way(), tau, a),
        (r.summed(both_parts(gp), tau, a), size),
        (r.summed(combine((gc, 1)), tau, a), eta**2 * tau),
        (r.summed(combine((gs, 1)), tau, a), size),
        *((r.summed(more, tau, a), 2 * eta**2) for more in earlier),
        *((r.summed(more, tau, share() ** 2), 2 * eta**2 * tau) for more in at_visits),
        (derived.expect(RUN, now, noisy), -2 * size),
        (r.summed(positive, tau, share()), 2 * size * (kappa - W)),
        (r.summed(both_parts(gp), tau, share()), 2 * size * kappa),
        (r.summed(combine((gc, 1)), tau, share()), 2 * size * kappa),
        (local.local_gradients(r, tau, a, 1), size),
        (local.local_gradients(r, tau, share(), 1), 2 * size * kappa),
        (local.own_size(r), 2 * size * tau * (1 + 2 * kappa)),
        (derived.expect(RUN, now, own), 2 * size * tau),
        (drift(), 4 * size * kappa * S**2),
        signs=[few],
    )
    spare = c * (1 - 2 * S**2 * size) - 1
    F = k.norm2(g) + k.constant(eps2)
    of_g = size * tau * (16 * kappa**2 - c * (2 + 4 * kappa + 64 * v**2 * kappa))
    left_over = c * size * (4 * kappa * tau * eps2 + sigmas / 2)
    return combine(
        (one, c),
        (r.summed(combine((visits.away, 1)), tau, a), spare),
        (small(), left_over),
        (g, of_g),
        target=most(F) - plain,
        signs=[
            sign(spare, (small(), Fraction(1, 7))),
            sign(of_g, (small(), 4 * c * kappa * size * tau)),
        ],
    )


def first_order(side: k.Side) -> Theorem:
    """Return ``<grad_b f, x' - x> <= -eta tau/2 ||grad_b f||^2 + eta S^2/2 D``."""
    own, rest = k.part(side, g), k.part(local.other(side), B)
    return combine(
        (rules.update(RUN, side, now, g), -1),
        (visits.centred(own), eta),
        (visits.mean_of_gradients(own), eta),
        (rules.tower(RUN, now, visits.Delta, own), -eta),
        (visits.mean_deviation(), eta / (2 * tau)),
        (rules.blocks(B, B), eta / (2 * tau)),
        (own * tau + k.part(side, B), eta / (2 * tau)),
        (rest, eta / (2 * tau)),
        target=D * (eta * S**2 / 2)
        - k.norm2(own) * (eta * tau / 2)
        - k.inner(own, r.next - r.x),
    )


def first_order_closed(side: k.Side) -> Theorem:
    """Return the same with the bound on the drift."""
    return combine(first_order(side), (drift(), eta * S**2 / 2))


def second_order() -> Theorem:
    """Return twice (178), the change of the gradients with 1/q_n^2; as printed."""
    side, p = k.Side.SERVER, PRINTED
    inverse, J = inverse_q(n), k.draw(p.run, n, now)
    g_i = p.local_gradient(of(i)) + p.noise(of(i))
    change, block = k.part(side, g_i - first(p)), k.part(side, g_i)
    few = combine(
        (at_most_inverse(p.run), inverse + J), target=k.constant(inverse**2 - J**2)
    )
    fewer = sum_over(
        sum_over(combine((change, 1)), steps(tau), i),
        k.CLIENTS,
        n,
        inverse**2 - J**2,
        [few],
    )
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    gx = k.part(side, p.own_gradient())
    present = k.summed(k.CLIENTS, n, (k.norm2(gx) + k.constant(sigma2(n))) * J**2)
    half = S * p.eta**2 / 2
    own = k.summed(steps(tau), i, block) * J
    return combine(
        (moved(p, side), -S / 2),
        (rules.jensen(k.CLIENTS, n, ratio(1), own), half),
        (sum_over(inside, k.CLIENTS, n, J**2), half * N),
        (p.summed(step_size(p, side), tau, J**2), half * N * tau),
        (fewer, 2 * half * N * tau),
        (derived.expect(p.run, now, present), -2 * half * N * tau**2),
    )


def gradients(side: k.Side) -> Theorem:
    """Return ``sum w sum_i ||[gp]_b||^2 <= 2 tau (||grad_b f||^2 + eps2) + 2S^2 D``."""
    here, far = k.part(side, visits.gx), k.part(side, visits.apart)
    one = combine(
        local.young(here, far, 1), (local.block_at_most(side, visits.apart), 2)
    )
    return combine(
        r.summed(one, tau, share()),
        (visits.near(), 2),
        (local.own_size(r, side), 2 * tau),
    )


def sum_of_gradients(side: k.Side) -> Theorem:
    """Return ``||sum w_n sum_i [gp]_b||^2 <= kappa tau sum w_n sum_i ||[gp]_b||^2``."""
    few, block = visits.at_most_kappa(), k.part(side, gp)
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    rest = r.summed(combine((block, 1)), tau, share())
    return combine(
        rules.jensen(k.CLIENTS, n, share(), k.summed(steps(tau), i, block)),
        (sum_over(inside, k.CLIENTS, n, share()), W),
        (rest, (kappa - W) * tau),
        signs=[few],
    )


def second_order_closed(side: k.Side) -> Theorem:
    """Return the squared move of a block, the drift bounded."""
    M, block = drawn(r, side, gp), k.part(side, visits.Z)
    size = S * eta**2
    move = k.norm2(k.part(side, r.next - r.x)) * (S / 2)
    F, F_b = (k.norm2(one) + k.constant(eps2) for one in (g, k.part(side, g)))
    right = (F_b * tau + most(F) * S**2) * (2 * size * kappa * tau)
    return combine(
        (moved(r, side), -S / 2),
        (local.young(M, block, 1), size / 2),
        (sum_of_gradients(side), size),
        (gradients(side), size * kappa * tau),
        (drift(), 2 * S**2 * size * kappa * tau),
        (visits.noise_size(), size),
        (both_parts(visits.Z), size),
        (k.part(local.other(side), visits.Z), size),
        target=right + k.constant(size * tau * visits.sigma_q) - move,
    )
