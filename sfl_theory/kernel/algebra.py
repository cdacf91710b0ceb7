"""Exact numbers: polynomials over the rationals and their ratios, with sorts.

A `Ratio` is ``numerator / product of factors``. Every factor is positive for *all*
values that the sorts of its symbols allow, so a ratio is a number everywhere: no rule
divides by what may vanish, and the sign of a ratio is the sign of its numerator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar, cast
from weakref import WeakValueDictionary

MAX_TERMS = 40_000
MAX_EXPONENT = 64
MAX_BITS = 4_096

Monomial = tuple[tuple[int, int], ...]
Exact = int | Fraction
T = TypeVar("T")


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


_TERMS: WeakValueDictionary[tuple[object, ...], object] = WeakValueDictionary()


class Interned(type):
    """Hash-consing: equal arguments give the same object, so equality is identity."""

    def __call__(cls: type[T], *args: object) -> T:
        """Return the one object with these arguments."""
        key = (cls, *args)
        found = _TERMS.get(key)
        if found is None:
            found = type.__call__(cls, *args)
            _TERMS[key] = found
        return cast(T, found)


class Symbol:
    """What a polynomial is a polynomial in; `terms` defines the kinds of symbols."""

    serial: int
    free: frozenset[object]
    depth: int
    key: bytes
    sort: Sort


_SYMBOLS: list[Symbol] = []


def register(symbol: Symbol) -> int:
    """Return a new serial number for a symbol; earlier symbols lead a monomial."""
    _SYMBOLS.append(symbol)
    return -len(_SYMBOLS)


def symbol_of(serial: int) -> Symbol:
    """Return the symbol that was registered under this serial number."""
    return _SYMBOLS[-serial - 1]


@lru_cache(maxsize=400_000)
def _times(a: Monomial, b: Monomial) -> Monomial:
    if not a:
        return b
    if not b:
        return a
    powers = dict(a)
    for serial, power in b:
        powers[serial] = powers.get(serial, 0) + power
        if powers[serial] > MAX_EXPONENT:
            raise Rejected(f"an exponent exceeds {MAX_EXPONENT}")
    return tuple(sorted(powers.items(), reverse=True))


def _over(a: Monomial, b: Monomial) -> Monomial | None:
    powers = dict(a)
    for serial, power in b:
        left = powers.get(serial, 0) - power
        if left < 0:
            return None
        if left:
            powers[serial] = left
        else:
            del powers[serial]
    return tuple(sorted(powers.items(), reverse=True))


class Poly:
    """A polynomial with rational coefficients; ``terms`` maps monomials to them."""

    __slots__ = ("_depth", "_free", "_hash", "_key", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        if len(terms) > MAX_TERMS:
            raise Rejected(f"a polynomial has more than {MAX_TERMS} terms")
        for value in terms.values():
            if value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
                raise Rejected(f"a coefficient exceeds {MAX_BITS} bits")
        self.terms = terms
        self._hash: int | None = None
        self._key: bytes | None = None
        self._free: frozenset[object] | None = None
        self._depth: int | None = None

    @staticmethod
    def constant(value: Exact) -> Poly:
        """Return the constant polynomial.

        Raises:
            Rejected: the value is no integer or fraction.
        """
        if type(value) is not int and type(value) is not Fraction:
            raise Rejected(f"{value!r} is not an exact number")
        fraction = Fraction(value)
        return Poly({(): fraction} if fraction else {})

    @staticmethod
    def product(coefficient: Fraction, powers: Mapping[Symbol, int]) -> Poly:
        """Return ``coefficient`` times a product of powers of symbols.

        Raises:
            Rejected: an exponent is out of range.
        """
        monomial = [(symbol.serial, power) for symbol, power in powers.items() if power]
        if any(not 0 < power <= MAX_EXPONENT for _, power in monomial):
            raise Rejected("an exponent is out of range")
        return Poly({tuple(sorted(monomial, reverse=True)): coefficient})

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __add__(self, other: Poly) -> Poly:
        out = dict(self.terms)
        for monomial, value in other.terms.items():
            total = out.get(monomial, 0) + value
            if total:
                out[monomial] = Fraction(total)
            else:
                del out[monomial]
        return Poly(out)

    def __neg__(self) -> Poly:
        return Poly({monomial: -value for monomial, value in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        return self + (-other)

    def __mul__(self, other: Poly) -> Poly:
        out: dict[Monomial, Fraction] = {}
        if len(self.terms) * len(other.terms) > MAX_TERMS * 50:
            raise Rejected("a product of polynomials is too long")
        for a, value in self.terms.items():
            for b, factor in other.terms.items():
                key = _times(a, b)
                out[key] = out.get(key, Fraction(0)) + value * factor
        return Poly({key: value for key, value in out.items() if value})

    def scaled(self, factor: Fraction) -> Poly:
        """Return this polynomial times a rational number."""
        if not factor:
            return ZERO
        return Poly({key: value * factor for key, value in self.terms.items()})

    def products(self) -> Iterator[tuple[Fraction, dict[Symbol, int]]]:
        """Yield coefficient and powers of each term."""
        for monomial, value in self.terms.items():
            yield value, {symbol_of(serial): power for serial, power in monomial}

    def symbols(self) -> set[Symbol]:
        """Return the symbols that occur."""
        return {symbol_of(serial) for monomial in self.terms for serial, _ in monomial}

    @property
    def free(self) -> frozenset[object]:
        """The free variables of the symbols that occur."""
        if self._free is None:
            self._free = frozenset().union(*(symbol.free for symbol in self.symbols()))
        return self._free

    @property
    def depth(self) -> int:
        """The highest level of a binder inside."""
        if self._depth is None:
            self._depth = max((symbol.depth for symbol in self.symbols()), default=0)
        return self._depth

    @property
    def key(self) -> bytes:
        """A digest of the structure, the same in every process."""
        if self._key is None:
            parts = sorted(
                digest(str(value).encode(), *sorted(map(_power_key, powers.items())))
                for value, powers in self.products()
            )
            self._key = digest(b"poly", *parts)
        return self._key

    def divided(self, divisor: Poly) -> Poly | None:
        """Return the quotient if the division is exact, else None.

        Raises:
            Rejected: the quotient is too long.
        """
        lead = max(divisor.terms)
        lead_value = divisor.terms[lead]
        rest, quotient = dict(self.terms), {}
        while rest:
            top = max(rest)
            monomial = _over(top, lead)
            if monomial is None:
                return None
            value = rest[top] / lead_value
            quotient[monomial] = value
            if len(quotient) > MAX_TERMS:
                raise Rejected("a division is too long")
            for other, factor in divisor.terms.items():
                key = _times(other, monomial)
                left = rest.get(key, Fraction(0)) - value * factor
                if left:
                    rest[key] = left
                else:
                    del rest[key]
        return Poly(quotient)

    def shifted(self) -> Poly:
        """Return 1 + v for every count v: the result's v is a natural number."""
        counts = {symbol for symbol in self.symbols() if symbol.sort is Sort.COUNT}
        if not counts:
            return self
        out = ZERO
        for value, powers in self.products():
            kept = {s: power for s, power in powers.items() if s not in counts}
            term = Poly.product(value, kept)
            for symbol in counts & powers.keys():
                one_more = ONE + Poly.product(Fraction(1), {symbol: 1})
                for _ in range(powers[symbol]):
                    term = term * one_more
            out = out + term
        return out

    def nonnegative(self) -> bool:
        """Return whether the sorts alone show that the value is >= 0."""
        return all(value > 0 for value in self.shifted().terms.values())

    def positive(self) -> bool:
        """Return whether the sorts alone show that the value is > 0."""
        shifted = self.shifted()
        return all(value > 0 for value in shifted.terms.values()) and any(
            all(symbol.sort is Sort.POSITIVE for symbol in powers)
            for _, powers in shifted.products()
        )

    def natural(self) -> bool:
        """Return whether the sorts alone show a natural number."""
        return (
            all(value.denominator == 1 for value in self.terms.values())
            and all(symbol.sort.whole for symbol in self.symbols())
            and self.nonnegative()
        )

    def __str__(self) -> str:
        shown = []
        for value, powers in self.products():
            names = sorted(
                f"{s}" if power == 1 else f"{s}^{power}" for s, power in powers.items()
            )
            head = [] if abs(value) == 1 and names else [str(abs(value))]
            shown.append((value < 0, "*".join(head + names)))
        shown.sort(key=lambda part: (part[0], part[1]))
        text = "".join((" - " if minus else " + ") + part for minus, part in shown)
        return (text[3:] if text[:3] == " + " else text.replace(" - ", "-", 1)) or "0"


