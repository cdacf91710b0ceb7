"""Vectors of a run that vanish, removed from a sum of inequalities.

A run has noise; where there is none its variance is 0. Such a silent vector z is tested
with another one, v, by ``M/2 ||z + c v/M||^2 >= 0``: with ``||z||^2 <= 0`` that is
``c <z, v> + c^2/(2M) ||v||^2 >= 0``, and M is so large that squares of v, which leave
some room, pay for it. The change of a gradient from p(n,t,0) to x(t), the same point,
is another silent vector; with zeta = 0 the gradients at x* are, too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import atom_of, block, n

if TYPE_CHECKING:
    from sfl_theory.worst_case.assembly import Assembly, Name

ZERO, ONE = Fraction(0), Fraction(1)
LARGE = Fraction(2) ** 90
HALF = LARGE / 2
Place = tuple[int, int | None] | None
"""A noise, the change of a gradient at x(t) (t, None), or the gradients at x*."""


def silence(parts: Assembly) -> None:
    """Remove silent vectors, and pay for the squares that this takes."""
    steps = range(0 if parts.noisy else unrolled.longest(parts.run))
    places: list[Place] = [] if parts.flat is None else [None]
    both: tuple[int | None, ...] = (*steps,) if parts.visits else (None, *steps)
    places += [(t, i) for t in range(parts.rounds) for i in both]
    names = {
        (at, side): _name(parts, at, side) for at in places for side in parts.sides
    }
    paid = dict.fromkeys(names.values(), ZERO)
    means = {parts.mean(name): name for name in paid}
    for z in paid:
        beside = parts.common.take(parts.mean(z))
        if beside:
            parts.linear(z, beside, -ONE)
        own = parts.own.take(z)
        paid[z] += own.pop(z, ZERO)
        for v, c in [*beside.items(), *own.items()]:
            parts.each_squares.append((parts.vector({z: ONE, v: -c / LARGE}), HALF))
            paid[z] += HALF
            price = c**2 / (2 * LARGE)
            if v in paid:
                paid[v] += price
            elif v in means:
                jensen = rules.jensen(
                    k.CLIENTS, n, k.weight(n), parts.vector({means[v]: ONE})
                )
                parts.uses.append((jensen, price))
                paid[means[v]] += price
            else:
                _charge(parts, v, price)
    for at in places:
        costs = {names[at, side]: paid[names[at, side]] for side in parts.sides}
        most = max(ZERO, *costs.values())
        if most:
            parts.add(_silent(parts, at), parts.scale**2 * most)
        for z, cost in costs.items():
            if cost != most:
                parts.each_squares.append((parts.vector({z: ONE}), most - cost))


def _name(parts: Assembly, at: Place, side: k.Side | None) -> Name:
    if at is None:
        return atom_of(block(side, k.gradient(k.Local(n), k.vec(k.Star(k.MEAN)))))
    t, i = at
    return parts.change(t, side) if i is None else parts.sample(t, i, side)[1]


def _charge(parts: Assembly, v: Name, price: Fraction) -> None:
    """Enter a price of ``||v||^2`` that squares of v pay, and of its mean."""
    of_n = parts.of_n(v)
    (parts.own if of_n else parts.common).add(v, v, price)
    flat = k.gradient(k.Local(n), k.vec(k.Star(k.MEAN)))
    flats = {atom_of(block(side, flat)) for side in parts.sides}
    names = [v] if not of_n or v in flats else [v, parts.mean(v)]
    for name in names:
        parts.prices[name] = parts.prices.get(name, ZERO) + price


def _silent(parts: Assembly, at: Place) -> Theorem:
    """Return ``-||z||^2 >= 0`` for a silent vector z, by blocks; averaged at x*."""
    S, uses = parts.S, list[tuple[Theorem, Number]]()
    if at is None and parts.flat is not None:
        z = k.gradient(k.Local(n), k.vec(k.Star(k.MEAN)))
        split = sum_over(rules.blocks(z, z), k.CLIENTS, n, k.weight(n))
        return combine(*[(parts.flat, 1)] + [(split, 1)] * (len(parts.sides) - 1))
    t, i = at or (0, None)
    x, p = parts.x(t), parts.p(t, 0)
    if i is None:
        z = k.gradient(k.Local(n), x) - k.gradient(k.Local(n), p)
        uses = [(derived.lipschitz(k.Local(n), S, x, p), 1)]
        uses += [
            (parts.tested(unrolled.begins(parts.run, side), t, p - x), -(S**2))
            for side in parts.sides
        ]
        if parts.sides != (None,):
            uses.append((rules.blocks(p - x, p - x), -(S**2)))
    else:
        when = parts.first + t
        z = k.noise(parts.run, n, when, i)
        uses = [(derived.variance(parts.run, ratio(0), n, when, ratio(i)), 1)]
    if parts.sides != (None,):
        uses.append((rules.blocks(z, z), 1))
    blocks = (k.norm2(block(side, z)) for side in parts.sides)
    return combine(*uses, target=-sum(blocks, k.Lin({})))
