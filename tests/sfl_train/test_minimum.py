"""The minimiser: machine precision, nearest to x0, and scikit-learn agrees."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from per_sample import dataset, model, parts_of
from sklearn.linear_model import LogisticRegression, Ridge

from sfl_train.data import load
from sfl_train.partition import partition
from sfl_train.problems.linear_model import LinearModel
from sfl_train.problems.minimum import TOLERANCE, lower_bound, minimum
from sfl_train.problems.named import build
from sfl_train.problems.network import Network
from sfl_train.problems.quadratic import Quadratic, random_quadratic


def gradient(problem, x, a):
    point = torch.from_numpy(x).unsqueeze(1)
    g = problem.full_gradients(point).squeeze(2)
    return (torch.from_numpy(a) @ g).numpy()


def pooled(name, clients=7, seed=3):
    """A problem whose f is the mean over all samples: weights by size."""
    data = load(name)
    parts = partition("dirichlet:0.5", data.y, clients, seed)
    sizes = np.array([len(part) for part in parts])
    return data, parts, sizes / sizes.sum()


def with_bias(X):
    return np.hstack([X, np.ones((len(X), 1))])


def test_ridge_agrees_with_scikit_learn():
    """Ours: mean of half squares + l2/2 |w|^2; theirs: sum of squares + alpha |w|^2."""
    data, parts, a = pooled("diabetes")
    found = minimum(LinearModel(data, parts, "squared", l2=0.05), a)
    ridge = Ridge(alpha=0.05 * len(data.y), fit_intercept=False, solver="cholesky")
    ridge.fit(with_bias(data.X), data.y)
    np.testing.assert_allclose(found.x, ridge.coef_, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "loss", "l2", "solver", "close"),
    [
        ("breast_cancer", "logistic", 0.05, "newton-cholesky", 1e-6),
        ("digits-parity", "logistic", 0.0, "newton-cholesky", 1e-6),
        ("digits", "softmax", 0.1, "lbfgs", 1e-4),
    ],
)
def test_classifiers_agree_with_scikit_learn(name, loss, l2, solver, close):
    """Theirs weighs the sum of losses with C = 1/(D l2); no intercept, our column."""
    data, parts, a = pooled(name)
    found = minimum(LinearModel(data, parts, loss, l2=l2), a)
    C = 1 / (len(data.y) * l2) if l2 else np.inf
    theirs = LogisticRegression(C=C, solver=solver, fit_intercept=False, tol=1e-7)
    theirs.fit(with_bias(data.X), data.y)
    ours = found.x.reshape(-1, len(theirs.coef_)).T
    np.testing.assert_allclose(ours, theirs.coef_, rtol=close, atol=close)


@given(
    st.sampled_from(["squared", "softmax", "quadratic"]),
    st.integers(0, 999),
    st.booleans(),
)
@settings(max_examples=15, deadline=None)
def test_nearest_minimiser(kind, seed, start_at_zero):
    """x* - x0 is orthogonal to the null space, and moving along it changes no f."""
    rng = np.random.default_rng(seed)
    if kind == "quadratic":
        A = rng.normal(size=(3, 2, 6))
        H = A.transpose(0, 2, 1) @ A
        H[:, :, 5] = H[:, 5, :] = 0.0
        b = np.einsum("nij,nj->ni", H, rng.normal(size=(3, 6)))
        x0 = np.zeros(6) if start_at_zero else rng.normal(size=6)
        problem = Quadratic(H, b, x0, 2)
    else:
        classes = 3 if kind == "softmax" else None
        base = dataset(seed, 40, 2, classes)
        # A repeated and an empty feature: two directions that change no score.
        X = np.hstack([base.X, base.X[:, :1], np.zeros((40, 1))])
        data = type(base)("flat", X, base.y, classes, None, "")
        dimension = 5 * (classes or 1)
        x0 = np.zeros(dimension) if start_at_zero else rng.normal(size=dimension)
        problem = LinearModel(data, parts_of([12, 18, 10]), kind, x0=x0)
    assert problem.convexity == "general_convex"
    a = rng.dirichlet(np.ones(3))
    found = minimum(problem, a)
    weights = torch.from_numpy(a)
    H = problem.hessian(torch.from_numpy(found.x), weights).numpy()
    eigenvalues, vectors = np.linalg.eigh(H)
    null = vectors[:, eigenvalues < 1e-9 * eigenvalues[-1]]
    assert null.shape[1] >= 1
    np.testing.assert_allclose(null.T @ (found.x - x0), 0.0, atol=1e-7)
    moved = found.x + null @ rng.normal(size=null.shape[1])
    assert np.linalg.norm(gradient(problem, moved, a)) < 1e-6
    # Any other minimiser is farther from x0.
    assert np.linalg.norm(found.x - x0) <= np.linalg.norm(moved - x0) + 1e-9


@given(
    st.sampled_from(["squared", "logistic", "softmax"]),
    st.integers(0, 999),
    st.sampled_from([1e-3, 0.1, 2.0]),
)
@settings(max_examples=15, deadline=None)
def test_gradient_and_value_at_the_minimum(kind, seed, l2):
    data = dataset(seed, 20, 3, {"logistic": 2, "softmax": 3}.get(kind))
    problem = model(kind, data, [4, 9, 7], l2)
    rng = np.random.default_rng(seed)
    a = rng.dirichlet(np.ones(3))
    found = minimum(problem, a)
    norm = np.linalg.norm(gradient(problem, found.x, a))
    assert norm <= TOLERANCE
    np.testing.assert_allclose(found.gradient_norm, norm, atol=1e-14)
    x = torch.from_numpy(found.x[:, None] + 0.1 * rng.normal(size=(len(found.x), 20)))
    weights = torch.from_numpy(a)
    assert (problem.value(x, weights) >= found.value).all()
    here = problem.value(torch.from_numpy(found.x).unsqueeze(1), weights)
    np.testing.assert_allclose(float(here), found.value, rtol=1e-12)
    assert lower_bound(problem, a) == found.value


@pytest.mark.parametrize(
    "name", ["least-squares:digits", "logistic:breast_cancer-mean"]
)
def test_bundled_general_convex_problems_have_a_minimiser(name):
    made = build(name, clients=5, partition="dirichlet:1")
    assert made.problem.convexity == "general_convex"
    found = minimum(made.problem, made.weights)
    assert found.gradient_norm <= TOLERANCE


def test_least_squares_over_digits_leaves_constant_pixels_alone():
    made = build("least-squares:digits", clients=5)
    found = minimum(made.problem, made.weights)
    silent = np.flatnonzero(made.data.X.max(0) == 0)
    assert silent.size == 3
    assert np.abs(found.x.reshape(65, 10)[silent]).max() < 1e-8


def test_where_there_is_no_minimum_it_is_said():
    data = dataset(0, 12, 2, 2)
    a = np.full(2, 0.5)
    with pytest.raises(ValueError, match="not convex"):
        minimum(Network(data, parts_of([5, 7])), a)
    # The minimiser of uniform weights exists, that of other weights does not.
    H = np.stack([np.diag([0.0, 1.0])] * 2)
    unbounded = Quadratic(H, [[1.0, 0.0], [-1.0, 0.0]], np.zeros(2), 1)
    assert minimum(unbounded, a).value == 0.0
    with pytest.raises(ValueError, match="no minimiser found"):
        minimum(unbounded, np.array([0.9, 0.1]))


def test_lower_bounds_of_non_convex_problems():
    data = dataset(0, 12, 2, 2)
    network = Network(data, parts_of([5, 7]))
    assert lower_bound(network, np.full(2, 0.5)) == 0.0
    H = np.stack([np.diag([5.0, 2.0]), np.diag([-1.0, 2.0])])
    b = np.array([[4.0, 1.0], [0.0, 3.0]])
    problem = Quadratic(H, b, np.zeros(2), 1)
    assert problem.convexity == "non_convex"
    # f(x) = (2 x1^2 + 2 x2^2)/2 - 2 x1 - 2 x2 at equal weights: minimum at (1, 1).
    np.testing.assert_allclose(lower_bound(problem, np.full(2, 0.5)), -2.0)
    with pytest.raises(ValueError, match="unbounded below"):
        lower_bound(problem, np.array([0.1, 0.9]))


def test_scale_of_a_quadratic_is_no_obstacle():
    """Rounding in the gradient grows with S |x*|; the tolerance grows with it."""
    one = random_quadratic(3, 6, 1e6, 1e3, heterogeneity=1e3, seed=1)
    found = minimum(one, np.full(3, 1 / 3))
    expected = np.linalg.solve(one.H.mean(0), one.b.mean(0))
    np.testing.assert_allclose(found.x, expected, rtol=1e-9)
