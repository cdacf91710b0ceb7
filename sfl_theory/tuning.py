r"""A bound at its best learning rate: the rate, the value there, and the order.

At a constant rate $\eta$ a bound that sums over learning rates is
$\sum_kc_k\eta^k$, $k\ge-1$, after division by $\eta$ where its left side is weighted by
it. Its derivative vanishes where $\sum_kkc_k\eta^{k+1}=c_{-1}$, whose left side grows
from 0: there is one root, and the best admitted rate is the smaller of it and of the
largest admitted rate. For one term $k\ge1$ the root is $(c_{-1}/(kc_k))^{1/(k+1)}$.
A bound with a rate of its own, such as $4/(\mu\tau(\gamma+t))$, stands at that.

Orders are symbolic (`sfl_theory.rates`): with $A=Tc_{-1}$ and $\eta\le1/L$ the least
value is $\frac{AL}T+\sum_k((A/T)^kc_k)^{1/(k+1)}$ up to a constant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import sympy as sp

from sfl_theory import numeric, rates, schedules, symbols
from sfl_theory.bound import Bound
from sfl_theory.conditions import ANALYSED, Algorithm
from sfl_theory.constants import Constants
from sfl_theory.schedules import Schedule


@dataclass(frozen=True)
class Orders:
    r"""Orders of a bound at its best learning rate.

    Attributes:
        rounds: p of $O(T^p)$.
        noiseless: the same where no gradient is noisy, $\sigma_n=0$.
        noise: exponents of T, N and $\tau$ in the leading noise term, for equal
            clients; None without one.
        rate: p of the best constant rate, $\eta\sim T^p$; None for a rule of its own.
    """

    rounds: sp.Expr
    noiseless: sp.Expr
    noise: tuple[sp.Expr, sp.Expr, sp.Expr] | None
    rate: sp.Expr | None = None

    @property
    def words(self) -> str:
        """The orders in a line."""
        said = f"O({_power('T', self.rounds)})"
        if self.noise is not None:
            each = zip(["T", "N", "tau"], self.noise, strict=True)
            leading = " ".join(_power(name, p) for name, p in each if p != 0)
            said += f", noise {leading}"
        if self.noiseless != self.rounds:
            said += f", O({_power('T', self.noiseless)}) without noise"
        if self.rate is not None:
            said += f", with eta of order {_power('T', self.rate)}"
        return said


@dataclass(frozen=True)
class Tuned:
    r"""A bound at its best learning rate for T rounds.

    Attributes:
        schedule: the learning rate, $\eta^t$ of the client's side.
        value: the bound there, divided by the rate where its left side is weighted.
        words: what that bounds.
        orders: in T.
    """

    schedule: Schedule
    value: float
    words: str
    orders: Orders

    @property
    def rate(self) -> float:
        """The constant learning rate, or the first one of a rule."""
        if self.schedule.value is not None:
            return self.schedule.value
        return float(self.schedule.client(np.zeros(1))[0])


def tuned(
    bound: Bound, constants: Constants, T: int, algorithm: Algorithm = ANALYSED
) -> Tuned:
    """Return a bound at the best constant learning rate that its rule admits.

    Args:
        bound: at a constant rate, a sum of powers of it; or with a rule of its own.
        constants: must hold what bound and rule use, and meet the hypotheses.
        T: number of rounds, at least 1.
        algorithm: what is run.

    Returns:
        Rate, value and orders.

    Raises:
        ValueError: if a constant is missing, a hypothesis is not met, or the bound is
            of another form.
    """
    rule = bound.step_size
    if rule is None:
        raise ValueError(f"{bound.source}: has no learning rate to tune")
    words = bound.metric.mean or bound.metric.words
    schedule = rule.schedule(constants)
    free = rule.relation != "=" and bound.sums_learning_rates
    if free:
        schedule = schedules.constant(_best_rate(bound, constants, T))
    value = float(bound.evaluate(constants, [T], schedule, algorithm)[0])
    unit = float(schedule.client(np.zeros(1))[0]) if bound.metric.mean else 1.0
    return Tuned(schedule, value / unit, words, orders(bound))


def _best_rate(bound: Bound, constants: Constants, T: int) -> float:
    """Return the best constant rate that is admitted, to rounding.

    Newton's iteration from above: the root is at most that for any one term alone, and
    the function is convex there.

    Raises:
        ValueError: if the smaller the rate the better.
    """
    form = rates.at_constant_rate(bound)
    at = np.array([T])

    def number(e: sp.Expr) -> float:
        formula = sp.sympify(e, strict=True)
        return float(numeric.evaluate(formula, {}, constants, at, None)[0])

    c = {power: number(e) for power, e in form.powers.items()}
    first = number(form.first) / T
    rising = {k: value for k, value in c.items() if value > 0}
    rule = bound.step_size
    bounded = rule is not None and rule.relation == "<="
    kept = form.limits if bounded or not (rising or form.growths) else ()
    limits = [1 / v for v in map(number, (*kept, *form.growths)) if v > 0]
    largest = min(limits, default=np.inf)
    if not rising:
        return float(largest)
    if first == 0:
        raise ValueError(f"{bound.source}: starts at the minimum, no rate is best")
    eta = min((first / (k * value)) ** (1 / (k + 1)) for k, value in rising.items())
    for _ in range(200):
        value = sum(k * ck * eta ** (k + 1) for k, ck in rising.items()) - first
        slope = sum(k * (k + 1) * ck * eta**k for k, ck in rising.items())
        step = value / slope
        eta -= step
        if abs(step) <= 1e-15 * eta:
            break
    return float(min(eta, largest))


@cache
def orders(bound: Bound) -> Orders:
    """Return the orders of a bound at its best learning rate, symbolically.

    Args:
        bound: of the forms that `tuned` takes.

    Returns:
        The exponents.
    """
    whole = _terms(bound)
    quiet = _terms(_without_noise(bound))
    grown = {term: _growth(term) for term in whole}
    top = max(grown.values())
    noisy = [term for term in whole if term.has(symbols.sigma)]
    noise = None
    if noisy:
        highest = max(grown[term] for term in noisy)
        leading = [term for term in noisy if grown[term] == highest]
        each = [_exponents(term) for term in leading]
        noise = (highest, max(e[0] for e in each), max(e[1] for e in each))
    return Orders(top, max(map(_growth, quiet)), noise, _rate_order(bound))


def _terms(bound: Bound) -> list[sp.Expr]:
    """Return terms whose sum is of the bound's order at its best rate."""
    rule = bound.step_size
    if rule is None or rule.relation == "=" or not bound.sums_learning_rates:
        parts = (_meant(part, bound) for part in bound.parts.values())
        found = [one for part in parts for one in sp.Add.make_args(_split(part))]
        return [one for one in found if one != 0]
    form = rates.at_constant_rate(bound)
    limits = () if rule.relation == "any" else form.limits
    found = [form.first * limit / symbols.T for limit in (*limits, *form.growths)]
    for power, c in form.powers.items():
        for one in sp.Add.make_args(_split(c)):
            root = (form.first / symbols.T) ** power * one
            found.append(sp.Pow(root, sp.Rational(1, power + 1), evaluate=False))
    return [one for one in found if one != 0]


