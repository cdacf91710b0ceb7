r"""The ledger as a LaTeX document: statements, verdicts, repairs with their proofs.

Statements are as they were written; the lines of proofs are typeset from the kernel's
terms (`notation.steps`). The document needs amsmath, amssymb and amsthm only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date
from fractions import Fraction
from importlib import import_module

from bounds.page import KINDS
from bounds.runs_in_words import run_in_words
from sfl_theory.evidence import (
    OURS,
    Claim,
    Kind,
    Model,
    Part,
    Proof,
    Severity,
    names,
)
from sfl_theory.ledger import STATUSES, Entry, coverage
from sfl_theory.notation.plain import ABOVE, BELOW, NAMES, in_words
from sfl_theory.notation.steps import Step, Steps
from sfl_theory.notation.writer import Writer, of_paper
from sfl_theory.papers import PAPERS

HEAD = r"""\documentclass[10pt,a4paper]{article}
\usepackage{amsmath,amssymb,amsthm}
\setlength{\textwidth}{165mm}\setlength{\oddsidemargin}{-3mm}
\setlength{\textheight}{245mm}\setlength{\topmargin}{-15mm}
\setlength{\parindent}{0pt}\setlength{\parskip}{3pt plus 1pt}
\sloppy
\allowdisplaybreaks
\AtBeginDocument{\setlength{\abovedisplayskip}{4pt plus 2pt}
\setlength{\belowdisplayskip}{4pt plus 2pt}
\setlength{\abovedisplayshortskip}{2pt plus 1pt}
\setlength{\belowdisplayshortskip}{3pt plus 1pt}}
\theoremstyle{plain}
\newtheorem*{printed}{Printed}
\newtheorem*{added}{Added by the audit}
\newtheorem*{instead}{Repaired}
"""
PROVED_AT_LENGTH = (Kind.THEOREM, Kind.PROPOSITION, Kind.LEMMA)
"""Repairs of these kinds come with their proofs in a document of many claims."""
LINE = 78
"""Characters of a formula that fit into a line, roughly."""
ROWS = 20
"""From so many lines on a formula may go on on the next page."""
INLINE = 40
"""From so many on a formula inside text may be broken."""
SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
} | {c: rf"\{c}" for c in "_%&#{}$"}
GREEK = {sign: rf"\{name}" for name, sign in NAMES.items() if len(sign) == 1}
MATH = (
    {**GREEK, "ε": r"\epsilon", "τ̃": r"\tilde{\tau}", "Σ": r"\sum", "∇": r"\nabla"}
    | {"√": r"\surd", "≤": r"\le", "≥": r"\ge", "≠": r"\ne"}
    | {sign: f"_{{{c}}}" for c, sign in BELOW.items()}
)
"""Signs of `in_words`, without those above."""
RAISED = {sign: c for c, sign in ABOVE.items()}
HIGH, LOW = "".join(RAISED), "".join(BELOW.values())
SIGNS = re.compile(f"[A-Za-z](?=[{LOW}{HIGH}])|τ̃|[{HIGH}]+|[{''.join(MATH)}]")


def document(entries: Sequence[Entry], title: str = "") -> str:
    """Return the document.

    Args:
        entries: of one claim, a paper or all, in order; their evidence is replayed.
        title: in the place of the papers' names.

    Returns:
        LaTeX that compiles by itself.
    """
    papers = list(dict.fromkeys(entry.claim.id.split("/")[0] for entry in entries))
    single = len(entries) == 1
    heading = title or ("Audit of " + ", ".join(papers))
    out = [HEAD, rf"\title{{{text(heading)}}}", r"\author{}"]
    out += [rf"\date{{replayed {date.today().isoformat()}}}", r"\begin{document}"]
    out += [r"\maketitle", _about(entries)]
    if not single:
        out += [text("" if title else coverage(papers)), r"\tableofcontents"]
    before = 0
    for paper in papers:
        own = [e for e in entries if e.claim.id.split("/")[0] == paper]
        steps = Steps(of_paper(paper), before=before)
        out += _paper(paper, own, steps, single)
        before += len(steps.numbers)
    return "\n".join([*out, r"\end{document}", ""])


def _about(entries: Sequence[Entry]) -> str:
    """Return how verdicts came about, and their counts by status and severity."""
    counts = Counter(entry.outcome.status for entry in entries)
    falls = Counter(
        entry.claim.severity
        for entry in entries
        if entry.outcome.status == "refuted" and entry.claim.severity
    )
    words = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
    grave = ", ".join(f"{falls[s]} {s.value} ({s.means})" for s in Severity if falls[s])
    return (
        "Every verdict was earned by a replay when this document was made: "
        r"\textsc{proved} by a derivation, \textsc{refuted} by a model in which every "
        "hypothesis holds and the inequality fails, both in exact arithmetic; "
        rf"\textsc{{unproved}} is neither. Claims: {words}."
        + (rf" Of the refuted ones: {grave}." if grave else "")
        + " Statements are in the letters of their papers. The lines of proofs are "
        "typeset from the terms that the kernel decides, in one notation for all: "
        r"$a_n \ge 0$ are the clients' weights, $\sum_n a_n = 1$, "
        r"$f = \sum_n a_n F_n$; $x^t$ is the model before round $t$, $x_n^{t,i}$ that "
        r"of client $n$ before its step $i$; $x_c$ and $x_s$ are the client's and the "
        r"server's block; $g_n^{t,i} = \nabla F_n(x_n^{t,i}) + \xi_n^{t,i}$; "
        r"$1^t_{(m,j) < (n,i)}$ is 1 if step $j$ of client $m$ comes before step $i$ "
        r"of client $n$; $J_n^t$ is $1/q_n$ if client $n$ takes part in round $t$, "
        "else 0."
    )


def _paper(
    paper: str, entries: Sequence[Entry], steps: Steps, single: bool
) -> Iterator[str]:
    if paper in PAPERS:
        source = import_module(f"sfl_theory.papers.{paper}").__doc__ or paper
        first = re.sub(r"\*(.*?)\*", r"\1", source.strip().splitlines()[0])
        yield rf"\section{{{text(first)}}}"
    for kind, heading in KINDS.items():
        here = [entry for entry in entries if entry.claim.kind is kind]
        if here and not single:
            yield rf"\subsection{{{text(heading)}}}"
        for entry in here:
            yield from _entry(entry, steps, single)


def _entry(entry: Entry, steps: Steps, single: bool) -> Iterator[str]:
    claim, outcome, now = entry.claim, entry.outcome, entry.standing
    yield rf"\subsubsection*{{{text(claim.location)}: \texttt{{{text(claim.id)}}}}}"
    ours = claim.location == OURS
    said, where = (
        ("added", "") if ours else ("printed", f"[{{{text(claim.location)}}}]")
    )
    yield rf"\begin{{{said}}}{where} {text(claim.title)}"
    yield from _statements(claim.parts, steps.writer)
    yield rf"\end{{{said}}}"
    verdict = rf"\textbf{{{outcome.status.capitalize()}}}"
    if now.scope:
        verdict += " " + text(now.scope.rstrip("."))
    if claim.severity is not None and outcome.status == "refuted":
        verdict += f" (severity: {claim.severity.value}, {claim.severity.means})"
    yield verdict + "."
    if now.cause:
        yield rf"\emph{{Cause.}} {_sentence(now.cause)}"
    yield from _models(claim, outcome.lines)
    if claim.first_failure:
        first = claim.id_of(claim.first_failure)
        failing = rf"\emph{{First step that fails:}} \texttt{{{text(first)}}}."
        yield failing
    if claim.words:
        yield _sentence(claim.words)
    if outcome.status == "proved":
        yield from _proofs(claim.parts, steps, single)
    if claim.repair is not None and entry.repair is not None:
        status = entry.repair.status
        note = "" if status == "proved" else f", {status}"
        yield rf"\begin{{instead}}[{{{text(claim.repair.change.rstrip('.'))}{note}}}]"
        yield from _statements(claim.repair.parts, steps.writer)
        yield r"\end{instead}"
        if status == "proved":
            at_length = single or claim.kind in PROVED_AT_LENGTH
            yield from _proofs(claim.repair.parts, steps, at_length)
    yield rf"{{\footnotesize Replay: \texttt{{{text(entry.reproduce)}}}\par}}"


def _statements(parts: Sequence[Part], writer: Writer) -> Iterator[str]:
    """Yield each part's assumptions and its formula as it was written."""
    known: tuple[str, ...] = ()
    seen: set[tuple[str, ...]] = set()
    for part in parts:
        runs = sorted(part.says.runs, key=str)
        given = [f"the run is {run_in_words(run, writer)}" for run in runs]
        given += dict.fromkeys(f"${_inline(one.tex)}$" for one in part.says.assumed)
        now = tuple(given)
        if (*now, part.says.tex) in seen:
            continue
        seen.add((*now, part.says.tex))
        if now and now != known:
            yield "Assume " + "; ".join(given) + ". Then"
        elif now:
            yield "Under the same assumptions"
        known = now
        yield _displayed(part.says.tex)
        if symbols := ", ".join(f"${one}$" for one in part.says.definitions):
            yield f"where {symbols}."


