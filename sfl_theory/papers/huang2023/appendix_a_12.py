r"""Proof of Proposition 1, (12): the server block."""

from __future__ import annotations

from collections.abc import Mapping

from sfl_theory import written as w
from sfl_theory.claims import Kind, Severity, broken, equal, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import Exact, federation, parabola, quadratic
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.section_3_rates import SERVER
from sfl_theory.papers.huang2023.setting import F, S, away, best, eta, i, mu, n, run, t
from sfl_theory.proofs import minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Form, Number, Vector

PROOF = "Proof of Proposition 1"
ONE = ratio(1)
one, two = run(), run(steps=2)
"""MiniBatch-SFL with one and with two local steps in a round, at any rates."""
at, after = one.x(i), one.x(i + 1)
ASSUMED = s.assumption_1(), s.assumption_2(), s.minimum()
STEP = "one local step in a round, so that iteration i is round i"
COUPLED = quadratic(((1, "1/2"), ("1/2", 1)), (0, 0))
r""":math:`(w_c^2+w_s^2+w_cw_s)/2`, eigenvalues 1/2 and 3/2."""


def plain_mean(body: Vector) -> Vector:
    r"""Return :math:`\frac1N\sum_n` of vectors."""
    return 1 / s.N * w.over_clients(n, body)


# (12) ------------------------------------------------------------------------------


def stepped(direction: Vector) -> Form:
    """Return the server's squared distance after a step along a direction."""
    return w.norm2(w.server(at) - eta() * direction - w.server(best))


def update_of_server() -> Theorem:
    """Return the server's distance after the update (3), whose weights are p_n."""
    here = (w.server(at) - eta() * weighted - w.server(best)).value
    there = (w.server(after) - w.server(best)).value
    zero = rules.update(one.split, SERVER, i.value, here + there)
    target = (stepped(weighted) - away(after, SERVER)).value
    return combine((zero, -1), target=target)


weighted = w.over_clients(n, s.p() * s.once(w.server(one.g(n, i, s.j))))
EQ_12_WEIGHTS = Kind.EQUATION(
    "huang2023/eq-12/weights",
    f"{PROOF}, (12) line 1",
    "The update (3) of the server subtracts the plain mean of the gradients.",
    broken(
        equal(
            away(after, SERVER),
            stepped(plain_mean(w.server(one.g(n, i, 0)))),
            *ASSUMED,
            *s.samples(one),
        ),
        lambda: federation(
            [parabola(1, (0, 1)), parabola(1, (0, -1))],
            (0, 0),
            weights=("3/4", "1/4"),
            numbers={mu: 1, S: 1, i: 0},
            rates={"eta": "1/4"},
            best={F: (0, "1/2")},
        ),
        r"$f_{1,2}=\frac12\|w\mp e_s\|^2$, p = (3/4, 1/4), from 0: (3) steps "
        r"along $-\frac12$, the plain mean is 0.",
        STEP,
    ),
    severity=Severity.PROOF,
    scope="for unequal p_n; true for p_n = 1/N",
    cause="(3) has p_n; equal only for p_n = 1/N.",
    repair=repaired(
        "p_n for 1/N",
        proved(
            equal(away(after, SERVER), stepped(weighted)),
            update_of_server,
            "The definition of the update (3).",
            STEP,
        ),
    ),
)


def inconsistent(
    start: tuple[int, int], numbers: Mapping[str | Number, Exact] | None = None
) -> ModelData:
    r"""Return :math:`f_n=\frac12\|w\|^2\pm(\frac12w_cw_s-w_c)`."""
    return federation(
        [
            quadratic(((1, "1/2"), ("1/2", 1)), (-1, 0)),
            quadratic(((1, "-1/2"), ("-1/2", 1)), (1, 0)),
        ],
        start,
        numbers={t: 0, **(numbers or {})},
        rates={"eta": "1/4"},
        best={F: (0, 0)},
    )


LOCAL = two.p(n, t, 1)
MIDDLE = s.middle(two, w.number(1))
OFFSET = w.server(MIDDLE) - w.server(best)
EQ_12_LOCAL = Kind.EQUATION(
    "huang2023/eq-12/local",
    f"{PROOF}, (12) line 2",
    "The mean of the server's gradients is that of F at the mean model.",
    broken(
        equal(
            -(2 * eta(t) * w.inner(s.mean(s.f().gradient(LOCAL, SERVER)), OFFSET)),
            -(2 * eta(t) * w.inner(F.gradient(MIDDLE, SERVER), OFFSET)),
            *ASSUMED,
        ),
        lambda: inconsistent((0, 1), {mu: "1/2", S: "3/2"}),
        r"$f_n=\frac12\|w\|^2\pm(\frac12w_cw_s-w_c)$, so $F=\frac12\|w\|^2$; from (0, "
        r"1) one local step makes the local models differ, and at the second one the "
        r"mean server gradient is $\frac34+\frac1{16}$, that of F is $\frac34$.",
        "at the second of two local steps",
    ),
    severity=Severity.PROOF,
    scope="between synchronisations; true right after one, where the local client "
    "models agree",
    cause="Client n's gradient is taken at w_{c,n}; between synchronisations these "
    "differ from w_c.",
)
point = w.point("w")
swapped = s.mixed(point, best)


def block_convexity() -> Theorem:
    """Return (12): strong convexity of F from w to (w_c, w_s*)."""
    p_, q = point.value, swapped.value
    by = (w.server(best) - w.server(point)).value
    convex = minibatch.convex_mean(p_, q)
    block = minibatch.along_block(convex, F.value, mu.value, p_, q, by)
    return combine((block, 2 * eta().value))


EQ_12 = Kind.EQUATION(
    "huang2023/eq-12",
    f"{PROOF}, (12) inequality",
    "Strong convexity of F along the server block.",
    proved(
        says(
            -(
                2
                * eta()
                * w.inner(F.gradient(point, SERVER), w.server(point) - w.server(best))
            ),
            -(mu * eta() * away(point, SERVER)) - 2 * eta() * (F(point) - F(swapped)),
            s.assumption_2(),
        ),
        block_convexity,
        r"Strong convexity of the mean F from $w$ to $(w_c,w_s^*)$, which "
        r"differ in the server block only, times $2\eta$.",
        "for every random w; the other terms of both lines agree",
    ),
    uses="assumption-2 eq-12/weights eq-12/local",
)


CLAIMS = (EQ_12_WEIGHTS, EQ_12_LOCAL, EQ_12)