def _rate_order(bound: Bound) -> sp.Expr | None:
    """Return p of the best constant rate, or None for a rule of its own."""
    rule = bound.step_size
    if rule is None or rule.relation == "=" or not bound.sums_learning_rates:
        return None
    form = rates.at_constant_rate(bound)
    found = [
        _growth(form.first / (symbols.T * c)) / (power + 1)
        for power, c in form.powers.items()
    ]
    found += [-_growth(e) for e in form.growths]
    if rule.relation == "<=":
        found.append(sp.Integer(0))
    return min(found)


def _without_noise(bound: Bound) -> Bound:
    """Return the bound for exact gradients."""
    quiet = {symbols.sigma[symbols.n]: sp.Integer(0)}
    parts = {
        name: _split(sp.sympify(part, strict=True).xreplace(quiet))
        for name, part in bound.parts.items()
    }
    return replace(bound, parts={k: v for k, v in parts.items() if v != 0})


def _meant(part: sp.Expr, bound: Bound) -> sp.Expr:
    """Return a term with its symbols written out, but for gamma, a constant > 0."""
    for symbol, meaning in bound.definitions.items():
        if symbol != symbols.gamma:
            part = part.xreplace({symbol: meaning})
    return part


@cache
def _split(e: sp.Expr) -> sp.Expr:
    """Return a sum over clients of a sum as a sum of sums."""
    return sp.expand_mul(
        sp.sympify(e, strict=True).replace(
            lambda node: isinstance(node, sp.Sum),
            lambda node: sp.Add(
                *(
                    sp.Sum(one, *node.limits)
                    for one in sp.Add.make_args(sp.expand(node.function))
                    if one != 0
                )
            ),
        )
    )


@cache
def _growth(term: sp.Expr) -> sp.Expr:
    found = numeric.growth(term, {})
    return found if found.is_Rational else sp.nsimplify(found)


@cache
def _exponents(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    r"""Return the exponents of N and $\tau$ in a term for equal clients, T large."""
    many = {rates.Q: symbols.N, rates.Q_2: symbols.N}
    equal = rates.for_equal_clients(term).xreplace(many)
    late = sp.Symbol("late", positive=True)
    found = []
    for symbol in (symbols.N, symbols.tau):
        x = sp.Symbol("x", positive=True)
        real = equal.xreplace({symbols.T: late}).xreplace({symbol: x})
        real = sp.limit(real * late ** (-_growth(term)), late, sp.oo)
        found.append(sp.limit(sp.simplify(x * sp.diff(real, x) / real), x, sp.oo))
    return found[0], found[1]


def _power(name: str, p: sp.Expr) -> str:
    return name if p == 1 else f"{name}^{p}" if p.is_Integer else f"{name}^({p})"
