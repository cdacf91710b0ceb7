r"""Witnesses for two runs of SFL-V2 compared visit by visit: everybody, and some.

y is the run with participation, z the other one; all their clients have the chance q.

- ``_linear``: one client, $F=gx_s$: after v visits $y-z=-\eta gv(\frac Iq-1)$.
- ``_noisy``: a first client, $F=10^{-4}gx_s$, sets the runs apart; the next ones have
  $F=0$ and noise $\pm g$, at z with the other sign than at y.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.derivation import INDUCTION
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.vectors import drawn
from sfl_theory.mutation.witness import Witness

ZERO, ONE = Fraction(0), Fraction(1)
CHANCES = tuple(Fraction(q) for q in ("1", "999/1000", "2/3", "1/2", "1/20", "1/1000"))
RATES = tuple(Fraction(r) for r in ("1", "1/10", "3"))
SIZES = tuple(Fraction(g) for g in ("1", "1/10", "3"))
PARTS = tuple(Fraction(p) for p in ("1", "1/2", "1/3", "1/10", "1/1000", "50"))
SMALL = Fraction(1, 10**8)


def _linear(q: Fraction, v: int) -> Fraction:
    """Return E||y - z||^2 after v visits at eta = g = 1."""
    return v**2 * (1 / q - 1)


def _noisy(q: Fraction, v: int) -> Fraction:
    """Return the same; a visit adds E|I xi(y)/q - xi(z)|^2, orthogonal to the rest."""
    each = q * (1 / q + 1) ** 2 + 1 - q
    return SMALL * (1 / q - 1) + (v - 1) * each


def visits(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield visit v + 1: after the first, the second or, where v is named, later ones.

    Args:
        certificate: whose induction hypothesis and parameters tell which visit.
        without: a hypothesis that the witness need not meet.

    Yields:
        Two runs, before and after the visit.
    """
    named = {parameter.name for parameter in certificate.domain.values}
    choices: tuple[int, ...] = (1, 2, 3, 10)
    if INDUCTION in certificate.hypotheses:
        choices = (3, 4, 10) if "v" in named else (2,)
    elif "kappa_1" in named:
        choices = (1,)
    for rng in drawn(121, 200):
        v, q, eta = rng.choice(choices), rng.choice(CHANCES), rng.choice(RATES)
        noisy = rng.choice((True, False)) and q < 1
        g = rng.choice(SIZES)
        distance, unit, kappa = _noisy if noisy else _linear, (eta * g) ** 2, 1 / q - 1
        # without an induction hypothesis: runs that start far from each other
        far = 10**6 if without == INDUCTION and noisy else 0
        now, true = (unit * (far + distance(q, k)) for k in (v, v + 1))
        then = true + unit * 10**9 if without.startswith("SFL-V2") else true
        G2 = g**2 / (10**6 if without == "Assumption 3.3" else 1)
        sums = [v * kappa, (v + 1) * kappa]
        if without.startswith("definition of K_v"):
            sums[1] = ZERO
        limit = v * (sums[0] + v) * eta**2 * G2
        values = {
            "eta": eta, "G2": G2, "kappa": kappa, "kappa_1": kappa,
            "lambda": rng.choice((*PARTS, Fraction(1, v))), "v": Fraction(v),
        }  # fmt: skip
        atoms = {
            "A_v": now, "A_v+1": then, "K_v": sums[0], "K_v+1": sums[1],
            "A_1": now, "A_2": then, "K_2": sums[1],
        }  # fmt: skip
        known = {
            assumed.V2_PARTIAL: equal("E||y-z||^2 after the visit", then, true),
            assumed.RATE: at_most("F is linear, S = 1/eta: eta S <= 2", ONE, 2),
            assumed.SMOOTH: assumed.smooth(ZERO, 1 / eta),
            assumed.CONVEX: assumed.convex(ZERO, ZERO),
            assumed.BOUNDED: assumed.bounded(g**2, G2),
            assumed.PRESENT: assumed.unit_interval(q),
            assumed.SUMS: equal("K_v+1 - K_v", sums[1] - sums[0], kappa),
            assumed.INDUCTION: at_most("A_v <= v (K_v + v) eta^2 G^2", now, limit),
            **assumed.noise(g**2 if noisy else ZERO, g**2),
        }
        words = f"F = 0, noise +-{g}" if noisy else f"N = 1, F = {g} x_s"
        yield Witness(f"{words}, q = {q}, eta = {eta}, v = {v}", values, atoms, known)
