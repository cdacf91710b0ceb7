r"""Section 2.3: participation, the aggregation (3), and what it offsets.

A client takes part with probability q_n, independently. App. C.2 averages updates, (3)
averages models; the two are compared by what a round does to the model, its mean (in
the direction of grad h(x^t), any fixed vector where h is linear) and its mean square.
"""

from __future__ import annotations

from functools import partial

from sfl_theory import evidence
from sfl_theory.evidence import Kind, Part, Severity, broken, equal, proved, repaired
from sfl_theory.kernel import rules
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side, Split
from sfl_theory.models.federation import federation, huber, plus, quadratic, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run, Vector
from sfl_theory.papers.han2024 import defects
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import N, S, a, eps2, eta, i, n, run, t, tau
from sfl_theory.proofs import aggregation
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

V1 = run(Version.V1, who=Participants.UPDATES)
V1_MODELS = run(Version.V1, who=Participants.MODELS)
h = w.named("h")


def fixed(r: Run) -> Vector:
    """Return grad h(x^t) for any h: a fixed vector if h is linear."""
    return h.gradient(r.x(t))


def displaced(r: Run, *assumed: Assumed) -> evidence.Says:
    """Return the mean square by which App. C.2's update moves the clients' block."""
    steps = w.below(i, tau, r.g(n, t, i))
    whole = w.norm2(w.client(w.over_clients(n, a() * steps)))
    each = a() ** 2 * (w.inverse_chance(n) - 1) * w.norm2(w.client(steps))
    return equal(
        w.norm2(w.client(r.x(t + 1) - r.x(t))),
        eta() ** 2 * (whole + w.over_clients(n, each)),
        *s.assumption_C1(r),
        w.participation(r),
        w.at_most(16 * S * tau * eta(), 1),
        *assumed,
    )


def two_clients() -> ModelData:
    """Return two clients at minima that they share, the second drawn half of the time.

    Nothing moves them, so whatever changes the model is aggregation.
    """
    one = plus(huber((1, 0), 1, 1), huber((0, 1), 1, 1))
    return federation(
        (one, one),
        (1, 1),
        participation=(1, "1/2"),
        rounds=1,
        numbers={S: 1, w.nonnegative("G2"): 2, eps2: 0, t: 0, tau: 2},
        families={"sigma2": (0, 0)},
        rates={"eta": "1/32"},
    )


EQ_3 = Kind.ALGORITHM(
    "han2024/eq-3",
    "Sec. 2.3 (3), Algorithms 1 and 2, App. C.2",
    "Aggregating models (3) is the update analysed in App. C.2.",
    broken(
        displaced(V1_MODELS),
        two_clients,
        r"Two equal clients start in their minimum, $q = (1, 1/2)$: App. C.2 "
        "stays there, (3) multiplies the model with 1/2 or 3/2.",
        "x is made by (3); the right side is the mean square of App. C.2's "
        "update, see the repair",
    ),
    severity=Severity.THEOREM,
    cause=defects.SCALED.words,
    root=defects.SCALED,
    scope="where q_n < 1 for some n; for q_n = 1 it is (2)",
    uses="eq-2",
    repair=repaired(
        "updates are aggregated instead of models",
        proved(
            displaced(V1),
            lambda: aggregation.moved_by_drawn(V1.split, Side.CLIENT),
            r"$\mathbb{E}(I_n/q_n)^2 = 1/q_n$, independently of the gradients "
            "and of the other clients.",
            "x is made by App. C.2",
            model=two_clients,
        ),
    ),
)

UNBIASED = Kind.EQUATION(
    "han2024/eq-3/unbiased",
    "Sec. 2.3 (3)",
    "(3) offsets the bias for SFL-V1: the mean of the aggregated model is that of (2).",
    proved(
        equal(
            w.inner(w.client(V1_MODELS.x(t + 1)), fixed(V1_MODELS)),
            w.inner(
                w.client(w.over_clients(n, a() * V1_MODELS.p(n, t, tau))),
                fixed(V1_MODELS),
            ),
            w.participation(V1_MODELS),
        ),
        lambda: aggregation.mean_of_models(
            V1_MODELS.split, Side.CLIENT, fixed(V1_MODELS).value
        ),
        r"$\mathbb{E}I_n^t/q_n = 1$, independent of the local models.",
        "for every h, a linear one among them, which gives the mean in every fixed "
        "direction; the right side is (2) of the same round",
    ),
    scope="for q_n > 0; the mean is right, the variance not that of App. C.2: see eq-3",
)


def resting(version: Version) -> Run:
    """Return a run in which clients do not move, so that only weights act."""
    still = w.pace(tau, w.rate(0))
    split = Split(version, Participants.MODELS, still, w.pace(tau, w.rate(eta)))
    return Run(split, f"SFL-{version}")


