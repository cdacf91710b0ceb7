r"""Residual networks (He et al., CVPR 2016) with the stem for small images.

Blocks: ``stem``, ``stage1`` to ``stage4``, ``head``. The papers' cut $L_c=i$ lies after
the i-th stage (dachille2024, "Experimental setup"; huang2023, supplement). The stem is
a 3x3 convolution of stride 1 without pooling; for images from 128 pixels on it is the
original 7x7 convolution of stride 2 followed by max pooling.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

import torch
from torch import Tensor, nn

from sfl_train.deep.models.network import Network
from sfl_train.deep.models.norm import Norm, normalisation

Depth = Literal[18, 34, 50]
STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
LARGE = 128


class Residual(nn.Module):
    """A residual block: ReLU of the sum of a branch and a shortcut."""

    def __init__(self, branch: nn.Module, shortcut: nn.Module) -> None:
        """Join branch and shortcut.

        Args:
            branch: what is learnt.
            shortcut: identity or projection.
        """
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """Return relu(branch(x) + shortcut(x))."""
        return torch.relu(self.branch(x) + self.shortcut(x))


class Head(nn.Module):
    """Mean over the image and a linear layer."""

    def __init__(self, channels: int, classes: int) -> None:
        """Make the head.

        Args:
            channels: of the feature maps.
            classes: number of logits.
        """
        super().__init__()
        self.linear = nn.Linear(channels, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits; the mean has a deterministic gradient on every device."""
        return self.linear(x.mean((2, 3)))


def resnet(
    depth: Depth,
    channels: int,
    classes: int,
    image: int,
    norm: Norm = "batch",
    width: float = 1.0,
    blocks: int | None = None,
) -> Network:
    """Return ResNet-18, -34 or -50.

    Args:
        depth: 18 and 34 have two 3x3 convolutions in a block, 50 has bottlenecks.
        channels: of the images.
        classes: number of logits.
        image: height and width of the images.
        norm: normalisation after every convolution.
        width: factor on the 64 channels of the first stage, and on all others.
        blocks: residual blocks per stage, to scale the depth down; None: the
            original numbers.

    Returns:
        The network, with four cuts.

    Raises:
        ValueError: if width or blocks leave nothing.
    """
    base = round(64 * width)
    if base < 1:
        raise ValueError(f"width: expected at least 1/64, got {width}")
    if blocks is not None and blocks < 1:
        raise ValueError(f"blocks: expected at least one per stage, got {blocks}")
    counts = STAGES[depth] if blocks is None else (blocks,) * 4
    expansion = 4 if depth == 50 else 1
    parts: OrderedDict[str, nn.Module] = OrderedDict()
    parts["stem"] = _stem(channels, base, image, norm)
    inside = base
    for stage, count in enumerate(counts):
        middle = base * 2**stage
        outside = middle * expansion
        layers = []
        for index in range(count):
            stride = 2 if stage > 0 and index == 0 else 1
            layers.append(_block(depth, inside, middle, outside, stride, norm))
            inside = outside
        parts[f"stage{stage + 1}"] = nn.Sequential(*layers)
    parts["head"] = Head(inside, classes)
    network = Network(nn.Sequential(parts), (2, 3, 4, 5))
    _initialise(network.blocks)
    return network


def _stem(channels: int, base: int, image: int, norm: Norm) -> nn.Module:
    if image >= LARGE:
        return nn.Sequential(
            *_convolution(channels, base, 7, 2, norm),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
    return nn.Sequential(*_convolution(channels, base, 3, 1, norm), nn.ReLU())


def _block(
    depth: Depth, inside: int, middle: int, outside: int, stride: int, norm: Norm
) -> Residual:
    if depth == 50:
        branch = nn.Sequential(
            *_convolution(inside, middle, 1, 1, norm),
            nn.ReLU(),
            *_convolution(middle, middle, 3, stride, norm),
            nn.ReLU(),
            *_convolution(middle, outside, 1, 1, norm),
        )
    else:
        branch = nn.Sequential(
            *_convolution(inside, middle, 3, stride, norm),
            nn.ReLU(),
            *_convolution(middle, outside, 3, 1, norm),
        )
    same = stride == 1 and inside == outside
    shortcut: nn.Module = nn.Identity()
    if not same:
        shortcut = nn.Sequential(*_convolution(inside, outside, 1, stride, norm))
    return Residual(branch, shortcut)


def _convolution(
    inside: int, outside: int, size: int, stride: int, norm: Norm
) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(
        inside, outside, size, stride, padding=size // 2, bias=norm == "none"
    )
    return convolution, normalisation(norm, outside)


def _initialise(blocks: nn.Sequential) -> None:
    """Draw convolutions as He et al. (ICCV 2015): normal, fan-out, gain of ReLU."""
    for module in blocks.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
