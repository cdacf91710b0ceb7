"""App. C.4 up to Proposition C.4: smoothness of f, Lemma C.3, one round by blocks."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence import Kind, equal, proved, says
from sfl_theory.kernel import rules
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024.section_3 import PRINTED_31
from sfl_theory.papers.han2024.setting import S, assumption_31, best, f, minimum
from sfl_theory.proofs import assumptions, foundations
from sfl_theory.proofs.foundations import majorant_of_mean, smooth_mean
from sfl_theory.proofs.notation import combine

x, y, z = w.point("x"), w.point("y"), w.point("z")
h = w.named("h")
S0, mu0 = w.nonnegative("S"), w.nonnegative("mu", r"\mu")
HALF = Fraction(1, 2)

LEMMA_C3 = Kind.LEMMA(
    "han2024/lemma-C.3",
    "Lemma C.3, (31)",
    "A strongly convex function's gradient at another point.",
    proved(
        says(
            h(z) - h(y) + mu0 / 4 * w.norm2(y - z) - S0 * w.norm2(z - x),
            w.inner(h.gradient(x), z - y),
            w.majorised(h, S0).called("S-smooth, (25)"),
            w.convex(h, mu0).called("Assumption C.2"),
            w.at_most(mu0, S0),
        ),
        foundations.lemma_c3_proof,
        r"Smoothness from $x$ to $z$, convexity from $x$ to $y$, and "
        r"$\|y - z\|^2 \le 2\|y - x\|^2 + 2\|x - z\|^2$.",
        "printed as right >= left",
    ),
)

SMOOTH_MEAN = Kind.TEXT(
    "han2024/app-C.4/smooth-mean",
    "App. C.4, proof of Proposition 3.5",
    "Since the F_n are S-smooth, f is S-smooth.",
    proved(
        says(
            w.norm2(f.gradient(x) - f.gradient(y)),
            S**2 * w.norm2(x - y),
            assumption_31(),
        ),
        lambda: assumptions.lipschitz_mean(S.value, x.value, y.value),
        "Jensen over clients.",
        "in the sense of (24)",
    ),
    proved(
        says(
            f(y),
            f(x) + w.inner(f.gradient(x), y - x) + S / 2 * w.norm2(y - x),
            PRINTED_31,
        ),
        lambda: majorant_of_mean(S.value, x.value, y.value),
        "The weighted sum of the clients' inequalities.",
        "in the sense of (25)",
    ),
)

away, step = x.value - best.value, y.value - x.value
DISTANCE = S / 2 * w.norm2(x - best)
TANGENT = w.inner(x - best, f.gradient(best)) + DISTANCE

EQ_33 = Kind.EQUATION(
    "han2024/eq-33",
    "App. C.4, (33)",
    "The gap is at most S/2 times the squared distance.",
    proved(
        says(f.gap(x), TANGENT, PRINTED_31, minimum()),
        lambda: majorant_of_mean(S.value, best.value, x.value),
        r"Smoothness of $f$ from $x^*$.",
        "for every random x, x^T among them",
    ),
    proved(
        equal(TANGENT, DISTANCE, PRINTED_31, minimum()),
        lambda: combine((rules.stationary(f.value, x.value - best.value), -1)),
        r"$\nabla f(x^*) = 0$.",
    ),
    uses="app-C.4/smooth-mean",
)

EQ_34 = Kind.EQUATION(
    "han2024/eq-34",
    "App. C.4, (34)",
    "The distance splits into the two blocks.",
    proved(
        equal(
            w.norm2(x - best),
            w.norm2(w.client(x) - w.client(best))
            + w.norm2(w.server(x) - w.server(best)),
            minimum(),
        ),
        lambda: combine((rules.blocks(away, away), -1)),
        "Blocks are orthogonal.",
    ),
)
PROP_C4 = Kind.PROPOSITION(
    "han2024/prop-C.4",
    "Proposition C.4, (35)-(36)",
    "The change of f in a round splits into the blocks' inner products and squares.",
    proved(
        says(
            f(y) - f(x),
            w.inner(w.client(f.gradient(x)), w.client(y) - w.client(x))
            + S / 2 * w.norm2(w.client(y) - w.client(x))
            + w.inner(w.server(f.gradient(x)), w.server(y) - w.server(x))
            + S / 2 * w.norm2(w.server(y) - w.server(x)),
            assumption_31(),
        ),
        lambda: combine(
            smooth_mean(S.value, x.value, y.value),
            (rules.blocks(f.gradient(x).value, step), -1),
            (rules.blocks(step, step), -S.value * HALF),
        ),
        r"Smoothness of $f$ from $x$ to $y$; blocks are orthogonal.",
        "for any two random models, x = x^t and y = x^{t+1} among them",
    ),
    uses="app-C.4/smooth-mean",
)
CLAIMS = (LEMMA_C3, SMOOTH_MEAN, EQ_33, EQ_34, PROP_C4)
