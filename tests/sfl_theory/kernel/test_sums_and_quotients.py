"""Sums over one denominator, exact division and substitution, at points.

Points are evaluated here, from coefficients and powers alone: neither substitution nor
an operation of the kernel has a part in the value that it is compared with.
"""

from __future__ import annotations

import random
from fractions import Fraction as Q
from math import prod

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import (
    Poly,
    Ratio,
    Rejected,
    Sort,
    added,
    ratio,
)
from sfl_theory.kernel.terms import (
    UNIT,
    Lin,
    Point,
    Var,
    Vec,
    at,
    norm2,
    products,
    symbol,
    vec,
)

pytestmark = pytest.mark.fast

SYMBOLS = [Var(name, Sort.POSITIVE) for name in "abc"]
A, B, C = map(symbol, SYMBOLS)
BELOW = [A, B, A + B, A + 1, 2 * A + B + 3, A**2 + A * B + 5, 7 + A, (7 + A) ** 2]
TWO = Poly.constant(2)
FORTY = settings(deadline=None, max_examples=40)


def polynomial(rng: random.Random, terms: int) -> Poly:
    out = Poly({})
    for _ in range(terms):
        powers = {s: rng.randint(0, 3) for s in SYMBOLS}
        out = out + Poly.product(
            Q(rng.randint(-9, 9), rng.choice((1, 1, 2, 3))), powers
        )
    return out


def number(rng: random.Random) -> Ratio:
    out = ratio(polynomial(rng, rng.randint(1, 4)))
    for _ in range(rng.randint(0, 3)):
        out = out / rng.choice(BELOW)
    return out


def value(of: Ratio, point: list[Q]) -> Q:
    where = dict(zip(SYMBOLS, point, strict=True))

    def here(poly: Poly) -> Q:
        terms = poly.products
        return sum(
            (c * prod(where[s] ** e for s, e in p.items()) for c, p in terms), Q(0)
        )

    return here(of.numerator) / prod(here(f) ** e for f, e in of.denominator)


def points(rng: random.Random) -> list[list[Q]]:
    return [[Q(rng.randint(1, 30), rng.randint(1, 7)) for _ in "abc"] for _ in range(3)]


