"""SFL-V2 with weighted server steps and partial participation: a repair of (22)."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, in_order, noises, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.drawn_visits import Drawn, drift_by_steps
from sfl_theory.proofs.local_steps import (
    G2,
    S,
    eps2,
    i,
    n,
    now,
    sigma2,
    young,
)
from sfl_theory.proofs.notation import combine, count, mean, of, sign, steps, sum_over
from sfl_theory.proofs.visited import Visited, at_most_inverse

tau, T = count("tau"), count("T")
DRAWN = Drawn(weighted=True)
RUN, r = DRAWN.run, DRAWN.round
eta, g = r.eta, r.gradient
kappa = mean(n, k.weight(n) * notation.inverse_q(n))
odds = k.symbol(k.Odds(n))
rho = mean(n, k.weight(n) ** 2 * odds)
sigma_q = mean(n, k.weight(n) ** 2 * notation.inverse_q(n) * sigma2(n))
sigma_a = mean(n, k.weight(n) * sigma2(n))
u = S * eta * tau * kappa
FOURTH = 1 + Fraction(7, 2) * rho + Fraction(3, 2) * rho**2
FOURTH = FOURTH + 2 * mean(n, k.weight(n) ** 3 * odds**2)
FOURTH = FOURTH + mean(n, k.weight(n) ** 4 * odds**3) / 2
"""At least half of ``E W^2 + E W^4``."""
ANY = k.vec(k.Point("b"))
"""Any vector: what is multiplied by draws is proved for it, then instantiated."""


def share(client: k.Client = n) -> Ratio:
    """Return ``w_n = a_n J_n``."""
    return rules.share(RUN, client, now, k.Side.SERVER)


W = mean(n, share())
gx, gp, xi = r.own_gradient(), r.local_gradient(of(i)), r.noise(of(i))
apart, away = gp - gx, r.away(of(i))
H = k.summed(k.CLIENTS, n, gx * share())
Delta, Z = local.whole_mean(r, apart), local.whole_mean(r, xi)
L = (H - g) * tau
B = k.expected(RUN, now, Delta)


def drawn_sum(form: k.Lin, factor: Number = 1) -> k.Lin:
    """Return ``sum_n w_n factor sum_{i<tau} form``."""
    return r.over(form, tau, share() * factor)


def at_most_kappa() -> Theorem:
    """Return ``kappa - W >= 0``: no draw exceeds 1/q_n."""
    return sum_over(at_most_inverse(RUN), k.CLIENTS, n, k.weight(n))


def centred(w: k.Vec) -> Theorem:
    """Return ``<Z, w> = 0`` for w fixed by x(t) and the draws."""
    return local.centred_by(r, share(), w)


def mean_of_gradients(w: k.Vec) -> Theorem:
    """Return ``<L, w> = 0`` for w fixed by x(t): the draws have mean 1."""
    averaged = derived.expect(RUN, now, k.inner(H, w))
    return combine(
        (averaged, tau), (rules.mean_gradient(r.x, w), -tau), target=k.inner(L, w)
    )


def bounded_deviation() -> Theorem:
    """Return ``||Delta||^2 <= FOURTH (S eta tau)^2 tau^2 G2``."""
    size = S**2 * eta**2 * tau**4 * G2
    inside = k.summed(steps(tau), i, apart)
    each = rules.jensen(steps(tau), i, ratio(1), apart)
    late = sum_over(rules.weight_below_one(n), k.CLIENTS, n, k.weight(n) ** 3 * odds)
    return combine(
        rules.jensen(k.CLIENTS, n, share(), inside),
        (sum_over(each, k.CLIENTS, n, share()), W),
        (near(), W * tau),
        (in_order.drawn_drift(r), W * tau * S**2),
        (derived.expect(RUN, now, k.constant(W**2 + W**4)), -size / 2),
        target=k.constant(size * FOURTH) - k.norm2(Delta),
        signs=[combine((late, size / 2))],
    )


def spread_of_draws() -> Theorem:
    """Return ``||L||^2 <= tau^2 sum_n a_n^2 (1/q_n - 1) ||grad F_n(x)||^2``."""
    plain = k.summed(k.CLIENTS, n, gx * k.weight(n))
    uses: list[tuple[Theorem, Number]] = [
        (derived.expect(RUN, now, k.norm2(H)), -(tau**2)),
        (derived.expect(RUN, now, k.inner(H, g)), 2 * tau**2),
        (rules.mean_gradient(r.x, plain), tau**2),
        (rules.mean_gradient(r.x, g), -(tau**2)),
    ]
    own = k.summed(k.CLIENTS, n, k.norm2(gx) * (k.weight(n) ** 2 * odds))
    return combine(*uses, target=own * tau**2 - k.norm2(L))


def spread_of_gradients() -> Theorem:
    """Return ``||L||^2 <= 2 rho tau^2 (||grad f||^2 + eps2)``."""
    own = local.own_gradients(r, k.weight(n) ** 2 * odds)
    return combine(spread_of_draws(), (own, tau**2))


def bounded_spread() -> Theorem:
    """Return ``||L||^2 <= 5 rho tau^2 G2 (1/4 + (2 + rho) (S eta tau)^2)``.

    A gradient at x is that at a client's local point, and what it changed on the way.
    """
    here, c = of(i), 5 * rho * tau**2 * G2
    at_point = combine(
        derived.bounded_gradient(RUN, G2, n, now, here),
        (derived.unbiased(RUN, n, now, here, gp), 2),
        (xi, 1),
    )
    way = combine(
        (local.both_parts(away), -1),
        local.block_move(r, k.Side.CLIENT, here, here),
        Visited(r).bounded_way(),
    )
    one = combine(
        young(gp, -apart, Fraction(1, 4)),
        (at_point, Fraction(5, 4)),
        (derived.lipschitz(k.Local(n), S, r.point(here), r.x), 5),
        (way, 5 * S**2),
    )
    far = (S * eta * tau) ** 2
    return combine(
        spread_of_draws(),
        (r.summed(one, tau, k.weight(n) ** 2 * odds), tau),
        (derived.expect(RUN, now, k.constant(c * far * W**2)), -1),
        target=k.constant(c * (Fraction(1, 4) + (2 + rho) * far)) - k.norm2(L),
    )


def noise_size() -> Theorem:
    """Return ``||Z||^2 <= tau sigma_q``."""
    bound = derived.variance(RUN, sigma2(n), n, now, of(i))
    drawn = k.constant(mean(n, share() ** 2 * sigma2(n)))
    return combine(
        noises.independent(RUN, n, i, share(), now, tau, None),
        r.summed(bound, tau, share() ** 2),
        (derived.expect(RUN, now, drawn), -tau),
        target=k.constant(tau * sigma_q) - k.norm2(Z),
    )


def near() -> Theorem:
    """Return ``sum w_n sum_i ||gp - gx||^2 <= S^2 D``."""
    return r.summed(derived.lipschitz(k.Local(n), S, r.point(of(i)), r.x), tau, share())


def mean_deviation() -> Theorem:
    """Return ``||B||^2 <= tau S^2 D``.

    ``||B||^2 = <B, Delta>``, and ``2 <B, Delta> <= W ||B||^2 + tau sum w ||apart||^2``.
    """
    square = r.summed(combine((ANY - apart * tau, 1)), tau, share() / tau)
    inside = sum_over(rules.linear(steps(tau), i, apart, ANY), k.CLIENTS, n, share())
    outer = rules.linear(k.CLIENTS, n, k.summed(steps(tau), i, apart) * share(), ANY)
    any_point = combine(
        square,
        (inside, -2),
        (outer, -2),
        target=k.norm2(ANY) * W
        + drawn_sum(k.norm2(apart), tau)
        - k.inner(ANY, Delta) * 2,
    )
    of_b = rules.instantiate(any_point, ((k.Point("b"), B),), ())
    return combine(
        of_b,
        (rules.tower(RUN, now, Delta, B), -2),
        (derived.expect(RUN, now, k.norm2(B) * W), -1),
        (near(), tau),
        target=drawn_sum(k.norm2(away), tau * S**2) - k.norm2(B),
    )


def deviation() -> Theorem:
    """Return ``||Delta||^2 <= kappa tau S^2 D``."""
    few = at_most_kappa()
    inside = k.summed(steps(tau), i, apart)
    each = rules.jensen(steps(tau), i, ratio(1), apart)
    rest = r.summed(combine((apart, 1)), tau, share())
    return combine(
        rules.jensen(k.CLIENTS, n, share(), inside),
        (sum_over(each, k.CLIENTS, n, share()), W),
        (rest, (kappa - W) * tau),
        (near(), kappa * tau),
        target=drawn_sum(k.norm2(away), kappa * tau * S**2) - k.norm2(Delta),
        signs=[few],
    )


def cost() -> Ratio:
    """Return what noise and draws of one round may cost."""
    second = tau * sigma_q + 2 * rho * tau**2 * eps2
    third = Fraction(5, 2) * kappa**2 * tau * eps2 + sigma_a + 2 * kappa * sigma_q
    return Fraction(5, 8) * S * eta**2 * second + S**2 * eta**3 * tau**2 * third


def one_round() -> Theorem:
    """Return ``eta tau/4 ||grad f||^2 <= f(x) - f(x') + cost``, 8 u <= 1."""
    small, c = rules.assume(k.constant(1 - 8 * u)), Fraction(1, 4)
    half, lam = S * eta**2 / 2, S**2 * eta
    lam_v, lam_g = 5 * half, 2 * kappa**2 * eta**2 * tau**2 * lam
    lam_f, lam_l = lam_g * (1 + c) * tau, half * (1 + c)
    m_left = eta / (2 * tau) - half
    g_left = eta * tau / 4 - lam_l * 2 * rho * tau**2 - lam_f
    D_left = lam * (Fraction(1, 2) - Fraction(5, 2) * u - 10 * u**2)
    V = Delta - B
    uses: list[tuple[Theorem, Number]] = [
        (local.whole_descent(r), 1),
        (drift_by_steps(DRAWN), lam),
        (local.local_gradients(r, tau, share(), c), lam_g),
        (local.own_size(r), lam_f),
        (spread_of_gradients(), lam_l),
        (noise_size(), lam_l),
        (mean_deviation(), eta / (2 * tau)),
        (deviation(), lam_v),
        (r.summed(combine((away, 1)), tau, share()), D_left),
        *(
            (mean_of_gradients(w), f)
            for w, f in ((g, eta - 2 * half * tau), (B, -2 * half))
        ),
        *(
            (centred(w), f)
            for w, f in ((g, eta - 2 * half * tau), (B, -2 * half), (L, -2 * lam_l))
        ),
        (rules.tower(RUN, now, Delta, g), -(eta - 2 * half * tau)),
        (rules.tower(RUN, now, Delta, B), 2 * half - 2 * lam_v),
    ]
    squares: list[tuple[k.Vec, Number]] = [
        (g * tau + B, m_left),
        (L + Z - V * (1 / c), half * c),
        (B, lam_v),
        (g, g_left),
    ]
    low = sum_over(rules.weight_below_one(n), k.CLIENTS, n, k.weight(n) * odds)
    signs = [
        sign(m_left, (small, eta / (2 * tau))),
        sign(D_left, (small, lam * (Fraction(15, 32) + Fraction(5, 4) * u))),
        sign(
            g_left,
            (low, Fraction(5, 4) * S * eta**2 * tau**2),
            (small, eta * tau * (Fraction(25, 128) + Fraction(5, 16) * u)),
        ),
    ]
    fall = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)
    target = fall + k.constant(cost()) - k.norm2(g) * (eta * tau / 4)
    return combine(*uses, *squares, target=target, signs=signs)


def theorem() -> Theorem:
    """Return the sum over rounds."""
    return local.over_rounds(one_round(), r, T, 4 / (T * tau))


def quadratic() -> Theorem:
    """Return the same with 8 u <= 1 put into the terms of third order."""
    spare = sigma_a / 8 + sigma_q / 4 + Fraction(5, 16) * tau * kappa * eps2
    own = (7 * sigma_q + sigma_a) / 8
    own = own + tau * eps2 * Fraction(5, 16) * (4 * rho + kappa)
    small = rules.assume(k.constant(1 - 8 * u))
    fall = k.value_of(k.MEAN, r.x) - k.value_of(k.MEAN, r.next)
    target = fall + k.constant(S * eta**2 * tau * own) - k.norm2(g) * (eta * tau / 4)
    uses = [(one_round(), ratio(1)), (small, S * eta**2 * tau * spare)]
    return local.over_rounds(combine(*uses, target=target), r, T, 4 / (T * tau))
