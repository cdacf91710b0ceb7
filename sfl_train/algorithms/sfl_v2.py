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
a client of its own. Replicas with fewer participants drop out of the last visits. What
a visit does is in `sfl_train.algorithms.visits`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from sfl_train.algorithms.aggregation import aggregate
from sfl_train.algorithms.algorithm import Algorithm, Ball, Rates, Run, check_cut
from sfl_train.algorithms.visits import BySides, OneByOne, Row, Visitor
from sfl_train.federation import Federation
from sfl_train.problems.halves import Halved

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


class _Run:
    def __init__(
        self, sfl: SFLV2, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        self.x = x
        self._sfl, self._federation = sfl, federation
        self._visitor = _visitor(sfl, federation, x, ball)

    def round(self, t: int, rates: Rates) -> None:
        sfl, federation, visitor = self._sfl, self._federation, self._visitor
        N, R = federation.clients, federation.replicas
        present = federation.present(t)
        visits = torch.full((R,), N) if present is None else present.sum(0)
        lanes = torch.argsort(visits, descending=True, stable=True)
        turns = torch.arange(int(visits.max())).unsqueeze(1)
        busy = (visits > turns).sum(1).tolist()

        visitor.begin_round(self.x, lanes, busy)
        rows = self._rows(t, present, lanes)
        if sfl.order == "interleaved":
            for i, row in enumerate(rows):
                visitor.across(row, rates(i))
        else:
            visitor.along(list(rows), [rates(i) for i in range(sfl.tau)])
        models, server = visitor.end_round()
        front = self.x[: sfl.cut]
        front = aggregate(models, front, federation, present, sfl.aggregation)
        self.x = torch.cat([front, server])

    def _rows(self, t: int, present: Tensor | None, lanes: Tensor) -> Iterator[Row]:
        federation, tau = self._federation, self._sfl.tau
        fresh = self._sfl.order == "interleaved"
        orders = federation.visiting_orders(t, tau if fresh else 1, present)
        for i, draw in enumerate(federation.draws(t, tau)):
            if i == 0 or fresh:
                client = next(orders)[:, lanes]
            yield Row(client, draw)


def _visitor(
    sfl: SFLV2, federation: Federation, x: Tensor, ball: Ball | None
) -> Visitor:
    problem, optimizers = federation.problem, (sfl.optimizer, sfl.server)
    if isinstance(problem, Halved) and all(o.plain for o in optimizers):
        halves = problem.halves(sfl.cut)
        if halves is not None:
            return BySides(halves, federation, x, ball)
    return OneByOne(optimizers, sfl.cut, federation, x, ball)
