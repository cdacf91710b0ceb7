r"""Witnesses for the recursion of the function value with two periods.

$f=\frac S2\|x\|^2$, one client, from its minimum; $\tau=2,\tilde\tau=1$. Noise is on
the server's side in the first step, on the client's in the second, +-, so that both
blocks move by what a bounded gradient allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import values
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE = Fraction(0), Fraction(1)


@shared
def descent(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the rounds, after those of ``values.descent``."""
    yield from values.descent(certificate, without)
    for k in (16, 64, 256):
        for S in (ONE, Fraction(1, 1000), Fraction(1000)):
            # alpha S and the second noise are legs of a triangle of hypotenuse 1
            alpha = Fraction(2 * k, k**2 + 1) / S
            second = Fraction(k**2 - 1, k**2 + 1)
            moved = alpha**2 + (alpha / 2 * second) ** 2
            reached = max(ONE, (S * alpha) ** 2 + second**2, S**2 * moved)
            later = S / 2 * moved
            known = {
                assumed.SMOOTH: assumed.smooth(S, S),
                assumed.CONVEX: assumed.convex(S, S),
                assumed.BOUNDED: assumed.bounded(reached, ONE),
                assumed.BLOCKS: equal(
                    "||grad f(x')||^2 by blocks", S**2 * moved, 2 * S * later
                ),
                **assumed.noise(ONE, ONE),
            }
            words = f"f = {S}/2 ||x||^2 from 0, tau = 2, tau_server = 1, noise +-(0, 1)"
            words += f", then +-({second}, 0), alpha = {alpha}"
            point = {"mu": S, "S": S, "alpha": alpha, "G2": ONE, "c_1": ONE}
            yield Witness(words, point, {"e_t": ZERO, "e_t+1": later}, known)
