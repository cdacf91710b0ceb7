r"""What Sec. 3.4, 4.2 and App. I.4 say of the bounds: participation, the cut layer.

The printed right sides are compared as numbers, whether or not they hold themselves.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence import (
    Kind,
    Part,
    Says,
    Severity,
    equal,
    proved,
    repaired,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import Numbers, bare
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number
from sfl_theory.papers.han2024 import comparing, printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.comparing import PRINTED, below, entry, smaller, theorems
from sfl_theory.papers.han2024.printed import CASES, Data, I_err, bound
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import Uses, combine, sum_over
from sfl_theory.proofs.witness import witness

STRONG, GENERAL, NON = CASES
HALF = Fraction(1, 2)


# Participation ---------------------------------------------------------------------


def lost(client: k.Client) -> Number:
    """Return what 1/q_n grows by."""
    return w.of_client("lost", client, r"\delta_{n}")


LESS_PARTICIPATION = replace(
    Data(), inverse_q=lambda client: w.inverse_chance(client) + lost(client)
)
PARTLY = ("3.8", "3.9")
PARTICIPATION = (
    entry(
        "participation/worsens",
        "Sec. 3.4",
        "The bounds under partial participation are at least those under full "
        "participation ((18) against (12) and all others).",
        tuple(
            below(full, partly, case, Data(), PRINTED)
            for case in CASES
            for full, partly in (("3.6", "3.8"), ("3.7", "3.9"))
        ),
        " ".join(map(theorems, CASES)),
    ),
    entry(
        "participation/decreases",
        "Sec. 4.2",
        "(20), and every bound of Theorems 3.8 and 3.9, does not increase in q_n.",
        comparing.grows(PARTLY, CASES, LESS_PARTICIPATION),
        " ".join(theorems(case, PARTLY) for case in CASES),
    ),
)


EVERYBODY = w.every_client(n, w.at_most(w.inverse_chance(n), 1)).called("q_n = 1")
PAIRS = (("3.8", "3.6"), ("3.9", "3.7"))


def stays_larger(partly: str, full: str, case: str) -> Part:
    """Return that at q = 1 a convex bound is at most that for full participation."""
    small, large = smaller(partly, case, Data()), bound(full, case, Data())

    def data() -> ModelData:
        values: Numbers = {s.S: 1, s.T: 1, s.G2: 1, I_err: 1}
        values |= {s.mu: 1} if case == STRONG else {}
        if case == GENERAL and partly == "3.8":
            values |= {s.tau: 1, s.tau_server: 1, printed.tau_min: 1}
        return bare(2, values, families={"sigma2": (1, 1)})

    statement = says(small.right, large.right, EVERYBODY, *small.below, *large.above)
    return comparing.broken(
        statement, data, "G^2/q_n stays as G^2.", PRINTED, small, large
    )


def extra_127() -> Part:
    """Return that at q = 1 the right side of (127) vanishes, as its left side does."""
    rate_ = s.eta()
    each = w.over_clients(n, s.a() ** 2 * w.inverse_chance(n))

    def data() -> ModelData:
        values: Numbers = {s.tau_server: 2, s.G2: 1, s.t: 0}
        return bare(2, values, rates={"eta": Fraction(1, 4)})

    left = N * s.tau_server**2 * rate_**2 * s.G2 * each
    return comparing.broken(
        says(left, 0, EVERYBODY), data, "It is positive.",
        "right side of (127), which bounds how far a drawn round is from one in which "
        "all take part; for q = 1 there is no such distance",
    )  # fmt: skip


def together(build: comparing.Build) -> comparing.Built:
    """Return the standard model of a statement, with q_n = 1."""

    def data() -> ModelData:
        one = witness(build(Data()).statement("witness"))
        return replace(one, participation=(Fraction(1),) * 2)

    return data


def reduces(partly: str, full: str) -> tuple[Part, Part]:
    """Return that at q = 1 a non-convex bound is that for full participation."""

    def build(d: Data) -> Says:
        left = printed.non_convex(partly, d).right
        return says(left, printed.non_convex(full, d).right, EVERYBODY)

    def uses(d: Data, _: Statement) -> Uses:
        V2 = printed.shared(partly)
        square = d.a(n) ** 2 + 1 if V2 else d.a(n) ** 2
        drawn = rules.assume(k.constant(1 - w.inverse_chance(n).value))
        each = sum_over(drawn, k.CLIENTS, n, (square * (d.sigma2(n) + d.eps2)).value)
        period = d.tau if V2 else (d.tau**2 + d.tau_server**2) / d.tau_min
        return [(each, (8 * N * d.S * period / d.T * d.squares).value)]

    words = "1/q_n <= 1 in every client's term."
    return (
        comparing.compared(build, Data(), uses, words, PRINTED, together(build)),
        below(full, partly, NON, Data(), PRINTED),
    )


def sharper(d: Data) -> Data:
    """Return data in which G^2/q_n stands for G^2 (1 - q_n)/q_n."""
    return replace(d, inverse_q=lambda client: w.inverse_chance(client) - 1)


def sharper_reduces(partly: str, full: str, case: str) -> Part:
    """Return that the bound with (1 - q_n)/q_n is at q = 1 that of everybody."""

    def build(d: Data) -> Says:
        small, large = smaller(partly, case, sharper(d)), bound(full, case, d)
        return says(small.right, large.right, EVERYBODY, *small.below, *large.above)

    def uses(d: Data, statement: Statement) -> Uses:
        weights = d.a(n) ** 2 + 1 if printed.shared(partly) else d.a(n) ** 2
        drawn = rules.assume(k.constant(1 - w.inverse_chance(n).value))
        each = sum_over(drawn, k.CLIENTS, n, (weights * d.G2).value)
        if case == STRONG:
            factor = 8 * d.S * N / (d.mu**2 * (d.gamma + d.T))
            return [(each, factor.value)]
        small, large = smaller(partly, case, sharper(d)), bound(full, case, d)
        late = N * I_err / (d.T + 1)
        if not printed.shared(partly):
            late = late * (d.tau_server**2 + d.tau**2) / d.tau_min**2
        more_uses = ([(each, late.value)], ())
        found = comparing.roots_of(statement, small, large, uses=more_uses)
        return [(one, HALF) for one in found]

    reading = "the bound with (1 - q_n)/q_n"
    return comparing.compared(
        build, Data(), uses, reading=reading, model=together(build)
    )


AT_ONE = (
    Kind.TEXT(
        "han2024/text/participation/convex-at-one",
        "Sec. 3.4 and (127), (157)",
        "(entry of the audit) Where everybody takes part, q_n = 1, the convex bounds "
        "(17), (18), (20), (21), and (127) on the way to them, are those for full "
        "participation.",
        extra_127(),
        *(
            stays_larger(partly, full, case)
            for case in (STRONG, GENERAL)
            for partly, full in PAIRS
        ),
        severity=Severity.CONSTANT,
        scope="wherever G > 0 (in (18) and (21) also I_err > 0)",
        cause="(127) bounds a variance by the second moment: G^2/q_n for "
        "G^2 (1 - q_n)/q_n, which is what the draws add.",
        uses=f"eq-127 {theorems(STRONG)} {theorems(GENERAL)}",
        repair=repaired(
            "(1 - q_n)/q_n for 1/q_n",
            *tuple(
                sharper_reduces(partly, full, case)
                for case in (STRONG, GENERAL)
                for partly, full in PAIRS
            ),
        ),
    ),
    entry(
        "participation/non-convex-at-one",
        "Sec. 3.4",
        "(entry of the audit) Where everybody takes part, q_n = 1, (19) is (13) and "
        "(22) is (16).",
        tuple(part for pair in PAIRS for part in reduces(*pair)),
        theorems(NON),
        scope="of the right sides; at q = 1 the learning rates of (22) are limited by "
        "1/(8 S N^2 tau sum a_n^2), those of (16) by 1/(8 S N^2 tau)",
    ),
)


# The cut layer ---------------------------------------------------------------------

x = w.point("y")
APART = w.local(n).gradient(x) - s.f.gradient(x)


def of_blocks() -> Part:
    """Return that the divergence is the sum of those of the two blocks."""
    left = w.over_clients(n, s.a() * w.norm2(APART))
    parts = w.norm2(w.client(APART)) + w.norm2(w.server(APART))
    right = w.over_clients(n, s.a() * parts)

    def theorem() -> rules.Theorem:
        one = combine((rules.blocks(APART.value, APART.value), -1))
        return sum_over(one, k.CLIENTS, n, s.a().value)

    return proved(
        equal(left, right),
        theorem,
        "A vector is the sum of its two orthogonal blocks.",
        "for every cut: the left side, which eps^2 bounds, does not know the cut",
    )


CUT = entry(
    "app-I.4/no-cut",
    "App. I.4 ('the upper bounds decrease in L_c')",
    "Against that sentence: no bound decreases in the cut layer L_c, for (11)-(22) "
    "contain it through no constant. S, sigma_n, G, eps, I_err and F_err belong to "
    "whole gradients and models; eps^2 bounds a sum over both blocks, and the convex "
    "bounds do not contain it. (The sentence names Assumption 3.3 for 3.4.)",
    (of_blocks(),),
    " ".join(map(theorems, CASES)),
)

CLAIMS = (*PARTICIPATION, *AT_ONE, CUT)
