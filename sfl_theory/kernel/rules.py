"""The rules; only they make a `Theorem`, and each docstring proves its rule.

A theorem ``hypotheses |- form >= 0`` (or ``= 0``) says: in every model in which the
hypotheses hold, for all values of the free variables, the expectation of the form over
noise and draws has that sign. A rule checks its own preconditions, computes its own
constants, and names the hypotheses that it uses; `Rule.kinds` are its arguments' types.

Only `Participation` says how draws are distributed. So the law of a model given the
values of all draws is itself a model, in which the draws are constants, and every
hypothesis that is not `averaged` holds in it. A theorem without averaged hypotheses
and without `Expected` in its form (there it means another vector) therefore also holds
*given the draws*, for almost all of their values. Only such a theorem may be multiplied
by a factor with a `Draw`, or be the sign of a number with one; see `_given_the_draws`.
An averaged theorem says nothing about single values of draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from types import UnionType
from typing import Any, ParamSpec, Union, cast, get_args, get_origin, get_type_hints

from . import hypotheses as h
from . import terms as k
from .algebra import Number, Poly, Ratio, Sort, Symbol, ratio, require
from .terms import Client, Lin, Side, Split, Var, Vec

Hypotheses = frozenset[h.Hypothesis]
Replaceable = Var | Client | k.NamedFunction | k.Point | k.RoundFamily
Replacement = Ratio | k.ClientIndex | k.Function | Vec | k.Rate
_NONE: Hypotheses = frozenset()
_TOKEN = object()
_OPEN: Any = (
    Symbol,
    h.Hypothesis,
    k.ClientIndex,
    k.Function,
)  # what stands for all its classes


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


@dataclass(frozen=True)
class Rule:
    """A rule, its proof and the types of its arguments."""

    name: str
    apply: Callable[..., Theorem]
    kinds: tuple[object, ...]
    proof: str


RULES: dict[str, Rule] = {}
number_of = k.number_of
P = ParamSpec("P")


def rule(function: Callable[P, Theorem]) -> Callable[P, Theorem]:
    """Return the function as a rule that refuses arguments of other types."""
    name = function.__name__
    hints = get_type_hints(function)
    kinds = tuple(kind for key, kind in hints.items() if key != "return")

    @wraps(function)
    def apply(*args: P.args, **kwargs: P.kwargs) -> Theorem:
        fits = not kwargs and len(args) == len(kinds)
        require(fits, "%s takes %s arguments by position", name, len(kinds))
        for value, kind in zip(args, kinds, strict=True):
            fits = conforms(value, kind)
            require(fits, "%s: %s is not of type %s", name, value, kind)
            require(closed(value), "%s: %s has an index of a binder", name, value)
        theorem = function(*args, **kwargs)
        object.__setattr__(theorem, "call", (name, args))
        return theorem

    RULES[name] = Rule(name, apply, kinds, function.__doc__ or "")
    return apply


def conforms(value: object, kind: Any) -> bool:
    """Return whether a value is exactly of a type, down to the items of tuples."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(conforms(value, one) for one in args)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if len(args) == 2 and args[1] is Ellipsis:
            return all(conforms(item, args[0]) for item in value)
        return len(value) == len(args) and all(map(conforms, value, args))
    return type(value) is kind or (kind in _OPEN and isinstance(value, kind))


def closed(value: object) -> bool:
    """Return whether no index occurs without its binder or its rate.

    What a rule concludes from closed terms is closed, so a theorem is not asked again.
    """
    if type(value) is tuple:
        return all(map(closed, value))
    if type(value) is Theorem:
        return True
    free: frozenset[object] = getattr(value, "free", frozenset())
    return not any(isinstance(v, k.BoundClient | k.BoundNat | k.Argument) for v in free)


def _theorem(hypotheses: Iterable[h.Hypothesis], form: Lin, equal: bool) -> Theorem:
    return Theorem(_TOKEN, frozenset(hypotheses), form, equal)


def _at_least(form: Lin, *hypotheses: h.Hypothesis) -> Theorem:
    return _theorem(hypotheses, form, False)


def _zero(form: Lin, *hypotheses: h.Hypothesis) -> Theorem:
    return _theorem(hypotheses, form, True)


# Signs -----------------------------------------------------------------------------


def _given_the_draws(theorem: Theorem) -> bool:
    """Return whether the theorem holds for almost all values of all draws.

    It does if no hypothesis is averaged and no `Expected` occurs (module docstring).
    """
    averaged = any(one.averaged for one in theorem.hypotheses)
    return not averaged and k.CONDITIONAL not in theorem.form.free


def _scales(theorem: Theorem, factor: Ratio) -> None:
    """Check that a theorem may be multiplied by a factor, as far as draws matter.

    A number without draws may leave the expectation. One with draws is a number given
    the draws, so the theorem has to hold given them: E[J] = 1, but E[J J] is not E[J].
    """
    fits = k.CHANCE not in factor.free or _given_the_draws(theorem)
    require(fits, "an average over draws is multiplied by %s", factor)


