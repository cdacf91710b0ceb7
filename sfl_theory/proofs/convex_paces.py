"""One round of SFL-V1 under bounded gradients, any two numbers of local steps.

Each side has the rate of its own number of steps, ``eta_b tau_b = alpha(t)``, so both
blocks move alike. One side makes tau_min steps, the longer one d >= 0 more, and
``delta = d/(tau_min + d)``; for d = 0 everything is the case of equal numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, local_steps
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.local_steps import G2, Round, S, both_parts, i, j, n, now, other
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.proofs.notation import combine, mean, of, rates, steps, sum_over

ALPHA = rates("alpha")
alpha = ALPHA.at(now)
excess = mean(n, k.weight(n) ** 2 * k.symbol(k.Odds(n)))
"""``sum_n a_n^2 (1/q_n - 1)``."""


@dataclass(frozen=True)
class Paces(TwoPaces):
    """SFL-V1 at the rates alpha(t)/tau_b."""

    @property
    def unequal(self) -> Ratio:
        """``1 - tau_min/tau_max``."""
        return self.extra / self.high

    @property
    def c1(self) -> Ratio:
        """Of the second moment of the move, over alpha^2 G2."""
        own = 1 + self.unequal
        return own * (1 + excess) if self.partial else own

    @property
    def cd(self) -> Ratio:
        """Of the local gradients' distance from those at x, over S^2 alpha^2 G2."""
        return Fraction(1, 3) + 2 * self.unequal

    @property
    def alpha(self) -> Ratio:
        """By what both sides move in round t."""
        return alpha

    @property
    def run(self) -> k.Split:
        """SFL-V1 at the rates alpha(t)/tau_b."""
        return self.at(ALPHA)

    def at(self, rate: k.Rate) -> k.Split:
        """Return SFL-V1 at a rate over tau_b."""
        return self.paced(lambda made: k.Rate(rate.body / made))

    def eta(self, side: k.Side) -> Ratio:
        """Return a side's rate."""
        return self.alpha / self.made(side)


def _g(p: Paces, step: Number) -> k.Vec:
    return stochastic(p.run, n, now, ratio(step))


def _bounded(p: Paces, step: Number) -> Theorem:
    return derived.bounded_gradient(p.run, G2, n, now, ratio(step))


def early(p: Paces) -> Theorem:
    """Return ``||p_i - x||^2 <= (alpha i/tau_min)^2 G2`` while both sides step."""
    short, step = p.eta(other(p.longer)), of(i)
    g = _g(p, of(j))
    slower = combine((k.part(p.longer, g), 1))
    uses: list[tuple[Theorem, Number]] = [
        (both_parts(Round(p.run).away(step)), -1),
        *(
            (local_steps.own_steps(Round(p.run), side, step, step), 1)
            for side in k.Side
        ),
        (sum_over(both_parts(g), steps(step), j), short**2 * step),
        (sum_over(slower, steps(step), j), step * (short**2 - p.eta(p.longer) ** 2)),
        (sum_over(_bounded(p, of(j)), steps(step), j), short**2 * step),
    ]
    return combine(*uses)


def late(p: Paces) -> Theorem:
    """Return ``||p - x||^2 <= alpha^2 G2 (1 + (i/tau_max)^2)`` for i = tau_min + i'."""
    step = p.low + of(i)
    uses: list[tuple[Theorem, Number]] = [(both_parts(Round(p.run).away(step)), -1)]
    for side in k.Side:
        rests = side is not p.longer
        made = p.low if rests else step
        uses.append((local_steps.block_move(Round(p.run), side, step, made, rests), 1))
    return combine(*uses)


def near(p: Paces) -> Theorem:
    """Return ``sum_b 1/tau_b sum_i ||[gx - gp]_b||^2 <= S^2 alpha^2 cd G2``.

    Steps of both sides by the whole vector; what one side weighs or makes more, alone.
    """
    r, low, high = Round(p.run), p.low, p.high

    def apart(step: Number) -> k.Vec:
        return r.own_gradient() - r.local_gradient(step)

    def close(step: Number) -> Theorem:
        return derived.lipschitz(k.Local(n), S, r.x, r.point(step))

    short = other(p.longer)
    own = local_steps.block_below(short, apart(of(i)), close(of(i)))
    rest = local_steps.block_below(p.longer, apart(low + of(i)), close(low + of(i)))
    whole = combine(both_parts(apart(of(i))), close(of(i)))
    more = 1 / low - 1 / high
    long_block = k.norm2(k.part(p.longer, apart(of(i))))
    cost = S**2 * p.alpha**2 * G2
    left = local(low, k.norm2(k.part(short, apart(of(i))))) * (1 / low)
    left = left + local(high, long_block) * (1 / high)
    return combine(
        (rules.split(i, long_block, low, p.extra), -1 / high),
        (sum_over(whole, steps(low), i), 1 / high),
        (sum_over(own, steps(low), i), more),
        (sum_over(rest, steps(p.extra), i), 1 / high),
        (sum_over(early(p), steps(low), i), S**2 / low),
        (sum_over(late(p), steps(p.extra), i), S**2 / high),
        target=k.constant(cost * p.cd) - left,
    )


