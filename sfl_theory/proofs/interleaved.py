r"""SFL-V2 as printed, visits interleaved: all clients make step i, then step i + 1.

A run of the kernel has any order. That it is interleaved in all T rounds is one
hypothesis: for clients m and n a sum over rounds of what vanishes,

.. math:: \sum_{s<T}\sum_i\Big(\sum_{j<i}(1-o_{ji})+\sum_{j>i}o_{ji}\Big)\le0,

:math:`o_{ji}\in\{0,1\}` saying whether step j of m comes before step i of n. No term is
negative, so each one is 0. That of two clients one is first is another: of the
:math:`N^2` pairs :math:`P=N(N-1)/2` have m before n,
:math:`\sum_{s<T}\sum_i(\sum_n\sum_mo_{ii}-P)^2\le0`. Rounds are t, of T = t + 1 + r.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs.equal_steps import only_one
from sfl_theory.proofs.notation import combine, mean, nat, of, steps, sum_over
from sfl_theory.proofs.unrolled import j, n, now, steps_of, t, w

SERVER = k.Side.SERVER
m, later, s = k.Client("m"), nat("r"), nat("s")
T = now + 1 + of(later)
QUARTER = Fraction(1, 4)
SHARP = Fraction(2) ** 60
Signs = Iterable[Theorem]


def comes_first(
    i_of_m: Number, i_of_n: Number, round_: Ratio, of_m: k.Client = m
) -> Ratio:
    """Return whether a step of m comes before one of n."""
    return k.before(of_m, i_of_m, n, i_of_n, round_)


def violations(tau: int, round_: Ratio) -> Ratio:
    """Return how often visits of m and n are not interleaved in a round."""
    found = ratio(0)
    for i in range(tau):
        for one in range(tau):
            o = comes_first(one, i, round_)
            found = found + (1 - o if one < i else o if one > i else 0)
    return found


def pairs(i: int, round_: Ratio) -> Ratio:
    """Return how many pairs of clients (m, n) have m before n at step i."""
    return mean(n, mean(m, comes_first(i, i, round_)))


def half(clients: int) -> Fraction:
    """Return ``N (N - 1)/2``."""
    return Fraction(clients * (clients - 1), 2)


def over_rounds(each: Ratio, upper: Ratio) -> k.Lin:
    """Return minus the sum over rounds of a number of round s."""
    return -k.summed(steps(upper), s, k.constant(each))


def is_interleaved(tau: int, upper: Ratio) -> k.Lin:
    """Return the first form that is >= 0, of clients m and n."""
    return over_rounds(violations(tau, of(s)), upper)


def is_an_order(tau: int, clients: int, upper: Ratio) -> k.Lin:
    """Return the second form that is >= 0."""
    each = ratio(0)
    for i in range(tau):
        each = each + (pairs(i, of(s)) - half(clients)) ** 2
    return over_rounds(each, upper)


def late(one: int, i: int, round_: Ratio = now) -> Theorem:
    """Return ``o <= 1``."""
    o = comes_first(one, i, round_)
    exact = rules.before_or_not(m, ratio(one), n, ratio(i), round_)
    return combine(exact, rules.square(1 - o), target=k.constant(1 - o))


def _only_now(whole: Theorem, positive: Theorem) -> Theorem:
    """Return ``-e(t) >= 0`` from ``-sum_{s<T} e(s) >= 0`` and ``e(s) >= 0``."""

    def at(number: Number) -> Theorem:
        return rules.instantiate(positive, ((s, ratio(number)),), ())

    form, here = positive.form, k.lin_at(positive.form, {s: now + of(s)})
    none = rules.assume(k.constant(-of(s)))
    zero = combine(
        (at(now + of(s)), of(s)), (at(now + of(s) + 1), -of(s)), signs=[none]
    )
    rest = k.lin_at(form, {s: now + 1 + of(s)})
    return combine(
        whole,
        (rules.split(s, form, now, 1 + of(later)), 1),
        (rules.split(s, here, ratio(1), of(later)), 1),
        sum_over(positive, steps(now), s),
        sum_over(at(now + 1 + of(s)), steps(of(later)), s),
        sum_over(zero, steps(1), s),
        (rules.telescope(s, here * (of(s) - 1), ratio(1)), 1),
        target=-k.lin_at(form, {s: now}),
    )


@cache
def none_violated(tau: int) -> Theorem:
    """Return that visits of m and n are interleaved in round t."""
    each = [late(one, i, of(s)) for i in range(tau) for one in range(i)]
    positive = combine(*each, target=k.constant(violations(tau, of(s))))
    return _only_now(rules.assume(is_interleaved(tau, T)), positive)


@cache
def is_before(tau: int, one: int, i: int) -> Theorem:
    """Return ``o >= 1`` for an earlier step."""
    others = [(b, a) for a in range(tau) for b in range(a) if (b, a) != (one, i)]
    each = [late(b, a) for b, a in others]
    return combine(
        none_violated(tau), *each, target=k.constant(comes_first(one, i, now) - 1)
    )


@cache
def is_after(tau: int, one: int, i: int) -> Theorem:
    """Return ``o <= 0`` for a later step."""
    each = [late(b, a) for a in range(tau) for b in range(a)]
    return combine(
        none_violated(tau), *each, target=k.constant(-comes_first(one, i, now))
    )


@cache
def few_pairs(tau: int, clients: int, i: int) -> Theorem:
    """Return ``N(N-1)/2 - sum_n sum_m o_ii >= 0``, up to what is invisible."""
    gaps = [pairs(one, of(s)) - half(clients) for one in range(tau)]
    positive = combine(*map(rules.square, gaps))
    one = _only_now(rules.assume(is_an_order(tau, clients, T)), positive)
    here = [pairs(one, now) - half(clients) for one in range(tau)]
    others = [rules.square(y) for a, y in enumerate(here) if a != i]
    return combine(
        (one, SHARP / 2),
        *((other, SHARP / 2) for other in others),
        (rules.square(1 - here[i] * SHARP), 1 / (2 * SHARP)),
        target=k.constant(half(clients) + 1 / (2 * SHARP) - pairs(i, now)),
    )


def equal_weights(clients: int, of_n: k.Client = n) -> tuple[Theorem, Theorem]:
    """Return ``a_n >= 1/N`` and ``a_n <= 1/N``, assumed."""
    away = k.constant(k.weight(of_n) - Fraction(1, clients))
    return rules.assume(away), rules.assume(-away)


def sample(run: k.Split, step: Number, of_m: k.Client = m) -> k.Vec:
    """Return the server's block of a client's stochastic gradient in round t."""
    return k.part(SERVER, stochastic(run, of_m, now, ratio(step)))


def vanishes(c: Ratio, u: k.Vec, signs: Signs) -> Theorem:
    """Return ``c <u, w> >= 0`` for a number c that its signs show to be 0."""
    return combine((u + w, c * QUARTER), (u - w, -c * QUARTER), signs=signs)


def unrolled(u: k.Vec, upper: int) -> Theorem:
    """Return ``<sum_{j<upper} u(j), w> - sum_i <u(i), w> >= 0``."""
    uses: list[tuple[Theorem, Number]] = [(rules.linear(steps(upper), j, u, w), 1)]
    rest = u
    for i in range(upper):
        form = k.inner(rest, w)
        uses.append((rules.split(j, form, ratio(1), ratio(upper - i - 1)), 1))
        uses.append((only_one(j, rest, w, -1), 1))
        rest = k.vec_at(rest, {j: of(j) + 1})
    uses.append((rules.split(j, k.inner(rest, w), ratio(0), ratio(0)), -1))
    return combine(*uses)


def all_visits(u: k.Vec, clients: int, of_m: k.Client = m) -> Theorem:
    """Return ``<sum_m u(m) - N sum_m a_m u(m), w> >= 0`` for equal weights."""
    above, below = equal_weights(clients, of_m)
    c = 1 - clients * k.weight(of_m)
    each = vanishes(c, u, [combine((below, clients)), combine((above, clients))])
    return combine(
        sum_over(each, k.CLIENTS, of_m),
        rules.linear(k.CLIENTS, of_m, u, w),
        (rules.linear(k.CLIENTS, of_m, u * k.weight(of_m), w), -clients),
    )


def lag(run: k.Split, clients: int, i: int) -> k.Vec:
    """Return ``1/N sum_m o_ii g(m,t,i)``, server blocks: the visits before n's."""
    each = sample(run, i) * comes_first(i, i, now)
    return k.summed(k.CLIENTS, m, each) * Fraction(1, clients)


