"""Quadratics: files are checked, drawn constants attained, the gradient exact."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_train import streams
from sfl_train.problems.problem import Sampling
from sfl_train.problems.quadratic import Quadratic, random_quadratic, read_quadratic

specs = st.fixed_dictionaries({
    "clients": st.integers(1, 4),
    "dimension": st.integers(2, 7),
    "mu": st.sampled_from([0.0, 0.01, 0.5, 3.0]),
    "S": st.sampled_from([3.0, 40.0]),
    "heterogeneity": st.floats(0, 3),
    "coupling": st.floats(0, 1),
    "seed": st.integers(0, 999),
    "part": st.floats(0, 0.999),
})


def build(spec, noise=0.0):
    spec = dict(spec)
    cut = 1 + int(spec.pop("part") * (spec["dimension"] - 1))
    return random_quadratic(**spec, noise=noise, cut=cut), cut


@given(specs)
@settings(max_examples=60, deadline=None)
def test_prescribed_constants_are_attained(spec):
    problem, cut = build(spec)
    eigenvalues = np.linalg.eigvalsh(problem.H)
    np.testing.assert_allclose(eigenvalues[:, -1], spec["S"], rtol=1e-10)
    np.testing.assert_allclose(eigenvalues[:, 0], spec["mu"], atol=1e-10)
    np.testing.assert_allclose(problem.S, spec["S"], rtol=1e-10)
    np.testing.assert_allclose(problem.mu, spec["mu"], atol=1e-10)
    kind = "strongly_convex" if spec["mu"] > 0 else "general_convex"
    assert problem.convexity == kind
    assert problem.cuts[problem.default_cut] == cut


@given(specs)
@settings(max_examples=40, deadline=None)
def test_heterogeneity_is_the_spread_of_the_minimisers(spec):
    if spec["mu"] == 0.0:
        spec["mu"] = 0.01
    problem, _ = build(spec)
    minimisers = np.linalg.solve(problem.H, problem.b[..., None])[..., 0]
    center = minimisers.mean(0)
    spread = np.sqrt(((minimisers - center) ** 2).sum(1).mean())
    expected = spec["heterogeneity"] if spec["clients"] > 1 else 0.0
    np.testing.assert_allclose(spread, expected, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(center), 1.0, rtol=1e-8)


@given(specs)
@settings(max_examples=40, deadline=None)
def test_coupling_is_the_size_of_the_off_diagonal_block(spec):
    """Its largest singular value is at least (S - mu) coupling / 2: the first pair."""
    problem, cut = build(spec)
    largest = np.linalg.svd(problem.H[:, :cut, cut:], compute_uv=False)[:, 0]
    expected = spec["coupling"] / 2 * (spec["S"] - spec["mu"])
    np.testing.assert_allclose(largest, expected, atol=1e-9)


@given(specs, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_gradient_is_the_derivative_of_the_loss(spec, replicas):
    problem, _ = build(spec)
    torch.manual_seed(spec["seed"])
    shape = (problem.clients, problem.dimension, replicas)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(problem.loss(x * 1.0).sum(), x)
    torch.testing.assert_close(problem.gradient(x.detach()), expected)
    rows = torch.tensor([problem.clients - 1, 0, 0])
    torch.testing.assert_close(
        problem.gradient(x.detach()[rows], clients=rows), expected[rows]
    )


def test_noise_has_the_stated_total_variance_and_ignores_the_batch():
    noise = np.array([0.0, 2.0, 8.0])
    one = random_quadratic(3, 4, 5.0, 1.0)
    problem = Quadratic(one.H, one.b, one.x0, 2, noise)
    seeds = np.arange(4000)
    keys = streams.keys(
        seeds[None], streams.Purpose.MINIBATCH, 0, np.arange(3)[:, None]
    )
    draw = problem.draw(Sampling(7), keys)
    assert draw.shape == (3, 4, 4000)
    np.testing.assert_allclose(draw.square().mean(2).sum(1), noise, rtol=0.1)
    x = problem.start(2).expand(3, 4, 2)
    np.testing.assert_allclose(
        problem.variance(x, Sampling()).sum(1), np.tile(noise[:, None], 2)
    )
    alone = problem.draw(Sampling(), keys[2:, :5], np.array([2]))
    torch.testing.assert_close(alone, draw[2:, :, :5], rtol=0, atol=0)
    assert one.draw(Sampling(), keys) is None


@given(specs, st.floats(0, 3))
@settings(max_examples=40, deadline=None)
def test_nothing_in_the_ball_exceeds_its_constants(spec, radius):
    problem, _ = build(spec, noise=0.7)
    rng = np.random.default_rng(spec["seed"])
    a = rng.dirichlet(np.ones(problem.clients))
    center = rng.normal(size=problem.dimension)
    ball = problem.on_ball(center, radius, Sampling(), a)
    u = rng.normal(size=(problem.dimension, 60))
    x = center[:, None] + radius * u / np.linalg.norm(u, axis=0)
    g = problem.full_gradients(torch.from_numpy(x)).numpy()
    mean = np.tensordot(a, g, 1)
    assert ((g**2).sum(1) + 0.7 <= ball.G2 * (1 + 1e-9)).all()
    assert (((g - mean) ** 2).sum(1) <= ball.eps2 * (1 + 1e-9) + 1e-18).all()
    np.testing.assert_array_equal(ball.sigma2, 0.7)


def valid():
    H = np.stack([np.diag([1.0, 2.0, 3.0])] * 2)
    return {"H": H, "b": np.ones((2, 3)), "x0": np.zeros(3), "cut": 1}


def write(path, **changes):
    arrays = {k: v for k, v in (valid() | changes).items() if v is not None}
    np.savez(path, **arrays)
    return path


def test_a_file_is_read_as_written(tmp_path):
    problem = read_quadratic(write(tmp_path / "mine.npz", noise=np.array([0.5, 1.0])))
    assert problem.name == "quadratic:mine.npz"
    assert (problem.clients, problem.dimension) == (2, 3)
    assert (problem.S, problem.mu, problem.default_cut) == (3.0, 1.0, "1")
    np.testing.assert_array_equal(problem.noise, [0.5, 1.0])


SKEW = np.zeros((2, 3, 3))
SKEW[1, 0, 2] = 1e-9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"H": None}, "missing H"),
        ({"x0": None, "cut": None}, "missing x0, cut"),
        ({"nois": np.ones(2)}, "unknown array nois"),
        ({"H": np.eye(3)}, r"H must have shape \(N, d, d\)"),
        ({"H": np.zeros((2, 3, 3))}, "H must not be zero"),
        ({"H": np.ones((2, 1, 1))}, "d >= 2"),
        ({"H": valid()["H"] + SKEW}, "H must be symmetric"),
        ({"H": valid()["H"] * np.nan}, "H must be finite"),
        ({"H": valid()["H"] * 1j}, "H must be real"),
        ({"b": np.ones((3, 2))}, "b must have shape"),
        ({"b": np.full((2, 3), np.inf)}, "b must be finite"),
        ({"x0": np.ones(2)}, "x0 must have shape"),
        ({"cut": 0}, r"cut must lie in 1\.\.2"),
        ({"cut": 3}, r"cut must lie in 1\.\.2"),
        ({"cut": 1.5}, "cut must be one integer"),
        ({"cut": np.array([1, 2])}, "cut must be one integer"),
        ({"noise": np.array([1.0, -1.0])}, "noise must be >= 0"),
        ({"noise": np.ones(3)}, "noise must have shape"),
        ({"H": np.stack([np.diag([0.0, 1.0, 1.0])] * 2)}, "no minimiser"),
        ({"H": np.array([object()] * 2)}, "not an .npz of plain numbers"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path, changes, message):
    path = write(tmp_path / "bad.npz", **changes)
    with pytest.raises(ValueError, match=message) as error:
        read_quadratic(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


def test_files_that_are_no_archive_are_refused(tmp_path):
    with pytest.raises(ValueError, match="No such file"):
        read_quadratic(tmp_path / "absent.npz")
    (tmp_path / "text.npz").write_text("H = 3")
    with pytest.raises(ValueError, match=r"plain numbers|cannot be read"):
        read_quadratic(tmp_path / "text.npz")
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 truncated")
    with pytest.raises(ValueError, match=r"plain numbers|cannot be read"):
        read_quadratic(tmp_path / "cut.npz")
    np.save(tmp_path / "one.npy", np.eye(3))
    with pytest.raises(ValueError, match=r"expected an \.npz archive"):
        read_quadratic(tmp_path / "one.npy")


def test_convexity_is_read_off_the_eigenvalues():
    H = np.stack([np.diag([1.0, 2.0, 3.0]), np.diag([0.0, 1.0, 1.0])])
    b = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    general = Quadratic(H, b, np.zeros(3), 1)
    assert (general.convexity, general.mu, general.S) == ("general_convex", 0.0, 3.0)
    H[1, 0, 0] = -5.0
    saddle = Quadratic(H, b, np.zeros(3), 1)
    assert (saddle.convexity, saddle.mu, saddle.S) == ("non_convex", None, 5.0)


def test_whether_a_minimiser_exists_depends_on_the_weights():
    H = np.stack([np.diag([0.0, 1.0])] * 2)
    b = np.array([[1.0, 0.0], [-3.0, 0.0]])
    with pytest.raises(ValueError, match="no minimiser"):
        Quadratic(H, b, np.zeros(2), 1)
    kept = Quadratic(H, b, np.zeros(2), 1, weights=np.array([0.75, 0.25]))
    assert kept.convexity == "general_convex"


@pytest.mark.parametrize(
    "changes",
    [
        {"clients": 0},
        {"dimension": 1},
        {"mu": 6.0},
        {"mu": -1.0},
        {"S": np.inf},
        {"heterogeneity": -1.0},
        {"coupling": 1.1},
        {"cut": 4},
        {"noise": -1.0},
    ],
)
def test_impossible_random_quadratics_are_refused(changes):
    arguments = {"clients": 2, "dimension": 4, "S": 5.0, "mu": 1.0} | changes
    with pytest.raises(ValueError, match=r"."):
        random_quadratic(**arguments)
