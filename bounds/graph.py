"""Who is used by whose proof: the dependence graph of a paper as SVG.

Claims stand in columns, what is used to the left of what uses it. A claim that uses
nothing stands just left of its first user, and within a column claims are sorted by
where their neighbours stand, so that lines are short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from sfl_theory.ledger import Entry

COLOURS = {"proved": "#00694b", "refuted": "#b5460f", "unproved": "#6b6b6b"}
MARKS = {"proved": "\u2713", "refuted": "\u2717", "unproved": "?"}
BOX, ROW, COLUMN, SWEEPS = 215, 22, 280, 6

Uses = Mapping[str, Sequence[str]]
Columns = list[list[str]]


def graph(entries: Sequence[Entry]) -> str:
    """Draw the dependences among the entries.

    Args:
        entries: of one paper.

    Returns:
        A box that scrolls, or nothing where no claim uses another.
    """
    status = {entry.claim.id: entry.outcome.status for entry in entries}
    uses = {
        entry.claim.id: [name for name in entry.claim.depends_on if name in status]
        for entry in entries
    }
    linked = {name for pair in uses.items() if pair[1] for name in (pair[0], *pair[1])}
    if not linked:
        return ""
    columns = _ordered(_columns([n for n in status if n in linked], uses), uses)
    at = {
        name: (x * COLUMN + 5, 5 + y * ROW)
        for x, names in enumerate(columns)
        for y, name in enumerate(names)
    }
    lines = "".join(_line(at[used], at[name]) for name in at for used in uses[name])
    boxes = "".join(_box(name, status[name], *place) for name, place in at.items())
    width = COLUMN * len(columns)
    height = ROW * max(map(len, columns)) + 10
    return (
        f'<div class="graph" tabindex="0"><svg width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Which claim uses which">{lines}{boxes}</svg></div>'
    )


def _columns(names: Sequence[str], uses: Uses) -> Columns:
    """Return the claims by column, in the order given."""
    depth: dict[str, int] = {}

    def level(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max((level(other) for other in uses[name]), default=-1)
        return depth[name]

    for name in names:
        level(name)
    for name in names:
        users = [depth[other] for other in names if name in uses[other]]
        if not uses[name] and users:
            depth[name] = min(users) - 1
    return [
        [name for name in names if depth[name] == x]
        for x in range(max(depth.values()) + 1)
    ]


def _ordered(columns: Columns, uses: Uses) -> Columns:
    """Return the columns sorted by the mean place of neighbours, sweep by sweep."""
    near: dict[str, list[str]] = {name: list(uses[name]) for c in columns for name in c}
    for name in list(near):
        for used in uses[name]:
            near[used].append(name)
    for _ in range(SWEEPS):
        place = {name: y for names in columns for y, name in enumerate(names)}
        columns = [
            sorted(names, key=lambda n: sum(place[m] for m in near[n]) / len(near[n]))
            for names in columns
        ]
    return columns


def _line(used: tuple[int, int], user: tuple[int, int]) -> str:
    x0, y0, x1, y1 = used[0] + BOX, used[1] + 9, user[0], user[1] + 9
    bend = (COLUMN - BOX) // 2
    return (
        f'<path d="M{x0} {y0}C{x0 + bend} {y0} {x1 - bend} {y1} {x1} {y1}" '
        'fill="none" stroke="#aaa"/>'
    )


def _box(name: str, status: str, x: int, y: int) -> str:
    return (
        f'<a href="#{escape(name)}"><rect x="{x}" y="{y}" width="{BOX}" height="18" '
        f'rx="3" fill="{COLOURS[status]}"/><text x="{x + 6}" y="{y + 13}" '
        f'font-size="11" fill="#fff">{MARKS[status]} '
        f"{escape(name.split('/', 1)[1])}</text></a>"
    )
