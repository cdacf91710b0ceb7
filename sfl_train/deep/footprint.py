r"""The memory that a run needs at the least, known from shapes before any is taken.

What is counted is certainly held at one time, so a run that is refused could not have
been made: the worker's model and gradient, the aggregated model, the sums of an
aggregation in float64, what optimizers remember, the models of clients where an
algorithm holds them all, and the largest of what comes and goes: the features of a
mini-batch that its backward pass needs, an evaluation, and a checkpoint's two copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from sfl_train.deep.config import Config
from sfl_train.deep.evaluation import CHUNK
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.models.network import Network
from sfl_train.deep.models.resnet import Head, Residual
from sfl_train.memory import in_words, require

NUMBER, PRECISE, INDEX = 4, 8, 8
"""Bytes of a weight, of a sum of weights, of an index."""
AVERAGING = ("fedavg", "fedprox", "fedopt", "sfl-v1")
"""Algorithms whose sums hold the whole model."""
ALONE = ("sl", "centralized")
"""Algorithms without an average."""
Shape = tuple[int, ...]


class _Drawless(TorchFunctionMode):
    """Leaves out the drawing of weights that are shapes only."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func in {Tensor.normal_, Tensor.uniform_}:
            return args[0]
        return func(*args, **(kwargs or {}))


def outline(build: Callable[[], Network]) -> Network:
    """Return a network's shapes, for which no memory is taken.

    Args:
        build: makes the network.

    Returns:
        The network on the device "meta".

    Raises:
        ValueError: if its size is no number that a machine knows.
    """
    try:
        with torch.device("meta"), _Drawless():
            return build()
    except (RuntimeError, TypeError, OverflowError) as error:
        raise ValueError(
            "--model: has more weights than any memory: take a smaller --width"
        ) from error


@dataclass(frozen=True)
class Footprint:
    """Bytes that a run needs at the least, by what they hold.

    Attributes:
        weights: models, gradient, sums and optimizer memory that do not grow with N.
        clients: models and optimizer memory of many clients at the same time.
        passing: the largest of what comes and goes.
        draws: sample indices of a round, and the padded data of an augmentation.
    """

    weights: int
    clients: int
    passing: int
    draws: int

    @property
    def total(self) -> int:
        """All together."""
        return self.weights + self.clients + self.passing + self.draws


def footprint(
    config: Config,
    network: Network,
    image: Shape,
    counts: tuple[int, int],
    sizes: Sequence[int],
) -> Footprint:
    """Return what a run needs.

    Args:
        config: the options.
        network: the model, or its `outline`.
        image: channels, height, width.
        counts: training and test images.
        sizes: samples of every client.

    Returns:
        Its footprint.
    """
    blocks = list(network.blocks)
    each = [sum(p.numel() for p in block.parameters()) for block in blocks]
    cut = network.cut(config.cut)
    whole, client = sum(each), sum(each[:cut])
    split, name = config.split, config.algorithm
    near = _slots(config.optimizer, config)
    far = _slots(config.server_optimizer or config.optimizer, config)
    if not split:
        client, far = whole, near
    server = whole - client
    at_once = name == "minibatch-sfl" or (
        name == "sfl-v2" and config.order == "interleaved"
    )
    many = max(1, int(config.participation * len(sizes)))
    averaged = whole if name in AVERAGING else client
    if name in ALONE:
        averaged = 0
    weights = NUMBER * (3 * whole + near * client + far * server) + PRECISE * averaged
    crowd = 1
    if name in AVERAGING and not config.server_waits:
        crowd = min(config.clients_at_once, many)
    clients = NUMBER * (crowd - 1) * (2 * whole + near * client + far * server)
    if at_once:
        clients += NUMBER * many * client
    if at_once or (config.lifetime == "run" and name not in ALONE):
        clients += NUMBER * (many - 1) * near * client
    if name == "sfl-v1" and config.server_waits:
        clients += NUMBER * many * server
    if name == "fedopt":
        weights += NUMBER * {"sgd": 0, "adam": 2, "yogi": 2}[config.fedopt] * whole
    work = _work(config)
    held = [sum(sizes)] if name == "centralized" else sizes
    batch = min(config.batch_size, max(held))
    if name == "minibatch-sfl":
        batch = sum(min(config.batch_size, size) for size in sorted(held)[:many])
    batch *= crowd
    kept, wide = _features(blocks, image)
    evaluated = NUMBER * (whole + min(CHUNK, counts[1]) * wide)
    samples = [work.samples(size) for size in held]
    drawn = sum(sorted(samples)[:many]) if at_once else max(samples)
    draws = INDEX * drawn
    if config.augmentation == "crop-flip":
        channels, height, width = image
        draws += 3 * INDEX * drawn + counts[0] * channels * (height + 8) * (width + 8)
    return Footprint(
        weights, clients, max(batch * kept, evaluated, 2 * NUMBER * whole), draws
    )


