"""Random small models in which any theorem can be evaluated exactly."""

from __future__ import annotations

import random
from fractions import Fraction as Q
from functools import cache

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import models
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.conditions import holds
from sfl_theory.kernel.models import Bend, Evaluation, Model, NoiseLaw, Shape
from sfl_theory.kernel.theorems import Theorem, _given_the_draws

TURNS = [(Q(3, 5), Q(4, 5)), (Q(1), Q(0)), (Q(-5, 13), Q(12, 13))]


def turned(rng: random.Random, low: Q, high: Q) -> models.Matrix:
    c, s = rng.choice(TURNS)
    cross = c * s * (low - high)
    return ((c * c * low + s * s * high, cross), (cross, s * s * low + c * c * high))


def vector(rng: random.Random, size: int = 2) -> tuple[Q, Q]:
    return (Q(rng.randint(-size, size)), Q(rng.randint(-size, size)))


class Shapes:
    """Functions with their exact constants."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kind = rng.choice(["free", "free", "same", "same", "flat", "bent"])
        self.top = self.high = Q(0)
        self.lowest: list[Q] = []
        self.first = self._hessian()

    def _hessian(self) -> models.Matrix:
        if self.kind == "flat":
            self._seen(Q(0), Q(0))
            return ((Q(0), Q(0)), (Q(0), Q(0)))
        low = Q(self.rng.choice([-4, -1, 0, 1, 1, 2]), 2)
        high = max(low, Q(self.rng.choice([1, 2, 4]), 2))
        self._seen(low, high)
        return turned(self.rng, low, high)

    def _seen(self, low: Q, high: Q) -> None:
        self.lowest.append(low)
        self.high = max(self.high, abs(low), high)
        self.top = max(self.top, high)

    def next(self) -> Shape:
        hessian = self.first if self.kind in ("same", "flat") else self._hessian()
        bends = ()
        if self.kind == "bent" and self.rng.random() < 0.7:
            slope = self.rng.choice([(Q(1), Q(0)), (Q(3, 5), Q(4, 5))])
            weight = Q(self.rng.choice([-2, -1, 1, 2]))
            bends = (Bend(weight, slope, Q(self.rng.randint(-1, 1)), Q(1, 2)),)
            self.high += abs(weight)
            self.top += max(weight, Q(0))
            self.lowest.append(self.lowest[-1] + min(weight, Q(0)))
        return Shape(hessian, vector(self.rng), bends)


def minimiser(shape: Shape) -> models.Vector:
    (p, q), (_, s) = shape.hessian
    determinant = p * s - q * q
    if shape.bends or not determinant:
        return (Q(0), Q(0))
    one, two = shape.linear
    return ((q * two - s * one) / determinant, (q * one - p * two) / determinant)


def interleaved(rng: random.Random, clients: int, steps: int) -> list[tuple[int, int]]:
    visits = [n for n in range(clients) for _ in range(steps)]
    rng.shuffle(visits)
    done = dict.fromkeys(range(clients), 0)
    order = []
    for n in visits:
        order.append((n, done[n]))
        done[n] += 1
    return order


def hypotheses_in(theorem: Theorem) -> list[h.Hypothesis]:
    out = []
    for assumed in sorted(theorem.hypotheses, key=str):
        while isinstance(assumed, h.Every):
            assumed = assumed.body
        out.append(assumed)
    return out


class Sample:
    """A random model of a theorem's variables."""

    def __init__(self, seed: int, theorem: Theorem) -> None:
        self.rng = rng = random.Random(seed)
        parts = [theorem.form, *theorem.hypotheses]
        free = {v for part in parts for v in part.free}
        self.free = sorted(free, key=lambda v: (str(v), type(v).__name__))
        self.clients = rng.choice([1, 2, 2, 3])
        self.numbers = {v: self._number(v) for v in self.free if isinstance(v, k.Var)}
        runs = {run for part in parts for run in k.runs_of(part)}
        self.splits = [run for run in runs if isinstance(run, k.Split)]
        self.shapes = Shapes(rng)
        self.functions = tuple(self.shapes.next() for _ in range(self.clients))
        names = sorted(
            (v for v in self.free if isinstance(v, k.NamedFunction)), key=str
        )
        self.named = {name: self.shapes.next() for name in names}
        raw = [rng.randint(0, 3) for _ in range(self.clients)]
        raw[0] += not any(raw)
        self.weights = tuple(Q(w, sum(raw)) for w in raw)
        self.q = tuple(rng.choice([Q(1), Q(1, 2), Q(2, 3)]) for _ in raw)
        steps = self._steps()
        self.rounds, self.noise = self._noise(max(steps, 1))
        self._tighten(theorem)
        self.model = self._model(steps)

    def _number(self, v: k.Var) -> Q:
        rng = self.rng
        if v.sort is Sort.NATURAL:
            return Q(rng.choice([0, 0, 1, 2]))
        if v.sort is Sort.COUNT:
            return Q(rng.choice([1, 1, 2]))
        zero = [Q(0)] if v.sort is Sort.NONNEGATIVE else []
        return rng.choice([Q(1, 2), Q(1), Q(2), Q(3), Q(1, 9), *zero])

    def _steps(self) -> int:
        plain = Model(
            1,
            self.functions[:1],
            (Q(1),),
            (Q(1),),
            (NoiseLaw(((Q(1), (Q(0), Q(0)), (Q(0), Q(0))),)),),
            (Q(0), Q(0)),
            (),
            1,
            self.numbers,
            {},
            {},
            {},
            {},
            {},
        )
        e = Evaluation(plain)
        made = (run.steps(side) for run in self.splits for side in k.Side)
        return max((e.whole_number(steps) for steps in made), default=0)

    def _noise(self, steps: int) -> tuple[int, tuple[NoiseLaw, ...]]:
        rng, zero = self.rng, (Q(0), Q(0))
        partial = any(run.drawn for run in self.splits)
        rounds = rng.choice([1, 2, 3])
        laws: list[NoiseLaw] = []
        per_round = sum(q < 1 for q in self.q) if partial else 0
        for _ in range(self.clients):
            noisy = rounds * (per_round + steps) <= 6 and rng.random() < 0.85
            if noisy:
                per_round += steps
                p, u = rng.choice([Q(1, 2), Q(1, 3)]), vector(rng)
                v = vector(rng) if rng.random() < 0.5 else u
                back = -p / (1 - p)
                second = tuple(tuple(back * z for z in w) for w in (u, v))
                laws.append(NoiseLaw(((p, u, v), (1 - p, *second))))
            else:
                laws.append(NoiseLaw(((Q(1), zero, zero),)))
        return rounds, tuple(laws)

    def _tighten(self, theorem: Theorem) -> None:
        """Give the constants of hypotheses their exact values, mostly."""
        self.families = {}
        plan = {
            h.Smooth: lambda: self.shapes.high,
            h.Majorised: lambda: self.shapes.top,
            h.Convex: lambda: max(Q(0), min(self.shapes.lowest)),
            h.Heterogeneity: self._heterogeneity,
            h.BoundedGradients: self._bounded,
            h.BoundedBlock: lambda: self._bounded(
                self.rng.choice([(0,), (1,), (0, 1)])
            ),
        }
        for assumed in hypotheses_in(theorem):
            if type(assumed) in plan and self.rng.random() < 0.9:
                number = next(p for p in assumed.parts if isinstance(p, Ratio))
                free = [v for v in number.free if isinstance(v, k.Var)]
                if len(free) == 1 and number == k.symbol(free[0]):
                    value = plan[type(assumed)]()
                    if value or free[0].sort is not Sort.POSITIVE:
                        self.numbers[free[0]] = value
        for v in self.free:
            if isinstance(v, k.ClientFamily):
                extra = self.rng.choice([0, 0, 0, 0, 1, -1])
                self.families[v] = tuple(
                    max(law.second_moment() + extra, Q(v.sort is Sort.POSITIVE), Q(0))
                    for law in self.noise
                )

    def _heterogeneity(self) -> Q:
        if self.shapes.kind not in ("same", "flat"):
            return Q(100)
        mean = tuple(
            sum(
                a * F.linear[p]
                for a, F in zip(self.weights, self.functions, strict=True)
            )
            for p in (0, 1)
        )
        return max(
            (F.linear[0] - mean[0]) ** 2 + (F.linear[1] - mean[1]) ** 2
            for F in self.functions
        )

    def _bounded(self, seen: tuple[int, ...] = (0, 1)) -> Q:
        """Return what gradients that are constant need, in some coordinates."""

        def square(u: models.Vector) -> Q:
            return sum((u[p] ** 2 for p in seen), Q(0))

        def noisy(law: NoiseLaw) -> Q:
            both = [[p * square(v[late]) for p, *v in law.outcomes] for late in (0, 1)]
            return max(map(sum, both))

        pairs = zip(self.functions, self.noise, strict=True)
        return max(square(F.linear) + noisy(law) for F, law in pairs)

    def _model(self, steps: int) -> Model:
        rng = self.rng
        stars: dict[k.Function, models.Vector] = {
            name: minimiser(shape) for name, shape in self.named.items()
        }
        rates = {}
        for v in self.free:
            if isinstance(v, k.RoundFamily):
                c = rng.choice([Q(1, 2), Q(1, 7), Q(1, 64), Q(1, 200)])
                slow = rng.random() < 0.5
                below = k.symbol(k.ROUND) + 2 if slow else ratio(1)
                rates[v] = k.Rate(c / below)
        outline = Model(
            rng.choice([1, 1, 1, 0, 2]),
            self.functions,
            self.weights,
            self.q,
            self.noise,
            vector(rng),
            tuple(interleaved(rng, self.clients, steps if self.splits else 3)),
            self.rounds,
            self.numbers,
            self.families,
            rates,
            self.named,
            {
                v: tuple(vector(rng) for _ in range(rng.choice([1, 3, 4])))
                for v in sorted(
                    (v for v in self.free if isinstance(v, k.Point)), key=str
                )
            },
            stars,
        )
        stars[k.MEAN] = minimiser(outline.whole())
        return outline

    def evaluation(self) -> GivenDraws:
        e = GivenDraws(self.model)
        partial = any(run.drawn for run in self.splits)
        e.prepare(self._steps(), partial)
        free = sorted((v for v in self.free if isinstance(v, k.Client)), key=str)
        e.at |= {k.Numbered(p): self.clients - 1 for p in range(self.clients, 9)}
        e.at |= {n: self.rng.randrange(self.clients) for n in free}
        return e


