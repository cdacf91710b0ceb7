r"""SFL-V2's server before step i of client n: what the visits until then add up to.

In any order of the visits. A visit of client m has the weight
:math:`w_m=a_mJ_m` (without :math:`a_m` as printed, :math:`J_m=1` where everyone takes
part), and :math:`o\in\{0,1\}` says whether its step j came before. Sums with o are at
most those over all visits of the round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import G2, Round, both_parts, i, j, m, n, now
from sfl_theory.proofs.notation import (
    combine,
    inverse_q,
    mean,
    nat,
    of,
    steps,
    sum_over,
)

SERVER, HERE = k.Side.SERVER, of(i)


def at_most_inverse(run: k.Split) -> Theorem:
    """Return ``J_n <= 1/q_n``: 1/q - J = q (1/q - J)^2, as J^2 = J/q."""
    inverse, J = inverse_q(n), k.draw(run, n, now)
    uses = [(rules.drawn(run, n, now, k.constant(1)), 1 / inverse)]
    square = (rules.square(inverse - J), 1 / inverse)
    return combine(*uses, square, target=k.constant(inverse - J))


@dataclass(frozen=True)
class Visited:
    """The visits of a round before a step of client n."""

    round: Round
    step: Ratio = HERE

    @property
    def tau(self) -> Ratio:
        """The server's number of steps for each client."""
        return self.round.steps(SERVER)

    @property
    def w(self) -> Ratio:
        """The weight of a visit of client m."""
        return rules.share(self.round.run, m, now, SERVER)

    @property
    def W(self) -> Ratio:
        """The sum of the weights."""
        return mean(m, self.w)

    @property
    def o(self) -> Ratio:
        """Whether step j of client m came before."""
        return k.before(m, of(j), n, self.step, now)

    def late(self) -> Theorem:
        """Return ``o <= 1``."""
        exact = derived.before_or_not(m, of(j), n, self.step, now)
        return combine(exact, rules.square(1 - self.o), target=k.constant(1 - self.o))

    def gradient(self) -> k.Vec:
        """Return the block of the gradient at step j of client m."""
        return k.part(SERVER, self.round.local_gradient(of(j), m))

    def noise(self) -> k.Vec:
        """Return the block of its noise."""
        return k.part(SERVER, self.round.noise(of(j), m))

    def stochastic(self) -> k.Vec:
        """Return both."""
        return k.part(SERVER, stochastic(self.round.run, m, now, of(j)))

    def of_client(self, each: k.Vec) -> k.Vec:
        """Return ``sum_j o each``."""
        return k.summed(steps(self.tau), j, each * self.o)

    def sum(self, each: k.Vec) -> k.Vec:
        """Return ``sum_m w_m sum_j o each``."""
        return k.summed(k.CLIENTS, m, self.of_client(each) * self.w)

    def moved(self, each: k.Vec) -> Theorem:
        """Return ``||[p - x]_s||^2 = eta^2 ||sum||^2`` for what a step goes along."""
        away, total = k.part(SERVER, self.round.away(self.step)), self.sum(each)
        rate = self.round.rate(SERVER)

        def update(u: k.Vec) -> Theorem:
            return derived.local_update(self.round.run, n, now, self.step, SERVER, u)

        return combine(
            (update(away), 1),
            (update(total), -rate),
            target=k.norm2(away) - k.norm2(total) * rate**2,
        )

    def all(self, square: Theorem) -> Theorem:
        """Return ``sum_j o^2 ||u||^2 <= sum_j ||u||^2`` from ``||u||^2 >= 0``."""
        once = combine((self.late(), 1 + self.o), target=k.constant(1 - self.o**2))
        return sum_over(square, steps(self.tau), j, 1 - self.o**2, [once])

    def size(self, each: k.Vec) -> Theorem:
        """Return ``||sum||^2 <= W tau sum_m w_m sum_j ||each||^2``."""
        inside = rules.jensen(steps(self.tau), j, ratio(1), each * self.o)
        one = combine(inside, (self.all(combine((each, 1))), self.tau))
        clients = rules.jensen(k.CLIENTS, m, self.w, self.of_client(each))
        return combine(clients, (sum_over(one, k.CLIENTS, m, self.w), self.W))

    def noise_size(self) -> Theorem:
        """Return ``||sum of the noise||^2 <= sum_m w_m^2 sum_j ||noise||^2``."""
        run, by, xi = self.round.run, self.w * self.o, self.noise()
        apart = derived.independent(run, m, j, by, now, self.tau, SERVER)
        fewer = sum_over(self.all(combine((xi, 1))), k.CLIENTS, m, self.w**2)
        return combine(apart, fewer)

    def orthogonal(self, G: k.Vec) -> Theorem:
        """Return ``<sum of the noise, G> = 0`` for G fixed by x and the draws."""
        xi, w = self.noise(), self.w
        fixed = derived.unbiased(self.round.run, m, now, of(j), G * w)
        zero = sum_over(fixed, steps(self.tau), j, self.o)
        inside = rules.linear(steps(self.tau), j, xi * self.o * w, G)
        outer = rules.linear(k.CLIENTS, m, self.of_client(xi) * w, G)
        return combine(sum_over(combine(zero, inside), k.CLIENTS, m), outer)

    def way(self) -> Theorem:
        """Return how far gradients and noise bring the block, in squares.

        ``||[p - x]_s||^2 <= 2 eta^2 (W tau sum w sum ||gradient||^2
        + sum w^2 sum ||noise||^2)``.
        """
        gradient, noise = self.gradient(), self.noise()
        twice = 2 * self.round.rate(SERVER) ** 2
        return combine(
            (self.moved(gradient + noise), -1),
            (local.young(self.sum(gradient), self.sum(noise), 1), twice / 2),
            (self.size(gradient), twice),
            (self.noise_size(), twice),
        )

    def straight(self, each: k.Vec) -> Theorem:
        """Return ``||[p - x]_s||^2 <= eta^2 W tau sum_m w_m sum_j ||each||^2``."""
        return combine(
            (self.moved(each), -1), (self.size(each), self.round.rate(SERVER) ** 2)
        )

    def bounded_way(self) -> Theorem:
        """Return ``||[p - x]_s||^2 <= eta^2 tau^2 G2 W^2``."""
        each, e2 = self.stochastic(), self.round.rate(SERVER) ** 2
        bound = local.bounded_block(self.round.run, SERVER, of(j), m)
        every = sum_over(sum_over(bound, steps(self.tau), j), k.CLIENTS, m, self.w)
        return combine(self.straight(each), (every, e2 * self.W * self.tau))


