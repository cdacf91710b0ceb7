"""The README is short, its commands are those that exist, its table is the ledger's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from made.results import PLACE, table

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


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
def test_every_file_that_is_linked_exists(page: Path) -> None:
    """The site's own links are checked when it is built."""
    links = re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
