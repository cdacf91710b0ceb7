r"""SFL-V2 as printed, visits interleaved: all clients make step i, then step i + 1.

A run of the kernel has any order. That it is interleaved is assumed of a round, for
clients m and n, as that a number vanishes which is never negative:

.. math:: X_{mn}(t)=\sum_i\Big(\sum_{j<i}(1-o_{ji})+\sum_{j>i}o_{ji}\Big)\le0,

:math:`o_{ji}\in\{0,1\}` saying whether step j of m comes before step i of n; of T = t +
1 + r rounds together, with `together`, as :math:`\sum_{s<T}X_{mn}(s)\le0`. That of two
clients one is first, so that of the :math:`N^2` pairs at most :math:`P=N(N-1)/2` have m
before n, is derived of the N clients one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, mean, nat, of, steps, sum_over
from sfl_theory.proofs.unrolled import j, n, now, single_steps, steps_of, vanishing, w

SERVER = k.Side.SERVER
m, later, s = k.Client("m"), nat("r"), nat("s")
T = now + 1 + of(later)


def comes_first(
    i_of_m: Number, i_of_n: Number, round_: Ratio, of_m: k.Client = m
) -> Ratio:
    """Return whether a step of m comes before one of n."""
    return k.before(of_m, i_of_m, n, i_of_n, round_)


def late(one: int, i: int, round_: Ratio = now) -> Theorem:
    """Return ``o <= 1``."""
    o = comes_first(one, i, round_)
    exact = derived.before_or_not(m, ratio(one), n, ratio(i), round_)
    return combine(exact, rules.square(1 - o), target=k.constant(1 - o))


def half(clients: int) -> Fraction:
    """Return ``P = N (N - 1)/2``."""
    return Fraction(clients * (clients - 1), 2)


def pairs(i: int, round_: Ratio) -> Ratio:
    """Return how many pairs of clients (m, n) have m before n at step i."""
    return mean(n, mean(m, comes_first(i, i, round_)))


def violations(tau: int, round_: Ratio) -> Ratio:
    """Return X: how often visits of m and n are not interleaved in a round."""
    found = ratio(0)
    for i in range(tau):
        for one in range(tau):
            o = comes_first(one, i, round_)
            found = found + (1 - o if one < i else o if one > i else 0)
    return found


def over_rounds(each: Ratio, upper: Ratio) -> k.Lin:
    """Return minus the sum over rounds of a number of round s."""
    return -k.summed(steps(upper), s, k.constant(each))


def _only_now(positive: Theorem) -> Theorem:
    """Return ``-e(t) >= 0`` from ``e(s) >= 0``; assumed is ``-sum_{s<T} e(s) >= 0``."""

    def at(number: Number) -> Theorem:
        return rules.instantiate(positive, ((s, ratio(number)),), ())

    form, here = positive.form, k.lin_at(positive.form, {s: now + of(s)})
    return combine(
        rules.assume(over_rounds(k.number_of(form), T)),
        rules.split(s, form, now, 1 + of(later)),
        rules.split(s, here, ratio(1), of(later)),
        sum_over(positive, steps(now), s),
        sum_over(at(now + 1 + of(s)), steps(of(later)), s),
        target=-k.lin_at(form, {s: now}),
    )


def equal_weights(clients: int, of_n: k.Client = n) -> tuple[Theorem, Theorem]:
    """Return ``a_n >= 1/N`` and ``a_n <= 1/N``, assumed."""
    away = k.constant(k.weight(of_n) - Fraction(1, clients))
    return rules.assume(away), rules.assume(-away)


def all_visits(u: k.Vec, clients: int) -> Theorem:
    """Return ``<sum_m u(m) - N sum_m a_m u(m), w> >= 0`` for equal weights."""
    above, below = equal_weights(clients, m)
    c = 1 - clients * k.weight(m)
    each = vanishing(c, u, w, [combine((below, clients)), combine((above, clients))])
    return combine(
        sum_over(each, k.CLIENTS, m),
        rules.linear(k.CLIENTS, m, u, w),
        (rules.linear(k.CLIENTS, m, u * k.weight(m), w), -clients),
    )


@dataclass(frozen=True)
class Interleaved:
    """A run with N clients of equal weight.

    Attributes:
        run: of SFL-V2 as printed.
        clients: N.
        together: whether the order is assumed of all rounds together.
    """

    run: k.Split
    clients: int
    together: bool

    @property
    def tau(self) -> int:
        """Steps in a round."""
        return steps_of(self.run, SERVER)

    @property
    def eta(self) -> Ratio:
        """The server's rate in round t."""
        return self.run.server.rate.at(now)

    def sample(self, step: Number, of_m: k.Client = m) -> k.Vec:
        """Return the server's block of a client's stochastic gradient in round t."""
        return k.part(SERVER, stochastic(self.run, of_m, now, ratio(step)))

    def step_mean(self, i: int) -> k.Vec:
        """Return ``sum_m a_m g(m,t,i)``, server blocks."""
        return k.summed(k.CLIENTS, m, self.sample(i) * k.weight(m))

    def lag(self, i: int) -> k.Vec:
        """Return ``1/N sum_m o_ii g(m,t,i)``, server blocks: the visits before n's."""
        each = self.sample(i) * comes_first(i, i, now)
        return k.summed(k.CLIENTS, m, each) * Fraction(1, self.clients)

    def x(self, after: int) -> k.Vec:
        """Return the model before round t, or after it."""
        return k.iterate(self.run, now + after)


