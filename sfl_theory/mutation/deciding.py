"""Which hypothesis decides which parameter of a crowd."""

from __future__ import annotations

import random
from typing import TypeGuard

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Sort
from sfl_theory.mutation.building import Tie
from sfl_theory.mutation.reading import Read, opened

CONSTANTS = (
    h.Convex,
    h.Smooth,
    h.Majorised,
    h.Variance,
    h.Heterogeneity,
    h.BoundedGradients,
    h.BoundedBlock,
)
"""Hypotheses that name a constant, in the order in which they are tied."""
BOUNDED = frozenset(CONSTANTS[-2:])


def numeric(one: h.Hypothesis) -> bool:
    """Return whether a hypothesis is a condition on parameters."""
    body = opened(one)
    return isinstance(body, h.Holds) and not body.form.expects


def ties_of(
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
                out.append(((one,), v, one in dropped))
    joint = [(own, v) for v, own in _jointly(read, assumed) if v not in tied]
    tied |= {v for _, v in joint}
    held = [one for one in every if isinstance(opened(one), h.Holds)]
    rng.shuffle(held)
    numbers = {one: k.number_of(one.form) for one in assumed if _plain(one)}
    equal = {one for one, z in numbers.items() if -z in numbers.values()}
    held.sort(key=lambda one: (one not in equal, numeric(one)))
    for one in held:
        free = (v for v in _reals(one, read) if v not in tied)
        own = [v for v in free if one in equal or v not in running]
        often = 1 if one in equal else 0.5 if numeric(one) else 0.95
        if own and rng.random() < often:
            v = rng.choice(own)
            tied.add(v)
            out.append(((one,), v, one in dropped))
    return (*out, *((some, v, False) for some, v in joint))


def _jointly(
    read: Read, assumed: frozenset[h.Hypothesis]
) -> list[tuple[k.Var, tuple[h.Holds, ...]]]:
    """Return the numbers that several conditions leave one value, and these.

    ``v >= a, v >= b, (v - a)(v - b) <= 0`` says that v is the larger one of a and b. A
    number comes after those in its conditions, if it can.
    """
    held = [one for one in sorted(assumed, key=str) if isinstance(one, h.Holds)]
    numbers = [(one, k.number_of(one.form)) for one in held if _plain(one)]
    found = {}
    for v in read.reals:
        own = [(one, z.numerator) for one, z in numbers if v in one.free]
        powers = [p.get(v, 0) for _, z in own for _, p in z.products]
        if len(own) > 1 and max(powers) > 1 and _bounded(v, [z for _, z in own]):
            found[v] = tuple(one for one, _ in own)
    out = []
    while found:
        open_ = {
            v: set(found) & {w for one in own for w in one.free}
            for v, own in found.items()
        }
        v = min(found, key=lambda v: (len(open_[v]), str(v)))
        out.append((v, found.pop(v)))
    return out


def _bounded(v: k.Var, conditions: list[Poly]) -> bool:
    """Return whether a condition is one from above on a square of a number."""
    return any(
        c < 0 and powers.get(v, 0) == 2 for z in conditions for c, powers in z.products
    )


def _plain(one: h.Hypothesis) -> TypeGuard[h.Holds]:
    """Return whether a hypothesis is a condition on parameters, for all indices one."""
    return isinstance(one, h.Holds) and numeric(one)


def _reals(one: object, read: Read) -> list[k.Var | k.ClientFamily]:
    free: frozenset[object] = getattr(one, "free", frozenset())
    both: tuple[k.Var | k.ClientFamily, ...] = (*read.reals, *read.families)
    return [v for v in both if v in free]
