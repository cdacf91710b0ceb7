"""One round under bounded gradients, both sides making tau steps at the rate eta(t).

SFL-V1, and SFL-V2 whose server weights a visit of client n by a_n, in any order of the
visits; everyone takes part, or client n with probability q_n. A round's move is
``x' = x - eta G``, ``G = sum_n w_n sum_i g_n^i`` with ``w_n = a_n`` or ``a_n J_n``, its
drift is ``D = sum_n w_n sum_i ||p_n^i - x||^2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.proofs import derived, notation, partial_visits, visited
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.convex_paces import excess
from sfl_theory.proofs.local_steps import G2, Round, S, both_parts, i, j, n, now
from sfl_theory.proofs.notation import combine, count, mean, of, rates, steps, sum_over

tau, T = count("tau"), count("T")
ETA = rates("eta")
eta = ETA.at(now)
BEST = k.vec(k.Star(k.MEAN))
odds = k.symbol(k.Odds(n))
skew = mean(n, k.weight(n) ** 3 * odds**2)
third = Fraction(1, 3)


@dataclass(frozen=True)
class Weighted:
    """An algorithm: SFL-V1 or SFL-V2 with weighted server steps."""

    kind: k.Kind
    partial: bool = False
    """Whether clients take part with probabilities q_n."""

    @property
    def run(self) -> k.Split:
        """The run at the rates eta(t)."""
        return self.at(ETA)

    def at(self, rate: k.Rate) -> k.Split:
        """Return the run at a rate."""
        who = k.Participants.UPDATES if self.partial else k.Participants.EVERYONE
        return notation.equal_paces(self.kind, tau, rate, who)

    @property
    def round(self) -> Round:
        """Round t."""
        return Round(self.run)

    @property
    def share(self) -> Ratio:
        """``w_n``."""
        return rules.share(self.run, n, now, k.Side.CLIENT)

    @property
    def c1(self) -> Ratio:
        """Of the second moment of G, over tau^2 G2."""
        return 1 + excess if self.partial else ratio(1)

    @property
    def cd(self) -> Ratio:
        """Of the drift, over eta^2 tau^3 G2."""
        if not self.kind.visits:
            return ratio(third)
        if not self.partial:
            return ratio(Fraction(1, 2))
        return 1 + Fraction(3, 2) * excess + skew / 2

    def g(self, step: k.Var = i) -> k.Vec:
        """Return a stochastic gradient."""
        return stochastic(self.run, n, now, of(step))

    def bounded(self, step: k.Var = i) -> Theorem:
        """Return that its second moment is at most G2."""
        return derived.bounded_gradient(self.run, G2, n, now, of(step))

    def averaged(self, form: k.Lin) -> Theorem:
        """Return the form minus its average over the draws, 0."""
        if self.partial:
            return derived.expect(self.run, now, form)
        return combine(target=k.Lin({}))


@dataclass(frozen=True)
class Analysed:
    """An algorithm at the rates eta(t), as an analysis sees it.

    Attributes:
        kind: SFL-V1, or SFL-V2 with weighted server steps, visits in any order.
        partial: clients are drawn, updates aggregated.
    """

    kind: k.Kind
    partial: bool = False

    @property
    def weighted(self) -> Weighted:
        """The algorithm in the terms of this module."""
        return Weighted(self.kind, self.partial)

    @property
    def round(self) -> Round:
        """Round t."""
        return self.weighted.round


def client_sum(a: Weighted) -> Theorem:
    """Return ``||sum_i g_i||^2 <= tau^2 G2`` for a client."""
    return combine(
        rules.jensen(steps(tau), i, ratio(1), a.g()),
        (sum_over(a.bounded(), steps(tau), i), tau),
    )


@cache
def second_moment(a: Weighted) -> Theorem:
    """Return ``||G||^2 <= c1 tau^2 G2``.

    SFL-V1: draws add ``a_n^2 (1/q_n - 1)`` times each client's own sum. SFL-V2: Jensen
    with the weights ``a_n J_n``, whose sum W has ``E W^2 = 1 + rho``.
    """
    inside = k.summed(steps(tau), i, a.g())
    G = local.whole_mean(a.round, a.g())
    own = client_sum(a)
    target = k.constant(a.c1 * tau**2 * G2) - k.norm2(G)
    if a.partial and a.kind.visits:
        W = mean(n, a.share)
        return combine(
            rules.jensen(k.CLIENTS, n, a.share, inside),
            (sum_over(own, k.CLIENTS, n, a.share), W),
            (a.averaged(k.constant(W**2 * tau**2 * G2)), -1),
            target=target,
        )
    uses = [
        (rules.jensen(k.CLIENTS, n, k.weight(n), inside), 1),
        (sum_over(own, k.CLIENTS, n, k.weight(n)), 1),
    ]
    if a.partial:
        uses += [
            (a.averaged(k.norm2(G)), -1),
            (sum_over(own, k.CLIENTS, n, k.weight(n) ** 2 * odds), 1),
        ]
    return combine(*uses, target=target)


def own_drift(a: Weighted) -> Theorem:
    """Return ``||p_i - x||^2 <= eta^2 i^2 G2`` for SFL-V1."""
    uses: list[tuple[Theorem, Number]] = [(both_parts(a.round.away(of(i))), -1)]
    uses += [(local.own_steps(a.round, side, of(i), of(i)), 1) for side in k.Side]
    both = combine(both_parts(a.g(j)), a.bounded(j))
    return combine(*uses, (sum_over(both, steps(of(i)), j), eta**2 * of(i)))


@cache
def drift(a: Weighted) -> Theorem:
    """Return ``D <= cd eta^2 tau^3 G2``.

    Where visits are drawn, ``cd = (E W + E W^3)/2`` with the drawn weight W, but for
    ``sum_n a_n^3 (1/q_n - 1)/2``.
    """
    r = a.round
    if a.kind.visits and not a.partial:
        return visited.bounded_drift(r)
    if a.kind.visits:
        W, size = mean(n, a.share), eta**2 * tau**3 / 2 * G2
        return combine(
            visited.drawn_drift(r),
            (a.averaged(k.constant(W + W**3)), -size),
            target=k.constant(a.cd * 2 * size) - r.drift(tau, a.share),
        )
    drawn = r.summed(own_drift(a), tau, a.share)
    size = rules.number_of(drawn.form + r.drift(tau, a.share))
    target = k.constant(a.cd * eta**2 * tau**3 * G2) - r.drift(tau, a.share)
    return combine(drawn, (a.averaged(k.constant(size)), -1), target=target)


# Values ------------------------------------------------------------------------------


@cache
def descent(a: Weighted) -> Theorem:
    """Return how much a round of SFL-V2 lowers f, ``alpha = eta tau``.

    ``f(x') <= f(x) - alpha/2 ||grad f||^2 + S/2 c1 alpha^2 G2 + S^2/2 cd alpha^3 G2``.
    """
    r, alpha = a.round, eta * tau
    g = r.gradient
    noise = S / 2 * a.c1 * alpha**2 * G2 + S**2 / 2 * a.cd * alpha**3 * G2
    target = r.fall + k.constant(noise) - k.norm2(g) * (alpha / 2)
    uses: list[tuple[Theorem, Number]] = [
        (local.whole_descent(r), 1),
        (second_moment(a), S * eta**2 / 2),
        (drift(a), S**2 * eta / 2),
    ]
    if a.partial:
        # the draws decide on the points: B is the mean of the deviation at x
        left = g * tau + partial_visits.B
        uses += [
            (partial_visits.centred(g), eta),
            (partial_visits.mean_of_gradients(g), eta),
            (rules.tower(a.run, now, partial_visits.Delta, g), -eta),
            (partial_visits.mean_deviation(), eta / (2 * tau)),
        ]
    else:
        left = local.whole_mean(r, r.local_gradient(of(i)))
        uses += [
            (local.whole_centred(r, g), eta),
            (local.whole_deviation(r), eta / (2 * tau)),
        ]
    return combine(*uses, (left, eta / (2 * tau)), target=target)


# Distances ---------------------------------------------------------------------------


def gap(a: Weighted) -> k.Lin:
    """Return ``f(x) - f*``."""
    return k.value_of(k.MEAN, a.round.x) - k.value_of(k.MEAN, BEST)


def progress(a: Weighted) -> Theorem:
    """Return ``<G, x - x*> >= tau (f(x) - f*) - S/2 D``.

    Smoothness from the local point to x, convexity from it to x*.
    """
    p = a.round.point(of(i))
    one = combine(
        rules.smooth(k.Local(n), S, p, a.round.x),
        derived.convex(k.Local(n), ratio(0), p, BEST),
    )
    return earned(a, one, ratio(0))


def earned(a: Weighted, one: Theorem, modulus: Ratio) -> Theorem:
    """Return ``<G, x - x*> >= tau (f(x) - f* + modulus ||x - x*||^2) ...``.

    Args:
        a: the algorithm.
        one: ``<grad F_n(p), x - x*> >= F_n(x) - F_n(x*) + modulus ||x - x*||^2 ...``.
        modulus: the number in it.

    Returns:
        Its mean over steps and those who take part.
    """
    r, w = a.round, a.share
    away, gp = r.x - BEST, r.local_gradient(of(i))
    own = k.value_of(k.Local(n), r.x) - k.value_of(k.Local(n), BEST)
    drawn = k.summed(k.CLIENTS, n, (own + k.norm2(away) * modulus) * w)
    return combine(
        r.summed(one, tau, w),
        local.linear_both(r, gp, away, tau, w),
        local.centred_by(r, w, away),
        (a.averaged(drawn), tau),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(BEST), tau),
    )


@cache
def approach(a: Weighted) -> Theorem:
    """Return how much nearer a round brings the model, ``alpha = eta tau``.

    ``||x' - x*||^2 <= ||x - x*||^2 - 2 alpha (f(x) - f*) + c1 alpha^2 G2
    + S cd alpha^3 G2``.
    """
    r, alpha = a.round, eta * tau
    before, after = r.x - BEST, r.next - BEST
    G = local.whole_mean(r, a.g())
    noise = a.c1 * alpha**2 * G2 + S * a.cd * alpha**3 * G2
    target = k.norm2(before) - k.norm2(after) + k.constant(noise) - gap(a) * (2 * alpha)
    return combine(
        (progress(a), 2 * eta),
        (local.whole_update(r, before), -2),
        (local.whole_update(r, r.next - r.x), -1),
        (local.whole_update(r, G), eta),
        (second_moment(a), eta**2),
        (drift(a), S * eta),
        target=target,
    )


def mean_gap(a: Weighted) -> Theorem:
    """Return the sum over rounds; the distances telescope.

    ``1/T sum eta (f(x) - f*) <= I/(2 tau T) + c1 tau G2/(2T) sum eta^2
    + S cd tau^2 G2/(2T) sum eta^3``.
    """
    return local.nearer(approach(a), a.round, T, 1 / (2 * tau * T))


RATE, LEVEL, WAY = (notation.positive(name) for name in ("rate", "level", "way"))


def tuned_gap(a: Weighted, level: Theorem) -> Theorem:
    """Return the mean gap of x(0) to x(T) at the best constant rate.

    ``1/(T+1) sum_{t<=T} (f(x) - f*) <= v r + cd/2 S r^2`` for ``eta tau v = r`` and
    ``||x(0) - x*||^2/(T+1) <= r^2``.

    Args:
        a: the algorithm.
        level: ``v^2 - c1 G2 >= 0``.

    Returns:
        The bound.
    """
    family = k.RoundFamily("eta", Sort.POSITIVE)
    values = ((family, k.Rate(RATE)), (k.Var("T", Sort.COUNT), T + 1))
    whole = rules.instantiate(mean_gap(a), values, ())
    far = k.norm2(k.iterate(a.at(k.Rate(RATE)), 0) - BEST)
    alpha = RATE * tau
    near = rules.assume(k.constant(WAY**2) - far * (1 / (T + 1)))
    more, less = (rules.assume(k.constant(c * (alpha * LEVEL - WAY))) for c in (1, -1))
    smaller = combine(level, target=k.constant(LEVEL**2 - G2))
    return combine(
        (whole, 1 / RATE),
        (near, 1 / (2 * alpha)),
        (more, WAY / (2 * alpha)),
        (level, alpha / 2),
        (less, LEVEL / 2),
        (smaller, S * a.cd * alpha**2 / 2),
        (less, S * a.cd * (alpha * LEVEL + WAY) / 2),
    )
