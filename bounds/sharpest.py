"""The smallest proved bound beside a run: the line that ``compare`` calls best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.audited import Audited
from bounds.comparison import Comparison
from bounds.informative import Informative, informative
from bounds.verdict import judge
from sfl_theory import Bound
from sfl_theory.best import Best, smallest
from sfl_theory.conditions import Algorithm
from sfl_theory.lower import lower_bound

BEST = "best"
"""The version under which JSON and tables show it."""
KNOWN = ("initial_gap", "initial_distance2", "G2", "R2")
"""Constants of a run to which an instance keeps: a bound round by round has them."""


@dataclass(frozen=True)
class Sharpest(Comparison):
    """A run beside the smallest proved bound.

    Attributes:
        versions: which version it is, for every round of the band.
        lower: what the left side is on an explicit instance within the constants, at
            the run's learning rates, shape (m,); None where none is known.
        instance: the last round's instance, in words.
    """

    versions: tuple[str, ...] = field(kw_only=True)
    lower: NDArray[np.float64] | None = field(kw_only=True, default=None)
    instance: str = field(kw_only=True, default="")

    @property
    def name(self) -> str:
        """The last round's version, in brackets."""
        return f"{BEST} ({self.versions[-1]})"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON keys of every comparison, and those of the attributes."""
        return {
            **super().as_dict(),
            "versions": list(self.versions),
            "lower": None if self.lower is None else self.lower.tolist(),
            "instance": self.instance,
        }


def on_instance(
    row: Sequence[Comparison],
) -> tuple[NDArray[np.float64], str] | None:
    """Return what the left side is on an instance, and the instance in words.

    Args:
        row: comparisons of one case.

    Returns:
        Values of shape (m,) that no true bound beside them lies below; None where
        no instance is known.
    """
    for one in row:
        if isinstance(one, Sharpest) and one.lower is not None:
            return one.lower, one.instance
    return None


def sharpest(beside: Comparison, audit: Audited | None) -> Sharpest | None:
    """Return the smallest bound that is proved and speaks of a run.

    Args:
        beside: another bound on the same run, whose left side is bounded.
        audit: names the versions of the case that the kernel proved now.

    Returns:
        The comparison, or None where no proved bound speaks of the run.
    """
    if audit is None:
        return None
    case = beside.theorem.case(beside.case)
    known = {name: case.bound(name) for name in case.versions if audit.proved[name]}
    run = beside.measurement
    choices = run.setting.experiment
    chosen = Algorithm(aggregation=choices.aggregation, clock=choices.clock)

    def least(constants: Any) -> Best:
        return smallest(known, constants, run.rounds, run.metric, run.schedule, chosen)

    try:
        best, along = least(run.constants), least(run.along)
    except ValueError:
        return None
    bound = known[best.versions[-1]]
    own = {one.name: getattr(beside, one.name) for one in fields(Comparison)}
    names = np.array(best.versions)
    own |= {
        "bound": replace(bound, version=BEST),
        "values": best.values,
        "terms": {v: np.where(names == v, best.values, 0.0) for v in {*best.versions}},
        "along": along.values,
        "verdict": judge(beside.band, best.values, run.resolution),
        "informative": _informative(beside, known, chosen),
        "standing": audit.of(case, bound),
        "measurement": replace(
            run, departures=run.setting.departures(bound, run.constants, run.schedule)
        ),
    }
    lower, instance = _lower(beside, bound)
    return Sharpest(**own, versions=best.versions, lower=lower, instance=instance)


def _lower(beside: Comparison, bound: Bound) -> tuple[NDArray[np.float64] | None, str]:
    """Return how bad a run with these constants can be; none at another rate."""
    run = beside.measurement
    if run.setting.experiment.learning_rate is not None:
        return None, ""
    case = beside.theorem.case(beside.case)
    try:
        found = lower_bound(
            case, run.constants, run.rounds, bound, run.schedule, also=KNOWN
        )
    except ValueError:
        return None, ""
    known = found.runs[-1] is not None
    return (found.values, found.instances[-1]) if known else (None, "")


def _informative(
    beside: Comparison, known: Mapping[str, Bound], chosen: Algorithm
) -> Informative:
    """Return from which round on one of the bounds says something."""
    run = beside.measurement
    found = [
        informative(bound, [run.constants], run.schedule, beside.floor)
        for bound in known.values()
        if bound.metric == run.metric
        and not bound.unmet(run.constants, run.rounds, run.schedule, chosen)
    ]
    firsts = [one for one in found if one.first is not None]
    return min(firsts, key=lambda one: one.first or 0, default=found[0])