def _models(claim: Claim, lines: Sequence[str]) -> Iterator[str]:
    """Yield what breaks refuted parts: the model in words, both sides in it."""
    sides, name = {}, ""
    for line in lines:
        if found := re.fullmatch(r"(\S+): refuted", line):
            name = found[1]
        elif name and line.startswith("  in a model that meets them: "):
            sides[name] = line.partition(": ")[2]
            name = ""
    for name, part in zip(names(claim, claim.parts), claim.parts, strict=True):
        if isinstance(part.by, Model) and name in sides and not part.says.denied:
            words = part.by.words
            run = part.by.run().words + "." if part.by.run is not None else ""
            told = " ".join(filter(None, (_sentence(run), _sentence(words))))
            yield (
                rf"\emph{{Counterexample.}} {told} There the two sides are "
                f"{text(_shorter(sides[name]))}."
            )


def _shorter(line: str) -> str:
    """Return a line of the kernel with long fractions as decimals."""

    def decimal(found: re.Match[str]) -> str:
        return f"{float(Fraction(found[0])):.6g}"

    head, _, _ = line.partition(" (apart")
    return re.sub(r"(?<![\d.])-?(\d{5,}(/\d+)?|\d+/\d{4,})(?![\d.])", decimal, head)


def _proofs(parts: Sequence[Part], steps: Steps, at_length: bool) -> Iterator[str]:
    """Yield the proofs of parts: the idea in words, then the lines."""
    for place, part in enumerate(parts):
        if not isinstance(part.by, Proof):
            continue
        which = f" of the {_ordinal(place)} inequality" if len(parts) > 1 else ""
        if not at_length:
            if part.by.words:
                yield rf"\emph{{Idea{which}.}} {_sentence(part.by.words)}"
            continue
        yield rf"\begin{{proof}}[Proof{which}]"
        if part.by.words:
            yield rf"\emph{{Idea.}} {_sentence(part.by.words)}\par"
        theorem = part.by.theorem()
        lines = steps.of(theorem, part.says.hypotheses)
        for line in lines:
            yield from _line(line)
        last = rf"\eqref{{s:{steps.numbers[theorem]}}}"
        yield f"This is the claim: {last}." if not lines else "This is the claim."
        yield r"\end{proof}"


