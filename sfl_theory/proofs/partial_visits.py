"""SFL-V2 with weighted server steps and partial participation: a repair of (22)."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import drawn, first, moved, step_size
from sfl_theory.proofs.drawn_visits import Drawn, drift_by_steps
from sfl_theory.proofs.local_steps import (
    G2,
    N,
    S,
    both_parts,
    eps2,
    i,
    j,
    n,
    now,
    sigma2,
    young,
)
from sfl_theory.proofs.notation import (
    combine,
    count,
    inverse_q,
    mean,
    of,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.visited import Visited, at_most_inverse, drawn_drift

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
        (drawn_drift(r), W * tau * S**2),
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
        derived.independent(RUN, n, i, share(), now, tau, None),
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


def mean_size(u: k.Vec) -> Theorem:
    """Return ``||sum w_n sum_i u||^2 <= kappa tau sum w_n sum_i ||u||^2``."""
    inside = rules.jensen(steps(tau), i, ratio(1), u)
    rest = r.summed(combine((u, 1)), tau, share())
    return combine(
        rules.jensen(k.CLIENTS, n, share(), k.summed(steps(tau), i, u)),
        (sum_over(inside, k.CLIENTS, n, share()), W),
        (rest, (kappa - W) * tau),
        signs=[at_most_kappa()],
    )


def deviation() -> Theorem:
    """Return ``||Delta||^2 <= kappa tau S^2 D``."""
    return combine(mean_size(apart), (near(), kappa * tau))


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
    target = r.fall + k.constant(cost()) - k.norm2(g) * (eta * tau / 4)
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
    target = r.fall + k.constant(S * eta**2 * tau * own) - k.norm2(g) * (eta * tau / 4)
    uses = [(one_round(), ratio(1)), (small, S * eta**2 * tau * spare)]
    return local.over_rounds(combine(*uses, target=target), r, T, 4 / (T * tau))


# Block by block, in the order of App. G.3 of han2024 ----------------------------------
# Server steps have the weight a_n, but in `second_order`. kappa = sum a_n/q_n.

PRINTED = local.Round(
    notation.equal_paces(k.Kind.V2, tau, notation.rates("eta"), k.Participants.UPDATES)
)
sigmas = sigma_a + 2 * kappa * sigma_q
D = drawn_sum(k.norm2(away))
v = S * eta * tau * kappa


def small() -> Theorem:
    """Return ``16 (S eta tau kappa)^2 <= 1``, an assumption."""
    return rules.assume(k.constant(1 - 16 * v**2))


def most(F: k.Lin) -> k.Lin:
    """Return ``16 tau^3 (eta kappa)^2 F + 2 (eta tau)^2 sigmas``."""
    noise = k.constant(2 * (eta * tau) ** 2 * sigmas)
    return F * (16 * (eta * kappa) ** 2 * tau**3) + noise


@cache
def drift() -> Theorem:
    """Return ``D <= most(||grad f||^2 + eps2)``, draws as weights in D."""
    c, size = Fraction(4, 3), 2 * (kappa * eta * tau) ** 2
    spare = c * (1 - 2 * S**2 * size) - 1
    positive = r.summed(combine((away, 1)), tau, share())
    return combine(
        (drift_by_steps(DRAWN), c),
        (local.local_gradients(r, tau, share(), 1), c * size),
        (local.own_size(r), 2 * c * size * tau),
        (positive, spare),
        (g, (8 - 2 * c) * size * tau),
        target=most(k.norm2(g) + k.constant(eps2)) - D,
        signs=[sign(spare, (small(), Fraction(1, 3)))],
    )


def first_order_printed(side: k.Side) -> Theorem:
    """Return (175) with weights a_n/q_n and the whole vector's move."""
    few, positive = at_most_inverse(RUN), combine((away, 1))
    spare = k.weight(n) * inverse_q(n) - share()
    each = combine((few, k.weight(n)), target=k.constant(spare))
    more = sum_over(sum_over(positive, steps(tau), i), k.CLIENTS, n, spare, [each])
    return combine(first_order(side), (more, eta * S**2 / 2))


