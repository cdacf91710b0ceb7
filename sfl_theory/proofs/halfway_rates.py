r"""SFL-V2 at falling rates: distance and gap of the model, visits in any order.

At ``eta_t = 4/(mu tau s)``, s = gamma + t: the squared distance E to x* falls like
``(gamma/s)^7`` down to drift's ``kappa/s^2``. The gap phi rises by drift only while the
gradient is short, and ``||g||^2 >= 2 c (phi + mu/2 E) - c^2 E`` for every c: so phi is
at most about c E + kappa^2/(c s^2), ``sqrt(kappa)`` of what drift adds to a distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, halfway, mean_way, notation
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.foundations import convex_mean
from sfl_theory.proofs.halfway import beta, quarter, size, small
from sfl_theory.proofs.local_steps import G2, now, t
from sfl_theory.proofs.moves import FAMILY
from sfl_theory.proofs.near_rounds import at_root, gamma_z, steep, z
from sfl_theory.proofs.notation import at_least, combine, variable
from sfl_theory.proofs.strongly_convex import BEST, S, gamma, mu, tau
from sfl_theory.proofs.successive_rounds import cleared

RUN = strong.run(k.Kind.V2_WEIGHTED)
kappa, late = S / mu, gamma + now


@dataclass(frozen=True)
class Terms:
    """What a bound has beside the first gap, as far as it depends on noise.

    Attributes:
        noisy: whether there is noise; without it less is spent on it.
        far: (x, y) of ``(s + x kappa + y)/s^3``, E's drift.
        both: the same for V.
        gap: the same for phi.
    """

    noisy: bool
    far: tuple[int, int]
    both: tuple[int, int]
    gap: tuple[int, int]

    def nearer(self) -> Theorem:
        """Return how distances fall at the rates."""
        one = halfway.distance(self.noisy)
        if self.noisy:
            return at_rates(one, 20 * kappa / late, ratio(4) / 5 - 4 * kappa / late)
        return at_rates(one, 10 * kappa / late, ratio(1) / 35)

    def falls(self) -> Theorem:
        """Return what f loses in a round at the rates."""
        one = mean_way.descent(self.noisy)
        one = rules.instantiate(one, ((variable(mean_way.share), ratio(1)),), ())
        one = no_mean(one)
        if self.noisy:
            one = at_rates(one, 8 * kappa / late, late / (20 * kappa))
        else:
            one = at_rates(one, 12 * (kappa / late) ** 2, ratio(1) / 100)
        return at_root(one)

    def drift(self, s: Ratio, of_kappa: Ratio, late_by: tuple[int, int]) -> Ratio:
        """Return ``(s + x kappa + y)/s^3`` with G2."""
        x, y = late_by
        return quarter * G2 * (s + x * of_kappa + y) / s**3

    def noise(self, s: Ratio, of_kappa: Ratio, late_by: int) -> Ratio:
        """Return ``(s + x kappa + 4)/s^2`` with the noise."""
        return halfway.spread(self.noisy) / tau * (s + late_by * of_kappa + 4) / s**2


QUIET = Terms(False, (14, 3), (12, 4), (11, 4))
NOISY = Terms(True, (28, 6), (26, 6), (24, 6))


def square(at: Ratio) -> k.Lin:
    """Return ``E = ||x(at) - x*||^2``."""
    return k.norm2(k.iterate(RUN, at) - BEST)


def no_mean(descent: Theorem) -> Theorem:
    """Return a descent with the drift of single points, which is no smaller."""
    size_ = halfway.alpha**3 * S**2 / 2 * (1 + beta) * G2
    return combine(
        descent,
        (at_least(quarter - size()), size_),
        target=descent.form + k.constant(size_ * (quarter - mean_way.late())),
    )


def at_rates(theorem: Theorem, of_beta: Ratio, of_small: Ratio) -> Theorem:
    """Return a theorem on a round at the rates, which meet its condition."""
    values = (
        (FAMILY, RUN.client.rate),
        (variable(beta), of_beta),
        (variable(small), of_small),
    )
    return cleared(rules.instantiate(theorem, values, ()))


def above(at: Ratio) -> Theorem:
    """Return ``f(x(at)) - f* >= mu/2 E``."""
    x = k.iterate(RUN, at)
    flat = rules.stationary(k.MEAN, x - BEST)
    return combine((convex_mean(mu, BEST, x), 1), (flat, 1))


def far(c: Terms, at: Ratio) -> Ratio:
    """Return what drift and noise add to E."""
    s = gamma + at
    drift = ratio(64) / 5 * (kappa + 3) * c.drift(s, kappa, c.far)
    return (drift + ratio(10) / 3 * c.noise(s, kappa, 21)) / mu**2


def near_claim(c: Terms, at: Ratio) -> k.Lin:
    """Return ``(gamma/s)^7 E_0 + far - E``."""
    falls = (gamma / (gamma + at)) ** 7
    return square(ratio(0)) * falls + k.constant(far(c, at)) - square(at)


@cache
def distances(c: Terms) -> Theorem:
    """Return ``E <= (gamma/s)^7 E_0 + far`` after every number t of rounds."""
    keep, turn = 1 - 3 / late, late / (late + 4)
    spare = (gamma / (late + 1)) ** 7 - keep * turn * (gamma / late) ** 7
    step = combine(
        (c.nearer(), turn),
        (above(now + 1), 8 / (mu * late) * turn),
        (rules.assume(near_claim(c, now)), keep * turn),
        (k.iterate(RUN, ratio(0)) - BEST, spare),
        target=near_claim(c, now + 1),
    )
    first = combine(target=near_claim(c, ratio(0)))
    return rules.induct(first, step, t, near_claim(c, now))


# The gap, for S = mu + mu/4 (2 z + z^2) ----------------------------------------------

late_z = gamma_z + now
SHARE = 4 / (2 + z)
"""How much gaps count beside squared distances: ``V = E + SHARE/mu phi``."""
SLOPE = 1 + z / 2
"""c over mu, less 1, late."""
RUN_Z = notation.equal_paces(
    k.Kind.V2_WEIGHTED, tau, k.Rate(4 / (mu * tau * (gamma_z + notation.of_round())))
)


def gap(at: Ratio) -> k.Lin:
    """Return ``f(x(at)) - f*``."""
    return k.value_of(k.MEAN, k.iterate(RUN_Z, at)) - k.value_of(k.MEAN, BEST)


def both(at: Ratio) -> k.Lin:
    """Return ``V = E + SHARE/mu phi``."""
    return k.norm2(k.iterate(RUN_Z, at) - BEST) + gap(at) * (SHARE / mu)


def both_kept() -> Ratio:
    """Return by what the first gap over mu is multiplied in V, over (gamma/s)^7."""
    return 2 * (5 + 2 * z) / (1 + 2 * z) + SHARE


def both_added(c: Terms, at: Ratio) -> Ratio:
    """Return what drift and noise add to V."""
    s = gamma_z + at
    drift = ((5 + z) * (steep + 3) + 5 * steep**2 / (2 + z)) / (3 + z)
    drift = ratio(64) / 5 * drift * c.drift(s, steep, c.both)
    return (drift + both_noise() * c.noise(s, steep, 26)) / mu**2


def both_noise() -> Ratio:
    """Return what the noise counts in V, late."""
    return (ratio(20) / 3 * (z + 5 + ratio(1) / 2) + 36 * steep / (2 + z)) / (7 + 2 * z)


def both_claim(c: Terms, at: Ratio) -> k.Lin:
    """Return the bound of V less V."""
    falls = both_kept() / mu * (gamma_z / (gamma_z + at)) ** 7
    return gap(ratio(0)) * falls + k.constant(both_added(c, at)) - both(at)


def lowest() -> Theorem:
    """Return ``phi_0 >= 0``."""
    return derived.lowest(k.MEAN, k.iterate(RUN_Z, ratio(0)))


@cache
def boths(c: Terms) -> Theorem:
    """Return the bound of V after every number t of rounds."""
    x, s = k.iterate(RUN_Z, now), late_z
    later = (SHARE - 8 / s) / mu
    keep = (1 - 8 / (SHARE * s)) * (1 - 4 / s)
    of_near = 1 - 3 / s - keep
    then, here = ((gamma_z / at) ** 7 for at in (s + 1, s))
    spare = both_kept() * (then - keep * here) - 2 * of_near * here
    step = combine(
        (at_root(c.nearer()), 1),
        (c.falls(), later),
        (strong.gradient_domination(x), later * 2 / (mu * s)),
        (at_root(distances(c)), of_near),
        (at_root(above(ratio(0))), of_near * 2 / mu * here),
        (rules.assume(both_claim(c, now)), keep),
        (lowest(), spare / mu),
        target=both_claim(c, now + 1),
    )
    first = combine(
        (at_root(above(ratio(0))), 2 / mu),
        (lowest(), (both_kept() - 2 - SHARE) / mu),
        target=both_claim(c, ratio(0)),
    )
    return rules.induct(first, step, t, both_claim(c, now))


def kept() -> Ratio:
    """Return by what the first gap is multiplied, over (gamma/s)^7."""
    return (4 + z) * (13 + 13 * z + 2 * z**2) / ((1 + 2 * z) * (9 + 4 * z))


def added(c: Terms, at: Ratio) -> Ratio:
    """Return what drift and noise add to the gap."""
    s = gamma_z + at
    drift = (2 + z) * (5 + z) * (steep + 3) + 5 * steep**2
    drift = (drift * (4 + z) / (3 + z) + 5 * steep**2) / (7 + 2 * z)
    drift = ratio(16) / 5 * drift * c.drift(s, steep, c.gap)
    noise = (4 + z) * (2 + z) / 2 * both_noise() + 9 * steep
    return (drift + noise / (15 + 4 * z) * c.noise(s, steep, 30)) / mu


def claim(c: Terms, at: Ratio) -> k.Lin:
    """Return ``kept (gamma/s)^7 phi_0 + added - phi``."""
    first = kept() * (gamma_z / (gamma_z + at)) ** 7
    return gap(ratio(0)) * first + k.constant(added(c, at)) - gap(at)


@cache
def gaps(terms: Terms) -> Theorem:
    """Return the bound after every number t of rounds."""
    x, s = k.iterate(RUN_Z, now), late_z
    c = mu * (1 + SLOPE * s / (s + 16))
    alpha = 4 / (mu * s)
    of_square = alpha / 2 * c * (c - mu)
    keep = 1 - alpha * c - of_square * SHARE / mu
    then, here = ((gamma_z / at) ** 7 for at in (s + 1, s))
    spare = kept() * (then - keep * here) - of_square * both_kept() / mu * here
    step = combine(
        (terms.falls(), 1),
        (convex_mean(mu, x, BEST), alpha * c),
        (k.gradient(k.MEAN, x) - (x - BEST) * c, alpha / 2),
        (boths(terms), of_square),
        (rules.assume(claim(terms, now)), keep),
        (lowest(), spare),
        target=claim(terms, now + 1),
    )
    first = combine((lowest(), kept() - 1), target=claim(terms, ratio(0)))
    return rules.induct(first, step, t, claim(terms, now))


def rate(terms: Terms) -> Theorem:
    """Return the bound for the drift that a round has."""
    size_ = ((variable(quarter), size()),)
    return cleared(rules.instantiate(gaps(terms), size_, ()))
