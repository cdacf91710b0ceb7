r"""Deferred proof of Lemma 2, (26)-(34): one step of the client block."""

from __future__ import annotations

from sfl_theory.evidence import Kind, Severity, broken, equal, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, NamedFunction, Point, vec
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import (
    ATOM,
    Assumed,
    Form,
    Name,
    Number,
    Vector,
    Written,
)
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.appendix_a_13 import COUPLED
from sfl_theory.papers.huang2023.section_3_rates import CLIENT
from sfl_theory.papers.huang2023.setting import E, F, S, best, f, j, mean, mu, n, p, t
from sfl_theory.proofs import derived, minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.minibatch_stepwise import over
from sfl_theory.proofs.notation import combine, sum_over

PROOF = "Deferred proof of Lemma 2"
ANY = (
    "w_{c,n} and w_s are the local models of any round t before its local step j, "
    "eta_c the rate of that step, i = EM t + j; v_{c,n} in gradients is w_{c,n} "
    "(gradient-point)"
)
many = s.stepwise(s.eta)
rate = w.called(s.eta(s.K * t + j), r"\eta_c")
HERE = many.p(n, t, j)
G = f().gradient(HERE)
G_CLIENT = f().gradient(HERE, CLIENT)


def named(value: Vector, tex: str) -> Vector:
    """Return a vector under the paper's name."""
    return Written(value.value, tex, ATOM, Name(tex))


WBAR = named(w.over_clients(n, p() * HERE), r"\bar{w}")
GBAR = named(mean(G), r"\bar{g}")
NOISE = w.over_clients(n, p() * many.xi(n, t, j))
G_SAMPLED = named(GBAR + NOISE, "g")


def block(u: Vector) -> Vector:
    """Return the client's block."""
    return w.client(u)


OFF = block(WBAR) - block(best)
STEPPED = OFF - rate * block(GBAR)
ERROR = block(GBAR) - block(G_SAMPLED)
A_1, A_2 = w.norm2(STEPPED), 2 * rate * w.inner(STEPPED, ERROR)
MADE = (
    w.unbiased(many).called("fresh mini-batches"),
    w.at_most(j + 1, E * s.M).called("the step is made"),
)


def times(theorem: Theorem, factor: Number) -> Theorem:
    """Return a multiple of a theorem."""
    return combine((theorem, factor.value))


def at_rate(theorem: Theorem) -> Theorem:
    """Return a theorem on any rate for that of the step."""
    return minibatch.at_rate(theorem, rate.value)


def cross(direction: Vector, noise: Vector) -> Theorem:
    """Return that the mean noise is orthogonal to what is fixed before it."""
    u = direction.value
    each = derived.unbiased(many.split, n, t.value, j.value, u)
    own = noise.value * p().value
    return combine(
        rules.linear(CLIENTS, n, own, u), sum_over(each, CLIENTS, n, p().value)
    )


EQ_26 = Kind.EQUATION(
    "huang2023/eq-26",
    f"{PROOF}, (26)",
    "The squared distance after a step, and the mixed term has mean 0.",
    proved(
        equal(
            w.norm2(block(WBAR) - rate * block(G_SAMPLED) - block(best)),
            A_1 + A_2 + rate**2 * w.norm2(ERROR),
            s.minimum(),
        ),
        combine,
        "The square of a sum.",
        f"{ANY}; v^{{i+1}} is wbar - eta g, as defined there",
    ),
    proved(
        equal(A_2, 0, *MADE, s.minimum()),
        lambda: times(cross(STEPPED, block(many.xi(n, t, j))), 2 * rate),
        r"The local models of step j are fixed before its noises are drawn, "
        r"which have mean 0 given them.",
        ANY,
    ),
    scope="for fresh mini-batches; where an epoch deals out the data "
    "(Algorithm 1 as described in words), a later one depends on those before",
)
B_1 = -(2 * rate * w.inner(OFF, block(GBAR)))
B_2 = rate**2 * w.norm2(block(GBAR))
EQ_27 = Kind.EQUATION(
    "huang2023/eq-27",
    f"{PROOF}, (27)",
    "The square A_1.",
    proved(
        equal(A_1, w.norm2(OFF) + B_1 + B_2, s.minimum()),
        combine,
        "The square of a sum.",
        ANY,
    ),
)


