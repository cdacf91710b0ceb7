r"""Break the term between the two sides of (73), (136): unequal periods.

Two clients, weights 1/2, client coordinates (c, w), one server coordinate s,

$$F_{1,2}=\phi(c+s\pm w)+\tfrac12\|x\|^2\pm w,\qquad \phi'(u)=\max\{-a,\min\{a,Lu\}\},$$

$S=3L+1$, $\mu=1$ on all of $\mathbb R^3$, $x^0=x^*=0$, no noise, $\tilde\tau=1$,
$\eta_s=\theta=4/(\gamma'+t)$, $\eta_c=\theta/\tau$. On the ball of radius R about $x^*$
$\|\nabla F_n\|\le\sqrt{2a^2+(1+a)^2}+R$; it holds all iterates, and a is so large that
$\phi$ is $\frac L2u^2$ on them.

The server makes its only step at w = 0. Later steps of the client side are taken where
its own w is off by up to $\mp\theta$, which adds between $-L\theta$ and 0 to the
gradient in c of both clients and nothing to that in s, where a gradient of f would have
the same in both. The part along $s=-c$, in which f has curvature 1 only, is not undone:
$\|x^t\|$ becomes of the order of $S\theta$, and $\frac S2\|x^t\|^2$ of the order of
$S^3\theta^2$, which grows like S where t grows like S; there the bound, at most
$\frac{112SG^2}{\gamma+t}$, stays.

F_2 is F_1 mirrored at w = 0, and so are their runs: every round starts at w = 0, and
both clients return the same c and s. The server models of both are equal at every step,
so a server that rests at their mean rests where it would anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from sfl_theory.audits.han2024.both_sides import gap_finding, shown_rounds
from sfl_theory.audits.han2024.equations.rates_middle_run import Reached, enclosed
from sfl_theory.audits.han2024.equations.rates_sections import SECTIONS
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.instance import Check, Finding, at_most, equal

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Instance:
    r"""The numbers of an instance.

    Attributes:
        L: curvature of $\phi$ where it is not clipped.
        tau: steps of the client's side; the server's makes one.
        start: $\gamma'$.
        rounds: T.
        clip: a.
        radius: R.
        G: root of $G^2$.
        condition: that the rates meet: none, $\eta_b\le1/(2S\tau_b)$ for all t, or
            $\eta_b\le1/(2S\max\{\tau,\tilde\tau\})$ for all t.
    """

    L: int
    tau: int
    start: int
    rounds: int
    clip: Fraction
    radius: Fraction
    G: Fraction
    condition: Literal["none", "own period", "longer period"] = "none"

    @property
    def S(self) -> int:
        """Smoothness."""
        return 3 * self.L + 1


STEEP = Instance(
    7500, 16, 8 * 22501, 97500,
    Fraction("0.136"), Fraction("0.036"), Fraction("1.189"), "own period",
)  # fmt: skip
INSTANCES = (
    replace(STEEP, start=8 * 22501 - 1, condition="none"),
    STEEP,
    Instance(
        50000, 3, 24 * 150001, 3 * 10**6,
        Fraction("0.037"), Fraction("0.0085"), Fraction("1.047"), "longer period",
    ),
)  # fmt: skip
r"""$\gamma'$ as printed, $\frac{8S}\mu$, and $\frac{8S\tau_{max}}{\mu\tau_{min}}$."""


def middle(letter: str, instance: Instance) -> Finding:
    r"""Break "$\frac S2$ times the squared distances of both blocks is at most ...".

    Args:
        letter: "D" for (73), "F" for (136) with q = 1.
        instance: the numbers.

    Returns:
        Both sides at T, the right one with the printed $\gamma=8S/\mu-1$.
    """
    section, S = SECTIONS[letter], Fraction(instance.S)
    squares, reached = enclosed(
        instance.L, instance.tau, instance.start, shown_rounds(instance.rounds)
    )
    setting = Setting((HALF, HALF), S, G2=instance.G**2, tau=instance.tau)
    return gap_finding(
        f"N = 2, a_n = 1/2, x = (c, w; s), F_n = phi(c+s+-w) + ||x||^2/2 +- w, phi' = "
        f"{instance.L} u clipped at +-{instance.clip}, x^0 = x* = 0, mu = 1, S = {S}, "
        f"sigma = 0, q = 1, tau = {instance.tau}, tau_server = 1, eta_c^t = 4/(mu tau "
        f"(gamma'+t)), eta_s^t = 4/(mu tau_server (gamma'+t)), gamma' = "
        f"{instance.start}, right side with gamma = {8 * S - 1}",
        section.theorem,
        "strongly_convex",
        setting,
        (*_function(instance, setting, reached), *_rates(letter, instance, setting)),
        {t: square * (S / 2) for t, square in squares.items()},
    )


def _function(
    instance: Instance, setting: Setting, reached: Reached
) -> tuple[Check, ...]:
    """Return the checks of the assumptions on F_1, F_2."""
    a, R, L = instance.clip, instance.radius, instance.L
    slopes = Fraction(1), Fraction(-1)
    return (
        at_most("phi has curvature L >= 0", 0, L),
        equal("3.1: curvature up to 3L + 1 along (1, 1, +-1)", 3 * L + 1, setting.S),
        equal("C.2: at least 1 along every vector, mu", setting.mu, 1),
        at_most("3.2: noise 0", 0, setting.sigma),
        at_most(
            "phi is not clipped at any local step of either client: L |c+s+-w|",
            reached.slope,
            a,
        ),
        at_most(
            "3.3 on a ball about x*: it holds every iterate of both clients, ||x||^2",
            reached.square,
            R**2,
        ),
        at_most("3.3 on the ball: R <= G", R, instance.G),
        at_most(
            "3.3 on the ball: (sqrt(2 a^2 + (1+a)^2) + R)^2 <= G^2, squared out",
            2 * a**2 + (1 + a) ** 2,
            (instance.G - R) ** 2,
        ),
        equal(
            "x* = 0: mean of the gradients at 0, +-1 in w",
            sum((a * g for a, g in zip(setting.weights, slopes, strict=True))),
            0,
        ),
    )


def _rates(letter: str, instance: Instance, setting: Setting) -> tuple[Check, ...]:
    r"""Return the checks of the rates $4/(\mu\tau_b(\gamma'+t))$, which decrease."""
    section, start = SECTIONS[letter], Fraction(instance.start)
    sides = (("client", setting.tau), ("server", setting.tau_server))
    if instance.condition == "none":
        return tuple(
            equal(
                f"the printed rate of the {side} side at t = {t}",
                4 / (setting.mu * steps * (start + t)),
                section.rate(side, setting, t),
            )
            for side, steps in sides
            for t in (0, 1)
        )
    longer = instance.condition == "longer period"
    words = "max{tau, tau_server}" if longer else "own period"
    most = max(setting.tau, setting.tau_server)
    return (
        at_most("gamma <= gamma'", 8 * setting.S / setting.mu - 1, start),
        *(
            at_most(
                f"rate of the {side} side at most 1/(2 S {words}) for all t >= 0",
                4 / (setting.mu * steps * start),
                1 / (2 * setting.S * (most if longer else steps)),
            )
            for side, steps in sides
        ),
    )
