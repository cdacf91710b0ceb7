"""False neighbours of proved statements: a checker that accepts one is broken.

`changes` makes neighbours on the terms and `proving` derives those that follow from
what is proved. `search` looks for models that break the others: `frames` draws their
kinds and numbers, `families` poses long simple runs, `recurring` finds what
conditions say step by step, `building` makes a `crowd` of them
and ties its constants, `many` evaluates terms in all its models at once, `far` long
runs, `holding` hypotheses; `scores` says which are close, `asking` what the kernel is
asked. `judged` says what became of each neighbour.
"""

from sfl_theory.mutation.judged import (
    SUBJECTS,
    VERDICTS,
    Effort,
    Judged,
    Shown,
    groups,
    judge,
    subject,
)

__all__ = [
    "SUBJECTS",
    "VERDICTS",
    "Effort",
    "Judged",
    "Shown",
    "groups",
    "judge",
    "subject",
]
