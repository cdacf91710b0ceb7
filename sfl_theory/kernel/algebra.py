"""Exact numbers: polynomials over the rationals and their ratios, with sorts.

A `Ratio` is ``numerator / product of factors``. Every factor is positive for *all*
values that the sorts of its symbols allow, so a ratio is a number everywhere: no rule
divides by what may vanish, and the sign of a ratio is the sign of its numerator.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm, prod
from typing import Any, Generic, NoReturn, Self, TypeVar, cast

MAX_TERMS, MAX_EXPONENT, MAX_BITS, MAX_SIZE = 40_000, 64, 4_096, 100_000
WIDTH = MAX_EXPONENT.bit_length() + 1

Monomial = tuple[tuple[int, int], ...]
Exact = int | Fraction
Packed = tuple[dict[int, int], int]
K = TypeVar("K")
V = TypeVar("V", bound=Any)


class Rejected(ValueError):  # noqa: N818 - the verdict's name
    """The one exception of the kernel: what was asked for is not shown to be sound."""


def require(condition: object, message: str, *about: object) -> None:
    """Refuse unless the condition is true.

    Raises:
        Rejected: it is not; the message is filled in only then.
    """
    if not condition:
        raise Rejected(message % about)


class Sort(Enum):
    """The values that a symbol ranges over."""

    NATURAL = "natural"
    COUNT = "count"
    NONNEGATIVE = "nonnegative"
    POSITIVE = "positive"

    @property
    def whole(self) -> bool:
        """Whether the values are natural numbers (a count is at least 1)."""
        return self in (Sort.NATURAL, Sort.COUNT)

    @property
    def positive(self) -> bool:
        """Whether no value is 0."""
        return self in (Sort.COUNT, Sort.POSITIVE)


class Built:
    """What has parts: its free variables and binders are those of the parts."""

    def __init_subclass__(cls, **constants: object) -> None:
        super().__init_subclass__()
        own = cls.__module__.rpartition(".")[0] == __package__
        require(own, "%s is no class of the kernel", cls)
        for name, value in constants.items():
            setattr(cls, name, value)

    @cached_property
    def parts(self) -> tuple[object, ...]:
        """What it is built of."""
        return ()

    @cached_property
    def free(self) -> frozenset[object]:
        """The free variables; every rule asks, and `parts` refuses forged numbers."""
        return frozenset().union(*(p.free for p in self.parts if isinstance(p, Built)))

    @cached_property
    def depth(self) -> int:
        """The highest level of a binder inside."""
        return max((p.depth for p in self.parts if isinstance(p, Built)), default=0)

    @cached_property
    def size(self) -> int:
        """How long it is, written out."""
        return sum([p.size for p in self.parts if isinstance(p, Built)], 1)

    def __reduce__(self) -> NoReturn:
        raise Rejected("not copied: a copy of a symbol has the number of the symbol")


class Symbol(Built):
    """What a polynomial is a polynomial in; `terms` defines the kinds of symbols."""

    serial: int
    sort: Sort


SYMBOLS: list[Symbol] = []  # an earlier one leads a monomial


@lru_cache(maxsize=400_000)
def _times(a: Monomial, b: Monomial) -> Monomial:
    """Return a product of monomials."""
    powers = dict(a)
    for serial, power in b:
        powers[serial] = powers.get(serial, 0) + power
    require(max(powers.values(), default=0) <= MAX_EXPONENT, "an exponent too high")
    return tuple(sorted(powers.items(), reverse=True))


def _packed(*polys: Poly) -> tuple[list[Packed], int, Callable[..., Poly]]:
    """Return polynomials with numbers for monomials, a guard, and what undoes it.

    Each power has `WIDTH` bits. The highest one, in the guard, is 0: so the number of
    a product is the sum, without a carry. The factor beside makes coefficients whole.
    """
    used = {item for poly in polys for key in poly.coefficients for item in key}
    require(all(0 < power <= MAX_EXPONENT for _, power in used), "an exponent too high")
    at = {s: WIDTH * i for i, s in enumerate(sorted({s for s, _ in used}))}
    order, mask = [*at.items()][::-1], (1 << WIDTH) - 1

    def packed(poly: Poly) -> Packed:
        items = poly.coefficients.items()
        by = lcm(*(c.denominator for _, c in items))
        return {sum([p << at[s] for s, p in k]): int(c * by) for k, c in items}, by

    def opened(packed: Mapping[int, int], factor: Fraction) -> Poly:
        by: Exact = factor if factor.denominator > 1 else factor.numerator
        return Poly({
            tuple([(s, p) for s, low in order if (p := number >> low & mask)]): c * by
            for number, c in packed.items()
        })

    guard = sum(1 << low + WIDTH - 1 for low in at.values())
    return [*map(packed, polys)], guard, opened


class Sum(Built, Generic[K, V]):
    """A finite sum; ``coefficients`` maps what is summed to factors other than 0."""

    def __init__(self, coefficients: Mapping[K, V]) -> None:
        self.coefficients = {key: c for key, c in coefficients.items() if c}

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.coefficients.items()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Return whether the structure is the same; equal values have difference 0."""
        own: object = self.coefficients
        return type(other) is type(self) and own == other.coefficients

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def __add__(self, other: Self) -> Self:
        return self.plus((other,))

    def plus(self, others: Iterable[Self]) -> Self:
        """Return this sum and others, all of them added up."""
        out: dict[K, list[V]] = {}
        for one in (self, *others):
            require(type(one) is type(self), "things of two kinds cannot be added")
            for key, c in one.coefficients.items():
                out.setdefault(key, []).append(c)
        return type(self)({k: sum(c) if c[1:] else c[0] for k, c in out.items()})

    def __neg__(self) -> Self:
        return type(self)({key: -c for key, c in self.coefficients.items()})

    def __sub__(self, other: Self) -> Self:
        return self + (-other)

    def scaled(self, factor: V) -> Self:
        """Return this sum times a number."""
        return type(self)({key: c * factor for key, c in self.coefficients.items()})


