r"""Clients that make numbers of steps of their own: what (6) is true of.

:math:`\tau_k=1+b_k` is client k's number of steps, :math:`\tau` at least all of them.
The mean of the clients' models after their steps lowers :math:`\tilde f=\sum_kw_kF_k`,
:math:`w_k=\alpha_k\tau_k/\tau_e`, :math:`\tau_e=\sum_k\alpha_k\tau_k`, not f.
"""

from __future__ import annotations

from dataclasses import replace

from sfl_theory.evidence import Kind, Says, proved, says
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.terms import ClientFamily
from sfl_theory.models.federation import Numbers, coin, federation, parabola, vector
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Vector
from sfl_theory.papers.dachille2024 import setting as s
from sfl_theory.papers.dachille2024.setting import (
    F,
    S,
    T,
    alpha,
    eta,
    f,
    i,
    k,
    t,
    tau,
    theta,
    v1,
)
from sfl_theory.proofs import unequal_steps as proofs
from sfl_theory.proofs.equal_steps import CONSTANTS
from sfl_theory.proofs.export import ModelData

more = w.of_client("more", k, "b_{{n}}", Sort.NATURAL)
steps = w.called(1 + more, r"\tau_{k}")
together = w.called(w.over_clients(k, alpha * steps), r"\tau_{e}")
share = alpha * steps / together
"""The weight of a client in what is lowered."""
apart2 = w.nonnegative("eps2_w", r"\tilde{\epsilon}^2")
anywhere = w.called(w.point("theta"), r"\theta")
lowest = w.called(w.point("lowest"), r"\tilde{\theta}^{*}")
j = w.natural("j")
noise = v1.xi(k, t, i)
ends = w.over_clients(k, alpha * v1.p(k, t, steps))
"""The mean of the clients' models after their steps."""


def lowered(at: Vector) -> Form:
    r"""Return :math:`\tilde f`."""
    return w.over_clients(k, share * F(at))


def slope(at: Vector) -> Vector:
    r"""Return :math:`\nabla\tilde f`."""
    return w.over_clients(k, share * F.gradient(at))


def own(body: w.Written[w.Value]) -> w.Written[w.Value]:
    """Return the sum over clients and the steps that they make."""
    return w.over_clients(k, alpha * w.below(i, steps, body))


def rate() -> Assumed:
    """Return the condition on the rate of a round."""
    return w.at_most(eta(), 1 / (16 * S * tau)).called("learning rate")


def near() -> Assumed:
    """Return how far the clients' gradients are from that of what is lowered."""
    gap = w.norm2(F.gradient(theta) - slope(theta))
    return w.at_most(w.over_clients(k, share * gap), apart2).called("heterogeneity")


few = w.every_client(k, w.at_most(steps, tau)).called("tau_k <= tau")


def cost(squares: Number, cubes: Number) -> Number:
    """Return what noise and drift cost, for the rate's square and cube."""
    second, het, third = map(s.decimal, CONSTANTS[1:])
    single = w.over_clients(k, alpha**2 * steps * s.sigma2)
    mixed = w.over_clients(k, share * steps * s.sigma2)
    drift = het * tau**2 * apart2 + third * mixed
    return second * S / together * single * squares + S**2 * drift * cubes


ONE_ROUND = says(
    eta() * w.norm2(slope(theta)),
    s.decimal(CONSTANTS[0]) / together * (lowered(theta) - lowered(ends))
    + w.form(cost(eta() ** 2, eta() ** 3)),
    s.assumption_2(),
    *s.assumption_3(),
    s.INDEPENDENT,
    few,
    rate(),
    near(),
)


def assumed_of_rounds() -> tuple[Assumed, ...]:
    """Return what is assumed of every round: its end, its noise, its rate."""
    past = w.below(j, i, v1.xi(k, t, j))
    walk = w.at_most(w.norm2(past), i * s.sigma2)
    fresh = w.at_most(w.inner(F.gradient(theta), past), 0)
    whole = w.over_clients(k, alpha**2 * steps * s.sigma2)
    each = (
        w.at_most(w.norm2(s.following - ends), 0).called(
            "a round ends in the mean of the models after tau_k steps"
        ),
        *(
            w.every_client(k, w.every_round(i, steps, one)).called(
                "Assumption 3, a client's steps"
            )
            for one in (walk, fresh)
        ),
        w.at_most(0, w.inner(slope(theta), own(noise))).called("Assumption 3, (3)"),
        w.at_most(w.norm2(own(noise)), whole).called("Assumption 3, all clients"),
        rate(),
        near(),
    )
    return s.all_rounds(each)


