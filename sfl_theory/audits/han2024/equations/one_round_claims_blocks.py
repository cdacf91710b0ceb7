"""Entries of the recursions of one block: (60), (61) and their counterparts."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024.equations import (
    one_round_refuted_blocks,
    rates_refuted_blocks,
)
from sfl_theory.audits.han2024.equations.rates_claims_general_convex import (
    full,
    participating,
)
from sfl_theory.audits.han2024.readings import BALL, PAPER
from sfl_theory.evidence.claim import Claim, Paper, Refutation

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)

LEMMAS = (
    ("60", "D", "server", "D.1.1", "eq-54 eq-55 eq-56 eq-57 eq-58 eq-59"),
    ("70", "D", "client", "D.1.2", "lemma-D.1"),
    ("97", "E", "server", "E.1.1", "eq-91 eq-92 eq-93 eq-94 eq-95 eq-96"),
    ("107", "E", "client", "E.1.2", "lemma-D.1"),
    ("126", "D", "server", "F.1.1", "lemma-D.1"),
    ("131", "D", "client", "F.1.2", "lemma-D.1"),
    ("156", "E", "server", "G.1.1", "lemma-E.1"),
    ("161", "E", "client", "G.1.2", "lemma-D.1"),
)
"""Number, appendix whose sums it has, block, where it stands, what it uses."""
WITHOUT_GAP = (
    ("61", "D", "server", "D.1.1", "eq-60"),
    ("71", "D", "client", "D.1.2", "eq-70"),
    ("98", "E", "server", "E.1.1", "eq-97"),
    ("108", "E", "client", "E.1.2", "eq-107"),
    ("128", "F", "server", "F.1.1", "eq-126 eq-127"),
    ("129", "F", "server", "F.1.1", "eq-128"),
    ("133", "F", "client", "F.1.2", "eq-131 eq-132"),
    ("134", "F", "client", "F.1.2", "eq-133"),
    ("158", "G", "server", "G.1.1", "eq-156 eq-157"),
    ("159", "G", "server", "G.1.1", "eq-158"),
    ("163", "G", "client", "G.1.2", "eq-161 eq-162"),
    ("164", "G", "client", "G.1.2", "eq-163"),
)
WRITTEN_OUT = {"128", "133", "158", "163"}
"""Those that are not written with B_1 and B_2."""


class _Words:
    """The parts of a recursion in words."""

    def __init__(self, letter: str, block: str) -> None:
        self.alone = letter in {"E", "G"} and block == "server"
        self.period = "tau_server" if block == "server" and not self.alone else "tau"
        self.x = f"x_{block[0]}"
        self.second, self.first = "sum_n a_n^2", "sum_n a_n"
        if self.alone:
            self.second = self.first = "sum_n"
        self.shrunk = f"(1 - {'N ' if self.alone else ''}eta {self.period} mu/2)"
        self.moment = "(2 sigma_n^2 + G^2)"
        self.inverse = "sum_n 1/q_n" if self.alone else "sum_n a_n^2/q_n"

    def noise(self, partially: bool) -> str:
        """Return the noise terms."""
        more = f" + N {self.period}^2 eta^2 G^2 {self.inverse}" if partially else ""
        return (
            f"eta^2 {self.period}^2 N {self.second} {self.moment} + 24 S "
            f"{self.period}^3 eta^3 {self.first} {self.moment}{more}"
        )

    def constants(self, partially: bool) -> str:
        """Return the noise terms with B_1 and B_2."""
        more = f" + 4 N G^2 {self.inverse}" if partially else ""
        return (
            f"(eta {self.period})^2/4 B_1 + (eta {self.period})^3/8 B_2, "
            f"B_1 = 4 N {self.second} {self.moment}{more}, "
            f"B_2 = 192 S {self.first} {self.moment}"
        )


def _lemma(number: str, letter: str, block: str, where: str, uses: str) -> Claim:
    words = _Words(letter, block)
    x = words.x
    after = f"xbar{x[1:]}" if where[0] in {"F", "G"} else x
    return full.claim(
        f"eq-{number}",
        f"App. {where}, ({number})",
        "equation",
        f"E||{after}^t+1 - {x}*||^2 <= {words.shrunk} E||{x}^t - {x}*||^2 - 2 eta "
        f"{words.period} E[f(x^t) - f*] + {words.noise(False)}",
        Refutation(
            partial(rates_refuted_blocks.at_its_optimum, letter, block),
            "A block at its minimiser does not move; the right side subtracts the gap "
            "that the other block has and is negative for small eta.",
        ),
        uses,
    )


def _without_gap(number: str, letter: str, block: str, where: str, uses: str) -> Claim:
    words = _Words(letter, block)
    x, partially = words.x, letter in {"F", "G"}
    q = HALF if partially else Fraction(1)
    driven = partial(one_round_refuted_blocks.driven, letter, block, q)
    if number in WRITTEN_OUT:
        statement = (
            f"E||{x}^t+1 - {x}*||^2 <= {words.shrunk} E||{x}^t - {x}*||^2 + "
            f"{words.noise(partially)}"
        )
    else:
        middle = ""
        if number == "61":
            middle = (
                f"{words.shrunk} Delta_t - 2 eta {words.period} E[f(x^t) - f*] + "
                f"eta^2 {words.period}^2 N sum_n {words.moment} + 24 S "
                f"{words.period}^3 eta^3 sum_n {words.moment} <= "
            )
        statement = (
            f"Delta_t+1 <= {middle}{words.shrunk} Delta_t + "
            f"{words.constants(partially)}, Delta_t = E||{x}^t - {x}*||^2"
        )
    lost = (one_round_refuted_blocks.weights_lost,) if number == "61" else ()
    reading = (participating if partially else full).reading
    return Paper(PAPER, f"{reading}; {BALL} (second instance)").claim(
        f"eq-{number}",
        f"App. {where}, ({number})",
        "equation",
        statement,
        Refutation(
            driven,
            "Without its own gap either, a block does not contract by itself: the "
            "other block drives it away at first order in eta, the right side allows "
            "second order."
            + (
                " The middle line has lost a_n^2 and a_n (last instance)."
                if lost
                else ""
            ),
            (partial(driven, THIRD), *lost),
        ),
        uses,
    )


CLAIMS: tuple[Claim, ...] = (
    *(_lemma(*row) for row in LEMMAS),
    *(_without_gap(*row) for row in WITHOUT_GAP),
)
