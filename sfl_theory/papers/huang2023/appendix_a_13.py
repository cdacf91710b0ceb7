r"""Proof of Proposition 1: (12), a step of the server, and (13), the second moment."""

from __future__ import annotations

from collections.abc import Mapping

from sfl_theory.evidence import Kind, Severity, broken, equal, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Client
from sfl_theory.models.federation import Exact, coin, federation, parabola, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number, Vector
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.section_3_rates import SERVER
from sfl_theory.papers.huang2023.setting import (
    R2,
    F,
    N,
    S,
    away,
    best,
    eta,
    f,
    i,
    j,
    mu,
    n,
    p,
    run,
    t,
)
from sfl_theory.proofs import derived, minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import majorant_of_mean
from sfl_theory.proofs.local_steps import Round, centred
from sfl_theory.proofs.notation import combine

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
            equal(away(after, SERVER), stepped(weighted), s.minimum()),
            update_of_server,
            "The definition of the update (3).",
            STEP,
        ),
    ),
)


OPPOSED = (
    quadratic(((1, "1/2"), ("1/2", 1)), (-1, 0)),
    quadratic(((1, "-1/2"), ("-1/2", 1)), (1, 0)),
)
r""":math:`\frac12\|w\|^2\pm(\frac12w_cw_s-w_c)`; the mean is :math:`\frac12\|w\|^2`."""


def inconsistent(
    start: tuple[int, int], numbers: Mapping[str | Number, Exact] | None = None
) -> ModelData:
    """Return two clients with `OPPOSED`."""
    return federation(
        OPPOSED,
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
            s.minimum(),
        ),
        block_convexity,
        r"Strong convexity of the mean F from $w$ to $(w_c,w_s^*)$, which "
        r"differ in the server block only, times $2\eta$.",
        "for every random w; the other terms of both lines agree",
    ),
    uses="assumption-2 eq-12/weights eq-12/local",
)


a, b = w.point("a"), w.point("b")
EQ_13_1 = Kind.EQUATION(
    "huang2023/eq-13/1",
    f"{PROOF}, (13) 1st inequality",
    "The square of a sum of two vectors.",
    proved(
        says(w.norm2(a + b), 2 * w.norm2(a) + 2 * w.norm2(b)),
        lambda: combine(((a - b).value, 1)),
        r"$\|a-b\|^2\ge0$.",
        "a is the mean of the differences of gradients at w and at w*, "
        "b the mean of those at w*",
    ),
)
given = w.Run(one.value, one.tex, "w", "a")
EACH = given.xi(n, i, 0)
EQ_13_2 = Kind.EQUATION(
    "huang2023/eq-13/2",
    f"{PROOF}, (13) 2nd inequality",
    "The square of a mean.",
    proved(
        says(
            2 * w.norm2(plain_mean(EACH)),
            2 / N * w.over_clients(n, w.norm2(EACH)),
        ),
        lambda: combine((
            rules.jensen(CLIENTS, n, ONE, EACH.value),
            2 / N.value**2,
        )),
        "Cauchy-Schwarz.",
        "for any vectors a_n, one for each client (the kernel's noises, of "
        "which nothing is assumed)",
    ),
)
SLOPE = f().gradient(best, SERVER)
AT_BEST = SLOPE + w.server(one.xi(n, i, 0))


def jensen_bound() -> Theorem:
    """Return the plain mean's second moment from those of the clients."""
    each = rules.assume((w.form(R2) - w.norm2(AT_BEST)).value)
    size = N.value
    return combine(
        (rules.jensen(CLIENTS, n, ONE, AT_BEST.value), 1 / size**2),
        (rules.sum_over(each, CLIENTS, n, ONE, ()), 1 / size),
    )


def weighted_bound() -> Theorem:
    r"""Return :math:`\sum_np_n^2\sigma_n^2`: at w* the mean gradient is 0."""
    xi = w.over_clients(n, p() * s.once(w.server(one.xi(n, i, j)))).value
    own = w.server(s.mean(f().gradient(best))).value
    return combine(
        minibatch.fresh_noise(Round(one.split), SERVER),
        rules.mean_gradient(best.value, own + xi * 2),
        (rules.stationary(F.value, own + xi * 2), -1),
    )


FRESH_AT_BEST = SLOPE + s.once(w.server(one.xi(n, i, j)))


