r"""Sections 1 to 4: Algorithm 1, assumptions, Lemma 1, learning rates, observations."""

from __future__ import annotations

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Severity, broken, equal, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import NamedFunction, Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import ATOM, Assumed, Name, Number, Vector, Written
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.appendix_a_13 import OPPOSED, inconsistent, two
from sfl_theory.papers.huang2023.section_3_rates import SERVER, server_bound
from sfl_theory.papers.huang2023.setting import (
    R2,
    E,
    F,
    K,
    M,
    S,
    T,
    away,
    best,
    i,
    mu,
    n,
    t,
)
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import majorant_of_mean, value_gap
from sfl_theory.proofs.local_steps import both_parts
from sfl_theory.proofs.notation import combine

ALG_1 = Kind.ALGORITHM(
    "huang2023/alg-1",
    "Algorithm 1",
    "The box is (3)-(5) with mini-batches of a random partition.",
    words="The box samples a mini-batch for each step, the text deals out each epoch; "
    "the analysis needs fresh ones. Box and (3)-(5) agree otherwise by reading, where "
    "alg-1/smashed-gradient and alg-1/order are read as (4) has them; no term says "
    "what a box is.",
)


def descended(at: Vector, name: str) -> Vector:
    """Return a step of gradient descent on F, what equal clients do without noise."""
    value = at.value - F.gradient(at).value * s.eta(t).value
    return Written(value, name, ATOM, Name(name))


ALONE = descended(descended(two.x(t), r"\hat{w}"), r"\hat{w}^{+}")
PRINTED = s.stepwise(s.printed_rate)


def drifting() -> ModelData:
    """Return six equal clients without noise, three of each function, E M = 24."""
    return federation(
        OPPOSED * 3,
        (0, 0),
        numbers={mu: "1/2", S: "3/2", s.above_7: 17, R2: "80/9", T: 1, E: 3, M: 8},
        families={"sigma2": (0,) * 6},
        best={F: (0, 0)},
        box=(("-4/3", "4/3"), ("-2/3", "2/3")),
    )


NON_IID = Kind.TEXT(
    "huang2023/text/server-non-iid",
    "Introduction, Sec. Convergence analysis",
    "The server's updates do not depend on the non-IID degree of the clients' data.",
    broken(
        equal(
            away(two.x(t + 1), SERVER),
            away(ALONE, SERVER),
            s.assumption_1(),
            s.assumption_2(),
            w.every_client(n, w.variance(two, n, w.number(0))).called("no noise"),
            s.minimum(),
        ),
        lambda: inconsistent((0, 0), {mu: "1/2", S: "3/2"}),
        r"$f_n=\frac12\|w\|^2\pm(\frac12w_cw_s-w_c)$, whose mean is "
        r"$\frac12\|w\|^2$, from $w^*=0$, $\eta=\frac14$: after the first "
        r"local step $w_{c,n}=\pm\frac14$, and at the second one the server "
        r"moves by $\frac1{32}$; equal clients never move.",
        "a round of two local steps without noise, against two steps of "
        "gradient descent on F (w-hat), which equal clients make",
    ),
    broken(
        says(
            away(PRINTED.x(T), SERVER),
            server_bound(PRINTED, T * E * M),
            *s.assumptions(PRINTED),
            *s.gamma_printed(K),
        ),
        drifting,
        r"The same functions, three clients of each with $p_n=\frac16$, no noise, from "
        r"$w^*=0$: in a round of 24 steps the clients drift to both sides and drive "
        r"$w_s$ away together; the bound is of order $\frac1{N^2}$, and "
        r"$R^2=\frac{80}9$ holds wherever a client may come.",
        "Proposition 1 itself, for any number of local steps, with p_n = 1/N: (9) does "
        "not contain delta",
    ),
    severity=Severity.THEOREM,
    scope="from two local steps in a round on; with one the server's step is along the "
    "gradient of F",
    cause="Server gradients are taken at local client models, which drift apart: the "
    "same F spread differently over clients moves the server elsewhere.",
    uses="eq-12/local",
)

# Sections 3 and 4: assumptions, Lemma 1, learning rates; what the text says ----------

SECTION = "Sec. Convergence analysis"
CLIENT, SERVER_BLOCK = Side.CLIENT, Side.SERVER
end = w.point("w")
IN_WORDS = (
    "An assumption: nothing to decide by itself. It is met by the models of the claims "
    "that assume it (for Assumption 4 along the run: see assumptions-2-4)."
)


def assumption(number: int, title: str) -> Claim:
    """Return the entry of an assumption."""
    name = f"huang2023/assumption-{number}"
    kind = Kind.ASSUMPTION
    return kind(name, f"{SECTION}, Assumption {number}", title, words=IN_WORDS)