def local(upper: Number, form: k.Lin) -> k.Lin:
    """Return the sum over local steps."""
    return k.summed(steps(upper), i, form)


def client_move(p: Paces) -> Theorem:
    """Return ``sum_b eta_b^2 ||sum_i [g_i]_b||^2 <= (1 + delta) alpha^2 G2``."""
    low, high, short = p.low, p.high, other(p.longer)
    g = _g(p, of(i))
    long_block = k.norm2(k.part(p.longer, g))
    rest = local_steps.block_below(
        p.longer, _g(p, low + of(i)), _bounded(p, low + of(i))
    )
    whole = combine(both_parts(g), _bounded(p, of(i)))
    uses: list[tuple[Theorem, Number]] = [
        (
            rules.jensen(steps(p.made(side)), i, ratio(1), k.part(side, g)),
            p.eta(side) ** 2,
        )
        for side in k.Side
    ]
    alpha2 = p.alpha**2
    uses += [
        (rules.split(i, long_block, low, p.extra), -alpha2 / high),
        (sum_over(whole, steps(low), i), alpha2 / high),
        (
            sum_over(
                local_steps.block_below(short, g, _bounded(p, of(i))), steps(low), i
            ),
            alpha2 * (1 / low - 1 / high),
        ),
        (sum_over(rest, steps(p.extra), i), alpha2 / high),
    ]
    return combine(*uses)


def share(p: Paces) -> Ratio:
    """Return ``a_n``, or ``a_n J_n``."""
    return rules.share(p.run, n, now, k.Side.CLIENT)


def total(p: Paces, side: k.Side, each: k.Vec, factor: Ratio) -> k.Vec:
    """Return ``sum_n factor sum_{i<tau_b} [each]_b``."""
    inside = k.part(side, k.summed(steps(p.made(side)), i, each))
    return k.summed(k.CLIENTS, n, inside * factor)


def whole_move(p: Paces) -> Theorem:
    """Return ``sum_b eta_b^2 ||G_b||^2 <= c1 alpha^2 G2``.

    Draws have mean 1 and add ``a_n^2 (1/q_n - 1)`` times each client's own move.
    """
    uses: list[tuple[Theorem, Number]] = []
    odds = k.weight(n) ** 2 * k.symbol(k.Odds(n))
    for side in k.Side:
        inside = k.part(side, k.summed(steps(p.made(side)), i, _g(p, of(i))))
        drawn = total(p, side, _g(p, of(i)), share(p))
        uses.append((rules.jensen(k.CLIENTS, n, k.weight(n), inside), p.eta(side) ** 2))
        if p.partial:
            uses.append((
                derived.expect(p.run, now, k.norm2(drawn)),
                -(p.eta(side) ** 2),
            ))
    each = client_move(p)
    uses.append((sum_over(each, k.CLIENTS, n, k.weight(n)), 1))
    if p.partial:
        uses.append((sum_over(each, k.CLIENTS, n, odds), 1))
    left = sum(
        (
            k.norm2(total(p, side, _g(p, of(i)), share(p))) * p.eta(side) ** 2
            for side in k.Side
        ),
        k.Lin({}),
    )
    return combine(*uses, target=k.constant(p.c1 * p.alpha**2 * G2) - left)


