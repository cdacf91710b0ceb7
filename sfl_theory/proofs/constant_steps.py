r"""One counter of steps at a constant rate: means over all steps of T rounds.

Stochastic gradients are bounded, so D is at most :math:`(j\eta G)^2` before step j of a
round and :math:`\frac{(K-1)(2K-1)}6\eta^2G^2` in the mean over its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Lin, Vec, constant, norm2
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.counted_steps import (
    G2,
    apart,
    counted,
    distance_ends,
    value_ends,
)
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.mean_steps import SINGLE, ZERO, MeanStep, gap
from sfl_theory.proofs.minibatch_stepwise import J, K, S, T, now
from sfl_theory.proofs.notation import combine, sign, steps, sum_over

eta = notation.positive("eta")
ALWAYS = rules.square(ratio(1))
Ends = tuple[Theorem, Theorem]


def step(most: Fraction | None, modulus: Ratio | None = ZERO) -> MeanStep:
    """Return the step of the mean model; ``S eta <= most`` is assumed, if given."""
    pace = k.Pace(k.natural(K), k.Rate(eta))
    small = ALWAYS if most is None else rules.assume(constant(most - S * eta))
    return MeanStep(counted(pace), eta, small, modulus)


def drift(one: MeanStep) -> Theorem:
    """Return ``D <= (J eta G)^2``."""
    return apart(one.walk, eta, eta, combine(target=constant(0)))


def distance(u: Vec) -> Lin:
    """Return the squared distance to the minimiser."""
    return norm2(u - st.BEST)


def over_steps(
    one: MeanStep, gained: Theorem, form: Callable[[Vec], Lin], ends: Ends
) -> Theorem:
    """Return the sum over T rounds of what steps gain.

    Args:
        one: the step.
        gained: that a step's gain is at most what it takes from the form.
        form: of a model.
        ends: that the form is no larger where a round starts and where it ends.

    Returns:
        That all gains are at most the first form.
    """
    round_ = combine(
        sum_over(gained, steps(K), st.j),
        derived.telescope(st.j, form(one.middle), K),
        *ends,
    )
    x = k.iterate(one.walk.run, now)
    return combine(
        sum_over(round_, steps(T), st.t), derived.telescope(st.t, form(x), T)
    )


def average_gap() -> Theorem:
    r"""Return the mean gap of all steps, convex functions, any rate.

    At most :math:`\frac{\Delta^0}{2\eta n}+\frac\eta2G^2+\frac S{12}(K-1)(2K-1)
    \eta^2G^2`, n = KT.
    """
    one = step(None)
    gained = combine(one.bounded_descent(G2), (drift(one), S * eta))
    whole = over_steps(one, gained, distance, distance_ends(one.walk))
    return combine((whole, 1 / (2 * eta * K * T)), (_last(one), 1 / (2 * eta * K * T)))


def average_gap_divided() -> Theorem:
    r"""Return the same with the noise of the mean, for :math:`S\eta\le\frac14`.

    At most :math:`\frac{\Delta^0}{\eta n}+\eta\sum_na_n^2\sigma_n^2+\frac S4
    (K-1)(2K-1)\eta^2G^2`.
    """
    one = step(Fraction(1, 4))
    more = Fraction(3, 2) * S * eta
    gained = combine(
        one.toward_best(1, ZERO),
        (drift(one), S * eta * (1 + 2 * S * eta)),
        (one.small, 2 * S * eta * G2 * (J * eta) ** 2),
        (derived.lowest(k.MEAN, one.middle), eta - 4 * S * eta**2),
        target=distance(one.middle)
        - distance(one.walk.middle(J + 1))
        - gap(one.middle) * eta
        + constant(eta**2 * SINGLE + more * (J * eta) ** 2 * G2),
        signs=[sign(eta - 4 * S * eta**2, (one.small, 4 * eta))],
    )
    whole = over_steps(one, gained, distance, distance_ends(one.walk))
    return combine((whole, 1 / (eta * K * T)), (_last(one), 1 / (eta * K * T)))


def _last(one: MeanStep) -> k.Vec:
    return k.iterate(one.walk.run, T) - st.BEST


def average_gradient() -> Theorem:
    r"""Return the mean squared gradient of all steps, for :math:`S\eta\le1`.

    At most :math:`\frac{2(f^0-f^*)}{\eta n}+S\eta\sum_na_n^2\sigma_n^2+\frac{S^2}6
    (K-1)(2K-1)\eta^2G^2`.
    """
    one = step(Fraction(1), None)
    gained = combine(one.value_descent(0), (drift(one), S**2 * eta / 2))
    whole = over_steps(one, gained, gap, value_ends(one.walk, smooth_mean))
    share = 2 / (eta * K * T)
    last = derived.lowest(k.MEAN, k.iterate(one.walk.run, T))
    return combine((whole, share), (last, share))
