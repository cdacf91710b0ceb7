r"""Runs as points: where the clients are evaluated, and in which coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfl_theory.worst_case.certificate import STAR, Atom, Point, Space
from sfl_theory.worst_case.scenarios import Outcome, World, merged, outcomes
from sfl_theory.worst_case.setting import ONE, ZERO, Setting
from sfl_theory.worst_case.vectors import Coordinates, Key, Vector


@dataclass(frozen=True)
class Evaluation:
    """A client's function at a point.

    Attributes:
        client: n; None: every client, with all N at once.
        point: its name.
        x: where it lies, relative to x* (to x(0) without convexity).
        gradient: of the client there.
        noise: what the step adds to the gradient, if noise is drawn there.
    """

    client: int | None
    point: Point
    x: Vector
    gradient: Vector
    noise: Atom | None = None

    @property
    def drawn(self) -> Point:
        """The point for which noise is drawn; scenarios that meet share gradients."""
        return self.point if self.noise is None else self.noise.point or self.point


@dataclass(frozen=True)
class Run:
    """A run's evaluations in the order in which they happen, and its models.

    Attributes:
        coordinates: of all vectors.
        steps: evaluations at local points, in order.
        worlds: what x(0), ..., x(T) may be, with probabilities.
    """

    coordinates: Coordinates
    steps: tuple[Evaluation, ...]
    worlds: tuple[tuple[World, ...], ...]

    @property
    def models(self) -> tuple[Vector, ...]:
        """x(0), ..., x(T), where nothing is enumerated."""
        return tuple(one.x for (one,) in self.worlds)


def coordinates(setting: Setting) -> Coordinates:
    """Return the spaces of a setting: one side where both sides move alike."""
    alike = (
        setting.algorithm in {"fedavg", "sfl-v1"}
        and setting.client_steps == setting.server_steps
        and setting.tau == setting.late
    )
    sides: tuple[Literal["both", "client", "server"], ...]
    sides = ("both",) if alike else ("client", "server")
    return Coordinates(sides, setting.shares, setting.interchangeable)


def gradient(
    setting: Setting, place: Coordinates, client: int | None, point: Point
) -> Vector:
    r"""Return a client's gradient as a vector.

    At x* it is an atom too, but $\sum_na_n\nabla F_n(x^*)=0$ leaves one to be
    written by the others', and no mean; without heterogeneity it is 0.
    """
    if point != STAR:
        return place.own(Atom("gradient", client, point))
    if setting.zeta2 == 0:
        return Vector()
    if place.everyone:
        whole = place.own(Atom("gradient", None, STAR))
        return whole.within(lambda space: space.part == "deviation")
    last = len(place.shares) - 1
    if client != last:
        return place.own(Atom("gradient", client, STAR))
    total = Vector()
    for n in range(last):
        share = -place.shares[n] / place.shares[last]
        total = total.plus(place.own(Atom("gradient", n, STAR)), share)
    return total


def play(setting: Setting, apart: bool = False) -> Run:
    """Return the run of a setting.

    Args:
        setting: with SFL-V2's order of visits.
        apart: whether noise may differ where only who takes part does.

    Returns:
        The evaluations and the models, as vectors.
    """
    place = coordinates(setting)
    x = Vector() if setting.mu is None else place.common(Atom("start"))
    steps = _Steps(setting, place, apart)
    worlds: list[tuple[World, ...]] = [(World(ONE, x),)]
    several = [*outcomes(setting)]
    for t in range(setting.rounds):
        after = []
        for world in worlds[-1]:
            for k, outcome in enumerate(several):
                past = (*world.past, k) if setting.enumerated else ()
                if setting.visits is None:
                    x = _round(steps, world, t, outcome, past)
                else:
                    x = _visited(steps, t, world.x)
                total = world.total
                if setting.metric == "gap" and setting.reading == "average":
                    total = total.plus(world.x)
                after.append(World(world.chance * outcome.chance, x, past, total))
        worlds.append(merged(after))
    return Run(place, tuple(steps.made), tuple(worlds))


class _Steps:
    """The evaluations at local points; scenarios that meet share them."""

    def __init__(self, setting: Setting, place: Coordinates, apart: bool) -> None:
        self.setting, self.place, self.apart = setting, place, apart
        self.made: list[Evaluation] = []
        self.gradients: dict[tuple[int | None, Key], Point] = {}
        self.known: dict[object, Evaluation] = {}

    def at(self, n: int | None, point: Point, x: Vector) -> Evaluation:
        """Return the evaluation of a client at a point, made if it is new."""
        shared = self.setting.enumerated
        past = point.past if self.apart else None
        where = (n, point.t, point.i, x.key, past) if shared else None
        if where in self.known:
            return self.known[where]
        noise = Atom("noise", n, point) if self.setting.sigma2 else None
        if shared:
            point = self.gradients.setdefault((n, x.key), point)
        slope = gradient(self.setting, self.place, n, point)
        self.made.append(Evaluation(n, point, x, slope, noise))
        if where:
            self.known[where] = self.made[-1]
        return self.made[-1]


def _round(
    steps: _Steps, world: World, t: int, outcome: Outcome, past: tuple[int, ...]
) -> Vector:
    """Return the model after round t, played from a world."""
    setting, place, x = steps.setting, steps.place, world.x
    rates = {
        "both": (setting.tau, setting.client_steps[t]),
        "client": (setting.tau, setting.client_steps[t]),
        "server": (setting.late, setting.server_steps[t]),
    }
    present = place.clients if outcome.present is None else outcome.present
    shared = setting.algorithm in {"sfl-v2", "minibatch-sfl"}
    local = dict.fromkeys(place.clients, x)
    server = _side(x, "server")
    for visits in _stages(setting, t, present):
        moves: dict[int | None, Vector] = {}
        for n, i in visits:
            here = _side(local[n], "client").plus(server) if shared else local[n]
            step = steps.at(n, Point("local", t, i, past), here)
            moves[n] = _moved(place, step, outcome.signs.get((n or 0, i), 1))

            def rate(space: Space, i: int = i) -> Fraction:
                period, eta = rates[space.side]
                return -eta if i < period else ZERO

            local[n] = local[n].plus(moves[n], rate)
            if setting.algorithm == "sfl-v2":
                weighted = setting.server_moves == "weighted"
                share = place.share(n) if weighted else ONE
                eta = -share / setting.chance(n or 0) * setting.server_steps[t]
                server = server.plus(_side(moves[n], "server"), eta)
        if setting.algorithm == "minibatch-sfl" and moves:
            mean = _mean(setting, place, moves)
            server = server.plus(_side(mean, "server"), -setting.server_steps[t])
    mean = x
    if setting.partial:
        for n in present:
            share = place.share(n) / setting.chance(n or 0)
            mean = mean.plus(local[n].plus(x, -ONE), share)
    else:
        mean = place.average([local[n] for n in place.clients])
    return _side(mean, "client").plus(server) if shared else mean


def _mean(
    setting: Setting, place: Coordinates, moves: Mapping[int | None, Vector]
) -> Vector:
    r"""Return MiniBatch-SFL's $\sum_np_ng_n/\sum_np_n$, $p_n=I_na_n/q_n$."""
    if not setting.partial:
        return place.average([moves[n] for n in place.clients])
    parts = {n: place.share(n) / setting.chance(n or 0) for n in moves}
    mean, whole = Vector(), sum(parts.values(), ZERO)
    for n, part in parts.items():
        mean = mean.plus(moves[n], part / whole)
    return mean


