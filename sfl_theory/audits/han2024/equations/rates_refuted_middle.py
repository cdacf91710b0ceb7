r"""Break the term between the two sides of (73), (136): unequal periods.

Two clients, weights 1/2, one client coordinate c, two server coordinates (s, w),

$$F_{1,2}=\tfrac L2(c+s\pm w)^2+\tfrac12\|x\|^2\pm w,\qquad S=3L+1,\ \mu=1,$$

$x^0=x^*=0$, no noise, $\tilde\tau=1$, both sides with the rates that the appendix
chooses, $\eta_s=\theta=4/(\gamma+t)$ and $\eta_c=\theta/\tau$. The server makes its
step at once, so all later steps of the client side are taken where w is off by
$\mp\theta$. There both clients have the additional gradient $-L\theta$ in c, and none
in s, where a gradient of f would have the same one. The part along $s=-c$, in which f
has curvature 1 only, is not undone: $\|x^t\|$ becomes of the order of $S\theta$, and
$\frac S2\|x^t\|^2$ of the order of $S^3\theta^2$, which grows like S where t grows like
S; there the bound, at most $\frac{112SG^2}{\gamma+t}$, stays.

F_2 is F_1 mirrored at w = 0, and so are their runs: every round starts at w = 0, and
both clients return the same c and s. In $p=c+s$, $d=s-c$ a round is a linear map whose
coefficients are ratios of integers; it contracts p and d, so outward rounding at every
round costs a few last digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from sfl_theory.audits.han2024.both_sides import gap_finding, shown_rounds
from sfl_theory.audits.han2024.equations.rates_sections import SECTIONS
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

BITS = 200
HALF = Fraction(1, 2)
STEPS = 16
"""$\\tau$; the server side makes one step a round."""
G2 = Fraction(883, 500)
"""Bounds the squared gradients of the runs below, 1.7652 to 1.7655."""

Ends = tuple[int, int]
"""Lower and upper end of a coordinate, in units of 2^-BITS."""
Row = tuple[int, int, int]
"""Coefficients of p, d and 1."""


@dataclass(frozen=True)
class Round:
    r"""What a round makes of (p, d), as integers over a common denominator.

    Attributes:
        after: p and d of client 1 after its first step, with their denominator.
        mirror: the same for w, whose sign client 2 changes.
        last: p and d at the end of the round, with their denominator.
    """

    after: tuple[Row, Row, int]
    mirror: tuple[Row, int]
    last: tuple[Row, Row, int]

    @classmethod
    def at(cls, u: int, L: int, tau: int) -> Round:
        r"""Return the round with $\theta=4/u$.

        With $2c=p-d$, $2s=p+d$, $\eta=4/a$, $a=\tau u$: the first step gives

        $c_1=c-\eta(Lp+c)$, $s_1=s-\tau\eta(Lp+s)$, $w_1=-\tau\eta(Lp+1)$,

        and $\tau-1$ more with the server at rest $c'=\varrho^{\tau-1}(c_1+m)-m$,
        $m=\frac L{L+1}(s_1+w_1)$, $\varrho=1-\eta(L+1)$.

        Args:
            u: $\gamma+t$.
            L: curvature along (1, 1, 1)/sqrt 3 less one, a third of it.
            tau: steps of the client side.
        """
        a, h = tau * u, L + 1
        c: Row = (a - 4 * (2 * L + 1), 4 - a, 0)
        s: Row = (a - 4 * tau * (2 * L + 1), a - 4 * tau, 0)
        w: Row = (-8 * tau * L, 0, -8 * tau)  # 2 a times each coordinate
        kept, whole = (a - 4 * h) ** (tau - 1), a ** (tau - 1)
        end = _combined(h * kept, c, L * (kept - whole), _combined(1, s, 1, w))
        server = _combined(h * whole, s, 0, s)
        return cls(
            (_combined(1, s, 1, c), _combined(1, s, -1, c), 2 * a),
            (w, 2 * a),
            (
                _combined(1, server, 1, end),
                _combined(1, server, -1, end),
                2 * a * h * whole,
            ),
        )


def _combined(x: int, u: Row, y: int, v: Row) -> Row:
    return (x * u[0] + y * v[0], x * u[1] + y * v[1], x * u[2] + y * v[2])


def _image(row: Row, below: int, p: Ends, d: Ends) -> Ends:
    """Return ends around the row's value on the box, rounded outward."""
    low = high = row[2] << BITS
    for k, (bottom, top) in ((row[0], p), (row[1], d)):
        low += k * (bottom if k > 0 else top)
        high += k * (top if k > 0 else bottom)
    return low // below, -(-high // below)


