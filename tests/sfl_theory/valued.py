r"""A bound of the library and the statement that it is made of, at random numbers.

`reading` compares symbols. Where a statement has a parameter for what a bound names (a
root of S/mu, a maximum of two numbers, :math:`1/(T+1-t)`), its parameters get numbers
here that meet what it assumes of them, and the kernel evaluates its right side exactly.
The constants of the bound are what the statement's hypotheses say at these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from reading import Reading, body, same_algorithm

from sfl_theory import Bound, Constants, Theorem, schedules, symbols
from sfl_theory import conditions as c
from sfl_theory.evidence import Part
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.models import Evaluation, Model, NoiseLaw, Shape
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number
from sfl_theory.papers.huang2023.section_3_rates import all_steps
from sfl_theory.papers.li2020 import setting as li

Numbers = Mapping[str, Fraction]
MEANT: dict[str, Callable[[Numbers], Fraction]] = {
    "g": lambda v: (
        max(8 * v["L"] / v["mu"], v["tau"]) - 8
        if "L" in v
        else max(8 * v["S"] / v["mu"] - 1, v["epochs"] * v["batches"]) - 7
    ),
    "gamma": lambda v: max(8 * v["L"] / v["mu"], v["tau"]),
}
"""Parameters that stand for something; that they may is read in the hypotheses."""
SEQUENCES: dict[str, Callable[[Numbers, int], Fraction]] = {
    "k": lambda v, t: 1 / (v["T"] + 1 - t),
    "u": lambda v, i: 1 / (7 + v["g"] + i),
    "eta": lambda v, i: 2 / (v["mu"] * (v.get("gamma", 8 + v.get("g", 0)) + i)),
}
"""The same of parameters of a round or a step."""
STATED: dict[str, tuple[type[c.Condition], ...]] = {
    "fresh mini-batches": (c.Unbiased, c.BoundedVariance),
    "Assumption 4": (c.BoundedGradients,),
    "F_k^* = min F_k": (c.StronglyConvex,),
}
"""What is assumed of averages along a run -> what conditions of a bound state it."""
POSITIVE: dict[str, type[c.Condition]] = {"z": c.Steeper}
"""Parameters that are positive under a condition of the bound only."""


@dataclass
class Point(Evaluation):
    """Numbers of a statement, and a federation for what is there at first."""

    sequences: Mapping[str, Callable[[int], Fraction]] = field(default_factory=dict)

    def _symbol(self, s: object) -> Fraction | int:
        if isinstance(s, k.PerRound):
            return self.sequences[s.family.name](self.whole_number(s.round))
        return super()._symbol(s)

    def met(self, given: h.Hypothesis) -> bool:
        """Return whether a hypothesis on numbers holds; of all naturals, at four."""
        if not isinstance(given, h.Every):
            return isinstance(given, h.Holds) and self.form(given.form) >= 0
        if given.binder is not k.NATURALS:
            return all([self.met(given.body) for _ in self.range(given)])
        found = []
        for place in range(4):
            self.at[given.variable] = place
            found.append(self.met(given.body))
        return all(found)


positive = st.builds(Fraction, st.integers(1, 12), st.integers(1, 4))


@st.composite
def points(draw: Callable[..., Fraction], part: Part) -> Point:
    """Draw numbers for a statement: two or more of what is counted, x^0 not at f*."""
    says = part.says
    inside = k.subterms(says.left.value, says.right.value, *says.hypotheses)
    names = sorted((one for one in inside if isinstance(one, k.Var)), key=str)
    counts = st.integers(2, 4).map(Fraction)
    v = {one.name: draw(counts if one.sort.whole else positive) for one in names}
    for steeper in v.keys() & {"S", "L"}:
        v[steeper] += v.get("mu", 0)
    v |= {name: MEANT[name](v) for name in sorted(v.keys() & MEANT.keys())}
    size = draw(st.integers(1, 3))
    each, pair = st.tuples(*[positive] * size), st.tuples(positive, positive)
    raw, bowl, centres = draw(each), draw(positive), [draw(pair) for _ in range(size)]
    a, zero = tuple(one / sum(raw) for one in raw), Fraction(0)
    hessian, none = ((bowl, zero), (zero, bowl)), (zero, zero)
    least = tuple(bowl * sum(z * z for z in b) for b in centres)
    families = (one for one in inside if isinstance(one, k.ClientFamily))
    model = Model(
        client_size=1,
        functions=tuple(Shape(hessian, tuple(-bowl * z for z in b)) for b in centres),
        weights=a,
        participation=tuple(1 / (1 + one) for one in draw(each)),
        noise=(NoiseLaw(((Fraction(1), none, none),)),) * size,
        start=tuple(13 + z for z in draw(pair)),
        order=(),
        rounds=0,
        numbers={one: v[one.name] for one in names},
        families={
            one: least if one.name == "least" else draw(each)
            for one in sorted(families, key=str)
        },
        rates={one: k.Rate(ratio(1)) for one in inside if type(one) is k.RoundFamily},
        named={},
        points={},
        stars={
            k.MEAN: tuple(
                sum((x * b[place] for x, b in zip(a, centres, strict=True)), zero)
                for place in range(2)
            )
        },
    )

    def sequence(name: str) -> Callable[[int], Fraction]:
        return lambda index: SEQUENCES[name](v, index)

    return Point(model, sequences={name: sequence(name) for name in SEQUENCES})


def says_at(item: Theorem, bound: Bound, parts: Iterable[Part], point: Point) -> bool:
    """Return whether each part says what a bound says, its numbers at a point."""
    return all(_says(item, bound, part, point) for part in parts)


def _says(item: Theorem, bound: Bound, part: Part, point: Point) -> bool:
    (split,) = {one for one in k.subterms(part.says.left.value) if _is_run(one)}
    reading = Reading.of(part, split, bound)
    if not same_algorithm(split, item.algorithm, bound) or not reading.same_left():
        return False
    equal = not (ratio(split.client.steps) - ratio(split.server.steps))
    if item.algorithm == "sfl-v1" and not (equal and bound.assumes(c.EqualPeriods)):
        return False
    names = {one.name for one in point.model.numbers}
    if not all(bound.assumes(POSITIVE[one]) for one in names & POSITIVE.keys()):
        return False
    constants = _constants(reading, point)
    stated = (
        reading.states(one.value)
        or any(map(bound.assumes, STATED.get(one.source, ())))
        or (_on_numbers(one.value) and point.met(one.value))
        for one in part.says.assumed
    )
    same = _same_right(reading, point, constants)
    return same and _same_rates(reading, point, constants) and all(stated)


def _is_run(one: k.Term) -> bool:
    return isinstance(one, k.Split)


def _on_numbers(given: h.Hypothesis) -> bool:
    one = body(given)
    return isinstance(one, h.Holds) and not one.form.expects


def _same_right(reading: Reading, point: Point, constants: Constants) -> bool:
    bound, run = reading.bound, reading.run.split
    T = int(point.number(reading.plain[symbols.T].value))
    schedule = None
    if bound.sums_learning_rates:
        schedule = schedules.constant(float(point.rate(run.client.rate, 0)))
    found = bound.formula(constants, [T], schedule)
    right = float(point.form(reading.part.says.right.value))
    return sum(float(one[0]) for one in found.values()) == pytest.approx(right, 1e-11)


def _same_rates(reading: Reading, point: Point, constants: Constants) -> bool:
    """Compare the first rates; a falling run of huang2023 has them in its gradients."""
    rule, split = reading.bound.step_size, reading.run.split
    if rule is None or rule.relation != "=":
        return reading.same_rates()
    if split == all_steps.split:
        return rule.per_step
    schedule = rule.schedule(constants)
    # weighted server steps are the rule's, a client's share of them written apart
    visits = len(constants.weights) if split.kind is k.Kind.V2_WEIGHTED else 1
    return rule.per_step == isinstance(split.client, k.Stepwise) and all(
        times * np.broadcast_to(own(np.arange(4.0)), 4)
        == pytest.approx([float(point.rate(pace.rate, i)) for i in range(4)], 1e-11)
        for times, own, pace in (
            (1, schedule.client, split.client),
            (visits, schedule.server, split.server),
        )
    )


def _constants(reading: Reading, point: Point) -> Constants:
    """Return what the hypotheses of a part say, as the library takes it."""
    plain, squared, model = reading.plain, reading.squared, point.model
    x, best = reading.run.x(0), w.f.best

    def number(value: Number) -> float:
        return float(point.number(value.value))

    def first(side: k.Side) -> float:
        return float(point.form(w.norm2(w.part(side, x - best)).value))

    known: dict[str, float | tuple[float, ...]] = {
        name: number(plain[symbol])
        for name, symbol in (("S", symbols.S), ("mu", symbols.mu))
        if symbol in plain
    }
    if (spread := squared.get(symbols.epsilon)) is not None:
        known["eps2"] = number(spread)
    if (bound := _gradients(reading)) is not None:
        known["G2"] = known["R2"] = number(bound)
    if (noise := squared.get(symbols.sigma[symbols.n])) is not None:
        each = []
        for place in range(len(model.weights)):
            point.at[k.Client("n")] = place
            each.append(number(noise))
        known["sigma2"] = tuple(each)
    if "Gamma" in reading.bound.needs:
        known["Gamma"] = float(point.form(li.Gamma.value))
    c_, s_ = map(first, (k.Side.CLIENT, k.Side.SERVER))
    return Constants(
        **known,
        weights=tuple(map(float, model.weights)),
        participation=tuple(map(float, model.participation)),
        tau=int(number(plain[symbols.tau])),
        tau_server=int(number(plain[symbols.tau_server])),
        initial_distance2=c_ + s_,
        initial_distance2_client=c_,
        initial_distance2_server=s_,
        initial_gap=float(point.form(w.f.gap(x).value)),
    )


def _gradients(reading: Reading) -> Number | None:
    """Return the bound of second moments; falling runs have it under its name."""
    for one in reading.part.says.assumed:
        given = body(one.value)
        if one.source == "Assumption 4" and isinstance(given, h.Holds):
            return w.Written(given.form.coefficients[k.UNIT], "")
    return reading.squared.get(symbols.G)
