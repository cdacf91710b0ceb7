"""Runs of a given number of clients, taken apart into single clients and steps.

Client p is ``#p``. Sums over clients and steps become sums of single terms, and numbers
like ``a[#p]`` and ``before(#p,j;#q,i;t)`` the values that a statement assumes. A lemma
on vectors holds for every point w, so its ``>= 0`` says that what stands beside w is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import chain
from typing import cast

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Replaceable, Theorem, stochastic
from sfl_theory.proofs import derived
from sfl_theory.proofs.notation import combine, nat, number_of_clients, of, steps
from sfl_theory.proofs.unrolled import (
    W,
    block,
    j,
    n,
    nought,
    now,
    single_steps,
    steps_of,
    t,
    vanishing,
    w,
)

i, m = nat("i"), k.Client("m")
Visit = tuple[int, int]
"""A client and a step."""
Uses = list[tuple[Theorem, Number]]
Found = tuple[Theorem, dict[Visit, Ratio]]
Values = tuple[tuple[Replaceable, k.Replacement], ...]
Range = tuple[k.Quantifier, k.Client | k.Var, Ratio | k.ClientIndex]
Ranges = tuple[Range, ...]
"""What a hypothesis ranges over, outermost first, and the values of interest."""
Places = tuple[Ratio, Ratio]
"""Steps of two visits."""


def client(p: int) -> k.Numbered:
    """Return client p."""
    return k.Numbered(p)


def when_of(s: int | None) -> Ratio:
    """Return a round as a number; None: any round, t."""
    return now if s is None else ratio(s)


def of_client(theorem: Theorem, p: int) -> Theorem:
    """Return a theorem on client n for client p, at once where it has been put in."""
    mine: Values = ((n, client(p)),)
    rule, given = theorem.call or ("", ())
    if rule == "instantiate":
        lemma, values, signs = cast(tuple[Theorem, Values, tuple[Theorem, ...]], given)
        if n not in dict(values):
            own = tuple((old, k.at(new, dict(mine))) for old, new in values)
            return rules.instantiate(lemma, own + mine, signs)
    return rules.instantiate(theorem, mine, ())


def general(ranges: Ranges, body: h.Hypothesis) -> h.Hypothesis:
    """Return the hypothesis that the body holds for all values of the ranges."""
    for binder, v, _ in reversed(ranges):
        body = h.every(binder, v, body)
    return body


def specialised(theorem: Theorem, ranges: Ranges, body: h.Hypothesis) -> Theorem:
    """Return a theorem that assumes of all values what it assumes of some."""
    for depth in reversed(range(len(ranges))):
        outer: k.Substitution = {v: value for _, v, value in ranges[:depth]}
        whole = k.at(general(ranges[depth:], body), outer)
        theorem = rules.specialise(theorem, whole, ranges[depth][2])
    return theorem


@cache
def at_most_one() -> Theorem:
    """Return ``1 - before(m,j;n,i;t) >= 0``."""
    b = k.before(m, of(j), n, of(i), now)
    zero = derived.before_or_not(m, of(j), n, of(i), now)
    return combine(zero, rules.square(1 - b), target=k.constant(1 - b))


@cache
def single_gradients(
    run: k.Split, clients: int, side: k.Side | None, upper: int, visits: bool
) -> Theorem:
    """Return ``<G - sum_n s_n sum_{j<upper} B g_b(n,t,j), w> >= 0``.

    G adds up the same single terms; s are the run's shares, B is 1, or with `visits`
    ``before(n,j;m,i;t)``.
    """
    each = block(side, stochastic(run, n, now, of(j)))
    if visits:
        each = each * k.before(n, of(j), m, of(i), now)
    share = rules.share(run, n, now, side or k.Side.CLIENT)
    inside = k.summed(steps(upper), j, each)
    whole = k.summed(k.CLIENTS, n, inside * share)
    uses: Uses = [
        (rules.linear(k.CLIENTS, n, inside * share, w), -1),
        (rules.numbered(n, k.inner(inside * share, w), clients), -1),
    ]
    total = k.Vec({})
    for p in range(clients):
        by: k.Substitution = {n: client(p)}
        own, factor = k.vec_at(each, by), k.number_at(share, by)
        uses.append((single_steps(own, upper), factor))
        for step in range(upper):
            total = total + k.vec_at(own, {j: ratio(step)}) * factor
    return combine(*uses, target=k.inner(total - whole, w))


@dataclass(frozen=True, eq=False)
class Numbers:
    """A run of clients with given weights, and an order of their visits.

    Attributes:
        run: learning rates are numbers at every round.
        weights: of the clients.
        rounds: of which the order is assumed.
        turns: SFL-V2's clients take turns at every step; else each makes all its steps.
        orders: the order of the clients, for each round and step; if one after another,
            that of a round stands at all its steps.
    """

    run: k.Split
    weights: tuple[Fraction, ...]
    rounds: int
    turns: bool
    orders: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def clients(self) -> range:
        """The numbers of the clients."""
        return range(len(self.weights))

    # What is assumed ---------------------------------------------------------------

    @property
    def assumed(self) -> frozenset[h.Hypothesis]:
        """The clients' number and weights, and the order of their visits."""
        N = number_of_clients() - len(self.weights)
        found: set[h.Hypothesis] = {
            h.Holds(k.constant(c)) for c in (N, -N) if not c.nonnegative()
        }
        for p in self.clients:
            found |= {general(*self._weight(p, sign)) for sign in (1, -1)}
        if self.run.kind.visits:
            tau = range(steps_of(self.run, k.Side.SERVER))
            visits = [(p, step) for p in self.clients for step in tau]
            found |= {
                general(*self._fact(one, two, s)[:2])
                for s in range(self.rounds)
                for one in visits
                for two in visits
            }
        return frozenset(found)

    def _weight(self, p: int, sign: int) -> tuple[Ranges, h.Hypothesis]:
        """Return that ``sign (a_p - its value) >= 0``; of all clients where alike."""
        alike = len(set(self.weights)) == 1
        away = (k.weight(n if alike else client(p)) - self.weights[p]) * sign
        ranges: Ranges = ((k.CLIENTS, n, client(p)),) if alike else ()
        return ranges, h.Holds(k.constant(away))

    def _fact(
        self, one: Visit, two: Visit, s: int | None
    ) -> tuple[Ranges, h.Holds, Places]:
        """Return what says whether visit (p, a) comes before (q, b) in round s.

        It speaks of as many visits as possible: of those steps.
        """
        round_ = when_of(s)
        (p, a), (q, b) = one, two
        tau, turns = steps(steps_of(self.run, k.Side.SERVER)), self.turns
        earlier, later = of(j), of(i)
        first: k.ClientIndex = client(p)
        second: k.ClientIndex = client(q)
        who: list[Range] = []
        if turns and a != b:
            who = [(k.CLIENTS, m, first), (k.CLIENTS, n, second)]
            first, second = m, n
        elif p == q:
            who, first, second = [(k.CLIENTS, m, first)], m, m
        apart, together = p != q and not turns, turns and a == b
        order, alike = self.orders[s or 0][b], len({*chain(*self.orders)}) == 1
        comes = a < b
        if p != q and (apart or together):
            comes = order.index(p) < order.index(q)
        when: list[Range] = [(tau, i, ratio(b)), (tau, j, ratio(a))]
        if together:
            earlier, when = later, when[:1]
        elif not apart:
            inner = steps(of(i) if comes else of(j) + (0 if turns else 1))
            at_last = (inner, *when[comes][1:])
            when = [when[not comes], at_last]
        when = [(steps(self.rounds), t, round_), *when]
        number = k.before(first, earlier, second, later, now)
        if not alike and p != q and (apart or together):
            when = when[1:] if apart else []
            at: dict[k.Variable, Ratio] = {t: round_}
            at = at if apart else {**at, i: ratio(b)}
            number = k.number_at(number, at)
            earlier, later = (k.number_at(one, at) for one in (earlier, later))
        body = h.Holds(k.constant(number - 1 if comes else -number))
        return (*who, *when), body, (earlier, later)

    # Numbers that have values --------------------------------------------------------

    @cached_property
    def weight_is(self) -> list[tuple[Theorem, ...]]:
        """For each client ``a_p - v >= 0`` and ``v - a_p >= 0``, v its value."""
        return [
            tuple(
                specialised(
                    rules.assume(k.constant((k.weight(client(p)) - a) * sign)),
                    *self._weight(p, sign),
                )
                for sign in (1, -1)
            )
            for p, a in enumerate(self.weights)
        ]

    def comes_before(
        self, one: Visit, two: Visit, s: int | None
    ) -> tuple[Theorem, ...]:
        """Return what shows ``before = 1``, two theorems, or ``= 0``, one."""
        shown, _, values = self._comes_before(one, two, s)
        here = (rules.instantiate(one, values, ()) for one in shown)
        return tuple(map(derived.settled, here))

    def _comes_before(
        self, one: Visit, two: Visit, s: int | None
    ) -> tuple[tuple[Theorem, ...], Places, Values]:
        """Return what shows it at all of their steps, these, and their values here."""
        ranges, body, places = self._fact(one, two, s)
        anywhere = tuple(
            (b, v, v if isinstance(v, k.Client) else of(v)) for b, v, _ in ranges
        )
        here = tuple((v, value) for _, v, value in ranges if v in (i, j))
        others = tuple((v, value) for _, v, value in ranges if v not in (i, j))
        fact = specialised(rules.assume(body.form), anywhere, body)
        fact = rules.instantiate(fact, others, ())
        if not k.number_of(body.form).numerator.coefficients.get((), 0):
            return (fact,), places, here
        at = ((m, client(one[0])), (j, places[0]), (n, client(two[0])), (i, places[1]))
        most = rules.instantiate(at_most_one(), (*at, (t, when_of(s))), ())
        return (fact, most), places, here

    def orthogonal(self, two: Visit, one: Visit, s: int, u: k.Vec) -> Theorem:
        """Return ``<xi(#q,s,b), u> = 0`` for u that an earlier visit (p, a) determines.

        In u stands `m` for p and n for q. Only ``>= 0`` is returned, u being any.

        Raises:
            ValueError: it does not come before.
        """
        (p, a), (q, b) = one, two
        shown, values = self.comes_before(one, two, s), ((n, client(q)), (m, client(p)))
        if len(shown) != 2:
            raise ValueError(f"visit {one} does not come before {two}")
        places = (n, ratio(s), ratio(b), m, ratio(a))
        after = derived.unbiased_after(self.run, *places, u)
        own, xi = k.vec_at(u, dict(values)), k.noise(self.run, client(q), s, b)
        rest = 1 - k.before(client(p), a, client(q), b, s)
        return combine(
            rules.instantiate(after, values, ()),
            tried(nought(rest, xi, shown), own),
            target=k.inner(xi, own),
        )

    def apart(self, drawn: Visit, s: int, u: k.Vec) -> Theorem:
        """Return ``<xi(#q,s,b), u> = 0`` for u made of what q has before it draws.

        It may be made of what others draw in this round, too, in visits before.
        """
        (q, b), last = drawn, dict[int, int]()
        for one in k.subterms(u) if self.run.kind.visits else ():
            if isinstance(one, k.Noise) and ratio(one.round) == ratio(s):
                p, step = number(one.client), int(str(one.step))
                if p != q:
                    last[p] = max(last.get(p, 0), step)
        names = {client(p): k.Client(f"v{p}") for p in last}
        after = tuple((names[client(p)], ratio(j)) for p, j in last.items())
        v, place = renamed(u, names), (client(q), ratio(s), ratio(b))
        found = rules.unbiased(self.run, *place, v, after)
        if not last:
            return self.enough(found)
        back = tuple((name, p) for p, name in names.items())
        uses: Uses = [(rules.instantiate(found, back, ()), 1)]
        xi, so_far = k.noise(self.run, *place), ratio(1)
        for p, step in last.items():
            before = k.before(client(p), step, client(q), b, s)
            shown = self.comes_before((p, step), (q, b), s)
            uses.append((vanishing(so_far * (1 - before), xi, u, shown), 1))
            so_far = so_far * before
        return combine(*uses, target=k.inner(xi, u))

    def enough(self, found: Theorem) -> Theorem:
        """Return a theorem that assumes of N no more than that it is given."""
        N = number_of_clients()
        for count in range(2, len(self.weights)):
            if h.Holds(fewer := k.constant(N - count)) in found.hypotheses:
                all_of = rules.assume(k.constant(N - len(self.weights)))
                found = rules.cut(found, combine(all_of, target=fewer))
        return found

    # Where points are ----------------------------------------------------------------

    def next_model(self, s: int | None, side: k.Side | None) -> Found:
        """Return ``<[x(s+1) - x(s)]_b + sum c g_b, w> >= 0`` and its c."""
        round_ = when_of(s)
        moved = k.iterate(self.run, round_ + 1) - k.iterate(self.run, round_)
        uses: Uses = [
            (rules.update(self.run, one, round_, w), 1)
            for one in (k.Side if side is None else (side,))
        ]
        if side is None:
            g = stochastic(self.run, n, round_, of(j))
            share = rules.share(self.run, n, round_, k.Side.CLIENT)
            whole = k.summed(steps(steps_of(self.run, side)), j, g) * share
            whole = k.summed(k.CLIENTS, n, whole) * self.run.client.outside(round_)
            uses.append((rules.blocks(moved + whole, w), 1))
        return self._valued(uses, block(side, moved), s, side, steps_of(self.run, side))

    def point(self, q: int, s: int | None, step: int, side: k.Side) -> Found:
        """Return the like for ``[p(#q,s,step) - x(s)]_b``, b a server for all."""
        run, round_ = self.run, when_of(s)
        away = k.local_point(run, client(q), round_, step) - k.iterate(run, round_)
        moved = derived.local_update(run, n, round_, ratio(step), side, w)
        visits = self.run.kind.visits
        made = steps_of(self.run, side) if visits else step
        visit = (q, step) if visits else None
        uses: Uses = [(rules.instantiate(moved, ((n, client(q)),), ()), 1)]
        return self._valued(uses, k.part(side, away), s, side, made, visit)

    def _valued(
        self,
        uses: Uses,
        moved: k.Vec,
        s: int | None,
        side: k.Side | None,
        made: int,
        visit: Visit | None = None,
    ) -> Found:
        """Return ``<moved + sum c J g_b, w> >= 0``, with the values of all c.

        J is 1, or the chance by which the client that makes the step moves the block.
        """
        run, pace = self.run, self.run.pace(side or k.Side.CLIENT)
        round_ = when_of(s)
        rate = pace.outside(round_)
        values: list[tuple[k.Client | k.Var, k.Replacement]] = [(t, round_)]
        if visit:
            values += [(m, client(visit[0])), (i, ratio(visit[1]))]
        lemma = single_gradients(run, len(self.weights), side, made, bool(visit))
        uses = [*uses, (rules.instantiate(lemma, tuple(values), ()), rate)]
        found: dict[Visit, Ratio] = {}
        for p in self.clients if rate else ():
            share = rules.share(run, n, round_, side or k.Side.CLIENT)
            own, value = k.number_at(share, {n: client(p)}), ratio(1)
            J = self.chance(p, s, side)
            if own != J:
                value = ratio(self.weights[p])
            for step in range(made):
                g = block(side, single_step(run, p, round_, step))
                known = ratio(1)
                if visit:
                    shown, at, here = self._comes_before((p, step), visit, s)
                    known = ratio(len(shown) - 1)
                    b = k.before(client(p), at[0], client(visit[0]), at[1], round_)
                    u = block(side, single_step(run, p, round_, at[0]))
                    away = vanishing(rate * own * (known - b), u, w, shown)
                    uses.append((rules.instantiate(away, here, ()), 1))
                if own != J and known:
                    c = rate * (value * J - own)
                    uses.append((vanishing(c, g, w, self.weight_is[p]), 1))
                if known:
                    found[p, step] = rate * value
                    moved = moved + g * (rate * value * J)
        return derived.settled(combine(*uses, target=k.inner(moved, w))), found

    def chance(self, p: int, s: int | None, side: k.Side | None) -> Ratio:
        """Return 1, the draw of client p, or its share where the server averages."""
        if not self.run.drawn:
            return ratio(1)
        mean = self.run.participants is k.Participants.MEAN and side is k.Side.SERVER
        return (k.share_of if mean else k.draw)(self.run, client(p), when_of(s))

    # Averages over clients -----------------------------------------------------------

    def average(self, u: k.Vec) -> Theorem:
        """Return ``<sum_n a_n u - sum_p v_p u(#p), w> >= 0``, v the values."""
        whole = k.summed(k.CLIENTS, n, u * k.weight(n))
        uses: Uses = [
            (rules.linear(k.CLIENTS, n, u * k.weight(n), w), 1),
            (rules.numbered(n, k.inner(u, w) * k.weight(n), len(self.weights)), 1),
        ]
        for p, value in enumerate(self.weights):
            own, a = k.vec_at(u, {n: client(p)}), k.weight(client(p))
            uses.append((vanishing(a - value, own, w, self.weight_is[p]), 1))
            whole = whole - own * value
        return combine(*uses, target=k.inner(whole, w))

    def slope(self, x: k.Vec) -> Theorem:
        """Return ``<grad f(x) - sum_p v_p grad F_p(x), w> >= 0``."""
        mean = self.average(k.gradient(k.Local(n), x))
        return combine(rules.mean_gradient(x, w), mean)

    def value(self, S: Ratio, x: k.Vec, sign: int) -> Theorem:
        """Return ``sign (sum_p v_p (F_p(x) - F_p(x*)) - f(x) + f(x*)) >= 0``.

        Numbers times values of functions are no inner products: that they vanish is
        seen from smoothness at x*.
        """
        star = k.vec(k.Star(k.MEAN))
        uses: Uses = [(rules.mean_value(x), -sign), (rules.mean_value(star), sign)]
        target = k.value_of(k.MEAN, star) - k.value_of(k.MEAN, x)
        for at, way in ((x, 1), (star, -1)):
            each = k.value_of(k.Local(n), at) * k.weight(n)
            uses.append((rules.numbered(n, each, len(self.weights)), -sign * way))
        for p, value in enumerate(self.weights):
            F, signs = k.Local(client(p)), self.weight_is[p]
            c, g, d = (
                (value - k.weight(client(p))) * sign,
                k.gradient(F, star),
                x - star,
            )
            rise = k.value_of(F, x) - k.value_of(F, star)
            own = rules.smooth(F, S, star, x)
            squares = ((d + g * (1 / S), c * S / 2), (g, -c / (2 * S)))
            uses.append((combine((own, -c), *squares, target=rise * c, signs=signs), 1))
            target = target + rise * value
        return combine(*uses, target=target * sign)

    def spread(self, theorem: Theorem, u: k.Vec, bound: Fraction) -> Theorem:
        """Return ``bound - sum_p v_p ||u(#p)||^2 >= 0`` from the like with a sum."""
        each = k.norm2(u) * k.weight(n)
        uses: Uses = [(theorem, 1), (rules.numbered(n, each, len(self.weights)), 1)]
        target = k.constant(bound)
        for p, value in enumerate(self.weights):
            own, a = k.vec_at(u, {n: client(p)}), k.weight(client(p))
            uses.append((combine((own, a - value), signs=self.weight_is[p]), 1))
            target = target - k.norm2(own) * value
        return combine(*uses, target=target)


