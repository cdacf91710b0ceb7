"""What a round makes of the clients' local models, block by block: equalities."""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, direction, share, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.local_steps import block_below, walked
from sfl_theory.proofs.notation import combine, inverse_q, nat, of, steps, sum_over

n, t, i, j = k.Client("n"), nat("t"), nat("i"), nat("j")
now = of(t)


def aggregated(run: k.Split, side: k.Side) -> Theorem:
    """Return that x(t+1) is the weighted mean of the local models, the side's block."""
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = k.iterate(run, now), k.local_point(run, n, now, made)
    moved = k.summed(steps(made), j, stochastic(run, n, now, of(j)))
    gap = k.part(
        side, k.summed(k.CLIENTS, n, end * k.weight(n)) - k.iterate(run, now + 1)
    )
    each = k.part(side, end - x + moved * rate)
    local = derived.local_update(run, n, now, made, side, gap)
    return combine(
        rules.update(run, side, now, gap),
        (sum_over(local, k.CLIENTS, n, k.weight(n)), -1),
        (rules.linear(k.CLIENTS, n, each * k.weight(n), gap), -1),
    )


def updated(run: k.Split, side: k.Side) -> Theorem:
    """Return the update of a block as the run defines it, as a norm that vanishes."""
    moved = k.part(side, k.iterate(run, now + 1) - k.iterate(run, now))
    gap = moved + direction(run, now, side) * run.pace(side).rate.at(now)
    return combine((rules.update(run, side, now, gap), -1))


def local_whole(run: k.Split) -> Theorem:
    """Return ``p(n,t,i) = x(t) - eta sum_{j<i} g``, both blocks, i <= tau; sum b_n."""
    at, eta = of(i), run.client.rate.at(now)
    total = k.summed(steps(at), j, stochastic(run, n, now, of(j)))
    gap = k.local_point(run, n, now, at) - k.iterate(run, now) + total * eta
    one = combine((walked(run, now, at, gap), -1))
    return sum_over(one, k.CLIENTS, n, notation.per_client("b", n))


def round_whole(run: k.Split) -> Theorem:
    """Return ``x(t+1) = sum a_n p(n,t,tau)``, both blocks."""
    made = ratio(run.client.steps)
    end = k.local_point(run, n, now, made)
    gap = k.summed(k.CLIENTS, n, end * k.weight(n)) - k.iterate(run, now + 1)
    sides = [(aggregated(run, side), 1) for side in k.Side]
    return combine((rules.blocks(gap, gap), -1), *sides)


def equal_weights(x: k.Vec) -> Theorem:
    """Return ``||[sum_n grad F_n(x) - N grad f(x)]_s||^2 <= 0`` where N a_n = 1."""
    N, side = notation.number_of_clients(), k.Side.SERVER
    off = 1 - N * k.weight(n)
    low, high = rules.assume(k.constant(off)), rules.assume(k.constant(-off))
    zero = combine((high, off), signs=[low])
    g = k.part(side, k.gradient(k.Local(n), x))
    square = combine((g, -(off**2)), signs=[zero])
    gap = k.summed(k.CLIENTS, n, g * off)
    own = k.part(side, k.summed(k.CLIENTS, n, k.gradient(k.Local(n), x)))
    whole = own - k.part(side, k.gradient(k.MEAN, x)) * N
    return combine(
        rules.jensen(k.CLIENTS, n, ratio(1), g * off),
        (sum_over(square, k.CLIENTS, n), N),
        (rules.mean_gradient(x, whole), N),
        (rules.mean_gradient(x, gap), N),
        target=-k.inner(whole, whole),
    )


def moved_by_drawn(run: k.Split, side: k.Side) -> Theorem:
    """Return the mean square by which a round moves a block, updates averaged.

    ``eta^2 (||sum a_n h_n||^2 + sum a_n^2 (1/q_n - 1) ||h_n||^2)``, h_n the sum of the
    side's gradients.
    """
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    h = k.part(side, k.summed(steps(made), j, stochastic(run, n, now, of(j))))
    away = k.part(side, k.iterate(run, now + 1) - k.iterate(run, now))
    sent = k.summed(k.CLIENTS, n, h * share(run, n, now, side))
    return combine(
        (rules.update(run, side, now, away), -1),
        (rules.update(run, side, now, sent), rate),
        (derived.expect(run, now, k.inner(sent, sent)), -(rate**2)),
    )


def mean_of_models(run: k.Split, side: k.Side, z: k.Vec) -> Theorem:
    """Return ``<[x(t+1)]_b, z> = <[sum a_n p(n,t,end)]_b, z>``, for z fixed before."""
    made, rate = ratio(run.pace(side).steps), run.pace(side).rate.at(now)
    x, end = k.iterate(run, now), k.local_point(run, n, now, made)
    h = k.part(side, k.summed(steps(made), j, stochastic(run, n, now, of(j))))
    update = rules.update(run, side, now, z)
    stays = k.inner(k.part(side, k.iterate(run, now + 1)), z) - update.form
    each = k.part(side, end - x) + h * rate
    local = derived.local_update(run, n, now, made, side, z)
    return combine(
        (update, -1),
        (derived.expect(run, now, stays), -1),
        sum_over(local, k.CLIENTS, n, k.weight(n)),
        rules.linear(k.CLIENTS, n, each * k.weight(n), z),
    )


