"""What the audit's entries on the general convex bounds speak of is what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from sfl_theory import Constants, theorem
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024 import (
    appendix_d,
    appendix_e,
    appendix_f,
    appendix_g,
    printed,
)
from sfl_theory.papers.han2024 import section_3_artefacts as artefacts
from sfl_theory.papers.han2024 import section_3_schedules as schedules
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.printed import NUMBERS, Data, shared

SECTIONS = dict(
    zip(
        NUMBERS,
        (
            appendix_d.PARALLEL,
            appendix_e.SEQUENTIAL,
            appendix_f.PARALLEL,
            appendix_g.SEQUENTIAL,
        ),
        strict=True,
    )
)


def same(one: w.Written, two: w.Written) -> bool:
    """Return whether two written numbers are one."""
    return not (w.as_form(one) - w.as_form(two)).value


@pytest.mark.parametrize("number", NUMBERS)
def test_the_cube_root_is_that_of_the_theorem(number: str) -> None:
    cube = printed.bound(number, "general_convex", Data()).roots[1].radicand
    assert same(artefacts.under_cube_root(number, 1, w.number(1)), cube)
    assert not same(artefacts.under_cube_root(number, 2, w.number(1)), cube)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_summed_recursion_is_the_merged_one(number: str) -> None:
    """Noise and drift of (76), ... over 4 min(tau), which earns the gap."""
    merged, (_, noise, drift) = SECTIONS[number], artefacts.pieces(number, Data())
    low = s.tau if shared(number) else printed.tau_min
    square, cube = (s.tau**2, s.tau**3) if shared(number) else (w.number(1),) * 2
    assert merged.number == artefacts.RECURSIONS[number]
    assert same(4 * low * noise, square * s.N * merged.noise(2))
    assert same(4 * low * drift, 24 * s.S * cube * merged.noise(1))


@pytest.mark.parametrize("seed", range(20))
def test_no_schedule_takes_the_run_above_a_third(seed: int) -> None:
    """The two visits themselves, client 2 first, at any admitted rates."""
    rng, x = np.random.default_rng(seed), 0.0
    for eta in rng.uniform(0, 0.5, 300):
        moved = x - eta * np.clip(x + 1, -2, 2)
        moved = moved - eta * np.clip(moved - 1, -2, 2)
        assert moved == pytest.approx((1 - eta) ** 2 * x + eta**2)
        x = moved
        assert x <= 1 / 3 + 1e-12
        assert 0.5 * (0.8 - x) ** 2 >= float(schedules.LEFT) - 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_no_schedule_brings_the_client_near(seed: int) -> None:
    """One step of the client a round on a Huber function, at any admitted rates."""
    rng, x = np.random.default_rng(seed), float(schedules.FAR)
    largest = 1 / (2 * schedules.PERIOD)
    rates = rng.uniform(0, largest, schedules.ROUNDS) if seed else [largest]
    for eta in np.broadcast_to(rates, schedules.ROUNDS):
        x = x - eta * min(x, 1.0)
    assert x - 0.5 >= 383.5 - 1e-9


@pytest.mark.parametrize(
    "one", [*schedules.V2, *schedules.V1], ids=lambda one: one.number
)
def test_the_instances_bound_is_the_printed_one(one: schedules.Instance) -> None:
    """It is below the gap that stays, and hardly below the number given for it."""
    constants = Constants(
        S=1.0, sigma2=0.0, G2=float(one.G2), weights=tuple(map(float, one.weights)),
        tau=1, tau_server=one.period, participation=1.0,
        initial_distance2=float(one.I_err),
    )  # fmt: skip
    bound = theorem(one.number).case("general_convex").bound("printed")
    (value,) = bound.evaluate(constants, [one.T])
    stays = schedules.LEFT if shared(one.number) else 383.5
    assert 0.98 * float(one.most) < value <= float(one.most) < stays
