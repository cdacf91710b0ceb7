"""Reads the LaTeX that `notation.written` writes; what it becomes, subclasses say."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Made = TypeVar("Made")
TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\s+|.")
LETTERS = {
    r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\delta": "δ", r"\epsilon": "ϵ",
    r"\zeta": "ζ", r"\eta": "η", r"\theta": "θ", r"\mu": "μ", r"\xi": "ξ",
    r"\sigma": "σ", r"\tau": "τ", r"\phi": "ϕ", r"\kappa": "κ", r"\rho": "ρ",
    r"\lambda": "λ", r"\Delta": "Δ", r"\Gamma": "Γ",
    r"\Lambda": "Λ", r"\max": "max", r"\min": "min",
    r"\exp": "exp", r"\log": "log",
}  # fmt: skip
SIGNS = {
    r"\|": "‖", r"\le": "≤", r"\ge": "≥", r"\leq": "≤", r"\geq": "≥",
    r"\ne": "≠", r"\nabla": "∇", r"\sum": "∑", r"\prec": "≺",
    r"\mid": "∣", r"\langle": "⟨", r"\rangle": "⟩", r"\cdot": "⋅", r"\sim": "∼",
    r"\pm": "±", r"\mp": "∓", r"\{": "{", r"\}": "}", r"\top": "⊤",
    r"\dots": "…", r"\to": "→",
    r"\in": "∈", r"\times": "×", r"\Rightarrow": "⇒", r"\subset": "⊂",
    r"\lceil": "⌈", r"\rceil": "⌉", r"\lfloor": "⌊", r"\rfloor": "⌋", "-": "−",
    r"\prod": "∏",
}  # fmt: skip
SPACES = {r"\ ", r"\,", r"\;", r"\quad", r"\qquad"}
LARGE = {r"\big", r"\Big"}
DOUBLE = {"E": "𝔼", "R": "ℝ", "N": "ℕ", "P": "ℙ"}
ACCENTS = {r"\tilde", r"\bar", r"\hat"}
MARKS = {r"\ref", r"\bound"}
"""What is filled in later: another formula, the letter of a bound index."""


@dataclass(frozen=True)
class Scripts(Generic[Made]):
    """What stands below and above a symbol; None: nothing."""

    low: Made | None = None
    high: Made | None = None


class Reader(ABC, Generic[Made]):
    """Reads one formula from left to right."""

    def __init__(self, tex: str) -> None:
        self._left: list[str] = TOKEN.findall(tex)[::-1]

    # What a subclass makes --------------------------------------------------------

    @abstractmethod
    def joined(self, parts: Sequence[Made]) -> Made:
        """Return what stands side by side as one."""

    @abstractmethod
    def letter(self, text: str) -> Made:
        """Return a letter or a name."""

    @abstractmethod
    def number(self, digits: str) -> Made:
        """Return a number."""

    @abstractmethod
    def sign(self, text: str) -> Made:
        """Return an operation, a relation, a bracket or another sign."""

    @abstractmethod
    def space(self, token: str) -> Made | None:
        """Return a space, of `SPACES` or as it is typed; None: it is nothing here."""

    @abstractmethod
    def words(self, text: str) -> Made:
        """Return text."""

    @abstractmethod
    def fraction(self, top: Made, low: Made, line: bool) -> Made:
        """Return a fraction, or without a line a binomial coefficient."""

    @abstractmethod
    def root(self, inside: Made, index: Made | None) -> Made:
        """Return a root."""

    @abstractmethod
    def accented(self, name: str, base: Made) -> Made:
        """Return what has one of `ACCENTS`."""

    @abstractmethod
    def fenced(self, first: str, inside: Made, last: str) -> Made:
        """Return what stands in brackets that fit it; "" for none."""

    @abstractmethod
    def sized(self, name: str, bracket: str) -> Made:
        """Return a bracket of one of the sizes in `LARGE`."""

    @abstractmethod
    def scripted(self, token: str, base: Made, scripts: Scripts[Made]) -> Made:
        """Return a symbol, of which the token is known, with its scripts."""

    def marked(self, name: str, text: str) -> Made:
        """Return one of `MARKS`.

        Raises:
            ValueError: nothing is filled in here.
        """
        raise ValueError(f"{name} is filled in elsewhere: {text}")

    # Reading ----------------------------------------------------------------------

    def row(self, end: str = "") -> Made:
        """Return everything up to a token, which is taken, as one row.

        Raises:
            ValueError: it does not come.
        """
        out: list[Made] = []
        while True:
            if not self._left:
                if end:
                    raise ValueError(f"{end} is missing")
                return self.joined(out)
            token = self._left.pop()
            if token == end:
                return self.joined(out)
            if (made := self.one(token)) is not None:
                out.append(made)

    def one(self, token: str) -> Made | None:
        """Return what a token begins, scripts and all; None for a space of no width.

        Raises:
            ValueError: it cannot be read.
        """
        if token in {"^", "_"}:
            raise ValueError("a script without a base")
        if token.isspace() or token in SPACES:
            return self.space(token)
        base, found = self._atom(token), dict[str, Made]()
        while self._left and self._left[-1] in {"_", "^"}:
            which = self._left.pop()
            if which in found:
                raise ValueError("two scripts in one place")
            found[which] = self._argument()
        if not found:
            return base
        return self.scripted(token, base, Scripts(found.get("_"), found.get("^")))

    def _argument(self) -> Made:
        """Return a group or the single character that stands for one."""
        token = self._next()
        if len(token) > 1 and token[0].isdigit():
            self._left.append(token[1:])
            token = token[0]
        return self._atom(token)

    def _next(self) -> str:
        while self._left:
            token = self._left.pop()
            if not token.isspace():
                return token
        raise ValueError("something is missing at the end")

    def _atom(self, token: str) -> Made:
        if token == "{":
            return self.row("}")
        if token in LETTERS:
            return self.letter(LETTERS[token])
        if token in SIGNS:
            return self.sign(SIGNS[token])
        if token[0].isdigit():
            return self.number(token)
        if token.isalpha():
            return self.letter(token)
        if token.startswith("\\"):
            return self._command(token)
        if token == "}":
            raise ValueError("a bracket too many")
        return self.sign(token)

    def _command(self, name: str) -> Made:
        if name in {r"\frac", r"\tfrac", r"\binom"}:
            return self.fraction(self._argument(), self._argument(), name != r"\binom")
        if name == r"\sqrt":
            index = None
            if self._left[-1:] == ["["]:
                self._left.pop()
                index = self.row("]")
            return self.root(self._argument(), index)
        if name in ACCENTS:
            return self.accented(name, self._argument())
        if name == r"\mathbb":
            token = self._next()
            letter = self._text_after(token) if token == "{" else token
            return self.letter(DOUBLE.get(letter, letter))
        if name in {r"\text", r"\mathrm"}:
            return self.words(self._text_after(self._next()))
        if name in MARKS:
            return self.marked(name, self._text_after(self._next()))
        if name in LARGE:
            return self.sized(name, self._delimiter())
        if name == r"\left":
            first = self._delimiter()
            return self.fenced(first, self.row(r"\right"), self._delimiter())
        raise ValueError(f"{name} is not known")

    def _delimiter(self) -> str:
        token = self._next()
        return "" if token == "." else SIGNS.get(token, token)

    def _text_after(self, bracket: str) -> str:
        if bracket != "{":
            raise ValueError("text without a bracket")
        out = ""
        while self._left:
            token = self._left.pop()
            if token == "}":
                return out
            out += token
        raise ValueError("text without an end")
