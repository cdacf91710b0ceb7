r"""What Sec. 3.3 and 4.2 say of the bounds, rates in T aside.

Heterogeneity, learning rates, SFL-V1 beside SFL-V2. The printed right sides are
compared as numbers, whether or not they hold themselves.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import (
    Claim,
    Kind,
    Part,
    Proof,
    Says,
    Severity,
    equal,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.models.federation import Numbers, bare
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import section_3_rates as rates
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_h import one_period
from sfl_theory.papers.han2024.comparing import (
    EQUAL,
    PRINTED,
    SIGMA2,
    K,
    broken,
    compared,
    entry,
    grows,
    theorems,
)
from sfl_theory.papers.han2024.printed import CASES, NUMBERS, Data, F_err, I_err, bound
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs import numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import Uses, combine
from sfl_theory.written import Form, Number

STRONG, GENERAL, NON = CASES
HALF = Fraction(1, 2)


# Heterogeneity ---------------------------------------------------------------------

more = w.nonnegative("more", r"\delta")


MORE_GRADIENTS = replace(Data(), G2=s.G2 + more)
MORE_HETEROGENEITY = replace(Data(), eps2=s.eps2 + more)
HETEROGENEITY = (
    entry(
        "heterogeneity/non_convex",
        "Sec. 3.3 and Sec. 4.2",
        "(13), (16) (and (19), (22)) do not decrease in eps^2.",
        grows(NUMBERS, (NON,), MORE_HETEROGENEITY),
        theorems(NON),
    ),
    entry(
        "heterogeneity/convex",
        "Sec. 3.3",
        "The convex bounds do not decrease in G^2, which heterogeneity bounds below: a "
        "divergence eps^2 needs G^2 >= eps^2/4 (assumption-3.4/divergence). eps^2 "
        "itself is absent from them.",
        grows(NUMBERS, (STRONG, GENERAL), MORE_GRADIENTS),
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
    return Part(equal(left, right), Proof(theorem, words), reading)


RATES_OF_TAU = replace(
    entry(
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
    ),
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
        (*map(rates.general_convex_rate, NUMBERS), from_horizon()),
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

    reading = f"{PRINTED}: the added terms are those of the 1 in a_n^2 + 1 and a_n + 1"
    return Part(equal(other, right), Proof(theorem, "Sums are linear."), reading)


def replaced_non_convex() -> tuple[Part, Part]:
    """Return (16) <= (13)' <= 2 (16), (13)' with the weights replaced."""
    d = one_period(Data())
    other = printed.non_convex("3.7", d).right

    def lower(d: Data) -> Says:
        return says(other, printed.non_convex("3.6", d).right + added(NON, d))

    def upper(d: Data) -> Says:
        return says(printed.non_convex("3.6", d).right + added(NON, d), 2 * other)

    reading = f"{PRINTED}; tau_server = tau, (13) with a_n^2 + 1 in the middle"
    return compared(lower, d, reading=reading), compared(upper, d, reading=reading)


def similar(case: str) -> Claim:
    """Return that SFL-V2's bound is at most K times that of SFL-V1."""
    d = one_period(EQUAL) if case == NON else EQUAL
    left, right = (bound(one, case, d).right for one in ("3.7", "3.6"))

    def data() -> ModelData:
        values: Numbers = {s.S: 1, s.T: 1, SIGMA2: 1}
        if case == NON:
            values |= {s.eps2: 1, F_err: Fraction(1, 10**10), s.tau: 1}
            return bare(150, values, rates={"eta": Fraction(1, 8 * 150**2)})
        return bare(150, {**values, s.mu: 1, s.G2: 100, I_err: 1})

    part = broken(
        says(left, K * right),
        data,
        r"150 equal clients: $N\sum a_n^2=1$, $N\sum(a_n^2+1)=N^2+1$.",
        "a_n = 1/N, sigma_n = sigma; very similar: equal up to a factor of K",
    )
    return Claim(
        f"han2024/text/v1-v2/{case}/similar",
        "Sec. 3.3",
        Kind.TEXT,
        "The results for SFL-V1 and SFL-V2 are very similar.",
        (part,),
        severity=Severity.CONSTANT,
        cause="At a_n = 1/N the weights N sum a_n^2 = 1 become N sum (a_n^2 + 1) = "
        "N^2 + 1: the noise of SFL-V2's bound is of order N^2 times that of SFL-V1.",
        scope="a_n = 1/N",
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


CLAIMS = (*HETEROGENEITY, *LEARNING_RATES, *V1_V2)
