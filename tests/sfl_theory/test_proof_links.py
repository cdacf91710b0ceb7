"""No certificate of the ledger takes an earlier step on trust.

A hypothesis is an assumption, a definition or a rule of the kernel, all listed here;
whatever else a certificate uses is derived from certificates that are replayed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sfl_theory import symbols, theorems
from sfl_theory.audits import LEDGER
from sfl_theory.audits.han2024 import convex, repairs
from sfl_theory.audits.huang2023 import lemmas
from sfl_theory.evidence.certificate import Certificate, Fact, Rejected, check
from sfl_theory.evidence.claim import Proof
from sfl_theory.evidence.derivation import INDUCTION, Cases, Instance, Use
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.round_sum import RoundSum
from sfl_theory.papers import repaired
from sfl_theory.papers.repaired import SETTINGS

HYPOTHESES = {
    "rules with a proof of their own": (
        "kernel",
        "square",
        "squares",
    ),
    "assumptions of han2024": (
        "Assumption 3.1",
        "Assumption 3.2",
        "Assumption 3.2, unbiased gradients",
        "Assumption 3.3",
        "Assumption 3.4",
        "Assumption C.1 (24)",
        "Assumption C.1 (24), gradients S-Lipschitz",
        "Assumption C.1 (25)",
        "Assumption C.1 (26)-(27)",
        "Assumption C.1 (28)",
        "Assumption C.1 (29)",
        "Assumption C.2",
        "(1)",
        "Assumption 3.1, gradients S-Lipschitz (24)",
        "Assumption 3.2 (5)",
        "Assumption 3.2, participation independent of the samples",
        "Assumption 3.2, variance",
        "Assumptions 3.1 and C.2",
        "E I_n = q_n > 0, I_n independent of the local model (SFL-V1)",
        "I_n ~ Bernoulli(q_n), independent of the samples",
        "independent participation",
    ),
    "assumptions of huang2023 and dachille2024": (
        *(f"Assumption {k}" for k in range(1, 6)),
        "independent clients",
        "unbiased",
    ),
    "algorithms": (
        "App. C.2 update of SFL-V1",
        "App. C.2 update of SFL-V1, noise as in Assumption 3.2",
        "every client takes part",
        "SFL-V2 with server steps eta a_n g",
        "SFL-V2 with server steps eta a_n g, noise as in Assumption 3.2",
        "SFL-V2 with server steps eta a_n/q_n g",
        "SFL-V2 with server steps eta a_n/q_n g, noise as in Assumption 3.2",
        "SFL-V2's update, both runs with the same samples in the same order, eta <= "
        "2/S; Assumptions 3.1, C.2 and 3.2; I_n ~ Bernoulli(q_n), independent of the "
        "order and the samples",
        "both start a round from the global model",
        "line 12 in place: x_s <- x_s - (eta/q_n) g_s; r_0 = 0",
        "the same samples, so equal gradients at equal points",
        "x_n^t,0 = x^t",
        "the algorithm's update with unbiased gradients, each side's rate divided by "
        "its own period",
        "the algorithm's update, tau = tau_server",
        "update (3)-(5)",
    ),
    "definitions": (
        "C^0 = 1, C^{i+1} = C C^i",
        "Delta_t = E||x^t - x*||^2",
        "F_err = f(x^0) - f*",
        "I_err = ||w^0 - w*||^2",
        "I_err = ||x^0 - x*||^2",
        "definition",
        "definition of K_v, every client is visited tau times",
        "definition of f*",
        "definition of grad_s f at the local points",
        "definition of the sum over i",
        "definition of v",
        "definition of x = [x_c; x_s]",
        "grad f = [grad_c f; grad_s f]",
        "gradient2 stands for ||gradf(x^t)||^2",
        "the federation S/2 ||.||^2 - <b_n, .>",
        "the federation phi + <b_n, .>",
        "gbar = sum p_n g_n, wbar = sum p_n w_n",
        "w = [w_c; w_s]",
        "w* minimises F",
        "x = [x_c; x_s]",
        "x* minimises f",
    ),
    "conditions that the claim itself states": (
        "eta^t <= 1/(8 S tau sum a_n/q_n)",
        "recursion",
    ),
}
ALLOWED = {h for group in HYPOTHESES.values() for h in group}
STEPS_BY_THEMSELVES = {
    "han2024/eq-63",
    "han2024/eq-100#repair",
}
"""Claims that are the step of an induction."""


def proofs() -> Iterator[tuple[str, Proof]]:
    """Go through the proofs of the ledger under their identifiers."""
    for claim in LEDGER.claims():
        if isinstance(claim.evidence, Proof):
            yield claim.id, claim.evidence
        if claim.repair is not None and isinstance(claim.repair.evidence, Proof):
            yield f"{claim.id}#repair", claim.repair.evidence


def uses(earlier: Use | Cases) -> tuple[Use, ...]:
    if isinstance(earlier, Use):
        return (earlier,)
    return (*uses(earlier.above), *uses(earlier.below))


def sources(fact: Fact) -> tuple[Certificate, ...]:
    """Return the certificates that a fact is derived from; the rules are known ones."""
    link = fact.derived
    if link is None:
        return ()
    if type(link) is Induction:
        found = [link.base, *(use for step in link.steps for use in uses(step))]
    else:
        assert type(link).__module__.startswith("sfl_theory.evidence."), link
        found = [*uses(link.earlier)]  # type: ignore[attr-defined]
    return tuple(use.source for use in found)


def everything(certificate: Certificate) -> Iterator[Certificate]:
    """Go through a certificate and all that it is derived from."""
    yield certificate
    for fact, _ in certificate.uses:
        for source in sources(fact):
            yield from everything(source)


PROOFS = dict(proofs())
RATES = {
    f"eta^t <= {bound.step_size.client} for every t < T"
    for item in theorems()
    for case in item.cases.values()
    for bound in (case.printed, case.repaired)
    if bound is not None and bound.step_size is not None
}


@pytest.mark.parametrize("name", PROOFS)
def test_hypotheses_are_assumptions_definitions_or_rules(name: str) -> None:
    for build in PROOFS[name].certificates:
        for certificate in everything(build()):
            unknown = {*certificate.hypotheses} - ALLOWED - RATES - {INDUCTION}
            assert not unknown, unknown


def test_what_is_proved_under_an_induction_hypothesis_is_used_by_an_induction() -> None:
    for name, proof in PROOFS.items():
        steps = [build() for build in proof.certificates]
        used = [source for s in steps for other in everything(s) for f, _ in other.uses
                if type(f.derived) is Induction for source in sources(f)]  # fmt: skip
        for step in steps:
            if INDUCTION in step.hypotheses and name not in STEPS_BY_THEMSELVES:
                assert step in used, (name, step.statement)


LINKED = [
    (name, k)
    for name, proof in PROOFS.items()
    for k, build in enumerate(proof.certificates)
    if any(fact.derived for fact, _ in build().uses)
]


def test_chains_are_linked() -> None:
    """The theorems' proofs over T rounds rest on their certificates of one round."""
    names = {name for name, _ in LINKED}
    assert names >= {
        "han2024/thm-3.6/non_convex",
        "han2024/thm-3.8/non_convex",
        "dachille2024/prop-1",
        "huang2023/thm-1",
        "huang2023/lemma-4",
        *(
            f"han2024/thm-{number}/{case}#repair"
            for number in ("3.6", "3.7", "3.8", "3.9")
            for case in ("strongly_convex", "general_convex")
        ),
        "han2024/thm-3.7/non_convex#repair",
    }


