"""Mutation testing: mutants say more than their originals, and both sides are exact.

The judge must convict a checker that accepts everything, a wrong certificate and a
reading that misunderstands a name; otherwise "0 wrongly proved" would say nothing.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice, product

import pytest
import sympy as sp

from sfl_theory.audits import LEDGER
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.claim import Claim, Proof
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import (
    assumptions,
    exact,
    judge,
    numbers,
    one_function,
    prover,
    statements,
    summary,
)
from sfl_theory.mutation.blocks import sums
from sfl_theory.mutation.federation import Coordinate
from sfl_theory.mutation.judge import Statement
from sfl_theory.mutation.operators import OPERATORS, mutants
from sfl_theory.mutation.readings import READINGS, reading
from sfl_theory.mutation.refuter import Contradiction, Refuter
from sfl_theory.mutation.witness import Witness, stands_for

tau, eta, S = positive("tau eta S")
k, h, s = *free("k h"), positive("s")[0]


def young(factor: int = 2) -> Certificate:
    a, b = vectors("a b")
    return Certificate(
        "test/young",
        norm2(a + b),
        factor * norm2(a) + factor * norm2(b),
        (),
        Domain("anything", {S: s}, (s,)),
        squares=((a - b, 1),),
    )


def drift(right: int = 3) -> Certificate:
    r"""D <= eta^2 tau^2 G for eta = 1/(S tau (1 + h)): the bound has 3 for 1."""
    D, bound = atom("numbers D"), positive("G")[0]
    domain = Domain(
        "eta <= 1/(S tau)",
        {tau: 1 + k, S: s, eta: 1 / (s * (1 + k) * (1 + h))},
        (k, h, s, bound),
    )
    fact = Fact("bound", eta**2 * tau**2 * bound - D, "recursion")
    return Certificate(
        "test/drift",
        D,
        right * eta**2 * tau**2 * bound,
        ("recursion",),
        domain,
        uses=((fact, 1),),
    )


def verdicts(certificate: Certificate) -> dict[str, str]:
    item = Statement(certificate.claim, (certificate,), (), ((),))
    return {found.change: found.verdict for found in judge(item)}


def test_every_operator_makes_its_mutants() -> None:
    found = mutants(drift())
    assert {m.operator for m in found} == set(OPERATORS)
    rights = {str(m.certificate.right) for m in found}
    assert {"3*G*eta**2*tau**2/2", "3*G*eta**3*tau**2", "3*G*eta**2"} <= rights
    doubled = next(m for m in found if m.operator == "step size doubled")
    assert doubled.certificate.domain.values[eta] == 2 * drift().domain.values[eta]
    removed = next(m for m in found if m.operator == "hypothesis removed")
    assert not removed.certificate.hypotheses
    assert not removed.certificate.uses


def test_a_mutant_of_a_loose_constant_is_proved_one_of_a_sharp_constant_refuted() -> (
    None
):
    loose, sharp = verdicts(drift(3)), verdicts(drift(1))
    half = "constant halved: right side halved"
    assert loose[half] == "proved"
    assert sharp[half] == "refuted"
    assert sharp["hypothesis removed: recursion"] == "refuted"
    assert "wrongly proved" not in {*loose.values(), *sharp.values()}


def test_all_mutants_of_a_sharp_inequality_between_vectors_are_refuted() -> None:
    found = verdicts(young())
    assert found
    assert set(found.values()) == {"refuted"}


def test_multipliers_are_fitted_where_the_original_ones_fail() -> None:
    """2||a||^2 + 2||b||^2 + ||a||^2 holds too, by one more square."""
    a, _ = vectors("a b")
    more = replace(young(), right=young().right + norm2(a))
    assert prover.proof(more, young()) == "fitted multipliers"
    less = replace(young(), right=young().right - norm2(a))
    assert prover.proof(less, young()) == ""


def test_a_sharper_statement_proves_mutants_unless_it_assumes_more_or_is_false() -> (
    None
):
    """4<a,b> <= 8||a||^2 + 8||b||^2 by squares that no fitting takes apart."""
    a, b = vectors("a b")
    loose = replace(
        young(),
        left=4 * inner(a, b),
        right=8 * norm2(a) + 8 * norm2(b),
        squares=((a - b, 5), (a + b, 3)),
    )
    sharp = replace(
        loose, right=2 * norm2(a) + 2 * norm2(b), squares=((a - b, sp.Integer(2)),)
    )
    rate = sp.Rational(1, 4)
    too_sharp = replace(sharp, right=sharp.right * rate, squares=((a - b, rate),))
    assuming = replace(sharp, hypotheses=("one more",))
    half = next(m for m in mutants(loose) if "right side halved" in m.change)
    assert prover.Prover(loose).proof(half) == ""
    assert prover.Prover(loose, (too_sharp,)).proof(half) == ""
    assert prover.Prover(loose, (assuming,)).proof(half) == ""
    narrow = replace(sharp, domain=Domain("S >= 1", {S: 1 + s}, (s,)))
    assert prover.Prover(loose, (narrow,)).proof(half) == ""
    assert prover.Prover(loose, (sharp,)).proof(half) == "a sharper statement"


def test_sharper_statements_serve_their_own_claim_only() -> None:
    """Another claim may mean another algorithm by the same words."""
    loose = young(3)
    sharp, strange = young(), replace(young(), claim="test/other")
    first = Claim("test/young", "", "lemma", "", Proof((lambda: loose,), "w"))
    other = Claim("test/other", "", "lemma", "", Proof((lambda: strange,), "w"))
    assert [item.sharper for item in statements([first, other])] == [((),), ((),)]
    own = replace(first, evidence=Proof((lambda: loose,), "w", (lambda: sharp,)))
    (item,) = statements([own])
    assert item.sharper == ((sharp,),)


def test_a_checker_that_accepts_everything_is_convicted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "sfl_theory.evidence.certificate.check", lambda *args, **more: None
    )
    assert set(verdicts(young()).values()) == {"wrongly proved"}


def test_an_original_that_an_instance_breaks_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only a broken checker lets this happen."""
    false = young(1)
    with pytest.raises(Contradiction):
        Refuter(false).standing()
    assert not verdicts(false)  # rejected, so there is nothing to mutate
    monkeypatch.setattr(
        "sfl_theory.evidence.certificate.check", lambda *args, **more: None
    )
    assert verdicts(false)["the original itself"] == "wrongly proved"


