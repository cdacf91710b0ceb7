r"""Losses of a generalised linear model, as functions of the scores $z=W^\top v$.

Scores have shape (K, D, C, R): rows, samples, outputs, replicas. Targets have shape
(K, D, C, 1): one-hot classes, a 0/1 label, or real numbers. The *residual* is the
gradient of the loss with respect to the scores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import log

import torch
from torch import Tensor


class Loss(ABC):
    r"""A convex loss $\ell(z,y)$ of one sample.

    Attributes:
        curvature: $\kappa$ with $0\preceq\nabla_z^2\ell\preceq\kappa I$; hence also a
            Lipschitz constant of the residual.
        residual_bound: a bound of the residual's norm for all scores, or None.
    """

    curvature: float
    residual_bound: float | None

    @abstractmethod
    def value(self, z: Tensor, y: Tensor) -> Tensor:
        """Return the loss of every sample, shape (K, D, R)."""

    @abstractmethod
    def residual_(self, z: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Overwrite the scores with ``weight`` times the residual and return them.

        Args:
            z: scores, shape (K, D, C, R); destroyed.
            y: targets, shape (K, D, C, 1).
            weight: weight of every sample, shape (K, D, 1, R) or (K, D, 1, 1).
        """

    @abstractmethod
    def predicted(self, z: Tensor, out: Tensor) -> Tensor:
        """Write what the scores predict to ``out``; the residual is that minus y.

        Args:
            z: scores, shape (L, C, B); may be destroyed.
            out: of the same shape.

        Returns:
            The prediction: ``out``, or ``z`` where they are the same.
        """

    @abstractmethod
    def hessian(self, z: Tensor) -> Tensor:
        """Return the Hessian in the scores, (D, C, C), for scores of shape (D, C)."""


class Squared(Loss):
    r"""$\ell=\frac12\|z-y\|^2$, summed over outputs; $\nabla^2\ell=I$."""

    curvature = 1.0
    residual_bound = None

    def value(self, z: Tensor, y: Tensor) -> Tensor:
        """Return half the squared distance to the target."""
        return (z - y).square().sum(2).mul_(0.5)

    def residual_(self, z: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Return the scores, overwritten with $w(z-y)$."""
        return z.sub_(y).mul_(weight)

    def predicted(self, z: Tensor, out: Tensor) -> Tensor:
        """Return the scores."""
        return z

    def hessian(self, z: Tensor) -> Tensor:
        """Return identity matrices."""
        return torch.eye(z.shape[1], dtype=z.dtype).expand(z.shape[0], -1, -1)


class Logistic(Loss):
    r"""$\ell=\log(1+e^z)-yz$ with $y\in\{0,1\}$ and one output.

    The residual is $s(z)-y\in(-1,1)$ with $s$ the sigmoid, and
    $s'(z)=s(z)(1-s(z))\le\frac14$.
    """

    curvature = 0.25
    residual_bound = 1.0

    def value(self, z: Tensor, y: Tensor) -> Tensor:
        """Return the negative log-likelihood."""
        return torch.logaddexp(z, torch.zeros((), dtype=z.dtype)).sub_(y * z).squeeze(2)

    def residual_(self, z: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Return the scores, overwritten with $w(s(z)-y)$."""
        return z.sigmoid_().sub_(y).mul_(weight)

    def predicted(self, z: Tensor, out: Tensor) -> Tensor:
        """Return $s(z)$."""
        return torch.sigmoid(z, out=out)

    def hessian(self, z: Tensor) -> Tensor:
        """Return $s(z)s(-z)$, which does not cancel at large scores."""
        return (z.sigmoid() * (-z).sigmoid()).unsqueeze(2)


class Softmax(Loss):
    r"""$\ell=\log\sum_ce^{z_c}-\sum_cy_cz_c$ with one-hot $y$ over C classes.

    The residual is $p-y$ with $p$ the softmax, and
    $\|p-y\|^2=\sum_{c\ne y}p_c^2+(1-p_y)^2\le2(1-p_y)^2\le2$. The Hessian is
    $\operatorname{diag}(p)-pp^\top\preceq\frac12I$ (Böhning 1992): for a unit vector
    $u$, $u^\top(\operatorname{diag}(p)-pp^\top)u$ is the variance of a variable that
    takes the value $u_c$ with probability $p_c$. A variable with values in $[m,M]$ has
    variance at most $(M-m)^2/4$ (Popoviciu), and $(u_c-u_e)^2\le2(u_c^2+u_e^2)\le2$.
    """

    curvature = 0.5
    residual_bound = 2.0**0.5

    def value(self, z: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy in nats."""
        return torch.logsumexp(z, 2).sub_((y * z).sum(2))

    def residual_(self, z: Tensor, y: Tensor, weight: Tensor) -> Tensor:
        """Return the scores, overwritten with $w(p-y)$."""
        # exp2 has a vector kernel of its own, three times as fast as exp. Rounding
        # z / log 2 perturbs p by at most eps * max |z| e^-|z| < eps.
        z.sub_(z.amax(2, keepdim=True)).mul_(1.0 / log(2.0)).exp2_()
        z.mul_(weight / z.sum(2, keepdim=True))
        return z.addcmul_(weight, y, value=-1.0)

    def predicted(self, z: Tensor, out: Tensor) -> Tensor:
        """Return the softmax."""
        return torch.softmax(z, 1, out=out)

    def hessian(self, z: Tensor) -> Tensor:
        r"""Return $\operatorname{diag}(p)-pp^\top$."""
        p = torch.softmax(z, 1)
        return torch.diag_embed(p).sub_(p.unsqueeze(2) * p.unsqueeze(1))
