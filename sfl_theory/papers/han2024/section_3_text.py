r"""Convergence rates of the printed bounds, and what Sec. 3.3 and 4.2 say of them.

Heterogeneity, learning rates, SFL-V1 beside SFL-V2. The printed right sides are
compared as numbers, whether or not they hold; `section_3_runs` has what the abstract
says of the algorithms.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence import Claim, Kind, Part, Says, Severity, equal, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import Numbers, bare
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import comparing, printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_h import one_period
from sfl_theory.papers.han2024.comparing import EQUAL, K, compared, entry, theorems
from sfl_theory.papers.han2024.printed import CASES, NUMBERS, Data, F_err, I_err, bound
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs import numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import Uses, combine

STRONG, GENERAL, NON = CASES
HALF = Fraction(1, 2)
third = w.positive("third", "T^{1/3}")
"""Any number whose cube is at most T."""
UP_TO_T = w.at_most(third**3, s.T)
total = w.nonnegative("squares", "E")
"""A bound on the sum of squared learning rates."""
SUMMABLE = w.at_most(printed.SQUARES, total)


# Rates of the formulas -------------------------------------------------------------


def late_rate(number: str, d: Data) -> Form:
    r"""Return a bound on T times (11), ...: :math:`\frac T{\gamma+T}\le1`."""
    S, mu = d.S, d.mu
    return (
        w.as_form(8 * S * N * printed.noise(number, d) / mu**2)
        + w.as_form(768 * S**2 * printed.drift(number, d) / (mu**3 * (d.gamma + 1)))
        + S * (d.gamma + 1) * d.I_err / 2
    )


def strongly_convex_rate(number: str) -> tuple[Part, Part]:
    """Return that T times the bound lies between two numbers without T."""

    def upper(d: Data) -> Says:
        right = late_rate(number, d)
        return says(
            s.T * printed.strongly_convex(number, d).right, right, comparing.SMOOTHER
        )

    def lower(d: Data) -> Says:
        first = printed.strongly_convex(number, replace(d, T=w.number(1))).right
        return says(
            first, s.T * printed.strongly_convex(number, d).right, comparing.SMOOTHER
        )

    reading = "the lower number is positive where some client has a_n sigma_n > 0"
    return (
        compared(upper, Data(), words=r"$\frac T{\gamma+T}\le1$."),
        compared(
            lower,
            Data(),
            words=r"$\frac T{\gamma+T}\ge\frac1{\gamma+1}$.",
            reading=reading,
        ),
    )


def at_zero(number: str) -> printed.Bound:
    """Return (12), ... with T = 0: what T^(1/3) times the bound is compared with."""
    return bound(number, GENERAL, replace(Data(), T=w.number(0)))


def cube_root(power: int) -> rules.Theorem:
    """Return ``w^power <= T + 1`` for power 1, 2 or 3 and w^3 <= T."""
    x = third.value
    known = rules.assume(k.constant(s.T.value - x**3))
    squares = [(rules.square(x - 1), x), (rules.square(x - HALF), 3 - power)]
    uses = [(known, 1), *(squares if power < 3 else ())]
    return combine(*uses, target=k.constant(s.T.value + 1 - x**power))


def general_convex_rate(number: str) -> Part:
    r"""Return that :math:`T^{1/3}` times the bound is at most the bound at T = 0."""

    def build(d: Data) -> Says:
        small, large = comparing.smaller(number, GENERAL, d), at_zero(number)
        known = (*small.below, *large.above, UP_TO_T)
        return says(third * small.right, large.right, *known)

    def uses(d: Data, statement: Statement) -> Uses:
        small, large = comparing.smaller(number, GENERAL, d), at_zero(number)
        late, x = s.T.value + 1, third.value
        out = [(cube_root(1), (s.S * I_err).value / (2 * late))]
        for r, c in zip(small.roots, large.roots, strict=True):
            grown = rules.number_of(c.radicand.value) / late
            one = numbers.roots(
                statement, r.value.value, c.value.value, r.degree, (x, 1),
                [(cube_root(r.degree), grown)],
            )  # fmt: skip
            out.append((one, w.number(HALF).value))
        return out

    words = (
        r"For $w^3\le T$: $w,w^2,w^3\le T+1$, so each term times w is at most what it "
        r"is at $T=0$; roots are compared by their powers."
    )
    reading = "T^(1/3) is any number whose cube is at most T; c_2, c_3 belong to T = 0"
    return compared(build, Data(), uses, words, reading)


def non_convex_rate(number: str) -> Part:
    """Return that T times (13), ... is at most a number, for summable squares."""

    def build(d: Data) -> Says:
        first = replace(d, T=w.number(1), squares=total)
        right = printed.non_convex(number, first).right
        return says(s.T * printed.non_convex(number, d).right, right, SUMMABLE)

    def uses(d: Data, statement: Statement) -> Uses:
        second = replace(d, T=w.number(1), squares=w.number(1))
        factor = rules.number_of(printed.non_convex(number, second).terms[1].value)
        (known,) = numbers.on(statement, total.value)
        return [(known, factor)]

    reading = "where the sum of (eta^t)^2 is at most E; the metric weighs round t by it"
    return compared(build, Data(), uses, "Term by term.", reading)


RATES = (
    entry(
        "rate/strongly_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "The strongly convex bounds (11), (14), (17), (20) are of order 1/T.",
        tuple(part for number in NUMBERS for part in strongly_convex_rate(number)),
        theorems(STRONG),
    ),
    entry(
        "rate/general_convex",
        "Abstract, Sec. 1.3, Sec. 3.3",
        "The general convex bounds (12), (15), (18), (21) are O(T^(-1/3)).",
        tuple(map(general_convex_rate, NUMBERS)),
        theorems(GENERAL),
    ),
    entry(
        "rate/non_convex",
        "Sec. 3.3",
        "The non-convex bounds (13), (16), (19), (22) are O(1/T), in the paper's "
        "metric, where sum_t (eta^t)^2 stays bounded.",
        tuple(map(non_convex_rate, NUMBERS)),
        theorems(NON),
    ),
)


def extracted(number: str) -> Part:
    r"""Return that no schedule makes the bound over the mean rate less than T^(-1/2).

    With :math:`H=\sum\eta^t`: :math:`T\,\text{bound}=A+C\sum(\eta^t)^2\ge
    A+CH^2/T\ge2H\sqrt{AC/T}`.
    """
    d = Data()
    first = printed.non_convex(number, d).terms[0]
    one = printed.non_convex(number, replace(d, squares=w.number(1))).terms[1]
    A, C = (
        w.Written(s.T.value * rules.number_of(term.value), letter)
        for term, letter in ((first, "A"), (one, "C"))
    )
    whole = A + C * printed.SQUARES
    H = w.below(s.t, s.T, s.eta())
    statement = says(4 * A * C * H**2, s.T * whole**2)

    def theorem() -> rules.Theorem:
        q = printed.SQUARES.value
        jensen = numbers.mean_of_squares(s.eta().value, w.variable(s.t), s.T.value)
        apart = rules.square(A.value - C.value * q)
        uses: Uses = [(apart, s.T.value), (jensen, 4 * A.value * C.value * s.T.value)]
        target = statement.right.value - statement.left.value
        return combine(*uses, target=target)

    words = (
        r"$(A+CQ)^2\ge4ACQ$ and $TQ\ge H^2$ for $Q=\sum(\eta^t)^2$, $H=\sum\eta^t$; so "
        r"the bound over the mean rate is at least $2\sqrt{AC/T}$."
    )
    reading = (
        "A: T times the first term; C: T times the second without its sum Q of "
        "squares; the claim is the square of bound/(H/T) >= 2 sqrt(A C/T)"
    )
    return proved(statement, theorem, words, reading)


EXTRACTED = entry(
    "rate/non_convex/extracted",
    "Sec. 3.3, on (13), (16), (19), (22)",
    "(entry of the audit) The metric is weighted by the learning rates: divided by "
    "their mean, no schedule makes the non-convex bounds smaller than a constant times "
    "T^(-1/2).",
    tuple(map(extracted, NUMBERS)),
    theorems(NON),
)

# Heterogeneity ---------------------------------------------------------------------

more = w.nonnegative("more", r"\delta")


MORE_GRADIENTS = replace(Data(), G2=s.G2 + more)
MORE_HETEROGENEITY = replace(Data(), eps2=s.eps2 + more)
HETEROGENEITY = (
    entry(
        "heterogeneity/non_convex",
        "Sec. 3.3 and Sec. 4.2",
        "(13), (16) (and (19), (22)) do not decrease in eps^2.",
        comparing.grows(NUMBERS, (NON,), MORE_HETEROGENEITY),
        theorems(NON),
    ),
    entry(
        "heterogeneity/convex",
        "Sec. 3.3",
        "The convex bounds do not decrease in G^2, which heterogeneity bounds below: a "
        "divergence eps^2 needs G^2 >= eps^2/4 (assumption-3.4/divergence). eps^2 "
        "itself is absent from them.",
        comparing.grows(NUMBERS, (STRONG, GENERAL), MORE_GRADIENTS),
        f"assumption-3.4/divergence {theorems(STRONG)} {theorems(GENERAL)}",
    ),
)
# Learning rates --------------------------------------------------------------------

longer = w.natural("d")
rate = w.positive("rate", r"\eta")


def smaller_rates(number: str, case: str, d: Data) -> list[Part]:
    r"""Return that a rate that is admitted at :math:`\tau+d` is admitted at tau."""
    there = replace(
        d,
        tau=d.tau + longer,
        tau_max=d.tau_max + longer,
        tau_min=d.tau_min + longer if d.tau_min is d.tau else d.tau_min,
    )
    pairs = printed.conditions(number, case, d, rate)
    others = printed.conditions(number, case, there, rate)
    reading = f"Theorem {number}: a rate that is admitted at tau + d"
    return [
        shorter(one, other, d, reading)
        for one, other in zip(pairs, others, strict=True)
    ]


def shorter(
    one: tuple[Number, Number], other: tuple[Number, Number], d: Data, reading: str
) -> Part:
    """Return that a condition follows from the same one for more steps."""

    def build(_: Data) -> Says:
        return says(*one, w.at_most(*other))

    def uses(_: Data, statement: Statement) -> Uses:
        (known,) = numbers.on(statement, longer.value)
        return [(known, (one[1] / other[1]).value)]

    return compared(build, d, uses, reading=reading)


LONGER_CLIENT = replace(Data(), tau_max=s.tau, tau_min=s.tau_server)


def strong_rate() -> Part:
    r"""Return that :math:`4/(\mu\tau(\gamma+t))` falls with tau."""
    late = w.positive("late", r"(\gamma + t)")

    def build(_: Data) -> Says:
        return says(4 / (s.mu * (s.tau + longer) * late), 4 / (s.mu * s.tau * late))

    return compared(build, Data(), reading="gamma + t is any positive number")


def from_horizon() -> Part:
    r"""Return that (13) over the rate :math:`\eta_0/\sqrt T` is :math:`C/\sqrt T`."""
    root, first = w.positive("root", r"\sqrt T"), w.positive("eta0", r"\eta_0")
    d = replace(Data(), T=root**2, squares=first**2)
    right = printed.non_convex("3.6", replace(d, T=w.number(1))).right / first / root
    left = printed.non_convex("3.6", d).right / (first / root)

    def theorem() -> rules.Theorem:
        return combine(target=right.value - left.value)

    words = r"$\sum_{t<T}(\eta^t)^2=T\eta_0^2/T=\eta_0^2$."
    reading = (
        "T is written as the square of sqrt(T); eta0 is admitted, so eta0/sqrt(T) is"
    )
    return proved(equal(left, right), theorem, words, reading)


RATES_OF_TAU = entry(
    "learning-rate/tau",
    "Sec. 3.3",
    "One should use a smaller learning rate when tau increases: what is admitted "
    "at tau + d is admitted at tau, for tau >= tau_server and for tau_server = "
    "tau; the strongly convex rates fall.",
    (
        strong_rate(),
        *(
            part
            for number in NUMBERS
            for case in (GENERAL, NON)
            for part in smaller_rates(number, case, LONGER_CLIENT)
        ),
        *smaller_rates("3.6", NON, one_period(Data())),
        *smaller_rates("3.8", NON, one_period(Data())),
    ),
    "",
    scope="for tau >= tau_server and tau_server = tau. For tau < tau_server and fixed "
    "tau_server the second cap of (13) and (19), tau/(8 S N tau_server^2 sum a_n^2), "
    "grows with tau, and the printed client rate of the strongly convex case does not "
    "contain it",
)

LEARNING_RATES = (
    RATES_OF_TAU,
    entry(
        "learning-rate/constant",
        "Sec. 3.3",
        "A proper constant learning rate suffices: the printed bounds admit one and "
        "tend to 0, (12), (15), (18), (21) at any admitted constant rate, (13), "
        "divided by it, at eta0/sqrt(T) for T rounds.",
        (*map(general_convex_rate, NUMBERS), from_horizon()),
        f"{theorems(GENERAL)} thm-3.6/non_convex",
    ),
)


# SFL-V1 beside SFL-V2 --------------------------------------------------------------


def added(case: str, d: Data) -> Form:
    """Return what (14) has beyond (11), or (16) beyond (13) at tau_server = tau.

    The weight a_n^2 + 1 for a_n^2, a_n + 1 for a_n; (13) twice as large there.
    """
    if case == NON:
        each = w.over_clients(n, d.sigma2(n) + d.eps2)
        paces = 8 * N * d.S * (d.tau**2 + d.tau**2) / (d.T * d.tau)
        return w.as_form(paces * each * d.squares)
    each, late = w.over_clients(n, 2 * d.sigma2(n) + d.G2), d.gamma + d.T
    return w.as_form(8 * d.S * N * each / (d.mu**2 * late)) + w.as_form(
        768 * d.S**2 * each / (d.mu**3 * late * (d.gamma + 1))
    )


def replaced_strong() -> Part:
    """Return that (14) is (11) with the weights replaced."""
    d = Data()
    first, other = (printed.strongly_convex(one, d).right for one in ("3.6", "3.7"))
    right = first + added(STRONG, d)

    def theorem() -> rules.Theorem:
        return combine(target=right.value - other.value)

    reading = (
        f"{comparing.PRINTED}: the added terms are those of the 1 in a_n^2 + 1 and "
        "a_n + 1"
    )
    return proved(equal(other, right), theorem, "Sums are linear.", reading)


def replaced_non_convex() -> tuple[Part, Part]:
    """Return (16) <= (13)' <= 2 (16), (13)' with the weights replaced."""
    d = one_period(Data())
    other = printed.non_convex("3.7", d).right

    def lower(d: Data) -> Says:
        return says(other, printed.non_convex("3.6", d).right + added(NON, d))

    def upper(d: Data) -> Says:
        return says(printed.non_convex("3.6", d).right + added(NON, d), 2 * other)

    reading = (
        f"{comparing.PRINTED}; tau_server = tau, (13) with a_n^2 + 1 in the middle"
    )
    return compared(lower, d, reading=reading), compared(upper, d, reading=reading)


def similar(case: str) -> Claim:
    """Return that SFL-V2's bound is at most K times that of SFL-V1."""
    d = one_period(EQUAL) if case == NON else EQUAL
    left, right = (bound(one, case, d).right for one in ("3.7", "3.6"))

    def data() -> ModelData:
        values: Numbers = {s.S: 1, s.T: 1, comparing.SIGMA2: 1}
        if case == NON:
            values |= {s.eps2: 1, F_err: Fraction(1, 10**10), s.tau: 1}
            return bare(150, values, rates={"eta": Fraction(1, 8 * 150**2)})
        return bare(150, {**values, s.mu: 1, s.G2: 100, I_err: 1})

    part = comparing.broken(
        says(left, K * right),
        data,
        r"150 equal clients: $N\sum a_n^2=1$, $N\sum(a_n^2+1)=N^2+1$.",
        f"a_n = 1/N, sigma_n = sigma; very similar: equal up to a factor of {K}",
    )
    return Kind.TEXT(
        f"han2024/text/v1-v2/{case}/similar",
        "Sec. 3.3",
        "The results for SFL-V1 and SFL-V2 are very similar.",
        part,
        severity=Severity.CONSTANT,
        cause="At a_n = 1/N the weights N sum a_n^2 = 1 become N sum (a_n^2 + 1) = "
        "N^2 + 1: the noise of SFL-V2's bound is of order N^2 times that of SFL-V1.",
        scope="for a_n = 1/N; of the words 'very similar' alone; no factor helps for "
        "all N",
        words="The sentence goes on: except that a_n^2 (and a_n) are replaced by a_n^2 "
        f"+ 1 (and a_n + 1). That is text/v1-v2/{case}; here it is whether this is "
        "little.",
        uses=theorems(case, ("3.6", "3.7")),
    )


V1_V2 = (
    entry(
        "v1-v2/strongly_convex",
        "Sec. 3.3, 'see (11) and (14)'",
        "(14) is (11) with a_n^2 + 1 for a_n^2 and a_n + 1 for a_n.",
        (replaced_strong(),),
        theorems(STRONG, ("3.6", "3.7")),
    ),
    similar(STRONG),
    entry(
        "v1-v2/non_convex",
        "Sec. 3.3",
        "At tau_server = tau (16) and (13) with a_n^2 + 1 for a_n^2 are equal up to 2: "
        "(16) <= (13)' <= 2 (16).",
        replaced_non_convex(),
        theorems(NON, ("3.6", "3.7")),
    ),
    similar(NON),
)

CLAIMS = (*RATES, EXTRACTED, *HETEROGENEITY, *LEARNING_RATES, *V1_V2)
