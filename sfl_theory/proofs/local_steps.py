"""Lemmas on the local steps of a round: of blocks, and of both blocks together.

Every lemma is derived by the kernel's rules; constants come out, none goes in.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.notation import combine, mean, nat, of, positive, steps, sum_over

n, m = k.Client("n"), k.Client("m")
t, i, j, beyond = nat("t"), nat("i"), nat("j"), nat("k")
S = positive("S")
eps2, G2 = notation.nonnegative("eps2"), notation.nonnegative("G2")
N = mean(n, 1)
now = of(t)


def sigma2(client: k.Client) -> Ratio:
    """Return ``sigma_n^2``."""
    return notation.per_client("sigma2", client)


@dataclass(frozen=True)
class Round:
    """Round t of a run; `eta` is the rate of both sides where they have one."""

    run: k.Split

    @property
    def eta(self) -> Ratio:
        """The rate of the round."""
        return self.run.client.rate.at(now)

    def rate(self, side: k.Side) -> Ratio:
        """Return a side's rate of the round."""
        return self.run.pace(side).rate.at(now)

    @property
    def x(self) -> k.Vec:
        """The model before the round."""
        return k.iterate(self.run, now)

    @property
    def next(self) -> k.Vec:
        """The model after the round."""
        return k.iterate(self.run, now + 1)

    @property
    def fall(self) -> k.Lin:
        """``f(x) - f(x')``."""
        return k.value_of(k.MEAN, self.x) - k.value_of(k.MEAN, self.next)

    @property
    def gradient(self) -> k.Vec:
        """``grad f(x)``."""
        return k.gradient(k.MEAN, self.x)

    def point(self, step: Number, client: k.Client = n) -> k.Vec:
        """Return the local point."""
        return k.local_point(self.run, client, now, step)

    def away(self, step: Number) -> k.Vec:
        """Return the local point seen from the model before the round."""
        return self.point(step) - self.x

    def noise(self, step: Number, client: k.Client = n) -> k.Vec:
        """Return the noise."""
        return k.noise(self.run, client, now, step)

    def local_gradient(self, step: Number, client: k.Client = n) -> k.Vec:
        """Return ``grad F_n`` at the local point."""
        return k.gradient(k.Local(client), self.point(step, client))

    def own_gradient(self, client: k.Client = n) -> k.Vec:
        """Return ``grad F_n(x)``."""
        return k.gradient(k.Local(client), self.x)

    def steps(self, side: k.Side) -> Ratio:
        """Return how many steps a side makes."""
        return ratio(self.run.pace(side).steps)

    def whole(self, side: k.Side, each: k.Vec, factor: Number = 1) -> k.Vec:
        """Return ``sum_n a_n factor sum_{i<steps} each``, the side's block."""
        inside = k.part(side, k.summed(steps(self.steps(side)), i, each))
        return k.summed(k.CLIENTS, n, inside * k.weight(n) * factor)

    def drift(self, upper: Number, factor: Number) -> k.Lin:
        """Return ``sum_n factor sum_{i<upper} ||p_i - x||^2``."""
        return self.over(k.norm2(self.away(of(i))), upper, factor)

    def over(self, form: k.Lin, upper: Number, factor: Number) -> k.Lin:
        """Return ``sum_n factor sum_{i<upper} form``."""
        return k.summed(k.CLIENTS, n, k.summed(steps(upper), i, form) * factor)

    def summed(self, theorem: Theorem, upper: Number, factor: Number) -> Theorem:
        """Return the theorem summed likewise."""
        return sum_over(sum_over(theorem, steps(upper), i), k.CLIENTS, n, factor)


def other(side: k.Side) -> k.Side:
    """Return the other side."""
    return k.Side.CLIENT if side is k.Side.SERVER else k.Side.SERVER


def block_at_most(side: k.Side, u: k.Vec) -> Theorem:
    """Return ``||u_b||^2 <= ||u||^2``."""
    return combine(rules.blocks(u, u), (k.part(other(side), u), 1))


def block_below(side: k.Side, u: k.Vec, bound: Theorem) -> Theorem:
    """Return a bound of ``||u||^2`` for a block of u."""
    return combine(block_at_most(side, u), bound)


def bounded_block(
    run: k.Split, side: k.Side, step: Number, client: k.Client = n
) -> Theorem:
    """Return ``||[g]_b||^2 <= G2`` for a step, given the draws."""
    bound = derived.bounded_gradient(run, G2, client, now, ratio(step))
    return block_below(side, stochastic(run, client, now, ratio(step)), bound)


