"""Visits prepared by sides are the visits of the plain loops, one after the other."""

import pytest
import reference
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import (
    assert_close,
    federations,
    rates,
    samples,
    shipped,
    small_linear_model,
    train,
)

from sfl_train.algorithms import SFLV2, sfl_v2, visits
from sfl_train.engine import ConstantRate
from sfl_train.federation import Federation
from sfl_train.optimizer import SGD, Adam
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Sampling


@st.composite
def halved(draw):
    """A problem whose server side can be the last linear map, and such a cut."""
    sizes = draw(st.lists(st.sampled_from([1, 3, 5, 50]), min_size=1, max_size=4))
    l2, seed = draw(st.sampled_from([0.1, 0.5])), draw(st.integers(0, 99))
    if draw(st.booleans()):
        loss = draw(st.sampled_from(["softmax", "logistic", "squared"]))
        problem = small_linear_model(loss, l2, sizes, seed)
        cut = problem.outputs * draw(st.integers(1, problem.features - 1))
    else:
        data, parts = samples(3, sizes, seed)
        hidden = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
        activation = draw(st.sampled_from(["tanh", "softplus"]))
        l2 = draw(st.sampled_from([0.0, l2]))
        problem = Network(data, parts, hidden, activation, l2, seed)
        cut = problem.blocks[-1].start
    return problem, cut


@pytest.mark.parametrize("count", [40, pytest.param(120, marks=pytest.mark.long)])
def test_visits_by_sides_equal_plain_loops(count):
    """All models and the farthest distance agree to 1e-12, whatever is prepared."""
    settings(max_examples=count, deadline=None)(given(st.data())(visits_agree))()


def visits_agree(data):
    problem, cut = data.draw(halved())
    federation = data.draw(federations(problem))
    order = data.draw(st.sampled_from(["interleaved", "client-sequential"]))
    rule = data.draw(st.sampled_from(["updates", "models"]))
    algorithm = SFLV2(data.draw(st.integers(1, 4)), cut, order, aggregation=rule)
    rate, budget = data.draw(rates()), data.draw(st.sampled_from([1, 3000, 2**21]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visits, "_CACHED_BYTES", budget)
        patch.setattr(sfl_v2, "OneByOne", None)
        path, trainer = train(federation, algorithm, rate, 3, track_ball=True)
    expected, farthest = reference.train(federation, algorithm, rate, 3)
    assert_close(path, expected)
    assert_close(trainer.farthest, farthest)


@pytest.mark.parametrize("participation", [1.0, [1.0, 0.5, 0.3]])
@pytest.mark.parametrize("server", [None, 0.2])
@pytest.mark.parametrize("order", ["interleaved", "client-sequential"])
@pytest.mark.parametrize("loss", ["softmax", "logistic", "squared"])
def test_linear_models_are_stepped_on_both_sides(loss, order, server, participation):
    """One map for both sides takes each side's rate, decay and 1 / q."""
    problem = small_linear_model(loss, 0.5, [3, 5, 4], 1)
    federation = Federation(
        problem, participation=participation, sampling=Sampling(2), seeds=[0, 1, 2]
    )
    algorithm = SFLV2(3, 2 * problem.outputs, order)
    rate = ConstantRate(0.05, server)
    path, trainer = train(federation, algorithm, rate, 3, track_ball=True)
    expected, farthest = reference.train(federation, algorithm, rate, 3)
    assert_close(path, expected)
    assert_close(trainer.farthest, farthest)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_continuing_visits_by_sides_changes_no_bit(data):
    """Nothing of a round is left behind for the next one."""
    problem, cut = data.draw(halved())
    federation = data.draw(federations(problem))
    order = data.draw(st.sampled_from(["interleaved", "client-sequential"]))
    path, trainer = train(federation, SFLV2(2, cut, order), rounds=4)
    rest = [x for _, x in trainer.rounds(4, start=2, x=path[2])]
    assert torch.equal(torch.stack(rest), path[2:])


@settings(max_examples=40, deadline=None)
@given(shipped(), st.data())
def test_what_has_no_such_sides_is_visited_one_by_one(problem, data):
    """A cut through a feature, momentum, Adam: a joint gradient each."""
    cut = data.draw(st.integers(1, problem.dimension - 1))
    halves = problem.halves(cut) if hasattr(problem, "halves") else None
    expected = visits.OneByOne if halves is None else visits.BySides
    federation, x = Federation(problem), problem.start(1)
    assert isinstance(SFLV2(1, cut).begin(federation, x)._visitor, expected)
    for optimizer in (SGD(momentum=0.5), SGD(weight_decay=0.1), Adam()):
        for options in ({"optimizer": optimizer}, {"server_optimizer": optimizer}):
            run = SFLV2(1, cut, **options).begin(federation, x)
            assert isinstance(run._visitor, visits.OneByOne)


def test_trained_models_are_ordinary_tensors():
    """What comes out may be differentiated: nothing of inference mode leaks."""
    data, parts = samples(3, [4, 5], 0)
    problem = Network(data, parts, [3])
    path = [
        x
        for _, x in train(
            Federation(problem, sampling=Sampling(2)),
            SFLV2(2, problem.blocks[-1].start),
        )[1].rounds(2)
    ]
    x = path[-1].requires_grad_()
    problem.loss(x.expand(2, *x.shape)).sum().backward()
    assert x.grad.isfinite().all()
