r"""How bad a run can be: explicit instances within the hypotheses, evaluated exactly.

An upper bound is worth what it leaves open. `lower_bound` looks for the worst among
small federations whose constants are at most the given ones: every client has the
parabola $\frac\lambda2x^2$ on the client block, $\mu\le\lambda\le S$, started as far
out as initial gap, distance and $G^2$ allow, with and without noise on two points; and
clients of two curvatures that pull apart, on a line and in a plane (`pulled`). Their
expectations follow exactly from moment recursions (`sfl_theory.models.moments`). No
bound can lie below such a value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfl_theory.best import Best, best
from sfl_theory.bound import Bound, Metric, total
from sfl_theory.conditions import BoundedGradients
from sfl_theory.constants import Constants
from sfl_theory.models.federated import Box, FederatedRun, Rate
from sfl_theory.models.functions import ONE, ZERO, Piece, Separable
from sfl_theory.models.moments import curved, pull, squares
from sfl_theory.pulled import Pulled, pulled
from sfl_theory.registry import theorem
from sfl_theory.schedules import Schedule
from sfl_theory.statement import Case

START = (
    "initial_gap", "initial_distance2", "initial_distance2_client",
    "initial_distance2_server",
)  # fmt: skip
"""How far out a run starts, which counts where the bound has it."""
LIMITS = ("S", "eps2", "G2", "R2", *START)
"""Constants of which an instance has no more."""
CURVATURES = 9
"""How many curvatures between mu and S are tried."""
LONGEST = 20_000
"""Rounds up to which a moment recursion is followed."""
ANY = Rate(ONE)
"""Stands for every rate where only the constants of a run are asked for."""


@dataclass(frozen=True)
class Lower:
    """The worst instances found, round by round.

    Attributes:
        values: what the bounded quantity is there, shape (m,).
        instances: in words, one per round.
        runs: the runs, one per round; None where nothing bad was found.
        metric: what is bounded.
    """

    values: NDArray[np.float64]
    instances: tuple[str, ...]
    runs: tuple[FederatedRun | Pulled | None, ...]
    metric: Metric


def lower_bound(
    case: Case,
    constants: Constants,
    rounds: ArrayLike,
    bound: Bound | None = None,
    schedule: Schedule | None = None,
    *,
    also: Collection[str] = (),
) -> Lower:
    """Return how large the left side of a bound of a case can be.

    Args:
        case: of a theorem.
        constants: that no instance exceeds, as far as the bound has or assumes them;
            equal weights.
        rounds: integers T from 1 to ``LONGEST``, shape (m,).
        bound: whose metric and learning rate are meant; None: the best one's at the
            last round.
        schedule: learning rates in the place of the bound's own.
        also: names of constants that no instance exceeds, though the bound may not
            have them: it is compared with other bounds, too.

    Returns:
        Values and instances.

    Raises:
        ValueError: if no bound applies, a round is too late to be followed, or there
            are no learning rates of the form c/(o + t).
    """
    wanted = np.atleast_1d(np.asarray(rounds, dtype=np.int64))
    if wanted.max() > LONGEST:
        raise ValueError(f"instances are followed up to T = {LONGEST}")
    if bound is None:
        bound = case.bound(best(case, constants, wanted).versions[-1])
    values, found = np.zeros(wanted.shape), [None] * wanted.size
    runs: list[FederatedRun | Pulled | None] = [*found]
    if schedule is None and bound.step_size is not None:
        schedule = bound.step_size.schedule(constants)
    if schedule is None:
        raise ValueError(f"{bound.source}: has no learning rate")
    constants = _of_hypotheses(constants, bound, also)
    for plane in _in_a_plane(case, constants, bound, schedule, int(wanted.max())):
        here = plane.values(bound.metric, wanted) * plane.scale(constants)
        for k in np.flatnonzero(here > values):
            values[k], runs[k] = here[k], plane
    side = _side(bound.metric)
    for one in _instances(case, constants, schedule):
        run = _mirrored(one) if side else one
        if not _within(run, constants) or not curved(run) or pull(run, side) > 1:
            continue
        here = left_side(run, bound.metric, wanted)
        for k in np.flatnonzero(here > values):
            values[k], runs[k] = here[k], run
    words = tuple("none" if run is None else described(run) for run in runs)
    return Lower(values, words, tuple(runs), bound.metric)


def _of_hypotheses(
    constants: Constants, bound: Bound, also: Collection[str]
) -> Constants:
    """Return the constants that limit what a bound speaks of, and some others."""
    idle = set(START) - set(bound.needs)
    if not bound.assumes(BoundedGradients):
        idle |= {"G2", "R2"}
    return constants.with_values(**dict.fromkeys(idle - set(also)))


def described(run: FederatedRun | Pulled) -> str:
    """Return an instance in a phrase, numbers rounded."""
    if isinstance(run, Pulled):
        return str(run)
    side = int(any(run.start[1:]) or any(c.zeta[1] for c in run.separable))
    name = "cs"[side]
    curvatures = sorted({float(c.pieces[side].curvature) for c in run.separable})
    if len(curvatures) > 1:
        low, high = curvatures
        return (
            f"clients of curvatures {low:.3g} and {high:.3g} that pull apart, from x*"
        )
    noise = "with noise" if any(run.sigma2) else "no noise"
    start = float(run.start[side])
    return f"every client {curvatures[0]:.3g} x_{name}^2/2, x^0 = {start:.3g}, {noise}"


@dataclass(frozen=True)
class Open:
    """What the best bound of a case leaves open.

    Attributes:
        factor: k: the best bound is at most k times above what can happen.
        round: T where it is.
        version: the best bound there.
        term: its largest term there; "" where the assumptions alone say less.
        instance: what happens there, in words.
    """

    factor: float
    round: int
    version: str
    term: str
    instance: str

    @property
    def words(self) -> str:
        """The whole in a line."""
        where = f" at T = {self.round} ({self.version}"
        where += f"; largest term: {self.term})" if self.term else ")"
        return f"at most {self.factor:.2g} times above an instance,{where}"


USUAL = Constants(
    S=1, mu=0.1, sigma2=0.5, G2=1, R2=1, eps2=1, Gamma=5, weights=(0.5, 0.5), tau=2,
    tau_server=2, participation=1, initial_distance2=100, initial_gap=5,
    initial_distance2_client=100, initial_distance2_server=100,
)  # fmt: skip
"""Two clients, kappa = 10, noise of half the squared gradient."""
AT = (1, 10, 100, 1000, 10_000)


def still_open(
    case: Case, constants: Constants = USUAL, rounds: Sequence[int] = AT
) -> Open:
    """Return how far, over the rounds, the best bound is from an instance.

    Both are meant at the best bound's learning rate; the bound is clipped at what the
    assumptions give without it (`trivial`).

    Args:
        case: of a theorem.
        constants: of the setting; equal weights.
        rounds: integers T.

    Returns:
        The largest factor and where it is.

    Raises:
        ValueError: if there are no rounds.
    """
    found: Best = best(case, constants, rounds)
    factors: list[Open] = []
    for version in dict.fromkeys(found.versions):
        bound, pairs = case.bound(version), zip(rounds, found.versions, strict=True)
        at = np.array([T for T, own in pairs if own == version])
        least, terms = (
            lower_bound(case, constants, at, bound),
            bound.terms(constants, at),
        )
        for k, T in enumerate(at):
            value, known = float(total(terms)[k]), trivial(bound, constants, int(T))
            term = max(terms, key=lambda name: float(terms[name][k]))
            worst = least.values[k]
            factor = float(min(value, known) / worst) if worst else np.inf
            term = term if value <= known else ""
            factors.append(Open(factor, int(T), version, term, least.instances[k]))
    return max(factors, key=lambda one: one.factor)


def trivial(bound: Bound, constants: Constants, T: int) -> float:
    r"""Return what the assumptions alone give for a bound's left side.

    $f-f^*\le\frac{G^2}{2\mu}$ and $\|\nabla f\|^2\le G^2$ at every point where
    gradients are bounded, as the bound has to assume; the values of the start are not,
    for they hold at x^0 only.

    Args:
        bound: whose metric is meant.
        constants: what is absent gives nothing.
        T: number of rounds.

    Returns:
        The value, in the metric's own unit; infinity where nothing is known.
    """
    G2 = constants.G2 if constants.G2 is not None else constants.R2
    if G2 is None or not bound.assumes(BoundedGradients):
        return float(np.inf)
    known = {"gradient": G2}
    if constants.mu:
        known |= {"gap": G2 / (2 * constants.mu)}
        known |= dict.fromkeys(("client", "server"), G2 / constants.mu**2)
    value = known.get(bound.metric.quantity, float(np.inf))
    if not bound.metric.weighted or bound.step_size is None:
        return value
    rates = bound.step_size.schedule(constants)
    return float(value * rates.accumulate(lambda eta: eta, [T])[0] / T)


def left_side(
    run: FederatedRun, metric: Metric, rounds: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the expectation that a metric is along a run, shape (m,).

    Args:
        run: parabolas on the client block, the server's rests; or the other way round
            where the metric is of the server.
        metric: of gaps, gradients or distances.
        rounds: T, shape (m,).

    Returns:
        Exact up to rounding.
    """
    last, side = int(rounds.max()), _side(metric)
    curvature = sum(
        float(a * client.pieces[side].curvature)
        for a, client in zip(run.weights, run.separable, strict=True)
    )
    weight = {"gap": curvature / 2, "gradient": curvature**2}
    values = weight.get(metric.quantity, 1.0) * squares(run, side, last)
    if not metric.weighted:
        return np.asarray(values[rounds])
    sums = np.cumsum(run.client_rate.at(np.arange(last)) * values[:last])
    return np.asarray(sums[rounds - 1] / rounds)