def _ordinal(place: int) -> str:
    words = ("first", "second", "third", "fourth", "fifth", "sixth")
    return words[place] if place < len(words) else f"{place + 1}th"


def _line(line: Step) -> Iterator[str]:
    reason = "".join(
        rf"\eqref{{s:{one}}}" if isinstance(one, int) else text(one)
        for one in line.reason
    )
    sign = "=" if line.equal else r"\le"
    yield f"{reason}:"
    yield _displayed(f"{line.left.tex} {sign} {line.right.tex}", f"s:{line.number}")


def _sentence(words: str) -> str:
    """Return text that ends a sentence."""
    words = text(words.strip())
    return words if not words or words[-1] in ".!?" else words + "."


def text(words: str) -> str:
    """Return text as LaTeX; what stands between dollars is LaTeX already."""
    parts = words.split("$")
    if len(parts) % 2 == 0:
        return _prose(words)
    return "".join(
        f"${_inline(part)}$" if place % 2 else _prose(part)
        for place, part in enumerate(parts)
    )


def _prose(words: str) -> str:
    """Return text without formulas, what it spells as signs."""
    out, last = "", 0
    words = in_words(words)
    for found in SIGNS.finditer(words):
        out += "".join(SPECIAL.get(c, c) for c in words[last : found.start()])
        sign = MATH.get(found[0], found[0])
        if sign[0] in RAISED:
            sign = f"^{{{''.join(map(RAISED.__getitem__, sign))}}}"
        joined = out.endswith("$") and last == found.start() and last
        before = out[:-1] + " " * sign[0].isalpha() if joined else f"{out}$"
        out = f"{before}{sign}$"
        last = found.end()
    return out + "".join(SPECIAL.get(c, c) for c in words[last:])


