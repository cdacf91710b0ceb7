r"""Theorems 3.6 to 3.9, convex cases: the nearest true statements.

The bound speaks of the weighted mean of the gaps and keeps the rate. For unequal
numbers of steps the squared distance to a minimiser may grow from round to round; what
it grows by in all stands in the bound.

Each stands under the name that the library's bounds have: "repaired", "sharper",
"any_periods". What changes:

- SFL-V1: each side's rate is divided by its own number of steps, :math:`\eta_b\tau_b`
  is the same for both; where the numbers are unequal, a statement has two parts, by
  which side makes :math:`d\ge0` steps more.
- SFL-V2: the server's step at a visit of client n is weighted by :math:`a_n`. For
  :math:`a_n=1/N` that is the printed server with its rate divided by N.
- General convex: the bound speaks of the weighted mean of the gaps and keeps the rate.
  For equal weights that holds of the printed SFL-V2, too, the server's squared distance
  divided by N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Part, Proof, Repair, Says, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Run
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024 import strongly_convex_repairs as strong
from sfl_theory.papers.han2024.appendix_e import EQUAL
from sfl_theory.papers.han2024.setting import G2, N, T, a, eta, f, mu, n, t, tau
from sfl_theory.papers.han2024.strongly_convex_repairs import Algorithm, gamma, times
from sfl_theory.proofs import equal_visits, unequal_paces, weighted_rounds
from sfl_theory.proofs import value_recursion as value
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine


def rounds(body: Form) -> Form:
    """Return the sum over rounds."""
    return w.below(t, T, body)


def given_rates(one: Algorithm) -> Run:
    """Return the run at the rates eta(t) on both sides."""
    return one.run(lambda side: w.rate(eta))


def mean_gap(one: Algorithm) -> Says:
    """Return the weighted mean of the gaps with the constants c_1 and c_d."""
    r = given_rates(one)
    c1, cd = strong.SHARP_SECOND[one.number], strong.SHARP_DRIFT[one.number]
    squares, cubes = (w.below(t, T, eta() ** power) for power in (2, 3))
    right: w.Terms = {
        "initial distance": w.norm2(r.x(0) - f.best) / (2 * tau * T),
        "gradient noise": times(tau, c1) * G2 / (2 * T) * squares,
        "client drift": times(s.S, cd) * tau**2 * G2 / (2 * T) * cubes,
    }
    left = rounds(eta() * f.gap(r.x(t))) / T
    return says(left, right, *one.assumed(r, s.S, 0))


BY_SUM = (
    r"$\langle\nabla F_n(p),x-x^*\rangle\ge F_n(x)-F_n(x^*)-\frac S2\|p-x\|^2$ gives "
    r"$\|x^{t+1}-x^*\|^2\le\|x^t-x^*\|^2-2\theta(f(x^t)-f^*)+c_1\theta^2G^2"
    r"+Sc_d\theta^3G^2$, $\theta=\eta^t\tau$; summed over rounds."
)
EVERY_RATE = "for every learning rate; the condition of the theorem is not needed"


LIMIT = w.positive("grown", r"\Lambda")


def decay(at: Number | int) -> Number:
    r"""Return :math:`h^t`."""
    return w.of_round("h", w.number(at), "h^{{t}}")


def growth(one: Algorithm) -> Number:
    """Return by what share the squared distance may grow in round t."""
    square = s.S**2 * one.steps(Side.CLIENT) ** 2 * eta() ** 2
    return one.unequal * square / 4


def same_moves(one: Algorithm) -> Run:
    """Return the run whose client has the rates eta(t), both sides moving alike."""
    tau_ = one.steps(Side.CLIENT)
    return one.run(lambda side: w.rate(lambda at: eta(at) * tau_ / one.steps(side)))


def growing_gap(one: Algorithm) -> Says:
    """Return the weighted mean of the gaps for unequal numbers of steps."""
    r, tau_ = same_moves(one), one.steps(Side.CLIENT)
    more = times(1 + one.unequal, strong.SECOND[one.number])
    second = more + Fraction(5, 4) * one.unequal
    first = w.norm2(r.x(0) - f.best)
    squares, cubes = (w.below(t, T, eta() ** power) for power in (2, 3))
    right: w.Terms = {
        "initial distance": LIMIT / (2 * tau_ * T) * first,
        "gradient noise": LIMIT * second * tau_ * G2 / (2 * T) * squares,
        "client drift": LIMIT * s.S * tau_**2 * G2 / (3 * T) * cubes,
    }
    left = rounds(eta() * f.gap(r.x(t))) / T
    falls = w.at_most((1 + growth(one)) * decay(t + 1), decay(t))
    return says(
        left,
        right,
        *one.assumed(r, s.S, 0),
        w.at_most(decay(0), 1),
        w.every_round(t, T, falls),
        w.every_round(t, T, w.at_most(decay(t + 1), 1)),
        w.every_round(t, T, w.at_most(1, LIMIT * decay(t + 1))),
    )


BY_GROWTH = (
    r"What the shorter side a weighs more, $[\nabla F_n(p^i)]_a$, and what the longer "
    r"side b makes more, $[\nabla F_n(p^l)]_b$, are compared with the gradient at the "
    r"point $([p^i]_a,[p^l]_b)$: by cocoercivity a block differs by at most "
    r"$\frac S2$ times the way of the other block. So the distance grows by "
    r"$\frac\delta4S^2\theta^2$ at most, $\delta=1-\tau_{min}/\tau_{max}$; each round "
    r"is multiplied by $\Lambda h^{t+1}$."
)
MOVES = r"the server's rate is $\eta^t\tau/\tilde\tau$"
EXPONENTIAL = (
    "Lambda stands for the exponential of the summed growths x_t = delta (S tau "
    "eta^t)^2/4: h^t = exp(-sum_{r<t} x_r) and Lambda = exp(sum_{r<T} x_r) meet what "
    "is assumed of them, by 1 + x <= e^x"
)


def unequal_example(one: Algorithm, what: Says) -> ModelData:
    """Return `example` with h(t) = 1/(1 + t); Lambda is 2."""
    model = strong.example(one, what)
    (family,) = (each for each in model.rates if each.name == "h")
    rates = model.rates | {family: k.Rate(1 / (1 + k.symbol(k.ROUND)))}
    return replace(model, rates=rates)


def given(what: Says, theorem: Callable[[], Theorem]) -> Theorem:
    """Return a statement whose right side is larger than a theorem's by its sorts."""
    return combine(theorem(), target=what.right.value - what.left.value)


