"""What the pages show is run; in docs: `python -m made.examples [--write] PAGE...`.

A page's blocks run in order, in a folder of their own: ``sh`` line by line as a shell
runs it, ``python`` as a program of its own. A ``text`` block after one is what it
prints: "..." stands for anything, and numbers with a point may be off by two percent,
for they come from floating point. ``--write`` puts in what was printed. A comment
before a block says more:

- ``<!-- file: NAME -->``: the block is saved, not run;
- ``<!-- long -->``: takes longer than a test may; run with the long tests;
- ``<!-- needs: MODULE -->``: without the module each command is one line on standard
  error and status 2, and nothing is compared; with it the block is a long one;
- ``<!-- not run: WHY -->``, ``<!-- run command -->``, ``<!-- test command -->``: it is
  shown only; CI runs the last two as they stand in the README.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from made import warm

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:<!-- (?P<mark>[^>]*?) -->\n)?^```(?P<language>sh|python)\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
MARKS = {"file", "long", "needs", "not run", "run command", "test command"}
NOT_RUN = ("not run", "run command", "test command")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
SECONDS = re.compile(r"\b\d+(\.\d+)? s\b")
"""How long something took, which is not compared."""
CLOSE = 0.02
"""Relative: what numbers from floating point may be off by."""


@dataclass(frozen=True)
class Block:
    """A block of a page.

    Attributes:
        language: "sh" or "python".
        code: the text.
        mark: what the comment before it says; "" without.
        output: what it prints, or None where the page does not say.
        line: of the page, where it begins.
    """

    language: str
    code: str
    mark: str
    output: str | None
    line: int

    def about(self, word: str) -> str | None:
        """Return what its comment says of a word, None where it has none."""
        name, _, rest = self.mark.partition(":")
        return rest.strip() if name.strip() == word else None


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in order.

    Raises:
        ValueError: a comment before one says what is not known.
    """
    for found in BLOCK.finditer(text):
        mark = (found["mark"] or "").partition(":")[0].strip()
        if mark and mark not in MARKS:
            raise ValueError(f"<!-- {mark} -->: expected one of {sorted(MARKS)}")
    return [
        Block(
            found["language"],
            found["code"],
            found["mark"] or "",
            found["output"],
            text.count("\n", 0, found.start()) + 1,
        )
        for found in BLOCK.finditer(text)
    ]


def run(found: Iterable[Block], folder: Path, long: bool) -> Iterator[str]:
    """Run blocks and yield what is wrong with each, "" for nothing.

    Args:
        found: of one page, in order.
        folder: in which they run.
        long: run those that take long, and what they stand on, too.

    Yields:
        A complaint or "", block by block.
    """
    for block in found:
        told = f"line {block.line}: "
        if (name := block.about("file")) is not None:
            (folder / name).write_text(block.code, encoding="utf-8")
        elif (module := block.about("needs")) and not importlib.util.find_spec(module):
            yield from (told + one if one else "" for one in _refused(block, folder))
            continue
        elif _passed(block, long):
            pass
        else:
            done = execute(block, folder)
            if done.returncode:
                yield f"{told}status {done.returncode}: {done.stderr[-2000:]}"
                continue
            if block.output is not None and not agrees(block.output, done.stdout):
                yield f"{told}printed\n{done.stdout}\ninstead of\n{block.output}"
                continue
        yield ""


def _passed(block: Block, long: bool) -> bool:
    takes_long = block.about("long") is not None or block.about("needs") is not None
    late = takes_long and not long
    return late or any(block.about(mark) is not None for mark in NOT_RUN)


