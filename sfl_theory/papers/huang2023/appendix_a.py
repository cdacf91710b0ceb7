r"""Proof of Proposition 1, (12)-(18): the server block."""

from __future__ import annotations

from collections.abc import Mapping
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
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Client
from sfl_theory.models.federation import Exact, coin, federation, parabola, quadratic
from sfl_theory.papers.huang2023.recursions import (
    induction,
    maximum_at_most_sum,
    v,
)
from sfl_theory.papers.huang2023.section_3 import (
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
    f,
    fresh,
    gamma,
    gamma_printed,
    i,
    j,
    maximum,
    mean,
    minimum,
    mixed,
    mu,
    n,
    noise,
    once,
    p,
    run,
    samples,
    t,
)
from sfl_theory.proofs import minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import majorant_of_mean
from sfl_theory.proofs.local_steps import Round, centred
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Form, Number, Vector

PROOF = "Proof of Proposition 1"
ONE = ratio(1)
one, two = run(), run(steps=2)
"""MiniBatch-SFL with one and with two local steps in a round, at any rates."""
at, after = one.x(i), one.x(i + 1)
STEP = "one local step in a round, so that iteration i is round i"
COUPLED = quadratic(((1, "1/2"), ("1/2", 1)), (0, 0))
r""":math:`(w_c^2+w_s^2+w_cw_s)/2`, eigenvalues 1/2 and 3/2."""


def plain_mean(body: Vector) -> Vector:
    r"""Return :math:`\frac1N\sum_n` of vectors."""
    return 1 / N * w.over_clients(n, body)


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
    return combine([(zero, -1)], target=target)


