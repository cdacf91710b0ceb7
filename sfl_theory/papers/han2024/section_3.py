"""Section 3: assumptions and the decomposition of the gap, Proposition 3.5.

App. C.3 states the assumptions again, as C.1, and adds C.2; its entries are here too.
"""

from __future__ import annotations

from sfl_theory import evidence
from sfl_theory.evidence import (
    Claim,
    Kind,
    Model,
    Part,
    clash,
    consistent,
    proved,
    says,
)
from sfl_theory.kernel.terms import Client
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models import federation as fed
from sfl_theory.models.federation import Exact, Law, coin, federation, huber, plus, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, S, each, f, j, minimum, mu, n, t, tau
from sfl_theory.proofs import assumptions, foundations
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import Round

x, y = w.point("x"), w.point("y")
h = w.named("h")
V1 = s.run(Version.V1)
m = Client("m")

PRINTED_31 = w.every_client(n, w.majorised(w.local(n), S)).called("Assumption 3.1")
SO_FAR: tuple[tuple[str, str, str, tuple[Assumed, ...]], ...] = (
    ("3.1", "Sec. 3.1", "(4)", (PRINTED_31,)),
    ("3.2", "Sec. 3.1", "(5)-(6)", s.assumption_32(V1)),
    ("3.3", "Sec. 3.1", "(7)", (s.assumption_33(V1),)),
    ("3.4", "Sec. 3.1", "(8)", (s.assumption_34(),)),
    ("C.1", "App. C.3", "(24)-(29)", (s.assumption_31(),)),
    ("C.2", "App. C.3", "(30) with mu = 0", (s.assumption_C2(0), minimum())),
)
"""Every assumption and what it adds to those before it."""


def everywhere(used: tuple[Assumed, ...]) -> ModelData:
    """Return two clients that meet all assumptions but strong convexity, everywhere.

    Slopes of Huber functions are bounded, so gradients are; the clients differ by
    linear functions, whose weighted mean is 0.
    """
    steep: Law = coin(0, "1/2")
    round_ = plus(huber((1, 0), 0, 1), huber((0, 1), 0, 1))
    hypotheses = {one.value for one in used}
    numbers: dict[str | Number, Exact] = {S: 1}
    if s.assumption_33(V1).value in hypotheses:
        numbers[G2] = 5
    if s.assumption_34().value in hypotheses:
        numbers[s.eps2] = "9/16"
    runs = not hypotheses.isdisjoint(one.value for one in s.assumption_32(V1))
    return federation(
        (plus(round_, tilt(0, "1/4")), plus(round_, tilt(0, "-3/4"))),
        ("1/2", 1),
        weights=("3/4", "1/4"),
        noise=(steep, steep),
        numbers={**numbers, tau: 2} if runs else numbers,
        families={"sigma2": ("1/4", "1/4")} if runs else {},
        rates={"eta": "1/32"} if runs else {},
        best={f: (0, 0)} if minimum().value in hypotheses else {},
    )


def meets(place: int) -> Claim:
    """Return that an assumption can hold together with those before it."""
    name, where, equation, _ = SO_FAR[place]
    used = tuple(one for entry in SO_FAR[: place + 1] for one in entry[-1])
    earlier = " with those before it" if place else ""
    return Kind.ASSUMPTION(
        f"han2024/assumption-{name}",
        where,
        f"Assumption {name}, {equation}, can hold together{earlier}, on all of R^d."
        if place
        else f"Assumption {name}, {equation}, can hold.",
        Part(
            consistent(*used),
            Model(
                lambda: everywhere(used),
                r"$F_n(x) = h(x_c) + h(x_s) + \langle b_n, x\rangle$, $h$ Huber, "
                r"$\sum_n a_n b_n = 0$: slopes are bounded, the clients differ by "
                r"$b_n$ only.",
            ),
        ),
        scope="with a model; that of C.2 (mu = 0), the last, meets all of them at once",
    )


ALL = (
    s.assumption_31(s.steep),
    *s.assumption_32(V1),
    s.assumption_34(),
    s.assumption_C2(),
    minimum(),
)