# Assumptions 2 and 4 ---------------------------------------------------------------

loss = w.Function(NamedFunction("loss"), "f_{n}")
here, xi = w.point("w"), w.called(w.point("zeta"), r"\zeta")
lowest = w.Written(loss.best.value, "w_{n}^{*}")


def confined() -> Theorem:
    r"""Return :math:`\mu^2\|w-w_n^*\|^2\le R^2`."""
    at, low, g = here.value, loss.best.value, loss.gradient(here).value
    gap, noise_ = at - low, xi.value
    orthogonal = rules.assume(w.inner(loss.gradient(here), xi).value)
    return combine(
        rules.assume((w.form(R2) - w.norm2(stochastic)).value),
        (orthogonal, 2),
        (derived.convex(loss.value, mu.value, at, low), 2 * mu.value),
        (derived.convex(loss.value, mu.value, low, at), 2 * mu.value),
        (rules.stationary(loss.value, gap), 2 * mu.value),
        (noise_, 1),
        (g - gap * mu.value, 1),
    )


stochastic = loss.gradient(here) + xi
EXCLUSION = Kind.ASSUMPTION(
    "huang2023/assumptions-2-4",
    f"{SECTION}, Assumptions 2 and 4",
    "(entry of the audit) Assumptions 2 and 4 hold together only near the minimiser of "
    "a client's loss, so never on all of R^d.",
    proved(
        says(
            mu**2 * w.norm2(here - lowest),
            R2,
            w.convex(loss, mu).called("Assumption 2"),
            Assumed(w.minimiser(loss).value, r"w_n^* \text{ minimises } f_n"),
            w.equals(w.inner(loss.gradient(here), xi), 0)[1].called("unbiased"),
            w.at_most(w.norm2(stochastic), R2).called("Assumption 4 at w"),
        ),
        confined,
        r"$\|\nabla f_n(w)\|^2\le R^2$ as the noise has mean 0, and strong "
        r"convexity gives $\|\nabla f_n(w)\|\ge\mu\|w-w_n^*\|$.",
        "at every w at which Assumption 4 holds; the loss is any f_n, zeta "
        "the noise of its stochastic gradient",
        model=lambda: federation(
            [parabola(1, ("1/2", 0))],
            ("1/2", 0),
            numbers={mu: 1, R2: 2},
            named={loss: parabola(1, ("1/2", 0))},
            points={here: [(1, "1/2")], xi: [("-1/2", "1/2")]},
            best={loss: ("1/2", 0)},
        ),
    ),
    words="The assumptions exclude each other on R^d; they are read along the run, at "
    "points that the algorithm visits.",
    uses="assumption-2 assumption-4",
)

# Lemma 1 ---------------------------------------------------------------------------

GAP = F(end) - F(best)
LEMMA_1 = Kind.LEMMA(
    "huang2023/lemma-1",
    "Lemma 1, (6)",
    "The gap splits into the distances of the two blocks.",
    proved(
        says(
            GAP,
            S / 2 * (away(end, SERVER_BLOCK) + away(end, CLIENT)),
            s.assumption_1(),
            s.minimum(),
        ),
        lambda: combine(
            value_gap(S.value, end.value),
            (both_parts((end - best).value), -S.value / 2),
        ),
        r"(7) and (8).",
        "for every random w, w^{TEM} among them",
    ),
    uses="eq-7 eq-8",
)
LINEAR = w.inner(end - best, F.gradient(best))
CURVED = S / 2 * w.norm2(end - best)
EQ_7 = Kind.EQUATION(
    "huang2023/eq-7",
    "Proof of Lemma 1, (7)",
    "Smoothness of F at its minimiser.",
    proved(
        says(GAP, LINEAR + CURVED, s.assumption_1(), s.minimum()),
        lambda: majorant_of_mean(S.value, best.value, end.value),
        "The mean of the upper bounds of Assumption 1 at $w^*$.",
    ),
    proved(
        equal(LINEAR + CURVED, CURVED, s.minimum()),
        lambda: combine((rules.stationary(F.value, (end - best).value), -1)),
        r"$\nabla F(w^*)=0$.",
    ),
    uses="assumption-1",
)
EQ_8 = Kind.EQUATION(
    "huang2023/eq-8",
    "Proof of Lemma 1, (8)",
    "The squared distance is the sum of those of the blocks.",
    proved(
        equal(
            w.norm2(end - best),
            away(end, CLIENT) + away(end, SERVER_BLOCK),
            s.minimum(),
        ),
        lambda: combine((both_parts((end - best).value), -1)),
        "The blocks are orthogonal.",
    ),
)

