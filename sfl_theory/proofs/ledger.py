"""All proofs and refutations of this library as one file for the kernel.

``python -m sfl_theory.proofs.ledger proofs.json`` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.proofs import (
    foundations,
    general_convex,
    non_convex,
    partial_visits,
    refutations,
    strongly_convex,
    visits,
)
from sfl_theory.proofs.export import ModelData, Statement, document
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.proofs.witnesses import witness

Proof = tuple[Statement, Callable[[], Theorem]]


def proofs() -> Iterator[Proof]:
    """Yield every statement with its proof."""
    yield foundations.gradient_descent_statement(), foundations.gradient_descent
    yield foundations.lemma_c3_statement(), foundations.lemma_c3_proof
    yield foundations.prop_35_statement(), foundations.prop_35
    for partially, number in ((False, "3.6"), (True, "3.8")):
        for side in Side:
            p = TwoPaces(side, partially)
            name = f"han2024/thm-{number}/non_convex/longer-{side}"
            yield non_convex.statement(p, name), partial(non_convex.theorem, p)
    yield strongly_convex.statement(), strongly_convex.rate
    yield strongly_convex.printed_statement(), strongly_convex.printed
    yield general_convex.statement(), general_convex.theorem
    yield visits.statement(), visits.theorem
    yield partial_visits.statement(), partial_visits.theorem


def refuted() -> Iterator[tuple[Statement, ModelData]]:
    """Yield every statement with a model that breaks it."""
    yield refutations.too_fast_descent()
    yield refutations.printed_v2_strongly_convex(Fraction(19, 20))
    yield refutations.one_client_without_noise()


def main(path: str) -> None:
    """Write the file."""
    proved = [(statement, prove()) for statement, prove in proofs()]
    witnesses = {statement.id: witness(statement) for statement, _ in proved}
    text = document(proved, refuted(), witnesses)
    Path(path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
