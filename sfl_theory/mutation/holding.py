"""Hypotheses in many models at once: the kernel's conditions, up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.mutation.crowd import Array
from sfl_theory.mutation.many import Many

CLOSE = 1e-9
"""Relative rounding error that is forgiven."""
HUGE = 10**30
"""What is no bound."""


def holds(e: Many, one: h.Hypothesis) -> Array:
    """Return where a hypothesis is true (up to rounding), (models, 1) of bool."""
    if isinstance(one, h.Every):
        out = np.ones(e.ones.shape, dtype=bool)
        for _ in e.some(one):
            out = out & holds(e, one.body)
            if not out.any():
                break
        e.at.pop(one.variable, None)
        return out
    if isinstance(one, h.Holds):
        value, size = e.form(one.form)
        return value >= -size * e.constant(Fraction(CLOSE))
    least, bound = needed(e, one)
    if least is None or bound is None:
        return fair(e, one)
    less = least - bound if isinstance(one, h.Convex) else bound - least
    size = np.abs(bound) + np.abs(least)
    if isinstance(one, h.BoundedGradients) and e.crowd.box is not None:
        less = np.where(_invariant(e, one.run), less, -size - 1)
    return less >= -size * e.constant(Fraction(CLOSE))


def _invariant(e: Many, run: k.Split) -> Array:
    """Return where no step leaves the box; the kernel's condition."""
    own = e.crowd
    low, high = own.box or (own.start, own.start)
    true = np.ones(e.ones.shape, dtype=bool)
    drawn = run.drawn and any(q is not None for q in own.participation)
    if drawn and run.participants is k.Participants.MODELS:
        return true & False
    slack = (high - low) * 1e-9
    ends = [(corner, corner[:, 0]) for corner in own.corners()]
    slopes = [[F.gradient(at)[:, 0] for at, _ in ends] for F in own.functions]
    for p, side in enumerate(k.Side):
        pace = run.pace(side)
        first, *later = (e.rate(pace.rate, t) for t in (0, 1, 7))
        for rate in later:
            true &= rate <= first * (1 + 1e-9)
        alone = run.kind.shared and side is k.Side.SERVER
        if drawn and not alone and e.whole(pace.steps) > 1:
            return true & False
        for n, (q, law) in enumerate(zip(own.participation, own.noise, strict=True)):
            rate = first if q is None or not drawn else first / q
            reach = 0 * low if law is None else np.abs(law[0])
            for (_, end), g in zip(ends, slopes[n], strict=True):
                for sign in (-1, 1):
                    new = (end - rate * (g + sign * reach))[:, p : p + 1]
                    ok = new <= (high + slack)[:, p : p + 1]
                    true &= ok & (new >= (low - slack)[:, p : p + 1])
    return true


def fair(e: Many, one: h.Hypothesis) -> Array:
    """Return where a hypothesis without a constant is true."""
    true = np.ones(e.ones.shape, dtype=bool)
    if isinstance(one, h.Unbiased):
        biased = any(law is not None and not law[1] for law in e.crowd.noise)
        return true & (not biased)
    if isinstance(one, h.Minimiser):
        shape = e.function(one.function)
        at = e.crowd.stars.get(one.function)
        if at is None:
            return true & False
        flat = np.abs(shape.gradient(at)).sum((1, 2))[:, None]
        size = np.abs(shape.linear).sum(-1, keepdims=True)
        found: Array = (shape.lowest >= 0) & (
            flat <= size * e.constant(Fraction(CLOSE))
        )
        return found
    return true


def needed(e: Many, one: h.Hypothesis) -> tuple[Array | None, Array | None]:
    """Return the constant that a hypothesis needs, and the one that it names."""
    if isinstance(one, h.Smooth | h.Majorised):
        F = e.function(one.function)
        top = F.highest
        if isinstance(one, h.Smooth):
            top = np.maximum(top, -F.lowest)
        return top, e.number(one.constant)
    if isinstance(one, h.Convex):
        return e.function(one.function).lowest, e.number(one.modulus)
    if isinstance(one, h.Heterogeneity):
        return _once(e, _spread), e.number(one.bound)
    if isinstance(one, h.Variance):
        return _once(e, _second, e.at[one.client]), e.number(one.bound)
    if isinstance(one, h.BoundedGradients):
        axis = [*k.Side].index(one.side) if isinstance(one, h.BoundedBlock) else None
        return _once(e, _steepest, axis), e.number(one.bound)
    return None, None


def _once(e: Many, make: Callable[..., Array], *about: int | None) -> Array:
    """Return what functions and noise need, computed once."""
    key = (make, *about)
    if key not in e.needs:
        e.needs[key] = make(e, *about)
    return e.needs[key]


def _second(e: Many, n: int, axis: int | None = None) -> Array:
    law = e.crowd.noise[n]
    return 0 * e.ones if law is None else _square(law[0], axis)


def _square(u: Array, axis: int | None) -> Array:
    """Return the square of a vector, or of one coordinate."""
    own = u if axis is None else u[..., axis : axis + 1]
    return (own**2).sum(-1, keepdims=True)  # type: ignore[no-any-return]


def _spread(e: Many) -> Array:
    """Return the largest ``||grad F_n - grad f||^2``; huge if Hessians differ."""
    out, weights = 0 * e.ones, np.stack(e.crowd.weights)
    names = "curvature", "mixed", "bend", "linear"
    every = [np.stack([getattr(F, name) for F in e.crowd.functions]) for name in names]
    for n, F in enumerate(e.crowd.functions):
        # F's number minus f's, sum_m a_m (F - F_m): 0 where all are alike
        curve, cross, bend, tilt = (
            np.abs((weights * (own[n] - own)).sum(0)) for own in every
        )
        other = curve.sum(-1, keepdims=True) + cross
        size = np.abs(F.curvature).sum(-1, keepdims=True)
        same = other <= size * e.constant(Fraction(CLOSE))
        far = ((tilt + bend * F.width) ** 2).sum(-1, keepdims=True)
        out = np.maximum(out, np.where(same, far, e.ones * HUGE))
    return out


def _steepest(e: Many, axis: int | None) -> Array:
    """Return a bound of E||g||^2: everywhere for bends, else on the box."""
    out = 0 * e.ones
    for n, F in enumerate(e.crowd.functions):
        largest = [np.abs(F.linear) + F.bend * F.width]
        if e.crowd.box is not None:
            largest = [F.gradient(corner)[:, 0] for corner in e.crowd.corners()]
        for g in largest:
            out = np.maximum(out, _square(g, axis) + _second(e, n, axis))
    if e.crowd.box is None:
        quadratic = [
            np.abs(F.curvature).sum(-1, keepdims=True) for F in e.crowd.functions
        ]
        curved = sum(quadratic, 0 * e.ones) > 0
        out = np.where(curved, e.ones * HUGE, out)
    return out
