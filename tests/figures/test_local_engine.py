"""Protects sweeps on one machine: a lost process costs one run, Ctrl-C none."""

from __future__ import annotations

import multiprocessing
import os
import signal

import pytest
from planted_runs import TINY, shrink, small

from figures.engines.engine import Outcome, distinct, make_one
from figures.engines.local import LocalEngine
from figures.grid import folder


@pytest.fixture
def configs(monkeypatch):
    shrink(monkeypatch)
    return distinct(small().configs(TINY))


@pytest.mark.long
def test_a_killed_process_takes_down_its_run_alone(configs, tmp_path) -> None:
    chosen, events = configs[:2], []

    def told(event) -> None:
        if not events:
            (worker,) = multiprocessing.active_children()
            os.kill(worker.pid, signal.SIGKILL)
        events.append(event)

    ends = LocalEngine(1).run(chosen, tmp_path, told)
    first, second = (ends[config.hash] for config in chosen)
    assert first.state == "failed"
    assert "SIGKILL" in first.words and "\n" not in first.words
    assert second == Outcome("finished")
    assert (folder(chosen[1], tmp_path) / "done").exists()
    assert [e.state for e in events if e.hash == chosen[0].hash][-1] == "failed"
    rounds = [e.round for e in events if e.hash == chosen[1].hash]
    assert rounds == [0, 1, 2, 3, 3]
    assert not multiprocessing.active_children()


@pytest.mark.long
def test_after_ctrl_c_nobody_works_on_and_the_run_goes_on_as_it_was(
    configs, tmp_path
) -> None:
    config = configs[-1]

    def told(event) -> None:
        if event.round == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LocalEngine(2).run([config], tmp_path / "stopped", told)
    assert not multiprocessing.active_children()
    for root in ("stopped", "whole"):
        assert make_one(config, tmp_path / root, lambda event: None).state == "finished"
    for name in ("metrics.jsonl", "model.safetensors"):
        left, right = (
            (folder(config, tmp_path / root) / name).read_bytes()
            for root in ("stopped", "whole")
        )
        assert left == right
