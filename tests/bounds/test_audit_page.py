"""The ledger's page: self-contained, well-formed, and it renders in a browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rendered import Balanced, in_browser, laid_out, requests

from bounds.audit import main
from sfl_theory.ledger import ledger

pytestmark = pytest.mark.long  # the page replays the whole ledger


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    assert main(["--html", str(path)]) == 0
    return path


def test_page_is_self_contained_and_well_formed(page: Path) -> None:
    """No script, nothing fetched, every claim with its anchor, formulas as MathML."""
    text = page.read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert {"math", "svg", "details"} <= parser.seen
    assert not {"script", "link", "img", "iframe"} & parser.seen
    addresses = re.findall(r'(?:src|href)="([^"]*)"', text)
    anchors = set(re.findall(r'id="([^"]*)"', text))
    assert all(a.startswith("#") and a[1:] in anchors for a in addresses)
    assert "url(" not in text
    assert "default-src 'none'" in text
    assert {claim.id for claim in ledger().claims()} <= anchors


@in_browser
@pytest.mark.parametrize("width", [360, 1200])
def test_page_fits_its_width(page: Path, tmp_path: Path, width: int) -> None:
    """Laid out in a frame of a phone's or a desktop's width, nothing sticks out."""
    assert laid_out(page, tmp_path, width).width <= width


@in_browser
def test_page_makes_no_request(page: Path, tmp_path: Path) -> None:
    assert requests(page, tmp_path) == []
