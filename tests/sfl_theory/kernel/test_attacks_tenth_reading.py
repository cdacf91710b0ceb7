"""Attacks on noises of clients by number, in models as unkind as the hypotheses allow.

A model of the kernel draws all noises independently. Here a noise is multiplied by a
number that depends on everything that its mean is 0 given: all draws, all earlier
rounds, and what a client has seen. And where a theorem does not assume `Independent`,
all clients have one sample in a round. So a dependence that a rule forgets shows.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction as Q
from types import ModuleType

import pytest
from calls import MINIBATCH, RUNS, i, j, m, n, now, of_m, t, tau, third, x
from random_models import GivenDraws, Sample
from test_attacks import claimed
from test_mutants import mutated

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import models
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, Sort, ratio
from sfl_theory.kernel.conditions import holds
from sfl_theory.kernel.terms import CLIENTS, Kind, summed
from sfl_theory.kernel.theorems import _given_the_draws
from sfl_theory.proofs.notation import number_of_clients, of, steps

NUMBERED = tuple(map(k.Numbered, range(4)))
BITS = 9


class Loud(Sample):
    """A model in which as many clients as possible have noise, all of it skewed."""

    clients = property(lambda self: self.size, lambda self, _: None)

    def __init__(self, seed: int, theorem: R.Theorem) -> None:
        inside = k.subterms(theorem.form, *theorem.hypotheses)
        least = max([1, *(c.number for c in inside if isinstance(c, k.Numbered))]) + 1
        size = random.Random(seed)
        self.size = size.choice([least] * 4 + [least + 1, 3, least - 1, 1])
        super().__init__(seed, theorem)

    def _number(self, v: k.Var) -> Q:
        whole = {Sort.NATURAL: [0, 0, 1], Sort.COUNT: [1, 1, 2]}
        if v.sort in whole:
            return Q(self.rng.choice(whole[v.sort]))
        return super()._number(v)

    def _noise(self, made: int) -> tuple[int, tuple[models.NoiseLaw, ...]]:
        rng, drawn = self.rng, any(run.drawn for run in self.splits)
        bits = sum(q < 1 for q in self.q) if drawn else 0
        rounds, laws = rng.choice([1, 2, 2]), list[models.NoiseLaw]()
        if rounds * (bits + made * min(self.size, 3)) > BITS:
            rounds = 1
        for _ in range(self.size):
            u = (Q(rng.choice([-2, 1, 2])), Q(rng.choice([-1, 1, 3])))
            p, back = Q(1, 3), tuple(-z / 2 for z in u)
            if rounds * (bits + made) > BITS:
                u = back = (Q(0), Q(0))
                laws.append(models.NoiseLaw(((Q(1), u, u),)))
            else:
                bits += made
                laws.append(models.NoiseLaw(((p, u, u), (1 - p, back, back))))
        return rounds, tuple(laws)


class Unkind(GivenDraws):
    """Noises that depend on all that they may depend on."""

    kind = Kind.V1
    apart = True

    @classmethod
    def of(cls, sample: Sample) -> Unkind:
        """Return the evaluation of a model whose outcomes are enumerated."""
        plain = sample.evaluation()
        e = cls(plain.model, plain.at)
        e._draws, e._outcomes = plain._draws, plain._outcomes
        e._chances = plain._chances
        return e

    def noise(self, n: int, t: int, i: int) -> models.Random:
        law = self.model.noise[n].outcomes
        if len(law) == 1:
            return super().noise(n, t, i)
        own = models.known(self._draws, (n, t, i))
        now = self._draws.get(self.source(n, t, i), own)
        past = self.past(n, t, i)
        return [self.value(o, law[o[now]][1], past, (n, t, i)) for o in self._outcomes]

    @staticmethod
    def value(
        o: tuple[int, ...], v: models.Vector, past: list[int], at: tuple[int, ...]
    ) -> models.Vector:
        c = (1, 3, -1, 2, 0, 1, -2)[hash((*at, *(o[q] for q in past))) % 7]
        return tuple(c * z for z in v)

    def source(self, n: int, t: int, i: int) -> tuple[int, int, int]:
        """Return whose sample it is, of which step: without `Independent` anyone's."""
        if self.apart or self.kind in (Kind.V2, Kind.V2_WEIGHTED):
            return n, t, i
        made = 1 + max(j for _, s, j in self._draws if s == t)
        return 0, t, (i + n) % made if self.kind is Kind.V1 else i

    def past(self, n: int, t: int, i: int) -> list[int]:
        """Return the places of all that the noise's mean is 0 given."""
        order, own = self.model.order, range(i)
        seen = {(n, j) for j in own}
        if self.kind in (Kind.V2, Kind.V2_WEIGHTED):
            seen = set(order[: order.index((n, i))])
        elif self.kind is Kind.MINIBATCH:
            seen = {(p, j) for p in range(len(self.model.weights)) for j in own}
        seen = {self.source(p, t, j)[::2] for p, j in seen}
        return [
            place
            for (p, s, j), place in self._draws.items()
            if j < 0 or s < t or (s == t and (p, j) in seen)
        ]


