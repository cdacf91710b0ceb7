r"""What the algorithms and the measurements need to know of a problem.

Tensors are float64 and laid out *clients x parameters x replicas*: ``x[k, :, r]`` is
the parameter vector that client ``clients[k]`` holds in replica (seed) ``r``. One call
serves all clients and all seeds at once. A mini-batch is not a list of samples but a
*draw*: for data problems the weight of every sample of the client (count / B, zero for
padding), shape ``(K, D, R)``; for problems with additive noise the noise vector itself,
shape ``(K, d, R)``. Full gradients, mini-batches with and without replacement, and
clients of unequal size are then one and the same batched product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train.streams import Keys


@dataclass(frozen=True)
class Sampling:
    """How a client draws its mini-batch.

    Attributes:
        batch_size: B; None takes the whole data set of the client (no variance).
        replacement: draw with replacement; otherwise B distinct samples.
    """

    batch_size: int | None = None
    replacement: bool = True


@dataclass(frozen=True)
class BallConstants:
    r"""Constants of the assumptions that hold on a ball, proved, not sampled.

    Attributes:
        center: $c$, shape (d,).
        radius: $\rho$; the constants hold for every $x$ with $\|x-c\|\le\rho$.
        sigma2: $\sigma_n^2$ of the stochastic gradient under the sampling, shape (N,).
        G2: bound of $\mathbb E\|g_n(x)\|^2$ for every client.
        eps2: bound of $\|\nabla F_n(x)-\nabla f(x)\|^2$ for every client.
    """

    center: NDArray[np.float64]
    radius: float
    sigma2: NDArray[np.float64]
    G2: float
    eps2: float


class Problem(ABC):
    """Client objectives $F_1..F_N$ over one parameter vector of length ``dimension``.

    Attributes:
        name: what the problem is called in records and pictures.
        clients: number of clients N.
        dimension: number of parameters d.
        sizes: samples per client, shape (N,); ones where a client holds no samples.
        x0: the initial point, shape (d,).
        cuts: admissible cuts, label -> length of the client block in coordinates.
        default_cut: a label of ``cuts``.
        convexity: "strongly_convex", "general_convex" or "non_convex".
        S: smoothness constant valid for every client on all of R^d, or None.
        mu: strong convexity constant valid for every client (0 if merely convex);
            None where the problem is not convex.
    """

    name: str
    clients: int
    dimension: int
    sizes: NDArray[np.int64]
    x0: NDArray[np.float64]
    cuts: Mapping[str, int]
    default_cut: str
    convexity: str
    S: float | None
    mu: float | None

    @abstractmethod
    def loss(self, x: Tensor, clients: Tensor | None = None) -> Tensor:
        """Return $F_n(x_n)$, shape (K, R), of ``x`` with shape (K, d, R).

        Args:
            x: parameter vectors.
            clients: which client each of the K rows belongs to; None means all N.
        """

    @abstractmethod
    def gradient(
        self, x: Tensor, draw: Tensor | None = None, clients: Tensor | None = None
    ) -> Tensor:
        r"""Return $\nabla F_n(x_n)$ or a stochastic gradient, shape (K, d, R).

        Args:
            x: parameter vectors, shape (K, d, R).
            draw: what ``draw`` returned for these rows; None: the exact gradient.
            clients: which client each row belongs to; None means all N.
        """

    @abstractmethod
    def draw(
        self, sampling: Sampling, keys: Keys, clients: NDArray[np.int64] | None = None
    ) -> Tensor | None:
        """Draw mini-batches (or gradient noise) from the streams ``keys``.

        Args:
            sampling: batch size and replacement.
            keys: stream keys, shape (..., K, R).
            clients: which client each row belongs to; None means all N in order.

        Returns:
            Draws of shape (..., K, D, R) or (..., K, d, R), or None if the gradient
            is exact under this sampling.
        """

    @abstractmethod
    def variance(self, x: Tensor, sampling: Sampling) -> Tensor:
        r"""Return the exact variance of every gradient coordinate, shape (N, d, R).

        $\sigma_n^2(x)$ is the sum over coordinates; the sum over the first ``cut``
        coordinates is the client share, so one pass yields every cut.

        Args:
            x: parameter vectors, shape (N, d, R).
            sampling: the mini-batch rule whose variance is meant.
        """

    @abstractmethod
    def on_ball(
        self,
        center: NDArray[np.float64],
        radius: float,
        sampling: Sampling,
        weights: NDArray[np.float64],
    ) -> BallConstants | None:
        r"""Return constants that hold on the ball, or None where none is known.

        Args:
            center: shape (d,).
            radius: of the ball, Euclidean.
            sampling: the mini-batch rule.
            weights: $a_n$ of $f=\sum_na_nF_n$, shape (N,).
        """

    def value(self, x: Tensor, weights: Tensor) -> Tensor:
        r"""Return $f(x)=\sum_na_nF_n(x)$, shape (R,), for ``x`` of shape (d, R)."""
        return weights @ self.loss(x.expand(self.clients, *x.shape))

    def full_gradients(self, x: Tensor) -> Tensor:
        r"""Return all $\nabla F_n(x)$, shape (N, d, R), for ``x`` of shape (d, R)."""
        return self.gradient(x.expand(self.clients, *x.shape))

    def start(self, replicas: int) -> Tensor:
        """Return the initial point for all replicas, shape (d, R)."""
        return torch.from_numpy(self.x0).unsqueeze(1).repeat(1, replicas)
