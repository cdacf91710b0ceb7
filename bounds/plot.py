"""The picture of a comparison: one panel per case, readable in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bounds.comparison import Comparison
from sfl_theory.evidence.instance import Finding

INK, BOUND, REPAIRED = "#000000", "#0072B2", "#009E73"
TERM_COLOURS = ("#D55E00", "#CC79A7", "#8C6D00", "#56B4E9")
TERM_DASHES: tuple[Any, ...] = (
    (0, (6, 2)),
    (0, (3, 1.5, 1, 1.5)),
    (0, (1, 1.2)),
    (0, (8, 2, 1, 2, 1, 2)),
)
PANEL_WIDTH, PANEL_HEIGHT = 4.8, 4.6


def picture(
    comparisons: Sequence[Comparison],
    instances: Mapping[str, Finding] = MappingProxyType({}),
) -> Figure:
    """Draw measured bands, bounds and their terms.

    Args:
        comparisons: of one theorem; those of the same run share a panel.
        instances: case -> the instance that refutes its printed bound.

    Returns:
        A figure with one panel per run, side by side; with instances one row per case
        and the instance as the last panel of its row.
    """
    runs: dict[int, list[Comparison]] = {}
    for item in comparisons:
        runs.setdefault(id(item.measurement), []).append(item)
    rows: dict[str, list[list[Comparison]]] = {}
    for shared in runs.values():
        rows.setdefault(shared[0].case if instances else "", []).append(shared)
    width = max(len(row) + (case in instances) for case, row in rows.items())
    figure = Figure(
        figsize=(PANEL_WIDTH * width, PANEL_HEIGHT * len(rows)), layout="constrained"
    )
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(rows), width, squeeze=False)
    for panels, (case, row) in zip(grid, rows.items(), strict=True):
        for panel, shared in zip(panels, row, strict=False):
            _panel(panel, shared)
        used = len(row)
        if case in instances:
            _instance(panels[used], instances[case])
            used += 1
        for panel in panels[used:]:
            panel.set_visible(False)
    return figure


def _instance(panel: Axes, found: Finding) -> None:
    """Draw both sides of a refuted bound on its instance."""
    rounds, left, right = (
        np.array(column) for column in zip(*found.curve, strict=True)
    )
    panel.plot(rounds, left, color=INK, linewidth=2.2, label="left side, exact")
    panel.plot(rounds, right, color=BOUND, linewidth=2.2, label="printed bound")
    panel.set_xscale("log")
    if np.any(left > 0) or np.any(right > 0):
        panel.set_yscale("log")
    panel.set_xlabel("round $T$")
    panel.set_title(
        f"instance that refutes the printed bound\nbroken at {found.at}",
        fontsize=10,
        loc="left",
    )
    panel.grid(True, which="major", color="0.88", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(
        loc="upper left",
        bbox_to_anchor=(-0.1, -0.15),
        ncols=2,
        fontsize=7.5,
        frameon=False,
        handlelength=3.0,
    )
    panel.text(
        -0.08,
        -0.26,
        "\n".join(textwrap.wrap(found.setup, 74)),
        transform=panel.transAxes,
        fontsize=7,
        color="0.25",
        verticalalignment="top",
    )


def _panel(panel: Axes, comparisons: Sequence[Comparison]) -> None:
    first = comparisons[0]
    rounds, band = first.band.rounds, first.band
    label = f"measured, {band.seeds} seeds"
    if np.all(np.isfinite(band.low)) and np.any(band.high > band.low):
        label += f" ({band.level:.0%} band)"
        floor = np.min(band.mean[band.mean > 0], initial=1.0) * 1e-3
        low, high = np.maximum(band.low, floor), np.maximum(band.high, floor)
        panel.fill_between(rounds, low, high, color=INK, alpha=0.25, linewidth=0)
    panel.plot(rounds, band.mean, color=INK, linewidth=2.2, label=label)
    for item in comparisons:
        _bound(panel, item, many=len(comparisons) > 1)
    panel.set_xscale("log")
    if any(np.any(line > 0) for item in comparisons for line in _lines(item)):
        panel.set_yscale("log")
    panel.set_xlabel("round $T$")
    metric = first.bound.metric
    panel.set_ylabel(f"${metric.axis or metric.latex}$")
    panel.set_title(_title(comparisons), fontsize=10, loc="left")
    panel.grid(True, which="major", color="0.88", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    entries = panel.legend(
        loc="upper left",
        bbox_to_anchor=(-0.1, -0.15),
        ncols=2,
        columnspacing=1.2,
        fontsize=7.5,
        frameon=False,
        handlelength=3.0,
    )
    rows = (len(entries.get_texts()) + 1) // 2
    panel.text(
        -0.08,
        -0.20 - 0.058 * rows,
        _caption(comparisons),
        transform=panel.transAxes,
        fontsize=7,
        color="0.25",
        verticalalignment="top",
    )


def _lines(item: Comparison) -> tuple[NDArray[np.float64], ...]:
    return item.band.mean, item.values, item.along


def _bound(panel: Axes, item: Comparison, many: bool) -> None:
    rounds, version = item.band.rounds, item.bound.version
    colour = BOUND if version == "printed" else REPAIRED
    name = f"{version} bound"
    panel.plot(rounds, item.values, color=colour, linewidth=2.2, label=name)
    middle = len(rounds) // 2
    panel.plot(
        rounds, item.values, color=colour, marker="o", markersize=4,
        markevery=[0, middle, len(rounds) - 1], linestyle="none",
    )  # fmt: skip
    if not np.array_equal(item.along, item.values):
        panel.plot(
            rounds,
            item.along,
            color=colour,
            linewidth=1.2,
            linestyle="solid",
            label="same, constants met in the runs",
        )
    if not many:
        for position, (name, term) in enumerate(item.terms.items()):
            panel.plot(
                rounds,
                term,
                color=TERM_COLOURS[position % len(TERM_COLOURS)],
                linewidth=1.0,
                linestyle=TERM_DASHES[position % len(TERM_DASHES)],
                label=f"term: {name}",
            )
    if item.verdict.first_violation is not None:
        panel.axvline(
            item.verdict.first_violation, color=colour, linewidth=1.0, linestyle=":"
        )
        panel.annotate(
            f"violated from T = {item.verdict.first_violation}",
            (item.verdict.first_violation, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-3, -4),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            horizontalalignment="right",
            verticalalignment="top",
            color=colour,
        )


def _title(comparisons: Sequence[Comparison]) -> str:
    first = comparisons[0]
    kind = "Proposition" if "/prop-" in first.theorem.key else "Theorem"
    lines = [f"{kind} {first.theorem.number}, {first.case.replace('_', ' ')}"]
    for item in comparisons:
        verdict = item.verdict
        tight = (
            ""
            if verdict.tightness is None
            else f"; bound = {verdict.tightness:.2g} × measured"
        )
        lines.append(f"{item.bound.version}: {verdict.word}{tight}")
    return "\n".join(lines)


def _caption(comparisons: Sequence[Comparison]) -> str:
    first = comparisons[0]
    setting = first.measurement.setting
    experiment, problem = setting.experiment, setting.problem
    batch = experiment.batch_size or "all"
    tau_server = getattr(setting.algorithm, "tau_server", experiment.tau)
    tau = f"tau={experiment.tau}"
    if tau_server != experiment.tau:
        tau += f", tau_server={tau_server}"
    what = (
        f"{setting.algorithm_name} on {problem.name}: N={problem.clients}, "
        f"{experiment.partition}, {tau}, batch {batch}, cut {setting.cut} of "
        f"{problem.dimension}, seeds {experiment.seed}.."
        f"{experiment.seed + experiment.seeds - 1}."
    )
    lines = textwrap.wrap(what, 74)
    for item in comparisons:
        for finding in item.bound.findings:
            words = f"{item.bound.version} bound fails {finding.relation}: "
            lines += textwrap.wrap(words + finding.words, 74)
    for note in (*first.measurement.departures, *first.measurement.remarks):
        lines += textwrap.wrap(f"Note: {note}.", 74)
    return "\n".join(lines)
