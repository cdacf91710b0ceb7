r"""Witnesses for one round of SFL-V1 near the worst: one block moves, the other rests.

Every client has the same weight and takes part, so $N\sum_na_n^2=1$ and $\sigma_w$ is a
client's variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import blocks, one_round
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.federation import Coordinate
from sfl_theory.mutation.kinks import (
    ONE,
    ZERO,
    Move,
    coupled,
    kicked,
    quadratic,
    tilted,
)
from sfl_theory.mutation.vectors import at_least, gram
from sfl_theory.mutation.witness import Witness, shared

SCALES = (Fraction(1, 1000), Fraction(1000))
PERIODS = ((2, 2), (8, 8), (24, 1), (1, 24))
BLOCK_PERIODS = (2, 8, 128)
LONG = 1024
"""A period at which gradients at local points matter most at the largest rate."""


@cache
def moves(S: Fraction, eta: Fraction, p: int) -> tuple[Move, ...]:
    """Return rounds of a block: a kink, noise at a minimum, a nearly straight line.

    Args:
        S: smoothness constant.
        eta: learning rate.
        p: local steps.

    Returns:
        Moments of the rounds.
    """
    return (
        tilted(S, S * eta * p / 3, ONE, eta, p),
        tilted(S, ZERO, ONE, eta, p),
        quadratic(S, ZERO, ONE, eta, p),
        quadratic(-S, ONE, ZERO, eta, p),
        quadratic(S, ONE, ZERO, eta, p),
    )


@shared
def parallel(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the rounds of ``one_round.parallel_server``, then those near the worst."""
    yield from one_round.parallel_server(certificate, without)
    yield from both(certificate, without)


