"""Kinds of long runs that bounds on T rounds are tested with, posed and not drawn.

What a rate hides shows after as many rounds as a model may have, on the simplest
functions: where a biased average drifts from the minimiser, where one block pulls the
other, where one side makes many steps and the other one. There numbers are few, and
rates and steep coordinates are on the scale of the run's length.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import log2

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel.algebra import Sort
from sfl_theory.mutation.building import Frame
from sfl_theory.mutation.crowd import Array
from sfl_theory.mutation.deciding import BOUNDED, ties_of
from sfl_theory.mutation.following import (
    MADE,
    MIXED,
    VISITS,
    followed,
    limit,
    short_enough,
)
from sfl_theory.mutation.frames import (
    alone_of,
    far_of,
    length,
    most_of,
    named,
    order_of,
    pushed_of,
    solved_of,
)
from sfl_theory.mutation.genes import (
    Genes,
    bits_of,
    first_genes,
    parted,
    snapped,
    stacked,
)
from sfl_theory.mutation.reading import Read

LEAST = 64
"""Rounds of a long run at least."""
DRAWN, RESTS = 0.5, 0.5
"""How often clients are drawn, and how often a third coordinate rests."""


@dataclass(frozen=True)
class Family:
    """Runs of one kind.

    Attributes:
        clients: their number.
        turned: whether both blocks are mixed.
        rests: whether the run starts at the minimiser.
        uneven: whether one number of steps is as large as may be, the others 1.
    """

    clients: int
    turned: bool = False
    rests: bool = False
    uneven: bool = False


FAMILIES = (
    Family(2, rests=True),
    Family(1, turned=True),
    Family(1, uneven=True),
    Family(2),
)


def posed(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    dropped: frozenset[h.Hypothesis],
    family: Family,
    rng: random.Random,
) -> Frame | None:
    """Return a frame of a family, or None where a statement has none.

    Args:
        read: what the statement speaks of.
        assumed: what has to hold.
        dropped: what may fail.
        family: of the frame.
        rng: decides the number of rounds and who takes part.
    """
    far, clients = far_of(read), family.clients
    wholes = {v: int(v.sort is Sort.COUNT) for v in read.wholes}
    near = [v for v, least in wholes.items() if least and v not in far]
    if not (read.many and far and limit(read, assumed)):
        return None
    if len(near) < 2 * family.uneven:
        return None
    if family.uneven:
        wholes[rng.choice(near)] = VISITS // clients
    made, _ = length(read, wholes, clients)
    most = min(MIXED, MADE // max(made * clients, 1))
    wholes |= dict.fromkeys(far, int(2 ** rng.uniform(log2(LEAST), log2(most))))
    solved = solved_of(read, assumed, wholes)
    free = all(most_of(x, read, wholes, clients) >= 0 for x in alone_of(read, assumed))
    if solved is None or not free:
        return None
    made, rounds = length(read, wholes, clients)
    random_ = any(run.drawn for run in read.splits) and not family.turned
    drawn = (random_ and rng.random() < DRAWN,) * clients
    noise = ("still",) * clients
    if not followed(read, assumed, rounds, made, noise, drawn):
        return None
    ties = ties_of(read, assumed, dropped, rng)
    pushed, loose = pushed_of(read, assumed, ties)
    frame = Frame(
        clients=clients,
        wholes=tuple(wholes.items()),
        order=order_of(read, made, clients, rng),
        rounds=rounds,
        shape="box" if BOUNDED & read.kinds else "bowl",
        noise=noise,
        drawn=drawn,
        same=True,
        level=2 if family.rests else None,
        turned=family.turned,
        signed=False,
        powers=tuple((v, 0) for v in read.rounds),
        paces=tuple(v for v in read.rounds if any(v in x.free for x in read.splits)),
        solved=solved,
        ties=ties,
        pushed=pushed,
        loose=loose,
        steps=made,
        rest=family.turned or rng.random() < RESTS,
        far=True,
        strong=True,
        posed=True,
    )
    return named(frame, read) if short_enough(frame) else None


def simple_genes(frame: Frame, size: int, rng: np.random.Generator) -> Genes:
    """Return few different numbers, rates on the scale of the run's length."""
    shape = size, 1
    one, made = np.ones(shape), frame.rounds * max(frame.steps, 1)

    def some(*values: float) -> Array:
        return rng.choice(values, size=shape)

    def scale(low: int, high: int) -> Array:
        return np.exp2(rng.integers(low, high + 1, size=shape))

    out = first_genes(frame, size, rng)
    share, first = some(1, 1, 1 / 4, 1 / 16, 1 / 16), rng.random(shape) < 0.5
    for n in range(frame.clients):
        light = share if n else one
        out[f"w{n}"] = np.where(first, light, 1 / light)
        if frame.drawn[n]:
            out[f"q{n}"] = some(1, 1 / 4, 1 / 16, 3)
        for p in (0, 1):
            out[f"c{n}{p}"] = some(0, 1, 1, -1) if n and not frame.turned else 0 * one
            out[f"l{n}{p}"] = 0 * one
    other = np.where(rng.random(shape) < 0.3, some(2, 4, 16, 1 / 2, 1 / 4, 1 / 16), one)
    out |= {"h00": one, "h01": other}
    if frame.turned:
        out["m0"] = some(1, 1, -1, 1 / 2, 2, 3)
    for p in (0, 1):
        out[f"x{p}"], out[f"e{p}"] = some(0, 1, 1, 1 / 4, -1 / 4, -1), 0 * one
    if frame.rest:
        out["o."] = made * scale(-4, 4)
    for v in frame.paces:
        out |= {f"a.{v}": scale(-2, 7) / made, f"g.{v}": 0 * one}
    out |= {f"k{i}": 0 * one for i in range(len(frame.ties))}
    return parted(snapped(stacked(out, frame), bits_of(frame, 7)), frame)