def young(v: k.Vec, w: k.Vec, c: Number) -> Theorem:
    """Return ``||v + w||^2 <= (1 + c) ||v||^2 + (1 + 1/c) ||w||^2``."""
    inverse = 1 / ratio(c)
    target = k.norm2(v) * (1 + ratio(c)) + k.norm2(w) * (1 + inverse) - k.norm2(v + w)
    return combine((v * c - w, inverse), target=target)


def linear_both(r: Round, u: k.Vec, w: k.Vec, upper: Number, factor: Number) -> Theorem:
    """Return ``<sum_n factor sum_i u, w> = sum_n factor sum_i <u, w>``."""
    binder = steps(upper)
    inside = k.summed(binder, i, u)
    each = sum_over(rules.linear(binder, i, u, w), k.CLIENTS, n, factor)
    outer = rules.linear(k.CLIENTS, n, inside * factor, w)
    return combine(outer, each)


def descent(r: Round, moves: dict[k.Side, k.Vec]) -> Theorem:
    """Return ``f(x') <= f(x) + sum_b (S eta^2/2 ||G_b||^2 - eta <grad_b f, G_b>)``."""
    step, g, eta = r.next - r.x, r.gradient, r.eta
    uses: list[tuple[Theorem, Number]] = [
        (smooth_mean(S, r.x, r.next), 1),
        (rules.blocks(g, step), -1),
        (rules.blocks(step, step), -S / 2),
    ]
    target = r.fall
    for side, G in moves.items():
        uses += [
            (rules.update(r.run, side, now, g), -1),
            (rules.update(r.run, side, now, k.part(side, step)), -S / 2),
            (rules.update(r.run, side, now, G), S * eta / 2),
        ]
        target = target - k.inner(g, G) * eta + k.norm2(G) * (S * eta**2 / 2)
    return combine(*uses, target=target)


def over_rounds(one: Theorem, r: Round, T: Ratio, c: Ratio) -> Theorem:
    """Return c times a round, summed over T rounds: the values of f telescope."""
    fall = derived.telescope(t, k.value_of(k.MEAN, r.x), T)
    last = derived.lowest(k.MEAN, k.iterate(r.run, T))
    return combine((sum_over(one, steps(T), t), c), (fall, c), (last, c))


def nearer(one: Theorem, r: Round, T: Ratio, c: Ratio) -> Theorem:
    """Return c times a round, summed over T rounds: the distances to x* telescope."""
    best = k.vec(k.Star(k.MEAN))
    fall = derived.telescope(t, k.norm2(r.x - best), T)
    last = k.iterate(r.run, T) - best
    return combine((sum_over(one, steps(T), t), c), (fall, c), (last, c))


def centred(r: Round, side: k.Side, w: k.Vec, upper: Number, factor: Number) -> Theorem:
    """Return ``<sum_n factor sum_i [xi]_b, w> = 0`` for w fixed at x(t)."""
    xi = k.part(side, r.noise(of(i)))
    each = derived.unbiased(r.run, n, now, of(i), k.part(side, w))
    zero = r.summed(each, upper, factor)
    return combine(linear_both(r, xi, w, upper, factor), zero)


def mean_deviation(r: Round, side: k.Side) -> Theorem:
    """Return ``||tau grad_b f - M_b||^2 <= tau N sum a^2 sum_i ||[gx - gp]_b||^2``."""
    tau, apart = r.steps(side), r.own_gradient() - r.local_gradient(of(i))
    apart = k.part(side, apart)
    clients = rules.jensen(k.CLIENTS, n, ratio(1), _sum(tau, apart) * k.weight(n))
    inside = rules.jensen(steps(tau), i, ratio(1), apart)
    M = r.whole(side, r.local_gradient(of(i)))
    own = k.part(side, k.summed(k.CLIENTS, n, r.own_gradient() * k.weight(n)))
    left, same = k.part(side, r.gradient) * tau - M, own * tau - M
    return combine(
        clients,
        sum_over(inside, k.CLIENTS, n, N * k.weight(n) ** 2),
        (rules.mean_gradient(r.x, left), -tau),
        (rules.mean_gradient(r.x, same), -tau),
        target=r.over(k.norm2(apart), tau, N * k.weight(n) ** 2) * tau - k.norm2(left),
    )


