r"""SFL-V2 with drawn clients under bounded gradients, non-convex, for every rate.

Server steps weighted by a_n, updates aggregated. Given the draws Jensen with the
weights ``w_n = a_n J_n`` bounds the squared move by ``W^2 tau^2 G2``, ``W = sum w_n``,
and ``E W^2 = 1 + rho``, ``rho = sum a_n^2 (1/q_n - 1)``. The drift has W^3, of which
no mean is taken: ``(kappa - W)(W - 1)^2 >= 0``, ``kappa = sum a_n/q_n``, bounds it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, MEAN, Side, constant, norm2, part, value_of
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import partial_visits as drawn
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.convex_paces import excess
from sfl_theory.proofs.local_steps import G2, S, both_parts, i, j, n, now
from sfl_theory.proofs.notation import combine, mean, of, steps, sum_over
from sfl_theory.proofs.visited import Visited
from sfl_theory.proofs.weighted_rounds import T, Weighted, client_sum, eta, kappa, tau

VISITS = Weighted(k.Kind.V2_WEIGHTED, partial=True)
W, rho = mean(n, VISITS.share), excess
LATE = 1 + 2 * rho + 2 * kappa * rho
"""Of the drift."""


def second_moment() -> Theorem:
    """Return ``||G||^2 <= (1 + rho) tau^2 G2``."""
    a, w = VISITS, VISITS.share
    bound = constant(W**2 * tau**2 * G2)
    inside = k.summed(steps(tau), i, a.g())
    return combine(
        rules.jensen(CLIENTS, n, w, inside),
        (sum_over(client_sum(a), CLIENTS, n, w), W),
        (a.averaged(bound), -1),
        target=constant((1 + rho) * tau**2 * G2)
        - norm2(local.whole_mean(a.round, a.g())),
    )


def own_way() -> Theorem:
    """Return ``||[p_i - x]_c||^2 <= eta^2 i sum_{j<tau} ||g_c||^2``."""
    g = part(Side.CLIENT, VISITS.g(j))
    more = rules.longer(j, g, of(i), tau)
    return combine(
        local.own_steps(VISITS.round, Side.CLIENT, of(i), of(i)), (more, eta**2 * of(i))
    )


def server_way() -> Theorem:
    """Return ``||[p_i - x]_s||^2 <= eta^2 W tau sum w_n sum_j ||g_s||^2``."""
    visited = Visited(VISITS.round)
    return visited.straight(visited.stochastic())


def drift() -> Theorem:
    """Return ``D <= (1 + 2 rho + 2 kappa rho) eta^2 tau^3 G2``.

    Given the draws ``D <= eta^2 tau^2 (X_c/2 + W^2 X_s)``, ``X_c + X_s <= W tau G2``,
    and ``1/2 - W^2 <= (1 - W)^2``, so ``D <= (W^3 + W (1 - W)^2) eta^2 tau^3 G2``.
    """
    a, r, w, size = VISITS, VISITS.round, VISITS.share, eta**2 * tau**2
    client, server = (part(side, a.g()) for side in Side)

    def all_steps(theorem: Theorem) -> Theorem:
        return r.summed(theorem, tau, w)

    apart, few = (1 - W) ** 2, drawn.at_most_kappa()
    half = rules.square(W - Fraction(1, 2))
    D = r.drift(tau, w)
    given = combine(
        (all_steps(both_parts(r.away(of(i)))), -1),
        all_steps(own_way()),
        all_steps(server_way()),
        (all_steps(both_parts(a.g())), size * (W**2 + apart)),
        (all_steps(combine((client, 1))), eta**2 * tau / 2),
        (
            all_steps(combine((client, 1))),
            size * (W**2 + apart - Fraction(1, 2)),
        ),
        (all_steps(combine((server, 1))), size * apart),
        (all_steps(a.bounded()), size * (W**2 + apart)),
        (few, size * tau * G2 * 2 * apart),
        signs=[half, rules.square(1 - W), combine((half, 2 * size))],
    )
    number = rules.number_of(given.form + D)
    bound = constant(LATE * size * tau * G2) - D
    return combine(given, (a.averaged(constant(number)), -1), target=bound)


@cache
def one_round() -> Theorem:
    """Return ``alpha/2 ||grad f||^2 <= f(x) - f(x') + cost`` at every rate."""
    a, r, alpha = VISITS, VISITS.round, eta * tau
    g = r.gradient
    cost = S / 2 * (1 + rho) * alpha**2 * G2 + S**2 / 2 * LATE * alpha**3 * G2
    fall = value_of(MEAN, r.x) - value_of(MEAN, r.next)
    return combine(
        local.whole_descent(r),
        (second_moment(), S * eta**2 / 2),
        (drift(), S**2 * eta / 2),
        (drawn.centred(g), eta),
        (drawn.mean_of_gradients(g), eta),
        (rules.tower(a.run, now, drawn.Delta, g), -eta),
        (drawn.mean_deviation(), eta / (2 * tau)),
        (g * tau + drawn.B, eta / (2 * tau)),
        target=fall + constant(cost) - norm2(g) * (alpha / 2),
    )


def non_convex() -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    return local.over_rounds(one_round(), VISITS.round, T, 2 / (T * tau))


def strongly_convex() -> Theorem:
    """Return the gap after t rounds at ``eta_t = 4 u/(mu tau)``, u = 1/(gamma + t).

    At most ``(gamma u)^4 phi_0 + 8/3 S (1 + rho) G2 u/mu^2 + 16 S^2 LATE G2 u^2/mu^3``.
    """
    r = local.Round(strong.run(VISITS.kind, k.Participants.UPDATES))
    u, own = 1 / (strong.gamma + now), strong.S
    family = k.RoundFamily("eta", Sort.POSITIVE)
    values = ((family, r.run.client.rate), (strong.S_VARIABLE, own))
    first = 8 * own * (1 + rho) * G2 / strong.mu**2
    second = 32 * own**2 * LATE * G2 / strong.mu**3
    right = strong.gap(r, now) * (1 - 4 * u) + constant(first * u**2 + second * u**3)
    one = combine(
        rules.instantiate(one_round(), values, ()),
        (strong.gradient_domination(r.x), 2 * u / strong.mu),
        target=right - strong.gap(r, now + 1),
    )
    return strong.by_recursion(r, one, first, second)