def test_a_witness_off_the_domain_or_against_a_fact_does_not_stand() -> None:
    one = Fraction(1)
    inside = {"tau": one, "S": one, "eta": one / 2, "G": one}
    original = drift()
    good = Witness("", inside, {"numbers D": one / 4})
    assert stands_for(good, original, original, True) is not None
    assert stands_for(good, original, original) is None  # no check of "recursion"
    fast = Witness("", {**inside, "eta": 2 * one}, {"numbers D": one / 4})
    assert stands_for(fast, original, original, True) is None
    wrong = Witness("", inside, {"numbers D": one})
    assert stands_for(wrong, original, original, True) is None
    no_fact = next(m for m in mutants(original) if m.removed)
    assert stands_for(wrong, original, no_fact.certificate, True) is not None


def test_a_witness_that_breaks_an_assumption_does_not_stand() -> None:
    """Every check on its own decides, and none may be missing."""
    reading = next(r for r in READINGS if r.source is one_function.three_points)
    original = certificate_of("han2024/lemma-C.3")
    for witness in islice(reading.source(original, ""), 20):
        assert stands_for(witness, original, original) is not None
        for topic, check in witness.checks.items():
            failed = {**witness.checks, topic: replace(check, passed=False)}
            broken = replace(witness, checks=failed)
            assert stands_for(broken, original, original) is None
            rest = {k: c for k, c in witness.checks.items() if k != topic}
            missing = replace(witness, checks=rest)
            assert stands_for(missing, original, original) is None


def certificate_of(claim: str) -> Certificate:
    evidence = LEDGER.claim(claim).evidence
    assert isinstance(evidence, Proof)
    return evidence.certificates[0]()


def test_the_checks_are_made_of_the_numbers() -> None:
    """Curvature above S, gradients above G, biased noise: each fails its own check."""
    two, one = Fraction(2), Fraction(1)
    assert not assumptions.smooth(two, one).passed
    assert not assumptions.smooth(-two, one).passed
    assert not assumptions.convex(one, two).passed
    assert not assumptions.bounded(two, one).passed
    assert not assumptions.spread(two, one).passed
    assert not assumptions.unit_interval(Fraction(0)).passed
    assert not assumptions.noise(two, one)[assumptions.VARIANCE].passed
    assert not assumptions.noise(one, one, one)[assumptions.UNBIASED].passed


def test_without_a_hypothesis_witnesses_break_it_and_no_other_checks_decide() -> None:
    """Curvature outside [mu, S]: stands for the mutant without that assumption only."""
    original = certificate_of("han2024/lemma-C.3")
    source = one_function.three_points
    for mutant in mutants(original):
        if not mutant.removed:
            continue
        wild = [
            w
            for w in islice(source(original, mutant.removed), 200)
            if stands_for(w, original, mutant.certificate) is not None
            and w.meets(original.hypotheses[:2], "han2024") is None
        ]
        assert wild
        assert all(stands_for(w, original, original) is None for w in wild)


def test_a_hypothesis_that_is_not_known_is_met_by_no_witness() -> None:
    witness = Witness("", {}, {}, {"smooth": Check("smooth", True, "")})
    assert witness.meets(("Assumption 3.1",)) is not None
    assert witness.meets(("Assumption 3.1", "Assumption 99")) is None
    assert witness.meets(("Assumption 2",), "huang2023") is None
    assert witness.meets(("Assumption 2",), "dachille2024") is not None


