"""Theorems 3.6 and 3.8, non-convex, (13) and (19): SFL-V1, two numbers of steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, direction
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import N, Round, S, eps2, i, j, n, now, sigma2
from sfl_theory.proofs.notation import combine, count, nat, of, sign, steps, sum_over


@dataclass(frozen=True)
class TwoPaces:
    """One side makes tau (tau_server) steps, the longer one d >= 0 more."""

    longer: k.Side
    partial: bool = False
    """Whether clients take part with probabilities q_n."""

    @property
    def b(self) -> Ratio:
        """``N a_n^2``, or ``N a_n^2/q_n``: the weights of local quantities."""
        own = N * k.weight(n) ** 2
        return own * notation.inverse_q(n) if self.partial else own

    @property
    def kappa(self) -> Ratio:
        """``sum_n b_n``."""
        return notation.mean(n, self.b)

    @property
    def sigma_w(self) -> Ratio:
        """``sum_n b_n sigma_n^2``."""
        return notation.mean(n, self.b * sigma2(n))

    @property
    def shorter(self) -> k.Side:
        """The side that makes tau_min steps."""
        return local.other(self.longer)

    @property
    def low(self) -> Ratio:
        """tau_min."""
        return count("tau" if self.longer is k.Side.SERVER else "tau_server")

    @property
    def extra(self) -> Ratio:
        """tau_max - tau_min."""
        return of(nat("d"))

    @property
    def high(self) -> Ratio:
        """tau_max."""
        return self.low + self.extra

    def made(self, side: k.Side) -> Ratio:
        """Return a side's number of steps."""
        return self.high if side is self.longer else self.low

    def paced(self, rate: Callable[[Ratio], k.Rate]) -> k.Split:
        """Return SFL-V1, each side at the rate for its number of steps."""
        who = k.Participants.UPDATES if self.partial else k.Participants.EVERYONE
        made = (self.made(side) for side in (k.Side.CLIENT, k.Side.SERVER))
        client, server = (k.Pace(k.natural(own), rate(own)) for own in made)
        return k.Split(k.Kind.V1, who, client, server)

    @property
    def run(self) -> k.Split:
        """SFL-V1 with rates eta(t) on both sides."""
        return self.paced(lambda _: notation.rates("eta"))

    @property
    def round(self) -> Round:
        """Round t."""
        return Round(self.run)


def conditions(p: TwoPaces) -> tuple[k.Lin, k.Lin]:
    """Return ``eta <= 1/(16 S tau_max)``, ``eta <= tau_min/(8 S kappa tau_max^2)``."""
    u = S * p.round.eta * p.high
    return k.constant(1 - 16 * u), k.constant(p.low - 8 * p.kappa * u * p.high)


def drift(p: TwoPaces) -> Theorem:
    """Return ``D <= eta^2 tau_max (tau_max - 1) (Gamma + sigma_w)``."""
    r, H, b = p.round, p.high, p.b
    Gamma = r.over(k.norm2(r.local_gradient(of(i))), H, b)
    bound = (Gamma + k.constant(p.sigma_w)) * (r.eta**2 * H * (H - 1))
    one = one_client_drift(p, p.longer)
    return combine(sum_over(one, k.CLIENTS, n, b), target=bound - r.drift(H, b))


def one_client_drift(p: TwoPaces, of_side: k.Side) -> Theorem:
    """Return ``D_n <= eta^2 H (H - 1) (Gamma_n + sigma_n^2)``, H the side's steps.

    D_n and Gamma_n are the sums over i < H of ||p_i - x||^2 and ||gp_i||^2.
    """
    r, H = p.round, p.round.steps(of_side)
    each = [_side_drift(p, side, of_side) for side in k.Side]
    var = derived.variance(r.run, sigma2(n), n, now, of(j))
    noisy = sum_over(sum_over(var, steps(of(i)), j), steps(H), i)
    away, gp, xi = r.away(of(i)), r.local_gradient(of(i)), r.noise(of(j))
    steps_i = sum_over(rules.blocks(xi, xi), steps(of(i)), j)
    eta2 = r.eta**2
    size = eta2 * H * (H - 1)
    bound = k.summed(steps(H), i, k.norm2(gp)) + k.constant(sigma2(n))
    return combine(
        *((theorem, 1) for theorem in each),
        (sum_over(rules.blocks(away, away), steps(H), i), -1),
        (sum_over(rules.blocks(gp, gp), steps(H), i), size),
        (sum_over(steps_i, steps(H), i), 2 * eta2),
        (noisy, 2 * eta2),
        target=bound * size - k.summed(steps(H), i, k.norm2(away)),
    )


