"""``python -m bounds.audit --mutate``: how many false neighbours of claims are caught.

Exit status 1 if the kernel accepts a statement that a model breaks.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from multiprocessing import get_context

from bounds.journal import FIELDS, Journal
from sfl_theory.benchmark.records import Record, mutant_record
from sfl_theory.claims import Claim, Part, parts_of
from sfl_theory.ledger import ledger
from sfl_theory.mutation import SUBJECTS, VERDICTS, Judged, groups, judge
from sfl_theory.writer import of_paper

JOBS = 2
"""Processes; the verdicts do not depend on it."""

Counts = Mapping[str, int]
Task = tuple[Sequence[str], Sequence[str], bool]
"""Statements with one left side, those that are judged, whether records are made."""

NOTES = (
    "proved: the kernel derives it from the original's theorem, or from another one"
    " with the same left side, so the original was not sharp. refuted: a model, in"
    " which the kernel finds every hypothesis true, breaks it. undecided: neither; it"
    " may be true. no model: it drops what every model of the kernel has (independent"
    " samples or draws; fair noise where gradients are bounded), and follows from"
    " nothing. wrongly proved: proved and refuted, a defect.",
    "Which mutants are false is not known otherwise, so refuted / (refuted + undecided)"
    " is a lower bound of the share of false mutants that are refuted.",
    "Statements about numbers only are counted apart: their models have no function.",
)


def mutate(
    claims: Sequence[Claim], jobs: int = JOBS, journal: Journal | None = None
) -> list[Judged]:
    """Judge all mutants of the proved statements of some claims, with a progress bar.

    Interrupted, it returns what is judged until then, and says so.

    Args:
        claims: of the papers' ledger; their repairs are mutated, too.
        jobs: processes; 1 judges in this one.
        journal: of what is judged already, where the rest is kept, too.

    Returns:
        The verdicts, by statement in the order of the claims.
    """
    kept = Journal() if journal is None else journal
    names = statements(claims)
    chosen = set(names)
    tasks = [
        (together, tuple(name for name in together if name in chosen))
        for together in groups(_parts().items())
    ]
    kept.total = sum(len(wanted) for _, wanted in tasks)
    tasks = [
        (together, wanted, kept.keeps_records)
        for together, all_ in tasks
        if (wanted := tuple(name for name in all_ if name not in kept.verdicts))
    ]
    tasks.sort(key=lambda task: -len(task[1]))
    with _bar(kept.total) as advance:
        advance(kept.done)
        try:
            for part in _verdicts(tasks, jobs):
                for name, (verdicts, records) in part.items():
                    kept.add(name, verdicts, records)
                advance(kept.done)
        except KeyboardInterrupt:
            left = kept.total - kept.done
            print(f"interrupted: {left} statements are not judged", file=sys.stderr)
    return [one for name in names for one in kept.verdicts.get(name, [])]


def statements(claims: Sequence[Claim]) -> list[str]:
    """Return the names of the statements of claims and of their repairs, in order."""
    return [name for claim in claims for name, _ in parts_of(claim)]


Found = dict[str, tuple[list[Judged], list[Record]]]


def _verdicts(tasks: Sequence[Task], jobs: int) -> Iterator[Found]:
    if jobs == 1 or len(tasks) < 2:
        yield from map(_judged, tasks)
        return
    # Ctrl-C reaches every process of a terminal; this one ends the others
    quiet = (signal.SIGINT, signal.SIG_IGN)
    with get_context("fork").Pool(jobs, signal.signal, quiet) as pool:
        yield from pool.imap_unordered(_judged, tasks)


def _judged(task: Task) -> Found:
    """Return verdicts and records of some statements, in a process of its own.

    Terms do not leave the process.
    """
    together, wanted, with_records = task
    found = judge([(name, _parts()[name]) for name in together], wanted=wanted)
    out: Found = {}
    for name in wanted:
        own = [one for one in found if one.claim == name]
        writer, part = of_paper(name.split("/")[0]), _parts()[name]
        records = [
            mutant_record(one, number, part, writer)
            for number, one in enumerate(own if with_records else (), 1)
        ]
        out[name] = [replace(one, shown=None) for one in own], records
    return out


@cache
def _parts() -> dict[str, Part]:
    """Return the statements of the papers' ledger by name."""
    return {name: p for claim in ledger().claims() for name, p in parts_of(claim)}


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("statements mutated", total=total)
        yield lambda done: bars.update(task, completed=done)