def _side(metric: Metric) -> int:
    """Return the coordinate that an instance moves in: 1 for the server's block."""
    return int(metric.quantity == "server")


def _mirrored(run: FederatedRun) -> FederatedRun:
    """Return a run with its two blocks exchanged."""
    clients = tuple(
        Separable(client.pieces[::-1], client.zeta[::-1]) for client in run.separable
    )
    return replace(run, clients=clients, start=run.start[::-1], box=run.box[::-1])


@lru_cache(maxsize=4096)
def _own(run: FederatedRun) -> Constants:
    """Return the constants of a run; bounds are asked about one at many rates."""
    return run.constants


def _within(run: FederatedRun, constants: Constants) -> bool:
    """Return whether a run's own constants are at most the given ones."""
    own = _own(replace(run, client_rate=ANY, server_rate=ANY))
    pairs = [(getattr(own, name), getattr(constants, name)) for name in LIMITS]
    pairs.append((constants.mu, float(run.mu) * (1 + 1e-9)))
    if constants.sigma2 is not None:
        noises = own.per_client("sigma2"), constants.per_client("sigma2")
        pairs += zip(*noises, strict=True)
    if constants.Gamma is not None:
        pairs.append((own.Gamma, constants.Gamma))
    return all(
        low is None or high is None or low <= high * (1 + 1e-9) for low, high in pairs
    )


