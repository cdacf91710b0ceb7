"""What a round makes of the clients' local models, block by block: equalities."""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, direction, share, stochastic
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Local,
    Side,
    Split,
    Vec,
    constant,
    gradient,
    inner,
    iterate,
    local_point,
    part,
    summed,
    weight,
)
from sfl_theory.proofs.notation import (
    combine,
    inverse_q,
    nat,
    number_of_clients,
    of,
    per_client,
    steps,
    sum_over,
)

n, t, i, j = Client("n"), nat("t"), nat("i"), nat("j")
now = of(t)


def aggregated(run: Split, side: Side) -> Theorem:
    """Return that x(t+1) is the weighted mean of the local models, the side's block."""
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = iterate(run, now), local_point(run, n, now, made)
    moved = summed(steps(made), j, stochastic(run, n, now, of(j)))
    gap = part(side, summed(CLIENTS, n, end * weight(n)) - iterate(run, now + 1))
    each = part(side, end - x + moved * rate)
    local = rules.local_update(run, n, now, made, side, gap)
    return combine([
        (rules.update(run, side, now, gap), 1),
        (sum_over(local, CLIENTS, n, weight(n)), -1),
        (rules.linear(CLIENTS, n, each * weight(n), gap), -1),
    ])


def updated(run: Split, side: Side) -> Theorem:
    """Return the update of a block as the run defines it, as a norm that vanishes."""
    moved = part(side, iterate(run, now + 1) - iterate(run, now))
    gap = moved + direction(run, now, side) * run.pace(side).rate.at(now)
    return combine([(rules.update(run, side, now, gap), -1)])


def local_whole(run: Split) -> Theorem:
    """Return ``p(n,t,i) = x(t) - eta sum_{j<i} g``, both blocks, i <= tau; sum b_n."""
    at, eta = of(i), run.client.rate.at(now)
    total = summed(steps(at), j, stochastic(run, n, now, of(j)))
    gap = local_point(run, n, now, at) - iterate(run, now) + total * eta
    sides = [(rules.local_update(run, n, now, at, side, gap), -1) for side in Side]
    one = combine([(rules.blocks(gap, gap), -1), *sides])
    return sum_over(one, CLIENTS, n, per_client("b", n))


def round_whole(run: Split) -> Theorem:
    """Return ``x(t+1) = sum a_n p(n,t,tau)``, both blocks."""
    made = ratio(run.client.steps)
    end = local_point(run, n, now, made)
    gap = summed(CLIENTS, n, end * weight(n)) - iterate(run, now + 1)
    sides = [(aggregated(run, side), 1) for side in Side]
    return combine([(rules.blocks(gap, gap), -1), *sides])


def equal_weights(x: Vec) -> Theorem:
    """Return ``||[sum_n grad F_n(x) - N grad f(x)]_s||^2 <= 0`` where N a_n = 1."""
    N, side = number_of_clients(), Side.SERVER
    off = 1 - N * weight(n)
    low, high = rules.assume(constant(off)), rules.assume(constant(-off))
    zero = combine([(high, off)], signs=[low])
    g = part(side, gradient(Local(n), x))
    square = combine(squares=[(g, -(off**2))], signs=[zero])
    gap = summed(CLIENTS, n, g * off)
    own = part(side, summed(CLIENTS, n, gradient(Local(n), x)))
    whole = own - part(side, gradient(MEAN, x)) * N
    return combine(
        [
            (rules.jensen(CLIENTS, n, ratio(1), g * off), 1),
            (sum_over(square, CLIENTS, n), N),
            (rules.mean_gradient(x, whole), N),
            (rules.mean_gradient(x, gap), N),
        ],
        target=-inner(whole, whole),
    )


def moved_by_drawn(run: Split, side: Side) -> Theorem:
    """Return the mean square by which a round moves a block, updates averaged.

    ``eta^2 (||sum a_n h_n||^2 + sum a_n^2 (1/q_n - 1) ||h_n||^2)``, h_n the sum of the
    side's gradients.
    """
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    h = part(side, summed(steps(made), j, stochastic(run, n, now, of(j))))
    away = part(side, iterate(run, now + 1) - iterate(run, now))
    sent = summed(CLIENTS, n, h * share(run, n, now, side))
    return combine([
        (rules.update(run, side, now, away), -1),
        (rules.update(run, side, now, sent), rate),
        (rules.expect(run, now, inner(sent, sent)), -(rate**2)),
    ])


def mean_of_models(run: Split, side: Side, z: Vec) -> Theorem:
    """Return ``<[x(t+1)]_b, z> = <[sum a_n p(n,t,end)]_b, z>``, for z fixed before."""
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = iterate(run, now), local_point(run, n, now, made)
    h = part(side, summed(steps(made), j, stochastic(run, n, now, of(j))))
    update = rules.update(run, side, now, z)
    stays = inner(part(side, iterate(run, now + 1)), z) - update.form
    each = part(side, end - x) + h * rate
    local = rules.local_update(run, n, now, made, side, z)
    return combine([
        (update, -1),
        (rules.expect(run, now, stays), -1),
        (sum_over(local, CLIENTS, n, weight(n)), 1),
        (rules.linear(CLIENTS, n, each * weight(n), z), 1),
    ])


