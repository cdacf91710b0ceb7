r"""From a setting to its program: which inequalities the assumptions give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property, partial
from itertools import product

from sfl_theory.worst_case.certificate import STAR, Atom, Inequality, Point, Space
from sfl_theory.worst_case.program import Constraint, Node, Program, Term
from sfl_theory.worst_case.runs import Run, gradient, play
from sfl_theory.worst_case.scenarios import World, merged
from sfl_theory.worst_case.setting import ONE, ZERO, Setting, Visits
from sfl_theory.worst_case.vectors import Key, Vector


def formulated(setting: Setting, apart: bool = False) -> Program:
    """Return the program of a setting.

    Args:
        setting: a run, a class, a start and a metric.
        apart: whether noise may differ where only who takes part does.

    Returns:
        The program; interpolation inequalities are made on demand.
    """
    return _Formulation(setting, apart).program()


class _Formulation:
    """Collects vectors, nodes and constraints while a program is made."""

    def __init__(self, setting: Setting, apart: bool) -> None:
        self.setting = setting
        self.run: Run = play(setting, apart)
        self.place = self.run.coordinates
        self.vectors: list[Vector] = []
        self.nodes: list[Node] = []
        self.given: list[Constraint] = []
        self.values = 0
        self.places: dict[tuple[int | None, Key], list[Node]] = {}
        if setting.mu is not None:
            for n in self.place.clients:
                self.node(n, STAR, Vector(), gradient(setting, self.place, n, STAR))
        seen = set[tuple[int | None, Point]]()
        for step in self.run.steps:
            if (step.client, step.point) not in seen:
                self.node(step.client, step.point, step.x, step.gradient)
            seen.add((step.client, step.point))

    def program(self) -> Program:
        """Return the finished program."""
        objective = self.objective()
        self.assume_start()
        self.assume_bounds()
        if self.setting.visits:
            self.assume_visits(self.setting.visits)
        if self.setting.sigma2:
            self.assume_noise()
        return Program(
            self.setting,
            self.run,
            tuple(self.vectors),
            tuple(self.nodes),
            self.values,
            objective,
            tuple(self.given),
        )

    def vector(self, vector: Vector) -> int:
        """Return the index of a vector that is entered."""
        self.vectors.append(vector)
        return len(self.vectors) - 1

    def node(self, n: int | None, point: Point, x: Vector, slope: Vector) -> Node:
        """Return the node of a function at a point, entered now."""
        value = None
        if point != STAR and not self.pinned(x):
            value, self.values = self.values, self.values + 1
        self.nodes.append(Node(n, point, self.vector(x), self.vector(slope), value))
        self.places.setdefault((n, x.key), []).append(self.nodes[-1])
        return self.nodes[-1]

    def pinned(self, x: Vector) -> bool:
        """Return whether values are relative to the one at x; f* is not known."""
        free = self.setting.mu is None and self.setting.start == "decrease"
        return free and not x.forms

    def everywhere(self, point: Point, x: Vector) -> list[Node]:
        """Return the clients' nodes at a common point, made where there is none."""
        found = []
        for n in self.place.clients:
            same = self.places.get((n, x.key), [])
            same = [node for node in same if node.point != STAR] or [
                self.node(n, point, x, gradient(self.setting, self.place, n, point))
            ]
            found.append(same[0])
        return found

    def models(self, t: int) -> list[tuple[Fraction, list[Node]]]:
        """Return the clients' nodes at what x(t) may be, with probabilities."""
        return [
            (one.chance, self.everywhere(Point("round", t, past=one.past), one.x))
            for one in self.run.worlds[t]
        ]

    def expected(self, t: int, factor: Fraction = ONE) -> list[tuple[int, Fraction]]:
        """Return factor * E f(x(t)), in terms of values."""
        parts = (self.f(nodes, factor * p) for p, nodes in self.models(t))
        return [term for part in parts for term in part]

    def expected_square(self, t: int, factor: Fraction = ONE) -> list[Term]:
        """Return factor * E|x(t) - x*|^2 in terms."""
        return [self.square(one.x, factor * one.chance) for one in self.run.worlds[t]]

    def expected_slope(self, t: int, factor: Fraction = ONE) -> list[Term]:
        """Return factor * E|grad f(x(t))|^2 in terms."""
        return [
            self.square(self.slope(nodes), factor * p) for p, nodes in self.models(t)
        ]

    def f(self, nodes: list[Node], sign: Fraction = ONE) -> list[tuple[int, Fraction]]:
        """Return f at a common point of all clients, in terms of values."""
        return [
            (node.value, sign * self.place.share(node.client))
            for node in nodes
            if node.value is not None
        ]

    def slope(self, nodes: list[Node]) -> Vector:
        """Return grad f at a common point of all clients."""
        return self.place.average(self.vectors[node.gradient] for node in nodes)

    def square(self, vector: Vector, factor: Fraction = ONE) -> Term:
        """Return factor * |vector|^2 as a term."""
        index = self.vector(vector)
        return (index, index, factor)

    def objective(self) -> Constraint:
        """Return the metric."""
        setting, T = self.setting, self.setting.rounds
        metric = Inequality("at-least")
        if setting.metric == "distance":
            return Constraint(metric, (), tuple(self.expected_square(T)))
        total = sum(setting.client_steps) or ONE
        shares = [eta / total for eta in setting.client_steps]
        if setting.metric == "gap":
            if setting.reading == "mean":
                each = [self.expected(t, share) for t, share in enumerate(shares)]
            elif setting.reading == "last":
                each = [self.expected(T)]
            else:
                each = self.averages(T)
            return Constraint(metric, tuple(term for part in each for term in part), ())
        if setting.reading == "average":
            slopes = [self.expected_slope(t, share) for t, share in enumerate(shares)]
            return Constraint(
                metric, (), tuple(term for part in slopes for term in part)
            )
        least, self.values = self.values, self.values + 1
        for t in range(T):
            says = Inequality("at-least", at=Point("round", t))
            slope = tuple(self.expected_slope(t, -ONE))
            self.given.append(Constraint(says, ((least, ONE),), slope))
        return Constraint(metric, ((least, ONE),), ())

    def averages(self, T: int) -> list[list[tuple[int, Fraction]]]:
        """Return f of the average of x(0), ..., x(T-1) in every scenario."""
        found = []
        for one in merged([
            World(one.chance, one.total.plus(one.x), one.past)
            for one in self.run.worlds[T - 1]
        ]):
            mean = Vector().plus(one.x, Fraction(1, T))
            nodes = self.everywhere(Point("average", past=one.past), mean)
            found.append(self.f(nodes, one.chance))
        return found

    def assume_start(self) -> None:
        """Enter what is known of x(0), and f* where there is no x*."""
        setting = self.setting
        far = setting.initial_distance
        if setting.start == "distance":
            far = setting.initial
        if far is not None:
            (start,) = self.expected_square(0)
            says = Inequality("start-distance")
            self.given.append(Constraint(says, (), (start,), far))
        if setting.start == "decrease":
            self.assume_decrease()
        gap = setting.initial if setting.start == "gap" else setting.initial_gap
        if gap is not None:
            says, values = Inequality("start-gap"), tuple(self.expected(0))
            self.given.append(Constraint(says, values, (), gap))
        if setting.mu is None and setting.start == "gap":
            self.models(setting.rounds)
            for point, nodes in self.distinct(range(setting.rounds + 1)):
                says = Inequality("lowest", at=point)
                lower = self.square(self.slope(nodes), 1 / (2 * setting.S))
                values = tuple(self.f(nodes, -ONE))
                self.given.append(Constraint(says, values, (lower,)))

    def distinct(self, rounds: Iterable[int]) -> Iterator[tuple[Point, list[Node]]]:
        """Yield the models of rounds by their names, with the clients' nodes."""
        seen = set[Key]()
        for t in rounds:
            for one in self.run.worlds[t]:
                if one.x.key not in seen or not self.setting.enumerated:
                    point = Point("round", t, past=one.past)
                    yield point, self.everywhere(point, one.x)
                seen.add(one.x.key)

    def assume_decrease(self) -> None:
        """Enter by how much the run decreases what it is measured by."""
        says, most, T = (
            Inequality("decrease"),
            self.setting.initial,
            self.setting.rounds,
        )
        if self.setting.mu is not None:
            terms = self.expected_square(0) + self.expected_square(T, -ONE)
            self.given.append(Constraint(says, (), tuple(terms), most))
            return
        values = self.expected(0) + self.expected(T, -ONE)
        self.given.append(Constraint(says, tuple(values), (), most))

    def assume_bounds(self) -> None:
        """Enter heterogeneity, dissimilarity and bounded gradients."""
        setting, place = self.setting, self.place
        if setting.zeta2:
            at = [node for node in self.nodes if node.point == STAR]
            terms = tuple(
                (node.gradient, node.gradient, place.share(node.client)) for node in at
            )
            says = Inequality("heterogeneity")
            self.given.append(Constraint(says, (), terms, setting.zeta2))
        if setting.eps2 is not None:
            self.assume_dissimilarity(setting.eps2)
        if setting.G2 is not None:
            for step in {
                (one.client, one.drawn): one for one in self.run.steps
            }.values():
                says = Inequality("bounded-gradient", step.client, step.drawn)
                term = [self.square(step.gradient)]
                if step.noise:
                    term.append(self.square(place.own(step.noise)))
                self.given.append(Constraint(says, (), tuple(term), setting.G2))

    def assume_dissimilarity(self, eps2: Fraction) -> None:
        """Enter it at x* and at every model that is evaluated."""
        T = self.setting.rounds
        common = [[node for node in self.nodes if node.point == STAR]]
        common += [nodes for _, nodes in self.distinct(range(T))]
        last: dict[Point, list[Node]] = {}
        for node in self.nodes:
            if node.point.kind == "round" and node.point.t == T:
                last.setdefault(node.point, []).append(node)
        for nodes in filter(None, [*common, *last.values()]):
            mean = self.slope(nodes)
            for node in nodes:
                away = self.vectors[node.gradient].plus(mean, -ONE)
                says = Inequality("dissimilarity", node.client, node.point)
                self.given.append(Constraint(says, (), (self.square(away),), eps2))

    def assume_visits(self, visits: Visits) -> None:
        """Enter what SFL-V2's lags are at most, and how far plain means are off."""
        apart = self.setting.order == "interleaved"
        moved = Vector()
        for step in self.run.steps:
            at = step.point
            moved = moved.plus(self.server(step.gradient))
            if step.noise:
                moved = moved.plus(self.server(self.place.own(step.noise)))
            if not apart and at.i < self.setting.tau - 1:
                continue
            first = at if apart else Point("local", at.t)
            lag = self.server(self.place.own(Atom("lag", None, first)))
            terms = (self.square(lag), self.square(moved, -visits.lag))
            self.given.append(Constraint(Inequality("lag", at=first), (), terms))
            if visits.uneven:
                off = self.server(self.place.common(Atom("uneven", None, at)))
                away = moved.plus(self.place.mean_part(moved), -ONE)
                terms = (self.square(off), self.square(away, -visits.uneven))
                self.given.append(Constraint(Inequality("uneven", at=at), (), terms))
            moved = Vector()

    def server(self, vector: Vector) -> Vector:
        """Return a vector's part on the server side."""
        return vector.within(lambda space: space.side == "server")

    def assume_noise(self) -> None:
        """Enter variances, and what noise is orthogonal to."""
        for step in self.run.steps:
            if step.noise is None:
                continue
            own = self.place.own(step.noise)
            for part, bound in self.setting.noises.items():
                here = tuple(one for one in self.place.spaces if one.part == part)
                space = None if part == "each" else here[0]
                says = Inequality("variance", step.client, step.drawn, space=space)
                spaces = () if part == "each" else here
                term = self.square(own)
                self.given.append(Constraint(says, (), (term,), bound, spaces=spaces))
        if not self.setting.two_point:
            self.assume_unbiased()

    def assume_unbiased(self) -> None:
        """Enter that noise is orthogonal to what does not depend on it."""
        atoms: dict[Space, dict[Atom, None]] = {one: {} for one in self.place.spaces}
        for vector in self.vectors:
            for space, form in vector.forms.items():
                atoms[space].update(dict.fromkeys(form))
        when = {step.noise: k for k, step in enumerate(self.run.steps)}
        for space, present in atoms.items():
            index = {
                atom: self.vector(Vector({space: {atom: ONE}})) for atom in present
            }
            for noise in [atom for atom in present if atom.kind == "noise"]:
                for atom in present:
                    later = atom.kind == "noise" and when[atom] >= when[noise]
                    if later or not self.fixed_before(noise, atom):
                        continue
                    says = Inequality(
                        "unbiased", noise.client, noise.point, vector=atom, space=space
                    )
                    term = (index[noise], index[atom], ONE)
                    self.given.append(
                        Constraint(says, (), (term,), ZERO, True, (space,))
                    )
        if self.setting.visits:
            self.assume_visited()
        if self.setting.symmetric:
            self.assume_apart(self.setting.clients or 1)

    def assume_visited(self) -> None:
        """Enter that a visit's noise is orthogonal to what this client has seen."""
        atoms = {
            atom
            for vector in self.vectors
            for form in vector.forms.values()
            for atom in form
        }
        for step in self.run.steps:
            if step.noise is None:
                continue
            noise = self.vector(self.place.own(step.noise))
            for atom in sorted(filter(partial(self.seen, step.point), atoms), key=str):
                lag, own = atom.kind == "lag", self.place.own(atom)
                seen = self.vector(self.server(own) if lag else own)
                for side in self.place.sides[lag:]:
                    spaces = (Space(side, "mean"), Space(side, "deviation"))
                    says = Inequality(
                        "visited", None, step.point, vector=atom, space=spaces[0]
                    )
                    term = (noise, seen, ONE)
                    self.given.append(Constraint(says, (), (term,), ZERO, True, spaces))

    def seen(self, drawn: Point, atom: Atom) -> bool:
        """Return whether a client has an atom of this round when noise is drawn."""
        at = atom.point
        if at is None or at.kind != "local" or at.t != drawn.t or at.i > drawn.i:
            return False
        if self.setting.order == "interleaved":
            return atom.kind == "gradient" and at.i == drawn.i
        kinds = {"gradient", "lag"} | ({"noise"} if at.i < drawn.i else set())
        return atom.kind in kinds

    def assume_apart(self, N: int) -> None:
        """Enter that noise is orthogonal to the other clients' noise and later steps.

        Of MiniBatch-SFL, where clients meet, only to their noise of the same step.
        """
        meet = self.setting.algorithm == "minibatch-sfl"
        for drawn, step in product(self.run.steps, self.run.steps):
            noise, at = drawn.noise, drawn.point
            later = step.point.t == at.t and step.point.i > at.i and not meet
            if noise is None or not (step is drawn or later):
                continue
            atom = Atom("gradient", step.client, step.point) if later else noise
            for side in self.place.sides:
                mean, apart = Space(side, "mean"), Space(side, "deviation")
                left = Vector({mean: {noise: Fraction(N - 1)}, apart: {noise: -ONE}})
                right = step.gradient if later else self.place.own(noise)
                term = (self.vector(left), self.vector(right), ONE)
                says = Inequality("across", None, at, vector=atom, space=mean)
                self.given.append(
                    Constraint(says, (), (term,), ZERO, True, (mean, apart))
                )

    def fixed_before(self, noise: Atom, atom: Atom) -> bool:
        """Return whether an atom does not depend on a noise, and has no part of it."""
        drawn, point = noise.point, atom.point
        same = drawn and point and point.t == drawn.t and point.kind == "local"
        if self.setting.visits and drawn and point and same:
            noises = atom.kind == "noise" and point.i < drawn.i
            return noises and self.setting.order == "interleaved"
        return noise not in self.flow.get(atom, ())

    @cached_property
    def flow(self) -> dict[Atom, frozenset[Atom]]:
        """The noise that gradients depend on: that of all steps that lead there."""
        found: dict[Atom, frozenset[Atom]] = {}
        for node in self.nodes:
            atoms = {a for form in self.vectors[node.x].forms.values() for a in form}
            noises = (found.get(a, frozenset({a})) for a in atoms)
            drawn = {one for part in noises for one in part if one.kind == "noise"}
            for form in self.vectors[node.gradient].forms.values():
                found.update(dict.fromkeys(form, frozenset(drawn)))
        return found
