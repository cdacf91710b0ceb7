"""Real data sets that ship with scikit-learn; nothing is downloaded.

``load("digits")`` is the entry. Features are scaled once, here, so that smoothness
constants are of order one to ten and every user of a name sees the same numbers.

scikit-learn's files are read where they lie, because importing the library takes longer
than training on them; where they lie elsewhere, its own loaders are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Dataset:
    """Samples with a class or a real target.

    Attributes:
        name: the name ``load`` knows it by.
        X: features, float64, shape (D, F), without a bias column.
        y: class indices 0..classes-1 (int64), or real targets (float64), shape (D,).
        classes: number of classes, or None for a real target.
        groups: natural group of every sample (int64, shape (D,)), or None.
        source: where the data come from and under which licence.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64] | NDArray[np.float64]
    classes: int | None
    groups: NDArray[np.int64] | None
    source: str


def load(name: str) -> Dataset:
    """Return the bundled data set ``name``.

    Args:
        name: one of ``NAMES``.

    Returns:
        The data set; every call returns fresh arrays.

    Raises:
        ValueError: if the name is unknown.
    """
    if name not in _LOADERS:
        raise ValueError(f"unknown data set {name!r}: choose one of {', '.join(NAMES)}")
    return _LOADERS[name]()


@cache
def raw(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return features and targets of one of scikit-learn's data sets, unscaled.

    They are read once; every call returns the same arrays, which cannot be written to.

    Args:
        name: "digits", "breast_cancer" or "diabetes".

    Returns:
        X of shape (D, F) and y of shape (D,), as its ``load_...`` functions give them
        (with ``return_X_y=True, scaled=False``).
    """
    X, y = _read(name)
    for each in (X, y):
        each.flags.writeable = False
    return X, y


def _read(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    spec = find_spec("sklearn")
    home = Path((spec.submodule_search_locations or [""])[0]) if spec else Path()
    files = [home / "datasets" / "data" / file for file in _FILES[name]]
    if not all(file.is_file() for file in files):
        from sklearn import datasets

        options = {"scaled": False} if name == "diabetes" else {}
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True, **options)
        return X, y.astype(np.float64)
    if name == "digits":
        table = np.loadtxt(files[0], delimiter=",")
        return table[:, :-1], table[:, -1]
    if name == "breast_cancer":
        table = np.loadtxt(files[0], delimiter=",", skiprows=1)
        return table[:, :-1], table[:, -1]
    return np.loadtxt(files[0]), np.loadtxt(files[1])


_FILES = {
    "digits": ("digits.csv.gz",),
    "breast_cancer": ("breast_cancer.csv",),
    "diabetes": ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz"),
}


def _digits() -> Dataset:
    X, y = raw("digits")
    return Dataset("digits", X / 16.0, y.astype(np.int64), 10, None, _DIGITS)


def _digits_parity() -> Dataset:
    # Odd or even, on 4x4 pixels: means of 2x2 blocks. Some pixels of the full images
    # are inked in one parity alone, which separates the classes (quasi-completely),
    # and then the logistic risk has no minimiser.
    X, y = raw("digits")
    X = X.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)
    odd = (y % 2).astype(np.int64)
    return Dataset("digits-parity", X / 16.0, odd, 2, None, _DIGITS)


def _breast_cancer() -> Dataset:
    X, y = raw("breast_cancer")
    y = y.astype(np.int64)
    return Dataset("breast_cancer", _standardised(X), y, 2, None, _CANCER)


def _breast_cancer_mean() -> Dataset:
    # Mean radius, texture, perimeter and area alone: here the two classes overlap.
    X, y = raw("breast_cancer")
    X, y = _standardised(X[:, :4]), y.astype(np.int64)
    return Dataset("breast_cancer-mean", X, y, 2, None, _CANCER)


def _diabetes() -> Dataset:
    X, y = raw("diabetes")
    sex = np.unique(X[:, 1], return_inverse=True)[1].astype(np.int64)
    return Dataset("diabetes", _standardised(X), _standardised(y), None, sex, _DIABETES)


def _standardised(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns with mean 0 and population standard deviation 1."""
    standardised: NDArray[np.float64] = (columns - columns.mean(0)) / columns.std(0)
    return standardised


_DIGITS = (
    "Optical recognition of handwritten digits (test part), E. Alpaydin and C. Kaynak,"
    " UCI repository, CC BY 4.0, as bundled with scikit-learn"
)
_CANCER = (
    "Breast cancer Wisconsin (diagnostic), W. Wolberg, O. Mangasarian, N. Street,"
    " W. Street, UCI repository, CC BY 4.0, as bundled with scikit-learn"
)
_DIABETES = (
    "Diabetes data of B. Efron, T. Hastie, I. Johnstone and R. Tibshirani, Least angle"
    " regression (Annals of Statistics 2004), as bundled with scikit-learn"
)

_LOADERS: dict[str, Callable[[], Dataset]] = {
    "digits": _digits,
    "digits-parity": _digits_parity,
    "breast_cancer": _breast_cancer,
    "breast_cancer-mean": _breast_cancer_mean,
    "diabetes": _diabetes,
}
NAMES = tuple(_LOADERS)
