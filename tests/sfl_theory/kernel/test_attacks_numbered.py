"""Attacks on clients with numbers, and on what one client's noise is orthogonal to."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction as Q

import pytest
from calls import (
    DRAWN_V2,
    MINIBATCH,
    PARTIAL,
    V1,
    V2,
    ZERO,
    S,
    i,
    j,
    m,
    n,
    now,
    t,
    tau,
    x,
)
from random_models import verdict
from test_attacks import NOTHING, ONE_FORM, claimed, modelled, small_model

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, Sort, ratio
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import CLIENTS, constant, norm2, summed, weight
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import ModelData, Statement, document
from sfl_theory.proofs.notation import combine, mean, number_of_clients, of, steps

FIRST, SECOND = k.Numbered(0), k.Numbered(1)
N = number_of_clients()
gradient = k.gradient(k.Local(n), x)


def unbroken(theorem: R.Theorem, seeds: int = 20) -> None:
    seen = Counter(verdict(theorem, seed) for seed in range(seeds))
    assert seen["true"], seen
    assert not seen["false"]


def two_clients(**changes: object) -> ModelData:
    parabola = (((Q(1),),), (Q(0),), ())
    both = {"functions": (parabola, parabola), "weights": (Q(1, 2), Q(1, 2))}
    return small_model(**{**both, **changes})


# Numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [-1, 1.0, True, "0", None, Q(1), ratio(1)])
def test_only_whole_numbers_are_numbers_of_clients(number: object) -> None:
    found = None
    try:
        found = k.Numbered(number)  # type: ignore[arg-type]
    except (Rejected, TypeError):
        return
    assert type(found.number) is int  # an equal number has been one before


@pytest.mark.parametrize("number", ["1", -1, 1.5, True, 400_001, [0], None])
def test_a_file_numbers_clients_by_small_integers(number: object) -> None:
    file = {"terms": [["numbered", number]], "steps": [], "claims": []}
    with pytest.raises(Rejected):
        replay(json.dumps(file))


def test_a_numbered_client_is_bound_by_nothing() -> None:
    file = json.loads(
        document([
            (
                Statement(
                    "c", frozenset(), NOTHING, summed(CLIENTS, n, norm2(gradient))
                ),
                combine((gradient, 1))
                and R.sum_over(combine((gradient, 1)), CLIENTS, n, ratio(1), ()),
            )
        ])
    )
    assert replay(json.dumps(file))
    places = [p for p, term in enumerate(file["terms"]) if term[0] == "client"]
    for place in places:
        changed = json.loads(json.dumps(file))
        changed["terms"][place] = ["numbered", 0]
        with pytest.raises(Rejected):
            replay(json.dumps(changed))
    for make in (
        lambda: summed(CLIENTS, FIRST, norm2(x)),  # type: ignore[type-var]
        lambda: h.every(CLIENTS, FIRST, h.Smooth(k.Local(FIRST), S)),  # type: ignore[arg-type]
        lambda: R.instantiate(combine((x, 1)), ((FIRST, SECOND),), ()),  # type: ignore[arg-type]
        lambda: R.sum_over(combine((x, 1)), CLIENTS, FIRST, ratio(1), ()),  # type: ignore[arg-type]
    ):
        with pytest.raises(Rejected):
            make()


def test_clients_beyond_n_say_nothing_of_others() -> None:
    """#0 and #1 are one client where N = 1, so no theorem may tell them apart."""
    unbroken(R.instantiate(R.weight_below_one(n), ((n, k.Numbered(7)),), ()))
    two = R.numbered(n, constant(weight(n)), 2)
    assert h.Holds(constant(N - 2)) in two.hypotheses
    assert h.Holds(constant(2 - N)) in two.hypotheses
    apart = 1 - weight(FIRST) - weight(SECOND)
    assert not two.form - constant(apart)
    with pytest.raises(Rejected, match="assumes more"):
        claimed(two, NOTHING, constant(apart))


def test_weights_that_are_too_large_have_no_model() -> None:
    heavy = [R.assume(constant(weight(p) - 1)) for p in (FIRST, SECOND)]
    below = combine(R.numbered(n, constant(weight(n)), 2), *heavy)
    assert not below.form + ONE_FORM
    (claim,) = claimed(below, ONE_FORM, NOTHING, *below.hypotheses)
    assert claim.sides is None
    with pytest.raises(Rejected, match="does not meet"):
        modelled(ONE_FORM, NOTHING, below.hypotheses, two_clients())


