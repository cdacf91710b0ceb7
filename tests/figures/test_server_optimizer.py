"""Protects the experiment on the server's optimizer: planted effects, and none.

Its numbers come from finished runs, its words from its intervals, and an effect that
is not there is not reported.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

from figures import grid
from figures.paired import interval, slopes
from figures.server_optimizer import design, report
from figures.server_optimizer.__main__ import main

CUTS, SEEDS = design.CUTS, len(design.SEEDS)
LEVELS = {"step": 0.6, "step-scaled": 0.8, "round": 0.85, "run": 0.85}


def planted(rng, spread: float = 0.02, **slope: float) -> dict[str, np.ndarray]:
    """Accuracies whose seeds differ far more than cuts do, plus a slope by arm."""
    seed = rng.normal(0, 0.1, (SEEDS, 1))
    found = {}
    for arm, level in LEVELS.items():
        noise = 0.0 if arm == "round" else rng.normal(0, spread, (SEEDS, 4))
        trend = slope.get(arm.replace("-", "_"), 0.0) * np.array(CUTS)
        found[arm] = level + seed + trend + noise
    return found


def test_slopes_are_those_of_lines() -> None:
    y = np.array([[1.0, 3.0, 5.0, 7.0], [4.0, 4.0, 4.0, 4.0], [0.0, -1.0, -2.0, -3.0]])
    assert slopes(CUTS, y) == pytest.approx([2.0, 0.0, -1.0])
    rng = np.random.default_rng(0)
    noisy = rng.normal(size=(5, 4))
    fitted = [np.polyfit(CUTS, row, 1)[0] for row in noisy]
    assert slopes(CUTS, noisy) == pytest.approx(fitted)


def test_the_interval_is_students() -> None:
    """Mean 3, standard error sqrt(2.5/5), quantile 2.776 of four degrees."""
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0])
    half = 2.7764451 * np.sqrt(0.5)
    assert (found.low, found.mean, found.high) == pytest.approx((3 - half, 3, 3 + half))
    for wrong in ([1.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="two or more finite"):
            interval(wrong)
    with pytest.raises(ValueError, match="rows of 4"):
        slopes(CUTS, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="finite"):
        slopes(CUTS, [[1.0, np.nan, 1.0, 1.0]])
    with pytest.raises(ValueError, match="different x"):
        slopes([1, 1], [[1.0, 2.0]])


def test_a_planted_zero_is_reported_as_often_as_the_level_allows() -> None:
    rng, truth = np.random.default_rng(1), 0.03
    reported = covered = 0
    for _ in range(800):
        effect = report.effects(planted(rng, step=truth))
        reported += effect["run"].sign != 0
        covered += effect["step"].low <= truth <= effect["step"].high
        assert effect["round"].mean == pytest.approx(0, abs=1e-12)
    assert 0.03 < reported / 800 < 0.07
    assert 0.93 < covered / 800 < 0.97


def test_the_seeds_own_level_widens_no_slope() -> None:
    effect = report.effects(planted(np.random.default_rng(2), step=0.03))
    assert effect["step"].high - effect["step"].low < 0.03
    assert effect["step"].sign == 1


def test_differences_are_taken_within_a_seed() -> None:
    rng = np.random.default_rng(3)
    found = planted(rng)
    own = np.linspace(-0.3, 0.3, SEEDS)[:, None] * np.array(CUTS)  # in both arms
    found["step"] = found["step"] + own + 0.03 * np.array(CUTS)
    found["run"] = found["run"] + own
    effect = report.effects(found)
    assert effect["step"].sign == 0
    assert effect["step - run"].sign == 1
    assert effect["step - run"].mean == pytest.approx(
        effect["step"].mean - effect["run"].mean
    )


NO_TREND = "shows no trend with the cut"


@pytest.mark.parametrize(
    ("slope", "said", "unsaid"),
    [
        (
            {"step": 0.05},
            ["mini-batch the accuracy rises", f"Never rebuilt, the accuracy {NO_TREND}",
             "vanishes", "also when only the server keeps it", "follows the length"],
            ["not reproduced", "turns into", "remains"],
        ),
        (
            {"step": 0.05, "run": -0.05, "step_scaled": -0.05},
            ["Never rebuilt, the accuracy falls", "turns into a fall when only",
             "follows the length"],
            ["not reproduced", "also when", "remains"],
        ),
        (
            {},
            [f"mini-batch the accuracy {NO_TREND}", "not reproduced"],
            ["rises", "vanishes", "follows"],
        ),
        (
            {"step": -0.05},
            ["mini-batch the accuracy falls", "not reproduced"],
            ["rises", "vanishes", "follows"],
        ),
        (
            {"step": 0.05, "run": 0.05, "step_scaled": 0.05},
            ["Never rebuilt, the accuracy rises", "remains when only"],
            ["also when", "turns into", "follows"],
        ),
    ],
    ids=["artefact", "reversed", "none", "falls", "remains"],
)  # fmt: skip
def test_the_words_follow_the_intervals(slope, said, unsaid) -> None:
    words = report.conclusion(
        report.effects(planted(np.random.default_rng(4), **slope))
    )
    for part in said:
        assert part in words, words
    for part in unsaid:
        assert part not in words, words


def test_copies_of_one_run_are_no_seeds() -> None:
    found = planted(np.random.default_rng(5))
    found["step"] = np.tile(np.array(CUTS) * 0.25, (SEEDS, 1))
    with pytest.raises(ValueError, match="copies"):
        report.effects(found)


@pytest.fixture
def tiny(monkeypatch):
    setting = design.SETTING | {
        "width": 1 / 32,
        "dataset": "synthetic:2x1x16:40",
        "partition": "iid",
        "clients": 2,
        "rounds": 3,
    }
    monkeypatch.setattr(design, "SETTING", setting)
    monkeypatch.setattr(design, "SEEDS", (0, 1))


@pytest.mark.long
def test_runs_are_made_once_and_the_report_replaces_itself(tiny, tmp_path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "out"
    out.mkdir()
    (out / "README.md").write_text("# Figures\n\nKept above.\n\n")
    arguments = ["--runs", str(runs), "--out", str(out), "--quiet"]
    assert main(arguments) == 0
    made = {path: path.stat().st_mtime_ns for path in runs.rglob("metrics.jsonl")}
    assert len(made) == len(design.cells()) == 3 + 2 * 13
    first = (out / "README.md").read_text()
    (out / "README.md").write_text(first + "Kept below.\n")
    assert main(arguments) == 0
    assert made == {p: p.stat().st_mtime_ns for p in runs.rglob("metrics.jsonl")}
    text = (out / "README.md").read_text()
    assert text == first + "Kept below.\n"
    assert text.startswith("# Figures\n\nKept above.\n\n")
    assert text.count("<!-- server_optimizer -->") == 1
    rows = list(csv.DictReader((out / "server_optimizer.csv").open()))
    assert len(rows) == len(made)
    accuracies = design.accuracies(runs)
    for row in rows:
        cell = accuracies[row["arm"]][int(row["seed"]), int(row["cut"]) - 1]
        assert float(row["accuracy"]) == pytest.approx(cell, abs=1e-6)
        assert (runs / row["run"] / "done").exists()
    for kind in ("png", "pdf"):
        assert (out / f"server_optimizer.{kind}").stat().st_size > 5000

    at_last_cut = design.config("round", 4, 0)
    model = grid.folder(at_last_cut, runs) / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-1] + b"\0")
    with pytest.raises(SystemExit):
        main(arguments)


def test_arms_differ_in_the_servers_optimizer_alone() -> None:
    base = design.config("round", 1, 0).identity()
    assert base["lifetime"] == "round"
    for arm in design.ARMS:
        other = design.config(arm, 1, 0).identity()
        changed = {name for name, value in other.items() if base[name] != value}
        assert changed <= {"server_lifetime", "lr_server"}
    scaled = design.config("step-scaled", 1, 0)
    assert scaled.lr_server == pytest.approx(scaled.lr / (1 - scaled.momentum))


def test_an_unfinished_run_is_not_averaged(tiny, tmp_path) -> None:
    chosen = design.config("step", 1, 0)
    grid.make([chosen], tmp_path, quiet=True)
    metrics = grid.folder(chosen, tmp_path) / "metrics.jsonl"
    value = grid.final(chosen, tmp_path, "test_accuracy", 3)
    assert 0 <= value <= 1
    with pytest.raises(ValueError, match="diverged or is unfinished"):
        grid.final(chosen, tmp_path, "test_accuracy", 5)  # it has four
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[:-1]))
    with pytest.raises(ValueError, match="diverged or is unfinished"):
        grid.final(chosen, tmp_path, "test_accuracy", 3)


def test_the_picture_says_what_was_run(monkeypatch) -> None:
    """From the runs' configuration: synthetic, width, rounds, and all the rest."""
    found = planted(np.random.default_rng(5), step=0.03)
    said = " ".join(report.picture(found).get_supxlabel().split())
    for words in ("SFL-V1", "synthetic 3×16×16", "width 1/8", "rounds 20", "N = 10"):
        assert words in said
    monkeypatch.setitem(design.SETTING, "rounds", 77)
    assert "rounds 77" in " ".join(report.picture(found).get_supxlabel().split())


def test_it_is_drawn_again_from_its_numbers(tmp_path, capsys) -> None:
    """To the same bytes as with the runs; without the numbers, one line."""
    found = planted(np.random.default_rng(6), step=0.03)
    found["round"][:] = found["round"][:, :1]
    rounded = {arm: np.round(values, 6) for arm, values in found.items()}
    report.write(rounded, [1.0] * len(design.cells()), tmp_path)
    before = (tmp_path / "server_optimizer.png").read_bytes()
    (tmp_path / "server_optimizer.png").unlink()
    assert main(["--draw-only", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "server_optimizer.png").read_bytes() == before
    with pytest.raises(SystemExit) as stopped:
        main(["--draw-only", "--out", str(tmp_path / "none")])
    assert stopped.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