def general_convex(number: str) -> strong.Named:
    """Return the repairs of (12), (15), (18) or (21)."""

    def line(
        one: Algorithm,
        run: Run,
        what: Says,
        theorem: Callable[[], Theorem],
        words: str,
        model: Callable[[], ModelData] | None = None,
        reading: str = "",
    ) -> strong.Line:
        proof = Proof(partial(given, what, theorem), words, model)
        told = "; ".join(filter(None, (one.reading, EVERY_RATE, reading)))
        return strong.Line(one, run, Part(what, proof, told))

    equal = Algorithm(number)
    theorem = partial(weighted_rounds.mean_gap, equal.weighted)
    first = line(equal, given_rates(equal), mean_gap(equal), theorem, BY_SUM)
    if printed.shared(number):
        return {"repaired": (first,)}
    others = []
    for one in strong.orders(number):
        what = growing_gap(one)
        theorem = partial(unequal_paces.mean_gap, one.paces)
        model = partial(unequal_example, one, what)
        told = f"{MOVES}; {EXPONENTIAL}"
        others.append(line(one, same_moves(one), what, theorem, BY_GROWTH, model, told))
    return {"repaired": (first,), "any_periods": tuple(others)}


def equally(number: str) -> Part:
    """Return the mean gap of SFL-V2 as printed, for equal weights."""
    drawn = printed.partial(number)
    who = k.Participants.UPDATES if drawn else k.Participants.EVERYONE
    r = s.run(k.Kind.V2, who=who)
    away, second, chances = r.x(0) - f.best, 1 + N, N
    if drawn:
        odds, chances = w.inverse_chance(n) - 1, w.over_clients(n, w.inverse_chance(n))
        second = second + w.over_clients(n, a() ** 2 * odds)
        second = second + w.over_clients(n, odds) / N
    own = w.norm2(w.client(away)) + w.norm2(w.server(away)) / N
    squares, cubes = (w.below(t, T, eta() ** power) for power in (2, 3))
    right = w.bracket(own) / (2 * tau * T)
    right = right + w.as_form(second * tau * G2 / (2 * T) * squares)
    drift = Fraction(4, 3) * s.S * chances**2 * tau**2 * G2 / T * cubes
    left = rounds(eta() * f.gap(r.x(t))) / T
    assumed = Algorithm(number).assumed(r, s.S, 0)
    what = says(left, right + w.as_form(drift), *assumed, *EQUAL)
    words = (
        r"$N\|x_c-x_c^*\|^2+\|x_s-x_s^*\|^2$ falls by $2N\eta^t\tau$ times the gap: "
        r"with $a_n=\frac1N$ both blocks' products sum up to $\sum_n\sum_i\langle"
        r"\nabla F_n(x_n^{t,i}),x^t-x^*\rangle$, to which Lemma C.3 applies."
    )
    theorem = partial(equal_visits.mean_gap, who)
    return proved(what, lambda: given(what, theorem), words, EVERY_RATE)


