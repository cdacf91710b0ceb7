"""Bends may be concave: what is said of curvature and of minima is true of them, too.

A condition that accepts a function is compared with the function at many points.
"""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product
from random import Random

import pytest

from sfl_theory.kernel.conditions import _below, _least
from sfl_theory.kernel.models import Bend, Shape

POINTS = [Q(k, 4) for k in range(-24, 25, 3)] + [Q(k) for k in (-500, -60, 60, 500)]


def bend(rng: Random, size: int) -> Bend:
    slope = [Q(0)] * size
    slope[rng.randrange(size)] = Q(rng.choice((-2, -1, 1, 3)))
    weight, shift = Q(rng.randint(-3, 3)), Q(rng.randint(-8, 8), 4)
    return Bend(weight, tuple(slope), shift, Q(rng.randint(1, 8), 4))


def shape(rng: Random, size: int) -> Shape:
    """Return a function of each coordinate alone, added up."""
    curved = [Q(rng.choice((-1, 0, 0, 1, 2))) for _ in range(size)]
    rows = tuple(
        tuple(c if p == q else Q(0) for q in range(size)) for p, c in enumerate(curved)
    )
    linear = tuple(Q(rng.randint(-3, 3), 2) for _ in range(size))
    bends = tuple(bend(rng, size) for _ in range(rng.randint(0, 3)))
    return Shape(rows, linear, bends)


def best_seen(F: Shape, size: int) -> tuple[Q, ...]:
    """Return the best point of a coordinate-wise search among many."""
    x = (Q(0),) * size
    for p in range(size):
        ends = [
            (b.shift + w) / b.slope[p]
            for b in F.bends
            if b.slope[p]
            for w in (b.width, -b.width)
        ]
        tried = {*POINTS, *ends}
        for z in [*tried]:
            g = F.gradient((*x[:p], z, *x[p + 1 :]))[p]
            for h in (Q(1), *(Q(n, 2) for n in range(1, 14))):
                tried.add(z - g / h)
        x = min(
            ((*x[:p], z, *x[p + 1 :]) for z in sorted(tried)), key=lambda y: F.value(y)
        )
    return x


@pytest.mark.parametrize("size", [1, 2])
def test_what_is_said_to_be_least_is(size: int) -> None:
    """No point of a grid, near or far, is below; and true minima are accepted."""
    rng, accepted = Random(size), 0
    for _ in range(100 if size == 1 else 40):
        F = shape(rng, size)
        found = best_seen(F, size)
        near = (found[0] + Q(1, 16), *found[1:])
        for star in (found, near, (Q(rng.randint(-8, 8), 4),) * size):
            if _least(F, star):
                accepted += star == found
                value = F.value(star)
                grid = POINTS if size == 1 else POINTS[::4]
                assert all(value <= F.value(x) for x in product(grid, repeat=size))
                assert value <= F.value(found)
    assert accepted > (30 if size == 1 else 8)


def test_functions_that_mix_coordinates_are_not_decided() -> None:
    """A minimum along each axis need not be one: x^2 + y^2 - 4xy."""
    rows = ((Q(2), Q(-4)), (Q(-4), Q(2)))
    assert not _least(Shape(rows, (Q(0), Q(0))), (Q(0), Q(0)))
    plain = ((Q(2), Q(0)), (Q(0), Q(2)))
    ridge = Bend(Q(-3, 2), (Q(1), Q(1)), Q(0), Q(1))
    assert _least(Shape(plain, (Q(0), Q(0))), (Q(0), Q(0)))
    assert not _least(Shape(plain, (Q(0), Q(0)), (ridge,)), (Q(0), Q(0)))


@pytest.mark.parametrize("lower", [1, -1])
def test_the_higher_of_two_wells_is_not_the_least_point(lower: int) -> None:
    """x^2/2 - 4 h(x) has wells at 4 and -4, beyond the ends of its bend; a tilt."""
    roof = Bend(Q(-4), (Q(1),), Q(0), Q(1))
    F = Shape(((Q(1),),), (Q(-lower, 8),), (roof,))
    wells = {side: (side * 4 + Q(lower, 8),) for side in (1, -1)}
    assert not any(F.gradient(well)[0] for well in wells.values())
    assert _least(F, wells[lower]) and not _least(F, wells[-lower])


def test_a_slope_that_falls_for_ever_has_no_least_point() -> None:
    """-|x| beyond its bend, and -x^2."""
    roof = Bend(Q(-1), (Q(1),), Q(0), Q(1))
    for x in (-2, -1, 0, 1, 2):
        assert not _least(Shape(((Q(0),),), (Q(0),), (roof,)), (Q(x),))
        assert not _least(Shape(((Q(-1),),), (Q(0),)), (Q(x),))


def test_bounds_of_the_curvature_hold_at_every_point() -> None:
    """Where H <= c or H >= c is accepted, the second difference says so, too."""
    rng, accepted, step = Random(5), 0, Q(1, 1000)
    for _ in range(120):
        F = shape(rng, 1)
        for scale, c in product((1, -1), (Q(-2), Q(0), Q(1), Q(4))):
            if _below(F, scale, c):
                accepted += bool(F.bends)
                for x in POINTS:
                    ahead, behind = (F.gradient((x + s,))[0] for s in (step, -step))
                    assert scale * (ahead - behind) <= 2 * c * step
    assert accepted > 60


@pytest.mark.parametrize(("weight", "up", "down"), [(2, 3, -1), (-2, 1, 1)])
def test_one_bend_bounds_the_curvature_where_it_bends(
    weight: int, up: int, down: int
) -> None:
    """x^2/2 and a bend: curvature 1 and 1 + weight; no smaller constant is accepted."""
    F = Shape(((Q(1),),), (Q(0),), (Bend(Q(weight), (Q(1),), Q(0), Q(1)),))
    assert _below(F, 1, Q(up)) and not _below(F, 1, Q(up) - Q(1, 100))
    assert _below(F, -1, Q(down)) and not _below(F, -1, Q(down) - Q(1, 100))