@cache
def none_violated(v: Interleaved) -> Theorem:
    """Return that visits of m and n are interleaved in round t."""
    if not v.together:
        return rules.assume(k.constant(-violations(v.tau, now)))
    each = [late(one, i, of(s)) for i in range(v.tau) for one in range(i)]
    form = k.constant(violations(v.tau, of(s)))
    return _only_now(combine(*each, target=form))


@cache
def decided(v: Interleaved, one: int, i: int) -> Theorem:
    """Return ``o >= 1`` for an earlier step of m, ``o <= 0`` for a later one."""
    steps_ = [(b, a) for a in range(v.tau) for b in range(a) if (b, a) != (one, i)]
    o = comes_first(one, i, now)
    each = [late(b, a) for b, a in steps_]
    target = k.constant(o - 1 if one < i else -o)
    return combine(none_violated(v), *each, target=target)


@cache
def few_pairs(clients: int, i: int) -> Theorem:
    """Return ``N (N - 1)/2 - sum_n sum_m o_ii >= 0`` for N clients of equal weight.

    Of two clients one is first, and none is before itself: ``o (1 - 2 o) = -o``.
    """
    step = ratio(i)

    def at(theorem: Theorem, one: int, other: int) -> Theorem:
        places = ((m, k.Numbered(one)), (n, k.Numbered(other)))
        return rules.instantiate(theorem, places, ())

    either = derived.not_both(m, step, n, step, now)
    exact = derived.before_or_not(m, step, n, step, now)
    uses: list[tuple[Theorem, Number]] = []
    column = k.summed(k.CLIENTS, m, k.constant(comes_first(i, i, now)))
    uses.append((rules.numbered(n, column, clients), -1))
    for other in range(clients):
        here = k.Numbered(other)
        o = k.constant(k.before(m, i, here, i, now))
        uses.append((rules.numbered(m, o, clients), -1))
        uses += [(at(either, one, other), 1) for one in range(other)]
        own = k.before(here, i, here, i, now)
        uses += [(at(either, other, other), own), (at(exact, other, other), -2)]
    found = combine(*uses, target=k.constant(half(clients) - pairs(i, now)))
    above, below = equal_weights(clients)
    for side in (above, below):
        found = rules.cut(found, combine((sum_over(side, k.CLIENTS, n), clients)))
    return found


