"""What a mutation run has found: tables, sentences, JSON, the exit status.

It is 1 if the kernel accepts a statement that a model breaks.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from bounds.journal import FIELDS
from bounds.sampling import interval
from sfl_theory.mutation import SUBJECTS, VERDICTS, Judged

Counts = Mapping[str, int]

SHARE = "refuted of not proved"
HEADS = {
    "no model": "no\nmodel",
    "wrongly proved": "wrongly\nproved",
    SHARE: "refuted\nof not\nproved",
}
"""Heads of columns in lines, so that a table fits a terminal."""
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


Covered = Mapping[str, tuple[int, int]]
"""For each kind of statement how many are judged, and how many there are."""


def covered(kinds: Mapping[str, str], judged: Collection[str]) -> Covered:
    """Return how much of the statements is judged.

    Args:
        kinds: what each statement speaks of.
        judged: names of those that are.
    """
    own = Counter(kind for name, kind in kinds.items() if name in judged)
    every = Counter(kinds.values())
    return {kind: (own[kind], every[kind]) for kind in SUBJECTS}


def _whole(parts: Covered) -> tuple[int, int]:
    done, every = zip(*parts.values(), strict=True)
    return sum(done), sum(every)


def partial(parts: Covered | None) -> bool:
    """Return whether only a part of the statements is judged."""
    return parts is not None and len({*_whole(parts)}) > 1


def within(verdicts: Sequence[Judged]) -> tuple[float, float] | None:
    """Return the 95 % interval of the share that is refuted of what is not proved.

    Args:
        verdicts: on the mutants of statements drawn at random.
    """
    found: dict[str, list[int]] = {}
    for one in verdicts:
        hits, trials = found.setdefault(one.claim, [0, 0])
        refuted = one.verdict == "refuted"
        now = [hits + refuted, trials + (refuted or one.verdict == "undecided")]
        found[one.claim] = now
    return interval([(hits, trials) for hits, trials in found.values()])


def as_json(verdicts: Sequence[Judged], parts: Covered | None = None) -> str:
    """Return figures and mutants as JSON.

    Args:
        verdicts: on all mutants.
        parts: how much of the statements is judged; None: all.

    Returns:
        "headline" (functions, vectors, rounds and runs), "total", the tables and all
        mutants; where a part is judged, how many statements it is of each kind, and
        the interval of the headline's share.
    """
    main = counted(headline(verdicts))
    content = {
        "headline": main,
        "refuted_of_not_proved": _share(main),
        **_partly(verdicts, parts),
        "total": counted(verdicts),
        **tables(verdicts),
        "mutants": [{key: getattr(one, key) for key in FIELDS} for one in verdicts],
    }
    return json.dumps(content, indent=1) + "\n"


def _partly(verdicts: Sequence[Judged], parts: Covered | None) -> dict[str, object]:
    if not partial(parts):
        return {}
    return {
        "refuted_of_not_proved_within": within(headline(verdicts)),
        "statements_judged_of": parts,
    }


def _share(counts: Counts) -> float | None:
    rest = counts["refuted"] + counts["undecided"]
    return counts["refuted"] / rest if rest else None


def print_figures(verdicts: Sequence[Judged], parts: Covered | None = None) -> None:
    """Print the figures by kind of statement and by operator, and defects in full.

    Where a part of the statements is judged, shares have an interval.

    Args:
        verdicts: on all mutants.
        parts: how much of the statements is judged; None: all.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    main = headline(verdicts)
    titles = {
        "operator": ("mutants by operator, numbers apart", main),
        "kind": ("mutants by what their statement speaks of", verdicts),
    }
    found, some = tables(verdicts), partial(parts)
    for name, (title, among) in titles.items():
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
        table.padding, table.show_edge = 0, False
        table.add_column(name)
        heads = ("mutants", *VERDICTS, SHARE, *["95 %"] * some)
        for head in heads:
            words = HEADS.get(head, head)
            table.add_column(words, justify="right", no_wrap=True)
        for row, counts in (*found[name].items(), ("all", counted(among))):
            cells = [str(sum(counts.values())), *(str(counts[v]) for v in VERDICTS)]
            own = [x for x in among if row in (x.operator, x.subject, "all")]
            ends = [_ends(within(own))] * some
            table.add_row(row, *cells, _percent(_share(counts)), *ends)
        console.print(table)
    if parts is not None and some:
        console.print(_drawn(parts))
    for note in NOTES:
        console.print(note)
    for defect in defects(verdicts):
        console.print(defect, markup=False)
    apart = [one for one in verdicts if one.subject == "numbers"]
    for name, part in (("numbers", apart), (", ".join(SUBJECTS[:3]), main)):
        if part:
            console.print(f"{name}: {_sentence(counted(part))}")


def _drawn(parts: Covered) -> str:
    """Return of how many statements a part is."""
    each = (
        f"{done} of {every} about {kind}"
        for kind, (done, every) in parts.items()
        if every
    )
    done, every = _whole(parts)
    return (
        f"{done} of {every} statements, in a random order: {', '.join(each)}. Shares "
        "are estimates of those of all; 95 %: Wilson's interval, with as many mutants "
        "as the spread between statements says that they are worth."
    )


def _sentence(counts: Counts) -> str:
    return (
        f"{sum(counts.values())} mutants: "
        + ", ".join(f"{number} {name}" for name, number in counts.items())
        + f"; refuted of those not proved: {_percent(_share(counts))}"
    )


def _ends(ends: tuple[float, float] | None) -> str:
    return "-" if ends is None else f"{100 * ends[0]:.0f}-{_percent(ends[1])}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def defects(verdicts: Sequence[Judged]) -> list[str]:
    """Return a line for every mutant that is proved and refuted."""
    wrong = (one for one in verdicts if one.verdict == "wrongly proved")
    return [f"WRONGLY PROVED {one.claim}: {one.change}" for one in wrong]


def exit_status(verdicts: Sequence[Judged]) -> int:
    """Return 1 if a mutant was wrongly proved, else 0."""
    return int(bool(defects(verdicts)))
