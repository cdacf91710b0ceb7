"""Options of a run in words; titles, legends and captions are made of nothing else."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

NAMES = {
    "algorithm": {
        "sfl-v1": "SFL-V1",
        "sfl-v2": "SFL-V2",
        "fedavg": "FL",
        "fedprox": "FedProx",
        "fedopt": "FedOpt",
        "sl": "SL",
        "minibatch-sfl": "MiniBatch-SFL",
        "centralized": "CL",
    },
    "dataset": {
        "cifar10": "CIFAR-10",
        "cifar100": "CIFAR-100",
        "fashion-mnist": "FMNIST",
        "femnist": "FEMNIST",
        "ham10000": "HAM10000",
        "tiny-imagenet": "TinyImageNet",
    },
    "model": {
        "resnet18": "ResNet-18",
        "resnet50": "ResNet-50",
        "cnn": "4-layer CNN",
        "mlp": "MLP",
    },
    "partition": {"iid": "IID", "natural": "natural groups"},
}
"""What the papers call values."""
LABELS = {
    "cut": "$L_c$",
    "lr": "learning rate",
    "measure": "measured",
    "proximal": "FedProx's coefficient",
    "fedopt": "FedOpt's server step",
    "fedopt_lr": "at the rate",
}
"""What options are called, where it is not their name."""
BARE = ("model", "dataset", "partition", "algorithm")
"""Options whose value says what it is the value of."""
SYNTHETIC = re.compile(r"synthetic:(\d+)x(\d+)x(\d+):(\d+)(?::(\d+))?")


def value(name: str, found: Any) -> str:
    """Return the value of an option in words.

    Args:
        name: of the option, as `sfl_train.deep.config.Config` calls it.
        found: its value.

    Returns:
        Words; different ones for different values.
    """
    known = NAMES.get(name, {}).get(found)
    if known is not None:
        return known
    if found is None:
        return "original" if name == "depth" else "default"
    if name == "dataset" and (made := SYNTHETIC.fullmatch(found)):
        classes, channels, pixels, images, noise = made.groups()
        return (
            f"synthetic {channels}×{pixels}×{pixels} ({classes} classes, {images} "
            "images" + f", {noise} % noise" * (noise is not None) + ")"
        )
    if name == "partition":
        kind, _, number = found.partition(":")
        symbol = {"dirichlet": r"\beta", "blocks": "r"}.get(kind)
        return f"${symbol}={number}$" if symbol else str(found)
    if name == "width" and 0 < found < 1:
        part = Fraction(found)
        if part.numerator == 1 and part.denominator <= 64:
            return f"1/{part.denominator}"
    return f"{found:g}" if isinstance(found, float) else str(found)


def named(name: str, found: Any) -> str:
    """Return an option with its value, "N = 10" for instance."""
    words = value(name, found)
    if name in BARE:
        return words
    if name == "clients":
        return f"N = {words}"
    return f"{LABELS.get(name, name.replace('_', ' '))} {words}"


def in_place(name: str, found: Any, printed: Any) -> str:
    """Return an option with its value, and the paper's where that is another.

    Args:
        name: of the option.
        found: its value.
        printed: the paper's.

    Returns:
        "N = 5 for 10", or "N = 10".
    """
    words = named(name, found)
    return words if found == printed else f"{words} for {value(name, printed)}"


def replaced(name: str, found: Any, printed: Any) -> str:
    """Return a value, and the paper's where that is another."""
    words = value(name, found)
    return words if found == printed else f"{words} for {value(name, printed)}"
