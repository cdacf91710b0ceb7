"""Entries on Algorithms 1 and 2 and (2), (3) of ``han2024``."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024 import algorithm_boxes as boxes
from sfl_theory.audits.han2024 import refuted_boxes as broken
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.evidence.claim import Open, Paper, Refutation, Repair

STEPS = Paper(PAPER, "tau local steps (App. C.2's client sums to tau - 1)")
CLOCK = Paper(
    PAPER,
    f"{STEPS.reading}; one counter i for both sides, as the box has it. With a counter "
    "of its own for each side the box makes App. C.2's update, and T means different "
    "times on the two sides",
)
INDEXED = Paper(
    PAPER,
    f"{STEPS.reading}; the indices of line 12 as printed. Read as Sec. 2.2 says, one "
    "client after the other, the line is the repair, which is proved",
)
DOMAIN = Paper(
    PAPER, "a remark on the domain: Sec. 2.3 says q_n in [0, 1], (3) divides by q_n"
)
NEXT_MODEL = Paper(
    PAPER,
    "'offsets the bias' read as a statement on the next model's mean; as one on the "
    "weights it is eq-3/unbiased/weights, proved",
)
PLAIN = Paper(PAPER, "")

CLAIMS = (
    STEPS.claim(
        "eq-2",
        "Sec. 2.2 (2) and App. C.2",
        "equation",
        "Aggregating models (2) is the update of App. C.2 under full participation: "
        "sum_n a_n x_n^t,tau = x^t - eta sum_n a_n sum_{i<tau} g_n^t,i.",
        proof("eq-2", "sum of a_n is 1.", boxes.aggregated_models),
    ),
    STEPS.claim(
        "text/sec-2.2/fl",
        "Sec. 2.2",
        "text",
        "With tau_server = tau SFL-V1 is FL (FedAvg), at every cut.",
        proof(
            "text/sec-2.2/fl",
            "Induction over local steps, then aggregation; next round by the same.",
            Several(boxes.same_as_federated, 2),
        ),
        "eq-2",
    ),
    STEPS.claim(
        "alg-1",
        "App. B, Algorithm 1, against App. C.2",
        "algorithm",
        "Algorithm 1, line by line, makes the updates of App. C.2 (full participation, "
        "tau_server = tau).",
        Refutation(
            broken.steps_of_algorithm_1,
            "Its loop i = 0, ..., (T-1) tau_max makes (T-1) tau_max + 1 steps instead "
            "of T tau, and i%tau = 0 aggregates after the first step.",
            (partial(broken.steps_of_algorithm_1, 2),),
        ),
        "eq-2",
        Repair(
            "with i = 1, ..., T tau_max in line 2 its aggregation is the update of "
            "App. C.2 for tau_server = tau, full participation",
            proof(
                "alg-1",
                "The aggregation (2), both sides.",
                boxes.aggregated_models,
                suffix="#repair",
            ),
            "the range of the loop",
        ),
    ),
    CLOCK.claim(
        "alg-1/clock",
        "App. B, Algorithm 1, against App. C.2",
        "algorithm",
        "For tau != tau_server Algorithm 1 makes the steps of App. C.2, tau on the "
        "client side and tau_server on the server side per round.",
        Refutation(
            broken.clock_of_algorithm_1,
            "Both sides step at every iteration: tau_max server steps per round.",
            (partial(broken.clock_of_algorithm_1, 5),),
        ),
    ),
    INDEXED.claim(
        "alg-2",
        "App. B, Algorithm 2, against App. C.2",
        "algorithm",
        "Line 12 of Algorithm 2 as indexed, x_s^t,i+1 <- x_s^t,i - (eta/q_n) g_s,n for "
        "every participant, is the server's update of App. C.2.",
        Refutation(
            broken.visits_of_algorithm_2,
            "All participants read x_s^t,i and write x_s^t,i+1: one update survives.",
        ),
        "",
        Repair(
            "visits one after the other, x_s <- x_s - (eta/q_n) g_s,n in place: "
            "x_s^t+1 = x_s^t - eta sum of g_s,n/q_n over all visits, in any order",
            proof(
                "alg-2",
                "Induction over visits.",
                boxes.visits_add_up,
                suffix="#repair",
            ),
            "one counter per visit instead of one per iteration",
        ),
    ),
    STEPS.claim(
        "alg-2/objective",
        "App. B, Algorithm 2, and App. C.2, against (1)",
        "algorithm",
        "To first order in eta the server of Algorithm 2 steps along -N grad_s f, the "
        "gradient of (1).",
        Refutation(
            broken.objective_of_algorithm_2,
            "It steps along -sum_n grad_s F_n: the weights a_n are missing. For "
            "a_n = 1/N both are the same.",
            (partial(broken.objective_of_algorithm_2, Fraction(1, 4)),),
        ),
    ),
    PLAIN.claim(
        "eq-3/unbiased",
        "Sec. 2.3 (3)",
        "equation",
        "(3) offsets the bias for SFL-V1: E sum_{n in P} a_n/q_n x_n = "
        "sum_n a_n E x_n.",
        proof(
            "eq-3/unbiased",
            "Client by client; q_n > 0, local models independent of participation.",
            Several(boxes.offsets_bias, 2),
        ),
    ),
    PLAIN.claim(
        "eq-3/unbiased/weights",
        "Sec. 2.3 (3)",
        "equation",
        "(3) offsets the bias of the weights, for both algorithms: "
        "E sum_n a_n I_n/q_n = sum_n a_n.",
        proof(
            "eq-3/unbiased/weights",
            "Client by client; q_n > 0.",
            Several(boxes.offsets_weights, 2),
        ),
    ),
    DOMAIN.claim(
        "eq-3/unbiased/q-zero",
        "Sec. 2.3 (3)",
        "equation",
        "(3) offsets the bias for every q_n in [0, 1], q_n = 0 included (SFL-V1).",
        Refutation(broken.client_left_out, "A client with q_n = 0 never counts."),
    ),
    NEXT_MODEL.claim(
        "eq-3/unbiased/sfl-v2",
        "Sec. 2.3 (3) and Algorithm 2",
        "equation",
        "For SFL-V2 the mean of the next client model by (3) is that of (2) under full "
        "participation.",
        Refutation(
            broken.bias_of_models,
            "A client's gradients pass through the server's model, which moves by "
            "eta/q_n when the client takes part.",
        ),
        "alg-2 eq-3/unbiased/weights",
    ),
    PLAIN.claim(
        "text/sec-4.1/tau",
        "Sec. 4.1",
        "text",
        "tau = ceil(D_n/b) E is one number of local steps for all clients, as the "
        "theorems take it.",
        Open(
            "It is one number if the D_n are equal (or the ceil(D_n/b) are); for "
            "unequal D_n it depends on n, which the theorems do not cover. Which holds "
            "rests on the partition: a Dirichlet draw of every client's class shares, "
            "as in the work cited, keeps the sizes equal, the equally common draw of "
            "every class's shares over clients does not; Sec. 4.1 does not say."
        ),
    ),
)
