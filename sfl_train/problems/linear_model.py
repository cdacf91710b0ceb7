r"""Generalised linear models over clients: least squares, logistic, softmax.

$$F_n(w)=\frac1{D_n}\sum_{j\in n}\ell(W^\top v_j,y_j)+\frac{l_2}2\|w\|^2,$$

the *mean* loss over the client's samples, with $v_j$ the features of sample j and a
last entry 1 where there is a bias (regularised like every other weight). The vector
$w$ is $W\in\mathbb R^{F\times C}$ row by row: feature-major, then output. So
``x[k]`` of shape (F C, R) *is* a matrix (F, C R), and the scores of all clients, all
outputs and all replicas are one batched product; the gradient is one more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train.data.bundled import Dataset
from sfl_train.problems.halves import LinearHalves, Samples
from sfl_train.problems.losses import Logistic, Loss, Softmax, Squared
from sfl_train.problems.minibatch import draw_minibatches, support, variance_factor
from sfl_train.problems.problem import BallConstants, Problem, Sampling
from sfl_train.problems.separability import separable
from sfl_train.streams import Keys

LOSSES: Mapping[str, type[Loss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "softmax": Softmax,
}

RANK_TOLERANCE = 1e-10
"""Eigenvalues below this fraction of S count as zero."""


class LinearModel(Problem):
    r"""A generalised linear model on a partitioned data set.

    With $A_n=\frac1{D_n}\sum_jv_jv_j^\top$ and $\kappa$ the curvature bound of the loss
    (1 squared, 1/4 logistic, 1/2 softmax; proofs in ``losses``),
    $\nabla^2F_n\preceq\kappa A_n\otimes I+l_2I$, so
    $S=\max_n\kappa\lambda_{\max}(A_n)+l_2$. The squared loss has
    $\mu=\min_n\lambda_{\min}(A_n)+l_2$, the others $\mu=l_2$: their curvature vanishes
    at infinity.

    Attributes:
        loss_name: "squared", "logistic" or "softmax".
        l2: coefficient of the squared norm.
        features: F, the bias included.
        outputs: C; 1 for logistic and for a real target.
    """

    def __init__(
        self,
        data: Dataset,
        parts: Sequence[NDArray[np.int64]],
        loss: str,
        l2: float = 0.0,
        bias: bool = True,
        x0: NDArray[np.float64] | None = None,
        name: str | None = None,
    ) -> None:
        r"""Lay the samples of every client out for batched products.

        Args:
            data: samples with a class or a real target.
            parts: indices of every client's samples, none empty.
            loss: "squared" (one-hot targets where the data have classes), "logistic"
                (two classes) or "softmax".
            l2: coefficient $l_2\ge0$.
            bias: append a constant feature 1.
            x0: initial point, shape (d,); zeros by default.
            name: of the problem; by default loss and data set.

        Raises:
            ValueError: if the loss is unknown or does not fit the data, a client is
                empty, ``l2`` is negative, there is one parameter only, ``x0`` has
                another shape or is not finite, or ``l2 = 0`` and the classes are
                separable, so that no minimiser exists.
        """
        _check(data, parts, loss, l2)
        self.loss_name, self.l2 = loss, float(l2)
        self.name = name or f"{loss}:{data.name}"
        self._loss = LOSSES[loss]()
        V = np.hstack([data.X, np.ones((len(data.X), 1))]) if bias else data.X
        targets = _targets(data, loss)
        self.clients, self.features = len(parts), V.shape[1]
        self.outputs = targets.shape[1]
        self.dimension = self.features * self.outputs
        if self.dimension < 2:
            raise ValueError(f"{self.name} has a single parameter, which no cut splits")
        self.sizes = np.array([len(part) for part in parts], dtype=np.int64)
        self.x0 = _initial(x0, self.dimension)
        self.cuts = quarter_cuts(self.features, self.outputs)
        self.default_cut = "1/2" if "1/2" in self.cuts else next(iter(self.cuts))

        width = int(self.sizes.max())
        padded = torch.zeros(self.clients, width, self.features, dtype=torch.float64)
        labels = torch.zeros(self.clients, width, self.outputs, dtype=torch.float64)
        means = torch.zeros(self.clients, width, dtype=torch.float64)
        for n, part in enumerate(parts):
            padded[n, : len(part)] = torch.from_numpy(V[part])
            labels[n, : len(part)] = torch.from_numpy(targets[part])
            means[n, : len(part)] = 1.0 / len(part)
        self._X, self._Xt = padded, padded.transpose(1, 2).contiguous()
        self._Y = labels.unsqueeze(3)
        self._mean = means.view(self.clients, width, 1, 1)

        self._top, bottom = self._feature_spectrum()
        self.S = float(self._loss.curvature * self._top.max() + self.l2)
        self.mu = self.l2
        if loss == "squared" and bottom > RANK_TOLERANCE * self.S:
            self.mu += bottom
        self.convexity = "strongly_convex" if self.mu > 0 else "general_convex"
        if self.l2 == 0 and loss != "squared":
            used = np.concatenate(parts)
            labels_used = data.y[used].astype(np.int64)
            if separable(V[used], labels_used, data.classes or 2):
                raise ValueError(
                    f"{self.name}: the classes are linearly separable, so without l2"
                    " there is no minimiser: give l2 > 0"
                )

    def loss(self, x: Tensor, clients: Tensor | None = None) -> Tensor:
        """Return $F_n(x_n)$, shape (K, R)."""
        X, Y, mean = self._rows(clients)
        Z = self._scores(X, x)
        risk = (self._loss.value(Z, Y) * mean.squeeze(2)).sum(1)
        return risk.add_(x.square().sum(1), alpha=self.l2 / 2)

    def gradient(
        self, x: Tensor, draw: Tensor | None = None, clients: Tensor | None = None
    ) -> Tensor:
        r"""Return $\frac1{D_n}\sum_jv_j\otimes r_j+l_2x$, shape (K, d, R).

        A draw replaces the weights $1/D_n$ of the samples by its own.
        """
        used = None if draw is None else support(draw)
        if used is not None:
            return self._gathered_gradient(x, *used, clients)
        X, Y, mean = self._rows(clients)
        weight = mean if draw is None else draw.unsqueeze(2)
        Z = self._loss.residual_(self._scores(X, x), Y, weight)
        Xt = self._Xt if clients is None else X.transpose(1, 2)
        return self._assemble(Xt, Z, x)

    def descend(self, x: Tensor, draw: Tensor | None, rate: float) -> None:
        r"""Replace ``x`` by $x-\eta\,$``gradient(x, draw)``, for all clients.

        $(1-\eta l_2)x-\eta\sum_jv_j\otimes r_j$: the step rides on the gradient's
        product, so it costs no pass over the parameters of its own.

        Args:
            x: parameter vectors, shape (N, d, R), contiguous; overwritten.
            draw: as in `gradient`.
            rate: $\eta$.
        """
        used = None if draw is None else support(draw)
        if used is not None:
            x.sub_(self._gathered_gradient(x, *used, None), alpha=rate)
            return
        weight = self._mean if draw is None else draw.unsqueeze(2)
        Z = self._loss.residual_(self._scores(self._X, x), self._Y, weight)
        W, flat = x.view(*self._Xt.shape[:2], -1), Z.flatten(2)
        W.baddbmm_(self._Xt, flat, beta=1.0 - rate * self.l2, alpha=-rate)

    def halves(self, cut: int) -> LinearHalves | None:
        """Return the sides if the cut splits no feature, see `Halved.halves`."""
        first, within = divmod(cut, self.outputs)
        if within or not 0 < first < self.features:
            return None
        return LinearHalves(
            Samples(self._X, self._Y.squeeze(3), self._mean.view(self.clients, -1)),
            self._loss,
            self.l2,
            ((first, self.outputs),),
            (self.features - first, self.outputs),
        )

    def draw(
        self, sampling: Sampling, keys: Keys, clients: NDArray[np.int64] | None = None
    ) -> Tensor | None:
        """Return count / B of every sample, shape (..., K, D, R); None for all."""
        return draw_minibatches(sampling, keys, self.sizes, clients)

    def variance(self, x: Tensor, sampling: Sampling) -> Tensor:
        r"""Return the variance of every coordinate of the mini-batch gradient.

        The gradient of sample j is $v_j\otimes r_j+l_2x$, so coordinate $(f,c)$ has the
        population variance $\frac1{D_n}\sum_jv_{jf}^2r_{jc}^2-\left(\frac1{D_n}\sum_j
        v_{jf}r_{jc}\right)^2$: two batched products and no loop over samples. It is
        divided as in ``minibatch.variance_factor``.
        """
        factor = variance_factor(sampling, self.sizes)
        if not factor.any():
            return torch.zeros(x.shape, dtype=x.dtype)
        shape = (self.clients, -1, self.outputs * x.shape[2])
        ones = torch.ones((), dtype=x.dtype)
        r = self._loss.residual_(self._scores(self._X, x), self._Y, ones)
        first = torch.bmm(self._Xt, (r * self._mean).view(shape))
        second = torch.bmm(self._Xt2, (r.square_() * self._mean).view(shape))
        spread = second.sub_(first.square_()).clamp_min_(0.0).view(x.shape)
        return spread * torch.from_numpy(factor).view(-1, 1, 1)

    def hessian(self, x: Tensor, weights: Tensor) -> Tensor:
        r"""Return $\nabla^2f(x)=\sum_na_n\nabla^2F_n(x)$, (d, d), at ``x`` (d,)."""
        F, C = self.features, self.outputs
        V = self._X.reshape(-1, F)
        share = (weights.view(-1, 1) * self._mean.view(self.clients, -1)).reshape(-1, 1)
        blocks = self._loss.hessian(V @ x.view(F, C))
        H = torch.empty(F, C, F, C, dtype=x.dtype)
        for c in range(C):
            for e in range(c + 1):
                block = V.T @ (V * (share * blocks[:, c, e].unsqueeze(1)))
                H[:, c, :, e] = block
                H[:, e, :, c] = block
        H = H.view(self.dimension, self.dimension)
        H.diagonal().add_(self.l2)
        return H

    def on_ball(
        self,
        center: NDArray[np.float64],
        radius: float,
        sampling: Sampling,
        weights: NDArray[np.float64],
    ) -> BallConstants:
        r"""Return $\sigma_n^2,G^2,\epsilon^2$ that hold on $\|x-c\|\le\rho$.

        Every bound is "value at $c$ plus a Lipschitz constant times $\rho$" of a
        *seminorm*, and, where residuals are bounded by $\bar r$, the smaller of that
        and a bound free of $\rho$. With $s=1/B$ (times $(D_n-B)/(D_n-1)$ without
        replacement), $x=c+\Delta$, $\|\Delta\|\le\rho$:

        - $\sigma_n(x)=\sqrt{s\,\mathbb E_j\|h_j-\mathbb Eh\|^2}$ with $h_j$ the data
          part of the gradient of sample j (the $l_2$ part is the same for all). Change:
          $\|h_j(x)-h_j(c)\|\le\kappa\|v_j\|\|\Delta^\top v_j\|$, hence
          $\sigma_n(x)\le\sigma_n(c)+\rho\sqrt{s\,\kappa^2\lambda_{\max}(M_n)}$,
          $M_n=\mathbb E_j\|v_j\|^2v_jv_j^\top$. The squared loss is linear in
          $\Delta$, so the mean drops out exactly: $M_n-A_n^2$ for $M_n$. Free of
          $\rho$: $\sigma_n^2\le s\,\bar r^2\,\mathbb E_j\|v_j\|^2$.
        - $\|\nabla F_n(x)\|\le\|\nabla F_n(c)\|+\rho(\kappa\lambda_{\max}(A_n)+l_2)$;
          free of $\rho$ in the data part: $\|\frac1{D_n}\sum_jv_j\otimes r_j\|\le
          \frac1{D_n}\|X_n\|_2\|r\|_F\le\bar r\sqrt{\lambda_{\max}(A_n)}$, to which
          $l_2(\|c\|+\rho)$ is added. $G^2=\max_n(\|\nabla F_n\|^2+\sigma_n^2)$.
        - $\nabla F_n-\nabla f$ has no $l_2$ part. Its derivative is $P-Q$ with
          $P=(1-a_n)\nabla^2\ell_n$ and $Q=\sum_{m\ne n}a_m\nabla^2\ell_m$, both
          positive semidefinite, so $\|P-Q\|\le\max(\|P\|,\|Q\|)\le\kappa\max((1-a_n)
          \lambda_{\max}(A_n),\lambda_{\max}(\sum_{m\ne n}a_mA_m))$; for the squared
          loss it is exactly $\|A_n-\sum_ma_mA_m\|$. Free of $\rho$: $\bar r((1-a_n)
          \lambda_{\max}^{1/2}(A_n)+\sum_{m\ne n}a_m\lambda_{\max}^{1/2}(A_m))$.

        Args:
            center: $c$, shape (d,).
            radius: $\rho\ge0$.
            sampling: the mini-batch rule.
            weights: $a_n$, shape (N,).

        Returns:
            The constants.

        Raises:
            ValueError: if the radius is negative or not finite.
        """
        if not 0.0 <= radius < np.inf:
            raise ValueError(f"the radius must be finite and >= 0, got {radius}")
        s = variance_factor(sampling, self.sizes)
        kappa, bound = self._loss.curvature, self._loss.residual_bound
        a = np.asarray(weights, dtype=np.float64)
        x = torch.from_numpy(np.asarray(center, dtype=np.float64)).unsqueeze(1)
        x = x.expand(self.clients, self.dimension, 1).contiguous()
        gradients = self.gradient(x).squeeze(2)
        means = gradients - torch.from_numpy(a) @ gradients

        sigma = self.variance(x, sampling).sum((1, 2)).sqrt().numpy()
        sigma2 = (sigma + radius * np.sqrt(s * self._spread_growth)) ** 2
        norm = torch.linalg.vector_norm(gradients, dim=1).numpy()
        norm = norm + radius * (kappa * self._top + self.l2)
        divergence = torch.linalg.vector_norm(means, dim=1).numpy()
        divergence = divergence + radius * self._difference_growth(a)
        if bound is not None:
            root = np.sqrt(self._top)
            sigma2 = np.minimum(sigma2, s * bound**2 * self._mean_square)
            reach = float(np.linalg.norm(center)) + radius
            norm = np.minimum(norm, bound * root + self.l2 * reach)
            others = a @ root - a * root
            divergence = np.minimum(divergence, bound * ((1 - a) * root + others))
        return BallConstants(
            center=np.array(center, dtype=np.float64),
            radius=float(radius),
            sigma2=sigma2,
            G2=float((norm**2 + sigma2).max()),
            eps2=float((divergence**2).max()),
        )

    def _gathered_gradient(
        self, x: Tensor, index: Tensor, weight: Tensor, clients: Tensor | None
    ) -> Tensor:
        """Return the gradient from the samples in use, one replica per row."""
        rows, dimension, replicas = x.shape
        owner = torch.arange(rows) if clients is None else clients
        owner = owner.repeat_interleave(replicas).unsqueeze(1)
        sample = (index + owner * self._X.shape[1]).view(-1)
        X = self._X.view(-1, self.features).index_select(0, sample)
        Y = self._Y.view(-1, self.outputs).index_select(0, sample)
        X = X.view(*index.shape, self.features)
        Y = Y.view(*index.shape, self.outputs, 1)
        alone = x.transpose(1, 2).reshape(rows * replicas, dimension, 1)
        Z = self._loss.residual_(self._scores(X, alone), Y, weight.unsqueeze(3))
        g = self._assemble(X.transpose(1, 2), Z, alone)
        return g.view(rows, replicas, dimension).transpose(1, 2).contiguous()

    def _rows(self, clients: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        if clients is None:
            return self._X, self._Y, self._mean
        return self._X[clients], self._Y[clients], self._mean[clients]

    def _scores(self, X: Tensor, x: Tensor) -> Tensor:
        rows, _, replicas = x.shape
        W = x.reshape(rows, self.features, self.outputs * replicas)
        return torch.bmm(X, W).view(rows, -1, self.outputs, replicas)

    def _assemble(self, Xt: Tensor, Z: Tensor, x: Tensor) -> Tensor:
        """Return the weighted sum of features times residuals, plus $l_2x$."""
        rows, _, replicas = x.shape
        flat = Z.view(rows, -1, self.outputs * replicas)
        if self.l2 == 0:
            return torch.bmm(Xt, flat).view(x.shape)
        start = (x * self.l2).view(rows, self.features, -1)
        return start.baddbmm_(Xt, flat).view(x.shape)

    @cached_property
    def _Xt2(self) -> Tensor:
        return self._Xt.square()

    @cached_property
    def _A(self) -> Tensor:
        return torch.bmm(self._Xt * self._mean.view(self.clients, 1, -1), self._X)

    @cached_property
    def _mean_square(self) -> NDArray[np.float64]:
        r"""$\mathbb E_j\|v_j\|^2$ per client."""
        return self._A.diagonal(dim1=1, dim2=2).sum(1).numpy()

    @cached_property
    def _spread_growth(self) -> NDArray[np.float64]:
        r"""$\kappa^2\lambda_{\max}(M_n)$; squared loss: $\lambda_{\max}(M_n-A_n^2)$."""
        fourth = self._X.square().sum(2) * self._mean.view(self.clients, -1)
        M = torch.bmm(self._Xt * fourth.unsqueeze(1), self._X)
        if self.loss_name == "squared":
            M = M - self._A @ self._A
        top = torch.linalg.eigvalsh(M)[:, -1].clamp_min(0.0)
        return (self._loss.curvature**2 * top).numpy()

    def _difference_growth(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return a Lipschitz constant of $\nabla F_n-\nabla f$ for every client."""
        weights = torch.from_numpy(a).view(-1, 1, 1)
        pool = (weights * self._A).sum(0)
        if self.loss_name == "squared":
            return torch.linalg.eigvalsh(self._A - pool).abs().amax(1).numpy()
        others = torch.linalg.eigvalsh(pool - weights * self._A)[:, -1].numpy()
        return self._loss.curvature * np.maximum((1 - a) * self._top, others)

    def _feature_spectrum(self) -> tuple[NDArray[np.float64], float]:
        r"""Return $\lambda_{\max}(A_n)$ per client and the smallest eigenvalue."""
        eigenvalues = torch.linalg.eigvalsh(self._A)
        return eigenvalues[:, -1].numpy(), float(eigenvalues[:, 0].min())


