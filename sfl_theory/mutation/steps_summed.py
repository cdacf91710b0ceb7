r"""Witnesses for sums of stochastic gradients over steps and clients, (81) and (95)."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.one_round import HALF, ONE, WEIGHTS, ZERO
from sfl_theory.mutation.vectors import SIDES, drawn
from sfl_theory.mutation.witness import Witness, shared

LESS = 10**6
MOVED = "E||sum w v||^2 of {alpha_n I_n/q_n g_n^i; n, i < p; weights 1}"
CHANGE = "sum_n c_n sum_i E||g_n^i - g_n||^2"
SLOPES = "sum_n c_n ||grad_b F_n(x)||^2"
GROWTHS = tuple(Fraction(k) for k in ("0", "1/10", "2/5", "1/2", "3/2", "3"))
RATES = tuple(Fraction(r) for r in ("1", "1/2", "1/100", "10"))


def gradients(
    slope: Fraction, first: Fraction, growth: Fraction, steps: int
) -> list[Fraction]:
    r"""Return the gradients met on $-\frac{\kappa}{2\eta}u^2+gu$ from u = 0.

    Args:
        slope: g, the gradient at the start.
        first: the stochastic gradient at the start; later ones have no noise.
        growth: $\kappa$.
        steps: how many.

    Returns:
        The gradients.
    """
    found, total = [first], first
    for _ in range(steps - 1):
        found.append(slope + growth * total)
        total += found[-1]
    return found


@shared
def of_a_block(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield clients on the same concave quadratic, with noise at their first step.

    The noise has the same sign for all clients; they come independently.
    """
    del certificate
    for rng in drawn(103, 400):
        alpha = rng.choice((*WEIGHTS, (ONE, ONE)))
        N, p = len(alpha), rng.choice((1, 2, 2, 3, 5, 12))
        q = rng.choice((ONE, ONE, HALF, Fraction(1, 20)))
        growth, eta = rng.choice(GROWTHS), rng.choice(RATES)
        g = rng.choice((ZERO, *SIDES))
        s = ZERO if g and rng.random() < HALF else abs(rng.choice(SIDES))
        runs = [gradients(g, g + sign * s, growth, p) for sign in (1, -1)]
        squares = sum((a**2 for a in alpha), ZERO)
        weight = squares / q
        alike = weight + sum(alpha, ZERO) ** 2 - squares
        size = sum((sum(run, ZERO) ** 2 for run in runs), ZERO) / 2
        change = sum(((v - run[0]) ** 2 for run in runs for v in run), ZERO) / 2
        sigma2 = s**2 / (LESS if "3.2" in without else 1)
        atoms = {MOVED: alike * size, CHANGE: weight * change, SLOPES: weight * g**2}
        values = {
            "N": Fraction(N), "p": Fraction(p), "eta": eta, "v": weight * sigma2,
            "S": growth / eta or rng.choice(RATES),
        }  # fmt: skip
        known = {
            assumed.PRESENT: assumed.unit_interval(q),
            **assumed.noise(s**2, sigma2),
        }
        words = (
            f"alpha = {alpha}, q = {q}, F_n = -{growth / eta}/2 u^2 + {g} u, "
            f"{p} steps of {eta}, noise +-{s} at the first"
        )
        yield Witness(words, values, atoms, known)


@shared
def of_the_server(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the shared server on one linear function, at every visit of a round."""
    del certificate
    for rng in drawn(104, 200):
        N, tau = rng.choice((1, 2, 10)), rng.choice((1, 2, 10, 100))
        eta, g = rng.choice(RATES), rng.choice(SIDES)
        visits = N * tau
        steps = (visits - 1) * visits * (2 * visits - 1) // 6
        G2 = g**2 / (LESS if without else 1)
        values = {"N": Fraction(N), "tau": Fraction(tau), "eta": eta, "G2": G2}
        atoms = {"sum_n sum_i E||x_s,n^i - x_s||^2": eta**2 * g**2 * steps}
        known = {assumed.BOUNDED: assumed.bounded(g**2, G2)}
        words = f"F_n = {g} x_s, N = {N}, tau = {tau}, eta = {eta}"
        yield Witness(words, values, atoms, known)
