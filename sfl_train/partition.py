r"""Who holds which sample: partitions of a data set over clients, and their weights.

A partition is a tuple of sorted index arrays, one per client; no sample is in two of
them and none is empty. Together they contain every sample, except where a file leaves
some out or only the first groups are taken. It is a function of the specification, the
labels, the groups, the number of clients and the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfl_train import streams
from sfl_train.index_lists import read_index_lists
from sfl_train.streams import Purpose

Indices = NDArray[np.int64]

REDRAWS = 100
"""A Dirichlet partition is drawn at most this often until no client is empty."""

QUANTILE_BINS = 10
"""Real targets are cut into this many bins of equal count where a class is needed."""


def partition(
    spec: str,
    labels: ArrayLike,
    clients: int | None,
    seed: int,
    groups: ArrayLike | None = None,
) -> tuple[Indices, ...]:
    r"""Distribute the samples over the clients.

    - ``iid``: a random permutation cut into parts whose sizes differ by at most one.
    - ``dirichlet:BETA``: *per class over clients* (flwr's ``DirichletPartitioner``,
      NIID-bench): for every class independently the shares of the clients are drawn
      from $\mathrm{Dir}(\beta\mathbf 1_N)$. It is neither balanced nor Hsu's "per
      client over classes". Redrawn until no client is empty, at most ``2 * REDRAWS``
      times, the second half with the clients in another order for every class (the
      law is symmetric in them).
    - ``blocks:R`` (Huang et al. 2023): a random fraction $R\in[0,1]$ of the samples is
      sorted by label and cut into N blocks of equal size, block n for client n; the
      rest is spread uniformly. Total sizes differ by at most one.
    - ``iid-groups``, ``dirichlet-groups:BETA``, ``blocks-groups:R``: the same, dealing
      whole groups instead of samples, so that all images of a lesion go to one client.
      A group counts as one, whatever its size, with its most frequent label (the
      smallest of several; the mean if the targets are real).
    - ``natural``: one client per group of the data, in the order of their codes; of
      the first N groups if N clients are asked for. Other groups are not used.
    - ``file:PATH``: the lists in a file, see `read_index_lists`.

    Real targets: ``blocks`` sorts by the target itself; ``dirichlet`` takes the
    ``QUANTILE_BINS`` quantile bins of the target for classes.

    Args:
        spec: one of the forms above.
        labels: class indices or real targets, shape (D,).
        clients: number of clients N; for ``natural`` None or at most the number of
            groups; for a file None or the number of its lists.
        seed: of the random draws.
        groups: group code of every sample, shape (D,); used by ``natural`` and the
            kinds that deal groups.

    Returns:
        One sorted index array per client.

    Raises:
        ValueError: if the specification is unknown or its number out of range, if
            there are no clients or more clients than samples, if no draw of the
            Dirichlet partition fed every client, if groups are needed and there are
            none, or if the file is wrong.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.size == 0:
        raise ValueError(
            f"labels must be a non-empty vector, got an array of shape {labels.shape}"
        )
    kind, _, parameter = spec.partition(":")
    if kind == "natural" and not parameter:
        return _natural(labels, clients, groups)
    if kind == "file" and parameter:
        return _listed(spec, read_index_lists(parameter, labels.size), clients)
    if clients is None or clients < 1:
        raise ValueError(f"the number of clients must be at least 1, got {clients}")
    if clients > labels.size:
        raise ValueError(
            f"clients: {clients} cannot share {labels.size} samples without an empty"
            f" client: take at most {labels.size} clients"
        )
    if kind in {"iid-groups", "dirichlet-groups", "blocks-groups"}:
        return _by_groups(spec, labels, clients, seed, groups)
    if kind == "iid" and not parameter:
        return _blocks(labels, clients, seed, 0.0)
    if kind == "blocks":
        ratio = _number(spec, parameter)
        if not 0.0 <= ratio <= 1.0:
            raise ValueError(f"partition {spec!r}: the ratio must lie in [0, 1]")
        return _blocks(labels, clients, seed, ratio)
    if kind == "dirichlet":
        beta = _number(spec, parameter)
        if not 0.0 < beta < np.inf:
            raise ValueError(f"partition {spec!r}: BETA must be positive and finite")
        return _dirichlet(_classes(labels), clients, seed, beta)
    raise ValueError(
        f"unknown partition {spec!r}: choose iid, dirichlet:BETA, blocks:R or natural,"
        " iid-groups, dirichlet-groups:BETA, blocks-groups:R or file:PATH"
    )


