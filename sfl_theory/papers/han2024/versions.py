r"""What is proved beside the printed bounds of ``han2024``, to be evaluated.

Every formula is that of a proved statement, `Says.terms`, in the library's symbols;
here stands under which name, learning rates and hypotheses it is offered. A statement
with two parts, by which side makes more steps, has one formula: the server makes more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from sfl_theory import bound, symbols
from sfl_theory import conditions as con
from sfl_theory import written as w
from sfl_theory.bound import Bound, Source, StepSize
from sfl_theory.conditions import BoundedGradients, Convex, MinimiserExists, Smooth
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024 import (
    last_iterate,
    last_model_drawn,
    printed,
    theorems,
    unbounded,
    without_noise,
)
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024 import strongly_convex_repairs as strong
from sfl_theory.papers.han2024 import theorems_convex_repaired as convex
from sfl_theory.papers.han2024.parameters import GAMMA as PRINTED_GAMMA
from sfl_theory.papers.han2024.parameters import PARAMETERS as OF_PRINTED
from sfl_theory.papers.han2024.strongly_convex_repairs import Algorithm, Line
from sfl_theory.papers.han2024.two_periods import d
from sfl_theory.symbolic import Symbols, expression, named
from sfl_theory.symbols import N, S, T, eta, gamma, mu, n, over_rounds, q, t, tau

UNEQUAL = 1 - sp.Min(tau, symbols.tau_server) / sp.Max(tau, symbols.tau_server)
PARAMETERS = OF_PRINTED | named({
    strong.S_REPAIRED: S,
    s.tau + d: symbols.tau_server,
    w.inverse_chance(s.n) - 1: (1 - q[n]) / q[n],
    Algorithm("3.6", Side.SERVER).unequal: UNEQUAL,
})
"""Parameters of the statements -> what they are called here."""
GAMMA: Symbols = {strong.gamma: gamma}
RECIPROCALS: Symbols = {
    last_iterate.rate: over_rounds(eta(t)) / T,
    w.below(s.t, s.T, last_iterate.reciprocal(s.t + 1)): symbols.reciprocals(1, 1, T),
}
"""A constant rate is the mean of equal ones; k^t stands for 1/(T + 1 - t)."""
SMALL_DRIFT: Symbols = {
    without_noise.S_Z: S,
    without_noise.GAMMA_Z: gamma,
    without_noise.z: sp.sqrt(4 * S / mu - 3) - 1,
}
"""z stands for a root, in which a bound's S is not read."""
STATED = {
    key: {"last_iterate": tuple(line.part for line in lines["last_iterate"])}
    for key, lines in last_iterate.BOUNDS.items()
} | {
    (number, "strongly_convex"): {"small_drift": (without_noise.CLOSE,)}
    for number in ("3.6", "3.8")
}
"""Theorem and case -> the statement that spells k^t or z out, which no condition is."""


def parts(line: Line, more: Symbols) -> dict[str, sp.Expr]:
    """Return the terms of a statement's right side."""
    x, f = line.run.x(0), s.f
    first: Symbols = {w.norm2(x - f.best): symbols.I_err, f.gap(x): symbols.F_err}
    known = PARAMETERS | named(first, more)
    return {name: expression(term, known) for name, term in line.part.says.terms}


# What the bounds are offered for -----------------------------------------------------

LIPSCHITZ, MINIMUM = Smooth("C.1 (24) Lipschitz gradients"), MinimiserExists()
BOUNDED = (Smooth(), con.Unbiased(), BoundedGradients())
BOUNDED_CONVEX = (*BOUNDED, Convex(), MINIMUM)
NOISY = (LIPSCHITZ, con.BoundedVariance(), con.Heterogeneity())
WITHOUT_33 = {
    "strongly_convex": (*NOISY, MINIMUM, con.StronglyConvex()),
    "general_convex": (*NOISY, MINIMUM, Convex()),
    "non_convex": (*NOISY, MINIMUM),
}
ALSO_LAST = BoundedGradients("3.3 also in a round that starts from the last model")
METRICS = {
    "strongly_convex": bound.OBJECTIVE_GAP,
    "general_convex": bound.WEIGHTED_GAP,
    "non_convex": bound.WEIGHTED_GRADIENT,
}
LARGEST, FOUR = 1 / (2 * S * tau), sp.Integer(4)
LAST_MODEL = {"3.9": {"last_model": last_model_drawn.LINE}}
"""Of a claim beside the paper's."""
NOTES = (
    "the learning rate shown is the largest that the paper admits",
    "holds for every learning rate; useful where the sum of squared learning rates "
    "stays bounded, as for rates of order 1/(S tau sqrt(T))",
)
"""For equal periods, and for any."""
WEIGHTED_NOTES = {
    ("3.9", "repaired"): "at most (22) as printed",
    ("3.9", "sharper"): "sharper than the other repaired bound for small learning "
    "rates",
}


