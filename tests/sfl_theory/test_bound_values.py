"""Every printed bound and step size equals a value worked out by hand.

The constants are small rationals; the numbers on the right were computed from the
papers' formulas with pencil and paper, not with this package.
"""

from __future__ import annotations

import numpy as np
import pytest

from sfl_theory import TABLE_4, Constants, rate_table, schedules, theorem, theorems
from sfl_theory.bound import total

CONSTANTS = Constants(
    S=2,
    mu=1,
    sigma2=(1, 2),
    G2=4,
    eps2=3,
    weights=(0.25, 0.75),
    participation=(0.5, 0.25),
    tau=2,
    tau_server=4,
    initial_distance2=3,
    initial_gap=5,
    Gamma=0.5,
    R2=4,
    initial_distance2_client=2,
    initial_distance2_server=1,
    distance2_client=0.5,
    distance2_server=0.25,
    sigma_star2=8,
    eps_star2=6,
)
RATES = schedules.table([0.5, 0.25])

BY_HAND = {
    ("3.5", "any"): (1, 0.25 + 0.5),
    ("3.6", "strongly_convex"): (1, 9.75 + 90 + 3),
    ("3.7", "strongly_convex"): (1, 37.75 + 258 + 3),
    ("3.8", "strongly_convex"): (1, 28.75 + 90 + 3),
    ("3.9", "strongly_convex"): (1, 104.75 + 258 + 3),
    ("3.6", "general_convex"): (1, 1.5 + 73.125**0.5 / 2 + 2700 ** (1 / 3) / 2),
    ("3.7", "general_convex"): (1, 1.5 + 56.625**0.5 / 2 + 1548 ** (1 / 3) / 2),
    ("3.8", "general_convex"): (1, 1.5 + 215.625**0.5 / 2 + 2700 ** (1 / 3) / 2),
    ("3.9", "general_convex"): (1, 1.5 + 157.125**0.5 / 2 + 1548 ** (1 / 3) / 2),
    ("3.6", "non_convex"): (2, 5 + 153.125),
    ("3.7", "non_convex"): (2, 5 + 120.625),
    ("3.8", "non_convex"): (2, 5 + 587.5),
    ("3.9", "non_convex"): (2, 5 + 397.5),
    ("huang2023/prop-1", "strongly_convex"): (1, 24 / 17),
    ("huang2023/prop-2", "strongly_convex"): (1, 48.75),
    ("huang2023/thm-1", "strongly_convex"): (1, 24 / 17 + 48.75),
    ("dachille2024/prop-1", "non_convex"): (2, 5 + 61.25),
    ("li2020/thm-1", "strongly_convex"): (1, (78.375 + 24) / 9),
}


def all_cases() -> list[tuple[str, str]]:
    return [(item.key, name) for item in theorems() for name in item.cases]


def test_every_bound_has_a_value_by_hand() -> None:
    """A bound added without a hand-computed value fails here."""
    by_hand = {(theorem(key).key, name) for key, name in BY_HAND}
    assert by_hand == set(all_cases())


@pytest.mark.parametrize(("key", "name"), BY_HAND)
def test_value_by_hand(key: str, name: str) -> None:
    rounds, expected = BY_HAND[key, name]
    bound = theorem(key).case(name).bound("printed")
    value = total(bound.formula(CONSTANTS, [rounds], RATES))
    assert value == pytest.approx([expected], rel=1e-13)


@pytest.mark.parametrize(
    ("key", "name", "t", "client", "server"),
    [
        ("3.6", "strongly_convex", 0, 1 / 15, 2 / 15),
        ("3.6", "strongly_convex", 5, 1 / 20, 2 / 20),
        ("3.8", "strongly_convex", 1, 1 / 16, 2 / 16),
        ("3.7", "strongly_convex", 0, 2 / 15, 2 / 15),
        ("3.9", "strongly_convex", 5, 1 / 10, 1 / 10),
        ("3.6", "general_convex", 3, 1 / 16, 1 / 16),
        ("3.7", "general_convex", 3, 1 / 8, 1 / 8),
        ("3.8", "general_convex", 0, 1 / 16, 1 / 16),
        ("3.9", "general_convex", 0, 1 / 8, 1 / 8),
        ("3.6", "non_convex", 0, 1 / 160, 1 / 160),
        ("3.7", "non_convex", 0, 1 / 128, 1 / 128),
        ("3.8", "non_convex", 0, 1 / 608, 1 / 608),
        ("3.9", "non_convex", 0, 1 / 304, 1 / 304),
        ("huang2023/thm-1", "strongly_convex", 1, 2 / 16, 2 / 16),
        ("dachille2024/prop-1", "non_convex", 0, 1 / 64, 1 / 64),
        ("li2020/thm-1", "strongly_convex", 1, 2 / 18, 2 / 18),
    ],
)
def test_step_size_by_hand(
    key: str, name: str, t: int, client: float, server: float
) -> None:
    rule = theorem(key).case(name).bound().step_size
    schedule = rule.schedule(CONSTANTS)
    at = np.array([float(t)])
    assert schedule.client(at) == pytest.approx([client], rel=1e-14)
    assert schedule.server(at) == pytest.approx([server], rel=1e-14)
    assert schedule.per_step == key.startswith(("huang2023", "li2020"))


