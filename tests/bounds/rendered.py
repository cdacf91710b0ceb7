"""Pages as a browser and a parser see them; shared by the tests of both pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]  # fmt: skip
VOID = {"meta", "br", "hr", "img", "input", "link"}

in_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium here: page not rendered"
)


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


WAIT = "const wait = (ms) => new Promise((done) => setTimeout(done, ms));"


def asked(page: Path, folder: Path, *scripts: tuple[str, str]) -> list[object]:
    """Return what scripts find in a page that one browser shows anew for each.

    Args:
        page: its file.
        folder: for the browser's files.
        scripts: each with what the page's address ends with, for instance "#id", and
            the body of an async function of ``d``, the page's document, that returns
            JSON; ``wait(ms)`` waits.

    Returns:
        The JSON of each.
    """
    copy, harness = folder / "page.html", folder / "harness.html"
    copy.write_bytes(page.read_bytes())
    asks = ",".join(
        f'["{copy.name}{address}", async (d) => {{ {script} }}]'
        for address, script in scripts
    )
    harness.write_text(
        f'<p id="w"></p><script>{WAIT} const asks = [{asks}], told = [];'
        "const next = () => { if (told.length === asks.length) {"
        'document.getElementById("w").textContent = "<<" + JSON.stringify(told) + ">>";'
        "return; } const [address, ask] = asks[told.length];"
        'const f = document.createElement("iframe"); f.width = 1200; f.height = 900;'
        "f.src = address; f.onload = async () => {"
        "try { told.push(await ask(f.contentDocument)); }"
        'catch (error) { told.push("failed: " + error); } f.remove(); next(); };'
        "document.body.append(f); }; next();</script>",
        encoding="utf-8",
    )
    flags = ["--virtual-time-budget=60000", "--allow-file-access-from-files"]
    shown = _run(folder, *flags, "--dump-dom", harness.as_uri()).decode()
    found = re.search(r"&lt;&lt;(.*)&gt;&gt;</p>", shown, re.DOTALL)
    assert found is not None, shown[-2000:]
    told = json.loads(unescape(found[1]))
    assert len(told) == len(scripts)
    return told


class Layout(NamedTuple):
    """A page laid out: pixels that it has and needs, pictures and those not loaded."""

    room: int
    width: int
    images: int
    broken: int


def _run(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(
        [str(BROWSER), *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout


def laid_out(page: Path, folder: Path, *widths: int) -> list[Layout]:
    """Lay a page out, all entries open, in a frame of each width.

    Only in a frame can a page be narrower than the browser's smallest window.
    """
    text = page.read_text(encoding="utf-8").replace("<details", "<details open")
    harness = folder / "harness.html"
    harness.write_text(
        f'<iframe id="f" width="{widths[0]}" height="800" style="border:0" '
        f'srcdoc="{escape(text)}"></iframe><p id="w"></p><script>'
        'const f = document.getElementById("f"); f.onload = async () => { '
        "const d = f.contentDocument; const broken = "
        "[...d.images].filter(i => !i.naturalWidth).length;"
        f"const told = []; for (const width of {list(widths)}) {{ f.width = width;"
        f"{WAIT} await wait(100); told.push([d.documentElement.clientWidth, "
        "d.documentElement.scrollWidth, d.images.length, broken].join(' ')); }"
        'document.getElementById("w").textContent = "measured " + told.join(", "); };'
        "</script>",
        encoding="utf-8",
    )
    shown = _run(folder, "--virtual-time-budget=20000", "--dump-dom", harness.as_uri())
    found = re.search(rb"measured ([\d ,]+)</p>", shown)
    assert found is not None
    told = [Layout(*map(int, one.split())) for one in found[1].split(b",")]
    assert len(told) == len(widths)
    return told


def requests(page: Path, folder: Path) -> list[str]:
    """Render a page and return the requests that it makes, not those of the browser.

    Args:
        page: its file.
        folder: for the browser's files.

    Returns:
        Origins that the browser's log of the network names as the initiator.
    """
    log, shot = folder / "net.json", folder / "shot.png"
    _run(folder, f"--log-net-log={log}", f"--screenshot={shot}", page.as_uri())
    assert shot.stat().st_size > 10_000 or page.stat().st_size < 1000
    found = re.findall(r'"initiator":"([^"]*)"', log.read_text())
    return [one for one in found if one != "not an origin"]
