"""Bounded gradients on a box: what is accepted is never left, whoever takes part."""

import random
from bisect import bisect_left
from collections import Counter
from fractions import Fraction as Q

import pytest

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.conditions import holds
from sfl_theory.kernel.models import Evaluation
from sfl_theory.kernel.rules import stochastic
from sfl_theory.kernel.terms import (
    Client,
    Kind,
    Pace,
    Participants,
    Rate,
    Side,
    Split,
    natural,
    norm2,
    part,
)
from sfl_theory.models.federation import (
    coin,
    federation,
    huber,
    plus,
    quadratic,
    still,
)
from sfl_theory.proofs.export import model_of

n = Client("n")


def drawn_case(rng: random.Random):
    """Return a run and a model with a box that its steps may or may not leave."""
    tau = rng.choice([1, 1, 2])
    rates = [Rate(ratio(rng.choice([Q(1, 8), Q(1, 2), Q(1), Q(3, 2)]))) for _ in "cs"]
    kind, (*others, mean) = rng.choice(list(Kind)), Participants
    who = rng.choice([*others, mean] if kind is Kind.MINIBATCH else others)
    who = Participants.EVERYONE if kind is Kind.COUNTED else who
    run = Split(kind, who, *(Pace(natural(tau), rate) for rate in rates))
    functions = [
        quadratic([[rng.choice([Q(1, 2), 1]), 0], [0, 1]], [0, -rng.choice([0, 1])])
        for _ in range(2)
    ]
    flat = rng.random() < 0.4
    noisy = [coin(0, Q(1, 4)), still(2)] if rng.random() < 0.4 else []
    data = federation(
        functions,
        [0 if flat else Q(1, 2), Q(1, 2)],
        weights=rng.choice([[Q(1, 2), Q(1, 2)], [Q(1, 4), Q(3, 4)]]),
        noise=noisy,
        participation=rng.choice([[1, 1], [Q(1, 2), 1], [Q(3, 4), Q(1, 2)]]),
        order=[(c, i) for i in range(tau) for c in (1, 0)] if kind.visits else [],
        rounds=2,
        box=[(0, 0) if flat else (0, 1), (Q(-1, 2), Q(3, 2))],
    )
    return run, tau, data


def least_bound(e: Evaluation, run: Split, side: Side) -> Q:
    """Return the least number of quarters that is taken as a block's bound."""

    def fits(q: int) -> bool:
        return holds(e, h.BoundedBlock(run, ratio(Q(q, 4)), side))

    return Q(bisect_left(range(4 * 9), True, key=fits), 4)


def test_a_box_that_is_accepted_holds_every_point_and_bounds_every_gradient() -> None:
    """Two rounds, every outcome of noise and draws, enumerated exactly."""
    rng, seen = random.Random(7), Counter()
    for _ in range(400):
        run, tau, data = drawn_case(rng)
        e = Evaluation(model_of(data))
        e.prepare(tau, run.drawn)
        accepted = holds(e, h.BoundedGradients(run, ratio(9)))
        seen[accepted, run.drawn] += 1
        if not accepted:
            continue
        sides = Side if rng.random() < 0.1 else ()
        least = {side: least_bound(e, run, side) for side in sides}
        for t in (0, 1):
            for client in (0, 1):
                for step in range(tau):
                    for x in e.played(run, t).points[client][step]:
                        assert all(
                            low <= z <= high
                            for (low, high), z in zip(data.box, x, strict=True)
                        )
                    e.at = {n: client}
                    g = stochastic(run, n, t, step)
                    assert e.form(norm2(g)) <= 9
                    for side in sides:
                        assert e.form(norm2(part(side, g))) <= least[side]
    assert min(seen.values()) >= 20, seen


@pytest.mark.parametrize("tau", [1, 2])
def test_averaged_steps_may_overshoot(tau: int) -> None:
    """One client drawn half of the time: two steps at once, doubled, leave the box."""
    run = Split(
        Kind.V1, Participants.UPDATES, *(Pace(natural(tau), Rate(ratio(Q(1, 2)))),) * 2
    )
    data = federation(
        [quadratic([[1, 0], [0, 1]], [0, 0])],
        [1, 1],
        participation=[Q(1, 2)],
        rounds=1,
        box=[(0, 1), (0, 1)],
    )
    e = Evaluation(model_of(data))
    e.prepare(tau, True)
    assert holds(e, h.BoundedGradients(run, ratio(9))) is (tau == 1)


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_block_needs_no_more_than_its_own_gradient_and_noise(
    everywhere: bool,
) -> None:
    """On a box, or where the gradient is bounded everywhere; 1/16 is the noise."""
    bent = quadratic([[0, 0], [0, 0]], [Q(1, 2), Q(-3, 2)])
    bent = plus(bent, huber([1, -1], 0, Q(1, 2)))
    run = Split(
        Kind.COUNTED,
        Participants.EVERYONE,
        *(Pace(natural(tau), Rate(ratio(Q(1, 8)))) for tau in (2, 3)),
    )
    data = federation(
        [bent if everywhere else quadratic([[1, 0], [0, 2]], [0, 0])],
        [Q(1, 2), Q(1, 2)],
        noise=[coin(0, Q(1, 4))],
        rounds=1,
        box=[] if everywhere else [(-1, 1), (-1, 1)],
    )
    e = Evaluation(model_of(data))
    e.prepare(1, False)
    for one, least in (
        (lambda q: h.BoundedBlock(run, ratio(q), Side.CLIENT), Q(1)),
        (lambda q: h.BoundedBlock(run, ratio(q), Side.SERVER), Q(65, 16)),
        (lambda q: h.BoundedGradients(run, ratio(q)), Q(81, 16)),
    ):
        assert holds(e, one(least))
        assert not holds(e, one(least - Q(1, 1000)))
