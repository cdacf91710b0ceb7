r"""Proof of Proposition 2, Lemmas 2-4 and (22)-(25): the client block."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence import Kind, Severity, broken, equal, proved, repaired, says
from sfl_theory.models.federation import coin, federation, parabola, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import (
    PRODUCT,
    Assumed,
    Form,
    Number,
    Run,
    Vector,
    Written,
)
from sfl_theory.papers.huang2023 import appendix_a_14, section_3_rates
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.appendix_a_13 import COUPLED, STEP, after, at, one
from sfl_theory.papers.huang2023.appendix_a_14 import SMALL, START, End, induction, v
from sfl_theory.papers.huang2023.appendix_c import LEMMA_2_JOINT
from sfl_theory.papers.huang2023.section_3_rates import ANY_STEPS, CLIENT, ONE_STEP, r
from sfl_theory.papers.huang2023.setting import R2, F, S, T, away, i, m, mean, mu, n, t
from sfl_theory.proofs import minibatch, minibatch_steps
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import Round

PROOF = "Proof of Proposition 2"


def client_gradient(point: Vector) -> Vector:
    """Return the mean of the clients' gradients at points, the client block."""
    return mean(s.f().gradient(point, CLIENT))


GRADIENT_POINT = Kind.EQUATION(
    "huang2023/gradient-point",
    f"{PROOF}, preliminaries",
    "The algorithm's mean gradient is taken at the models before averaging.",
    broken(
        equal(
            w.norm2(client_gradient(one.p(n, i, 1)) - client_gradient(after)),
            0,
            s.assumption_1(),
            s.assumption_2(),
        ),
        lambda: federation(
            [parabola(1, (0, 0)), parabola(2, (0, 0))],
            (1, 0),
            numbers={mu: 1, S: 2, i: 0},
            rates={"eta": "1/4"},
        ),
        r"$f_1=\frac12\|w\|^2$, $f_2=\|w\|^2$ from (1, 0): one step leads to "
        r"$v=\frac34,\frac12$ and $w_c=\frac58$; mean gradients "
        r"$\frac78$ and $\frac{15}{16}$.",
        "after a synchronisation: the mean gradient at v_{c,n} less that "
        "at w_{c,n}, where (4) takes it",
    ),
    severity=Severity.SLIP,
    scope="after a synchronisation; true between them, where v = w",
    cause="After a synchronisation (4) takes the gradient at w_{c,n}^i, the mean.",
    words="Read as w_{c,n} in (26)-(34).",
)

# Lemmas 2-4 ------------------------------------------------------------------------

SHRUNK = (1 - mu * s.eta()) * away(at, CLIENT)
LOCAL = one.p(n, i, 0)
SPREAD = mean(w.norm2(w.client(at) - w.client(LOCAL)))
HETEROGENEOUS = w.form(6 * S * s.eta() ** 2 * s.Gamma)
NOISE = mean(w.client(one.xi(n, i, 0)))


def off_server(rounds: int = 0) -> ModelData:
    """Return the coupled function at w_c = w_c*, w_s != w_s*."""
    return federation(
        [COUPLED, COUPLED],
        (0, 1),
        noise=[coin("1/8", 0)] * 2,
        rounds=1,
        numbers={mu: "1/2", S: "3/2", s.Gamma: 0, i: 0},
        rates={"eta": "1/6"},
        best={F: (0, 0)},
    )


