"""The ledger as one self-contained page: no script, no font, no request."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from bounds.graph import MARKS, graph
from bounds.mathml import mathml, with_formulas
from sfl_theory.claims import Claim, Kind, Part
from sfl_theory.ledger import COVERAGE, STATUSES, Entry, Finding, Outcome
from sfl_theory.models.moments import course

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
svg { max-width: 100%; height: auto; }
.graph { overflow: auto; max-height: 34rem; border: 1px solid #ddd; }
.graph svg { max-width: none; }
nav a { margin-right: 1rem; }
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser is told to fetch and to run nothing."""

KINDS = {
    Kind.THEOREM: "Theorems",
    Kind.PROPOSITION: "Propositions",
    Kind.LEMMA: "Lemmas",
    Kind.ASSUMPTION: "Assumptions",
    Kind.CONDITION: "Step-size conditions",
    Kind.EQUATION: "Equations inside the proofs",
    Kind.ALGORITHM: "Algorithms",
    Kind.TABLE: "Tables",
    Kind.TEXT: "Sentences of the text",
}
"""Headings by kind of claim, in the page's order."""


TITLE = "Audit of papers on split federated learning"


def page(entries: Sequence[Entry], title: str = TITLE, coverage: str = COVERAGE) -> str:
    """Return the page.

    Args:
        entries: in order; their evidence is replayed here.
        title: of the page.
        coverage: what the entries lack.

    Returns:
        HTML with everything inside.
    """
    papers = list(dict.fromkeys(_paper(entry) for entry in entries))
    links = " ".join(f'<a href="#{paper}">{paper}</a>' for paper in papers)
    sections = "".join(
        _section(paper, [e for e in entries if _paper(e) == paper]) for paper in papers
    )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>Audit</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>"
        "<p>Every status was earned by a replay when this page was made: "
        f"{_badge('proved')} by a proof that the kernel replayed, "
        f"{_badge('refuted')} by a model, both in exact arithmetic; "
        f"{_badge('unproved')} is neither.</p>"
        f"<p>{escape(coverage)}</p><nav>{links}</nav>{sections}</body></html>\n"
    )


def _paper(entry: Entry) -> str:
    return entry.claim.id.split("/")[0]


def _badge(status: str) -> str:
    return f'<span class="status {status}">{MARKS[status]} {status}</span>'


def _section(paper: str, entries: Sequence[Entry]) -> str:
    counts = Counter(entry.outcome.status for entry in entries)
    words = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    rows = ""
    for kind, heading in KINDS.items():
        here = [entry for entry in entries if entry.claim.kind == kind]
        if here:
            rows += f"<h3>{heading} ({len(here)})</h3>" + "".join(map(_entry, here))
    return (
        f'<h2 id="{paper}">{paper}</h2><p>{len(entries)} claims: {words}.</p>'
        f"{graph(entries)}{rows}"
    )


def _entry(entry: Entry) -> str:
    claim, outcome, repair = entry.claim, entry.outcome, entry.claim.repair
    now = entry.standing
    parts = [
        ("where", f"{escape(claim.location)} ({claim.kind.value})"),
        ("statement", with_formulas(claim.title) + _formulas(claim.parts)),
    ]
    if entry.reading:
        parts.append(("reading", with_formulas(entry.reading)))
    if now.scope:
        parts.append(("scope", with_formulas(now.words)))
    if now.cause:
        severity = f" ({claim.severity.value})" if claim.severity else ""
        parts.append(("cause", with_formulas(now.cause) + severity))
    if claim.first_failure:
        parts.append(("first step that fails", _links([claim.first_failure], claim)))
    if claim.words:
        parts.append(("in words", with_formulas(claim.words)))
    parts.append(("evidence", _replay(outcome)))
    parts += [("instance", _plot(claim.id, found)) for found in outcome.findings]
    if claim.depends_on:
        parts.append(("the paper's proof uses", _links(claim.depends_on, claim)))
    if repair is not None and entry.repair is not None:
        words = _badge(entry.repair.status) + _formulas(repair.parts)
        parts.append(("repair", words))
        parts.append(("what changed", with_formulas(repair.change)))
        parts.append(("evidence of the repair", _replay(entry.repair)))
    parts.append(("replay", f"<code>{escape(entry.reproduce)}</code>"))
    body = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in parts)
    return (
        f'<details id="{escape(claim.id)}"><summary>{_badge(outcome.status)} '
        f"<code>{escape(claim.id)}</code></summary><dl>{body}</dl></details>"
    )


def _links(names: Iterable[str], claim: Claim) -> str:
    full = dict.fromkeys(escape(claim.id_of(name)) for name in names)
    return ", ".join(f'<a href="#{name}">{name}</a>' for name in full)


def _replay(outcome: Outcome) -> str:
    lines = [line for line in outcome.lines if line]
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _formulas(parts: Sequence[Part]) -> str:
    """Return each part's inequality as it was written, and what decides it in words."""
    out = ""
    for part in parts:
        out += f'<div class="formula">{mathml(part.says.tex)}</div>'
        assumed = dict.fromkeys(one.tex for one in part.says.assumed)
        given = ", ".join(mathml(tex, display=False) for tex in assumed)
        out += f'<div class="formula">if {given}</div>' if given else ""
        if part.by is not None and part.by.words:
            out += f"<p>{with_formulas(part.by.words)}</p>"
    return out


def _plot(identifier: str, found: Finding) -> str:
    """Draw both sides of an instance over the rounds, log scales, as SVG.

    Only of the printed bound that the run is about: other claims have other sides.

    Returns:
        The drawing and the instance in words.
    """
    width, height, pad = 360, 200, 40
    run = found.run
    if identifier not in {run.theorem, f"{run.theorem}/{run.case}"}:
        return escape(found.setup)
    curve = zip(*(side.tolist() for side in course(run, run.rounds)), strict=True)
    points = [p for p in curve if p[0] > 0 and (p[1] > 0 or p[2] > 0)]
    values = [v for p in points for v in p[1:] if v > 0]
    if len(points) < 2 or not values:
        return escape(found.setup)
    x0, x1 = math.log(points[0][0]), math.log(points[-1][0])
    y0, y1 = math.log(min(values)), math.log(max(values))
    y1 = y1 if y1 > y0 else y0 + 1

    def place(T: int, value: float) -> str:
        x = pad + (math.log(T) - x0) / (x1 - x0) * (width - 2 * pad)
        y = height - pad - (math.log(value) - y0) / (y1 - y0) * (height - 2 * pad)
        return f"{x:.1f},{y:.1f}"

    def line(side: int, colour: str, dash: str) -> str:
        at = " ".join(place(p[0], p[side]) for p in points if p[side] > 0)
        return (
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" '
            f'stroke-dasharray="{dash}" points="{at}"/>'
        )

    last = points[-1]
    label = f"left side {last[1]:.4g}, bound {last[2]:.4g} at T = {last[0]}"
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="{escape(label)}">'
        f'<path d="M{pad} {pad}V{height - pad}H{width - pad}" fill="none" '
        f'stroke="#999"/>{line(1, "#000000", "none")}{line(2, "#0072B2", "6 3")}'
        f'<text x="{pad}" y="16" font-size="12">black: left side; dashed blue: bound'
        f'</text><text x="{pad}" y="{height - 22}" font-size="11">T = {points[0][0]}'
        f'</text><text x="{width - pad}" y="{height - 22}" font-size="11" '
        f'text-anchor="end">T = {last[0]}</text><text x="{pad}" y="{height - 6}" '
        f'font-size="11">{escape(label)}</text></svg><br>{escape(found.setup)}'
    )
