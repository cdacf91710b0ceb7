r"""SFL-V1: every client has a server-side model of its own; both sides are averaged.

A local step of client n is the joint gradient step of the composed model
$[x_{c,n};x_{s,n}]$: its forward pass, the server's backward pass and step, and the
client's backward pass with the gradient of the smashed data use the weights from
before the step on both sides (han2024, Algorithm 1).

For $\tau\ne\tilde\tau$ the paper has two clocks:

- ``analysis`` (App. C.2, and all proofs). In a round the client side makes $\tau$ steps
  and the server side $\tilde\tau$, both counted from the start of the round. The paper
  does not say at which point of the other side the gradients are taken once one side
  is done; here it keeps its last local value until the round ends, and then both
  sides are aggregated.
- ``algorithm`` (Algorithm 1). Both sides step at every iteration; the client side is
  aggregated after every $\tau$-th and the server side after every $\tilde\tau$-th
  iteration, counted from the start of the run. (Printed is ``i % tau = 0`` with i from
  0, which would aggregate after the first iteration and then be one late for ever.)
  A round is $\max\{\tau,\tilde\tau\}$ iterations and its participants are drawn once;
  an aggregation sums over the participants of the round that it falls in, and gives
  every client the result. What a client has done since its last aggregation is lost
  if it is absent at the next one. The model reported at the end of a round is, on a
  side that was not aggregated just then, $\sum_na_nx_n$ over all clients.

With $\tau=\tilde\tau$ the clocks are one, and the result is FedAvg's to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from torch import Tensor

from sfl_train.algorithms.aggregation import aggregate, shares, weighted_sum
from sfl_train.algorithms.algorithm import Algorithm, Ball, Rates, Run, check_cut
from sfl_train.algorithms.local import step
from sfl_train.federation import Federation
from sfl_train.optimizer import Memory

Clock = Literal["analysis", "algorithm"]


@dataclass(frozen=True)
class SFLV1(Algorithm):
    r"""SFL-V1 with $\tau$ client-side and $\tilde\tau$ server-side local steps.

    Attributes:
        tau: $\tau$, steps between aggregations of the client side.
        tau_server: $\tilde\tau$, steps between aggregations of the server side.
        cut: length of the client block in coordinates.
        clock: what a round is for $\tau\ne\tilde\tau$, see the module.
    """

    tau: int
    tau_server: int
    cut: int
    clock: Clock = "analysis"

    def __post_init__(self) -> None:
        """Check the options.

        Raises:
            ValueError: if an option is impossible.
        """
        super().__post_init__()
        if self.clock not in get_args(Clock):
            raise ValueError(
                f"clock: expected one of {', '.join(get_args(Clock))}, got "
                f"{self.clock!r}"
            )

    @property
    def steps(self) -> int:
        r"""Number of iterations in a round, $\max\{\tau,\tilde\tau\}$."""
        return max(self.tau, self.tau_server)

    @property
    def memoryless(self) -> bool:
        """Whether a round depends on the rounds before it through $x^t$ alone."""
        in_step = self.clock == "analysis" or self.tau == self.tau_server
        return in_step and super().memoryless

    def begin(self, federation: Federation, x: Tensor, ball: Ball | None = None) -> Run:
        """Return a run that starts at ``x``, see `Algorithm.begin`.

        Raises:
            ValueError: if the cut lies outside the model.
        """
        check_cut(self.cut, federation)
        if self.clock == "algorithm" and self.tau != self.tau_server:
            return _AlgorithmClock(self, federation, x, ball)
        return _AnalysisClock(self, federation, x, ball)


class _Clients:
    """The local models of all clients, and how both their sides step."""

    def __init__(self, sfl: SFLV1, federation: Federation, x: Tensor) -> None:
        N, (d, R) = federation.clients, x.shape
        self.models = x.repeat(N, 1, 1)
        self._problem, self._cut = federation.problem, sfl.cut
        self._joint = sfl.server == sfl.optimizer and sfl.tau == sfl.tau_server
        if self._joint:
            self._memories = [Memory(sfl.optimizer, (N, d, R), (N, 1, R))]
        else:
            self._memories = [
                Memory(optimizer, (N, width, R), (N, 1, R))
                for optimizer, width in (
                    (sfl.optimizer, sfl.cut),
                    (sfl.server, d - sfl.cut),
                )
            ]
        self._sides = (slice(0, sfl.cut), slice(sfl.cut, d))

    def begin_round(self) -> None:
        for memory in self._memories:
            memory.begin_round()

    def step(
        self,
        draw: Tensor | None,
        rates: tuple[float, float],
        active: tuple[bool, bool],
        absent: Tensor | None,
    ) -> None:
        models, problem = self.models, self._problem
        if self._joint:
            memory = self._memories[0]
            step(problem, models, draw, memory, rates, self._cut, absent)
            return
        g = problem.gradient(models, draw)
        for side, memory, rate, moves in zip(
            self._sides, self._memories, rates, active, strict=True
        ):
            if moves:
                p = memory.direction(models[:, side], g[:, side], absent)
                models[:, side].sub_(p, alpha=rate)


class _AnalysisClock:
    def __init__(
        self, sfl: SFLV1, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        self.x = x
        self._sfl, self._federation, self._ball = sfl, federation, ball
        self._clients = _Clients(sfl, federation, x)

    def round(self, t: int, rates: Rates) -> None:
        sfl, federation, clients = self._sfl, self._federation, self._clients
        present = federation.present(t)
        absent = None if present is None else ~present.unsqueeze(1)
        clients.models.copy_(self.x)
        clients.begin_round()
        for i, draw in enumerate(federation.draws(t, sfl.steps)):
            active = (i < sfl.tau, i < sfl.tau_server)
            clients.step(draw, rates(i), active, absent)
            if self._ball is not None:
                self._ball.see(clients.models)
        self.x = aggregate(clients.models, self.x, federation, present, sfl.aggregation)


class _AlgorithmClock:
    def __init__(
        self, sfl: SFLV1, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        self.x = x
        self._synced = x.clone()
        self._sfl, self._federation, self._ball = sfl, federation, ball
        self._clients = _Clients(sfl, federation, x)

    def round(self, t: int, rates: Rates) -> None:
        sfl, federation, clients = self._sfl, self._federation, self._clients
        present = federation.present(t)
        absent = None if present is None else ~present.unsqueeze(1)
        clients.begin_round()
        for i, draw in enumerate(federation.draws(t, sfl.steps)):
            if self._ball is not None:
                self._ball.see(clients.models, absent)
            clients.step(draw, rates(i), (True, True), absent)
            if self._ball is not None:
                self._ball.see(clients.models, absent)
            done = t * sfl.steps + i + 1
            if done % sfl.tau == 0:
                self._synchronise(slice(0, sfl.cut), present)
            if done % sfl.tau_server == 0:
                self._synchronise(slice(sfl.cut, None), present)
        self.x = weighted_sum(clients.models, shares(federation, None))
        for period, side in (
            (sfl.tau, slice(0, sfl.cut)),
            (sfl.tau_server, slice(sfl.cut, None)),
        ):
            if done % period == 0:
                self.x[side] = self._synced[side]

    def _synchronise(self, side: slice, present: Tensor | None) -> None:
        models, rule = self._clients.models, self._sfl.aggregation
        new = aggregate(models, self._synced, self._federation, present, rule)
        self._synced[side] = new[side]
        models[:, side] = new[side]
