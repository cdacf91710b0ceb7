"""Statements with proofs in the library on which the kernel's tests try things."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.kernel.hypotheses import (
    Convex,
    Holds,
    Majorised,
    Minimiser,
    Smooth,
    every,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs import foundations as basics
from sfl_theory.proofs import joint_distance as general
from sfl_theory.proofs import non_convex as both
from sfl_theory.proofs import partial_visits as partly
from sfl_theory.proofs import sharp_rounds as sharp
from sfl_theory.proofs import strongly_convex as strong
from sfl_theory.proofs.export import Statement
from sfl_theory.proofs.local_steps import G2, N, Round, S, eps2, n, sigma2, t
from sfl_theory.proofs.notation import (
    combine,
    count,
    inverse_q,
    mean,
    nat,
    nonnegative,
    of,
    point,
    positive,
    steps,
)
from sfl_theory.proofs.weighted_rounds import Weighted, mean_gap


def gradient_descent_statement() -> Statement:
    """Return ``F(x^T) - F* <= S ||x^0 - x*||^2 / (2T)`` for steps 1/S, T >= 1."""
    S, T = positive("S"), count("T")
    run, best = k.Descent(basics.F, k.Rate(1 / S)), k.vec(k.Star(basics.F))
    left = k.value_of(basics.F, k.iterate(run, T)) - k.value_of(basics.F, best)
    right = k.norm2(k.iterate(run, 0) - best) * (S / (2 * T))
    assumed = frozenset({
        Smooth(basics.F, S),
        Convex(basics.F, ratio(0)),
        Minimiser(basics.F),
    })
    return Statement("readme/gradient-descent", assumed, left, right)


def gradient_descent() -> Theorem:
    """Return its proof: ``t (F(x^t) - F*) + S/2 ||x^t - x*||^2`` does not grow."""
    S, t = positive("S"), nat("t")
    run, best = k.Descent(basics.F, k.Rate(1 / S)), k.vec(k.Star(basics.F))

    def energy(r: Ratio) -> k.Lin:
        gap = k.value_of(basics.F, k.iterate(run, r)) - k.value_of(basics.F, best)
        first, now = k.iterate(run, 0) - best, k.iterate(run, r) - best
        return (k.norm2(first) - k.norm2(now)) * (S / 2) - gap * r

    x, y, now = k.iterate(run, of(t)), k.iterate(run, of(t) + 1), of(t)
    zero = ratio(0)
    step = combine(
        rules.assume(energy(now)),
        (rules.smooth(basics.F, S, x, y), now + 1),
        derived.convex(basics.F, zero, x, best),
        (rules.descend(run, now, y - x), -S * (now + 1)),
        (rules.descend(run, now, x - best), -S),
        (y - x, now * S / 2),
        target=energy(now + 1),
    )
    always = rules.induct(combine(target=energy(zero)), step, t, energy(now))
    T = count("T")
    last = rules.instantiate(always, ((t, T),), ())
    return combine((last, 1 / T), (k.iterate(run, T) - best, S / (2 * T)))


def lemma_c3_statement() -> Statement:
    """Return Lemma C.3 for S >= mu; smoothness is the one-sided Assumption 3.1."""
    S, mu, h = nonnegative("S"), nonnegative("mu"), k.NamedFunction("h")
    x, y, z = point("x"), point("y"), point("z")
    left = (
        k.value_of(h, z)
        - k.value_of(h, y)
        + k.norm2(y - z) * (mu / 4)
        - k.norm2(z - x) * S
    )
    right = k.inner(k.gradient(h, x), z - y)
    assumed = {Majorised(h, S), Convex(h, mu), Holds(k.constant(S - mu))}
    return Statement("han2024/lemma-C.3", frozenset(assumed), left, right)


def prop_35_statement() -> Statement:
    """Return ``f(x) - f* <= S/2 (||x_s - x_s*||^2 + ||x_c - x_c*||^2)``, (9)."""
    S, n, away = positive("S"), k.Client("n"), point("x") - k.vec(k.Star(k.MEAN))
    left = k.value_of(k.MEAN, point("x")) - k.value_of(k.MEAN, k.vec(k.Star(k.MEAN)))
    both = k.norm2(k.part(k.Side.SERVER, away)) + k.norm2(k.part(k.Side.CLIENT, away))
    assumed = {every(k.CLIENTS, n, Majorised(k.Local(n), S)), Minimiser(k.MEAN)}
    return Statement("han2024/prop-3.5", frozenset(assumed), left, both * (S / 2))


def non_convex_statement(p: both.TwoPaces, name: str) -> Statement:
    """Return (13) or (19) as printed; smoothness is Lipschitz gradients, (24)."""
    r, best = p.round, k.vec(k.Star(k.MEAN))

    def rounds(form: k.Lin) -> k.Lin:
        return k.summed(steps(both.T), t, form)

    squares = p.low**2 + p.high**2
    own = k.weight(n) ** 2 * (inverse_q(n) if p.partial else 1)
    bound = 8 * N * S * squares / (both.T * p.low) * mean(n, own * (sigma2(n) + eps2))
    gap = k.value_of(k.MEAN, k.iterate(p.run, 0)) - k.value_of(k.MEAN, best)
    left = rounds(k.norm2(k.gradient(k.MEAN, r.x)) * r.eta) * (1 / both.T)
    right = gap * (4 / (both.T * p.low)) + rounds(k.constant(r.eta**2)) * bound
    restrictions = {
        h.every(steps(both.T), t, h.Holds(one)) for one in both.conditions(p)
    }
    return Statement(name, both.assumptions(p.run) | restrictions, left, right)


def strongly_convex_statement() -> Statement:
    """Return the rate, candidate R1; bounded gradients are those along the run."""
    r, T = Round(strong.run()), of(t)
    u = 1 / (strong.gamma + T)
    right = strong.gap(r, ratio(0)) * (strong.gamma * u) ** 4 + k.constant(
        Fraction(56, 9) * strong.S * strong.s_a2 / (strong.tau * strong.mu**2) * u
        + Fraction(16, 3) * strong.S**2 * G2 / strong.mu**3 * u**2
    )
    assumed = {
        h.every(k.CLIENTS, n, h.Smooth(k.Local(n), strong.S)),
        h.every(k.CLIENTS, n, h.Convex(k.Local(n), strong.mu)),
        h.every(k.CLIENTS, n, h.Variance(r.run, n, sigma2(n))),
        h.Unbiased(r.run),
        h.Independent(r.run),
        h.BoundedGradients(r.run, G2),
        h.Minimiser(k.MEAN),
    }
    name = "han2024/thm-3.6/strongly_convex/sharper"
    return Statement(name, frozenset(assumed), strong.gap(r, T), right)


def printed_statement() -> Statement:
    """Return (11) of theorem 3.6 for tau = tau_server; the two printed rates agree."""
    sharper = strongly_convex_statement()
    name = "han2024/thm-3.6/strongly_convex/equal-paces"
    right = strong.printed_right(Round(strong.run()))
    return Statement(name, sharper.hypotheses, sharper.left, right)


def general_convex_statement() -> Statement:
    """Return ``1/T sum f(x^t) - f* <= I/(2 alpha T) + 7/12 alpha G2``, 2 S alpha <= 1.

    alpha = eta tau is the step of a round; convexity bounds the averaged model by the
    left side. Candidate R2 (a); that x* minimises f is not used.
    """
    alpha, T = general.alpha, general.T
    run = Weighted(k.Kind.V1).at(k.Rate(general.eta))
    first = k.norm2(k.iterate(run, 0) - general.BEST)
    right = first * (1 / (2 * alpha * T)) + k.constant(Fraction(7, 12) * alpha * G2)
    left = k.summed(steps(T), t, general.gap(Round(run))) * (1 / T)
    assumed = {
        h.Minimiser(k.MEAN),
        h.every(k.CLIENTS, n, h.Smooth(k.Local(n), S)),
        h.every(k.CLIENTS, n, h.Convex(k.Local(n), ratio(0))),
        h.Holds(k.constant(1 - 2 * S * alpha)),
        h.BoundedGradients(run, G2),
        h.Unbiased(run),
    }
    name = "han2024/thm-3.6/general_convex/mean-gap"
    return Statement(name, frozenset(assumed), left, right)


def general_convex() -> Theorem:
    """Return its proof: the mean gap at any rates, for a constant one."""
    family, alpha = k.RoundFamily("eta", Sort.POSITIVE), general.alpha
    whole = mean_gap(Weighted(k.Kind.V1))
    one = rules.instantiate(whole, ((family, k.Rate(general.eta)),), ())
    small = rules.assume(k.constant(1 - 2 * S * alpha))
    return combine((one, 1 / general.eta), (small, alpha * G2 / 12))


def visits_statement() -> Statement:
    """Return a repaired (16): server steps eta a_n g, any order of the visits."""
    r, best = sharp.VISITS.round, k.vec(k.Star(k.MEAN))

    def rounds(form: k.Lin) -> k.Lin:
        return k.summed(steps(sharp.T), t, form)

    gap = k.value_of(k.MEAN, k.iterate(r.run, 0)) - k.value_of(k.MEAN, best)
    spread = 4 * sharp.s_a2 + sharp.sbar2 / 2 + sharp.tau * eps2 / 2
    left = rounds(k.norm2(r.gradient) * r.eta) * (1 / sharp.T)
    right = gap * (4 / (sharp.T * sharp.tau)) + rounds(k.constant(r.eta**2)) * (
        S / sharp.T * spread
    )
    assumed = {
        h.every(k.CLIENTS, n, h.Smooth(k.Local(n), S)),
        h.every(k.CLIENTS, n, h.Variance(r.run, n, sigma2(n))),
        h.every(steps(sharp.T), t, h.Holds(k.constant(1 - 16 * S * r.eta * sharp.tau))),
        h.Unbiased(r.run),
        h.Heterogeneity(eps2),
        h.Minimiser(k.MEAN),
    }
    name = "han2024/thm-3.7/non_convex/weighted-server"
    return Statement(name, frozenset(assumed), left, right)


def partial_visits_statement() -> Statement:
    """Return a repaired (22): server steps eta a_n J_n g, any order of the visits."""
    best = k.vec(k.Star(k.MEAN))

    def rounds(form: k.Lin) -> k.Lin:
        return k.summed(steps(partly.T), t, form)

    gap = k.value_of(k.MEAN, k.iterate(partly.RUN, 0)) - k.value_of(k.MEAN, best)
    left = rounds(k.norm2(partly.g) * partly.eta) * (1 / partly.T)
    right = (gap + rounds(k.constant(partly.cost()))) * (4 / (partly.T * partly.tau))
    assumed = {
        h.every(k.CLIENTS, n, h.Smooth(k.Local(n), S)),
        h.every(k.CLIENTS, n, h.Variance(partly.RUN, n, sigma2(n))),
        h.every(steps(partly.T), t, h.Holds(k.constant(1 - 8 * partly.u))),
        h.Participation(partly.RUN),
        h.Unbiased(partly.RUN),
        h.Heterogeneity(eps2),
        h.Minimiser(k.MEAN),
    }
    name = "han2024/thm-3.9/non_convex/weighted-server"
    return Statement(name, frozenset(assumed), left, right)
