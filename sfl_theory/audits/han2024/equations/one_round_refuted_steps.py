r"""Instances that break single steps of one round: (54), (56), (95), (157), (162).

Unless said otherwise N = 1, where SFL-V1 and SFL-V2 are the same algorithm. h is the
Huber function: $u^2/2$ for $|u|\le1$, slope $\pm1$ beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

from sfl_theory.audits.han2024.both_sides import common_checks
from sfl_theory.audits.han2024.equations.one_round_refuted_blocks import (
    FLAT,
    HALF,
    ONE,
    SLOPE2,
    ZERO,
    Point,
    bowl,
    bowl_checks,
    slope,
    step,
)
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

NOISE: Point = (Fraction(-24, 25), Fraction(7, 25))
"""Of length 1; the bowl's Hessian turns the sign of its server entry round."""


def dependent_noise(mu: Fraction = FLAT) -> Finding:
    r"""Break (54), (91): gradients after a draw are not orthogonal to it.

    $\mathbb E\|u-\eta M-\eta Z\|^2\le\mathbb E\|u-\eta M\|^2+\eta^2\mathbb E\|Z\|^2$
    drops $2\eta^2\mathbb E\langle M,Z\rangle$. On the bowl from $x^t=0$ with noise
    $\pm\frac1{25}(-24,7)$ the first draw moves the client block so that the second
    server gradient has the draw's sign: $\mathbb E\langle M,Z\rangle=
    \frac{14}{375}\eta$.

    Args:
        mu: 0 for the Huber bowl, 1/3 for the quadratic.

    Returns:
        Both sides at tau = tau_server = 2, eta = 1/8, over all four outcomes.
    """
    eta, tau, start = Fraction(1, 8), 2, (ZERO, ZERO)
    setting = Setting(
        (ONE,), mu=mu, G2=SLOPE2 + 1, sigma=ONE, tau=tau, tau_server=tau
    )  # fmt: skip
    left, without, noise, seen = ZERO, ZERO, ZERO, []
    for signs in product((-1, 1), repeat=tau):
        x, gradients, draws = start, ZERO, ZERO
        for sign in signs:
            seen.append(x)
            draw = (sign * NOISE[0], sign * NOISE[1])
            gradients, draws = gradients + slope(x)[1], draws + draw[1]
            x = step(x, eta, draw)
        left += x[1] ** 2 / 4
        without += (start[1] - eta * gradients) ** 2 / 4
        noise += draws**2 / 4
    return Finding(
        f"N = 1, {bowl(mu)}, S = 1, noise +-(-24, 7)/25, tau = tau_server = 2, "
        "x^t = x* = (0, 0), eta = 1/8",
        (
            *common_checks(setting),
            *bowl_checks(setting, eta, seen),
            equal("3.2: sigma^2", NOISE[0] ** 2 + NOISE[1] ** 2, setting.sigma**2),
        ),
        Interval.of(left),
        Interval.of(without + eta**2 * noise),
        "one round",
    )


def moments_are_no_equality() -> Finding:
    r"""Break the first "=" of (56), (93): $\|\nabla F\|^2$ is not $\|\xi\|^2+\|g\|^2$.

    $F=0$, noise $\pm1$, $\tau=1$: the left side is 0, the right side $2\eta^2$.

    Returns:
        Left the squared difference of the two sides, right 0.
    """
    eta = HALF
    setting = Setting((ONE,), mu=FLAT, G2=ONE, sigma=ONE)
    gradient2, noise2, stochastic2 = ZERO, ONE, ONE
    difference = eta**2 * (gradient2 - noise2 - stochastic2)
    return Finding(
        "N = 1, F = 0, S = 1, mu = 0, noise +-1, tau = tau_server = 1, eta = 1/2",
        (
            *common_checks(setting),
            at_most("3.1: slope of the gradient of 0", 0, setting.S),
            equal("3.2: variance of +-1", (ONE + ONE) / 2, setting.sigma**2),
            equal("3.3 everywhere: E g^2", stochastic2, setting.G2),
            at_most("eta <= 1/(2 S tau)", eta, HALF),
        ),
        Interval.of(difference**2),
        Interval.of(0),
        "|left - right|^2 <= 0",
    )