class GivenDraws(Evaluation):
    """Also of what occurs in proofs only: draws, and means given the past."""

    outcome: int | None = None

    def prepare(self, steps: int, partial: bool) -> None:
        super().prepare(steps, partial)
        self.drawn = cache(super().drawn)

    def vector(self, u: k.Vec | k.Lin) -> models.Random:
        zero = (Q(0),) * (1 if isinstance(u, k.Lin) else len(self.model.start))
        out = [zero] * len(self._outcomes)
        for atom, c in u.coefficients.items():
            values = self.numbers(c) if k.CHANCE in c.free else self.number(c)
            out = models.added(out, self._atom(atom), values)
        return out

    def numbers(self, value: Ratio) -> list[Q]:
        """Return a number in every outcome, made once for the same draws."""
        drawn = [place for (_, _, i), place in self._draws.items() if i < 0]
        keys = [tuple(o[q] for q in drawn) for o in self._outcomes]
        found = {}
        for self.outcome in {key: place for place, key in enumerate(keys)}.values():
            found[keys[self.outcome]] = self.number(value)
        self.outcome = None
        return [found[key] for key in keys]

    def _symbol(self, s: object) -> Q | int:
        if isinstance(s, k.Draw):
            J = self.drawn(self.client(s.client), self.whole_number(s.round))
            return J[self.outcome]
        if isinstance(s, k.Share):
            t, weights = self.whole_number(s.round), self.model.weights
            draws = [self.drawn(m, t)[self.outcome] for m in range(len(weights))]
            whole = sum((a * J for a, J in zip(weights, draws, strict=True)), Q(0))
            n = self.client(s.client)
            return weights[n] * draws[n] / whole if whole else whole
        if isinstance(s, k.Total) and k.CHANCE in s.free:
            return sum((self.number(s.weight) for _ in self.range(s)), Q(0))
        return super()._symbol(s)

    def _atom(self, atom: k.Term) -> models.Random:
        if not isinstance(atom, k.Expected):
            return super()._atom(atom)
        t, drawn, places = self.whole_number(atom.round), atom.run.drawn, self._draws
        past = {q for (_, s, i), q in places.items() if s < t and (i >= 0 or drawn)}
        columns = zip(*self.vector(atom.vector), strict=True)
        means = [self.conditional(past, list(column)) for column in columns]
        return list(zip(*means, strict=True))

    def conditional(self, places: set[int], values: list[Q]) -> list[Q]:
        """Return in every outcome the mean given what was drawn at these places."""
        keys = [tuple(o[q] for q in sorted(places)) for o in self._outcomes]
        chance, total = dict.fromkeys(keys, Q(0)), dict.fromkeys(keys, Q(0))
        for key, p, value in zip(keys, self._chances, values, strict=True):
            chance[key] += p
            total[key] += p * value
        means = {key: total[key] / chance[key] for key in total}
        return [means[key] for key in keys]


def verdict(theorem: Theorem, seed: int) -> str:
    """Return true, false, vacuous (a hypothesis fails) or skipped (no such model)."""
    try:
        e = Sample(seed, theorem).evaluation()
        if not all([holds(e, assumed) for assumed in theorem.hypotheses]):
            return "vacuous"
        values = [e.form(theorem.form)]
        if _given_the_draws(theorem):
            places = {q for (_, _, i), q in e._draws.items() if i < 0}
            values = e.conditional(places, [z for (z,) in e.vector(theorem.form)])
    except Rejected:
        return "skipped"
    fits = all(value == 0 if theorem.equal else value >= 0 for value in values)
    return "true" if fits else "false"


def premises(theorem: Theorem) -> list[Theorem]:
    """Return a theorem and all theorems that it was made from."""
    seen: dict[int, Theorem] = {}

    def visit(value: object) -> None:
        if isinstance(value, Theorem):
            if id(value) not in seen:
                seen[id(value)] = value
                visit(value.call)
        elif isinstance(value, tuple):
            for item in value:
                visit(item)

    visit(theorem)
    return list(seen.values())