def _power_key(item: tuple[Symbol, int]) -> bytes:
    return digest(item[0].key, str(item[1]).encode())


ZERO = Poly({})
ONE = Poly({(): Fraction(1)})


def digest(*parts: bytes) -> bytes:
    """Return a short digest of a sequence of byte strings."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(4, "big"))
        state.update(part)
    return state.digest()


class Ratio:
    """``numerator / product of factors ** powers``, the factors positive by sorts."""

    __slots__ = ("_hash", "denominator", "numerator")

    def __init__(
        self, numerator: Poly, denominator: Iterable[tuple[Poly, int]] = ()
    ) -> None:
        self.numerator = numerator
        self.denominator = tuple(sorted(denominator, key=lambda part: part[0].key))
        self._hash: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.numerator, self.denominator))
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Return whether the structure is the same; equal values have difference 0."""
        return (
            isinstance(other, Ratio)
            and self.numerator == other.numerator
            and self.denominator == other.denominator
        )

    def __bool__(self) -> bool:
        return bool(self.numerator)

    def __add__(self, other: Number) -> Ratio:
        other = ratio(other)
        if not other.numerator:
            return self
        if not self.numerator:
            return other
        one, two = dict(self.denominator), dict(other.denominator)
        common = {f: max(one.get(f, 0), two.get(f, 0)) for f in {**one, **two}}
        lifted = _lift(self.numerator, one, common) + _lift(
            other.numerator, two, common
        )
        return _reduced(lifted, common)

    __radd__ = __add__

    def __neg__(self) -> Ratio:
        return Ratio(-self.numerator, self.denominator)

    def __sub__(self, other: Number) -> Ratio:
        return self + (-ratio(other))

    def __rsub__(self, other: Number) -> Ratio:
        return ratio(other) - self

    def __mul__(self, other: Number) -> Ratio:
        if type(other) is not Ratio and type(other) not in (int, Fraction):
            return NotImplemented
        other = ratio(other)
        factors = dict(self.denominator)
        for factor, power in other.denominator:
            factors[factor] = factors.get(factor, 0) + power
        return _reduced(self.numerator * other.numerator, factors)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Ratio:
        if type(power) is not int or not 0 <= power <= MAX_EXPONENT:
            raise Rejected(f"the exponent {power!r} is out of range")
        out = ratio(1)
        for _ in range(power):
            out = out * self
        return out

    def __truediv__(self, other: Number) -> Ratio:
        return self * ratio(other).inverse()

    def __rtruediv__(self, other: Number) -> Ratio:
        return ratio(other) * self.inverse()

    def inverse(self) -> Ratio:
        """Return 1 / self; refused unless the sorts alone show one sign.

        The numerator is split into a monomial in symbols that cannot vanish and the
        rest, so that powers of one symbol cancel later.

        Raises:
            Rejected: the divisor may vanish.
        """
        divisor, sign = self.numerator, 1
        if divisor and (-divisor).nonnegative():
            divisor, sign = -divisor, -1
        if not divisor.positive():
            raise Rejected(f"division by {self.numerator}, which may vanish")
        content: dict[Symbol, int] = {}
        for symbol in divisor.symbols():
            least = min(powers.get(symbol, 0) for _, powers in divisor.products())
            if least and symbol.sort in (Sort.POSITIVE, Sort.COUNT):
                content[symbol] = least
        rest = divisor.divided(Poly.product(Fraction(1), content)) or divisor
        lead = rest.terms[max(rest.terms)]
        top = ONE.scaled(Fraction(sign) / lead)
        rest = rest.scaled(1 / lead)
        if not rest.positive():
            raise Rejected(f"division by {rest}, which may vanish")
        factors = {
            Poly.product(Fraction(1), {symbol: 1}): power
            for symbol, power in content.items()
        }
        if rest != ONE:
            factors[rest] = factors.get(rest, 0) + 1
        for factor, power in self.denominator:
            for _ in range(power):
                top = top * factor
        return _reduced(top, factors)

    @property
    def free(self) -> frozenset[object]:
        """The free variables that occur."""
        return self.numerator.free.union(*(f.free for f, _ in self.denominator))

    @property
    def depth(self) -> int:
        """The highest level of a binder inside."""
        parts = (self.numerator, *(factor for factor, _ in self.denominator))
        return max(part.depth for part in parts)

    @property
    def key(self) -> bytes:
        """A digest of the structure, the same in every process."""
        below = (digest(f.key, str(e).encode()) for f, e in self.denominator)
        return digest(b"ratio", self.numerator.key, *below)

    def poly(self) -> Poly:
        """Return the polynomial that this ratio is.

        Raises:
            Rejected: it has a denominator.
        """
        if self.denominator:
            raise Rejected(f"{self} is not a polynomial")
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
        below = sorted(
            (str(f) if len(f.terms) == 1 else f"({f})")
            + (f"^{power}" if power > 1 else "")
            for f, power in self.denominator
        )
        top = str(self.numerator)
        top = top if len(self.numerator.terms) == 1 else f"({top})"
        return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"


Number = Ratio | int | Fraction


def ratio(value: Number | Poly) -> Ratio:
    """Return an exact number or a polynomial as a ratio.

    Raises:
        Rejected: the value is neither.
    """
    if type(value) is Ratio:
        return value
    if type(value) is Poly:
        return Ratio(value)
    if type(value) is int or type(value) is Fraction:
        return Ratio(Poly.constant(value))
    raise Rejected(f"{value!r} is not an exact number")


def _lift(top: Poly, own: Mapping[Poly, int], common: Mapping[Poly, int]) -> Poly:
    for factor, power in common.items():
        for _ in range(power - own.get(factor, 0)):
            top = top * factor
    return top


def _reduced(top: Poly, factors: Mapping[Poly, int]) -> Ratio:
    if not top:
        return Ratio(ZERO)
    kept = []
    for factor, power in factors.items():
        left = power
        while left and (quotient := top.divided(factor)) is not None:
            top, left = quotient, left - 1
        if left > MAX_EXPONENT:
            raise Rejected(f"an exponent exceeds {MAX_EXPONENT}")
        if left:
            kept.append((factor, left))
    return Ratio(top, kept)
