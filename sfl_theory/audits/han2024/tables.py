r"""Tables 1-4 of ``han2024``: what follows from the theorems and the algorithms.

Tables 1-3 omit absolute constants: a row is read up to a factor K = 1000, with
$a_n=1/N$, $\sigma_n=\sigma$ as in App. H.2.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024.refuted_tables import K
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import KERNEL
from sfl_theory.papers import baselines
from sfl_theory.papers.baselines import TABLE_4, Overhead, rate_table
from sfl_theory.registry import theorem

VARIANCE = positive("sigma2")[0]
TAU, BATCH = positive("tau b_s")


def _one_client(expr: Any) -> Any:
    """Return the expression for equal clients: a = 1/N, one sigma, q = 1."""
    n, N = symbols.n, symbols.N
    sums = {
        found: N * found.function
        for found in expr.atoms(sp.Sum)
        if found.limits[0][0] == n
    }
    return expr.xreplace(sums).xreplace({
        symbols.a[n]: 1 / N,
        symbols.sigma[n]: sp.sqrt(VARIANCE),
        symbols.q[n]: sp.Integer(1),
    })


def _constants() -> Domain:
    k, j, more, initial, gap, G, e = free("k j more I F G e")
    m, v, d, g, w, h = positive("m v d g w h")
    values = {
        symbols.S: m + more,
        symbols.mu: m,
        symbols.N: 1 + k,
        symbols.T: 1 + j,
        VARIANCE: v,
        symbols.tau: d,
        symbols.G: G,
        symbols.I_err: initial,
        symbols.F_err: gap,
        symbols.epsilon: e,
        symbols.Gamma: g,
        symbols.sigma_star: w,
        symbols.epsilon_star: h,
    }
    order = (k, j, more, initial, gap, G, e, m, v, d, g, w, h)
    words = "S >= mu > 0, N, T >= 1; tau, sigma, sigma_*, Gamma, eps_* > 0; G, eps, "
    words += "I_err, F_err >= 0"
    return Domain(words, values, order)


def _theorem_and_row(number: str) -> tuple[Any, Any]:
    """Return (11) or (14) and the SFL row of Tables 1-3, for equal clients."""
    bound = theorem(number).case("strongly_convex").bound("printed")
    printed = sum(bound.parts.values()).xreplace(dict(bound.definitions))
    method = {"3.6": "SFL-V1", "3.7": "SFL-V2"}[number]
    (row,) = (
        found
        for found in rate_table(2)
        if found.method == method and found.case == "strongly_convex"
    )
    return _one_client(printed), _one_client(row.expr)


def row_is_upper_bound(claim: str, number: str) -> Certificate:
    """Return "the row, times K, is at least the theorem's right side".

    Args:
        claim: identifier of the claim.
        number: "3.6" or "3.7".

    Returns:
        The certificate.
    """
    printed, row = _theorem_and_row(number)
    words = f"right side of Theorem {number} <= {K} x row"
    return Certificate(claim, printed, K * row, (), _constants(), statement=words)


def row_is_lower_bound(claim: str, number: str) -> Certificate:
    """Return "the row is at most K times the theorem's right side" (3.7 only)."""
    printed, row = _theorem_and_row(number)
    words = f"row <= {K} x right side of Theorem {number}"
    return Certificate(claim, row, K * printed, (), _constants(), statement=words)


WEIGHTS, INVERSE, WEIGHTED = positive("sum_a2 sum_1/q sum_a2/q")


def _totals(expr: Any) -> Any:
    r"""Return the expression with sums over clients written as named totals.

    Args:
        expr: with sums of polynomials in $a_n$ and $1/q_n$; $\sigma_n=\sigma$.

    Returns:
        The expression in N, $\sum a_n^2$, $\sum1/q_n$, $\sum a_n^2/q_n$.

    Raises:
        ValueError: if another sum remains.
    """
    a, q = symbols.a[symbols.n], symbols.q[symbols.n]
    named = {
        (0, 0): symbols.N, (1, 0): sp.Integer(1), (2, 0): WEIGHTS,
        (0, -1): INVERSE, (2, -1): WEIGHTED,
    }  # fmt: skip
    sigma = {symbols.sigma[symbols.n]: sp.sqrt(VARIANCE)}
    sums = {}
    for found in expr.atoms(sp.Sum):
        total = sp.Integer(0)
        for term in sp.Add.make_args(sp.expand(found.function.xreplace(sigma))):
            power = term.as_powers_dict()
            total += term / a ** power[a] / q ** power[q] * named[power[a], power[q]]
        sums[found] = total
    written = expr.xreplace(sums)
    if written.has(symbols.n):
        raise ValueError(f"a client's constant is left in {written}")
    return written


def row_for_all_weights(claim: str, number: str) -> Certificate:
    r"""Return "the row of Table 1 bounds (11), (17) or (20)", all weights.

    $\sum a_n^2\le1$ for (11) and (17); $\sum a_n^2/q_n\le\sum1/q_n$, and
    $\sum1/q_n\ge N$ for (20).

    Args:
        claim: identifier of the claim.
        number: "3.6", "3.8" or "3.9".

    Returns:
        The certificate.
    """
    bound = theorem(number).case("strongly_convex").bound("printed")
    printed = _totals(sum(bound.parts.values()).xreplace(dict(bound.definitions)))
    method = "SFL-V2" if number == "3.9" else "SFL-V1"
    participation = "full" if number == "3.6" else "partial"
    (row,) = (
        found
        for found in rate_table(1)
        if (found.method, found.case, found.participation)
        == (method, "strongly_convex", participation)
    )
    more, k, j, variance, G, initial, h, d, e = free("more k j v G I h d e")
    m, p = positive("m p")
    inverse = 1 + k + e if number == "3.9" else p + d
    values = {
        symbols.S: m + more, symbols.mu: m, symbols.N: 1 + k, symbols.T: 1 + j,
        VARIANCE: variance, symbols.G: G, symbols.I_err: initial,
        WEIGHTS: 1 / (1 + h), INVERSE: inverse,
        WEIGHTED: inverse / (1 + d) if number == "3.9" else p,
    }  # fmt: skip
    words = "S >= mu > 0; N, T >= 1; sum a_n^2 <= 1; sum a_n^2/q_n <= sum 1/q_n; "
    words += "sum 1/q_n >= N; sigma, G, I_err >= 0"
    return Certificate(
        claim, printed, K * _totals(row.expr), (),
        Domain(words, values, (more, k, j, variance, G, initial, h, d, e, m, p)),
        statement=f"right side of Theorem {number} <= {K} x row, for all weights",
    )  # fmt: skip


# App. H.2: every row of Table 2 is of order 1/T


def of_order_one_over_t(claim: str) -> tuple[Certificate, ...]:
    """Return, for every row of Table 2, constants c, C > 0 with c <= T row <= C.

    Args:
        claim: identifier of the claim.

    Returns:
        Two certificates per row.
    """
    return tuple(
        one
        for row in rate_table(2)
        for one in between(claim, row.method, _one_client(row.expr), _constants())
    )


def between(
    claim: str, name: str, formula: Any, domain: Domain
) -> tuple[Certificate, Certificate]:
    r"""Return both sides for one formula $R(T)+c\,e^{-\mu T/S}$.

    $TR(T)$ lies between its values a at T = 1 and b at infinity (it is checked that
    it does): $\frac{ab}{a+b}\le\min\{a,b\}\le TR\le\max\{a,b\}\le a+b$. For the
    exponential: $ue^{-u}\le1$, as $e^u\ge1+u$.

    Args:
        claim: identifier of the claim.
        name: of the formula.
        formula: R(T) rational in T, TR(T) monotone.
        domain: the parameters.

    Returns:
        Upper and lower bound of T times the formula.
    """
    T, S, mu = symbols.T, symbols.S, symbols.mu
    decay, z = atom("exp(-mu T/S)"), sp.Symbol("z", positive=True)
    row = sp.expand(formula.xreplace({baselines.EXPONENTIAL: decay}))
    c = row.coeff(decay, 1)
    rational = row - c * decay
    first = rational.xreplace({T: sp.Integer(1)})
    last = sp.cancel(sp.together((T * rational).xreplace({T: 1 / z}))).xreplace({
        z: sp.Integer(0)
    })
    falls = Fact("u exp(-u) <= 1, u = mu T/S", S / (mu * T) - decay, KERNEL)
    stays = Fact("exp(-u) >= 0", decay, KERNEL)
    whole = T * rational + T * c * decay
    return (
        Certificate(
            claim, whole, first + last + c * S / mu, (KERNEL,), domain,
            ((falls, T * c),), statement=f"{name}: T x formula <= C, C free of T",
        ),
        Certificate(
            claim, first * last / (first + last), whole, (KERNEL,), domain,
            ((stays, T * c),), statement=f"{name}: T x formula >= c > 0",
        ),
    )  # fmt: skip


# Table 4


def _overheads() -> Domain:
    names = (
        baselines.K, baselines.D, baselines.v, baselines.W, baselines.r,
        baselines.rate, baselines.T_fb, baselines.T_fedavg,
    )  # fmt: skip
    return Domain("all quantities of Table 4 > 0", {}, names)


def _equal(
    claim: str, left: Any, right: Any, domain: Domain, words: str
) -> tuple[Certificate, Certificate]:
    return (
        Certificate(claim, left, right, (), domain, statement=words),
        Certificate(claim, right, left, (), domain, statement=words),
    )


def _row(method: str) -> Overhead:
    return next(row for row in TABLE_4 if row.method == method)


def totals(claim: str) -> tuple[Certificate, ...]:
    """Return "total communication is K times that of a client", row by row."""
    return tuple(
        one
        for row in TABLE_4
        for one in _equal(
            claim, row.total, baselines.K * row.per_client, _overheads(), row.method
        )
    )


def times(claim: str) -> tuple[Certificate, ...]:
    r"""Return that times follow from communication at rate R.

    In parallel $T_{fb}$ + per client/R + aggregation; SL, one client after the other,
    $T_{fb}$ + total/R.

    Args:
        claim: identifier of the claim.

    Returns:
        Both directions for every row.
    """
    whole, half = baselines.T_fedavg, baselines.T_fedavg / 2
    expected = {
        "FL": _row("FL").per_client / baselines.rate + whole,
        "SL": _row("SL").total / baselines.rate,
        "SFL-V1": _row("SFL-V1").per_client / baselines.rate + whole,
        "SFL-V2": _row("SFL-V2").per_client / baselines.rate + half,
    }
    return tuple(
        one
        for row in TABLE_4
        for one in _equal(
            claim, row.time, baselines.T_fb + expected[row.method], _overheads(),
            row.method,
        )
    )  # fmt: skip


def second_is_faster(claim: str) -> Certificate:
    """Return "SFL-V2's time is less than SFL-V1's", whatever K."""
    less = baselines.T_fedavg / 2
    return Certificate(
        claim, _row("SFL-V2").time + less, _row("SFL-V1").time, (), _overheads(),
        statement="time of SFL-V2 + T_fedavg/2 <= time of SFL-V1",
    )  # fmt: skip


def one_pass(claim: str) -> tuple[Certificate, Certificate]:
    r"""Return the exchange of $\tau$ iterations of batch b where $K\tau b=D$.

    Per sample activations and their gradients, 2v; the client model down and up.

    Args:
        claim: identifier of the claim.

    Returns:
        Both directions.
    """
    exchanged = 2 * TAU * BATCH * baselines.v + 2 * baselines.r * baselines.W
    base = _overheads()
    variables = tuple(x for x in base.free if x != baselines.D)
    domain = Domain(
        "K tau b = D",
        {baselines.D: baselines.K * TAU * BATCH},
        (*variables, TAU, BATCH),
    )
    words = "2 tau b v + 2 r |W| = (2D/K) v + 2 r |W|"
    return _equal(claim, exchanged, _row("SFL-V1").per_client, domain, words)