@pytest.mark.parametrize(("name", "k"), LINKED)
def test_a_derived_fact_with_a_changed_coefficient_is_rejected(
    name: str, k: int
) -> None:
    """Both sides of the user are changed alike, so only the link can notice."""
    certificate = PROOFS[name].certificates[k]()
    for place, (fact, multiplier) in enumerate(certificate.uses):
        if fact.derived is None:
            continue
        changed = replace(fact, expr=fact.expr * 2)
        forged = replace(
            certificate,
            left=certificate.left - multiplier * fact.expr,
            uses=(
                *certificate.uses[:place],
                (changed, multiplier),
                *certificate.uses[place + 1 :],
            ),
        )
        with pytest.raises(Rejected, match="is not what the earlier step proves"):
            check(forged, certificate.claim)


def test_the_printed_rule_of_the_rates_is_needed() -> None:
    """Without its condition on the rates the sum over rounds does not go through."""
    certificate = PROOFS["han2024/thm-3.6/non_convex"].certificates[-1]()
    fact, multiplier = certificate.uses[0]
    link = fact.derived
    assert isinstance(link, RoundSum)
    assert link.words in RATES
    for kept in link.condition:
        fewer = replace(fact, derived=replace(link, condition=(kept,)))
        uses = ((fewer, multiplier), *certificate.uses[1:])
        with pytest.raises(Rejected, match="outside the domain"):
            check(replace(certificate, uses=uses), certificate.claim)


def test_steps_of_an_induction_are_not_the_claim() -> None:
    """(16) of huang2023: the last certificate is the conclusion, not a step."""
    steps = [build() for build in lemmas.induction("x", "B")]
    assert [INDUCTION in step.hypotheses for step in steps] == [False, True, False]


@pytest.mark.parametrize("first", [True, False])
def test_the_induction_takes_the_round_at_the_rate_of_the_bound(first: bool) -> None:
    """The learning rate of the repaired bounds is the one that the proof uses."""
    fact, _ = convex.induction("x", first).uses[0]
    assert isinstance(fact.derived, Instance)
    assert isinstance(fact.derived.earlier, Use)
    names = {symbols.tau: convex.tau, symbols.t: convex.t}
    for setting in SETTINGS:
        rule = repaired.strongly_convex(setting).step_size
        assert rule is not None
        assert fact.derived.earlier.at["e"] == rule.client.xreplace(names)


def test_constants_outside_the_induction_are_rejected() -> None:
    """c_d <= 7 c_1 is needed by the step from t = 0."""
    fitting = replace(SETTINGS[0], cd=7 * SETTINGS[0].c1)
    check(repairs.at_constants("x", fitting), "x")
    with pytest.raises(Rejected, match="outside the domain"):
        too_large = replace(fitting, cd=fitting.cd + 1)
        check(repairs.at_constants("x", too_large), "x")
