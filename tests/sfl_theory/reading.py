r"""A bound of the library read in the symbols of a proved statement.

S, mu, G^2, sigma_n^2, epsilon^2 are what the statement's own hypotheses say of the
functions and the noise; tau, tau_server the numbers of steps of its run. So two
formulas are compared that speak of the same things, whatever they are called. A part
says a bound (`order`) if, symbol by symbol,

- its run is the theorem's algorithm: kind, participants, numbers of steps;
- its left side is the bound's metric along that run, its right side the formula;
- its learning rates are the bound's rule, or it admits all that the rule admits;
- every one of its hypotheses is among the bound's conditions.

A bound for any periods needs parts for either order of the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import sympy as sp

from sfl_theory import conditions as c
from sfl_theory import symbols
from sfl_theory.bound import Bound
from sfl_theory.evidence import Part, decide
from sfl_theory.evidence import says as stated
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.terms import subterms
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number, Run
from sfl_theory.statement import Theorem

STATED: Mapping[type[h.Hypothesis], tuple[type[c.Condition], ...]] = {
    h.Smooth: (c.Smooth,),
    h.Majorised: (c.Smooth,),
    h.Unbiased: (c.Unbiased, c.BoundedVariance),
    h.Independent: (c.Unbiased, c.BoundedVariance),
    h.Variance: (c.BoundedVariance,),
    h.BoundedGradients: (c.BoundedGradients,),
    h.Heterogeneity: (c.Heterogeneity,),
    h.Minimiser: (c.Condition,),
    h.Participation: (c.Condition,),
}
"""Hypothesis of a part -> the conditions of a bound that state it.

A minimiser is what the metric and the initial gap speak of; honest draws are what
partial participation means.
"""
n, t, ROUND = k.Client("n"), w.natural("t"), k.symbol(k.ROUND)


class Unread(ValueError):  # noqa: N818 - what happened, to a formula
    """A formula of the library has no term in a part's symbols."""