WEIGHTS = Kind.EQUATION(
    "han2024/eq-3/unbiased/weights",
    "Sec. 2.3 (3)",
    "(3) offsets the bias of the weights, for both algorithms.",
    *tuple(
        proved(
            equal(
                w.inner(w.client(r.x(t + 1)), fixed(r)),
                w.inner(w.client(r.x(t)), fixed(r)),
                w.participation(r),
            ),
            partial(aggregation.mean_of_weights, r.split, fixed(r).value),
            r"$\mathbb{E}\sum_n a_nI_n/q_n = 1$.",
            f"{r.tex}; clients that do not move send x^t, and (3) multiplies "
            "it "
            "with the sum of the weights",
        )
        for r in (resting(Version.V1), resting(Version.V2))
    ),
    scope="for q_n > 0",
)

chance = w.nonnegative("chance", "q_n")
likely = w.positive("chance", "q_n")
factor = w.nonnegative("factor", "c_n")


def inverse(q: Number) -> tuple[Assumed, ...]:
    """Return that a factor is 1/q_n unless q_n = 0."""
    return w.equals(q * (1 - q * factor), w.number(0))


def positive(sign: int, left: Number, right: Number) -> Part:
    """Return one of the inequalities that the equality for q_n > 0 is."""
    rest = w.form(sign * likely * (1 - likely * factor)).value
    return proved(
        evidence.says(left, right, w.at_most(likely, 1), *inverse(likely)),
        lambda: combine((rules.assume(rest), (1 / likely).value)),
        r"Divided by $q_n > 0$.",
        "one of the two inequalities that the equality is",
        model=lambda: federation((tilt(0),), (0,), numbers={likely: "1/2", factor: 2}),
    )


Q_ZERO = Kind.EQUATION(
    "han2024/eq-3/unbiased/q-zero",
    "Sec. 2.3 (3)",
    "(3) offsets the bias for every q_n in [0, 1], q_n = 0 included.",
    broken(
        equal(chance * factor, 1, w.at_most(chance, 1), *inverse(chance)),
        lambda: federation((tilt(0),), (0,), numbers={chance: 0, factor: 1}),
        r"$q_n = 0$: the client never counts, whatever its factor.",
        "q_n c_n = 1 is E[I_n c_n] = 1 for the factor c_n of client n, "
        "which is 1/q_n where q_n is not 0",
    ),
    severity=Severity.SLIP,
    cause="A client with q_n = 0 never counts.",
    scope="at q_n = 0, which Sec. 2.3 admits and (3) divides by",
    repair=repaired(
        r"$q_n > 0$",
        positive(1, likely * factor, w.number(1)),
        positive(-1, w.number(1), likely * factor),
    ),
)

TWO_STEPS = w.pace(2, w.rate(eta))
V2 = Run(Split(Version.V2, Participants.MODELS, TWO_STEPS, TWO_STEPS), "SFL-v2")
x = V2.x(t)
F = w.local(n)
FULL = x - eta() * F.gradient(x) - eta() * F.gradient(x - eta() * F.gradient(x))

SFL_V2 = Kind.EQUATION(
    "han2024/eq-3/unbiased/sfl-v2",
    "Sec. 2.3 (3) and Algorithm 2",
    "For SFL-V2 the mean of the next client model by (3) is that of (2) under full "
    "participation.",
    broken(
        equal(
            w.inner(w.client(V2.x(t + 1)), fixed(V2)),
            w.inner(w.client(w.over_clients(n, a() * FULL)), fixed(V2)),
            s.assumption_31(),
            *s.assumption_32(V2),
            s.assumption_34(),
            w.participation(V2),
            w.every_client(n, w.variance(V2, n, w.number(0))),
            w.at_most(N, 1),
            w.at_most(32 * S * eta(), 1),
        ),
        lambda: federation(
            (quadratic([["2/3", "1/3"], ["1/3", "2/3"]], (0, 0)),),
            (1, -1),
            participation=("1/2",),
            order=((0, 0), (0, 1)),
            rounds=1,
            numbers={S: 1, eps2: 0, t: 0},
            families={"sigma2": (0,)},
            rates={"eta": "1/32"},
            named={h: tilt(1, 0)},
        ),
        r"One client drawn half of the time, two steps: the server moves by "
        r"$2\eta$ or not at all, and the client's second gradient with it.",
        "a special case: one client, two steps, no noise, where full "
        "participation is two steps of gradient descent",
    ),
    severity=Severity.PROOF,
    cause="A client's gradients pass through the server's model, which moves by "
    "eta/q_n when the client takes part.",
    scope="with 'offsets the bias' read of the next model's mean; as a statement on "
    "the weights it is eq-3/unbiased/weights, proved.",
    uses="alg-2 eq-3/unbiased/weights",
)

CLAIMS = (EQ_3, UNBIASED, WEIGHTS, Q_ZERO, SFL_V2)
