"""Frames and first genes of crowds, drawn for a statement; children of good models."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Sort
from sfl_theory.mutation import building
from sfl_theory.mutation.building import POSITIVE, SIGNED, Frame, Read, Tie, opened
from sfl_theory.mutation.crowd import Array, NotEvaluatedError
from sfl_theory.mutation.holding import holds

BITS = 5
"""Coins and draws of a model that is enumerated."""
LONG = 40
"""Rounds from which on the kernel follows moments."""
FAR = 64
"""Coins of a model that is followed by moments."""
CONSTANTS = (
    h.Convex,
    h.Smooth,
    h.Majorised,
    h.Variance,
    h.Heterogeneity,
    h.BoundedGradients,
)
"""Hypotheses that name a constant, in the order in which they are tied."""
Genes = dict[str, Array]


def numeric(one: h.Hypothesis) -> bool:
    """Return whether a hypothesis is a condition on parameters."""
    body = opened(one)
    return isinstance(body, h.Holds) and not body.form.expects


def drawn_frame(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    dropped: frozenset[h.Hypothesis],
    rng: random.Random,
) -> Frame | None:
    """Return a frame for a neighbour, or None where the dice fell badly.

    Args:
        read: what the statement speaks of.
        assumed: what has to hold.
        dropped: what may fail.
        rng: decides.
    """
    kinds = {type(opened(one)) for one in assumed}
    gone = {type(opened(one)) for one in dropped}
    clients = rng.choice(
        [1, 1, 1, 2, 2, 2, 3] if h.Heterogeneity not in gone else [2, 3]
    )
    wholes = _wholes(read, assumed, clients, rng)
    if wholes is None:
        return None
    steps = [
        _most(run.pace(side).steps, read, wholes, clients)
        for run in read.splits
        for side in k.Side
    ]
    made = max(steps, default=0)
    rounds = max((_last(one, read, wholes, clients) for one in read.inside), default=0)
    visits = any(run.kind.visits for run in read.splits)
    order: list[tuple[int, int]] = []
    if visits:
        order = [(n, 0) for n in range(clients) for _ in range(made)]
        rng.shuffle(order)
        seen = [0] * clients
        for place, (n, _) in enumerate(order):
            order[place] = (n, seen[n])
            seen[n] += 1
    drawn = [
        any(run.drawn for run in read.splits) and n < 2 and rng.random() < 0.7
        for n in range(clients)
    ]
    if sum(drawn) * rounds > BITS:
        drawn = [False] * clients
    law = "coin" if h.Unbiased not in gone or rng.random() < 0.2 else "biased"
    needed = bool(gone & {h.Variance, h.Unbiased})
    noisy = bool(read.splits) and (needed or rng.random() < 0.7)
    noise = [law if noisy and rng.random() < 0.8 else "still" for _ in range(clients)]
    bits = rounds * (made * noise.count("coin") + sum(drawn))
    far = {k.LocalPoint, k.Noise, k.Point, k.Expected, k.Draw}
    spread = bits > BITS and not any(drawn) and not far & {*map(type, read.inside)}
    if spread and (bits > FAR or bits > 4 * rounds):
        return None
    if bits > BITS and not spread:
        if needed:
            return None
        noise = ["still" if one == "coin" else one for one in noise]
    apart = not far & {*map(type, read.inside)} and not any(drawn)
    shape = _shape(kinds, gone, spread, rng)
    convex = h.Convex in kinds or h.Minimiser in kinds
    many = rounds > LONG
    if many and (shape == "bent" or made > 1 or clients > 2):
        return None
    turned = shape != "bent" and not spread and not many and rng.random() < 0.45
    ties = _ties(read, assumed, dropped, rng)
    tied = {v for _, v, _ in ties}
    pushed = tuple(one for one in sorted(assumed, key=str) if numeric(one))
    loose = {
        v
        for one in pushed
        for v in one.free
        if isinstance(v, k.RoundFamily) or (v in read.reals and v not in tied)
    }
    frame = Frame(
        clients=clients,
        wholes=tuple(wholes.items()),
        order=tuple(order),
        rounds=rounds,
        shape=shape,
        noise=tuple(noise),
        drawn=tuple(drawn),
        same=h.Heterogeneity in kinds or rng.random() < 0.4,
        level=rng.choice([None, 0, 1] if turned else [None, None, None, 0, 1]),
        turned=turned,
        signed=shape == "bowl" and not convex and rng.random() < 0.5,
        power=rng.choice([0, 0, 0, -1, -2, 1]),
        ties=ties,
        pushed=pushed,
        loose=tuple(sorted(loose, key=str)),
        steps=made,
        spread=spread,
        long=spread or (rounds > LONG and apart and shape != "bent" and not turned),
    )
    return replace(frame, genes=building.genes_of(frame, read))


def _shape(
    kinds: set[type[h.Hypothesis]],
    gone: set[type[h.Hypothesis]],
    spread: bool,
    rng: random.Random,
) -> str:
    if h.BoundedGradients in kinds:
        return "box" if spread or rng.random() < 0.5 else "bent"
    return "bent" if rng.random() < 0.25 and not spread else "bowl"


def _wholes(
    read: Read, assumed: frozenset[h.Hypothesis], clients: int, rng: random.Random
) -> dict[k.Var, int] | None:
    """Return naturals that meet the conditions on them alone."""
    alone = [
        one.form.coefficients[k.UNIT].numerator
        for one in assumed
        if isinstance(one, h.Holds)
        and not one.form.expects
        and one.free <= {*read.wholes}
        and k.UNIT in one.form.coefficients
    ]
    long = rng.random() < 0.3
    played = any(isinstance(one, k.Split | k.Descent) for one in read.inside)
    some = [0, 0, 0, 1, 2] if played else [0, 0, 1, 2, 5, 20]
    for _ in range(20):
        out = {
            v: rng.choice(some) + (1 if v.sort is Sort.COUNT else rng.choice([0, 1]))
            for v in read.wholes
        }
        far = _far(read) if played else list(out)
        out |= {v: rng.choice([1, 2, 2, 3, 4, 5]) for v in far if played}
        if long and far:
            steps = any(isinstance(one, k.Steps) for one in read.inside)
            more = [1000] if played else [300] if steps else [10**3, 10**6]
            out[rng.choice(far)] = rng.choice([4, 10, 30, *more])
        if all(_most(one, read, out, clients) >= 0 for one in alone):
            return out
    return None


def _far(read: Read) -> list[k.Var]:
    """Return the numbers of all rounds, which may be large."""
    paces = {v for run in read.splits for side in k.Side for v in run.pace(side).free}
    places: list[k.Term] = [one for one in read.inside if isinstance(one, k.Iterate)]
    if any(isinstance(v, k.BoundNat) for one in places for v in one.free):
        places += [one for one in read.inside if isinstance(one, k.Steps)]
    rounds = {v for one in places for v in one.free}
    counts = (v for v in read.wholes if v.sort is Sort.COUNT)
    return [v for v in counts if v in rounds and v not in paces]


def _most(value: Poly, read: Read, wholes: dict[k.Var, int], clients: int) -> int:
    """Return an index, where bound steps have their largest values."""
    out = Fraction(0)
    for c, powers in value.products():
        for s, power in powers.items():
            one = 0
            if isinstance(s, k.Var):
                one = wholes.get(s, 0)
            elif isinstance(s, k.Total):
                one = clients
            elif isinstance(s, k.BoundNat):
                uppers = (
                    _most(b.binder.upper, read, wholes, clients) - 1
                    for b in read.inside
                    if isinstance(b, k.Closed)
                    and isinstance(b.binder, k.Steps)
                    and b.level == s.level
                )
                one = max(uppers, default=0)
            c *= one**power
        out += c
    return int(out)


def _last(one: k.Term, read: Read, wholes: dict[k.Var, int], clients: int) -> int:
    """Return how many rounds a term needs."""
    if isinstance(one, k.Iterate) and isinstance(one.run, k.Split):
        return _most(one.round, read, wholes, clients)
    if isinstance(one, k.LocalPoint | k.Noise | k.Draw | k.Expected):
        return _most(one.round, read, wholes, clients) + 1
    return 0


def _ties(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    dropped: frozenset[h.Hypothesis],
    rng: random.Random,
) -> tuple[Tie, ...]:
    """Return which hypothesis decides which parameter."""
    out: list[Tie] = []
    tied: set[object] = set()
    running = {v for run in read.splits for v in run.free}
    every = sorted(
        assumed | dropped, key=lambda one: (str(type(opened(one))), str(one))
    )
    for kind in CONSTANTS:
        for one in every:
            body = opened(one)
            if type(body) is not kind:
                continue
            bound = (
                body.modulus
                if isinstance(body, h.Convex)
                else getattr(body, "constant", getattr(body, "bound", None))
            )
            own = [v for v in _reals(bound, read) if v not in tied]
            if own and not (one in dropped and rng.random() < 0.4):
                own.sort(key=lambda v: (v.sort is Sort.NONNEGATIVE, str(v)))
                v = own[0]
                tied.add(v)
                out.append((one, v, one in dropped))
    held = [one for one in every if isinstance(opened(one), h.Holds)]
    rng.shuffle(held)
    held.sort(key=numeric)
    for one in held:
        own = [v for v in _reals(one, read) if v not in tied and v not in running]
        if own and rng.random() < (0.5 if numeric(one) else 0.95):
            v = rng.choice(own)
            tied.add(v)
            out.append((one, v, one in dropped))
    return tuple(out)


def _reals(one: object, read: Read) -> list[k.Var | k.ClientFamily]:
    free: frozenset[object] = getattr(one, "free", frozenset())
    both: tuple[k.Var | k.ClientFamily, ...] = (*read.reals, *read.families)
    return [v for v in both if v in free]


# genes


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
    calm, centred = (rng.random((size, 1)) < chance for chance in (0.2, 0.25))
    for name, value in out.items():
        if name[:1] in "lcxe" and name[1:].isdigit():
            rest = calm | centred if name[:1] != "x" else calm
            out[name] = np.where(rest, 0, value)
        if name[:1] == "k" and name[1:].isdigit():
            out[name] = np.where(rng.random((size, 1)) < 0.8, 0, value)
        if name[:1] == "u":
            off = np.exp2(-3 * np.abs(rng.standard_normal((size, 1))) - 1)
            out[name] = np.where(rng.random((size, 1)) < 0.7, off, value)
    equal = rng.random((size, 1)) < 0.3
    for name in frame.genes:
        own = name[:1] + "0" + name[2:]
        if name[:1] in "hczlwq" and name[1:2] in "12" and own in out:
            out[name] = np.where(equal, out[own], out[name])
    return {name: snapped(value) for name, value in out.items()}


def snapped(value: Array) -> Array:
    """Return numbers of seven bits, so that fractions stay short."""
    mantissa, exponent = np.frexp(value)
    exponent = np.clip(exponent, -24, 24)
    return np.ldexp(np.trunc(mantissa * 128) / 128, exponent)  # type: ignore[no-any-return]


def children(genes: Genes, frame: Frame, rng: np.random.Generator, size: int) -> Genes:
    """Return perturbed copies of some models."""
    old = len(next(iter(genes.values())))
    parents, others = rng.integers(old, size=size), rng.integers(old, size=size)
    scale = rng.choice([0.03, 0.2, 1.0, 3.0], size=(size, 1))
    often = rng.choice([0.08, 0.25, 0.6], size=(size, 1))
    mixed = rng.random((size, 1)) < 0.2
    out: Genes = {}
    for name, kind in frame.genes.items():
        value = genes[name][parents]
        swap = mixed & (rng.random((size, 1)) < 0.5)
        value = np.where(swap, genes[name][others], value)
        moved = value * 2 ** (rng.standard_normal((size, 1)) * scale)
        if kind != POSITIVE:
            zero = rng.random((size, 1))
            moved = np.where(zero < 0.1, 0, moved)
            grown = 2 ** (rng.standard_normal((size, 1)) * 2)
            moved = np.where((value == 0) & (zero < 0.4), grown, moved)
        if kind == SIGNED:
            moved = np.where(rng.random((size, 1)) < 0.1, -moved, moved)
        out[name] = np.where(rng.random((size, 1)) < often, moved, value)
    return {name: snapped(value) for name, value in out.items()}


def pushed(frame: Frame, read: Read, genes: Genes, v: k.Var | k.RoundFamily) -> Genes:
    """Return the genes with a parameter at the edge of the conditions on it.

    Of its multiples by powers of two the largest is taken that meets all conditions
    (the smallest where no smaller one does); then it is refined.
    """
    name = f"a.{v}" if isinstance(v, k.RoundFamily) else f"v.{v}"
    first = genes[name]

    def met(factor: Array) -> Array:
        now = genes | {name: snapped(first * factor)}
        try:
            _, e = building.build(frame, read, now, exact=False)
            out = np.ones(first.shape, dtype=bool)
            for one in frame.pushed:
                out &= holds(e, one)
        except NotEvaluatedError:
            return np.zeros(first.shape, dtype=bool)
        return out

    best = np.zeros(first.shape)
    for power in (-20, -14, -10, -7, -4, -2, 0, 2, 4, 8):
        factor = np.full(first.shape, 2.0**power)
        best = np.where(met(factor), factor, best)
    step = 4.0
    for _ in range(5):
        factor = best * step
        best = np.where((best > 0) & met(factor), factor, best)
        step = step**0.5
    return genes | {name: snapped(np.where(best > 0, first * best, first))}
