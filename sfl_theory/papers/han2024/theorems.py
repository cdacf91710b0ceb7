r"""Theorems 3.6 to 3.9: non-convex, strongly and general convex cases.

Updates are aggregated, as App. C.2 analyses; the order of the visits is arbitrary.

Both convex cases are false as printed, each for one reason in SFL-V1 and one in SFL-V2.

- Strongly convex, SFL-V1: the printed rates have :math:`\tau` and
  :math:`\tilde\tau` swapped, so with many client steps the server contracts slower than
  :math:`1/T`. SFL-V2: the server's steps carry no :math:`a_n`, so :math:`x_s` tends to
  the minimiser of :math:`\sum_nF_n`.
- General convex: the bound has no learning rate in it, but is claimed for every
  admitted one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Model, Says, Severity, broken, proved, says
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import appendix_d, appendix_e, defects, printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_e import EQUAL
from sfl_theory.papers.han2024.blocks import Descent
from sfl_theory.papers.han2024.printed import stuck
from sfl_theory.papers.han2024.setting import N, S, T, a, eps2, eta, f, mu, n, t, tau
from sfl_theory.papers.han2024.strongly_convex_repairs import REPAIRS, Algorithm, Line
from sfl_theory.papers.han2024.theorems_convex_repaired import equally, repair
from sfl_theory.papers.han2024.two_periods import TwoPeriods
from sfl_theory.proofs import non_convex, partial_visits, visits_convex

THEOREM_36 = Kind.THEOREM(
    "han2024/thm-3.6/non_convex",
    "Theorem 3.6, (13)",
    "The mean squared gradient, weighted with the learning rates.",
    *appendix_d.EQ_89.parts,
    scope="as printed for any numbers of steps, gradients read as S-Lipschitz (24); "
    "clients' samples may depend on each other, as 3.2 leaves it open; refuted "
    "under (4) alone, see .../one-sided",
    words="A proof of its own: the paper's rests on (78), (79), (81) and (82), which "
    "are false.",
    uses="eq-78 lemma-C.6 lemma-C.7 prop-C.4 eq-89 cond-3.6/non_convex",
    first_failure="han2024/eq-78",
)

# Theorem 3.7: SFL-V2, full participation ---------------------------------------------

THEOREM_37 = Kind.THEOREM(
    "han2024/thm-3.7/non_convex",
    "Theorem 3.7, (16)",
    "The mean squared gradient, weighted with the learning rates.",
    appendix_e.ALL_ROUNDS,
    severity=Severity.THEOREM,
    cause=defects.NO_WEIGHTS.words,
    root=defects.NO_WEIGHTS,
    scope="refuted for unequal weights, shown for (3/4, 1/4); true as printed for "
    "equal ones",
    uses="lemma-C.6 lemma-C.7 prop-C.4 eq-125 cond-3.7/non_convex",
    first_failure="han2024/eq-115",
    repair=appendix_e.REPAIRED,
)

# Theorem 3.8: SFL-V1, clients take part at random ------------------------------------

TWO_PERIODS = TwoPeriods("3.8", Participants.UPDATES)
TITLE = "The mean squared gradient, weighted with the learning rates."
DECIDED = TWO_PERIODS.concluded(
    Descent.all_rounds,
    non_convex.theorem,
    r"As (13). Drawing clients adds "
    r"$\sum_na_n^2(\frac1{q_n}-1)\mathbb E\|\sum_ig_n^{t,i}\|^2$ to the squared move: "
    r"Young with 1/4 between gradients and noise, and as much again of the drift.",
    "updates are aggregated, as App. C.2 analyses",
)

THEOREM_38 = Kind.THEOREM(
    "han2024/thm-3.8/non_convex",
    "Theorem 3.8, (19)",
    TITLE,
    *DECIDED,
    scope="as printed for any numbers of steps, gradients read as S-Lipschitz (24), "
    "updates aggregated; clients' samples may depend on each other, as 3.2 leaves it "
    "open; for models aggregated as in (3) refuted, see .../eq-3",
    words="A proof of its own: the paper's rests on Lemmas C.6 and C.7 for blocks, "
    "which are false.",
    uses="lemma-C.6 lemma-C.7 prop-C.4 eq-155 cond-3.8/non_convex",
    first_failure="han2024/eq-145",
)

# Theorem 3.9: SFL-V2, clients take part at random ------------------------------------

CHANCE = Fraction(3, 4)
UPDATES, INVERSE = Participants.UPDATES, w.inverse_chance(n)
RATES = tuple(
    w.at_most(one, 1).called("the learning rate of Theorem 3.9")
    for one in (
        16 * S * eta() * tau,
        8 * S * N**2 * tau * eta() * w.over_clients(n, a() ** 2 * INVERSE),
    )
)
NOISE = w.over_clients(n, (a() ** 2 + 1) * INVERSE * (s.sigma2() + eps2))


def descent(version: Version, who: Participants = UPDATES) -> Descent:
    """Return what the section concludes for a version of the server's steps."""
    this = s.run(version, who=who)
    draws = (w.participation(this).called("App. C.2"),)
    return Descent(this, tau, tau**2, tau, NOISE, RATES, draws)


