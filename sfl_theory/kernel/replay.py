"""Replay: every claim of a file is compared with a theorem that the rules make.

The statement of a claim stands in the file beside the derivation, not in it: its left
and right side and its hypotheses. *Proved* means that the derivation ends in a theorem
``hypotheses |- right - left >= 0`` that assumes nothing but the claim's hypotheses; a
model may show that these do not exclude each other. *Refuted* means that a model meets
all hypotheses and has left > right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import cast

from .algebra import Rejected, require
from .hypotheses import Hypothesis as AnyHypothesis
from .models import evaluated, runs_of
from .reader import Hypothesis, Json, Table, distinct, items, load, model_of, record
from .rules import RULES, Theorem
from .terms import Lin, Point

Statement = tuple[tuple[AnyHypothesis, ...], Lin, Lin]
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", re.ASCII)
_RESERVED = re.compile(
    r"[in][0-9]+|N|f|a|q|x|p|xi|J|round|grad|before|sum|clients", re.ASCII
)
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
    proved: bool
    sides: tuple[Fraction, Fraction] | None

    def __str__(self) -> str:
        verdict = "proved" if self.proved else "refuted"
        lines = [f"{self.id}: {verdict}", f"  {self.left}", f"  <= {self.right}"]
        for h in sorted(self.hypotheses, key=str):
            unused = "" if h in self.used or not self.proved else " (not used)"
            lines.append(f"  assumes {h}{unused}")
        if self.sides is None:
            lines.append("  no model named: the hypotheses may exclude each other")
        else:
            low, high = map(float, self.sides)
            sign = "<=" if self.proved else ">"
            lines.append(f"  in a model that meets them: {low:.6g} {sign} {high:.6g}")
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
    given_keys = set(entry) if isinstance(entry, dict) else set()
    proved, modelled = "theorem" in given_keys, "model" in given_keys
    keys = ["id", "hypotheses", "left", "right"]
    keys += ["theorem"] * proved + ["model"] * (modelled or not proved)
    title, assumed, low, high, *decisions = record(entry, tuple(keys))
    named = type(title) is str and _TITLE.fullmatch(title)
    require(named, "%r is no name of a claim", title)
    read = table.arguments([assumed, low, high], (tuple[Hypothesis, ...], Lin, Lin))
    given, left, right = cast(Statement, tuple(read))
    distinct(given)
    _one_meaning([left, right, *given])
    hypotheses = used = frozenset(given)
    if proved:
        theorem = cast(Theorem, table.read(decisions[0], Theorem))
        rest = right - left - theorem.form
        require(not rest, "%s is not the theorem, but more by %s", title, rest)
        used, extra = theorem.hypotheses, theorem.hypotheses - hypotheses
        shown = "; ".join(map(str, extra))
        require(
            not extra, "%s: the proof assumes more than the claim: %s", title, shown
        )
    sides = None
    if modelled:
        sides = evaluated(model_of(decisions[-1], table), hypotheses, left, right)
        fits = (sides[0] <= sides[1]) is proved
        require(fits, "%s: the model gives %s and %s", title, *sides)
    return Claim(str(title), left, right, hypotheses, used, proved, sides)


def _one_meaning(parts: list[Lin | AnyHypothesis]) -> None:
    """Check that the printed statement can be read in one way.

    No name stands for two variables or for what the kernel prints itself, and all
    iterates are of one run.
    """
    free = {v for part in parts for v in part.free}
    distinct(getattr(v, "name", None) for v in free)
    for v in free:
        taken = _RESERVED.fullmatch(str(v)) and not isinstance(v, Point)
        require(not taken, "the name %s has a meaning of its own", v)
    runs = {run for part in parts for run in runs_of(part)}
    require(len(runs) <= 1, "a statement speaks of one run")


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
