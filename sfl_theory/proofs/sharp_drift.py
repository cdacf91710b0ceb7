r"""How far local points go in a round, in terms of noise and gradients at its start.

No gradient is bounded. SFL-V1, and SFL-V2 with server steps weighted by a_n in any
order of the visits; both sides make tau steps, everyone takes part. With
``p - x = -eta (G + Z + Delta)``, G the gradients at x and Z the noise of the steps made
before, Delta what the gradients have changed since: ``<G, Z> = 0``, so
``||p - x||^2 <= eta^2 ((1 + c) (||G||^2 + ||Z||^2) + (1 + 1/c) ||Delta||^2)``, and
Delta is at most S times the drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    Lin,
    Local,
    Side,
    Vec,
    constant,
    norm2,
    part,
    summed,
)
from sfl_theory.proofs import derived, partial_visits
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import (
    Round,
    S,
    both_parts,
    i,
    j,
    m,
    n,
    now,
    sigma2,
    young,
)
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over
from sfl_theory.proofs.visited import Visited

s_a2, sbar2 = (mean(n, terms.weight(n) ** power * sigma2(n)) for power in (2, 1))


def smallness(r: Round, k: Number) -> Lin:
    """Return ``1 - k S eta tau``, which is >= 0 by assumption."""
    return constant(1 - k * S * r.eta * r.steps(Side.CLIENT))


def own_noise(r: Round, each: Vec, w: Vec) -> Theorem:
    """Return ``<sum_{j<i} each, w> = 0`` for w fixed by x; each is xi_j or a block."""
    zero = sum_over(derived.unbiased(r.run, n, now, of(j), w), steps(of(i)), j)
    return combine(rules.linear(steps(of(i)), j, each, w), zero)


def own_way(r: Round, side: Side | None, c: Number) -> Theorem:
    """Return how far a client's own steps bring a block, or the whole point.

    ``||p_i - x||^2 <= eta^2 ((1 + c)(i^2 ||gx||^2 + sum_{j<i} ||xi||^2)
    + (1 + 1/c) i sum_{j<tau} ||gp - gx||^2)``.
    """

    def block(u: Vec) -> Vec:
        return u if side is None else part(side, u)

    gx, xi = block(r.own_gradient()), block(r.noise(of(j)))
    apart = block(r.local_gradient(of(j)) - r.own_gradient())
    away, tau = block(r.away(of(i))), r.steps(Side.CLIENT)
    Z, Delta = (summed(steps(of(i)), j, each) for each in (xi, apart))
    first = gx * of(i) + Z
    moved = first + Delta

    def update(w: Vec) -> Theorem:
        sides = Side if side is None else (side,)
        parts = [(derived.local_update(r.run, n, now, of(i), b, w), 1) for b in sides]
        if side is None:
            parts.append((rules.blocks(away + moved * r.eta, w), 1))
        return combine(*parts)

    grown, c = 1 + ratio(c), ratio(c)
    later = summed(steps(tau), j, norm2(apart))
    noise = summed(steps(of(i)), j, norm2(xi))
    bound = (norm2(gx) * of(i) ** 2 + noise) * grown + later * ((1 + 1 / c) * of(i))
    square = combine(
        (update(away), -1),
        (update(moved), r.eta),
        target=norm2(moved) * r.eta**2 - norm2(away),
    )
    return combine(
        square,
        (young(first, Delta, c), r.eta**2),
        (own_noise(r, xi, gx), -2 * of(i) * grown * r.eta**2),
        (derived.martingale(r.run, n, now, of(i), side), grown * r.eta**2),
        (
            local.size_of_sum(steps(of(i)), j, apart, of(i), tau),
            (1 + 1 / c) * r.eta**2,
        ),
        target=bound * r.eta**2 - norm2(away),
    )


@dataclass(frozen=True)
class Closed:
    """What closes the drift where ``k S eta tau <= 1``: Young's c and the factor."""

    k: Fraction
    c: Fraction
    visits: bool = False
    again: Fraction = Fraction(1, 12)
    """Young's c where a client's sum of gradients is compared with that at x."""

    @property
    def factor(self) -> Fraction:
        """``(1 + c)/(1 - (1 + 1/c) b/k^2)``, b = 1/2, for visits 1."""
        share = (1 + 1 / self.c) / self.k**2 * (1 if self.visits else Fraction(1, 2))
        return (1 + self.c) / (1 - share)

    @property
    def of_gradient(self) -> Fraction:
        """What such a sum is, at most, in units of ``tau^2 ||gx||^2``."""
        return 1 + self.again + (1 + 1 / self.again) * self.factor / (3 * self.k**2)

    @property
    def of_noise(self) -> Fraction:
        """The same in units of ``tau sigma_n^2``."""
        return 1 + self.again + (1 + 1 / self.again) * self.factor / (2 * self.k**2)


