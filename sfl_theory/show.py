"""What ``list`` and ``show`` print: statements, and what the audit says of them."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable
from functools import cache

import sympy as sp

from sfl_theory import rates, symbols
from sfl_theory.best import Choice, choose
from sfl_theory.bound import Bound
from sfl_theory.ledger import Standing, entered, ledger, standing
from sfl_theory.lower import still_open
from sfl_theory.papers.baselines import TABLE_4, Rate, rate_table
from sfl_theory.registry import theorem, theorems
from sfl_theory.statement import VERSIONS, Case, Theorem
from sfl_theory.step_size import StepSize
from sfl_theory.tuning import orders

ALL = "all"
"""Asks for every version of a case."""
MARGIN = 15
"""Width of the labels."""


def show_list() -> None:
    """Print every statement with a bound: cases, what the audit says, versions."""
    for item in theorems():
        print(f"{item.key}: {item.title}")
        for case in item.cases.values():
            found = standing(item.key, case.name)
            _say(f"  {case.name}", found.words if found else "not in the ledger", 19)
            _say("", f"versions: {', '.join(case.versions)}", 19)


def show_theorem(item: Theorem, case: str | None, version: str, latex: bool) -> None:
    """Print a theorem.

    Args:
        item: the theorem.
        case: name of one case, or None for all.
        version: one of a case's versions, or ``ALL``. A case that lacks it is named in
            a line; if every case that is wanted lacks it, that is an error.
        latex: formulas as LaTeX.

    Raises:
        ValueError: if there is no such case, or no such version in any case wanted.
    """
    cases = [item.case(case)] if case else [*item.cases.values()]
    chosen: dict[str, list[Choice]] = {}
    lacking: dict[str, str] = {}
    for one in cases:
        names = one.versions if version == ALL else (version,)
        try:
            chosen[one.name] = [choose(item, one, name) for name in names]
        except ValueError as error:
            lacking[one.name] = str(error)
    if not chosen:
        raise ValueError(lacking[cases[0].name])
    print(f"{item.key}: {item.title}")
    for one in cases:
        print()
        _show_standing(item, one)
        for choice in chosen.get(one.name, ()):
            print()
            _show_bound(item, one, choice, latex)
        if one.name in lacking:
            _say("", lacking[one.name], 2)


def _show_standing(item: Theorem, case: Case) -> None:
    print(case.name)
    found = standing(item.key, case.name)
    if found is not None:
        _say("  audit:", found.words, MARGIN)
        if found.cause:
            _say("", found.cause, MARGIN)
        # not wrapped: to be pasted
        print(f"{'  replay:':{MARGIN}}python -m bounds.audit --claim {found.claim}")
    if (left := _open(case)) is not None:
        _say("  still open:", left, MARGIN)
    for position, name in enumerate(case.versions):
        label = "" if position else "  versions:"
        _say(label, f"{name}: {VERSIONS[name]}", MARGIN, 2)


@cache
def _open(case: Case) -> str | None:
    """Return what the best bound leaves open at usual constants, or None without."""
    try:
        found = still_open(case)
    except ValueError:
        return None
    return (
        f"the best proved formula is {found.words} (kappa = 10, N = 2, tau = 2); a "
        "number certified round by round for the constants of a run lies closer, where "
        "there is one: python -m bounds.compare"
    )


def _show_bound(item: Theorem, case: Case, choice: Choice, latex: bool) -> None:
    bound = choice.bound
    print(f"{case.name} ({choice.version}; {bound.source})")
    if choice.why:
        _say("  shown:", choice.why, MARGIN)
    _say("  assumptions:", "; ".join(map(str, bound.conditions)), MARGIN)
    if bound.step_size is not None:
        _say("  step size:", _step(bound.step_size, latex), MARGIN)
    if latex:
        print("  " + bound.latex())
    else:
        print(f"  {bound.metric.words} <=")
    for position, (name, part) in enumerate(bound.parts.items()):
        if latex:
            print(f"  % {name}: {symbols.latex(part)}")
        else:
            print(f"    {'+' if position else ' '} {name}:")
            print(_pretty(part, 8))
    definitions = {**(bound.step_size.definitions if bound.step_size else {})}
    definitions.update(bound.definitions)
    for symbol, meaning in definitions.items():
        write = symbols.latex if latex else _line
        print(f"  where {write(symbol)} = {write(meaning)}")
    _say("  tuned order:", _order(bound), MARGIN)
    for finding in bound.findings:
        _say("", f"FAILS {finding.relation}: {finding.words}", 2, 2)
    for note in bound.notes:
        _say("", f"note: {note}", 2, 2)


def _step(step: StepSize, latex: bool) -> str:
    return step.latex() if latex else step.words


def _order(bound: Bound) -> str:
    if bound.step_size is None:
        return f"T^({bound.exponent()})"
    found = orders(bound)
    if not bound.metric.mean:
        return found.words
    return f"{bound.metric.mean} at the best constant learning rate: {found.words}"


def show_table(name: str, latex: bool) -> None:
    """Print Table 1, 2, 3 or 4 of ``han2024``.

    Args:
        name: "table-1" to "table-4".
        latex: formulas as LaTeX.

    Raises:
        ValueError: for another name.
    """
    number = name.removeprefix("table-")
    write = symbols.latex if latex else _line
    if number == "4":
        print("han2024 Table 4: per client | all clients | time of a round")
        for row in TABLE_4:
            entries = (row.per_client, row.total, row.time)
            print(f"  {row.method:8} {' | '.join(write(entry) for entry in entries)}")
        return
    if number not in {"1", "2", "3"}:
        raise ValueError(f"unknown table '{name}'; valid: table-1..4")
    _say(
        "",
        f"han2024 Table {number}: rates, absolute constants and logarithms omitted; "
        "a_n = 1/N, sigma_n = sigma, tau_server = tau, Q = sum_n 1/q_n, "
        "Q_2 = sum_n 1/q_n^2",
        0,
    )
    for rate in rate_table(int(number)):
        print()
        _show_rate(rate, latex)


def _show_rate(row: Rate, latex: bool) -> None:
    write = symbols.latex if latex else _line
    print(f"{row.method}, {row.case}, {row.participation} participation")
    _say("  printed:", write(row.written), MARGIN)
    claim = ledger().claim(row.claim)
    found = entered(claim)
    _say("  audit:", f"{found.words} ({claim.id}): {claim.statement}", MARGIN)
    if found.cause:
        _say("", found.cause, MARGIN)
    for finding in row.findings:
        _say("", f"FAILS {finding.relation}: {finding.words}", MARGIN, 2)
    if not row.theorem:
        _say("  true rate: ", "-", 21)
        return
    item = theorem(row.theorem)
    case = item.case(row.case)
    whole = standing(item.key, case.name)
    if whole is not None:
        _say("", f"Theorem {item.number} itself: {whole.words}", MARGIN)
    for version, bound in nearest(case, whole):
        _say(f"  true rate ({version}):", "", 0)
        terms = " + ".join(write(term) for term in rates.rate(bound))
        _say("", terms, MARGIN)
        what = bound.metric.words
        if bound.metric.mean:
            what = f"{bound.metric.mean} at the best constant learning rate"
        _say("", f"for {what}", MARGIN, 2)
        _say("", f"if {'; '.join(map(str, bound.conditions))}", MARGIN, 2)


def nearest(case: Case, found: Standing | None) -> Iterable[tuple[str, Bound]]:
    """Yield the proved bounds whose rates stand beside a row: the nearest, the smaller.

    Args:
        case: that the row sums up.
        found: what the audit says of it.

    Yields:
        Name and bound of the printed version where it is proved, else of the repaired
        one, and of the sharper one.
    """
    if found is not None and found.status == "proved":
        yield "printed", case.printed
    for version in ("repaired", "sharper"):
        if version in case.versions:
            yield version, case.bound(version)


def _say(label: str, text: str, margin: int, hang: int = 0) -> None:
    """Print a label and text that wraps beside it, at the terminal's width."""
    width = max(shutil.get_terminal_size().columns, margin + 40)
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=f"{label:{margin}}",
        subsequent_indent=" " * (margin + hang),
        break_long_words=False,
        break_on_hyphens=False,
    )
    print("\n".join(lines or [label]))


def _line(expr: sp.Expr) -> str:
    return str(expr).replace("**", "^")


def _pretty(expr: sp.Expr, indent: int) -> str:
    block = sp.pretty(expr, use_unicode=True, wrap_line=False)
    return "\n".join(" " * indent + line for line in block.splitlines())
