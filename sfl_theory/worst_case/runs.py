r"""Runs as points: where the clients are evaluated, and in which coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfl_theory.worst_case.certificate import STAR, Atom, Point, Space
from sfl_theory.worst_case.setting import ONE, ZERO, Setting
from sfl_theory.worst_case.vectors import Coordinates, Vector


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


@dataclass(frozen=True)
class Run:
    """A run's evaluations in the order in which they happen, and its models.

    Attributes:
        coordinates: of all vectors.
        steps: evaluations at local points, in order.
        models: x(0), ..., x(T).
    """

    coordinates: Coordinates
    steps: tuple[Evaluation, ...]
    models: tuple[Vector, ...]


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


def play(setting: Setting) -> Run:
    """Return the run of a setting.

    Args:
        setting: with SFL-V2's order of visits.

    Returns:
        The evaluations and the models, as vectors.
    """
    place = coordinates(setting)
    x = Vector() if setting.mu is None else place.common(Atom("start"))
    steps: list[Evaluation] = []
    models = [x]
    for t in range(setting.rounds):
        if setting.visits is None:
            x = _round(setting, place, t, x, steps)
        else:
            x = _visited(setting, place, t, x, steps)
        models.append(x)
    return Run(place, tuple(steps), tuple(models))


def _round(
    setting: Setting, place: Coordinates, t: int, x: Vector, steps: list[Evaluation]
) -> Vector:
    """Return the model after round t, played from x."""
    rates = {
        "both": (setting.tau, setting.client_steps[t]),
        "client": (setting.tau, setting.client_steps[t]),
        "server": (setting.late, setting.server_steps[t]),
    }
    shared = setting.algorithm in {"sfl-v2", "minibatch-sfl"}
    local = dict.fromkeys(place.clients, x)
    server = _side(x, "server")
    for visits in _stages(setting, place):
        moves: dict[int | None, Vector] = {}
        for n, i in visits:
            here = _side(local[n], "client").plus(server) if shared else local[n]
            steps.append(_evaluated(setting, place, n, Point("local", t, i), here))
            moves[n] = _moved(place, steps[-1])

            def rate(space: Space, i: int = i) -> Fraction:
                period, eta = rates[space.side]
                return -eta if i < period else ZERO

            local[n] = local[n].plus(moves[n], rate)
            if setting.algorithm == "sfl-v2":
                weighted = setting.server_moves == "weighted"
                share = place.share(n) if weighted else ONE
                eta = -share * setting.server_steps[t]
                server = server.plus(_side(moves[n], "server"), eta)
        if setting.algorithm == "minibatch-sfl":
            mean = place.average([moves[n] for n in place.clients])
            eta = -setting.server_steps[t]
            server = server.plus(_side(mean, "server"), eta)
    mean = place.average([local[n] for n in place.clients])
    return _side(mean, "client").plus(server) if shared else mean


def _visited(
    setting: Setting, place: Coordinates, t: int, x: Vector, steps: list[Evaluation]
) -> Vector:
    """Return SFL-V2's model after round t, for all N and every order at once.

    Raises:
        ValueError: if the setting is no such run.
    """
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
        steps.append(_evaluated(setting, place, None, point, here))
        move = _moved(place, steps[-1])
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
    setting: Setting, place: Coordinates
) -> Iterator[Sequence[tuple[int | None, int]]]:
    """Yield what happens at once: (client, local step)."""
    local = range(max(setting.tau, setting.late))
    if setting.algorithm != "sfl-v2" or setting.order == "interleaved":
        for i in local:
            yield [(n, i) for n in place.clients]
    else:
        for n in place.clients:
            yield from ([(n, i)] for i in local)


def _evaluated(
    setting: Setting, place: Coordinates, n: int | None, point: Point, x: Vector
) -> Evaluation:
    noise = Atom("noise", n, point) if setting.sigma2 else None
    return Evaluation(n, point, x, gradient(setting, place, n, point), noise)


def _moved(place: Coordinates, at: Evaluation) -> Vector:
    """Return the stochastic gradient."""
    return at.gradient.plus(place.own(at.noise)) if at.noise else at.gradient


def _side(vector: Vector, side: str) -> Vector:
    return vector.within(lambda space: space.side == side)