def test_a_hypothesis_on_one_client_is_none_on_another() -> None:
    one = R.instantiate(derived.lipschitz(k.Local(n), S, x, x * 2), ((n, FIRST),), ())
    assert claimed(one, -one.form, NOTHING, h.Smooth(k.Local(FIRST), S))
    with pytest.raises(Rejected, match="assumes more"):
        claimed(one, -one.form, NOTHING, h.Smooth(k.Local(SECOND), S))
    everyone = h.every(CLIENTS, m, h.Smooth(k.Local(m), S))
    assert R.specialise(one, everyone, FIRST).hypotheses == {everyone}
    with pytest.raises(Rejected):
        R.specialise(one, everyone, SECOND)


def test_draws_of_two_numbers_may_be_one_draw() -> None:
    J, K = (k.draw(PARTIAL, p, now) for p in (FIRST, SECOND))
    V = mean(n, weight(n) * k.draw(PARTIAL, n, now))
    for number in (J * K, K, V, k.draw(PARTIAL, n, now)):
        with pytest.raises(Rejected):
            R.expect(PARTIAL, n, now, constant(number), ())
    own = R.expect(PARTIAL, n, now, constant(S), ())
    unbroken(R.instantiate(own, ((n, FIRST),), ()))
    of_m = k.value_of(k.Local(m), k.iterate(PARTIAL, now))
    pair = R.expect(PARTIAL, n, now, of_m, (m,))
    three = R.expect(PARTIAL, n, now, constant(weight(m)), (m, k.Client("l")))
    for client in (FIRST, SECOND, k.Numbered(7)):
        for one in (pair, three):
            unbroken(R.instantiate(one, ((n, client),), ()))


def test_a_model_gives_no_client_two_minimisers() -> None:
    """Beyond N every number is the last client's, whose minimiser is one vector."""
    stars = {k.Local(p): (Q(p.number),) for p in (FIRST, SECOND)}
    flat = (((Q(0),),), (Q(0),), ())
    apart = norm2(k.vec(k.Star(k.Local(FIRST))) - k.vec(k.Star(k.Local(SECOND))))
    assumed = {h.Minimiser(one) for one in stars}
    model = small_model(functions=(flat,), stars=stars)
    with pytest.raises(Rejected, match="the model has no #1"):
        modelled(apart, NOTHING, assumed, model)
    two = two_clients(functions=(flat, flat), stars=stars)
    assert modelled(apart, NOTHING, assumed, two)


# Special cases ------------------------------------------------------------------------


def test_an_empty_range_has_no_special_case() -> None:
    """From "for all i < u: S - 1 >= 0", which says nothing where u = 0."""
    u = k.Var("u", Sort.NATURAL)
    one, empty = constant(S - 1), h.every(steps(of(u)), i, h.Holds(constant(S - 1)))
    found = R.specialise(R.assume(one), empty, ZERO)
    assert h.Holds(constant(of(u) - 1)) in found.hypotheses
    unbroken(found)


@pytest.mark.parametrize(
    "value", [k.symbol(k.bound(steps(2), 1)), k.symbol(k.ROUND), tau - 1 + S]
)
def test_a_special_value_is_closed_and_a_natural_number(value: k.Ratio) -> None:
    all_of = h.every(steps(tau), i, h.Holds(constant(of(i) + 1)))
    with pytest.raises(Rejected):
        R.specialise(R.assume(constant(value + 1)), all_of, value)


# Noise --------------------------------------------------------------------------------

xi = k.noise(V2, m, now, of(j))


def test_two_clients_may_be_made_one() -> None:
    after = derived.unbiased_after(V2, n, now, of(i), m, of(j), xi)
    across = [
        R.unbiased_across(run, n, now, of(i), m, k.noise(run, m, now, of(i)))
        for run in (V1, MINIBATCH, V2, DRAWN_V2)
    ]
    for theorem in (after, *across):
        for client in (m, FIRST):
            unbroken(R.instantiate(theorem, ((n, client),), ()))
    unbroken(R.instantiate(after, ((n, FIRST), (m, SECOND)), ()))
    unbroken(R.instantiate(after, ((n, FIRST), (m, FIRST), (j, of(i))), ()))


