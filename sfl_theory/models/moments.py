r"""Moments of a ``FederatedRun`` round by round, and its expected course.

While separable clients stay where their pieces are parabolas, every coordinate of a
round is affine in itself with random coefficients: client n's step with
$\rho=\eta\kappa$ is $x\leftarrow(1-\rho)x+\rho c\mp\eta\zeta$. So mean m and mean
square s of $x_j-x_j^*$ obey $m'=p_0+p_1m$, $s'=r_0+r_1m+r_2s$ with coefficients that
are polynomials in the learning rate; `course` follows them, all rounds at once.
Float64, for pictures and texts: what decides a claim is the kernel's own evaluation.
A single bowl without noise is followed as it is. The right side of a course is the
printed ``Bound`` with the run's constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import compress, permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfl_theory import affine
from sfl_theory.bound import Bound, total
from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.functions import Bowl
from sfl_theory.registry import theorem

Real = float | NDArray[np.float64]
"""A number, or one for each round."""

MOST_VISITED = 5
"""Orders of more clients than this are not enumerated."""

WEIGHTED = frozenset({"weighted_gradient", "weighted_gap"})
"""Metrics that are averages over the rounds, weighted by the learning rate."""


@dataclass(frozen=True)
class Moved:
    r"""What a step makes of mean m and mean square s.

    Attributes:
        mean: $p_0,p_1$.
        square: $r_0,r_1,r_2$.
    """

    mean: tuple[Real, Real]
    square: tuple[Real, Real, Real]

    @classmethod
    def by(cls, keep: Real, pull: Real, variance: Real) -> Moved:
        r"""Return that of $x\leftarrow\text{keep}\,x+\text{pull}$ plus noise."""
        square = pull * pull + variance, 2 * keep * pull, keep * keep
        return cls((pull, keep), square)

    def then(self, other: Moved) -> Moved:
        """Return this one followed by an independent one."""
        (p0, p1), (r0, r1, r2) = self.mean, self.square
        (P0, P1), (R0, R1, R2) = other.mean, other.square
        square = R0 + R1 * p0 + R2 * r0, R1 * p1 + R2 * r1, R2 * r2
        return Moved((P0 + P1 * p0, P1 * p1), square)

    @property
    def rows(self) -> tuple[Real, ...]:
        """All five coefficients."""
        return (*self.mean, *self.square)


def one_round(run: FederatedRun, j: int, etas: Sequence[Real]) -> Moved:
    r"""Return what a round makes of the moments of $x_j-x_j^*$.

    Args:
        run: separable.
        j: the coordinate.
        etas: its learning rate at each local step of the round.

    Returns:
        The coefficients.

    Raises:
        ValueError: for a kind of run whose moments are not known.
    """
    members = [
        _Member(
            a=float(a),
            q=float(q),
            k=float(p.curvature),
            c=float(p.centre - run.minimiser[j]),
            zeta=float(client.zeta[j]),
        )
        for a, q, p, client in zip(
            run.weights, run.q, run.columns[j], run.separable, strict=True
        )
    ]
    if run.aggregation != "updates":
        raise ValueError(f"moments under aggregation of {run.aggregation}")
    if run.algorithm == "sfl-v2" and j >= run.cut:
        return _visits(members, etas, run.order)
    if run.algorithm == "minibatch-sfl" and j >= run.cut:
        return _mean_steps(members, etas)
    return _aggregated(members, etas)


@dataclass(frozen=True)
class _Member:
    """A client's share in one coordinate: weight, q, curvature, centre, noise."""

    a: float
    q: float
    k: float
    c: float
    zeta: float


