"""A fourth independent reading: the rewritten kernel, by Python callers and by files.

By files, whose terms only the kernel's operations make: no hole. Python callers could
hand to rules and models what no operation returns; those attacks succeeded on the code
before. The last part was rejected by it too, and is kept because it is new in kind.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q

import pytest
from calls import EVERYONE, MINIBATCH, ONE, V1, V2, S, d, i, j, m, n, now, x
from random_models import verdict
from test_attacks import NOTHING, small_model

from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ONE as ONE_POLY
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.replay import decide, replay
from sfl_theory.kernel.terms import (
    CLIENTS,
    NATURALS,
    UNIT,
    constant,
    iterate,
    local_point,
    noise,
    norm2,
    summed,
    symbol,
)
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import Statement, document, model_of
from sfl_theory.proofs.notation import of, steps

pytestmark = pytest.mark.fast

PLAIN = k.Pace(k.natural(1), k.Rate(ratio(Q(1, 2))))
RUN = k.Split(k.Kind.V1, EVERYONE, PLAIN, PLAIN)
POSITIVE = k.Var("S", Sort.POSITIVE)
ZETA = k.Var("zeta", Sort.NONNEGATIVE)


def shown(c: Ratio) -> R.Theorem:
    """Return |- c >= 0."""
    return R.combine((), (), constant(c), ())


# 1. Numbers, sums and combinations that no operation of the kernel returns --------


def test_a_denominator_is_positive_however_the_ratio_was_made() -> None:
    """|- 1/(S - 1) >= 0, and for S = 1/2: |- -2 >= 0."""
    below = (S - 1).poly()
    with pytest.raises(Rejected):
        R.instantiate(
            shown(Ratio(ONE_POLY, ((below, 1),))), ((POSITIVE, ratio(Q(1, 2))),), ()
        )


@pytest.mark.parametrize("power", [0, -1, Q(1, 2)])
def test_a_denominator_has_whole_powers(power: int) -> None:
    with pytest.raises(Rejected):
        shown(Ratio(ONE_POLY, ((S.poly(), power),)))


def test_an_exponent_is_not_negative() -> None:
    """-zeta >= 0 |- -zeta * zeta^-1 = -1 >= 0, whose hypothesis holds at zeta = 0."""
    inverse = Ratio(Poly({((ZETA.serial, -1),): 1}))
    with pytest.raises(Rejected):
        R.combine(((R.assume(constant(-symbol(ZETA))), inverse),), (), None, ())


def test_a_monomial_names_each_symbol_once_and_in_order() -> None:
    one, two = (POSITIVE.serial, 1), (ZETA.serial, 1)
    for monomial in ((one, one), tuple(sorted((one, two)))):
        with pytest.raises(Rejected):
            shown(Ratio(Poly({monomial: 1})))


def test_the_weight_of_a_sum_has_no_sign() -> None:
    """``sum_n -S`` written as a positive number: |- -N S >= 0 when S is replaced."""
    with pytest.raises(Rejected):
        total = k.Total(CLIENTS, 1, Poly.product(-1, {POSITIVE: 1}))
        R.instantiate(shown(symbol(total)), ((POSITIVE, S),), ())


def test_a_range_does_not_depend_on_its_own_variable() -> None:
    with pytest.raises(Rejected):
        k.Total(k.Steps(symbol(k.BoundNat(1)).poly()), 1, ONE_POLY)


def test_no_sum_ranges_over_all_naturals() -> None:
    with pytest.raises(Rejected):
        summed(NATURALS, i, norm2(iterate(RUN, of(i))))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [k.Lin, k.Vec])
def test_a_combination_is_one_of_its_atoms_with_ratios(kind: type[k.Lin]) -> None:
    """Coefficients that are no ratios were compared as Python compares them."""
    (point,) = x.coefficients
    own, other = (UNIT, point) if kind is k.Lin else (point, UNIT)
    for wrong in ({own: 0.5}, {own: 1}, {own: True}, {other: ONE}):
        combination = kind(wrong)  # type: ignore[dict-item]
        with pytest.raises(Rejected):
            k.Part(k.Side.CLIENT, combination)  # type: ignore[arg-type]


# 2. A fresh variable that has a name ----------------------------------------------


@pytest.mark.parametrize("binder", [CLIENTS, NATURALS])
def test_nobody_names_a_fresh_variable(binder: k.Quantifier) -> None:
    """Named beforehand, it was captured when a rule opened a sum.

    ``|- sum_{i<3} <x(i), x(d)> = ...`` for any d became one of ``||x(i)||^2``.
    """
    v = k.fresh(binder)
    kind, *others = type(v), *([v.sort] if isinstance(v, k.Var) else [])
    assert kind(str(v.name), *others) is not v
    assert not isinstance(v.name, str)


# 3. Models with floats ------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": (1.0,)},
        {"participation": (1,)},
        {"functions": ("linear", (0.1,))},
        {"start": (0.1,)},
        {"start": (1,)},
    ],
)
def test_a_model_has_exact_numbers(changes: dict[str, object]) -> None:
    """Rounded values were compared; 1/q of an integer q is a float, too."""
    model = model_of(small_model())
    if "functions" in changes:
        linear = changes["functions"][1]  # type: ignore[index]
        changes = {"functions": (replace(model.functions[0], linear=linear),)}
    odd = summed(CLIENTS, n, constant(symbol(k.Odds(n)) * k.weight(n)))
    fifth = constant(ratio(Q(1, 5)))
    with pytest.raises(Rejected, match="no fraction"):
        decide(
            "attack",
            frozenset(),
            odd + fifth + norm2(iterate(RUN, 0)),
            fifth,
            False,
            None,
            replace(model, **changes),  # type: ignore[arg-type]
        )


# 4. Rejected by the code before, too ----------------------------------------------

NESTED = summed(steps(of(i) + 1), j, noise(V1, n, now, of(j)))
OTHERS: dict[str, Callable[[], object]] = {
    "a bound step's largest value depends on an outer bound step": lambda: (
        derived.unbiased(V1, n, now, of(d), summed(steps(of(d)), i, NESTED))
    ),
    "an inner range reaches the step by a product of bounds": lambda: derived.unbiased(
        V1,
        n,
        now,
        of(d),
        summed(
            steps(of(d)), i, summed(steps(of(i)), j, noise(V1, n, now, of(i) * of(j)))
        ),
    ),
    "another client's point, by a sum over clients": lambda: derived.unbiased(
        V2, n, now, of(i), summed(CLIENTS, m, local_point(V2, m, now, of(i)))
    ),
    "a conditional expectation given a later round": lambda: derived.unbiased(
        MINIBATCH, n, now, of(i), k.expected(MINIBATCH, now + 1, x)
    ),
    "a mean given the past that is itself given more": lambda: R.tower(
        RUN, now, x, k.expected(RUN, now + 1, x)
    ),
    "a base that speaks of the step's variable as if of 0": lambda: R.induct(
        R.assume(constant(of(i) - 1)),
        R.combine(((R.assume(constant(of(i) - 1)), ONE),), (), constant(of(i)), ()),
        i,
        constant(of(i) - 1),
    ),
    "True as a number": lambda: ratio(True),
    "an exponent that is true": lambda: S**True,
}


@pytest.mark.parametrize("name", OTHERS)
def test_this_is_refused_as_before(name: str) -> None:
    with pytest.raises(Rejected):
        OTHERS[name]()


@pytest.mark.parametrize("power", [True, 0, -1, "1", None])
def test_a_file_writes_exponents_as_positive_integers(power: object) -> None:
    square = constant(symbol(ZETA) ** 2)
    thm = R.combine((), (), square, ())
    file = json.loads(
        document([(Statement("attack", frozenset(), NOTHING, square), thm)])
    )
    (entry,) = (term for term in file["terms"] if term[0] == "number")
    ((_, ((_, written),)),) = entry[1]
    assert written == 2
    entry[1][0][1][0][1] = power
    with pytest.raises(Rejected):
        replay(json.dumps(file))


def test_equal_clients_in_a_theorem_on_two() -> None:
    """What `unbiased_after` says of two clients holds of one that is both."""
    thm = derived.unbiased_after(V2, n, now, of(i), m, of(j), noise(V2, m, now, of(j)))
    one = R.instantiate(thm, ((m, n),), ())
    seen = Counter(verdict(one, seed) for seed in range(60))
    assert seen["true"] >= 3 and not seen["false"]
