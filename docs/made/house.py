"""The picture of the house: which room imports which; in docs: `python -m made.house`.

Every room stands above all it imports; an import that follows from two others is not
drawn. Papers are found by name when they are asked for, so nothing imports them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "pictures" / "house.svg"
ROOMS = {
    "sfl_theory.kernel": ("kernel", "decides proved and refuted"),
    "sfl_theory.notation": ("notation", "terms and LaTeX at once"),
    "sfl_theory.proofs": ("proofs", "derivations by the rules"),
    "sfl_theory.models": ("models", "what breaks claims"),
    "sfl_theory.evidence": ("evidence", "a claim and what decides it"),
    "sfl_theory.papers": ("papers", "what each paper says"),
    "sfl_theory.worst_case": ("worst_case", "exact worst cases"),
    "sfl_theory.mutation": ("mutation", "could the proofs fail?"),
    "sfl_theory.benchmark": ("benchmark", "claims as records"),
    "sfl_theory.ledger": ("ledger", "all claims, replayed"),
    "sfl_train": ("sfl_train", "problems, algorithms, runs"),
    "bounds": ("bounds", "compare, audit, mutate"),
    "figures": ("figures", "figures and tables"),
}
"""Module or package -> its room, and what it is for; other folders are rooms, too."""
LIBRARY = ("library", "bounds and constants")
ANSWERS = ("answers", "best, lower, show, backing")
"""Modules of the library that need claims, and what needs these."""
WIDTH, HEIGHT, GAP_X, GAP_Y = 168, 46, 26, 44


def imports() -> dict[str, set[str]]:
    """Return the rooms that each room imports.

    Returns:
        Room -> rooms; what is imported inside a function does not count.
    """
    found = {
        name: set(_imported(path))
        for package in ("sfl_theory", "sfl_train", "bounds", "figures")
        for path in (ROOT / package).rglob("*.py")
        if (name := _module(path))
    }
    asking = {"sfl_theory.evidence", "sfl_theory.ledger"}
    own = {name for name in found if name.count(".") == 1 and _known(name) is None}
    while more := {n for n in own - asking if found[n] & asking}:
        asking |= more
    rooms: dict[str, set[str]] = {}
    for name, others in found.items():
        here = _room(name, asking)
        there = {_room(one, asking) for one in others if one != "sfl_theory.papers"}
        rooms.setdefault(here, set()).update(there - {here})
    return rooms


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    name = ".".join(parts)
    return "" if name in {"sfl_theory.__init__", "sfl_theory.__main__"} else name


def _imported(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            here = (ROOT / node.module.replace(".", "/")).is_dir()
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            names = inside if here and node.module == "sfl_theory" else [node.module]
        for name in names:
            if name.split(".")[0] in {"sfl_theory", "sfl_train", "bounds", "figures"}:
                yield name


def _known(module: str) -> tuple[str, str] | None:
    parts = module.split(".")
    for size in range(len(parts), 0, -1):
        if (room := ROOMS.get(".".join(parts[:size]))) is not None:
            return room
    return None


def _room(module: str, asking: set[str]) -> str:
    if (room := _known(module)) is not None:
        return room[0]
    if module.count(".") > 1:
        return module.split(".")[1]
    return (ANSWERS if module in asking else LIBRARY)[0]


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return a graph without the edges that follow from others."""
    below: dict[str, set[str]] = {}
    for room in TopologicalSorter(graph).static_order():
        direct = graph[room]
        below[room] = direct | {far for near in direct for far in below[near]}
    return {
        room: {
            one
            for one in direct
            if not any(one in below[other] for other in direct - {one})
        }
        for room, direct in graph.items()
    }


def floors(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the rooms by floor, from the ground, each just under its lowest user."""
    users = {room: {one for one in graph if room in graph[one]} for room in graph}
    depth: dict[str, int] = {}
    for room in TopologicalSorter(users).static_order():
        depth[room] = 1 + max((depth[one] for one in users[room]), default=-1)
    out: list[list[str]] = []
    place: dict[str, float] = {}
    for number in range(max(depth.values()) + 1):
        here = sorted(room for room, at in depth.items() if at == number)
        here.sort(key=lambda r: sum(place[o] for o in users[r]) / (len(users[r]) or 1))
        place |= {room: k - (len(here) - 1) / 2 for k, room in enumerate(here)}
        out.append(here)
    return out[::-1]


def passing(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return a graph with a bend, named "FROM>TO>FLOOR", on every floor passed."""
    floor = {room: k for k, row in enumerate(floors(graph)) for room in row}
    out: dict[str, set[str]] = {room: set() for room in graph}
    for room, below in graph.items():
        for one in below:
            bends = (
                f"{room}>{one}>{k}" for k in range(floor[room] - 1, floor[one], -1)
            )
            for upper, lower in pairwise([room, *bends, one]):
                out.setdefault(upper, set()).add(lower)
    return out


def drawn(graph: dict[str, set[str]]) -> str:
    """Return the picture as SVG."""
    words = dict([*ROOMS.values(), LIBRARY, ANSWERS][::-1])
    edges = passing(reduced(graph))
    rows = floors(edges)
    width = max(map(len, rows)) * (WIDTH + GAP_X) + GAP_X
    height = len(rows) * (HEIGHT + GAP_Y)
    at: dict[str, tuple[float, float]] = {}
    for number, row in enumerate(rows):
        left = (width - len(row) * (WIDTH + GAP_X) + GAP_X + WIDTH) / 2
        y = height - (number + 1) * (HEIGHT + GAP_Y) + GAP_Y / 2
        at |= {room: (left + k * (WIDTH + GAP_X), y) for k, room in enumerate(row)}
    lines, boxes = "", ""
    for room, below in sorted(edges.items()):
        (x, y), bend = at[room], ">" in room
        lines += f'<path d="M{x:.0f} {y:.0f}v{HEIGHT}"/>' if bend else ""
        for one in sorted(below):
            x2, y2 = at[one]
            end, tip = (y2, "") if ">" in one else (y2 - 6, ' marker-end="url(#tip)"')
            half = (y + HEIGHT + y2) / 2
            lines += (
                f'<path d="M{x:.0f} {y + HEIGHT:.0f}C{x:.0f} {half:.0f} {x2:.0f} '
                f'{half:.0f} {x2:.0f} {end:.0f}"{tip}/>'
            )
        if not bend:
            about = escape(words.get(room, ""))
            fill = "#00694b" if room == "kernel" else "#2f4b66"
            middle = f'<text x="{x:.0f}" y="{{:.0f}}" {{}}>{{}}</text>'
            boxes += (
                f'<rect x="{x - WIDTH / 2:.0f}" y="{y:.0f}" width="{WIDTH}" '
                f'height="{HEIGHT}" rx="6" fill="{fill}"/>'
                + middle.format(y + 19, 'font-weight="bold"', escape(room))
                + middle.format(y + 36, 'font-size="11"', about)
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="14" text-anchor="middle" '
        'fill="#fff"><defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" '
        'markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8Z" '
        'fill="#888"/></marker></defs>'
        f'<g fill="none" stroke="#888" stroke-width="1.3">{lines}</g>{boxes}</svg>\n'
    )


def main() -> int:
    """Write the picture.

    Returns:
        The exit status.
    """
    PICTURE.write_text(drawn(imports()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
