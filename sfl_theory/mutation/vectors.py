"""Witnesses made of vectors: pure inequalities of a Hilbert space, and small families.

An inequality between inner products holds in every Hilbert space if it holds for all
vectors, so vectors on one line or in a plane may break it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import islice

import numpy as np
import sympy as sp

from sfl_theory.evidence.certificate import Certificate, coefficients
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.exact import at, points
from sfl_theory.mutation.terms import stated_atoms
from sfl_theory.mutation.witness import Witness

Point = tuple[Fraction, ...]
SIDES = tuple(Fraction(s) for s in ("0", "1", "-1", "2", "-2", "1/2", "-1/2", "10"))
TRIALS = 600
TINY = Fraction(1, 10**40)


def at_least(value: Fraction) -> Fraction:
    """Return a positive upper bound, for parameters whose domain leaves out 0."""
    return max(value, TINY)


def gram(named: Mapping[str, Point]) -> dict[str, Fraction]:
    """Return the atoms of all inner products between named vectors."""
    return {
        f"<{min(a, b)},{max(a, b)}>": sum(
            (x * y for x, y in zip(u, v, strict=True)), Fraction(0)
        )
        for a, u in named.items()
        for b, v in named.items()
    }


def drawn(seed: int, count: int = TRIALS) -> Iterator[random.Random]:
    """Yield the same source of draws ``count`` times."""
    rng = random.Random(seed)
    for _ in range(count):
        yield rng


def any_vectors(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield vectors on a line for every name in a statement without hypotheses."""
    del without
    names = sorted({n for a in stated_atoms(certificate) for n in a[1:-1].split(",")})
    at = list(islice(points(certificate.domain, 3, 60), 20))
    for rng in drawn(4):
        named = {name: (rng.choice(SIDES),) for name in names}
        shown = ", ".join(f"{k} = {v[0]}" for k, v in named.items())
        values = rng.choice(at)
        yield Witness(f"vectors {shown} at {values}", values, gram(named))


def least_direction(mutant: Certificate) -> Iterator[Witness]:
    """Yield vectors on a line that make ``right - left`` small, at points.

    The gap is a quadratic form in the vectors. Floating point only finds the direction
    of its least eigenvalue; what is yielded is rational.

    Args:
        mutant: a statement about any vectors, without hypotheses.

    Yields:
        Vectors.
    """
    names = sorted({n for a in stated_atoms(mutant) for n in a[1:-1].split(",")})
    parts = coefficients(sp.Integer(0) + mutant.right - mutant.left)
    for values in islice(points(mutant.domain, 3, 120), 60):
        form = np.zeros((len(names), len(names)))
        for key, coefficient in parts.items():
            if key != "1":
                i, j = (names.index(name) for name in key[1:-1].split(","))
                form[i, j] += float(at(coefficient, values)) / 2
                form[j, i] += float(at(coefficient, values)) / 2
        scale = 1 / np.sqrt(np.maximum(abs(np.diag(form)), 1e-30))
        sizes, directions = np.linalg.eigh(form * np.outer(scale, scale))
        if sizes[0] < 0:
            line = (scale * directions[:, 0]).tolist()
            most = max(map(abs, line))
            named = {
                name: (Fraction(x / most).limit_denominator(10**9),)
                for name, x in zip(names, line, strict=True)
            }
            shown = ", ".join(f"{k} = {v[0]}" for k, v in named.items())
            yield Witness(f"vectors {shown} at {values}", values, gram(named))


