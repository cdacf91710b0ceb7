"""The picture of a comparison: a row per case, told apart in grey."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from bounds.audited import REPLAY, Audited
from bounds.certified import CERTIFIED, PROVED
from bounds.comparison import Comparison
from bounds.sharpest import BEST, Sharpest, on_instance
from bounds.side_by_side import by_case, by_curve, by_line, by_run, progress_words

INK, LOWER = "#000000", "#7B3294"


@dataclass(frozen=True)
class Style:
    """How a line is told from the others, in colour and without.

    Attributes:
        colour: of line and marker.
        dash: matplotlib line style.
        marker: matplotlib marker.
        name: in the legend.
    """

    colour: str
    dash: Any
    marker: str
    name: str


STYLES = {
    "printed": Style("#0072B2", "solid", "o", "printed"),
    "repaired": Style("#009E73", (0, (7, 2)), "s", "repaired"),
    "sharper": Style("#D55E00", (0, (3, 1.5, 1, 1.5)), "^", "sharper"),
    BEST: Style("#D55E00", (0, (3, 1.5, 1, 1.5)), "^", "best"),
    CERTIFIED: Style("#CC3D8F", (0, (5, 1, 1, 1, 1, 1)), "v", "round by round"),
    PROVED: Style("#CC3D8F", (0, (5, 1, 1, 1, 1, 1)), "v", "round by round, proved"),
}
OTHER = Style("#8C6D00", (0, (1, 1.2)), "D", "")
TERM_DASHES: tuple[Any, ...] = (
    (0, (6, 2)),
    (0, (3, 1.5, 1, 1.5)),
    (0, (1, 1.2)),
    (0, (8, 2, 1, 2, 1, 2)),
)
CURVES = ("solid", (0, (5, 1.5)), (0, (1, 1)))
QUANTITIES = {
    "gap": r"$\mathbb{E}\,f(x^T)-f^*$",
    "gradient": r"$\mathbb{E}\,\|\nabla f(x^t)\|^2$, mean weighted by $\eta^t$",
    "client": r"$\mathbb{E}\,\|x_c^T-x_c^*\|^2$",
    "server": r"$\mathbb{E}\,\|x_s^T-x_s^*\|^2$",
}
WIDTH, PANEL, LEFT, GAP = 11.6, 4.05, 0.85, 2.25
"""Inches: of the figure, a panel, the margin before the first, the space between."""

HEIGHT, HEAD, AXIS, LINE = 2.9, 0.8, 0.45, 0.148
"""Inches: of a panel, its title at least, its axis, a line of text below it."""

COLUMNS, STAMP = 98, 66
"""Characters of small text in the width of panel and gap, of a stamp in a panel."""

TALL = 0.052
"""Height of a line of a label, as a share of a panel's height."""


def picture(
    comparisons: Sequence[Comparison],
    audits: Mapping[str, Audited] = MappingProxyType({}),
) -> Figure:
    """Draw measured curves, bounds and floor; beside them what refutes the bound.

    Args:
        comparisons: of one theorem; those of a case share axes.
        audits: case -> what the ledger says of it.

    Returns:
        A figure with one row per case: the comparison, and the refuting instance.
    """
    rows = [*by_case(comparisons).values()]
    courses = [audit for audit in audits.values() if audit.course is not None]
    width = WIDTH if courses else LEFT + PANEL + GAP
    texts = [_texts(row, audits.get(row[0].case)) for row in rows]
    if not courses:
        texts = [(left + right, []) for left, right in texts]
    heads = [_head(_stamp(audits.get(row[0].case))) for row in rows]
    heights = [
        head + HEIGHT + AXIS + LINE * (1 + max(map(len, text)))
        for head, text in zip(heads, texts, strict=True)
    ]
    figure = Figure(figsize=(width, sum(heights) + 0.1))
    FigureCanvasAgg(figure)
    top = figure.get_figheight()
    for row, text, head, height in zip(rows, texts, heads, heights, strict=True):
        bottom = (top - head - HEIGHT) / figure.get_figheight()
        size = PANEL / width, HEIGHT / figure.get_figheight()
        panel = figure.add_axes((LEFT / width, bottom, *size))
        _panel(panel, row, audits.get(row[0].case))
        _below(panel, text[0])
        if courses:
            narrow = (width - LEFT - PANEL - GAP - 1.1) / width, size[1]
            beside = figure.add_axes(((LEFT + PANEL + GAP) / width, bottom, *narrow))
            _beside(beside, row[0], audits.get(row[0].case))
            _below(beside, text[1])
        top -= height
    return figure


