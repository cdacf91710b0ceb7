"""The algorithms as plain loops over seeds, rounds, clients and steps.

One vector per model, torch's own optimizers, nothing shared with the batched
implementation but the problem's gradient of one client and the named random streams.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sfl_train import streams
from sfl_train.algorithms import SFLV1, SFLV2, FedAvg, MiniBatchSFL
from sfl_train.optimizer import SGD
from sfl_train.streams import Purpose


def train(federation, algorithm, rate, rounds):
    """Return x^0..x^T, shape (T+1, d, R), and the farthest distances, shape (R,)."""
    worlds = [World(federation, seed) for seed in federation.seeds]
    method = {
        FedAvg: fedavg,
        SFLV1: sfl_v1_algorithm
        if getattr(algorithm, "clock", None) == "algorithm"
        else sfl_v1_analysis,
        SFLV2: sfl_v2,
        MiniBatchSFL: minibatch_sfl,
    }[type(algorithm)]
    steps = max(algorithm.tau, getattr(algorithm, "tau_server", 1))

    def eta(t, i):
        at = t * steps + i if getattr(rate, "per_step", False) else t
        return rate.client(at), rate.server(at)

    paths = [torch.stack(method(world, algorithm, eta, rounds)) for world in worlds]
    return torch.stack(paths, -1), torch.tensor(
        [world.farthest for world in worlds], dtype=torch.float64
    )


def fedavg(world, algorithm, eta, rounds):
    x, path = world.x0, [world.x0]
    workers = [Worker(algorithm.optimizer) for _ in range(world.N)]
    for t in range(rounds):
        local = {}
        for n in world.participants(t):
            workers[n].new_round()
            y = x
            for i in range(algorithm.tau):
                g = world.gradient(n, y, t, i)
                y = world.see(workers[n].step(y, g, eta(t, i)[0]))
            local[n] = y
        x = world.see(combine(world, x, local, algorithm.aggregation))
        path.append(x)
    return path


def sfl_v1_analysis(world, algorithm, eta, rounds):
    cut = algorithm.cut
    xc, xs, path = world.x0[:cut], world.x0[cut:], [world.x0]
    front = [Worker(algorithm.optimizer) for _ in range(world.N)]
    back = [Worker(algorithm.server) for _ in range(world.N)]
    for t in range(rounds):
        local_c, local_s = {}, {}
        for n in world.participants(t):
            front[n].new_round()
            back[n].new_round()
            yc, ys = xc, xs
            for i in range(max(algorithm.tau, algorithm.tau_server)):
                g = world.gradient(n, torch.cat([yc, ys]), t, i)
                if i < algorithm.tau:
                    yc = front[n].step(yc, g[:cut], eta(t, i)[0])
                if i < algorithm.tau_server:
                    ys = back[n].step(ys, g[cut:], eta(t, i)[1])
                world.see(torch.cat([yc, ys]))
            local_c[n], local_s[n] = yc, ys
        xc = combine(world, xc, local_c, algorithm.aggregation)
        xs = combine(world, xs, local_s, algorithm.aggregation)
        path.append(world.see(torch.cat([xc, xs])))
    return path


def sfl_v1_algorithm(world, algorithm, eta, rounds):
    cut, N = algorithm.cut, world.N
    tau, tau_server = algorithm.tau, algorithm.tau_server
    xc, xs, path = world.x0[:cut], world.x0[cut:], [world.x0]
    yc, ys = [xc] * N, [xs] * N
    front = [Worker(algorithm.optimizer) for _ in range(N)]
    back = [Worker(algorithm.server) for _ in range(N)]
    iteration = 0
    for t in range(rounds):
        participants = world.participants(t)
        for n in range(N):
            front[n].new_round()
            back[n].new_round()
        for i in range(max(tau, tau_server)):
            for n in participants:
                world.see(torch.cat([yc[n], ys[n]]))
                g = world.gradient(n, torch.cat([yc[n], ys[n]]), t, i)
                yc[n] = front[n].step(yc[n], g[:cut], eta(t, i)[0])
                ys[n] = back[n].step(ys[n], g[cut:], eta(t, i)[1])
                world.see(torch.cat([yc[n], ys[n]]))
            iteration += 1
            if iteration % tau == 0:
                local = {n: yc[n] for n in participants}
                xc = combine(world, xc, local, algorithm.aggregation)
                yc = [xc] * N
            if iteration % tau_server == 0:
                local = {n: ys[n] for n in participants}
                xs = combine(world, xs, local, algorithm.aggregation)
                ys = [xs] * N
        mean_c = sum(world.a[n] * yc[n] for n in range(N))
        mean_s = sum(world.a[n] * ys[n] for n in range(N))
        out_c = xc if iteration % tau == 0 else mean_c
        out_s = xs if iteration % tau_server == 0 else mean_s
        path.append(world.see(torch.cat([out_c, out_s])))
    return path


def sfl_v2(world, algorithm, eta, rounds):
    cut, tau = algorithm.cut, algorithm.tau
    xc, xs, path = world.x0[:cut], world.x0[cut:], [world.x0]
    front = [Worker(algorithm.optimizer) for _ in range(world.N)]
    back = Worker(algorithm.server)
    for t in range(rounds):
        participants = world.participants(t)
        back.new_round()
        for n in participants:
            front[n].new_round()
        yc = {n: xc for n in participants}
        if algorithm.order == "interleaved":
            visits = [(n, i) for i in range(tau) for n in world.order(t, i)]
        else:
            visits = [(n, i) for n in world.order(t, 0) for i in range(tau)]
        for n, i in visits:
            if n not in participants:
                continue
            world.see(torch.cat([yc[n], xs]))
            g = world.gradient(n, torch.cat([yc[n], xs]), t, i)
            xs = back.step(xs, g[cut:], eta(t, i)[1] / world.q[n])
            yc[n] = front[n].step(yc[n], g[:cut], eta(t, i)[0])
            world.see(torch.cat([yc[n], xs]))
        xc = combine(world, xc, yc, algorithm.aggregation)
        path.append(world.see(torch.cat([xc, xs])))
    return path


def minibatch_sfl(world, algorithm, eta, rounds):
    cut, a, q = algorithm.cut, world.a, world.q
    xc, xs, path = world.x0[:cut], world.x0[cut:], [world.x0]
    front = [Worker(algorithm.optimizer) for _ in range(world.N)]
    back = Worker(algorithm.server)
    for t in range(rounds):
        participants = world.participants(t)
        back.new_round()
        for n in participants:
            front[n].new_round()
        yc = {n: xc for n in participants}
        for i in range(algorithm.tau):
            g = {
                n: world.gradient(n, torch.cat([yc[n], xs]), t, i) for n in participants
            }
            for n in participants:
                yc[n] = front[n].step(yc[n], g[n][:cut], eta(t, i)[0])
            below = sum(a[n] / q[n] for n in participants)
            if below > 0:
                top = sum(a[n] / q[n] * g[n][cut:] for n in participants)
                xs = back.step(xs, top / below, eta(t, i)[1])
            for n in participants:
                world.see(torch.cat([yc[n], xs]))
        xc = combine(world, xc, yc, algorithm.aggregation)
        path.append(world.see(torch.cat([xc, xs])))
    return path


def combine(world, x, local, rule):
    """The fed server's aggregation, App. C.2 ("updates") or eq. (3) ("models")."""
    if not local:
        return x
    share = {n: world.a[n] / world.q[n] for n in local}
    if rule == "updates":
        return x + sum(share[n] * (local[n] - x) for n in local)
    return sum(share[n] * local[n] for n in local)


