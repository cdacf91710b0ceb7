r"""What runs say about a claim: reproduced, not reproduced, or undecided at this size.

Student's t intervals over seeds, in Bonferroni's correction for the number of claims m
of the whole catalogue at this preset, whichever of them are asked for: with probability
0.95 no verdict is wrong, where effects are normal over seeds.

- *reproduced*: the interval of **every** effect, at level $1-0.05/m$, lies where the
  sentence puts it. All must pass, which needs no further correction (the claim is false
  if one effect is, and that one passes with probability at most $0.05/m$).
- *not reproduced*: the interval of **some** effect, at level $1-0.05/(mk)$ for k
  effects, lies where the sentence does not.
- else *undecided*.

Values that come in steps (accuracies are multiples of one over the number of test
samples) can agree by chance in all seeds; the standard error therefore holds what
rounding to these steps leaves. Curves that coincide in every round of every seed have
an effect of exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot, inf, sqrt
from pathlib import Path
from typing import Literal

import numpy as np
from scipy import stats

from figures.claims import Claim
from figures.effects import Array, Curves, Effect
from figures.observing import Observer
from figures.paired import LEVEL, Interval, interval
from figures.papers.claims import CLAIMS
from figures.scale import Preset

Verdict = Literal["reproduced", "not reproduced", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided")
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Part:
    """One effect of a claim, as measured.

    Attributes:
        words: what it is.
        unit: of the effect.
        values: one per seed.
        found: interval corrected for the number of claims.
        wide: corrected for the number of the claim's effects too.
        uncorrected: interval at level 0.95.
        exact: the curves coincide; the effect is zero without spread.
        printed: the effect in the paper's printed means, or None.
        seeds_to_decide: about how many would do if mean and spread stay; None: no
            number below 1000, or it is decided.
    """

    words: str
    unit: str
    values: tuple[float, ...]
    found: Interval
    wide: Interval
    uncorrected: Interval
    exact: bool
    printed: float | None
    seeds_to_decide: int | None


@dataclass(frozen=True)
class Judgement:
    """A claim and what runs say about it.

    Attributes:
        claim: the claim.
        verdict: about it.
        parts: its effects.
        decisive: index of the part on which the verdict turns.
        level: of confidence of ``found``.
        claims: number of claims that was corrected for.
    """

    claim: Claim
    verdict: Verdict
    parts: tuple[Part, ...]
    decisive: int
    level: float
    claims: int

    @property
    def part(self) -> Part:
        """The part on which the verdict turns."""
        return self.parts[self.decisive]

    @property
    def shown(self) -> Interval:
        """The interval that decided, or did not."""
        part = self.part
        return part.wide if self.verdict == "not reproduced" else part.found


@dataclass(frozen=True)
class Untested:
    """A claim without a verdict.

    Attributes:
        claim: the claim.
        why: in words.
        missing: number of runs that it needs.
    """

    claim: Claim
    why: str
    missing: int = 0


Result = Judgement | Untested


def family(preset: str) -> int:
    """Return the number of claims that verdicts are corrected for."""
    return sum(claim.applies(preset) for claim in CLAIMS)


def results(claims: Iterable[Claim], preset: Preset, root: Path) -> list[Result]:
    """Return what runs say about claims.

    Args:
        claims: of the catalogue.
        preset: the sizes.
        root: folder of all runs.

    Returns:
        One result per claim, in their order.
    """
    observer = Observer(preset, root)
    return [_result(claim, observer) for claim in claims]


def _result(claim: Claim, observer: Observer) -> Result:
    preset = observer.preset.name
    if not claim.applies(preset):
        return Untested(claim, "a printed number: needs --preset paper")
    missing, diverged = observer.lacking(claim)
    if missing:
        command = f"make {' '.join(claim.figures)} {observer.preset.options}"
        count = "1 run" if len(missing) == 1 else f"{len(missing)} runs"
        return Untested(
            claim,
            f"needs {count}: python -m figures {command} --runs {observer.root}",
            len(missing),
        )
    if diverged:
        return Untested(claim, f"{diverged} of its runs diverged")
    curves = {place: observer.curve(place) for place in claim.places}
    if not all(np.isfinite(curve.values).all() for curve in curves.values()):
        return Untested(claim, "a value of its runs is not finite")
    return judge(claim, curves, family(preset))


def judge(claim: Claim, curves: Curves, claims: int) -> Judgement:
    """Return the verdict on a claim.

    Args:
        claim: what is tested.
        curves: what was observed at all its places, two seeds or more.
        claims: number of claims tested together.

    Returns:
        The judgement.
    """
    level = 1 - (1 - LEVEL) / claims
    wide = 1 - (1 - LEVEL) / (claims * len(claim.effects))
    parts = tuple(
        _part(claim, words, effect, curves, level, wide)
        for words, effect in claim.effects.items()
    )
    test = claim.test
    failing = [k for k, part in enumerate(parts) if test.fails(part.wide)]
    open_ = [k for k, part in enumerate(parts) if not test.holds(part.found)]
    verdict: Verdict = (
        "not reproduced" if failing else "undecided" if open_ else "reproduced"
    )
    among = failing or open_ or range(len(parts))
    decisive = min(among, key=lambda k: _margin(claim, parts[k]))
    return Judgement(claim, verdict, parts, decisive, level, claims)


def _margin(claim: Claim, part: Part) -> float:
    """Return how safely a part passes, in standard errors; small: hardly or not."""
    mean, half = part.found.mean, (part.found.high - part.found.low) / 2
    inside = claim.test.distance(mean)
    if not claim.test.holds(Interval(mean, mean, mean, part.found.seeds)):
        inside = -inside
    return inside / half if half else float(np.sign(inside)) * inf


def _part(
    claim: Claim,
    words: str,
    effect: Effect,
    curves: Curves,
    level: float,
    wide: float,
) -> Part:
    exact = effect.vanishes(curves)
    values = effect.per_seed(curves)
    if exact:
        values = np.zeros_like(values)
    rounding = 0.0 if exact else effect.resolution(curves)
    found = corrected(values, level, rounding)
    decided = claim.test.holds(found) or claim.test.fails(found)
    spread = hypot(float(values.std(ddof=1)), rounding)
    return Part(
        words,
        effect.unit,
        tuple(values.tolist()),
        found,
        corrected(values, wide, rounding),
        corrected(values, LEVEL, rounding),
        exact,
        effect.printed(),
        None if decided else _seeds(claim.test.distance(found.mean), spread, level),
    )


def corrected(values: Array, level: float, rounding: float) -> Interval:
    """Return Student's t interval with the rounding of the values in it.

    Args:
        values: one per seed.
        level: of confidence.
        rounding: standard deviation that rounding leaves in a value.

    Returns:
        The interval.
    """
    plain = interval(values, level)
    quantile = float(stats.t.ppf(0.5 + level / 2, plain.seeds - 1))
    half = hypot((plain.high - plain.low) / 2, quantile * rounding / sqrt(plain.seeds))
    return Interval(plain.mean, plain.mean - half, plain.mean + half, plain.seeds)


def _seeds(distance: float, spread: float, level: float) -> int | None:
    seeds = np.arange(2, MOST_SEEDS)
    enough = stats.t.ppf(0.5 + level / 2, seeds - 1) * spread / np.sqrt(seeds)
    found = seeds[enough < distance]
    return int(found[0]) if found.size else None


def tally(found: Iterable[Result]) -> dict[str, int]:
    """Return how many claims have which verdict, and how many have none."""
    counts: dict[str, int] = dict.fromkeys((*VERDICTS, "not tested"), 0)
    for one in found:
        counts[one.verdict if isinstance(one, Judgement) else "not tested"] += 1
    return counts


def in_words(verdict: str) -> str:
    """Return a verdict as it is shown."""
    return f"{verdict} at this size" if verdict == "undecided" else verdict
