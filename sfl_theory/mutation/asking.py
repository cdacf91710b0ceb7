"""The exact model that the kernel is asked about: its units, its size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.conditions import prepared
from sfl_theory.kernel.models import Model
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.many import Many
from sfl_theory.mutation.units import Scales, power, scaled
from sfl_theory.proofs.export import ModelData

PROBED, DIGITS = 16, 4_000
"""Rounds that are tried in fractions, and bits that these may have in a long run."""


def in_units(data: ModelData, e: Many, one: Neighbour, by: Scales) -> ModelData:
    """Return a model in units in which a neighbour is broken, if there are some.

    Args:
        data: the model.
        e: the same, evaluated.
        one: the neighbour, with a summand times a factor.
        by: a change of units that changes the factor.

    Raises:
        ValueError: the neighbour is none of these.
    """
    if one.summand is None or one.factor is None:
        raise ValueError(f"{one.change}: no summand times a factor")
    sides = one.whole.left, one.whole.right, one.summand
    left, right, summand = (float(e.form(side)[0][0, 0]) for side in sides)
    now, grows = float(e.number(one.factor)[0, 0]), power(one.factor, by)
    if summand > 0:
        wanted = min(0.0, np.log2((left - right + summand) / (summand * now)) - 2)
    else:
        wanted = max(0.0, np.log2((right - left - summand) / (-summand * now)) + 2)
    steps = int(np.ceil(abs(wanted) / abs(grows)))
    return scaled(data, by, Fraction(2) ** (steps if wanted * grows > 0 else -steps))


def digits(model: Model, one: Neighbour, rounds: int) -> int:
    """Return about how many bits the kernel's fractions have after a long run."""
    inside = subterms(one.left, one.right, *one.hypotheses)
    e = prepared(model, inside)
    (run,) = (x for x in inside if isinstance(x, k.Split))
    first, second = (
        max(z.denominator.bit_length() for x in e.iterate(run, t) for z in x)
        for t in (PROBED, 2 * PROBED)
    )
    return second + max(second - first, 0) * rounds // PROBED


def mentioned(data: ModelData, one: Neighbour) -> ModelData:
    """Return a model without the variables that only the other neighbours mention."""
    sides = (one.left, one.right, *one.hypotheses)
    free = {v for part in sides for v in part.free}
    inside = subterms(*sides)
    stars = {s.function for s in inside if isinstance(s, k.Star | h.Minimiser)}
    return replace(
        data,
        numbers={v: x for v, x in data.numbers.items() if v in free},
        families={v: x for v, x in data.families.items() if v in free},
        rates={v: x for v, x in data.rates.items() if v in free},
        named={v: x for v, x in data.named.items() if v in free},
        points={v: x for v, x in data.points.items() if v in free},
        stars={v: x for v, x in data.stars.items() if v in stars},
    )
