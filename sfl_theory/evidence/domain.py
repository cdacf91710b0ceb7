r"""Signs on a whole parameter domain, decided exactly.

A domain writes every parameter in terms of free variables that range over $[0,\infty)$:
$S\ge\mu>0$ becomes $\mu=m$, $S=m+s$; $0<\eta\le1/(16S\tau)$ becomes
$\eta=1/(16S\tau(1+h))$. A rational expression is then non-negative on the domain if,
after substitution, numerator and denominator are polynomials with non-negative
coefficients only. That is sufficient, not necessary: an expression that is not shown
non-negative is *not shown*, never "negative". Whatever an expression divides by must be
shown to vanish nowhere on the domain: a polynomial of one sign with a term that holds
positive variables only (a variable that may be 0 can make every other term 0).

What no substitution expresses (two bounds on one parameter) is *given*: expressions
that are non-negative on the domain. An expression is then also shown non-negative if it
is a non-negative multiple of a given one, or exceeds one or the sum of two by
something non-negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any

import sympy as sp
from sympy.polys.domains import ZZ
from sympy.polys.rings import ring


@dataclass(frozen=True)
class Domain:
    """Parameters as expressions in non-negative free variables.

    Attributes:
        words: the domain as a reader states it.
        values: parameter -> expression in free variables and earlier parameters.
        free: the free variables; those that may be 0 are nonnegative symbols, those
            that may not are positive symbols.
        given: expressions in the parameters that restrict the domain: it is the part
            where they are non-negative.
    """

    words: str
    values: Mapping[Any, Any]
    free: tuple[Any, ...]
    given: tuple[Any, ...] = ()
    _known: dict[Any, tuple[Any, Any]] = field(init=False, repr=False, compare=False)

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
        known = _fractions(tuple(self.values.items()), self.free)
        object.__setattr__(self, "_known", known)

    def nonnegative(self, expr: Any) -> bool:
        """Decide whether the expression is shown non-negative on the whole domain.

        Args:
            expr: rational in the parameters.

        Returns:
            True if it is; False says only that it is not shown.
        """
        if self._everywhere(expr):
            return True
        pairs = (sum(pair) for pair in combinations(self.given, 2))
        return any(
            self._everywhere(expr - known) for known in (*self.given, *pairs)
        ) or any(self._multiple(expr, known) for known in self.given)

    def _multiple(self, expr: Any, known: Any) -> bool:
        """Return whether the expression is shown a non-negative multiple."""
        (above, below), (top, bottom) = self._fraction(expr), self._fraction(known)
        if not above or not top:
            return bool(top)
        _, above, below = (above * bottom).cofactors(below * top)
        # without a pole on the domain
        return self._nowhere_zero(below) and _signs(above) * _signs(below) > 0

    def inhabited(self) -> bool:
        """Return whether a point was found at which what is given holds.

        Only sought where something is given: without it every value of the free
        variables is a point.
        """
        if not self.given:
            return True
        scale = [sp.Rational(k) for k in ("1/64", "1/4", "1", "5", "40", "1000")]
        known = [self.substitute(expr) for expr in self.given]
        for seed in range(400):
            at = {
                v: scale[(seed * (2 * k + 1) + seed // 6**k) % 6]
                for k, v in enumerate(self.free)
            }
            if all(expr.xreplace(at) >= 0 for expr in known):
                return True
        return False

    def _everywhere(self, expr: Any) -> bool:
        """Return whether the signs of the coefficients show it, nothing given."""
        numerator, denominator = self._fraction(expr)
        if not numerator:
            return True
        signs = _signs(numerator), _signs(denominator)
        return signs in {(1, 1), (-1, -1)}

    def positive(self, expr: Any) -> bool:
        """Decide whether the expression is shown positive on the whole domain.

        Args:
            expr: rational in the parameters.

        Returns:
            True if it is; False says only that it is not shown.
        """
        return self._everywhere(expr) and self._nowhere_zero(self._fraction(expr)[0])

    def extended(
        self,
        values: Mapping[Any, Any] | None = None,
        free: tuple[Any, ...] = (),
        given: tuple[Any, ...] = (),
    ) -> Domain:
        """Return the domain with further parameters, variables and restrictions.

        Args:
            values: further parameters.
            free: further free variables.
            given: further expressions that are non-negative.

        Returns:
            The points of this domain with every value of the further variables at
            which the further expressions are non-negative.

        Raises:
            ValueError: if one of the names is taken.
        """
        new = {**(values or {}), **dict.fromkeys(free)}
        taken = {*self.values, *self.free}.intersection(new)
        if taken:
            raise ValueError(f"'{taken.pop()}' is a parameter of '{self.words}'")
        return Domain(
            self.words,
            {**self.values, **(values or {})},
            (*self.free, *free),
            (*self.given, *given),
        )

    def in_free_variables(self, expr: Any) -> Any:
        """Return the expression with every parameter written out."""
        for _ in self.values:
            expr = (sp.Integer(0) + expr).xreplace(dict(self.values))
        return expr

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
        if not numerator:
            return sp.Integer(0)
        _, numerator, denominator = numerator.cofactors(denominator)
        return numerator.as_expr() / denominator.as_expr()

    def _fraction(self, expr: Any) -> tuple[Any, Any]:
        """Return numerator and denominator, polynomials in the free variables."""
        polynomials = ring(self.free, ZZ)[0]
        for variable, polynomial in zip(self.free, polynomials.gens, strict=True):
            self._known[variable] = polynomial, polynomials.one
        return self._walk(sp.Integer(0) + expr, polynomials, self._known, ())

    def _walk(
        self, expr: Any, polynomials: Any, known: dict[Any, Any], path: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        if expr in known:
            return known[expr]  # type: ignore[no-any-return]
        if expr.is_Rational:
            return polynomials(int(expr.p)), polynomials(int(expr.q))
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


@lru_cache(maxsize=64)
def _fractions(
    values: tuple[tuple[Any, Any], ...], free: tuple[Any, ...]
) -> dict[Any, tuple[Any, Any]]:
    """Return where domains of these parameters keep the fractions they worked out."""
    return {}


def _sum(parts: list[tuple[Any, Any]], polynomials: Any) -> tuple[Any, Any]:
    groups: dict[Any, Any] = {}
    for numerator, denominator in parts:
        groups[denominator] = groups.get(denominator, polynomials.zero) + numerator
    total, common = polynomials.zero, polynomials.one
    for denominator, numerator in groups.items():
        _, right, left = common.cofactors(denominator)
        total, common = total * left + numerator * right, common * left
    return total, common


def _product(parts: list[tuple[Any, Any]], polynomials: Any) -> tuple[Any, Any]:
    numerator, denominator = polynomials.one, polynomials.one
    for above, below in parts:
        numerator, denominator = numerator * above, denominator * below
    if not numerator:
        return numerator, polynomials.one
    _, numerator, denominator = numerator.cofactors(denominator)
    return numerator, denominator


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
