r"""Witnesses for the federations that meet the assumptions, and for what implies what.

$F_n=\sqrt{1+\|x\|^2}+\langle b_n,x\rangle$ at points where the root is rational, and
$F_n=\frac S2\|x\|^2-\langle b_n,x\rangle$ on a ball, both on a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL
from sfl_theory.mutation.vectors import SIDES, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

HALF = Fraction(1, 2)
ROOTS = tuple(
    (Fraction(x), Fraction(s))
    for x, s in (
        ("0", "1"), ("3/4", "5/4"), ("-3/4", "5/4"), ("4/3", "5/3"), ("-12/5", "13/5"),
        ("399/40", "401/40"), ("-399/40", "401/40"),
    )
)  # fmt: skip
"""Points x with s = sqrt(1 + x^2)."""


@shared
def square_root(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield points x, y of phi, a slope b_n and noise, without the federation any."""
    del certificate
    for rng in drawn(51, 300):
        (x, s), (y, r) = rng.choice(ROOTS), rng.choice(ROOTS)
        if without:
            x, y = rng.choice(SIDES), rng.choice(SIDES)
        b, noise = rng.choice(SIDES), abs(rng.choice(SIDES))
        shrunk = 100 if without else 1
        plus, minus = (
            gram({"x": (x,), "y": (y,), "b_n": (b,), "xi": (xi,)})
            for xi in (noise, -noise)
        )
        atoms = {key: (plus[key] + minus[key]) / 2 for key in plus}
        values = {"s": s, "r": r, "beta": b**2 / shrunk, "sigma2": noise**2 / shrunk}
        roots = Check(
            "s^2 = 1 + x^2, r^2 = 1 + y^2, b^2 <= beta, xi^2 <= sigma^2",
            s**2 == 1 + x**2
            and r**2 == 1 + y**2
            and b**2 <= values["beta"]
            and noise**2 <= values["sigma2"],
            f"x = {x}, y = {y}, b = {b}",
        )
        words = f"phi + {b} x at x = {x}, y = {y}, noise +-{noise}"
        yield Witness(words, values, atoms, {assumed.ROOT: roots})


@shared
def ball(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a point of the ball and a minimiser c_n/S in it, two clients."""
    del certificate
    for rng in drawn(52, 300):
        radius = rng.choice(SMALL)
        x, c, d = (radius * rng.choice((-1, 1, 0, Fraction(1, 2))) for _ in range(3))
        S = rng.choice(SMALL)
        shrunk = Fraction(100 if without else 1)
        R2 = radius**2 / shrunk
        mean, b = (c + d) / 2, c
        atoms = gram({"x": (x,), "(b_n-xi)/S": (c,), "b_n": (b,), "mean b": (mean,)})
        atoms["E||sum w v||^2 of {local models; weights a_n}"] = ((x + c) / 2) ** 2
        beta = (b - mean) ** 2 / shrunk
        eta = 1 / S / rng.choice((1, 2, 10, HALF))
        values = {"S": S, "R2": R2, "eta": eta, "beta": beta}
        known = {
            assumed.BALL: Check(
                "x, c/S in the ball, |b_n - mean|^2 <= beta",
                max(x**2, c**2) <= R2 and (b - mean) ** 2 <= beta,
                f"x = {x}, c/S = {c}, R^2 = {R2}",
            )
        }
        yield Witness(
            f"S/2 x^2 - c x, S = {S}, x = {x}, c/S = {c}", values, atoms, known
        )


@shared
def implied(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield gradients u, v of two clients, client 1 of weight a and with noise."""
    del certificate
    for rng in drawn(53, 300):
        u, v = rng.choice(SIDES), rng.choice(SIDES)
        a = rng.choice((HALF, Fraction(1, 100)))
        if rng.random() < HALF:
            v = -u
        s = abs(rng.choice((*SIDES, Fraction(0))))
        bias = rng.choice(SIDES) if "3.2" in without else Fraction(0)
        true = a * u + (1 - a) * v
        mean = true + (100 if without == "(1)" else Fraction(0))
        reached = max(u**2, v**2, (u + bias) ** 2 + s**2, Fraction(1, 100))
        G2 = reached / (10**4 if without == "Assumption 3.3" else 1)
        plus, minus = (
            gram({"gradF_n": (u,), "gradf": (mean,), "xi": (bias + xi,)})
            for xi in (s, -s)
        )
        atoms = {key: (plus[key] + minus[key]) / 2 for key in plus}
        known = {
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.UNBIASED: equal("mean of the noise", bias, 0),
            assumed.MEAN: equal("gradf is the mean", mean, true),
        }
        words = f"gradF = {u}, {v}; weights {a}, {1 - a}; noise +-{s}"
        yield Witness(words, {"G2": G2}, atoms, known)


@shared
def two_functions(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield two quadratics with weights 1/2, at two points."""
    del certificate
    for rng in drawn(54, 200):
        S = rng.choice(SMALL)
        c = [S * rng.choice((1, 1, -1, Fraction(1, 2))) for _ in range(2)]
        if without:
            c = [5 * S, 5 * S]
        distance = rng.choice(SIDES)
        name = "E||sum w v||^2 of {gradF_n(x) - gradF_n(y); weights a_n}"
        atoms = {
            "||x-y||^2": distance**2,
            name: (sum(c, Fraction(0)) / 2 * distance) ** 2,
        }
        known = {assumed.SMOOTH: at_most("|c_n| <= S", max(map(abs, c)), S)}
        yield Witness(f"F_n = c_n/2 x^2, c = {c}", {"S": S}, atoms, known)


@shared
def contraction(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a gradient step from two points of c u^2/2, for (168)."""
    del certificate
    for rng in drawn(55, 200):
        S = rng.choice(SMALL)
        c = S * rng.choice((0, 1, 1, Fraction(1, 2)))
        if without:
            c = 5 * S
        x, y = rng.choice(SIDES), rng.choice(SIDES)
        atoms = gram({"grad_F(x)": (c * x,), "grad_F(y)": (c * y,), "x-y": (x - y,)})
        values = {"S": S, "eta": 2 / S / rng.choice((Fraction(1, 2), 1, 1, 2, 10))}
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, Fraction(0)),
        }
        yield Witness(f"F = {c}/2 u^2, x = {x}, y = {y}", values, atoms, known)
