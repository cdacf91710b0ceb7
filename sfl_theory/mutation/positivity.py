"""Numbers that are >= 0 because others are: multipliers found in float64, then exactly.

``c = sum_j m_j g_j + r`` with known ``g_j >= 0``, monomials ``m_j`` with factors >= 0
and a rest r without negative coefficients shows c >= 0. With every count written as
``1 + v`` the unknown factors are a system of linear equations with a non-negative
solution; active sets (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter
23) find which of them are not 0, fractions their values. The kernel adds it all up.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, Symbol, ratio
from sfl_theory.mutation.crowd import Array

ROWS, COLUMNS = 240, 320
"""Monomials and multiples of what is known, beyond which nothing is tried."""
DEPTH = 3
"""How often what a multiple adds may have to be cancelled by another one."""
POINTS = 400
"""Where a number is tried before multiples are."""
PRODUCTS = 5
"""Up to so many known numbers their products are known, too."""
TINY = 1e-9

Powers = frozenset[tuple[Symbol, int]]
Flat = dict[Powers, Fraction]
Uses = tuple[tuple[r.Theorem, Ratio], ...]


def shown(c: Ratio, known: Sequence[r.Theorem]) -> r.Theorem | None:
    """Return a theorem ``c >= 0`` from theorems on numbers, or None.

    Args:
        c: the number.
        known: theorems without vectors and functions.
    """
    found = uses(c, known)
    if found is None:
        return None
    try:
        return r.combine(found, (), k.constant(c), ())
    except Rejected:
        return None


def uses(c: Ratio, known: Sequence[r.Theorem]) -> Uses | None:
    """Return multiples of theorems on numbers that leave a rest >= 0 by its sorts."""
    if nonnegative(c):
        return ()
    facts = [one for one in known if not nonnegative(k.number_of(one.form))]
    if not facts:
        return None
    wanted = _flat(c.numerator)
    if len(wanted) > ROWS:
        return None
    tops = [_flat(k.number_of(one.form).numerator) for one in facts]
    columns = _columns(wanted, tops)
    if not columns:
        return None
    factors = _solved(wanted, [flat for _, _, flat in columns])
    if factors is None:
        return None
    below = ratio(1)
    for factor, power in c.denominator:
        below = below * ratio(factor) ** power
    out = []
    for (place, powers, _), value in zip(columns, factors, strict=True):
        if value:
            of = k.number_of(facts[place].form)
            by = _number(powers) * value / below
            for poly, power in of.denominator:
                by = by * ratio(poly) ** power
            out.append((facts[place], by))
    return tuple(out)


def with_products(known: Sequence[r.Theorem]) -> list[r.Theorem]:
    """Return theorems on numbers, and those of their products that are short."""
    out = list(known)
    short = [one for one in known if len(k.number_of(one.form).numerator.parts) < 8]
    for one, two in combinations_with_replacement(short[:PRODUCTS], 2):
        try:
            pair = ((one, k.number_of(two.form)),)
            out.append(r.combine(pair, (), None, (two,)))
        except Rejected:
            continue
    return out


def nonnegative(c: Ratio) -> bool:
    """Return whether the sorts alone show that c >= 0, as `Ratio.nonnegative`."""
    low = min(c.numerator.coefficients.values(), default=1)
    return low > 0 or min(_flat(c.numerator).values(), default=1) > 0


@lru_cache(maxsize=4000)
def _flat(poly: Poly) -> Flat:
    """Return a polynomial with 1 + v for every count v."""
    products = poly.shifted().products
    return {frozenset(powers.items()): c for c, powers in products}


def _number(powers: Powers) -> Ratio:
    out = ratio(1)
    for s, power in powers:
        one = k.symbol(s) - 1 if s.sort is Sort.COUNT else k.symbol(s)
        out = out * one**power
    return out


def _times(one: Powers, two: Powers) -> Powers:
    out = dict(one)
    for s, power in two:
        out[s] = out.get(s, 0) + power
    return frozenset(out.items())


def _over(one: Powers, two: Powers) -> Powers | None:
    out = dict(one)
    for s, power in two:
        rest = out.get(s, 0) - power
        if rest < 0:
            return None
        if rest:
            out[s] = rest
        else:
            del out[s]
    return frozenset(out.items())


def negative(c: Ratio, known: Sequence[r.Theorem]) -> bool:
    """Return whether c < 0 somewhere where all that is known is >= 0, up to rounding.

    Sums are symbols of their own here, as they are for the factors and for the kernel,
    so what is negative is shown by neither.
    """
    polys = [c.numerator, *(k.number_of(one.form).numerator for one in known)]
    symbols = sorted({s for poly in polys for s in poly.parts}, key=str)
    place = {s: number for number, s in enumerate(symbols)}
    logs = _points(tuple(s.sort is Sort.COUNT for s in symbols))

    def value(poly: Poly) -> tuple[Array, Array]:
        products = poly.products
        powers = np.zeros((len(products), len(symbols)))
        for row, (_, own) in enumerate(products):
            for s, power in own.items():
                powers[row, place[s]] = power
        terms = np.exp(logs @ powers.T) * np.array([float(x) for x, _ in products])
        return terms.sum(1), np.abs(terms).sum(1)

    with np.errstate(all="ignore"):
        found, size = value(polys[0])
        below = found < -1e-6 * size
        for poly in polys[1:]:
            if not below.any():
                return False
            below &= value(poly)[0] >= 0
    return bool(below.any())


@lru_cache(maxsize=1000)
def _points(counts: tuple[bool, ...]) -> Array:
    """Return logarithms of values of symbols, counts at least 1, (points, symbols)."""
    dice = np.random.default_rng(len(counts))
    scale = dice.choice([0.5, 2.0, 6.0], size=(POINTS, 1))
    logs = dice.standard_normal((POINTS, len(counts))) * scale
    logs = logs - dice.choice([0.0, 4.0, 12.0], size=logs.shape)
    found: Array = np.where(np.array(counts, dtype=bool), np.logaddexp(0, logs), logs)
    return found


def _columns(wanted: Flat, tops: list[Flat]) -> list[tuple[int, Powers, Flat]]:
    """Return multiples that cancel what is negative, and what these bring with them."""
    rows, made = set(wanted), dict[tuple[int, Powers], Flat]()
    todo = {m for m, c in wanted.items() if c < 0}
    for _ in range(DEPTH):
        brought = set[Powers]()
        for m in todo:
            for place, top in enumerate(tops):
                for own, c in top.items():
                    by = _over(m, own) if c < 0 else None
                    if by is None or (place, by) in made:
                        continue
                    flat = {_times(by, o): value for o, value in top.items()}
                    made[place, by] = flat
                    brought |= {o for o, value in flat.items() if value > 0}
                    rows |= flat.keys()
                    if len(made) > COLUMNS or len(rows) > ROWS:
                        return [(*key, flat) for key, flat in made.items()]
        todo = {m for m in brought if wanted.get(m, 0) <= 0}
    return [(*key, flat) for key, flat in made.items()]


def _solved(wanted: Flat, columns: list[Flat]) -> list[Fraction] | None:
    """Return factors >= 0 that leave no negative coefficient of what is wanted."""
    rows = list({m: 0 for flat in (wanted, *columns) for m in flat})
    place = {m: number for number, m in enumerate(rows)}
    a = np.zeros((len(rows), len(columns)))
    for j, flat in enumerate(columns):
        for m, c in flat.items():
            a[place[m], j] = c
    b = np.zeros(len(rows))
    for m, c in wanted.items():
        b[place[m]] = c
    lengths = np.linalg.norm(a, axis=0)
    a, b = a / lengths, b / np.linalg.norm(b)
    x = least_excess(a, b)
    if np.linalg.norm(a @ x[: len(columns)] + x[len(columns) :] - b) > 1e-7:
        return None
    used = [j for j in range(len(columns)) if x[j] > TINY]
    tight = [i for i in range(len(rows)) if x[len(columns) + i] <= TINY]
    found = _exactly(
        [
            [
                *(columns[j].get(rows[i], Fraction(0)) for j in used),
                wanted.get(rows[i], Fraction(0)),
            ]
            for i in tight
        ],
        len(used),
    )
    if found is None or any(value < 0 for value in found):
        return None
    out = [Fraction(0)] * len(columns)
    for j, value in zip(used, found, strict=True):
        out[j] = value
    return out


def least_excess(a: Array, b: Array) -> Array:
    """Return (x, s) >= 0 that minimises ``||a x + s - b||``, by active sets.

    A row whose slack is used is met, so only the others are equations.
    """
    rows, size = a.shape
    x: Array = np.concatenate([np.zeros(size), np.maximum(b, 0)])
    used = x > 0
    for _ in range(2 * (rows + size)):
        rest = b - a @ x[:size] - x[size:]
        slope = np.where(used, -np.inf, np.concatenate([a.T @ rest, rest]))
        best = int(np.argmax(slope))
        if slope[best] <= 1e-10:
            break
        used[best] = True
        while True:
            new, own, slack = np.zeros(size + rows), used[:size], used[size:]
            if own.any():
                some = a[~slack][:, own]
                new[:size][own] = np.linalg.lstsq(some, b[~slack], rcond=None)[0]
            new[size:][slack] = (b - a @ new[:size])[slack]
            bad = used & (new <= 1e-12)
            if not bad.any():
                break
            step = np.min(x[bad] / np.maximum(x[bad] - new[bad], 1e-300))
            x = x + min(step, 1.0) * (new - x)
            used &= x > 1e-12
            x[~used] = 0
            if not used.any():
                return x
        x = new
    return x


def _exactly(table: list[list[Fraction]], unknowns: int) -> list[Fraction] | None:
    """Return the one solution of linear equations, or None."""
    rows = [row for row in table if any(row)]
    for j in range(unknowns):
        pivot = next((i for i in range(j, len(rows)) if rows[i][j]), None)
        if pivot is None:
            return None
        rows[j], rows[pivot] = rows[pivot], rows[j]
        lead = rows[j][j]
        rows[j] = [value / lead for value in rows[j]]
        for i, row in enumerate(rows):
            if i != j and (c := row[j]):
                rows[i] = [x - c * y for x, y in zip(row, rows[j], strict=True)]
    if any(row[-1] for row in rows[unknowns:]):
        return None
    return [row[-1] for row in rows[:unknowns]]