def spread_noise(clients: int) -> ModelData:
    r"""Return :math:`f_n=\frac12\|w\|^2` with noise +-1 in every w_s, at w* = 0."""
    return federation(
        [parabola(1, (0, 0))] * clients,
        (0, 0),
        noise=[coin(0, 1)] * clients,
        rounds=1,
        numbers={mu: 1, S: 1, R2: 2, i: 0},
        families={"sigma2": (1,) * clients},
        rates={"eta": "1/4"},
        best={F: (0, 0)},
        box=((0, 0), (-1, 1)),
    )


NOISY = (
    r"$f_n=\frac12\|w\|^2$, every client with noise $\pm1$ in $w_s$, equal weights, at "
    r"$w=w^*=0$; $R^2=2$"
)
EQ_13_3 = Kind.EQUATION(
    "huang2023/eq-13/3",
    f"{PROOF}, (13) 3rd inequality",
    "The mean of the stochastic gradients at w*.",
    broken(
        says(
            2 * w.norm2(plain_mean(AT_BEST)),
            2 * R2 / N**2,
            *s.assumptions(one),
            w.at_most(s.away(at), 0).called("w^i = w*"),
        ),
        lambda: spread_noise(3),
        f"{NOISY}, N = 3: 2/3 > 4/9.",
        "where w^i = w*, so that the gradients at w* are those of the run",
    ),
    severity=Severity.PROOF,
    scope="for three equal clients with noise",
    cause="Assumption 4 bounds every term by R^2, so the mean by R^2; independent "
    "terms of mean 0 by R^2/N; never by R^2/N^2.",
    uses="assumption-4",
    repair=repaired(
        "sum p_n^2 sigma_n^2 (R^2/N for equal weights) or R^2 for R^2/N^2",
        proved(
            says(
                w.norm2(w.over_clients(n, p() * FRESH_AT_BEST)),
                s.noise(),
                *s.assumptions(one),
            ),
            weighted_bound,
            r"The mean gradient at $w^*$ is 0; independent noises.",
            "with the weights p_n of (3) and independent mini-batches",
        ),
        proved(
            says(
                w.norm2(plain_mean(AT_BEST)),
                R2,
                w.every_client(n, w.at_most(w.norm2(AT_BEST), R2)).called(
                    "Assumption 4 at w*"
                ),
                s.minimum(),
            ),
            jensen_bound,
            "Jensen.",
            "without independence",
        ),
    ),
)
z = Client("z")


def of_sample(at_: Vector) -> Vector:
    """Return the gradient of a sample's loss."""
    return f(z).gradient(at_, SERVER)


def over_samples(body: Form) -> Form:
    """Return the mean over samples."""
    return w.over_clients(z, p(z) * body)


CHANGE = of_sample(point) - of_sample(best)
LEVEL = f(z)(point) - f(z)(best) - w.inner(of_sample(best), point - best)
EQ_13_4 = Kind.EQUATION(
    "huang2023/eq-13/4",
    f"{PROOF}, (13) 4th inequality",
    "Co-coercivity of the gradients of a client's samples.",
    broken(
        says(
            over_samples(w.norm2(CHANGE)),
            2 * S * over_samples(LEVEL),
            w.majorised(F, S).called("Assumption 1"),
            w.convex(F, mu).called("Assumption 2"),
            w.at_most(over_samples(w.norm2(f(z).gradient(point))), R2).called(
                "Assumption 4 at w"
            ),
            s.minimum(),
        ),
        lambda: federation(
            [
                quadratic(((1, 0), (0, 3)), (0, 0)),
                quadratic(((1, 0), (0, -1)), (0, 0)),
            ],
            (0, 0),
            numbers={mu: 1, S: 1, R2: 5},
            points={point: [(0, 1)]},
            best={F: (0, 0)},
        ),
        r"$f(w;z)=\frac12w_c^2+\frac12(1+2z)w_s^2$, $z=\pm1$, w = (0, 1): "
        r"curvature 3 or -1, in the mean 1. 5 > 1.",
        "one client: z ranges over its samples, of probability p_z and "
        "loss f_z; F is the client's loss, of which Assumptions 1 and 2 speak",
    ),
    severity=Severity.PROOF,
    scope="where a sample's loss is not convex",
    cause="Co-coercivity of f_n(.; z) needs each sample's loss convex and S-smooth; "
    "Assumptions 1-2 speak of the mean.",
    uses="assumption-1 assumption-2",
)
BREGMAN = f()(point) - f()(best) - w.inner(SLOPE, point - best)


