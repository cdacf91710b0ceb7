"""Putting the left side of a run beside the printed bound."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sfl_theory.audits.han2024.printed import Setting, largest_rate, right_side
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval


def gap_finding(
    setup: str,
    number: str,
    case: str,
    setting: Setting,
    checks: tuple[Check, ...],
    left: Mapping[int, Interval],
    eta: Fraction | None = None,
) -> Finding:
    """Return both sides at the last round given, and a curve over the others.

    Args:
        setup: the instance in words.
        number: the theorem.
        case: its case.
        setting: constants of the instance.
        checks: assumptions beyond weights and participation.
        left: round -> left side, at least one round.
        eta: constant learning rate, for bounds that sum over it.

    Returns:
        The finding.
    """
    last = max(left)
    right = {t: right_side(number, case, setting, t, eta) for t in left}
    return Finding(
        setup,
        (*common_checks(setting), *checks),
        left[last],
        right[last],
        f"T = {last}",
        tuple((t, float(left[t].low), float(right[t].high)) for t in sorted(left)),
    )


def common_checks(setting: Setting) -> tuple[Check, ...]:
    """Return the checks on weights and participation."""
    return (
        equal("weights: sum of a_n is 1", sum(setting.weights, Fraction(0)), 1),
        at_most("weights: a_n >= 0", 0, min(setting.weights)),
        Check("participation: 0 < q_n <= 1", 0 < setting.q <= 1, f"q = {setting.q}"),
    )


def admitted(number: str, case: str, setting: Setting, eta: Fraction) -> Check:
    """Return the check that a rate is positive and meets the printed condition."""
    limit = largest_rate(number, case, setting)
    name = "printed learning-rate condition"
    return Check(name, 0 < eta <= limit, f"0 < {eta} <= {limit}")


def shown_rounds(last: int, count: int = 24) -> tuple[int, ...]:
    """Return about ``count`` rounds from 1 to the last, evenly in the logarithm."""
    found = {1, last}
    for k in range(1, count):
        found.add(max(1, round(float(last) ** (k / count))))
    return tuple(sorted(found))