def server(one: Algorithm) -> sp.Expr:
    """Return the server's rate over the client's."""
    if one.longer is not None:
        return tau / symbols.tau_server
    return 1 / N if printed.shared(one.number) else sp.Integer(1)


def of_algorithm(one: Algorithm) -> tuple[con.Condition, con.Condition]:
    """Return who takes part, and what is said of numbers of steps or the server."""
    draws = printed.partial(one.number)
    who = con.UpdatesAggregated() if draws else con.EveryoneTakesPart()
    if printed.shared(one.number):
        return who, con.WeightedServer()
    return who, con.EqualPeriods() if one.longer is None else con.OwnSteps()


def falling(
    one: Algorithm,
    scale: sp.Expr = FOUR,
    definitions: Mapping[sp.Symbol, sp.Expr] = PRINTED_GAMMA,
) -> StepSize:
    """Return the rates scale/(mu tau (gamma + t))."""
    rate = scale / (mu * tau * (gamma + t))
    return StepSize(rate, rate * server(one), "=", definitions)


def up_to(one: Algorithm, largest: sp.Expr, relation: str = "<=") -> StepSize:
    """Return rates up to a number, or any, of which this one is shown."""
    return StepSize(largest, largest * server(one), relation)


def stated(
    line: Line,
    case: str,
    rule: StepSize,
    assumed: tuple[con.Condition, ...],
    more: Symbols | None = None,
    *notes: str,
) -> Bound:
    """Return the bound that a proved line states; `more` symbols than the usual."""
    name = "non-convex" if case == "non_convex" else case.replace("_", " ")
    return Bound(
        parts=parts(line, more or {}),
        metric=METRICS[case],
        step_size=rule,
        conditions=(*assumed, *of_algorithm(line.algorithm)),
        source=Source("repaired", f"Theorem {line.algorithm.number}", name),
        definitions=rule.definitions,
        notes=notes,
    )


def as_printed(own: Bound, condition: con.Condition, what: str = "") -> Bound:
    """Return the printed bound under one more condition."""
    source = own.source
    return replace(
        own,
        conditions=(*own.conditions, condition),
        source=replace(source, paper="repaired", equation=what or source.equation),
        findings=(),
        notes=(),
    )


# The cases ---------------------------------------------------------------------------


def strongly_convex(number: str, own: Bound) -> dict[str, Bound]:
    """Return the strongly convex bounds, given the printed one."""
    case, assumed = "strongly_convex", (*BOUNDED, con.StronglyConvex())
    found = {
        name: stated(line, case, falling(line.algorithm), assumed, GAMMA)
        for name, (*_, line) in convex.BOUNDS[number, case].items()
    }
    if not printed.shared(number):
        nearest = as_printed(own, con.OwnSteps(), "strongly convex")
        rule = found["any_periods"].step_size
        found["repaired"] = replace(nearest, step_size=rule)
    for name, line in (strong.LAST_MODEL | LAST_MODEL).get(number, {}).items():
        condition = of_algorithm(line.algorithm)[1]
        found[name] = replace(
            as_printed(own, condition, "strongly convex, last model"),
            parts=parts(line, GAMMA),
            step_size=falling(line.algorithm),
        )
    if number in ("3.6", "3.8"):
        found |= silent(found["last_model"])
    if number == "3.9":
        (line,) = strong.LAST_MODEL["3.7"].values()
        found["full_participation"] = everyone(
            replace(found["last_model"], parts=parts(line, GAMMA))
        )
    return found


