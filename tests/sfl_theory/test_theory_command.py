"""``python -m sfl_theory``: what it prints, and one line for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sfl_theory import Constants, theorem, theorems
from sfl_theory.__main__ import main


@pytest.fixture
def constants_file(tmp_path: Path) -> Path:
    path = tmp_path / "c.json"
    path.write_text(
        Constants(
            S=2, mu=1, sigma2=1, G2=3, eps2=1, weights=(0.5, 0.5), tau=2,
            initial_distance2=1, initial_gap=1,
        ).to_json()
    )  # fmt: skip
    return path


def test_list_names_every_statement(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert all(item.key in out for item in theorems())


@pytest.mark.parametrize("latex", [[], ["--latex"]])
@pytest.mark.parametrize("item", [*theorems()], ids=lambda item: item.key)
def test_show_names_every_term(
    item, latex: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", item.key, *latex]) == 0
    out = capsys.readouterr().out
    for case in item.cases.values():
        assert all(name in out for name in case.bound().parts)
        assert str(case.bound().source) in out


@pytest.mark.parametrize("number", "1234")
@pytest.mark.parametrize("latex", [[], ["--latex"]])
def test_show_tables(
    number: str, latex: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", f"table-{number}", *latex]) == 0
    assert "SFL-V2" in capsys.readouterr().out


def test_evaluate_json_is_the_bound(
    constants_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["evaluate", "3.7", "--case", "non_convex", "--rounds", "1,10", "--json"]
    assert main([*line, "--constants", str(constants_file)]) == 0
    record = json.loads(capsys.readouterr().out)
    bound = theorem("3.7").case("non_convex").bound()
    values = Constants.from_json(constants_file)
    assert record["bound"] == bound.evaluate(values, [1, 10]).tolist()
    assert record["rounds"] == [1, 10]
    assert Constants.from_dict(record["constants"]) == values


def test_evaluate_table_shows_terms(
    constants_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["evaluate", "3.7", "--case", "strongly_convex", "--rounds", "5"]
    assert main([*line, "--constants", str(constants_file)]) == 0
    assert "client drift" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (["show", "9.9"], "valid are"),
        (["show", "3.7", "--case", "x"], "strongly_convex"),
        (["show", "3.6", "--version", "repaired"], "no repaired bound"),
        (["show", "table-9"], "table-9"),
        (["frobnicate"], "frobnicate"),
        ([], "VERB"),
        (["evaluate", "3.7", "--rounds", "1"], "--constants"),
        (["evaluate", "3.7", "--rounds", "1", "--constants", "F"], "several cases"),
        (["evaluate", "3.9", "--case", "non_convex", "--rounds", "1", "--constants",
          "F"], "participation"),
        (["evaluate", "3.7", "--case", "non_convex", "--rounds", "1,x", "--constants",
          "F"], "--rounds"),
        (["evaluate", "3.7", "--case", "non_convex", "--rounds", "0", "--constants",
          "F"], "at least 1"),
        (["evaluate", "3.7", "--case", "non_convex", "--rounds", "1", "--constants",
          "absent.json"], "absent.json"),
        (["evaluate", "3.7", "--case", "non_convex", "--rounds", str(10**19),
          "--constants", "F"], "at most"),
        (["evaluate", "3.7", "--case", "non_convex", "--rounds", "5", "--constants",
          "F", "--learning-rate", "1e300"], "range of numbers"),
        (["evaluate", "3.7", "--case", "non_convex", "--rounds", "1", "--constants",
          "F", "--learning-rate", "-1"], "positive"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_status_2(
    line: list[str],
    word: str,
    constants_file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = [str(constants_file) if item == "F" else item for item in line]
    with pytest.raises(SystemExit) as stop:
        main(line)
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.err.count("\n") == 1
    assert word in captured.err
    assert captured.out == ""
