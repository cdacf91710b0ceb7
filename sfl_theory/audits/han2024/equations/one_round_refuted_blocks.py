r"""Instances that break what one round says of one block of the model.

One client and one local step of each side ($N=\tau=\tilde\tau=1$), where SFL-V1 and
SFL-V2 are the same algorithm, so one instance serves all four appendices. With h the
Huber function ($u^2/2$ for $|u|\le1$, slope $\pm1$ beyond) and $u,v=(x_c\pm
x_s)/\sqrt2$ the bowl is

$$F=h(u)+\tfrac13h(v),\qquad F=\tfrac13(x_c^2+x_cx_s+x_s^2)\text{ where }
|u|,|v|\le1,$$

with curvatures 1 and 1/3 there, the minimiser 0 and
$\|\nabla F\|^2=h'(u)^2+\frac19h'(v)^2\le\frac{10}9$ everywhere. Read as the quadratic
on the part $|u|,|v|\le1$ it is 1/3-strongly convex.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import common_checks
from sfl_theory.audits.han2024.equations.rates_refuted_blocks import huber_checks
from sfl_theory.audits.han2024.equations.rates_sections import SECTIONS
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ZERO, ONE = Fraction(0), Fraction(1)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
SLOPE2 = 1 + THIRD**2
"""Largest squared gradient of the bowl."""
Point = tuple[Fraction, Fraction]
FLAT = ZERO
"""Of the Huber bowl, which is convex with mu = 0."""


def lemma_at_local_points(letter: str) -> Finding:
    r"""Break (57), (94): Lemma C.3 for one block, its gap that of both.

    $F=h(x_c)+h(x_s)$ at $x^t=(1,0)$: $x_s-x_s^*=0$, so the left side is 0, the drift
    of the server block is 0, and the right side is $-2\eta(f(x^t)-f^*)=-\eta$.

    Args:
        letter: the appendix, D or E.

    Returns:
        Both sides at eta = 1/100.
    """
    eta = Fraction(1, 100)
    x_s, drift, gap = ZERO, ZERO, ONE**2 / 2
    gradient = x_s  # h'(0)
    setting = Setting((ONE,), mu=FLAT, G2=Fraction(2), I_err=ONE)
    bracket = gap + setting.mu / 4 * x_s**2 - setting.S * drift
    return Finding(
        f"Appendix {letter}: N = 1, F = h(x_c) + h(x_s), h Huber, S = 1, mu = 0, "
        "tau = tau_server = 1, sigma = 0, x^t = (1, 0), eta = 1/100",
        (
            *common_checks(setting),
            *huber_checks(setting, eta),
            equal("the server stays at its minimiser: h'(x_s)", gradient, 0),
        ),
        Interval.of(-2 * eta * x_s * gradient),
        Interval.of(-2 * eta * bracket),
        "i = 0",
    )


def driven(letter: str, block: str, q: Fraction = ONE, mu: Fraction = FLAT) -> Finding:
    r"""Break (61), (71), (98), (108) and, with participation, their counterparts.

    They bound the distance of one block without the gap. The bowl at
    $x_s=\frac14,x_c=-\frac34$: $\nabla_sF=\frac13(2x_s+x_c)=-\frac1{12}$ points away
    from $x_s^*=0$, so the distance grows by $\frac\eta{24}$; the right side lets it
    grow by $O(\eta^2)$. With participation the mean of the update is the same.

    Args:
        letter: the appendix.
        block: "server" or "client" (the two coordinates change places).
        q: probability of taking part (F, G).
        mu: 0 for the Huber bowl, 1/3 for the quadratic.

    Returns:
        Both sides at eta = 1/200.
    """
    eta, section = Fraction(1, 200), SECTIONS[letter]
    own, other = Fraction(1, 4), Fraction(-3, 4)
    setting = Setting((ONE,), mu=mu, G2=SLOPE2, I_err=own**2 + other**2, q=q)
    there = step((own, other), eta / q)
    left = q * there[0] ** 2 + (1 - q) * own**2
    A, B = section.noise(block, setting)
    speed = section.speed(block, 1)
    right = (1 - speed * eta * mu / 2) * own**2 + eta**2 * A + 24 * eta**3 * B
    order = "(x_c, x_s)" if block == "client" else "(x_s, x_c)"
    return Finding(
        f"N = 1, {bowl(mu)}, S = 1, tau = tau_server = 1, sigma = 0, q = {q}, "
        f"{order} = (1/4, -3/4), eta = 1/200",
        (*common_checks(setting), *bowl_checks(setting, eta, ((own, other), there))),
        Interval.of(left),
        Interval.of(right),
        "one round",
    )


def weights_lost() -> Finding:
    r"""Break the second inequality of (61): its left side has lost $a_n^2$ and $a_n$.

    $F_1=F_2=0$ with noise $\pm1$, $a_n=\frac12$, $x^t=x^*$: $\eta^2N\sum_n3=12\eta^2$
    on the left, $\frac{\eta^2}4B_1=\eta^2N\sum_na_n^2\,3=3\eta^2$ on the right.

    Returns:
        Both sides at eta = 1/100.
    """
    eta = Fraction(1, 100)
    setting = Setting((HALF, HALF), mu=FLAT, G2=ONE, sigma=ONE)
    moment = 2 * setting.sigma**2 + setting.G2
    A, B = SECTIONS["D"].noise("server", setting)
    left = eta**2 * 2 * 2 * moment + 24 * eta**3 * 2 * moment
    return Finding(
        "N = 2, a = (1/2, 1/2), F_n = 0, S = 1, mu = 0, noise +-1, tau_server = 1, "
        "x^t = x*, eta = 1/100",
        (
            *common_checks(setting),
            at_most("3.1: slope of the gradient of 0", 0, setting.S),
            equal("3.2: variance of +-1", (ONE + ONE) / 2, setting.sigma**2),
            equal("3.3 everywhere: E g^2", ONE, setting.G2),
            at_most("eta <= 1/(2 S tau_server)", eta, HALF),
        ),
        Interval.of(left),
        Interval.of(eta**2 * A + 24 * eta**3 * B),
        "the second inequality",
    )


def bowl(mu: Fraction) -> str:
    """Return the bowl in words."""
    if mu:
        return "F = (x_c^2 + x_c x_s + x_s^2)/3 on |x_c +- x_s| <= sqrt(2), mu = 1/3"
    return "F = h((x_c+x_s)/sqrt 2) + h((x_c-x_s)/sqrt 2)/3, h Huber, mu = 0"


def slope(x: Point) -> Point:
    """Return the bowl's gradient where it is quadratic; it is symmetric."""
    return (2 * x[0] + x[1]) / 3, (x[0] + 2 * x[1]) / 3


