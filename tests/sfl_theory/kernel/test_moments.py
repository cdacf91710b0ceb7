"""Long runs: enclosures hold the exact values, and decide only what they separate."""

import random
from dataclasses import replace
from fractions import Fraction as Q
from itertools import product

import pytest

from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.models import Evaluation
from sfl_theory.kernel.moments import UNIT, Enclosure, evaluated
from sfl_theory.kernel.terms import (
    MEAN,
    ROUND,
    Kind,
    Pace,
    Participants,
    Rate,
    Side,
    Split,
    Star,
    constant,
    gradient,
    iterate,
    natural,
    norm2,
    part,
    summed,
    symbol,
    value_of,
    vec,
)
from sfl_theory.models.federation import coin, federation, quadratic, still
from sfl_theory.proofs.export import model_of
from sfl_theory.proofs.notation import nat, of, steps

pytestmark = pytest.mark.fast

BEST = vec(Star(MEAN))


def run(kind: Kind, who: Participants, tau: int) -> Split:
    t = symbol(ROUND)
    client = Pace(natural(tau), Rate(1 / (4 + t)))
    server = Pace(natural(tau), Rate(ratio(Q(1, 3)) / (2 + t)))
    return Split(kind, who, client, server)


def model(rng: random.Random, one: Split, tau: int, rounds: int):
    h = [[rng.choice([1, 2, Q(1, 2)]), 0], [0, rng.choice([1, 3])]]
    other = [[1, 0], [0, 2]]
    b = [rng.randint(-2, 2), rng.randint(-2, 2)]
    order = [(n, i) for i in range(tau) for n in (1, 0)] if one.kind.visits else []
    return federation(
        [quadratic(h, b), quadratic(other, [0, 1])],
        [rng.randint(-2, 2), 1],
        weights=[Q(1, 3), Q(2, 3)],
        noise=[coin(1, rng.randint(-1, 1)), still(2)],
        participation=[Q(1, 2), 1],
        order=order,
        rounds=rounds,
        best={},
    )


def forms(one: Split):
    t = nat("t")
    x, half = iterate(one, 2), part(Side.SERVER, iterate(one, 1))
    each = norm2(gradient(MEAN, iterate(one, of(t)))) * Q(1, 7)
    return [
        value_of(MEAN, x),
        norm2(x),
        norm2(half),
        norm2(part(Side.CLIENT, x * 3)) - constant(Q(1, 3)),
        summed(steps(3), t, each),
    ]


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        (kind, who)
        for kind, who in product(Kind, Participants)
        if kind is not Kind.COUNTED
        and (kind is Kind.MINIBATCH or who is not Participants.MEAN)
    ],
)
@pytest.mark.parametrize("tau", [1, 2])
def test_enclosures_hold_what_is_enumerated(kind, who, tau) -> None:
    """The recursion of moments against all outcomes of two rounds, exactly."""
    one, rng = run(kind, who, tau), random.Random(f"{kind} {who} {tau}")
    data = model(rng, one, tau, 2)
    exact, long = Evaluation(model_of(data)), Evaluation(model_of(data))
    exact.prepare(tau, one.drawn)
    enclosure = Enclosure(long, one)
    for form in forms(one):
        low, high = enclosure.enclosed(form)
        value = exact.form(form)
        assert Q(low, UNIT) <= value <= Q(high, UNIT)
        assert Q(high - low, UNIT) < Q(1, 10**30)


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("slope", [0, 1])
@pytest.mark.parametrize("noise", [0, 1])
@pytest.mark.parametrize("kind", [Kind.V1, Kind.V2])
def test_a_coordinate_that_rests_stays_0(start, slope, noise, kind) -> None:
    """And it rests only from 0, where neither a slope nor noise of mean 0 moves it."""
    one = run(kind, Participants.EVERYONE, 1)
    data = replace(
        model(random.Random(1), one, 1, 2),
        functions=(quadratic([[2, 0], [0, 1]], [slope, 1]),) * 2,
        start=(Q(start), Q(1)),
        noise=(coin(noise, 1), still(2)) if noise else (still(2),) * 2,
    )
    exact, long = Evaluation(model_of(data)), Evaluation(model_of(data))
    exact.prepare(1, one.drawn)
    enclosure = Enclosure(long, one)
    for form in forms(one):
        low, high = enclosure.enclosed(form)
        assert Q(low, UNIT) <= exact.form(form) <= Q(high, UNIT)
        assert Q(high - low, UNIT) < Q(1, 10**30)
    own = enclosure.enclosed(norm2(part(Side.CLIENT, iterate(one, 2))))
    assert (own == (0, 0)) is (not start and not slope and not noise)


def test_what_the_enclosures_do_not_separate_is_not_decided() -> None:
    one = run(Kind.V1, Participants.EVERYONE, 1)
    data = model(random.Random(1), one, 1, 0)

    left = norm2(iterate(one, 40))
    long = model_of(replace(data, long=True))
    with pytest.raises(Rejected, match="overlap"):
        evaluated(long, frozenset(), left, left)
    low, high = evaluated(long, frozenset(), left + constant(1), left)
    assert low > high


def test_bends_and_mixed_coordinates_are_refused() -> None:
    one = run(Kind.V1, Participants.EVERYONE, 1)
    mixed = federation([quadratic([[2, 1], [1, 2]], [0, 0])], [1, 1])
    with pytest.raises(Rejected, match="separable"):
        Enclosure(Evaluation(model_of(mixed)), one)


def test_a_rate_below_0_is_refused() -> None:
    """Polynomials in the rate are enclosed for rates that are not negative."""
    pace = Pace(natural(1), Rate(1 - symbol(ROUND)))
    one = Split(Kind.V1, Participants.EVERYONE, pace, pace)
    long = Enclosure(Evaluation(model_of(model(random.Random(1), one, 1, 0))), one)
    long.enclosed(norm2(iterate(one, 2)))
    with pytest.raises(Rejected, match="negative"):
        long.enclosed(norm2(iterate(one, 3)))
