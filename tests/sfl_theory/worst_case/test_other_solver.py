"""Clarabel, a general conic solver, finds the same values (extra ``worst-case``)."""

from __future__ import annotations

from fractions import Fraction as Q

import pytest

from sfl_theory.worst_case import interior
from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.setting import Setting

pytest.importorskip("clarabel")
import clarabel_reference

pytestmark = pytest.mark.long

STEPS = ((Q(1, 3), Q(1, 4)),) * 2


@pytest.mark.parametrize(
    "setting",
    [
        Setting("fedavg", 2, *STEPS, Q(1), Q(1, 10), zeta2=Q(1)),
        Setting("sfl-v1", 2, *STEPS, Q(1), Q(0), tau_server=1, zeta2=Q(1)),
        Setting("sfl-v2", 2, *STEPS, Q(2), Q(1, 10), clients=2, eps2=Q(1)),
        Setting("minibatch-sfl", 2, *STEPS, Q(1), Q(1, 10), zeta2=Q(1), sigma2=Q(1)),
        Setting(
            "fedavg",
            2,
            *STEPS,
            Q(1),
            Q(1, 2),
            G2=Q(1),
            start="gradients",
            reading="mean",
        ),
    ],
)
def test_another_solver_agrees(setting: Setting) -> None:
    program = formulated(setting)
    pairs = [program.interpolation(*pair) for pair in program.pairs]
    own = interior.solved(program, [*program.given, *pairs], 1e-7)
    other = clarabel_reference.solved(program, [*program.given, *pairs])
    assert own.upper == pytest.approx(other.upper, rel=1e-5)