def _sum(upper: Number, u: k.Vec, v: k.Var = i) -> k.Vec:
    return k.summed(steps(upper), v, u)


def size_of_sum(
    binder: k.Binder, v: k.Var, u: k.Vec, upper: Number, long: Number
) -> Theorem:
    """Return ``||sum_{v<upper} u||^2 <= upper sum_{v<long} ||u||^2``."""
    more = rules.longer(v, u, ratio(upper), ratio(long))
    return combine(rules.jensen(binder, v, ratio(1), u), (more, upper))


def moved(r: Round, side: k.Side, step: Ratio, made: Ratio, rests: bool) -> Theorem:
    """Return ``||[p - x]_b||^2 = eta_b^2 ||sum_{j<made} [g_j]_b||^2``."""
    rule = derived.resting if rests else derived.local_update
    away = k.part(side, r.away(step))
    total = k.part(side, _sum(made, r.local_gradient(of(j)) + r.noise(of(j)), j))

    def update(w: k.Vec) -> Theorem:
        return rule(r.run, n, now, step, side, w)

    return combine(
        update(away),
        (update(total), -r.rate(side)),
        target=k.norm2(away) - k.norm2(total) * r.rate(side) ** 2,
    )


def own_steps(
    r: Round, side: k.Side, step: Ratio, made: Ratio, rests: bool = False
) -> Theorem:
    """Return ``||[p - x]_b||^2 <= eta_b^2 made sum_{j<made} ||[g_j]_b||^2``."""
    g = k.part(side, stochastic(r.run, n, now, of(j)))
    inside = rules.jensen(steps(made), j, ratio(1), g)
    return combine((moved(r, side, step, made, rests), -1), (inside, r.rate(side) ** 2))


def block_move(
    r: Round, side: k.Side, step: Ratio, made: Ratio, rests: bool = False
) -> Theorem:
    """Return ``||[p - x]_b||^2 <= eta_b^2 made^2 G2`` for a side's own steps."""
    each = sum_over(bounded_block(r.run, side, of(j)), steps(made), j)
    own = own_steps(r, side, step, made, rests)
    return combine(own, (each, r.rate(side) ** 2 * made))


def block_drift(
    r: Round, side: k.Side, step: Ratio, made: Ratio, long: Ratio, rests: bool = False
) -> Theorem:
    """Return ``||p_i - x||^2 <= 2 eta^2 (i sum_{j<l} ||gp||^2 + sum_{j<i} ||xi||^2)``.

    All blocks of side b; the side has made `made` <= i steps.
    """
    gp, xi = k.part(side, r.local_gradient(of(j))), k.part(side, r.noise(of(j)))
    A, B = _sum(made, gp, j), _sum(made, xi, j)
    size = size_of_sum(steps(made), j, gp, made, long)
    later = k.summed(steps(long), j, k.norm2(gp))
    rest = combine() if not rests else _positive_sum(gp, long)
    noisy = derived.martingale(r.run, n, now, made, side)
    uses: list[tuple[Theorem, Number]] = [
        (moved(r, side, step, made, rests), -1),
        (young(A, B, 1), r.eta**2),
        (size, 2 * r.eta**2),
        (noisy, 2 * r.eta**2),
        (rules.longer(j, xi, made, step), 2 * r.eta**2),
        (rest, 2 * r.eta**2 * (step - made)),
    ]
    bound = later * step + k.summed(steps(step), j, k.norm2(xi))
    target = bound * (2 * r.eta**2) - k.norm2(k.part(side, r.away(step)))
    return combine(*uses, target=target)


def _positive_sum(u: k.Vec, upper: Ratio) -> Theorem:
    return sum_over(combine((u, 1)), steps(upper), j)


def local_gradients(r: Round, upper: Number, factor: Number, c: Number) -> Theorem:
    """Return ``sum ||gp||^2 <= (1+c) sum ||gx||^2 + (1+1/c) S^2 sum ||p - x||^2``."""
    gx, gp = r.own_gradient(), r.local_gradient(of(i))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    one = combine(young(gx, gp - gx, c), (near, 1 + 1 / ratio(c)))
    return r.summed(one, upper, factor)


def own_gradients(r: Round, factor: Ratio) -> Theorem:
    """Return ``sum_n w ||gx||^2 <= 2 sum_n w (||grad f||^2 + eps2)``."""
    gx, gf = r.own_gradient(), r.gradient
    near = derived.heterogeneity(eps2, n, r.x)
    one = combine(young(gf, gx - gf, 1), (near, 2))
    return sum_over(one, k.CLIENTS, n, factor)


