"""Attacks on what a target of `combine` may add: a diagonally dominant form.

It must give nothing that squares written one by one do not give, with the same
hypotheses; and a form that is less by however little must not be accepted.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction as Q

import pytest
from calls import DRAWN, DRAWN_V2, F, S, c, mu, n, now, x, y, z
from test_attacks import claimed

from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, ratio
from sfl_theory.kernel.terms import (
    CLIENTS,
    Lin,
    constant,
    draw,
    expected,
    gradient,
    inner,
    iterate,
    norm2,
    summed,
    value_of,
    weight,
)

ABOVE = R.assume(constant(S - 1))
J = draw(DRAWN, n, now)
WHO = iterate(DRAWN, now + 1)
FACTORS = (*map(ratio, (0, 1, -1, Q(1, 3), 2)), c, mu, -mu, S, J, -J)
TINY = Q(1, 2**90)


def loud(c: Ratio) -> Ratio:
    return c if c.nonnegative() else -c


def random_rest(rng: random.Random) -> tuple[Lin, dict[k.VecAtom, Ratio], list[object]]:
    """Return pairs, what each vector needs, and the squares of the pairs."""
    chosen = [k.Point(name) for name in "uvw"[: rng.randint(1, 3)]]
    chosen += [*gradient(F, x).coefficients] if rng.random() < 0.5 else []
    chosen += [*WHO.coefficients] if rng.random() < 0.5 else []
    form, needs, squares = Lin({}), {a: ratio(0) for a in chosen}, list[object]()
    for place, a in enumerate(chosen):
        for b in chosen[:place]:
            factor = rng.choice(FACTORS) * rng.choice((1, Q(5, 7)))
            u, v = k.vec(a), k.vec(b)
            form = form + inner(u, v) * factor
            half = loud(factor) / 2
            squares.append((u + v if factor.nonnegative() else u - v, half))
            needs[a], needs[b] = needs[a] + half, needs[b] + half
    return form, needs, squares


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_added_that_squares_do_not_add(seed: int) -> None:
    rng = random.Random(seed)
    rest, needs, squares = random_rest(rng)
    uses = ((R.blocks(x, y), ratio(-3)), (ABOVE, c)) if seed % 2 else ()
    base = Lin({}).plus(one.form * factor for one, factor in uses)
    target = base + rest + constant(rng.choice((0, 1, c)))
    for a, least in needs.items():
        spare = rng.choice((ratio(0), ratio(0), c, mu * J, S - 1))
        target = target + norm2(k.vec(a)) * (least + spare)
        squares.append((k.vec(a), spare))
    found = R.combine(uses, (), target, (ABOVE,))
    alike = R.combine(uses, tuple(squares), target, (ABOVE,))
    assert not found.form - alike.form
    assert found.hypotheses == alike.hypotheses
    adds = bool(target - base)
    assert found.equal is (not adds and all(one.equal for one, _ in uses))
    for a in needs:
        less = target - norm2(k.vec(a)) * (S + c + mu + J + TINY)
        with pytest.raises(Rejected, match="not shown to be >= 0"):
            R.combine(uses, (), less, (ABOVE,))


def test_how_often_something_was_added() -> None:
    kinds = Counter(bool(random_rest(random.Random(seed))[0]) for seed in range(60))
    assert kinds[True] > 30


def test_a_matrix_is_accepted_exactly_if_it_is_dominant() -> None:
    seen = Counter[bool]()
    vectors = [k.vec(k.Point(name)) for name in "uvw"]
    for seed in range(200):
        rng = random.Random(seed)
        rows = {
            (i, j): Q(rng.randint(-3, 3), rng.choice((1, 2)))
            for i in range(3)
            for j in range(i)
        }
        diagonal = [Q(rng.randint(-1, 8), 2) for _ in range(3)]
        form = Lin({}).plus(
            [norm2(u) * c for u, c in zip(vectors, diagonal, strict=True)]
            + [inner(vectors[i], vectors[j]) * c for (i, j), c in rows.items()]
        )
        dominant = all(
            2 * d >= sum((abs(c) for pair, c in rows.items() if i in pair), Q(0))
            for i, d in enumerate(diagonal)
        )
        try:
            accepted = bool(R.combine((), (), form, ()))
        except Rejected:
            accepted = False
        assert accepted is dominant
        seen[dominant] += 1
    assert min(seen.values()) > 20


def hidden_in_a_sum() -> object:
    m = k.Client("m")
    g = gradient(k.Local(m), x)
    return R.combine((), (), summed(CLIENTS, m, norm2(g) + norm2(y) - inner(g, y)), ())


def a_draw_on_average() -> object:
    """E[J - 1] = 0, but J - 1 may be negative where the square is large."""
    mean = R.expect(DRAWN, n, now, constant(ratio(1)), ())
    return R.combine((), (), norm2(WHO) * (J - 1), (mean,))


def a_cross_term_that_a_draw_turns() -> object:
    own = (norm2(WHO) + norm2(x)) * J
    return R.combine((), (), own + inner(WHO, x) * (J - 1), ())


def zero_from_an_equality() -> object:
    """<u, v> = <u_c, v_c> + <u_s, v_s>, and a square more: 0 at most, if it is one."""
    one = R.blocks(x, y)
    more = R.combine(((one, ratio(1)),), (), one.form + norm2(z), ())
    return R.combine(((more, ratio(-1)),), (), None, ())


def a_mean_for_a_value() -> object:
    """||E[u | t]||^2 is at most ||u||^2, not at least."""
    mean = expected(DRAWN_V2, now, x)
    return R.combine((), (), norm2(mean) - norm2(x), ())


def one_under_a_bad_hypothesis() -> object:
    """A cross term that is assumed does not pay for its own squares."""
    one = R.assume(-inner(x, y))
    return R.combine(((one, ratio(2)),), (), -norm2(x) - norm2(y), ())


def blocks_for_the_whole() -> object:
    """||x_c||^2 pays for <x_c, y_c>, not for <x, y>."""
    a, b = (k.part(k.Side.CLIENT, u) for u in (x, y))
    return R.combine((), (), norm2(a) + norm2(b) - inner(x, y) * 2, ())


def values_for_squares() -> object:
    return R.combine((), (), value_of(F, x) + norm2(x) + inner(x, y) + norm2(y), ())


def a_weight_below_zero() -> object:
    return R.combine((), (), norm2(x) * (weight(n) - 1) + norm2(y), ())


ATTACKS = (
    hidden_in_a_sum,
    a_draw_on_average,
    a_cross_term_that_a_draw_turns,
    zero_from_an_equality,
    a_mean_for_a_value,
    one_under_a_bad_hypothesis,
    blocks_for_the_whole,
    values_for_squares,
    a_weight_below_zero,
)


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_attack_is_refused(attack: Callable[[], object]) -> None:
    with pytest.raises(Rejected):
        attack()


def test_one_is_not_at_most_zero() -> None:
    """What is added to make -1: squares of opposite vectors, zeros, both ends alike."""
    minus = constant(ratio(-1))
    for more in (norm2(x), inner(x, y), norm2(x - y), -norm2(x), norm2(x) * 0):
        with pytest.raises(Rejected):
            R.combine((), (), minus + more, ())
        with pytest.raises(Rejected):
            R.combine((), ((x, ratio(1)),), minus - more, ())
    true = R.combine((), (), norm2(x) + norm2(y) - inner(x, y) * 2, ())
    alike = R.instantiate(true, ((k.Point("y"), x),), ())
    assert not alike.form
    assert not true.equal
    with pytest.raises(Rejected):
        claimed(alike, constant(1), constant(0))
