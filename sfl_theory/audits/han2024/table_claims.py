"""Entries on Tables 1-4 and App. H of ``han2024``."""

from __future__ import annotations

from functools import partial
from typing import Any

from sfl_theory.audits.han2024 import refuted_comparisons as broken
from sfl_theory.audits.han2024 import tables
from sfl_theory.audits.han2024.lazy_proofs import Several, proof
from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.audits.han2024.refuted_tables import general_convex_row, non_convex_row
from sfl_theory.evidence.claim import Open, Paper, Refutation

RATES = Paper(
    PAPER,
    "a_n = 1/N, sigma_n = sigma; 'absolute constants omitted' is up to a factor 1000",
)
BOUNDS = Paper(
    PAPER,
    "'performance upper bounds' (caption), sigma_n = sigma; 'absolute constants "
    "omitted' is up to a factor 1000",
)
ANY_RATE = Paper(
    PAPER, f"{RATES.reading}; for every admitted rate, constant ones included"
)
OVERHEADS = Paper(PAPER, "")
ELSEWHERE = (
    "The row is attributed to a theorem of another paper, whose assumptions and step "
    "sizes the table does not repeat. It is homogeneous in loss and parameters. "
)
TOO_EARLY = (
    "Read without any condition on T it fails: f = (S x_1^2 + S/2 x_2^2 + mu x_3^2)/2, "
    "x^0 = (1, 1, 0), N = tau = 1, no noise, T = 1: the gap is at least S I_err/36 for "
    "every step (it is S I_err/4 times (1-u)^2 + (1-u/2)^2/2 >= 1/9, u = eta S), the "
    "row at most mu I_err. So some T >= S/mu, up to constants, must be meant; whether "
    "local steps with noise and heterogeneity then meet the row was neither proved nor "
    "refuted."
)
TWO_PHASES = (
    "Without noise it holds for every T (steps 1/S). With noise neither proved nor "
    "refuted: a schedule has to reach both terms. "
)
SAMPLES = (
    f"{TWO_PHASES}sigma_* bounds the noise at x* only, so every sample's loss must be "
    "smooth and convex, and a round at 1/S contracts by 1 - mu/S, for N tau = 1 no "
    "more (S x^2/2 with chance mu/S, else 0): exp(-mu T/S) needs all T rounds at that "
    "step, sigma_*^2/(mu N tau T) needs decreasing ones. Half the rounds each gives "
    "exp(-mu T/(2S)), which no constant factor makes up for."
)
UNIFORM = (
    f"{TWO_PHASES}By hand, with noise of variance sigma^2/N everywhere, it comes out "
    "for a weighted mean of the iterates: T/2 rounds at 1/S contract the squared "
    "distance by (1 - mu/S)^T, T/2 rounds at 2/(mu (4S/mu + t)) average the rest, and "
    "for T < S/(62 mu) a constant step does. No certificate was made of it (a case "
    "distinction in T, an exponential, a step with a root)."
)


def _sfl(table: int, number: str) -> Any:
    """Return the entry "the strongly convex row bounds the theorem's right side"."""
    name = f"table-{table}/{number}/strongly_convex"
    return RATES.claim(
        name,
        f"App. H, Table {table}",
        "table",
        f"The row of Theorem {number} is an upper bound of its right side up to a "
        "constant, for equal clients.",
        proof(
            name,
            "Both written out for equal clients.",
            partial(tables.row_is_upper_bound, number=number),
        ),
        f"thm-{number}/strongly_convex",
    )


def _elsewhere(name: str, table: int, row: str, tried: str) -> Any:
    return RATES.claim(
        name,
        f"App. H, Table {table}",
        "table",
        f"The row '{row}' is an upper bound of that method.",
        Open(ELSEWHERE + tried),
    )


def _any_weights(number: str, given_away: str) -> Any:
    """Return the entry "the row of Table 1 bounds (11), (17), (20)"."""
    name = f"table-1/{number}/strongly_convex"
    return BOUNDS.claim(
        name,
        "App. H, Table 1",
        "table",
        f"The row bounds Theorem {number}'s right side up to a constant (1000), for "
        "all weights.",
        proof(
            name,
            "sum a_n = 1, so sum a_n^2 <= 1 and sum a_n^2/q_n <= sum 1/q_n. For "
            f"a_n = 1/N {given_away} is given away.",
            partial(tables.row_for_all_weights, number=number),
        ),
        f"thm-{number}/strongly_convex",
    )


