"""Lower bounds: the kernel agrees with them, and no proved bound lies below one."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory import Case, Constants, theorem, theorems
from sfl_theory.best import backing, proved_versions
from sfl_theory.bound import total
from sfl_theory.evidence import Model, Part, decide, says
from sfl_theory.lower import USUAL, lower_bound, still_open
from sfl_theory.models.functions import Piece, Separable
from sfl_theory.notation import written as w
from sfl_theory.pulled import Pulled
from sfl_theory.schedules import Schedule, constant

CASES = [
    pytest.param(case, id=f"{item.key}-{case.name}")
    for item in theorems()
    for case in item.cases.values()
    if item.number != "3.5"
]
F = Fraction


DRAWN = given(
    kappa=st.floats(1, 100), noise=st.sampled_from([0.0, 0.3]), tau=st.integers(1, 5),
    size=st.integers(1, 3), gap=st.floats(0.1, 100), q=st.sampled_from([1.0, 0.75]),
)  # fmt: skip
ALL = pytest.mark.parametrize("case", CASES)


@ALL
@DRAWN
@settings(max_examples=3, deadline=None)
def test_no_proved_bound_lies_below_an_instance(case: Case, **drawn: Any) -> None:
    no_proved_bound_lies_below(case, **drawn)


@pytest.mark.long
@ALL
@DRAWN
@settings(max_examples=10, deadline=None)
def test_no_proved_bound_lies_below_other_instances(case: Case, **drawn: Any) -> None:
    no_proved_bound_lies_below(case, **drawn)


def no_proved_bound_lies_below(
    case: Case, kappa: float, noise: float, tau: int, size: int, gap: float, q: float
) -> None:
    """Every version that the ledger proves, at its own learning rate."""
    rounds = [1, 7, 60]
    known = Constants(
        S=1, mu=1 / kappa, sigma2=noise, G2=1, eps2=4, weights=(1 / size,) * size,
        tau=tau, tau_server=tau, initial_gap=gap, initial_distance2=2 * kappa * gap,
        R2=1, Gamma=10, initial_distance2_client=kappa * gap,
        initial_distance2_server=kappa * gap,
        participation=q if theorem(case.theorem).participation == "partial" else 1,
    )  # fmt: skip
    for version, bound in proved_versions(case).items():
        if bound.unmet(known):
            continue
        assert bound.step_size is not None
        slower: list[Schedule | None] = [None]
        if bound.metric.weighted and bound.step_size.schedule(known).value:
            slower.append(constant(bound.step_size.schedule(known).value / 3))
        for schedule in slower:
            found = lower_bound(case, known, rounds, bound, schedule)
            right = bound.evaluate(known, rounds, schedule)
            assert np.all(found.values <= right * (1 + 1e-9)), (
                version,
                found.instances,
            )


@pytest.mark.parametrize("version", ["sharper", "last_model"])
def test_the_kernel_evaluates_the_instance_alike(version: str) -> None:
    """The bound over k+ is refuted by it: hypotheses met, left side the value."""
    item = theorem("3.6")
    case = item.case("strongly_convex")
    known = USUAL.with_values(
        mu=0.5, sigma2=0, initial_gap=1, initial_distance2=4, tau=1, tau_server=1
    )
    bound = case.bound(version)
    found = lower_bound(case, known, [2], bound)
    run = found.runs[0]
    assert run is not None
    # the same instance with the constants that the statement means by S and mu
    bowl, steep = Piece(curvature=F(1, 2)), Piece(curvature=F(1))
    clients = (Separable((bowl, steep)),) * 2
    run = replace(run, clients=clients, rounds=2)
    assert float(run.mu) == known.mu
    assert float(run.S) == known.S
    own = run.constants.with_values(tau_server=1)
    right = float(total(bound.formula(own, [2]))[0])
    value = found.values[0]
    ((name, part),) = backing(item, bound)
    for share, status in ((0.999, "refuted"), (1.001, "unproved")):
        less = F(share * value / right).limit_denominator(10**9)
        statement = says(
            part.says.left, w.number(less) * part.says.right, *part.says.assumed
        )
        by = Model(run=lambda: run)
        assert decide(Part(statement, by), name).status == status


def test_known_values() -> None:
    """Without noise the bowl mu x^2/2 with slope G: G^2/(2 mu) prod (1-mu eta)^2tau."""
    case = theorem("3.6").case("strongly_convex")
    quiet = USUAL.with_values(sigma2=0)
    bound = case.bound("last_model")
    assert bound.step_size is not None
    found = lower_bound(case, quiet, [5], bound)
    rate = bound.step_size.schedule(quiet).client(np.arange(5.0))
    by_hand = 1 / (2 * 0.1) * np.prod((1 - 0.1 * rate) ** 4)
    assert found.values[0] == pytest.approx(by_hand, rel=1e-6)


def test_an_instance_beside_several_bounds_keeps_to_their_constants() -> None:
    """One of them may need the first gap that another one does not speak of."""
    case = theorem("3.7").case("general_convex")
    bound, gap = case.bound("repaired"), 0.01
    assert "initial_gap" not in bound.needs
    known = USUAL.with_values(mu=0, initial_gap=gap)
    own, every = (
        lower_bound(case, known, [50], bound, also=names)
        for names in ((), ("initial_gap",))
    )
    first = [one.runs[0].constants.initial_gap for one in (own, every) if one.runs[0]]
    assert first[0] > 2 * gap
    assert first[1] <= gap * (1 + 1e-9)
    assert 0 < every.values[0] <= gap + bound.evaluate(known, [50])[0]


@pytest.mark.parametrize("start", [0.5, None])
@pytest.mark.parametrize("visits", [0, 1, 3])
def test_two_clients_in_a_plane_are_followed_as_they_run(
    visits: int, start: float | None
) -> None:
    """Step by step the same models; G is met before some client's first step."""
    rates = 4 / (2 * (31.0 + np.arange(40)))
    run = Pulled(4.0, 1.0, 0.5, start, 2, rates, visits)
    if start is None:
        np.testing.assert_allclose(run.models[1], run.models[0])
    x, largest = run.models[0], 0.0
    for eta, after in zip(rates, run.models[1:], strict=True):
        ends, z = [], x
        for H, centre in zip(run.curvatures, run.centres, strict=True):
            z = z if visits else x
            for _ in range(visits or 2):
                g = H @ (z - centre)
                largest, z = max(largest, float(g @ g)), z - eta * g
            ends.append(z)
        x = ends[-1] if visits else np.mean(ends, axis=0)
        np.testing.assert_allclose(x, after, atol=1e-12)
    for H in run.curvatures:
        np.testing.assert_allclose(np.linalg.eigvalsh(H), (1, 4))
    assert run.scale(Constants(G2=1)) <= (1 + 1e-12) / largest


