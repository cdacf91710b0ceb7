"""The rules on functions, runs, noise and draws; see `theorems`.

Their arguments' names: F any function, p and q points, w any vector, n and m clients,
t a round, i and j steps, b a side.
"""

# ruff: noqa: F403, F405 - all rules and what makes theorems are one module for others

from __future__ import annotations

from collections.abc import Callable, Collection
from math import prod
from typing import Any

from . import hypotheses as h
from . import terms as k
from .algebra import Number, Poly, Ratio, ratio, require
from .terms import Client, Lin, Side, Split, Vec
from .theorems import *
from .theorems import _NONE


@rule
def blocks(u: Vec, v: Vec) -> Theorem:
    """Return <u, v> = <u_c, v_c> + <u_s, v_s>. Proof: the blocks are orthogonal."""
    parts = (k.inner(k.part(side, u), k.part(side, v)) for side in Side)
    return zero(k.inner(u, v) - sum(parts, Lin({})))


@rule
def weight_below_one(n: Client) -> Theorem:
    """Return 1 - a_n >= 0. Proof: the weights are not negative and add up to 1."""
    return at_least(k.constant(1 - k.weight(n)))


@rule
def mean_value(p: Vec) -> Theorem:
    """Return f(p) = sum_n a_n F_n(p). Proof: the definition of f, expected."""
    each = over_clients(lambda n: k.value_of(k.Local(n), p) * k.weight(n))
    return zero(k.value_of(k.MEAN, p) - each)


@rule
def mean_gradient(p: Vec, w: Vec) -> Theorem:
    """Return <grad f(p) - sum_n a_n grad F_n(p), w> = 0. Proof: a finite sum."""
    each = over_clients(lambda n: k.gradient(k.Local(n), p) * k.weight(n))
    return zero(k.inner(k.gradient(k.MEAN, p) - each, w))


@rule
def smooth(function: k.Function, S: Ratio, p: Vec, q: Vec) -> Theorem:
    """Return F(q) <= F(p) + <grad F(p), q - p> + S/2 ||q - p||^2, F smooth.

    Proof: F(q) - F(p) - <grad F(p), q - p> is the integral over s in [0, 1] of
    <grad F(p + s(q - p)) - grad F(p), q - p> <= s S ||q - p||^2.
    """
    return at_least(_above(function, S, p, q), h.Smooth(function, S))


def _above(F: k.Function, S: Ratio, p: Vec, q: Vec) -> Lin:
    """Return F(p) + <grad F(p), q - p> + S/2 ||q - p||^2 - F(q)."""
    linear = k.value_of(F, p) + k.inner(k.gradient(F, p), q - p)
    return linear + k.norm2(q - p) * (S / 2) - k.value_of(F, q)


@rule
def stationary(function: k.Function, w: Vec) -> Theorem:
    """Return <grad F(F*), w> = 0 if F* minimises F. Proof: Fermat's theorem."""
    at_best = k.gradient(function, k.vec(k.Star(function)))
    return zero(k.inner(at_best, w), h.Minimiser(function))


@rule
def vanish(theorem: Theorem, u: Vec, w: Vec) -> Theorem:
    """Return <u, w> = 0 from -||u||^2 >= 0. Proof: u is 0 almost surely."""
    require(not theorem.form + k.norm2(u), "%s does not say that %s is 0", theorem, u)
    return theorem_of(theorem.hypotheses, k.inner(u, w), True)


@rule
def given(one: h.Hypothesis, about: tuple[Vec | Client | Ratio, ...]) -> Theorem:
    """Return H |- what H says of points, of a client, of a round and a step.

    Proof: the hypothesis as its class states it, squared where it is on norms, and
    expected. What it says of steps that are made needs that the step is made.
    """
    made = _NONE
    match one, about:
        case h.Smooth(F, S), (Vec() as p, Vec() as q):
            change = k.gradient(F, p) - k.gradient(F, q)
            form = k.norm2(p - q) * S**2 - k.norm2(change)
        case h.Majorised(F, S), (Vec() as p, Vec() as q):
            form = _above(F, S, p, q)
        case h.Convex(F, mu), (Vec() as p, Vec() as q):
            form = -_above(F, mu, p, q)
        case h.Minimiser(F), (Vec() as p,):
            form = k.value_of(F, p) - k.value_of(F, k.vec(k.Star(F)))
        case h.Heterogeneity(eps2), (Client() as n, Vec() as p):
            apart = k.gradient(k.Local(n), p) - k.gradient(k.MEAN, p)
            form = k.constant(eps2) - k.norm2(apart)
        case h.Variance(run, n, bound), (Ratio() as t, Ratio() as i):
            made = _made(run, i)
            form = k.constant(bound) - k.norm2(k.noise(run, n, t, i))
        case h.BoundedGradients(run, G2), (Client() as n, Ratio() as t, Ratio() as i):
            g, made = stochastic(run, n, t, i), _made(run, i)
            g = k.part(one.side, g) if isinstance(one, h.BoundedBlock) else g
            form = k.constant(G2) - k.norm2(g)
        case _:
            require(False, "'%s' says nothing of %s", one, about)
    return at_least(form, one, *made)


