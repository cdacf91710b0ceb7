r"""Proof of Proposition 1, (14)-(18): the server block."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import (
    Claim,
    Kind,
    Model,
    Part,
    Proof,
    Repair,
    Severity,
    equal,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.huang2023.appendix_a_12 import (
    COUPLED,
    PROOF,
    STEP,
    after,
    at,
    one,
    point,
    swapped,
)
from sfl_theory.papers.huang2023.appendix_a_13 import GAP, NOISY, spread_noise
from sfl_theory.papers.huang2023.recursions import (
    induction,
    maximum_at_most_sum,
    v,
)
from sfl_theory.papers.huang2023.section_3_rates import (
    ONE_STEP,
    SERVER,
    half_of_the_data,
    joint_repair,
    r,
    server_bound,
)
from sfl_theory.papers.huang2023.setting import (
    R2,
    F,
    N,
    S,
    T,
    above_7,
    assumption_1,
    assumption_2,
    assumptions,
    away,
    best,
    eta,
    gamma,
    gamma_printed,
    i,
    maximum,
    minimum,
    mixed,
    mu,
)
from sfl_theory.proofs import minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.notation import combine

SMALL = w.at_most(eta(), 1 / (4 * S))
SHRUNK = (1 - mu * eta()) * away(at, SERVER)
SQUARED = w.form(2 * eta() ** 2 * R2 / N**2)


def joint_recursion() -> Part:
    """Return the recursion of both blocks together."""
    return Part(
        says(
            away(after),
            (1 - mu * eta()) * away(at) + w.form(eta() ** 2 * R2),
            *assumptions(one),
        ),
        Proof(
            lambda: minibatch.iteration(Round(one.split)),
            r"$E\|G\|^2\le R^2$ and $E\langle G,w^i-w^*\rangle\ge F(w^i)-F^*\ge"
            r"\frac\mu2\|w^i-w^*\|^2$.",
        ),
        reading=STEP,
    )


EQ_14 = Claim(
    "huang2023/eq-14",
    f"{PROOF}, (14)",
    Kind.EQUATION,
    "One step of the server block.",
    (
        Part(
            says(
                away(after, SERVER),
                SHRUNK - eta() * GAP + SQUARED,
                *assumptions(one),
                SMALL,
            ),
            Model(
                lambda: spread_noise(5),
                f"{NOISY}, N = 5, one step from w*: "
                r"$\frac{\eta^2}5>\frac{4\eta^2}{25}$.",
            ),
            reading=f"{STEP}; L is S",
        ),
    ),
    severity=Severity.PROOF,
    cause="One step from w*: the variance is of order 1/N, not 1/N^2.",
    uses="eq-12 eq-13",
    repair=Repair(
        (joint_recursion(),), "both blocks together, R^2 for 2R^2/N^2, no gap"
    ),
)
EQ_15_SIGN = Claim(
    "huang2023/eq-15/sign",
    f"{PROOF}, (15) 2nd inequality",
    Kind.EQUATION,
    "The server block's optimum is lowest for every client block.",
    (
        Part(
            says(
                -(eta() * (F(point) - F(swapped))),
                0,
                assumption_1(),
                assumption_2(),
                minimum(),
                SMALL,
            ),
            Model(
                lambda: federation(
                    [COUPLED],
                    (0, 0),
                    numbers={mu: "1/2", S: "3/2", i: 0},
                    rates={"eta": "1/6"},
                    points={point: [(1, "-1/4")]},
                    best={F: (0, 0)},
                ),
                r"$F=\frac12(w_c^2+w_s^2+w_cw_s)$, w = (1, -1/4): "
                r"$F(w)<F(w_c,0)$.",
            ),
        ),
    ),
    severity=Severity.PROOF,
    cause="w_s* minimises F(w_c*, .), not F(w_c, .).",
    repair=Repair(
        (
            Part(
                says(-(eta() * (F(mixed(best, point)) - F(best))), 0, minimum()),
                Proof(
                    lambda: combine([
                        (
                            rules.lowest(F.value, mixed(best, point).value),
                            eta().value,
                        )
                    ]),
                    r"$w^*$ minimises F.",
                ),
            ),
        ),
        "w_c* for w_c",
    ),
)
EQ_15 = Claim(
    "huang2023/eq-15",
    f"{PROOF}, (15); '(26)' there means (14)",
    Kind.EQUATION,
    "The recursion of the server block.",
    (
        Part(
            says(away(after, SERVER), SHRUNK + SQUARED, *assumptions(one), SMALL),
            Model(
                lambda: spread_noise(5),
                f"{NOISY}, N = 5, one step from w*: "
                r"$\frac{\eta^2}5>\frac{4\eta^2}{25}$.",
            ),
            reading=STEP,
        ),
    ),
    severity=Severity.PROOF,
    cause="One step from w*: the variance is of order 1/N, not 1/N^2.",
    uses="eq-14 eq-15/sign",
    repair=Repair((joint_recursion(),), "both blocks together, R^2 for 2R^2/N^2"),
)
START = w.nonnegative("Delta0", r"\Delta^0")
TERMS = 8 * R2 / (mu**2 * N**2), (gamma + 1) * START
MAXIMUM = (
    *maximum(v, *TERMS),
    *w.equals(START, away(r.x(0), SERVER)),
)


def at_most_v() -> Part:
    """Return (17) at T, under the printed rates."""
    return Part(
        says(
            away(r.x(T), SERVER),
            v / (gamma + T),
            *assumptions(r),
            *gamma_printed(),
            *MAXIMUM,
        ),
        Model(
            lambda: with_maximum(half_of_the_data()),
            "The instance of prop-1: 1/49 against 1/72.",
        ),
        reading=ONE_STEP,
    )


def with_maximum(data: ModelData) -> ModelData:
    """Return the model with v, its start at w_s*."""
    more = {w.variable(START): Fraction(0), w.variable(v): Fraction(1, 9)}
    data.numbers.update(more)
    return data


EQ_17 = Claim(
    "huang2023/eq-17",
    f"{PROOF}, (17)",
    Kind.EQUATION,
    "The server block's distance at every step.",
    (at_most_v(),),
    severity=Severity.PROOF,
    scope="as prop-1",
    cause="At most (9), which fails.",
    uses="eq-15 eq-16",
    repair=joint_repair(SERVER, "as for prop-1"),
)
SUM = w.form(TERMS[0] / (gamma + T)) + (gamma + 1) * away(r.x(0), SERVER) / (gamma + T)


def below_sum() -> Theorem:
    """Return that the maximum is at most the sum."""
    start = away(r.x(0), SERVER) - w.form(START)
    return combine([
        (maximum_at_most_sum(*TERMS), 1 / (gamma + T).value),
        (rules.assume(start.value), ((gamma + 1) / (gamma + T)).value),
    ])


EQ_18 = Claim(
    "huang2023/eq-18",
    f"{PROOF}, (18)",
    Kind.EQUATION,
    "(17) at the last step, and the maximum at most the sum.",
    (
        at_most_v(),
        Part(
            says(v / (gamma + T), SUM, *MAXIMUM),
            Proof(
                below_sum,
                r"$(a+b-v)v=ab-(v-a)(v-b)\ge0$.",
                model=lambda: federation(
                    [parabola(1, (0, 0))],
                    (0, 1),
                    numbers={mu: 1, above_7: 0, R2: 1, T: 1, START: 1, v: 8},
                    rates={},
                    best={F: (0, 0)},
                ),
            ),
        ),
        Part(equal(SUM, server_bound(r, T)), Proof(combine, "One fraction.")),
    ),
    severity=Severity.PROOF,
    scope="as prop-1",
    cause="The same right side as (9).",
    uses="eq-17",
    repair=joint_repair(SERVER, "as for prop-1"),
)
CLAIMS = (EQ_14, EQ_15_SIGN, EQ_15, induction(16, PROOF, "B", 15), EQ_17, EQ_18)