def signed(parts: Iterable[tuple[bool, str]]) -> str:
    """Return a sum for people, from the texts of terms and whether each has a minus."""
    text = "".join((" - " if minus else " + ") + part for minus, part in sorted(parts))
    return (text[3:] if text[:3] == " + " else text.replace(" - ", "-", 1)) or "0"


class Poly(Sum[Monomial, Exact]):
    """A polynomial with rational coefficients, whole ones as integers."""

    def __init__(self, coefficients: Mapping[Monomial, Exact]) -> None:
        self.coefficients = own = dict[Monomial, Exact]()
        for key, c in coefficients.items():
            if c:
                n, d = c.numerator, c.denominator  # a float has none
                if n.bit_length() + d.bit_length() > MAX_BITS:
                    require(False, "a coefficient exceeds %s bits", MAX_BITS)
                own[key] = n if d == 1 else c
        require(len(own) <= MAX_TERMS, "more than %s terms", MAX_TERMS)

    @staticmethod
    def constant(value: Exact) -> Poly:
        """Return the constant polynomial."""
        require(type(value) in (int, Fraction), "%r is not an exact number", value)
        return Poly({(): value})

    @staticmethod
    def product(coefficient: Exact, powers: Mapping[Symbol, int]) -> Poly:
        """Return ``coefficient`` times a product of powers of symbols."""
        monomial = [(symbol.serial, power) for symbol, power in powers.items() if power]
        require(all(0 < p <= MAX_EXPONENT for _, p in monomial), "an exponent too high")
        return Poly({tuple(sorted(monomial, reverse=True)): coefficient})

    def __mul__(self, other: Poly) -> Poly:
        swap = len(self.coefficients) > len(other.coefficients)
        one, more = (other, self) if swap else (self, other)
        size, items = len(one.coefficients), more.coefficients.items()
        if size < 2:
            ((a, c),) = one.coefficients.items() or (((), 0),)
            return Poly({_times(a, b): c * d for b, d in items})
        require(size * len(items) <= MAX_TERMS * 50, "a product is too long")
        ((few, scale), (many, by)), _, opened = _packed(one, more)
        out = dict[int, int]()
        for x, c in few.items():
            for y, d in many.items():
                out[x + y] = out.get(x + y, 0) + c * d
        return opened(out, Fraction(1, scale * by))

    @cached_property
    def products(self) -> list[tuple[Fraction, Mapping[Symbol, int]]]:
        """Coefficient and powers of each term."""
        for monomial, c in self.coefficients.items():
            fits = monomial == tuple(sorted(dict(monomial).items(), reverse=True))
            fits &= all(s < 0 < p and type(p) is int for s, p in monomial)
            require(fits and type(c) in (int, Fraction), "that is no polynomial")
        return [
            (Fraction(c), {SYMBOLS[-serial - 1]: power for serial, power in monomial})
            for monomial, c in self.coefficients.items()
        ]

    def renamed(self, by: Mapping[Symbol, Symbol]) -> Poly:
        """Return this polynomial with other symbols for some, which stay different."""
        to = {s.serial: one.serial for s, one in by.items()}
        require(len({*to.values()}) == len(to), "two symbols would become one")
        items = [([(to[s], p) for s, p in k], c) for k, c in self.coefficients.items()]
        return Poly({tuple(sorted(key, reverse=True)): c for key, c in items})

    def grouped(self, by: Iterable[Symbol]) -> list[tuple[dict[Symbol, int], Poly]]:
        """Return products of powers of some symbols, and what multiplies each."""
        own, out = {s.serial: s for s in by}, dict[Monomial, dict[Monomial, Exact]]()
        for key, c in self.coefficients.items():
            inner = tuple([item for item in key if item[0] in own])
            outer = tuple([item for item in key if item[0] not in own])
            out.setdefault(inner, {})[outer] = c
        return [({own[s]: p for s, p in key}, Poly(rest)) for key, rest in out.items()]

    @cached_property
    def parts(self) -> tuple[Symbol, ...]:
        """The symbols that occur."""
        return tuple({symbol: 0 for _, powers in self.products for symbol in powers})

    def divided(self, divisor: Poly) -> Poly | None:
        """Return the quotient if the division is exact (by Gauss in integers)."""
        for end in (max, min) if self else ():  # a product's: those of its factors
            powers = dict(end(self.coefficients))
            if any(powers.get(s, 0) < p for s, p in end(divisor.coefficients)):
                return None
        ((rest, scale), (by, factor)), guard, opened = _packed(self, divisor)
        size, (*others, lead) = gcd(*by.values()), sorted(by)
        quotient, left = dict[int, int](), sorted(rest)
        while left:
            if not rest[top := left.pop()]:
                continue
            value, odd = divmod(rest[top] * size, by[lead])
            monomial = ((top | guard) - lead) ^ guard
            if odd or monomial & guard:
                return None
            quotient[monomial] = value
            require(len(quotient) <= MAX_TERMS, "a division is too long")
            for other in others:  # these products come before the top in the order
                key = other + monomial
                if key & guard:
                    return None
                if key not in rest:
                    insort(left, key)
                rest[key] = rest.get(key, 0) - value * by[other] // size
        return opened(quotient, Fraction(factor, scale * size))

    def shifted(self) -> Poly:
        """Return 1 + v for every count v: the result's v is a natural number."""
        counts = (s for s in self.parts if s.sort is Sort.COUNT)
        by = {s: Poly.product(1, {s: 1}) + ONE for s in counts}
        moved = (
            prod((by[s] for s, power in own.items() for _ in range(power)), start=rest)
            for own, rest in self.grouped(by)
        )
        return ZERO.plus(moved) if by else self

    def nonnegative(self) -> bool:
        """Return whether the sorts alone show that the value is >= 0."""
        low = min(self.coefficients.values(), default=1)
        return low > 0 or min(self.shifted().coefficients.values(), default=1) > 0

    def positive(self) -> bool:
        """Return whether the sorts alone show that the value is > 0."""
        return self.nonnegative() and any(
            all(symbol.sort is Sort.POSITIVE for symbol in powers)
            for _, powers in self.shifted().products
        )

    def natural(self) -> bool:
        """Return whether the sorts alone show a natural number."""
        whole = all(c.denominator == 1 for c in self.coefficients.values())
        return whole and all(s.sort.whole for s in self.parts) and self.nonnegative()

    def __str__(self) -> str:
        shown = []
        for value, powers in self.products:
            names = sorted(_power(f"{s}", power) for s, power in powers.items())
            head = [] if abs(value) == 1 and names else [str(abs(value))]
            shown.append((value < 0, "*".join(head + names)))
        return signed(shown)


