"""The lines of a proof are the kernel's theorems, and refer to earlier lines only."""

from __future__ import annotations

import re
from inspect import getsource

import pytest

from sfl_theory.evidence import Proof
from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, ratio
from sfl_theory.kernel.rules import RULES
from sfl_theory.ledger import ledger
from sfl_theory.notation.steps import ASSUMED, DOMINANT, WORDS, Steps
from sfl_theory.notation.writer import Writer, of_paper
from sfl_theory.proofs import derived

CLAIMS = (
    "han2024/thm-3.7/general_convex",
    "han2024/thm-3.6/strongly_convex",
    "han2024/lemma-C.7",
    "huang2023/lemma-2",
)


def test_every_rule_and_hypothesis_has_a_word() -> None:
    assert set(WORDS) | {"given"} == set(RULES)
    found = re.findall(r"(?:case |isinstance\(one, )h\.(\w+)", getsource(r))
    assert {one.__name__ for one in ASSUMED} == set(found)


@pytest.mark.parametrize("name", CLAIMS)
def test_lines_are_theorems_and_reasons_stand_before(name: str) -> None:
    repair = ledger().claim(name).repair
    assert repair is not None
    (part, *_) = repair.parts
    assert isinstance(part.by, Proof)
    steps = Steps(of_paper(name.split("/")[0]))
    theorem = part.by.theorem()
    lines = steps.of(theorem, part.says.hypotheses)
    of = {number: one for one, number in steps.numbers.items()}
    for place, line in enumerate(lines, 1):
        assert line.number == place
        made = of[place]
        assert not line.right.value - line.left.value - made.form
        assert line.equal is made.equal
        assert all(one < place for one in line.reason if isinstance(one, int))
        text = "".join(one for one in line.reason if isinstance(one, str))
        assert text.count("$") % 2 == 0
        assert line.reason
    said = part.says
    last = lines[-1]
    assert not last.right.value - last.left.value - said.right.value + said.left.value
    assert steps.of(theorem) == []


def test_every_line_but_the_last_is_used() -> None:
    """No inequality is printed that nothing rests on."""
    repair = ledger().claim(CLAIMS[0]).repair
    assert repair is not None
    (part, *_) = repair.parts
    assert isinstance(part.by, Proof)
    lines = Steps(Writer()).of(part.by.theorem(), part.says.hypotheses)
    used = {one for line in lines for one in line.reason if isinstance(one, int)}
    assert used == set(range(1, len(lines)))


def test_multipliers_and_squares_are_told() -> None:
    c, S = (k.symbol(k.Var(name, Sort.POSITIVE)) for name in "cS")
    x, y = k.vec(k.Point("x")), k.vec(k.Point("y"))
    smooth, convex = r.smooth(k.MEAN, S, x, y), derived.convex(k.MEAN, ratio(0), x, y)
    both = r.combine(((smooth, c), (convex, ratio(1))), ((x - y, ratio(2)),), None, ())
    *_, last = Steps(Writer()).of(both)
    told = "".join(map(str, last.reason))
    assert told.startswith("From $c$ times 1, 2 and the square ")
    assert r"$2 \mathbb{E}\|x - y\|^2$" in told


def test_what_adds_nothing_is_not_told() -> None:
    """A sum of squares with the weight 0 is no reason of the line that takes it."""
    c = k.symbol(k.Var("c", Sort.POSITIVE))
    x, y = k.vec(k.Point("x")), k.vec(k.Point("y"))
    square = r.combine((), ((x, ratio(1)),), None, ())
    over = r.sum_over(square, k.CLIENTS, k.Client("n"), ratio(0), ())
    convex = derived.convex(k.MEAN, ratio(0), x, y)
    both = r.combine(((convex, c), (over, c)), (), None, ())
    *_, last = Steps(Writer()).of(both)
    told = "".join(map(str, last.reason))
    assert told.startswith("From $c$ times")
    assert "summed" not in told


def test_products_that_squares_bound_are_told() -> None:
    x, y, z = (k.vec(k.Point(name)) for name in "xyz")
    own, over = k.norm2(x - y), k.norm2(x) + k.norm2(z)
    for more in (over, over + k.inner(x, z) * 2, over - k.inner(x, z)):
        both = r.combine((), ((x - y, ratio(1)),), own + more, ())
        *_, last = Steps(Writer()).of(both)
        assert DOMINANT in "".join(map(str, last.reason))
    both = r.combine((), ((x - y, ratio(1)),), own + k.constant(1), ())
    *_, last = Steps(Writer()).of(both)
    assert DOMINANT not in "".join(map(str, last.reason))
