"""Random logical steps from honest theorems lead to nothing that a model breaks.

The long test tries 400; ``SFL_KERNEL_CASES=10000`` in the environment makes it 10 000.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest
from proved import many, shorter
from random_models import premises, verdict

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Local,
    NamedFunction,
    Point,
    Rate,
    RoundFamily,
    Var,
    draw,
    weight,
)
from sfl_theory.proofs import partial_visits
from sfl_theory.proofs.local_steps import now
from sfl_theory.proofs.notation import inverse_q, nat, of, of_round, point, steps


@cache
def pool() -> list[Theorem]:
    """Every theorem of the ledger's proofs."""
    out = []
    for _, theorem in shorter():
        out += premises(theorem)
    return out


def naturals(rng: random.Random) -> Ratio:
    of_one = of(nat(rng.choice("tijk")))
    return rng.choice([ratio(0), ratio(1), ratio(2), of_one, of_one + 1])


def step(rng: random.Random, theorem: Theorem) -> Theorem:
    n, m = Client("n"), Client("m")
    kind = rng.randrange(8)
    if kind == 0:
        values = tuple((nat(v), naturals(rng)) for v in rng.sample("tijk", 2))
        return rules.instantiate(theorem, values, ())
    if kind == 1:
        return rules.instantiate(theorem, ((n, rng.choice([m, n])), (m, n)), ())
    if kind == 2:
        tau = Var("tau", Sort.COUNT)
        longer = rng.choice([ratio(1), ratio(2), of(nat("d")) + 1])
        return rules.instantiate(theorem, ((tau, longer), (nat("d"), ratio(1))), ())
    if kind == 3:
        rate = Rate(rng.choice([1 / (of_round() + 3), ratio(1) / 9]))
        return rules.instantiate(
            theorem, ((RoundFamily("eta", Sort.POSITIVE), rate),), ()
        )
    if kind == 4:
        return rules.instantiate(
            theorem,
            (
                (NamedFunction("phi"), rng.choice([MEAN, Local(n), Local(m)])),
                (Point("x"), rng.choice([point("x") * 2, point("y") - point("x")])),
            ),
            (),
        )
    if kind == 5:
        J = draw(partial_visits.RUN, rng.choice([n, m]), now)
        plain = [ratio(1), weight(n), weight(m) ** 2, inverse_q(n)]
        factor = rng.choice([*plain, J, J * weight(n)])
        return rules.sum_over(theorem, CLIENTS, rng.choice([n, m]), factor, ())
    if kind == 6:
        v = nat(rng.choice("tijk"))
        return rules.sum_over(theorem, steps(naturals(rng)), v, naturals(rng), ())
    other, J = rng.choice(pool()), draw(partial_visits.RUN, n, now)
    factor = rng.choice([weight(n), naturals(rng), J, J**2])
    uses = ((theorem, naturals(rng)), (other, factor))
    return rules.combine(uses, (), None, ())


def outcome(seed: int) -> str:
    rng = random.Random(seed)
    theorem = rng.choice(pool())
    try:
        for _ in range(rng.randint(1, 3)):
            theorem = step(rng, theorem)
    except Rejected:
        return "rejected"
    found = verdict(theorem, seed)
    assert found != "false", (seed, str(theorem))
    return found


def test_random_consequences_are_true() -> None:
    seen = Counter(outcome(seed) for seed in range(60))
    assert seen["true"] > 15, seen


@pytest.mark.long
def test_many_random_consequences_are_true() -> None:
    cases = many(400)
    seen = Counter(outcome(seed) for seed in range(1_000, 1_000 + cases))
    print(dict(seen))
    assert seen["true"] > 0.25 * cases, seen
