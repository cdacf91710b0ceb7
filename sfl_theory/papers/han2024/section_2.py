r"""Section 2, App. B and C.2: aggregation (2), (3), the update and the two algorithms.

A run is defined by App. C.2 with tau local steps, i = 0, ..., tau - 1 on each side; the
boxes of App. B and the printed sums are compared with it, in a norm that has to vanish.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory import evidence
from sfl_theory.evidence import Kind, Part, Severity, broken, equal, proved, repaired
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Side, Split
from sfl_theory.models.federation import Exact, federation, huber, plus, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run, Vector
from sfl_theory.papers.han2024 import defects
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import N, S, T, a, eta, f, i, j, n, run, t, tau
from sfl_theory.proofs import aggregation
from sfl_theory.proofs.export import ModelData

V1 = run(Version.V1, s.tau_server)
FEDAVG = run(Version.V1)
V2 = run(Version.V2)
ONE_STEP = w.pace(1, w.rate(eta))
V2_ONE = Run(Split(Version.V2, Participants.EVERYONE, ONE_STEP, ONE_STEP), "SFL-v2")
BLOCK: dict[Side, Callable[[Vector], Vector]] = {
    Side.CLIENT: w.client,
    Side.SERVER: w.server,
}
STEPS: dict[Side, Number] = {Side.CLIENT: tau, Side.SERVER: s.tau_server}
SUM_FROM_0 = r"$\tau$ local steps: the client's sums end at $i = \tau - 1$"


def vanishes(u: Vector, *assumed: Assumed) -> evidence.Says:
    """Return that a vector is zero."""
    return equal(w.norm2(u), 0, *assumed)


def gradients(r: Run, upper: Number, at: Number = t) -> Vector:
    """Return ``sum_n a_n sum_{i<upper} g_n``."""
    return w.over_clients(n, a() * w.below(i, upper, r.g(n, at, i)))


def models(r: Run, upper: Number | int, at: Number | int = t) -> Vector:
    """Return ``sum_n a_n x_n``, the mean of the clients' local models."""
    return w.over_clients(n, a() * r.p(n, at, upper))


def mean_of_models(r: Run, side: Side, steps: Number) -> Part:
    """Return (2) on a side: x(t+1) is the weighted mean of the local models."""
    gap = BLOCK[side](models(r, steps) - r.x(t + 1))
    theorem = _of(aggregation.aggregated, r, side)
    return proved(vanishes(gap), theorem, r"$\sum_n a_n = 1$.")


def update(r: Run, side: Side, summed: Vector) -> Part:
    """Return App. C.2's update of a side."""
    gap = BLOCK[side](r.x(t + 1) - r.x(t) + eta() * summed)
    theorem = _of(aggregation.updated, r, side)
    return proved(vanishes(gap), theorem, "The run's definition.", SUM_FROM_0)


def _of(
    lemma: Callable[[Split, Side], Theorem], r: Run, side: Side
) -> Callable[[], Theorem]:
    return lambda: lemma(r.split, side)


EQ_2 = Kind.EQUATION(
    "han2024/eq-2",
    "Sec. 2.2 (2) and App. C.2",
    "Aggregating models (2) is the update of App. C.2 under full participation, on "
    "both sides.",
    *tuple(
        part
        for side in Side
        for part in (
            mean_of_models(V1, side, STEPS[side]),
            update(V1, side, gradients(V1, STEPS[side])),
        )
    ),
)

SEC_2_2_FL = Kind.TEXT(
    "han2024/text/sec-2.2/fl",
    "Sec. 2.2",
    "With equal periods SFL-V1 is FL (FedAvg), at every cut: local steps on the whole "
    "model, then a weighted mean.",
    proved(
        equal(
            s.each(
                w.norm2(
                    FEDAVG.p(n, t, i)
                    - FEDAVG.x(t)
                    + eta() * w.below(j, i, FEDAVG.g(n, t, j))
                )
            ),
            0,
            w.at_most(i, tau),
        ),
        lambda: aggregation.local_whole(FEDAVG.split),
        "Both blocks make the same steps, at the same rate.",
        s.EACH,
    ),
    proved(
        vanishes(models(FEDAVG, tau) - FEDAVG.x(t + 1)),
        lambda: aggregation.round_whole(FEDAVG.split),
        "Each block is aggregated after the same number of steps.",
    ),
    uses="eq-2",
    words="The cut does not occur in either statement.",
)


def sizes(steep: Exact, apart: Exact) -> dict[str | Number, Exact]:
    """Return the constants of the assumptions, S = 1."""
    return {S: 1, s.G2: steep, s.eps2: apart}


