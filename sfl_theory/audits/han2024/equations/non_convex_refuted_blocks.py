r"""Instances that break what D.3-G.3 of ``han2024`` say of one block of the model.

Every client has $F=(x_c^2+x_cx_s+x_s^2)/3$, curvatures 1 and 1/3, and the weight 1/N;
there is no noise, so $\sigma=\epsilon=0$. The Hessian is $H=\frac13\binom{2\;1}{1\;2}$
with inverse $\binom{\;2\;-1}{-1\;\;2}$, so every gradient has a point: the gradient of
one block is made small or 0 while the other one pushes. $\tau=\tilde\tau$. F and its
algorithms are symmetric in the two blocks (with one client SFL-V2 is SFL-V1), and what
is true of the server block is true of the client block.

In SFL-V2 $x_{s,n}^{t,i}$ is the server's model at which client n's i-th gradient is
taken; the server steps by $\frac\eta qg_{s,n}$.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import common_checks
from sfl_theory.audits.han2024.equations.non_convex_sections import (
    BLOCKS,
    SECTIONS,
    BlockBounds,
    Section,
)
from sfl_theory.audits.han2024.printed import Setting
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ONE, ZERO = Fraction(1), Fraction(0)
Point = tuple[Fraction, Fraction]

STEPS = {"drift": 3}
"""Fewest local steps with which a statement fails, where it is not 2."""


@dataclass(frozen=True)
class Round:
    r"""One round, followed exactly, given that client n takes part (the only one).

    Attributes:
        move: $x^{t+1}-x^t$, by block.
        drifts: $\sum_i\|x_{b,n}^{t,i}-x_b^t\|^2$, by client and block.
        changes: $\sum_i\|g_{b,n}^{t,i}-g_{b,n}^t\|^2$, by client and block.
    """

    move: Point
    drifts: tuple[Point, ...]
    changes: tuple[Point, ...]


def block_fails(
    letter: str,
    step: str,
    block: str = "server",
    clients: int = 1,
    tau: int | None = None,
    q: Fraction = ONE,
) -> Finding:
    r"""Break one of the equations of one block.

    Where the right side is a multiple of $\|\nabla_bf\|^2$, the gradient of the block
    is 0 and the other block makes it move after its first step: (79), (82), (83). In
    (78), (80) the block's gradient is 1 and the other block turns it round within the
    round. In (81), which loses the factor 2 of Young's inequality, the block's gradient
    grows from one step to the next.

    Args:
        letter: the section.
        step: which of ``BLOCK_STEPS``.
        block: "client" or "server".
        clients: N.
        tau: steps of both blocks; the fewest by default.
        q: probability of taking part; 1 unless N = 1.

    Returns:
        Both sides.

    Raises:
        ValueError: if q < 1 with several clients.
    """
    if q != 1 and clients != 1:
        raise ValueError("several clients take part with probability 1 here")
    section, own = SECTIONS[letter], BLOCKS.index(block)
    tau = STEPS.get(step, 2) if tau is None else tau
    setting = Setting((Fraction(1, clients),) * clients, q=q, tau=tau, tau_server=tau)
    eta = section.largest_rate(setting)
    gradient = _gradient_at_start(section, step, own, clients, eta, tau)
    start = 2 * gradient[0] - gradient[1], 2 * gradient[1] - gradient[0]
    run = _run(section, clients, q, eta, tau, start)
    left, right = _sides(section, step, block, setting, eta, gradient, run)
    return Finding(
        f"N = {clients}, F_n = (x_c^2 + x_c x_s + x_s^2)/3, S = 1, x^t = ({start[0]}, "
        f"{start[1]}), sigma = epsilon = 0, q = {q}, tau = tau_server = {tau}, "
        f"eta = {eta}",
        (
            *common_checks(setting),
            *_curvatures(setting),
            at_most("3.2: noise 0", 0, setting.sigma),
            at_most("3.4: equal functions, divergence 0", 0, setting.epsilon2),
            section.admits(setting, eta),
            at_most("8 (eta S tau)^2 <= 1 (Lemma C.6)", 8 * (eta * tau) ** 2, 1),
            at_most("eta <= 1/(2 S tau) (Lemma C.7)", eta, Fraction(1, 2 * tau)),
            equal(f"grad_{block} f(x^t)", _slope(start)[own], gradient[own]),
        ),
        Interval.of(left),
        Interval.of(right),
        "one round",
    )


def _gradient_at_start(
    section: Section, step: str, own: int, clients: int, eta: Fraction, tau: int
) -> Point:
    """Return the gradient of both blocks at the start."""
    if step in {"drift", "gradient_drift", "square_end"}:
        mine, other = ZERO, ONE
    else:
        mine = ONE
        # Each step of the other block turns mine by eta/3 times its gradient; the
        # server of SFL-V2 makes N of them while a client makes one.
        speed = clients if section.sequential and own == 0 else 1
        other = Fraction(16 * clients) / (eta * tau * speed)
        if step == "square":
            other = -6 / (eta * speed) / tau
    return (mine, other) if own == 0 else (other, mine)


def _sides(
    section: Section,
    step: str,
    block: str,
    setting: Setting,
    eta: Fraction,
    gradient: Point,
    run: Round,
) -> tuple[Fraction, Fraction]:
    """Return both sides of a step; E of what is done by a client is q times that."""
    own, N = BLOCKS.index(block), len(setting.weights)
    total = section.total(block, setting)
    bounds = BlockBounds(N, eta, setting.tau, total, gradient[own] ** 2)
    inner = setting.q * gradient[own] * run.move[own]
    square = setting.q * run.move[own] ** 2 / 2
    drifts = sum((client[own] for client in run.drifts), ZERO)
    changes = sum((client[own] for client in run.changes), ZERO)
    each = total / N
    if step == "inner":
        return inner, bounds.inner(each * drifts)
    if step == "inner_end":
        return inner, bounds.inner_end()
    if step == "drift":
        return run.drifts[0][own], bounds.drift()
    if step == "square":
        return square, bounds.square(each * changes)
    if step == "gradient_drift":
        return run.changes[0][own], bounds.gradient_drift()
    return square, bounds.square_end()


def _run(
    section: Section, clients: int, q: Fraction, eta: Fraction, tau: int, start: Point
) -> Round:
    """Return one round in which everyone takes part."""
    at_start = _slope(start)
    local = [list(start) for _ in range(clients)]
    shared = start[1]
    sums = [ZERO, ZERO]
    drifts = [[ZERO, ZERO] for _ in range(clients)]
    changes = [[ZERO, ZERO] for _ in range(clients)]
    for _ in range(tau):
        for n, own in enumerate(local):
            point = own[0], shared if section.sequential else own[1]
            g = _slope(point)
            for b in range(2):
                drifts[n][b] += (point[b] - start[b]) ** 2
                changes[n][b] += (g[b] - at_start[b]) ** 2
                sums[b] += g[b]
                own[b] -= eta * g[b]
            shared -= eta / q * g[1]
    server = -eta / q * sums[1] * (1 if section.sequential else Fraction(1, clients))
    return Round(
        (-eta / q * sums[0] / clients, server),
        tuple((d[0], d[1]) for d in drifts),
        tuple((d[0], d[1]) for d in changes),
    )


def _slope(x: Point) -> Point:
    return (2 * x[0] + x[1]) / 3, (x[0] + 2 * x[1]) / 3


def _curvatures(setting: Setting) -> tuple[Check, ...]:
    third = Fraction(1, 3)
    return (
        Check("H (1, 1) = (1, 1)", _slope((ONE, ONE)) == (ONE, ONE), "curvature 1"),
        Check(
            "H (1, -1) = (1, -1)/3",
            _slope((ONE, -ONE)) == (third, -third),
            "curvature 1/3",
        ),
        at_most("3.1: the largest curvature", 1, setting.S),
        at_most("f is bounded below: the smallest curvature", 0, third),
    )
