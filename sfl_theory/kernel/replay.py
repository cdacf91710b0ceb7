"""Replay: every claim of a file is compared with a theorem that the rules make.

The statement of a claim stands in the file beside the derivation, not in it. *Proved*:
the derivation ends in a theorem ``hypotheses |- right - left >= 0`` (``= 0``) that
assumes nothing but the claim's hypotheses; a model may show that these do not exclude
each other. *Refuted*: a model meets all hypotheses and has left > right (other sides
than equal ones). A claim says which of the two it expects, by naming a theorem or only
a model; a file in which one claim is not decided so is rejected.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from pathlib import Path

from . import hypotheses as h
from . import terms as k
from .algebra import Rejected, require
from .models import Model
from .moments import evaluated
from .reader import MAX_CHARACTERS, Json, Table, distinct, items, load, model_of, record
from .rules import RULES, Theorem

_KEYS = ("id", "hypotheses", "left", "right")
_STATEMENT = (tuple[h.Hypothesis, ...], k.Lin, k.Lin)
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", re.ASCII)
_RESERVED = re.compile(
    r"[in][0-9]+|[Faqx]_[nst]|N|F|E|f|a|q|x|p|xi|J|GD|round|step|grad|before|sum|clients",
    re.ASCII,
)
USAGE = """\
usage: python -I -S check.py FILE...
Decides the claims of the files and prints them. Exit status 0: every claim of every
file was decided as its file says, proved or refuted - read which. Status 1: a file was
rejected or has no claims. Status 2: no file was named, or what is no readable file."""
STANDING = """\
Read in every statement: N >= 1 clients with weights a[n] >= 0 that sum to 1; functions
are differentiable with Lipschitz gradients; vectors are square integrable and have two
blocks, together of dimension >= 1; other points are any random vectors, and may depend
on samples and draws; <u, v>, ||u||^2 and F(u) are expected values; x(0) of a run is
fixed; samples and their moments are meant given who takes part."""


@dataclass(frozen=True)
class Claim:
    """A decided statement ``hypotheses |- left <= right``, or ``=`` where `equal`.

    `sides` are the values of both in the model that was named, if one was; where they
    are `enclosed`, the ends of two intervals that face each other.
    """

    id: str
    left: k.Lin
    right: k.Lin
    equal: bool
    hypotheses: frozenset[h.Hypothesis]
    used: frozenset[h.Hypothesis]
    proved: bool
    sides: tuple[Fraction, Fraction] | None
    enclosed: bool = False

    def __str__(self) -> str:
        verdict, sign = "proved" if self.proved else "refuted", "=" * self.equal or "<="
        lines = [f"{self.id}: {verdict}", f"  {self.left}", f"  {sign} {self.right}"]
        for one in sorted(self.hypotheses, key=str):
            unused = "" if one in self.used or not self.proved else " (not used)"
            lines.append(f"  assumes {one}{unused}")
        if self.sides is None:
            lines.append("  no model named: the hypotheses may exclude each other")
        else:
            low, high = self.sides
            more, by, ends = low > high, "by", ("", "")
            less = ">" if more else "=" if low == high else "<"
            if self.enclosed:
                less, by = ">" if more else "<=", "by at least"
                ends = ("at least ", "at most ") if more else ("at most ", "at least ")
            values = f"{ends[0]}{_exactly(low)} {less} {ends[1]}{_exactly(high)}"
            by += f" {_exactly(abs(high - low))}"
            lines.append(f"  in a model that meets them: {values} (apart {by})")
        parts = (self.left, self.right, *self.hypotheses)
        runs, inside = k.runs_of(*parts), k.subterms(*parts)
        lines += sorted(f"  where x, p, xi are of {run}" for run in runs)
        if any(isinstance(run, k.Split) and run.kind is k.Kind.COUNTED for run in runs):
            lines.append("  where rounds are iterations, steps are from mean to mean")
        if any(isinstance(one, k.Numbered) for one in inside):
            lines.append("  where #p is client p = 0, 1, ..., the last one beyond")
        free = frozenset().union(*(part.free for part in parts))
        sorts = sorted(f"{v} {v.sort.value}" for v in free if hasattr(v, "sort"))
        return "\n".join([*lines, f"  for all {', '.join(sorts) or 'models'}"])


def _exactly(value: Fraction) -> str:
    """Return a fraction if it is short, else its first digits, said to be that."""
    if value.numerator.bit_length() + value.denominator.bit_length() <= 256:
        return str(value)
    context = Context(prec=8, Emax=MAX_EMAX, Emin=MIN_EMIN)
    digits = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"about {digits}"


def replay(text: str) -> list[Claim]:
    """Return the claims of a file, all of them decided.

    Raises:
        Rejected: something is refused; whatever else is raised becomes this.
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
    optional = [key for key in ("equal", "theorem", "model") if key in given_keys]
    title, *statement = record(entry, (*_KEYS, *optional))
    named = type(title) is str and _TITLE.fullmatch(title)
    require(named, "%r is no name of a claim", title)
    given, left, right = table.arguments(statement[:3], _STATEMENT)
    distinct(given)
    by = dict(zip(optional, statement[3:], strict=True))
    require(by.get("equal", True) is True, "equal is true or left out")
    theorem = table.read(by["theorem"], Theorem) if "theorem" in by else None
    model = model_of(by["model"], table) if "model" in by else None
    hypotheses, equal = frozenset(given), "equal" in by
    return decide(str(title), hypotheses, left, right, equal, theorem, model)


