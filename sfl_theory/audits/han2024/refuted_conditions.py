r"""Step-size conditions of ``han2024`` that do not imply those their proofs use.

Each finding has the learning rate (or what it must not exceed) on the left and the
condition of the lemma on the right; $S=\mu=1$ unless said otherwise.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import common_checks
from sfl_theory.audits.han2024.printed import Setting, largest_rate, printed_rates
from sfl_theory.evidence.instance import Finding, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)
UNIFORM = (Fraction(1, 2), Fraction(1, 2))


def first_rate() -> Finding:
    r"""Break "it is easy to show that $\eta^t\le1/(2S\tilde\tau)$ for all t" (D.1-G.1).

    $\eta^0=4/(\mu\tilde\tau\gamma)=4/(\tilde\tau(8S-\mu))$, which exceeds
    $1/(2S\tilde\tau)=4/(\tilde\tau\,8S)$ for every $\mu>0$.

    Returns:
        Both sides at S = mu = tau_server = 1, t = 0.
    """
    gamma = 8 * ONE - 1
    return Finding(
        "S = mu = 1, tau_server = 1, beta = 2/mu, t = 0",
        (equal("gamma = 8 S/mu - 1", gamma, 7),),
        Interval.of(2 * 2 / (1 * (gamma + 0))),
        Interval.of(Fraction(1, 2)),
        "t = 0",
    )


def sequential_rate(clients: int = 7) -> Finding:
    r"""Break the same sentence in E.1.1 and G.1.1, where $\gamma_s=8S/(N\mu)-1$.

    $\eta^0=4/(N\mu\tau\gamma_s)=4/(\tau(8S-N\mu))$: 4 for seven clients instead of at
    most 1/2. With eight it divides by zero, with nine it is negative.

    Args:
        clients: N, at most 7.

    Returns:
        Both sides at S = mu = tau = 1, t = 0.
    """
    gamma = Fraction(8, clients) - 1
    return Finding(
        f"N = {clients}, S = mu = 1, tau = 1, beta = 2/mu, t = 0",
        (equal("gamma_s N = 8 S/mu - N", gamma * clients, 8 - clients),),
        Interval.of(4 / (clients * gamma)),
        Interval.of(Fraction(1, 2)),
        "t = 0",
    )


def swapped_rate(number: str, side: str) -> Finding:
    r"""Break "the printed step sizes meet Lemma D.1's condition" of 3.6 and 3.8.

    Client side: printed $4/(\mu\tilde\tau(\gamma+t))$, needed at most $1/(2S\tau)$;
    server side: printed $4/(\mu\tau(\gamma+t))$, needed at most $1/(2S\tilde\tau)$.

    Args:
        number: "3.6" or "3.8".
        side: "client" or "server".

    Returns:
        Both sides at t = 1, the periods being 4 and 1.
    """
    tau, tau_server = (4, 1) if side == "client" else (1, 4)
    setting = Setting((ONE,), tau=tau, tau_server=tau_server)
    rate = printed_rates(number, setting)[0 if side == "client" else 1]
    return Finding(
        f"N = 1, S = mu = 1, tau = {tau}, tau_server = {tau_server}, {side} side",
        common_checks(setting),
        Interval.of(rate(1)),
        Interval.of(Fraction(1, 2 * max(tau, tau_server))),
        "t = 1",
    )


def condition_of_3_9() -> Finding:
    r"""Break "the non-convex condition of 3.9 implies the one (183) uses".

    Printed: $1/(8SN^2\tau\sum_na_n^2/q_n)$; used: $1/(8SN^2\tau\sum_n1/q_n)$.

    Returns:
        Largest printed rate and the limit of the proof at N = 2, uniform, q = 1.
    """
    setting = Setting(UNIFORM)
    return Finding(
        "N = 2, a = (1/2, 1/2), q = 1, S = 1, tau = 1",
        common_checks(setting),
        Interval.of(largest_rate("3.9", "non_convex", setting)),
        Interval.of(Fraction(1, 8 * 2**2 * 2)),
    )


def factor_of_183() -> Finding:
    r"""Break the last inequality of (183) under the printed condition of 3.9.

    It needs $\frac12\le1-4N^2S\eta\tau\sum_n\frac1{q_n}$ (where $\nabla f\ne0$).

    Returns:
        Left 1/2, right the factor at the largest printed rate, N = 2, uniform, q = 1.
    """
    setting = Setting(UNIFORM)
    eta = largest_rate("3.9", "non_convex", setting)
    return Finding(
        f"N = 2, a = (1/2, 1/2), q = 1, S = 1, tau = 1, eta = {eta}",
        common_checks(setting),
        Interval.of(Fraction(1, 2)),
        Interval.of(1 - 4 * 2**2 * eta * 2),
    )
