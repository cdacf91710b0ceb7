r"""A table on paper: cells of text with formulas between dollars, in three formats."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Row = tuple[str, ...]


@dataclass(frozen=True)
class Sheet:
    r"""A table.

    Attributes:
        caption: what it shows, in which size.
        columns: heads, the first of the column of row labels.
        rows: cells, as many as columns.
        groups: (head, number of columns) above the columns after the first; empty:
            none.
        notes: one line each.
        records: what the CSV holds, one mapping per line with the same keys; empty:
            the rows themselves.
    """

    caption: str
    columns: Row
    rows: tuple[Row, ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    records: tuple[Mapping[str, Any], ...] = ()

    def __post_init__(self) -> None:
        """Check the shape.

        Raises:
            ValueError: if a row or the groups do not fit the columns.
        """
        width = len(self.columns)
        if any(len(row) != width for row in self.rows):
            raise ValueError(f"{self.caption}: expected rows of {width} cells")
        if self.groups and sum(span for _, span in self.groups) != width - 1:
            raise ValueError(f"{self.caption}: the groups do not span {width} columns")

    @property
    def heads(self) -> Row:
        """The columns' heads in one line each, groups in front."""
        if not self.groups:
            return self.columns
        above = [head for head, span in self.groups for _ in range(span)]
        rest = zip(above, self.columns[1:], strict=True)
        return (self.columns[0], *(f"{head}: {column}" for head, column in rest))

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown."""
        lines = [f"**{self.caption}**", "", _line(self.heads)]
        lines += ["|" + "---|" * len(self.columns), *map(_line, self.rows)]
        lines += ["", *(f"- {note}" for note in self.notes)]
        return "\n".join(lines).rstrip() + "\n"

    def latex(self) -> str:
        r"""Return the table as LaTeX that needs ``booktabs``."""
        lines = [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{_escaped(self.caption)}}}",
            rf"\begin{{tabular}}{{l{'c' * (len(self.columns) - 1)}}}",
            r"\toprule",
        ]
        if self.groups:
            spans = [
                rf"\multicolumn{{{span}}}{{c}}{{{_escaped(head)}}}"
                for head, span in self.groups
            ]
            lines.append(" & ".join(["", *spans]) + r" \\")
        lines.append(_ampersands(self.columns))
        lines += [r"\midrule", *map(_ampersands, self.rows), r"\bottomrule"]
        lines.append(r"\end{tabular}")
        lines += [rf"\par\footnotesize {_escaped(note)}" for note in self.notes]
        return "\n".join([*lines, r"\end{table}"]) + "\n"

    def csv(self) -> str:
        """Return the numbers, or the cells of a table that has none."""
        stream = io.StringIO()
        write = csv.writer(stream, lineterminator="\n").writerow
        if self.records:
            write(self.records[0])
            for record in self.records:
                write(record.values())
        else:
            write(self.heads)
            for row in self.rows:
                write(row)
        return stream.getvalue()


def _line(cells: Row) -> str:
    # A bar would end the cell, in formulas too.
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _ampersands(cells: Row) -> str:
    return " & ".join(map(_escaped, cells)) + r" \\"


def _escaped(text: str) -> str:
    """Return text for LaTeX; formulas between dollars stay."""
    parts = text.split("$")
    for k in range(0, len(parts), 2):
        plain = re.sub(r"([&%#_{}])", r"\\\1", parts[k])
        parts[k] = plain.replace("±", r"$\pm$")
    for k in range(1, len(parts), 2):
        parts[k] = f"${parts[k]}$"
    return "".join(parts)
