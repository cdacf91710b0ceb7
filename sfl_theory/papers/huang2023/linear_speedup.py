r"""What is true without Assumption 4: noise divided by N, drift by steps squared.

The run has the printed rates of its steps. Sums over rounds have no denominators that
depend on the round, so :math:`u^i` stands for :math:`1/(\gamma+i)` and is assumed to be
it; the learning rate of step i is :math:`\eta^i=\frac2\mu u^i`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfl_theory.evidence import Claim, Kind, Part, Says, meeting, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Vector
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.setting import (
    E,
    F,
    M,
    S,
    T,
    away,
    gamma,
    j,
    m,
    mu,
    n,
    p,
    t,
)
from sfl_theory.proofs import minibatch_separable
from sfl_theory.proofs import minibatch_speedup as proofs
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.local_steps import both_parts
from sfl_theory.proofs.notation import combine

K = E * M
GAP = "gap"
Measured = Side | str
"""A block's squared distance, or the gap."""


def inverse(step: Number) -> Number:
    r"""Return :math:`u^i`, which stands for :math:`1/(\gamma+i)`."""
    return w.of_round("u", step, "u^{{t}}")


run = s.stepwise(lambda step: 2 / mu * inverse(step))


def rate_rule() -> tuple[Assumed, ...]:
    r"""Return :math:`u^i=1/(\gamma+i)` for the steps of the run, as a product."""
    step = K * t + j
    both = w.equals((gamma + step) * inverse(step), 1)
    every = [w.every_round(t, T, w.every_round(j, K, one)) for one in both]
    return tuple(one.called("u^i = 1/(gamma + i)") for one in every)


ASSUMED = (
    s.assumption_1(),
    s.assumption_2(),
    *s.samples(run),
    s.assumption_3(run),
    s.assumption_5(),
    s.minimum(),
    *s.gamma_printed(K),
    *rate_rule(),
)
end = gamma + T * K


def level() -> Number:
    """Return what drives the local models of a round apart."""
    own = w.over_clients(s.n, p() * (1 - p()) * s.sigma2())
    return own + (4 * K + 1) / 3 * s.delta2


def right(first: Form, noisy: Number | int, drifting: Number | int) -> Form:
    """Return a right side: what is there first, noise and drift with factors."""
    steps = K * T
    start = (gamma - 1) * (gamma - 2) * (gamma - 3) * first
    single = 4 * noisy * steps / mu**2 * (gamma - 2 + (steps - 1) / 2) * s.noise()
    drift = Fraction(40, 3) * drifting * steps * (K - 1) / mu**3 * level()
    whole = start + w.as_form(single) + w.as_form(drift)
    return whole / ((end - 1) * (end - 2) * (end - 3))


def distance() -> Form:
    """Return the right side for the distance of both blocks."""
    return right(away(run.x(0)), 1, S)


def with_steps(theorem: Theorem) -> Theorem:
    """Return a theorem for K = EM steps a round."""
    return rules.instantiate(theorem, ((k.Var("K", Sort.COUNT), K.value),), ())


def _measured(what: Measured) -> tuple[Form, Number | int, Callable[[], Theorem]]:
    """Return a left side, its factor of the joint distance and why that bounds it."""
    x = run.x(T) - s.best
    if not isinstance(what, Side):
        last = run.x(T)
        return F(last) - F(s.best), S / 2, lambda: value_gap(S.value, last.value)
    other = Side.SERVER if what is Side.CLIENT else Side.CLIENT
    block = w.part(other, x).value
    return (
        away(run.x(T), what),
        1,
        lambda: combine(both_parts(x.value), (block, 1)),
    )


def example(what: Says, **more: int) -> Callable[[], ModelData]:
    """Return the standard model for two steps in a round, and other parameters."""
    rates = {"u": k.Rate(1 / (7 + k.symbol(k.ROUND)))}
    return meeting(what, Fraction(1, 2), rates, batches=2, **more)


