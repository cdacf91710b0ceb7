"""``python -m bounds.audit --claim``: an entry that a person can read."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.audit import main
from bounds.audit_entry import exactly, rounded, sides
from bounds.audit_table import RESULTS
from sfl_theory.evidence import Severity
from sfl_theory.kernel.replay import Claim as Replayed
from sfl_theory.kernel.terms import Lin
from sfl_theory.ledger import ledger
from sfl_theory.notation.plain import plain
from sfl_theory.registry import case_of

ENTRIES = (
    "han2024/thm-3.7/non_convex",  # refuted by a long run, repaired in two ways
    "han2024/lemma-C.7",  # refuted by a model of its own
    "dachille2024/assumption-3",  # assumptions that do not exclude each other
    "huang2023/assumption-1",  # without terms
)
REPLAYED = Replayed(
    "test/one", Lin({}), Lin({}), False, frozenset(), frozenset(), False, None
)


def entry(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["--claim", name]) == 0
    return capsys.readouterr().out


def test_an_entry_is_printed_without_what_it_does_not_need() -> None:
    """No symbolic algebra, no arrays, and of the paper one section and its symbols."""
    code = (
        "import sys; from bounds.audit import main; main(['--claim', 'han2024/eq-2']);"
        "print([m for m in sys.modules if m in ('sympy', 'numpy', 'rich')"
        " or m.startswith('sfl_theory.papers.han2024.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    needed = ("defects", "setting", "section_2")
    read = [f"sfl_theory.papers.han2024.{name}" for name in needed]
    assert done.stdout.splitlines()[-1] == str(read)


def test_a_theorem_prints_its_step_size() -> None:
    """Only for results are the bounds read: no case is another kind of claim."""
    cases = [one for one in ledger().claims() if case_of(one.id) is not None]
    assert cases
    assert {one.kind for one in cases} <= set(RESULTS)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_text_that_fits(
    name: str,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No LaTeX, no bare long fraction, statement and severity in words."""
    monkeypatch.setenv("COLUMNS", str(columns))
    out = entry(name, capsys)
    claim = ledger().claim(name)
    assert not set("\\$") & set(out)
    *body, replay = out.splitlines()
    assert replay.startswith("replay:")
    assert all(len(line) <= columns for line in body)
    words = " ".join(out.split())
    for part in (*claim.parts, *(claim.repair.parts if claim.repair else ())):
        assert plain(part.says.tex) in words
        for one in part.says.assumed:
            assert plain(one.tex) in words
    severity = claim.severity
    said = "" if severity is None else f"severity: {severity.value}: {severity.means}"
    assert said in words
    assert ("severity:" in words) == (severity is not None)
    decimals = re.compile(r"[\d.]+(e-\d+)? \(\d+ / \d+\)")
    assert not re.search(r"\d{20}", decimals.sub("", words))


def test_a_model_without_sides_is_not_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Assumptions that do not exclude each other: no inequality is told."""
    out = entry("dachille2024/assumption-3", capsys)
    assert "this model meets every assumption" in out
    assert "left side" not in out


def test_every_severity_has_words() -> None:
    assert len({one.means for one in Severity}) == len(Severity)


large = st.integers(1, 10**50)
numbers = st.builds(Fraction, large.flatmap(lambda k: st.sampled_from([k, -k])), large)


@given(numbers, numbers)
def test_enclosed_sides_are_rounded_outwards(left: Fraction, right: Fraction) -> None:
    """What is said to be at least or at most a number is, in the digits shown."""
    if left == right:
        return
    found = replace(REPLAYED, sides=(left, right), enclosed=True)
    one, two, less = sides(found)
    for line, value in ((one, left), (two, right)):
        kind, shown = re.findall(r"at (least|most) (?:about )?([-\d.e+/]+)", line)[0]
        if "/" in shown:  # exact, its decimal behind it
            assert Fraction(shown) == value
            continue
        assert Fraction(shown) <= value if kind == "least" else Fraction(shown) >= value
    assert ("least" in one) == ("most" in two) == (left > right)
    by = Fraction(less.split()[-1])
    assert by <= abs(left - right)


@given(numbers)
def test_a_fraction_has_its_decimal(value: Fraction) -> None:
    text = exactly(value)
    decimal = Fraction(rounded(value))
    assert abs(decimal - value) <= abs(value) / 10**5
    if " = " in text:
        assert decimal == value
    if "about" not in text:
        whole = text.replace(" / ", "/")
        assert str(value) in whole


def test_numbers_by_hand() -> None:
    assert exactly(Fraction(1, 8)) == "1/8 = 0.125"
    assert exactly(Fraction(-1, 3)) == "-1/3 ~ -0.333333"
    assert exactly(Fraction(12)) == "12"
    long = Fraction(10**30 + 1, 3 * 10**30)
    assert exactly(long) == f"0.333333 ({10**30 + 1} / {3 * 10**30})"
    assert exactly(Fraction(1, 10**400)) == "about 1E-400"