Visit = tuple[Client, Ratio]


def stochastic(run: Split, n: Client, t: Number, i: Number) -> Vec:
    """Return ``g(n,t,i) = grad F_n(p(n,t,i)) + xi(n,t,i)``."""
    return k.gradient(k.Local(n), k.local_point(run, n, t, i)) + k.noise(run, n, t, i)


def _local_sum(
    run: Split, n: Client, t: Ratio, side: Side, upper: Ratio, *visit: Any
) -> Vec:
    """Return the side's block of ``sum_{i<upper} g(n,t,i)``, rates of steps inside.

    Where a visit is given, only of the steps whose visits come before it.
    """
    i = k.symbol(v := k.fresh(k.NATURALS))
    each = stochastic(run, n, t, i) * run.pace(side).inside(t, i)
    each = each * k.made(k.Before, n, i, *visit, t) if visit else each
    return k.part(side, k.summed(k.Steps(k.natural(upper)), v, each))


def share(run: Split, n: Client, t: Ratio, side: Side) -> Ratio:
    """Return what multiplies client n's gradients in round t: a_n J_n, J_n or P_n."""
    if run.participants is k.Participants.MEAN and side is Side.SERVER:
        return k.share_of(run, n, t)
    weighted = run.kind is not k.Kind.V2 or side is Side.CLIENT
    own = k.weight(n) if weighted else ratio(1)
    return own * k.draw(run, n, t) if run.drawn else own


def direction(run: Split, t: Ratio, side: Side, *until: Any) -> Vec:
    """Return the block of what moves x in round t, or until a step and a visit."""
    until = until or (ratio(run.steps(side)),)
    return over_clients(
        lambda n: _local_sum(run, n, t, side, *until) * share(run, n, t, side)
    )


def _made(run: Split, i: Ratio) -> Hypotheses:
    """Return the hypothesis that a side makes step i: the longer one, or the client."""
    client, server = (ratio(run.steps(side)) for side in Side)
    most = server if (server - client).nonnegative() else client
    return required(most - 1 - i)


@rule
def descend(run: k.Descent, t: Ratio, w: Vec) -> Theorem:
    """Return <x(t+1) - x(t) + rate(t) grad F(x(t)), w> = 0. Proof: the definition."""
    x = k.iterate(run, t)
    step = k.gradient(run.function, x) * run.rate.at(t)
    return zero(k.inner(k.iterate(run, t + 1) - x + step, w))


@rule
def update(run: Split, side: Side, t: Ratio, w: Vec) -> Theorem:
    """Return <[x(t+1) - k x(t)]_b + rate_b(t) direction_b(t), w> = 0.

    Rates that count steps stand in the sum; k = sum a_n J_n for averaged models, or 1.
    Proof: the definition of the run, in which every local point starts from x(t); in
    COUNTED runs x is the mean of the clients' points, and averaging keeps the mean.
    """
    own, kept = side is Side.CLIENT or not run.kind.shared, ratio(1)
    if own and run.participants is k.Participants.MODELS:
        kept = number_of(over_clients(lambda n: k.constant(share(run, n, t, side))))
    moved = k.iterate(run, t + 1) - k.iterate(run, t) * kept
    rate = run.pace(side).outside(t)
    return zero(k.inner(k.part(side, moved) + direction(run, t, side) * rate, w))


