"""Theorems, and the rules of logic, numbers and sums; each docstring proves its rule.

A theorem ``hypotheses |- form >= 0`` (or ``= 0``) says: in every model in which the
hypotheses hold, for all values of the free variables, the expectation of the form over
noise and draws has that sign. A rule checks its own preconditions, computes its own
constants, and names the hypotheses that it uses; `Rule.kinds` are its arguments' types.

Only `Participation` says how draws are distributed. So the law of a model given the
values of all draws is itself a model, in which the draws are constants, and every
hypothesis that is not `averaged` holds in it. A theorem without averaged hypotheses
and without `Expected` in its form (there it means another vector) therefore also holds
*given the draws*, for almost all of their values. Only such a theorem may be multiplied
by a factor with a `Draw`, or be the sign of a number with one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache, wraps
from types import UnionType
from typing import Any, ParamSpec, Union, cast, get_args, get_origin, get_type_hints

from . import hypotheses as h
from . import terms as k
from .algebra import HALF, WHOLE, Ratio, Sort, Symbol, ratio, require
from .terms import Client, Lin, Var, Vec

Hypotheses = frozenset[h.Hypothesis]
Replaceable = Var | Client | k.NamedFunction | k.Point | k.RoundFamily
Replacement = k.Replacement
number_of = k.number_of
_NONE: Hypotheses = frozenset()
_TOKEN = object()
MAX_CLIENTS, MAX_APART = 1_000, 8
_OPEN: Any = (Symbol, h.Hypothesis, k.ClientIndex, k.Function)  # for all their classes


class Theorem:
    """``hypotheses |- form >= 0``, or ``= 0`` where `equal`; `call` made it."""

    __slots__ = ("call", "equal", "form", "hypotheses")
    hypotheses: Hypotheses
    form: Lin
    equal: bool
    call: tuple[str, tuple[object, ...]] | None

    def __init__(self, token: object, *parts: object) -> None:
        require(token is _TOKEN, "only a rule makes a theorem")
        for name, value in zip(Theorem.__annotations__, (*parts, None), strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        require(False, "a theorem does not change")

    def __str__(self) -> str:
        assumed = "; ".join(sorted(map(str, self.hypotheses)))
        return f"{assumed} |- {self.form} {'=' if self.equal else '>='} 0"


Signs = tuple[Theorem, ...]


@dataclass(frozen=True)
class Rule:
    """A rule, its proof and the types of its arguments."""

    name: str
    apply: Callable[..., Theorem]
    kinds: tuple[object, ...]
    proof: str


RULES: dict[str, Rule] = {}
P = ParamSpec("P")


def rule(function: Callable[P, Theorem]) -> Callable[P, Theorem]:
    """Return the function as a rule that refuses arguments of other types.

    What is kept for the next equal call is a theorem that the rule made, so it is true.
    """
    name = function.__name__
    *kinds, _ = get_type_hints(function).values()  # the last one is what it returns
    known = lru_cache(maxsize=20_000)(function)

    @wraps(function)
    def apply(*args: P.args, **kwargs: P.kwargs) -> Theorem:
        fits = not kwargs and len(args) == len(kinds)
        require(fits, "%s takes %s arguments by position", name, len(kinds))
        for value, kind in zip(args, kinds, strict=True):
            require(conforms(value, kind), "%s: %s is no %s", name, value, kind)
            require(closed(value), "%s: %s has an index of a binder", name, value)
        theorem = known(*args)
        if theorem.call is None:
            object.__setattr__(theorem, "call", (name, args))
        return theorem

    RULES[name] = Rule(name, apply, tuple(kinds), function.__doc__ or "")
    return apply


@cache
def taken_apart(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what a generic type is made of."""
    return get_origin(kind), get_args(kind)


def conforms(value: object, kind: Any) -> bool:
    """Return whether a value is exactly of a type, down to the items of tuples."""
    if type(value) is kind:
        return True
    origin, args = taken_apart(kind)
    if origin in (Union, UnionType):
        return any(conforms(value, one) for one in args)
    if origin is tuple and type(value) is tuple:
        kinds = args[:1] * len(value) if args[1:] == (Ellipsis,) else args
        return len(value) == len(kinds) and all(map(conforms, value, kinds))
    return kind in _OPEN and isinstance(value, kind)


