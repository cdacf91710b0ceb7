"""Attempts to prove a falsehood; each has to be rejected.

Numbers H1-H12 are the holes of the old checker (shared notes, section 1), P1-P12 the
study's attacks on them, T1-T5 the second round of attacks on the study.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q

import pytest
import refutations
import statements
from calls import (
    AVERAGED,
    DRAWN,
    DRAWN_BATCH,
    ETA,
    EVERYONE,
    GD,
    MINIBATCH,
    ONE,
    PARTIAL,
    V1,
    V2,
    WEIGHTED,
    ZERO,
    F,
    S,
    c,
    eps2,
    i,
    j,
    m,
    mu,
    n,
    now,
    s2,
    t,
    tau,
    x,
    y,
    z,
)

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Local,
    NamedFunction,
    Side,
    Star,
    Var,
    constant,
    gradient,
    inner,
    iterate,
    local_point,
    noise,
    norm2,
    part,
    summed,
    symbol,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs import derived, foundations, non_convex
from sfl_theory.proofs.export import ModelData, Statement, document
from sfl_theory.proofs.notation import combine, number_of_clients, of, positive, steps
from sfl_theory.proofs.witness import witness

pytestmark = pytest.mark.fast

ATTACKS: list[tuple[str, Callable[[], object]]] = []


def attack(name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def add(function: Callable[[], object]) -> Callable[[], object]:
        ATTACKS.append((name, function))
        return function

    return add


def claimed(
    theorem: R.Theorem, left: k.Lin, right: k.Lin, *assumed: h.Hypothesis
) -> object:
    """Replay a file that claims this of the theorem."""
    statement = Statement("attack", frozenset(assumed), left, right)
    return replay(document([(statement, theorem)]))


ONE_FORM, NOTHING = constant(ONE), k.Lin({})


def product() -> R.Theorem:
    """0 <= t(t - 1), true for naturals."""
    claim = constant(of(t) * (of(t) - 1))
    up = constant(of(t) * (of(t) + 1))
    step = combine(R.assume(claim), target=up)
    return R.induct(combine(target=constant(ZERO)), step, t, claim)


NOT_NATURAL = {
    "1/2": ratio(Q(1, 2)),
    "-1": ratio(-1),
    "3/2": ratio(Q(3, 2)),
    "S/c - 1": S / c - 1,
    "real S": S,
    "mu": mu,
    "1/tau": 1 / tau,
}
ATTACKS += [
    (f"P1 t := {name}", lambda v=value: R.instantiate(product(), ((t, v),), ()))
    for name, value in NOT_NATURAL.items()
]


@attack("P1 t := t - 1")
def _() -> None:
    R.instantiate(product(), ((t, of(t) - 1),), ())


@attack("P1 induction over a real")
def _() -> None:
    v = Var("v", Sort.NONNEGATIVE)
    claim = constant(symbol(v) * (symbol(v) - 1))
    R.induct(combine(target=constant(ZERO)), R.assume(claim), v, claim)


@attack("P1 induction over a count")
def _() -> None:
    v = Var("v", Sort.COUNT)
    claim = constant(1 - symbol(v))
    R.induct(combine(target=ONE_FORM), combine(target=claim), v, claim)


@attack("P2 a constant keeps weight 1 when summed over clients")
def _() -> None:
    u, g = gradient(Local(n), x), gradient(F, x)
    square = combine((u - g, 1))
    total = R.sum_over(square, CLIENTS, n, ONE, ())
    big = summed(CLIENTS, n, norm2(u)) + norm2(g)
    claimed(total, summed(CLIENTS, n, inner(u, g)) * 2, big)


@attack("P2 a sum over T rounds of a constant is the constant")
def _() -> None:
    g = gradient(F, iterate(GD, now))
    bound = R.assume(constant(c) - norm2(g))
    total = R.sum_over(bound, steps(tau), t, ONE, ())
    each = h.every(steps(tau), t, h.Holds(constant(c) - norm2(g)))
    claimed(total, summed(steps(tau), t, norm2(g)), constant(c), each)


@attack("P3 the minimiser becomes a point")
def _() -> None:
    R.instantiate(R.stationary(F, x), ((vec(Star(F)), y),), ())


@attack("P3 function replaced, hypothesis kept")
def _() -> None:
    G = NamedFunction("G")
    moved = R.instantiate(R.smooth(F, S, x, y), ((F, G),), ())
    claimed(moved, -moved.form, NOTHING, h.Smooth(F, S))


@attack("P4 a square becomes an inner product")
def _() -> None:
    claimed(combine((x, 1)), NOTHING, inner(x, y))


@attack("P4 a square's atom is no variable")
def _() -> None:
    (atom,) = norm2(x).coefficients
    R.instantiate(combine((x, 1)), ((atom, inner(x, y)),), ())


@attack("P5 a restriction that the claim does not state")
def _() -> None:
    claimed(combine(R.assume(constant(-1 - c))), constant(1 + c), NOTHING)


@attack("P5 what the induction step assumes is dropped")
def _() -> None:
    bad = norm2(iterate(GD, ZERO)) * -1
    claim = bad * of(t)
    step = combine(R.assume(claim), R.assume(bad))
    done = R.induct(combine(target=NOTHING), step, t, claim)
    claimed(done, -claim, NOTHING)


@attack("P5 an induction hypothesis for one index only")
def _() -> None:
    bad = constant(of(t) * -1)
    step = combine(R.assume(bad), (R.assume(constant(of(t) - 2)), 0), target=bad)
    R.induct(combine(target=constant(ZERO)), step, t, bad)


@attack("P6 a tighter condition than the claim's")
def _() -> None:
    eta = ETA.at(now)
    total = R.sum_over(R.assume(constant(Q(1, 10) - eta)), steps(tau), t, ONE, ())
    half = h.every(steps(tau), t, h.Holds(constant(Q(1, 2) - eta)))
    left = summed(steps(tau), t, constant(eta))
    claimed(total, left, constant(tau / 10), half)


@attack("P6 telescoping of one quantity by another")
def _() -> None:
    g = gradient(Local(n), x)
    big = summed(CLIENTS, n, norm2(gradient(Local(n), iterate(V1, now))) * weight(n))
    small = norm2(gradient(MEAN, iterate(V1, now)))
    fall = derived.telescope(t, big, tau)
    assert g
    combine(fall, target=summed(steps(tau), t, small))


@attack("P7 Young with c = -1/2")
def _() -> None:
    combine((x * Q(-1, 2) - y, -2))


@attack("P7 Young with 1/c of unknown sign")
def _() -> None:
    combine((x, 1 / (S - c)))


@attack("P7 Cauchy-Schwarz for one weight: sum a^2 <= 1/2")
def _() -> None:
    R.sum_over(R.square(2 * weight(n) - 1), CLIENTS, n, ratio(-1), ())


@attack("P7 smoothness with the step reversed")
def _() -> None:
    right = value_of(F, x) + inner(gradient(F, x), x - y) + norm2(x - y) * (S / 2)
    claimed(R.smooth(F, S, x, y), value_of(F, y), right, h.Smooth(F, S))


@attack("P7 drift 0")
def _() -> None:
    p = non_convex.TwoPaces(Side.SERVER)
    combine(non_convex.drift(p), target=-p.round.drift(p.high, p.b))


@attack("P7 the local update of gradient descent")
def _() -> None:
    derived.local_update(GD, n, now, of(i), Side.CLIENT, x)


@attack("P7 SFL-V1's drift for SFL-V2")
def _() -> None:
    lemma = derived.local_update(V1, n, now, of(i), Side.SERVER, x)
    away = part(Side.SERVER, local_point(V2, n, now, of(i)) - iterate(V2, now))
    claimed(lemma, inner(away, x), NOTHING)


@attack("P7 heterogeneity for m = 1 and other weights")
def _() -> None:
    lemma = derived.heterogeneity(eps2, n, x)
    total = R.sum_over(lemma, CLIENTS, n, ONE, ())
    apart = norm2(gradient(Local(n), x) - gradient(MEAN, x))
    claimed(total, summed(CLIENTS, n, apart), constant(eps2), h.Heterogeneity(eps2))


@attack("P8 a theorem by hand")
def _() -> None:
    R.Theorem(object(), frozenset(), -ONE_FORM, False)


def forged(call: object) -> R.Theorem:
    fake = object.__new__(R.Theorem)
    for name, value in (
        ("hypotheses", frozenset()),
        ("form", constant(ratio(-1))),
        ("equal", False),
        ("call", call),
    ):
        object.__setattr__(fake, name, value)
    return fake


@attack("P8 a forged theorem does not survive replay")
def _() -> None:
    claimed(forged(("no_such_rule", ())), ONE_FORM, NOTHING)


@attack("P8 a forged theorem with an honest call")
def _() -> None:
    claimed(forged(product().call), ONE_FORM, NOTHING)


@attack("P8 a theorem that changes")
def _() -> None:
    product().form = -ONE_FORM


@attack("P9 no hypothesis where there is one")
def _() -> None:
    claimed(R.assume(-ONE_FORM), ONE_FORM, NOTHING)


@attack("P10 the induction hypothesis is the only proof")
def _() -> None:
    claimed(R.assume(-norm2(x)), norm2(x), NOTHING)


@attack("P11 a subclass of Theorem")
def _() -> None:
    class Sure(R.Theorem):
        def __init__(self) -> None:
            pass

    R.combine(((Sure(), ONE),), (), None, ())


@attack("P11 a subclass of a number")
def _() -> None:
    class Larger(type(ONE)):  # type: ignore[misc]
        def nonnegative(self) -> bool:
            return True

    R.combine((), ((x, Larger(Poly.constant(-1))),), None, ())


@attack("P12 README's example with 8T for 2T")
def _() -> None:
    honest = statements.gradient_descent_statement()
    wrong = Statement("w", honest.hypotheses, honest.left, honest.right * Q(1, 4))
    replay(document([(wrong, statements.gradient_descent())]))


@attack("P12 S <= mu assumed, S >= mu claimed")
def _() -> None:
    theorem = R.assume(constant(mu - S))
    claimed(theorem, constant(S), constant(mu), h.Holds(constant(S - mu)))


@attack("a float")
def _() -> None:
    combine((x, 1.0))  # type: ignore[list-item]


@attack("division by what may vanish")
def _() -> None:
    combine(target=constant(1 / mu))


@attack("division by a natural number")
def _() -> None:
    combine(target=constant(1 / of(t)))


@attack("capture: the bound client occurs in what is not summed")
def _() -> None:
    R.linear(CLIENTS, n, gradient(Local(n), x), local_point(V1, n, now, ZERO))


@attack("capture: the upper limit depends on the bound step")
def _() -> None:
    R.jensen(steps(of(i)), i, ONE, local_point(V1, n, now, of(i)))


@attack("capture: a claim about f = mean with another client's point")
def _() -> None:
    p = local_point(V1, n, now, of(i))
    wrong = summed(CLIENTS, n, value_of(Local(n), p) * weight(n))
    combine(R.mean_value(p), target=value_of(MEAN, p) - wrong)


@attack("T1 steps with upper limit -1")
def _() -> None:
    R.sum_over(combine((x, 1)), steps(-1), i, ONE, ())


@attack("T1 steps with upper limit 1/2")
def _() -> None:
    R.jensen(steps(Q(1, 2)), i, ONE, x)


@attack("T1 a binder made by hand")
def _() -> None:
    k.Steps(Poly.constant(-1))


@attack("T2 a variable with two sorts")
def _() -> None:
    other = Var("t", Sort.NONNEGATIVE)
    theorem = R.instantiate(product(), ((t, of(i)),), ())
    claimed(theorem, NOTHING, constant(symbol(other) * (symbol(other) - 1)))


@attack("T3 a round where a client is meant")
def _() -> None:
    R.weight_below_one(t)  # type: ignore[arg-type]


@attack("T3 a bound client where a free one is meant")
def _() -> None:
    R.weight_below_one(k.BoundClient(1))  # type: ignore[arg-type]


@attack("T4 a sign's hypothesis is not closed over the round")
def _() -> None:
    false = R.assume(constant(-1 - of(t) * 0 - S * 0))
    moved = R.instantiate(
        derived.convex(F, mu, x, y),
        ((Var("mu", Sort.NONNEGATIVE), ratio(-1)),),
        (false,),
    )
    claimed(moved, -moved.form, NOTHING, h.Convex(F, ratio(-1)))


@attack("T4 the argument of a rate as a parameter")
def _() -> None:
    R.instantiate(product(), ((k.ROUND, ONE),), ())  # type: ignore[arg-type]


@attack("T5 a step that depends on the client who is summed over")
def _() -> None:
    step = symbol(k.PerClient(k.ClientFamily("k", Sort.NATURAL), m))
    R.unbiased_across(V1, n, now, step, m, noise(V1, m, now, ZERO))


@attack("own: an equality loses its hypothesis in a sum")
def _() -> None:
    u = gradient(Local(n), iterate(V1, now))
    total = R.sum_over(
        derived.unbiased(V1, n, now, of(i), u), CLIENTS, n, ratio(-1), ()
    )
    claimed(total, total.form, NOTHING)


@attack("own: an inequality used with a negative factor as an equality")
def _() -> None:
    low = derived.lipschitz(F, S, x, y)
    R.sum_over(low, steps(tau), i, ratio(-1), ())


@attack("own: noise against the local point after it")
def _() -> None:
    derived.unbiased(V1, n, now, of(i), local_point(V1, n, now, of(i) + 1))


@attack("own: noise against another client's later visit in SFL-V2")
def _() -> None:
    derived.unbiased(V2, n, now, of(i), local_point(V2, m, now, of(i)))


@attack("own: a draw against the model that it made")
def _() -> None:
    R.expect(PARTIAL, n, now, inner(x, iterate(PARTIAL, now + 1)), ())


@attack("own: a draw of a run in which everybody takes part")
def _() -> None:
    k.draw(V1, n, now)


# Draws as numbers. J has mean 1 and J^2 mean 1/q: whoever may multiply E J = 1 by J, or
# make two clients' draws equal after averaging, has 1/q = 1 and so 1 <= 0.

J, K = k.draw(PARTIAL, n, now), k.draw(PARTIAL, m, now)
AT_X = gradient(Local(n), iterate(PARTIAL, now))
FIXED = gradient(MEAN, iterate(PARTIAL, now))


def mean_one(run: k.Split = PARTIAL, t0: Ratio = now) -> R.Theorem:
    """J - 1 = 0 on average."""
    return R.expect(run, n, t0, ONE_FORM, ())


@attack("draws: E J = 1 times J, so 1/q = 1")
def _() -> None:
    exact = R.drawn(PARTIAL, n, now, ONE_FORM)
    combine((mean_one(), J), exact, (mean_one(), -1))


@attack("draws: E J = 1 times J - 1, summed over clients")
def _() -> None:
    R.sum_over(mean_one(), CLIENTS, n, J - 1, ())


@attack("draws: E J = 1 times the sum of all draws")
def _() -> None:
    total = R.number_of(summed(CLIENTS, n, constant(weight(n) * J)))
    combine((mean_one(), total))


@attack("draws: E J = 1 times another run's draw")
def _() -> None:
    combine((mean_one(), k.draw(DRAWN, n, now)))


@attack("draws: J >= 1 as a sign")
def _() -> None:
    combine(target=constant(J - 1), signs=[mean_one()])


@attack("draws: J <= 1 as a sign of a square's factor")
def _() -> None:
    at_most = combine((mean_one(), -1))
    combine((x, 1 - J), signs=[at_most])


@attack("draws: J >= 1 as a sign of a factor that a sum has")
def _() -> None:
    R.sum_over(combine((AT_X, 1)), CLIENTS, n, J - 1, (mean_one(),))


@attack("draws: J >= 1 as a sign of a parameter's value")
def _() -> None:
    low = combine(target=constant(mu))
    R.instantiate(low, ((Var("mu", Sort.NONNEGATIVE), J - 1),), (mean_one(),))


@attack("draws: a parameter becomes a draw")
def _() -> None:
    low = derived.convex(F, mu, x, y)
    R.instantiate(low, ((Var("mu", Sort.NONNEGATIVE), J),), ())


@attack("draws: a factor becomes a draw after the average was taken")
def _() -> None:
    mean = combine((mean_one(), c))
    R.instantiate(mean, ((Var("c", Sort.POSITIVE), 1 + J),), ())


@attack("draws: a point becomes a draw times a vector")
def _() -> None:
    low = R.assume(norm2(x) - ONE_FORM)
    R.instantiate(low, ((k.Point("x"), FIXED * J),), ())


@attack("draws: J_n J_m has mean 1, also for m = n")
def _() -> None:
    R.expect(PARTIAL, n, now, constant(K), ())


@attack("draws: two rounds that may be one")
def _() -> None:
    R.expect(PARTIAL, n, now, constant(k.draw(PARTIAL, n, of(j))), ())


@attack("draws: one client's draw beside the sum of all")
def _() -> None:
    R.expect(PARTIAL, m, now, inner(summed(CLIENTS, n, AT_X * J), FIXED), ())


@attack("draws: two draws of one client, as if of two")
def _() -> None:
    R.expect(PARTIAL, n, now, ONE_FORM, (n,))


@attack("draws: two draws beside a third one")
def _() -> None:
    R.expect(PARTIAL, n, now, constant(J), (m,))


@attack("draws: two draws beside what they made")
def _() -> None:
    R.expect(PARTIAL, n, now, norm2(iterate(PARTIAL, now + 1)), (m,))


@attack("draws: three draws, of which two are of one client")
def _() -> None:
    R.expect(PARTIAL, n, now, ONE_FORM, (m, m))


@attack("draws: runs of which one is honest, for every client")
def _() -> None:
    own = k.symbol(k.PerClient(k.ClientFamily("eta", Sort.POSITIVE), m))
    pace = k.Pace(tau.poly(), k.Rate(own))
    run = k.Split(PARTIAL.kind, PARTIAL.participants, pace, pace)
    R.expect(run, n, now, ONE_FORM, (m,))


@attack("draws: points of the next round do not know who takes part")
def _() -> None:
    R.expect(PARTIAL, n, now, norm2(local_point(PARTIAL, m, now + 1, ZERO)), ())


@attack("draws: 1/q J = J^2 under no run with draws")
def _() -> None:
    R.drawn(V1, n, now, norm2(x))


@attack("draws: a sum inside a sum of draws")
def _() -> None:
    inside = summed(CLIENTS, n, AT_X * J)
    R.expect(PARTIAL, n, now, inner(inside, FIXED), (m,))


@attack("draws: the mean of 1/(1 + J)")
def _() -> None:
    R.expect(PARTIAL, n, now, constant(1 / (1 + J)), ())


@attack("draws: a draw inside a function")
def _() -> None:
    R.expect(PARTIAL, n, now, value_of(MEAN, iterate(PARTIAL, now) * J), ())


@attack("draws: a point that may know the draws")
def _() -> None:
    R.expect(PARTIAL, n, now, norm2(x), ())


@attack("draws: what knows them comes in later through a point")
def _() -> None:
    R.tower(PARTIAL, now, iterate(PARTIAL, now + 1), x)


@attack("draws: SFL-V2's local points do not know who takes part")
def _() -> None:
    p = local_point(DRAWN, n, now, of(i))
    R.expect(DRAWN, n, now, norm2(gradient(Local(n), p)), ())


@attack("draws: SFL-V2's noise does not know who takes part")
def _() -> None:
    xi = noise(DRAWN, n, now, of(i))
    R.expect(DRAWN, m, now, norm2(xi), ())


@attack("draws: MiniBatch's local points do not know who takes part")
def _() -> None:
    p = local_point(DRAWN_BATCH, n, now, of(i))
    R.expect(DRAWN_BATCH, m, now, norm2(p), ())


@attack("draws: another run does not know who takes part")
def _() -> None:
    R.expect(PARTIAL, n, now, norm2(iterate(AVERAGED, now)), ())


@attack("draws: another run's draws have the same mean")
def _() -> None:
    R.expect(PARTIAL, n, now, constant(k.draw(AVERAGED, n, now)), ())


@attack("draws: the average without the hypothesis")
def _() -> None:
    exact = derived.expect(
        PARTIAL, now, norm2(summed(CLIENTS, n, AT_X * (J * weight(n))))
    )
    claimed(exact, exact.form * 0 - exact.form, NOTHING)


@attack("draws: the average under the hypothesis on another run")
def _() -> None:
    mean = R.expect(PARTIAL, n, now, norm2(FIXED), ())
    kept = combine((mean, 0), (FIXED, 1))
    claimed(kept, NOTHING, kept.form, h.Participation(AVERAGED))


RANDOM = {
    "a restriction": lambda: h.Holds(constant(1 - J)),
    "a form": lambda: R.assume((norm2(FIXED) - ONE_FORM) * J),
    "a draw inside a function": lambda: h.Holds(value_of(F, x * J)),
    "every client's restriction": lambda: h.every(CLIENTS, n, h.Holds(constant(1 - J))),
    "smoothness": lambda: R.smooth(F, J, x, y),
    "a majorant": lambda: derived.majorant(F, J, x, y),
    "a Lipschitz constant": lambda: derived.lipschitz(F, S + J, x, y),
    "convexity": lambda: derived.convex(F, J, x, y),
    "heterogeneity": lambda: derived.heterogeneity(J, n, x),
    "a variance": lambda: derived.variance(PARTIAL, J, n, now, ZERO),
    "bounded gradients": lambda: derived.bounded_gradient(PARTIAL, J, n, now, ZERO),
    "a rate": lambda: k.Rate(k.draw(PARTIAL, n, symbol(k.ROUND))),
    "a sum of draws as a rate": lambda: k.Rate(
        R.number_of(summed(CLIENTS, n, constant(J)))
    ),
    "a pace": lambda: k.Pace(J.numerator, ETA),
    "a limit": lambda: steps(J),
    "a round": lambda: iterate(PARTIAL, J),
    "an induction's claim": lambda: R.induct(
        combine(target=constant(ZERO)),
        combine(target=constant(J * (of(t) + 1))),
        t,
        constant(J * of(t)),
    ),
    "a case": lambda: R.cases(
        combine(target=ONE_FORM), combine(target=ONE_FORM), J - 1
    ),
}
ATTACKS += [(f"draws: a draw in {name}", make) for name, make in RANDOM.items()]


@attack("draws: an assumed average times a draw")
def _() -> None:
    combine((R.assume(ONE_FORM - norm2(iterate(PARTIAL, now + 1))), J))


@attack("draws: an assumed average of a point times a draw, then the point is chosen")
def _() -> None:
    low = combine((R.assume(ONE_FORM - norm2(x)), J))
    R.instantiate(low, ((k.Point("x"), iterate(PARTIAL, now + 1)),), ())


@attack("draws: an average assumed for every client, times a draw")
def _() -> None:
    each = R.assume(ONE_FORM - norm2(local_point(DRAWN, n, now, of(i))))
    combine((R.sum_over(each, CLIENTS, n, ONE, ()), k.draw(DRAWN, m, now)))


@attack("draws: an induction's average times a draw, without its hypothesis")
def _() -> None:
    claim = norm2(x) * of(t) - ONE_FORM
    step = combine((R.assume(claim), J), target=claim * J)
    R.induct(step, step, t, claim)


@attack("draws: the tower times a draw that the vector knows")
def _() -> None:
    combine((R.tower(PARTIAL, now, FIXED * J, FIXED), J))


@attack("draws: the tower times a draw, everyone takes part in its run")
def _() -> None:
    combine((R.tower(V1, now, x, gradient(MEAN, iterate(V1, now))), J))


@attack("draws: the tower summed with draws as weights")
def _() -> None:
    R.sum_over(R.tower(PARTIAL, now, AT_X * J, AT_X), CLIENTS, n, J, ())


@attack("tower: against a draw")
def _() -> None:
    R.tower(PARTIAL, now, FIXED * J, FIXED * J)


@attack("tower: against the round itself")
def _() -> None:
    R.tower(PARTIAL, now, x, local_point(PARTIAL, n, now, ONE))


@attack("tower: against the noise of the round")
def _() -> None:
    R.tower(V1, now, x, noise(V1, n, now, ZERO))


@attack("tower: against the next iterate")
def _() -> None:
    R.tower(V1, now, x, iterate(V1, now + 1))


@attack("tower: against a later conditional expectation")
def _() -> None:
    R.tower(V1, now, x, k.expected(V1, now + 1, x))


@attack("tower: against a sum that reaches the round")
def _() -> None:
    R.tower(V1, now, x, summed(steps(of(t) + 2), j, iterate(V1, of(j))))


@attack("tower: against another run")
def _() -> None:
    R.tower(V1, now, x, iterate(PARTIAL, now))


@attack("tower: noise against a later conditional expectation")
def _() -> None:
    derived.unbiased(V1, n, now, of(i), k.expected(V1, now + 1, x))


@attack("tower: a conditional expectation of a later round beside the draws")
def _() -> None:
    later = k.expected(PARTIAL, now + 1, FIXED * J)
    R.expect(PARTIAL, n, now, inner(later, FIXED), ())


@attack("draws: a claim that mentions a draw")
def _() -> None:
    lemma = R.drawn(PARTIAL, n, now, ONE_FORM)
    claimed(lemma, NOTHING, lemma.form)


@attack("draws: a claim that mentions a conditional expectation")
def _() -> None:
    lemma = R.tower(PARTIAL, now, x, FIXED)
    claimed(lemma, NOTHING, lemma.form)


@attack("draws: a model refutes J <= 1")
def _() -> None:
    modelled(constant(k.draw(PARTIAL, n, now)), ONE_FORM, (), small_model())


@attack("minibatch: the server of the visits before")
def _() -> None:
    lemma = derived.local_update(MINIBATCH, n, now, of(i), Side.SERVER, x)
    visited = derived.local_update(WEIGHTED, n, now, of(i), Side.SERVER, x)
    claimed(lemma, visited.form * 0 - visited.form, NOTHING, *lemma.hypotheses)


@attack("minibatch: the server rests")
def _() -> None:
    derived.resting(MINIBATCH, n, now, tau, Side.SERVER, x)


@attack("minibatch: another client's noise of the same step")
def _() -> None:
    derived.unbiased(MINIBATCH, n, now, of(i), noise(MINIBATCH, m, now, of(i)))


@attack("minibatch: two periods")
def _() -> None:
    slow, fast = k.Pace(k.natural(tau), ETA), k.Pace(k.natural(tau + 1), ETA)
    k.Split(k.Kind.MINIBATCH, EVERYONE, slow, fast)


@attack("own: two periods for SFL-V2")
def _() -> None:
    slow, fast = k.Pace(k.natural(tau), ETA), k.Pace(k.natural(tau + 1), ETA)
    k.Split(k.Kind.V2, EVERYONE, slow, fast)


@attack("own: a negative number of steps")
def _() -> None:
    k.Pace(Poly.constant(-1), ETA)


@attack("own: the server of SFL-V2 rests")
def _() -> None:
    derived.resting(WEIGHTED, n, now, tau, Side.SERVER, x)


@attack("own: smooth used as convex")
def _() -> None:
    lemma = R.smooth(F, S, x, y)
    claimed(lemma, -lemma.form, NOTHING, h.Convex(F, S))


@attack("own: a smaller constant than the hypothesis'")
def _() -> None:
    lemma = R.smooth(F, S, x, y)
    claimed(lemma, -lemma.form, NOTHING, h.Smooth(F, S / 2))


@attack("own: the hypothesis of one client for all")
def _() -> None:
    lemma = R.smooth(Local(n), S, x, y)
    total = R.sum_over(lemma, CLIENTS, n, weight(n), ())
    claimed(total, -total.form, NOTHING, h.Smooth(Local(n), S))


@attack("own: another run's variance")
def _() -> None:
    lemma = derived.variance(V1, s2, n, now, ZERO)
    claimed(lemma, -lemma.form, NOTHING, h.Variance(PARTIAL, n, s2))


@attack("own: a step that is never made")
def _() -> None:
    lemma = derived.variance(V1, s2, n, now, of(j))
    claimed(lemma, -lemma.form, NOTHING, h.Variance(V1, n, s2))


@attack("own: instantiating the client that a hypothesis binds")
def _() -> None:
    family = R.sum_over(R.smooth(Local(n), S, x, y), CLIENTS, n, weight(n), ())
    moved = R.instantiate(family, ((n, m),), ())
    claimed(moved, -moved.form, NOTHING, h.Smooth(Local(m), S))


@attack("own: a family of rates that is not positive")
def _() -> None:
    rates = k.RoundFamily("eta", Sort.POSITIVE)
    lemma = R.update(V1, Side.CLIENT, now, x)
    R.instantiate(lemma, ((rates, k.Rate(1 - symbol(k.ROUND))),), ())


@attack("own: cases without the other case")
def _() -> None:
    one = R.assume(constant(S - 1))
    R.cases(one, R.assume(constant(S - 2)), S - 1)


@attack("own: a point in place of a function")
def _() -> None:
    R.instantiate(R.smooth(F, S, x, y), ((F, k.Point("x")),), ())  # type: ignore[arg-type]


@attack("own: replacing the same variable twice")
def _() -> None:
    p = k.Point("x")
    R.instantiate(combine((x, 1)), ((p, y), (p, z)), ())


@attack("own: a huge exponent")
def _() -> None:
    combine(target=constant((1 + S) ** 1000))


@attack("own: a huge number by squaring")
def _() -> None:
    big = ratio(2)
    for _ in range(40):
        big = big * big


def whole_family(value: Ratio) -> Ratio:
    """A natural number for each round, which need not grow."""
    family = k.RoundFamily("pick", Sort.NATURAL)
    return symbol(k.PerRound(family, k.natural(value)))


@attack("reading 1: steps pick(0), pick(1), for which pick(1) + 1 is no bound")
def _() -> None:
    last = whole_family(ONE) + 1
    earlier = summed(steps(2), i, noise(V1, n, ZERO, whole_family(of(i))))
    zero = derived.unbiased(V1, n, ZERO, last, earlier)
    seen = R.assume(inner(noise(V1, n, ZERO, last), earlier) - ONE_FORM)
    below = combine(seen, (zero, -1))
    claimed(below, ONE_FORM, NOTHING, *below.hypotheses)


@attack("reading 1: iterates of rounds pick(0), pick(1)")
def _() -> None:
    earlier = summed(steps(2), i, iterate(V1, whole_family(of(i))))
    derived.unbiased(V1, n, whole_family(ONE), ZERO, earlier)


@attack("reading 1: counts for rounds")
def _() -> None:
    k.RoundFamily("pick", Sort.COUNT)


class Falling(k.Term, k.Symbol, sort=Sort.NATURAL):
    """A natural number that falls with a step, as a later kernel might have one."""

    __module__ = k.Term.__module__
    of_step: Poly


@attack("reading 1: a bound step inside any other natural symbol")
def _() -> None:
    def falling(at: object) -> Ratio:
        return symbol(Falling(k.natural(at)))

    earlier = summed(steps(2), i, noise(V1, n, ZERO, falling(of(i))))
    derived.unbiased(V1, n, ZERO, falling(1) + 1, earlier)


@attack("reading 7: the argument of a rate in place of a parameter")
def _() -> None:
    R.instantiate(product(), ((t, symbol(k.ROUND)),), ())


@attack("reading 7: a bound step in place of a parameter")
def _() -> None:
    R.instantiate(product(), ((t, symbol(k.BoundNat(1))),), ())


@attack("reading 7: a point that has a bound client")
def _() -> None:
    R.blocks(gradient(Local(k.BoundClient(1)), x), y)


@attack("own: keyword arguments past the types")
def _() -> None:
    R.square(c=ONE)


@attack("own: a list where a tuple is meant")
def _() -> None:
    R.combine([], (), None, ())  # type: ignore[arg-type]


@attack("own: a true statement with a second meaning of a name")
def _() -> None:
    S2 = Var("S", Sort.NONNEGATIVE)
    lemma = combine(target=constant(positive("S") + symbol(S2)))
    claimed(lemma, NOTHING, lemma.form)


@attack("own: a client and a parameter of one name")
def _() -> None:
    lemma = combine(
        target=constant(weight(Client("q")) * symbol(Var("q", Sort.POSITIVE)))
    )
    claimed(lemma, NOTHING, lemma.form)


for word in ("N", "F", "f", "a", "n1", "i2", "round", "x"):

    @attack(f"own: a parameter that prints as {word}")
    def _(word: str = word) -> None:
        lemma = combine(target=constant(positive(word)))
        claimed(lemma, NOTHING, lemma.form)


@attack("own: iterates of two runs in one statement")
def _() -> None:
    lemma = combine((iterate(V1, now) - iterate(PARTIAL, now), 1))
    claimed(lemma, NOTHING, lemma.form)


@attack("own: a false statement with a model that satisfies it")
def _() -> None:
    statement, model = refutations.one_client_without_noise()
    early = {v: Q(0) if v is t else value for v, value in model.numbers.items()}
    replay(document([], [(statement, replace(model, numbers=early))]))


@attack("own: a run of a bound client, evaluated for one client only")
def _() -> None:
    run = k.Descent(Local(n), k.Rate(ratio(1)))
    left = summed(CLIENTS, n, norm2(iterate(run, 1)) * weight(n))
    half, one, zero = Q(1, 2), Q(1), Q(0)
    model = ModelData(
        start=(zero,),
        numbers={},
        functions=((((one,),), (-one,), ()), (((one,),), (zero,), ())),
        weights=(half, half),
    )
    statement = Statement("attack", frozenset(), left, constant(half))
    replay(document([], [(statement, model)]))


@attack("own: a model that does not meet a proved claim's hypotheses")
def _() -> None:
    statement, theorem = (
        statements.gradient_descent_statement(),
        statements.gradient_descent(),
    )
    model = witness(statement)
    flat = {v: Q(1, 2) if str(v) == "S" else Q(1) for v in model.numbers}
    bad = {statement.id: replace(model, numbers=flat)}
    replay(document([(statement, theorem)], (), bad))


def small_model(**changes: object) -> ModelData:
    """Return one client with F = x^2/2 and start 1, and changes to it."""
    parabola = (((Q(1),),), (Q(0),), ())
    plain = ModelData(start=(Q(1),), numbers={}, functions=(parabola,), client_size=0)
    return replace(plain, **changes)


def modelled(left: k.Lin, right: k.Lin, assumed: object, model: ModelData) -> object:
    statement = Statement("attack", frozenset(assumed), left, right)  # type: ignore
    return replay(document([], [(statement, model)]))


def growing() -> tuple[k.Split, k.Lin]:
    """Return a run with rate 3t and sum_n a_n E||g(n,2,0)||^2."""
    pace = k.Pace(k.natural(1), k.Rate(symbol(k.ROUND) * 3))
    run = k.Split(k.Kind.V1, EVERYONE, pace, pace)
    p = local_point(run, n, 2, 0)
    g = gradient(Local(n), p) + noise(run, n, 2, 0)
    return run, summed(CLIENTS, n, norm2(g) * weight(n))


@attack("reading 3: a parameter t is taken for the round, a true bound refuted")
def _() -> None:
    run, second = growing()
    model = small_model(numbers={t: Q(0)}, box=((Q(1), Q(1)),))
    bounded = h.BoundedGradients(run, ONE)
    modelled(second, ONE_FORM + constant(of(t)) * 0, {bounded}, model)


@attack("reading 3: the same, the parameter mentioned")
def _() -> None:
    run, second = growing()
    model = small_model(numbers={t: Q(0)}, box=((Q(1), Q(1)),))
    bounded = h.BoundedGradients(run, ONE)
    modelled(second, constant(1 + of(t)), {bounded}, model)


@attack("reading 14: contradictory hypotheses are met by a model")
def _() -> None:
    run, second = growing()
    bounded = derived.bounded_gradient(run, ONE, n, ratio(2), ZERO)
    thm = R.sum_over(bounded, CLIENTS, n, weight(n), ())
    below = combine(thm, R.assume(second - ONE_FORM * 2 - of(t) * ONE_FORM))
    one_client = combine((below, number_of_clients() - 1))
    statement = Statement("attack", below.hypotheses, -one_client.form, NOTHING)
    below = one_client
    model = small_model(numbers={t: Q(0)}, box=((Q(1), Q(1)),))
    replay(document([(statement, below)], (), {"attack": model}))


FALSE = (ONE_FORM, constant(ONE / 2))
UNMENTIONED = {
    "a number": {"numbers": {t: Q(0)}},
    "a family": {"families": {k.ClientFamily("w", Sort.POSITIVE): (Q(1),)}},
    "a rate": {"rates": {k.RoundFamily("eta", Sort.POSITIVE): k.Rate(ONE)}},
    "a function": {"named": {F: (((Q(1),),), (Q(0),), ())}},
    "a point": {"points": {k.Point("x"): ((Q(0),),)}},
    "a minimiser": {"stars": {MEAN: (Q(0),)}},
    "an order": {"order": ((0, 0),)},
}
ATTACKS += [
    (
        f"reading 3: a model with {name} that nobody mentions",
        lambda c=changes: modelled(*FALSE, (), small_model(**c)),
    )
    for name, changes in UNMENTIONED.items()
]


@attack("reading 3: a rate with a parameter that the model does not set")
def _() -> None:
    family = k.RoundFamily("eta", Sort.POSITIVE)
    right = constant(symbol(k.PerRound(family, k.natural(0))) / 2)
    rate = k.Rate(1 + of(t))
    modelled(constant(ONE), right * 0, (), small_model(rates={family: rate}))


ORDERS = {
    "exchanged": ((0, 1), (0, 0)),
    "repeated": ((0, 0), (0, 1), (0, 1)),
    "foreign": ((0, 0), (0, 1), (1, 0)),
    "missing": ((0, 0),),
    "more than the run's": ((0, 0), (0, 1), (0, 2)),
}


def ordered(order: object, *assumed: h.Hypothesis) -> object:
    """Claim that with weight 1/2 a client's step 0 is not before its step 1."""
    first = k.before(n, 0, n, 1, 0) * weight(n)
    left = summed(CLIENTS, n, constant(first))
    pair = left if len(order) != 1 else NOTHING  # type: ignore[arg-type]
    model = small_model(order=order)
    if order[:1] == ((0, 1),):  # type: ignore[index]
        return modelled(ONE_FORM, left, assumed, model)
    return modelled(ONE_FORM * 2, pair, assumed, model)


