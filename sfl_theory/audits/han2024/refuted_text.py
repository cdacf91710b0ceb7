r"""Readings of sentences of Sec. 3 of ``han2024`` that its bounds or a run break."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import admitted, common_checks
from sfl_theory.audits.han2024.printed import Setting, right_side
from sfl_theory.audits.han2024.refuted_tables import K
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)


def non_convex_rate(number: str, rounds: int = 10**6) -> Finding:
    r"""Break "the bounds achieve $O(1/T)$ on non-convex objectives".

    At a constant admitted rate the second term of (13), (16), (19), (22) is
    $B\eta^2$, whatever T.

    Args:
        number: "3.6" to "3.9".
        rounds: T.

    Returns:
        Left the bound at T, right K/T times the bound at 1.
    """
    setting = Setting((ONE,), F_err=ONE, epsilon2=ONE, sigma=ONE)
    eta = Fraction(1, 16)
    first = right_side(number, "non_convex", setting, 1, eta)
    return Finding(
        f"N = 1, S = sigma = epsilon = F_err = 1, tau = 1, eta = {eta}, K = {K}",
        (*common_checks(setting), admitted(number, "non_convex", setting, eta)),
        right_side(number, "non_convex", setting, rounds, eta),
        first * Fraction(K, rounds),
        f"T = {rounds}; the ratio grows like T",
    )


def constant_rate_stalls(eta: Fraction = Fraction(1, 16)) -> Finding:
    r"""Break "a proper choice of constant learning rate suffices for convergence".

    $F=h(x_s)$, h Huber, $x^0=0$, noise $\pm1$: $x^{t+1}=(1-\eta)x^t\mp\eta$ stays in
    $[-1,1]$, where h is quadratic, and
    $\mathbb E(x^{t+1})^2\ge\eta^2$, so the gap is at least $\eta^2/2$ for every
    $t\ge1$ and every $\eta\in(0,1]$: it has no limit 0. A rate that depends on T is
    another matter.

    Args:
        eta: the rate; every one that is admitted does.

    Returns:
        Left the least gap over all t >= 1, right its claimed limit 0.
    """
    setting = Setting((ONE,), G2=Fraction(2), sigma=ONE)
    return Finding(
        f"N = 1, F = h(x_s), h Huber, S = 1, x^0 = 0, noise +-1, tau = 1, eta = {eta}",
        (
            *common_checks(setting),
            at_most("3.1: slope of h' at most S", 1, 1),
            equal("3.2: variance sigma^2", (ONE + ONE) / 2, 1),
            at_most("3.3 everywhere with G^2 = 2: |h'|^2 + sigma^2", 1 + ONE, 2),
            at_most("3.4: N = 1, divergence 0", 0, 0),
            admitted("3.6", "general_convex", setting, eta),
            admitted("3.6", "non_convex", setting, eta),
            at_most("|(1 - eta) x| + eta <= 1 on [-1, 1]", (1 - eta) + eta, 1),
        ),
        Interval.of(eta**2 / 2),
        Interval.of(0),
        "every t >= 1; E f(x^t) - f* -> 0",
    )