def single_step(run: k.Split, p: int, s: Number, step: Number) -> k.Vec:
    """Return ``g(#p,s,step)``."""
    return k.vec_at(stochastic(run, n, s, step), {n: client(p)})


def number(q: k.ClientIndex) -> int:
    """Return the number of a client.

    Raises:
        ValueError: it has none.
    """
    if not isinstance(q, k.Numbered):
        raise ValueError(f"{q} has no number")
    return q.number


def renamed(u: k.Vec, names: Mapping[k.Numbered, k.Client]) -> k.Vec:
    """Return a combination with names for some clients."""
    found = k.Vec({})
    by: dict[k.ClientIndex, k.ClientIndex] = dict(names.items())
    for atom, c in u.coefficients.items():
        new = k.vec(atom)
        if isinstance(atom, k.Part):
            new = k.part(atom.side, renamed(k.vec(atom.vector), names))
        elif isinstance(atom, k.OfStep):
            q = by.get(atom.client, atom.client)
            make = k.noise if isinstance(atom, k.Noise) else k.local_point
            new = make(atom.run, q, ratio(atom.round), ratio(atom.step))
        elif isinstance(atom, k.Gradient):
            F = atom.function
            if isinstance(F, k.Local):
                F = k.Local(by.get(F.client, F.client))
            new = k.gradient(F, renamed(atom.at, names))
        found = found + new * c
    return found


def tried(theorem: Theorem, u: k.Vec) -> Theorem:
    """Return a lemma on every w for one vector."""
    return theorem if u == w else rules.instantiate(theorem, ((W, u),), ())
