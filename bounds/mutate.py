"""``python -m bounds.audit --mutate``: judge the mutants of claims, in random order."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from queue import SimpleQueue

from bounds.clock import SECONDS, Clock, shown
from bounds.journal import Journal
from bounds.sampling import ordered
from sfl_theory.benchmark.records import Record, mutant_record
from sfl_theory.evidence import Claim, Part, parts_of
from sfl_theory.ledger import ledger
from sfl_theory.mutation import Judged, groups, judge, subject
from sfl_theory.notation.writer import of_paper

JOBS = 2
"""Processes; the verdicts do not depend on it."""
LAST = 40
"""Of so many statements at the end long ones come first, so that no process waits."""

Task = tuple[Sequence[str], Sequence[str], bool]
"""Statements with one left side, those that are judged, whether records are made."""


def mutate(
    claims: Sequence[Claim],
    jobs: int = JOBS,
    journal: Journal | None = None,
    minutes: float | None = None,
) -> list[Judged]:
    """Judge the mutants of the proved statements of some claims, and show progress.

    They are judged in a random order (`sampling.ordered`), the last ones, where all are
    judged, by their length. Interrupted, it returns what is judged until then, and says
    so.

    Args:
        claims: of the papers' ledger; their repairs are mutated, too.
        jobs: processes; 1 judges in this one.
        journal: of what is judged already, where the rest is kept, too.
        minutes: no statement is begun that would end later if it took as long as one
            did until then; None: all are judged.

    Returns:
        The verdicts, by statement in the order of the claims.
    """
    clock = Clock(jobs, minutes)
    kept = Journal() if journal is None else journal
    names = statements(claims)
    kinds = subjects(names)
    kept.total = len(kinds)
    beside = {name: group for group in groups(_parts().items()) for name in group}
    left = [name for name in ordered(kinds) if name not in kept.verdicts]
    if minutes is None:
        left[-LAST:] = sorted(left[-LAST:], key=lambda name: -SECONDS[kinds[name]])
    tasks = [(tuple(beside[name]), (name,), kept.keeps_records) for name in left]
    clock.sets(kinds, left)
    print(clock.estimate(), file=sys.stderr, flush=True)
    with shown(clock) as advance:
        try:
            for part in _verdicts(tasks, jobs, clock.begins):
                for name, (verdicts, records) in part.items():
                    kept.add(name, verdicts, records)
                    advance(name)
        except KeyboardInterrupt:
            rest = kept.total - kept.done
            print(f"interrupted: {rest} statements are not judged", file=sys.stderr)
    return [one for name in names for one in kept.verdicts.get(name, [])]


def statements(claims: Sequence[Claim]) -> list[str]:
    """Return the names of the statements of claims and of their repairs, in order."""
    return [name for claim in claims for name, _ in parts_of(claim)]


def subjects(names: Iterable[str]) -> dict[str, str]:
    """Return what each of some statements speaks of, if it is proved."""
    proved = {name for group in groups(_parts().items()) for name in group}
    return {
        name: subject(_parts()[name].says.statement(name))
        for name in names
        if name in proved
    }


Found = dict[str, tuple[list[Judged], list[Record]]]


def _verdicts(
    tasks: Iterable[Task], jobs: int, begins: Callable[[], bool]
) -> Iterator[Found]:
    """Yield what comes of tasks, in no order; none is begun where `begins` says no."""
    if jobs == 1:
        for task in tasks:
            if not begins():
                return
            yield _judged(task)
        return
    left, running = iter(tasks), 0
    answers: SimpleQueue[Found | BaseException] = SimpleQueue()
    # Ctrl-C reaches every process of a terminal; this one ends the others
    quiet = (signal.SIGINT, signal.SIG_IGN)
    with get_context("fork").Pool(jobs, signal.signal, quiet) as pool:
        while True:
            while running < jobs and begins():
                task = next(left, None)
                if task is None:
                    break
                pool.apply_async(_judged, (task,), {}, answers.put, answers.put)
                running += 1
            if not running:
                return
            found = answers.get()
            running -= 1
            if isinstance(found, BaseException):
                raise found
            yield found


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
