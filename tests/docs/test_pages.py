"""Pages that are made from the code say what the code says."""

from __future__ import annotations

import os
import subprocess
from graphlib import CycleError
from pathlib import Path

import pytest
from made import api, house, papers, sheets, words

from sfl_theory import theorem, theorems
from sfl_theory.ledger import entered, ledger
from sfl_theory.papers import PAPERS


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(
            item.key,
            marks=() if item.key in {"han2024/prop-3.5", "dachille2024/prop-1"}
            else pytest.mark.long,
        )
        for item in theorems()
    ],
)  # fmt: skip
def test_a_sheet_gives_verdict_statement_and_replay_of_every_case(key: str) -> None:
    item = theorem(key)
    page = sheets.sheet(item)
    for case in item.cases.values():
        claim = ledger().of_case(key, case.name)
        assert claim is not None
        now = entered(claim)
        assert f":class: {now.status}\n" in page
        assert words.prose(now.cause) in page
        assert f"python -m bounds.audit --claim {claim.id}`" in page
        for part in claim.parts:
            assert f"\n$$\n{part.says.tex}\n$$\n" in page
        for version in case.versions:
            assert f"| `{version}` |" in page
        if claim.repair is not None:
            assert words.prose(claim.repair.change) in page


def test_a_paper_page_has_every_claim_under_its_anchor() -> None:
    for paper in PAPERS:
        page = papers.paper_page(paper)
        for claim in ledger().claims(paper):
            rest = claim.id.partition("/")[2]
            assert f"<tr id='{rest}'>" in page
        for item in theorems():
            assert (f"../theorems/{sheets.page(item.key)}.md" in page) == (
                item.paper == paper
            )


def test_prose_is_shown_as_it_is() -> None:
    assert words.prose("x^T = x* and $a_n$ <b>") == r"x^T = x\* and $a_n$ \<b\>"
    assert words.prose("a_n, x_s, $a_n$") == r"aₙ, x\_s, $a_n$"
    assert words.prose("5 $ only_x") == r"5 \$ only\_x"


def test_the_reference_has_every_package_and_what_users_import() -> None:
    pages = dict(api.pages())
    assert 'id="sfl_theory.statement.Case.best"' in pages["sfl_theory.md"]
    assert 'id="bounds.comparison.compare"' in pages["bounds.md"]
    assert 'id="sfl_theory.kernel.rules.smooth"' in pages["sfl_theory.kernel.md"]
    assert "_show_bound" not in pages["sfl_theory.md"]


def test_docstrings_become_lists() -> None:
    made = api.documented("A `b`.\n\nArgs:\n    x: one\n        more.\n    y: $t$.")
    assert made.startswith("<p>A <code>b</code>.</p>")
    assert "<code>x</code>: one\n        more." in made
    assert made.count("<li>") == 2
    assert "<math" in made


def test_the_kernel_is_the_ground_and_no_arrow_points_up() -> None:
    graph = house.imports()
    assert graph["kernel"] == set()
    floors = house.floors(house.reduced(graph))
    at = {room: k for k, row in enumerate(floors) for room in row}
    assert floors[0] == ["kernel"]
    assert all(at[one] < at[room] for room, below in graph.items() for one in below)
    assert all(f">{room}</text>" in house.drawn(graph) for room in graph)
    assert house.PICTURE.read_text("utf-8") == house.drawn(graph), (
        "python -m made.house"
    )
    with pytest.raises(CycleError):
        house.reduced({**graph, "kernel": {"bounds"}})


def test_a_build_without_sphinx_says_so_in_one_line() -> None:
    build = Path(__file__).parents[2] / "docs" / "build"
    done = subprocess.run(
        [build], env={**os.environ, "PYTHON": "false"}, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install -e '.[docs]'" in done.stderr