def low() -> Number:
    """Return f_n*, in units in which it is at most 0."""
    depth = w.of_client("depth", n, "d_{{n}}")
    return Written(-depth.value, r"f_{n}^*")


def lowest(*points: Vector) -> tuple[Assumed, ...]:
    """Return that f_n* is at most the values of f_n at some points."""
    return tuple(
        w.every_client(n, w.at_most(low(), f()(one))).called("f_n* is the minimum")
        for one in points
    )


LESS = "f_n* any lower bound; losses up to a constant, so that f_n* <= 0"
BELOW = HERE - 1 / S * G_CLIENT
ABOVE = f()(HERE) - w.form(low())
SQUARES = mean(w.norm2(G_CLIENT))
BOUNDED = 2 * S * rate**2 * mean(ABOVE)
EQ_28 = Kind.EQUATION(
    "huang2023/eq-28",
    f"{PROOF}, (28)",
    "The square B_2: Jensen, then the gradients' sizes by the gaps.",
    proved(
        says(B_2, rate**2 * SQUARES),
        lambda: times(rules.jensen(CLIENTS, n, p().value, G_CLIENT.value), rate**2),
        "Jensen.",
        ANY,
    ),
    proved(
        says(rate**2 * SQUARES, BOUNDED, s.assumption_1(), *lowest(BELOW)),
        lambda: times(
            over(minibatch.self_bounding(HERE.value, low().value, CLIENT)),
            rate**2,
        ),
        r"A step of $1/S$ along $-\nabla_cf_n$ lowers $f_n$ by "
        r"$\|\nabla_cf_n\|^2/(2S)$.",
        LESS,
    ),
    uses="assumption-1",
)
TOWARD = w.inner(OFF, G_CLIENT)
APART = block(WBAR) - block(HERE)
LOCAL_OFF = block(HERE) - block(best)
EQ_29 = Kind.EQUATION(
    "huang2023/eq-29",
    f"{PROOF}, (29)",
    "The product B_1, split at the local models.",
    proved(
        equal(B_1, -(2 * rate * mean(TOWARD)), s.minimum()),
        lambda: times(
            rules.linear(CLIENTS, n, (p() * G_CLIENT).value, OFF.value),
            2 * rate,
        ),
        "The product is linear.",
        ANY,
    ),
    proved(
        equal(
            -(2 * rate * mean(TOWARD)),
            -(2 * rate * mean(w.inner(APART, G_CLIENT)))
            - 2 * rate * mean(w.inner(LOCAL_OFF, G_CLIENT)),
            s.minimum(),
        ),
        combine,
        "The product is linear.",
    ),
)
loss = w.Function(NamedFunction("loss"), "f_{n}")
local = Written(vec(Point("local")), "w_{n}", ATOM, Name("w", "n"))
middle = Written(vec(Point("middle")), r"\bar{w}", ATOM, Name(r"\bar{w}"))
ONE_CLIENT = "one client: w_n and wbar any vectors, f_n any function"
DIFFERENCE = block(middle) - block(local)
STEP_APART = DIFFERENCE + rate * loss.gradient(local, CLIENT)
EQ_30 = Kind.EQUATION(
    "huang2023/eq-30",
    f"{PROOF}, (30)",
    "Young's inequality.",
    proved(
        says(
            -(2 * w.inner(DIFFERENCE, loss.gradient(local, CLIENT))),
            1 / rate * w.norm2(DIFFERENCE)
            + rate * w.norm2(loss.gradient(local, CLIENT)),
        ),
        lambda: combine((STEP_APART.value, 1 / rate.value)),
        "One square.",
        ONE_CLIENT,
    ),
)
AT_BEST = s.mixed(best, local)
BLOCK_OFF = block(local) - block(best)


def convex_block() -> Theorem:
    """Return strong convexity of one loss along the client block."""
    x, y = local.value, AT_BEST.value
    convex = derived.convex(loss.value, mu.value, x, y)
    by = -BLOCK_OFF.value
    return minibatch.along_block(convex, loss.value, mu.value, x, y, by)


