"""Images in an ``.npz`` file of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_train.arrays import read_arrays
from sfl_train.deep.data.images import Images

REQUIRED = ("train_x", "train_y", "test_x", "test_y")
OPTIONAL = ("groups",)


def own_images(path: Path) -> Images:
    """Read images and labels; nothing in the file is ever unpickled.

    - ``train_x``, ``test_x``: uint8, shape (samples, channels, pixels, pixels), or
      (samples, pixels, pixels) for one channel;
    - ``train_y``, ``test_y``: integers from 0 to K-1, shape (samples,); every one of
      the K classes has a training image;
    - ``groups``, optional: natural group of every training image, integers.

    Args:
        path: of the file.

    Returns:
        The images.

    Raises:
        ValueError: in one line that names the array and what is wrong with it.
    """
    try:
        arrays = read_arrays(path)
        known = (*REQUIRED, *OPTIONAL)
        missing = [name for name in REQUIRED if name not in arrays]
        unknown = [name for name in arrays if name not in known]
        if missing or unknown:
            what = f"no array {missing[0]}" if missing else f"an array {unknown[0]!r}"
            raise ValueError(f"{path}: has {what}; expected {', '.join(known)}")
        train_x, test_x = (_pixels(path, arrays, f"{s}_x") for s in ("train", "test"))
        train_y, test_y = (
            _integers(path, arrays, f"{split}_y", len(x))
            for split, x in (("train", train_x), ("test", test_x))
        )
        groups = None
        if "groups" in arrays:
            groups = _integers(path, arrays, "groups", len(train_x))
        seen = train_x.astype(np.float64) / 255.0
        return Images(
            name=str(path),
            train_x=train_x,
            train_y=train_y,
            test_x=test_x,
            test_y=test_y,
            classes=_classes(path, train_y),
            mean=tuple(seen.mean((0, 2, 3)).tolist()),
            std=tuple(seen.std((0, 2, 3)).clip(min=1 / 255).tolist()),
            groups=groups,
            source=f"the user's {path.name}",
        )
    except ValueError as error:
        raise ValueError(f"--dataset: {error}") from error


def _pixels(
    path: Path, arrays: dict[str, NDArray[Any]], name: str
) -> NDArray[np.uint8]:
    x = arrays[name]
    if x.dtype != np.uint8:
        raise ValueError(
            f"{path}: {name} must be uint8, pixels from 0 to 255, got {x.dtype}"
        )
    if x.ndim == 3:
        x = x[:, None]
    if x.ndim != 4 or x.shape[2] != x.shape[3] or 0 in x.shape:
        raise ValueError(
            f"{path}: {name} must have shape (samples, channels, pixels, pixels) or "
            f"(samples, pixels, pixels), got {arrays[name].shape}"
        )
    return np.ascontiguousarray(x)


def _integers(
    path: Path, arrays: dict[str, NDArray[Any]], name: str, count: int
) -> NDArray[np.int64]:
    y = arrays[name]
    if y.dtype.kind not in "iu":
        raise ValueError(f"{path}: {name} must be integers, got {y.dtype}")
    if y.shape != (count,):
        raise ValueError(f"{path}: {name} must have shape ({count},), got {y.shape}")
    if y.min() < 0 or y.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{path}: {name} must lie from 0 on, got {y.min()}, {y.max()}")
    return y.astype(np.int64)


def _classes(path: Path, labels: NDArray[np.int64]) -> int:
    """Return the number of classes.

    Raises:
        ValueError: if one of them has no training image.
    """
    there = np.unique(labels)
    if there[-1] != len(there) - 1:
        empty = next(k for k, label in enumerate(there) if label != k)
        raise ValueError(
            f"{path}: train_y goes up to {there[-1]}, but class {empty} has no "
            "training image: labels must be 0 to K-1"
        )
    return len(there)
