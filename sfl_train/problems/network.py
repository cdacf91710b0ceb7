r"""A fully connected network over clients: the small non-convex problem.

The network is a list of named blocks, a linear map followed by an activation (none in
the last), and the loss is the mean cross-entropy over the client's samples plus
$\frac{l_2}2\|x\|^2$. The parameters are flattened block by block, so a cut between
blocks is a cut of the vector. Block k holds a matrix (inputs + 1, outputs), row by row,
whose last row is the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfl_train import streams
from sfl_train.data.bundled import Dataset
from sfl_train.problems.activations import ACTIVATIONS, activate, derivative
from sfl_train.problems.halves import NetworkHalves, Samples
from sfl_train.problems.losses import Softmax
from sfl_train.problems.minibatch import draw_minibatches, support, variance_factor
from sfl_train.problems.problem import Problem, Sampling
from sfl_train.streams import Keys, Purpose


@dataclass(frozen=True)
class Block:
    """One linear map with its activation.

    Attributes:
        name: "block1", "block2", ...
        inputs: features that come in, without the bias.
        outputs: features that go out.
        activation: "tanh", "softplus", or None in the last block.
        start: first coordinate of its parameters.
        stop: one past its last coordinate.
    """

    name: str
    inputs: int
    outputs: int
    activation: str | None
    start: int
    stop: int


class Network(Problem):
    """A fully connected classifier with cross-entropy loss.

    ``S`` and ``mu`` are None: no smoothness constant holds on all of the space.
    ``smoothness`` gives the curvature at a point.

    Attributes:
        blocks: the blocks in order; cut "k" lies behind block k.
        l2: coefficient of the squared norm.
        lower_bound: 0, below every cross-entropy, hence below f.
    """

    convexity = "non_convex"
    S = None
    mu = None
    lower_bound = 0.0

    def __init__(
        self,
        data: Dataset,
        parts: Sequence[NDArray[np.int64]],
        hidden: Sequence[int] = (16,),
        activation: str = "tanh",
        l2: float = 0.0,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        r"""Lay out samples and parameters; draw the initial point.

        The initial weights are uniform with variance $2/(\text{in}+\text{out})$ (Glorot
        and Bengio 2010), the biases zero. They depend on the seed alone and are the
        same for all replicas.

        Args:
            data: samples with classes.
            parts: indices of every client's samples, none empty.
            hidden: widths of the hidden layers, at least one.
            activation: "tanh" or "softplus".
            l2: coefficient of the squared norm.
            seed: of the initial point.
            name: of the problem.

        Raises:
            ValueError: if the data have no classes, a client is empty, there is no
                hidden layer or one of width below 1, the activation is unknown or l2
                negative.
        """
        classes = _check(data, parts, hidden, activation, l2)
        self.name = name or f"network:{data.name}"
        self.l2 = float(l2)
        self.blocks = _blocks([data.X.shape[1], *hidden, classes], activation)
        self.clients = len(parts)
        self.dimension = self.blocks[-1].stop
        self.sizes = np.array([len(part) for part in parts], dtype=np.int64)
        self.x0 = _glorot(self.blocks, seed)
        self.cuts = {str(k): b.stop for k, b in enumerate(self.blocks[:-1], start=1)}
        self.default_cut = "1"

        width, features = int(self.sizes.max()), data.X.shape[1] + 1
        self._X = torch.zeros(self.clients, width, features, dtype=torch.float64)
        self._Y = torch.zeros(self.clients, width, classes, dtype=torch.float64)
        self._mean = torch.zeros(self.clients, width, 1, dtype=torch.float64)
        for n, part in enumerate(parts):
            count = len(part)
            self._X[n, :count, :-1] = torch.from_numpy(data.X[part])
            self._X[n, :count, -1] = 1.0
            self._Y[n, :count] = torch.from_numpy(np.eye(classes)[data.y[part]])
            self._mean[n, :count] = 1.0 / count
        self._Xt = self._X.transpose(1, 2).contiguous()

    def loss(self, x: Tensor, clients: Tensor | None = None) -> Tensor:
        """Return $F_n(x_n)$, shape (K, R); differentiable in ``x``."""
        X, _, Y, mean = self._rows(clients)
        rows, _, replicas = x.shape
        scores = self._forward(X, self._matrices(x))[-1].view(
            rows, replicas, -1, Y.shape[2]
        )
        target = (scores * Y.unsqueeze(1)).sum(3)
        entropy = torch.logsumexp(scores, 3) - target
        risk = (entropy * mean.view(rows, 1, -1)).sum(2)
        return risk + self.l2 / 2 * x.square().sum(1)

    def gradient(
        self, x: Tensor, draw: Tensor | None = None, clients: Tensor | None = None
    ) -> Tensor:
        """Return the gradient of the weighted mean loss, shape (K, d, R)."""
        used = None if draw is None else support(draw)
        if used is not None:
            return self._gathered_gradient(x, *used, clients)
        X, Xt, Y, mean = self._rows(clients)
        weight = self._per_replica(mean if draw is None else draw, x)
        out = self._products(Xt, self._backward(X, Y, x, weight), x)
        return out.add_(x, alpha=self.l2) if self.l2 else out

    def halves(self, cut: int) -> NetworkHalves | None:
        """Return the sides if the server's is the last block, see `Halved.halves`."""
        *front, last = self.blocks
        if cut != last.start:
            return None
        return NetworkHalves(
            Samples(self._X, self._Y, self._mean.squeeze(2)),
            Softmax(),
            self.l2,
            tuple((block.inputs + 1, block.outputs) for block in front),
            (last.inputs + 1, last.outputs),
            tuple(block.activation for block in front),
        )

    def draw(
        self, sampling: Sampling, keys: Keys, clients: NDArray[np.int64] | None = None
    ) -> Tensor | None:
        """Return count / B of every sample, shape (..., K, D, R); None for all."""
        return draw_minibatches(sampling, keys, self.sizes, clients)

    def variance(self, x: Tensor, sampling: Sampling) -> Tensor:
        r"""Return the variance of every coordinate of the mini-batch gradient.

        In a block with inputs $a_j$ (a last 1 for the bias) and output derivatives
        $\delta_j$ the gradient of sample j is $a_j\otimes\delta_j$ (plus the same
        $l_2x$ for all), so the second moments are products of squares:
        $\frac1{D_n}\sum_ja_{ji}^2\delta_{jo}^2$. No loop over samples.
        """
        factor = variance_factor(sampling, self.sizes)
        if not factor.any():
            return torch.zeros(x.shape, dtype=x.dtype)
        mean = self._per_replica(self._mean, x)
        ones = torch.ones(1, 1, 1, dtype=x.dtype)
        pairs = self._backward(self._X, self._Y, x, ones)
        first = self._products(self._Xt, [(a, e * mean) for a, e in pairs], x)
        squares = [
            (a if a is None else a.square(), e.square() * mean) for a, e in pairs
        ]
        second = self._products(self._Xt2, squares, x)
        spread = second.sub_(first.square_()).clamp_min_(0.0)
        return spread * torch.from_numpy(factor).view(-1, 1, 1)

    def on_ball(
        self,
        center: NDArray[np.float64],
        radius: float,
        sampling: Sampling,
        weights: NDArray[np.float64],
    ) -> None:
        """Return None: no constants are proved for the network."""
        return None

    def hessian_vector(self, x: Tensor, v: Tensor) -> Tensor:
        r"""Return $\nabla^2F_n(x)v_n$ for all clients, shape (N, d, R).

        Args:
            x: common point, shape (d, R).
            v: directions, shape (N, d, R) or (d, R) for the same one everywhere.

        Returns:
            The products.
        """
        with torch.enable_grad():
            points = x.detach().repeat(self.clients, 1, 1).requires_grad_()
            (slope,) = torch.autograd.grad(
                self.loss(points).sum(), points, create_graph=True
            )
            (product,) = torch.autograd.grad((slope * v).sum(), points)
        return product

    def smoothness(
        self, x: Tensor, tolerance: float = 1e-3, iterations: int = 300
    ) -> Tensor:
        r"""Return $\max_n\|\nabla^2F_n(x)\|_2$, shape (R,), by Lanczos iteration.

        Without reorthogonalisation: rounding then repeats Ritz values but moves none of
        them beyond the spectrum (Paige 1980), and nothing but three vectors per client
        is kept. It stops when the residual of every leading Ritz pair is below the
        tolerance: an eigenvalue then lies that close.

        Args:
            x: common point, shape (d, R).
            tolerance: relative.
            iterations: at most.

        Returns:
            Largest absolute eigenvalue over the clients, for every replica.

        Raises:
            RuntimeError: if the iterations do not suffice.
        """
        shape = (self.clients, self.dimension, x.shape[1])
        key = streams.keys(0, Purpose.PROBLEM, client=np.arange(self.clients))
        start = torch.from_numpy(streams.normals(key, self.dimension)).unsqueeze(2)
        q = start.expand(shape) / torch.linalg.vector_norm(start, dim=1, keepdim=True)
        previous, beta = torch.zeros(shape, dtype=x.dtype), None
        diagonal: list[Tensor] = []
        off: list[Tensor] = []
        for step in range(1, min(iterations, 2 * self.dimension) + 1):
            p = self.hessian_vector(x, q)
            if beta is not None:
                p = p - beta.unsqueeze(1) * previous
            alpha = (p * q).sum(1)
            p = p - alpha.unsqueeze(1) * q
            beta = torch.linalg.vector_norm(p, dim=1)
            diagonal.append(alpha)
            if step % 5 == 0 or step == self.dimension:
                T = torch.diag_embed(torch.stack(diagonal, -1))
                if off:
                    side = torch.stack(off, -1)
                    T = T + torch.diag_embed(side, 1) + torch.diag_embed(side, -1)
                values, vectors = torch.linalg.eigh(T)
                top = values.abs().argmax(-1, keepdim=True)
                ritz = values.gather(-1, top).squeeze(-1).abs()
                last = vectors[..., -1, :].gather(-1, top).squeeze(-1).abs()
                if bool((beta * last <= tolerance * ritz).all()):
                    return ritz.amax(0)
            off.append(beta)
            previous, q = q, p / beta.clamp_min(1e-300).unsqueeze(1)
        raise RuntimeError(
            f"Lanczos iteration did not reach {tolerance:g} in {iterations} steps"
        )

    def _gathered_gradient(
        self, x: Tensor, index: Tensor, weight: Tensor, clients: Tensor | None
    ) -> Tensor:
        """Return the gradient from the samples in use, one replica per row."""
        rows, dimension, replicas = x.shape
        owner = torch.arange(rows) if clients is None else clients
        owner = owner.repeat_interleave(replicas).unsqueeze(1)
        sample = (index + owner * self._X.shape[1]).view(-1)
        X = self._X.view(-1, self._X.shape[2]).index_select(0, sample)
        Y = self._Y.view(-1, self._Y.shape[2]).index_select(0, sample)
        X, Y = X.view(*index.shape, -1), Y.view(*index.shape, -1)
        alone = x.transpose(1, 2).reshape(rows * replicas, dimension, 1)
        pairs = self._backward(X, Y, alone, weight)
        g = self._products(X.transpose(1, 2), pairs, alone)
        if self.l2:
            g.add_(alone, alpha=self.l2)
        return g.view(rows, replicas, dimension).transpose(1, 2).contiguous()

    def _rows(self, clients: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if clients is None:
            return self._X, self._Xt, self._Y, self._mean
        X = self._X[clients]
        return X, X.transpose(1, 2), self._Y[clients], self._mean[clients]

    def _per_replica(self, weight: Tensor, x: Tensor) -> Tensor:
        """Return sample weights (K, D, R or 1) as (K R, D, 1)."""
        rows, _, replicas = x.shape
        spread = weight.expand(rows, weight.shape[1], replicas)
        return spread.transpose(1, 2).reshape(rows * replicas, -1, 1)

    def _matrices(self, x: Tensor) -> list[Tensor]:
        """Return the blocks' matrices; the first (K, I, R O), the others (K R, I, O).

        All replicas of a client meet the same inputs in the first block, so there they
        are columns of one product.
        """
        rows, _, replicas = x.shape
        matrices = []
        for block in self.blocks:
            W = x[:, block.start : block.stop].reshape(
                rows, block.inputs + 1, block.outputs, replicas
            )
            if block is self.blocks[0]:
                W = W.transpose(2, 3).reshape(rows, block.inputs + 1, -1)
            else:
                W = W.permute(0, 3, 1, 2).reshape(
                    rows * replicas, block.inputs + 1, block.outputs
                )
            matrices.append(W)
        return matrices

    def _forward(self, X: Tensor, matrices: list[Tensor]) -> list[Tensor]:
        """Return the outputs of all blocks, each (K R, D, O)."""
        rows, width, _ = X.shape
        first = self.blocks[0]
        z = torch.bmm(X, matrices[0]).view(rows, width, -1, first.outputs)
        z = z.transpose(1, 2).reshape(-1, width, first.outputs)
        outputs = [activate(z, first.activation)]
        for block, W in zip(self.blocks[1:], matrices[1:], strict=True):
            z = torch.baddbmm(W[:, -1:], outputs[-1], W[:, :-1])
            outputs.append(activate(z, block.activation))
        return outputs

    def _backward(
        self, X: Tensor, Y: Tensor, x: Tensor, weight: Tensor
    ) -> list[tuple[Tensor | None, Tensor]]:
        """Return every block's inputs and output derivatives.

        Args:
            X: samples, (K, D, F + 1).
            Y: one-hot classes, (K, D, C).
            x: parameters, (K, d, R).
            weight: of the samples, (K R, D, 1).

        Returns:
            In block order, inputs (K R, D, I) without the constant, None for the first
            block, whose inputs are X; and derivatives (K R, D, O).
        """
        rows, width, _ = X.shape
        matrices = self._matrices(x)
        outputs = self._forward(X, matrices)
        p = torch.softmax(outputs[-1], 2).view(rows, -1, width, Y.shape[2])
        e = p.sub_(Y.unsqueeze(1)).view(outputs[-1].shape).mul_(weight)
        pairs: list[tuple[Tensor | None, Tensor]] = []
        for k in range(len(self.blocks) - 1, 0, -1):
            a = outputs[k - 1]
            pairs.append((a, e))
            e = torch.bmm(e, matrices[k][:, :-1].transpose(1, 2))
            e = e.mul_(derivative(a, self.blocks[k - 1].activation))
        pairs.append((None, e))
        return pairs[::-1]

    def _products(
        self, Xt: Tensor, pairs: list[tuple[Tensor | None, Tensor]], x: Tensor
    ) -> Tensor:
        """Return the sums over samples of inputs times derivatives, (K, d, R)."""
        rows, _, replicas = x.shape
        out = torch.empty(x.shape, dtype=x.dtype)
        for block, (a, e) in zip(self.blocks, pairs, strict=True):
            target = out[:, block.start : block.stop].view(
                rows, block.inputs + 1, block.outputs, replicas
            )
            width = e.shape[1]
            if a is None:
                e = e.view(rows, replicas, width, -1).transpose(1, 2)
                W = torch.bmm(Xt, e.reshape(rows, width, -1))
                W = W.view(rows, block.inputs + 1, replicas, block.outputs)
                target.copy_(W.transpose(2, 3))
                continue
            W = torch.bmm(a.transpose(1, 2), e)
            W = W.view(rows, replicas, block.inputs, block.outputs)
            target[:, :-1] = W.permute(0, 2, 3, 1)
            bias = e.sum(1).view(rows, replicas, block.outputs)
            target[:, -1] = bias.transpose(1, 2)
        return out

    @cached_property
    def _Xt2(self) -> Tensor:
        return self._Xt.square()


def _blocks(widths: Sequence[int], activation: str) -> tuple[Block, ...]:
    blocks, start = [], 0
    for k in range(1, len(widths)):
        inputs, outputs = widths[k - 1], widths[k]
        stop = start + (inputs + 1) * outputs
        acts = activation if k < len(widths) - 1 else None
        blocks.append(Block(f"block{k}", inputs, outputs, acts, start, stop))
        start = stop
    return tuple(blocks)


def _glorot(blocks: Sequence[Block], seed: int) -> NDArray[np.float64]:
    x0 = np.zeros(blocks[-1].stop)
    for k, block in enumerate(blocks):
        limit = np.sqrt(6.0 / (block.inputs + block.outputs))
        key = streams.keys(seed, Purpose.INITIAL_POINT, client=k)
        count = block.inputs * block.outputs
        uniform = streams.uniforms(key, count)
        x0[block.start : block.start + count] = limit * (2.0 * uniform - 1.0)
    return x0


def _check(
    data: Dataset,
    parts: Sequence[NDArray[np.int64]],
    hidden: Sequence[int],
    activation: str,
    l2: float,
) -> int:
    if data.classes is None:
        raise ValueError(f"a network needs classes, {data.name} has none")
    if len(hidden) == 0 or min(hidden) < 1:
        raise ValueError(
            f"expected at least one hidden layer of width >= 1, got {list(hidden)}"
        )
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"unknown activation {activation!r}: choose {' or '.join(ACTIVATIONS)}"
        )
    if not 0.0 <= l2 < np.inf:
        raise ValueError(f"l2 must be finite and >= 0, got {l2}")
    if len(parts) == 0:
        raise ValueError("expected at least one client, got none")
    for n, part in enumerate(parts):
        if len(part) == 0:
            raise ValueError(f"client {n} holds no samples: every client needs one")
    return data.classes
