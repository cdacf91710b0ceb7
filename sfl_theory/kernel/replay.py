"""Replay: every claim of a file is compared with a theorem that the rules make.

The statement of a claim stands in the file beside the derivation, not in it: its left
and right side and its hypotheses. *Proved* means that the derivation ends in a theorem
``hypotheses |- right - left >= 0`` that assumes nothing but the claim's hypotheses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

from .algebra import Rejected, require
from .hypotheses import Hypothesis as AnyHypothesis
from .models import refuted, runs_of
from .reader import Hypothesis, Json, Table, distinct, items, load, model_of, record
from .rules import RULES, Theorem
from .terms import Lin

Statement = tuple[tuple[AnyHypothesis, ...], Lin, Lin]
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", re.ASCII)
STANDING = """\
Read in every statement: N >= 1 clients with weights a[n] >= 0 that sum to 1; functions
are differentiable with Lipschitz gradients; vectors are square integrable and have two
blocks; <u, v>, ||u||^2 and F(u) are expected values; x(0) of a run is fixed."""


@dataclass(frozen=True)
class Claim:
    """A decided statement ``hypotheses |- left <= right``; both sides if refuted."""

    id: str
    left: Lin
    right: Lin
    hypotheses: frozenset[AnyHypothesis]
    used: frozenset[AnyHypothesis]
    sides: tuple[Fraction, Fraction] | None = None

    @property
    def proved(self) -> bool:
        """Whether the statement is proved; otherwise it is refuted."""
        return self.sides is None

    def __str__(self) -> str:
        verdict = "proved" if self.proved else "refuted"
        lines = [f"{self.id}: {verdict}", f"  {self.left}", f"  <= {self.right}"]
        for h in sorted(self.hypotheses, key=str):
            unused = "" if h in self.used or not self.proved else " (not used)"
            lines.append(f"  assumes {h}{unused}")
        if self.sides:
            low, high = self.sides
            lines.append(f"  in a model that meets them: {float(low)} > {float(high)}")
        runs = {run for h in (self.left, self.right) for run in runs_of(h)}
        lines += sorted(f"  where x, p, xi are of {run}" for run in runs)
        free = self.left.free.union(self.right.free, *(h.free for h in self.hypotheses))
        sorts = sorted(f"{v} {v.sort.value}" for v in free if hasattr(v, "sort"))
        return "\n".join([*lines, f"  for all {', '.join(sorts) or 'models'}"])


def replay(text: str) -> list[Claim]:
    """Return the claims of a file, all of them decided.

    Raises:
        Rejected: the file is malformed, a rule refuses a step, a theorem is not the
            claim, or a model does not refute it; whatever else is raised becomes this.
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
    refutes = isinstance(entry, dict) and "model" in entry
    decided_by = "model" if refutes else "theorem"
    keys = ("id", "hypotheses", "left", "right", decided_by)
    title, assumed, low, high, decision = record(entry, keys)
    named = type(title) is str and _TITLE.fullmatch(title)
    require(named, "%r is no name of a claim", title)
    read = table.arguments([assumed, low, high], (tuple[Hypothesis, ...], Lin, Lin))
    given, left, right = cast(Statement, tuple(read))
    distinct(given)
    _one_meaning([left, right, *given])
    hypotheses = frozenset(given)
    if refutes:
        model = model_of(decision, table)
        sides = refuted(model, hypotheses, left, right)
        return Claim(str(title), left, right, hypotheses, hypotheses, sides)
    theorem = cast(Theorem, table.read(decision, Theorem))
    rest = right - left - theorem.form
    require(not rest, "%s is not the theorem, but more by %s", title, rest)
    extra = theorem.hypotheses - hypotheses
    shown = "; ".join(map(str, extra))
    require(not extra, "%s: the proof assumes more than the claim: %s", title, shown)
    return Claim(str(title), left, right, hypotheses, theorem.hypotheses)


def _one_meaning(parts: Iterable[Lin | AnyHypothesis]) -> None:
    """Check that no name stands for two variables in a claim."""
    free = {v for part in parts for v in part.free}
    distinct(getattr(v, "name", None) for v in free)


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
        print(
            f"{path}: {sum(c.proved for c in claims)} proved, "
            f"{sum(not c.proved for c in claims)} refuted"
        )
    return failed