BY_POTENTIAL = (
    r"With $\Delta=E\|\bar w^i-w^*\|^2$, $D=\sum_np_nE\|w_n^i-\bar w^i\|^2$, K = EM, "
    r"$x=\gamma+i$ and r steps of the round left: "
    r"$\Delta^{i+1}\le(1-\mu\eta(2-\frac74S\eta))\Delta^i+S\eta(1+\frac73S\eta)D^i"
    r"+\eta^2\sum_np_n^2\sigma_n^2$ and $rD^{i+1}\le(r+\frac12)(1-\mu\eta)D^i"
    r"+\eta^2(r\sum_np_n(1-p_n)\sigma_n^2+(r+2r^2)\delta^2)$ by co-coercivity between "
    r"$w_n$ and $\bar w$ and Young with $\frac1{2r}$; D = 0 where a round starts. As "
    r"$S\eta\le\frac27$, $(x-1)(x-2)((x-3)\Delta+\frac{20S}{3\mu}(r+1)D)$ grows in a "
    r"step by at most $\frac4{\mu^2}$ times $x-2$ times the noise of the mean and "
    r"$\frac{20S}{3\mu}$ times that bracket, whose sum over a round is "
    r"$\frac{K(K-1)}2$ times $\sum_np_n(1-p_n)\sigma_n^2+\frac{4K+1}3\delta^2$."
)
WITHOUT_4 = (
    "without Assumption 4, which excludes Assumption 2 on R^d; the rates are the "
    "printed ones of steps, eta^i = 2 u^i/mu"
)


def _part(what: Measured) -> Part:
    left, factor, near = _measured(what)
    found = distance() if isinstance(what, Side) else S / 2 * distance()

    def theorem() -> Theorem:
        share = w.number(factor).value
        return combine(near(), (with_steps(proofs.distance()), share))

    said = says(left, found, *ASSUMED)
    return proved(said, theorem, BY_POTENTIAL, WITHOUT_4, model=example(said))


def _gap() -> Part:
    said = says(F.gap(run.x(T)), right(F.gap(run.x(0)), S / 2, S**2), *ASSUMED)
    return proved(
        said,
        lambda: with_steps(proofs.gap_after()),
        BY_VALUE,
        WITHOUT_4,
        model=example(said),
    )


BY_VALUE = (
    r"As thm-1/linear-speedup, $\phi=F(\bar w^i)-F^*$ for $\Delta$: $\phi^{i+1}\le"
    r"(1-\mu\eta(\frac{17}{10}-\frac7{10}S\eta))\phi^i+\frac53S^2\eta D^i"
    r"+\frac S2\eta^2\sum_np_n^2\sigma_n^2$ by smoothness, with seven tenths of "
    r"$\nabla F(\bar w)$ in the mean gradient, and $\|\nabla F\|^2\ge2\mu\phi$."
)
BOUNDS: dict[tuple[Measured, str], Part] = {
    (what, "linear_speedup"): _part(what) for what in (*Side, GAP)
} | {(GAP, "first_gap"): _gap()}
"""What is bounded and the library's name of the bound -> the part that proves it."""
STATEMENTS: dict[Measured, tuple[str, str]] = {
    Side.SERVER: ("prop-1", "The distance of the server block"),
    Side.CLIENT: ("prop-2", "The distance of the client block"),
    GAP: ("thm-1", "The gap"),
}
BY = {"first_gap": " from the first gap"}
SCOPE = "for the printed rates of steps, any number of local steps, everyone takes part"
OF_BOTH = tuple(
    Claim(
        f"huang2023/{STATEMENTS[what][0]}/{name.replace('_', '-')}",
        "not in the paper",
        Kind.PROPOSITION if isinstance(what, Side) else Kind.THEOREM,
        f"{STATEMENTS[what][1]}{BY.get(name, '')}, without Assumption 4: the noise is "
        "divided by N.",
        (part,),
        scope=SCOPE,
    )
    for (what, name), part in BOUNDS.items()
)

# Where the server's gradients do not depend on the client's block ---------------------
# The one case in which Proposition 1 may speak of the server's block alone: it is plain
# SGD there, with the noise of a mean of N gradients, whatever the clients' data and
# number of local steps are.

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


ALONE = (
    s.assumption_1(),
    s.assumption_2(),
    *s.samples(run),
    s.assumption_3(run),
    s.minimum(),
    *s.gamma_printed(K),
    *rate_rule(),
    *separable(),
)


def of_server() -> Form:
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
WHOLE = says(LEFT, of_server(), *ALONE)
SIMPLE = says(
    LEFT,
    v / end,
    *ALONE,
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
        lambda: with_steps(minibatch_separable.distance()),
        WORDS,
        READING,
        model=example(WHOLE),
    ),
    proved(
        SIMPLE,
        lambda: with_steps(minibatch_separable.simple()),
        SIMPLY,
        READING,
        model=example(SIMPLE, v=5),
    ),
    scope="for the printed rates of steps, any number of local steps, everyone takes "
    "part; heterogeneity and drift do not enter. Where they depend on the client's "
    "block, the server's initial distance alone is not enough: prop-1/coupling",
)
CLAIMS = (*OF_BOTH, SEPARABLE)
