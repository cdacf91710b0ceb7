"""A run's setting is admitted by the certificates beside it, rounding included."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from small_problems import quadratic_file

from bounds import Experiment
from bounds.certified import Derived, certified, chained, derived, write_proofs
from bounds.comparison import Comparison, compare
from sfl_theory.kernel.replay import replay
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


@pytest.fixture(scope="module")
def followed(compared: Comparison) -> Followed:
    found = chained(compared)
    assert isinstance(found, Followed)
    return found


def test_a_bound_reads_as_proved_only_where_the_kernel_replayed_it(
    compared: Comparison, followed: Followed
) -> None:
    known = derived(followed, "chain")
    assert isinstance(known, Derived)
    (claim,) = replay(known.document)
    assert claim.proved
    assert known.assumes == tuple(sorted(map(str, claim.hypotheses)))
    shown = certified(compared, followed, known).as_dict()
    assert (shown["version"], shown["audit"]["status"]) == ("proved", "proved")
    assert shown["proof"]["rounds"] == len(followed.steps)
    other = certified(compared, followed, "no derivation is known").as_dict()
    assert (other["version"], other["audit"], other["proof"]) == (
        "certified", None, None,
    )  # fmt: skip
    assert any("no derivation is known" in words for words in other["remarks"])


def test_what_has_no_proof_says_why(followed: Followed) -> None:
    large = replace(followed, rounds=followed.rounds * 100)
    words = derived(large, "chain")
    assert isinstance(words, str)
    assert "--proof" in words
    unknown = replace(followed.setting, zeta2=Fraction(1))
    words = derived(replace(followed, setting=unknown), "chain")
    assert isinstance(words, str)
    assert "no derivation is known" in words


def test_proofs_are_written_by_case(
    compared: Comparison, followed: Followed, tmp_path: Path
) -> None:
    shown = certified(compared, followed, derived(followed, "chain"))
    (words,) = write_proofs(tmp_path / "proofs", [compared, shown])
    file = tmp_path / "proofs" / "strongly_convex.json"
    assert str(file) in words
    (claim,) = replay(file.read_text(encoding="utf-8"))
    assert claim.proved
    (words,) = write_proofs(tmp_path / "none", [certified(compared, followed, "no")])
    assert "no bound round by round was proved" in words
    assert not (tmp_path / "none").exists()
