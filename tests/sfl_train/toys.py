"""Small problems for tests of the algorithms, and strategies that draw runs of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import torch
from hypothesis import strategies as st

from sfl_train import streams
from sfl_train.algorithms import SFLV1, SFLV2, FedAvg, MiniBatchSFL
from sfl_train.data.bundled import Dataset
from sfl_train.engine import ConstantRate, Trainer
from sfl_train.federation import Federation
from sfl_train.optimizer import SGD, Adam
from sfl_train.problems.linear_model import LinearModel
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Problem, Sampling
from sfl_train.problems.quadratic import random_quadratic


class Toy(Problem):
    convexity, S, mu, name = "non_convex", None, None, "toy"

    def loss(self, x, clients=None):
        raise NotImplementedError

    variance = on_ball = loss


class NoisyBowls(Toy):
    """F_n = 1/2 x'H_n x - b_n'x with additive normal noise."""

    def __init__(self, clients, dimension, seed=0, order=None):
        random = np.random.default_rng(seed)
        A = random.normal(size=(clients, dimension, dimension))
        H = torch.tensor(A @ A.transpose(0, 2, 1) / dimension + np.eye(dimension))
        b = torch.tensor(random.normal(size=(clients, dimension, 1)))
        order = list(range(clients)) if order is None else order
        self.H, self.b = H[order], b[order]
        self.clients, self.dimension = clients, dimension
        self.sizes = np.ones(clients, dtype=np.int64)
        self.x0 = random.normal(size=dimension)
        self.cuts = {"last": dimension - 1}

    def gradient(self, x, draw=None, clients=None):
        clients = slice(None) if clients is None else clients
        g = self.H[clients] @ x - self.b[clients]
        return g if draw is None else g + draw

    def draw(self, sampling, keys, clients=None):
        noise = streams.normals(keys, self.dimension)
        return torch.from_numpy(0.1 * np.ascontiguousarray(np.moveaxis(noise, -1, -2)))


class TanhNet(Toy):
    """Linear and tanh layers, softmax cross-entropy, clients of unequal size.

    Parameters layer by layer, weight (out, in) before bias, as torch lists them.
    """

    def __init__(self, widths, sizes, seed=0, order=None):
        random = np.random.default_rng(seed)
        self.widths, self.clients = widths, len(sizes)
        order = list(range(self.clients)) if order is None else order
        D = max(sizes)
        Z = torch.tensor(random.normal(size=(self.clients, D, widths[0])))
        y = torch.tensor(random.integers(widths[-1], size=(self.clients, D)))
        self.Z, self.y = Z[order], y[order]
        self.sizes = np.array(sizes, dtype=np.int64)[order]
        ends = np.cumsum([m * n + n for m, n in pairwise(widths)]).tolist()
        self.dimension = ends[-1]
        self.x0 = random.normal(size=self.dimension)
        self.cuts = {str(k): end for k, end in enumerate(ends[:-1], 1)}

    def gradient(self, x, draw=None, clients=None):
        clients = slice(None) if clients is None else clients
        Z, y = self.Z[clients], self.y[clients]
        if draw is None:
            sizes = torch.tensor(self.sizes)[clients].view(-1, 1, 1)
            draw = (torch.arange(Z.shape[1]).view(1, -1, 1) < sizes) / sizes
        x = x.detach().requires_grad_(True)
        h, first = Z.unsqueeze(-1).expand(*Z.shape, x.shape[2]), 0
        for n_in, n_out in pairwise(self.widths):
            if first:
                h = torch.tanh(h)
            W = x[:, first : first + n_out * n_in].unflatten(1, (n_out, n_in))
            b = x[:, first + n_out * n_in : first + n_out * n_in + n_out]
            h = torch.einsum("kdir,koir->kdor", h, W) + b.unsqueeze(1)
            first += n_out * n_in + n_out
        picked = torch.log_softmax(h, 2).take_along_dim(y[:, :, None, None], 2)
        return torch.autograd.grad(-(picked.squeeze(2) * draw).sum(), x)[0]

    def draw(self, sampling, keys, clients=None):
        if sampling.batch_size is None:
            return None
        sizes = self.sizes if clients is None else self.sizes[clients]
        B, D = sampling.batch_size, self.Z.shape[1]
        chosen = streams.integers(keys, B, sizes[:, None])
        counts = (chosen[..., None, :] == np.arange(D)[:, None]).sum(-1)
        return torch.from_numpy(np.moveaxis(counts / B, -1, -2).copy())


def train(federation, algorithm, rate=None, rounds=3, track_ball=False):
    """Return x^0..x^T, shape (T+1, d, R), and the trainer."""
    rate = ConstantRate(0.05) if rate is None else rate
    trainer = Trainer(federation, algorithm, rate, track_ball)
    return torch.stack([x.clone() for _, x in trainer.rounds(rounds)]), trainer


def assert_close(left, right, tolerance=1e-12):
    scale = max(1.0, float(right.abs().max()))
    assert float((left - right).abs().max()) <= tolerance * scale


@st.composite
def rates(draw):
    """One or two constant rates, per round or per step, or falling ones."""
    first = draw(st.sampled_from([0.01, 0.05]))
    second = draw(st.sampled_from([None, 0.02]))
    return draw(st.sampled_from([ConstantRate(first, second), Falling(first)]))


class Falling:
    per_step = True

    def __init__(self, first):
        self.first = first

    def client(self, i):
        return self.first / (1 + 0.1 * i)

    server = client


def optimizers(lifetimes=("step", "round", "run")):
    """Any optimizer; Adam with an epsilon that does not blow rounding errors up."""
    lifetime, decay = st.sampled_from(lifetimes), st.sampled_from([0.0, 0.1])
    return st.one_of(
        st.builds(
            SGD,
            momentum=st.sampled_from([0, 0.9]),
            weight_decay=decay,
            lifetime=lifetime,
        ),
        st.builds(Adam, eps=st.just(0.05), weight_decay=decay, lifetime=lifetime),
    )


@st.composite
def algorithms(draw, dimension):
    """Any algorithm with any options."""
    kind = draw(st.sampled_from([FedAvg, SFLV1, SFLV2, MiniBatchSFL]))
    tau, cut = draw(st.integers(1, 4)), draw(st.integers(1, dimension - 1))
    options = {
        "optimizer": draw(optimizers()),
        "aggregation": draw(st.sampled_from(["updates", "models"])),
    }
    if kind is FedAvg:
        return FedAvg(tau, **options)
    options["server_optimizer"] = draw(st.none() | optimizers())
    if kind is SFLV1:
        clock = draw(st.sampled_from(["analysis", "algorithm"]))
        return SFLV1(tau, draw(st.integers(1, 4)), cut, clock, **options)
    if kind is SFLV2:
        order = draw(st.sampled_from(["interleaved", "client-sequential"]))
        return SFLV2(tau, cut, order, **options)
    return MiniBatchSFL(tau, cut, **options)


@st.composite
def weights(draw, clients):
    parts = np.array([draw(st.integers(0, 5)) for _ in range(clients)], dtype=float)
    parts[0] += not parts.any()
    return parts / parts.sum()


@st.composite
def participations(draw, clients):
    """Everyone, or probabilities small enough that rounds stay empty now and then."""
    some = st.sampled_from([0.3, 0.6, 1.0])
    full, part = (
        st.just([1.0] * clients),
        st.lists(some, min_size=clients, max_size=clients),
    )
    return draw(st.one_of(full, part))


@st.composite
def problems(draw):
    clients, seed = draw(st.integers(1, 4)), draw(st.integers(0, 99))
    if draw(st.booleans()):
        return NoisyBowls(clients, draw(st.integers(2, 5)), seed)
    sizes = [draw(st.integers(2, 7)) for _ in range(clients)]
    inner = [draw(st.integers(2, 4)) for _ in range(draw(st.integers(0, 2)))]
    return TanhNet([3, *inner, 2], sizes, seed)


@st.composite
def shipped(draw):
    """The problems of the package, on random data."""
    N, seed = draw(st.integers(1, 3)), draw(st.integers(0, 99))
    kind = draw(st.sampled_from(["softmax", "logistic", "squared", "net", "quadratic"]))
    if kind == "quadratic":
        return random_quadratic(N, draw(st.integers(2, 5)), S=4.0, mu=0.5, seed=seed)
    sizes = [draw(st.sampled_from([3, 5, 50])) for _ in range(N)]
    if kind == "net":
        data, parts = samples(3, sizes, seed)
        return Network(data, parts, hidden=[draw(st.integers(1, 3))], l2=0.1)
    return small_linear_model(kind, draw(st.sampled_from([0.1, 0.5])), sizes, seed)


def small_linear_model(loss, l2, sizes, seed):
    data, parts = samples(2 if loss == "logistic" else 3, sizes, seed)
    return LinearModel(data, parts, loss, l2)


def samples(classes, sizes, seed):
    random, D = np.random.default_rng(seed), sum(sizes)
    X, y = random.normal(size=(D, 3)), random.integers(classes, size=D)
    parts = np.split(np.arange(D), np.cumsum(sizes)[:-1])
    return Dataset("random", X, y, classes, None, "none"), parts


@st.composite
def federations(draw, problem):
    N = problem.clients
    seeds = draw(st.lists(st.integers(0, 999), min_size=1, max_size=3, unique=True))
    ids = draw(st.none() | st.permutations(range(10, 10 + N)))
    return Federation(
        problem,
        weights=draw(weights(N)),
        participation=draw(participations(N)),
        sampling=Sampling(draw(st.sampled_from([None, 1, 3]))),
        seeds=seeds,
        client_ids=None if ids is None else np.array(ids),
    )