def _nonnegative(c: Ratio, signs: tuple[Theorem, ...]) -> Hypotheses:
    """Return hypotheses under which c >= 0: sorts, or a sign theorem g >= 0.

    g helps if c - g >= 0 by sorts, or c = k g with k >= 0 by sorts (denominators are
    positive). An equality g = 0 helps as g >= 0. Where draws occur, g has to be >= 0
    given them.
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


def _required(c: Ratio) -> Hypotheses:
    """Return the hypothesis c >= 0, or none where the sorts show it."""
    return _NONE if c.nonnegative() else frozenset({h.Holds(k.constant(c))})


# Logic -----------------------------------------------------------------------------


@rule
def assume(form: Lin) -> Theorem:
    """Return form >= 0 |- form >= 0.

    Proof: the conclusion is the hypothesis. With expected values both are averages over
    the draws; a form with a draw itself is no hypothesis.
    """
    return _at_least(form, h.Holds(form))


@rule
def cut(theorem: Theorem, lemma: Theorem) -> Theorem:
    """Return the theorem without the hypothesis that the lemma proves.

    Proof: where the lemma's hypotheses hold, its form is >= 0, which is the hypothesis.
    """
    known = h.Holds(lemma.form)
    require(known in theorem.hypotheses, "%s is no hypothesis", known)
    others = theorem.hypotheses - {known}
    return _theorem(others | lemma.hypotheses, theorem.form, theorem.equal)


@rule
def square(c: Ratio) -> Theorem:
    """Return |- c^2 >= 0 for a number c.

    Proof: a ratio is a real number, for its denominator cannot vanish.
    """
    return _at_least(k.constant(c * c))


@rule
def combine(
    uses: tuple[tuple[Theorem, Ratio], ...],
    squares: tuple[tuple[Vec, Ratio], ...],
    target: Lin | None,
    signs: tuple[Theorem, ...],
) -> Theorem:
    """Return sum m_k T_k + sum w_k E||v_k||^2 >= 0, or a target that is larger.

    Proof: m_k >= 0 (any sign where T_k is an equality) and w_k >= 0 keep the sign, and
    a number that is >= 0 may be added. The result is an equality if only equalities
    were used and the target differs by nothing. Factors with draws: see `_scales`;
    squares and what the target adds are not negative given the draws.
    """
    form = Lin({})
    hypotheses = set[h.Hypothesis]()
    for theorem, factor in uses:
        hypotheses |= theorem.hypotheses
        _scales(theorem, factor)
        if not theorem.equal:
            hypotheses |= _nonnegative(factor, signs)
        form = form + theorem.form * factor
    for vector, factor in squares:
        hypotheses |= _nonnegative(factor, signs)
        form = form + k.norm2(vector) * factor
    equal = not squares and all(theorem.equal for theorem, _ in uses)
    if target is None:
        return _theorem(hypotheses, form, equal)
    rest = target - form
    wrong = rest - k.constant(rest.coefficients.get(k.UNIT, 0))
    require(not wrong, "the combination is not the target, which is more by %s", wrong)
    hypotheses |= _nonnegative(number_of(rest), signs)
    return _theorem(hypotheses, target, equal and not rest)


@rule
def instantiate(
    theorem: Theorem,
    values: tuple[tuple[Replaceable, Replacement], ...],
    signs: tuple[Theorem, ...],
) -> Theorem:
    """Return the theorem with free variables replaced, its hypotheses too.

    Proof: a theorem holds for all values of its free variables. A parameter's new value
    has to have its sort: natural and count by the sorts of what occurs in it, positive
    too, non-negative also by a sign theorem, whose hypotheses are added as they are,
    for they speak of the new value. A family over rounds becomes a closed function of
    the round, of the family's sort at every round. A parameter is no random number, so
    no value has a draw. Clients or rounds may be made equal: every rule's conclusion
    holds for equal ones too, `expect` refuses what would not.
    """
    by: dict[k.Variable, Replacement] = {}
    hypotheses = set[h.Hypothesis]()
    for old, new in values:
        require(old not in by, "%s has two values", old)
        require(k.CHANCE not in new.free, "%s is random", new)
        old.replaced({old: new})
        if isinstance(old, Var) and isinstance(new, Ratio):
            hypotheses |= _of_sort(new, old.sort, signs)
        elif isinstance(old, k.RoundFamily) and isinstance(new, k.Rate):
            _of_sort(new.body, old.sort, ())
        by[old] = new
    replaced = {k.at(one, by) for one in theorem.hypotheses}
    form = k.lin_at(theorem.form, by)
    return _theorem(replaced | hypotheses, form, theorem.equal)


def _of_sort(c: Ratio, sort: Sort, signs: tuple[Theorem, ...]) -> Hypotheses:
    if sort is Sort.NONNEGATIVE:
        return _nonnegative(c, signs)
    if sort is Sort.NATURAL:
        k.natural(c)
    elif sort is Sort.COUNT:
        k.natural(c - 1)
    else:
        require(c.positive(), "%s is not shown to be > 0", c)
    return _NONE


@rule
def sum_over(
    theorem: Theorem,
    binder: k.Binder,
    v: Client | Var,
    factor: Ratio,
    signs: tuple[Theorem, ...],
) -> Theorem:
    """Return from T(v) for every v of the binder: sum_v factor(v) T(v), factor >= 0.

    Proof: a sum of true inequalities. A hypothesis on v has to hold for every v of the
    range; see `_bound_hypotheses` for those that the range implies. A factor with draws
    needs a theorem that holds given them, see `_scales`.
    """
    _scales(theorem, factor)
    extra = _NONE if theorem.equal else _nonnegative(factor, signs)
    hypotheses = _bound_hypotheses(theorem.hypotheses | extra, binder, v)
    form = k.summed(binder, v, theorem.form * factor)
    return _theorem(hypotheses, form, theorem.equal)


def _bound_hypotheses(
    hypotheses: Hypotheses, binder: k.Quantifier, v: Client | Var
) -> Hypotheses:
    """Return what implies the hypotheses for every v in the range.

    A restriction ``r - c v >= 0`` with c >= 0, r and c without v, holds for all v < u
    if it holds for v = u - 1; if u = 0 nothing was needed.
    """
    out = set[h.Hypothesis]()
    for one in hypotheses:
        last = None
        if isinstance(v, Var) and isinstance(binder, k.Steps) and v in one.free:
            last = _at_last(one, v, ratio(binder.upper) - 1)
        if v not in one.free:
            out.add(one)
        else:
            out |= {h.every(binder, v, one)} if last is None else _required(last)
    return frozenset(out)


def _at_last(one: h.Hypothesis, v: Var, last: Ratio) -> Ratio | None:
    """Return r - c last if it says r - c v >= 0 with c >= 0 by sorts, else None."""
    if not isinstance(one, h.Holds) or one.form.expects:
        return None
    number = number_of(one.form)
    slope = number - k.number_at(number, {v: k.symbol(v) + 1})
    if v in slope.free or not slope.nonnegative():
        return None
    return k.number_at(number, {v: last})


@rule
def induct(base: Theorem, step: Theorem, v: Var, claim: Lin) -> Theorem:
    """Return P(v) for every natural v from P(0) and P(v) |- P(v + 1); P is the claim.

    Proof: induction over the naturals. What the step assumes besides P(v) has to hold
    at every v. P(v) is an average over draws in the base, in the step's hypothesis and
    in its conclusion; a claim with a draw is no hypothesis.
    """
    k.bindable(k.NATURALS, v)
    first, later = (k.lin_at(claim, {v: at}) for at in (ratio(0), k.symbol(v) + 1))
    require(not base.form - first, "the base is not the claim at 0")
    require(not step.form - later, "the step does not end in the claim after v")
    others = step.hypotheses - {h.Holds(claim)}
    always = _bound_hypotheses(others, k.NATURALS, v)
    return _theorem(base.hypotheses | always, claim, False)


@rule
def cases(above: Theorem, below: Theorem, c: Ratio) -> Theorem:
    """Return the same conclusion where c >= 0 and where -c >= 0.

    Proof: one of the two holds.
    """
    require(not (above.form - below.form), "the cases prove different things")
    one, other = h.Holds(k.constant(c)), h.Holds(k.constant(-c))
    hypotheses = (above.hypotheses - {one}) | (below.hypotheses - {other})
    return _theorem(hypotheses, above.form, above.equal and below.equal)


# Sums ------------------------------------------------------------------------------


@rule
def jensen(binder: k.Binder, v: Client | Var, factor: Ratio, u: Vec) -> Theorem:
    """Return W sum w E||u||^2 - E||sum w u||^2 >= 0 for w >= 0, W = sum w.

    Proof: Cauchy-Schwarz for the weights w.
    """
    _nonnegative(factor, ())
    total = number_of(k.summed(binder, v, k.constant(factor)))
    mean = k.summed(binder, v, u * factor)
    return _at_least(k.summed(binder, v, k.norm2(u) * factor) * total - k.norm2(mean))


@rule
def linear(binder: k.Binder, v: Client | Var, u: Vec, w: Vec) -> Theorem:
    """Return <sum_v u(v), w> = sum_v <u(v), w> for w without v.

    Proof: the inner product is linear and the sum is finite.
    """
    require(v not in w.free, "%s is bound", v)
    split_up = k.summed(binder, v, k.inner(u, w))
    return _zero(k.inner(k.summed(binder, v, u), w) - split_up)


@rule
def longer(v: Var, u: Vec, short: Ratio, long: Ratio) -> Theorem:
    """Return sum_{v<long} E||u||^2 - sum_{v<short} E||u||^2 >= 0 for short <= long.

    Proof: squares are not negative. short <= long is a hypothesis unless sorts show it.
    """
    form = k.norm2(u)
    more = k.summed(k.Steps(k.natural(long)), v, form)
    less = k.summed(k.Steps(k.natural(short)), v, form)
    return _theorem(_required(long - short), more - less, False)


@rule
def split(v: Var, form: Lin, first: Ratio, second: Ratio) -> Theorem:
    """Return sum_{v<p+q} e(v) = sum_{v<p} e(v) + sum_{v<q} e(p + v).

    Proof: the second sum is the first one's continuation.
    """
    low, high = k.Steps(k.natural(first)), k.Steps(k.natural(second))
    both = k.summed(k.Steps(k.natural(first + second)), v, form)
    shifted = k.lin_at(form, {v: first + k.symbol(v)})
    return _zero(both - k.summed(low, v, form) - k.summed(high, v, shifted))


@rule
def telescope(v: Var, form: Lin, upper: Ratio) -> Theorem:
    """Return sum_{v<u} (e(v + 1) - e(v)) = e(u) - e(0).

    Proof: every other term occurs once with each sign.
    """
    binder = k.Steps(k.natural(upper))
    later = k.summed(binder, v, k.lin_at(form, {v: k.symbol(v) + 1}))
    ends = k.lin_at(form, {v: upper}) - k.lin_at(form, {v: ratio(0)})
    return _zero(later - k.summed(binder, v, form) - ends)


@rule
def blocks(u: Vec, v: Vec) -> Theorem:
    """Return <u, v> = <u_c, v_c> + <u_s, v_s>.

    Proof: a vector is the sum of its two orthogonal blocks.
    """
    parts = (k.inner(k.part(side, u), k.part(side, v)) for side in Side)
    return _zero(k.inner(u, v) - sum(parts, Lin({})))


@rule
def weight_below_one(n: Client) -> Theorem:
    """Return 1 - a_n >= 0.

    Proof: the weights are not negative and add up to 1.
    """
    return _at_least(k.constant(1 - k.weight(n)))


# Functions -------------------------------------------------------------------------


@rule
def smooth(function: k.Function, S: Ratio, p: Vec, q: Vec) -> Theorem:
    """Return F(q) <= F(p) + <grad F(p), q - p> + S/2 ||q - p||^2, F smooth.

    Proof: F(q) - F(p) - <grad F(p), q - p> is the integral over s in [0, 1] of
    <grad F(p + s(q - p)) - grad F(p), q - p> <= s S ||q - p||^2.
    """
    return _at_least(_above(function, S, p, q), h.Smooth(function, S))


@rule
def majorant(function: k.Function, S: Ratio, p: Vec, q: Vec) -> Theorem:
    """Return F(q) <= F(p) + <grad F(p), q - p> + S/2 ||q - p||^2, F majorised.

    Proof: the hypothesis at p and q, expected.
    """
    return _at_least(_above(function, S, p, q), h.Majorised(function, S))


def _above(function: k.Function, S: Ratio, p: Vec, q: Vec) -> Lin:
    return (
        _linearised(function, p, q) - k.value_of(function, q) + k.norm2(q - p) * (S / 2)
    )


def _linearised(function: k.Function, p: Vec, q: Vec) -> Lin:
    return k.value_of(function, p) + k.inner(k.gradient(function, p), q - p)


@rule
def lipschitz(function: k.Function, S: Ratio, p: Vec, q: Vec) -> Theorem:
    """Return ||grad F(p) - grad F(q)||^2 <= S^2 ||p - q||^2 if grad F is S-Lipschitz.

    Proof: the hypothesis at p and q, squared (S >= 0 is part of it) and expected.
    """
    change = k.gradient(function, p) - k.gradient(function, q)
    return _at_least(k.norm2(p - q) * S**2 - k.norm2(change), h.Smooth(function, S))


@rule
def convex(function: k.Function, mu: Ratio, p: Vec, q: Vec) -> Theorem:
    """Return F(q) >= F(p) + <grad F(p), q - p> + mu/2 ||q - p||^2 if F is mu-convex.

    Proof: the hypothesis at p and q, expected.
    """
    curved = k.norm2(q - p) * (mu / 2)
    form = k.value_of(function, q) - _linearised(function, p, q) - curved
    return _at_least(form, h.Convex(function, mu))


@rule
def lowest(function: k.Function, p: Vec) -> Theorem:
    """Return F(p) >= F(F*) if F* minimises F.

    Proof: the hypothesis at p, expected.
    """
    best = k.value_of(function, k.vec(k.Star(function)))
    return _at_least(k.value_of(function, p) - best, h.Minimiser(function))


@rule
def stationary(function: k.Function, w: Vec) -> Theorem:
    """Return <grad F(F*), w> = 0 if F* minimises F.

    Proof: the gradient of a differentiable function vanishes where it is lowest.
    """
    at_best = k.gradient(function, k.vec(k.Star(function)))
    return _zero(k.inner(at_best, w), h.Minimiser(function))


@rule
def mean_value(p: Vec) -> Theorem:
    """Return f(p) = sum_n a_n F_n(p).

    Proof: the definition of f, expected.
    """
    n = k.fresh(k.CLIENTS)
    each = k.summed(k.CLIENTS, n, k.value_of(k.Local(n), p) * k.weight(n))
    return _zero(k.value_of(k.MEAN, p) - each)


@rule
def mean_gradient(p: Vec, w: Vec) -> Theorem:
    """Return <grad f(p) - sum_n a_n grad F_n(p), w> = 0.

    Proof: the gradient of a finite sum.
    """
    n = k.fresh(k.CLIENTS)
    each = k.summed(k.CLIENTS, n, k.gradient(k.Local(n), p) * k.weight(n))
    return _zero(k.inner(k.gradient(k.MEAN, p) - each, w))


@rule
def heterogeneity(eps2: Ratio, n: Client, p: Vec) -> Theorem:
    """Return ||grad F_n(p) - grad f(p)||^2 <= eps2.

    Proof: the hypothesis at p, expected.
    """
    apart = k.gradient(k.Local(n), p) - k.gradient(k.MEAN, p)
    return _at_least(k.constant(eps2) - k.norm2(apart), h.Heterogeneity(eps2))


# Runs ------------------------------------------------------------------------------


def stochastic(run: Split, n: Client, t: Number, i: Number) -> Vec:
    """Return ``g(n,t,i) = grad F_n(p(n,t,i)) + xi(n,t,i)``."""
    return k.gradient(k.Local(n), k.local_point(run, n, t, i)) + k.noise(run, n, t, i)


def _local_sum(
    run: Split,
    n: Client,
    t: Ratio,
    upper: Ratio,
    side: Side,
    visit: tuple[Client, Ratio] | None = None,
) -> Vec:
    """Return the side's block of ``sum_{i<upper} g(n,t,i)``, rates of steps inside.

    Where a visit is given, only of the steps whose visits come before it.
    """
    i = k.symbol(v := k.fresh(k.NATURALS))
    each = stochastic(run, n, t, i) * run.pace(side).inside(t, i)
    each = each * k.before(n, i, *visit, t) if visit else each
    return k.part(side, k.summed(k.Steps(k.natural(upper)), v, each))


def share(run: Split, n: Client, t: Ratio, side: Side) -> Ratio:
    """Return a_n J_n(t), by which client n's gradients move x in round t.

    J is 1 where everyone takes part, and a_n is left out by SFL-V2's server.
    """
    weighted = run.kind is not k.Kind.V2 or side is Side.CLIENT
    own = k.weight(n) if weighted else ratio(1)
    return own * k.draw(run, n, t) if run.drawn else own


def direction(run: Split, t: Ratio, side: Side) -> Vec:
    """Return the side's block of the sum of gradients by which round t moves x."""
    n = k.fresh(k.CLIENTS)
    each = _local_sum(run, n, t, ratio(run.pace(side).steps), side)
    return k.summed(k.CLIENTS, n, each * share(run, n, t, side))


