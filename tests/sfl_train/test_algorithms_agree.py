"""The batched algorithms compute what the plain loops of `reference` compute."""

import pytest
import reference
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import (
    algorithms,
    assert_close,
    federations,
    problems,
    rates,
    shipped,
    small_linear_model,
    train,
)

from sfl_train.algorithms import SFLV1, FedAvg
from sfl_train.algorithms.local import Descending
from sfl_train.federation import Federation
from sfl_train.optimizer import SGD
from sfl_train.problems.problem import Sampling


@pytest.mark.parametrize("count", [40, pytest.param(150, marks=pytest.mark.long)])
def test_batched_equals_plain_loops(count):
    """All models and the farthest distance agree to 1e-12, whatever the options."""

    @settings(max_examples=count, deadline=None)
    @given(st.data())
    def agree(data):
        check(data, data.draw(problems()))

    agree()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_batched_equals_plain_loops_on_the_real_problems(data):
    """The same for the problems that ship, large clients with small batches too."""
    check(data, data.draw(shipped()))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_fused_step_is_the_gradient_step(data):
    """`descend` of a problem that has it is x - eta times its `gradient`."""
    problem = data.draw(shipped().filter(lambda p: isinstance(p, Descending)))
    federation = data.draw(federations(problem))
    x = torch.tensor(problem.x0).view(1, -1, 1).repeat(problem.clients, 1, 2)
    x += torch.linspace(-1, 1, x.numel(), dtype=torch.float64).view(x.shape)
    for draw in federation.draws(0, 2):
        two = None if draw is None else draw[..., :1].repeat(1, 1, 2)
        expected = x - 0.1 * problem.gradient(x, two)
        problem.descend(x, two, 0.1)
        assert_close(x, expected)


def test_plain_steps_of_everyone_are_fused(monkeypatch):
    """FedAvg and SFL-V1 with tau = tau_server then never ask for a gradient."""
    problem = small_linear_model("softmax", 0.1, [4, 7], 0)
    federation = Federation(problem, sampling=Sampling(2))
    expected, _ = train(federation, SFLV1(2, 2, 3, optimizer=SGD(weight_decay=1e-300)))
    monkeypatch.setattr(problem, "gradient", None)
    for algorithm in (FedAvg(2), SFLV1(2, 2, 3)):
        assert_close(train(federation, algorithm)[0], expected)


def check(data, problem):
    federation = data.draw(federations(problem))
    algorithm = data.draw(algorithms(problem.dimension))
    rate = data.draw(rates().filter(lambda rate: fits(rate, algorithm)))
    path, trainer = train(federation, algorithm, rate, 3, track_ball=True)
    expected, farthest = reference.train(federation, algorithm, rate, 3)
    assert_close(path, expected)
    assert_close(trainer.farthest, farthest)


def fits(rate, algorithm):
    return hasattr(algorithm, "cut") or rate.client(0) == rate.server(0)
