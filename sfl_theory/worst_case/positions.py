r"""Adds up theorems on a run of SFL-V1 without noise in positions, not in gradients.

An interpolation inequality speaks of two points and their gradients. A step's gradient
is $(p_i-p_{i+1})/\eta$, so where the inequalities are between points that are near each
other in the run what they leave over has entries near its diagonal only: proofs grow
with the number of steps, not with its square or cube. The squares are found here.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import atom_of, block, mean, n, now, tested, w
from sfl_theory.worst_case.assembly import ONE, Assembly, Name, Row
from sfl_theory.worst_case.certificate import Square
from sfl_theory.worst_case.deviations import enter, squared
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.sparse import factored


class Positions(Assembly):
    """Theorems with multipliers, written in points and what no step is made of."""

    def proved(self, squares: Iterable[Square]) -> Theorem:
        """Return the theorem, see `Assembly.proved`; other squares are found."""
        self._first_points()
        if self.sides != (None,):
            self._split()
        for side in self.sides:
            self._steps(side)
        self._average()
        self._own_squares()
        for side in self.sides:
            self._means(side)
        self._balance_values()
        self._stationary()
        self._common_squares()
        return self.added()

    def _own_squares(self) -> None:
        """Enter squares for the clients' vectors."""
        form = negative(self.own)
        enter(self, factored(form), form)

    def _common_squares(self) -> None:
        """Enter squares for what clients share."""
        form = negative(self.common)
        mine = {name: self.vector({name: ONE}) for name in form.rows}
        self.uses += squared(factored(form), mine, form)

    def _steps(self, side: k.Side | None) -> None:
        """Replace gradients at steps by ways that a block moves, p(n,t,0) by x(t)."""
        run, made = self.run, unrolled.steps_of(self.run, side)
        for t in range(self.rounds):
            eta = self._rate(t, side)

            def point(i: int, t: int = t) -> Name:
                return atom_of(block(side, self.p(t, i)))

            for i in reversed(range(made, unrolled.longest(run))):
                if row := self.own.eliminate(point(i + 1), {point(i): ONE}):
                    lemma = unrolled.moves(run, i, side)
                    self.each.append((self.tested(lemma, t, self.vector(row, -1)), ONE))
            slope, _ = self.sample(t, 0, side)
            there = atom_of(block(side, k.gradient(k.Local(n), self.x(t))))
            if row := self.own.eliminate(there, {slope: ONE}):
                lemma = changed(run, self.S, side)
                self.each.append((self.tested(lemma, t, self.vector(row)), -ONE))
            for i in range(self._within(side)):
                slope, xi = self.sample(t, i, side)
                by = {point(i): 1 / eta, point(i + 1): -1 / eta}
                by |= {xi: -ONE} if self.noisy else {}
                self._step(self.own.eliminate(slope, by), t, i, side)
            if row := self.own.eliminate(point(0), {self._model(t, side): ONE}):
                lemma = unrolled.begins(run, side)
                self.each.append((self.tested(lemma, t, self.vector(row)), -ONE))

    def _step(self, row: Row, t: int, i: int, side: k.Side | None) -> None:
        """Enter what a client's step is made of, beside a combination."""
        if row:
            lemma = moves(self.run, i, side, self.noisy)
            theorem = self.tested(lemma, t, self.vector(row))
            self.each.append((theorem, -1 / self._rate(t, side)))

    def _mean_step(self, row: Row, t: int, i: int, side: k.Side | None) -> None:
        """Enter what the means of a step are made of, beside a combination."""
        if row:
            lemma = mean_step(self.run, i, side, self.noisy)
            theorem = self.tested(lemma, t, self.vector(row))
            self.uses.append((theorem, -1 / self._rate(t, side)))

    def _within(self, side: k.Side | None) -> int:
        """Return how many steps end where a client's gradient is taken."""
        made = unrolled.steps_of(self.run, side)
        return made - (made == unrolled.longest(self.run))

    def _means(self, side: k.Side | None) -> None:
        """Replace mean gradients by the way of the means, measured from x* or x(0)."""
        run, made = self.run, unrolled.steps_of(self.run, side)
        for t in range(self.rounds + 1):
            x, last = self.x(t), t == self.rounds
            at_end = atom_of(block(side, k.gradient(k.Local(n), x)))
            own = at_end if last else self.sample(t, 0, side)[0]
            mine = atom_of(block(side, k.gradient(k.MEAN, x)))
            if row := self.common.eliminate(mine, {self.mean(own): ONE}):
                u = self.vector(row)
                if last:
                    self.uses.append((rules.mean_gradient(x, u), -ONE))
                else:
                    lemma = mean_slope(run, self.S, side)
                    self.uses.append((self.tested(lemma, t, u), -ONE))
        for t in range(self.rounds):
            eta = self._rate(t, side)
            ends = [self._model(t, side)]
            ends += [self._mean_point(t, i, side) for i in range(1, made)]
            ends.append(self._model(t + 1, side))
            for i in range(made):
                slope, xi = map(self.mean, self.sample(t, i, side))
                by: Row = {ends[i]: 1 / eta, ends[i + 1]: -1 / eta}
                by |= {xi: -ONE} if self.noisy else {}
                self._mean_step(self.common.eliminate(slope, by), t, i, side)
            by = {ends[-1]: ONE}
            if row := self.common.eliminate(self._mean_point(t, made, side), by):
                lemma = self.tested(closes(run, side), t, self.vector(row))
                self.uses.append((lemma, ONE))
        base: Name = atom_of(block(side, k.vec(k.Star(k.MEAN))))
        if not self.common.rows.get(base):
            base = self._model(0, side)
        places = [self._model(t, side) for t in range(self.rounds + 1)]
        places += [
            self._mean_point(t, i, side)
            for t in range(self.rounds)
            for i in range(1, made)
        ]
        for place in {*places} - {base}:
            away = f"way to {place}"
            self.vectors[away] = self.vector({place: ONE, base: -ONE})
            self.common.eliminate(place, {base: ONE, away: ONE})
        self._based(base)

    def _based(self, base: Name) -> None:
        """Make sure that nothing depends on where all is measured from.

        Raises:
            ValueError: something does.
        """
        if self.common.rows.get(base):
            raise ValueError("the sum depends on where x* is")

    def _mean_point(self, t: int, i: int, side: k.Side | None) -> Name:
        return self.mean(atom_of(block(side, self.p(t, i))))


