r"""What all sections of huang2023 write with: parameters, runs and the assumptions.

A round has :math:`K=EM` local steps. Iteration i of the paper is local step j of round
t; with one local step, :math:`E=M=1`, iterations are rounds. The weights
:math:`p_n` and the mean F are the kernel's :math:`a_n` and f; losses are nonnegative
numbers where they have a symbol, for constants added to :math:`f_n` change nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.notation import written as w
from sfl_theory.notation.written import (
    ATOM,
    Assumed,
    Form,
    Number,
    Run,
    Vector,
    Written,
)
from sfl_theory.proofs.notation import equal_paces

n, m = k.Client("n"), k.Client("m")
i, j, t = w.natural("t", "i"), w.natural("j"), w.natural("t")
"""With one local step the iteration i is the round t."""
T, E, M = w.count("T"), w.count("epochs", "E"), w.count("batches", "M")
S, mu = w.positive("S"), w.positive("mu", r"\mu")
R2, delta2 = w.nonnegative("R2", "R^2"), w.nonnegative("delta2", r"\delta^2")
Gamma = w.nonnegative("Gamma", r"\Gamma")
N = w.clients()
above_7 = w.nonnegative("g")
gamma = w.called(7 + above_7, r"\gamma")
r"""At least 7, as :math:`8S/\mu-1` is; so the kernel knows what is positive."""
F = w.Function(k.MEAN, "F")
best = Written(k.vec(k.Star(k.MEAN)), "w^{*}", ATOM, w.Name("w", above="*"))
Rates = Callable[[Number], Number]


def p(client: k.Client = n) -> Number:
    """Return the weight of a client."""
    return Written(k.weight(client), f"p_{{{client.name}}}")


def f(client: k.Client = n) -> w.Function:
    """Return the loss of a client."""
    return w.Function(k.Local(client), f"f_{{{client.name}}}")


def sigma2(client: k.Client = n) -> Number:
    r"""Return :math:`\sigma_n^2`."""
    return w.of_client("sigma2", client, r"\sigma_{{n}}^2")


def eta(at: Number = i) -> Number:
    r"""Return an arbitrary learning rate :math:`\eta^i`."""
    return w.of_round("eta", at, r"\eta^{{t}}")


def printed_rate(at: Number = i) -> Number:
    r"""Return :math:`2/(\mu(\gamma+i))`."""
    return 2 / (mu * (gamma + at))


def run(rates: Rates = eta, steps: Number | int = 1) -> Run:
    """Return MiniBatch-SFL; by default with one local step in a round."""
    pace = equal_paces(k.Kind.MINIBATCH, w.number(steps).value, w.rate(rates))
    return Run(pace, "MiniBatch-SFL", "w")


def mean(body: Written[w.Value]) -> Written[w.Value]:
    r"""Return :math:`\sum_np_n` of what follows."""
    return w.over_clients(n, p() * body)


def once(body: Written[w.Value]) -> Written[w.Value]:
    """Return the sum over the one local step j of a round; written as its term."""
    one = w.below(j, 1, body)
    return Written(one.value, body.tex.replace(",j", ",0"), body.binding)


def fresh(r: Run, at: Number = i) -> Vector:
    """Return a client's stochastic gradient at w^i: what it is with one local step."""
    noise_ = once(r.xi(n, at, j))
    value = f().gradient(r.x(at)).value + noise_.value
    return Written(value, rf"g_{{n}}^{{{at.tex}}}", ATOM, w.Name("g", "n", at.tex))


K = E * M


def stepwise(rates: Rates, steps: Number = K) -> Run:
    """Return MiniBatch-SFL whose rates are those of its steps, E M in a round."""
    pace = w.pace(steps, w.rate(rates), stepwise=True)
    return Run(
        k.Split(k.Kind.MINIBATCH, k.Participants.EVERYONE, pace, pace),
        "MiniBatch-SFL",
        "w",
    )


def falling(steps: Number = K) -> Run:
    r"""Return the run of E M local steps in a round whose rate falls at every step.

    Sums over steps have no denominators that depend on the step. So this one steps at
    rate 1, and the paper's stochastic gradients, `sampled`, are the run's divided by
    :math:`\eta^i=2/(\mu(\gamma+i))`.
    """
    return run(lambda _: w.number(1), steps)


def sampled(r: Run, at: Number = j, steps: Number = K, low: Number = gamma) -> Vector:
    r"""Return :math:`\nabla f_n(w_n^i;\zeta_n^i)` of a falling run, i = EM t + j."""
    step = w.natural("step")
    moved = w.below(step, 1, r.g(n, t, at + step))
    value = moved * (mu * (low + steps * t + at) / 2)
    above = f"{t.tex},{at.tex}"
    tex = rf"\nabla f_{{n}}(w_{{n}}^{{{above}}};\zeta_{{n}}^{{{above}}})"
    return Written(value.value, tex, ATOM, w.Name(tex))


def middle(r: Run, at: Number = j) -> Vector:
    """Return the mean of the local models."""
    total, above = w.over_clients(m, p(m) * r.p(m, t, at)), f"{t.tex},{at.tex}"
    name = w.Name(r"\bar{w}", above=above)
    return Written(total.value, str(name), ATOM, name)


