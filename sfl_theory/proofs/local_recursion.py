r"""One client's local model in a round: from one step to the next, and over a round.

Both sides step together. ``i`` counts from 1 where a lemma leads from step i - 1 to
step i; ``A_i = E||p(n,t,i) - x(t)||^2``, and e.g. ``gp = grad F_n(p(n,t,i-1))``.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import G2, S, eps2, now, sigma2, whole_moved, young
from sfl_theory.proofs.notation import combine, count, nat, of, sign, steps, sum_over
from sfl_theory.proofs.numbers import power, power_at_least, sums, sums_at_least, tau

R = local.Round(notation.equal_paces(k.Kind.V1, tau, notation.rates("eta")))
eta, n = R.eta, k.Client("n")
i, last = count("i"), count("i") - 1
any_step, j = nat("i"), nat("j")
QUARTER = Fraction(1, 4)

away, before = R.away(i), R.away(last)
xi, xi0 = R.noise(last), R.noise(0)
gp, gx, gf = R.local_gradient(last), R.own_gradient(), R.gradient
start = gx + xi0
"""g_n^t: the round's first stochastic gradient, at x^t."""
STEP = before - (gp + xi) * eta


def each(theorem: Theorem) -> Theorem:
    """Return the theorem of client n summed with weights b_n >= 0."""
    return sum_over(theorem, k.CLIENTS, n, notation.per_client("b", n))


def moved(step: Ratio, w: k.Vec) -> Theorem:
    """Return ``<p(step) - x + eta sum_{j<step} g(j), w> >= 0``."""
    total = R.away(step) + _until(step) * eta
    target, theorem = k.inner(total, w), local.walked(R.run, now, step, w)
    before_i = rules.assume(k.constant(tau - step))
    if before_i.hypotheses.isdisjoint(theorem.hypotheses) or step == i:
        return theorem
    late, made = rules.assume(k.constant(step - tau)), rules.assume(k.constant(tau - i))
    never = combine(late, made, target=k.constant(-1))
    squares = [(total + w, QUARTER), (total - w, -QUARTER)]
    other = combine(*squares, target=target, signs=[never])
    return rules.cases(theorem, other, tau - step)


def _until(step: Ratio) -> k.Vec:
    return k.summed(steps(step), j, stochastic(R.run, n, now, of(j)))


def step_back(w: k.Vec) -> Theorem:
    """Return ``<p_i - p_{i-1} + eta g_{i-1}, w> >= 0``."""

    def g(at: Ratio) -> k.Vec:
        return stochastic(R.run, n, now, at)

    terms = k.inner(g(of(j)), w)
    uses: list[tuple[Theorem, Number]] = [
        (moved(i, w), 1),
        (moved(last, -w), 1),
        (rules.linear(steps(i), j, g(of(j)), w), -eta),
        (rules.linear(steps(last), j, g(of(j)), w), eta),
        (rules.split(j, terms, last, ratio(1)), -eta),
    ]
    return combine(*uses, target=k.inner(away - STEP, w))


def one_step() -> Theorem:
    """Return ``A_i <= E||p_{i-1} - eta g_{i-1} - x||^2``."""
    target = k.norm2(STEP) - k.norm2(away)
    return combine(step_back(-(away + STEP)), target=target)


def spread(pieces: list[k.Vec], factor: Ratio) -> Theorem:
    """Return ``E||STEP||^2 <= (1 + 1/tau) A_{i-1} + factor eta^2 sum ||piece||^2``.

    The pieces add up to g_{i-1}; factor >= times (1 + tau) for times pieces.
    """
    whole = sum(pieces, k.Vec({}))
    pairs = [(u - v, 1) for p, u in enumerate(pieces) for v in pieces[:p]]
    sizes = sum((k.norm2(piece) for piece in pieces), k.Lin({}))
    few = combine(*pairs, target=sizes * len(pieces) - k.norm2(whole))
    extra = factor - len(pieces) * (1 + tau)
    return combine(
        young(before, whole * -eta, 1 / tau),
        (few, (1 + tau) * eta**2),
        *[(piece, extra * eta**2) for piece in pieces],
        target=k.norm2(before) * (1 + 1 / tau)
        + sizes * (factor * eta**2)
        - k.norm2(STEP),
    )


