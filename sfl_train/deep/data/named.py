"""Data sets by name."""

from __future__ import annotations

import re
from pathlib import Path

from sfl_train.deep.data.digits import digits
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.synthetic import synthetic

_SHAPE = re.compile(r"synthetic(?::(\d+)x(\d+)x(\d+)(?::(\d+))?)?")

NAMES = ("digits", "synthetic[:CLASSESxCHANNELSxPIXELS[:IMAGES]]")


def load(name: str, root: Path) -> Images:
    """Return a data set.

    Args:
        name: one of ``NAMES``.
        root: folder that holds the standard files.

    Returns:
        The images.

    Raises:
        ValueError: if the name is unknown, or files are missing or damaged.
    """
    if name == "digits":
        return digits()
    match = _SHAPE.fullmatch(name)
    if match:
        classes, channels, pixels, train = (
            int(word) if word else default
            for word, default in zip(match.groups(), (10, 3, 32, 2000), strict=True)
        )
        return synthetic(classes, channels, pixels, train, max(classes, train // 4))
    raise ValueError(f"--dataset: unknown data set {name!r}; known: {', '.join(NAMES)}")
