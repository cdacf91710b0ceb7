"""The report: self-contained, well-formed, and it renders in a browser."""

from __future__ import annotations

import json
import os
import re
from html import escape
from pathlib import Path

import numpy as np
import pytest
from planted_figures import plant
from rendered import Balanced, in_browser, laid_out, requests

from figures import drawing, report_constants, report_page
from figures.__main__ import main
from figures.formula import with_formulas
from figures.output import place
from figures.papers import BY_KEY
from figures.papers.claims import CLAIMS
from figures.scale import CPU
from sfl_train.deep.config import Config

FIG2, FIG12, TABLE = "han2024/fig-2", "han2024/fig-12", "dachille2024/table-3"
KEYS = (FIG2, FIG12, "han2024/table-1", "huang2023/fig-4", TABLE)
"""On the page of these tests: made ones, a table of the theory, one without runs."""


def rising(config: Config, draws: np.random.Generator) -> float:
    """SFL-V2 rises with the cut, SFL-V1 knows none."""
    if config.algorithm != "sfl-v2":
        return 0.4 + config.seed / 100
    return 0.4 + 0.1 * config.cut + draws.normal(0, 1e-3)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("report")
    for key in (FIG2, FIG12, TABLE):
        plant(key, root / "runs", rising)
    path = root / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "FIGURES", tuple(BY_KEY[key] for key in KEYS))
        arguments = ["--runs", str(root / "runs"), "--out", str(root / "drawn")]
        words = ["report", "--html", str(path), *arguments, "--audit", "audit.html"]
        assert main(words) == 0
    return path


def test_page_is_self_contained_and_well_formed(page: Path) -> None:
    """No script, nothing fetched, every figure and claim with its anchor."""
    text = page.read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert not {"script", "link", "iframe"} & parser.seen
    sources = re.findall(r'src="([^"]*)"', text)
    assert sources and all(source.startswith("data:image/") for source in sources)
    anchors = set(re.findall(r'id="([^"]*)"', text))
    inner = [a for a in re.findall(r'href="([^"]*)"', text) if a.startswith("#")]
    outer = [a for a in re.findall(r'href="([^"]*)"', text) if not a.startswith("#")]
    left_out = set(BY_KEY) | {claim.id for claim in CLAIMS}
    assert all(a[1:] in anchors | left_out for a in inner)
    assert outer and all(a.startswith("audit.html#") for a in outer)
    assert set(KEYS) <= anchors
    assert "url(" not in text
    assert "default-src 'none'" in text and "img-src data:" in text


def test_page_says_what_runs_say(page: Path) -> None:
    """Size, verdicts, missing runs, printed numbers and constants are there."""
    text = page.read_text(encoding="utf-8")
    assert escape(CPU.caption) in text
    first = text[: text.index("<nav>")]
    assert f'Reproduced (cpu size): <a href="#{FIG2}/cut-v2">' in first
    entry = text[text.index(f'id="{FIG2}/cut-v2"') :]
    assert "reproduced" in entry[:200] and "not reproduced" not in entry[:200]
    assert (
        "not reproduced (cpu size)" in text[text.index(f'id="{FIG2}/cut-v1"') :][:200]
    )
    assert "0 of 100 runs made" in text
    assert "92.30 ± 0.15" in text
    constants = text[text.index('id="constants"') :]
    assert constants.count("<tr>") == 1 + 40
    assert "2.3</td>" in constants
    assert text.count("image/png") == 2


@pytest.mark.long
def test_whole_report_needs_no_runs(tmp_path: Path) -> None:
    """Without any run there is a page that says so; every anchor is there."""
    path = tmp_path / "report.html"
    assert main(["report", "--html", str(path), "--runs", str(tmp_path / "none")]) == 0
    text = path.read_text(encoding="utf-8")
    anchors = set(re.findall(r'id="([^"]*)"', text))
    assert set(BY_KEY) <= anchors
    assert all(a[1:] in anchors for a in re.findall(r'href="([^"]*)"', text))
    assert "No measured run is finished." in text
    assert "image/png" not in text


def test_pictures_of_make_are_used_unless_older(tmp_path: Path, monkeypatch) -> None:
    """A picture that is there is taken; one older than its runs is drawn anew."""
    figure, root, out = BY_KEY[FIG12], tmp_path / "runs", tmp_path / "drawn"
    plant(FIG12, root, lambda c, r: 0.5)
    png = place(figure, CPU, out, "png")
    png.parent.mkdir(parents=True)
    png.write_bytes(b"as drawn")
    monkeypatch.setattr(drawing, "files", lambda *_: {"png": b"anew"})
    runs = list(figure.configs(CPU))

    def found() -> bytes:
        return report_page._picture(figure, runs, CPU, root, out)

    assert found() == b"as drawn"
    os.utime(png, (0, 0))
    assert found() == b"anew"


def test_damaged_constants_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of another version is named, with what to do."""
    plant(FIG12, tmp_path / "runs", lambda c, r: 0.5)
    (config, *_) = report_constants._measured(CPU, tmp_path / "runs")
    path = report_constants.folder(config, tmp_path / "runs") / "constants.json"
    path.write_text(json.dumps({"constants": {}}))
    with pytest.raises(SystemExit) as stop:
        main(
            ["report", "--html", str(tmp_path / "r.html"), "--runs",
             str(tmp_path / "runs")]
        )  # fmt: skip
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1 and "constants.json" in error


def test_formulas_are_pictures_with_their_source() -> None:
    """A formula is drawn once and for all; text is escaped; no dollar is lost."""
    text = with_formulas(r"a < b, $\frac{1}{T}$")
    assert "a &lt; b" in text and r'alt="\frac{1}{T}"' in text
    assert "data:image/svg+xml" in text and text == with_formulas(
        r"a < b, $\frac{1}{T}$"
    )
    assert with_formulas("5 $") == "5 $"
    assert "<code>" in with_formulas(r"$\nosuchmacro{x}$")


@in_browser
def test_page_fits_its_width(page: Path, tmp_path: Path) -> None:
    """Laid out in a frame of a phone's or a desktop's width, nothing sticks out."""
    widths = 360, 1200
    for width, found in zip(widths, laid_out(page, tmp_path, *widths), strict=True):
        assert found.width <= found.room <= width
        assert found.images > 2 and found.broken == 0


@in_browser
def test_page_makes_no_request(page: Path, tmp_path: Path) -> None:
    """The log names none; it does for a page that has a picture elsewhere."""
    assert requests(page, tmp_path) == []
    other = tmp_path / "other"
    other.mkdir()
    leaking = other / "leaking.html"
    leaking.write_text('<p>page</p><img src="http://127.0.0.1:9/x.png">')
    assert requests(leaking, other) != []
