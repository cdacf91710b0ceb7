r"""Theorems 3.6 to 3.9, convex cases: the nearest true statements, one per line.

Each stands under the name that the library's bounds have: "repaired", "sharper",
"equal_periods", "any_periods". What changes:

- SFL-V1: each side's rate is divided by its own number of steps, :math:`\eta_b\tau_b`
  is the same for both; where the numbers are unequal, a statement has two parts, by
  which side makes :math:`d\ge0` steps more.
- SFL-V2: the server's step at a visit of client n is weighted by :math:`a_n`. For
  :math:`a_n=1/N` that is the printed server with its rate divided by N.
- General convex: the bound speaks of the weighted mean of the gaps and keeps the rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Part, Proof, Repair, Says, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import (
    G2,
    T,
    a,
    eta,
    excess,
    f,
    mu,
    n,
    t,
    tau,
    tau_server,
)
from sfl_theory.papers.han2024.two_periods import LONGER, d, named
from sfl_theory.proofs import value_recursion as value
from sfl_theory.proofs import weighted_rounds
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.export import ModelData, Vector
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.weighted_rounds import Weighted
from sfl_theory.proofs.witnesses import IDENTITY, witness
from sfl_theory.written import Assumed, Form, Number, Run

S = mu + excess
"""S = mu + s, so that S >= mu."""
gamma = printed.Data(S=S).gamma
third = Fraction(1, 3)
inverse = w.inverse_chance(n)
more = w.over_clients(n, a() ** 2 * (inverse - 1))
mean_inverse = w.over_clients(n, a() * inverse)
mean_square = w.over_clients(n, a() ** 2 * inverse**2)
SECOND = {
    "3.6": w.number(1),
    "3.7": w.number(1),
    "3.8": 1 + more,
    "3.9": mean_inverse + mean_square / 7,
}
"""c_1: of the second moment of a round's move."""
DRIFT = {
    "3.6": w.number(third),
    "3.7": w.number(Fraction(4, 3)),
    "3.8": w.number(third),
    "3.9": third + mean_inverse + mean_square,
}
"""c_d: of the drift."""
LEVEL = {"3.6": 4, "3.7": 5, "3.8": 4, "3.9": 8}
ALONG = "Assumption 3.3 along the run"
WEIGHTED = (
    "server steps weighted by a_n: for a_n = 1/N the printed algorithm with the "
    "server's rate divided by N"
)
EQUAL = "equal numbers of steps"


@dataclass(frozen=True)
class Algorithm:
    """What a repair is about.

    Attributes:
        number: of the theorem.
        longer: the side of SFL-V1 that makes d steps more; None: equal numbers.
    """

    number: str
    longer: Side | None = None

    @property
    def paces(self) -> Paces:
        """SFL-V1 in the proofs' terms."""
        return Paces(self.longer or Side.SERVER, printed.partial(self.number))

    @property
    def weighted(self) -> Weighted:
        """Equal numbers of steps in the proofs' terms."""
        kind = k.Kind.V2_WEIGHTED if printed.shared(self.number) else k.Kind.V1
        return Weighted(kind, printed.partial(self.number))

    def steps(self, side: Side) -> Number:
        """Return a side's number of steps."""
        if self.longer is None:
            return tau
        low, tex = (
            (tau, r"\tilde{\tau}")
            if self.longer is Side.SERVER
            else (tau_server, r"\tau")
        )
        return named(low + d, tex) if side is self.longer else low

    @property
    def unequal(self) -> Number:
        """1 - tau_min/tau_max."""
        if self.longer is None:
            return w.number(0)
        short = Side.CLIENT if self.longer is Side.SERVER else Side.SERVER
        return 1 - self.steps(short) / self.steps(self.longer)

    def run(self, rate: Callable[[Side], k.Rate]) -> Run:
        """Return the run at these rates."""
        partial_ = printed.partial(self.number)
        who = k.Participants.UPDATES if partial_ else k.Participants.EVERYONE
        client, server = (
            w.pace(self.steps(side), rate(side)) for side in (Side.CLIENT, Side.SERVER)
        )
        kind = self.weighted.kind
        return Run(k.Split(kind, who, client, server), f"SFL-{kind}")

    def assumed(
        self, r: Run, smooth: Number, modulus: Number | int
    ) -> tuple[Assumed, ...]:
        """Return what is assumed."""
        drawn = [w.participation(r)] if printed.partial(self.number) else []
        return (
            s.assumption_31(smooth),
            w.unbiased(r).called("Assumption 3.2, (5)"),
            s.assumption_33(r),
            s.assumption_C2(modulus),
            s.minimum(),
            *drawn,
        )

    @property
    def reading(self) -> str:
        """How the algorithm is read."""
        if printed.shared(self.number):
            return WEIGHTED
        return EQUAL if self.longer is None else LONGER[self.longer]