def noise_bound(step: Ratio) -> Theorem:
    """Return ``E||xi||^2 <= sigma_n^2``."""
    return derived.variance(R.run, sigma2(n), n, now, step)


def near() -> Theorem:
    """Return ``||grad F_n(p_{i-1}) - grad F_n(x)||^2 <= S^2 A_{i-1}``."""
    return derived.lipschitz(k.Local(n), S, R.point(last), R.x)


def small_rate(times: int) -> Theorem:
    """Return ``times S^2 tau^2 eta^2 <= 1``, as assumed."""
    return rules.assume(k.constant(1 - times * S**2 * tau**2 * eta**2))


def absorb(times: int) -> Theorem:
    """Return ``times tau eta^2 S^2 A_{i-1} <= A_{i-1}/tau`` for such a rate."""
    rest = 1 / tau - times * tau * eta**2 * S**2
    return combine((before, rest), signs=[small_rate(times)])


def first_gradient() -> Theorem:
    """Return ``||grad F_n(x)||^2 <= ||grad F_n(x) - g_n||^2 + ||g_n||^2``."""
    fair = derived.unbiased(R.run, n, now, ratio(0), gx)
    target = k.norm2(gx - start) + k.norm2(start) - k.norm2(gx)
    return combine((fair, 2), (xi0, 2), target=target)


def bounded_recursion() -> Theorem:
    """Return ``A_i <= (1 + 2/tau) A_{i-1} + 6 tau eta^2 (2 sigma_n^2 + G^2)``."""
    g = gp + xi
    bound = derived.bounded_gradient(R.run, G2, n, now, last)
    target = k.norm2(before) * (1 + 2 / tau) - k.norm2(away)
    return combine(
        one_step(),
        young(before, g * -eta, 1 / tau),
        (bound, (1 + tau) * eta**2),
        (before, 1 / tau),
        target=target + k.constant(6 * tau * eta**2 * (2 * sigma2(n) + G2)),
    )


def far() -> Theorem:
    """Return ``||grad F_n(x) - grad f(x)||^2 <= eps^2``."""
    return derived.heterogeneity(eps2, n, R.x)


def heterogeneous_recursion() -> Theorem:
    """Return ``A_i <= (1 + 2/tau) A_{i-1} + 8 tau eta^2 (sigma^2 + eps^2 + ..)``."""
    factor = 8 * tau * eta**2
    return combine(
        one_step(),
        spread([xi, gp - gx, gx - gf, gf], 8 * tau),
        (noise_bound(last), factor),
        (near(), factor),
        (far(), factor),
        absorb(8),
    )


def deviation(step: Ratio) -> Theorem:
    """Return ``E||g_i - g_n||^2 <= 2 S^2 A_i + 3 sigma_n^2`` for i >= 1."""
    here, noise = R.local_gradient(step), R.noise(step)
    close = derived.lipschitz(k.Local(n), S, R.point(step), R.x)
    u = here - gx
    return combine(
        (derived.unbiased(R.run, n, now, step, u - xi0), -2),
        young(u, -xi0, 1),
        (close, 2),
        noise_bound(step),
        (noise_bound(ratio(0)), 2),
        target=k.norm2(R.away(step)) * (2 * S**2)
        + k.constant(3 * sigma2(n))
        - k.norm2(here + noise - start),
    )


def changed() -> Theorem:
    """Return Young's inequality for g_i - g_{i-1} and g_{i-1} - g_n."""
    now_ = R.local_gradient(i) + R.noise(i)
    return young(gp + xi - start, now_ - (gp + xi), 1 / tau)


def moved_by() -> Theorem:
    """Return ``||p_i - p_{i-1}||^2 <= eta^2 ||g_{i-1}||^2``, times (1 + tau) S^2."""
    step, g = R.point(i) - R.point(last), (gp + xi) * eta
    one = combine(step_back(g - step), target=k.norm2(g) - k.norm2(step))
    return combine((one, (1 + tau) * S**2))


def doubled() -> Theorem:
    """Return ``||g_{i-1}||^2 <= 2 ||g_{i-1} - g_n||^2 + 2 ||g_n||^2``, scaled."""
    g = gp + xi
    return combine((young(g - start, start, 1), (1 + tau) * eta**2 * S**2))


