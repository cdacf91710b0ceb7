"""Proofs for the page: every formula and every step once, by what is in it.

A formula has gaps: ``@digest;`` stands for another formula, ``#c2;`` for the client
bound at level 2, whose letter depends on where the formula is used. A step is a rule,
what it says, from which steps with which multipliers, and the squares that it adds.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import blake2b
from inspect import signature

from bounds.mathml import inside
from bounds.page.typeset import Terms, Typeset, letters, sides, taken
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.kernel.hypotheses import Hypothesis
from sfl_theory.kernel.rules import RULES, Theorem

Json = None | bool | int | str | list["Json"]
SHARED = k.VecSum | k.LinSum | k.Total | k.Inner | k.Gradient | k.Expected | k.Value
"""Terms that stand in many formulas: written once, and referred to."""
SHOWN_ELSEWHERE = {("combine", "target"), ("sum_over", "factor")}
"""Arguments that are the step's formula, or a multiplier."""
GAP = re.compile(r'(data-(?:f|root))="@([0-9a-f]{16});"')
ALIAS = re.compile(r"@[0-9a-f]{16};")
MARK = re.compile(r'"@([0-9a-f]{16});"|@([0-9a-f]{16});')
UNSEEN = re.compile(r"<[^>]+>|@[0-9a-f]{16};")
LONGEST = 700
"""Characters of a term of a step, eight lines; a longer one says how long it is."""
TOKEN = re.compile(r"""<(?:[^<>"\\]|\\")+>(?:[^<>"\\]{1,2}</m[ion]>)?|[^\x00-\x7f]""")
TOKENS, FIRST = 128, 0xF780
"""So many tags and signs are one byte each; where browsers put bytes above 127."""


