"""Witnesses for lemmas on local steps of one client: drift and single gradients."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL
from sfl_theory.mutation.vectors import SIDES, at_least, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

ZERO = Fraction(0)
STEPS = (1, 2, 3, 5, 50, 200)
RATES = tuple(Fraction(r) for r in ("1/1000000", "1/1000", "1/100", "1/10", "1", "10"))
LIPSCHITZ = frozenset({
    "Assumption C.1 (24)", "Assumption C.1 (24), gradients S-Lipschitz",
    "Assumption 2",
})  # fmt: skip
NOISE = frozenset({
    "Assumption C.1 (26)-(27)", "Assumption 3.2",
    "Assumption 3.2, participation independent of the samples", "Assumption 3",
})  # fmt: skip
SUMMED = frozenset({
    "x_n^t,0 = x^t", "C^0 = 1, C^{i+1} = C C^i", "definition of the sum over i",
})  # fmt: skip
HETEROGENEOUS = frozenset({"Assumption C.1 (29)", "Assumption 3.4", "Assumption 4"})


def _drift(tau: int, eta: Fraction, c: Fraction, g: Fraction, s: Fraction) -> Fraction:
    r"""Return $\sum_{i<\tau}E(u_i-u_0)^2$ for gradients g + c (u - u_0) +- s."""
    mean, variance, total = ZERO, ZERO, ZERO
    for _ in range(tau):
        total += mean**2 + variance
        mean -= eta * (g + c * mean)
        variance = variance * (1 - eta * c) ** 2 + (eta * s) ** 2
    return total


def _summed(total: Fraction, tau: int, without: str) -> dict[str, Fraction]:
    """Return the atoms of (40) and (45), C = 1 + 2/tau; another sum without them."""
    planted = 10**9 if without in SUMMED else 0
    return {
        "C^tau": (1 + Fraction(2, tau)) ** tau,
        "sum of tau A": total + planted,
    }


@shared
def bounded_drift(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a linear function with noise, for Lemma C.5."""
    del certificate
    for rng in drawn(21, 300):
        tau, eta, g = rng.choice(STEPS), rng.choice(RATES), rng.choice(SIDES)
        s = rng.choice((ZERO, *SMALL))
        G2 = (g**2 + s**2) / (1000 if without else 1)
        values = {"tau": Fraction(tau), "eta": eta, "sigma2": s**2, "G2": G2}
        values["S2"] = 1 / (6 * (eta * tau) ** 2)
        total = _drift(tau, eta, ZERO, g, s)
        drift = {"sum_i E||x_n^i - x^t||^2": total} | _summed(total, tau, without)
        known = {
            assumed.SMOOTH: assumed.smooth(ZERO, ZERO),
            assumed.BOUNDED: assumed.bounded(g**2 + s**2, G2),
            assumed.SUMS: equal("sum over i", drift["sum of tau A"], total),
            **assumed.noise(s**2, s**2),
        }
        yield Witness(f"F = {g} u, noise +-{s}, tau = {tau}", values, drift, known)


