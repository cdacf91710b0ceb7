"""A proof in a few sentences, told from its steps."""

from __future__ import annotations

from collections import Counter
from html import escape

from bounds.page.drawn import DrawnPart
from bounds.page.links import Packed, assumptions
from sfl_theory.evidence import Says

BRINGS = {
    "given": "what is assumed",
    "smooth": "smoothness",
    "stationary": "the vanishing gradient at the minimiser",
    "mean_value": "the mean of the clients' functions",
    "mean_gradient": "the mean of the clients' gradients",
    "descend": "the gradient step",
    "update": "the round's update",
    "local_update": "local steps",
    "unbiased": "noise of mean 0",
    "unbiased_across": "uncorrelated noise of different clients",
    "drawn": "the law of the draws",
    "shared": "the mean of those present",
    "expect": "the mean over the draws",
    "tower": "conditional means",
    "ordered": "the order of visits",
    "jensen": "Jensen's inequality",
    "induct": "induction",
    "cases": "two cases",
}
"""What a rule brings into a proof; the others only join, sum and rewrite."""


def prose(says: Says, part: DrawnPart, write: Packed) -> str:
    """Return a proof: what it rests on, and the place where its steps unfold.

    Args:
        says: what is proved.
        part: its proof.
        write: holds its steps.

    Returns:
        HTML.
    """
    steps = write.book.steps(part.proof).values()
    names = Counter(str(step[0]) for step in steps)
    brought = ", ".join(
        words + (f" ({names[rule]})" if names[rule] > 1 else "")
        for rule, words in BRINGS.items()
        if names[rule]
    )
    squares = sum(len(step[5]) for step in steps if isinstance(step[5], list))
    sentences = [
        f"The kernel derives it in {_count(len(steps), 'step')}"
        + (f" from {brought}" if brought else "")
        + (f"; {_count(squares, 'square')} \u2265 0 added" if squares else "")
        + "."
    ]
    if part.used:
        sentences.append(f"It uses {escape(', '.join(part.used))}.")
    if part.unused:
        spared = assumptions(says.assumed[place] for place in part.unused)
        sentences.append(f"It does not need {spared}.")
    told = write.gap(" ".join(sentences), _count(len(steps), "step"), "p")
    lines = ""
    if part.lines:
        lines = f'<div class="steps" data-f="{part.lines}"></div>'
    return f'{told}{lines}<div data-root="{part.proof}"></div>'


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
