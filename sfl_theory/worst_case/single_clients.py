"""Adds up theorems on given clients: points become gradients, the rest squares.

The like of `assembly` where each client has vectors of its own, as in SFL-V2. Nothing
of this is trusted: a theorem is what the kernel's rules make of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import product

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.by_number import Numbers, client, of_client
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.unrolled import W, atom_of, block, n, tested, w
from sfl_theory.worst_case.assembly import SIDES, Name, Row, fraction
from sfl_theory.worst_case.certificate import Atom, Point, Square
from sfl_theory.worst_case.quadratic import Quadratic

ZERO, ONE = Fraction(0), Fraction(1)
STAR = k.vec(k.Star(k.MEAN))


def against(lemma: Theorem, u: k.Vec) -> Theorem:
    """Return a lemma on every w for one vector."""
    return rules.instantiate(lemma, ((W, u),), ())


class SingleClients:
    """Theorems with multipliers; ``form`` is the quadratic part of ``sum - target``."""

    orthogonal = False
    """Whether what noise is orthogonal to is found here, not in a certificate."""

    def __init__(
        self, numbers: Numbers, S: Fraction, noisy: bool, target: k.Lin
    ) -> None:
        self.numbers, self.run, self.S = numbers, numbers.run, ratio(S)
        self.rounds, self.noisy, self.target = numbers.rounds, noisy, target
        run = self.run
        same = run.kind is k.Kind.V1 and run.client == run.server
        self.sides: tuple[k.Side | None, ...] = (None,) if same else tuple(k.Side)
        self.form = Quadratic[Name]()
        self.values: dict[tuple[k.Function, k.Vec], Fraction] = {}
        self.uses: list[tuple[Theorem | k.Vec, Fraction]] = []
        self.vectors: dict[Name, k.Vec] = {}
        self.flat: Theorem | None = None
        self._read(target, -ONE)

    def use(self, theorem: Theorem, factor: Fraction) -> None:
        """Add a multiple of a theorem."""
        if factor:
            self.uses.append((theorem, factor))
            self._read(theorem.form, factor)

    def proved(self, squares: Iterable[Square]) -> Theorem:
        """Return the theorem ``target >= 0``.

        Args:
            squares: what the theorems leave over.

        Returns:
            The theorem.

        Raises:
            ValueError: the theorems do not add up to it.
        """
        return combine(self._whole(squares), target=self.target)

    def _whole(self, squares: Iterable[Square]) -> Theorem:
        """Return the sum of all that is used, with what points are put in."""
        self._values()
        if self.sides != (None,):
            self._split()
        for side in self.sides:
            self._slopes(side)
            self._put_in(side)
            self._start(side)
        self._silence()
        self._squares(squares)
        return combine(*self.uses)

    def _put_in(self, side: k.Side | None) -> None:
        """Put in what the points of each round are."""
        for s in reversed(range(self.rounds)):
            self._points(s, side)

    # What is added ---------------------------------------------------------------

    def _read(self, form: k.Lin, factor: Fraction) -> None:
        for atom, number in form.coefficients.items():
            if isinstance(atom, k.Unit):
                continue
            c = factor * fraction(number)
            if isinstance(atom, k.Inner):
                self.form.add(atom.left, atom.right, c)
            elif isinstance(atom, k.Value):
                key = (atom.function, atom.at)
                self.values[key] = self.values.get(key, ZERO) + c
            else:
                raise ValueError(f"{atom} is not expected here")

    def vector(self, row: Row, sign: int = 1) -> k.Vec:
        """Return a combination of named vectors."""
        found = k.Vec({})
        parts = [
            (k.vec(name) if isinstance(name, k.VecAtom) else self.vectors[name])
            * (c * sign)
            for name, c in row.items()
        ]
        return found.plus(parts)

    def _replace(self, name: Name, by: Row, lemma: Theorem) -> None:
        """Replace a vector, where a lemma says ``<vector - by, w> >= 0`` for all w."""
        if beside := self.form.eliminate(name, by):
            self.uses.append((against(lemma, self.vector(beside, -1)), ONE))

    # Values ------------------------------------------------------------------------

    def models(self) -> Iterable[k.Vec]:
        """Return where f's gradients are."""
        return [k.iterate(self.run, s) for s in range(self.rounds + 1)]

    def first(self, s: int) -> Iterator[int]:
        """Yield the clients whose first point of round s is x(s)."""
        still = not fraction(self.run.server.rate.at(ratio(s)))
        for q in self.numbers.clients:
            first = self.numbers.orders[s][0][0]
            if not self.run.kind.visits or q == first or still:
                yield q

    def _means(self) -> None:
        """Write f by the clients' functions."""
        for (function, x), c in [*self.values.items()]:
            if c and function == k.MEAN and x != STAR:
                lemma = self.numbers.value(self.S, x, 1 if c > 0 else -1)
                self.use(lemma, abs(c))

    def _values(self) -> None:
        """Write f by the clients' functions, and F_q(x(t)) as F_q(p(q,t,0)).

        Raises:
            ValueError: values are left over.
        """
        self._means()
        for s in range(self.rounds):
            x = k.iterate(self.run, s)
            for q in self.first(s):
                F, p = k.Local(client(q)), k.local_point(self.run, client(q), s, 0)
                c = self.values.get((F, x), ZERO)
                ends = (p, x) if c > 0 else (x, p)
                self.use(rules.smooth(F, self.S, *ends), abs(c))
        if any(self.values.values()):
            raise ValueError("the values of functions do not cancel")

    # Replacing points --------------------------------------------------------------

    def _split(self) -> None:
        """Write inner products as sums over the two blocks."""
        beside: dict[Name, Row] = {}
        for a, b, c in [*self.form.items()]:
            if isinstance(a, k.VecAtom) and k.side_of(a) is None:
                beside.setdefault(a, {})[b] = c
        for a, row in beside.items():
            split = rules.blocks(self.vector({a: ONE}), self.vector(row))
            self.uses.append((split, -ONE))
            for b, c in row.items():
                self.form.add(a, b, -c)
                for side in k.Side:
                    one, other = (
                        atom_of(k.part(side, self.vector({x: ONE}))) for x in (a, b)
                    )
                    self.form.add(one, other, c)

    def _slopes(self, side: k.Side | None) -> None:
        """Write gradients of f by the clients', and one at x* by the others'."""
        weights, numbers = self.numbers.weights, self.numbers
        for x in self.models():
            mine = self._gradient(k.MEAN, x, side)
            if self.form.rows.get(mine):
                by = {
                    self._gradient(k.Local(client(q)), x, side): a
                    for q, a in enumerate(weights)
                }
                self._replace(mine, by, numbers.slope(x))
        none = rules.stationary(k.MEAN, w)
        self._replace(self._gradient(k.MEAN, STAR, side), {}, none)
        if self.flat is None:
            *others, last = self._flats(side)
            pairs = zip(others, weights[:-1], strict=True)
            by = {name: -a / weights[-1] for name, a in pairs}
            zero = combine(numbers.slope(STAR), (none, -1))
            self._replace(last, by, against(zero, -w * (1 / ratio(weights[-1]))))

    def _points(self, s: int, side: k.Side | None) -> None:
        """Replace x(s+1), local points of round s and gradients at x(s)."""
        x = k.iterate(self.run, s)
        later = atom_of(block(side, k.iterate(self.run, s + 1)))
        if self.form.rows.get(later):
            lemma, terms = self.numbers.next_model(s, side)
            by = {atom_of(block(side, x)): ONE} | self._moves(terms, s, side)
            self._replace(later, by, lemma)
        for q in self.numbers.clients:
            for step in reversed(range(unrolled.longest(self.run))):
                name = self._local(q, s, step, side)
                if self.form.rows.get(name):
                    self._replace(name, *self._point(q, s, step, side))
        for q in self.first(s):
            F = k.Local(client(q))
            there = self._gradient(F, k.local_point(self.run, client(q), s, 0), side)
            by = {there: ONE, self.change(q, s, side): ONE}
            self.form.eliminate(self._gradient(F, x, side), by)

    def _point(
        self, q: int, s: int, step: int, side: k.Side | None
    ) -> tuple[Row, Theorem]:
        """Return what a local point is made of, and the theorem that says so."""
        run, by = self.run, Row()
        first: Row = {atom_of(block(side, k.iterate(self.run, s))): ONE}
        if side is k.Side.SERVER and run.kind.shared:
            lemma, terms = self.numbers.point(q, s, step, side)
            return first | self._moves(terms, s, side), lemma
        if not step:
            lemma, by = unrolled.begins(run, side), first
        else:
            lemma = unrolled.moves(run, step - 1, side)
            by = {self._local(q, s, step - 1, side): ONE}
            if step <= unrolled.steps_of(run, side):
                rate = run.pace(side or k.Side.CLIENT).rate.at(ratio(s))
                by |= self._moves({(q, step - 1): rate}, s, side)
        return by, of_client(tested(lemma, s, w), q)

    def _start(self, side: k.Side | None) -> None:
        """Write x(0) as x* and the start.

        Raises:
            ValueError: something depends on x* itself, not on x(0) - x*.
        """
        star, first = (atom_of(block(side, u)) for u in (STAR, k.iterate(self.run, 0)))
        start = f"start {side}"
        self.vectors[start] = self.vector({first: ONE, star: -ONE})
        self.form.eliminate(first, {star: ONE, start: ONE})
        if self.form.rows.get(star):
            raise ValueError("the sum depends on where x* is")

    # What vanishes -------------------------------------------------------------------

    def _silence(self) -> None:
        """Remove what has no square: beside any vector it is 0."""
        if self.flat is not None:
            for q in self.numbers.clients:
                names = {side: self._flats(side)[q] for side in self.sides}
                self._vanish(names, partial(self._flat_at, q))
        for s in range(self.rounds):
            for q in self.first(s):
                names = {side: self.change(q, s, side) for side in self.sides}
                self._vanish(names, partial(self._changed, q, s))
            steps = range(0 if self.noisy else unrolled.longest(self.run))
            for q, step in product(self.numbers.clients, steps):
                xi = k.noise(self.run, client(q), s, step)
                names = {side: atom_of(block(side, xi)) for side in self.sides}
                self._vanish(names, partial(self._quiet, q, s, step))

    def _vanish(
        self,
        names: Mapping[k.Side | None, Name],
        silent: Callable[[], tuple[k.Vec, Theorem]],
    ) -> None:
        """Remove the blocks of a vector, where it occurs: its square is at most 0."""
        if any(self.form.rows.get(name) for name in names.values()):
            z, none = silent()
            lemma = rules.vanish(none, z, w)
            for side, name in names.items():
                if beside := self.form.eliminate(name, {}):
                    u = block(side, self.vector(beside, -1))
                    self.uses.append((against(lemma, u), ONE))

    def _quiet(self, q: int, s: int, step: int) -> tuple[k.Vec, Theorem]:
        """Return a noise, and that it has no variance."""
        none = derived.variance(self.run, ratio(0), n, ratio(s), ratio(step))
        return k.noise(self.run, client(q), s, step), of_client(none, q)

    def _flat_at(self, q: int) -> tuple[k.Vec, Theorem]:
        """Return F_q's gradient at x* and that its square is at most 0.

        Raises:
            ValueError: no gradients at x* vanish.
        """
        if self.flat is None:
            raise ValueError("no gradients at x* vanish")
        weights = self.numbers.weights
        each = [k.gradient(k.Local(client(p)), STAR) for p in self.numbers.clients]
        others = [(g, a / weights[q]) for g, a in zip(each, weights, strict=True)]
        del others[q]
        target = -k.norm2(each[q])
        return each[q], combine((self.flat, 1 / weights[q]), *others, target=target)

    def _changed(self, q: int, s: int) -> tuple[k.Vec, Theorem]:
        """Return how F_q's gradient changes from p(q,s,0) to x(s), and that it is 0."""
        F, p = k.Local(client(q)), k.local_point(self.run, client(q), s, 0)
        x = k.iterate(self.run, s)
        z = k.gradient(F, x) - k.gradient(F, p)
        uses = [(derived.lipschitz(F, self.S, x, p), ratio(1))]
        for side in self.sides:
            _, lemma = self._point(q, s, 0, side)
            uses.append((against(lemma, x - p), self.S**2))
        if self.sides != (None,):
            uses.append((rules.blocks(p - x, p - x), -(self.S**2)))
        return z, combine(*uses, target=-k.norm2(z))

    # What is left over --------------------------------------------------------------

    def _squares(self, squares: Iterable[Square]) -> None:
        """Enter squares."""
        for square in squares:
            row: Row = {}
            for atom, c in square.form:
                name = self._named(atom, SIDES[square.space.side])
                row[name] = row.get(name, ZERO) + c
            self.uses.append((self.vector(row), square.weight))

    # Names --------------------------------------------------------------------------

    def _named(self, atom: Atom, side: k.Side | None) -> Name:
        if side not in self.sides:
            raise ValueError(f"the run has no space {side}")
        if atom.kind == "start":
            return f"start {side}"
        if atom.client is None:
            raise ValueError(f"{atom} has no client")
        return atom_of(block(side, self.drawn(atom, client(atom.client))))

    def drawn(self, atom: Atom, q: k.ClientIndex) -> k.Vec:
        """Return a gradient or a noise as q's, or x(0) - x*.

        Raises:
            ValueError: the atom has no point, or is of another kind.
        """
        if atom.kind == "start":
            return k.iterate(self.run, 0) - STAR
        if atom.point is None or atom.kind not in {"gradient", "noise"}:
            raise ValueError(f"{atom} is not expected here")
        if atom.kind == "noise":
            return k.noise(self.run, q, atom.point.t, atom.point.i)
        return k.gradient(k.Local(q), self.at(atom.point, q))

    def at(self, point: Point, q: k.ClientIndex) -> k.Vec:
        """Return a point of client q."""
        if point.kind == "star":
            return STAR
        if point.kind == "round":
            return k.iterate(self.run, point.t)
        if point.kind == "average":
            parts = (k.iterate(self.run, s) for s in range(self.rounds))
            return k.Vec({}).plus(parts) * Fraction(1, self.rounds)
        return k.local_point(self.run, q, point.t, point.i)

    def change(self, q: int, s: int, side: k.Side | None) -> Name:
        """Return the name of ``grad F_q(x(s)) - grad F_q(p(q,s,0))``, which is 0."""
        name, F = f"change {q} {s} {side}", k.Local(client(q))
        x, p = k.iterate(self.run, s), k.local_point(self.run, client(q), s, 0)
        self.vectors[name] = block(side, k.gradient(F, x) - k.gradient(F, p))
        return name

    def _flats(self, side: k.Side | None) -> list[Name]:
        """Return the names of the clients' gradients at x*."""
        clients = map(client, self.numbers.clients)
        return [self._gradient(k.Local(q), STAR, side) for q in clients]

    def _gradient(self, F: k.Function, x: k.Vec, side: k.Side | None) -> Name:
        return atom_of(block(side, k.gradient(F, x)))

    def _local(self, q: int, s: int, step: int, side: k.Side | None) -> Name:
        return atom_of(block(side, k.local_point(self.run, client(q), s, step)))

    def _moves(
        self, terms: dict[tuple[int, int], Ratio], s: int, side: k.Side | None
    ) -> Row:
        """Return minus the sum of steps' gradients and noises, with these factors."""
        found: Row = {}
        for (q, step), c in terms.items():
            p = k.local_point(self.run, client(q), s, step)
            g = k.gradient(k.Local(client(q)), p)
            for u in (g, k.noise(self.run, client(q), s, step)):
                found[atom_of(block(side, u))] = -fraction(c)
        return found
