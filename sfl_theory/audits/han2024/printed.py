r"""The printed right-hand sides and step sizes at rational values, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.evidence.federated import FederatedRun, Rate
from sfl_theory.evidence.interval import Interval, evaluate
from sfl_theory.registry import theorem


@dataclass(frozen=True)
class Setting:
    r"""The constants of an instance.

    Attributes:
        weights: $a_n$.
        S: smoothness.
        mu: strong convexity.
        G2: $G^2$ of Assumption 3.3.
        I_err: $\|x^0-x^*\|^2$.
        F_err: $f(x^0)-f^*$.
        epsilon2: $\epsilon^2$ of Assumption 3.4.
        sigma: $\sigma_n$, the same for every client.
        q: $q_n$, the same for every client.
        tau: steps between client aggregations.
        tau_server: steps between server aggregations (SFL-V1).
    """

    weights: tuple[Fraction, ...]
    S: Fraction = Fraction(1)
    mu: Fraction = Fraction(1)
    G2: Fraction = Fraction(0)
    I_err: Fraction = Fraction(0)
    F_err: Fraction = Fraction(0)
    epsilon2: Fraction = Fraction(0)
    sigma: Fraction = Fraction(0)
    q: Fraction = Fraction(1)
    tau: int = 1
    tau_server: int = 1

    @classmethod
    def of(cls, run: FederatedRun) -> Setting:
        """Return the constants of a run whose clients share sigma and q.

        Args:
            run: the run; what its case does not assume is 0.

        Returns:
            The constants.

        Raises:
            ValueError: if sigma or q differ between clients, or sigma is irrational.
        """
        (sigma2, *others), (q, *more) = {*run.sigma2}, {*run.q}
        sigma = Interval.of(sigma2).root(2)
        if others or more or not sigma.exact:
            raise ValueError("one rational sigma and one q for all clients are needed")
        convex = run.case != "non_convex"
        return cls(
            weights=run.weights,
            S=run.S,
            mu=run.mu,
            G2=run.G2 if convex else Fraction(0),
            I_err=run.distance2,
            F_err=run.gap,
            epsilon2=Fraction(0) if convex else run.eps2 or Fraction(0),
            sigma=sigma.low,
            q=q,
            tau=run.tau,
            tau_server=run.tau_server,
        )

    def scalars(self) -> dict[Any, Any]:
        """Return symbol -> value for what does not depend on the client."""
        return {
            symbols.S: self.S,
            symbols.mu: self.mu,
            symbols.G: Interval.of(self.G2).root(2),
            symbols.I_err: self.I_err,
            symbols.F_err: self.F_err,
            symbols.epsilon: Interval.of(self.epsilon2).root(2),
            symbols.N: len(self.weights),
            symbols.tau: self.tau,
            symbols.tau_server: self.tau_server,
        }

    def clients(self) -> dict[Any, tuple[Fraction, ...]]:
        """Return indexed symbol -> one value per client."""
        count = len(self.weights)
        return {
            symbols.a: self.weights,
            symbols.sigma: (self.sigma,) * count,
            symbols.q: (self.q,) * count,
        }


def right_side(
    number: str, case: str, setting: Setting, rounds: int, rate: Fraction | None = None
) -> Interval:
    r"""Enclose the printed bound of a theorem of ``han2024``.

    Args:
        number: "3.6" to "3.9".
        case: "strongly_convex", "general_convex" or "non_convex".
        setting: the constants.
        rounds: T.
        rate: constant learning rate, for bounds that sum over $\eta^t$.

    Returns:
        An enclosure of the bound.
    """
    bound = theorem(number).case(case).bound("printed")
    scalars = {**setting.scalars(), symbols.T: rounds}
    if rate is not None:
        # sum_t of a function of a constant rate is T times it
        scalars[symbols.over_rounds(symbols.eta(symbols.t) ** 2)] = rounds * rate**2
    expr = [_closed(part, bound.definitions) for part in bound.parts.values()]
    parts = (evaluate(part, scalars, setting.clients()) for part in expr)
    return sum(parts, start=Interval.of(0))


def largest_rate(number: str, case: str, setting: Setting) -> Fraction:
    """Return the largest learning rate that a printed condition ``eta <= `` admits.

    Args:
        number: "3.6" to "3.9".
        case: "general_convex" or "non_convex".
        setting: the constants.

    Returns:
        The rate, exact.
    """
    step = _step(number, case)
    rate = _closed(step.client, step.definitions)
    return evaluate(rate, setting.scalars(), setting.clients()).low


def printed_rates(number: str, setting: Setting) -> tuple[Rate, Rate]:
    r"""Return the printed $\eta^t$ of the strongly convex case.

    Args:
        number: "3.6" to "3.9".
        setting: the constants.

    Returns:
        The rate of the client side and that of the server side.
    """
    step = _step(number, "strongly_convex")
    client, server = (
        _rate(_closed(side, step.definitions), setting)
        for side in (step.client, step.server)
    )
    return client, server


def _step(number: str, case: str) -> Any:
    step = theorem(number).case(case).bound("printed").step_size
    if step is None:
        raise ValueError(f"Theorem {number}, {case}, has no step size")
    return step


def _closed(expr: Any, definitions: Any) -> Any:
    """Return the expression free of defined symbols."""
    while expr.free_symbols & set(definitions):
        expr = expr.xreplace(dict(definitions))
    return expr


def _rate(expr: Any, setting: Setting) -> Rate:
    """Return scale/(offset + growth t) as an exact rate.

    Raises:
        ValueError: if the expression is of another form.
    """
    values = {
        symbol: sp.Rational(value.numerator, value.denominator)
        for symbol, value in setting.scalars().items()
        if isinstance(value, int | Fraction)
    }
    (scale, *above), (offset, *below) = (
        [
            Fraction(int(c.p), int(c.q))
            for c in sp.Poly(part, symbols.t).all_coeffs()[::-1]
        ]
        for part in sp.fraction(sp.cancel(expr.xreplace(values)))
    )
    growth = below or [Fraction(0)]
    if above or len(growth) > 1:
        raise ValueError(f"the rate {expr} is not of the form c/(a + b t)")
    return Rate(scale, offset, growth[0])
