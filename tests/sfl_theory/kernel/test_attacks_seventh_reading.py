"""Attacks on runs on one counter, means over different clients, and what vanishes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction as Q

import pytest
from calls import (
    COUNTED,
    DRAWN_V2,
    ETA,
    EVERYONE,
    G2,
    PARTIAL,
    V1,
    S,
    d,
    i,
    j,
    m,
    n,
    now,
    t,
    tau,
    third,
    x,
    z,
)
from random_models import verdict
from test_attacks import NOTHING, claimed, modelled, small_model

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.models import Evaluation
from sfl_theory.kernel.terms import (
    CLIENTS,
    Kind,
    Pace,
    Side,
    constant,
    draw,
    expected,
    gradient,
    iterate,
    local_point,
    natural,
    noise,
    norm2,
    summed,
    value_of,
    weight,
)
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, number_of_clients, of, steps

ONE, ZERO = ratio(1), ratio(0)
FIRST, SECOND = k.Numbered(0), k.Numbered(1)


def counted(client: object, server: object, rate: k.Rate = ETA) -> k.Split:
    paces = Pace(natural(client), rate), Pace(natural(server), rate)
    return k.Split(Kind.COUNTED, EVERYONE, *paces)


def unbroken(theorem: R.Theorem, seeds: int = 12) -> None:
    seen = Counter(verdict(theorem, seed) for seed in range(seeds))
    assert seen["true"], seen
    assert not seen["false"], seen


# One counter --------------------------------------------------------------------------

PARTS = {
    "1/2": (counted(2, 4), ratio(Q(1, 2))),
    "3/2": (counted(2, 4), ratio(Q(3, 2))),
    "j/2": (counted(2, 4), of(j) / 2),
    "j/tau": (COUNTED, of(j) / tau),
    "j + 1/tau": (COUNTED, of(j) + 1 / tau),
    "-1, and the remainder makes it up": (counted(2, 4), ratio(-1)),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("at", [ZERO, ONE, of(j)])
def test_a_mean_is_taken_at_whole_multiples_of_a_period(name: str, at: k.Ratio) -> None:
    """With q = 1/2 and period 2 all clients' points of iteration 1 were one."""
    run, q = PARTS[name]
    with pytest.raises(Rejected):
        R.counted_update(run, n, q, at, Side.CLIENT, x)


def test_points_between_two_means_differ() -> None:
    """The statement that the quotient 1/2 proved, in a model: 4 <= 0."""
    run = counted(2, 2, k.Rate(ONE))
    apart = norm2(local_point(run, FIRST, 1, 0) - iterate(run, 1))
    slopes = tuple((((Q(0),),), (b,), ()) for b in (Q(-2), Q(2)))
    two = small_model(functions=slopes, weights=(Q(1, 2),) * 2, rounds=2)
    (claim,) = modelled(apart, NOTHING, (), two)
    assert claim.sides == (4, 0)


def test_a_long_period_costs_a_model_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It listed a rate for each iteration of a period, in each iteration."""
    asked, rate = [], Evaluation.rate
    monkeypatch.setattr(
        Evaluation, "rate", lambda e, *at: asked.append(at) or rate(e, *at)
    )
    run = counted(1_000, 2_000, k.Rate(1 / (k.symbol(k.ROUND) + 2)))
    assert modelled(norm2(iterate(run, 5)), NOTHING, (), small_model())
    assert len(asked) <= 2 * 5


def test_a_run_on_one_counter_is_printed_as_one() -> None:
    """Its periods read like the numbers of steps in a round."""
    (claim,) = claimed(combine((x, 1)), -norm2(x), NOTHING)
    assert "iteration" not in str(claim)
    found = R.counted_update(counted(2, 3), n, ONE, ZERO, Side.SERVER, z)
    (claim,) = claimed(found, -found.form, NOTHING)
    assert "rounds are iterations, steps are from mean to mean" in str(claim)


def test_no_step_beyond_the_end_of_a_period_or_an_iteration() -> None:
    never = h.Holds(constant(ratio(-1)))
    late = R.counted_update(counted(2, 3), n, of(d), ratio(2), Side.CLIENT, x)
    assert never in late.hypotheses
    there = local_point(COUNTED, m, now, ONE)
    assert never in derived.unbiased(COUNTED, n, now, ONE, there).hypotheses
    with pytest.raises(Rejected):
        derived.unbiased(COUNTED, n, now, ZERO, there)


def test_a_period_may_depend_on_a_bound_index_and_is_none_where_it_is_0() -> None:
    form = norm2(iterate(counted(of(i) + 1, 1), 2))
    assert not summed(steps(1), i, form) - norm2(iterate(counted(1, 1), 2))
    with pytest.raises(Rejected):
        summed(steps(2), i, norm2(iterate(counted(of(i), 1), 2)))
    with pytest.raises(Rejected, match="many runs"):
        claimed(combine(target=constant(S)), NOTHING, summed(steps(2), i, form))


def test_what_is_assumed_of_the_divided_number_stays() -> None:
    """A hypothesis on v says of v what it says, whatever v's quotient is."""
    own = h.Holds(constant(of(t) - 5))
    at = combine(
        (R.assume(constant(of(t) - 5)), 0), target=constant(tau * of(j) + of(i))
    )
    found = R.divided(at, j, i, tau, t, constant(of(t)))
    assert found.hypotheses <= {own}
    for q, r in ((j, t), (t, i)):
        shown = combine(target=constant(tau * of(q) + of(r)))
        again = R.divided(shown, q, r, tau, t, constant(of(t)))
        assert not again.hypotheses
        unbroken(again)


