"""Forked processes that share a list: each takes neighbours, then helps the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import TypeVar

R = TypeVar("R")

_FORK = get_context("fork")


class Shares:
    """Which places of a list are left: a stretch for each process.

    A process takes its own stretch from the front; when that is empty, the last place
    of the longest one that is left.
    """

    def __init__(self, count: int, workers: int) -> None:
        """Divide a list.

        Args:
            count: its length.
            workers: number of stretches.
        """
        ends = [count * k // workers for k in range(workers + 1)]
        self._lock = _FORK.Lock()
        self._joined = _FORK.RawValue("l", 0)
        self._begin = _FORK.RawArray("l", ends[:-1])
        self._end = _FORK.RawArray("l", ends[1:])

    def join(self) -> int:
        """Return the number of the process that asks, which is that of its stretch."""
        with self._lock:
            self._joined.value += 1
            return int(self._joined.value - 1) % len(self._begin)

    def take(self, own: int) -> int:
        """Return the next place for a process, as often as the list is long."""
        with self._lock:
            if self._begin[own] < self._end[own]:
                self._begin[own] += 1
                return int(self._begin[own] - 1)
            left = [e - b for b, e in zip(self._begin, self._end, strict=True)]
            longest = left.index(max(left))
            self._end[longest] -= 1
            return int(self._end[longest])


_WORK: list[Callable[[int], object]] = []
_MINE: list[tuple[Shares, int]] = []


def shared(
    work: Callable[[int], R], count: int, workers: int
) -> Iterator[tuple[int, R]]:
    """Yield what work returns for every place of a list, in no order, with the place.

    The processes are forks: they find the work in memory, and what it returns must be
    picklable. Neighbours of the list mostly meet in one process, so what they have in
    common is best found once there.

    Args:
        work: done for a place.
        count: length of the list.
        workers: number of processes.

    Yields:
        A place and what came of it.
    """
    _WORK[:] = [work]
    try:
        with _FORK.Pool(workers, _begin, (Shares(count, workers),)) as pool:
            yield from pool.imap_unordered(_done, range(count))
    finally:
        _WORK.clear()


def _begin(shares: Shares) -> None:
    _MINE[:] = [(shares, shares.join())]


def _done(_: int) -> tuple[int, object]:
    ((shares, own),) = _MINE
    place = shares.take(own)
    return place, _WORK[0](place)
