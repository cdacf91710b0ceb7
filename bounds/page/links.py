"""Badges, links and formulas: the small pieces of the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from bounds.mathml import breakable, mathml, with_formulas
from bounds.page.sheet import Book
from bounds.runs_in_words import run_in_words
from sfl_theory.evidence import Claim, Part
from sfl_theory.ledger import Entry
from sfl_theory.notation.plain import in_words
from sfl_theory.notation.writer import Writer
from sfl_theory.notation.written import Assumed

SHORT = 110
"""A formula of fewer characters of MathML stands in the page itself."""
INSTEAD = 40
"""So many characters stand where something will be filled in."""
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
    told = f"severity: {one.value}, {one.means}"
    return f'<span class="chip {one.value}" title="{told}">{one.value}</span>'


def link(name: str, words: str = "") -> str:
    """Return a link to an entry."""
    shown = escape(words or name)
    return f'<a href="#{escape(name)}">{shown}</a>'


def links(names: Iterable[str], claim: Claim) -> str:
    """Return links to entries; those of the same paper without its key."""
    paper = f"{claim.id.split('/')[0]}/"
    full = dict.fromkeys(claim.id_of(name) for name in names)
    return ", ".join(link(name, name.removeprefix(paper)) for name in full)


@dataclass(frozen=True)
class Packed:
    """Writes formulas into the book: their LaTeX stands where they are filled in.

    Attributes:
        book: what the page unpacks.
        writer: of the paper's parameters.
    """

    book: Book
    writer: Writer

    def gap(self, content: str, instead: str, tag: str = "span") -> str:
        """Return where a content of the book is to be filled in."""
        short = instead if len(instead) <= INSTEAD else f"{instead[:INSTEAD]}\u2026"
        return f'<{tag} data-f="{self.book.keep(content)}">{escape(short)}</{tag}>'

    def inline(self, tex: str) -> str:
        """Return a formula inside a sentence."""
        if len(drawn := mathml(tex, display=False)) < SHORT:
            return drawn
        return self.gap(drawn, tex)

    def block(self, tex: str) -> str:
        """Return a formula on a line of its own."""
        return f'<p class="formula">{self.gap(breakable(tex), tex)}</p>'

    def words(self, text: str) -> str:
        """Return a text with formulas between dollars."""
        parts = text.split("$")
        if len(parts) % 2 == 0:
            return escape(in_words(text))
        return "".join(
            self.inline(part) if k % 2 else escape(in_words(part))
            for k, part in enumerate(parts)
        )

    def statement(self, part: Part) -> str:
        """Return the formula of one part and what it assumes."""
        says = part.says
        told = [
            f"run: {run_in_words(one, self.writer)}"
            for one in sorted(says.runs, key=str)
        ]
        if symbols := ", ".join(f"${one}$" for one in says.definitions):
            told.insert(0, f"where {symbols}")
        lines = self.gap("<br>".join(map(with_formulas, told)), "") if told else ""
        about = f'<p class="given">{lines}</p>' if told else ""
        assumed = says.assumed
        names = "; ".join(dict.fromkeys(one.source or one.tex for one in assumed))
        shown = self.gap(assumptions(assumed), names) if assumed else ""
        given = f'<p class="given">if {shown}</p>' if shown else ""
        read = f'<p class="given">read: {self.words(part.reading)}</p>'
        read *= bool(part.reading)
        return self.block(says.tex) + about + given + read


def assumptions(assumed: Iterable[Assumed]) -> str:
    """Return assumptions with their names in the paper."""
    named = {one.tex: one.source for one in assumed}
    called = {
        tex: f"<small>{escape(n)}:</small> " if n else "" for tex, n in named.items()
    }
    return "; ".join(name + mathml(tex, display=False) for tex, name in called.items())


def definition(items: Iterable[tuple[str, str]]) -> str:
    """Return what has a text as a list of definitions."""
    rows = "".join(f"<dt>{key}</dt><dd>{text}</dd>" for key, text in items if text)
    return f"<dl>{rows}</dl>"