def own_size(r: Round, side: k.Side | None = None) -> Theorem:
    """Return ``sum_n w_n ||gx||^2 <= ||grad f||^2 + eps2``, or of a block.

    w_n is a_n, or a_n J_n where visits are drawn: draws and gx have means.
    """

    def block(u: k.Vec) -> k.Vec:
        return u if side is None else k.part(side, u)

    g, gx, far = r.gradient, r.own_gradient(), r.own_gradient() - r.gradient
    near = derived.heterogeneity(eps2, n, r.x)
    drawn = r.run.drawn and r.run.kind.visits
    w = rules.share(r.run, n, now, k.Side.CLIENT) if drawn else k.weight(n)
    F = k.summed(k.CLIENTS, n, k.norm2(block(gx)) * w)
    averaged = [(derived.expect(r.run, now, F), -1)] if drawn else []
    near = near if side is None else block_below(side, far, near)
    return combine(
        sum_over(near, k.CLIENTS, n, k.weight(n)),
        (rules.linear(k.CLIENTS, n, block(gx) * k.weight(n), g), 2),
        (rules.mean_gradient(r.x, block(g)), 2),
        *averaged,
        target=k.norm2(block(g)) + k.constant(eps2) - F,
    )


def centred_by(r: Round, share: Ratio, w: k.Vec) -> Theorem:
    """Return ``<sum_n share sum_i xi, w> = 0`` for w fixed by x(t), share by draws."""
    tau, xi = r.steps(k.Side.CLIENT), r.noise(of(i))
    fixed = derived.unbiased(r.run, n, now, of(i), w * share)
    each = sum_over(fixed, steps(tau), i)
    inside = rules.linear(steps(tau), i, xi * share, w)
    outer = rules.linear(k.CLIENTS, n, k.summed(steps(tau), i, xi) * share, w)
    return combine(outer, *(sum_over(one, k.CLIENTS, n) for one in (each, inside)))


# Lemmas on whole vectors, for runs in which both sides step together -----------------


def whole_mean(r: Round, each: k.Vec) -> k.Vec:
    """Return ``sum_n a_n sum_{i<tau} each``; with draws ``a_n J_n`` for ``a_n``."""
    inside = k.summed(steps(r.steps(k.Side.CLIENT)), i, each)
    return k.summed(k.CLIENTS, n, inside * rules.share(r.run, n, now, k.Side.CLIENT))


def own_mean(r: Round, each: k.Vec) -> k.Vec:
    """Return ``sum_n a_n sum_{i<tau} each``, without draws."""
    inside = k.summed(steps(r.steps(k.Side.CLIENT)), i, each)
    return k.summed(k.CLIENTS, n, inside * k.weight(n))


def whole_update(r: Round, w: k.Vec) -> Theorem:
    """Return ``<x' - x + eta G, w> = 0`` from the updates of the two sides."""
    moved = r.next - r.x + whole_mean(r, stochastic(r.run, n, now, of(i))) * r.eta
    uses: list[tuple[Theorem, Number]] = [(rules.blocks(moved, w), 1)]
    uses += [(rules.update(r.run, side, now, w), 1) for side in k.Side]
    return combine(*uses, target=k.inner(moved, w))


def whole_descent(r: Round) -> Theorem:
    """Return ``f(x') <= f(x) - eta <grad f, G> + S eta^2/2 ||G||^2``."""
    step, g, eta = r.next - r.x, r.gradient, r.eta
    G = whole_mean(r, stochastic(r.run, n, now, of(i)))
    fall = r.fall
    return combine(
        smooth_mean(S, r.x, r.next),
        (whole_update(r, g), -1),
        (whole_update(r, step), -S / 2),
        (whole_update(r, G), S * eta / 2),
        target=fall - k.inner(g, G) * eta + k.norm2(G) * (S * eta**2 / 2),
    )


def whole_centred(r: Round, w: k.Vec) -> Theorem:
    """Return ``<sum_n a_n sum_i xi, w> = 0`` for w fixed at x(t)."""
    tau, xi = r.steps(k.Side.CLIENT), r.noise(of(i))
    zero = r.summed(derived.unbiased(r.run, n, now, of(i), w), tau, k.weight(n))
    return combine(linear_both(r, xi, w, tau, k.weight(n)), zero)


