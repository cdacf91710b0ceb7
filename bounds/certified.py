"""A bound made round by round, beside a run: for its numbers, no formula.

Certificates of single rounds are decided in integers; where the kernel has replayed a
derivation of the bound after the last round from them, it reads as proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from bounds.comparison import Comparison
from bounds.informative import Informative
from bounds.verdict import judge
from sfl_theory import Constants
from sfl_theory.bound import OBJECTIVE_GAP, WEIGHTED_GAP, WEIGHTED_GRADIENT
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.replay import replay
from sfl_theory.ledger import Standing
from sfl_theory.worst_case.chain_proof import prove, size
from sfl_theory.worst_case.round_by_round import (
    Followed,
    NotCertifiedError,
    averaged,
    descended,
    follow,
)
from sfl_theory.worst_case.setting import Algorithm, Setting, Visits
from sfl_train.algorithms import SFLV1, SFLV2, FedAvg, MiniBatchSFL
from sfl_train.files import replace_file

CERTIFIED, PROVED = "certified", "proved"
"""The versions under which JSON and tables show it."""
MOST_SQUARES = 2000
"""A proof of more than these squares is made on request only."""

ALGORITHMS: dict[type, Algorithm] = {
    FedAvg: "fedavg",
    SFLV1: "sfl-v1",
    SFLV2: "sfl-v2",
    MiniBatchSFL: "minibatch-sfl",
}
ACCURACY = 1e-6
"""Relative, to which f(x^0) - f* is trusted to be known."""
BITS = 30
"""Constants are rounded to so many bits, in the direction in which more is admitted."""


@dataclass(frozen=True)
class Derived:
    """A derivation of a bound after the last round, replayed by the kernel.

    Attributes:
        claim: its name in the file.
        rounds: T.
        assumes: the hypotheses, as the kernel prints them.
        document: the file that the standalone checker replays.
    """

    claim: str
    rounds: int
    assumes: tuple[str, ...]
    document: str


@dataclass(frozen=True)
class Certified(Comparison):
    r"""A run beside a chain of certificates of single rounds.

    Attributes:
        followed: the certificates, with the bound after every round.
        derived: the proof of the bound after the last round, or why there is none.
    """

    followed: Followed = field(kw_only=True)
    derived: Derived | str = field(kw_only=True)

    @property
    def name(self) -> str:
        """How texts call it."""
        known = isinstance(self.derived, Derived)
        return f"round by round{', proved' * known}"

    @property
    def predicted_rate(self) -> float | None:
        """A chain of numbers predicts no power of T."""
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON keys of every comparison, and the certificates' numbers."""
        known = self.derived
        return {
            **super().as_dict(),
            "terms": {},
            "findings": {},
            "source": "certificates of single rounds, decided in integers",
            "proof": {
                "claim": known.claim,
                "rounds": known.rounds,
                "assumes": list(known.assumes),
            }
            if isinstance(known, Derived)
            else None,
            "certificates": [
                {
                    "rounds": [one.first, one.last],
                    "slope": float(one.slope),
                    "rise": float(one.rise),
                    "inequalities": len(one.certificate.uses),
                    "squares": len(one.certificate.squares),
                }
                for one in self.followed.rounds
            ],
        }


def chained(beside: Comparison) -> Followed | str | None:
    """Return the certificates of single rounds that bound a run.

    Args:
        beside: another bound on the same run.

    Returns:
        The certificates; or why there are none; None for other left sides.
    """
    run = beside.measurement
    known = run.constants
    if "distance2_client" in beside.bound.needs:
        return None
    try:
        if run.metric == OBJECTIVE_GAP:
            return follow(*_round(beside))
        if run.metric not in {WEIGHTED_GAP, WEIGHTED_GRADIENT}:
            return None
        one, steps = _mean_round(beside)
        gap = _gap(known)
        if run.metric == WEIGHTED_GRADIENT:
            return descended(one, steps, gap)
        return averaged(one, steps, _rounded(known.initial_distance2), gap)
    except (ValueError, NotCertifiedError) as error:
        return str(error)


def derived(followed: Followed, name: str, large: bool = False) -> Derived | str:
    """Derive the bound after the last round by the kernel's rules, and replay it.

    Args:
        followed: the certificates.
        name: of the claim.
        large: whether it may take more than a few seconds.

    Returns:
        The derivation; or why there is none.
    """
    if not large and size(followed) > MOST_SQUARES:
        return f"a proof of {size(followed)} squares is left to --proof"
    try:
        document = prove(followed, name).document()
        (claim,) = replay(document)
    except Rejected as error:
        return f"the kernel refuses a step: {str(error)[:200]}"
    except ValueError as error:
        return str(error)
    assumes = tuple(sorted(map(str, claim.hypotheses)))
    return Derived(claim.id, len(followed.steps), assumes, document)


def certified(
    beside: Comparison, followed: Followed, known: Derived | str
) -> Certified:
    """Put certificates of single rounds beside a run.

    Args:
        beside: another bound on the same run.
        followed: the certificates.
        known: the proof, or why there is none.

    Returns:
        The comparison.
    """
    proved = isinstance(known, Derived)
    standing, words = None, f"certified, without a proof by the kernel: {known}"
    if isinstance(known, Derived):
        scope = f"for these numbers, at T = {known.rounds}"
        standing = Standing(known.claim, "proved", scope, "")
        words = f"proved {scope}: --proof FOLDER writes what the kernel replays"
    run = beside.measurement
    values = np.nextafter([float(followed.values[T]) for T in run.rounds], np.inf)
    values = values * beside.unit
    own = {one.name: getattr(beside, one.name) for one in fields(Comparison)}
    own |= {
        "bound": replace(
            beside.bound, version=PROVED if proved else CERTIFIED, findings=()
        ),
        "values": values,
        "terms": {},
        "along": values,
        "verdict": judge(beside.band, values, run.resolution),
        "informative": _informative(beside, followed),
        "standing": standing,
        "measurement": replace(run, departures=(), remarks=(*run.remarks, words)),
    }
    return Certified(**own, followed=followed, derived=known)