def closed(value: object) -> bool:
    """Return whether no index occurs without its binder or its rate.

    What a rule concludes from closed terms is closed, so a theorem is not asked again.
    """
    if type(value) is tuple:
        return all(map(closed, value))
    free: frozenset[object] = getattr(value, "free", _NONE)
    return not any(isinstance(v, k.BoundClient | k.BoundNat | k.Argument) for v in free)


def theorem_of(hypotheses: Iterable[h.Hypothesis], form: Lin, equal: bool) -> Theorem:
    """Return a theorem; for rules."""
    return Theorem(_TOKEN, frozenset(hypotheses), form, equal)


def at_least(form: Lin, *hypotheses: h.Hypothesis) -> Theorem:
    """Return ``hypotheses |- form >= 0``; for rules."""
    return theorem_of(hypotheses, form, False)


def zero(form: Lin, *hypotheses: h.Hypothesis) -> Theorem:
    """Return ``hypotheses |- form = 0``; for rules."""
    return theorem_of(hypotheses, form, True)


def _given_the_draws(theorem: Theorem) -> bool:
    """Return whether the theorem holds given the draws, as the module says."""
    averaged = any(one.averaged for one in theorem.hypotheses)
    return not averaged and k.CONDITIONAL not in theorem.form.free


def _scales(theorem: Theorem, factor: Ratio) -> None:
    """Check that a theorem may be multiplied by a factor, as far as draws matter.

    One without draws may leave the expectation; E[J] = 1, but E[J J] is not E[J].
    """
    fits = k.CHANCE not in factor.free or _given_the_draws(theorem)
    require(fits, "an average over draws is multiplied by %s", factor)


def _nonnegative(c: Ratio, signs: Signs) -> Hypotheses:
    """Return hypotheses under which c >= 0: sorts, or a sign theorem g >= 0.

    g helps if c - g >= 0 by sorts, or c = k g with k >= 0 by sorts (denominators are
    positive). Where draws occur, g has to be >= 0 given them.
    """
    if c.nonnegative():
        return _NONE
    for sign in signs:
        g = number_of(sign.form)
        if k.CHANCE in c.free | g.free and not _given_the_draws(sign):
            continue
        if (c - g).nonnegative():
            return sign.hypotheses
        quotient = c.numerator.divided(g.numerator) if g else None
        if quotient is not None and quotient.nonnegative():
            return sign.hypotheses
    require(False, "%s is not shown to be >= 0", c)
    return _NONE


def required(c: Ratio) -> Hypotheses:
    """Return the hypothesis c >= 0, or none where the sorts show it."""
    return _NONE if c.nonnegative() else frozenset({h.Holds(k.constant(c))})


@rule
def assume(form: Lin) -> Theorem:
    """Return form >= 0 |- form >= 0. Proof: the conclusion is the hypothesis."""
    return at_least(form, h.Holds(form))


@rule
def cut(theorem: Theorem, lemma: Theorem) -> Theorem:
    """Return the theorem without the hypothesis that the lemma proves.

    Proof: where the lemma's hypotheses hold, so does this one: their difference is 0.
    """
    among = (one for one in theorem.hypotheses if type(one) is h.Holds)
    known = {one for one in among if not one.form - lemma.form}
    require(known, "%s is no hypothesis", h.Holds(lemma.form))
    others = theorem.hypotheses - known
    return theorem_of(others | lemma.hypotheses, theorem.form, theorem.equal)


@rule
def specialise(
    theorem: Theorem, every: h.Every, value: Ratio | k.ClientIndex
) -> Theorem:
    """Return the theorem that assumes for every v what it assumes of one value.

    Proof: what holds for every v of a range holds for a value that lies in it.
    """
    v, inside = every.opened()
    one, hypotheses = k.at(inside, {v: value}), _NONE
    require(one in theorem.hypotheses, "%s is no hypothesis", one)
    if every.binder is not k.CLIENTS:
        index = ratio(k.natural(cast(Ratio, value)))
        if isinstance(every.binder, k.Steps):
            hypotheses = required(ratio(every.binder.upper) - 1 - index)
    hypotheses |= theorem.hypotheses - {one} | {every}
    return theorem_of(hypotheses, theorem.form, theorem.equal)


