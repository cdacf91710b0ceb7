"""How far float64 may be from the value of a form: what cancels leaves its rounding.

A vector that is a difference of others has an absolute error of the size of these, so
the square of one that vanishes, as a gradient at a minimiser, is a rounding error. The
estimates are a few operations' errors times the largest numbers that are added up; a
round that goes much further than all before it enlarges those of earlier rounds, which
is left out of other rounds and in `Far`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.mutation.crowd import Array, Shape
from sfl_theory.mutation.far import Far
from sfl_theory.mutation.many import Many

EPS = 64 * float(np.finfo(float).eps)
"""A few operations' relative error."""
AWAY = 2.0**20
"""How much further a round goes that runs away."""


def error(e: Many, lin: k.Lin) -> Array:
    """Return an estimate of the rounding error of a form that cancels, (models, 1)."""
    out = 0 * e.ones
    for atom, c in lin.coefficients.items():
        found = _error(e, atom) * np.abs(e.number(c))
        out = out + found.max(-1, keepdims=True)
        if min(c.numerator.coefficients.values(), default=0) < 0:
            rounded = _rounded(e, c) * np.abs(e.atom(atom))
            out = out + rounded.max(-1, keepdims=True)
    return out


def _rounded(e: Many, c: Ratio) -> Array:
    """Return the rounding error of a number whose terms cancel, (models, outcomes)."""
    out = 0 * e.ones
    for factor, powers in c.numerator.products:
        term = abs(float(factor)) * e.ones
        for s, power in powers.items():
            term = term * np.abs(e.number(k.symbol(s))) ** power
        out = out + term
    for poly, power in c.denominator:
        out = out / e.number(poly) ** power
    return EPS * out


def _error(e: Many, atom: Any) -> Array:
    if isinstance(atom, k.LinSum):

        def each() -> Array:
            found: Array = np.abs(e.number(atom.weight)) * _error(e, atom.body)
            return found

        return e.summed(atom, each, 0 * e.ones)
    if isinstance(atom, k.Inner):
        far = [reach(e, u) * EPS for u in (atom.left, atom.right)]
        long = [_length(e.atom(u)) for u in (atom.left, atom.right)]
        found: Array = long[0] * far[1] + long[1] * far[0] + far[0] * far[1]
        return found
    if isinstance(atom, k.Value):
        size = reach(e, atom.at)
        steep, tilt = _steep(e.function(atom.function)), _tilt(e, atom.function)
        worth: Array = EPS * (steep * size * size + tilt * size)
        return worth
    return 0 * e.ones


def _length(x: Array) -> Array:
    """Return the largest length of a vector in any outcome, or by its moments."""
    found: Array = np.sqrt((x * x).sum((-2, -1)))[..., None]
    return found


def reach(e: Many, u: Any) -> Array:
    """Return the size of the numbers whose sum a vector is, (models, 1)."""
    if isinstance(u, k.Vec):
        parts = (
            np.abs(e.number(c)).max(-1, keepdims=True) * reach(e, atom)
            for atom, c in u.coefficients.items()
        )
        return sum(parts, 0 * e.ones)
    if isinstance(u, k.VecSum):

        def weighed() -> Array:
            most = np.abs(e.number(u.weight)).max(-1, keepdims=True)
            found: Array = most * reach(e, u.body)
            return found

        return e.summed(u, weighed, 0 * e.ones)
    if isinstance(u, k.Gradient):
        steep = _steep(e.function(u.function))
        return steep * reach(e, u.at) + _tilt(e, u.function)
    if isinstance(u, k.Part | k.Expected):
        return reach(e, u.vector)
    if isinstance(u, k.Iterate | k.LocalPoint):
        t = e.whole(u.round)
        return _visited(e, u.run, t + 1 if isinstance(u, k.LocalPoint) else t)
    if isinstance(u, k.Star):
        return _largest(e.crowd.stars[u.function]) * _condition(e)
    return _largest(e.atom(u))


def _visited(e: Many, run: k.Run, t: int) -> Array:
    """Return the size of what a run has added up until round t."""
    sizes = e.visited.setdefault(run, [_largest(e.crowd.start) * _condition(e)])
    if isinstance(e, Far) and isinstance(run, k.Split):
        if len(sizes) == 1:
            far: Array = np.abs(e.path(run)).max((0, 2, 3))[:, None]
            sizes.append(np.maximum(sizes[0], far))
        return sizes[1]
    shapes = [(F, np.abs(F.linear).sum(-1, keepdims=True)) for F in e.crowd.functions]
    for s in range(len(sizes) - 1, t):
        if isinstance(run, k.Descent):
            shape = e.function(run.function)
            steps, pace = 1, [e.rate(run.rate, s)]
            own = [(shape, np.abs(shape.linear).sum(-1, keepdims=True))]
        else:
            both = [(run.pace(side), e.whole(run.pace(side).steps)) for side in k.Side]
            steps, own = max(many for _, many in both), shapes
            pace = [
                e.rate(one.rate, s * many if isinstance(one, k.Stepwise) else s)
                for one, many in both
            ]
        rate = np.maximum(pace[0], pace[-1])
        far = np.maximum(sizes[s], _largest(e.iterate(run, s)))
        moved, grown = 0 * e.ones, e.ones
        for F, tilt in own:
            moved = np.maximum(moved, rate * (_steep(F) * far + tilt))
            grown = np.maximum(grown, rate * _steep(F) - 1)
        away = _largest(e.iterate(run, s + 1)) > AWAY * sizes[s]
        enlarged = np.where(away, grown**steps, 0) * sizes[s]
        sizes.append(np.maximum(far, steps * moved) + enlarged)
    return sizes[t]


def _largest(x: Array) -> Array:
    """Return the largest entry of a vector in any outcome."""
    found: Array = np.abs(x).max(tuple(range(1, x.ndim)))[:, None]
    return found


def _steep(F: Shape) -> Array:
    found: Array = np.abs(F.curvature).max(-1, keepdims=True) + np.abs(F.mixed)
    bent: Array = F.bend.max(-1, keepdims=True)
    return found + bent


def _tilt(e: Many, function: k.Function) -> Array:
    """Return the size of what a function's slope is made of."""
    if function is not k.MEAN:
        found: Array = np.abs(e.function(function).linear).sum(-1, keepdims=True)
        return found
    parts = zip(e.crowd.weights, e.crowd.functions, strict=True)
    slopes = (a * np.abs(F.linear).sum(-1, keepdims=True) for a, F in parts)
    return sum(slopes, 0 * e.ones)


def _condition(e: Many) -> Array:
    """Return by how much solving for the minimiser of f enlarges errors."""
    F = e.mean
    one, two = F.curvature[:, :1], F.curvature[:, 1:]
    det, cross = one * two - F.mixed**2, F.mixed**2
    found: Array = np.where(det > 0, (one * two + cross) / np.where(det > 0, det, 1), 1)
    return found
