r"""Functions multiplied by a number of at most 1, as smooth and convex as before.

A round with steps :math:`\theta\eta` is a round with steps :math:`\eta` on functions
:math:`\theta F_n`, which are S-smooth for :math:`\theta\le1` and m-strongly convex for
:math:`m\le\theta\mu`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.notation import combine
from sfl_theory.proofs.unrolled import X, Y, n

HALF = Fraction(1, 2)


def at_most_one(theta: Ratio) -> Theorem:
    """Return ``theta <= 1``: assumed where it has to be."""
    form = k.constant(1 - theta)
    known = (1 - theta).nonnegative()
    return combine(target=form) if known else rules.assume(form)


def below(theta: Ratio, S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``theta (F_n(p) + <grad F_n(p), q - p> - F_n(q)) + S/2 ||q - p||^2``."""
    return combine(
        (rules.smooth(k.Local(n), S, p, q), theta),
        (q - p, (1 - theta) * S / 2),
        signs=[at_most_one(theta)],
    )


@cache
def _interpolation(theta: Ratio, S: Ratio, mu: Ratio, least: Ratio) -> Theorem:
    x, y, F = k.vec(X), k.vec(Y), k.Local(n)
    gx, gy = k.gradient(F, x) * theta, k.gradient(F, y) * theta
    d = gx - gy - (x - y) * least
    z = x - d * (1 / (S - least))
    rest = (k.value_of(F, x) - k.value_of(F, y)) * theta - k.inner(gy, x - y)
    rest = rest - k.norm2(x - y) * (least / 2) - k.norm2(d) * (1 / (2 * (S - least)))
    spare = theta * mu - least
    signs = [at_most_one(theta)]
    if not spare.nonnegative():
        signs.append(rules.assume(k.constant(spare)))
    return combine(
        (below(theta, S, x, z), 1),
        (rules.convex(F, mu, y, z), theta),
        (z - y, spare * HALF),
        target=rest,
        signs=signs,
    )


def interpolated(
    theta: Ratio, S: Ratio, mu: Ratio, least: Ratio, x: k.Vec, y: k.Vec
) -> Theorem:
    """Return what values and gradients of ``theta F_n`` at x and y satisfy.

    As `unrolled.interpolated`, for F_n S-smooth and mu-convex, S > least, and
    ``theta <= 1``, ``theta mu >= least``, assumed where they are not numbers.
    """
    one = _interpolation(theta, ratio(S), ratio(mu), ratio(least))
    return rules.instantiate(one, ((X, x), (Y, y)), ())