@rule
def square(c: Ratio) -> Theorem:
    """Return |- c^2 >= 0 for a number c. Proof: its denominator cannot vanish."""
    return at_least(k.constant(c * c))


@rule
def combine(
    uses: tuple[tuple[Theorem, Ratio], ...],
    squares: tuple[tuple[Vec, Ratio], ...],
    target: Lin | None,
    signs: Signs,
) -> Theorem:
    """Return sum m_k T_k + sum w_k E||v_k||^2 >= 0, or a target that is larger.

    Proof: m_k >= 0 (any sign where T_k is an equality) and w_k >= 0 keep the sign, and
    what is >= 0 may be added (`_least`). The result is an equality if only equalities
    were used and the target differs by nothing. Factors with draws: see `_scales`;
    squares and what the target adds are not negative given the draws.
    """
    forms, hypotheses = list[tuple[Lin, Ratio]](), set[h.Hypothesis]()
    for theorem, factor in uses:
        hypotheses |= theorem.hypotheses
        _scales(theorem, factor)
        if not theorem.equal:
            hypotheses |= _nonnegative(factor, signs)
        forms.append((theorem.form, factor))
    for vector, factor in squares:
        hypotheses |= _nonnegative(factor, signs)
        forms.append((k.norm2(vector), factor))
    form = Lin.weighted(forms)
    equal = not squares and all(theorem.equal for theorem, _ in uses)
    if target is None:
        return theorem_of(hypotheses, form, equal)
    rest = target - form
    for number in _least(rest):
        hypotheses |= _nonnegative(number, signs)
    return theorem_of(hypotheses, target, equal and not rest)


def _least(rest: Lin) -> Iterable[Ratio]:
    """Return numbers, a sum and one for each ||u||^2; if all are >= 0, so is the rest.

    Proof: c <u, v> = |c|/2 (||u +- v||^2 - ||u||^2 - ||v||^2), with |c| by the sorts.
    So what the rest adds could be written as squares.
    """
    least: dict[k.Term, list[tuple[Ratio, Ratio]]] = {}
    for atom, c in rest.coefficients.items():
        ends: set[Any] = {atom.left, atom.right} if type(atom) is k.Inner else {atom}
        if apart := len(ends) > 1:
            c = -c if c.nonnegative() else c
            require((-c).nonnegative(), "%s has no sign", c)
        for end in ends:
            least.setdefault(end, []).append((c, HALF if apart else WHOLE))
    fits = all(isinstance(end, k.VecAtom) or end is k.UNIT for end in least)
    require(fits, "that is not the target, which is more by %s", rest)
    return map(k.products, least.values())


@rule
def instantiate(
    theorem: Theorem,
    values: tuple[tuple[Replaceable, Replacement], ...],
    signs: Signs,
) -> Theorem:
    """Return the theorem with free variables replaced, its hypotheses too.

    Proof: a theorem holds for all values of its free variables. A parameter's new value
    has its sort, and no draw: non-negative perhaps by a sign theorem, whose hypotheses
    are added as they are, for they speak of the new value. A family over rounds becomes
    a closed function of the round, of the family's sort at every round. Clients or
    rounds may be made equal: every rule's conclusion holds for equal ones too, `expect`
    refuses what would not.
    """
    by: dict[k.Variable, Replacement] = {}
    hypotheses = set[h.Hypothesis]()
    for old, new in values:
        require(old not in by, "%s has two values", old)
        require(k.CHANCE not in new.free, "%s is random", new)
        by[old] = new
        old.replaced(by)
        if isinstance(old, Var) and isinstance(new, Ratio):
            hypotheses |= _of_sort(new, old.sort, signs)
        elif isinstance(old, k.RoundFamily) and isinstance(new, k.Rate):
            _of_sort(new.body, old.sort, ())
    replaced = {k.at(one, by) for one in theorem.hypotheses}
    return theorem_of(replaced | hypotheses, k.lin_at(theorem.form, by), theorem.equal)


