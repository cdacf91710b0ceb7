"""Models that differ in their numbers only: a crowd, as arrays over its members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from sfl_theory.kernel import terms as k

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Span:
    """The rounds from `first` to `last`, as the value of an index."""

    first: int
    last: int
    __array_ufunc__ = None

    def __mul__(self, other: Array) -> Array:
        """Return each round times an array, the rounds in front."""
        rounds = np.arange(self.first, self.last + 1.0)
        found: Array = rounds.reshape(-1, 1, 1) * other
        return found

    __rmul__ = __mul__


Index = int | Span


def paired(one: Array, two: Array) -> Array:
    """Return vectors of two coordinates; in memory each coordinate stands together.

    Where models are neighbours in memory, arrays of several shapes are multiplied many
    models at a time. All that is made of such arrays is arranged in the same way.
    """
    out = np.empty((2, *one.shape), dtype=np.result_type(one, two))
    out[0], out[1] = one, two
    return np.moveaxis(out, 0, -1)


class NotEvaluatedError(ValueError):
    """What no crowd can evaluate."""


@dataclass(frozen=True)
class Shape:
    """``sum_p h_p x_p^2/2 + l_p x_p + w_p huber(x_p - e_p) + m x_1 x_2``.

    Entries are (models, 2), m and `rest` are (models, 1); where m is not 0, h_1 = h_2,
    so that the Hessian's eigenvalues are h - m and h + m. `rest` is the curvature along
    a coordinate in which all that moves is 0; only conditions on Hessians see it.
    """

    curvature: Array
    linear: Array
    bend: Array
    centre: Array
    width: Array
    mixed: Array
    rest: Array

    def value(self, x: Array) -> Array:
        """Return F(x), (models, outcomes)."""
        c, b = self.curvature[:, None], self.linear[:, None]
        u, w = np.abs(x - self.centre[:, None]), self.width[:, None]
        huber = np.where(u <= w, u * u / 2, w * u - w * w / 2)
        own = (c * x * x / 2 + b * x + self.bend[:, None] * huber).sum(-1)
        found: Array = own + self.mixed * x[..., 0] * x[..., 1]
        return found

    def gradient(self, x: Array) -> Array:
        """Return grad F(x)."""
        w = self.width[:, None]
        u = np.minimum(w, np.maximum(-w, x - self.centre[:, None]))
        out = self.curvature[:, None] * x + self.linear[:, None]
        found: Array = out + self.bend[:, None] * u + self.mixed[:, None] * x[..., ::-1]
        return found

    @cached_property
    def highest(self) -> Array:
        """The largest curvature."""
        top = np.max(self.curvature + self.bend, axis=-1, keepdims=True)
        found: Array = np.maximum(top + np.abs(self.mixed), self.rest)
        return found

    @cached_property
    def lowest(self) -> Array:
        """The least curvature."""
        low = np.min(self.curvature, axis=-1, keepdims=True)
        found: Array = np.minimum(low - np.abs(self.mixed), self.rest)
        return found


@dataclass
class Crowd:
    """Models that differ in numbers only; see the kernel's `Model` for the entries.

    Attributes:
        noise: of each client: None, or a vector and whether a coin gives it its sign
            (else it is always the same, so biased).
        participation: of each client: None where it always takes part.
        rates: of each family over rounds a function of the round.
        copies: how many clients are like each one, in statements about numbers.
    """

    functions: list[Shape]
    weights: list[Array]
    participation: list[Array | None]
    noise: list[tuple[Array, bool] | None]
    start: Array
    order: tuple[tuple[int, int], ...]
    rounds: int
    wholes: dict[k.Var, int]
    numbers: dict[k.Var, Array]
    families: dict[k.ClientFamily, list[Array]]
    rates: dict[k.RoundFamily, Callable[[int], Array]]
    named: dict[k.NamedFunction, Shape]
    points: dict[k.Point, Array]
    stars: dict[k.Function, Array]
    box: tuple[Array, Array] | None = None
    exact: bool = False
    copies: int = 1

    def mean(self) -> Shape:
        """Return f; bends have the same centre and width at every client."""
        first = self.functions[0]
        pairs = list(zip(self.weights, self.functions, strict=True))

        def average(of: Callable[[Shape], Array]) -> Array:
            return sum((a * of(F) for a, F in pairs), 0 * first.linear)

        return Shape(
            average(lambda F: F.curvature),
            average(lambda F: F.linear),
            average(lambda F: F.bend),
            first.centre,
            first.width,
            sum((a * F.mixed for a, F in pairs), 0 * first.mixed),
            sum((a * F.rest for a, F in pairs), 0 * first.rest),
        )

    def corners(self) -> list[Array]:
        """Return the box's corners, each (models, 1, 2)."""
        low, high = self.box or (self.start, self.start)
        ends = product((low[:, :1], high[:, :1]), (low[:, 1:], high[:, 1:]))
        return [np.concatenate(pair, axis=1)[:, None] for pair in ends]