def fresh_batches(r: Run, u: Vector, gradient: Vector, at: Number = j) -> list[Assumed]:
    """Return that the noise of a stochastic gradient is orthogonal to a vector."""
    error = gradient - f().gradient(r.p(n, t, at))
    both = w.equals(w.inner(error, u), 0)
    return [w.every_client(n, one).called("fresh mini-batches") for one in both]


def bounded(gradient: Vector) -> Assumed:
    """Return Assumption 4 for a stochastic gradient."""
    one = w.at_most(w.norm2(gradient), R2)
    return w.every_client(n, one).called("Assumption 4")


def drifted(r: Run, at: Number = j) -> Vector:
    """Return a local model seen from their mean, the client block."""
    return w.client(r.p(n, t, at) - middle(r, at))


def falling_assumptions(r: Run) -> tuple[Assumed, ...]:
    """Return Assumptions 1, 2, 4, 5 for a falling run, and fresh mini-batches.

    That a mini-batch is fresh is used in two inner products, which have mean 0.
    """
    g = sampled(r)
    each = [
        *fresh_batches(r, drifted(r), g),
        *fresh_batches(r, middle(r) - best, g),
        bounded(g),
    ]
    return (
        assumption_1(),
        assumption_2(),
        *(w.every_round(t, T, w.every_round(j, K, one)) for one in each),
        assumption_5(),
        minimum(),
        *gamma_printed(K),
    )


def noise(sigma: Callable[[k.Client], Number] = sigma2) -> Number:
    r"""Return :math:`\sum_np_n^2\sigma_n^2`."""
    return w.over_clients(n, p() ** 2 * sigma(n))


def away(at: Vector, side: k.Side | None = None) -> Form:
    r"""Return :math:`E\|w-w^*\|^2`, or of one block."""
    if side is None:
        return w.norm2(at - best)
    return w.norm2(w.part(side, at) - w.part(side, best))


def mixed(client: Vector, server: Vector) -> Vector:
    """Return the vector of one's client block and the other's server block."""
    one, two = w.client(client), w.server(server)
    return Written(one.value + two.value, f"{one.tex}, {two.tex}")


def maximum(one: Number, two: Number, three: Number) -> tuple[Assumed, ...]:
    """Return that the first number is the larger one of the others."""
    lies = f"{one.tex} = \\max\\{{{two.tex}, {three.tex}\\}}"
    return (
        w.at_most(two, one),
        w.at_most(three, one),
        Assumed(h.Holds(k.constant(-(one - two).value * (one - three).value)), lies),
    )


def gamma_printed(steps: Number | int = 1) -> tuple[Assumed, ...]:
    r"""Return :math:`\gamma=\max\{8S/\mu-1,EM\}`."""
    return maximum(gamma, 8 * S / mu - 1, w.number(steps))


def assumption_1() -> Assumed:
    """Return Assumption 1 as printed, an upper bound."""
    return w.every_client(n, w.majorised(f(), S)).called("Assumption 1")


def assumption_2() -> Assumed:
    """Return Assumption 2."""
    return w.every_client(n, w.convex(f(), mu)).called("Assumption 2")


def samples(r: Run) -> tuple[Assumed, Assumed]:
    """Return that mini-batches are fresh and independent, which the paper uses."""
    return (
        w.unbiased(r).called("fresh mini-batches"),
        w.independent(r).called("independent clients"),
    )


def assumption_3(r: Run) -> Assumed:
    """Return Assumption 3 along the run."""
    return w.every_client(n, w.variance(r, n, sigma2())).called("Assumption 3")


def assumption_4(r: Run) -> Assumed:
    """Return Assumption 4 along the run; on all of R^d it excludes Assumption 2."""
    return w.bounded_gradients(r, R2).called("Assumption 4")


def assumption_5() -> Assumed:
    """Return Assumption 5."""
    tex = rf"\|\nabla f_n(w) - \nabla F(w)\|^2 \le {delta2.tex}"
    return Assumed(h.Heterogeneity(delta2.value), tex, "Assumption 5")


def minimum() -> Assumed:
    """Return that w* minimises F."""
    return Assumed(h.Minimiser(k.MEAN), r"w^* \text{ minimises } F", "definition of w*")


def assumptions(r: Run) -> tuple[Assumed, ...]:
    """Return Assumptions 1-4 and what goes without saying."""
    return (
        assumption_1(),
        assumption_2(),
        *samples(r),
        assumption_3(r),
        assumption_4(r),
        minimum(),
    )


NO_GAMMA = (
    "w* minimises every f_n, so Gamma = 0, or less if its w_s is not w_s*, which "
    "makes the right side smaller still"
)


def one_optimum() -> tuple[Assumed, ...]:
    r"""Return :math:`\Gamma=0`: w* minimises every :math:`f_n`."""
    flat = w.at_most(w.norm2(f().gradient(best)), 0)
    return (
        w.every_client(n, flat).called("w* minimises every f_n"),
        w.at_most(Gamma, 0).called("so Gamma = 0"),
    )
