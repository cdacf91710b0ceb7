"""Protects ``make``: no run twice, mistakes told before any work, failures reported."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from planted_runs import TINY, accuracies, plant, shrink, small

from figures import drawing
from figures.__main__ import main
from figures.engines import local
from figures.engines.engine import Event, Outcome
from figures.grid import folder
from figures.making import missing

KEY = "han2024/fig-90"


@pytest.fixture
def make(monkeypatch, tmp_path):
    """The command on small figures."""
    shrink(monkeypatch)

    def call(*arguments: str) -> int:
        places = ["--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
        return main(["make", *arguments, *places, "--quiet"])

    return call


class Pretended:
    """An engine that plants results; ``ends`` says which runs end otherwise."""

    def __init__(self, **ends: Outcome) -> None:
        self.made: list[str] = []
        self.ends = ends

    def run(self, configs, root, told):
        found = {}
        for config in configs:
            self.made.append(config.hash)
            end = self.ends.get(f"cut{config.cut}", Outcome("finished"))
            if end.state == "finished":
                records = accuracies([0.1, 0.2, 0.3, 0.4 + config.seed / 10])
                plant(config, root, records, diverged=False)
            elif end.state == "diverged":
                plant(config, root, accuracies([0.1]), diverged=True)
            told(Event(config.hash, config.rounds, config.rounds, end.state))
            found[config.hash] = end
        return found


@pytest.fixture
def pretend(monkeypatch):
    def use(**ends: Outcome) -> Pretended:
        monkeypatch.setattr(drawing, "METADATA", {})  # The CSV will do.
        engine = Pretended(**ends)
        monkeypatch.setattr(local, "LocalEngine", lambda jobs: engine)
        return engine

    return use


def refuse(*arguments):
    raise AssertionError("an engine was asked for")


def error(capsys) -> str:
    line = capsys.readouterr().err.strip()
    assert "\n" not in line, line
    return line


@pytest.mark.long
def test_a_figure_from_nothing_to_its_files(
    make, tmp_path, monkeypatch, capsys
) -> None:
    from figures.papers import BY_KEY

    one = small()
    one = type(one)(one.key, one.title, one.options, one.panels[:1])
    monkeypatch.setitem(BY_KEY, KEY, one)
    assert make(KEY, "--jobs", "2") == 0
    out = capsys.readouterr()
    assert "4 runs made: 4 finished" in out.err
    files = sorted((tmp_path / "out" / "cpu").iterdir())
    assert [path.suffix for path in files] == [".csv", ".pdf", ".png"]
    assert str(tmp_path / "out" / "cpu" / "han2024-fig-90.{pdf,png,csv}") in out.out
    rows = files[0].read_text().splitlines()[1:]
    # SFL-V1 does not depend on the cut.
    assert [r.split(",")[3:] for r in rows[:4]] == [r.split(",")[3:] for r in rows[4:]]
    before = [path.read_bytes() for path in files]
    monkeypatch.setattr(local, "LocalEngine", refuse)
    assert make(KEY) == 0
    assert [path.read_bytes() for path in files] == before


def test_cost_and_resolution_are_said_before_the_runs(
    make, pretend, tmp_path, capsys
) -> None:
    engine = pretend()
    told = []
    whole = engine.run

    def run(configs, root, tell):
        told.append(capsys.readouterr().err)
        return whole(configs, root, tell)

    engine.run = run
    assert make(KEY) == 0
    (before,) = told
    assert "8 runs to make, about" in before and "idle cores" in before
    assert "han2024: 32 statements, 2 seeds: intervals of ±" in before
    assert "standard deviations" in before


def test_figures_share_runs(make, pretend, tmp_path) -> None:
    engine = pretend()
    assert make(KEY, "han2024/fig-91", KEY) == 0
    assert len(engine.made) == len(set(engine.made)) == 8
    assert len(list((tmp_path / "out" / "cpu").glob("*.csv"))) == 2


def test_other_seeds_are_other_runs_and_the_caption_says_which(
    make, pretend, tmp_path
) -> None:
    engine = pretend()
    assert make(KEY) == 0
    curves = len(engine.made) // len(TINY.seeds)
    assert make(KEY, "--seeds", "1-3") == 0
    # seed 1 is there already
    assert len(engine.made) == len(set(engine.made)) == curves * 4
    assert replace(TINY, seeds=(1, 2, 3)).caption.endswith("3 seeds (1-3)")


def test_only_what_is_missing_is_made(make, pretend, tmp_path) -> None:
    figure = small()
    wanted = list(figure.configs(TINY))
    values = accuracies([0.1, 0.2, 0.3, 0.4])
    plant(wanted[0], tmp_path / "runs", values, diverged=False)
    plant(wanted[1], tmp_path / "runs", values[:1], diverged=True)
    assert missing([figure], TINY, tmp_path / "runs") == wanted[2:]
    engine = pretend()
    assert make(KEY) == 0
    assert engine.made == [config.hash for config in wanted[2:]]


def test_a_diverged_run_is_reported_and_drawn_as_missing(
    make, pretend, tmp_path, capsys
) -> None:
    pretend(cut2=Outcome("diverged", "diverged in round 1"))
    assert make(KEY) == 0
    said = capsys.readouterr().err
    assert "4 diverged, 4 finished" in said
    assert said.count("diverged in round 1") == 4
    text = (tmp_path / "out" / "cpu" / "han2024-fig-90.csv").read_text()
    assert "L_c=1" in text and "L_c=2" not in text


def test_a_failed_run_keeps_no_other_from_being_drawn(
    make, pretend, tmp_path, capsys
) -> None:
    pretend(cut1=Outcome("failed", "its process was ended by SIGKILL"))
    assert make(KEY) == 1
    said = capsys.readouterr().err.splitlines()
    lines = [line for line in said if line.startswith("failed: ")]
    assert len(lines) == 4
    assert all("SIGKILL" in line and KEY in line for line in lines)
    assert "L_c=2" in (tmp_path / "out" / "cpu" / "han2024-fig-90.csv").read_text()


def test_an_interruption_says_how_to_go_on(make, pretend, tmp_path, capsys) -> None:
    engine = pretend()
    whole = engine.run

    def stopped(configs, root, told):
        whole(configs[:3], root, told)
        raise KeyboardInterrupt

    engine.run = stopped
    assert make(KEY) == 130
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "3 of 8 missing runs made; the same command goes on" in last
    assert not (tmp_path / "out").exists()


def test_drawing_alone_makes_no_run(make, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(local, "LocalEngine", refuse)
    assert make(KEY, "--draw-only") == 0
    assert (tmp_path / "out" / "cpu" / "han2024-fig-90.png").exists()
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["han2024/fig2"], "did you mean han2024/fig-2 or"),
        (["fig-13"], "did you mean han2024/fig-13 or huang2023/fig-13?"),
        (["zzz"], "'python -m figures list' shows all"),
        ([], "expected a KEY"),
        ([KEY, "--all"], "--all"),
        ([KEY, "--jobs", "0"], "positive integer"),
        ([KEY, "--address", "here:1"], "--engine ray"),
        ([KEY, "--engine", "ray", "--jobs", "2"], "--engine local"),
        ([KEY, "--device", "cuda:77"], "--device"),
        ([KEY, "--seeds", "3"], "FIRST-LAST"),
        ([KEY, "--seeds", "2-2"], "at least two seeds"),
        ([KEY, "--seeds", "0-99999"], "at most"),
    ],
)
def test_a_mistake_is_told_in_one_line(make, capsys, arguments, words) -> None:
    with pytest.raises(SystemExit) as stopped:
        make(*arguments)
    assert stopped.value.code == 2
    assert words in error(capsys)


def test_missing_data_are_told_before_any_run(make, capsys, tmp_path) -> None:
    with pytest.raises(SystemExit) as stopped:
        make(
            "han2024/fig-2", "--preset", "paper", "--data-root", str(tmp_path / "data")
        )
    assert stopped.value.code == 2
    said = error(capsys)
    for word in ("cifar10", "cifar100", str(tmp_path / "data"), "--data-root", "https"):
        assert word in said
    assert not (tmp_path / "runs").exists()


def test_a_run_folder_of_another_version_is_named(make, tmp_path, capsys) -> None:
    config = next(small().configs(TINY))
    path = plant(config, tmp_path / "runs", accuracies([0.1]), diverged=False)
    (path / "config.json").write_text(json.dumps({"hash": "0" * 64}))
    with pytest.raises(SystemExit) as stopped:
        make(KEY)
    assert stopped.value.code == 2
    said = error(capsys)
    assert str(folder(config, tmp_path / "runs")) in said and "another version" in said


def test_a_table_of_the_theory_needs_no_run(make, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(local, "LocalEngine", refuse)
    assert make("han2024/table-2") == 0
    for suffix in ("tex", "md", "csv"):
        path = tmp_path / "out" / "theory" / f"han2024-table-2.{suffix}"
        assert "SFL-V2" in path.read_text()