def shared_server_drift(N: int = 7, tau: int = 1, mu: Fraction = FLAT) -> Finding:
    r"""Break (95): SFL-V2's server also moves at the visits of the other clients.

    $F_n=h(x_s)$ at $x_s=N\tau+1$, slope 1 along the round: before its k-th visit the
    server is off by $\eta k$, $\sum_{k<N\tau}k^2\approx(N\tau)^3/3$ against
    $12N\tau^3$. All clients are alike, so the order does not matter.

    Args:
        N: number of clients, 7 at least.
        tau: local steps.
        mu: 0, or 1 for $F_n=\frac12\|x\|^2$ at $x_s=1$ with a small rate, $G^2=1$ on
            the unit ball.

    Returns:
        Both sides at eta = 1/(3 tau), or 1/(1000 N tau).
    """
    eta, start = Fraction(1, 3 * tau), Fraction(N * tau + 1)
    gradient: Callable[[Fraction], Fraction] = lambda _: ONE  # noqa: E731
    words = f"F_n = h(x_s), h Huber, mu = 0, x_s^t = {start}"
    if mu:
        eta, start, gradient = Fraction(1, 1000 * N * tau), ONE, lambda x: x
        words = "F_n = ||x||^2/2 on the unit ball, mu = 1, x^t = (0, 1)"
    x, drift, least = start, ZERO, start
    for _ in range(N * tau):
        drift, least = drift + (x - start) ** 2, min(least, x)
        x -= eta * gradient(x)
    setting = Setting((Fraction(1, N),) * N, mu=mu, G2=ONE, tau=tau)
    within = (
        Check("3.3 on the ball: 0 <= x_s <= 1", 0 <= x <= start <= 1, f"x_s >= {x}")
        if mu
        else at_most("slope 1 along the round: x_s >= 1", 1, least)
    )
    return Finding(
        f"N = {N}, {words}, S = 1, sigma = 0, G^2 = 1, tau = {tau}, eta = {eta}",
        (
            *common_checks(setting),
            at_most("3.1: slope of the gradient at most S", 1, setting.S),
            at_most("3.2: noise 0", 0, setting.sigma),
            within,
            at_most("3.3: |gradient|^2 <= G^2", gradient(start) ** 2, setting.G2),
            at_most("6 (eta S tau)^2 <= 1 (Lemma C.5)", 6 * (eta * tau) ** 2, 1),
            at_most("eta <= 1/(2 S tau)", eta, HALF / tau),
        ),
        Interval.of(drift),
        Interval.of(12 * N * tau**3 * eta**2 * setting.G2),
        "one round",
    )


def overshooting_server(block: str) -> Finding:
    r"""Break the first inequality of (157), (162) for SFL-V2.

    $\mathbb E\|x'-\bar x'\|^2\le\mathbb E\|x'-x\|^2$ needs $\bar x'=\mathbb Ex'$, but
    $\bar x'$, the model of full participation, belongs to another run: its server steps
    by $\eta$ instead of $\frac\eta q$. $F=h((x_c+x_s)/\sqrt2)$ from $x_c+x_s=1$,
    $\tau=2$, $q=\frac1{15}$, $\eta=\frac14$: the participant's first step takes
    $x_c+x_s$ to -1, its two gradients cancel and $x'=x$ always, while $\bar x'\ne x$.

    Args:
        block: "server" or "client", which have the same gradient.

    Returns:
        Both sides.
    """
    eta, q, tau, start = Fraction(1, 4), Fraction(1, 15), 2, (ONE, ZERO)
    setting = Setting((ONE,), mu=FLAT, G2=ONE, q=q, tau=tau, tau_server=tau)
    present, full = (_ridge_run(start, eta, rate, tau) for rate in (eta / q, eta))
    place = 1 if block == "server" else 0
    moved = eta / q * sum((c + s) / 2 for c, s in present)
    mean = eta * sum((c + s) / 2 for c, s in full)
    # x' - x = -moved with probability q, else 0; xbar' - x = -mean
    left = q * (moved - mean) ** 2 + (1 - q) * mean**2
    farthest = max((c + s) ** 2 for c, s in (*present, *full))
    return Finding(
        "N = 1, F = h((x_c+x_s)/sqrt 2), h Huber, S = 1, mu = 0, sigma = 0, tau = 2, "
        f"q = 1/15, x^t = (1, 0), eta = 1/4; x_{block[0]}^t = {start[place]}",
        (
            *common_checks(setting),
            at_most("3.1: slope of h' at most S, |(1, 1)/sqrt 2| = 1", 1, setting.S),
            at_most("3.2: noise 0", 0, setting.sigma),
            at_most("3.3 everywhere: |h'|^2 <= G^2", 1, setting.G2),
            equal("C.2: convex, mu", setting.mu, 0),
            at_most("eta <= 1/(2 S tau)", eta, 1 / (2 * setting.S * tau)),
            at_most("gradients taken where |x_c + x_s|^2 <= 2", farthest, 2),
        ),
        Interval.of(left),
        Interval.of(q * moved**2),
        "one round",
    )