@dataclass(frozen=True)
class Line:
    """A proved line: the algorithm, its run, and the part of the repair."""

    algorithm: Algorithm
    run: Run
    part: Part


Named = dict[str, tuple[Line, ...]]


def orders(number: str) -> tuple[Algorithm, ...]:
    """Return SFL-V1 by which side makes more steps."""
    return tuple(Algorithm(number, side) for side in Side)


# Strongly convex ---------------------------------------------------------------------


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
    late, c1, cd = gamma + T, SECOND[one.number], DRIFT[one.number]
    first = w.norm2(r.x(0) - f.best)
    right = (
        w.as_form(8 * S * c1 * G2 / (mu**2 * late))
        + w.as_form(64 * S**2 * cd * G2 / (mu**3 * late * (gamma + 1)))
        + S * (gamma + 1) * first / (2 * late)
    )
    return says(f.gap(r.x(T)), right, *one.assumed(r, S, mu))


def as_printed(one: Algorithm) -> Says:
    """Return (11) or (17) as printed."""
    r = fast(one)
    data = printed.Data(S=S, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(one.number, "strongly_convex", data).right
    return says(f.gap(r.x(T)), right, *one.assumed(r, S, mu))


def without_distance(one: Algorithm) -> Says:
    """Return a bound without the initial distance, which Assumption 3.3 bounds."""
    r, c1 = fast(one), SECOND[one.number]
    level = LEVEL[one.number] * c1
    if one.longer is not None:
        level = 4 * ((1 + one.unequal) * c1) + 2
    extra: tuple[Assumed, ...] = ()
    if printed.shared(one.number):
        extra = (bounded_at(r, 0),)
    if one.number == "3.9":
        extra = (*extra, bounded_at(r, T))
    right = level * S * G2 / (mu**2 * (gamma + T))
    return says(f.gap(r.x(T)), right, *one.assumed(r, S, mu), *extra)


def recursion(one: Algorithm) -> value.Recursion:
    """Return the recursion of one round."""
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
    found, c1 = recursion(one), SECOND[one.number].value
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
    + r"While $\gamma+t\le\frac L4(\gamma+1)$, $\phi_t\le\frac{G^2}{2\mu}$ is enough; "
    r"else $(\\gamma+1)u$ is small, and so is the drift in the bound by $\\phi_0$."
)
AT_START = "Assumption 3.3 also at x^0, where the first visited client alone starts"
AT_MODELS = "Assumption 3.3 also at x^0 and x^T"


def example(one: Algorithm, what: Says) -> ModelData:
    """Return the standard witness with S = 4 mu, so that rates are smaller.

    Drawn clients stay in its box; with a side that makes more steps than one, that
    side's block rests and the other one moves.
    """
    model = witness(what.statement("witness"))
    model = replace(model, numbers=model.numbers | {w.variable(excess): Fraction(3)})
    if one.longer is None or not printed.partial(one.number):
        return model

    def along(moves: Fraction, rests: Fraction = Fraction(0)) -> Vector:
        return (moves, rests) if one.longer is Side.SERVER else (rests, moves)

    half, wide = Fraction(1, 2), (-Fraction(1), Fraction(1))
    still = (Fraction(0), Fraction(0))
    law = tuple((half, along(z), along(z)) for z in (half, -half))
    return replace(
        model,
        start=along(half),
        functions=tuple((IDENTITY, along(z), ()) for z in (-half, half)),
        noise=(law, law),
        box=(wide, still) if one.longer is Side.SERVER else (still, wide),
    )