def counted(verdicts: Sequence[Judged]) -> dict[str, int]:
    """Return how many mutants got each verdict."""
    found = Counter(one.verdict for one in verdicts)
    return {name: found[name] for name in VERDICTS}


def headline(verdicts: Sequence[Judged]) -> list[Judged]:
    """Return the mutants of statements about functions, vectors, rounds and runs."""
    return [one for one in verdicts if one.subject != "numbers"]


def tables(verdicts: Sequence[Judged]) -> dict[str, dict[str, dict[str, int]]]:
    """Return the counts by what statements speak of, and of the headline by operator.

    Args:
        verdicts: on all mutants.

    Returns:
        Under "kind" and "operator".
    """
    main = headline(verdicts)
    operators = sorted({one.operator for one in main})
    return {
        "kind": {
            name: counted([one for one in verdicts if one.subject == name])
            for name in SUBJECTS
        },
        "operator": {
            name: counted([one for one in main if one.operator == name])
            for name in operators
        },
    }


def as_json(verdicts: Sequence[Judged]) -> str:
    """Return figures and mutants as JSON.

    Args:
        verdicts: on all mutants.

    Returns:
        "headline" (functions, vectors, rounds and runs), "total", the tables and all
        mutants.
    """
    main = counted(headline(verdicts))
    content = {
        "headline": main,
        "refuted_of_not_proved": _share(main),
        "total": counted(verdicts),
        **tables(verdicts),
        "mutants": [{key: getattr(one, key) for key in FIELDS} for one in verdicts],
    }
    return json.dumps(content, indent=1) + "\n"


def _share(counts: Counts) -> float | None:
    rest = counts["refuted"] + counts["undecided"]
    return counts["refuted"] / rest if rest else None


def print_figures(verdicts: Sequence[Judged]) -> None:
    """Print the figures by kind of statement and by operator, and defects in full.

    Args:
        verdicts: on all mutants.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    main = headline(verdicts)
    titles = {
        "operator": ("mutants by operator, numbers apart", main),
        "kind": ("mutants by what their statement speaks of", verdicts),
    }
    found = tables(verdicts)
    for name, (title, among) in titles.items():
        table = Table(title=title, title_justify="left")
        table.add_column(name, no_wrap=True)
        for head in ("mutants", *VERDICTS, "refuted of not proved"):
            table.add_column(head, justify="right")
        for row, counts in (*found[name].items(), ("all", counted(among))):
            cells = [str(sum(counts.values())), *(str(counts[v]) for v in VERDICTS)]
            table.add_row(row, *cells, _percent(_share(counts)))
        console.print(table)
    for note in NOTES:
        console.print(note)
    for defect in defects(verdicts):
        console.print(defect, markup=False)
    apart = [one for one in verdicts if one.subject == "numbers"]
    for name, part in (("numbers", apart), (", ".join(SUBJECTS[:3]), main)):
        if part:
            console.print(f"{name}: {_sentence(counted(part))}")


def _sentence(counts: Counts) -> str:
    return (
        f"{sum(counts.values())} mutants: "
        + ", ".join(f"{number} {name}" for name, number in counts.items())
        + f"; refuted of those not proved: {_percent(_share(counts))}"
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def defects(verdicts: Sequence[Judged]) -> list[str]:
    """Return a line for every mutant that is proved and refuted."""
    wrong = (one for one in verdicts if one.verdict == "wrongly proved")
    return [f"WRONGLY PROVED {one.claim}: {one.change}" for one in wrong]


def exit_status(verdicts: Sequence[Judged]) -> int:
    """Return 1 if a mutant was wrongly proved, else 0."""
    return int(bool(defects(verdicts)))
