"""A run's setting is admitted by the certificates beside it, rounding included."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from small_problems import quadratic_file

from bounds import Experiment
from bounds.certified import chained
from bounds.comparison import Comparison, compare
from sfl_theory.worst_case.round_by_round import Followed

ETA = 1e-3 / 3


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """SFL-V1 with tiny steps, from where all clients have one gradient, far from x*."""
    curved = np.array([np.diag([1.0 + n, 3.0 - n, 1.0, 2.0]) for n in range(3)])
    start = np.full(4, 5.0)
    file = quadratic_file(
        tmp_path_factory.mktemp("q") / "q.npz", H=curved, b=curved @ start - 1, x0=start
    )
    experiment = Experiment(
        problem=f"quadratic:{file}", rounds=2, seeds=2, tau=2, learning_rate=ETA
    )
    return compare("3.6", "strongly_convex", experiment=experiment)


def test_constants_also_hold_at_the_minimiser(compared: Comparison) -> None:
    """Certificates compare with x*, which a short run's ball does not reach."""
    run = compared.measurement
    problem, a = run.setting.problem, np.array(run.constants.weights)
    H = np.einsum("n,nij->ij", a, problem.H)
    best = np.linalg.lstsq(H, a @ problem.b, rcond=None)[0]
    apart = np.sum((problem.H @ best - problem.b) ** 2, axis=1).max()
    assert run.constants.eps2 is not None
    assert run.constants.eps2 >= apart * (1 - 1e-9)
    assert run.along.eps2 is not None
    assert run.along.eps2 < apart, "otherwise this problem shows nothing"


def test_a_certificate_admits_the_runs_own_steps_and_noise(
    compared: Comparison,
) -> None:
    run, uneven = compared.measurement, compared.measurement.schedule.scaled(0.3)
    known = run.constants.with_values(sigma2=1.0)
    run = replace(run, constants=known, schedule=uneven)
    followed = chained(replace(compared, measurement=run))
    assert isinstance(followed, Followed)
    one = followed.rounds[0]
    setting, unit = one.certificate.setting, one.unit
    client, server = (
        float(side(np.zeros(1))[0]) for side in (uneven.client, uneven.server)
    )
    assert setting.client_steps == (Fraction(client),)
    assert setting.server_steps == (Fraction(server),)
    parts = [Fraction(a) for a in known.weights or ()]
    mean = sum(a * a for a in parts) / sum(parts) ** 2
    assert mean <= setting.noises["mean"] * unit
    assert 1 - mean <= setting.noises["deviation"] * unit


def test_two_schedules_are_told_from_one_however_small(compared: Comparison) -> None:
    run = compared.measurement
    two = replace(run.schedule, server=lambda t: 1e-9 / (1 + t))
    found = chained(replace(compared, measurement=replace(run, schedule=two)))
    assert found == "two schedules"