def _of_sort(c: Ratio, sort: Sort, signs: Signs) -> Hypotheses:
    if sort is Sort.NONNEGATIVE:
        return _nonnegative(c, signs)
    if sort.whole:
        k.natural(c - int(sort is Sort.COUNT))
    else:
        require(c.positive(), "%s is not shown to be > 0", c)
    return _NONE


@rule
def sum_over(
    theorem: Theorem, binder: k.Binder, v: k.Bindable, factor: Ratio, signs: Signs
) -> Theorem:
    """Return from T(v) for every v of the binder: sum_v factor(v) T(v), factor >= 0.

    Proof: a sum of true inequalities. A hypothesis on v has to hold for every v of the
    range (`_bound_hypotheses`); for a factor with draws see `_scales`.
    """
    _scales(theorem, factor)
    extra = _NONE if theorem.equal else _nonnegative(factor, signs)
    hypotheses = _bound_hypotheses(theorem.hypotheses | extra, binder, v)
    scaled = theorem.form * factor
    return theorem_of(hypotheses, k.summed(binder, v, scaled), theorem.equal)


def _bound_hypotheses(
    hypotheses: Hypotheses, binder: k.Quantifier, v: k.Bindable
) -> Hypotheses:
    """Return what implies the hypotheses for every v in the range."""
    others = frozenset(one for one in hypotheses if v not in one.free)
    return others.union(*(_for_all(one, binder, v) for one in hypotheses - others))


def _for_all(one: h.Hypothesis, binder: k.Quantifier, v: k.Bindable) -> Hypotheses:
    """Return what implies a hypothesis on v for every v in the range.

    A restriction ``r - c v >= 0`` with c >= 0, r and c without v, holds for all v < u
    if it holds for v = u - 1; if u = 0 nothing was needed.
    """
    match one, binder:
        case h.Holds(form), k.Steps(u) if isinstance(v, Var) and not form.expects:
            number = number_of(form)
            slope = number - k.number_at(number, {v: k.symbol(v) + 1})
            if v not in slope.free and slope.nonnegative():
                return required(k.number_at(number, {v: ratio(u) - 1}))
    return frozenset({h.every(binder, v, one)})


@rule
def induct(base: Theorem, step: Theorem, v: Var, claim: Lin) -> Theorem:
    """Return P(v) for every natural v from P(0) and P(v) |- P(v + 1); P is the claim.

    Proof: induction over the naturals. What the step assumes besides P(v) has to hold
    at every v. A claim with a draw is no hypothesis.
    """
    k.bindable(k.NATURALS, v)
    first, later = (k.lin_at(claim, {v: at}) for at in (ratio(0), k.symbol(v) + 1))
    require(not base.form - first, "the base is not the claim at 0")
    require(not step.form - later, "the step does not end in the claim after v")
    others = step.hypotheses - {h.Holds(claim)}
    always = _bound_hypotheses(others, k.NATURALS, v)
    return theorem_of(base.hypotheses | always, claim, False)


@rule
def divided(
    theorem: Theorem, q: Var, i: Var, period: Ratio, v: Var, claim: Lin
) -> Theorem:
    """Return P(v) for every natural v from P(s q + i), i < s >= 1; P is the claim.

    Proof: v has a quotient q and a remainder i by the period s.
    """
    for index in (q, i, v):
        k.bindable(k.NATURALS, index)
    k.natural(period - 1)
    apart = q is not i and not {q, i, v} & (period.free | claim.free - {v})
    at = period * k.symbol(q) + k.symbol(i)
    fits = not theorem.form - k.lin_at(claim, {v: at})
    require(apart and fits, "the theorem is not the claim at s q + i")
    one = _bound_hypotheses(theorem.hypotheses, k.Steps(k.natural(period)), i)
    always = _bound_hypotheses(one, k.NATURALS, q)
    return theorem_of(always, claim, theorem.equal)


