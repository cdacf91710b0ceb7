r"""The best bound known for a case: round by round the smallest that is proved.

Only versions whose statement the ledger proves count, and only where the constants and
the algorithm meet their hypotheses. A bound is named with the statements that it is
made of (`Case.proved`), so its standing is never more than what the kernel proved; that
both say the same, symbol by symbol, is read in the tests. Bounds of different left
sides are never compared. What a version is proved for includes its learning-rate rule:
without a schedule every version stands for the algorithm under its own rule, and where
the left side is weighted by the learning rates all stand at one constant rate, the
largest that each of them admits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfl_theory import schedules
from sfl_theory.bound import Bound, Metric
from sfl_theory.conditions import ANALYSED, Algorithm, WeightedServer
from sfl_theory.constants import Constants
from sfl_theory.evidence import Part, decide, parts_of
from sfl_theory.ledger import ledger, standing
from sfl_theory.registry import theorem
from sfl_theory.schedules import Schedule
from sfl_theory.statement import Case, Theorem


def backing(item: Theorem, bound: Bound) -> tuple[tuple[str, Part], ...]:
    """Return the proofs that say what a bound says, with their names.

    Args:
        item: the theorem that the bound belongs to.
        bound: one of its versions.

    Returns:
        One part, or two by which side makes more steps; empty where nothing backs it.
    """
    return _backing(item.key, bound)


@cache
def _backing(key: str, bound: Bound) -> tuple[tuple[str, Part], ...]:
    for case in theorem(key).cases.values():
        own, parts = case.variants.get(bound.version, (None, ()))
        if own == bound:
            return tuple((_names(key)[id(part)], part) for part in parts)
    return ()


@cache
def _names(key: str) -> dict[int, str]:
    """Return the name of each part, by identity; a theorem's own where it shares it."""
    claims = ledger().claims(key.partition("/")[0])
    named = [(name, id(part)) for one in claims for name, part in parts_of(one)]
    own = [pair for pair in named if pair[0].startswith(key)]
    return {part: name for name, part in reversed([*own, *named])}


def proved(item: Theorem, bound: Bound) -> bool:
    """Return whether the kernel proves, now, what a bound says."""
    return _proved(item.key, bound)


@cache
def _proved(key: str, bound: Bound) -> bool:
    parts = _backing(key, bound)
    return bool(parts) and all(_decided(name, part) for name, part in parts)


@cache
def _decided(name: str, part: Part) -> bool:
    return decide(part, name).status == "proved"


@dataclass(frozen=True)
class Best:
    """The smallest proved bound at every round.

    Attributes:
        values: shape (m,).
        versions: the case's name of the bound that is smallest, for every round.
        metric: what is bounded.
        schedule: at which all stand, or None where each has its own rule.
    """

    values: NDArray[np.float64]
    versions: tuple[str, ...]
    metric: Metric
    schedule: Schedule | None = None


def proved_versions(case: Case) -> dict[str, Bound]:
    """Return the versions of a case that the ledger proves, by name."""
    item = theorem(case.theorem)
    named = {name: case.bound(name) for name in case.versions}
    return {name: bound for name, bound in named.items() if backing(item, bound)}


def best(
    case: Case,
    constants: Constants,
    rounds: ArrayLike,
    schedule: Schedule | None = None,
    algorithm: Algorithm = ANALYSED,
    metric: Metric | None = None,
) -> Best:
    """Return the smallest proved bound that applies, round by round.

    Args:
        case: of a theorem.
        constants: of the problem and the setting.
        rounds: integers T, shape (m,).
        schedule: the learning rate of the run; None: see the module.
        algorithm: what is run.
        metric: what is to be bounded; None: what the printed bound bounds, or, where
            nothing is proved on that, what the repaired one does.

    Returns:
        Values and versions.

    Raises:
        ValueError: if no proved bound applies; one line says why not, version by
            version.
    """
    known = proved_versions(case)
    if not known:
        raise ValueError(f"{case.theorem} ({case.name}): no bound is proved")
    metric = metric or _usual(case, known)
    try:
        return smallest(known, constants, rounds, metric, schedule, algorithm)
    except ValueError as error:
        raise ValueError(f"{case.theorem} ({case.name}): {error}") from error


