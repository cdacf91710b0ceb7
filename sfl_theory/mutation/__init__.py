"""Mutation testing of the evidence: false neighbours of proved claims.

From every certificate of a proved claim ``operators`` makes statements that say more
than was proved. ``prover`` tries to prove each of them, ``refuter`` to break it by an
exact instance; ``judge`` compares the two. A mutant that is both proved and refuted
convicts the checker.
"""

from sfl_theory.mutation.judge import Verdict, judge, statements, summary

__all__ = ["Verdict", "judge", "statements", "summary"]