def execute(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a block.

    Args:
        block: of a page.
        folder: in which it runs.

    Returns:
        What came of it.
    """
    binaries = folder / ".bin"
    if not binaries.exists():
        binaries.mkdir()
        asked = f'"{sys.executable}" -I -S "{warm.__file__}" ask "{warm.address()}"'
        for name, module in (("python", ""), ("sfl-verify", "-m bounds ")):
            shim = f'#!/bin/sh\nexec {asked} {module}"$@"\n'
            (binaries / name).write_text(shim)
            (binaries / name).chmod(0o755)
    command = ["bash", "-euo", "pipefail", "-c", block.code]
    if block.language == "python":
        command = [str(binaries / "python"), "-c", block.code]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "80",
        "PATH": f"{binaries}:{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _refused(block: Block, folder: Path) -> Iterator[str]:
    """Yield what is wrong with the refusal of each line."""
    for line in block.code.splitlines():
        one = Block("sh", line, "", None, block.line)
        done = execute(one, folder)
        said = done.stderr.strip().splitlines()
        fits = done.returncode == 2 and len(said) == 1
        yield "" if fits else f"no one-line refusal: {done}"


def agrees(expected: str, printed: str) -> bool:
    """Return whether a text is what a page says, "..." standing for anything."""
    pieces: list[list[str]] = [[]]
    for word in _words(expected):
        if word == "...":
            pieces.append([])
        else:
            pieces[-1].append(word)
    return _match(pieces, _words(printed))


def _words(text: str) -> list[str]:
    return SECONDS.sub("# s", text).split()


def _match(pieces: list[list[str]], words: list[str]) -> bool:
    """Return whether pieces come in order; the first begins, the last ends the text."""
    first, *others = pieces
    if not _same(first, words[: len(first)]):
        return False
    words = words[len(first) :]
    if not others:
        return not words
    for piece in others[:-1]:
        at = next(
            (
                k
                for k in range(len(words) - len(piece) + 1)
                if _same(piece, words[k : k + len(piece)])
            ),
            None,
        )
        if at is None:
            return False
        words = words[at + len(piece) :]
    last = others[-1]
    return len(words) >= len(last) and _same(last, words[len(words) - len(last) :])


def _same(left: list[str], right: list[str]) -> bool:
    return len(left) == len(right) and all(map(_close, left, right))


def _close(left: str, right: str) -> bool:
    """Return whether two words are alike, numbers with a point up to rounding."""
    if left == right:
        return True
    if "..." in left:
        return bool(re.fullmatch(".*".join(map(re.escape, left.split("..."))), right))
    if NUMBER.sub("#", left) != NUMBER.sub("#", right):
        return False
    pairs = zip(NUMBER.findall(left), NUMBER.findall(right), strict=True)
    for a, b in pairs:
        whole = re.fullmatch(r"-?\d+", a) and re.fullmatch(r"-?\d+", b)
        x, y = float(a), float(b)
        if a != b and (whole or abs(x - y) > CLOSE * max(abs(x), abs(y))):
            return False
    return True


def written(text: str, folder: Path) -> str:
    """Return a page with what its blocks print now; blocks that fail are named.

    Raises:
        ValueError: a block fails.
    """

    def fill(found: re.Match[str]) -> str:
        block = blocks(found.group())[0]
        if (name := block.about("file")) is not None:
            (folder / name).write_text(block.code, encoding="utf-8")
        if block.mark and block.about("long") is None:
            return found.group()
        done = execute(block, folder)
        if done.returncode:
            raise ValueError(f"{block.code}\n{done.stderr}")
        if block.output is None or agrees(block.output, done.stdout):
            return found.group()
        start = found.start("output") - found.start()
        end = found.end("output") - found.start()
        whole = found.group()
        printed = re.sub(r" +$", "", done.stdout, flags=re.MULTILINE)
        return whole[:start] + printed + whole[end:]

    return BLOCK.sub(fill, text)


def main() -> int:
    """Check or rewrite pages.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="put in what is printed")
    parser.add_argument("--long", action="store_true", help="run the long blocks too")
    options = parser.parse_args()
    wrong = 0
    for page in options.page:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            if options.write:
                page.write_text(written(text, Path(folder)), encoding="utf-8")
                continue
            for complaint in filter(
                None, run(blocks(text), Path(folder), options.long)
            ):
                print(f"{page}: {complaint}")
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
