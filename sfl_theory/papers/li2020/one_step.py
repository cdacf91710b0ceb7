r"""One step of FedAvg, from its definition to Lemmas 1-3, by the kernel's rules.

The run is SFL-V1 whose sides make E steps in step: whole models :math:`p_k^{t,i}` move
from x(t), and their mean is x(t+1). Step i of round t is the paper's step
:math:`s=Et+i+1`, its rate :math:`\eta_s`; :math:`\bar w` is the mean of the models.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.rules import Theorem, stochastic
from sfl_theory.kernel.terms import CLIENTS, Local, Vec, constant, inner, norm2, weight
from sfl_theory.proofs import derived, noises, notation, unrolled
from sfl_theory.proofs.notation import combine, mean, nat, of, positive, steps, sum_over

k = terms.Client("k")
t, i, j, v = nat("t"), nat("i"), nat("j"), nat("v")
now, step = of(t), of(i)
E = notation.count("tau")
L, mu, gamma = positive("L"), positive("mu"), positive("gamma")
G2 = notation.nonnegative("G2")
sigma2 = notation.per_client("sigma2", k)
HALF = Fraction(1, 2)
BEST = terms.vec(terms.Star(terms.MEAN))
MADE = rules.assume(constant(E - 1 - step))
STARTED = combine(MADE, target=constant(E - step))
"""Step i is made, so the steps before it are."""
LEAST = -notation.per_client("least", k)
"""F_k*: no larger than F_k where `reached` says so; the proof needs nothing else."""


def eta(at: Number) -> Ratio:
    """Return the rate of the paper's step, which counts from 1."""
    return terms.symbol(
        terms.PerRound(terms.RoundFamily("eta", Sort.POSITIVE), terms.natural(at))
    )


_PACE = terms.Stepwise(terms.natural(E), terms.Rate(eta(notation.of_round() + 1)))
RUN = terms.Split(terms.Kind.V1, terms.Participants.EVERYONE, _PACE, _PACE)


def number(at: Number, round_: Number = now) -> Ratio:
    """Return the paper's number of a step."""
    return E * round_ + at + 1


def point(at: Number, client: terms.Client = k) -> Vec:
    """Return a client's model before a step."""
    return terms.local_point(RUN, client, now, at)


def local_gradient(at: Number) -> Vec:
    """Return the gradient of a client's function there."""
    return terms.gradient(Local(k), point(at))


def averaged(u: Vec) -> Vec:
    """Return ``sum_k p_k u``."""
    return terms.summed(CLIENTS, k, u * weight(k))


def model(at: Number) -> Vec:
    """Return the mean of the clients' models before a step."""
    return averaged(point(at))


def noise_of(at: Number) -> Vec:
    """Return ``g_t - gbar_t``, the noise of the mean gradient of a step."""
    return averaged(terms.noise(RUN, k, now, at))


def clients(theorem: Theorem) -> Theorem:
    """Return the theorem averaged over the clients."""
    return sum_over(theorem, CLIENTS, k, weight(k))


def of_mean(u: Vec, w: Vec) -> Theorem:
    """Return ``<sum_k p_k u, w> = sum_k p_k <u, w>``."""
    return rules.linear(CLIENTS, k, u * weight(k), w)


# How the models move ----------------------------------------------------------------


def moved(at: Number, w: Vec) -> Theorem:
    """Return ``<p_at - x + sum_{j<at} eta g_j, w> = 0``."""
    total = _away(at) + terms.summed(steps(at), j, _step(of(j)))
    sides = [
        (derived.local_update(RUN, k, now, ratio(at), s, w), 1) for s in terms.Side
    ]
    whole = combine(rules.blocks(total, w), *sides, target=inner(total, w))
    if ratio(at) != step:
        return whole
    return rules.cut(whole, STARTED)


def _away(at: Number) -> Vec:
    return point(at) - terms.iterate(RUN, now)


def _step(at: Ratio) -> Vec:
    return stochastic(RUN, k, now, at) * eta(number(at))