@rule
def cases(above: Theorem, below: Theorem, c: Ratio) -> Theorem:
    """Return the same conclusion where c >= 0 and where -c >= 0. Proof: one holds."""
    require(not (above.form - below.form), "the cases prove different things")
    one, other = h.Holds(k.constant(c)), h.Holds(k.constant(-c))
    hypotheses = (above.hypotheses - {one}) | (below.hypotheses - {other})
    return theorem_of(hypotheses, above.form, above.equal and below.equal)


@rule
def jensen(binder: k.Binder, v: k.Bindable, factor: Ratio, u: Vec) -> Theorem:
    """Return W sum w E||u||^2 - E||sum w u||^2 >= 0 for w >= 0, W = sum w.

    Proof: Cauchy-Schwarz for the weights w.
    """
    _nonnegative(factor, ())
    total = number_of(k.summed(binder, v, k.constant(factor)))
    mean = k.summed(binder, v, u * factor)
    return at_least(k.summed(binder, v, k.norm2(u) * factor) * total - k.norm2(mean))


@rule
def linear(binder: k.Binder, v: k.Bindable, u: Vec, w: Vec) -> Theorem:
    """Return <sum_v u(v), w> = sum_v <u(v), w> for w without v. Proof: linearity."""
    require(v not in w.free, "%s is bound", v)
    split_up = k.summed(binder, v, k.inner(u, w))
    return zero(k.inner(k.summed(binder, v, u), w) - split_up)


@rule
def exchange(
    outer: k.Binder, v: k.Bindable, inner: k.Binder, w: k.Bindable, form: Lin
) -> Theorem:
    """Return sum_v sum_w e = sum_w sum_v e for ranges without the other's index.

    Proof: both are the finite sum over all pairs.
    """
    apart = v is not w and v not in inner.free and w not in outer.free
    require(apart, "%s and %s are not independent", v, w)
    rows = k.summed(outer, v, k.summed(inner, w, form))
    return zero(rows - k.summed(inner, w, k.summed(outer, v, form)))


@rule
def longer(v: Var, u: Vec, short: Ratio, long: Ratio) -> Theorem:
    """Return sum_{v<long} E||u||^2 - sum_{v<short} E||u||^2 >= 0 for short <= long.

    Proof: squares are not negative. short <= long is a hypothesis unless sorts show it.
    """
    more, less = (k.Steps(k.natural(upper)) for upper in (long, short))
    form = k.norm2(u)
    form = k.summed(more, v, form) - k.summed(less, v, form)
    return at_least(form, *required(long - short))


@rule
def split(v: Var, form: Lin, first: Ratio, second: Ratio) -> Theorem:
    """Return sum_{v<p+q} e(v) = sum_{v<p} e(v) + sum_{v<q} e(p + v).

    Proof: the second sum is the first one's continuation.
    """
    low, high = k.Steps(k.natural(first)), k.Steps(k.natural(second))
    both = k.summed(k.Steps(k.natural(first + second)), v, form)
    shifted = k.lin_at(form, {v: first + k.symbol(v)})
    return zero(both - k.summed(low, v, form) - k.summed(high, v, shifted))


@rule
def numbered(v: Client, form: Lin, count: int) -> Theorem:
    """Return sum_n e(n) = e(#0) + ... + e(#(N - 1)) for a given number N of clients.

    Proof: where N is that number, each client has one of these numbers.
    """
    require(0 < count <= MAX_CLIENTS, "%s clients", count)
    N = number_of(over_clients(lambda _: k.constant(1)))
    each = (k.lin_at(form, {v: k.Numbered(p)}) for p in range(count))
    both = required(N - count) | required(count - N)
    return zero(k.summed(k.CLIENTS, v, form) - Lin({}).plus(each), *both)


def over_clients(of: Callable[[Client], k.C]) -> k.C:
    """Return ``sum_n of(n)``."""
    n = k.fresh(k.CLIENTS)
    return k.summed(k.CLIENTS, n, of(n))