def _inline(tex: str) -> str:
    """Return a formula inside text; a long one may be broken."""
    if width(tex) <= INLINE:
        return tex
    opened = re.sub(r"\\(left|right)(?![a-z])", "", _opened(tex))
    return re.sub(r", |(?=\\ \\text\{for )", r"\g<0>\\allowbreak ", opened)


# Formulas in lines -------------------------------------------------------------------


def _displayed(tex: str, label: str = "") -> str:
    """Return a formula of its own, with a number if it has a label."""
    lines, star = broken(tex), "" if label else "*"
    name = rf"\label{{{label}}}" if label else ""
    if long := lines.count("\n") >= ROWS:
        lines = lines.replace(" \\\\\n", " \\notag \\\\\n") + name
    else:
        lines = f"{name}\\begin{{split}}\n{lines}\n\\end{{split}}"
    kind = ("align" if long else "equation") + star
    return f"\\begin{{{kind}}}\n{lines}\n\\end{{{kind}}}"


def broken(tex: str, limit: int = LINE) -> str:
    r"""Return a formula for `split`: broken before relations, then before signs.

    Args:
        tex: the formula.
        limit: characters that fit into a line, roughly.

    Returns:
        Lines, each aligned at its relation.
    """
    sides = re.split(r" (?=(?:\\le|\\ge|=) )", tex)
    sides = _outermost(tex, sides)
    left = width(sides[0])
    short = len(sides) > 1 and left < limit // 3
    lines = [_lines(side, limit - left * short) for side in sides]
    rows: list[str] = []
    for place, side in enumerate(lines):
        first, *rest = side
        if place == 1 and short:
            rows[0] = f"{rows[0].removeprefix('&')} &{first}"
        else:
            rows.append(f"&{first}" if place or not short else first)
        rows += [rf"&\qquad {one}" for one in rest]
    if len(rows) == 2 and not short and width(tex) <= limit:
        return tex
    return " \\\\\n".join(rows)


def _outermost(tex: str, sides: list[str]) -> list[str]:
    """Return the sides of a chain, relations inside brackets left alone."""
    out: list[str] = []
    for side in sides:
        if out and _depth(out[-1]) != 0:
            out[-1] += " " + side
        else:
            out.append(side)
    return out


