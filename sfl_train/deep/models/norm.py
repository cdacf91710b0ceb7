"""Normalisation layers by name."""

from __future__ import annotations

from math import gcd
from typing import Literal, get_args

from torch import nn

Norm = Literal["batch", "group", "none"]
GROUPS = 32


def normalisation(norm: Norm, channels: int) -> nn.Module:
    """Return a layer that normalises feature maps.

    Args:
        norm: "batch"; "group", at most 32 groups (Wu & He, ECCV 2018) and at least two
            channels in each; or "none".
        channels: of the feature maps.

    Returns:
        The layer.

    Raises:
        ValueError: if the name is unknown.
    """
    if norm == "batch":
        return nn.BatchNorm2d(channels)
    if norm == "group":
        return nn.GroupNorm(max(1, gcd(GROUPS, channels // 2)), channels)
    if norm == "none":
        return nn.Identity()
    raise ValueError(f"norm: expected one of {', '.join(get_args(Norm))}, got {norm!r}")