PRINTED = descent(Version.V2)
EQUALLY = replace(PRINTED, more=(*PRINTED.more, *EQUAL))


def weighted(noise: Mapping[str, Number]) -> Says:
    """Return the theorem of the algorithm with weighted server steps."""
    b = descent(Version.V2_WEIGHTED)
    rate = w.at_most(8 * S * eta() * tau * KAPPA, 1)
    left = w.number(1) / T * w.below(t, T, eta() * b.slope)
    right: w.Terms = {
        "initial gap": w.number(4) / (T * tau) * f.gap(b.run.x(0)),
        **noise,
    }
    return says(left, right, *b.assumed, s.minimum(), w.every_round(t, T, rate))


KAPPA = w.over_clients(n, a() * INVERSE)
KAPPA = replace(KAPPA, tex=rf"\left({KAPPA.tex}\right)", binding=w.ATOM)
RHO = w.over_clients(n, a() ** 2 * (INVERSE - 1))
OWN = w.over_clients(n, a() * s.sigma2())
DRAWN = w.over_clients(n, a() ** 2 * INVERSE * s.sigma2())
SECOND, THIRD = (w.below(t, T, eta() ** power) for power in (2, 3))


def in_squares() -> dict[str, Number]:
    """Return noise and heterogeneity in the shape of (22)."""
    spread = w.number(Fraction(5, 4)) * tau * eps2 * (4 * RHO + KAPPA)
    every = S / T * ((7 * DRAWN + OWN) / 2 + spread) * SECOND
    return {"noise, participation and heterogeneity": every}


def in_cubes() -> dict[str, Number]:
    """Return the same with the drift at its own order."""
    draws = w.number(Fraction(5, 2)) * S / T * (DRAWN + 2 * tau * eps2 * RHO)
    drift = w.number(Fraction(5, 2)) * KAPPA**2 * tau * eps2 + OWN + 2 * KAPPA * DRAWN
    return {
        "noise and participation": draws * SECOND,
        "client drift": 4 * S**2 * tau / T * drift * THIRD,
    }


IDEA = (
    r"Given the draws, $w_nJ_n$ with $J_n=I_n/q_n$ and $\sum w_nJ_n\le\sum w_n/q_n$ "
    r"stands for $w_n$; only what is known at $x^t$ is averaged over them. "
    r"$-\langle\nabla_bf,\nabla_bF_n(x_n^{t,i})\rangle$ by Young at $x^t$; the second "
    r"moment of $\sum w_nJ_n\nabla F_n(x^t)$ exactly; Young with 1/4 for the rest; the "
    r"drift as in (116), repaired."
)

EQUAL_WEIGHTS = proved(
    EQUALLY.all_rounds(), lambda: visits_convex.theorem(UPDATES), IDEA
)

