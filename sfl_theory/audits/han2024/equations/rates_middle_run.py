r"""Enclose the run behind the refutation of the term between in (73), (136).

One client coordinate c and w, one server coordinate s, one step of the server's side.
With the Huber function not clipped, a local step of client 1 with the rate $\eta$ is

$c-\eta(A+c)$, $w-\eta(A+w+1)$, first step only $s-\tau\eta(A+s)$, $A=L(c+s+w)$,

so a round maps $p=c+s$, $d=s-c$ (w = 0 at its start) to an affine image whose
coefficients are polynomials in $\eta=4/(\tau u)$ of degree $\tau$. In a block of rounds
$\eta$ hardly changes: the coefficients are enclosed for all of it, the enclosed map is
squared until it is that of the whole block. Ends are integers, rounded outward.

In a block $p\ge0\ge d$: p stays below P if a round maps $[0,P]$ into itself, and d,
which a round shrinks, falls by at most what is added to it. On these p, d the models
after every single local step are enclosed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from sfl_theory.evidence.certificate import Rejected
from sfl_theory.evidence.interval import Interval

BITS = 200
UNIT = 1 << BITS
FINE = 700
"""A block is at most this part of u long."""

Ends = tuple[int, int]
"""Lower and upper end, in units of 2^-BITS."""
Poly = tuple[int, ...]
r"""Coefficients of $1,\eta,\eta^2,\dots$"""
Form = tuple[Poly, Poly, Poly]
"""Coefficients of p, d and 1."""
Row = tuple[Ends, Ends, Ends]
"""A form whose coefficients are enclosed."""
Affine = tuple[Row, Row]
"""p and d at the end as forms of p and d at the start."""


def local_steps(L: int, tau: int) -> list[tuple[Form, Form, Form]]:
    r"""Return 2c, 2s, 2w of client 1 after 0, 1, ..., tau local steps.

    Args:
        L: curvature along (1, 1, 1).
        tau: steps of the client's side; the server's makes one, $\tau\eta$ long.

    Returns:
        tau + 1 triples.
    """
    c, s = _form(tau, p=1, d=-1), _form(tau, p=1, d=1)
    w, one = _form(tau), _form(tau, one=1)
    found = [(c, s, w)]
    for i in range(tau):
        slope = _sum((L, c), (L, s), (L, w))
        if i == 0:
            first = _later(_sum((1, slope), (1, s)))
        c = _sum((1, c), (-1, _later(_sum((1, slope), (1, c)))))
        w = _sum((1, w), (-1, _later(_sum((1, slope), (1, w), (2, one)))))
        if i == 0:
            s = _sum((1, s), (-tau, first))
        found.append((c, s, w))
    return found


def _form(degree: int, p: int = 0, d: int = 0, one: int = 0) -> Form:
    rest = (0,) * degree
    return (p, *rest), (d, *rest), (one, *rest)


def _later(form: Form) -> Form:
    r"""Return $\eta$ times the form; after i steps no degree exceeds i."""
    p, d, one = ((0, *poly[:-1]) for poly in form)
    return p, d, one


def _sum(*terms: tuple[int, Form]) -> Form:
    p, d, one = (
        tuple(
            sum(k * form[j][power] for k, form in terms)
            for power in range(len(terms[0][1][0]))
        )
        for j in range(3)
    )
    return p, d, one


def _plus(*parts: Ends) -> Ends:
    return sum(low for low, _ in parts), sum(high for _, high in parts)


def _times(x: Ends, y: Ends) -> Ends:
    ends = [a * b for a in x for b in y]
    return min(ends) >> BITS, -(-max(ends) >> BITS)


def _half(poly: Poly, eta: Ends) -> Ends:
    """Return half the polynomial for eta >= 0: ``local_steps`` gives twice a form."""
    low = high = 0
    for coefficient in reversed(poly):
        low = low * eta[low < 0] >> BITS
        high = -(-high * eta[high > 0] >> BITS)
        low, high = low + (coefficient << BITS - 1), high + (coefficient << BITS - 1)
    return low, high


def _row(form: Form, eta: Ends) -> Row:
    p, d, one = (_half(poly, eta) for poly in form)
    return p, d, one


def _at(row: Row, p: Ends, d: Ends) -> Ends:
    return _plus(_times(row[0], p), _times(row[1], d), row[2])


def _after(last: Affine, first: Affine) -> Affine:
    """Return the composition."""
    rows = []
    for x, y, one in last:
        kept = [_plus(_times(x, first[0][j]), _times(y, first[1][j])) for j in range(3)]
        rows.append((kept[0], kept[1], _plus(kept[2], one)))
    return rows[0], rows[1]


@dataclass
class Reached:
    r"""What holds every iterate of both clients.

    Attributes:
        slope: largest $L|c+s+w|$, the argument of the clip.
        square: largest $\|x_n\|^2$.
    """

    slope: Fraction = Fraction(0)
    square: Fraction = Fraction(0)

    def include(self, L: int, offsets: list[Ends], *coordinates: Ends) -> None:
        r"""Enlarge it.

        Args:
            L: curvature along (1, 1, 1).
            offsets: enclosures of $c+s+w$.
            coordinates: of v, z, s, $\|x\|^2=\frac12(v^2+z^2)+s^2$.
        """
        for ends in offsets:
            self.slope = max(self.slope, L * _size(ends))
        v, z, s = (_size(ends) ** 2 for ends in coordinates)
        self.square = max(self.square, (v + z) / 2 + s)


def _size(ends: Ends) -> Fraction:
    return Fraction(max(-ends[0], ends[1]), UNIT)


def _hull(*parts: Ends) -> Ends:
    return min(low for low, _ in parts), max(high for _, high in parts)


@dataclass
class Run:
    r"""The run, block by block.

    Attributes:
        L: curvature along (1, 1, 1).
        tau: steps of the client's side.
        start: u at t = 0, the rates are $4/(\tau u)$ and $4/u$, $u=$ start $+t$.
        p: enclosure of $c+s$ at the start of round ``t``.
        d: of $s-c$.
        t: the round.
        reached: what holds all iterates so far.
    """

    L: int
    tau: int
    start: int
    p: Ends = (0, 0)
    d: Ends = (0, 0)
    t: int = 0
    reached: Reached = field(default_factory=Reached)

    def __post_init__(self) -> None:
        """Write the round out as polynomials."""
        steps = local_steps(self.L, self.tau)
        (_, server, _), (end, _, _) = steps[1], steps[-1]
        self._map = _sum((1, end), (1, server)), _sum((1, server), (-1, end))
        self._server = server
        self._clipped = [_sum((1, c), (1, s), (1, w)) for c, s, w in steps[1:-1]]
        self._sums = [_sum((1, c), (1, w)) for c, _, w in steps[1:]]
        self._gaps = [_sum((1, c), (-1, w)) for c, _, w in steps[1:]]

    def to(self, last: int) -> Interval:
        r"""Go on to a round.

        Args:
            last: t.

        Returns:
            $\|x^t\|^2=\frac12(p^2+d^2)$.
        """
        while self.t < last:
            longest = min(last - self.t, max(1, (self.start + self.t) // FINE))
            self._block(longest.bit_length() - 1)
        both = _interval(self.p).squared() + _interval(self.d).squared()
        return both * Fraction(1, 2)

    def _block(self, doublings: int) -> None:
        rounds, u = 1 << doublings, self.start + self.t
        eta = (
            4 * UNIT // (self.tau * (u + rounds - 1)),
            -(-4 * UNIT // (self.tau * u)),
        )
        image = _row(self._map[0], eta), _row(self._map[1], eta)
        p, d = self._box(image, rounds)
        self._see(eta, p, d)
        for _ in range(doublings):
            image = _after(image, image)
        first, second = _at(image[0], self.p, self.d), _at(image[1], self.p, self.d)
        self.p = max(first[0], p[0]), min(first[1], p[1])
        self.d = max(second[0], d[0]), min(second[1], d[1])
        self.t += rounds

    def _box(self, image: Affine, rounds: int) -> tuple[Ends, Ends]:
        """Return what holds p and d throughout a block.

        Raises:
            Rejected: if it cannot be shown.
        """
        (pp, pd, p1), (dp, dd, d1) = image
        if not (pp[0] >= 0 and pp[1] < UNIT and dd[0] >= 0 and dd[1] <= UNIT):
            raise Rejected("p or d grows")
        if pd[0] < 0:
            raise Rejected("d < 0 drives p up")
        top = max(self.p[1], -(-p1[1] * UNIT // (UNIT - pp[1])))
        added = _plus(_times(dp, (0, top)), d1)
        low = self.d[0] + rounds * min(0, added[0])
        if added[1] > 0 or _plus(_times(pd, (low, 0)), p1)[0] < 0:
            raise Rejected("p or d changes its sign")
        return (0, top), (low, 0)

    def _see(self, eta: Ends, p: Ends, d: Ends) -> None:
        """Include all local models of a block."""
        self.reached.include(
            self.L,
            [p, *(_at(_row(form, eta), p, d) for form in self._clipped)],
            *(
                _hull(first, *(_at(_row(form, eta), p, d) for form in forms))
                for first, forms in (
                    (_halved(p[0] - d[1], p[1] - d[0]), self._sums),
                    (_halved(p[0] - d[1], p[1] - d[0]), self._gaps),
                    (_halved(p[0] + d[0], p[1] + d[1]), [self._server]),
                )
            ),
        )


def _halved(low: int, high: int) -> Ends:
    return low // 2, -(-high // 2)


def _interval(ends: Ends) -> Interval:
    return Interval(Fraction(ends[0], UNIT), Fraction(ends[1], UNIT))


@cache
def enclosed(
    L: int, tau: int, start: int, shown: tuple[int, ...]
) -> tuple[dict[int, Interval], Reached]:
    r"""Return $\|x^t\|^2$ at some rounds, and what holds every iterate.

    Args:
        L: curvature along (1, 1, 1).
        tau: steps of the client's side.
        start: u at t = 0.
        shown: rounds, ascending.

    Returns:
        Enclosures, and what holds all iterates up to the last of them.
    """
    run = Run(L, tau, start)
    return {t: run.to(t) for t in shown}, run.reached
