r"""Instances that break one round of SFL-V2 in E.3 and G.3 of ``han2024``.

Two clients, $F_n=(x_c^2+(x_s-b_n)^2)/2$ with $b=(0,1)$, $\tau=1$, no noise. With
unequal weights the server, which steps along $\sum_n\nabla F_n$, climbs f between the
minimiser of f and 1/2, by $O(\eta)$; the bound lets it climb by $O(\eta^2)$. Functions,
reading and weights are those of ``refuted_non_convex.biased_stationary_point``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

from sfl_theory.audits.han2024.both_sides import common_checks
from sfl_theory.audits.han2024.equations.non_convex_sections import (
    SECTIONS,
    descent_bound,
)
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.audits.han2024.refuted_non_convex import CENTRES
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE, ZERO, HALF = Fraction(1), Fraction(0), Fraction(1, 2)


def server_climbs(
    letter: str,
    step: str,
    weights: tuple[Fraction, Fraction] = (ONE, ZERO),
    q: Fraction = ONE,
) -> Finding:
    r"""Break (123), (183) and what is rearranged from them, (124), (184).

    Start: half way between the minimiser of f, $a_2$, and $\frac12$, $x_c=0$. The
    learning rate is 1/64 of the largest admitted.

    Args:
        letter: "E" or "G".
        step: "descent" or "rearranged".
        weights: $a_1,a_2$.
        q: probability of taking part, equal for both clients.

    Returns:
        Both sides.
    """
    section = SECTIONS[letter]
    best = weights[1] * CENTRES[1]
    divergence2 = max((b - best) ** 2 for b in CENTRES)
    setting = Setting(weights, epsilon2=divergence2, q=q)
    eta = section.largest_rate(setting) / 64
    start = (best + HALF) / 2
    gradient2 = (start - best) ** 2
    moved = sum(
        chance * ((server - best) ** 2 - gradient2) / 2
        for chance, server in _outcomes(start, eta, q)
    )
    left = Fraction(moved)
    right = descent_bound(section, setting, eta, gradient2)
    if step == "rearranged":
        # 4/tau times the descent, with eta ||grad f||^2 alone on the left
        left, right = eta * gradient2, -4 * left + 4 * right + eta * gradient2
    return Finding(
        f"N = 2, a = ({weights[0]}, {weights[1]}), F_n = (x_c^2 + (x_s - b_n)^2)/2, "
        f"b = (0, 1), x^t = (0, {start}), tau = 1, sigma = 0, q = {q}, eta = {eta}",
        (
            *common_checks(setting),
            at_most("3.1: curvature 1 of every F_n in every direction", 1, setting.S),
            at_most("3.2: noise 0", 0, setting.sigma),
            at_most(
                "3.4 everywhere: largest ||grad F_n - grad f||^2 = (b_n - sum a b)^2",
                divergence2,
                setting.epsilon2,
            ),
            section.admits(setting, eta),
            equal(
                "chances of all outcomes",
                sum((chance for chance, _ in _outcomes(start, eta, q)), ZERO),
                1,
            ),
        ),
        Interval.of(left),
        Interval.of(right),
        "one round",
    )


def _outcomes(
    start: Fraction, eta: Fraction, q: Fraction
) -> tuple[tuple[Fraction, Fraction], ...]:
    """Return chance and server model after the round, over participants and orders."""
    orders = tuple(permutations(range(len(CENTRES))))
    found = []
    for present in product((True, False), repeat=len(CENTRES)):
        chance = ONE
        for here in present:
            chance *= q if here else 1 - q
        for order in orders:
            x = start
            for n in order:
                if present[n]:
                    x -= eta / q * (x - CENTRES[n])
            found.append((chance / len(orders), x))
    return tuple(found)


def lines_of_87() -> Finding:
    r"""Break the step from line two to line three of (87): $\tilde\tau^2$ for $\tau^2$.

    $N=S=a_1=\sigma_1=1$, $\epsilon=0$, $\tau=2$, $\tilde\tau=1$, $\eta=\frac1{64}$ at a
    point where the gradient vanishes: the lines differ by
    $\frac12\eta^2(\tau^2-\tilde\tau^2)$.

    Returns:
        The noise terms of both lines.
    """
    eta, periods = Fraction(1, 64), (2, 1)
    common = sum(8 * eta**3 * p**3 + 4 * eta**4 * p**4 for p in periods)
    two = common + sum(eta**2 * p**2 / 2 for p in periods)
    three = common + 2 * eta**2 * periods[1] ** 2 / 2
    return Finding(
        "N = S = a_1 = sigma_1 = 1, eps = 0, grad f(x^t) = 0, tau = 2, tau_server = 1, "
        "eta = 1/64",
        (
            at_most("eta <= 1/(16 S tau_max)", eta, Fraction(1, 32)),
            at_most("eta <= tau_min/(8 S N tau_max^2 sum a_n^2)", eta, Fraction(1, 32)),
        ),
        Interval.of(two),
        Interval.of(three),
        "one round",
    )