EQ_31 = Kind.EQUATION(
    "huang2023/eq-31",
    f"{PROOF}, (31)",
    "Strong convexity along the client block.",
    proved(
        says(
            -w.inner(BLOCK_OFF, loss.gradient(local, CLIENT)),
            -(loss(local) - loss(AT_BEST)) - mu / 2 * w.norm2(BLOCK_OFF),
            w.convex(loss, mu).called("Assumption 2"),
            s.minimum(),
        ),
        convex_block,
        r"Strong convexity from $w_n$ to $(w_c^*,w_s)$, which differ in the "
        r"client block only.",
        ONE_CLIENT,
    ),
    uses="assumption-2 gradient-point",
)
CLOSE = s.mixed(best, HERE)
SPREAD = mean(w.norm2(APART))
GAPS = mean(f()(HERE) - f()(CLOSE))
C = 4 * S * rate**2 * mean(ABOVE) - 2 * rate * GAPS
BETWEEN = (
    w.norm2(OFF)
    + BOUNDED
    + rate * mean(1 / rate * w.norm2(APART) + rate * w.norm2(G_CLIENT))
    - 2 * rate * mean(f()(HERE) - f()(CLOSE) + mu / 2 * w.norm2(LOCAL_OFF))
)
ASSUMED = (s.assumption_1(), s.assumption_2(), *lowest(BELOW), s.minimum())
EQ_32 = Kind.EQUATION(
    "huang2023/eq-32",
    f"{PROOF}, (32)",
    "The bound of A_1 with a remainder C.",
    proved(
        says(A_1, BETWEEN, *ASSUMED),
        lambda: at_rate(
            minibatch.first_bound(HERE.value, low().value, CLIENT, CLOSE.value)
        ),
        "(27)-(31).",
        f"{ANY}; {LESS}",
    ),
    proved(
        says(BETWEEN, (1 - mu * rate) * w.norm2(OFF) + SPREAD + C, *ASSUMED),
        lambda: at_rate(minibatch.second_bound(HERE.value, low().value, CLIENT)),
        r"(28) again and $\sum_np_n\|w_{c,n}-w_c^*\|^2\ge\|\bar w_c-w_c^*\|^2$.",
        f"{ANY}; {LESS}",
    ),
    uses="eq-27 eq-28 eq-29 eq-30 eq-31",
)

# (33), (34) ------------------------------------------------------------------------

CONVEX = s.assumption_1(), s.assumption_2()
GAMMA_C = Written((2 * rate * (1 - 2 * S * rate)).value, r"\gamma_c")
SMALL_RATE = w.at_most(rate, 1 / (4 * S))
OPTIMA = (
    *CONVEX,
    s.minimum(),
    SMALL_RATE,
    *s.one_optimum(),
    *(
        w.every_client(n, one).called("so f_n* = f_n(w*)")
        for one in w.equals(low(), f()(best))
    ),
)
ZERO = f"{ANY}; {s.NO_GAMMA}"


def at_start(start: tuple[int, int], coupled: bool) -> ModelData:
    """Return two equal clients before the first local step of a round."""
    shape = COUPLED if coupled else parabola(1, (0, 0))
    least, most = ("1/2", "3/2") if coupled else (1, 1)
    return federation(
        [shape] * 2,
        start,
        numbers={mu: least, S: most, s.Gamma: 0, t: 0, j: 0, E: 1, s.M: 1},
        families={"depth": (0, 0)},
        rates={"eta": "1/6"},
        best={F: (0, 0)},
    )


