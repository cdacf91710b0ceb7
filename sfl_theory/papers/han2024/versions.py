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
from sfl_theory.bound import Bound, Source
from sfl_theory.conditions import BoundedGradients, Convex, MinimiserExists, Smooth
from sfl_theory.evidence import Part
from sfl_theory.kernel.terms import Side
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024 import (
    appendix_e,
    last_iterate,
    printed,
    root_noise,
    theorems,
    unbounded,
    without_noise,
)
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024 import strongly_convex_repairs as strong
from sfl_theory.papers.han2024 import theorems_convex_repaired as convex
from sfl_theory.papers.han2024.bounds import GAMMA as PRINTED_GAMMA
from sfl_theory.papers.han2024.bounds import PARAMETERS as OF_PRINTED
from sfl_theory.papers.han2024.strongly_convex_repairs import Algorithm, Line
from sfl_theory.papers.han2024.two_periods import d
from sfl_theory.statement import Proved
from sfl_theory.step_size import StepSize
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
Stated = tuple[Bound, tuple[Part, ...]]
"""A bound with the statements that it is made from."""
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
ROOT: Symbols = {
    root_noise.S: S,
    root_noise.GAMMA: gamma,
    root_noise.FREE_GAMMA: gamma,
    root_noise.z: symbols.z,
}


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
LAST_MODEL: dict[str, strong.Named] = {
    number: {name: (line,) for name, line in lines.items()}
    for number, lines in strong.LAST_MODEL.items()
}
ANY_PERIODS = (strong.CLIENT_SHARPER, strong.SERVER_SHARPER)
"""Of a claim beside the paper's."""
NOTES = (
    "the learning rate shown is the largest that the paper admits",
    "holds for every learning rate; useful where the sum of squared learning rates "
    "stays bounded, as for rates of order 1/(S tau sqrt(T))",
)
"""For equal periods, and for any."""
PRINTED_NON_CONVEX = {
    "3.6": theorems.THEOREM_36.parts,
    "3.8": theorems.THEOREM_38.parts,
}
EQUALLY = {
    ("3.7", "strongly_convex"): strong.THEOREM_37.parts[:1],
    ("3.9", "strongly_convex"): strong.THEOREM_39.parts[:1],
    ("3.7", "non_convex"): appendix_e.REPAIRED.parts[:1],
    ("3.9", "non_convex"): (theorems.EQUAL_WEIGHTS,),
}
"""What is proved as printed, and so for equal weights."""
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


def of(*lines: Line) -> tuple[Part, ...]:
    """Return the statements of some lines."""
    return tuple(line.part for line in lines)


def stated(
    lines: tuple[Line, ...],
    case: str,
    rule: StepSize,
    assumed: tuple[con.Condition, ...],
    more: Symbols | None = None,
    *notes: str,
) -> Stated:
    """Return the bound that proved lines state; `more` symbols than the usual."""
    line = lines[-1]
    name = "non-convex" if case == "non_convex" else case.replace("_", " ")
    bound = Bound(
        parts=parts(line, more or {}),
        metric=METRICS[case],
        step_size=rule,
        conditions=(*assumed, *of_algorithm(line.algorithm)),
        source=Source("repaired", f"Theorem {line.algorithm.number}", name),
        definitions=rule.definitions,
        notes=notes,
    )
    return bound, of(*lines)


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


def strongly_convex(number: str, own: Bound) -> dict[str, Stated]:
    """Return the strongly convex bounds, given the printed one."""
    case, assumed = "strongly_convex", (*BOUNDED, con.StronglyConvex())
    found = {
        name: stated(lines, case, falling(lines[-1].algorithm), assumed, GAMMA)
        for name, lines in convex.BOUNDS[number, case].items()
    }
    if not printed.shared(number):
        nearest = as_printed(own, con.OwnSteps(), "strongly convex")
        rule, (_, parts_) = found["any_periods"][0].step_size, found["repaired"]
        found["repaired"] = replace(nearest, step_size=rule), parts_
    last = LAST_MODEL[number]
    if number == "3.6":
        last = last | {"last_model_any_periods": ANY_PERIODS}
    for name, lines in last.items():
        line = lines[-1]
        condition = of_algorithm(line.algorithm)[1]
        bound = replace(
            as_printed(own, condition, "strongly convex, last model"),
            parts=parts(line, GAMMA),
            step_size=falling(line.algorithm),
        )
        found[name] = bound, of(*lines)
    usual = found["last_model"][0]
    line = root_noise.LINES["3.7" if number == "3.9" else number]
    rooted_ = rooted(everyone(usual) if number == "3.9" else usual, line)
    found["root_noise"] = rooted_, of(line)
    if number == "3.6":
        line = root_noise.FREE_LINE
        rule = falling(line.algorithm, definitions={gamma: 32 * S / mu})
        free, _ = stated((line,), case, rule, WITHOUT_33[case], ROOT)
        found["root_noise_unbounded"] = rooted(free, line), of(line)
    if number in ("3.6", "3.8"):
        found |= silent(usual)
    if number == "3.9":
        (line,) = strong.LAST_MODEL["3.7"].values()
        whole = replace(found["last_model"][0], parts=parts(line, GAMMA))
        found["full_participation"] = everyone(whole), of(line)
        line = root_noise.LINES[number]
        found["root_noise_drawn"] = rooted(usual, line), of(line)
    if printed.shared(number):
        found |= visited(found["last_model"][0])
    return found