def _aggregated(members: list[_Member], etas: Sequence[Real]) -> Moved:
    r"""Local steps of every participant, then $x+\sum_nI_n\frac{a_n}{q_n}(x_n-x)$.

    Locally $v_n=x_n-x=(\alpha_n-1)x+(1-\alpha_n)c_n$ plus noise, so the update is
    $\sum_na_nv_n$ in the mean over participation, with the variance
    $\sum_na_n^2(\frac1{q_n}-1)v_n^2$.

    Returns:
        The coefficients.
    """
    keep, shift, variance = _reals(1, 0, 0)
    spread: list[list[Real]] = []
    for n in members:
        kept, noise = _reals(1, 0)
        for eta in etas:
            factor = 1 - eta * n.k
            kept, noise = kept * factor, noise * factor * factor + (eta * n.zeta) ** 2
        keep, shift = keep + n.a * (kept - 1), shift + n.a * (1 - kept) * n.c
        variance = variance + n.a * n.a / n.q * noise
        if n.q != 1:
            share = n.a * n.a * (1 / n.q - 1)
            alone = Moved.by(kept - 1, (1 - kept) * n.c, 0)
            spread.append([share * row for row in alone.square])
    whole = Moved.by(keep, shift, variance)
    r0, r1, r2 = (sum(row) for row in zip(whole.square, *spread, strict=True))
    return Moved(whole.mean, (r0, r1, r2))


def _visits(members: list[_Member], etas: Sequence[Real], order: str) -> Moved:
    """Visits of the server to all participants, over all orders and participations.

    Returns:
        The coefficients.

    Raises:
        ValueError: if there are too many clients.
    """
    if len(members) > MOST_VISITED:
        raise ValueError(f"orders of more than {MOST_VISITED} clients")
    chances: list[tuple[float, Moved]] = []
    for present in product(*((True,) if n.q == 1 else (True, False) for n in members)):
        chance = 1.0
        for here, n in zip(present, members, strict=True):
            chance = chance * (n.q if here else 1 - n.q)
        orders = [*permutations(compress(members, present))]
        turns = [[eta] for eta in etas] if order == "interleaved" else [etas]
        chances.append((chance, _chain(_in_any_order(orders, one) for one in turns)))
    return _mixed(chances)


def _in_any_order(orders: Sequence[tuple[_Member, ...]], etas: Sequence[Real]) -> Moved:
    visits = ([_visit(n, eta) for n in one for eta in etas] for one in orders)
    return _mixed([(1 / len(orders), _chain(one)) for one in visits])


def _visit(n: _Member, eta: Real) -> Moved:
    length = eta / n.q
    return Moved.by(1 - length * n.k, length * n.k * n.c, (length * n.zeta) ** 2)


def _mean_steps(members: list[_Member], etas: Sequence[Real]) -> Moved:
    """Server steps on the clients' mean gradient, everyone taking part.

    Returns:
        The coefficients.

    Raises:
        ValueError: under partial participation.
    """
    if any(n.q != 1 for n in members):
        raise ValueError("MiniBatch-SFL under partial participation")
    curvature = sum(n.a * n.k for n in members)
    force = sum(n.a * n.k * n.c for n in members)
    noise = sum((n.a * n.zeta) ** 2 for n in members)
    return _chain(
        Moved.by(1 - eta * curvature, eta * force, eta * eta * noise) for eta in etas
    )


def _chain(steps: Iterable[Moved]) -> Moved:
    return reduce(Moved.then, steps, Moved((0, 1), (0, 0, 1)))


def _mixed(chances: list[tuple[float, Moved]]) -> Moved:
    """Return the mean of several maps with their probabilities."""
    p0, p1, r0, r1, r2 = (
        sum(chance * row for (chance, _), row in zip(chances, column, strict=True))
        for column in zip(*(moved.rows for _, moved in chances), strict=True)
    )
    return Moved((p0, p1), (r0, r1, r2))


def _reals(*values: float) -> tuple[Real, ...]:
    return values


def printed(run: FederatedRun) -> Bound:
    """Return the printed bound that a run speaks of."""
    return theorem(run.theorem).case(run.case).bound("printed")


