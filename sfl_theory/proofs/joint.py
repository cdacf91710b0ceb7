"""Lemmas on whole vectors, for runs in which both sides step together."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.local_steps import Round, S, i, j, linear_both, n, now, sigma2
from sfl_theory.proofs.notation import combine, of, steps, sum_over


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
    return combine(uses, target=k.inner(moved, w))


def whole_descent(r: Round) -> Theorem:
    """Return ``f(x') <= f(x) - eta <grad f, G> + S eta^2/2 ||G||^2``."""
    step, g, eta = r.next - r.x, r.gradient, r.eta
    G = whole_mean(r, stochastic(r.run, n, now, of(i)))
    fall = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)
    return combine(
        [
            (smooth_mean(S, r.x, r.next), 1),
            (whole_update(r, g), -1),
            (whole_update(r, step), -S / 2),
            (whole_update(r, G), S * eta / 2),
        ],
        target=fall - k.inner(g, G) * eta + k.norm2(G) * (S * eta**2 / 2),
    )


def whole_centred(r: Round, w: k.Vec) -> Theorem:
    """Return ``<sum_n a_n sum_i xi, w> = 0`` for w fixed at x(t)."""
    tau, xi = r.steps(k.Side.CLIENT), r.noise(of(i))
    zero = r.summed(rules.unbiased(r.run, n, now, of(i), w), tau, k.weight(n))
    return combine([(linear_both(r, xi, w, tau, k.weight(n)), 1), (zero, 1)])


def whole_noise(r: Round) -> Theorem:
    """Return ``||sum_n a_n sum_i xi||^2 <= tau sum a_n^2 sigma_n^2``."""
    tau = r.steps(k.Side.CLIENT)
    apart = rules.independent(r.run, n, i, k.weight(n), now, tau, None)
    bound = rules.variance(r.run, sigma2(n), n, now, of(i))
    return combine([(apart, -1), (r.summed(bound, tau, k.weight(n) ** 2), 1)])


def whole_drift(r: Round) -> k.Lin:
    """Return ``D = sum_n a_n sum_i ||p_i - x||^2``."""
    return r.drift(r.steps(k.Side.CLIENT), k.weight(n))


def whole_deviation(r: Round) -> Theorem:
    """Return ``||tau grad f - M||^2 <= tau S^2 D``, by Jensen with weights a_n."""
    tau, apart = r.steps(k.Side.CLIENT), r.own_gradient() - r.local_gradient(of(i))
    clients = rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(tau), i, apart))
    inside = rules.jensen(steps(tau), i, ratio(1), apart)
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    M = own_mean(r, r.local_gradient(of(i)))
    own = k.summed(k.CLIENTS, n, r.own_gradient() * k.weight(n)) * tau - M
    left = r.gradient * tau - M
    return combine(
        [
            (clients, 1),
            (sum_over(inside, k.CLIENTS, n, k.weight(n)), 1),
            (r.summed(near, tau, k.weight(n)), tau),
            (rules.mean_gradient(r.x, left), -tau),
            (rules.mean_gradient(r.x, own), -tau),
        ],
        target=whole_drift(r) * (tau * S**2) - k.norm2(left),
    )


def whole_moved(r: Round) -> Theorem:
    """Return ``||p_i - x||^2 = eta^2 ||sum_{j<i} g_j||^2`` for SFL-V1."""
    away, total = r.away(of(i)), k.summed(steps(of(i)), j, _stochastic(r))

    def update(w: k.Vec) -> Theorem:
        moved = away + total * r.eta
        sides = [
            (rules.local_update(r.run, n, now, of(i), side, w), 1) for side in k.Side
        ]
        return combine([(rules.blocks(moved, w), 1), *sides], target=k.inner(moved, w))

    return combine(
        [(update(away), 1), (update(total), -r.eta)],
        target=k.norm2(away) - k.norm2(total) * r.eta**2,
    )


def _stochastic(r: Round) -> k.Vec:
    return stochastic(r.run, n, now, of(j))


def bounded_drift(r: Round, G2: Ratio) -> Theorem:
    """Return ``D <= eta^2 tau^3 G2/3`` for second moments <= G2 along the run."""
    tau, bound = r.steps(k.Side.CLIENT), rules.bounded_gradient
    one = combine([
        (whole_moved(r), -1),
        (rules.jensen(steps(of(i)), j, ratio(1), _stochastic(r)), r.eta**2),
        (
            sum_over(bound(r.run, G2, n, now, of(j)), steps(of(i)), j),
            r.eta**2 * of(i),
        ),
    ])
    target = k.constant(r.eta**2 * tau**3 * G2 / 3) - whole_drift(r)
    return combine([(r.summed(one, tau, k.weight(n)), 1)], target=target)


def both_parts(u: k.Vec) -> Theorem:
    """Return ``||u||^2 = ||u_c||^2 + ||u_s||^2``."""
    parts = sum((k.norm2(k.part(side, u)) for side in k.Side), k.Lin({}))
    return combine([(rules.blocks(u, u), 1)], target=k.norm2(u) - parts)
