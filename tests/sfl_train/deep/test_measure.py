"""Protects the measured constants: they are what the theory means by their names."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from federations import CLASSES, PIXELS, Toy, same, trained
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call, hessian

from sfl_train.deep.algorithms.minibatch import MiniBatchSFL
from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import Rates
from sfl_train.deep.algorithms.sequential import InterleavedSFLV2, SequentialSFLV2
from sfl_train.deep.federation import LocalWork
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.measure.curvature import lanczos
from sfl_train.deep.measure.frozen import frozen
from sfl_train.deep.measure.measurement import Measurement
from sfl_train.deep.measure.sides import DiagonalBlocks
from sfl_train.deep.worker import Worker


def linear_run(work: LocalWork, dtype=torch.float64):
    """A softmax regression on pooled images: small enough for dense references."""
    toy = Toy(work=work, augmentation="none", dtype=dtype, sizes=(5, 9, 14))
    torch.manual_seed(1)
    blocks = nn.Sequential(
        nn.Sequential(nn.AvgPool2d(PIXELS // 2), nn.Flatten(), nn.Linear(12, 5)),
        nn.Tanh(),
        nn.Linear(5, CLASSES),
    ).to(dtype)
    return FedAvg(Worker(FlatModel(blocks)), toy.federation())


def per_sample(run, client):
    """Every sample's gradient by one backward pass each, and its mean."""
    federation, model = run.federation, run.worker.model
    rows = []
    for j in federation.parts[client]:
        x, y = federation.store.samples(torch.tensor([j]))
        model.zero_gradient()
        nn.functional.cross_entropy(model.blocks(x), y).backward()
        rows.append(model.gradient.clone())
    stacked = torch.stack(rows)
    return stacked, stacked.mean(0)


@pytest.mark.parametrize("sampling", ["reshuffle", "replacement"])
def test_norms_divergence_and_variance_against_sample_by_sample(sampling) -> None:
    work = LocalWork(tau=2, epochs=None, batch_size=4, sampling=sampling)
    run = linear_run(work)
    found = Measurement(run, "every=1", 0, [1]).measure()
    a = run.federation.weights
    means, spreads = [], []
    for n, part in enumerate(run.federation.parts):
        rows, mean = per_sample(run, n)
        means.append(mean)
        per = float((rows - mean).square().sum(1).mean())
        size = len(part)
        factor = 1 / 4 if sampling == "replacement" else (size - 4) / (4 * (size - 1))
        spreads.append(per * factor)
    whole = sum(w * g for w, g in zip(a, means, strict=True))
    np.testing.assert_allclose(found.gradient2.sum(), float(whole.square().sum()))
    wanted = [float((g - whole).square().sum()) for g in means]
    np.testing.assert_allclose(found.divergence2.sum(1), wanted)
    np.testing.assert_allclose(found.sigma2.sum(1), spreads)
    record = found.record(np.asarray(a), [1])
    assert record["epsilon2"] == pytest.approx(max(wanted))
    assert record["epsilon2_mean"] == pytest.approx(float(a @ np.array(wanted)))
    squares = [float(g.square().sum()) for g in means]
    assert record["G2"] == pytest.approx(max(np.array(squares) + np.array(spreads)))


@pytest.mark.parametrize("sampling", ["reshuffle", "replacement"])
def test_the_variance_is_that_of_the_mini_batches_drawn(sampling) -> None:
    """The mean of ||g - grad F||^2 over many drawn batches converges to sigma^2."""
    work = LocalWork(tau=1, epochs=None, batch_size=4, sampling=sampling)
    run = linear_run(work)
    client = 2
    rows, mean = per_sample(run, client)
    position = {int(j): k for k, j in enumerate(run.federation.parts[client])}
    errors = []
    for t in range(3000):
        chosen = run.federation.batches(t, client).indices.tolist()
        g = rows[[position[j] for j in chosen]].mean(0)
        errors.append(float((g - mean).square().sum()))
    wanted = Measurement(run, "every=1", 0, [1]).measure().sigma2[client].sum()
    spread = np.std(errors) / np.sqrt(len(errors))
    assert abs(np.mean(errors) - wanted) < 4 * spread


