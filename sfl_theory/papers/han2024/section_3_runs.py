r"""Convergence rates of the algorithms: abstract, Sec. 1.3 and Sec. 3.3.

The abstract claims them of SFL-V1 and SFL-V2, not of formulas. The constants are those
that the theorems give; where a run is refuted, its gap is the same for all T or tends
to a positive number, so that no other constant helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Part, Says, broken, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import Numbers, federation, huber, parabola, plus
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Run
from sfl_theory.papers.han2024 import (
    appendix_e,
    defects,
    last_iterate,
    printed,
    section_3_text,
)
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_h import one_period
from sfl_theory.papers.han2024.comparing import entry
from sfl_theory.papers.han2024.printed import Data, bound
from sfl_theory.papers.han2024.section_3_text import GENERAL, HALF, NON, third, total
from sfl_theory.papers.han2024.strongly_convex_repairs import Algorithm
from sfl_theory.proofs import last_iterate as last_rounds
from sfl_theory.proofs import local_steps, non_convex, strongly_convex, visits_convex
from sfl_theory.proofs.export import ModelData, Shape
from sfl_theory.proofs.notation import Uses, combine

ABSTRACT = "Abstract, Sec. 1.3"


def gap_rate(number: str, r: Run, d: Data) -> Says:
    """Return that T times the gap of a run is at most the constant of (11) or (14)."""
    assumed = w.assumptions(
        s.assumption_31(d.S),
        s.assumption_32(r),
        s.assumption_33(r),
        s.assumption_C2(),
        s.minimum(),
    )
    right = section_3_text.late_rate(number, d)
    return says(s.T * s.f.gap(r.x(s.T)), right, *assumed)


def strongly_convex_run(kind: k.Kind) -> tuple[Run, Data]:
    """Return a run at the printed rates, equal on both sides, and the data of it."""
    d = replace(Data(), S=s.steep)
    r = s.run(kind, rates=w.rate(lambda t: 4 / (s.mu * s.tau * (d.gamma + t))))
    return r, replace(d, I_err=w.norm2(r.x(0) - s.best))


def strongly_convex_v1() -> Claim:
    """Return that SFL-V1 converges at O(1/T)."""
    r, d = strongly_convex_run(k.Kind.V1)
    statement = gap_rate("3.6", r, d)

    def theorem() -> rules.Theorem:
        late = ((local_steps.t, s.T.value),)
        known = rules.instantiate(strongly_convex.printed(), late, ())
        gamma, S, T = d.gamma.value, d.S.value, s.T.value
        away = (r.x(0) - s.best).value
        rest = S * (gamma + 1) * gamma / (2 * (gamma + T))
        target = (statement.right - statement.left).value
        return combine((known, T), (away, rest), target=target)

    return entry(
        "rate/strongly_convex/sfl-v1",
        ABSTRACT,
        "SFL-V1 converges at O(1/T) on strongly convex objectives.",
        (
            proved(
                statement,
                theorem,
                r"(11) for $\tilde\tau=\tau$, times T.",
                "at the printed rates, tau_server = tau; C is the constant of (11)",
            ),
        ),
        "thm-3.6/strongly_convex",
        "for tau_server = tau; at the printed rates, which are swapped, false for "
        "tau = 32, tau_server = 1 (thm-3.6/strongly_convex), true for any at those of "
        "the proof (eq-73)",
    )


A = Fraction(31, 32)
"""The weight of the first of two clients, where weights are unequal."""
UNWEIGHTED = (
    "SFL-V2's server steps carry no a_n: x_s tends to the minimiser of sum F_n, the "
    "gap to a positive number."
)


BOWLS = parabola(1, [0, 0]), parabola(1, [0, 1])
"""Clients with minimisers 0 and 1 in x_s."""


def unequal(
    start: Fraction | int,
    values: Numbers,
    clients: Sequence[Shape] = BOWLS,
    best: Fraction = 1 - A,
    **more: object,
) -> ModelData:
    """Return two clients of weights 31/32 and 1/32, without noise."""
    return federation(
        clients,
        [0, start],
        weights=[A, 1 - A],
        order=[(0, 0), (1, 0)],
        numbers=values,
        families={"sigma2": (0, 0)},
        best={s.f: [0, best]},
        **more,  # type: ignore[arg-type]
    )


def second(
    name: str,
    title: str,
    part: Part,
    scope: str,
    uses: str,
    place: str = ABSTRACT,
    repair: evidence.Repair | None = None,
) -> Claim:
    """Return a claim on SFL-V2 that unequal weights refute."""
    return Kind.TEXT(
        f"han2024/text/rate/{name}/sfl-v2",
        place,
        title,
        part,
        severity=evidence.Severity.THEOREM,
        scope=scope,
        cause=UNWEIGHTED,
        root=defects.NO_WEIGHTS,
        uses=uses,
        repair=repair,
    )


def strongly_convex_v2() -> Claim:
    """Return that SFL-V2 converges at O(1/T)."""
    r, d = strongly_convex_run(k.Kind.V2)

    def data() -> ModelData:
        values: Numbers = {s.mu: 1, s.excess: 0, s.tau: 1, s.G2: 1, s.T: 3100}
        box = [(0, 0), (0, 1)]
        return replace(unequal(HALF, values, box=box), long=True)

    part = broken(
        gap_rate("3.7", r, d),
        data,
        "x_s tends to the mean of the two minimisers, 1/2; f has it at 1/32.",
        "at the printed rates; C is the constant of (14)",
    )
    return second(
        "strongly_convex",
        "SFL-V2 converges at O(1/T) on strongly convex objectives.",
        part,
        "for unequal weights: the gap does not tend to 0, so no other constant helps. "
        "For a_n = 1/N see thm-3.7/strongly_convex. 3.3 is read along the run.",
        "thm-3.7/strongly_convex alg-2",
    )


def general_convex_v1() -> Claim:
    """Return that SFL-V1 converges at O(T^(-1/3)): at falling rates, at O(T^(-1/2))."""
    one = Algorithm("3.6")
    r = last_iterate.any_rates(one)
    root, first = w.positive("root", r"\sqrt T"), w.positive("alpha", r"\alpha")
    start, away = first / (root * s.tau), r.x(0) - s.best
    old = w.variable(last_iterate.first_rate)
    statement = says(
        root * s.f.gap(r.x(s.T)),
        w.norm2(away) / first + w.as_form(Fraction(35, 16) * first * s.G2),
        *one.assumed(r, s.S, 0),
        w.at_most(root**2, s.T),
        w.at_most(2 * s.S * first / root, 1),
        *last_iterate.falling(start),
    )

    def theorem() -> rules.Theorem:
        T, below, alpha = s.T.value, root.value, first.value
        found = last_rounds.last_gap_at_falling_rates(one.weighted)
        known = rules.instantiate(found, ((old, start.value),), ())
        small = rules.assume(k.constant(1 - 2 * s.S.value * alpha / below))
        unit = alpha * s.G2.value
        drift = s.S.value * alpha * unit / (below * (T + 1) ** 2)
        return combine(
            (known, below),
            (away.value, (T - below**2) / (alpha * (T + 2))),
            (away.value, 2 / (alpha * (T + 2))),
            (last_rounds.at_most_rounds(), unit / (T + 1) + drift / 3),
            (small, unit * Fraction(3, 16)),
            (rules.square(T - 1), drift * Fraction(5, 24)),
            target=(statement.right - statement.left).value,
            signs=[rules.assume(k.constant(T - below**2))],
        )

    words = (
        r"thm-3.6/general_convex/falling-rates at $\eta_0=\frac\alpha{\tau\sqrt T}$: "
        r"$\sum_tk^{t+2}\le T$, $4(T^2+7T+1)\le9(T+1)^2$ and $2S\alpha\le\sqrt T$."
    )
    reading = (
        "at rates that fall linearly to the last round, which is known: eta^t = "
        "alpha (T + 1 - t)/(tau sqrt(T) (T + 1)), eta^0 admitted; even the square root "
        "of T times the gap is bounded; sqrt(T) is any number below the root; k^t "
        "stands for 1/(T + 2 - t); Assumption 3.3 also in a round that starts from x^T"
    )
    return Kind.TEXT(
        "han2024/text/rate/general_convex/sfl-v1",
        ABSTRACT,
        "SFL-V1 converges at O(T^(-1/3)) on general convex objectives.",
        proved(
            statement,
            theorem,
            words,
            reading,
            model=last_iterate.with_falling_rates(statement),
        ),
        scope="for tau_server = tau, at rates that the paper does not name; at a "
        "constant rate, the same for all T, false "
        "(cond/general_convex/constant-rate), and so is (12) at every admitted rate",
        uses="thm-3.6/general_convex",
    )


def general_convex_v2() -> Claim:
    """Return that SFL-V2 converges at O(T^(-1/3)) at the largest admitted rate."""
    r = s.run(k.Kind.V2, rates=w.rate(1 / (2 * s.S * s.tau)))
    start = w.norm2(r.x(0) - s.best)
    large = bound("3.7", GENERAL, replace(Data(), T=w.number(0), I_err=start))
    assumed = w.assumptions(
        s.assumption_31(), s.assumption_32(r), s.assumption_33(r), s.assumption_C2(0),
        s.minimum(), large.above, section_3_text.UP_TO_T,
    )  # fmt: skip

    def data() -> ModelData:
        c2, c3 = (root.value for root in large.roots)
        values: Numbers = {
            s.S: 1, s.tau: 1, s.G2: 2, s.T: 7**3, third: 7, c2: "41/4", c3: 11,
        }  # fmt: skip
        bent = [plus(huber([1, 0], 0, 1), huber([0, 1], b, 1)) for b in (0, 4)]
        return unequal(3, values, bent, (1 - A) / A)

    part = broken(
        says(third * s.f.gap(r.x(s.T)), large.right, *assumed),
        data,
        "Huber functions of kink 1, in x_s with minima 0 and 4: a round maps x_s = 3 "
        "to itself; f is least at 1/31.",
        "at the largest rate of (15); C is what (15) gives, its right side at T = 0",
    )
    return second(
        "general_convex",
        "SFL-V2 converges at O(T^(-1/3)) on general convex objectives.",
        part,
        "for unequal weights at the largest admitted constant rate: the gap is "
        "the same for all T, so no other constant helps; nor does a schedule, see "
        "text/rate/general_convex/no-schedule. 3.3 holds on the whole space.",
        "thm-3.7/general_convex alg-2",
    )


def metric(r: Run) -> Form:
    """Return T times the non-convex metric."""
    each = s.eta() * w.norm2(s.f.gradient(r.x(s.t)))
    return w.below(s.t, s.T, each)


def non_convex_data(r: Run) -> Data:
    """Return the data of a run's bound for T = 1, the squares summing to E."""
    d = replace(one_period(Data()), T=w.number(1), squares=total)
    return replace(d, F_err=s.f.gap(r.x(0)))


