"""The LaTeX of statements as MathML: what `notation.written` writes, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape

from sfl_theory.notation.latex_reader import Reader, Scripts
from sfl_theory.notation.plain import in_words

BREAKS = {"+", "-", "=", r"\le", r"\ge", r"\leq", r"\geq"}
OPENING, CLOSING = {"(", "[", r"\langle", r"\{"}, {")", "]", r"\rangle", r"\}"}
WIDTHS = {
    r"\ ": "0.4em",
    r"\,": "0.17em",
    r"\;": "0.28em",
    r"\quad": "1em",
    r"\qquad": "2em",
}
SIZES = {r"\big": "1.2em", r"\Big": "1.8em"}
FENCES = set("()[]{}⟨⟩⌈⌉⌊⌋‖|")
TALL = ("<mfrac", "<munder", "<msqrt", "<mroot", "minsize", "@")
"""What brackets grow with; ``@``: another formula, which may be tall."""
LIMITS = {r"\sum", r"\prod", r"\max", r"\min"}
MARK = {r"\ref": "@", r"\bound": "#"}
ACCENT = {r"\tilde": "~", r"\bar": "¯", r"\hat": "^"}


@cache
def mathml(tex: str, display: bool = True) -> str:
    """Return a formula as MathML, as its source where it has more than is known.

    Args:
        tex: LaTeX without dollars.
        display: on a line of its own.

    Returns:
        HTML.
    """
    try:
        body = _Drawn(tex).row()
    except ValueError:
        return f"<code>{escape(tex)}</code>"
    apart = ' display="block"' if display else ""
    return f"<math{apart}>{body}</math>"


@cache
def breakable(tex: str, display: bool = True) -> str:
    """Return a formula that a line may break before its signs and relations."""
    try:
        parts = _Drawn(tex).chunks()
    except ValueError:
        return f"<code>{escape(tex)}</code>"
    style = ' displaystyle="true"' if display else ""
    return " ".join(f"<math{style}>{part}</math>" for part in parts)


@cache
def inside(tex: str) -> str:
    """Return what stands inside ``math``; gaps as ``@digest;`` and ``#level;``.

    Raises:
        ValueError: there is more in it than is known.
    """
    return _Drawn(tex).row()


def with_formulas(text: str) -> str:
    """Return text as HTML: MathML for what stands between dollars, else signs."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return escape(in_words(text))
    return "".join(
        mathml(part, display=False) if k % 2 else escape(in_words(part))
        for k, part in enumerate(parts)
    )


class _Drawn(Reader[str]):
    """A formula as MathML."""

    def chunks(self) -> list[str]:
        """Return the formula cut before its outermost signs and relations.

        Raises:
            ValueError: it is not read.
        """
        out: list[list[str]] = [[]]
        depth, bars = 0, 0
        while self._left:
            token = self._left.pop()
            depth += (token in OPENING) - (token in CLOSING)
            bars = 1 - bars if token == r"\|" else bars
            made = self.one(token)
            if made is None:
                continue
            if token in BREAKS and out[-1] and not depth and not bars:
                made = made.replace("<mo>", '<mo form="infix" lspace="0">', 1)
                out.append([])
            out[-1].append(made)
        return [f"<mrow>{''.join(part)}</mrow>" for part in out]

    def joined(self, parts: Sequence[str]) -> str:
        return f"<mrow>{''.join(parts)}</mrow>" if len(parts) != 1 else parts[0]

    def letter(self, text: str) -> str:
        return f"<mi>{text}</mi>"

    def number(self, digits: str) -> str:
        return f"<mn>{digits}</mn>"

    def sign(self, text: str) -> str:
        kept = ' stretchy="false"' if text in FENCES else ""
        kept = ' lspace="0" rspace="0"' if text == "/" else kept
        return f"<mo{kept}>{escape(text)}</mo>"

    def space(self, token: str) -> str | None:
        return f'<mspace width="{WIDTHS[token]}"/>' if token in WIDTHS else None

    def words(self, text: str) -> str:
        shown = escape(text).replace(" ", "\N{NO-BREAK SPACE}")
        return f"<mtext>{shown}</mtext>"

    def fraction(self, top: str, low: str, line: bool) -> str:
        none = "" if line else ' linethickness="0"'
        return f"<mfrac{none}>{top}{low}</mfrac>"

    def root(self, inside: str, index: str | None) -> str:
        if index is not None:
            return f"<mroot>{inside}{index}</mroot>"
        return f"<msqrt>{inside}</msqrt>"

    def accented(self, name: str, base: str) -> str:
        return f'<mover accent="true">{base}<mo>{ACCENT[name]}</mo></mover>'

    def fenced(self, first: str, inside: str, last: str) -> str:
        grows = any(one in inside for one in TALL)
        ends = [self._fence(one, grows) if one else "" for one in (first, last)]
        return f"<mrow>{inside.join(ends)}</mrow>"

    def _fence(self, text: str, grows: bool) -> str:
        return f"<mo>{escape(text)}</mo>" if grows else self.sign(text)

    def sized(self, name: str, bracket: str) -> str:
        return f'<mo minsize="{SIZES[name]}">{escape(bracket)}</mo>'

    def scripted(self, token: str, base: str, scripts: Scripts[str]) -> str:
        low, high = scripts.low, scripts.high
        kind = ("under", "over") if token in LIMITS else ("sub", "sup")
        name = f"m{kind[0] * (low is not None)}{kind[1] * (high is not None)}"
        return f"<{name}>{base}{low or ''}{high or ''}</{name}>"

    def marked(self, name: str, text: str) -> str:
        return f"{MARK[name]}{text};"
