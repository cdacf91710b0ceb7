"""Witnesses for single steps of the joint proof of Theorem 1 of ``huang2023``."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.one_round import ONE, PERIODS, ZERO
from sfl_theory.mutation.vectors import SIDES, at_least, drawn
from sfl_theory.mutation.witness import Witness, shared


@shared
def drift_of_two(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield one local step of two clients (``huang2023``, drift of the joint proof).

    $f_n=\frac c2w^2\mp bw$, client models at +-u.
    """
    del certificate
    for rng in drawn(34, 400):
        tau, eta = rng.choice(PERIODS), rng.choice((*SMALL, Fraction(1, 100)))
        mu = rng.choice(SMALL) / rng.choice((1, 1000))
        c = -mu * 100 if without == "Assumption 2" else mu
        u, b = rng.choice(SIDES), rng.choice(SIDES)
        s = rng.choice((ZERO, *WIDE))
        if c * eta > 1:
            continue
        R2 = (c * u - b) ** 2 + s**2
        later = true = (u - eta * (c * u - b)) ** 2 + (eta * s) ** 2 / 2
        if "update" in without:
            later += 1000
        values = {
            "mu": mu, "tau": Fraction(tau), "eta": eta,
            "eta_0": eta * rng.choice((ONE, Fraction(3, 2))),
            "delta2": at_least(ZERO if without == "Assumption 5" else b**2),
            "R2": at_least(ZERO if without == "Assumption 4" else R2),
        }  # fmt: skip
        j = rng.randrange(tau)
        values["j"] = Fraction(j)
        limit = j * values["eta_0"] ** 2 * (values["R2"] + 2 * tau * values["delta2"])
        words = f"N = 2, f_n = {c}/2 w^2 -+ {b} w, w_n = +-{u}, noise +-{s}, j = {j}"
        known = {
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(R2, values["R2"]),
            assumed.SPREAD: assumed.spread(b**2, values["delta2"]),
            assumed.JOINT: equal("D after the step", later, true),
            assumed.INDUCTION: at_most(
                "(1 - j/(2 tau)) D_j <= j eta_0^2 B",
                (1 - Fraction(j, 2 * tau)) * u**2,
                limit,
            ),
            **assumed.noise(s**2, s**2),
        }
        yield Witness(words, values, {"D_j": u**2, "D_(j+1)": later}, known)


@shared
def mean_step(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield one step of one client on c u^2/2 (``huang2023``, joint recursion)."""
    del certificate
    for rng in drawn(35, 400):
        tau = rng.choice(PERIODS)
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 100))
        x = max(8 * S / mu - 1, Fraction(tau)) + rng.choice((0, 0, 1, 100))
        eta = 2 / (mu * x) * rng.choice((1, 1, 2))
        c = rng.choice((mu, S))
        if without == "Assumption 2":
            c = -S
        u, s = rng.choice(SIDES), rng.choice((ZERO, *SMALL))
        R2 = ZERO if without == "Assumption 4" else (c * u) ** 2 + s**2
        later = true = ((1 - eta * c) * u) ** 2 + (eta * s) ** 2
        if "update" in without:
            later += 1000
        values = {
            "tau": Fraction(tau), "mu": mu, "S": S, "x": x, "eta": eta,
            "R2": R2, "delta2": ZERO, "j": ZERO, "gamma": x,
        }  # fmt: skip
        least = 4 * R2 * (1 + Fraction(16, 7) * (tau - 1)) / (3 * mu**2)
        v = values["v"] = least if "induction" in without else max(least, x * u**2)
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded((c * u) ** 2 + s**2, R2),
            assumed.SPREAD: assumed.spread(ZERO, ZERO),
            assumed.JOINT: equal("E||w' - w*||^2", later, true),
            assumed.INDUCTION: at_most("x Delta^i <= v", x * u**2, v),
        }
        atoms = {"Delta^i": u**2, "Delta^(i+1)": later}
        words = f"N = 1, f = {c}/2 w^2, w = {u}, noise +-{s}, first step of a round"
        yield Witness(words, values, atoms, known)