@settings(max_examples=6, deadline=None)
@given(
    model=st.sampled_from(["resnet18", "cnn", "mlp"]),
    norm=st.sampled_from(["batch", "group", "none"]),
    channels_last=st.booleans(),
)
def test_blocks_add_up_at_every_cut(model, norm, channels_last) -> None:
    toy = Toy(
        model=model, norm=None if model == "mlp" else norm, channels_last=channels_last
    )
    run = FedAvg(toy.worker(), toy.federation())
    blocks = len(run.worker.model.blocks)
    cuts = list(range(1, blocks))
    measurement = Measurement(run, "every=1", 0, cuts)
    run.watch = measurement.drift
    measurement.begin(0)
    run.round(0, Rates(0.05, 0.05))
    record = measurement.record()
    for cut in record["cuts"]:
        both = cut["client"]["gradient2"] + cut["server"]["gradient2"]
        assert both == pytest.approx(record["gradient2"])
        assert cut["client"]["epsilon2"] <= record["epsilon2"] * (1 + 1e-9)
        assert cut["client"]["G2"] <= record["G2"] * (1 + 1e-9)
        assert cut["client"]["G2"] + cut["server"]["G2"] >= record["G2"] * (1 - 1e-9)
        per_cut = cut["variance_at_client_per_cut"] * cut["cut"]
        assert per_cut == pytest.approx(cut["variance_at_client"])
    assert record["secant"] > 0


def dense_hessian(run):
    model, store = run.worker.model, run.federation.store
    everything = torch.from_numpy(np.sort(np.concatenate(run.federation.parts)))
    x, y = store.samples(everything)
    names = [name for name, _ in model.blocks.named_parameters()]

    def loss(flat):
        pieces = dict(zip(names, model.like_parameters(flat), strict=True))
        logits = functional_call(model.blocks, pieces, (x,))
        return nn.functional.cross_entropy(logits, y)

    return hessian(loss)(model.state.parameters.clone())


def test_hessian_products_and_lanczos_against_the_dense_hessian() -> None:
    run = linear_run(LocalWork(epochs=1))
    H = dense_hessian(run)
    everything = torch.from_numpy(np.sort(np.concatenate(run.federation.parts)))
    v = torch.randn(H.shape[0], generator=torch.Generator().manual_seed(2)).double()
    with frozen(run.worker, run.state, run.federation.store) as model:
        torch.testing.assert_close(model.hessian_product(everything, v), H @ v)
    found = Measurement(run, "every=1", 0, [1]).measure()
    wanted = float(torch.linalg.eigvalsh(H).abs().max())
    assert found.smoothness == pytest.approx(wanted, rel=1e-3)
    assert abs(found.smoothness - wanted) <= found.residual + 1e-9


def restricted(run, blocks):
    """Where a stretch of blocks lies in the vector of parameters."""
    offsets = run.worker.model.offsets
    first, last, _ = blocks.indices(len(offsets) - 1)
    return slice(offsets[first], offsets[last])


def test_the_smoothness_of_a_side_bounds_its_diagonal_block_from_below() -> None:
    r"""It is $\|PHPz\|/\|Pz\|$ with z the dominant eigenvector, dense here."""
    run = linear_run(LocalWork(epochs=1))
    H = dense_hessian(run)
    values, vectors = torch.linalg.eigh(H)
    z = vectors[:, int(values.abs().argmax())]
    measured = Measurement(run, "every=1", 0, [1, 2]).measure()
    record = measured.record(np.asarray(run.federation.weights), [1, 2])
    cuts, whole = record["cuts"], measured.diagonal.over(slice(0, None))
    for blocks, found in (
        (slice(0, 1), cuts[0]["client"]["smoothness"]),
        (slice(1, None), cuts[0]["server"]["smoothness"]),
        (slice(0, 2), cuts[1]["client"]["smoothness"]),
        (slice(2, None), cuts[1]["server"]["smoothness"]),
        (slice(2, 3), record["blocks"]["smoothness"][2]),
        (slice(0, None), whole),
    ):
        here = restricted(run, blocks)
        inside = H[here, here]
        norm = float(torch.linalg.eigvalsh(inside).abs().max())
        wanted = float((inside @ z[here]).norm() / z[here].norm())
        assert found == pytest.approx(wanted, rel=1e-2)
        assert 0.5 * norm < found <= norm * (1 + 1e-9)
    assert whole == pytest.approx(record["smoothness"], rel=1e-3)
    assert record["blocks"]["smoothness"][1] == 0.0  # tanh has no parameters


@pytest.mark.parametrize("seed", range(5))
def test_diagonal_blocks_of_any_matrix_are_bounded_from_below(seed) -> None:
    """For every vector, near an eigenvector or not, and every stretch of blocks."""
    torch.manual_seed(seed)
    H = torch.randn(9, 9, dtype=torch.float64)
    H, z, offsets = H + H.T, torch.randn(9, dtype=torch.float64), (0, 2, 2, 5, 9)
    found = DiagonalBlocks.along(lambda v: H @ v, z, offsets)
    for first, last in combinations(range(5), 2):
        here = slice(offsets[first], offsets[last])
        bound, inside = found.over(slice(first, last)), H[here, here]
        if here.start == here.stop:
            assert bound == 0.0
            continue
        wanted = float((inside @ z[here]).norm() / z[here].norm())
        assert bound == pytest.approx(wanted)
        assert bound <= float(torch.linalg.eigvalsh(inside).abs().max()) * (1 + 1e-9)


