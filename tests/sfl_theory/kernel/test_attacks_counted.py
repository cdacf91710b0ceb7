"""SFL-V1 on one counter of iterations: what its terms mean, and attacks on its rules.

The run is coded here a second time, from Algorithm 1 alone, for one outcome of noise.
"""

from __future__ import annotations

import random
from fractions import Fraction as Q

import pytest
from calls import COUNTED, ETA, EVERYONE, G2, RATE, S, d, i, j, m, n, now, t, tau, x
from random_models import turned, vector

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, Sort, ratio
from sfl_theory.kernel.models import Evaluation, Model, NoiseLaw, Shape
from sfl_theory.kernel.moments import Enclosure
from sfl_theory.kernel.terms import Kind, Pace, Side, constant, natural
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, of

ONE, ZERO = ratio(1), ratio(0)
FALLS = k.Rate(ratio(Q(1, 3)) / (k.symbol(k.ROUND) + 2))


def run_of(client: object, server: object, kind: Kind = Kind.COUNTED) -> k.Split:
    stepwise = k.Pace if kind is Kind.COUNTED else k.Stepwise
    both = (stepwise(natural(p), FALLS) for p in (client, server))
    return k.Split(kind, EVERYONE, *both)


class Fed:
    """Three random clients in the plane, one coordinate each side; one is noisy."""

    def __init__(self, seed: int, steps: int, rounds: int) -> None:
        self.rng = rng = random.Random(seed)
        self.H = [turned(rng, Q(rng.randint(-1, 1)), Q(2)) for _ in range(3)]
        self.b = [vector(rng) for _ in range(3)]
        self.a = (Q(1, 2), Q(1, 3), Q(1, 6))
        self.start, self.z = vector(rng), (Q(2), Q(-3))
        zero = (Q(0), Q(0))
        up, down = ((Q(1, 2), tuple(c * e for e in self.z)) for c in (1, -1))
        laws = [NoiseLaw(((Q(1), zero, zero),)) for _ in range(3)]
        laws[1] = NoiseLaw(tuple((p, v, v) for p, v in (up, down)))
        shapes = tuple(map(Shape, self.H, self.b))
        model = Model(1, shapes, self.a, (Q(1),) * 3, tuple(laws), self.start, (),
                      rounds, {}, {}, {}, {}, {}, {})  # fmt: skip
        self.e = Evaluation(model)
        self.e.prepare(steps, False)

    def played(self, periods: tuple[int, int], upto: int, signs: list[int]) -> list:
        """Return all clients' models before every iteration, from Algorithm 1."""
        models, out = [list(self.start) for _ in range(3)], []
        for at in range(upto + 1):
            out.append([tuple(model) for model in models])
            rate = Q(1, 3) / (at + 2)
            for c, model in enumerate(models):
                kick = signs[at] if c == 1 and at < len(signs) else 0
                p = tuple(model)
                for q in (0, 1):
                    slope = sum(self.H[c][q][r] * p[r] for r in (0, 1)) + self.b[c][q]
                    model[q] = p[q] - rate * (slope + kick * self.z[q])
            for q, period in enumerate(periods):
                if (at + 1) % period == 0:
                    mean = sum(a * p[q] for a, p in zip(self.a, models, strict=True))
                    for model in models:
                        model[q] = mean
        return out


@pytest.mark.parametrize("periods", [(1, 1), (2, 3), (3, 2), (1, 4), (4, 1), (5, 5)])
def test_points_and_means_are_those_of_algorithm_1(periods: tuple[int, int]) -> None:
    fed, run = Fed(sum(periods), 1, 9), run_of(*periods)
    for at in range(9):
        there = [fed.e.played(run, at).points[c][0] for c in range(3)]
        means = fed.e.iterate(run, at)
        for place, chosen in enumerate(fed.e._outcomes[::37]):
            signs = [1 - 2 * chosen[fed.e._draws[1, s, 0]] for s in range(8)]
            mine = fed.played(periods, at, signs)[at]
            assert [one[37 * place] for one in there] == mine
            whole = (sum(a * p[q] for a, p in zip(fed.a, mine, strict=True))
                     for q in (0, 1))  # fmt: skip
            assert means[37 * place] == tuple(whole)


@pytest.mark.parametrize("kind", [Kind.V1, Kind.MINIBATCH])
def test_equal_periods_and_a_server_for_all_are_runs_in_rounds(kind: Kind) -> None:
    """The same laws of x: every outcome of one is an outcome of the other."""
    tau_, T = 3, 2
    rounds, counted = Fed(5, tau_, T), Fed(5, 1, tau_ * T)
    old = run_of(tau_, tau_, kind)
    new = run_of(tau_, tau_ if kind is Kind.V1 else 1)
    one, other = rounds.e.iterate(old, T), counted.e.iterate(new, tau_ * T)
    assert sorted(one) == sorted(other)
    assert len(set(one)) > 1


