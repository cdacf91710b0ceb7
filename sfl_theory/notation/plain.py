"""Formulas as text for a terminal: ``S/2 · E ‖x^T − x*‖² ≤ …``, from their LaTeX.

Numerators and denominators that are more than one factor stand in brackets, and a
fraction beside a factor has a dot: read from the left, a text is worth its formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from functools import cache
from itertools import groupby

from sfl_theory.notation.latex_reader import DOUBLE, Reader, Scripts

BELOW = dict(zip("0123456789nmkijlt", "₀₁₂₃₄₅₆₇₈₉ₙₘₖᵢⱼₗₜ", strict=True))
ABOVE = dict(zip("0123456789t", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵗ", strict=True))
ACCENT = {r"\tilde": "\u0303", r"\bar": "\u0304", r"\hat": "\u0302"}
LETTER = {DOUBLE["E"]: "E", DOUBLE["P"]: "P", "ϵ": "ε", "ϕ": "φ"}
ROOTS = {"3": "∛", "4": "∜"}
OPENING, CLOSING = {"(", "[", "{", "⟨", "⌈", "⌊"}, {")", "]", "}", "⟩", "⌉", "⌋"}
UNARY = {"+", "−", "±", "∓"}
SIGNED = UNARY | {"=", "≤", "≥", "<", ">", "≠", "≺", "∼", "→", "∈", "⇒", "⊂", "∣"}
SHOWN = {"∑": "Σ", "∏": "Π", "⋅": "·", "∣": "|", "∼": "~"}
GREEK = re.compile("[α-ω]")
LETTERS = re.compile(r"[a-z]( [a-z])+")
TIGHT = re.compile(r" ?([+−=<≤≺,]) ?")


class Binds(IntEnum):
    """How tightly the outermost operation of a text binds."""

    SUM = 0
    RATIO = 1
    PRODUCT = 2
    ATOM = 3


class Role(Enum):
    """What a piece is beside its neighbours."""

    VALUE = "value"
    FENCED = "fenced"
    WORDS = "words"
    SIGN = "sign"
    UNARY = "unary"
    DOT = "dot"
    BIG = "big"
    PREFIX = "prefix"
    OPEN = "open"
    CLOSE = "close"
    BAR = "bar"
    COMMA = "comma"
    TIGHT = "tight"
    SPACE = "space"


FACTORS = {Role.VALUE, Role.FENCED, Role.CLOSE}


@dataclass(frozen=True)
class Piece:
    """Some text of a formula."""

    text: str
    role: Role = Role.VALUE
    binds: Binds = Binds.ATOM

    def inside(self, least: Binds) -> str:
        """Return the text, in brackets unless it binds so tightly."""
        return self.text if self.binds >= least else f"({self.text})"


@cache
def plain(tex: str) -> str:
    """Return a formula for a terminal; its source where it has more than is known.

    Args:
        tex: LaTeX without dollars.

    Returns:
        A line of text.
    """
    try:
        return _Text(tex).row().text
    except ValueError:
        return tex


def in_plain(text: str) -> str:
    """Return a text whose formulas, between dollars, are plain."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return text
    return "".join(plain(one) if k % 2 else one for k, one in enumerate(parts))


class _Text(Reader[Piece]):
    """A formula as text."""

    def joined(self, parts: Sequence[Piece]) -> Piece:
        made = [*_told(parts)]
        if len(made) == 1:
            return made[0][1]
        text, before = "", None
        for spaced, one in made:
            text += _gap(before, one, spaced) + one.text
            before = one
        return Piece(" ".join(text.split()), binds=_binding([one for _, one in made]))

    def letter(self, text: str) -> Piece:
        return Piece(LETTER.get(text, text))

    def number(self, digits: str) -> Piece:
        return Piece(digits)

    def sign(self, text: str) -> Piece:
        return Piece(SHOWN.get(text, text), _role(text))

    def space(self, token: str) -> Piece:
        return Piece(" ", Role.SPACE)

    def words(self, text: str) -> Piece:
        return Piece(text.strip(), Role.VALUE if text.isalpha() else Role.WORDS)

    def fraction(self, top: Piece, low: Piece, line: bool) -> Piece:
        if not line:
            return Piece(f"binom({top.text}, {low.text})")
        text = f"{top.inside(Binds.PRODUCT)}/{low.inside(Binds.ATOM)}"
        return Piece(text, binds=Binds.RATIO)

    def root(self, inside: Piece, index: Piece | None) -> Piece:
        if index is None or index.text in ROOTS:
            sign = "√" if index is None else ROOTS[index.text]
            return Piece(sign + inside.inside(Binds.ATOM))
        return Piece(f"{inside.inside(Binds.ATOM)}^{{1/{index.inside(Binds.ATOM)}}}")

    def accented(self, name: str, base: Piece) -> Piece:
        return replace(base, text=base.text[:1] + ACCENT[name] + base.text[1:])

    def fenced(self, first: str, inside: Piece, last: str) -> Piece:
        return Piece(f"{first}{inside.text}{last}", Role.FENCED)

    def sized(self, name: str, bracket: str) -> Piece:
        return self.sign(bracket)

    def scripted(self, token: str, base: Piece, scripts: Scripts[Piece]) -> Piece:
        closed = base.role is not Role.VALUE
        text = base.text if closed else base.inside(Binds.ATOM)
        text += _script(scripts.low, "_", BELOW) + _script(scripts.high, "^", ABOVE)
        role = Role.VALUE if base.role is Role.PREFIX else base.role
        return Piece(text, role)


