r"""Witnesses for the last iterate, strongly convex: one client on $cu^2/2$.

$\eta^t\tau=4/(\mu(\gamma+t))$, noise +-s. $c_1,c_d$ are what the updates of the run
need, or more; where there is no round (T = 0) that is nothing. G is the largest
gradient met, the last iterate's included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.convex_rounds import Round
from sfl_theory.mutation.one_function import WIDE
from sfl_theory.mutation.vectors import drawn
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE = Fraction(0), Fraction(1)
OF_THEOREMS = (
    (ONE, Fraction(1, 3)), (ONE, Fraction(4, 3)), (Fraction(8, 7), Fraction(7, 3)),
)  # fmt: skip
"""$c_1,c_d$ of Theorems 3.6 and 3.8, 3.7, 3.9 for one client that always takes part."""


@shared
def of_one_client(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the runs; without a definition of the distance, a far smaller one."""
    del certificate
    for rng in drawn(42, 500):
        T = rng.choice((0, 0, 1, 1, 2, 5, 12))
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 10))
        gamma = 8 * S / mu - 1
        c, s = rng.choice((mu, S)), rng.choice((ZERO, *WIDE))
        start = rng.choice((ZERO, ZERO, ONE, Fraction(10), Fraction(1, 100)))
        one = Round(c, s, rng.choice((1, 1, 2)), ONE)
        square, furthest, largest = start**2, abs(start), abs(start)
        moments = []
        for t in range(T):
            now = replace(one, eta=4 / (mu * one.steps * (gamma + t)))
            _, Q, D, square_later = now.moments(square)
            moments.append((Q / one.steps**2, D / (now.eta**2 * one.steps**3)))
            local, furthest = now.reach(furthest)
            largest = max(largest, local, furthest)
            square = square_later
        reached = (c * largest) ** 2 + s**2
        G2 = reached * rng.choice((1, 1, 10**6))
        if G2 == 0:
            continue
        least = [max((m[k] for m in moments), default=ZERO) / G2 for k in (0, 1)]
        c_1, c_d = max(least[0], least[1] / 7), least[1]
        if rng.random() < 1 / 2:
            c_1, c_d = rng.choice(OF_THEOREMS)
        stated = start**2
        if without.startswith(("I_err", "Delta_t = ")):
            stated /= 10**12
        values = {
            "S": S, "mu": mu, "t": Fraction(T), "G2": G2, "c_1": c_1, "c_d": c_d,
            "Delta_0": stated, "I_err": stated, "varrho": ONE, "rho": ZERO,
            "tau": Fraction(one.steps), "T": Fraction(T), "N": ONE, "A2": ONE,
            "Aq": ONE, "noise1": 2 * s**2, "noise2": 2 * s**2, "inv": ONE, "inv2": ONE,
        }  # fmt: skip
        gap = c / 2 * square
        enough = least[0] <= c_1 and least[1] <= c_d
        words = f"{T} rounds; second moments and drifts within c_1, c_d"
        update = Check(words, enough, f"{least} <= {c_1}, {c_d}")
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.MINIMISER: at_most("f >= f(0) = f*", ZERO, c),
            assumed.BLOCKS: equal("product of the blocks, one of them 0", ZERO, 0),
            assumed.START: equal("||x^0 - x*||^2", start**2, stated),
            assumed.DISTANCE: equal("mean squares followed exactly: error", ZERO, 0),
            assumed.PRESENT: assumed.unit_interval(ONE),
            assumed.EVERYONE: equal("q", ONE, 1),
            **dict.fromkeys(assumed.UPDATES, update),
            **assumed.noise(s**2, s**2),
        }
        setup = f"F = {c}/2 u^2, x^0 = {start}, noise +-{s}, T = {T}, tau = {one.steps}"
        yield Witness(setup, values, {"gap_T": gap, "e_T": gap}, known)
