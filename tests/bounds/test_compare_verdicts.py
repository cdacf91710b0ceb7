"""The comparison can say *violated*: wrong bounds and wrong rates are caught."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_problems import quadratic_file

from bounds import Experiment
from bounds.comparison import against, compare
from sfl_theory import Bound, schedules, theorem, theorems
from sfl_train.engine import Trainer

EVERYTHING = [(item.key, name) for item in theorems() for name in item.cases]


@pytest.fixture(scope="module")
def quadratic(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"quadratic:{quadratic_file(tmp_path_factory.mktemp('q') / 'q.npz')}"


def divided(bound: Bound, factor: float) -> Bound:
    parts = {name: part / factor for name, part in bound.parts.items()}
    return replace(bound, parts=parts, version="divided")


@pytest.mark.parametrize(("key", "name"), EVERYTHING)
def test_every_bound_is_compared_and_a_wrong_one_is_caught(
    key: str, name: str, quadratic: str
) -> None:
    """Dividing a bound's constant until it crosses the curve turns the verdict."""
    found = compare(
        key, name, experiment=Experiment(problem=quadratic, rounds=12, seeds=6, tau=2)
    )
    assert found.verdict.word in {"holds", "inconclusive", "violated"}
    assert np.all(np.isfinite(found.values))
    assert found.values == pytest.approx(np.sum(list(found.terms.values()), axis=0))
    crossing = float(np.max(found.values / found.band.mean))
    item = theorem(key)
    wrong = against(item, name, divided(found.bound, 50 * crossing), found.measurement)
    assert wrong.verdict.word == "violated"
    right = against(item, name, divided(found.bound, 1e-6), found.measurement)
    assert right.verdict.word == "holds"


def test_a_planted_learning_rate_is_caught_and_named(tmp_path: Path) -> None:
    """A rate far below the theorem's stalls the run: the bound passes below it.

    S = mu makes the bound as tight as it gets: about 54 (gamma+1)/(gamma+T) times
    S I_err / 2 at first, below S I_err / 2 from T of a few hundred on.
    """
    path = quadratic_file(
        tmp_path / "q.npz",
        clients=2,
        noise=0.0,
        H=np.stack([np.eye(2)] * 2),
        b=np.zeros((2, 2)),
        x0=np.ones(2),
        cut=1,
    )
    options = {"problem": f"quadratic:{path}", "rounds": 2000, "seeds": 2, "tau": 1}
    stalled = compare(
        "3.6", "strongly_convex", experiment=Experiment(learning_rate=1e-9, **options)
    )
    assert stalled.verdict.word == "violated"
    assert stalled.verdict.first_violation is not None
    assert any("learning rate" in note for note in stalled.measurement.departures)
    proper = compare("3.6", "strongly_convex", experiment=Experiment(**options))
    assert proper.verdict.word == "holds"
    assert proper.measurement.departures == ()


def test_measured_curve_is_gradient_descent_by_hand(tmp_path: Path) -> None:
    """One client, no noise, tau = 1: the curve is that of plain gradient descent."""
    path = quadratic_file(tmp_path / "q.npz", clients=1, noise=0.0)
    data = np.load(path)
    H, b, x = data["H"][0], data["b"][0], data["x0"]
    eta = 0.05
    found = compare(
        "3.7",
        "non_convex",
        experiment=Experiment(
            problem=f"quadratic:{path}",
            rounds=9,
            seeds=1,
            tau=1,
            learning_rate=eta,
            weights="uniform",
        ),
    )
    total, expected = 0.0, []
    for T in range(1, 10):
        gradient = H @ x - b
        total += eta * gradient @ gradient
        expected.append(total / T)
        x = x - eta * gradient
    assert found.measurement.setting.deterministic
    assert found.band.mean == pytest.approx(np.array(expected), rel=1e-12)


@pytest.mark.parametrize("key", ["3.6", "3.7", "3.8", "3.9", "huang2023/thm-1"])
def test_constants_on_the_ball_cover_those_met(key: str, quadratic: str) -> None:
    """Analytic constants hold on a ball with every iterate, so they are the larger."""
    experiment = Experiment(problem=quadratic, rounds=20, seeds=4, tau=3)
    found = compare(key, "strongly_convex", experiment=experiment).measurement
    for name in ("G2", "eps2", "R2"):
        assert getattr(found.constants, name) >= getattr(found.along, name) > 0
        assert found.constants.provenance[name] == "analytic"
        assert found.along.provenance[name] == "trajectory"
        assert "ball" in found.constants.domain[name]
    assert np.all(np.array(found.constants.sigma2) >= np.array(found.along.sigma2))


