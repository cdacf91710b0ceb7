"""Single steps of SFL-V1 with numbers of steps: what follows what, tested with any w.

A run's definition speaks of sums of steps; here they are unrolled. Every lemma is a
theorem on the free point w, so that a dense vector is put in once, by `instantiate`.
`side` is a block, or None for whole vectors where both sides step together.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived
from sfl_theory.proofs.derived import of_steps
from sfl_theory.proofs.notation import combine, nat, of, steps, sum_over

W = k.Point("w")
w = k.vec(W)
n, t, j = k.Client("n"), nat("t"), nat("j")
now = of(t)


def block(side: k.Side | None, u: k.Vec) -> k.Vec:
    """Return a block of a vector, or all of it."""
    return u if side is None else k.part(side, u)


def atom_of(u: k.Vec) -> k.VecAtom:
    """Return the one vector of a combination."""
    ((atom, _),) = u.coefficients.items()
    return atom


def tested(theorem: Theorem, round_: Number, by: k.Vec) -> Theorem:
    """Return a theorem on round t and w for a number and a vector."""
    when = () if ratio(round_) == now else ((t, ratio(round_)),)
    return rules.instantiate(theorem, (*when, (W, by)), ())


def steps_of(run: k.Split, side: k.Side | None) -> int:
    """Return how many steps a side makes in a round."""
    return int(str(run.pace(side or k.Side.CLIENT).steps))


def longest(run: k.Split) -> int:
    """Return how many steps a round has."""
    return max(steps_of(run, side) for side in k.Side)


def rate_of(run: k.Split, side: k.Side | None) -> Ratio:
    """Return the rate of a side in round t."""
    return run.pace(side or k.Side.CLIENT).rate.at(now)


def step(run: k.Split, i: int) -> k.Vec:
    """Return ``g(n,t,i)``, the stochastic gradient."""
    return stochastic(run, n, now, ratio(i))


def one_server(run: k.Split, side: k.Side | None) -> bool:
    """Return whether all clients' steps move this block together (MiniBatch-SFL)."""
    return run.kind.shared and side is k.Side.SERVER


def moving(run: k.Split, side: k.Side | None, u: k.Vec) -> k.Vec:
    """Return what moves a block of client n's point: u, or its average."""
    return mean(block(side, u)) if one_server(run, side) else block(side, u)


def _moved(run: k.Split, side: k.Side | None, theorem: Theorem) -> Theorem:
    """Return a theorem on client n's steps, averaged where `moving` is."""
    shared = one_server(run, side)
    return sum_over(theorem, k.CLIENTS, n, k.weight(n)) if shared else theorem


def _walked(run: k.Split, i: int, side: k.Side | None) -> Theorem:
    """Return ``<[p_i - x]_b + eta sum_{j<min(i,steps_b)} [g_j]_b, w> = 0``."""
    made = min(i, steps_of(run, side))
    g = k.summed(steps(made), j, stochastic(run, n, now, of(j)))
    away = block(side, k.local_point(run, n, now, i) - k.iterate(run, now))
    moved = away + moving(run, side, g) * rate_of(run, side)
    uses: list[tuple[Theorem, Number]] = []
    for one in k.Side if side is None else (side,):
        rule = derived.resting if i > steps_of(run, one) else derived.local_update
        uses.append((rule(run, n, now, ratio(i), one, w), 1))
    if side is None:
        uses.append((rules.blocks(moved, w), 1))
    return combine(*uses, target=k.inner(moved, w))


def _spread(run: k.Split, i: int, side: k.Side | None) -> tuple[Theorem, Number]:
    """Return ``<sum_j [g_j]_b, w> = sum_j <[g_j]_b, w>``, and -eta."""
    made = min(i, steps_of(run, side))
    g = block(side, stochastic(run, n, now, of(j)))
    found = _moved(run, side, rules.linear(steps(made), j, g, w))
    if one_server(run, side):
        outer = rules.linear(k.CLIENTS, n, k.summed(steps(made), j, g) * k.weight(n), w)
        found = combine(found, outer)
    return found, -rate_of(run, side)


@cache
def begins(run: k.Split, side: k.Side | None) -> Theorem:
    """Return ``<[p(n,t,0) - x(t)]_b, w> = 0``: a sum of no steps."""
    g = block(side, stochastic(run, n, now, of(j)))
    none = rules.split(j, k.inner(g, w), ratio(0), ratio(0))
    return combine(
        _walked(run, 0, side),
        _spread(run, 0, side),
        (_moved(run, side, none), rate_of(run, side)),
        target=k.inner(
            block(side, k.local_point(run, n, now, 0) - k.iterate(run, now)), w
        ),
    )


