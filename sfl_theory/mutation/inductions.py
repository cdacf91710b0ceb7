r"""Witnesses for steps of inductions whose x* need not minimise f.

$f=\frac\mu2u^2$ is followed from $u>0$ towards 0, while $x^*>u$: the iterates go away
from $x^*$, and $f(x^t)<f(x^*)$.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import one_round
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL
from sfl_theory.mutation.vectors import drawn
from sfl_theory.mutation.witness import Witness

ZERO, ONE = Fraction(0), Fraction(1)


def of_distances(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield one step at $\eta=4/(\mu(\gamma+t))$, $\gamma=7$, one client, tau = 1."""
    yield from one_round.induction(certificate, without)
    if "minimises" not in without:
        return
    for rng in drawn(39, 40):
        mu, t = rng.choice(SMALL), Fraction(rng.choice((0, 1, 10, 1000)))
        u, away = rng.choice(SMALL), rng.choice(SMALL) * 100
        count, end = 7 + t, u + away
        slope = mu * u
        after = u - 4 / (mu * count) * slope
        later = (after - end) ** 2
        v = count * away**2
        G2 = slope**2
        values = {
            "mu": mu, "S": mu, "gamma": Fraction(7), "t": t, "G2": G2, "c_1": ONE,
            "c_d": Fraction(1, 3), "v": v, "tau": ONE, "varrho": ONE, "rho": ZERO,
        }  # fmt: skip
        gap = mu / 2 * (u**2 - end**2)
        atoms = {"Delta_t": away**2, "Delta_t+1": later, "gap_t": gap}
        update = equal("u' = (1 - eta mu) u", after, (1 - 4 / count) * u)
        known = {
            assumed.SMOOTH: assumed.smooth(mu, mu),
            assumed.CONVEX: assumed.convex(mu, mu),
            assumed.BOUNDED: assumed.bounded(slope**2, G2),
            assumed.UPDATE: update,
            assumed.SCALED: update,
            assumed.INDUCTION: at_most("(gamma + t) Delta_t <= v", count * away**2, v),
            assumed.BLOCKS: equal("one block", ZERO, 0),
            **assumed.noise(ZERO, ZERO),
        }
        words = f"N = 1, tau = 1, f = {mu}/2 u^2, x^t = {u}, x* = {end}, t = {t}"
        yield Witness(words, values, atoms, known)