@dataclass
class World:
    """One replica of a federation: its draws, by name, and one-client gradients."""

    federation: object
    seed: int

    def __post_init__(self):
        self.problem = self.federation.problem
        self.N = self.problem.clients
        self.a = [float(a) for a in self.federation.weights]
        self.q = [float(q) for q in self.federation.participation]
        self.ids = [int(identity) for identity in self.federation.client_ids]
        self.x0 = torch.tensor(self.problem.x0)
        self.farthest = 0.0

    def participants(self, t):
        return [
            n
            for n in range(self.N)
            if self._uniform(Purpose.PARTICIPATION, t, n) < self.q[n]
        ]

    def order(self, t, i):
        return sorted(
            range(self.N), key=lambda n: self._uniform(Purpose.VISITING_ORDER, t, n, i)
        )

    def gradient(self, n, x, t, i):
        key = streams.keys(self.seed, Purpose.MINIBATCH, t, self.ids[n], i)
        draw = self.problem.draw(
            self.federation.sampling, key.reshape(1, 1), np.array([n])
        )
        client = torch.tensor([n])
        return self.problem.gradient(x.view(1, -1, 1), draw, client).view(-1)

    def see(self, x):
        self.farthest = max(self.farthest, float(torch.norm(x - self.x0)))
        return x

    def _uniform(self, purpose, t, n, i=0):
        key = streams.keys(self.seed, purpose, t, self.ids[n], i)
        return float(streams.uniforms(key, 1)[0])


class Worker:
    """Steps one block of one model with torch's optimizer of the same name."""

    def __init__(self, specification):
        self.specification, self.inner = specification, None

    def new_round(self):
        if self.specification.lifetime != "run":
            self.inner = None

    def step(self, x, g, rate):
        if self.inner is None or self.specification.lifetime == "step":
            self.parameter = torch.nn.Parameter(torch.zeros_like(x))
            self.inner = torch_optimizer(self.specification, [self.parameter])
        self.inner.param_groups[0]["lr"] = rate
        self.parameter.data, self.parameter.grad = x.clone(), g.clone()
        self.inner.step()
        return self.parameter.detach().clone()


def torch_optimizer(specification, parameters, rate=0.0):
    decay = specification.weight_decay
    if isinstance(specification, SGD):
        momentum = specification.momentum
        return torch.optim.SGD(
            parameters, lr=rate, momentum=momentum, weight_decay=decay
        )
    return torch.optim.Adam(
        parameters,
        lr=rate,
        betas=specification.betas,
        eps=specification.eps,
        weight_decay=decay,
    )
