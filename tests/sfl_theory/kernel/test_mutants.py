# ruff: noqa: E501 - the mutants quote lines of the source with their indentation
"""Mutants of the rules: the model test notices each of them."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from calls import honest, tempting
from random_models import verdict

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Rejected

SOURCE = Path(rules.__file__).read_text(encoding="utf-8")

# (rule whose calls notice it, what the mutant replaces, by what)
MUTANTS = [
    ("square", "constant(c * c)", "constant(c)"),
    (
        "combine",
        "        if not theorem.equal:\n            hypotheses |= _nonnegative(factor, signs)\n        form = form + theorem.form * factor",
        "        form = form + theorem.form * factor",
    ),
    (
        "combine",
        "    for vector, factor in squares:\n        hypotheses |= _nonnegative(factor, signs)\n",
        "    for vector, factor in squares:\n",
    ),
    ("combine", "    hypotheses |= _nonnegative(number_of(rest), signs)\n", ""),
    (
        "combine",
        "        if (c - g).nonnegative():\n            return sign.hypotheses",
        "        if (c - g).nonnegative():\n            return _NONE",
    ),
    (
        "combine",
        "        if (c - g).nonnegative():",
        "        if (c + g).nonnegative():",
    ),
    (
        "instantiate",
        "    elif sort is Sort.COUNT:\n        natural(c - 1)",
        "    elif sort is Sort.COUNT:\n        pass",
    ),
    (
        "instantiate",
        "    if sort is Sort.NATURAL:\n        natural(c)",
        "    if sort is Sort.NATURAL:\n        pass",
    ),
    (
        "instantiate",
        '        require(c.positive(), "%s is not shown to be > 0", c)',
        "        pass",
    ),
    (
        "instantiate",
        "    replaced = {hypothesis_at(h, by) for h in theorem.hypotheses}",
        "    replaced = theorem.hypotheses",
    ),
    (
        "instantiate",
        "    return _theorem(replaced | hypotheses, lin_at",
        "    return _theorem(replaced, lin_at",
    ),
    (
        "sum_over",
        "    extra = _NONE if theorem.equal else _nonnegative(factor, signs)\n    hypotheses = _bound",
        "    extra = _NONE\n    hypotheses = _bound",
    ),
    ("sum_over", "            out.add(every(binder, v, h))", "            pass"),
    (
        "sum_over",
        "    return at_zero - slope * last if slope.nonnegative() else None",
        "    return at_zero if slope.nonnegative() else None",
    ),
    (
        "induct",
        '    require(\n        not (base.form - lin_at(claim, {v: ratio(0)})), "the base is not the claim at 0"\n    )\n',
        "",
    ),
    (
        "induct",
        "step.form - lin_at(claim, {v: symbol(v) + 1})",
        "step.form - lin_at(claim, {v: symbol(v)})",
    ),
    ("cut", "others | lemma.hypotheses", "others"),
    (
        "cases",
        '    require(not (above.form - below.form), "the cases prove different things")\n',
        "",
    ),
    ("jensen", "    _nonnegative(factor, ())\n", ""),
    (
        "jensen",
        "summed(binder, v, norm2(u) * factor) * total - norm2(mean)",
        "summed(binder, v, norm2(u) * factor) - norm2(mean)",
    ),
    (
        "linear",
        "    return _zero(inner(summed(binder, v, u), w) - split_up)",
        "    return _zero(inner(summed(binder, v, u), w) + split_up)",
    ),
    (
        "longer",
        "_required(long - short), more - less",
        "_required(long - short), less - more",
    ),
    ("longer", "_required(long - short), more - less", "_NONE, more - less"),
    ("split", "{v: first + symbol(v)}", "{v: second + symbol(v)}"),
    (
        "split",
        "    return _zero(both - summed(low, v, form) - summed(high, v, shifted))",
        "    return _zero(both - summed(low, v, form) - summed(high, v, form))",
    ),
    (
        "telescope",
        "lin_at(form, {v: upper}) - lin_at",
        "lin_at(form, {v: upper + 1}) - lin_at",
    ),
    (
        "blocks",
        "for side in Side)\n    return _zero",
        "for side in (Side.CLIENT,))\n    return _zero",
    ),
    (
        "weight_below_one",
        "constant(1 - weight(n))",
        "constant(Ratio(Poly.constant(1)) / 2 - weight(n))",
    ),
    ("smooth", "norm2(q - p) * (S / 2)", "norm2(q - p) * (S / 4)"),
    ("majorant", "norm2(q - p) * (S / 2)", "norm2(p) * (S / 2)"),
    (
        "smooth",
        "inner(gradient(function, p), q - p)",
        "inner(gradient(function, p), p - q)",
    ),
    ("lipschitz", "norm2(p - q) * S**2", "norm2(p - q) * S"),
    (
        "lipschitz",
        "Smooth(function, S))\n\n\n@rule\ndef convex",
        "Majorised(function, S))\n\n\n@rule\ndef convex",
    ),
    ("convex", "norm2(q - p) * (mu / 2)", "norm2(q - p) * mu"),
    (
        "convex",
        "    return _at_least(form, Convex(function, mu))",
        "    return _at_least(form)",
    ),
    (
        "lowest",
        "value_of(function, p) - best, Minimiser",
        "best - value_of(function, p), Minimiser",
    ),
    (
        "lowest",
        "value_of(function, p) - best, Minimiser(function))",
        "value_of(function, p) - best)",
    ),
    (
        "stationary",
        "    return _zero(inner(at_best, w), Minimiser(function))",
        "    return _zero(inner(at_best, w))",
    ),
    (
        "mean_value",
        "value_of(Local(n), p) * weight(n)",
        "value_of(Local(n), p) * weight(n) ** 2",
    ),
    ("mean_gradient", "gradient(Local(n), p) * weight(n)", "gradient(Local(n), p)"),
    (
        "heterogeneity",
        "constant(eps2) - norm2(apart)",
        "constant(eps2 / 2) - norm2(apart)",
    ),
    (
        "descend",
        "step = gradient(run.function, x) * run.rate.at(t)",
        "step = gradient(run.function, x) * run.rate.at(t + 1)",
    ),
    (
        "update",
        "moved) + direction(run, t, side) * rate",
        "moved) - direction(run, t, side) * rate",
    ),
    (
        "update",
        "rate = run.pace(side).outside(t)\n    return",
        "rate = run.client.outside(t)\n    return",
    ),
    (
        "update",
        "each = _local_sum(run, n, t, ratio(run.pace(side).steps), side)",
        "each = _local_sum(run, n, t, ratio(run.client.steps), side)",
    ),
    (
        "update",
        "    weighted = run.kind is not Kind.V2 or side is Side.CLIENT",
        "    weighted = True",
    ),
    (
        "update",
        "    weighted = run.kind is not Kind.V2 or side is Side.CLIENT",
        "    weighted = not run.kind.shared or side is Side.CLIENT",
    ),
    (
        "update",
        "    return own * draw(run, n, t) if run.drawn else own",
        "    return own",
    ),
    (
        "update",
        "    return own * draw(run, n, t) if run.drawn else own",
        "    return own * draw(run, n, t) if run.drawn and run.kind is Kind.V1 else own",
    ),
    (
        "update",
        "    models = run.participants is Participants.MODELS\n",
        "    models = False\n",
    ),
    (
        "update",
        "    if not models or (run.kind.shared and side is Side.SERVER):",
        "    if not models:",
    ),
    (
        "local_update",
        "    return _theorem(_required(steps - i), form, True)",
        "    return _theorem(_NONE, form, True)",
    ),
    (
        "local_update",
        "        moved = _local_sum(run, n, t, i, side)\n    else:",
        "        moved = _local_sum(run, n, t, i + 1, side)\n    else:",
    ),
    (
        "local_update",
        "    if not run.kind.shared or side is Side.CLIENT:",
        "    if True:",
    ),
    (
        "local_update",
        "    if not run.kind.shared or side is Side.CLIENT:",
        "    if not run.kind.visits or side is Side.CLIENT:",
    ),
    (
        "local_update",
        "        moved = summed(CLIENTS, m, each * share(run, m, t, side))",
        "        moved = summed(CLIENTS, m, each * weight(m))",
    ),
    (
        "local_update",
        "            each = _local_sum(run, m, t, i, side)\n",
        "            each = _local_sum(run, m, t, i + 1, side)\n",
    ),
    ("resting", "_required(i - steps), form", "_NONE, form"),
    (
        "resting",
        "    moved = _local_sum(run, n, t, steps, side)\n",
        "    moved = _local_sum(run, n, t, i, side)\n",
    ),
    ("before_or_not", "constant(b - b * b)", "constant(b - 1)"),
    (
        "bounded_gradient",
        "constant(G2) - norm2(stochastic",
        "constant(G2 / 2) - norm2(stochastic",
    ),
    ("variance", "constant(bound) - norm2(noise", "constant(bound / 2) - norm2(noise"),
    ("variance", "{Variance(run, n, bound)}", "set()"),
    ("unbiased", "_determined(u, run, natural(t), earlier),", "True,"),
    (
        "unbiased",
        "        own = one.client is n or everyone\n",
        "        own = True\n",
    ),
    (
        "unbiased",
        "        j = _at_most(one.step, at) + (1 if isinstance(one, Noise) else 0)",
        "        j = _at_most(one.step, at)",
    ),
    (
        "unbiased",
        "        return (step - j).poly().natural()",
        "        return (step + 1 - j).poly().natural()",
    ),
    (
        "unbiased",
        "    if isinstance(u, Iterate | Expected):\n        return left.poly().natural()",
        "    if isinstance(u, Iterate | Expected):\n        return (left + 1).poly().natural()",
    ),
    (
        "unbiased",
        "            at = {**at, v: ratio(u.binder.upper) - 1}",
        "            at = {**at, v: ratio(0)}",
    ),
    (
        "unbiased",
        "    if isinstance(u, Point) or u.run is not run:\n        return False",
        "    if isinstance(u, Point):\n        return True",
    ),
    (
        "unbiased_across",
        '    require(run.kind is Kind.V1, "clients meet within a round")\n',
        "",
    ),
    (
        "martingale",
        "norm2(summed(steps, i, xi)) - summed(steps, i, norm2(xi))",
        "norm2(summed(steps, i, xi)) - summed(steps, i, norm2(xi)) * 2",
    ),
    ("independent", "norm2(xi) * factor**2", "norm2(xi) * factor"),
    ("drawn", "(1 + symbol(Odds(n))) * J - J * J", "J - J * J"),
    ("drawn", "(1 + symbol(Odds(n))) * J - J * J", "symbol(Odds(n)) * J - J * J"),
    (
        "combine",
        "        _scales(theorem, factor)\n        if not theorem.equal",
        "        if not theorem.equal",
    ),
    (
        "combine",
        "    averaged = any(h.averaged for h in theorem.hypotheses)",
        "    averaged = False",
    ),
    (
        "combine",
        "    return not averaged and CONDITIONAL not in theorem.form.free",
        "    return not averaged",
    ),
    (
        "combine",
        "        if CHANCE in c.free | g.free and not _given_the_draws(sign):\n            continue\n",
        "",
    ),
    ("sum_over", "    _scales(theorem, factor)\n    extra", "    extra"),
    (
        "tower",
        "    require(CHANCE not in w.free and fixed,",
        "    require(fixed,",
    ),
    ("tower", "    require(CHANCE not in w.free and fixed,", "    require(True,"),
    ("tower", "natural(t), lambda *_: False)", "natural(t), lambda *_: True)"),
    (
        "expect",
        "    return _zero(form - out, Participation(run))",
        "    return _zero(form - out)",
    ),
    (
        "expect",
        "    return (1 + symbol(Odds(n))) ** (power - 1)",
        "    return (1 + symbol(Odds(n))) ** power",
    ),
    (
        "expect",
        "    return (1 + symbol(Odds(n))) ** (power - 1)",
        "    return ratio(1)",
    ),
    (
        "expect",
        "    if isinstance(one, Draw) and one is Draw(run, one.client, t):",
        "    if isinstance(one, Draw):",
    ),
    (
        "expect",
        "        or CHANCE in atom.free\n",
        "",
    ),
    (
        "expect",
        "        or not _determined(atom, run, t, apart)\n",
        "",
    ),
    (
        "expect",
        "        return run.kind is Kind.V1 and same",
        "        return same",
    ),
    (
        "expect",
        "        out = out + summed(CLIENTS, v, both * joint)\n",
        "",
    ),
    (
        "expect",
        "    require(1 <= len(sums) <= 2,",
        "    require(1 <= len(sums),",
    ),
    (
        "expect",
        "        joint = _moment(v, sum(sums)) - _moment(v, sums[0]) * _moment(v, sums[1])",
        "        joint = symbol(Odds(v))",
    ),
    (
        "expect",
        '        require(all(CHANCE not in f.free for f, _ in c.denominator), "divided by draws")\n',
        "",
    ),
]


# Mutants that prove nothing false, and why:
# - combine without its check of atoms: `number_of` refuses what is left over;
# - sum_over without the factor: a sum of true inequalities all the same;
# - local_update of SFL-V2 at steps that are not made: no order speaks of such visits;
# - independent with a limit that depends on the client: noise beyond the steps is 0.


def mutated(old: str, new: str) -> ModuleType:
    assert SOURCE.count(old) == 1, f"{SOURCE.count(old)} places for {old!r}"
    spec = spec_from_loader("sfl_theory.kernel.mutant", loader=None)
    module = module_from_spec(spec)
    module.__package__ = "sfl_theory.kernel"
    sys.modules[module.__name__] = module
    exec(compile(SOURCE.replace(old, new), "mutant", "exec"), module.__dict__)
    return module


def killed(name: str, module: ModuleType, seeds: range) -> bool:
    calls = [m for other, m in (*tempting(module), *honest(module)) if other == name]
    for seed in seeds:
        for place, make in enumerate(calls):
            try:
                theorem = make()
            except Rejected:
                continue
            if verdict(theorem, 1000 * place + seed) == "false":
                return True
    return False


@pytest.mark.parametrize("place", range(0, len(MUTANTS), 6))
def test_the_model_test_kills_the_mutant(place: int) -> None:
    name, old, new = MUTANTS[place]
    assert killed(name, mutated(old, new), range(30)), (name, old, new)


@pytest.mark.long
@pytest.mark.parametrize("place", [p for p in range(len(MUTANTS)) if p % 6])
def test_the_model_test_kills_the_other_mutants(place: int) -> None:
    name, old, new = MUTANTS[place]
    assert killed(name, mutated(old, new), range(30)), (name, old, new)