def step_mean(run: k.Split, i: int) -> k.Vec:
    """Return ``sum_m a_m g(m,t,i)``, server blocks."""
    return k.summed(k.CLIENTS, m, sample(run, i) * k.weight(m))


@cache
def place(run: k.Split, clients: int, i: int) -> Theorem:
    """Return where client n meets the server at step i.

    ``<[p(n,t,i) - x(t)]_s + eta N (sum_{j<i} mean g_j + lag_i), w> >= 0``.
    """
    tau, eta = steps_of(run, SERVER), run.server.rate.at(now)
    visited = sample(run, of(j)) * k.before(m, of(j), n, i, now)
    inside = k.summed(steps(tau), j, visited)
    own: list[tuple[Theorem, Number]] = [(unrolled(-visited, tau), 1)]
    uses: list[tuple[Theorem, Number]] = [
        (rules.local_update(run, n, now, ratio(i), SERVER, w), 1),
        (rules.linear(k.CLIENTS, m, inside, w), -eta),
    ]
    for one in range(tau):
        o, g = comes_first(one, i, now), sample(run, one)
        if one < i:
            signs = [late(one, i), is_before(tau, one, i)]
            own.append((vanishes(1 - o, g, signs), 1))
            uses.append((rules.linear(k.CLIENTS, m, g, w), eta))
            uses.append((all_visits(-g, clients), eta))
        elif one > i:
            own.append((vanishes(-o, g, [is_after(tau, one, i)]), 1))
        else:
            uses.append((rules.linear(k.CLIENTS, m, g * o, w), eta))
    uses.append((sum_over(combine(*own), k.CLIENTS, m), eta))
    moved = lag(run, clients, i)
    for one in range(i):
        moved = moved + step_mean(run, one)
    away = k.part(SERVER, k.local_point(run, n, now, i) - k.iterate(run, now))
    return combine(*uses, target=k.inner(away + moved * (clients * eta), w))