TABLE_1 = (
    _any_weights("3.6", "a factor N"),
    _any_weights("3.8", "a factor N (N^2 in the term with Q)"),
    _any_weights("3.9", "a factor N in the term with Q"),
    RATES.claim(
        "table-1/3.7/strongly_convex",
        "App. H, Table 1",
        "table",
        "The row is the theorem's rate with a_n = 1/N. (Theorem 3.7; up to a factor of "
        "1000)",
        proof(
            "table-1/3.7/strongly_convex",
            "N sum (a_n^2 + 1) = N^2 + 1; row and right side bound each other.",
            partial(tables.row_is_upper_bound, number="3.7"),
            partial(tables.row_is_lower_bound, number="3.7"),
        ),
        "thm-3.7/strongly_convex",
    ),
)
TABLE_2 = (
    *(_sfl(2, number) for number in ("3.6", "3.7")),
    RATES.claim(
        "table-2/fl-16",
        "App. H, Table 2",
        "table",
        "The row 'FL [16]' bounds FedAvg's gap for some step 0 < eta <= 1/S.",
        Refutation(
            broken.federated_row,
            "mu tau + T adds a curvature to a number; S/(mu (tau + T)) was meant. At "
            "small curvature the row is too small by that factor.",
        ),
    ),
    _elsewhere("table-2/mini-batch-sgd", 2, "Mini-Batch SGD [33]", SAMPLES),
    _elsewhere("table-2/fl-10", 2, "FL [10]", TOO_EARLY),
    _elsewhere("table-2/sl", 2, "SL [17]", TOO_EARLY),
    RATES.claim(
        "text/app-H.2/order",
        "Sec. 3.3 and App. H.2, below Table 2",
        "text",
        "The rates of Table 2 match in the order of T: for sigma, sigma_*, Gamma, "
        "eps_* > 0 every row is between c/T and C/T.",
        proof(
            "text/app-H.2/order",
            "T times a row lies between its values at T = 1 and at infinity. (At "
            "sigma_* = 0 the row of Mini-Batch SGD falls exponentially.)",
            Several(tables.of_order_one_over_t, 12),
        ),
        "table-2/3.6/strongly_convex table-2/3.7/strongly_convex",
    ),
)
SGD = "sigma^2/(N T^2): a number of iterations sigma^2/(N e^2) inverted wrongly (1/T^2 "
SGD += "for 1/sqrt(T)); no constant step achieves it."
TABLE_3 = (
    *(_sfl(3, number) for number in ("3.6", "3.7")),
    *(
        (ANY_RATE if case == "non_convex" else RATES).claim(
            f"table-3/{number}/{case}",
            "App. H, Table 3",
            "table",
            f"The row bounds Theorem {number}'s right side up to a constant.",
            Refutation(partial(row, number), f"As in Table 1: {words}"),
            f"thm-{number}/{case}",
        )
        for number in ("3.6", "3.7")
        for case, row, words in (
            ("general_convex", general_convex_row, "I_err is dropped from the roots."),
            ("non_convex", non_convex_row, "the learning rate is dropped."),
        )
    ),
    _elsewhere("table-3/sgd/strongly_convex", 3, "Distributed SGD [12]", UNIFORM),
    *(
        RATES.claim(
            f"table-3/sgd/{case}",
            "App. H, Table 3",
            "table",
            f"The row 'Distributed SGD', {case.replace('_', ' ')}, bounds the mean "
            "over the rounds for some constant step size.",
            Refutation(partial(broken.distributed_sgd, case), SGD),
        )
        for case in ("general_convex", "non_convex")
    ),
    RATES.claim(
        "text/app-H.2/same-rate",
        "App. H.2, below Table 3",
        "text",
        "SFL shows the same convergence rate as distributed SGD: in Table 3 SFL's "
        "general convex rows are at most a constant times that of SGD.",
        Refutation(
            partial(broken.same_rate_as_sgd, "SFL-V1"),
            "The table's own rows: T^(-1/3) against T^(-1).",
            (partial(broken.same_rate_as_sgd, "SFL-V2"),),
        ),
        "table-3/sgd/general_convex",
    ),
)
TABLE_4 = (
    OVERHEADS.claim(
        "table-4/total",
        "App. H.3, Table 4",
        "table",
        "Total communication is K times that of a client, in every row.",
        proof("table-4/total", "Row by row.", Several(tables.totals, 8)),
    ),
    OVERHEADS.claim(
        "table-4/time",
        "App. H.3, Table 4",
        "table",
        "Times are T_fb + a client's communication / R + aggregation (SL: total "
        "communication / R, no aggregation).",
        proof("table-4/time", "Row by row.", Several(tables.times, 8)),
        "table-4/total",
    ),
    OVERHEADS.claim(
        "table-4/order",
        "App. H.3",
        "text",
        "'As K escalates, the cost of training time tends to rise following the "
        "sequence: SFL-V2 being less than SFL-V1': SFL-V2's time is less than SFL-V1's "
        "for every K.",
        proof(
            "table-4/order",
            "By T_fedavg/2. (The sentence ranks methods; the SFL rows themselves do "
            "not rise with K at fixed D.)",
            tables.second_is_faster,
        ),
    ),
    OVERHEADS.claim(
        "table-4/communication",
        "App. H.3, Table 4, against Algorithms 1 and 2",
        "table",
        "Communication per client is what a client exchanges in a round that makes one "
        "pass over its data: tau b = D/K.",
        proof(
            "table-4/communication",
            "2 tau b v + 2 r |W| written out. (With the E = 5 passes of Sec. 4.1 the "
            "first term is E times as large.)",
            Several(tables.one_pass, 2),
        ),
    ),
    OVERHEADS.claim(
        "table-4/aggregation",
        "App. H.3, Table 4",
        "table",
        "SFL-V2's aggregation, of the client's share r |W| only, takes T_fedavg/2.",
        Open(
            "It depends on the cost model, which the paper does not state: with time "
            "proportional to the size it takes r T_fedavg, at most the entry if and "
            "only if r <= 1/2."
        ),
    ),
)
CLAIMS = (*TABLE_1, *TABLE_2, *TABLE_3, *TABLE_4)