@cache
def plain_drift() -> Theorem:
    """Return (176) for whole vectors, weights a_n: ``D <= most(||grad f||^2 + eps2)``.

    A client that is not drawn is there, too, at the points where it would be.
    """
    a, c, size = k.weight(n), Fraction(8, 7), eta**2 * tau**2
    plain = k.summed(k.CLIENTS, n, k.summed(steps(tau), i, k.norm2(away)) * a)
    clients = local.block_drift(r, k.Side.CLIENT, of(i), of(i), tau)
    xc = k.part(k.Side.CLIENT, xi)
    gc, gs = (k.part(side, gp) for side in k.Side)
    early = r.noise(of(j))
    earlier = [
        sum_over(one, steps(of(i)), j)
        for one in (
            derived.variance(RUN, sigma2(n), n, now, of(j)),
            both_parts(early),
            combine((k.part(k.Side.SERVER, early), 1)),
        )
    ]
    noisy = k.constant(notation.mean(n, share() ** 2 * sigma2(n)))
    at_visits = (
        both_parts(xi),
        combine((xc, 1)),
        derived.variance(RUN, sigma2(n), n, now, of(i)),
    )
    few, positive = at_most_kappa(), combine((gs, 1))
    own = k.summed(k.CLIENTS, n, k.norm2(gx) * share())
    one = combine(
        (r.summed(both_parts(away), tau, a), -1),
        r.summed(clients, tau, a),
        r.summed(Visited(r).way(), tau, a),
        (r.summed(both_parts(gp), tau, a), size),
        (r.summed(combine((gc, 1)), tau, a), eta**2 * tau),
        (r.summed(combine((gs, 1)), tau, a), size),
        *((r.summed(more, tau, a), 2 * eta**2) for more in earlier),
        *((r.summed(more, tau, share() ** 2), 2 * eta**2 * tau) for more in at_visits),
        (derived.expect(RUN, now, noisy), -2 * size),
        (r.summed(positive, tau, share()), 2 * size * (kappa - W)),
        (r.summed(both_parts(gp), tau, share()), 2 * size * kappa),
        (r.summed(combine((gc, 1)), tau, share()), 2 * size * kappa),
        (local.local_gradients(r, tau, a, 1), size),
        (local.local_gradients(r, tau, share(), 1), 2 * size * kappa),
        (local.own_size(r), 2 * size * tau * (1 + 2 * kappa)),
        (derived.expect(RUN, now, own), 2 * size * tau),
        (drift(), 4 * size * kappa * S**2),
        signs=[few],
    )
    spare = c * (1 - 2 * S**2 * size) - 1
    F = k.norm2(g) + k.constant(eps2)
    of_g = size * tau * (16 * kappa**2 - c * (2 + 4 * kappa + 64 * v**2 * kappa))
    left_over = c * size * (4 * kappa * tau * eps2 + sigmas / 2)
    return combine(
        (one, c),
        (r.summed(combine((away, 1)), tau, a), spare),
        (small(), left_over),
        (g, of_g),
        target=most(F) - plain,
        signs=[
            sign(spare, (small(), Fraction(1, 7))),
            sign(of_g, (small(), 4 * c * kappa * size * tau)),
        ],
    )


def first_order(side: k.Side) -> Theorem:
    """Return ``<grad_b f, x' - x> <= -eta tau/2 ||grad_b f||^2 + eta S^2/2 D``."""
    own, rest = k.part(side, g), k.part(local.other(side), B)
    return combine(
        (rules.update(RUN, side, now, g), -1),
        (centred(own), eta),
        (mean_of_gradients(own), eta),
        (rules.tower(RUN, now, Delta, own), -eta),
        (mean_deviation(), eta / (2 * tau)),
        (rules.blocks(B, B), eta / (2 * tau)),
        (own * tau + k.part(side, B), eta / (2 * tau)),
        (rest, eta / (2 * tau)),
        target=D * (eta * S**2 / 2)
        - k.norm2(own) * (eta * tau / 2)
        - k.inner(own, r.next - r.x),
    )


def first_order_closed(side: k.Side) -> Theorem:
    """Return the same with the bound on the drift."""
    return combine(first_order(side), (drift(), eta * S**2 / 2))


def second_order() -> Theorem:
    """Return twice (178), the change of the gradients with 1/q_n^2; as printed."""
    side, p = k.Side.SERVER, PRINTED
    inverse, J = inverse_q(n), k.draw(p.run, n, now)
    g_i = p.local_gradient(of(i)) + p.noise(of(i))
    change, block = k.part(side, g_i - first(p)), k.part(side, g_i)
    few = combine(
        (at_most_inverse(p.run), inverse + J), target=k.constant(inverse**2 - J**2)
    )
    fewer = sum_over(
        sum_over(combine((change, 1)), steps(tau), i),
        k.CLIENTS,
        n,
        inverse**2 - J**2,
        [few],
    )
    inside = rules.jensen(steps(tau), i, ratio(1), block)
    gx = k.part(side, p.own_gradient())
    present = k.summed(k.CLIENTS, n, (k.norm2(gx) + k.constant(sigma2(n))) * J**2)
    half = S * p.eta**2 / 2
    own = k.summed(steps(tau), i, block) * J
    return combine(
        (moved(p, side), -S / 2),
        (rules.jensen(k.CLIENTS, n, ratio(1), own), half),
        (sum_over(inside, k.CLIENTS, n, J**2), half * N),
        (p.summed(step_size(p, side), tau, J**2), half * N * tau),
        (fewer, 2 * half * N * tau),
        (derived.expect(p.run, now, present), -2 * half * N * tau**2),
    )


def gradients(side: k.Side) -> Theorem:
    """Return ``sum w sum_i ||[gp]_b||^2 <= 2 tau (||grad_b f||^2 + eps2) + 2S^2 D``."""
    here, far = k.part(side, gx), k.part(side, apart)
    one = combine(local.young(here, far, 1), (local.block_at_most(side, apart), 2))
    return combine(
        r.summed(one, tau, share()),
        (near(), 2),
        (local.own_size(r, side), 2 * tau),
    )


def second_order_closed(side: k.Side) -> Theorem:
    """Return the squared move of a block, the drift bounded."""
    M, block = drawn(r, side, gp), k.part(side, Z)
    size = S * eta**2
    move = k.norm2(k.part(side, r.next - r.x)) * (S / 2)
    F, F_b = (k.norm2(one) + k.constant(eps2) for one in (g, k.part(side, g)))
    right = (F_b * tau + most(F) * S**2) * (2 * size * kappa * tau)
    return combine(
        (moved(r, side), -S / 2),
        (local.young(M, block, 1), size / 2),
        (mean_size(k.part(side, gp)), size),
        (gradients(side), size * kappa * tau),
        (drift(), 2 * S**2 * size * kappa * tau),
        (noise_size(), size),
        (both_parts(Z), size),
        (k.part(local.other(side), Z), size),
        target=right + k.constant(size * tau * sigma_q) - move,
    )