class Sheet:
    """Formulas and steps, by the digest of what is in them."""

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}
        self._atoms: dict[k.Term, str] = {}
        self._multiples: dict[tuple[k.Term, Ratio, frozenset[str]], Json] = {}
        self._steps: dict[int, tuple[Theorem, str]] = {}
        self._open = Typeset(_Levels(), self._reference)

    def take(self) -> dict[str, str]:
        """Return what was written since this was called last."""
        out, self._entries = self._entries, {}
        return out

    def proof(self, theorem: Theorem) -> str:
        """Write a theorem and all steps before it.

        Returns:
            The mark of its step.
        """
        left: list[Theorem] = [theorem]
        while left:
            one = left[-1]
            before = [p for p in premises(one) if id(p) not in self._steps]
            if before:
                left += before
            else:
                left.pop()
                if id(one) not in self._steps:
                    self._steps[id(one)] = one, self._step(one)
        return self._steps[id(theorem)][1]

    def _step(self, theorem: Theorem) -> str:
        name, arguments = theorem.call or ("", ())
        used = taken(theorem.form)
        low, high = (self._sum(side, used) for side in sides(theorem.form))
        uses, squares, given = list[Json](), list[Json](), list[Json]()
        for key, value in zip(_names(name), arguments, strict=True):
            if key == "uses" and isinstance(value, tuple):
                uses += [[self._of(one), self._number(c)] for one, c in value]
            elif key == "squares" and isinstance(value, tuple):
                squares += [[self._number(c), self._square(v)] for v, c in value]
            elif key == "values" and isinstance(value, tuple):
                given += [[self._any(old), self._any(new)] for old, new in value]
            elif key == "about" and isinstance(value, tuple):
                given += [[key, self._any(one)] for one in value]
            elif isinstance(value, Theorem):
                factor = arguments[3] if name == "sum_over" else None
                shown = self._number(factor) if isinstance(factor, Ratio) else 0
                uses.append([self._of(value), shown])
            elif isinstance(value, tuple):
                uses += [[self._of(o), -1] for o in value if isinstance(o, Theorem)]
            elif (name, key) in SHOWN_ELSEWHERE:
                continue
            elif text := self._any(value):
                given.append([key, text])
        before = frozenset[Hypothesis]().union(
            *(one.hypotheses for one in premises(theorem))
        )
        new = sorted(theorem.hypotheses - before, key=str)
        assumed: list[Json] = [self._whole(one) for one in new]
        line: list[Json] = [name, int(theorem.equal), low, high, uses, squares]
        return self.keep(json.dumps([*line, given, assumed], separators=(",", ":")))

    def _of(self, premise: Theorem) -> str:
        return self._steps[id(premise)][1]

    def _sum(self, terms: Terms, used: frozenset[str]) -> list[Json]:
        return [self._multiple(atom, c, used) for atom, c in terms]

    def _multiple(self, atom: k.Term, c: Ratio, used: frozenset[str]) -> Json:
        key = atom, c, used
        if key not in self._multiples:
            names = letters(used, atom, c)
            self._multiples[key] = self._lettered(self._open.term(atom, c), names)
        return self._multiples[key]

    def _number(self, c: Ratio) -> Json:
        return self._multiple(k.UNIT, c, taken(c))

    def _square(self, vector: k.Vec) -> Json:
        tex = rf"\mathbb{{E}}\left\|{self._open.tex(vector)}\right\|^2"
        return self._lettered(tex, letters(taken(vector), vector))

    def _whole(self, term: k.Term) -> Json:
        return self._lettered(self._open.tex(term), letters(taken(term), term))

    def _any(self, value: object) -> Json:
        """Return an argument of a rule as a formula; None for what is none."""
        if isinstance(value, k.Side):
            return value.value
        if isinstance(value, k.Rate):
            return self._number(value.body)
        shown = (
            Ratio, k.Vec, k.Lin, k.Client, k.BoundClient, k.Function, k.Var, k.Point,
            k.RoundFamily, k.NamedFunction,
        )  # fmt: skip
        if not isinstance(value, shown):
            return None
        tex = value.name if isinstance(value, k.RoundFamily) else self._open.tex(value)
        return self._lettered(tex, letters(taken(value), value))

    def _lettered(self, tex: str, names: Mapping[k.Variable, str]) -> Json:
        content = inside(tex)
        mark = content if ALIAS.fullmatch(content) else self.keep(content)
        if not names:
            return mark
        told = ",".join(f"{_level(v)}{name}" for v, name in sorted_by_level(names))
        return [mark, self.keep(told)]

    def _reference(self, term: k.Term) -> str:
        if term not in self._atoms:
            tex = self._open.atom(term)
            counted = isinstance(term, k.Total) and term.sort is Sort.COUNT
            if isinstance(term, SHARED) and not counted:
                tex = rf"\ref{{{self.keep(inside(tex))[1:-1]}}}"
            self._atoms[term] = tex
        return self._atoms[term]

    def keep(self, content: str) -> str:
        """Write a content, once, under its mark.

        Returns:
            The mark.
        """
        digest = digest_of(content)
        self._entries[digest] = content
        return f"@{digest};"


def digest_of(content: str) -> str:
    """Return the name of a content."""
    return blake2b(content.encode(), digest_size=8).hexdigest()


class _Levels(dict[k.BoundClient | k.BoundNat, str]):
    """Leaves a gap for the letter of every bound index."""

    def __missing__(self, v: k.BoundClient | k.BoundNat) -> str:
        return rf"\bound{{{_level(v)}}}"


def _level(v: k.Variable) -> str:
    level: int = getattr(v, "level", 0)
    return f"{'c' if isinstance(v, k.BoundClient) else 'i'}{level}"


def sorted_by_level(
    names: Mapping[k.Variable, str],
) -> list[tuple[k.Variable, str]]:
    """Return bound indices and their letters in the order of their levels."""
    return sorted(names.items(), key=lambda one: _level(one[0]))


@cache
def _names(rule: str) -> tuple[str, ...]:
    return tuple(signature(RULES[rule].apply).parameters)


def premises(theorem: Theorem) -> Iterator[Theorem]:
    """Yield the theorems from which a rule made one."""
    if theorem.call is not None:
        yield from _theorems(theorem.call[1])


def _theorems(value: object) -> Iterator[Theorem]:
    if isinstance(value, Theorem):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _theorems(one)


