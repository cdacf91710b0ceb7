"""The library's printed bounds are what the papers print.

Right sides and learning rates are typed here from the papers' text, in plain numbers;
they share nothing with the statements that the library's bounds are made of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory import Bound, Constants, schedules, symbols, theorem, theorems


@dataclass(frozen=True)
class Values:
    """What the papers' formulas are functions of; per-client values are lists."""

    a: list[float]
    sigma2: list[float]
    q: list[float]
    S: float
    mu: float
    G2: float
    eps2: float
    tau: int
    tau_server: int
    I_err: float
    I_c: float
    I_s: float
    F_err: float
    Gamma: float
    rates: list[float]
    T: int

    @property
    def N(self) -> int:
        """The number of clients."""
        return len(self.a)

    @property
    def fastest(self) -> int:
        """``tau_max``."""
        return max(self.tau, self.tau_server)

    @property
    def slowest(self) -> int:
        """``tau_min``."""
        return min(self.tau, self.tau_server)

    def over(self, each: Callable[[float, float, float], float]) -> float:
        """Return the sum over clients of a function of a_n, sigma_n^2, q_n."""
        return sum(map(each, self.a, self.sigma2, self.q))

    @property
    def squares(self) -> float:
        """The sum of the squared learning rates."""
        return sum(eta**2 for eta in self.rates)


Summand = Callable[[Values, float, float, float], float]
SQUARES: dict[str, Summand] = {
    "3.6": lambda v, a, s2, _: a**2 * (2 * s2 + v.G2),
    "3.7": lambda v, a, s2, _: (a**2 + 1) * (2 * s2 + v.G2),
    "3.8": lambda v, a, s2, q: a**2 * (2 * s2 + v.G2 + v.G2 / q),
    "3.9": lambda v, a, s2, q: (a**2 + 1) * (2 * s2 + v.G2 + v.G2 / q),
}
"""The sum over clients with ``a_n^2`` in the convex cases of a theorem."""


def sums(number: str, v: Values) -> tuple[float, float]:
    """Return that sum, and the one with ``a_n``, to which draws add nothing."""
    one = int(number in ("3.7", "3.9"))
    return (
        v.over(partial(SQUARES[number], v)),
        v.over(lambda a, s2, _: (a + one) * (2 * s2 + v.G2)),
    )


def strongly(number: str, v: Values) -> float:
    """Return the right side of (11), (14), (17) or (20)."""
    gamma, (A, B) = 8 * v.S / v.mu - 1, sums(number, v)
    return (
        8 * v.S * v.N * A / (v.mu**2 * (gamma + v.T))
        + 768 * v.S**2 * B / (v.mu**3 * (gamma + v.T) * (gamma + 1))
        + v.S * (gamma + 1) * v.I_err / (2 * (gamma + v.T))
    )


def convex(number: str, v: Values) -> float:
    """Return the right side of (12), (15), (18) or (21): two periods in V1 only."""
    A, B = sums(number, v)
    paces = 1 / (v.T + 1)
    if number in ("3.6", "3.8"):
        paces *= (v.tau_server**2 + v.tau**2) / v.slowest**2
    return (
        v.S * v.I_err / (2 * (v.T + 1))
        + 1 / 2 * (paces * v.I_err * v.N * A) ** (1 / 2)
        + 1 / 2 * (24 * paces * v.S * v.I_err * B) ** (1 / 3)
    )


def gradients_v1(v: Values, C: float) -> float:
    """Return the shape of (13), (19)."""
    first = 4 / (v.T * v.slowest) * v.F_err
    paces = v.tau**2 + v.tau_server**2
    return first + 8 * v.N * v.S * paces / (v.T * v.slowest) * C * v.squares


def gradients_v2(v: Values, C: float) -> float:
    """Return the shape of (16), (22)."""
    first = 4 / (v.T * v.tau) * v.F_err
    return first + 8 * v.N * v.S * v.tau / v.T * C * v.squares


def eq_9(v: Values) -> float:
    """Return the right side of (9) of huang2023; i = TEM steps, EM = tau."""
    gamma = max(8 * v.S / v.mu - 1, v.tau)
    top = 8 * v.G2 + v.mu**2 * v.N**2 * (gamma + 1) * v.I_s
    return top / (v.mu**2 * v.N**2 * (gamma + v.T * v.tau))