def non_convex_assumed(number: str, r: Run) -> tuple[w.Assumed, ...]:
    """Return what the non-convex case assumes, squares of rates being summable."""
    d = one_period(Data())
    rates = printed.admitted(number, NON, d, s.eta())
    each = (w.every_round(s.t, s.T, one) for one in rates)
    own = s.assumption_31(), *s.assumption_32(r), s.assumption_34(), s.minimum()
    return w.assumptions(own, each, section_3_text.SUMMABLE)


def non_convex_v1() -> Claim:
    """Return that SFL-V1 converges at O(1/T) in the paper's metric."""
    updates = k.Participants.UPDATES
    return entry(
        "rate/non_convex/sfl-v1",
        "Sec. 3.3",
        "SFL-V1 converges at O(1/T) on non-convex objectives, in the paper's metric, "
        "where sum_t (eta^t)^2 stays bounded; also where clients are drawn.",
        (
            summable_v1("3.6", s.run(k.Kind.V1)),
            summable_v1("3.8", s.run(k.Kind.V1, who=updates)),
        ),
        "thm-3.6/non_convex thm-3.8/non_convex",
        "for tau_server = tau; the theorems hold for any two numbers of "
        "steps, where clients are drawn for aggregated updates",
    )


def summable_v1(number: str, r: Run) -> Part:
    """Return that the metric times T is at most the constant of (13) or (19)."""
    paces = non_convex.TwoPaces(k.Side.SERVER, printed.partial(number))
    drawn = (w.participation(r),) if paces.partial else ()
    return summable(
        number,
        r,
        lambda: non_convex.equal_paces(non_convex.theorem(paces)),
        drawn,
        "tau_server = tau; aggregation of updates (App. C.2) where clients are drawn; "
        "the metric weighs round t by eta^t, see rate/non_convex/extracted",
    )


