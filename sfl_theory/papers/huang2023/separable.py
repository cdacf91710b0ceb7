r"""Where the server's gradients do not depend on the client's block.

The one case in which Proposition 1 may speak of the server's block alone: it is plain
SGD there, with the noise of a mean of N gradients, whatever the clients' data and
number of local steps are.
"""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Kind, proved, says
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.huang2023 import linear_speedup as speedup
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.linear_speedup import K, end, run
from sfl_theory.papers.huang2023.setting import F, T, away, gamma, j, m, mu, n, t
from sfl_theory.proofs import minibatch_separable as proofs
from sfl_theory.written import Assumed, Form, Vector

SERVER = Side.SERVER
v = w.nonnegative("v")
middle = s.middle(run)
beside = s.mixed(s.best, middle)
"""The server's block of the local models, with the client's at its optimum."""


def slope(at: Vector) -> Vector:
    """Return the server's block of a client's gradient."""
    return s.f().gradient(at, SERVER)


def separable() -> tuple[Assumed, ...]:
    r"""Return that :math:`\nabla_{w_s}f_n` is the same at :math:`w_{c,n}` and at w_c*.

    In the two products in which it is used.
    """
    differs = slope(run.p(n, t, j)) - slope(beside)
    ours = w.over_clients(m, s.p(m) * s.f(m).gradient(run.p(m, t, j), SERVER))
    used = w.server(middle) - w.server(s.best), ours + F.gradient(beside, SERVER)
    products = [one for u in used for one in w.equals(w.inner(differs, u), 0)]
    each = (w.every_client(n, one) for one in products)
    every = (w.every_round(t, T, w.every_round(j, K, one)) for one in each)
    return tuple(
        one.called("the server's gradient does not depend on w_c") for one in every
    )


ASSUMED = (
    s.assumption_1(),
    s.assumption_2(),
    *s.samples(run),
    s.assumption_3(run),
    s.minimum(),
    *s.gamma_printed(K),
    *speedup.rate_rule(),
    *separable(),
)


def distance() -> Form:
    """Return the right side."""
    steps = K * T
    first = (gamma - 1) * (gamma - 2) * (gamma - 3) * away(run.x(0), SERVER)
    noise = 4 * steps / mu**2 * (gamma - 2 + (steps - 1) / 2) * s.noise()
    return (first + w.as_form(noise)) / ((end - 1) * (end - 2) * (end - 3))


WORDS = (
    r"With $z=[w_c^*;w_s^i]$ and $\Delta=E\|w_s^i-w_s^*\|^2$ the mean of the server's "
    r"gradients is $\nabla_sF(z)$, so $\Delta^{i+1}\le(1-\mu\eta(2-S\eta))\Delta^i+"
    r"\eta^2\sum_np_n^2\sigma_n^2$ by $\|\nabla_sF(z)\|^2\le2S(F(z)-F^*)$. As "
    r"$S\eta\le\frac27$, $(x-1)(x-2)(x-3)\Delta$, $x=\gamma+i$, grows in a step by at "
    r"most $\frac4{\mu^2}(x-2)\sum_np_n^2\sigma_n^2$."
)
READING = (
    "that the server's gradient does not depend on w_c is used at the models of the "
    "run, in two inner products; without Assumptions 4 and 5; eta^i = 2 u^i/mu"
)
SIMPLY = (
    r"The same, with $v\ge(\gamma+1)\Delta^0$ and $v\ge\frac4{\mu^2}$ times the noise."
)
LEFT = away(run.x(T), SERVER)
WHOLE = says(LEFT, distance(), *ASSUMED)
SIMPLE = says(
    LEFT,
    v / end,
    *ASSUMED,
    w.at_most(4 / mu**2 * s.noise(), v),
    w.at_most((gamma + 1) * away(run.x(0), SERVER), v),
)

SEPARABLE = Kind.PROPOSITION(
    "huang2023/prop-1/separable",
    "not in the paper",
    "The distance of the server block alone, where its gradients do not depend on the "
    "client's block.",
    proved(
        WHOLE,
        lambda: speedup.with_steps(proofs.distance()),
        WORDS,
        READING,
        model=speedup.example(WHOLE),
    ),
    proved(
        SIMPLE,
        lambda: speedup.with_steps(proofs.simple()),
        SIMPLY,
        READING,
        model=speedup.example(SIMPLE, v=5),
    ),
    scope="for the printed rates of steps, any number of local steps, everyone takes "
    "part; heterogeneity and drift do not enter. Where they depend on the client's "
    "block, the server's initial distance alone is not enough: prop-1/coupling",
)
CLAIMS = (SEPARABLE,)
