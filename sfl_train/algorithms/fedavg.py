r"""FedAvg: every client trains the whole model, the server averages.

In round t every participant starts from $x^t$ and makes $\tau$ steps
$x_n^{t,i+1}=x_n^{t,i}-\eta^tg_n(x_n^{t,i})$; then the models are aggregated.
(McMahan et al., AISTATS 2017; the "FL" of the papers.)
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sfl_train.algorithms.aggregation import aggregate
from sfl_train.algorithms.algorithm import Algorithm, Ball, Rates, Run
from sfl_train.algorithms.local import step
from sfl_train.federation import Federation
from sfl_train.optimizer import Memory


@dataclass(frozen=True)
class FedAvg(Algorithm):
    r"""FedAvg with $\tau$ local steps.

    There is no cut, hence one learning rate and one optimizer: a schedule whose sides
    differ, or a server optimizer, is refused.

    Attributes:
        tau: $\tau$, local steps per round.
    """

    tau: int

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ValueError: if an option is impossible.
        """
        super().__post_init__()
        if self.server != self.optimizer:
            raise ValueError(
                "server_optimizer: FedAvg has no server side, leave it out"
            )

    @property
    def steps(self) -> int:
        """Number of local steps in a round."""
        return self.tau

    def begin(self, federation: Federation, x: Tensor, ball: Ball | None = None) -> Run:
        """Return a run that starts at ``x``, see `Algorithm.begin`."""
        return _Run(self, federation, x, ball)


class _Run:
    def __init__(
        self, fedavg: FedAvg, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        N, (d, R) = federation.clients, x.shape
        self.x = x
        self._fedavg, self._federation, self._ball = fedavg, federation, ball
        self._models = x.new_empty(N, d, R)
        self._memory = Memory(fedavg.optimizer, (N, d, R), (N, 1, R))

    def round(self, t: int, rates: Rates) -> None:
        federation, models = self._federation, self._models
        present = federation.present(t)
        absent = None if present is None else ~present.unsqueeze(1)
        models.copy_(self.x)
        self._memory.begin_round()
        for i, draw in enumerate(federation.draws(t, self._fedavg.tau)):
            eta, other = rates(i)
            if eta != other:
                raise ValueError(
                    "learning rate: FedAvg has no sides, expected one rate in round "
                    f"{t}, got {eta:g} (client side) and {other:g} (server side)"
                )
            step(federation.problem, models, draw, self._memory, (eta, eta), 0, absent)
            if self._ball is not None:
                self._ball.see(models)
        rule = self._fedavg.aggregation
        self.x = aggregate(models, self.x, federation, present, rule)