@shared
def of_86(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the rounds of ``blocks.both``, then those near the worst."""
    yield from blocks.both(certificate, without)
    yield from both(certificate, without)


@shared
def both(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield rounds in which one side moves, with the moments of sums and of noise."""
    del certificate
    if "takes part" in without:
        yield _absent()
    for S in SCALES:
        for periods in PERIODS:
            most, least = max(periods), min(periods)
            largest = 1 / (S * most * max(Fraction(16), Fraction(8 * most, least)))
            for eta in (largest, largest / 1000):
                for side in (0, 1):
                    for move in moves(S, eta, periods[side]):
                        yield _witness(move, S, eta, periods, side, without)
    S = Fraction(1)
    # a power of two keeps the exact powers short
    eta = 1 / (16 * S * LONG)
    move = tilted(S, S * eta * LONG / 3, ONE, eta, LONG)
    for side in (0, 1):
        yield _witness(move, S, eta, (LONG, LONG), side, without)


def _witness(
    move: Move,
    S: Fraction,
    eta: Fraction,
    periods: tuple[int, int],
    side: int,
    without: str,
) -> Witness:
    """Return a round of which one side is at rest."""
    b, other = ("c", "s") if side == 0 else ("s", "c")
    gradients = {f"grad_{b}": (move.slope,), f"grad_{other}": (ZERO,)}
    still = gram({f"{v}_{other}": (ZERO,) for v in ("M", "Z", "grad")})
    atoms = {
        **gram(gradients), **still, "f(x)": ZERO, "f(x')": move.change, "P": ZERO,
        f"<M_{b},M_{b}>": move.MM, f"<M_{b},Z_{b}>": move.MZ,
        f"<Z_{b},Z_{b}>": move.ZZ, f"<M_{b},grad_{b}>": move.M * move.slope,
        f"<Z_{b},grad_{b}>": ZERO,
    }  # fmt: skip
    values, known = _stated(move, S, eta, without)
    values |= {
        "tau": Fraction(periods[0]), "tau_server": Fraction(periods[1]),
        "N": Fraction(move.clients), "kappa": ONE, "sigma_w": at_least(move.noise),
    }  # fmt: skip
    where = "client" if side == 0 else "server"
    words = f"SFL-V1, N = {move.clients}, {where} side {move.words}, periods {periods}"
    return Witness(words, values, atoms, known)


def _absent() -> Witness:
    """Return one step of a client that seldom comes, its sums those of q = 1."""
    S = ONE
    eta, q = 1 / (16 * S), Fraction(1, 1000)
    side = Coordinate(S, (-ONE,), (ZERO,), ZERO, 1)
    mean, variance, absent = side.averaged((ONE,), eta, q)
    atoms = gram({"grad_c": (ONE,), "grad_s": (ZERO,)})
    atoms |= {
        "f(x)": ZERO, "f(x')": side.value((ONE,), mean, variance), "P": absent / eta**2
    }  # fmt: skip
    values = {
        "S": S, "eta": eta, "epsilon2": at_least(ZERO), "tau": ONE, "tau_server": ONE,
        "N": ONE, "kappa": ONE, "sigma_w": at_least(ZERO),
    }  # fmt: skip
    known = {
        assumed.SMOOTH: assumed.smooth(S, S),
        assumed.SPREAD: assumed.spread(ZERO, values["epsilon2"]),
        assumed.PRESENT: assumed.unit_interval(q),
        assumed.EVERYONE: equal("q", q, 1),
        assumed.V1: equal("E x' - x", mean, -eta),
        **assumed.noise(ZERO, ZERO),
    }
    return Witness(f"SFL-V1, N = 1, q = {q}, f' = 1 + y", values, atoms, known)


def _stated(
    move: Move, S: Fraction, eta: Fraction, without: str
) -> tuple[dict[str, Fraction], dict[str, Check]]:
    """Return the constants that the assumptions speak of, and their checks."""
    spread = ZERO if without == "Assumption 3.4" else move.spread
    values = {"S": S, "eta": eta, "epsilon2": at_least(spread)}
    known = {
        assumed.SMOOTH: assumed.smooth(move.curvature, S),
        assumed.SPREAD: assumed.spread(move.spread, values["epsilon2"]),
        assumed.PRESENT: assumed.unit_interval(ONE),
        assumed.EVERYONE: equal("q", ONE, 1),
        assumed.V1: equal("E x' - x = -eta E M", move.end, -eta * move.M),
        **assumed.noise(move.noise, at_least(move.noise)),
    }
    return values, known


@shared
def of_v1(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the blocks of ``blocks.of_v1``, then those near the worst."""
    yield from blocks.of_v1(certificate, without)
    for S in SCALES:
        for p in BLOCK_PERIODS:
            largest = 1 / (S * p * blocks.LEAST["v1"])
            for eta in (largest, largest / 1000):
                for k, move in enumerate(block_moves(S, eta, p)):
                    yield _block(move, S, eta, p, ZERO if k else ONE, without)


@cache
def block_moves(S: Fraction, eta: Fraction, p: int) -> tuple[Move, ...]:
    """Return rounds of a block: the other one moves (the first), kinks, early noise.

    Args:
        S: smoothness constant.
        eta: learning rate.
        p: local steps.

    Returns:
        Moments of the rounds.
    """
    u = S * eta * p
    found = [coupled(S, u / 2, ONE, eta, p)]
    for size in (ONE, Fraction(1, 1000)):
        found += [
            tilted(S, u / 2 * size, size, eta, p),
            tilted(S, ZERO, size, eta, p),
            kicked(S, S * eta / 2 * size, size, eta, p),
        ]
    for share in (1, 2):
        # the gradients after the kick are below 0: their sum is 0 or less
        found.append(kicked(S, ONE, Fraction(share * p, p - 1) / (S * eta), eta, p))
    return tuple(found)


def _block(
    move: Move, S: Fraction, eta: Fraction, p: int, others: Fraction, without: str
) -> Witness:
    """Return a round of one block of SFL-V1."""
    atoms = {
        "<grad_b,grad_b>": move.slope**2, "<grad_f,grad_f>": move.slope**2 + others,
        "<M,grad_b>": move.M * move.slope, "<Z,grad_b>": ZERO, "D": move.drift,
        blocks.JENSEN["v1"]: move.MM + 2 * move.MZ + move.ZZ,
    }  # fmt: skip
    values, known = _stated(move, S, eta, without)
    values |= {"p": Fraction(p), "kappa": ONE, "sigma": at_least(move.noise)}
    words = f"SFL-V1, N = {move.clients}, block {move.words}, {p} steps"
    return Witness(words, values, atoms, known)