third = k.Client("third")
p1 = {run: k.local_point(run, m, now, of(j) + 1) for run in (V1, V2)}
own = {run: k.local_point(run, n, now, of(i) + 1) for run in (V1, V2)}
AFTER = [
    (V2, k.noise(V2, third, now, of(j))),
    (V2, k.noise(V2, m, now, of(j) + 1)),
    (V2, k.noise(V2, n, now, of(i))),
    (V2, k.noise(V2, m, now + 1, ZERO)),
    (V2, p1[V2]),
    (V2, own[V2]),
    (V2, k.iterate(V2, now + 1)),
    (V2, k.iterate(DRAWN_V2, now)),
    (V2, summed(steps(tau), j, xi)),
    (V2, summed(CLIENTS, m, xi)),
    (V1, k.noise(V1, m, now, of(j))),
]
ACROSS = [
    (V1, own[V1]),
    (V1, k.local_point(V1, FIRST, now, of(i) + 1)),
    (V1, k.iterate(V1, now + 1)),
    (V1, k.noise(V1, m, now + 1, of(i))),
    (V2, p1[V2]),
    (V2, k.gradient(k.MEAN, xi)),
    (V2, xi + x),
]


@pytest.mark.parametrize("place", range(len(AFTER)))
def test_what_other_visits_may_change_is_refused(place: int) -> None:
    run, u = AFTER[place]
    with pytest.raises(Rejected):
        derived.unbiased_after(run, n, now, of(i), m, of(j), u)


@pytest.mark.parametrize("place", range(len(ACROSS)))
def test_what_the_client_itself_may_change_is_refused(place: int) -> None:
    run, u = ACROSS[place]
    with pytest.raises(Rejected):
        R.unbiased_across(run, n, now, of(i), m, u)


def test_a_visit_that_is_not_made_comes_before_nothing() -> None:
    after = derived.unbiased_after(
        V2, n, now, ZERO, m, tau, xi_at := k.noise(V2, m, now, tau)
    )
    assert h.Holds(constant(ratio(-1))) in after.hypotheses, xi_at


LAST = k.Numbered(2)
APART = [
    (V1, FIRST, k.local_point(V1, FIRST, now, of(i) + 1)),
    (V1, FIRST, k.iterate(V1, now + 1)),
    (V1, FIRST, k.noise(V1, m, now, of(i))),
    (V1, FIRST, k.noise(V1, SECOND, now + 1, of(i))),
    (V1, FIRST, k.gradient(k.MEAN, k.noise(V1, SECOND, now, ZERO) + x)),
    (V1, FIRST, summed(CLIENTS, m, k.noise(V1, m, now, of(i)))),
    (V1, n, k.noise(V1, SECOND, now, of(i))),
    (V1, n, k.local_point(V1, SECOND, now, of(i) + 1)),
    (MINIBATCH, FIRST, k.local_point(MINIBATCH, SECOND, now, of(i) + 1)),
    (MINIBATCH, FIRST, k.gradient(k.MEAN, k.noise(MINIBATCH, SECOND, now, of(i) + 1))),
    (MINIBATCH, FIRST, k.noise(MINIBATCH, m, now, of(i))),
    (V2, FIRST, k.noise(V2, SECOND, now, of(i))),
    (V2, FIRST, k.local_point(V2, SECOND, now, ZERO)),
]


@pytest.mark.parametrize("place", range(len(APART)))
def test_what_is_not_apart_from_a_noise_is_refused(place: int) -> None:
    run, client, u = APART[place]
    with pytest.raises(Rejected):
        R.unbiased(run, client, now, of(i), u, ())


def test_other_clients_by_number_are_said_to_be_others() -> None:
    """Beyond the last client all numbers are one client; and samples may depend."""
    more = h.Holds(constant(N - 3))
    for run, step in ((V1, of(i) + 1), (MINIBATCH, of(i))):
        both = k.noise(run, SECOND, now, step) + k.noise(run, LAST, now, step)
        for one, u in (
            (FIRST, k.gradient(k.MEAN, both)),
            (LAST, k.noise(run, SECOND, now, step)),
        ):
            found = R.unbiased(run, one, now, of(i), u, ())
            assert {more, h.Independent(run)} <= found.hypotheses
            at_first = R.instantiate(found, ((t, ZERO), (i, ZERO)), ())
            unbroken(at_first, 60)