def measured(run: FederatedRun) -> tuple[Fraction, ...]:
    r"""Return the weights of $\mathbb E(x_j-x_j^*)^2$ in the claim's metric."""
    curvatures = [
        sum((a * p.curvature for a, p in zip(run.weights, c, strict=True)), Fraction(0))
        for c in run.columns
    ]
    sides = [j < run.cut for j in range(len(run.start))]
    chosen: dict[str, list[Fraction]] = {
        "objective_gap": [k / 2 for k in curvatures],
        "weighted_gap": [k / 2 for k in curvatures],
        "weighted_gradient": [k * k for k in curvatures],
        "client_distance": [Fraction(own) for own in sides],
        "server_distance": [Fraction(not own) for own in sides],
    }
    return tuple(chosen[printed(run).metric.key])


def resting(run: FederatedRun, j: int) -> bool:
    """Return whether a coordinate starts at every client's minimiser, without noise."""
    return (
        run.offsets[j] == 0
        and all(piece.centre == run.start[j] for piece in run.columns[j])
        and not any(client.zeta[j] for client in run.clients)
    )


def curved(run: FederatedRun) -> bool:
    """Return whether every piece is a parabola on the box of the iterates."""
    if all(piece.kink is None for column in run.columns for piece in column):
        return True
    return all(
        piece.kink is None
        or max(abs(side - piece.centre) for side in sides) <= piece.kink
        for column, sides in zip(run.columns, run.domain, strict=True)
        for piece in column
    )


def pull(run: FederatedRun, j: int) -> Fraction:
    r"""Return the largest share of the way to its targets that a step can go.

    A step of client n goes the part $\eta\kappa$ of the way from $x_j$ to
    $c\mp\zeta/\kappa$. At most 1 keeps a box that holds start and targets: a visit of
    SFL-V2's server goes $\eta\kappa/q_n$ of the way, an aggregation
    $\sum_n\frac{a_n}{q_n}(1-(1-\eta\kappa)^\tau)$. No learning rate grows, so the
    first one decides.

    Args:
        run: separable, updates aggregated.
        j: the coordinate.

    Returns:
        The share; above 1 also where a single local step overshoots.
    """
    rate, steps = side_of(run, j)
    members = [*zip(run.weights, run.q, run.columns[j], strict=True)]
    shares = [rate(0) * piece.curvature for _, _, piece in members]
    if run.algorithm == "sfl-v2" and j >= run.cut:
        return max(share / q for share, (_, q, _) in zip(shares, members, strict=True))
    whole = sum(
        a / q * (1 - (1 - share) ** steps)
        for share, (a, q, _) in zip(shares, members, strict=True)
    )
    return max(*shares, Fraction(whole))


def side_of(run: FederatedRun, j: int) -> tuple[Rate, int]:
    """Return learning rate and local steps per round of a coordinate."""
    if j < run.cut:
        return run.client_rate, run.tau
    own = run.algorithm == "sfl-v1"
    return run.server_rate, run.tau_server if own else run.tau


# Both sides of a claim on a ``FederatedRun``, in float64, for pictures and texts -----


def expected(run: FederatedRun, rounds: ArrayLike) -> NDArray[np.float64]:
    """Return the left side of the claim at some rounds, in float64.

    Args:
        run: its iterates must stay where pieces are parabolas; bowls: one client,
            nothing drawn.
        rounds: T, at least the metric's first round, shape (m,).

    Returns:
        Values of shape (m,).

    Raises:
        ValueError: if the run is not of that kind.
    """
    wanted = np.asarray(rounds, dtype=np.int64)
    last = int(wanted.max())
    if run.columns:
        if not curved(run):
            raise ValueError("the iterates leave the part where pieces are parabolas")
        values = np.zeros(last + 1)
        for j, weight in enumerate(measured(run)):
            if weight and not resting(run, j):
                values += float(weight) * squares(run, j, last)
    else:
        values = _descent(run, last)
    if printed(run).metric.key not in WEIGHTED:
        return np.asarray(values[wanted])
    sums = np.cumsum(run.client_rate.at(np.arange(last)) * values[:last])
    return np.asarray(sums[wanted - 1] / wanted)


