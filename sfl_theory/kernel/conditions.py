"""When a hypothesis holds in a model, and which models a statement may be read in.

Each hypothesis is decided by a condition that implies it.
"""

# ruff: noqa: F403, F405 - models and when they meet a hypothesis are one thing

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any, cast

from . import hypotheses as h
from . import terms as k
from .algebra import ratio, require
from .models import *

MAX_CORNERS = 4_096


def holds(e: Evaluation, assumed: h.Hypothesis) -> bool:
    """Return True only if the hypothesis is true in the model."""
    match assumed:
        case h.Every(k.Naturals(), _, h.Holds(form)):  # by the sorts alone
            return k.number_of(k.lin_at(form, e.model.values())).nonnegative()
        case h.Every(_, _, body):
            return all([holds(e, body) for _ in e.range(assumed)])
    return CONDITIONS[type(assumed)](e, assumed)


def _curved(
    e: Evaluation, function: k.Function, low: Fraction | None, high: Fraction | None
) -> bool:
    """Return whether low <= H <= high everywhere for the Hessian H of a function."""
    F = e.function(function)
    above = low is None or _below(F, -1, -low)
    return above and (high is None or _below(F, 1, high))


def _below(F: Shape, scale: int, bound: Fraction) -> bool:
    """Return whether ``scale H <= bound``: no more than the bends that add to it do."""
    rows = []
    for p, row in enumerate(F.hessian):
        new = [-scale * z for z in row]
        new[p] += bound
        for bend in F.bends:
            c = max(scale * bend.weight, ZERO) * bend.slope[p]
            new = [z - c * slope for z, slope in zip(new, bend.slope, strict=True)]
        rows.append(new)
    for p, top in enumerate(rows):  # elimination: is the difference semidefinite?
        if top[p] < 0 or (top[p] == 0 and any(top[p:])):
            return False
        for lower in rows[p + 1 :]:
            factor = lower[p] / top[p] if top[p] else ZERO
            lower[:] = [z - factor * y for z, y in zip(lower, top, strict=True)]
    return True


def _lowest(e: Evaluation, one: h.Minimiser) -> bool:
    """Return whether a function is convex and flat at its star, or `_least` there."""
    F, star = e.function(one.function), known(e.model.stars, one.function)
    convex = _curved(e, one.function, ZERO, None)
    return (convex and not any(F.gradient(star))) or _least(F, star)


def _least(F: Shape, star: Vector) -> bool:
    """Return whether F, a sum of functions of one coordinate each, is least at a point.

    Between the ends of its bends, and beyond them, a coordinate's slope is affine. So
    it is least at an end or where that slope vanishes, unless it falls without end.
    """
    curved = [row[p] for p, row in enumerate(F.hessian)]
    others = [z for p, row in enumerate(F.hessian) for z in (*row[:p], *row[p + 1 :])]
    slopes = [sum(map(bool, bend.slope)) for bend in F.bends]
    if min(curved) < 0 or any(others) or max(slopes, default=0) > 1:
        return False
    for p, (best, c) in enumerate(zip(star, curved, strict=True)):
        own = [(bend, bend.slope[p]) for bend in F.bends if bend.slope[p]]
        ends = {(b.shift + w) / s for b, s in own for w in (b.width, -b.width)}
        places = sorted(ends | {best})
        tilts = [F.gradient((*star[:p], z, *star[p + 1 :]))[p] for z in places]
        if not c and not tilts[0] <= 0 <= tilts[-1]:
            return False
        pieces = zip(places, places[1:], tilts, tilts[1:], strict=False)
        flat = [x + (y - x) * u / (u - v) for x, y, u, v in pieces if u < 0 < v]
        flat += [places[end] - tilts[end] / c for end in (0, -1) if c]
        along = [(*star[:p], z, *star[p + 1 :]) for z in (*places, *flat)]
        if F.value(star) > min(map(F.value, along)):
            return False
    return True


