r"""From a formula to numbers: sums over clients and rounds, then the rest in one go.

A formula is evaluated in two steps. Every $\sum_n$ becomes a number from the per-client
arrays and every $\sum_t$ an array over rounds from the schedule; what remains is a
formula in scalars and T, which numpy evaluates vectorised over the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from sympy.printing.numpy import NumPyPrinter

from sfl_theory import symbols
from sfl_theory.constants import Constants
from sfl_theory.schedules import Schedule

_ROWS = {row.symbol: row for row in symbols.NOTATION}
_RATE = sp.Symbol("_rate", positive=True)
_ADDED = 4096


def needed(
    formulas: Iterable[sp.Expr], definitions: Mapping[sp.Symbol, sp.Expr]
) -> tuple[str, ...]:
    """Return the names of the constants that the formulas use, in table order."""
    found: set[sp.Symbol] = set()
    for formula in formulas:
        found |= _letters(_expanded(formula, definitions))
    return tuple(row.name for row in symbols.NOTATION if row.symbol in found)


@lru_cache(maxsize=4096)
def _letters(formula: sp.Expr) -> frozenset[sp.Symbol]:
    """Return the symbols of a formula; what differs by client is weighted."""
    bases = formula.atoms(sp.IndexedBase)
    found: set[sp.Symbol] = formula.free_symbols | bases
    weighted = bases or symbols.N in found
    return frozenset(found | ({symbols.a} if weighted else set()))


def evaluate(
    formula: sp.Expr,
    definitions: Mapping[sp.Symbol, sp.Expr],
    constants: Constants,
    rounds: NDArray[np.int64],
    schedule: Schedule | None,
) -> NDArray[np.float64]:
    """Return the formula at every round, shape (m,).

    Raises:
        ValueError: if a constant or the schedule is missing.
    """
    plan = _plan(_expanded(formula, definitions))
    arguments = [_argument(symbol, constants, rounds) for symbol in plan.scalars]
    arguments += [_client_sum(*item, constants) for item in plan.client_sums]
    for summand in plan.round_sums:
        if schedule is None:
            raise ValueError("this formula sums over learning rates: give a schedule")
        arguments.append(schedule.accumulate(summand, rounds))
    value = plan.function(*arguments)
    return np.array(np.broadcast_to(value, rounds.shape), dtype=np.float64)


def compiled(
    formula: sp.Expr,
    variables: tuple[sp.Symbol, ...],
    definitions: Mapping[sp.Symbol, sp.Expr],
    constants: Constants,
) -> Callable[..., NDArray[np.float64]]:
    """Return the formula as a vectorised function of ``variables`` alone."""
    plan = _plan(_expanded(formula, definitions))
    fixed = {
        symbol: _argument(symbol, constants, np.empty(0, np.int64))
        for symbol in plan.scalars
        if symbol not in variables
    }
    sums = [_client_sum(*item, constants) for item in plan.client_sums]

    def function(*values: NDArray[np.float64]) -> NDArray[np.float64]:
        given = dict(zip(variables, values, strict=True))
        scalars = [given.get(s, fixed.get(s)) for s in plan.scalars]
        result = plan.function(*scalars, *sums)
        return np.broadcast_to(np.asarray(result, np.float64), np.shape(values[0]))

    return function


def growth(formula: sp.Expr, definitions: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    r"""Return p with formula $=\Theta(T^p)$, the learning rate being constant."""
    flat = _expanded(formula, definitions).replace(
        lambda node: isinstance(node, sp.Sum) and node.limits[0][0] == symbols.t,
        lambda node: symbols.T * node.function,
    )
    flat = flat.replace(
        lambda node: isinstance(node, symbols.eta | sp.Sum),
        lambda node: sp.Dummy(positive=True),
    )
    flat = flat.replace(  # a logarithm
        lambda node: isinstance(node, symbols.reciprocals),
        lambda node: sp.Dummy(positive=True),
    )
    for shown in (flat, _somewhere(flat)):
        found = degree(shown)
        if found is not None:
            return found
    T = symbols.T
    return sp.limit(sp.simplify(T * sp.diff(flat, T) / flat), T, sp.oo)


def _somewhere(formula: sp.Expr) -> sp.Expr:
    """Return a formula of T alone: the others are primes, S the largest of them.

    There a sum like S/mu - 1 shows that it is not 0. A power that is one of the others
    stays what it is.
    """
    powers = [part.exp for part in formula.atoms(sp.Pow) if part.base.has(symbols.T)]
    kept = {symbols.T, *(one for power in powers for one in power.free_symbols)}
    others = sorted(formula.free_symbols - kept, key=str)
    point = {one: sp.Integer(sp.prime(k)) for k, one in enumerate(others, 1)}
    if symbols.S in point:
        point[symbols.S] = sp.Integer(sp.prime(len(others) + 1))
    return formula.xreplace(point)


def degree(formula: sp.Expr) -> sp.Expr | None:
    r"""Return p with formula $=\Theta(T^p)$ where its form shows it, else None.

    Degrees of a product add up, a power multiplies that of its base (of a positive one
    for a root), and a sum has the largest: of one term, or of several that are
    positive, which cannot cancel. Factors without T are taken for not zero.
    """
    T = symbols.T
    if not formula.has(T):
        return sp.Integer(0)
    if formula == T:
        return sp.Integer(1)
    if isinstance(formula, sp.Pow):
        base, power = formula.args
        real = power.is_Integer or (power.is_Rational and base.is_positive)
        known = degree(base) if real else None
        return None if known is None else known * power
    if not isinstance(formula, sp.Mul | sp.Add):
        return None
    each = [degree(part) for part in formula.args]
    known = [one for one in each if one is not None]
    if len(known) < len(each):
        return None
    if isinstance(formula, sp.Mul):
        return sum(known, sp.Integer(0))
    top = max(known)
    leading = [
        part for part, one in zip(formula.args, known, strict=True) if one == top
    ]
    alone = len(leading) == 1 and (top != 0 or leading[0].is_nonzero)
    return top if alone or all(part.is_positive for part in leading) else None


class _Plan:
    """A formula taken apart: scalars, sums, and the function that joins them."""

    def __init__(self, formula: sp.Expr) -> None:
        self.client_sums: list[
            tuple[Callable[..., NDArray[np.float64]], tuple[sp.Symbol, ...]]
        ] = []
        self.round_sums: list[Callable[..., NDArray[np.float64]]] = []
        replacements: dict[sp.Expr, sp.Expr] = {}
        client_dummies, round_dummies = [], []
        for node in sorted(formula.atoms(sp.Sum), key=sp.default_sort_key):
            dummy = sp.Symbol(f"_sum{len(replacements)}", positive=True)
            replacements[node] = dummy
            if node.limits[0][0] == symbols.n:
                self.client_sums.append(_in_constants(node.function))
                client_dummies.append(dummy)
            else:
                summand = node.function.replace(
                    lambda part: isinstance(part, symbols.eta), lambda part: _RATE
                )
                self.round_sums.append(_function([_RATE], summand))
                round_dummies.append(dummy)
        flat = formula.xreplace(replacements)
        self.function, self.scalars = _in_constants(
            flat, (*client_dummies, *round_dummies)
        )


@lru_cache(maxsize=512)
def _plan(formula: sp.Expr) -> _Plan:
    return _Plan(formula)


def _in_constants(
    formula: sp.Expr, last: tuple[sp.Symbol, ...] = ()
) -> tuple[Callable[..., NDArray[np.float64]], tuple[sp.Symbol, ...]]:
    r"""Return the formula as a function of the *constants*, and its symbols in order.

    $\sigma_n$ enters as the square root of the constant ``sigma2``, which sympy cancels
    against the square in the formula, so no rounding separates the two; the same for
    G, epsilon and R.
    """
    bases = sorted(formula.atoms(sp.IndexedBase), key=str)
    names = {base.label for base in bases}
    ignored = {*last, *names, symbols.n}
    scalars = sorted(formula.free_symbols - ignored - set(bases), key=str)
    scalars = [s for s in scalars if not isinstance(s, sp.Indexed)]
    replacements: dict[sp.Expr, sp.Expr] = {}
    arguments: list[sp.Symbol] = []
    for symbol in (*bases, *scalars):
        row = _ROWS.get(symbol)
        constant = sp.Symbol(f"_given{len(arguments)}", positive=True)
        arguments.append(constant)
        left = symbol[symbols.n] if isinstance(symbol, sp.IndexedBase) else symbol
        replacements[left] = constant ** sp.Rational(1, row.power if row else 1)
    function = _function([*arguments, *last], formula.xreplace(replacements))
    return function, (*bases, *scalars)


def _function(
    arguments: list[sp.Symbol], formula: sp.Expr
) -> Callable[..., NDArray[np.float64]]:
    """Return the formula as a function that numpy evaluates.

    Asked for "numpy" by name, sympy imports all of it: another 150 modules. For an
    argument that is a dummy, or no name in Python, it would make the formula anew,
    which takes longer than the rest.
    """
    printer = NumPyPrinter({
        "fully_qualified_modules": False,
        "inline": True,
        "allow_unknown_functions": True,
    })
    function: Callable[..., NDArray[np.float64]] = sp.lambdify(
        arguments, formula, [{"reciprocals": reciprocals}, vars(np)], printer=printer
    )
    return function


def reciprocals(first: float, step: float, upper: ArrayLike) -> NDArray[np.float64]:
    r"""Return $\sum_{t=0}^{m-1}\frac1{c+dt}$ for every m.

    Term by term up to `_ADDED` terms; from z on the others are, by Euler and Maclaurin,
    $\ln(1+\frac nz)+\frac12(\frac1z-\frac1{z+n})+\frac1{12}(\frac1{z^2}-
    \frac1{(z+n)^2})$ but for $\frac1{120z^4}$, which float64 does not see.

    Args:
        first: c > 0.
        step: d > 0.
        upper: m >= 0, of any shape.

    Returns:
        float64, of the shape of ``upper``.
    """
    count = np.asarray(upper, dtype=np.float64)
    sums = np.concatenate([[0.0], np.cumsum(1 / (first + step * np.arange(_ADDED)))])
    own = sums[np.minimum(count, _ADDED).astype(np.int64)]
    more = np.maximum(count - _ADDED, 0)
    z, end = first / step + _ADDED, first / step + _ADDED + more
    rest = np.log1p(more / z) + (1 / z - 1 / end) / 2 + (1 / z**2 - 1 / end**2) / 12
    return np.asarray(own + rest / step)


def _client_sum(
    summand: Callable[..., NDArray[np.float64]],
    summed: tuple[sp.Symbol, ...],
    constants: Constants,
) -> float:
    weights = constants.per_client("weights")
    values = [_argument(symbol, constants, np.empty(0, np.int64)) for symbol in summed]
    return float(np.sum(np.broadcast_to(summand(*values), weights.shape)))


def _argument(
    symbol: sp.Symbol, constants: Constants, rounds: NDArray[np.int64]
) -> float | NDArray[np.float64]:
    """Return what a symbol of a taken-apart formula stands for.

    Raises:
        ValueError: if the constant is not given.
    """
    if symbol == symbols.T:
        return rounds.astype(np.float64)
    if symbol == symbols.N:
        return float(constants.per_client("weights").size)
    row = _ROWS[symbol]
    if isinstance(symbol, sp.IndexedBase):
        return constants.per_client(row.name)
    value = getattr(constants, row.name)
    if value is None:
        raise ValueError(f"the constant '{row.name}' is needed and not given")
    if not isinstance(value, int | float):
        raise ValueError(f"the constant '{row.name}' must be one number here")
    if row.name == "mu" and value == 0:
        raise ValueError("the constant 'mu' must be positive for this bound, got 0")
    return float(value)


@lru_cache(maxsize=512)
def _substituted(
    formula: sp.Expr, definitions: tuple[tuple[sp.Symbol, sp.Expr], ...]
) -> sp.Expr:
    for symbol, meaning in definitions:
        formula = formula.xreplace({symbol: meaning})
    return formula


def _expanded(formula: sp.Expr, definitions: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    return _substituted(formula, tuple(definitions.items()))
