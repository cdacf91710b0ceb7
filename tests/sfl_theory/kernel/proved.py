"""Proofs on which the kernel's tests try mutants, surgery and logic, made once.

And only where they are asked for: every process of a test run imports this.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

import statements

from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.proofs import (
    foundations,
    non_convex,
    partial_visits,
    sharp_rounds,
    strongly_convex,
)
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.non_convex import TwoPaces

Proof = tuple[Statement, Callable[[], Theorem]]


def proofs() -> Iterator[Proof]:
    """Yield every statement with its proof."""
    yield statements.gradient_descent_statement(), statements.gradient_descent
    yield statements.lemma_c3_statement(), foundations.lemma_c3_proof
    yield statements.prop_35_statement(), foundations.prop_35
    for partially, number in ((False, "3.6"), (True, "3.8")):
        for side in Side:
            p = TwoPaces(side, partially)
            name = f"han2024/thm-{number}/non_convex/longer-{side}"
            yield (
                statements.non_convex_statement(p, name),
                partial(non_convex.theorem, p),
            )
    yield statements.strongly_convex_statement(), strongly_convex.rate
    yield statements.printed_statement(), strongly_convex.printed
    yield statements.general_convex_statement(), statements.general_convex
    yield statements.visits_statement(), sharp_rounds.rounds_of_visits
    yield statements.partial_visits_statement(), partial_visits.theorem


class Proved(Mapping[str, tuple[Statement, Theorem]]):
    """Statements by name with their theorems."""

    def __init__(self) -> None:
        self._proofs = {
            statement.id: (statement, prove) for statement, prove in proofs()
        }
        self._made: dict[str, Theorem] = {}

    def __getitem__(self, name: str) -> tuple[Statement, Theorem]:
        statement, prove = self._proofs[name]
        if name not in self._made:
            self._made[name] = prove()
        return statement, self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._proofs)

    def __len__(self) -> int:
        return len(self._proofs)


PROOFS = Proved()


@cache
def shorter() -> list[tuple[Statement, Theorem]]:
    """Return all proofs but two long ones."""
    return [pair for name, pair in PROOFS.items() if "longer-client" not in name]


def many(few: int) -> int:
    """Return how many random cases a long test tries.

    ``SFL_KERNEL_CASES=10000`` in the environment asks for so many; else it is few, so
    that the long tests of this folder take about two minutes.
    """
    return int(os.environ.get("SFL_KERNEL_CASES", few))
