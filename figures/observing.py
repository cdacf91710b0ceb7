"""Reads the curves that claims are about from run folders, each of them once."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from figures.claims import Claim
from figures.effects import Place
from figures.figure import Curve, Figure, Panel
from figures.scale import Preset
from figures.series import Series, series, standing
from figures.summaries import Observed
from sfl_train.deep.config import Config

PERCENT = 100.0


class Observer:
    """Reads curves and says what lacks."""

    def __init__(self, preset: Preset, root: Path) -> None:
        """Set up; nothing is read yet.

        Args:
            preset: the sizes.
            root: folder of all runs.
        """
        self.preset, self.root = preset, root
        self._read: dict[Place, Series] = {}
        self._stands = cache(standing)

    def series(self, place: Place) -> Series:
        """Return a curve as its run folders hold it.

        Args:
            place: of the curve.

        Returns:
            The seeds that are there.
        """
        if place not in self._read:
            self._read[place] = self._series(*place.declared)
        return self._read[place]

    def curve(self, place: Place) -> Observed:
        """Return a curve from the first round on.

        Args:
            place: of the curve, whose runs are all there.

        Returns:
            Its values, accuracies in percent and with the losses of the same runs.
        """
        found = self.series(place)
        trained = found.rounds > 0
        rounds, values = found.rounds[trained].astype(float), found.values[:, trained]
        figure, panel, curve = place.declared
        if panel.quantity != "test_accuracy":
            return Observed(rounds, values)
        beside = replace(panel, quantity="test_loss")
        losses = self._series(figure, beside, curve).values
        return Observed(rounds, PERCENT * values, losses[:, trained])

    def _series(self, figure: Figure, panel: Panel, curve: Curve) -> Series:
        """Return a curve; curves share runs, each of which is looked at once."""
        return series(figure, panel, curve, self.preset, self.root, self._stands)

    def lacking(self, claim: Claim) -> tuple[list[Config], int]:
        """Return what keeps a claim from being tested.

        Args:
            claim: which.

        Returns:
            Runs that are missing or unfinished, each once, and how many diverged.
        """
        missing: dict[str, Config] = {}
        diverged = set()
        for place in claim.places:
            for seed, found in self.series(place).lacking:
                config = self.config(place, seed)
                if found == "diverged":
                    diverged.add(config.hash)
                else:
                    missing[config.hash] = config
        return list(missing.values()), len(diverged)

    def config(self, place: Place, seed: int) -> Config:
        """Return the run behind a curve."""
        figure, panel, curve = place.declared
        return figure.config(panel, curve, self.preset, seed)