def mean_of_weights(run: k.Split, z: k.Vec) -> Theorem:
    """Return ``<[x(t+1)]_c, z> = <[x(t)]_c, z>`` for a client's rate of 0."""
    made = rules.update(run, k.Side.CLIENT, now, z)
    stays = k.inner(k.part(k.Side.CLIENT, k.iterate(run, now + 1)), z) - made.form
    return combine((made, -1), (derived.expect(run, now, stays), -1))


@dataclass(frozen=True)
class Drawn:
    """A side's block of round t in SFL-V1 where clients are drawn, updates averaged."""

    run: k.Split
    side: k.Side

    @property
    def made(self) -> Ratio:
        """How many steps the side makes."""
        return ratio(self.run.pace(self.side).steps)

    @property
    def rate(self) -> Ratio:
        """Its learning rate."""
        return self.run.pace(self.side).rate.at(now)

    @property
    def g(self) -> k.Vec:
        """The block of the stochastic gradient of step j."""
        return k.part(self.side, stochastic(self.run, n, now, of(j)))

    @property
    def h(self) -> k.Vec:
        """A client's sum of gradients."""
        return k.summed(steps(self.made), j, self.g)

    @property
    def noise(self) -> k.Vec:
        """``eta sum_n a_n (J_n - 1) h_n``, what drawing changes."""
        own = share(self.run, n, now, self.side)
        return k.summed(k.CLIENTS, n, self.h * (own - k.weight(n))) * self.rate

    @property
    def gap(self) -> k.Vec:
        """From x(t+1) to where everyone would have led."""
        end = k.local_point(self.run, n, now, self.made)
        everyone = k.summed(k.CLIENTS, n, end * k.weight(n))
        return k.part(self.side, everyone - k.iterate(self.run, now + 1))

    @property
    def away(self) -> k.Vec:
        """From x(t) to x(t+1)."""
        moved = k.iterate(self.run, now + 1) - k.iterate(self.run, now)
        return k.part(self.side, moved)

    def spread(self) -> Theorem:
        """Return ``||gap||^2 = eta^2 sum_n a_n^2 (1/q_n - 1) ||h_n||^2``."""
        x, end = k.iterate(self.run, now), k.local_point(self.run, n, now, self.made)
        each = k.part(self.side, end - x) + self.h * self.rate

        def same(w: k.Vec) -> list[tuple[Theorem, Number]]:
            local = derived.local_update(self.run, n, now, self.made, self.side, w)
            return [
                (sum_over(local, k.CLIENTS, n, k.weight(n)), -1),
                (rules.linear(k.CLIENTS, n, each * k.weight(n), w), -1),
                (rules.update(self.run, self.side, now, w), 1),
            ]

        mean_square = derived.expect(self.run, now, k.inner(self.noise, self.noise))
        return combine(*same(self.gap), *same(self.noise), (mean_square, -1))

    def sharp(self, G2: Ratio) -> Theorem:
        """Return ``||gap||^2 <= tau^2 eta^2 G2 sum_n a_n^2 (1/q_n - 1)``."""
        whole = stochastic(self.run, n, now, of(j))
        bound = derived.bounded_gradient(self.run, G2, n, now, of(j))
        short = sum_over(
            block_below(self.side, whole, bound), steps(self.made), j, self.made
        )
        inside = rules.jensen(steps(self.made), j, ratio(1), self.g)
        each = combine(inside, short)
        factor = k.weight(n) ** 2 * self.rate**2 * (inverse_q(n) - 1)
        return combine(self.spread(), sum_over(each, k.CLIENTS, n, factor))

    def less_than_move(self) -> Theorem:
        """Return ``||gap||^2 <= ||x(t+1) - x(t)||^2``."""
        whole = k.summed(k.CLIENTS, n, self.h * k.weight(n))
        return combine(
            self.spread(),
            (moved_by_drawn(self.run, self.side), -1),
            (whole, self.rate**2),
            target=k.inner(self.away, self.away) - k.inner(self.gap, self.gap),
        )

    def move(self) -> Theorem:
        """Return ``||away||^2 <= N tau sum_n eta^2 a_n^2/q_n sum_j ||g||^2``."""
        N, odds = notation.number_of_clients(), inverse_q(n) - 1
        factor = k.weight(n) ** 2 * self.rate**2
        inside = rules.jensen(steps(self.made), j, ratio(1), self.g)
        square = sum_over(combine((self.g, 1)), steps(self.made), j)
        return combine(
            moved_by_drawn(self.run, self.side),
            (rules.jensen(k.CLIENTS, n, ratio(1), self.h * k.weight(n)), self.rate**2),
            sum_over(inside, k.CLIENTS, n, factor * (N + odds)),
            sum_over(square, k.CLIENTS, n, factor * odds * (N - 1) * self.made),
        )

    def bounded(self, G2: Ratio) -> Theorem:
        """Return ``N tau sum_n eta^2 a_n^2/q_n sum_j (G2 - ||g||^2) >= 0``."""
        whole = stochastic(self.run, n, now, of(j))
        bound = derived.bounded_gradient(self.run, G2, n, now, of(j))
        short = block_below(self.side, whole, bound)
        factor = notation.number_of_clients() * self.made * self.rate**2
        each = sum_over(short, steps(self.made), j)
        return sum_over(each, k.CLIENTS, n, factor * k.weight(n) ** 2 * inverse_q(n))

    def whole(self, G2: Ratio) -> Theorem:
        """Return ``||gap||^2 <= N tau^2 eta^2 G2 sum_n a_n^2/q_n``."""
        return combine(self.less_than_move(), self.move(), self.bounded(G2))