@cache
def place(v: Interleaved, i: int) -> Theorem:
    """Return where client n meets the server at step i.

    ``<[p(n,t,i) - x(t)]_s + eta N (sum_{j<i} mean g_j + lag_i), w> >= 0``.
    """
    tau, eta, N = v.tau, v.eta, v.clients
    visited = v.sample(of(j)) * k.before(m, of(j), n, i, now)
    inside = k.summed(steps(tau), j, visited)
    own: list[tuple[Theorem, Number]] = [(single_steps(visited, tau), 1)]
    uses: list[tuple[Theorem, Number]] = [
        (derived.local_update(v.run, n, now, ratio(i), SERVER, w), 1),
        (rules.linear(k.CLIENTS, m, inside, w), -eta),
    ]
    for one in range(tau):
        o, g = comes_first(one, i, now), v.sample(one)
        if one < i:
            signs = [late(one, i), decided(v, one, i)]
            own.append((vanishing(1 - o, g, w, signs), 1))
            uses.append((rules.linear(k.CLIENTS, m, g, w), eta))
            uses.append((all_visits(-g, N), eta))
        elif one > i:
            own.append((vanishing(-o, g, w, [decided(v, one, i)]), 1))
        else:
            uses.append((rules.linear(k.CLIENTS, m, g * o, w), eta))
    uses.append((sum_over(combine(*own), k.CLIENTS, m), eta))
    moved = sum(map(v.step_mean, range(i)), v.lag(i))
    away = k.part(SERVER, k.local_point(v.run, n, now, i) - v.x(0))
    return combine(*uses, target=k.inner(away + moved * (N * eta), w))


@cache
def gathered(v: Interleaved) -> Theorem:
    """Return ``<[x(t+1) - x(t)]_s + eta N sum_i mean g_i, w> >= 0``."""
    tau, eta, N = v.tau, v.eta, v.clients
    visited = v.sample(of(j))
    inside = k.summed(steps(tau), j, visited)
    uses: list[tuple[Theorem, Number]] = [
        (rules.update(v.run, SERVER, now, w), 1),
        (rules.linear(k.CLIENTS, m, inside, w), -eta),
        (sum_over(single_steps(visited, tau), k.CLIENTS, m), eta),
    ]
    for g in map(v.sample, range(tau)):
        uses.append((rules.linear(k.CLIENTS, m, g, w), eta))
        uses.append((all_visits(-g, N), eta))
    moved = sum(map(v.step_mean, range(tau)), k.Vec({}))
    away = k.part(SERVER, v.x(1) - v.x(0))
    return combine(*uses, target=k.inner(away + moved * (N * eta), w))


@cache
def small_lags(v: Interleaved, i: int, rho: Ratio) -> Theorem:
    """Return ``sum_n a_n ||lag_n||^2 <= rho sum_n a_n ||g_n||^2``, server blocks.

    With ``V = sum_m o_m g_m`` and ``Q = sum_m o_m`` Lagrange's identity says
    ``Q sum_m ||g_m||^2 - ||V||^2 = sum_m sum_l ||o_m g_l - o_l g_m||^2/2``; the Q of
    all clients n add up to P, so ``N^2 rho >= P``.
    """
    N, most, other = ratio(v.clients), half(v.clients), k.Client("l")
    o, g = comes_first(i, i, now), v.sample(i)
    o_l, g_l = comes_first(i, i, now, other), v.sample(i, other)
    V, Q, squares = k.summed(k.CLIENTS, m, g * o), mean(m, o), mean(m, o * o)
    each = sum_over(combine((g_l * o - g * o_l, 1 / ratio(2))), k.CLIENTS, other)
    inner = rules.linear(k.CLIENTS, other, g_l * o_l, g)
    exact = derived.before_or_not(m, ratio(i), n, ratio(i), now)

    def spare(factor: Ratio, *signs: Theorem) -> Theorem:
        return sum_over(combine((g, 1)), k.CLIENTS, m, factor, signs)

    one = combine(
        sum_over(each, k.CLIENTS, m),
        (rules.linear(k.CLIENTS, m, g * o, V), -1),
        (sum_over(inner, k.CLIENTS, m, o), -1),
        spare(Q - squares, sum_over(exact, k.CLIENTS, m)),
    )
    heavy, _ = equal_weights(v.clients, m)
    _, light = equal_weights(v.clients)
    lags = sum_over(combine((V, 1)), k.CLIENTS, n, 1 / N - k.weight(n), [light])
    L = k.summed(k.CLIENTS, n, k.norm2(v.lag(i)) * k.weight(n))
    mine = k.summed(k.CLIENTS, m, k.norm2(g) * k.weight(m))
    return combine(
        (sum_over(one, k.CLIENTS, n), 1 / N**3),
        (spare(most - pairs(i, now), few_pairs(v.clients, i)), 1 / N**3),
        (spare(N * k.weight(m) - 1, combine((heavy, N))), most / N**3),
        (lags, 1 / N**2),
        (spare(k.weight(m)), rho - most / N**2),
        target=mine * rho - L,
    )