def eq_10(v: Values) -> float:
    """Return the right side of (10) of huang2023."""
    gamma = max(8 * v.S / v.mu - 1, v.tau)
    H = 6 * v.tau * v.G2 + 12 * v.tau**2 * v.eps2 + 6 * v.S * v.Gamma
    H += v.over(lambda a, s2, _: a**2 * s2)
    top = 4 * H + v.mu**2 * (gamma + 1) * v.I_c
    return top / (v.mu**2 * (gamma + v.T * v.tau))


def eq_6(v: Values) -> float:
    """Return the right side of (6) of dachille2024."""
    apart = v.over(lambda a, s2, _: a**2 * (s2 + v.eps2))
    first = 4 / (v.T * v.tau) * v.F_err
    return first + 16 * v.N * v.S * v.tau / v.T * apart * v.squares


def li(v: Values) -> float:
    """Return the right side of Theorem 1 of li2020: its T is T tau + 1 here."""
    kappa = v.S / v.mu
    gamma, steps = max(8 * kappa, v.tau), v.T * v.tau + 1
    B = v.over(lambda a, s2, _: a**2 * s2) + 6 * v.S * v.Gamma
    B += 8 * (v.tau - 1) ** 2 * v.G2
    return kappa / (gamma + steps - 1) * (2 * B / v.mu + v.mu * gamma / 2 * v.I_err)


PRINTED: dict[tuple[str, str], Callable[[Values], float]] = {
    ("3.5", "any"): lambda v: v.S / 2 * (v.I_s + v.I_c),
    **{
        (number, name): partial(shape, number)
        for number in SQUARES
        for name, shape in (("strongly_convex", strongly), ("general_convex", convex))
    },
    ("3.6", "non_convex"): lambda v: gradients_v1(
        v, v.over(lambda a, s2, _: a**2 * (s2 + v.eps2))
    ),
    ("3.7", "non_convex"): lambda v: gradients_v2(
        v, v.over(lambda a, s2, _: (a**2 + 1) * (s2 + v.eps2))
    ),
    ("3.8", "non_convex"): lambda v: gradients_v1(
        v, v.over(lambda a, s2, q: a**2 / q * (s2 + v.eps2))
    ),
    ("3.9", "non_convex"): lambda v: gradients_v2(
        v, v.over(lambda a, s2, q: (a**2 + 1) / q * (s2 + v.eps2))
    ),
    ("huang2023/prop-1", "strongly_convex"): eq_9,
    ("huang2023/prop-2", "strongly_convex"): eq_10,
    ("huang2023/thm-1", "strongly_convex"): lambda v: v.S * (eq_9(v) + eq_10(v)) / 2,
    ("dachille2024/prop-1", "non_convex"): eq_6,
    ("li2020/thm-1", "strongly_convex"): li,
}
"""Theorem and case -> its right side, as the paper has it; the two distances of
Proposition 3.5 are those of round T, here the same numbers as the initial ones."""
WITH_RATES = [case for case in PRINTED if case[0] != "3.5"]


def own_rate(v: Values, t: int, steps: int) -> float:
    """Return ``4/(mu steps (gamma + t))``."""
    return 4 / (v.mu * steps * (8 * v.S / v.mu - 1 + t))


def step_rate(v: Values, gamma: float, t: int) -> tuple[float, float]:
    """Return ``2/(mu (gamma + t))`` of both sides."""
    return (2 / (v.mu * (gamma + t)),) * 2


def both(value: float) -> tuple[float, float]:
    """Return a rate of both sides."""
    return value, value


def printed_rates(key: str, name: str, v: Values, t: int) -> tuple[float, float]:
    """Return the client's and the server's printed rate of a round, or the largest."""
    sum_a2, drawn = v.over(lambda a, *_: a**2), v.over(lambda a, _, q: a**2 / q)
    slow, fast, S, N = v.slowest, v.fastest, v.S, v.N
    if key == "dachille2024/prop-1":
        return both(min(1 / (16 * S * v.tau), 1 / (8 * S * N * v.tau * sum_a2)))
    if key.startswith("huang2023"):
        return step_rate(v, max(8 * S / v.mu - 1, v.tau), t)
    if key == "li2020/thm-1":
        return step_rate(v, max(8 * S / v.mu, v.tau), t + 1)
    if name == "strongly_convex":
        return own_rate(v, t, v.tau_server), own_rate(v, t, v.tau)
    if name == "general_convex":
        return both(1 / (2 * S * (fast if key in ("3.6", "3.8") else v.tau)))
    first = 1 / (16 * S * (fast if key in ("3.6", "3.8") else v.tau))
    second = {
        "3.6": slow / (8 * S * N * fast**2 * sum_a2),
        "3.7": 1 / (8 * S * N**2 * v.tau),
        "3.8": slow / (8 * S * N * fast**2 * drawn),
        "3.9": 1 / (8 * S * N**2 * v.tau * drawn),
    }[key]
    return both(min(first, second))


