r"""Witnesses for bounds over T rounds: one client, exact second moments of a run.

The function is $cu^2/2$ (then a round multiplies the mean by $(1-\eta c)^\tau$ and the
variance by its square) or, without noise, a Huber function, followed step by step.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.vectors import at_least, drawn
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE = Fraction(0), Fraction(1)
ROUNDS = (1, 2, 8, 20)
PERIODS = (1, 2, 8)
UNEQUAL = "exp(-sum_t<T eta^t^2*S**2*tau**2*(varrho - 1)/4)"
"""The price of unequal periods, 1 where they are equal: varrho = 1."""


@dataclass(frozen=True)
class Run:
    """What a run of one client leaves.

    Attributes:
        squares: E u^2 at the start of every round and at the end.
        G2: largest mean square of a gradient met, given the past.
    """

    squares: tuple[Fraction, ...]
    G2: Fraction


def quadratic(
    c: Fraction, s: Fraction, start: Fraction, tau: int, rates: list[Fraction]
) -> Run:
    """Return the run on c u^2/2 with noise +-s.

    Args:
        c: curvature.
        s: size of the noise.
        start: first point.
        tau: local steps.
        rates: learning rate of every round.

    Returns:
        The run.
    """
    mean, variance = start, ZERO
    reach = furthest = abs(start)
    squares = [start**2]
    for eta in rates:
        for _ in range(tau):
            furthest = max(furthest, reach)
            reach = abs(1 - eta * c) * reach + eta * s
            mean *= 1 - eta * c
            variance = variance * (1 - eta * c) ** 2 + (eta * s) ** 2
        squares.append(mean**2 + variance)
    return Run(tuple(squares), (c * furthest) ** 2 + s**2)


def huber(
    slope: Fraction, start: Fraction, tau: int, rates: list[Fraction]
) -> tuple[Fraction, list[Fraction]]:
    """Return the largest gradient and the gaps at the rounds, width 1, no noise."""
    u, gaps, largest = start, [], ZERO
    for eta in rates:
        gaps.append(
            slope * u**2 / 2 if abs(u) <= 1 else slope * (abs(u) - Fraction(1, 2))
        )
        for _ in range(tau):
            gradient = slope * max(min(u, ONE), -ONE)
            largest = max(largest, abs(gradient))
            u -= eta * gradient
    return largest, gaps


def _known(
    c: Fraction, mu: Fraction, S: Fraction, reached: Fraction, G2: Fraction, s: Fraction
) -> dict[str, Check]:
    """Return the checks on a run of one client, minimiser 0, one block at rest."""
    return {
        assumed.SMOOTH: assumed.smooth(c, S),
        assumed.CONVEX: assumed.convex(c, mu),
        assumed.BOUNDED: assumed.bounded(reached, G2),
        assumed.SPREAD: assumed.spread(ZERO, ZERO),
        assumed.MINIMISER: at_most("f >= f(0) = f*", ZERO, c),
        assumed.BLOCKS: equal("product of the blocks, one of them 0", ZERO, 0),
        assumed.PRESENT: assumed.unit_interval(ONE),
        assumed.EVERYONE: equal("q", ONE, 1),
        assumed.DISTANCE: equal("mean squares followed exactly: error", ZERO, 0),
        **assumed.noise(s**2, s**2),
    }


def _same_update(check: Check) -> dict[str, Check]:
    return dict.fromkeys(assumed.UPDATES, check)


def _stated(initial: Fraction, without: str) -> Fraction:
    """Return I_err or F_err; without their definition far less than the truth."""
    undefined = without.startswith(("I_err", "F_err", "Delta_t = "))
    return initial / 10**12 if undefined else initial


def _shape(rng: random.Random) -> tuple[int, int]:
    return rng.choice(ROUNDS), rng.choice(PERIODS)


@shared
def averaged_gap(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield runs for the weighted mean of the gaps, mu = 0."""
    del certificate
    for rng in drawn(41, 250):
        T, tau = _shape(rng)
        slope = rng.choice(WIDE)
        long = rng.random() < Fraction(1, 2)
        start = Fraction(rng.choice((1, 5, 20, Fraction(1, 10))))
        # straight at first, then 0 is reached within the run
        eta = start / (slope * tau * T) if long else rng.choice(SMALL) / (slope * tau)
        if long or rng.random() < Fraction(1, 3):
            s = ZERO
            G, gaps = huber(slope, start, tau, [eta] * T)
            S, words, G2 = slope, f"Huber function of slope {slope}, width 1", G**2
        else:
            S, s = slope, rng.choice((ZERO, *SMALL))
            start = rng.choice((ZERO, start))
            run = quadratic(S, s, start, tau, [eta] * T)
            gaps, G2 = [S / 2 * e for e in run.squares[:-1]], run.G2
            words = f"{S}/2 u^2, noise +-{s}"
        stated = _stated(start**2, without)
        values = {
            "S": S, "tau": Fraction(tau), "G2": G2, "c_1": ONE, "c_d": Fraction(1, 3),
            "Delta_0": stated, "sum_t<T eta^t^2": T * eta**2,
            "sum_t<T eta^t^3": T * eta**3, "T": Fraction(T), "I_err": stated,
            "varrho": ONE, "rho": ZERO, UNEQUAL: ONE,
        }  # fmt: skip
        atoms = {"sum_t<T eta^t^1 (gap_t)": eta * sum(gaps, ZERO)}
        known = _known(slope, ZERO, S, G2, G2, s) | {
            assumed.START: equal("||x^0 - x*||^2", start**2, values["Delta_0"]),
            **_same_update(equal("rounds followed", len(gaps), T)),
        }
        setup = f"F = {words}, x^0 = {start}, eta = {eta}, T = {T}"
        yield Witness(setup, values, atoms, known)