PACE = k.Pace(k.natural(2), ETA)
TWO = k.Split(k.Kind.V2, EVERYONE, PACE, PACE)
ATTACKS += [
    (
        f"reading 4: visits that are {name}",
        lambda o=order: ordered(o, h.Unbiased(TWO)),
    )
    for name, order in ORDERS.items()
]


@attack("reading 4: an order without a run")
def _() -> None:
    ordered(((0, 0), (0, 1)))


@attack("reading 4: which visit is first, proved without a run")
def _() -> None:
    lemma = derived.before_or_not(n, ZERO, n, ONE, ZERO)
    claimed(lemma, NOTHING, lemma.form)


@attack("reading 4: an order for SFL-V1")
def _() -> None:
    run = k.Split(k.Kind.V1, EVERYONE, TWO.client, TWO.server)
    ordered(((0, 0), (0, 1)), h.Unbiased(run))


# Surgery on a file -----------------------------------------------------------------

HONEST = document([(statements.prop_35_statement(), foundations.prop_35())])


def edited(change: Callable[[dict[str, object]], object]) -> Callable[[], object]:
    def run() -> object:
        data = json.loads(HONEST)
        text = change(data)
        return replay(text if isinstance(text, str) else json.dumps(data))

    return run


def last_number(data: dict[str, object]) -> list[object]:
    return next(e for e in data["terms"] if e[0] == "number" and len(e[1]) > 0)  # type: ignore


