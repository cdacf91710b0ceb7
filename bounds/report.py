"""What the terminal shows: progress while training, then one block per case."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from bounds.audited import REPLAY, Audited
from bounds.comparison import Comparison
from bounds.measurement import Measurement
from bounds.run_options import INSTANCE
from bounds.sharpest import on_instance
from bounds.side_by_side import by_case, by_curve, by_line, by_run, progress_words
from bounds.training import Progress

LETTERS = {"analytic": "A", "trajectory": "T", "assumed": "?"}
SHOWN = ("S", "mu", "sigma2", "G2", "eps2", "initial_distance2", "initial_gap")
CURVE = {"holds": "curve: below the bound", "inconclusive": "curve: undecided"}
NARROW, WIDE, INDENT = 60, 100, 13


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], Progress]]:
    """Show a bar per job on standard error.

    Args:
        quiet: show nothing.

    Yields:
        A function that starts the bar of a job and returns what moves it.
    """
    bars = Bars(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet,
        transient=True,
    )

    def start(job: str) -> Progress:
        task = bars.add_task(job, total=None)

        def move(what: str, done: int, total: int) -> None:
            words = f"{job}: {what}"
            bars.update(task, completed=done, total=total, description=words)

        return move

    with bars:
        yield start


def print_report(
    comparisons: Sequence[Comparison],
    audits: Mapping[str, Audited],
    notes: Sequence[str],
    picture: Path,
) -> None:
    """Print what the audit says, the measured curves, and every bound beside them.

    Args:
        comparisons: of one theorem, those of a case together.
        audits: case -> what the ledger says of it.
        notes: what a reader must know of the choice.
        picture: path of the picture.
    """
    console = Console(highlight=False)
    page = _Page(max(NARROW, min(console.width, WIDE)))
    item = comparisons[0].theorem
    page.line(f"{item.key}: {item.title}")
    for case, ours in by_case(comparisons).items():
        _case(page, ours, audits.get(case))
    page.line("")
    page.entry(
        "Legend",
        "curve: where the measured curve lies beside the bound; it is no verdict on "
        "the theorem, that is the audit's. A: analytic, true on the stated domain; T: "
        "largest value met along the runs; in brackets the value met where A is "
        "larger. Informative: the first T from which a bound says more than is known "
        "without it.",
    )
    for note in notes:
        page.entry("Note", note)
    console.print("\n".join(page.lines), markup=False, soft_wrap=True)
    console.print(
        f"picture, JSON and run records in {picture.parent}",
        markup=False,
        soft_wrap=True,
    )


class _Page:
    """Lines of a given width with a column of labels."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []

    def line(self, text: str) -> None:
        self.lines += textwrap.wrap(text, self.width) or [""]

    def entry(self, label: str, text: str) -> None:
        self.lines += textwrap.wrap(
            text,
            self.width,
            initial_indent=f"{label:<{INDENT}}",
            subsequent_indent=" " * INDENT,
            break_on_hyphens=False,
        )


def _case(
    page: _Page, comparisons: Sequence[Comparison], audit: Audited | None
) -> None:
    first = comparisons[0]
    page.line("")
    head = f"{first.case.replace('_', ' ')}, {first.equation} "
    page.line(f"── {head}".ljust(page.width, "─"))
    if audit is not None:
        printed = audit.printed
        cause = f": {printed.cause}" if printed.cause else ""
        page.entry("audit", f"{printed.status.upper()} {printed.scope}{cause}".rstrip())
        page.lines.append(" " * INDENT + f"{REPLAY} {printed.claim}")
        _instance(page, first, audit)
    _informative(page, comparisons)
    for run in by_curve(comparisons):
        _run(page, run)
    page.line("")
    page.lines += _table(comparisons)
    page.line("")
    if (reached := on_instance(comparisons)) is not None:
        lower, words = reached
        least = min(comparisons, key=lambda one: one.values[-1])
        k = least.values[-1] / lower[-1]
        page.entry(
            "instance", f"{least.name} is {k:.3g} times above what happens with {words}"
        )
    for twins in by_line(comparisons):
        if len(twins) > 1:
            page.entry("note", f"{_names(twins, ' and ')} coincide on this run")
    for run in by_run(comparisons):
        if run[0].progress is not None:
            words = progress_words(run[0].progress)
            page.entry("progress", f"[{_names(run)}] {words}")
    for run in by_run(comparisons):
        page.entry("constants", f"[{_names(run)}] {_constants(run[0].measurement)}")
    for words, who in _notes(comparisons).items():
        page.entry("note", f"{who}{words}")