def _side_drift(p: TwoPaces, side: k.Side, of_side: k.Side) -> Theorem:
    """Return the drift of one block, summed over the steps of a side."""
    r, H, L = p.round, p.round.steps(of_side), p.low
    here = local.block_drift(r, side, of(i), of(i), H)
    if of_side is p.shorter or side is p.longer:
        return sum_over(here, steps(H), i)
    there = local.block_drift(r, side, L + of(local.beyond), L, H, rests=True)
    first = sum_over(here, steps(L), i)
    second = sum_over(there, steps(p.extra), local.beyond)
    joined = rules.split(i, here.form, L, p.extra)
    return combine(first, second, joined)


def deviation(p: TwoPaces) -> Theorem:
    """Return ``sum_b ||tau_b grad_b f - M_b||^2/tau_b <= S^2 D``."""
    r, H, own = p.round, p.high, N * k.weight(n) ** 2
    apart = r.own_gradient() - r.local_gradient(of(i))
    rest = rules.longer(i, k.part(p.shorter, apart), p.low, H)
    near = derived.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    more = r.summed(combine((r.away(of(i)), 1)), H, p.b - own)
    return combine(
        *((local.mean_deviation(r, side), 1 / r.steps(side)) for side in k.Side),
        sum_over(rest, k.CLIENTS, n, own),
        r.summed(rules.blocks(apart, apart), H, own),
        r.summed(near, H, own),
        (more, S**2),
    )


def noise_size(p: TwoPaces) -> Theorem:
    """Return ``sum_b ||Z_b||^2 <= tau_max sum_n N a_n^2 sigma_n^2``.

    Nothing is said of different clients' samples: Cauchy-Schwarz over the clients.
    """
    r, H, own = p.round, p.high, N * k.weight(n) ** 2
    xi = r.noise(of(i))
    rest = rules.longer(i, k.part(p.shorter, xi), p.low, H)
    var = derived.variance(r.run, sigma2(n), n, now, of(i))
    uses = [sum_over(rest, k.CLIENTS, n, own), r.summed(var, H, own)]
    for side in k.Side:
        tau = r.steps(side)
        each = k.summed(steps(tau), i, k.part(side, xi))
        fresh = derived.martingale(r.run, n, now, tau, side)
        uses += [
            rules.jensen(k.CLIENTS, n, ratio(1), each * k.weight(n)),
            sum_over(fresh, k.CLIENTS, n, own),
        ]
    return combine(*uses, r.summed(rules.blocks(xi, xi), H, own))


def means(p: TwoPaces, each: k.Vec) -> dict[k.Side, k.Vec]:
    """Return ``sum_n a_n sum_{i<tau_b} [each]_b`` for both sides."""
    return {side: p.round.whole(side, each) for side in k.Side}


def room(p: TwoPaces, times: Number) -> k.Lin:
    """Return ``f(x) - f(x') + times S (tau^2 + tau_server^2) eta^2 (sigma_w + ..)``.

    That is what one round may cost: ``eta tau_min/4 ||grad f||^2`` stays below it.
    """
    r = p.round
    noise = times * S * (p.low**2 + p.high**2) * r.eta**2
    return r.fall + k.constant(noise * (p.sigma_w + p.kappa * eps2))


def one_round(p: TwoPaces, times: Number = 2) -> Theorem:
    """Return ``eta tau_min/4 ||grad f||^2 <= room``.

    Args:
        p: the algorithm.
        times: of noise and heterogeneity; 1 is enough where everyone takes part.
    """
    r, H, L, b, c = p.round, p.high, p.low, p.b, Fraction(1, 4)
    eta, g, kappa = r.eta, r.gradient, p.kappa
    u, theta, lam, half = S * eta * H, eta**2 * H * (H - 1), eta * S**2, S * eta**2 / 2
    small, smaller = map(rules.assume, conditions(p))
    gp, xi = r.local_gradient(of(i)), r.noise(of(i))
    M, Z = means(p, gp), means(p, xi)
    of_gamma, uses = lam * theta, moved(p)
    if p.partial:
        of_gamma = of_gamma + half * (1 + c) * H / N
        var = derived.variance(r.run, sigma2(n), n, now, of(i))
        uses += [
            *((participation(p, side, c), half) for side in k.Side),
            (r.summed(rules.blocks(gp, gp), H, b), half * (1 + c) * H / N),
            (r.summed(combine(rules.blocks(xi, xi), var), H, b), half * 5 / N),
        ]
    of_F = of_gamma * (1 + c) * H
    D_left = lam / 2 - 5 * of_gamma * S**2
    g_left = eta * L / 4 - 2 * kappa * of_F
    square = combine((small, 1 + 16 * u))
    signs = [
        sign(
            D_left, (small, lam * Fraction(25, 128)), (square, lam * Fraction(5, 256))
        ),
        sign(
            g_left,
            (smaller, eta * Fraction(25, 128)),
            (smaller, eta * u * Fraction(5, 16)),
            (small, eta * L * Fraction(5, 256)),
        ),
    ]
    left_over = p.sigma_w + Fraction(5, 2) * kappa * eps2 * H
    uses += [
        (deviation(p), eta / 2),
        (noise_size(p), S * eta**2),
        (drift(p), lam),
        (local.local_gradients(r, H, b, c), of_gamma),
        (local.own_gradients(r, b), of_F),
        (r.summed(combine((r.away(of(i)), 1)), H, b), D_left),
        (small, S * eta**2 * (H - 1) * left_over / 16),
        (rules.blocks(g, g), g_left - eta * L / 2),
    ]
    squares: list[tuple[k.Vec, Number]] = []
    for side in k.Side:
        tau = r.steps(side)
        m_left = eta / (2 * tau) - S * eta**2
        signs.append(sign(m_left, (small, eta / (2 * tau))))
        squares += [
            (M[side] - Z[side], half),
            (M[side], m_left),
            (k.part(side, g), g_left + eta * (tau - L) / 2),
        ]
    target = room(p, times) - k.norm2(g) * (eta * L / 4)
    return combine(*uses, *squares, target=target, signs=signs)