def no_noise(r: Round) -> Theorem:
    """Return ``||sum_n a_n sum_i xi||^2 <= 0`` where every noise has variance 0."""
    tau, xi = r.steps(k.Side.CLIENT), r.noise(of(i))
    each = rules.jensen(steps(tau), i, ratio(1), xi)
    none = derived.variance(r.run, ratio(0), n, now, of(i))
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(tau), i, xi)),
        sum_over(each, k.CLIENTS, n, k.weight(n)),
        (r.summed(none, tau, k.weight(n)), tau),
        target=-k.norm2(own_mean(r, xi)),
    )


def whole_noise(r: Round) -> Theorem:
    """Return ``||sum_n a_n sum_i xi||^2 <= tau sum a_n^2 sigma_n^2``."""
    tau = r.steps(k.Side.CLIENT)
    apart = derived.independent(r.run, n, i, k.weight(n), now, tau, None)
    bound = derived.variance(r.run, sigma2(n), n, now, of(i))
    return combine(apart, r.summed(bound, tau, k.weight(n) ** 2))


def whole_drift(r: Round) -> k.Lin:
    """Return ``D = sum_n a_n sum_i ||p_i - x||^2``."""
    return r.drift(r.steps(k.Side.CLIENT), k.weight(n))


def whole_deviation(r: Round) -> Theorem:
    """Return ``||tau grad f - M||^2 <= tau S^2 D``, by Jensen with weights a_n."""
    tau, apart = r.steps(k.Side.CLIENT), r.own_gradient() - r.local_gradient(of(i))
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(tau), i, apart))
    inside = rules.jensen(steps(tau), i, ratio(1), apart)
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    M = own_mean(r, r.local_gradient(of(i)))
    own = k.summed(k.CLIENTS, n, r.own_gradient() * k.weight(n)) * tau - M
    left = r.gradient * tau - M
    return combine(
        clients,
        sum_over(inside, k.CLIENTS, n, k.weight(n)),
        (r.summed(near, tau, k.weight(n)), tau),
        (rules.mean_gradient(r.x, left), -tau),
        (rules.mean_gradient(r.x, own), -tau),
        target=whole_drift(r) * (tau * S**2) - k.norm2(left),
    )


def walked(run: k.Split, round_: Ratio, step: Ratio, w: k.Vec) -> Theorem:
    """Return ``<p_i - x + eta sum_{j<i} g_j, w> = 0``: both blocks of a client."""
    g, rate = stochastic(run, n, round_, of(j)), run.client.rate.at(round_)
    away = k.local_point(run, n, round_, step) - k.iterate(run, round_)
    moved = away + k.summed(steps(step), j, g) * rate
    sides = [derived.local_update(run, n, round_, step, side, w) for side in k.Side]
    return combine(rules.blocks(moved, w), *sides, target=k.inner(moved, w))


def whole_moved(r: Round) -> Theorem:
    """Return ``||p_i - x||^2 = eta^2 ||sum_{j<i} g_j||^2`` for SFL-V1."""
    away, total = r.away(of(i)), k.summed(steps(of(i)), j, _stochastic(r))
    return combine(
        walked(r.run, now, of(i), away),
        (walked(r.run, now, of(i), total), -r.eta),
        target=k.norm2(away) - k.norm2(total) * r.eta**2,
    )


def _stochastic(r: Round) -> k.Vec:
    return stochastic(r.run, n, now, of(j))


def bounded_way(r: Round) -> Theorem:
    """Return ``||p_i - x||^2 <= eta^2 i^2 G2`` for SFL-V1."""
    bound = derived.bounded_gradient(r.run, G2, n, now, of(j))
    return combine(
        (whole_moved(r), -1),
        (rules.jensen(steps(of(i)), j, ratio(1), _stochastic(r)), r.eta**2),
        (sum_over(bound, steps(of(i)), j), r.eta**2 * of(i)),
    )


def bounded_drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3 G2/3`` for second moments <= G2 along the run."""
    tau, one = r.steps(k.Side.CLIENT), bounded_way(r)
    target = k.constant(r.eta**2 * tau**3 * G2 / 3) - whole_drift(r)
    return combine(r.summed(one, tau, k.weight(n)), target=target)


def both_parts(u: k.Vec) -> Theorem:
    """Return ``||u||^2 = ||u_c||^2 + ||u_s||^2``."""
    parts = sum((k.norm2(k.part(side, u)) for side in k.Side), k.Lin({}))
    return combine(rules.blocks(u, u), target=k.norm2(u) - parts)