OFF = (
    r"$f_n=\frac12(w_c^2+w_s^2+w_cw_s)$, two clients, w = (0, 1), w* = 0, "
    r"$\eta=\frac16=\frac1{4S}$"
)
LEMMA_2 = Kind.LEMMA(
    "huang2023/lemma-2",
    "Lemma 2, (19)",
    "One SGD step of the client block.",
    broken(
        says(
            away(after, CLIENT),
            SHRUNK + 2 * SPREAD + HETEROGENEOUS + s.eta() ** 2 * w.norm2(NOISE),
            s.assumption_1(),
            s.assumption_2(),
            *s.samples(one),
            s.minimum(),
            SMALL,
            *s.one_optimum(),
        ),
        off_server,
        f"{OFF}, noise $\\pm\\frac18$ in $w_c$: the mean gradient has client "
        r"block $\frac12$, so $w_c$ leaves $w_c^*$ by $\frac1{12}$; on the "
        r"right only the noise is left.",
        f"{STEP}; {s.NO_GAMMA}",
    ),
    severity=Severity.THEOREM,
    scope="already for equal clients; true for whole vectors (Li et al., ICLR 2020)",
    cause="At w_c = w_c* the client block moves if w_s != w_s*: a lemma on whole "
    "vectors is applied to a block.",
    uses="eq-26 eq-34",
    first_failure="eq-33/1",
    repair=repaired("whole vectors for the client's blocks", LEMMA_2_JOINT),
)
LEMMA_3 = Kind.LEMMA(
    "huang2023/lemma-3",
    "Lemma 3, (20)",
    "The variance of the mean stochastic gradient.",
    proved(
        says(
            w.norm2(w.over_clients(n, s.p() * s.once(w.client(one.xi(n, i, s.j))))),
            s.noise(),
            s.assumption_3(one),
            *s.samples(one),
        ),
        lambda: minibatch.fresh_noise(Round(one.split), CLIENT),
        r"Cross terms vanish, as the clients' noises are independent with mean "
        r"0 given the past; the client block is no longer than the whole.",
        f"{STEP}; the difference of the gradients is the mean noise",
    ),
    scope="for independent clients, which is not among the lemma's assumptions; "
    "lemma-3/same-samples for others",
    uses="assumption-3",
)
COMMON = w.over_clients(m, one.xi(m, i, 0))
LEMMA_3_ALONE = Kind.LEMMA(
    "huang2023/lemma-3/same-samples",
    "Lemma 3, (20)",
    "(entry of the audit) Lemma 3 from Assumption 3 alone, clients not independent.",
    broken(
        says(
            w.norm2(w.client(mean(COMMON))),
            s.noise(),
            w.unbiased(one),
            w.every_client(n, w.at_most(w.norm2(COMMON), s.sigma2())).called(
                "Assumption 3"
            ),
        ),
        lambda: federation(
            [parabola(1, (0, 0))] * 2,
            (0, 0),
            noise=[coin(1, 0)] * 2,
            rounds=1,
            numbers={i: 0},
            families={"sigma2": (2, 2)},
            rates={"eta": "1/4"},
        ),
        "Two clients that draw the same sample: the variance of the mean is "
        "that of one, 2 > 1.",
        "every client's noise is the same vector, of mean 0 and second "
        "moment at most sigma_n^2 (here the sum of the run's noises)",
    ),
    severity=Severity.PROOF,
    scope="for clients that draw the same sample",
    cause="Assumption 3 does not say that clients draw independently.",
    uses="assumption-3",
)
step, left, low = w.count("j"), w.natural("r"), w.positive("gamma", r"\gamma")
STEPS = Written((step + 1 + left).value, "E M", PRODUCT)
"""E M > j, with r the number of steps after step j."""
before = w.natural("l")


def early(steps: Number, at: Number) -> Form:
    """Return the right side of (21)."""
    inverse = mu * (low + steps * t + at) / 2
    rate = Written((1 / inverse).value, r"\eta_c")
    return w.form(3 * steps * R2 * rate**2 + 6 * steps**2 * rate**2 * s.delta2)


def ahead(of: Run, at: Number) -> list[Assumed]:
    """Return what is assumed of the stochastic gradients of a step."""
    g = s.sampled(of, at, STEPS, low)
    return [*s.fresh_batches(of, s.drifted(of, at), g, at), s.bounded(g)]


