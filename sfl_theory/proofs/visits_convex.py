"""Strongly convex, SFL-V2 as printed, for equal weights: (14) and (20).

The server moves N times as fast as the clients, so in early rounds the rate is too
large for a descent. There the gap is small by itself: gradients along the run are
bounded, and so is that of f at x(t). Later a recursion keeps the claim.
The second moment of a round's move is bounded by that of the draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.block_steps import decomposition
from sfl_theory.proofs.drawn_visits import Drawn, few, first_order, tau
from sfl_theory.proofs.local_steps import (
    G2,
    N,
    Round,
    S,
    block_move,
    both_parts,
    bounded_block,
    i,
    j,
    n,
    now,
    sigma2,
    t,
    young,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    inverse_q,
    mean,
    of,
    steps,
    sum_over,
)
from sfl_theory.proofs.strongly_convex import gamma, gradient_domination, mu
from sfl_theory.proofs.visits import server_move

T = count("T")


@dataclass(frozen=True)
class OneOverT:
    """A claim ``gap <= X/(gamma + t)`` and what keeps it.

    Attributes:
        who: who takes part.
        X: the constant.
        slope: bounds the squared gradient of f at x(t), for any rates.
        descent: what f loses in a round.
        switch: from this value of gamma + t on the recursion is used.
        spare: what of X pays for the term of third order.
        share: G2 times it over mu (gamma + t) pays for ``gamma + t <= switch + 1``.
    """

    who: k.Participants
    X: Ratio
    slope: Theorem
    descent: Theorem
    switch: Ratio
    spare: Ratio
    share: Number

    @property
    def run(self) -> k.Split:
        """The run at the printed rates."""
        return strong.run(k.Kind.V2, self.who)

    def gap(self, at: Ratio) -> k.Lin:
        """Return ``f(x(at)) - f*``."""
        return strong.gap(Round(self.run), at)

    def claim(self, at: Ratio) -> k.Lin:
        """Return ``X/(gamma + t) - gap``."""
        return k.constant(self.X / (gamma + at)) - self.gap(at)

    def early(self, at: Ratio, *small: tuple[Theorem, Number]) -> Theorem:
        """Return the claim where gamma + t is small, or t = 0."""
        near = rules.instantiate(at_rate(self.slope), ((t, at),), ())
        uses = [(gradient_domination(k.iterate(self.run, at)), 1 / (2 * mu))]
        return combine([*uses, (near, 1 / (2 * mu)), *small], target=self.claim(at))

    def late(self) -> Theorem:
        """Return the claim at t + 1 from that at t where gamma + t >= switch."""
        u, slow = 1 / (gamma + now), rules.assume(k.constant(self.slowness))
        return combine(
            [
                (at_rate(self.descent), 1),
                (gradient_domination(k.iterate(self.run, now)), 2 * u / mu),
                (rules.assume(self.claim(now)), 1 - 4 * u),
                (slow, self.spare * u**2),
            ],
            target=self.claim(now + 1),
        )

    @property
    def slowness(self) -> Ratio:
        """``1 - switch/(gamma + t)``."""
        return 1 - self.switch / (gamma + now)

    def rate(self) -> Theorem:
        """Return the claim for every t, by induction."""
        fast, then = rules.assume(k.constant(-self.slowness)), gamma + now + 1
        soon = combine([(fast, gamma + now)], target=k.constant(self.switch + 1 - then))
        early = self.early(now + 1, (soon, self.share * G2 / (mu * then)))
        step = rules.cases(self.late(), early, self.slowness)
        return rules.induct(self.early(ratio(0)), step, t, self.claim(now))

    def printed(self) -> Theorem:
        """Return the printed bound after T rounds; its last term is not needed."""
        last = rules.instantiate(self.rate(), ((t, T),), ())
        start = strong.S * (gamma + 1) / (2 * (gamma + T))
        return combine([(last, 1)], [(k.iterate(self.run, 0) - strong.BEST, start)])


def at_rate(theorem: Theorem) -> Theorem:
    """Return a theorem at the printed rate, for S = mu + s."""
    rate = strong.run().client.rate
    family = k.RoundFamily("eta", Sort.POSITIVE)
    return strong.with_smoothness(rules.instantiate(theorem, ((family, rate),), ()))


# Theorem 3.9, strongly convex, (20): SFL-V2 as printed, drawn clients, equal weights


def sum_bound(d: Drawn, side: k.Side) -> Theorem:
    """Return ``||sum w_n J_n sum_i [g]_b||^2 <= tau^2 G2 E (sum w_n J_n)^2``."""
    share, g = d.of(side) * d.J, k.part(side, stochastic(d.run, n, now, of(i)))
    V = mean(n, share)
    clients = rules.jensen(k.CLIENTS, n, share, k.summed(steps(tau), i, g))
    inside = rules.jensen(steps(tau), i, ratio(1), g)
    return combine([
        (clients, 1),
        (sum_over(inside, k.CLIENTS, n, share), V),
        (d.all(bounded_block(d.run, side, of(i)), share), V * tau),
        (d.expect(k.constant(V**2 * tau**2 * G2)), -1),
    ])


def move(d: Drawn, side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2`` times that bound."""
    r = d.round
    step = k.part(side, r.next - r.x)
    G = d.total(side, stochastic(d.run, n, now, of(i)))
    return combine([
        (rules.update(d.run, side, now, step), -1),
        (rules.update(d.run, side, now, G), r.eta),
        (sum_bound(d, side), r.eta**2),
    ])


