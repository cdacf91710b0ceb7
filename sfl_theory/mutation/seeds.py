"""Known models as the first ones of a search: the one that meets what is assumed.

Conditions on rates round by round, or on where a run starts, leave little room, and a
frame drawn at random rarely meets them. A proof names a model that does.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.mutation import building
from sfl_theory.mutation.building import Frame
from sfl_theory.mutation.deciding import BOUNDED, ties_of
from sfl_theory.mutation.following import followed
from sfl_theory.mutation.frames import length, named
from sfl_theory.mutation.genes import Genes
from sfl_theory.mutation.reading import Read
from sfl_theory.proofs.export import ModelData

ZERO, HALF = Fraction(0), Fraction(1, 2)


def planted(
    data: ModelData, read: Read, assumed: frozenset[h.Hypothesis], rng: random.Random
) -> list[tuple[Frame, Genes]]:
    """Return frames that have a model in them, and its genes, one row each.

    In the first frame the constants are free, in the second they are tied.

    Args:
        data: the model; parabolas and fair coins, else there is no frame.
        read: what the statement speaks of.
        assumed: its hypotheses.
        rng: decides what is tied.
    """
    if len(data.start) != 2 or data.client_size != 1:
        return []
    clients = len(data.weights)
    laws = [_law(law) for law in data.noise] or [("still", (ZERO, ZERO))] * clients
    plain = all(law is not None for law in laws) and all(
        not bends and (not hessian[0][1] or hessian[0][0] == hessian[1][1])
        for hessian, _, bends in data.functions
    )
    wholes = {v: int(data.numbers[v]) for v in read.wholes if v in data.numbers}
    known = {*data.numbers} >= {*read.wholes, *read.reals}
    if not (plain and known) or len(data.functions) != clients:
        return []
    if {*read.rounds} - {*data.rates}:
        return []
    noise = tuple(kind for kind, _ in filter(None, laws))
    chances = data.participation or (Fraction(1),) * clients
    drawn = tuple(q < 1 for q in chances)
    made, rounds = length(read, wholes, clients)
    found = followed(read, assumed, rounds, made, noise, drawn)
    if found is None:
        return []
    moving = {v: r.body for v, r in data.rates.items() if _constant(r.body) is None}
    frames = [
        building.Frame(
            clients=clients,
            wholes=tuple(wholes.items()),
            order=data.order,
            rounds=rounds,
            shape="box" if BOUNDED & read.kinds else "bowl",
            noise=noise,
            drawn=drawn,
            same=False,
            level=None,
            turned=any(hessian[0][1] for hessian, _, _ in data.functions),
            signed=any(
                hessian[p][p] < 0 for hessian, _, _ in data.functions for p in (0, 1)
            ),
            powers=tuple((v, 0) for v in read.rounds),
            paces=tuple(
                v for v in read.rounds if any(v in x.free for x in read.splits)
            ),
            solved=tuple((v, k.ROUND, moving[v]) for v in read.rounds if v in moving),
            ties=ties,
            pushed=(),
            loose=(),
            steps=made,
            far=found,
        )
        for ties in ((), ties_of(read, assumed, frozenset(), rng))
    ]
    out = []
    for bare in frames:
        frame = named(bare, read)
        values = _values(data, frame, read)
        if values is not None:
            genes = {name: values.get(name, Fraction(0)) for name in frame.genes}
            out.append((
                frame,
                {name: np.array([[float(x)]]) for name, x in genes.items()},
            ))
    return out


def _constant(body: Ratio) -> Fraction | None:
    """Return a rate that is the same in every round, else None."""
    return None if body.free or body.denominator else _value(body)


def _value(body: Ratio) -> Fraction:
    return sum((c for c, _ in body.numerator.products), Fraction(0))


def _law(
    law: tuple[tuple[Fraction, tuple[Fraction, ...], tuple[Fraction, ...]], ...],
) -> tuple[str, tuple[Fraction, ...]] | None:
    """Return which kind of noise this is, and its value; None for another kind."""
    (p, value, after), *others = law
    if value != after:
        return None
    if not others:
        return ("biased" if any(value) else "still"), value
    ((q, other, later),) = others if len(others) == 1 else ((0, (), ()),)
    opposite = tuple(-x for x in value)
    fair = p == q == HALF and other == later == opposite
    return ("coin", value) if fair else None


def _values(data: ModelData, frame: Frame, read: Read) -> dict[str, Fraction] | None:
    out: dict[str, Fraction] = {}
    chances = data.participation or (Fraction(1),) * frame.clients
    zero = (ZERO,) * 2
    for n, ((hessian, linear, _), a, q) in enumerate(
        zip(data.functions, data.weights, chances, strict=True)
    ):
        out |= {f"w{n}": a, f"q{n}": 1 / q - 1}
        m = hessian[0][1]
        det = hessian[0][0] * hessian[1][1] - m * m
        for p in (0, 1):
            own = hessian[p][p]
            out[f"h{n}{p}"] = own
            if det:
                top = hessian[1 - p][1 - p] * linear[p] - m * linear[1 - p]
                out[f"c{n}{p}"] = -top / det
            elif own and not m:
                out[f"c{n}{p}"] = -linear[p] / own
            else:
                out[f"l{n}{p}"] = linear[p]
        room = hessian[0][0] - abs(m)
        if m and not room:
            return None
        out[f"m{n}"] = m / room if m else m
        law = _law(data.noise[n]) if data.noise else ("still", zero)
        out |= {f"z{n}{p}": (law[1] if law else zero)[p] for p in (0, 1)}
    for p in (0, 1):
        out |= {f"x{p}": data.start[p], f"r{p}": Fraction(1)}
        for v, (hessian, linear, _) in data.named.items():
            own = hessian[p][p]
            out |= {f"{v}.h{p}": own, f"{v}.c{p}": -linear[p] / own if own else own}
        out |= {f"{v}.{p}": values[0][p] for v, values in data.points.items()}
    out |= {f"v.{v}": x for v, x in data.numbers.items()}
    out |= {
        f"f.{f}.{n}": x for f, xs in data.families.items() for n, x in enumerate(xs)
    }
    for r in read.rounds:
        found = _constant(data.rates[r].body)
        out[f"a.{r}"] = Fraction(1) if found is None else found
    return out