def quadratics(bounded: bool = False) -> ModelData:
    """Return two clients with ``||x||^2 + b_n.x``; bounded: no run leaves the box."""
    one = fed.parabola(2, (0, 0))
    law: Law = coin(0, "1/2")
    return federation(
        (plus(one, tilt(0, "1/4")), plus(one, tilt(0, "-3/4"))),
        ("1/2", 1),
        weights=("3/4", "1/4"),
        noise=(law, law),
        numbers={
            mu: 2,
            s.excess: 0,
            s.eps2: "9/16",
            tau: 2,
            **({G2: 12} if bounded else {}),
        },
        families={"sigma2": ("1/4", "1/4")},
        rates={"eta": "1/32"},
        best={f: (0, 0)},
        box=((-1, 1), (-1, 1)) if bounded else (),
    )


STRONGLY_CONVEX = Kind.ASSUMPTION(
    "han2024/assumption-C.2/strongly_convex",
    "App. C.3",
    "Assumption C.2 with mu > 0 can hold together with 3.1, 3.2, 3.4 (without 3.3) on "
    "R^d.",
    Part(
        consistent(*ALL),
        Model(
            quadratics,
            r"$F_n(x) = \|x\|^2 + \langle b_n, x\rangle$ with additive noise.",
        ),
    ),
)

STEEP = tuple(
    w.at_most(w.norm2(h.gradient(z)), G2).called("Assumption 3.3 at " + z.tex)
    for z in (x, y)
)
FAR = w.at_most(4 * G2 / mu**2 + 1, w.norm2(x - y)).called("R^d is not bounded")

CLASH = Kind.ASSUMPTION(
    "han2024/assumption-3.3/strongly_convex",
    "Sec. 3.1 and App. C.3",
    "Where Assumption 3.3 and strong convexity (C.2, mu > 0) hold together, any two "
    "points are at most 2G/mu apart, so they cannot both hold on R^d.",
    proved(
        says(
            w.norm2(x - y),
            4 * G2 / mu**2,
            w.convex(h, mu).called("Assumption C.2"),
            *STEEP,
        ),
        lambda: assumptions.bounded_and_convex(h.value, mu.value, G2.value),
        r"Strong convexity both ways: $\mu\|x-y\|^2 \le "
        r"\langle\nabla h(x) - \nabla h(y), x - y\rangle \le 2G\|x - y\|$.",
        "h is any of the F_n; 3.3 bounds its gradient, the mean of the stochastic one",
    ),
    proved(
        clash(w.convex(h, mu).called("Assumption C.2"), *STEEP, FAR),
        lambda: assumptions.nowhere_far(h.value, mu.value, G2.value),
        r"Two points of $\mathbb{R}^d$ farther apart than the bound.",
        vacuous="the statement is that the assumptions exclude each other",
    ),
    scope="so on R^d the strongly convex theorems are vacuous; they are read along the "
    "run, where assumption-3.3/ball says that 3.3 can hold",
)

BALL = Kind.ASSUMPTION(
    "han2024/assumption-3.3/ball",
    "Sec. 3.1 and App. C.3",
    "The reading of 3.3 along the run is not vacuous in the strongly convex case of "
    "SFL-V1 under full participation.",
    Part(
        consistent(*ALL, s.assumption_33(V1)),
        Model(
            lambda: quadratics(bounded=True),
            r"$F_n(x) = \|x\|^2 + \langle b_n, x\rangle$, noise $\pm 1/2$: no step "
            r"with $\eta \le 1/32$ leaves $[-1, 1]^2$, in every round, and there "
            r"$\mathbb{E}\|g\|^2 \le 12$.",
        ),
        reading="3.3 bounds the stochastic gradients of every step that is made",
    ),
    uses="assumption-C.2/strongly_convex",
)

