"""Protects learning rates: the run steps with the rates that its schedule says."""

from __future__ import annotations

import pytest
import torch
from federations import Toy, same, trained

from sfl_theory import Constants, theorem
from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import Rates
from sfl_train.deep.algorithms.sequential import InterleavedSFLV2, SequentialSFLV2
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import resolve
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.schedule import LearningRates


def rates(**more) -> LearningRates:
    return LearningRates(resolve("paper", {"lr": 0.2, "rounds": 10, **more}))


def test_step_and_cosine() -> None:
    step = rates(schedule="step:3:0.5")
    assert [step(t).client for t in (0, 2, 3, 6)] == [0.2, 0.2, 0.1, 0.05]
    cosine = rates(schedule="cosine", lr_server=0.4)
    assert cosine(0).client == 0.2
    assert cosine(5).server == pytest.approx(0.2)
    assert cosine(9).client < 0.01


def test_a_theorems_own_rates() -> None:
    """With tau and tau_server swapped, as printed in Theorem 3.6."""
    schedule = rates(
        schedule="theorem:3.6/strongly_convex:S=8,mu=2", tau=3, tau_server=6
    )
    known = Constants(S=8.0, mu=2.0, tau=3, tau_server=6)
    rule = theorem("3.6").case("strongly_convex").printed.step_size.schedule(known)
    for t in (0, 7):
        assert schedule(t).client == pytest.approx(float(rule.client(t)))
        assert schedule(t).server == pytest.approx(float(rule.server(t)))


def test_huang2023_counts_local_steps() -> None:
    text = "theorem:huang2023/thm-1/strongly_convex:S=8,mu=2"
    item = theorem("huang2023/thm-1")
    case = next(iter(item.cases))
    schedule = rates(schedule=text.replace("strongly_convex", case), tau=4)
    known = Constants(S=8.0, mu=2.0, tau=4, tau_server=4)
    rule = item.case(case).printed.step_size.schedule(known)
    assert rule.per_step
    for t in (0, 3):
        for i in range(4):
            assert schedule(t).client_at(i) == pytest.approx(
                float(rule.client(4 * t + i))
            )
    with pytest.raises(ValueError, match="counts local steps"):
        rates(schedule=text.replace("strongly_convex", case), epochs=1)


@pytest.mark.parametrize("number", ["3.8", "3.9"])
def test_a_theorems_rates_are_those_of_the_runs_own_weights(number) -> None:
    """The printed conditions hold the sum of a_n^2, least for equal clients."""
    text = f"theorem:{number}/non_convex:S=8"
    config = resolve("paper", {"schedule": text, "tau": 3, "partition": "dirichlet:0.1",
                               "participation": 0.5, "model": "mlp"})  # fmt: skip
    made = assemble(config)
    a = made.federation.weights.tolist()
    rule = theorem(number).case("non_convex").printed.step_size
    known = Constants(S=8.0, tau=3, tau_server=3, weights=a, participation=[0.5] * 10)
    assert made.rates(0).client == float(rule.schedule(known).client(0))
    equal = known.with_values(weights=[0.1] * 10)
    assert made.rates(0).client < 0.99 * float(rule.schedule(equal).client(0))


@pytest.mark.parametrize("kind", [FedAvg, SFLV1, SequentialSFLV2, InterleavedSFLV2])
def test_a_rate_of_zero_from_the_second_step_on_makes_one_step(kind) -> None:
    cut = () if kind is FedAvg else (2,)
    # Without BatchNorm, whose statistics go on whatever the rate.
    two = Toy(norm="group", work=LocalWork(tau=2, epochs=None, batch_size=6))
    one = Toy(norm="group", work=LocalWork(tau=1, epochs=None, batch_size=6))
    stopped = Rates(0.1, 0.1, ((0.1, 0.1), (0.0, 0.0)))
    a = trained(kind(two.worker(), two.federation(), *cut), 1, stopped)
    b = trained(kind(one.worker(), one.federation(), *cut), 1, Rates(0.1, 0.1))
    torch.testing.assert_close(a.parameters, b.parameters, rtol=1e-5, atol=1e-7)
    constant = Rates(0.1, 0.1, ((0.1, 0.1),))
    c = trained(kind(two.worker(), two.federation(), *cut), 1, constant)
    d = trained(kind(two.worker(), two.federation(), *cut), 1, Rates(0.1, 0.1))
    assert same(c, d)


@pytest.mark.parametrize(
    "text",
    [
        "linear",
        "step:0:0.5",
        "step:3:2",
        "constant:1",
        "theorem:3.6",
        "theorem:9.9/non_convex",
        "theorem:3.6/strongly_convex:S=1,mu",
        "theorem:3.6/strongly_convex:S=__import__('os')",
        "theorem:3.6/strongly_convex:S=1e-310,mu=1e-310",
    ],
)
def test_unreadable_schedules_are_refused(text) -> None:
    with pytest.raises(ValueError, match="--schedule: cannot read"):
        rates(schedule=text)
