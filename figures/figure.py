r"""What a figure or a table of a paper is: panels of curves, each a training run.

A declaration says what the *paper* trained. The preset decides the size: ``paper`` is
the paper's, ``cpu`` scales every option down by the one rule in `figures.scale`. Curves
of different figures that train the same thing share their runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from figures.scale import Preset, scaled
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

MEASURED = ("epsilon2", "variance_at_client", "variance_across_clients")
"""Quantities that need a run with ``--measure``."""


@dataclass(frozen=True)
class Curve:
    """One line of a panel, or one cell of a table.

    Attributes:
        label: in the legend, as the paper calls it.
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
        title: as in the paper.
        options: what its curves have in common.
        curves: in the paper's order.
        quantity: drawn over the rounds, a key of ``QUANTITIES``.
    """

    title: str
    options: Options
    curves: tuple[Curve, ...]
    quantity: str = "test_accuracy"


@dataclass(frozen=True)
class Figure:
    """A figure or a table.

    Attributes:
        key: "han2024/fig-2", "dachille2024/table-3", ...
        title: what it shows.
        options: what all its panels have in common, in the paper's sizes.
        panels: in the paper's order.
        kind: "figure" or "table".
        departures: where our reading departs from the paper or fills a gap.
        theory: of a table that needs no run and has no panels: makes it.
    """

    key: str
    title: str
    options: Options
    panels: tuple[Panel, ...]
    kind: Kind = "figure"
    departures: tuple[str, ...] = field(default=())
    theory: Callable[[], Sheet] | None = None

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
        return resolve("paper", scaled(wanted, preset))

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