def mean_of_weights(run: Split, z: Vec) -> Theorem:
    """Return ``<[x(t+1)]_c, z> = <[x(t)]_c, z>`` for a client's rate of 0."""
    made = rules.update(run, Side.CLIENT, now, z)
    stays = inner(part(Side.CLIENT, iterate(run, now + 1)), z) - made.form
    return combine([(made, -1), (rules.expect(run, now, stays), -1)])


@dataclass(frozen=True)
class Drawn:
    """A side's block of round t in SFL-V1 where clients are drawn, updates averaged."""

    run: Split
    side: Side

    @property
    def made(self) -> Ratio:
        """How many steps the side makes."""
        return ratio(self.run.pace(self.side).steps)

    @property
    def rate(self) -> Ratio:
        """Its learning rate."""
        return self.run.pace(self.side).rate.at(now)

    @property
    def g(self) -> Vec:
        """The block of the stochastic gradient of step j."""
        return part(self.side, stochastic(self.run, n, now, of(j)))

    @property
    def h(self) -> Vec:
        """A client's sum of gradients."""
        return summed(steps(self.made), j, self.g)

    @property
    def noise(self) -> Vec:
        """``eta sum_n a_n (J_n - 1) h_n``, what drawing changes."""
        own = share(self.run, n, now, self.side)
        return summed(CLIENTS, n, self.h * (own - weight(n))) * self.rate

    @property
    def gap(self) -> Vec:
        """From x(t+1) to where everyone would have led."""
        end = local_point(self.run, n, now, self.made)
        everyone = summed(CLIENTS, n, end * weight(n))
        return part(self.side, everyone - iterate(self.run, now + 1))

    @property
    def away(self) -> Vec:
        """From x(t) to x(t+1)."""
        moved = iterate(self.run, now + 1) - iterate(self.run, now)
        return part(self.side, moved)

    def spread(self) -> Theorem:
        """Return ``||gap||^2 = eta^2 sum_n a_n^2 (1/q_n - 1) ||h_n||^2``."""
        x, end = iterate(self.run, now), local_point(self.run, n, now, self.made)
        each = part(self.side, end - x) + self.h * self.rate

        def same(w: Vec) -> list[tuple[Theorem, Number]]:
            local = rules.local_update(self.run, n, now, self.made, self.side, w)
            return [
                (sum_over(local, CLIENTS, n, weight(n)), -1),
                (rules.linear(CLIENTS, n, each * weight(n), w), -1),
                (rules.update(self.run, self.side, now, w), 1),
            ]

        mean_square = rules.expect(self.run, now, inner(self.noise, self.noise))
        return combine([*same(self.gap), *same(self.noise), (mean_square, -1)])

    def less_than_move(self) -> Theorem:
        """Return ``||gap||^2 <= ||x(t+1) - x(t)||^2``."""
        whole = summed(CLIENTS, n, self.h * weight(n))
        return combine(
            [(self.spread(), 1), (moved_by_drawn(self.run, self.side), -1)],
            [(whole, self.rate**2)],
            target=inner(self.away, self.away) - inner(self.gap, self.gap),
        )

    def move(self) -> Theorem:
        """Return ``||away||^2 <= N tau sum_n eta^2 a_n^2/q_n sum_j ||g||^2``."""
        N, odds = number_of_clients(), inverse_q(n) - 1
        factor = weight(n) ** 2 * self.rate**2
        inside = rules.jensen(steps(self.made), j, ratio(1), self.g)
        square = sum_over(combine(squares=[(self.g, 1)]), steps(self.made), j)
        return combine([
            (moved_by_drawn(self.run, self.side), 1),
            (rules.jensen(CLIENTS, n, ratio(1), self.h * weight(n)), self.rate**2),
            (sum_over(inside, CLIENTS, n, factor * (N + odds)), 1),
            (sum_over(square, CLIENTS, n, factor * odds * (N - 1) * self.made), 1),
        ])

    def bounded(self, G2: Ratio) -> Theorem:
        """Return ``N tau sum_n eta^2 a_n^2/q_n sum_j (G2 - ||g||^2) >= 0``."""
        whole = stochastic(self.run, n, now, of(j))
        other = Side.SERVER if self.side is Side.CLIENT else Side.CLIENT
        short = combine(
            [
                (rules.bounded_gradient(self.run, G2, n, now, of(j)), 1),
                (rules.blocks(whole, whole), 1),
            ],
            [(part(other, whole), 1)],
            target=constant(G2) - inner(self.g, self.g),
        )
        factor = number_of_clients() * self.made * self.rate**2
        each = sum_over(short, steps(self.made), j)
        return sum_over(each, CLIENTS, n, factor * weight(n) ** 2 * inverse_q(n))

    def whole(self, G2: Ratio) -> Theorem:
        """Return ``||gap||^2 <= N tau^2 eta^2 G2 sum_n a_n^2/q_n``."""
        return combine([
            (self.less_than_move(), 1),
            (self.move(), 1),
            (self.bounded(G2), 1),
        ])
