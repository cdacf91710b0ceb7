r"""Witnesses for one local step in Lemmas C.5 and C.6 of ``han2024``, (38)-(44).

$F=\frac c2u^2+gu$ from $x^t=0$, a local point u that no noise of the next gradient
touches, $\nabla f(x^t)=m$, noise $\pm s$ at every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.one_function import SMALL, WIDE
from sfl_theory.mutation.vectors import SIDES, drawn, gram
from sfl_theory.mutation.witness import Witness, shared

ZERO, HALF = Fraction(0), Fraction(1, 2)
STEPS = (1, 1, 2, 10, 1000)

_U, _XI, _DELTA, _F, _APART, _MEAN, _XI_0 = (
    "x^{i-1}-x^t", "xi^{i-1}", "gradF(x^{i-1})-gradF(x^t)", "gradF(x^t)",
    "gradF(x^t)-gradf(x^t)", "gradf(x^t)", "xi^0",
)  # fmt: skip


def _squares(*names: str) -> tuple[str, ...]:
    return tuple(f"<{name},{name}>" for name in names)


def _all(*names: str) -> tuple[str, ...]:
    return tuple(gram(dict.fromkeys(names, ())))


STATED = (
    _squares(_F, _DELTA, _U, _XI),
    _all(_F, _XI_0),
    _all(_F, _DELTA, _U, _XI),
    _squares(_APART, _DELTA, _MEAN, _U, _XI),
    _all(_APART, _DELTA, _MEAN, _U, _XI),
)
"""Atoms of (38), (39), (43), (44)."""


@shared
def local_point(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a client at x^t and at a local point."""
    del certificate
    for rng in drawn(71, 400):
        tau, parts = rng.choice(STEPS), rng.choice((3, 4))
        eta = rng.choice((*WIDE, Fraction(1, 100)))
        # 2 p S^2 tau^2 eta^2 <= 1: 1/5 is less than 1/sqrt(2 p) but not much
        c = Fraction(rng.choice((1, -1, 1, 0)), 1)
        c *= Fraction(2, 5) if parts == 3 else Fraction(1, 3)
        c /= eta * tau
        S2 = Fraction(1, 2 * parts) / (eta * tau) ** 2
        if "(24)" in without:
            c *= 1000
        u, g = rng.choice(SIDES), rng.choice(SIDES)
        if rng.random() < 1 / 2:
            # Young's inequality is sharp where u and the step agree
            u = -g * eta * tau * rng.choice((HALF, 1, 1, 2))
        m = rng.choice((g, g / 2, rng.choice(SIDES)))
        s = rng.choice((ZERO, *SMALL))
        if parts == 4 and rng.random() < 1 / 8:
            # the parts of the step as large as the move of the gradient
            tau, c, u, m, s = 1, -1 / (3 * eta), -2 * eta * g, g / 2, ZERO
            S2 = 1 / (8 * eta**2)
        less = 10**6
        sigma2 = s**2 / (less if "(26)" in without else 1)
        bias = rng.choice(SIDES) if "(26)" in without else ZERO
        louder = rng.choice((1, 1000)) if "(26)" in without else 1
        if louder > 1:  # only where nothing bounds the second moment
            bias = ZERO
        eps2 = (g - m) ** 2 / (less if "(29)" in without else 1)
        reached = g**2 + s**2
        G2 = reached / (less if "(28)" in without else 1)
        stated = m**2 / (less if "stands for" in without else 1)
        atoms: dict[str, Fraction] = {}
        for first, later in product((-s + bias, s + bias), repeat=2):
            found = gram({
                "x^{i-1}-x^t": (u,),
                "xi^{i-1}": (louder * later,),
                "gradF(x^{i-1})-gradF(x^t)": (c * u,),
                "gradF(x^t)": (g,),
                "gradF(x^t)-gradf(x^t)": (g - m,),
                "gradf(x^t)": (m,),
                "xi^0": (first,),
            })
            for key, value in found.items():
                atoms[key] = atoms.get(key, ZERO) + value / 4
        values = {
            "tau": Fraction(tau), "eta": eta, "S2": S2, "sigma2": sigma2, "G2": G2,
            "epsilon2": eps2, "grad_f_norm2": stated, "gradient2": stated,
        }  # fmt: skip
        known = {
            assumed.SMOOTH: at_most("c^2 <= S^2", c**2, S2),
            assumed.SPREAD: assumed.spread((g - m) ** 2, eps2),
            assumed.BOUNDED: assumed.bounded(reached, G2),
            assumed.NAMED: equal("gradient2 = m^2", stated, m**2),
            **assumed.noise((louder * s) ** 2, sigma2, bias),
        }
        words = f"F = {c}/2 u^2 + {g} u at 0 and {u}, grad f = {m}, noise +-{s}"
        yield Witness(words, values, atoms, known)
