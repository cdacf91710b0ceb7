"""Calls of every rule: honest ones, and tempting ones that a sound rule refuses."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as Q
from types import ModuleType

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, ratio
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Kind,
    Local,
    NamedFunction,
    Pace,
    Participants,
    Side,
    Split,
    Star,
    Var,
    constant,
    draw,
    expected,
    gradient,
    inner,
    iterate,
    local_point,
    natural,
    noise,
    norm2,
    part,
    share_of,
    summed,
    symbol,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs.notation import (
    count,
    nat,
    nonnegative,
    of,
    per_client,
    point,
    positive,
    rates,
    steps,
)

n, m, third = Client("n"), Client("m"), Client("l")
t, i, j, d = nat("t"), nat("i"), nat("j"), nat("d")
now, tau, S, mu = of(t), count("tau"), positive("S"), nonnegative("mu")
eps2, G2, c = nonnegative("eps2"), nonnegative("G2"), positive("c")
s2 = per_client("sigma2", n)
x, y, z = point("x"), point("y"), point("z")
F = NamedFunction("phi")
ETA, RATE = rates("eta"), rates("rate")
ONE, ZERO = ratio(1), ratio(0)


EVERYONE, UPDATES, MODELS, OF_PRESENT = Participants


def run_of(kind: Kind, who: Participants = EVERYONE, tau_s: object = None) -> Split:
    server = natural(tau if tau_s is None else tau_s)
    return Split(kind, who, Pace(natural(tau), ETA), Pace(server, RATE))


V1, PARTIAL = run_of(Kind.V1, EVERYONE, tau + of(d)), run_of(Kind.V1, UPDATES)
V2, WEIGHTED, MINIBATCH = map(run_of, (Kind.V2, Kind.V2_WEIGHTED, Kind.MINIBATCH))
DRAWN_V2, DRAWN = run_of(Kind.V2, UPDATES), run_of(Kind.V2_WEIGHTED, UPDATES)
AVERAGED, AVERAGED_V2 = run_of(Kind.V1, MODELS), run_of(Kind.V2_WEIGHTED, MODELS)
DRAWN_BATCH = run_of(Kind.MINIBATCH, UPDATES)
MEAN_BATCH = run_of(Kind.MINIBATCH, OF_PRESENT)
STEPWISE = Split(
    Kind.V1,
    EVERYONE,
    k.Stepwise(natural(tau), ETA),
    k.Stepwise(natural(tau + of(d)), RATE),
)
STEPWISE_V2 = Split(
    Kind.V2, UPDATES, k.Stepwise(natural(tau), ETA), k.Stepwise(natural(tau), RATE)
)
COUNTED = run_of(Kind.COUNTED, EVERYONE, tau + of(d))
WITH_DRAWS = (PARTIAL, STEPWISE_V2, DRAWN_V2, DRAWN, AVERAGED, AVERAGED_V2, DRAWN_BATCH)
WITH_DRAWS += (MEAN_BATCH,)
RUNS_OF_VISITS = (V2, WEIGHTED, STEPWISE_V2, DRAWN_V2, DRAWN, AVERAGED_V2)
RUNS = (V1, run_of(Kind.V1), V2, WEIGHTED, MINIBATCH, STEPWISE, COUNTED, *WITH_DRAWS)
GD = k.Descent(F, ETA)
of_m = symbol(k.PerClient(k.ClientFamily("turn", Sort.NATURAL), m))


def stochastic(run: Split, client: Client, step: object) -> k.Vec:
    p = local_point(run, client, now, step)
    return gradient(Local(client), p) + noise(run, client, now, step)


SAYS: dict[str, Callable[..., tuple[h.Hypothesis, tuple[object, ...]]]] = {
    "majorant": lambda F, S, p, q: (h.Majorised(F, S), (p, q)),
    "lipschitz": lambda F, S, p, q: (h.Smooth(F, S), (p, q)),
    "convex": lambda F, mu, p, q: (h.Convex(F, mu), (p, q)),
    "lowest": lambda F, p: (h.Minimiser(F), (p,)),
    "heterogeneity": lambda eps2, n, p: (h.Heterogeneity(eps2), (n, p)),
    "variance": lambda run, s2, n, t, i: (h.Variance(run, n, s2), (t, i)),
    "bounded_gradient": lambda run, G2, *at: (h.BoundedGradients(run, G2), at),
    "bounded_block": lambda run, G2, side, *at: (h.BoundedBlock(run, G2, side), at),
}
"""What the rule `given` says, by name."""


def said(R: ModuleType, name: str, *args: object) -> object:
    """Return what a hypothesis says."""
    return R.given(*SAYS[name](*args))


def called(
    R: ModuleType, name: str, args: tuple[object, ...]
) -> tuple[str, Callable[[], object]]:
    """Return a call of a rule, or of a case of one, with its name."""
    if name in SAYS:
        return f"given {name}", lambda: said(R, name, *args)
    if name in ("local_update", "resting"):
        *first, w = args
        name, rests = "local_update", name == "resting"
        return name, lambda: R.local_update(*first, rests, w)
    if name == "unbiased_after":
        *first, m, j, u = args
        return "unbiased after", lambda: R.unbiased(*first, u, ((m, j),))
    if name in {"unbiased", "unbiased named"}:
        return name, lambda: R.unbiased(*args, ())
    return name, lambda: getattr(R, name)(*args)


def honest(R: ModuleType) -> list[tuple[str, Callable[[], object]]]:
    """Return calls that a rule accepts, each with the rule's name."""
    out: list[tuple[str, Callable[[], object]]] = []

    def add(name: str, *args: object) -> None:
        out.append(called(R, name, args))

    def later(name: str, make: Callable[[], object]) -> None:
        out.append((name, make))

    add("assume", constant(1 - S))
    add("square", S - 2)
    later("combine", lambda: R.combine((), ((x - y, c), (z, S)), None, ()))
    later(
        "combine",
        lambda: R.combine(
            ((R.smooth(F, S, x, y), c), (said(R, "convex", F, mu, x, y), ONE)),
            (),
            None,
            (),
        ),
    )
    later(
        "combine",
        lambda: R.combine(
            ((R.blocks(x, y), ratio(-2)),), (), -R.blocks(x, y).form * 2, ()
        ),
    )
    later(
        "combine", lambda: R.combine((), (), constant(S), (R.assume(constant(S - 1)),))
    )
    later(
        "combine",
        lambda: R.combine((), (), constant(S - Q(1, 2)), (R.assume(constant(S - 1)),)),
    )
    for rest, signs in dominant(R):
        later("combine", lambda r=rest, s=signs: R.combine((), (), r, s))
        later(
            "combine",
            lambda r=rest, s=signs: R.combine(
                ((R.blocks(z, x), ratio(-2)),), (), r - R.blocks(z, x).form * 2, s
            ),
        )
    later(
        "instantiate",
        lambda: R.instantiate(
            R.combine((), (), constant(mu), ()),
            ((Var("mu", Sort.NONNEGATIVE), S - 1),),
            (R.assume(constant(S - 1)),),
        ),
    )
    later(
        "sum_over",
        lambda: R.sum_over(
            R.local_update(V1, n, now, of(i), Side.CLIENT, False, x),
            steps(tau + 2),
            i,
            ONE,
            (),
        ),
    )
    later(
        "sum_over",
        lambda: R.sum_over(R.assume(constant(S - of(i))), steps(tau + 2), i, ONE, ()),
    )

    def low() -> object:
        return said(R, "lipschitz", F, S, x, y)

    later(
        "instantiate",
        lambda: R.instantiate(low(), ((F, Local(n)), (k.Point("x"), x * 2 + z)), ()),
    )
    later(
        "instantiate",
        lambda: R.instantiate(
            R.split(i, norm2(local_point(V1, n, now, of(i))), tau, of(d)),
            ((Var("tau", Sort.COUNT), of(d) + 1), (d, ratio(1))),
            (),
        ),
    )
    later(
        "instantiate",
        lambda: R.instantiate(
            R.update(V1, Side.SERVER, now, x),
            (
                (
                    k.RoundFamily("rate", Sort.POSITIVE),
                    k.Rate(1 / (2 + symbol(k.ROUND))),
                ),
            ),
            (),
        ),
    )
    later(
        "instantiate",
        lambda: R.instantiate(
            said(R, "convex", F, mu, x, y),
            ((Var("mu", Sort.NONNEGATIVE), S - 1),),
            (R.assume(constant(S - 1)),),
        ),
    )
    for factor in (weight(n), ONE, weight(n) ** 2 * per_client("w", n)):
        later(
            "sum_over",
            lambda f=factor: R.sum_over(
                said(R, "lipschitz", Local(n), S, x, local_point(V1, n, now, of(i))),
                CLIENTS,
                n,
                f,
                (),
            ),
        )
        later(
            "sum_over",
            lambda f=factor: R.sum_over(
                said(R, "variance", V1, s2, n, now, of(i)), CLIENTS, n, f, ()
            ),
        )
    later(
        "sum_over",
        lambda: R.sum_over(
            said(R, "variance", V1, s2, n, now, of(i)), steps(tau), i, of(i), ()
        ),
    )
    later(
        "sum_over",
        lambda: R.sum_over(
            R.local_update(V1, n, now, of(i), Side.CLIENT, False, x),
            steps(tau + 1),
            i,
            ONE,
            (),
        ),
    )
    later(
        "sum_over",
        lambda: R.sum_over(
            R.assume(norm2(local_point(V1, n, now, of(i)) - x) - constant(of(i) + 1)),
            steps(tau),
            i,
            ONE,
            (),
        ),
    )
    claim = constant(of(t) * (of(t) - 1))
    later(
        "induct",
        lambda: R.induct(
            R.combine((), (), constant(ZERO), ()),
            R.combine(((R.assume(claim), ONE),), (), constant(of(t) * (of(t) + 1)), ()),
            t,
            claim,
        ),
    )
    later(
        "induct",
        lambda: R.induct(
            R.combine((), (), constant(ZERO), ()),
            R.combine(
                ((R.assume(norm2(x) * of(t)), ONE),),
                ((x, ONE),),
                norm2(x) * (of(t) + 1),
                (),
            ),
            t,
            norm2(x) * of(t),
        ),
    )
    later(
        "cut",
        lambda: R.cut(
            R.assume(constant(S - 1)),
            R.combine((), (), constant(S - 1), (R.assume(constant(S - 2)),)),
        ),
    )
    later(
        "cut", lambda: R.cut(R.assume(norm2(x)), R.combine((), ((x, ONE),), None, ()))
    )
    later(
        "cases",
        lambda: R.cases(
            R.combine((), (), constant(S * S - 2 * S + 1), (R.square(S - 1),)),
            R.combine((), (), constant(S * S - 2 * S + 1), (R.square(S - 1),)),
            S - 1,
        ),
    )
    for kind, v, w, u in (
        (CLIENTS, n, weight(n), gradient(Local(n), x)),
        (CLIENTS, n, ONE, local_point(V1, n, now, of(i))),
        (steps(tau), i, of(i) + 1, noise(V1, n, now, of(i))),
        (CLIENTS, n, per_client("w", n), gradient(Local(n), y)),
    ):
        add("jensen", kind, v, w, u)
        add("linear", kind, v, u * w, x - y)
    add("longer", i, local_point(V1, n, now, of(i)) - x, tau, tau + 1)
    add("longer", i, noise(V1, n, now, of(i)), of(j), tau)
    add("longer", i, local_point(V1, n, now, of(i)) - x, of(j), tau)
    add("split", i, norm2(local_point(V1, n, now, of(i))), tau, of(d))
    add("split", i, constant(of(i) ** 2), of(j), of(d) + 1)
    for upper in (ONE, tau):
        add("split", i, norm2(local_point(V1, n, now, of(i))), upper, ONE)
        add("split", t, value_of(MEAN, iterate(V1, now)), ONE, upper)
    add("blocks", x, y)
    add("blocks", gradient(Local(n), x), part(Side.CLIENT, y) + z)
    add("weight_below_one", n)
    one = k.Numbered(1)
    later("given variance", lambda: R.given(h.Variance(V1, one, S), (now, of(i))))
    later("given convex", lambda: R.given(h.Convex(Local(one), mu), (x, y)))
    for function in (F, Local(n), MEAN):
        for p, q in ((x, y), (x, vec(Star(F))), (y, x * 2)):
            add("smooth", function, S, p, q)
            add("majorant", function, S, p, q)
            add("lipschitz", function, S, p, q)
            add("convex", function, mu, p, q)
    for p in (x, y * 2 - x):
        add("lowest", MEAN, p)
        add("lowest", F, p)
        add("stationary", F, p)
        add("stationary", MEAN, p)
        add("mean_value", p)
        add("mean_gradient", p, z)
        add("heterogeneity", eps2, n, p)
    add("mean_value", local_point(V1, n, now, of(i)))
    add("descend", GD, now, x)
    add("descend", GD, ratio(1), x)
    for run in RUNS:
        for side in Side:
            add("update", run, side, ZERO, x)
            add("update", run, side, now, gradient(MEAN, x))
            name = "counted_update" if run is COUNTED else "local_update"
            add(name, run, n, ZERO, ZERO, side, x)
            add(name, run, n, now, of(i), side, x)
            add(name, run, n, ZERO, ratio(1), side, x)
            xi = part(side, noise(run, m, ZERO, of(j)))
            own = per_client("w", m) * (of(j) + 1)
            for u in (xi * weight(m), summed(steps(tau), j, xi * own)):
                add("unbiased_across", run, n, ZERO, of(i), m, u)
        add("bounded_gradient", run, G2, n, now, of(i))
        add("bounded_gradient", run, G2, n, ZERO, ZERO)
        add("variance", run, s2, n, now, of(i))
        add("variance", run, s2, n, ZERO, ratio(0))
        before = local_point(run, n, now, of(i))
        add("unbiased", run, n, now, of(i), iterate(run, now) - vec(Star(MEAN)))
        add("unbiased", run, n, now, of(i), gradient(Local(n), before))
        add("unbiased", run, n, ratio(1), ZERO, local_point(run, m, ZERO, of(j)))
        add("unbiased", run, n, ratio(1), ZERO, gradient(MEAN, iterate(run, ZERO)))
        add("unbiased", run, n, ZERO, of(i) + 1, noise(run, n, ZERO, of(i)))
        add(
            "unbiased",
            run,
            n,
            ZERO,
            of(i) + 1,
            part(
                Side.SERVER,
                summed(
                    steps(of(i) + 1),
                    j,
                    stochastic(run, n, of(j))
                    if run is None
                    else noise(run, n, ZERO, of(j)) * of(j),
                ),
            ),
        )
        add(
            "unbiased",
            run,
            n,
            ratio(1),
            ZERO,
            summed(CLIENTS, m, gradient(Local(m), local_point(run, m, ZERO, of(j)))),
        )
    for side in Side:
        add("resting", V1, n, ZERO, tau + of(d), side, x)
        add("resting", V1, n, ZERO, tau + of(j), side, x)
    for factor in (ZERO, ONE, -S):
        add("ordered", m, of(j), n, of(i), now, factor)
        add("ordered", n, ZERO, m, ZERO, ZERO, factor)
        add("ordered", n, of(i), n, of(j), now, factor)
    far = norm2(local_point(V2, n, now, of(i)) - gradient(Local(m), x))
    lin = constant(weight(n) * of(i) * k.before(m, of(j), n, of(i), now))
    for outer, inner_one in (
        ((CLIENTS, n), (CLIENTS, m)),
        ((CLIENTS, n), (steps(tau), i)),
        ((steps(tau), i), (steps(tau), j)),
        ((steps(of(d)), i), (steps(tau), j)),
        ((steps(of(d)), j), (CLIENTS, m)),
    ):
        for form in (far * of(j), lin, far * weight(n) + lin):
            add("exchange", *outer, *inner_one, form)
    for run in WITH_DRAWS:
        for form in (constant(ONE), norm2(x), norm2(iterate(run, now + 1)) * S):
            add("drawn", run, n, now, form)
            add("drawn", run, n, now, form * draw(run, m, now))
        for form in (constant(ONE), norm2(x), constant(draw(run, n, now))):  # any form
            for absent in (False, True):
                add("shared", run, m, now, form * S, absent)
        for form in apart_from_draws(run):
            add("expect", run, n, now, form, ())
            add("expect", run, n, now, form, (m,))
        for form in of_three_clients(run):
            add("expect", run, n, now, form, (m, third))
            if k.CONDITIONAL not in form.free:  # what it hides is refused
                add("expect", run, n, now + 1, form * draw(run, n, now), (m,))
        for form in apart_from_draws(run):
            if k.CONDITIONAL not in form.free:
                add("expect", run, k.Numbered(2), now, form * beside_first(run), ())
                add("expect", run, m, now + 1, form * draw(run, m, now) ** 2, ())
                add("expect", run, m, now + 1, form * share_of(run, n, now), ())
        add("expect", run, FIRST, now, constant(1 / (1 + beside_first(run))), ())
        later("vanish", lambda r=run: vanished(R, r, draw(r, n, now)))
        u = summed(
            CLIENTS, n, gradient(Local(n), iterate(run, now)) * draw(run, n, now)
        )
        for w in (u, iterate(run, now + 1), x, noise(run, n, now, ZERO)):
            add("tower", run, now, w, gradient(MEAN, iterate(run, now)))
            add("tower", run, now, w, expected(run, now, w) - iterate(run, ZERO))
        add("tower", run, now + 1, w, local_point(run, n, now, of(i)))
        add("jensen", CLIENTS, n, weight(n) * draw(run, n, now), gradient(Local(n), x))
        u = summed(steps(tau), j, noise(run, m, now, of(j))) * draw(run, m, now)
        add("unbiased_across", run, n, now, of(i), m, u * weight(m))
        later("combine", lambda r=run: multiplied(R, r))
        later(
            "combine",
            lambda r=run: R.combine((), (), *below_one_over_q(R, r)),
        )
        later("sum_over", lambda r=run: summed_draws(R, r))
    add("tower", MINIBATCH, now, x, iterate(MINIBATCH, now))
    for run in (V1, STEPWISE, PARTIAL, AVERAGED):
        for u in (
            gradient(Local(m), local_point(run, m, now, of(j))) * weight(m),
            gradient(Local(n), local_point(run, m, now, of(i) + 1)) * weight(n),
            summed(steps(tau), j, noise(run, m, now, of(j))) - iterate(run, now),
            part(Side.SERVER, local_point(run, m, now, of(i) + 1)),
        ):
            add("unbiased_across", run, n, now, of(i), m, u)
        own = gradient(Local(n), local_point(run, n, ZERO, ONE))
        add("unbiased_across", run, n, ZERO, ZERO, n, own)
    for run in (V1, run_of(Kind.V1), STEPWISE, PARTIAL, AVERAGED):
        for u in (
            gradient(MEAN, local_point(run, SECOND, now, of(j) + 1)),
            summed(steps(tau), j, noise(run, SECOND, now, of(j)) * of(j)),
            part(Side.CLIENT, gradient(Local(m), of_others(run, now, of(j) + 1))),
        ):
            add("unbiased named", run, FIRST, now, of(i), u)
            add("unbiased named", run, FIRST, ZERO, of(i), k.vec_at(u, {t: ZERO}))
    for run in RUNS:
        if not run.kind.visits:
            step = ZERO if run.kind is Kind.COUNTED else of(i)
            u = of_others(run, ZERO, step) + local_point(run, FIRST, ZERO, step)
            add("unbiased named", run, FIRST, ZERO, step, gradient(Local(FIRST), u))
    for run in RUNS_OF_VISITS:
        for u in (
            noise(run, m, now, of(j)),
            gradient(Local(m), local_point(run, m, now, of(j))) - vec(Star(MEAN)),
            summed(steps(of(j) + 1), d, noise(run, m, now, of(d))),
            local_point(run, n, now, of(i)) + noise(run, m, now, of(j)) * weight(m),
        ):
            add("unbiased_after", run, n, now, of(i), m, of(j), u)
        add("unbiased_after", run, n, ZERO, ONE, m, ZERO, noise(run, m, ZERO, ZERO))
        add("unbiased_after", run, n, now, ONE, n, ZERO, noise(run, n, now, ZERO))
    for u in (x, gradient(MEAN, vec(Star(MEAN))), x - y * S):
        later("vanish", lambda v=u: R.vanish(R.assume(-norm2(v)), v, z))
    for run in RUNS:
        later("vanish", lambda r=run: vanished(R, r, S))
    everywhere = h.every(CLIENTS, n, h.Smooth(Local(n), S))
    for who in (n, k.Numbered(1)):
        later("specialise", lambda c=who: R.specialise(near(R, c), everywhere, c))
    for run in (COUNTED, run_of(Kind.COUNTED, EVERYONE, 3)):
        for side in Side:
            for at in (ZERO, ONE, of(j), ratio(2)):
                w = local_point(run, m, at, 0)
                add("counted_update", run, n, ONE, at, side, w)
                add("counted_update", run, n, ZERO, at, side, x)
    out += [("divided", make) for make in divisions(R)]
    falling = h.every(steps(tau), i, h.Holds(constant(S - of(i))))
    for at in (ZERO, ONE, of(j)):
        low_there = constant(S - at)
        add("specialise", R.assume(low_there), falling, at)
    rising = h.every(k.NATURALS, i, h.Holds(constant(S * of(i))))
    add("specialise", R.assume(constant(S * (of(j) + 1))), rising, of(j) + 1)
    for size in (1, 2, 3):
        form = value_of(Local(n), x) * weight(n) - constant(symbol(k.Odds(n)))
        add("numbered", n, form, size)
        other_form = summed(CLIENTS, m, norm2(gradient(Local(n), x) * weight(m) - x))
        add("numbered", n, other_form, size)
        add("numbered", n, norm2(noise(V2, n, ZERO, ZERO)), size)
    for run in RUNS[:12]:
        for side in Side:
            add("bounded_block", run, G2, side, n, now, ZERO)
    for run in (V1, STEPWISE, PARTIAL, AVERAGED, MINIBATCH, COUNTED):
        there = local_point(run, m, now, of(i))
        mean = summed(CLIENTS, m, there * weight(m))
        add("unbiased", run, n, now, of(i), gradient(Local(m), there))
        add("unbiased", run, n, now, of(i), gradient(MEAN, mean))
        add("unbiased", run, n, now, of(i) + 1, noise(run, m, now, of(i)))
        add("unbiased", run, n, ZERO, ONE, gradient(MEAN, noise(run, m, ZERO, ZERO)))
    return out


