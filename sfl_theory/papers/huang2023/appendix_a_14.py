r"""Proof of Proposition 1, (14)-(18): the server block."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Proof, Repair, Severity, says
from sfl_theory.kernel import rules
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
from sfl_theory.papers.huang2023.recursions import START, End, induction, v
from sfl_theory.papers.huang2023.section_3_rates import (
    NOISY_HALF,
    SERVER,
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
    gamma_printed,
    i,
    minimum,
    mixed,
    mu,
)
from sfl_theory.proofs import minibatch
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
                        (rules.lowest(F.value, mixed(best, point).value), eta().value)
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
END = End(
    1,
    17,
    "eq-15 eq-16",
    SERVER,
    8 * R2 / (mu**2 * N**2),
    server_bound(r, T),
    (*assumptions(r), *gamma_printed()),
    NOISY_HALF,
    Fraction(1, 9),
    lambda: federation(
        [parabola(1, (0, 0))],
        (0, 1),
        numbers={mu: 1, above_7: 0, R2: 1, T: 1, START: 1, v: 8},
        best={F: (0, 0)},
    ),
)
CLAIMS = (EQ_14, EQ_15_SIGN, EQ_15, induction(16, PROOF, "B", 15), *END.claims())
