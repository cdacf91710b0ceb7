r"""Optimizers as directions: what a step follows, before the learning rate.

A step is $x\leftarrow x-\eta\,p$ with a direction $p$ that depends on the gradient and
on what the optimizer remembers, never on $\eta$. Directions are elementwise, so they
are the same for a whole parameter vector and for the two sides of a cut, to the last
bit, and they work on stacks of any shape (clients, parameters, replicas).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

Lifetime = Literal["step", "round", "run"]


@dataclass(frozen=True, kw_only=True)
class Optimizer(ABC):
    """How a gradient becomes a direction.

    Attributes:
        weight_decay: coefficient of x that is added to the gradient.
        lifetime: when the memory starts anew: at every "step", every "round", or
            never within a "run". Under partial participation a client that sits a
            round out keeps its memory.
    """

    weight_decay: float = 0.0
    lifetime: Lifetime = "round"

    def __post_init__(self) -> None:
        """Check the coefficients.

        Raises:
            ValueError: if a coefficient lies outside its range.
        """
        if not 0 <= self.weight_decay < float("inf"):
            raise ValueError(
                f"weight_decay: expected a number >= 0, got {self.weight_decay}"
            )
        if self.lifetime not in get_args(Lifetime):
            raise ValueError(
                f"lifetime: expected one of {', '.join(get_args(Lifetime))}, got "
                f"{self.lifetime!r}"
            )

    @property
    @abstractmethod
    def slots(self) -> int:
        """Number of remembered tensors, each of the shape of the parameters."""

    @property
    def plain(self) -> bool:
        """Whether the direction is the gradient itself."""
        return False

    @abstractmethod
    def direction(
        self, x: Tensor, g: Tensor, slots: Sequence[Tensor], step: Tensor | None
    ) -> Tensor:
        """Return the direction p and update the memory in place.

        Args:
            x: parameters, any shape.
            g: their gradient, same shape; may be overwritten.
            slots: the memory, each of the same shape, zero at first.
            step: how many steps the memory has seen, this one included, in a shape
                that broadcasts against ``x``; None where there are no slots.
        """


@dataclass(frozen=True, kw_only=True)
class SGD(Optimizer):
    r"""Gradient descent: $v\leftarrow\beta v+g+\lambda x$, $p=v$.

    With $\beta=\lambda=0$ this is the update of the papers' algorithms, $p=g$.
    The conventions are those of `torch.optim.SGD` without dampening.

    Attributes:
        momentum: $\beta\in[0,1)$.
    """

    momentum: float = 0.0

    def __post_init__(self) -> None:
        """Check the coefficients.

        Raises:
            ValueError: if a coefficient lies outside its range.
        """
        super().__post_init__()
        if not 0 <= self.momentum < 1:
            raise ValueError(
                f"momentum: expected a number in [0, 1), got {self.momentum}"
            )

    @property
    def slots(self) -> int:
        """One with momentum, none without."""
        return int(self.momentum > 0)

    @property
    def plain(self) -> bool:
        """Whether neither momentum nor weight decay changes the gradient."""
        return self.momentum == 0 and self.weight_decay == 0

    def direction(
        self, x: Tensor, g: Tensor, slots: Sequence[Tensor], step: Tensor | None
    ) -> Tensor:
        """Return $v$, see `Optimizer.direction`."""
        if self.weight_decay:
            g.add_(x, alpha=self.weight_decay)
        if self.momentum:
            slots[0].mul_(self.momentum).add_(g)
            g.copy_(slots[0])
        return g


@dataclass(frozen=True, kw_only=True)
class Adam(Optimizer):
    r"""Adam (Kingma & Ba, ICLR 2015), conventions of `torch.optim.Adam`.

    $m\leftarrow\beta_1m+(1-\beta_1)g$, $v\leftarrow\beta_2v+(1-\beta_2)g^2$,
    $p=\frac{m}{1-\beta_1^k}\big/\left(\sqrt{v/(1-\beta_2^k)}+\epsilon\right)$ at the
    k-th step; weight decay is added to the gradient first.

    Attributes:
        betas: $(\beta_1,\beta_2)\in[0,1)^2$.
        eps: $\epsilon>0$.
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8

    def __post_init__(self) -> None:
        """Check the coefficients.

        Raises:
            ValueError: if a coefficient lies outside its range.
        """
        super().__post_init__()
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: expected two numbers in [0, 1), got {self.betas}")
        if not 0 < self.eps < float("inf"):
            raise ValueError(f"eps: expected a positive number, got {self.eps}")

    @property
    def slots(self) -> int:
        """Two: the running means of gradient and squared gradient."""
        return 2

    def direction(
        self, x: Tensor, g: Tensor, slots: Sequence[Tensor], step: Tensor | None
    ) -> Tensor:
        """Return the direction, see `Optimizer.direction`.

        Raises:
            ValueError: if ``step`` is missing.
        """
        if step is None:
            raise ValueError("step: Adam needs the number of steps, got None")
        if self.weight_decay:
            g.add_(x, alpha=self.weight_decay)
        (beta1, beta2), (m, v) = self.betas, slots
        m.mul_(beta1).add_(g, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
        seen1, seen2 = (1 - beta**step for beta in self.betas)
        spread = (v / seen2.to(v.dtype)).sqrt_().add_(self.eps)
        return g.copy_(m).div_(seen1.to(m.dtype)).div_(spread)


class Memory:
    """What an optimizer remembers of one stack of parameters.

    Attributes:
        optimizer: whose memory it is.
        slots: remembered tensors, each of the shape of the stack.
        step: number of steps seen, one per model of the stack, in a shape that
            broadcasts against the stack; None if the optimizer remembers nothing.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        shape: Sequence[int] = (),
        models: Sequence[int] = (),
        like: Tensor | None = None,
    ) -> None:
        """Start with an empty memory.

        Args:
            optimizer: whose memory it is.
            shape: of the stack of parameters.
            models: the same with the parameter axis set to 1.
            like: a tensor of the parameters' type and device; None: float64, CPU.
        """
        self.optimizer = optimizer
        dtype = torch.float64 if like is None else like.dtype
        device = None if like is None else like.device
        self.slots = tuple(
            torch.zeros(tuple(shape), dtype=dtype, device=device)
            for _ in range(optimizer.slots)
        )
        self.step = (
            torch.zeros(tuple(models), dtype=torch.float64, device=device)
            if self.slots
            else None
        )

    def begin_round(self) -> None:
        """Forget what does not outlive a round."""
        if self.optimizer.lifetime != "run":
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        for tensor in self.tensors():
            tensor.zero_()

    def direction(self, x: Tensor, g: Tensor, absent: Tensor | None = None) -> Tensor:
        """Return the direction of one step; see `Optimizer.direction`.

        Args:
            x: the stack of parameters.
            g: its gradient; may be overwritten.
            absent: models that make no step, broadcastable against the stack: their
                direction is zero and their memory stays as it is.

        Returns:
            The direction, shape of ``x``.
        """
        before = [] if absent is None else [held.clone() for held in self.tensors()]
        if self.optimizer.lifetime == "step":
            self.clear()
        if self.step is not None:
            self.step += 1
        p = self.optimizer.direction(x, g, self.slots, self.step)
        if absent is not None:
            for now, old in zip(self.tensors(), before, strict=True):
                now.copy_(torch.where(absent, old, now))
            p = p.masked_fill_(absent, 0.0)
        return p

    def pick(self, index: Tensor) -> Memory:
        """Return a copy of the memory of the models ``index`` along the first axis."""
        return self._of([held.index_select(0, index) for held in self.tensors()])

    def put(self, index: Tensor, picked: Memory) -> None:
        """Write back what `pick` returned for the same ``index``."""
        for held, new in zip(self.tensors(), picked.tensors(), strict=True):
            held.index_copy_(0, index, new)

    def head(self, count: int) -> Memory:
        """Return a view of the memory of the first ``count`` models."""
        return self._of([held[:count] for held in self.tensors()])

    def tensors(self) -> list[Tensor]:
        """Return the remembered tensors, those of `slots` and then `step`."""
        return [*self.slots, self.step] if self.step is not None else []

    def _of(self, tensors: list[Tensor]) -> Memory:
        if not tensors:
            return self
        other = Memory.__new__(Memory)
        other.optimizer = self.optimizer
        other.slots, other.step = tuple(tensors[:-1]), tensors[-1]
        return other