# Bounds on a block --------------------------------------------------------------------


def test_a_bound_on_a_block_is_one_on_that_block_only() -> None:
    run = counted(2, 3, k.Rate(ONE))
    block = h.BoundedBlock(run, G2, Side.CLIENT)
    found = R.given(block, (n, now, ZERO))
    for other in (h.BoundedGradients(run, G2), h.BoundedBlock(run, G2, Side.SERVER)):
        with pytest.raises(Rejected, match="assumes more"):
            claimed(found, -found.form, NOTHING, other)
    slope = (((Q(0),) * 2,) * 2, (Q(3), Q(4)), ())
    plain = small_model(functions=(slope,), start=(Q(1),) * 2, client_size=1)
    for side, most in ((Side.CLIENT, 9), (Side.SERVER, 16)):
        fits = h.BoundedBlock(run, ratio(most), side)
        assert modelled(norm2(iterate(run, 1)), NOTHING, {fits}, plain)
        with pytest.raises(Rejected, match="does not meet"):
            less = h.BoundedBlock(run, ratio(most - 1), side)
            modelled(norm2(iterate(run, 1)), NOTHING, {less}, plain)


# Noise of other clients ---------------------------------------------------------------


def of_other(client: k.ClientIndex, run: k.Split = V1) -> k.Vec:
    return local_point(run, client, now, of(i))


