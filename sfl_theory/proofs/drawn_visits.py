"""One round of SFL-V2, as printed or weighted, in which clients take part at random.

Any order of the visits. Local points depend on who takes part, so what is said of a
round is said given the draws; only what is known before the round is averaged over
them. Where the gradient of f occurs, weights are equal. Where everyone takes part, as
in App. E.3 of han2024, the drift is that of all clients together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import block_steps, derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.block_steps import factor, moved, own_gradient, total
from sfl_theory.proofs.local_steps import N, Round, S, eps2, i, j, n, now, sigma2, young
from sfl_theory.proofs.notation import (
    at_least,
    combine,
    inverse_q,
    mean,
    of,
    sign,
    steps,
    sum_over,
)
from sfl_theory.proofs.visited import Visited, at_most_inverse

tau, T = notation.count("tau"), notation.count("T")
QUARTER = Fraction(1, 4)


@dataclass(frozen=True)
class Drawn:
    """The run and its quantities; where everyone takes part, J_n = 1 and q_n = 1.

    Attributes:
        who: takes part.
        weighted: the server weights its steps by w_n = a_n, by 1 as printed.
    """

    who: k.Participants = k.Participants.UPDATES
    weighted: bool = False

    @cached_property
    def round(self) -> Round:
        """Round t."""
        kind = k.Kind.V2_WEIGHTED if self.weighted else k.Kind.V2
        return Round(notation.equal_paces(kind, tau, notation.rates("eta"), self.who))

    @property
    def run(self) -> k.Split:
        """The run."""
        return self.round.run

    @property
    def J(self) -> Ratio:
        """``I_n/q_n``."""
        return self.draw(n)

    def draw(self, client: k.Client) -> Ratio:
        """Return a client's ``I_n/q_n``."""
        return k.draw(self.run, client, now) if self.run.drawn else ratio(1)

    @property
    def inverse(self) -> Ratio:
        """``1/q_n``."""
        return inverse_q(n) if self.run.drawn else ratio(1)

    def expect(self, form: k.Lin) -> Theorem:
        """Return that a form is what it is on average over the draws."""
        return derived.expect(self.run, now, form) if self.run.drawn else combine()

    @property
    def w(self) -> Ratio:
        """By what the server weights steps."""
        return k.weight(n) if self.weighted else ratio(1)

    def of(self, side: k.Side) -> Ratio:
        """Return by what a side weights steps."""
        return self.w if side is k.Side.SERVER else k.weight(n)

    @property
    def W(self) -> Ratio:
        """Their sum on the server, N."""
        return mean(n, self.w)

    @property
    def most(self) -> Ratio:
        """``sum w_n/q_n``, the most that the sum of w_n J_n is."""
        return mean(n, self.w * self.inverse)

    @property
    def odds(self) -> Ratio:
        """``P = sum w_n^2 (1/q_n - 1)``."""
        return mean(n, self.w**2 * (self.inverse - 1))

    @property
    def z(self) -> Ratio:
        """``S eta tau sum w_n/q_n``, at most 1/8."""
        return S * self.round.eta * tau * self.most

    @property
    def rate(self) -> k.Lin:
        """``1 - 8 z``."""
        return k.constant(1 - 8 * self.z)

    def over(self, form: k.Lin, scale: Number = 1) -> k.Lin:
        """Return ``sum_n scale sum_i form``."""
        return self.round.over(form, tau, scale)

    def all(self, theorem: Theorem, scale: Number = 1) -> Theorem:
        """Return the theorem summed likewise."""
        return self.round.summed(theorem, tau, scale)

    @property
    def D(self) -> k.Lin:
        """``sum_n w_n J_n sum_i ||p_i - x||^2``."""
        return self.over(k.norm2(self.round.away(of(i))), self.w * self.J)

    def change(self, step: Number) -> k.Vec:
        """Return ``grad F_n(p_i) - grad F_n(x)``."""
        return self.round.local_gradient(step) - self.round.own_gradient()

    def total(self, side: k.Side, each: k.Vec) -> k.Vec:
        """Return ``sum_n w_n J_n sum_i each``, blocks and weights of a side."""
        inside = k.part(side, k.summed(steps(tau), i, each))
        return k.summed(k.CLIENTS, n, inside * self.of(side) * self.J)


