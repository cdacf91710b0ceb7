r"""Two clients in a plane that pull apart: how far their local steps carry the model.

Both are quadratic with curvature S along an axis of their own, the axes at an angle,
and $\mu$ across it. Their gradients at the minimum are opposite, along the direction in
which local steps move the balance most. The server's block rests, or, where SFL-V2's
visits go to one after the other, the client's; there is no noise, so every round is
affine and the run is followed as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfl_theory import affine
from sfl_theory.bound import Metric
from sfl_theory.constants import Constants

Array = NDArray[np.float64]
COSINES = (0.0, 0.3, 0.5, 0.7, 0.82, 0.9)
"""Of the angle between the clients' steep axes."""
STARTS = (0.0, 0.5, -0.5, None)
"""Where a run starts, along the flattest axis, in units of that of gradient one.

None: where the first round leaves it. There no client's gradient is much longer than at
the minimum, so late its force may be nearly all that the constants allow.
"""


@dataclass(frozen=True)
class Pulled:
    """A run of the two clients, at the scale that the constants allow.

    Attributes:
        S: the larger curvature.
        mu: the smaller one.
        cosine: of the angle between the axes.
        start: one of ``STARTS``.
        tau: number of local steps.
        rates: of the side that moves, one per round.
        visits: of SFL-V2's server to each half of the clients in a round, all those
            to the first half before the others; 0: clients step side by side.
    """

    S: float
    mu: float
    cosine: float
    start: float | None
    tau: int
    rates: Array
    visits: int = 0

    @cached_property
    def axes(self) -> Array:
        """The clients' eigenvectors as columns, steep one first, shape (2, 2, 2)."""
        half = np.arccos(self.cosine) / 2
        turns = [
            [[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in (half, -half)
        ]
        return np.array(turns)

    @cached_property
    def curvatures(self) -> Array:
        """The clients' Hessians, shape (2, 2, 2)."""
        size = np.array([self.S, self.mu])
        return np.asarray(np.einsum("nij,j,nkj->nik", self.axes, size, self.axes))

    @cached_property
    def force(self) -> Array:
        """The first client's gradient at the minimum, of length one."""
        one, two = self.curvatures
        off = one - two
        if self.visits:
            early = (1 - 1 / self.visits) / 2
            off = early * one + (1 - early) * two
        apart = off @ np.linalg.inv(one + two) @ off
        return np.asarray(np.linalg.eigh((apart + apart.T) / 2)[1][:, -1])

    @cached_property
    def centres(self) -> Array:
        """Where the clients are lowest; the minimum of f is at 0."""
        pulls = np.array([self.force, -self.force])
        return -np.linalg.solve(self.curvatures, pulls[..., None])[..., 0]

    @cached_property
    def models(self) -> Array:
        """The model before every round and after the last, shape (T + 1, 2)."""
        linear, constant = self._rounds
        if self.start is None:
            x = np.linalg.solve(np.eye(2) - linear[0], constant[0])
        else:
            sizes, flat = np.linalg.eigh(self.curvatures.mean(axis=0))
            x = flat[:, 0] * self.start / sizes[0]
        with np.errstate(over="ignore", invalid="ignore"):
            found = affine.course(np.moveaxis(linear, 0, -1), constant.T, x)
        return np.asarray(found.T)

    @cached_property
    def _steps(self) -> tuple[Array, Array]:
        """A and b of what all steps of a client make of x: A x + b, (T, 2, ...)."""
        steps = self.visits or self.tau
        lost = 1 - (1 - np.outer(self.rates, [self.S, self.mu])) ** steps
        onto = np.einsum("nij,nkj->jnik", self.axes, self.axes)
        pulls = np.einsum("jnik,nk->jni", onto, self.centres)
        each, fixed = (lost @ one.reshape(2, -1) for one in (onto, pulls))
        return np.eye(2) - each.reshape(-1, 2, 2, 2), fixed.reshape(-1, 2, 2)

    @cached_property
    def _rounds(self) -> tuple[Array, Array]:
        """What a round makes of a model: clients averaged, or one after the other."""
        each, fixed = self._steps
        if not self.visits:
            return each.mean(axis=1), fixed.mean(axis=1)
        linear = each[:, 1] @ each[:, 0]
        return linear, np.einsum("tij,tj->ti", each[:, 1], fixed[:, 0]) + fixed[:, 1]

    @property
    def _met(self) -> Array:
        """The models at which the clients begin their steps, shape (T + 1, 2, 2)."""
        x = self.models
        both = np.repeat(x[:, None], 2, axis=1)
        if self.visits:
            each, fixed = self._steps
            both[:-1, 1] = np.einsum("tij,tj->ti", each[:, 0], x[:-1]) + fixed[:, 0]
        return both

    @cached_property
    def gaps(self) -> Array:
        """``f(x^t) - f*``."""
        H = self.curvatures.mean(axis=0)
        return np.asarray(np.einsum("ti,ij,tj->t", self.models, H, self.models) / 2)

    def scale(self, constants: Constants) -> float:
        """Return by what squares may grow, so that no constant is exceeded.

        Its own steps shrink a client's gradient, so it is largest before the first.
        """
        x, H = self.models, self.curvatures
        own = np.einsum("nij,tnj->tni", H, self._met - self.centres)
        apart = own - own.mean(axis=1, keepdims=True)
        largest = (own**2).sum(axis=2).max()
        lowest = np.einsum("ni,nij,nj->n", self.centres, H, self.centres).mean() / 2
        far = float((x[0] ** 2).sum())
        limits = [
            (constants.G2, largest),
            (constants.R2, largest),
            (constants.eps2, (apart**2).sum(axis=2).max()),
            (constants.Gamma, lowest),
            (constants.initial_gap, self.gaps[0]),
            (constants.initial_distance2, far),
            (constants.initial_distance2_client, far),
        ]
        return min(
            (known / own for known, own in limits if known is not None and own > 0),
            default=0.0,
        )

    def values(self, metric: Metric, rounds: NDArray[np.int64]) -> Array:
        """Return a metric after some numbers of rounds, at scale one."""
        mean = self.curvatures.mean(axis=0)
        found = {
            "gap": self.gaps,
            "gradient": ((self.models @ mean) ** 2).sum(axis=1),
            "server" if self.visits else "client": (self.models**2).sum(axis=1),
        }.get(metric.quantity, np.zeros(len(self.models)))
        if not metric.weighted:
            return np.asarray(found[rounds])
        sums = np.cumsum(self.rates * found[:-1])
        return np.asarray(sums[rounds - 1] / rounds)

    def __str__(self) -> str:
        angle = np.degrees(np.arccos(self.cosine))
        where = "from x*" if self.start == 0 else "from beside x*"
        who = "clients, visited one after the other" if self.visits else "clients"
        return f"two {who}, steep along axes {angle:.0f} degrees apart, {where}"


def pulled(
    constants: Constants, tau: int, rates: Array, visits: int = 0
) -> Iterator[Pulled]:
    """Yield the runs of two clients of the largest and the smallest curvature.

    Args:
        constants: S, and mu, 1e-6 S where it is not positive.
        tau: number of local steps.
        rates: one per round.
        visits: to each half of the clients, of SFL-V2's server.

    Yields:
        Runs for several angles and starts.
    """
    S = constants.S or 1.0
    mu = constants.mu or S * 1e-6
    if (tau == 1 and not visits) or mu >= S or rates[0] * S > 1:
        return
    for cosine in COSINES:
        for start in STARTS:
            yield Pulled(S, mu, cosine, start, tau, rates, visits)
