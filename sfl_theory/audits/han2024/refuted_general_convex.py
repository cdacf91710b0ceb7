r"""Instances that break the general convex cases of Theorems 3.6-3.9 of ``han2024``.

Readings. "For $\eta^t\le\dots$" is read as: for every such learning rate;
``start_at_minimiser`` breaks the weaker reading "for some $\eta>0$" also. The functions
are Huber functions, so Assumption 3.3 holds on all of $\mathbb R^d$. Participation
$q_n=1$ is admitted by Theorems 3.8 and 3.9.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

from sfl_theory.audits.han2024.both_sides import admitted, gap_finding, shown_rounds
from sfl_theory.audits.han2024.exact_runs import descent
from sfl_theory.audits.han2024.printed import Setting, largest_rate
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)
HALF = Fraction(1, 2)
CASE = "general_convex"


def small_step(number: str, rounds: int = 250, q: Fraction = ONE) -> Finding:
    r"""Break (12), (15), (18), (21): they hold "for $\eta^t\le$" but contain no rate.

    One client, $F=h(x_c)+h(x_s)$ with the Huber function h, $x^0=(0,1)$, no noise,
    $\eta=10^{-6}$: $x_s$ has hardly moved when the bound has fallen below 1/2.

    Args:
        number: "3.6" to "3.9".
        rounds: T.
        q: probability of taking part.

    Returns:
        Both sides at T.
    """
    eta = Fraction(1, 10**6)
    setting = Setting((ONE,), mu=Fraction(0), G2=Fraction(2), I_err=ONE, q=q)
    run = list(islice(descent(ONE, lambda t: eta, q), rounds + 1))
    return gap_finding(
        "N = 1, F = h(x_c) + h(x_s), h Huber, x^0 = (0, 1), tau = tau_server = 1, "
        f"sigma = 0, q = {q}, eta = 10^-6",
        number,
        CASE,
        setting,
        (
            *_huber(setting, Fraction(0)),
            admitted(number, CASE, setting, eta),
            at_most("iterates in the quadratic part [0, 1]: eta/q <= 1", eta / q, 1),
        ),
        {t: run[t] * HALF for t in shown_rounds(rounds)},
    )


def noise_floor(number: str, rounds: int = 15000) -> Finding:
    r"""Break (12), (15), (18), (21) at the largest admitted learning rate.

    One client, $F=h(x_c)+h(x_s)$ with the Huber function h, noise $\pm1$ with equal
    probability on the server coordinate, $\eta=1/(2S\tau_{max})=1/2$, $x^0=(0,1)$. From
    $|x_s|\le1$ follows $|x_s'|=|x_s\mp1|/2\le1$, so h is quadratic along the run and
    $\mathbb Ex_s'^2=(\mathbb Ex_s^2+1)/4$, that is
    $\mathbb E(x_s^T)^2=\frac13+\frac23 4^{-T}$: the gap stays above 1/6.

    Args:
        number: "3.6" to "3.9".
        rounds: T.

    Returns:
        Both sides at T.
    """
    setting = Setting((ONE,), mu=Fraction(0), G2=Fraction(3), I_err=ONE, sigma=ONE)
    eta = largest_rate(number, CASE, setting)
    first = ((1 - eta + eta) ** 2 + (1 - eta - eta) ** 2) / 2
    return gap_finding(
        "N = 1, F = h(x_c) + h(x_s), h Huber, x^0 = (0, 1), tau = tau_server = 1, "
        "noise (0, +-1), q = 1, eta = 1/2",
        number,
        CASE,
        setting,
        (
            *_huber(setting, ONE),
            equal("largest admitted learning rate", eta, HALF),
            at_most("iterates in the quadratic part: (1 + 1) eta <= 1", 2 * eta, 1),
            equal("E x^2 = 1/3 + (2/3) 4^-T at T = 1", first, HALF),
            equal(
                "fixed point of m -> (1 - eta)^2 m + eta^2", _fixed(eta), Fraction(1, 3)
            ),
        ),
        {t: _floor_gap(t) for t in shown_rounds(rounds)},
    )


def start_at_minimiser(number: str) -> Finding:
    r"""Break (12), (15), (18), (21) for every positive learning rate at T = 1.

    One client, $F=h(x_c)+h(x_s)$, noise $\pm1$ on the server coordinate and
    $x^0=x^*=0$. Every term of the bound has the factor $I_{err}=0$; one step gives
    $x_s^1=\pm\eta$ and $\mathbb Ef(x^1)-f^*=\eta^2/2>0$. No choice of $\eta>0$ helps.

    Args:
        number: "3.6" to "3.9".

    Returns:
        Both sides at T = 1, at the largest admitted learning rate.
    """
    setting = Setting((ONE,), mu=Fraction(0), G2=Fraction(3), sigma=ONE)
    eta = largest_rate(number, CASE, setting)
    left = (eta**2 + (-eta) ** 2) / 2 * HALF
    return gap_finding(
        "N = 1, F = h(x_c) + h(x_s), h Huber, x^0 = x* = 0, tau = tau_server = 1, "
        f"noise (0, +-1), q = 1, eta = {eta} (any positive eta: eta^2/2 > 0)",
        number,
        CASE,
        setting,
        (
            *_huber(setting, ONE),
            admitted(number, CASE, setting, eta),
            at_most("iterates in the quadratic part: eta <= 1", eta, 1),
        ),
        {1: Interval.of(left)},
    )


def aggregation_of_models(number: str, rounds: int = 2500) -> Finding:
    r"""Break (18) and (21) if models are aggregated as in (3), Algorithms 1 and 2.

    One client, $q=1/2$, $F=h(x_c-1)+h(x_s)$ with the Huber function h, $x^0=0$, no
    noise. A round without participants gives $x_c^{t+1}=\sum_{n\in\emptyset}=0$, so
    with probability 1/2 the gap at T is $h(-1)=1/2$, for every learning rate. Upper
    end: $\mathbb E|x_c'|\le\mathbb E|x_c|+\eta$ and $h(u)\le|u|$.

    Args:
        number: "3.8" or "3.9".
        rounds: T.

    Returns:
        Both sides at T, for any admitted learning rate.
    """
    setting = Setting((ONE,), mu=Fraction(0), G2=Fraction(2), I_err=ONE, q=HALF)
    eta = largest_rate(number, CASE, setting)
    low = (1 - setting.q) * HALF
    return gap_finding(
        "N = 1, F = h(x_c - 1) + h(x_s), h Huber, x^0 = 0, x* = (1, 0), "
        "tau = tau_server = 1, sigma = 0, q = 1/2, aggregation of models (3), any "
        "admitted eta",
        number,
        CASE,
        setting,
        _huber(setting, Fraction(0)),
        {t: Interval(low, 1 + t * eta) for t in shown_rounds(rounds)},
    )


def _floor_gap(t: int) -> Interval:
    """Enclose half of 1/3 + (2/3) 4^-t; beyond t = 400 the last term is in [0, 4^-400].

    Returns:
        The gap.
    """
    power = min(t, 400)
    high = Fraction(1, 3) + Fraction(2, 3) / 4**power
    low = high if t == power else Fraction(1, 3)
    return (Interval(low, high) * HALF).rounded()


def _fixed(eta: Fraction) -> Fraction:
    return eta**2 / (1 - (1 - eta) ** 2)


def _huber(setting: Setting, noise: Fraction) -> tuple[Check, ...]:
    return (
        at_most("3.1: slope of h' at most 1", 1, setting.S),
        at_most("3.2: mean noise 0, variance", noise, setting.sigma**2),
        at_most(
            "3.3 everywhere: |h'| <= 1 in both blocks, plus noise",
            2 + noise,
            setting.G2,
        ),
        equal("C.2: convex, mu", setting.mu, 0),
    )