def weights(
    spec: str | Sequence[float] | NDArray[np.float64], sizes: ArrayLike
) -> NDArray[np.float64]:
    r"""Return the weights $a_n$ of $f=\sum_na_nF_n$, shape (N,).

    Args:
        spec: ``uniform`` ($1/N$), ``size`` ($D_n/\sum_mD_m$), or the N weights.
        sizes: samples per client, shape (N,).

    Returns:
        Non-negative float64 weights with sum 1.

    Raises:
        ValueError: if the word is unknown, or the numbers are not N finite
            non-negative numbers with sum 1 (to 1e-9).
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    if isinstance(spec, str):
        if spec == "uniform":
            return np.full(sizes.shape, 1.0 / sizes.size)
        if spec == "size":
            return sizes / sizes.sum()
        raise ValueError(
            f"unknown weights {spec!r}: choose uniform, size or a list of numbers"
        )
    given = np.asarray(spec, dtype=np.float64)
    if given.shape != sizes.shape:
        raise ValueError(
            f"weights: expected {sizes.size}, one per client, got {given.size}"
        )
    if not np.isfinite(given).all() or (given < 0).any():
        raise ValueError("weights must be finite and non-negative")
    if abs(given.sum() - 1.0) > 1e-9:
        raise ValueError(f"weights must sum to 1, got a sum of {float(given.sum())!r}")
    return given


@dataclass(frozen=True)
class Heterogeneity:
    r"""How the labels of the clients differ from those of the pool.

    Attributes:
        histograms: samples of each class at each client, shape (N, C); the columns
            are the quantile bins where the target is real.
        pool: their sum over clients, shape (C,).
        total_variation: $\frac12\sum_c|p_n(c)-p(c)|\in[0,1]$, shape (N,).
    """

    histograms: NDArray[np.int64]
    pool: NDArray[np.int64]
    total_variation: NDArray[np.float64]


def heterogeneity(labels: ArrayLike, parts: Sequence[Indices]) -> Heterogeneity:
    """Count the labels of every client and compare them with the pool.

    Args:
        labels: class indices or real targets, shape (D,).
        parts: index arrays of the clients, none empty.

    Returns:
        Label histograms and total-variation distances.
    """
    classes = _classes(np.asarray(labels))
    count = int(classes.max()) + 1
    histograms = np.stack([np.bincount(classes[p], minlength=count) for p in parts])
    pool = histograms.sum(0)
    shares = histograms / histograms.sum(1, keepdims=True)
    distance = 0.5 * np.abs(shares - pool / pool.sum()).sum(1)
    return Heterogeneity(histograms, pool, distance)


def _natural(
    labels: NDArray[np.generic], clients: int | None, groups: ArrayLike | None
) -> tuple[Indices, ...]:
    codes = _codes("natural", labels, groups)
    present = np.unique(codes)
    if clients is not None and not 1 <= clients <= present.size:
        raise ValueError(
            f"partition 'natural' makes {present.size} clients, one per group, but"
            f" {clients} were asked for: take fewer or leave the number out"
        )
    order = np.argsort(codes, kind="stable").astype(np.int64)
    bounds = np.searchsorted(codes[order], present[1:])
    return tuple(np.split(order, bounds)[:clients])


def _listed(
    spec: str, parts: tuple[Indices, ...], clients: int | None
) -> tuple[Indices, ...]:
    if clients is not None and clients != len(parts):
        raise ValueError(
            f"partition {spec!r} lists {len(parts)} clients, but {clients} were asked"
            " for: leave the number out"
        )
    return parts


def _by_groups(
    spec: str,
    labels: NDArray[np.generic],
    clients: int,
    seed: int,
    groups: ArrayLike | None,
) -> tuple[Indices, ...]:
    codes = _codes(spec, labels, groups)
    group = np.unique(codes, return_inverse=True)[1]
    count = int(group.max()) + 1
    if clients > count:
        raise ValueError(
            f"clients: {clients} cannot share {count} groups without an empty client:"
            f" take at most {count} clients"
        )
    if np.issubdtype(labels.dtype, np.floating):
        typical = np.bincount(group, labels.astype(np.float64)) / np.bincount(group)
    else:
        classes, code = np.unique(labels, return_inverse=True)
        # Samples sorted by (group, label): the longest run of a group is its label.
        pair, size = np.unique(group * len(classes) + code, return_counts=True)
        order = np.lexsort((pair, -size, pair // len(classes)))
        first = np.unique(pair[order] // len(classes), return_index=True)[1]
        typical = classes[pair[order][first] % len(classes)]
    dealt = partition(spec.replace("-groups", "", 1), typical, clients, seed)
    holder = np.empty(count, np.int64)
    for n, part in enumerate(dealt):
        holder[part] = n
    return tuple(
        np.flatnonzero(holder[group] == n).astype(np.int64) for n in range(clients)
    )


def _codes(
    spec: str, labels: NDArray[np.generic], groups: ArrayLike | None
) -> NDArray[np.generic]:
    if groups is None:
        raise ValueError(f"partition {spec!r} needs data with groups; this has none")
    codes = np.asarray(groups)
    if codes.shape != labels.shape:
        raise ValueError(
            f"expected one group code per sample, {labels.size}, got {codes.size}"
        )
    return codes


def _blocks(
    labels: NDArray[np.generic], clients: int, seed: int, ratio: float
) -> tuple[Indices, ...]:
    shuffled = _permutation(labels.size, seed)
    chosen = round(ratio * labels.size)
    dealt, rest = shuffled[:chosen], shuffled[chosen:]
    blocks = np.array_split(dealt[np.argsort(labels[dealt], kind="stable")], clients)
    totals = [part.size for part in np.array_split(shuffled, clients)]
    # Both splits give their larger parts to the first clients and chosen <= D, so a
    # block is never larger than the client's total.
    missing = [total - block.size for total, block in zip(totals, blocks, strict=True)]
    spread = np.split(rest, np.cumsum(missing)[:-1])
    return tuple(
        np.sort(np.concatenate(pair)) for pair in zip(blocks, spread, strict=True)
    )


def _dirichlet(
    classes: Indices, clients: int, seed: int, beta: float
) -> tuple[Indices, ...]:
    members = [np.flatnonzero(classes == c) for c in np.unique(classes)]
    for attempt in range(2 * REDRAWS):
        shares: list[list[Indices]] = [[] for _ in range(clients)]
        for c, mine in enumerate(members):
            key = streams.keys(seed, Purpose.PARTITION, round=attempt + 1, client=c)
            generator = np.random.Generator(np.random.Philox(key=int(key)))
            cumulative = np.cumsum(generator.dirichlet(np.full(clients, beta)))
            order = np.argsort(streams.uniforms(key, mine.size), kind="stable")
            cuts = np.round(cumulative[:-1] * mine.size).astype(np.int64)
            # Even shares of few samples are rounded alike in every class, so the same
            # clients go away empty: then who stands where differs from class to class.
            places = np.arange(clients)
            if attempt >= REDRAWS:
                places = generator.permutation(clients)
            for n, piece in zip(places, np.split(mine[order], cuts), strict=True):
                shares[n].append(piece)
        parts = tuple(np.sort(np.concatenate(share)) for share in shares)
        if all(part.size for part in parts):
            return parts
    raise ValueError(
        f"partition 'dirichlet:{beta:g}' left a client empty in each of {2 * REDRAWS}"
        f" draws for {clients} clients: take fewer clients, a larger BETA or another"
        " seed"
    )


def _permutation(count: int, seed: int) -> Indices:
    key = streams.keys(seed, Purpose.PARTITION)
    return np.argsort(streams.uniforms(key, count), kind="stable").astype(np.int64)


def _classes(labels: NDArray[np.generic]) -> Indices:
    """Return class indices; a real target is replaced by its quantile bin."""
    if not np.issubdtype(labels.dtype, np.floating):
        return labels.astype(np.int64)
    rank = np.argsort(np.argsort(labels, kind="stable"), kind="stable")
    return (rank * min(QUANTILE_BINS, labels.size)) // labels.size


def _number(spec: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"partition {spec!r} needs a number after the colon, for example"
            f" {spec.partition(':')[0]}:0.5"
        ) from None
