"""The instances that refute han2024: they break their claims, and only just those."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from sfl_theory import Constants, schedules, theorem
from sfl_theory.audits.han2024 import refuted_lemmas
from sfl_theory.audits.han2024.assumption_clash import CLAIM, bounded_diameter
from sfl_theory.audits.han2024.printed import Setting, printed_rates, right_side
from sfl_theory.audits.han2024.refutations import REFUTATIONS
from sfl_theory.audits.han2024.refuted_conditions import sequential_rate
from sfl_theory.audits.han2024.refuted_general_convex import noise_floor, small_step
from sfl_theory.audits.han2024.refuted_non_convex import (
    biased_stationary_point,
    models_aggregated,
)
from sfl_theory.audits.han2024.refuted_strongly_convex import (
    swapped_step_sizes,
    unweighted_server,
)
from sfl_theory.evidence.certificate import Fact, Rejected, check
from sfl_theory.evidence.claim import Refutation
from sfl_theory.evidence.instance import replay
from sfl_theory.evidence.ledger import decide
from sfl_train.algorithms.sfl_v1 import SFLV1
from sfl_train.algorithms.sfl_v2 import SFLV2
from sfl_train.engine import Trainer
from sfl_train.federation import Federation
from sfl_train.problems.quadratic import Quadratic

EACH = [
    pytest.param(instance, id=f"{claim}#{k}")
    for claim, instances in REFUTATIONS.items()
    for k, instance in enumerate(instances)
]


@pytest.mark.parametrize("instance", EACH)
def test_every_instance_breaks_its_claim(instance):
    assert decide("any", Refutation(instance, "words")).status == "refuted"


@pytest.mark.parametrize("instance", EACH)
def test_a_failed_assumption_is_rejected(instance):
    finding = instance()
    first, *rest = finding.checks
    with pytest.raises(Rejected, match="breaks"):
        replay(replace(finding, checks=(replace(first, passed=False), *rest)))


@pytest.mark.parametrize(
    "instance",
    [
        partial(swapped_step_sizes, "3.6", 64, 300),
        partial(swapped_step_sizes, "3.6", 1, 400),
        partial(unweighted_server, "3.7", (Fraction(1), Fraction(0)), 2600),
        partial(unweighted_server, "3.7", (Fraction(1, 2), Fraction(1, 2)), 3000),
        partial(
            unweighted_server, "3.9", (Fraction(1), Fraction(0)), 3200, Fraction(1, 2)
        ),
        partial(small_step, "3.7", 150),
        partial(noise_floor, "3.6", 2200),
        partial(
            biased_stationary_point,
            "3.7",
            (Fraction(1), Fraction(0)),
            Fraction(1, 31),
            520,
        ),
        partial(
            biased_stationary_point,
            "3.7",
            (Fraction(1), Fraction(0)),
            Fraction(1, 450),
            400,
        ),
    ],
)
def test_too_early_too_long_steps_or_equal_weights_refute_nothing(instance):
    with pytest.raises(Rejected):
        replay(instance())


@pytest.mark.parametrize("number", ["3.6", "3.7", "3.8", "3.9"])
@pytest.mark.parametrize("case", ["strongly_convex", "general_convex", "non_convex"])
def test_exact_right_side_is_the_bound_of_the_toolkit(number, case):
    setting = Setting(
        weights=(Fraction(1, 4), Fraction(3, 4)),
        S=Fraction(3),
        mu=Fraction(1, 2),
        G2=Fraction(5),
        I_err=Fraction(2),
        F_err=Fraction(7),
        epsilon2=Fraction(11),
        sigma=Fraction(3, 2),
        q=Fraction(2, 3),
        tau=3,
        tau_server=3 if number in {"3.7", "3.9"} else 2,
    )
    constants = Constants(
        S=3.0,
        mu=0.5,
        G2=5.0,
        initial_distance2=2.0,
        initial_gap=7.0,
        eps2=11.0,
        sigma2=(2.25, 2.25),
        weights=(0.25, 0.75),
        participation=(2 / 3, 2 / 3),
        tau=3,
        tau_server=setting.tau_server,
    )
    schedule = schedules.constant(0.001)
    bound = theorem(number).case(case).bound("printed")
    (expected,) = bound.evaluate(constants, [40], schedule)
    found = right_side(number, case, setting, 40, Fraction(1, 1000))
    assert float(found.low) == pytest.approx(expected, rel=1e-12)
    assert float(found.high - found.low) < 1e-30


def test_lemma_c7_is_the_enumeration_of_its_samples():
    finding = refuted_lemmas.lemma_c7_curved()
    eta, tau, total = Fraction(1, 40), 10, Fraction(0)
    for signs in product((-1, 1), repeat=tau):
        x, first = Fraction(0), None
        for xi in signs:
            g = x + xi
            first = g if first is None else first
            total += (g - first) ** 2
            x -= eta * g
    assert finding.left.low == total / 2**tau


def test_sequential_rate_is_undefined_for_eight_clients():
    with pytest.raises(ZeroDivisionError):
        sequential_rate(8)


def test_bounded_diameter_is_proved_and_its_mutants_are_not():
    certificate = bounded_diameter()
    assert check(certificate, CLAIM).unused == ()
    uses = certificate.uses
    flipped = Fact("flipped", -uses[0][0].expr, uses[0][0].hypothesis)
    for mutant in (
        replace(certificate, right=certificate.right / 2),
        replace(certificate, uses=uses[1:]),
        replace(certificate, uses=((flipped, uses[0][1]), *uses[1:])),
        replace(certificate, hypotheses=certificate.hypotheses[:1]),
    ):
        with pytest.raises(Rejected):
            check(mutant, CLAIM)


def rates(number, setting):
    client, server = printed_rates(number, setting)

    class Printed:
        per_step = False

        def client(self, t):
            return float(client(t))

        def server(self, t):
            return float(server(t))

    return Printed()


def trained(problem, weights, algorithm, learning_rate, rounds, seeds):
    """Return the server coordinate after every round, shape (rounds + 1, R)."""
    federation = Federation(problem, weights=weights, seeds=seeds)
    run = Trainer(federation, algorithm, learning_rate).rounds(rounds)
    return np.stack([x.numpy()[1].copy() for _, x in run])


def test_the_trainer_gives_the_left_side_of_3_6():
    setting = Setting((Fraction(1),), tau=64)
    problem = Quadratic(np.eye(2)[None], np.zeros((1, 2)), [0.0, 1.0], 1)
    x = trained(problem, [1.0], SFLV1(64, 1, 1), rates("3.6", setting), 350, seeds=(0,))
    found = swapped_step_sizes("3.6", 64, 350)
    assert x[-1, 0] ** 2 / 2 == pytest.approx(float(found.left.low), rel=1e-10)


def test_the_trainer_gives_the_left_side_of_3_7():
    weights = (Fraction(3, 4), Fraction(1, 4))
    problem = Quadratic(
        np.stack([np.eye(2)] * 2), [[0.0, 0.0], [0.0, 1.0]], [0.0, 0.5], 1
    )
    x = trained(
        problem,
        [0.75, 0.25],
        SFLV2(1, 1),
        rates("3.7", Setting(weights)),
        30,
        seeds=range(400),
    )
    found = unweighted_server("3.7", weights, 30)
    gaps = (x[-1] - 0.25) ** 2 / 2
    error = gaps.std() / np.sqrt(gaps.size)
    assert abs(gaps.mean() - float(found.left.low)) < 5 * error


def test_models_aggregated_follow_every_outcome_of_participation() -> None:
    """The left side of (19) under (3), enumerated over all 2^5 participations."""
    eta, total = Fraction(1, 16), Fraction(0)
    for outcomes in product((0, 1), repeat=5):
        x, run = Fraction(1), Fraction(0)
        for present in (*outcomes, 0):
            run += eta * x**2
            x = 2 * x * (1 - eta) if present else Fraction(0)
        total += run / 6 / 2**5
    found = models_aggregated()
    assert found.left.low <= total <= found.left.high
    assert total > found.right.high