def kept(run: Split, t: Ratio, side: Side) -> Ratio:
    """Return the multiple of x(t) in x(t+1): sum a_n J_n where models are averaged."""
    models = run.participants is k.Participants.MODELS
    if not models or (run.kind.shared and side is Side.SERVER):
        return ratio(1)
    n = k.fresh(k.CLIENTS)
    return number_of(k.summed(k.CLIENTS, n, k.constant(share(run, n, t, side))))


def _made(run: Split, i: Ratio) -> Hypotheses:
    """Return the hypothesis that step i is made by a side, i.e. i < its steps.

    The longer side's, where the sorts tell which it is, else the client's.
    """
    client, server = ratio(run.client.steps), ratio(run.server.steps)
    most = server if (server - client).nonnegative() else client
    return _required(most - 1 - i)


@rule
def descend(run: k.Descent, t: Ratio, w: Vec) -> Theorem:
    """Return <x(t+1) - x(t) + rate(t) grad F(x(t)), w> = 0.

    Proof: the definition of gradient descent.
    """
    x = k.iterate(run, t)
    step = k.gradient(run.function, x) * run.rate.at(t)
    return _zero(k.inner(k.iterate(run, t + 1) - x + step, w))


@rule
def update(run: Split, side: Side, t: Ratio, w: Vec) -> Theorem:
    """Return <[x(t+1) - k x(t)]_b + rate_b(t) direction_b(t), w> = 0.

    Where rates count steps, each stands in the sum instead (`Pace.inside`). k = 1, or
    `kept` where the models of those who take part are averaged.

    Proof: the definition of the run, in which every local point starts from x(t).
    """
    moved = k.iterate(run, t + 1) - k.iterate(run, t) * kept(run, t, side)
    rate = run.pace(side).outside(t)
    return _zero(k.inner(k.part(side, moved) + direction(run, t, side) * rate, w))


