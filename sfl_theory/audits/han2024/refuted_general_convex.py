r"""Instances that break the general convex cases of Theorems 3.6-3.9 of ``han2024``.

Readings. "For $\eta^t\le\dots$" is read as: for every such learning rate;
``start_at_minimiser`` breaks the weaker reading "for some $\eta>0$" also. The functions
are Huber functions, so Assumption 3.3 holds on all of $\mathbb R^d$. Participation
$q_n=1$ is admitted by Theorems 3.8 and 3.9.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import gap_finding, refuting, shown_rounds
from sfl_theory.audits.han2024.printed import Setting, largest_rate
from sfl_theory.evidence.federated import FederatedRun, Piece, Rate, Separable
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval
from sfl_theory.registry import theorem

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
CASE = "general_convex"
HUBER = Piece(kink=ONE)


def noise_floor(number: str, rounds: int, q: Fraction = ONE) -> Finding:
    r"""Break (12), (15), (18), (21) at the largest admitted learning rate.

    One client, $F=h(x_c)+h(x_s)$ with the Huber function h, noise $\pm1$ with equal
    probability on the server coordinate, $\eta=1/(2S\tau_{max})=1/2$,
    $x^0=(0,\frac12)$. From $|x_s|\le1$ follows $|x_s-\frac\eta q(x_s\pm1)|\le1$ for
    $q\ge\frac12$, so h is quadratic along the run. With $r=\eta/q$ the mean square
    obeys $m\leftarrow(1-q+q(1-r)^2)m+qr^2$ and is at its fixed point $r/(2-r)$ soon:
    the gap stays at 1/6 for q = 1 and at 1/2 for q = 1/2.

    Args:
        number: "3.6" to "3.9".
        rounds: T.
        q: probability of taking part.

    Returns:
        Both sides at T.
    """
    return _alone(number, rounds, start=HALF, noise=ONE, q=q)


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
    return _alone(number, 1, start=ZERO, noise=ONE)


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
    return _alone(number, rounds, start=ONE, noise=ZERO, q=q, eta=Fraction(1, 10**6))


def _alone(
    number: str,
    rounds: int,
    start: Fraction,
    noise: Fraction,
    q: Fraction = ONE,
    eta: Fraction | None = None,
) -> Finding:
    """Return both sides for one client with Huber functions, kinks at +-1.

    Args:
        number: "3.6" to "3.9".
        rounds: T.
        start: of the server coordinate; the client's is at its minimiser.
        noise: on the server coordinate.
        q: probability of taking part.
        eta: learning rate; None: the largest admitted.

    Returns:
        Both sides at T.
    """
    item = theorem(number)
    limit = largest_rate(number, CASE, Setting((ONE,), mu=ZERO))
    rate = Rate(eta or limit)
    return refuting(
        FederatedRun(
            theorem=item.key,
            case=CASE,
            algorithm=item.algorithm,
            clients=(Separable((HUBER, HUBER), (ZERO, noise)),),
            weights=(ONE,),
            participation=(q,),
            start=(ZERO, start),
            rounds=rounds,
            client_rate=rate,
            server_rate=rate,
            rule="constant" if eta else "the largest admitted",
        )
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