def client_drift(r: Round, by: Closed) -> Theorem:
    """Return ``D_n <= factor eta^2 tau^2 (tau/3 ||gx||^2 + sigma_n^2/2)`` for SFL-V1.

    D_n = sum_i ||p_i - x||^2.
    """
    tau, e2, c = r.steps(Side.CLIENT), r.eta**2, by.c
    far, gx = r.away(of(i)), r.own_gradient()
    var = derived.variance(r.run, sigma2(n), n, now, of(j))
    near = sum_over(derived.lipschitz(Local(n), S, r.point(of(j)), r.x), steps(tau), j)
    less = tau**3 / 3 - tau * (tau - 1) * (2 * tau - 1) / 6
    one = combine(
        sum_over(own_way(r, None, c), steps(tau), i),
        (sum_over(sum_over(var, steps(of(i)), j), steps(tau), i), (1 + c) * e2),
        (near, (1 + 1 / c) * e2 * tau * (tau - 1) / 2),
        (gx, less * (1 + c) * e2),
    )
    D = summed(steps(tau), i, norm2(far))
    bound = norm2(gx) * (tau / 3) + constant(sigma2(n) / 2)
    inside = S**2 * (1 + 1 / c) * e2 * tau * (tau - 1) / 2
    return closed(r, by, one, D, inside, bound * (e2 * tau**2 * by.factor))


def closed(
    r: Round,
    by: Closed,
    one: Theorem,
    drift: Lin,
    inside: Ratio,
    bound: Lin,
    reach: Number = 1,
) -> Theorem:
    """Return ``D <= bound`` from ``D <= inside D`` and a share of the bound.

    Where visits are drawn `reach` is the most that weights add up to.
    """
    less, k = by.factor / (1 + by.c), by.k * reach
    small = rules.assume(smallness(r, k))
    square = combine((small, 1 + k * S * r.eta * r.steps(Side.CLIENT)))
    left = less * (1 - inside) - 1
    spare = combine((square, less - 1))
    positive = combine((r.away(of(i)), 1))
    each = sum_over(positive, steps(r.steps(Side.CLIENT)), i)
    if by.visits:
        each = sum_over(each, terms.CLIENTS, n, rules.share(r.run, n, now, Side.SERVER))
    return combine((one, less), (each, left), target=bound - drift, signs=[spare])


def client_sum(r: Round, by: Closed) -> Theorem:
    """Return ``||sum_i g||^2 <= tau (of_gradient tau ||gx||^2 + of_noise sigma_n^2)``.

    For client n of SFL-V1: ``sum_i g = tau gx + Z + Delta``, as in the drift.
    """
    tau, c = r.steps(Side.CLIENT), by.again
    gx, gp, xi = r.own_gradient(), r.local_gradient(of(i)), r.noise(of(i))
    Z, Delta = (summed(steps(tau), i, each) for each in (xi, gp - gx))
    whole, grown = gx * tau + Z + Delta, 1 + c
    zero = sum_over(derived.unbiased(r.run, n, now, of(i), gx), steps(tau), i)
    near = derived.lipschitz(Local(n), S, r.point(of(i)), r.x)
    var = derived.variance(r.run, sigma2(n), n, now, of(i))
    small = rules.assume(smallness(r, by.k))
    square = combine((small, 1 + by.k * S * r.eta * tau))
    size = norm2(gx) * tau * by.of_gradient + constant(by.of_noise * sigma2(n))
    less = 1 / ratio(by.k) ** 2 - (S * r.eta * tau) ** 2
    less = tau**2 * (1 + 1 / c) * by.factor / 3 * less
    return combine(
        young(gx * tau + Z, Delta, c),
        (rules.linear(steps(tau), i, xi, gx), -2 * tau * grown),
        (zero, -2 * tau * grown),
        (derived.martingale(r.run, n, now, tau, None), grown),
        (sum_over(var, steps(tau), i), grown),
        (rules.jensen(steps(tau), i, ratio(1), gp - gx), 1 + 1 / c),
        (sum_over(near, steps(tau), i), tau * (1 + 1 / c)),
        (client_drift(r, by), tau * (1 + 1 / c) * S**2),
        (square, tau * (1 + 1 / c) * by.factor / 2 / by.k**2 * sigma2(n)),
        (gx, less),
        target=size * tau - norm2(whole),
        signs=[combine((square, tau**2 * (1 + 1 / c) * by.factor / 3 / by.k**2))],
    )


