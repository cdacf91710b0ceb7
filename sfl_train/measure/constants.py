r"""$\sigma_n^2$, $G^2$, $\epsilon^2$ measured from per-sample and full gradients.

``at_point`` keeps every quantity *per coordinate*. Squared norms add up over
coordinates, so one pass over the data yields the totals, and a cumulative sum yields
the client's and the server's share at every cut. ``Trajectory`` collects the largest
values along a run: lower estimates of the assumptions' constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train.problems.problem import Problem, Sampling


@dataclass(frozen=True)
class PointConstants:
    r"""Squared gradient quantities at one common model, per coordinate.

    Attributes:
        variance: of the mini-batch gradient of client n, (N, d, R); sums over d to
            $\sigma_n^2(x)$.
        divergence2: $(\nabla F_n-\nabla f)^2$, (N, d, R).
        client_gradient2: $(\nabla F_n)^2$, (N, d, R).
        gradient2: $(\nabla f)^2$, (d, R).
        weights: $a_n$, (N,).
    """

    variance: Tensor
    divergence2: Tensor
    client_gradient2: Tensor
    gradient2: Tensor
    weights: Tensor

    def totals(self) -> Shares:
        """Return the sums over all coordinates."""
        return self._over(slice(None))

    def client_share(self, cut: int) -> Shares:
        """Return the sums over the client block.

        Args:
            cut: length of the client block, 0..d.

        Returns:
            Sums over the first ``cut`` coordinates.
        """
        return self._over(slice(0, self._valid(cut)))

    def server_share(self, cut: int) -> Shares:
        """Return the sums over the server block.

        Args:
            cut: length of the client block, 0..d.

        Returns:
            Sums over the coordinates from ``cut`` on.
        """
        return self._over(slice(self._valid(cut), None))

    def all_cuts(self) -> Shares:
        """Return the client share at every cut along a last axis of length d + 1.

        Entry k belongs to a client block of k coordinates: 0 at k = 0, the totals at
        k = d. The server share is the last entry minus entry k.
        """
        return Shares(
            sigma2=_cumulative(self.variance),
            divergence2=_cumulative(self.divergence2),
            client_gradient2=_cumulative(self.client_gradient2),
            gradient2=_cumulative(self.gradient2),
            weights=self.weights,
        )

    def _over(self, block: slice) -> Shares:
        return Shares(
            sigma2=self.variance[:, block].sum(1),
            divergence2=self.divergence2[:, block].sum(1),
            client_gradient2=self.client_gradient2[:, block].sum(1),
            gradient2=self.gradient2[block].sum(0),
            weights=self.weights,
        )

    def _valid(self, cut: int) -> int:
        if not 0 <= cut <= len(self.gradient2):
            raise ValueError(f"cut must lie in 0..{len(self.gradient2)}, got {cut}")
        return cut


@dataclass(frozen=True)
class Shares:
    r"""Squared norms over one block of coordinates, or over all of them.

    Attributes:
        sigma2: $\sigma_n^2$, (N, R) or, for all cuts, (N, R, d + 1).
        divergence2: $\|\nabla F_n-\nabla f\|^2$, same shape.
        client_gradient2: $\|\nabla F_n\|^2$, same shape.
        gradient2: $\|\nabla f\|^2$, the same without N.
        weights: $a_n$, (N,).
    """

    sigma2: Tensor
    divergence2: Tensor
    client_gradient2: Tensor
    gradient2: Tensor
    weights: Tensor

    @property
    def G2(self) -> Tensor:
        r"""$\max_n(\|\nabla F_n\|^2+\sigma_n^2)$: exact $\max_n\mathbb E\|g_n\|^2$."""
        return (self.client_gradient2 + self.sigma2).amax(0)

    @property
    def eps2(self) -> Tensor:
        r"""$\max_n\|\nabla F_n-\nabla f\|^2$."""
        return self.divergence2.amax(0)

    @property
    def mean_sigma2(self) -> Tensor:
        r"""$\sum_na_n\sigma_n^2$."""
        return torch.tensordot(self.weights, self.sigma2, 1)

    @property
    def mean_eps2(self) -> Tensor:
        r"""$\sum_na_n\|\nabla F_n-\nabla f\|^2$."""
        return torch.tensordot(self.weights, self.divergence2, 1)


def at_point(
    problem: Problem, x: Tensor, sampling: Sampling, weights: NDArray[np.float64]
) -> PointConstants:
    """Measure variance, divergence and gradients at a common model.

    Args:
        problem: the client objectives.
        x: the model in every replica, (d, R).
        sampling: the mini-batch rule whose variance is meant.
        weights: $a_n$, (N,).

    Returns:
        The quantities per coordinate; exact up to rounding, nothing is sampled.
    """
    a = torch.from_numpy(np.array(weights, dtype=np.float64))
    gradients = problem.full_gradients(x)
    mean = torch.tensordot(a, gradients, 1)
    everywhere = x.expand(problem.clients, *x.shape).contiguous()
    return PointConstants(
        variance=problem.variance(everywhere, sampling),
        divergence2=(gradients - mean).square_(),
        client_gradient2=gradients.square_(),
        gradient2=mean.square(),
        weights=a,
    )


@dataclass(frozen=True)
class TrajectoryConstants:
    r"""Largest values met along the runs, over rounds and replicas.

    The cut curves have d + 1 entries; entry k belongs to a client block of k
    coordinates. Their client and server parts are separate maxima, so they need not
    add up to the maximum of the total; the means do add up.

    Attributes:
        points: rounds measured.
        sigma2: $\max\sigma_n^2(x)$, (N,).
        G2: $\max\max_n(\|\nabla F_n\|^2+\sigma_n^2)$.
        eps2: $\max\max_n\|\nabla F_n-\nabla f\|^2$.
        mean_sigma2: $\max\sum_na_n\sigma_n^2$.
        mean_eps2: $\max\sum_na_n\|\nabla F_n-\nabla f\|^2$.
        client_sigma2: largest client share of $\sigma_n^2$ at every cut, (N, d + 1).
        server_sigma2: largest server share, (N, d + 1).
        client_eps2: largest client share of the divergence at every cut, (N, d + 1).
        server_eps2: largest server share, (N, d + 1).
        client_sigma2_mean: client share of $\sum_na_n\sigma_n^2$, averaged over rounds
            and replicas, (d + 1,); its last entry is the average total.
        client_eps2_mean: client share of $\sum_na_n\|\nabla F_n-\nabla f\|^2$, averaged
            over rounds and replicas, (d + 1,).
    """

    points: int
    sigma2: NDArray[np.float64]
    G2: float
    eps2: float
    mean_sigma2: float
    mean_eps2: float
    client_sigma2: NDArray[np.float64]
    server_sigma2: NDArray[np.float64]
    client_eps2: NDArray[np.float64]
    server_eps2: NDArray[np.float64]
    client_sigma2_mean: NDArray[np.float64]
    client_eps2_mean: NDArray[np.float64]


class Trajectory:
    """Collects ``PointConstants`` along a run and keeps maxima and means only."""

    def __init__(self) -> None:
        """Start with nothing measured."""
        self._points = 0
        self._maxima: dict[str, Tensor] = {}
        self._sums: dict[str, Tensor] = {}

    def add(self, point: PointConstants) -> None:
        """Take the measurements at one round into account.

        Args:
            point: what ``at_point`` returned.
        """
        total, cuts = point.totals(), point.all_cuts()
        self._points += 1
        self._raise("sigma2", total.sigma2.amax(1))
        self._raise("G2", total.G2.amax())
        self._raise("eps2", total.eps2.amax())
        self._raise("mean_sigma2", total.mean_sigma2.amax())
        self._raise("mean_eps2", total.mean_eps2.amax())
        for name, curve in (("sigma2", cuts.sigma2), ("eps2", cuts.divergence2)):
            self._raise(f"client_{name}", curve.amax(1))
            self._raise(f"server_{name}", (curve[..., -1:] - curve).amax(1))
            mean = torch.tensordot(point.weights, curve, 1).mean(0)
            key = f"client_{name}_mean"
            self._sums[key] = self._sums.get(key, torch.zeros_like(mean)) + mean

    def result(self) -> TrajectoryConstants:
        """Return the maxima and means so far.

        Returns:
            The constants of everything added.

        Raises:
            ValueError: if nothing has been added.
        """
        if self._points == 0:
            raise ValueError("no round was measured: call add at least once")
        largest = {name: value.numpy().copy() for name, value in self._maxima.items()}
        means = {k: (v / self._points).numpy() for k, v in self._sums.items()}
        return TrajectoryConstants(
            points=self._points,
            sigma2=largest["sigma2"],
            G2=float(largest["G2"]),
            eps2=float(largest["eps2"]),
            mean_sigma2=float(largest["mean_sigma2"]),
            mean_eps2=float(largest["mean_eps2"]),
            client_sigma2=largest["client_sigma2"],
            server_sigma2=largest["server_sigma2"],
            client_eps2=largest["client_eps2"],
            server_eps2=largest["server_eps2"],
            client_sigma2_mean=means["client_sigma2_mean"],
            client_eps2_mean=means["client_eps2_mean"],
        )

    def _raise(self, name: str, value: Tensor) -> None:
        old = self._maxima.get(name)
        self._maxima[name] = value if old is None else torch.maximum(old, value)


def _cumulative(per_coordinate: Tensor) -> Tensor:
    """Return sums over the first k coordinates, k = 0..d, on a new last axis."""
    moved = per_coordinate.movedim(-2, -1)
    return torch.nn.functional.pad(moved.cumsum(-1), (1, 0))
