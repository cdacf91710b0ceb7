r"""FedOpt: the server steps along the aggregated update (Reddi et al., ICLR 2021).

With $\Delta^t=\sum_nw_n(x_n^t-x^t)$, Algorithm 2 there without bias correction:

- SGD with momentum: $v\leftarrow\beta v+\Delta$, $x\leftarrow x+\eta v$;
- Adam: $m\leftarrow\beta_1m+(1-\beta_1)\Delta$,
  $v\leftarrow\beta_2v+(1-\beta_2)\Delta^2$, $x\leftarrow x+\eta\,m/(\sqrt v+\epsilon)$;
- Yogi: as Adam with $v\leftarrow v-(1-\beta_2)\Delta^2\mathrm{sign}(v-\Delta^2)$.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

Rule = Literal["sgd", "adam", "yogi"]


@dataclass(frozen=True)
class ServerOptimizer:
    r"""How the server turns the aggregated update into a step.

    Attributes:
        rule: "sgd", "adam" or "yogi".
        rate: $\eta$.
        momentum: $\beta$ of SGD and $\beta_1$ of the others.
        beta2: $\beta_2$.
        eps: $\epsilon$, called $\tau$ in the paper; its square is the initial $v$.
    """

    rule: Rule = "adam"
    rate: float = 0.01
    momentum: float = 0.9
    beta2: float = 0.99
    eps: float = 1e-3

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises:
            ValueError: if one lies outside its range.
        """
        if self.rule not in get_args(Rule):
            raise ValueError(
                f"server rule: expected one of {', '.join(get_args(Rule))}, got "
                f"{self.rule!r}"
            )
        if not (0 <= self.momentum < 1 and 0 <= self.beta2 < 1):
            raise ValueError(
                f"momentum and beta2: expected numbers in [0, 1), got {self.momentum} "
                f"and {self.beta2}"
            )
        if not (self.rate > 0 and self.eps > 0):
            raise ValueError(
                f"rate and eps: expected positive numbers, got {self.rate} and "
                f"{self.eps}"
            )

    def begin(self, like: Tensor) -> tuple[Tensor, ...]:
        """Return the initial memory.

        Args:
            like: the parameters.

        Returns:
            One vector for SGD, two for the others.
        """
        m = torch.zeros_like(like)
        if self.rule == "sgd":
            return (m,)
        return m, torch.full_like(like, self.eps**2)

    def step(self, x: Tensor, delta: Tensor, memory: tuple[Tensor, ...]) -> None:
        r"""Step in place.

        Args:
            x: parameters.
            delta: $\Delta^t$; may be overwritten.
            memory: what `begin` returned; updated.
        """
        if self.rule == "sgd":
            (v,) = memory
            v.mul_(self.momentum).add_(delta)
            x.add_(v, alpha=self.rate)
            return
        m, v = memory
        square = delta.square()
        m.mul_(self.momentum).add_(delta, alpha=1 - self.momentum)
        if self.rule == "adam":
            v.mul_(self.beta2).add_(square, alpha=1 - self.beta2)
        else:
            v.sub_(square * torch.sign(v - square), alpha=1 - self.beta2)
        x.addcdiv_(m, v.sqrt().add_(self.eps), value=self.rate)
