"""Theorem 1 of li2020: values by hand, false variants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfl_theory import Constants
from sfl_theory import written as w
from sfl_theory.claims import Part, Proof, Says, decide
from sfl_theory.papers.li2020 import section_3
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.papers.li2020.appendix_a import LEMMA_2, LEMMA_3
from sfl_theory.registry import theorem
from sfl_theory.written import Form

BOUND = theorem("li2020/thm-1").case().bound()
SMALL = Constants(
    S=2,
    mu=1,
    sigma2=(1, 3),
    weights=(0.5, 0.5),
    tau=2,
    G2=4,
    Gamma=0.25,
    initial_distance2=3,
)


def test_value_by_hand() -> None:
    """B = 1 + 3 + 32, kappa = 2, gamma = 16, after 6 steps."""
    value = BOUND.evaluate(SMALL, [3])[0]
    assert value == pytest.approx(2 / (16 + 6) * (2 * (1 + 3 + 32) + 16 / 2 * 3))


def test_many_local_steps_set_gamma() -> None:
    """With E = 40 > 8 kappa = 16 the bound at w_1 has gamma = 40."""
    value = BOUND.evaluate(SMALL.with_values(tau=40), [0])[0]
    B = 1 + 3 + 8 * 39**2 * 4
    assert value == pytest.approx(2 / 40 * (2 * B + 40 / 2 * 3))


def test_rate_of_the_first_steps() -> None:
    """Step t = 0 is the paper's step 1; rates count steps."""
    assert BOUND.step_size is not None
    schedule = BOUND.step_size.schedule(SMALL)
    assert schedule.per_step
    assert schedule.client(np.arange(3.0)) == pytest.approx([2 / 17, 2 / 18, 2 / 19])


def with_right(part: Part, right: Form) -> Part:
    """Return the part with another right side and the same evidence."""
    says = part.says
    return Part(Says(says.left, right, says.assumed), part.by)


@pytest.mark.parametrize("factor", [Fraction(99, 100), Fraction(101, 100)])
def test_another_constant_is_not_proved(factor: Fraction) -> None:
    """A proof is one of its own statement only."""
    for claim in (section_3.THEOREM_1, LEMMA_2, LEMMA_3):
        part = claim.parts[-1]
        assert decide(part, "test").status == "proved"
        changed = with_right(part, w.number(factor) * part.says.right)
        assert decide(changed, "test").status == "unproved"


@pytest.mark.parametrize("part", section_3.THEOREM_1.parts)
def test_every_assumption_is_used(part: Part) -> None:
    """All but that gamma is one of the two numbers that it is the larger one of."""
    found = decide(part, "test").claim
    assert found is not None
    assert found.hypotheses - found.used == {s.GAMMA[2].value}


def test_heterogeneity_of_the_model() -> None:
    """Gamma is 3/64: minima -1/64 and -9/64 with weights 3/4 and 1/4, F* = 0."""
    (part,) = section_3.GAMMA_SIGN.parts
    assert isinstance(part.by, Proof)
    found = decide(part, "test").claim
    assert found is not None
    assert found.sides == (Fraction(0), Fraction(3, 64))
