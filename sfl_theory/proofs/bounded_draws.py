r"""SFL-V2 with drawn clients under bounded gradients, non-convex, for every rate.

Server steps weighted by a_n, updates aggregated. Given the draws Jensen with the
weights ``w_n = a_n J_n`` bounds the squared move by ``W^2 tau^2 G2``, ``W = sum w_n``,
and ``E W^2 = 1 + sum a_n^2 (1/q_n - 1)``.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Kind,
    constant,
    iterate,
    norm2,
    summed,
    value_of,
)
from sfl_theory.proofs import partial_visits as drawn
from sfl_theory.proofs.convex_paces import excess
from sfl_theory.proofs.local_steps import G2, S, i, n, now, t, whole_descent, whole_mean
from sfl_theory.proofs.notation import combine, mean, steps, sum_over
from sfl_theory.proofs.weighted_rounds import (
    T,
    Weighted,
    client_sum,
    drift,
    eta,
    tau,
)

VISITS = Weighted(Kind.V2_WEIGHTED, partial=True)


def second_moment() -> Theorem:
    """Return ``||G||^2 <= (1 + sum a_n^2 (1/q_n - 1)) tau^2 G2``."""
    a = VISITS
    w, W = a.share, mean(n, a.share)
    bound = constant(W**2 * tau**2 * G2)
    inside = summed(steps(tau), i, a.g())
    return combine(
        [
            (rules.jensen(CLIENTS, n, w, inside), 1),
            (sum_over(client_sum(a), CLIENTS, n, w), W),
            (a.averaged(bound), -1),
        ],
        target=constant(second() * tau**2 * G2) - norm2(whole_mean(a.round, a.g())),
    )


def second() -> Ratio:
    """Return what the squared move is at most, over tau^2 G2."""
    return 1 + ratio(excess)


@cache
def one_round() -> Theorem:
    """Return ``alpha/2 ||grad f||^2 <= f(x) - f(x') + cost`` at every rate."""
    a, r, alpha = VISITS, VISITS.round, eta * tau
    g = r.gradient
    cost = S / 2 * second() * alpha**2 * G2 + S**2 / 2 * a.cd * alpha**3 * G2
    fall = value_of(MEAN, r.x) - value_of(MEAN, r.next)
    return combine(
        [
            (whole_descent(r), 1),
            (second_moment(), S * eta**2 / 2),
            (drift(a), S**2 * eta / 2),
            (drawn.centred(g), eta),
            (drawn.mean_of_gradients(g), eta),
            (rules.tower(a.run, now, drawn.Delta, g), -eta),
            (drawn.mean_deviation(), eta / (2 * tau)),
        ],
        [(g * tau + drawn.B, eta / (2 * tau))],
        target=fall + constant(cost) - norm2(g) * (alpha / 2),
    )


def non_convex() -> Theorem:
    """Return the sum over rounds; the values of f telescope."""
    r, c = VISITS.round, 2 / (T * tau)
    down = rules.telescope(t, value_of(MEAN, r.x), T)
    last = rules.lowest(MEAN, iterate(r.run, T))
    return combine([(sum_over(one_round(), steps(T), t), c), (down, c), (last, c)])
