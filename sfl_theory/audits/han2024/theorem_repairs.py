"""The nearest true statements to the cases of Theorems 3.6-3.9, with their proofs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfl_theory.audits.han2024 import (
    general_convex_drift,
    partial_v2,
    partial_v2_sharper,
    repairs,
    two_periods,
    value_bounds,
)
from sfl_theory.audits.han2024.entries import identifier
from sfl_theory.audits.han2024.equations import rates_descent
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Proof, Repair
from sfl_theory.papers.repaired import (
    SETTINGS,
    TWO_PERIODS,
    UNSWAPPED,
    general_convex_two_periods,
    strongly_convex,
)
from sfl_theory.papers.repaired_non_convex import non_convex_v2_sharp
from sfl_theory.registry import theorem


def repair_of(number: str, case: str) -> Repair | None:
    """Return the repair of a theorem's case, where it is not proved as printed."""
    key = f"{identifier(f'thm-{number}/{case}')}#repair"
    setting = next(s for s in SETTINGS if s.number == number)
    bound = theorem(number).case(case).repaired
    if bound is None:
        return None
    statement = f"{bound.metric.words} <= {bound.expr}"
    change = "; ".join(setting.conditions)
    stronger: tuple[Callable[[], Certificate], ...] = ()
    if case == "strongly_convex":
        builders = list(repairs.strongly_convex(key, setting))
        words = (
            "One joint recursion for both blocks (the block-wise Lemmas D.1 and E.1 "
            "are false), an induction with its own step at t = 0, Prop. 3.5."
        )
        periods = next((p for p in TWO_PERIODS if p.number == number), None)
        stronger = value_bounds.certificates(key, setting, periods)
        variants = theorem(number).case(case).variants
        equal = variants.get("equal_periods")
        if equal is not None:
            builders = [*rates_descent.certificates(key, number), *builders]
            words = (
                "The printed right side, for each side's own number of steps: the "
                "function value contracts (the blocks' distances do not). For "
                f"tau_server = tau: {words[0].lower()}{words[1:]}"
            )
            change = UNSWAPPED
            statement += f"; for tau_server = tau: <= {equal.expr}"
        statement += f"; sharper: <= {variants['sharper'].expr}"
        if equal is not None:
            statement += " for tau_server = tau"
    elif case == "general_convex":
        builders = list(repairs.general_convex(key))
        if number == "3.6":  # of a statement that the other theorems share
            stronger = (partial(general_convex_drift.half_of_the_drift, key),)
        words = "The joint recursion with mu = 0, summed over the rounds."
        change = (
            "weighted mean of the gaps instead of the last iterate, the learning rate "
            f"kept in the bound; {change}"
        )
    elif number == "3.9":
        builders = list(
            partial_v2.certificates(key, theorem(number).case(case).printed)
        )
        stronger = partial_v2_sharper.certificates(key)
        words = (
            "Descent lemma and the rules of participation (points that depend on who "
            "takes part), summed over rounds. Any weights, if the server steps by "
            "eta a_n/q_n g; (22) as printed is larger, so it holds as well."
        )
        sharp = non_convex_v2_sharp()
        statement += f", and sharper for small rates: <= {sharp.expr}"
        change += "; eta^t <= 1/(8 S tau sum_n a_n/q_n)"
    else:
        builders = list(repairs.non_convex_v2_certificates(key))
        words = "Descent lemma, drift and noise by the kernel's rules, summed over "
        words += "rounds."
    for other in TWO_PERIODS:
        if other.number == number:
            rule, prove, theirs = {
                "strongly_convex": (
                    "eta^t = 4/(mu tau (gamma+t)) (client side), "
                    "4/(mu tau_server (gamma+t)) (server side)",
                    two_periods.strongly_convex,
                    strongly_convex,
                ),
                "general_convex": (
                    "eta^t (client side), eta^t tau/tau_server (server side)",
                    two_periods.general_convex,
                    general_convex_two_periods,
                ),
            }[case]
            builders += prove(key, other)
            statement += f"; for any periods and {rule}: <= {theirs(other).expr}"
            if case == "general_convex":
                change += f"; or {other.conditions[0]}"
            words += " For any periods the recursion at points where both sides are "
            words += "the same fraction of their steps along."
    return Repair(statement, Proof(tuple(builders), words, stronger), change)
