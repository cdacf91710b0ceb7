"""Appendix B: Lemmas 1 and 2, a round of one block and of both, Proposition 1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Claim, Kind, Severity, broken, equal, repaired
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Local, Side
from sfl_theory.models.federation import coin, federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.dachille2024 import setting as s
from sfl_theory.papers.dachille2024.setting import F, S, eta, i, k, local, t, tau, theta
from sfl_theory.proofs import derived, equal_steps, local_steps
from sfl_theory.proofs.export import ModelData

at_theta = s.f.gradient(theta)
LEMMA_1_RATE = w.at_most(8 * S**2 * tau**2 * eta() ** 2, 1).called(
    "eta <= 1/(sqrt(8) S tau), squared"
)
LEMMA_2_RATE = w.at_most(2 * S * tau * eta(), 1).called("eta <= 1/(2 S tau)")


def steps(summand: Form) -> Form:
    """Return the sum over a round's steps."""
    return w.below(i, tau, summand)


def own(summand: Form) -> Form:
    r"""Return :math:`\\sum_k\\alpha_k^2` of something."""
    return w.over_clients(k, s.alpha**2 * summand)


# Lemma 1: drift --------------------------------------------------------------------


def three(size: Number, gradient: Form) -> Form:
    """Return ``size (sigma_k^2 + eps^2 + ||grad f||^2)`` as it is printed."""
    return w.form(size * s.sigma2) + size * s.eps2 + size * gradient


def drift_bound(gradient: Form) -> Form:
    """Return the right side of (7)."""
    return 2 * tau**2 * three(8 * tau * eta() ** 2, gradient)


DRIFT = s.of_clients(
    steps(w.norm2(local(i) - theta)),
    drift_bound(w.norm2(at_theta)),
    *s.assumptions(),
    LEMMA_1_RATE,
)
SUM = s.proved(
    DRIFT,
    equal_steps.lemma_1,
    r"A step has moved by $\eta$ times a sum of i gradients and a martingale; with "
    r"$\sum i^2\le\tau^3/3$ the drift is at most $2u^2$ of itself plus the rest, "
    r"$u=S\eta\tau$, $8u^2\le1$. No recursion is needed.",
    s.CLIENT_BY_CLIENT,
)
LEMMA_1 = Kind.LEMMA(
    "dachille2024/lemma-1",
    "App. B, Lemma 1, (7)",
    "A client's drift in a round.",
    SUM,
    scope="for Lipschitz gradients; 32/9 would do for 16 at eps^2 and the gradient",
    uses="eq-10",
)
y, z = w.point("y"), w.point("z")
change_of_gradient = w.norm2(F.gradient(y) - F.gradient(z))
lipschitz = s.of_clients(change_of_gradient, S**2 * w.norm2(y - z))


def hills() -> ModelData:
    """Return two clients with ``-150 ||x||^2``, which meets (2) with any S."""
    return federation(
        [parabola(-300, [0, 0])] * 2,
        [0, 1],
        numbers={S: 1, s.eps2: 0, t: 0, tau: 3},
        families={"c": [1, 1], "sigma2": [0, 0]},
        rates={"eta": Fraction(1, 9)},
    )


def hill() -> ModelData:
    """Return the same functions at two points."""
    return federation(
        [parabola(-300, [0, 0])] * 2,
        [0, 0],
        numbers={S: 1},
        families={"c": [1, 1]},
        points={y: [[0, 0]], z: [[0, 1]]},
    )


def from_lipschitz() -> Theorem:
    """Return that S-Lipschitz gradients are such, for every client."""
    one = derived.lipschitz(Local(local_steps.n), local_steps.S, y.value, z.value)
    return equal_steps.each_client(one)


