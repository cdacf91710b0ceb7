r"""Entries of D.2-G.2: one round of each block at $\mu=0$, the merged round, the rate.

F and G print three lines per block: full participation, the distance between full and
partial participation, and their sum.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024 import convex
from sfl_theory.audits.han2024.equations import (
    one_round_repairs,
    rates_participation,
    rates_refuted_blocks,
    rates_refuted_participation,
)
from sfl_theory.audits.han2024.readings import PAPER, UPDATES
from sfl_theory.audits.han2024.refutations import REFUTATIONS
from sfl_theory.evidence.claim import (
    Claim,
    Paper,
    Proof,
    Refutation,
    Repair,
)

HALF = Fraction(1, 2)
full = Paper(PAPER, "for every admitted learning rate eta^t <= 1/(2 S tau)")
participating = Paper(PAPER, f"{full.reading}; {UPDATES}")
difference = Paper(
    PAPER,
    f"{UPDATES}; xbar is the model after the same round, the same samples and order, "
    "with every client taking part: App. F and G bound 'the difference between full "
    "participation and partial participation', and Lemmas D.1 and E.1 speak of that "
    "model",
)
MEAN_INSTEAD = (
    "With xbar the mean of x over participation, as E||X - EX||^2 <= E||X||^2 "
    "takes it, the line would "
    "hold, but it is not the model of full participation that {lemma} speaks of."
)
"""On (157), (162) and (171)."""


ROUNDS = (
    ("74", "D", "server", "D.2.1", "lemma-D.1"),
    ("75", "D", "client", "D.2.2", "lemma-D.1"),
    ("111", "E", "server", "E.2.1", "lemma-E.1"),
    ("112", "E", "client", "E.2.2", "lemma-D.1"),
    ("137", "D", "server", "F.2.1", "lemma-D.1"),
    ("139", "F", "server", "F.2.1", "eq-137 eq-138"),
    ("140", "D", "client", "F.2.2", "lemma-D.1"),
    ("142", "F", "client", "F.2.2", "eq-140 eq-141"),
    ("167", "E", "server", "G.2.1", "lemma-E.1"),
    ("169", "G", "server", "G.2.1", "eq-167 eq-168"),
    ("170", "D", "client", "G.2.2", "lemma-D.1"),
    ("172", "G", "client", "G.2.2", "eq-170 eq-171"),
)
"""Number, appendix whose sums it has, block, where it stands, what it uses."""


def _round(number: str, letter: str, block: str, where: str, uses: str) -> Claim:
    alone = letter in {"E", "G"} and block == "server"
    period = "tau_server" if block == "server" and not alone else "tau"
    second, first = ("sum_n", "sum_n") if alone else ("sum_n a_n^2", "sum_n a_n")
    partially = letter in {"F", "G"}
    more = f"{second} 1/q_n" if alone else f"{second}/q_n"
    x = f"x_{block[0]}"
    # (137), (140), (167), (170): the model of full participation in F and G
    after = "xbar" + x[1:] if where[0] in {"F", "G"} and not partially else x
    further = (partial(rates_refuted_blocks.at_its_optimum, letter, block, HALF),)
    return (participating if partially else full).claim(
        f"eq-{number}",
        f"App. {where}, ({number})",
        "equation",
        f"E||{after}^t+1 - {x}*||^2 <= E||{x}^t - {x}*||^2 - 2 eta {period} "
        f"E[f(x^t) - f*] + eta^2 {period}^2 N {second} (2 sigma_n^2 + G^2) + 24 S "
        f"{period}^3 eta^3 {first} (2 sigma_n^2 + G^2)"
        + (f" + N {period}^2 eta^2 G^2 {more}" if partially else ""),
        Refutation(
            partial(rates_refuted_blocks.at_its_optimum, letter, block),
            "A block at its minimiser does not move; the right side subtracts the gap "
            "that the other block has and is negative for small eta.",
            further if partially else (),
        ),
        uses,
    )


def _participation(number: str, block: str, where: str, uses: str) -> Claim:
    """Return (138), (141): SFL-V1, whose local runs do not depend on who takes part."""
    period = "tau_server" if block == "server" else "tau"
    x = block[0]
    return difference.claim(
        f"eq-{number}",
        f"App. {where}, ({number})",
        "equation",
        f"SFL-V1: E||xbar_{x}^t+1 - x_{x}^t+1||^2 <= N {period}^2 eta^2 G^2 "
        "sum_n a_n^2/q_n",
        Proof(
            (partial(convex.participation_distance, f"{PAPER}/eq-{number}"),),
            "Bias and variance over participation, Cauchy-Schwarz over clients.",
        ),
        uses,
    )


SERVER_OF_V2 = Paper(
    PAPER,
    f"{difference.reading}; F_n convex and eta <= 1/(2 S tau), as this section sets "
    "(eta <= 2/S is used)",
).claim(
    "eq-168",
    "App. G.2.1, (168)",
    "equation",
    "SFL-V2: E||xbar_s^t+1 - x_s^t+1||^2 <= N tau^2 eta^2 G^2 sum_n 1/q_n",
    Proof(
        rates_participation.certificates(f"{PAPER}/eq-168"),
        "Not by the paper's E||X - EX||^2 <= E||X||^2, for xbar is not the mean of x "
        "over participation (eq-157). Gradient steps on convex functions are "
        "nonexpansive, so a visit adds what the missing or scaled gradient and the two "
        "noises add; where noise is large gradients are small; induction over visits.",
    ),
)
CLIENT_OF_V2 = difference.claim(
    "eq-171",
    "App. G.2.2, (171)",
    "equation",
    "SFL-V2: E||xbar_c^t+1 - x_c^t+1||^2 <= N tau^2 eta^2 G^2 sum_n a_n^2/q_n",
    Refutation(
        partial(
            rates_refuted_participation.turned_gradients,
            90,
            Fraction(1, 10**4),
            Fraction(1, 10**5),
        ),
        "The right side knows only the q_n of the clients whose gradients are summed; "
        "these gradients are taken where the server is, which others move when they "
        "take part. " + MEAN_INSTEAD.format(lemma="(170)") + " It would hold, too, for "
        "xbar = x - eta sum_n a_n h_n, h_n what client n computes in the run where "
        "some are missing.",
        (
            partial(
                rates_refuted_participation.turned_gradients,
                200,
                Fraction(1, 1000),
                Fraction(1, 10**5),
            ),
        ),
    ),
    repair=Repair(
        "E||xbar_c^t+1 - x_c^t+1||^2 <= 2 N tau^2 eta^2 G^2 sum_n a_n^2 (1 + 1/q_n), "
        "at most 4 times the printed bound",
        Proof(
            (
                partial(
                    one_round_repairs.participation_distance, f"{PAPER}/eq-171#repair"
                ),
            ),
            "||X - Y||^2 <= 2||X||^2 + 2||Y||^2; Cauchy-Schwarz over the clients.",
        ),
        "a factor of at most 4",
    ),
)


MERGED = (
    ("76", "D", "eq-74 eq-75"),
    ("113", "E", "eq-111 eq-112"),
    ("143", "F", "eq-139 eq-142"),
    ("173", "G", "eq-169 eq-172"),
)
LAST = (
    ("77", "D", "3.6", "eq-76"),
    ("114", "E", "3.7", "eq-113"),
    ("144", "F", "3.8", "eq-143"),
    ("174", "G", "3.9", "eq-173"),
)
REPAIRED = {
    "D": ("1", "1/3", "tau_server = tau"),
    "E": ("1", "4/3", "server steps eta a_n g_s,n"),
    "F": ("1 + sum_n a_n^2 (1-q_n)/q_n", "1/3", "tau_server = tau"),
    "G": (
        "sum_n a_n/q_n",
        "1/3 + sum_n a_n/q_n + sum_n a_n^2/q_n^2",
        "server steps eta a_n/q_n g_s,n",
    ),
}
"""c_1, c_d (``local_sgd.second_moment``, ``bounded_drift``) and what else changes."""


def _merged(number: str, letter: str, uses: str) -> Claim:
    sequential, partially = letter in {"E", "G"}, letter in {"F", "G"}
    least = "tau" if sequential else "min{tau, tau_server}"
    powers = "tau^{0}" if sequential else "(tau^{0} + tau_server^{0})"
    second, first = ("(a_n^2+1)", "(a_n+1)") if sequential else ("a_n^2", "a_n")
    more = f" + N {powers.format(2)} eta^2 G^2 sum_n {second}/q_n" if partially else ""
    first_constant, second_constant, change = REPAIRED[letter]
    name = f"eq-{number}"
    further = (partial(rates_refuted_blocks.far_from_the_minimiser, letter, HALF),)
    return (participating if partially else full).claim(
        name,
        f"App. {letter}.2.3, ({number})",
        "equation",
        f"E||x^t+1 - x*||^2 <= E||x^t - x*||^2 - 4 eta {least} E[f(x^t) - f*] + eta^2 "
        f"N {powers.format(2)} sum_n {second} (2 sigma_n^2 + G^2) + 24 S eta^3 "
        f"{powers.format(3)} sum_n {first} (2 sigma_n^2 + G^2){more}",
        Refutation(
            partial(rates_refuted_blocks.far_from_the_minimiser, letter),
            "The gap is earned once, by both blocks together, not once by each.",
            further if partially else (),
        ),
        uses,
        Repair(
            "E||x^t+1 - x*||^2 <= E||x^t - x*||^2 - 2 eta tau E[f(x^t) - f*] + c_1 "
            "eta^2 tau^2 G^2 + 2 S c_d eta^3 tau^3 G^2, "
            f"c_1 = {first_constant}, c_d = {second_constant}",
            Proof(
                (partial(convex.one_round, f"{PAPER}/{name}#repair"),),
                "Square of the update, Lemma C.3 summed, second moment, drift; mu = 0.",
            ),
            f"the gap once, both blocks together; {change}",
        ),
    )


def _last(number: str, letter: str, theorem: str, uses: str) -> Claim:
    """Return (77), (114), (144), (174): the theorem's general convex statement."""
    first, *further = REFUTATIONS[f"{PAPER}/thm-{theorem}/general_convex"][:2]
    paper = participating if letter in {"F", "G"} else full
    return paper.claim(
        f"eq-{number}",
        f"App. {letter}.2.3, ({number})",
        "equation",
        f"E f(x^T) - f* <= the right side of Theorem {theorem}, general convex"
        + (" (G_n is printed for G)." if letter in {"F", "G"} else "."),
        Refutation(
            first,
            "The bound contains no learning rate and speaks of the last iterate; at "
            "x^0 = x* noise makes the gap positive for every rate, the bound is 0.",
            tuple(further),
        ),
        uses,
    )


CLAIMS: tuple[Claim, ...] = (
    *(_round(*row) for row in ROUNDS),
    _participation("138", "server", "F.2.1", "eq-127"),
    _participation("141", "client", "F.2.2", ""),
    SERVER_OF_V2,
    CLIENT_OF_V2,
    *(_merged(*row) for row in MERGED),
    *(_last(*row) for row in LAST),
)
