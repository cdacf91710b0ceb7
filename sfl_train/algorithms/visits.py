r"""How the server of SFL-V2 visits clients: by sides where that is possible.

A visit changes one client's side and the server's. Visits of a row (a local step of the
interleaved order) are to different clients, so all that the clients' sides need can be
computed for many visits at once: their forward pass before, their backward pass and
step after. What remains one visit after the other is the server's part: scores,
residuals, step.

- `BySides` does this for plain gradient steps of problems that have `Halves`.
- `OneByOne` works for every problem and every optimizer: a joint gradient each visit.

Both hold a *lane* per replica, sorted by falling number of participants, so that those
which are still visiting are the first ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from sfl_train.algorithms.algorithm import Ball
from sfl_train.federation import Federation
from sfl_train.optimizer import Memory, Optimizer
from sfl_train.problems.halves import Drawn, Halves, LinearHalves, descend

_CACHED_BYTES = 2 * 2**20
"""Visits are prepared together as long as what they touch is smaller than this."""


_ALONE_BELOW = 2**15
"""A visit's products of fewer multiplications are faster on one thread than on two."""


@contextmanager
def _threads_for(multiplications: int) -> Iterator[None]:
    """Do without the other threads where waking them takes longer than the work."""
    threads = torch.get_num_threads()
    if threads == 1 or multiplications >= _ALONE_BELOW:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class Row:
    """The visits of one local step, each to another client.

    Attributes:
        client: whom each lane visits, (N, R).
        draw: mini-batches of all clients, as in `Problem.gradient`.
    """

    client: Tensor
    draw: Tensor | None


class Visitor(Protocol):
    """Holds the models of a run during a round."""

    def begin_round(self, x: Tensor, lanes: Tensor, busy: Sequence[int]) -> None:
        """Give every client the client side of ``x``, and the server the rest.

        Args:
            x: the model, (d, R).
            lanes: the replica of each lane, (R,).
            busy: how many lanes take part in the v-th visit.
        """

    def across(self, row: Row, rates: tuple[float, float]) -> None:
        """Visit all clients once.

        Args:
            row: the local step.
            rates: learning rates of the client side and of the server side.
        """

    def along(self, rows: Sequence[Row], rates: Sequence[tuple[float, float]]) -> None:
        """Make all local steps of a client before the next client's.

        Args:
            rows: the local steps; all have the clients of the first.
            rates: learning rates of each.
        """

    def end_round(self) -> tuple[Tensor, Tensor]:
        """Return all client sides, (N, cut, R), and the server's, (d - cut, R)."""


