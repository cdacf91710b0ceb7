"""General convex: the mean gap of the iterates of SFL-V1, a repair of (12)."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs.joint_distance import BEST, gap, second_moment, tau
from sfl_theory.proofs.local_steps import (
    G2,
    Round,
    S,
    bounded_drift,
    i,
    linear_both,
    n,
    now,
    t,
    whole_centred,
    whole_mean,
    whole_update,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    equal_paces,
    of,
    positive,
    steps,
    sum_over,
)

T, eta = count("T"), positive("eta")
r = Round(equal_paces(k.Kind.V1, tau, k.Rate(eta)))
alpha = eta * tau


def progress() -> Theorem:
    """Return ``<G, x - x*> >= tau (f(x) - f*) - S/2 D``.

    Smoothness from the local point to x, convexity from it to x*.
    """
    p, away, gp = r.point(of(i)), r.x - BEST, r.local_gradient(of(i))
    one = combine([
        (rules.smooth(k.Local(n), S, p, r.x), 1),
        (rules.convex(k.Local(n), ratio(0), p, BEST), 1),
    ])
    return combine([
        (r.summed(one, tau, k.weight(n)), 1),
        (linear_both(r, gp, away, tau, k.weight(n)), 1),
        (whole_centred(r, away), 1),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
    ])


def one_round() -> Theorem:
    """Return ``2 alpha gap <= ||x - x*||^2 - ||x' - x*||^2 + 7/6 alpha^2 G2``."""
    before, after, step = r.x - BEST, r.next - BEST, r.next - r.x
    small = rules.assume(k.constant(1 - 2 * S * alpha))
    G = whole_mean(r, stochastic(r.run, n, now, of(i)))
    cost = k.constant(Fraction(7, 6) * alpha**2 * G2)
    return combine(
        [
            (progress(), 2 * eta),
            (whole_update(r, before), -2),
            (whole_update(r, step), -1),
            (whole_update(r, G), eta),
            (second_moment(r), eta**2),
            (bounded_drift(r, G2), eta * S),
            (small, alpha**2 * G2 / 6),
        ],
        target=k.norm2(before) - k.norm2(after) + cost - gap(r) * (2 * alpha),
    )


def theorem() -> Theorem:
    """Return the mean over T rounds; the distances telescope."""
    c = 1 / (2 * alpha * T)
    fall = rules.telescope(t, k.norm2(r.x - BEST), T)
    last = k.iterate(r.run, T) - BEST
    return combine([(sum_over(one_round(), steps(T), t), c), (fall, c)], [(last, c)])