def rooted(last: Bound, line: Line) -> Bound:
    """Return the bound with the root of S/mu."""
    meant = {**last.definitions, symbols.z: sp.sqrt(S / mu)}
    return replace(last, parts=parts(line, ROOT), definitions=meant)


def everyone(own: Bound) -> Bound:
    """Return a bound for q_n = 1, where drawing is none."""
    drawn = (con.UpdatesAggregated, con.EveryoneTakesPart)
    kept = (one for one in own.conditions if not isinstance(one, drawn))
    return replace(own, conditions=(*kept, con.EveryoneTakesPart()))


def silent(last: Bound) -> dict[str, Stated]:
    """Return the bounds of SFL-V1 without noise, where everyone takes part."""
    first, close = without_noise.LINE, without_noise.CLOSE_LINE
    own = everyone(last)
    own = replace(own, conditions=(*own.conditions, con.NoNoise()))
    small = replace(
        own,
        parts=parts(close, SMALL_DRIFT),
        conditions=(*own.conditions, con.Steeper(), ALSO_LAST),
    )
    return {
        "without_noise": (replace(own, parts=parts(first, GAMMA)), of(first)),
        "small_drift": (small, of(close)),
    }


def visited(last: Bound) -> dict[str, Stated]:
    """Return the bounds of SFL-V2 by distances, where everyone takes part."""
    noisy, quiet = without_noise.NOISY_LINE, without_noise.ANY_ORDER_LINE
    own = everyone(last)
    own = replace(own, conditions=(*own.conditions, con.Steeper()))
    silent_ = replace(own, conditions=(*own.conditions, con.NoNoise()))
    return {
        "by_distance": (replace(own, parts=parts(noisy, SMALL_DRIFT)), of(noisy)),
        "any_order": (replace(silent_, parts=parts(quiet, SMALL_DRIFT)), of(quiet)),
    }


def general_convex(number: str) -> dict[str, Stated]:
    """Return the general convex bounds."""
    case, found = "general_convex", {}
    for name, lines in convex.BOUNDS[number, case].items():
        one = lines[-1].algorithm
        more: Symbols = {}
        if one.longer is not None:
            squares = PARAMETERS | named({s.eta() ** 2: over_rounds(eta(t) ** 2)})
            more = {convex.LIMIT: sp.exp(expression(convex.growth(one), squares))}
        rule, note = up_to(one, LARGEST, "any"), NOTES[bool(more)]
        found[name] = stated(lines, case, rule, BOUNDED_CONVEX, more, note)
    for name, lines in last_iterate.BOUNDS[number, case].items():
        rule = up_to(lines[-1].algorithm, LARGEST, "any")
        found[name] = stated(lines, case, rule, BOUNDED_CONVEX, RECIPROCALS)
    last, parts_ = found["last_iterate"]
    last = replace(
        last,
        metric=replace(bound.OBJECTIVE_GAP, first_round=1),
        step_size=replace(rule, constant=True),
        conditions=(*last.conditions, ALSO_LAST),
        notes=("at the best constant learning rate O((log(T)/T)^(1/2))",),
    )
    return found | {"last_iterate": (last, parts_)}


def non_convex(number: str, own: Bound) -> dict[str, Stated]:
    """Return the printed bound of SFL-V1, those with weighted server steps of V2."""
    found: dict[str, Stated] = {}
    if number in PRINTED_NON_CONVEX:
        found["printed"] = own, PRINTED_NON_CONVEX[number]
    for name, line in theorems.WEIGHTED.get(number, {}).items():
        wide = 2 if number == "3.7" else expression(theorems.KAPPA, PARAMETERS)
        rule = up_to(line.algorithm, 1 / (8 * S * tau * wide))
        notes = filter(None, [WEIGHTED_NOTES.get((number, name))])
        found[name] = stated((line,), "non_convex", rule, NOISY, {}, *notes)
    return found


def without_33(number: str, case: str) -> dict[str, Stated]:
    """Return the bounds without bounded gradients, and one with them beside those."""
    found: dict[str, Stated] = {}
    for name, lines in unbounded.BOUNDS[number, case].items():
        one, c = lines[-1].algorithm, unbounded.constants(number, name)
        wide = c.most if case == "non_convex" else (c.wide,)
        most = sp.Max(*(expression(each, PARAMETERS) for each in wide))
        rule, assumed = up_to(one, 1 / (8 * S * tau * most)), WITHOUT_33[case]
        if case == "strongly_convex":
            offset = {gamma: expression(c.gamma, PARAMETERS)}
            rule = falling(one, expression(c.step, PARAMETERS), offset)
        elif name == "bounded_gradients":
            rule = up_to(one, 1 / (8 * S * tau), "any")
            assumed = (LIPSCHITZ, con.Unbiased(), BoundedGradients(), MINIMUM)
        found[name] = stated(lines, case, rule, assumed, {c.gamma: gamma})
    return found


def versions(number: str, case: str, own: Bound) -> Proved:
    """Return what is proved beside a printed bound, by name.

    Args:
        number: of the theorem.
        case: its case.
        own: the bound as printed.

    Returns:
        "repaired" (the nearest) and others, with their statements.
    """
    found = without_33(number, case)
    if case == "general_convex":
        return found | general_convex(number)
    if (number, case) in EQUALLY:
        equal = as_printed(own, con.EqualWeights())
        found["equal_weights"] = equal, EQUALLY[number, case]
    more = strongly_convex if case == "strongly_convex" else non_convex
    return found | more(number, own)
