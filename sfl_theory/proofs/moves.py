r"""SFL-V1 without noise: how a round's move over its effective rate falls.

``||x(t+1) - x(t)|| <= eta_t tau G ((gamma (gamma + 1)/(s (s + 1)))^2 + SPREAD (s +
10)/s^2)`` at ``eta_t = 4/(mu tau s)``, s = gamma + t: as for a parabola, up to what the
falling rate keeps. `successive_rounds` compares the steps of two rounds.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import hypotheses, rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs import successive_rounds as successive
from sfl_theory.proofs.local_steps import G2, i, j, n, now, t, young
from sfl_theory.proofs.notation import (
    at_least,
    combine,
    of,
    sign,
    steps,
    sum_over,
    variable,
)
from sfl_theory.proofs.strongly_convex import S, gamma, mu, tau
from sfl_theory.proofs.successive_rounds import (
    RUN,
    A,
    K,
    R,
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


# The gap after a round, by the round's move and the drift -----------------------------
# m = x - x' is alpha times the mean U of the gradients met, alpha = eta tau. With
# d_i = x - p_i, Y and D the means of d_i and ||d_i||^2 over steps and clients,
# smoothness and convexity at every point met give
#
#     f(x') - f* <= <U + mu Y, x - x*> - mu/2 ||x - x*||^2
#                   - alpha (1 - S alpha/2) ||U||^2 - S alpha <U, Y> + (S - mu)/2 D,
#
# and Y = alpha (1 - 1/tau)/2 U up to how gradients change in the round.

BEST = strong.BEST
gp, gx, xi = R.local_gradient(of(i)), R.own_gradient(), R.noise(of(i))
d = R.x - R.point(of(i))
m, before = R.x - R.next, R.x - BEST
alpha = eta * tau
ODD = (tau - 1) / 2 - of(i)
"""By how many steps fewer than the mean one step i enters Y."""


def over(each: k.Vec) -> k.Vec:
    """Return ``sum_n a_n sum_i each``."""
    return mean(k.summed(steps(tau), i, each))


def summed(theorem: Theorem) -> Theorem:
    """Return the theorem summed likewise."""
    return R.summed(theorem, tau, k.weight(n))


def linear(each: k.Vec, u: k.Vec) -> Theorem:
    """Return ``<sum_n a_n sum_i each, u> = sum_n a_n sum_i <each, u>``."""
    return local.linear_both(R, each, u, tau, k.weight(n))


Y, turn = over(d), over((gp + xi) * ODD)
drift = R.over(k.norm2(d), tau, k.weight(n))
"""tau Y and tau D, and ``Y - (1 - 1/tau)/2 m`` over eta."""


def by_parts(u: k.Vec) -> Theorem:
    """Return ``<tau Y - (tau - 1)/2 m - eta turn, u> >= 0`` (it vanishes)."""
    g, own = (stochastic(RUN, n, now, of(one)) for one in (j, i))
    path = k.inner(k.summed(steps(of(i)), j, g), u)
    later = sum_over(successive.longer(g, of(i), u, 1), steps(tau), i, of(i) + 1)

    def clients(theorem: Theorem) -> Theorem:
        return sum_over(theorem, k.CLIENTS, n, k.weight(n))

    return combine(
        linear(d, u),
        (summed(walked(now, of(i), u)), -1),
        (clients(derived.telescope(i, path * of(i), tau)), eta),
        (clients(later), eta),
        (clients(rules.linear(steps(tau), j, g, u)), tau * eta),
        (linear(own, u), (1 - tau) / 2 * eta),
        (linear(own * ODD, u), -eta),
        (updated(now, u), (tau - 1) / 2),
        target=k.inner(Y - m * ((tau - 1) / 2) - turn * eta, u),
    )


def small_turn() -> Theorem:
    """Return ``||turn||^2 <= tau^3 S^2/12 drift``: gradients change little in a round.

    The numbers ODD add up to 0, so gradients at x may be taken off, and their squares
    to ``tau (tau^2 - 1)/12``: Cauchy's inequality, of a client.
    """
    each, more = gp + xi - gx, 1 / tau**2
    inner = k.summed(steps(tau), i, each * ODD)
    size = 12 * (1 + more) / tau**3
    apart = combine(
        young(gp - gx, xi, more),
        (derived.lipschitz(k.Local(n), S, R.point(of(i)), R.x), 1 + more),
        (derived.variance(RUN, ratio(0), n, now, of(i)), 1 + 1 / more),
    )
    inside = combine(
        sum_over(combine((inner * (ODD * size) - each, 1), apart), steps(tau), i),
        (rules.linear(steps(tau), i, each * ODD, inner), -2 * size),
        (inner, size / tau**4),
    )
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), inner),
        sum_over(inside, k.CLIENTS, n, k.weight(n) / size),
        target=drift * (tau**3 * S**2 / 12) - k.norm2(turn),
    )


def at_points() -> Theorem:
    """Return the gap after the round by what smoothness and convexity say.

    ``tau (f(x') - f*) <= <M, x' - x*> + S/2 sum ||x' - p||^2 - mu/2 sum ||x* - p||^2``,
    M the sum of gradients at the points p, each term a sum over steps and clients.
    """
    F = k.Local(n)
    one = combine(
        rules.smooth(F, S, R.point(of(i)), R.next),
        derived.convex(F, mu, R.point(of(i)), BEST),
    )
    return combine(
        summed(one),
        (rules.mean_value(R.next), -tau),
        (rules.mean_value(BEST), tau),
        linear(gp, R.next - BEST),
        (linear(d, m), -S),
        (linear(d, before), mu),
    )


def gap_left() -> k.Lin:
    """Return ``f(x') - f*``."""
    return k.value_of(k.MEAN, R.next) - k.value_of(k.MEAN, BEST)


def by_drift() -> Theorem:
    """Return ``f(x') - f* <= ||m||^2/(2 mu alpha^2) + S/2 (1 + S alpha/2) D``."""
    small = at_least(1 - S * alpha)
    less = (1 - S * alpha) / tau
    third = eta * tau * S**2 / 4
    spare = third * (1 - (tau * less) ** 2 / 3)
    own = R.over(k.norm2(d), tau, k.weight(n))
    m_left = (1 - S * alpha) / (2 * alpha)
    bound = k.norm2(m) * (1 / (2 * mu * alpha**2))
    bound = bound + own * (S / (2 * tau) * (1 + S * alpha / 2))
    mean_d = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(tau), i, d))
    inside = rules.jensen(steps(tau), i, ratio(1), d)
    inside = sum_over(inside, k.CLIENTS, n, k.weight(n))
    Z = over(xi)
    whole = combine(
        at_points(),
        local.whole_centred(R, before),
        (updated(now, before - m), -1 / eta),
        ((m + Y * (mu * eta)) * (1 / (mu * alpha)) - before, mu * tau / 2),
        (mean_d, mu / (2 * tau)),
        (inside, mu / (2 * tau)),
        (by_parts(-m), less / eta),
        (m * Fraction(1, 2) - turn * (less * eta), 1 / eta),
        (small_turn(), eta * less**2),
        (m * Fraction(1, 2) - Z * eta, 1 / eta),
        (local.no_noise(R), eta),
        (m, m_left),
        (summed(combine((d, 1))), spare),
        signs=[
            small,
            rules.square(1 - S * alpha),
            sign(m_left, (small, 1 / (2 * alpha))),
            sign(spare, (small, third * S * alpha / 3)),
        ],
    )
    return combine((whole, 1 / tau), target=bound - gap_left())


def bounded_drift() -> Theorem:
    """Return ``drift <= eta^2 G2 (tau - 1) tau (2 tau - 1)/6``: none for one step."""
    size = eta**2 * (tau - 1) * tau * (2 * tau - 1) / 6
    return combine(summed(local.bounded_way(R)), target=k.constant(size * G2) - drift)


def gap_at(at: Ratio) -> k.Lin:
    """Return ``f(x(at)) - f*`` at the rates."""
    return strong.gap(local.Round(strong.run(k.Kind.V1)), at)


def left(at: Ratio) -> k.Lin:
    """Return what is to be shown >= 0 after `at` rounds, s = gamma + at - 1.

    ``G2/(2 mu) share^2 + 4/3 (1 + 2 S/(mu s)) S/mu^2 G2 (1 - 1/tau)(2 - 1/tau)/s^2``
    less the gap.
    """
    s = strong.gamma + at - 1
    far = Fraction(4, 3) * S / mu**2 * (1 + 2 * S / (mu * s)) / s**2
    far = far * (tau - 1) * (2 * tau - 1) / tau**2
    bound = share(at - 1) ** 2 / (2 * mu) + far
    return k.constant(bound * G2) - gap_at(at)


def after_a_round() -> Theorem:
    """Return the bound after round t."""
    of_drift = S / (2 * tau) * (1 + S * alpha / 2)
    one = at_rates(combine(by_drift(), (bounded_drift(), of_drift)))
    size = 4 / (mu * (strong.gamma + now))
    moved = (moves(), 1 / (2 * mu * size**2))
    return combine(one, moved, target=left(now + 1))


def at_first() -> Theorem:
    """Return the bound at x(0): the gradients there are those of the first step."""
    none, little = ratio(0), 1 / strong.gamma
    p, x = R.point(none), R.x
    g, own = (k.gradient(k.Local(n), at) for at in (p, x))
    u = p - x

    def empty() -> Theorem:
        each = stochastic(RUN, n, now, of(j))
        split_ = rules.split(j, k.inner(each, u), none, none)
        return combine((split_, -1), rules.linear(steps(none), j, each, u))

    same = combine((walked(now, none, u), -1), (empty(), eta), target=-k.norm2(u))
    small = combine(
        young(g, own - g, little),
        (derived.lipschitz(k.Local(n), S, x, p), 1 + 1 / little),
        (same, S**2 * (1 + 1 / little)),
        (derived.unbiased(RUN, n, now, none, g), 2 * (1 + little)),
        (R.noise(none), 1 + little),
        (derived.bounded_gradient(RUN, G2, n, now, none), 1 + little),
        target=k.constant((1 + little) * G2) - k.norm2(own),
    )
    f = R.gradient
    whole = mean(own)
    gradient = combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), own),
        sum_over(small, k.CLIENTS, n, k.weight(n)),
        (rules.mean_gradient(x, f + whole), -1),
        target=k.constant((1 + little) * G2) - k.norm2(f),
    )
    both = combine(strong.gradient_domination(x), gradient)
    begins = rules.instantiate(at_rates(both), ((t, none),), ())
    return combine((begins, 1 / (2 * mu)), target=left(none))


@cache
def rate() -> Theorem:
    """Return the bound after every number t of rounds."""
    return rules.induct(at_first(), after_a_round(), t, left(now))