# Drift under bounded gradients, from the order of the visits --------------------------
# Before a visit others of weight W were made, and ||sum a_v g_v||^2 <= W sum a_v
# ||g_v||^2. The visits come one after another, so sum_v a_v W_v <= tau^2/2, half of all
# pairs: that bounds the server's way as sum_i i <= tau^2/2 does a client's.

other, later = k.Client("l"), nat("l")
"""Of another visit before the same step."""
Binders = list[tuple[k.Binder, k.Bindable]]


def before(d: Visited) -> Ratio:
    """Return W, what the visits before weigh."""
    inside = k.summed(steps(d.tau), j, k.constant(d.o))
    return mean(m, d.w * rules.number_of(inside))


def nested(form: k.Lin, binders: Binders) -> k.Lin:
    """Return a sum over several indices, the first one outside."""
    for binder, v in reversed(binders):
        form = k.summed(binder, v, form)
    return form


def each_of(theorem: Theorem, binders: Binders) -> Theorem:
    """Return a theorem summed likewise."""
    for binder, v in reversed(binders):
        theorem = sum_over(theorem, binder, v)
    return theorem


def half_of_all(d: Visited) -> Theorem:
    """Return ``sum_n w_n sum_i W_i <= (sum w_n)^2 tau^2/2``, twice."""
    every: Binders = [
        (k.CLIENTS, n),
        (steps(d.tau), i),
        (k.CLIENTS, m),
        (steps(d.tau), j),
    ]
    both = share(d) * d.w
    turned = k.before(n, of(i), m, of(j), now)
    pairs = derived.not_both(m, of(j), n, of(i), now)
    pairs = combine((pairs, both), target=k.constant(both * (1 - d.o - turned)))
    swaps = []
    order = every
    for place in (1, 0, 2, 1):
        outer, inner = order[place : place + 2]
        rest = nested(k.constant(both * turned), order[place + 2 :])
        swaps.append(each_of(rules.exchange(*outer, *inner, rest), order[:place]))
        order = [*order[:place], inner, outer, *order[place + 2 :]]
    return combine(each_of(pairs, every), *swaps)


def share(d: Visited) -> Ratio:
    """Return client n's weight ``w_n``."""
    return rules.share(d.round.run, n, now, SERVER)


