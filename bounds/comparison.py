"""A measured curve beside a bound: evaluated, judged, ready for JSON and pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.experiment import Experiment
from bounds.informative import Floor, Informative, floor, informative, mean_rate
from bounds.measurement import Measurement, measure
from bounds.training import Progress
from bounds.verdict import Band, Rate, Verdict, judge, rate, ratio
from sfl_theory import Bound, Constants, Theorem, symbols, theorem
from sfl_theory.ledger import Standing


@dataclass(frozen=True)
class Comparison:
    """One bound beside one measured curve.

    Attributes:
        theorem: where the bound stands.
        case: name of the case.
        bound: the bound.
        measurement: what was trained and measured.
        band: of the metric over seeds.
        values: the bound at the band's rounds, shape (m,).
        terms: its terms, name -> shape (m,).
        along: the bound with the constants met along the runs, shape (m,); the same
            as ``values`` where no analytic constants are known.
        verdict: on the curve beside ``values``; says nothing about the theorem.
        rate: measured slope.
        unit: mean learning rate where the metric is weighted by it, else ones, shape
            (m,): divided by it, curves and bounds of a case are of one quantity.
        floor: what is known of that quantity without the bound, or None.
        informative: from which round on the bound lies below the floor.
        standing: what the audit says of the bound, or None where it was not asked.
    """

    theorem: Theorem
    case: str
    bound: Bound
    measurement: Measurement
    band: Band
    values: NDArray[np.float64]
    terms: dict[str, NDArray[np.float64]]
    along: NDArray[np.float64]
    verdict: Verdict
    rate: Rate
    unit: NDArray[np.float64]
    floor: Floor | None
    informative: Informative
    standing: Standing | None = None

    @property
    def name(self) -> str:
        """The bound's version, as texts call it."""
        return self.bound.version

    @property
    def equation(self) -> str:
        """Where the paper prints the bound, whichever version this is."""
        return self.theorem.case(self.case).printed.source.equation

    @property
    def progress(self) -> float | None:
        """Share of the gap at the start that the run closed; None if not measured."""
        start, end = self.measurement.constants.initial_gap, self.measurement.gap
        return None if not start or end is None else 1 - end / start

    @property
    def tightness_along(self) -> float | None:
        """Bound over measured mean at the last round, constants met along the runs."""
        return ratio(self.along[-1], self.band.mean[-1])

    @property
    def predicted_rate(self) -> float | None:
        """Exponent of T in the bound (constant rate in sums); None without T."""
        if symbols.T not in self.bound.expr.free_symbols:
            return None
        return float(self.bound.exponent())

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison under the JSON keys that other programs rely on."""
        found = self.measurement
        return {
            "theorem": self.theorem.key,
            "paper": self.theorem.paper,
            "case": self.case,
            "version": self.bound.version,
            "problem": found.setting.problem.name,
            "constants": found.constants.as_dict(),
            "rounds": self.band.rounds.tolist(),
            "measured": {
                "mean": _numbers(self.band.mean),
                "ci_low": _numbers(self.band.low),
                "ci_high": _numbers(self.band.high),
                "seeds": self.band.seeds,
                "level": self.band.level,
                "band": "Student t, simultaneous over the rounds (Bonferroni)",
            },
            "bound": _numbers(self.values),
            "audit": None
            if self.standing is None
            else {
                "status": self.standing.status,
                "scope": self.standing.scope,
                "cause": self.standing.cause,
                "claim": self.standing.claim,
            },
            "verdict": self.verdict.word,
            "first_violation": self.verdict.first_violation,
            "tightness": self.verdict.tightness,
            "rate": {
                "measured": self.rate.measured,
                "ci": [self.rate.low, self.rate.high],
                "predicted": self.predicted_rate,
                "from_round": self.rate.first,
            },
            "informative_from": self.informative.first,
            "floor": None if self.floor is None else self.floor.value * self.unit[-1],
            "floor_words": None if self.floor is None else self.floor.words,
            "progress": self.progress,
            "metric": self.bound.metric.key,
            "unit": _numbers(self.unit),
            "source": str(self.bound.source),
            "terms": {name: _numbers(term) for name, term in self.terms.items()},
            "bound_along_trajectory": _numbers(self.along),
            "tightness_along_trajectory": self.tightness_along,
            "constants_along_trajectory": found.along.as_dict(),
            "findings": {f.relation: f.words for f in self.bound.findings},
            "departures": list(found.departures),
            "remarks": list(found.remarks),
            "config": found.setting.record(found.schedule),
            "cuts": self._cuts(),
        }

    def _cuts(self) -> dict[str, Any]:
        """Return the client side's share of variance and divergence at named cuts."""
        met, problem = self.measurement.trajectory, self.measurement.setting.problem
        if met is None:
            return {}
        return {
            label: {
                "coordinates": cut,
                "client_variance": float(met.client_sigma2_mean[cut]),
                "client_divergence": float(met.client_eps2_mean[cut]),
                "variance": float(met.client_sigma2_mean[-1]),
                "divergence": float(met.client_eps2_mean[-1]),
            }
            for label, cut in problem.cuts.items()
        }


