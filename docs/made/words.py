"""Texts of the code as Markdown."""

from __future__ import annotations

import re

from sfl_theory.notation.plain import in_words

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|])")
SITE = re.compile(r"<!-- site: ?(.*?) ?-->", re.DOTALL)
SOURCES = re.compile(r"<!-- sources -->.*?<!-- /sources -->", re.DOTALL)


def prose(text: str) -> str:
    """Return a text, formulas between dollars, as Markdown that shows it as it is."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return SPECIAL.sub(r"\\\1", in_words(text)).replace("$", r"\$")
    return "".join(
        f"${part}$" if k % 2 else SPECIAL.sub(r"\\\1", in_words(part))
        for k, part in enumerate(parts)
    )


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def block(tex: str) -> str:
    """Return a formula on lines of its own."""
    return f"\n\n$$\n{tex}\n$$\n"


def note(title: str, body: str, kind: str) -> str:
    """Return a box.

    Args:
        title: its headline, as Markdown.
        body: as Markdown.
        kind: class of the box: a status, or "note".

    Returns:
        Markdown.
    """
    return f":::{{admonition}} {title}\n:class: {kind}\n\n{body}\n:::\n"


def adapted(text: str) -> str:
    """Return a page for the site, of which a part of its files is made.

    Args:
        text: of the sources: ``<!-- site: TEXT -->`` is for the site only, what stands
            between ``<!-- sources -->`` and ``<!-- /sources -->`` is not.

    Returns:
        The text that Sphinx reads.
    """
    return SITE.sub(r"\1", SOURCES.sub("", text))
