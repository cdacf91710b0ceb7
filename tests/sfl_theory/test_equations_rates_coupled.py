"""han2024, App. D-G: unequal periods in (73), (136); who takes part in (168), (171).

Every instance is run again by a simulation written out here (the trainer's runs are in
``by_trainer_han2024.py``); what is proved is searched for violations with noise chosen
against it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sfl_theory.audits.han2024.equations import rates_coupling as coupling
from sfl_theory.audits.han2024.equations import rates_middle_run as run
from sfl_theory.audits.han2024.equations import rates_participation as participation
from sfl_theory.audits.han2024.equations import rates_refuted_middle as middle
from sfl_theory.audits.han2024.equations import (
    rates_refuted_participation as turned,
)
from sfl_theory.evidence.certificate import Rejected, check
from sfl_theory.evidence.instance import replay

# (73), (136): the term between


def slopes(x, L, sign):
    """Gradient of L/2 (c+s+-w)^2 + ||x||^2/2 +- w in c, w, s."""
    shared = L * (x[0] + x[2] + sign * x[1])
    return shared + x[0], sign * (shared + 1) + x[1], shared + x[2]


def unequal_periods(number, L: int, tau: int, start: int, rounds: int, mean=False):
    """SFL-V1 step by step; yields x^t, largest L|c+s+-w| and largest ||x_n||^2.

    With ``mean`` the server rests at the mean of its models, else each where it is.
    """
    x, steepest, farthest = [number(0)] * 3, number(0), number(0)
    for t in range(rounds + 1):
        farthest = max(farthest, sum(v * v for v in x))
        yield x, steepest, farthest
        rate, signs = number(4) / number(start + t), (number(1), number(-1))
        own = [list(x), list(x)]
        for i in range(tau):
            for client, sign in zip(own, signs, strict=True):
                clipped = L * (client[0] + client[2] + sign * client[1])
                steepest = max(steepest, abs(clipped))
                g = slopes(client, L, sign)
                client[0] -= rate / number(tau) * g[0]
                client[1] -= rate / number(tau) * g[1]
                if i == 0:
                    client[2] -= rate * g[2]
                farthest = max(farthest, sum(v * v for v in client))
            if mean and i == 0:
                own[0][2] = own[1][2] = (own[0][2] + own[1][2]) / number(2)
        x = [(p + q) / number(2) for p, q in zip(*own, strict=True)]


@pytest.mark.long
@pytest.mark.parametrize("mean", [False, True], ids=["own model", "mean"])
def test_unequal_periods_as_simulated(mean: bool) -> None:
    """Both sides in floats, the bound typed again, both ways for a server to rest."""
    S, rounds = 22501, 97500
    *_, last = unequal_periods(float, 7500, 16, 8 * S - 1, rounds, mean)
    x, steepest, farthest = last
    left = S / 2 * sum(v * v for v in x)
    assert 0.13 < steepest < 0.136
    assert 0.034 < farthest**0.5 < 0.036
    G2 = 1.189**2
    assert G2 > ((2 * 0.136**2 + 1.136**2) ** 0.5 + 0.036) ** 2
    for letter, first in {"D": 8, "F": 16}.items():
        found = middle.middle(letter, middle.INSTANCES[0])
        assert float(found.left.low) < left < float(found.left.high) < 1.01 * left
        right = (first * S + 768 * S**2 / (8 * S)) * G2 / (8 * S - 1 + rounds)
        assert float(found.right.high) == pytest.approx(right)
        assert left > 1.1 * right


def test_enclosures_hold_the_exact_iterates() -> None:
    """Rational arithmetic over a few rounds, in blocks of one round and of more."""
    unit = Fraction(1, run.UNIT)
    for start in (500, 4 * run.FINE):
        enclosure = run.Run(20, 3, start)
        for t, last in enumerate(unequal_periods(Fraction, 20, 3, start, 11)):
            x, steepest, farthest = last
            if t not in {0, 1, 4, 11}:
                continue
            square = enclosure.to(t)
            ends = enclosure.p, enclosure.d
            for v, (low, high) in zip((x[0] + x[2], x[2] - x[0]), ends, strict=True):
                assert low * unit <= v <= high * unit
            assert square.low <= sum(v * v for v in x) <= square.high
            assert steepest <= enclosure.reached.slope
            assert farthest <= enclosure.reached.square
        assert float(enclosure.reached.slope) < 1.5 * float(steepest)


def test_left_side_grows_with_the_condition_number() -> None:
    """Twice S and twice T: twice the left side, the same right side."""
    twice = replace(middle.INSTANCES[0], L=15000, start=8 * 45001 - 1, rounds=195000)
    small, large = middle.middle("D", middle.INSTANCES[0]), middle.middle("D", twice)
    assert float(large.left.low) == pytest.approx(2 * float(small.left.low), rel=0.01)
    assert float(large.right.low) == pytest.approx(float(small.right.low), rel=0.01)


@pytest.mark.parametrize("instance", middle.INSTANCES[1:])
def test_gradients_on_the_ball(instance) -> None:
    """G^2 holds on the whole ball, where L |u| is far beyond the clip; nearly tight."""
    rng, a, G2 = np.random.default_rng(0), float(instance.clip), float(instance.G) ** 2
    x = rng.normal(size=(3, 20000))
    x *= float(instance.radius) / np.linalg.norm(x, axis=0)
    c, w, s = x * rng.uniform(size=20000) ** 0.3
    for sign in (1, -1):
        steep = np.clip(instance.L * (c + s + sign * w), -a, a)
        g2 = (steep + c) ** 2 + (sign * (steep + 1) + w) ** 2 + (steep + s) ** 2
        assert 0.97 * G2 < g2.max() <= G2


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"clip": Fraction("0.134")}, "phi is not clipped"),
        ({"radius": Fraction("0.034")}, "it holds every iterate"),
        ({"G": Fraction("1.187")}, r"\(sqrt\(2"),
        ({"start": 8 * 22501 - 1}, "rate of the client side at most"),
        ({"condition": "longer period"}, "rate of the server side at most"),
        ({"condition": "none"}, "the printed rate"),
        ({"rounds": 40000}, "no violation"),
        ({"L": 5000, "start": 8 * 15001}, "no violation"),
    ],
)
def test_other_numbers_are_rejected(change, broken: str) -> None:
    with pytest.raises(Rejected, match=broken):
        replay(middle.middle("F", replace(middle.STEEP, **change)))


def test_boxes_that_cannot_be_shown_are_rejected() -> None:
    far = run.Run(20, 3, 4 * run.FINE, d=(-5 * run.UNIT, -5 * run.UNIT))
    with pytest.raises(Rejected, match="changes its sign"):
        far.to(1)
    with pytest.raises(Rejected, match="grows"):
        run.Run(2000, 3, 1000).to(1)


# (171): gradients turned by those who take part


def cut_off(u):
    return min(1.0, max(-1.0, u))


def visits(order, movers: int, present, q, a) -> np.ndarray:
    """One round of SFL-V2 from 0, tau = 1, eta = 1/2; returns (x_c, x_s)."""
    up = s = 0.0
    for n in order:
        if not present[n]:
            continue
        if n < movers:
            g = 0.0, 26 * cut_off((s - 10000) / 26)
        else:
            turn = cut_off(5 * s / 602 - 1)
            g = 24 * turn, 5 * turn + 5 * cut_off((s + 3010) / 3010)
        up += a[n] / q[n] * g[0]
        s -= g[1] / (2 * q[n])
    return np.array([-up / 2, s])


@pytest.mark.parametrize(
    ("movers", "q", "weight"), [(90, 1e-4, 1e-5), (200, 1e-3, 1e-5)]
)
def test_turned_gradients_as_simulated(movers: int, q: float, weight: float) -> None:
    """Random orders and participants: the mean is within the sides given."""
    rng = np.random.default_rng(0)
    chance = np.repeat([q, 1.0], movers)
    a = np.repeat([weight, (1 - movers * weight) / movers], movers)
    everyone = np.ones(2 * movers)
    squares = []
    for _ in range(400):
        order = rng.permutation(2 * movers)
        some = visits(order, movers, rng.random(2 * movers) < chance, chance, a)
        full = visits(order, movers, everyone, everyone, a)
        squares.append((full - some)[0] ** 2)
    found = turned.turned_gradients(
        movers, Fraction(q).limit_denominator(10**6), Fraction(1, 10**5)
    )
    mean, error = np.mean(squares), np.std(squares) / 20
    right = 2 * movers / 4 * 26**2 * float((a**2 / chance).sum())
    assert float(found.left.low) <= mean + 4 * error
    assert mean <= float(found.left.high)
    assert mean - 4 * error > right
    assert float(found.right.high) == pytest.approx(right)


def test_turn_is_a_lower_bound_over_all_orders() -> None:
    """Four movers, three watchers: every order."""
    a, q, totals = np.full(7, 1 / 3), np.ones(7), []
    for where in product((0, 1), repeat=7):
        if sum(where) != 3:
            continue
        rows = iter(range(4)), iter(range(4, 7))
        order = [next(rows[kind]) for kind in where]
        totals.append(float(1 - visits(order, 4, q, q, a)[0] / 12))
    exact = float(np.mean(totals))  # mean of [v] + 1 over orders and watchers
    bound = float(turned.mean_turn(4, 3))
    assert 0.6 * exact <= bound <= exact + 1e-12


@pytest.mark.parametrize(
    "finding",
    [
        lambda: turned.turned_gradients(50, Fraction(1, 10**4), Fraction(1, 10**5)),
        lambda: turned.turned_gradients(90, Fraction(1, 50), Fraction(1, 10**5)),
    ],
    ids=["few clients", "movers often there"],
)
def test_weaker_instances_refute_nothing(finding) -> None:
    with pytest.raises(Rejected, match="no violation"):
        replay(finding())


def test_movers_beyond_their_minimiser_are_refused(monkeypatch) -> None:
    monkeypatch.setattr(turned, "MOVED", 1000)
    found = turned.turned_gradients(90, Fraction(1, 10**4), Fraction(1, 10**5))
    with pytest.raises(Rejected, match="movers at the slope"):
        replay(found)


# (168): proved


@pytest.mark.parametrize("seed", range(60))
def test_no_violation_of_168(seed: int) -> None:
    """All participants and signs; the noise turns round where the runs differ."""
    rng = np.random.default_rng(seed)
    count, tau = [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (2, 2), (4, 1)][seed % 7]
    roots = rng.normal(size=(count, 2, 2)) * rng.choice([0, 1], size=(count, 1, 1))
    A, b = roots @ roots.transpose(0, 2, 1), rng.normal(size=(count, 2))
    b *= rng.choice([0.0, 1.0, 3.0])
    q = rng.uniform(0.1, 0.999, size=count) ** rng.choice([1.0, 0.1])
    noise, x = rng.normal(size=(count, 2)) * rng.choice([1.0, 4.0]), rng.normal(size=2)
    S = max(float(np.linalg.eigvalsh(A).max()), 1e-3)
    eta = rng.uniform(0.3, 1) * 2 / S
    visits = [n for _ in range(tau) for n in rng.permutation(count)]
    largest = 0.0

    def gradient(n, state, client) -> np.ndarray:
        nonlocal largest
        g = A[n] @ np.array([client[n], state]) - b[n]
        largest = max(largest, float(g @ g + noise[n] @ noise[n]))
        return g

    def distance2(who, signs) -> float:
        """Return the squared distance of the two server models."""
        models, clients = [x[1], x[1]], [np.full(count, x[0]) for _ in range(2)]
        for n, sign in zip(visits, signs, strict=True):
            together = models[0] == models[1] and clients[0][n] == clients[1][n]
            turn = 1 if together else -1
            g = gradient(n, models[0], clients[0]) + sign * noise[n]
            other = gradient(n, models[1], clients[1]) + turn * sign * noise[n]
            models[0] -= eta * g[1]
            clients[0][n] -= eta * g[0]
            if who[n]:
                models[1] -= eta / q[n] * other[1]
                clients[1][n] -= eta * other[0]
        return float((models[0] - models[1]) ** 2)

    left = 0.0
    for who in product((0, 1), repeat=count):
        chance = float(np.prod(np.where(who, q, 1 - q)))
        for signs in product((-1, 1), repeat=len(visits)):
            left += chance * distance2(who, signs) / 2 ** len(visits)
    right = count * tau**2 * eta**2 * largest * float((1 / q).sum())
    assert left <= right * (1 + 1e-9)


def test_two_visits_are_tight() -> None:
    """Pure noise turned at the second visit: 2/q + 2 against 4/q, equal as q -> 1."""
    q = 0.999
    first, second = (1 - q) / q, q * (1 / q + 1) ** 2 + (1 - q)
    assert first + second == pytest.approx(2 / q + 2)
    assert 0.999 * 4 / q < first + second < 4 / q


def bent() -> dict[str, object]:
    p, c = participation, coupling
    one, rare, often = c.any_visit("x"), c.rare_visit("x"), c.frequent_visit("x")
    base, step, last = p.two_visits("x"), p.later_visit("x"), p.all_visits("x")
    third = p.third_visit("x", rare=True)
    early = {**step.domain.values, p.v: step.domain.values[p.v] - 1}
    wide = {**rare.domain.values, c.kappa: rare.domain.values[c.kappa] - Fraction(1, 4)}
    return {
        "less noise": replace(one, right=one.right - c.UNIT),
        "noise where q is large": replace(often, right=often.right - c.UNIT),
        "q above 2/3 as below": replace(rare, domain=replace(rare.domain, values=wide)),
        "q below 2/3 as above": replace(often, domain=replace(often.domain, given=())),
        "no gradient with the noise": replace(
            third, right=third.right - c.UNIT, uses=third.uses
        ),
        "base without the first visit": replace(base, uses=base.uses[:1]),
        "general step at v = 2": replace(
            step, domain=replace(step.domain, values=early)
        ),
        "no induction": replace(last, uses=(last.uses[0], last.uses[2])),
        "N^2 tau^2 halved": replace(last, right=last.right / 2),
        "expansive steps": replace(
            c.nonexpansive("x"), left=c.nonexpansive("x").left * 2
        ),
    }


@pytest.mark.parametrize("name", bent())
def test_bent_certificates_are_rejected(name: str) -> None:
    with pytest.raises(Rejected):
        check(bent()[name], "x")
