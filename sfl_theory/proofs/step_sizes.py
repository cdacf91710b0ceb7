"""Step sizes: which conditions follow from which, and what a constant rate leaves."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs.joint import whole_mean, whole_moved, whole_update
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.notation import combine, mean, nat, of, sign, steps, sum_over

n, t, i, j = k.Client("n"), nat("t"), nat("i"), nat("j")


def at_most(left: Ratio, right: Number) -> Theorem:
    """Return ``left <= right`` by sorts."""
    return combine(target=k.constant(ratio(right) - left))


def late(rate: Ratio, S: Ratio, tau: Ratio, far: Ratio, X: Ratio, mu: Ratio) -> Theorem:
    """Return ``6 S^2 tau^2 rate^2 <= 1`` for rate = 4/(tau X), X >= 10 S.

    `far` = t - 1 - 2S/mu >= 0 is assumed and X - 10 S = mu far.
    """
    uses = [(rules.assume(k.constant(far)), mu * (X + 10 * S) / X**2)]
    return sign(1 - 6 * S**2 * tau**2 * rate**2, *uses)


def smaller(
    rate: Ratio, S: Ratio, own: Ratio, largest: Ratio, c: int
) -> tuple[Theorem, Ratio]:
    """Return ``1 - c u >= 0`` and u = S own rate, own <= largest, rate <= 1/(c S ..).

    The rate's condition and own <= largest are assumed.
    """
    known = rules.assume(k.constant(1 / (c * S * largest) - rate))
    u = S * own * rate
    uses: list[tuple[Theorem, Number]] = [(known, c * S * largest)]
    if own != largest:
        uses.append((rules.assume(k.constant(largest - own)), c * S * rate))
    return sign(1 - c * u, *uses), u


def linear_condition(found: tuple[Theorem, Ratio], c: int, right: Ratio) -> Theorem:
    """Return ``c u <= right`` where ``times u <= 1``, times >= c/right."""
    known, u = found
    return sign(right - c * u, (known, right))


def square_condition(
    found: tuple[Theorem, Ratio], c: int, times: Number, right: Ratio
) -> Theorem:
    """Return ``times u^2 <= right`` where ``c u <= 1`` and c^2 >= times/right."""
    known, u = found
    return sign(right - ratio(times) * u**2, (known, right * (1 + c * u)))


def half_left(product: Ratio) -> Theorem:
    """Return ``1/2 <= 1 - product/2`` where product <= 1 is assumed."""
    half = ratio(1) / 2
    return sign(half - product / 2, (rules.assume(k.constant(1 - product)), half))


def growth(mu: Ratio, run: k.Split, at: Ratio) -> Theorem:
    """Return ``f(x) - f* >= mu/2 ||x - x*||^2`` from the F_n."""
    x, best = k.iterate(run, at), k.vec(k.Star(k.MEAN))
    own = k.gradient(k.Local(n), best) * k.weight(n)
    return combine([
        (sum_over(rules.convex(k.Local(n), mu, best, x), k.CLIENTS, n, k.weight(n)), 1),
        (rules.mean_value(x), 1),
        (rules.mean_value(best), -1),
        (rules.mean_gradient(best, x - best), -1),
        (rules.linear(k.CLIENTS, n, own, x - best), -1),
        (rules.stationary(k.MEAN, x - best), 1),
    ])


def floor(run: k.Split, S: Ratio, mu: Ratio, v: Ratio) -> Theorem:
    """Return ``f(x(t+1)) - f* >= mu/4 eta^2 v sum_n a_n^2``, one local step a round.

    x(t+1) - x* = u - eta Z - eta D: u is fixed by x(t), Z the noise's mean and D the
    difference of gradients at p(n,t,0) and x(t), which is 0.
    """
    r, now = Round(run), of(t)
    eta, best = r.eta, k.vec(k.Star(k.MEAN))
    gx, gp, xi = r.own_gradient(), r.local_gradient(of(i)), r.noise(of(i))
    u = r.x - best - whole_mean(r, gx) * eta
    Z, D = whole_mean(r, xi), whole_mean(r, gp - gx)
    after = r.next - best
    free = sum_over(
        sum_over(rules.unbiased(run, n, now, of(i), u), steps(1), i),
        k.CLIENTS,
        n,
        k.weight(n),
    )
    inside = k.summed(steps(1), i, xi)
    crossed: list[tuple[Theorem, Number]] = [
        (free, 1),
        (rules.linear(k.CLIENTS, n, inside * k.weight(n), u), 1),
        (sum_over(rules.linear(steps(1), i, xi, u), k.CLIENTS, n, k.weight(n)), 1),
    ]
    no_cross = combine(crossed, target=k.inner(Z, u))
    shift = u - Z * eta
    moved: list[tuple[Theorem, Number]] = [
        (whole_update(r, after), 1),
        (whole_update(r, shift - D * eta), 1),
    ]
    exact = combine(moved, target=k.norm2(after) - k.norm2(shift - D * eta))
    near = combine([
        (rules.jensen(k.CLIENTS, n, k.weight(n), k.summed(steps(1), i, gp - gx)), 1),
        (
            sum_over(
                combine([
                    (rules.jensen(steps(1), i, ratio(1), gp - gx), 1),
                    (sum_over(stays(run, S), steps(1), i), 1),
                ]),
                k.CLIENTS,
                n,
                k.weight(n),
            ),
            1,
        ),
    ])
    loud = rules.assume(k.norm2(xi) - k.constant(v))
    spread = combine([
        (rules.independent(run, n, i, k.weight(n), now, ratio(1), None), 1),
        (
            sum_over(sum_over(loud, steps(1), i), k.CLIENTS, n, k.weight(n) ** 2),
            1,
        ),
    ])
    half = ratio(1) / 2
    far = combine(
        [
            (exact, 1),
            (no_cross, -eta),
            (near, eta**2),
            (spread, eta**2 / 2),
        ],
        [(shift * half - D * eta, 2), (u, half)],
    )
    bound = mu * eta**2 * v * mean(n, k.weight(n) ** 2) / 4
    gap = k.value_of(k.MEAN, r.next) - k.value_of(k.MEAN, best)
    return combine(
        [(growth(mu, run, now + 1), 1), (far, mu / 2)], target=gap - k.constant(bound)
    )


def stays(run: k.Split, S: Ratio) -> Theorem:
    """Return ``||grad F_n(p(n,t,i)) - grad F_n(x(t))||^2 <= 0`` for i <= 0."""
    r, at = Round(run), of(i)
    g = stochastic(run, n, of(t), of(j))
    sizes = sum_over(combine(squares=[(g, 1)]), steps(at), j)
    nothing = combine([(sizes, -at)], signs=[rules.assume(k.constant(-at))])
    scale = S**2 * r.eta**2
    return combine([
        (rules.lipschitz(k.Local(n), S, r.point(at), r.x), 1),
        (whole_moved(r), -(S**2)),
        (rules.jensen(steps(at), j, ratio(1), g), scale),
        (nothing, scale),
    ])
