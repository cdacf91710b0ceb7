r"""Sentences of Sec. 3 and 4 about the printed bounds that hold, with proofs.

The bounds are read off the library's statements. They are linear, with non-negative
coefficients, in sums over clients (under the roots of the general convex case too), so
monotonicity in a client's constant is decided on that client's share: every sum is
replaced by its summand. Roots are monotone.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024.tables import between
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.papers.han2024 import GAMMA
from sfl_theory.registry import theorem

NUMBERS = ("3.6", "3.7", "3.8", "3.9")
CASES = ("strongly_convex", "general_convex", "non_convex")
A, Q, VARIANCE, DIVERGENCE, SQUARES = positive("a_n q_n sigma2 epsilon2 E2")
EACH = {
    symbols.a[symbols.n]: A,
    symbols.q[symbols.n]: Q,
    symbols.sigma[symbols.n]: sp.sqrt(VARIANCE),
    symbols.epsilon: sp.sqrt(DIVERGENCE),
}


def parts(number: str, case: str) -> dict[str, Any]:
    """Return the printed parts; roots of the general convex case without the root.

    Args:
        number: "3.6" to "3.9".
        case: "strongly_convex", "general_convex" or "non_convex".

    Returns:
        Name -> formula (or radicand, scaled by T + 1).
    """
    bound = theorem(number).case(case).bound("printed")
    found = {}
    for name, part in bound.parts.items():
        roots = [p for p in part.args if isinstance(p, sp.Pow) and not p.exp.is_Integer]
        found[name] = roots[0].base if roots and case == "general_convex" else part
    return found


def shares(number: str, case: str) -> dict[str, Any]:
    """Return one client's share of every part of a bound (or of its radicand)."""
    rounds = symbols.over_rounds(symbols.eta(symbols.t) ** 2)
    found = {}
    for name, part in parts(number, case).items():
        formula = part.xreplace({rounds: SQUARES}).xreplace(GAMMA)
        sums = {one: one.function for one in formula.atoms(sp.Sum)}
        found[name] = formula.xreplace(sums).xreplace(EACH)
    return found


def constants(**values: Any) -> Domain:
    """Return the domain of all constants; ``values`` fix some of a, q, epsilon2.

    Args:
        values: "q" or "epsilon2" -> expression in free variables of its own.

    Returns:
        The domain.
    """
    k, j, more, initial, gap, G, e, h, d = free("k j more I F G e h d")
    m, v, a, p, periods, server, y = positive("m v a p tau tau_server y")
    named = {
        symbols.S: m + more,
        symbols.mu: m,
        symbols.N: 1 + k,
        symbols.T: 1 + j,
        symbols.G: G,
        symbols.I_err: initial,
        symbols.F_err: gap,
        symbols.tau: periods,
        symbols.tau_server: server,
        symbols.tau_min: p,
        VARIANCE: v,
        DIVERGENCE: e,
        SQUARES: y,
        A: a,
        Q: 1 / (1 + h),
    }
    order = (k, j, more, initial, gap, G, e, h, d, m, v, a, p, periods, server, y)
    words = "S >= mu > 0, N, T, tau >= 1, 0 < q_n <= 1, the rest >= 0"
    given = {{"q": Q, "epsilon2": DIVERGENCE}[key]: v for key, v in values.items()}
    return Domain(words, {**named, **given}, order)


# Rates


def strongly_convex_rate(claim: str) -> tuple[Certificate, ...]:
    """Return "(11), (14), (17), (20) are of order 1/T", c <= T bound <= C."""
    found: list[Certificate] = []
    for number in NUMBERS:
        formula = sum(shares(number, "strongly_convex").values())
        found += between(claim, f"Theorem {number}", formula, constants())
    return tuple(found)


def general_convex_rate(claim: str) -> tuple[Certificate, ...]:
    r"""Return "(12), (15), (18), (21) are $O(T^{-1/3})$".

    With $w=(T+1)^{1/6}$ the parts are $\frac{SI}{2w^6}$, $\frac x{2w^3}$,
    $\frac y{2w^2}$, where $x^2$ and $y^3$, the radicands times T + 1, are free of T.

    Args:
        claim: identifier of the claim.

    Returns:
        One certificate per theorem.

    Raises:
        ValueError: if a part is not of that form.
    """
    w, x, y, start = positive("w x y S_I_err")
    k = free("k")[0]
    domain = Domain("w = (T+1)^(1/6) >= 1", {w: 1 + k}, (k, x, y, start))
    T = symbols.T
    found = []
    for number in NUMBERS:
        printed = parts(number, "general_convex")
        for formula in printed.values():
            if sp.cancel(formula * (T + 1)).has(T):
                raise ValueError(f"Theorem {number}: {formula} is not of order 1/(T+1)")
        bound = start / (2 * w**6) + x / (2 * w**3) + y / (2 * w**2)
        found.append(
            Certificate(
                claim, w**2 * bound, (start + x + y) / 2, (), domain,
                statement=f"Theorem {number}: (T+1)^(1/3) x bound <= C, C free of T",
            )
        )  # fmt: skip
    return tuple(found)


# Heterogeneity and participation


