"""Proofs of (86)-(88), (153), (154) of ``han2024``, and more than they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

from sfl_theory.audits.han2024 import non_convex_v1
from sfl_theory.audits.han2024.equations.non_convex_merge import (
    EQ_87,
    GRADIENT,
    ORDERS,
    blocks_together,
    both_blocks,
    derived,
    descent,
    merged,
    piece,
    printed_86,
    rearranged,
)
from sfl_theory.audits.han2024.non_convex_v1 import eta, tau, tau_server
from sfl_theory.evidence.certificate import Certificate, norm2
from sfl_theory.evidence.claim import Proof
from sfl_theory.evidence.domain import Domain
from sfl_theory.evidence.kernel import value

Build = Callable[[], Certificate]
PIECES = tuple((order, wide) for order in ORDERS for wide in (False, True))
"""The pieces of the domain, in the order of ``non_convex_v1.domains``."""
PARTIAL = dict(zip(PIECES, non_convex_v1.domains(), strict=True))


def proof_86(claim: str, words: str) -> Proof:
    r"""Return the proof of (86), the sum of the blocks first.

    More is true: the squares of the moves may count twice.

    Args:
        claim: identifier of the claim.
        words: how the certificates fit together.

    Returns:
        The proof.
    """
    steps = (blocks_together, merged)
    return Proof(
        tuple(partial(step, claim, order) for step in steps for order in ORDERS),
        words,
        tuple(partial(_twice, claim, order) for order in ORDERS),
    )


def _twice(claim: str, order: bool) -> Certificate:
    return both_blocks(claim, order, printed_86(order)[1], young=1, twice=True)


def proof_87(claim: str, words: str) -> Proof:
    """Return the proof of (87), and more.

    Twice the descent with a quarter of the noise, and (87) at twice the learning rate.

    Args:
        claim: identifier of the claim.
        words: how the certificates fit together.

    Returns:
        The proof.
    """
    return Proof(
        tuple(partial(descent, claim, *which) for which in PIECES),
        words,
        tuple(
            partial(_change_of_f, claim, *which, fast)
            for which in PIECES
            for fast in (False, True)
        ),
    )


def _change_of_f(claim: str, order: bool, wide: bool, fast: bool) -> Certificate:
    r"""Return one round as a bound of $\mathbb Ef(x')-f(x)$."""
    domain = _domain(False, order, wide, fast)
    found = non_convex_v1.one_round(domain, claim, False, sharp=not fast)
    change = value("f", "x'") - value("f", "x")
    right = found.right + change - found.left
    return replace(found, left=change, right=right)


@cache
def _domain(is_partial: bool, order: bool, wide: bool, fast: bool) -> Domain:
    """Return a piece of the theorem's domain, or that for twice the learning rate."""
    domain = PARTIAL[order, wide] if is_partial else piece(order, wide)
    if not fast:
        return domain
    values = {**domain.values, eta: 2 * domain.values[eta]}
    return replace(domain, values=values, words=f"{domain.words}, for eta/2")


def proof_153(claim: str, words: str) -> Proof:
    """Return the proof of (153), and twice the descent."""
    return Proof(
        non_convex_v1.certificates(claim, True),
        words,
        non_convex_v1.certificates(claim, True, sharp=True),
    )


def proof_88(claim: str, words: str) -> Proof:
    """Return the proof of (88), and more: (87) and what is proved with it."""
    return Proof(
        tuple(
            partial(rearranged, claim, partial(descent, EQ_87, *which), which[0])
            for which in PIECES
        ),
        words,
        tuple(
            partial(_scaled, claim, False, *which, fast)
            for which in PIECES
            for fast in (False, True)
        ),
    )


def proof_154(claim: str, source: str, words: str) -> Proof:
    """Return the proof of (154), and more: (153) and what is proved with it."""
    builders = non_convex_v1.certificates(source, True)
    return Proof(
        tuple(
            partial(rearranged, claim, build, order, True)
            for build, (order, _) in zip(builders, PIECES, strict=True)
        ),
        words,
        tuple(
            partial(_scaled, claim, True, *which, fast)
            for which in PIECES
            for fast in (False, True)
        ),
    )


def _scaled(
    claim: str, is_partial: bool, order: bool, wide: bool, fast: bool
) -> Certificate:
    r"""Return one round times $4/\tau_{min}$: sharper, or twice as fast."""
    domain = _domain(is_partial, order, wide, fast)
    source = non_convex_v1.one_round(domain, claim, is_partial, sharp=not fast)
    factor: Any = 4 / (tau_server if order else tau)
    left = eta * (norm2(GRADIENT[0]) + norm2(GRADIENT[1]))
    return Certificate(
        claim,
        left,
        factor * source.conclusion + left,
        source.hypotheses,
        domain,
        uses=((derived("one round", source), factor),),
        statement=f"{source.statement}, times 4/tau_min",
    )
