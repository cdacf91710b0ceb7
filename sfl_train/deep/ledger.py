r"""What clients exchanged and computed: since the last line of the metrics, and in all.

A line of ``metrics.jsonl`` holds the sums over the rounds since the line before, so
the lines of a run add up to its totals whatever the cadence of evaluation; with one
line per round they are those of the round. ``bytes.json`` holds the totals by client.

Who takes part and how much a participant processes are functions of the options, so a
run that goes on counts the rounds before its checkpoint again instead of keeping them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfl_train.deep.algorithms.run import Contribution, Report
from sfl_train.deep.costs import Costs
from sfl_train.deep.federation import DeepFederation

EXCHANGED = ("bytes_up", "bytes_down", "bytes_labels", "bytes_buffers")


class Ledger:
    """Counts rounds and samples by client."""

    def __init__(self, costs: Costs, federation: DeepFederation) -> None:
        """Start at round 0.

        Args:
            costs: what a sample and a participant cost.
            federation: the clients.
        """
        self._costs, self._federation = costs, federation
        self._rounds = 0
        self._visits = [0] * federation.clients
        self._samples = [0] * federation.clients
        self._last = 0, 0

    def add(self, report: Report) -> None:
        """Count a round."""
        self._add(report.contributions)

    def replay(self, rounds: int, recorded: int) -> None:
        """Count the rounds before a checkpoint.

        Args:
            rounds: made so far.
            recorded: the last of them with a line in the metrics.
        """
        federation = self._federation
        amounts = [federation.work.samples(len(part)) for part in federation.parts]
        steps = [federation.work.steps(len(part)) for part in federation.parts]
        for t in range(rounds):
            self._add(
                Contribution(n, steps[n], amounts[n])
                for n in federation.participants(t)
            )
            if t + 1 == recorded:
                self.since()

    def since(self) -> dict[str, int]:
        """Return the totals of the rounds since the last call, see `Costs.of`."""
        now = sum(self._samples), sum(self._visits)
        samples, visits = (a - b for a, b in zip(now, self._last, strict=True))
        self._last = now
        return self._costs.of(samples, visits)

    def by_client(self) -> dict[str, Any]:
        """Return what ``bytes.json`` holds.

        Returns:
            Rounds made, and of every client and of all together the rounds that it took
            part in, the samples that it processed and the bytes.
        """
        counts = list(zip(self._visits, self._samples, strict=True))
        return {
            "rounds": self._rounds,
            "clients": {str(n): self._entry(*count) for n, count in enumerate(counts)},
            "total": self._entry(sum(self._visits), sum(self._samples)),
        }

    def _add(self, contributions: Iterable[Contribution]) -> None:
        self._rounds += 1
        for one in contributions:
            self._visits[one.client] += 1
            self._samples[one.client] += one.samples

    def _entry(self, visits: int, samples: int) -> dict[str, int]:
        found = self._costs.of(samples, visits)
        exchanged = {name: found[name] for name in EXCHANGED}
        return {"rounds": visits, "samples": samples, **exchanged}