@cache
def moves(run: k.Split, i: int, side: k.Side | None) -> Theorem:
    """Return ``<[p_{i+1} - p_i + eta g_i]_b, w> >= 0``, as w is any vector ``= 0``.

    Where all clients move the block their average stands for g_i. A side that has made
    its steps keeps its value.
    """
    after, before = k.local_point(run, n, now, i + 1), k.local_point(run, n, now, i)
    uses: list[tuple[Theorem, Number]] = []
    for end, way in ((i + 1, 1), (i, -1)):
        spread, c = _spread(run, end, side)
        uses += [(_walked(run, end, side), way), (spread, c * way)]
    if i >= steps_of(run, side):
        return combine(*uses, target=k.inner(block(side, after - before), w))
    eta = rate_of(run, side)
    g = block(side, stochastic(run, n, now, of(j)))
    joined = rules.split(j, k.inner(g, w), ratio(i), ratio(1))
    uses.append((_moved(run, side, joined), -eta))
    if one_server(run, side):
        one = block(side, step(run, i)) * k.weight(n)
        uses.append((rules.linear(k.CLIENTS, n, one, w), eta))
    move = block(side, after - before) + moving(run, side, step(run, i)) * eta
    return combine(*uses, target=k.inner(move, w))


@cache
def gathers(run: k.Split, side: k.Side | None) -> Theorem:
    """Return ``<[x(t+1) - x(t)]_b + eta sum_i sum_n a_n [g(n,t,i)]_b, w> >= 0``.

    In it the sums over clients are those of single steps.
    """
    end, made, eta = longest(run), steps_of(run, side), rate_of(run, side)
    g = k.summed(steps(made), j, stochastic(run, n, now, of(j)))
    path = [(_walked(run, end, side), -1), (begins(run, side), 1)]
    path += [(moves(run, i, side), 1) for i in range(end)]
    uses: list[tuple[Theorem, Number]] = [
        (rules.update(run, one, now, w), 1)
        for one in (k.Side if side is None else (side,))
    ]
    moved = block(side, k.iterate(run, now + 1) - k.iterate(run, now))
    if side is None:
        uses.append((rules.blocks(moved + mean(g) * eta, w), 1))
    if one_server(run, side):
        uses.append((combine(*path), 1))
    else:
        own = sum_over(combine(*path), k.CLIENTS, n, k.weight(n))
        linear = rules.linear(k.CLIENTS, n, block(side, g) * k.weight(n), w)
        uses += [(own, 1), (linear, -eta)]
    for i in range(made):
        one = block(side, step(run, i))
        moved = moved + mean(one) * eta
        if not one_server(run, side):
            uses.append((rules.linear(k.CLIENTS, n, one * k.weight(n), w), eta))
    return combine(*uses, target=k.inner(moved, w))


def mean(u: k.Vec) -> k.Vec:
    """Return ``sum_n a_n u``."""
    return k.summed(k.CLIENTS, n, u * k.weight(n))


def single_steps(u: k.Vec, upper: int) -> Theorem:
    """Return ``sum_i <u(i), w> - <sum_{j<upper} u(j), w> = 0``, single terms."""
    form, whole = k.inner(u, w), k.summed(steps(upper), j, u)
    ways = [(rules.split(j, form, ratio(i), ratio(1)), -1) for i in range(upper)]
    each = (k.vec_at(u, {j: ratio(i)}) for i in range(upper))
    return combine(
        (rules.linear(steps(upper), j, u, w), -1),
        *ways,
        target=k.inner(sum(each, k.Vec({})) - whole, w),
    )


def vanishing(c: Ratio, u: k.Vec, v: k.Vec, signs: Iterable[Theorem]) -> Theorem:
    """Return ``c <u, v> >= 0`` for c that is 0: signs show c >= 0 and -c >= 0."""
    return combine((u + v, c / 4), (u - v, -c / 4), signs=signs)


def nought(c: Ratio, u: k.Vec, signs: tuple[Theorem, ...]) -> Theorem:
    """Return ``c <u, w> = 0`` for c that is 0: signs show c >= 0 and -c >= 0."""
    below = combine(target=k.constant(-c), signs=signs)
    square = combine((below, c), signs=signs)
    return rules.vanish(combine((u, -c * c), signs=[square]), u * c, w)


@cache
def still(run: k.Split, i: int) -> Theorem:
    """Return ``<xi(n,t,i), w> = 0`` for noise of variance 0."""
    none = derived.variance(run, ratio(0), n, now, ratio(i))
    return rules.vanish(none, k.noise(run, n, now, i), w)


@cache
def bounded(run: k.Split, G2: Ratio, i: int) -> Theorem:
    """Return ``||grad F_n(p(n,t,i))||^2 <= G2`` where noise has variance 0."""
    g, xi = (
        k.gradient(k.Local(n), k.local_point(run, n, now, i)),
        k.noise(run, n, now, i),
    )
    known = derived.bounded_gradient(run, G2, n, now, ratio(i))
    return combine(known, tested(still(run, i), now, 2 * g + xi))


X, Y = k.Point("x"), k.Point("y")


def at_most_one(theta: Ratio) -> Theorem:
    """Return ``theta <= 1``: assumed where it has to be."""
    form = k.constant(1 - theta)
    known = (1 - theta).nonnegative()
    return combine(target=form) if known else rules.assume(form)


