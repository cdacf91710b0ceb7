r"""SFL-V2 with drawn clients under bounded gradients, non-convex, for every rate.

Server steps weighted by a_n, updates aggregated. Given the draws Jensen with the
weights ``w_n = a_n J_n`` bounds the squared move by ``W^2 tau^2 G2``, ``W = sum w_n``,
and ``E W^2 = 1 + rho``, ``rho = sum a_n^2 (1/q_n - 1)``: `weighted_rounds.descent`.
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, constant, value_of
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, now, t
from sfl_theory.proofs.notation import combine, steps, sum_over
from sfl_theory.proofs.weighted_rounds import T, Weighted, descent, tau

VISITS = Weighted(k.Kind.V2_WEIGHTED, partial=True)


def non_convex() -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    r, c = VISITS.round, 2 / (T * tau)
    down = rules.telescope(t, value_of(MEAN, r.x), T)
    last = rules.lowest(MEAN, k.iterate(r.run, T))
    return combine((sum_over(descent(VISITS), steps(T), t), c), (down, c), (last, c))


def strongly_convex() -> Theorem:
    """Return the gap after t rounds at ``eta_t = 4 u/(mu tau)``, u = 1/(gamma + t).

    At most ``(gamma u)^4 phi_0 + 8/3 S c1 G2 u/mu^2 + 16 S^2 cd G2 u^2/mu^3``.
    """
    r = local.Round(strong.run(VISITS.kind, k.Participants.UPDATES))
    u, own = 1 / (strong.gamma + now), strong.S
    family = k.RoundFamily("eta", Sort.POSITIVE)
    values = ((family, r.run.client.rate), (strong.S_VARIABLE, own))
    first = 8 * own * VISITS.c1 * G2 / strong.mu**2
    second = 32 * own**2 * VISITS.cd * G2 / strong.mu**3
    right = strong.gap(r, now) * (1 - 4 * u) + constant(first * u**2 + second * u**3)
    one = combine(
        rules.instantiate(descent(VISITS), values, ()),
        (strong.gradient_domination(r.x), 2 * u / strong.mu),
        target=right - strong.gap(r, now + 1),
    )
    return strong.by_recursion(r, one, first, second)
