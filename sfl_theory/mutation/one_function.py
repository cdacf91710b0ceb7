"""Witnesses made of one quadratic function: smoothness and convexity at points.

Without a hypothesis the curvature leaves [mu, S], or the minimiser is not one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.vectors import SIDES, at_least, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

ZERO = Fraction(0)
SMALL = tuple(Fraction(s) for s in ("1/10", "1/2", "1", "2", "5"))
WIDE = (Fraction(1, 10**6), Fraction(1, 1000), *SMALL, Fraction(100), Fraction(10**6))
SMOOTHNESS = frozenset({
    "Assumption 1", "Assumption 3.1", "Assumption C.1 (24)", "Assumption C.1 (25)",
    "Assumption C.1 (24), gradients S-Lipschitz",
    "Assumption 3.1, gradients S-Lipschitz (24)",
})  # fmt: skip
CONVEXITY = frozenset({"Assumption 2", "Assumption C.2"})


def _curved(rng: random.Random, without: str) -> tuple[Fraction, Fraction, Fraction]:
    """Return mu, S and a curvature between them, outside without the hypothesis."""
    mu = rng.choice((*SMALL, ZERO))
    S = mu + rng.choice((*SMALL, ZERO))
    c = rng.choice((mu, S))
    if without in SMOOTHNESS:
        c = 5 * S + 1
    if without in CONVEXITY:
        c = rng.choice((-S, ZERO, mu / 10))
    return mu, S, c


def _shape(c: Fraction, mu: Fraction, S: Fraction) -> dict[str, Check]:
    """Return the checks of smoothness and convexity of c u^2/2."""
    return {assumed.SMOOTH: assumed.smooth(c, S), assumed.CONVEX: assumed.convex(c, mu)}


@shared
def three_points(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield h = c u^2/2 with points x, y, z, for Lemma C.3."""
    del certificate
    for rng in drawn(11):
        mu, S, c = _curved(rng, without)
        x, y, z = (rng.choice(SIDES) for _ in range(3))
        shift = rng.choice(SIDES)
        named = {k: (v,) for k, v in zip("xyz", (x, y, z), strict=True)}
        atoms = gram({**named, "grad_h(x)": (c * x,)})
        atoms |= {f"h({k})": c * v[0] ** 2 / 2 + shift for k, v in named.items()}
        words = f"h(u) = {c}/2 u^2 + {shift}, x = {x}, y = {y}, z = {z}"
        yield Witness(words, {"mu": mu, "S": S}, atoms, _shape(c, mu, S))