def not_dominant() -> list[k.Lin]:
    """Return forms that may be negative, some by little."""
    own, both = norm2(x) + norm2(y), inner(x, y)
    all_three = both + inner(x, z) + inner(y, z)
    return [
        both,
        -both,
        norm2(x) - both,
        own - both * Q(21, 10),
        own + both * Q(21, 10),
        norm2(x) * 9 + both,
        (own + norm2(z)) * Q(9, 10) - all_three,
        own * Q(1, 2) + both * (9 * S - 1),
        own * c - both * (2 * c + mu),
        own + both * 2 - constant(1),
        value_of(F, x),
        norm2(x) + value_of(F, x),
        norm2(x) - summed(CLIENTS, m, inner(gradient(Local(m), x), y)),
        summed(CLIENTS, m, inner(gradient(Local(m), x), y) * weight(m)),
    ]


def dominant(R: ModuleType) -> list[tuple[k.Lin, tuple[object, ...]]]:
    """Return forms that are diagonally dominant, tightly, and signs that show it."""
    g, above = gradient(F, x), (R.assume(constant(S - 1)),)
    a, b = part(Side.CLIENT, x), part(Side.CLIENT, g)
    J, u = draw(PARTIAL, n, now), gradient(Local(n), iterate(PARTIAL, now + 1))
    own = norm2(x) + norm2(y)
    return [
        (norm2(x), ()),
        (own + inner(x, y) * 2 + norm2(z) * c, ()),
        (own - inner(x, y) * 2 + constant(S), ()),
        (own * c + norm2(z) * 2 * c - (inner(x, z) + inner(y, z)) * 2 * c, ()),
        ((own + norm2(g)) * c + own * mu + inner(x, y) * 2 * mu - inner(g, y) * c, ()),
        (norm2(x) * S + norm2(y) - inner(x, y) * 2, above),
        (norm2(x) + norm2(y) * S + inner(x, y) * 2 + constant(S - 1), above),
        ((norm2(u) + norm2(x)) * J + inner(u, x) * (2 * J), ()),
        (norm2(a) + norm2(b) - inner(x, b) * 2, ()),
    ]


