"""Plain references: losses written out sample by sample, batches enumerated."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import torch

from sfl_train.data import Dataset
from sfl_train.problems.linear_model import LinearModel
from sfl_train.problems.network import Network


def dataset(seed, samples, features, classes=None):
    """A small synthetic set; every class occurs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, features))
    if classes is None:
        y = rng.normal(size=samples)
    else:
        y = np.concatenate([
            np.arange(classes),
            rng.integers(0, classes, samples - classes),
        ])
        y = rng.permutation(y)
    return Dataset("toy", X, y, classes, None, "drawn for a test")


def parts_of(sizes):
    """Consecutive index blocks of the given sizes."""
    ends = np.cumsum(sizes)
    return [np.arange(e - s, e) for s, e in zip(sizes, ends, strict=True)]


def sample_loss(problem, data, j, x):
    """The loss of sample j at a flat parameter vector, l2 term included."""
    v = torch.from_numpy(data.X[j])
    one = torch.ones(1, dtype=torch.float64)
    if isinstance(problem, Network):
        z = v
        for block in problem.blocks:
            W = x[block.start : block.stop].view(block.inputs + 1, block.outputs)
            z = torch.cat([z, one]) @ W
            if block.activation == "tanh":
                z = torch.tanh(z)
            elif block.activation == "softplus":
                z = torch.nn.functional.softplus(z, threshold=1e9)
        loss = "softmax"
    else:
        if problem.features == len(v) + 1:
            v = torch.cat([v, one])
        z, loss = v @ x.view(problem.features, problem.outputs), problem.loss_name
    if loss == "softmax":
        value = torch.logsumexp(z, 0) - z[int(data.y[j])]
    elif loss == "logistic":
        value = torch.nn.functional.softplus((1 - 2 * int(data.y[j])) * z[0])
    elif data.classes is None:
        value = 0.5 * (z[0] - float(data.y[j])) ** 2
    else:
        target = torch.eye(data.classes, dtype=torch.float64)[int(data.y[j])]
        value = 0.5 * (z - target).square().sum()
    return value + problem.l2 / 2 * x @ x


def sample_gradients(problem, data, part, x):
    """Gradients of all samples of a client, (D_n, d)."""
    rows = []
    for j in part:
        y = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(sample_loss(problem, data, j, y), y)
        rows.append(g)
    return torch.stack(rows)


def batches(size, batch, replacement):
    """All equally likely mini-batches."""
    if replacement:
        return list(product(range(size), repeat=batch))
    return list(combinations(range(size), batch))


def model(kind, data, sizes, l2, **more):
    """The problem of the given kind with consecutive clients."""
    if kind == "network":
        return Network(data, parts_of(sizes), l2=l2, **more)
    return LinearModel(data, parts_of(sizes), kind, l2=l2, **more)