@shared
def gradients(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield runs for the weighted mean of squared gradients, the server side at rest.

    One client: the noise's sums over clients are sigma^2, and kappa is 1.
    """
    del certificate
    for rng in drawn(43, 300):
        T, tau = rng.choice((1, 8, 20)), rng.choice((1, 8, 20))
        S, s = rng.choice(WIDE), rng.choice((ZERO, *WIDE))
        eta = 1 / (16 * S * tau) / rng.choice((1, 1, 10, 1000))
        c = rng.choice((S, S, S / 10))
        if "minimises" in without:
            c = -S
        start = rng.choice((ZERO, ONE, Fraction(10), Fraction(1, 100)))
        run = quadratic(c, s, start, tau, [eta] * T)
        total = eta * sum((c**2 * e for e in run.squares[:-1]), ZERO)
        noise, none = at_least(s**2), at_least(ZERO)
        initial = at_least(_stated(c / 2 * start**2, without))
        values = {
            "S": S, "N": ONE, "T": Fraction(T), "tau": Fraction(tau),
            "tau_server": Fraction(tau), "tau_min": Fraction(tau),
            "tau_max": Fraction(tau), "F_err": initial,
            "sum_t<T eta^t^2": T * eta**2, "epsilon": none, "epsilon_": none,
            "kappa": ONE, "sigma_w": noise, "sigma_a": noise,
            "sigma_q": noise, "rho": ZERO, "epsilon2": none,
            "sum_t<T eta^t^3": T * eta**3, "x_": noise, "y_": none,
        }  # fmt: skip
        atoms = {
            "sum_t<T eta^t^1 (<grad_c,grad_c>)": total,
            "sum_t<T eta^t^1 (<grad_s,grad_s>)": ZERO,
            "sum_t<T eta^t^1 (||grad f(x)||^2)": total,
        }
        words = f"N = 1, F = {c}/2 ||x||^2, x^0 = {start}, noise +-{s}, T = {T}"
        known = _known(c, ZERO, S, run.G2, run.G2, s) | {
            assumed.START: at_most("F_err", c / 2 * start**2, values["F_err"]),
            **_same_update(equal("rounds followed", len(run.squares), T + 1)),
            assumed.RATE: at_most("16 S tau eta <= 1", 16 * S * tau * eta, 1),
        }
        yield Witness(words, values, atoms, known)


@shared
def joint(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield runs for Theorem 1 of ``huang2023``, eta = 2/(mu (gamma+i)).

    All clients are alike and have the same noise: delta = Gamma = 0. Without the
    blocks' definition F is evaluated at a vector that is not made of them.
    """
    del certificate
    for rng in drawn(45, 120):
        T, tau = rng.choice((1, 2, 5)), rng.choice((1, 2))
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 10))
        c, s = rng.choice((mu, S)), rng.choice((ZERO, *SMALL))
        start = rng.choice((ZERO, ONE, Fraction(10), Fraction(1, 100)))
        gamma = max(8 * S / mu - 1, Fraction(tau)) * rng.choice((1, 1, 10**4))
        rates = [2 / (mu * (gamma + i)) for i in range(T * tau)]
        N = rng.choice((1, 100))
        run = quadratic(c, s, start, 1, rates)
        stated = _stated(start**2, without)
        values = {
            "tau": Fraction(tau), "N": Fraction(N), "T": Fraction(T), "mu": mu, "S": S,
            "gamma": gamma, "delta2": at_least(ZERO), "R2": at_least(run.G2),
            "Gamma": ZERO,
            "I_err": stated, "W_": s**2 / N, "I_c_": start**2, "I_s_": ZERO,
            "x": gamma + T * tau,
        }  # fmt: skip
        gap = true = c / 2 * run.squares[-1]
        if without.startswith("w = "):
            gap += 10**12
        words = f"N = {N}, f = {c}/2 w^2, w^0 = {start}, noise +-{s}, TEM = {T * tau}"
        known = _known(c, mu, S, run.G2, values["R2"], s) | {
            assumed.START: equal("||w^0 - w*||^2", start**2, values["I_err"]),
            **_same_update(equal("steps followed", len(run.squares), T * tau + 1)),
            assumed.BLOCKS: equal("E F at the two blocks", gap, true),
        }
        atoms = {"E F(w^TEM) - F*": gap, "Delta^TEM": run.squares[-1]}
        yield Witness(words, values, atoms, known)