def absorbed_change() -> Theorem:
    """Return ``2 (1 + tau) eta^2 S^2 <= 1/tau`` times ``||g_{i-1} - g_n||^2``."""
    rest = 1 / tau - 2 * (1 + tau) * eta**2 * S**2
    shown = sign(rest, (small_rate(4), 1 / tau))
    return combine((gp + xi - start, rest), signs=[shown])


def wider() -> Theorem:
    """Return ``4 tau^2 (1 + tau) <= 8 tau^3`` times eta^2 S^2 ||g_n||^2."""
    return combine((start, 4 * tau**2 * (tau - 1) * eta**2 * S**2))


def first_moment() -> Theorem:
    """Return ``||g_n||^2 <= ||grad F_n(x)||^2 + sigma_n^2`` times a number."""
    fair = derived.unbiased(R.run, n, now, ratio(0), gx)
    factor = 8 * tau**3 * eta**2 * S**2
    return combine((fair, -2 * factor), (noise_bound(ratio(0)), factor))


def drift() -> k.Lin:
    """Return ``D = sum_{i<tau} A_i``."""
    return k.summed(steps(tau), any_step, k.norm2(R.away(of(any_step))))


def first_steps(a: Number, b: Number) -> Theorem:
    """Return D bounded by itself and by numbers, by Young with a and b.

    ``D <= eta^2 ((1+a)(1+b) S^2 T D + (1+a)(1+1/b) Q ||gx||^2 + (1+1/a) T sigma^2)``,
    T = tau (tau - 1)/2 and Q = tau (tau - 1)(2 tau - 1)/6.
    """
    a, b, at = ratio(a), ratio(b), of(any_step)
    g, noise = R.local_gradient(of(j)), R.noise(of(j))
    A, B = k.summed(steps(at), j, g), k.summed(steps(at), j, noise)
    close = derived.lipschitz(k.Local(n), S, R.x, R.point(of(j)))
    split_up = combine(young(gx, g - gx, 1 / b), (close, 1 + b))
    size = combine(
        rules.jensen(steps(at), j, ratio(1), g),
        (sum_over(split_up, steps(at), j), at),
        (rules.longer(j, R.away(of(j)), at, tau), at * (1 + b) * S**2),
    )
    noisy = combine(
        derived.martingale(R.run, n, now, at, None),
        sum_over(noise_bound(of(j)), steps(at), j),
    )
    one = combine(
        (whole_moved(R), -1),
        (young(A, B, a), eta**2),
        (size, (1 + a) * eta**2),
        (noisy, (1 + 1 / a) * eta**2),
    )
    return sum_over(one, steps(tau), any_step)


def absorbed(times: int, theta: Ratio, keep: Fraction) -> Theorem:
    """Return ``theta D <= (1 - keep) D`` where times S^2 tau^2 eta^2 <= 1."""
    rest = 1 - keep - theta
    known = small_rate(times)
    shown = sign(rest, (known, (1 - ratio(keep))))
    square = combine((R.away(of(any_step)), rest), signs=[shown])
    return sum_over(square, steps(tau), any_step)


def drift_bound(times: int, a: Number, b: Number, keep: Fraction) -> Theorem:
    """Return ``D <= ((1+a)(1+1/b) Q ||gx||^2 + (1+1/a) T sigma^2) eta^2/keep``."""
    theta = (1 + ratio(a)) * (1 + ratio(b)) * S**2 * eta**2 * tau * (tau - 1) / 2
    uses = [(first_steps(a, b), 1), (absorbed(times, theta, keep), 1)]
    return combine((combine(*uses), 1 / ratio(keep)))


def bounded() -> Theorem:
    """Return ``D <= eta^2 G^2 tau (tau - 1)(2 tau - 1)/6``, at every rate."""
    return sum_over(local.bounded_way(R), steps(tau), any_step)


def lemma_c5() -> Theorem:
    """Return ``D <= 12 tau^3 eta^2 (2 sigma_n^2 + G^2)``."""
    right = k.constant(12 * tau**3 * eta**2 * (2 * sigma2(n) + G2))
    return combine(bounded(), target=right - drift())


def lemma_c5_by_powers() -> Theorem:
    """Return ``D <= B (tau/2) ((c(tau) - 1) tau/2 - tau)``, B as in (39)."""
    B = 6 * tau * eta**2 * (2 * sigma2(n) + G2)
    right = B * tau**2 / 4 * (power(tau) - 3)
    uses: list[tuple[Theorem, Number]] = [
        (bounded(), 1),
        (power_at_least(), B * tau**2 / 4),
    ]
    return combine(*uses, target=k.constant(right) - drift())