@shared
def drift(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield F_n with curvature c, slope r + e where f has slope r, noise +-s.

    For Lemma C.6 of ``han2024`` and Lemma 1 of ``dachille2024``.
    """
    del certificate
    for rng in drawn(22, 500):
        tau, eta = rng.choice(STEPS), rng.choice(RATES)
        r, e = rng.choice(SIDES), rng.choice(SIDES)
        s = rng.choice((ZERO, *SMALL))
        if rng.random() < 1 / 8:
            # one small part alone
            small = Fraction(1, 10**4)
            r, e, s = rng.choice(((ZERO, small, ZERO), (ZERO, ZERO, small)))
        tight = rng.random() < 1 / 2
        S = Fraction(1, 3 if tight else 1000) / (eta * tau)
        c = rng.choice((S, -S, ZERO))
        if without in LIPSCHITZ:
            c = -100 * S
        bias = rng.choice(SIDES) * 50 if without in NOISE else ZERO
        eps2 = ZERO if without in HETEROGENEOUS else e**2
        values = {"tau": Fraction(tau), "S": S, "u": eta**2, "eta": eta}
        values |= {"sigma2": s**2, "epsilon2": eps2, "grad_f_norm2": r**2}
        h = 1 / eta**2 - 8 * S**2 * tau**2
        values |= {"k_": Fraction(tau - 1), "h_": h, "S2_": S**2}
        values |= {"sigma2_": at_least(s**2), "eps2_": at_least(eps2)}
        total = _drift(tau, eta, c, r + e + bias, s)
        atoms = {"D": total} | gram({"grad_f": (r,)}) | _summed(total, tau, without)
        values |= {"S2": S**2, "epsilon2": eps2}
        words = f"F_n slope {r} + {e}, curvature {c}, noise +-{s}, tau = {tau}"
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.SPREAD: assumed.spread(e**2, eps2),
            assumed.SUMS: equal("sum over i", atoms["sum of tau A"], total),
            assumed.NAMED: equal("||grad f||^2", values["grad_f_norm2"], r**2),
            **assumed.noise(s**2, s**2, bias),
        }
        yield Witness(words, values, atoms, known)


@shared
def two_gradients(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the first and second stochastic gradient of a client, for Lemma C.7.

    F = c u^2/2, one step of rate eta from u, noise +-s at both steps, enumerated.
    """
    del certificate
    names = ("grad(x^i)-grad(x)", "xi^i", "xi^0", "x^i-x")
    for rng in drawn(23, 300):
        S, eta = rng.choice(SMALL), rng.choice(SMALL)
        u, s = rng.choice(SIDES), rng.choice((ZERO, *SMALL))
        c = 20 * S if without in LIPSCHITZ else S
        size = s / 10 if without in NOISE else s
        atoms: dict[str, Fraction] = {}
        for first in (-s, s):
            for later in (-s, s):
                move = -eta * (c * u + first)
                found = gram({
                    name: (v,)
                    for name, v in zip(
                        names, (c * move, later, first, move), strict=True
                    )
                })
                for key, value in found.items():
                    atoms[key] = atoms.get(key, ZERO) + value / 4
        words = f"F = {c}/2 u^2, u = {u}, eta = {eta}, noise +-{s}"
        known = {assumed.SMOOTH: assumed.smooth(c, S), **assumed.noise(s**2, size**2)}
        yield Witness(words, {"S": S, "sigma2": size**2}, atoms, known)


@shared
def one_step(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield one local step away from the start, for (8) of ``dachille2024``."""
    del certificate
    for rng in drawn(24, 500):
        tau, eta = rng.choice(STEPS), rng.choice(RATES)
        a, q, r = (rng.choice(SIDES) for _ in range(3))
        s = rng.choice((ZERO, *SMALL))
        if rng.random() < 1 / 2:
            # Young's inequality is sharp where a and the step agree
            a = -(q + r) * eta * tau * rng.choice((Fraction(1, 2), 1, 1, 2))
        if rng.random() < 1 / 4:
            # one small part alone
            small = rng.choice((Fraction(1, 10), Fraction(1, 1000)))
            q, r, s = rng.choice(((small, ZERO, ZERO), (ZERO, ZERO, small)))
            a = rng.choice((ZERO, -q * eta * tau / 2))
        s2 = Fraction(1, 9) / (eta * tau) ** 2
        c = rng.choice((1, -1)) * Fraction(1, 3) / (eta * tau)
        if without in LIPSCHITZ:
            c *= 1000
        values = {
            "k_": Fraction(tau - 1),
            "h_": 1 / s2 - 8 * eta**2 * tau**2,
            "eta_": eta,
            "sigma2_": at_least(s**2 / (10**6 if without in NOISE else 1)),
            "eps2_": at_least(ZERO if without in HETEROGENEOUS else q**2),
        }
        plus, minus = (
            gram({"a": (a,), "xi": (x,), "p": (c * a,), "q": (q,), "r": (r,)})
            for x in (s, -s)
        )
        atoms = {key: (plus[key] + minus[key]) / 2 for key in plus}
        words = f"a = {a}, c = {c}, q = {q}, r = {r}, noise +-{s}, tau = {tau}"
        known = {
            assumed.SMOOTH: at_most("c^2 <= S^2", c**2, s2),
            assumed.SPREAD: assumed.spread(q**2, values["eps2_"]),
            **assumed.noise(s**2, values["sigma2_"]),
        }
        yield Witness(words, values, atoms, known)


@shared
def two_clients(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield one step of two clients, for (32) of ``huang2023``.

    $f_n=\frac c2w^2\mp bw$ at $u\pm e$, weights 1/2, $w^*=0$. (28)-(31) are theorems,
    so nothing real lacks one of them; without its definition $\bar w$ lies elsewhere.
    """
    del certificate
    elsewhere = without.startswith("gbar")
    for rng in drawn(25, 0 if without and not elsewhere else 400):
        mu = rng.choice(SMALL)
        c = mu * rng.choice((1, 1, 2, 10))
        S = c * rng.choice((1, 1, 2))
        u, e, b = (rng.choice(SIDES) for _ in range(3))
        mean = u + 10 if elsewhere else u
        atoms = gram({"gbar": (c * u,), "wbar-w*": (mean,)})
        atoms["sum p (f_n-f_n*)"] = c / 2 * (u**2 + (e - b / c) ** 2)
        atoms["sum p (f_n-f_n(w_c*,w_s))"] = c / 2 * (u**2 + e**2) - b * e
        atoms["sum p ||wbar-w_n||^2"] = e**2 + (mean - u) ** 2
        values = {"mu": mu, "S": S, "eta": rng.choice((*SMALL, *RATES))}
        words = f"f_n = {c}/2 w^2 -+ {b} w at {u} +- {e}"
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BEST: at_most("f_n* = -b^2/(2c) is the least value", ZERO, c),
            assumed.MEAN: equal(
                "mean gradient", (c * (u + e) + c * (u - e)) / 2, c * u
            ),
            assumed.AVERAGED: equal("wbar is the mean of w_n", mean, u),
        }
        yield Witness(words, values, atoms, known)
