r"""What the learning-rate conditions printed in Theorems 3.6-3.9 imply.

The proofs use Lemma D.1 (SFL-V2's server: E.1) under $\eta\le\frac1{2S\tau_b}$ on each
side b, which uses Lemma C.5 under $\eta\le\frac1{\sqrt6S\tau_b}$; in the non-convex
case Lemmas C.6 ($\frac1{\sqrt8S\tau_b}$) and C.7 ($\frac1{2S\tau_b}$). SFL-V2 has one
period, $\tau$.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.appendix_c import S, eta, tau
from sfl_theory.audits.han2024.both_sides import admitted, common_checks
from sfl_theory.audits.han2024.printed import Setting, largest_rate, printed_rates
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.instance import Finding
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)
mu, t, tau_side, tau_max = positive("mu t tau_b tau_max")


def first_rounds(number: str, t: int = 0) -> Finding:
    r"""Break "the printed strongly convex rates meet the lemmas' conditions".

    Even for $\tau=\tilde\tau$: at t = 0, $\frac4{\mu\tau\gamma}=\frac4{\tau(8S-\mu)}
    >\frac1{2S\tau}$ for all S and mu; at t = 1 it is $\frac1{2S\tau}$, too large for
    Lemma C.5.

    Args:
        number: "3.6" to "3.9".
        t: 0 or 1.

    Returns:
        Left the server's rate, right what Lemma D.1 (t = 0) or C.5 (t = 1) admits.
    """
    setting = Setting((ONE,))
    limit = Interval.of(Fraction(1, 2))
    if t:
        limit = Interval.of(Fraction(1, 6)).root(2)
    return Finding(
        "N = 1, q = 1, S = mu = 1, tau = tau_server = 1",
        common_checks(setting),
        Interval.of(printed_rates(number, setting)[1](t)),
        limit,
        f"t = {t}",
    )


def largest_general_convex_rate(number: str, periods: int = 1) -> Finding:
    r"""Break "$\eta\le\frac1{2S\tau_{max}}$ implies Lemma C.5's condition".

    $\frac12>\frac1{\sqrt6}$.

    Args:
        number: "3.6" to "3.9".
        periods: tau and tau_server.

    Returns:
        Left the largest admitted rate, right $1/(\sqrt6S\tau)$.
    """
    setting = Setting((ONE,), tau=periods, tau_server=periods)
    eta = largest_rate(number, "general_convex", setting)
    return Finding(
        f"N = 1, q = 1, S = 1, tau = tau_server = {periods}, eta = {eta}",
        (*common_checks(setting), admitted(number, "general_convex", setting, eta)),
        Interval.of(eta),
        Interval.of(Fraction(1, 6 * periods**2)).root(2),
    )


def _sides() -> tuple[dict[Any, Any], tuple[Any, ...]]:
    r"""Return $1\le\tau_b\le\tau_{max}$ and S > 0."""
    k, d = free("k d")
    (s,) = positive("s")
    return {tau_side: 1 + k, tau_max: 1 + k + d, S: s}, (k, d, s)


def of_lemmas_d1_and_e1(claim: str) -> Certificate:
    r"""Return $\eta\le\frac1{2S\tau_{max}}\Rightarrow\eta\le\frac1{2S\tau_b}$."""
    return _implied(claim, sp.Integer(2), sp.Integer(2), "Lemma D.1 (E.1)")


def of_lemmas_c6_and_c7(claim: str) -> tuple[Certificate, ...]:
    r"""Return $\eta\le\frac1{16S\tau_{max}}$ implies C.6's and C.7's conditions."""
    sixteen = sp.Integer(16)
    return (
        _implied(claim, sixteen, sp.Integer(2), "Lemma C.7"),
        _implied(claim, sixteen, sp.Integer(8), "Lemma C.6", squared=True),
    )


def _implied(
    claim: str, printed: Any, needed: Any, lemma: str, squared: bool = False
) -> Certificate:
    r"""Return $\eta=\frac{1}{pS\tau_{max}(1+h)}$ meets $\eta\le\frac1{rS\tau_b}$.

    With ``squared`` the condition is $r(S\tau_b\eta)^2\le1$.

    Args:
        claim: identifier of the claim.
        printed: p.
        needed: r.
        lemma: whose condition it is.
        squared: whether r stands under a root.

    Returns:
        The certificate.
    """
    values, variables = _sides()
    h = free("h")[0]
    values[eta] = 1 / (printed * S * tau_max * (1 + h))
    product = S * tau_side * eta
    root = f"sqrt({needed})" if squared else str(needed)
    return Certificate(
        claim,
        needed * (product**2 if squared else product),
        sp.Integer(1),
        (),
        Domain(
            f"1 <= tau_b <= tau_max, 0 < eta <= 1/({printed} S tau_max)",
            values,
            (*variables, h),
        ),
        statement=f"eta <= 1/({root} S tau_b), the condition of {lemma}",
    )


def later_rounds(claim: str) -> tuple[Certificate, ...]:
    r"""Return what holds of $\eta^t=\frac4{\mu\tau(\gamma+t)}$, $\tau=\tilde\tau$.

    For $t\ge1$ it meets Lemma D.1's condition, for $t\ge1+2S/\mu$ also C.5's.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificates.
    """
    k, more, late = free("k more late")
    (m,) = positive("m")
    rate = 4 / (mu * tau * (8 * S / mu - 1 + t))
    base = {tau: 1 + k, mu: m, S: m + more}
    variables = (k, more, late, m)
    from_one = Domain("S >= mu > 0, tau >= 1, t >= 1", {**base, t: 1 + late}, variables)
    from_later = Domain(
        "S >= mu > 0, tau >= 1, t >= 1 + 2 S/mu",
        {**base, t: 1 + 2 * S / mu + late},
        variables,
    )
    one = sp.Integer(1)
    return (
        Certificate(
            claim, 2 * S * tau * rate, one, (), from_one,
            statement="eta^t <= 1/(2 S tau) for t >= 1",
        ),
        Certificate(
            claim, 6 * (S * tau * rate) ** 2, one, (), from_later,
            statement="eta^t <= 1/(sqrt(6) S tau) for t >= 1 + 2 S/mu",
        ),
    )  # fmt: skip