def equal_weights() -> tuple[Theorem, Theorem]:
    """Return ``N a_n <= 1`` and ``N a_n >= 1``, assumptions for every client."""
    excess = N * k.weight(n) - 1
    return rules.assume(k.constant(-excess)), rules.assume(k.constant(excess))


def few(d: Drawn) -> Theorem:
    """Return ``sum_n w_n J_n <= sum_n w_n/q_n``."""
    return sum_over(_few(d), k.CLIENTS, n, d.w)


def follows(d: Drawn, side: k.Side, w: k.Vec) -> Theorem:
    """Return ``<sum_n w_n [grad F_n(x)]_b - W grad_b f, w> >= 0`` for any w."""
    r = d.round
    own, w = r.own_gradient(), k.part(side, w)
    if side is k.Side.CLIENT:
        return combine((rules.mean_gradient(r.x, w), -1))
    excess, (below, above) = N * k.weight(n) - 1, equal_weights()
    one = combine(
        (own + w, -excess * QUARTER), (own - w, excess * QUARTER), signs=[below, above]
    )
    return combine(
        sum_over(one, k.CLIENTS, n),
        (rules.linear(k.CLIENTS, n, own * excess, w), -1),
        (rules.mean_gradient(r.x, w), -N),
    )


def first_order(d: Drawn, side: k.Side) -> Theorem:
    """Return ``<grad_b f, x' - x> <= -W eta tau/2 ||grad_b f||^2 + eta/2 C_b``.

    C_b = sum_n w_n J_n sum_i ||[grad F_n(p_i) - grad F_n(x)]_b||^2; W is 1 for clients.
    """
    r, eta = d.round, d.round.eta
    g, far = k.part(side, r.gradient), k.part(side, d.change(of(i)))
    both, gx = r.local_gradient(of(i)) + r.noise(of(i)), r.own_gradient()
    share, W = d.of(side) * d.J, mean(n, d.of(side))
    near = combine((g + far, Fraction(1, 2)))
    known = k.summed(
        k.CLIENTS, n, (k.inner(gx, g) - k.norm2(g) * Fraction(1, 2)) * share
    )
    return combine(
        (rules.update(d.run, side, now, g), -1),
        (local.linear_both(r, k.part(side, both), g, tau, share), eta),
        (d.all(derived.unbiased(d.run, n, now, of(i), g), share), eta),
        (d.all(near, share), eta),
        (d.expect(known), eta * tau),
        (rules.linear(k.CLIENTS, n, gx * d.of(side), g), -eta * tau),
        (follows(d, side, g), eta * tau),
        target=d.over(k.norm2(far), share) * (eta / 2)
        - k.norm2(g) * (W * eta * tau / 2)
        - k.inner(g, r.next - r.x),
    )


def first_order_by_drift(d: Drawn, side: k.Side) -> Theorem:
    """Return ``<grad_b f, x' - x> <= -eta tau/2 ||grad_b f||^2 + eta S^2/2 D``.

    For steps as printed; on the server for equal weights.
    """
    r, share, half = d.round, d.of(side) * d.J, d.round.eta / 2
    g, far = k.part(side, r.gradient), d.change(of(i))
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    lighter = [combine(rules.weight_below_one(n))]
    away = sum_over(combine((r.away(of(i)), 1)), steps(tau), i)
    more = sum_over(away, k.CLIENTS, n, (1 - d.of(side)) * d.J, lighter)
    return combine(
        first_order(d, side),
        (d.all(rules.blocks(far, far), share), half),
        (d.all(combine((k.part(local.other(side), far), 1)), share), half),
        (d.all(near, share), half),
        (more, half * S**2),
        (g, half * tau * (mean(n, d.of(side)) - 1)),
        target=d.D * (half * S**2)
        - k.norm2(g) * (half * tau)
        - k.inner(g, r.next - r.x),
    )