# Theorems 3.6 to 3.9, convex cases: the nearest true statements, one per line --------

LEVEL = {"3.6": 4, "3.7": 5, "3.8": 4, "3.9": 8}
"""L: a bound without the initial distance is L c_1 S G^2/(mu^2 (gamma + T))."""


def fast(one: Algorithm) -> Run:
    """Return the run at the rates 4/(mu tau_b (gamma + t))."""

    def rate(side: Side) -> k.Rate:
        return w.rate(lambda at: 4 / (mu * (gamma + at)) / one.steps(side))

    return one.run(rate)


def bounded_at(r: Run, at: Number | int) -> Assumed:
    """Return Assumption 3.3 at a model."""
    return w.at_most(w.norm2(f.gradient(r.x(at))), G2).called("Assumption 3.3")


def printed_shape(one: Algorithm) -> Says:
    """Return the printed right side with the constants of `SECOND` and `DRIFT`."""
    r = fast(one)
    late, c1, cd = (
        gamma + T,
        strong.SECOND[one.number],
        strong.DRIFT[one.number],
    )
    first = w.norm2(r.x(0) - f.best)
    S = strong.S_REPAIRED
    right: w.Terms = {
        "gradient noise": 8 * times(S, c1) * G2 / (mu**2 * late),
        "client drift": times(64, cd) * S**2 * G2 / (mu**3 * late * (gamma + 1)),
        "initial distance": S * (gamma + 1) * first / (2 * late),
    }
    return says(f.gap(r.x(T)), right, *one.assumed(r, strong.S_REPAIRED, mu))