weighted = w.over_clients(n, p() * once(w.server(one.g(n, i, j))))
EQ_12_WEIGHTS = Claim(
    "huang2023/eq-12/weights",
    f"{PROOF}, (12) line 1",
    Kind.EQUATION,
    "The update (3) of the server subtracts the plain mean of the gradients.",
    (
        Part(
            equal(
                away(after, SERVER),
                stepped(plain_mean(w.server(one.g(n, i, 0)))),
                *samples(one),
                minimum(),
            ),
            Model(
                lambda: federation(
                    [parabola(1, (0, 1)), parabola(1, (0, -1))],
                    (0, 0),
                    weights=("3/4", "1/4"),
                    numbers={i: 0},
                    rates={"eta": "1/4"},
                    best={F: (0, "1/2")},
                ),
                r"$f_{1,2}=\frac12\|w\mp e_s\|^2$, p = (3/4, 1/4), from 0: (3) steps "
                r"along $-\frac12$, the plain mean is 0.",
            ),
            reading=STEP,
        ),
    ),
    severity=Severity.PROOF,
    scope="true for p_n = 1/N",
    cause="(3) has p_n; equal only for p_n = 1/N.",
    repair=Repair(
        (
            Part(
                equal(away(after, SERVER), stepped(weighted)),
                Proof(update_of_server, "The definition of the update (3)."),
                reading=STEP,
            ),
        ),
        "p_n for 1/N",
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
MIDDLE = w.over_clients(n, p() * two.p(n, t, 1))
OFFSET = w.server(MIDDLE) - w.server(best)
EQ_12_LOCAL = Claim(
    "huang2023/eq-12/local",
    f"{PROOF}, (12) line 2",
    Kind.EQUATION,
    "The mean of the server's gradients is that of F at the mean model.",
    (
        Part(
            equal(
                -2 * eta(t) * w.inner(w.server(mean(f().gradient(LOCAL))), OFFSET),
                -2 * eta(t) * w.inner(F.gradient(MIDDLE, SERVER), OFFSET),
                minimum(),
            ),
            Model(
                lambda: inconsistent((0, 1)),
                r"$f_n=\frac12\|w\|^2\pm(\frac12w_cw_s-w_c)$, so "
                r"$F=\frac12\|w\|^2$; from (0, 1) one local step makes the local "
                r"models differ, and at the second one the mean server gradient is "
                r"$\frac34+\frac1{16}$, that of F is $\frac34$.",
            ),
            reading="at the second of two local steps",
        ),
    ),
    severity=Severity.PROOF,
    scope="true where the local client models agree: right after a synchronisation",
    cause="Client n's gradient is taken at w_{c,n}; between synchronisations these "
    "differ from w_c.",
)
point = w.point("w")
swapped = mixed(point, best)


def block_convexity() -> Theorem:
    """Return (12): strong convexity of F from w to (w_c, w_s*)."""
    p_, q = point.value, swapped.value
    by = (w.server(best) - w.server(point)).value
    convex = minibatch.convex_mean(p_, q)
    block = minibatch.along_block(convex, F.value, mu.value, p_, q, by)
    return combine([(block, 2 * eta().value)])


EQ_12 = Claim(
    "huang2023/eq-12",
    f"{PROOF}, (12) inequality",
    Kind.EQUATION,
    "Strong convexity of F along the server block.",
    (
        Part(
            says(
                -2
                * eta()
                * w.inner(F.gradient(point, SERVER), w.server(point) - w.server(best)),
                -mu * eta() * away(point, SERVER) - 2 * eta() * (F(point) - F(swapped)),
                assumption_2(),
            ),
            Proof(
                block_convexity,
                r"Strong convexity of the mean F from $w$ to $(w_c,w_s^*)$, which "
                r"differ in the server block only, times $2\eta$.",
            ),
            reading="for every random w; the other terms of both lines agree",
        ),
    ),
    uses="assumption-2 eq-12/weights eq-12/local",
)

# (13) ------------------------------------------------------------------------------

a, b = w.point("a"), w.point("b")
EQ_13_1 = Claim(
    "huang2023/eq-13/1",
    f"{PROOF}, (13) 1st inequality",
    Kind.EQUATION,
    "The square of a sum of two vectors.",
    (
        Part(
            says(w.norm2(a + b), 2 * w.norm2(a) + 2 * w.norm2(b)),
            Proof(
                lambda: combine(squares=[((a - b).value, 1)]),
                r"$\|a-b\|^2\ge0$.",
            ),
            reading="a is the mean of the differences of gradients at w and at w*, "
            "b the mean of those at w*",
        ),
    ),
)
given = w.Run(one.value, one.tex, "w", "a")
EACH = given.xi(n, i, 0)
EQ_13_2 = Claim(
    "huang2023/eq-13/2",
    f"{PROOF}, (13) 2nd inequality",
    Kind.EQUATION,
    "The square of a mean.",
    (
        Part(
            says(
                2 * w.norm2(plain_mean(EACH)),
                2 / N * w.over_clients(n, w.norm2(EACH)),
            ),
            Proof(
                lambda: combine([
                    (
                        rules.jensen(CLIENTS, n, ONE, EACH.value),
                        2 / N.value**2,
                    )
                ]),
                "Cauchy-Schwarz.",
            ),
            reading="for any vectors a_n, one for each client (the kernel's noises, of "
            "which nothing is assumed)",
        ),
    ),
)
AT_BEST = f().gradient(best) + one.xi(n, i, 0)


def jensen_bound() -> Theorem:
    """Return the plain mean's second moment from those of the clients."""
    each = rules.assume((w.form(R2) - w.norm2(w.server(AT_BEST))).value)
    size = N.value
    return combine([
        (
            rules.jensen(CLIENTS, n, ONE, w.server(AT_BEST).value),
            1 / size**2,
        ),
        (
            rules.sum_over(each, CLIENTS, n, ONE, ()),
            1 / size,
        ),
    ])


def weighted_bound() -> Theorem:
    r"""Return :math:`\sum_np_n^2\sigma_n^2`: at w* the mean gradient is 0."""
    xi = w.over_clients(n, p() * once(w.server(one.xi(n, i, j)))).value
    own = w.server(mean(f().gradient(best))).value
    return combine([
        (minibatch.fresh_noise(Round(one.split), SERVER), 1),
        (rules.mean_gradient(best.value, own + xi * 2), 1),
        (rules.stationary(F.value, own + xi * 2), -1),
    ])


FRESH_AT_BEST = w.server(f().gradient(best)) + once(w.server(one.xi(n, i, j)))


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
EQ_13_3 = Claim(
    "huang2023/eq-13/3",
    f"{PROOF}, (13) 3rd inequality",
    Kind.EQUATION,
    "The mean of the stochastic gradients at w*.",
    (
        Part(
            says(
                2 * w.norm2(plain_mean(w.server(AT_BEST))),
                2 * R2 / N**2,
                *assumptions(one),
                w.at_most(away(at), 0).called("w^i = w*"),
            ),
            Model(
                lambda: spread_noise(3),
                f"{NOISY}, N = 3: 2/3 > 4/9.",
            ),
            reading="where w^i = w*, so that the gradients at w* are those of the run",
        ),
    ),
    severity=Severity.PROOF,
    cause="Assumption 4 bounds every term by R^2, so the mean by R^2; independent "
    "terms of mean 0 by R^2/N; never by R^2/N^2.",
    uses="assumption-4",
    repair=Repair(
        (
            Part(
                says(
                    w.norm2(w.over_clients(n, p() * FRESH_AT_BEST)),
                    noise(),
                    *assumptions(one),
                ),
                Proof(
                    weighted_bound,
                    r"The mean gradient at $w^*$ is 0; independent noises.",
                ),
                reading="with the weights p_n of (3) and independent mini-batches",
            ),
            Part(
                says(
                    w.norm2(plain_mean(w.server(AT_BEST))),
                    R2,
                    w.every_client(n, w.at_most(w.norm2(w.server(AT_BEST)), R2)).called(
                        "Assumption 4 at w*"
                    ),
                ),
                Proof(jensen_bound, "Jensen."),
                reading="without independence",
            ),
        ),
        "sum p_n^2 sigma_n^2 (R^2/N for equal weights) or R^2 for R^2/N^2",
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
EQ_13_4 = Claim(
    "huang2023/eq-13/4",
    f"{PROOF}, (13) 4th inequality",
    Kind.EQUATION,
    "Co-coercivity of the gradients of a client's samples.",
    (
        Part(
            says(
                over_samples(w.norm2(CHANGE)),
                2 * S * over_samples(LEVEL),
                w.majorised(F, S).called("Assumption 1"),
                w.convex(F, mu).called("Assumption 2"),
                w.at_most(over_samples(w.norm2(f(z).gradient(point))), R2).called(
                    "Assumption 4 at w"
                ),
                minimum(),
            ),
            Model(
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
            ),
            reading="one client: z ranges over its samples, of probability p_z and "
            "loss f_z; F is the client's loss, of which Assumptions 1 and 2 speak",
        ),
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
    return combine([(theorem, c * 4 * S.value) for theorem, c in uses])


EQ_13_5 = Claim(
    "huang2023/eq-13/5",
    f"{PROOF}, (13) last equality",
    Kind.EQUATION,
    "The mean of the clients' Bregman distances.",
    (
        Part(
            equal(
                4 * S / N * w.over_clients(n, BREGMAN),
                4 * S * (F(point) - F(swapped)),
                assumption_1(),
                assumption_2(),
                minimum(),
            ),
            Model(
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
        ),
    ),
    severity=Severity.PROOF,
    cause="It is F(w) - F(w*): w_c* is replaced by w_c.",
    repair=Repair(
        (
            Part(
                equal(
                    4 * S * mean(BREGMAN),
                    4 * S * (F(point) - F(best)),
                    minimum(),
                ),
                Proof(bregman_mean, r"$\nabla F(w^*)=0$."),
            ),
        ),
        "F(w) - F(w*) for F(w) - F(w_c, w_s*), p_n for 1/N",
    ),
)
GAP = F(at) - F(mixed(at, best))


def second_moment() -> Theorem:
    r"""Return :math:`\|\nabla_sF\|^2\le2S(F-F^*)` and the noise."""
    g, x = F.gradient(at).value, at.value
    own = w.server(mean(f().gradient(at))).value
    xi = w.over_clients(n, p() * once(w.server(one.xi(n, i, j)))).value
    r_ = Round(one.split)
    below = x - g * (1 / S.value)
    from_mean = majorant_of_mean(S.value, x, below)
    return combine(
        [
            (from_mean, 2 * S.value),
            (rules.lowest(F.value, below), 2 * S.value),
            (rules.blocks(g, g), 1),
            (minibatch.fresh_noise(r_, SERVER), 1),
            (centred(r_, SERVER, own, 1, p().value), -2),
            (rules.mean_gradient(x, own + w.part(SERVER, F.gradient(at)).value), 1),
        ],
        [(w.client(F.gradient(at)).value, 1)],
    )


EQ_13 = Claim(
    "huang2023/eq-13",
    f"{PROOF}, (13)",
    Kind.EQUATION,
    "The second moment of the server's mean gradient.",
    (
        Part(
            says(
                w.norm2(plain_mean(w.server(one.g(n, i, 0)))),
                4 * S * GAP + 2 * R2 / N**2,
                *assumptions(one),
            ),
            Model(lambda: spread_noise(5), f"{NOISY}, N = 5: 1/5 > 4/25."),
            reading=STEP,
        ),
    ),
    severity=Severity.PROOF,
    cause="At w* the left side is of order 1/N, the right side 2R^2/N^2.",
    uses="eq-13/1 eq-13/2 eq-13/3 eq-13/4 eq-13/5",
    repair=Repair(
        (
            Part(
                says(
                    w.norm2(w.over_clients(n, p() * w.server(fresh(one)))),
                    2 * S * (F(at) - F(best)) + noise(),
                    *assumptions(one),
                ),
                Proof(
                    second_moment,
                    r"Independent noise of mean 0, and "
                    r"$\|\nabla_sF(w)\|^2\le\|\nabla F(w)\|^2\le2S(F(w)-F^*)$ by a "
                    r"step of $1/S$.",
                ),
                reading=STEP,
            ),
        ),
        "F(w) - F(w*) for F(w) - F(w_c, w_s*), sum p_n^2 sigma_n^2 for 2R^2/N^2",
    ),
)

# (14)-(18) -------------------------------------------------------------------------

SMALL = w.at_most(eta(), 1 / (4 * S))
SHRUNK = (1 - mu * eta()) * away(at, SERVER)
SQUARED = 2 * eta() ** 2 * R2 / N**2


def joint_recursion() -> Part:
    """Return the recursion of both blocks together."""
    return Part(
        says(
            away(after),
            (1 - mu * eta()) * away(at) + eta() ** 2 * R2,
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
                -eta() * (F(point) - F(swapped)),
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
                says(-eta() * (F(mixed(best, point)) - F(best)), 0, minimum()),
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
    start = w.as_form(away(r.x(0), SERVER)) - START
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
    EQ_14,
    EQ_15_SIGN,
    EQ_15,
    induction(16, PROOF, "B", 15),
    EQ_17,
    EQ_18,
)
