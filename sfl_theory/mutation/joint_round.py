"""Witnesses for single steps of the joint proof of Theorem 1 of ``huang2023``."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.one_round import HALF, ONE, PERIODS, ZERO
from sfl_theory.mutation.vectors import SIDES, at_least, drawn
from sfl_theory.mutation.witness import Witness, shared


@shared
def drift_of_two(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield one local step of two clients (``huang2023``, drift of the joint proof).

    $f_n=\frac c2w^2\mp bw$, client models at +-u.
    """
    del certificate
    for rng in drawn(34, 400):
        tau, eta = rng.choice(PERIODS), rng.choice((*SMALL, Fraction(1, 100)))
        mu = rng.choice(SMALL) / rng.choice((1, 1000))
        c = -mu * 100 if without == "Assumption 2" else mu
        u, b = rng.choice(SIDES), rng.choice(SIDES)
        s = rng.choice((ZERO, *WIDE))
        if c * eta > 1:
            continue
        R2 = (c * u - b) ** 2 + s**2
        later = true = (u - eta * (c * u - b)) ** 2 + (eta * s) ** 2 / 2
        if "update" in without:
            later += 1000
        values = {
            "mu": mu, "tau": Fraction(tau), "eta": eta,
            "eta_0": eta * rng.choice((ONE, Fraction(3, 2))),
            "delta2": at_least(ZERO if without == "Assumption 5" else b**2),
            "R2": at_least(ZERO if without == "Assumption 4" else R2),
        }  # fmt: skip
        j = rng.randrange(tau)
        values["j"] = Fraction(j)
        limit = j * values["eta_0"] ** 2 * (values["R2"] + 2 * tau * values["delta2"])
        words = f"N = 2, f_n = {c}/2 w^2 -+ {b} w, w_n = +-{u}, noise +-{s}, j = {j}"
        known = {
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(R2, values["R2"]),
            assumed.SPREAD: assumed.spread(b**2, values["delta2"]),
            assumed.JOINT: equal("D after the step", later, true),
            assumed.INDUCTION: at_most(
                "(1 - j/(2 tau)) D_j <= j eta_0^2 B",
                (1 - Fraction(j, 2 * tau)) * u**2,
                limit,
            ),
            **assumed.noise(s**2, s**2),
        }
        yield Witness(words, values, {"D_j": u**2, "D_(j+1)": later}, known)