def looked_at(theorem: R.Theorem, seed: int) -> str:
    """Return true, false, vacuous or skipped, of one model."""
    try:
        sample = Loud(seed, theorem)
        e = Unkind.of(sample)
        (e.kind,) = {one.kind for one in sample.splits}
        e.apart = any(isinstance(a, h.Independent) for a in theorem.hypotheses)
        if not all([holds(e, assumed) for assumed in theorem.hypotheses]):
            return "vacuous"
        values = [e.form(theorem.form)]
        if _given_the_draws(theorem):
            places = {q for (_, _, i), q in e._draws.items() if i < 0}
            column = [z for (z,) in e.vector(theorem.form)]
            values = e.conditional(places, column)
            if not any(column):
                return "nothing" if not any(values) else "false"
    except Rejected:
        return "skipped"
    return "false" if any(values) else "true"


# Random calls -------------------------------------------------------------------------


class Made:
    """A random call of `unbiased`, and what is then made of it."""

    def __init__(self, seed: int, rules: ModuleType = R) -> None:
        self.rng, self.rules = random.Random(seed), rules
        self.run = self.rng.choice(RUNS)
        self.n = self.rng.choice([*NUMBERED[:3], *NUMBERED[:2], n])
        self.t = self.rng.choice([now, ratio(0), ratio(0), ratio(1)])
        self.i = self.rng.choice([of(i), ratio(0), ratio(0), ratio(1)])

    def client(self) -> k.ClientIndex:
        if self.run.kind.visits:
            return self.rng.choice([n, m, m, self.n])
        return self.rng.choice([*NUMBERED[:3], *NUMBERED[:3], self.n, m, n, third])

    def step(self) -> k.Ratio:
        plain = [self.i, self.i, ratio(0), of(j)]
        before = [self.i - 1] if self.i == ratio(1) else []
        return self.rng.choice([*plain, *before, self.i + 1, of(j) + 1])

    def round(self) -> k.Ratio:
        before = [ratio(0)] if self.t == ratio(1) else []
        return self.rng.choice([*[self.t] * 8, *before, self.t + 1, ratio(0)])

    def number(self) -> k.Ratio:
        one, p = self.client(), self.run
        plain = [ratio(1), ratio(-2), k.weight(one), of(j), of(j) + 1]
        if p.drawn:
            plain += [k.draw(p, one, self.round()), k.share_of(p, one, self.t)]
        if p.kind.visits:
            plain += [k.before(one, self.step(), self.n, self.i, self.t)]
        return self.rng.choice(plain)

    def atom(self) -> k.Vec:
        make = self.rng.choice([k.noise] * 3 + [k.local_point] * 3 + [None])
        if make is None:
            return k.iterate(self.run, self.round())
        return make(self.run, self.client(), self.round(), self.step())

    def vector(self, depth: int) -> k.Vec:
        rng = self.rng
        if not depth or rng.random() < 0.2:
            return self.atom()
        u, choice = self.vector(depth - 1), rng.randrange(9)
        if choice < 3:
            of_whom = rng.choice([k.MEAN, k.Local(self.client()), k.Local(self.n)])
            return k.gradient(of_whom, u)
        if choice == 3:
            v = rng.choice([m, third])
            return summed(CLIENTS, v, u * rng.choice([k.weight(v), ratio(1)]))
        if choice == 4:
            upper = rng.choice([self.i, self.i + 1, of(i), ratio(tau), ratio(2)])
            return summed(steps(upper), j, u * rng.choice([ratio(1), of(j)]))
        if choice == 5:
            return k.part(rng.choice([*k.Side]), u)
        if choice == 6 and rng.random() < 0.3:
            return k.expected(self.run, self.round(), u)
        return u * self.number() + self.atom()

    def call(self) -> R.Theorem:
        after = ()
        if self.run.kind.visits and self.rng.random() < 0.8:
            whose = self.rng.choice([m, m, n, third])
            after = ((whose, self.rng.choice([of(j), self.i, ratio(0)])),)
        u = self.vector(self.rng.choice([1, 2, 2, 3]))
        return self.rules.unbiased(self.run, self.n, self.t, self.i, u, after)

    def then(self, found: R.Theorem) -> R.Theorem:
        """Return the theorem, or what follows from it: clients and times made equal."""
        rng, choice = self.rng, self.rng.randrange(7)
        free = {v for one in (found.form, *found.hypotheses) for v in one.free}
        clients = [v for v in (n, m, third) if v in free]
        if choice == 1 and clients:
            others = [*NUMBERED[:3], n, m, self.n, self.n]
            values = tuple((v, rng.choice(others)) for v in clients)
            return self.rules.instantiate(found, values, ())
        if choice == 2 and clients:
            v = rng.choice(clients)
            return self.rules.sum_over(found, CLIENTS, v, k.weight(v), ())
        if choice == 3:
            times = (t, rng.choice([ratio(0), ratio(1), of(i)]))
            made = (j, rng.choice([of(i), ratio(0), of(i) + 1]))
            return self.rules.instantiate(found, (times, made), ())
        if choice == 4:
            upper = rng.choice([ratio(tau), ratio(2), of(t) + 1])
            return self.rules.sum_over(
                found, steps(upper), rng.choice([i, j]), ratio(1), ()
            )
        if choice == 5:
            return self.rules.combine(((found, self.number()),), (), None, ())
        return found


