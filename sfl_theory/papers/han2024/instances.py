"""Runs that break the theorems: the same data for the kernel, pictures and trainer."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence.federated import FederatedRun, Piece, Rate, Separable
from sfl_theory.papers.han2024.printed import shared

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
BOWL = Separable((Piece(), Piece()))
APART = (BOWL, Separable((Piece(), Piece(centre=ONE))))
HUBER = Piece(kink=ONE)
NEARLY_ONE = (Fraction(19, 20), Fraction(1, 20))


def swapped(number: str, rounds: int, q: Fraction = ONE) -> FederatedRun:
    r"""Return one client whose server makes 1 step a round at :math:`\tau=32`.

    :math:`F=\|x\|^2/2`, :math:`x^0=(0,1)`: the server contracts by
    :math:`1-\frac4{32(7+t)}` a round, :math:`x_s^T` falls like :math:`T^{-1/8}`.
    """
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="strongly_convex",
        algorithm="sfl-v1",
        clients=(BOWL,),
        weights=(ONE,),
        participation=(q,),
        start=(ZERO, ONE),
        rounds=rounds,
        client_rate=Rate(Fraction(4), Fraction(7), ONE),
        server_rate=Rate(Fraction(4), Fraction(7 * 32), Fraction(32)),
        tau=32,
    )


def unweighted(number: str, rounds: int, q: Fraction = ONE) -> FederatedRun:
    r"""Return two clients with :math:`F_n=(x_c^2+(x_s-b_n)^2)/2`, b = (0, 1).

    The server's mean tends to 1/2, the minimiser of :math:`F_1+F_2`; f has its own at
    :math:`a_2=1/20`.
    """
    rate = Rate(Fraction(4), Fraction(7), ONE)
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="strongly_convex",
        algorithm="sfl-v2",
        clients=APART,
        weights=NEARLY_ONE,
        participation=(q, q),
        start=(ZERO, HALF),
        rounds=rounds,
        client_rate=rate,
        server_rate=rate,
    )


def slow(number: str, rounds: int = 250) -> FederatedRun:
    r"""Return one Huber function per block, from :math:`x_s=1` at a tiny rate."""
    rate = Rate(Fraction(1, 10**6))
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="general_convex",
        algorithm="sfl-v2" if shared(number) else "sfl-v1",
        clients=(Separable((HUBER, HUBER)),),
        weights=(ONE,),
        start=(ZERO, ONE),
        rounds=rounds,
        client_rate=rate,
        server_rate=rate,
        rule="constant",
    )


def at_best(number: str) -> FederatedRun:
    """Return the same client with noise, started at the minimiser, for one round."""
    rate = Rate(HALF)
    noisy = Separable((HUBER, HUBER), (ZERO, ONE))
    start = (ZERO, ZERO)
    one = slow(number, 1)
    return replace(
        one, clients=(noisy,), start=start, client_rate=rate, server_rate=rate
    )


def stuck(number: str, rate: Fraction, rounds: int, q: Fraction = ONE) -> FederatedRun:
    r"""Return the two clients with weights (3/4, 1/4), started at the minimiser of f.

    The server leaves it for 1/2, the minimiser of :math:`F_1+F_2`, where
    :math:`\|\nabla f\|^2=1/16`.
    """
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="non_convex",
        algorithm="sfl-v2",
        clients=APART,
        weights=(Fraction(3, 4), Fraction(1, 4)),
        participation=(q, q),
        start=(ZERO, Fraction(1, 4)),
        rounds=rounds,
        client_rate=Rate(rate),
        server_rate=Rate(rate),
        rule="constant",
    )
