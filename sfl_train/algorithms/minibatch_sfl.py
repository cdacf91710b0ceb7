r"""MiniBatch-SFL: clients have models of their own, the server steps on their average.

At every step i the clients' smashed data form one giant mini-batch for the server
(huang2023, Algorithm 1, eqs. (3)-(5)):
$$w_s^{i+1}=w_s^i-\eta_s^i\frac{\sum_np_n\nabla_{w_s}h(w_s^i;z_n^i)}{\sum_np_n},\qquad
v_{c,n}^{i+1}=w_{c,n}^i-\eta_c^i\nabla_{w_c}f_n(w_n^i;\zeta_n^i),$$
both from the joint gradient at the weights from before the step; after every $\tau$
steps ($EM$ in the paper) the client side is aggregated. A client's gradient is that of
its own mean loss, not divided by the number of clients. The paper has full
participation, where $p_n=a_n$; with participants drawn per round $p_n=I_n^ta_n/q_n$,
and the server does not step in a round without weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from sfl_train.algorithms.aggregation import aggregate, shares, weighted_sum
from sfl_train.algorithms.algorithm import Algorithm, Ball, Rates, Run, check_cut
from sfl_train.federation import Federation
from sfl_train.optimizer import Memory


@dataclass(frozen=True)
class MiniBatchSFL(Algorithm):
    r"""MiniBatch-SFL with $\tau$ steps between aggregations of the client side.

    Attributes:
        tau: $\tau$, steps per round.
        cut: length of the client block in coordinates.
    """

    tau: int
    cut: int

    @property
    def steps(self) -> int:
        """Number of steps in a round."""
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
        self, sfl: MiniBatchSFL, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        N, (d, R) = federation.clients, x.shape
        self.x = x
        self._sfl, self._federation, self._ball = sfl, federation, ball
        self._models = x.new_empty(N, d, R)
        self._client_memory = Memory(sfl.optimizer, (N, sfl.cut, R), (N, 1, R))
        self._server_memory = Memory(sfl.server, (d - sfl.cut, R), (1, R))

    def round(self, t: int, rates: Rates) -> None:
        sfl, federation, cut = self._sfl, self._federation, self._sfl.cut
        present = federation.present(t)
        absent = None if present is None else ~present.unsqueeze(1)
        p, nobody = shares(federation, present), None
        if present is not None:
            total = p.sum(0, keepdim=True)
            nobody = total == 0
            p = p / total.masked_fill(nobody, 1.0)
        models, server = self._models.copy_(self.x), self.x[cut:].clone()
        mine = models[:, :cut]
        self._client_memory.begin_round()
        self._server_memory.begin_round()
        for i, draw in enumerate(federation.draws(t, sfl.tau)):
            eta_client, eta_server = rates(i)
            g = federation.problem.gradient(models, draw)
            mean = weighted_sum(g, p)[cut:]
            own = self._client_memory.direction(mine, g[:, :cut], absent)
            mine.sub_(own, alpha=eta_client)
            averaged = self._server_memory.direction(server, mean, nobody)
            server.sub_(averaged, alpha=eta_server)
            models[:, cut:] = server
            if self._ball is not None:
                self._ball.see(models, absent)
        new = aggregate(models, self.x, federation, present, sfl.aggregation)
        self.x = torch.cat([new[:cut], server])