LIPSCHITZ = Kind.ASSUMPTION(
    "dachille2024/assumption-2/lipschitz",
    "(2), as the proof of Lemma 1 uses it",
    "(2) makes gradients S-Lipschitz, and Lemma 1 follows from it.",
    broken(
        replace(lipschitz, stated=(s.assumption_2_printed(),)),
        hill,
        "A concave function meets (2) with any S.",
        s.CLIENT_BY_CLIENT,
    ),
    broken(
        s.of_clients(
            steps(w.norm2(local(i) - theta)),
            drift_bound(w.norm2(at_theta)),
            s.assumption_2_printed(),
            *s.assumptions()[1:],
            LEMMA_1_RATE,
        ),
        hills,
        "Three steps down a hill: each is 34 times the last.",
        f"Lemma 1 with (2) as printed; {s.CLIENT_BY_CLIENT}",
    ),
    severity=Severity.PROOF,
    scope="under (2) as printed; every other entry reads (2) as Lipschitz gradients, "
    "but prop-1/one-sided, where Proposition 1 fails under (2) alone",
    cause="(2) bounds curvature from above only",
    repair=repaired(
        "assume Lipschitz gradients",
        s.proved(
            replace(lipschitz, stated=(s.assumption_2(),)),
            from_lipschitz,
            reading=s.CLIENT_BY_CLIENT,
        ),
        SUM,
    ),
)
EQ_8 = Kind.EQUATION(
    "dachille2024/eq-8",
    "App. B, (8), (9)",
    "One local step.",
    s.proved(
        s.of_clients(
            w.norm2(local(i + 1) - theta),
            (1 + 2 / tau) * w.norm2(local(i) - theta)
            + three(8 * tau * eta() ** 2, w.norm2(at_theta)),
            *s.assumptions(),
            LEMMA_1_RATE,
            w.at_most(i + 1, tau),
            w.at_most(i, tau),
        ),
        equal_steps.eq_8,
        r"Young with $1/\tau$, then $\|a+b+c+d\|^2\le4(\dots)$, $1+\tau\le2\tau$.",
        f"with i for i - 1; {s.CLIENT_BY_CLIENT}; i <= tau is implied",
    ),
    scope="from end to end and in its last line; the noise would need no factor tau",
    uses="assumption-2 assumption-3 assumption-4",
)


EQ_8_SHARPER = Kind.EQUATION(
    "dachille2024/eq-8/sharper",
    "not in the paper",
    "More than (8) says of one local step.",
    s.proved(
        s.of_clients(
            w.norm2(local(i + 1) - theta),
            (1 + 2 / tau) * w.norm2(local(i) - theta)
            + eta() ** 2 * s.sigma2
            + 6 * tau * eta() ** 2 * (w.norm2(at_theta) + s.eps2),
            *s.assumptions(),
            LEMMA_1_RATE,
            w.at_most(i + 1, tau),
            w.at_most(i, tau),
        ),
        equal_steps.sharper_step,
        "The noise is orthogonal to what came before its step; three squares.",
        s.CLIENT_BY_CLIENT,
    ),
    scope=r"with $\eta^2$ for $8\tau\eta^2$ in front of the noise, 6 for 8",
    uses="assumption-2 assumption-3 assumption-4",
)
two = s.run(steps=w.number(2))


def at_rest() -> ModelData:
    """Return two clients that do not move, and eps^2 = 1."""
    return federation(
        [parabola(1, [0, 0])] * 2,
        [0, 0],
        numbers={S: 1, s.eps2: 1, t: 0},
        families={"c": [1, 1], "sigma2": [0, 0]},
        rates={"eta": "1/32"},
    )


EQ_10 = Kind.EQUATION(
    "dachille2024/eq-10",
    "App. B, (10)",
    "The drift of all steps, from (9).",
    broken(
        equal(
            w.over_clients(
                k, s.CHOSEN * w.below(i, 2, w.norm2(two.p(k, t, i) - two.x(t)))
            ),
            w.over_clients(
                k, s.CHOSEN * three(16 * eta() ** 2, w.norm2(s.f.gradient(two.x(t))))
            ),
            *s.assumptions(two),
            w.at_most(32 * S**2 * eta() ** 2, 1),
        ),
        at_rest,
        "Nobody moves, eps^2 may be any bound.",
        "the first line for tau = 2, where the double sum of powers of C "
        f"is 1: drift = B; {s.CLIENT_BY_CLIENT}",
    ),
    SUM,
    severity=Severity.SLIP,
    scope="in its first line; the last is Lemma 1, which is true; the step from "
    r"powers of "
    r"$1+2/\tau$ to $2\tau^2$ has no term here (it is at most 1.1 tau^2 by "
    r"$(1+2/\tau)^\tau\le e^2$)",
    cause="the first '=' has to be '<='",
    uses="eq-8",
    repair=repaired("'<=' for the first '='", SUM),
)

# Lemma 2: gradients ------------------------------------------------------------------


def coin_on_the_server(first: bool) -> ModelData:
    """Return two bowls on the server at their minimum, noise +-1, two steps."""
    here: dict[str | Number, int | Fraction | str] = {i: 0} if first else {}
    return federation(
        [parabola(1, [0, 0])] * 2,
        [0, 0],
        noise=[coin(0, 1)] * 2,
        rounds=1,
        numbers={S: 1, s.eps2: 0, t: 0, tau: 2, **here},
        families={"c": [1, 1], "sigma2": [1, 1]},
        rates={"eta": "1/100"},
    )


