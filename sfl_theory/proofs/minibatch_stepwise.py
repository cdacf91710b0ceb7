r"""MiniBatch-SFL with the printed rates of its steps: what a step does, and its noise.

The learning rate of step i = Kt + j is :math:`\eta=\frac2\mu u_i`, where
:math:`u_i(\gamma+i)=1` is assumed: sums over steps have no denominators that depend on
the step. The mean of the clients' local models is :math:`\bar w`.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import CLIENTS, Client, Vec, norm2, part, summed, weight
from sfl_theory.proofs import noises, notation
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


def point(step: Ratio, client: Client = n) -> Vec:
    """Return the local point."""
    return terms.local_point(RUN, client, now, step)


def move(step: Ratio, client: Client = n) -> Vec:
    """Return the rate of a step times the stochastic gradient."""
    return stochastic(RUN, client, now, step) * eta(K * now + step)


def over(theorem: Theorem, client: Client = n) -> Theorem:
    """Return the mean over clients."""
    return sum_over(theorem, CLIENTS, client, weight(client))


def averaged(u: Vec, client: Client = n) -> Vec:
    """Return the mean over clients."""
    return summed(CLIENTS, client, u * weight(client))


def of_mean(u: Vec, w: Vec, client: Client = n) -> Theorem:
    """Return ``<sum a u, w> = sum a <u, w>``."""
    return rules.linear(CLIENTS, client, u * weight(client), w)


def moves(upper: Ratio, client: Client) -> Vec:
    """Return the sum of a client's moves before a step."""
    return summed(steps(upper), i, move(of(i), client))


def one_more(client: Client, w: Vec, way: int) -> Theorem:
    """Return ``way <sum_{i<j+1} e - sum_{i<j} e - e_j, w> >= 0``."""
    e = move(of(i), client)
    return combine(
        (rules.linear(steps(J + 1), i, e, w), way),
        (rules.linear(steps(J), i, e, w), -way),
        (rules.split(i, terms.inner(e, w), J, ONE), way),
    )


def step(client: Client, w: Vec, way: int) -> Theorem:
    """Return ``way <p' - p + [e_n]_c + [sum a e]_s, w> >= 0``."""
    c, s = part(CLIENT, w), part(SERVER, w)
    change = moves(J + 1, m) - moves(J, m) - move(J, m)
    uses: list[tuple[Theorem, Number]] = [
        (one_more(client, c, -way), 1),
        (over(one_more(m, s, -way), m), 1),
        (of_mean(change, s, m), -way),
        (rules.blocks(point(J + 1, client) - point(J, client), w), way),
    ]
    for side, seen in ((CLIENT, c), (SERVER, s)):
        uses += [
            (rules.local_update(RUN, client, now, J + 1, side, seen), way),
            (rules.local_update(RUN, client, now, J, side, seen), -way),
        ]
    return rules.cut(combine(*uses), STARTED)


def mean_step(w: Vec, way: int) -> Theorem:
    """Return ``way <wbar' - wbar + sum a e, w> >= 0``."""
    k, all_ = other, averaged(move(J, m), m)
    change = point(J + 1, k) - point(J, k)
    change = change + part(CLIENT, move(J, k)) + part(SERVER, all_)
    return combine(
        over(step(k, w, way), k),
        (of_mean(change, w, k), way),
        (rules.blocks(all_, w), way),
    )


def middle(step_: Ratio) -> Vec:
    """Return the mean of the local points."""
    return averaged(point(step_, m), m)


def apart(step_: Ratio) -> Vec:
    """Return the local point seen from their mean."""
    return point(step_) - middle(step_)


def spread(step_: Ratio) -> terms.Lin:
    """Return ``D``."""
    return summed(CLIENTS, n, norm2(apart(step_)) * weight(n))


def from_best(step_: Ratio) -> terms.Lin:
    """Return ``Delta``."""
    return norm2(middle(step_) - BEST)


def none(client: Client, w: Vec) -> Theorem:
    """Return ``<sum_{i<0} e, w> = 0``."""
    e, zero = move(of(i), client), ratio(0)
    return combine(
        rules.linear(steps(0), i, e, w),
        (rules.split(i, terms.inner(e, w), zero, zero), -1),
    )


def starts(client: Client, w: Vec) -> Theorem:
    """Return ``<p(n,t,0) - x, w> = 0``."""
    zero = ratio(0)
    c, s = part(CLIENT, w), part(SERVER, w)
    return combine(
        rules.blocks(point(zero, client) - terms.iterate(RUN, now), w),
        rules.local_update(RUN, client, now, zero, CLIENT, c),
        rules.local_update(RUN, client, now, zero, SERVER, s),
        (none(client, c), -1),
        (of_mean(moves(zero, m), s, m), -1),
        (over(none(m, s), m), -1),
    )


def start_of_mean(w: Vec) -> Theorem:
    """Return ``<wbar - x, w> = 0`` at the start of a round."""
    zero = ratio(0)
    seen = point(zero, m) - terms.iterate(RUN, now)
    return combine(of_mean(seen, w, m), over(starts(m, w), m))


def same_start() -> Theorem:
    """Return ``D <= 0`` at the start of a round."""
    d = apart(ratio(0))
    return over(combine((starts(n, d), -1), start_of_mean(d)))


def ends(w: Vec) -> Theorem:
    """Return ``<wbar - x(t+1), w> = 0`` after the last step."""
    before, after = terms.iterate(RUN, now), terms.iterate(RUN, now + 1)
    own = moves(K, n)
    uses: list[tuple[Theorem, Number]] = [(rules.blocks(middle(K) - after, w), 1)]
    for side, made in ((CLIENT, own), (SERVER, averaged(moves(K, m), m))):
        seen = part(side, w)
        local = rules.local_update(RUN, n, now, K, side, seen)
        uses += [
            (over(local), 1),
            (of_mean(part(side, point(K) - before + made), seen), 1),
            (rules.update(RUN, side, now, seen), -1),
        ]
    return combine(*uses)


# Noise -------------------------------------------------------------------------------

xi = terms.noise(RUN, n, now, J)
zbar = averaged(xi)


def fresh(known: Vec) -> Theorem:
    """Return ``<sum a xi, known> = 0``."""
    each = rules.unbiased(RUN, n, now, J, known)
    return combine(over(each), of_mean(xi, known))


def uncorrelated(side: terms.Side | None, way: int) -> Theorem:
    """Return ``way (sum a^2 ||xi||^2 - ||sum a xi||^2) >= 0``, of a block if named."""
    return combine((noises.of_steps(RUN, n, now, J, J, side), -way))
