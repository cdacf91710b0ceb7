r"""``dachille2024``: instances against its lemmas and equations.

Noise: $F=\frac12\theta^2$, gradients $\theta+\xi$, $\xi=\pm1$, one client, from 0.
Coupling: $f=\frac12(c^2+s^2+cs)$, one client, no noise, S = 3/2; the gradient of one
block changes because the other moves. Lemmas 1-2 and what rests on them assume 2-4
only; Assumption 1 is read as "need not be convex".
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

S = Fraction(3, 2)


ETA = Fraction(1, 72)


def fresh_samples(smooth: bool) -> Finding:
    r"""Lemma 2, (12), (17), (22): $g^{t,1}$ and $g^{t,0}$ belong to different samples.

    $g^0=\xi_0$, $g^1=-\eta\xi_0+\xi_1$: $E|g^1-g^0|^2=1+(1+\eta)^2$.

    Args:
        smooth: (12), third inequality, else Lemma 2.

    Returns:
        Both sides.
    """
    eta, tau = Fraction(1, 100), 2
    signs = (1, -1)
    left = Fraction(0)
    for first in signs:
        for second in signs:
            left += (-eta * first + second - first) ** 2 / 4
    right = eta**2 if smooth else 8 * tau**3 * eta**2
    return Finding(
        setup="K = 1, F = theta^2/2 (S = 1; theta the server block), g = theta + xi, "
        "xi = +-1 independent, theta^t = 0, tau = 2, eta = 1/100",
        checks=(
            equal("Assumption 3: mean of xi", sum(signs), 0),
            equal("Assumption 3, sigma^2 = 1: variance", Fraction(1 + 1, 2), 1),
            equal("Assumption 4, epsilon = 0: one client", 0, 0),
            at_most("eta <= 1/(2 S tau), 1/(16 S tau)", eta, Fraction(1, 16 * tau)),
        ),
        left=Interval.of(left),
        right=Interval.of(right),
    )


def _run(
    along_s: Fraction, along_c: Fraction, tau: int
) -> tuple[list[Fraction], list[Fraction]]:
    """Return server blocks and server gradients of the steps, from these gradients."""
    c = (along_c - along_s / 2) / Fraction(3, 4)
    s = along_s - c / 2
    blocks, gradients = [s], []
    for _ in range(tau):
        g_s, g_c = s + c / 2, c + s / 2
        s, c = s - ETA * g_s, c - ETA * g_c
        blocks.append(s)
        gradients.append(g_s)
    return blocks, gradients


def coupled_block(equation: str) -> Finding:
    """One block's equation breaks because the other block moves.

    Args:
        equation: "18", "19", "20", "21" or "23" ((24), (25): blocks exchanged).

    Returns:
        Both sides.

    Raises:
        ValueError: if the step size breaks the condition of Proposition 1.
    """
    along_s, along_c, tau = {
        "18": (1, 200, 2),
        "19": (0, 100, 3),
        "20": (1, 200, 2),
        "21": (1, -10, 2),
        "23": (0, 100, 2),
    }[equation]
    rate = Fraction(1, 16 * tau) / S
    if rate < ETA:
        raise ValueError("the instance needs eta <= 1/(16 S tau): choose a smaller ETA")
    g = Fraction(along_s)
    blocks, gradients = _run(g, Fraction(along_c), tau)
    moved = blocks[-1] - blocks[0]
    drift = sum((s - blocks[0]) ** 2 for s in blocks[:-1])
    left = {
        "18": g * moved,
        "19": drift,
        "20": g * moved,
        "21": S / 2 * moved**2,
        "23": S / 2 * moved**2,
    }[equation]
    spread = sum((h - g) ** 2 + g**2 for h in gradients)
    right = {
        "18": -ETA * tau / 2 * g**2 + ETA * S**2 / 2 * drift,
        "19": 16 * tau**3 * ETA**2 * g**2,
        "20": (-ETA * tau / 2 + 8 * ETA**3 * tau**3 * S**2) * g**2,
        "21": S * ETA**2 * tau / 2 * spread,
        "23": S * ETA**2 * tau / 2 * (tau + 8 * tau**3 * ETA**2 * S**2) * 2 * g**2,
    }[equation]
    return Finding(
        setup="K = 1, no noise, f = (c^2 + s^2 + c s)/2, server gradient "
        f"{along_s} and client gradient {along_c} at theta^t, tau = {tau}, eta = 1/72",
        checks=(
            equal("Assumption 2: eigenvalues 1/2 and 3/2 = S", S + Fraction(1, 2), 2),
            equal("Assumptions 3, 4: sigma = epsilon = 0", 0, 0),
            at_most("eta <= 1/(16 S tau)", ETA, rate),
        ),
        left=Interval.of(left),
        right=Interval.of(right),
    )


def box_steps() -> Finding:
    """Return both sides on the instance.

    Algorithm 1 makes one server step per round where the analysis makes tau.
    """
    eta, s = Fraction(1, 48), Fraction(1)
    box = s - eta * s
    analysed = box - eta * box
    return Finding(
        setup="K = 1, f = (c^2 + s^2)/2, E = 2, one batch, s = 1, eta = 1/48: "
        "|server block after the box's round - after tau = 2 steps|",
        checks=(equal("tau = ceil(E D/B) with D = B", 2, 2),),
        left=Interval.of(abs(box - analysed)),
        right=Interval.of(0),
    )
