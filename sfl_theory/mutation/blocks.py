r"""Witnesses for one block of the model over a round: quadratics, exact moments.

Client n's i-th gradient is $\nabla F_n(p_n^i)+\xi_n^i$; on quadratics the points are
linear in the noise, so that all second moments follow. The other block is at rest. $M$
sums the gradients, $Z$ the noise, $D$ the squared distances from the start.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.federation import Coordinate
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.one_round import HALF, ONE, SLOPES, WEIGHTS, ZERO
from sfl_theory.mutation.vectors import SIDES, at_least, drawn
from sfl_theory.mutation.witness import Witness, shared

LEAST = {"v1": Fraction(14, 5), "v2": Fraction(4), "v2-partial": Fraction(4)}
JENSEN = {
    "v1": "E||sum w v||^2 of {a_n I_n/q_n h_n, h_n = sum_i g_n^i; weights 1; times N}",
    "v2": "E||sum w v||^2 of {h_n = sum_i g_n^i; weights a_n}",
    "v2-partial": "E||sum w v||^2 of {h_n = sum_i g_n^i; weights a_n I_n/q_n, at most "
    "kappa in every outcome}",
}


@dataclass(frozen=True)
class Sums:
    """Moments of what one client adds up in a round.

    Attributes:
        gradients: mean of the sum of gradients.
        variance: its variance.
        covariance: with the sum of the noise.
        noise: variance of the sum of the noise.
        drift: sum of the mean squared distances from the start.
    """

    gradients: Fraction
    variance: Fraction
    covariance: Fraction
    noise: Fraction
    drift: Fraction


def sums(side: Coordinate, n: int, eta: Fraction) -> Sums:
    """Return the moments of client n.

    Args:
        side: the block.
        n: client.
        eta: learning rate.

    Returns:
        The moments.
    """
    c, s2 = side.c, side.s[n] ** 2
    point, drift, total = side.start, ZERO, ZERO
    weight = [ZERO] * side.steps  # of every draw in the point
    summed = [ZERO] * side.steps  # and in the sum of gradients
    for i in range(side.steps):
        drift += (point - side.start) ** 2 + s2 * sum((w**2 for w in weight), ZERO)
        gradient = c * point - side.b[n]
        total += gradient
        summed = [a + c * w for a, w in zip(summed, weight, strict=True)]
        point -= eta * gradient
        weight = [w - eta * (c * w + (j == i)) for j, w in enumerate(weight)]
    variance = s2 * sum((a**2 for a in summed), ZERO)
    covariance = s2 * sum(summed, ZERO)
    return Sums(total, variance, covariance, side.steps * s2, drift)


def _drawn_block(rng: random.Random, N: int, c: Fraction, steps: int) -> Coordinate:
    alike = rng.random() < HALF
    slope = rng.choice(SLOPES)
    b = tuple(slope if alike else rng.choice(SIDES) for _ in range(N))
    quiet = rng.random() < HALF
    s = tuple(ZERO if quiet else rng.choice((ZERO, *WIDE)) for _ in range(N))
    start = b[0] / c if c and rng.random() < HALF else rng.choice(SLOPES)
    return Coordinate(c, b, s, start, steps)


def _mean(a: tuple[Fraction, ...], values: list[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(a, values, strict=True)), ZERO)


def _block(kind: str, seed: int, without: str) -> Iterator[Witness]:
    for rng in drawn(seed, 200):
        a = rng.choice(WEIGHTS)
        N, p = len(a), rng.choice((1, 2, 3, 8, 24))
        q = ONE if kind == "v2" else rng.choice((ONE, ONE, HALF, Fraction(1, 20)))
        S = rng.choice(WIDE)
        kappa = {"v1": N * _mean(a, list(a)) / q, "v2": ONE, "v2-partial": 1 / q}[kind]
        largest = 1 / (S * p * LEAST[kind])
        if kind == "v2-partial":
            largest /= kappa
        eta = largest / rng.choice((1, 1, HALF, 10, 1000))
        c = S * rng.choice((1, -1, Fraction(1, 100)))
        if "Lipschitz" in without:
            c = 400 * p * S
        side = _drawn_block(rng, N, c, p)
        slope = side.slope(a)
        found = [sums(side, n, eta) for n in range(N)]
        noise = [s**2 for s in side.s]
        # b_n of the drift: N a_n^2/q, a_n or E a_n I_n/q_n
        weights = tuple(N * w**2 / q for w in a) if kind == "v1" else a
        squares = tuple(w**2 for w in a)
        M = _mean(a, [f.gradients for f in found])
        biased = -1000 * slope if "3.2" in without else ZERO
        spread = max((b - _mean(a, list(side.b))) ** 2 for b in side.b)
        kept = spread / 10**6 if without == "Assumption 3.4" else spread
        h2 = [
            (f.gradients**2 + f.variance + 2 * f.covariance + f.noise) / q
            - f.gradients**2
            for f in found
        ]
        planted = 10**6 if without and "update" in without.lower() else 0
        planted += 10**6 if "server steps" in without else 0
        D = _mean(weights, [f.drift for f in found]) + planted
        atoms = {
            "<grad_b,grad_b>": slope**2,
            "<grad_f,grad_f>": slope**2,
            "<M,grad_b>": M * slope,
            "<B,grad_b>": (M - p * slope) * slope,
            "<Z,grad_b>": biased * slope,
            "D": D,
            JENSEN[kind]: M**2 + _mean(squares, h2) + planted,
        }
        values = {
            "p": Fraction(p), "S": S, "eta": eta, "kappa": kappa,
            "epsilon2": at_least(kept),
            "sigma": at_least(_mean(weights, noise)),
            "sigma_a": at_least(_mean(a, noise)),
            "sigma_q": at_least(_mean(squares, noise) / q),
        }  # fmt: skip
        mean = side.averaged(a, eta, q)[0]
        update = {"v1": assumed.V1, "v2": assumed.V2, "v2-partial": assumed.V2_PARTIAL}
        known: dict[str, Check] = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.SPREAD: assumed.spread(spread, values["epsilon2"]),
            assumed.PRESENT: assumed.unit_interval(q),
            update[kind]: equal(
                "E x' - x = -eta E M, D as followed",
                side.start - eta * M + planted,
                mean,
            ),
            **assumed.noise(_mean(weights, noise), values["sigma"], biased),
        }
        yield Witness(f"{kind}, a = {a}, q = {q}, block {side}", values, atoms, known)


@shared
def of_v1(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a block of SFL-V1, drift with weights N a_n^2/q."""
    del certificate
    yield from _block("v1", 61, without)


