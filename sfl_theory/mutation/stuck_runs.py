r"""Witnesses for T rounds of SFL-V1: two clients that keep each other still.

$f'=g-S|y|$ and $F_n'=f'\pm e$ as in ``kinks.tilted``, with g such that the clients'
moves cancel: every round ends where it began, with the gradient g left.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import runs
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.kinks import ONE, ZERO, tilted
from sfl_theory.mutation.vectors import at_least
from sfl_theory.mutation.witness import Witness, shared

LONG, ROUNDS = 2048, 10**6


@shared
def gradients(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the runs of ``runs.gradients``, then those that stay where they are."""
    yield from runs.gradients(certificate, without)
    if without.startswith("eta^t <= "):
        yield _too_fast()
    S, e = ONE, ONE
    # a power of two keeps the exact powers short
    eta = 1 / (16 * S * LONG)
    yield from stuck(S, e, eta, LONG)


def stuck(S: Fraction, e: Fraction, eta: Fraction, p: int) -> Iterator[Witness]:
    r"""Yield the runs with the client side or the server side at rest.

    With $a=1-(1-\eta S)^p$ and $b=(1+\eta S)^p-1$ the moves cancel at
    $g=e\frac{b-a}{a+b}$. They reach $r=\frac{e-g}Sb$; further on f' rises again, so
    that the least value of f is $gr-\frac S2r^2-\frac{(Sr-g)^2}{2S}$ or, on the other
    side, $-\frac{g^2}{2S}$.

    Args:
        S: smoothness constant.
        e: difference of the clients' gradients from f'.
        eta: learning rate.
        p: local steps.

    Yields:
        Both runs.
    """
    a, b = 1 - (1 - eta * S) ** p, (1 + eta * S) ** p - 1
    g = e * (b - a) / (a + b)
    move = tilted(S, g, e, eta, p)
    reach = (e - g) / S * b
    deepest = g * reach - S / 2 * reach**2 - (S * reach - g) ** 2 / (2 * S)
    gap = max(-deepest, g**2 / (2 * S))
    T = Fraction(ROUNDS)
    initial = Fraction(gap.__ceil__())
    total = T * eta * g**2
    values = {
        "S": S, "N": Fraction(2), "T": T, "tau": Fraction(p),
        "tau_server": Fraction(p), "tau_min": Fraction(p), "tau_max": Fraction(p),
        "F_err": initial, "sum_t<T eta^t^2": T * eta**2, "epsilon": e, "epsilon_": e,
        "kappa": ONE, "sigma_w": at_least(ZERO), "epsilon2": e**2,
    }  # fmt: skip
    known = {
        assumed.SMOOTH: assumed.smooth(move.curvature, S),
        assumed.SPREAD: assumed.spread(move.spread, e**2),
        assumed.PRESENT: assumed.unit_interval(ONE),
        assumed.EVERYONE: equal("q", ONE, 1),
        assumed.START: at_most("f(0) - f*", gap, initial),
        assumed.MINIMISER: at_most("f(x^T) >= f*", ZERO, gap),
        assumed.RATE: at_most("16 S tau eta <= 1", 16 * S * p * eta, 1),
        assumed.V1: equal("mean of the moves", move.end, ZERO),
        **assumed.noise(ZERO, ZERO),
    }
    for moving, still in (("c", "s"), ("s", "c")):
        atoms = {
            f"sum_t<T eta^t^1 (<grad_{moving},grad_{moving}>)": total,
            f"sum_t<T eta^t^1 (<grad_{still},grad_{still}>)": ZERO,
        }
        words = f"SFL-V1 stays at 0, N = 2, block {moving}: {move.words}, T = {T}"
        yield Witness(words, values, atoms, known)


def _too_fast() -> Witness:
    """Return one step at eta = 3/S on S u^2/2."""
    S, start = ONE, ONE
    eta = 3 / S
    run = runs.quadratic(S, ZERO, start, 1, [eta])
    initial = S / 2 * start**2
    counts = ("N", "T", "tau", "tau_server", "tau_min", "tau_max", "kappa")
    none = dict.fromkeys(("epsilon", "epsilon_", "epsilon2", "sigma_w"), at_least(ZERO))
    values = {
        **dict.fromkeys(counts, ONE), **none,
        "S": S, "F_err": initial, "sum_t<T eta^t^2": eta**2,
    }  # fmt: skip
    atoms = {
        "sum_t<T eta^t^1 (<grad_c,grad_c>)": eta * S**2 * run.squares[0],
        "sum_t<T eta^t^1 (<grad_s,grad_s>)": ZERO,
    }
    known = {
        assumed.SMOOTH: assumed.smooth(S, S),
        assumed.SPREAD: assumed.spread(ZERO, ZERO),
        assumed.PRESENT: assumed.unit_interval(ONE),
        assumed.EVERYONE: equal("q", ONE, 1),
        assumed.START: equal("f(x^0) - f*", S / 2 * run.squares[0], initial),
        assumed.MINIMISER: at_most("f >= f(0) = f*", ZERO, S),
        assumed.V1: equal("E u^2 at the end", run.squares[1], (1 - eta * S) ** 2),
        **assumed.noise(ZERO, ZERO),
    }
    return Witness(f"N = 1, {S}/2 u^2 from 1, eta = {eta}, T = 1", values, atoms, known)