def put(data: dict[str, object], *entries: object) -> int:
    data["terms"] += entries  # type: ignore[operator]
    return len(data["terms"]) - 1  # type: ignore[arg-type]


def step(data: dict[str, object], *steps_: object) -> None:
    data["steps"] += steps_  # type: ignore[operator]


SURGERY: dict[str, Callable[[dict[str, object]], object]] = {
    "a key twice": lambda d: json.dumps(d)[:-1] + ', "claims": []}',
    "an unknown key": lambda d: d.update(extra=[]),
    "a missing key": lambda d: d.pop("steps"),
    "a float coefficient": lambda d: json.dumps(d).replace('"1/2"', "0.5", 1),
    "NaN": lambda d: json.dumps(d).replace('"1/2"', "NaN", 1),
    "a bool as reference": lambda d: step(d, ["mean_value", True]),
    "a negative reference": lambda d: step(d, ["mean_value", -1]),
    "a reference ahead": lambda d: step(d, ["mean_value", 10**6]),
    "a long integer": lambda d: json.dumps(d)[:-1] + ', "x": ' + "9" * 5000 + "}",
    "a fraction not in lowest terms": lambda d: put(d, ["number", [["2/4", []]], []]),
    "a fraction with sign +": lambda d: put(d, ["number", [["+1", []]], []]),
    "a fraction with spaces": lambda d: put(d, ["number", [[" 1", []]], []]),
    "a fraction in other digits": lambda d: put(d, ["number", [["\u0663", []]], []]),
    "a division by zero": lambda d: put(d, ["number", [["1/0", []]], []]),
    "a zero coefficient": lambda d: put(d, ["number", [["0", []]], []]),
    "a monomial twice": lambda d: put(d, ["number", [["1", []], ["2", []]], []]),
    "a variable twice in a monomial": lambda d: put(
        d,
        ["var", "v", "nonnegative"],
        ["number", [["1", [[len(d["terms"]), 1], [len(d["terms"]), 1]]]], []],  # type: ignore
    ),
    "an exponent 0": lambda d: put(
        d, ["var", "v", "positive"], ["number", [["1", [[len(d["terms"]), 0]]]], []]
    ),  # type: ignore
    "an exponent 3 million": lambda d: put(
        d,
        ["var", "v", "positive"],
        ["number", [["1", [[len(d["terms"]), 3_000_000]]]], []],  # type: ignore
    ),
    "a sort that is none": lambda d: put(d, ["var", "v", "real"]),
    "a variable with four components": lambda d: put(
        d, ["var", "v", "natural", "nonnegative"]
    ),
    "a name with $": lambda d: put(d, ["client", "$1"]),
    "an empty name": lambda d: put(d, ["client", ""]),
    "a name in other letters": lambda d: put(d, ["client", "\u03b1"]),
    "a name that ends a line": lambda d: put(d, ["client", "n\n"]),
    "a constructor that is none": lambda d: put(d, ["theorem", "x"]),
    "a bound index": lambda d: put(d, ["bound_client", 1]),
    "an entry that is no list": lambda d: put(d, {"client": "n"}),
    "an entry of an entry": lambda d: put(d, [["client"], "n"]),
    "a rule that is none": lambda d: step(d, ["well_known"]),
    "a private function": lambda d: step(d, ["_theorem", [], 0, False]),
    "a rule with more arguments": lambda d: step(d, ["square", 0, 0]),
    "a rule with fewer arguments": lambda d: step(d, ["square"]),
    "a theorem where a term is meant": lambda d: step(d, ["assume", {"theorem": 0}]),
    "a client where a number is meant": lambda d: put(
        d, ["client", "q"], ["number", [["1", [[len(d["terms"]), 1]]]], []]
    ),  # type: ignore
    "a missing argument": lambda d: step(d, ["square", None]),
    "a step of limit 1/2": lambda d: put(
        d,
        ["number", [["1/2", []]], []],
        ["steps", len(d["terms"])],  # type: ignore
    ),
    "a sum over a real": lambda d: put(
        d,
        ["var", "v", "positive"],
        ["number", [["3", []]], []],
        ["steps", len(d["terms"]) + 1],  # type: ignore
        ["total", len(d["terms"]) + 2, len(d["terms"]), len(d["terms"]) + 1],  # type: ignore
    ),
    "a divisor without sign": lambda d: put(
        d,
        ["var", "v", "nonnegative"],
        ["number", [["1", [[len(d["terms"]), 1]]]], []],  # type: ignore
        ["number", [["1", []]], [[len(d["terms"]) + 1, 1]]],  # type: ignore
    ),
    "no claim's name": lambda d: d["claims"][0].update(id=""),  # type: ignore
    "a claim's name is no text": lambda d: d["claims"][0].update(id=3),  # type: ignore
    "a claim twice": lambda d: d.update(claims=d["claims"] * 2),  # type: ignore
    "a claim's hypothesis twice": lambda d: d["claims"][0].update(  # type: ignore
        hypotheses=d["claims"][0]["hypotheses"] * 2  # type: ignore
    ),
    "a claim with another key": lambda d: d["claims"][0].update(note=""),  # type: ignore
    "a claim without hypotheses": lambda d: d["claims"][0].update(hypotheses=[]),  # type: ignore
    "a claim's sides exchanged": lambda d: d["claims"][0].update(  # type: ignore
        left=d["claims"][0]["right"],
        right=d["claims"][0]["left"],  # type: ignore
    ),
    "an earlier theorem": lambda d: d["claims"][0].update(theorem=0),  # type: ignore
    "a theorem that is none": lambda d: d["claims"][0].update(theorem=None),  # type: ignore
    "nesting beyond the stack": lambda d: "[" * 100_000,
    "an entry nested beyond the stack": lambda d: (
        json.dumps(d)[:-1] + ', "x": ' + "[" * 900 + "]" * 900 + "}"
    ),
    "no JSON": lambda d: "proved",
    "nothing": lambda d: "",
    "a list": lambda d: "[]",
    "null": lambda d: "null",
}
ATTACKS += [(f"file: {name}", edited(change)) for name, change in SURGERY.items()]


