r"""SFL-V2's server before step i of client n: what the visits until then add up to.

In any order of the visits. A visit of client m has the weight
:math:`w_m=a_mJ_m` (without :math:`a_m` as printed, :math:`J_m=1` where everyone takes
part), and :math:`o\in\{0,1\}` says whether its step j came before. Sums with o are at
most those over all visits of the round.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, noises
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import Round, i, j, m, n, now
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, steps, sum_over

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
        apart = noises.independent(run, m, j, by, now, self.tau, SERVER)
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
