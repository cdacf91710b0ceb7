r"""SFL-V1 without noise: how a round's move over its effective rate falls.

``||x(t+1) - x(t)|| <= eta_t tau G ((gamma (gamma + 1)/(s (s + 1)))^2 + SPREAD (s +
10)/s^2)`` at ``eta_t = 4/(mu tau s)``, s = gamma + t: as for a parabola, up to what the
falling rate keeps. `successive_rounds` compares the steps of two rounds.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import hypotheses, rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, j, n, now, t
from sfl_theory.proofs.notation import combine, of, steps, sum_over
from sfl_theory.proofs.strongly_convex import S, gamma, mu, tau
from sfl_theory.proofs.successive_rounds import (
    RUN,
    A,
    K,
    W,
    after,
    apart,
    cleared,
    eta,
    g,
    last_step,
    level,
    next_eta,
    p,
    reached,
    variable,
    walked,
    x,
)


def updated(round_: Ratio, u: k.Vec) -> Theorem:
    """Return ``<x' - x + eta sum_n a_n sum_j g_j, u> = 0`` for round t or t + 1."""
    each = stochastic(RUN, n, round_, of(j))
    moved = k.iterate(RUN, round_ + 1) - k.iterate(RUN, round_)
    moved = moved + mean(k.summed(steps(tau), j, each)) * RUN.client.rate.at(round_)
    sides = [rules.update(RUN, side, round_, u) for side in k.Side]
    return combine(rules.blocks(moved, u), *sides, target=k.inner(moved, u))


def mean(each: k.Vec) -> k.Vec:
    """Return ``sum_n a_n each``."""
    return k.summed(k.CLIENTS, n, each * k.weight(n))


def averaged(last: Theorem, bound: k.Lin) -> Theorem:
    """Return ``||eta (x'' - x')||^2 <= eta'^2 bound``.

    For ``eta' sum_n a_n (y_tau - p_tau) = eta (x'' - x')``.

    Args:
        last: ``||y_tau - p_tau||^2 <= bound``.
        bound: of every client.

    Returns:
        The theorem.
    """
    whole = mean(apart(tau))
    move = (k.iterate(RUN, now + 2) - after) * eta
    u = move + whole * next_eta
    made = k.summed(steps(tau), j, g(of(j)))

    def over(theorem: Theorem) -> Theorem:
        return sum_over(theorem, k.CLIENTS, n, k.weight(n))

    def split_up(each: k.Vec) -> Theorem:
        return rules.linear(k.CLIENTS, n, each * k.weight(n), u)

    same = combine(
        (updated(now + 1, u), -eta),
        (updated(now, u), next_eta),
        (over(walked(now, tau, u)), -next_eta),
        (split_up(made), -eta * next_eta),
        (split_up(p(tau)), -next_eta),
    )
    return combine(
        same,
        (rules.jensen(k.CLIENTS, n, k.weight(n), apart(tau)), next_eta**2),
        (over(last), next_eta**2),
        target=bound * next_eta**2 - k.norm2(move),
    )


a0, past = notation.positive("a0"), notation.nonnegative("o")
late = 7 + past
"""``gamma + t``."""
SPREAD = 2 * S / (3 * mu) * (tau - 1) / tau
"""``2/3 kappa (1 - 1/tau)``: what the falling rate keeps,
``SPREAD (1/late + 10/late^2)``;
10 covers that steps contract more than ``(late/(late + 2))^2`` a round."""


def kept(at: Number) -> Ratio:
    """Return ``SPREAD (s + 10)/s^2`` for s = gamma + t."""
    s = ratio(at)
    return SPREAD * (s + 10) / s**2


def slower() -> Ratio:
    """Return ``((gamma + t)/(gamma + t + 2))^2``."""
    return (late / (late + 2)) ** 2


@cache
def next_round() -> Theorem:
    """Return the bound of `rate` for round t + 1 from that for round t.

    For ``eta_t = 4/(mu tau late)`` and a0 instead of ``(gamma/late)^4``.
    """
    size, after_ = a0 + kept(late), a0 * slower() + kept(late + 1)
    values = (
        (variable(level), tau * late - 7),
        (variable(K), 4 * S * eta / (mu * tau * late**2)),
        (variable(A), eta * tau * size),
        (variable(W), slower() ** 2),
    )
    whole = averaged(last_step(), k.constant(reached() * G2))
    one = cleared(rules.instantiate(whole, values, ()))
    m = k.iterate(RUN, now + 2) - after
    return combine(
        (one, 1 / eta**2),
        target=k.constant((next_eta * tau * after_) ** 2 * G2) - k.norm2(m),
    )


# At the rates 4/(mu tau (gamma + t)) -------------------------------------------------

FAMILY = k.RoundFamily("eta", Sort.POSITIVE)
AT_RATE = strong.run(k.Kind.V1).client.rate


def share(at: Ratio) -> Ratio:
    """Return what a move over ``eta_t tau G`` is at most in round t."""
    s = gamma + at
    return (gamma * (gamma + 1) / (s * (s + 1))) ** 2 + kept(s)


def move(at: Ratio) -> k.Vec:
    """Return ``x(t+1) - x(t)`` at the rates."""
    run = strong.run(k.Kind.V1)
    return k.iterate(run, at + 1) - k.iterate(run, at)


def claim(at: Ratio) -> k.Lin:
    """Return ``(eta_t tau share_t)^2 G2 - ||x(t+1) - x(t)||^2``."""
    size = AT_RATE.at(at) * tau * share(at)
    return k.constant(size**2 * G2) - k.norm2(move(at))


def at_rates(theorem: Theorem) -> Theorem:
    """Return a theorem at the rates, without the hypotheses that they meet."""
    return cleared(rules.instantiate(theorem, ((FAMILY, AT_RATE),), ()))


def first_move() -> Theorem:
    """Return ``||x(1) - x(0)||^2 <= (eta_0 tau)^2 G2``, a mean of gradients."""
    u = after - x
    each = k.summed(steps(tau), j, g(of(j)))
    inside = rules.jensen(steps(tau), j, ratio(1), g(of(j)))
    bounded = derived.bounded_gradient(RUN, G2, n, now, of(j))
    own = combine(inside, (sum_over(bounded, steps(tau), j), tau))
    size = combine(
        (updated(now, u - mean(each) * eta), -1),
        (rules.jensen(k.CLIENTS, n, k.weight(n), each), eta**2),
        (sum_over(own, k.CLIENTS, n, k.weight(n)), eta**2),
        target=k.constant((eta * tau) ** 2 * G2) - k.norm2(u),
    )
    return rules.instantiate(at_rates(size), ((t, ratio(0)),), ())


@cache
def moves() -> Theorem:
    """Return ``||x(t+1) - x(t)|| <= eta_t tau share_t G`` for every round t."""
    values = (
        (variable(past), 8 * (S - mu) / mu + now),
        (variable(a0), share(now) - kept(gamma + now)),
    )
    one = at_rates(rules.instantiate(next_round(), values, ()))
    (start_,) = (
        given
        for given in one.hypotheses
        if isinstance(given, hypotheses.Holds) and given.form.expects
    )
    one = rules.cut(one, combine(rules.assume(claim(now)), target=start_.form))
    step = combine(one, target=claim(now + 1))
    first = combine(first_move(), target=claim(ratio(0)))
    return rules.induct(first, step, t, claim(now))
