"""What stands below a picture: how to read it, what was run, what lacks.

What was run is said by the runs' configuration, option by option, so that nothing can
be said that was not run: `configuration` names every option that is not the trainer's
default or not the paper's.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import fields

from figures import wording
from figures.drawn import Drawn
from figures.figure import STAND_INS, Departure, Figure
from figures.scale import PAPER, Preset
from sfl_train.deep.config import Config

UNSAID = ("seed", "digests")
"""Options that other lines say, and files of the user's own, which no figure has."""


def caption(
    figure: Figure, preset: Preset, panels: Sequence[Drawn], columns: int
) -> list[str]:
    """Return the lines below a picture.

    Args:
        figure: what is drawn.
        preset: the sizes.
        panels: with their series.
        columns: of a line.

    Returns:
        Lines that say how to read the picture, what was run and what lacks.
    """
    counts = {len(found.seeds) for p in panels for _, found in p.curves}
    seeds = str(max(counts))
    if len(counts) > 1:
        seeds = f"{min(counts)} to {seeds}"
    thin = "thin: every seed, the same in all curves"
    if any(panel.cut_off for panel in panels):
        thin += ", cut off at the axes"
    words = [f"Thick lines: mean over {seeds} seeds; {thin}."]
    lacking = Counter(
        state for p in panels for _, found in p.curves for _, state in found.lacking
    )
    if lacking:
        parts = ", ".join(f"{count} {state}" for state, count in lacking.items())
        words.append(f"NOT DRAWN: {parts} of the curves' runs.")
    words += [*configuration(figure, preset), *readings(figure, preset)]
    return [
        line
        for one in words
        for line in textwrap.wrap(one, columns, break_on_hyphens=False)
    ]


def configuration(figure: Figure, preset: Preset) -> list[str]:
    """Return the options of a figure's runs.

    Args:
        figure: with runs.
        preset: the sizes.

    Returns:
        One sentence with every option that is not the trainer's default, not the
        paper's, or one of `STAND_INS`; where it is not the paper's, with the paper's.
    """
    pairs = list(_pairs(figure, preset))
    if not pairs:
        return []
    words = []
    for item in fields(Config):
        name = item.name
        if not item.metadata["matters"] or name in UNSAID:
            continue
        values = dict.fromkeys(
            (getattr(ours, name), getattr(theirs, name)) for ours, theirs in pairs
        )
        if name in STAND_INS or any(
            found not in (item.default,) or found != printed
            for found, printed in values
        ):
            words.append(_option(name, list(values)))
    which = "every run" if len(pairs) > 1 else "the run"
    differs = any(ours != theirs for ours, theirs in pairs)
    of_paper = " ('for' names what the paper has)" if differs else ""
    return [f"Configuration of {which}{of_paper}: {'; '.join(words)}."]


def readings(figure: Figure, preset: Preset) -> list[str]:
    """Return our readings of the paper that these runs follow.

    Args:
        figure: whose departures are asked for.
        preset: the sizes; what one of them changes is no reading of the paper.

    Returns:
        One sentence, or none.
    """
    said: dict[str, list[str]] = {}
    for departure in figure.departures:
        options = _followed(departure, figure, preset)
        if options is not None:
            said.setdefault(departure.reason, []).extend(options)
    words = [
        f"{', '.join(options)}: {reason}" if options else reason
        for reason, options in said.items()
    ]
    return [f"Our reading: {'; '.join(words)}."] if words else []


def _pairs(figure: Figure, preset: Preset) -> Iterator[tuple[Config, Config]]:
    """Yield the runs of every curve, in the preset's and in the paper's sizes."""
    for panel in figure.panels:
        for curve in panel.curves:
            ours, theirs = (
                figure.config(panel, curve, one, preset.seeds[0])
                for one in (preset, PAPER)
            )
            yield ours, theirs


def _option(name: str, values: list[tuple[object, object]]) -> str:
    """Return an option with all its values, each with the paper's in its place."""
    first, *rest = values
    return ", ".join([
        wording.in_place(name, *first),
        *(wording.replaced(name, found, printed) for found, printed in rest),
    ])


def _followed(
    departure: Departure, figure: Figure, preset: Preset
) -> list[str] | None:  # fmt: skip
    """Return the options of a departure with their values; None where it is not ours.

    Args:
        departure: of the figure.
        figure: with runs.
        preset: the sizes.

    Returns:
        Options as the runs have them.
    """
    words = []
    for ours, theirs in _pairs(figure, preset):
        if any(getattr(theirs, name) != v for name, v in departure.only.items()):
            continue
        for name in departure.options:
            if getattr(ours, name) != getattr(theirs, name):
                return None
            words.append(wording.named(name, getattr(ours, name)))
    return list(dict.fromkeys(words))