def strongly_convex(number: str) -> Named:
    """Return the repairs of (11), (14), (17) or (20)."""

    def line(
        one: Algorithm,
        make: Callable[[Algorithm], Says],
        prove: Callable[[Algorithm, Says], Theorem],
        words: str,
        reading: str = "",
    ) -> Line:
        what = make(one)
        told = "; ".join(filter(None, (one.reading, reading)))
        proof = Proof(partial(prove, one, what), words, partial(example, one, what))
        return Line(one, fast(one), Part(what, proof, told))

    equal = Algorithm(number)
    by_level = BY_CASES if number == "3.9" else BY_LEVEL
    extra = {"3.7": AT_START, "3.9": AT_MODELS}.get(number, "")
    shape = (line(equal, printed_shape, larger, BY_RATE),)
    found: Named = {
        "sharper": (line(equal, without_distance, to_level, by_level, extra),)
    }
    if printed.shared(number):
        return {"repaired": shape} | found
    both = orders(number)
    return {
        "repaired": tuple(line(one, as_printed, larger, BY_RATE) for one in both),
        "any_periods": tuple(
            line(one, without_distance, to_level, BY_LEVEL) for one in both
        ),
        "equal_periods": shape,
        **found,
    }


# General convex ----------------------------------------------------------------------


def rounds(body: Form) -> Form:
    """Return the sum over rounds."""
    return w.below(t, T, body)


def given_rates(one: Algorithm) -> Run:
    """Return the run at the rates eta(t) on both sides."""
    return one.run(lambda side: w.rate(eta))


def mean_gap(one: Algorithm) -> Says:
    """Return the weighted mean of the gaps with the constants c_1 and c_d."""
    r = given_rates(one)
    c1, cd = SECOND[one.number], DRIFT[one.number]
    first = w.norm2(r.x(0) - f.best)
    right = (
        first / (2 * tau * T)
        + w.as_form(c1 * tau * G2 / (2 * T) * w.below(t, T, eta() ** 2))
        + w.as_form(s.S * cd * tau**2 * G2 / T * w.below(t, T, eta() ** 3))
    )
    left = rounds(eta() * f.gap(r.x(t))) / T
    return says(left, right, *one.assumed(r, s.S, 0))


BY_SUM = (
    r"$\langle\nabla F_n(p),x-x^*\rangle\ge F_n(x)-F_n(x^*)-\frac S2\|p-x\|^2$ gives "
    r"$\|x^{t+1}-x^*\|^2\le\|x^t-x^*\|^2-2\theta(f(x^t)-f^*)+c_1\theta^2G^2"
    r"+Sc_d\theta^3G^2$, $\theta=\eta^t\tau$; summed over rounds, where half of the "
    r"drift is left over."
)
EVERY_RATE = "for every learning rate; the condition of the theorem is not needed"


def general_convex(number: str) -> Named:
    """Return the repairs of (12), (15), (18) or (21)."""
    one = Algorithm(number)
    what = mean_gap(one)

    def prove() -> Theorem:
        theorem = weighted_rounds.mean_gap(one.weighted)
        return combine([(theorem, 1)], target=what.right.value - what.left.value)

    reading = f"{one.reading}; {EVERY_RATE}"
    part = Part(what, Proof(prove, BY_SUM), reading)
    return {"repaired": (Line(one, given_rates(one), part),)}


BOUNDS: dict[tuple[str, str], Named] = {
    (number, case): build(number)
    for number in printed.NUMBERS
    for case, build in (
        ("strongly_convex", strongly_convex),
        ("general_convex", general_convex),
    )
}
"""Theorem and case -> the name of a bound -> the lines that prove it."""


CHANGES = {
    "3.6": "each side's rate divided by its own number of steps",
    "3.7": "server steps weighted by a_n (for equal weights: its rate divided by N)",
    "3.8": "each side's rate divided by its own number of steps, updates aggregated",
    "3.9": "server steps weighted by a_n (for equal weights: its rate divided by N), "
    "updates aggregated",
}
MEAN = "the weighted mean of the gaps, the rate kept in the bound"


def repair(number: str, case: str) -> Repair:
    """Return the nearest true statements of a case."""
    parts = tuple(
        line.part for lines in BOUNDS[number, case].values() for line in lines
    )
    if case == "strongly_convex":
        return Repair(parts, CHANGES[number])
    return Repair(parts, f"{MEAN}; {CHANGES[number]}")
