r"""SFL-V2: every client has a model of its own, the server has one and visits them.

At a visit the joint gradient at $(x_{c,n},x_s)$, with the server model from before the
visit, gives both steps (han2024, Algorithm 2):
$$x_s\leftarrow x_s-\frac{\eta^t}{q_n}g_{s,n},\qquad
x_{c,n}\leftarrow x_{c,n}-\eta^tg_{c,n}.$$
The server's steps carry no weight $a_n$, as printed. At the end of the round the client
side is aggregated; the server side already is one model.

- ``interleaved`` (Algorithm 2): at each local step the server visits all participants
  once, in a fresh random order.
- ``client-sequential`` (the released code): each participant makes its $\tau$ steps
  before the next one begins, in a random order drawn once per round.

The loop over visits is a Python loop; a visit serves all replicas at once, each with
a client of its own. Replicas with fewer participants drop out of the last visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sfl_train.algorithms.aggregation import aggregate
from sfl_train.algorithms.algorithm import Algorithm, Ball, Rates, Run, check_cut
from sfl_train.federation import Federation
from sfl_train.optimizer import Memory

Order = Literal["interleaved", "client-sequential"]


@dataclass(frozen=True)
class SFLV2(Algorithm):
    r"""SFL-V2 with $\tau$ local steps.

    Attributes:
        tau: $\tau$, local steps of each participant per round.
        cut: length of the client block in coordinates.
        order: "interleaved" or "client-sequential", see the module.
    """

    tau: int
    cut: int
    order: Order = "interleaved"

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ValueError: if an option is impossible.
        """
        super().__post_init__()
        if self.order not in get_args(Order):
            raise ValueError(
                f"order: expected one of {', '.join(get_args(Order))}, got "
                f"{self.order!r}"
            )

    @property
    def steps(self) -> int:
        """Number of local steps in a round."""
        return self.tau

    def begin(self, federation: Federation, x: Tensor, ball: Ball | None = None) -> Run:
        """Return a run that starts at ``x``, see `Algorithm.begin`.

        Raises:
            ValueError: if the cut lies outside the model.
        """
        check_cut(self.cut, federation)
        return _Run(self, federation, x, ball)


@dataclass(frozen=True)
class _Visits:
    """Who is visited in one local step, in lanes.

    A lane is a replica; lanes are sorted by falling number of participants, so that
    those still visiting are the first ones.

    Attributes:
        client: visited client, shape (V, R).
        model: its row among all client models, ``client * R + replica``, (V, R).
        over_q: $1/q_n$, shape (V, R, 1); None if all are 1.
        draw: its mini-batch, shape (V, R, D, 1), or None.
    """

    client: Tensor
    model: Tensor
    over_q: Tensor | None
    draw: Tensor | None


class _Run:
    def __init__(
        self, sfl: SFLV2, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        N, (d, R) = federation.clients, x.shape
        self.x = x
        self._sfl, self._federation, self._ball = sfl, federation, ball
        self._over_q = 1.0 / torch.tensor(
            federation.participation, dtype=torch.float64
        ).unsqueeze(1)
        self._models = x.new_empty(N * R, sfl.cut)
        self._point = x.new_empty(R, d, 1)
        self._client_memory = Memory(sfl.optimizer, (N * R, sfl.cut), (N * R, 1))
        self._server_memory = Memory(sfl.server, (R, d - sfl.cut), (R, 1))

    def round(self, t: int, rates: Rates) -> None:
        sfl, federation, cut = self._sfl, self._federation, self._sfl.cut
        N, R = federation.clients, federation.replicas
        present = federation.present(t)
        visits = torch.full((R,), N) if present is None else present.sum(0)
        lanes = torch.argsort(visits, descending=True, stable=True)
        turns = torch.arange(int(visits.max())).unsqueeze(1)
        busy = (visits > turns).sum(1).tolist()

        self._models.view(N, R, cut).copy_(self.x[:cut].T)
        self._point[:, cut:, 0] = self.x[cut:, lanes].T
        self._client_memory.begin_round()
        self._server_memory.begin_round()
        server_memory = self._server_memory.pick(lanes)

        steps = self._steps(t, present, lanes)
        for i, v, step in self._schedule(steps, len(busy)):
            self._visit(step, v, busy[v], rates(i), server_memory, lanes)

        self._server_memory.put(lanes, server_memory)
        models = self._models.view(N, R, cut).transpose(1, 2)
        x = torch.empty_like(self.x)
        x[:cut] = aggregate(models, self.x[:cut], federation, present, sfl.aggregation)
        x[cut:, lanes] = self._point[:, cut:, 0].T
        self.x = x

    def _schedule(
        self, steps: Iterator[_Visits], visits: int
    ) -> Iterator[tuple[int, int, _Visits]]:
        if self._sfl.order == "interleaved":
            for i, step in enumerate(steps):
                for v in range(visits):
                    yield i, v, step
        else:
            kept = list(steps)
            for v in range(visits):
                for i, step in enumerate(kept):
                    yield i, v, step

    def _steps(
        self, t: int, present: Tensor | None, lanes: Tensor
    ) -> Iterator[_Visits]:
        federation, R = self._federation, self._federation.replicas
        for i, draw in enumerate(federation.draws(t, self._sfl.tau)):
            if i == 0 or self._sfl.order == "interleaved":
                client = federation.visiting_order(t, i, present)[:, lanes]
            yield _Visits(
                client=client,
                model=client * R + lanes,
                over_q=None if federation.full else self._over_q[client],
                draw=None if draw is None else draw[client, :, lanes].unsqueeze(-1),
            )

    def _visit(
        self,
        step: _Visits,
        v: int,
        busy: int,
        rates: tuple[float, float],
        server_memory: Memory,
        lanes: Tensor,
    ) -> None:
        cut = self._sfl.cut
        client, model = step.client[v, :busy], step.model[v, :busy]
        point = self._point[:busy]
        mine, servers = point[:, :cut, 0], point[:, cut:, 0]
        mine.copy_(self._models.index_select(0, model))
        if self._ball is not None:
            self._ball.see_in(lanes[:busy], point[..., 0])

        draw = None if step.draw is None else step.draw[v, :busy]
        g = self._federation.problem.gradient(point, draw, client)[..., 0]

        memory = self._client_memory.pick(model)
        mine.sub_(memory.direction(mine, g[:, :cut]), alpha=rates[0])
        self._client_memory.put(model, memory)
        self._models.index_copy_(0, model, mine)

        p = server_memory.head(busy).direction(servers, g[:, cut:])
        if step.over_q is not None:
            p.mul_(step.over_q[v, :busy])
        servers.sub_(p, alpha=rates[1])
        if self._ball is not None:
            self._ball.see_in(lanes[:busy], point[..., 0])
