"""The names of the command line give the problems they promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sfl_train.problems.minimum import minimum
from sfl_train.problems.named import NAMES, build

STRONG = (
    "softmax:digits",
    "logistic:breast_cancer",
    "ridge:diabetes",
    "quadratic:random",
)
GENERAL = (
    "least-squares:digits",
    "logistic:digits-parity",
    "logistic:breast_cancer-mean",
)


@pytest.mark.parametrize("name", NAMES[:-1])
def test_every_name_builds_a_consistent_problem(name):
    made = build(name, clients=4)
    problem = made.problem
    assert problem.name == name
    assert problem.clients == 4
    np.testing.assert_allclose(made.weights, 0.25)
    assert problem.x0.shape == (problem.dimension,)
    assert problem.default_cut in problem.cuts
    assert all(0 < cut < problem.dimension for cut in problem.cuts.values())
    x = problem.start(2)
    assert x.dtype == torch.float64
    assert problem.full_gradients(x).shape == (4, problem.dimension, 2)
    assert problem.value(x, torch.from_numpy(made.weights)).shape == (2,)
    if made.data is not None:
        assert problem.sizes.sum() == len(made.data.y)


def test_names_have_the_convexity_they_promise():
    for name in STRONG:
        problem = build(name).problem
        assert problem.convexity == "strongly_convex"
        assert 40 < problem.S / problem.mu < 250
    for name in GENERAL:
        problem = build(name).problem
        assert (problem.convexity, problem.mu) == ("general_convex", 0.0)
    network = build("network:digits").problem
    assert (network.convexity, network.S, network.mu) == ("non_convex", None, None)


def test_partition_weights_seed_and_l2_are_passed_on():
    made = build("softmax:digits", 5, "dirichlet:0.5", "size", seed=3, l2=0.7)
    assert made.problem.mu == 0.7
    np.testing.assert_allclose(made.weights, made.problem.sizes / 1797)
    assert np.ptp(made.problem.sizes) > 0
    other = build("softmax:digits", 5, "dirichlet:0.5", "size", seed=4)
    assert not np.array_equal(made.problem.sizes, other.problem.sizes)


def test_natural_partition_takes_its_clients_from_the_groups():
    made = build("ridge:diabetes", partition="natural", weights="size")
    assert made.problem.clients == 2
    assert minimum(made.problem, made.weights).gradient_norm < 1e-10


def test_a_file_gives_its_own_clients(tmp_path):
    path = tmp_path / "own.npz"
    H = np.stack([np.diag([1.0, 2.0, 3.0])] * 2)
    np.savez(path, H=H, b=np.ones((2, 3)), x0=np.zeros(3), cut=2)
    made = build(f"quadratic:{path}", weights=[0.25, 0.75])
    assert made.problem.clients == 2
    assert made.parts is None
    with pytest.raises(ValueError, match="holds 2, but 3"):
        build(f"quadratic:{path}", clients=3)


def test_a_files_minimiser_is_sought_at_the_weights_given(tmp_path):
    path = tmp_path / "flat.npz"
    H = np.stack([np.diag([0.0, 1.0])] * 2)
    b = np.array([[1.0, 0.0], [-3.0, 0.0]])
    np.savez(path, H=H, b=b, x0=np.zeros(2), cut=1)
    made = build(f"quadratic:{path}", weights=[0.75, 0.25])
    assert minimum(made.problem, made.weights).value == 0.0
    for weights, message in (
        ("uniform", "no minimiser"),
        ([0.5, 0.25, 0.25], "expected 2 weights"),
        ([float("nan"), 1.0], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            build(f"quadratic:{path}", weights=weights)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "resnet:cifar"}, "softmax:digits, logistic:breast_cancer"),
        ({"name": "quadratic:"}, "unknown problem"),
        ({"name": "quadratic:absent.npz"}, "No such file"),
        ({"name": "quadratic:random", "l2": 0.1}, "takes no l2"),
        ({"name": "softmax:digits", "clients": 0}, "at least 1"),
        ({"name": "quadratic:random", "clients": 0}, "at least 1"),
        ({"name": "softmax:digits", "l2": 0.0}, "separable"),
        ({"name": "softmax:digits", "partition": "natural"}, "needs data with groups"),
        ({"name": "softmax:digits", "weights": [0.5, 0.5]}, "weights: expected 10"),
    ],
)
def test_refused_in_one_line(arguments, message):
    with pytest.raises(ValueError, match=message) as error:
        build(**arguments)
    assert "\n" not in str(error.value)
