r"""Introduction and Algorithm 1: the box, and what the server is said to be."""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Severity, equal
from sfl_theory.papers.huang2023.appendix_a_12 import inconsistent, two
from sfl_theory.papers.huang2023.section_3_rates import SERVER
from sfl_theory.papers.huang2023.setting import (
    F,
    S,
    assumption_1,
    assumption_2,
    away,
    eta,
    minimum,
    mu,
    n,
    t,
)
from sfl_theory.written import ATOM, Name, Vector, Written

ALG_1 = Claim(
    "huang2023/alg-1",
    "Algorithm 1",
    Kind.ALGORITHM,
    "The box is (3)-(5) with mini-batches of a random partition.",
    words="The box samples a mini-batch for each step, the text deals out each epoch; "
    "the analysis needs fresh ones. Box and (3)-(5) agree otherwise by reading; no "
    "term says what a box is.",
)


def descended(at: Vector, name: str) -> Vector:
    """Return a step of gradient descent on F, what equal clients do without noise."""
    value = at.value - F.gradient(at).value * eta(t).value
    return Written(value, name, ATOM, Name(name))


ALONE = descended(descended(two.x(t), r"\hat{w}"), r"\hat{w}^{+}")
NON_IID = Claim(
    "huang2023/text/server-non-iid",
    "Introduction, Sec. Convergence analysis",
    Kind.TEXT,
    "The server's updates do not depend on the non-IID degree of the clients' data.",
    (
        Part(
            equal(
                away(two.x(t + 1), SERVER),
                away(ALONE, SERVER),
                assumption_1(),
                assumption_2(),
                w.every_client(n, w.variance(two, n, w.number(0))).called("no noise"),
                minimum(),
            ),
            Model(
                lambda: inconsistent((0, 0), {mu: "1/2", S: "3/2"}),
                r"$f_n=\frac12\|w\|^2\pm(\frac12w_cw_s-w_c)$, whose mean is "
                r"$\frac12\|w\|^2$, from $w^*=0$, $\eta=\frac14$: after the first "
                r"local step $w_{c,n}=\pm\frac14$, and at the second one the server "
                r"moves by $\frac1{32}$; equal clients never move.",
            ),
            reading="a round of two local steps without noise, against two steps of "
            "gradient descent on F (w-hat), which equal clients make",
        ),
    ),
    severity=Severity.THEOREM,
    scope="from two local steps in a round on; with one the server's step is along the "
    "gradient of F",
    cause="Server gradients are taken at local client models, which drift apart: the "
    "same F spread differently over clients moves the server elsewhere.",
    uses="eq-12/local",
)
CLAIMS = (ALG_1, NON_IID)
