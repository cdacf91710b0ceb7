"""Entries of Theorems 3.6-3.9, case by case."""

from __future__ import annotations

from sfl_theory.audits.han2024 import non_convex_sharper, repairs
from sfl_theory.audits.han2024.entries import identifier, refuted
from sfl_theory.audits.han2024.readings import BALL, LIPSCHITZ, UPDATES, WAITS
from sfl_theory.audits.han2024.theorem_repairs import repair_of
from sfl_theory.evidence.claim import Claim, Proof, Refutation
from sfl_theory.registry import theorem

SWAPPED = (
    "The printed step sizes have tau and tau_server swapped. For tau > 8 tau_server "
    "the server contracts slower than 1/T."
)
UNWEIGHTED = (
    "SFL-V2's server steps carry no a_n: it minimises the plain sum of the F_n. For "
    "unequal weights x_s tends to the minimiser of sum_n F_n, the gap to a constant, "
    "the bound to 0."
)
NO_RATE = (
    "The bound has no learning rate in it but is claimed for every admitted one. And "
    "for the last iterate: at x^0 = x* noise makes the gap positive and the bound is "
    "0; a tiny rate stalls; at the largest rate a noise floor stays."
)
BIASED = (
    "SFL-V2's server steps carry no a_n: it follows sum_n grad F_n, not grad f. For "
    "unequal weights grad f does not vanish, while the noise term of the bound is of "
    "order eta^2."
)
UNEQUAL_WEIGHTS = "for unequal weights; open for equal ones"
ONE_CLIENT = (
    "already for one client with one local step (at x^0 = x* for every positive rate)"
)
FALSE = {
    "thm-3.6/strongly_convex": (
        SWAPPED,
        "for unequal periods (shown at tau/tau_server = 20 and 64); true as printed "
        "for equal ones",
    ),
    "thm-3.8/strongly_convex": (
        SWAPPED,
        "for unequal periods (shown at tau/tau_server = 64); true as printed for equal "
        "ones, updates aggregated",
    ),
    "thm-3.7/strongly_convex": (UNWEIGHTED, UNEQUAL_WEIGHTS),
    "thm-3.9/strongly_convex": (UNWEIGHTED, UNEQUAL_WEIGHTS),
    "thm-3.7/non_convex": (BIASED, UNEQUAL_WEIGHTS),
    "thm-3.9/non_convex": (BIASED, UNEQUAL_WEIGHTS),
    **{
        f"thm-{number}/general_convex": (NO_RATE, ONE_CLIENT)
        for number in ("3.6", "3.7", "3.8", "3.9")
    },
}
"""Case -> what goes wrong, and for which hypotheses."""

PROVED = {
    "3.6": "as printed, gradients read as S-Lipschitz (24)",
    "3.8": "as printed, gradients read as S-Lipschitz (24), updates aggregated (for "
    "eq. (3) refuted: .../eq-3)",
}
"""Theorem -> on which reading its non-convex case is proved."""
PROOF_USES = {
    "3.6": {
        "strongly_convex": ("lemma-D.1", "prop-3.5", "eq-67", "app-D.1/first-rate"),
        "general_convex": ("lemma-D.1",),
        "non_convex": ("eq-78", "lemma-C.6", "lemma-C.7", "prop-C.4"),
    },
    "3.7": {
        "strongly_convex": ("lemma-E.1", "lemma-D.1", "prop-3.5", "app-E.1/first-rate"),
        "general_convex": ("lemma-E.1", "lemma-D.1"),
        "non_convex": ("lemma-C.6", "lemma-C.7", "prop-C.4"),
    },
    "3.8": {
        "strongly_convex": ("lemma-D.1", "prop-3.5", "eq-127"),
        "general_convex": ("lemma-D.1", "eq-127"),
        "non_convex": ("lemma-C.6", "lemma-C.7", "prop-C.4"),
    },
    "3.9": {
        "strongly_convex": ("lemma-E.1", "lemma-D.1", "prop-3.5"),
        "general_convex": ("lemma-E.1", "lemma-D.1"),
        "non_convex": ("lemma-C.6", "lemma-C.7", "prop-C.4", "step-3.9/non_convex"),
    },
}


def _theorem_case(number: str, case: str) -> Claim:
    """Return the entry of one case of Theorems 3.6-3.9.

    Raises:
        ValueError: if the bound has no step size.
    """
    item = theorem(number)
    bound = item.case(case).printed
    name = f"thm-{number}/{case}"
    evidence: Proof | Refutation
    readings = [BALL] if case == "strongly_convex" else []
    if number in {"3.6", "3.8"}:
        readings.append(WAITS)
    reading = "; ".join(readings)
    if name in FALSE:
        evidence = refuted(name, *FALSE[name])
    else:
        partially = number == "3.8"
        evidence = Proof(
            repairs.non_convex_v1_certificates(identifier(name), bound, partially),
            "A proof of its own (the paper's rests on the false Lemma C.7 and a false "
            "step in (78)): one round by the kernel's rules on four pieces of the "
            "parameter domain, then the sum over rounds.",
            non_convex_sharper.v1(identifier(name), bound, partially),
            PROVED[number],
        )
        reading = f"{LIPSCHITZ}; {UPDATES}" if partially else LIPSCHITZ
    rule = bound.step_size
    if rule is None:
        raise ValueError(f"{bound.source} has no step size")
    step = f"eta^t {rule.relation} {rule.client}"
    if not rule.same:
        step += f" (client side), {rule.server} (server side)"
    return Claim(
        identifier(name),
        f"{bound.source.statement}, {bound.source.equation}",
        "theorem",
        f"{item.title}; {'; '.join(bound.conditions)}; {step}: "
        f"{bound.metric.words} <= {bound.expr}",
        evidence,
        tuple(identifier(used) for used in PROOF_USES[number][case]),
        reading,
        repair_of(number, case),
    )


THEOREMS = tuple(
    _theorem_case(number, case)
    for number in ("3.6", "3.7", "3.8", "3.9")
    for case in ("strongly_convex", "general_convex", "non_convex")
)
