"""How long a mutation run takes: said before, shown meanwhile, ended in time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

SECONDS = {
    "T rounds": 1.5,
    "one round": 0.5,
    "functions and vectors": 0.02,
    "numbers": 0.13,
}
"""Seconds of a processor that a statement takes, from docs/mutation.md's whole run."""
SAID = 60.0
"""Seconds between two lines where no bar can be shown."""


class Clock:
    """What is done and what is left, in statements and in time."""

    def __init__(self, jobs: int, minutes: float | None) -> None:
        """Start.

        Args:
            jobs: processes.
            minutes: after which no statement begins; None: none is too late.
        """
        self._jobs, self._minutes = jobs, minutes
        self._kinds: Mapping[str, str] = {}
        self.total = self.done = self._started = 0
        self._left = self._made = 0.0
        self._start = self._begun = time.monotonic()

    def sets(self, kinds: Mapping[str, str], left: Sequence[str]) -> None:
        """Note what there is to do.

        Args:
            kinds: what each statement speaks of.
            left: those that are not judged yet.
        """
        self._kinds = kinds
        self.total, self.done = len(kinds), len(kinds) - len(left)
        self._left = self._cost(left)
        self._begun = time.monotonic()

    def _cost(self, names: Sequence[str]) -> float:
        """Return the seconds of a processor that statements take by `SECONDS`."""
        return sum(SECONDS[self._kinds[name]] for name in names)

    @property
    def passed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    @property
    def _judging(self) -> float:
        """Seconds since the first statement began."""
        return time.monotonic() - self._begun

    def begins(self) -> bool:
        """Return whether another statement is begun, and note it: the first always is.

        Only what was before decides, so that what is judged stays a fair sample.
        """
        if self._minutes is not None and self._started:
            each = self._jobs * self._judging / self._started
            if self.passed + each > 60 * self._minutes:
                return False
        self._started += 1
        return True

    def ended(self, name: str) -> None:
        """Note that a statement is judged."""
        cost = self._cost([name])
        self._left, self._made = self._left - cost, self._made + cost
        self.done += 1

    def remaining(self) -> float:
        """Return the seconds that are left, as fast as until now."""
        if not self._made:
            return self._left / self._jobs
        return self._left * self._judging / self._made

    def estimate(self) -> str:
        """Return a line on how long it takes, before it begins."""
        whole = (
            f"{self.total - self.done} statements, about {spoken(self.remaining())} "
            "where it was measured"
        )
        if self._minutes is None:
            return f"{whole}; --minutes M judges a random part in M minutes"
        return f"{whole}; at random as many as {self._minutes:g} minutes allow"

    def now(self) -> str:
        """Return how far it is."""
        left = self.remaining()
        if self._minutes is not None:
            left = max(0.0, min(left, 60 * self._minutes - self.passed))
        return (
            f"{self.done} of {self.total} statements mutated, about {spoken(left)} left"
        )


def spoken(seconds: float) -> str:
    """Return a time in whole minutes, or in seconds."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes"


@contextmanager
def shown(clock: Clock) -> Iterator[Callable[[str], None]]:
    """Show how far it is: a bar on a terminal, elsewhere a line each minute.

    Yields:
        What is called with the name of each statement that is judged.
    """
    from rich.console import Console
    from rich.progress import Progress

    said = 0.0
    with Progress(console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(clock.now(), total=clock.total, completed=clock.done)

        def advance(name: str) -> None:
            nonlocal said
            clock.ended(name)
            bars.update(bar, completed=clock.done, description=clock.now())
            if not sys.stderr.isatty() and clock.passed - said > SAID:
                said = clock.passed
                print(clock.now(), file=sys.stderr, flush=True)

        yield advance