def everyone(own: Bound) -> Bound:
    """Return a bound for q_n = 1, where drawing is none."""
    drawn = (con.UpdatesAggregated, con.EveryoneTakesPart)
    kept = (one for one in own.conditions if not isinstance(one, drawn))
    return replace(own, conditions=(*kept, con.EveryoneTakesPart()))


def silent(last: Bound) -> dict[str, Bound]:
    """Return the bounds of SFL-V1 without noise, where everyone takes part."""
    own = everyone(last)
    quiet = (*own.conditions, con.NoNoise())
    close = parts(without_noise.CLOSE_LINE, SMALL_DRIFT)
    return {
        "without_noise": replace(
            own, parts=parts(without_noise.LINE, GAMMA), conditions=quiet
        ),
        "small_drift": replace(
            own, parts=close, conditions=(*quiet, con.Steeper(), ALSO_LAST)
        ),
    }


def general_convex(number: str) -> dict[str, Bound]:
    """Return the general convex bounds."""
    case, found = "general_convex", {}
    for name, (*_, line) in convex.BOUNDS[number, case].items():
        one = line.algorithm
        more: Symbols = {}
        if one.longer is not None:
            squares = PARAMETERS | named({s.eta() ** 2: over_rounds(eta(t) ** 2)})
            more = {convex.LIMIT: sp.exp(expression(convex.growth(one), squares))}
        rule, note = up_to(one, LARGEST, "any"), NOTES[bool(more)]
        found[name] = stated(line, case, rule, BOUNDED_CONVEX, more, note)
    for name, (line,) in last_iterate.BOUNDS[number, case].items():
        rule = up_to(line.algorithm, LARGEST, "any")
        found[name] = stated(line, case, rule, BOUNDED_CONVEX, RECIPROCALS)
    found["last_iterate"] = replace(
        found["last_iterate"],
        metric=replace(bound.OBJECTIVE_GAP, first_round=1),
        step_size=replace(rule, constant=True),
        conditions=(*found["last_iterate"].conditions, ALSO_LAST),
        notes=("at the best constant learning rate O((log(T)/T)^(1/2))",),
    )
    return found


def non_convex(number: str) -> dict[str, Bound]:
    """Return the non-convex bounds with weighted server steps."""
    found = {}
    for name, line in theorems.WEIGHTED.get(number, {}).items():
        wide = 2 if number == "3.7" else expression(theorems.KAPPA, PARAMETERS)
        rule = up_to(line.algorithm, 1 / (8 * S * tau * wide))
        notes = filter(None, [WEIGHTED_NOTES.get((number, name))])
        found[name] = stated(line, "non_convex", rule, NOISY, {}, *notes)
    return found


def without_33(number: str, case: str) -> dict[str, Bound]:
    """Return the bounds without bounded gradients, and one with them beside those."""
    found = {}
    for name, (line,) in unbounded.BOUNDS[number, case].items():
        one, c = line.algorithm, unbounded.constants(number, name)
        wide = c.most if case == "non_convex" else (c.wide,)
        most = sp.Max(*(expression(each, PARAMETERS) for each in wide))
        rule, assumed = up_to(one, 1 / (8 * S * tau * most)), WITHOUT_33[case]
        if case == "strongly_convex":
            offset = {gamma: expression(c.gamma, PARAMETERS)}
            rule = falling(one, expression(c.step, PARAMETERS), offset)
        elif name == "bounded_gradients":
            rule = up_to(one, 1 / (8 * S * tau), "any")
            assumed = (LIPSCHITZ, con.Unbiased(), BoundedGradients(), MINIMUM)
        found[name] = stated(line, case, rule, assumed, {c.gamma: gamma})
    return found


def versions(number: str, case: str, own: Bound) -> dict[str, Bound]:
    """Return what is proved beside a printed bound, by name.

    Args:
        number: of the theorem.
        case: its case.
        own: the bound as printed.

    Returns:
        "repaired" (the nearest) and others.
    """
    found = without_33(number, case)
    if case == "general_convex":
        return found | general_convex(number)
    if printed.shared(number):
        found["equal_weights"] = as_printed(own, con.EqualWeights())
    more = (
        strongly_convex(number, own)
        if case == "strongly_convex"
        else non_convex(number)
    )
    return found | more