def below(theta: Ratio, S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``theta (F_n(p) + <grad F_n(p), q - p> - F_n(q)) + S/2 ||q - p||^2``."""
    return combine(
        (rules.smooth(k.Local(n), S, p, q), theta),
        (q - p, (1 - theta) * S / 2),
        signs=[at_most_one(theta)],
    )


@cache
def _interpolation(theta: Ratio, S: Ratio, mu: Ratio, least: Ratio) -> Theorem:
    x, y, F = k.vec(X), k.vec(Y), k.Local(n)
    gx, gy = k.gradient(F, x) * theta, k.gradient(F, y) * theta
    d = gx - gy - (x - y) * least
    z = x - d * (1 / (S - least))
    rest = (k.value_of(F, x) - k.value_of(F, y)) * theta - k.inner(gy, x - y)
    rest = rest - k.norm2(x - y) * (least / 2) - k.norm2(d) * (1 / (2 * (S - least)))
    spare = theta * mu - least
    signs = [at_most_one(theta)]
    if not spare.nonnegative():
        signs.append(rules.assume(k.constant(spare)))
    return combine(
        (below(theta, S, x, z), 1),
        (derived.convex(F, mu, y, z), theta),
        (z - y, spare / 2),
        target=rest,
        signs=signs,
    )


def interpolated(
    S: Ratio,
    mu: Ratio,
    x: k.Vec,
    y: k.Vec,
    theta: Number = 1,
    least: Number | None = None,
) -> Theorem:
    """Return what values and gradients of ``F = theta F_n`` at x and y satisfy.

    ``F(x) >= F(y) + <gy, x - y> + m/2 ||x - y||^2 + ||d||^2/(2 (S - m))`` with
    ``d = gx - gy - m (x - y)``, F_n S-smooth and mu-convex, m mu or `least`,
    S > m; ``theta <= 1``, ``theta mu >= m`` are assumed where they are no
    numbers. Proof: F is below its quadratic at x and above its one at y, both at
    ``z = x - d/(S - m)``. A round with steps theta eta is one with steps eta on F.
    """
    m = mu if least is None else least
    one = _interpolation(ratio(theta), ratio(S), ratio(mu), ratio(m))
    return rules.instantiate(one, ((X, x), (Y, y)), ())


# The noise of one local step, averaged over the clients -------------------------------


@cache
def gram(run: k.Split, i: int, other: int, side: k.Side | None, way: int) -> Theorem:
    """Return ``<mean xi_i, mean xi_other> = 0``, minus ``sum a_n^2 ||xi_i||^2`` if i.

    Times way, 1 or -1.
    """
    first, last = sorted((i, other))
    return combine((of_steps(run, n, now, ratio(last), ratio(first), side), way))


@cache
def small_mean(
    run: k.Split, of_n: Ratio, i: int, bound: Ratio | None = None
) -> Theorem:
    """Return ``||mean xi_i||^2 <= sum a_n^2 sigma_n^2``, or its assumed bound."""
    each = derived.variance(run, of_n, n, now, ratio(i))
    own = sum_over(each, k.CLIENTS, n, k.weight(n) ** 2)
    more = [] if bound is None else [rules.assume(mean_bound(bound, of_n))]
    return combine(gram(run, i, i, None, -1), own, *more)


@cache
def small_deviation(
    run: k.Split, of_n: Ratio, i: int, bound: Ratio | None = None
) -> Theorem:
    """Return ``sum_n a_n ||xi_i||^2 - ||mean xi_i||^2 <= sum a_n (1 - a_n) sigma_n^2``.

    Or what bounds that, assumed.
    """
    each = derived.variance(run, of_n, n, now, ratio(i))
    factor, below = k.weight(n) * (1 - k.weight(n)), rules.weight_below_one(n)
    own = sum_over(each, k.CLIENTS, n, factor, [below])
    more = [] if bound is None else [rules.assume(deviation_bound(bound, of_n))]
    return combine(gram(run, i, i, None, 1), own, *more)


def mean_bound(bound: Ratio, of_n: Ratio) -> k.Lin:
    """Return ``bound - sum_n a_n^2 sigma_n^2``."""
    return k.constant(bound) - k.summed(
        k.CLIENTS, n, k.constant(k.weight(n) ** 2 * of_n)
    )


def deviation_bound(bound: Ratio, of_n: Ratio) -> k.Lin:
    """Return ``bound - sum_n a_n (1 - a_n) sigma_n^2``."""
    a = k.weight(n)
    return k.constant(bound) - k.summed(k.CLIENTS, n, k.constant(a * (1 - a) * of_n))


def mean_below(S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``f(q) <= f(p) + <grad f(p), q - p> + S/2 ||q - p||^2``."""
    each, g = rules.smooth(k.Local(n), S, p, q), k.gradient(k.Local(n), p)
    return combine(
        sum_over(each, k.CLIENTS, n, k.weight(n)),
        rules.mean_value(p),
        (rules.mean_value(q), -1),
        rules.linear(k.CLIENTS, n, g * k.weight(n), q - p),
        rules.mean_gradient(p, q - p),
    )
