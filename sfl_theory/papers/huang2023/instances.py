"""Runs that break the propositions: the same data for kernel, pictures and trainer."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.functions import Bowl, Piece, Separable

ZERO, ONE = Fraction(0), Fraction(1)
BOWL = Separable((Piece(), Piece()))


def half_of_the_data(clients: int = 12) -> FederatedRun:
    r"""Return :math:`f_n=\frac12\|w\|^2`, client 1 noisy and with p = 1/2, one step."""
    rest = Fraction(1, 2 * clients - 2)
    rate = Rate(Fraction(2), Fraction(7), ONE)
    return FederatedRun(
        theorem="huang2023/prop-1",
        case="strongly_convex",
        algorithm="minibatch-sfl",
        clients=(Separable(BOWL.pieces, (ZERO, ONE)), *(BOWL,) * (clients - 1)),
        weights=(Fraction(1, 2), *(rest,) * (clients - 1)),
        start=(ZERO, ZERO),
        rounds=1,
        client_rate=rate,
        server_rate=rate,
        per_step=True,
        box=((ZERO, ZERO), (-ONE, ONE)),
    )


def pulled(number: int, kappa: int, rounds: int) -> FederatedRun:
    r"""Return one client without noise, where one block pulls the other away.

    :math:`F=w_c^2-w_cw_s+w_s^2+\frac\kappa2z^2`; the block that the proposition speaks
    of starts at its optimum, the other one at 1.
    """
    rows = (2, -1, 0), (-1, 2, 0), (0, 0, kappa)
    bowl = Bowl(
        tuple(tuple(map(Fraction, row)) for row in rows),
        (ZERO,) * 3,
        (ONE, Fraction(kappa)),
    )
    rate = Rate(Fraction(2), Fraction(8 * kappa - 1), ONE)
    return FederatedRun(
        theorem=f"huang2023/prop-{number}",
        case="strongly_convex",
        algorithm="minibatch-sfl",
        clients=(bowl,),
        weights=(ONE,),
        start=(ONE, ZERO, ZERO) if number == 1 else (ZERO, ONE, ZERO),
        rounds=rounds,
        client_rate=rate,
        server_rate=rate,
        per_step=True,
        box=((ZERO, ONE), (ZERO, ONE), (ZERO, ZERO)),
    )
