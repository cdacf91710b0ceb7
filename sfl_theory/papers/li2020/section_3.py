"""Section 3: the assumptions, the heterogeneity Gamma, Theorem 1."""

from __future__ import annotations

from functools import partial

from sfl_theory.evidence import (
    Claim,
    Kind,
    Part,
    Proof,
    broken,
    clash,
    consistent,
    says,
)
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number
from sfl_theory.papers.li2020 import one_step, rounds
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.papers.li2020.setting import FAIR, G2, E, F, R, i, m, mu, proved, r, run
from sfl_theory.proofs import assumptions
from sfl_theory.proofs.notation import count, of

QUADRATICS = (
    r"$F_k(x) = x_1^2/2 + x_2^2 + b_k x_2$ with $b = (1/4, -3/4)$, $p = (3/4, 1/4)$, "
    r"noise $\pm 1/2$."
)


# Assumptions ------------------------------------------------------------------------


def together(*used: Assumed, words: str = QUADRATICS, reading: str = "") -> Part:
    """Return that assumptions can hold together."""
    one = consistent(*used)
    return broken(one, partial(s.quadratics, one.statement("")), words, reading)


ASSUMED = (
    ("1", "F_k is L-smooth", (s.SMOOTH,)),
    ("2", "F_k is mu-strongly convex", (s.CONVEX, s.MINIMUM)),
    ("3", "variances of stochastic gradients are bounded", (*FAIR, s.VARIANCE)),
)


def assumption(place: int) -> Claim:
    """Return that an assumption can hold, with those before it, on all of R^d."""
    name, title, _ = ASSUMED[place]
    used = tuple(one for entry in ASSUMED[: place + 1] for one in entry[-1])
    return Kind.ASSUMPTION(
        f"li2020/assumption-{name}",
        "Sec. 3.1",
        f"Assumption {name}, {title}, can hold{' with those before it' * (place > 0)}.",
        together(*used),
    )


x, y = w.point("x"), w.point("y")
h = w.named("h")
STEEP = tuple(
    w.at_most(w.norm2(h.gradient(z)), G2).called(f"Assumption 4 at {z.tex}")
    for z in (x, y)
)
STRONG = w.convex(h, mu).called("Assumption 2")

CLASH = Kind.ASSUMPTION(
    "li2020/assumption-4/everywhere",
    "Sec. 3.1",
    "(entry of the audit) Assumption 2, and 4 at every w, which the paper does not ask "
    "for, hold together on a set of diameter 2G/mu at most, so never on all of R^d.",
    Part(
        says(w.norm2(x - y), 4 * G2 / mu**2, STRONG, *STEEP),
        Proof(
            lambda: assumptions.bounded_and_convex(h.value, mu.value, G2.value),
            r"$\mu\|x-y\|^2 \le \langle\nabla h(x) - \nabla h(y), x - y\rangle \le "
            r"2G\|x - y\|$.",
        ),
        "h is any of the F_k; 4 bounds its gradient, a mean of stochastic ones",
    ),
    Part(
        clash(
            STRONG,
            *STEEP,
            w.at_most(4 * G2 / mu**2 + 1, w.norm2(x - y)).called("R^d"),
        ),
        Proof(
            lambda: assumptions.nowhere_far(h.value, mu.value, G2.value),
            r"Two points of $\mathbb{R}^d$ farther apart than that.",
            vacuous="the statement is that the assumptions exclude each other",
        ),
    ),
    scope="so Assumption 4 is of the models of the run, as it is printed: for "
    "t = 1, ..., T - 1",
)


# Theorem 1 --------------------------------------------------------------------------


def steps_of(rounds_: Number, steps: Number) -> tuple[Assumed, ...]:
    """Return what is assumed of each step of the first rounds."""
    return tuple(s.every_step(rounds_, steps, one) for one in s.above_least())


def last_steps(steps: Number, round_: Number) -> tuple[Assumed, ...]:
    """Return what is assumed of the first steps of one more round."""
    own = s.above_least(i, round_)
    return tuple(w.every_round(i, steps, one) for one in own)


EVERYWHERE = (s.SMOOTH, s.CONVEX, *FAIR, s.VARIANCE, s.BOUNDED, s.MINIMUM, s.LEAST)
RULE = (*s.rate_rule(), *s.GAMMA)
ROUNDS = steps_of(R, E)

