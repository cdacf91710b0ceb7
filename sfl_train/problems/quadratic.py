r"""Quadratic clients $F_n(x)=\frac12x^\top H_nx-b_n^\top x$ with additive noise.

``read_quadratic`` reads a user's file, ``random_quadratic`` draws a family with
prescribed constants, ``Quadratic`` is the problem. The stochastic gradient is
$H_nx-b_n+\xi$ with Gaussian $\xi$, $\mathbb E\|\xi\|^2=\sigma_n^2$ spread evenly over
the coordinates. The noise belongs to the problem: batch sizes do not change it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from sfl_train import streams
from sfl_train.arrays import read_arrays
from sfl_train.problems.problem import BallConstants, Problem, Sampling
from sfl_train.streams import Keys, Purpose

CONVEXITY_TOLERANCE = 1e-10
"""Eigenvalues within this fraction of S around zero count as zero."""

LARGEST = 1e50
"""Largest entry of a problem."""

REQUIRED = ("H", "b", "x0", "cut")
OPTIONAL = ("noise",)


def read_quadratic(
    path: str | Path, weights: NDArray[np.float64] | None = None
) -> Quadratic:
    """Read a problem from an ``.npz`` file and check every array in it.

    The file holds ``H`` (N, d, d) symmetric, ``b`` (N, d), ``x0`` (d,), integer ``cut``
    and optionally ``noise`` (N,). Nothing in it is ever unpickled.

    Args:
        path: the file.
        weights: of the clients, shape (N,), for the check that a minimiser exists;
            uniform by default.

    Returns:
        The problem, named after the file.

    Raises:
        ValueError: if the file cannot be read, an array is missing or unknown, or the
            arrays are not a valid problem (see ``Quadratic``); one line that names the
            array.
    """
    path = Path(path)
    arrays = read_arrays(path)
    missing = [key for key in REQUIRED if key not in arrays]
    if missing:
        raise ValueError(
            f"{path}: missing {', '.join(missing)}; expected H, b, x0, cut and"
            " optionally noise"
        )
    unknown = sorted(set(arrays) - set(REQUIRED + OPTIONAL))
    if unknown:
        raise ValueError(
            f"{path}: unknown array {', '.join(unknown)}; expected H, b, x0, cut and"
            " optionally noise"
        )
    try:
        return Quadratic(
            arrays["H"],
            arrays["b"],
            arrays["x0"],
            arrays["cut"],
            arrays.get("noise", 0.0),
            name=f"quadratic:{path.name}",
            weights=weights,
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def random_quadratic(
    clients: int,
    dimension: int,
    S: float,
    mu: float,
    heterogeneity: float = 1.0,
    coupling: float = 0.5,
    noise: float = 0.0,
    cut: int | None = None,
    seed: int = 0,
) -> Quadratic:
    r"""Draw quadratics whose constants are prescribed and attained.

    $H_n=(U_n\oplus V_n)\,G\Lambda_nG^\top(U_n\oplus V_n)^\top$ with random orthogonal
    $U_n$ (client block) and $V_n$ (server block), eigenvalues $\Lambda_n$ in $[\mu,S]$
    that contain $S$ and $\mu$ for every client, and rotations $G$ by an angle $\theta$,
    $\sin2\theta=$ ``coupling``, in the planes of coordinates $i$ and ``cut`` $+i$. The
    off-diagonal block then has the singular values
    $\frac{\text{coupling}}2|\lambda_i-\lambda_{\text{cut}+i}|$: none at 0, as large as
    a pair of eigenvalues allows at 1.

    The minimisers are $x_n^*=\bar x+z_n$ with a random unit vector $\bar x$ and
    $\sum_nz_n=0$, scaled to $\left(\frac1N\sum_n\|x_n^*-\bar x\|^2\right)^{1/2}=$
    ``heterogeneity`` (0 for a single client); $b_n=H_nx_n^*$ and $x^0=0$.

    Args:
        clients: N.
        dimension: d >= 2.
        S: largest eigenvalue of every $H_n$.
        mu: smallest eigenvalue of every $H_n$; 0 gives general convex clients.
        heterogeneity: root mean square spread of the clients' minimisers.
        coupling: in [0, 1].
        noise: $\sigma_n^2$ of every client.
        cut: length of the client block; half the dimension by default.
        seed: of the draws.

    Returns:
        The problem.

    Raises:
        ValueError: if an argument is outside its range.
    """
    cut = dimension // 2 if cut is None else cut
    if clients < 1:
        raise ValueError(f"the number of clients must be at least 1, got {clients}")
    if not 1 <= cut <= dimension - 1:
        raise ValueError(f"cut must lie in 1..{dimension - 1}, got {cut}")
    if not 0.0 <= mu <= S < np.inf or S == 0.0:
        raise ValueError(f"expected 0 <= mu <= S with 0 < S, got mu={mu}, S={S}")
    if not 0.0 <= heterogeneity < np.inf:
        raise ValueError(f"heterogeneity must be >= 0, got {heterogeneity}")
    if not 0.0 <= coupling <= 1.0:
        raise ValueError(f"coupling must lie in [0, 1], got {coupling}")
    bases = (
        _orthogonal(clients, cut, seed, 0),
        _orthogonal(clients, dimension - cut, seed, 1),
    )
    spectra = _spectra(clients, dimension, cut, S, mu, seed)
    basis = np.zeros((clients, dimension, dimension))
    basis[:, :cut, :cut], basis[:, cut:, cut:] = bases
    basis = basis @ _rotations(dimension, cut, coupling)
    H = (basis * spectra[:, None, :]) @ basis.transpose(0, 2, 1)
    H = (H + H.transpose(0, 2, 1)) / 2
    minimisers = _minimisers(clients, dimension, heterogeneity, seed)
    b = np.einsum("nij,nj->ni", H, minimisers)
    return Quadratic(H, b, np.zeros(dimension), cut, noise, name="quadratic:random")


class Quadratic(Problem):
    r"""Quadratic clients with additive Gaussian gradient noise.

    $S=\max_n\|H_n\|_2$. With $\lambda$ the smallest eigenvalue over all clients the
    problem is strongly convex ($\lambda>10^{-10}S$, $\mu=\lambda$), general convex
    ($|\lambda|\le10^{-10}S$, $\mu=0$) or non-convex. Every coordinate boundary is a
    cut, labelled by the length of the client block.

    Attributes:
        H: matrices, (N, d, d).
        b: linear terms, (N, d).
        noise: $\sigma_n^2$, (N,).
    """

    def __init__(
        self,
        H: ArrayLike,
        b: ArrayLike,
        x0: ArrayLike,
        cut: ArrayLike,
        noise: ArrayLike = 0.0,
        name: str = "quadratic",
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        r"""Check the arrays and compute the constants.

        Args:
            H: symmetric matrices, (N, d, d).
            b: linear terms, (N, d).
            x0: initial point, (d,).
            cut: integer in 1..d-1, the length of the client block.
            noise: $\sigma_n^2\ge0$, (N,) or one number for all.
            name: of the problem.
            weights: of the clients, for the check that a convex $f$ has a minimiser;
                uniform by default.

        Raises:
            ValueError: if a shape is wrong, a number is not real and finite, H is not
                symmetric to 1e-12 of its largest entry or is zero, the cut is outside
                its range, the noise is negative, or f is convex without a minimiser.
        """
        self.name = name
        self.H, self.b, self.x0 = _real("H", H), _real("b", b), _real("x0", x0)
        if self.H.ndim != 3 or self.H.shape[1] != self.H.shape[2] or not self.H.size:
            raise ValueError(f"H must have shape (N, d, d), got {self.H.shape}")
        self.clients, self.dimension = self.H.shape[:2]
        N, d = self.clients, self.dimension
        if d < 2:
            raise ValueError("H must have d >= 2: a cut needs two non-empty sides")
        if self.b.shape != (N, d):
            raise ValueError(f"b must have shape {(N, d)} like H, got {self.b.shape}")
        if self.x0.shape != (d,):
            raise ValueError(f"x0 must have shape {(d,)} like H, got {self.x0.shape}")
        asymmetry = np.abs(self.H - self.H.transpose(0, 2, 1)).max()
        if asymmetry > 1e-12 * np.abs(self.H).max():
            raise ValueError(
                "H must be symmetric: the largest |H - H'| is"
                f" {asymmetry:.3g}; store (H + H') / 2 if that is what is meant"
            )
        self.noise = _noise(noise, N)
        self.cuts = {str(length): length for length in range(1, d)}
        self.default_cut = str(_cut(cut, d))
        self.sizes = np.ones(N, dtype=np.int64)

        eigenvalues = np.linalg.eigvalsh(self.H)
        self.S = float(np.abs(eigenvalues).max())
        if self.S == 0.0:
            raise ValueError("H must not be zero: a linear function has no minimiser")
        self._norms = np.abs(eigenvalues).max(1)
        smallest = float(eigenvalues.min())
        if smallest > CONVEXITY_TOLERANCE * self.S:
            self.convexity, self.mu = "strongly_convex", smallest
        elif smallest >= -CONVEXITY_TOLERANCE * self.S:
            self.convexity, self.mu = "general_convex", 0.0
            self._check_minimiser(weights)
        else:
            self.convexity, self.mu = "non_convex", None
        self._H, self._b = torch.from_numpy(self.H), torch.from_numpy(self.b)

    def loss(self, x: Tensor, clients: Tensor | None = None) -> Tensor:
        r"""Return $\frac12x^\top H_nx-b_n^\top x$, shape (K, R)."""
        H, b = self._rows(clients)
        return torch.bmm(H, x).mul_(0.5).sub_(b.unsqueeze(2)).mul_(x).sum(1)

    def gradient(
        self, x: Tensor, draw: Tensor | None = None, clients: Tensor | None = None
    ) -> Tensor:
        r"""Return $H_nx-b_n$ plus the noise drawn, shape (K, d, R)."""
        H, b = self._rows(clients)
        exact = torch.bmm(H, x).sub_(b.unsqueeze(2))
        return exact if draw is None else exact.add_(draw)

    def draw(
        self, sampling: Sampling, keys: Keys, clients: NDArray[np.int64] | None = None
    ) -> Tensor | None:
        r"""Return noise of variance $\sigma_n^2/d$ per coordinate, (..., K, d, R).

        The sampling is not used: a quadratic has no samples. None without noise.
        """
        if not self.noise.any():
            return None
        variance = self.noise if clients is None else self.noise[clients]
        normal = streams.normals(keys, self.dimension)
        normal *= np.sqrt(variance / self.dimension)[:, None, None]
        return torch.from_numpy(normal).transpose(-1, -2).contiguous()

    def variance(self, x: Tensor, sampling: Sampling) -> Tensor:
        r"""Return $\sigma_n^2/d$ for every coordinate, shape (N, d, R)."""
        share = torch.from_numpy(self.noise / self.dimension)
        return share.view(-1, 1, 1).expand(x.shape).contiguous()

    def hessian(self, x: Tensor, weights: Tensor) -> Tensor:
        r"""Return $\sum_na_nH_n$, shape (d, d), the same at every ``x``."""
        return torch.einsum("n,nij->ij", weights, self._H)

    def on_ball(
        self,
        center: NDArray[np.float64],
        radius: float,
        sampling: Sampling,
        weights: NDArray[np.float64],
    ) -> BallConstants:
        r"""Return constants that hold on $\|x-c\|\le\rho$.

        $\sigma_n^2$ is the noise. The gradients are affine, so
        $\|\nabla F_n(x)\|\le\|\nabla F_n(c)\|+\rho\|H_n\|$ and
        $\|\nabla F_n(x)-\nabla f(x)\|\le\|\nabla F_n(c)-\nabla f(c)\|
        +\rho\|H_n-\bar H\|$ with $\bar H=\sum_na_nH_n$;
        $G^2=\max_n(\|\nabla F_n\|^2+\sigma_n^2)$.
        """
        c, a = np.array(center, dtype=np.float64), np.asarray(weights)
        gradients = self.H @ c - self.b
        norm = np.linalg.norm(gradients, axis=1) + radius * self._norms
        difference = self.H - np.einsum("n,nij->ij", a, self.H)
        growth = np.abs(np.linalg.eigvalsh(difference)).max(1)
        apart = np.linalg.norm(gradients - a @ gradients, axis=1) + radius * growth
        return BallConstants(
            center=c,
            radius=float(radius),
            sigma2=self.noise.copy(),
            G2=float((norm**2 + self.noise).max()),
            eps2=float((apart**2).max()),
        )

    def _rows(self, clients: Tensor | None) -> tuple[Tensor, Tensor]:
        if clients is None:
            return self._H, self._b
        return self._H[clients], self._b[clients]

    def _check_minimiser(self, weights: NDArray[np.float64] | None) -> None:
        a = np.full(self.clients, 1.0 / self.clients) if weights is None else weights
        if a.shape != (self.clients,):
            raise ValueError(
                f"expected {self.clients} weights, one per client, got {a.size}"
            )
        eigenvalues, vectors = np.linalg.eigh(np.einsum("n,nij->ij", a, self.H))
        null = vectors[:, eigenvalues <= CONVEXITY_TOLERANCE * self.S]
        outside = float(np.linalg.norm(null.T @ (a @ self.b)))
        if outside > 1e-9 * np.abs(self.b).max():
            raise ValueError(
                "b must lie in the range of the weighted sum of H, else f has no"
                f" minimiser: {outside:.3g} of it is in the null space"
            )


def _real(name: str, value: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}")
    array = np.array(array, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    if np.abs(array).max(initial=0.0) > LARGEST:
        raise ValueError(
            f"{name} must not exceed {LARGEST:g} in size, else squares of gradients "
            "leave the range of numbers"
        )
    return array


def _noise(value: ArrayLike, clients: int) -> NDArray[np.float64]:
    noise = _real("noise", value)
    if noise.shape not in ((), (clients,)):
        raise ValueError(f"noise must have shape {(clients,)}, got {noise.shape}")
    if (noise < 0).any():
        raise ValueError(f"noise must be >= 0 (a variance), got {noise.min():g}")
    return np.broadcast_to(noise, (clients,)).copy()


def _cut(value: ArrayLike, dimension: int) -> int:
    cut = np.asarray(value)
    if cut.dtype.kind not in "iu" or cut.size != 1:
        raise ValueError(
            f"cut must be one integer, got dtype {cut.dtype} of shape {cut.shape}"
        )
    if not 1 <= cut.item() <= dimension - 1:
        raise ValueError(f"cut must lie in 1..{dimension - 1}, got {cut.item()}")
    return int(cut.item())


def _orthogonal(
    count: int, dimension: int, seed: int, which: int
) -> NDArray[np.float64]:
    """Return ``count`` Haar-distributed orthogonal matrices."""
    clients = np.arange(count)
    key = streams.keys(seed, Purpose.PROBLEM, round=which, client=clients)
    gaussian = streams.normals(key, dimension**2).reshape(count, dimension, dimension)
    Q, upper = np.linalg.qr(gaussian)
    signs: NDArray[np.float64] = np.sign(np.diagonal(upper, axis1=1, axis2=2))
    return Q * signs[:, None, :]


def _spectra(
    clients: int, dimension: int, cut: int, S: float, mu: float, seed: int
) -> NDArray[np.float64]:
    """Return eigenvalues uniform in [mu, S]; S and mu on one rotated pair."""
    key = streams.keys(seed, Purpose.PROBLEM, round=2, client=np.arange(clients))
    spectra = mu + (S - mu) * streams.uniforms(key, dimension)
    swap = (key >> np.uint64(63)).astype(bool)
    spectra[:, 0], spectra[:, cut] = np.where(swap, mu, S), np.where(swap, S, mu)
    return spectra


def _rotations(dimension: int, cut: int, coupling: float) -> NDArray[np.float64]:
    angle = 0.5 * np.arcsin(coupling)
    G = np.eye(dimension)
    client = np.arange(min(cut, dimension - cut))
    server = cut + client
    G[client, client] = G[server, server] = np.cos(angle)
    G[client, server], G[server, client] = -np.sin(angle), np.sin(angle)
    return G


def _minimisers(
    clients: int, dimension: int, heterogeneity: float, seed: int
) -> NDArray[np.float64]:
    key = streams.keys(seed, Purpose.PROBLEM, round=3, client=np.arange(clients + 1))
    gaussian = streams.normals(key, dimension)
    center = gaussian[0] / np.linalg.norm(gaussian[0])
    apart = gaussian[1:] - gaussian[1:].mean(0)
    spread = np.sqrt((apart**2).sum(1).mean())
    scale = heterogeneity / spread if clients > 1 else 0.0
    return center + scale * apart
