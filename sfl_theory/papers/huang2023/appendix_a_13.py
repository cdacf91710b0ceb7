r"""Proof of Proposition 1, (13): the second moment."""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Kind, Severity, broken, equal, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Client
from sfl_theory.models.federation import coin, federation, parabola, quadratic
from sfl_theory.papers.huang2023 import appendix_a_12
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.appendix_a_12 import ONE, PROOF, STEP, at, one, point
from sfl_theory.papers.huang2023.section_3_rates import SERVER
from sfl_theory.papers.huang2023.setting import R2, F, N, S, best, f, i, j, mu, n, p
from sfl_theory.proofs import minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import majorant_of_mean
from sfl_theory.proofs.local_steps import Round, centred
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Form, Vector

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
            2 * w.norm2(appendix_a_12.plain_mean(EACH)),
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
AT_BEST = f().gradient(best, SERVER) + w.server(one.xi(n, i, 0))


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


FRESH_AT_BEST = f().gradient(best, SERVER) + s.once(w.server(one.xi(n, i, j)))


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
            2 * w.norm2(appendix_a_12.plain_mean(AT_BEST)),
            2 * R2 / N**2,
            *s.assumptions(one),
            w.at_most(s.away(at), 0).called("w^i = w*"),
        ),
        lambda: spread_noise(3),
        f"{NOISY}, N = 3: 2/3 > 4/9.",
        "where w^i = w*, so that the gradients at w* are those of the run",
    ),
    severity=Severity.PROOF,
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
                w.norm2(appendix_a_12.plain_mean(AT_BEST)),
                R2,
                w.every_client(n, w.at_most(w.norm2(AT_BEST), R2)).called(
                    "Assumption 4 at w*"
                ),
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
    cause="Co-coercivity of f_n(.; z) needs each sample's loss convex and S-smooth; "
    "Assumptions 1-2 speak of the mean.",
    uses="assumption-1 assumption-2",
)
BREGMAN = f()(point) - f()(best) - w.inner(f().gradient(best), point - best)


def bregman_mean() -> Theorem:
    """Return that the clients' Bregman distances have mean F(w) - F(w*)."""
    x, low = point.value, best.value
    own = f().gradient(best).value * p().value
    uses = [
        (rules.mean_value(x), 1),
        (rules.mean_value(low), -1),
        (rules.mean_gradient(low, x - low), -1),
        (rules.linear(CLIENTS, n, own, x - low), -1),
        (rules.stationary(F.value, x - low), 1),
    ]
    return combine(*[(theorem, c * 4 * S.value) for theorem, c in uses])


EQ_13_5 = Kind.EQUATION(
    "huang2023/eq-13/5",
    f"{PROOF}, (13) last equality",
    "The mean of the clients' Bregman distances.",
    broken(
        equal(
            4 * S / N * w.over_clients(n, BREGMAN),
            4 * S * (F(point) - F(appendix_a_12.swapped)),
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
        (rules.lowest(F.value, below), 2 * S.value),
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
            w.norm2(appendix_a_12.plain_mean(w.server(one.g(n, i, 0)))),
            4 * S * GAP + w.form(2 * R2 / N**2),
            *s.assumptions(one),
        ),
        lambda: spread_noise(5),
        f"{NOISY}, N = 5: 1/5 > 4/25.",
        STEP,
    ),
    severity=Severity.PROOF,
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


CLAIMS = (EQ_13_1, EQ_13_2, EQ_13_3, EQ_13_4, EQ_13_5, EQ_13)