def write_proofs(folder: Path, comparisons: Sequence[Comparison]) -> list[str]:
    """Write the derivations that there are, one file per case.

    Args:
        folder: made if absent; files in it are replaced as wholes.
        comparisons: of all cases.

    Returns:
        What was written, or that nothing was.
    """
    written = []
    for one in comparisons:
        if isinstance(one, Certified) and isinstance(one.derived, Derived):
            path = folder / f"{one.case}.json"
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(path, one.derived.document.encode())
            written.append(f"proof of the {one.case} bound round by round: {path}")
    return written or ["no bound round by round was proved: the notes say why"]


def _round(beside: Comparison) -> tuple[Setting, list[Fraction]]:
    """Return a run's first round, and the client side's step sizes.

    Raises:
        ValueError: if rounds of this run are not formulated.
    """
    run, known = beside.measurement, beside.measurement.constants
    made = run.setting.algorithm
    t = np.arange(int(run.rounds[-1]), dtype=np.float64)
    client, server = (
        np.broadcast_to(np.asarray(side(t), dtype=np.float64), t.shape)
        for side in (run.schedule.client, run.schedule.server)
    )
    ratio = server[0] / client[0]
    tau, late = int(known.tau), int(known.tau_server or known.tau)
    for wrong, words in (
        (type(made) not in ALGORITHMS, f"{run.setting.algorithm_name} has no program"),
        (np.min(known.participation or 1) < 1, "rounds without some of the clients"),
        (run.schedule.per_step, "step sizes that change within a round"),
        (not np.allclose(server, ratio * client, 1e-12, 0), "two schedules"),
        (
            getattr(made, "clock", "") == "algorithm" and tau != late,
            "Algorithm 1's clock",
        ),
        (not known.initial_gap, "f(x^0) - f* is not known, or 0"),
        (not min(known.weights or (0,)), "a client of weight 0"),
    ):
        if wrong:
            raise ValueError(words)
    weights = tuple(map(Fraction, known.weights or ()))
    weights = tuple(a / sum(weights) for a in weights)
    sigma2 = [
        _rounded(one) for one in np.broadcast_to(known.sigma2 or 0.0, len(weights))
    ]
    pairs = [*zip(weights, sigma2, strict=True)]
    mean = _rounded(sum(a * a * s for a, s in pairs))
    apart = _rounded(sum(a * (1 - a) * s for a, s in pairs))
    steps = [Fraction(eta) for eta in client.tolist()]
    one = Setting(
        ALGORITHMS[type(made)],
        tau,
        (steps[0],),
        (Fraction(float(server[0])),),
        _rounded(known.S),
        _rounded(known.mu or 0.0, up=False),
        tau_server=late,
        eps2=_rounded(known.eps2) if known.eps2 else None,
        G2=_rounded(known.G2) if known.G2 else None,
        sigma2=mean + apart,
        mean_noise=mean,
        start="gap",
        initial=_gap(known),
        order=getattr(made, "order", "client-sequential"),
        visits=_visits(weights) if isinstance(made, SFLV2) else None,
    )
    return one, steps


def _mean_round(beside: Comparison) -> tuple[Setting, list[Fraction]]:
    """Return a run's round for a mean over rounds, and the client side's steps.

    Raises:
        ValueError: if rounds of this run are not formulated.
    """
    one, steps = _round(beside)
    if beside.measurement.metric == WEIGHTED_GRADIENT:
        mean = replace(
            one, mu=None, metric="gradient", reading="average", start="decrease"
        )
        return mean, steps
    mean = replace(one, reading="mean", start="decrease", initial_distance=one.initial)
    return mean, steps


def _gap(known: Constants) -> Fraction:
    """Return what f(x^0) - f* is at most: it is computed in float64 itself."""
    return _rounded((known.initial_gap or 0.0) * (1 + ACCURACY))


def _visits(weights: tuple[Fraction, ...]) -> Visits:
    """Return bounds on lags, with room for what a proof does not see."""
    known = Visits.of(weights, "printed")
    lag = known.lag + Fraction(1, 2**BITS)
    return Visits(known.count, _rounded(lag), _rounded(known.uneven))


def _rounded(value: float | Fraction, up: bool = True) -> Fraction:
    """Return a short fraction that is not below (not above) a number."""
    exact = Fraction(value)
    if not exact:
        return exact
    unit = Fraction(2) ** (math.frexp(float(exact))[1] - BITS)
    return (math.ceil if up else math.floor)(exact / unit) * unit


def _informative(beside: Comparison, followed: Followed) -> Informative:
    """Return from which round on the bound lies below what is known without it."""
    if beside.floor is None:
        return Informative(None, "-")
    known = Fraction(beside.floor.value)
    below = [t for t, value in enumerate(followed.values) if t and value < known]
    if not below:
        return Informative(None, f"not until T = {len(followed.values) - 1}")
    return Informative(below[0], f"T = {below[0]}")