class BySides:
    """Visits with plain gradient steps, the clients' part for many visits at once."""

    def __init__(
        self, halves: Halves, federation: Federation, x: Tensor, ball: Ball | None
    ) -> None:
        """Set up.

        Args:
            halves: both sides of the model.
            federation: who takes part.
            x: the model at the start, (d, R).
            ball: told of all models, if given.
        """
        (_, R), N = x.shape, federation.clients
        self._halves, self._clients = halves, N
        ends = torch.tensor([i * o for i, o in halves.client]).cumsum(0).tolist()
        self._spans = list(zip([0, *ends[:-1]], ends, strict=True))
        self._cut = cut = ends[-1]
        inputs, outputs = halves.server
        self._models = x.new_empty(N * R, cut)
        self._server = x.new_empty(R, outputs, inputs)
        self._over_q = None
        if not federation.full:
            q = torch.tensor(federation.participation, dtype=torch.float64)
            self._over_q = q.reciprocal_().view(-1, 1, 1)
        self._ball = None if ball is None else (ball, *self._packed(ball.center))

    def begin_round(self, x: Tensor, lanes: Tensor, busy: Sequence[int]) -> None:
        """Start a round, see `Visitor.begin_round`."""
        front, server = self._packed(x)
        self._models.view(self._clients, *front.shape).copy_(front)
        self._server.copy_(server[lanes])
        self._lanes, self._busy = lanes, busy

    def across(self, row: Row, rates: tuple[float, float]) -> None:
        """Visit all clients once, see `Visitor.across`."""
        drawn = self._halves.samples.drawn(row.draw)
        with torch.inference_mode(), self._threads(drawn):
            for met in self._meetings(row.client, drawn, 1):
                self._step(met, self._batch(met, drawn), rates)
                self._models.index_copy_(0, met.row, met.models)

    def along(self, rows: Sequence[Row], rates: Sequence[tuple[float, float]]) -> None:
        """Make all local steps of a client at a time, see `Visitor.along`."""
        each = [self._halves.samples.drawn(row.draw) for row in rows]
        with torch.inference_mode(), self._threads(each[0]):
            for met in self._meetings(rows[0].client, each[0], len(each)):
                steps = [self._batch(met, drawn).split(met.counts) for drawn in each]
                for one, *batches in zip(met.split(), *steps, strict=True):
                    if isinstance(self._halves, LinearHalves):
                        self._descend_whole(one, batches, rates)
                        continue
                    for batch, rate in zip(batches, rates, strict=True):
                        self._step(one, batch, rate)
                self._models.index_copy_(0, met.row, met.models)

    def end_round(self) -> tuple[Tensor, Tensor]:
        """Return both sides, see `Visitor.end_round`."""
        (N, R), models = (self._clients, len(self._server)), self._models
        front = models.new_empty(N, self._cut, R)
        for (first, last), (i, o) in zip(self._spans, self._halves.client, strict=True):
            block = models[:, first:last].view(N, R, o, i)
            front[:, first:last].view(N, i, o, R).copy_(block.permute(0, 3, 2, 1))
        server = models.new_empty(R, *self._halves.server)
        server[self._lanes] = self._server.transpose(1, 2)
        return front, server.view(R, -1).T

    def _threads(self, drawn: Drawn) -> AbstractContextManager[None]:
        return _threads_for(drawn.width * self._server.numel())

    def _meetings(self, client: Tensor, drawn: Drawn, steps: int) -> Iterator[_Met]:
        """Yield the visits of a row, as many at once as fit the cache.

        Args:
            client: whom each lane visits, (N, R).
            drawn: mini-batches of a local step.
            steps: local steps of a visit.
        """
        (inputs, outputs), visits = self._halves.server, len(self._busy)
        batch, features = drawn.width, drawn.samples.X.shape[2]
        numbers = steps * batch * (features + 4 * outputs)
        numbers += 3 * self._cut + inputs * outputs
        together = max(1, _CACHED_BYTES // (8 * len(self._server) * numbers))
        for start in range(0, visits, together):
            yield self._meet(client, start, min(start + together, visits))

    def _batch(self, met: _Met, drawn: Drawn) -> _Batch:
        X, Y, weight = drawn.rows(met.who, met.row)
        over_q = None if self._over_q is None else self._over_q[met.who]
        w = weight if over_q is None else weight * over_q
        minus = torch.mul(Y, -w, out=X.new_empty(Y.shape))
        return _Batch(X, w, minus, over_q)

    def _meet(self, client: Tensor, start: int, stop: int) -> _Met:
        R, counts = len(self._server), self._busy[start:stop]
        who, replica = client[start:stop], self._lanes.expand(stop - start, R)
        if counts[-1] == R:
            visited = None
            who, replica = who.reshape(-1), replica.reshape(-1)
        else:
            visited = torch.arange(R) < torch.tensor(counts).unsqueeze(1)
            who, replica = who[visited], replica[visited]
        row = who * R + replica
        models = self._models.index_select(0, row)
        return _Met(who, replica, row, models, counts, visited)

    def _step(self, met: _Met, batch: _Batch, rates: tuple[float, float]) -> None:
        halves = self._halves
        blocks = [
            met.models[:, a:b].view(-1, o, i)
            for (a, b), (i, o) in zip(self._spans, halves.client, strict=True)
        ]
        kept, scores = halves.forward(blocks, batch.X)
        course, e = self._serve(kept[-1], scores, batch, met.counts, rates[1])
        if course is None:
            halves.step(blocks, kept, e, self._server, rates[0])
            return

        before = met.models.clone()
        seen = zip(course, met.counts, strict=False)
        W = torch.cat([each[:k] for each, k in seen])
        halves.step(blocks, kept, e, W, rates[0])
        self._tell(met, before, course)

    def _descend_whole(
        self,
        met: _Met,
        batches: Sequence[_Batch],
        rates: Sequence[tuple[float, float]],
    ) -> None:
        """Make all steps of a visit on both sides of a linear model as one map.

        Half as many products: the sides' scores are the scores of the map, and while
        the server stays with a client nobody else needs them apart.
        """
        (k,), (first, _), l2 = met.counts, self._halves.client[0], self._halves.l2
        mine = met.models.view(k, -1, first)
        W = torch.cat([mine, self._server[:k]], 2)
        ours, theirs = W[..., :first], W[..., first:]
        self._reach(met, W)
        for batch, (client, server) in zip(batches, rates, strict=True):
            u, over_q = batch.X.transpose(1, 2), batch.over_q
            z = torch.bmm(W, u)
            p = self._halves.loss.predicted(z, torch.empty_like(z))
            e = torch.addcmul(batch.minus, p, batch.w, out=z)
            if over_q is None and client == server:
                descend(W, e, u, client, l2)
            else:
                if over_q is None:
                    descend(theirs, e, u[:, first:], server, l2)
                else:
                    theirs.mul_(1.0 - server * l2 * over_q)
                    descend(theirs, e, u[:, first:], server, 0.0)
                    e.div_(over_q)
                descend(ours, e, u[:, :first], client, l2)
            self._reach(met, W)
        mine.copy_(ours)
        self._server[:k] = theirs

    def _reach(self, met: _Met, W: Tensor) -> None:
        """Tell the ball of whole models, (L, C, F)."""
        if self._ball is None:
            return
        ball, front, server = self._ball
        near = front[met.replica].view(len(W), W.shape[1], -1)
        center = torch.cat([near, server[met.replica]], 2)
        ball.reach(met.replica, (W - center).flatten(1).square_().sum(1).sqrt_())

    def _tell(self, met: _Met, before: Tensor, course: Tensor) -> None:
        """Tell the ball of the models before and after every visit."""
        if self._ball is None:
            return
        ball, front, server = self._ball
        moved = (course - server[self._lanes]).flatten(2).square_().sum(2)
        for own, theirs in ((before, moved[:-1]), (met.models, moved[1:])):
            far = theirs.reshape(-1) if met.visited is None else theirs[met.visited]
            near = (own - front[met.replica]).square_().sum(1)
            ball.reach(met.replica, near.add_(far).sqrt_())

    def _serve(
        self,
        inputs: Tensor,
        offset: Tensor | None,
        batch: _Batch,
        counts: Sequence[int],
        rate: float,
    ) -> tuple[Tensor | None, Tensor]:
        """Make the server's part of some visits.

        Returns:
            The server's models from before the first visit to after the last,
            (V + 1, R, C, F), None if nobody looks at them; and the weighted residuals,
            (L, C, B).
        """
        halves, l2 = self._halves, self._halves.l2
        C, R, L, B = halves.server[1], counts[0], len(inputs), inputs.shape[2]
        kept, z = (0.0, inputs.new_empty(L, C, B)) if offset is None else (1.0, offset)
        over_q = batch.over_q
        decay = None if over_q is None else 1.0 - rate * l2 * over_q
        decays = [None] * len(counts) if decay is None else _parts(decay, counts)
        course = None
        before = after = [self._server] * len(counts)
        if self._ball is not None or halves.looks_back:
            course = self._server.expand(len(counts) + 1, -1, -1, -1).clone()
            before, after = list(course[:-1]), list(course[1:])
        p = inputs.new_empty(R, C, B)
        for zv, u, ut, wv, mv, shrink, W, new in zip(
            _parts(z, counts),
            _parts(inputs, counts),
            _parts(inputs.transpose(1, 2), counts),
            _parts(batch.w, counts),
            _parts(batch.minus, counts),
            decays,
            before,
            after,
            strict=True,
        ):
            if len(zv) < len(W):
                if new is not W:
                    new.copy_(W)
                W, new, p = W[: len(zv)], new[: len(zv)], p[: len(zv)]
            zv.baddbmm_(W, u, beta=kept)
            torch.addcmul(mv, halves.loss.predicted(zv, p), wv, out=zv)
            if shrink is None:
                torch.baddbmm(W, zv, ut, beta=1.0 - rate * l2, alpha=-rate, out=new)
            else:
                torch.mul(W, shrink, out=new).baddbmm_(zv, ut, alpha=-rate)
        if course is not None:
            self._server.copy_(course[-1])
        return course, z if over_q is None else z.div_(over_q)

    def _packed(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sides of ``x`` as they are held, (R, cut) and (R, C, F)."""
        R, halves = x.shape[1], self._halves
        front = [
            x[a:b].view(i, o, R).permute(2, 1, 0).reshape(R, -1)
            for (a, b), (i, o) in zip(self._spans, halves.client, strict=True)
        ]
        server = x[self._cut :].view(*halves.server, R).permute(2, 1, 0)
        return torch.cat(front, 1), server


@dataclass(frozen=True)
class _Met:
    """Rows that are visited.

    Attributes:
        who: clients, (L,).
        replica: their replicas, (L,).
        row: ``who * R + replica``.
        models: client sides as they are held, (L, cut); overwritten.
        counts: rows of each visit.
        visited: which lanes take part in each visit, (V, R); None: all.
    """

    who: Tensor
    replica: Tensor
    row: Tensor
    models: Tensor
    counts: Sequence[int]
    visited: Tensor | None

    def split(self) -> Iterator[_Met]:
        """Yield every visit, a view."""
        counts, who, replica, row, models = (
            self.counts,
            *(
                each.split(self.counts)
                for each in (self.who, self.replica, self.row, self.models)
            ),
        )
        for v, count in enumerate(counts):
            visited = None if self.visited is None else self.visited[v : v + 1]
            yield _Met(who[v], replica[v], row[v], models[v], [count], visited)


@dataclass(frozen=True)
class _Batch:
    """Mini-batches of rows that are visited.

    Attributes:
        X: features, (L, B, F).
        w: weights of the server's residuals, (L, 1, B): of the samples, over $q_n$.
        minus: targets times ``-w``, (L, C, B).
        over_q: $1/q_n$, (L, 1, 1); None: all take part.
    """

    X: Tensor
    w: Tensor
    minus: Tensor
    over_q: Tensor | None

    def split(self, counts: Sequence[int]) -> Iterator[_Batch]:
        """Yield every visit's, views."""
        over_q = self.over_q
        over = [None] * len(counts) if over_q is None else _parts(over_q, counts)
        parts = (_parts(each, counts) for each in (self.X, self.w, self.minus))
        yield from map(_Batch, *parts, over)


def _parts(each: Tensor, counts: Sequence[int]) -> Sequence[Tensor]:
    """Split rows by visits; one visit costs nothing.

    Args:
        each: of all rows.
        counts: rows of each visit.

    Returns:
        The rows of each visit, views.
    """
    return (each,) if len(counts) == 1 else each.split_with_sizes(list(counts))


class OneByOne:
    """Visits with a joint gradient each, for every problem and optimizer."""

    def __init__(
        self,
        optimizers: tuple[Optimizer, Optimizer],
        cut: int,
        federation: Federation,
        x: Tensor,
        ball: Ball | None,
    ) -> None:
        """Set up.

        Args:
            optimizers: of the client side and of the server side.
            cut: length of the client block in coordinates.
            federation: who takes part.
            x: the model at the start, (d, R).
            ball: told of all models, if given.
        """
        N, (d, R) = federation.clients, x.shape
        self._federation, self._cut, self._ball = federation, cut, ball
        self._over_q = 1.0 / torch.tensor(
            federation.participation, dtype=torch.float64
        ).unsqueeze(1)
        self._models = x.new_empty(N * R, cut)
        self._point = x.new_empty(R, d, 1)
        self._client_memory = Memory(optimizers[0], (N * R, cut), (N * R, 1))
        self._server_memory = Memory(optimizers[1], (R, d - cut), (R, 1))

    def begin_round(self, x: Tensor, lanes: Tensor, busy: Sequence[int]) -> None:
        """Start a round, see `Visitor.begin_round`."""
        cut, (N, R) = self._cut, (self._federation.clients, x.shape[1])
        self._models.view(N, R, cut).copy_(x[:cut].T)
        self._point[:, cut:, 0] = x[cut:, lanes].T
        self._client_memory.begin_round()
        self._server_memory.begin_round()
        self._here = self._server_memory.pick(lanes)
        self._lanes, self._busy = lanes, busy

    def across(self, row: Row, rates: tuple[float, float]) -> None:
        """Visit all clients once, see `Visitor.across`."""
        for v in range(len(self._busy)):
            self._visit(v, row, rates)

    def along(self, rows: Sequence[Row], rates: Sequence[tuple[float, float]]) -> None:
        """Make all local steps of a client at a time, see `Visitor.along`."""
        for v in range(len(self._busy)):
            for row, rate in zip(rows, rates, strict=True):
                self._visit(v, row, rate)

    def end_round(self) -> tuple[Tensor, Tensor]:
        """Return both sides, see `Visitor.end_round`."""
        cut, lanes = self._cut, self._lanes
        self._server_memory.put(lanes, self._here)
        front = self._models.view(-1, len(lanes), cut).transpose(1, 2)
        server = self._point.new_empty(len(lanes), self._point.shape[1] - cut)
        server[lanes] = self._point[:, cut:, 0]
        return front, server.T

    def _visit(self, v: int, row: Row, rates: tuple[float, float]) -> None:
        cut, lanes = self._cut, self._lanes[: self._busy[v]]
        client = row.client[v, : len(lanes)]
        model = client * len(self._lanes) + lanes
        point = self._point[: len(lanes)]
        mine, servers = point[:, :cut, 0], point[:, cut:, 0]
        mine.copy_(self._models.index_select(0, model))
        if self._ball is not None:
            self._ball.see_in(lanes, point[..., 0])

        draw = None
        if row.draw is not None:
            draw = row.draw[client, :, lanes].unsqueeze(-1)
        g = self._federation.problem.gradient(point, draw, client)[..., 0]

        memory = self._client_memory.pick(model)
        mine.sub_(memory.direction(mine, g[:, :cut]), alpha=rates[0])
        self._client_memory.put(model, memory)
        self._models.index_copy_(0, model, mine)

        p = self._here.head(len(lanes)).direction(servers, g[:, cut:])
        if not self._federation.full:
            p.mul_(self._over_q[client])
        servers.sub_(p, alpha=rates[1])
        if self._ball is not None:
            self._ball.see_in(lanes, point[..., 0])
