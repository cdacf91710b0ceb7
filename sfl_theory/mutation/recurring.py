"""Families over rounds or steps that conditions say one value after another.

What solves ``u(0) = 1`` and ``u(i + 1) = (1 + 2/tau) u(i)`` for all i < tau is no rate
that models can have, but where tau is a number, few values are asked for: the
polynomial through these is one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, ratio

MOST = 8
"""Values of a family at most."""
Equation = tuple[k.BoundNat | None, Poly | None, Ratio]
"""An index, the number of its values, and what is 0 for each of them."""


def recurring(
    assumed: frozenset[h.Hypothesis], wholes: dict[k.Var, int]
) -> dict[k.RoundFamily, Ratio]:
    """Return families that conditions say step by step, as polynomials in the round."""
    sizes: Any = {v: ratio(n) for v, n in wholes.items()}
    out = {}
    for family, start, (index, upper, step) in _recurrences(assumed):
        try:
            size = k.number_at(ratio(upper or 0), sizes).numerator
            count = int(size.coefficients.get((), 0))
            if size.parts or count >= MOST:
                continue
            places: list[dict[Any, Ratio]] = [
                {},
                *({index: ratio(i)} for i in range(count)),
            ]
            numbers = [start, *[step] * count]
            found = _through(family, numbers, [sizes | at for at in places])
        except Rejected:
            continue
        if found is not None:
            out[family] = found
    return out


def _through(
    family: k.RoundFamily, numbers: list[Ratio], places: list[dict[Any, Ratio]]
) -> Ratio | None:
    """Return Newton's polynomial: each equation decides its next coefficient."""
    t = k.symbol(k.ROUND)
    body, product = ratio(0), ratio(1)
    for i, (number, at) in enumerate(zip(numbers, places, strict=True)):
        rest = []
        for y in (0, 1, 2):
            by: Any = {**at, family: k.Rate(body + product * y)}
            value = k.number_at(number, by)
            if value.free:
                return None
            rest.append(value)
        slope = rest[1] - rest[0]
        if not slope or rest[2] - rest[1] - slope:
            return None
        body, product = body - product * (rest[0] / slope), product * (t - i)
    return body


@lru_cache(maxsize=256)
def _recurrences(
    assumed: frozenset[h.Hypothesis],
) -> tuple[tuple[k.RoundFamily, Ratio, Equation], ...]:
    """Return families with conditions in both directions on a start and on a step."""
    found: set[Equation] = set()
    for one in assumed:
        index: k.BoundNat | None = None
        upper: Poly | None = None
        body = one
        if isinstance(one, h.Every) and isinstance(one.variable, k.BoundNat):
            index, body = one.variable, one.body
            upper = one.binder.upper if isinstance(one.binder, k.Steps) else None
        if isinstance(body, h.Holds) and not body.form.coefficients.keys() - {k.UNIT}:
            found.add((index, upper, k.number_of(body.form)))
    both = [(v, most, z) for v, most, z in found if (v, most, -z) in found]
    starts: dict[k.RoundFamily, Ratio] = {}
    steps: dict[k.RoundFamily, Equation] = {}
    for equation in sorted(both, key=str):
        index, upper, number = equation
        own = [s for s in number.numerator.parts if isinstance(s, k.PerRound)]
        families = {s.family for s in own}
        if len(families) != 1:
            continue
        (family,) = families
        rounds = sorted((ratio(s.round) for s in own), key=str)
        if index is None and rounds == [ratio(0)]:
            starts.setdefault(family, number)
        elif index is not None and upper is not None and len(rounds) == 2:
            near = k.symbol(index)
            if {near, near + 1} == set(rounds):
                steps.setdefault(family, equation)
    return tuple((f, starts[f], step) for f, step in steps.items() if f in starts)
