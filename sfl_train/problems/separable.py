r"""Separable clients, parabolas and Huber functions, with noise on two points.

$F_n(x)=\sum_j\varphi_{nj}(x_j-c_{nj})$, where $\varphi(u)=\kappa u^2/2$ for $|u|\le k$
continues with slope $\pm\kappa k$ beyond the kink k; $k=\infty$ is the parabola. The
stochastic gradient is $\nabla F_n(x)\pm\zeta_n$ with both signs equally likely and one
sign per client and step, so $\sigma_n^2=\|\zeta_n\|^2$. The noise belongs to the
problem: batch sizes do not change it.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sfl_train import streams
from sfl_train.problems.problem import BallConstants, Problem, Sampling
from sfl_train.streams import Keys


class Separable(Problem):
    r"""Sums of parabolas and Huber functions over coordinates.

    $S=\max\kappa$; $\mu=\min\kappa$ without kinks, else 0. Every coordinate boundary is
    a cut, labelled by the length of the client block.

    Attributes:
        centres: $c_{nj}$, (N, d).
        curvatures: $\kappa_{nj}>0$, (N, d).
        kinks: $k_{nj}>0$, infinite for parabolas, (N, d).
        zeta: $\zeta_n$, (N, d).
    """

    def __init__(
        self,
        centres: ArrayLike,
        x0: ArrayLike,
        curvatures: ArrayLike = 1.0,
        kinks: ArrayLike = np.inf,
        zeta: ArrayLike = 0.0,
        cut: int = 1,
        name: str = "separable",
    ) -> None:
        """Check the arrays; those after ``x0`` are broadcast to the centres' shape.

        Args:
            centres: (N, d).
            x0: initial point, (d,).
            curvatures: positive.
            kinks: positive, possibly infinite.
            zeta: the noise's two points are plus and minus it.
            cut: default length of the client block, in 1..d-1.
            name: of the problem.

        Raises:
            ValueError: if a shape is wrong or a number outside its range.
        """
        self.name = name
        self.centres = np.array(centres, dtype=np.float64)
        if self.centres.ndim != 2 or self.centres.shape[1] < 2:
            raise ValueError(f"centres: expected (N, d >= 2), got {self.centres.shape}")
        self.clients, self.dimension = self.centres.shape
        self.x0 = np.array(x0, dtype=np.float64)
        if self.x0.shape != (self.dimension,):
            raise ValueError(f"x0: expected ({self.dimension},), got {self.x0.shape}")
        shape = self.centres.shape
        self.curvatures, self.kinks, self.zeta = (
            np.broadcast_to(np.asarray(v, dtype=np.float64), shape).copy()
            for v in (curvatures, kinks, zeta)
        )
        finite = (self.x0, self.centres, self.curvatures, self.zeta)
        if not all(np.isfinite(values).all() for values in finite):
            raise ValueError("all numbers but the kinks must be finite")
        if not ((self.curvatures > 0).all() and (self.kinks > 0).all()):
            raise ValueError("curvatures and kinks must be positive")
        if not 1 <= cut < self.dimension:
            raise ValueError(f"cut must lie in 1..{self.dimension - 1}, got {cut}")
        self.sizes = np.ones(self.clients, dtype=np.int64)
        self.cuts = {str(k): k for k in range(1, self.dimension)}
        self.default_cut = str(cut)
        self.S = float(self.curvatures.max())
        parabolas = bool(np.isinf(self.kinks).all())
        self.convexity = "strongly_convex" if parabolas else "general_convex"
        self.mu = float(self.curvatures.min()) if parabolas else 0.0
        self._centres, self._curvatures, self._kinks, self._zeta = (
            torch.from_numpy(v).unsqueeze(2)
            for v in (self.centres, self.curvatures, self.kinks, self.zeta)
        )

    @property
    def noise(self) -> NDArray[np.float64]:
        r"""$\sigma_n^2$, shape (N,)."""
        return np.asarray((self.zeta**2).sum(1))

    def loss(self, x: Tensor, clients: Tensor | None = None) -> Tensor:
        r"""Return $\sum_j\varphi_{nj}(x_j-c_{nj})$, shape (K, R)."""
        centres, curvatures, kinks = self._rows(clients)
        u = (x - centres).abs()
        near = torch.minimum(u, kinks)
        # k (u - k/2) = near u - near^2/2 beyond the kink, u^2/2 before it
        return (curvatures * near * (u - near / 2)).sum(1)

    def gradient(
        self, x: Tensor, draw: Tensor | None = None, clients: Tensor | None = None
    ) -> Tensor:
        r"""Return $\varphi_{nj}'(x_j-c_{nj})$ plus the noise drawn, shape (K, d, R)."""
        centres, curvatures, kinks = self._rows(clients)
        u = x - centres
        exact = curvatures * torch.minimum(torch.maximum(u, -kinks), kinks)
        return exact if draw is None else exact.add_(draw)

    def draw(
        self, sampling: Sampling, keys: Keys, clients: NDArray[np.int64] | None = None
    ) -> Tensor | None:
        r"""Return $\pm\zeta_n$, shape (..., K, d, R); None without noise.

        The sampling is not used: there are no samples.
        """
        if not self.zeta.any():
            return None
        zeta = self.zeta if clients is None else self.zeta[clients]
        signs = np.where(streams.uniforms(keys, 1)[..., 0] < 0.5, 1.0, -1.0)
        return torch.from_numpy(zeta[:, :, None] * signs[..., None, :])

    def variance(self, x: Tensor, sampling: Sampling) -> Tensor:
        r"""Return $\zeta_{nj}^2$ for every coordinate, shape (N, d, R)."""
        return (self._zeta**2).expand(x.shape).contiguous()

    def on_ball(
        self,
        center: NDArray[np.float64],
        radius: float,
        sampling: Sampling,
        weights: NDArray[np.float64],
    ) -> BallConstants:
        r"""Return constants that hold on $\|x-c\|\le\rho$.

        $|\varphi'(x_j)|$ is at most $\kappa\min\{|c_j-c_{nj}|+\rho,k\}$, which bounds
        $\|\nabla F_n\|$, and gradients differ by at most the sum of two such norms.
        """
        center = np.array(center, dtype=np.float64)
        reach = np.minimum(np.abs(center - self.centres) + radius, self.kinks)
        slopes = self.curvatures * reach
        norms = np.linalg.norm(slopes, axis=1)
        apart = norms + np.asarray(weights) @ norms
        return BallConstants(
            center=center,
            radius=float(radius),
            sigma2=self.noise,
            G2=float((norms**2 + self.noise).max()),
            eps2=float((apart**2).max()),
        )

    def _rows(self, clients: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        if clients is None:
            return self._centres, self._curvatures, self._kinks
        return self._centres[clients], self._curvatures[clients], self._kinks[clients]
