"""What the terminal shows: progress while training, a table at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
from rich.table import Table

from bounds.comparison import Comparison
from bounds.measurement import Progress as Report
from sfl_theory import Theorem

LETTERS = {"analytic": "A", "trajectory": "T", "assumed": "?"}
SHOWN = ("S", "mu", "sigma2", "G2", "eps2", "initial_distance2", "initial_gap")


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[Theorem, str], Report]]:
    """Show a bar per case on standard error.

    Args:
        quiet: show nothing.

    Yields:
        A function that starts the bar of a case and returns what moves it.
    """
    bars = Progress(
        "{task.description}",
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet,
        transient=True,
    )

    def start(item: Theorem, case: str) -> Report:
        task = bars.add_task(f"{item.number} {case}", total=None)

        def move(what: str, done: int, total: int) -> None:
            words = f"{item.number} {case}: {what}"
            bars.update(task, completed=done, total=total, description=words)

        return move

    with bars:
        yield start


def print_report(comparisons: Sequence[Comparison], picture: Path) -> None:
    """Print verdicts, constants, what to know about them, and where the picture lies.

    Args:
        comparisons: of one theorem.
        picture: path of the picture.
    """
    console = Console(highlight=False)
    console.print(_table(comparisons))
    for item in comparisons:
        where = f"{item.case} ({item.bound.version})"
        notes = [
            *(
                f"fails {found.relation}: {found.words}"
                for found in item.bound.findings
            ),
            *(f"departs: {words}" for words in item.measurement.departures),
            *item.measurement.remarks,
        ]
        for note in notes:
            console.print(f"{where}: {note}", markup=False)
    console.print(
        f"picture, JSON and run records in {picture.parent}",
        markup=False,
        soft_wrap=True,
    )


def _table(comparisons: Sequence[Comparison]) -> Table:
    first = comparisons[0]
    table = Table(
        title=f"{first.theorem.key}: {first.theorem.title}",
        title_justify="left",
        caption="A: analytic, holds on the stated domain. T: trajectory, largest value "
        "met along the runs. Largest over clients where they differ. In brackets: the "
        "value met, or the ratio it gives.",
        caption_justify="left",
    )
    table.add_column("")
    for item in comparisons:
        head = item.case.replace("_", " ")
        table.add_column(f"{head}\n{item.bound.version}", justify="right")
    rows: dict[str, Callable[[Comparison], str]] = {
        "problem": lambda item: item.measurement.setting.problem.name,
        "verdict": _verdict,
        f"measured, T={first.band.rounds[-1]}": _measured,
        "bound": lambda item: f"{item.values[-1]:.4g}",
        "bound / measured": lambda item: (
            f"{_number(item.verdict.tightness)} ({_number(item.tightness_along)})"
        ),
        "measured rate": _rate,
        "its order, large T": _order,
    }
    for name, cell in rows.items():
        table.add_row(name, *(cell(item) for item in comparisons))
    table.add_section()
    for name in SHOWN:
        table.add_row(name, *(_constant(item, name) for item in comparisons))
    return table


def _verdict(item: Comparison) -> str:
    first = item.verdict.first_violation
    return item.verdict.word + ("" if first is None else f" from T={first}")


def _measured(item: Comparison) -> str:
    half = (item.band.high[-1] - item.band.low[-1]) / 2
    mean = f"{item.band.mean[-1]:.3g}"
    return f"{mean} ± {half:.1g}" if np.isfinite(half) and half > 0 else mean


def _constant(item: Comparison, name: str) -> str:
    found = item.measurement
    value, met = (getattr(source, name) for source in (found.constants, found.along))
    if value is None:
        return "-"
    cell = f"{np.max(value):.3g}"
    if met != value:
        cell += f" ({np.max(met):.3g})"
    return f"{cell} {LETTERS[found.constants.provenance.get(name, 'assumed')]}"


def _rate(item: Comparison) -> str:
    slope = item.rate
    if slope.measured is None:
        return "-"
    if slope.low is None or slope.high is None:
        return f"T^{slope.measured:.2f}"
    return f"T^{slope.measured:.2f} [{slope.low:.2f}, {slope.high:.2f}]"


def _order(item: Comparison) -> str:
    order = item.predicted_rate
    return "-" if order is None else f"T^{order:.2g}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
