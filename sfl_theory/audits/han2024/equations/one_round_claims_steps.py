"""Entries of the steps of one round: (54)-(59), (91)-(96), (132), (157), (162)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from sfl_theory.audits.han2024 import convex_round
from sfl_theory.audits.han2024.equations import (
    one_round_moments,
    one_round_refuted_blocks,
    one_round_refuted_steps,
    one_round_repairs,
)
from sfl_theory.audits.han2024.equations.rates_claims_general_convex import (
    MEAN_INSTEAD,
    difference,
)
from sfl_theory.audits.han2024.readings import BALL, PAPER, UPDATES
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Claim, Paper, Proof, Refutation, Repair

THIRD = Fraction(1, 3)
Builder = Callable[[str], Certificate]


def _proof(name: str, words: str, *builders: Builder) -> Proof:
    return Proof(tuple(partial(b, f"{PAPER}/{name}") for b in builders), words)


def _server(letter: str, first: int) -> tuple[Claim, ...]:
    """Return (54)-(59) or (91)-(96), the server's block of D.1.1 or E.1.1.

    Args:
        letter: "D" or "E".
        first: 54 or 91.

    Returns:
        The entries.
    """
    sequential = letter == "E"
    tau = "tau" if sequential else "tau_server"
    a, a2 = ("", "") if sequential else ("a_n ", "a_n^2 ")
    points = (
        "M = sum_i grad_s f(x_c^t,i, x_s^t,i) stands for sum_i sum_n "
        f"{a}grad_s F_n at each client's own local point p_n^i"
        + (", as stated below (92) (see app-E.1/sum-of-gradients)" * sequential)
        + f"; Z = sum_i sum_n {a}g_s,n^t,i - M"
    )
    paper = Paper(PAPER, f"eta^t <= 1/(2 S {tau}); {points}")
    moments = Paper(
        PAPER,
        f'{paper.reading}; the first "=" is read as "<=", for the text below calls it '
        f'"the first inequality" (for "=" see eq-{first + 2}/first-equality)',
    )
    curved = Paper(PAPER, f"{paper.reading}; for mu > 0: {BALL}")
    sums = f"sum_n sum_i {a2}"
    factor = f"eta^2 {tau} N {sums}"
    split = "(E||grad_s F_n(p_n^i) - g_s,n^i||^2 + E||g_s,n^i||^2)"

    def entry(
        number: int,
        statement: str,
        evidence: Proof | Refutation,
        repair: Repair | None = None,
        uses: str = "",
        by: Paper = paper,
    ) -> Claim:
        where = f"App. {letter}.1.1, ({number})"
        return by.claim(
            f"eq-{number}", where, "equation", statement, evidence, uses, repair
        )

    def repair(number: int, statement: str, words: str, change: str, b: Any) -> Repair:
        return Repair(statement, _proof(f"eq-{number}#repair", words, b), change)

    lines = (
        entry(
            first,
            "E||x_s^t+1 - x_s*||^2 <= E||x_s^t - x_s* - eta M||^2 + eta^2 E||Z||^2",
            Refutation(
                one_round_refuted_steps.dependent_noise,
                "M holds gradients taken after the first draws of Z, so E<M, Z> is not "
                "0; noise that moves the client block can make it positive.",
                (partial(one_round_refuted_steps.dependent_noise, THIRD),),
            ),
            repair(
                first,
                "E||x_s^t+1 - x_s*||^2 <= E||x_s^t - x_s* - eta M||^2 + eta^2 E||M||^2 "
                "+ 2 eta^2 E||Z||^2",
                "Z is orthogonal to x_s^t - x_s*; 2<M, Z> <= ||M||^2 + ||Z||^2.",
                "the cross term kept",
                one_round_repairs.dependent_noise,
            ),
            by=curved,
        ),
        entry(
            first + 1,
            "E||x_s^t - x_s* - eta M||^2 <= E||x_s^t - x_s*||^2 + "
            f"{factor}E||grad_s F_n(p_n^i)||^2 - 2 eta E sum_n sum_i "
            f"{a}<x_s^t - x_s*, grad_s F_n(p_n^i)>",
            _proof(
                f"eq-{first + 1}",
                "The square multiplied out; Cauchy-Schwarz over clients and steps.",
                partial(one_round_moments.first_part, weight=a.strip() or "1"),
            ),
            uses="app-E.1/sum-of-gradients" if sequential else "",
        ),
        entry(
            first + 2,
            f"{factor}E||grad_s F_n(p_n^i)||^2 <= {factor}{split} <= "
            f"eta^2 {tau}^2 N sum_n {a2}(sigma_n^2 + G^2)",
            _proof(
                f"eq-{first + 2}",
                "Unbiased noise, its variance, the second moment; a block is at most "
                "as long as the vector.",
                *one_round_moments.MOMENTS,
            ),
            by=moments,
        ),
        paper.claim(
            f"eq-{first + 2}/first-equality",
            f"App. {letter}.1.1, ({first + 2})",
            "equation",
            f"{factor}E||grad_s F_n(p_n^i)||^2 = {factor}{split}, as printed",
            Refutation(
                one_round_refuted_steps.moments_are_no_equality,
                "E||grad F||^2 = E||g||^2 - E||grad F - g||^2; the printed sign is +.",
            ),
        ),
        entry(
            first + 3,
            f"-2 eta E sum_n sum_i {a}<x_s^t - x_s*, grad_s F_n(p_n^i)> <= "
            f"-2 eta sum_n sum_i {a}E[F_n(x^t) - F_n(x*) + mu/4 ||x_s^t - x_s*||^2 "
            "- S ||x_s,n^t,i - x_s^t||^2]",
            Refutation(
                partial(one_round_refuted_blocks.lemma_at_local_points, letter),
                "Lemma C.3 for the whole vector applied to a block: where x_s = x_s* "
                "the left side is 0, but the gap of both blocks stands on the right.",
            ),
            repair(
                first + 3,
                f"-2 eta E sum_n sum_i {a}<x^t - x*, grad F_n(p_n^i)> <= -2 eta "
                f"sum_n sum_i {a}E[F_n(x^t) - F_n(x*) + mu/4 ||x^t - x*||^2 - "
                "S ||p_n^i - x^t||^2]",
                "Lemma C.3 at every local gradient, summed.",
                "both blocks together, tau_server = tau",
                one_round_repairs.whole_vector,
            ),
            "lemma-C.3",
        ),
        _sequential_drift(partial(entry, by=curved), repair)
        if sequential
        else _parallel_drift(entry),
        entry(
            first + 5,
            f"E||Z||^2 <= {tau} sum_i E||sum_n {a}(g_s,n^i - grad_s F_n(p_n^i))||^2 "
            f"<= N sum_n {a2}sigma_n^2 {tau}^2",
            _proof(
                f"eq-{first + 5}",
                "Cauchy-Schwarz over steps, then over clients; variance.",
                *one_round_moments.NOISE,
            ),
        ),
    )
    return lines


def _parallel_drift(entry: Callable[..., Claim]) -> Claim:
    return entry(
        58,
        "sum_n sum_i a_n E||x_s,n^t,i - x_s^t||^2 <= 12 sum_n a_n tau_server^3 eta^2 "
        "(2 sigma_n^2 + G^2)",
        _proof(
            "eq-58",
            "Every client's copy drifts by its own gradients, a block at most as far "
            "as the vector. No condition on eta: Lemma C.5's, which the paper cites, "
            "is not met at eta = 1/(2 S tau_server), but it is not needed.",
            one_round_moments.block_drift,
        ),
        uses="lemma-C.5",
    )


def _sequential_drift(
    entry: Callable[..., Claim], repair: Callable[..., Repair]
) -> Claim:
    drift = one_round_refuted_steps.shared_server_drift
    return entry(
        95,
        "sum_n sum_i E||x_s,n^t,i - x_s^t||^2 <= 12 sum_n tau^3 eta^2 "
        "(2 sigma_n^2 + G^2)",
        Refutation(
            drift,
            "A lemma for one client's model applied to the shared server, which also "
            "moves at the visits of the others: N tau steps, not tau. False for N >= "
            "7, whatever the order of the visits.",
            (partial(drift, 10, 10), partial(drift, mu=Fraction(1))),
        ),
        repair(
            95,
            "sum_n sum_i E||x_s,n^t,i - x_s^t||^2 <= eta^2 N^3 tau^3 G^2/3 (at most "
            "N^2/36 times the printed right side)",
            "Partial sums of N tau stochastic gradients, in the order of the visits.",
            "a factor N^2",
            one_round_repairs.shared_server_drift,
        ),
        "lemma-C.5",
    )


SUM_OF_GRADIENTS = Paper(PAPER, "").claim(
    "app-E.1/sum-of-gradients",
    "App. E.1.1, below (92)",
    "equation",
    "grad_s f(x) = sum_n grad_s F_n(x), with f of (23)",
    Refutation(
        one_round_refuted_steps.sum_of_gradients,
        "f is the weighted mean sum_n a_n F_n in (23) and the sum here; App. E and G "
        "subtract the gap of f where they have that of the sum.",
    ),
)


def _distance(number: int, block: str) -> Claim:
    """Return (157) or (162): full against partial participation in SFL-V2."""
    name, x = f"eq-{number}", f"x_{block[0]}"
    a, a2 = ("", "1") if block == "server" else ("a_n ", "a_n^2")
    end = {
        157: "for convex F_n and eta <= 2/S the printed one holds from end to end, by "
        "another proof: eq-168",
        162: "at mu = 0 the printed one is false from end to end, too: eq-171",
    }[number]
    return difference.claim(
        name,
        f"App. G.1.{1 if block == 'server' else 2}, ({number})",
        "equation",
        f"SFL-V2: E||{x}^t+1 - xbar{x[1:]}^t+1||^2 <= E||{x}^t+1 - {x}^t||^2 <= "
        f"E||sum_n eta {a}I_n/q_n sum_i g{x[1:]},n^t,i||^2 <= N tau sum_n eta^2 "
        f"{a2}/q_n sum_i E||g{x[1:]},n^t,i||^2 <= N tau^2 eta^2 G^2 sum_n {a2}/q_n",
        Refutation(
            partial(one_round_refuted_steps.overshooting_server, block),
            "The first inequality is E||X - EX||^2 <= E||X||^2, but the server's "
            "later gradients depend on who takes part, so xbar is not the mean of x "
            "over participation. "
            + MEAN_INSTEAD.format(lemma="Lemma E.1" if block == "server" else "(161)"),
        ),
        repair=Repair(
            f"E||{x}^t+1 - xbar{x[1:]}^t+1||^2 <= 2 N tau^2 eta^2 G^2 sum_n "
            f"{a2} (1 + 1/q_n), at most 4 times the printed bound ({end})",
            _proof(
                f"{name}#repair",
                "||X - Y||^2 <= 2||X||^2 + 2||Y||^2; Cauchy-Schwarz over the clients.",
                one_round_repairs.participation_distance,
            ),
            "a factor of at most 4",
        ),
    )


PARALLEL_DISTANCE = difference.claim(
    "eq-132",
    "App. F.1.2, (132)",
    "equation",
    "SFL-V1: E||x_c^t+1 - xbar_c^t+1||^2 <= N tau^2 eta^2 G^2 sum_n a_n^2/q_n",
    _proof(
        "eq-132",
        "Bias and variance over participation, on which SFL-V1's local runs do not "
        "depend; Cauchy-Schwarz over clients.",
        convex_round.participation_distance,
    ),
)

SERVER_UPDATE = Paper(PAPER, UPDATES).claim(
    "app-F.1/server-update",
    "App. F.1.1, below (127), against App. C.2",
    "algorithm",
    "x_s^t+1 = x_s^t - eta sum_{n in P} sum_i a_n^2/q_n g_s,n^t,i is App. C.2's update "
    "of SFL-V1's server.",
    Refutation(
        one_round_refuted_steps.squared_weights,
        "App. C.2 has a_n/q_n; (127) itself is the bound for that one.",
    ),
)

CLAIMS: tuple[Claim, ...] = (
    *_server("D", 54),
    SUM_OF_GRADIENTS,
    *_server("E", 91),
    SERVER_UPDATE,
    PARALLEL_DISTANCE,
    _distance(157, "server"),
    _distance(162, "client"),
)
