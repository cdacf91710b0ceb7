"""What a rule concluded is kept for the next equal call; nothing false comes of it.

The arguments are checked before anything is looked up, and whatever is found was made
by the rule. So a key that compares equal without being the same kind of thing, or one
that was changed after it was kept, finds at worst another true theorem.
"""

from __future__ import annotations

from fractions import Fraction as Q

import pytest

from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, ratio
from sfl_theory.proofs.notation import of

pytestmark = pytest.mark.fast


def squared(c: Ratio) -> Ratio:
    return k.number_of(R.square(c).form)


def test_an_equal_call_gives_the_same_theorem() -> None:
    one, two = (ratio(Q(7, 3)) for _ in range(2))
    assert one is not two
    kept = R.square(one)
    assert R.square(two) is kept
    assert kept.call == ("square", (one,))


@pytest.mark.parametrize("wrong", [1, True, 1.0, Q(1), Poly({(): 1}), (ratio(1),)])
def test_what_equals_a_kept_argument_is_still_checked(wrong: object) -> None:
    """1, True, 1.0 and 1/1 compare equal, and so may what is built of them."""
    assert squared(ratio(1)) == ratio(1)
    with pytest.raises(Rejected):
        R.square(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [True, 1.0])
def test_a_forged_number_does_not_find_what_its_equal_proved(wrong: object) -> None:
    forged = Ratio(Poly({(): 1}))
    forged.numerator.coefficients[()] = wrong  # type: ignore[index]
    assert forged == ratio(1)
    assert hash(forged) == hash(ratio(1))
    R.square(ratio(1))
    with pytest.raises(Rejected, match="no polynomial"):
        R.square(forged)


def test_parameters_of_one_name_and_two_sorts_are_two() -> None:
    """z >= 0 for one of them was kept; the other one may be negative."""
    above = of(k.Var("z", Sort.POSITIVE))
    below = of(k.Var("z", Sort.NONNEGATIVE))
    nothing: tuple[()] = ()
    R.instantiate(R.square(above), nothing, nothing)
    R.combine(((R.assume(k.constant(above)), 1 / above),), nothing, None, nothing)
    with pytest.raises(Rejected, match="may vanish"):
        R.combine(((R.assume(k.constant(below)), 1 / below),), nothing, None, nothing)
    assert R.assume(k.constant(above)) is not R.assume(k.constant(below))


def test_a_sign_that_was_shown_is_not_shown_for_another_factor() -> None:
    z = of(k.Var("z", Sort.NONNEGATIVE))
    nothing: tuple[()] = ()
    theorem = R.assume(k.constant(z))
    R.combine(((theorem, z),), nothing, None, nothing)
    for wrong in (-z, z - 1, ratio(-1)):
        with pytest.raises(Rejected, match="not shown"):
            R.combine(((theorem, wrong),), nothing, None, nothing)
        with pytest.raises(Rejected, match="not shown"):  # a refusal is not kept either
            R.combine(((theorem, wrong),), nothing, None, nothing)


def test_an_argument_changed_after_the_call_changes_no_theorem() -> None:
    c = ratio(3)
    kept = R.square(c)
    c.numerator.coefficients[()] = 5
    assert k.number_of(kept.form) == ratio(9)
    assert squared(ratio(3)) == ratio(9)
    assert squared(ratio(5)) == ratio(25)
    assert squared(c) in (ratio(9), ratio(25))


def test_a_changed_key_that_collides_finds_a_true_theorem() -> None:
    """-1 and -2 have one hash: what was kept for -1 is found for -2, and is true."""
    assert hash(ratio(-1)) == hash(ratio(-2))
    c = ratio(-1)
    R.square(c)
    c.numerator.coefficients[()] = -2
    assert squared(ratio(-2)) in (ratio(1), ratio(4))