SAMPLES = (
    "g^{t,i} and g^t belong to different samples: their difference keeps the noise, "
    "however small the rate is"
)
ONE_SAMPLE = (
    "; one mini-batch for the whole round, as in Algorithm 1, and every sample's loss "
    "S-smooth would make (12) right, but no later gradient unbiased, which (18) needs"
)
NOISY = (
    r"At the minimum, noise $\pm1$: $E|g^1-g^0|^2=1+(1+\eta)^2$, the bound is small."
)


def change(side: Side | None = None) -> Form:
    """Return the left side of (11), or of (22)."""
    return steps(w.norm2(s.stochastic(i, side) - s.stochastic(0, side)))


def change_bound(side: Side | None = None) -> Form:
    """Return the right side of (11), or of (22)."""
    own_gradient = w.norm2(F.gradient(theta, side))
    return 8 * tau**3 * eta() ** 2 * S**2 * (own_gradient + s.sigma2)


def accumulation(
    name: str, where: str, kind: Kind, uses: str, side: Side | None = None
) -> Claim:
    """Return Lemma 2, its last step or its use for a block."""
    first_rate = s.rates()[0]
    left, right = change(side), change_bound(side)
    true = s.of_clients(
        left, change_bound() + 3 * tau * s.sigma2, *s.assumptions(), LEMMA_2_RATE
    )
    return kind(
        f"dachille2024/{name}",
        where,
        "How much a client's stochastic gradients change in a round.",
        broken(
            s.of_clients(left, right, *s.assumptions(), first_rate),
            partial(coin_on_the_server, False),
            NOISY,
            "even under the rates of Proposition 1, which are below "
            f"1/(2 S tau); {s.CLIENT_BY_CLIENT}",
        ),
        severity=Severity.PROOF if side or kind is Kind.EQUATION else Severity.THEOREM,
        scope="for every sigma > 0 and small rates; true without noise"
        + (", with the whole gradient on the right" if side else "")
        + ONE_SAMPLE,
        cause=SAMPLES,
        uses=uses,
        first_failure="eq-12" if kind is Kind.LEMMA else "",
        repair=repaired(
            r"add $3\tau\sigma_k^2$" + (" and take the whole gradient" if side else ""),
            s.proved(
                true,
                partial(change_of_gradients, side),
                "The later noise is orthogonal to the rest; Lipschitz gradients, "
                "drift.",
                s.CLIENT_BY_CLIENT,
            ),
        ),
    )


def change_of_gradients(side: Side | None) -> Theorem:
    """Return the repaired lemma, summed over clients."""
    return equal_steps.each_client(equal_steps.change_of_gradients(side))


def one_change() -> Theorem:
    """Return the repaired (12), summed over clients."""
    later = equal_steps.gradient_change(STEP + 1, STEP)
    return equal_steps.each_client(later)


STEP = i.value
moved = w.norm2(local(i + 1) - local(i))
gradients_moved = w.norm2(s.stochastic(i + 1) - s.stochastic(i))
LEMMA_2 = accumulation("lemma-2", "App. B, Lemma 2, (11)", Kind.LEMMA, "eq-17")
EQ_12 = Kind.EQUATION(
    "dachille2024/eq-12",
    "App. B, (12), third inequality",
    "Gradients of neighbouring steps differ as the models do.",
    broken(
        s.of_clients(
            gradients_moved,
            S**2 * moved,
            *s.assumptions(),
            s.rates()[0],
            w.at_most(i + 2, tau),
        ),
        partial(coin_on_the_server, True),
        NOISY,
        f"with i for i - 1; {s.CLIENT_BY_CLIENT}",
    ),
    severity=Severity.PROOF,
    scope=f"for every sigma > 0 and small rates; true without noise{ONE_SAMPLE}",
    cause=SAMPLES,
    uses="assumption-2",
    repair=repaired(
        r"add $3\sigma_k^2$ (and 2 in front of $S^2$)",
        s.proved(
            s.of_clients(
                gradients_moved,
                2 * S**2 * moved + 3 * s.sigma2,
                s.assumption_2(),
                *s.assumption_3(),
                w.at_most(i + 2, tau),
                w.at_most(i + 1, tau),
            ),
            one_change,
            "The later noise is orthogonal to the rest.",
            s.CLIENT_BY_CLIENT,
            steps=2,
        ),
    ),
)
EQ_17 = accumulation("eq-17", "App. B, (17)", Kind.EQUATION, "eq-12")

CLAIMS = (LEMMA_1, LIPSCHITZ, EQ_8, EQ_8_SHARPER, EQ_10, LEMMA_2, EQ_12, EQ_17)
