"""Protects what is read from run folders: the right numbers, and nothing half-made."""

from __future__ import annotations

import json

import numpy as np
import pytest
from planted_runs import ROUNDS, TINY, accuracies, plant, shrink, small

from figures.series import series, standing, standings
from sfl_train.runs.files import RunError

VALUES = {0: [0.1, 0.5, 0.6, 0.7], 1: [0.1, 0.3, 0.8, 0.9]}


@pytest.fixture
def figure(monkeypatch):
    shrink(monkeypatch)
    return small()


def config(figure, seed: int, panel: int = 0, curve: int = 0):
    one = figure.panels[panel]
    return figure.config(one, one.curves[curve], TINY, seed)


def read(figure, root, panel: int = 0, curve: int = 0):
    one = figure.panels[panel]
    return series(figure, one, one.curves[curve], TINY, root)


def test_mean_and_seeds_are_those_of_the_folders(figure, tmp_path) -> None:
    for seed, values in VALUES.items():
        plant(config(figure, seed), tmp_path, accuracies(values), diverged=False)
    found = read(figure, tmp_path)
    assert found.rounds.tolist() == [0, 1, 2, 3]
    assert (found.seeds, found.lacking) == ((0, 1), ())
    assert found.values == pytest.approx(np.array([VALUES[0], VALUES[1]]))
    assert found.mean() == pytest.approx(np.mean([VALUES[0], VALUES[1]], axis=0))


def test_a_quantity_without_a_value_has_no_point_there(monkeypatch, tmp_path) -> None:
    shrink(monkeypatch)
    figure = small(quantity="train_loss")
    plant(config(figure, 0), tmp_path, accuracies(VALUES[0]), diverged=False)
    found = read(figure, tmp_path)
    assert found.rounds.tolist() == [1, 2, 3]
    assert found.values[0] == pytest.approx([0.5, 0.4, 0.3])


def test_one_seed_is_its_mean_and_none_has_no_mean(figure, tmp_path) -> None:
    plant(config(figure, 1), tmp_path, accuracies(VALUES[1]), diverged=False)
    found = read(figure, tmp_path)
    assert found.seeds == (1,)
    assert found.mean() == pytest.approx(VALUES[1])
    assert read(figure, tmp_path, panel=1).mean().size == 0


def test_only_finished_runs_are_drawn(figure, tmp_path) -> None:
    plant(config(figure, 0), tmp_path, accuracies(VALUES[0]), diverged=True, rounds=3)
    assert read(figure, tmp_path).lacking == ((0, "diverged"), (1, "missing"))
    plant(config(figure, 1), tmp_path, accuracies(VALUES[1]))
    assert read(figure, tmp_path).lacking == ((0, "diverged"), (1, "unfinished"))
    wanted = list(figure.configs(TINY))
    assert standings(wanted, tmp_path) == {
        "finished": 0, "diverged": 1, "unfinished": 1, "missing": 6,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("epsilon2", [2.0, 4.0]),
        ("variance_at_client", [6.0, 7.0]),
        ("variance_across_clients", [8.0, 9.0]),
    ],
)
def test_measured_quantities_are_the_client_sides_at_the_own_cut(
    monkeypatch, tmp_path, quantity, expected
) -> None:
    shrink(monkeypatch)
    figure = small(quantity=quantity)
    cuts = [
        {
            "cut": cut,
            "client": {"epsilon2": 2.0 * cut},
            "server": {"epsilon2": 99.0},
            "variance_at_client": 98.0,
            "variance_at_client_per_cut": 5.0 + cut,
            "variance_across_clients": 97.0,
            "variance_across_clients_per_cut": 7.0 + cut,
        }
        for cut in (1, 2)
    ]
    records = accuracies(VALUES[0])
    for t in (0, 2):
        records[t]["measured"] = {"epsilon2": 96.0, "cuts": cuts}
    for curve in (0, 1):
        one = config(figure, 0, curve=curve)
        assert one.measure == "every=1"
        plant(one, tmp_path, records, diverged=False)
        found = read(figure, tmp_path, curve=curve)
        assert found.rounds.tolist() == [0, 2]
        assert found.values.tolist() == [[expected[curve]] * 2]


def test_a_folder_of_another_version_is_named(figure, tmp_path) -> None:
    one = config(figure, 0)
    path = plant(one, tmp_path, accuracies(VALUES[0]), diverged=False)
    other = json.loads((path / "config.json").read_text()) | {"hash": "0" * 64}
    (path / "config.json").write_text(json.dumps(other))
    with pytest.raises(RunError, match=rf"{path}: .*another version"):
        standing(one, tmp_path)


@pytest.mark.parametrize("lacking", ["test_accuracy", "round"])
def test_records_of_another_version_are_named(figure, tmp_path, lacking) -> None:
    records = accuracies(VALUES[0])
    del records[1][lacking]
    plant(config(figure, 0), tmp_path, records, diverged=False)
    with pytest.raises(RunError, match=r"metrics.jsonl: .*another version"):
        read(figure, tmp_path)


def test_a_summary_of_another_version_is_named(figure, tmp_path) -> None:
    one = config(figure, 0)
    path = plant(one, tmp_path, accuracies(VALUES[0]), diverged=False)
    content = json.loads((path / "done").read_text())
    del content["diverged"]
    (path / "done").write_text(json.dumps(content))
    with pytest.raises(RunError, match=r"done: damaged: it is no summary"):
        read(figure, tmp_path)


@pytest.mark.parametrize("name", ["metrics.jsonl", "model.safetensors"])
def test_results_that_were_lost_or_changed_are_not_drawn(name, figure, tmp_path):
    path = plant(config(figure, 0), tmp_path, accuracies(VALUES[0]), diverged=False)
    kept = (path / name).read_bytes()
    (path / name).write_bytes(kept + b" ")
    with pytest.raises(RunError, match=f"{name} is changed since the run ended"):
        read(figure, tmp_path)
    (path / name).unlink()
    with pytest.raises(RunError, match=f"{name} is missing"):
        read(figure, tmp_path)
    (path / name).write_bytes(kept)
    assert read(figure, tmp_path).seeds == (0,)


def test_a_run_that_lacks_its_last_round_is_not_drawn(figure, tmp_path) -> None:
    records = accuracies(VALUES[0])[:ROUNDS]
    plant(config(figure, 0), tmp_path, records, diverged=False)
    with pytest.raises(RunError, match="last round"):
        read(figure, tmp_path)


def test_runs_evaluated_at_different_rounds_are_not_averaged(figure, tmp_path) -> None:
    for seed, values in VALUES.items():
        records = accuracies(values)
        if seed:
            del records[1]
        plant(config(figure, seed), tmp_path, records, diverged=False)
    with pytest.raises(RunError, match="different rounds"):
        read(figure, tmp_path)


def test_a_round_without_participants_keeps_the_training_loss(
    monkeypatch, tmp_path
) -> None:
    """Nobody trained there, so the model is that of the round before."""
    shrink(monkeypatch)
    figure = small(quantity="train_loss")
    for seed, values in VALUES.items():
        records = accuracies(values)
        records[2 if seed else 1] |= {"train_loss": None}
        plant(config(figure, seed), tmp_path, records, diverged=False)
    found = read(figure, tmp_path)
    assert found.rounds.tolist() == [2, 3]  # before, seed 0 has no loss yet
    assert found.values[0] == pytest.approx([0.4, 0.3])
    assert found.values[1] == pytest.approx([0.7, 0.1])
