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

from collections.abc import Callable
from fractions import Fraction
from itertools import islice

from sfl_theory.audits.han2024.both_sides import gap_finding, shown_rounds
from sfl_theory.audits.han2024.exact_runs import descent, sequential_server
from sfl_theory.audits.han2024.printed import Setting, printed_rates
from sfl_theory.evidence.instance import Check, Finding, at_most, equal

ONE = Fraction(1)
HALF = Fraction(1, 2)
CENTRES = (Fraction(0), ONE)


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
    setting = Setting((ONE,), G2=ONE, I_err=ONE, q=q, tau=tau)
    client, server = printed_rates(number, setting)
    run = list(islice(descent(ONE, server, q), rounds + 1))
    return gap_finding(
        f"N = 1, F = (x_c^2 + x_s^2)/2, x^0 = (0, 1), tau = {tau}, tau_server = 1, "
        f"sigma = 0, q = {q}, printed step sizes",
        number,
        "strongly_convex",
        setting,
        (
            *_curvature_one(setting),
            at_most("3.3 on the unit ball: ||grad F||^2 = ||x||^2", 1, setting.G2),
            *_towards_centre(server, q, rounds),
            equal("step sizes as printed, client at t = 0", client(0), Fraction(4, 7)),
            equal(
                "step sizes as printed, server at t = 0",
                server(0),
                Fraction(4, 7 * tau),
            ),
        ),
        {t: run[t] * HALF for t in shown_rounds(rounds)},
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
    best = sum((a * b for a, b in zip(weights, CENTRES, strict=True)), Fraction(0))
    setting = Setting(weights, G2=ONE, I_err=(HALF - best) ** 2, q=q)
    client, server = printed_rates(number, setting)
    run = list(islice(sequential_server(HALF, CENTRES, server, q), rounds + 1))
    return gap_finding(
        f"N = 2, a = ({weights[0]}, {weights[1]}), F_n = (x_c^2 + (x_s - b_n)^2)/2, "
        f"b = (0, 1), x^0 = (0, 1/2), x* = (0, {best}), tau = 1, sigma = 0, q = {q}, "
        "printed step sizes",
        number,
        "strongly_convex",
        setting,
        (
            *_curvature_one(setting),
            at_most(
                "3.3 on {x_c = 0, 0 <= x_s <= 1}: largest (x_s - b_n)^2", 1, setting.G2
            ),
            *_towards_centre(server, q, rounds),
            equal("step sizes as printed, client at t = 0", client(0), Fraction(4, 7)),
            equal("step sizes as printed, server at t = 0", server(0), Fraction(4, 7)),
        ),
        {t: run[t].about(best) * HALF for t in shown_rounds(rounds)},
    )


def _towards_centre(
    rate: Callable[[int], Fraction], q: Fraction, rounds: int
) -> tuple[Check, ...]:
    r"""Return the checks that every step ends between its start and a minimiser.

    Then $x_s$ stays in the interval spanned by start and minimisers; $x_c$ starts at 0,
    where its gradient vanishes. The rates are $c/(\gamma+t)$, so the first is largest.
    """
    return (
        at_most("iterates stay in that set: eta^0/q <= 1", rate(0) / q, 1),
        at_most("iterates stay in that set: eta^t <= eta^0", rate(rounds), rate(0)),
        at_most("iterates stay in that set: eta^t >= 0", 0, rate(rounds)),
    )


def _curvature_one(setting: Setting) -> tuple[Check, ...]:
    return (
        at_most("3.1: curvature 1 of every F_n in every direction", 1, setting.S),
        at_most("3.2: noise 0", 0, setting.sigma),
        at_most("C.2: curvature 1 of every F_n", setting.mu, 1),
        Check("C.2 with mu > 0", setting.mu > 0, f"mu = {setting.mu}"),
    )
