r"""Witnesses for bounds of function values, $e_t=\mathbb Ef(x^t)-f^*$, and for starts.

One client on $cu^2/2$; the other side at rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.federation import Coordinate
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.one_round import ONE, PERIODS, SLOPES, ZERO
from sfl_theory.mutation.vectors import SIDES, drawn, gram
from sfl_theory.mutation.witness import Witness, shared


@shared
def gap_and_gradient(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield c u^2/2 at a point, its minimum and its minimiser."""
    del certificate
    for rng in drawn(81, 200):
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 10))
        c = rng.choice((mu, S))
        if without == "Assumption C.2":
            c = mu / 100
        if "3.1" in without or "(25)" in without:
            c = 100 * S
        slope = rng.choice(SIDES) if "minimises" in without else ZERO
        u, least = rng.choice(SLOPES), rng.choice(SIDES)
        here = c / 2 * u**2 + slope * u + least
        atoms = gram({"grad_f(x)": (c * u + slope,), "x^T-x*": (u,)})
        atoms |= {"f(x)": here, "f(x*)": least, "f(x^T)": here}
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.MINIMISER: equal("gradient at x*", slope, 0),
        }
        words = f"f = {c}/2 u^2 + {slope} u + {least}, x* = 0, x = {u}"
        yield Witness(words, {"mu": mu, "S": S}, atoms, known)


@shared
def block_sum(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield two blocks of a vector; without the definition, any two vectors."""
    del certificate
    for rng in drawn(82, 100):
        a, b = rng.choice(SIDES), rng.choice(SIDES)
        second = (b, ZERO) if without else (ZERO, b)
        atoms = gram({"x_c^T-x_c*": (a, ZERO), "x_s^T-x_s*": second})
        known = {assumed.BLOCKS: equal("blocks orthogonal", a * second[0], 0)}
        yield Witness(f"({a}, 0), {second}", {}, atoms, known)


@shared
def start(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a start; without the definition of I_err, another one."""
    del certificate
    for rng in drawn(83, 200):
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 10))
        c = rng.choice((mu, S, 100 * S)) if "3.1" in without else rng.choice((mu, S))
        u = rng.choice(SLOPES)
        gamma, I_err = 8 * S / mu - 1, ZERO if "I_err" in without else u**2
        slope = rng.choice(SIDES) * 100 if "minimises" in without else ZERO
        rise = c / 2 * u**2 + slope * u
        values = {
            "mu": mu, "S": S, "gamma": gamma, "Delta_0": I_err, "I_err": I_err,
            "G2": ZERO, "R2": ZERO, "delta2": ZERO, "tau": ONE, "c_1": ONE, "t": ZERO,
        }  # fmt: skip
        if rng.random() < 1 / 2:
            values["v"] = (gamma + 1) * I_err
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.MINIMISER: equal("gradient at x*", slope, 0),
            assumed.START: equal("I_err = ||x^0 - x*||^2", I_err, u**2),
        }
        atoms = {"Delta_0": u**2, "Delta^0": u**2, "e_0": rise}
        yield Witness(f"f = {c}/2 u^2 + {slope} u, x^0 = {u}", values, atoms, known)


@shared
def descent(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield a round for the recursion of $e_t$, at any rate, or Theorem 3.6's."""
    del certificate
    for rng in drawn(84, 400):
        tau = rng.choice(PERIODS)
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 10))
        c = rng.choice((mu, S))
        if without == "Assumption C.2":
            c = -S
        if without == "Assumption 3.1":
            c = 400 * S
        t, gamma = Fraction(rng.choice((0, 1, 10, 1000))), 8 * S / mu - 1
        alpha = 4 / (mu * (gamma + t))
        if rng.random() < 1 / 2:
            tau, alpha = 1, alpha * rng.choice((1, 1, Fraction(1, 10), 2))
        u, s = rng.choice(SIDES), rng.choice((ZERO, ZERO, *WIDE))
        side = Coordinate(c, (ZERO,), (s,), u, tau)
        mean, variance = side.moved(0, alpha / tau)
        reach = furthest = abs(u)
        for _ in range(tau):
            furthest = max(furthest, reach)
            reach = abs(1 - alpha / tau * c) * reach + alpha / tau * s
        reached = (c * furthest) ** 2 + s**2
        G2 = reached / 1000 if without == "Assumption 3.3" else reached
        bias = 3 * u * S if without == "Assumption 3.2" else ZERO
        end = u + mean + alpha * bias
        here, later = c / 2 * u**2, c / 2 * (end**2 + variance)
        true = later
        if without.startswith("grad f ="):
            later += 1000
        least = 8 * S * G2 / mu**2 + 768 * S**2 * G2 / mu**3 / (gamma + 1)
        w = least if "induction" in without else max(least, (gamma + t) * here)
        values = {
            "mu": mu, "S": S, "alpha": alpha, "G2": G2, "c_1": ONE, "t": t,
            "gamma": gamma, "w": w, "Delta_0": 2 * (w - least) / (S * (gamma + 1)),
        }  # fmt: skip
        if alpha != 4 / (mu * (gamma + t)):
            del values["w"], values["t"], values["gamma"], values["Delta_0"]
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.BLOCKS: equal("f(x') of the one block that moves", later, true),
            assumed.INDUCTION: at_most("(gamma + t) e_t <= w", (gamma + t) * here, w),
            **assumed.noise(s**2, s**2, bias),
        }
        words = f"f = {c}/2 u^2, u = {u}, tau = {tau}, alpha = {alpha}, noise +-{s}"
        yield Witness(words, values, {"e_t": here, "e_t+1": later}, known)


