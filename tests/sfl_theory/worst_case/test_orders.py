"""SFL-V2's orders of visits: every one is one of those that are solved, renamed."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.worst_case.orders import orders, size, worst_order
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import worst_case

TWO = {"clients": 2, "zeta2": Q(1)}


def made(tau: int = 1, rounds: int = 2, **more: object) -> Setting:
    steps = (Q(1, 4),) * rounds
    plain = {"clients": 3, "zeta2": Q(1)}
    return Setting("sfl-v2", tau, steps, steps, Q(1), Q(1, 10), **{**plain, **more})


@pytest.mark.parametrize(
    ("one", "total", "classes"),
    [
        (made(), 36, 6),
        (made(weights=(Q(1, 4), Q(1, 4), Q(1, 2))), 36, 18),
        (made(weights=(Q(1, 6), Q(1, 3), Q(1, 2))), 36, 36),
        (made(2, 1), 42, 7),
        (made(2, 2, clients=2), 20, 10),
        (made(1, 1, clients=2, participation=(Q(1), Q(1, 2))), 2, 2),
        (made(3, 2, clients=1), 1, 1),
    ],
)
def test_every_order_is_one_of_a_class(one: Setting, total: int, classes: int) -> None:
    found = [*orders(one)]
    assert len(found) == classes
    assert size(one) == total
    clients = range(len(one.shares))
    known = [(one.shares[n], one.chance(n)) for n in clients]
    names = [p for p in permutations(clients) if [known[n] for n in p] == known]
    reached = {
        (here.order, tuple(tuple(p[n] for n in turn) for turn in here.turns))
        for here in found
        for p in names
    }
    assert len(reached) == total


def test_an_order_and_its_renaming_have_one_value() -> None:
    first, second = (
        worst_case(made(turns=turns), below=False).value
        for turns in (((0, 1, 2), (2, 0, 1)), ((2, 1, 0), (0, 2, 1)))
    )
    assert first == pytest.approx(second, rel=1e-6)


def test_the_worst_order_bounds_every_order() -> None:
    asked = made(2, 2, **TWO)
    worst = worst_order(asked, None, None).worst
    assert worst.orders == 20
    every = [*permutations(range(2))]
    values = [
        worst_case(replace(asked, order="interleaved", turns=turns), below=False).value
        for turns in product(every, repeat=4)
        if turns[0] == (1, 0)
    ]
    assert max(values) <= worst.value * (1 + 1e-6)
    assert worst.upper >= worst.lower > 0
    assert min(values) < worst.value * (1 - 1e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_a_run_in_random_orders_is_no_worse(seed: int) -> None:
    draw = np.random.default_rng(seed)
    d, cut, eta, N = 4, 2, 0.25, 3
    H = []
    for _ in range(N):
        turn, _ = np.linalg.qr(draw.normal(size=(d, d)))
        H.append(turn @ np.diag(draw.choice([0.1, 1.0], d)) @ turn.T)
    slopes = draw.normal(size=(N, d))
    slopes -= slopes.mean(axis=0)
    slopes /= np.sqrt(np.mean(np.sum(slopes**2, axis=1)))
    x = draw.normal(size=d)
    x /= np.linalg.norm(x)
    for _ in range(2):
        server, ends = x[cut:].copy(), []
        for n in draw.permutation(N):
            local = np.concatenate([x[:cut], server])
            step = H[n] @ local + slopes[n]
            ends.append(x[:cut] - eta * step[:cut])
            server = server - eta * step[cut:]
        x = np.concatenate([np.mean(ends, axis=0), server])
    assert 0.5 * float(x @ np.mean(H, axis=0) @ x) <= bound() * (1 + 1e-9)


@cache
def bound() -> float:
    upper = worst_order(made(), None, None).worst.upper
    assert upper is not None
    return float(upper)


def test_too_many_orders_are_refused() -> None:
    with pytest.raises(ValueError, match="orders of visits, the limit is"):
        worst_order(made(2, 3), None, None)