class Book:
    """What several sheets hold; numbered when everything is in it."""

    def __init__(self) -> None:
        self._formulas: dict[str, str] = {}
        self._steps: dict[str, str] = {}
        self._read: dict[str, list[Json]] = {}

    def add(self, entries: Mapping[str, str]) -> None:
        """Add what a sheet holds; formulas and steps are kept apart."""
        for digest, content in entries.items():
            of = self._steps if content.startswith('["') else self._formulas
            of.setdefault(digest, content)

    def keep(self, content: str) -> str:
        """Add a text that is to be filled in, once.

        Returns:
            Its mark.
        """
        digest = digest_of(content)
        self.add({digest: content})
        return f"@{digest};"

    def steps(self, root: str) -> dict[str, list[Json]]:
        """Return the steps of a proof by their marks, premises first."""
        out: dict[str, list[Json]] = {}
        left = [root]
        while left:
            step = self._step(left[-1])
            missing = [mark for mark in before(step) if mark not in out]
            if missing:
                left += missing
            else:
                out.setdefault(left.pop(), step)
        return out

    def says(self, mark: str) -> str:
        """Return what a step says, the same text where it says the same."""
        return json.dumps(self._step(mark)[1:4])

    def _step(self, mark: str) -> list[Json]:
        if mark not in self._read:
            self._read[mark] = json.loads(self._steps[mark[1:-1]])
        return self._read[mark]

    def text(self, html: str) -> tuple[str, str]:
        """Number everything; texts that begin alike stand together and pack well.

        Args:
            html: with marks in its ``data-f`` and ``data-root``.

        Returns:
            All formulas and all steps as JSON, and the HTML, numbers for the marks.
        """
        formulas = sorted(self._formulas, key=lambda digest: self._formulas[digest])
        places = {
            digest: place
            for table in (formulas, self._steps)
            for place, digest in enumerate(table)
        }

        def number(found: re.Match[str]) -> str:
            if found[1]:
                return str(places[found[1]])
            return f"@{places[found[2]]};"

        def named(found: re.Match[str]) -> str:
            return f'{found[1]}="{places[found[2]]}"'

        texts = (
            json.dumps(_shortened(self._formulas[d]), ensure_ascii=False)
            for d in formulas
        )
        whole = f"[[{','.join(texts)}],[{','.join(self._steps.values())}]]"
        return MARK.sub(number, whole), GAP.sub(named, html)


def _shortened(formula: str) -> str:
    """Return a formula, or how long it is where nobody can read it.

    A term may have `LONGEST` characters, a sum of terms four times as many.
    """
    size = len(UNSEEN.sub("", formula))
    told = f"[{size} characters]"
    if "<math" not in formula:
        return formula if size <= LONGEST else f"<mtext>{told}</mtext>"
    return formula if size <= 4 * LONGEST or "<button" in formula else told


def packed(text: str) -> bytes:
    """Return a list as JSON, the most frequent tags and signs as one byte each.

    Args:
        text: a list as JSON.

    Returns:
        Its items, after them what the bytes from 128 on stand for.
    """
    found = Counter(TOKEN.findall(text))
    saved = sorted(
        (count * (1 - len(one.encode())), one) for one, count in found.items()
    )
    table = [one for _, one in saved[:TOKENS]]
    code = {one: chr(FIRST + place) for place, one in enumerate(table)}
    short = TOKEN.sub(lambda one: code.get(one[0], one[0]), text)
    meant = json.dumps([json.loads(f'"{one}"') for one in table])
    whole = f"{short.removesuffix(']')},{meant}]"
    plain = re.sub(
        rf"[^\x00-\x7f{chr(FIRST)}-{chr(FIRST + TOKENS - 1)}]",
        lambda one: json.dumps(one[0])[1:-1],
        whole,
    )
    places = {FIRST + place: 128 + place for place in range(TOKENS)}
    return plain.translate(places).encode("latin-1")


def before(step: list[Json]) -> list[str]:
    """Return the marks of the steps that a step uses."""
    uses = step[4] if isinstance(step[4], list) else []
    return [str(use[0]) for use in uses if isinstance(use, list)]
