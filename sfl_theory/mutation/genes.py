"""Genes of crowds: the numbers of models, at first and of the children of good ones."""

from __future__ import annotations

import numpy as np

from sfl_theory.kernel import terms as k
from sfl_theory.mutation import building
from sfl_theory.mutation.building import POSITIVE, SIGNED, Frame
from sfl_theory.mutation.crowd import Array, NotEvaluatedError
from sfl_theory.mutation.holding import holds
from sfl_theory.mutation.many import Many
from sfl_theory.mutation.reading import Read
from sfl_theory.mutation.ties import residuals as left_over

CROWD, FEW = 128, 24
"""Models of a crowd at most and at least."""
ROOM = 4096
"""Models times outcomes of a crowd."""
FAR_ROOM = 65_536
"""Models times local steps of a crowd that is followed by moments."""
REACH = 14
"""Units of length and of function values are changed by powers of two up to this."""
STEEP = 14
"""A coordinate at rest has a curvature up to this power of two times another's."""
NEARLY, FAINT = 0.5, 14
"""How often a block starts only nearly at rest; it is off by 2^-14 or more."""
FINE = 11
"""Bits of numbers near good models."""
FEW_BITS = 2
"""Bits of numbers with which products over rounds cancel: gamma + t over gamma + s."""
Genes = dict[str, Array]
PLAIN = (1, 0.5, 0.25, 2, 3)
"""Numbers that a condition on rates may ask for."""
UNITS = {"h": (1, -2), "c": (0, 1), "x": (0, 1), "e": (0, 1), "r": (0, 1)}
UNITS |= {"l": (1, -1), "z": (1, -1), "a": (-1, 2)}
OTHERS = ((0, 0), (1, 0), (0, 1), (0, 2), (1, -1), (2, -2), (1, -2), (-1, 2), (-2, 4))