@rule
def local_update(
    run: Split, n: Client, t: Ratio, i: Ratio, side: Side, rests: bool, w: Vec
) -> Theorem:
    """Return <[p(n,t,i) - x(t)]_b + rate_b(t) moved, w> = 0.

    moved = sum_{j<i} g_b(n,t,j) while the side steps, i <= steps_b, and where it rests,
    i >= steps_b, sum_{j<steps_b} g_b(n,t,j); for a shared server the sum of all
    clients' steps before it, with their shares: of the visits (m, j) before (n, i) for
    i < steps, for MINIBATCH of the steps j < i <= steps.
    Proof: the definition of the run: a side that has made its steps keeps its value.
    """
    require(run.kind is not k.Kind.COUNTED, "a round is an iteration")
    steps = ratio(run.pace(side).steps)
    upper, spare = (steps, i - steps) if rests else (i, steps - i)
    require(not rests or not run.kind.shared, "both sides step together")
    if not run.kind.shared or side is Side.CLIENT:
        moved = _local_sum(run, n, t, side, upper)
    else:
        upper, visit = (steps, (n, i)) if run.kind.visits else (i, ())
        moved = direction(run, t, side, upper, *visit)
        spare = spare - 1 if run.kind.visits else spare
    away = k.part(side, k.local_point(run, n, t, i) - k.iterate(run, t))
    by = moved * run.pace(side).outside(t)
    return zero(k.inner(away + by, w), *required(spare))


@rule
def counted_update(
    run: Split, n: Client, q: Ratio, i: Ratio, side: Side, w: Vec
) -> Theorem:
    """Return <[p(n,sq+i,0) - x(sq)]_b + sum_{j<i} rate_b(sq+j) g_b(n,sq+j,0), w> = 0.

    s is the side's period in a COUNTED run, and i < s.
    Proof: the definition of the run: at iteration sq the side's blocks are that of x.
    """
    require(run.kind is k.Kind.COUNTED, "the run has rounds")
    pace, j = run.pace(side), k.symbol(v := k.fresh(k.NATURALS))
    first = ratio(pace.steps) * ratio(k.natural(q))
    g = stochastic(run, n, first + j, 0) * pace.rate.at(first + j)
    moved = k.summed(k.Steps(k.natural(i)), v, k.part(side, g))
    away = k.local_point(run, n, first + i, 0) - k.iterate(run, first)
    form = k.inner(k.part(side, away) + moved, w)
    return zero(form, *required(ratio(pace.steps) - 1 - i))


@rule
def ordered(m: Client, j: Ratio, n: Client, i: Ratio, t: Ratio, c: Ratio) -> Theorem:
    """Return b - b^2 - c b b' = 0, b = Before(m,j;n,i) and b' = Before(n,i;m,j).

    Proof: b is 0 or 1; b and b' are not both 1, for visits come one after another.
    """
    b, other = k.before(m, j, n, i, t), k.before(n, i, m, j, t)
    return zero(k.constant(b - b * b - c * b * other))


@rule
def unbiased(
    run: Split, n: k.ClientIndex, t: Ratio, i: Ratio, u: Vec, after: tuple[Visit, ...]
) -> Theorem:
    """Return b <xi(n,t,i), u> = 0 for a step that is made and u fixed before its noise.

    b is the product of Before(m,j;n,i) over visits (m, j) in `after`, 1 without any.
    Proof: the conditional expectation of the noise given all draws and what came before
    is 0, and they determine u: minimisers, iterates x(s) and E[. | s] with s <= t,
    everything of earlier rounds, and in round t the same client's (if nobody visits:
    all clients') points p(.,t,j), j <= i, and noises, j < i. Those of others in SFL-V1
    come of their noises of the round, independent of the client's, whose mean given its
    own past stays 0 given also these. So, without visits, if n is #p, u may also be
    made of noises of step i of others #m (in SFL-V1 of all their points and noises of
    the round): p, m < N differ. Where b is not 0 the visits (m, j) come before (n, i),
    so do client m's earlier ones, and u may also be made of points p(m,t,l) and noises,
    l <= j. The order is fixed before the noise, so b is a number.
    """
    require(run.kind.visits or not after, "nobody visits")
    b = prod((k.before(m, j, n, i, t) for m, j in after), start=ratio(1))

    def past(one: k.OfStep, at: Ratio) -> bool:
        other, near = _numbered(n, one.client), one.client is n or not run.kind.visits
        own = i - at - int(isinstance(one, k.Noise) and not other)
        seen = ((j - at).poly().natural() for m, j in after if one.client is m)
        apart = other and run.kind is k.Kind.V1
        return apart or (near and own.poly().natural()) or any(seen)

    form = _beside_noise(run, n, t, i, u, past) * b
    made = _NONE.union(*(_made(run, step) for step in (i, *(j for _, j in after))))
    others = {o.client for o in k.subterms(u) if isinstance(o, k.OfStep)} - {n}
    named = {m for m in others if _numbered(n, m) and not run.kind.visits}
    alone = not named and (not others or run.kind is not k.Kind.V1)
    apart = _NONE if alone else {h.Independent(run)}
    return zero(form, h.Unbiased(run), *apart, *made, *_different(n, named))


