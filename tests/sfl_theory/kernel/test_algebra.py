"""Exact arithmetic agrees with sympy's, and signs by sorts are true at all points."""

from __future__ import annotations

import random
from fractions import Fraction as Q

import pytest
import sympy as sp

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.terms import (
    CLIENTS,
    Client,
    Var,
    constant,
    number_at,
    summed,
    symbol,
    weight,
)
from sfl_theory.proofs.notation import nat, of, steps

pytestmark = pytest.mark.fast

VARIABLES = [
    Var("p", Sort.POSITIVE),
    Var("w", Sort.NONNEGATIVE),
    Var("t", Sort.NATURAL),
    Var("tau", Sort.COUNT),
]
SYMBOLS = {v: sp.Symbol(v.name) for v in VARIABLES}


def random_pair(rng: random.Random, depth: int) -> tuple[Ratio, sp.Expr]:
    if depth == 0:
        if rng.random() < 0.4:
            c = Q(rng.randint(-3, 3), rng.randint(1, 3))
            return ratio(c), sp.Rational(c.numerator, c.denominator)
        v = rng.choice(VARIABLES)
        return symbol(v), SYMBOLS[v]
    (a, x), (b, y) = random_pair(rng, depth - 1), random_pair(rng, depth - 1)
    op = rng.choice("+-**/")
    if op == "+":
        return a + b, x + y
    if op == "-":
        return a - b, x - y
    return (a * b, x * y) if op == "*" else (a / b, x / y)


def as_sympy(poly: Poly) -> sp.Expr:
    return sum(
        (
            sp.Rational(c.numerator, c.denominator)
            * sp.prod([SYMBOLS[s] ** power for s, power in powers.items()])
            for c, powers in poly.products
        ),
        sp.Integer(0),
    )


def value(number: Ratio, at: dict[Var, Q]) -> Q:
    done = number_at(number, {v: ratio(c) for v, c in at.items()})
    return done.numerator.coefficients.get((), Q(0))


def sample(rng: random.Random) -> dict[Var, Q]:
    choice = {
        Sort.POSITIVE: [Q(1, 7), Q(1), Q(5, 2)],
        Sort.NONNEGATIVE: [Q(0), Q(1, 3), Q(4)],
        Sort.NATURAL: [Q(0), Q(1), Q(3)],
        Sort.COUNT: [Q(1), Q(2), Q(5)],
    }
    return {v: rng.choice(choice[v.sort]) for v in VARIABLES}


@pytest.mark.parametrize("seed", range(12))
def test_rational_functions_are_sympys(seed: int) -> None:
    rng, equal = random.Random(seed), 0
    for _ in range(25):
        try:
            number, expected = random_pair(rng, rng.randint(1, 3))
        except Rejected:
            continue
        below = sp.prod([as_sympy(f) ** e for f, e in number.denominator])
        assert sp.cancel(as_sympy(number.numerator) / below - expected) == 0
        equal += 1
    assert equal > 5


def test_a_sign_by_sorts_is_true_everywhere() -> None:
    rng, shown = random.Random(1), 0
    for _ in range(1500):
        try:
            number, _ = random_pair(rng, rng.randint(1, 3))
        except Rejected:
            continue
        points = [value(number, sample(rng)) for _ in range(6)]
        shown += number.nonnegative()
        assert not number.nonnegative() or min(points) >= 0, number
        assert not number.positive() or min(points) > 0, number
        whole = not number.denominator and number.numerator.natural()
        assert not whole or all(p >= 0 and p.denominator == 1 for p in points), number
    assert shown > 100


def test_division_by_what_may_vanish_is_refused() -> None:
    p, w, t, tau = map(symbol, VARIABLES)
    for divisor in (w, t, w - p, tau - 1, p - tau, ratio(0), 2 * t - 1, w * p):
        with pytest.raises(Rejected):
            1 / divisor
    for divisor in (p, tau, 1 + w, -p - t, 2 * tau - 1, p * tau + w, tau**2 * p):
        assert divisor * (1 / divisor) == ratio(1)


@pytest.mark.parametrize("power", range(6))
@pytest.mark.parametrize("upper", range(5))
def test_totals_of_powers_are_sums(power: int, upper: int) -> None:
    i, k = nat("i"), nat("k")
    form = summed(steps(of(k)), i, constant(of(i) ** power))
    (number,) = form.coefficients.values()
    if power < 4:
        at = number_at(number, {k: ratio(upper)})
        assert at == ratio(sum(j**power for j in range(upper)))


def test_weights_sum_to_one_and_other_totals_are_symbols() -> None:
    n = Client("n")
    assert summed(CLIENTS, n, constant(weight(n) * 3)) == constant(3)
    (count,) = summed(CLIENTS, n, constant(1)).coefficients.values()
    assert (count - 1).nonnegative()
    assert not (count - 2).nonnegative()


def test_a_lemma_written_otherwise_cuts_the_same_hypothesis() -> None:
    """How a ratio is reduced depends on the order in which symbols were made.

    A proof that was found in one process is replayed in another one, so a form that is
    equal in value only, as over (1 + z)^2 and over 1 + 2 z + z^2, has to do.
    """
    z = symbol(Var("z", Sort.NONNEGATIVE))
    twice, squared = 1 / (1 + z), 1 / (1 + 2 * z + z * z)
    ways = [constant(one - 1) for one in (twice * twice, squared)]
    assert ways[0] != ways[1]
    assert not ways[0] - ways[1]
    for known, lemma in (ways, ways[::-1]):
        left = R.cut(R.assume(known), R.assume(lemma))
        assert left.hypotheses == {h.Holds(lemma)}
    with pytest.raises(Rejected, match="is no hypothesis"):
        R.cut(R.assume(ways[0]), R.assume(ways[1] + constant(z)))