def _role(sign: str) -> Role:
    if sign in SIGNED:
        return Role.SIGN
    if sign in OPENING:
        return Role.OPEN
    if sign in CLOSING:
        return Role.CLOSE
    known = {
        "∑": Role.BIG, "∏": Role.BIG, "⋅": Role.DOT, "×": Role.DOT, "‖": Role.BAR,
        "|": Role.BAR, ",": Role.COMMA, ";": Role.COMMA, "∇": Role.PREFIX,
        "'": Role.TIGHT, "/": Role.TIGHT, "!": Role.TIGHT, ".": Role.TIGHT,
    }  # fmt: skip
    return known.get(sign, Role.VALUE)


def _told(parts: Sequence[Piece]) -> Iterator[tuple[bool, Piece]]:
    """Yield pieces and whether a space came before: bars open and close in turn."""
    spaced, opened, before = False, False, Role.OPEN
    for one in parts:
        role = one.role
        if role is Role.SPACE:
            spaced = True
            continue
        if role is Role.BAR:
            role, opened = (Role.CLOSE if opened else Role.OPEN), not opened
        if one.text in UNARY and before not in FACTORS | {Role.WORDS, Role.TIGHT}:
            role = Role.UNARY
        yield spaced, replace(one, role=role)
        spaced, before = False, role


def _gap(before: Piece | None, one: Piece, spaced: bool) -> str:
    """Return what stands between two pieces."""
    if before is None:
        return ""
    first, second = before.role, one.role
    if second in {Role.COMMA, Role.CLOSE} or first in {Role.OPEN, Role.UNARY}:
        return ""
    if Role.TIGHT in {first, second} or first is Role.PREFIX:
        return ""
    opens = second in {Role.FENCED, Role.OPEN}
    if first in FACTORS and (second in FACTORS or opens or second is Role.BIG):
        if Binds.RATIO in {before.binds, one.binds}:
            return " · "
        bars = one.text.startswith(("‖", "⟨", "|"))
        called = opens and not (spaced or bars or GREEK.match(before.text))
        return "" if called else " "
    return " "


def _binding(pieces: Sequence[Piece]) -> Binds:
    """Return how tightly what stands side by side binds."""
    depth, out = 0, Binds.PRODUCT
    for one in pieces:
        depth -= one.role is Role.CLOSE
        if not depth:
            if one.role in {Role.SIGN, Role.UNARY, Role.COMMA, Role.BIG, Role.WORDS}:
                return Binds.SUM
            if one.binds is Binds.RATIO or one.text == "/":
                out = Binds.RATIO
        depth += one.role is Role.OPEN
    return out


def _script(piece: Piece | None, mark: str, small: dict[str, str]) -> str:
    if piece is None:
        return ""
    text = TIGHT.sub(r"\1", piece.text)
    if mark == "_" and LETTERS.fullmatch(text):
        text = text.replace(" ", "")  # A name, no product.
    if text in small or text.isdigit():
        return "".join(small[digit] for digit in text)
    if text == "*":
        return text
    return mark + (text if len(text) == 1 else f"{{{text}}}")


# Sentences ----------------------------------------------------------------------------

NAMES = {
    "tau_server": "τ̃", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ",
    "eps": "ε", "eta": "η", "theta": "θ", "kappa": "κ", "mu": "μ", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "Gamma": "Γ",
}  # fmt: skip
"""Letters as the code's sentences name them."""
NAME = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(NAMES)})(?![A-Za-z])")
REFERENCE = re.compile(r"[A-Za-z]{4}.*/|/.*[A-Za-z]{4}|[a-z]\d{4}/")
"""What is left of a word with a claim's id in it, without names of letters."""
RAISED = str.maketrans(ABOVE)
RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠"}
IN_WORDS = (
    (NAME, lambda m: NAMES[m[0]]),
    (re.compile(r"(?<![A-Za-z])sum(?=_\w\b| \(?[A-Za-z]_\w\b)"), lambda m: "Σ"),
    (
        re.compile(r"(?<![A-Za-z])grad(?:(?=_\w )| (?=\w(?:_\w)?\b))"),
        lambda m: "∇",
    ),
    (re.compile(r"(?<![A-Za-z])sqrt(?=\()"), lambda m: "√"),
    (re.compile(r"(?<=\w)_(\w)(?!\w)"), lambda m: BELOW.get(m[1], m[0])),
    (re.compile(r"(?<=[\w)|\u0303])\^(\d+|t)(?!\w)"), lambda m: m[1].translate(RAISED)),
    (re.compile("[<>!]="), lambda m: RELATIONS[m[0]]),
)


def in_words(text: str) -> str:
    """Return a sentence of the code with signs for what it spells.

    ``sum_n grad F_n <= sigma_n^2`` is shown as a reader writes it; ids of claims, which
    may end in ``/tau``, and all other words stay.
    """
    out = ""
    words = re.split(r"(\s+)", text)
    for named, group in groupby(words, _refers):
        part = "".join(group)
        if not named:
            for pattern, sign in IN_WORDS:
                part = pattern.sub(sign, part)
        out += part
    return out


def _refers(word: str) -> bool:
    return REFERENCE.search(NAME.sub("", word).replace("sqrt", "")) is not None


def text_of(error: BaseException) -> str:
    """Return what an exception says, where it can say it."""
    try:
        return str(error)
    except Exception:
        return "(and cannot say what)"