def near(R: ModuleType, client: k.ClientIndex) -> object:
    """Return smoothness of one client's function."""
    return R.instantiate(said(R, "lipschitz", Local(n), S, x, y), ((n, client),), ())


def multiplied(R: ModuleType, run: Split) -> object:
    """Multiply a theorem that holds given the draws by a draw."""
    near = said(R, "lipschitz", Local(n), S, iterate(run, now + 1), x)
    return R.combine(((near, draw(run, n, now)),), (), None, ())


def below_one_over_q(R: ModuleType, run: Split) -> tuple[object, object]:
    """Return 1/q - J and the sign theorem that shows it."""
    inverse, J = 1 + symbol(k.Odds(n)), draw(run, n, now)
    uses = (
        (R.drawn(run, n, now, constant(ONE)), 1 / inverse),
        (R.square(inverse - J), 1 / inverse),
    )
    exact = R.combine(uses, (), constant(inverse - J), ())
    return constant(inverse - J), (exact,)


def summed_draws(R: ModuleType, run: Split) -> object:
    """Sum with draws as weights."""
    near = said(R, "lipschitz", Local(n), S, iterate(run, now + 1), x)
    return R.sum_over(near, CLIENTS, n, weight(n) * draw(run, n, now), ())


def forms_of_draws(run: Split) -> list[k.Lin]:
    """Return what `expect` averages over the draws of round t."""
    J, a, w = draw(run, n, now), weight(n), per_client("w", n)
    gx, gf = (gradient(f, iterate(run, now)) for f in (Local(n), MEAN))
    some = summed(CLIENTS, n, gx * (a * J))
    squares = summed(CLIENTS, n, gx * (w * J**2))
    V = clients_number(a * J)
    out = [
        constant(J**3 * S),
        norm2(gx - gf * J),
        norm2(some),
        inner(some - gf, squares + gf),
        value_of(Local(n), iterate(run, now)) * (J * S),
        constant(V * clients_number(J**2)),
        constant(V**2) + norm2(iterate(run, now + 1)),
        summed(CLIENTS, n, value_of(Local(n), iterate(run, now)) * J**2) * V,
        norm2(gf) * V**2,
        summed(CLIENTS, m, norm2(some - gradient(Local(m), iterate(run, now)))),
        inner(some, expected(run, now, iterate(run, now + 1) - gx * J)),
    ]
    if run.kind is Kind.V1:
        gp = gradient(Local(n), local_point(run, n, now, of(i)))
        xi = summed(steps(tau), j, noise(run, n, now, of(j)))
        out += [norm2(summed(CLIENTS, n, (gp + xi) * (a * J))), norm2(gp) * J]
    return out


