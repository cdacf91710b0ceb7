r"""Witnesses for single steps of the proofs about one block: sums over clients.

Client n has the gradient $v_n$ at every local point and noise $\pm s_n$, the same sign
for all clients; weights $w_n$.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_round import HALF, ONE, PERIODS, WEIGHTS, ZERO
from sfl_theory.mutation.vectors import SIDES, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

_OF = "sum w E||v||^2 of"
STATED = (
    "<M,M>;<M,x_s-x_s*>;<x_s-x_s*,x_s-x_s*>;"
    f"{_OF} {{a_n v_n^i; n <= N, i < tau; weights 1}}",
    "<M,M>;<M,x_s-x_s*>;<x_s-x_s*,x_s-x_s*>;"
    f"{_OF} {{1 v_n^i; n <= N, i < tau; weights 1}}",
    f"{_OF} {{g_n^i; n, i < tau; weights w_n^2}};sum_n sum_i w_n^2 E||v_n^i||^2;"
    "sum_n sum_i w_n^2 E||xi_n^i||^2",
    f"{_OF} {{g_n^i; n, i < tau; weights w_n^2}};sum_n sum_i w_n^2 E||xi_n^i||^2",
    "sum_n a_n sum_i E||x_s,n^i - x_s||^2",
    "sum_i E||sum_n w_n xi_n^i||^2",
)
"""Atoms of (55), (56), (58), (59), (92)."""


@shared
def over_clients(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield gradients and noise of the clients, the same at every local step."""
    del certificate
    for rng in drawn(91, 300):
        unit = rng.random() < HALF
        w = (ONE,) * rng.choice((1, 2, 5)) if unit else rng.choice(WEIGHTS)
        N, tau = len(w), rng.choice(PERIODS)
        alike = rng.choice(SIDES)
        v = [alike if rng.random() < 3 / 4 else rng.choice(SIDES) for _ in w]
        s = [rng.choice((ZERO, ONE, abs(alike))) for _ in w]
        x, eta = (
            rng.choice(SIDES),
            rng.choice((ONE, HALF, Fraction(10), Fraction(1, 100))),
        )
        q = rng.choice((ONE, HALF, Fraction(1, 20)))
        less = 10**6
        bias = rng.choice(SIDES) if "3.2" in without else ZERO
        squares = [a**2 for a in w]

        def total(parts: list[Fraction], numbers: list[Fraction]) -> Fraction:
            return sum((a * b for a, b in zip(parts, numbers, strict=True)), ZERO)

        gradients, noise = [g**2 for g in v], [d**2 for d in s]
        moments = [(g + bias) ** 2 + d**2 for g, d in zip(v, s, strict=True)]
        summed = true = tau * total(list(w), v)
        if "definition" in without:
            summed += 1000
        reached = max(moments)
        G2 = reached / (less if "3.3" in without else 1)
        kept = [d / (less if "3.2" in without else 1) for d in noise]
        if unit:
            family = f"{_OF} {{1 v_n^i; n <= N, i < tau; weights 1}}"
        else:
            family = f"{_OF} {{a_n v_n^i; n <= N, i < tau; weights 1}}"
        atoms = gram({"M": (summed,), "x_s-x_s*": (x,)})
        drawn_noise = total(list(w), s)
        atoms |= {
            "<M,Z>": summed * tau * bias, "<Z,x_s-x_s*>": tau * bias * x,
            "<Z,Z>": tau * drawn_noise**2 + (tau * bias) ** 2,
            family: tau * total(squares, gradients),
            f"{_OF} {{g_n^i; n, i < tau; weights w_n^2}}":
                tau * total(squares, moments),
            "sum_n sum_i w_n^2 E||v_n^i||^2": tau * total(squares, gradients),
            "sum_n sum_i w_n^2 E||xi_n^i||^2":
                tau * total(squares, [d + bias**2 for d in noise]),
            "sum_i E||sum_n w_n xi_n^i||^2":
                tau * (drawn_noise**2 + (total(list(w), [ONE] * N) * bias) ** 2),
        }  # fmt: skip
        if not unit:
            steps = sum(i**2 for i in range(tau)) * eta**2
            atoms["sum_n a_n sum_i E||x_s,n^i - x_s||^2"] = steps * total(
                list(w), gradients
            )
        values = {
            "N": Fraction(N), "tau": Fraction(tau), "eta": eta, "G2": G2,
            "sum_w_n^2": sum(squares, ZERO), "sum_w_n^2/q_n": sum(squares, ZERO) / q,
            "sum_w_n^2_sigma_n^2": total(squares, kept),
            "sum_a_n_sigma_n^2": total(list(w), kept),
        }  # fmt: skip
        known = {
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.MEAN: equal("M is the sum of the gradients", summed, true),
            assumed.UNBIASED: equal("mean of the noise", bias, 0),
            assumed.VARIANCE: at_most(
                "variance of the noise", max(noise), max(kept)
            ),
        }  # fmt: skip
        words = f"w = {w}, v = {v}, noise +-{s}, tau = {tau}, x = {x}, q = {q}"
        yield Witness(words, values, atoms, known)