def decide(
    title: str,
    hypotheses: frozenset[h.Hypothesis],
    left: k.Lin,
    right: k.Lin,
    equal: bool,
    theorem: Theorem | None,
    model: Model | None,
) -> Claim:
    """Return the statement decided by a theorem, or without one by a model."""
    _one_meaning([left, right, *hypotheses])
    used = hypotheses
    if theorem is not None:
        rest = right - left - theorem.form
        require(not rest, "%s is not the theorem, but more by %s", title, rest)
        require(theorem.equal or not equal, "%s: the theorem is no equality", title)
        used, extra = theorem.hypotheses, theorem.hypotheses - hypotheses
        shown = "; ".join(map(str, extra))
        require(not extra, "%s: the proof assumes more: %s", title, shown)
    sides = None
    if model is not None:
        low, high = sides = evaluated(model, hypotheses, left, right)
        true = low == high if equal else low <= high
        fits = true is (theorem is not None)
        require(fits, "%s: the model gives %s and %s", title, *map(_exactly, sides))
    require(theorem is not None or sides is not None, "%s: nothing decides it", title)
    proved, long = theorem is not None, model is not None and model.long
    return Claim(title, left, right, equal, hypotheses, used, proved, sides, long)


def _one_meaning(parts: list[k.Lin | h.Hypothesis]) -> None:
    """Check that the printed statement can be read in one way.

    No name stands for two variables or for what the kernel prints itself, all iterates
    are of one run, an order of visits is that of this run, and no draw or conditional
    expectation occurs.
    """
    free = {v for part in parts for v in part.free}
    require(not free & {k.CHANCE, k.CONDITIONAL}, "a statement speaks of no draw")
    distinct(getattr(v, "name", None) for v in free)
    runs, inside = k.runs_of(*parts), k.subterms(*parts)
    for v in free:
        taken = _RESERVED.fullmatch(str(v)) and (runs or not isinstance(v, k.Point))
        require(not taken, "the name %s has a meaning of its own", v)
    require(len(runs) <= 1, "a statement speaks of one run")
    for run in runs:
        fixed = all(isinstance(v, _OF_RUNS) for v in run.free)
        require(fixed, "%s is many runs, one for each value of an index", run)
    for one in inside:
        if isinstance(one, k.Star):
            least = h.Minimiser(one.function) in parts
            local = isinstance(one.function, k.Local) and _EACH_HAS_ONE in parts
            require(least or local, "%s is not assumed to be a minimiser", one)
        if isinstance(one, h.Heterogeneity | h.BoundedGradients | h.Variance):
            own = {one.client} if isinstance(one, h.Variance) else set[object]()
            depends = {v for v in one.bound.free if isinstance(v, _INDICES)} - own
            require(not depends, "the bound of '%s' depends on an index", one)
    visited = any(isinstance(run, k.Split) and run.kind.visits for run in runs)
    orders = any(isinstance(one, k.Before) for one in inside)
    require(visited or not orders, "an order of visits, and nobody visits")


_EACH_HAS_ONE = h.every(k.CLIENTS, _n := k.Client("n"), h.Minimiser(k.Local(_n)))
_INDICES = k.Client | k.BoundClient | k.BoundNat | k.RoundFamily
_OF_RUNS = k.Var | k.RoundFamily | k.ClientFamily | k.NamedFunction


def main(arguments: list[str]) -> int:
    """Return the exit status that `USAGE` explains; print the claims of the files."""
    if not arguments:
        print(USAGE)
        return 2
    failed = 0
    for path in arguments:
        try:
            ordinary = path if Path(path).is_file() else ""
            with open(ordinary, encoding="utf-8", opener=_at_once) as file:
                claims = replay(file.read(MAX_CHARACTERS + 1))
            require(claims, "the file claims nothing")
            lines = "\n".join([STANDING, *map(str, claims)]).splitlines()
            count = sum(claim.proved for claim in claims)
            verdict = f"{count} proved, {len(claims) - count} refuted"
        except OSError:
            failed = 2
            print(_plain(f"{path}: no ordinary file to read"), file=sys.stderr)
            continue
        except Exception as error:
            lines, failed = [], max(failed, 1)
            kind = "" if isinstance(error, Rejected) else f"{type(error).__name__}: "
            verdict = f"REJECTED: {kind}{str(error)[:2000]}"
        print("\n".join(map(_plain, [*lines, f"{path}: {verdict}"])))
    return failed


def _at_once(path: str, flags: int) -> int:
    """Return a descriptor that does not wait for what a file may hold later."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _plain(text: str) -> str:
    """Return one line of ASCII: what a file contains cannot steer a terminal."""
    return ascii(text)[1:-1]
