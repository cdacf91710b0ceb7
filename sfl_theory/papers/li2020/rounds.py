r"""From one step to Theorem 1: rates, the recursion times u (u - 1), its sums.

With :math:`u=\gamma+s`, s the paper's number of the step, the rate is
:math:`\eta_s=2/(\mu u)`. It is a family with :math:`\mu(\gamma+s)\eta_s=2`, for sums
over steps have no denominators that depend on the step.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules, terms
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Lin, Vec, constant, iterate, norm2
from sfl_theory.papers.li2020 import one_step as st
from sfl_theory.papers.li2020.one_step import WALK, of_paper
from sfl_theory.proofs import derived
from sfl_theory.proofs.counted_steps import EARLY, at_step, eta, rate
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.minibatch_stepwise import BEST, MADE, J, K, S, j, mu, now, t
from sfl_theory.proofs.notation import combine, nat, of, positive, steps, sum_over

gamma, RUN = positive("gamma"), WALK.run
r, v, o = nat("r"), nat("v"), nat("o")
d, e = of(nat("d")), of(nat("e"))


# Rates ------------------------------------------------------------------------------


def number(at: Ratio) -> Ratio:
    """Return the paper's number of a step of round t."""
    return K * now + at + 1


def falls(s: Ratio) -> Ratio:
    """Return what is >= 0 if the rate of step s + 1 is no larger than that of s."""
    return eta(s) - eta(s + 1)


def rates_fall(s: Ratio, later: Ratio) -> Theorem:
    """Return ``eta_s >= eta_{s + later}``."""

    def claim(at: Ratio) -> Lin:
        return constant(eta(s) - eta(s + at))

    one = combine(rules.assume(claim(of(o))), at_step(falls, s + of(o)))
    always = rules.induct(combine(target=claim(ratio(0))), one, o, claim(of(o)))
    return rules.instantiate(always, ((o, later),), ())


def twice(s: Ratio, later: Ratio, rest: Ratio) -> Theorem:
    """Return ``eta_s <= 2 eta_{s + later}``, for E = later + rest."""
    slow = at_step(lambda at: 2 * eta(at + later + rest) - eta(at), s)
    return combine(slow, (rates_fall(s + later, rest), 2))


def slow_enough() -> Theorem:
    """Return `twice` of any step."""
    return twice(of(v) + 1, d, e)


def above(s: Ratio) -> Ratio:
    """Return what is >= 0 if the rate is at least ``2/(mu (gamma + s))``."""
    return mu * (gamma + s) * eta(s) - 2


def below(s: Ratio) -> Ratio:
    """Return what is >= 0 if the rate is at most that."""
    return -above(s)


SMOOTH = rules.assume(constant(gamma - 8 * S / mu))
LONG = rules.assume(constant(gamma - K))


def small(s: Ratio) -> Theorem:
    """Return ``eta_s <= 1/(4 L)``."""
    return combine(
        (at_step(below, s), 1 / (8 * S)),
        (SMOOTH, mu * eta(s) / (8 * S)),
        target=constant(1 / (4 * S) - eta(s)),
    )


def doubled() -> Theorem:
    """Return ``eta_j <= 2 eta_i`` for steps i, j < E of a round."""
    u = mu * (gamma + number(EARLY))
    return combine(
        (at_step(above, number(J)), 1 / u),
        (at_step(below, number(EARLY)), 1 / u),
        (LONG, mu * rate(J) / u),
        (MADE, mu * rate(J) / u),
        target=constant(2 * rate(J) - rate(EARLY)),
    )


def lemma_1() -> Theorem:
    """Return Lemma 1 for ``eta <= 1/(4 L)``."""
    return of_paper(st.lemma_1())


def lemma_2() -> Theorem:
    """Return Lemma 2."""
    return of_paper(st.lemma_2())


def lemma_3() -> Theorem:
    """Return Lemma 3 for rates of which none since the round began is over twice."""
    return of_paper(st.lemma_3(rules.assume(constant(2 * rate(J) - rate(EARLY)))))


def rate_is_small() -> Theorem:
    """Return `small` of any step."""
    return of_paper(small(of(v) + 1))


def rate_falls() -> Theorem:
    """Return ``eta_{s+1} <= eta_s``."""
    s = of(v) + 1
    u = mu * (gamma + s)
    return combine(
        (at_step(above, s), 1 / u),
        (at_step(below, s + 1), 1 / u),
        target=constant(eta(s) - eta(s + 1)),
    )


def rate_falls_slowly() -> Theorem:
    """Return ``eta_s <= 2 eta_{s+E}``."""
    s = of(v) + 1
    u = mu * (gamma + s)
    slow = combine(
        (at_step(above, s + K), 1 / u),
        (at_step(below, s), 1 / u),
        (LONG, mu * eta(s + K) / u),
        target=constant(2 * eta(s + K) - eta(s)),
    )
    return of_paper(slow)


# Theorem 1 --------------------------------------------------------------------------