def drift(d: Drawn) -> Theorem:
    """Return ``D <= 4/3 eta^2 tau^3 (sum 1/q_n)^2 N G2``."""
    r, V, c = d.round, mean(n, d.J), Fraction(4, 3)
    most, size = d.most, r.eta**2 * tau**3 * G2
    bounded = k.constant(size * V * most**2 * c)
    given = combine(
        [
            (d.all(both_parts(r.away(of(i))), d.J), -1),
            (d.all(block_move(d.round, k.Side.CLIENT, of(i), of(i)), d.J), 1),
            (d.all(server_move(d.round, of(i), d.draw), d.J), 1),
            (few(d), size * V * (most + V)),
        ],
        target=bounded - d.D,
    )
    return combine([(given, 1), (d.expect(bounded), -1)])


def descent(d: Drawn) -> Theorem:
    """Return ``f(x') <= f(x) - eta tau/2 ||grad f||^2 + ..``, for equal weights."""
    r, g, share = d.round, d.round.gradient, d.J
    far, half = d.change(of(i)), r.eta / 2
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    below = [combine([(rules.weight_below_one(n), 1)])]
    client = combine(squares=[(k.part(k.Side.CLIENT, far), 1)])
    more = sum_over(
        sum_over(client, steps(tau), i), k.CLIENTS, n, d.J * (1 - k.weight(n)), below
    )
    uses: list[tuple[Theorem, Number]] = [
        (decomposition(r), 1),
        (more, half),
        (d.all(both_parts(far), share), half),
        (d.all(near, share), half),
        (drift(d), half * S**2),
        (rules.blocks(g, g), -half * tau),
    ]
    for side in k.Side:
        uses += [(first_order(d, side), 1), (move(d, side), S / 2)]
    spare = (k.part(k.Side.SERVER, g), half * tau * (N - 1))
    return combine(uses, [spare])


def slope(d: Drawn) -> Theorem:
    """Return ``||grad f(x)||^2 <= 2 G2 (1 + (S eta tau)^2 E (sum J)^2)``."""
    r, zero = d.round, ratio(0)
    gx, gp, away = r.own_gradient(), r.local_gradient(zero), r.away(zero)
    client, V = k.part(k.Side.CLIENT, away), mean(n, d.J)
    none = k.part(k.Side.CLIENT, stochastic(d.run, n, now, of(j)))
    made = k.summed(steps(0), j, none)

    def update(w: k.Vec) -> Theorem:
        return rules.local_update(d.run, n, now, zero, k.Side.CLIENT, w)

    size = combine(
        [
            (rules.bounded_gradient(d.run, G2, n, now, zero), 1),
            (rules.unbiased(d.run, n, now, zero, gp), 2),
        ],
        [(r.noise(zero), 1)],
        target=k.constant(G2) - k.norm2(gp),
    )
    square = k.constant((S * r.eta * tau * V) ** 2 * G2)
    near = combine([
        (rules.lipschitz(k.Local(n), S, r.x, r.point(zero)), 1),
        (rules.blocks(away, away), -(S**2)),
        (update(client), -(S**2)),
        (update(made), r.eta * S**2),
        (rules.jensen(steps(0), j, ratio(1), none), (r.eta * S) ** 2),
        (server_move(r, zero, d.draw), S**2),
        (d.expect(square), -1),
    ])
    one = combine([(young(gp, gx - gp, 1), 1), (size, 2), (near, 2)])
    mean_ = k.summed(k.CLIENTS, n, gx * k.weight(n))
    return combine([
        (rules.jensen(k.CLIENTS, n, k.weight(n), gx), 1),
        (sum_over(one, k.CLIENTS, n, k.weight(n)), 1),
        (rules.mean_gradient(r.x, r.gradient), -1),
        (rules.mean_gradient(r.x, mean_), -1),
    ])


def printed(who: k.Participants) -> Theorem:
    """Return (14), or (20) where clients are drawn, as printed, for equal weights."""
    d, second = Drawn(who), 2 * sigma2(n) + G2
    kappa = strong.S / mu
    first = second + G2 * inverse_q(n) if d.run.drawn else second
    A = mean(n, (k.weight(n) ** 2 + 1) * first)
    B = mean(n, (k.weight(n) + 1) * second)
    X = 8 * kappa * N * A + 768 * kappa**2 * B / (gamma + 1)
    return OneOverT(
        who,
        X / mu,
        slope(d),
        descent(d),
        switch=4 * kappa * d.most,
        spare=Fraction(32, 3) * kappa * N * d.most * G2 / mu,
        share=1,
    ).printed()