WEIGHTED = {
    "3.7": {
        "repaired": Line(
            Algorithm("3.7"), appendix_e.WEIGHTED.run, appendix_e.REPAIRED.parts[1]
        )
    },
    "3.9": {
        name: Line(Algorithm("3.9"), descent(Version.V2_WEIGHTED).run, part)
        for name, part in (
            (
                "repaired",
                proved(
                    weighted(in_squares()),
                    partial_visits.quadratic,
                    "The next part, with the learning rate put into its cubes.",
                ),
            ),
            (
                "sharper",
                proved(
                    weighted(in_cubes()),
                    partial_visits.theorem,
                    r"Polarisation with the conditional mean of "
                    r"$\sum a_nJ_n\sum_i(\nabla F_n(x_n^{t,i})-\nabla F_n(x^t))$ given "
                    r"$x^t$; its deviation and the noise by Young with 1/4.",
                ),
            ),
        )
    },
}
"""Theorem -> the name of a bound -> the rate with weighted server steps."""

THEOREM_39 = Kind.THEOREM(
    "han2024/thm-3.9/non_convex",
    "Theorem 3.9, (22)",
    "The mean squared gradient, weighted with the learning rates.",
    broken(
        PRINTED.all_rounds(),
        words=r"$a=(3/4,1/4)$, $q_n=3/4$, $F_n=\frac12(x_c^2+(x_s-b_n)^2)$, "
        r"$b=(0,1)$, from $x^0=x^*=(0,1/4)$: $x_s$ drifts to 1/2, where "
        r"$\nabla f\ne0$; the left side is of order $\eta$, the right one of "
        r"order $\eta^2$. $\eta=1/1100$, T = 1400.",
        reading="updates are aggregated",
        run=lambda: stuck("3.9", Fraction(1, 1100), 1400, CHANCE),
    ),
    severity=Severity.THEOREM,
    cause=defects.NO_WEIGHTS.words,
    root=defects.NO_WEIGHTS,
    scope="refuted for unequal weights, shown for (3/4, 1/4); true as printed for "
    "equal ones",
    uses="lemma-C.6 lemma-C.7 prop-C.4 step-3.9/non_convex eq-185 cond-3.9/non_convex",
    first_failure="han2024/eq-175",
    repair=evidence.repaired(
        "equal weights; or, for any weights and sharper, weighted server steps and "
        "rates up to 1/(8 S tau sum a_n/q_n)",
        EQUAL_WEIGHTS,
        *(line.part for line in WEIGHTED["3.9"].values()),
    ),
)

# Theorems 3.6 to 3.9, strongly and general convex cases: (11), (12), (14), ..., (21)

HALF, ONE = Fraction(1, 2), Fraction(1)
TITLES = {
    "3.6": "SFL-V1, everyone takes part",
    "3.7": "SFL-V2, everyone takes part",
    "3.8": "SFL-V1, partial participation",
    "3.9": "SFL-V2, partial participation",
}
BALL = (
    "Assumption 3.3 along the run: together with strong convexity it cannot hold on "
    "the whole space"
)
ONE_TAU = "; tau_server, which SFL-V2 does not have, is read as tau"
CONSTANTS = printed.Data(S=s.steep)
"""S >= mu, so that gamma = 8 S/mu - 1 >= 7."""


def convex_run(
    number: str, client: k.Rate, server: k.Rate, drawn_as: Participants = UPDATES
) -> Run:
    """Return the theorem's algorithm at two rates; SFL-V2 has one number of steps."""
    kind = k.Kind.V2 if printed.shared(number) else k.Kind.V1
    drawn = printed.partial(number)
    who = drawn_as if drawn else k.Participants.EVERYONE
    steps = tau if printed.shared(number) else s.tau_server
    split = k.Split(kind, who, w.pace(tau, client), w.pace(steps, server))
    return Run(split, f"SFL-{kind}")


def assumed(r: Run, number: str, S: Number, modulus: Number | int) -> list[Assumed]:
    """Return the assumptions of the convex cases."""
    drawn = [w.participation(r)] if printed.partial(number) else []
    return [
        s.assumption_31(S),
        *s.assumption_32(r),
        s.assumption_33(r),
        s.assumption_C2(modulus),
        s.minimum(),
        *drawn,
    ]


