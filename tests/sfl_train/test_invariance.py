"""What must not change the result: the cut, names of clients, company of replicas."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import Worker
from toys import (
    NoisyBowls,
    TanhNet,
    algorithms,
    assert_close,
    federations,
    optimizers,
    participations,
    problems,
    rates,
    shipped,
    train,
    weights,
)

from sfl_train import federation as federation_module
from sfl_train.algorithms import SFLV1, SFLV2, FedAvg, MiniBatchSFL
from sfl_train.engine import ConstantRate
from sfl_train.federation import Federation
from sfl_train.optimizer import SGD
from sfl_train.problems.problem import Sampling

some = settings(max_examples=40, deadline=None)


@some
@given(st.data())
def test_sfl_v1_is_fedavg_at_every_cut_to_the_last_bit(data):
    """With tau = tau_server neither the cut nor the clock leaves a trace."""
    problem = data.draw(problems() | shipped())
    federation = data.draw(federations(problem))
    tau, rate = data.draw(st.integers(1, 4)), ConstantRate(0.05)
    options = {
        "optimizer": data.draw(optimizers()),
        "aggregation": data.draw(st.sampled_from(["updates", "models"])),
    }
    expected, _ = train(federation, FedAvg(tau, **options), rate)
    for cut in {
        1,
        data.draw(st.integers(1, problem.dimension - 1)),
        *problem.cuts.values(),
    }:
        for clock in ("analysis", "algorithm"):
            sfl = SFLV1(tau, tau, cut, clock, **options)
            assert torch.equal(train(federation, sfl, rate)[0], expected)


@some
@given(st.data())
def test_one_client_makes_all_algorithms_centralised(data):
    """FedAvg, SFL-V1, SFL-V2 and MiniBatch-SFL are then the plain optimizer."""
    sizes = [data.draw(st.integers(2, 8))]
    problem = TanhNet([3, data.draw(st.integers(2, 4)), 2], sizes)
    sampling = Sampling(data.draw(st.sampled_from([None, 1, 3])))
    federation = Federation(problem, sampling=sampling, seeds=(4, 7))
    tau, optimizer = data.draw(st.integers(1, 4)), data.draw(optimizers())
    cut, eta = data.draw(st.integers(1, problem.dimension - 1)), 0.05
    expected = centralised(federation, tau, optimizer, eta, rounds=3)
    for algorithm in (
        FedAvg(tau, optimizer=optimizer),
        SFLV1(tau, tau, cut, optimizer=optimizer),
        SFLV2(tau, cut, "interleaved", optimizer=optimizer),
        SFLV2(tau, cut, "client-sequential", optimizer=optimizer),
        MiniBatchSFL(tau, cut, optimizer=optimizer),
    ):
        path, _ = train(federation, algorithm, ConstantRate(eta))
        assert_close(path, expected)


def centralised(federation, tau, optimizer, eta, rounds):
    problem, x = federation.problem, federation.problem.start(federation.replicas)
    workers, path = [Worker(optimizer) for _ in federation.seeds], [x]
    for t in range(rounds):
        for worker in workers:
            worker.new_round()
        for draw in federation.draws(t, tau):
            g = problem.gradient(x.unsqueeze(0), draw)[0]
            columns = zip(workers, x.unbind(1), g.unbind(1), strict=True)
            x = torch.stack([w.step(y, p, eta) for w, y, p in columns], 1)
        path.append(x)
    return torch.stack(path)


@some
@given(st.data())
def test_minibatch_sfl_of_one_step_is_large_batch_sgd(data):
    """With tau = 1 and equal batches the round is one step on the joined batch.

    Weight decay and a momentum that outlives the round are linear, so averaging the
    clients' optimizers is the optimizer of the average; Adam is not.
    """
    N, D = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 5))
    problem = TanhNet([3, 3, 2], [D] * N, seed=data.draw(st.integers(0, 99)))
    pooled = TanhNet([3, 3, 2], [N * D])
    pooled.Z, pooled.y = problem.Z.view(1, N * D, -1), problem.y.view(1, -1)
    federation = Federation(problem, sampling=Sampling(2), seeds=(1, 5))
    optimizer = SGD(
        momentum=data.draw(st.sampled_from([0, 0.9])),
        weight_decay=data.draw(st.sampled_from([0, 0.1])),
        lifetime="run",
    )
    cut = data.draw(st.integers(1, problem.dimension - 1))
    path, _ = train(federation, MiniBatchSFL(1, cut, optimizer=optimizer))
    x = v = torch.zeros(problem.dimension, 2, dtype=torch.float64)
    x = x + torch.tensor(problem.x0).unsqueeze(1)
    for t in range(3):
        (draw,) = federation.draws(t, 1)
        joined = draw.reshape(1, N * D, 2) / N
        g = pooled.gradient(x.unsqueeze(0), joined)[0]
        v = optimizer.momentum * v + g + optimizer.weight_decay * x
        x = x - 0.05 * v
        assert_close(path[t + 1], x)


@some
@given(st.data())
def test_relabelling_clients_changes_nothing(data):
    """Data, weights, participation and identities move together: only sums round."""
    N, seed = data.draw(st.integers(2, 4)), data.draw(st.integers(0, 99))
    order = data.draw(st.permutations(range(N)))
    if data.draw(st.booleans()):
        pair = [NoisyBowls(N, 4, seed, o) for o in (None, order)]
    else:
        sizes = [data.draw(st.integers(2, 6)) for _ in range(N)]
        pair = [TanhNet([3, 3, 2], sizes, seed, o) for o in (None, order)]
    single = data.draw(st.booleans())
    a = np.eye(N)[0] if single else data.draw(weights(N))
    q = np.array(data.draw(participations(N)))
    ids, sampling = 100 + np.arange(N), Sampling(3)
    algorithm = data.draw(algorithms(pair[0].dimension))
    before, after = (
        Federation(problem, a[o], q[o], sampling, (3, 8), ids[o])
        for problem, o in zip(pair, (slice(None), order), strict=True)
    )
    expected, path = train(before, algorithm)[0], train(after, algorithm)[0]
    assert_close(path, expected)
    if single and not isinstance(algorithm, SFLV2):
        assert torch.equal(path, expected)


@some
@given(st.data())
def test_replicas_do_not_feel_each_other(data):
    """Simulated together, apart or in another order, a seed gives the same run."""
    problem = data.draw(problems() | shipped())
    federation = data.draw(federations(problem))
    algorithm, rate = data.draw(algorithms(problem.dimension)), ConstantRate(0.05)
    together, _ = train(federation, algorithm, rate)
    seeds = data.draw(st.permutations(federation.seeds))
    for subset in (seeds, seeds[:1]):
        fewer = Federation(
            problem,
            federation.weights,
            federation.participation,
            federation.sampling,
            subset,
            federation.client_ids,
        )
        columns = [federation.seeds.index(seed) for seed in subset]
        assert_close(train(fewer, algorithm, rate)[0], together[..., columns])


@some
@given(st.data())
def test_continuing_a_run_changes_no_bit(data):
    """From x^2 on, the rounds are those of the uninterrupted run, or are refused."""
    problem = data.draw(problems() | shipped())
    federation = data.draw(federations(problem))
    algorithm = data.draw(algorithms(problem.dimension))
    rate = data.draw(rates())
    assume(hasattr(algorithm, "cut") or rate.client(0) == rate.server(0))
    path, trainer = train(federation, algorithm, rate, 4)
    assert torch.equal(train(federation, algorithm, rate, 2)[0], path[:3])
    if algorithm.memoryless:
        rest = [x for _, x in trainer.rounds(4, start=2, x=path[2])]
        assert torch.equal(torch.stack(rest), path[2:])
    else:
        with pytest.raises(ValueError, match="start"):
            next(trainer.rounds(4, start=2, x=path[2]))


@pytest.mark.parametrize("budget", [1, 3000])
def test_drawing_in_pieces_changes_no_bit(budget, monkeypatch):
    """How many steps are drawn at a time is a matter of memory only."""
    federation = Federation(TanhNet([3, 3, 2], [4, 6]), sampling=Sampling(3))
    whole = list(federation.draws(2, 7))
    monkeypatch.setattr(federation_module, "_DRAW_BYTES", budget)
    for left, right in zip(federation.draws(2, 7), whole, strict=True):
        assert torch.equal(left, right)