def quarter_cuts(rows: int, width: int = 1) -> dict[str, int]:
    """Return cuts after a quarter, a half and three quarters of the rows.

    Args:
        rows: rows of the parameter matrix that a cut must not split.
        width: coordinates per row.

    Returns:
        Label to length of the client block; labels that would repeat a cut or leave a
        side empty are left out. A single row is cut within itself.
    """
    if rows == 1:
        rows, width = width, 1
    cuts: dict[str, int] = {}
    for label, quarters in (("1/2", 2), ("1/4", 1), ("3/4", 3)):
        cut = (rows * quarters // 4) * width
        if 0 < cut < rows * width and cut not in cuts.values():
            cuts[label] = cut
    return dict(sorted(cuts.items(), key=lambda item: item[1]))


def _check(
    data: Dataset, parts: Sequence[NDArray[np.int64]], loss: str, l2: float
) -> None:
    if loss not in LOSSES:
        raise ValueError(f"unknown loss {loss!r}: choose one of {', '.join(LOSSES)}")
    if loss == "logistic" and data.classes != 2:
        raise ValueError(
            f"the logistic loss needs two classes, {data.name} has {data.classes}"
        )
    if loss == "softmax" and data.classes is None:
        raise ValueError(f"the softmax loss needs classes, {data.name} has none")
    if not 0.0 <= l2 < np.inf:
        raise ValueError(f"l2 must be finite and >= 0, got {l2}")
    if len(parts) == 0:
        raise ValueError("expected at least one client, got none")
    for n, part in enumerate(parts):
        if len(part) == 0:
            raise ValueError(f"client {n} holds no samples: every client needs one")


def _targets(data: Dataset, loss: str) -> NDArray[np.float64]:
    """Return targets of shape (D, C)."""
    if loss == "logistic" or data.classes is None:
        return data.y.astype(np.float64)[:, None]
    return np.eye(data.classes)[data.y]


def _initial(x0: NDArray[np.float64] | None, dimension: int) -> NDArray[np.float64]:
    if x0 is None:
        return np.zeros(dimension)
    given = np.array(x0, dtype=np.float64)
    if given.shape != (dimension,) or not np.isfinite(given).all():
        raise ValueError(f"x0 must be {dimension} finite numbers, got {given.shape}")
    return given
