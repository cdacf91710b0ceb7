"""Statements as MathML: every formula of the ledger, and what has none."""

from __future__ import annotations

import pytest
from rendered import Balanced

from bounds.mathml import mathml, with_formulas
from sfl_theory.evidence import parts_of
from sfl_theory.ledger import ledger


def test_every_statement_is_drawn() -> None:
    """Nothing falls back to its source, and every element is closed; each once."""
    says = [part.says for c in ledger().claims() for _, part in parts_of(c)]
    formulas = {one.tex for each in says for one in (each, *each.assumed)}
    for tex in formulas:
        parser, drawn = Balanced(), mathml(tex)
        parser.feed(drawn)
        assert "<code>" not in drawn, tex
        assert "\\" not in drawn, tex
        assert parser.open == [], tex


def test_formulas_by_hand() -> None:
    assert mathml(r"\frac12 x_n^{2} \le\mathbb E\|y\|", display=False) == (
        "<math><mrow><mfrac><mn>1</mn><mn>2</mn></mfrac>"
        "<msubsup><mi>x</mi><mi>n</mi><mn>2</mn></msubsup><mo>≤</mo><mi>𝔼</mi>"
        '<mo stretchy="false">‖</mo><mi>y</mi><mo stretchy="false">‖</mo></mrow>'
        "</math>"
    )
    assert "<munderover><mo>∑</mo>" in mathml(r"\sum_{t=0}^{T-1} a")
    assert 'minsize="1.8em">(</mo><mi>x</mi>' in mathml(r"\Big(x\Big)\qquad\tfrac12")
    assert '<mo stretchy="false">(</mo>' in mathml(r"\left(x\right)")
    assert "<mo>(</mo>" in mathml(r"\left(\frac1x\right)")
    assert "<mroot><mi>x</mi><mn>3</mn></mroot>" in mathml(r"\sqrt[3]{x} \leq y")
    assert "<mtext>for\N{NO-BREAK SPACE}every</mtext>" in mathml(r"\text{for every}")


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{1}", "x^", "^2", "{x", "x}", r"\sqrt[3{x}", r"\Big", r"\left(x",
        r"\unknown x", "x_1_2",
    ],
)  # fmt: skip
def test_what_is_not_known_is_shown_as_written(tex: str) -> None:
    assert mathml(tex) == f"<code>{tex}</code>"


def test_text_is_escaped() -> None:
    assert with_formulas("a < b & $x < y$").startswith("a &lt; b &amp; <math")
    assert "<mo>&lt;</mo>" in with_formulas("$x < y$")
    assert with_formulas("5 $ only") == "5 $ only"