@dataclass
class Reached:
    r"""The smallest $0\le p\le P$, $-D\le d\le0$, $|w|\le W$ seen to hold the iterates.

    Attributes:
        p: lower and upper end.
        d: lower and upper end.
        w: lower and upper end.
    """

    p: Ends = (0, 0)
    d: Ends = (0, 0)
    w: Ends = (0, 0)

    def include(self, p: Ends, d: Ends, w: Ends = (0, 0)) -> None:
        """Enlarge it by a point."""
        self.p = min(self.p[0], p[0]), max(self.p[1], p[1])
        self.d = min(self.d[0], d[0]), max(self.d[1], d[1])
        reach = max(-w[0], w[1], self.w[1])
        self.w = -reach, reach

    def largest_gradient2(self, L: int) -> Fraction:
        r"""Return the largest $\|\nabla F_1\|^2$ on it, that of F_2 as well.

        The gradient is affine and its square convex, so a corner has the largest; the
        box is symmetric in w.
        """
        found = []
        for corner in product(self.p, self.d, self.w):
            p, d, w = (Fraction(end, 1 << BITS) for end in corner)
            slope = L * (p + w)
            parts = slope + (p - d) / 2, slope + (p + d) / 2, slope + w + 1
            found.append(sum((part**2 for part in parts), Fraction(0)))
        return max(found)


@cache
def _run(L: int, rounds: int) -> tuple[dict[int, Interval], Reached]:
    r"""Return $\|x^t\|^2=(p^2+d^2)/2$ at some rounds, and what holds every iterate.

    After the first step a client moves along a segment (the server rests, c contracts),
    so its ends hold the rest.
    """
    p: Ends = (0, 0)
    d: Ends = (0, 0)
    shown, squares, reached = shown_rounds(rounds), {}, Reached()
    for t in range(rounds + 1):
        reached.include(p, d)
        if t in shown:
            both = _interval(p).squared() + _interval(d).squared()
            squares[t] = both * HALF
        here = Round.at(8 * (3 * L + 1) - 1 + t, L, STEPS)
        w = _image(*here.mirror, p, d)
        *first, below = here.after
        reached.include(_image(first[0], below, p, d), _image(first[1], below, p, d), w)
        *last, below = here.last
        p, d = _image(last[0], below, p, d), _image(last[1], below, p, d)
        reached.include(p, d, w)
    return squares, reached


def _interval(ends: Ends) -> Interval:
    return Interval(Fraction(ends[0], 1 << BITS), Fraction(ends[1], 1 << BITS))


def middle(letter: str, L: int, rounds: int) -> Finding:
    r"""Break "$\frac S2$ times the squared distances of both blocks is at most ...".

    Args:
        letter: "D" for (73), "F" for (136) with q = 1.
        L: S = 3L + 1.
        rounds: T.

    Returns:
        Both sides at T.
    """
    section, S = SECTIONS[letter], Fraction(3 * L + 1)
    squares, reached = _run(L, rounds)
    setting = Setting((HALF, HALF), S, G2=G2, tau=STEPS)
    client = section.rate("client", setting, 0)
    slopes = Fraction(1), Fraction(-1)
    return gap_finding(
        f"N = 2, a_n = 1/2, x = (c; s, w), F_n = {L}/2 (c+s+-w)^2 + ||x||^2/2 +- w, "
        f"x^0 = x* = 0, mu = 1, S = {S}, sigma = 0, q = 1, tau = {STEPS}, tau_server = "
        "1, eta_c^t = 4/(mu tau (gamma+t)), eta_s^t = 4/(mu tau_server (gamma+t))",
        section.theorem,
        "strongly_convex",
        setting,
        (
            equal("3.1: curvature 3L + 1 along (1, 1, +-1), 1 across", 3 * L + 1, S),
            equal("C.2: smallest curvature, mu", setting.mu, 1),
            at_most("3.2: noise 0", 0, setting.sigma),
            at_most(
                "3.3 on a box around all iterates of both clients, |d| <= "
                f"{float(-reached.d[0] / 2**BITS):.3g}, |w| <= "
                f"{float(reached.w[1] / 2**BITS):.3g}: largest gradient^2",
                reached.largest_gradient2(L),
                G2,
            ),
            equal(
                "x* = 0: mean of the gradients at 0, +-1 in w",
                sum((a * g for a, g in zip(setting.weights, slopes, strict=True))),
                0,
            ),
            equal("client rate at t = 0", client, 4 / (STEPS * (8 * S - 1))),
            equal(
                "server rate at t = 0",
                section.rate("server", setting, 0),
                4 / (8 * S - 1),
            ),
            at_most(
                "the client's steps contract: eta_c (L + 1), largest at t = 0",
                client * (L + 1),
                1,
            ),
        ),
        {t: square * (S / 2) for t, square in squares.items()},
    )