VARIANCE = Kind.ASSUMPTION(
    "han2024/assumption-3.2/variance",
    "Sec. 3.1, (5)-(7)",
    "Assumption 3.3 with (5) implies (6) with sigma_n^2 = G^2: the variance is no "
    "constant of its own where 3.3 is assumed.",
    proved(
        says(
            each(w.norm2(V1.xi(n, t, j))),
            each(w.form(G2)),
            w.unbiased(V1).called("Assumption 3.2, (5)"),
            s.assumption_33(V1),
            w.at_most(j + 1, tau),
        ),
        lambda: assumptions.variance_of_bounded(Round(V1.split), G2.value),
        r"$\mathbb{E}\|g\|^2 = \|\nabla F\|^2 + \mathbb{E}\|g - \nabla F\|^2$.",
        s.EACH,
    ),
)

DIVERGENCE = Kind.ASSUMPTION(
    "han2024/assumption-3.4/divergence",
    "Sec. 3.1, (7)-(8)",
    "Assumption 3.3 implies Assumption 3.4 with eps^2 = 4 G^2.",
    proved(
        says(
            each(w.norm2(w.local(n).gradient(x) - f.gradient(x))),
            each(w.form(4 * G2)),
            w.every_client(m, w.at_most(w.norm2(w.local(m).gradient(x)), G2)).called(
                "Assumption 3.3 at x"
            ),
        ),
        lambda: assumptions.divergence_of_bounded(x.value, G2.value),
        r"$\|\nabla f\|^2 \le \sum_m a_m\|\nabla F_m\|^2 \le G^2$, and "
        r"$\|u - v\|^2 \le 2\|u\|^2 + 2\|v\|^2$.",
        "at every point x; " + s.EACH,
    ),
)

SMOOTHNESS = Kind.ASSUMPTION(
    "han2024/app-C.3/smoothness",
    "Sec. 3.1 (4), App. C.3 (24)-(25)",
    "(4) for all x, y implies (24): gradients are S-Lipschitz.",
    evidence.broken(
        says(
            w.norm2(h.gradient(x) - h.gradient(y)),
            S**2 * w.norm2(x - y),
            w.majorised(h, S).called("Assumption 3.1"),
        ),
        lambda: federation(
            (tilt(0),),
            (0,),
            numbers={S: 1},
            named={h: fed.quadratic([[-2]], [0])},
            points={x: ((1,),), y: ((0,),)},
        ),
        r"$h(x) = -x^2$: (4) bounds curvature from above only.",
    ),
    severity=evidence.Severity.SLIP,
    cause="(4) bounds curvature from above only; a concave function meets it with any "
    "S.",
    scope="where h is not convex; Sec. 3.1 states (4), App. C.3 (24) as well, which "
    "(13) needs, see thm-3.6/non_convex/one-sided",
    repair=evidence.repaired(
        "for convex functions",
        proved(
            says(
                w.norm2(h.gradient(x) - h.gradient(y)),
                S**2 * w.norm2(x - y),
                w.majorised(h, S).called("Assumption 3.1"),
                w.convex(h, 0).called("Assumption C.2, mu = 0"),
            ),
            lambda: foundations.lipschitz(h.value, S.value, x.value, y.value),
            r"Majorant from $y$ and tangent at $x$, both at "
            r"$y + (\nabla h(x) - \nabla h(y))/S$, and exchanged: "
            r"$\|d\|^2/S \le \langle d, x - y\rangle$ for the difference $d$.",
        ),
    ),
)

PROP_35 = Kind.PROPOSITION(
    "han2024/prop-3.5",
    "Proposition 3.5, (9)",
    "The gap splits into the distances of the two blocks.",
    proved(
        says(
            f.gap(x),
            S
            / 2
            * (
                w.norm2(w.server(x) - w.server(s.best))
                + w.norm2(w.client(x) - w.client(s.best))
            ),
            PRINTED_31,
            minimum(),
        ),
        foundations.prop_35,
        r"Smoothness from $x^*$, where $\nabla f$ vanishes, block by block.",
        "for every random x, x^T among them",
    ),
    scope="as printed: for every random point, under the one-sided (4)",
    uses="eq-33 eq-34",
)

CLAIMS = (
    *(meets(place) for place in range(len(SO_FAR))),
    STRONGLY_CONVEX,
    CLASH,
    BALL,
    VARIANCE,
    DIVERGENCE,
    SMOOTHNESS,
    PROP_35,
)