def moved(p: TwoPaces) -> list[tuple[Theorem, Number]]:
    """Return the descent by what moves each side, its product with grad f by M's."""
    r, g = p.round, p.round.gradient
    if p.partial:
        by = {side: drawn(p, side) for side in k.Side}
        centred = [mean_move(p, side) for side in k.Side]
    else:
        g_i = r.local_gradient(of(i)), r.noise(of(i))
        M, Z = (means(p, each) for each in g_i)
        by = {side: M[side] + Z[side] for side in k.Side}
        centred = [
            local.centred(r, side, g, r.steps(side), k.weight(n)) for side in k.Side
        ]
    return [(local.descent(r, by), 1), *((one, r.eta) for one in centred)]


def drawn(p: TwoPaces, side: k.Side) -> k.Vec:
    """Return ``sum_n a_n J_n V_n``, by which a round moves a side."""
    return direction(p.run, now, side)


def mean_move(p: TwoPaces, side: k.Side) -> Theorem:
    """Return ``<sum_n a_n J_n V_n, grad f> = <M, grad f>``, blocks of a side."""
    r, w = p.round, p.round.gradient
    averaged = derived.expect(r.run, now, k.inner(drawn(p, side), w))
    target = k.inner(drawn(p, side), w) - k.inner(
        r.whole(side, r.local_gradient(of(i))), w
    )
    noiseless = local.centred(r, side, w, r.steps(side), k.weight(n))
    return combine(averaged, noiseless, target=target)


def participation(p: TwoPaces, side: k.Side, c: Number) -> Theorem:
    """Return ``||drawn||^2 - ||G||^2 <= ((1+c) H Gamma_b + (1+1/c) Xi_b)/N``.

    Gamma_b and Xi_b are the sums of ||gp||^2 and ||xi||^2 with weights b, blocks of the
    side, over its own steps.
    """
    r, tau, H = p.round, p.round.steps(side), p.high
    gp, xi = k.part(side, r.local_gradient(of(i))), k.part(side, r.noise(of(i)))
    A, B = k.summed(steps(tau), i, gp), k.summed(steps(tau), i, xi)
    V = A + B
    size = local.size_of_sum(steps(tau), i, gp, tau, H)
    noisy = derived.martingale(r.run, n, now, tau, side)
    one = combine(
        local.young(A, B, c),
        (size, 1 + ratio(c)),
        (sum_over(combine((gp, 1)), steps(H), i), (1 + ratio(c)) * (H - tau)),
        (noisy, 1 + 1 / ratio(c)),
        (rules.longer(i, xi, tau, H), 1 + 1 / ratio(c)),
    )
    lost = sum_over(combine((V, 1)), k.CLIENTS, n, k.weight(n) ** 2)
    drawing = derived.expect(r.run, now, k.norm2(drawn(p, side)))
    return combine((drawing, -1), sum_over(one, k.CLIENTS, n, p.b / N), lost)


T = count("T")


def theorem(p: TwoPaces) -> Theorem:
    """Return (13) or (19): one round, summed; the gaps telescope."""
    return local.over_rounds(one_round(p), p.round, T, 4 / (T * p.low))


def assumptions(run: k.Split) -> frozenset[h.Hypothesis]:
    """Return Assumptions 3.1, 3.2, 3.4, and that f has a minimiser."""
    draws: set[h.Hypothesis] = {h.Participation(run)} if run.drawn else set()
    return frozenset({
        *draws,
        h.every(k.CLIENTS, n, h.Smooth(k.Local(n), S)),
        h.every(k.CLIENTS, n, h.Variance(run, n, sigma2(n))),
        h.Unbiased(run),
        h.Heterogeneity(eps2),
        h.Minimiser(k.MEAN),
    })


def equal_paces(theorem_d: Theorem) -> Theorem:
    """Return the theorem for equal numbers of steps: d = 0, tau_server = tau."""
    tau_server = k.Var("tau_server", Sort.COUNT)
    same = ((nat("d"), ratio(0)), (tau_server, count("tau")))
    return rules.instantiate(theorem_d, same, ())
