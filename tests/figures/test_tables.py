r"""Protects tables: ours beside the printed numbers, in formats that can be read."""

from __future__ import annotations

import csv
import io

import pytest
from planted_runs import TINY, accuracies, plant, shrink

from figures.figure import Curve, Figure, Panel
from figures.papers import BY_KEY, theory_tables
from figures.scale import CPU
from figures.sheet import Sheet
from figures.tables import sheet


@pytest.fixture
def table(monkeypatch):
    from planted_runs import SETUP

    shrink(monkeypatch)
    curves = (
        Curve("SFL-V1 ($L_c=1$)", {"cut": 1}, (85.25, 0.07)),
        Curve("SFL-V1 ($L_c=2$)", {"cut": 2}),
    )
    panel = Panel("", ("dataset",), {"algorithm": "sfl-v1"}, curves)
    return Figure("dachille2024/table-9", "A table", SETUP, (panel,), "table")


def test_last_and_best_stand_beside_the_printed_number(table, tmp_path) -> None:
    panel = table.panels[0]
    for seed, values in ((0, [0.1, 0.9, 0.4, 0.6]), (1, [0.1, 0.2, 0.7, 0.5])):
        config = table.config(panel, panel.curves[0], TINY, seed)
        plant(config, tmp_path, accuracies(values), diverged=False)
    found = sheet(table, TINY, tmp_path)
    assert [head.rpartition(": ")[2] for head in found.heads] == [
        "method", "paper", "last", "best"
    ]  # fmt: skip
    ((group, _),) = found.groups
    for words in ("synthetic 1×8×8", "for CIFAR-10", "N = 2 for 10"):
        assert words in group
    assert found.rows == (
        ("SFL-V1 ($L_c=1$)", "85.25 ± 0.07", "55.00 ± 7.07", "80.00 ± 14.14"),
        ("SFL-V1 ($L_c=2$)", "–", "–", "–"),
    )
    assert TINY.caption in found.caption
    assert any("2 runs are missing" in note for note in found.notes)
    first, second = csv.DictReader(io.StringIO(found.csv()))
    assert float(first["paper_mean"]) == 85.25 and first["seeds"] == "2"
    assert float(first["best_std"]) == pytest.approx(14.1421, abs=1e-4)
    assert second["last_mean"] == "" and second["seeds"] == "0"


def test_every_printed_number_of_dachille2024_is_there(tmp_path) -> None:
    for number, columns in ((3, 3), (4, 4)):
        figure = BY_KEY[f"dachille2024/table-{number}"]
        text = sheet(figure, CPU, tmp_path).markdown()
        for panel in figure.panels:
            for curve in panel.curves:
                assert f"{curve.printed[0]:.2f} ± {curve.printed[1]:.2f}" in text
        assert text.count("\n| ") == 9 + 1
        assert len(figure.panels) == columns


def test_latex_escapes_text_and_leaves_formulas() -> None:
    made = Sheet(
        "100 % & more",
        ("a_b", "c"),
        (("$x_1 & y$", "1 ± 2 %"),),
        groups=(("#1", 1),),
        notes=("{n}",),
    )
    text = made.latex()
    assert r"\caption{100 \% \& more}" in text
    assert r"a\_b & c \\" in text
    assert r"$x_1 & y$ & 1 $\pm$ 2 \% \\" in text
    assert r"\multicolumn{1}{c}{\#1}" in text
    assert r"\{n\}" in text


def test_markdown_keeps_bars_inside_cells() -> None:
    made = Sheet("t", ("a", "b"), (("x|y", "z"),))
    assert r"| x\|y | z |" in made.markdown()


def test_rows_that_do_not_fit_are_rejected() -> None:
    with pytest.raises(ValueError, match="rows of 2"):
        Sheet("t", ("a", "b"), (("x",),))
    with pytest.raises(ValueError, match="groups"):
        Sheet("t", ("a", "b"), (("x", "y"),), groups=(("g", 2),))


@pytest.mark.parametrize(("number", "rows"), [(1, 12), (2, 6), (3, 9)])
def test_rates_are_those_of_the_audit(number, rows) -> None:
    made = BY_KEY[f"han2024/table-{number}"].theory()
    assert len(made.rows) == rows
    for row in made.rows:
        assert row[-1].startswith("$") and r"\sum" not in row[-1]
    assert [len(row) for row in made.rows] == [4] * rows


def test_bytes_are_counted_as_table_4_prints_them(monkeypatch) -> None:
    """|W| = 11.17 M parameters, 1.3 % of them at the client when Lc = 1."""
    monkeypatch.setattr(theory_tables, "CUTS", (1,))
    made = BY_KEY["han2024/table-4"].theory()
    assert [row[0] for row in made.rows] == ["FL", "SL", "SFL-V1", "SFL-V2"]
    for record in made.records:
        assert record["printed_total_bytes"] == record["counted_total_bytes"]
        assert record["W_bytes"] == pytest.approx(4 * 11.17e6, rel=1e-3)
        assert float(record["r"]) == pytest.approx(0.013, abs=5e-4)
        assert record["v_bytes"] == 4 * 64 * 32 * 32
    assert made.records[0]["printed_total_bytes"] == 2 * 10 * made.records[0]["W_bytes"]