def _below(panel: Axes, lines: Sequence[str]) -> None:
    panel.annotate(
        "\n".join(lines),
        (0, 0),
        xycoords="axes fraction",
        xytext=(-50, -AXIS * 72),
        textcoords="offset points",
        fontsize=8,
        color="0.2",
        verticalalignment="top",
        linespacing=1.3,
    )


def _texts(
    row: Sequence[Comparison], audit: Audited | None
) -> tuple[list[str], list[str]]:
    """Return the captions of a row's two panels, line by line."""
    left = [line for part in _caption(row) for line in _wrapped(part, COLUMNS)]
    if audit is None:
        return left, []
    right = [audit.printed.cause] if audit.printed.cause else []
    if audit.instance is not None:
        right.append(f"Instance: {audit.instance.setup}.")
    right.append(f"Replay: {REPLAY} {audit.printed.claim}")
    return left, [line for part in right for line in _wrapped(part, COLUMNS - 12)]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False)


def _panel(panel: Axes, row: Sequence[Comparison], audit: Audited | None) -> None:
    first = row[0]
    labels = _curves(panel, row)
    labels += [_bound(panel, twins) for twins in by_line(row)]
    labels += _instance(panel, row)
    if len(row) == 1:
        _terms(panel, first)
        panel.legend(fontsize=7.5, frameon=True, framealpha=0.8, edgecolor="none",
                     handlelength=3.6, loc="best", borderpad=0.2)  # fmt: skip
    if first.floor is not None:
        known = first.floor.value
        panel.axhline(known, color="0.45", linewidth=0.9, linestyle=(0, (2, 2)))
        labels.append(Label(known, f"known without\na bound: {known:.3g}", "0.4"))
    panel.set_xscale("log")
    lines = [line for one in row for line in (one.band.mean, one.values)]
    if any(np.any(line > 0) for line in lines):
        panel.set_yscale("log")
    panel.set_xlabel("round $T$", labelpad=1)
    panel.set_ylabel(QUANTITIES[first.bound.metric.quantity])
    _title(panel, first, audit)
    _plain(panel)
    _name(panel, labels)


def _title(panel: Axes, first: Comparison, audit: Audited | None) -> None:
    kind = "Prop." if "/prop-" in first.theorem.key else "Theorem"
    equation = first.equation.removeprefix("eq. ")
    case = "" if first.case == "any" else f", {first.case.replace('_', ' ')}"
    stamp = _stamp(audit)
    if audit is not None:
        panel.annotate(
            "\n".join(stamp),
            (0, 1),
            xycoords="axes fraction",
            xytext=(0, 5),
            textcoords="offset points",
            fontsize=8.5,
            color="#B00020" if audit.printed.status == "refuted" else "0.2",
            weight="bold",
        )
    panel.set_title(
        f"{kind} {first.theorem.number}{case}, {equation}",
        fontsize=11,
        loc="left",
        pad=_pad(stamp),
    )


def _stamp(audit: Audited | None) -> list[str]:
    """Return what the audit says of the printed bound, line by line."""
    if audit is None:
        return []
    words = f"printed bound {audit.printed.status.upper()} {audit.printed.scope}"
    return _wrapped(words.strip(), STAMP)


def _pad(stamp: Sequence[str]) -> int:
    """Return how far a title is above its panel, in points."""
    return 8 + 12 * len(stamp)


def _head(stamp: Sequence[str]) -> float:
    """Return how much room stamp and title take above a panel, in inches."""
    return max(HEAD, (_pad(stamp) + 16) / 72)


@dataclass(frozen=True)
class Label:
    """A name at the right end of a line.

    Attributes:
        at: height of the line there.
        words: its name.
        colour: of the line.
    """

    at: float
    words: str
    colour: str