def clients_number(number: k.Ratio) -> k.Ratio:
    """Return the sum over clients."""
    return summed(CLIENTS, n, constant(number)).coefficients[k.UNIT]


FIRST, SECOND = k.Numbered(0), k.Numbered(1)


def of_others(run: Split, at: k.Ratio, step: k.Ratio) -> k.Vec:
    """Return what clients 1 and 2 draw at a step of a round, and where they are."""
    last = k.Numbered(2)
    both = noise(run, SECOND, at, step) * weight(n) + noise(run, last, at, step)
    return both - local_point(run, last, at, step) - iterate(run, ZERO)


def beside_first(run: Split) -> k.Ratio:
    """Return draws that do not depend on that of clients 0 and 2 in round t."""
    return draw(run, SECOND, now) ** 2 * S


def vanished(R: ModuleType, run: Split, c: k.Ratio) -> object:
    """Take what a definition says to be 0 for a vector that is 0."""
    u = gradient(MEAN, x) - summed(CLIENTS, n, gradient(Local(n), x) * weight(n))
    none = R.combine(((R.mean_gradient(x, u), -c * c),), (), None, ())
    return R.vanish(none, u * c, iterate(run, now + 1) * c - z)


def apart_from_draws(run: Split) -> list[k.Lin]:
    """Return forms that do not depend on the draws of round t."""
    gx, gm, gf = (gradient(f, iterate(run, now)) for f in (Local(n), Local(m), MEAN))
    ahead = iterate(run, now + 1)
    out = [
        constant(S),
        norm2(gx - gf),
        inner(gx, gm) * (weight(m) * per_client("w", n)),
        value_of(Local(m), iterate(run, now)) * S + constant(weight(n)),
        summed(CLIENTS, third, norm2(gradient(Local(third), x_of(run)))),
        inner(gm, expected(run, now, ahead - gx * draw(run, n, now))),
    ]
    if run.kind is Kind.V1:
        gp = gradient(Local(n), local_point(run, n, now, of(i)))
        xi = summed(steps(tau), j, noise(run, m, now, of(j)))
        out += [inner(gp + xi, xi) * weight(m), norm2(gp)]
    return out