def _bounded(e: Evaluation, one: h.BoundedGradients) -> bool:
    """Return whether ``E||g||^2 <= bound`` wherever a client may be.

    Without a quadratic part the gradient is bounded everywhere. Otherwise every local
    point has to lie in the model's box, which `_invariant` verifies; there the gradient
    is largest in a corner, and noise adds at most its second moment. All of the block
    that is bounded, if the hypothesis is on one.
    """
    bound, box = e.number(one.bound), e.model.box

    def seen(u: Vector) -> Vector:
        return e.block(one.side, [u])[0] if isinstance(one, h.BoundedBlock) else u

    for F, law in zip(e.model.functions, e.model.noise, strict=True):
        if not any(map(any, F.hessian)):
            arms = [tuple(b.weight * b.width * z for z in b.slope) for b in F.bends]
            largest = _largest(seen(F.linear), list(map(seen, arms)))
        elif box and _invariant(e, one.run):
            gradients = map(F.gradient, product(*box))
            largest = max(dot(g, g) for g in map(seen, gradients))
        else:
            return False
        own = NoiseLaw(tuple((p, seen(u), seen(v)) for p, u, v in law.outcomes))
        if not law.fair() or largest + own.second_moment() > bound:
            return False
    return True


def _alike(e: Evaluation, one: h.Heterogeneity) -> bool:
    """Return whether ``||grad F_n - grad f||^2 <= bound``; not if the Hessians differ.

    The difference is constant plus slopes times numbers in [-width, width]; a convex
    function of these numbers is largest in a corner.
    """
    f, bound = e._f, e.number(one.bound)
    for F in e.model.functions:
        if F.hessian != f.hessian:
            return False
        sizes: dict[Bend, Fraction] = {}
        for sign, shape in ((ONE, F), (-ONE, f)):
            for bend in shape.bends:
                key = replace(bend, weight=ONE)
                sizes[key] = sizes.get(key, ZERO) + sign * bend.weight
        arms = [tuple(c * b.width * z for z in b.slope) for b, c in sizes.items() if c]
        if _largest(plus(F.linear, f.linear, -ONE), arms) > bound:
            return False
    return True


CONDITIONS: dict[type[h.Hypothesis], Callable[[Evaluation, Any], bool]] = {
    h.Holds: lambda e, one: e.form(one.form) >= 0,
    h.Smooth: lambda e, one: (
        (S := e.number(one.constant)) >= 0 and _curved(e, one.function, -S, S)
    ),
    h.Majorised: lambda e, one: _curved(e, one.function, None, e.number(one.constant)),
    h.Convex: lambda e, one: _curved(e, one.function, e.number(one.modulus), None),
    h.Minimiser: _lowest,
    h.Heterogeneity: _alike,
    h.Variance: lambda e, one: (
        e.model.noise[e.client(one.client)].second_moment() <= e.number(one.bound)
    ),
    h.BoundedGradients: _bounded,
    h.BoundedBlock: _bounded,
    h.Unbiased: lambda e, one: all(law.fair() for law in e.model.noise),
    # noises and draws are enumerated as independent, draws with their chances
    h.Independent: lambda e, one: True,
    h.Participation: lambda e, one: True,
}


def _largest(base: Vector, arms: list[Vector]) -> Fraction:
    require(2 ** len(arms) <= MAX_CORNERS, "too many corners")
    corners = [base]
    for arm in arms:
        corners = [plus(u, arm, sign) for u in corners for sign in (-ONE, ONE)]
    return max(dot(u, u) for u in corners)