def blocks(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield two blocks of a vector; without that hypothesis, any two vectors."""
    value = next(iter(points(certificate.domain, 3, 1)))
    zero = Fraction(0)
    for rng in drawn(5, 100):
        a, b = rng.choice(SIDES), rng.choice(SIDES)
        second = (b, zero) if without else (zero, b)
        named = {"d_c": (a, zero), "d_s": second}
        known = {assumed.BLOCKS: equal("blocks orthogonal", a * second[0], 0)}
        yield Witness(f"d_c = ({a}, 0), d_s = {second}", value, gram(named), known)


def mean_of_two(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield two numbers and their mean; without "definition", another number."""
    value = next(iter(points(certificate.domain, 3, 1)))
    for rng in drawn(6, 100):
        u, v = rng.choice(SIDES), rng.choice(SIDES)
        mean = (u + v) / 2 + (rng.choice(SIDES) if without else 0)
        found = gram({"vbar": (mean,)})
        found["1/N sum ||v_n||^2"] = (u**2 + v**2) / 2
        found["1/N sum <v_n, vbar>"] = (u + v) / 2 * mean
        known = {assumed.MEAN: equal("vbar is the mean", mean, (u + v) / 2)}
        yield Witness(f"N = 2, v = ({u}, {v}), vbar = {mean}", value, found, known)


def noise_of_two(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield noise of two clients: signs times s_n, independent, weights 1/2.

    Without independence the signs agree; without Assumption 3 the bound is too small.
    """
    value = next(iter(points(certificate.domain, 3, 1)))
    for rng in drawn(7, 100):
        s = [abs(rng.choice(SIDES)) for _ in range(2)]
        parts = (s[0] ** 2 + s[1] ** 2) / 4
        whole = (s[0] + s[1]) ** 2 / 4 if "independent" in without else parts
        bound = parts / 9 if without == "Assumption 3" else parts
        found = {
            "E||sum p_n xi_n||^2": whole,
            "sum p_n^2 E||xi_n||^2": parts,
            "sum p_n^2 sigma_n^2": bound,
        }
        words = f"N = 2, p = 1/2, xi_n = +-s_n, s = {s}"
        known = {
            assumed.INDEPENDENT: equal("variance of the sum", whole, parts),
            **assumed.noise(parts, bound),
        }
        yield Witness(words, value, found, known)


def participation(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield updates of clients that take part with probability q, gradients constant.

    Without independent participation the update is I/q^2 h; without Assumption 3.3
    the gradients exceed G.
    """
    del certificate
    for rng in drawn(8, 200):
        N, tau = rng.choice((1, 2, 3)), rng.choice((1, 2, 10))
        q = rng.choice((Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 100)))
        eta = rng.choice((1, Fraction(1, 10), 3))
        g = Fraction(rng.choice((1, 2, Fraction(1, 10))))
        total = Fraction(1, N) / q
        h = tau * g
        # E||X||^2 = eta^2 (h^2 + sum_n a_n^2 (1-q)/q h^2)
        distance = eta**2 * (1 - q) / q / N * h**2
        if without == "independent participation":
            distance = eta**2 * h**2 * (1 - q) / q**3
        mean = eta**2 * h**2
        yield Witness(
            f"N = {N}, a_n = 1/N, q_n = {q}, h_n = tau g, g = {g}",
            {
                "N": Fraction(N),
                "tau": Fraction(tau),
                "eta": Fraction(eta),
                "G2": g**2 / 100 if without == "Assumption 3.3" else g**2,
                "weight": total,
            },
            {
                "E||X - E_I X||^2": distance,
                "E||X||^2": distance + mean,
                "E||E_I X||^2": mean,
                "sum a_n^2/q_n E||h_n||^2": total * h**2,
            },
            {
                assumed.V1: equal("mean of the updates", mean, (eta * tau * g) ** 2),
                assumed.PRESENT: assumed.unit_interval(q),
                assumed.APART: equal(
                    "participation independent of the updates",
                    distance,
                    eta**2 * (1 - q) / q / N * h**2,
                ),
                assumed.BOUNDED: assumed.bounded(
                    g**2,
                    g**2 / 100 if without == "Assumption 3.3" else g**2,
                ),
            },
        )


def sums_over_clients(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield sums over clients of real weights and participations."""
    del certificate, without
    for rng in drawn(9, 100):
        N = rng.choice((1, 2, 10))
        q = [rng.choice((Fraction(1), Fraction(1, 2), Fraction(1, 100)))] * N
        a = Fraction(1, N)
        yield Witness(
            f"N = {N}, a_n = 1/N, q_n = {q[0]}",
            {
                "inv": sum((a / p for p in q), Fraction(0)),
                "inv2": sum(((a / p) ** 2 for p in q), Fraction(0)),
                "rho": sum((a**2 * (1 - p) / p for p in q), Fraction(0)),
            },
        )