@rule
def local_update(
    run: Split, n: Client, t: Ratio, i: Ratio, side: Side, w: Vec
) -> Theorem:
    """Return <[p(n,t,i) - x(t)]_b + rate_b(t) moved, w> = 0 while the side steps.

    moved = sum_{j<i} g_b(n,t,j) for i <= steps_b; for a shared server instead the sum
    of all clients' steps before it, weighted and drawn as the run says: of the visits
    (m, j) before (n, i) for i < steps, for MINIBATCH of the steps j < i <= steps.

    Proof: the definition of the run.
    """
    steps = ratio(run.pace(side).steps)
    if not run.kind.shared or side is Side.CLIENT:
        moved = _local_sum(run, n, t, i, side)
    else:
        m = k.fresh(k.CLIENTS)
        if run.kind.visits:
            each = _local_sum(run, m, t, steps, side, (n, i))
            steps = steps - 1
        else:
            each = _local_sum(run, m, t, i, side)
        moved = k.summed(k.CLIENTS, m, each * share(run, m, t, side))
    form = _moved(run, n, t, i, side, moved, w)
    return _theorem(_required(steps - i), form, True)


@rule
def resting(run: Split, n: Client, t: Ratio, i: Ratio, side: Side, w: Vec) -> Theorem:
    """Return <[p(n,t,i) - x(t)]_b + rate_b sum_{j<steps_b} g_b, w> = 0, i >= steps_b.

    Proof: the definition of the run: a side that has made its steps keeps its value.
    """
    require(not run.kind.shared, "both sides step together")
    steps = ratio(run.pace(side).steps)
    moved = _local_sum(run, n, t, steps, side)
    form = _moved(run, n, t, i, side, moved, w)
    return _theorem(_required(i - steps), form, True)


