r"""What a sentence about a figure is about: numbers per seed, made of its curves.

An `Effect` is a linear combination of levels, one number per seed. A difference of two
curves, a slope along an ordered option and an interaction (a slope of differences) are
the same thing with other weights; all arms of a seed share partition and draws, so what
the seed adds to all of them cancels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figures.figure import MEASURED, Curve, Figure, Panel
from figures.papers import BY_KEY
from figures.summaries import SUMMARIES, Array, Observed

TINY = 1e-9
PRINTED = ("final", "best")
"""Summaries of a curve that a printed accuracy may be."""
UNSEEN = 1.0
"""Points between accuracies of a hundred test samples; no data set has fewer."""


@dataclass(frozen=True)
class Place:
    """A curve of a figure.

    Attributes:
        figure: key.
        panel: index.
        curve: index.
    """

    figure: str
    panel: int
    curve: int

    @property
    def declared(self) -> tuple[Figure, Panel, Curve]:
        """What the figure declares there."""
        figure = BY_KEY[self.figure]
        panel = figure.panels[self.panel]
        return figure, panel, panel.curves[self.curve]


Curves = Mapping[Place, Observed]


@dataclass(frozen=True)
class Level:
    """One number per seed from one curve.

    Attributes:
        place: the curve.
        summary: key of ``SUMMARIES``.
    """

    place: Place
    summary: str = "final"

    def per_seed(self, curves: Curves) -> Array:
        """Return the number of every seed."""
        return SUMMARIES[self.summary](curves[self.place])

    def traces(self, curves: Curves) -> Array:
        """Return the curve itself, shape (seeds, k)."""
        return curves[self.place].values

    def printed(self) -> float | None:
        """Return the mean that the paper prints, or None."""
        numbers = self.place.declared[2].printed
        return None if numbers is None or self.summary not in PRINTED else numbers[0]

    def places(self) -> Iterator[Place]:
        """Yield the curves it is made of."""
        yield self.place


@dataclass(frozen=True)
class Largest:
    """The largest of some effects, without the bonus of having been chosen.

    A seed's number is that of the effect which is largest in the mean of the *other*
    seeds; a maximum over the seed's own numbers would grow with their noise.

    Attributes:
        options: the effects.
    """

    options: tuple[Effect, ...]

    def per_seed(self, curves: Curves) -> Array:
        """Return the number of every seed."""
        found = np.array([option.per_seed(curves) for option in self.options])
        others = found.sum(axis=1, keepdims=True) - found
        return found[others.argmax(axis=0), np.arange(found.shape[1])]

    def traces(self, curves: Curves) -> Array:
        """Return the largest of the options at every round."""
        return np.max([option.traces(curves) for option in self.options], axis=0)

    def printed(self) -> float | None:
        """Return the largest of the printed numbers, or None."""
        numbers = [option.printed() for option in self.options]
        known = [number for number in numbers if number is not None]
        return max(known) if len(known) == len(numbers) else None

    def places(self) -> Iterator[Place]:
        """Yield the curves it is made of."""
        for option in self.options:
            yield from option.places()


@dataclass(frozen=True)
class Effect:
    """A linear combination of numbers per seed.

    Attributes:
        terms: (weight, number).
    """

    terms: tuple[tuple[float, Level | Largest], ...]

    def __add__(self, other: Effect) -> Effect:
        """Return the sum; equal numbers are put together."""
        weights: dict[Level | Largest, float] = {}
        for weight, term in (*self.terms, *other.terms):
            weights[term] = weights.get(term, 0.0) + weight
        return Effect(tuple((w, term) for term, w in weights.items()))

    def __mul__(self, factor: float) -> Effect:
        """Return a multiple."""
        return Effect(tuple((factor * w, term) for w, term in self.terms))

    def __neg__(self) -> Effect:
        """Return the negative."""
        return self * -1.0

    def __sub__(self, other: Effect) -> Effect:
        """Return the difference."""
        return self + -other

    def per_seed(self, curves: Curves) -> Array:
        """Return the effect of every seed.

        Args:
            curves: what was observed at `places`.

        Returns:
            Shape (seeds,).
        """
        return np.sum([w * term.per_seed(curves) for w, term in self.terms], axis=0)

    def traces(self, curves: Curves) -> Array:
        """Return the same combination of the curves themselves, shape (seeds, k).

        Args:
            curves: what was observed at `places`, all at the same rounds.

        Returns:
            The combination.
        """
        return np.sum([w * term.traces(curves) for w, term in self.terms], axis=0)

    def vanishes(self, curves: Curves) -> bool:
        """Return whether the effect is zero at every round of every seed.

        So it is where all curves that are compared coincide throughout, as those of
        SFL-V1 at every cut: the effect is then zero without any spread. Accuracies can
        agree by chance, at a guess for instance, so the losses must agree too.

        Args:
            curves: what was observed at `places`.

        Returns:
            Whether nothing but rounding is left.
        """
        finer = {place: curves[place].finer for place in self.places()}
        return self._is_zero(curves) and self._is_zero(finer)

    def _is_zero(self, curves: Curves) -> bool:
        sums: dict[tuple[int, ...], Array] = {}
        for weight, term in self.terms:
            trace = weight * term.traces(curves)
            sums[trace.shape] = sums.get(trace.shape, np.zeros(trace.shape)) + trace
        return all(bool((np.abs(one) < TINY).all()) for one in sums.values())

    def resolution(self, curves: Curves) -> float:
        r"""Return the rounding error that the values' spacing puts into the effect.

        An accuracy is a multiple of one over the number of test samples; a step s
        leaves a standard error of $s/\sqrt{12}$ in every number. A curve that never
        moves shows no step and has that of the others; accuracies without any have
        that of a hundred samples.

        Args:
            curves: what was observed at `places`.

        Returns:
            A standard deviation.
        """
        steps = {place: _finest(curves[place].values) for place in self.places()}
        unseen = min((step for step in steps.values() if step), default=None)
        if unseen is None:
            unseen = UNSEEN if self.unit == "points" else 0.0
        squares = 0.0
        for weight, term in self.terms:
            finest = max(steps[place] or unseen for place in term.places())
            squares += (weight * finest) ** 2
        return float(np.sqrt(squares / 12.0))

    def printed(self) -> float | None:
        """Return the effect in the means that the paper prints, or None."""
        total = 0.0
        for weight, term in self.terms:
            number = term.printed()
            if number is None:
                return None
            total += weight * number
        return total

    def places(self) -> Iterator[Place]:
        """Yield the curves it is made of."""
        for _, term in self.terms:
            yield from term.places()

    @property
    def unit(self) -> str:
        """In what its size is given."""
        quantities = {place.declared[1].quantity for place in self.places()}
        if quantities == {"test_accuracy"}:
            return "points"
        return "log" if quantities & set(MEASURED) else "nats"


def _finest(values: Array) -> float:
    """Return the smallest step between two different values, 0 if there is none."""
    steps = np.diff(np.unique(values))
    steps = steps[steps > TINY]
    return float(steps.min()) if steps.size else 0.0


def level(figure: str, panel: int, curve: str | int, summary: str = "final") -> Effect:
    """Return the level of one curve.

    Args:
        figure: key.
        panel: index.
        curve: label or index.
        summary: key of ``SUMMARIES``.

    Returns:
        The effect.

    Raises:
        ValueError: if the panel has no such curve.
    """
    labels = [one.label for one in BY_KEY[figure].panels[panel].curves]
    if isinstance(curve, str):
        if curve not in labels:
            raise ValueError(f"{figure}, panel {panel}: expected one of {labels}")
        curve = labels.index(curve)
    if not 0 <= curve < len(labels):
        raise ValueError(f"{figure}, panel {panel}: has {len(labels)} curves")
    return Effect(((1.0, Level(Place(figure, panel, curve), summary)),))


def average(effects: Sequence[Effect]) -> Effect:
    """Return the mean of effects."""
    return total(effects) * (1.0 / len(effects))


def total(effects: Sequence[Effect]) -> Effect:
    """Return the sum of effects."""
    found = Effect(())
    for effect in effects:
        found += effect
    return found


def slope(effects: Sequence[Effect]) -> Effect:
    r"""Return the least-squares slope per step of an ordered option.

    Args:
        effects: in the option's order, at x = 1, 2, ...

    Returns:
        $\sum(x-\bar x)y/\sum(x-\bar x)^2$.
    """
    x = np.arange(len(effects)) - (len(effects) - 1) / 2
    weights = x / (x @ x)
    return total([one * float(w) for w, one in zip(weights, effects, strict=True)])


def along(figure: str, panel: int, summary: str = "final") -> Effect:
    """Return the slope over all curves of a panel, in their order."""
    count = len(BY_KEY[figure].panels[panel].curves)
    return slope([level(figure, panel, k, summary) for k in range(count)])


def largest(options: Sequence[Effect]) -> Effect:
    """Return the largest of some effects, see `Largest`."""
    return Effect(((1.0, Largest(tuple(options))),))


def spread(levels: Sequence[Effect]) -> Effect:
    """Return the largest difference between any two levels."""
    return largest([a - b for a in levels for b in levels if a is not b])
