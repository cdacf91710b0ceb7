r"""``huang2023``: instances against the steps of the proof of Proposition 2."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.huang2023.refuted_server import pair
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)


HALF = Fraction(1, 2)


def largest_rate() -> Finding:
    r"""Return both sides on the instance.

    The condition $\eta^i\le1/(4S)$ at i = 0 with $\gamma=8S/\mu-1$.
    """
    S, mu = 1, 1
    gamma = Fraction(max(8 * S // mu - 1, 1))
    return Finding(
        setup="S = mu = 1, E M = 1: gamma = 7, i = 0",
        checks=(equal("gamma = max(8S/mu - 1, E M)", gamma, 7),),
        left=Interval.of(2 / (mu * gamma)),
        right=Interval.of(Fraction(1, 4 * S)),
        at="i = 0",
    )


def block_step(what: str) -> Finding:
    r"""Return both sides on the instance.

    Lemma 2, (33), (34): the client block at its optimum, the server block not.

    $f=\frac12(w_c^2+w_s^2+w_cw_s)$, one client, $w=(0,1)$, $w^*=0$, so
    $\Gamma=f^*-\min f=0$ and $v=w$. Left of (19) and (34): $\|\eta\nabla_cf\|^2$; of
    (33): C with
    $f(w)-f^*=\frac12$ and $f(w)-f(w_c^*,w_s)=0$.
    """
    eta, S = Fraction(1, 6), Fraction(3, 2)
    gradient = HALF
    left = {
        "step": eta**2 * gradient**2,
        "C": 4 * S * eta**2 * (pair(Fraction(0), ONE) - 0),
    }[what]
    return Finding(
        setup="N = 1, no noise, f = (w_c^2 + w_s^2 + w_c w_s)/2, w = (0, 1), w* = 0, "
        "eta = 1/6; right side: all terms are 0 (w_c = w_c*, w_n = mean, Gamma = 0)",
        checks=(
            equal("Assumptions 1, 2: eigenvalues 1/2 and 3/2 = S", HALF + S, 2),
            at_most("eta <= 1/(4S)", eta, 1 / (4 * S)),
            equal("Gamma = f* - min f with one client", 0, 0),
        ),
        left=Interval.of(left),
        right=Interval.of(0),
    )


def first_bound_of_C() -> Finding:
    r"""Return both sides of (33), first inequality: uses $F(w_c^*,w_s)\le F^*$."""
    eta, S = Fraction(1, 6), ONE
    rate = 2 * eta * (1 - 2 * S * eta)
    return Finding(
        setup="N = 1, S = 1, f = (w_c^2 + w_s^2)/2, w = (1, 1), w* = 0, eta = 1/6, "
        "Gamma = 0",
        checks=(at_most("eta <= 1/(4S)", eta, Fraction(1, 4)),),
        left=Interval.of(-rate * 1 + 2 * eta * HALF),
        right=Interval.of(-rate * 1),
    )


def client_recursion() -> Finding:
    r"""Return both sides on the instance.

    (22): one step of the coupled instance, from a state off in both blocks.

    $f=w_c^2-w_cw_s+w_s^2+\frac S2z^2$ from $w^0=(1,4)$: the client gradient
    $2w_c-w_s=-2$ leads away from $w_c^*=0$.
    """
    S = Fraction(500)
    eta = 2 / (8 * S - 1)
    w_c, w_s = ONE, Fraction(4)
    along = 2 * w_c - w_s, 2 * w_s - w_c
    R2_value = along[0] ** 2 + along[1] ** 2
    after = w_c - eta * along[0]
    server = w_s - eta * along[1]
    later = (2 * after - server) ** 2 + (2 * server - after) ** 2
    return Finding(
        setup="N = 1, E = M = 1, no noise, f = w_c^2 - w_c w_s + w_s^2 + S z^2/2, S = "
        "500, "
        "w^0 = (1, 4), z = 0, first step, eta = 2/(8S - 1)",
        checks=(
            at_most("Assumptions 1, 2: mu = 1 and 3 <= S", 3, S),
            at_most("Assumption 4 on {||grad f||^2 <= R^2}", later, R2_value),
            equal("sigma = delta = Gamma = 0", 0, 0),
        ),
        left=Interval.of(after**2),
        right=Interval.of((1 - eta) * w_c**2 + 6 * R2_value * eta**2),
        at="first step",
    )


def gradient_point() -> Finding:
    """Return both sides on the instance.

    The analysis takes gradients at v (before averaging), the algorithm at w (after).
    """
    v, curvature, p = (Fraction(3), Fraction(-1)), (1, 2), HALF
    w = sum(p * x for x in v)
    after = sum(p * h * w for h in curvature)
    before = sum(p * h * x for h, x in zip(curvature, v, strict=True))
    return Finding(
        setup="N = 2, i in I_G, f_1 = ||w||^2/2, f_2 = ||w||^2, v = (3, -1), w_c = 1 "
        "for "
        "both after averaging: |mean client gradient at v - at w|",
        checks=(
            equal("averaging: w", Fraction(w), 1),
            at_most("Assumptions 1, 2: mu = 1, S = 2", max(curvature), 2),
        ),
        left=Interval.of(abs(Fraction(before - after))),
        right=Interval.of(0),
    )
