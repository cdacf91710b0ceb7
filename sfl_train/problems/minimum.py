r"""The minimiser of $f=\sum_na_nF_n$ that lies nearest to the initial point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train.problems.problem import Problem

TOLERANCE = 1e-10
"""Largest $\\|\\nabla f(x^*)\\|$ that passes for a minimiser."""

RANK_TOLERANCE = 1e-10
"""Eigenvalues of the Hessian below this fraction of the largest are its null space."""


@dataclass(frozen=True)
class Minimum:
    r"""A minimiser.

    Attributes:
        x: $x^*$, shape (d,).
        value: $f^*=f(x^*)$.
        gradient_norm: $\|\nabla f(x^*)\|$.
    """

    x: NDArray[np.float64]
    value: float
    gradient_norm: float


def minimum(
    problem: Problem, weights: NDArray[np.float64], iterations: int = 100
) -> Minimum:
    r"""Minimise $f=\sum_na_nF_n$ to machine precision.

    Newton's method with backtracking, restricted to $x^0$ plus the range of
    $\nabla^2f$. That space is the same at every point of the convex problems: its
    complement are the directions that change no score. Along these f is constant where
    a minimiser exists, so the minimisers are $x^*$ plus the null space, the one in
    $x^0$ plus the range is nearest to $x^0$, and $I_{err}=\|x^0-x^*\|^2$ is the
    squared distance to the set. For quadratics it is one step, repeated to polish
    rounding errors.

    Args:
        problem: strongly or general convex, with a ``hessian``.
        weights: $a_n$, shape (N,).
        iterations: Newton steps at most.

    Returns:
        The nearest minimiser.

    Raises:
        ValueError: if the problem is not convex, or if the gradient does not come below
            1e-10, because f has no minimiser (or where rounding in the gradient
            itself, 1e-14 of $S\|x^*\|$, exceeds that).
    """
    if problem.convexity == "non_convex" or not isinstance(problem, _TwiceSmooth):
        raise ValueError(f"{problem.name} is not convex: it has no unique minimum")
    a = torch.from_numpy(np.array(weights, dtype=np.float64))
    x = torch.from_numpy(problem.x0.copy())
    basis = _range(problem.hessian(torch.zeros_like(x), a))
    value, slope = _evaluate(problem, x, a)
    for _ in range(iterations):
        reduced = basis.T @ problem.hessian(x, a) @ basis
        step = -basis @ _solve(reduced, basis.T @ slope)
        candidate, new_value, new_slope = _search(problem, a, x, value, slope, step)
        settled = float(slope.norm()) <= TOLERANCE
        if settled and float(new_slope.norm()) >= 0.5 * float(slope.norm()):
            break
        x, value, slope = candidate, new_value, new_slope
        if not bool(torch.isfinite(slope).all()):
            break
    norm = float(slope.norm())
    allowed = max(TOLERANCE, 1e-14 * (problem.S or 0.0) * float(x.norm()))
    if not norm <= allowed:
        raise ValueError(
            f"{problem.name}: no minimiser found, the gradient stays at {norm:.3g}"
            f" (needed {allowed:.3g}); f may be unbounded or decrease for ever"
        )
    return Minimum(x.numpy(), value, norm)


def lower_bound(problem: Problem, weights: NDArray[np.float64]) -> float:
    r"""Return a number below $f$ everywhere; $f^*$ itself where f is convex.

    $f(x^0)$ minus it bounds the gap $f(x^0)-f^*$ from above.

    Args:
        problem: any problem.
        weights: $a_n$, shape (N,).

    Returns:
        $f^*$ of a convex f, 0 for the cross-entropy of a network.

    Raises:
        ValueError: if f is unbounded below.
    """
    if problem.convexity != "non_convex":
        return minimum(problem, weights).value
    if isinstance(problem, _Bounded):
        return problem.lower_bound
    if not isinstance(problem, _TwiceSmooth):
        raise ValueError(f"{problem.name}: no lower bound of f is known")
    # Non-convex quadratic clients can have a convex sum.
    a = torch.from_numpy(np.array(weights, dtype=np.float64))
    zero = torch.zeros(problem.dimension, dtype=torch.float64)
    H, (_, slope) = problem.hessian(zero, a), _evaluate(problem, zero, a)
    eigenvalues, vectors = torch.linalg.eigh(H)
    scale = float(eigenvalues.abs().max())
    flat = eigenvalues.abs() <= RANK_TOLERANCE * scale
    outside = float((vectors[:, flat].T @ slope).norm())
    if bool((eigenvalues < -RANK_TOLERANCE * scale).any()) or outside > 1e-9 * float(
        slope.norm()
    ):
        raise ValueError(
            f"{problem.name}: f is unbounded below, so f(x0) - f* does not exist"
        )
    x = -vectors[:, ~flat] @ ((vectors[:, ~flat].T @ slope) / eigenvalues[~flat])
    return _evaluate(problem, x, a)[0]


@runtime_checkable
class _TwiceSmooth(Protocol):
    def hessian(self, x: Tensor, weights: Tensor) -> Tensor: ...


@runtime_checkable
class _Bounded(Protocol):
    lower_bound: float


def _evaluate(problem: Problem, x: Tensor, a: Tensor) -> tuple[float, Tensor]:
    point = x.unsqueeze(1)
    gradients = problem.full_gradients(point).squeeze(2)
    return float(problem.value(point, a)), a @ gradients


def _range(H: Tensor) -> Tensor:
    """Return an orthonormal basis of the range, shape (d, rank)."""
    eigenvalues, vectors = torch.linalg.eigh(H)
    return vectors[:, eigenvalues > RANK_TOLERANCE * eigenvalues[-1]]


def _solve(H: Tensor, g: Tensor) -> Tensor:
    factor, failed = torch.linalg.cholesky_ex(H)
    if int(failed) == 0:
        return torch.cholesky_solve(g.unsqueeze(1), factor).squeeze(1)
    eigenvalues, vectors = torch.linalg.eigh(H)
    floor = eigenvalues[-1].clamp_min(1e-300) * 1e-14
    return vectors @ ((vectors.T @ g) / eigenvalues.clamp_min(floor))


def _search(
    problem: Problem, a: Tensor, x: Tensor, value: float, slope: Tensor, step: Tensor
) -> tuple[Tensor, float, Tensor]:
    # Armijo's rule; near the minimum differences of f drown in its rounding.
    descent, length = float(slope @ step), 1.0
    rounding = 1e-13 * (1.0 + abs(value))
    for _ in range(60):
        candidate = x + length * step
        new_value, new_slope = _evaluate(problem, candidate, a)
        if new_value <= value + 1e-4 * length * descent + rounding:
            break
        length /= 2
    return candidate, new_value, new_slope
