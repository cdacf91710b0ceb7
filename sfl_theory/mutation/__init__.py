"""False neighbours of proved statements: a checker that accepts one is broken.

`changes` makes neighbours on the terms, `sampling` models in which they may fail, and
`judged` says which of them are proved, refuted, neither, or (a defect) both.
"""

from sfl_theory.mutation.judged import SUBJECTS, VERDICTS, Judged, judge, subject

__all__ = ["SUBJECTS", "VERDICTS", "Judged", "judge", "subject"]
