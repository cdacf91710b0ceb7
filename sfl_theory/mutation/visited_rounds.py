r"""Witnesses for one and for T rounds of SFL-V2 whose clients come one after another.

$F_n=\frac c2v^2-b_nv$ on the server, the client side at rest; moments of a round as in
``visited_blocks``. Over T rounds: the point that a round without noise maps to itself,
where clients draw apart and the mean gradient is not 0; and one client with noise, from
the minimiser, whose variance grows to its limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import one_round, runs
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.vectors import at_least, drawn, gram
from sfl_theory.mutation.visited_blocks import (
    HALF,
    ONE,
    SCALES,
    ZERO,
    checks_in_turn,
    in_turn,
    short,
    sums_over_clients,
)
from sfl_theory.mutation.witness import Witness, shared

PAIRS = ((HALF, HALF), (Fraction(1, 10), Fraction(9, 10)))
CHANCES = ((ONE, ONE), (ONE, ONE), (Fraction(1, 20), Fraction(1, 20)))


@shared
def one(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield rounds from 0, the slope chosen to make the descent small."""
    yield from one_round.shared_server(certificate, without)
    for rng in drawn(121, 250):
        a, q = rng.choice(PAIRS), rng.choice(CHANCES)
        p, S = rng.choice((1, 2, 8, 300)), rng.choice(SCALES)
        numbers = sums_over_clients(a, q, (ZERO, ZERO))
        scale = rng.choice(SCALES)
        eta = 1 / (16 * S * p * numbers["kappa"]) * rng.choice((2, 1, HALF / 500))
        c = S * rng.choice((1, -1))
        if "Lipschitz" in without:
            p, c = min(p, 8), 400 * S
        noisy = rng.random() < HALF / 2
        s = (scale, scale) if noisy else (ZERO, ZERO)
        b = (ZERO, ZERO) if noisy else (scale / a[0], -scale / a[1])
        g = ZERO
        if not noisy:
            still = in_turn(a, q, c, b, s, p, eta)
            g = short(still.mean / (eta * p)) * Fraction(2, 3)
        found = in_turn(a, q, c, (b[0] - g, b[1] - g), s, p, eta)
        noise = tuple(v**2 for v in s)
        spread = max(v**2 for v in b)
        kept = spread / (10**6 if without == "Assumption 3.4" else 1)
        less = 10**6 if "3.2" in without else 1
        end = found.mean + (10**6 * scale if "server steps" in without else ZERO)
        values = {
            "tau": Fraction(p), "S": S, "eta": eta, "epsilon2": at_least(kept),
            **sums_over_clients(a, q, noise, less),
        }  # fmt: skip
        atoms = gram({"grad_c": (ZERO,), "grad_s": (g,)})
        atoms |= dict.fromkeys(("<grad_f,grad_f>", "||grad f(x)||^2"), g**2)
        atoms |= {"f(x)": ZERO, "f(x')": c / 2 * found.square + g * end}
        moved = equal("E x'", end, found.mean)
        known = {
            **checks_in_turn(c, S, q, moved),
            assumed.SPREAD: assumed.spread(spread, values["epsilon2"]),
            **assumed.noise(max(noise), max(noise) / less),
        }
        words = f"server {c}/2 v^2 - b_n v, b = {b}, slope {g} at 0, a = {a}, q = {q}, "
        words += f"noise {s}, {p} visits each in turn, eta = {eta}"
        yield Witness(words, values, atoms, known)


def _run(
    T: int,
    p: int,
    S: Fraction,
    eta: Fraction,
    total: Fraction,
    gap: Fraction,
    spread: Fraction,
    noise: Fraction,
    words: str,
) -> Witness:
    """Return the witness of T rounds, everybody present."""
    values = {
        "S": S, "T": Fraction(T), "tau": Fraction(p), "F_err": at_least(gap),
        "kappa": ONE, "rho": ZERO, "epsilon2": at_least(spread),
        "sum_t<T eta^t^2": T * eta**2, "sum_t<T eta^t^3": T * eta**3,
        "sigma_a": at_least(noise), "sigma_q": at_least(noise),
    }  # fmt: skip
    same = equal("T rounds", T, values["T"])
    known = {
        assumed.SMOOTH: assumed.smooth(S, S),
        assumed.SPREAD: assumed.spread(spread, values["epsilon2"]),
        assumed.PRESENT: assumed.unit_interval(ONE),
        assumed.START: at_most("F_err", gap, values["F_err"]),
        assumed.MINIMISER: at_most("f >= f(x*) = f*", ZERO, S),
        assumed.RATE: at_most("8 S tau eta <= 1", 8 * S * p * eta, 1),
        assumed.V2: same,
        assumed.V2_PARTIAL: same,
        **assumed.noise(noise, noise),
    }
    return Witness(words, values, {"sum_t<T eta^t^1 (||grad f(x)||^2)": total}, known)


@shared
def many(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield T rounds: at a fixed point of the round, or with noise from x*."""
    yield from runs.gradients(certificate, without)
    if without:
        return
    a, q = PAIRS[0], (ONE, ONE)
    for S in (*SCALES, Fraction(1, 10**6), Fraction(10**6)):
        for p in (8, 300):
            eta = 1 / (8 * S * p)
            for scale in (ONE, Fraction(1, 1000)):
                b = (scale / a[0], -scale / a[1])
                still, tilted = (
                    in_turn(a, q, S, (b[0] - g, b[1] - g), (ZERO, ZERO), p, eta).mean
                    for g in (ZERO, ONE)
                )
                g = still / (still - tilted)
                T = 10**6
                yield _run(
                    T, p, S, eta, T * eta * g**2, g**2 / (2 * S), max(b) ** 2, ZERO,
                    f"two clients in turn, {S}/2 v^2 -+ {b[0]} v, at the point where "
                    f"a round of {p} visits each ends where it starts, T = {T}",
                )  # fmt: skip
        T, eta, s = 2000, 1 / (64 * S), ONE
        kept = (1 - eta * S) ** 2
        limit = (eta * s) ** 2 / (1 - kept)
        squares = limit * (T - (1 - kept**T) / (1 - kept))
        words = f"N = 1, {S}/2 v^2 from 0, noise +-{s}, tau = 1, eta = {eta}, T = {T}"
        yield _run(T, 1, S, eta, eta * S**2 * squares, ZERO, ZERO, s**2, words)
