"""What the released scripts of han2024 do, as plain loops over plain modules.

The reference of the preset ``released-code``: every departure is one flag, off means
Algorithms 1 and 2 as written. Modules are copied, optimizers and their lifetimes are
PyTorch's, images are cropped one by one from the bytes. Nothing here is shared with the
trainer but the draws: who takes part, which samples, which windows, which order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from sfl_train.deep.federation import DeepFederation


@dataclass
class Script:
    """One script; ``federation`` is asked for draws, samples and raw images only."""

    blocks: nn.Sequential
    cut: int
    federation: DeepFederation
    lr: float
    momentum: float
    decay: float
    batch: int
    epochs: int | None = None
    tau: int | None = None
    augmented: bool = False
    adam: bool = False
    server_rebuilt: bool = False
    unweighted: bool = False
    sequential: bool = False
    waits: bool = False
    steps: dict[int, int] = field(default_factory=dict)
    tests: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        blocks = copy.deepcopy(self.blocks)
        self.client, self.server = blocks[: self.cut], blocks[self.cut :]
        self.users = len(self.federation.parts)

    def optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        if self.adam:
            return torch.optim.Adam(
                module.parameters(), lr=self.lr, weight_decay=self.decay
            )
        return torch.optim.SGD(
            module.parameters(),
            lr=self.lr,
            momentum=self.momentum,
            weight_decay=self.decay,
        )

    def loader(self, t: int, n: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Mini-batches of a round: epochs over the user's own data, or tau of them."""
        drawn, own = self.federation.batches(t, n), self.federation.parts[n]
        order = drawn.indices.tolist()
        sizes = [min(self.batch, len(own) - k) for k in range(0, len(own), self.batch)]
        if self.tau is None:
            sizes *= self.epochs
            passes = np.reshape(order, (self.epochs, len(own)))
            assert all(sorted(one) == sorted(own) for one in passes)
        else:
            sizes = (sizes * self.tau)[: self.tau]
        self.steps[n] = len(sizes)
        first = 0
        for size in sizes:
            here = range(first, first + size)
            pixels = [self.transformed(order[k], drawn.windows, k) for k in here]
            labels = [self.federation.store.images.train_y[order[k]] for k in here]
            yield torch.tensor(np.stack(pixels)), torch.tensor(labels)
            first += size
        assert first == len(order)

    def transformed(self, sample: int, windows, k: int) -> np.ndarray:
        """Random crop with padding 4, flip, to [0, 1], normalise: in this order."""
        images = self.federation.store.images
        image = images.train_x[sample]
        if self.augmented:
            side = image.shape[-1]
            top, left, flipped = windows[:, k].tolist()
            padded = np.pad(image, ((0, 0), (4, 4), (4, 4)))
            image = padded[:, top : top + side, left : left + side]
            image = image[:, :, ::-1] if flipped else image
        return self.normalised(image)

    def normalised(self, image: np.ndarray) -> np.ndarray:
        images = self.federation.store.images
        mean, std = (
            np.reshape(values, (-1, 1, 1)) for values in (images.mean, images.std)
        )
        return (image / 255.0 - mean) / std

    def message(self, net, net_step, server, server_step, batch) -> None:
        """One mini-batch: features up, the server's step, their gradient down."""
        x, y = batch
        net.train(), server.train()
        net_step.zero_grad(), server_step.zero_grad()
        features = net(x)
        received = features.detach().clone().requires_grad_()
        nn.functional.cross_entropy(server(received), y).backward()
        server_step.step()
        features.backward(received.grad)
        net_step.step()

    def average(self, modules, users) -> dict[str, torch.Tensor]:
        """Entry by entry of the state dicts; a count is averaged as a number."""
        sizes = [len(self.federation.parts[n]) for n in users]
        states = [module.state_dict() for module in modules]
        mean = {}
        for name in states[0]:
            if self.unweighted:
                total = sum(state[name] for state in states)
                mean[name] = torch.div(total, len(states))
            else:
                total = sum(
                    size * s[name] for size, s in zip(sizes, states, strict=True)
                )
                mean[name] = total / sum(sizes)
        return mean

    def test(self, net, server, n: int, correct: list, losses: list) -> None:
        """The share of the test images that is the user's; changes nothing."""
        images = self.federation.store.images
        share = np.array_split(np.arange(len(images.test_y)), self.users)[n]
        net.eval(), server.eval()
        pixels = np.stack([self.normalised(images.test_x[k]) for k in share])
        labels = torch.from_numpy(images.test_y[share])
        with torch.no_grad():
            logits = server(net(torch.tensor(pixels)))
        correct.append(float((logits.argmax(1) == labels).double().mean()))
        losses.append(float(nn.functional.cross_entropy(logits, labels)))

    def v1(self, rounds: int) -> Script:
        servers = [copy.deepcopy(self.server) for _ in range(self.users)]
        collected: dict[int, nn.Module] = {}
        for t in range(rounds):
            users = self.federation.participants(t)
            trained, correct, losses = [], [], []
            for n in users:
                net = copy.deepcopy(self.client)
                net_step = self.optimizer(net)
                server_step = self.optimizer(servers[n])
                for batch in self.loader(t, n):
                    if self.server_rebuilt:
                        server_step = self.optimizer(servers[n])
                    self.message(net, net_step, servers[n], server_step, batch)
                trained.append(net)
                collected[n] = servers[n]
                self.test(self.client, servers[n], n, correct, losses)
            self.client.load_state_dict(self.average(trained, users))
            self.tests.append((np.mean(losses), np.mean(correct)))
            if not self.waits or len(collected) == self.users:
                seen = sorted(collected)
                mean = self.average([collected[n] for n in seen], seen)
                for one in (self.server, *servers):
                    one.load_state_dict(mean)
                collected = {}
        return self

    def v2(self, rounds: int) -> Script:
        for t in range(rounds):
            users = self.federation.participants(t)
            nets = {n: copy.deepcopy(self.client) for n in users}
            steps = {n: self.optimizer(nets[n]) for n in users}
            server_step = self.optimizer(self.server)
            work = {n: list(self.loader(t, n)) for n in users}
            if self.sequential:
                visits = [
                    (n, i)
                    for n in self.federation.order(t, 0, users)
                    for i in range(len(work[n]))
                ]
            else:
                visits = [
                    (n, i)
                    for i in range(max(map(len, work.values())))
                    for n in self.federation.order(
                        t, i, [n for n in users if i < len(work[n])]
                    )
                ]
            for n, i in visits:
                if self.server_rebuilt:
                    server_step = self.optimizer(self.server)
                self.message(nets[n], steps[n], self.server, server_step, work[n][i])
            self.client.load_state_dict(self.average([nets[n] for n in users], users))
        return self

    def state(self) -> dict[str, torch.Tensor]:
        """Of the composed model, under the names of its blocks."""
        client, server = self.client.state_dict(), self.server.state_dict()
        return {**client, **server}
