"""Non-convex SFL-V1: more than (13), (19) and (6) of ``dachille2024`` say."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024 import non_convex_sums, non_convex_v1
from sfl_theory.audits.han2024.telescoping import rate
from sfl_theory.bound import Bound
from sfl_theory.evidence.certificate import Certificate, Rejected, norm2, vectors
from sfl_theory.evidence.derivation import Cases, Use
from sfl_theory.evidence.domain import Domain
from sfl_theory.evidence.round_sum import RoundSum, summed

BLOCKS = ("c", "s")


ORDERS = (non_convex_sums.SERVER_SHORTER, non_convex_sums.SERVER_LONGER)


def v1(
    claim: str, bound: Bound, is_partial: bool, orders: tuple[str, ...] = ORDERS
) -> tuple[partial[Certificate], ...]:
    """Return builders of what is true beyond one round and its sums.

    Args:
        claim: identifier of the claim.
        bound: the printed bound.
        is_partial: clients take part with probability $q_n$.
        orders: which side makes more steps.

    Returns:
        The builders.
    """
    return (
        *non_convex_v1.certificates(claim, is_partial, sharp=True),
        *(
            build
            for order in orders
            for build in v1_sums(claim, bound, is_partial, order)
        ),
    )


def v1_sums(
    claim: str, bound: Bound, is_partial: bool, order: str
) -> tuple[partial[Certificate], ...]:
    """Return builders of what is true beyond a sum over rounds.

    Args:
        claim: identifier of the claim.
        bound: the printed bound.
        is_partial: clients take part with probability $q_n$.
        order: which side makes more steps.

    Returns:
        The builders of ``v1_sum`` with every choice of blocks that count twice.
    """
    return tuple(
        partial(v1_sum, claim, bound, is_partial, order, twice)
        for twice in (BLOCKS, *((block,) for block in BLOCKS))
    )


def v1_sum(
    claim: str, bound: Bound, is_partial: bool, order: str, twice: tuple[str, ...]
) -> Certificate:
    r"""Return the sum over rounds of the sharper round.

    With the blocks of the gradient that count twice on the left, the same start and at
    most the same noise on the right; if both do, everything is divided by 2.

    Args:
        claim: identifier of the claim.
        bound: the printed bound.
        is_partial: clients take part with probability $q_n$.
        order: which side makes more steps.
        twice: the blocks that count twice.

    Returns:
        The certificate, with the printed left side.

    Raises:
        Rejected: if the printed certificate is no sum over rounds.
    """
    printed = non_convex_sums.v1_sum(claim, bound, is_partial, order)
    (total, factor), *others = printed.uses
    if not isinstance(total.derived, RoundSum):
        raise Rejected(f"{claim}: a sum over rounds is needed")
    earlier = _sharper(total.derived.earlier, claim, is_partial, twice)
    gained = sum(summed(rate, 1, f"<grad_{b},grad_{b}>") for b in twice) / symbols.T
    noise = printed.right.xreplace({symbols.F_err: sp.Integer(0)})
    less = noise - non_convex_v1.noise_factor(is_partial, sharp=True) / 2 * noise
    fact = replace(
        total,
        expr=total.expr - (less + gained) / factor,
        derived=replace(total.derived, earlier=earlier),
    )
    right = printed.right - less - gained
    uses = ((fact, factor), *others)
    if twice == BLOCKS:
        right = (right + printed.left) / 2
        uses = tuple((known, multiplier / 2) for known, multiplier in uses)
    return replace(printed, right=right, uses=uses)


def _sharper(
    earlier: Use | Cases, claim: str, is_partial: bool, twice: tuple[str, ...]
) -> Use | Cases:
    """Return the use of one round with the sharper round in its place."""
    if isinstance(earlier, Cases):
        above, below = (
            _sharper(one, claim, is_partial, twice)
            for one in (earlier.above, earlier.below)
        )
        return Cases(earlier.sign, above, below)
    return replace(
        earlier, source=_one_round(earlier.source.domain, claim, is_partial, twice)
    )


@cache
def _rounds(claim: str, is_partial: bool) -> dict[str, Certificate]:
    """Return the sharper round on every piece of the domain, by its words."""
    return {
        domain.words: non_convex_v1.one_round(domain, claim, is_partial, sharp=True)
        for domain in non_convex_v1.domains()
    }


def _one_round(
    domain: Domain, claim: str, is_partial: bool, twice: tuple[str, ...]
) -> Certificate:
    """Return the sharper round, weakened where a block counts once."""
    found = _rounds(claim, is_partial)[domain.words]
    for block in (b for b in BLOCKS if b not in twice):
        (g,) = vectors(f"grad_{block}")
        spare = sp.expand(found.left).coeff(norm2(g))
        found = replace(
            found,
            right=found.right + spare * norm2(g),
            squares=(*found.squares, (g, spare)),
        )
    return found