@attack("file: terms nested five thousand deep")
def _() -> None:
    entries: list[object] = [["function", "F"], ["point", "x"], ["clients"]]
    entries += [["number", [["1", []]], []], ["vector", [[1, 3]]]]
    entries += [["gradient", 0, 4]]
    entries += [["gradient", 0, place] for place in range(5, 5_000)]
    entries += [["part", "client", len(entries) - 1]]
    rest = [["instantiate", 0, [[1, len(entries) - 1]], []]]
    first = [["combine", [], [[4, 3]], None, []]]
    text = json.dumps({"terms": entries, "steps": first + rest, "claims": []})
    replay(text)
    replay(json.dumps({"terms": entries, "steps": [], "claims": [{}]}))


@pytest.mark.parametrize(
    "place", range(len(ATTACKS)), ids=[name for name, _ in ATTACKS]
)
def test_the_attack_is_rejected(place: int) -> None:
    with pytest.raises(Rejected):
        ATTACKS[place][1]()


def test_honest_models_pass() -> None:
    """What the attacks on models break is else accepted."""
    assert modelled(*FALSE, (), small_model())
    assert ordered(((0, 0), (0, 1)), h.Unbiased(TWO))


def test_honest_files_pass() -> None:
    assert [claim.id for claim in replay(HONEST)] == ["han2024/prop-3.5"]
    assert claimed(product(), NOTHING, product().form)