def strongly_convex(number: str, drawn_as: Participants = UPDATES) -> Says:
    """Return (11), (14), (17) or (20) as printed, with the printed rates."""
    own = tau if printed.shared(number) else s.tau_server

    def rate(steps: Number) -> k.Rate:
        return w.rate(lambda t: 4 / (mu * steps * (CONSTANTS.gamma + t)))

    r = convex_run(number, rate(own), rate(tau), drawn_as)
    data = replace(CONSTANTS, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(number, "strongly_convex", data).right
    return says(f.gap(r.x(T)), right, *assumed(r, number, data.S, mu))


def general_convex(number: str) -> Says:
    """Return (12), (15), (18) or (21) as printed, for every admitted constant rate."""
    eta = w.positive("eta", r"\eta")
    r = convex_run(number, w.rate(eta), w.rate(eta))
    data = printed.Data(I_err=w.norm2(r.x(0) - f.best))
    bound = printed.bound(number, "general_convex", data)
    v1 = not printed.shared(number)
    period = data.tau_max if v1 else data.tau
    return says(
        f.gap(r.x(T)),
        bound.right,
        *assumed(r, number, data.S, 0),
        w.at_most(eta, 1 / (2 * data.S * period)),
        *(w.minimum(data.tau_min, tau, s.tau_server) if v1 else ()),
        *(w.maximum(data.tau_max, tau, s.tau_server) if v1 else ()),
        *bound.above,
    )


# Claims -----------------------------------------------------------------------------


def roots(square: Fraction, cube: Fraction, rate: Fraction) -> dict[k.Var, Fraction]:
    """Return values of the roots' parameters, a little too large, and of the rate."""
    names = {"c2": square, "c3": cube, "eta": rate}
    out = {k.Var(name, Sort.POSITIVE): value for name, value in names.items()}
    paces = {k.Var(name, Sort.COUNT): ONE for name in ("tau_min", "tau_max")}
    return out | paces


UNWEIGHTED = (
    "SFL-V2's server steps carry no a_n: it minimises the plain sum of the F_n."
)
STRONG_MODELS = {
    "3.6": Model(
        run=lambda: printed.swapped("3.6", 720),
        words=r"$F=\|x\|^2/2$, $\tau=32$, $\tilde\tau=1$: $x_s$ falls like "
        r"$T^{-4\tilde\tau/\tau}$, the gap slower than 1/T for a ratio above 8.",
    ),
    "3.7": Model(
        run=lambda: printed.unweighted("3.7", 3400),
        words="$x_s$ stays at 1/2, the minimiser of $F_1+F_2$; f has it at 1/20.",
    ),
    "3.8": Model(
        run=lambda: printed.swapped("3.8", 1000, HALF),
        words=r"As for 3.6, the client takes part every other round.",
    ),
    "3.9": Model(
        run=lambda: printed.unweighted("3.9", 3900, Fraction(15, 16)),
        words="As for 3.7, each client takes part in 15 of 16 rounds.",
    ),
}
SCOPES = {
    "3.6": "for tau = 32, tau_server = 1; true as printed for equal periods, open for "
    "ratios up to 8",
    "3.7": "for unequal weights; true as printed for equal ones",
    "3.8": "for tau = 32, tau_server = 1, q = 1/2; true as printed for equal periods, "
    "updates aggregated, open for ratios up to 8",
    "3.9": "for unequal weights (shown at q = 15/16); true as printed for equal ones, "
    "updates aggregated",
}
FIRST = {"3.6": "eq-54", "3.7": "eq-91", "3.8": "eq-54", "3.9": "eq-91"}
"""The first step of Lemma D.1, or E.1, that fails: both cases start from it."""
USES = {
    "3.6": "lemma-D.1 prop-3.5 eq-67 eq-73 app-D.1/first-rate cond-3.6/strongly_convex",
    "3.7": "lemma-E.1 lemma-D.1 prop-3.5 eq-110 app-E.1/first-rate alg-2 "
    "cond-3.7/strongly_convex",
    "3.8": "lemma-D.1 prop-3.5 eq-127 eq-136 cond-3.8/strongly_convex",
    "3.9": "lemma-E.1 lemma-D.1 prop-3.5 eq-166 alg-2 cond-3.9/strongly_convex",
}
GENERAL_USES = {
    "3.6": "lemma-D.1 eq-77 cond-3.6/general_convex",
    "3.7": "lemma-E.1 lemma-D.1 eq-114 cond-3.7/general_convex",
    "3.8": "lemma-D.1 eq-127 eq-144 cond-3.8/general_convex",
    "3.9": "lemma-E.1 lemma-D.1 eq-174 cond-3.9/general_convex",
}
EQUATIONS = {"3.6": (11, 12), "3.7": (14, 15), "3.8": (17, 18), "3.9": (20, 21)}


def strong(number: str) -> Claim:
    """Return the strongly convex case of a theorem."""
    v2 = printed.shared(number)
    reading = BALL + ONE_TAU if v2 else BALL
    return Kind.THEOREM(
        f"han2024/thm-{number}/strongly_convex",
        f"Theorem {number}, ({EQUATIONS[number][0]})",
        f"{TITLES[number]}: the gap of the last model falls like 1/T.",
        evidence.Part(strongly_convex(number), STRONG_MODELS[number], reading),
        severity=Severity.THEOREM,
        scope=SCOPES[number],
        cause=UNWEIGHTED if v2 else defects.SWAPPED.words,
        root=defects.NO_WEIGHTS if v2 else defects.SWAPPED,
        uses=USES[number],
        first_failure=f"han2024/{FIRST[number]}",
        repair=repair(number, "strongly_convex", REPAIRS[number].parts),
    )


def general(number: str) -> Claim:
    """Return the general convex case of a theorem."""
    tiny = Fraction(1, 10**9)
    small, start = Fraction(1, 10**6), Fraction(1, 2)
    square = Fraction(9, 50) if printed.partial(number) else Fraction(127, 1000)
    what = general_convex(number)
    words = (
        r"$x_s$ has hardly moved from 1 when the bound has fallen below the gap 1/2.",
        r"At $x^0=x^*$ every term of the bound is 0, and noise moves the model.",
    )
    v2 = printed.shared(number)
    where = "unequal weights" if v2 else "tau_server = 64 tau"
    more = "" if v2 else "/periods"
    reading = (
        "for every constant rate that the condition admits, last iterate ('for some "
        f"schedule' is decided for {where} only, against it: text/rate/general_convex"
        f"/no-schedule{more}); c_2 and c_3 are any numbers that are at least the "
        "square root and the cube root"
        + "; G_n^2/q_n of (21) is G^2/q_n"
        * (number == "3.9")
    )
    return Kind.THEOREM(
        f"han2024/thm-{number}/general_convex",
        f"Theorem {number}, ({EQUATIONS[number][1]})",
        f"{TITLES[number]}: the gap of the last model falls like the cube root of 1/T.",
        broken(
            what,
            words=words[0],
            reading=reading,
            run=lambda: printed.slow(number),
            numbers=roots(square, Fraction(363, 500), small),
        ),
        broken(
            what,
            words=words[1],
            reading=reading,
            run=lambda: printed.at_best(number),
            numbers=roots(tiny, tiny, start),
        ),
        severity=Severity.THEOREM,
        scope="already for one client with one local step (at x^0 = x* for every "
        "positive rate)",
        cause=defects.NO_RATE.words,
        root=defects.NO_RATE,
        uses=GENERAL_USES[number],
        first_failure=f"han2024/{FIRST[number]}",
        repair=repair(number, "general_convex", (equally(number),) if v2 else ()),
    )


CLAIMS = (
    THEOREM_36,
    THEOREM_37,
    THEOREM_38,
    THEOREM_39,
    *tuple(
        claim
        for number in printed.NUMBERS
        for claim in (strong(number), general(number))
    ),
)