def mean() -> Says:
    """Return the mean over rounds."""
    squares, cubes = (w.below(t, T, eta() ** power) for power in (2, 3))
    first = s.decimal(CONSTANTS[0]) / (T * together)
    start, end = v1.x(0), v1.x(T)
    return says(
        1 / T * w.below(t, T, eta() * w.norm2(slope(theta))),
        first * (lowered(start) - lowered(lowest))
        + w.form(1 / T * cost(squares, cubes)),
        s.assumption_2(),
        few,
        *assumed_of_rounds(),
        w.at_most(lowered(lowest), lowered(end)).called("f~* is no larger at the end"),
    )


d = w.of_client("d", k, "d_{{n}}", Sort.POSITIVE)
WEIGHTS = ("1/3", "2/3")
MORE = ClientFamily("more", Sort.NATURAL)
AT_LEAST = ClientFamily("d", Sort.POSITIVE)


def bias() -> Says:
    """Return how far the gradient of what is lowered is from that of f."""
    apart = w.norm2(f.gradient(anywhere) - slope(anywhere))
    both = (
        w.every_client(k, w.at_most(one, d)).called("d_k >= |alpha_k - w_k|")
        for one in (alpha - share, share - alpha)
    )
    return says(apart, w.over_clients(k, d) ** 2 * s.eps2, s.assumption_4(), *both)


def two_bowls(numbers: Numbers, noisy: bool = False) -> ModelData:
    """Return a client that makes two steps and one, at its minimum, that makes one."""
    data = federation(
        [parabola(1, [1, 1]), parabola(1, [0, 0])],
        [0, 0],
        weights=WEIGHTS,
        noise=[coin("1/2", 0)] * 2 if noisy else (),
        rounds=1 if noisy else 0,
        numbers={S: 1, tau: 2, apart2: "1/2", **numbers},
        families={"sigma2": ["1/4" if noisy else 0] * 2},
        rates={"eta": "1/32"},
        points={} if noisy else {lowest: [["1/2", "1/2"]]},
    )
    return replace(data, families={**data.families, MORE: vector(1, 0)})


def apart() -> ModelData:
    """Return their functions at a point."""
    data = federation(
        [parabola(1, [1, 1]), parabola(1, [0, 0])],
        [0, 0],
        weights=WEIGHTS,
        numbers={s.eps2: "8/9"},
        points={anywhere: [[2, 1]]},
    )
    sixth = vector("1/6", "1/6")
    return replace(data, families={MORE: vector(1, 0), AT_LEAST: sixth})


DRIFT = (
    r"Smoothness of $\tilde f$ from $\theta$, "
    r"$-\langle\nabla\tilde f,M\rangle=\frac1{2\tau_e}(\|M-\tau_e\nabla\tilde f\|^2"
    r"-\|M\|^2)-\frac{\tau_e}2\|\nabla\tilde f\|^2$ for the weighted sum M of the "
    r"steps' gradients, Jensen with the weights $\alpha_k$ over clients and steps, and "
    r"$D_k\le\frac{11}2u^2D_k+\frac{11}{10}\eta^2(\frac13\tau_k^3\|\nabla F_k\|^2"
    r"+\frac12\tau_k^2\sigma_k^2)$, "
    r"$u=S\eta\tau\le\frac1{16}$, for a client's drift."
)
OWN_STEPS = Kind.PROPOSITION(
    "dachille2024/prop-1/own-steps",
    "not in the paper",
    "Clients with numbers of steps of their own lower the function with the weights "
    "alpha_k tau_k: one round, the mean over rounds, and how far its gradient is from "
    "that of f.",
    proved(
        ONE_ROUND,
        proofs.of_round,
        DRIFT,
        r"one round, which ends in the mean of the clients' models after tau_k steps "
        r"of the run; $\tau_k=1+b_k$, $\tau_e=\sum_k\alpha_k\tau_k$",
        model=lambda: two_bowls({t: 0}, noisy=True),
    ),
    proved(
        mean(),
        proofs.rounds,
        "The sum of these over rounds; that a difference of length 0 has no product "
        "with a gradient is got by Young at a thousandth of the rate.",
        "the run makes tau steps, so that a client that rests after tau_k steps has "
        "other noise than fresh samples; what fresh samples imply for the steps before "
        "is assumed as it is used, and derived in the first statement",
        model=lambda: two_bowls({T: 1}),
    ),
    proved(
        bias(),
        proofs.bias,
        r"$\nabla f-\nabla\tilde f=\sum_k(\alpha_k-w_k)(\nabla F_k-\nabla f)$.",
        "for every d_k that is at least the distance of alpha_k and w_k",
        model=apart,
    ),
    scope="for all weights and numbers of steps up to tau; for tau_k = tau the bias "
    "vanishes and this is prop-1/sharper with smaller constants",
    uses="prop-1/unequal-steps",
)
CLAIMS = (OWN_STEPS,)