def increases_in_divergence(claim: str) -> tuple[Certificate, ...]:
    r"""Return "(13), (16), (19), (22) increase in $\epsilon^2$", for every client."""
    d = free("d")[0]
    return tuple(
        Certificate(
            claim, now, now.xreplace({DIVERGENCE: DIVERGENCE + d}), (), constants(),
            statement=f"Theorem {number}, {name}: at eps^2 <= at eps^2 + d",
        )
        for number in NUMBERS
        for name, now in shares(number, "non_convex").items()
    )  # fmt: skip


def decreases_in_participation(claim: str) -> tuple[Certificate, ...]:
    r"""Return "the bounds of 3.8 and 3.9 do not increase with $q_n$", every case."""
    h, d = free("h d")
    # The larger probability is 1/(1+h), the smaller 1/(1+h+d).
    domain = constants(q=1 / (1 + h + d))
    return tuple(
        Certificate(
            claim, less.xreplace({Q: 1 / (1 + h)}), less, (), domain,
            statement=f"Theorem {number}, {case}, {name}: at the larger q_n <= at the "
            "smaller",
        )
        for number in ("3.8", "3.9")
        for case in CASES
        for name, less in shares(number, case).items()
    )  # fmt: skip


def participation_worsens(claim: str) -> tuple[Certificate, ...]:
    """Return "the bounds under partial participation are the larger ones"."""
    return tuple(
        Certificate(
            claim, shares(full, case)[name], formula, (), constants(),
            statement=f"Theorem {full} <= Theorem {partly}, {case}, {name}",
        )
        for full, partly in (("3.6", "3.8"), ("3.7", "3.9"))
        for case in CASES
        for name, formula in shares(partly, case).items()
    )  # fmt: skip


def square_summable_rate(claim: str) -> tuple[Certificate, ...]:
    r"""Return: if $\sum_t(\eta^t)^2\le E$ for all T, the non-convex bounds are O(1/T).

    Args:
        claim: identifier of the claim.

    Returns:
        One certificate per part; E stands for the sum.
    """
    T = symbols.T
    return tuple(
        Certificate(
            claim, T * now, now.xreplace({T: sp.Integer(1)}), (), constants(),
            statement=f"Theorem {number}, {name}: T x bound <= C, C free of T",
        )
        for number in NUMBERS
        for name, now in shares(number, "non_convex").items()
    )  # fmt: skip


# SFL-V1 beside SFL-V2, learning rates


def replaced_weights(claim: str) -> tuple[Certificate, Certificate]:
    r"""Return "(14) is (11) with $a_n^2+1$ for $a_n^2$ and $a_n+1$ for $a_n$"."""
    first = sum(parts("3.6", "strongly_convex").values())
    second = sum(shares("3.7", "strongly_convex").values())
    a = symbols.a[symbols.n]
    changed = first.xreplace({a**2: a**2 + 1, a: a + 1}).xreplace(GAMMA)
    sums = {found: found.function for found in changed.atoms(sp.Sum)}
    changed = changed.xreplace(sums).xreplace(EACH)
    domain = constants()
    words = "every client's share, both ways"
    return (
        Certificate(claim, changed, second, (), domain, statement=words),
        Certificate(claim, second, changed, (), domain, statement=words),
    )


def smaller_rates(claim: str) -> tuple[Certificate, ...]:
    r"""Return: for $\tau\ge\tilde\tau$ the largest admitted rates fall with $\tau$.

    $\tau_{max}=\tau$, $\tau_{min}=\tilde\tau$; $w=\sum_na_n^2$ or $\sum_na_n^2/q_n$.

    Args:
        claim: identifier of the claim.

    Returns:
        One certificate per term of the conditions of 3.6-3.9.
    """
    k, j, d, count = free("k j d n")
    s, w = positive("s w")
    tau, server = symbols.tau, symbols.tau_server
    S, N = symbols.S, symbols.N
    domain = Domain(
        "tau >= tau_server >= 1, d >= 0",
        {server: 1 + j, tau: 1 + j + k, S: s, N: 1 + count},
        (k, j, d, count, s, w),
    )
    rates = (
        1 / (2 * S * tau),
        1 / (16 * S * tau),
        server / (8 * S * N * tau**2 * w),
        1 / (8 * S * N**2 * tau),
        1 / (8 * S * N**2 * tau * w),
    )
    return tuple(
        Certificate(
            claim, rate.xreplace({tau: tau + d}), rate, (), domain,
            statement=f"{rate} at tau + d <= at tau",
        )
        for rate in rates
    )  # fmt: skip


def rate_from_horizon(claim: str) -> Certificate:
    r"""Return: (13) at $\eta=\eta_0/\sqrt T$, divided by it, is $C/\sqrt T$.

    At a constant rate the left side of (13), divided by the rate, is the mean of
    $\mathbb E\|\nabla f(x^t)\|^2$, and $\sum_t(\eta^t)^2=T\eta^2=\eta_0^2$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate, with $w=\sqrt T$.
    """
    w, start = positive("w eta0")
    printed = sum(shares("3.6", "non_convex").values()).xreplace({SQUARES: start**2})
    base = constants()
    values = {k: v for k, v in base.values.items() if k not in {symbols.T, SQUARES}}
    return Certificate(
        claim,
        printed.xreplace({symbols.T: w**2}) / (start / w),
        printed.xreplace({symbols.T: sp.Integer(1)}) / start / w,
        (),
        Domain(f"{base.words}; w = sqrt(T) > 0", values, (*base.free, w, start)),
        statement="(13) / eta <= C/sqrt(T), C free of T; every client's share",
    )
