"""Replay: every claim of a file is compared with a theorem that the rules make.

The statement of a claim stands in the file beside the derivation, not in it: its left
and right side and its hypotheses. *Proved* means that the derivation ends in a theorem
``hypotheses |- right - left >= 0`` that assumes nothing but the claim's hypotheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from .algebra import Rejected, require
from .hypotheses import Hypothesis as AnyHypothesis
from .reader import Hypothesis, Json, Table, distinct, items, load, record
from .rules import RULES, Theorem
from .terms import Combination, Descent, Lin, Split, Term

Statement = tuple[tuple[AnyHypothesis, ...], Lin, Lin, Theorem]
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", re.ASCII)
STANDING = """\
Read in every statement: N >= 1 clients with weights a[n] >= 0 that sum to 1; functions
are differentiable with Lipschitz gradients; vectors are square integrable and have two
blocks; <u, v>, ||u||^2 and F(u) are expected values; x(0) of a run is fixed."""


@dataclass(frozen=True)
class Claim:
    """A proved statement: ``hypotheses |- left <= right``."""

    id: str
    left: Lin
    right: Lin
    hypotheses: frozenset[AnyHypothesis]
    theorem: Theorem

    def __str__(self) -> str:
        lines = [f"{self.id}: proved", f"  {self.left}", f"  <= {self.right}"]
        for h in sorted(self.hypotheses, key=str):
            unused = "" if h in self.theorem.hypotheses else " (not used)"
            lines.append(f"  assumes {h}{unused}")
        runs = {run for h in (self.left, self.right) for run in runs_of(h)}
        lines += sorted(f"  where x, p, xi are of {run}" for run in runs)
        free = self.left.free.union(self.right.free, *(h.free for h in self.hypotheses))
        sorts = sorted(f"{v} {v.sort.value}" for v in free if hasattr(v, "sort"))
        return "\n".join([*lines, f"  for all {', '.join(sorts) or 'models'}"])


def replay(text: str) -> list[Claim]:
    """Return the claims of a file, all of them proved.

    Raises:
        Rejected: the file is malformed, a rule refuses a step, or a theorem is not the
            claim. Whatever else is raised on the way becomes this.
    """
    try:
        terms, steps, claims = record(load(text), ("terms", "steps", "claims"))
        table = Table()
        for entry in items(terms):
            table.add(entry)
        for step in items(steps):
            name, *given = items(step)
            require(type(name) is str and name in RULES, "no rule %s", name)
            rule = RULES[str(name)]
            table.theorems.append(rule.apply(*table.arguments(given, rule.kinds)))
        proved = [_claim(entry, table) for entry in items(claims)]
        distinct(claim.id for claim in proved)
    except Rejected:
        raise
    except Exception as error:
        raise Rejected(f"{type(error).__name__}: {error}") from None
    return proved


def _claim(entry: Json, table: Table) -> Claim:
    keys = ("id", "hypotheses", "left", "right", "theorem")
    title, assumed, left, right, theorem = record(entry, keys)
    kinds = (tuple[Hypothesis, ...], Lin, Lin, Theorem)
    read = table.arguments([assumed, left, right, theorem], kinds)
    given, low, high, end = cast(Statement, tuple(read))
    distinct(given)
    named = type(title) is str and _TITLE.fullmatch(title)
    require(named, "%r is no name of a claim", title)
    claim = Claim(str(title), low, high, frozenset(given), end)
    rest = high - low - end.form
    require(
        not rest, "%s: the theorem is not the claim, which is more by %s", title, rest
    )
    extra = end.hypotheses - claim.hypotheses
    shown = "; ".join(map(str, extra))
    require(not extra, "%s: the proof assumes more than the claim: %s", title, shown)
    _one_meaning([low, high, *given])
    return claim


def _one_meaning(parts: Iterable[Lin | AnyHypothesis]) -> None:
    """Check that no name stands for two variables in a claim."""
    free = {v for part in parts for v in part.free}
    distinct(getattr(v, "name", None) for v in free)


def runs_of(term: object) -> set[Term]:
    """Return the runs of algorithms in a term."""
    if isinstance(term, Descent | Split):
        return {term}
    inside = term.parts if isinstance(term, Term) else ()
    if isinstance(term, Combination):
        inside = tuple(term.coefficients)
    return {run for part in inside for run in runs_of(part)}


def main(arguments: list[str]) -> int:
    """Return 0 if every claim of the files is proved; print the claims."""
    failed = 0
    for path in arguments:
        try:
            claims = replay(Path(path).read_text(encoding="utf-8"))
        except (ValueError, OSError) as error:
            print(f"{path}: REJECTED: {error}")
            failed = 1
            continue
        print(STANDING, *claims, sep="\n")
        print(f"{path}: {len(claims)} claims proved")
    return failed
