"""Certificates of inequalities between rational numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import sympy as sp

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain, positive

Build = Callable[[], Certificate]


def arithmetic(
    claim: str, pairs: tuple[tuple[Fraction, Fraction], ...], words: str
) -> tuple[Build, ...]:
    """Return certificates of ``left <= right`` between rational numbers.

    Args:
        claim: identifier.
        pairs: (left, right), one certificate each.
        words: what is compared.

    Returns:
        One builder per pair.
    """
    (dummy,) = positive("unit_")
    domain = Domain("numbers", {}, (dummy,))

    def build(left: Fraction, right: Fraction) -> Certificate:
        return Certificate(
            claim, _number(left), _number(right), (), domain, statement=words
        )

    return tuple(partial(build, left, right) for left, right in pairs)


def _number(value: Fraction) -> sp.Rational:
    return sp.Rational(value.numerator, value.denominator)
