r"""One step of FedAvg, from its definition to Lemmas 1-3, by the kernel's rules.

The run is SFL-V1 whose sides make E steps in step: whole models :math:`p_k^{t,i}` move
from x(t), and their mean is x(t+1). Step i of round t is the paper's step
:math:`s=Et+i+1`, its rate :math:`\eta_s`; :math:`\bar w` is the mean of the models. In
the proofs' letters (`minibatch_stepwise`) k, i, E and L are n, j, K and S.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Local, constant, norm2, weight
from sfl_theory.proofs import minibatch, notation
from sfl_theory.proofs.counted_steps import EARLY, FALLING, G2, apart, counted, rate
from sfl_theory.proofs.mean_steps import SINGLE, MeanStep
from sfl_theory.proofs.minibatch_stepwise import (
    BEST,
    MADE,
    J,
    K,
    S,
    averaged,
    mu,
    n,
    now,
    over,
)
from sfl_theory.proofs.notation import combine, mean, of

WALK = counted(FALLING)
LEAST = -notation.per_client("least", n)
"""F_k*: no larger than F_k where the proof meets it; nothing else is needed of it."""
SHORT = rules.assume(constant(1 / (4 * S) - rate(J)))
"""``eta <= 1/(4 L)``."""
STEP = MeanStep(WALK, rate(J), combine((SHORT, S)))


def of_paper(theorem: Theorem) -> Theorem:
    """Return a theorem in the paper's letters."""
    letters = (
        (terms.Var("S", Sort.POSITIVE), notation.positive("L")),
        (terms.Var("K", Sort.COUNT), notation.count("tau")),
        (notation.nat("j"), of(notation.nat("i"))),
    )
    return rules.instantiate(theorem, letters, ())


def heterogeneity() -> terms.Lin:
    """Return ``Gamma = F* - sum_k p_k F_k*``."""
    return terms.value_of(terms.MEAN, BEST) - constant(mean(n, weight(n) * LEAST))


def heterogeneous() -> Theorem:
    """Return ``Gamma >= 0``."""
    each = over(rules.assume(terms.value_of(Local(n), BEST) - constant(LEAST)))
    return combine(each, rules.mean_value(BEST), target=heterogeneity())


@cache
def lemma_1() -> Theorem:
    """Return Lemma 1: the noise is fresh, and the step without it (`whole_step`)."""
    h, d = rate(J), STEP.middle - BEST
    whole = minibatch.whole_step(WALK.point(J), LEAST)
    z = averaged(terms.noise(WALK.run, n, now, J))
    return combine(
        STEP.square(),
        (STEP.fresh(d - averaged(STEP.gradient) * h), 2 * h),
        minibatch.at_rate(whole, h),
        target=norm2(d) * (1 - h * mu)
        + norm2(z) * h**2
        + heterogeneity() * (6 * S * h**2)
        + WALK.spread(J) * 2
        - WALK.distance(J + 1),
    )


def lemma_2() -> Theorem:
    """Return ``||g_t - gbar_t||^2 <= sum_k p_k^2 sigma_k^2``."""
    return STEP.noise()


def lemma_3(twice: Theorem) -> Theorem:
    """Return Lemma 3, from ``2 eta_t - eta_t' >= 0`` for its step and any before it.

    ``sum_k p_k ||wbar - w_k||^2 <= sum_k p_k ||w_k - x||^2``, Cauchy-Schwarz over the
    i <= E - 1 steps since the round began.
    """
    h = rate(J)
    return combine(
        apart(WALK, 2 * h, rate(EARLY), twice),
        (MADE, 4 * h**2 * G2 * (K - 1 + J)),
        target=constant(4 * h**2 * G2 * (K - 1) ** 2) - WALK.spread(J),
    )


def noises() -> Ratio:
    """Return ``sum_k p_k^2 sigma_k^2 + 8 (E - 1)^2 G^2``, which is B without Gamma."""
    return SINGLE + 8 * (K - 1) ** 2 * G2
