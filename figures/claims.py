r"""A sentence in which a paper reads something off a figure, and how it is tested.

One rule of reading for all of them, fixed before any run was looked at:

- a sentence that says "both", "all", "every", "consistently" or names panels must hold
  in each of them; any other one is read as holding on average over the panels it speaks
  of, once for every algorithm, data set or metric that it names;
- "similar", "minor", "stable", "not affected" mean: within one percentage point, in
  each panel, since differences of either sign would cancel in a mean;
- "in Lc", "in the non-IID ratio", ...: the least-squares slope per step of the option;
- "faster": the mean over the first half of the rounds; "less stable": the standard
  deviation of the steps from round to round in the second half.

Every effect is written such that the sentence says: it is positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from figures.effects import Effect, Place
from figures.paired import Estimate, Interval
from figures.papers import BY_KEY

MARGIN = 1.0
"""Percentage points within which accuracies are similar."""


@dataclass(frozen=True)
class Exceeds:
    """The effect is positive."""

    sides = 1
    """Of the sentence's region, each of which an effect may leave it by."""

    def true(self, found: Estimate) -> float:
        """Return the p value of "the sentence is false"; small: it is true."""
        return found.above(0.0)

    def false(self, found: Estimate) -> float:
        """Return the p value of "the sentence is true"; small: it is false."""
        return found.below(0.0)

    def holds(self, found: Interval) -> bool:
        """Return whether the interval leaves positive effects only."""
        return found.low > 0

    def fails(self, found: Interval) -> bool:
        """Return whether the interval leaves no positive effect."""
        return found.high <= 0

    def distance(self, mean: float) -> float:
        """Return how far an effect is from where the verdict turns."""
        return abs(mean)

    @property
    def words(self) -> str:
        """The test in words."""
        return "effect > 0"


@dataclass(frozen=True)
class Within:
    """The effect is a number, up to a margin.

    Attributes:
        around: the number.
        margin: in the effect's unit.
    """

    around: float = 0.0
    margin: float = MARGIN
    sides = 2

    def true(self, found: Estimate) -> float:
        """Return the p value of "it is beyond the margin": the larger of both sides."""
        low, high = self.around - self.margin, self.around + self.margin
        return max(found.above(low), found.below(high))

    def false(self, found: Estimate) -> float:
        """Return the p value of "it is within": twice the smaller of both sides."""
        low, high = self.around - self.margin, self.around + self.margin
        return min(1.0, 2 * min(found.above(high), found.below(low)))

    def holds(self, found: Interval) -> bool:
        """Return whether the interval lies within the margin."""
        low, high = self.around - self.margin, self.around + self.margin
        return low < found.low and found.high <= high

    def fails(self, found: Interval) -> bool:
        """Return whether the interval lies beyond the margin."""
        low, high = self.around - self.margin, self.around + self.margin
        return found.low > high or found.high <= low

    def distance(self, mean: float) -> float:
        """Return how far an effect is from where the verdict turns."""
        return abs(abs(mean - self.around) - self.margin)

    @property
    def words(self) -> str:
        """The test in words."""
        if self.around:
            return f"effect = {self.around:g} ± {self.margin:g}"
        return f"|effect| <= {self.margin:g}"


@dataclass(frozen=True)
class Claim:
    """A sentence about a figure or a table.

    Attributes:
        id: PAPER/FIGURE/NAME.
        quote: the sentence.
        location: in the paper.
        reading: what is tested, in words.
        effects: words -> effect. Each is a statement with a verdict of its own; the
            sentence says all of them.
        test: of each effect.
        also: other places that say the same.
        audit: entries of `bounds.audit` about the same matter.
        at_paper_size: a printed number, which only the paper's sizes could give.
    """

    id: str
    quote: str
    location: str
    reading: str
    effects: Mapping[str, Effect]
    test: Exceeds | Within = Exceeds()
    also: tuple[str, ...] = ()
    audit: tuple[str, ...] = ()
    at_paper_size: bool = False

    def __post_init__(self) -> None:
        """Check what is compared.

        Raises:
            ValueError: if there is no effect or one mixes units.
        """
        if not self.effects:
            raise ValueError(f"{self.id}: expected one effect at least")
        for effect in self.effects.values():
            if isinstance(self.test, Within) and effect.unit != "points":
                raise ValueError(f"{self.id}: the margin is one of accuracies")
            if len({BY_KEY[p.figure].panels[p.panel].quantity
                    for p in effect.places()}) != 1:  # fmt: skip
                raise ValueError(f"{self.id}: an effect mixes quantities")

    @property
    def paper(self) -> str:
        """Key of the paper."""
        return self.id.split("/")[0]

    @property
    def places(self) -> tuple[Place, ...]:
        """The curves it is about, each once."""
        found = (p for effect in self.effects.values() for p in effect.places())
        return tuple(dict.fromkeys(found))

    @property
    def figures(self) -> tuple[str, ...]:
        """Keys of the figures it is about, in their order of mention."""
        return tuple(dict.fromkeys(place.figure for place in self.places))

    def applies(self, preset: str) -> bool:
        """Return whether the claim can be tested at a preset's sizes."""
        return preset == "paper" or not self.at_paper_size
