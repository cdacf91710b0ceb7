r"""Witnesses for (54) and (157) of ``han2024``: what the past does to later gradients.

(54): noise moves the points of later gradients, so their sum M and the sum Z of the
noise are correlated. (157): whether the first client takes part decides at which points
of the shared server the other gradients are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.blocks import sums
from sfl_theory.mutation.federation import Coordinate
from sfl_theory.mutation.one_function import SMALL
from sfl_theory.mutation.one_round import HALF, ONE, ZERO
from sfl_theory.mutation.vectors import SIDES, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

CORRELATED = "<M,M>;<M,Z>;<M,x_s-x_s*>;<Z,Z>;<Z,x_s-x_s*>;<x_s-x_s*,x_s-x_s*>"
TWO_RUNS = "<x'-x,x'-x>;<x'-x,xbar'-x>;<xbar'-x,xbar'-x>"


@shared
def gradients_and_noise(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield local steps of one client on a quadratic, exact moments of M and Z."""
    del certificate
    for rng in drawn(95, 300):
        eta = rng.choice((ONE, HALF, Fraction(10), Fraction(1, 100)))
        c = rng.choice((ONE, -ONE, ZERO, HALF, Fraction(-1, 10))) / eta
        tau, s = rng.choice((1, 2, 3)), rng.choice((ZERO, *SMALL))
        x, start = rng.choice(SIDES), rng.choice((ZERO, *SIDES))
        b = rng.choice((c * start, *SIDES))
        found = sums(Coordinate(c, (b,), (s,), start, tau), 0, eta)
        bias = rng.choice(SIDES) if "3.2" in without else ZERO
        atoms = gram({"M": (found.gradients,), "Z": (tau * bias,), "x_s-x_s*": (x,)})
        atoms["<M,M>"] += found.variance
        atoms["<M,Z>"] += found.covariance
        atoms["<Z,Z>"] += found.noise
        words = f"F = {c}/2 u^2 - {b} u from {start}, noise +-{s}, {tau} steps, x = {x}"
        known = assumed.noise(s**2, s**2, bias)
        yield Witness(words, {"eta": eta, "tau": Fraction(tau)}, atoms, known)


@shared
def participation(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield N equal clients of SFL-V2, the client side at rest; N = 1 has more steps.

    The first client's gradient is G. The others have $-\theta G$ where the server
    stands at first and after that client's step divided by q, but G after its plain
    step, their gradient being piecewise linear in between: so $-\theta G$ whoever takes
    part, G where all do. Without the participation assumed, everybody comes.
    """
    del certificate
    for rng in drawn(96, 200):
        N, G = rng.choice((1, 2, 5, 40)), rng.choice(SMALL)
        q = rng.choice((HALF, Fraction(9, 10), Fraction(1, 20)))
        theta = rng.choice((ONE, ONE, ZERO, -ONE))
        eta, w = rng.choice((ONE, HALF, Fraction(10), Fraction(1, 100))), Fraction(1, N)
        tau = rng.choice((1, 10)) if N == 1 else 1
        # E I_n = q, or I_n = 1 for all n
        present = ONE if "Bernoulli" in without else q
        least = 1000 if "3.3" in without else 1
        mean = -eta * tau * w * G * (1 - theta * (N - 1)) * present / q
        of_one = (present / q**2 - (present / q) ** 2) * (eta * tau * w * G) ** 2
        variance = of_one * (1 + theta**2 * (N - 1))
        whole = -eta * tau * w * G * N
        atoms = {
            "<x'-x,x'-x>": mean**2 + variance,
            "<x'-x,xbar'-x>": mean * whole,
            "<xbar'-x,xbar'-x>": whole**2,
        }
        values = {
            "N": Fraction(N), "tau": Fraction(tau), "eta": eta, "G2": G**2 / least,
            "sum_w_n^2": N * w**2, "sum_w_n^2/q_n": N * w**2 / q,
        }  # fmt: skip
        known = {
            assumed.BOUNDED: assumed.bounded(G**2, G**2 / least),
            assumed.PRESENT: equal("E I_n = q_n", present, q),
        }
        words = f"N = {N}, q = {q}, {tau} steps, first client's gradient {G}, then "
        words += f"{-theta * G}"
        yield Witness(words, values, atoms, known)
