r"""Entries of D.1-G.1: the distances of the blocks, their merge, the final bounds."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024.equations import (
    rates_descent,
    rates_refuted_blocks,
    rates_refuted_merges,
    rates_refuted_middle,
)
from sfl_theory.audits.han2024.equations.rates_claims_inductions import (
    RATES,
    full,
    line,
)
from sfl_theory.audits.han2024.readings import BALL, PAPER, UPDATES
from sfl_theory.evidence.claim import Claim, Paper, Proof, Refutation

HALF = Fraction(1, 2)
ANY_PERIODS = (
    "'by setting eta^t <= 1/(2 S max{tau, tau_server})' is read as not restricting tau "
    "!= tau_server: the rates, with the printed gamma, meet it from t = 1 on for tau = "
    "tau_server and for no other periods, and there the line holds (joint recursion of "
    "thm-3.6/strongly_convex, repair); the set of Assumption 3.3 is a ball about x*"
)

participating = Paper(PAPER, f"{BALL}; {RATES}; {UPDATES}")
between = Paper(PAPER, f"{BALL}; {RATES}; {ANY_PERIODS}")

STEPS_D = "eq-62 eq-63 eq-64 eq-65 eq-66 eq-67 eq-68"
STEPS_E = "eq-99 eq-100 eq-101 eq-102 eq-103 eq-104 eq-105"
DISTANCES = (
    ("69", "D", "server", "D.1.1", f"{STEPS_D} app-D.1/first-rate"),
    ("72", "D", "client", "D.1.2", "lemma-D.1 eq-67 app-D.1.2/first-rate"),
    ("106", "E", "server", "E.1.1", f"{STEPS_E} app-E.1/first-rate"),
    ("109", "E", "client", "E.1.2", "lemma-D.1 eq-67 app-E.1.2/first-rate"),
    ("130", "F", "server", "F.1.1", "lemma-D.1 eq-127 eq-67 app-F.1/first-rate"),
    ("135", "F", "client", "F.1.2", "lemma-D.1 eq-67 app-F.1.2/first-rate"),
    ("160", "G", "server", "G.1.1", "lemma-E.1 eq-104 app-G.1/first-rate"),
    ("165", "G", "client", "G.1.2", "lemma-D.1 eq-67 app-G.1.2/first-rate"),
)


def _distance(number: str, letter: str, block: str, where: str, uses: str) -> Claim:
    sequential = letter in {"E", "G"} and block == "server"
    sums = (
        "sum_n" if sequential else "sum_n a_n^2",
        "sum_n" if sequential else "sum_n a_n",
    )
    more = ""
    if letter in {"F", "G"}:
        more = f" + 16 N G^2 {'sum_n 1/q_n' if sequential else 'sum_n a_n^2/q_n'}"
    x = f"x_{block[0]}"
    instances = [partial(rates_refuted_blocks.distance, letter, block)]
    if more:
        instances.append(partial(rates_refuted_blocks.distance, letter, block, HALF))
    paper = participating if more else full
    return paper.claim(
        f"eq-{number}",
        f"App. {where}, ({number})",
        "equation",
        f"E||{x}^t - {x}*||^2 <= (16 N {sums[0]} (2 sigma_n^2 + G^2){more})/(mu^2 "
        f"(gamma+t)) + 1536 S {sums[1]} (2 sigma_n^2 + G^2)/(mu^3 (gamma+t)(gamma+1)) "
        f"+ (gamma+1) E||{x}^0 - {x}*||^2/(gamma+t)"
        + (", gamma = 8S/(N mu) - 1" if sequential else ""),
        Refutation(
            instances[0],
            "The block that starts at its minimiser is driven away by the other one, "
            "whose distance the bound does not contain.",
            tuple(instances[1:]),
        ),
        uses,
    )


LOST_HALF = (
    "S/2 times both bounds has 16 S N and 1536 S^2, twice what the merged bound prints."
)
OTHER_GAMMA = "The server's bound has gamma_s < gamma, the merged one gamma."
MERGES = (
    ("D", "69", "72", "73", 1, LOST_HALF),
    ("E", "106", "109", "110", 2, OTHER_GAMMA),
    ("F", "130", "135", "136", 1, LOST_HALF),
    ("G", "160", "165", "166", 2, OTHER_GAMMA),
)


def _merge(
    letter: str, server: str, client: str, result: str, clients: int, words: str
) -> Claim:
    return line.claim(
        f"app-{letter}.1.3/merge",
        f"App. {letter}.1.3, ({result})",
        "equation",
        f"S/2 times the sum of the right sides of ({server}) and ({client}) at t = T "
        f"is at most the right side of ({result}).",
        Refutation(partial(rates_refuted_merges.merge, letter, clients), words),
    )


def _merged_rate(letter: str, server: str, client: str) -> Claim:
    return line.claim(
        f"app-{letter}.1.3/merged-rate",
        f"App. {letter}.1.3",
        "condition",
        f"The rates chosen for ({server}) and ({client}) meet eta^t <= "
        "1/(2 S max{tau, tau_server}), as 'by setting', 'for' is read here; read as a "
        "further hypothesis, the merge speaks of no rate at early t.",
        Refutation(
            partial(rates_refuted_merges.merged_rate, letter),
            "The side with fewer steps has the larger rate, chosen for its own period.",
        ),
        f"app-{letter}.1/first-rate app-{letter}.1.2/first-rate",
    )


def _merged(letter: str, number: str, theorem: str, bound: str, uses: str) -> Claim:
    """Return (73), (136), true although what they are derived from is false."""
    paper = full if letter == "D" else participating
    return paper.claim(
        f"eq-{number}",
        f"App. {letter}.1.3, ({number})",
        "equation",
        f"SFL-V1, client rate 4/(mu tau (gamma+t)), server rate 4/(mu tau_server "
        f"(gamma+t)), any tau and tau_server: E f(x^T) - f* <= {bound} (the outer "
        f"inequality; the term between: eq-{number}/middle)",
        Proof(
            rates_descent.certificates(f"{PAPER}/eq-{number}", theorem),
            "A proof of its own: the function value contracts by 1 - 4/(gamma+t) "
            "(descent, gradient domination, bounded gradients), an induction with room "
            "in the constants. The theorem prints the two rates the other way round, "
            "which is false.",
        ),
        uses,
    )


def _middle(letter: str, number: str, bound: str) -> Claim:
    """Return what stands between the two sides of (73), (136)."""
    paper = between if letter == "D" else Paper(PAPER, f"{between.reading}; {UPDATES}")
    first, *further = (
        partial(rates_refuted_middle.middle, letter, instance)
        for instance in rates_refuted_middle.INSTANCES
    )
    return paper.claim(
        f"eq-{number}/middle",
        f"App. {letter}.1.3, ({number})",
        "equation",
        "S/2 (E||x_s^T - x_s*||^2 + E||x_c^T - x_c*||^2) <= "
        f"{bound}, each side's rate over its own number of steps",
        Refutation(
            first,
            "The side with fewer steps is done first; what the other side's own later "
            "steps change in its gradients, it does not see: a drift that the gradient "
            "of f does not have. Where f is flat it is not undone; ||x^T - x*||^2 S/2 "
            "grows like S, the bound does not. First the rates of D.1.1, D.1.2 "
            "(F.1.1, F.1.2), then rates that meet each side's condition at t = 0 as "
            "well, then, with 8 S tau_max/(mu tau_min) for gamma in the rates, eta <= "
            "1/(2 S max{tau, tau_server}) for all t. Where the server rests changes "
            "none of them.",
            tuple(further),
        ),
    )


def _unweighted(letter: str, number: str, bound: str, uses: str) -> Claim:
    paper = full if letter == "E" else participating
    runs = {"E": ((2700, "1"),), "G": ((3100, "1"), (3200, "15/16"))}[letter]
    instances = [
        partial(rates_refuted_merges.unweighted_server, letter, rounds, Fraction(q))
        for rounds, q in runs
    ]
    return paper.claim(
        f"eq-{number}",
        f"App. {letter}.1.3, ({number})",
        "equation",
        f"SFL-V2, gamma = 8S/mu - 1: E f(x^T) - f* <= {bound}",
        Refutation(
            instances[0],
            "SFL-V2's server steps carry no a_n: for unequal weights x_s tends to the "
            "minimiser of sum_n F_n, the gap to a constant, the bound to 0.",
            tuple(instances[1:]),
        ),
        uses,
    )


def _bound(second: str, first: str, moment: str, distance: str) -> str:
    return (
        f"8 S N sum_n {second} {moment}/(mu^2 (gamma+T)) + 768 S^2 sum_n {first} "
        "(2 sigma_n^2 + G^2)/(mu^3 (gamma+T)(gamma+1)) + S (gamma+1) "
        f"{distance}/(2 (gamma+T))"
    )


PLAIN = "(2 sigma_n^2 + G^2)"
PARTIAL = "(2 sigma_n^2 + G^2 + G^2/q_n)"
WHOLE = "E||x^0 - x*||^2"
CLAIMS: tuple[Claim, ...] = (
    *(_distance(*row) for row in DISTANCES),
    *(_merge(*row) for row in MERGES),
    _middle("D", "73", _bound("a_n^2", "a_n", PLAIN, WHOLE)),
    _middle("F", "136", _bound("a_n^2", "a_n", PARTIAL, WHOLE)),
    _merged_rate("D", "69", "72"),
    _merged_rate("F", "130", "135"),
    _merged(
        "D",
        "73",
        "3.6",
        _bound("a_n^2", "a_n", PLAIN, WHOLE),
        "eq-69 eq-72 prop-3.5 app-D.1.3/merge app-D.1.3/merged-rate",
    ),
    _unweighted(
        "E",
        "110",
        _bound("(a_n^2+1)", "(a_n+1)", PLAIN, WHOLE),
        "eq-106 eq-109 prop-3.5 app-E.1.3/merge",
    ),
    _merged(
        "F",
        "136",
        "3.8",
        _bound("a_n^2", "a_n", PARTIAL, WHOLE),
        "eq-130 eq-135 prop-3.5 app-F.1.3/merge app-F.1.3/merged-rate",
    ),
    _unweighted(
        "G",
        "166",
        _bound("(a_n^2+1)", "(a_n+1)", PARTIAL, "E||x_c^0 - x_c*||^2"),
        "eq-160 eq-165 prop-3.5 app-G.1.3/merge",
    ),
)
