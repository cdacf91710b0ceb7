"""The ledger's refuting instances run in the trainer and are violated there."""

from functools import cache

import numpy as np
import pytest

from bounds.instances import prepared, runnable, runs, trained
from sfl_theory.ledger import ledger
from sfl_theory.models.moments import expected

FIRST = {
    next(runs(claim)): claim.id
    for claim in reversed(ledger().claims())
    if any(runs(claim))
}
"""Every first run of a claim, with the first claim that it refutes."""
CLAIMS = sorted(FIRST.values())


@cache
def run(claim):
    return trained(runnable(claim))


def test_all_ten_cases_and_the_propositions_are_there():
    cases = {f"han2024/thm-3.{k}/{kind}_convex" for k in range(6, 10)
             for kind in ("strongly", "general")}  # fmt: skip
    cases |= {f"han2024/thm-3.{k}/non_convex" for k in (7, 9)}
    cases |= {f"huang2023/prop-{k}" for k in ("1", "1/coupling", "2")}
    assert sorted(cases) == CLAIMS


LONG_RUNS = {f"han2024/thm-3.{k}/strongly_convex" for k in (7, 9)}
TRAINED = [
    pytest.param(one, marks=[pytest.mark.long] if one in LONG_RUNS else [])
    for one in CLAIMS
]


@pytest.mark.parametrize("claim", TRAINED)
def test_a_refuting_instance_is_violated(claim):
    found = run(claim)
    assert found.verdict.word == "violated"
    first, crossing = found.verdict.first_violation, found.instance.crossing
    assert len(found.rounds) <= 40 and found.rounds[-1] == found.instance.run.rounds
    assert crossing in found.rounds
    before = found.rounds[found.rounds < crossing]
    assert not before.size or first >= crossing
    if found.instance.run.deterministic:
        assert first == crossing and found.band.seeds == 1


@pytest.mark.parametrize("claim", TRAINED)
def test_the_trainer_makes_the_expected_left_side(claim):
    found = run(claim)
    wanted = expected(found.instance.run, found.rounds)
    if found.instance.run.deterministic:
        np.testing.assert_allclose(found.curve[:, 0], wanted, rtol=1e-10)
        return
    # What no replica of a thousand met has a probability below about 1/1000.
    half = found.band.high - found.band.mean
    unseen = 1e-3 * wanted.max()
    assert (np.abs(found.band.mean - wanted) <= 1.5 * half + unseen).all()


@pytest.mark.parametrize("claim", CLAIMS)
def test_constants_are_analytic_and_the_bound_is_the_printed_one(claim):
    instance = runnable(claim)
    known = instance.constants
    assert set(known.provenance.values()) == {"analytic"}
    assert all(known.domain[name] for name in ("S", "mu", "sigma2"))
    assert set(instance.bound.needs) <= {*known.provenance}
    assert instance.bound.version == "printed"
    np.testing.assert_array_equal(instance.federation.weights, known.weights)
    np.testing.assert_array_equal(
        instance.federation.participation, known.per_client("participation")
    )
    rate = instance.schedule
    at = np.arange(3.0)
    theirs = instance.bound.step_size.schedule(known)
    assert rate.per_step == theirs.per_step
    if instance.bound.step_size.relation == "=":
        np.testing.assert_allclose(rate.client(at), theirs.client(at), rtol=1e-14)
        np.testing.assert_allclose(rate.server(at), theirs.server(at), rtol=1e-14)
    else:
        assert (rate.client(at) <= theirs.client(at) * (1 + 1e-14)).all()


def test_it_goes_on_beyond_the_ledgers_rounds_and_stops_before():
    instance = runnable("han2024/thm-3.8/general_convex", seeds=40)
    later = trained(instance, 3 * instance.run.rounds)
    assert later.rounds[-1] == 3 * instance.run.rounds
    assert later.verdict.word == "violated"
    earlier = trained(instance, instance.crossing - 1)
    assert earlier.verdict.word != "violated"


def test_seeds_are_the_callers():
    claim = "han2024/thm-3.6/strongly_convex"
    assert runnable(claim).federation.seeds == (0,)
    assert runnable(claim, seeds=3, seed=5).federation.seeds == (5, 6, 7)
    again = prepared(claim, runnable(claim).run, seeds=2)
    assert again.federation.replicas == 2
    assert again.problem.name == f"instance:{claim}"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("han2024/thm-3.6/non_convex", "is not refuted"),
        ("han2024/lemma-C.7", "no run that the trainer makes"),
        ("han2024/table-1/3.6/non_convex", "no run that the trainer makes"),
        ("han2024/thm-3.7/stringly_convex", "unknown claim"),
    ],
)
def test_what_cannot_run_says_so_in_one_line(claim, words):
    with pytest.raises(ValueError, match=words) as raised:
        runnable(claim)
    assert "\n" not in str(raised.value) and claim in str(raised.value)
