"""The fused joint gradient is the split computation with its two messages."""

import numpy as np
import torch
import two_message
from hypothesis import given, settings
from hypothesis import strategies as st
from toys import assert_close, participations, train, weights

from sfl_train.algorithms import SFLV1, SFLV2, FedAvg
from sfl_train.data.bundled import Dataset
from sfl_train.engine import ConstantRate
from sfl_train.federation import Federation
from sfl_train.optimizer import SGD, Adam
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Sampling

ETA, ROUNDS = 0.1, 2
some = settings(max_examples=20, deadline=None)


@st.composite
def cases(draw):
    """A network, clients of unequal size, and who takes part."""
    N, random = draw(st.integers(1, 3)), np.random.default_rng(draw(st.integers(0, 99)))
    sizes = [draw(st.integers(2, 6)) for _ in range(N)]
    X = random.normal(size=(sum(sizes), 3))
    y = random.integers(3, size=sum(sizes))
    data = Dataset("random", X, y, 3, None, "none")
    parts = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    hidden = [draw(st.integers(1, 4)) for _ in range(draw(st.integers(1, 3)))]
    problem = Network(data, parts, hidden, draw(st.sampled_from(["tanh", "softplus"])))
    federation = Federation(
        problem,
        draw(weights(N)),
        draw(participations(N)),
        Sampling(draw(st.sampled_from([None, 2]))),
        (draw(st.integers(0, 999)),),
    )
    samples = [(torch.tensor(X[p]), torch.tensor(y[p])) for p in parts]
    return federation, samples


optimizers = st.sampled_from([
    SGD(),
    SGD(momentum=0.9, weight_decay=0.1),
    Adam(eps=0.05),
])


def last(federation, algorithm):
    return train(federation, algorithm, ConstantRate(ETA), ROUNDS)[0][-1, :, 0]


@some
@given(cases(), st.integers(1, 3), optimizers)
def test_sfl_v1_is_fedavg_at_every_cut(case, tau, optimizer):
    """The split computation: bitwise; the fused one: the same up to rounding."""
    federation, samples = case
    algorithm = FedAvg(tau, optimizer=optimizer)
    whole = two_message.fedavg(federation, samples, algorithm, ETA, ROUNDS)
    assert_close(last(federation, algorithm), whole)
    for label, cut in federation.problem.cuts.items():
        sfl = SFLV1(tau, tau, cut, optimizer=optimizer)
        split = two_message.sfl_v1(federation, samples, sfl, int(label), ETA, ROUNDS)
        assert torch.equal(split, whole)
        assert torch.equal(last(federation, sfl), last(federation, algorithm))


@some
@given(cases(), st.integers(1, 3), st.integers(1, 3), optimizers, optimizers)
def test_sfl_v1_with_two_periods(case, tau, tau_server, optimizer, server):
    """Different numbers of steps and different optimizers on the two sides."""
    federation, samples = case
    for label, cut in federation.problem.cuts.items():
        sfl = SFLV1(tau, tau_server, cut, optimizer=optimizer, server_optimizer=server)
        split = two_message.sfl_v1(federation, samples, sfl, int(label), ETA, ROUNDS)
        assert_close(last(federation, sfl), split)


@some
@given(
    cases(),
    st.integers(1, 3),
    st.sampled_from(["interleaved", "client-sequential"]),
    optimizers,
    optimizers,
)
def test_sfl_v2(case, tau, order, optimizer, server):
    """The server's step waits for no client, and its answer is from before the step."""
    federation, samples = case
    for label, cut in federation.problem.cuts.items():
        sfl = SFLV2(tau, cut, order, optimizer=optimizer, server_optimizer=server)
        split = two_message.sfl_v2(federation, samples, sfl, int(label), ETA, ROUNDS)
        assert_close(last(federation, sfl), split)