def _in_a_plane(
    case: Case, constants: Constants, bound: Bound, schedule: Schedule, last: int
) -> Iterator[Pulled]:
    """Yield two halves of the clients that pull apart, where everyone takes part.

    On the client's block, and on that of SFL-V2's server: all visits to one half come
    before those to the other.
    """
    weights = constants.weights or (1.0,)
    q = constants.per_client("participation") if constants.participation else [1.0]
    halves = not len(weights) % 2 and np.allclose(weights, 1 / len(weights))
    per_step = bound.step_size is not None and bound.step_size.per_step
    if not halves or min(q) < 1 or per_step or not bound.assumes(BoundedGradients):
        return
    tau, at = constants.tau or 1, np.arange(float(last))
    yield from pulled(constants, tau, schedule.client(at))
    if theorem(case.theorem).algorithm == "sfl-v2":
        visits = tau * len(weights) // 2
        yield from pulled(constants, tau, schedule.server(at), visits)


def _instances(
    case: Case, constants: Constants, schedule: Schedule
) -> Iterator[FederatedRun]:
    weights = constants.weights or (1.0,)
    size, tau = len(weights), constants.tau or 1
    if not np.allclose(weights, 1 / size):
        return
    S, mu = constants.S or 1.0, constants.mu or 0.0
    item = theorem(case.theorem)
    q = constants.per_client("participation") if constants.participation else [1.0]
    client, server = _rates(schedule)

    def run(
        clients: tuple[Separable, ...], start: Fraction, box: Box = ()
    ) -> FederatedRun:
        return FederatedRun(
            theorem=case.theorem,
            case=case.name,
            algorithm="sfl-v1" if item.algorithm == "fedavg" else item.algorithm,
            clients=clients,
            weights=(Fraction(1, size),) * size,
            start=(start, ZERO),
            rounds=LONGEST,
            client_rate=client,
            server_rate=server,
            participation=() if min(q) == 1 else tuple(map(_exact, q)),
            tau=tau,
            tau_server=constants.tau_server or tau,
            per_step=schedule.per_step,
            rule="the bound's",
            box=box,
        )

    noises = [[0.0] * size]
    if constants.sigma2 is not None:
        variance = constants.per_client("sigma2")
        noises.append(np.sqrt(variance).tolist())
        second = constants.G2 if constants.G2 is not None else constants.R2
        if second is not None and max(variance) > second / 2:
            noises.append(np.sqrt(np.minimum(variance, second / 2)).tolist())
    low = mu if mu > 0 else S * 1e-6
    for curvature in map(_exact, np.geomspace(low, S, CURVATURES)):
        piece = Piece(curvature=curvature)
        for zeta in noises:
            start = _start(constants, float(curvature), max(zeta))
            clients = (Separable((piece, piece), (_exact(z), ZERO)) for z in zeta)
            yield run(tuple(clients), start)
        if size > 1 and low < curvature:
            clients_, box = _pulled(constants, size, curvature, _exact(low))
            yield run(clients_, ZERO, box)