@rule
def unbiased_across(
    run: Split, n: Client, t: Ratio, i: Ratio, m: Client, u: Vec
) -> Theorem:
    """Return <xi(n,t,i), sum_m u(m) - u(n)> = 0 for u(m) of client m alone.

    Proof: for m other than n, <xi(n,t,i), u(m)> = 0 given the rounds before t. In
    SFL-V1 u(m) may be made of them and of m's points and noises of round t: it is
    independent of the noise, whose mean given them is 0, for it is 0 given more. Where
    clients meet within a round, u(m) is a sum of m's noises: of two visits of SFL-V2,
    and of two steps of MINIBATCH, the later one's has conditional mean 0 given the
    other; two of one step are independent given the past.
    """
    require(m not in run.free | t.free | i.free, "%s is bound", m)
    alone = run.kind is k.Kind.V1 or all(_is_noise(one) for one in u.coefficients)
    require(alone, "clients meet within a round")
    _beside_noise(run, n, t, i, u, lambda one, _: one.client is m)
    rest = k.summed(k.CLIENTS, m, u) - k.vec_at(u, {m: n})
    apart = set() if run.kind.visits else {h.Independent(run)}
    form = k.inner(k.noise(run, n, t, i), rest)
    return zero(form, h.Unbiased(run), *apart, *_made(run, i))


def _is_noise(atom: k.VecAtom) -> bool:
    """Return whether a vector is a noise, or sums or blocks of noises."""
    if isinstance(atom, k.Part | k.VecSum):
        return _is_noise(atom.vector if isinstance(atom, k.Part) else atom.body)
    return isinstance(atom, k.Noise)


Past = Callable[[k.OfStep, Ratio], bool]
"""Whether a point or noise of this round is known; the step is at most the number."""


def _numbered(n: k.ClientIndex, m: k.ClientIndex) -> bool:
    return isinstance(n, k.Numbered) and isinstance(m, k.Numbered) and n is not m


def _different(n: Any, named: Collection[Any]) -> Hypotheses:
    """Return that N is more than the numbers of n and others: they are different."""
    N = number_of(over_clients(lambda _: k.constant(1)))
    return required(N - 1 - max(m.number for m in (n, *named))) if named else _NONE


def _beside_noise(run: Split, n: Any, t: Ratio, i: Ratio, u: Vec, past: Past) -> Lin:
    """Return <xi(n,t,i), u> for u determined before round t and by what is past."""
    now = k.natural(t)

    def known(one: k.OfStep, at: k.Substitution) -> bool:
        return one.round == now and past(one, _at_most(one.step, at))

    fixed = _determined(u, run, now, known, {})
    require(fixed, "the vector is not fixed before the noise is drawn")
    return k.inner(k.noise(run, n, t, i), u)


_FIXED = k.Star | k.Unit
_MADE_OF = Vec | Lin | k.Gradient | k.Value | k.Inner | k.Part | k.VecSum | k.LinSum


def _determined(
    u: Any, run: Split, t: Poly, earlier: Callable[..., bool], at: k.Substitution
) -> bool:
    """Return whether a term consists of what is known in round t of a run.

    Minimisers, x(s) and E[. | s] for s <= t, local points and noises of rounds s < t or
    those that `earlier` accepts; no point, nothing of another run. A bound step stands
    for its largest value, in `at`; `_at_most` says why that is enough.
    """
    if isinstance(u, k.Iterate | k.Expected | k.OfStep):
        left = ratio(t) - _at_most(u.round, at)
        if isinstance(u, k.OfStep):
            return u.run is run and ((left - 1).poly().natural() or earlier(u, at))
        return u.run is run and left.poly().natural()
    if isinstance(u, k.WeightedSum) and isinstance(u.binder, k.Steps):
        at = {**at, u.variable: ratio(u.binder.upper) - 1}
    return isinstance(u, _FIXED | _MADE_OF) and all(
        _determined(one, run, t, earlier, at)
        for one in u.parts
        if isinstance(one, Vec | k.VecAtom | k.LinAtom)
    )


