r"""Tables 1-4 of ``han2024``, App. H: rates beside other methods, and overheads.

Tables 1-3 omit absolute constants and logarithms, so an entry is a rate, not a bound:
compare growth, not numbers. They take $a_n=1/N$, $\sigma_n=\sigma$ and
$Q=\sum_n1/q_n$. Table 4 counts bytes and seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray

from sfl_theory import numeric, rates, symbols
from sfl_theory.bound import Finding
from sfl_theory.constants import Constants
from sfl_theory.papers.han2024 import comparing
from sfl_theory.papers.han2024.bounds import DATA, PRINTED
from sfl_theory.papers.han2024.setting import n as n_
from sfl_theory.symbolic import Symbols, expression, named
from sfl_theory.symbols import Gamma, N, S, T, mu, n, q

SIGMA2 = symbols.over_clients(symbols.sigma[n] ** 2) / N
Q = symbols.over_clients(1 / q[n])
SHORT = {SIGMA2: rates.SIGMA**2, Q: rates.Q}
r"""As the tables write them: $\sigma_n=\sigma$ and $Q=\sum_n1/q_n$."""


@dataclass(frozen=True)
class Rate:
    r"""One row of a rate table.

    Attributes:
        table: 1, 2 or 3.
        method: as printed, with the reference number of ``han2024``.
        case: "strongly_convex", "general_convex" or "non_convex".
        participation: "full" or "partial".
        expr: the rate; $\sigma^2$ is written as the mean of $\sigma_n^2$.
        claim: id of the ledger's entry on the row.
        theorem: number of the theorem that the row sums up; "" for other papers' rows.
        findings: relations of a bound that the row does not have.
    """

    table: int
    method: str
    case: str
    participation: str
    expr: sp.Expr
    claim: str
    theorem: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def written(self) -> sp.Expr:
        r"""The rate as the table writes it, with $\sigma$ and Q."""
        return self.expr.subs(SHORT)

    def evaluate(self, constants: Constants, rounds: ArrayLike) -> NDArray[np.float64]:
        """Return the rate (constants dropped, as printed) at every round.

        Args:
            constants: what the row uses.
            rounds: positive integers T, shape (m,).

        Returns:
            float64 array of shape (m,).
        """
        wanted = np.atleast_1d(np.asarray(rounds, dtype=np.int64))
        return numeric.evaluate(self.expr, {}, constants, wanted, None)


def _no_parameter_scale(reason: str) -> Finding:
    return Finding("parameter_scale", f"not homogeneous in the parameters: {reason}")


def _no_loss_scale(reason: str) -> Finding:
    return Finding("loss_scale", f"not homogeneous in the loss: {reason}")


DROPPED_I = _no_parameter_scale("I_err is dropped from the square and cube roots")
CUBE_LOSS = _no_loss_scale("the cube root lacks the factor S of (12)")
DROPPED_ETA = _no_loss_scale("the learning rate of (13) is dropped")
DROPPED_ETA_X = _no_parameter_scale("the learning rate of (13) is dropped")

NAMES = PRINTED | named({
    DATA.sigma2(n_): SIGMA2,
    comparing.Q(DATA): Q,
    comparing.decay: sp.exp(-mu * T / S),
    comparing.Gamma: Gamma,
    comparing.star_noise: symbols.sigma_star**2,
    comparing.star_apart: symbols.epsilon_star**2,
})
"""Parameters of the rows as the claims write them -> what they are called here."""


def _row(number: str, case: str) -> sp.Expr:
    """Return the row of a theorem's case."""
    found = comparing.row(number, case, DATA)
    roots: Symbols = {
        one.value: expression(one.radicand, NAMES) ** sp.Rational(1, one.degree)
        for one in found.roots
    }
    return expression(found.right, NAMES | named(roots))


def _sfl_rows(table: int, case: str, participation: str) -> tuple[Rate, ...]:
    findings = {
        "strongly_convex": (),
        "general_convex": (DROPPED_I, CUBE_LOSS),
        "non_convex": (DROPPED_ETA, DROPPED_ETA_X),
    }[case]
    numbers = {"full": ("3.6", "3.7"), "partial": ("3.8", "3.9")}[participation]
    return tuple(
        Rate(
            table,
            method,
            case,
            participation,
            _row(number, case),
            f"han2024/table-{table}/{number}/{case}",
            number,
            findings,
        )
        for number, method in zip(numbers, ("SFL-V1", "SFL-V2"), strict=True)
    )


TABLE_1 = tuple(
    row
    for participation in ("full", "partial")
    for case in ("strongly_convex", "general_convex", "non_convex")
    for row in _sfl_rows(1, case, participation)
)

