"""``python -m sfl_theory``: what it prints, and one line for every mistake."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sfl_theory import Constants, rate_table, symbols, theorem, theorems
from sfl_theory.__main__ import main
from sfl_theory.ledger import entered, ledger, standing
from sfl_theory.rates import rate
from sfl_theory.statement import VERSIONS


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
    for item in theorems():
        (block,) = re.findall(rf"^{item.key}: .*\n(?:  .*\n)+", out, flags=re.M)
        said = " ".join(block.split())
        for case in item.cases.values():
            found = standing(item.key, case.name)
            assert found is not None
            assert (
                f"{case.name} {found.words} versions: {', '.join(case.versions)}"
                in said
            )


def test_no_trainer_solver_or_plot_is_imported() -> None:
    """Nor by what is imported; of ``sfl_theory`` itself the house's test says it."""
    code = "import sys; from sfl_theory.__main__ import main; " + (
        "main(['show', 'table-4']); "
        "print({'torch', 'matplotlib', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("set()\n")


@pytest.mark.parametrize(
    "latex", [[], pytest.param(["--latex"], marks=pytest.mark.long)]
)
@pytest.mark.parametrize("item", [*theorems()], ids=lambda item: item.key)
def test_show_names_every_term_and_finding(
    item, latex: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", item.key, *latex]) == 0
    out = capsys.readouterr().out
    said = " ".join(out.split())
    for case in item.cases.values():
        assert all(finding.words in said for finding in case.bound().findings)
        assert all(name in out for name in case.bound().parts)
        assert str(case.bound().source) in out


@pytest.mark.parametrize("latex", [[], ["--latex"]])
@pytest.mark.parametrize("item", [*theorems()], ids=lambda item: item.key)
def test_show_all_prints_every_version_and_the_audit(
    item, latex: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody reads a refuted bound without its status, scope, cause and way back."""
    assert main(["show", item.key, "--version", "all", *latex]) == 0
    out = capsys.readouterr().out
    said = " ".join(out.split())
    for case in item.cases.values():
        found = standing(item.key, case.name)
        assert found is not None
        assert f"audit: {found.words} {found.cause}".strip() in said
        assert f"python -m bounds.audit --claim {found.claim}" in said
        for version in case.versions:
            assert f"{version}: {VERSIONS[version]}" in said
            source = case.bound(version).source
            assert out.count(f"\n{case.name} ({version}; {source})\n") == 1
    assert "with a constant learning rate" not in said


def test_repaired_where_the_printed_bound_is_proved_is_the_printed_one(
    capsys: pytest.CaptureFixture[str], constants_file: Path
) -> None:
    """And it says why; a refuted case beside it shows its repair."""
    assert main(["show", "3.6", "--version", "repaired"]) == 0
    out = capsys.readouterr().out
    assert "\nnon_convex (printed; " in out
    assert "it is proved as printed" in out
    assert "\nstrongly_convex (repaired; " in out
    line = ["evaluate", "dachille2024/prop-1", "--version", "repaired"]
    constants = ["--constants", str(constants_file), "--rounds", "5"]
    assert main([*line, *constants]) == 0
    assert "nothing is repaired" in capsys.readouterr().out


def test_a_case_without_the_version_is_one_line_beside_the_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["show", "3.7", "--version", "sharper"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "strongly_convex (sharper; " in said
    assert (
        "(general_convex) has no version 'sharper'; there are strongly_convex: " in said
    )


def test_versions_exist_in_order_and_are_explained() -> None:
    """``versions`` is what ``bound`` takes, and nothing is without a description."""
    for item in theorems():
        for case in item.cases.values():
            order = [name for name in VERSIONS if name in case.versions]
            assert [*case.versions] == order
            assert all(case.bound(name) for name in case.versions)
            for name in set(VERSIONS) - set(case.versions):
                with pytest.raises(
                    ValueError, match=r"no repaired bound|one of printed"
                ):
                    case.bound(name)
    case = theorem("3.7").case("non_convex")
    with pytest.raises(ValueError, match="better"):
        _ = replace(case, proved=lambda: {"better": case.printed}).versions


@pytest.mark.parametrize("latex", [[], ["--latex"]])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_tables_have_columns_audit_and_nearest_true_rate(
    number: int,
    latex: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Status, id and cause of every row; rates where one is proved, "-" elsewhere."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["show", f"table-{number}", *latex]) == 0
    out = capsys.readouterr().out
    heading, *blocks = out.split("\n\n")
    assert "Q_2" in heading
    assert all(len(line) <= 80 for line in out.splitlines()) or latex
    for row, block in zip(rate_table(number), blocks, strict=True):
        said = " ".join(block.split())
        found = entered(ledger().claim(row.claim))
        assert said.startswith(f"{row.method}, {row.case}, {row.participation}")
        assert f"audit: {found.words} ({row.claim})" in said
        assert found.cause in said
        if row.theorem:
            whole = standing(theorem(row.theorem).key, row.case)
            assert whole is not None
            assert f"Theorem {row.theorem} itself: {whole.words}" in said
            version = "printed" if whole.status == "proved" else "repaired"
            bound = theorem(row.theorem).case(row.case).bound(version)
            assert f"true rate ({version}):" in said
            write = symbols.latex if latex else lambda e: str(e).replace("**", "^")
            assert " + ".join(write(term) for term in rate(bound)) in said
        else:
            assert said.endswith("true rate: -")


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
        (["show", "3.6", "--version", "exact"], "general_convex: printed, repaired"),
        (["show", "3.7", "--case", "non_convex", "--version", "sharper"],
         "strongly_convex: printed, repaired, sharper"),
        (["show", "huang2023/prop-1", "--version", "sharper"],
         "strongly_convex: printed, repaired"),
        (["evaluate", "3.7", "--case", "non_convex", "--version", "all", "--rounds",
          "1", "--constants", "F"], "no version 'all'"),
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
          "F", "--learning-rate", "1e300"], "outside its hypothesis learning rate"),
        (["evaluate", "3.7", "--case", "general_convex", "--version", "repaired",
          "--rounds", "5", "--constants", "F", "--learning-rate", "1e300"],
         "range of numbers"),
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
