r"""The 4-layer CNN of ``huang2023`` and a multilayer perceptron.

The paper's supplement (Sec. 4.1) cuts the CNN after its first and its second group of
convolution and max pooling, and does not print the sizes; they are the ones of the
released code's ancestor for 32x32 images: 5x5 convolutions with 32 and 64 channels and
512 hidden units.
"""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

from sfl_train.deep.models.network import Network
from sfl_train.deep.models.norm import Norm, normalisation


def cnn(
    channels: int, classes: int, image: int, norm: Norm = "none", width: float = 1.0
) -> Network:
    """Return two groups of convolution and pooling, then two linear layers.

    Args:
        channels: of the images.
        classes: number of logits.
        image: height and width of the images, at least 4.
        norm: normalisation after every convolution.
        width: factor on all channels and hidden units.

    Returns:
        The network with blocks ``group1``, ``group2``, ``hidden``, ``head`` and cuts
        after the first three.

    Raises:
        ValueError: if the images or the width leave nothing.
    """
    first, second, hidden = (round(width * size) for size in (32, 64, 512))
    if image < 4 or first < 1:
        raise ValueError(
            f"cnn: expected images of at least 4 pixels and a width of at least 1/32, "
            f"got {image} and {width}"
        )
    blocks = OrderedDict(
        group1=_group(channels, first, norm),
        group2=_group(first, second, norm),
        hidden=nn.Sequential(
            nn.Flatten(), nn.Linear(second * (image // 4) ** 2, hidden), nn.ReLU()
        ),
        head=nn.Linear(hidden, classes),
    )
    return Network(nn.Sequential(blocks), (1, 2, 3))


def mlp(
    channels: int, classes: int, image: int, width: float = 1.0, blocks: int = 2
) -> Network:
    """Return a perceptron with ``blocks`` hidden layers of 128 units, times the width.

    Args:
        channels: of the images.
        classes: number of logits.
        image: height and width of the images.
        width: factor on the hidden units.
        blocks: number of hidden layers, at least 1.

    Returns:
        The network with blocks ``hidden1``, ..., ``head`` and a cut after each hidden
        layer.

    Raises:
        ValueError: if width or blocks leave nothing.
    """
    hidden = round(128 * width)
    if hidden < 1 or blocks < 1:
        raise ValueError(
            f"mlp: expected at least one hidden layer of one unit, got {blocks} and "
            f"width {width}"
        )
    parts: OrderedDict[str, nn.Module] = OrderedDict()
    inside = channels * image**2
    for layer in range(1, blocks + 1):
        steps: list[nn.Module] = [nn.Linear(inside, hidden), nn.ReLU()]
        parts[f"hidden{layer}"] = nn.Sequential(
            *([nn.Flatten(), *steps] if layer == 1 else steps)
        )
        inside = hidden
    parts["head"] = nn.Linear(inside, classes)
    return Network(nn.Sequential(parts), tuple(range(1, blocks + 1)))


def _group(inside: int, outside: int, norm: Norm) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 5, padding=2),
        normalisation(norm, outside),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )
