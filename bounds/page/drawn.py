"""What the page takes from an entry's evidence, where the kernel's objects are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bounds.page.lines import few, lines
from bounds.page.sharper import RESULTS, sharper
from bounds.page.sheet import Sheet
from bounds.page.sketch import in_words, of_part
from sfl_theory.evidence import Decided, Kind, Part
from sfl_theory.ledger import Entry, Outcome

AT_LENGTH = {*RESULTS, Kind.LEMMA}
"""Their proofs are told line by line; every proof's steps can be unfolded."""


@dataclass(frozen=True)
class DrawnPart:
    """One part of a claim or of its repair.

    Attributes:
        proof: mark of the proof's last step in the sheets; "" without one.
        lines: mark of its lines in prose; "" without any.
        used: the paper's names of the assumptions that the proof uses.
        unused: places of the assumptions that it does not use.
        picture: of the model that decides it, as HTML.
        sides: what the model gives, in words.
    """

    proof: str = ""
    lines: str = ""
    used: tuple[str, ...] = ()
    unused: tuple[int, ...] = ()
    picture: str = ""
    sides: str = ""


@dataclass(frozen=True)
class Drawn:
    """An entry's proofs and pictures.

    Attributes:
        parts: of the claim.
        repair: of its repair.
        sharper: how much smaller than the printed bound the smallest proved one is.
        sheet: formulas and steps that were not written before in this process's sheet.
    """

    parts: tuple[DrawnPart, ...] = ()
    repair: tuple[DrawnPart, ...] = ()
    sharper: str = ""
    sheet: Mapping[str, str] = field(default_factory=dict)


def drawn(entry: Entry, sheet: Sheet) -> Drawn:
    """Draw an entry in the process that decided it.

    Args:
        entry: with its evidence.
        sheet: of the page, in this process: what proofs share is written once.

    Returns:
        Its proofs and pictures.
    """
    claim = entry.claim
    parts = _parts(entry, claim.parts, entry.outcome, sheet)
    repaired = claim.repair.parts if claim.repair is not None else ()
    repair = _parts(entry, repaired, entry.repair, sheet)
    return Drawn(parts, repair, sharper(claim), sheet.take())


def _parts(
    entry: Entry, parts: Sequence[Part], outcome: Outcome | None, sheet: Sheet
) -> tuple[DrawnPart, ...]:
    if outcome is None or not outcome.decided:
        return tuple(DrawnPart() for _ in parts)
    return tuple(
        _part(entry, part, found, outcome, sheet)
        for part, found in zip(parts, outcome.decided, strict=True)
    )


def _part(
    entry: Entry, part: Part, found: Decided, outcome: Outcome, sheet: Sheet
) -> DrawnPart:
    if found.theorem is None:
        picture = of_part(found, outcome.findings, entry.claim.id)
        return DrawnPart(picture=picture, sides=in_words(found))
    known = found.theorem.hypotheses
    used = (one.source for one in part.says.assumed if one.value in known)
    unused = (
        place for place, one in enumerate(part.says.assumed) if one.value not in known
    )
    told = entry.claim.kind in AT_LENGTH or few(found.theorem)
    paper = entry.claim.id.split("/")[0]
    return DrawnPart(
        sheet.proof(found.theorem),
        lines(found.theorem, part.says, paper, sheet) if told else "",
        tuple(dict.fromkeys(filter(None, used))),
        tuple(unused),
    )
