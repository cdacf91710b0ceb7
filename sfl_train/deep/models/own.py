"""A network of the user's own: what a function in a Python file returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from sfl_theory.user_files import run, said
from sfl_train import streams
from sfl_train.deep.data.images import Images
from sfl_train.deep.models.network import Network
from sfl_train.streams import Purpose

GIVEN = ("channels", "classes", "pixels")
"""What a function may ask for, by the names of its parameters."""


def own_network(
    path: Path, function: str, images: Images, classes: int, seed: int
) -> Network:
    """Run a Python file and return the network that a function in it makes.

    The file is the user's own program and may do whatever a program does. It may import
    what lies beside it. Weights are drawn from the seed, as those of our networks are.

    Args:
        path: of the file.
        function: its name there; those of its parameters that are called ``channels``,
            ``classes`` or ``pixels`` are handed what the data have.
        images: the data.
        classes: number of logits, at least that of the data's classes.
        seed: of the weights.

    Returns:
        The network; a cut is the number of blocks on the client side.

    Raises:
        ValueError: in one line, if the file cannot be run or what the function returns
            cannot be trained on these data.
    """
    where = f"--model: {path}:{function}"
    made = _function(path, function)
    values = dict(zip(GIVEN, (images.channels, classes, images.pixels), strict=True))
    asked = {name: values[name] for name in _asked(made, where)}
    first, second = (_drawn(made, asked, seed, where, path) for _ in range(2))
    if not isinstance(first, nn.Sequential):
        raise ValueError(
            f"{where}: expected a torch.nn.Sequential, got a {type(first).__name__}"
        )
    if len(first) < 2:
        raise ValueError(f"{where}: has {len(first)} block, a cut needs two")
    _check(first, images, classes, where, path)
    there, again = first.state_dict(), second.state_dict()
    if there.keys() != again.keys() or not all(
        torch.equal(tensor, again[name]) for name, tensor in there.items()
    ):
        raise ValueError(
            f"{where}: makes another network at each call: let it draw by PyTorch's "
            "generator alone, which is seeded here, so that a run can go on"
        )
    return Network(first)


def _function(path: Path, name: str) -> Callable[..., object]:
    try:
        module = run(path, "_own_network")
    except ValueError as error:
        raise ValueError(f"--model: {error}") from error
    found = getattr(module, name, None)
    if not callable(found):
        raise ValueError(f"--model: {path} has no function {name}")
    return found  # type: ignore[no-any-return]


def _asked(function: Callable[..., object], where: str) -> list[str]:
    """Return the parameters of a function that are filled in here.

    Raises:
        ValueError: if it has others without a default.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {said(error)}") from error
    needs = [
        one.name
        for one in parameters
        if one.default is one.empty
        and one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}
        and (one.name not in GIVEN or one.kind is one.POSITIONAL_ONLY)
    ]
    if needs:
        raise ValueError(
            f"{where}: has a parameter {needs[0]} without a default; only "
            f"{', '.join(GIVEN)} are given"
        )
    return [one.name for one in parameters if one.name in GIVEN]


def _drawn(
    function: Callable[..., object],
    asked: dict[str, int],
    seed: int,
    where: str,
    path: Path,
) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(streams.keys(seed, Purpose.INITIAL_POINT)))
        try:
            found = function(**asked)
        except (Exception, SystemExit) as error:
            raise ValueError(f"{where}: {said(error, path)}") from error
    if not isinstance(found, nn.Module):
        raise ValueError(
            f"{where}: expected a torch.nn.Sequential, got a {type(found).__name__}"
        )
    return found


def _check(
    blocks: nn.Sequential, images: Images, classes: int, where: str, path: Path
) -> None:
    """Refuse a network that cannot be trained on the data.

    Raises:
        ValueError: if there is nothing to train, or logits do not come out.
    """
    kinds = {str(p.dtype).removeprefix("torch.") for p in blocks.parameters()}
    if kinds != {"float32"}:
        found = f"they are {' and '.join(sorted(kinds))}" if kinds else "it has none"
        raise ValueError(f"{where}: expected parameters in float32, {found}")
    x = torch.zeros(2, images.channels, images.pixels, images.pixels)
    trains = {name: module.training for name, module in blocks.named_modules()}
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            out = blocks.eval()(x)
    except Exception as error:
        shape = "x".join(map(str, x.shape[1:]))
        failed = f"{where}: on images of shape {shape}: {said(error, path)}"
        raise ValueError(failed) from error
    finally:
        for name, module in blocks.named_modules():
            module.training = trains[name]
    if not isinstance(out, torch.Tensor) or out.ndim != 2 or len(out) != len(x):
        got = tuple(out.shape) if isinstance(out, torch.Tensor) else type(out).__name__
        raise ValueError(
            f"{where}: expected logits of shape (2, {classes}) for two images, got "
            f"{got}"
        )
    if out.shape[1] != classes:
        raise ValueError(
            f"{where}: has {out.shape[1]} logits, but there are {classes} classes; "
            "--classes says how many logits are meant, where the data have fewer"
        )
    if out.dtype != torch.float32:
        raise ValueError(f"{where}: expected logits in float32, got {out.dtype}")