def _invariant(e: Evaluation, run: k.Split) -> bool:
    """Return whether no step of any client leaves the box.

    For a quadratic, x - rate g(x) is affine in x and, between x and the point with the
    largest rate, convex in the rate: corners, largest rates and all noise values
    suffice. A mean of points of a box lies in it. Rates have to be largest in round 0.

    Draws multiply a move by J_n <= 1/q_n, so with rate/q_n every step of a shared
    server, and the one step of a block that clients average, stays inside:
    x + sum a_n J_n (p_n - x) is the mean of the points x - J_n rate g_n. Several steps
    that are averaged may overshoot, which is refused unless the block rests.
    """
    box, clients = e.model.box, range(len(e.model.weights))
    drawn = run.drawn and min(e.model.participation) < 1
    models = run.participants is k.Participants.MODELS
    bent = any(F.bends for F in e.model.functions)
    if bent or 2 ** len(box) > MAX_CORNERS or (drawn and models):
        return False
    reached = [e.model.start]
    for side in k.Side:
        pace = run.pace(side)
        rate = _largest_rate(e, pace.rate)
        alone = run.kind.shared and side is k.Side.SERVER
        (block,) = e.block(side, [(ONE,) * len(box)])
        rests = all(low == high for (low, high), z in zip(box, block, strict=True) if z)
        once = e.whole_number(pace.steps) <= 1
        if rate is None or (drawn and not (alone or rests or once)):
            return False
        for n, corner in product(clients, product(*box)):
            largest = rate / e.model.participation[n] if drawn else rate
            for value in {v for o in e.model.noise[n].outcomes for v in o[1:]}:
                g = plus(e.model.functions[n].gradient(corner), value, ONE)
                reached.append(plus(corner, e.block(side, [g])[0], -largest))
    pairs = (zip(box, point, strict=True) for point in reached)
    return all(low <= z <= high for pair in pairs for (low, high), z in pair)


def _largest_rate(e: Evaluation, rate: k.Rate) -> Fraction | None:
    """Return the rate of round 0 if 0 <= rate(t) <= rate(0) for all t by the sorts."""
    values, t = e.model.values(), k.symbol(k.fresh(k.NATURALS))
    body, first = (k.number_at(rate.at(s), values) for s in (t, ratio(0)))
    falls = body.nonnegative() and (first - body).nonnegative()
    return e.number(first) if falls else None


def _exact(value: object) -> bool:
    """Return whether all numbers of a part of a model are fractions, none a float."""
    if type(value) is Fraction:
        return True
    if type(value) is tuple:
        return all(map(_exact, cast(tuple[object, ...], value)))
    if isinstance(value, Shape | Bend | NoiseLaw):
        return all(map(_exact, vars(value).values()))
    return isinstance(value, Mapping) and all(map(_exact, value.values()))


def meeting(
    model: Model, hypotheses: frozenset[h.Hypothesis], left: k.Lin, right: k.Lin
) -> Evaluation:
    """Return the model ready to evaluate both sides; it meets every hypothesis."""
    kept = ("client_size", "order", "rounds", "rates", "long")
    numbers = (one for name, one in vars(model).items() if name not in kept)
    require(all(map(_exact, numbers)), "a number of the model is no fraction")
    e = prepared(model, k.subterms(left, right, *hypotheses))
    for assumed in hypotheses:
        require(holds(e, assumed), "the model does not meet: %s", assumed)
    return e


def prepared(model: Model, inside: set[k.Term]) -> Evaluation:
    """Return the model ready to evaluate these terms; it says nothing of others."""
    asked = {one.function for one in inside if isinstance(one, k.Star | h.Minimiser)}
    tables = (model.numbers, model.families, model.rates, model.named, model.points)
    for name in (name for table in tables for name in table):
        require(name in inside, "the statement does not mention %s", name)
    for function in model.stars:
        require(function in asked, "the statement does not mention %s*", function)
    e, splits = Evaluation(model), [one for one in inside if isinstance(one, k.Split)]
    visited = [run for run in splits if run.kind.visits]
    require(visited or not model.order, "an order of visits, and nobody visits")
    for run in visited:
        e.ordered(run)
    made = [e.whole_number(run.steps(side)) for run in splits for side in k.Side]
    e.prepare(max(made, default=0), any(run.drawn for run in splits))
    return e