def _visited(steps: _Steps, t: int, x: Vector) -> Vector:
    """Return SFL-V2's model after round t, for all N and every order at once.

    Raises:
        ValueError: if the setting is no such run.
    """
    setting, place = steps.setting, steps.place
    visits, interleaved = setting.visits, setting.order == "interleaved"
    if visits is None:
        raise ValueError("a run without visits")
    eta = setting.server_steps[t]
    local, server = x, _side(x, "server")
    whole = Vector()
    for i in range(setting.tau):
        point = Point("local", t, i)
        if interleaved or not i:
            lag = _side(place.own(Atom("lag", None, point)), "server")
        own = server if interleaved else _side(local, "server")
        here = _side(local, "client").plus(own).plus(lag, -eta * visits.count)
        move = _moved(place, steps.at(None, point, here))
        local = local.plus(_side(move, "client"), -setting.client_steps[t])
        local = local.plus(_side(move, "server"), -eta)
        whole = whole.plus(_side(move, "server"))
        if interleaved or i == setting.tau - 1:
            mean = place.mean_part(whole)
            if visits.uneven:
                off = place.common(Atom("uneven", None, point))
                mean = mean.plus(_side(off, "server"))
            server = server.plus(mean, -eta * visits.count)
            whole = Vector()
    return _side(place.mean_part(local), "client").plus(server)


def _stages(
    setting: Setting, t: int, present: Sequence[int | None]
) -> Iterator[Sequence[tuple[int | None, int]]]:
    """Yield what happens at once: (client, local step)."""
    local = range(max(setting.tau, setting.late))
    if setting.algorithm != "sfl-v2":
        for i in local:
            yield [(n, i) for n in present]
    elif setting.order == "interleaved":
        for i in local:
            yield [(n, i) for n in setting.turn(t, i) if n in present]
    else:
        for n in setting.turn(t, 0):
            yield from ([(n, i)] for i in local if n in present)


def _moved(place: Coordinates, at: Evaluation, sign: int = 1) -> Vector:
    """Return the stochastic gradient."""
    if at.noise is None:
        return at.gradient
    return at.gradient.plus(place.own(at.noise), Fraction(sign))


def _side(vector: Vector, side: str) -> Vector:
    return vector.within(lambda space: space.side == side)