@dataclass(frozen=True)
class Reading:
    """What the library's symbols are in a part.

    Attributes:
        part: the part.
        run: its run.
        bound: that is read.
        plain: symbol of the library -> number of the part.
        squared: symbol that the kernel has squared only -> that square.
        read_as: hypotheses that say what a parameter of the right side stands for.
    """

    part: Part
    run: Run
    bound: Bound
    plain: dict[Any, Number] = field(default_factory=dict)
    squared: dict[Any, Number] = field(default_factory=dict)
    read_as: set[h.Hypothesis] = field(default_factory=set)

    @staticmethod
    def of(part: Part, split: k.Split, bound: Bound) -> Reading:
        """Return the reading that the part's hypotheses and run give."""
        found = Reading(part, Run(split, "SFL"), bound)
        plain, squared = found.plain, found.squared
        plain |= {
            symbols.N: w.clients(),
            symbols.t: t,
            symbols.a[symbols.n]: w.weight(n),
            symbols.tau: _number(ratio(split.client.steps)),
            symbols.tau_server: _number(ratio(split.server.steps)),
        }
        for one in map(body, part.says.hypotheses):
            if isinstance(one, h.Smooth | h.Majorised):
                plain[symbols.S] = _number(one.constant)
            elif isinstance(one, h.Convex) and one.modulus:
                plain[symbols.mu] = _number(one.modulus)
            elif isinstance(one, h.BoundedGradients):
                squared[symbols.G] = squared[symbols.R] = _number(one.bound)
            elif isinstance(one, h.Heterogeneity):
                squared[symbols.epsilon] = _number(one.bound)
            elif isinstance(one, h.Variance) and one.bound:
                (family,) = (
                    f for f in subterms(one.bound) if isinstance(f, k.ClientFamily)
                )
                squared[symbols.sigma[symbols.n]] = _of_client(family)
        free = [x for x in subterms(part.says.right.value) if type(x) is k.ClientFamily]
        if len(free) == 1 and not any(free[0] in x.free for x in part.says.hypotheses):
            squared[symbols.sigma[symbols.n]] = _of_client(free[0])  # any number at all
        free = [x for x in subterms(part.says.right.value) if isinstance(x, k.Var)]
        roots = [_number(1 + k.symbol(v)) for v in free if v.sort is Sort.NONNEGATIVE]
        for z, e in bound.definitions.items():
            if any(one.exp == sp.S.Half for one in e.atoms(sp.Pow)):
                square = found.read(e**2)
                plain.update((z, x) for x in roots if not (x**2 - square).value)
        return found

    @property
    def meanings(self) -> Mapping[Any, Any]:
        """What the symbols of the formula and of the rule stand for."""
        rule = self.bound.step_size
        return {**self.bound.definitions, **(rule.definitions if rule else {})}

    # The two sides ----------------------------------------------------------------

    def same_left(self) -> bool:
        """Return whether the left side is the metric, for some number of rounds."""
        left = self.part.says.left.value
        for T in sorted({*left.free, *subterms(left)}, key=str):
            if isinstance(T, k.Var) and T.sort is Sort.COUNT:
                self.plain[symbols.T] = rounds = _number(k.symbol(T))
                if any(not left - one.value for one in self._lefts(rounds)):
                    return True
        return False

    def _lefts(self, T: Number) -> Iterator[Form]:
        x, f, key = self.run.x, w.f, self.bound.metric.key
        rate = self.rate(k.Side.CLIENT)
        away = x(T) - f.best
        if key == "objective_gap":
            yield f.gap(x(T))
        elif key == "weighted_gap":
            yield w.below(t, T, rate * f.gap(x(t))) / T
        elif key == "weighted_gradient":
            yield w.below(t, T, rate * w.norm2(f.gradient(x(t)))) / T
        elif key in {"client_distance", "server_distance"}:
            yield w.norm2(w.part(k.Side(key.removesuffix("_distance")), away))
            yield w.norm2(away)

    def same_right(self) -> bool:
        """Return whether the right side is the formula."""
        theirs = k.Lin({})
        for one in self.bound.parts.values():
            theirs = theirs + self.form(sp.sympify(one, strict=True)).value
        return not theirs - self.part.says.right.value

    # The learning rates -----------------------------------------------------------

    def rate(self, side: k.Side) -> Number:
        """Return the rate of round (or step) t of a side."""
        return _number(self.run.split.pace(side).rate.at(t.value))

    def same_rates(self) -> bool:
        """Return whether the rates are the rule's, for both sides."""
        rule = self.bound.step_size
        if rule is None:
            return False
        client, server = self.rate(k.Side.CLIENT), self.rate(k.Side.SERVER)
        if rule.per_step != isinstance(self.run.split.client, k.Stepwise):
            return False
        if rule.relation == "=" and not self._family():
            own = (client - self.read(rule.client)).value
            if own:
                return False
        shares = sp.cancel(rule.server / rule.client)
        if self.run.split.kind is k.Kind.V2_WEIGHTED:
            shares = shares * symbols.N
        return not (server - client * self.read(shares)).value

    def _family(self) -> k.RoundFamily | None:
        """Return the family that the rates are, where they are free."""
        body = self.run.split.client.rate.body
        families = [one for one in subterms(body) if isinstance(one, k.PerRound)]
        if len(families) == 1 and not body - k.symbol(families[0]):
            return families[0].family
        return None

    def _admitted(self, restriction: Ratio) -> bool:
        """Return whether all rates of the rule meet ``restriction >= 0``.

        With rates eta <= c it is affine in eta and holds at 0 and at c.
        """
        family, rule = self._family(), self.bound.step_size
        if restriction.nonnegative():
            return True
        if family is None or rule is None or rule.relation == "any":
            return False

        def at(value: Number) -> Ratio:
            body = k.number_at(value.value, {k.Var("t", Sort.NATURAL): ROUND})
            return k.number_at(restriction, {family: k.Rate(body)})

        if rule.relation == "=":
            return at(self.read(rule.client)).nonnegative()
        largest = rule.client
        for symbol, meaning in rule.definitions.items():
            largest = largest.xreplace({symbol: meaning})
        none, one, two = (at(w.number(value)) for value in (0, 1, 2))
        if two - one - one + none or not none.nonnegative():
            return False
        for rate in _upper(largest):
            top, below = (self.read(e).value for e in sp.fraction(rate))
            if (none * below + (one - none) * top).nonnegative():
                return True
        return False

    # The hypotheses ---------------------------------------------------------------

    def states(self, given: h.Hypothesis) -> bool:
        """Return whether a hypothesis of the part is a condition of the bound."""
        one = body(given)
        if given in self.read_as:
            return True
        if isinstance(one, h.Convex):
            kind = c.StronglyConvex if one.modulus else c.Convex
            return self.bound.assumes(kind) or self.bound.assumes(c.StronglyConvex)
        if isinstance(one, h.Variance) and not one.bound:
            return self.bound.assumes(c.NoNoise)
        if not isinstance(one, h.Holds):
            return any(map(self.bound.assumes, STATED.get(type(one), ())))
        if one.form.expects:
            return self._gradient_bounded(one.form)
        number = k.number_of(one.form)
        return (
            self._admitted(number)
            or self._of_weights(number)
            or number in self._largest().values()
            or self._least_of(number)
        )

    def _gradient_bounded(self, form: k.Lin) -> bool:
        """Return whether this is ``||grad f||^2 <= G^2`` at a model."""
        if symbols.G not in self.squared:
            return False
        atoms = [one for one in subterms(form) if isinstance(one, k.Gradient)]
        bounds = (
            self.squared[symbols.G].value * k.constant(1) - k.norm2(k.vec(one))
            for one in atoms
        )
        return self.bound.assumes(c.BoundedGradients) and any(
            not form - one for one in bounds
        )

    def _of_weights(self, number: Ratio) -> bool:
        """Return whether this says ``N a_n = 1``, a half of it."""
        if not self.bound.assumes(c.EqualWeights):
            return False
        clients = [x for x in subterms(number) if isinstance(x, k.Weight)]
        return any(
            not number - sign * (1 - w.clients().value * k.symbol(one))
            for one, sign in product(clients, (1, -1))
        )

    def _largest(self) -> dict[tuple[k.Var, Ratio], Ratio]:
        """Return (v, x) -> v - x for all hypotheses v >= x on a parameter v."""
        found = {}
        for given in self.part.says.hypotheses:
            if isinstance(given, h.Holds) and not given.form.expects:
                number = k.number_of(given.form)
                for v in subterms(number):
                    if (
                        isinstance(v, k.Var)
                        and v not in (least := k.symbol(v) - number).free
                    ):
                        found[v, least] = number
        return found

    def _least_of(self, number: Ratio) -> bool:
        """Return whether a maximum is said to be one of what it is at least."""
        pairs = self._largest()
        return any(
            not number + pairs[one] * pairs[two]
            for one, two in product(pairs, pairs)
            if one[0] is two[0]
        )

    def form(self, e: Any) -> Form:
        """Return a term of a bound; a distance or gap at first is a factor of some.

        Raises:
            Unread: if it has no term.
        """
        x, f = self.run.x(0), w.f
        first = {
            symbols.I_err: w.norm2(x - f.best),
            symbols.F_err: f.gap(x),
            symbols.I_c: w.norm2(w.part(k.Side.CLIENT, x - f.best)),
            symbols.I_s: w.norm2(w.part(k.Side.SERVER, x - f.best)),
        }
        for symbol, form in first.items():
            if e.has(symbol):
                factor = e.subs(symbol, 1)
                if sp.expand(e - factor * symbol) != 0:
                    raise Unread(f"{e} is not linear in {symbol}")
                return self.read(factor) * form
        return w.as_form(self.read(e))

    def read(self, e: Any) -> Number:
        """Return a number.

        Raises:
            Unread: if there is none.
        """
        e = sp.sympify(e, strict=True)
        if isinstance(e, sp.Rational):
            return w.number(int(e.p)) / int(e.q)
        if e in self.plain:
            return self.plain[e]
        if e in self.meanings:
            return self.read(self.meanings[e])
        if isinstance(e, symbols.eta):
            return self.rate(k.Side.CLIENT)
        if isinstance(e, sp.Add | sp.Mul):
            first, *others = map(self.read, e.args)
            for other in others:
                first = first + other if isinstance(e, sp.Add) else first * other
            return first
        if isinstance(e, sp.Pow) and isinstance(e.exp, sp.Integer):
            return self._power(e.base, int(e.exp))
        if isinstance(e, sp.Sum):
            if e.limits[0][0] == symbols.n:
                return w.over_clients(n, self.read(sp.expand(e.function)))
            if tuple(e.limits[0]) == (symbols.t, 0, symbols.T - 1):
                return w.below(t, self.plain[symbols.T], self.read(e.function))
        if isinstance(e, sp.Max | sp.Min):
            return self._extreme(e)
        if isinstance(e, sp.exp):
            return self._exponential(e)
        raise Unread(f"{e} is not read")

    def _exponential(self, e: Any) -> Number:
        r"""Return what stands for :math:`\exp(\sum_{t<T}g_t)`.

        A statement for every L and h with h^0 <= 1, (1+g_t) h^{t+1} <= h^t and
        1 <= L h^{t+1} <= L is one for that exponential and h^t = exp(-sum_{r<t} g_r).

        Raises:
            Unread: if nothing does.
        """
        factor, sums = e.args[0].as_independent(sp.Sum, as_Add=False)
        if not isinstance(sums, sp.Sum) or sums.limits[0][0] != symbols.t:
            raise Unread(f"{e} is not read")
        grown, T = 1 + self.read(factor * sums.function), self.plain[symbols.T]
        given = self.part.says.hypotheses
        inside = subterms(*given)
        families = [one for one in inside if isinstance(one, k.RoundFamily)]
        for family, v in product(families, inside):
            if not isinstance(v, k.Var) or v.sort is not Sort.POSITIVE:
                continue

            def decay(at: Number | int, name: str = family.name) -> Number:
                return w.of_round(name, w.number(at), "")

            limit = _number(k.symbol(v))
            meant = {
                w.at_most(decay(0), 1).value,
                *(
                    w.every_round(t, T, one).value
                    for one in (
                        w.at_most(grown * decay(t + 1), decay(t)),
                        w.at_most(decay(t + 1), 1),
                        w.at_most(1, limit * decay(t + 1)),
                    )
                ),
            }
            if meant <= given:
                self.read_as.update(meant)
                return limit
        raise Unread(f"{e} is not read")

    def _power(self, base: Any, power: int) -> Number:
        if base == symbols.q[symbols.n] and power < 0:
            return w.inverse_chance(n) ** -power
        if base in self.squared:
            if power % 2:
                raise Unread(f"an odd power of {base}")
            return self.squared[base] ** (power // 2)
        inside = self.read(base)
        return inside**power if power > 0 else 1 / inside**-power

    def _extreme(self, e: Any) -> Number:
        """Return the larger or smaller of numbers, or the parameter that stands for it.

        A statement for every number that is at least x and y is one for their maximum,
        whose parameter may be a number less.

        Raises:
            Unread: if neither is.
        """
        sign = 1 if isinstance(e, sp.Max) else -1
        values = [self.read(one) for one in e.args]
        for one in values:
            if all((sign * (one - other).value).nonnegative() for other in values):
                return one
        if isinstance(e, sp.Max):
            pairs = self._largest()
            for v in {v for v, _ in pairs}:
                least = [x for other, x in pairs if other is v]
                for more in (values[0].value - x for x in least):
                    if not more.free and all(
                        any(not x + more - one.value for x in least) for one in values
                    ):
                        return _number(k.symbol(v) + more)
        raise Unread(f"{e} is not read")


def proved_and_no_less(part: Part) -> bool:
    """Return whether the kernel proves a part, but not a smaller right side by it."""
    less = part.says.right * w.number(999) / 1000
    smaller = Part(stated(part.says.left, less, *part.says.assumed), part.by)
    decided = [decide(one, "").status for one in (part, smaller)]
    return decided == ["proved", "unproved"]


def _upper(rate: Any) -> Iterator[Any]:
    """Yield upper bounds: each of a minimum, each over one of a maximum below."""
    for one in rate.args if isinstance(rate, sp.Min) else (rate,):
        top, below = sp.fraction(one)
        largest = [e for e in sp.Mul.make_args(below) if isinstance(e, sp.Max)]
        if largest:
            yield from (top / below.xreplace({largest[0]: e}) for e in largest[0].args)
        else:
            yield one


def _of_client(family: k.ClientFamily) -> Number:
    return _number(k.symbol(k.PerClient(family, n)))


def _number(value: Ratio) -> Number:
    return w.Written(value, "")


def body(given: h.Hypothesis) -> h.Hypothesis:
    while isinstance(given, h.Every):
        given = given.inside()
    return given


# What a part has to be ---------------------------------------------------------------

KINDS = {
    "sfl-v1": (k.Kind.V1,),
    "fedavg": (k.Kind.V1,),
    "sfl-v2": (k.Kind.V2, k.Kind.V2_WEIGHTED),
    "minibatch-sfl": (k.Kind.MINIBATCH,),
}
"""Algorithm of a theorem -> what runs it."""


def says(item: Theorem, bound: Bound, parts: Iterable[Part]) -> bool:
    """Return whether parts say exactly what a bound says, for the periods it admits."""
    found = {order(part, item.algorithm, bound) for part in parts}
    one = item.algorithm != "sfl-v1" or bound.assumes(c.EqualPeriods)
    enough = {"equal"} if one else {"client", "server"}
    return "" not in found and ("any" in found or enough <= found)


def order(part: Part, algorithm: str, bound: Bound) -> str:
    """Return for which order of the periods a part backs a bound; "" for none."""
    runs = {one for one in subterms(part.says.left.value) if isinstance(one, k.Split)}
    if len(runs) != 1:
        return ""
    (split,) = runs
    if not same_algorithm(split, algorithm, bound):
        return ""
    try:
        reading = Reading.of(part, split, bound)
        fits = (
            reading.same_left()
            and reading.same_right()
            and reading.same_rates()
            and all(map(reading.states, part.says.hypotheses))
        )
    except (Unread, Rejected):
        return ""
    if not fits:
        return ""
    more = ratio(split.client.steps) - ratio(split.server.steps)
    if not more:
        return "equal"
    if more.nonnegative():
        return "client"
    return "server" if (-more).nonnegative() else "any"


def same_algorithm(split: k.Split, algorithm: str, bound: Bound) -> bool:
    if split.kind not in KINDS.get(algorithm, ()):
        return False
    if split.kind is k.Kind.V2_WEIGHTED and not bound.assumes(c.WeightedServer):
        return False
    if split.kind is k.Kind.V2 and bound.assumes(c.WeightedServer):
        return False
    if split.participants is k.Participants.EVERYONE:
        return bound.assumes(c.EveryoneTakesPart)
    return split.participants is k.Participants.UPDATES and bound.assumes(
        c.UpdatesAggregated
    )