@shared
def apart(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield two clients after j steps of a round (``huang2023``): $f_n$ as +-b w."""
    del certificate
    for rng in drawn(85, 300):
        tau = rng.choice((2, 3, 10, 60))
        j = rng.choice((rng.randrange(tau), tau - 1))
        mu = rng.choice(SMALL) / rng.choice((1, 1000))
        x = Fraction(2 * tau - 1 + rng.choice((0, 0, 1, 100, 10**6)) + j)
        c = -100 * mu if without == "Assumption 2" else mu
        b = rng.choice((*SIDES, Fraction(1, 100)))
        s = rng.choice((ZERO, ZERO, *SMALL))
        u, D, R2 = ZERO, ZERO, s**2
        for k in range(j):
            eta = 2 / (mu * (x - j + k))
            R2 = max(R2, (c * u - b) ** 2 + s**2)
            u -= eta * (c * u - b)
            D = D * (1 - eta * c) ** 2 + (eta * s) ** 2 / 2
        kept = R2 / (10**6 if without == "Assumption 4" else 1)
        near = b**2 / (10**6 if without == "Assumption 5" else 1)
        planted = 10**6 if "update" in without else 0
        values = {
            "tau": Fraction(tau), "j": Fraction(j), "x": x, "mu": mu,
            "eta": 2 / (mu * x), "eta_0": 2 / (mu * (x - j)), "R2": kept,
            "delta2": near,
        }  # fmt: skip
        known = {
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(R2, kept),
            assumed.SPREAD: assumed.spread(b**2, near),
            assumed.JOINT: equal("D followed", u**2 + D + planted, u**2 + D),
        }
        words = f"N = 2, f_n = {c}/2 w^2 -+ {b} w, noise +-{s}, {j} of {tau} steps"
        yield Witness(words, values, {"D_j'": u**2 + D + planted}, known)


@shared
def paired_points(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a client's points and x* = 0, for (57); w clients alike, of weight 1."""
    del certificate
    for rng in drawn(86, 200):
        tau = rng.choice((1, 2, 3))
        mu = rng.choice((ZERO, *SMALL))
        S = mu + rng.choice((ZERO, *SMALL))
        c = rng.choice((mu, S))
        if without == "Assumption C.2":
            c = -10 * S - 1
        if without == "Assumption 3.1":
            c = 10 * S + 1
        x = rng.choice(SIDES)
        b, w = rng.choice((ZERO, *SIDES)), rng.choice((ONE, ONE, Fraction(3)))
        points = [rng.choice((x, x / 2, 2 * x, rng.choice(SIDES))) for _ in range(tau)]
        atoms = {
            "P": w * sum((x * (c * point - b) for point in points), ZERO),
            "D": w * sum(((point - x) ** 2 for point in points), ZERO),
            "Delta_t": x**2,
            "gap_t": w * (c / 2 * x**2 - b * x),
        }
        values = {
            "mu": mu, "S": S, "tau": Fraction(tau), "eta": rng.choice(SMALL),
            "sum_w_n": w,
        }  # fmt: skip
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
        }
        words = f"F = {c}/2 u^2 - {b} u, x = {x}, local points {points}, weight {w}"
        yield Witness(words, values, atoms, known)
