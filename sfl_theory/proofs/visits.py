"""SFL-V2 with weighted server steps, in any order of the visits: a repair of (16)."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import notation, sharp_rounds
from sfl_theory.proofs.local_steps import (
    Round,
    S,
    eps2,
    n,
)
from sfl_theory.proofs.notation import combine, count, mean
from sfl_theory.proofs.sharp_rounds import Sharp

tau, T = count("tau"), count("T")
ROUND_T = Round(notation.equal_paces(k.Kind.V2_WEIGHTED, tau, notation.rates("eta")))
sbar2, s_a2 = (mean(n, k.weight(n) ** power * local.sigma2(n)) for power in (1, 2))
u = S * ROUND_T.eta * tau


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