def clients_apart(**more: int) -> ModelData:
    """Return two clients with Huber functions, x_c^0 = x_s^0 = 1, two local steps."""
    one = plus(huber((1, 0), 0, 2), huber((0, 1), 0, 2))
    return federation(
        (one, plus(one, tilt("1/4", "1/4"))),
        (1, 1),
        weights=("3/4", "1/4"),
        numbers={**sizes(11, "9/128"), tau: 2, **({t: more["t"]} if more else {})},
        families={"sigma2": (0, 0)},
        rates={"eta": "1/32"},
    )


CLIENT_SUM = Kind.ALGORITHM(
    "han2024/app-C.2/client-sum",
    "App. C.2 against Algorithms 1 and 2",
    "The client sums of App. C.2, i = 0, ..., tau, are the algorithms' local steps.",
    broken(
        vanishes(
            w.client(
                FEDAVG.x(t + 1) - FEDAVG.x(t) + eta() * gradients(FEDAVG, tau + 1)
            ),
            *s.assumption_C1(FEDAVG),
            w.at_most(2 * S * tau * eta(), 1),
        ),
        lambda: clients_apart(t=0),
        r"Two steps with $\eta = 1/32$: the third gradient moves $x_c$ on.",
        "x is made by tau local steps; noise of step tau is 0",
    ),
    severity=Severity.SLIP,
    scope="wherever the clients' gradients after the last step do not cancel",
    cause="They have one gradient more: tau + 1 of them.",
    repair=repaired(
        r"the sums end at $\tau - 1$, as on the server side",
        update(FEDAVG, Side.CLIENT, gradients(FEDAVG, tau)),
    ),
)

ONE_ROUND = broken(
    vanishes(
        w.client(models(FEDAVG, 1, 0) - FEDAVG.x(1)),
        *s.assumption_C1(FEDAVG),
        w.at_most(16 * S * tau * eta(w.number(0)), 1),
    ),
    lambda: clients_apart(),
    r"$\tau = 2$: the box's model after its only step is not that after two.",
    "T = 1: the loop makes the step i = 0 only, and i % tau = 0 aggregates it",
)

ALG_1 = Kind.ALGORITHM(
    "han2024/alg-1",
    "App. B, Algorithm 1, against App. C.2",
    "Algorithm 1, line by line, makes the updates of App. C.2 (full participation, "
    "tau_server = tau).",
    broken(
        equal((T - 1) * s.tau_max + 1, T * s.tau_max),
        lambda: federation((tilt(0),), (0,), numbers={T: 2, s.tau_max: 3}),
        r"$T = 2$ rounds of 3 steps: the loop has 4 iterations, not 6.",
        "iterations of line 2, i = 0, ..., (T-1) tau_max, against T rounds "
        "of tau_max steps",
    ),
    ONE_ROUND,
    severity=Severity.SLIP,
    cause="Its loop i = 0, ..., (T-1) tau_max makes (T-1) tau_max + 1 steps instead of "
    "T tau_max, and i % tau = 0 aggregates after the first one.",
    scope="under full participation, where it does not matter that P_t is drawn in "
    "every iteration; t is never advanced",
    uses="eq-2",
    repair=repaired(
        r"the loop's range $i = 1, \dots, T\tau_{max}$: aggregation then follows "
        r"$\tau$ steps of both sides",
        mean_of_models(FEDAVG, Side.CLIENT, tau),
        mean_of_models(FEDAVG, Side.SERVER, tau),
    ),
)

CLOCK = Kind.ALGORITHM(
    "han2024/alg-1/clock",
    "App. B, Algorithm 1, against App. C.2",
    "For tau != tau_server Algorithm 1 makes the steps of App. C.2, tau on the client "
    "side and tau_server on the server side per round.",
    broken(
        vanishes(
            w.server(models(FEDAVG, s.tau_server, 0) - FEDAVG.x(1)),
            *s.assumption_C1(FEDAVG),
            w.at_most(N, 1),
            w.at_most(s.tau_server, tau),
            w.at_most(16 * S * tau * eta(w.number(0)), 1),
        ),
        lambda: federation(
            (plus(huber((1, 0), 0, 2), huber((0, 1), 0, 2)),),
            (1, 1),
            numbers={**sizes(8, 0), tau: 2, s.tau_server: 1},
            families={"sigma2": (0,)},
            rates={"eta": "1/32"},
        ),
        r"$\tau = 2$, $\tilde\tau = 1$: the server makes two steps, not "
        "one.",
        "a special case: one client, so that aggregation changes nothing, "
        "and tau_server <= tau = tau_max. In a round of the box both sides "
        "make tau steps; App. C.2's server stays where tau_server steps lead",
    ),
    severity=Severity.PROOF,
    cause="Both sides step at every iteration: tau_max server steps per round.",
    scope="with one counter i for both sides, as the box has it; with a counter of its "
    "own for each side the box makes App. C.2's update, and T means different times on "
    "the two sides",
    uses="eq-2",
    repair=repaired(
        "a counter for each side; a side that has made its steps waits",
        mean_of_models(V1, Side.CLIENT, tau),
        mean_of_models(V1, Side.SERVER, s.tau_server),
    ),
)

