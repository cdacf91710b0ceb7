r"""``huang2023``: instances against the steps of the proof of Proposition 1."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)


HALF = Fraction(1, 2)


def pair(w_c: Fraction, w_s: Fraction) -> Fraction:
    r"""Return $F=(w_c^2+w_s^2+w_cw_s)/2$, eigenvalues 1/2 and 3/2."""
    return (w_c**2 + w_s**2 + w_c * w_s) / 2


def weights() -> Finding:
    """Return both sides of (12) writes 1/N, (3) writes p_n."""
    p, gradients = (Fraction(3, 4), Fraction(1, 4)), (1, -1)
    used = sum((x * g for x, g in zip(p, gradients, strict=True)), Fraction(0))
    written = Fraction(sum(gradients), 2)
    return Finding(
        setup="N = 2, p = (3/4, 1/4), f_n = ||w||^2/2 + c_n w_s, c = (1, -1), at w = "
        "0: "
        "|mean gradient of (3) - mean gradient of (12)|",
        checks=(equal("weights add up to 1", sum(p), 1),),
        left=Interval.of(abs(used - written)),
        right=Interval.of(0),
    )


def heterogeneous_server() -> Finding:
    r"""Return both sides on the instance.

    The server's updates depend on how the data are spread over the clients.

    $f_n=\frac12(w_c^2+w_s^2)+b_nw_cw_s-c_nw_c$ with $b=\pm\frac12$, $c=\pm1$: the mean
    is $\frac12\|w\|^2$. The same F with equal clients never moves from $w^*=0$.
    """
    b, c = (HALF, -HALF), (ONE, -ONE)
    client, server = [Fraction(0), Fraction(0)], Fraction(0)
    for i in range(2):
        eta = Fraction(4, 23 + i)
        along_s = sum(server + b[n] * client[n] for n in range(2)) * HALF
        along_c = [client[n] + b[n] * server - c[n] for n in range(2)]
        server -= eta * along_s
        client = [client[n] - eta * along_c[n] for n in range(2)]
    return Finding(
        setup="N = 2, f_n = ||w||^2/2 + b_n w_c w_s - c_n w_c, b = (1/2, -1/2), "
        "c = (1, -1), no noise, w^0 = w* = 0, mu = 1/2, S = 3/2, eta = 4/(23 + i), "
        "E M = 2, T = 1; right side: the same with f_n = F for both clients",
        checks=(
            equal("mean of b", sum(b), 0),
            equal("mean of c", sum(c), 0),
            at_most("Assumption 2: eigenvalues 1 +- 1/2, at least", HALF, 1 - HALF),
        ),
        left=Interval.of(server**2),
        right=Interval.of(0),
        at="E||w_s^2 - w_s*||^2 after one round",
    )


def local_models() -> Finding:
    """Return both sides on the instance.

    (12): mean server gradient at local models is not that of F at their mean.
    """
    b, w_c, p = (HALF, -HALF), (ONE, -ONE), HALF
    used = sum(p * b[n] * w_c[n] for n in range(2))
    return Finding(
        setup="N = 2, f_n = ||w||^2/2 + b_n w_c w_s, b = (1/2, -1/2), local models "
        "w_c = "
        "(1, -1), w_s = 0: |mean server gradient - grad_s F(mean w_c, w_s)|",
        checks=(equal("mean of the local models", sum(w_c), 0),),
        left=Interval.of(abs(Fraction(used))),
        right=Interval.of(0),
    )


def sample_cocoercivity() -> Finding:
    r"""Return both sides on the instance.

    (13), fourth inequality: co-coercivity needs every sample's loss smooth, convex.

    $f(w;\zeta)=\frac12(1+2\zeta)w_s^2+\frac12w_c^2$: curvature 3 or -1, mean 1.
    """
    w = ONE
    left = 2 * sum((Fraction(1 + 2 * z) ** 2 * w**2 for z in (1, -1)), 0 * w) / 2
    right = 4 * sum(((1 + 2 * z) * w**2 / 2 for z in (1, -1)), 0 * w) / 2
    return Finding(
        setup="N = 1, f(w;z) = w_c^2/2 + (1 + 2z) w_s^2/2, z = +-1, w = (0, 1), w* = 0",
        checks=(
            equal(
                "Assumptions 1 and 2, S = mu = 1: mean curvature", Fraction(3 - 1, 2), 1
            ),
            at_most("Assumption 3 on |w| <= 1: variance 4 w_s^2", 4, 4),
            at_most("Assumption 4 on |w| <= 1: w_c^2 + 5 w_s^2", 5, 5),
        ),
        left=Interval.of(left),
        right=Interval.of(right),
    )


def other_gap() -> Finding:
    """Return both sides on the instance.

    (13), last equality: f(w) - f(w*) is not F(w_c, w_s) - F(w_c, w_s*).
    """
    return Finding(
        setup="N = 1, S = 1, f = (w_c^2 + w_s^2)/2, w = (1, 0), w* = 0: "
        "4S [f(w) - f(w*) - <grad f(w*), w - w*>] against 4S [F(w_c, w_s) - F(w_c, "
        "w_s*)]",
        checks=(equal("gradient at w* = 0", 0, 0),),
        left=Interval.of(4 * HALF),
        right=Interval.of(0),
    )


def block_gap() -> Finding:
    """Return both sides of (15): w_s* minimises F(w_c*, .), not F(w_c, .)."""
    eta, w_c, w_s = Fraction(1, 6), ONE, Fraction(-1, 4)
    gap = pair(w_c, w_s) - pair(w_c, Fraction(0))
    return Finding(
        setup="N = 1, F = (w_c^2 + w_s^2 + w_c w_s)/2, S = 3/2, w = (1, -1/4), w* = 0, "
        "eta = 1/(4S): the dropped term -eta [F(w_c, w_s) - F(w_c, w_s*)]",
        checks=(
            equal(
                "Assumptions 1, 2: eigenvalues 1/2 and 3/2", HALF + Fraction(3, 2), 2
            ),
        ),
        left=Interval.of(-eta * gap),
        right=Interval.of(0),
    )
