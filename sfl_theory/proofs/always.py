"""Clients that always take part: where they are absent a run has nothing on average.

Of a client p with ``q_p = 1`` J_p is 0 or 1 with mean 1, so ``L = 1 - J_p(s)`` is 0
almost surely. By the rules this is so of ``E L e`` for e that knows no draws. What L
says of a run comes from there: ``||L u||^2 = 0`` for x(0) - x*, gradients at x* and
noise, hence for the run's points and gradients at them, one after another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.by_number import Visit, client, of_client, tried
from sfl_theory.proofs.notation import Use, combine
from sfl_theory.proofs.outcomes import Outcomes
from sfl_theory.proofs.unrolled import block, n, tested, w

STAR = k.vec(k.Star(k.MEAN))
Still = tuple[k.Vec, Theorem]
"""A vector u, and ``-||L u||^2 >= 0``."""
Moved = tuple[Theorem, Still, Mapping[Visit, Ratio]]
"""A lemma on a block, what it moved from, and by which steps with which factors."""


@dataclass(frozen=True, eq=False)
class Absent:
    """What a run has where client p, who always takes part, is absent in round s.

    Attributes:
        places: the run.
        p: the client.
        s: the round.
    """

    places: Outcomes
    p: int
    s: int
    known: dict[k.Vec, Theorem] = field(default_factory=dict)

    @property
    def L(self) -> Ratio:
        """1 where the client is absent."""
        return 1 - k.draw(self.places.run, client(self.p), self.s)

    def sign(self) -> Theorem:
        """Return ``L >= 0``."""
        return self.places.absent(self.s, self.p, self.L)

    def beside(self, still: Still, v: k.Vec) -> Theorem:
        """Return ``L <u, v> = 0`` for any v, of draws too."""
        u, none = still
        return rules.vanish(none, u * self.L, v)

    def mean(self, e: k.Lin, A: Ratio) -> Theorem:
        """Return ``-A L e = 0`` for e without draws, A of draws before J_p(s)."""
        run, s = self.places.run, ratio(self.s)
        found = rules.expect(run, client(self.p), s, e * A, ())
        return self.places.numbers.enough(found)

    # Vectors of the run -------------------------------------------------------------

    def model(self, t: int) -> Still:
        """Return that of ``x(t) - x*``."""
        u = k.iterate(self.places.run, t) - STAR
        if u not in self.known:
            self.known[u] = self._reached(t, u) if t else self._fixed(u)
        return u, self.known[u]

    def point(self, visit: Visit, t: int) -> Still:
        """Return that of ``p(q,t,i) - x*``."""
        (q, i), run = visit, self.places.run
        u = k.local_point(run, client(q), t, i) - STAR
        if u not in self.known:
            each = {side: self._step(visit, t, side) for side in self.places.sides}
            self.known[u] = self._moved(u, each, t)
        return u, self.known[u]

    def noise(self, visit: Visit, t: int) -> Still:
        """Return that of ``xi(q,t,i)``."""
        (q, i), places, L = visit, self.places, self.L
        u = k.noise(places.run, client(q), t, i)
        if u not in self.known:
            bound = ratio(places.noise)
            small = derived.variance(places.run, bound, n, ratio(t), ratio(i))
            form = k.constant(bound)
            uses: list[Use] = [(of_client(small, q), L * L), *self._none(form)]
            _, most = places.chance_is(self.p)
            uses.append((most, (1 - L) * bound))
            self.known[u] = combine(
                *uses, target=-k.norm2(u) * (L * L), signs=[rules.square(L)]
            )
        return u, self.known[u]

    def slope(self, visit: Visit, t: int) -> Still:
        """Return that of ``grad F_q(p(q,t,i))``."""
        (q, i), L = visit, self.L
        F, at = k.Local(client(q)), k.local_point(self.places.run, client(q), t, i)
        u = k.gradient(F, at)
        if u not in self.known:
            S, v = self.places.S, k.gradient(F, STAR)
            v_too = v, self._fixed(v)
            flat = derived.lipschitz(F, S, at, STAR)
            change = self.near(u - v, flat, self.point(visit, t))
            uses = (self.beside(one, -u * L) for one in (change, v_too))
            self.known[u] = combine(*uses, target=-k.norm2(u) * (L * L))
        return u, self.known[u]

    def near(self, u: k.Vec, flat: Theorem, away: Still) -> Still:
        """Return that of u from ``S^2 ||away||^2 - ||u||^2 >= 0``."""
        L, S2 = self.L, self.places.S**2
        return u, combine(
            (flat, L * L),
            (away[1], S2),
            target=-k.norm2(u) * (L * L),
            signs=[rules.square(L)],
        )

    def _none(self, e: k.Lin) -> list[Use]:
        """Return what adds up to ``-L^2 e + v J e = 0``, v is 1/q - 1."""
        run, s = self.places.run, ratio(self.s)
        return [self.mean(e, ratio(1)), of_client(rules.drawn(run, n, s, e), self.p)]

    def _fixed(self, u: k.Vec) -> Theorem:
        """Return ``-||L u||^2 >= 0`` for u without draws."""
        e, J, v = k.norm2(u), 1 - self.L, k.symbol(k.Odds(client(self.p)))
        _, most = self.places.chance_is(self.p)
        target = e * -(self.L**2)
        return combine(*self._none(e), (u, -v * J), target=target, signs=[most])

    def _reached(self, t: int, u: k.Vec) -> Theorem:
        """Return that of ``u = x(t) - x*``, t > 0."""
        N, each = self.places.numbers, dict[k.Side | None, Moved]()
        for side in self.places.sides:
            lemma, terms = N.next_model(t - 1, side)
            each[side] = lemma, self.model(t - 1), self._drawn(terms, t - 1, side)
        return self._moved(u, each, t - 1)

    def _drawn(
        self, terms: Mapping[Visit, Ratio], t: int, side: k.Side | None
    ) -> dict[Visit, Ratio]:
        """Return the factors of steps whose clients are drawn."""
        chance = self.places.numbers.chance
        return {at: c * chance(at[0], t, side) for at, c in terms.items()}

    def _step(self, visit: Visit, t: int, side: k.Side | None) -> Moved:
        """Return how a block of p(q,t,i) moved."""
        (q, i), run = visit, self.places.run
        if run.kind.shared and side is k.Side.SERVER:
            lemma, terms = self.places.numbers.point(q, t, i, side)
            return lemma, self.model(t), self._drawn(terms, t, side)
        move = unrolled.moves(run, i - 1, side) if i else unrolled.begins(run, side)
        steps = dict[Visit, Ratio]()
        if 0 < i <= unrolled.steps_of(run, side):
            steps[q, i - 1] = run.pace(side or k.Side.CLIENT).rate.at(ratio(t))
        before = self.point((q, i - 1), t) if i else self.model(t)
        return of_client(tested(move, t, w), q), before, steps

    def _moved(self, u: k.Vec, each: Mapping[k.Side | None, Moved], t: int) -> Theorem:
        """Return ``-||L u||^2 >= 0`` for u whose blocks moved in round t."""
        L, uses = self.L, list[Use]()
        for side, (lemma, before, steps) in each.items():
            v = block(side, -u)
            uses += [(tried(lemma, v), L * L), self.beside(before, v * L)]
            for visit, c in steps.items():
                for one in (self.slope(visit, t), self.noise(visit, t)):
                    uses.append((self.beside(one, v * (L * c)), -1))
        if len(each) > 1:
            uses.append((rules.blocks(u, -u), L * L))
        target = -k.norm2(u) * (L * L)
        return combine(*uses, target=target, signs=[rules.square(L)])
