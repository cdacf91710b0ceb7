r"""Instances that break what (62)-(77) and their counterparts say of one block.

One client, one local step of each side ($N=\tau=\tilde\tau=1$), where SFL-V1 and SFL-V2
are the same algorithm, so one instance serves all four appendices.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import common_checks
from sfl_theory.audits.han2024.equations.rates_sections import BLOCKS, SECTIONS
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)
HALF = Fraction(1, 2)
Point = tuple[Fraction, Fraction]
COUPLED = "F = x_c^2 + x_c x_s + x_s^2 + S z^2/2 (z a second client coordinate)"


def one_round(letter: str, block: str, S: int = 1000) -> Finding:
    r"""Break (62), (99): the round of one block without the gap.

    $F=x_c^2+x_cx_s+x_s^2$ has curvatures 1 and 3 (a further coordinate at rest has S).
    At x = (1, -1/4) the server's gradient $x_c+2x_s=1/2$ points away from the minimiser
    $x_s^*=0$: the block moves outward by $O(\eta)$, the right side lets it by
    $O(\eta^2)$. The round is t = 1, where $\eta^t\le\frac1{2S}$ holds.

    Args:
        letter: the appendix.
        block: "server" or "client" (the two coordinates change places).
        S: smoothness constant.

    Returns:
        Both sides at t = 1.
    """
    section = SECTIONS[letter]
    x: Point = (ONE, Fraction(-1, 4))
    setting = _coupled(Fraction(S), x)
    x = _descend(x, section.rate(block, setting, 0))
    outward = _gradient(x)[1] * x[1]
    then = _descend(x, section.rate(block, setting, 1))
    level = section.level(block, setting, Fraction(1, 16))
    level /= section.offset(block, setting) + 1
    return Finding(
        f"N = 1, {COUPLED}, S = {S}, tau = tau_server = 1, sigma = 0, x^0 = (1, -1/4)"
        f"{_swapped(block)}, z^0 = 0",
        (
            *_coupled_checks(letter, block, setting),
            at_most("eta^1 <= 1/(2 S)", section.rate(block, setting, 1), HALF / S),
            at_most("at t = 1 the block's gradient points outward", outward, 0),
            at_most("induction hypothesis Delta_1 <= v/(gamma+1)", x[1] ** 2, level),
        ),
        Interval.of(then[1] ** 2),
        Interval.of(section.one_round(block, setting, x[1] ** 2, 1)),
        "t = 1",
    )


def distance(
    letter: str, block: str, q: Fraction = ONE, S: int = 8000, rounds: int = 4500
) -> Finding:
    r"""Break (69), (72), (106), (109), (130), (135), (160), (165) from end to end.

    The same F. The block starts at its minimiser, the other one does not and drives it
    away: $x_s^t=\frac12(\prod_k(1-3\eta^k)-\prod_k(1-\eta^k))$ reaches order 1, while
    the bound knows only the block's own $\Delta_0=0$ and noise terms of order
    $G^2/(\mu^2(\gamma+t))$. With participation that is the mean of $x_s^t$, and
    $\mathbb E(x_s^t)^2\ge(\mathbb Ex_s^t)^2$.

    Args:
        letter: the appendix.
        block: "server" or "client".
        q: probability of taking part (F, G).
        S: smoothness constant.
        rounds: t.

    Returns:
        Both sides at t, and a curve.
    """
    section = SECTIONS[letter]
    start: Point = (ONE, Fraction(0))
    setting = _coupled(Fraction(S), start, q)
    slow, fast, curve = Interval.of(1), Interval.of(1), []
    for t in range(rounds):
        eta = section.rate(block, setting, t)
        slow, fast = (slow * (1 - eta)).rounded(), (fast * (1 - 3 * eta)).rounded()
        if t % (rounds // 20) == 0:
            moved = float(((fast - slow) * HALF).squared().low)
            bound = section.distance_bound(block, setting, Fraction(0), t + 1)
            curve.append((t + 1, moved, float(bound)))
    mean = ((fast - slow) * HALF).squared()
    left = mean if q == 1 else Interval(mean.low, ONE)
    return Finding(
        f"N = 1, {COUPLED}, S = {S}, tau = tau_server = 1, sigma = 0, q = {q}, "
        f"x^0 = (1, 0){_swapped(block)}, z^0 = 0",
        (
            *_coupled_checks(letter, block, setting),
            equal("the block starts at its minimiser: Delta_0", start[1] ** 2, 0),
        ),
        left,
        Interval.of(section.distance_bound(block, setting, Fraction(0), rounds)),
        f"t = {rounds}",
        tuple(curve),
    )


def at_its_optimum(letter: str, block: str, q: Fraction = ONE) -> Finding:
    r"""Break (74), (75) and their counterparts: one block does not earn the gap.

    $F=h(x_c)+h(x_s)$ with the Huber function h: the block is at its minimiser and
    stays there, whoever takes part, so the left side is 0; the other block is at 1, and
    the right side is $-\eta+O(\eta^2)<0$.

    Args:
        letter: the appendix; D and E for the full-participation lines of F and G.
        block: "server" or "client".
        q: probability of taking part (F, G).

    Returns:
        Both sides at eta = 1/100.
    """
    eta = Fraction(1, 100)
    setting = Setting((ONE,), mu=Fraction(0), G2=Fraction(2), I_err=ONE, q=q)
    right = SECTIONS[letter].descent_bound(block, setting, Fraction(0), HALF, eta)
    return Finding(
        "N = 1, F = h(x_c) + h(x_s), h Huber, S = 1, mu = 0, tau = tau_server = 1, "
        f"sigma = 0, q = {q}, x^t = (1, 0){_swapped(block)}, eta = 1/100",
        (*common_checks(setting), *huber_checks(setting, eta)),
        Interval.of(0),
        Interval.of(right),
        "one round",
    )


def far_from_the_minimiser(letter: str, q: Fraction = ONE) -> Finding:
    r"""Break (76), (113), (143), (173): the merged round earns the gap twice at most.

    They subtract $4\eta\min\{\tau,\tilde\tau\}(f-f^*)$; convexity gives
    $2\eta\tau\langle\nabla f,x-x^*\rangle\ge2\eta\tau(f-f^*)$ only. On the straight
    part of the Huber function, $F=h(x_c)+h(x_s)$ at x = (0, 2):
    $\langle\nabla f,x\rangle=2$, $f=3/2$, so the distance falls by $4\eta$, not
    $6\eta$.

    Args:
        letter: the appendix.
        q: probability of taking part (F, G).

    Returns:
        Both sides at eta = 1/100.
    """
    eta, x, gap, section = Fraction(1, 100), Fraction(2), 2 - HALF, SECTIONS[letter]
    setting = Setting((ONE,), mu=Fraction(0), G2=Fraction(2), I_err=x**2, q=q)
    left = x**2 - 2 * eta * x + eta**2 / q
    both = [
        section.descent_bound(block, setting, start, gap, eta)
        for block, start in zip(BLOCKS, (x**2, Fraction(0)), strict=True)
    ]
    return Finding(
        "N = 1, F = h(x_c) + h(x_s), h Huber, S = 1, mu = 0, tau = tau_server = 1, "
        f"sigma = 0, q = {q}, x^t = (0, 2), eta = 1/100",
        (
            *common_checks(setting),
            *huber_checks(setting, eta),
            equal("f(x^t) - f* = h(2)", gap, abs(x) - HALF),
        ),
        Interval.of(left),
        Interval.of(sum(both, Fraction(0))),
        "one round",
    )


def huber_checks(setting: Setting, eta: Fraction) -> tuple[Check, ...]:
    """Return the assumptions of the general convex case for the Huber functions."""
    return (
        at_most("3.1: slope of h' at most S", 1, setting.S),
        at_most("3.2: noise 0", 0, setting.sigma),
        at_most("3.3 everywhere: |h'| <= 1 in both blocks", 2, setting.G2),
        equal("C.2: convex, mu", setting.mu, 0),
        at_most("eta <= 1/(2 S tau)", eta, 1 / (2 * setting.S)),
    )


def _coupled(S: Fraction, start: Point, q: Fraction = ONE) -> Setting:
    """Return the constants; the gradient is longest at the start."""
    slope = _gradient(start)
    return Setting(
        (ONE,),
        S=S,
        G2=slope[0] ** 2 + slope[1] ** 2,
        I_err=start[0] ** 2 + start[1] ** 2,
        q=q,
    )


def _gradient(x: Point) -> Point:
    return 2 * x[0] + x[1], x[0] + 2 * x[1]


def _descend(x: Point, eta: Fraction) -> Point:
    g = _gradient(x)
    return x[0] - eta * g[0], x[1] - eta * g[1]


def _swapped(block: str) -> str:
    return " in the order (x_s, x_c)" if block == "client" else " = (x_c, x_s)"


def _coupled_checks(letter: str, block: str, setting: Setting) -> tuple[Check, ...]:
    """Return the checks; the rates are those of both sides, as N = tau = 1.

    A step multiplies the gradient by I - (eta/q) H or leaves it, and eta/q times the
    curvatures met (1 and 3; z stays 0) is at most 1 from the first round on, so no
    gradient is longer than the first.

    Args:
        letter: the appendix.
        block: the block that the claim speaks of.
        setting: the constants.

    Returns:
        The checks.
    """
    section = SECTIONS[letter]
    first = section.rate(block, setting, 0)
    other = next(b for b in BLOCKS if b != block)
    # H = [[2, 1], [1, 2]] maps (1, -1) to itself and (1, 1) to 3 (1, 1).
    return (
        *common_checks(setting),
        Check("H (1, -1) = (1, -1)", _gradient((ONE, -ONE)) == (ONE, -ONE), "mu = 1"),
        Check("H (1, 1) = 3 (1, 1)", _gradient((ONE, ONE)) == (3 * ONE, 3 * ONE), "3"),
        at_most("3.1: curvatures 1, 3 and S", 3, setting.S),
        equal("C.2: smallest curvature", setting.mu, 1),
        at_most("3.2: noise 0", 0, setting.sigma),
        equal("both sides step alike", first, section.rate(other, setting, 0)),
        at_most("3.3 along the run: 3 eta^0/q <= 1", 3 * first / setting.q, 1),
        at_most(
            "3.3 along the run: eta^1 <= eta^0", section.rate(block, setting, 1), first
        ),
        at_most("printed rate, t = 0", 0, first),
    )
