"""Split training in plain PyTorch, with the two messages that it really exchanges.

The client sends the activations of its half, the server answers with their gradient;
each side has its own half of an `nn.Sequential`, its own backward pass and its own
optimizer of `torch.optim`. Optimizers live for one round.
"""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import torch
from reference import World, torch_optimizer
from torch import nn
from torch.nn.functional import cross_entropy

from sfl_train import streams

ACTIVATIONS = {"tanh": nn.Tanh, "softplus": nn.Softplus}


def fedavg(federation, samples, algorithm, rate, rounds):
    """The model is never cut."""
    world, model = World(federation, federation.seeds[0]), network(federation.problem)
    for t in range(rounds):
        local = {}
        for n in world.participants(t):
            local[n] = deepcopy(model)
            optimizer = torch_optimizer(
                algorithm.optimizer, local[n].parameters(), rate
            )
            for i in range(algorithm.tau):
                Z, y = samples[n]
                w = batch(federation, world, n, t, i)
                optimizer.zero_grad()
                (cross_entropy(local[n](Z), y, reduction="none") * w).sum().backward()
                optimizer.step()
        aggregate(model, local, world)
    return vector(model)


def sfl_v1(federation, samples, algorithm, blocks, rate, rounds):
    """The client side holds the first ``blocks`` blocks."""
    world, model = World(federation, federation.seeds[0]), network(federation.problem)
    front, back = model[:blocks], model[blocks:]
    for t in range(rounds):
        fronts, backs = {}, {}
        for n in world.participants(t):
            fronts[n], backs[n] = deepcopy(front), deepcopy(back)
            client = torch_optimizer(algorithm.optimizer, fronts[n].parameters(), rate)
            server = torch_optimizer(algorithm.server, backs[n].parameters(), rate)
            for i in range(max(algorithm.tau, algorithm.tau_server)):
                w = batch(federation, world, n, t, i)
                backward(fronts[n], backs[n], *samples[n], w)
                if i < algorithm.tau_server:
                    server.step()
                if i < algorithm.tau:
                    client.step()
        aggregate(front, fronts, world)
        aggregate(back, backs, world)
    return vector(model)


def sfl_v2(federation, samples, algorithm, blocks, rate, rounds):
    """One server half; the participants come in random order."""
    world, model = World(federation, federation.seeds[0]), network(federation.problem)
    front, back = model[:blocks], model[blocks:]
    for t in range(rounds):
        participants = world.participants(t)
        fronts = {n: deepcopy(front) for n in participants}
        clients = {
            n: torch_optimizer(algorithm.optimizer, fronts[n].parameters(), rate)
            for n in participants
        }
        server = torch_optimizer(algorithm.server, back.parameters())
        if algorithm.order == "interleaved":
            visits = [(n, i) for i in range(algorithm.tau) for n in world.order(t, i)]
        else:
            visits = [(n, i) for n in world.order(t, 0) for i in range(algorithm.tau)]
        for n, i in visits:
            if n in participants:
                backward(
                    fronts[n], back, *samples[n], batch(federation, world, n, t, i)
                )
                server.param_groups[0]["lr"] = rate / world.q[n]
                server.step()
                clients[n].step()
        aggregate(front, fronts, world)
    return vector(model)


def backward(front, back, Z, y, w):
    """Fill the gradients of both halves by passing two messages."""
    for half in (front, back):
        half.zero_grad()
    smashed = front(Z)
    received = smashed.detach().requires_grad_()
    (cross_entropy(back(received), y, reduction="none") * w).sum().backward()
    smashed.backward(received.grad)


@torch.no_grad()
def aggregate(half, local, world):
    """x <- x + sum of a_n / q_n (x_n - x) over the participants."""
    for name, x in half.named_parameters():
        moves = [
            world.a[n] / world.q[n] * (model.get_parameter(name) - x)
            for n, model in local.items()
        ]
        x.add_(sum(moves, torch.zeros_like(x)))


def batch(federation, world, n, t, i):
    """The weight count / B of every sample of client n."""
    key = streams.keys(world.seed, streams.Purpose.MINIBATCH, t, world.ids[n], i)
    drawn = federation.problem.draw(
        federation.sampling, key.reshape(1, 1), np.array([n])
    )
    size = int(federation.problem.sizes[n])
    if drawn is None:
        return torch.full((size,), 1.0 / size, dtype=torch.float64)
    return drawn.view(-1)[:size]


def network(problem):
    """The blocks of a `Network` as an `nn.Sequential` of `nn.Sequential`s."""
    model = nn.Sequential()
    for block in problem.blocks:
        part = nn.Sequential(nn.Linear(block.inputs, block.outputs).double())
        if block.activation:
            part.append(ACTIVATIONS[block.activation]())
        values = torch.tensor(problem.x0[block.start : block.stop])
        values = values.view(block.inputs + 1, block.outputs)
        part[0].weight.data = values[:-1].T.contiguous()
        part[0].bias.data = values[-1].clone()
        model.append(part)
    return model


def vector(model):
    """The parameters in the layout of `Network`."""
    halves = [
        torch.cat([part[0].weight.T, part[0].bias.unsqueeze(0)]).reshape(-1)
        for part in model
    ]
    return torch.cat(halves).detach()
