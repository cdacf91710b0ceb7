"""(13) fails under one-sided smoothness: the instance of the entry, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from sfl_theory import Constants, schedules, theorem
from sfl_theory.ledger import ledger

S, PEAK, FLAT = Fraction(1, 1800), Fraction(1, 10), 25
WEIGHTS, TILTS = (Fraction(3, 5), Fraction(2, 5)), (2, -3)
TAU, ROUNDS, START = 6, 1300, Fraction(1, 2)


def f(x: Fraction) -> Fraction:
    """Return the value of f."""
    away = abs(x)
    if away <= PEAK:
        return -(x**2) / (2 * PEAK)
    return PEAK / 2 - away + S / 2 * max(away - FLAT, 0) ** 2


def slope(x: Fraction) -> Fraction:
    """Return the derivative of f."""
    away = abs(x)
    if away <= PEAK:
        return -x / PEAK
    return (S * max(away - FLAT, 0) - 1) * (1 if x > 0 else -1)


def after_a_round(x: Fraction) -> Fraction:
    """Return the mean of the clients' models after tau steps at the rate 1."""
    ends = []
    for tilt in TILTS:
        p = x
        for _ in range(TAU):
            p -= slope(p) + tilt
        ends.append(p)
    return sum(a * p for a, p in zip(WEIGHTS, ends, strict=True))


def test_f_is_smooth_from_above() -> None:
    """(4) with S, which the tilts of the clients leave as it is."""
    grid = [Fraction(k, 7) for k in (*range(-300, 301, 7), *range(-6, 7))]
    far = [Fraction(k) for k in range(-2000, 2001, 250)]
    for x, y in product([*grid, *far], repeat=2):
        assert f(y) <= f(x) + slope(x) * (y - x) + S / 2 * (y - x) ** 2
    assert abs(slope(Fraction(0)) - slope(PEAK)) > S * PEAK


def test_the_run_stands_still_above_the_printed_bound() -> None:
    """The squared gradient stays 1; rates are admitted, which `evaluate` checks."""
    assert after_a_round(START) == START
    assert slope(START) ** 2 == 1
    best = FLAT + 1 / S
    assert slope(best) == 0
    constants = Constants(
        S=float(S), sigma2=0.0, eps2=9.0, weights=tuple(map(float, WEIGHTS)),
        tau=TAU, tau_server=TAU, initial_gap=float(f(START) - f(best)),
    )  # fmt: skip
    bound = theorem("3.6").case("non_convex").bound("printed")
    rates = schedules.constant(1.0)
    (value,) = bound.evaluate(constants, [ROUNDS], rates)
    assert value == pytest.approx(0.9733, abs=1e-4)


def test_the_entry_is_open_and_says_so() -> None:
    """No model of the kernel has a concave bend: it claims no refutation."""
    entry = ledger().entry("han2024/thm-3.6/non_convex/one-sided")
    assert entry.outcome.status == "unproved"
    assert "T = 1300" in entry.claim.words
