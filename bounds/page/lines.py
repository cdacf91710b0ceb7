"""A proof in prose: numbered lines with reasons, for the page's book."""

from __future__ import annotations

from functools import cache

from bounds.mathml import breakable, with_formulas
from bounds.page.sheet import Sheet, premises
from bounds.page.typeset import shown
from sfl_theory.evidence import Says
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation.steps import Step, Steps
from sfl_theory.notation.writer import Writer, of_paper
from sfl_theory.notation.written import Form, Written

SHORT = 5
"""Forms of at most so many terms are searched for squares and gaps: it takes time."""
FEW = 24
"""A proof of at most so many steps is told, whatever it proves."""


class Quick:
    """Writes as a paper's writer does, every formula once, long ones term by term."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._sides: dict[tuple[k.Lin, bool], tuple[Form, Form]] = {}

    def __getattr__(self, name: str) -> object:
        """Return what the paper's writer has."""
        return getattr(self._writer, name)

    def sides(self, form: k.Lin, equal: bool = False) -> tuple[Form, Form]:
        """Return two sides of which the second one minus the first is a form."""
        key = form, equal
        if key not in self._sides:
            small = len(form.coefficients) <= SHORT
            made = self._writer.sides(form, equal) if small else _plain(form)
            self._sides[key] = made
        return self._sides[key]


def _plain(form: k.Lin) -> tuple[Form, Form]:
    left, right = (
        Written(sum((k.Lin({atom: c}) for atom, c in terms), k.Lin({})), tex)  # type: ignore[dict-item]
        for tex, terms in shown(form)
    )
    return left, right


@cache
def quick(paper: str) -> Quick:
    """Return the writer of a paper that remembers what it wrote."""
    return Quick(of_paper(paper))


def few(theorem: Theorem) -> bool:
    """Return whether a proof has at most `FEW` steps."""
    seen: set[Theorem] = set()
    left = [theorem]
    while left and len(seen) <= FEW:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left += premises(one)
    return len(seen) <= FEW


def lines(theorem: Theorem, says: Says, paper: str, sheet: Sheet) -> str:
    """Write a proof's lines.

    Args:
        theorem: what is proved.
        says: the statement.
        paper: whose notation is taken.
        sheet: takes the formulas.

    Returns:
        The mark of the list; "" where the proof has no line but the statement.
    """
    told = Steps(quick(paper)).of(theorem, says.hypotheses)  # type: ignore[arg-type]
    if len(told) < 2:
        return ""
    return sheet.keep(f"<ol>{''.join(_line(one, sheet) for one in told)}</ol>")


def _line(step: Step, sheet: Sheet) -> str:
    relation = "=" if step.equal else r"\le"
    formula = breakable(f"{step.left.tex} {relation} {step.right.tex}")
    reason = "".join(
        f'<button type="button" data-step="{one}">({one})</button>'
        if isinstance(one, int)
        else with_formulas(one)
        for one in step.reason
    )
    return (
        f'<li><span class="number">({step.number})</span>{sheet.keep(formula)}'
        f'<span class="how">{sheet.keep(reason)}</span></li>'
    )
