r"""What all sections of li2020 write with: parameters, the run, the assumptions.

The paper counts steps, :math:`s=1,2,\dots`, and averages after every E of them. Here
:math:`s=Et+i+1` is step i of round t; its rate is :math:`\eta_s`, the models before it
are :math:`w_k^{t,i}`, all equal to :math:`w^t` for i = 0, and :math:`w_1=w^0`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfl_theory.evidence import Part, Proof, Says
from sfl_theory.kernel import terms
from sfl_theory.kernel.hypotheses import Minimiser
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Client, Kind, Participants, subterms
from sfl_theory.models.federation import coin, federation, plus, quadratic, still, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import ATOM, Assumed, Form, Number, Vector, Written
from sfl_theory.proofs.export import ModelData, Statement

k, other = Client("k"), Client("l")
t, i, j, v = w.natural("t"), w.natural("i"), w.natural("j"), w.natural("v")
d, e, r = w.natural("d"), w.natural("e"), w.natural("r")
R, m = w.count("R"), w.count("m")
E = w.count("tau", "E")
L, mu = w.positive("L"), w.positive("mu", r"\mu")
kappa = w.called(L / mu, r"\kappa")
gamma = w.positive("gamma", r"\gamma")
above_8 = w.nonnegative("g")
wide = w.called(8 + above_8, r"\gamma")
r"""The same where it is used to be at least 8, as :math:`8\kappa` is."""
G2, delta2 = w.nonnegative("G2", "G^2"), w.nonnegative("delta2", r"\delta^2")
F = w.Function(terms.MEAN, "F")
best = Written(F.best.value, "w^*", ATOM, w.Name("w", above="*"))


def p(client: Client = k) -> Number:
    """Return the weight of a client."""
    return w.called(w.weight(client), f"p_{{{client.name}}}")


def sigma2(client: Client = k) -> Number:
    r"""Return :math:`\sigma_k^2`."""
    return w.of_client("sigma2", client, r"\sigma_{{n}}^2")


def least(client: Client = k) -> Number:
    r"""Return :math:`F_k^*`, a number that F_k nowhere falls below.

    Written as minus a number >= 0; constants added to the F_k change no statement.
    """
    depth = w.of_client("least", client, "d_{{n}}")
    return Written((-depth).value, f"F_{{{client.name}}}^*")


def eta(step: Number) -> Number:
    r"""Return the rate :math:`\eta_s` of the paper's step s."""
    return w.of_round("eta", step, r"\eta_{{t}}")


def step(at: Number = i, round_: Number = t) -> Number:
    """Return the paper's number of step i of round t."""
    return E * round_ + at + 1


_PACE = w.pace(E, w.rate(lambda at: eta(at + 1)), stepwise=True)
run = w.Run(
    terms.Split(Kind.V1, Participants.EVERYONE, _PACE, _PACE), "FedAvg", "w", r"\xi"
)
"""FedAvg: SFL-V1 whose two sides step together, so that whole models move."""


def model(at: Number = i, round_: Number = t) -> Vector:
    r"""Return :math:`\bar w`, the mean of the models before a step."""
    above = f"{round_.tex},{at.tex}"
    total = w.over_clients(other, p(other) * run.p(other, round_, at))
    name = w.Name(r"\bar{w}", above=above)
    return Written(total.value, str(name), ATOM, name)


def noise(at: Number = i, round_: Number = t) -> Vector:
    r"""Return :math:`g-\bar g`, the mean of the clients' noises."""
    total = w.over_clients(other, p(other) * run.xi(other, round_, at))
    above = f"{round_.tex},{at.tex}"
    return Written(total.value, rf"g^{{{above}}} - \bar{{g}}^{{{above}}}", w.SUM)


def spread(at: Number = i) -> Form:
    r"""Return :math:`\sum_kp_k\|\bar w-w_k\|^2`."""
    return w.over_clients(k, p() * w.norm2(model(at) - run.p(k, t, at)))


_GAMMA = F(best) - w.over_clients(k, p() * least())
Gamma = Written(_GAMMA.value, r"\Gamma")
r""":math:`\Gamma=F^*-\sum_kp_kF_k^*`."""
B = w.called(
    w.over_clients(k, p() ** 2 * sigma2()) + 6 * L * Gamma + 8 * (E - 1) ** 2 * G2, "B"
)
r""":math:`B=\sum_kp_k^2\sigma_k^2+6L\Gamma+8(E-1)^2G^2`."""


