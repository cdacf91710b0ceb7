"""The ledger's page: self-contained, well-formed, and it renders in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bounds.audit import main
from sfl_theory.audits import LEDGER

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Balanced(HTMLParser):
    """Checks that every element is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.seen.add(tag)


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
    assert {claim.id for claim in LEDGER.claims()} <= anchors


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here: page not rendered")
@pytest.mark.parametrize("width", [390, 1200])
def test_page_renders_at_phone_and_desktop_width(
    page: Path, tmp_path: Path, width: int
) -> None:
    """The browser lays the page out and draws something at either width."""
    shot = tmp_path / "shot.png"
    done = subprocess.run(
        [
            BROWSER, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900", f"--screenshot={shot}", page.as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert shot.stat().st_size > 10_000
