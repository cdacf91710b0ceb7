r"""Mini-batches as sample weights: how they are drawn, and the variance they cause."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train import streams
from sfl_train.problems.problem import Sampling
from sfl_train.streams import Keys


def draw_minibatches(
    sampling: Sampling,
    keys: Keys,
    sizes: NDArray[np.int64],
    clients: NDArray[np.int64] | None = None,
) -> Tensor | None:
    """Draw the weight count / B of every sample.

    With replacement the B samples are uniform integers; without, the samples with the
    B smallest of one uniform per sample. What a stream draws depends on its key and on
    the size of its own client, never on the other rows.

    Args:
        sampling: batch size and replacement.
        keys: stream keys, shape (..., K, R).
        sizes: samples per client, shape (N,).
        clients: which client each of the K rows belongs to; None means all N in order.

    Returns:
        Weights of shape (..., K, D, R) with D the largest size of all N clients, zero
        for padding; None if the whole data set is taken.
    """
    variance_factor(sampling, sizes)
    if sampling.batch_size is None:
        return None
    B, width = sampling.batch_size, int(sizes.max())
    mine = (sizes if clients is None else sizes[clients])[:, None]
    if sampling.replacement:
        counts = _counts(streams.integers(keys, B, mine), width)
    else:
        u = streams.uniforms(keys, width)
        u[np.broadcast_to(np.arange(width) >= mine[..., None], u.shape)] = 2.0
        chosen = np.argpartition(u, B - 1, axis=-1)[..., :B]
        counts = _counts(chosen, width)
    return counts.mul_(1.0 / B)


def variance_factor(
    sampling: Sampling, sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    r"""Return the variance of a batch mean over the population variance, shape (N,).

    With replacement $1/B$; without, $\frac1B\frac{D_n-B}{D_n-1}$ (0 for $D_n=B$); 0 if
    the whole data set is taken. A client with one sample draws that sample, so its
    factor is 0 in every case: a difference of moments would leave rounding there.

    Args:
        sampling: batch size and replacement.
        sizes: samples per client, shape (N,).

    Returns:
        One factor per client.

    Raises:
        ValueError: if the batch size is below 1, or above a client's size without
            replacement.
    """
    B = sampling.batch_size
    if B is None:
        return np.zeros(len(sizes))
    if B < 1:
        raise ValueError(f"the batch size must be at least 1, got {B}")
    if sampling.replacement:
        return np.where(np.asarray(sizes) > 1, 1.0 / B, 0.0)
    if (sizes < B).any():
        n = int(np.argmin(sizes))
        raise ValueError(
            f"batch-size {B} exceeds the {sizes[n]} samples of client {n}: draw with"
            " replacement or take a smaller batch"
        )
    return (sizes - B) / (B * np.maximum(sizes - 1, 1))


def support(draw: Tensor) -> tuple[Tensor, Tensor] | None:
    """Find the samples a draw really uses, where they are few.

    Replicas draw different samples. As long as most samples are used by some replica
    it is best to keep all of them and let the replicas share one product; where each
    uses a small part (large clients, small batches) it pays to gather that part.

    Args:
        draw: weights, (K, D, R).

    Returns:
        None if gathering does not pay. Otherwise, for every pair of row and replica,
        the samples used, (K R, B), and their weights, (K R, B, 1), with B the largest
        number of distinct samples; shorter ones are filled up with weight zero.
    """
    rows, width, replicas = draw.shape
    if width < _GATHER_FROM:
        return None
    used = int(torch.count_nonzero(draw, 1).max())
    if _GATHER_BELOW * used > width:
        return None
    flat = draw.transpose(1, 2).reshape(rows * replicas, width)
    weight, index = torch.topk(flat, used, 1, sorted=False)
    return index, weight.unsqueeze(2)


_GATHER_FROM = 48
"""Clients smaller than this many samples are never gathered."""

_GATHER_BELOW = 3
"""Gather if a mini-batch uses at most one in this many samples."""


def _counts(chosen: NDArray[np.int64], width: int) -> Tensor:
    """Return how often each sample was chosen: (..., K, R, B) to (..., K, width, R)."""
    counts = torch.zeros(*chosen.shape[:-1], width, dtype=torch.float64)
    index = torch.from_numpy(chosen)
    one = torch.ones((), dtype=torch.float64)
    counts.scatter_add_(-1, index, one.expand(index.shape))
    return counts.transpose(-1, -2).contiguous()