def squares(run: FederatedRun, j: int, last: int) -> NDArray[np.float64]:
    r"""Return $\mathbb E(x_j^t-x_j^*)^2$, t = 0..last; infinity where it overflows."""
    (rate, steps), t = side_of(run, j), np.arange(last)
    if run.per_step:
        etas = [rate.at(t * run.tau + i) for i in range(steps)]
    else:
        etas = [rate.at(t)] * steps
    rows = (
        np.broadcast_to(np.asarray(row, dtype=np.float64), last)
        for row in one_round(run, j, etas).rows
    )
    p0, p1, r0, r1, r2 = rows
    start = float(run.offsets[j])
    linear = np.array([[p1, np.zeros(last)], [r1, r2]])
    with np.errstate(over="ignore", invalid="ignore"):
        found = affine.course(linear, np.array([p0, r0]), np.array([start, start**2]))
    return np.asarray(np.nan_to_num(found[1], nan=np.inf, posinf=np.inf))


def _descent(run: FederatedRun, last: int) -> NDArray[np.float64]:
    """Return the metric of a single bowl before it is averaged, rounds 0..last.

    Raises:
        ValueError: if something is drawn, or sides or rates need more than descent.
    """
    (bowl,) = run.clients if len(run.clients) == 1 else (None,)
    if not isinstance(bowl, Bowl) or not run.deterministic or run.tau != run.tau_server:
        raise ValueError("bowls: one client, no draws and one tau are needed")
    H, key = np.array(bowl.H, dtype=np.float64), printed(run).metric.key
    steps = np.arange(last * run.tau)
    at = steps if run.per_step else steps // run.tau
    client, server = run.client_rate.at(at), run.server_rate.at(at)
    e = np.array(run.offsets, dtype=np.float64)
    own = np.arange(e.size) < run.cut
    course = [e]
    for i, (ours, theirs) in enumerate(zip(client, server, strict=True), start=1):
        e = e - np.where(own, ours, theirs) * (H @ e)
        if i % run.tau == 0:
            course.append(e)
    x = np.array(course)
    if key in {"objective_gap", "weighted_gap"}:
        return np.asarray(((x @ H) * x).sum(1) / 2)
    if key == "weighted_gradient":
        return np.asarray(((x @ H) ** 2).sum(1))
    side = own if key == "client_distance" else ~own
    return np.asarray((x[:, side] ** 2).sum(1))


def right_side(run: FederatedRun, rounds: ArrayLike) -> NDArray[np.float64]:
    """Return the printed bound with the run's constants and rates, shape (m,)."""
    return total(printed(run).formula(run.constants, rounds, run.schedule))


def crossing(run: FederatedRun) -> int:
    """Return the first T at which the expected left side exceeds the printed bound.

    Args:
        run: a refuting one.

    Returns:
        T, at most the run's.

    Raises:
        ValueError: if there is none up to the run's T.
    """
    rounds = np.arange(1, run.rounds + 1)
    above = expected(run, rounds) > right_side(run, rounds)
    if not above.any():
        raise ValueError(f"{run.theorem}: the bound holds up to T = {run.rounds}")
    return int(rounds[np.argmax(above)])


def course(
    run: FederatedRun, last: int | None = None, count: int = 200
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return both sides over the rounds, for pictures.

    Args:
        run: a refuting one.
        last: the last round; None: ten times the crossing, at least the run's T.
        count: how many rounds, about evenly spread in log T.

    Returns:
        Rounds, left and right side, shape (m,) each.
    """
    end = max(10 * crossing(run), run.rounds) if last is None else last
    rounds = spread(end, count)
    return rounds, expected(run, rounds), right_side(run, rounds)


def spread(last: int, count: int) -> NDArray[np.int64]:
    """Return at most ``count`` rounds from 1 to ``last``, evenly spread in log T."""
    return np.unique(np.geomspace(1, last, count).round().astype(np.int64))
