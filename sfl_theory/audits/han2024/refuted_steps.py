r"""Instances that break (40), (45), (47), (51) and (52) of ``han2024``, App. C.4.

h is the Huber function: $u^2/2$ for $|u|\le1$, slope $\pm1$ beyond.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.refuted_lemmas import HALF, ONE
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval


def unrolled_is_no_equality(equation: int) -> Finding:
    r"""Break the first "=" of (40) or (45): (39) and (44) are inequalities.

    $\sum_{i<\tau}\mathbb E\|x_n^{t,i}-x^t\|^2=\sum_{i<\tau}B\sum_{j<i}C^j$ with
    $F=h$, $x^t=1$, no noise, $\tau=2$: left is $\eta^2$; right is $B$, that is
    $6\tau\eta^2G^2$ or $8\tau\eta^2\|\nabla f\|^2$.

    Args:
        equation: 40 or 45.

    Returns:
        Left the squared difference of the two sides, right 0.
    """
    tau, eta, x, gradient = 2, Fraction(1, 8), ONE, ONE
    parts = {40: 6, 45: 8}[equation]
    constant, growth = parts * tau * eta**2 * gradient**2, 1 + Fraction(2, tau)
    path = [x]
    for _ in range(tau - 1):
        path.append(path[-1] - eta * path[-1])
    total = sum(((point - x) ** 2 for point in path), Fraction(0))
    powers = sum((growth**j for i in range(tau) for j in range(i)), Fraction(0))
    return Finding(
        "N = 1, F = h, h Huber, S = 1, x^t = 1, sigma = 0, G^2 = 1, tau = 2, eta = 1/8",
        (
            at_most("3.1: slope of h' at most S", 1, 1),
            at_most("3.2: noise 0", 0, 0),
            at_most("3.3 everywhere with G^2 = 1: |h'| <= 1", gradient**2, 1),
            at_most("3.4: N = 1, divergence 0", 0, 0),
            at_most(
                f"eta <= 1/(sqrt({parts}) S tau)", parts * (eta * tau) ** 2, 1
            ),
        ),
        Interval.of((total - constant * powers) ** 2),
        Interval.of(0),
        "|left - right|^2 <= 0",
    )  # fmt: skip


def gradient_recursion() -> Finding:
    r"""Break (47) and (51), the recursion of stochastic gradients, at i = 1.

    $A_i\le(1+\frac2\tau)A_{i-1}+2(1+\tau)\eta^2S^2\mathbb E\|g_n\|^2$ with
    $A_i=\mathbb E\|g_n^{t,i}-g_n^t\|^2$.
    Its third line takes $\mathbb E\|g^i-g^{i-1}\|^2\le S^2\mathbb E\|x^i-x^{i-1}\|^2$
    for gradients of different samples. $F=0$, noise $\pm1$: $A_1=2$, $A_0=0$.

    Returns:
        Both sides at tau = 2, S = 1, eta = 1/4.
    """
    tau, eta, signs = 2, Fraction(1, 4), (-ONE, ONE)
    zero = Fraction(0)
    left = sum(((v - u) ** 2 for u in signs for v in signs), zero) / 4
    variance = sum((u**2 for u in signs), zero) / 2
    right = (1 + Fraction(2, tau)) * 0 + 2 * (1 + tau) * eta**2 * variance
    return Finding(
        "N = 1, F = 0, S = 1, noise +-1, tau = 2, eta = 1/4, i = 1",
        (
            at_most("3.1: slope of the gradient of F = 0", 0, 1),
            equal("3.2: variance sigma^2", variance, 1),
            equal("3.2: mean of the noise", sum(signs, zero), 0),
            at_most("3.3 everywhere with G^2 = 1: E g^2", variance, 1),
            at_most("eta <= 1/(2 S tau)", eta, HALF / tau),
        ),
        Interval.of(left),
        Interval.of(right),
        "i = 1",
    )
