"""SFL-V2 with weighted server steps, in any order of the visits: a repair of (16)."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import notation, sharp_rounds
from sfl_theory.proofs.local_steps import (
    G2,
    Round,
    S,
    both_parts,
    eps2,
    i,
    j,
    n,
    now,
)
from sfl_theory.proofs.notation import combine, count, mean, of
from sfl_theory.proofs.sharp_rounds import Sharp
from sfl_theory.proofs.visited import Visited

tau, T = count("tau"), count("T")
ROUND_T = Round(notation.equal_paces(k.Kind.V2_WEIGHTED, tau, notation.rates("eta")))
sbar2, s_a2 = (mean(n, k.weight(n) ** power * local.sigma2(n)) for power in (1, 2))
u = S * ROUND_T.eta * tau


def bounded_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3 G2`` for server steps weighted by a_n.

    A client's block has moved by its i earlier steps, the server's by the visits before
    (n, i), among them at most tau of each client.
    """
    tau, e2, a = r.steps(k.Side.CLIENT), r.eta**2, k.weight(n)
    now_, earlier = (stochastic(r.run, n, now, of(v)) for v in (i, j))
    more = rules.longer(j, k.part(k.Side.CLIENT, earlier), of(i), tau)
    visited = Visited(r)
    one = combine(
        (both_parts(r.away(of(i))), -1),
        local.own_steps(r, k.Side.CLIENT, of(i), of(i)),
        (more, e2 * of(i)),
        visited.straight(visited.stochastic()),
    )
    spare = combine((k.part(k.Side.CLIENT, now_), 1))
    both = combine(both_parts(now_), rules.bounded_gradient(r.run, G2, n, now, of(i)))
    return combine(
        r.summed(one, tau, a),
        (r.summed(spare, tau, a), e2 * tau * (tau + 1) / 2),
        (r.summed(both, tau, a), e2 * tau**2),
        target=k.constant(e2 * tau**3 * G2) - local.whole_drift(r),
    )


def cost(r: Round) -> Ratio:
    """Return what the noise of one round may cost."""
    spread = tau * s_a2 + tau / 8 * sbar2 + tau**2 / 8 * eps2
    return S * r.eta**2 * spread


def one_round() -> Theorem:
    """Return ``eta tau/4 ||grad f||^2 <= f(x) - f(x') + cost``, 16 S eta tau <= 1.

    Every term is larger than that of `sharp_rounds.one_round`.
    """
    a, r, g = Sharp(k.Kind.V2_WEIGHTED), ROUND_T, ROUND_T.gradient
    small = rules.assume(k.constant(1 - 16 * u))
    half = combine((small, Fraction(1, 2)), target=k.constant(1 - 8 * u))
    sharp = rules.cut(sharp_rounds.one_round(a), half)
    drift = S * r.eta**2 * tau * a.near * a.closed.factor * a.spread
    target = sharp_rounds.fall(r) + k.constant(cost(r)) - k.norm2(g) * (r.eta * tau / 4)
    more = r.eta * tau * ((1 - a.lost) / 2 - Fraction(1, 4))
    return combine((sharp, 1), (g, more), (small, drift / 32), target=target)


def theorem() -> Theorem:
    """Return the sum over rounds."""
    return local.over_rounds(one_round(), ROUND_T, T, 4 / (T * tau))
