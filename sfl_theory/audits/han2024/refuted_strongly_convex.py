r"""Instances that break the strongly convex cases of Theorems 3.6-3.9 of ``han2024``.

Readings. Rounds are those of App. C.2: the client side makes $\tau$ and the server side
$\tilde\tau$ steps per round. SFL-V2's server has no period of its own and $\tilde\tau$
is read as $\tau$; it visits the participants one after the other (Algorithm 2) in a
uniformly random order, without weights $a_n$, as Algorithm 2 and App. C.2 both print.
Participation $q_n=1$ is admitted by Theorems 3.8 and 3.9. Assumption 3.3 cannot hold on
$\mathbb R^d$ together with strong convexity; it is read on a ball or box that contains
the minimisers and all iterates.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import refuting
from sfl_theory.audits.han2024.printed import Setting, printed_rates
from sfl_theory.evidence.federated import FederatedRun, Piece, Separable
from sfl_theory.evidence.instance import Finding

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
CASE = "strongly_convex"
BOWL = Separable((Piece(), Piece()))
APART = (BOWL, Separable((Piece(), Piece(centre=ONE))))
"""Two clients that agree on x_c and pull x_s towards 0 and 1."""


def swapped_step_sizes(
    number: str, tau: int, rounds: int, q: Fraction = ONE
) -> Finding:
    r"""Break (11) and (17): the printed server rate is too small when $\tau$ is large.

    One client, $F=(x_c^2+x_s^2)/2$, $x^0=(0,1)$, no noise, $\tilde\tau=1$. The server
    side makes one step per round with $\eta^t=4/(\mu\tau(\gamma+t))$, so at q = 1
    $x_s^T=\prod_t(1-4/(\tau(7+t)))$ falls only like $T^{-4/\tau}$ and the gap like
    $T^{-8/\tau}$; the bound falls like $1/T$.

    Args:
        number: "3.6" or "3.8".
        tau: steps of the client side per round.
        rounds: T.
        q: probability of taking part.

    Returns:
        Both sides at T.
    """
    client, server = printed_rates(number, Setting((ONE,), tau=tau))
    return refuting(
        FederatedRun(
            theorem=f"han2024/thm-{number}",
            case=CASE,
            algorithm="sfl-v1",
            clients=(BOWL,),
            weights=(ONE,),
            participation=(q,),
            start=(ZERO, ONE),
            rounds=rounds,
            client_rate=client,
            server_rate=server,
            tau=tau,
        )
    )


def unweighted_server(
    number: str, weights: tuple[Fraction, ...], rounds: int, q: Fraction = ONE
) -> Finding:
    r"""Break (14) and (20): SFL-V2's server step carries no $a_n$.

    Two clients, $F_n=(x_c^2+(x_s-b_n)^2)/2$ with $b=(0,1)$, $\tau=1$, no noise,
    $x^0=(0,1/2)$. The server's mean obeys $m\leftarrow(1-\eta)^2m+(1-(1-\eta)^2)/2$ and
    stays at 1/2, the minimiser of $\sum_nF_n$, while f has its minimiser at
    $\sum_na_nb_n=a_2$. By Jensen
    $\mathbb Ef(x^T)-f^*\ge\frac12(\frac12-a_2)^2$ for every T.

    Args:
        number: "3.7" or "3.9".
        weights: $a_1,a_2$.
        rounds: T.
        q: probability of taking part, equal for both clients.

    Returns:
        Both sides at T.
    """
    client, server = printed_rates(number, Setting(weights))
    return refuting(
        FederatedRun(
            theorem=f"han2024/thm-{number}",
            case=CASE,
            algorithm="sfl-v2",
            clients=APART,
            weights=weights,
            participation=(q, q),
            start=(ZERO, HALF),
            rounds=rounds,
            client_rate=client,
            server_rate=server,
        )
    )