def as_printed(one: Algorithm) -> Says:
    """Return (11) or (17) as printed."""
    r = fast(one)
    data = printed.Data(S=strong.S_REPAIRED, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(one.number, "strongly_convex", data).named
    return says(f.gap(r.x(T)), right, *one.assumed(r, strong.S_REPAIRED, mu))


def without_distance(one: Algorithm) -> Says:
    """Return a bound without the initial distance, which Assumption 3.3 bounds."""
    r, c1 = fast(one), strong.SECOND[one.number]
    level = times(LEVEL[one.number], c1)
    if one.longer is not None:
        level = 4 * times(1 + one.unequal, c1) + 2
    extra: tuple[Assumed, ...] = ()
    if printed.shared(one.number):
        extra = (bounded_at(r, 0),)
    if one.number == "3.9":
        extra = (*extra, bounded_at(r, T))
    right: w.Terms = {
        "gradient noise": level * strong.S_REPAIRED * G2 / (mu**2 * (gamma + T))
    }
    return says(
        f.gap(r.x(T)),
        right,
        *one.assumed(r, strong.S_REPAIRED, mu),
        *extra,
    )


def recursion(one: Algorithm) -> value.Recursion:
    """Return the recursion of one round."""
    if one.number == "3.9":
        return value.visits_by_client()
    if printed.shared(one.number):
        return value.visits(one.weighted)
    each = value.two_paces if one.longer else value.equal_paces
    return each(one.paces)


def at_end(theorem: Theorem) -> Theorem:
    """Return a theorem on every round for the last one."""
    return rules.instantiate(theorem, ((w.variable(t), T.value),), ())


def larger(one: Algorithm, what: Says) -> Theorem:
    """Return a statement whose right side is term by term larger than the rate."""
    return recursion(one).by_distance(what.right.value, T.value)


def to_level(one: Algorithm, _: Says) -> Theorem:
    """Return the bound without the initial distance."""
    found, c1 = recursion(one), strong.SECOND[one.number].value
    if one.number == "3.9":
        return found.level_at_end(8 * c1, T.value)
    if one.number == "3.7":
        bounded = value.assumed(bounded_at(fast(one), 0).value)
        return at_end(found.level(5 * c1, bounded))
    first = value.first_gradient(one.paces)
    if one.longer is None:
        first = value.equal_steps(first)
        return at_end(found.level(4 * found.c1, first))
    return at_end(found.level(4 * found.c1 + 2, first))


ROUND = (
    r"A round lowers f: $\phi_{t+1}\le(1-4u)\phi_t+8c_1\frac{SG^2}{\mu^2}u^2"
    r"+32c_d\frac{S^2G^2}{\mu^3}u^3$, $\phi_t=\mathbb Ef(x^t)-f^*$, "
    r"$u=\frac1{\gamma+t}$: smoothness, $\|\nabla f\|^2\ge2\mu\phi$, a move of second "
    r"moment $c_1\theta^2G^2$ and points $c_d\theta^2G^2$ away, $\theta=\frac4\mu u$. "
)
BY_RATE = (
    ROUND + r"So $\phi_T\le(\gamma u)^4\phi_0+\frac83c_1\frac{SG^2}{\mu^2}u"
    r"+16c_d\frac{S^2G^2}{\mu^3}u^2$, and $\phi_0\le\frac S2\|x^0-x^*\|^2$; every "
    r"term is larger here."
)
BY_LEVEL = (
    ROUND
    + r"$\phi_t\le Lu\frac{SG^2}{\mu^2}$ is kept if $3L\ge8c_1+\frac{32}7c_d$, and "
    r"$\phi_0\le\frac{\|\nabla f(x^0)\|^2}{2\mu}\le\frac{G^2}{2\mu}$."
)
BY_CASES = (
    ROUND
    + r"Where $\gamma+T\le\frac L4(\gamma+1)$, $\phi_T\le\frac{G^2}{2\mu}$ is enough; "
    r"else $(\gamma+1)u$ is small, and so is the drift in the bound by $\phi_0$."
)
FAST = r"rates $\frac4{\mu\tau_b(\gamma+t)}$, b the side"
AT_START = "Assumption 3.3 also at x^0, where the first visited client alone starts"
AT_MODELS = "Assumption 3.3 also at x^0 and x^T"


def strongly_convex(number: str) -> strong.Named:
    """Return the repairs of (11), (14), (17) or (20)."""

    def line(
        one: Algorithm,
        make: Callable[[Algorithm], Says],
        prove: Callable[[Algorithm, Says], Theorem],
        words: str,
        reading: str = "",
    ) -> strong.Line:
        what = make(one)
        told = "; ".join(filter(None, (one.reading, FAST, reading)))
        proof = Proof(
            partial(prove, one, what),
            words,
            partial(strong.example, one, what),
        )
        return strong.Line(one, fast(one), Part(what, proof, told))

    equal = Algorithm(number)
    by_level = BY_CASES if number == "3.9" else BY_LEVEL
    extra = {"3.7": AT_START, "3.9": AT_MODELS}.get(number, "")
    found: strong.Named = {
        "sharper": (line(equal, without_distance, to_level, by_level, extra),)
    }
    if printed.shared(number):
        return {"repaired": (line(equal, printed_shape, larger, BY_RATE),)} | found
    both = strong.orders(number)
    return {
        "repaired": tuple(line(one, as_printed, larger, BY_RATE) for one in both),
        "any_periods": tuple(
            line(one, without_distance, to_level, BY_LEVEL) for one in both
        ),
        **found,
    }


BOUNDS: dict[tuple[str, str], strong.Named] = {
    (number, case): build(number)
    for number in printed.NUMBERS
    for case, build in (
        ("strongly_convex", strongly_convex),
        ("general_convex", general_convex),
    )
}
"""Theorem and case -> the name of a bound -> the lines that prove it."""


WEIGHTS = "equal weights; or, for any weights, weighted server steps"
PERIODS = (
    "equal periods; or, for any, each side's rate divided by its own number of steps"
)
MEANS = "the weighted mean of the gaps, the rate kept in the bound"


def change(number: str, case: str) -> str:
    """Return what a repair changes, in words."""
    first = () if case == "strongly_convex" else (MEANS,)
    drawn = ("updates aggregated",) if printed.partial(number) else ()
    return "; ".join((*first, WEIGHTS if printed.shared(number) else PERIODS, *drawn))


def repair(number: str, case: str, others: tuple[Part, ...] = ()) -> Repair:
    """Return the nearest true statements of a case, after other ones."""
    parts = tuple(
        line.part for lines in BOUNDS[number, case].values() for line in lines
    )
    return repaired(change(number, case), *others, *parts)