def noises() -> Lin:
    """Return ``B = sum_k p_k^2 sigma_k^2 + 6 L Gamma + 8 (E - 1)^2 G^2``."""
    return constant(st.noises()) + st.heterogeneity() * (6 * S)


@cache
def one_step() -> Theorem:
    """Return ``u (u - 1) D' <= (u - 1) (u - 2) D + 4 B/mu^2``.

    Lemmas 1-3 times u (u - 1), where mu u eta = 2; ``D = ||wbar - w*||^2``.
    """
    s, h = number(J), rate(J)
    u = gamma + s
    low, high = at_step(above, s), at_step(below, s)
    size = u * (u - 1)
    less = combine(
        (high, (mu * u * h + 2) / mu**2), target=constant(4 / mu**2 - size * h**2)
    )
    return combine(
        (rules.cut(st.lemma_1(), small(s)), size),
        (st.lemma_2(), size * h**2),
        (st.lemma_3(doubled()), 2 * size),
        (less, st.noises()),
        (st.heterogeneous(), 6 * S * (4 / mu**2 - size * h**2)),
        (WALK.middle(J) - BEST, (u - 1) * (mu * u * h - 2)),
        target=WALK.distance(J) * ((u - 1) * (u - 2))
        + noises() * (4 / mu**2)
        - WALK.distance(J + 1) * size,
        signs=[low, less],
    )


def scaled(at: Ratio, u: Vec) -> Lin:
    """Return ``(gamma + at) (gamma + at - 1) ||u - w*||^2``."""
    return norm2(u - BEST) * ((gamma + at) * (gamma + at - 1))


@cache
def within(upper: Ratio) -> Theorem:
    """Return what `upper` steps of a round do: `scaled` grows by 4 B/mu^2 a step."""
    x, at = iterate(RUN, now), K * now
    size = (gamma + at) * (gamma + at - 1)
    return combine(
        sum_over(one_step(), steps(upper), j),
        derived.telescope(j, scaled(at + J, WALK.middle(J)), upper),
        (WALK.start_of_mean(WALK.middle(0) + x - 2 * BEST), -size),
        target=scaled(at, x)
        + noises() * (4 * upper / mu**2)
        - scaled(at + upper, WALK.middle(upper)),
    )


@cache
def distance() -> Theorem:
    """Return the same after r whole rounds."""
    later, at = iterate(RUN, now + 1), K * (now + 1)
    ends = WALK.ends(later + WALK.middle(K) - 2 * BEST)
    one = combine(within(K), (ends, (gamma + at) * (gamma + at - 1)))
    return combine(
        sum_over(one, steps(of(r)), t),
        derived.telescope(t, scaled(K * now, iterate(RUN, now)), of(r)),
        target=scaled(ratio(0), iterate(RUN, 0))
        + noises() * (4 * K * of(r) / mu**2)
        - scaled(K * of(r), iterate(RUN, of(r))),
    )


def bound(made: Ratio) -> Lin:
    """Return ``kappa/(gamma + made) (2 B/mu + mu gamma/2 ||w_1 - w*||^2)``."""
    start = norm2(iterate(RUN, 0) - BEST) * (mu * gamma / 2)
    return (noises() * (2 / mu) + start) * (S / mu / (gamma + made))


def _bounded(near: Theorem, p: Vec, made: Ratio, by: Ratio | None = None) -> Theorem:
    """Return ``F(p) - F* <= bound(by)`` from a bound on ``scaled(made, p)``."""
    by = made if by is None else by
    low, high = gamma + made - 1, gamma + made
    more = combine(LONG, target=constant(gamma - 1))
    c = S / (2 * low * high)
    rest = 4 / mu**2 * (low * high / (gamma + by) - made) * c
    spare = combine((more, 4 / mu**2 * c), target=constant(rest))
    return combine(
        (near, c),
        value_gap(S, p),
        (spare, st.noises()),
        (st.heterogeneous(), 6 * S * rest),
        (iterate(RUN, 0) - BEST, gamma * c * (low * high / (gamma + by) - gamma + 1)),
        target=bound(by) - terms.value_of(MEAN, p) + terms.value_of(MEAN, BEST),
        signs=[spare],
    )


def theorem_1(rounds: Ratio, sharp: bool = True) -> Theorem:
    """Return Theorem 1 after whole rounds, at least one.

    Its T - 1 is the number of steps made (`sharp`), or one less.
    """
    made = K * rounds
    near = rules.instantiate(distance(), ((r, rounds),), ())
    whole = _bounded(near, iterate(RUN, rounds), made, made if sharp else made - 1)
    return of_paper(whole)


def theorem_1_within(rounds: Ratio, steps_: Ratio) -> Theorem:
    """Return Theorem 1 after whole rounds and steps of the next one, at least one."""
    before = rules.instantiate(distance(), ((r, rounds),), ())
    last = rules.instantiate(within(steps_), ((t, rounds),), ())
    mean_ = terms.vec_at(WALK.middle(steps_), {t: rounds})
    return of_paper(_bounded(combine(before, last), mean_, K * rounds + steps_))