round_, every_round = s.falling(STEPS), s.falling()
LEMMA_4 = Kind.LEMMA(
    "huang2023/lemma-4",
    "Lemma 4, (21)",
    "How far the client blocks drift apart within a round; eta_c = 2/(mu (gamma + i)).",
    proved(
        says(
            mean(w.norm2(s.drifted(round_, step))),
            early(STEPS, step),
            s.assumption_1(),
            s.assumption_2(),
            *(w.every_round(before, step, a) for a in ahead(round_, before)),
            *ahead(round_, step),
            w.at_most(step, STEPS).called("the step is made"),
            s.assumption_5(),
        ),
        minibatch_steps.drift_of_round,
        r"With K = EM, $x=\gamma+i$, $B=R^2+2K\delta^2$: "
        r"$D_{j+1}\le(1-\frac4x+\frac1{2K})D_j+\eta^2B$ by strong convexity between "
        r"$w_n$ and $\bar w$ and Young, so $(x-1)^2(1-\frac j{2K})D_j$ grows by at "
        r"most $4B/\mu^2$ in a step, from 0; that is enough for $x\ge3$. For $x\le3$ "
        r"bounded gradients and strong convexity give $D\le2(R^2+\delta^2)/\mu^2$. "
        r"(The proof that is cited is for another step size.)",
        f"after j >= 1 local steps of a round; {ANY_STEPS}; EM = j + 1 + r",
        model=lambda: federation(
            [parabola(1, ("1/2", 0)), parabola(1, ("-1/2", 0))],
            (0, 0),
            numbers={
                mu: 1,
                S: 1,
                R2: 1,
                s.delta2: "1/4",
                low: 1,
                t: 0,
                step: 1,
                left: 0,
            },
        ),
    ),
    proved(
        says(
            mean(w.norm2(s.drifted(every_round, w.number(0)))), early(s.K, w.number(0))
        ),
        minibatch_steps.no_drift,
        "At the start of a round all clients have the same model.",
        "for j = 0",
    ),
    scope="for every gamma > 0",
    uses="assumption-2 assumption-4 assumption-5",
)

# (22)-(25) -------------------------------------------------------------------------

H = section_3_rates.constant_h()


def from_four() -> ModelData:
    """Return the coupled instance from (1, 4), first step."""
    return federation(
        [quadratic(((2, -1, 0), (-1, 2, 0), (0, 0, 100)), (0, 0, 0))],
        (1, 4, 0),
        numbers={mu: 1, S: 100, s.above_7: 792, R2: 80, s.delta2: 0, s.Gamma: 0, i: 0},
        families={"sigma2": (0,)},
        best={F: (0, 0, 0)},
        box=((0, 4), (0, 4), (0, 0)),
    )


ETA = Written((2 / (mu * (s.gamma + i))).value, r"\eta_c")
EQ_22 = Kind.EQUATION(
    "huang2023/eq-22",
    f"{PROOF}, (22); 'Lemmas 1-3' there means 2-4",
    "The recursion of the client block.",
    broken(
        says(
            away(r.x(i + 1), CLIENT),
            (1 - mu * ETA) * away(r.x(i), CLIENT) + w.form(ETA**2 * H),
            *s.assumptions(r),
            s.assumption_5(),
            *s.gamma_printed(),
            *s.one_optimum(),
        ),
        from_four,
        r"$F=w_c^2-w_cw_s+w_s^2+50z^2$ from (1, 4, 0): the client gradient "
        r"$2w_c-w_s=-2$ leads away from $w_c^*=0$, to first order in "
        r"$\eta=\frac2{799}$.",
        ONE_STEP,
    ),
    severity=Severity.PROOF,
    scope="already for one client without noise",
    cause="With w_s off its optimum the client gradient can lead away from w_c*, to "
    "first order in eta.",
    uses="lemma-2 lemma-3 lemma-4",
    repair=repaired("both blocks together, R^2 for H", appendix_a_14.joint_recursion()),
)
END = End(
    2,
    24,
    "eq-22 eq-23",
    CLIENT,
    4 * H / mu**2,
    section_3_rates.client_bound(r, T),
    (*s.assumptions(r), s.assumption_5(), *s.gamma_printed(), *s.one_optimum()),
    section_3_rates.PULLED_CLIENT,
    Fraction(120),
    lambda: federation(
        [parabola(1, (0, 0))],
        (1, 0),
        numbers={
            mu: 1,
            S: 1,
            s.above_7: 0,
            R2: 0,
            s.delta2: 0,
            s.Gamma: 0,
            T: 1,
            START: 1,
            v: 8,
        },
        families={"sigma2": (0,)},
        best={F: (0, 0)},
    ),
)
CLAIMS = (
    GRADIENT_POINT,
    LEMMA_2,
    LEMMA_3,
    LEMMA_3_ALONE,
    LEMMA_4,
    EQ_22,
    induction(23, PROOF, "H", 22),
    *END.claims(),
)
