r"""One model on the device, refilled in place: gradients and local steps.

In split training the client's forward pass, the server's forward and backward pass and
step, and the client's backward pass with the returned gradient use the weights from
before the step on both sides. That is the backward pass of the composed network, which
is what runs here; ``two_message`` in the tests is the protocol itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from sfl_train.deep.flat import FlatModel, State
from sfl_train.optimizer import Memory

Precision = Literal["fp32", "tf32", "bf16"]


@dataclass(frozen=True)
class Side:
    """A stretch of the parameter vector and how it steps.

    Attributes:
        part: the stretch.
        memory: what its optimizer remembers.
        rate: learning rate at every local step of the round.
        steps: it stands still after so many local steps; None: never.
    """

    part: slice
    memory: Memory
    rate: Callable[[int], float]
    steps: int | None = None


@dataclass(frozen=True)
class Proximal:
    r"""The term $\frac\mu2\|x-x^t\|^2$ of FedProx (Li et al., MLSys 2020).

    Attributes:
        mu: its coefficient.
        anchor: $x^t$, shape (d,).
    """

    mu: float
    anchor: Tensor


class Worker:
    """A flat model with its loss and precision.

    Attributes:
        model: the network over flat vectors.
    """

    def __init__(
        self,
        model: FlatModel,
        precision: Precision = "fp32",
        compiled: bool = False,
    ) -> None:
        """Set up.

        Args:
            model: the network.
            precision: "fp32", "tf32" (fp32 with TF32 products on GPUs) or "bf16"
                (autocast).
            compiled: run the network through `torch.compile`.

        Raises:
            ValueError: if the precision is unknown.
        """
        if precision not in get_args(Precision):
            raise ValueError(
                f"precision: expected one of {', '.join(get_args(Precision))}, got "
                f"{precision!r}"
            )
        self.model = model
        self._loss = nn.CrossEntropyLoss()
        self._forward: nn.Module = model.blocks
        if compiled:
            self._forward = torch.compile(model.blocks)  # type: ignore[assignment]
        self._bf16 = precision == "bf16"
        self._device = model.state.parameters.device.type

    @property
    def state(self) -> State:
        """The model's vectors, to be read and refilled in place."""
        return self.model.state

    def autocast(self) -> torch.autocast:
        """Return the context in which networks run: bf16 products, or nothing."""
        return torch.autocast(self._device, torch.bfloat16, enabled=self._bf16)

    def logits(self, x: Tensor) -> Tensor:
        """Return logits in float32 or wider, whatever the precision."""
        with self.autocast():
            out = self._forward(x)
        return out.float() if self._bf16 else out

    def gradient(self, x: Tensor, y: Tensor) -> Tensor:
        """Fill ``model.gradient`` with the gradient of the mean loss of a batch.

        Args:
            x: images.
            y: labels.

        Returns:
            The mean loss, on the device, detached.
        """
        self.model.zero_gradient()
        loss = self._loss(self.logits(x), y)
        loss.backward()
        return loss.detach()

    def steps(
        self,
        batches: Iterable[tuple[Tensor, Tensor]],
        sides: Sequence[Side],
        proximal: Proximal | None = None,
    ) -> Tensor:
        """Make local steps, both sides from the gradient at the weights before.

        Args:
            batches: images and labels, one mini-batch per step.
            sides: stretches of the parameter vector that step.
            proximal: FedProx's term.

        Returns:
            Sum over the steps of batch size times mean loss, on the device.
        """
        self.model.blocks.train()
        total = torch.zeros((), dtype=torch.float64, device=self._device)
        for index, (x, y) in enumerate(batches):
            total += self.gradient(x, y).double() * len(y)
            for side in sides:
                step_side(
                    self.model.state.parameters,
                    self.model.gradient,
                    side,
                    index,
                    proximal,
                )
        return total


def step_side(
    parameters: Tensor,
    gradient: Tensor,
    side: Side,
    index: int,
    proximal: Proximal | None,
    done: Tensor | None = None,
) -> None:
    """Make one local step of one side, in place.

    Args:
        parameters: shape (..., d).
        gradient: of the same shape; overwritten.
        side: which coordinates, and how.
        index: of the local step.
        proximal: FedProx's term.
        done: models that make no step, shape (..., 1); None: all make one.
    """
    if side.steps is not None and index >= side.steps:
        return
    x, g = parameters[..., side.part], gradient[..., side.part]
    if proximal is not None:
        g.add_(x - proximal.anchor[side.part], alpha=proximal.mu)
    x.sub_(side.memory.direction(x, g, done), alpha=side.rate(index))
