r"""Instances that break the non-convex cases of Theorems 3.7-3.9 of ``han2024``.

Reading: SFL-V2's server visits the participants one after the other in a uniformly
random order, without weights $a_n$, as Algorithm 2 and App. C.2 print. Convex functions
are admitted by the non-convex case; Assumption 3.4 holds on all of $\mathbb R^d$.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import admitted, gap_finding, refuting
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.federated import FederatedRun, Piece, Rate, Separable
from sfl_theory.evidence.instance import Finding, at_most
from sfl_theory.evidence.interval import Interval

CENTRES = (Fraction(0), Fraction(1))


def biased_stationary_point(
    number: str,
    weights: tuple[Fraction, ...],
    eta: Fraction,
    rounds: int,
    q: Fraction = Fraction(1),
) -> Finding:
    r"""Break (16) and (22): SFL-V2's server does not find a stationary point of f.

    Two clients, $F_n=(x_c^2+(x_s-b_n)^2)/2$ with $b=(0,1)$, $\tau=1$, no noise, started
    at the minimiser of f, $x^0=(0,a_2)$, where $\nabla f=0$. The server drifts to 1/2;
    $\|\nabla f\|^2\to(\frac12-a_2)^2$ while the bound, with $f(x^0)=f^*$, is of order
    $\eta^2$ against a left side of order $\eta$.

    Args:
        number: "3.7" or "3.9".
        weights: $a_1,a_2$.
        eta: constant learning rate.
        rounds: T.
        q: probability of taking part, equal for both clients.

    Returns:
        Both sides at T.
    """
    best = sum((a * b for a, b in zip(weights, CENTRES, strict=True)), Fraction(0))
    return refuting(
        FederatedRun(
            theorem=f"han2024/thm-{number}",
            case="non_convex",
            algorithm="sfl-v2",
            clients=tuple(Separable((Piece(), Piece(centre=b))) for b in CENTRES),
            weights=weights,
            participation=(q, q),
            start=(Fraction(0), best),
            rounds=rounds,
            client_rate=Rate(eta),
            server_rate=Rate(eta),
            rule="constant",
        )
    )


def models_aggregated(rounds: int = 6) -> Finding:
    r"""Break (19) if models are aggregated as in (3), Algorithm 1.

    One client, $q=\frac12$, $F=(x_c^2+x_s^2)/2$, $\tau=1$, no noise, so
    $\sigma=\epsilon=0$, $\eta=\frac1{16}$ (the largest admitted). $x^{t+1}=
    \frac{I^t}q(1-\eta)x^t$, the sum over no participants being 0, so
    $\mathbb E\|x^t\|^2=(2(15/16)^2)^t\|x^0\|^2$ grows. (Leaving the model as it is in
    an empty round makes it grow faster.)

    Args:
        rounds: T.

    Returns:
        Both sides at T.
    """
    eta, q = Fraction(1, 16), Fraction(1, 2)
    setting = Setting((Fraction(1),), F_err=Fraction(1, 2), q=q)
    growth = (1 - eta) * (1 - eta) / q
    squares = (Interval.of(growth**t) for t in range(rounds))
    averages = dict(_averages(square * eta for square in squares))
    return gap_finding(
        "N = 1, q = 1/2, F = (x_c^2 + x_s^2)/2, x^0 = (0, 1), tau = tau_server = 1, "
        "sigma = epsilon = 0, eta = 1/16, models aggregated as in (3)",
        "3.8",
        "non_convex",
        setting,
        (
            at_most("3.1: curvature 1 in every direction", 1, setting.S),
            at_most("3.2: noise 0", 0, setting.sigma),
            at_most("3.4: one client, grad F_n = grad f", 0, setting.epsilon2),
            admitted("3.8", "non_convex", setting, eta),
        ),
        averages,
        eta,
    )


def _averages(values: Iterator[Interval]) -> Iterator[tuple[int, Interval]]:
    r"""Yield $(T,\frac1T\sum_{t<T}v_t)$ for T = 1, 2, ..."""
    total = Interval.of(0)
    for rounds, value in enumerate(values, start=1):
        total = (total + value).rounded()
        yield rounds, total / rounds