def compare(
    identifier: str | Theorem,
    case: str | None = None,
    version: str = "printed",
    experiment: Experiment | None = None,
    bound: Bound | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Train, measure, evaluate and judge one case of a theorem.

    Args:
        identifier: a theorem or its name.
        case: name of the case; may be omitted where there is one.
        version: "printed" or "repaired".
        experiment: the choices; None: the defaults.
        bound: a bound of your own in place of the theorem's.
        progress: called with (what, done, total).

    Returns:
        The comparison.
    """
    item = theorem(identifier) if isinstance(identifier, str) else identifier
    chosen = item.case(case)
    tested = bound or chosen.bound(version)
    found = measure(item, chosen.name, tested, experiment or Experiment(), progress)
    return against(item, chosen.name, tested, found)


def against(
    item: Theorem,
    case: str,
    bound: Bound,
    found: Measurement,
    standing: Standing | None = None,
) -> Comparison:
    """Put a bound beside a measurement that is already there.

    Args:
        item: the theorem.
        case: name of the case.
        bound: whose metric was measured.
        found: the measurement.
        standing: what the audit says of the bound.

    Returns:
        The comparison.
    """
    deterministic = found.setting.deterministic
    band = Band.of(found.rounds, found.curve, deterministic)
    terms = _terms(bound, found.constants, found)
    values = np.sum(list(terms.values()), axis=0)
    along = np.sum(list(_terms(bound, found.along, found).values()), axis=0)
    known = floor(bound, found.constants)
    return Comparison(
        item,
        case,
        bound,
        found,
        band,
        values,
        terms,
        along,
        judge(band, values, found.resolution),
        rate(found.rounds, found.curve, deterministic),
        mean_rate(bound.metric, found.rounds, found.schedule),
        known,
        informative(bound, [found.constants], found.schedule, known),
        standing,
    )


def _terms(
    bound: Bound, constants: Constants, found: Measurement
) -> dict[str, NDArray[np.float64]]:
    """Evaluate the terms; measured distances enter round by round (Prop. 3.5).

    Returns:
        Term name -> values at the measurement's rounds.
    """
    if "distance2_client" not in bound.needs or found.distances is None:
        return bound.formula(constants, found.rounds, found.schedule)
    rows = [
        bound.formula(
            constants.with_values(distance2_client=client, distance2_server=server),
            [T],
        )
        for T, client, server in zip(
            found.rounds.tolist(), *map(np.ndarray.tolist, found.distances), strict=True
        )
    ]
    return {name: np.concatenate([row[name] for row in rows]) for name in bound.parts}


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """Return JSON numbers; what JSON cannot write is null."""
    return [float(v) if math.isfinite(v) else None for v in values]