OTHERS: dict[str, k.Vec] = {
    "a point": of_other(m),
    "a numbered client": of_other(FIRST),
    "inside a gradient": gradient(k.MEAN, of_other(m)),
    "a sum": summed(CLIENTS, m, of_other(m) * weight(m)),
    "beside a draw": local_point(PARTIAL, m, now, of(i)) * draw(PARTIAL, n, now),
    "an earlier noise": summed(steps(of(i)), j, noise(V1, m, now, of(j))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_clients_of_a_round_need_independent_samples(name: str) -> None:
    u = OTHERS[name]
    run = PARTIAL if k.CHANCE in u.free else V1
    found = derived.unbiased(run, n, now, of(i), u)
    assert h.Independent(run) in found.hypotheses
    unbroken(found, 20)
    unbroken(R.instantiate(found, ((n, FIRST),), ()), 20)
    assert (
        h.Independent(V1)
        not in derived.unbiased(V1, n, now, of(i), of_other(n)).hypotheses
    )


NOT_YET: dict[str, Callable[[], object]] = {
    "the next point": lambda: local_point(V1, m, now, of(i) + 1),
    "the noise itself, of any client": lambda: noise(V1, m, now, of(i)),
    "the noise itself, of all": lambda: summed(CLIENTS, m, noise(V1, m, now, of(i))),
    "steps up to it": lambda: summed(steps(of(i) + 1), j, noise(V1, m, now, of(j))),
    "the next round": lambda: gradient(k.Local(m), iterate(V1, now + 1)),
    "an average after it": lambda: expected(V1, now + 1, of_other(m)),
    "another run's": lambda: of_other(m, PARTIAL),
}


@pytest.mark.parametrize("name", NOT_YET)
def test_what_other_clients_do_later_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        derived.unbiased(V1, n, now, of(i), NOT_YET[name]())


# Draws --------------------------------------------------------------------------------

here = value_of(k.MEAN, iterate(PARTIAL, now))
J, first, second = (draw(PARTIAL, one, now) for one in (n, FIRST, SECOND))
turn = k.symbol(k.PerClient(k.ClientFamily("turn", k.Sort.NATURAL), m))
of_m = k.Rate(k.symbol(k.PerClient(k.ClientFamily("r", k.Sort.NONNEGATIVE), m)))
DRAWS: dict[str, tuple[k.Split, k.ClientIndex, k.Ratio, k.Lin, tuple[k.Client, ...]]]
DRAWS = {
    "in a point": (PARTIAL, n, now, norm2(iterate(PARTIAL, now) * J), ()),
    "in a gradient": (
        PARTIAL, n, now, value_of(k.MEAN, iterate(PARTIAL, now) * (1 + J)), ()
    ),
    "in a denominator": (PARTIAL, FIRST, now, here * (1 / (1 + first)), ()),
    "later, of the same client": (
        PARTIAL, FIRST, now, here * draw(PARTIAL, FIRST, now + 1), ()
    ),
    "perhaps later": (PARTIAL, n, now, here * draw(PARTIAL, n, of(j)), ()),
    "of all clients": (
        PARTIAL, FIRST, now, constant(R.number_of(
            summed(CLIENTS, m, constant(draw(PARTIAL, m, now) * weight(m))))), ()
    ),
    "of all earlier rounds and this": (
        PARTIAL, FIRST, now, constant(R.number_of(summed(
            steps(now + 1), j, constant(draw(PARTIAL, FIRST, of(j)))))), ()
    ),
    "of another number, over all": (PARTIAL, FIRST, now, here * second, (m,)),
    "of another number, any client": (PARTIAL, n, now, here * second, ()),
    "of another run": (PARTIAL, n, now + 1, here * draw(DRAWN_V2, n, now), ()),
    "in a mean of later": (
        PARTIAL, n, now, norm2(expected(PARTIAL, now + 1, x * J)), ()
    ),
    "in a shared server": (
        DRAWN_V2, n, now, norm2(local_point(DRAWN_V2, m, now, ZERO)), ()
    ),
    "one client twice": (PARTIAL, n, now, here, (m, m)),
    "the client itself": (PARTIAL, n, now, here, (m, n)),
    "a run of the bound client": (
        k.Split(Kind.V1, k.Participants.UPDATES, Pace(natural(1), of_m),
                Pace(natural(1), ETA)), n, now, constant(ONE), (m,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_that_may_not_be_independent_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        R.expect(*DRAWS[name])


FEW = tuple(k.Client(f"c{place}") for place in range(8))


def test_over_different_clients_sums_do_not_grow_without_end() -> None:
    """Each further client multiplies the work by five or more."""
    assert R.expect(PARTIAL, n, now, constant(ONE), FEW[:7])
    with pytest.raises(Rejected):
        R.expect(PARTIAL, n, now, constant(ONE), FEW)


MEANS: list[Callable[[], R.Theorem]] = [
    lambda: R.expect(PARTIAL, n, turn, constant(weight(m)), (m,)),
    lambda: R.expect(PARTIAL, n, turn + 1, constant(draw(PARTIAL, third, turn)), (m,)),
    lambda: R.expect(PARTIAL, n, now, norm2(local_point(PARTIAL, m, now, ONE)), (m,)),
    lambda: R.expect(PARTIAL, n, now + 1, here * (1 / (1 + J)), (m, third)),
]


@pytest.mark.parametrize("place", range(len(MEANS)))
def test_means_beside_other_draws_are_true(place: int) -> None:
    found = MEANS[place]()
    assert found.hypotheses == {h.Participation(PARTIAL)}
    unbroken(found)
    unbroken(R.instantiate(found, ((n, SECOND),), ()))


def test_clients_of_two_numbers_are_two_where_there_are_two() -> None:
    found = R.expect(PARTIAL, FIRST, now, here * second, ())
    assert h.Holds(constant(number_of_clients() - 2)) in found.hypotheses
    unbroken(found, 40)


# What vanishes ------------------------------------------------------------------------


def test_what_vanishes_on_average_is_no_factor_of_a_draw() -> None:
    """Assumed of a mean, it may not be multiplied by a draw; of `Variance`, it may."""
    zero_mean = R.vanish(R.assume(-norm2(x)), x, z)
    with pytest.raises(Rejected, match="average"):
        combine((zero_mean, J))
    silent = R.given(h.Variance(PARTIAL, n, ZERO), (now, ZERO))
    xi = noise(PARTIAL, n, now, ZERO)
    gone = R.vanish(silent, xi, x * J)
    unbroken(combine((gone, J)))
    for wrong in (xi * 2, xi * J, xi + x, noise(PARTIAL, m, now, ZERO)):
        with pytest.raises(Rejected):
            R.vanish(silent, wrong, x)
    both = combine((silent, 1), (zero_mean, 1))
    with pytest.raises(Rejected):
        R.vanish(both, xi + x, x)