OFF_SERVER = (
    r"$f_n=\frac12(w_c^2+w_s^2+w_cw_s)$, two clients, w = (0, 1), w* = 0, "
    r"$\eta=\frac16=\frac1{4S}$: "
)
EQ_33_1 = Kind.EQUATION(
    "huang2023/eq-33/1",
    f"{PROOF}, (33) 1st inequality",
    "The first bound of C.",
    broken(
        says(
            C,
            -(GAMMA_C * mean(f()(HERE) - F(best)))
            + w.form((2 * rate - GAMMA_C) * s.Gamma),
            *OPTIMA,
        ),
        lambda: at_start((1, 1), False),
        r"$f_n=\frac12\|w\|^2$, w = (1, 1), $\eta=\frac16$: "
        r"$C=-\gamma_c+\eta$, the right side is $-\gamma_c$.",
        ZERO,
    ),
    severity=Severity.PROOF,
    scope="already for equal clients and separate blocks",
    cause="Uses F(w_c*, w_s) <= F*.",
)
EQ_33 = Kind.EQUATION(
    "huang2023/eq-33",
    f"{PROOF}, (33)",
    "The bound of C.",
    broken(
        says(C, w.form(6 * S * rate**2 * s.Gamma) + mean(w.norm2(LOCAL_OFF)), *OPTIMA),
        lambda: at_start((0, 1), True),
        f"{OFF_SERVER}the right side is 0, C is $\\frac1{{12}}$.",
        f"{ZERO}. (34) has ||wbar_c - w_{{c,n}}||^2 for the last term: a "
        "misprint in one of them, which does not matter here",
    ),
    severity=Severity.PROOF,
    scope="already for equal clients; with f_n* and Gamma at the present w_s as well, "
    "where the blocks interact",
    cause="At w_c = w_c*, Gamma = 0 the right side is 0, C is not.",
    uses="eq-33/1 cond-eta",
)


def joint_right() -> Form:
    """Return the right side of (34) for whole vectors."""
    whole = w.norm2(WBAR - best)
    far = mean(w.norm2(WBAR - HERE))
    gap = F(best) - w.over_clients(n, p() * w.form(low()))
    return (1 - mu * rate) * whole + 2 * far + 6 * S * rate**2 * gap


JOINT = (
    *CONVEX,
    s.minimum(),
    SMALL_RATE,
    *lowest(HERE - 1 / S * G, WBAR - 1 / S * f().gradient(WBAR), best),
)
LI = (
    r"Li et al. (ICLR 2020), Lemma 1: (28)-(32) for whole vectors, where "
    r"$\sum_np_nf_n(w^*)=F^*$; then $f_n(w_n)\ge f_n(\bar w)-\frac\eta2\|\nabla "
    r"f_n(\bar w)\|^2-\frac1{2\eta}\|w_n-\bar w\|^2$ and $F(\bar w)\ge F^*$."
)
WHOLE = f"{ANY}; Gamma = F* - sum p_n f_n*"
EQ_34_JOINT = proved(
    says(w.norm2(WBAR - best - rate * GBAR), joint_right(), *JOINT),
    lambda: at_rate(minibatch.whole_step(HERE.value, low().value)),
    LI,
    WHOLE,
)


def sampled_step() -> Theorem:
    """Return (19) for whole vectors."""
    ahead = WBAR - best - rate * GBAR
    return combine(
        at_rate(minibatch.whole_step(HERE.value, low().value)),
        (cross(ahead, many.xi(n, t, j)), 2 * rate.value),
    )


LEMMA_2_JOINT = proved(
    says(
        w.norm2(WBAR - rate * G_SAMPLED - best),
        joint_right() + rate**2 * w.norm2(GBAR - G_SAMPLED),
        *JOINT,
        *MADE,
    ),
    sampled_step,
    f"{LI} The mean noise is orthogonal to what came before.",
    WHOLE,
)
EQ_34 = Kind.EQUATION(
    "huang2023/eq-34",
    f"{PROOF}, (34)",
    "The bound of A_1.",
    broken(
        says(
            A_1,
            (1 - mu * rate) * w.norm2(OFF)
            + 2 * SPREAD
            + w.form(6 * S * rate**2 * s.Gamma),
            *OPTIMA,
        ),
        lambda: at_start((0, 1), True),
        f"{OFF_SERVER}the right side is 0, the mean gradient is not.",
        ZERO,
    ),
    severity=Severity.PROOF,
    scope="already for equal clients, where the blocks interact",
    cause="At w_c = w_c* the client block moves if w_s != w_s*.",
    uses="eq-32 eq-33",
    repair=repaired("whole vectors for the client's blocks", EQ_34_JOINT),
)
CLAIMS = (EQ_26, EQ_27, EQ_28, EQ_29, EQ_30, EQ_31, EQ_32, EQ_33_1, EQ_33, EQ_34)