def _ridge_run(
    start: Point, eta: Fraction, server: Fraction, tau: int
) -> tuple[Point, ...]:
    """Return the points at which one client's gradients (x_c+x_s)/2 (1, 1) are taken.

    Args:
        start: $x^t$.
        eta: step of the client block.
        server: step of the server block.
        tau: local steps.

    Returns:
        As many points as local steps.
    """
    points = [start]
    for _ in range(tau - 1):
        c, s = points[-1]
        points.append((c - eta * (c + s) / 2, s - server * (c + s) / 2))
    return tuple(points)


def sum_of_gradients() -> Finding:
    r"""Break "$\nabla_sf=\sum_n\nabla_sF_n$" (below (92)): f is the weighted mean (23).

    Two clients, $F_1=F_2=h(x_s)$, $a_n=\frac12$ at $x_s=1$: 1 against 2.

    Returns:
        Left the squared difference of the two sides, right 0.
    """
    weights, gradients = (HALF, HALF), (ONE, ONE)
    setting = Setting(weights, mu=FLAT, G2=ONE)
    mean = sum((a * g for a, g in zip(weights, gradients, strict=True)), ZERO)
    return Finding(
        "N = 2, a = (1/2, 1/2), F_n = h(x_s), h Huber, S = 1, mu = 0, x_s = 1",
        (
            *common_checks(setting),
            at_most("3.1: slope of h' at most S", 1, setting.S),
            at_most("3.3 everywhere: |h'|^2 <= G^2", 1, setting.G2),
        ),
        Interval.of((mean - sum(gradients, ZERO)) ** 2),
        Interval.of(0),
        "|left - right|^2 <= 0",
    )


def squared_weights() -> Finding:
    r"""Break "the update below (127) is App. C.2's": it has $a_n^2$ for $a_n$.

    Two clients, $F_1=F_2=h(x_s)$, $a_n=\frac12$, q = 1, one step from $x_s=1$.

    Returns:
        Left the squared difference of the two models, right 0.
    """
    eta, weights, gradient = Fraction(1, 4), (HALF, HALF), ONE
    setting = Setting(weights, mu=FLAT, G2=ONE)
    printed, analysed = (
        ONE - eta * sum((a**power * gradient for a in weights), ZERO)
        for power in (2, 1)
    )
    return Finding(
        "N = 2, a = (1/2, 1/2), q = 1, F_n = h(x_s), h Huber, S = 1, mu = 0, "
        "tau_server = 1, x_s^t = 1, eta = 1/4",
        (
            *common_checks(setting),
            at_most("3.1: slope of h' at most S", 1, setting.S),
            at_most("3.3 everywhere: |h'|^2 <= G^2", 1, setting.G2),
            at_most("eta <= 1/(2 S tau_server)", eta, HALF),
        ),
        Interval.of((printed - analysed) ** 2),
        Interval.of(0),
        "one round, |left - right|^2 <= 0",
    )