def next_step(w: Vec, sign: int) -> Theorem:
    """Return ``sign <p_{i+1} - p_i + eta g_i, w> >= 0``."""
    g, up = _step(of(j)), step + 1
    return combine(
        (rules.split(j, inner(g, w), step, ratio(1)), -sign),
        (rules.linear(steps(up), j, g, w), -sign),
        (rules.linear(steps(step), j, g, w), sign),
        (moved(up, w), sign),
        (moved(step, w), -sign),
        target=inner(point(up) - point(step) + _step(step), w) * sign,
    )


def mean_step() -> Theorem:
    """Return ``||wbar' - w*||^2 <= ||wbar - eta g - w*||^2``."""
    before, after = model(step) - averaged(_step(step)) - BEST, model(step + 1) - BEST
    apart = point(step + 1) - point(step) + _step(step)
    both = before + after
    return combine(
        clients(next_step(both, -1)),
        (of_mean(apart, both), -1),
        target=norm2(before) - norm2(after),
    )


def starts(w: Vec) -> Theorem:
    """Return ``<wbar - x, w> = 0`` before the first step of a round."""
    g = _step(of(j))
    none = combine(
        rules.linear(steps(0), j, g, w),
        (rules.split(j, inner(g, w), ratio(0), ratio(0)), -1),
    )
    away = combine(moved(0, w), (none, -1))
    return combine(
        clients(away),
        of_mean(point(0), w),
        target=inner(model(0) - terms.iterate(RUN, now), w),
    )


def ends(w: Vec) -> Theorem:
    """Return ``<x' - wbar, w> = 0`` after the last step of a round."""
    g = terms.summed(steps(E), j, _step(of(j)))
    change = terms.iterate(RUN, now + 1) - terms.iterate(RUN, now) + averaged(g)
    sides = [(rules.update(RUN, side, now, w), 1) for side in terms.Side]
    update = combine(rules.blocks(change, w), *sides, target=inner(change, w))
    both = _away(E) + g
    return combine(
        update,
        (clients(moved(E, w)), -1),
        (of_mean(both, w), -1),
        target=inner(terms.iterate(RUN, now + 1) - model(E), w),
    )


# Lemma 1 ----------------------------------------------------------------------------


def centred() -> Theorem:
    """Return ``<g_t - gbar_t, wbar - w* - eta gbar_t> = 0``: E[g | past] = gbar."""
    mean_g = averaged(local_gradient(step))
    return _noise_against(model(step) - BEST - mean_g * eta(number(step)))


def _noise_against(known: Vec) -> Theorem:
    xi = terms.noise(RUN, k, now, step)
    each = unrolled.centred(RUN, k, now, step, known)
    return combine(clients(each), of_mean(xi, known))


def uncorrelated() -> Theorem:
    """Return ``||g_t - gbar_t||^2 <= sum p_k^2 ||xi_k||^2`` for independent samples."""
    return combine((noises.of_steps(RUN, k, now, step, step), -1))


def reached(y: Vec) -> terms.Lin:
    """Return what is >= 0 if F_k* is at most F_k where a gradient step from y leads."""
    F = Local(k)
    return terms.value_of(F, y - terms.gradient(F, y) * (1 / L)) - constant(LEAST)


def least_gap(y: Vec) -> Theorem:
    """Return ``||grad F_k(y)||^2 <= 2 L (F_k(y) - F_k*)``."""
    F, g = Local(k), terms.gradient(Local(k), y)
    step_ = rules.smooth(F, L, y, y - g * (1 / L))
    gap = terms.value_of(F, y) - constant(LEAST)
    return combine(
        (step_, 2 * L),
        (rules.assume(reached(y)), 2 * L),
        target=gap * (2 * L) - norm2(g),
    )


def heterogeneity() -> terms.Lin:
    """Return ``Gamma = F* - sum_k p_k F_k*``."""
    return terms.value_of(terms.MEAN, BEST) - constant(mean(k, weight(k) * LEAST))


def heterogeneous() -> Theorem:
    """Return ``Gamma >= 0``."""
    each = clients(rules.assume(terms.value_of(Local(k), BEST) - constant(LEAST)))
    return combine(each, rules.mean_value(BEST), target=heterogeneity())


def apart(at: Ratio = step) -> terms.Lin:
    """Return ``sum_k p_k ||wbar - w_k||^2``."""
    return terms.summed(CLIENTS, k, norm2(model(at) - point(at)) * weight(k))