def test_the_ball_holds_every_seed(quadratic: str) -> None:
    """The stated radius is that of the farthest local iterate of all seeds."""
    experiment = Experiment(problem=quadratic, rounds=8, seeds=4, tau=3)
    found = compare("3.7", "strongly_convex", experiment=experiment).measurement
    radius = float(found.constants.domain["G2"].split("radius ")[1].split()[0])
    setting = found.setting
    farthest = []
    for seed in setting.federation.seeds:
        alone = replace(setting.federation, seeds=(seed,))
        trainer = Trainer(alone, setting.algorithm, found.schedule, track_ball=True)
        for _ in trainer.rounds(8):
            pass
        farthest.append(float(trainer.farthest))
    assert radius == pytest.approx(max(farthest), rel=1e-5)
    assert min(farthest) < 0.99 * radius


def test_Gamma_is_the_gap_between_joint_and_separate_minima(quadratic: str) -> None:
    """f* - sum a_n min F_n, by hand for quadratics: min F_n = -b_n' H_n^-1 b_n / 2."""
    found = compare(
        "huang2023/thm-1", experiment=Experiment(problem=quadratic, rounds=2, seeds=2)
    ).measurement.constants
    data = np.load(quadratic.removeprefix("quadratic:"))
    a, H, b = np.array(found.weights), data["H"], data["b"]

    def least(H: np.ndarray, b: np.ndarray) -> float:
        return float(-b @ np.linalg.solve(H, b) / 2)

    joint = least(np.tensordot(a, H, 1), a @ b)
    separate = sum(w * least(*pair) for w, *pair in zip(a, H, b, strict=True))
    assert found.Gamma == pytest.approx(joint - separate, rel=1e-10)
    assert found.Gamma > 0


def test_distances_split_the_initial_error(quadratic: str) -> None:
    found = compare(
        "huang2023/prop-1", experiment=Experiment(problem=quadratic, rounds=3, seeds=2)
    ).measurement.constants
    assert found.initial_distance2 == pytest.approx(
        found.initial_distance2_client + found.initial_distance2_server
    )


def test_same_choice_same_numbers_and_other_seeds_other_numbers(quadratic: str) -> None:
    """A comparison is a function of its configuration."""
    one, two, other = (
        compare(
            "3.9",
            "strongly_convex",
            experiment=Experiment(problem=quadratic, rounds=5, seeds=3, seed=seed),
        )
        for seed in (0, 0, 7)
    )
    assert np.array_equal(one.measurement.curve, two.measurement.curve)
    assert not np.array_equal(one.measurement.curve, other.measurement.curve)


@pytest.mark.parametrize(
    ("key", "name", "words"),
    [
        ("3.5", "any", {"inconclusive"}),
        ("3.7", "strongly_convex", {"inconclusive", "holds"}),
        ("3.7", "general_convex", {"inconclusive", "holds"}),
        ("3.7", "non_convex", {"inconclusive", "holds"}),
        ("huang2023/prop-1", None, {"inconclusive", "holds"}),
    ],
)
def test_rounding_is_no_violation(
    key: str, name: str | None, words: set[str], tmp_path: Path
) -> None:
    """Where a true bound is met with equality, rounding must not refute it.

    Prop. 3.5 is an equality for H = S I; from x0 = x* on, equal clients without noise
    stay there, and the bounds of the theorems are 0.
    """
    rng = np.random.default_rng(3)
    start, at = rng.normal(size=4), rng.normal(size=4)
    clients = 1 if key == "3.5" else 3
    H = 3 * np.eye(4) if key == "3.5" else np.diag([1.3, 2.1, 3.7, 0.9])
    H = H + (0 if key == "3.5" else 0.1)
    path = quadratic_file(
        tmp_path / "q.npz",
        clients=clients,
        noise=0.0,
        H=np.stack([H] * clients),
        b=np.stack([H @ at] * clients),
        x0=start if key == "3.5" else at,
    )
    experiment = Experiment(problem=f"quadratic:{path}", rounds=30, seeds=2, tau=2)
    assert compare(key, name, experiment=experiment).verdict.word in words


def test_a_rate_per_round_is_not_a_rate_per_step(quadratic: str) -> None:
    """huang2023's formula read per round is another run, whatever its numbers."""
    item = theorem("huang2023/thm-1")
    experiment = Experiment(problem=quadratic, rounds=4, seeds=2, tau=3)
    found = compare(item, experiment=experiment).measurement
    assert found.departures == ()
    constants = found.constants
    gamma = max(8 * constants.S / constants.mu - 1, 3)
    same = schedules.inverse_time(2 / constants.mu, gamma)
    found = compare(item, experiment=replace(experiment, learning_rate=same))
    assert any("learning rate" in note for note in found.measurement.departures)


def test_network_meets_no_smoothness_above_the_one_it_uses() -> None:
    experiment = Experiment(clients=3, rounds=3, seeds=2, tau=2, batch_size=8)
    found = compare("3.6", "non_convex", experiment=experiment)
    assert found.measurement.constants.provenance["S"] == "trajectory"
    words = found.measurement.constants.domain["S"]
    met = float(words.split("met is ")[1].split()[0])
    assert met <= found.measurement.constants.S
    assert found.verdict.word == "holds"
