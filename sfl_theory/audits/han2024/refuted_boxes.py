r"""Instances where Algorithms 1 and 2 are not the updates that App. C.2 analyses.

Left is the squared difference of the two models (or of their means), right 0. h is the
Huber function: $u^2/2$ for $|u|\le1$, slope $\pm1$ beyond; so the assumptions hold on
all of $\mathbb R^d$. All learning rates meet every printed condition.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.audits.han2024.refuted_lemmas import HALF, ONE
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ETA = Fraction(1, 32)
Point = tuple[Fraction, Fraction]


def _smooth(gradient2: int) -> tuple[Check, ...]:
    return (
        at_most("3.1: slope of h' at most S", 1, 1),
        at_most("3.2: noise 0", 0, 0),
        at_most("3.3 everywhere: |h'| <= 1 per block", gradient2, gradient2),
    )


def _admitted(steps: int) -> Check:
    return at_most("eta <= 1/(16 S tau_max), N = 1", ETA, Fraction(1, 16 * steps))


def _differ(setup: str, checks: tuple[Check, ...], gap: Fraction, at: str) -> Finding:
    return Finding(setup, checks, Interval.of(gap**2), Interval.of(0), at)


def steps_of_algorithm_1(rounds: int = 1) -> Finding:
    r"""Break "Algorithm 1 makes $\tau$ local steps per round", $\tau=\tilde\tau=2$.

    Its loop $i=0,\dots,(T-1)\tau_{max}$ has $(T-1)\tau_{max}+1$ iterations of one step
    each and aggregates first after i = 0; App. C.2 makes $T\tau$ steps. One client,
    $F=h(x_c)$, $x_c^0=1$: after k steps $x_c=(1-\eta)^k$.

    Args:
        rounds: T.

    Returns:
        Both sides.
    """
    tau = 2
    box = ONE
    for _ in range(0, (rounds - 1) * tau + 1):
        box -= ETA * box
    analysed = ONE
    for _ in range(rounds * tau):
        analysed -= ETA * analysed
    return _differ(
        f"N = 1, q = 1, F = h(x_c), x_c^0 = 1, tau = tau_server = 2, eta = {ETA}",
        (*_smooth(1), _admitted(tau)),
        box - analysed,
        f"T = {rounds}, |x_c(Algorithm 1) - x_c(C.2)|^2 <= 0",
    )


def clock_of_algorithm_1(tau: int = 2) -> Finding:
    r"""Break "for $\tau\ne\tilde\tau$ Algorithm 1 makes the steps of App. C.2".

    Its aggregations are read at the end of every $\tau$-th and $\tilde\tau$-th
    iteration, $i=1,\dots,T\tau_{max}$. Both sides step at every iteration: in one round
    the server makes $\tau_{max}$ steps, in App. C.2 $\tilde\tau$. $F=h(x_s)$.

    Args:
        tau: local steps; $\tilde\tau=1$.

    Returns:
        Both sides after one round.
    """
    eta, box = Fraction(1, 16 * tau**2), ONE
    for _ in range(tau):
        box -= eta * box
    analysed = ONE - eta * ONE
    return _differ(
        f"N = 1, q = 1, F = h(x_s), x_s^0 = 1, tau = {tau}, tau_server = 1, "
        f"eta = {eta}",
        (
            *_smooth(1),
            at_most("eta <= 1/(16 S tau_max)", eta, Fraction(1, 16 * tau)),
            at_most("eta <= tau_min/(8 S N tau_max^2)", eta, Fraction(1, 8 * tau**2)),
        ),
        box - analysed,
        "T = 1, |x_s(Algorithm 1) - x_s(C.2)|^2 <= 0",
    )


def visits_of_algorithm_2(clients: int = 2) -> Finding:
    r"""Break "line 12 of Algorithm 2, as indexed, is the server's update of App. C.2".

    Every client's line reads $x_s^{t,i}$ and writes $x_s^{t,i+1}$, so of N visits in an
    iteration one survives; App. C.2 subtracts the sum of N gradients. $F_n=h(x_s)$ with
    $x_s=3$: all gradients are 1, at whichever points they are taken.

    Args:
        clients: N.

    Returns:
        Both sides after one iteration.
    """
    x = Fraction(3)
    written = [x - ETA * 1 for _ in range(clients)]
    analysed = x - ETA * clients
    return _differ(
        f"N = {clients}, a_n = 1/N, q = 1, F_n = h(x_s), x_s^0 = 3, tau = 1, "
        f"eta = {ETA}",
        (
            *_smooth(1),
            at_most("3.4: equal clients, divergence 0", 0, 0),
            at_most("every point in the part of slope 1", 1, analysed),
            at_most("eta <= 1/(8 S N^2 tau)", ETA, Fraction(1, 8 * clients**2)),
        ),
        written[-1] - analysed,
        "one round, |x_s(Algorithm 2) - x_s(C.2)|^2 <= 0",
    )


def objective_of_algorithm_2(other: Fraction = Fraction(0)) -> Finding:
    r"""Break "to first order in eta the server of Algorithm 2 descends (1)".

    Its change is $-\eta\sum_n\nabla_sF_n+O(\eta^2)$, which does not vanish with
    $\nabla_sf=\sum_na_n\nabla_sF_n$. $F_1=h(x_s)$, $F_2=h(x_s-\frac12)$,
    $x_s=\frac{a_2}2$, where $\nabla_sf=0$. At $a_2=\frac12$ both vanish.

    Args:
        other: $a_2$.

    Returns:
        Left the squared first-order coefficient, right that of (1), times N^2.
    """
    weights, centres = (1 - other, other), (Fraction(0), HALF)
    x = other / 2
    gradients = [x - b for b in centres]
    followed = sum(gradients, Fraction(0))
    wanted = sum((a * g for a, g in zip(weights, gradients, strict=True)), Fraction(0))
    return Finding(
        f"N = 2, a = ({1 - other}, {other}), q = 1, F_1 = h(x_s), F_2 = h(x_s - 1/2), "
        f"x_s = {x}, tau = 1",
        (
            *_smooth(1),
            equal("weights: sum of a_n is 1", sum(weights, Fraction(0)), 1),
            at_most("3.4 everywhere with epsilon^2 = 1/4: |h'(u) - h'(u - 1/2)|",
                    HALF**2, Fraction(1, 4)),
            equal("grad_s f(x)", wanted, 0),
        ),
        Interval.of(followed**2),
        Interval.of(len(weights) ** 2 * wanted**2),
        "first order in eta",
    )  # fmt: skip


def bias_of_models() -> Finding:
    r"""Break "(3) offsets the bias" for SFL-V2: local models depend on participation.

    One client, $q=\frac12$, $\tau=2$, $F=(x_c^2+x_cx_s+x_s^2)/3$. When it takes part
    the server steps by $\frac\eta q$, so $\mathbb E\frac Iqx_c^\tau$ is the client's
    model beside a server twice as fast, not that of full participation. No assumption
    on gradients (3.3) is made in the theorem's non-convex case.

    Returns:
        Left the squared difference of the means of (3) and (2), right 0.
    """
    q, start = HALF, (Fraction(255), Fraction(-126))
    partial = q * (1 / q) * _two_steps(start, ETA / q)
    full = _two_steps(start, ETA)
    diagonal, off = Fraction(2, 3), Fraction(1, 3)
    return _differ(
        "N = 1, q = 1/2, F = (x_c^2 + x_c x_s + x_s^2)/3, S = 1, x^t = (255, -126), "
        f"sigma = 0, tau = 2, eta = {ETA}",
        (
            at_most("3.1: eigenvalue 2/3 + 1/3 of the Hessian", diagonal + off, 1),
            at_most("3.1: eigenvalue 2/3 - 1/3, at least -S", -1, diagonal - off),
            at_most("3.2: noise 0", 0, 0),
            at_most("3.4: N = 1, divergence 0", 0, 0),
            _admitted(2),
            at_most("eta <= 1/(8 S N^2 tau sum a^2/q)", ETA, Fraction(1, 8 * 2 * 2)),
        ),
        partial - full,
        "one round, |E(3) - (2)|^2 <= 0",
    )


def client_left_out() -> Finding:
    r"""Break "(3) offsets the bias for every $q_n\in[0,1]$" at $q_1=0$.

    Client 1 never takes part, so (3) never holds $a_1x_{c,1}^{t,\tau}$. $F_n=0$: every
    local model is $x_c^t=1$; with $q_2=1$ (3) gives $a_2$ instead of 1.

    Returns:
        Left the squared difference of the means of (3) and (2), right 0.
    """
    weights, chances, x = (HALF, HALF), (Fraction(0), ONE), ONE
    taken = [a / q * x for a, q in zip(weights, chances, strict=True) if q == 1]
    return _differ(
        "N = 2, a = (1/2, 1/2), q = (0, 1), F_n = 0, x_c^t = 1",
        (
            at_most("3.1-3.4: gradient, noise and divergence 0", 0, 0),
            equal("weights: sum of a_n is 1", sum(weights, Fraction(0)), 1),
            at_most("q_n in [0, 1] as Sec. 2.3 says", 0, min(chances)),
        ),
        sum(taken, Fraction(0)) - sum((a * x for a in weights), Fraction(0)),
        "one round, |E(3) - (2)|^2 <= 0",
    )


def _two_steps(x: Point, server: Fraction) -> Fraction:
    """Return the client block after two steps; the server's rate is given."""
    c, s = x
    for _ in range(2):
        c, s = c - ETA * (2 * c + s) / 3, s - server * (c + 2 * s) / 3
    return c
