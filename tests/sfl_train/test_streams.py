"""Streams are SplitMix64, and a draw depends on its name alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfl_train import streams
from sfl_train.streams import Purpose

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15

coordinates = st.tuples(*[st.integers(0, 2**40)] * 4)


def mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def splitmix(state: int, count: int) -> list[int]:
    """The published generator: advance by GOLDEN, return the mixed state."""
    out = []
    for _ in range(count):
        state = (state + GOLDEN) & MASK
        out.append(mix(state))
    return out


def key_of(seed: int, purpose: int, round: int, client: int, step: int) -> int:
    key = mix((seed + GOLDEN) & MASK)
    for name in (purpose, round, client, step):
        key = mix(((key ^ name) + GOLDEN) & MASK)
    return key


def test_first_word_of_state_zero_is_the_published_one():
    assert int(streams.words(np.uint64(0), 1)[0]) == 0xE220A8397B1DCDAF


@given(coordinates, st.sampled_from(list(Purpose)), st.integers(1, 9))
@settings(max_examples=50, deadline=None)
def test_keys_and_words_equal_the_scalar_reference(where, purpose, count):
    seed, round, client, step = where
    key = streams.keys(seed, purpose, round, client, step)
    expected = key_of(seed, int(purpose), round, client, step)
    assert int(key) == expected
    assert [int(w) for w in streams.words(key, count)] == splitmix(expected, count)


@given(
    st.lists(st.integers(0, 2**31), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(1, 9),
)
@settings(max_examples=25, deadline=None)
def test_an_array_of_streams_equals_its_streams_one_by_one(seeds, clients, count):
    """No draw depends on which others are drawn with it, nor on their order."""
    highs = np.arange(1, clients + 1)
    together = streams.keys(seeds, Purpose.MINIBATCH, 3, np.arange(clients)[:, None], 1)
    order = np.random.default_rng(0).permutation(clients)
    shuffled = streams.keys(seeds, Purpose.MINIBATCH, 3, order[:, None], 1)
    for draw in (streams.words, streams.uniforms, streams.normals):
        np.testing.assert_array_equal(
            draw(together, count)[order], draw(shuffled, count)
        )
    whole = streams.integers(together, count, highs[:, None])
    for n in range(clients):
        for r, seed in enumerate(seeds):
            alone = streams.keys(seed, Purpose.MINIBATCH, 3, n, 1)
            expected = streams.integers(alone, count, highs[n])
            np.testing.assert_array_equal(whole[n, r], expected)


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 2**31 - 1))
@settings(max_examples=40, deadline=None)
def test_integers_are_scaled_halves_of_the_words(seed, count, high):
    key = streams.keys(seed, Purpose.MINIBATCH)
    halves = []
    for word in splitmix(int(key), count):
        halves += [word & 0xFFFFFFFF, word >> 32]
    expected = [(half * high) >> 32 for half in halves[:count]]
    drawn = streams.integers(key, count, high)
    assert drawn.dtype == np.int64
    assert drawn.tolist() == expected


def test_drawing_leaves_the_keys_as_they_are():
    keys = streams.keys(np.arange(4), Purpose.MINIBATCH)
    before = keys.copy()
    streams.words(keys, 3)
    streams.integers(keys, 3, 7)
    streams.normals(keys, 3)
    np.testing.assert_array_equal(keys, before)


@pytest.mark.parametrize("axis", ["seed", "round", "client", "step", "purpose", "word"])
def test_uniform_along_every_coordinate(axis):
    """Chi-square over 64 cells, for draws that differ in one coordinate only."""
    count = 64 * 400
    where = {"seed": 5, "purpose": Purpose.MINIBATCH, "round": 0, "client": 0}
    if axis == "word":
        u = streams.uniforms(streams.keys(**where), count)
    elif axis == "purpose":
        keys = [
            streams.keys(np.arange(count // 8), purpose) for purpose in list(Purpose)
        ]
        u = streams.uniforms(np.concatenate(keys), 1).ravel()
    else:
        where[axis] = np.arange(count)
        u = streams.uniforms(streams.keys(**where), 1).ravel()
    cells = np.bincount((u * 64).astype(int), minlength=64)
    assert 1e-4 < stats.chisquare(cells).pvalue < 1 - 1e-4


def test_integers_and_normals_have_their_distribution():
    key = streams.keys(11, Purpose.MINIBATCH)
    counts = np.bincount(streams.integers(key, 7 * 3000, 7), minlength=7)
    assert counts.size == 7
    assert stats.chisquare(counts).pvalue > 1e-4
    assert stats.kstest(streams.normals(key, 20_000), "norm").pvalue > 1e-4