positive = st.floats(0.1, 10)


@st.composite
def drawn(draw: Callable[..., float], key: str, name: str) -> Values:
    """Return values that a theorem speaks of: its periods, draws and largest rates."""
    T, N = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    each = st.lists(positive, min_size=N, max_size=N)
    raw, tau = draw(each), draw(st.integers(1, 6))
    two = key in ("3.6", "3.8")
    chance = st.floats(0.1, 1) if key in ("3.8", "3.9") else st.just(1.0)
    I_c, I_s, S = draw(positive), draw(positive), draw(positive)
    v = Values(
        a=[one / sum(raw) for one in raw],
        sigma2=draw(each),
        q=draw(st.lists(chance, min_size=N, max_size=N)),
        S=S,
        mu=S * draw(st.floats(0.05, 1)),
        G2=draw(positive),
        eps2=draw(positive),
        tau=tau,
        tau_server=draw(st.integers(1, 6)) if two else tau,
        I_err=I_c + I_s,
        I_c=I_c,
        I_s=I_s,
        F_err=draw(positive),
        Gamma=draw(positive),
        rates=[],
        T=T,
    )
    if key == "3.5":
        return v
    shares = draw(st.lists(st.floats(0.1, 0.99), min_size=T, max_size=T))
    largest = printed_rates(key, name, v, 0)[0]
    return replace(v, rates=[share * largest for share in shares])


def constants(v: Values) -> Constants:
    """Return them as the library takes them."""
    return Constants(
        S=v.S, mu=v.mu, sigma2=tuple(v.sigma2), G2=v.G2, R2=v.G2, eps2=v.eps2,
        Gamma=v.Gamma, weights=tuple(v.a), tau=v.tau, tau_server=v.tau_server,
        participation=tuple(v.q), initial_distance2=v.I_err, initial_gap=v.F_err,
        initial_distance2_client=v.I_c, initial_distance2_server=v.I_s,
        distance2_client=v.I_c, distance2_server=v.I_s,
    )  # fmt: skip


def evaluated(bound: Bound, v: Values) -> float:
    """Return the library's value, at the drawn rates where the bound has them."""
    given_ = schedules.table(v.rates) if bound.sums_learning_rates else None
    return float(bound.evaluate(constants(v), [v.T], given_)[0])


def test_every_printed_bound_is_typed_here() -> None:
    known = {(theorem(key).key, name) for key, name in PRINTED}
    every = {(item.key, name) for item in theorems() for name in item.cases}
    assert known == every


@pytest.mark.parametrize(("key", "name"), PRINTED)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_the_library_evaluates_what_the_paper_prints(
    key: str, name: str, data: st.DataObject
) -> None:
    v = data.draw(drawn(key, name))
    bound = theorem(key).case(name).bound("printed")
    right = PRINTED[key, name](v)
    assert evaluated(bound, v) == pytest.approx(right, rel=1e-12)
    # each of its terms matters to that
    for term, part in bound.parts.items():
        if (term, v.tau) == ("local steps", 1):
            continue
        other = replace(bound, parts={**bound.parts, term: part * (1 + symbols.S)})
        assert evaluated(other, v) > right * (1 + 1e-9)


@pytest.mark.parametrize(("key", "name"), WITH_RATES)
@given(data=st.data())
@settings(max_examples=8, deadline=None)
def test_the_learning_rates_are_the_printed_ones(
    key: str, name: str, data: st.DataObject
) -> None:
    v = data.draw(drawn(key, name))
    rule = theorem(key).case(name).bound("printed").step_size
    assert rule is not None
    schedule, at = rule.schedule(constants(v)), np.arange(4.0)
    typed = np.array([printed_rates(key, name, v, t) for t in range(4)]).T
    for side, own in zip((schedule.client, schedule.server), typed, strict=True):
        assert np.broadcast_to(side(at), 4) == pytest.approx(own, rel=1e-12)
    assert schedule.per_step == key.startswith(("huang2023", "li2020"))
