"""Linear models and networks against losses written out sample by sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from per_sample import (
    batches,
    dataset,
    model,
    parts_of,
    sample_gradients,
    sample_loss,
)

from sfl_train import streams
from sfl_train.data import Dataset
from sfl_train.problems import minibatch
from sfl_train.problems.linear_model import LinearModel, quarter_cuts
from sfl_train.problems.network import Network
from sfl_train.problems.problem import Sampling

LINEAR = ("squared", "logistic", "softmax")


@st.composite
def setups(draw, kinds=(*LINEAR, "network"), largest=6):
    kind = draw(st.sampled_from(kinds))
    sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=3))
    sizes[0] += 3
    classes = {"logistic": 2, "softmax": 3, "network": 3}.get(kind)
    if kind == "squared":
        classes = draw(st.sampled_from([None, 3]))
    features = draw(st.integers(2, 3))
    data = dataset(draw(st.integers(0, 99)), sum(sizes), features, classes)
    more = {}
    if kind == "network":
        more["hidden"] = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        more["activation"] = draw(st.sampled_from(["tanh", "softplus"]))
    else:
        more["bias"] = draw(st.booleans())
    l2 = draw(st.sampled_from([0.3, 0.01]))
    return model(kind, data, sizes, l2, **more), data, parts_of(sizes)


def points(problem, replicas, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    shape = (problem.clients, problem.dimension, replicas)
    return torch.from_numpy(scale * rng.normal(size=shape))


def keys_for(problem, replicas):
    clients = np.arange(problem.clients)[:, None]
    return streams.keys(np.arange(replicas), streams.Purpose.MINIBATCH, 0, clients)


@given(setups(), st.integers(1, 2))
@settings(max_examples=40, deadline=None)
def test_loss_and_gradient_are_means_over_the_clients_samples(setup, replicas):
    problem, data, parts = setup
    x = points(problem, replicas)
    loss, gradient = problem.loss(x), problem.gradient(x)
    for n, part in enumerate(parts):
        for r in range(replicas):
            y = x[n, :, r]
            mean = torch.stack([sample_loss(problem, data, j, y) for j in part]).mean()
            torch.testing.assert_close(loss[n, r], mean, rtol=1e-12, atol=1e-12)
            rows = sample_gradients(problem, data, part, y)
            torch.testing.assert_close(
                gradient[n, :, r], rows.mean(0), rtol=1e-11, atol=1e-12
            )


@given(setups(), st.integers(1, 3), st.integers(1, 9), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_draw_is_the_weighted_mean_of_its_samples(setup, replicas, batch, gathered):
    """Dense and gathered products both, and rows picked by ``clients``."""
    problem, data, parts = setup
    draw = problem.draw(Sampling(batch), keys_for(problem, replicas))
    x = points(problem, replicas)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minibatch, "_GATHER_FROM", 1 if gathered else 10**6)
        patch.setattr(minibatch, "_GATHER_BELOW", 0)
        gradient = problem.gradient(x, draw)
        rows = torch.tensor([problem.clients - 1, 0, 0])
        picked = problem.gradient(x[rows], draw[rows], rows)
    torch.testing.assert_close(picked, gradient[rows], rtol=1e-12, atol=1e-12)
    for n, part in enumerate(parts):
        for r in range(replicas):
            weights = draw[n, :, r]
            assert (weights[len(part) :] == 0).all()
            expected = weights[: len(part)] @ (
                sample_gradients(problem, data, part, x[n, :, r])
            )
            torch.testing.assert_close(
                gradient[n, :, r], expected, rtol=1e-11, atol=1e-12
            )


@given(setups(largest=2), st.integers(1, 3), st.booleans())
@settings(max_examples=30, deadline=None)
def test_variance_equals_the_enumeration_of_all_batches(setup, batch, replacement):
    problem, data, parts = setup
    if not replacement:
        batch = min(batch, int(problem.sizes.min()))
    x = points(problem, 2)
    variance = problem.variance(x, Sampling(batch, replacement))
    for n, part in enumerate(parts):
        for r in range(2):
            rows = sample_gradients(problem, data, part, x[n, :, r])
            means = torch.stack([
                rows[list(b)].mean(0) for b in batches(len(part), batch, replacement)
            ])
            expected = means.var(0, correction=0)
            scale = float(rows.square().max())
            torch.testing.assert_close(
                variance[n, :, r], expected, rtol=1e-9, atol=1e-12 * scale
            )


@given(setups())
@settings(max_examples=10, deadline=None)
def test_the_whole_data_set_has_no_variance_and_no_draw(setup):
    problem, _, _ = setup
    assert problem.draw(Sampling(), keys_for(problem, 2)) is None
    assert not problem.variance(points(problem, 2), Sampling()).any()


@pytest.mark.parametrize("replacement", [True, False])
def test_draws_count_what_the_streams_say(replacement):
    sizes = np.array([5, 9])
    keys = streams.keys(
        np.arange(3),
        streams.Purpose.MINIBATCH,
        0,
        np.arange(2)[:, None],
        np.arange(4)[:, None, None],
    )
    draw = minibatch.draw_minibatches(Sampling(5, replacement), keys, sizes)
    assert draw.shape == (4, 2, 9, 3)
    torch.testing.assert_close(draw.sum(2), torch.ones(4, 2, 3, dtype=torch.float64))
    for step in range(4):
        for n in range(2):
            for r in range(3):
                key = keys[step, n, r]
                if replacement:
                    chosen = streams.integers(key, 5, sizes[n])
                else:
                    chosen = np.argsort(streams.uniforms(key, 9)[: sizes[n]])[:5]
                expected = np.bincount(chosen, minlength=9) / 5
                np.testing.assert_allclose(draw[step, n, :, r], expected, rtol=1e-15)
    picked = minibatch.draw_minibatches(
        Sampling(5, replacement), keys[:, [1, 1]], sizes, np.array([1, 1])
    )
    torch.testing.assert_close(picked[:, 0], draw[:, 1], rtol=0, atol=0)


def test_gathering_keeps_every_sample_in_use():
    draw = torch.zeros(2, 60, 2, dtype=torch.float64)
    draw[0, [3, 59], 0] = 0.5
    draw[0, 7, 1] = 1.0
    draw[1, [0, 1, 2], :] = 1 / 3
    index, weight = minibatch.support(draw)
    assert index.shape == (4, 3)
    dense = torch.zeros(4, 60, dtype=torch.float64).scatter_add(
        1, index, weight[..., 0]
    )
    torch.testing.assert_close(dense.view(2, 2, 60).transpose(1, 2), draw)
    assert minibatch.support(torch.ones(2, 60, 2)) is None
    assert minibatch.support(draw[:, :40]) is None


@pytest.mark.parametrize("replacement", [True, False])
def test_a_client_with_one_sample_has_no_variance_at_all(replacement):
    """Exactly 0, where a difference of moments leaves rounding."""
    rng = np.random.default_rng(5)
    data = Dataset("toy", rng.normal(size=(6, 3)), rng.normal(size=6), None, None, "")
    parts = [np.arange(5), np.array([5])]
    problem = LinearModel(data, parts, "squared", 0.1)
    x = torch.from_numpy(10 * rng.normal(size=(2, problem.dimension, 50)))
    sigma2 = problem.variance(x, Sampling(1, replacement)).sum(1)
    assert (sigma2[0] > 0).all()
    assert (sigma2[1] == 0).all()


@given(setups(kinds=LINEAR), st.sampled_from([0.0, 0.1, 1.0, 8.0]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_nothing_in_the_ball_exceeds_its_constants(setup, radius, replacement):
    problem, _, _ = setup
    rng = np.random.default_rng(problem.dimension)
    a = rng.dirichlet(np.ones(problem.clients))
    center = rng.normal(size=problem.dimension)
    sampling = Sampling(1, replacement)
    ball = problem.on_ball(center, radius, sampling, a)
    u = rng.normal(size=(problem.dimension, 40))
    u *= radius * rng.uniform(size=40) ** 0.2 / np.linalg.norm(u, axis=0)
    x = torch.from_numpy(center[:, None] + u)
    everywhere = x.expand(problem.clients, *x.shape).contiguous()
    g = problem.gradient(everywhere)
    sigma2 = problem.variance(everywhere, sampling).sum(1)
    mean = torch.tensordot(torch.from_numpy(a), g, 1)
    slack = 1 + 1e-9
    assert (sigma2 <= slack * torch.from_numpy(ball.sigma2)[:, None] + 1e-14).all()
    assert (g.square().sum(1) + sigma2).max() <= slack * ball.G2
    assert (g - mean).square().sum(1).max() <= slack * ball.eps2 + 1e-20


@given(setups(kinds=LINEAR))
@settings(max_examples=30, deadline=None)
def test_the_ball_of_radius_zero_is_exact(setup):
    """No slack at the centre: the bounds grow from the values there."""
    problem, _, _ = setup
    a = np.full(problem.clients, 1 / problem.clients)
    ball = problem.on_ball(problem.x0, 0.0, Sampling(2), a)
    x = problem.start(1).expand(problem.clients, -1, 1).contiguous()
    g, v = problem.gradient(x), problem.variance(x, Sampling(2)).sum((1, 2))
    np.testing.assert_allclose(ball.sigma2, v, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(ball.G2, (g.square().sum((1, 2)) + v).max(), rtol=1e-9)
    apart = (g - g.mean(0)).square().sum((1, 2)).max()
    np.testing.assert_allclose(ball.eps2, apart, rtol=1e-9, atol=1e-20)


@pytest.mark.parametrize("kind", LINEAR)
def test_the_growth_of_the_bounds_is_attained(kind):
    """At zero, where the curvature is largest, along the steepest direction.

    One client holds the same sample in both classes, so its gradient at zero vanishes;
    the other one's features are zero. No smaller Lipschitz constants are possible.
    """
    X = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    y = np.array([0, 1, 0, 1])
    data = Dataset("twins", X, y, 2, None, "")
    if kind == "squared":
        data = Dataset("twins", X, y - 0.5, None, None, "")
    problem = LinearModel(data, parts_of([2, 2]), kind, l2=0.1, bias=False)
    radius, a = 1e-4, np.array([0.3, 0.7])
    ball = problem.on_ball(problem.x0, radius, Sampling(), a)
    x = torch.zeros(problem.dimension, 1, dtype=torch.float64)
    x[0] = radius
    if kind == "softmax":
        x[0], x[1] = radius / 2**0.5, -radius / 2**0.5
    g = problem.full_gradients(x)[..., 0]
    apart = g - torch.from_numpy(a) @ g
    np.testing.assert_allclose(apart.square().sum(1).max(), ball.eps2, rtol=1e-3)
    np.testing.assert_allclose(g.square().sum(1).max(), ball.G2, rtol=1e-3)


@pytest.mark.parametrize("kind", LINEAR)
def test_the_growth_of_the_variance_bound_is_attained(kind):
    """Orthonormal samples whose residuals all grow alike; their mean is negligible."""
    n, radius = 50, 1e-3
    y = np.full(n, -0.5) if kind == "squared" else np.zeros(n, dtype=np.int64)
    classes = None if kind == "squared" else 2
    data = Dataset("axes", np.eye(n), y, classes, None, "")
    problem = LinearModel(data, parts_of([n]), kind, l2=0.1, bias=False)
    here, one = Sampling(4), np.ones(1)
    direction = np.full((n, problem.outputs), 1.0)
    if kind == "softmax":
        direction[:, 0] = -1.0
    direction *= radius / np.linalg.norm(direction)

    def sigma(x):
        point = torch.from_numpy(x).view(1, -1, 1)
        return float(problem.variance(point, here).sum().sqrt())

    start = sigma(problem.x0)
    bound = problem.on_ball(problem.x0, radius, here, one).sigma2[0] ** 0.5
    np.testing.assert_allclose(
        sigma(direction.ravel()) - start, bound - start, rtol=0.03
    )


@given(setups(kinds=LINEAR), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_S_and_mu_bound_the_curvature(setup, seed):
    """Hessians by differentiating the per-sample reference, at random points."""
    problem, data, parts = setup
    x = points(problem, 1, seed, scale=0.3)[0, :, 0]
    for n, part in enumerate(parts):

        def client(y, part=part):
            return torch.stack([sample_loss(problem, data, j, y) for j in part]).mean()

        H = torch.autograd.functional.hessian(client, x)
        eigenvalues = torch.linalg.eigvalsh(H)
        assert eigenvalues[-1] <= problem.S * (1 + 1e-12)
        assert eigenvalues[0] >= problem.mu * (1 - 1e-9) - 1e-12
        one = torch.zeros(problem.clients, dtype=torch.float64)
        one[n] = 1.0
        torch.testing.assert_close(problem.hessian(x, one), H, rtol=1e-9, atol=1e-11)


@given(setups(kinds=["squared"]))
@settings(max_examples=20, deadline=None)
def test_S_and_mu_of_the_squared_loss_are_attained(setup):
    problem, _, _ = setup
    x = problem.start(1)[:, 0]
    eye = torch.eye(problem.clients, dtype=torch.float64)
    spectra = torch.stack([torch.linalg.eigvalsh(problem.hessian(x, a)) for a in eye])
    np.testing.assert_allclose(problem.S, spectra.max(), rtol=1e-10)
    np.testing.assert_allclose(problem.mu, spectra.min(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kind", [*LINEAR, "network"])
def test_huge_scores_do_not_overflow(kind):
    data = dataset(0, 12, 2, 2)
    problem = model(kind, data, [5, 7], 0.1)
    x = points(problem, 2, scale=1e6)
    assert torch.isfinite(problem.loss(x)).all()
    assert torch.isfinite(problem.gradient(x)).all()
    assert torch.isfinite(problem.variance(x, Sampling(3))).all()


@given(setups(kinds=LINEAR), st.integers(1, 3), st.booleans(), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_step_in_place_is_a_step_along_the_gradient(setup, replicas, full, gathered):
    problem, _, _ = setup
    draw = None if full else problem.draw(Sampling(2), keys_for(problem, replicas))
    x = points(problem, replicas)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minibatch, "_GATHER_FROM", 1 if gathered else 10**6)
        patch.setattr(minibatch, "_GATHER_BELOW", 0)
        expected = x - 0.3 * problem.gradient(x, draw)
        problem.descend(x, draw, 0.3)
    torch.testing.assert_close(x, expected, rtol=1e-12, atol=1e-12)


def test_arguments_are_left_as_they_are():
    for kind in (*LINEAR, "network"):
        problem = model(kind, dataset(0, 12, 2, 2), [5, 7], 0.1)
        x = points(problem, 2)
        draw = problem.draw(Sampling(3), keys_for(problem, 2))
        before = x.clone(), draw.clone()
        problem.gradient(x, draw)
        problem.loss(x)
        problem.variance(x, Sampling(3))
        assert torch.equal(x, before[0])
        assert torch.equal(draw, before[1])


@given(setups(kinds=["network"]))
@settings(max_examples=20, deadline=None)
def test_hessian_products_and_smoothness_match_the_dense_hessian(setup):
    problem, data, parts = setup
    x = points(problem, 2)[0]
    v = points(problem, 2, seed=1)
    product = problem.hessian_vector(x, v)
    largest = torch.zeros(2, dtype=torch.float64)
    for r in range(2):
        for n, part in enumerate(parts):

            def client(y, part=part):
                losses = [sample_loss(problem, data, j, y) for j in part]
                return torch.stack(losses).mean()

            H = torch.autograd.functional.hessian(client, x[:, r], vectorize=True)
            torch.testing.assert_close(product[n, :, r], H @ v[n, :, r])
            largest[r] = max(largest[r], torch.linalg.eigvalsh(H).abs().max())
    torch.testing.assert_close(problem.smoothness(x), largest, rtol=1e-3, atol=0)


@given(setups(kinds=["network"]))
@settings(max_examples=20, deadline=None)
def test_blocks_tile_the_vector_and_cuts_lie_between_them(setup):
    problem, _, _ = setup
    assert problem.blocks[0].start == 0
    assert problem.blocks[-1].stop == problem.dimension
    for left, right in zip(problem.blocks[:-1], problem.blocks[1:], strict=True):
        assert left.stop == right.start
        assert left.outputs == right.inputs
    stops = [block.stop for block in problem.blocks[:-1]]
    assert list(problem.cuts.values()) == stops
    assert list(problem.cuts) == [str(k) for k in range(1, len(problem.blocks))]
    assert problem.on_ball(problem.x0, 1.0, Sampling(), np.ones(1)) is None


def test_the_initial_network_depends_on_its_seed_alone():
    data = dataset(0, 12, 4, 3)
    one, same = Network(data, parts_of([12])), Network(data, parts_of([4, 8]))
    other = Network(data, parts_of([12]), seed=1)
    np.testing.assert_array_equal(one.x0, same.x0)
    assert not np.array_equal(one.x0, other.x0)
    first = one.x0[: one.blocks[0].stop].reshape(5, 16)
    assert not first[-1].any()
    assert np.abs(first).max() <= np.sqrt(6 / 20)


@pytest.mark.parametrize(
    ("rows", "width", "cuts"),
    [
        (65, 10, {"1/4": 160, "1/2": 320, "3/4": 480}),
        (2, 3, {"1/2": 3}),
        (1, 4, {"1/4": 1, "1/2": 2, "3/4": 3}),
        (3, 1, {"1/2": 1, "3/4": 2}),
    ],
)
def test_quarter_cuts_split_no_row(rows, width, cuts):
    assert quarter_cuts(rows, width) == cuts


def good(**changes):
    arguments = {
        "data": dataset(0, 12, 2, 2),
        "parts": parts_of([5, 7]),
        "loss": "logistic",
        "l2": 0.1,
    }
    return arguments | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "hinge"}, "squared, logistic, softmax"),
        ({"data": dataset(0, 12, 2, 3)}, "two classes"),
        ({"data": dataset(0, 12, 2), "loss": "softmax"}, "needs classes"),
        ({"l2": -0.1}, "l2 must be"),
        ({"l2": float("nan")}, "l2 must be"),
        ({"parts": []}, "at least one client"),
        ({"parts": parts_of([5, 0, 7])}, "client 1 holds no samples"),
        ({"data": dataset(0, 12, 1, 2), "bias": False}, "single parameter"),
        ({"x0": np.zeros(2)}, "x0 must be 3"),
        ({"x0": np.full(3, np.nan)}, "x0 must be 3"),
    ],
)
def test_impossible_linear_models_are_refused(changes, message):
    LinearModel(**good())
    with pytest.raises(ValueError, match=message) as error:
        LinearModel(**good(**changes))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_data_need_l2(classes):
    """Complete and quasi-complete separation, and data that overlap."""
    loss = "logistic" if classes == 2 else "softmax"
    base = dataset(0, 60, 2, classes)
    centers = np.array([[-9.0, 0.0], [9.0, 0.0], [0.0, 20.0]])
    apart = Dataset("apart", base.X + centers[base.y], base.y, classes, None, "")
    # A feature inked in one class alone separates that class weakly.
    rare = np.zeros((60, 1))
    rare[np.flatnonzero(base.y == 1)[0]] = 1.0
    quasi = Dataset("q", np.hstack([base.X, rare]), base.y, classes, None, "")
    parts = parts_of([20, 40])
    for data in (apart, quasi):
        with pytest.raises(ValueError, match=r"separable.*give l2 > 0"):
            LinearModel(data, parts, loss)
        assert LinearModel(data, parts, loss, l2=0.1).mu == 0.1
    assert LinearModel(base, parts, loss).convexity == "general_convex"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden": ()}, "at least one hidden layer"),
        ({"hidden": (3, 0)}, "at least one hidden layer"),
        ({"activation": "relu"}, "tanh or softplus"),
        ({"l2": -1.0}, "l2 must be"),
        ({"data": dataset(0, 12, 2)}, "needs classes"),
        ({"parts": []}, "at least one client"),
        ({"parts": parts_of([12, 0])}, "client 1 holds no samples"),
    ],
)
def test_impossible_networks_are_refused(changes, message):
    arguments = {"data": dataset(0, 12, 2, 2), "parts": parts_of([5, 7])}
    with pytest.raises(ValueError, match=message):
        Network(**(arguments | changes))


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (Sampling(0), "at least 1"),
        (Sampling(6, replacement=False), "exceeds the 5 samples of client 0"),
    ],
)
def test_impossible_batches_are_refused(sampling, message):
    problem = model("logistic", dataset(0, 12, 2, 2), [5, 7], 0.1)
    with pytest.raises(ValueError, match=message):
        problem.draw(sampling, keys_for(problem, 1))
    with pytest.raises(ValueError, match=message):
        problem.variance(points(problem, 1), sampling)