TABLE_2 = (
    Rate(
        2,
        "Mini-Batch SGD [33]",
        "strongly_convex",
        "full",
        expression(comparing.mini_batch_sgd(DATA), NAMES),
        "han2024/table-2/mini-batch-sgd",
    ),
    Rate(
        2,
        "FL [16]",
        "strongly_convex",
        "full",
        expression(comparing.federated_16(DATA), NAMES),
        "han2024/table-2/fl-16",
        findings=(
            _no_loss_scale(
                "the printed fraction S/(mu tau + T) adds mu tau to T; "
                "(S/mu)/(tau + T) would be homogeneous"
            ),
            _no_parameter_scale("the same fraction S/(mu tau + T)"),
        ),
    ),
    Rate(
        2,
        "FL [10]",
        "strongly_convex",
        "full",
        expression(comparing.federated_10(DATA), NAMES),
        "han2024/table-2/fl-10",
    ),
    Rate(
        2,
        "SL [17]",
        "strongly_convex",
        "full",
        expression(comparing.split_17(DATA), NAMES),
        "han2024/table-2/sl",
    ),
    *_sfl_rows(2, "strongly_convex", "full"),
)

TABLE_3 = (
    Rate(
        3,
        "Distributed SGD [12]",
        "strongly_convex",
        "full",
        expression(comparing.sgd("strongly_convex", DATA), NAMES),
        "han2024/table-3/sgd/strongly_convex",
    ),
    *_sfl_rows(3, "strongly_convex", "full"),
    Rate(
        3,
        "Distributed SGD [12]",
        "general_convex",
        "full",
        expression(comparing.sgd("general_convex", DATA), NAMES),
        "han2024/table-3/sgd/general_convex",
        findings=(_no_loss_scale("sigma^2 I_err is the square of a loss"),),
    ),
    *_sfl_rows(3, "general_convex", "full"),
    Rate(
        3,
        "Distributed SGD [12]",
        "non_convex",
        "full",
        expression(comparing.sgd("non_convex", DATA), NAMES),
        "han2024/table-3/sgd/non_convex",
        findings=(
            _no_loss_scale("sigma^2 S F_err and S F_err are of different kinds"),
            _no_parameter_scale("sigma^2 S F_err and S F_err are of different kinds"),
        ),
    ),
    *_sfl_rows(3, "non_convex", "full"),
)


def rate_table(number: int) -> tuple[Rate, ...]:
    """Return the rows of Table 1, 2 or 3 of ``han2024``.

    Args:
        number: 1, 2 or 3.

    Returns:
        The rows in the order of the paper.

    Raises:
        ValueError: for another number.
    """
    tables = {1: TABLE_1, 2: TABLE_2, 3: TABLE_3}
    if number not in tables:
        raise ValueError(f"rate tables are 1, 2 and 3, got {number}")
    return tables[number]


K, D, v, W, r, rate, T_fb, T_fedavg = sp.symbols(
    "K D v |W| r R T_fb T_fedavg", positive=True
)


@dataclass(frozen=True)
class Overhead:
    r"""One row of Table 4: communication (same unit as v and |W|) and time.

    K clients, D samples in all, v size of the smashed layer per sample, |W| model
    size, r the client's share of it, R the rate of communication, $T_{fb}$ time of a
    forward and backward pass over the data, $T_{fedavg}$ time of an aggregation.

    Attributes:
        method: "FL", "SL", "SFL-V1" or "SFL-V2".
        per_client: communication of a client in a round.
        total: communication of all clients in a round.
        time: time of a round.
    """

    method: str
    per_client: sp.Expr
    total: sp.Expr
    time: sp.Expr

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the three entries as numbers.

        Args:
            values: "K", "D", "v", "W", "r", "R", "T_fb", "T_fedavg".

        Returns:
            "per_client", "total" and "time".

        Raises:
            ValueError: if a value is missing; it is named.
        """
        names = {
            K: "K", D: "D", v: "v", W: "W", r: "r", rate: "R", T_fb: "T_fb",
            T_fedavg: "T_fedavg",
        }  # fmt: skip
        result = {}
        for entry in ("per_client", "total", "time"):
            expr = getattr(self, entry)
            for symbol in expr.free_symbols:
                if names[symbol] not in values:
                    raise ValueError(f"Table 4 needs the value '{names[symbol]}'")
            result[entry] = float(
                expr.subs({s: values[names[s]] for s in expr.free_symbols})
            )
        return result


_smashed = 2 * D / K * v + 2 * r * W
_all_smashed = 2 * D * v + 2 * r * K * W
_parallel = T_fb + 2 * D * v / (rate * K) + 2 * r * W / rate

TABLE_4 = (
    Overhead("FL", 2 * W, 2 * K * W, T_fb + 2 * W / rate + T_fedavg),
    Overhead(
        "SL", _smashed, _all_smashed, T_fb + 2 * D * v / rate + 2 * r * W * K / rate
    ),
    Overhead("SFL-V1", _smashed, _all_smashed, _parallel + T_fedavg),
    Overhead("SFL-V2", _smashed, _all_smashed, _parallel + T_fedavg / 2),
)
