"""Badges, links and formulas: the small pieces of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from bounds.mathml import breakable, mathml, with_formulas
from sfl_theory.claims import Claim, Part
from sfl_theory.ledger import Entry

MARKS = {"proved": "\u2713", "refuted": "\u2717", "unproved": "?"}


def paper_of(entry: Entry) -> str:
    """Return the key of the paper, or what stands for it in a user's file."""
    return entry.claim.id.split("/")[0]


def badge(status: str, words: str = "") -> str:
    """Return a status as a badge."""
    return f'<span class="badge {status}">{MARKS[status]} {words or status}</span>'


def severity(entry: Entry) -> str:
    """Return what a refutation means as a chip; nothing for other entries."""
    one = entry.claim.severity
    if one is None or entry.outcome.status != "refuted":
        return ""
    return f'<span class="chip {one.value}">{one.value}</span>'


def link(name: str, words: str = "") -> str:
    """Return a link to an entry."""
    shown = escape(words or name)
    return f'<a href="#{escape(name)}"><code>{shown}</code></a>'


def links(names: Iterable[str], claim: Claim) -> str:
    """Return links to entries; those of the same paper without its key."""
    paper = f"{claim.id.split('/')[0]}/"
    full = dict.fromkeys(claim.id_of(name) for name in names)
    return ", ".join(link(name, name.removeprefix(paper)) for name in full)


def statement(parts: Sequence[Part]) -> str:
    """Return the formulas of some parts and what they assume."""
    return "".join(map(one_statement, parts))


def one_statement(part: Part) -> str:
    """Return the formula of one part and what it assumes."""
    assumed = {one.tex: one.source for one in part.says.assumed}
    given = "; ".join(
        mathml(tex, display=False) + (f" <small>{escape(name)}</small>" if name else "")
        for tex, name in assumed.items()
    )
    given = f'<p class="given">if {given}</p>' if given else ""
    read = part.reading and f'<p class="given">read: {with_formulas(part.reading)}</p>'
    return f'<p class="formula">{breakable(part.says.tex)}</p>{given}{read}'


def definition(items: Iterable[tuple[str, str]]) -> str:
    """Return what has a text as a list of definitions."""
    rows = "".join(f"<dt>{key}</dt><dd>{text}</dd>" for key, text in items if text)
    return f"<dl>{rows}</dl>"
