"""Theorem 3.6, non-convex (13): SFL-V1, everyone takes part, two numbers of steps."""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.hypotheses import (
    Heterogeneity,
    Holds,
    Hypothesis,
    Independent,
    Minimiser,
    Smooth,
    Unbiased,
    Variance,
    every,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Kind,
    Lin,
    Local,
    Pace,
    Side,
    Split,
    Star,
    constant,
    gradient,
    iterate,
    natural,
    norm2,
    part,
    summed,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.local_steps import (
    N,
    Round,
    S,
    block_drift,
    centred,
    descent,
    eps2,
    i,
    j,
    k,
    local_gradients,
    mean_deviation,
    n,
    now,
    own_gradients,
    sigma2,
    t,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    mean,
    nat,
    of,
    rates,
    sign,
    steps,
    sum_over,
)


@dataclass(frozen=True)
class TwoPaces:
    """One side makes tau steps, the longer one tau + d, d >= 0."""

    longer: Side

    @property
    def low(self) -> Ratio:
        """tau_min."""
        return count("tau")

    @property
    def extra(self) -> Ratio:
        """tau_max - tau_min."""
        return of(nat("d"))

    @property
    def high(self) -> Ratio:
        """tau_max."""
        return self.low + self.extra

    @property
    def run(self) -> Split:
        """SFL-V1 with rates eta(t) on both sides."""
        eta = rates("eta")
        paces = {
            side: Pace(natural(self.high if side is self.longer else self.low), eta)
            for side in Side
        }
        return Split(Kind.V1, paces[Side.CLIENT], paces[Side.SERVER])

    @property
    def round(self) -> Round:
        """Round t."""
        return Round(self.run)


b = N * weight(n) ** 2
kappa, sigma_w = mean(n, b), mean(n, b * sigma2(n))


def conditions(p: TwoPaces) -> tuple[Lin, Lin]:
    """Return ``eta <= 1/(16 S tau_max)`` and ``eta <= tau_min/(8 S kappa tau_max^2)``."""
    u = S * p.round.eta * p.high
    return constant(1 - 16 * u), constant(p.low - 8 * kappa * u * p.high)


def drift(p: TwoPaces) -> Theorem:
    """Return ``D <= eta^2 tau_max (tau_max - 1) (Gamma + sigma_w)``."""
    r, H = p.round, p.high
    each = [_side_drift(p, side) for side in Side]
    var = rules.variance(r.run, sigma2(n), n, now, of(j))
    noisy = sum_over(sum_over(var, steps(of(i)), j), steps(H), i)
    away, gp, xi = r.away(of(i)), r.local_gradient(of(i)), r.noise(of(j))
    apart = sum_over(rules.blocks(away, away), steps(H), i)
    joined = sum_over(rules.blocks(gp, gp), steps(H), i)
    steps_i = sum_over(rules.blocks(xi, xi), steps(of(i)), j)
    joined_noise = sum_over(steps_i, steps(H), i)
    eta2 = r.eta**2
    one = combine([
        *((theorem, 1) for theorem in each),
        (apart, -1),
        (joined, eta2 * H * (H - 1)),
        (joined_noise, 2 * eta2),
        (noisy, 2 * eta2),
    ])
    Gamma = r.over(norm2(gp), H, b)
    target = (Gamma + constant(sigma_w)) * (eta2 * H * (H - 1)) - r.drift(H, b)
    return combine([(sum_over(one, CLIENTS, n, b), 1)], target=target)


def _side_drift(p: TwoPaces, side: Side) -> Theorem:
    """Return the drift of one block, summed over i < tau_max."""
    r, H, L = p.round, p.high, p.low
    here = block_drift(r, side, of(i), of(i), H)
    if side is p.longer:
        return sum_over(here, steps(H), i)
    there = block_drift(r, side, L + of(k), L, H, rests=True)
    first = sum_over(here, steps(L), i)
    second = sum_over(there, steps(p.extra), k)
    joined = rules.split(i, here.form, L, p.extra)
    return combine([(first, 1), (second, 1), (joined, 1)])


def deviation(p: TwoPaces) -> Theorem:
    """Return ``sum_b ||tau_b grad_b f - M_b||^2/tau_b <= S^2 D``."""
    r, H = p.round, p.high
    apart = r.own_gradient() - r.local_gradient(of(i))
    short = Side.CLIENT if p.longer is Side.SERVER else Side.SERVER
    rest = rules.longer(i, part(short, apart), p.low, H)
    near = r.summed(rules.lipschitz(Local(n), S, r.x, r.point(of(i))), H, b)
    return combine([
        *((mean_deviation(r, side), 1 / r.steps(side)) for side in Side),
        (sum_over(rest, CLIENTS, n, b), 1),
        (r.summed(rules.blocks(apart, apart), H, b), 1),
        (near, 1),
    ])


def noise_size(p: TwoPaces) -> Theorem:
    """Return ``sum_b ||Z_b||^2 <= tau_max sum a_n^2 sigma_n^2``."""
    r, H, a2 = p.round, p.high, weight(n) ** 2
    xi = r.noise(of(i))
    short = Side.CLIENT if p.longer is Side.SERVER else Side.SERVER
    orthogonal = [
        rules.independent(r.run, n, i, weight(n), now, r.steps(side), side)
        for side in Side
    ]
    rest = rules.longer(i, part(short, xi), p.low, H)
    var = rules.variance(r.run, sigma2(n), n, now, of(i))
    return combine([
        *((theorem, -1) for theorem in orthogonal),
        (sum_over(rest, CLIENTS, n, a2), 1),
        (r.summed(rules.blocks(xi, xi), H, a2), 1),
        (r.summed(var, H, a2), 1),
    ])


def one_round(p: TwoPaces) -> Theorem:
    """Return ``eta tau_min/4 ||grad f||^2 <= f(x) - f(x') + 2 S (..) eta^2 (..)``.

    With the printed constants ``2 S (tau^2 + tau_server^2) (sigma_w + kappa eps2)``.
    """
    r, H, L = p.round, p.high, p.low
    eta, g = r.eta, r.gradient
    u, theta, lam = S * eta * H, eta**2 * H * (H - 1), eta * S**2
    small, smaller = map(rules.assume, conditions(p))
    gp, xi = r.local_gradient(of(i)), r.noise(of(i))
    M, Z = ({side: r.whole(side, e) for side in Side} for e in (gp, xi))
    D_left = lam / 2 - 2 * lam * theta * S**2
    g_left = eta * L / 4 - 4 * kappa * lam * theta * H
    signs = [
        sign(D_left, (small, (1 + 16 * u) * lam / 2)),
        sign(g_left, (smaller, eta * u / 2), (small, eta * L / 32)),
    ]
    uses: list[tuple[Theorem, Number]] = [
        (descent(r, {side: M[side] + Z[side] for side in Side}), 1),
        (deviation(p), eta / 2),
        (noise_size(p), S * eta**2),
        (drift(p), lam),
        (local_gradients(r, H, b, 1), lam * theta),
        (own_gradients(r, b), 2 * lam * theta * H),
        (r.summed(combine(squares=[(r.away(of(i)), 1)]), H, b), D_left),
        (small, S * eta**2 * (H - 1) * (sigma_w + 4 * kappa * eps2 * H) / 16),
        (rules.blocks(g, g), g_left - eta * L / 2),
    ]
    squares = []
    for side in Side:
        tau = r.steps(side)
        m_left = eta / (2 * tau) - S * eta**2
        signs.append(sign(m_left, (small, eta / (2 * tau))))
        uses.append((centred(r, side, g, tau, weight(n)), eta))
        squares += [
            (M[side] - Z[side], S * eta**2 / 2),
            (M[side], m_left),
            (part(side, g), g_left + eta * (tau - L) / 2),
        ]
    target = value_of(MEAN, r.x) - value_of(MEAN, r.next) - norm2(g) * (eta * L / 4)
    room = 2 * S * (L**2 + H**2) * eta**2 * (sigma_w + kappa * eps2)
    return combine(uses, squares, target=target + constant(room), signs=signs)


T = count("T")


def theorem(p: TwoPaces) -> Theorem:
    """Return (13): one round, summed; the gaps telescope."""
    r = p.round
    c = 4 / (T * p.low)
    summed_up = sum_over(one_round(p), steps(T), t)
    fall = rules.telescope(t, value_of(MEAN, r.x), T)
    last = rules.lowest(MEAN, iterate(p.run, T))
    return combine([(summed_up, c), (fall, c), (last, c)])


def statement(p: TwoPaces, name: str) -> Statement:
    """Return (13) as printed; smoothness is Lipschitz gradients, (24)."""
    r, best = p.round, vec(Star(MEAN))

    def rounds(form: Lin) -> Lin:
        return summed(steps(T), t, form)

    squares = p.low**2 + p.high**2
    bound = (
        8 * N * S * squares / (T * p.low) * mean(n, weight(n) ** 2 * (sigma2(n) + eps2))
    )
    gap = value_of(MEAN, iterate(p.run, 0)) - value_of(MEAN, best)
    left = rounds(norm2(gradient(MEAN, r.x)) * r.eta) * (1 / T)
    right = gap * (4 / (T * p.low)) + rounds(constant(r.eta**2)) * bound
    restrictions = {every(steps(T), t, Holds(one)) for one in conditions(p)}
    return Statement(name, assumptions(p.run) | restrictions, left, right)


def assumptions(run: Split) -> frozenset[Hypothesis]:
    """Return Assumptions 3.1, 3.2, 3.4, independent samples, and a minimiser of f."""
    return frozenset({
        every(CLIENTS, n, Smooth(Local(n), S)),
        every(CLIENTS, n, Variance(run, n, sigma2(n))),
        Unbiased(run),
        Independent(run),
        Heterogeneity(eps2),
        Minimiser(MEAN),
    })


def equal_paces(theorem_d: Theorem) -> Theorem:
    """Return the theorem for equal numbers of steps, d = 0."""
    return rules.instantiate(theorem_d, ((nat("d"), ratio(0)),), ())
