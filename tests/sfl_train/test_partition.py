"""Partitions contain every sample once, feed every client, and repeat."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_train.data import load
from sfl_train.partition import heterogeneity, partition, weights

specs = st.sampled_from([
    "iid",
    "dirichlet:1",
    "dirichlet:100",
    "blocks:0",
    "blocks:0.6",
    "blocks:1",
])


@st.composite
def cases(draw):
    samples = draw(st.integers(30, 120))
    clients = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    if draw(st.booleans()):
        return draw(specs), rng.normal(size=samples), clients, seed
    return draw(specs), rng.integers(0, 4, samples), clients, seed


@given(cases())
@settings(max_examples=80, deadline=None)
def test_every_sample_once_no_client_empty_and_repeatable(case):
    parts = partition(*case)
    spec, labels, clients, _ = case
    assert len(parts) == clients
    assert all(part.size and part.dtype == np.int64 for part in parts)
    assert all((np.diff(part) > 0).all() for part in parts)
    np.testing.assert_array_equal(
        np.sort(np.concatenate(parts)), np.arange(len(labels))
    )
    for part, again in zip(parts, partition(*case), strict=True):
        np.testing.assert_array_equal(part, again)
    if not spec.startswith("dirichlet"):
        sizes = [part.size for part in parts]
        assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("spec", ["iid", "dirichlet:1", "blocks:0.5"])
def test_the_seed_matters(spec):
    y = load("digits").y
    first, second = partition(spec, y, 5, 0), partition(spec, y, 5, 1)
    assert any(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_blocks_of_all_samples_are_sorted_by_label():
    y = load("digits").y
    parts = partition("blocks:1", y, 10, 3)
    for left, right in pairwise(parts):
        assert y[left].max() <= y[right].min()


@given(st.floats(0, 1), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_blocks_deal_the_given_fraction(ratio, seed):
    """Ten equal classes, ten clients: R of a client is one class, the rest uniform."""
    y = np.repeat(np.arange(10), 200)
    own = [
        np.diag(heterogeneity(y, partition(f"blocks:{ratio}", y, 10, one)).histograms)
        for one in range(seed, seed + 8)
    ]
    expected = 200 * (ratio + (1 - ratio) / 10)
    assert np.abs(np.array(own) - expected).mean() < 0.07 * 200


def test_dirichlet_is_per_class_over_clients():
    """Given a class, the share of one client is Beta(b, (N-1) b): its variance."""
    y = np.repeat(np.arange(200), 300)
    beta, clients = 2.0, 4
    counts = heterogeneity(y, partition(f"dirichlet:{beta}", y, clients, 0)).histograms
    shares = counts / 300
    np.testing.assert_allclose(shares.sum(0), 1.0)
    total = clients * beta
    variance = beta * (total - beta) / (total**2 * (total + 1))
    assert abs(shares.mean() - 0.25) < 1e-9
    np.testing.assert_allclose(shares.var(), variance, rtol=0.15)


def test_smaller_beta_is_more_heterogeneous():
    y = load("digits").y
    distance = [
        heterogeneity(y, partition(spec, y, 10, 0)).total_variation.mean()
        for spec in ("iid", "dirichlet:10", "dirichlet:0.3", "blocks:1")
    ]
    assert distance == sorted(distance)
    assert distance[-1] > 0.7


def test_heterogeneity_of_a_hand_computed_example():
    report = heterogeneity(
        np.array([0, 0, 1, 1]), (np.array([0, 1]), np.array([2]), np.array([3]))
    )
    np.testing.assert_array_equal(report.histograms, [[2, 0], [0, 1], [0, 1]])
    np.testing.assert_array_equal(report.pool, [2, 2])
    np.testing.assert_allclose(report.total_variation, 0.5)


def test_natural_is_the_groups():
    data = load("diabetes")
    for clients in (None, 2):
        parts = partition("natural", data.y, clients, 0, data.groups)
        assert len(parts) == 2
        assert all(np.ptp(data.groups[part]) == 0 for part in parts)


@pytest.mark.parametrize(
    ("spec", "clients", "message"),
    [
        ("iid", 0, "at least 1"),
        ("iid", None, "at least 1"),
        ("iid", -3, "at least 1"),
        ("iid", 21, "21 cannot share 20 samples"),
        ("iid:3", 2, "unknown partition"),
        ("sorted", 2, "iid, dirichlet:BETA, blocks:R or natural"),
        ("blocks", 2, "needs a number"),
        ("blocks:x", 2, "needs a number"),
        ("blocks:1.2", 2, r"\[0, 1\]"),
        ("blocks:nan", 2, r"\[0, 1\]"),
        ("dirichlet:0", 2, "positive"),
        ("dirichlet:inf", 2, "positive"),
        ("dirichlet:1e-6", 15, "left a client empty in each of 200 draws"),
        ("natural", None, "needs data with groups"),
    ],
)
def test_refused_in_one_line(spec, clients, message):
    with pytest.raises(ValueError, match=message) as error:
        partition(spec, np.arange(20) % 2, clients, 0)
    assert "\n" not in str(error.value)


def test_natural_refuses_another_number_of_clients():
    data = load("diabetes")
    with pytest.raises(ValueError, match="makes 2 clients"):
        partition("natural", data.y, 3, 0, data.groups)


def test_weights():
    np.testing.assert_allclose(weights("uniform", [1, 3]), [0.5, 0.5])
    np.testing.assert_allclose(weights("size", [1, 3]), [0.25, 0.75])
    np.testing.assert_allclose(weights([0.1, 0.9], [1, 3]), [0.1, 0.9])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("even", "uniform, size"),
        ([1.0], "weights: expected 2"),
        ([0.5, 0.5 + 1e-8], "sum to 1"),
        ([1.5, -0.5], "non-negative"),
        ([float("nan"), 1.0], "finite"),
    ],
)
def test_impossible_weights_are_refused(spec, message):
    with pytest.raises(ValueError, match=message):
        weights(spec, [1, 3])