BALL = Kind.ASSUMPTION(
    "li2020/assumption-4",
    "Sec. 3.1",
    "Assumption 4, bounded second moments of stochastic gradients, can hold with all "
    "the others along the run of Theorem 1.",
    together(
        *EVERYWHERE,
        *RULE,
        *ROUNDS,
        words=QUADRATICS + r" No step leaves $[-1, 1]^2$, where "
        r"$\mathbb{E}\|g\|^2 \le 9$.",
        reading="4 is of the stochastic gradients of every step made, as it is printed",
    ),
    uses="assumption-1 assumption-2 assumption-3",
)

GAMMA_SIGN = Kind.TEXT(
    "li2020/Gamma",
    "Sec. 3.1",
    "Gamma = F* - sum_k p_k F_k* is not negative.",
    proved(
        says(0, s.Gamma, s.LEAST, s.MINIMUM),
        one_step.heterogeneous,
        r"$F(w^*) = \sum_k p_k F_k(w^*) \ge \sum_k p_k F_k^*$.",
    ),
)


def bound(T: Number) -> Form:
    """Return the right side of Theorem 1."""
    start = w.norm2(run.x(0) - s.best)
    return (
        s.kappa / (s.gamma + T - 1) * w.bracket(2 * s.B / mu + mu * s.gamma / 2 * start)
    )


SHARPER = (
    r"Lemmas 1-3 at $u = \gamma + s$, times $u(u - 1)$; $\mu u\eta_s = 2$ makes it "
    r"$u(u - 1)\Delta_{s+1} \le (u - 1)(u - 2)\Delta_s + 4B/\mu^2$, $\Delta = "
    r"\mathbb{E}\|\bar w - w^*\|^2$, and the sum over steps and rounds telescopes: "
    r"$(\gamma + K)(\gamma + K - 1)\Delta \le \gamma(\gamma - 1)\Delta_1 + 4BK/\mu^2$ "
    r"after K steps. $F - F^* \le \frac{L}{2}\Delta$ and $\gamma \ge 1$."
)


def after_rounds(made: Number) -> Number:
    """Return T as the paper's symbol."""
    return w.called(made, "T")


THEOREM_1 = Kind.THEOREM(
    "li2020/thm-1",
    "Sec. 3.2",
    "FedAvg, everyone taking part, E local steps, eta_s = 2/(mu (gamma + s)), gamma = "
    "max{8 kappa, E}: T steps bring F to F* + O(1/T).",
    proved(
        says(
            F.gap(run.x(R)),
            bound(after_rounds(E * R + 1)),
            *EVERYWHERE,
            *RULE,
            *ROUNDS,
        ),
        lambda: rounds.theorem_1(count("R")),
        SHARPER,
        "w_T is the model at time T = E R + 1, after R rounds of E steps from w_1, "
        "written w^R and w^0. The paper averages at times that E divides, here the "
        "number of steps made is divided",
    ),
    proved(
        says(F.gap(run.x(R)), bound(after_rounds(E * R)), *EVERYWHERE, *RULE, *ROUNDS),
        lambda: rounds.theorem_1(count("R"), sharp=False),
        "The bound of the first part is smaller.",
        "T = E R is the number of all steps, after which FedAvg ends",
    ),
    proved(
        says(
            F.gap(s.model(m, r)),
            bound(after_rounds(E * r + m + 1)),
            *EVERYWHERE,
            *RULE,
            *steps_of(r, E),
            *last_steps(m, r),
            w.at_most(m, E),
        ),
        lambda: rounds.theorem_1_within(of(rounds.r), count("m")),
        "The sum over steps stops within a round.",
        "any T = E r + m + 1 with 1 <= m <= E: w_T is the mean of the clients' "
        "models, which no server holds within a round",
    ),
    scope="after whole rounds, as printed, and within one for w_T the mean of the "
    "models. Of gamma = max{8 kappa, E} only gamma >= 8 kappa and gamma >= E are used.",
    uses="lemma-1 lemma-2 lemma-3 thm-1/rates",
)

CLAIMS = (
    *(assumption(place) for place in range(len(ASSUMED))),
    BALL,
    CLASH,
    GAMMA_SIGN,
    THEOREM_1,
)
