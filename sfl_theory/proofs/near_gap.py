r"""SFL-V1 without noise: the gap before a round, by the round's move and its drift.

For F_n at a model x, a local point p and any w, with ``S = mu + mu/4 (2 z + z^2)``,

    F_n(x) - F_n(w) <= <grad F_n(p), x - w> + (1 + z/4) mu <x - p, x - w>
                       - 3/8 mu ||x - w||^2 + mu/8 z^2 ||x - p||^2.

Averaged over points and clients at w = x*, the gradients are the round's move over its
rate, and x - p is nearly half of it: drift counts ``mu z^2/8``, for a large S/mu about
S/2, and nothing where S is mu.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs import moves as moving
from sfl_theory.proofs import moves as quiet
from sfl_theory.proofs import near_rounds as near
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.local_steps import G2, i, n, now, young
from sfl_theory.proofs.moves import BEST, before, d, drift, m, turn
from sfl_theory.proofs.notation import combine, of, variable
from sfl_theory.proofs.strongly_convex import mu, tau
from sfl_theory.proofs.successive_rounds import R, eta

z, rho = notation.positive("z"), notation.positive("rho")
EXCESS = mu / 4 * (2 * z + z**2)
S = mu + EXCESS
half = (1 + z / 4) * mu
"""What a point's distance from x counts along the distance from w."""


def at_root(theorem: Theorem) -> Theorem:
    """Return a theorem on S = mu + s for ``s = mu/4 (2 z + z^2)``."""
    return rules.instantiate(theorem, ((variable(strong.excess), EXCESS),), ())


def between(there: k.Vec, here: k.Vec) -> Theorem:
    """Return how far F_n lies above its tangent parabola, by gradients.

    ``F_n(q) >= F_n(p) + <grad F_n(p), q - p> + mu/2 ||q - p||^2
    + ||a||^2/(2 (S - mu))`` for ``a = grad F_n(q) - grad F_n(p) - mu (q - p)``: F_n at
    ``q - a/(S - mu)``.
    """
    F = k.Local(n)
    a = k.gradient(F, there) - k.gradient(F, here) - (there - here) * mu
    lower = there - a * (1 / EXCESS)
    return combine(rules.smooth(F, S, there, lower), derived.convex(F, mu, here, lower))


def three_points(x: k.Vec, p: k.Vec, w: k.Vec) -> Theorem:
    """Return the inequality of the module's docstring."""
    F, share = k.Local(n), 1 / (1 + z)
    gx, gp, gw = (k.gradient(F, at) for at in (x, p, w))
    change, all_of_it = gx - gp - (x - p) * mu, gx - gw - (x - w) * mu
    right = k.inner(gp, x - w) + k.inner(x - p, x - w) * half
    right = right - k.norm2(x - w) * (3 * mu / 8) + k.norm2(x - p) * (mu * z**2 / 8)
    return combine(
        (between(w, x), share),
        (between(w, p), 1 - share),
        (between(p, x), 1 - share),
        (all_of_it - change * (1 - share), 1 / (2 * EXCESS)),
        (x - w - change * (4 * share / mu) + (x - p) * z, mu / 8),
        target=right - k.value_of(F, x) + k.value_of(F, w),
    )


def by_move() -> Theorem:
    """Return the gap by what a round moves, and its drift.

    ``f(x) - f* <= 2/(3 mu) (1 + rho) (1 + half (tau - 1) eta/2)^2 ||m||^2/(eta tau)^2
    + (mu z^2/8 + (1 + 1/rho) (half eta tau S)^2/(18 mu)) drift/tau``.
    """
    gap = k.value_of(k.MEAN, R.x) - k.value_of(k.MEAN, BEST)
    along = 1 / eta + half * (tau - 1) / 2
    whole = m * along + turn * (half * eta)
    size = 2 / (3 * mu * tau)
    of_move = size * (1 + rho) * along**2
    of_drift = mu * z**2 / 8 + size * (1 + 1 / rho) * (half * eta) ** 2 * (
        tau**3 * S**2 / 12
    )
    right = k.norm2(m) * of_move + drift * of_drift
    one = combine(
        quiet.summed(three_points(R.x, R.point(of(i)), BEST)),
        (rules.mean_value(R.x), -tau),
        (rules.mean_value(BEST), tau),
        quiet.linear(k.gradient(k.Local(n), R.point(of(i))), before),
        (quiet.linear(d, before), half),
        local.whole_centred(R, before),
        (moving.updated(now, before), -1 / eta),
        (quiet.by_parts(-before), half),
        (before * (3 * mu * tau / 4) - whole, size),
        (young(m * along, turn * (half * eta), rho), size),
        (at_root(quiet.small_turn()), size * (1 + 1 / rho) * (half * eta) ** 2),
        target=right - gap * tau,
    )
    return combine((one, 1 / tau), target=right * (1 / tau) - gap)


# At the rates 4/(mu tau (gamma + t)) -------------------------------------------------

kappa = S / mu
gamma = 8 * kappa - 1
RATE = k.Rate(4 / (mu * tau * (gamma + notation.of_round())))


def bound(at: Ratio) -> Ratio:
    """Return what the gap after `at` rounds is at most, over G2."""
    s = gamma + at
    along = 1 + 2 * (1 + z / 4) * (1 - 1 / tau) / s
    share = k.number_at(near.share(at), {variable(strong.excess): EXCESS})
    far = z**2 + Fraction(2, 9) * (4 + z) ** 2 * kappa / s * (1 + 2 * kappa / s)
    moved = Fraction(2, 3) / mu * (1 + 2 * kappa / s) * along**2 * share
    return moved + near.SPREAD * far / (3 * mu * s**2)


@cache
def rate() -> Theorem:
    """Return the bound after every number t of rounds."""
    of_drift = mu * z**2 / 8 + (1 + 1 / rho) * (half * eta * tau * S) ** 2 / (18 * mu)
    one = combine((by_move(), 1), (quiet.bounded_drift(), of_drift / tau))
    s = gamma + now
    values = ((moving.FAMILY, RATE), (variable(rho), 2 * kappa / s))
    here = rules.instantiate(one, values, ())
    size = 4 / (mu * tau * s)
    along = 1 / size + half * (tau - 1) / 2
    run = notation.equal_paces(k.Kind.V1, tau, RATE)
    gap = strong.gap(local.Round(run), now)
    return combine(
        here,
        (at_root(near.moves()), 2 / (3 * mu * tau**2) * (1 + 2 * kappa / s) * along**2),
        target=k.constant(bound(now) * G2) - gap,
    )
