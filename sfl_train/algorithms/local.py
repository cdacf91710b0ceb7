"""One local step of all clients and replicas at once."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from sfl_train.optimizer import Memory
from sfl_train.problems.problem import Problem


@runtime_checkable
class Descending(Protocol):
    """A problem that makes a plain gradient step cheaper than a gradient."""

    def descend(self, x: Tensor, draw: Tensor | None, rate: float) -> None:
        r"""Replace ``x`` by $x_n-\eta g_n(x_n)$ for all clients.

        Args:
            x: parameter vectors, shape (N, d, R); overwritten.
            draw: as in `Problem.gradient`.
            rate: $\eta$.
        """


def step(
    problem: Problem,
    models: Tensor,
    draw: Tensor | None,
    memory: Memory,
    rates: tuple[float, float],
    cut: int,
    absent: Tensor | None = None,
) -> None:
    r"""Make one step $x_n\leftarrow x_n-\eta p_n$ of both sides at once.

    Args:
        problem: gives the joint gradient.
        models: $x_n$, shape (N, d, R); overwritten.
        draw: mini-batches of this step.
        memory: of the one optimizer that both sides have.
        rates: learning rates of the client side and of the server side.
        cut: length of the client block.
        absent: clients that make no step, shape (N, 1, R).
    """
    client, server = rates
    together = client == server
    plain = memory.optimizer.plain and absent is None
    if plain and together and isinstance(problem, Descending):
        problem.descend(models, draw, client)
        return
    p = memory.direction(models, problem.gradient(models, draw), absent)
    if together:
        models.sub_(p, alpha=client)
    else:
        models[:, :cut].sub_(p[:, :cut], alpha=client)
        models[:, cut:].sub_(p[:, cut:], alpha=server)
