r"""Local smoothness: the largest eigenvalue of the Hessian in absolute value.

Lanczos with full reorthogonalisation (Golub & Van Loan, Sec. 10.3) on Hessian-vector
products. The Ritz values lie between the extreme eigenvalues, so the estimate is a
lower bound of $\|\nabla^2f(x)\|$ and grows with the number of steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Spectrum:
    """Extreme Ritz values.

    Attributes:
        smallest: of the Hessian.
        largest: of the Hessian.
        residual: of the Ritz pair with the largest absolute value; an eigenvalue lies
            within this distance of it.
        vector: of that pair, shape (d,) and length 1; None where a product was not
            finite.
    """

    smallest: float
    largest: float
    residual: float
    vector: Tensor | None = None

    @property
    def norm(self) -> float:
        """Largest absolute value."""
        return max(abs(self.smallest), abs(self.largest))


def lanczos(
    product: Callable[[Tensor], Tensor], start: Tensor, steps: int = 12
) -> Spectrum:
    """Estimate the extreme eigenvalues of a symmetric operator.

    Args:
        product: the operator.
        start: a vector that is not orthogonal to the eigenvectors sought, shape (d,).
        steps: products made at most.

    Returns:
        Extreme Ritz values; not a number where a product is not finite.
    """
    basis = [start / torch.linalg.vector_norm(start)]
    alpha: list[float] = []
    beta: list[float] = []
    for step in range(min(steps, start.numel())):
        w = product(basis[-1])
        alpha.append(float(torch.dot(w, basis[-1])))
        for _ in range(2):
            stack = torch.stack(basis)
            w = w - stack.T @ (stack @ w)
        beta.append(float(torch.linalg.vector_norm(w)))
        if not isfinite(alpha[-1] + beta[-1]):
            return Spectrum(nan, nan, nan)
        scale = max(map(abs, [*alpha, *beta[:-1]]))
        if beta[-1] <= 1e-7 * max(scale, 1e-30) or step + 1 == steps:
            break
        basis.append(w / beta[-1])
    inner = beta[: len(alpha) - 1]
    values, vectors = np.linalg.eigh(
        np.diag(alpha) + np.diag(inner, 1) + np.diag(inner, -1)
    )
    best = int(np.argmax(np.abs(values)))
    residual = beta[-1] * abs(vectors[-1, best])
    weights = torch.from_numpy(vectors[:, best].copy()).to(start)
    vector = torch.stack(basis[: len(alpha)]).T @ weights
    return Spectrum(float(values[0]), float(values[-1]), float(residual), vector)