def _at_most(index: Poly, largest: k.Substitution) -> Ratio:
    """Return the index for the largest values of bound steps: it is nowhere larger.

    It is a polynomial in natural numbers v and counts 1 + v with coefficients >= 0, so
    it grows with each. A bound step is such a v, and refused inside another symbol.
    """
    hidden: set[Any] = set(index.parts) - largest.keys()
    apart = all(s.free.isdisjoint(largest) for s in hidden)
    require(apart, "%s hides a bound step", index)
    return k.number_at(ratio(index), largest)


@rule
def drawn(run: Split, n: Client, t: Ratio, form: Lin) -> Theorem:
    """Return (1/q_n) J_n(t) e - J_n(t)^2 e = 0. Proof: J is 0 or 1/q_n."""
    J = k.draw(run, n, t)
    return zero(form * ((1 + k.symbol(k.Odds(n))) * J - J * J))


@rule
def shared(run: Split, n: Client, t: Ratio, form: Lin, absent: bool) -> Theorem:
    """Return (sum_m a_m J_m) P_n e = a_n J_n e, and if absent (1/q_n - J_n) P_n e = 0.

    Proof: where the sum is not 0 the first is the definition of P_n. Where it is 0, so
    is every a_m J_m >= 0 in it, and P_n. If client n is absent then P_n is 0 by both
    cases of its definition, for J_n = 0; else J_n = 1/q_n.
    """
    P, J = k.share_of(run, n, t), k.draw(run, n, t)
    if absent:
        return zero(form * ((1 + k.symbol(k.Odds(n)) - J) * P))
    own = over_clients(lambda m: k.constant(k.weight(m) * k.draw(run, m, t)))
    return zero(form * (number_of(own) * P - k.weight(n) * J))


@rule
def tower(run: Split, t: Ratio, u: Vec, w: Vec) -> Theorem:
    """Return <E[u | t] - u, w> = 0 for w that the rounds before t determine.

    Proof: the definition of the conditional expectation given what these rounds drew.
    It differs from the one given all draws, so E[u | t] marks the theorem.
    """
    fixed = _determined(w, run, k.natural(t), lambda *_: False, {})
    require(k.CHANCE not in w.free and fixed, "round %s decides on %s", t, w)
    return zero(k.inner(k.expected(run, t, u) - u, w))


@rule
def expect(
    run: Split, n: k.ClientIndex, t: Ratio, form: Lin, others: tuple[Client, ...]
) -> Theorem:
    """Return sum (J_n(t) J_m(t) ... - 1) e = 0 over different m, ... other than n.

    Proof: draws of different clients have mean 1, and are independent of each other and
    of e: of what is known in round t (`_determined`), of SFL-V1 also of its points and
    noises, for its clients do not meet within a round; `_beside` of draws in e.
    """
    known = _beside(run, n, t, form, others) if k.CHANCE in form.free else _NONE

    def apart(one: k.OfStep, at: k.Substitution) -> bool:
        same = (t - _at_most(one.round, at)).poly().natural()
        return run.kind is k.Kind.V1 and same

    fits = _determined(form, run, k.natural(t), apart, {})
    require(fits, "%s depends on who takes part", form)
    every = (n, *others)
    fits = len({*every}) == len(every) <= MAX_APART and run.free.isdisjoint(others)
    require(fits, "%s are bound, different and few", others)
    form = form * (prod((k.draw(run, m, t) for m in every), start=ratio(1)) - 1)
    for at in range(len(others), 0, -1):
        equal = (k.lin_at(form, {others[at - 1]: m}) for m in every[:at])
        form = k.summed(k.CLIENTS, others[at - 1], form) - Lin({}).plus(equal)
    return zero(form, h.Participation(run), *known)


def _beside(
    run: Split, n: k.ClientIndex, t: Ratio, form: Lin, others: tuple[Client, ...]
) -> Hypotheses:
    """Return what is assumed where the form's draws are to be independent of J_n(t).

    Draws of earlier rounds are, and those of #m, if n is #p alone and p, m < N differ.
    A share is made of all draws of its round.
    """
    named = set[k.ClientIndex]()
    for one in k.subterms(form):
        if not isinstance(one, k.OfDraws):
            continue
        m, earlier = one.client, (t - 1 - ratio(one.round)).poly().natural()
        if not earlier:
            fits = isinstance(one, k.Draw) and _numbered(n, m)
            require(fits and not others, "%s may be %s", m, n)
            named.add(m)
        require(one.run is run, "%s is of another run", one)
    return _different(n, named)