@FORTY
@given(st.integers(0, 10**9))
def test_a_sum_has_the_sum_of_the_values(seed: int) -> None:
    rng = random.Random(seed)
    parts = [number(rng) for _ in range(rng.randint(0, 6))]
    parts += [-one for one in rng.sample(parts, len(parts) // 3)]
    whole = added(parts)
    for point in points(rng):
        assert value(whole, point) == sum((value(one, point) for one in parts), Q(0))
    assert all(f.positive() and power > 0 for f, power in whole.denominator)
    assert not whole - added(reversed(parts))


@FORTY
@given(st.integers(0, 10**9))
def test_a_sum_of_products_has_the_sum_of_the_values(seed: int) -> None:
    rng = random.Random(seed)
    plain = [ratio(Q(rng.randint(-9, 9), rng.choice((1, 2, 3, 4, 6)))) for _ in "12345"]
    others = [1 / A, 2 / (B + 1), A, *(number(rng) for _ in "12")]
    some = plain + others * (1 - seed % 2)
    pairs = [(rng.choice(some), rng.choice(some)) for _ in range(rng.randint(0, 6))]
    pairs += [(-a, b) for a, b in rng.sample(pairs, len(pairs) // 3)]
    whole = products(pairs)
    for point in points(rng):
        both = (value(a, point) * value(b, point) for a, b in pairs)
        assert value(whole, point) == sum(both, Q(0))
    assert whole == added([a * b for a, b in pairs])
    for c in whole.numerator.coefficients.values():
        assert type(c) is int or c.denominator > 1


def test_a_product_of_plain_numbers_is_not_longer_than_others() -> None:
    long = ratio(Q(1, 2**3000))
    assert products([(long, ratio(3)), (long, ratio(-3))]) == ratio(0)
    with pytest.raises(Rejected, match="bits"):
        products([(long, long)])


@FORTY
@given(st.integers(0, 10**9))
@example(2531010).via("the quotient is 0")
def test_a_quotient_times_the_divisor_is_the_dividend(seed: int) -> None:
    rng = random.Random(seed)
    quotient, divisor = (polynomial(rng, rng.randint(1, 16)) for _ in range(2))
    if not divisor:
        divisor = TWO
    product = quotient * divisor
    assert product.divided(divisor) == quotient
    rest = product + polynomial(rng, rng.randint(1, 2))
    found = rest.divided(divisor)
    assert found is None or found * divisor == rest
    constant = not any(monomial for monomial in divisor.coefficients)
    assert ((product + Poly.constant(1)).divided(divisor) is not None) is constant
    assert product == quotient * divisor, "the dividend is what it was"


@FORTY
@given(st.integers(0, 10**9))
def test_substitution_is_evaluation_at_the_values(seed: int) -> None:
    rng = random.Random(seed)
    of, put = (
        number(rng),
        [rng.choice((*BELOW, A / B, 2 / (A + 1), ratio(3))) for _ in "abc"],
    )
    by = dict(zip(SYMBOLS, put, strict=True))
    replaced = at(of, by)
    for point in points(rng):
        assert value(replaced, point) == value(of, [value(one, point) for one in put])


def test_variables_are_replaced_at_once() -> None:
    a, b, _ = SYMBOLS
    assert at(A * B**2 + A, {a: B, b: A}) == B * A**2 + B


@FORTY
@given(st.integers(0, 10**9))
def test_combinations_add_up_coefficient_by_coefficient(seed: int) -> None:
    rng = random.Random(seed)
    atoms = [vec(Point(name)) for name in "uvw"]
    rows = [[number(rng) for _ in atoms] for _ in range(4)]
    parts = [
        Vec({}).plus(atom * c for atom, c in zip(atoms, row, strict=True))
        for row in rows
    ]
    first = dict(parts[0].coefficients)
    whole = parts[0].plus(parts[1:])
    assert parts[0].coefficients == first
    for column, atom in enumerate(atoms):
        (key,) = atom.coefficients
        expected = added(row[column] for row in rows)
        assert not whole.coefficients.get(key, ratio(0)) - expected
    assert all(whole.coefficients.values())


def test_things_of_two_kinds_do_not_add_up() -> None:
    for one, other in (
        (vec(Point("u")), norm2(vec(Point("u")))),
        (Lin({}), Vec({})),
        (Poly({}), Lin({})),
    ):
        with pytest.raises(Rejected):
            one + other


def test_a_denominator_names_each_factor_once() -> None:
    """1/(2*2) was a half to a product and a quarter to a substitution.

    With it ``E||u||^2 - a/4 >= 0 |- E||u||^2 - a/2 >= 0`` is proved.
    """
    quarter = Ratio((-A).poly(), ((TWO, 1), (TWO, 1)))
    square = norm2(vec(Point("u")))
    with pytest.raises(Rejected):
        R.assume(Lin({**square.coefficients, UNIT: quarter}))
    once = Ratio((-A).poly(), ((TWO, 2),))
    assert R.assume(Lin({**square.coefficients, UNIT: once})).hypotheses


def test_a_sign_by_division_is_a_sign() -> None:
    """c >= 0 from g >= 0 where c = k g, and only where k >= 0 by the sorts."""
    a, b = (k.constant(one) for one in (A * A - B * A, A - B))
    sign = R.assume(b)
    shown = R.combine((), (), a, (sign,))
    assert not shown.form - a
    assert shown.hypotheses == sign.hypotheses
    for wrong in (A * A - B * A - 1, B * B - A * B, A * A - 2 * A * B):
        with pytest.raises(Rejected):
            R.combine((), (), k.constant(wrong), (sign,))


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(-6, 6)), max_size=8))
def test_a_square_is_the_product_of_a_vector_with_itself(
    terms: list[tuple[int, int]],
) -> None:
    """Each pair is taken once for a square, twice for a product with a copy."""
    points = [vec(Point(name)) for name in "uvwz"]
    atoms = points + [k.part(side, one) for side in k.Side for one in points]
    u = Vec({}).plus(atoms[place] * Q(c, 3) for place, c in terms)
    copy = Vec(dict(u.coefficients))
    assert copy is not u
    assert not norm2(u) - k.inner(u, copy)