ZERO = Poly({})
ONE = Poly({(): 1})
Factors = Iterable[tuple[Poly, int]]


def _lifted(top: Poly, factors: Mapping[Poly, int]) -> Poly:
    """Return a polynomial times powers of others."""
    return top * prod((f for f, p in factors.items() for _ in range(p)), start=ONE)


class Ratio(Built):
    """``numerator / product of factors ** powers``, the factors positive by sorts."""

    def __init__(self, numerator: Poly, denominator: Factors = ()) -> None:
        self.numerator, found = numerator, numerator.coefficients
        low = sorted(denominator, key=lambda f: sorted(f[0].coefficients.items()))
        self.denominator, plain = tuple(low), not low and found.keys() <= {()}
        self.plain = found.get((), 0).as_integer_ratio() if plain else None

    def __hash__(self) -> int:
        return hash((self.numerator, self.denominator))

    def __eq__(self, other: object) -> bool:
        return type(other) is Ratio and (
            self.numerator == other.numerator and self.denominator == other.denominator
        )

    def __bool__(self) -> bool:
        return bool(self.numerator)

    def __add__(self, other: Number) -> Ratio:
        return added((self, ratio(other)))

    __radd__ = __add__

    def __neg__(self) -> Ratio:
        return Ratio(-self.numerator, self.denominator)

    def __sub__(self, other: Number) -> Ratio:
        return self + (-ratio(other))

    def __rsub__(self, other: Number) -> Ratio:
        return ratio(other) - self

    def __mul__(self, other: Number) -> Ratio:
        if type(other) not in (Ratio, int, Fraction):
            return NotImplemented
        other = ratio(other)
        if other.plain == (1, 1):
            return self
        top = self.numerator * other.numerator
        factors = dict(self.denominator)
        for factor, power in other.denominator:
            factors[factor] = factors.get(factor, 0) + power
        return _reduced(top, factors) if factors else Ratio(top)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Ratio:
        fits = type(power) is int and 0 <= power <= MAX_EXPONENT
        require(fits, "the exponent %r is out of range", power)
        return self if power == 1 else prod([self] * power, start=ratio(1))

    def __truediv__(self, other: Number) -> Ratio:
        return self * _inverse(ratio(other))

    def __rtruediv__(self, other: Number) -> Ratio:
        return ratio(other) * _inverse(self)

    @cached_property
    def parts(self) -> tuple[object, ...]:
        """The numerator and the factors of the denominator."""
        below = self.denominator
        fits = all(f.positive() and type(p) is int and p > 0 for f, p in below)
        fits &= len(dict(below)) == len(below)
        require(fits, "a denominator that may vanish, to no power, or written twice")
        return (self.numerator, *dict(below))

    def poly(self) -> Poly:
        """Return the polynomial that this ratio is."""
        require(not self.denominator, "%s is not a polynomial", self)
        return self.numerator

    def nonnegative(self) -> bool:
        """Return whether the sorts alone show that the value is >= 0."""
        return self.numerator.nonnegative()

    def positive(self) -> bool:
        """Return whether the sorts alone show that the value is > 0."""
        return self.numerator.positive()

    def __str__(self) -> str:
        if not self.denominator:
            return str(self.numerator)
        below = sorted(_power(_bracketed(f), power) for f, power in self.denominator)
        under = below[0] if len(below) == 1 else f"({'*'.join(below)})"
        return f"{_bracketed(self.numerator)}/{under}"