def test_the_moments_of_a_round_are_those_of_all_its_draws() -> None:
    """Two clients, two steps, noise +-s: enumerated."""
    a, eta = (Fraction(1, 3), Fraction(2, 3)), Fraction(1, 7)
    b, s = (Fraction(1), Fraction(-2)), (Fraction(1, 2), Fraction(3))
    side = Coordinate(Fraction(5), b, s, Fraction(4), 2)
    ends, squares, drifts = [], [], []
    for signs in product((-1, 1), repeat=4):
        end, drift = Fraction(0), Fraction(0)
        for n in range(2):
            x = side.start
            for i in range(2):
                drift += a[n] * (x - side.start) ** 2
                x -= eta * (side.c * x - b[n] + signs[2 * n + i] * s[n])
            end += a[n] * x
        ends.append(end)
        squares.append(end**2)
        drifts.append(drift)
    mean, variance, absent = side.averaged(a, eta, Fraction(1))
    assert mean == sum(ends) / 16
    assert variance == sum(squares) / 16 - mean**2
    assert absent == 0
    found = [sums(side, n, eta) for n in range(2)]
    assert sum(w * f.drift for w, f in zip(a, found, strict=True)) == sum(drifts) / 16
    moved = sum(w * f.gradients for w, f in zip(a, found, strict=True))
    assert side.start - eta * moved == mean
    spread = sum(
        w**2 * (f.variance + 2 * f.covariance + f.noise)
        for w, f in zip(a, found, strict=True)
    )
    assert eta**2 * spread == variance


def test_what_is_given_restricts_the_points() -> None:
    domain = drift().domain.extended(given=(2 - tau,))
    assert exact.complete(domain, {"tau": Fraction(2), "S": Fraction(1)}) is not None
    assert exact.complete(domain, {"tau": Fraction(3), "S": Fraction(1)}) is None
    assert all(values["tau"] <= 2 for values in exact.points(domain, 0, 40))
    doubled = next(
        m
        for m in mutants(replace(drift(), domain=domain))
        if m.operator == "step size doubled"
    )
    assert doubled.certificate.domain.given == domain.given


def test_derived_facts_are_settled_for_the_same_hypotheses_only() -> None:
    item = next(
        item
        for item in statements([LEDGER.claim("huang2023/prop-1")])
        if any(fact.derived for fact, _ in item.pieces[0].uses)
    )
    original = item.pieces[0]
    plain = prover.settled(original)
    assert prover.accepted(plain)
    assert all(fact.derived is None for fact, _ in plain.uses)
    broken = replace(original, hypotheses=original.hypotheses[1:])
    assert not prover.accepted(broken)


def test_points_lie_in_the_domain() -> None:
    domain = drift().domain
    for values in exact.points(domain, 0, 40):
        assert values["eta"] * values["S"] * values["tau"] <= 1
        assert values["tau"].denominator == 1
        given = {name: values[name] for name in ("tau", "S", "eta", "G")}
        assert exact.complete(domain, given) == values


def test_exact_functions_agree_with_sympy() -> None:
    expr = (3 * S**2 / 7 - tau) ** 3 / (eta + 1) ** 2 + sp.Rational(1, 3)
    values = {"S": Fraction(2, 3), "tau": Fraction(5), "eta": Fraction(1, 9)}
    symbols = {S: sp.Rational(2, 3), tau: sp.Integer(5), eta: sp.Rational(1, 9)}
    assert sp.Rational(str(exact.at(expr, values))) == expr.xreplace(symbols)


def test_numbers_that_meet_the_facts_meet_them() -> None:
    original = drift()
    found = list(numbers.meeting_the_facts(original, ""))
    assert found
    for witness in found:
        fact = original.uses[0][0]
        assert exact.at(fact.expr, {**witness.parameters, **witness.atoms}) >= 0


@pytest.mark.long
def test_every_reading_reads_a_statement_of_the_ledger_and_its_witnesses_stand() -> (
    None
):
    """A reading whose names no longer occur would silently leave mutants undecided."""
    left = set(range(len(READINGS)))
    for item in statements(LEDGER.claims()):
        first = item.pieces[0]
        if not any(READINGS[number].fits(first) for number in left):
            continue
        if Refuter(first).standing() > 0:
            chosen = reading(first)
            left -= {k for k in left if READINGS[k] is chosen}
    assert not [READINGS[k] for k in left]


def test_summary_counts_every_mutant_and_verdicts_are_repeatable() -> None:
    item = Statement("test/drift", (drift(),), (), ((),))
    first, second = list(judge(item)), list(judge(item))
    assert first == second
    tables = summary(first)
    for rows in (tables["kind"], tables["group"]):
        assert sum(sum(row.values()) for row in rows.values()) == len(first)
