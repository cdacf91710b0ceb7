r"""Loss and accuracy on held-out images.

``aggregated`` evaluates the model after the aggregation on all test images.
``in-loop`` is what the released code reports: as soon as a client has trained, the
client side from the *start* of the round and the server side from just now are
evaluated on that client's own share of the test images, and the shares are averaged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sfl_train.deep.cluster import Cluster
from sfl_train.deep.data.store import Store
from sfl_train.deep.flat import Part, State
from sfl_train.deep.worker import Worker

CHUNK = 1000


@dataclass(frozen=True)
class Score:
    """Result of an evaluation.

    Attributes:
        loss: mean cross-entropy.
        accuracy: share of correct predictions.
    """

    loss: float
    accuracy: float


def evaluate(
    worker: Worker, state: State, store: Store, indices: torch.Tensor | None = None
) -> Score:
    """Return loss and accuracy of a model; the worker's own model is left as it was.

    Args:
        worker: evaluates.
        state: the model.
        store: holds the test images.
        indices: which ones; None: all.

    Returns:
        The score; BatchNorm uses its running statistics.
    """
    kept = worker.state.clone()
    worker.state.copy_(state)
    score = _score(worker, store, indices)
    worker.state.copy_(kept)
    return score


def _score(worker: Worker, store: Store, indices: torch.Tensor | None) -> Score:
    blocks = worker.model.blocks
    training = blocks.training
    blocks.eval()
    count = len(store.test_y) if indices is None else len(indices)
    loss = torch.zeros((), dtype=torch.float64, device=store.device)
    right = torch.zeros((), dtype=torch.int64, device=store.device)
    with torch.no_grad():
        for first in range(0, count, CHUNK):
            here = slice(first, min(first + CHUNK, count))
            x, y = store.test(here if indices is None else indices[here])
            logits = worker.logits(x)
            each = torch.nn.functional.cross_entropy(logits, y, reduction="none")
            loss += each.double().sum()
            right += (logits.argmax(1) == y).sum()
    blocks.train(training)
    return Score(float(loss) / count, float(right) / count)


class InLoop:
    """Evaluates inside the client loop; a `Watch`."""

    def __init__(
        self, worker: Worker, store: Store, clients: int, client_part: Part | None
    ) -> None:
        """Share the test images among the clients.

        Args:
            worker: whose model is evaluated.
            store: holds the test images.
            clients: number of clients.
            client_part: the client side; None: the whole model is the client's own,
                which it evaluates as trained.
        """
        self._worker, self._store, self._part = worker, store, client_part
        shares = np.array_split(np.arange(len(store.test_y)), clients)
        self._shares = [torch.from_numpy(s).to(store.device) for s in shares]
        self._scores: dict[int, Score] = {}
        self._start: State | None = None

    def begin(self, state: State) -> None:
        """Remember the aggregated model before a round."""
        self._start = state.clone()
        self._scores = {}

    def before_step(self, client: int, step: int, worker: Worker) -> None:
        """Look on."""

    def client_done(self, client: int, worker: Worker) -> None:
        """Evaluate the composed model on the client's share of the test images."""
        if not len(self._shares[client]):
            return
        mixed = worker.state.clone()
        if self._part is not None and self._start is not None:
            mixed.side(self._part).copy_(self._start.side(self._part))
        share = self._shares[client]
        self._scores[client] = evaluate(self._worker, mixed, self._store, share)

    def score(self, cluster: Cluster) -> Score | None:
        """Return the mean over the participants of all processes.

        Args:
            cluster: the processes.

        Returns:
            The score; None if there were no participants.
        """
        scores = cluster.merged(self._scores)
        if not scores:
            return None
        found = [scores[client] for client in sorted(scores)]
        return Score(
            float(np.mean([one.loss for one in found])),
            float(np.mean([one.accuracy for one in found])),
        )
