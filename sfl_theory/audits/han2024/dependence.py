"""Which entry's proof in the paper uses which, across the modules of this audit.

An entry names what lies in its own module; what connects lemmas, equations of different
sections and theorems stands here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.evidence.claim import Claim

USES = {
    "prop-3.5": "eq-33 eq-34",
    "lemma-C.5": "eq-41",
    "lemma-C.6": "eq-45",
    "lemma-C.7": "eq-52",
    "lemma-D.1": "eq-60",
    "lemma-E.1": "eq-97",
    "eq-3": "eq-2",
    "eq-62": "eq-61",
    "eq-72": "eq-71",
    "eq-74": "eq-60",
    "eq-75": "eq-60",
    "eq-99": "eq-98",
    "eq-109": "eq-108",
    "eq-130": "eq-129",
    "eq-135": "eq-134",
    "eq-141": "eq-132",
    "eq-160": "eq-159",
    "eq-165": "eq-164",
    "eq-168": "eq-157",
    "eq-171": "eq-162",
    "thm-3.6/strongly_convex": "eq-73 cond-3.6/strongly_convex",
    "thm-3.7/strongly_convex": "eq-110 cond-3.7/strongly_convex",
    "thm-3.8/strongly_convex": "eq-136 cond-3.8/strongly_convex",
    "thm-3.9/strongly_convex": "eq-166 cond-3.9/strongly_convex",
    "thm-3.6/general_convex": "eq-77 cond-3.6/general_convex",
    "thm-3.7/general_convex": "eq-114 cond-3.7/general_convex",
    "thm-3.8/general_convex": "eq-144 cond-3.8/general_convex",
    "thm-3.9/general_convex": "eq-174 cond-3.9/general_convex",
    "thm-3.6/non_convex": "eq-89 cond-3.6/non_convex",
    "thm-3.7/non_convex": "eq-125 cond-3.7/non_convex",
    "thm-3.8/non_convex": "eq-155 cond-3.8/non_convex",
    "thm-3.9/non_convex": "eq-185 cond-3.9/non_convex",
}


def connected(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return the claims with the dependences of ``USES`` added.

    Args:
        claims: of this paper.

    Returns:
        The same claims in the same order.
    """
    found = []
    for claim in claims:
        more = USES.get(claim.id.removeprefix(f"{PAPER}/"), "").split()
        used = dict.fromkeys((*claim.depends_on, *(f"{PAPER}/{one}" for one in more)))
        found.append(replace(claim, depends_on=tuple(used)))
    return tuple(found)
