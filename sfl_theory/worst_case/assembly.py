"""Adds up theorems on a run of SFL-V1: points become gradients, the rest squares.

Local points and models are replaced by the gradients that made them, averages over the
clients by averages of vectors, and squares are entered for what is left over. Nothing
of this is trusted: a theorem is what the kernel's rules make of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import interleaved, unrolled
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import atom_of, below, block, mean, n, tested
from sfl_theory.worst_case.certificate import Atom, Point, Space, Square
from sfl_theory.worst_case.deviations import enter
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.silent import silence

ZERO, ONE = Fraction(0), Fraction(1)
SIDES: dict[str, k.Side | None] = {
    "both": None,
    "client": k.Side.CLIENT,
    "server": k.Side.SERVER,
}
Name = k.VecAtom | str
Row = dict[Name, Fraction]
Uses = list[tuple[Theorem, Number]]
Squares = list[tuple[k.Vec, Fraction]]


class Assembly:
    """Theorems with multipliers, on client n (averaged) or on what clients share.

    ``own`` and ``common`` are the quadratic part of ``sum - target``: in vectors of
    client n, averaged over the clients, and in vectors that they share.

    Rounds are counted from `first`. The sum is one on functions ``scale F_n``, scale at
    most 1: gradients and noises are multiplied by it where they are named, so that the
    numbers of `own` and `common` are fractions. `visits` says how SFL-V2's happen.
    """

    orthogonal = False
    """Whether what noise is orthogonal to is found here, not in a certificate."""

    def __init__(
        self,
        run: k.Split,
        rounds: int,
        S: Fraction,
        noisy: bool,
        target: k.Lin,
        first: Number = 0,
        scale: Number = 1,
        visits: interleaved.Interleaved | None = None,
    ) -> None:
        self.run, self.rounds, self.S, self.target = run, rounds, ratio(S), target
        self.noisy, self.first, self.scale = noisy, ratio(first), ratio(scale)
        self.visits = visits
        self.flat: Theorem | None = None
        same = run.client == run.server and not run.kind.shared
        self.sides: tuple[k.Side | None, ...] = (None,) if same else tuple(k.Side)
        self.own, self.common = Quadratic[Name](), Quadratic[Name]()
        self.values: dict[tuple[k.Function, k.Vec], Fraction] = {}
        self.each: Uses = []
        self.uses: Uses = []
        self.averaged: dict[Name, Row] = {}
        self.each_squares: Squares = []
        self.squares: Squares = []
        self.vectors: dict[Name, k.Vec] = {}
        self.means: dict[Name, Name] = {}
        self.prices: dict[Name, Fraction] = {}
        self._read(target, ratio(-1))

    def vanish(self, flat: Theorem) -> None:
        """Enter ``-sum_n a_n ||grad F_n(x*)||^2 >= 0``: these gradients are 0."""
        self.flat = flat

    def use(self, theorem: Theorem, factor: Number) -> None:
        """Add a multiple of a theorem; one that speaks of n is averaged."""
        if factor:
            self.add(theorem, factor)
            self._read(theorem.form, ratio(factor))

    def add(self, theorem: Theorem, factor: Number) -> None:
        """Add a multiple of a theorem whose form is accounted for."""
        about_n = n in theorem.form.free
        (self.each if about_n else self.uses).append((theorem, factor))

    def proved(self, squares: Iterable[Square]) -> Theorem:
        """Return the theorem ``target >= 0``.

        Args:
            squares: what the theorems leave over.

        Returns:
            The theorem.

        Raises:
            ValueError: the theorems do not add up to it.
        """
        self._first_points()
        if self.sides != (None,):
            self._split()
        for side in self.sides:
            self._local_points(side)
        self._average()
        for side in self.sides:
            self._models(side)
        self._balance_values()
        self._stationary()
        silence(self)
        self._squares(squares)
        self._stationary()
        return self.added()

    def added(self) -> Theorem:
        """Return the sum of what has been entered, which is the target."""
        for u, row in self.averaged.items():
            if beside := {v: c for v, c in row.items() if c}:
                own, other = self.vector({u: ONE}) * k.weight(n), self.vector(beside)
                self.uses.append((rules.linear(k.CLIENTS, n, own, other), ONE))
        each = combine(*self.each, *self.each_squares)
        average = sum_over(each, k.CLIENTS, n, k.weight(n))
        return combine(average, *self.uses, *self.squares, target=self.target)

    # What is added ---------------------------------------------------------------

    def _read(self, form: k.Lin, factor: Ratio) -> None:
        for atom, number in form.coefficients.items():
            if isinstance(atom, k.Unit):
                continue
            if isinstance(atom, k.LinSum):
                if atom.binder is not k.CLIENTS:
                    raise ValueError(f"{atom} is no average over clients")
                v, inside = atom.opened()
                inside = k.renamed(inside, v, n)
                ((term, c),) = inside.coefficients.items()
                self._read(k.Lin({term: number}), factor * _over_weight(c))
                continue
            whole = factor * number
            if isinstance(atom, k.Inner):
                pairs = self.own if n in atom.free else self.common
                unit = self.unit(atom.left) * self.unit(atom.right)
                pairs.add(atom.left, atom.right, fraction(whole / unit))
            elif isinstance(atom, k.Value):
                c, key = fraction(whole / self.scale), (atom.function, atom.at)
                self.values[key] = self.values.get(key, ZERO) + c
            else:
                raise ValueError(f"{atom} is not expected here")

    def unit(self, atom: k.VecAtom) -> Ratio:
        """Return by what a vector is multiplied where it is named."""
        while isinstance(atom, k.Part | k.VecSum):
            atom = atom.vector if isinstance(atom, k.Part) else atom.body
        return self.scale if isinstance(atom, k.Gradient | k.Noise) else ratio(1)

    def vector(self, row: Mapping[Name, Fraction], sign: int = 1) -> k.Vec:
        """Return a combination of named vectors."""
        terms: dict[k.VecAtom, Ratio] = {}
        for name, c in row.items():
            if isinstance(name, k.VecAtom):
                u = k.vec(name) * self.unit(name)
            else:
                u = self.vectors[name]
            for atom, x in u.coefficients.items():
                new = x * (c * sign)
                terms[atom] = terms[atom] + new if atom in terms else new
        return k.Vec(terms)

    def of_n(self, name: Name) -> bool:
        """Return whether a vector is client n's."""
        return n in self.vector({name: ONE}).free

    def mean(self, name: Name) -> Name:
        """Return the name of the average over the clients."""
        if name not in self.means:
            if isinstance(name, k.VecAtom):
                self.means[name] = atom_of(mean(k.vec(name)))
            else:
                self.means[name] = found = f"mean of {name}"
                self.vectors[found] = mean(self.vectors[name])
        return self.means[name]

    # Replacing points --------------------------------------------------------------

    def _first_points(self) -> None:
        """Replace F_n(x(t)) in f(x(t)) by F_n(p(n,t,0)), in the direction needed."""
        for t in range(0 if self.visits else self.rounds):
            x, p = self.x(t), self.p(t, 0)
            c = self.values.get((k.MEAN, x), ZERO)
            ends = (p, x) if c > 0 else (x, p)
            self.use(below(self.scale, self.S, *ends), abs(c))

    def _split(self) -> None:
        """Write inner products as sums over the two blocks."""
        for form, uses in ((self.own, self.each), (self.common, self.uses)):
            whole = [pair for pair in form.items() if _whole(pair[0])]
            beside: dict[Name, Row] = {}
            for a, b, c in whole:
                beside.setdefault(a, {})[b] = c
            for a, row in beside.items():
                split = rules.blocks(self.vector({a: ONE}), self.vector(row))
                uses.append((split, -ONE))
            for a, b, c in whole:
                form.add(a, b, -c)
                for side in k.Side:
                    one, other = (
                        atom_of(k.part(side, self.vector({x: ONE}))) for x in (a, b)
                    )
                    form.add(one, other, c)

    def _local_points(self, side: k.Side | None) -> None:
        """Replace local points by x(t) and the samples of the steps before them."""
        run, made = self.run, unrolled.steps_of(self.run, side)
        if self.visits and side is k.Side.SERVER:
            self._meetings(self.visits)
            return
        for t in reversed(range(self.rounds)):
            eta = self._rate(t, side)

            def point(i: int, t: int = t) -> Name:
                return atom_of(block(side, self.p(t, i)))

            for i in reversed(range(1, unrolled.longest(run))):
                by: Row = {point(i - 1): ONE}
                if i <= made:
                    moving = [*self.sample(t, i - 1, side)]
                    if unrolled.one_server(run, side):
                        moving = [*map(self.mean, moving)]
                    by |= dict.fromkeys(moving, -eta)
                if w := self.own.eliminate(point(i), by):
                    lemma = unrolled.moves(run, i - 1, side)
                    self.each.append((self.tested(lemma, t, self.vector(w, -1)), ONE))
            if w := self.own.eliminate(point(0), {self._model(t, side): ONE}):
                lemma = unrolled.begins(run, side)
                self.each.append((self.tested(lemma, t, self.vector(w)), -ONE))
            if self.visits:
                continue
            first, _ = self.sample(t, 0, side)
            there = atom_of(block(side, k.gradient(k.Local(n), self.x(t))))
            self.own.eliminate(there, {first: ONE, self.change(t, side): ONE})

    def _meetings(self, visits: interleaved.Interleaved) -> None:
        """Replace where clients meet SFL-V2's server by its steps before and lags."""
        side = k.Side.SERVER
        for t in reversed(range(self.rounds)):
            eta = self._rate(t, side) * visits.clients
            by: Row = {self._model(t, side): ONE}
            for i in range(unrolled.longest(self.run)):
                at = atom_of(block(side, self.p(t, i)))
                if w := self.own.eliminate(at, by | {self.lag(t, i): -eta}):
                    lemma = interleaved.place(visits, i)
                    self.each.append((self.tested(lemma, t, self.vector(w, -1)), ONE))
                by |= {self.mean(one): -eta for one in self.sample(t, i, side)}

    def lag(self, t: int, i: int) -> Name:
        """Return the name of the visits before client n's at a step of SFL-V2.

        Raises:
            ValueError: the run has none.
        """
        if self.visits is None:
            raise ValueError("lags are SFL-V2's")
        name = f"lag {t} {i}"
        if name not in self.vectors:
            there = k.vec_at(self.visits.lag(i), {unrolled.t: self.first + t})
            self.vectors[name] = there * self.scale
        return name

    def _average(self) -> None:
        """Average over the clients: ``<u_n, v>`` becomes ``<mean u, v>``."""
        beside: dict[Name, Row] = {}
        for a, b, c in [*self.own.items()]:
            if self.of_n(a) and self.of_n(b):
                continue
            self.own.add(a, b, -c)
            u, v = (a, b) if self.of_n(a) else (b, a)
            if self.of_n(u):
                beside.setdefault(u, {})[v] = c
                u = self.mean(u)
            self.common.add(u, v, c)
        for u, row in beside.items():
            self.linear(u, row, ONE)

    def linear(self, u: Name, row: Row, sign: Fraction) -> None:
        """Use ``<mean u, v> = mean <u, v>`` for a common v."""
        known = self.averaged.setdefault(u, {})
        for v, c in row.items():
            known[v] = known.get(v, ZERO) + sign * c

    def _models(self, side: k.Side | None) -> None:
        """Replace grad f(x(t)) by the clients' gradients, x(t) by what made it.

        Raises:
            ValueError: something depends on x* itself, not on x(0) - x*.
        """
        for t in range(self.rounds + 1):
            x = self.x(t)
            own: Row = {atom_of(block(side, k.gradient(k.Local(n), x))): ONE}
            if t < self.rounds and not self.visits:
                own = {self.sample(t, 0, side)[0]: ONE, self.change(t, side): ONE}
            mine = atom_of(block(side, k.gradient(k.MEAN, x)))
            by = {self.mean(one): c for one, c in own.items()}
            if w := self.common.eliminate(mine, by):
                self.uses.append((rules.mean_gradient(x, self.vector(w)), -self.scale))
        for t in reversed(range(self.rounds)):
            eta, by = self._rate(t, side), {self._model(t, side): ONE}
            visits = self.visits if side is k.Side.SERVER else None
            eta = eta * visits.clients if visits else eta
            for i in range(unrolled.steps_of(self.run, side)):
                means = [self.mean(one) for one in self.sample(t, i, side)]
                by |= dict.fromkeys(means, -eta)
            if w := self.common.eliminate(self._model(t + 1, side), by):
                lemma = (
                    interleaved.gathered(visits)
                    if visits
                    else unrolled.gathers(self.run, side)
                )
                self.uses.append((self.tested(lemma, t, self.vector(w, -1)), ONE))
        star = atom_of(block(side, k.vec(k.Star(k.MEAN))))
        start = f"start {side}"
        self.vectors[start] = self.vector({self._model(0, side): ONE, star: -ONE})
        self.common.eliminate(self._model(0, side), {star: ONE, start: ONE})
        if self.common.rows.get(star):
            raise ValueError("the sum depends on where x* is")

    def _balance_values(self) -> None:
        """Write averages of values at common points as values of f.

        Raises:
            ValueError: they do not cancel.
        """
        for (function, at), c in self.values.items():
            if c and n in at.free:
                raise ValueError(f"the values of F_n at {at} do not cancel")
            if c and function == k.Local(n):
                self.uses.append((rules.mean_value(at), self.scale * c))
                if self.values.get((k.MEAN, at), ZERO) != -c:
                    raise ValueError(f"the values at {at} do not cancel")

    # What is left over --------------------------------------------------------------

    def _stationary(self) -> None:
        """Remove grad f(x*) = 0, also as the mean of the clients' gradients."""
        best = k.vec(k.Star(k.MEAN))
        for side in self.sides:
            own, f = (
                block(side, k.gradient(one, best)) for one in (k.Local(n), k.MEAN)
            )
            if w := self.common.eliminate(self.mean(atom_of(own)), {}):
                beside = self.vector(w)
                self.uses.append((rules.mean_gradient(best, beside), self.scale))
                self.uses.append((rules.stationary(k.MEAN, beside), -self.scale))
            if w := self.common.eliminate(atom_of(f), {}):
                star = rules.stationary(k.MEAN, self.vector(w))
                self.uses.append((star, -self.scale))

    def _squares(self, squares: Iterable[Square]) -> None:
        """Enter squares: of the clients' deviations from means, and of means.

        Raises:
            ValueError: silent vectors cost more than squares of single vectors pay.
        """
        apart: list[tuple[Row, Fraction]] = []
        for square in squares:
            row: Row = {}
            for atom, c in square.form:
                name = self._named(atom, square.space)
                row[name] = row.get(name, ZERO) + c
            w, u = square.weight, self.vector(row)
            for name, c in row.items() if len(row) == 1 and any(row.values()) else ():
                paid = min(self.prices.get(name, ZERO), w * c**2)
                self.prices[name] = self.prices.get(name, ZERO) - paid
                w -= paid / c**2
            if not w:
                continue
            if square.space.part == "mean":
                self.squares.append((u, w))
            else:
                apart.append((row, w))
        enter(self, apart)
        if any(self.prices.values()):
            raise ValueError("the squares leave no room for vectors that vanish")

    # Names --------------------------------------------------------------------------

    def _named(self, atom: Atom, space: Space) -> Name:
        side = SIDES[space.side]
        if side not in self.sides:
            raise ValueError(f"the run has no space {space}")
        if atom.kind == "start":
            return f"start {side}"
        if atom.kind == "lag" and atom.point is not None:
            lag = self.lag(atom.point.t, atom.point.i)
            return self.mean(lag) if space.part == "mean" else lag
        name = atom_of(block(side, self.drawn(atom)))
        return self.mean(name) if space.part == "mean" else name

    def drawn(self, atom: Atom) -> k.Vec:
        """Return a gradient or a noise of client n, or x(0) - x*.

        Raises:
            ValueError: the atom has no point.
        """
        if atom.kind == "start":
            return self.x(0) - k.vec(k.Star(k.MEAN))
        if atom.point is None:
            raise ValueError(f"{atom} has no point")
        if atom.kind == "noise":
            when = self.first + atom.point.t
            return k.noise(self.run, n, when, atom.point.i)
        return k.gradient(k.Local(n), self.at(atom.point))

    def at(self, point: Point) -> k.Vec:
        """Return a point of client n."""
        if point.kind == "star":
            return k.vec(k.Star(k.MEAN))
        if point.kind == "round":
            return self.x(point.t)
        if point.kind == "average":
            parts = map(self.x, range(self.rounds))
            return sum(parts, k.Vec({})) * Fraction(1, self.rounds)
        return self.p(point.t, point.i)

    def x(self, t: int) -> k.Vec:
        """Return a model."""
        return k.iterate(self.run, self.first + t)

    def p(self, t: int, i: int) -> k.Vec:
        """Return a local point of client n."""
        return k.local_point(self.run, n, self.first + t, i)

    def tested(self, lemma: Theorem, t: int, by: k.Vec) -> Theorem:
        """Return a lemma of `unrolled` on a round and a vector."""
        return tested(lemma, self.first + t, by)

    def change(self, t: int, side: k.Side | None) -> Name:
        """Return the name of ``grad F_n(x(t)) - grad F_n(p(n,t,0))``, which is 0."""
        name, (x, p) = f"change {t} {side}", (self.x(t), self.p(t, 0))
        change = k.gradient(k.Local(n), x) - k.gradient(k.Local(n), p)
        self.vectors[name] = block(side, change) * self.scale
        return name

    def _rate(self, t: int, side: k.Side | None) -> Fraction:
        rate = self.run.pace(side or k.Side.CLIENT).rate
        return fraction(rate.at(self.first + t) / self.scale)

    def _model(self, t: int, side: k.Side | None) -> Name:
        return atom_of(block(side, self.x(t)))

    def sample(self, t: int, i: int, side: k.Side | None) -> tuple[Name, Name]:
        """Return the names of a step's gradient and noise."""
        noise = k.noise(self.run, n, self.first + t, i)
        both = (k.gradient(k.Local(n), self.p(t, i)), noise)
        one, other = (atom_of(block(side, u)) for u in both)
        return one, other


def fraction(number: Ratio) -> Fraction:
    """Return a number without symbols.

    Args:
        number: of the kernel.

    Returns:
        The fraction.

    Raises:
        ValueError: it has symbols.
    """
    found = number.numerator.coefficients
    if number.denominator or found.keys() - {()}:
        raise ValueError(f"{number} is not a plain number")
    return Fraction(found.get((), 0))


def _whole(name: Name) -> bool:
    return isinstance(name, k.VecAtom) and k.side_of(name) is None


def _over_weight(number: Ratio) -> Fraction:
    """Return c of ``c a_n``.

    Raises:
        ValueError: it is something else.
    """
    ((c, powers),) = number.poly().products
    if powers != {k.Weight(n): 1}:
        raise ValueError(f"{number} does not average over clients")
    return Fraction(c)
