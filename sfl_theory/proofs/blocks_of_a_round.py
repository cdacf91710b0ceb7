"""A round of SFL-V1 seen from one block: how it turns, how far it moves; and both.

The other block moves too and changes this block's gradient, so distances on the right
are of whole vectors. On top of `equal_steps`.
"""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.equal_steps import (
    drift,
    each_client,
    eta,
    gf,
    gradient_there,
    gx,
    lemma_1,
    noisy,
    not_negative,
    own_gradient,
    r,
    run,
    smaller,
    tau,
)
from sfl_theory.proofs.local_steps import (
    N,
    S,
    centred,
    eps2,
    i,
    mean_deviation,
    n,
    now,
    sigma2,
    young,
)
from sfl_theory.proofs.notation import combine, count, mean, of, steps, sum_over

T = count("T")
own = N * k.weight(n) ** 2
kappa = mean(n, own)
sigma_w = mean(n, own * sigma2(n))
step = r.next - r.x


def spread() -> k.Lin:
    """Return ``D = sum_n N a_n^2 sum_i ||p_i - x||^2``."""
    return r.drift(tau, own)


def eq_18(side: k.Side) -> Theorem:
    """Return (18) with whole displacements: ``<grad_b f, x' - x> <= ...``."""
    g, apart = k.part(side, gf), gx - r.local_gradient(of(i))
    M = r.whole(side, r.local_gradient(of(i)))
    near = rules.lipschitz(k.Local(n), S, r.x, r.point(of(i)))
    return combine(
        [
            (rules.update(run, side, now, g), -1),
            (centred(r, side, gf, tau, k.weight(n)), eta),
            (mean_deviation(r, side), eta / (2 * tau)),
            (r.summed(smaller(side, apart), tau, own), eta / 2),
            (r.summed(near, tau, own), eta / 2),
        ],
        [(M, eta / (2 * tau))],
        target=spread() * (eta * S**2 / 2)
        - k.norm2(g) * (eta * tau / 2)
        - k.inner(g, step),
    )


def eq_19(side: k.Side) -> Theorem:
    """Return (19) with the whole gradient, by Lemma 1; summed over clients."""
    inside = sum_over(smaller(side, r.away(of(i))), steps(tau), i)
    return combine([(each_client(inside), 1), (lemma_1(), 1)])


def eq_20(side: k.Side) -> Theorem:
    """Return (20) with the whole gradient in its second term."""
    return combine([(eq_18(side), 1), (lemma_1(own), eta * S**2 / 2)])


def moved(side: k.Side) -> Theorem:
    """Return ``||[x' - x]_b||^2 <= eta^2 tau N sum a^2 sum_i ||[g_i]_b||^2``."""
    g = k.part(side, noisy(of(i)))
    G, inside = r.whole(side, noisy(of(i))), k.summed(steps(tau), i, g)
    return combine(
        [
            (rules.update(run, side, now, k.part(side, step)), -1),
            (rules.update(run, side, now, G), eta),
            (rules.jensen(k.CLIENTS, n, ratio(1), inside * k.weight(n)), eta**2),
            (
                each_client(rules.jensen(steps(tau), i, ratio(1), g), own),
                eta**2,
            ),
        ],
        target=r.over(k.norm2(g), tau, own) * (eta**2 * tau)
        - k.norm2(k.part(side, step)),
    )


def eq_21(side: k.Side) -> Theorem:
    """Return (21) with the factor 2 of ``||u + v||^2 <= 2||u||^2 + 2||v||^2``."""
    g, first = k.part(side, noisy(of(i))), k.part(side, noisy(0))
    start = k.part(side, r.local_gradient(0))
    return combine(
        [
            (moved(side), S / 2),
            (r.summed(young(first, g - first, 1), tau, own), S * eta**2 * tau / 2),
            (r.summed(centred_start(side), tau, own), S * eta**2 * tau),
        ],
        target=r.over(
            k.norm2(g - first) + k.norm2(start) + k.constant(sigma2(n)), tau, own
        )
        * (S * eta**2 * tau)
        - k.norm2(k.part(side, step)) * (S / 2),
    )


def centred_start(side: k.Side) -> Theorem:
    """Return ``||[g_0]_b||^2 <= ||[grad F_n(p_0)]_b||^2 + sigma_n^2``."""
    start, xi = k.part(side, r.local_gradient(0)), r.noise(0)
    return combine([
        (rules.unbiased(run, n, now, ratio(0), start), -2),
        (smaller(side, xi), 1),
        (rules.variance(run, sigma2(n), n, now, ratio(0)), 1),
    ])


def eq_23(side: k.Side) -> Theorem:
    """Return (23) with 4 for 2 and the whole gradient; ``2 S eta tau <= 1``."""
    u2 = S**2 * eta**2 * tau**2
    small = rules.assume(k.constant(1 - 2 * S * tau * eta))
    square = combine([(small, 1 + 2 * S * tau * eta)])
    gp = r.local_gradient(of(i))
    half = S * eta**2 * tau / 2
    one = combine([
        (smaller(side, noisy(of(i))), 1),
        (rules.unbiased(run, n, now, of(i), gp), -2),
        (gradient_there(of(i)), 1),
        (rules.variance(run, sigma2(n), n, now, of(i)), 1),
    ])
    size = tau * (1 + 8 * u2)
    return combine(
        [
            (moved(side), S / 2),
            (r.summed(one, tau, own), half),
            (each_client(drift(), own), 4 * S**2 * half),
            (
                r.summed(not_negative(r.away(of(i))), tau, own),
                2 * S**2 * half * (1 - 4 * u2),
            ),
            (each_client(own_gradient(), own), half * (2 * tau + 16 * u2 * tau / 3)),
        ],
        [(gf, half * kappa * 16 * u2 * tau / 3 * 4)],
        target=k.norm2(gf) * (half * kappa * size * 4)
        + k.constant(half * size * (4 * kappa * eps2 + sigma_w))
        - k.norm2(k.part(side, step)) * (S / 2),
        signs=[square],
    )