def _pulled(
    constants: Constants, size: int, steep: Fraction, flat: Fraction
) -> tuple[tuple[Separable, ...], Box]:
    r"""Return clients of two curvatures that pull apart with force g, and their box.

    The steep ones have their centre at $g/\text{steep}$, the edge of the box: with
    rates at most $1/\text{steep}$ no step passes it. The box is as far on the other
    side, where the flat ones go by steps of at most half its width.
    """
    largest = constants.G2 if constants.G2 is not None else constants.eps2 or 0.0
    half = size // 2
    force = _exact(np.sqrt(largest) / 2)
    share = Fraction(half, size - half)
    left = Piece(force / steep, steep), Piece(ZERO, steep)
    right = Piece(-share * force / flat, flat), Piece(ZERO, flat)
    clients = (Separable(left),) * half + (Separable(right),) * (size - half)
    return clients, ((-force / steep, force / steep), (ZERO, ZERO))


def _start(constants: Constants, curvature: float, zeta: float) -> Fraction:
    """Return how far out a parabola may start."""
    second = [G2 for G2 in (constants.G2, constants.R2) if G2 is not None]
    limits = [np.sqrt(max(G2 - zeta**2, 0)) / curvature for G2 in second]
    limits.append(np.inf)
    if constants.initial_gap is not None:
        limits.append(np.sqrt(2 * constants.initial_gap / curvature))
    limits += [
        np.sqrt(value)
        for name in START[1:]
        if (value := getattr(constants, name)) is not None
    ]
    return _exact(min(limits)) if np.isfinite(min(limits)) else ONE


def _rates(schedule: Schedule) -> tuple[Rate, Rate]:
    """Return both sides' learning rates as exact rates c/(o + t) of floats.

    Raises:
        ValueError: if it is of another form.
    """
    found = []
    for side in (schedule.client, schedule.server):
        first, second, late = side(np.array([0.0, 1.0, 1000.0]))
        if first == second:
            found.append(Rate(_exact(first)))
            continue
        offset = second / (first - second)
        if not np.isclose(late, first * offset / (offset + 1000), rtol=1e-6):
            raise ValueError("a rate that is not c/(o + t)")
        found.append(Rate(_exact(first * offset), _exact(offset), ONE))
    return found[0], found[1]


def _exact(value: float) -> Fraction:
    return Fraction(float(value)).limit_denominator(10**12)
