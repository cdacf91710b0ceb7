"""Split training as a protocol of messages, slowly: the reference of the fused trainer.

Modules are copied, optimizers are PyTorch's, features and their gradients are detached
tensors that are counted as they cross the cut. Nothing here is shared with the trainer
but the draws (batches, participants, orders).
"""

from __future__ import annotations

import copy

import torch
from torch import nn


class Parties:
    """Client sides and server sides as separate modules."""

    def __init__(self, blocks: nn.Sequential, cut: int, momentum: float) -> None:
        self.client = copy.deepcopy(blocks[:cut])
        self.server = copy.deepcopy(blocks[cut:])
        self.momentum = momentum
        self.up = self.down = 0

    def sgd(self, module: nn.Module, rate: float) -> torch.optim.Optimizer:
        return torch.optim.SGD(module.parameters(), lr=rate, momentum=self.momentum)

    def message(self, tensor: torch.Tensor, up: bool) -> torch.Tensor:
        size = tensor.numel() * tensor.element_size()
        self.up, self.down = self.up + size * up, self.down + size * (not up)
        return tensor.detach().clone()

    def exchange(self, module: nn.Module, up: bool) -> nn.Module:
        for parameter in module.parameters():
            self.message(parameter, up)
        return copy.deepcopy(module)

    def visit(self, client, server, batch, client_step, server_step) -> None:
        """Two messages: features up, their gradient down."""
        x, y = batch
        client.train(), server.train()
        client_step.zero_grad(), server_step.zero_grad()
        features = client(x)
        received = self.message(features, up=True).requires_grad_()
        loss = nn.functional.cross_entropy(server(received), y)
        loss.backward()
        features.backward(self.message(received.grad, up=False))
        server_step.step()
        client_step.step()


def averaged(modules, weights, shares, into) -> None:
    """Write weighted sums of the modules' floating-point tensors into a module."""
    states = [module.state_dict() for module in modules]
    names = dict(into.named_parameters())
    for name, value in into.state_dict().items():
        if value.is_floating_point():
            factors = weights if name in names else shares
            value.copy_(
                sum(w * s[name].double() for w, s in zip(factors, states, strict=True))
            )


def sfl_v1(parties, federation, rounds, rate):
    for t in range(rounds):
        people = federation.participants(t)
        a = [float(federation.weights[n]) for n in people]
        clients, servers = [], []
        for n in people:
            client = parties.exchange(parties.client, up=False)
            server = copy.deepcopy(parties.server)
            steps = parties.sgd(client, rate), parties.sgd(server, rate)
            for batch in federation.store.iterate(federation.batches(t, n)):
                parties.visit(client, server, batch, *steps)
            clients.append(parties.exchange(client, up=True))
            servers.append(server)
        averaged(clients, a, a, parties.client)
        averaged(servers, a, a, parties.server)


def sfl_v2(parties, federation, rounds, rate, interleaved):
    for t in range(rounds):
        people = federation.participants(t)
        a = [float(federation.weights[n]) for n in people]
        clients = {n: parties.exchange(parties.client, up=False) for n in people}
        steps = {n: parties.sgd(clients[n], rate) for n in people}
        server_step = parties.sgd(parties.server, rate)
        work = {
            n: list(federation.store.iterate(federation.batches(t, n))) for n in people
        }
        if interleaved:
            visits = [
                (n, i)
                for i in range(max(map(len, work.values())))
                for n in federation.order(t, i, [n for n in people if i < len(work[n])])
            ]
        else:
            visits = [
                (n, i)
                for n in federation.order(t, 0, people)
                for i in range(len(work[n]))
            ]
        for n, i in visits:
            parties.visit(clients[n], parties.server, work[n][i], steps[n], server_step)
        done = [parties.exchange(clients[n], up=True) for n in people]
        averaged(done, a, a, parties.client)


def split_learning(parties, federation, rounds, rate):
    for t in range(rounds):
        steps = parties.sgd(parties.client, rate), parties.sgd(parties.server, rate)
        for n in federation.order(t, 0, federation.participants(t)):
            parties.exchange(parties.client, up=False)
            for batch in federation.store.iterate(federation.batches(t, n)):
                parties.visit(parties.client, parties.server, batch, *steps)
            parties.exchange(parties.client, up=True)


def minibatch_sfl(parties, federation, rounds, rate):
    for t in range(rounds):
        people = federation.participants(t)
        a = [float(federation.weights[n]) for n in people]
        clients = {n: parties.exchange(parties.client, up=False) for n in people}
        steps = {n: parties.sgd(clients[n], rate) for n in people}
        server_step = parties.sgd(parties.server, rate)
        work = {
            n: list(federation.store.iterate(federation.batches(t, n))) for n in people
        }
        for i in range(max(map(len, work.values()))):
            active = [n for n in people if i < len(work[n])]
            total = sum(float(federation.weights[n]) for n in active)
            features, received = {}, {}
            for n in active:
                clients[n].train()
                steps[n].zero_grad()
                features[n] = clients[n](work[n][i][0])
                received[n] = parties.message(features[n], up=True).requires_grad_()
            parties.server.train()
            server_step.zero_grad()
            logits = parties.server(torch.cat([received[n] for n in active]))
            pieces = logits.split([len(work[n][i][1]) for n in active])
            loss = sum(
                float(federation.weights[n])
                / total
                * nn.functional.cross_entropy(piece, work[n][i][1])
                for n, piece in zip(active, pieces, strict=True)
            )
            loss.backward()
            for n in active:
                own = received[n].grad * (total / float(federation.weights[n]))
                features[n].backward(parties.message(own, up=False))
                steps[n].step()
            server_step.step()
        done = [parties.exchange(clients[n], up=True) for n in people]
        averaged(done, a, a, parties.client)