def negative(form: Quadratic[Name]) -> Quadratic[Name]:
    """Return minus a form."""
    found = Quadratic[Name]()
    for a, b, c in form.items():
        found.add(a, b, -c)
    return found


# Single steps without noise, tested with any w ----------------------------------------


@cache
def quiet(run: k.Split, i: int, side: k.Side | None) -> Theorem:
    """Return ``<[p_{i+1} - p_i + eta grad F_n(p_i)]_b, w> = 0``."""
    after, before = (k.local_point(run, n, now, j) for j in (i + 1, i))
    eta, beside = unrolled.rate_of(run, side), block(side, w)
    move = after - before + k.gradient(k.Local(n), before) * eta
    away = unrolled.still(run, i)
    away = away if side is None else tested(away, now, beside)
    return combine(
        unrolled.moves(run, i, side),
        (away, -eta),
        target=k.inner(block(side, move), w),
    )


@cache
def changed(run: k.Split, S: Ratio, side: k.Side | None) -> Theorem:
    """Return ``<[grad F_n(x(t)) - grad F_n(p(n,t,0))]_b, w> = 0``: it is one point."""
    x, p = k.iterate(run, now), k.local_point(run, n, now, 0)
    z = k.gradient(k.Local(n), x) - k.gradient(k.Local(n), p)
    sides = (None,) if side is None else tuple(k.Side)
    uses = [(derived.lipschitz(k.Local(n), S, x, p), ratio(1))]
    uses += [(tested(unrolled.begins(run, b), now, p - x), -(S**2)) for b in sides]
    if side is not None:
        uses.append((rules.blocks(p - x, p - x), -(S**2)))
    none = combine(*uses, target=-k.norm2(z))
    return rules.vanish(none, z, block(side, w))


def averaged(theorem: Theorem, u: k.Vec) -> Theorem:
    """Return ``<sum_n a_n u, w> = 0`` from ``<u, w> = 0``."""
    each = sum_over(theorem, k.CLIENTS, n, k.weight(n))
    return combine(each, rules.linear(k.CLIENTS, n, u * k.weight(n), w))


@cache
def mean_begin(run: k.Split, side: k.Side | None) -> Theorem:
    """Return ``<[sum_n a_n p(n,t,0) - x(t)]_b, w> = 0``."""
    away = k.local_point(run, n, now, 0) - k.iterate(run, now)
    return averaged(unrolled.begins(run, side), block(side, away))


def moves(run: k.Split, i: int, side: k.Side | None, noisy: bool) -> Theorem:
    """Return ``<[p_{i+1} - p_i + eta g]_b, w> = 0``, g with noise or without."""
    return (unrolled.moves if noisy else quiet)(run, i, side)


@cache
def mean_step(run: k.Split, i: int, side: k.Side | None, noisy: bool) -> Theorem:
    """Return ``<[sum_n a_n (p_{i+1} - p_i + eta g)]_b, w> = 0``.

    Instead of the mean of ``p_0`` stands x(t), instead of the last point's x(t+1).
    """
    after, before = (k.local_point(run, n, now, j) for j in (i + 1, i))
    made = k.gradient(k.Local(n), before)
    made = unrolled.step(run, i) if noisy else made
    move = block(side, after - before + made * unrolled.rate_of(run, side))
    uses = [averaged(moves(run, i, side, noisy), move)]
    uses += [] if i else [mean_begin(run, side)]
    uses += [closes(run, side)] if i + 1 == unrolled.steps_of(run, side) else []
    return combine(*uses)


@cache
def mean_slope(run: k.Split, S: Ratio, side: k.Side | None) -> Theorem:
    """Return ``<[grad f(x(t)) - sum_n a_n grad F_n(p(n,t,0))]_b, w> = 0``."""
    x, p = k.iterate(run, now), k.local_point(run, n, now, 0)
    change = k.gradient(k.Local(n), x) - k.gradient(k.Local(n), p)
    same = averaged(changed(run, S, side), block(side, change))
    return combine(rules.mean_gradient(x, block(side, w)), same)


@cache
def closes(run: k.Split, side: k.Side | None) -> Theorem:
    """Return ``<[x(t+1) - sum_n a_n p(n,t,end)]_b, w> = 0``, end the last step made."""
    made, eta = unrolled.steps_of(run, side), unrolled.rate_of(run, side)
    uses = [(unrolled.gathers(run, side), 1), (mean_begin(run, side), -1)]
    for i in range(made):
        after, before = (k.local_point(run, n, now, j) for j in (i + 1, i))
        move = block(side, after - before + unrolled.step(run, i) * eta)
        uses.append((averaged(unrolled.moves(run, i, side), move), -1))
    end = mean(block(side, k.local_point(run, n, now, made)))
    target = k.inner(block(side, k.iterate(run, now + 1)) - end, w)
    return combine(*uses, target=target)
