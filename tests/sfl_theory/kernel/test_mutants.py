# ruff: noqa: E501 - the mutants quote lines of the source with their indentation
"""Mutants of the rules: the model test notices each of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest
from calls import honest, tempting
from random_models import verdict

from sfl_theory.kernel import rules, theorems
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.theorems import Theorem

SOURCES = {
    module.__name__: Path(module.__file__).read_text(encoding="utf-8")
    for module in (theorems, rules)
}

# (rule whose calls notice it, what the mutant replaces, by what)
MUTANTS = [
    ("square", "k.constant(c * c)", "k.constant(c)"),
    (
        "combine",
        "        if not theorem.equal:\n            hypotheses |= _nonnegative(factor, signs)\n        forms.append((theorem.form, factor))",
        "        forms.append((theorem.form, factor))",
    ),
    (
        "combine",
        "    for vector, factor in squares:\n        hypotheses |= _nonnegative(factor, signs)\n",
        "    for vector, factor in squares:\n",
    ),
    (
        "combine",
        "        hypotheses |= _nonnegative(number, signs)\n",
        "        pass\n",
    ),
    (
        "combine",
        "        hypotheses |= _nonnegative(number, signs)\n",
        "        _nonnegative(number, signs)\n",
    ),
    ("combine", "HALF if apart", "HALF * HALF if apart"),
    (
        "combine",
        '            c = -c if c.nonnegative() else c\n            require((-c).nonnegative(), "%s has no sign", c)\n',
        "            pass\n",
    ),
    (
        "combine",
        '            require((-c).nonnegative(), "%s has no sign", c)\n',
        "            pass\n",
    ),
    ("combine", "{atom.left, atom.right} if", "{atom.left} if"),
    ("combine", "{atom.left, atom.right} if", "{atom.right} if"),
    (
        "combine",
        "    fits = all(isinstance(end, k.VecAtom) or end is k.UNIT for end in least)",
        "    fits = True",
    ),
    (
        "combine",
        "isinstance(end, k.VecAtom) or end is k.UNIT",
        "isinstance(end, k.VecAtom | k.Unit | k.Value)",
    ),
    (
        "combine",
        "isinstance(end, k.VecAtom) or end is k.UNIT",
        "isinstance(end, k.VecAtom | k.Unit | k.LinSum)",
    ),
    ("combine", "equal and not rest", "equal"),
    ("combine", "for end in ends:\n", "for end in [*ends][:1]:\n"),
    (
        "combine",
        "least.setdefault(end, []).append((c,",
        "least[end] = least.get(end, [])[:1]\n            least[end].append((c,",
    ),
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
        "        k.natural(c - int(sort is Sort.COUNT))",
        "        k.natural(c)",
    ),
    (
        "instantiate",
        "        k.natural(c - int(sort is Sort.COUNT))",
        "        pass",
    ),
    (
        "instantiate",
        '        require(c.positive(), "%s is not shown to be > 0", c)',
        "        pass",
    ),
    (
        "instantiate",
        "    replaced = {k.at(one, by) for one in theorem.hypotheses}",
        "    replaced = theorem.hypotheses",
    ),
    (
        "instantiate",
        "    return theorem_of(replaced | hypotheses, k.lin_at",
        "    return theorem_of(replaced, k.lin_at",
    ),
    (
        "sum_over",
        "    extra = _NONE if theorem.equal else _nonnegative(factor, signs)\n    hypotheses = _bound",
        "    extra = _NONE\n    hypotheses = _bound",
    ),
    ("sum_over", "    return frozenset({h.every(binder, v, one)})", "    return _NONE"),
    (
        "sum_over",
        "required(k.number_at(number, {v: ratio(u) - 1}))",
        "required(k.number_at(number, {v: ratio(0)}))",
    ),
    (
        "induct",
        '    require(not base.form - first, "the base is not the claim at 0")\n',
        "",
    ),
    (
        "induct",
        "for at in (ratio(0), k.symbol(v) + 1))",
        "for at in (ratio(0), k.symbol(v)))",
    ),
    ("cut", "others | lemma.hypotheses", "others"),
    ("cut", "if not one.form - lemma.form", "if True"),
    ("specialise", " - {one} | {every}", " - {one}"),
    (
        "specialise",
        "            hypotheses = required(ratio(every.binder.upper) - 1 - index)",
        "            pass",
    ),
    (
        "specialise",
        "        index = ratio(k.natural(cast(Ratio, value)))",
        "        index = ratio(value)",
    ),
    (
        "cases",
        '    require(not (above.form - below.form), "the cases prove different things")\n',
        "",
    ),
    ("jensen", "    _nonnegative(factor, ())\n", ""),
    (
        "jensen",
        "k.summed(binder, v, k.norm2(u) * factor) * total - k.norm2(mean)",
        "k.summed(binder, v, k.norm2(u) * factor) - k.norm2(mean)",
    ),
    (
        "linear",
        "    return zero(k.inner(k.summed(binder, v, u), w) - split_up)",
        "    return zero(k.inner(k.summed(binder, v, u), w) + split_up)",
    ),
    ("exchange", "v is not w and ", ""),
    ("exchange", "v not in inner.free and ", ""),
    ("exchange", " and w not in outer.free", ""),
    ("exchange", "k.summed(inner, w, k.summed(outer, v, form))", "rows * 2"),
    (
        "longer",
        "form = k.summed(more, v, form) - k.summed(less, v, form)",
        "form = k.summed(less, v, form) - k.summed(more, v, form)",
    ),
    ("longer", "form, *required(long - short)", "form"),
    ("split", "{v: first + k.symbol(v)}", "{v: second + k.symbol(v)}"),
    (
        "split",
        "    return zero(both - k.summed(low, v, form) - k.summed(high, v, shifted))",
        "    return zero(both - k.summed(low, v, form) - k.summed(high, v, form))",
    ),
    (
        "blocks",
        "for side in Side)\n    return zero",
        "for side in (Side.CLIENT,))\n    return zero",
    ),
    (
        "weight_below_one",
        "k.constant(1 - k.weight(n))",
        "k.constant(1 - k.weight(n) * 2)",
    ),
    ("smooth", "k.norm2(q - p) * (S / 2)", "k.norm2(q - p) * (S / 4)"),
    ("given majorant", "k.norm2(q - p) * (S / 2)", "k.norm2(p) * (S / 2)"),
    (
        "smooth",
        "k.inner(k.gradient(F, p), q - p)",
        "k.inner(k.gradient(F, p), p - q)",
    ),
    ("given lipschitz", "k.norm2(p - q) * S**2", "k.norm2(p - q) * S"),
    ("given majorant", "case h.Smooth(F, S), (V", "case h.Majorised(F, S), (V"),
    ("given convex", "-_above(F, mu, p, q)", "-_above(F, mu * 2, p, q)"),
    (
        "given convex",
        "    return at_least(form, one, *made)",
        "    return at_least(form)",
    ),
    (
        "given lowest",
        "k.value_of(F, p) - k.value_of(F, k.vec(k.Star(F)))",
        "k.value_of(F, k.vec(k.Star(F))) - k.value_of(F, p)",
    ),
    (
        "given lowest",
        "    return at_least(form, one, *made)",
        "    return at_least(form)",
    ),
    (
        "stationary",
        "    return zero(k.inner(at_best, w), h.Minimiser(function))",
        "    return zero(k.inner(at_best, w))",
    ),
    (
        "mean_value",
        "k.value_of(k.Local(n), p) * k.weight(n)",
        "k.value_of(k.Local(n), p) * k.weight(n) ** 2",
    ),
    (
        "mean_gradient",
        "k.gradient(k.Local(n), p) * k.weight(n)",
        "k.gradient(k.Local(n), p)",
    ),
    (
        "given heterogeneity",
        "k.constant(eps2) - k.norm2(apart)",
        "k.constant(eps2 / 2) - k.norm2(apart)",
    ),
    (
        "descend",
        "step = k.gradient(run.function, x) * run.rate.at(t)",
        "step = k.gradient(run.function, x) * run.rate.at(t + 1)",
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
        "until or (ratio(run.steps(side)),)",
        "until or (ratio(run.steps(Side.CLIENT)),)",
    ),
    (
        "update",
        "    weighted = run.kind is not k.Kind.V2 or side is Side.CLIENT",
        "    weighted = True",
    ),
    (
        "update",
        "    weighted = run.kind is not k.Kind.V2 or side is Side.CLIENT",
        "    weighted = not run.kind.shared or side is Side.CLIENT",
    ),
    (
        "update",
        "    return own * k.draw(run, n, t) if run.drawn else own",
        "    return own",
    ),
    (
        "update",
        "    return own * k.draw(run, n, t) if run.drawn else own",
        "    return own * k.draw(run, n, t) if run.drawn and run.kind is k.Kind.V1 else own",
    ),
    (
        "update",
        "    if own and run.participants is k.Participants.MODELS:",
        "    if False:",
    ),
    (
        "update",
        "    if own and run.participants is",
        "    if run.participants is",
    ),
    (
        "local_update",
        "if rests else (i, steps - i)",
        "if rests else (i, ratio(0))",
    ),
    (
        "local_update",
        "        moved = _local_sum(run, n, t, side, upper)\n    else:",
        "        moved = _local_sum(run, n, t, side, upper + 1)\n    else:",
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
        "side, *until) * share(run, n, t, side)",
        "side, *until) * k.weight(n)",
    ),
    (
        "local_update",
        "if run.kind.visits else (i, ())",
        "if run.kind.visits else (i + 1, ())",
    ),
    ("local_update", "(steps, i - steps) if rests", "(steps, ratio(0)) if rests"),
    ("local_update", "(steps, i - steps) if rests", "(i, i - steps) if rests"),
    (
        "local_update",
        '    require(not rests or not run.kind.shared, "both sides step together")\n',
        "",
    ),
    ("ordered", "b - b * b - c", "b - 1 - c"),
    ("ordered", "c * b * other", "c * b"),
    (
        "ordered",
        "other = k.before(m, j, n, i, t), k.before(n, i, m, j, t)",
        "other = k.before(m, j, n, i, t), k.before(m, j, n, i, t)",
    ),
    (
        "given bounded_gradient",
        "form = k.constant(G2) - k.norm2(g)",
        "form = k.constant(G2 / 2) - k.norm2(g)",
    ),
    (
        "given variance",
        "k.constant(bound) - k.norm2(k.noise",
        "k.constant(bound / 2) - k.norm2(k.noise",
    ),
    (
        "given variance",
        "    return at_least(form, one, *made)",
        "    return at_least(form)",
    ),
    (
        "given bounded_block",
        "g = k.part(one.side, g) if isinstance(one, h.BoundedBlock) else g",
        "pass",
    ),
    ("divided", "    k.natural(period - 1)\n", ""),
    ("divided", "    for index in (q, i, v):\n", "    for index in (q, v):\n"),
    ("divided", "& (period.free | claim.free - {v})", "& period.free"),
    ("divided", "always = _bound_hypotheses(one, k.NATURALS, q)", "always = one"),
    ("divided", "    require(apart and fits,", "    require(apart,"),
    (
        "counted_update",
        "local_point(run, n, first + i, 0)",
        "local_point(run, n, i, 0)",
    ),
    ("counted_update", "k.iterate(run, first)\n", "k.iterate(run, q)\n"),
    ("counted_update", "pace.rate.at(first + j)", "pace.rate.at(j)"),
    ("counted_update", "ratio(k.natural(q))", "q"),
    (
        "counted_update",
        "g = stochastic(run, n, first + j, 0)",
        "g = stochastic(run, n, first, 0)",
    ),
    (
        "counted_update",
        "    return zero(form, *required(ratio(pace.steps) - 1 - i))",
        "    return zero(form)",
    ),
    (
        "counted_update",
        "required(ratio(pace.steps) - 1 - i)",
        "required(ratio(pace.steps) - i)",
    ),
    (
        "counted_update",
        '    require(run.kind is k.Kind.COUNTED, "the run has rounds")\n',
        "",
    ),
    (
        "local_update",
        '    require(run.kind is not k.Kind.COUNTED, "a round is an iteration")\n',
        "",
    ),
    (
        "update",
        "(ratio(run.steps(side)),)",
        "(ratio(run.pace(side).steps),)",
    ),
    ("unbiased", "_determined(u, run, now, known, {})", "True"),
    (
        "unbiased",
        "one.client is n or not run.kind.visits\n",
        "True\n",
    ),
    (
        "unbiased",
        "i - at - int(isinstance(one, k.Noise) and not other)",
        "i - at",
    ),
    (
        "unbiased",
        "i - at - int(isinstance(one, k.Noise) and not other)",
        "i + 1 - at - int(isinstance(one, k.Noise))",
    ),
    (
        "unbiased named",
        "int(isinstance(one, k.Noise) and not other)",
        "int(isinstance(one, k.Noise)) + int(other)",
    ),
    ("unbiased named", "apart = other and run.kind is k.Kind.V1", "apart = other"),
    (
        "unbiased named",
        "isinstance(m, k.Numbered) and n is not m",
        "isinstance(m, k.Numbered)",
    ),
    ("unbiased named", "*made, *_different(n, named))", "*made)"),
    ("unbiased named", "required(N - 1 - max(m.number", "required(N - max(m.number"),
    (
        "unbiased",
        "        return u.run is run and left.poly().natural()",
        "        return u.run is run and (left + 1).poly().natural()",
    ),
    (
        "unbiased",
        "        at = {**at, u.variable: ratio(u.binder.upper) - 1}",
        "        at = {**at, u.variable: ratio(0)}",
    ),
    (
        "unbiased",
        "_FIXED = k.Star | k.Unit",
        "_FIXED = k.Star | k.Unit | k.Point",
    ),
    (
        "unbiased_across",
        '    require(alone, "clients meet within a round")\n',
        "",
    ),
    ("unbiased_across", "lambda one, _: one.client is m", "lambda one, _: True"),
    ("unbiased_across", "    return isinstance(atom, k.Noise)", "    return True"),
    (
        "unbiased_across",
        "k.summed(k.CLIENTS, m, u) - k.vec_at",
        "k.summed(k.CLIENTS, m, u) - 0 * k.vec_at",
    ),
    ("unbiased_across", "k.vec_at(u, {m: n})", "k.vec_at(u, {m: n}) * k.weight(n)"),
    ("unbiased after", "((j - at).poly()", "((j + 1 - at).poly()"),
    ("unbiased after", "in after if one.client is m)", "in after)"),
    (
        "unbiased after",
        "_beside_noise(run, n, t, i, u, past) * b\n",
        "_beside_noise(run, n, t, i, u, past)\n",
    ),
    (
        "unbiased after",
        "k.before(m, j, n, i, t) for m, j in after)",
        "k.before(n, i, m, j, t) for m, j in after)",
    ),
    ("numbered", "required(N - count) | required(count - N)", "required(N - count)"),
    ("numbered", "required(N - count) | required(count - N)", "required(count - N)"),
    ("numbered", "for p in range(count))", "for p in range(count - 1))"),
    ("drawn", "(1 + k.symbol(k.Odds(n))) * J - J * J", "J - J * J"),
    (
        "drawn",
        "(1 + k.symbol(k.Odds(n))) * J - J * J",
        "k.symbol(k.Odds(n)) * J - J * J",
    ),
    (
        "combine",
        "        _scales(theorem, factor)\n        if not theorem.equal",
        "        if not theorem.equal",
    ),
    (
        "combine",
        "    averaged = any(one.averaged for one in theorem.hypotheses)",
        "    averaged = False",
    ),
    (
        "combine",
        "    return not averaged and k.CONDITIONAL not in theorem.form.free",
        "    return not averaged",
    ),
    (
        "combine",
        "        if k.CHANCE in c.free | g.free and not _given_the_draws(sign):\n            continue\n",
        "",
    ),
    ("sum_over", "    _scales(theorem, factor)\n    extra", "    extra"),
    (
        "tower",
        "    require(k.CHANCE not in w.free and fixed,",
        "    require(fixed,",
    ),
    ("tower", "    require(k.CHANCE not in w.free and fixed,", "    require(True,"),
    (
        "tower",
        "k.natural(t), lambda *_: False, {})",
        "k.natural(t), lambda *_: True, {})",
    ),
    ("shared", "k.symbol(k.Odds(n)) - J) * P)", "k.symbol(k.Odds(n))) * P)"),
    ("shared", "number_of(own) * P - k.weight(n) * J)", "number_of(own) * P - J)"),
    ("shared", "number_of(own) * P - k.weight(n) * J)", "P - k.weight(n) * J)"),
    ("update", "run.participants is k.Participants.MEAN and side", "side"),
    ("update", "run.participants is k.Participants.MEAN and side is", "False is"),
    ("expect", "isinstance(one, k.Draw) and _numbered(n, m)", "_numbered(n, m)"),
    ("expect", "isinstance(one, k.OfDraws)", "isinstance(one, k.Draw)"),
    ("expect", "zero(form, h.Participation(run), *known)", "zero(form, *known)"),
    ("expect", '    require(fits, "%s depends on who takes part", form)\n', ""),
    ("expect", "k.CHANCE in form.free else _NONE", "False else _NONE"),
    ("expect", "fits = _determined(form, run, k.natural(t), apart, {})", "fits = True"),
    ("expect", "m, earlier = one.client, (t - 1 -", "m, earlier = one.client, (t -"),
    ("expect", "isinstance(m, k.Numbered) and n is not m", "isinstance(m, k.Numbered)"),
    ("expect", "require(fits and not others,", "require(fits,"),
    ("expect", "required(N - 1 - max(m.number", "required(N - max(m.number"),
    ("expect", "    return _different(n, named)", "    return _NONE"),
    ("vanish", "require(not theorem.form + k.norm2(u),", "require(True,"),
    ("vanish", "theorem.form + k.norm2(u)", "theorem.form - k.norm2(u)"),
    (
        "vanish",
        "theorem_of(theorem.hypotheses, k.inner(u, w), True",
        "theorem_of((), k.inner(u, w), True",
    ),
    ("expect", "k.Kind.V1 and same", "k.Kind.V1 or same"),
    ("expect", "return run.kind is k.Kind.V1 and same", "return same"),
    ("expect", "same = (t - _at_most", "same = (t + 1 - _at_most"),
    ("expect", "len({*every}) == len(every) <= MAX_APART and ", ""),
    ("expect", "start=ratio(1)) - 1)", "start=ratio(1)))"),
    ("expect", " - Lin({}).plus(equal)", ""),
    (
        "expect",
        "for m in every[:at])\n        form",
        "for m in every[:1])\n        form",
    ),
    (
        "expect",
        "for m in every[:at])\n        form",
        "for m in others[:at])\n        form",
    ),
    ("expect", "in range(len(others), 0, -1)", "in range(1, len(every))"),
]


# Mutants that prove nothing false, and why:
# - combine without its check of atoms: `number_of` refuses what is left over;
# - sum_over without the factor: a sum of true inequalities all the same;
# - local_update of SFL-V2 at steps that are not made: no order speaks of such visits;
# - unbiased after visits in runs that have none: no order speaks of these, either.


def test_every_mutant_changes_one_place() -> None:
    """Also those that only the long tests kill: the rules were not rewritten since."""
    for _, old, _ in MUTANTS:
        places = sum(source.count(old) for source in SOURCES.values())
        assert places == 1, f"{places} places for {old!r}"


def mutated(old: str, new: str) -> ModuleType:
    """Return the rules with one change, in whichever module it is."""
    honest_ones = {name: sys.modules[name] for name in SOURCES}
    try:
        for name, source in SOURCES.items():
            module = module_from_spec(spec_from_loader(name, loader=None))
            module.__package__ = "sfl_theory.kernel"
            sys.modules[name] = module
            exec(compile(source.replace(old, new), "mutant", "exec"), module.__dict__)
    finally:
        sys.modules.update(honest_ones)
    return module


def calls(name: str, module: ModuleType) -> list[Callable[[], Theorem]]:
    every = (*tempting(module), *honest(module))
    return [make for other, make in every if other == name]


def said(theorem: Theorem | None) -> object:
    return theorem and (theorem.hypotheses, theorem.form, theorem.equal)


def accepted(make: Callable[[], Theorem]) -> Theorem | None:
    try:
        return make()
    except Rejected:
        return None


@cache
def sound_calls(name: str) -> list[Callable[[], Theorem]]:
    return calls(name, rules)


@cache
def sound(name: str, place: int) -> object:
    """Return what the rules themselves say to a call."""
    return said(accepted(sound_calls(name)[place]))


def killed(name: str, module: ModuleType, seeds: range) -> bool:
    """Look for a model only of what the rules do not say themselves: that is true."""
    makes = calls(name, module)

    @cache
    def wrong(place: int) -> Theorem | None:
        own = accepted(makes[place])
        return None if said(own) == sound(name, place) else own

    return any(
        (theorem := wrong(place)) is not None
        and verdict(theorem, 1000 * place + seed) == "false"
        for seed in seeds
        for place in range(len(makes))
    )


@pytest.mark.parametrize("place", range(0, len(MUTANTS), 6))
def test_the_model_test_kills_the_mutant(place: int) -> None:
    name, old, new = MUTANTS[place]
    assert killed(name, mutated(old, new), range(30)), (name, old, new)


@pytest.mark.long
@pytest.mark.parametrize("place", [p for p in range(len(MUTANTS)) if p % 6])
def test_the_model_test_kills_the_other_mutants(place: int) -> None:
    name, old, new = MUTANTS[place]
    assert killed(name, mutated(old, new), range(30)), (name, old, new)
