"""Unsplit training as one writes it in plain PyTorch: the yardstick of `deep_speed`.

Networks, data pipeline, loss and optimizer use nothing of the trainer's.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PADDING = 4


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inside != outside:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False),
                nn.BatchNorm2d(outside),
            )

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet18(nn.Module):
    """The ResNet-18 for 32x32 images."""

    def __init__(self, channels: int, classes: int, width: float) -> None:
        super().__init__()
        base = round(64 * width)
        self.conv = nn.Conv2d(channels, base, 3, 1, 1, bias=False)
        self.bn = nn.BatchNorm2d(base)
        layers, inside = [], base
        for stage in range(4):
            outside = base * 2**stage
            layers += [
                Block(inside, outside, 2 if stage else 1),
                Block(outside, outside, 1),
            ]
            inside = outside
        self.layers = nn.Sequential(*layers)
        self.linear = nn.Linear(inside, classes)

    def forward(self, x: Tensor) -> Tensor:
        out = self.layers(F.relu(self.bn(self.conv(x))))
        return self.linear(out.mean((2, 3)))


class CNN(nn.Module):
    """Two 5x5 convolutions with pooling, two linear layers."""

    def __init__(self, channels: int, classes: int, pixels: int, width: float) -> None:
        super().__init__()
        first, second, hidden = (round(width * size) for size in (32, 64, 512))
        self.conv1 = nn.Conv2d(channels, first, 5, padding=2)
        self.conv2 = nn.Conv2d(first, second, 5, padding=2)
        self.fc1 = nn.Linear(second * (pixels // 4) ** 2, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        out = F.max_pool2d(F.relu(self.conv1(x)), 2)
        out = F.max_pool2d(F.relu(self.conv2(out)), 2)
        return self.fc2(F.relu(self.fc1(out.flatten(1))))


def network(
    name: str, channels: int, classes: int, pixels: int, width: float
) -> nn.Module:
    """Return an ordinary module of the same architecture as the trainer's."""
    if name == "cnn":
        return CNN(channels, classes, pixels, width)
    return ResNet18(channels, classes, width)


@dataclass
class Loop:
    """An unsplit training loop.

    Attributes:
        model: the network, on the device.
        pixels: of the training images, bytes on the device, shape (D, C, H, W).
        labels: shape (D,).
        mean: per channel of pixels in [0, 1], shape (1, C, 1, 1).
        std: the same.
        batch: samples of a mini-batch.
        augment: crop and flip.
        channels_last: memory format.
        bf16: autocast.
        compiled: through `torch.compile`.
    """

    model: nn.Module
    pixels: Tensor
    labels: Tensor
    mean: Tensor
    std: Tensor
    batch: int
    augment: bool
    channels_last: bool
    bf16: bool
    compiled: bool

    def __post_init__(self) -> None:
        if self.channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.forward = torch.compile(self.model) if self.compiled else self.model
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4
        )
        self.padded = F.pad(self.pixels, (PADDING,) * 4)
        self.model.train()

    def epoch(self) -> Tensor:
        """Pass over the data once; return the sum of the losses, on the device."""
        device = self.labels.device
        total = torch.zeros((), device=device)
        for chosen in torch.randperm(len(self.labels), device=device).split(self.batch):
            x, y = self.images(chosen), self.labels[chosen]
            self.optimizer.zero_grad()
            with torch.autocast(device.type, torch.bfloat16, enabled=self.bf16):
                loss = F.cross_entropy(self.forward(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(y)
        return total

    def images(self, chosen: Tensor) -> Tensor:
        """Form a batch: gather, crop, flip, normalise."""
        x = self.cropped(chosen) if self.augment else self.pixels[chosen]
        x = x.float().div_(255).sub_(self.mean).div_(self.std)
        if self.channels_last:
            x = x.contiguous(memory_format=torch.channels_last)
        return x

    def cropped(self, chosen: Tensor) -> Tensor:
        """Gather random windows of the padded images, half of them mirrored."""
        count, side, device = len(chosen), self.pixels.shape[-1], chosen.device
        top, left = torch.randint(2 * PADDING + 1, (2, count, 1), device=device)
        at = torch.arange(side, device=device)
        mirror = torch.rand(count, 1, device=device) < 0.5
        rows = (top + at)[:, None, :, None]
        columns = (torch.where(mirror, side - 1 - at, at) + left)[:, None, None, :]
        channel = torch.arange(self.pixels.shape[1], device=device)[None, :, None, None]
        return self.padded[chosen[:, None, None, None], channel, rows, columns]