def cauchy(d: Visited, g: k.Vec) -> Theorem:
    """Return ``||sum_m w_m sum_j o g||^2 <= W sum_m w_m sum_j ||g||^2``, twice.

    From ``||g - g'||^2 >= 0`` for every two visits before.
    """
    run, tau = d.round.run, steps(d.tau)
    a, a2 = d.w, rules.share(run, other, now, SERVER)
    g2 = k.part(SERVER, stochastic(run, other, now, of(later)))
    o2 = k.before(other, of(later), n, d.step, now)
    V, W = d.sum(g), before(d)

    def of_others(theorem: Theorem) -> Theorem:
        return sum_over(theorem, k.CLIENTS, other, a2)

    def of_all(theorem: Theorem) -> Theorem:
        return sum_over(sum_over(theorem, tau, j, d.o), k.CLIENTS, m, a)

    inside = k.summed(tau, later, g2 * o2)
    one = combine(
        of_others(sum_over(combine((g - g2, 1)), tau, later, o2)),
        (of_others(rules.linear(tau, later, g2 * o2, g)), -2),
        (rules.linear(k.CLIENTS, other, inside * a2, g), -2),
    )
    fewer = sum_over(combine((g, 1)), tau, j, W * (1 - d.o), [combine((d.late(), W))])
    total = k.summed(k.CLIENTS, m, k.summed(tau, j, k.norm2(g)) * a)
    return combine(
        of_all(one),
        (sum_over(rules.linear(tau, j, g * d.o, V), k.CLIENTS, m, a), -2),
        (rules.linear(k.CLIENTS, m, d.of_client(g) * a, V), -2),
        (sum_over(fewer, k.CLIENTS, m, a), 2),
        target=(total * W - k.norm2(V)) * 2,
    )


def ways(r: Round) -> Theorem:
    """Return ``D <= (eta tau)^2/2 sum_n w_n sum_i (||g_c||^2 + W^2 ||g_s||^2)``.

    ``D = sum_n w_n sum_i ||p_i - x||^2``, given the draws, and W all weights.
    """
    d, tau, e2 = Visited(r), r.steps(k.Side.CLIENT), r.eta**2
    w, whole = share(d), d.W
    g, at = d.stochastic(), stochastic(r.run, n, now, of(i))
    earlier = k.part(k.Side.CLIENT, stochastic(r.run, n, now, of(j)))
    more = rules.longer(j, earlier, of(i), tau)
    one = combine(
        (both_parts(r.away(of(i))), -1),
        local.own_steps(r, k.Side.CLIENT, of(i), of(i)),
        (more, e2 * of(i)),
        (d.moved(g), -1),
        (cauchy(d, g), e2 / 2),
    )
    client, server = (
        r.summed(combine((k.part(side, at), 1)), tau, w)
        for side in (k.Side.CLIENT, SERVER)
    )
    weighs = rules.number_of(r.over(k.constant(before(d)), tau, w))
    return combine(
        r.summed(one, tau, w),
        (client, e2 * tau / 2),
        (server, e2 * (tau**2 / 2 * whole**2 - weighs)),
        signs=[combine((half_of_all(d), e2 / 2))],
    )


@cache
def bounded_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3/2 G2`` where everyone takes part."""
    tau, at = r.steps(k.Side.CLIENT), stochastic(r.run, n, now, of(i))
    both = combine(both_parts(at), derived.bounded_gradient(r.run, G2, n, now, of(i)))
    size = r.eta**2 * tau**2 / 2
    return combine(
        ways(r),
        (r.summed(both, tau, k.weight(n)), size),
        target=k.constant(size * tau * G2) - local.whole_drift(r),
    )


def drawn_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3/2 (W + W^3) G2`` given the draws."""
    d, tau, at = Visited(r), r.steps(k.Side.CLIENT), stochastic(r.run, n, now, of(i))
    w, size = share(d), r.eta**2 * tau**2 / 2
    both = combine(both_parts(at), derived.bounded_gradient(r.run, G2, n, now, of(i)))
    client, server = (
        r.summed(combine((k.part(side, at), 1)), tau, w)
        for side in (k.Side.CLIENT, SERVER)
    )
    return combine(
        ways(r),
        (client, size * d.W**2),
        (server, size),
        (r.summed(both, tau, w), size * (1 + d.W**2)),
        target=k.constant(size * tau * G2 * (d.W + d.W**3)) - r.drift(tau, w),
    )
