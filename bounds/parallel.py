"""Independent jobs on all cores, with progress; on one core, one after the other."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from ctypes import c_int64
from typing import Any

from bounds.training import Progress

Job = Callable[[Progress], object]

_JOBS: Sequence[Job] = ()
_STATES: Any = ()
PAUSE = 0.1
"""Seconds between two looks at the progress of other processes."""


def run_all(
    jobs: Mapping[str, Job], show: Callable[[str], Progress], workers: int | None = None
) -> list[Any]:
    """Run jobs, each in a process of its own while there are cores.

    The processes are forks: they find the jobs in memory, and what a job returns must
    be picklable. Which process makes a job changes no bit of its result.

    Args:
        jobs: description -> a function that takes what moves its bar.
        show: starts the bar of a description and returns what moves it.
        workers: number of processes; None: that of the cores.

    Returns:
        The results, in the order of the jobs.

    Raises:
        MemoryError: if the system killed a process.
    """
    global _JOBS, _STATES
    count = min(workers or len(os.sched_getaffinity(0)), len(jobs))
    bars = [show(words) for words in jobs]
    if count < 2 or sys.platform != "linux":
        return [job(bar) for job, bar in zip(jobs.values(), bars, strict=True)]
    context = multiprocessing.get_context("fork")
    _JOBS = [*jobs.values()]
    _STATES = [context.RawArray(c_int64, 3) for _ in jobs]
    pool = ProcessPoolExecutor(count, mp_context=context)
    try:
        waiting = [pool.submit(_made, number) for number in range(len(jobs))]
        while not all(future.done() for future in waiting):
            _raise_failure(waiting)
            for bar, state in zip(bars, _STATES, strict=True):
                again, done, total = state
                if total:
                    bar("training" if again < 2 else "training again", done, total)
            time.sleep(PAUSE)
        return [future.result() for future in waiting]
    except BrokenProcessPool:
        raise MemoryError("a process was killed") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        _JOBS, _STATES = (), ()


def _raise_failure(waiting: Sequence[Future[Any]]) -> None:
    for future in waiting:
        if future.done():
            future.result()


def _made(number: int) -> Any:
    """Return what a job does in a forked process; progress goes into shared memory."""
    state = _STATES[number]

    def move(what: str, done: int, total: int) -> None:
        if done < state[1] or not state[0]:
            state[0] += 1  # from the start again: the run is repeated
        state[1], state[2] = done, total

    return _JOBS[number](move)
