r"""What is true under the assumptions of Theorem 1: noise over N, drift at 1/steps^2.

The run, its rates and what is assumed are Theorem 1's, but that no :math:`F_k^*` is
needed: neither :math:`\Gamma` nor a minimum of an :math:`F_k` occurs. Of
:math:`\gamma=\max\{8\kappa,E\}` it is used that it is at least 8, as
:math:`\kappa\ge1` says.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Kind, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.papers.li2020.setting import G2, E, F, L, R, kappa, mu, proved, run
from sfl_theory.proofs import counted_steps
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Form, Number

gamma = s.wide
UPPER = w.every_client(s.k, w.majorised(w.local(s.k), L)).called("Assumption 1")
LARGER = w.maximum(gamma, 8 * kappa, E)
RATES = counted_steps.Falling(k.Kind.V1, 2, 3, Fraction(1))


def right(steps: Number) -> Form:
    """Return the right side: what is there first, noise and drift."""
    end = gamma + steps
    start = gamma * (gamma - 1) * (gamma - 2) * w.norm2(run.x(0) - s.best)
    level = w.over_clients(s.k, s.p() ** 2 * s.sigma2())
    noise = 4 * steps / mu**2 * (gamma - 1 + (steps - 1) / 2) * level
    slow = 2 * E - 1 + Fraction(9, 2) * E * (E - 1) / (gamma + 1)
    drift = 2 * L * steps * (E - 1) / mu**3 * slow * G2
    whole = start + w.as_form(noise) + w.as_form(drift)
    return L / 2 * (whole / (end * (end - 1) * (end - 2)))


def theorem() -> Theorem:
    """Return the gap after R rounds: gamma here is one less than there."""
    own = {"S": L.value, "K": E.value, "T": R.value, "g": 1 + s.above_8.value}
    sorts = {"S": Sort.POSITIVE, "g": Sort.NONNEGATIVE}
    values = tuple((k.Var(x, sorts.get(x, Sort.COUNT)), c) for x, c in own.items())
    found = rules.instantiate(RATES.after(), values, ())
    for least in (8 * kappa.value, E.value):
        lies = rules.assume(k.constant(gamma.value - least))
        found = rules.cut(found, combine(lies, target=lies.form + k.constant(1)))
    return combine((found, L.value / 2), value_gap(L.value, run.x(R).value))


LINEAR_SPEEDUP = Kind.THEOREM(
    "li2020/thm-1/linear-speedup",
    "not in the paper",
    "FedAvg as in Theorem 1: the noise is divided by N at 1/T, and the local steps "
    "enter at 1/T^2, without Gamma.",
    proved(
        says(
            F.gap(run.x(R)),
            right(E * R),
            UPPER,
            s.CONVEX,
            *s.FAIR,
            s.VARIANCE,
            s.BOUNDED,
            s.MINIMUM,
            *s.rate_rule(gamma),
            *LARGER,
        ),
        theorem,
        r"With $x=\gamma+s$, $\Delta=E\|\bar w-w^*\|^2$ and $D=\sum_kp_kE\|w_k-\bar "
        r"w\|^2$: $\Delta'\le(1-2\mu\eta(1-L\eta))\Delta+L\eta(1+2L\eta)D+\eta^2\sum_k"
        r"p_k^2\sigma_k^2$ by $F_k(w_k)\ge F_k(\bar w)-\langle\cdot\rangle-\frac L2\|"
        r"\bar w-w_k\|^2$ and $\|\nabla F(\bar w)\|^2\le2L(F(\bar w)-F^*)$, "
        r"$D\le(i\eta_{first}G)^2$ before step i of a round. As $L\eta\le\frac14$, "
        r"$(x-1)(x-2)(x-3)\Delta$ grows in a step by at most $\frac4{\mu^2}(x-2)\sum_k"
        r"p_k^2\sigma_k^2+\frac{12L}{\mu^3}G^2i^2(1+\frac{3i}{\gamma+1})$.",
        "the rates and assumptions are Theorem 1's",
    ),
    scope="with Assumption 4 along the run, after whole rounds; Assumption 1 as an "
    "upper bound. At most the printed bound, whose 2B has the noise twice, "
    "6L Gamma and (E-1)^2 G^2 at 1/T.",
)

CLAIMS = (LINEAR_SPEEDUP,)
