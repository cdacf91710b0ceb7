"""What rests on what, as SVG: the paper's proof, and ours.

Theorems stand on the left, in view; what they rest on to the right of them, so an arrow
points from what is used to what uses it. Within a column claims are sorted by where
their neighbours stand, so that lines are short.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

BOX, HIGH, ROW, COLUMN, SWEEPS = 236, 20, 26, 300, 8
FIT = 32
"""So many characters fit into a box."""

Uses = Mapping[str, Sequence[str]]
Columns = list[list[str]]


@dataclass(frozen=True)
class Node:
    """A box of the graph.

    Attributes:
        status: "proved", "refuted", "unproved", or "assumed" for an assumption.
        label: what stands in it.
        target: id of the entry that it links to; "": none.
        result: whether it is a theorem or proposition.
    """

    status: str
    label: str
    target: str = ""
    result: bool = False


MARKS = {"proved": "\u2713", "refuted": "\u2717", "unproved": "?", "assumed": "\u2022"}


def graph(nodes: Mapping[str, Node], uses: Uses, words: str) -> str:
    """Draw who rests on whom.

    Args:
        nodes: by name.
        uses: name -> what it uses; names that are no node are left out.
        words: what the picture shows.

    Returns:
        A box that scrolls, or nothing where no node uses another.
    """
    own = {name: [u for u in uses.get(name, ()) if u in nodes] for name in nodes}
    linked = {name for pair in own.items() if pair[1] for name in (pair[0], *pair[1])}
    if not linked:
        return ""
    names = [name for name in nodes if name in linked]
    columns = _ordered(_columns(names, own), own, nodes)
    at = {
        name: (x * COLUMN + 14, 6 + y * ROW)
        for x, column in enumerate(columns)
        for y, name in enumerate(column)
    }
    number = {name: place for place, name in enumerate(at)}
    lines = "".join(
        _line(at[used], at[name], number[used], number[name])
        for name in at
        for used in own[name]
    )
    boxes = "".join(
        _box(nodes[name], number[name], *place) for name, place in at.items()
    )
    width = COLUMN * len(columns) - COLUMN + BOX + 28
    height = ROW * max(map(len, columns)) + 12
    return (
        f'<div class="graph" tabindex="0" role="region" aria-label="{escape(words)}">'
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" aria-label="{escape(words)}">{lines}{boxes}</svg></div>'
    )


def _columns(names: Sequence[str], uses: Uses) -> Columns:
    """Return the names by column: what nobody uses is in the first.

    Where names use each other in a circle, the first one stands before the others.
    """
    users: dict[str, list[str]] = {name: [] for name in names}
    for name in names:
        for used in uses[name]:
            users[used].append(name)
    depth: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in depth:
            depth[name] = 0
            depth[name] = max((level(one) + 1 for one in users[name]), default=0)
        return depth[name]

    for name in names:
        level(name)
    return [
        [name for name in names if depth[name] == x]
        for x in range(max(depth.values()) + 1)
    ]


def _ordered(columns: Columns, uses: Uses, nodes: Mapping[str, Node]) -> Columns:
    """Return the columns sorted by the mean place of neighbours, sweep by sweep.

    Results stand at the top of theirs.
    """
    near: dict[str, list[str]] = {name: list(uses[name]) for c in columns for name in c}
    for name in list(near):
        for used in uses[name]:
            near[used].append(name)
    for _ in range(SWEEPS):
        place = {name: y for names in columns for y, name in enumerate(names)}

        def mean(name: str, place: Mapping[str, int] = place) -> tuple[bool, float]:
            places = [place[one] for one in near[name]]
            return not nodes[name].result, sum(places) / len(places)

        columns = [sorted(names, key=mean) for names in columns]
    return columns


def _line(used: tuple[int, int], user: tuple[int, int], a: int, b: int) -> str:
    """Return an arrow from what is used to what uses it."""
    x0, y0, x1, y1 = used[0], used[1] + HIGH / 2, user[0] + BOX, user[1] + HIGH / 2
    bend = (COLUMN - BOX) // 2 + 10
    return (
        f'<path class="edge" data-a="{a}" data-b="{b}" d="M{x0} {y0:g}C{x0 - bend} '
        f'{y0:g} {x1 + bend} {y1:g} {x1 + 5} {y1:g}l6 -3.5v7l-6 -3.5"/>'
    )


def _box(node: Node, number: int, x: int, y: int) -> str:
    kind = f"node {node.status}{' result' if node.result else ''}"
    short = node.label if len(node.label) <= FIT else f"{node.label[: FIT - 1]}\u2026"
    label = f"{MARKS[node.status]} {escape(short)}"
    told = f"<title>{escape(node.label)}</title>" if short != node.label else ""
    inner = (
        f'<rect x="{x}" y="{y}" width="{BOX}" height="{HIGH}" rx="4"/>'
        f'<text x="{x + 7}" y="{y + 14}">{label}</text>{told}'
    )
    if not node.target:
        return f'<g class="{kind}" data-n="{number}">{inner}</g>'
    href = escape(node.target)
    return f'<a class="{kind}" data-n="{number}" href="#{href}">{inner}</a>'


def legend(statuses: Iterable[str]) -> str:
    """Return what colours and arrows mean."""
    boxes = "".join(
        f'<span class="node {one}"><i></i>{MARKS[one]} {one}</span>' for one in statuses
    )
    return (
        f'<p class="legend">{boxes}<span><b>framed</b>: theorem or proposition</span>'
        "<span>an arrow goes from what is used to what rests on it; point at a box to "
        "see everything that it rests on and that rests on it</span></p>"
    )