@shared
def averaged_models(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield two clients that start a round; without the update, at models +-u."""
    del certificate
    for rng in drawn(37, 20):
        u, true = rng.choice(SIDES), ZERO
        apart = u**2 if without else true
        known = {assumed.JOINT: equal("D_0 of the averaged model", apart, true)}
        yield Witness(f"w_n = +-{u} averaged", {}, {"D_0": apart}, known)


@shared
def models_apart(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield two clients at +-u, $f_n=\frac c2w^2\mp bw$, noise +-s.

    Without unbiased gradients the noise takes a gradient's place.
    """
    del certificate
    for rng in drawn(38, 300):
        mu = rng.choice(WIDE)
        c = mu * (rng.choice((1, 1, 2)) if without != "Assumption 2" else 0)
        b = rng.choice(SIDES)
        u = rng.choice((ZERO, 2 * b / mu, -2 * b / mu, *SIDES))
        s = rng.choice((ZERO, ZERO, *SMALL))
        gradient = c * u - b
        bias = -gradient if "update" in without else ZERO
        size = (gradient + bias) ** 2 + s**2
        R2 = size / (10**6 if without == "Assumption 4" else 1)
        delta2 = b**2 / (10**6 if without == "Assumption 5" else 1)
        known = {
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(size, R2),
            assumed.SPREAD: assumed.spread(b**2, delta2),
            assumed.JOINT: equal("mean of the noise", bias, ZERO),
        }
        words = f"f_n = {c}/2 w^2 -+ {b} w, w_n = +-{u}, noise {bias} +-{s}"
        values = {"mu": mu, "R2": R2, "delta2": delta2}
        yield Witness(words, values, {"D": u**2}, known)


@shared
def mean_step(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield one step of one client on c u^2/2 (``huang2023``, joint recursion)."""
    del certificate
    for rng in drawn(35, 400):
        tau = rng.choice(PERIODS)
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 100))
        x = max(8 * S / mu - 1, Fraction(tau)) + rng.choice((0, 0, 1, 100))
        eta = 2 / (mu * x) * rng.choice((1, 1, 2))
        c = rng.choice((mu, S))
        if without == "Assumption 2":
            c = -S
        u, s = rng.choice(SIDES), rng.choice((ZERO, *SMALL))
        R2 = ZERO if without == "Assumption 4" else (c * u) ** 2 + s**2
        later = true = ((1 - eta * c) * u) ** 2 + (eta * s) ** 2
        if "update" in without:
            later += 1000
        values = {
            "tau": Fraction(tau), "mu": mu, "S": S, "x": x, "eta": eta,
            "R2": R2, "delta2": ZERO, "j": ZERO, "gamma": x,
        }  # fmt: skip
        least = 4 * R2 * (1 + Fraction(16, 7) * (tau - 1)) / (3 * mu**2)
        v = values["v"] = least if "induction" in without else max(least, x * u**2)
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded((c * u) ** 2 + s**2, R2),
            assumed.SPREAD: assumed.spread(ZERO, ZERO),
            assumed.JOINT: equal("E||w' - w*||^2", later, true),
            assumed.INDUCTION: at_most("x Delta^i <= v", x * u**2, v),
        }
        atoms = {"Delta^i": u**2, "Delta^(i+1)": later}
        words = f"N = 1, f = {c}/2 w^2, w = {u}, noise +-{s}, first step of a round"
        yield Witness(words, values, atoms, known)
    if not without:
        yield from _late_steps(tau=10, ratio=9)


def _late_steps(tau: int, ratio: int) -> Iterator[Witness]:
    r"""Yield every step of the first round of two clients, weights 1/2, no noise.

    $f_1=\frac\kappa2(w-1)^2$ and $f_2=\frac12(w+\kappa)^2$, so $w^*=0$. The models are
    apart, and the mean gradient is far from that at the mean model.
    """
    mu, S = ONE, Fraction(ratio)
    c, a = (S, mu), (ONE, -S)
    gamma = max(8 * S / mu - 1, Fraction(tau))
    w, R2, delta2 = [HALF, HALF], ZERO, ZERO
    for j in range(tau):
        x = gamma + j
        eta = 2 / (mu * x)
        mean = (w[0] + w[1]) / 2
        slopes = [k * (u - v) for k, u, v in zip(c, w, a, strict=True)]
        R2 = max(R2, *(g**2 for g in slopes))
        for point in (*w, mean):
            first, other = (k * (point - v) for k, v in zip(c, a, strict=True))
            delta2 = max(delta2, ((first - other) / 2) ** 2)
        w = [u - eta * g for u, g in zip(w, slopes, strict=True)]
        later = (w[0] + w[1]) / 2
        values = {
            "tau": Fraction(tau), "mu": mu, "S": S, "x": x, "eta": eta,
            "R2": R2, "delta2": delta2, "j": Fraction(j), "gamma": gamma,
        }  # fmt: skip
        known = {
            assumed.SMOOTH: at_most("largest curvature", max(c), S),
            assumed.CONVEX: at_most("least curvature", mu, min(c)),
            assumed.BOUNDED: assumed.bounded(max(g**2 for g in slopes), R2),
            assumed.SPREAD: assumed.spread(((first - other) / 2) ** 2, delta2),
            assumed.JOINT: equal(
                "the mean of the models", later, mean - eta * sum(slopes, ZERO) / 2
            ),
        }
        atoms = {"Delta^i": mean**2, "Delta^(i+1)": later**2}
        words = f"N = 2, curvatures {c}, minimisers {a}, step {j} of the first round"
        yield Witness(words, values, atoms, known)