def bregman_mean() -> Theorem:
    """Return that the clients' Bregman distances have mean F(w) - F(w*)."""
    x, low = point.value, best.value
    block = w.server(point - best).value
    uses = [
        (rules.mean_value(x), 1),
        (rules.mean_value(low), -1),
        (rules.mean_gradient(low, block), -1),
        (rules.linear(CLIENTS, n, (p() * SLOPE).value, x - low), -1),
        (rules.stationary(F.value, block), 1),
    ]
    return combine(*[(theorem, c * 4 * S.value) for theorem, c in uses])


EQ_13_5 = Kind.EQUATION(
    "huang2023/eq-13/5",
    f"{PROOF}, (13) last equality",
    "The mean of the clients' Bregman distances.",
    broken(
        equal(
            4 * S / N * w.over_clients(n, BREGMAN),
            4 * S * (F(point) - F(swapped)),
            s.assumption_1(),
            s.assumption_2(),
            s.minimum(),
        ),
        lambda: federation(
            [parabola(1, (0, "1/2")), parabola(1, (0, "-1/2"))],
            (0, 0),
            numbers={mu: 1, S: 1},
            points={point: [(1, 0)]},
            best={F: (0, 0)},
        ),
        r"$f_{1,2}=\frac12\|w\mp\frac12e_s\|^2$, w = (1, 0), w* = 0: "
        r"$4(F(w)-F(w^*))=2$, but $(w_c,w_s^*)=w$.",
    ),
    severity=Severity.PROOF,
    scope="wherever w_c is not w_c*",
    cause="It is F(w) - F(w*): w_c* is replaced by w_c.",
    repair=repaired(
        "F(w) - F(w*) for F(w) - F(w_c, w_s*), p_n for 1/N",
        proved(
            equal(4 * S * s.mean(BREGMAN), 4 * S * (F(point) - F(best)), s.minimum()),
            bregman_mean,
            r"$\nabla F(w^*)=0$.",
        ),
    ),
)
GAP = F(at) - F(s.mixed(at, best))


def second_moment() -> Theorem:
    r"""Return :math:`\|\nabla_sF\|^2\le2S(F-F^*)` and the noise."""
    g, x = F.gradient(at).value, at.value
    own = w.server(s.mean(f().gradient(at))).value
    r_ = Round(one.split)
    below = x - g * (1 / S.value)
    from_mean = majorant_of_mean(S.value, x, below)
    return combine(
        (from_mean, 2 * S.value),
        (derived.lowest(F.value, below), 2 * S.value),
        rules.blocks(g, g),
        minibatch.fresh_noise(r_, SERVER),
        (centred(r_, SERVER, own, 1, p().value), -2),
        rules.mean_gradient(x, own + w.part(SERVER, F.gradient(at)).value),
        (w.client(F.gradient(at)).value, 1),
    )


EQ_13 = Kind.EQUATION(
    "huang2023/eq-13",
    f"{PROOF}, (13)",
    "The second moment of the server's mean gradient.",
    broken(
        says(
            w.norm2(plain_mean(w.server(one.g(n, i, 0)))),
            4 * S * GAP + w.form(2 * R2 / N**2),
            *s.assumptions(one),
        ),
        lambda: spread_noise(5),
        f"{NOISY}, N = 5: 1/5 > 4/25.",
        STEP,
    ),
    severity=Severity.PROOF,
    scope="for five equal clients with noise",
    cause="At w* the left side is of order 1/N, the right side 2R^2/N^2.",
    uses="eq-13/1 eq-13/2 eq-13/3 eq-13/4 eq-13/5",
    repair=repaired(
        "F(w) - F(w*) for F(w) - F(w_c, w_s*), sum p_n^2 sigma_n^2 for 2R^2/N^2",
        proved(
            says(
                w.norm2(w.over_clients(n, p() * w.server(s.fresh(one)))),
                2 * S * (F(at) - F(best)) + w.form(s.noise()),
                *s.assumptions(one),
            ),
            second_moment,
            r"Independent noise of mean 0, and $\|\nabla_sF(w)\|^2\le\|\nabla "
            r"F(w)\|^2\le2S(F(w)-F^*)$ by a step of $1/S$.",
            STEP,
        ),
    ),
)


CLAIMS = (
    EQ_12_WEIGHTS,
    EQ_12_LOCAL,
    EQ_12,
    EQ_13_1,
    EQ_13_2,
    EQ_13_3,
    EQ_13_4,
    EQ_13_5,
    EQ_13,
)
