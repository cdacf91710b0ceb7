"""The table of results in the README: `python -m made.results`, in docs, writes it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

from made.words import prose
from sfl_theory import Case, Theorem, theorems
from sfl_theory.best import best, proved_versions
from sfl_theory.bound import total
from sfl_theory.ledger import entered, ledger
from sfl_theory.lower import USUAL

README = Path(__file__).parents[2] / "README.md"
PLACE = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- /results -->)", re.DOTALL)
AT = 100
"""T at which the printed and the best proved bound are compared."""
HEAD = (
    "| statement | as printed | cause, or scope | repaired | printed / best |\n"
    "|---|---|---|---|---|\n"
)


def table() -> str:
    """Return the table, a row per case of a theorem, as Markdown."""
    rows = (_row(item, case) for item in theorems() for case in item.cases.values())
    return HEAD + "".join(rows)


def _row(item: Theorem, case: Case) -> str:
    claim = ledger().of_case(item.key, case.name)
    if claim is None:
        raise ValueError(f"{item.key} ({case.name}) is not in the ledger")
    now = entered(claim)
    kind = "Prop." if "/prop" in item.key else "Thm"
    named = "" if case.name == "any" else f", {case.name.replace('_', ' ')}"
    repair = claim.repair.change if claim.repair and now.status == "refuted" else ""
    refuted = now.status == "refuted"
    where = f" {_clause(now.scope)}" if refuted else ""
    cells = (
        f"`{item.paper}` {kind} {item.number}{named}",
        f"**{now.status}**{where}",
        prose(now.cause.rstrip(".") if refuted else now.scope),
        _clause(repair),
        _ratio(case),
    )
    return f"| {' | '.join(cells)} |\n"


def _clause(text: str) -> str:
    """Return the first of several."""
    return prose(text.partition(";")[0])


def _ratio(case: Case) -> str:
    """Return how many times the printed bound is the best proved one."""
    if not proved_versions(case):
        return ""
    found = best(case, USUAL, [AT])
    if found.metric != case.printed.metric:
        return ""
    terms = case.printed.formula(USUAL, np.array([AT]), found.schedule)
    return f"{float(total(terms)[0] / found.values[0]):.3g}"


def main() -> int:
    """Write the table into the README.

    Returns:
        The exit status.
    """
    text = README.read_text(encoding="utf-8")
    README.write_text(PLACE.sub(lambda _: table(), text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