# The drift of SFL-V2 with server steps weighted by a_n, in terms of a round's start ---


def share(r: Round, client: terms.Client = n) -> Ratio:
    """Return ``w_n``."""
    return rules.share(r.run, client, now, Side.SERVER)


def reach(r: Round) -> Ratio:
    """Return the most that the weights w_n add up to."""
    return mean(n, terms.weight(n) * inverse_q(n)) if r.run.drawn else ratio(1)


def server_way(r: Round, c: Number) -> Theorem:
    """Return how far visits bring the server's block before step i of client n.

    ``||[p_i - x]_s||^2 <= eta^2 ((1 + c)(W tau^2 sum w ||gx||^2 + sum w^2 sum ||xi||^2)
    + (1 + 1/c) W tau sum w sum ||gp - gx||^2)``, sums over all clients, server blocks.
    """
    side, c, e2, v = Side.SERVER, ratio(c), r.eta**2, Visited(r)
    gx = part(side, r.own_gradient(m))
    change = v.gradient() - gx
    G, Z, Delta = (v.sum(each) for each in (gx, v.noise(), change))
    return combine(
        (v.moved(gx + v.noise() + change), -1),
        (local.young(G + Z, Delta, c), e2),
        (v.orthogonal(G), -2 * (1 + c) * e2),
        (v.size(gx), (1 + c) * e2),
        (v.noise_size(), (1 + c) * e2),
        (v.size(change), (1 + 1 / c) * e2),
    )


def drift(r: Round, by: Closed) -> Theorem:
    """Return ``D <= factor eta^2 tau^2 (kappa^2 tau sum w_n ||gx||^2 + noise)``.

    D = sum_n w_n sum_i ||p_i - x||^2, noise = ``sum w_n sigma_n^2/2 + kappa sum w_n^2
    sigma_n^2``.
    """
    tau, e2, c, k = r.steps(Side.CLIENT), r.eta**2, by.c, reach(r)
    client, server = Side.CLIENT, Side.SERVER
    gx, gp, away = r.own_gradient(), r.local_gradient(of(i)), r.away(of(i))
    change, w = gp - gx, share(r)
    W = mean(n, w)
    few = partial_visits.at_most_kappa() if r.run.drawn else combine(target=constant(0))
    fewer = combine((few, k + W), target=constant(k**2 - W**2))
    xi, early = r.noise(of(i)), r.noise(of(j))
    var, before = (derived.variance(r.run, sigma2(n), n, now, of(v)) for v in (i, j))
    own_noise = combine(before, both_parts(early), (part(server, early), 1))
    of_visits = combine(var, both_parts(xi), (part(client, xi), 1))
    squared = mean(n, w**2 * sigma2(n))

    def all_steps(theorem: Theorem) -> Theorem:
        return r.summed(theorem, tau, w)

    def square(u: Vec) -> Theorem:
        return combine((u, 1))

    def of_clients(theorem: Theorem) -> Theorem:
        return sum_over(theorem, CLIENTS, n, w)

    grown, wide = (1 + c) * e2, (1 + 1 / c) * e2
    pairs = tau * (tau - 1) / 2
    one = combine(
        (all_steps(both_parts(away)), -1),
        all_steps(own_way(r, client, c)),
        all_steps(server_way(r, c)),
        # noise
        (all_steps(sum_over(own_noise, steps(of(i)), j)), grown),
        (r.summed(of_visits, tau, w**2), grown * tau * W),
        (combine((few, squared)), grown * tau**2),
        # gradients at x
        (of_clients(both_parts(gx)), grown * k**2 * tau**3),
        (
            of_clients(square(part(client, gx))),
            grown * (k**2 * tau**3 - pairs * (2 * tau - 1) / 3),
        ),
        (of_clients(square(part(server, gx))), grown * tau**3 * (k**2 - W**2)),
        # how they change
        (all_steps(both_parts(change)), wide * k**2 * tau**2),
        (all_steps(square(part(client, change))), wide * (k**2 * tau**2 - pairs)),
        (all_steps(square(part(server, change))), wide * tau**2 * (k**2 - W**2)),
        (
            all_steps(derived.lipschitz(Local(n), S, r.point(of(i)), r.x)),
            wide * k**2 * tau**2,
        ),
        signs=[fewer, few],
    )
    F = summed(CLIENTS, n, terms.norm2(gx) * w)
    bound = F * (k**2 * tau) + constant(mean(n, w * sigma2(n)) / 2 + k * squared)
    inside = S**2 * wide * k**2 * tau**2
    whole = bound * (e2 * tau**2 * by.factor)
    return closed(r, by, one, r.drift(tau, w), inside, whole, k)
