r"""What a figure or a table of a paper is: panels of curves, each a training run.

A declaration says what the *paper* trained. The preset decides the size: ``paper`` is
the paper's, ``cpu`` scales every option down by the one rule in `figures.scale`. Curves
of different figures that train the same thing share their runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from figures import wording
from figures.scale import PAPER, Preset, scaled
from figures.sheet import Sheet
from sfl_train.deep.config import Config, resolve

Options = Mapping[str, Any]
Kind = Literal["figure", "table"]

QUANTITIES = {
    "test_accuracy": "test accuracy",
    "test_loss": "test loss",
    "train_loss": "training loss",
    "epsilon2": "gradient divergence, client side",
    "variance_at_client": "gradient variance at a client / Lc",
    "variance_across_clients": "gradient variance across clients / Lc",
}
"""What can be drawn over the rounds, and how the axis is called."""

STAND_INS = (
    "dataset", "model", "width", "depth", "augmentation", "momentum", "clients",
)  # fmt: skip
"""Options that every title names where they are not the paper's."""

MEASURED = ("epsilon2", "variance_at_client", "variance_across_clients")
"""Quantities that need a run with ``--measure``."""


@dataclass(frozen=True)
class Curve:
    """One line of a panel, or one cell of a table.

    Attributes:
        label: as the paper calls it.
        options: what distinguishes it from its panel.
        printed: (mean, standard deviation) that the paper prints, in percent.
    """

    label: str
    options: Options
    printed: tuple[float, float] | None = None


@dataclass(frozen=True)
class Panel:
    """Curves in one pair of axes, or one column of a table.

    Attributes:
        letter: as in the paper; empty: it has none.
        shows: options that the title names.
        options: what its curves have in common.
        curves: in the paper's order.
        quantity: drawn over the rounds, a key of ``QUANTITIES``.
    """

    letter: str
    shows: tuple[str, ...]
    options: Options
    curves: tuple[Curve, ...]
    quantity: str = "test_accuracy"


@dataclass(frozen=True)
class Departure:
    """Where our reading departs from the paper or fills a gap.

    Attributes:
        options: of the runs it speaks of; it is made for no size that changes one of
            them. Empty: it is about what is read off the runs, in any size.
        reason: in words; the values of the options are added from the runs.
        only: what the declared runs it speaks of have in common, beside the others.
    """

    options: tuple[str, ...]
    reason: str
    only: Options = field(default_factory=dict)


@cache
def _resolved(wanted: tuple[tuple[str, Any], ...], preset: Preset) -> Config:
    return resolve("paper", scaled(dict(wanted), preset))


@dataclass(frozen=True)
class Figure:
    """A figure or a table.

    Attributes:
        key: "han2024/fig-2", "dachille2024/table-3", ...
        title: what it shows, true at every size; `heading` adds what is not.
        options: what all its panels have in common, in the paper's sizes.
        panels: in the paper's order.
        kind: "figure" or "table".
        departures: where our reading departs from the paper or fills a gap.
        theory: of a table that needs no run and has no panels: makes it.
        shows: options that the heading names.
    """

    key: str
    title: str
    options: Options
    panels: tuple[Panel, ...]
    kind: Kind = "figure"
    departures: tuple[Departure, ...] = field(default=())
    theory: Callable[[], Sheet] | None = None
    shows: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        """Key of the paper."""
        return self.key.split("/")[0]

    def config(self, panel: Panel, curve: Curve, preset: Preset, seed: int) -> Config:
        """Return the run behind a curve.

        Args:
            panel: of this figure.
            curve: of the panel.
            preset: the sizes.
            seed: of the run.

        Returns:
            Its configuration.
        """
        wanted = {**self.options, **panel.options, **curve.options, "seed": seed}
        if panel.quantity in MEASURED:
            wanted["measure"] = "paper"
        return _resolved(tuple(wanted.items()), preset)

    def heading(self, preset: Preset) -> str:
        """Return what it shows, in a size.

        Args:
            preset: the size.

        Returns:
            The title with the values of what it names.
        """
        if not self.shows:
            return self.title
        panel = self.panels[0]
        words = self._words(panel, panel.curves[0], self.shows, preset)
        return f"{self.title}: {', '.join(words)}"

    def panel_title(self, panel: Panel, preset: Preset) -> tuple[str, str]:
        """Return what a panel shows, in a size, from its runs' configuration.

        Args:
            panel: of this figure.
            preset: the size.

        Returns:
            What tells it from the other panels; every other stand-in, or nothing.
        """
        curve = panel.curves[0]
        shown = ", ".join(self._words(panel, curve, panel.shows, preset))
        runs = [(self.config(panel, one, preset, 0), self.config(panel, one, PAPER, 0))
                for one in panel.curves]  # fmt: skip
        replaced = {
            name for name in STAND_INS for ours, theirs in runs
            if getattr(ours, name) != getattr(theirs, name)
        }  # fmt: skip
        if replaced:  # what the factors are factors of
            replaced.add("model")
        rest = [
            wording.in_place(name, getattr(ours, name), getattr(theirs, name))
            for name in STAND_INS
            for ours, theirs in runs
            if name in replaced and name not in panel.shows
        ]
        letter = f"({panel.letter}) " if panel.letter else ""
        return letter + shown, ", ".join(dict.fromkeys(rest))

    def legend(self, panel: Panel, curve: Curve, preset: Preset) -> str:
        """Return what a curve is called, with its own option where it is replaced.

        Args:
            panel: of this figure.
            curve: of the panel.
            preset: the size.

        Returns:
            "$E=10$" in the paper's sizes, "$E=10$ (here 4)" in another.
        """
        if len(curve.options) != 1:  # then the label names no single one
            return curve.label
        (name,) = curve.options
        ours = getattr(self.config(panel, curve, preset, 0), name)
        if ours == getattr(self.config(panel, curve, PAPER, 0), name):
            return curve.label
        return f"{curve.label} (here {wording.value(name, ours)})"

    def _words(
        self, panel: Panel, curve: Curve, names: tuple[str, ...], preset: Preset
    ) -> list[str]:
        ours, theirs = (self.config(panel, curve, one, 0) for one in (preset, PAPER))
        return [
            wording.in_place(name, getattr(ours, name), getattr(theirs, name))
            for name in names
        ]

    def configs(self, preset: Preset) -> Iterator[Config]:
        """Yield all runs of the figure, some of them maybe twice.

        Args:
            preset: the sizes.

        Yields:
            Configurations.
        """
        for panel in self.panels:
            for curve in panel.curves:
                for seed in preset.seeds:
                    yield self.config(panel, curve, preset, seed)
