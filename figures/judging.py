r"""What runs say about a claim: reproduced, not reproduced, or undecided at this size.

A sentence that says several things at once is split: every effect of a claim is a
statement with a verdict of its own. The claim is *reproduced* if all its statements
are, *not reproduced* if one of them is not, else *undecided*.

All statements of one paper are a family, whichever of them are asked for, less those
that are known without a run (`figures.invariance`); those are verified and decided
without any correction. In a family Holm's method (`figures.holm`) is used twice, each
time at 2.5 %: on the hypotheses "the statement is false", whose rejection is the
verdict *reproduced*, and on "the statement is true", whose rejection is *not
reproduced*. So with probability 0.95 no verdict about a paper is wrong, however its
statements depend on each other, where effects are normal over seeds. p values are those
of Student's t over seeds; for a margin, the larger of two one-sided tests (reproduced)
or twice the smaller (not reproduced).

The interval that is printed is the two-sided t interval at the level at which Holm's
method compared the statement, so interval and verdict agree: at level $1-2a$ where
"false" was rejected at a, and it lies where the sentence says; at $1-2a/s$ where "true"
was, s being the sides by which an effect can leave what the sentence says, and it lies
elsewhere; where neither was, the wider of the two, and it reaches into both. These
intervals do not hold together; only the verdicts do.

Values that come in steps (accuracies are multiples of one over the number of test
samples) can agree by chance in all seeds; the standard error therefore holds what
rounding to these steps leaves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf, sqrt
from pathlib import Path
from typing import Literal

import numpy as np

from figures.claims import Claim
from figures.effects import Curves
from figures.holm import Tested, holm
from figures.invariance import is_zero
from figures.observing import Observer
from figures.paired import LEVEL, Estimate, Interval, quantile, quantiles
from figures.papers.claims import CLAIMS
from figures.scale import Preset

Verdict = Literal["reproduced", "not reproduced", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "not reproduced", "undecided")
ALPHA = (1 - LEVEL) / 2
"""Probability of a wrong "reproduced" in a family, and of a wrong "not reproduced"."""
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Measured:
    """A statement as measured, before anything is tested.

    Attributes:
        values: one per seed.
        estimate: of their expectation, with the rounding of the values in it.
        spread: standard deviation over seeds, with that rounding.
        exact: the curves coincide; the effect is zero without spread.
        known: it was known to, before any run.
    """

    values: tuple[float, ...]
    estimate: Estimate
    spread: float
    exact: bool
    known: bool


@dataclass(frozen=True)
class Part:
    """A statement of a claim and what runs say about it.

    Attributes:
        words: what it is about.
        unit: of the effect.
        values: one per seed.
        verdict: about it.
        found: interval at the level at which Holm's method compared it.
        level: of confidence of that interval.
        uncorrected: interval at level 0.95.
        exact: the curves coincide; the effect is zero without spread.
        known: it was known to, before any run, and is in no family.
        printed: the effect in the paper's printed means, or None.
        seeds_to_decide: about how many would do if mean, spread and level stay; None:
            no number below 1000, or it is decided.
    """

    words: str
    unit: str
    values: tuple[float, ...]
    verdict: Verdict
    found: Interval
    level: float
    uncorrected: Interval
    exact: bool
    known: bool
    printed: float | None
    seeds_to_decide: int | None


@dataclass(frozen=True)
class Judgement:
    """A claim and what runs say about it.

    Attributes:
        claim: the claim.
        verdict: about it.
        parts: its statements.
        decisive: index of the part on which the verdict turns.
        family: number of statements of its paper that were tested together.
    """

    claim: Claim
    verdict: Verdict
    parts: tuple[Part, ...]
    decisive: int
    family: int

    @property
    def part(self) -> Part:
        """The part on which the verdict turns."""
        return self.parts[self.decisive]


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


def families(preset: Preset) -> dict[str, int]:
    """Return how many statements of each paper are tested together.

    Args:
        preset: the sizes.

    Returns:
        Number by paper; what is known without a run is not counted.
    """
    return Counter(
        claim.paper
        for claim in CLAIMS
        if claim.applies(preset.name)
        for effect in claim.effects.values()
        if not is_zero(effect, preset)
    )


def resolved(family: int, seeds: int) -> tuple[float, float]:
    """Return which effects a design can tell from zero, before any run is made.

    Args:
        family: number of statements tested together.
        seeds: of every curve.

    Returns:
        Half the width of the first interval of Holm's method and of the last, in
        standard deviations of the effect over seeds.
    """
    first, last = (quantile(1 - ALPHA / n, seeds) / sqrt(seeds) for n in (family, 1))
    return first, last


def plan(papers: Iterable[str], preset: Preset) -> list[str]:
    """Return in words what the runs of papers can decide, before they are made.

    Args:
        papers: keys.
        preset: the sizes.

    Returns:
        One line per paper that has claims.
    """
    counts = families(preset)
    lines = []
    for paper in dict.fromkeys(papers):
        if counts[paper]:
            first, last = resolved(counts[paper], len(preset.seeds))
            lines.append(
                f"{paper}: {counts[paper]} statements, {len(preset.seeds)} seeds: "
                f"intervals of ±{first:.1f} (first in Holm's order) to ±{last:.1f} "
                "(last) standard deviations of an effect over seeds"
            )
    return lines


def results(claims: Iterable[Claim], preset: Preset, root: Path) -> list[Result]:
    """Return what runs say about claims.

    Args:
        claims: of the catalogue.
        preset: the sizes.
        root: folder of all runs.

    Returns:
        One result per claim, in their order.
    """
    asked = list(claims)
    observer, counts = Observer(preset, root), families(preset)
    found: dict[str, Result] = {}
    for paper in dict.fromkeys(claim.paper for claim in asked):
        family = [claim for claim in CLAIMS if claim.paper == paper]
        measured = {claim.id: _measured(claim, observer) for claim in family}
        found |= judge(family, measured, counts[paper])
    return [found[claim.id] for claim in asked]


def _measured(claim: Claim, observer: Observer) -> Untested | tuple[Measured, ...]:
    """Return the statements of a claim as measured, or why they are not."""
    preset = observer.preset
    if not claim.applies(preset.name):
        return Untested(claim, "a printed number: needs --preset paper")
    missing, diverged = observer.lacking(claim)
    if missing:
        command = f"make {' '.join(claim.figures)} {preset.options}"
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
    parts = measure(claim, curves, preset)
    if any(part.known and not part.exact for part in parts):
        return Untested(
            claim, "runs that make one training by FedAvg's invariance differ"
        )
    return parts


def measure(claim: Claim, curves: Curves, preset: Preset) -> tuple[Measured, ...]:
    """Return the statements of a claim as measured.

    Args:
        claim: what is measured.
        curves: what was observed at all its places, two seeds or more.
        preset: the sizes.

    Returns:
        One per effect.
    """
    parts = []
    for effect in claim.effects.values():
        exact = effect.vanishes(curves)
        values = effect.per_seed(curves)
        if exact:
            values = np.zeros_like(values)
        rounding = 0.0 if exact else effect.resolution(curves)
        spread = hypot(float(values.std(ddof=1)), rounding)
        estimate = Estimate(
            float(values.mean()), spread / sqrt(values.size), values.size
        )
        known = is_zero(effect, preset)
        parts.append(Measured(tuple(values.tolist()), estimate, spread, exact, known))
    return tuple(parts)


def judge(
    claims: Sequence[Claim],
    measured: Mapping[str, Untested | tuple[Measured, ...]],
    family: int,
) -> dict[str, Result]:
    """Return the verdicts on a family of claims.

    Args:
        claims: of one paper.
        measured: by claim, its statements, or why there are none.
        family: number of statements that are tested together; those that could not be
            measured count too, so that making more runs turns no verdict round.

    Returns:
        Results by claim.
    """
    keys, true, false = [], [], []
    for claim in claims:
        parts = measured[claim.id]
        for k, part in enumerate(() if isinstance(parts, Untested) else parts):
            if not part.known:
                keys.append((claim.id, k))
                true.append(claim.test.true(part.estimate))
                false.append(claim.test.false(part.estimate))
    rest = [1.0] * (family - len(keys))
    tested = dict(
        zip(
            keys,
            zip(holm(true + rest, ALPHA), holm(false + rest, ALPHA), strict=True),
            strict=False,
        )
    )
    return {claim.id: _judged(claim, measured[claim.id], tested, family)
            for claim in claims}  # fmt: skip


def _judged(
    claim: Claim,
    measured: Untested | tuple[Measured, ...],
    tested: Mapping[tuple[str, int], tuple[Tested, Tested]],
    family: int,
) -> Result:
    if isinstance(measured, Untested):
        return measured
    parts = tuple(
        _part(claim, k, one, tested.get((claim.id, k)))
        for k, one in enumerate(measured)
    )
    by_verdict = {
        verdict: [k for k, part in enumerate(parts) if part.verdict == verdict]
        for verdict in ("not reproduced", "undecided", "reproduced")
    }
    verdict, among = next((v, ks) for v, ks in by_verdict.items() if ks)
    decisive = min(among, key=lambda k: _margin(claim, parts[k]))
    return Judgement(claim, verdict, parts, decisive, family)  # type: ignore[arg-type]


def _part(
    claim: Claim, k: int, one: Measured, tested: tuple[Tested, Tested] | None
) -> Part:
    words, effect = list(claim.effects.items())[k]
    test = claim.test
    verdict: Verdict
    if tested is None:  # known without a run
        level, found = 1.0, one.estimate.interval(LEVEL)
        verdict = "reproduced" if test.holds(found) else "not reproduced"
    else:
        true, false = tested
        levels = 1 - 2 * true.level, 1 - 2 * false.level / test.sides
        if true.rejected:
            verdict, level = "reproduced", levels[0]
        elif false.rejected:
            verdict, level = "not reproduced", levels[1]
        else:
            verdict, level = "undecided", max(levels)
        found = one.estimate.interval(level)
    more = None
    if verdict == "undecided":
        more = _seeds(test.distance(found.mean), one.spread, level)
    return Part(
        words,
        effect.unit,
        one.values,
        verdict,
        found,
        level,
        one.estimate.interval(LEVEL),
        one.exact,
        one.known,
        effect.printed(),
        more,
    )


def _margin(claim: Claim, part: Part) -> float:
    """Return how safely a part passes, in standard errors; small: hardly or not."""
    mean, half = part.found.mean, (part.found.high - part.found.low) / 2
    inside = claim.test.distance(mean)
    if not claim.test.holds(Interval(mean, mean, mean, part.found.seeds)):
        inside = -inside
    return inside / half if half else float(np.sign(inside)) * inf


def _seeds(distance: float, spread: float, level: float) -> int | None:
    seeds = np.arange(2, MOST_SEEDS)
    half = quantiles(0.5 + level / 2, seeds) * spread / np.sqrt(seeds)
    enough = seeds[half < distance]
    return int(enough[0]) if enough.size else None


def tally(found: Iterable[Result]) -> dict[str, int]:
    """Return how many claims have which verdict, and how many have none."""
    counts: dict[str, int] = dict.fromkeys((*VERDICTS, "not tested"), 0)
    for one in found:
        counts[one.verdict if isinstance(one, Judgement) else "not tested"] += 1
    return counts


def statements(found: Iterable[Result]) -> dict[str, int]:
    """Return how many statements of claims have which verdict."""
    counts: dict[str, int] = dict.fromkeys(VERDICTS, 0)
    for one in found:
        for part in one.parts if isinstance(one, Judgement) else ():
            counts[part.verdict] += 1
    return counts


def in_words(verdict: str, preset: Preset) -> str:
    """Return a verdict with the size at which it was reached."""
    return f"{verdict} ({preset.name} size)" if verdict in VERDICTS else verdict