def _name(panel: Axes, labels: Sequence[Label]) -> None:
    """Write the names beside the line ends, pushed apart where they would overlap."""
    to_axes = panel.transScale + panel.transLimits
    linear = panel.get_yscale() == "linear"
    visible = [one for one in labels if one.at > 0 or (linear and one.at == 0)]
    heights = [float(to_axes.transform((1.0, one.at))[1]) for one in visible]
    order = sorted(range(len(visible)), key=heights.__getitem__)
    halves = [TALL * (1 + visible[k].words.count("\n")) / 2 for k in order]
    placed: list[float] = []
    for position, k in enumerate(order):
        lowest = halves[position]
        if placed:
            lowest += placed[-1] + halves[position - 1]
        placed.append(max(heights[k], lowest))
    highest = 1.0
    for position in reversed(range(len(placed))):
        highest -= halves[position]
        placed[position] = min(placed[position], highest)
        highest = placed[position] - halves[position]
    for k, height in zip(order, placed, strict=True):
        panel.annotate(
            visible[k].words,
            (1, heights[k]),
            xycoords="axes fraction",
            xytext=(1.03, height),
            textcoords="axes fraction",
            fontsize=7.5,
            color=visible[k].colour,
            verticalalignment="center",
            linespacing=1.05,
            arrowprops={"arrowstyle": "-", "color": visible[k].colour, "lw": 0.6,
                        "shrinkA": 1, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip


def _curves(panel: Axes, row: Sequence[Comparison]) -> list[Label]:
    """Draw the measured curve of every run, with its band.

    Returns:
        Their names.
    """
    labels, runs = [], by_curve(row)
    for (one, *_), dash in zip(runs, CURVES, strict=False):
        band, unit = one.band, one.unit
        mean = _positive(band.mean / unit)
        if np.all(np.isfinite(band.low)) and np.any(band.high > band.low):
            lowest = 0.5 * np.nanmin(mean)
            low, high = (
                np.maximum(side / unit, lowest) for side in (band.low, band.high)
            )
            panel.fill_between(
                band.rounds, low, high, color=INK, alpha=0.22, linewidth=0
            )
        panel.plot(band.rounds, mean, color=INK, linewidth=2.0, linestyle=dash)
        words = "measured" if len(runs) == 1 else f"measured,\nrun of {_called(one)}"
        if one.bound.metric.weighted and one.bound.metric.quantity == "gap":
            words += "\n(mean over t < T)"
        labels.append(Label(float(mean[-1]), words, INK))
    return labels


def _positive(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a line without what is rounding beside the rest, for logarithmic axes."""
    return np.where(line > 1e-14 * np.max(line, initial=0.0), line, np.nan)


def _called(one: Comparison, beside: Sequence[Comparison] = ()) -> str:
    """Return a bound's name; the best one's own is left out beside the same bound."""
    style = STYLES.get(one.bound.version)
    name = style.name if style else one.bound.version
    said = {other.bound.version for other in beside}
    if isinstance(one, Sharpest) and one.versions[-1] not in said:
        return f"{name}:\n{one.versions[-1].replace('_', ' ')}"
    return name


def _bound(panel: Axes, twins: Sequence[Comparison]) -> Label:
    """Draw a bound.

    Returns:
        Its name, with those of others that make the same line.
    """
    one = twins[0]
    rounds, values = one.band.rounds, one.values / one.unit
    style = STYLES.get(one.bound.version, OTHER)
    marks = sorted({0, len(rounds) // 3, 2 * len(rounds) // 3, len(rounds) - 1})
    panel.plot(
        rounds, values, color=style.colour, linewidth=1.8, linestyle=style.dash,
        marker=style.marker, markersize=4.5, markevery=marks,
    )  # fmt: skip
    crossing = one.verdict.first_violation
    if crossing is not None:
        panel.axvline(crossing, color=style.colour, linewidth=1.0, linestyle=":")
        panel.annotate(
            f"curve above {one.name} from T = {crossing}",
            (crossing, 1.0),
            xycoords=panel.get_xaxis_transform(),
            xytext=(-3, -4),
            textcoords="offset points",
            rotation=90,
            fontsize=7.5,
            horizontalalignment="right",
            verticalalignment="top",
            color=style.colour,
        )
    words = " =\n".join(_called(twin, twins) for twin in twins)
    if one.verdict.tightness is not None:
        words += f"\n{times(one.verdict.tightness)} × measured"
    return Label(float(values[-1]), words, style.colour)


def _instance(panel: Axes, row: Sequence[Comparison]) -> list[Label]:
    """Draw what the left side is on an instance: no bound can lie below.

    Returns:
        Its name, with how far the best bound is from it at the last round.
    """
    reached = on_instance(row)
    if reached is None:
        return []
    least = min(row, key=lambda one: one.values[-1])
    line = reached[0] / least.unit
    panel.plot(least.band.rounds, line, color=LOWER, linewidth=1.1)
    k = times(float(least.values[-1] / reached[0][-1]))
    words = f"an instance:\n{_called(least).splitlines()[0].rstrip(':')}\nis {k} × it"
    return [Label(float(line[-1]), words, LOWER)]


def times(factor: float) -> str:
    """Return a factor with two digits, short enough for the margin: 310, 1.1e6."""
    if 1 <= factor < 1e4:
        return f"{float(f'{factor:.2g}'):,.0f}" if factor >= 10 else f"{factor:.2g}"
    return f"{factor:.2g}".replace("e+0", "e").replace("e+", "e")


def _terms(panel: Axes, one: Comparison) -> None:
    for position, (name, term) in enumerate(one.terms.items()):
        dash = TERM_DASHES[position % len(TERM_DASHES)]
        panel.plot(one.band.rounds, term / one.unit, color="0.45", linewidth=1.0,
                   linestyle=dash, label=f"term: {name}")  # fmt: skip


def _beside(panel: Axes, first: Comparison, audit: Audited | None) -> None:
    """Draw what the audit has: the refuting instance, or a word on the proof."""
    if audit is None or audit.course is None:
        panel.set_axis_off()
        if audit is not None:
            words = {
                "proved": "proved: no instance that meets\nthe assumptions breaks it",
                "refuted": "refuted by an instance\nthat has no curve",
            }.get(audit.printed.status, "unproved: neither proof\nnor refutation")
            panel.annotate(words, (0.5, 0.5), xycoords="axes fraction", fontsize=11,
                           color="0.35", ha="center", va="center")  # fmt: skip
        return
    course = audit.course
    panel.plot(course.rounds, _positive(course.left), color=INK, linewidth=2.0)
    style = STYLES["printed"]
    panel.plot(course.rounds, course.right, color=style.colour, linewidth=1.8,
               marker=style.marker, markersize=4.5,
               markevery=max(1, len(course.rounds) // 4))  # fmt: skip
    broken = course.left > course.right
    low = np.where(broken, np.maximum(course.right, 1e-12 * course.left), course.left)
    panel.fill_between(course.rounds, low, course.left, where=broken, color="#B00020",
                       alpha=0.18, linewidth=0)  # fmt: skip
    panel.axvline(course.crossing, color="#B00020", linewidth=1.0, linestyle=":")
    panel.set_xscale("log")
    if np.any(course.left > 0):
        panel.set_yscale("log")
    panel.set_xlabel("round $T$", labelpad=1)
    panel.set_ylabel(QUANTITIES[first.bound.metric.quantity])
    panel.set_title(
        f"The instance that refutes it: violated from T = {course.crossing:,}",
        fontsize=11, loc="left", pad=8,
    )  # fmt: skip
    _plain(panel)
    _name(panel, [
        Label(float(course.left[-1]), "left side\n(expectation)", INK),
        Label(float(course.right[-1]), "printed bound", style.colour),
    ])  # fmt: skip


def _plain(panel: Axes) -> None:
    panel.grid(True, which="major", color="0.88", linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(labelsize=8.5)


def _caption(row: Sequence[Comparison]) -> list[str]:
    """Return what decides: theorem, algorithm, weights, rates, partition, seeds."""
    first = row[0]
    kind = "Proposition" if "/prop-" in first.theorem.key else "Theorem"
    source = f"{first.theorem.paper}, {kind} {first.theorem.number}"
    parts = []
    for one, *_ in by_line(row):
        if one.informative.words == "-":
            continue
        start = "from " * (one.informative.first is not None)
        parts.append(f"{one.name}: informative {start}{one.informative.words}")
    found = [f"{source}. {'; '.join(parts)}".rstrip(". ") + "."]
    for sharing in by_run(row):
        one = sharing[0]
        who = ", ".join(dict.fromkeys(o.name for o in sharing))
        words = one.measurement.setting.words(one.measurement.schedule)
        closed = "" if one.progress is None else f"; {progress_words(one.progress)}"
        found.append(f"Run of {who}: {words}{closed}.")
    notes = dict.fromkeys(w for one in row for w in one.measurement.departures)
    return [*found, *(f"Departs: {words}." for words in notes)]
