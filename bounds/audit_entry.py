"""One entry of the ledger in a terminal: statement, verdict, evidence, in full."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
)
from fractions import Fraction

from bounds.audit_table import NARROWEST
from bounds.runs_in_words import run_in_words
from sfl_theory.evidence import Claim, Decided, Model, Part
from sfl_theory.kernel.replay import Claim as Replayed
from sfl_theory.ledger import Entry, Outcome
from sfl_theory.notation.plain import in_plain, plain
from sfl_theory.notation.writer import Writer, of_paper

INDENT = 11
WIDEST = 100
DIGITS = 6
SHORT, LONG = 24, 100
"""Fractions of so many characters stand before their decimals; longer ones nowhere."""


def print_entry(entry: Entry) -> None:
    """Print one entry in full, as wide as the terminal.

    Args:
        entry: to print.
    """
    columns = shutil.get_terminal_size().columns
    width = min(max(columns, NARROWEST), WIDEST)
    print(textwrap.fill(f"{entry.claim.id} ({entry.claim.location})", width))
    for label, text in _lines(entry):
        _say(label, text, width)
    print(f"{'replay:':{INDENT}}{entry.reproduce}")  # not wrapped: to be pasted


def _say(label: str, text: str, width: int) -> None:
    head = f"{label}:" if label else ""
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=f"{head:{INDENT}}",
        subsequent_indent=" " * INDENT,
        break_on_hyphens=False,
    )
    print("\n".join(lines))


def _lines(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield what there is to say of an entry, with labels; "" goes on below."""
    claim, outcome, now = entry.claim, entry.outcome, entry.standing
    severity = claim.severity if now.cause else None
    told = [
        ("kind", claim.kind.value),
        ("statement", in_plain(claim.title)),
        ("reading", in_plain(_shared(claim.parts))),
        ("status", f"{outcome.status} ({outcome.method})"),
        ("scope", in_plain(now.words) if now.scope else ""),
        ("cause", in_plain(now.cause)),
        ("severity", f"{severity.value}: {severity.means}" if severity else ""),
        ("fails at", claim.id_of(claim.first_failure) if claim.first_failure else ""),
        ("in words", in_plain(claim.words)),
    ]
    yield from (one for one in told if one[1])
    yield from _parts(claim, claim.parts, outcome)
    if claim.depends_on:
        yield "uses", f"in the paper's proof: {', '.join(claim.depends_on)}"
    if claim.repair is not None and entry.repair is not None:
        yield "repaired", in_plain(claim.repair.change)
        if read := _shared(claim.repair.parts):
            yield "reading", in_plain(read)
        yield "status", f"{entry.repair.status} ({entry.repair.method})"
        yield from _parts(claim, claim.repair.parts, entry.repair)


def _shared(parts: tuple[Part, ...]) -> str:
    """Return the reading that all parts have; "" where each has its own."""
    (read, *others) = {part.reading for part in parts} or {""}
    return "" if others else read


def _parts(
    claim: Claim, parts: tuple[Part, ...], outcome: Outcome
) -> Iterator[tuple[str, str]]:
    """Yield what each part says, assumes and rests on; what recurs is said once."""
    write = of_paper(claim.id.split("/")[0])
    last: list[tuple[str, str]] = []
    decided: Iterable[Decided | None] = outcome.decided or (None,) * len(parts)
    for place, (part, found) in enumerate(zip(parts, decided, strict=True), 1):
        yield f"part {place}" if len(parts) > 1 else "formula", plain(part.says.tex)
        if part.reading != _shared(parts):
            yield "reading", in_plain(part.reading) or "as it stands"
        given = [*_given(part, found, write)]
        if given and given == last:
            yield "assumes", "the same"
        else:
            yield from given
        last = given
        words = in_plain(part.by.words) if part.by is not None else ""
        label = "instance" if isinstance(part.by, Model) else "proof"
        shown = _evidence(found, part.says.denied)
        for line in filter(None, (words, *shown)):
            yield label, line
            label = ""


def _given(
    part: Part, found: Decided | None, write: Writer
) -> Iterator[tuple[str, str]]:
    """Yield which run a part speaks of, and what it assumes."""
    says = part.says
    if symbols := ", ".join(f"${one}$" for one in says.definitions):
        yield "where", in_plain(symbols)
    for run in sorted(says.runs, key=str):
        yield "run", in_plain(run_in_words(run, write))
    used = None if found is None or found.theorem is None else found.theorem.hypotheses
    needed: dict[str, bool] = {}
    for one in says.assumed:
        name = f"{one.source}: " if one.source else ""
        text = name + plain(one.tex)
        needed[text] = needed.get(text, False) or used is None or one.value in used
    label = "assumes"
    for text, need in needed.items():
        yield label, text + ("" if need else " (not used)")
        label = ""


def _evidence(found: Decided | None, denied: bool) -> Iterator[str]:
    """Yield what the kernel found: why it rejects, or both sides in a model."""
    if found is None or found.claim is None:
        yield from () if found is None else found.lines
        return
    if found.claim.sides is None:
        yield "no model named: the assumptions may exclude each other"
        return
    if denied:
        yield "this model meets every assumption"
        return
    yield "in a model that meets every assumption:"
    yield from sides(found.claim)


def sides(claim: Replayed) -> Iterator[str]:
    """Yield what a model gives for both sides: fractions with their decimals.

    Args:
        claim: decided with a model. Sides that are only enclosed are rounded outwards.

    Yields:
        A line for each side, and one that compares them.

    Raises:
        ValueError: no model is named.
    """
    if claim.sides is None:
        raise ValueError(f"{claim.id} names no model")
    left, right = claim.sides
    less = "=" if left == right else "<" if left < right else ">"
    if not claim.enclosed:
        yield f"left side   {exactly(left)}"
        yield f"right side  {exactly(right)}"
        apart = f", by {rounded(abs(left - right))}" if left != right else ""
        yield f"left {less} right{apart}"
        return
    up, down = ("most", ROUND_CEILING), ("least", ROUND_FLOOR)
    (one, first), (two, second) = (down, up) if left > right else (up, down)
    yield f"left side   at {one} {exactly(left, first)}"
    yield f"right side  at {two} {exactly(right, second)}"
    by = rounded(abs(left - right), ROUND_FLOOR)
    yield f"left {'>' if left > right else '<='} right, by at least {by}"


def exactly(value: Fraction, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return a fraction and its decimal; of a long one the decimal first, or alone.

    Args:
        value: the number.
        rounding: of the decimal, as `decimal` calls it.

    Returns:
        ``1/8 = 0.125``, ``1/3 ~ 0.333333``, ``33.8786 (5764... / 1701...)``.
    """
    if value.denominator == 1 and len(str(value)) <= SHORT:
        return str(value)
    shown = rounded(value, rounding)
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    text = str(value) if bits <= 4 * LONG else ""
    if not text or len(text) > LONG:
        return f"about {shown}"
    if len(text) > SHORT:
        return f"{shown} ({text.replace('/', ' / ')})"
    return f"{text} {'=' if Fraction(shown) == value else '~'} {shown}"


def rounded(value: Fraction, rounding: str = ROUND_HALF_EVEN) -> str:
    """Return some digits of a fraction."""
    context = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, rounding=rounding)
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    usual = -300 < found.adjusted() < 300
    return f"{float(found):.{DIGITS}g}" if usual else f"{found.normalize(context)}"
