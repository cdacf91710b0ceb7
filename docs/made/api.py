"""The API reference: a page per package, read from the sources, nothing imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from bounds.mathml import mathml

ROOT = Path(__file__).parents[2]
PACKAGES = ("sfl_theory", "sfl_train", "bounds", "figures")
LEFT_OUT = re.compile(r"sfl_theory/(papers|proofs)/|figures/papers/|/_")
"""Papers have pages of their own; a proof is read in its file."""
SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields):")
ITEM = re.compile(r"(\S[^:]*): (.*)")
MARKED = re.compile(r"``([^`]+)``|`([^`]+)`|\$([^$]+)\$", re.DOTALL)
Named = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the reference's pages."""
    groups: dict[str, list[Path]] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            where = path.relative_to(ROOT).as_posix()
            inside = path.name != "__init__.py"
            if inside and LEFT_OUT.search(where):
                continue
            if not LEFT_OUT.search(f"{path.parent.relative_to(ROOT).as_posix()}/"):
                groups.setdefault(".".join(path.relative_to(ROOT).parent.parts), [])
                groups[".".join(path.relative_to(ROOT).parent.parts)].append(path)
    names = "\n".join(groups)
    yield (
        "index.md",
        "# API reference\n\nRead from the docstrings: every public name of every "
        "module, but for the papers' claims and proofs: read their files.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```\n",
    )
    for home, paths in groups.items():
        modules = "\n".join(_module(path) for path in paths)
        yield f"{home}.md", f"# {home}\n\n{modules}"


def _module(path: Path) -> str:
    """Return a module's section; of a package itself, only what it says."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    title = "" if path.name == "__init__.py" else f"## {name.rpartition('.')[2]}\n\n"
    body = documented(ast.get_docstring(tree) or "")
    body += "".join(_named(node, name) for node in _public(tree))
    return f"{title}```{{raw}} html\n{body}\n```\n"


def _public(tree: ast.Module | ast.ClassDef) -> Iterator[Named]:
    for node in tree.body:
        if isinstance(node, Named) and not node.name.startswith("_"):
            yield node


def _named(node: Named, home: str) -> str:
    """Return a function or class with what is public in it."""
    full = f"{home}.{node.name}"
    inside = ""
    if isinstance(node, ast.ClassDef):
        head = f"class {node.name}"
        bases = ", ".join(map(ast.unparse, node.bases))
        head += f"({bases})" if bases else ""
        inside = "".join(_named(one, full) for one in _public(node))
    else:
        marks = {ast.unparse(one).rpartition(".")[2] for one in node.decorator_list}
        returns = f" → {ast.unparse(node.returns)}" if node.returns else ""
        kept = bool(marks & {"property", "cached_property"})
        head = node.name + ("" if kept else f"({_arguments(node.args)})") + returns
    return (
        f'<dl class="api"><dt id="{full}"><code>{escape(head)}</code></dt>'
        f"<dd>{documented(ast.get_docstring(node) or '')}{inside}</dd></dl>"
    )


def _arguments(given: ast.arguments) -> str:
    words = re.split(r",\s(?![^\[(]*[\])])", ast.unparse(given))
    return ", ".join(one for one in words if not re.fullmatch(r"self|cls", one))


def documented(text: str) -> str:
    """Return a docstring in Google's style as HTML."""
    out = ""
    for part in filter(None, re.split(r"\n\s*\n", text)):
        lines = part.splitlines()
        found = SECTION.fullmatch(lines[0].strip())
        if found is None:
            out += f"<p>{marked(part)}</p>"
            continue
        out += f"<p><strong>{found.group(1)}</strong></p><ul>"
        for item in re.split(r"\n(?=    \S)", "\n".join(lines[1:])):
            named = ITEM.match(item.strip())
            head, words = ("", item) if named is None else named.groups()
            rest = item.strip()[len(head) + 1 :] if named else words
            code = f"<code>{escape(head)}</code>: " if head else ""
            out += f"<li>{code}{marked(rest.strip())}</li>"
        out += "</ul>"
    return out


def marked(text: str) -> str:
    """Return text as HTML, with its code and its formulas."""
    out, end = "", 0
    for found in MARKED.finditer(text):
        code = found.group(1) or found.group(2)
        out += escape(text[end : found.start()])
        formula = found.group(3)
        out += mathml(formula, display=False) if formula else f"<code>{code}</code>"
        end = found.end()
    return out + escape(text[end:])