VISITS = w.over_clients(n, w.below(i, tau, V2.g(n, t, i)))

ALG_2 = Kind.ALGORITHM(
    "han2024/alg-2",
    "App. B, Algorithm 2, against App. C.2",
    "Line 12 of Algorithm 2 as indexed, which reads step i and writes step i + 1 for "
    "every participant, is the server's update of App. C.2.",
    broken(
        equal(
            s.each(
                w.norm2(
                    w.server(
                        V2_ONE.x(t + 1)
                        - V2_ONE.x(t)
                        + eta()
                        * (w.local(n).gradient(V2_ONE.x(t)) + V2_ONE.xi(n, t, 0))
                    )
                )
            ),
            0,
            *s.assumption_C1(V2_ONE),
            w.at_most(8 * S * N**2 * eta(), 1),
        ),
        lambda: federation(
            (
                plus(huber((1, 0), 0, 1), huber((0, 1), 0, 1)),
                plus(huber((1, 0), 0, 1), huber((0, 1), "1/2", 1)),
            ),
            (3, 3),
            order=((0, 0), (1, 0)),
            numbers={**sizes(2, 1), t: 0},
            families={"sigma2": (0, 0), "b": (1, 1)},
            rates={"eta": "1/32"},
        ),
        r"Slopes are 1 wherever the run is: two visits move $x_s$ by $2\eta$, "
        r"the line as indexed by $\eta$, whichever client writes last.",
        "a special case: one local step. x is made by App. C.2; as indexed "
        "all read x_s^t and the step of one client survives, the same claim for "
        "every n: a sum with arbitrary b_n",
    ),
    severity=Severity.SLIP,
    cause="All participants read the same model and write the same next one: one "
    "update survives.",
    scope="already at q = 1; read as Sec. 2.2 says, one client after the other, the "
    "line is the repair",
    repair=repaired(
        "one counter per visit instead of one per iteration, in any order",
        update(V2, Side.SERVER, VISITS),
    ),
)

x = w.point("x")
OBJECTIVE_GAP = w.server(w.over_clients(n, w.local(n).gradient(x)) - N * f.gradient(x))

ALG_2_OBJECTIVE = Kind.ALGORITHM(
    "han2024/alg-2/objective",
    "App. B, Algorithm 2, and App. C.2, against (1)",
    "To first order in eta the server of Algorithm 2 steps along the gradient of (1), "
    "N grad_s f.",
    broken(
        vanishes(OBJECTIVE_GAP, s.assumption_31()),
        lambda: federation(
            (huber((0, 1), 0, 1), huber((0, 1), "1/2", 1)),
            (0, 0),
            weights=("3/4", "1/4"),
            points={x: (("0", "1/8"),)},
            numbers={S: 1},
        ),
        r"$a = (3/4, 1/4)$: $\nabla f$ vanishes at $x_s = 1/8$, the unweighted "
        "sum does not.",
        "all steps at one point x: the sum of the visits' gradients there",
    ),
    severity=Severity.THEOREM,
    cause="It steps along sum_n grad_s F_n: the weights a_n are missing.",
    root=defects.NO_WEIGHTS,
    scope="for unequal weights, where the server minimises another function; true as "
    "printed for a_n = 1/N",
    repair=repaired(
        r"for equal weights $a_n = 1/N$; for others server steps weighted with $a_n$",
        proved(
            evidence.says(
                w.norm2(OBJECTIVE_GAP),
                0,
                *(w.every_client(n, one) for one in w.equals(N * a(), w.number(1))),
            ),
            lambda: aggregation.equal_weights(x.value),
            r"$\sum_n \nabla F_n - N\sum_n a_n\nabla F_n = "
            r"\sum_n (1 - N a_n)\nabla F_n$.",
        ),
    ),
)


SEC_41_TAU = Kind.TEXT(
    "han2024/text/sec-4.1/tau",
    "Sec. 4.1",
    "tau = ceil(D_n/b) E is one number of local steps for all clients, as the theorems "
    "take it.",
    words="It is one number if the D_n are equal (or the ceil(D_n/b) are); for unequal "
    "D_n it depends on n, which the theorems do not cover. Which holds rests on the "
    "partition: a Dirichlet draw of every client's class shares, as in the work cited, "
    "keeps the sizes equal, the equally common draw of every class's shares over "
    "clients does not; Sec. 4.1 does not say.",
)

CLAIMS = (
    EQ_2,
    SEC_2_2_FL,
    CLIENT_SUM,
    ALG_1,
    CLOCK,
    ALG_2,
    ALG_2_OBJECTIVE,
    SEC_41_TAU,
)