def _moved(
    run: Split, n: Client, t: Ratio, i: Ratio, side: Side, moved: Vec, w: Vec
) -> Lin:
    away = k.part(side, k.local_point(run, n, t, i) - k.iterate(run, t))
    return k.inner(away + moved * run.pace(side).outside(t), w)


@rule
def before_or_not(m: Client, j: Ratio, n: Client, i: Ratio, t: Ratio) -> Theorem:
    """Return Before - before^2 = 0.

    Proof: it is 0 or 1.
    """
    b = k.before(m, j, n, i, t)
    return _zero(k.constant(b - b * b))


@rule
def bounded_gradient(run: Split, G2: Ratio, n: Client, t: Ratio, i: Ratio) -> Theorem:
    """Return E||g(n,t,i)||^2 <= G2 for a step that is made.

    Proof: the hypothesis.
    """
    form = k.constant(G2) - k.norm2(stochastic(run, n, t, i))
    return _theorem(_made(run, i) | {h.BoundedGradients(run, G2)}, form, False)


@rule
def variance(run: Split, bound: Ratio, n: Client, t: Ratio, i: Ratio) -> Theorem:
    """Return E||xi(n,t,i)||^2 <= bound for a step that is made.

    Proof: the hypothesis, which speaks of every round and step.
    """
    form = k.constant(bound) - k.norm2(k.noise(run, n, t, i))
    return _theorem(_made(run, i) | {h.Variance(run, n, bound)}, form, False)


