"""A claim and what runs say about it, as an entry of the report's page."""

from __future__ import annotations

from html import escape

from figures.checking import span, words
from figures.judging import Judgement, Part, Result, in_words
from figures.scale import Preset

LOOK = {
    "reproduced": ("proved", "\u2713"),
    "not reproduced": ("refuted", "\u2717"),
    "undecided": ("unproved", "?"),
    "not tested": ("unproved", "\u2013"),
}
"""Class and mark of a verdict's badge; the mark tells them apart without colours."""


def entry(result: Result, preset: Preset, audit: str | None) -> str:
    """Return the entry.

    Args:
        result: of a claim.
        preset: the sizes.
        audit: address of the audit's page, or None.

    Returns:
        HTML, closed until it is asked for.
    """
    claim = result.claim
    verdict = result.verdict if isinstance(result, Judgement) else "not tested"
    parts = [
        ("sentence", f"\u201c{escape(claim.quote)}\u201d"),
        ("where", escape("; ".join((claim.location, *claim.also)))),
        ("tested", escape(f"{claim.reading}; {claim.test.words}")),
        ("figures", ", ".join(f'<a href="#{key}">{key}</a>' for key in claim.figures)),
        ("result", _effects(result)),
    ]
    if claim.audit:
        parts.append(("audit", ", ".join(_audit(name, audit) for name in claim.audit)))
    command = f"python -m figures check --claim {claim.id}"
    parts.append(("again", f"<code>{escape(command)}</code>"))
    body = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in parts)
    look, mark = LOOK[verdict]
    size = words(result.part) if isinstance(result, Judgement) else ""
    return (
        f'<details id="{escape(claim.id)}"><summary><span class="status {look}">{mark} '
        f"{in_words(verdict, preset)}</span> <code>{escape(claim.id)}</code> <span "
        f'class="note">{escape(size)}</span></summary>'
        f"<dl>{body}</dl></details>"
    )


def _effects(result: Result) -> str:
    if not isinstance(result, Judgement):
        return escape(result.why)
    rows = "".join(
        _row(part, result, k == result.decisive) for k, part in enumerate(result.parts)
    )
    head = "".join(
        f"<th>{name}</th>"
        for name in (
            "effect",
            "verdict",
            f"interval, Holm among {result.family}",
            "uncorrected",
            "paper",
            "seeds to decide",
        )
    )
    return (
        '<div class="wide effects" tabindex="0"><table>'
        f"<tr>{head}</tr>{rows}</table></div>"
    )


def _row(part: Part, result: Judgement, decisive: bool) -> str:
    name = escape(words(part))
    if part.known:
        name += "; one training on both sides, verified, in no family"
    elif part.exact:
        name += "; the curves coincide in every round and seed"
    cells = (
        f"<strong>{name}</strong>" if decisive and len(result.parts) > 1 else name,
        part.verdict,
        span(part.found),
        span(part.uncorrected),
        "" if part.printed is None else f"{part.printed:+.2f}",
        "" if part.seeds_to_decide is None else f"about {part.seeds_to_decide}",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _audit(name: str, audit: str | None) -> str:
    if audit is None:
        return f"<code>python -m bounds.audit --claim {escape(name)}</code>"
    return f'<a href="{escape(audit)}#{escape(name)}">{escape(name)}</a>'
