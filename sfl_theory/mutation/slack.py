"""What a derivation gives away when it rounds its numbers up.

`combine` may name a target that is larger than what was added up, by a number. Without
targets the same calls prove more; a neighbour may fit in between.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected

LONG = 400
"""Terms of a number from which on it is rounded as the derivation says."""
CARRIES = ("cut", "sum_over", "instantiate")
"""Rules whose first argument is a theorem, that may as well be a sharper one."""


@lru_cache(maxsize=20_000)
def sharpened(theorem: r.Theorem) -> r.Theorem:
    """Return a theorem that differs from another one by a number >= 0 at most.

    Args:
        theorem: any.

    Returns:
        What its derivation proves without targets; the same theorem where that is all.
    """
    name, args = theorem.call or ("", ())
    if theorem.equal:
        return theorem
    try:
        if name == "combine":
            uses, squares, _, signs = cast(Any, args)
            uses = tuple((sharpened(one), factor) for one, factor in uses)
            made = r.combine(uses, squares, None, signs)
        elif name in CARRIES:
            first, *rest = args
            made = r.RULES[name].apply(sharpened(first), *rest)
        else:
            return theorem
    except Rejected:
        return theorem
    given = k.number_of(theorem.form - made.form)
    short = len(given.numerator.coefficients) <= LONG
    return made if short and given else theorem