# Assumptions ------------------------------------------------------------------------

SMOOTH = w.every_client(k, w.majorised(w.local(k), L)).called("Assumption 1")
CONVEX = w.every_client(k, w.convex(w.local(k), mu)).called("Assumption 2")
FAIR = (
    w.unbiased(run).called("stochastic gradients"),
    w.independent(run).called("each device samples from its own data"),
)
VARIANCE = w.every_client(k, w.variance(run, k, sigma2())).called("Assumption 3")
BOUNDED = w.bounded_gradients(run, G2).called("Assumption 4")
MINIMUM = Assumed(w.minimiser(F).value, r"w^* \text{ minimises } F", "F has a minimum")


def above_least(at: Number = i, round_: Number = t) -> tuple[Assumed, ...]:
    r"""Return that F_k is at least :math:`F_k^*` where the proof meets it."""
    points = (run.p(k, round_, at), model(at, round_))
    F_k = w.local(k)
    reached = [y - 1 / L * F_k.gradient(y) for y in points]
    return tuple(
        w.every_client(k, w.at_most(least(), F_k(y))).called("F_k^* = min F_k")
        for y in reached
    )


LEAST = w.every_client(k, w.at_most(least(), w.local(k)(best))).called(
    "F_k^* = min F_k"
)


def every_step(rounds: Number, steps: Number, one: Assumed) -> Assumed:
    """Return a hypothesis on step i of round t for all i and t below limits."""
    return w.every_round(t, rounds, w.every_round(i, steps, one))


def rate_rule(offset: Number = gamma) -> tuple[Assumed, ...]:
    r"""Return :math:`\eta_s=2/(\mu(\gamma+s))` for every step s, as a product.

    So no sum over steps has a denominator.
    """
    s = v + 1
    left = Written(
        (mu * (offset + s) * eta(s)).value, rf"\mu(\gamma + {s.tex})\eta_{{{s.tex}}}"
    )
    return tuple(
        w.every_natural(v, one).called("eta_s = 2/(mu (gamma + s)), s = v + 1")
        for one in w.equals(left, w.number(2))
    )


GAMMA = w.maximum(gamma, 8 * kappa, E)


# A model ----------------------------------------------------------------------------

ONES = dict.fromkeys((mu, R, r, m, i, v, d, e), 1)
VALUES = {L: 2, E: 2, gamma: 16, above_8: 8, G2: 9, delta2: 1, t: 0, **ONES}


def quadratics(statement: Statement) -> ModelData:
    """Return two clients with ``x_1^2/2 + x_2^2 + b_k x_2``, noise +-1/2 in x_2.

    They meet all assumptions: no step leaves the box, in which the stochastic gradients
    are bounded. It says of parameters what a statement mentions. Where two rounds are
    made (r = 1) the second client has no noise: 16 outcomes, as in one round, not 256.
    """
    inside = subterms(statement.left, statement.right, *statement.hypotheses)
    twice = w.variable(r) in inside
    values = {"sigma2": ("1/4", "1/4"), "least": ("1/64", "9/64")}
    families = {one.name for one in inside if isinstance(one, terms.ClientFamily)}
    law, curved = coin(0, "1/2"), quadratic(((1, 0), (0, 2)), (0, 0))
    falling = terms.Rate(2 / (16 + terms.symbol(terms.ROUND)))
    runs = any(isinstance(one, terms.Split) for one in inside)
    asked = any(isinstance(one, terms.Star | Minimiser) for one in inside)
    return federation(
        (plus(curved, tilt(0, "1/4")), plus(curved, tilt(0, "-3/4"))),
        ("1/2", 1),
        weights=("3/4", "1/4"),
        noise=(law, still(2) if twice else law),
        rounds=(1 + twice) if runs else 0,
        numbers={x: c for x, c in VALUES.items() if w.variable(x) in inside},
        families={name: values[name] for name in sorted(families)},
        rates={"eta": falling} if any(map(_is_rate, inside)) else {},
        best={F: (0, 0)} if asked else {},
        box=((-1, 1), (-1, 1)),
    )


def _is_rate(one: terms.Term) -> bool:
    return isinstance(one, terms.RoundFamily)


def proved(
    says: Says, theorem: Callable[[], Theorem], words: str, reading: str = ""
) -> Part:
    """Return a part with its proof; `quadratics` meets what it assumes."""
    model_ = partial(quadratics, says.statement("li2020"))
    return Part(says, Proof(theorem, words, model_), reading)
