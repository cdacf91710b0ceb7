r"""What all sections of dachille2024 write with: parameters, runs and the assumptions.

:math:`\theta=[\theta_c;\theta_s]` is the model, ``k`` one of the ``K`` clients,
:math:`\alpha_k` its weight, ``tau`` the number of updates in a round, ``i`` one of
them, ``t`` the round, ``T`` the number of rounds.

Readings: S-smooth as Lipschitz gradients; Assumption 1 as "need not be convex"; one tau
for all clients. Means are over everything random, where the paper's are given
:math:`\theta^t`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence import Part, Proof, Says, meeting, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Client, Kind, Participants, Side, Split
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Run, Vector

k = Client("k")
t, i = w.natural("t"), w.natural("i")
T, tau = w.count("T"), w.count("tau", r"\tau")
S, eps2 = w.positive("S"), w.nonnegative("eps2", r"\epsilon^2")
K = w.Written(w.clients().value, "K")
alpha = w.Written(w.weight(k).value, r"\alpha_{k}")
sigma2 = w.of_client("sigma2", k, r"\sigma_{{n}}^2")
f, F = w.f, w.local(k)


def decimal(text: str) -> Number:
    """Return a number as printed."""
    return replace(w.number(Fraction(text)), tex=text, binding=w.ATOM)


def eta(round_: Number = t) -> Number:
    r"""Return the learning rate :math:`\eta^t`."""
    return w.of_round("eta", round_, r"\eta^{{t}}")


def run(kind: Kind = Kind.V1, steps: Number = tau) -> Run:
    """Return a run in which both sides make the same number of steps."""
    pace = w.pace(steps, w.rate(eta))
    split = Split(kind, Participants.EVERYONE, pace, pace)
    return Run(split, f"SFL-{kind}", r"\theta")


v1 = run()
theta, following = v1.x(t), v1.x(t + 1)


def local(step: Number | int, side: Side | None = None) -> Vector:
    r"""Return :math:`\theta_k^{t,i}`, or a block of it."""
    here = v1.p(k, t, step)
    return here if side is None else w.part(side, here)


def stochastic(step: Number | int, side: Side | None = None) -> Vector:
    r"""Return :math:`g_k^{t,i}`, or a block of it."""
    g = v1.g(k, t, step)
    return g if side is None else w.part(side, g)


def of_k(one: Assumed) -> Assumed:
    """Return a hypothesis on every client, written with the paper's letter."""
    return replace(one, tex=one.tex.replace("_n", "_k"))


def assumption_2() -> Assumed:
    """Return (2), as Lipschitz gradients."""
    return w.every_client(k, w.smooth(F, S)).called("Assumption 2 as Lipschitz")


def assumption_2_printed() -> Assumed:
    """Return (2) as printed: from above only."""
    return w.every_client(k, w.majorised(F, S)).called("Assumption 2, (2)")


def assumption_3(r: Run = v1) -> tuple[Assumed, ...]:
    """Return (3) and (4)."""
    return (
        of_k(w.unbiased(r)).called("Assumption 3, (3)"),
        w.every_client(k, w.variance(r, k, sigma2)).called("Assumption 3, (4)"),
    )


INDEPENDENT = w.independent(v1).called("mini-batches independent across clients")
"""Not in the paper, nor needed for what it states."""


def assumption_4() -> Assumed:
    """Return (5)."""
    return of_k(w.heterogeneity(eps2)).called("Assumption 4")


def assumptions(r: Run = v1) -> tuple[Assumed, ...]:
    """Return Assumptions 2-4."""
    return assumption_2(), *assumption_3(r), assumption_4()


def squares() -> Number:
    r"""Return :math:`\sum_k\alpha_k^2`."""
    return w.over_clients(k, alpha**2)


def rates(steps: Number = tau) -> tuple[Assumed, Assumed]:
    """Return the two conditions of Proposition 1 on the rate of round t."""
    first = w.at_most(eta(), 1 / (16 * S * steps))
    second = w.at_most(8 * S * K * steps * squares() * eta(), 1)
    return first.called("Proposition 1"), second.called("Proposition 1")


def all_rounds(conditions: tuple[Assumed, ...]) -> tuple[Assumed, ...]:
    """Return conditions for every round t < T."""
    return tuple(w.every_round(t, T, one).called(one.source) for one in conditions)


def minimum() -> Assumed:
    """Return that a minimiser of f exists."""
    return Assumed(
        w.minimiser(f).value,
        r"\theta^* \text{ minimises } f",
        "an optimal model exists",
    )


CHOSEN = w.of_client("c", k, "c_{{n}}")
CLIENT_BY_CLIENT = (
    "summed with arbitrary weights c_k >= 0: that is the inequality of every client"
)


def of_clients(left: Form, right: Form, *assumed: Assumed) -> Says:
    """Return an inequality between what belongs to a client, for every client."""
    one, two = (w.over_clients(k, CHOSEN * side) for side in (left, right))
    return says(one, two, *assumed)


def proved(
    one: Says,
    theorem: Callable[[], Theorem],
    words: str = "",
    reading: str = "",
    steps: int = 1,
) -> Part:
    """Return a proved part; the standard model, in round 0, meets its assumptions."""
    return Part(one, Proof(theorem, words, meeting(one, t=0, tau=steps)), reading)
