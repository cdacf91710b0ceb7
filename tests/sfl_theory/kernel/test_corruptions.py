"""Random surgery on real proofs: rejected, or what is proved no random model breaks.

The long test tries 500 files; ``SFL_KERNEL_CASES=10000`` in the environment makes it
10 000, which takes a quarter of an hour.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from proved import many, shorter
from random_models import Sample

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.conditions import holds
from sfl_theory.kernel.replay import Claim, replay
from sfl_theory.proofs.export import document

SORTS = ["natural", "count", "nonnegative", "positive"]


@cache
def files() -> list[str]:
    """Return a file for each of the proofs."""
    return [document([pair]) for pair in shorter()]


def places(data: object, at: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """Yield the path of every list, number and text."""
    yield at
    if isinstance(data, list):
        for key, value in enumerate(data):
            yield from places(value, (*at, key))
    elif isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*at, key))


def corrupted(rng: random.Random, text: str) -> str:
    """Return the file with one to three random changes."""
    data = json.loads(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        section = rng.choice(["terms", "terms", "steps", "steps", "claims"])
        path = list(places(data[section], (section,)))
        *front, last = rng.choice(path[1:])
        holder = data
        for key in front:
            holder = holder[key]
        value = holder[last]
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int):
            holder[last] = max(0, value + rng.choice([-2, -1, 1, 2, 7]))
        elif value in SORTS:
            holder[last] = rng.choice(SORTS)
        elif isinstance(value, str) and value.lstrip("-")[:1].isdigit():
            holder[last] = rng.choice(["0", "1", "-1", "2", "1/2", f"-{value}", "4"])
        elif isinstance(value, str):
            words = ["client", "server", "smooth", "majorant", "convex", "v1", "v2"]
            words += [
                "v2-weighted",
                "updates",
                "expect",
                "longer",
                "n",
                "t",
                "i",
            ]
            holder[last] = rng.choice([*words, *rules.RULES])
        elif isinstance(value, list) and value:
            change = rng.randrange(4)
            if change == 0:
                value.pop(rng.randrange(len(value)))
            elif change == 1:
                value.append(rng.choice(value))
            elif change == 2:
                rng.shuffle(value)
            else:
                holder[last] = []
    return json.dumps(data)


def untrue(claim: Claim, seed: int) -> bool:
    """Return whether a random model meets the hypotheses and breaks the claim."""

    class Stated:
        form = claim.right - claim.left
        hypotheses = claim.hypotheses
        equal = False

    try:
        e = Sample(seed, Stated()).evaluation()
        met = all([holds(e, assumed) for assumed in claim.hypotheses])
        return met and e.form(Stated.form) < 0
    except Rejected:
        return False


def outcome(seed: int) -> str:
    rng = random.Random(seed)
    text = corrupted(rng, rng.choice(files()[:3] * 10 + files()[3:]))
    try:
        claims = replay(text)
    except Rejected:
        return "rejected"
    for claim in claims:
        assert not any(untrue(claim, seed + k) for k in range(3)), seed
    return "proved"


def test_a_hundred_corruptions_prove_nothing_false() -> None:
    seen = Counter(outcome(seed) for seed in range(100))
    assert seen["rejected"] > 60, seen


@pytest.mark.long
def test_many_corruptions_prove_nothing_false() -> None:
    cases = many(500)
    seen = Counter(outcome(seed) for seed in range(10_000, 10_000 + cases))
    print(dict(seen))
    assert seen["rejected"] > 0.6 * cases, seen
