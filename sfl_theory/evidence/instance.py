r"""Refutations: an explicit instance that meets every assumption and breaks the claim.

An instance is a function that returns a ``Finding``: the assumptions checked on it, one
by one, and both sides of the claim as exact rationals or rigorous enclosures. It
refutes ``left <= right`` if every check passed and the lower end of the left side
exceeds the upper end of the right side.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.evidence.certificate import Rejected
from sfl_theory.evidence.federated import FederatedRun
from sfl_theory.evidence.interval import Interval, Number


@dataclass(frozen=True)
class Check:
    """One assumption, checked.

    Attributes:
        assumption: which one, and how it is read.
        passed: whether the instance meets it.
        detail: the numbers.
    """

    assumption: str
    passed: bool
    detail: str


@dataclass(frozen=True)
class Finding:
    """Both sides of a claim on an instance.

    Attributes:
        setup: the instance in words.
        checks: the assumptions of the claim on it.
        left: left side of ``left <= right``.
        right: right side.
        at: where it fails, for instance "T = 100".
        curve: (round, left, right) for a picture, floats, may be empty.
        run: the run of an algorithm that the left side is measured on, if it is one.
    """

    setup: str
    checks: tuple[Check, ...]
    left: Interval
    right: Interval
    at: str = ""
    curve: tuple[tuple[int, float, float], ...] = ()
    run: FederatedRun | None = None

    @property
    def margin(self) -> Interval:
        """Left minus right."""
        return self.left - self.right


def replay(finding: Finding) -> tuple[str, ...]:
    """Say line by line why the instance refutes its claim.

    Args:
        finding: what the instance returned.

    Returns:
        The lines: setup, assumptions, both sides.

    Raises:
        Rejected: if an assumption fails or the left side does not exceed the right.
    """
    lines = [f"instance: {finding.setup}"]
    if not finding.checks:
        raise Rejected("no assumption was checked on the instance")
    for check in finding.checks:
        if not check.passed:
            raise Rejected(f"the instance breaks {check.assumption}: {check.detail}")
        lines.append(f"meets {check.assumption}: {check.detail}")
    if not finding.left.low > finding.right.high:
        raise Rejected(
            f"no violation: left {finding.left}, right {finding.right} {finding.at}"
        )
    lines.append(f"left side  {finding.left} {finding.at}".rstrip())
    lines.append(f"right side {finding.right}")
    lines.append(f"margin     {float(finding.margin.low):.6g}")
    return tuple(lines)


def at_most(name: str, value: Number | Interval, limit: Number | Interval) -> Check:
    """Return the check ``value <= limit``, exact."""
    left, right = Interval.of(value), Interval.of(limit)
    return Check(name, left.high <= right.low, f"{left} <= {right}")


def equal(name: str, value: Number, other: Number) -> Check:
    """Return the check ``value = other``, exact."""
    return Check(name, value == other, f"{value} = {other}")
