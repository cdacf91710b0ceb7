"""What a hypothesis bounds gets the value that the functions need.

So a bound is met with equality. Where the hypothesis names the parameter itself the
value is read off; else it is found from what is left for the values 0, 1 and 2.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.mutation.crowd import Array
from sfl_theory.mutation.holding import HUGE, needed
from sfl_theory.mutation.many import Many
from sfl_theory.mutation.reading import opened

BOUND = HUGE // 100
"""What is larger is no bound."""


def tie(
    e: Many,
    some: tuple[h.Hypothesis, ...],
    v: k.Var | k.ClientFamily,
    factor: Array,
) -> None:
    """Give a parameter the value with which a hypothesis holds with equality.

    Of several it gets the least one that those linear in it allow. A factor above 1
    leaves room, one below 1 breaks the hypothesis.
    """
    family = isinstance(v, k.ClientFamily)
    old: Any = e.crowd.families[v] if family else e.crowd.numbers[v]  # type: ignore[index]
    before = list(old) if family else [old]
    one = some[0]
    least = _least(e, one, v) if len(some) == 1 else None
    if least is None:
        new = _solved(e, some, v, before, factor)
    else:
        new = list(before)
        below = isinstance(opened(one), h.Convex)
        for place, value in enumerate(before):
            own = [x for n, x in least if n == place]
            if own:
                new[place] = _read(v.sort, value, own, factor, below)
    e.put(v, new if family else new[0])


def _least(e: Many, one: h.Hypothesis, v: object) -> list[tuple[int, Array]] | None:
    """Return what a hypothesis with v itself as bound needs, and for which client.

    None where the bound is another number, or there is none.
    """
    if isinstance(one, h.Every):
        found = [_least(e, one.body, v) for _ in e.some(one)]
        return [x for some in found for x in some or ()] if all(found) else None
    bound = getattr(
        one, "modulus", getattr(one, "constant", getattr(one, "bound", None))
    )
    symbols = bound.numerator.parts if isinstance(bound, Ratio) else ()
    if len(symbols) != 1 or bound != k.symbol(symbols[0]):
        return None
    (symbol,) = symbols
    n = e.at[symbol.client] if isinstance(symbol, k.PerClient) else 0
    if v != (symbol.family if isinstance(symbol, k.PerClient) else symbol):
        return None
    least, _ = needed(e, one)
    return None if least is None else [(n, least)]


def _read(
    sort: Sort, old: Array, least: list[Array], factor: Array, below: bool
) -> Array:
    """Return what bounds numbers from above, or from below."""
    if below:
        high = reduce(np.minimum, (np.where(abs(x) < BOUND, x, HUGE) for x in least))
        found: Array = np.where((high > 0) & (high < BOUND), high / factor, old)
        return found
    low = reduce(np.maximum, (np.where(abs(x) < BOUND, x, 0 * x) for x in least))
    keep = (low <= 0) & (sort is Sort.POSITIVE)
    found = np.where(keep, old, np.maximum(low, 0 * low) * factor)
    return found


def residuals(
    e: Many, one: h.Hypothesis, n: int | None
) -> list[tuple[int | None, Array]]:
    """Return what has to be >= 0 for a hypothesis, and for which client."""
    if isinstance(one, h.Every):
        out = []
        for value in e.some(one):
            out += residuals(e, one.body, value if one.binder is k.CLIENTS else n)
        return out
    if isinstance(one, h.Holds):
        return [(n, e.form(one.form)[0])]
    least, bound = needed(e, one)
    if least is None or bound is None:
        return []
    return [(n, least - bound if isinstance(one, h.Convex) else bound - least)]


def _solved(
    e: Many,
    some: tuple[h.Hypothesis, ...],
    v: k.Var | k.ClientFamily,
    old: list[Array],
    factor: Array,
) -> list[Array]:
    """Return the values of a parameter with which nothing is left."""
    family = isinstance(v, k.ClientFamily)
    size = len(e.crowd.weights)
    found = []
    unit = e.ones
    for value in (0, 1, 2):
        constant = unit * value
        e.put(v, [constant] * size if family else constant)
        found.append([rest for one in some for rest in residuals(e, one, None)])
        if not value and not e.crowd.exact:
            for _, rest in found[0]:
                here = np.abs(rest)
                unit = np.maximum(unit, np.where(here < BOUND, here, 1))
    new = list(old)
    for place in range(len(new)):
        low = high = None
        for (n, r0), (_, r1), (_, r2) in zip(*found, strict=True):
            if family and n != place:
                continue
            slope = (r1 - r0) / unit
            odd = np.abs(r2 - 2 * r1 + r0) > 1e-6 * (
                np.abs(r2) + np.abs(r0) + np.abs(r1)
            )
            bound = np.abs(r0) < BOUND
            ok = ~odd.astype(bool) & (slope != 0) & bound.astype(bool)
            edge = -r0 / np.where(ok, slope, e.ones)
            rising, falling = ok & (slope > 0), ok & (slope < 0)
            if rising.any():
                edge_ = np.where(rising, edge, 0 * edge)
                low = edge_ if low is None else np.maximum(low, edge_)
            if falling.any():
                edge_ = np.where(falling, edge, e.ones * HUGE)
                high = edge_ if high is None else np.minimum(high, edge_)
        if low is not None:
            keep = (low <= 0) & (v.sort is Sort.POSITIVE)
            new[place] = np.where(keep, new[place], np.maximum(low, 0 * low) * factor)
        elif high is not None:
            fits = (high > 0) & (high < HUGE / 10)
            new[place] = np.where(fits, high / factor, new[place])
    return new
