r"""Witnesses for who takes part: (3) is unbiased, and two runs of SFL-V2 drift apart.

Outcomes are enumerated, each with its probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.vectors import SIDES, drawn
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
CHANCES = (ONE, HALF, HALF, Fraction(1, 4), Fraction(1, 20))
RATES = tuple(Fraction(r) for r in ("1", "1/10", "3", "1/1000"))
LESS = 10**6


@shared
def one_client(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield a client that comes or not, its local model y or z with equal chances.

    Without the hypothesis it comes with another chance, or only if its model is y.
    """
    del certificate
    for rng in drawn(101, 200):
        q, weight = rng.choice(CHANCES), rng.choice((ZERO, HALF, ONE, Fraction(1, 10)))
        y, z = rng.choice(SIDES), rng.choice(SIDES)
        chance = q
        if without:
            chance = rng.choice((ZERO, q / 2, q, ONE))
        cases = [
            (ONE / 2 * (chance if comes else 1 - chance), comes, model)
            for comes in (1, 0)
            for model in (y, z)
        ]
        if without and chance == HALF:
            cases = [(HALF, 1, y), (HALF, 0, z)]
        present = sum((p * comes for p, comes, _ in cases), ZERO)
        mean = sum((p * model for p, _, model in cases), ZERO)
        both = sum((p * comes * model for p, comes, model in cases), ZERO)
        known = {
            assumed.PRESENT: Check(
                "E I_n = q in (0, 1]", present == q and 0 < q <= 1, f"{present} = {q}"
            ),
            assumed.APART: equal("E I_n <x_n,z> = q E <x_n,z>", both, q * mean),
        }
        atoms = {"E I_n": present, "E I_n <x_n,z>": both, "E <x_n,z>": mean}
        words = f"q = {q}, a = {weight}, (chance, I, <x,z>): {cases}"
        yield Witness(words, {"q_n": q, "a_n": weight}, atoms, known)


@shared
def two_runs(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield SFL-V2's server on $F_n=gx_s$, with everybody and with who takes part.

    Participation of the clients may depend on each other: the bound does not ask.
    """
    del certificate
    for rng in drawn(102, 200):
        N, tau = rng.choice((1, 2, 3)), rng.choice((1, 2, 10))
        q, eta, g = rng.choice(CHANCES), rng.choice(RATES), rng.choice(SIDES)
        S = rng.choice((ONE, Fraction(1, 5))) / eta
        joint = outcomes(N, q, rng.random() < HALF)
        true = distance2(joint, q, eta * tau * g)
        distance = true + 10**9 if without.startswith("SFL-V2") else true
        G2 = g**2 / (LESS if "Assumption 3.3" in without else 1)
        present = sum((p * who[0] for p, who in joint), ZERO)
        known = {
            assumed.V2_PARTIAL: equal("E||xbar_s - x_s||^2", distance, true),
            assumed.RATE: at_most(f"S = {S}, eta S <= 2", eta * S, 2),
            assumed.SMOOTH: assumed.smooth(ZERO, S),
            assumed.CONVEX: assumed.convex(ZERO, ZERO),
            assumed.SUMS: equal("sum_n 1/q_n", N / q, sum((1 / q,) * N, ZERO)),
            **assumed.noise(ZERO, ZERO),
            assumed.BOUNDED: assumed.bounded(g**2, G2),
            assumed.PRESENT: equal("E I_n = q", present, q),
        }
        values = {
            "N": Fraction(N), "tau": Fraction(tau), "eta": eta, "G2": G2,
            "inverse": N / q, "kappa": 1 / q - 1,
        }  # fmt: skip
        words = f"F_n = {g} x_s, q = {q}, eta = {eta}, tau = {tau}, I: {joint}"
        yield Witness(words, values, {"E||xbar_s-x_s||^2": distance}, known)


def outcomes(
    N: int, q: Fraction, together: bool
) -> list[tuple[Fraction, tuple[int, ...]]]:
    """Return who takes part, with probabilities.

    Args:
        N: clients.
        q: the chance of each.
        together: all of them or none; else independently.

    Returns:
        Probability and one indicator per client.
    """
    if together:
        return [(q, (1,) * N), (1 - q, (0,) * N)]
    found = []
    for who in product((0, 1), repeat=N):
        chance = ONE
        for comes in who:
            chance *= q if comes else 1 - q
        found.append((chance, who))
    return found


def distance2(
    joint: list[tuple[Fraction, tuple[int, ...]]], q: Fraction, move: Fraction
) -> Fraction:
    r"""Return $\mathbb E\|\bar x_s-x_s\|^2$ where every client moves the server alike.

    Args:
        joint: who takes part, with probabilities.
        q: the chance of each client.
        move: of all visits of a client together, under full participation.

    Returns:
        The mean square.
    """
    return sum(
        (p * (move * sum((i / q - 1 for i in who), ZERO)) ** 2 for p, who in joint),
        ZERO,
    )
