"""Text with formulas between dollars as HTML; a formula is a picture of its own."""

from __future__ import annotations

import base64
import io
from functools import cache
from html import escape

from matplotlib import rc_context
from matplotlib.font_manager import FontProperties
from matplotlib.mathtext import math_to_image

SIZE = 11


def with_formulas(text: str) -> str:
    """Return text as HTML.

    Args:
        text: with LaTeX between dollars.

    Returns:
        The text, escaped, with a picture for every formula.
    """
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(
        _picture(part) if k % 2 else escape(part) for k, part in enumerate(parts)
    )


@cache
def _picture(latex: str) -> str:
    """Return a formula, as its source where it cannot be drawn."""
    stream = io.BytesIO()
    try:
        # The salt names the glyphs: the same formula gives the same bytes.
        with rc_context({"svg.hashsalt": "formula"}):
            math_to_image(
                f"${latex}$", stream, FontProperties(size=SIZE), dpi=72, format="svg"
            )
    except ValueError:
        return f"<code>{escape(latex)}</code>"
    return (
        f'<img class="formula" alt="{escape(latex)}" '
        f'src="{data("image/svg+xml", stream.getvalue())}">'
    )


def data(kind: str, content: bytes) -> str:
    """Return an address that holds what it points to.

    Args:
        kind: media type.
        content: of the file.

    Returns:
        ``data:...``.
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