def tried(seeds: range, looks: int, rules: ModuleType = R) -> Counter[object]:
    seen = Counter[object]()
    for seed in seeds:
        made = Made(seed, rules)
        try:
            found = made.then(made.call())
        except Rejected:
            seen["refused"] += 1
            continue
        seen["accepted", made.run.kind.value, isinstance(made.n, k.Numbered)] += 1
        for look in range(looks):
            verdict = looked_at(found, 100 * seed + look)
            seen[verdict] += 1
            if verdict in ("true", "false"):
                seen[verdict, made.run.kind.value] += 1
            if verdict == "false":
                seen[f"false {seed} {look}: {found}"[:600]] += 1
                break
    return seen


@pytest.mark.parametrize(
    "seeds", [range(36), pytest.param(range(36, 500), marks=pytest.mark.long)]
)
def test_no_random_call_says_anything_false(seeds: range) -> None:
    seen = tried(seeds, 2)
    assert not seen["false"], seen
    assert seen["true"] > len(seeds) / 5, seen


OWN = "int(isinstance(one, k.Noise) and not other)"
ALONE = "alone = not named and (not others or run.kind is not k.Kind.V1)"
MOST = "required(N - 1 - max(m.number for m in (n, *named)))"
BROKEN = [
    # where clients meet; dependent clients; numbers beyond N; one number too far
    ("apart = other and run.kind is k.Kind.V1", "apart = other"),
    (ALONE, "alone = not others or run.kind is not k.Kind.V1"),
    ("*made, *_different(n, named))", "*made)"),
    (MOST, MOST.replace("N - 1", "N")),
    (MOST, MOST.replace("(n, *named)", "named")),
    # the client itself; the next step, and points at it; anyone's noise of the step
    ("isinstance(m, k.Numbered) and n is not m", "isinstance(m, k.Numbered)"),
    (OWN, f"{OWN} + int(other)"),
    (OWN, f"{OWN} + int(other and isinstance(one, k.LocalPoint))"),
    (OWN, "0"),
    # another round; no hypothesis on others, or on those by name; visits of others
    ("return one.round == now and past(", "return past("),
    (ALONE, "alone = True"),
    (ALONE, "alone = not named"),
    ("one.client is n or not run.kind.visits\n", "True\n"),
]
FOUND = (2, 22, 9, 9, 9, 14, 2, 2, 44, 98, 9, 667, 195)  # in which call


@pytest.mark.parametrize(
    "place",
    [
        pytest.param(p, marks=[pytest.mark.long] if p > 7 else [])
        for p in range(len(BROKEN))
    ],
)
def test_a_rule_that_accepts_more_is_found_out(place: int) -> None:
    rules = mutated(*BROKEN[place])
    calls = (Made(seed, rules) for seed in range(FOUND[place], FOUND[place] + 60))
    for made in calls:
        try:
            theorem = made.call()
        except Rejected:
            continue
        if any(looked_at(theorem, look) == "false" for look in range(12)):
            return
    pytest.fail("no model broke it")


# Calls and files written by hand ------------------------------------------------------

A, B, C = NUMBERED[:3]
V1, STEPWISE = RUNS[0], RUNS[5]
BATCHES = [run for run in RUNS if run.kind is Kind.MINIBATCH]
COUNTED = next(run for run in RUNS if run.kind is Kind.COUNTED)


def over(upper: object, u: k.Vec) -> k.Vec:
    return summed(steps(upper), j, u)


def xi(run: k.Split, client: k.ClientIndex, step: object, at: object = now) -> k.Vec:
    return k.noise(run, client, at, step)


def at(run: k.Split, client: k.ClientIndex, step: object, when: object = now) -> k.Vec:
    return k.local_point(run, client, when, step)


