r"""What is true under the assumptions of Theorem 1: noise over N, drift at 1/steps^2.

The run, its rates and what is assumed are Theorem 1's, but that no :math:`F_k^*` is
needed: neither :math:`\Gamma` nor a minimum of an :math:`F_k` occurs. The second
theorem has, for bounded gradients, how far the clients' gradients are apart. Of
:math:`\gamma=\max\{8\kappa,E\}` it is used that it is at least 8, as
:math:`\kappa\ge1` says.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence import Kind, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Written
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.papers.li2020.setting import G2, E, F, L, R, delta2, kappa, mu, run
from sfl_theory.proofs import counted_steps, minibatch_speedup
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.notation import combine

gamma = s.wide
Rates = tuple[k.RoundFamily, k.Rate]
LARGER = w.maximum(gamma, 8 * kappa, E)
ASSUMED = (s.SMOOTH, s.CONVEX, *s.FAIR, s.VARIANCE, s.MINIMUM, *LARGER)
"""Of both theorems."""
RATES = counted_steps.Falling(2, 3, Fraction(1))


def right(steps: Number, slow: Number) -> Form:
    """Return the right side: what is there first, noise and drift."""
    end = gamma + steps
    start = gamma * (gamma - 1) * (gamma - 2) * w.norm2(run.x(0) - s.best)
    level = w.over_clients(s.k, s.p() ** 2 * s.sigma2())
    noise = 4 * steps / mu**2 * (gamma - 1 + (steps - 1) / 2) * level
    drift = 2 * L * steps * (E - 1) / mu**3 * slow
    whole = start + w.as_form(noise) + w.as_form(drift)
    return L / 2 * (whole / (end * (end - 1) * (end - 2)))


def bounded() -> Number:
    """Return what bounded gradients make of the local steps."""
    rest = 2 * E - 1 + Fraction(9, 2) * E * (E - 1) / (gamma + 1)
    return w.bracket(rest) * G2


def apart() -> Number:
    """Return what noise and heterogeneity make of them."""
    own = w.over_clients(s.k, s.p() * (1 - s.p()) * s.sigma2())
    return Fraction(20, 3) * w.bracket(own + (4 * E + 1) / 3 * delta2)


def theorem(
    near: Theorem, above: Ratio, least: dict[Number, int], *rates: Rates
) -> Theorem:
    """Return the gap after R rounds from a distance: gamma here is one less than there.

    Args:
        near: the distance.
        above: g there.
        least: what gamma here is at least -> by how much more than it gamma there is
            assumed to be above it, less.
        *rates: what stands for rates.

    Returns:
        The bound.
    """
    own = {"S": L.value, "K": E.value, "T": R.value, "g": above}
    sorts = {"S": Sort.POSITIVE, "g": Sort.NONNEGATIVE}
    values = tuple((k.Var(x, sorts.get(x, Sort.COUNT)), c) for x, c in own.items())
    found = rules.instantiate(near, (*values, *rates), ())
    for number, spare in least.items():
        lies = rules.assume(k.constant(gamma.value - number.value))
        found = rules.cut(found, combine(lies, target=lies.form + k.constant(spare)))
    return combine((found, L.value / 2), value_gap(L.value, run.x(R).value))


def by_gradients() -> Theorem:
    """Return the theorem with bounded gradients."""
    return theorem(RATES.after(), 1 + s.above_8.value, {8 * kappa: 1, E: 1})


def by_heterogeneity() -> Theorem:
    """Return the theorem without."""
    own = k.Rate(mu.value / 2 * s.eta(Written(k.symbol(k.ROUND), "s") + 1).value)
    family = k.RoundFamily("u", Sort.POSITIVE)
    return theorem(
        minibatch_speedup.distance(k.Kind.V1),
        2 + s.above_8.value,
        {8 * kappa: 2},
        (family, own),
    )


def steps_rule() -> tuple[Assumed, ...]:
    r"""Return :math:`\eta_s=2/(\mu(\gamma+s))` for the steps that are made."""
    left = mu / 2 * (gamma + s.step()) * s.eta(s.step())
    return tuple(
        s.every_step(R, E, one).called("eta_s = 2/(mu (gamma + s))")
        for one in w.equals(left, w.number(1))
    )


LINEAR_SPEEDUP = Kind.THEOREM(
    "li2020/thm-1/linear-speedup",
    "not in the paper",
    "FedAvg as in Theorem 1: the noise is divided by N at 1/T, and the local steps "
    "enter at 1/T^2, without Gamma.",
    s.proved(
        says(
            F.gap(run.x(R)),
            right(E * R, bounded()),
            *ASSUMED,
            s.BOUNDED,
            *s.rate_rule(gamma),
        ),
        by_gradients,
        r"With $x=\gamma+s$, $\Delta=E\|\bar w-w^*\|^2$ and $D=\sum_kp_kE\|w_k-\bar "
        r"w\|^2$: $\Delta'\le(1-2\mu\eta(1-L\eta))\Delta+L\eta(1+2L\eta)D+\eta^2\sum_k"
        r"p_k^2\sigma_k^2$ by $F_k(w_k)\ge F_k(\bar w)-\langle\cdot\rangle-\frac L2\|"
        r"\bar w-w_k\|^2$ and $\|\nabla F(\bar w)\|^2\le2L(F(\bar w)-F^*)$, "
        r"$D\le(i\eta_{first}G)^2$ before step i of a round. As $L\eta\le\frac14$, "
        r"$(x-1)(x-2)(x-3)\Delta$ grows in a step by at most $\frac4{\mu^2}(x-2)\sum_k"
        r"p_k^2\sigma_k^2+\frac{12L}{\mu^3}G^2i^2(1+\frac{3i}{\gamma+1})$.",
        "the rates and assumptions are Theorem 1's",
    ),
    scope="after whole rounds. At most the printed bound: its 2B has the noise twice, "
    "6L Gamma and (E-1)^2 G^2 at 1/T.",
)

NO_BOUNDED_GRADIENTS = Kind.THEOREM(
    "li2020/thm-1/no-bounded-gradients",
    "not in the paper",
    "FedAvg at the rates of Theorem 1 without Assumption 4: the noise is divided by N "
    "at 1/T, and the local steps enter at 1/T^2.",
    s.proved(
        says(
            F.gap(run.x(R)),
            right(E * R, apart()),
            *ASSUMED,
            w.heterogeneity(delta2).called("gradients are near each other"),
            *steps_rule(),
        ),
        by_heterogeneity,
        r"The same with D from step to step: with r steps of the round left, "
        r"$rD'\le(r+\frac12)(1-\mu\eta)D+\eta^2(r\sum_kp_k(1-p_k)\sigma_k^2+(r+2r^2)"
        r"\delta^2)$, for gradient steps of one function come nearer to each other, "
        r"and Young with $\frac1{2r}$; "
        r"$(x-1)(x-2)((x-3)\Delta+\frac{20L}{3\mu}(r+1)D)$ is summed.",
        "without Assumption 4, which at every w would exclude Assumption 2",
    ),
    scope="after whole rounds; delta bounds how far the gradients of F_k and F are "
    "apart at every point",
)
CLAIMS = (LINEAR_SPEEDUP, NO_BOUNDED_GRADIENTS)
