"""Everything about the figures as one self-contained page: no script, no request."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from figures import report_claims, report_constants
from figures.figure import Figure
from figures.formula import data, with_formulas
from figures.grid import folder
from figures.judging import (
    VERDICTS,
    Judgement,
    Result,
    in_words,
    plan,
    results,
    statements,
    tally,
)
from figures.output import place
from figures.papers import FIGURES
from figures.papers.claims import CLAIMS
from figures.scale import Preset
from figures.series import standings
from figures.sheet import Sheet
from sfl_train.deep.config import Config

STYLE = """
:root { --proved: #00694b; --refuted: #b5460f; --unproved: #6b6b6b; }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem;
  padding: 1rem; color: #1a1a1a; background: #fff; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
.status { display: inline-block; min-width: 5.5rem; padding: 0 .5rem; color: #fff;
  border-radius: .25rem; font-size: .85rem; text-align: center; }
.proved { background: var(--proved); } .refuted { background: var(--refuted); }
.unproved { background: var(--unproved); }
details { border-bottom: 1px solid #ddd; padding: .4rem 0; }
summary { cursor: pointer; } summary code { font-size: .95rem; }
dt { font-weight: 600; margin-top: .5rem; } dd, dd p { margin: 0; overflow-x: auto; }
pre { white-space: pre-wrap; font-size: .8rem; background: #f5f5f5; padding: .5rem; }
.formula { overflow-x: auto; padding: .3rem 0; }
nav a { margin-right: 1rem; }
h3 { margin-top: 2rem; } img { max-width: 100%; height: auto; }
img.formula { vertical-align: middle; max-width: none; }
.picture img { width: 100%; max-width: none; }
@media (min-width: 60rem) { .picture img { min-width: 0 !important; } }
.wide { overflow-x: auto; } .note { color: #555; font-size: .85rem; }
table { border-collapse: collapse; font-size: .85rem; overflow-wrap: normal; }
th, td { border-bottom: 1px solid #ddd; padding: .2rem .5rem; text-align: left;
  white-space: nowrap; vertical-align: top; }
.effects td:first-child { white-space: normal; min-width: 9rem; }
"""
READABLE = 0.62
"""Of a picture's pixels; on a phone, drawn any smaller its letters cannot be read."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The browser is told to fetch and to run nothing; pictures are on the page."""


def page(preset: Preset, root: Path, out: Path, audit: str | None) -> str:
    """Return the page.

    Args:
        preset: the sizes.
        root: folder of all runs.
        out: folder of the pictures that ``make`` drew.
        audit: address of the audit's page, relative to this one, or None.

    Returns:
        HTML with everything inside.
    """
    found = results(CLAIMS, preset, root)
    papers = list(dict.fromkeys(figure.paper for figure in FIGURES))
    link = None if audit is None else quote(audit)
    sections = "".join(
        f'<h2 id="{paper}">{paper}</h2>'
        + "".join(
            _figure(figure, found, preset, root, out, link)
            for figure in FIGURES
            if figure.paper == paper
        )
        for paper in papers
    )
    links = " ".join(f'<a href="#{name}">{name}</a>' for name in (*papers, "constants"))
    counts, parts = (
        ", ".join(f"{n} {verdict}" for verdict, n in count.items())
        for count in (tally(found), statements(found))
    )
    designs = "".join(f"<li>{escape(line)}</li>" for line in plan(papers, preset))
    body = (
        "<h1>Figures and tables of three papers on split federated learning</h1>"
        f"<p><strong>{escape(preset.caption)}</strong></p>"
        f"<p>{len(found)} claims at this size: {counts}; of what they say, "
        f"statement by statement: {parts}. Verdicts about a paper are right together "
        "with probability 95 % (Holm's method, t intervals over seeds at the level at "
        "which it compared the statement); nothing was tuned towards one. What the "
        f"design can resolve:</p><ul>{designs}</ul>"
        f"{_decided(found, preset)}<nav>{links}</nav>{sections}"
        f"{report_constants.section(preset, root)}"
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>Figures</title><style>{STYLE}</style></head>"
        f"<body>{body}</body></html>\n"
    )


def _decided(found: Sequence[Result], preset: Preset) -> str:
    """Return links to the claims that have been decided."""
    lines = ""
    for verdict in VERDICTS[:2]:
        links = ", ".join(
            f'<a href="#{one.claim.id}">{one.claim.id}</a>'
            for one in found
            if isinstance(one, Judgement) and one.verdict == verdict
        )
        lines += (
            f"<p>{in_words(verdict, preset).capitalize()}: {links}.</p>"
            if links
            else ""
        )
    return lines


def _figure(
    figure: Figure,
    found: Sequence[Result],
    preset: Preset,
    root: Path,
    out: Path,
    audit: str | None,
) -> str:
    here = [one for one in found if one.claim.figures[0] == figure.key]
    elsewhere = [
        one.claim.id
        for one in found
        if figure.key in one.claim.figures and one not in here
    ]
    parts = [
        f'<h3 id="{figure.key}">{figure.key}: {escape(figure.heading(preset))}</h3>',
        _content(figure, preset, root, out),
        *(report_claims.entry(one, preset, audit) for one in here),
    ]
    if elsewhere:
        links = ", ".join(f'<a href="#{name}">{name}</a>' for name in elsewhere)
        parts.append(f'<p class="note">see also {links}</p>')
    return "".join(parts)


def _content(figure: Figure, preset: Preset, root: Path, out: Path) -> str:
    """Return the picture or the table, or what lacks."""
    if not figure.panels:
        return _sheet(_table(figure, preset, root))
    runs = list({config.hash: config for config in figure.configs(preset)}.values())
    counts = standings(runs, root)
    ended = counts["finished"] + counts["diverged"]
    note = ""
    if ended < len(runs):
        note = (
            f'<p class="note">{ended} of {len(runs)} runs made; <code>python -m figures'
            f" make {figure.key} {preset.options}</code> makes the others</p>"
        )
    if not counts["finished"]:
        return note
    if figure.kind == "table":
        return _sheet(_table(figure, preset, root)) + note
    png = _picture(figure, runs, preset, root, out)
    words = escape(f"{figure.key}: {figure.heading(preset)}; {preset.caption}")
    pixels = int.from_bytes(png[16:20], "big")  # where a PNG has its width
    return (
        f'<div class="wide picture" tabindex="0"><img alt="{words}" style="'
        f'min-width:{READABLE * pixels:.0f}px" src="{data("image/png", png)}"></div>'
        f"{note}"
    )


def _table(figure: Figure, preset: Preset, root: Path) -> Sheet:
    from figures.tables import sheet

    return sheet(figure, preset, root)


def _picture(
    figure: Figure, runs: Sequence[Config], preset: Preset, root: Path, out: Path
) -> bytes:
    """Return the picture that ``make`` drew, or draw where runs are newer."""
    drawn = place(figure, preset, out, "png")
    ends = [folder(config, root) / "done" for config in runs]
    last = max(end.stat().st_mtime for end in ends if end.exists())
    if drawn.exists() and drawn.stat().st_mtime >= last:
        return drawn.read_bytes()
    from figures import drawing

    return drawing.files(figure, preset, root)["png"]


def _sheet(sheet: Sheet) -> str:
    """Return a table as HTML."""
    rows = ""
    if sheet.groups:
        spans = "".join(
            f'<th colspan="{span}">{with_formulas(head)}</th>'
            for head, span in sheet.groups
        )
        rows = f"<tr><th></th>{spans}</tr>"
    rows += _row(sheet.columns, "th") + "".join(_row(row, "td") for row in sheet.rows)
    notes = "".join(
        f'<p class="note">{with_formulas(note)}</p>' for note in sheet.notes
    )
    return (
        f'<p class="note">{with_formulas(sheet.caption)}</p>'
        f'<div class="wide" tabindex="0"><table>{rows}</table></div>{notes}'
    )


def _row(cells: Sequence[str], tag: str) -> str:
    inside = "".join(f"<{tag}>{with_formulas(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"
