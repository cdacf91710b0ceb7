r"""The drift of SFL-V2 with server steps weighted by a_n, in terms of a round's start.

In any order of the visits; everyone takes part, or client n with probability q_n, and
then everything is said given the draws: ``w_n = a_n J_n`` stands for a_n, and
``W = sum w_n`` is at most the reach ``kappa = sum a_n/q_n``. As in `sharp_drift`, the
noise of the visits made before is orthogonal to their gradients at x.
"""

from __future__ import annotations

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, Side, Vec, constant, part, summed
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits
from sfl_theory.proofs.local_steps import Round, S, both_parts, i, j, m, n, now, sigma2
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over
from sfl_theory.proofs.sharp_drift import Closed, closed, own_way
from sfl_theory.proofs.visited import Visited


def share(r: Round, client: terms.Client = n) -> Ratio:
    """Return ``w_n``."""
    return rules.share(r.run, client, now, Side.SERVER)


def reach(r: Round) -> Ratio:
    """Return the most that the weights w_n add up to."""
    return mean(n, terms.weight(n) * inverse_q(n)) if r.run.drawn else ratio(1)


def server_way(r: Round, c: Number) -> Theorem:
    """Return how far visits bring the server's block before step i of client n.

    ``||[p_i - x]_s||^2 <= eta^2 ((1 + c)(W tau^2 sum w ||gx||^2 + sum w^2 sum ||xi||^2)
    + (1 + 1/c) W tau sum w sum ||gp - gx||^2)``, sums over all clients, server blocks.
    """
    side, c, e2, v = Side.SERVER, ratio(c), r.eta**2, Visited(r)
    gx = part(side, r.own_gradient(m))
    change = v.gradient() - gx
    G, Z, Delta = (v.sum(each) for each in (gx, v.noise(), change))
    return combine(
        (v.moved(gx + v.noise() + change), -1),
        (local.young(G + Z, Delta, c), e2),
        (v.orthogonal(G), -2 * (1 + c) * e2),
        (v.size(gx), (1 + c) * e2),
        (v.noise_size(), (1 + c) * e2),
        (v.size(change), (1 + 1 / c) * e2),
    )


def drift(r: Round, by: Closed) -> Theorem:
    """Return ``D <= factor eta^2 tau^2 (kappa^2 tau sum w_n ||gx||^2 + noise)``.

    D = sum_n w_n sum_i ||p_i - x||^2, noise = ``sum w_n sigma_n^2/2 + kappa sum w_n^2
    sigma_n^2``.
    """
    tau, e2, c, k = r.steps(Side.CLIENT), r.eta**2, by.c, reach(r)
    client, server = Side.CLIENT, Side.SERVER
    gx, gp, away = r.own_gradient(), r.local_gradient(of(i)), r.away(of(i))
    change, w = gp - gx, share(r)
    W = mean(n, w)
    few = partial_visits.at_most_kappa() if r.run.drawn else combine(target=constant(0))
    fewer = combine((few, k + W), target=constant(k**2 - W**2))
    xi, early = r.noise(of(i)), r.noise(of(j))
    var, before = (rules.variance(r.run, sigma2(n), n, now, of(v)) for v in (i, j))
    own_noise = combine(before, both_parts(early), (part(server, early), 1))
    of_visits = combine(var, both_parts(xi), (part(client, xi), 1))
    squared = mean(n, w**2 * sigma2(n))

    def all_steps(theorem: Theorem) -> Theorem:
        return r.summed(theorem, tau, w)

    def square(u: Vec) -> Theorem:
        return combine((u, 1))

    def of_clients(theorem: Theorem) -> Theorem:
        return sum_over(theorem, CLIENTS, n, w)

    grown, wide = (1 + c) * e2, (1 + 1 / c) * e2
    pairs = tau * (tau - 1) / 2
    one = combine(
        (all_steps(both_parts(away)), -1),
        all_steps(own_way(r, client, c)),
        all_steps(server_way(r, c)),
        # noise
        (all_steps(sum_over(own_noise, steps(of(i)), j)), grown),
        (r.summed(of_visits, tau, w**2), grown * tau * W),
        (combine((few, squared)), grown * tau**2),
        # gradients at x
        (of_clients(both_parts(gx)), grown * k**2 * tau**3),
        (
            of_clients(square(part(client, gx))),
            grown * (k**2 * tau**3 - pairs * (2 * tau - 1) / 3),
        ),
        (of_clients(square(part(server, gx))), grown * tau**3 * (k**2 - W**2)),
        # how they change
        (all_steps(both_parts(change)), wide * k**2 * tau**2),
        (all_steps(square(part(client, change))), wide * (k**2 * tau**2 - pairs)),
        (all_steps(square(part(server, change))), wide * tau**2 * (k**2 - W**2)),
        (
            all_steps(rules.lipschitz(Local(n), S, r.point(of(i)), r.x)),
            wide * k**2 * tau**2,
        ),
        signs=[fewer, few],
    )
    F = summed(CLIENTS, n, terms.norm2(gx) * w)
    bound = F * (k**2 * tau) + constant(mean(n, w * sigma2(n)) / 2 + k * squared)
    inside = S**2 * wide * k**2 * tau**2
    whole = bound * (e2 * tau**2 * by.factor)
    return closed(r, by, one, r.drift(tau, w), inside, whole, k)
