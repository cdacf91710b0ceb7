r"""Theorems 3.6 to 3.9, strongly and general convex cases: (11), (12), (14), ..., (21).

Both cases are false as printed, each for one reason in SFL-V1 and one in SFL-V2.

- Strongly convex, SFL-V1: the printed rates have :math:`\tau` and
  :math:`\tilde\tau` swapped, so with many client steps the server contracts slower than
  :math:`1/T`. SFL-V2: the server's steps carry no :math:`a_n`, so :math:`x_s` tends to
  the minimiser of :math:`\sum_nF_n`.
- General convex: the bound has no learning rate in it, but is claimed for every
  admitted one.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Says, Severity, says
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.papers.han2024 import instances, printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import T, excess, f, mu, tau, tau_server
from sfl_theory.papers.han2024.strongly_convex_repairs import REPAIRS
from sfl_theory.papers.han2024.theorems_convex_repaired import repair
from sfl_theory.written import Assumed, Number, Run

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
CONSTANTS = printed.Data(S=mu + excess)
"""S = mu + s, so that S >= mu and gamma = 8 S/mu - 1 >= 7."""


def run(number: str, client: k.Rate, server: k.Rate) -> Run:
    """Return the theorem's algorithm at two rates; SFL-V2 has one number of steps."""
    kind = k.Kind.V2 if printed.shared(number) else k.Kind.V1
    drawn = printed.partial(number)
    who = k.Participants.UPDATES if drawn else k.Participants.EVERYONE
    steps = tau if printed.shared(number) else tau_server
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


def strongly_convex(number: str) -> Says:
    """Return (11), (14), (17) or (20) as printed, with the printed rates."""
    own = tau if printed.shared(number) else tau_server

    def rate(steps: Number) -> k.Rate:
        return w.rate(lambda t: 4 / (mu * steps * (CONSTANTS.gamma + t)))

    r = run(number, rate(own), rate(tau))
    data = replace(CONSTANTS, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(number, "strongly_convex", data).right
    return says(f.gap(r.x(T)), right, *assumed(r, number, data.S, mu))


def general_convex(number: str) -> Says:
    """Return (12), (15), (18) or (21) as printed, for every admitted constant rate."""
    eta = w.positive("eta", r"\eta")
    r = run(number, w.rate(eta), w.rate(eta))
    data = printed.Data(I_err=w.norm2(r.x(0) - f.best))
    bound = printed.bound(number, "general_convex", data)
    v1 = not printed.shared(number)
    period = data.tau_max if v1 else data.tau
    return says(
        f.gap(r.x(T)),
        bound.right,
        *assumed(r, number, data.S, 0),
        w.at_most(eta, 1 / (2 * data.S * period)),
        *(printed.least_pace(data) if v1 else ()),
        *(printed.most_pace(data) if v1 else ()),
        *bound.above,
    )


# Claims -----------------------------------------------------------------------------


def roots(square: Fraction, cube: Fraction, rate: Fraction) -> dict[k.Var, Fraction]:
    """Return values of the roots' parameters, a little too large, and of the rate."""
    names = {"c2": square, "c3": cube, "eta": rate}
    out = {k.Var(name, Sort.POSITIVE): value for name, value in names.items()}
    paces = {k.Var(name, Sort.COUNT): ONE for name in ("tau_min", "tau_max")}
    return out | paces


SWAPPED = "The printed step sizes have tau and tau_server swapped."
UNWEIGHTED = (
    "SFL-V2's server steps carry no a_n: it minimises the plain sum of the F_n."
)
NO_RATE = "The bound has no learning rate in it but is claimed for every admitted one."
STRONG_MODELS = {
    "3.6": Model(
        run=lambda: instances.swapped("3.6", 720),
        words=r"$F=\|x\|^2/2$, $\tau=32$, $\tilde\tau=1$: $x_s$ falls like $T^{-1/8}$.",
    ),
    "3.7": Model(
        run=lambda: instances.unweighted("3.7", 3400),
        words="$x_s$ stays at 1/2, the minimiser of $F_1+F_2$; f has it at 1/20.",
    ),
    "3.8": Model(
        run=lambda: instances.swapped("3.8", 1000, HALF),
        words=r"As for 3.6, the client takes part every other round.",
    ),
    "3.9": Model(
        run=lambda: instances.unweighted("3.9", 6000, Fraction(15, 16)),
        words="As for 3.7, each client takes part in 15 of 16 rounds.",
    ),
}
SCOPES = {
    "3.6": "for unequal periods (shown at tau = 32, tau_server = 1); true as printed "
    "for equal ones",
    "3.7": "for unequal weights; true as printed for equal ones",
    "3.8": "for unequal periods (shown at tau = 32, tau_server = 1, q = 1/2); true as "
    "printed for equal ones, updates aggregated",
    "3.9": "for unequal weights (shown at q = 15/16); true as printed for equal ones, "
    "updates aggregated",
}
FIRST = {"3.6": "eq-57", "3.7": "eq-94", "3.8": "eq-57", "3.9": "eq-94"}
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
    return Claim(
        f"han2024/thm-{number}/strongly_convex",
        f"Theorem {number}, ({EQUATIONS[number][0]})",
        Kind.THEOREM,
        f"{TITLES[number]}: the gap of the last model falls like 1/T.",
        (Part(strongly_convex(number), STRONG_MODELS[number], BALL),),
        severity=Severity.THEOREM,
        scope=SCOPES[number],
        cause=UNWEIGHTED if v2 else SWAPPED,
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
    reading = (
        "for every constant rate that the condition admits, last iterate; c_2 and c_3 "
        "are any numbers that are at least the square root and the cube root"
    )
    return Claim(
        f"han2024/thm-{number}/general_convex",
        f"Theorem {number}, ({EQUATIONS[number][1]})",
        Kind.THEOREM,
        f"{TITLES[number]}: the gap of the last model falls like the cube root of 1/T.",
        (
            Part(
                what,
                Model(
                    words=words[0],
                    run=lambda: instances.slow(number),
                    numbers=roots(square, Fraction(363, 500), small),
                ),
                reading,
            ),
            Part(
                what,
                Model(
                    words=words[1],
                    run=lambda: instances.at_best(number),
                    numbers=roots(tiny, tiny, start),
                ),
                reading,
            ),
        ),
        severity=Severity.THEOREM,
        scope="already for one client with one local step (at x^0 = x* for every "
        "positive rate)",
        cause=NO_RATE,
        uses=GENERAL_USES[number],
        first_failure=f"han2024/{FIRST[number]}",
        repair=repair(number, "general_convex"),
    )


CLAIMS = tuple(
    claim for number in printed.NUMBERS for claim in (strong(number), general(number))
)
