"""What a mutation run has judged, on disk: stopped, it goes on where it was."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from sfl_theory.benchmark.records import Record
from sfl_theory.mutation import Judged
from sfl_theory.user_files import ARRAYS, read_bytes
from sfl_train.files import replace_file

FIELDS = ("claim", "operator", "change", "verdict", "subject")
BEGIN = b'{"journal":'
"""So the file begins; one that does not is the user's."""


@dataclass
class Journal:
    """Verdicts by statement, a line each; a journal of other code is begun anew.

    Attributes:
        path: of the file; None: nothing is kept.
        keeps_records: whether each verdict has its statement and evidence with it.
        total: how many statements are to be judged.
        verdicts: what is judged.
    """

    path: Path | None = None
    keeps_records: bool = False
    total: int = 0
    verdicts: dict[str, list[Judged]] = field(default_factory=dict)
    _records: dict[str, list[Record]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read what an earlier run has left.

        Raises:
            ValueError: the file is the user's, or damaged.
        """
        if self.path is None:
            return
        if self.path.is_symlink():
            raise ValueError(f"{self.path} is a link, which is not followed")
        if not self.path.exists():
            return
        whole = read_bytes(self.path, ARRAYS)
        if not (whole.startswith(BEGIN) or BEGIN.startswith(whole)):
            raise ValueError(
                f"{self.path} is no journal of this command: move it or take another "
                "name"
            )
        lines = whole[: whole.rfind(b"\n") + 1].splitlines()
        head = _read(lines[0]) if lines else {}
        if head != self._head():
            print(f"{self.path}: begun with other code, begun anew", file=sys.stderr)
            self.path.unlink()
            return
        try:
            for line in lines[1:]:
                self._take(_read(line))
        except (KeyError, TypeError) as error:
            raise ValueError(
                f"{self.path}: damaged; remove it, and everything is judged again"
            ) from error
        print(
            f"{self.path}: {len(self.verdicts)} statements are judged already",
            file=sys.stderr,
        )
        replace_file(self.path, b"\n".join(lines) + b"\n")

    def _head(self) -> dict[str, object]:
        return {"journal": 1, "code": _code(), "records": self.keeps_records}

    def _take(self, line: dict[str, object]) -> None:
        name, found = str(line["statement"]), line["verdicts"]
        if isinstance(found, list):
            self.verdicts[name] = [
                Judged(*(one[key] for key in FIELDS)) for one in found
            ]
        kept = line.get("records")
        self._records[name] = kept if isinstance(kept, list) else []

    @property
    def done(self) -> int:
        """How many statements are judged."""
        return len(self.verdicts)

    def add(
        self, name: str, verdicts: Sequence[Judged], records: Sequence[Record]
    ) -> None:
        """Keep what was judged of a statement."""
        found = [{key: getattr(one, key) for key in FIELDS} for one in verdicts]
        line: dict[str, object] = {"statement": name, "verdicts": found}
        line |= {"records": [*records]} if self.keeps_records else {}
        self._take(line)
        if self.path is None:
            return
        new = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as stream:
            for one in ([self._head()] if new else []) + [line]:
                stream.write(json.dumps(one, separators=(",", ":")) + "\n")

    def records(self, names: Sequence[str]) -> list[Record]:
        """Return the records of statements, in this order."""
        return [one for name in names for one in self._records.get(name, [])]

    def finish(self) -> None:
        """Remove the file of a run that has come to its end."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _read(line: bytes) -> dict[str, object]:
    """Return a line of a journal; an empty one if it is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@cache
def _code() -> str:
    """Return a digest of the code on which verdicts depend."""
    digest = sha256()
    for source in _sources(files("sfl_theory")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _sources(folder: Traversable) -> list[Traversable]:
    out: list[Traversable] = []
    for one in sorted(folder.iterdir(), key=lambda one: one.name):
        if one.is_dir():
            out += _sources(one)
        elif one.name.endswith(".py"):
            out.append(one)
    return out
