"""Protects the rule of hardness: what it looks at, takes, and may not see."""

from __future__ import annotations

import pytest
from planted_runs import accuracies, plant

from figures import grid, hardness
from figures.scale import CPU, DATASETS, NOISE


def test_it_sees_no_seed_and_no_other_method_of_a_figure() -> None:
    runs = [one for noise in hardness.LADDER for one in hardness.configs(noise)]
    assert {one.algorithm for one in runs} == {"fedavg"}
    assert not {one.seed for one in runs} & set(CPU.seeds)
    assert {one.dataset for one in hardness.configs(NOISE)} == set(DATASETS.values())


def test_it_takes_the_noise_that_ends_nearest_to_the_middle(
    tmp_path, monkeypatch, capsys
) -> None:
    """Planted: 25 % ends near 1, 50 % near chance, 35 % three points off the middle."""
    offset = {25: 0.4, 35: 0.03, 50: -0.3}

    def make(configs, root, quiet):
        for one in configs:
            level = hardness.middle(one) + offset[int(one.dataset.split(":")[-1])]
            rounds = [0.1, *[level] * one.rounds]
            plant(one, root, accuracies(rounds), diverged=False)

    monkeypatch.setattr(grid, "make", make)
    assert hardness.main(["--runs", str(tmp_path)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"the rule takes {NOISE} %" == "the rule takes 35 %"
    assert "3.0 points" in said[1]
    assert hardness.distance(25, tmp_path) == pytest.approx(0.4)


def test_the_middle_is_between_chance_and_one() -> None:
    ten, seven = (hardness.config(name, 35, 1000) for name in ("cifar10", "ham10000"))
    assert hardness.middle(ten) == pytest.approx(0.55)
    assert hardness.middle(seven) == pytest.approx((1 + 1 / 7) / 2)
