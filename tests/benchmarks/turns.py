"""Contenders that take turns in one process, and what their ratios say."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from math import comb
from time import perf_counter, process_time
from typing import NamedTuple

import torch


class Seconds(NamedTuple):
    """Of one turn."""

    wall: float
    processor: float


class Estimate(NamedTuple):
    """A median and an interval that holds the true one with 95 %, from 6 values on."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.3f} ({self.low:.3f} to {self.high:.3f})"


def take_turns(
    contenders: Mapping[str, Callable[[], object]],
    turns: int,
    device: str = "cpu",
    warm_up: int = 1,
) -> dict[str, list[Seconds]]:
    """Return the seconds of every contender in every turn, in alternating order."""
    names = list(contenders)
    for name in names:
        for _ in range(warm_up):
            contenders[name]()
    seconds: dict[str, list[Seconds]] = {name: [] for name in names}
    for turn in range(turns):
        for name in names if turn % 2 == 0 else reversed(names):
            seconds[name].append(timed(contenders[name], device))
    return seconds


def timed(once: Callable[[], object], device: str = "cpu") -> Seconds:
    """Return what a call takes, the work that it left to the device included."""
    synchronise(device)
    wall, processor = perf_counter(), process_time()
    once()
    synchronise(device)
    return Seconds(perf_counter() - wall, process_time() - processor)


def synchronise(device: str) -> None:
    """Wait for a GPU."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def ratios(above: list[Seconds], below: list[Seconds], kind: str) -> Estimate:
    """Return the ratio of seconds within a turn; kind is "wall" or "processor"."""
    pairs = zip(above, below, strict=True)
    return estimate([getattr(a, kind) / getattr(b, kind) for a, b in pairs])


def estimate(values: list[float]) -> Estimate:
    """Return the median with order statistics around it (sign test), or the range."""
    ordered, n = sorted(values), len(values)
    tail, k = 0.0, 0
    while k < n // 2:
        tail += comb(n, k) / 2**n
        if tail > 0.025:
            break
        k += 1
    low, high = max(k - 1, 0), n - 1 - max(k - 1, 0)
    return Estimate(statistics.median(ordered), ordered[low], ordered[high])