def test_the_secant_of_a_side_is_that_of_its_own_changes() -> None:
    run = linear_run(LocalWork(tau=2, epochs=None, batch_size=4))
    measurement = Measurement(run, "every=1", 0, [1])
    ends, gradients = [], []
    for t in range(2):
        if t:
            measurement.begin(0)
            run.round(0, Rates(0.3, 0.3))
            record = measurement.record()
        run.worker.state.copy_(run.state)
        ends.append(run.state.parameters.clone())
        means = [per_sample(run, n)[1] for n in range(3)]
        a = run.federation.weights
        gradients.append(sum(w * g for w, g in zip(a, means, strict=True)))
    moved, change = ends[1] - ends[0], gradients[1] - gradients[0]
    cut = record["cuts"][0]
    for blocks, found in (
        (slice(0, None), record["secant"]),
        (slice(0, 1), cut["client"]["secant"]),
        (slice(1, None), cut["server"]["secant"]),
        (slice(2, None), record["blocks"]["secant"][2]),
    ):
        here = restricted(run, blocks)
        wanted = float(change[here].norm() / moved[here].norm())
        assert found == pytest.approx(wanted)
    assert record["blocks"]["secant"][1] is None  # tanh does not move
    top = float(torch.linalg.norm(change) / torch.linalg.norm(moved))
    assert record["secant"] == pytest.approx(top)


def test_lanczos_converges_from_below_on_a_known_spectrum() -> None:
    values = torch.tensor([-7.0, 0.1, 1.0, 2.0, 3.0, 6.5], dtype=torch.float64)
    basis = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64))[0]
    H = basis @ torch.diag(values) @ basis.T
    start = torch.ones(6, dtype=torch.float64)
    norms = [lanczos(lambda v: H @ v, start, steps).norm for steps in range(1, 7)]
    assert all(b >= a - 1e-9 for a, b in pairwise(norms))
    assert norms[-1] == pytest.approx(7.0)


@pytest.mark.parametrize(
    "kind",
    [
        SFLV1,
        InterleavedSFLV2,
        pytest.param(SequentialSFLV2, marks=pytest.mark.long),
        pytest.param(MiniBatchSFL, marks=pytest.mark.long),
    ],
)
def test_measuring_changes_no_bit_of_a_run(kind) -> None:
    toy = Toy()
    plain = trained(kind(toy.worker(), toy.federation(), 3))
    run = kind(toy.worker(), toy.federation(), 3)
    measurement = Measurement(run, "every=1", 0, [2, 3, 4, 5])
    run.watch = measurement.drift
    for t in range(2):
        measurement.begin(t)
        run.round(t, Rates(0.05, 0.05))
        measurement.record()
    assert same(run.state, plain)


def test_drift_is_the_distance_of_the_local_models() -> None:
    """One step per round from x: the second local model is at distance eta ||g||."""
    work = LocalWork(tau=2, epochs=None, batch_size=100)
    run = linear_run(work)
    gradients = [per_sample(run, n)[1] for n in range(3)]
    measurement = Measurement(run, "every=1", 0, [1])
    run.watch = measurement.drift
    measurement.begin(0)
    run.round(0, Rates(0.1, 0.1))
    for n, g in enumerate(gradients):
        found = float(measurement.drift.sums[n].sum())
        assert found == pytest.approx(float((0.1 * g).square().sum()))


@pytest.mark.parametrize("periods", [(1, 3), (3, 1)])
def test_the_drift_of_a_side_is_summed_over_its_own_steps(periods) -> None:
    """A side that stands still drifts no further: i < tau here, i < tau_server there.

    The side that goes on to the last step has the sum over all of them.
    """
    work = LocalWork(tau=max(periods), epochs=None, batch_size=6)
    toy = Toy(model="mlp", work=work)
    run = SFLV1(toy.worker(), toy.federation(), 1, None, None, *periods)
    measurement = Measurement(run, "every=1", 0, [1])
    run.watch = measurement.drift
    measurement.begin(0)
    run.round(0, Rates(0.1, 0.1))
    found = measurement.record()["cuts"][0]
    sides = [found[side]["drift"] for side in ("client", "server")]
    # One step: the only model in the sum is the one that the round began with.
    assert sides[periods.index(1)] == 0.0
    assert sides[periods.index(3)] > 0.0


def test_automatic_cadence_counts_samples_and_not_seconds() -> None:
    short = linear_run(LocalWork(epochs=1))
    long = linear_run(LocalWork(epochs=10))
    every = [Measurement(run, "auto", 0, [1]).every for run in (short, long)]
    assert every[0] == pytest.approx(10 * every[1], rel=0.1)
    with pytest.raises(ValueError, match="every=K"):
        Measurement(short, "every=0", 0, [1])