@rule
def unbiased(run: Split, n: Client, t: Ratio, i: Ratio, u: Vec) -> Theorem:
    """Return <xi(n,t,i), u> = 0 for a step that is made and u fixed before its noise.

    Proof: the conditional expectation of the noise given all draws and what came before
    is 0, and they determine u: minimisers, iterates x(s) and E[. | s] with s <= t,
    everything of earlier rounds, and in round t the same client's (for MINIBATCH: all
    clients') points p(.,t,j), j <= i, and noises, j < i.
    """
    everyone = run.kind is k.Kind.MINIBATCH
    return _centred(run, n, t, i, u, everyone, h.Unbiased(run))


@rule
def unbiased_across(run: k.Split, n: k.Client, t: Ratio, i: Ratio, u: k.Vec) -> Theorem:
    """Return <xi(n,t,i), u> = 0 for u fixed before step i of every client, SFL-V1.

    Proof: given the rounds before t the clients' noises of round t are independent. So
    what the other clients draw in it changes nothing about the conditional expectation
    of the noise given its own client's past, which is 0. It may be given, and then u is
    determined: what `unbiased` allows, and any client's points p(.,t,j), j <= i, and
    noises, j < i, for each client moves on its own.
    """
    require(run.kind is k.Kind.V1, "clients meet within a round")
    return _centred(run, n, t, i, u, True, h.Unbiased(run), h.Independent(run))


def _centred(
    run: k.Split,
    n: k.Client,
    t: Ratio,
    i: Ratio,
    u: k.Vec,
    everyone: bool,
    *assumed: h.Hypothesis,
) -> Theorem:
    """Return <xi(n,t,i), u> = 0 for u fixed before step i, of `everyone` or of n."""
    step = ratio(k.natural(i))

    def earlier(one: k.LocalPoint | k.Noise, at: k.Substitution) -> bool:
        own = one.client is n or everyone
        if not own or one.round != k.natural(t):
            return False
        j = _at_most(one.step, at) + (1 if isinstance(one, k.Noise) else 0)
        return (step - j).poly().natural()

    fixed = _determined(u, run, k.natural(t), earlier)
    require(fixed, "the vector is not fixed before the noise is drawn")
    form = k.inner(k.noise(run, n, t, i), u)
    return _theorem(_made(run, i) | set(assumed), form, True)


Earlier = Callable[[k.LocalPoint | k.Noise, k.Substitution], bool]