def everyone(run: k.Split, step: object) -> k.Vec:
    """Return what all clients drew: among them is the noise itself."""
    return summed(CLIENTS, m, xi(run, m, step) + xi(run, B, step) * k.weight(m))


REFUSED = [
    *((run, at(run, B, of(i) + 1)) for run in [*BATCHES, COUNTED]),
    *((run, over(of(i) + 1, at(run, B, of(j) + 1))) for run in BATCHES),
    *((run, k.gradient(k.MEAN, xi(run, B, of(i) + 1))) for run in BATCHES),
    *((run, over(tau, xi(run, B, of(j)))) for run in BATCHES),
    *((run, everyone(run, of(i))) for run in [V1, COUNTED, *BATCHES]),
    *((run, xi(run, B, 0, now + 1)) for run in [V1, STEPWISE, COUNTED, *BATCHES]),
    *((run, xi(run, B, of(i), of(j))) for run in [V1, STEPWISE, *BATCHES]),
    *((run, k.expected(run, now + 1, xi(run, B, 0))) for run in [V1, *BATCHES]),
    *((run, k.gradient(k.MEAN, at(run, A, of(i) + 1) + at(run, B, 0))) for run in RUNS),
    *((run, xi(run, B, of(i)) * k.weight(B) + x) for run in [V1, COUNTED]),
    *((run, xi(run, m, of(i)) + xi(run, B, of(i))) for run in RUNS),
    *((run, k.iterate(run, now + 1) + xi(run, B, of(i))) for run in RUNS),
    *((run, xi(run, B, 0)) for run in RUNS if run.kind.visits),
    (V1, at(STEPWISE, B, 0)),
    (V1, over(of(t) + 1, xi(V1, B, 0, of(j) + 1))),
    (V1, summed(CLIENTS, m, k.noise(V1, B, of_m, 0))),
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_what_may_depend_on_the_noise_is_refused(place: int) -> None:
    run, u = REFUSED[place]
    with pytest.raises(Rejected):
        R.unbiased(run, A, now, of(i), u, ())


def test_a_client_may_become_the_noise_s_own_or_one_beyond_n() -> None:
    """Also the round and the step, so that all that was apart coincides."""
    u = xi(V1, B, of(i)) + k.gradient(k.Local(m), at(V1, m, of(i)) + at(V1, B, tau))
    seen = Counter[str]()
    for one in (A, B, NUMBERED[3]):
        for step in (0, 1):
            found = R.unbiased(V1, A, now, of(i), u, ())
            values = ((m, one), (t, ratio(0)), (i, ratio(step)))
            now_equal = R.instantiate(found, values, ())
            seen.update(looked_at(now_equal, look) for look in range(3))
    assert not seen["false"], seen
    assert seen["true"] > 5, seen


def test_a_claim_says_that_there_are_so_many_clients() -> None:
    """One client is #0 and #1, and its noise is not orthogonal to itself."""
    more = h.Holds(k.constant(number_of_clients() - 2))
    for run in (V1, MINIBATCH):
        u = xi(run, B, 0, 0)
        found = R.unbiased(run, A, ratio(0), ratio(0), u, ())
        product = k.inner(xi(run, A, 0, 0), u)
        said = [h.Unbiased(run), h.Independent(run), more]
        assert found.hypotheses == {*said}
        assert claimed(found, k.Lin({}), product, *said)
        for left_out in said:
            rest = [one for one in said if one is not left_out]
            with pytest.raises(Rejected):
                claimed(found, k.Lin({}), product, *rest)


class Pairs(Unkind):
    """Each two of three clients have independent samples: the third has the parity."""

    def noise(self, n: int, t: int, i: int) -> models.Random:
        places = [self._draws[p, t, i] for p in ((n,) if n < 2 else (0, 1))]
        u = self.model.noise[n].outcomes[0][1]
        signs = [(-1) ** sum(o[q] for q in places) for o in self._outcomes]
        return [tuple(sign * z for z in u) for sign in signs]


def test_independent_two_by_two_is_not_enough() -> None:
    """So `Independent` has to be read of all clients at once, as it is written."""
    u = k.gradient(k.MEAN, xi(V1, B, 0, 0) + xi(V1, C, 0, 0))
    found, seen = R.unbiased(V1, A, ratio(0), ratio(0), u, ()), Counter[bool]()
    for seed in range(40):
        sample = Loud(seed, found)
        if all(len(law.outcomes) > 1 for law in sample.noise) and sample.size == 3:
            laws = [[(Q(1, 2), *o[1:]) for o in law.outcomes] for law in sample.noise]
            even = tuple(models.NoiseLaw(tuple(law)) for law in laws)
            sample.model = replace(sample.model, noise=even)
            seen[Pairs.of(sample).form(found.form) == 0] += 1
    assert seen[False] > 1, seen  # where a function is bent