def of_three_clients(run: Split) -> list[k.Lin]:
    """Return forms of three clients that do not depend on the draws of round t."""
    one, other = (gradient(Local(v), iterate(run, now)) for v in (m, third))
    weights = weight(n) * weight(m) ** 2 * weight(third)
    return [constant(weights), inner(one, other) * weight(third)]


def x_of(run: Split) -> k.Vec:
    return iterate(run, now)


def beside_the_draws(run: Split) -> list[k.Lin]:
    """Return what `expect` has to refuse."""
    J, K, a = draw(run, n, now), draw(run, m, now), weight(n)
    g = gradient(Local(n), iterate(run, now))
    some, V = summed(CLIENTS, n, g * J), clients_number(a * J)
    ahead = iterate(run, now + 1)
    out = [
        constant(J),
        constant(K),
        constant(draw(run, n, now + 1)),
        constant(draw(run, n, of(d))),
        constant(V),
        constant(1 / (1 + J)),
        norm2(ahead),
        value_of(MEAN, ahead),
        norm2(x),
        inner(some, iterate(run, now)),
        inner(g, ahead),
        inner(g, x),
        norm2(some),
        norm2(gradient(MEAN, iterate(run, now) * J)),
        inner(g, expected(run, now + 1, ahead)),
        summed(CLIENTS, third, norm2(ahead)),
        norm2(iterate(V1, now)),
        norm2(local_point(run, m, now + 1, ZERO)),
        summed(steps(tau), t, constant(draw(run, n, of(t)))),
    ]
    if run.kind is not Kind.V1:
        xi, p = noise(run, m, now, ZERO), local_point(run, n, now, ONE)
        out += [norm2(xi), norm2(gradient(Local(n), p)), inner(g, p)]
    return out