def step(x: Point, eta: Fraction, noise: Point = (ZERO, ZERO)) -> Point:
    """Return x after one step along the gradient plus noise."""
    g = slope(x)
    return x[0] - eta * (g[0] + noise[0]), x[1] - eta * (g[1] + noise[1])


def bowl_checks(
    setting: Setting, eta: Fraction, points: Iterable[Point]
) -> tuple[Check, ...]:
    """Return the assumptions on the bowl; the points are all that are visited."""
    farthest = max(max((c + s) ** 2, (c - s) ** 2) for c, s in points)
    where = "on that set" if setting.mu else "everywhere"
    periods = max(setting.tau, setting.tau_server)
    return (
        equal("3.1: H (1, 1) = (1, 1), curvature S", slope((ONE, ONE))[0], setting.S),
        equal("H (1, -1) = (1, -1)/3", slope((ONE, -ONE))[0], THIRD),
        Check("C.2: mu", setting.mu in {FLAT, THIRD}, f"convex, mu = {setting.mu}"),
        at_most("every point has |x_c +- x_s|^2 <= 2", farthest, 2),
        at_most(
            f"3.3 {where}: h'(u)^2 + h'(v)^2/9 + sigma^2",
            SLOPE2 + setting.sigma**2,
            setting.G2,
        ),
        at_most("eta <= 1/(2 S tau)", eta, 1 / (2 * setting.S * periods)),
    )
