"""Which proved bounds stand for which case of ``han2024``."""

from __future__ import annotations

from sfl_theory.bound import Bound
from sfl_theory.papers import last_iterate, repaired_non_convex, unbounded
from sfl_theory.papers import repaired as rep
from sfl_theory.papers.last_model import equal_weights, last_model
from sfl_theory.papers.repaired import SETTINGS, TWO_PERIODS, distance_free, own_periods
from sfl_theory.papers.repaired_non_convex import non_convex_v2, non_convex_v2_sharp


def repaired(number: str, case: str, printed: Bound) -> Bound | None:
    """Return the nearest proved bound.

    Args:
        number: of the theorem.
        case: its case.
        printed: the bound as printed.

    Returns:
        The bound, or None where the printed one is proved.
    """
    if case == "strongly_convex" and number in {"3.6", "3.8"}:
        return own_periods(printed)
    return REPAIRED.get((number, case))


def variants(number: str, case: str, printed: Bound) -> dict[str, Bound]:
    """Return further proved bounds of a case by name.

    Args:
        number: of the theorem.
        case: its case.
        printed: the bound as printed.

    Returns:
        "sharper": smaller right sides; "equal_periods": the strongly convex case for
        equal ones, of the printed shape; "any_periods": for any, sharper
        than the repaired bound where that is of the printed shape; those of
        ``last_model``, ``unbounded`` and ``last_iterate``.
    """
    found: dict[str, Bound] = {}
    both = [setting for setting in TWO_PERIODS if setting.number == number]
    if case == "strongly_convex":
        found["sharper"] = distance_free(
            next(s for s in SETTINGS if s.number == number)
        )
    if case == "strongly_convex":
        found |= last_model(number, printed)
    if case != "general_convex" and number in {"3.7", "3.9"}:
        found["equal_weights"] = equal_weights(printed)
    if case == "strongly_convex" and both:
        found["equal_periods"] = REPAIRED[number, case]
        found["any_periods"] = distance_free(both[0])
    if case == "general_convex" and both:
        found["any_periods"] = rep.general_convex_two_periods(both[0])
    if (number, case) == ("3.9", "non_convex"):
        found["sharper"] = non_convex_v2_sharp()
    found |= unbounded.variants(number, case)
    return found | last_iterate.variants(number, case)


REPAIRED = {
    **{(s.number, "strongly_convex"): rep.strongly_convex(s) for s in SETTINGS},
    **{(s.number, "general_convex"): rep.general_convex(s) for s in SETTINGS},
    ("3.7", "non_convex"): non_convex_v2(),
    ("3.9", "non_convex"): repaired_non_convex.non_convex_v2_partial(),
}
