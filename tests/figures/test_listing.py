"""Protects the list: every figure is there, counts are those of the run folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from planted_runs import accuracies, plant

from figures import estimate
from figures.__main__ import main
from figures.networks import NETWORKS
from figures.papers import BY_KEY, FIGURES
from figures.scale import CPU, PAPER


def test_every_figure_and_table_of_the_papers_is_there() -> None:
    expected = {f"han2024/fig-{n}" for n in range(2, 14)}
    expected |= {f"han2024/table-{n}" for n in range(1, 5)}
    expected |= {f"huang2023/fig-{n}" for n in range(2, 15)}
    expected |= {f"dachille2024/table-{n}" for n in (3, 4)}
    assert set(BY_KEY) == expected
    assert len(FIGURES) == len(BY_KEY)


def test_json_counts_runs_and_names_data(tmp_path, capsys) -> None:
    figure = BY_KEY["han2024/fig-13"]
    configs = list(figure.configs(CPU))
    plant(configs[0], tmp_path, accuracies([0.1]), diverged=False)
    plant(configs[1], tmp_path, accuracies([0.1]), diverged=True)
    plant(configs[2], tmp_path, accuracies([0.1]))
    assert main(["list", "--json", "--runs", str(tmp_path)]) == 0
    content = json.loads(capsys.readouterr().out)
    rows = {row["key"]: row for row in content["figures"]}
    assert list(rows) == list(BY_KEY)
    row = rows[figure.key]
    counts = [row[name] for name in ("runs", "finished", "unfinished", "missing")]
    assert counts == [15, 2, 1, 12]
    assert "femnist" in row["data"]["femnist"]
    assert rows["han2024/table-1"]["runs"] == 0
    # Figures 2, 8 and 9 of han2024 share all their runs.
    assert rows["han2024/fig-2"]["runs"] == rows["han2024/fig-8"]["runs"] == 80
    assert content["all"]["runs"] == 1240 < sum(row["runs"] for row in rows.values())
    assert content["all"]["core_seconds"] < sum(
        r["core_seconds"] for r in rows.values()
    )


def test_the_table_says_what_the_papers_size_needs(tmp_path, capsys) -> None:
    assert main(["list", "--preset", "paper", "--runs", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    for key in BY_KEY:
        assert key in text
    for word in ("tiny-imagenet-200.zip", "https://", "0 of 1240", "A100"):
        assert word in text


def test_the_estimate_is_images_times_operations() -> None:
    """SFL-V1 on CIFAR-10: 200 rounds of 5 epochs, 201 evaluations of 10000 images."""
    figure = BY_KEY["han2024/fig-2"]
    panel = figure.panels[0]
    found = estimate.work(figure.config(panel, panel.curves[0], PAPER, 0))
    images = 200 * 5 * 50_000 + 201 * 10_000 / 3
    assert found.images == pytest.approx(images)
    assert found.flops == pytest.approx(6 * 555e6, rel=0.01)  # of 555 M products
    assert found.gpu_seconds / 3600 == pytest.approx(10, rel=0.1)


def test_fewer_participants_and_no_measuring_cost_less() -> None:
    figure, measured = BY_KEY["han2024/fig-4"], BY_KEY["han2024/fig-12"]
    panel = figure.panels[0]
    part, _, whole = (
        estimate.work(figure.config(panel, curve, CPU, 0)) for curve in panel.curves
    )
    assert part.steps < 0.3 * whole.steps
    panel = measured.panels[0]
    with_measuring = estimate.work(measured.config(panel, panel.curves[0], CPU, 0))
    assert with_measuring.images > 2 * whole.images


def test_the_list_loads_nothing_that_takes_seconds(tmp_path) -> None:
    """Neither for runs that are there nor for those that are not."""
    planted = [*BY_KEY["han2024/fig-13"].configs(CPU)]
    for config in planted:
        plant(config, tmp_path, accuracies([0.1]), diverged=False)
    code = (
        "import sys; from figures.__main__ import main\n"
        f"main(['list', '--runs', {str(tmp_path)!r}])\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'matplotlib', 'pandas'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert f"{len(planted)} of 1240 distinct runs made" in done.stdout


def test_networks_are_as_pytorch_counts_them() -> None:
    """All that the figures declare, and no other; the wide ones take too long."""
    shapes = estimate.shapes()
    assert {shape.name for shape in shapes} == set(NETWORKS)
    for shape in shapes:
        if shape.width < 1 or shape.model == "cnn":
            assert estimate.counted(shape) == NETWORKS[shape.name]


def test_the_estimate_includes_start_up_and_every_process() -> None:
    figure = BY_KEY["han2024/fig-13"]
    runs = list(figure.configs(CPU))
    alone = sum(estimate.work(run).core_seconds for run in runs)
    one, two = (estimate.core_seconds(runs, jobs) for jobs in (1, 2))
    assert one == pytest.approx(alone + estimate.CORE_START)
    assert two == pytest.approx(one + estimate.CORE_START)
    assert estimate.core_seconds(runs[:1], 2) < one
    assert estimate.core_seconds([], 2) == 0


def test_all_figures_fit_the_budget() -> None:
    """Five seeds of the preset cpu in 45 minutes of two cores."""
    runs = {c.hash: c for figure in FIGURES for c in figure.configs(CPU)}.values()
    assert len(CPU.seeds) == 5
    assert estimate.core_seconds(list(runs), 2) < 45 * 60 * 2


def test_a_missing_extra_is_told_before_the_table(monkeypatch, capsys) -> None:
    monkeypatch.setattr("figures.checking.find_spec", lambda _: None)
    with pytest.raises(SystemExit) as stopped:
        main(["check", "--all"])
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert not said.out
    assert 'needs scipy: pip install "sfl-verify[train]"' in said.err