@shared
def around_minimiser(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield f = c ||u||^2/2 - b.u in two blocks at a point and at its minimiser.

    Without "x* minimises f" that point is not the minimiser; without the blocks'
    orthogonality both lie on one line.
    """
    del certificate
    for rng in drawn(12):
        mu, S, c = _curved(rng, without)
        dc, ds, shift = (rng.choice(SIDES) for _ in range(3))
        slope = rng.choice(SIDES) if "minimises" in without else ZERO
        second = (ds, ZERO) if without.startswith("w = ") else (ZERO, ds)
        whole = dc + second[0], second[1]
        rise = slope * sum(whole) + c / 2 * sum(w**2 for w in whole)
        grad_c, grad_s = (slope, ZERO), (ZERO, slope)
        atoms = gram({
            "x_c-x_c*": (dc, ZERO), "x_s-x_s*": (ZERO, ds),
            "grad_c_f(x*)": grad_c, "grad_s_f(x*)": grad_s,
        })  # fmt: skip
        atoms |= gram({"d_c": (dc, ZERO), "d_s": second, "grad": (slope, slope)})
        atoms |= {"f(x*)": shift, "f(x^T)": shift + rise}
        atoms |= {"F(w*)": shift, "F(w)": shift + rise}
        words = f"f = {slope} sum d + {c}/2 ||d||^2 + {shift}, d = {whole}"
        known = _shape(c, mu, S) | {
            assumed.MINIMISER: Check(
                "gradient 0 at a minimiser", slope == 0 and c >= 0, f"{slope}, {c}"
            ),
            assumed.BLOCKS: equal("blocks orthogonal", dc * second[0], 0),
        }
        yield Witness(words, {"S": S}, atoms, known)


@shared
def two_blocks(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield f = c ||x||^2/2 and one step from x, for Prop. C.4."""
    del certificate
    for rng in drawn(13):
        mu, S, c = _curved(rng, without)
        xc, xs, dc, ds, shift = (rng.choice(SIDES) for _ in range(5))
        atoms = gram({
            "dx_c": (dc, ZERO), "dx_s": (ZERO, ds),
            "grad_c": (c * xc, ZERO), "grad_s": (ZERO, c * xs),
        })  # fmt: skip
        end = (xc + dc) ** 2 + (xs + ds) ** 2
        atoms["f(x^t)"] = c / 2 * (xc**2 + xs**2) + shift
        atoms["f(x^t+1)"] = c / 2 * end + shift
        words = f"f = {c}/2 ||x||^2 + {shift}, x = ({xc}, {xs}), dx = ({dc}, {ds})"
        yield Witness(words, {"S": S}, atoms, _shape(c, mu, S))


@shared
def bounded_gradients(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield c u^2/2 between u = -G/c and u = G/c, and from 0 to there."""
    del certificate
    for rng in drawn(14):
        mu, c = rng.choice(SMALL), rng.choice(SMALL)
        c = mu / 10 if without in CONVEXITY else mu * max(c, Fraction(1))
        u = rng.choice(SMALL)
        bias = -c * u if without == "unbiased" else ZERO
        size = (c * u + bias) ** 2
        if without in {"Assumption 3.3", "Assumption 4"}:
            size /= 100
        zero = {"grad(x)": (c * u,), "grad(y)": (-c * u,), "x-y": (2 * u,)}
        atoms = gram({**zero, "w-w_n*": (u,), "grad": (c * u,), "xi": (bias,)})
        atoms |= {"f(w)": c * u**2 / 2, "f(w*)": ZERO}
        words = f"f = {c}/2 u^2, u = {u}, x = u, y = -u"
        limit = at_least(size)
        known = _shape(c, mu, c) | {
            assumed.BOUNDED: assumed.bounded((c * u + bias) ** 2, limit),
            assumed.UNBIASED: equal("mean of the noise", bias, 0),
        }
        yield Witness(words, {"mu": mu, "G2": limit, "R2": limit}, atoms, known)


@shared
def along_a_block(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield F = c u^2/2 within a block, whose optimum may lie elsewhere."""
    del certificate
    for rng in drawn(15):
        mu, S, c = _curved(rng, without)
        w, d, shift = (rng.choice(SIDES) for _ in range(3))
        atoms = gram({"d": (d,), "grad": (c * w,)})
        atoms["F(w)"] = c * w**2 / 2 + shift
        atoms["F(w with block at optimum)"] = c * (w - d) ** 2 / 2 + shift
        eta = rng.choice(SMALL)
        values = {"mu": mu, "S": S, "eta": eta}
        words = f"F = {c}/2 u^2 + {shift}, w = {w}, d = {d}"
        if mu > 0:
            yield Witness(words, values, atoms, _shape(c, mu, S))


@shared
def above_its_minimum(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield f = c w^2/2 above its minimum; without "definition of f*", another f*."""
    del certificate
    for rng in drawn(16):
        mu, S, c = _curved(rng, without)
        w, shift = rng.choice(SIDES), rng.choice(SIDES)
        atoms = gram({"grad": (c * w,)})
        atoms["f(w)"] = c * w**2 / 2 + shift
        atoms["f(*)"] = shift + (abs(rng.choice(SIDES)) if "f*" in without else 0)
        known = _shape(c, mu, S) | {
            assumed.BEST: Check(
                "f* is the least value", c > 0 and atoms["f(*)"] == shift, f"{shift}"
            )
        }
        if mu > 0:
            words = f"f = {c}/2 w^2 + {shift}, w = {w}"
            yield Witness(words, {"S": S}, atoms, known)
