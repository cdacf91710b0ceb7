r"""Witnesses for the convex recursions of one round, beyond ``one_round.convex``.

Where a statement is about any $c_1,c_d$ that bound second moment and drift, these
rounds have the least ones. Where it is about two periods, the blocks are coupled:
$f=\frac12x^\top Hx$, $H=\mu I+(S-\mu)uu^\top$, no noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import one_round
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import WIDE
from sfl_theory.mutation.vectors import drawn
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE = Fraction(0), Fraction(1)
STARTS = (ZERO, ONE, Fraction(1, 1000), Fraction(100))
SCALES = (ONE, Fraction(1, 1000), Fraction(1000))


@dataclass(frozen=True)
class Round:
    r"""A round of one client on $cu^2/2$ from u with mean square ``square``, noise +-s.

    $g=kcu\pm s$, k = 1 where gradients are unbiased; the client takes part with
    probability q. H is the sum of the gradients over the steps.

    Attributes:
        c: curvature.
        s: size of the noise.
        steps: local steps.
        eta: learning rate.
        q: probability of taking part.
        k: bias of the gradients.
    """

    c: Fraction
    s: Fraction
    steps: int
    eta: Fraction
    q: Fraction = ONE
    k: Fraction = ONE

    def moments(
        self, square: Fraction
    ) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        r"""Return $P,Q,D$ and $\mathbb Eu'^2$.

        $P=\mathbb E\frac Iq\langle H,u\rangle$, $Q=\mathbb E\|\frac IqH\|^2$,
        $D=\mathbb E\frac Iq\sum_i\|p^i-u\|^2$.
        """
        kept, variance, D = ONE, ZERO, ZERO
        for _ in range(self.steps):
            D += (1 - kept) ** 2 * square + variance
            shrink = 1 - self.eta * self.k * self.c
            kept *= shrink
            variance = variance * shrink**2 + (self.eta * self.s) ** 2
        P = (1 - kept) / self.eta * square
        Q = ((1 - kept) ** 2 * square + variance) / self.eta**2 / self.q
        return P, Q, D, square - 2 * self.eta * P + self.eta**2 * Q

    def reach(self, furthest: Fraction) -> tuple[Fraction, Fraction]:
        """Return how far from 0 local points, and the next iterate, can be.

        Args:
            furthest: how far the round's start can be.

        Returns:
            Both.
        """
        local, kept, noise = furthest, ONE, ZERO
        for _ in range(self.steps):
            local = max(local, abs(kept) * furthest + noise)
            shrink = 1 - self.eta * self.k * self.c
            kept *= shrink
            noise = abs(shrink) * noise + self.eta * self.s
        end = abs(1 - (1 - kept) / self.q) * furthest + noise / self.q
        return local, max(end, furthest)


@shared
def any_constants(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield rounds with the least $c_1,c_d$, or $G^2$ larger than needed."""
    yield from one_round.convex(certificate, without)
    for rng in drawn(37, 500):
        S = rng.choice(WIDE)
        mu, x = S * rng.choice((0, 1, 1)), rng.choice(STARTS)
        one = Round(
            -S if "C.2" in without else S,
            ZERO if x and rng.random() < 1 / 2 else rng.choice(WIDE),
            rng.choice((1, 1, 3, 8)),
            rng.choice((Fraction(1, 100), ONE, ONE)) / S,
            k=Fraction(-3) if "unbiased" in without else ONE,
        )
        P, Q, D, after = one.moments(x**2)
        reached = (one.k * one.c * max(one.reach(x))) ** 2 + one.s**2
        G2 = reached * rng.choice((1, 1, 100))
        gap = one.c / 2 * x**2
        if G2 == 0:
            continue
        c_1 = Q / (one.steps**2 * G2)
        c_d = D / (one.eta**2 * one.steps**3 * G2)
        values = {
            "mu": mu, "S": S, "eta": one.eta, "tau": Fraction(one.steps), "G2": G2,
            "c_1": c_1, "c_d": c_d, "theta": one.eta * one.steps, "varrho": ONE,
            "rho": ZERO,
        }  # fmt: skip
        atoms = {
            "Delta_t": x**2, "Delta_t+1": after, "gap_t": gap, "P": P, "Q": Q, "D": D,
            "<x-x*,x-x*>": x**2,
        }  # fmt: skip
        update = _bounded_by(c_1, Q, one.steps**2 * G2)
        known = {
            assumed.SMOOTH: assumed.smooth(one.c, S),
            assumed.CONVEX: assumed.convex(one.c, mu),
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.UPDATE: update,
            assumed.SCALED: update,
            assumed.PRESENT: assumed.unit_interval(ONE),
            assumed.MINIMISER: at_most("f >= f(0) = f*", ZERO, one.c),
            **assumed.noise(one.s**2, one.s**2, (one.k - 1) * one.c * x),
        }
        yield Witness(f"N = 1, F = c/2 u^2, u = {x}, {one}", values, atoms, known)


def _bounded_by(c_1: Fraction, second: Fraction, unit: Fraction) -> Check:
    return at_most("second moment of the update <= c_1 tau^2 G^2", second, c_1 * unit)


@shared
def two_periods(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield rounds of two coupled blocks with their own periods, one client."""
    yield from any_constants(certificate, without)
    u = Fraction(3, 5), Fraction(-4, 5)
    for rng in drawn(38, 120):
        length, rate = rng.choice(SCALES), rng.choice(SCALES)
        S, low = ONE / rate, rng.choice((Fraction(1, 100), Fraction(1, 200)))
        mu, theta = low * S, rate * rng.choice((Fraction(1, 2), Fraction(3, 4)))
        periods = rng.choice(((8, 1), (30, 1), (8, 2)))
        x = tuple(length * Fraction(v, 100) for v in rng.choice(LINES))
        point, G2 = x, ZERO
        for i in range(max(periods)):
            along = (S - mu) * sum(a * b for a, b in zip(u, point, strict=True))
            slope = tuple(mu * p + along * a for p, a in zip(point, u, strict=True))
            G2 = max(G2, slope[0] ** 2 + slope[1] ** 2)
            point = tuple(
                p - theta / k * g if i < k else p
                for p, g, k in zip(point, slope, periods, strict=True)
            )
        square = x[0] ** 2 + x[1] ** 2
        across = u[0] * x[0] + u[1] * x[1]
        ratio = Fraction(min(periods), max(periods))
        values = {
            "mu": mu, "S": S, "theta": theta, "varrho": ratio, "rho": ZERO, "G2": G2,
        }  # fmt: skip
        atoms = {
            "<x-x*,x-x*>": square,
            "Delta_t+1": point[0] ** 2 + point[1] ** 2,
            "gap_t": (mu * square + (S - mu) * across**2) / 2,
        }
        unit = equal("||u||, so that mu I <= H <= S I", u[0] ** 2 + u[1] ** 2, 1)
        known = {
            assumed.SMOOTH: unit,
            assumed.CONVEX: unit,
            assumed.BOUNDED: assumed.bounded(G2, values["G2"]),
            assumed.SCALED: equal("theta", theta, values["theta"]),
            assumed.PRESENT: assumed.unit_interval(ONE),
            assumed.MINIMISER: at_most("0 <= mu", ZERO, mu),
            **assumed.noise(ZERO, ZERO),
        }
        words = f"N = 1, H = mu I + (S - mu) uu', u = {u}, x = {x}, periods {periods}"
        yield Witness(words, values, atoms, known)


LINES = ((80, 60), (84, 54), (86, 51), (77, 64), (74, 67), (82, 57))
"""Points near the direction of least curvature, (4/5, 3/5)."""
