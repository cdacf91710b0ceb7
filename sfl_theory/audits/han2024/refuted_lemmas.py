r"""Instances that break lemmas and proof steps of ``han2024``, App. C-E.

Unless said otherwise N = 1, so $a_1=1$, $f=F$, $\epsilon=0$, and the functions meet
Assumption 3.3 on all of $\mathbb R^d$. h is the Huber function: $u^2/2$ for $|u|\le1$,
slope $\pm1$ beyond.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE = Fraction(1)
HALF = Fraction(1, 2)


def lemma_c7() -> Finding:
    r"""Break (46): the stochastic gradients of different steps have different samples.

    $\sum_{i<\tau}\mathbb E\|g^{t,i}-g^t\|^2\le
    8\tau^3\eta^2S^2(\|\nabla F\|^2+\sigma^2)$ with $F=0$ and noise $\pm1$: for i = 1
    the left side is $\mathbb E(\xi_1-\xi_0)^2=2$, whatever $\eta$; the right side falls
    with $\eta^2$.

    Returns:
        Both sides at tau = 2, S = 1, eta = 1/8.
    """
    tau, eta, signs = 2, Fraction(1, 8), (-ONE, ONE)
    zero = Fraction(0)
    left = sum(((v - u) ** 2 for u in signs for v in signs), zero) / 4
    variance = sum((u**2 for u in signs), zero) / 2
    right = 8 * tau**3 * eta**2 * (0 + variance)
    return Finding(
        "N = 1, F = 0, S = 1, noise +-1, tau = 2, eta = 1/8",
        (
            at_most("3.1: slope of the gradient of F = 0", 0, 1),
            equal("3.2: variance sigma^2", variance, 1),
            equal("3.2: mean of the noise", sum(signs, zero), 0),
            at_most("3.3 everywhere with G^2 = 1: E g^2", variance, 1),
            at_most("eta <= 1/(2 S tau)", eta, Fraction(1, 2 * tau)),
        ),
        Interval.of(left),
        Interval.of(right),
        "i < tau = 2",
    )


def lemma_c7_curved() -> Finding:
    r"""Break (46) with curvature: tau = 10, half the largest rate.

    $F=h(x)$, $x^t=0$, noise $\pm1$, $\eta=1/(4S\tau)$. With $|x|\le2\eta\tau\le1$ the
    run stays in the quadratic part, $x^i=-\eta\sum_{j<i}(1-\eta)^{i-1-j}\xi_j$ and
    $g^i-g^0=x^i+\xi_i-\xi_0$; the samples are independent, so the mean square is the
    sum of squared coefficients: about $2(\tau-1)$ against $8\tau^3\eta^2=\tau/2$.

    Returns:
        Both sides.
    """
    tau = 10
    eta = Fraction(1, 4 * tau)
    left = Fraction(0)
    for i in range(1, tau):
        coefficients = [-eta * (1 - eta) ** (i - 1 - j) for j in range(i)] + [ONE]
        coefficients[0] -= 1
        left += sum((c**2 for c in coefficients), Fraction(0))
    right = 8 * tau**3 * eta**2 * (0 + ONE)
    return Finding(
        "N = 1, F = h, h Huber, S = 1, x^t = 0, noise +-1, tau = 10, eta = 1/40",
        (
            at_most("3.1: slope of h' at most S", 1, 1),
            equal("3.2: variance sigma^2", (ONE + ONE) / 2, 1),
            at_most("3.3 everywhere with G^2 = 2: |h'|^2 + sigma^2", 1 + ONE, 2),
            at_most("eta <= 1/(2 S tau)", eta, Fraction(1, 2 * tau)),
            at_most("iterates in the quadratic part: 2 eta tau <= 1", 2 * eta * tau, 1),
        ),
        Interval.of(left),
        Interval.of(right),
        "i < tau = 10",
    )


def lemma_d1(tau_server: int = 1) -> Finding:
    r"""Break (53): the gap of both blocks is subtracted from the distance of one.

    $F=h(x_c)+h(x_s)$, $x^t=(1,0)$: the server block is at its minimiser and stays, the
    left side is 0; the right side is
    $-2\eta\tilde\tau\cdot\frac12+O(\eta^2)<0$ although $\mu=0$, $\sigma=0$.

    Args:
        tau_server: server steps.

    Returns:
        Both sides at eta = 1/(100 tau_server).
    """
    return _block_recursion("D.1", tau_server, "tau_server")


def lemma_e1(tau: int = 1) -> Finding:
    r"""Break (90) in the same way; with N = 1 SFL-V2 is SFL-V1.

    Args:
        tau: local steps.

    Returns:
        Both sides at eta = 1/(100 tau).
    """
    return _block_recursion("E.1", tau, "tau")


def _block_recursion(lemma: str, steps: int, name: str) -> Finding:
    eta = Fraction(1, 100 * steps)
    gap, G2, N = HALF, Fraction(2), 1
    c, s = ONE, Fraction(0)
    for _ in range(steps):
        c, s = c - eta * c, s - eta * s
    noise = eta**2 * steps**2 * N * G2 + 24 * steps**3 * eta**3 * G2
    right = (1 - 0) * Fraction(0) - 2 * eta * steps * gap + noise
    return Finding(
        "N = 1, F = h(x_c) + h(x_s), h Huber, S = 1, mu = 0, x^t = (1, 0), sigma = 0, "
        f"G^2 = 2, {name} = {steps}, eta = {eta}",
        (
            at_most("3.1: slope of h' at most S", 1, 1),
            at_most("3.2: noise 0", 0, 0),
            at_most("3.3 everywhere: |h'| <= 1 in both blocks", 2, G2),
            at_most("C.2: convex, mu", 0, 0),
            at_most(f"eta <= 1/(2 S {name})", eta, Fraction(1, 2 * steps)),
            equal("f(x^t) - f* = h(1) + h(0)", gap, ONE**2 / 2),
        ),
        Interval.of(s**2),
        Interval.of(right),
        f"one round, Lemma {lemma}",
    )


def eq_78_last_step() -> Finding:
    r"""Break the last inequality of (78): a joint gradient bounded by one block's move.

    It bounds $\frac{N\eta}{2\tilde\tau}\sum_na_n^2
    \mathbb E\|\sum_i(\nabla_sF_n(x^{t,i})-\nabla_sF_n(x^t))\|^2$ by
    $\frac{N\eta S^2}2\sum_na_n^2\sum_i\mathbb E\|x_s^{t,i}-x_s^t\|^2$, but the gradient
    also depends on $x_c$. $F=(x_c^2+x_cx_s+x_s^2)/3$, curvatures 1 and 1/3, at
    $x^t=(2,-1)$: $\nabla_sF=0$, so the server stays for the first step while the client
    moves. Each block makes $\tau=\tilde\tau=2$ steps.

    Returns:
        Both sides.
    """
    eta = Fraction(1, 32)
    x0 = (Fraction(2), Fraction(-1))
    x1 = _step(x0, eta)
    moved = _gradient(x1)[1] - _gradient(x0)[1]
    return Finding(
        "N = 1, F = (x_c^2 + x_c x_s + x_s^2)/3, S = 1, x^t = (2, -1), sigma = 0, "
        "tau = tau_server = 2, eta = 1/32",
        (*_coupled_checks(eta), equal("grad_s F(x^t)", _gradient(x0)[1], 0)),
        Interval.of(eta / (2 * 2) * moved**2),
        Interval.of(eta / 2 * (x1[1] - x0[1]) ** 2),
        "one round",
    )


def eq_78() -> Finding:
    r"""Break (78) from end to end.

    $\mathbb E\langle\nabla_sf(x^t),x_s^{t+1}-x_s^t\rangle\le-\frac{\eta\tilde\tau}2
    \|\nabla_sf\|^2+\frac{N\eta S^2}2\sum_na_n^2\sum_i\mathbb E\|x_s^{t,i}-x_s^t\|^2$
    with $F=(x_c^2+x_cx_s+x_s^2)/3$ and $x^t=(255,-126)$, where $\nabla_cF=128$ and
    $\nabla_sF=1$: the client's move turns the server's gradient round.

    Returns:
        Both sides.
    """
    eta = Fraction(1, 32)
    x0 = (Fraction(255), Fraction(-126))
    x1 = _step(x0, eta)
    x2 = _step(x1, eta)
    gradient = _gradient(x0)[1]
    drift = (x1[1] - x0[1]) ** 2
    return Finding(
        "N = 1, F = (x_c^2 + x_c x_s + x_s^2)/3, S = 1, x^t = (255, -126), sigma = 0, "
        "tau = tau_server = 2, eta = 1/32",
        (*_coupled_checks(eta), equal("grad_s F(x^t)", gradient, 1)),
        Interval.of(gradient * (x2[1] - x0[1])),
        Interval.of(-eta * 2 / 2 * gradient**2 + eta / 2 * drift),
        "one round",
    )


def _gradient(x: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
    return (2 * x[0] + x[1]) / 3, (x[0] + 2 * x[1]) / 3


def _step(x: tuple[Fraction, Fraction], eta: Fraction) -> tuple[Fraction, Fraction]:
    g = _gradient(x)
    return x[0] - eta * g[0], x[1] - eta * g[1]


def _coupled_checks(eta: Fraction) -> tuple[Check, ...]:
    """Return the checks of H = [[2, 1], [1, 2]]/3 and of the rate, tau = 2, N = 1."""
    diagonal, off = Fraction(2, 3), Fraction(1, 3)
    return (
        at_most("3.1: eigenvalue 2/3 + 1/3 of the Hessian", diagonal + off, 1),
        at_most("3.1: eigenvalue 2/3 - 1/3, at least -S", -1, diagonal - off),
        at_most("3.2: noise 0", 0, 0),
        at_most("3.4: N = 1, divergence 0", 0, 0),
        at_most("eta <= 1/(16 S tau_max)", eta, Fraction(1, 32)),
        at_most("eta <= tau_min/(8 S N tau_max^2 sum a_n^2)", eta, Fraction(2, 32)),
        at_most("8 (eta S tau)^2 <= 1 (Lemma C.6)", 8 * (eta * 2) ** 2, 1),
    )


def smooth_without_convexity() -> Finding:
    r"""Break "(4) for all x, y implies (24)", on which App. C.3 builds.

    $F=-x^2$: $F(x)+F'(x)(y-x)+\frac S2(y-x)^2-F(y)=(1+\frac S2)(y-x)^2\ge0$ for every
    $S\ge0$, but $|F'(x)-F'(y)|=2|x-y|$. (For convex functions (4) implies (24).)

    Returns:
        Both sides of (24) at x = 1, y = 0, S = 1.
    """
    S, x, y = ONE, ONE, Fraction(0)
    # The gap of (4) is a quadratic form in (x, y); three values fix its coefficients.
    form = [_upper_gap(*point, S) for point in ((1, 0), (0, 1), (1, 1))]
    cross = form[2] - form[0] - form[1]
    return Finding(
        "F = -x^2, S = 1, x = 1, y = 0",
        (
            at_most("(4) for all x, y: coefficient of x^2", 0, form[0]),
            at_most("(4) for all x, y: coefficient of y^2", 0, form[1]),
            at_most(
                "(4) for all x, y: discriminant", cross**2 - 4 * form[0] * form[1], 0
            ),
        ),
        Interval.of(abs(-2 * x + 2 * y)),
        Interval.of(S * abs(x - y)),
    )


def _upper_gap(x: int, y: int, S: Fraction) -> Fraction:
    return -(x**2) - 2 * x * (y - x) + S / 2 * (y - x) ** 2 + y**2


def induction_at_zero() -> Finding:
    r"""Break the step (65)-(67) of the induction, claimed for every t, at t = 0.

    It drops $\frac{\beta^2B_1}{(\gamma+t)^2}+\frac{\beta^3B_2}{(\gamma+t)^3}-
    \frac{\beta\mu-1}{(\gamma+t)^2}v$ with
    $v\ge\beta^2B_1+\beta^3B_2/(\gamma+1)$, $\beta\mu=2$; that needs
    $1/(\gamma+t)\le1/(\gamma+1)$. $S=\mu=N=1$, $\sigma=0$, $G^2=1$, $\Delta_0=0$:
    $B_1=4$, $B_2=192$, $\gamma=7$, $v=208$. Left is (65), right (67), both times
    $\gamma^2$. The value (65) also exceeds (68); the conclusion
    $\Delta_1\le v/(\gamma+1)$ itself survives, for $\Delta_0\le v/(\gamma+1)$ is
    stronger than the $\Delta_0\le v/\gamma$ that (63) uses.

    Returns:
        Both sides at t = 0.
    """
    beta, gamma, B1, B2 = 2, Fraction(7), Fraction(4), Fraction(192)
    delta0 = Fraction(0)
    v = max(4 * B1 + 8 * B2 / (gamma + 1), (gamma + 1) * delta0)
    kept = (gamma - 1) * v
    left = kept + beta**2 * B1 + beta**3 * B2 / gamma - (beta - 1) * v
    return Finding(
        "N = 1, S = mu = 1, sigma = 0, G^2 = 1, Delta_0 = 0, t = 0",
        (
            equal("gamma = 8 S/mu - 1", gamma, 8 - 1),
            equal("B_1 = 4 N sum a^2 (2 sigma^2 + G^2)", B1, 4),
            equal("B_2 = 192 S sum a (2 sigma^2 + G^2)", B2, 192),
            at_most("induction hypothesis Delta_0 <= v/(gamma + t)", delta0, v / gamma),
        ),
        Interval.of(left),
        Interval.of(kept),
        "t = 0",
    )


def aggregation_differs() -> Finding:
    r"""Break "eq. (3) is the aggregation of App. C.2" under partial participation.

    One client, $q=1/2$, $F=0$, $x_c^t=1$. App. C.2 gives $x_c^{t+1}=x_c^t=1$; (3) gives
    $\frac{I}{q}x_c^t$, that is 0 or 2.

    Returns:
        Left the mean square difference of the two, right 0.
    """
    q, x = HALF, ONE
    models = {1: x / q, 0: Fraction(0)}
    chance = {1: q, 0: 1 - q}
    left = sum((chance[i] * (models[i] - x) ** 2 for i in (0, 1)), Fraction(0))
    return Finding(
        "N = 1, q = 1/2, F = 0, x_c^t = 1",
        (
            equal("probabilities add up", sum(chance.values(), Fraction(0)), 1),
            equal("(3) is unbiased here", q * models[1], x),
            at_most("3.1-3.4: gradient, noise and divergence 0", 0, 0),
        ),
        Interval.of(left),
        Interval.of(0),
        "one round, E|x(3) - x(C.2)|^2 <= 0",
    )


def one_gradient_more() -> Finding:
    r"""Break "App. C.2's client sums are Algorithm 1's and 2's local steps".

    $\sum_{i=0}^{\tau}g^{t,i}$ has $\tau+1$ gradients, the algorithms make $\tau$ steps.
    One client, $F=h(x_c)$, $x_c^t=1$, $\tau=1$, $\eta=1/4$.

    Returns:
        Left the squared difference of the two models, right 0.
    """
    eta, tau, x = Fraction(1, 4), 1, ONE
    path = [x]
    for _ in range(tau + 1):
        path.append(path[-1] - eta * path[-1])
    summed = x - eta * sum(path[: tau + 1])
    return Finding(
        "N = 1, q = 1, F = h(x_c), h Huber, x_c^t = 1, tau = 1, eta = 1/4",
        (
            at_most("3.1: slope of h' at most S", 1, 1),
            at_most("3.3 everywhere with G^2 = 1", 1, 1),
            at_most("eta <= 1/(2 S tau)", eta, HALF),
        ),
        Interval.of((summed - path[tau]) ** 2),
        Interval.of(0),
        "one round, |x(Algorithm) - x(C.2)|^2 <= 0",
    )