@shared
def of_v2(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the client block of SFL-V2, the server at rest, weights a_n."""
    del certificate
    yield from _block("v2", 62, without)


@shared
def of_partial_v2(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the client block of SFL-V2 with participation, the server at rest."""
    del certificate
    yield from _block("v2-partial", 63, without)


@shared
def both(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield both blocks of SFL-V1, every client present, for (86)."""
    del certificate
    for rng in drawn(64, 200):
        a = rng.choice(WEIGHTS)
        N = len(a)
        tau, server = rng.choice((1, 2, 8)), rng.choice((1, 2, 8))
        most = max(tau, server)
        S = rng.choice(SMALL)
        c = S * rng.choice((1, -1))
        if "Lipschitz" in without:
            c = 400 * most * S
        eta = 1 / (S * most * LEAST["v1"]) / rng.choice((1, 1, HALF, 10, 1000))
        squares = tuple(w**2 for w in a)
        sides = {
            "c": _drawn_block(rng, N, c, tau), "s": _drawn_block(rng, N, c, server)
        }  # fmt: skip
        if rng.random() < HALF:
            still = (ZERO,) * N
            k = rng.choice("cs")
            sides[k] = Coordinate(c, still, still, ZERO, sides[k].steps)
        bias = rng.choice(SIDES) * 1000 if without == "Assumption 3.2" else ZERO
        atoms: dict[str, Fraction] = {}
        planted = 10**6 if "update" in without else 0
        moves, true_moves = [], []
        for k, side in sides.items():
            found = [sums(side, n, eta) for n in range(N)]
            slope, M = side.slope(a), _mean(a, [f.gradients for f in found])
            MM = M**2 + _mean(squares, [f.variance for f in found]) + planted
            MZ = _mean(squares, [f.covariance for f in found])
            ZZ = _mean(squares, [f.noise for f in found])
            atoms |= {
                f"<grad_{k},grad_{k}>": slope**2, f"<M_{k},grad_{k}>": M * slope,
                f"<Z_{k},grad_{k}>": bias * slope, f"<M_{k},M_{k}>": MM,
                f"<M_{k},Z_{k}>": MZ, f"<Z_{k},Z_{k}>": ZZ,
            }  # fmt: skip
            mean, variance, _ = side.averaged(a, eta, ONE)
            moves.append(eta**2 * (MM + 2 * MZ + ZZ))
            true_moves.append((mean - side.start) ** 2 + variance)
        noise = [sum((x.s[n] ** 2 for x in sides.values()), ZERO) for n in range(N)]
        spread = max(
            sum(((x.b[n] - _mean(a, list(x.b))) ** 2 for x in sides.values()), ZERO)
            for n in range(N)
        )
        kept = spread / 10**6 if without == "Assumption 3.4" else spread
        values = {
            "tau": Fraction(tau), "tau_server": Fraction(server), "N": Fraction(N),
            "S": S, "eta": eta, "kappa": N * sum(squares, ZERO),
            "sigma_w": N * _mean(squares, noise), "epsilon2": kept,
        }  # fmt: skip
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.SPREAD: assumed.spread(spread, kept),
            assumed.PRESENT: assumed.unit_interval(ONE),
            assumed.EVERYONE: equal("q", ONE, 1),
            assumed.V1: equal("E||x' - x||^2", sum(moves), sum(true_moves)),
            **assumed.noise(N * _mean(squares, noise), values["sigma_w"], bias),
        }
        yield Witness(f"SFL-V1, a = {a}, {sides}", values, atoms, known)
