r"""What is typeset from a term is the term; the LaTeX is read by the page's reader."""

from __future__ import annotations

import re
from fractions import Fraction
from math import prod
from operator import mul
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.evidence import Proof, parts_of
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, added, ratio
from sfl_theory.ledger import ledger
from sfl_theory.notation import written as w
from sfl_theory.notation.atoms import Names, spelled
from sfl_theory.notation.writer import Writer

WRITER = Writer()
SOME = [pair for claim in ledger().claims()[::13] for pair in parts_of(claim)]
n, t, i = k.Client("n"), w.natural("t"), w.natural("i")
tau = w.count("tau")
RUN = w.Run(
    k.Split(
        k.Kind.V1,
        k.Participants.EVERYONE,
        w.pace(tau, w.rate(1)),
        w.pace(tau, w.rate(1)),
    ),
    "",
)
POINTS = (
    RUN.x(t),
    RUN.p(n, t, i),
    RUN.xi(n, t, i),
    w.f.best,
    w.f.gradient(RUN.x(t)),
    w.local(n).gradient(RUN.p(n, t, i)),
    w.client(RUN.x(t)),
)


LETTER = re.compile(r"\\(?:tilde\{)?\\?\w+(?:_\{?\\?\w+\}?)?|\w(?:_\w)?")


def test_no_letter_of_a_statement_is_left_undefined() -> None:
    """What a paper calls gamma, beta, B_1, ... is a parameter or is defined beside."""
    says = [part.says for c in ledger().claims() for _, part in parts_of(c)]
    ever = {one.partition(" = ")[0] for each in says for one in each.definitions}
    assert {r"\gamma", r"\beta", r"\kappa", "B_1", "B_2", r"\tau_{\min}"} <= ever
    ever -= {*"STnzB", r"\tau"}  # letters of other things, too
    for each in says:
        parts = (each.left.value, each.right.value, *each.hypotheses)
        free = {v for part in parts for v in part.free}
        known = " ".join(filter(None, map(w.PARAMETERS.get, free)))  # type: ignore[arg-type]
        known += " ".join(each.definitions)
        used = ever & {*LETTER.findall(each.tex)}
        assert all(one in known for one in used), (used, each.tex)


def test_definitions_follow_what_is_written_to_its_letters() -> None:
    """Once each, the outer ones first; another letter for a number defines nothing."""
    S, mu = w.positive("S"), w.positive("mu", r"\mu")
    kappa = w.called(S / mu, r"\kappa")
    gamma = w.called(8 * kappa - 1, r"\gamma")
    here = w.norm2(RUN.x(t) - gamma * w.f.gradient(RUN.x(t)))
    both = [r"\gamma = 8 \kappa - 1", r"\kappa = \frac{S}{\mu}"]
    assert w.definitions(here, gamma * kappa) == both
    assert w.definitions(*w.at_most(kappa, 1).of) == both[1:]
    assert w.definitions(w.called(S, "L")) == []
    assert w.definitions(w.called(mu + S - mu, "S")) == []
    assert w.definitions(w.called(S, "L"), mu / S) == ["L = S"]
    assert w.definitions(w.called(S, r"\max\{L, \mu\}"), mu / S) == []


def test_statements_are_typeset_as_themselves() -> None:
    for _, part in SOME:
        says = part.says
        form = says.right.value - says.left.value
        left, right = WRITER.sides(form, says.equal)
        assert not right.value - left.value - form
        for one in says.hypotheses:
            assert WRITER.assumed(one).value is one
        for tex in (left.tex, right.tex):
            assert tex.count("{") == tex.count("}")
            brackets = (re.findall(rf"\\{side}\b", tex) for side in ("left", "right"))
            assert len(next(brackets)) == len(next(brackets))


def test_names_are_those_of_the_first_module_that_has_them() -> None:
    """However many are looked up before, and in which order; no more are read."""
    first, second, last = (ModuleType(name) for name in "abc")
    vars(first).update(one=w.natural("x", "X"), other="x")
    vars(second).update(one=w.natural("x", "Y"), two=w.natural("y", "Y"))
    vars(last).update(z=w.natural("z", "Z"))
    left = iter((first, second, last))
    names = Names(left)
    assert (names["y"], names["x"]) == ("Y", "X")
    assert next(left) is last
    assert "z" not in names
    assert dict(Names((first, second, last))) == {"x": "X", "y": "Y", "z": "Z"}
    with pytest.raises(KeyError):
        names["z"]


