"""Client functions as data: sums of parabolas and Huber functions, and bowls."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Point = tuple[Fraction, ...]
Matrix = tuple[Point, ...]
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Piece:
    r"""One coordinate of a separable function, a parabola or a Huber function.

    $\varphi(x)=\kappa u^2/2$ with $u=x-c$; with a kink k that for $|u|\le k$, and
    $\kappa k(|u|-k/2)$ beyond: convex, $\kappa$-smooth, slope at most $\kappa k$.

    Attributes:
        centre: c.
        curvature: $\kappa>0$.
        kink: k > 0; None: the parabola.
    """

    centre: Fraction = ZERO
    curvature: Fraction = ONE
    kink: Fraction | None = None

    def value(self, x: Fraction) -> Fraction:
        r"""Return $\varphi(x)$."""
        u = abs(x - self.centre)
        if self.kink is None or u <= self.kink:
            return self.curvature * u**2 / 2
        return self.curvature * self.kink * (u - self.kink / 2)

    def slope(self, x: Fraction) -> Fraction:
        r"""Return $\varphi'(x)$."""
        u = x - self.centre
        if self.kink is not None:
            u = max(-self.kink, min(self.kink, u))
        return self.curvature * u


@dataclass(frozen=True)
class Separable:
    r"""A client with $F_n(x)=\sum_j\varphi_{nj}(x_j)$ and noise on two points.

    The stochastic gradient is $\nabla F_n(x)\pm\zeta_n$, both signs equally likely and
    drawn independently at every step, so $\sigma_n^2=\|\zeta_n\|^2$.

    Attributes:
        pieces: $\varphi_{nj}$, one per coordinate.
        noise: $\zeta_n$; empty: none.
    """

    pieces: tuple[Piece, ...]
    noise: Point = ()

    @property
    def zeta(self) -> Point:
        r"""$\zeta_n$, one number per coordinate."""
        return self.noise or (ZERO,) * len(self.pieces)

    @property
    def spectrum(self) -> tuple[Fraction, Fraction]:
        r"""$\mu$ and S: smallest and largest curvature anywhere."""
        curvatures = [piece.curvature for piece in self.pieces]
        straight = any(piece.kink is not None for piece in self.pieces)
        return ZERO if straight else min(curvatures), max(curvatures)

    def value(self, x: Point) -> Fraction:
        """Return $F_n(x)$."""
        pairs = zip(self.pieces, x, strict=True)
        return sum((piece.value(u) for piece, u in pairs), ZERO)

    def gradient(self, x: Point) -> Point:
        r"""Return $\nabla F_n(x)$."""
        return tuple(piece.slope(u) for piece, u in zip(self.pieces, x, strict=True))


@dataclass(frozen=True)
class Bowl:
    r"""A client with $F_n(x)=\frac12x^\top H_nx-b_n^\top x$ and exact gradients.

    Attributes:
        H: symmetric, row by row.
        b: linear term.
        spectrum: $\mu$ and S, an interval that holds all eigenvalues.

    Raises:
        ValueError: if H is not symmetric or has an eigenvalue outside the spectrum.
    """

    H: Matrix
    b: Point
    spectrum: tuple[Fraction, Fraction]

    def __post_init__(self) -> None:
        least, most = self.spectrum
        inside = semidefinite(shifted(self.H, ONE, -least)) and semidefinite(
            shifted(self.H, -ONE, most)
        )
        if tuple(zip(*self.H, strict=True)) != self.H or not inside:
            raise ValueError("a bowl needs a symmetric H with eigenvalues as stated")

    @property
    def zeta(self) -> Point:
        """No noise."""
        return (ZERO,) * len(self.b)

    def value(self, x: Point) -> Fraction:
        """Return $F_n(x)$."""
        curved = (dot(row, x) / 2 for row in self.H)
        return dot(tuple(curved), x) - dot(self.b, x)

    def gradient(self, x: Point) -> Point:
        r"""Return $\nabla F_n(x)$."""
        return tuple(dot(row, x) - b for row, b in zip(self.H, self.b, strict=True))


Client = Separable | Bowl


def dot(u: Point, v: Point) -> Fraction:
    """Return the inner product."""
    return sum((x * y for x, y in zip(u, v, strict=True)), ZERO)


def shifted(rows: Matrix, factor: Fraction, more: Fraction) -> Matrix:
    """Return a multiple of a matrix plus a multiple of the identity."""
    return tuple(
        tuple(factor * v + (more if p == q else ZERO) for q, v in enumerate(row))
        for p, row in enumerate(rows)
    )


def semidefinite(rows: Matrix) -> bool:
    """Return whether a symmetric matrix is positive semidefinite, by elimination."""
    if not rows:
        return True
    (corner, *edge), below = rows[0], rows[1:]
    if corner <= 0:
        return corner == 0 and not any(edge) and semidefinite(_without_first(below))
    rest = tuple(
        tuple(v - row[0] * u / corner for v, u in zip(row[1:], edge, strict=True))
        for row in below
    )
    return semidefinite(rest)


def solved(rows: Matrix, right: Point) -> Point:
    """Return the solution of a linear system with a positive definite matrix."""
    if not rows:
        return ()
    (corner, *edge), below = rows[0], rows[1:]
    factors = [row[0] / corner for row in below]
    rest = tuple(
        tuple(v - c * u for v, u in zip(row[1:], edge, strict=True))
        for row, c in zip(below, factors, strict=True)
    )
    others = tuple(b - c * right[0] for b, c in zip(right[1:], factors, strict=True))
    tail = solved(rest, others)
    return ((right[0] - dot(tuple(edge), tail)) / corner, *tail)


def _without_first(rows: Matrix) -> Matrix:
    return tuple(row[1:] for row in rows)
