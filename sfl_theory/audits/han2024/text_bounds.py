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


def constants(q: Any = None, *, zero: bool = False) -> Domain:
    r"""Return the domain of all constants.

    Args:
        q: a client's probability, in the free variables h and d.
        zero: admit $a_n=0$ and $\sigma_n=0$.

    Returns:
        The domain.
    """
    k, j, more, initial, gap, G, e, h, d = free("k j more I F G e h d")
    m, p, periods, server, y = positive("m p tau tau_server y")
    a, v = free("a0 v0") if zero else positive("a v")
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
        Q: 1 / (1 + h) if q is None else q,
    }
    order = (k, j, more, initial, gap, G, e, h, d, m, v, a, p, periods, server, y)
    words = (
        "S >= mu > 0; N, T >= 1; tau, tau_server, tau_min, sum_t (eta^t)^2 > 0; "
        f"0 < q_n <= 1; a_n, sigma_n {'>=' if zero else '>'} 0; "
        "G, eps, I_err, F_err >= 0"
    )
    return Domain(words, named, order)


# Rates


def strongly_convex_rate(claim: str) -> tuple[Certificate, ...]:
    r"""Return, of (11), (14), (17), (20), $T\,$bound <= C and c <= $T\,$bound.

    One client's share holds the initial distance too: the bound is at least a share and
    at most their sum. The upper side admits $a_n=0$ and $\sigma_n=0$.

    Args:
        claim: identifier of the claim.

    Returns:
        Two certificates per theorem.
    """
    found: list[Certificate] = []
    for number in NUMBERS:
        formula = sum(shares(number, "strongly_convex").values())
        name = f"Theorem {number}"
        found.append(between(claim, name, formula, constants(zero=True))[0])
        found.append(between(claim, name, formula, constants())[1])
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


def increases_in_gradients(claim: str) -> tuple[Certificate, ...]:
    r"""Return "the convex bounds do not decrease in $G^2$", radicands for roots.

    Args:
        claim: identifier of the claim.

    Returns:
        One certificate per part of (11), (12), (14), (15), (17), (18), (20), (21).

    Raises:
        ValueError: if one of them holds $\epsilon^2$.
    """
    d = free("d")[0]
    found = []
    for number in NUMBERS:
        for case in CASES[:2]:
            for name, now in shares(number, case).items():
                if now.has(DIVERGENCE) or now.has(symbols.epsilon):
                    raise ValueError(f"Theorem {number}, {name} holds eps^2")
                found.append(
                    Certificate(
                        claim, now, now.xreplace({symbols.G: symbols.G + d}), (),
                        constants(zero=True),
                        statement=f"Theorem {number}, {case}, {name}: at G <= at "
                        "G + d",
                    )
                )  # fmt: skip
    return tuple(found)


def increases_in_divergence(claim: str) -> tuple[Certificate, ...]:
    r"""Return "(13), (16), (19), (22) do not decrease in $\epsilon^2$"."""
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


# SFL-V1 beside SFL-V2


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


def replaced_weights_non_convex(claim: str) -> tuple[Certificate, ...]:
    r"""Return $(16)\le(13)'\le2\,(16)$ at $\tilde\tau=\tau$, part by part.

    In (13)' $a_n^2+1$ stands for $a_n^2$.

    Args:
        claim: identifier of the claim.

    Returns:
        Two certificates per part.
    """
    same = {symbols.tau_server: symbols.tau, symbols.tau_min: symbols.tau}
    second = shares("3.7", "non_convex")
    found = []
    for name, formula in shares("3.6", "non_convex").items():
        first = formula.xreplace(same).xreplace({A**2: A**2 + 1})
        other = second[name].xreplace(same)
        found += [
            Certificate(claim, left, right, (), constants(zero=True),
                        statement=f"{name}: {words}")
            for left, right, words in (
                (other, first, "(16) <= (13) with a_n^2 + 1"),
                (first, 2 * other, "(13) with a_n^2 + 1 <= 2 (16)"),
            )
        ]  # fmt: skip
    return tuple(found)
