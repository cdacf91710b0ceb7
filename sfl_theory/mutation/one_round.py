r"""Witnesses for recursions of one round: federations of quadratics, exact moments.

Two coordinates, one per side. Without smoothness the curvature exceeds S; without the
noise assumption gradients are biased or noisier than allowed; without heterogeneity
bounds the slopes differ; without the update the round ends elsewhere.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.federation import Coordinate
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.vectors import SIDES, at_least, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE = Fraction(0), Fraction(1)
HALF = Fraction(1, 2)
PERIODS = (1, 2, 3, 10, 60)
WEIGHTS: tuple[tuple[Fraction, ...], ...] = (
    (ONE,), (HALF, HALF), (Fraction(9, 10), Fraction(1, 10)), (Fraction(1, 5),) * 5,
)  # fmt: skip
SLOPES = (*SIDES, Fraction(100), Fraction(1, 100))


def _sum(weights: tuple[Fraction, ...], values: tuple[Fraction, ...]) -> Fraction:
    return sum((a * v for a, v in zip(weights, values, strict=True)), ZERO)


def _drawn_sides(
    rng: random.Random, count: int, c: Fraction, tau: int, tau_server: int
) -> tuple[Coordinate, Coordinate]:
    """Return a client and a server coordinate, each possibly still."""
    sides = []
    alike = rng.random() < HALF
    quiet = rng.random() < HALF
    for steps in (tau, tau_server):
        slope = rng.choice(SLOPES)
        b = tuple(slope if alike else rng.choice(SIDES) for _ in range(count))
        s = tuple(ZERO if quiet else rng.choice((ZERO, *WIDE)) for _ in range(count))
        start = b[0] / c if c and rng.random() < HALF else rng.choice(SLOPES)
        sides.append(Coordinate(c, b, s, start, steps))
    if rng.random() < HALF:
        k = rng.randrange(2)
        still = (ZERO,) * count
        sides[k] = Coordinate(c, still, still, ZERO, sides[k].steps)
    return sides[0], sides[1]


def _known(
    c: Fraction,
    S: Fraction,
    spread: Fraction,
    values: Mapping[str, Fraction],
    noise: tuple[Fraction, ...],
    weights: tuple[Fraction, ...],
    name: str,
    bias: Fraction,
) -> dict[str, Check]:
    """Return the checks of Assumptions 3.1, 3.2 and 3.4 on a federation."""
    return {
        assumed.SMOOTH: assumed.smooth(c, S),
        assumed.SPREAD: assumed.spread(spread, values["epsilon2"]),
        **assumed.noise(_sum(weights, noise), values[name], bias),
    }


def _ended(ends: object, true_ends: object) -> Check:
    """Return the check that the round ends where the update analysed ends."""
    return Check("x' is the update's", ends == true_ends, f"{ends}")


@shared
def parallel_server(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield rounds of SFL-V1, any periods, full or partial participation."""
    del certificate
    for rng in drawn(31, 400):
        a = rng.choice(WEIGHTS)
        N = len(a)
        tau, server = rng.choice(PERIODS), rng.choice(PERIODS)
        q = rng.choice((ONE, ONE, ONE, HALF, Fraction(1, 20)))
        most, least = max(tau, server), min(tau, server)
        S = rng.choice(WIDE)
        # without full participation the sums are those of full participation
        told = ONE if "takes part" in without else q
        kappa = N * _sum(a, a) / told
        largest = 1 / (S * most * max(Fraction(16), 8 * kappa * most / least))
        eta = largest / rng.choice((ONE, ONE, Fraction(1, 2), 10, 1000))
        c = rng.choice((S, -S, S / 100))
        if "Lipschitz" in without or "3.1" in without or without == "Assumption 2":
            c = rng.choice((-1, 1)) * 400 * most * S
        client, shared = _drawn_sides(rng, N, c, tau, server)
        sides = (client, shared)
        ends = true_ends = [side.averaged(a, eta, q) for side in sides]
        if "update" in without:
            ends = [(rng.choice(SIDES) * 10, ZERO, ZERO) for _ in sides]
        slopes = [side.slope(a) for side in sides]
        bias = ZERO
        if without == "Assumption 3.2":
            # noise makes every stochastic gradient -3 times the slope at the start
            bias = ONE
            ends = true_ends = [
                (s.start + 3 * eta * s.steps * g, ZERO, ZERO)
                for s, g in zip(sides, slopes, strict=True)
            ]
        spread = max(
            sum(((s.b[n] - _sum(a, s.b)) ** 2 for s in sides), ZERO) for n in range(N)
        )
        noise = tuple(sum((s.s[n] ** 2 for s in sides), ZERO) for n in range(N))
        here = [s.value(a, s.start, ZERO) for s in sides]
        then = [s.value(a, e[0], e[1]) for s, e in zip(sides, ends, strict=True)]
        atoms = gram({"grad_c": (slopes[0], ZERO), "grad_s": (ZERO, slopes[1])})
        atoms |= {"f(x)": sum(here, ZERO), "f(x')": sum(then, ZERO)}
        atoms["P"] = ends[0][2] + ends[1][2] if q < 1 else ZERO
        atoms["P"] /= eta**2
        weights = tuple(N * w**2 / told for w in a)
        values = {
            "tau": Fraction(tau), "tau_server": Fraction(server), "S": S, "eta": eta,
            "N": Fraction(N), "kappa": kappa, "sigma_w": at_least(_sum(weights, noise)),
            "epsilon2": at_least(ZERO if without == "Assumption 3.4" else spread),
        }  # fmt: skip
        words = f"SFL-V1, a = {a}, q = {q}, {client}, {shared}"
        known = _known(c, S, spread, values, noise, weights, "sigma_w", bias)
        known[assumed.V1] = _ended(ends, true_ends)
        known[assumed.PRESENT] = assumed.unit_interval(q)
        known[assumed.EVERYONE] = equal("q", q, 1)
        yield Witness(words, values, atoms, known)


