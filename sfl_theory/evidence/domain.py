r"""Signs on a whole parameter domain, decided exactly.

A domain writes every parameter in terms of free variables that range over $[0,\infty)$:
$S\ge\mu>0$ becomes $\mu=m$, $S=m+s$; $0<\eta\le1/(16S\tau)$ becomes
$\eta=1/(16S\tau(1+h))$. A rational expression is then non-negative on the domain if,
after substitution, numerator and denominator are polynomials with non-negative
coefficients only. That is sufficient, not necessary: an expression that is not shown
non-negative is *not shown*, never "negative". Whatever an expression divides by must be
shown to vanish nowhere on the domain: a polynomial of one sign with a term that holds
positive variables only (a variable that may be 0 can make every other term 0).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ
from sympy.polys.rings import ring


@dataclass(frozen=True)
class Domain:
    """Parameters as expressions in non-negative free variables.

    Attributes:
        words: the domain as a reader states it.
        values: parameter -> expression in free variables and earlier parameters.
        free: the free variables; those that may be 0 are nonnegative symbols, those
            that may not are positive symbols.
    """

    words: str
    values: Mapping[Any, Any]
    free: tuple[Any, ...]
    _known: dict[Any, tuple[Any, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Refuse free variables that are not free or not non-negative.

        Raises:
            ValueError: if one is.
        """
        for variable in self.free:
            if not variable.is_nonnegative:
                raise ValueError(f"'{variable}' is not declared non-negative")
            if variable in self.values:
                raise ValueError(f"'{variable}' is both free and defined")

    def nonnegative(self, expr: Any) -> bool:
        """Decide whether the expression is shown non-negative on the whole domain.

        Args:
            expr: rational in the parameters.

        Returns:
            True if it is; False says only that it is not shown.
        """
        numerator, denominator = self._fraction(expr)
        if not numerator:
            return True
        signs = _signs(numerator), _signs(denominator)
        return signs in {(1, 1), (-1, -1)}

    def zero(self, expr: Any) -> bool:
        """Decide whether the expression is identically zero on the domain.

        Args:
            expr: rational in the parameters.

        Returns:
            Whether it is.
        """
        return not self._fraction(expr)[0]

    def substitute(self, expr: Any) -> Any:
        """Return the expression in free variables, in lowest terms."""
        numerator, denominator = self._fraction(expr)
        return sp.cancel(numerator.as_expr() / denominator.as_expr())

    def _fraction(self, expr: Any) -> tuple[Any, Any]:
        """Return numerator and denominator as polynomials in the free variables."""
        polynomials = ring(self.free, QQ)[0]
        for variable, polynomial in zip(self.free, polynomials.gens, strict=True):
            self._known[variable] = polynomial, polynomials.one
        return self._walk(sp.Integer(0) + expr, polynomials, self._known, ())

    def _walk(
        self, expr: Any, polynomials: Any, known: dict[Any, Any], path: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        if expr in known:
            return known[expr]  # type: ignore[no-any-return]
        if expr.is_Rational:
            return polynomials(QQ(int(expr.p), int(expr.q))), polynomials.one
        if expr in self.values:
            if expr in path:
                raise ValueError(f"the domain '{self.words}' defines {expr} by itself")
            meaning = sp.Integer(0) + self.values[expr]
            found = self._walk(meaning, polynomials, known, (*path, expr))
        elif expr.is_Add or expr.is_Mul:
            parts = [self._walk(p, polynomials, known, path) for p in expr.args]
            found = (_sum if expr.is_Add else _product)(parts, polynomials)
        elif expr.is_Pow and expr.exp.is_Integer:
            numerator, denominator = self._walk(expr.base, polynomials, known, path)
            power = int(expr.exp)
            if power < 0:
                if numerator and not self._nowhere_zero(numerator):
                    raise ValueError(
                        f"'{expr.base}' is not shown different from 0 on '{self.words}'"
                    )
                numerator, denominator, power = denominator, numerator, -power
            found = numerator**power, denominator**power
        else:
            raise ValueError(
                f"'{expr}' is not a rational expression in the parameters of "
                f"'{self.words}'"
            )
        if not found[1]:
            raise ValueError(f"'{expr}' divides by zero on '{self.words}'")
        known[expr] = found
        return found

    def _nowhere_zero(self, polynomial: Any) -> bool:
        """Return whether a polynomial is shown to vanish nowhere on the domain."""
        return bool(_signs(polynomial)) and any(
            all(v.is_positive for v, k in zip(self.free, powers, strict=True) if k)
            for powers in polynomial.monoms()
        )


def _sum(parts: list[tuple[Any, Any]], polynomials: Any) -> tuple[Any, Any]:
    groups: dict[Any, Any] = {}
    for numerator, denominator in parts:
        groups[denominator] = groups.get(denominator, polynomials.zero) + numerator
    total, common = polynomials.zero, polynomials.one
    for denominator, numerator in groups.items():
        shared = common.gcd(denominator)
        left, right = denominator.exquo(shared), common.exquo(shared)
        total, common = total * left + numerator * right, common * left
    return total, common


def _product(parts: list[tuple[Any, Any]], polynomials: Any) -> tuple[Any, Any]:
    numerator, denominator = polynomials.one, polynomials.one
    for above, below in parts:
        numerator, denominator = numerator * above, denominator * below
    shared = numerator.gcd(denominator) if numerator else denominator
    return numerator.exquo(shared), denominator.exquo(shared)


def _signs(polynomial: Any) -> int:
    """Return 1 or -1 if all coefficients have that sign, else 0."""
    signs = {1 if c > 0 else -1 for c in polynomial.coeffs()}
    return signs.pop() if len(signs) == 1 else 0


def free(names: str) -> tuple[Any, ...]:
    """Return variables that range over the non-negative reals."""
    return sp.symbols(names, nonnegative=True, seq=True)  # type: ignore[no-any-return]


def positive(names: str) -> tuple[Any, ...]:
    """Return variables that range over the positive reals."""
    return sp.symbols(names, positive=True, seq=True)  # type: ignore[no-any-return]