def refuse_too_large(found: Footprint, config: Config) -> None:
    """Refuse a run that cannot fit, with what it needs and what there is.

    Args:
        found: what the run needs.
        config: its options.

    Raises:
        ValueError: if the device has less.
    """
    advice = {
        found.weights: "take a smaller --model or --width",
        found.clients: "take fewer --clients or --clients-at-once, a smaller --cut, or "
        "--order client-sequential for sfl-v2",
        found.passing: "take a smaller --batch-size or --width",
        found.draws: "take a smaller --tau, --epochs or --batch-size",
    }[max(found.weights, found.clients, found.passing, found.draws)]
    have = None
    if torch.device(config.device).type == "cuda":
        have = torch.cuda.mem_get_info(config.device)[0]
    parts = ", ".join(
        f"{word} {in_words(size)}"
        for word, size in (
            ("weights", found.weights),
            ("clients' models", found.clients),
            ("features", found.passing),
            ("draws", found.draws),
        )
        if size >= found.total / 100
    )
    require(found.total, f"--model: {config.model} ({parts})", advice, have)


def _work(config: Config) -> LocalWork:
    tau = max(filter(None, (config.tau, config.tau_server)), default=None)
    return LocalWork(tau, config.epochs, config.batch_size, config.sampling)  # type: ignore[arg-type]


def _slots(optimizer: str, config: Config) -> int:
    return 2 if optimizer == "adam" else int(config.momentum > 0)


def _features(blocks: Sequence[nn.Module], image: Shape) -> tuple[int, int]:
    """Return what an image leaves behind, and the most that a layer takes and gives.

    Args:
        blocks: of the network, all of known kinds; an unknown one ends the count.
        image: its shape.

    Returns:
        Bytes kept for the backward pass, and numbers of one layer's input and output.
    """
    count = _Count()
    shape: Shape | None = image
    for block in blocks:
        shape = count.through(block, shape)
        if shape is None:
            break
    return NUMBER * prod(image) + count.kept, count.wide


class _Count:
    """Follows the shape of an image through a network."""

    def __init__(self) -> None:
        self.kept = self.wide = 0

    def through(self, module: nn.Module, shape: Shape | None) -> Shape | None:
        """Return the shape after a module; None where it is not known."""
        if shape is None:
            return None
        if isinstance(module, nn.Sequential):
            for one in module:
                shape = self.through(one, shape)
            return shape
        if isinstance(module, Residual):
            self.through(module.shortcut, shape)
            found = self.through(module.branch, shape)
            self.kept += NUMBER * prod(found or ())
            return found
        found = _after(module, shape)
        if found is None:
            return None
        self.wide = max(self.wide, prod(shape) + prod(found))
        if isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
            self.kept += NUMBER * prod(shape)
        elif isinstance(module, nn.ReLU):
            self.kept += NUMBER * prod(found)
        elif isinstance(module, nn.MaxPool2d):
            self.kept += (NUMBER + INDEX) * prod(found)
        return found


def _after(module: nn.Module, shape: Shape) -> Shape | None:
    """Return the shape that a layer makes of one; None of an unknown layer."""
    if isinstance(module, nn.Conv2d | nn.MaxPool2d) and len(shape) == 3:
        size, stride, padding = (
            value[0] if isinstance(value, tuple) else int(value)
            for value in (module.kernel_size, module.stride, module.padding)
        )
        channels = module.out_channels if isinstance(module, nn.Conv2d) else shape[0]
        sides = tuple((side + 2 * padding - size) // stride + 1 for side in shape[1:])
        return channels, *sides
    if isinstance(module, nn.Flatten):
        return (prod(shape),)
    if isinstance(module, nn.Linear):
        return *shape[:-1], module.out_features
    if isinstance(module, Head):
        return (module.linear.out_features,)
    same = (nn.ReLU, nn.Identity, nn.BatchNorm2d, nn.GroupNorm, nn.Dropout)
    return shape if isinstance(module, same) else None