def tempting(R: ModuleType) -> list[tuple[str, Callable[[], object]]]:
    """Return calls that a sound rule refuses; accepted, they are false."""
    out: list[tuple[str, Callable[[], object]]] = []

    def add(name: str, *args: object) -> None:
        out.append(called(R, name, args))

    def later(name: str, make: Callable[[], object]) -> None:
        out.append((name, make))

    def squared(v: k.Vec) -> object:
        return R.combine((), ((v, ONE),), None, ())

    later("combine", lambda: R.combine(((squared(x), ratio(-1)),), (), None, ()))
    later("combine", lambda: R.combine((), ((x, S - 1),), None, ()))
    later("combine", lambda: R.combine((), (), constant(S - 1), ()))
    later(
        "combine", lambda: R.combine(((squared(x), ONE),), (), norm2(x) - norm2(y), ())
    )
    later(
        "combine",
        lambda: R.combine((), (), constant(1 - S), (R.assume(constant(S - 1)),)),
    )
    for rest in not_dominant():
        later("combine", lambda r=rest: R.combine((), (), r, ()))
        later(
            "combine",
            lambda r=rest: R.combine(
                ((squared(z), ONE), (R.blocks(x, y), c)),
                (),
                r + norm2(z) + R.blocks(x, y).form * c,
                (),
            ),
        )
    for value in (ZERO, ratio(Q(1, 2)), of(t)):
        later(
            "instantiate",
            lambda v=value: R.instantiate(
                R.combine((), (), constant(tau - 1), ()),
                ((Var("tau", Sort.COUNT), v),),
                (),
            ),
        )
    later("cut", lambda: R.cut(R.assume(constant(S - 1)), R.assume(constant(S - 2))))
    later("cut", lambda: R.cut(R.assume(constant(S - 2)), R.assume(constant(S - 1))))
    for one, about in (
        (h.Smooth(F, S), (x,)),
        (h.Smooth(F, S), (x, ONE)),
        (h.Convex(F, mu), (x, y, z)),
        (h.Minimiser(F), ()),
        (h.Minimiser(F), (n,)),
        (h.Heterogeneity(eps2), (x, n)),
        (h.Variance(V1, n, S), (n, now, ZERO)),
        (h.Variance(V1, n, S), (now,)),
        (h.Variance(V1, n, S), (now, ratio(Q(1, 2)))),
        (h.Variance(V1, n, S), (ratio(-1), ZERO)),
        (h.BoundedGradients(V1, G2), (now, ZERO)),
        (h.BoundedGradients(V1, G2), (n, now, S)),
        (h.Unbiased(V1), ()),
        (h.Independent(V1), (n, now, ZERO)),
        (h.Participation(PARTIAL), (n, now)),
        (h.Holds(constant(S)), (ONE,)),
        (h.every(CLIENTS, m, h.Convex(Local(m), mu)), (x, y)),
    ):
        add("given", one, about)
    low_claim = -norm2(x) - constant(ONE)
    later(
        "induct",
        lambda: R.induct(
            R.combine((), (), constant(ZERO), ()), R.assume(low_claim), t, low_claim
        ),
    )
    later(
        "cases",
        lambda: R.cases(
            R.assume(constant(S - 1)), R.combine((), (), constant(ZERO), ()), S - 1
        ),
    )
    later(
        "jensen",
        lambda: R.jensen(CLIENTS, n, weight(n) - Q(1, 2), gradient(Local(n), x)),
    )
    later(
        "instantiate",
        lambda: R.instantiate(
            squared(x * 1), ((k.Point("x"), x), (k.Point("x"), y)), ()
        ),
    )
    product = constant(of(t) * (of(t) - 1))

    def naturals() -> object:
        return R.induct(
            R.combine((), (), constant(ZERO), ()),
            R.combine(
                ((R.assume(product), ONE),), (), constant(of(t) * (of(t) + 1)), ()
            ),
            t,
            product,
        )

    for value in (ratio(Q(1, 2)), S, S / c - 1 + 1):
        later("instantiate", lambda v=value: R.instantiate(naturals(), ((t, v),), ()))

    def above() -> object:
        return R.combine((), (), constant(symbol(Var("p", Sort.POSITIVE)) * S), ())

    later(
        "instantiate",
        lambda: R.instantiate(above(), ((Var("p", Sort.POSITIVE), S - 1),), ()),
    )
    later(
        "instantiate",
        lambda: R.instantiate(above(), ((Var("p", Sort.POSITIVE), ratio(-1)),), ()),
    )
    later(
        "sum_over",
        lambda: R.sum_over(
            squared(gradient(Local(n), x)), CLIENTS, n, weight(n) - 1, ()
        ),
    )
    later("sum_over", lambda: R.sum_over(squared(x), CLIENTS, n, ratio(-1), ()))
    later(
        "induct",
        lambda: R.induct(
            R.combine((), (), constant(ZERO), ()),
            R.combine(((R.assume(constant(-of(t))), ONE),), (), constant(-of(t)), ()),
            t,
            constant(-of(t)),
        ),
    )
    later(
        "induct",
        lambda: R.induct(
            R.combine((), (), constant(ONE), ()),
            R.combine(((R.assume(-norm2(x)), ONE),), ((x, ONE),), None, ()),
            t,
            -norm2(x),
        ),
    )
    later("cases", lambda: R.cases(squared(x), squared(y), S))
    later("jensen", lambda: R.jensen(CLIENTS, n, weight(n) - 1, gradient(Local(n), x)))
    add("linear", CLIENTS, n, gradient(Local(n), x), gradient(Local(n), y))
    for outer, upper in ((steps(tau), of(i) + 1), (steps(of(j) + 1), tau)):
        add("exchange", outer, i, steps(upper), j, norm2(x) * (of(i) + 2 * of(j)))
    add("exchange", steps(tau), i, steps(tau + 1), i, constant(of(i) + 1))
    add("longer", i, x + local_point(V1, n, now, of(i)), tau + 1, S)
    for run in RUNS:
        later_point = local_point(run, n, now, of(i) + 1)
        other = local_point(run, m, now, of(i) + 1)
        for u in (
            local_point(run, m, now, of(i)),
            later_point,
            other,
            iterate(run, now + 1),
            x,
            noise(run, m, now, of(i)),
            noise(run, n, now, of(i)),
            noise(run, m, now, of(j)),
            summed(steps(of(i) + 1), j, noise(run, n, now, of(j))),
            summed(steps(of(i) + 2), j, local_point(run, n, now, of(j))),
            summed(CLIENTS, m, noise(run, m, now, of(i))),
            gradient(MEAN, later_point),
        ):
            if run.kind.visits or u != local_point(run, m, now, of(i)):
                add("unbiased", run, n, now, of(i), u)
    for run in WITH_DRAWS:
        J = draw(run, n, now)
        add("unbiased", run, n, now, of(i), later_of(run) * J)
        for form in beside_the_draws(run):
            for others in ((), (m,), (m, third)):
                add("expect", run, n, now, form, others)
        for others in ((n,), (m, n), (m, m)):
            add("expect", run, n, now, constant(ONE), others)
            add("expect", run, n, now, value_of(MEAN, iterate(run, now)), others)
        for other in (
            draw(run, FIRST, now),
            draw(run, FIRST, now) * draw(run, SECOND, now),
            1 / (1 + draw(run, FIRST, now)),
            draw(run, n, now),
            clients_number(draw(run, n, now)),
            draw(run, FIRST, of(d)),
        ):
            there = value_of(MEAN, iterate(run, now) * other)
            add("expect", run, FIRST, now, constant(other), ())
            add("expect", run, n, now, constant(other), ())
            add("expect", run, FIRST, now, there, ())
        ahead = norm2(iterate(run, now + 1)) * draw(run, SECOND, now)
        for one in (FIRST, SECOND, n):  # all draws of a round make a share
            other = share_of(run, one, now)
            add("expect", run, FIRST, now, constant(other), ())
            add("expect", run, n, now, norm2(iterate(run, now)) * other, ())
        add("expect", run, FIRST, now, ahead, ())
        add("expect", run, FIRST, now, constant(draw(run, SECOND, now)), (m,))
        for w in (iterate(run, now + 1), x, noise(run, n, now, ZERO), iterate(V1, now)):
            add("tower", run, now, iterate(run, now + 1), w)
        add("tower", run, now, x, iterate(run, now) * J)
        add("tower", run, now, iterate(run, now + 1), expected(run, now + 1, x))
        later("combine", lambda r=run, z=J: averaged_times(R, r, z))
        later("combine", lambda r=run, z=J: tower_times(R, r, z))
        later("combine", lambda r=run, z=J: averaged_sign(R, r, z))
        later("sum_over", lambda r=run, z=J: averaged_times(R, r, z, summing=True))
    for run in RUNS:
        for u in (
            local_point(run, m, now, of(i) + 1),
            noise(run, m, now, of(i)),
            summed(CLIENTS, m, noise(run, m, now, of(i))),
            iterate(run, now + 1),
            *([] if run.kind is Kind.V1 else [local_point(run, m, now, of(i))]),
        ):
            add("unbiased_across", run, n, now, of(i), third, u)
        own = local_point(run, n, now, of(i) + 1)
        add("unbiased_across", run, n, now, of(i), m, own)
        add("unbiased_across", run, n, of_m, of(i), m, local_point(run, m, ZERO, ZERO))
        if run.kind is not Kind.V1:
            there = gradient(Local(m), local_point(run, m, now, of(i) + 1))
            for u in (there, there + noise(run, m, now, of(i))):
                add("unbiased_across", run, n, now, of(i), m, u)
    for run in RUNS:
        ahead = local_point(run, SECOND, ZERO, of(i) + 1)
        for u in (
            noise(run, FIRST, ZERO, of(i)),
            gradient(MEAN, local_point(run, FIRST, ZERO, of(i) + 1) + ahead),
            *([] if run.kind is Kind.V1 else [ahead, gradient(MEAN, ahead)]),
            noise(run, m, ZERO, of(i)),
            iterate(run, ONE),
        ):
            add("unbiased named", run, FIRST, ZERO, of(i), u)
        add("unbiased named", run, n, ZERO, of(i), noise(run, SECOND, ZERO, of(i)))
    for run in RUNS:
        there = local_point(run, m, now, of(j) + 1)
        for u in (
            there,
            x,
            noise(run, m, now, of(j) + 1),
            noise(run, n, now, of(i)),
            local_point(run, n, now, of(i) + 1),
            local_point(run, third, now, of(j)),
            iterate(run, now + 1),
            summed(steps(of(j) + 2), d, noise(run, m, now, of(d))),
            summed(CLIENTS, m, noise(run, m, now, of(j))),
            *([] if run.kind.visits else [noise(run, m, now, of(j))]),
        ):
            add("unbiased_after", run, n, now, of(i), m, of(j), u)
    for u, v in ((x, y), (x, x + y), (x, x * 2)):
        later("vanish", lambda u=u, v=v: R.vanish(R.assume(-norm2(u)), v, z))
    later("vanish", lambda: R.vanish(R.combine((), ((x, ONE),), None, ()), x, z))
    later("vanish", lambda: R.vanish(R.assume(constant(S) - norm2(x)), x, z))
    later("vanish", lambda: R.vanish(R.assume(-inner(x, y)), x, z))
    apart = h.every(steps(2), i, h.Holds(constant(of(i) * (of(i) - 1))))
    between = R.assume(constant(ratio(Q(-1, 4))))
    for where in (ratio(Q(1, 2)), ratio(-1), S, n, k.Numbered(1), of(j)):
        add("specialise", between, apart, where)
    everywhere = h.every(CLIENTS, n, h.Smooth(Local(n), S))
    later("specialise", lambda: R.specialise(near(R, n), everywhere, m))
    later("specialise", lambda: R.specialise(near(R, n), everywhere, ONE))
    for size in (0, -1, True, 1_001):
        add("numbered", n, value_of(Local(n), x), size)
    add("numbered", n, value_of(Local(n), x), ratio(2))
    ahead = later_of(MINIBATCH)
    add("unbiased", MINIBATCH, n, now, of(i), local_point(MINIBATCH, m, now, of(i) + 1))
    add("unbiased", MINIBATCH, n, now, of(i), noise(MINIBATCH, m, now, of(i)))
    add("unbiased", MINIBATCH, n, now, of(i), gradient(MEAN, ahead))
    for run in (V1, MINIBATCH):
        add("counted_update", run, n, ZERO, ONE, Side.CLIENT, x)
    for part_of_one in (ratio(Q(1, 3)), of(j) / 3):
        run = run_of(Kind.COUNTED, EVERYONE, 3)
        add("counted_update", run, n, part_of_one, ZERO, Side.SERVER, x)
    for at in (ZERO, ONE):
        add("local_update", COUNTED, n, now, at, Side.CLIENT, x)
    for form, at in (
        (of(t) - of(i), tau * of(j)),
        (of(t) - tau * of(j), of(i)),
        (of(t) - 1, tau * of(j) + of(i)),
    ):
        shown = R.combine((), (), constant(at), ())
        add("divided", shown, j, i, tau, t, constant(form))
    some = Var("some", Sort.COUNT)
    for q, r in ((j, some), (some, i)):
        shown = R.combine((), (), constant(tau * of(q) + of(r) - 1), ())
        add("divided", shown, q, r, tau, t, constant(of(t) - 1))
    never = constant(-1 - of(i))
    add("divided", R.assume(never), j, i, ZERO, t, constant(-1 - of(t)))
    for run in (V2, WEIGHTED):
        add("resting", run, n, now, tau, Side.SERVER, x)
    for run in (V2, WEIGHTED, MINIBATCH):
        add("resting", run, n, ZERO, tau + 1, Side.SERVER, x)
    return out


