"""Formulas as text: read from the left, a text is worth its formula."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfl_theory.evidence import parts_of
from sfl_theory.ledger import ledger
from sfl_theory.notation import written as w
from sfl_theory.notation.plain import in_plain, in_words, plain

SYMBOLS = {
    w.positive("S"): Fraction(2, 3),
    w.positive("mu", r"\mu"): Fraction(5, 7),
    w.positive("G2", "G^{2}"): Fraction(11),
    w.positive("tau_server", r"\tilde{\tau}"): Fraction(13, 2),
}
NAMED = {plain(one.tex): value for one, value in SYMBOLS.items()}
TOKEN = re.compile(rf"{'|'.join(NAMED)}|\d+|[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[−+/·()]")
DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

leaves = st.one_of(
    st.sampled_from([*SYMBOLS.items()]),
    st.fractions(-9, 99, max_denominator=9).map(lambda c: (w.number(c), c)),
)


def _powered(one: tuple[w.Number, Fraction], power: int) -> tuple[w.Number, Fraction]:
    return one[0] ** power, one[1] ** power


def _joined(one, two, sign: str):
    (a, x), (b, y) = one, two
    if sign == "/":
        return (a / b, x / y) if y else one
    if sign == "*":
        return a * b, x * y
    return (a + b, x + y) if sign == "+" else (a - b, x - y)


numbers = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(_joined, inner, inner, st.sampled_from("+-*/")),
        st.builds(_powered, inner, st.integers(2, 3)),
    ),
    max_leaves=8,
)


class Read:
    """Reads a text as a person does: factors side by side are a product."""

    def __init__(self, text: str) -> None:
        self.left = TOKEN.findall(text)[::-1]
        assert "".join(self.left[::-1]) == text.replace(" ", "")

    def sum(self) -> Fraction:
        out = self.product()
        while self.left and self.left[-1] in "+−":
            minus = self.left.pop() == "−"
            out += -self.product() if minus else self.product()
        return out

    def product(self) -> Fraction:
        if self.left[-1] == "−":
            self.left.pop()
            return -self.product()
        out = self.factor()
        while self.left and self.left[-1] not in "+−)":
            sign = self.left.pop() if self.left[-1] in "/·" else "·"
            out = out / self.factor() if sign == "/" else out * self.factor()
        return out

    def factor(self) -> Fraction:
        token = self.left.pop()
        if token == "(":
            out = self.sum()
            assert self.left.pop() == ")"
        else:
            out = NAMED[token] if token in NAMED else Fraction(token)
        if self.left and self.left[-1][0] in "⁰¹²³⁴⁵⁶⁷⁸⁹":
            out **= int(self.left.pop().translate(DIGITS))
        return out


@given(numbers)
def test_a_text_has_the_value_of_its_formula(one: tuple[w.Number, Fraction]) -> None:
    number, value = one
    assert Read(plain(number.tex)).sum() == value


def test_every_formula_of_the_ledger_is_text() -> None:
    """Statements, assumptions, and what stands between dollars in any words."""
    for claim in ledger().claims():
        told = [claim.title, claim.cause, claim.scope, claim.words]
        if claim.repair is not None:
            told.append(claim.repair.change)
        for _, part in parts_of(claim):
            told += [part.reading, "" if part.by is None else part.by.words]
            for tex in (part.says.tex, *(one.tex for one in part.says.assumed)):
                assert "\\" not in plain(tex), tex
        for text in told:
            assert not set("\\$") & set(in_plain(text)), text


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (
            r"\frac{S}{2} \mathbb{E}\left\|x^{T} - x^{*}\right\|^2",
            "S/2 · E ‖x^T − x*‖²",
        ),
        (r"\frac{56}{9} S \frac{1}{\tau}", "56/9 · S · 1/τ"),
        (r"\frac{\sum_n a_n}{2 T}", "(Σₙ aₙ)/(2 T)"),
        (r"\sum_{t=0}^{T - 1} \left(\eta^{t}\right)^{2}", "Σ_{t=0}^{T−1} (ηᵗ)²"),
        (r"\mathbb{E}[\xi_n^{t,i} \mid \text{past}] = 0", "E[ξₙ^{t,i} | past] = 0"),
        (r"-\langle\nabla_bf,\nabla F_n(x)\rangle", "−⟨∇_b f, ∇Fₙ(x)⟩"),
        (r"8SN^2\tilde\tau\le\max\{1,\sqrt{2a}\}", "8 S N² τ̃ ≤ max{1, √(2 a)}"),
    ],
)
def test_formulas_by_hand(tex: str, text: str) -> None:
    assert plain(tex) == text


@pytest.mark.parametrize("tex", [r"\frac{1}", "x^", "{x", r"\unknown x", r"\left(x"])
def test_what_is_not_known_is_shown_as_written(tex: str) -> None:
    assert plain(tex) == tex
    assert in_plain(f"as ${tex}$, here") == f"as {tex}, here"


def test_a_single_dollar_is_a_dollar() -> None:
    assert in_plain("5 $ only") == "5 $ only"


@pytest.mark.parametrize(
    ("spelled", "shown"),
    [
        ("carry no a_n: sum_n grad F_n, not grad f.", "carry no aₙ: Σₙ ∇Fₙ, not ∇f."),
        ("up to 1/(8 S tau sum a_n/q_n) <= eta^t", "up to 1/(8 S τ Σ aₙ/qₙ) ≤ ηᵗ"),
        ("tau_server^2 != tau, (T + 1)^2, x^0", "τ̃² ≠ τ, (T + 1)², x⁰"),
        ("alpha/sqrt(kappa) for 8S/mu - 1", "α/√(κ) for 8S/μ - 1"),
        ("the sum of gradients, a betatron, mu-values", None),
        ("see text/learning-rate/tau, li2020/Gamma, tau_max", "τ_max"),
    ],
)
def test_sentences_have_signs_for_what_they_spell(spelled: str, shown: str) -> None:
    if spelled.startswith("see"):
        assert in_words(spelled) == spelled.replace("tau_max", shown)
    elif shown is None:
        assert in_words(spelled) == spelled.replace("mu-", "μ-")
    else:
        assert in_words(spelled) == shown


def test_ids_in_the_ledgers_sentences_stay() -> None:
    """And what is shown is not changed by being shown again."""
    ids = {claim.id for claim in ledger().claims()}
    names = ids | {short for one in ids if "-" in (short := one.split("/", 1)[1])}
    for claim in ledger().claims():
        for text in (claim.title, claim.cause, claim.scope):
            before = {one.strip(".,;:()") for one in text.split()} & names
            after = {one.strip(".,;:()") for one in in_words(text).split()}
            assert before <= after, text
            assert in_words(in_words(text)) == in_words(text)
