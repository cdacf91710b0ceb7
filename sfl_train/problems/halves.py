r"""The two sides of a model whose server side is one linear map and a loss.

The client side sends what the server needs of it (the smashed data): inputs
$u\in\mathbb R^{F\times B}$ of the server's map, and an offset of the scores. The server
side is a matrix $W\in\mathbb R^{C\times F}$, the scores are $z=Wu+\text{offset}$, and
its gradient is $eu^\top+l_2W$ with $e$ the weighted residuals, which it sends back.

Rows are pairs of client and replica: a mini-batch of B samples and a model. A block
of parameters is held *output by input*, the transpose of its place in the parameter
vector, because all products are then of the kind that small-matrix kernels do best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor

from sfl_train.problems.activations import activate, derivative
from sfl_train.problems.losses import Loss
from sfl_train.problems.minibatch import support


@runtime_checkable
class Halved(Protocol):
    """A problem that may be trained side by side, smashed data in between."""

    def halves(self, cut: int) -> Halves | None:
        """Return the two sides, or None if the cut leaves no such pair.

        Args:
            cut: length of the client block in coordinates.
        """


class Halves(Protocol):
    """Both sides of a model.

    Attributes:
        samples: of all clients.
        loss: of the scores.
        l2: coefficient of the squared norm of all parameters.
        client: (inputs, outputs) of the client side's blocks, in order.
        server: (inputs, outputs) of the server side's one block.
        looks_back: whether the client side's step needs the server side it met.
    """

    samples: Samples
    loss: Loss
    l2: float
    client: tuple[tuple[int, int], ...]
    server: tuple[int, int]
    looks_back: ClassVar[bool]

    def forward(
        self, blocks: Sequence[Tensor], X: Tensor
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return what backward needs, the server's inputs last, and the offset.

        Args:
            blocks: the client side, (L, O, I) each.
            X: samples, (L, B, F).

        Returns:
            Tensors whose last one are the inputs, (L, F, B); offset (L, C, B) or None.
        """

    def step(
        self,
        blocks: Sequence[Tensor],
        kept: Sequence[Tensor],
        e: Tensor,
        W: Tensor,
        rate: float,
    ) -> None:
        """Make the client side's gradient step.

        Args:
            blocks: the client side; overwritten.
            kept: what `forward` returned.
            e: weighted residuals, (L, C, B).
            W: the server side that each met, (L, C, F); not used unless ``looks_back``.
            rate: learning rate.
        """


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of all clients.

    Attributes:
        X: features, (N, D, F).
        Y: targets, (N, D, C).
        mean: weights of a full gradient, (N, D).
    """

    X: Tensor
    Y: Tensor
    mean: Tensor

    def drawn(self, draw: Tensor | None) -> Drawn:
        """Return the mini-batches of one draw.

        Args:
            draw: as in `Problem.gradient`; None: all samples.
        """
        if draw is None:
            return Drawn(self, None, None)
        used = support(draw)
        if used is None:
            return Drawn(self, None, draw.transpose(1, 2).reshape(-1, draw.shape[1]))
        index, weight = used
        owner = torch.arange(len(self.X)).repeat_interleave(draw.shape[2])
        index = index + owner.unsqueeze(1) * self.X.shape[1]
        return Drawn(self, index, weight.squeeze(2))


@dataclass(frozen=True, eq=False)
class Drawn:
    """Mini-batches of all clients and replicas.

    Attributes:
        samples: where they are drawn from.
        index: samples in use, (N R, B), counted over all clients; None: all.
        weight: of the samples, (N R, B); None: those of a full gradient.
    """

    samples: Samples
    index: Tensor | None
    weight: Tensor | None

    @property
    def width(self) -> int:
        """B, samples of a mini-batch."""
        return (self.samples.mean if self.index is None else self.index).shape[1]

    def rows(self, client: Tensor, row: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the mini-batches of some rows.

        Args:
            client: whose samples, (L,).
            row: client and replica, ``client * R + replica``, (L,).

        Returns:
            Features (L, B, F), targets (L, C, B), weights (L, 1, B).
        """
        from_all = self.samples
        if self.weight is None:
            weight = from_all.mean.index_select(0, client)
        else:
            weight = self.weight.index_select(0, row)
        if self.index is None:
            X, Y = (v.index_select(0, client) for v in (from_all.X, from_all.Y))
        else:
            index = self.index.index_select(0, row)
            X, Y = (
                v.flatten(0, 1).index_select(0, index.view(-1)).view(*index.shape, -1)
                for v in (from_all.X, from_all.Y)
            )
        return X, Y.transpose(1, 2), weight.unsqueeze(1)


@dataclass(frozen=True, eq=False)
class LinearHalves:
    """A linear model cut between features: the sides' scores are added."""

    samples: Samples
    loss: Loss
    l2: float
    client: tuple[tuple[int, int]]
    server: tuple[int, int]
    looks_back: ClassVar[bool] = False

    def forward(
        self, blocks: Sequence[Tensor], X: Tensor
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return features and the client side's scores, see `Halves.forward`."""
        Xt, first = X.transpose(1, 2), self.client[0][0]
        mine, servers = Xt[:, :first], Xt[:, first:]
        return [mine, servers], torch.bmm(blocks[0], mine)

    def step(
        self,
        blocks: Sequence[Tensor],
        kept: Sequence[Tensor],
        e: Tensor,
        W: Tensor,
        rate: float,
    ) -> None:
        """Step along residuals times features, see `Halves.step`."""
        descend(blocks[0], e, kept[0], rate, self.l2)


@dataclass(frozen=True, eq=False)
class NetworkHalves:
    """A network whose server side is its last block.

    Attributes:
        activations: of the client side's blocks.
    """

    samples: Samples
    loss: Loss
    l2: float
    client: tuple[tuple[int, int], ...]
    server: tuple[int, int]
    activations: tuple[str | None, ...]
    looks_back: ClassVar[bool] = True

    def forward(
        self, blocks: Sequence[Tensor], X: Tensor
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return the inputs of every block, each with its last 1; no offset."""
        kept = [X.transpose(1, 2)]
        for W, activation in zip(blocks, self.activations, strict=True):
            rows, width, batch = *W.shape[:2], X.shape[1]
            u = X.new_ones(rows, width + 1, batch)
            u[:, :-1] = activate(torch.bmm(W, kept[-1]), activation)
            kept.append(u)
        return kept, None

    def step(
        self,
        blocks: Sequence[Tensor],
        kept: Sequence[Tensor],
        e: Tensor,
        W: Tensor,
        rate: float,
    ) -> None:
        """Step along the gradient by the chain rule, see `Halves.step`."""
        for k in reversed(range(len(blocks))):
            after = W if k + 1 == len(blocks) else blocks[k + 1]
            a = kept[k + 1][:, :-1]
            back = torch.bmm(after[:, :, :-1].transpose(1, 2), e)
            if k + 1 < len(blocks):
                descend(blocks[k + 1], e, kept[k + 1], rate, self.l2)
            e = back.mul_(derivative(a, self.activations[k]))
        descend(blocks[0], e, kept[0], rate, self.l2)


def descend(W: Tensor, e: Tensor, u: Tensor, rate: float, l2: float) -> None:
    r"""Replace the maps W by $W-\eta(eu^\top+l_2W)$.

    Args:
        W: shape (L, O, I); overwritten.
        e: derivatives of the outputs, (L, O, B).
        u: inputs, (L, I, B).
        rate: $\eta$.
        l2: $l_2$.
    """
    W.baddbmm_(e, u.transpose(1, 2), beta=1.0 - rate * l2, alpha=-rate)