def test_huang_gamma_takes_the_larger_of_the_two() -> None:
    """gamma = max(8S/mu - 1, EM): with EM = 20 the second one decides."""
    bound = theorem("huang2023/prop-1").case().bound()
    value = bound.evaluate(CONSTANTS.with_values(tau=20, participation=1), [1])
    assert value == pytest.approx([(8 * 4 / 4 + 21 * 1) / (20 + 20)], rel=1e-14)


HOMOGENEOUS = CONSTANTS.with_values(sigma2=1.5, weights=(0.5, 0.5))


@pytest.mark.parametrize(
    ("table", "row", "expected"),
    [
        # sigma^2 = 3/2, G^2 = 4, eps^2 = 3, N = 2, S = 2, mu = 1, T = 2, Q = 6
        (1, 0, 2 / 4 * (2 * 5.5 + 6)),
        (1, 1, 2 / 4 * (4 * 5.5 + 6)),
        (1, 2, 5.5**0.5 + 5.5 ** (1 / 3) + 3),
        (1, 5, 4 * 2 * 4.5 / 2 + 2.5),
        (1, 6, 2 / 4 * (2 * (1.5 + 4 * 7) + 6)),
        (1, 10, 2 * 2 * 4.5 * 6 / 2 + 2.5),
        (2, 0, 8 / 8 + 10 * np.exp(-1)),
        (2, 1, 2 / 4 * ((1.5 + 2 + 2 * 4 * 4) / 2 + 6)),
        (2, 2, 1.5 / 8 + 3 / 8 + 6 / 4 + 3 * np.exp(-1)),
        (2, 3, 1.5 / 8 + 3 / 16 + 12 / 8 + 3 * np.exp(-1)),
        (3, 0, 1.5 / 4 + 6 * np.exp(-1)),
        (3, 3, (1.5 / 8 + 1) * 3),
        (3, 6, (1.5 / 8 + 0.5) * 2 * 5),
    ],
)
def test_rate_tables_by_hand(table: int, row: int, expected: float) -> None:
    value = rate_table(table)[row].evaluate(HOMOGENEOUS, [2])
    assert value == pytest.approx([expected], rel=1e-13)


def test_overheads_by_hand() -> None:
    """Table 4 at K=4, D=8, v=3, |W|=10, r=1/2, R=2, T_fb=7, T_fedavg=6."""
    values = {"K": 4, "D": 8, "v": 3, "W": 10, "r": 0.5, "R": 2, "T_fb": 7}
    values["T_fedavg"] = 6
    table = {row.method: row.evaluate(values) for row in TABLE_4}
    assert table["FL"] == {"per_client": 20, "total": 80, "time": 7 + 10 + 6}
    assert table["SL"] == {"per_client": 22, "total": 88, "time": 7 + 24 + 20}
    assert table["SFL-V1"]["time"] == 7 + 6 + 5 + 6
    assert table["SFL-V2"]["time"] == 7 + 6 + 5 + 3
    del values["v"]
    with pytest.raises(ValueError, match="'v'"):
        TABLE_4[1].evaluate(values)


def test_terms_add_up_bit_for_bit() -> None:
    for key, name in all_cases():
        bound = theorem(key).case(name).bound()
        rounds = np.array([1, 7, 1000])
        terms = bound.formula(CONSTANTS, rounds, RATES)
        added = sum(list(terms.values())[1:], start=next(iter(terms.values())))
        assert np.array_equal(added, total(terms))
        if not bound.unmet(CONSTANTS, rounds, RATES):
            assert np.array_equal(added, bound.evaluate(CONSTANTS, rounds, RATES))
        assert list(terms) == list(bound.parts)
