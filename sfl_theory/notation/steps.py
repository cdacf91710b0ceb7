r"""A derivation as steps that a person follows: inequalities, numbered, with reasons.

`Steps.of` reads a theorem's rule calls. An inequality is a step of its own; identities
(the algorithm's update, the two blocks, sums taken apart) and what serves one sum only
are named in the reason of the step that uses them. Every formula is typeset from the
theorem's form, every multiplier and square from the rule's arguments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.hypotheses import Hypothesis
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation.writer import Writer
from sfl_theory.notation.written import Form

WORDS = {
    "assume": "an assumption",
    "specialise": "a special case",
    "cut": "a lemma in the place of a hypothesis",
    "square": "a square that is not negative",
    "combine": "a combination",
    "instantiate": "a special case",
    "sum_over": "a sum",
    "induct": "induction",
    "cases": "two cases",
    "jensen": "Jensen's inequality",
    "linear": "linearity",
    "exchange": "sums in another order",
    "longer": "leaving out squares of a sum",
    "split": "a sum taken apart",
    "blocks": "the two blocks together",
    "weight_below_one": r"$a_n \le 1$",
    "smooth": "smoothness",
    "stationary": "the gradient that vanishes at the minimiser",
    "mean_value": r"$f = \sum_n a_n F_n$",
    "mean_gradient": r"$\nabla f = \sum_n a_n \nabla F_n$",
    "descend": "the algorithm's step",
    "update": "the algorithm's round",
    "local_update": "the local steps",
    "counted_update": "a side's steps since its last mean",
    "divided": "quotient and remainder by a period",
    "ordered": "the order of the visits",
    "unbiased": "unbiased gradients",
    "unbiased_across": "unbiased gradients of different clients",
    "numbered": "the clients one by one",
    "drawn": "draws that are 0 or $1/q_n$",
    "shared": "each one's part in the sum over those present",
    "tower": "the mean given the past",
    "vanish": "what has no square is 0",
    "expect": "the mean over the draws",
}
"""What a rule brings to a step, to follow "by"; for `given` see `ASSUMED`."""
DOMINANT = r"$2 |\langle u, v \rangle| \le \|u\|^2 + \|v\|^2$ for pairs of vectors"
"""What else `combine` brings where a target is more than its squares."""
ASSUMED: dict[type[Hypothesis], str] = {
    h.Majorised: "smoothness from above",
    h.Smooth: "the Lipschitz gradients",
    h.Convex: "convexity",
    h.Minimiser: "the least value, at the minimiser",
    h.Heterogeneity: "bounded heterogeneity",
    h.BoundedGradients: "bounded gradients",
    h.BoundedBlock: "bounded blocks of gradients",
    h.Variance: "bounded variance",
}
"""What a hypothesis brings to a step."""
GENERAL = {
    "combine",
    "instantiate",
    "specialise",
    "sum_over",
    "induct",
    "divided",
    "cases",
    "cut",
}
"""Rules that only join theorems."""
ALGEBRA = {"square", "linear", "exchange", "split", "blocks"}
"""Rules that a reader does not ask for where another one is named, too."""


@dataclass(frozen=True)
class Step:
    """A line of a proof.

    Attributes:
        number: of the line, by which others refer to it.
        left: side of the inequality.
        right: the larger side.
        equal: whether the sides are equal.
        reason: prose with formulas between dollars; an integer refers to a line.
    """

    number: int
    left: Form
    right: Form
    equal: bool
    reason: tuple[str | int, ...]


@dataclass
class Steps:
    """The lines of several proofs; what one has shown, a later one refers to.

    Attributes:
        writer: writes the formulas.
        numbers: the lines that theorems have.
        before: so many lines stand before the first.
    """

    writer: Writer
    numbers: dict[Theorem, int] = field(default_factory=dict)
    before: int = 0

    def of(self, theorem: Theorem, given: Iterable[Hypothesis] = ()) -> list[Step]:
        """Return the lines of a proof that no earlier one had; the last is the claim.

        Args:
            theorem: what is proved.
            given: the claim's hypotheses; other assumptions are lines of their own.

        Returns:
            The new lines; none if the theorem has one already.
        """
        ordered = _ordered(theorem, self.numbers)
        uses = Counter(p for one in ordered for p in premises(one))
        user = {p: one for one in ordered for p in premises(one)}
        known = set(given) | theorem.hypotheses
        shown: set[Theorem] = set()
        for one in ordered:
            inner = uses[one] == 1 and _joins(user[one])
            if one is theorem or (_speaks(one, known) and not (inner and _serves(one))):
                shown.add(one)
        lines = []
        for one in ordered:
            if one in shown:
                self.numbers[one] = self.before + len(self.numbers) + 1
                left, right = self.writer.sides(one.form, one.equal)
                reason = tuple(_joined(self._reason(one)))
                lines.append(Step(self.numbers[one], left, right, one.equal, reason))
        return lines

    def _reason(self, one: Theorem) -> Iterator[str | int]:
        name, args = _call(one)
        make = {
            "combine": self._combined,
            "sum_over": self._summed,
            "instantiate": self._special,
        }.get(name)
        if make is not None:
            yield from make(args)
        elif name == "induct":
            base, step, v, _ = args
            yield f"By induction over ${self.writer.name(str(v))}$, from "
            yield from self._named(base)
            yield " and, for the next one, "
            yield from self._named(step)
        elif name == "cases":
            above, below, c = args
            yield from self._named(above)
            yield f" where ${self._tex(c)} \\ge 0$, "
            yield from self._named(below)
            yield " elsewhere"
        elif name == "cut":
            yield from self._named(args[0])
            yield ", a hypothesis of which follows from "
            yield from self._named(args[1])
        elif name == "assume":
            yield "Suppose that"
        else:
            yield f"By {_word(one)}"

    def _combined(self, args: tuple[object, ...]) -> Iterator[str | int]:
        uses, squares, target, signs = args
        lines: list[tuple[str | int, ...]] = []
        by: list[str] = []
        for theorem, factor in uses:  # type: ignore[attr-defined]
            if not factor or not theorem.form:  # a sum with the weight 0, for instance
                continue
            times = "" if factor == ratio(1) else f"${self._tex(factor)}$ times "
            if theorem in self.numbers:
                lines.append((times, self.numbers[theorem]))
            elif _call(theorem)[0] == "assume":
                lines.append((times, self._fact(theorem)))
            elif _squares(theorem):
                lines.append((times, *_joined(self._named(theorem), False)))
            else:
                refs, words = self._inside(theorem)
                lines += [("", ref) for ref in refs]
                by += words
        parts: list[tuple[str | int, ...]] = list(dict.fromkeys(lines))
        parts += [(text,) for text in self._added(squares)]
        if not uses and isinstance(target, k.Lin) and _rest(squares, target).expects:
            by.append(DOMINANT)
        refs_ = [part[-1] for part in parts if isinstance(part[-1], int)]
        since: list[str | int] = [ref for sign in signs for ref in self._sign(sign)]  # type: ignore[attr-defined]
        if parts:
            yield "From "
            yield from _listed(parts)
        by = list(dict.fromkeys(by))
        by = [one for one in by if one not in _ALGEBRA] or by[:1]
        if by:
            yield f"{', by' if parts else 'By'} {_and(by)}"
        more = [one for one in dict.fromkeys(since) if one not in refs_]
        if more:
            yield ", where " if parts or by else "Since "
            yield from _listed([(one,) for one in more])
        elif not parts and not by:
            yield "By the signs of the parameters"
        if len(parts) == 1 and refs_ and not by:
            yield ", enlarging the right side"

    def _added(self, squares: object) -> Iterator[str]:
        for vector, factor in squares:  # type: ignore[attr-defined]
            tex = self.writer.vector(vector).tex
            times = "" if factor == ratio(1) else f"{self._tex(factor)} "
            yield rf"the square ${times}\mathbb{{E}}\|{tex}\|^2$"

    def _summed(self, args: tuple[object, ...]) -> Iterator[str | int]:
        theorem, binder, v, factor, signs = args
        over = f"summed over ${v}$"
        if isinstance(binder, k.Steps):
            over = rf"summed over ${v} < {self.writer.index(binder.upper)}$"
        weights = "" if factor == ratio(1) else f" with ${self._tex(factor)}$"
        yield from self._named(theorem)
        yield f", {over}{weights}"
        since = [one for sign in signs for one in self._sign(sign)]  # type: ignore[attr-defined]
        lines = dict.fromkeys(one for one in since if isinstance(one, int))
        if lines:
            yield ", not negative by "
            yield from _listed([(one,) for one in lines])

    def _special(self, args: tuple[object, ...]) -> Iterator[str | int]:
        theorem, values, _ = args
        yield from self._named(theorem)
        made = []
        for old, new in values:  # type: ignore[attr-defined]
            if isinstance(new, Ratio):
                tex = self._tex(new)
            elif isinstance(new, k.Rate):
                tex = self._tex(new.body)
            elif isinstance(new, k.Vec):
                tex = self.writer.vector(new).tex
            elif isinstance(new, k.Function):
                tex = self.writer.function(new).tex
            else:
                tex = str(new)
            name = self.writer.name(str(old))
            if name != tex:
                made.append(f"${name} := {tex}$")
        yield f" with {_and(made)}" if made else ", in other letters"

    def _named(self, theorem: object) -> Iterator[str | int]:
        """Yield a reference to a line, or what an inner theorem rests on.

        Raises:
            TypeError: it is no theorem.
        """
        if not isinstance(theorem, Theorem):
            raise TypeError(f"{theorem!r} is no theorem")
        if theorem in self.numbers:
            yield self.numbers[theorem]
            return
        name, args = _call(theorem)
        if name == "sum_over":
            yield from self._summed(args)
            return
        if _squares(theorem):
            yield _and([*self._added(args[1])])
            return
        refs, words = self._inside(theorem)
        words = [one for one in words if one not in _ALGEBRA] or words[:1]
        named: list[str | int] = [*refs, *words]
        yield from _listed([(one,) for one in named])

    def _inside(self, theorem: Theorem) -> tuple[list[int], list[str]]:
        """Return the lines and the rules that a theorem without a line rests on."""
        if theorem in self.numbers:
            return [self.numbers[theorem]], []
        name, args = _call(theorem)
        if name == "assume":
            return [], [self._fact(theorem)]
        refs: list[int] = []
        words = [] if name in GENERAL else [_word(theorem)]
        if name == "combine" and args[1]:
            words.append("squares that are not negative")
        for one in premises(theorem):
            more, said = self._inside(one)
            refs += more
            words += said
        return list(dict.fromkeys(refs)), list(dict.fromkeys(words))

    def _sign(self, sign: Theorem) -> list[str | int]:
        if sign in self.numbers:
            return [self.numbers[sign]]
        if _call(sign)[0] == "assume":
            return [self._fact(sign)]
        refs, words = self._inside(sign)
        return [*refs, *(words if not refs else [])]

    def _fact(self, theorem: Theorem) -> str:
        left, right = self.writer.sides(theorem.form)
        return rf"${left.tex} \le {right.tex}$"

    def _tex(self, number: object) -> str:
        if not isinstance(number, Ratio):
            raise TypeError(f"{number!r} is no number")
        return self.writer.number(number).tex


_ALGEBRA = {WORDS[name] for name in ALGEBRA}


def premises(theorem: Theorem) -> Iterator[Theorem]:
    """Yield the theorems among the arguments of the rule that made a theorem."""
    left: list[object] = [*reversed(_call(theorem)[1])]
    while left:
        one = left.pop()
        if isinstance(one, Theorem):
            yield one
        elif isinstance(one, tuple):
            left += reversed(one)


def _call(theorem: Theorem) -> tuple[str, tuple[object, ...]]:
    if theorem.call is None:
        raise ValueError(f"no rule made {theorem}")
    return theorem.call


def _word(theorem: Theorem) -> str:
    name, args = _call(theorem)
    return ASSUMED[type(cast(Hypothesis, args[0]))] if name == "given" else WORDS[name]


def _ordered(theorem: Theorem, known: dict[Theorem, int]) -> list[Theorem]:
    """Return what a theorem rests on and that is not known, premises first."""
    out: dict[Theorem, None] = {}
    left: list[tuple[Theorem, bool]] = [(theorem, False)]
    while left:
        one, done = left.pop()
        if one in out or one in known:
            continue
        if done:
            out[one] = None
            continue
        left.append((one, True))
        left += [(p, False) for p in reversed(list(premises(one)))]
    return list(out)


def _speaks(one: Theorem, known: set[Hypothesis]) -> bool:
    """Return whether a theorem is an inequality that a reader wants to see."""
    name = _call(one)[0]
    if one.equal or not one.form:
        return False
    if name == "assume":
        return not one.hypotheses <= known and one.form.expects
    return name not in {"square", "weight_below_one"} and not _squares(one)


def _squares(one: Theorem) -> bool:
    """Return whether a theorem says that squares, or sums of them, are not negative."""
    name, args = _call(one)
    if name == "sum_over":
        return _squares(next(premises(one)))
    if name != "combine" or args[0] or not args[1]:
        return False
    return not _rest(args[1], one.form)


def _rest(squares: Any, form: k.Lin) -> k.Lin:
    """Return what a form is more than squares."""
    return form - k.Lin.weighted((k.norm2(u), c) for u, c in squares)


def _joins(one: Theorem) -> bool:
    return _call(one)[0] == "sum_over"


def _serves(one: Theorem) -> bool:
    """Return whether a sum says what a theorem says: it is a rule's, or a sum."""
    name, _ = _call(one)
    return name not in GENERAL or name == "sum_over"


def _and(words: list[str]) -> str:
    return ", ".join(words[:-1]) + (" and " if len(words) > 1 else "") + words[-1]


def _listed(parts: list[tuple[str | int, ...]]) -> Iterator[str | int]:
    for place, part in enumerate(parts):
        if place:
            yield " and " if place == len(parts) - 1 else ", "
        yield from (one for one in part if one != "")


def _joined(parts: Iterator[str | int], first: bool = True) -> Iterator[str | int]:
    """Yield neighbouring texts as one, the first with a capital."""
    text = ""
    for one in parts:
        if isinstance(one, int):
            if text:
                yield text[:1].upper() + text[1:] if first else text
            first, text = False, ""
            yield one
        else:
            text += one
    if text:
        yield text[:1].upper() + text[1:] if first else text