@cache
def lemma_1(small: Theorem) -> Theorem:
    """Return Lemma 1, from a theorem ``1 - 4 L eta >= 0``.

    The paper's steps; its gamma_t is ``c = 2 eta (1 - 2 L eta)``.
    """
    rate = eta(number(step))
    bar, p, F = model(step), point(step), Local(k)
    g, there = local_gradient(step), terms.gradient(Local(k), model(step))
    z, d = noise_of(step), model(step) - BEST
    half = combine((small, HALF), target=constant(1 - 2 * L * rate))
    c = 2 * rate * (1 - 2 * L * rate)
    gap = c * (1 - L * rate)
    double = combine((half, 2 * rate))
    signs = [
        half,
        combine((half, mu * rate)),
        combine((half, 2 * rate * (1 - L * rate)), signs=[double]),
    ]
    one = combine(
        (least_gap(p), 2 * rate**2),
        # <w_k - w*, grad F_k(w_k)>
        (derived.convex(F, mu, p, BEST), 2 * rate),
        # F_k(w_k) >= F_k(wbar) + <grad F_k(wbar), w_k - wbar>
        (derived.convex(F, mu, bar, p), c),
        (least_gap(bar), c * rate / 2),
        (p - bar - g * rate, 1),
        (there * rate + p - bar, 1 - 2 * L * rate),
        (p - bar, 2 * L * rate + c * mu / 2),
        signs=signs,
    )
    return combine(
        mean_step(),
        (centred(), 2 * rate),
        (rules.jensen(CLIENTS, k, weight(k), g), rate**2),
        (of_mean(g, d), 2 * rate),
        clients(one),
        (rules.jensen(CLIENTS, k, weight(k), p - BEST), mu * rate),
        (rules.mean_value(BEST), 2 * rate),
        (rules.mean_value(bar), -gap),
        (derived.lowest(terms.MEAN, bar), gap),
        (heterogeneous(), 4 * L**2 * rate**3),
        target=norm2(d) * (1 - rate * mu)
        + norm2(z) * rate**2
        + heterogeneity() * (6 * L * rate**2)
        + apart() * 2
        - norm2(model(step + 1) - BEST),
        signs=signs,
    )


# Lemmas 2 and 3 ---------------------------------------------------------------------


def lemma_2() -> Theorem:
    """Return ``||g_t - gbar_t||^2 <= sum_k p_k^2 sigma_k^2``."""
    bound = derived.variance(RUN, sigma2, k, now, step)
    each = sum_over(bound, CLIENTS, k, weight(k) ** 2)
    return combine(uncorrelated(), each)


def lemma_3(twice: Theorem) -> Theorem:
    """Return Lemma 3, from ``2 eta_t - eta_t' >= 0`` for its step i and any j < i.

    ``sum_k p_k ||wbar - w_k||^2 <= sum_k p_k ||w_k - x||^2``, Cauchy-Schwarz over the
    i <= E - 1 steps since the round began.
    """
    rate, early = eta(number(step)), eta(number(of(j)))
    p, x, away = point(step), terms.iterate(RUN, now), _away(step)
    g = stochastic(RUN, k, now, of(j))
    total = terms.summed(steps(step), j, g * early)
    bounded = derived.bounded_gradient(RUN, G2, k, now, of(j))
    slow = combine((twice, 2 * rate + early), target=constant(4 * rate**2 - early**2))
    one = combine((bounded, early**2), (slow, G2))
    own = combine(
        (moved(step, away), -1),
        moved(step, total),
        rules.jensen(steps(step), j, ratio(1), g * early),
        (sum_over(one, steps(step), j), step),
        (MADE, 4 * rate**2 * G2 * (E - 1 + step)),
        target=constant(4 * rate**2 * G2 * (E - 1) ** 2) - norm2(away),
    )
    whole = combine(
        clients(own),
        (of_mean(p, model(step) - x), -2),
        (model(step) - x, 1),
        target=constant(4 * rate**2 * G2 * (E - 1) ** 2) - apart(),
    )
    return rules.cut(whole, STARTED)