def _determined(
    u: Vec | k.Term,
    run: Split,
    t: Poly,
    earlier: Earlier,
    largest: k.Substitution | None = None,
) -> bool:
    """Return whether a term consists of what is known in round t of a run.

    Minimisers, x(s) and E[. | s] for s <= t, local points and noises of rounds s < t or
    those that `earlier` accepts; no point, nothing of another run. A bound step stands
    for its largest value, `largest`; `_at_most` says why that is enough.
    """
    at = largest or {}
    if isinstance(u, k.Star | k.Unit):
        return True
    if isinstance(u, k.Iterate | k.Expected | k.LocalPoint | k.Noise):
        left = ratio(t) - _at_most(u.round, at)
        if isinstance(u, k.Iterate | k.Expected):
            return u.run is run and left.poly().natural()
        return u.run is run and ((left - 1).poly().natural() or earlier(u, at))
    inside: Iterable[Vec | k.Term]
    if isinstance(u, Vec):
        inside = u.coefficients
    elif isinstance(u, k.Gradient | k.Value):
        inside = [u.at]
    elif isinstance(u, k.Inner):
        inside = [u.left, u.right]
    elif isinstance(u, k.Part):
        inside = [u.vector]
    elif isinstance(u, k.VecSum | k.LinSum):
        inside = [u.body]
        if isinstance(u.binder, k.Steps):
            at = {**at, u.variable: ratio(u.binder.upper) - 1}
    else:
        return False
    return all(_determined(one, run, t, earlier, at) for one in inside)


def _at_most(index: Poly, largest: k.Substitution) -> Ratio:
    """Return the index for the largest values of bound steps: it is nowhere larger.

    An index is a polynomial in natural numbers v and counts 1 + v with coefficients
    >= 0 in these v, so it grows with each of them. A bound step has to be such a v
    itself: inside another symbol the index need not grow with it.
    """
    hidden = [s for s in index.symbols() if cast(Any, s) not in largest]
    apart = all(s.free.isdisjoint(largest) for s in hidden)
    require(apart, "%s hides a bound step", index)
    return k.number_at(ratio(index), largest)


@rule
def martingale(
    run: Split, n: Client, t: Ratio, upper: Ratio, side: Side | None
) -> Theorem:
    """Return E||sum_{i<u} xi(n,t,i)||^2 = sum_{i<u} E||xi(n,t,i)||^2, or a block of it.

    Proof: <xi(n,t,i), xi(n,t,j)> = 0 for j < i, because the earlier noise is fixed when
    the later one is drawn; blocks of the noise have conditional mean 0 too.
    """
    i = k.fresh(k.NATURALS)
    xi = k.noise(run, n, t, k.symbol(i))
    xi = xi if side is None else k.part(side, xi)
    steps = k.Steps(k.natural(upper))
    form = k.norm2(k.summed(steps, i, xi)) - k.summed(steps, i, k.norm2(xi))
    return _theorem(_made(run, upper - 1) | {h.Unbiased(run)}, form, True)


@rule
def independent(
    run: Split,
    n: Client,
    i: Var,
    factor: Ratio,
    t: Ratio,
    upper: Ratio,
    side: Side | None,
) -> Theorem:
    """Return E||sum_n sum_{i<u} w xi(n,t,i)||^2 = sum_n sum_{i<u} w^2 E||xi||^2.

    Proof: given the draws w is a number. Cross terms of one client vanish as in
    `martingale`. Those of two clients vanish in SFL-V2 because one of the two visits
    comes first, in MINIBATCH so do those of two steps, and otherwise because the noises
    are independent with mean 0 given the past. u depends on neither index.
    """
    require(not ((upper.free | t.free | run.free) & {n, i}), "%s or %s is bound", n, i)
    xi = k.noise(run, n, t, k.symbol(i))
    xi = xi if side is None else k.part(side, xi)
    steps = k.Steps(k.natural(upper))
    whole = k.summed(k.CLIENTS, n, k.summed(steps, i, xi * factor))
    each = k.summed(k.CLIENTS, n, k.summed(steps, i, k.norm2(xi) * factor**2))
    apart = set() if run.kind.visits else {h.Independent(run)}
    hypotheses = _made(run, upper - 1) | {h.Unbiased(run)} | apart
    return _theorem(hypotheses, k.norm2(whole) - each, True)


# Draws -----------------------------------------------------------------------------


@rule
def drawn(run: Split, n: Client, t: Ratio) -> Theorem:
    """Return (1/q_n) J_n(t) - J_n(t)^2 = 0.

    Proof: J is 0 or 1/q_n. (So 1/q_n - J >= 0: it is q_n (1/q_n - J)^2.)
    """
    J = k.draw(run, n, t)
    return _zero(k.constant((1 + k.symbol(k.Odds(n))) * J - J * J))


@rule
def tower(run: Split, t: Ratio, u: Vec, w: Vec) -> Theorem:
    """Return <E[u | t] - u, w> = 0 for w that the rounds before t determine.

    Proof: the definition of the conditional expectation given what these rounds drew.
    It differs from the one given all draws, so the theorem is marked, for E[u | t]
    occurs in it; w has no draw itself and nothing of round t but x(t) and E[. | t].
    """
    fixed = _determined(w, run, k.natural(t), lambda *_: False)
    require(k.CHANCE not in w.free and fixed, "round %s decides on %s", t, w)
    return _zero(k.inner(k.expected(run, t, u) - u, w))