@shared
def shared_server(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield rounds of SFL-V2 with weighted server steps, in a fixed order."""
    del certificate
    for rng in drawn(32, 400):
        a = rng.choice(WEIGHTS)
        N, tau = len(a), rng.choice(PERIODS)
        S = rng.choice(WIDE)
        eta = 1 / (16 * S * tau) / rng.choice((ONE, ONE, Fraction(1, 2), 10, 1000))
        c = rng.choice((S, -S, S / 100))
        if "Lipschitz" in without:
            c = rng.choice((-1, 1)) * 400 * tau * S
        client, server = _drawn_sides(rng, N, c, tau, tau)
        sides = (client, server)
        mean, variance, _ = client.averaged(a, eta, ONE)
        ends = true_ends = [(mean, variance), server.visited(a, eta)]
        slopes = [side.slope(a) for side in sides]
        bias = ZERO
        if without == "Assumption 3.2":
            bias = ONE
            ends = true_ends = [
                (s.start + 3 * eta * s.steps * g, ZERO)
                for s, g in zip(sides, slopes, strict=True)
            ]
        if without.startswith("SFL-V2"):
            ends = [(rng.choice(SIDES) * 10, ZERO) for _ in sides]
        spread = max(
            sum(((s.b[n] - _sum(a, s.b)) ** 2 for s in sides), ZERO) for n in range(N)
        )
        noise = tuple(sum((s.s[n] ** 2 for s in sides), ZERO) for n in range(N))
        atoms = gram({"grad_c": (slopes[0], ZERO), "grad_s": (ZERO, slopes[1])})
        atoms["f(x)"] = sum((s.value(a, s.start, ZERO) for s in sides), ZERO)
        atoms["f(x')"] = sum(
            (s.value(a, *e) for s, e in zip(sides, ends, strict=True)), ZERO
        )
        values = {
            "tau": Fraction(tau), "S": S, "eta": eta,
            "sigma_2": at_least(_sum(tuple(w**2 for w in a), noise)),
            "sigma_a": at_least(_sum(a, noise)),
            "epsilon2": at_least(ZERO if without == "Assumption 3.4" else spread),
        }  # fmt: skip
        squares = tuple(w**2 for w in a)
        known = _known(c, S, spread, values, noise, squares, "sigma_2", bias)
        # where everybody takes part, a_n/q_n = a_n
        known[assumed.V2] = known[assumed.V2_PARTIAL] = _ended(ends, true_ends)
        known[assumed.PRESENT] = assumed.unit_interval(ONE)
        squared = sum((g**2 for g in slopes), ZERO)
        atoms |= {"<grad_f,grad_f>": squared, "||grad f(x)||^2": squared}
        values |= {"kappa": ONE, "rho": ZERO, "sigma_q": values["sigma_2"]}
        yield Witness(f"SFL-V2, a = {a}, {client}, {server}", values, atoms, known)


@shared
def convex(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield rounds of one client on $cu^2/2$ or on a Huber function far from 0.

    $c_1=1+(1-q)/q$, $c_d=1/3$; G is the largest gradient met, given the past.
    """
    del certificate
    for rng in drawn(33, 500):
        tau, eta = rng.choice(PERIODS), rng.choice((*SMALL, Fraction(1, 100)))
        q = rng.choice((ONE, ONE, HALF, Fraction(1, 20)))
        x, s = abs(rng.choice(SLOPES)), rng.choice((ZERO, ZERO, *WIDE))
        mu = rng.choice((ZERO, *SMALL)) / rng.choice((1, 100))
        S = mu + rng.choice((ZERO, *SMALL)) / rng.choice((1, 100))
        c = rng.choice((mu, S))
        words = f"F = {c}/2 u^2"
        if without.startswith("han2024/") or without == "Assumption C.2":
            c = -S
        if without == "Assumption 3.1":
            c = 400 * (S + mu)
        if rng.random() < HALF or eta * c > 1:
            # Huber function of slope g, all points on its straight part
            g = rng.choice(SMALL)
            width = rng.choice(SMALL)
            x = width + (eta * tau * (g + s)) * rng.choice((1, 2))
            mu, S = ZERO, g / width
            mean, variance, gap, G2 = (
                -eta * tau * g,
                tau * (eta * s) ** 2,
                g * (x - width / 2),
                g**2 + s**2,
            )
            c, reached = S, g**2 + s**2
            words = f"Huber function of slope {g} beyond {width}"
        else:
            side = Coordinate(c, (ZERO,), (s,), x, tau)
            mean, variance = side.moved(0, eta)
            gap = c * x**2 / 2
            reach, furthest = x, x
            for _ in range(tau):
                furthest = max(furthest, reach)
                reach = abs(1 - eta * c) * reach + eta * s
            reached = G2 = (c * furthest) ** 2 + s**2
        if without == "Assumption 3.3":
            G2 /= 1000
        end = x + mean
        after = true_after = end**2 + variance + (1 - q) / q * (mean**2 + variance)
        if "update" in without:
            after += rng.choice(SMALL) * 100
        values = {
            "mu": mu, "S": S, "eta": eta, "tau": Fraction(tau), "G2": G2,
            "c_1": 1 / q, "c_d": Fraction(1, 3), "theta": eta * tau, "varrho": ONE,
            "rho": (1 - q) / q,
        }  # fmt: skip
        atoms = {"Delta_t": x**2, "Delta_t+1": after, "gap_t": gap}
        atoms["<x-x*,x-x*>"] = x**2
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.UPDATE: equal("E||x' - x*||^2", after, true_after),
            assumed.SCALED: equal("E||x' - x*||^2", after, true_after),
            assumed.PRESENT: assumed.unit_interval(q),
            assumed.MINIMISER: at_most("f >= f(0) = f*", ZERO, c),
            **assumed.noise(s**2, s**2),
        }
        setup = f"N = 1, q = {q}, {words}, x = {x}, noise +-{s}"
        yield Witness(setup, values, atoms, known)