@cache
def gathered(run: k.Split, clients: int) -> Theorem:
    """Return ``<[x(t+1) - x(t)]_s + eta N sum_i mean g_i, w> >= 0``."""
    tau, eta = steps_of(run, SERVER), run.server.rate.at(now)
    visited = sample(run, of(j))
    inside = k.summed(steps(tau), j, visited)
    each: list[tuple[Theorem, Number]] = [(unrolled(-visited, tau), 1)]
    uses: list[tuple[Theorem, Number]] = [
        (rules.update(run, SERVER, now, w), 1),
        (rules.linear(k.CLIENTS, m, inside, w), -eta),
    ]
    moved = k.Vec({})
    for i in range(tau):
        g = sample(run, i)
        uses.append((rules.linear(k.CLIENTS, m, g, w), eta))
        uses.append((all_visits(-g, clients), eta))
        moved = moved + step_mean(run, i)
    uses.append((sum_over(combine(*each), k.CLIENTS, m), eta))
    away = k.part(SERVER, k.iterate(run, now + 1) - k.iterate(run, now))
    return combine(*uses, target=k.inner(away + moved * (clients * eta), w))


@cache
def small_lags(run: k.Split, clients: int, i: int) -> Theorem:
    """Return ``sum_n a_n ||lag_n||^2 <= rho sum_n a_n ||g_n||^2``, server blocks.

    With ``V = sum_m o_m g_m`` and ``Q = sum_m o_m`` Lagrange's identity says
    ``Q sum_m ||g_m||^2 - ||V||^2 = sum_m sum_l ||o_m g_l - o_l g_m||^2/2``; the Q of all
    clients n add up to ``N(N-1)/2``, so rho is ``(N-1)/(2N)``, up to what is invisible.
    """
    tau, other = steps_of(run, SERVER), k.Client("l")
    o, g = comes_first(i, i, now), sample(run, i)
    o_l, g_l = comes_first(i, i, now, other), sample(run, i, other)
    V, Q, squares = k.summed(k.CLIENTS, m, g * o), mean(m, o), mean(m, o * o)
    each = sum_over(combine((g_l * o - g * o_l, Fraction(1, 2))), k.CLIENTS, other)
    inner = rules.linear(k.CLIENTS, other, g_l * o_l, g)
    exact = rules.before_or_not(m, ratio(i), n, ratio(i), now)
    spare = sum_over(
        combine((g, 1)), k.CLIENTS, m, Q - squares, [sum_over(exact, k.CLIENTS, m)]
    )
    one = combine(
        sum_over(each, k.CLIENTS, m),
        (rules.linear(k.CLIENTS, m, g * o, V), -1),
        (sum_over(inner, k.CLIENTS, m, o), -1),
        spare,
    )
    N, (_, below) = ratio(clients), equal_weights(clients)
    of_m = equal_weights(clients, m)[0]
    few = few_pairs(tau, clients, i)
    most = half(clients) + 1 / (2 * SHARP)
    counted = sum_over(combine((g, 1)), k.CLIENTS, m, most - pairs(i, now), [few])
    heavy = sum_over(
        combine((g, 1)), k.CLIENTS, m, N * k.weight(m) - 1, [combine((of_m, N))]
    )
    light = sum_over(
        combine((V, 1)), k.CLIENTS, n, 1 / N - k.weight(n), [below]
    )
    L = lag(run, clients, i)
    mine = k.summed(k.CLIENTS, n, k.norm2(sample(run, i, n)) * k.weight(n))
    return combine(
        (sum_over(one, k.CLIENTS, n), 1 / N**3),
        (counted, 1 / N**3),
        (heavy, most / N**3),
        (light, 1 / N**2),
        target=mine * rho(clients)
        - k.summed(k.CLIENTS, n, k.norm2(L) * k.weight(n)),
    )


def rho(clients: int) -> Fraction:
    """Return ``(N-1)/(2N)``, up to what is invisible."""
    return (half(clients) + 1 / (2 * SHARP)) / clients**2
