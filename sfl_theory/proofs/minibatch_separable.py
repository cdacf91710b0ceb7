r"""MiniBatch-SFL whose server gradients do not depend on the client's block.

The server's block then makes steps of plain SGD on :math:`F(w_c^*,\cdot)`, whatever the
clients do. With the rates of `minibatch_stepwise`, :math:`\Delta` the squared distance
of that block and :math:`z=[w_c^*;\bar w_s]`, a step gives

.. math:: \Delta'\le(1-\mu\eta(2-S\eta))\Delta+\eta^2\sum_na_n^2\sigma_n^2

and :math:`(x-1)(x-2)(x-3)\Delta` grows by at most :math:`\frac4{\mu^2}(x-2)` times that
sum.
"""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import CLIENTS, Local, Vec, constant, norm2, part, weight
from sfl_theory.proofs import derived
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.foundations import majorant_of_mean
from sfl_theory.proofs.mean_steps import SINGLE
from sfl_theory.proofs.minibatch import along_block, convex_mean, growth
from sfl_theory.proofs.minibatch_speedup import (
    contracted,
    over_rounds,
    scaled,
    single_step,
)
from sfl_theory.proofs.minibatch_stepwise import J, K, S, T, h, m, mu, n, now, x
from sfl_theory.proofs.notation import combine, nonnegative, sign, steps, sum_over

CLIENT, SERVER = st.CLIENT, st.SERVER
wbar = st.middle(J)
z = part(CLIENT, st.BEST) + part(SERVER, wbar)
"""The server's block, with the client's at its optimum."""
away = part(SERVER, wbar - st.BEST)
slope = part(SERVER, k.gradient(k.MEAN, z))
mine = part(SERVER, k.gradient(Local(n), st.point(J)))
ours = st.averaged(part(SERVER, k.gradient(Local(m), st.point(J, m))), m)


def same(u: Vec, way: int) -> Theorem:
    """Return ``way <sum a grad_s F_n(p_n) - grad_s F(z), u>``.

    It is at least 0, as is assumed of every client; u is of the server's block.
    """
    differs = mine - part(SERVER, k.gradient(Local(n), z))
    return combine(
        st.over(rules.assume(k.inner(differs, u) * way)),
        (st.of_mean(differs, u), way),
        (rules.mean_gradient(z, u), -way),
        target=k.inner(ours - slope, u) * way,
    )


def above_lowest() -> Theorem:
    r"""Return :math:`\|\nabla_sF(z)\|^2\le2S(F(z)-F^*)`."""
    below = z - slope * (1 / S)
    return combine(
        (majorant_of_mean(S, z, below), 2 * S), (derived.lowest(k.MEAN, below), 2 * S)
    )


def toward() -> Theorem:
    r"""Return :math:`F(z)-F^*+\frac\mu2\Delta\le\langle\nabla_sF(z),y\rangle`.

    y is the server's block, seen from its optimum.
    """
    return along_block(convex_mean(z, st.BEST), k.MEAN, mu, z, st.BEST, -away)


def above_best() -> Theorem:
    r"""Return :math:`F(z)-F^*\ge\frac\mu2\Delta`."""
    rest = z - st.BEST - away
    return combine(growth(z), (rules.blocks(rest, rest + away * 2), mu / 2))


@cache
def descent() -> Theorem:
    """Return ``Delta' <= (1 - mu h (2 - S h)) Delta + h^2 SINGLE``."""
    after = part(SERVER, st.middle(J + 1) - st.BEST)
    new = away - part(SERVER, st.averaged(st.move(J)))
    single = combine(
        derived.variance(st.RUN, st.sigma2, n, now, J),
        rules.blocks(st.xi, st.xi),
        (part(CLIENT, st.xi), 1),
    )
    left = 2 * h * (1 - S * h)
    return combine(
        (st.mean_step(after + new, -1), 1),
        (st.fresh(away - ours * h), 2 * h),
        (st.uncorrelated(SERVER, 1), h**2),
        (sum_over(single, CLIENTS, n, weight(n) ** 2), h**2),
        (same(away, 1), 2 * h),
        (same(ours + slope, -1), h**2),
        (toward(), 2 * h),
        (above_lowest(), h**2),
        (above_best(), left),
        target=norm2(away) * (1 - mu * h * (2 - S * h))
        + constant(SINGLE * h**2)
        - norm2(after),
        signs=[sign(left, (st.small(), 2 * h))],
    )


def of_server(u: Vec) -> k.Lin:
    """Return the squared distance of the server's block."""
    return norm2(part(SERVER, u - st.BEST))


@cache
def grown() -> Theorem:
    """Return that `scaled` grows by at most ``4/mu^2 (x - 2) SINGLE`` in a step."""
    cost, gained = 4 / mu**2, contracted(ratio(2), ratio(1))
    return combine(
        (descent(), x * (x - 1) * (x - 2)),
        (single_step(), cost * SINGLE * (x - 2)),
        (away, rules.number_of(gained.form)),
        target=scaled(x, of_server(wbar))
        + constant(cost * (x - 2) * SINGLE)
        - scaled(x + 1, of_server(st.middle(J + 1))),
        signs=[gained],
    )


@cache
def one_round() -> Theorem:
    """Return what `scaled` grows by in a round."""
    zero, before, after = ratio(0), k.iterate(st.RUN, now), k.iterate(st.RUN, now + 1)
    low, high = st.gamma + K * now, st.gamma + K * (now + 1)
    first, last = (
        part(SERVER, st.middle(at) + model - st.BEST * 2)
        for at, model in ((zero, before), (K, after))
    )
    return combine(
        sum_over(grown(), steps(K), st.j),
        derived.telescope(st.j, scaled(low + J, of_server(wbar)), K),
        (st.start_of_mean(first), -(low - 1) * (low - 2) * (low - 3)),
        (st.ends(last), (high - 1) * (high - 2) * (high - 3)),
    )


@cache
def distance() -> Theorem:
    r"""Return the distance of the server's block after n = KT steps.

    :math:`E=\gamma+n`: at most :math:`(\gamma-1)(\gamma-2)(\gamma-3)\Delta^0` and
    :math:`\frac4{\mu^2}n(\gamma-2+\frac{n-1}2)` times the noise, over
    :math:`(E-1)(E-2)(E-3)`.
    """
    return over_rounds(one_round(), of_server(k.iterate(st.RUN, now)))


def simple() -> Theorem:
    r"""Return the distance as :math:`v/(\gamma+n)`, v at least the two numbers.

    They are :math:`\frac4{\mu^2}` times the noise and :math:`(\gamma+1)\Delta^0`.
    """
    v, E, count = nonnegative("v"), st.gamma + K * T, K * T
    low, share = st.gamma, 1 / ((E - 1) * (E - 2) * (E - 3))
    start, end = (
        norm2(part(SERVER, k.iterate(st.RUN, at) - st.BEST)) for at in (ratio(0), T)
    )
    noisy = rules.assume(constant(v - 4 / mu**2 * SINGLE))
    far = rules.assume(constant(v) - start * (low + 1))
    return combine(
        distance(),
        (noisy, count * (low - 2 + (count - 1) / 2) * share),
        (far, (low - 1) * (low - 2) * (low - 3) * share / (low + 1)),
        target=constant(v / E) - end,
    )
