"""`docs/trusted-base.md` says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from proved import PROOFS
from random_models import premises
from test_attacks import ATTACKS
from test_mutants import MUTANTS

from sfl_theory.kernel.rules import RULES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "trusted-base.md").read_text(encoding="utf-8")


def formula(proof: str) -> str:
    first = proof.strip().splitlines()[0].partition(" Proof:")[0]
    return first.removeprefix("Return ").rstrip(".")


def test_every_rule_stands_in_the_page_with_its_formula() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.*)` \|$", PAGE, re.MULTILINE))
    assert rows == {name: formula(rule.proof) for name, rule in RULES.items()}


def test_every_rule_has_a_proof() -> None:
    for name, rule in RULES.items():
        assert "Proof:" in rule.proof, name


def test_the_page_counts_attacks_mutants_and_rule_calls() -> None:
    assert f"- {len(ATTACKS)} attacks on" in PAGE
    assert f"- {len(MUTANTS)} mutants of" in PAGE
    rows = dict(
        re.findall(r"^\| `([\w./-]+/[\w./-]+)` \| (\d+) \|$", PAGE, re.MULTILINE)
    )
    calls = {name: str(len(premises(theorem))) for name, (_, theorem) in PROOFS.items()}
    assert rows == calls


def test_the_page_counts_the_lines() -> None:
    files = sorted((ROOT / "sfl_theory" / "kernel").glob("*.py"))
    lines = {f.name: len(f.read_text(encoding="utf-8").splitlines()) for f in files}
    table = re.findall(r"^\| `(\w+\.py)` \| (\d+) \|", PAGE, re.MULTILINE)
    assert {name: int(count) for name, count in table} == lines
