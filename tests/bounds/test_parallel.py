"""Jobs in processes of their own give what they give one after the other."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.parallel import run_all
from bounds.shares import Shares, shared
from bounds.training import Progress

linux = pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux")


class Bars:
    """Remembers what was shown."""

    def __init__(self) -> None:
        self.moves: list[tuple[str, str, int, int]] = []

    def __call__(self, job: str) -> Progress:
        return lambda *state: self.moves.append((job, *state))


def square(value: int, move: Progress) -> tuple[int, int]:
    for done in range(4):
        move("training", done, 3)
    return value**2, os.getpid()


def fail(words: str, move: Progress) -> None:
    raise ValueError(words)


def jobs(work: Callable[..., object], *values: object) -> dict[str, partial]:
    return {str(value): partial(work, value) for value in values}


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_keep_the_order_of_the_jobs(workers: int) -> None:
    found = run_all(jobs(square, 3, 1, 2, 5), Bars(), workers)
    assert [value for value, _ in found] == [9, 1, 4, 25]


@linux
def test_jobs_run_in_other_processes() -> None:
    assert os.getpid() not in {pid for _, pid in run_all(jobs(square, 1, 2), Bars(), 2)}


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_is_the_jobs_own_error(workers: int) -> None:
    """The first failure ends the others and keeps its one line."""
    mixed = {**jobs(square, 1), **jobs(fail, "diverged in round 3")}
    with pytest.raises(ValueError, match="diverged in round 3"):
        run_all(mixed, Bars(), workers)


@linux
def test_a_killed_process_is_said_to_be_one() -> None:
    def killed(move: Progress) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(MemoryError, match="killed"):
        run_all({"a": killed, "b": partial(square, 2)}, Bars(), 2)


@linux
@given(st.integers(1, 4), st.lists(st.integers(0, 3), max_size=40))
def test_each_place_is_taken_once_and_the_own_ones_first(
    workers: int, who: list[int]
) -> None:
    """Whoever asks when; a process leaves its stretch only when that is done."""
    shares = Shares(len(who), workers)
    ends = [len(who) * k // workers for k in range(workers + 1)]
    taken: list[int] = []
    for one in (number % workers for number in who):
        own = [k for k in range(ends[one], ends[one + 1]) if k not in taken]
        taken.append(shares.take(one))
        assert not own or taken[-1] == own[0]
    assert sorted(taken) == [*range(len(who))]


@linux
def test_a_list_is_shared_by_processes() -> None:
    found = dict(shared(lambda place: (place**2, os.getpid()), 30, 3))
    assert {place: value for place, (value, _) in found.items()} == {
        place: place**2 for place in range(30)
    }
    assert os.getpid() not in {pid for _, pid in found.values()}


@linux
def test_a_failure_of_one_place_is_its_own_error() -> None:
    with pytest.raises(ZeroDivisionError):
        dict(shared(lambda place: 1 // (place - 3), 9, 2))
