r"""Which rate a bound gives: constants dropped, a constant learning rate tuned.

Bounds of a mean over rounds that the learning rates weigh become, at a constant rate
$\eta$ and divided by it,

$$\frac{A}{\eta T}+\sum_kC_k\eta^k,\qquad0<\eta\le1/L.$$

At $\eta=\min\{1/L,(A/(TC_k))^{1/(k+1)}\}$ each $C_k\eta^k$ is at most
$((A/T)^kC_k)^{1/(k+1)}$ and $A/(\eta T)$ at most $AL/T$ plus those. No constant rate is
better: $A/(\eta T)\ge AL/T$, and $A/(\eta T)+C_k\eta^k$ is at least that root (one of
the two is, on either side of $(A/(TC_k))^{1/(k+1)}$). So
$\frac{AL}T+\sum_k((A/T)^kC_k)^{1/(k+1)}$ is the order, up to a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import sympy as sp

from sfl_theory import numeric, symbols
from sfl_theory.bound import Bound
from sfl_theory.symbols import N, S, T, gamma, mu, tau, tau_server

SIGMA, Q, Q_2 = sp.symbols("sigma Q Q_2", positive=True)
r"""$\sigma_n$ where it is the same for all, $\sum_n1/q_n$, $\sum_n1/q_n^2$."""
_ABSENT, _SQUARES = sp.symbols("Q-N Q_2-2Q+N", positive=True)
r"""$\sum_n(1-q_n)/q_n$ and its squares, which can be 0: the smaller terms only."""
_RATE = sp.Dummy("eta", positive=True)


@dataclass(frozen=True)
class AtConstantRate:
    r"""$A/(\eta T)+\sum_kC_k\eta^k$ for $\eta\le1/L$.

    Attributes:
        first: A.
        powers: k -> $C_k$.
        limits: what L is the largest of.
        growths: $\sqrt{\kappa T}$ for every factor $\exp(\kappa T\eta^2)$, left out:
            it is at most e for $\eta\le1/\sqrt{\kappa T}$.
    """

    first: sp.Expr
    powers: Mapping[int, sp.Expr]
    limits: tuple[sp.Expr, ...]
    growths: tuple[sp.Expr, ...] = ()


def mean_order(bound: Bound) -> sp.Expr:
    r"""Return p: at the best constant learning rate the bounded mean is $O(T^p)$.

    Args:
        bound: of a mean over rounds weighted by the learning rates.

    Returns:
        The exponent.

    Raises:
        ValueError: if the bound is of another kind.
    """
    if not bound.metric.mean:
        raise ValueError(f"{bound.source}: no mean over rounds")
    tuned = at_constant_rate(bound)
    terms = [tuned.first * limit / T for limit in (*tuned.limits, *tuned.growths)]
    terms += [_root(tuned, power, c) for power, c in tuned.powers.items()]
    return max(numeric.growth(term, {}) for term in terms)


def rate(bound: Bound) -> tuple[sp.Expr, ...]:
    r"""Return the rate of a bound of ``han2024`` as its Tables 1-3 write rates.

    $a_n=1/N$, $\sigma_n=\sigma$, $\tilde\tau=\tau$, absolute constants omitted. Bound
    and rate are at most a constant times each other (for $S\ge\mu$, N, tau, T >= 1).

    Args:
        bound: one of ``han2024``'s, printed or repaired, for equal periods.

    Returns:
        Terms that add up to the rate: of the bound itself, or, where it speaks of a
        mean weighted by the learning rates, of the mean at the best constant rate.

    Raises:
        ValueError: if the bound has another form.
    """
    if not bound.metric.mean:
        return (_inverse_time(bound),)
    found = at_constant_rate(bound)
    tuned = AtConstantRate(
        for_equal_clients(found.first),
        {power: for_equal_clients(c) for power, c in found.powers.items()},
        tuple(for_equal_clients(e) for e in (*found.limits, *found.growths)),
    )
    return (
        _simplest(tuned.first * sum(tuned.limits)) / T,
        *(_root(tuned, power, c, _simplest) for power, c in tuned.powers.items()),
    )


def _inverse_time(bound: Bound) -> sp.Expr:
    r"""Return the rate of a bound $c/(\gamma+T)$, $\gamma=8S/\mu-1\ge7S/\mu$.

    Raises:
        ValueError: if the bound has another form.
    """
    above = sum(
        sp.cancel(part * (gamma + T)).xreplace(dict(bound.definitions))
        for part in bound.parts.values()
    )
    above = for_equal_clients(above)
    if gamma not in bound.definitions or above.has(T, gamma):
        raise ValueError(f"{bound.source}: not of the form c/(gamma + T)")
    return S / (mu * (S + mu * T)) * _simplest(sp.cancel(above * mu**2 / S))


@cache
def at_constant_rate(bound: Bound) -> AtConstantRate:
    r"""Return the parts of a bound at a constant rate, divided by it if weighted.

    A factor $\exp(\kappa\sum_t(\eta^t)^2)$ is at most e, a constant, for
    $\eta\le1/\sqrt{\kappa T}$, which is one more limit.

    Raises:
        ValueError: if it sums over no learning rates or is of another form.
    """
    step = bound.step_size
    if not bound.sums_learning_rates or step is None or step.relation == "=":
        raise ValueError(
            f"{bound.source}: no mean, no sum over a constant learning rate"
        )
    flat = _expanded(bound.expr, bound.definitions).replace(
        lambda node: isinstance(node, sp.Sum) and node.limits[0][0] == symbols.t,
        lambda node: T * node.function,
    )
    flat = flat.replace(lambda node: isinstance(node, symbols.eta), lambda node: _RATE)
    largest = _expanded(step.client, step.definitions)
    arguments = largest.args if isinstance(largest, sp.Min) else (largest,)
    limits = tuple(1 / argument for argument in arguments)
    growths: list[sp.Expr] = []
    for node in flat.atoms(sp.exp):
        growths.append(sp.sqrt(node.args[0]) / _RATE)
        flat = flat.xreplace({node: sp.Integer(1)})
    unit = _RATE if bound.metric.mean else sp.Integer(1)
    found: dict[int, sp.Expr] = {}
    for term in sp.Add.make_args(sp.expand(flat / unit)):
        coefficient, power = term.as_coeff_exponent(_RATE)
        found[power] = found.get(power, 0) + coefficient
    first = T * found.pop(-1, sp.Integer(0))
    at = (T, _RATE) if bound.metric.mean else (_RATE,)
    if any(k < 1 or c.has(*at) for k, c in found.items()) or first.has(*at):
        raise ValueError(f"{bound.source}: not of the form A/(eta T) + sum C eta^k")
    return AtConstantRate(first, found, limits, tuple(growths))


def _root(
    tuned: AtConstantRate,
    power: int,
    c: sp.Expr,
    spell: Callable[[sp.Expr], sp.Expr] = sp.expand,
) -> sp.Expr:
    r"""Return $((A/T)^kC_k)^{1/(k+1)}$ in one piece, as the tables write roots."""
    radicand = spell(tuned.first**power * c) / T**power
    return sp.Pow(radicand, sp.Rational(1, power + 1), evaluate=False)


def for_equal_clients(expr: sp.Expr) -> sp.Expr:
    r"""Return the expression for $a_n=1/N$, $\sigma_n=\sigma$, $\tilde\tau=\tau$."""
    inverse = sp.Dummy(positive=True)
    sums = {0: N, 1: Q, 2: Q_2}

    def total(node: sp.Expr) -> sp.Expr:
        summand = node.function.xreplace({
            symbols.a[symbols.n]: 1 / N,
            symbols.sigma[symbols.n]: SIGMA,
            symbols.q[symbols.n]: 1 / inverse,
        })
        parts = (
            term.as_coeff_exponent(inverse)
            for term in sp.Add.make_args(sp.expand(summand))
        )
        return sum(coefficient * sums[int(power)] for coefficient, power in parts)

    written = sp.sympify(expr, strict=True).xreplace({tau_server: tau})
    return written.xreplace({node: total(node) for node in written.atoms(sp.Sum)})


def _simplest(expr: sp.Expr) -> sp.Expr:
    r"""Return a sum of positive terms without constants and without small terms.

    Raises:
        ValueError: if a negative term is left: it could cancel others.
    """
    factors: dict[sp.Expr, sp.Expr] = {}
    for term in sp.Add.make_args(sp.expand(expr)):
        constants, factor = term.as_independent(N, Q, Q_2, tau)
        coefficient, others = constants.as_coeff_Mul()
        factors[others] = factors.get(others, 0) + coefficient * factor
    return sp.factor_terms(
        sum(others * _largest_terms(factor) for others, factor in factors.items())
    )


def _largest_terms(factor: sp.Expr) -> sp.Expr:
    r"""Return a factor in N, Q, tau without its constants and smaller terms.

    Where a term is negative it is written in $Q-N\ge0$ and $Q_2-2Q+N\ge0$.

    Raises:
        ValueError: if that leaves a negative term.
    """
    apart = {Q: N + _ABSENT, Q_2: N + 2 * _ABSENT + _SQUARES}
    for form in (factor, factor.xreplace(apart)):
        parts = [term.as_coeff_Mul() for term in sp.Add.make_args(sp.expand(form))]
        if all(coefficient > 0 for coefficient, _ in parts):
            terms = {monomial for _, monomial in parts}
            kept = sum(
                term
                for term in terms
                if not any(_below(term / other) for other in terms - {term})
            )
            short = sp.sympify(kept, strict=True).xreplace({
                _ABSENT: Q - N,
                _SQUARES: Q_2 - 2 * Q + N,
            })
            return min((short, sp.expand(short)), key=sp.count_ops)
    raise ValueError(f"a negative term in {factor}")


def _below(quotient: sp.Expr) -> bool:
    """Return whether a monomial is at most 1: N, tau >= 1, Q >= N and Q_2 >= Q."""
    one, two = sp.symbols("Q/N Q_2/Q", positive=True)
    powers = quotient.xreplace({Q: N * one, Q_2: N * one * two}).as_powers_dict()
    known = {N, tau, one, two}
    return all(base in known and power <= 0 for base, power in powers.items())


def _expanded(expr: sp.Expr, definitions: Mapping[sp.Expr, sp.Expr]) -> sp.Expr:
    return sp.sympify(expr, strict=True).xreplace(dict(definitions))