@rule
def expect(run: Split, t: Ratio, form: Lin) -> Theorem:
    """Return form = the same form, averaged over the draws J_n(t) of round t.

    J_n^k -> E J_n^k = (1/q_n)^(k-1), and for two sums over clients
    (sum J_n^k u_n)(sum J_n^l v_n) -> the product of their means + sum_n c_n u_n v_n
    with c_n = E J_n^(k+l) - E J_n^k E J_n^l.

    Proof: what stands beside the draws is independent of them: it is a number, or made
    of minimisers, of x(s) and E[. | s] with s <= t, and of local points and noises of
    rounds < t (of SFL-V1 also of round t, for its clients do not meet within a round).
    The draws of different clients are independent. A term without draws is kept. All
    else is refused: draws of other rounds, which could be the same ones; draws of two
    clients n and m, which could be one; a draw beside a sum over all clients' draws;
    three sums; a draw in a denominator or inside a function.
    """
    at, out = k.natural(t), Lin({})
    for atom, c in form.coefficients.items():
        fits = all(k.CHANCE not in factor.free for factor, _ in c.denominator)
        require(fits, "divided by draws")
        for value, powers in c.numerator.products():
            random = {s: power for s, power in powers.items() if k.CHANCE in s.free}
            other = {s: power for s, power in powers.items() if s not in random}
            number = Ratio(Poly.product(value, other), c.denominator)
            out = out + _mean(run, at, random, atom) * number
    return _zero(form - out, h.Participation(run))


def _mean(run: Split, t: Poly, random: dict[Symbol, int], atom: k.LinAtom) -> Any:
    """Return the mean of a product of powers of random symbols and an atom."""
    if not random and k.CHANCE not in atom.free:
        return k.lifted(atom)
    if not random and isinstance(atom, k.LinSum) and k.CHANCE not in atom.weight.free:
        v, inside = atom.opened()
        ((body, of),) = inside.coefficients.items()
        return k.summed(atom.binder, v, _mean(run, t, {}, body) * of)
    ((one, power),) = random.items() if len(random) == 1 else ((None, 0),)
    if isinstance(one, k.Draw) and one is k.Draw(run, one.client, t):
        return _beside_draws(run, t, atom, _moment(one.client, power))
    v, factors = k.fresh(k.CLIENTS), list[Any]()
    for s, times in random.items():
        require(isinstance(s, k.Total), "%s has no rule beside other draws", s)
        factors += [cast(k.Total, s)] * times
    pair = isinstance(atom, k.Inner) and not random
    factors += atom.parts if pair else [atom]
    opened = [_of_client(run, t, factor, v) for factor in factors]
    sums = [power for _, power in opened if power]
    require(1 <= len(sums) <= 2, "more than two sums over draws")
    out = _product([
        k.summed(k.CLIENTS, v, term * _moment(v, power)) if power else term
        for term, power in opened
    ])
    if len(sums) == 2:
        joint = _moment(v, sum(sums)) - _moment(v, sums[0]) * _moment(v, sums[1])
        both = _product([term for term, _ in opened])
        out = out + k.summed(k.CLIENTS, v, both * joint)
    return out


def _of_client(run: Split, t: Poly, factor: Any, v: Client) -> tuple[Any, int]:
    """Return client v's term of a sum over clients, without draws, and J's power.

    A factor that is no such sum is returned as it is, with power 0.
    """
    over_clients = isinstance(factor, k.WeightedSum) and factor.binder is k.CLIENTS
    if not over_clients or k.CHANCE not in factor.weight.free:
        return _beside_draws(run, t, factor, ratio(1)), 0
    inside = k.renamed(factor.inside(), factor.variable, v)
    ((atom, weight),) = inside.coefficients.items()
    ((value, powers),) = weight.poly().products()
    power = powers.get(k.Draw(run, v, t), 0)
    others = {s: other for s, other in powers.items() if s is not k.Draw(run, v, t)}
    rest = Poly.product(value, others)
    require(power and k.CHANCE not in rest.free, "draws of other rounds or clients")
    return _beside_draws(run, t, atom, Ratio(rest)), power


def _beside_draws(run: Split, t: Poly, atom: k.Term, c: Ratio) -> Any:
    """Return c times an atom that does not depend on the draws of round t."""

    def apart(one: k.LocalPoint | k.Noise, at: k.Substitution) -> bool:
        same = (ratio(t) - _at_most(one.round, at)).poly().natural()
        return run.kind is k.Kind.V1 and same

    fits = k.CHANCE not in atom.free and _determined(atom, run, t, apart)
    require(fits, "%s depends on who takes part", atom)
    return k.lifted(atom) * c


def _product(factors: list[Lin | Vec]) -> Lin:
    first, *others = factors
    if isinstance(first, Lin):
        return _product(others) * number_of(first) if others else first
    (other,) = others
    require(isinstance(other, Vec), "a vector times a number")
    return k.inner(first, cast(Vec, other))


def _moment(n: k.ClientIndex, power: int) -> Ratio:
    """Return E J_n^k = (1/q_n)^(k-1) for k >= 1."""
    return (1 + k.symbol(k.Odds(n))) ** (power - 1)
