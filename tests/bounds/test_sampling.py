"""Every beginning of the order is a fair sample, and intervals hold what they say."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from bounds.clock import Clock
from bounds.sampling import interval, ordered

KINDS = {f"a{i}": "a" for i in range(60)} | {f"b{i}": "b" for i in range(20)}


def test_each_beginning_has_its_share_of_each_kind() -> None:
    found = ordered(KINDS)
    assert sorted(found) == sorted(KINDS)
    for n in range(1, len(found) + 1):
        first = Counter(KINDS[name] for name in found[:n])
        assert abs(first["a"] - n * 60 / 80) <= 1.5
        assert abs(first["b"] - n * 20 / 80) <= 1.5


def test_the_order_is_the_seeds_and_not_that_of_the_names() -> None:
    assert ordered(KINDS) == ordered(dict(reversed(KINDS.items())))
    assert ordered(KINDS) != ordered(KINDS, seed=1)
    assert [name for name in ordered(KINDS) if name[0] == "b"] != sorted(
        name for name in KINDS if name[0] == "b"
    )


def test_each_place_is_as_likely_for_each_statement() -> None:
    """So what a run that stops early has judged is no choice of anyone's."""
    early = Counter(name for seed in range(400) for name in ordered(KINDS, seed)[:20])
    assert min(early[name] for name in KINDS) > 60
    assert max(early[name] for name in KINDS) < 145  # 100 expected


def test_of_statements_with_a_mutant_each_it_is_wilsons() -> None:
    low, high = interval([(1, 1)] * 30 + [(0, 1)] * 70) or (0, 0)
    assert low == pytest.approx(0.2189, abs=3e-3)
    assert high == pytest.approx(0.3959, abs=3e-3)


def test_mutants_that_share_their_fate_count_as_one() -> None:
    alone = interval([(1, 1)] * 30 + [(0, 1)] * 70)
    assert interval([(10, 10)] * 30 + [(0, 10)] * 70) == pytest.approx(alone)


def test_nothing_seen_says_nothing_and_one_statement_little() -> None:
    assert interval([]) is None
    assert interval([(0, 0)]) is None
    low, high = interval([(50, 50)]) or (1, 1)
    assert low < 0.25
    assert high == 1


@pytest.mark.parametrize(("size", "often"), [(6, 0.88), (15, 0.9), (40, 0.91)])
def test_intervals_hold_the_share_of_all_about_as_often_as_they_say(
    size: int, often: float
) -> None:
    dice = random.Random(5)
    every = []
    for _ in range(400):
        p, trials = dice.choice([0.1, 0.5, 0.9]), dice.choice([2, 10, 40])
        every.append((sum(dice.random() < p for _ in range(trials)), trials))
    share = sum(hits for hits, _ in every) / sum(trials for _, trials in every)
    held = 0
    for _ in range(400):
        low, high = interval(dice.sample(every, size)) or (1, 0)
        held += low <= share <= high
    assert held > often * 400


class Hand:
    """A clock that is turned by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    made = Hand()
    monkeypatch.setattr("bounds.clock.time", made)
    return made


def test_no_statement_begins_that_would_end_too_late(hand: Hand) -> None:
    clock = Clock(2, 4)
    clock.sets(dict.fromkeys("abcd", "one round"), list("abcd"))
    hand.now = 500
    assert clock.begins()  # one is judged, however late
    assert not clock.begins()
    hand.now = 0
    assert clock.begins()
    hand.now = 100
    assert clock.begins()  # two begun, by two processes: 100 s each
    hand.now = 130
    assert clock.begins()  # three: 87 s
    hand.now = 170
    assert not clock.begins()  # four: 85 s


def test_what_is_left_is_told_by_what_it_costs(hand: Hand) -> None:
    clock = Clock(2, None)
    clock.sets({"a": "T rounds", "b": "T rounds", "c": "numbers"}, ["a", "b"])
    assert "2 statements" in clock.estimate()
    assert clock.now().startswith("1 of 3 statements")
    hand.now = 50
    clock.ended("a")
    assert clock.remaining() == pytest.approx(50)
    assert clock.begins()