def deviation(p: Paces) -> Theorem:
    """Return ``sum_b ||grad_b f - M_b/tau_b||^2 <= S^2 alpha^2 cd G2``."""
    r = Round(p.run)
    uses: list[tuple[Theorem, Number]] = [
        (sum_over(near(p), k.CLIENTS, n, k.weight(n)), 1)
    ]
    left = k.Lin({})
    for side in k.Side:
        made = p.made(side)
        block = k.part(side, r.own_gradient() - r.local_gradient(of(i)))
        M = total(p, side, r.local_gradient(of(i)), k.weight(n))
        own = (
            k.part(side, k.summed(k.CLIENTS, n, r.own_gradient() * k.weight(n))) * made
            - M
        )
        whole = k.part(side, r.gradient) * made - M
        inside = rules.jensen(steps(made), i, ratio(1), block)
        c = 1 / made**2
        uses += [
            (rules.jensen(k.CLIENTS, n, k.weight(n), local_sum(made, block)), c),
            (sum_over(inside, k.CLIENTS, n, k.weight(n)), c),
            (rules.mean_gradient(r.x, whole), -made * c),
            (rules.mean_gradient(r.x, own), -made * c),
        ]
        left = left + k.norm2(whole) * c
    return combine(*uses, target=k.constant(S**2 * p.alpha**2 * p.cd * G2) - left)


def local_sum(upper: Number, each: k.Vec) -> k.Vec:
    """Return the sum over local steps."""
    return k.summed(steps(upper), i, each)


def direction(p: Paces, side: k.Side, w: k.Vec) -> list[tuple[Theorem, Number]]:
    """Return that ``<G_b, w> = <M_b, w>`` for w fixed at x."""
    r, made = Round(p.run), p.made(side)
    uses: list[tuple[Theorem, Number]] = []
    if p.partial:
        drawn = total(p, side, _g(p, of(i)), share(p))
        uses.append((derived.expect(p.run, now, k.inner(drawn, w)), 1))
    return [*uses, (local_steps.centred(r, side, w, made, k.weight(n)), 1)]


@cache
def descent(p: Paces) -> Theorem:
    """Return how much a round lowers f.

    ``f(x') <= f(x) - alpha/2 ||grad f||^2 + S/2 c1 alpha^2 G2 + S^2/2 cd alpha^3 G2``.
    """
    r = Round(p.run)
    step, g = r.next - r.x, r.gradient
    uses: list[tuple[Theorem, Number]] = [
        (smooth_mean(S, r.x, r.next), 1),
        (rules.blocks(g, step), -1),
        (rules.blocks(step, step), -S / 2),
        (both_parts(g), -p.alpha / 2),
        (whole_move(p), S / 2),
        (deviation(p), p.alpha / 2),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    for side in k.Side:
        eta, made = p.eta(side), p.made(side)
        G = total(p, side, _g(p, of(i)), share(p))
        uses += [
            (rules.update(p.run, side, now, g), -1),
            (rules.update(p.run, side, now, k.part(side, step)), -S / 2),
            (rules.update(p.run, side, now, G), S * eta / 2),
        ]
        uses += [(one, eta * c) for one, c in direction(p, side, g)]
        M = total(p, side, r.local_gradient(of(i)), k.weight(n))
        squares.append((M, eta / (2 * made)))
    noise = S / 2 * p.c1 * p.alpha**2 * G2 + S**2 / 2 * p.cd * p.alpha**3 * G2
    target = r.fall + k.constant(noise) - k.norm2(g) * (p.alpha / 2)
    return combine(*uses, *squares, target=target)


def first_gradient(p: Paces, c: Ratio) -> Theorem:
    """Return ``||grad f(x)||^2 <= (1 + c) G2``: clients start their rounds at x.

    ``p(n, t, 0) = x(t)`` is known as ``||p - x||^2 <= 0``; any c > 0 does.
    """
    r, zero = Round(p.run), ratio(0)
    gx, gp, gf = r.own_gradient(), r.local_gradient(0), r.gradient
    unbiased = derived.unbiased(p.run, n, now, zero, gp)
    there = combine((unbiased, 2), _bounded(p, zero), (r.noise(0), 1))
    here = combine(
        local_steps.young(gp, gx - gp, c),
        (there, 1 + c),
        (derived.lipschitz(k.Local(n), S, r.x, r.point(0)), 1 + 1 / c),
        (both_parts(r.away(0)), -(1 + 1 / c) * S**2),
        *(
            (local_steps.own_steps(r, side, zero, zero), (1 + 1 / c) * S**2)
            for side in k.Side
        ),
    )
    own = k.summed(k.CLIENTS, n, gx * k.weight(n))
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), gx),
        sum_over(here, k.CLIENTS, n, k.weight(n)),
        (rules.mean_gradient(r.x, gf), -1),
        (rules.mean_gradient(r.x, own), -1),
    )