def own_by_mean() -> Theorem:
    """Return ``||grad F_n(x)||^2 <= 2 eps^2 + 2 ||grad f(x)||^2``."""
    return combine(young(gf, gx - gf, 1), (far(), 2))


def heterogeneous() -> Theorem:
    """Return D bounded by sigma^2, eps^2, ||grad f(x)||^2 if 8 S^2 tau^2 eta^2 <= 1."""
    Q = tau * (tau - 1) * (2 * tau - 1) / 6
    found = drift_bound(8, Fraction(1, 3), 2, Fraction(3, 4))
    return combine(found, (own_by_mean(), Fraction(8, 3) * Q * eta**2))


def three() -> k.Lin:
    """Return ``sigma_n^2 + eps^2 + ||grad f(x)||^2``."""
    return k.norm2(gf) + k.constant(sigma2(n) + eps2)


def lemma_c6() -> Theorem:
    """Return ``D <= 16 tau^3 eta^2 (sigma_n^2 + eps^2 + ||grad f(x)||^2)``."""
    Q = tau * (tau - 1) * (2 * tau - 1) / 6
    room = 16 * tau**3 - Fraction(16, 3) * Q
    right = three() * (16 * tau**3 * eta**2)
    return combine(heterogeneous(), (gf, room * eta**2), target=right - drift())


def lemma_c6_by_sums() -> Theorem:
    """Return ``D <= B sum_{i<tau} sum_{j<i} c(j)``, B as in (44)."""
    Q = tau * (tau - 1) * (2 * tau - 1) / 6
    factor = 8 * tau * eta**2 * sums()
    q = nat("k")
    pairs = sum_over(combine(target=k.constant(of(q))), steps(tau - 1), q)
    long: list[tuple[Theorem, Number]] = [
        (sums_at_least(), 8 * tau * eta**2),
        (power_at_least(), 2 * tau**3 * eta**2),
    ]
    for_f = sign(factor - Fraction(16, 3) * Q * eta**2, *long)
    for_noise = sign(
        factor - Fraction(8, 3) * tau * (tau - 1) * eta**2,
        *long,
        (pairs, Fraction(4, 3) * tau * eta**2),
    )
    return combine(
        heterogeneous(),
        (for_f, eps2),
        (for_noise, sigma2(n)),
        (gf, factor - Fraction(16, 3) * Q * eta**2),
        target=three() * factor - drift(),
        signs=[for_f],
    )


def first_noise() -> Theorem:
    """Return ``sum_{i<tau} <xi_i, xi_0> >= 0``."""
    at = of(any_step)
    form = k.inner(R.noise(at), xi0)
    later = derived.unbiased(R.run, n, now, at + 1, xi0)
    return combine(
        rules.split(any_step, form, ratio(1), tau - 1),
        sum_over(later, steps(tau - 1), any_step),
        (xi0, 1),
        target=k.summed(steps(tau), any_step, form),
    )


def lemma_c7() -> Theorem:
    """Return ``sum_i E||g_i - g_n||^2 <= 8 tau^3 eta^2 S^2 (..) + 4 tau sigma_n^2``."""
    at = of(any_step)
    g, noise = R.local_gradient(at), R.noise(at)
    close = derived.lipschitz(k.Local(n), S, R.point(at), R.x)
    one = combine(
        young(g - gx, noise - xi0, 1),
        (close, 2),
        (noise_bound(at), 2),
        (noise_bound(ratio(0)), 2),
    )
    Q = tau * (tau - 1) * (2 * tau - 1) / 6
    found = drift_bound(4, 1, 1, Fraction(1, 2))
    room = 8 * tau**3 * eta**2 * S**2 - 16 * S**2 * Q * eta**2
    right = k.norm2(gx) + k.constant(sigma2(n))
    left = k.summed(steps(tau), any_step, k.norm2(g + noise - start))
    return combine(
        sum_over(one, steps(tau), any_step),
        (found, 2 * S**2),
        (first_noise(), 4),
        (gx, room),
        target=right * (8 * tau**3 * eta**2 * S**2)
        + k.constant(4 * tau * sigma2(n))
        - left,
    )