# The rate --------------------------------------------------------------------------


later = w.count("i")
RIGHT = 1 / (4 * S)


def later_rate() -> Theorem:
    r"""Return the condition for :math:`i\ge1`."""
    low = rules.assume(w.form(s.gamma - (8 * S / mu - 1)).value)
    return _rate_from(low, later)


def larger_gamma() -> Theorem:
    r"""Return the condition for every i where :math:`\gamma\ge8S/\mu`."""
    return _rate_from(rules.assume(w.form(s.gamma - 8 * S / mu).value), i)


def _rate_from(low: Theorem, at: Number) -> Theorem:
    factor = 1 / (4 * S.value * (s.gamma + at).value)
    return combine((low, factor), target=w.as_form(RIGHT - s.printed_rate(at)).value)


COND_ETA = Kind.CONDITION(
    "huang2023/cond-eta",
    "Proofs of Propositions 1 and 2",
    "The learning rates are at most 1/(4S) for all i.",
    broken(
        says(s.printed_rate(), RIGHT, *s.gamma_printed(E * M)),
        lambda: federation(
            [parabola(1, (0, 0))],
            (0, 0),
            numbers={mu: 1, S: 1, s.above_7: 0, E: 1, M: 1, i: 0},
        ),
        r"$S=\mu=1$, $\gamma=7$, $i=0$: $\frac27>\frac14$.",
        "i counts from 0, as the rate of the first step is eta^0 in (3)",
    ),
    severity=Severity.CONSTANT,
    scope="for i = 0 and E M < 8S/mu only, whatever S >= mu is",
    cause="At i = 0 the rate is 2/(mu gamma), more than 1/(4S) where gamma < 8S/mu.",
    repair=evidence.repaired(
        "i >= 1, or gamma = max(8S/mu, EM) for max(8S/mu - 1, EM)",
        proved(
            says(s.printed_rate(later), RIGHT, *s.gamma_printed(E * M)),
            later_rate,
            r"$\gamma+i\ge8S/\mu$.",
            "for i >= 1",
            model=lambda: federation(
                [parabola(1, (0, 0))],
                (0, 0),
                numbers={mu: 1, S: 1, s.above_7: 0, E: 1, M: 1, later: 1},
            ),
        ),
        proved(
            says(s.printed_rate(), RIGHT, *s.maximum(s.gamma, 8 * S / mu, E * M)),
            larger_gamma,
            r"$\gamma+i\ge8S/\mu$.",
            "for every i, with gamma = max(8S/mu, EM)",
            model=lambda: federation(
                [parabola(1, (0, 0))],
                (0, 0),
                numbers={mu: 1, S: 1, s.above_7: 1, E: 1, M: 1, i: 0},
            ),
        ),
    ),
)

# Performance evaluation: Observations 1-5, which rest on figures ---------------------

FIGURES = "Rests on figures without printed numbers; nothing to compute."


def observation(number: int, title: str, words: str = "") -> Claim:
    """Return the entry of an observation."""
    return Kind.TEXT(
        f"huang2023/observation-{number}",
        f"Observation {number}",
        title,
        words=f"{FIGURES} {words}".strip(),
    )


CLAIMS = (
    ALG_1,
    NON_IID,
    assumption(1, "Every f_n is S-smooth: an upper bound (one-sided)."),
    assumption(2, "Every f_n is mu-strongly convex."),
    assumption(3, "The variance of client n's stochastic gradient is <= sigma_n^2."),
    assumption(4, "Stochastic gradients have second moments at most R^2, for all w."),
    assumption(5, "Local gradients differ from that of F by at most delta, for all w."),
    EXCLUSION,
    LEMMA_1,
    EQ_7,
    EQ_8,
    COND_ETA,
    observation(
        1,
        "Accuracy under MiniBatch-SFL generally increases in L_c.",
        "No quantity of Theorem 1 depends on L_c.",
    ),
    observation(
        2,
        "The average gradient variances, at a client and across clients, generally "
        "decrease in L_c.",
        "They are divided by L_c, so they fall for many profiles.",
    ),
    observation(
        3,
        "The accuracies under FL, SFL-V2 and MiniBatch-SFL decrease in the non-IID "
        "ratio.",
    ),
    observation(
        4,
        "The accuracies under FL, SFL-V2 and MiniBatch-SFL decrease in the number of "
        "clients.",
        "Compared are N = 10 with L_c = 2 and N = 100 with L_c = 4.",
    ),
    observation(
        5,
        "MiniBatch-SFL outperforms FL and SFL-V2, by up to 17.1 % and 24.1 %.",
        "Sec. 4.3 of the supplement reports FL ahead on FMNIST with N = 10.",
    ),
)
