"""Measured constants: exact, additive over blocks, maximal over the run."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from per_sample import batches, dataset, model, parts_of, sample_gradients

from sfl_train.measure import Trajectory, at_point
from sfl_train.problems.problem import Sampling
from sfl_train.problems.quadratic import random_quadratic

SIZES = [3, 5, 4]
A = np.array([0.2, 0.5, 0.3])


def problem_of(kind, seed=0):
    data = dataset(seed, sum(SIZES), 2, {"squared": None, "logistic": 2}.get(kind, 3))
    more = {"hidden": (2,)} if kind == "network" else {}
    return model(kind, data, SIZES, 0.1, **more), data


kinds = st.sampled_from(["squared", "logistic", "softmax", "network"])


def point_of(problem, seed, replicas=2, batch=2):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(problem.dimension, replicas)))
    return x, at_point(problem, x, Sampling(batch), A)


@given(kinds, st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_equals_a_dense_per_sample_computation(kind, seed):
    """E|g_n|^2, divergence and variance from all samples and all batches."""
    problem, data = problem_of(kind, seed)
    x, point = point_of(problem, seed)
    totals = point.totals()
    for r in range(x.shape[1]):
        rows = [sample_gradients(problem, data, p, x[:, r]) for p in parts_of(SIZES)]
        full = torch.stack([g.mean(0) for g in rows])
        f = torch.from_numpy(A) @ full
        second = []
        for n, g in enumerate(rows):
            means = torch.stack([
                g[list(b)].mean(0) for b in batches(len(g), 2, replacement=True)
            ])
            sigma2 = (means - full[n]).square().sum(1).mean()
            second.append(means.square().sum(1).mean())
            torch.testing.assert_close(totals.sigma2[n, r], sigma2)
        torch.testing.assert_close(totals.G2[r], torch.stack(second).max())
        apart = (full - f).square().sum(1)
        torch.testing.assert_close(totals.eps2[r], apart.max())
        torch.testing.assert_close(totals.mean_eps2[r], torch.from_numpy(A) @ apart)
        torch.testing.assert_close(totals.gradient2[r], f.square().sum())


@given(kinds, st.integers(0, 99), st.data())
@settings(max_examples=20, deadline=None)
def test_blocks_add_up_at_every_cut(kind, seed, data):
    problem, _ = problem_of(kind, seed)
    x, point = point_of(problem, seed)
    cut = data.draw(st.integers(0, problem.dimension))
    every, totals = point.all_cuts(), point.totals()
    client, server = point.client_share(cut), point.server_share(cut)
    for name in ("sigma2", "divergence2", "client_gradient2", "gradient2"):
        whole = getattr(totals, name)
        torch.testing.assert_close(getattr(client, name) + getattr(server, name), whole)
        curve = getattr(every, name)
        assert curve.shape == (*whole.shape, problem.dimension + 1)
        torch.testing.assert_close(curve[..., cut], getattr(client, name))
    torch.testing.assert_close(every.mean_sigma2[..., -1], totals.mean_sigma2)
    gradients = problem.full_gradients(x)[:, :cut]
    torch.testing.assert_close(client.client_gradient2, gradients.square().sum(1))


@given(st.integers(0, 99), st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_trajectory_keeps_maxima_and_means(seed, rounds):
    problem, _ = problem_of("softmax", seed)
    points = [point_of(problem, seed + t)[1] for t in range(rounds)]
    run = Trajectory()
    for point in points:
        run.add(point)
    found = run.result()
    assert found.points == rounds
    totals = [point.totals() for point in points]
    cuts = [point.all_cuts() for point in points]

    def largest(arrays):
        return torch.stack(arrays).amax(0).numpy()

    np.testing.assert_allclose(
        found.sigma2, largest([t.sigma2.amax(1) for t in totals])
    )
    np.testing.assert_allclose(found.G2, largest([t.G2.amax() for t in totals]))
    np.testing.assert_allclose(found.eps2, largest([t.eps2.amax() for t in totals]))
    np.testing.assert_allclose(
        found.mean_eps2, largest([t.mean_eps2.amax() for t in totals])
    )
    np.testing.assert_allclose(
        found.client_eps2, largest([c.divergence2.amax(1) for c in cuts])
    )
    k = problem.dimension // 2
    np.testing.assert_allclose(
        found.server_sigma2[:, k],
        largest([p.server_share(k).sigma2.amax(1) for p in points]),
    )
    np.testing.assert_allclose(found.server_sigma2[:, 0], found.sigma2)
    np.testing.assert_allclose(found.client_sigma2[:, -1], found.sigma2)
    np.testing.assert_allclose(
        found.client_sigma2_mean[k],
        np.mean([c.mean_sigma2[:, k].mean() for c in cuts]),
    )
    assert (np.diff(found.client_eps2_mean) >= 0).all()


@given(st.integers(0, 99), st.floats(0.01, 3))
@settings(max_examples=20, deadline=None)
def test_what_a_run_meets_is_below_what_holds_on_the_ball(seed, radius):
    """Trajectory constants are lower estimates of the analytic ones."""
    problem, _ = problem_of("logistic", seed)
    rng = np.random.default_rng(seed)
    run = Trajectory()
    for _ in range(3):
        u = rng.normal(size=(problem.dimension, 4))
        x = torch.from_numpy(radius * u / np.linalg.norm(u, axis=0))
        run.add(at_point(problem, x, Sampling(2), A))
    met, ball = run.result(), problem.on_ball(problem.x0, radius, Sampling(2), A)
    assert (met.sigma2 <= ball.sigma2 * (1 + 1e-9)).all()
    assert met.G2 <= ball.G2 * (1 + 1e-9)
    assert met.eps2 <= ball.eps2 * (1 + 1e-9)


def test_additive_noise_is_measured_as_stated():
    problem = random_quadratic(3, 4, 5.0, 1.0, noise=2.5)
    point = at_point(problem, problem.start(2), Sampling(), A)
    np.testing.assert_allclose(point.totals().sigma2, 2.5)
    np.testing.assert_allclose(point.client_share(1).sigma2, 2.5 / 4)


def test_nonsense_is_refused():
    with pytest.raises(ValueError, match="no round was measured"):
        Trajectory().result()
    _, point = point_of(problem_of("logistic")[0], 0)
    for cut in (-1, 4):
        with pytest.raises(ValueError, match=r"cut must lie in 0\.\.3"):
            point.client_share(cut)
        with pytest.raises(ValueError, match=r"cut must lie in 0\.\.3"):
            point.server_share(cut)