def divisions(R: ModuleType) -> list[Callable[[], object]]:
    """Return calls that conclude for every t from what is so at tau j + i."""
    there, falls = tau * of(j) + of(i), S - of(t)
    far = x * of(t) - iterate(COUNTED, now)

    def call(theorem: object, form: k.Lin) -> Callable[[], object]:
        return lambda: R.divided(theorem, j, i, tau, t, form)

    assumed = (constant(falls), norm2(x) * falls, value_of(MEAN, x * of(t)))
    out = [call(R.assume(k.lin_at(form, {t: there})), form) for form in assumed]
    for u in (far, far + local_point(COUNTED, n, now, ZERO), x * (of(t) - S)):
        square = R.combine((), ((k.vec_at(u, {t: there}), ONE),), None, ())
        out.append(call(square, norm2(u)))
    return out


def averaged_times(
    R: ModuleType, run: Split, J: k.Ratio, summing: bool = False
) -> object:
    """Multiply E[J e] = E e by J once more."""
    mean = R.expect(run, n, now, norm2(gradient(Local(n), iterate(run, now))), ())
    if summing:
        return R.sum_over(mean, CLIENTS, n, J, ())
    return R.combine(((mean, J),), (), None, ())


def tower_times(R: ModuleType, run: Split, J: k.Ratio) -> object:
    """Multiply <E[u | t] - u, w> = 0 by a draw that u depends on."""
    w = gradient(MEAN, iterate(run, now))
    return R.combine(((R.tower(run, now, w * J, w), J),), (), None, ())


def averaged_sign(R: ModuleType, run: Split, J: k.Ratio) -> object:
    """Take J - 1, which is 0 on average, for a sign."""
    mean = R.expect(run, n, now, constant(ONE), ())
    return R.combine((), ((iterate(run, now + 1), J - 1),), None, (mean,))


def later_of(run: Split) -> k.Vec:
    return local_point(run, n, now, of(i) + 1)