def induction(certificate: Certificate, without: str) -> Iterator[Witness]:
    r"""Yield one step at $\eta\tau=4/(\mu(\gamma+t))$ on c u^2/2, one client.

    v is as large as the induction hypothesis and the bound on noise ask for.
    """
    for rng in drawn(36, 400):
        mu = rng.choice(WIDE)
        S = mu * rng.choice((1, 1, 2, 100))
        c = -S if without == "Assumption C.2" else rng.choice((mu, S))
        t, gamma = Fraction(rng.choice((0, 1, 10, 1000))), 8 * S / mu - 1
        eta = 4 / (mu * (gamma + t))
        x, s = rng.choice((ZERO, *SMALL)), rng.choice((ZERO, *WIDE))
        G2 = (c * x) ** 2 + s**2
        if without == "Assumption 3.3":
            G2 /= 1000
        reached = (c * x) ** 2 + s**2
        later = true = ((1 - eta * c) * x) ** 2 + (eta * s) ** 2
        if "update" in without:
            later += 10**6
        scaled = "rate divided" in " ".join((*certificate.hypotheses, without))
        c_d = Fraction(4 if scaled else 1, 3)
        noise = 16 * G2 / mu**2 + 128 * S * G2 * c_d / mu**3 / (
            gamma if scaled else gamma + 1
        )
        v = (
            noise
            if without == "induction hypothesis"
            else max(noise, (gamma + t) * x**2)
        )
        values = {
            "mu": mu, "S": S, "gamma": gamma, "t": t, "G2": G2, "c_1": ONE,
            "c_d": Fraction(1, 3), "v": v, "tau": ONE, "varrho": ONE, "rho": ZERO,
        }  # fmt: skip
        atoms = {"Delta_t": x**2, "Delta_t+1": later, "gap_t": c / 2 * x**2}
        known = {
            assumed.SMOOTH: assumed.smooth(c, S),
            assumed.CONVEX: assumed.convex(c, mu),
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.UPDATE: equal("E||x' - x*||^2", later, true),
            assumed.SCALED: equal("E||x' - x*||^2", later, true),
            assumed.INDUCTION: at_most(
                "(gamma + t) Delta_t <= v", (gamma + t) * x**2, v
            ),
            assumed.MINIMISER: at_most("f >= f(0) = f*", ZERO, c),
            assumed.BLOCKS: equal("one block", ZERO, 0),
            **assumed.noise(s**2, s**2),
        }
        words = f"N = 1, tau = 1, f = {c}/2 u^2, u = {x}, noise +-{s}, t = {t}"
        yield Witness(words, values, atoms, known)
