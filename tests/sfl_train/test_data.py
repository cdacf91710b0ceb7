"""Bundled data are what their names promise."""

from __future__ import annotations

import numpy as np
import pytest

from sfl_train.data import load
from sfl_train.data.bundled import NAMES, raw
from sfl_train.problems.separability import separable


@pytest.mark.parametrize("name", NAMES)
def test_arrays_are_consistent(name):
    data = load(name)
    assert data.name == name
    assert data.X.dtype == np.float64
    assert data.X.shape[0] == data.y.shape[0]
    assert np.isfinite(data.X).all()
    assert "scikit-learn" in data.source
    if data.classes is None:
        assert data.y.dtype == np.float64
    else:
        assert data.y.dtype == np.int64
        np.testing.assert_array_equal(np.unique(data.y), np.arange(data.classes))


def test_loading_twice_gives_independent_arrays():
    first = load("digits")
    first.X[:] = 7.0
    assert load("digits").X.max() == 1.0


def test_digits_are_pixels_over_sixteen_and_parity_is_their_parity():
    digits, parity = load("digits"), load("digits-parity")
    assert (digits.X.min(), digits.X.max()) == (0.0, 1.0)
    np.testing.assert_array_equal(parity.y, digits.y % 2)
    block = digits.X.reshape(-1, 8, 8)[:, 2:4, 4:6].mean((1, 2))
    np.testing.assert_allclose(parity.X[:, 1 * 4 + 2], block, rtol=1e-14)


@pytest.mark.parametrize("name", ["breast_cancer", "breast_cancer-mean", "diabetes"])
def test_standardised(name):
    X = load(name).X
    np.testing.assert_allclose(X.mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.std(0), 1.0, rtol=1e-12)


def test_diabetes_target_is_standardised_and_grouped_by_sex():
    data = load("diabetes")
    np.testing.assert_allclose([data.y.mean(), data.y.std()], [0.0, 1.0], atol=1e-12)
    assert set(data.groups) == {0, 1}
    for code in (0, 1):
        assert np.ptp(data.X[data.groups == code, 1]) == 0.0


def test_which_classes_are_separable():
    """The general-convex problems need data on which a minimiser exists."""

    def with_bias(name):
        data = load(name)
        return np.hstack([data.X, np.ones((len(data.X), 1))]), data.y, data.classes

    assert not separable(*with_bias("digits-parity"))
    assert not separable(*with_bias("breast_cancer-mean"))
    assert separable(*with_bias("breast_cancer"))


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'mnist'.*digits, digits-parity") as error:
        load("mnist")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["digits", "breast_cancer", "diabetes"])
def test_files_read_directly_are_what_scikit_learn_loads(name, monkeypatch):
    """Reading the library's files must not change a number, nor depend on them."""
    from sklearn import datasets

    options = {"scaled": False} if name == "diabetes" else {}
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, **options)
    read = raw(name)
    np.testing.assert_array_equal(read[0], X)
    np.testing.assert_array_equal(read[1], y)
    monkeypatch.setattr("sfl_train.data.bundled.find_spec", lambda _: None)
    for mine, other in zip(raw.__wrapped__(name), read, strict=True):
        np.testing.assert_array_equal(mine, other)
        assert mine is not other
        with pytest.raises(ValueError, match="read-only"):
            other[0] = 0
