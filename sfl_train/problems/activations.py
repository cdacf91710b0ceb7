"""Activations of the fully connected network, by name."""

from __future__ import annotations

import torch
from torch import Tensor

ACTIVATIONS = ("tanh", "softplus")


def activate(z: Tensor, activation: str | None) -> Tensor:
    """Return the activation of ``z``; ``z`` itself without one."""
    if activation == "tanh":
        return torch.tanh(z)
    if activation == "softplus":
        return torch.logaddexp(z, torch.zeros((), dtype=z.dtype))
    return z


def derivative(a: Tensor, activation: str | None) -> Tensor:
    r"""Return the derivative in terms of the *output* $a$.

    $\tanh'=1-a^2$; for the softplus $a=\log(1+e^z)$ it is the sigmoid, $1-e^{-a}$.
    """
    return 1.0 - a.square() if activation == "tanh" else -torch.expm1(-a)