numbers = st.fractions(-3, 3, max_denominator=4)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(numbers, st.lists(numbers, min_size=7, max_size=7)), max_size=2),
    st.sampled_from([0, 1, 2]),
)
def test_any_sum_of_squares_is_typeset_as_itself(
    squares: list[tuple[Fraction, list[Fraction]]], sums: int
) -> None:
    """Under no, one or two sums; what is found need not be the squares put in."""
    form = k.Lin({})
    for c, parts in squares:
        pieces = (v.value * ratio(x) for v, x in zip(POINTS, parts, strict=True))
        form = form + k.norm2(sum(pieces, k.Vec({}))) * ratio(c)
    for binder, v in ((k.Steps(k.natural(tau.value)), w.variable(i)), (k.CLIENTS, n)):
        if sums:
            factor = k.weight(n) if v is n else ratio(1)
            form, sums = k.summed(binder, v, form * factor), sums - 1
    assert not WRITER.form(form).value - form


def test_a_completed_square_is_found() -> None:
    x, y = RUN.x(t + 1), w.f.best
    eta = w.positive("eta").value
    step = x.value - RUN.x(t).value + w.f.gradient(RUN.x(t)).value * eta
    for square in (x.value - y.value, step):
        pieces = WRITER.pieces(k.norm2(square) * eta)
        assert len(pieces) == 1


def test_different_terms_have_different_formulas() -> None:
    """Two statements of the ledger never look the same, unless they are the same."""
    seen: dict[tuple[str, ...], object] = {}
    for _, part in SOME:
        if isinstance(part.by, Proof):
            said = part.says
            sides = (WRITER.form(said.left.value), WRITER.form(said.right.value))
            key = tuple(one.tex for one in sides)
            runs = frozenset(k.runs_of(said.left.value, said.right.value))
            value = said.left.value, said.right.value
            assert seen.setdefault((*key, str(runs)), value) == value


def test_names_of_parameters_are_spelled() -> None:
    assert spelled("sigma2") == r"\sigma^{2}"
    assert spelled("r2") == "r_{2}"
    assert spelled("tau_max") == r"\tau_{\mathrm{max}}"
    assert spelled("late") == r"\mathrm{late}"
    assert re.fullmatch(r"[a-zA-Z0-9_^{}\\,]*", spelled("F_err"))


def test_the_letter_of_a_sum_is_no_letter_that_is_taken() -> None:
    other = k.Var("i", Sort.NATURAL)
    body = k.norm2(RUN.p(n, t, w.natural("j")).value) * k.symbol(other)
    form = k.summed(k.Steps(k.natural(tau.value)), k.Var("j", Sort.NATURAL), body)
    assert "sum_{j=0}" in WRITER.form(form).tex


def test_a_sum_and_what_is_summed_have_one_letter() -> None:
    """Whatever LaTeX somebody gave a parameter of the same name first."""
    i = w.variable(w.natural("i", "r"))
    form = k.norm2(RUN.p(n, t, w.natural("i")).value) * k.symbol(i)
    summed = k.summed(k.Steps(k.natural(tau.value)), i, form)
    known = w.PARAMETERS[i]
    w.PARAMETERS[i] = "r"
    try:
        tex = WRITER.form(summed).tex
    finally:
        w.PARAMETERS[i] = known
    assert "sum_{i=0}" in tex and "t,i}" in tex


def test_a_long_number_is_written_as_itself() -> None:
    """A sum of many terms is no deep recursion."""
    x, y = (k.symbol(k.Var(name, Sort.POSITIVE)) for name in "xy")
    rows = (sum((x**i * y**j for i in range(50)), ratio(0)) for j in range(30))
    value = added(rows)
    assert WRITER.number(value).value == value


SUMS = st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any)


@given(st.lists(SUMS, min_size=1, max_size=3), st.integers(1, 2), st.booleans())
def test_a_product_of_sums_keeps_its_sign(
    factors: list[list[int]], power: int, minus: bool
) -> None:
    """Factors are known up to a number: what is written is the value all the same."""
    letters = [k.symbol(k.Var(name, Sort.POSITIVE)) for name in "xyz"]
    sums = [sum(map(mul, letters, c), ratio(0)) for c in factors]
    value = prod(sums, start=ratio(-1 if minus else 1)) * sums[0] ** (power - 1)
    assert WRITER.number(value).value == value