def _depth(tex: str) -> int:
    opened = len(re.findall(r"\\left(?![a-z])", tex)) - len(
        re.findall(r"\\right(?![a-z])", tex)
    )
    return opened + tex.count("{") - tex.count("}")


def _lines(side: str, limit: float) -> list[str]:
    """Return a side in lines of summands; too long a summand is opened."""
    pieces: list[str] = []
    for piece in _summands(side):
        pieces += _fitting(piece, limit)
    lines = [pieces[0]]
    for piece in pieces[1:]:
        if width(lines[-1]) + width(piece) > limit:
            lines.append(piece)
        else:
            lines[-1] += " " + piece
    return lines


def _fitting(piece: str, limit: float) -> list[str]:
    """Return a summand, or what it is opened to, again if need be."""
    if width(piece) <= limit:
        return [piece]
    opened = _opened(piece, r"\bigl", r"\bigr")
    if opened == piece:
        return [piece]
    return [one for part in _summands(opened) for one in _fitting(part, limit)]


def _summands(side: str) -> list[str]:
    pieces, now, depth = [], "", 0
    for token in re.split(r"( (?=[+-] ))", side):
        if now and depth == 0 and token.startswith(("+", "-")):
            pieces.append(now.rstrip())
            now = ""
        now += token
        depth = _depth(now)
    return [*pieces, now]


def _opened(tex: str, left: str = "", right: str = "") -> str:
    r"""Return a formula whose outermost brackets do not keep it from being broken.

    A fraction with a long numerator becomes a fraction of 1 and a bracket.
    """
    out, depth, start = "", 0, 0
    for found in re.finditer(r"\\left(?![a-z])|\\right(?![a-z])|[{}]", tex):
        token = found[0]
        if token == r"\right" or token == "}":
            depth -= 1
        if depth == 0 and token.startswith("\\"):
            out += tex[start : found.start()] + (left if "left" in token else right)
            start = found.end()
        if token == r"\left" or token == "{":
            depth += 1
    out += tex[start:]
    for found in re.finditer(r"\\frac\{", out):
        head, rest = out[: found.start()], out[found.end() :]
        if _depth(head) == 0:
            top, low, after = _fraction(rest)
            if width(top) > INLINE:
                opened = rf"{head}\frac{{1}}{{{low}}} {left}({top}{right}){after}"
                return opened.replace(r"\frac{1}{}", "")
    return out


def _fraction(rest: str) -> tuple[str, str, str]:
    """Return numerator, denominator and what follows, the first bracket being open."""
    parts, depth, start = [], 1, 0
    for place, c in enumerate(rest):
        depth += {"{": 1, "}": -1}.get(c, 0)
        if depth == 0 and c == "}":
            parts.append(rest[start:place])
            start = place + 2
            if len(parts) == 2:
                return parts[0], parts[1], rest[place + 1 :]
    return rest, "", ""


_FRACTION = re.compile(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{((?:[^{}]|\{[^{}]*\})*)\}")


def width(tex: str) -> float:
    """Return about how many characters a formula is wide."""
    while found := _FRACTION.search(tex):
        top, low = (width(part) for part in found.groups())
        tex = f"{tex[: found.start()]}{'x' * round(max(top, low))}{tex[found.end() :]}"
    tex = re.sub(r"\\sum_\{[^{}]*\}(\^\{(?:[^{}]|\{[^{}]*\})*\})?", "xxx", tex)
    tex = re.sub(r"\\(left|right|mathbb|mathrm|text|tilde|bar)\b", "", tex)
    scripts = re.findall(r"[_^]\{((?:[^{}]|\{[^{}]*\})*)\}", tex)
    tex = re.sub(r"[_^]\{((?:[^{}]|\{[^{}]*\})*)\}", "", tex)
    tex = re.sub(r"\\[A-Za-z]+", "x", tex)
    plain = len(re.sub(r"[{}\\ ]", "", tex)) + 1.2 * len(re.findall(r" [+-] ", tex))
    return plain + sum(0.7 * width(one) for one in scripts)
