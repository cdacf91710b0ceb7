"""Every rule, on generic calls, is true in random small models, exactly evaluated."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest
from calls import honest, tempting
from random_models import verdict

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Rejected

CALLS, TEMPTING = honest(rules), tempting(rules)
NAMES = sorted({name for name, _ in CALLS})


def test_every_rule_has_calls() -> None:
    assert {name.split()[0] for name in NAMES} == set(rules.RULES)


@pytest.mark.parametrize("name", NAMES)
def test_no_random_model_breaks_the_rule(name: str) -> None:
    mine = [make for other, make in CALLS if other == name]
    unbroken(name, range(max(3, 24 // len(mine)) if len(mine) < 25 else 1))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_no_other_random_model_breaks_the_rule(name: str) -> None:
    mine = [make for other, make in CALLS if other == name]
    unbroken(name, range(100, 100 + max(3, 24 // len(mine))))


def unbroken(name: str, seeds: range) -> None:
    mine = [make for other, make in CALLS if other == name]
    seen = Counter(
        verdict(make(), 1000 * place + seed)
        for place, make in enumerate(mine)
        for seed in seeds
    )
    assert not seen["false"]
    assert seen["true"] >= 3, seen


@pytest.mark.parametrize("name", sorted({name for name, _ in TEMPTING}))
def test_tempting_calls_are_refused(name: str) -> None:
    made = {}
    for place, (other, make) in enumerate(TEMPTING):
        if other == name:
            with suppress(Rejected):
                made[place] = make()
    assert not made
