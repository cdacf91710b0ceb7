"""The README is short, its commands are those that exist, its table is the ledger's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made.results import PLACE, table
from made.words import adapted

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_read_in_a_minute() -> None:
    assert README.count("\n") <= 130


@pytest.mark.parametrize("marker", ["run command", "test command"])
def test_the_two_commands_are_single_lines(marker: str) -> None:
    """Each makes its own virtual environment in one line that CI can extract."""
    block = README.split(f"<!-- {marker} -->\n```sh\n")[1].split("```")[0]
    assert block.count("\n") == 1
    assert block.startswith("python3 -m venv .venv && ")


def test_the_table_of_results_is_made_from_the_code() -> None:
    """Statuses, causes and ratios of today; `python -m made.results` writes them."""
    (found,) = PLACE.findall(README)
    assert found == table()


def read(page: Path) -> str:
    """Return a page as it is shown where nobody builds the site."""
    return re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


MADE = {"api", "papers", "theorems"}
"""Folders of docs that the build of the site writes."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if page.relative_to(ROOT / "docs").parts[0] not in MADE
    ),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_is_linked_exists(page: Path) -> None:
    """In the sources as they are: pages that the site's build makes are not there."""
    for link, anchor in re.findall(r"\]\((?!http)([^)#]*)(#[^)]*)?\)", read(page)):
        target = (page.parent / link).resolve() if link else page
        assert target.exists(), link
        inside = target.relative_to(ROOT).parts
        assert inside[0] != "docs" or inside[1] not in MADE, f"{link} is made"
        assert not anchor or anchor[1:] in anchors(target), anchor


def test_what_the_site_adds_and_leaves_out() -> None:
    text = (
        "a <!-- sources -->\nb\n<!-- /sources -->c<!-- site: [d](e.md)-->, <!-- f -->"
    )
    assert adapted(text) == "a c[d](e.md), <!-- f -->"