@pytest.mark.parametrize(
    ("kappa", "tau", "most"),
    [
        (4, 1, 2.3),
        pytest.param(10, 1, 1.4, marks=pytest.mark.long),
        (100, 1, 1.1),
        pytest.param(4, 2, 4.4, marks=pytest.mark.long),
        (10, 2, 3),
        pytest.param(100, 2, 2.7, marks=pytest.mark.long),
        (4, 10, 3.3),
        pytest.param(10, 10, 3.3, marks=pytest.mark.long),
        (100, 10, 2.3),
    ],
)
def test_without_noise_the_ratio_stays_bounded(
    kappa: float, tau: int, most: float
) -> None:
    """Theorem 3.6, strongly convex: up to T = 10^4, where it once grew like T^6."""
    known = Constants(
        S=kappa, mu=1, sigma2=0, G2=1, weights=(0.5, 0.5), tau=tau, tau_server=tau,
        participation=1, initial_gap=0.5, initial_distance2=1,
    )  # fmt: skip
    found = still_open(theorem("3.6").case("strongly_convex"), known)
    assert 1 <= found.factor < most


@pytest.mark.parametrize(
    ("kappa", "tau", "most"),
    [
        (4, 1, 13),
        pytest.param(10, 2, 26, marks=pytest.mark.long),
        (100, 2, 75),
        pytest.param(4, 10, 35, marks=pytest.mark.long),
    ],
)
def test_visits_without_noise_leave_a_factor_that_stays(
    kappa: float, tau: int, most: float
) -> None:
    """Theorem 3.7, strongly convex, where it grew like T^6, then was 60 to 1600."""
    known = Constants(
        S=kappa, mu=1, sigma2=0, G2=1, weights=(0.5, 0.5), tau=tau, tau_server=tau,
        participation=1, initial_gap=0.5, initial_distance2=1,
    )  # fmt: skip
    found = still_open(theorem("3.7").case("strongly_convex"), known)
    assert 1 <= found.factor < most


@pytest.mark.parametrize("number", ["3.7", "3.9"])
def test_the_factor_of_visits_does_not_grow(number: str) -> None:
    """kappa = 10, everyone takes part: what was 1e8 at T = 10^4."""
    known = Constants(
        S=10, mu=1, sigma2=0, G2=1, weights=(0.5, 0.5), tau=2, tau_server=2,
        participation=1, initial_gap=0.5, initial_distance2=1,
    )  # fmt: skip
    case = theorem(number).case("strongly_convex")
    late = still_open(case, known, (10_000,)).factor
    assert late < 1.1 * still_open(case, known, (3000,)).factor < 40


def test_with_everyone_drawn_it_is_the_run_of_everyone() -> None:
    """3.8 at q_n = 1 has the bounds of 3.6, 3.9 those of 3.7; not below."""
    known = USUAL.with_values(sigma2=0)
    for drawn, full in (("3.8", "3.6"), ("3.9", "3.7")):
        cases = [theorem(each).case("strongly_convex") for each in (drawn, full)]
        one, two = (case.best(known, [10, 1000]).values for case in cases)
        np.testing.assert_allclose(one, two)
        some = cases[0].best(known.with_values(participation=0.5), [10, 1000])
        assert np.all(some.values > one)


def test_what_is_still_open_is_a_factor_of_at_least_one() -> None:
    for number in ("3.6", "3.7", "3.8", "3.9", "dachille2024/prop-1", "li2020/thm-1"):
        for case in theorem(number).cases.values():
            found = still_open(case, rounds=(1, 100))
            assert found.factor >= 1 - 1e-9
            assert f"{found.factor:.2g} times" in found.words
    for number, most in (("prop-1", 4), ("prop-2", 4), ("thm-1", 17)):
        found = still_open(theorem(f"huang2023/{number}").case(), rounds=(1, 100))
        assert 1 - 1e-9 <= found.factor < most
    with pytest.raises(ValueError, match="followed up to"):
        lower_bound(theorem("3.6").case("strongly_convex"), USUAL, [10**6])
