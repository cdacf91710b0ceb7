r"""Strongly convex cases: sharper than the repaired and the printed bounds.

The initial distance is not needed: $e_0\le\frac{G^2}{2\mu}$, which the noise terms
cover. With $\gamma+T$ multiplied out, in units of $SG^2/\mu^2$, the repaired bounds
hold with

- $4$ in place of $8+\frac83+\dots$ (3.6), $5$ (3.7), $4c_1$ (3.8), $8c_1$ (3.9),
- $4c_1+2$ for any periods,
- $8c_1$, and $4c_1+7$, in place of the printed right sides of Theorems 3.6 and 3.8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import sympy as sp

from sfl_theory.audits.han2024 import convex, repairs, two_periods
from sfl_theory.audits.han2024 import two_periods_round as paired
from sfl_theory.audits.han2024.convex import G2, S, delta0, gamma, mu, t
from sfl_theory.audits.han2024.equations import rates_descent
from sfl_theory.audits.han2024.equations.rates_descent_rules import alpha
from sfl_theory.audits.han2024.value_ends import End
from sfl_theory.audits.han2024.value_induction import (
    MUCH_DRIFT,
    OF_BLOCKS,
    ONE_PERIOD,
    TWO_PERIODS,
)
from sfl_theory.audits.han2024.value_rules import drift_in_any_order
from sfl_theory.evidence.certificate import Certificate, atom
from sfl_theory.evidence.domain import positive
from sfl_theory.papers.repaired import DISTANCE_FREE, Setting

UNIT = S * G2 / mu**2
FAR = gamma * S / 2 * delta0
r"""$\gamma(f(x^0)-f^*)$ at most, by the initial distance."""


def any_constants(claim: str) -> Certificate:
    r"""Return $2c_1$ and $\frac{32}3\frac S{\mu\gamma}c_d$ in place of $8c_1,8c_d$."""
    original = convex.strongly_convex_end(claim, repairs.strongly_convex_right)
    end = End(original, t, {})
    return end.by_steps(claim, ONE_PERIOD, ONE_PERIOD.least + FAR, True)


def _at_constants(claim: str, setting: Setting) -> End:
    names = {
        symbol: (sp.Integer(0) + value).xreplace(repairs.SUMS)
        for symbol, value in ((convex.c1, setting.c1), (convex.cd, setting.cd))
    }
    return End(repairs.at_constants(claim, setting), t, names)


def without_distance(claim: str, setting: Setting, factor: int) -> Certificate:
    r"""Return the bound with ``factor`` $c_1$ alone, in units of $SG^2/\mu^2$."""
    end = _at_constants(claim, setting)
    bound = factor * end.at[convex.c1] * UNIT
    return end.by_steps(claim, ONE_PERIOD, bound, False)


def distance_free(claim: str, setting: Setting) -> Certificate:
    """Return the certificate of ``papers.repaired.distance_free``."""
    if setting.number == "3.9":
        return late_drift(claim, setting)
    return without_distance(claim, setting, DISTANCE_FREE[setting.number])


def without_noise(claim: str, setting: Setting) -> Certificate:
    r"""Return the bound without the term of $c_1$, for $c_1=1,c_d=\frac13$."""
    bound = 8 * setting.cd * UNIT + FAR
    return _at_constants(claim, setting).by_steps(claim, ONE_PERIOD, bound, True)


def late_drift(claim: str, setting: Setting) -> Certificate:
    r"""Return the bound with $8c_1$ alone, in units of $SG^2/\mu^2$."""
    return _at_constants(claim, setting).in_two_phases(claim, MUCH_DRIFT)


def any_periods(claim: str, setting: Setting) -> Certificate:
    r"""Return the bound with $4c_1+2$ alone, $c_1=(2-\varrho)(1+\rho)$."""
    end = End(two_periods.strongly_convex_end(claim, setting), t, {})
    return end.by_steps(claim, TWO_PERIODS, (4 * paired.SECOND + 2) * UNIT, False)


def printed(claim: str, number: str) -> Certificate:
    r"""Return the bound with $8c_1$ alone, $c_1=1+\sum_na_n^2\frac{1-q_n}{q_n}$."""
    (top,) = positive("T")
    end = End(rates_descent.end(claim, number), top, {})
    return end.in_two_phases(claim, OF_BLOCKS)


def printed_by_steps(claim: str, number: str) -> Certificate:
    r"""Return the bound with $4c_1+7$ alone."""
    (top,) = positive("T")
    end = End(rates_descent.end(claim, number), top, {})
    return end.by_steps(claim, OF_BLOCKS, (4 * convex.c1 + 7) * UNIT, False)


def half_of_the_drift(claim: str) -> Certificate:
    r"""Return ``rates_descent.one_round`` with half of $2S^2\alpha^3G^2$."""
    loose = rates_descent.one_round(claim)
    places = [k for k, (fact, _) in enumerate(loose.uses) if "drift" in fact.name]
    uses = list(loose.uses)
    uses[places[0]] = drift_in_any_order(atom("D")), uses[places[0]][1]
    return replace(
        loose,
        right=loose.right - S**2 * alpha**3 * G2,
        uses=tuple(uses),
        statement="sharper: the round with S^2 alpha^3 G^2",
    )


def certificates(
    claim: str, setting: Setting, other: Setting | None
) -> tuple[Callable[[], Certificate], ...]:
    """Return the sharper certificates of a repaired strongly convex case.

    Args:
        claim: identifier of the repair.
        setting: for equal periods.
        other: for any periods, if the repair speaks of them.

    Returns:
        Builders.
    """
    number = setting.number
    builders: tuple[Callable[[], Certificate], ...] = (
        partial(distance_free, claim, setting),
    )
    if other is not None:
        more = partial(any_periods, claim, other), partial(printed, claim, number)
        builders = (*builders, *more)
    if number == "3.6":  # of statements that the other theorems share
        shared = partial(any_constants, claim), partial(half_of_the_drift, claim)
        builders = (*builders, partial(without_noise, claim, setting), *shared)
    if number == "3.8":
        builders = (*builders, partial(printed_by_steps, claim, number))
    return builders
