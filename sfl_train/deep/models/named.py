"""Networks by name, drawn from a seed."""

from __future__ import annotations

import torch

from sfl_train import streams
from sfl_train.deep.models.network import Network
from sfl_train.deep.models.norm import Norm
from sfl_train.deep.models.resnet import resnet
from sfl_train.deep.models.small import cnn, mlp
from sfl_train.streams import Purpose

NAMES = ("resnet18", "resnet34", "resnet50", "cnn", "mlp")


def build(
    name: str,
    channels: int,
    classes: int,
    image: int,
    *,
    norm: Norm | None = None,
    width: float = 1.0,
    blocks: int | None = None,
    seed: int = 0,
) -> Network:
    """Return the network ``name`` with weights drawn from the seed.

    Args:
        name: one of ``NAMES``.
        channels: of the images.
        classes: number of logits.
        image: height and width of the images.
        norm: normalisation; None: batch for ResNets, none for the others.
        width: factor on all channels.
        blocks: residual blocks per stage of a ResNet, hidden layers of the MLP; None:
            the original number.
        seed: non-negative; the global random state is left as it was.

    Returns:
        The network on the CPU in float32.

    Raises:
        ValueError: if the name is unknown or an option does not fit it.
    """
    if name not in NAMES:
        raise ValueError(f"model: expected one of {', '.join(NAMES)}, got {name!r}")
    if name == "cnn" and blocks is not None:
        raise ValueError("blocks: the cnn has a fixed depth; leave the option out")
    if name == "mlp" and norm not in {None, "none"}:
        raise ValueError(f"norm: the mlp has none, got {norm!r}")
    key = int(streams.keys(seed, Purpose.INITIAL_POINT))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key)
        if name == "cnn":
            return cnn(channels, classes, image, norm or "none", width)
        if name == "mlp":
            return mlp(channels, classes, image, width, blocks or 2)
        depth = int(name.removeprefix("resnet"))
        return resnet(
            depth,  # type: ignore[arg-type]
            channels,
            classes,
            image,
            norm or "batch",
            width,
            blocks,
        )
