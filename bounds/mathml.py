"""The LaTeX of statements as MathML: what `sfl_theory.written` writes, and no more."""

from __future__ import annotations

import re
from functools import cache
from html import escape

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
    r"\pm": "±", r"\{": "{", r"\}": "}", r"\top": "⊤", r"\dots": "…", r"\to": "→",
    r"\in": "∈", r"\times": "×", r"\Rightarrow": "⇒", r"\subset": "⊂",
    r"\lceil": "⌈", r"\rceil": "⌉", r"\lfloor": "⌊", r"\rfloor": "⌋", "-": "−",
    r"\prod": "∏",
}  # fmt: skip
BREAKS = {"+", "-", "=", r"\le", r"\ge", r"\leq", r"\geq"}
OPENING, CLOSING = {"(", "[", r"\langle", r"\{"}, {")", "]", r"\rangle", r"\}"}
SPACES = {
    r"\ ": "0.4em",
    r"\,": "0.17em",
    r"\;": "0.28em",
    r"\quad": "1em",
    r"\qquad": "2em",
}
LARGE = {r"\big": "1.2em", r"\Big": "1.8em"}
LIMITS = {r"\sum", r"\prod", r"\max", r"\min"}
MARKS = {r"\ref": "@", r"\bound": "#"}
"""What is filled in later: another formula, the letter of a bound index."""
DOUBLE = {"E": "𝔼", "R": "ℝ", "N": "ℕ", "P": "ℙ"}


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
        body = _Reader(tex).row("")
    except ValueError:
        return f"<code>{escape(tex)}</code>"
    return f'<math display="{"block" if display else "inline"}">{body}</math>'


@cache
def breakable(tex: str) -> str:
    """Return a formula that a line may break before its signs and relations."""
    try:
        parts = _Reader(tex).chunks()
    except ValueError:
        return f"<code>{escape(tex)}</code>"
    return " ".join(f'<math displaystyle="true">{part}</math>' for part in parts)


@cache
def inside(tex: str) -> str:
    """Return what stands inside ``math``; gaps marked as in `MARKS`.

    Raises:
        ValueError: there is more in it than is known.
    """
    return _Reader(tex).row("")


def with_formulas(text: str) -> str:
    """Return text as HTML, with MathML for what stands between dollars."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(
        mathml(part, display=False) if k % 2 else escape(part)
        for k, part in enumerate(parts)
    )


class _Reader:
    """Reads one formula from left to right."""

    def __init__(self, tex: str) -> None:
        self._left = TOKEN.findall(tex)[::-1]

    def row(self, end: str) -> str:
        """Return everything up to a token, which is taken, as one row.

        Raises:
            ValueError: it does not come.
        """
        out: list[str] = []
        while True:
            if not self._left:
                if end:
                    raise ValueError(f"{end} is missing")
                break
            token = self._left.pop()
            if token == end:
                break
            if token in {"^", "_"}:
                raise ValueError("a script without a base")
            if not token.isspace():
                out.append(self._scripted(token))
        return f"<mrow>{''.join(out)}</mrow>" if len(out) != 1 else out[0]

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
            if token in {"^", "_"}:
                raise ValueError("a script without a base")
            if token.isspace():
                continue
            made = self._scripted(token)
            if token in BREAKS and out[-1] and not depth and not bars:
                made = made.replace("<mo>", '<mo form="infix">', 1)
                out.append([])
            out[-1].append(made)
        return [f"<mrow>{''.join(part)}</mrow>" for part in out]

    def _scripted(self, token: str) -> str:
        base, scripts = self._atom(token), {"_": "", "^": ""}
        while self._left and self._left[-1] in scripts:
            which = self._left.pop()
            if scripts[which]:
                raise ValueError("two scripts in one place")
            scripts[which] = self._argument()
        low, high = scripts["_"], scripts["^"]
        kind = ("under", "over") if token in LIMITS else ("sub", "sup")
        if low and high:
            return f"<m{''.join(kind)}>{base}{low}{high}</m{''.join(kind)}>"
        if low or high:
            name = f"m{kind[0] if low else kind[1]}"
            return f"<{name}>{base}{low or high}</{name}>"
        return base

    def _argument(self) -> str:
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

    def _atom(self, token: str) -> str:
        if token == "{":
            return self.row("}")
        if token in LETTERS:
            return f"<mi>{LETTERS[token]}</mi>"
        if token in SIGNS:
            return f"<mo>{escape(SIGNS[token])}</mo>"
        if token in SPACES:
            return f'<mspace width="{SPACES[token]}"/>'
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token.startswith("\\"):
            return self._command(token)
        if token == "}":
            raise ValueError("a bracket too many")
        return f"<mo>{escape(token)}</mo>"

    def _command(self, name: str) -> str:
        if name in {r"\frac", r"\tfrac", r"\binom"}:
            line = ' linethickness="0"' if name == r"\binom" else ""
            return f"<mfrac{line}>{self._argument()}{self._argument()}</mfrac>"
        if name == r"\sqrt" and self._left[-1:] == ["["]:
            self._left.pop()
            index = self.row("]")
            return f"<mroot>{self._argument()}{index}</mroot>"
        if name == r"\sqrt":
            return f"<msqrt>{self._argument()}</msqrt>"
        if name in {r"\tilde", r"\bar", r"\hat"}:
            accent = {r"\tilde": "~", r"\bar": "¯", r"\hat": "^"}[name]
            over = f"{self._argument()}<mo>{accent}</mo>"
            return f'<mover accent="true">{over}</mover>'
        if name == r"\mathbb":
            letter = re.sub("<.*?>", "", self._argument())
            return f"<mi>{DOUBLE.get(letter, letter)}</mi>"
        if name in {r"\text", r"\mathrm"}:
            return f"<mtext>{escape(self._text())}</mtext>"
        if name in MARKS:
            return f"{MARKS[name]}{self._text()};"
        if name in LARGE:
            size = f'<mo minsize="{LARGE[name]}">'
            return self._delimiter().replace("<mo>", size)
        if name == r"\left":
            first = self._delimiter()
            body = self.row(r"\right")
            return f"<mrow>{first}{body}{self._delimiter()}</mrow>"
        raise ValueError(f"{name} is not known")

    def _delimiter(self) -> str:
        token = self._next()
        if token == ".":
            return ""
        sign = SIGNS.get(token, token)
        return f"<mo>{escape(sign)}</mo>"

    def _text(self) -> str:
        if self._next() != "{":
            raise ValueError("text without a bracket")
        out = ""
        while (token := self._left.pop() if self._left else "}}") != "}":
            if token == "}}":
                raise ValueError("text without an end")
            out += token
        return out.replace(" ", "\N{NO-BREAK SPACE}")
