"""The ledger in a terminal: counts by severity, theorems first, causes in full."""

from __future__ import annotations

import shlex
import shutil
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from sfl_theory.evidence import OURS, Kind, Severity
from sfl_theory.ledger import STATUSES, Entry, coverage
from sfl_theory.notation.plain import in_plain
from sfl_theory.papers import about

WIDE = 120
"""From so many columns on what decides a claim stands beside it, else below it."""
NARROWEST = 40
LINES = 2
"""So many lines tell what is proved, or why nothing is; causes are told in full."""
RESULTS = (Kind.THEOREM, Kind.PROPOSITION)
MEANS = {
    Severity.THEOREM: ("stated result", "stated results"),
    Severity.PROOF: ("proof step", "proof steps"),
    Severity.CONSTANT: ("constant", "constants"),
    Severity.SLIP: ("slip", "slips"),
}
"""What a severity counts: one, several."""


def severities(entries: Sequence[Entry]) -> dict[Severity, int]:
    """Return how many entries are refuted, by what that means."""
    found = Counter(
        entry.claim.severity for entry in entries if entry.outcome.status == "refuted"
    )
    return {one: found[one] for one in Severity if found[one]}


def counted(entries: Sequence[Entry]) -> str:
    """Return the counts of a paper's entries in words."""
    status = Counter(entry.outcome.status for entry in entries)
    broken = ", ".join(
        f"{number} {MEANS[one][number > 1]}"
        for one, number in severities(entries).items()
    )
    words = [f"{status[name]} {name}" for name in STATUSES]
    if broken:
        words[STATUSES.index("refuted")] += f" ({broken})"
    return f"{len(entries)} claim{'s' * (len(entries) != 1)}: {', '.join(words)}"


def print_table(entries: Sequence[Entry]) -> None:
    """Print counts, and a line or a few for each entry, paper by paper.

    Args:
        entries: in the order to print; theorems and propositions come first.
    """
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    papers = dict.fromkeys(entry.claim.id.split("/")[0] for entry in entries)
    for paper in papers:
        here = [e for e in entries if e.claim.id.split("/")[0] == paper]
        named = about(paper)
        print(_filled(f"{paper}: {named.title}" if named else paper, width))
        print(_filled(counted(here), width, "  "))
        results = [e for e in here if e.claim.kind in RESULTS]
        printed = [e for e in results if e.claim.location != OURS]
        others = [e for e in here if e.claim.kind not in RESULTS]
        for heading, group in (
            ("Theorems and propositions", printed),
            ("Proved beyond the paper", [e for e in results if e not in printed]),
            ("What their proofs and the text claim", others),
        ):
            if group:
                print(f"\n{heading if results else 'Claims'}")
                for line in _rows(group, width):
                    print(line)
        print()
    files = {entry.file for entry in entries if entry.file}
    if not files:
        print(_filled(coverage(papers), width))
    where = "".join(f" --file {shlex.quote(file)}" for file in files)
    print(f"python -m bounds.audit{where} --claim ID shows an entry in full")


def _rows(entries: Sequence[Entry], width: int) -> Iterator[str]:
    """Yield what stands for some entries, beside each other or below."""
    heads = [_head(entry) for entry in entries]
    columns = [max(map(len, column)) for column in zip(*heads, strict=True)]
    for entry, head in zip(entries, heads, strict=True):
        first, indent = f"  {'  '.join(filter(None, head))}", " " * 6
        if width >= WIDE:
            cells = zip(head, columns, strict=True)
            first = "  " + "  ".join(f"{cell:<{size}}" for cell, size in cells) + "  "
            indent = " " * len(first)
        proved = entry.outcome.status == "proved"
        told = in_plain(entry.claim.title if proved else entry.why)
        lines = textwrap.wrap(told, max(width - len(indent), NARROWEST))
        lines = lines if entry.standing.cause else _first(lines)
        if width >= WIDE and lines:
            first += lines.pop(0)
        yield first.rstrip()
        yield from (indent + line for line in lines)


def _first(lines: list[str]) -> list[str]:
    """Return the first lines, and whether there are more."""
    if len(lines) <= LINES:
        return lines
    return [*lines[: LINES - 1], f"{lines[LINES - 1][:-4].rstrip()} ..."]


def _head(entry: Entry) -> tuple[str, str, str, str]:
    """Return status, severity, name, and what is known of the repair."""
    claim = entry.claim
    paper = f"{claim.id.split('/')[0]}/"
    name = claim.id if entry.file else claim.id.removeprefix(paper)
    refuted = entry.outcome.status == "refuted" and claim.severity is not None
    severity = claim.severity.value if refuted and claim.severity else ""
    repair = "" if entry.repair is None else f"repair {entry.repair.status}"
    return entry.outcome.status, severity, name, repair


def _filled(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)
