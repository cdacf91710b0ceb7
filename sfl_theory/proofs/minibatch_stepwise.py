r"""Steps at rates of their own: what a step does, and MiniBatch-SFL's printed rates.

`Walk` is of MiniBatch-SFL or of SFL-V1 whose sides step together. At the printed rates
step i = Kt + j has :math:`\eta=\frac2\mu u_i`, where :math:`u_i(\gamma+i)=1` is
assumed: sums over steps have no denominators that depend on the step. The mean of the
clients' local models is :math:`\bar w`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import CLIENTS, Client, Vec, norm2, part, summed, weight
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.notation import combine, count, nat, of, steps, sum_over

n, m, other = Client("n"), Client("m"), Client("k")
t, j, i = nat("t"), nat("j"), nat("i")
now, J, ONE = of(t), of(j), ratio(1)
K, T = count("K"), count("T")
S, mu, delta2 = (
    notation.positive("S"),
    notation.positive("mu"),
    notation.nonnegative("delta2"),
)
gamma = 7 + notation.nonnegative("g")
sigma2 = notation.per_client("sigma2", n)
CLIENT, SERVER = terms.Side.CLIENT, terms.Side.SERVER
BEST = terms.vec(terms.Star(terms.MEAN))


def inverse(step: Ratio) -> Ratio:
    """Return ``1/(gamma + step)``, a number of the step."""
    return terms.symbol(
        terms.PerRound(terms.RoundFamily("u", Sort.POSITIVE), terms.natural(step))
    )


def eta(step: Ratio) -> Ratio:
    """Return the learning rate of a step of the run."""
    return 2 / mu * inverse(step)


_PACE = terms.Stepwise(terms.natural(K), terms.Rate(eta(notation.of_round())))
RUN = terms.Split(terms.Kind.MINIBATCH, terms.Participants.EVERYONE, _PACE, _PACE)
MADE = rules.assume(terms.constant(K - 1 - J))
STARTED = combine(MADE, target=terms.constant(K - J))
r = K - 1 - J
"""How many steps of the round are left after this one."""
h, x = eta(K * now + J), gamma + K * now + J
SMOOTH = rules.assume(terms.constant(gamma - 8 * S / mu + 1))


# The rate ----------------------------------------------------------------------------


def exact(way: int) -> Theorem:
    """Return ``way (x u - 1) >= 0``, assumed at the step."""
    return rules.assume(terms.constant(way * (x * inverse(K * now + J) - 1)))


def small() -> Theorem:
    """Return ``S h <= 2/7``."""
    u = inverse(K * now + J)
    return combine(
        (exact(-1), Fraction(2, 7)),
        (SMOOTH, u / 4),
        target=terms.constant(Fraction(2, 7) - S * h),
    )


# A step, from the definition of the run ----------------------------------------------


def over(theorem: Theorem, client: Client = n) -> Theorem:
    """Return the mean over clients."""
    return sum_over(theorem, CLIENTS, client, weight(client))


def averaged(u: Vec, client: Client = n) -> Vec:
    """Return the mean over clients."""
    return summed(CLIENTS, client, u * weight(client))


def of_mean(u: Vec, w: Vec, client: Client = n) -> Theorem:
    """Return ``<sum a u, w> = sum a <u, w>``."""
    return rules.linear(CLIENTS, client, u * weight(client), w)


def of_all(theorem: Theorem, client: Client, u: Vec, w: Vec, way: int = 1) -> Theorem:
    """Return ``<sum a u, w>`` zero from ``<u, w> = 0`` for each client, times way."""
    return combine((of_mean(u, w, client), way), over(theorem, client))


@dataclass(frozen=True)
class Walk:
    """The local steps of a run, at any rates.

    Attributes:
        run: the run, K steps in a round; MiniBatch-SFL or SFL-V1.
        move: the rate of a step times a client's stochastic gradient.
    """

    run: terms.Split
    move: Callable[[Ratio, Client], Vec]

    @property
    def at(self) -> tuple[Ratio, Ratio]:
        """Return the round and the step of the step that `moved` is about."""
        return now, J

    @property
    def alone(self) -> bool:
        """Whether each client moves both blocks of its model alone (SFL-V1)."""
        return not self.run.kind.shared

    def own(self, u: Vec) -> Vec:
        """Return the block in which clients' models are apart, or all of a vector."""
        return u if self.alone else part(CLIENT, u)

    def point(self, step: Number, client: Client = n) -> Vec:
        """Return the local point."""
        return terms.local_point(self.run, client, now, step)

    def moves(self, upper: Ratio, client: Client) -> Vec:
        """Return the sum of a client's moves before a step."""
        return summed(steps(upper), i, self.move(of(i), client))

    def moved(self, client: Client = n) -> Vec:
        """Return by how much step j moves against client n's gradient."""
        return self.move(J, client)

    def one_more(self, client: Client, w: Vec, way: int) -> Theorem:
        """Return ``way <sum_{i<j+1} e - sum_{i<j} e - e_j, w> >= 0``."""
        e = self.move(of(i), client)
        return combine(
            (rules.linear(steps(J + 1), i, e, w), way),
            (rules.linear(steps(J), i, e, w), -way),
            (rules.split(i, terms.inner(e, w), J, ONE), way),
        )

    def step(self, client: Client, w: Vec, way: int = 1) -> Theorem:
        """Return ``way <p' - p + [e_n]_c + [sum a e]_s, w> >= 0``; alone [e_n]_s."""
        c, s = part(CLIENT, w), part(SERVER, w)
        change = self.moves(J + 1, m) - self.moves(J, m) - self.moved(m)
        apart = self.point(J + 1, client) - self.point(J, client)
        everyone = of_all(self.one_more(m, s, -way), m, change, s, -way)
        uses: list[tuple[Theorem, Number]] = [
            (self.one_more(client, c, -way), 1),
            (self.one_more(client, s, -way) if self.alone else everyone, 1),
            (rules.blocks(apart, w), way),
        ]
        for side, seen in ((CLIENT, c), (SERVER, s)):
            uses += [
                (derived.local_update(self.run, client, now, J + 1, side, seen), way),
                (derived.local_update(self.run, client, now, J, side, seen), -way),
            ]
        return rules.cut(combine(*uses), STARTED)

    def mean_step(self, w: Vec, way: int = 1) -> Theorem:
        """Return ``way <wbar' - wbar + sum a e, w> >= 0``."""
        k, all_ = other, averaged(self.moved(m), m)
        change = self.point(J + 1, k) - self.point(J, k)
        change = change + part(CLIENT, self.moved(k))
        change = change + part(SERVER, self.moved(k) if self.alone else all_)
        each = of_all(self.step(k, w, way), k, change, w, way)
        return combine(each, (rules.blocks(all_, w), way))

    def middle(self, step: Number) -> Vec:
        """Return the mean of the local points."""
        return averaged(self.point(step, m), m)

    def apart(self, step: Number) -> Vec:
        """Return the local point seen from their mean."""
        return self.point(step) - self.middle(step)

    def spread(self, step: Number) -> terms.Lin:
        """Return ``D = sum a ||p - wbar||^2``."""
        return summed(CLIENTS, n, norm2(self.apart(step)) * weight(n))

    def distance(self, step: Number) -> terms.Lin:
        """Return ``Delta = ||wbar - x*||^2``."""
        return norm2(self.middle(step) - BEST)

    def server_same(self, w: Vec) -> Theorem:
        """Return ``<[p - wbar]_s, w> = 0`` where the server's block is one for all."""
        before = terms.iterate(self.run, now)
        seen = part(SERVER, self.point(J, m) - before + averaged(self.moves(J, m), m))

        def own(client: Client) -> Theorem:
            return derived.local_update(self.run, client, now, J, SERVER, w)

        whole = combine(
            own(n),
            (over(own(m), m), -1),
            (of_mean(seen, part(SERVER, w), m), -1),
        )
        return rules.cut(whole, STARTED)

    def none(self, client: Client, w: Vec) -> Theorem:
        """Return ``<sum_{i<0} e, w> = 0``."""
        e, zero = self.move(of(i), client), ratio(0)
        empty = rules.split(i, terms.inner(e, w), zero, zero)
        return combine(rules.linear(steps(0), i, e, w), (empty, -1))

    def starts(self, client: Client, w: Vec) -> Theorem:
        """Return ``<p(n,t,0) - x, w> = 0``."""
        zero = ratio(0)
        c, s = part(CLIENT, w), part(SERVER, w)
        everyone = of_all(self.none(m, s), m, self.moves(zero, m), s)
        return combine(
            rules.blocks(self.point(zero, client) - terms.iterate(self.run, now), w),
            derived.local_update(self.run, client, now, zero, CLIENT, c),
            derived.local_update(self.run, client, now, zero, SERVER, s),
            (self.none(client, c), -1),
            (self.none(client, s) if self.alone else everyone, -1),
        )

    def start_of_mean(self, w: Vec) -> Theorem:
        """Return ``<wbar - x, w> = 0`` at the start of a round."""
        seen = self.point(0, m) - terms.iterate(self.run, now)
        return of_all(self.starts(m, w), m, seen, w)

    def same_start(self) -> Theorem:
        """Return ``D <= 0`` at the start of a round."""
        d = self.apart(0)
        return over(combine((self.starts(n, d), -1), self.start_of_mean(d)))

    def ends(self, w: Vec) -> Theorem:
        """Return ``<wbar - x(t+1), w> = 0`` after the last step."""
        before, after = (terms.iterate(self.run, at) for at in (now, now + 1))
        uses = [rules.blocks(self.middle(K) - after, w)]
        own, all_ = self.moves(K, n), averaged(self.moves(K, m), m)
        for side, made in ((CLIENT, own), (SERVER, own if self.alone else all_)):
            seen = part(side, w)
            local = derived.local_update(self.run, n, now, K, side, seen)
            away = part(side, self.point(K) - before + made)
            uses.append(of_all(local, n, away, seen))
            uses.append(combine((rules.update(self.run, side, now, seen), -1)))
        return combine(*uses)


def move(step: Ratio, client: Client = n) -> Vec:
    """Return the rate of a step times the stochastic gradient."""
    return stochastic(RUN, client, now, step) * eta(K * now + step)


WALK = Walk(RUN, move)
point, moves, step, mean_step = WALK.point, WALK.moves, WALK.step, WALK.mean_step
middle, apart, spread, from_best = WALK.middle, WALK.apart, WALK.spread, WALK.distance
start_of_mean, same_start, ends = WALK.start_of_mean, WALK.same_start, WALK.ends

# Noise -------------------------------------------------------------------------------

xi = terms.noise(RUN, n, now, J)


def fresh(known: Vec) -> Theorem:
    """Return ``<sum a xi, known> = 0``."""
    each = derived.unbiased(RUN, n, now, J, known)
    return combine(over(each), of_mean(xi, known))


def uncorrelated(side: terms.Side | None, way: int) -> Theorem:
    """Return ``way (sum a^2 ||xi||^2 - ||sum a xi||^2) >= 0``, of a block if named."""
    return combine((derived.of_steps(RUN, n, now, J, J, side), -way))
