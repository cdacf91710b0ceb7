"""Refuting instances run through the command and say from which round on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bounds.compare import main
from sfl_theory import theorem
from sfl_theory.ledger import standing


def told(tmp_path: Path, *line: str) -> list[dict]:
    out = tmp_path / "o"
    assert main([*line, "--quiet", "--out", str(out)]) == 0
    assert (out / "compare.png").exists()
    return json.loads((out / "compare.json").read_text())


def test_an_instance_is_named_by_its_claim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Weights, rates and constants are the ledger's; the curve crosses the bound."""
    claim = "instance:han2024/thm-3.7/strongly_convex"
    (record,) = told(tmp_path, "--theorem", "3.7", "--problem", claim)
    assert record["verdict"] == "violated"
    assert record["problem"] == "instance:han2024/thm-3.7/strongly_convex"
    assert record["case"] == "strongly_convex"
    assert record["audit"]["status"] == "refuted"
    weights = record["constants"]["weights"]
    assert min(weights) > 0
    assert weights != [0.5, 0.5]
    assert set(record["constants"]["provenance"].values()) == {"analytic"}
    printed = capsys.readouterr().out
    assert f"curve: VIOLATED from T = {record['first_violation']}" in printed
    assert "19/20" in printed


@pytest.mark.long  # test_instances.py has the trainer alone, by default
@pytest.mark.parametrize("key", ["3.6", "3.7", "3.8", "3.9"])
def test_refute_runs_every_refuted_case(key: str, tmp_path: Path) -> None:
    """All that the ledger refutes are violated; what it does not refute is left out."""
    records = told(tmp_path, "--theorem", key, "--refute")
    item = theorem(key)
    refuted = [c for c in item.cases if standing(item.key, c).status == "refuted"]
    assert [record["case"] for record in records] == refuted
    for record in records:
        assert record["verdict"] == "violated", record["case"]
        assert record["version"] == "printed"


def test_rounds_before_the_crossing_decide_nothing_else(tmp_path: Path) -> None:
    """A shorter run of the same instance, by its short name, is not called violated."""
    line = ["--theorem", "3.7", "--problem", "instance:thm-3.7/strongly_convex"]
    (record,) = told(tmp_path, *line, "--rounds", "50")
    assert record["problem"] == "instance:han2024/thm-3.7/strongly_convex"
    assert record["rounds"][-1] == 50
    assert record["verdict"] == "holds"
    assert record["first_violation"] is None


MISTAKES = [
    (["--problem", "instance:han2024/thm-9.9"], "unknown claim"),
    (["--problem", "instance:"], "unknown claim"),
    (["--problem", "instance:thm-3.6/non_convex"], "not refuted"),
    (["--problem", "instance:thm-3.6/strongly_convex"], "not of what --theorem"),
    (["--problem", "instance:lemma-C.7"], "no run that the trainer makes"),
    (["--problem", "instance:thm-3.7/strongly_convex", "--tau", "2"], "--tau"),
    (["--problem", "instance:thm-3.7/strongly_convex", "--clients", "2"], "--clients"),
    (
        ["--problem", "instance:thm-3.7/strongly_convex", "--version", "repaired"],
        "--version",
    ),
    (["--problem", "instance:thm-3.7/strongly_convex", "--rounds", "0"], "--rounds"),
    (["--refute", "--seeds", "-1"], "--seeds"),
    (["--refute", "--problem", "softmax:digits"], "--problem"),
    (["--refute", "--weights", "uniform"], "--weights"),
    (["--refute", "--theorem", "dachille2024/prop-1"], "no case"),
    (["--refute", "--theorem", "3.6", "--case", "non_convex"], "no case"),
]


@pytest.mark.parametrize(("more", "word"), MISTAKES)
def test_what_cannot_run_says_so_in_one_line(
    more: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["--theorem", "3.7", "--quiet", "--out", str(tmp_path / "o"), *more]
    with pytest.raises(SystemExit) as stop:
        main(line)
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.err.count("\n") == 1, captured.err
    assert word in captured.err
    assert not (tmp_path / "o").exists()
