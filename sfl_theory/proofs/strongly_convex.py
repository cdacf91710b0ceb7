"""The strongly convex rate for the last iterate, tau = tau_server, of SFL-V1."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.foundations import convex_mean, smooth_mean, value_gap
from sfl_theory.proofs.local_steps import G2, Round, i, n, now, own_mean, sigma2, t
from sfl_theory.proofs.notation import combine, inverse_q, mean, of, sign, sum_over
from sfl_theory.proofs.visited import bounded_drift as visited_drift

S_VARIABLE = k.Var("S", Sort.POSITIVE)
mu, excess, tau = (
    notation.positive("mu"),
    notation.nonnegative("s"),
    notation.count("tau"),
)
S = mu + excess
gamma = 8 * S / mu - 1
s_a2 = mean(n, k.weight(n) ** 2 * sigma2(n))
BEST = k.vec(k.Star(k.MEAN))


def run(
    kind: k.Kind = k.Kind.V1, who: k.Participants = k.Participants.EVERYONE
) -> k.Split:
    """Return a run with ``eta(t) = 4/(mu tau (gamma + t))`` on both sides."""
    return notation.equal_paces(
        kind, tau, k.Rate(4 / (mu * tau * (gamma + notation.of_round()))), who
    )


def gap(r: Round, at: Ratio) -> k.Lin:
    """Return ``f(x(at)) - f*``."""
    return k.value_of(k.MEAN, k.iterate(r.run, at)) - k.value_of(k.MEAN, BEST)


def gradient_domination(p: k.Vec) -> Theorem:
    """Return ``2 mu (f(p) - f*) <= ||grad f(p)||^2`` from mu-convex F_n."""
    g, away, below = k.gradient(k.MEAN, p), BEST - p, convex_mean(mu, p, BEST)
    drop = k.value_of(k.MEAN, p) - k.value_of(k.MEAN, BEST)
    return combine(
        (below, 2 * mu), (g + away * mu, 1), target=k.norm2(g) - drop * (2 * mu)
    )


def one_round(r: Round) -> Theorem:
    """Return ``phi' <= (1 - 4u) phi + A u^2 + B u^3``, u = 1/(gamma + t)."""
    g, alpha = r.gradient, r.eta * tau
    M, Z = own_mean(r, r.local_gradient(of(i))), own_mean(r, r.noise(of(i)))
    c, noise = Fraction(3, 4), r.eta**2 * S / 2
    M_left = r.eta / (2 * tau) - noise * (1 + c)
    uses: list[tuple[Theorem, Number]] = [
        (descent(r), 1),
        (local.whole_centred(r, g), r.eta),
        (with_smoothness(local.whole_deviation(r)), r.eta / (2 * tau)),
        (local.whole_noise(r), noise * (1 + 1 / c)),
        (drift(r), r.eta * S**2 / 2),
        (gradient_domination(r.x), alpha / 2),
    ]
    u = 1 / (gamma + now)
    right = gap(r, now) * (1 - 4 * u) + k.constant(A(r) * u**2 + B(r) * u**3)
    squares: list[tuple[k.Vec, Number]] = [(M * c - Z, noise / c), (M, M_left)]
    return combine(
        *uses, *squares, target=right - gap(r, now + 1), signs=[sign(M_left)]
    )


def with_smoothness(theorem: Theorem) -> Theorem:
    """Return a theorem on the parameter S for S = mu + s."""
    return rules.instantiate(theorem, ((S_VARIABLE, S),), ())


def descent(r: Round) -> Theorem:
    """Return ``f(x') <= f(x) - eta <grad f, G> + S eta^2/2 (||G||^2 + tau^2 R G2)``.

    G without draws; R = sum a_n^2 (1/q_n - 1), 0 where everyone takes part.
    """
    whole = with_smoothness(local.whole_descent(r))
    if not r.run.drawn:
        return whole
    g, each = r.gradient, stochastic(r.run, n, now, of(i))
    G, half = local.whole_mean(r, each), S * r.eta**2 / 2
    odds = k.weight(n) ** 2 * (inverse_q(n) - 1)
    bounded = derived.bounded_gradient(r.run, G2, n, now, of(i))
    return combine(
        whole,
        (derived.expect(r.run, now, k.inner(g, G)), r.eta),
        (derived.expect(r.run, now, k.norm2(G)), -half),
        (
            sum_over(
                rules.jensen(notation.steps(tau), i, ratio(1), each), k.CLIENTS, n, odds
            ),
            half,
        ),
        (r.summed(bounded, tau, odds), half * tau),
    )