def summable(
    number: str,
    r: Run,
    known: Callable[[], rules.Theorem],
    more: tuple[w.Assumed, ...],
    reading: str,
) -> Part:
    """Return what a proved theorem says where the squared rates sum to at most E."""
    d = non_convex_data(r)
    right = printed.non_convex(number, d).right
    statement = says(metric(r), right, *non_convex_assumed(number, r), *more)

    def theorem() -> rules.Theorem:
        one = printed.non_convex(number, replace(d, squares=w.number(1))).terms[1]
        few = rules.assume(k.constant(total.value - printed.SQUARES.value))
        uses: Uses = [(known(), s.T.value), (few, rules.number_of(one.value))]
        return combine(*uses, target=(right - metric(r)).value)

    words = r"The theorem, for $\tilde\tau=\tau$, times T."
    return proved(statement, theorem, words, reading)


def non_convex_v2() -> Claim:
    """Return that SFL-V2 converges at O(1/T) in the paper's metric."""
    r = s.run(k.Kind.V2)
    right = printed.non_convex("3.7", non_convex_data(r)).right
    rounds, step = 540, Fraction(1, 512)

    def data() -> ModelData:
        values: Numbers = {
            s.S: 1, s.tau: 1, s.T: rounds, s.eps2: A**2, total: rounds * step**2,
        }  # fmt: skip
        rates = {"eta": step}
        return replace(unequal(1 - A, values, rates=rates), long=True)

    part = broken(
        says(metric(r), right, *non_convex_assumed("3.7", r)),
        data,
        "At the constant rate 1/512 x_s leaves 1/32, where f is least, for 1/2; 540 "
        "rounds.",
        "where sum_t (eta^t)^2 is at most E; C is the constant of (16)",
    )
    return second(
        "non_convex",
        "SFL-V2 converges at O(1/T) on non-convex objectives, in the paper's metric.",
        part,
        "for unequal weights, where at rates sqrt(E/T) the left side grows like "
        "sqrt(T), so no other constant helps; true for equal ones (see the repair)",
        "thm-3.7/non_convex alg-2",
        "Sec. 3.3",
        repaired("equal weights", equal_v2(r)),
    )


def equal_v2(r: Run) -> Part:
    """Return that the metric times T is at most the constant of (16), a_n = 1/N."""
    same = appendix_e.EQUAL
    everyone = k.Participants.EVERYONE
    return summable(
        "3.7", r, lambda: visits_convex.theorem(everyone), same, "equal weights"
    )


CLAIMS = (
    strongly_convex_v1(),
    strongly_convex_v2(),
    general_convex_v1(),
    general_convex_v2(),
    non_convex_v1(),
    non_convex_v2(),
)
