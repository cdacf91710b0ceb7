r"""Adds up theorems on SFL-V2 without noise in positions, not in gradients.

The like of `positions` on given clients. The server's block moves from visit to visit:
a visit's gradient is $(p-p')/\eta$, p and p' where this visit and the next one meet
the server. That is shown for any round, so the order of visits is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.by_number import Visit, client, of_client
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.unrolled import atom_of, block, now, tested, w
from sfl_theory.worst_case.assembly import Name, Row, Uses, fraction
from sfl_theory.worst_case.certificate import Square
from sfl_theory.worst_case.deviations import squared
from sfl_theory.worst_case.positions import moves, negative
from sfl_theory.worst_case.single_clients import ONE, STAR, SingleClients, against
from sfl_theory.worst_case.sparse import factored

SERVER, CLIENT = k.Side.SERVER, k.Side.CLIENT


class Visited(SingleClients):
    """Theorems with multipliers, written in points and what no step is made of."""

    def proved(self, squares: Iterable[Square]) -> Theorem:
        """Return the theorem, see `Assembly.proved`; other squares are found."""
        return derived.settled(super().proved(squares))

    def _squares(self, squares: Iterable[Square]) -> None:
        """Enter squares that are found for what is left over."""
        form = negative(self.form)
        mine = {name: self.vector({name: ONE}) for name in form.rows}
        self.uses += squared(factored(form), mine, form)

    @cached_property
    def visits(self) -> list[Visit]:
        """The visits of a round in their order."""
        order, tau = self.numbers.orders[0], unrolled.steps_of(self.run, SERVER)
        if self.numbers.turns:
            return [(q, i) for i in range(tau) for q in order[i]]
        return [(q, i) for q in order[0] for i in range(tau)]

    @cached_property
    def bases(self) -> dict[k.Side | None, Name]:
        """Where positions are measured from, when that is known."""
        return {}

    # Replacing gradients -----------------------------------------------------------

    def _points(self, s: int, side: k.Side | None) -> None:
        """Replace gradients of round s by the way that a block moves."""
        x, first = k.iterate(self.run, s), self.visits[0]
        model = atom_of(block(side, x))
        there = self._slope(first, s, side)
        mine = self._gradient(k.Local(client(first[0])), x, side)
        self._put(mine, {there: ONE}, self.same[side], s)
        if side is SERVER:
            ends = [self._local(q, s, i, side) for q, i in self.visits]
            ends += [atom_of(block(side, k.iterate(self.run, s + 1)))]
            for place, visit in enumerate(self.visits):
                leads = (ends[place], ends[place + 1])
                self._step(visit, s, side, leads, *self.between[place])
            self._put(ends[0], {model: ONE}, self.met, s)
            return
        weights = self.numbers.weights
        tau, eta = unrolled.steps_of(self.run, side), self._rate(s)
        later = atom_of(block(side, k.iterate(self.run, s + 1)))
        last = {self._local(q, s, tau, side): a for q, a in enumerate(weights)}
        self._put(later, last, self.gathered, s)
        for q in self.numbers.clients:
            for i in range(tau):
                leads = (self._local(q, s, i, side), self._local(q, s, i + 1, side))
                lemma = of_client(moves(self.run, i, side, self.noisy), q)
                self._step((q, i), s, side, leads, lemma, eta)
            begins = of_client(unrolled.begins(self.run, side), q)
            self._put(self._local(q, s, 0, side), {model: ONE}, begins, s)

    def _step(
        self,
        visit: Visit,
        s: int,
        side: k.Side | None,
        ends: tuple[Name, Name],
        lemma: Theorem,
        eta: Fraction,
    ) -> None:
        """Replace the gradient of a visit, where a lemma says how a block moves."""
        by = {ends[0]: 1 / eta, ends[1]: -1 / eta}
        self._put(self._slope(visit, s, side), by, lemma, s, eta)

    def _put(
        self, name: Name, by: Row, lemma: Theorem, s: int, eta: Fraction = ONE
    ) -> None:
        """Replace a vector; a lemma says in any round ``eta <vector - by, w> = 0``."""
        if beside := self.form.eliminate(name, by):
            theorem = tested(lemma, s, self.vector(beside) * (-1 / eta))
            self.uses.append((theorem, ONE))

    def _start(self, side: k.Side | None) -> None:
        """Measure positions from x*, or from x(0) if x* does not occur.

        Raises:
            ValueError: something depends on where these are.
        """
        first = atom_of(block(side, k.iterate(self.run, 0)))
        base: Name = atom_of(block(side, STAR))
        base = base if self.form.rows.get(base) else first
        self.bases[side] = base
        for place in [*self.form.rows]:
            whole = place.vector if isinstance(place, k.Part) else place
            mine = isinstance(place, k.VecAtom) and k.side_of(place) is side
            if mine and place != base and isinstance(whole, k.Iterate | k.LocalPoint):
                away = f"way to {place}"
                self.vectors[away] = self.vector({place: ONE, base: -ONE})
                self.form.eliminate(place, {base: ONE, away: ONE})
        if self.form.rows.get(base):
            raise ValueError("the sum depends on where x* is")

    def _slope(self, visit: Visit, s: int, side: k.Side | None) -> Name:
        """Return the name of a client's gradient at a step."""
        q, i = visit
        p = k.local_point(self.run, client(q), s, i)
        return self._gradient(k.Local(client(q)), p, side)

    def _rate(self, s: int) -> Fraction:
        return fraction(self.run.client.rate.at(ratio(s)))

    # Lemmas on any round and any w ---------------------------------------------------

    @cached_property
    def met(self) -> Theorem:
        """``<[p - x(t)]_s, w> >= 0``, p where the first visit meets the server."""
        q, i = self.visits[0]
        return self.numbers.point(q, None, i, SERVER)[0]

    @cached_property
    def between(self) -> list[tuple[Theorem, Fraction]]:
        """``<[p' - p + eta g]_s, w> >= 0`` for each visit, and eta.

        In it p' is the next visit's point or, after the last one, x(t+1), and g is
        ``grad F_q(p)``, with its noise if there is any.
        """
        run, found = self.run, []
        lemmas = [self.numbers.point(q, None, i, SERVER) for q, i in self.visits]
        lemmas.append(self.numbers.next_model(None, SERVER))
        points = [k.local_point(run, client(q), now, i) for q, i in self.visits]
        points.append(k.iterate(run, now + 1))
        for place, (q, i) in enumerate(self.visits):
            (before, _), (after, made) = lemmas[place : place + 2]
            eta = made[q, i]
            g = k.gradient(k.Local(client(q)), points[place])
            uses: Uses = [(after, 1), (against(before, -w), 1)]
            if self.noisy:
                g = g + k.noise(run, client(q), now, i)
            else:
                noise = of_client(unrolled.still(run, i), q)
                uses.append((tested(noise, now, k.part(SERVER, w)), -eta))
            move = points[place + 1] - points[place] + g * eta
            theorem = combine(*uses, target=k.inner(k.part(SERVER, move), w))
            found.append((theorem, fraction(eta)))
        return found

    @cached_property
    def gathered(self) -> Theorem:
        """``<[x(t+1) - sum_q a_q p(q,t,end)]_c, w> >= 0``."""
        run, tau = self.run, unrolled.steps_of(self.run, CLIENT)
        uses = [(self.numbers.next_model(None, CLIENT)[0], ratio(1))]
        end = k.iterate(run, now + 1)
        for q, a in enumerate(self.numbers.weights):
            own = [unrolled.begins(run, CLIENT)]
            own += [unrolled.moves(run, i, CLIENT) for i in range(tau)]
            uses += [(of_client(one, q), ratio(-a)) for one in own]
            end = end - k.local_point(run, client(q), now, tau) * a
        return combine(*uses, target=k.inner(k.part(CLIENT, end), w))

    @cached_property
    def same(self) -> dict[k.Side | None, Theorem]:
        """``<[grad F_q(x(t)) - grad F_q(p(q,t,0))]_b, w> = 0``, q the first visitor."""
        q, _ = self.visits[0]
        F, p = k.Local(client(q)), k.local_point(self.run, client(q), now, 0)
        x = k.iterate(self.run, now)
        z, way = k.gradient(F, x) - k.gradient(F, p), p - x
        none = combine(
            (derived.lipschitz(F, self.S, x, p), 1),
            (
                tested(of_client(unrolled.begins(self.run, CLIENT), q), now, -way),
                self.S**2,
            ),
            (against(self.met, -way), self.S**2),
            (rules.blocks(way, way), -(self.S**2)),
            target=-k.norm2(z),
        )
        return {side: rules.vanish(none, z, k.part(side, w)) for side in k.Side}