def A(r: Round) -> Ratio:
    """Return the factor of the noise, and of the draws."""
    noise = Fraction(56, 3) * S * s_a2 / (tau * mu**2)
    if not r.run.drawn:
        return noise
    return noise + 8 * S * G2 * mean(n, k.weight(n) ** 2 * (inverse_q(n) - 1)) / mu**2


def B(r: Round) -> Ratio:
    """Return the factor of the drift."""
    return Fraction(32, 3) * S**2 * G2 / mu**3


def drift(r: Round) -> Theorem:
    """Return ``D <= eta^2 tau^3/2 G2`` for SFL-V2, for SFL-V1 a third instead."""
    return visited_drift(r) if r.run.kind.visits else local.bounded_drift(r)


def by_recursion(
    r: Round,
    one: Theorem,
    first: Ratio,
    second: Ratio,
    power: Fraction = Fraction(4),
    gamma: Ratio = gamma,
    decay: int = 4,
) -> Theorem:
    """Return a bound by induction: (1 - p u) shrinks every term enough.

    ``phi_t <= (gamma u)^decay phi_0 + A u/(p - 1) + B u^2/(p - 2)``, decay <= p.

    Args:
        r: round t.
        one: ``phi' <= (1 - p u) phi + A u^2 + B u^3``, u = 1/(gamma + t).
        first: A.
        second: B.
        power: p.
        gamma: gamma.
        decay: the power by which the first gap falls.

    Returns:
        The bound for every t.
    """

    def kept(at: Ratio) -> Ratio:
        return (gamma / (gamma + at)) ** decay

    def claim(at: Ratio) -> k.Lin:
        u = 1 / (gamma + at)
        noise = k.constant(first * u / (power - 1) + second * u**2 / (power - 2))
        return gap(r, ratio(0)) * kept(at) + noise - gap(r, at)

    lowest = derived.lowest(k.MEAN, k.iterate(r.run, 0))
    keep = 1 - power / (gamma + now)
    spare = kept(now + 1) - keep * kept(now)
    step = combine(
        one, (rules.assume(claim(now)), keep), (lowest, spare), target=claim(now + 1)
    )
    return rules.induct(combine(target=claim(ratio(0))), step, t, claim(now))


def rate(
    kind: k.Kind = k.Kind.V1, who: k.Participants = k.Participants.EVERYONE
) -> Theorem:
    """Return ``phi_t <= bound(t)`` for equal periods."""
    r = Round(run(kind, who))
    return by_recursion(r, one_round(r), A(r), B(r))


def printed(who: k.Participants = k.Participants.EVERYONE) -> Theorem:
    """Return (11) or (17) as printed, for equal periods."""
    return weaker(Round(run(k.Kind.V1, who)), rate(k.Kind.V1, who))


def weaker(r: Round, sharper: Theorem) -> Theorem:
    """Return the printed bound from that of `by_recursion`: every term is larger."""
    start = k.iterate(r.run, 0)
    keep = (gamma / (gamma + now)) ** 4
    spare = S / 2 * ((gamma + 1) / (gamma + now) - keep)
    uses = [(sharper, ratio(1)), (value_gap(S, start, smooth_mean), keep)]
    target = printed_right(r) - gap(r, now)
    return combine(*uses, (start - BEST, spare), target=target)


def printed_right(r: Round) -> k.Lin:
    """Return the right side of (11), or of (17) where clients are drawn."""
    u, second = 1 / (gamma + now), 2 * sigma2(n) + G2
    first = second + (G2 * inverse_q(n) if r.run.drawn else 0)
    N = mean(n, 1)
    return k.constant(
        8 * S * N * mean(n, k.weight(n) ** 2 * first) / mu**2 * u
        + 768 * S**2 * mean(n, k.weight(n) * second) / (mu**3 * (gamma + 1)) * u
    ) + k.norm2(k.iterate(r.run, 0) - BEST) * (S * (gamma + 1) / 2 * u)