def _names(comparisons: Sequence[Comparison], between: str = ", ") -> str:
    return between.join(one.name for one in comparisons)


def _instance(page: _Page, first: Comparison, audit: Audited) -> None:
    """Say which instance refutes the printed bound, and how to train it."""
    if audit.instance is None or audit.course is None:
        return
    page.entry(
        "instance", f"{audit.instance.setup}: violated from T = {audit.course.crossing}"
    )
    trained = first.measurement.setting.problem.name.startswith(INSTANCE)
    if not trained:
        page.lines.append(
            " "
            * INDENT
            + f"python -m bounds.compare --theorem {first.theorem.key} --problem "
            f"{INSTANCE}{audit.printed.claim}"
        )


def _informative(page: _Page, comparisons: Sequence[Comparison]) -> None:
    """Say from which round on each bound says more than is known without it."""
    said = [
        f"{one.name} {'from ' * (one.informative.first is not None)}"
        f"{one.informative.words}"
        for one in comparisons
        if one.informative.words != "-"
    ]
    known = comparisons[0].floor
    if said and known is not None:
        floor = f"known without a bound: {known.value:.3g}, {known.words}"
        page.entry("informative", f"{', '.join(said)} ({floor})")


def _run(page: _Page, group: Sequence[Comparison]) -> None:
    one = group[0]
    found, band = one.measurement, one.band
    page.entry("run", f"[{_names(group)}] {found.setting.words(found.schedule)}")
    metric = one.bound.metric
    words = f"{metric.mean}, weighted by eta^t," if metric.weighted else metric.words
    page.entry(
        "measured",
        f"{words} = {_measured(one)} at T = {band.rounds[-1]}; as {_rate(one)}",
    )


def _table(comparisons: Sequence[Comparison]) -> list[str]:
    T = comparisons[0].band.rounds[-1]
    rows = [("bound", f"at T={T}", "/measured", "order", "")]
    for one in comparisons:
        first = one.verdict.first_violation
        curve = CURVE.get(one.verdict.word, f"curve: VIOLATED from T = {first}")
        rows.append((
            one.name,
            f"{one.values[-1] / one.unit[-1]:.3g}",
            _number(one.verdict.tightness),
            _order(one),
            curve,
        ))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}"]
        cells += [f"{c:>{w}}" for c, w in zip(row[1:-1], widths[1:-1], strict=True)]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    return lines


def _notes(comparisons: Sequence[Comparison]) -> dict[str, str]:
    """Return what there is to know beside the numbers -> for which versions."""
    found: dict[str, list[str]] = {}
    for one in comparisons:
        for words in (
            *(f"fails {f.relation}: {f.words}" for f in one.bound.findings),
            *(f"departs: {words}" for words in one.measurement.departures),
            *one.measurement.remarks,
        ):
            found.setdefault(words, []).append(one.name)
    return {
        words: "" if len(who) == len(comparisons) else f"[{', '.join(who)}] "
        for words, who in found.items()
    }


def _measured(item: Comparison) -> str:
    unit = item.unit[-1]
    half = (item.band.high[-1] - item.band.low[-1]) / 2 / unit
    mean = f"{item.band.mean[-1] / unit:.3g}"
    return f"{mean} ± {half:.1g}" if np.isfinite(half) and half > 0 else mean


def _constants(found: Measurement) -> str:
    cells = []
    for name in SHOWN:
        value, met = (
            getattr(source, name) for source in (found.constants, found.along)
        )
        if value is None:
            continue
        cell = f"{name} {np.max(value):.3g}"
        if met != value and met is not None:
            cell += f" ({np.max(met):.3g})"
        letter = LETTERS[found.constants.provenance.get(name, "assumed")]
        cells.append(f"{cell} {letter}")
    return ", ".join(cells)


def _rate(item: Comparison) -> str:
    slope = item.rate
    if slope.measured is None:
        return "no power of T"
    if slope.low is None or slope.high is None:
        return f"T^{slope.measured:.2f}"
    return f"T^{slope.measured:.2f} [{slope.low:.2f}, {slope.high:.2f}]"


def _order(item: Comparison) -> str:
    order = item.predicted_rate
    return "-" if order is None else f"T^{order:.2g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
