r"""A round of the general convex case, seen from many models at once.

A round brings the model nearer to every y that is known before it,

.. math:: E\|x^{t+1}-y\|^2\le E\|x^t-y\|^2-2\theta(f(x^t)-f(y))+\epsilon_t,

:math:`\theta=\eta^t\tau`, :math:`\epsilon_t=c_1\theta^2G^2+Sc_d\theta^3G^2`: with
weights :math:`c_s=b_{s+1}-b_s\ge0` to the models of earlier rounds s, and
:math:`b_0` to :math:`x^*`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Lin, Local, constant, summed, weight
from sfl_theory.proofs import derived, weighted_rounds
from sfl_theory.proofs import local_steps as local
from sfl_theory.proofs.local_steps import G2, S, i, n, now, whole_mean
from sfl_theory.proofs.notation import combine, nat, of, steps, sum_over
from sfl_theory.proofs.weighted_rounds import (
    BEST,
    Weighted,
    drift,
    eta,
    second_moment,
    tau,
)

s = nat("s")
STEP = of(s)
RATE = k.RoundFamily("eta", Sort.POSITIVE)
"""The rates eta(t)."""


@dataclass(frozen=True)
class References:
    """The weights of the models that a model is compared with.

    Attributes:
        share: t -> b(t) > 0.
        left: t -> rho(t) >= 0, the sum of the rates from round t to round T.
        rises: ``b(t) <= b(t + 1)``, for a round given as a number.
        sums: ``eta(t) + rho(t + 1) <= rho(t)``.
        falls: ``rho(t) (b(t + 1) - b(t)) <= eta(t) b(t + 1)``.
        positive: ``rho(t) >= 0``.
        ends: ``eta(T) <= rho(T)`` and ``1 <= eta(T) b(T)``.
        rate: the rate of every round; None: eta(t).
    """

    share: Callable[[Ratio], Ratio]
    left: Callable[[Ratio], Ratio]
    rises: Callable[[Ratio], Theorem]
    sums: Theorem
    falls: Theorem
    positive: Theorem
    ends: tuple[Theorem, Theorem]
    rate: Ratio | None = None

    def c(self, at: Ratio) -> Ratio:
        """Return the weight of the model of a round."""
        return self.share(at + 1) - self.share(at)

    def over(self, upper: Ratio, form: Lin) -> Lin:
        """Return ``sum_{s<upper} c_s form``."""
        return summed(steps(upper), s, form * self.c(STEP))

    def summed(self, theorem: Theorem, upper: Ratio) -> Theorem:
        """Return the theorem summed likewise."""
        return sum_over(theorem, steps(upper), s, self.c(STEP), [self.rises(STEP)])

    def weight(self, upper: Ratio) -> Ratio:
        """Return ``b(0) + sum_{s<upper} c_s``, written as a sum."""
        own = self.over(upper, constant(1)) + constant(self.share(ratio(0)))
        return rules.number_of(own)

    def telescoped(self, form: Lin, upper: Ratio) -> Theorem:
        """Return that `weight` times a form is b(upper) times it."""
        return derived.telescope(s, form * self.share(STEP), upper)


def model(a: Weighted, at: Ratio) -> k.Vec:
    """Return ``x(t)``."""
    return k.iterate(a.run, at)


def gap(a: Weighted, at: Ratio) -> Lin:
    """Return ``f(x(t)) - f*``."""
    return k.value_of(MEAN, model(a, at)) - k.value_of(MEAN, BEST)


def lowest(a: Weighted, at: Ratio) -> Theorem:
    """Return ``f(x(t)) - f* >= 0``."""
    return derived.lowest(MEAN, model(a, at))


# One round against all references ----------------------------------------------------


def progress(a: Weighted, y: k.Vec) -> Theorem:
    """Return ``<M, x - y> >= tau (f(x) - f(y)) - S/2 D`` without draws, for any y."""
    r = a.round
    p, gp = r.point(of(i)), r.local_gradient(of(i))
    one = combine(
        rules.smooth(Local(n), S, p, r.x), derived.convex(Local(n), ratio(0), p, y)
    )
    return combine(
        r.summed(one, tau, weight(n)),
        local.linear_both(r, gp, r.x - y, tau, weight(n)),
        (rules.mean_value(r.x), -tau),
        (rules.mean_value(y), tau),
    )


@cache
def near(a: Weighted) -> Theorem:
    """Return ``sum_n a_n sum_i ||p_i - x||^2 <= cd eta^2 tau^3 G2`` without draws.

    With draws, SFL-V2's visits have their own weights.
    """
    r, size = a.round, eta**2 * tau**2
    if a.kind.visits:
        return drift(a)
    one = r.summed(weighted_rounds.own_drift(a), tau, weight(n))
    target = constant(a.cd * size * tau * G2) - r.drift(tau, weight(n))
    return combine(one, target=target)


def cost(a: Weighted) -> Ratio:
    """Return ``c1 alpha^2 G2 + S cd alpha^3 G2``."""
    alpha = eta * tau
    return a.c1 * alpha**2 * G2 + S * a.cd * alpha**3 * G2


def away(a: Weighted, w: References, at: Ratio, upper: Ratio) -> Lin:
    """Return ``P``, the weighted squared distances of x(at)."""
    apart = k.norm2(model(a, at) - model(a, STEP))
    return w.over(upper, apart) + k.norm2(model(a, at) - BEST) * w.share(ratio(0))


# A sum over clients of sums over references is one over references of f ---------------


def own_gap(a: Weighted, at: Ratio) -> Lin:
    """Return ``F_n(x(at)) - F_n(x*)``."""
    F = Local(n)
    return k.value_of(F, model(a, at)) - k.value_of(F, BEST)


def through_clients(a: Weighted, w: References, upper: Ratio) -> Theorem:
    """Return ``sum_n a_n sum_s c_s gap_n(s) = sum_s c_s gap(s)``."""
    mine = combine(rules.mean_value(model(a, STEP)), (rules.mean_value(BEST), -1))
    form = own_gap(a, STEP) * (w.c(STEP) * weight(n))
    return combine(
        sum_over(mine, steps(upper), s, w.c(STEP)),
        rules.exchange(steps(upper), s, k.CLIENTS, n, form),
    )


def toward_drawn(a: Weighted, w: References, upper: Ratio) -> Theorem:
    """Return `toward` for SFL-V2, where the draws decide on the local points."""
    r, x, first = a.round, a.round.x, w.share(ratio(0))
    p, gp, binder = r.point(of(i)), r.local_gradient(of(i)), steps(upper)
    each = (x - model(a, STEP)) * w.c(STEP)
    u, C = summed(binder, s, each) + (x - BEST) * first, w.weight(upper)
    smooth = rules.smooth(Local(n), S, p, x)

    def from_point(y: k.Vec) -> Theorem:
        return combine(smooth, derived.convex(Local(n), ratio(0), p, y))

    one = combine(
        w.summed(from_point(model(a, STEP)), upper),
        (from_point(BEST), first),
        rules.linear(binder, s, each, gp),
    )
    own = w.over(upper, own_gap(a, now) - own_gap(a, STEP)) + own_gap(a, now) * first
    return combine(
        r.summed(one, tau, a.share),
        local.linear_both(r, gp, u, tau, a.share),
        (a.averaged(summed(k.CLIENTS, n, own * a.share)), tau),
        (rules.mean_value(x), -tau * C),
        (rules.mean_value(BEST), tau * C),
        (through_clients(a, w, upper), tau),
    )


def toward(a: Weighted, w: References, upper: Ratio) -> Theorem:
    """Return ``<H, u> >= tau (sum_s c_s (f(x) - f(x_s)) + b(0) gap) - S/2 C D``.

    H is the weighted sum of the round's gradients without their noise, u that of what
    the model is away from its references.
    """
    if a.partial and a.kind.visits:
        return toward_drawn(a, w, upper)
    r, first = a.round, w.share(ratio(0))
    each = (r.x - model(a, STEP)) * w.c(STEP)
    u = summed(steps(upper), s, each) + (r.x - BEST) * first
    gp = r.local_gradient(of(i))
    return combine(
        w.summed(progress(a, model(a, STEP)), upper),
        (progress(a, BEST), first),
        rules.linear(steps(upper), s, each, local.own_mean(r, gp)),
        a.averaged(k.inner(whole_mean(r, gp), u)),
    )


@cache
def one_round(a: Weighted, w: References, upper: Ratio) -> Theorem:
    r"""Return what a round does to P, for the references of rounds below a limit."""
    r, binder, first = a.round, steps(upper), w.share(ratio(0))
    x, step = r.x, r.next - r.x
    each = (x - model(a, STEP)) * w.c(STEP)
    u = summed(binder, s, each) + (x - BEST) * first
    C = w.weight(upper)
    positive = w.summed(combine(target=constant(1)), upper)
    positive = combine(positive, target=constant(C))
    G = whole_mean(r, a.g())
    fall = w.over(upper, k.value_of(MEAN, x) - k.value_of(MEAN, model(a, STEP)))
    fall = fall + gap(a, now) * first
    return combine(
        (toward(a, w, upper), 2 * eta),
        (local.centred_by(a.round, a.share, u), 2 * eta),
        (local.whole_update(r, u), -2),
        (rules.linear(binder, s, each, step), 2),
        (local.whole_update(r, step), -C),
        (local.whole_update(r, G), eta * C),
        (second_moment(a), eta**2 * C),
        (near(a), S * eta * C),
        target=away(a, w, now, upper)
        - away(a, w, now + 1, upper)
        - fall * (2 * eta * tau)
        + constant(C * cost(a)),
        signs=[positive, combine((positive, eta**2)), combine((positive, S * eta))],
    )