def crowd_size(frame: Frame) -> int:
    """Return how many models a crowd of this frame has."""
    if frame.far:
        made = frame.rounds * frame.steps * frame.clients
        return max(FEW, min(CROWD, FAR_ROOM // max(made, 1)))
    bits = frame.rounds * (frame.steps * frame.noise.count("coin") + sum(frame.drawn))
    return max(FEW, min(CROWD, ROOM >> min(bits, 9)))


def first_genes(frame: Frame, size: int, rng: np.random.Generator) -> Genes:
    """Return random genes: many scales, many zeros, many equal clients."""
    spreads = rng.choice([0.3, 1, 3, 6], size=(size, 1))
    sparse = rng.choice([0, 0.15, 0.5], size=(size, 1))
    out: Genes = {}
    for name, kind in frame.genes.items():
        value = 2 ** (rng.standard_normal((size, 1)) * spreads)
        if kind != POSITIVE:
            value = np.where(rng.random((size, 1)) < sparse, 0, value)
        if kind == SIGNED:
            value = value * rng.choice([-1, 1], size=(size, 1))
        out[name] = value
    chances = 0.2, 0.25, 0.25
    calm, centred, silent = (rng.random((size, 1)) < chance for chance in chances)
    for name, value in out.items():
        if name[:1] == "z" and name[1:].isdigit():
            out[name] = np.where(silent, 0, value)
        if name[:1] in "lcxe" and name[1:].isdigit():
            rest = calm | centred if name[:1] != "x" else calm
            out[name] = np.where(rest, 0, value)
        if name[:1] == "k" and name[1:].isdigit():
            out[name] = np.where(rng.random((size, 1)) < 0.8, 0, value)
        if name[:1] == "u":
            off = np.exp2(-3 * np.abs(rng.standard_normal((size, 1))) - 1)
            out[name] = np.where(rng.random((size, 1)) < 0.7, off, value)
        if name[:2] == "g.":
            steep = 2 ** rng.uniform(-4, 24, size=(size, 1))
            out[name] = np.where(rng.random((size, 1)) < 0.3, steep, value)
            plain = rng.random((size, 1)) < 0.25
            for one, some in (("a", PLAIN), ("g", (0, *PLAIN))):
                fixed = rng.choice(some, size=(size, 1))
                own = one + name[1:]
                out[own] = np.where(plain, fixed, out[own])
    if frame.rest:
        out["o."] = np.exp2(rng.uniform(-3, STEEP, size=(size, 1)))
    if frame.near:
        off = np.exp2(rng.uniform(-FAINT, 0, size=(size, 1)))
        out["y."] = np.where(rng.random((size, 1)) < NEARLY, off, 0)
    light = rng.random((size, 1)) < 0.25
    equal = rng.random((size, 1)) < 0.3
    for name in frame.genes:
        own = name[:1] + "0" + name[2:]
        if name[:1] in "hczlwq" and name[1:2] in "12" and own in out:
            out[name] = np.where(equal, out[own], out[name])
        if name[:1] == "w" and name != "w0":
            out[name] = np.where(light, out["w0"] / 64, out[name])
    rows = in_other_units(stacked(out, frame), frame, rng, 0.5)
    return parted(snapped(rows, bits_of(frame, 7)), frame)


def bits_of(frame: Frame, bits: int) -> int:
    """Return how many bits numbers have: few where a long run is followed exactly."""
    return FEW_BITS if frame.far and frame.turned else bits


def in_other_units(
    rows: Array, frame: Frame, rng: np.random.Generator, share: float
) -> Array:
    """Return some models in other units of function values and of length.

    A curvature is a value over a squared length, a rate the inverse of a curvature; of
    what else a number is, is guessed.
    """
    size = rows.shape[1]
    chosen = rng.random(size) < share
    powers = rng.integers(-REACH, REACH + 1, size=(2, size)) * chosen
    found: Array = np.ldexp(rows, _units(frame, rng) @ powers)
    return found


def _units(frame: Frame, rng: np.random.Generator) -> Array:
    """Return the powers of length and value with which each gene grows."""
    paces = {f"a.{v}" for v in frame.paces}
    out = np.zeros((len(frame.genes), 2), dtype=int)
    for row, name in enumerate(frame.genes):
        if name[:2] == "a.":
            out[row] = UNITS["a"] if name in paces else (0, 0)
        elif name[:2] in ("v.", "f."):
            out[row] = OTHERS[rng.integers(len(OTHERS))]
        elif name[-3:-1] in (".h", ".c"):
            out[row] = UNITS[name[-2]]
        elif name[-2:-1] == ".":
            out[row] = UNITS["x"]
        elif name[1:].isdigit():
            out[row] = UNITS.get(name[0], (0, 0))
    return out


def stacked(genes: Genes, frame: Frame) -> Array:
    """Return genes as a matrix, a gene's row in the order of the frame."""
    return np.stack([genes[name][:, 0] for name in frame.genes])


def parted(rows: Array, frame: Frame) -> Genes:
    """Return the genes whose matrix this is."""
    return {name: a[:, None] for name, a in zip(frame.genes, rows, strict=True)}


def _kinds(frame: Frame) -> tuple[Array, Array]:
    """Return which genes may be 0, and which less."""
    kinds = np.array(list(frame.genes.values()))[:, None]
    return kinds != POSITIVE, kinds == SIGNED


def snapped(value: Array, bits: int) -> Array:
    """Return numbers of few bits, so that fractions stay short."""
    mantissa, exponent = np.frexp(value)
    exponent = np.clip(exponent, -64, 64)
    mantissa = np.trunc(np.ldexp(mantissa, bits))
    return np.ldexp(mantissa, exponent - bits)  # type: ignore[no-any-return]


def children(genes: Genes, frame: Frame, rng: np.random.Generator, size: int) -> Genes:
    """Return perturbed copies of some models."""
    old = len(next(iter(genes.values())))
    parents, others = rng.integers(old, size=size), rng.integers(old, size=size)
    scale = rng.choice([0.03, 0.2, 1.0, 3.0], size=size)
    often = rng.choice([0.08, 0.25, 0.6], size=size)
    mixed = rng.random(size) < 0.2
    every = stacked(genes, frame)
    some, signed = _kinds(frame)
    shape = len(every), size
    swap = mixed & (rng.random(shape) < 0.5)
    value = np.where(swap, every[:, others], every[:, parents])
    moved = value * np.exp2(rng.standard_normal(shape) * scale)
    zero = rng.random(shape)
    moved = np.where(some & (zero < 0.1), 0, moved)
    grown = np.exp2(rng.standard_normal(shape) * 2)
    moved = np.where(some & (value == 0) & (zero < 0.4), grown, moved)
    moved = np.where(signed & (rng.random(shape) < 0.1), -moved, moved)
    moved = np.where(rng.random(shape) < often, moved, value)
    moved = in_other_units(moved, frame, rng, 0.2)
    return parted(snapped(moved, bits_of(frame, 7)), frame)


def nearby(
    genes: Genes, frame: Frame, rng: np.random.Generator, size: int, scale: float
) -> Genes:
    """Return models around some good ones, best first, for a climb.

    A model moves along the difference of two others (Storn and Price, Differential
    evolution, Journal of Global Optimization 11, 1997), in all numbers a little, or in
    a few of them; some numbers become 0, another client's, or far larger or smaller.

    Args:
        genes: of the good models.
        frame: names the genes.
        rng: decides.
        size: how many models are made.
        scale: of the steps, in powers of two.
    """
    old = len(next(iter(genes.values())))
    best = np.floor(old * rng.random(size) ** 2).astype(int)
    one, two = rng.integers(old, size=(2, size))
    way = rng.random(size)
    along, wide, jumps = way < 0.3, (way >= 0.3) & (way < 0.55), way >= 0.9
    factor = rng.choice([-0.5, 0.5, 1.0, 2.0], size=size)
    every = stacked(genes, frame)
    some, signed = _kinds(frame)
    shape = len(every), size
    few = rng.integers(len(every), size=(2, size))
    places = np.arange(len(every))[:, None]
    chosen = (few[0] == places) | (few[1] == places)
    value, a, b = every[:, best], every[:, one], every[:, two]
    both = (a * b > 0) & (value != 0)
    ratio_ = np.where(both, a / np.where(both, b, 1), 1)
    differs = np.where(both, value * np.abs(ratio_) ** factor, value)
    dice = rng.standard_normal(shape) * scale
    step = np.where(wide, dice / 4, np.where(chosen, dice, 0))
    moved = np.where(along, differs, value * np.exp2(step))
    far = value * np.exp2(rng.integers(-12, 13, size=shape))
    off = rng.random(shape)
    far = np.where(some & (off < 0.4), 0, far)
    grown = np.exp2(rng.standard_normal(shape) * 2)
    far = np.where(some & (value == 0) & (off < 0.8), grown, far)
    far = np.where(signed & (rng.random(shape) < 0.2), -far, far)
    same = (rng.random(shape) < 0.2) & (_twins(frame) != places)
    far = np.where(same, value[_twins(frame)[:, 0]], far)
    moved = np.where(jumps & chosen, far, moved)
    return parted(snapped(moved, bits_of(frame, FINE)), frame)


def _twins(frame: Frame) -> Array:
    """Return where the same number of the other one of two clients is, a column."""
    place = {name: row for row, name in enumerate(frame.genes)}
    return np.array([
        place.get(name[:1] + str(1 - int(name[1])) + name[2:], row)
        if name[1:2] in ("0", "1")
        else row
        for name, row in place.items()
    ])[:, None]


def slower(genes: Genes, frame: Frame, factor: float) -> Genes:
    """Return models with rates times a factor, as in longer runs."""
    rates = {f"a.{v}" for v in frame.paces}
    return {
        name: snapped(a * factor, bits_of(frame, FINE)) if name in rates else a
        for name, a in genes.items()
    }


def pushed(frame: Frame, read: Read, genes: Genes, v: k.Var | k.RoundFamily) -> Genes:
    """Return the genes with a parameter at the edge of the conditions on it.

    What the conditions leave is taken for quadratic in the parameter; of its roots the
    largest is taken beyond which, or else the least up to which, all are met.
    """
    name = f"a.{v}" if isinstance(v, k.RoundFamily) else f"v.{v}"
    first = genes[name]

    def evaluated(factor: Array | float) -> Many | None:
        now = genes | {name: snapped(first * factor, bits_of(frame, 7))}
        try:
            return building.build(frame, read, now, exact=False)[1]
        except NotEvaluatedError:
            return None

    def residuals(factor: float) -> list[Array] | None:
        e = evaluated(factor)
        if e is None:
            return None
        some = (one for one in frame.pushed if v in one.free)
        return [r for one in some for _, r in left_over(e, one, None)]

    def met(factor: Array) -> Array:
        e = evaluated(factor)
        out = np.ones(first.shape, dtype=bool)
        for one in frame.pushed:
            out &= out & False if e is None else holds(e, one)
        return out

    found = [residuals(2.0**power) for power in (-20, 0, 1)]
    if any(one is None for one in found):
        return genes
    low = high = np.zeros(first.shape)
    for at_0, at_1, at_2 in zip(*found, strict=True):
        for root in _roots(at_0, at_1 - at_0, (at_2 - 2 * at_1 + at_0) / 2):
            low = np.where((low == 0) | ((root > 0) & (root < low)), root, low)
            high = np.maximum(high, root)
    best = np.zeros(first.shape)
    for edge in (high * 1.01, low * 0.999):
        best = np.where((edge > 0) & met(edge), edge, best)
    edge = np.where(best > 0, first * best, first)
    return genes | {name: snapped(edge, bits_of(frame, 7))}


def _roots(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return the roots > 0 of ``a + b f + c (f^2 - f)``, else 0."""
    b = b - c
    flat = np.abs(c) <= 1e-9 * np.abs(b)
    one = np.where(flat, -a / np.where(b == 0, 1, b), 0)
    inside = np.sqrt(np.maximum(b * b - 4 * a * c, 0))
    twice = np.where(flat, 1, 2 * c)
    real = ~flat & (b * b >= 4 * a * c)
    two = [np.where(real, (-b + sign * inside) / twice, one) for sign in (-1, 1)]
    first, second = (np.where(np.isfinite(x) & (x > 0), x, 0) for x in two)
    return first, second
