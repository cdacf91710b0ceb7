"""``python -m bounds.audit --mutate``: how many false neighbours of claims are caught.

Exit status 1 if the checker accepts a statement that an instance breaks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from sfl_theory.evidence.claim import Claim
from sfl_theory.mutation import Verdict, judge, statements, summary

JOBS = 2
"""Processes; the verdicts do not depend on it."""

VERDICTS = ("proved", "refuted", "undecided", "wrongly proved")

NOTES = (
    "proved: the checker accepts it, so it is true and the original was not sharp. "
    "refuted: an exact instance, whose assumptions were checked one by one, breaks it. "
    "undecided: neither; it may be true. wrongly proved: both, a defect.",
    "Which mutants are false is not known otherwise, so refuted / (refuted + undecided)"
    " is a lower bound of the share of false mutants that are refuted.",
    "Counted apart: statements about parameters (an instance is a point of the domain),"
    ' steps like "if Delta_t <= v/(gamma+t) and ... then" (an instance is numbers that '
    "meet the facts used, not functions), and printed figures (arithmetic).",
)


def mutate(claims: Sequence[Claim], jobs: int = JOBS) -> list[Verdict]:
    """Judge all mutants of the proved statements of some claims, with a progress bar.

    Args:
        claims: of the ledger.
        jobs: processes; 1 judges in this one.

    Returns:
        The verdicts, in the order of the claims.
    """
    names = tuple(claim.id for claim in claims)
    # processes that are forked off find them made
    items = _STATEMENTS[names] = statements(claims)
    found: list[Verdict] = []
    with _bar(len(items)) as advance:
        for number, part in enumerate(_parts(names, len(items), jobs), 1):
            found += part
            advance(number)
    return found


def _parts(
    names: tuple[str, ...], total: int, jobs: int
) -> Iterator[tuple[Verdict, ...]]:
    tasks = [(names, k) for k in range(total)]
    if jobs == 1 or total < 2:
        yield from map(_judged, tasks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_judged, tasks)


def _judged(task: tuple[tuple[str, ...], int]) -> tuple[Verdict, ...]:
    """Return the verdicts on one statement, in a process of its own."""
    from sfl_theory.audits import LEDGER

    names, k = task
    if names not in _STATEMENTS:
        _STATEMENTS[names] = statements([LEDGER.claim(name) for name in names])
    return tuple(judge(_STATEMENTS[names][k]))


_STATEMENTS: dict[tuple[str, ...], Any] = {}


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("statements mutated", total=total)
        yield lambda done: bars.update(task, completed=done)


def as_json(verdicts: Sequence[Verdict]) -> str:
    """Return figures and mutants as JSON.

    Args:
        verdicts: on all mutants.

    Returns:
        "headline" (functions, vectors, rounds and runs), "total", the tables and all
        mutants.
    """
    tables = summary(verdicts)
    headline = next(iter(tables["group"].values()))
    content = {
        "headline": headline,
        "refuted_of_not_proved": _share(headline),
        "total": _added(tables["group"]),
        **tables,
        "mutants": [verdict.as_dict() for verdict in verdicts],
    }
    return json.dumps(content, indent=1) + "\n"


def _added(rows: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {name: sum(row[name] for row in rows.values()) for name in VERDICTS}


def _share(counts: Mapping[str, int]) -> float | None:
    rest = counts["refuted"] + counts["undecided"]
    return counts["refuted"] / rest if rest else None


def print_figures(verdicts: Sequence[Verdict]) -> None:
    """Print the figures by kind of statement and by operator, and defects in full.

    Args:
        verdicts: on all mutants.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    tables = summary(verdicts)
    groups = tables.pop("group")
    headline = next(iter(groups))
    titles = {"kind": "mutants by kind", "operator": f"mutants by operator: {headline}"}
    for name, rows in reversed(tables.items()):
        table = Table(title=titles[name], title_justify="left")
        table.add_column(name)
        for head in ("mutants", *VERDICTS, "refuted of not proved"):
            table.add_column(head, justify="right")
        for row, counts in (*sorted(rows.items()), ("all", _added(rows))):
            cells = [str(sum(counts.values())), *(str(counts[v]) for v in VERDICTS)]
            table.add_row(row, *cells, _percent(_share(counts)))
        console.print(table)
    for note in NOTES:
        console.print(note)
    for verdict in verdicts:
        if verdict.verdict == "wrongly proved":
            console.print(
                f"WRONGLY PROVED {verdict.claim}: {verdict.change}: {verdict.why}",
                markup=False,
            )
    for name, counts in reversed(groups.items()):
        if any(counts.values()):
            console.print(f"{name}: {_sentence(counts)}")


def _sentence(counts: Mapping[str, int]) -> str:
    return (
        f"{sum(counts.values())} mutants: "
        + ", ".join(f"{number} {name}" for name, number in counts.items())
        + f"; refuted of those not proved: {_percent(_share(counts))}"
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def exit_status(verdicts: Sequence[Verdict]) -> int:
    """Return 1 if a mutant was wrongly proved, else 0."""
    return int(any(verdict.verdict == "wrongly proved" for verdict in verdicts))
