"""Mutants: statements that say more than a certificate proves.

A term of ``right - left`` with a positive coefficient is made smaller, one with a
negative coefficient larger, so that a mutant is stronger than its original wherever the
term has the sign it seems to have. A mutant may still be true, where the original is
not sharp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain
from sfl_theory.mutation.terms import ATOM, coefficient_sign, terms

OPERATORS = (
    "constant halved",
    "exponent changed",
    "factor dropped",
    "step size doubled",
    "hypothesis removed",
)
SAME_GROUND = frozenset(OPERATORS[:3])
"""Operators that change neither the hypotheses nor the domain."""

COUNTS = frozenset({"N", "tau", "tau_server", "tau_min", "T"})
"""Symbols of counts; a factor of one of these is dropped."""

RATES = {"eta": 1, "u": 2}
"""Learning rates and the power of the rate that they stand for."""

SETTLED = "proved by earlier steps"
"""Stands for derived facts once the original was replayed."""

LAWS = frozenset({"kernel", "square", "squares", SETTLED})
"""Hypotheses that are theorems, not assumptions; none can be removed."""


@dataclass(frozen=True)
class Mutant:
    """A changed statement.

    Attributes:
        operator: one of ``OPERATORS``.
        change: what was changed, in words.
        certificate: the original proof, its statement and hypotheses changed.
        removed: the hypothesis that is gone, "" if none is.
    """

    operator: str
    change: str
    certificate: Certificate
    removed: str = ""


def mutants(original: Certificate) -> tuple[Mutant, ...]:
    """Return all different mutants of a certificate, always in the same order.

    Args:
        original: of a proved claim.

    Returns:
        The mutants.
    """
    found: dict[Any, Mutant] = {}
    for mutant in (
        *_terms_changed(original),
        *rate_doubled(original),
        *_hypotheses_removed(original),
    ):
        new = mutant.certificate
        gap = sp.Integer(0) + new.right - new.left
        rate = tuple(new.domain.values.items())
        found.setdefault((sp.expand(gap), rate, new.hypotheses), mutant)
    same = sp.expand(sp.Integer(0) + original.right - original.left)
    found.pop((same, tuple(original.domain.values.items()), original.hypotheses), None)
    return tuple(found.values())


def _terms_changed(original: Certificate) -> Iterator[Mutant]:
    left = [] if original.left == 0 else terms(original.left)
    if len(left) == 1:
        yield _with(original, "constant halved", "right side halved", half=True)
        left = []
    for on_right, term in (
        *((True, term) for term in terms(original.right)),
        *((False, term) for term in left),
    ):
        for operator, new in _changes(original.domain, term, on_right):
            change = new - term if on_right else 0
            more = 0 if on_right else new - term
            words = f"{term} -> {new}{'' if on_right else ' on the left'}"
            yield _with(original, operator, words, change, more)


def _with(
    original: Certificate,
    operator: str,
    words: str,
    change: Any = 0,
    more: Any = 0,
    half: bool = False,
) -> Mutant:
    right = original.right / sp.Integer(2) if half else original.right + change
    left = original.left + more
    words = f"{operator}: {words}"
    return Mutant(operator, words, replace(original, left=left, right=right))


def _changes(domain: Domain, term: Any, on_right: bool) -> Iterator[tuple[str, Any]]:
    """Yield changes that make ``right - left`` smaller, term by term."""
    shrink = (coefficient_sign(term) > 0) is on_right
    yield "constant halved", term / 2 if shrink else term * 2
    for new in _counts_in_sums(domain, term, shrink):
        yield "factor dropped", new
    for base, power in sorted(term.as_powers_dict().items(), key=str):
        if not base.is_Symbol or isinstance(base, ATOM) or not power.is_Integer:
            continue
        least_one = domain.nonnegative(base - 1)
        if str(base) in COUNTS and bool(power > 0) is shrink:
            yield "factor dropped", term / base**power
        step = -1 if shrink else 1
        if not least_one:
            step = 1 if power > 0 else -1
        if power + step != 0:
            yield "exponent changed", term * base**step


def _counts_in_sums(domain: Domain, term: Any, shrink: bool) -> Iterator[Any]:
    """Yield the term with a count inside a sum set to 1, where that strengthens."""
    sums = [f for f in term.as_powers_dict() if f.is_Add]
    inside = set().union(*(f.free_symbols for f in sums)) if sums else set()
    for symbol in sorted(inside, key=str):
        if str(symbol) not in COUNTS or term.atoms(ATOM):
            continue
        new = term.xreplace({symbol: sp.Integer(1)})
        if domain.nonnegative(term - new if shrink else new - term):
            yield new


def rate_doubled(original: Certificate) -> Iterator[Mutant]:
    """Yield the certificate for twice the learning rate, where it is bounded.

    Args:
        original: of a proved claim.

    Yields:
        Mutants.
    """
    domain = original.domain
    for rate, expr in domain.values.items():
        power = RATES.get(str(rate))
        if power is None or expr in domain.free:
            continue
        values = {**domain.values, rate: 2**power * expr}
        words = f"step size doubled: {domain.words}"
        changed = Domain(words, values, domain.free, domain.given)
        yield Mutant("step size doubled", words, replace(original, domain=changed))


def _hypotheses_removed(original: Certificate) -> Iterator[Mutant]:
    for name in original.hypotheses:
        if name in LAWS or not any(f.hypothesis == name for f, _ in original.uses):
            continue
        changed = replace(
            original,
            hypotheses=tuple(h for h in original.hypotheses if h != name),
            uses=tuple(use for use in original.uses if use[0].hypothesis != name),
        )
        words = f"hypothesis removed: {name}"
        yield Mutant("hypothesis removed", words, changed, name)