def _power(text: str, power: int) -> str:
    return text if power == 1 else f"{text}^{power}"


def _bracketed(poly: Poly) -> str:
    return str(poly) if len(poly.coefficients) == 1 else f"({poly})"


Number = Ratio | int | Fraction


def ratio(value: Number | Poly) -> Ratio:
    """Return an exact number or a polynomial as a ratio."""
    if type(value) is Ratio:
        return value
    return Ratio(value if type(value) is Poly else Poly.constant(cast(Any, value)))


WHOLE, HALF = ratio(1), ratio(Fraction(1, 2))


def added(parts: Iterable[Ratio]) -> Ratio:
    """Return a sum over the common denominator, reduced once."""
    kept, common = [one for one in parts if one.numerator], dict[Poly, int]()
    if len(kept) < 2:
        return kept[0] if kept else ratio(0)
    tops: dict[tuple[tuple[Poly, int], ...], list[Poly]] = {}
    for one in kept:
        tops.setdefault(one.denominator, []).append(one.numerator)
    for factor, power in (item for below in tops for item in below):
        common[factor] = max(common.get(factor, 0), power)
    lifted = (
        _lifted(ZERO.plus(own), common | {f: common[f] - power for f, power in below})
        for below, own in tops.items()
    )
    return _reduced(ZERO.plus(lifted), common) if common else Ratio(ZERO.plus(tops[()]))


@lru_cache(maxsize=4096)
def _inverse(of: Ratio) -> Ratio:
    """Return 1 / of; refused unless the sorts alone show one sign.

    The numerator is split into a number, a monomial in symbols that cannot vanish and
    the rest, with coprime integers: so powers of one symbol cancel later.
    """
    sign = -1 if (-of.numerator).nonnegative() else 1
    divisor = of.numerator.scaled(sign)
    require(divisor.positive(), "division by %s, which may vanish", of)
    content = {
        symbol: min(powers.get(symbol, 0) for _, powers in divisor.products)
        for symbol in divisor.parts
        if symbol.sort.positive
    }
    rest = divisor.divided(Poly.product(1, content)) or divisor
    values = [c.as_integer_ratio() for c in rest.coefficients.values()]
    size = Fraction(gcd(*(n for n, _ in values)), lcm(*(d for _, d in values)))
    rest = rest.scaled(1 / size)
    require(rest.positive(), "division by %s, which may vanish", rest)
    factors = {Poly.product(1, {symbol: 1}): power for symbol, power in content.items()}
    top = _lifted(Poly.constant(sign / size), dict(of.denominator))
    return _reduced(top, {**factors, rest: 1})


def _reduced(top: Poly, factors: Mapping[Poly, int]) -> Ratio:
    """Return a ratio without the factors that divide its numerator."""
    kept = []
    for factor, left in factors.items() if top else ():
        while left and (quotient := top.divided(factor)) is not None:
            top, left = quotient, left - 1
        require(left <= MAX_EXPONENT, "an exponent exceeds %s", MAX_EXPONENT)
        if left:
            kept.append((factor, left))
    return Ratio(top, kept)
