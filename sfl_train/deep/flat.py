r"""A network whose parameters are one vector, so that cutting it is slicing it.

All parameters are views into one vector, block after block, and so are their gradients
and the floating-point buffers (BatchNorm's running statistics). An optimizer step, an
aggregation or a copy is then one operation on a vector; the client side of a cut is a
prefix; and since every such operation works coordinate by coordinate, cutting changes
no bit of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import prod

import torch
from torch import Tensor, nn

NARROW = 8
"""So many numbers a register of AVX2 holds."""


@dataclass(frozen=True)
class State:
    """A model as vectors.

    Attributes:
        parameters: shape (d,).
        buffers: floating-point buffers, shape (b,).
        counters: integer buffers, shape (c,).
    """

    parameters: Tensor
    buffers: Tensor
    counters: Tensor

    @property
    def vectors(self) -> tuple[Tensor, Tensor, Tensor]:
        """Parameters, buffers, counters."""
        return self.parameters, self.buffers, self.counters

    def clone(self) -> State:
        """Return a copy."""
        return State(*(vector.clone() for vector in self.vectors))

    def copy_(self, other: State) -> None:
        """Take over the values of ``other``."""
        for mine, given in zip(self.vectors, other.vectors, strict=True):
            mine.copy_(given)

    def side(self, part: Part) -> State:
        """Return views of one side of a cut."""
        return State(
            self.parameters[part.parameters],
            self.buffers[part.buffers],
            self.counters[part.counters],
        )


@dataclass(frozen=True)
class Part:
    """Where consecutive blocks lie in the vectors of a `State`.

    Attributes:
        blocks: slice of the blocks.
        parameters: slice of the parameter vector.
        buffers: slice of the buffer vector.
        counters: slice of the vector of integer buffers.
    """

    blocks: slice
    parameters: slice
    buffers: slice
    counters: slice


class FlatModel:
    r"""A sequence of blocks over flat vectors.

    Attributes:
        blocks: the module; its parameters are views of ``state.parameters``.
        state: the vectors.
        gradient: shape (d,); the parameters' gradients are views of it.
    """

    def __init__(
        self,
        blocks: nn.Sequential,
        device: torch.device | str = "cpu",
        channels_last: bool = False,
    ) -> None:
        """Move a network into flat vectors.

        Args:
            blocks: the network; it is changed: its parameters become views.
            device: where the vectors live.
            channels_last: memory format of four-dimensional parameters.

        Raises:
            ValueError: if the parameters are not all of one floating-point type, two
                blocks share one, or one does not require a gradient: weight decay and
                MiniBatch-SFL would move it.
        """
        for name, p in blocks.named_parameters():
            if not p.requires_grad:
                raise ValueError(
                    f"parameter {name} has requires_grad=False; what is not to be "
                    "trained must be a buffer (register_buffer)"
                )
        self.blocks = blocks.to(device)
        if torch.device(device).type == "cpu":
            for module in blocks.modules():
                if _narrow(module):
                    module.register_forward_pre_hook(_plain)
        parameters, buffers, counters = zip(*map(_groups, blocks), strict=True)
        flat = [p for group in parameters for p in group]
        if len({id(p) for p in flat}) < len(flat):
            raise ValueError("two blocks share a parameter; such a model cannot be cut")
        kinds = {p.dtype for p in flat}
        if len(kinds) != 1 or not next(iter(kinds)).is_floating_point:
            raise ValueError(
                f"expected parameters of one floating-point type, got {kinds or 'none'}"
            )
        self._offsets = tuple(
            (0, *accumulate(sum(t.numel() for t in group) for group in groups))
            for groups in (parameters, buffers, counters)
        )
        dtype = kinds.pop()
        self.state = State(
            torch.empty(self._offsets[0][-1], dtype=dtype, device=device),
            torch.empty(self._offsets[1][-1], dtype=dtype, device=device),
            torch.empty(self._offsets[2][-1], dtype=torch.int64, device=device),
        )
        self.gradient = torch.zeros_like(self.state.parameters)
        self._starts = (0, *accumulate(p.numel() for p in flat))[:-1]
        self._last = tuple(
            channels_last and p.ndim == 4 and p.shape[2:] != (1, 1) for p in flat
        )
        for p, start, last in zip(flat, self._starts, self._last, strict=True):
            value = _view(self.state.parameters, start, p.shape, last)
            value.copy_(p.data)
            p.data = value
            p.grad = _view(self.gradient, start, p.shape, last)
        for vector, groups in (
            (self.state.buffers, buffers),
            (self.state.counters, counters),
        ):
            start = 0
            for buffer in (b for group in groups for b in group):
                value = vector[start : start + buffer.numel()].view(buffer.shape)
                value.copy_(buffer)
                buffer.data = value
                start += buffer.numel()

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return self.state.parameters.numel()

    @property
    def whole(self) -> Part:
        """All blocks."""
        return self.part(0, len(self.blocks))

    def sides(self, cut: int) -> tuple[Part, Part]:
        """Return the client side and the server side of a cut.

        Args:
            cut: number of client-side blocks.

        Returns:
            Both parts.

        Raises:
            ValueError: if a side has no blocks.
        """
        if not 0 < cut < len(self.blocks):
            raise ValueError(
                f"cut: expected a number of blocks from 1 to {len(self.blocks) - 1}, "
                f"got {cut}"
            )
        return self.part(0, cut), self.part(cut, len(self.blocks))

    def part(self, first: int, last: int) -> Part:
        """Return the blocks ``first`` to ``last - 1``."""
        bounds = [slice(offset[first], offset[last]) for offset in self._offsets]
        return Part(slice(first, last), *bounds)

    def views(self, part: Part, state: State) -> dict[str, Tensor]:
        """Return a side's parameters and buffers by name, as views of other vectors.

        Args:
            part: the side; it must begin with the first block.
            state: vectors of that side.

        Returns:
            What `torch.func.functional_call` takes for ``blocks[:k]``.
        """
        module = self.blocks[part.blocks]
        found = {}
        starts = [0, 0, 0]
        for block in module:
            for kind, group in enumerate(_groups(block)):
                for tensor in group:
                    found[id(tensor)] = kind, starts[kind]
                    starts[kind] += tensor.numel()
        result = {}
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            kind, start = found[id(tensor)]
            last = kind == 0 and tensor.ndim == 4 and not tensor.is_contiguous()
            result[name] = _view(state.vectors[kind], start, tensor.shape, last)
        return result

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where the blocks begin in the parameter vector, and its length."""
        return self._offsets[0]

    def like_parameters(self, vector: Tensor) -> list[Tensor]:
        """Return a vector's pieces in the shapes of the parameters, as views."""
        return [
            _view(vector, start, p.shape, last)
            for p, start, last in zip(
                self.blocks.parameters(), self._starts, self._last, strict=True
            )
        ]

    def stacked(self, vectors: Tensor) -> list[Tensor]:
        """Return the pieces of several vectors in the shapes of the parameters.

        Args:
            vectors: shape (k, d).

        Returns:
            Views of shape (k, *shape of the parameter); `flattened` undoes it.
        """
        rows = len(vectors)
        found = []
        for p, start, last in zip(
            self.blocks.parameters(), self._starts, self._last, strict=True
        ):
            piece = vectors[:, start : start + p.numel()]
            if last:
                out, inside, height, width = p.shape
                piece = piece.view(rows, out, height, width, inside)
                found.append(piece.permute(0, 1, 4, 2, 3))
            else:
                found.append(piece.view(rows, *p.shape))
        return found

    def flattened(self, pieces: list[Tensor]) -> Tensor:
        """Return vectors made of pieces in the parameters' shapes.

        Args:
            pieces: each of shape (k, *shape of the parameter).

        Returns:
            Shape (k, d).
        """
        rows = [
            piece.permute(0, 1, 3, 4, 2) if last else piece
            for piece, last in zip(pieces, self._last, strict=True)
        ]
        return torch.cat([row.reshape(len(row), -1) for row in rows], dim=1)

    def zero_gradient(self) -> None:
        """Set the gradient to zero, in place, so that the views stay."""
        self.gradient.zero_()


def _narrow(module: nn.Module) -> bool:
    """Return whether PyTorch's backward pass writes past its memory.

    Seen with PyTorch 2.13.0 on processors whose widest registers are AVX2's: 1x1
    convolutions of fewer than 7 channels, float32, images in channels-last order.
    """
    return (
        isinstance(module, nn.Conv2d)
        and module.kernel_size == (1, 1)
        and module.in_channels // module.groups < NARROW
    )


def _plain(_: nn.Module, arguments: tuple[Tensor]) -> tuple[Tensor]:
    """Return the images in the order in which nothing is written past."""
    (images,) = arguments
    return (images.clone(memory_format=torch.contiguous_format),)


def _groups(block: nn.Module) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return parameters, floating-point buffers and integer buffers of a block."""
    return (
        list(block.parameters()),
        [b for b in block.buffers() if b.is_floating_point()],
        [b for b in block.buffers() if not b.is_floating_point()],
    )


def _view(vector: Tensor, start: int, shape: torch.Size, channels_last: bool) -> Tensor:
    piece = vector[start : start + prod(shape)]
    if not channels_last:
        return piece.view(shape)
    out, inside, height, width = shape
    return piece.view(out, height, width, inside).permute(0, 3, 1, 2)
