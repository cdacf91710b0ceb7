"""An entry of the page: what the paper says, what is wrong, what decides it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from bounds.page.drawn import Drawn, DrawnPart
from bounds.page.links import Packed, badge, definition, links, severity
from bounds.page.prose import prose
from bounds.page.sheet import Book
from sfl_theory.evidence import OURS, Part
from sfl_theory.ledger import REJECTED, Entry, Outcome
from sfl_theory.notation.writer import of_paper

IN_SUMMARY = 400
"""A statement with more LaTeX than that is shown in the opened entry only."""


def entry_html(entry: Entry, shown: Drawn, book: Book, section: str) -> str:
    """Return an entry, folded.

    Args:
        entry: decided.
        shown: its proofs and pictures.
        book: holds the proofs.
        section: id of the section that it stands in.

    Returns:
        HTML.
    """
    claim, now, repair = entry.claim, entry.standing, entry.claim.repair
    write = Packed(book, of_paper(claim.id.split("/")[0]))
    printed = "".join(map(write.statement, claim.parts))
    said = "added by the audit" if claim.location == OURS else "printed"
    body = [
        (said, f"<p>{write.words(claim.title)}</p>{printed}"),
        ("verdict", badge(entry.outcome.status) + " " + write.words(now.scope)),
        ("cause", write.words(now.cause)),
        (
            "first step that fails",
            links([claim.first_failure], claim) if claim.first_failure else "",
        ),
        ("in words", write.words(claim.words)),
        ("evidence", _evidence(claim.parts, entry.outcome, shown.parts, write)),
    ]
    if repair is not None and entry.repair is not None:
        proofs = _evidence(repair.parts, entry.repair, shown.repair, write, True)
        change = f"{badge(entry.repair.status)} {write.words(repair.change)}"
        body += [("repaired", change + proofs)]
    body += [
        ("the paper's proof uses", links(claim.depends_on, claim)),
        ("used by", links(entry.used_by, claim)),
        ("replay", f"<code>{escape(entry.reproduce)}</code>"),
    ]
    severe = claim.severity.value if now.cause and claim.severity else ""
    return (
        f'<details class="entry {entry.outcome.status}" id="{escape(claim.id)}" '
        f'data-status="{entry.outcome.status}" data-section="{section}" '
        f'data-severity="{severe}"'
        f">{_summary(entry, write)}{definition(body)}</details>"
    )


def _summary(entry: Entry, write: Packed) -> str:
    claim = entry.claim
    repair = entry.repair.status if entry.repair is not None else ""
    repaired = f'<span class="chip repair">repair {repair}</span>' if repair else ""
    formula = next((p.says.tex for p in claim.parts if not p.says.denied), "")
    line = write.words(claim.title)
    if formula and len(formula) <= IN_SUMMARY:
        line = write.inline(formula)
    why = write.words(entry.standing.cause)
    return (
        f"<summary>{badge(entry.outcome.status)}<b>{escape(claim.location)}</b>"
        f"{severity(entry)}{repaired}<code>{escape(claim.id.split('/', 1)[-1])}</code>"
        f'<span class="line">{line}</span>'
        + (f'<span class="why">{why}</span>' if why else "")
        + "</summary>"
    )


def _evidence(
    parts: Sequence[Part],
    outcome: Outcome,
    shown: Sequence[DrawnPart],
    write: Packed,
    stated: bool = False,
) -> str:
    """Return what decides each part; of a repair what each says, too."""
    out = "".join(
        f'<p class="rejected">{escape(line)}</p>'
        for line in outcome.lines
        if line.startswith(REJECTED)
    )
    for place, (part, one) in enumerate(zip(parts, shown, strict=True), 1):
        out += f"<h5>part {place} of {len(parts)}</h5>" if len(parts) > 1 else ""
        out += write.statement(part) if stated else ""
        words = part.by.words if part.by is not None else ""
        out += f"<p>{write.words(words)}</p>" if words else ""
        out += write.gap(one.picture, one.sides, "div") if one.picture else ""
        out += prose(part.says, one, write) if one.proof else ""
    return out