def known_size(d: Drawn, side: k.Side) -> Theorem:
    """Return ``||sum w_n J_n gx||^2 <= W^2 ||grad f||^2 + sum w_n^2 r_n ||gx||^2``.

    Blocks of gx = grad F_n(x) and of grad f; r_n = 1/q_n - 1.
    """
    r, w = d.round, d.of(side)
    gx, g = k.part(side, r.own_gradient()), k.part(side, r.gradient)
    with_draws, own = (k.summed(k.CLIENTS, n, gx * c) for c in (w * d.J, w))
    spread = k.summed(k.CLIENTS, n, k.norm2(gx) * (w**2 * (d.inverse - 1)))
    W = mean(n, w)
    return combine(
        (d.expect(k.norm2(with_draws)), -1),
        follows(d, side, -own),
        (follows(d, side, -g), W),
        target=k.norm2(g) * W**2 + spread - k.norm2(with_draws),
    )


def second_order(d: Drawn, side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2 (5/4 (tau^2 A + Z) + 5 tau most C_b)``.

    A is `known_size`'s right side, Z = sum w_n^2 J_n^2 sum_i ||[xi]_b||^2, C_b of
    `first_order`, most = sum_n w_n/q_n of the server.
    """
    r, eta, c = d.round, d.round.eta, QUARTER
    w, share, gx = d.of(side), d.of(side) * d.J, r.own_gradient()
    far, xi = k.part(side, d.change(of(i))), k.part(side, r.noise(of(i)))
    A = k.summed(k.CLIENTS, n, k.part(side, gx) * share) * tau
    C, Z = d.total(side, d.change(of(i))), d.total(side, r.noise(of(i)))
    step, V = k.part(side, r.next - r.x), mean(n, share)
    own = k.norm2(k.part(side, r.gradient)) * mean(n, w) ** 2
    own = own + k.summed(
        k.CLIENTS, n, k.norm2(k.part(side, gx)) * (w**2 * (d.inverse - 1))
    )
    clients = rules.jensen(k.CLIENTS, n, share, k.summed(steps(tau), i, far))
    inside = rules.jensen(steps(tau), i, ratio(1), far)
    fewer = few(d) if side is k.Side.SERVER else few_clients(d)
    positive = d.all(combine((far, 1)), share)
    return combine(
        (rules.update(d.run, side, now, step), -1),
        (rules.update(d.run, side, now, A + C + Z), eta),
        (young(A + Z, C, c), eta**2),
        (known_size(d, side), (1 + c) * eta**2 * tau**2),
        (local.linear_both(r, xi, A, tau, share), -2 * (1 + c) * eta**2),
        (
            d.all(derived.unbiased(d.run, n, now, of(i), A), share),
            -2 * (1 + c) * eta**2,
        ),
        (derived.independent(d.run, n, i, share, now, tau, side), (1 + c) * eta**2),
        (clients, (1 + 1 / c) * eta**2),
        (sum_over(inside, k.CLIENTS, n, share), (1 + 1 / c) * eta**2 * V),
        (positive, (1 + 1 / c) * eta**2 * tau * (d.most - V)),
        target=(own * tau**2 + d.over(k.norm2(xi), share**2)) * ((1 + c) * eta**2)
        + d.over(k.norm2(far), share) * ((1 + 1 / c) * eta**2 * tau * d.most)
        - k.norm2(step),
        signs=[fewer],
    )


def few_clients(d: Drawn) -> Theorem:
    """Return ``sum_n a_n J_n <= sum_n w_n/q_n``."""
    one = combine((_few(d), k.weight(n)), (rules.weight_below_one(n), d.inverse))
    return sum_over(one, k.CLIENTS, n)


def _few(d: Drawn) -> Theorem:
    """Return ``J_n <= 1/q_n``."""
    return at_most_inverse(d.run) if d.run.drawn else combine()


def client_drift(d: Drawn) -> Theorem:
    """Return ``D_c <= eta^2 tau^2 (sum w_n J_n sum_i ||[gp]_c||^2 + sum w_n J_n s_n)``.

    s_n = sigma_n^2; D_c is D for the client blocks.
    """
    r, side, share = d.round, k.Side.CLIENT, d.w * d.J
    xi, gp = r.noise(of(j)), k.part(side, r.local_gradient(of(i)))
    var = derived.variance(d.run, sigma2(n), n, now, of(j))
    noisy = local.block_below(side, xi, var)
    one = combine(
        local.block_drift(r, side, of(i), of(i), tau),
        (sum_over(noisy, steps(of(i)), j), 2 * r.eta**2),
    )
    spare = d.all(combine((gp, 1)), share)
    bound = d.over(k.norm2(gp), share) + k.constant(mean(n, share * sigma2(n)))
    away = d.over(k.norm2(k.part(side, r.away(of(i)))), share)
    return combine(
        d.all(one, share),
        (spare, r.eta**2 * tau),
        target=bound * (r.eta**2 * tau**2) - away,
    )


def server_drift(d: Drawn) -> Theorem:
    """Return ``D_s <= 2 eta^2 most tau (most tau Gamma_s + Z_s)``.

    Gamma_s = sum w_n J_n sum_i ||[gp]_s||^2, Z_s = sum w_n^2 J_n^2 sum_i ||[xi]_s||^2.
    """
    r, side, size = d.round, k.Side.SERVER, 2 * d.round.eta**2
    visited = Visited(r)
    V, away = visited.W, k.part(side, r.away(of(i)))
    own, gp, xi = d.w * d.J, r.local_gradient(of(i)), r.noise(of(i))
    gp, xi = k.part(side, gp), k.part(side, xi)
    gamma = d.all(combine((gp, 1)), own)
    noise = d.all(combine((xi, 1)), own**2)
    bound = d.over(k.norm2(gp), own) * (d.most * tau) + d.over(k.norm2(xi), own**2)
    return combine(
        d.all(visited.way(), own),
        (gamma, size * tau**2 * (d.most - V) * (d.most + V)),
        (noise, size * tau * (d.most - V)),
        target=bound * (size * d.most * tau) - d.over(k.norm2(away), own),
        signs=[few(d)],
    )


@cache
def drift_by_steps(d: Drawn) -> Theorem:
    """Return ``D <= eta^2 tau^2 (2 most^2 Gamma + sum w s_n + 2 most sum w^2/q s_n)``.

    Gamma = sum w_n J_n sum_i ||gp||^2, most = sum w_n/q_n, s_n = sigma_n^2.
    """
    r, share, size = d.round, d.w * d.J, (d.round.eta * tau) ** 2
    gp, xi = r.local_gradient(of(i)), r.noise(of(i))
    var = derived.variance(d.run, sigma2(n), n, now, of(i))
    noisy, client = local.block_below(k.Side.SERVER, xi, var), k.part(k.Side.CLIENT, gp)
    of_w, of_square = (k.constant(mean(n, c * sigma2(n))) for c in (share, share**2))
    noise = d.w * sigma2(n) + 2 * d.most * d.w**2 * d.inverse * sigma2(n)
    return combine(
        (d.all(local.both_parts(r.away(of(i))), share), -1),
        client_drift(d),
        server_drift(d),
        (d.all(local.both_parts(gp), share), 2 * size * d.most**2),
        (d.all(combine((client, 1)), share), size * (2 * d.most**2 - 1)),
        (d.all(noisy, share**2), 2 * r.eta**2 * tau * d.most),
        (d.expect(of_w), -size),
        (d.expect(of_square), -2 * size * d.most),
        target=d.over(k.norm2(gp), share) * (2 * size * d.most**2)
        + k.constant(size * mean(n, noise))
        - d.D,
    )


@cache
def drift(d: Drawn) -> Theorem:
    """Return the drift by gradients at x(t), noise, and how far gradients changed.

    ``D <= 5/2 eta^2 tau^3 (most^2 F_s + F_c/2) + noise + 10 eta^2 most^2 tau^2 C``,
    F_b = sum w_n ||[gx]_b||^2, C = sum w_n J_n sum_i ||gp - gx||^2.
    """
    r, share, eta2 = d.round, d.w * d.J, d.round.eta**2
    gx, xi, away = r.own_gradient(), r.noise(of(i)), r.away(of(i))
    var = derived.variance(d.run, sigma2(n), n, now, of(i))
    noisy = local.block_below(k.Side.SERVER, xi, var)
    of_s, far = 2 * eta2 * d.most**2 * tau**2, d.change(of(i))
    uses: list[tuple[Theorem, Number]] = [
        (d.all(rules.blocks(away, away), share), -1),
        (client_drift(d), 1),
        (server_drift(d), 1),
        (d.all(noisy, share**2), 2 * eta2 * d.most * tau),
        (d.all(rules.blocks(far, far), share), 5 * of_s),
    ]
    right = k.Lin({})
    for side in k.Side:
        size = of_s if side is k.Side.SERVER else eta2 * tau**2
        block, moved = k.part(side, gx), k.part(side, far)
        known = k.summed(k.CLIENTS, n, k.norm2(block) * share)
        more = d.all(combine((moved, 1)), share)
        uses += [
            (d.all(young(block, moved, QUARTER), share), size),
            (more, 5 * (of_s - size)),
            (d.expect(known), -size * tau * Fraction(5, 4)),
        ]
        own = k.summed(k.CLIENTS, n, k.norm2(block) * d.w)
        right = right + own * (size * tau * Fraction(5, 4))
    sigma_q = mean(n, d.w**2 * d.inverse * sigma2(n))
    sigma_w = mean(n, d.w * sigma2(n))
    drawn = k.constant(
        mean(n, share**2 * sigma2(n)) * (2 * d.most) + mean(n, share * sigma2(n))
    )
    uses.append((d.expect(drawn), -eta2 * tau**2))
    noise = k.constant(2 * d.most * sigma_q + sigma_w) * (eta2 * tau**2)
    right = right + noise + d.over(k.norm2(far), share) * (5 * of_s)
    return combine(*uses, target=right - d.D)


# As App. E.3 of han2024 goes: everyone takes part -------------------------------------
# The server follows sum_n grad F_n, for equal weights N grad f; only that needs them.

ALL = Drawn(k.Participants.EVERYONE)
ROUND_T, sigmas = ALL.round, mean(n, sigma2(n))


@cache
def drift_closed() -> Theorem:
    """Return ``D <= 8 eta^2 N^2 tau^3 sum ||gx||^2 + 6 eta^2 N tau^2 sum sigma_n^2``.

    For ``8 (S eta N tau)^2 <= 1``.
    """
    r = ROUND_T
    gx, gp = r.own_gradient(), r.local_gradient(of(i))
    small = at_least(1 - 8 * (S * r.eta * N * tau) ** 2)
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    one = combine(young(gx, gp - gx, 1), (near, 2))
    theta = 2 * r.eta**2 * N**2 * tau**2
    spare = 1 - 4 * theta * S**2
    positive = ALL.all(combine((r.away(of(i)), 1)))
    own = k.summed(k.CLIENTS, n, k.norm2(gx))
    return combine(
        (drift_by_steps(ALL), 2),
        (ALL.all(one), 2 * theta),
        (positive, spare),
        target=own * (4 * theta * tau)
        + k.constant(6 * r.eta**2 * N * tau**2 * sigmas)
        - ALL.D,
        signs=[sign(spare, (small, 1))],
    )


@cache
def drift_by_mean() -> Theorem:
    """Return ``D <= 16 N^2 tau^3 eta^2 sum_n (sigma_n^2 + eps2 + ||grad f||^2)``."""
    r = ROUND_T
    own, most = sum_over(own_gradient(r), k.CLIENTS, n), 16 * N**2 * tau**3 * r.eta**2
    bound = k.norm2(r.gradient) * N + k.constant(sigmas + N * eps2)
    return combine(drift_closed(), (own, most / 2), target=bound * most - ALL.D)


def first_order_printed() -> Theorem:
    """Return (115) with the whole vector's move, for equal weights."""
    more = ALL.all(combine((ROUND_T.away(of(i)), 1)), N - 1)
    one = first_order_by_drift(ALL, k.Side.SERVER)
    return combine(one, (more, ROUND_T.eta * S**2 / 2))


def first_order_closed(side: k.Side) -> Theorem:
    """Return N times (117), for either side; on the server for equal weights."""
    one = first_order_by_drift(ALL, side)
    return combine(one, (drift_by_mean(), ROUND_T.eta * S**2 / 2))


def change() -> Theorem:
    """Return (119) summed over clients, with N^2, the whole gradient and 3 tau sigma^2.

    For ``8 (S eta N tau)^2 <= 1``.
    """
    r, gx = ROUND_T, ROUND_T.own_gradient()
    far = r.local_gradient(of(i)) + r.noise(of(i)) - block_steps.first(r)
    one = sum_over(block_steps.change_of_gradient(r, k.Side.SERVER), k.CLIENTS, n)
    most = 16 * N**2 * tau**3 * r.eta**2 * S**2
    right = k.summed(k.CLIENTS, n, k.norm2(gx)) * most
    right = right + k.constant((most + 3 * tau) * sigmas)
    left = k.summed(
        k.CLIENTS, n, k.summed(steps(tau), i, k.norm2(k.part(k.Side.SERVER, far)))
    )
    return combine(one, (drift_closed(), 2 * S**2), target=right - left)


def second_order_closed(side: k.Side) -> Theorem:
    """Return 5/2 times (120) or (122); the late term has N^2, the whole gradient."""
    r, g, w = ROUND_T, ROUND_T.gradient, factor(ROUND_T, side)
    half, c = S * r.eta**2 / 2, Fraction(2, 3)
    M, Z = total(r, side, r.local_gradient(of(i))), total(r, side, r.noise(of(i)))
    gradients = sum_over(block_steps.block_gradients(r, side), k.CLIENTS, n, N * w**2)
    below = combine((rules.weight_below_one(n), 1 + k.weight(n)))
    positive = sum_over(combine((r.away(of(i)), 1)), steps(tau), i)
    more = sum_over(positive, k.CLIENTS, n, 1 - w**2, [below])
    own = sum_over(own_gradient(r), k.CLIENTS, n)
    share = half * (1 + c) * tau * 3 * N * S**2
    noise = k.constant(2 * eps2 + sigma2(n))
    bracket = (k.norm2(k.part(side, g)) * 2 + noise) * (tau * w**2)
    bracket = bracket + (k.norm2(g) * 2 + noise) * (
        16 * N**2 * tau**3 * (S * r.eta) ** 2
    )
    target = k.summed(k.CLIENTS, n, bracket) * (N * half * tau * Fraction(5, 2))
    return combine(
        (moved(r, side), -S / 2),
        (young(M, Z, c), half),
        (block_steps.block_noise(r, side), half * (1 + 1 / c)),
        (block_steps.total_size(r, side, r.local_gradient(of(i))), half * (1 + c)),
        (gradients, half * (1 + c) * tau),
        (more, share),
        (drift_closed(), share),
        (own, share * 8 * r.eta**2 * N**2 * tau**3),
        target=target - k.norm2(k.part(side, r.next - r.x)) * (S / 2),
    )
