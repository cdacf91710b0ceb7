"""The site's own extension of Sphinx: generated pages, and formulas as MathML.

Formulas go through `bounds.mathml`, as on the audit's page, so nothing is fetched and
no script runs; a formula that it does not know is a warning, hence an error.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

from bounds.mathml import breakable
from made import api, papers, sheets
from made.words import adapted

MAKERS: dict[str, Callable[[], Iterable[tuple[str, str]]]] = {
    "papers": papers.pages,
    "theorems": sheets.pages,
    "api": api.pages,
}
"""Folder of the site -> what makes its files, as names and texts."""
LOG = logging.getLogger(__name__)


def generate(app: Sphinx) -> None:
    """Write the pages that are made from the code, and no others, into their folders.

    A file whose text has not changed is left alone, so Sphinx does not read it again.
    """
    for folder, make in MAKERS.items():
        root = Path(app.srcdir) / folder
        made = dict(make())
        for old in root.glob("*"):
            if old.name not in made:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        root.mkdir(exist_ok=True)
        for name, text in made.items():
            path = root / name
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def formula(writer: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula of a page.

    Raises:
        SkipNode: always; the formula is written.
    """
    block = isinstance(node, nodes.math_block)
    found = breakable(node.astext().strip(), display=block)
    if found.startswith("<code>"):
        LOG.warning("unknown LaTeX: %s", node.astext(), location=node)
    writer.body.append(f'<div class="math">{found}</div>' if block else found)
    raise nodes.SkipNode


def _read(_: Sphinx, name: str, content: list[str]) -> None:
    content[0] = adapted(content[0])


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the extension.

    Returns:
        That pages may be read and written in parallel.
    """
    app.connect("builder-inited", generate)
    app.connect("source-read", _read)
    app.add_html_math_renderer("house", (formula, None), (formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