def smallest(
    known: Mapping[str, Bound],
    constants: Constants,
    rounds: ArrayLike,
    metric: Metric,
    schedule: Schedule | None = None,
    algorithm: Algorithm = ANALYSED,
) -> Best:
    """Return the smallest of some bounds that applies, round by round.

    Args:
        known: the bounds, by name.
        constants: of the problem and the setting.
        rounds: integers T, shape (m,).
        metric: what is to be bounded; bounds of other metrics are left out.
        schedule: the learning rates of the run, both sides'; or None.
        algorithm: what is run.

    Returns:
        Values and versions.

    Raises:
        ValueError: if none applies.
    """
    of_metric = {v: bound for v, bound in known.items() if bound.metric == metric}
    given = schedule
    if schedule is None and metric.weighted:
        schedule = _common(of_metric, constants, algorithm)
    found: dict[str, NDArray[np.float64]] = {}
    why = []
    for version, bound in of_metric.items():
        if given is not None and not _server_of(bound, constants, given, algorithm):
            why.append(f"{version}: it is on another rate of the server's side")
            continue
        try:
            found[version] = bound.evaluate(constants, rounds, schedule, algorithm)
        except ValueError as error:
            why.append(f"{version}: {error}")
    if not found:
        reasons = "; ".join(why) or f"none is on {metric.words}"
        raise ValueError(f"no proved bound applies ({reasons})")
    table, names = np.array([*found.values()]), [*found]
    least = np.argmin(np.where(np.isnan(table), np.inf, table), axis=0)
    return Best(
        table[least, np.arange(table.shape[1])],
        tuple(names[k] for k in least),
        metric,
        schedule,
    )


def _server_of(
    bound: Bound, constants: Constants, schedule: Schedule, algorithm: Algorithm
) -> bool:
    """Return whether the server's rate over the client's is the bound's.

    Server steps that carry a_n are, for equal weights, printed ones at the rate over N.
    """
    own = None if bound.step_size is None else bound.step_size.ratio(constants)
    if own is None:
        return True
    if algorithm.weighted_server and bound.assumes(WeightedServer):
        own *= len(constants.per_client("weights"))
    at = np.arange(8.0)
    server, client = (np.broadcast_to(f(at), at.shape) for f in (
        schedule.server, schedule.client
    ))  # fmt: skip
    return bool(np.allclose(server, own * client, rtol=1e-9, atol=0))


def _usual(case: Case, known: dict[str, Bound]) -> Metric:
    if any(bound.metric == case.printed.metric for bound in known.values()):
        return case.printed.metric
    first = known.get("repaired", next(iter(known.values())))
    return first.metric


def _common(
    bounds: dict[str, Bound], constants: Constants, algorithm: Algorithm
) -> Schedule | None:
    """Return the largest constant rate that all bounds that apply admit."""
    largest = []
    for bound in bounds.values():
        if bound.step_size is None or bound.unmet(constants, algorithm=algorithm):
            continue
        try:
            rule = bound.step_size.schedule(constants)
        except ValueError:
            continue
        if rule.value is not None:
            largest.append(rule.value)
        else:
            largest.append(float(rule.client(np.zeros(1))[0]))
    return schedules.constant(min(largest)) if largest else None


# The version that a user asks for by name -------------------------------------------


@dataclass(frozen=True)
class Choice:
    """A bound of a case and the version that it is.

    Attributes:
        version: one of the case's versions.
        bound: the bound in it.
        why: why it is not the version asked for; "" where it is.
    """

    version: str
    bound: Bound
    why: str = ""


def choose(item: Theorem, case: Case, version: str) -> Choice:
    """Return the bound of a case in a version.

    Args:
        item: the theorem.
        case: one of its cases.
        version: "printed", "repaired", "sharper", ... Where the printed bound is proved
            it is the repaired one too, and ``why`` says so.

    Returns:
        The choice.

    Raises:
        ValueError: if the case has no such version; one line names the versions that
            exist, case by case.
    """
    if version in case.versions:
        return Choice(version, case.bound(version))
    found = standing(item.key, case.name)
    if version == "repaired" and found is not None and found.status == "proved":
        words = f"the printed bound: it is {found.words}, so nothing is repaired"
        return Choice("printed", case.printed, words)
    there = "; ".join(f"{c.name}: {', '.join(c.versions)}" for c in item.cases.values())
    raise ValueError(
        f"{item.key} ({case.name}) has no version '{version}'; there are {there}"
    )
