r"""Counter-based randomness: every draw is a function of its coordinates.

A stream is named by integers (seed, purpose, round, client, step). Its key is a hash
of that name and its $j$-th word is ``mix(key + (j+1) * GOLDEN)``, i.e. the SplitMix64
generator (Steele, Lea & Flood, OOPSLA 2014) started at the key. Nothing is advanced
and nothing is shared, so the order in which clients are simulated, the cut, the
number of workers and resuming change no draw; and because a key may be an array, one
call draws for all clients and all seeds.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

Keys = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)


class Purpose(IntEnum):
    """What a stream is drawn for; part of its name, so uses never collide."""

    MINIBATCH = 1
    GRADIENT_NOISE = 2
    PARTICIPATION = 3
    VISITING_ORDER = 4
    PARTITION = 5
    INITIAL_POINT = 6
    PROBLEM = 7
    BOOTSTRAP = 8
    AUGMENTATION = 9
    MEASUREMENT = 10
    DATA = 11
    MODULES = 12


def keys(
    seed: ArrayLike,
    purpose: Purpose,
    round: ArrayLike = 0,
    client: ArrayLike = 0,
    step: ArrayLike = 0,
) -> Keys:
    """Return the keys of the streams named by the (broadcast) coordinates.

    Args:
        seed: non-negative integers.
        purpose: what is drawn.
        round: communication round.
        client: identity of the client (not its position in some ordering).
        step: local step.

    Returns:
        Array of uint64 in the broadcast shape of the arguments.
    """
    with np.errstate(over="ignore"):
        key = _mix(_word(seed) + GOLDEN)
        for name in (int(purpose), round, client, step):
            key = _mix((key ^ _word(name)) + GOLDEN)
    return key


def words(key: Keys, count: int) -> NDArray[np.uint64]:
    """Return ``count`` 64-bit words per stream, shape ``key.shape + (count,)``."""
    with np.errstate(over="ignore"):
        offsets = np.arange(1, count + 1, dtype=np.uint64) * GOLDEN
        return _mix(np.asarray(key, np.uint64)[..., None] + offsets)


def uniforms(key: Keys, count: int) -> NDArray[np.float64]:
    """Return uniforms on [0, 1) with 53 random bits, ``key.shape + (count,)``."""
    return (words(key, count) >> np.uint64(11)) * 2.0**-53


def integers(key: Keys, count: int, high: ArrayLike) -> NDArray[np.int64]:
    """Return integers in [0, high), shape ``key.shape + (count,)``.

    Each is ``floor(u * high / 2^32)`` of a 32-bit ``u``; the bias of a probability is
    below ``high * 2^-32``. One 64-bit word gives two integers.

    Args:
        key: stream keys.
        count: draws per stream.
        high: exclusive upper ends below 2^31, broadcastable to ``key.shape``.

    Returns:
        Integers as int64.
    """
    pairs = np.ascontiguousarray(words(key, (count + 1) // 2))
    halves = pairs.view(np.uint32)[..., :count]
    top = np.asarray(high, dtype=np.uint64)[..., None]
    scaled = np.multiply(halves, top, dtype=np.uint64)
    scaled >>= np.uint64(32)
    return scaled.view(np.int64)


def normals(key: Keys, count: int) -> NDArray[np.float64]:
    """Return standard normals by Box-Muller, shape ``key.shape + (count,)``."""
    half = (count + 1) // 2
    u = uniforms(key, 2 * half)
    radius = np.sqrt(-2.0 * np.log1p(-u[..., :half]))
    angle = 2.0 * np.pi * u[..., half:]
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return both[..., :count]


def _word(value: ArrayLike) -> NDArray[np.uint64]:
    return np.asarray(value, dtype=np.int64).astype(np.uint64)


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    # In place: every caller hands over a fresh array (or a scalar, which is rebound).
    z ^= z >> np.uint64(30)
    z *= _MIX1
    z ^= z >> np.uint64(27)
    z *= _MIX2
    z ^= z >> np.uint64(31)
    return z