def test_one_step_more_between_means_is_another_run() -> None:
    fed = Fed(5, 1, 4)
    assert fed.e.iterate(run_of(2, 3), 4) != fed.e.iterate(run_of(3, 2), 4)


PACE = Pace(natural(tau), ETA)
STEPS = k.Stepwise(natural(tau), ETA)
there = tau * of(j) + of(i)
ATTACKS = {
    "rates of steps": lambda: k.Split(Kind.COUNTED, EVERYONE, STEPS, PACE),
    "rates of steps, server": lambda: k.Split(Kind.COUNTED, EVERYONE, PACE, STEPS),
    "draws": lambda: k.Split(Kind.COUNTED, k.Participants.UPDATES, PACE, PACE),
    "no period": lambda: run_of(2, 0),
    "a period that may be 0": lambda: run_of(tau, of(d)),
    "a period that becomes 0": lambda: R.instantiate(
        R.counted_update(run_of(tau, of(d) + 1), n, ZERO, ZERO, Side.SERVER, x),
        ((d, ratio(-1)),),
        (),
    ),
    "a round": lambda: derived.local_update(COUNTED, n, now, ZERO, Side.CLIENT, x),
    "noise against the next point": lambda: derived.unbiased(
        COUNTED, n, now, ZERO, k.local_point(COUNTED, m, now + 1, ZERO)
    ),
    "noise against the next mean": lambda: derived.unbiased(
        COUNTED, n, now, ZERO, k.iterate(COUNTED, now + 1)
    ),
    "noise against another's of the iteration": lambda: derived.unbiased(
        COUNTED, n, now, ZERO, k.noise(COUNTED, m, now, ZERO)
    ),
    "noise against another run": lambda: derived.unbiased(
        COUNTED, n, now, ZERO, k.local_point(run_of(2, 3), m, ZERO, ZERO)
    ),
    "one variable for quotient and remainder": lambda: divided(
        combine(target=constant((tau + 1) * of(i))), i, i, constant(of(t))
    ),
    "a period of the quotient": lambda: R.divided(
        combine(target=constant((of(j) + 1) * of(j) + of(i))), j, i, of(j) + 1, t,
        constant(of(t)),
    ),
    "a period of the remainder": lambda: R.divided(
        combine(target=constant((of(i) + 1) * of(j) + of(i))), j, i, of(i) + 1, t,
        constant(of(t)),
    ),
    "half a period": lambda: R.divided(
        combine(target=constant(of(j) / 2 + of(i))), j, i, ratio(Q(1, 2)), t,
        constant(of(t)),
    ),
    "a remainder that is not 0": lambda: R.divided(
        combine(target=constant(tau * of(j) + S)), j, k.Var("S", Sort.POSITIVE), tau, t,
        constant(of(t)),
    ),
}  # fmt: skip


def divided(theorem: R.Theorem, q: k.Var, r: k.Var, claim: k.Lin) -> R.Theorem:
    return R.divided(theorem, q, r, tau, t, claim)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_attack_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        ATTACKS[name]()


def test_a_run_on_one_counter_is_no_recursion_of_rounds() -> None:
    """x(t + 1) is no function of x(t): long models follow rounds only."""
    fed = Fed(1, 1, 1)
    flat = Shape(((Q(1), Q(0)), (Q(0), Q(2))), (Q(0), Q(1)))
    vars(fed.e.model)["functions"] = (flat,) * 3
    Enclosure(fed.e, k.Split(Kind.V1, EVERYONE, *(Pace(natural(2), FALLS),) * 2))
    with pytest.raises(Rejected):
        Enclosure(fed.e, run_of(2, 2))


def test_what_is_so_of_a_remainder_has_to_be_so_of_all() -> None:
    """A condition on i is asked of the last one, a condition on q of all."""
    seen = divided(R.assume(constant(S - there)), j, i, constant(S - of(t)))
    last = h.Holds(constant(S - tau * of(j) - tau + 1))
    assert seen.hypotheses == {h.every(k.NATURALS, j, last)}
    short = R.assume(constant(tau - 1 - of(i)))
    inside = combine((short, 1), target=constant(tau + there))
    assert inside.hypotheses == short.hypotheses
    assert not divided(inside, j, i, constant(tau + of(t))).hypotheses


def test_only_the_one_step_of_an_iteration_is_made() -> None:
    for step, hypothesis in ((ZERO, False), (ONE, True)):
        found = derived.bounded_gradient(COUNTED, G2, n, now, step)
        never = h.Holds(constant(ratio(-1)))
        assert (never in found.hypotheses) is hypothesis
    assert RATE is not ETA  # the sides of COUNTED have rates of their own
