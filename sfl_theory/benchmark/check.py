"""Replays every label of an exported folder: ``python -I -S check.py [FOLDER]``.

It needs Python's standard library, the folder, and the kernel, whose sources lie in
``kernel`` beside this file (or, in the repository, a folder above). For every record it
builds the kernel's file from the record's terms and evidence and lets the kernel decide
it; nothing that a record says about itself is believed. See `USAGE`.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

USAGE = """\
usage: python -I -S check.py [FOLDER] [--id NAME] [--jobs N]
Replays the labels of the folder, by default the one in which this file lies: a proof is
a derivation by the kernel's rules that ends in the statement, a refutation a model in
which every hypothesis holds and the inequality fails. --id: one record only, printed
as the kernel reads it. Exit status 0: every file is as it was exported and every label
was replayed (what is open has neither). 1: something was rejected, said in lines. 2:
called in another way."""
HERE = Path(__file__).resolve().parent
FILES = ("claims.jsonl", "mutants.jsonl")
LABELS = ("proved", "refuted", "open")
NEEDED = {"id", "label", "latex", "reads", "statement", "evidence"}
KERNEL: dict[str, Any] = {}
"""The names of the kernel's replay, once they are loaded."""
Outcome = tuple[str, str, str | None]
"""Id and label of a record, and why it is rejected."""


def loaded() -> dict[str, Any]:
    """Return the names of the kernel's replay; its own checker loads its sources."""
    folder = HERE / "kernel"
    if not folder.is_dir():
        folder = HERE.parent / "kernel"
    path = folder / "check.py"
    names: dict[str, Any] = {"__file__": str(path), "__name__": "kernel_check"}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    digest = sha256()
    for name in ("check", *names["SOURCES"]):
        digest.update((folder / f"{name}.py").read_bytes())
    return {**names["_loaded"](), "digest": digest.hexdigest()}


def replayed(line: str) -> Outcome:
    """Return id and label of a record, and why it is rejected or None.

    Args:
        line: of a file.
    """
    name, label = "?", "?"
    try:
        record = KERNEL["load"](line)
        need(isinstance(record, dict), "a record is an object")
        need(set(record) >= NEEDED, "a record lacks " + str(NEEDED - set(record)))
        name, label = record["id"], record["label"]
        need(label in LABELS, f"{label!r} is no label")
        decide(record)
    except Exception as error:
        return str(name), str(label), f"{type(error).__name__}: {error}"[:500]
    return name, label, None


def decide(record: dict[str, Any]) -> None:
    """Refuse a record whose label its evidence does not earn."""
    stated, evidence, label = record["statement"], record["evidence"], record["label"]
    if stated is None:
        empty = evidence is None and record["reads"] is None and label == "open"
        need(empty, "a label without a statement")
        return
    read(record)
    if label == "open":
        need(evidence is None, "evidence beside the label open")
        return
    need(isinstance(evidence, dict), "no evidence")
    allowed = {"terms", "steps", "theorem", "model"}
    need(set(evidence) <= allowed, "evidence has unknown entries")
    proved = "theorem" in evidence
    need(proved is (label == "proved"), f"the evidence is not one for {label!r}")
    claim = {key: stated[key] for key in ("hypotheses", "left", "right")}
    claim |= {"equal": True} if stated["equal"] else {}
    claim |= {key: evidence[key] for key in ("theorem", "model") if key in evidence}
    tables = {
        "terms": [*stated["terms"], *evidence["terms"]],
        "steps": evidence["steps"],
        "claims": [{"id": record["id"], **claim}],
    }
    (found,) = KERNEL["replay"](json.dumps(tables))
    need(found.proved is proved, f"the kernel says otherwise than {label!r}")


def read(record: dict[str, Any]) -> None:
    """Refuse a record that does not read as its terms do, or means nothing."""
    terms, *parts, equal = KERNEL["record"](
        record["statement"], ("terms", "hypotheses", "left", "right", "equal")
    )
    need(type(equal) is bool, "'equal' is neither true nor false")
    table = KERNEL["Table"]()
    Hypothesis, Lin = KERNEL["h"].Hypothesis, KERNEL["k"].Lin
    for entry in KERNEL["items"](terms):
        table.add(entry)
    kinds = (tuple.__class_getitem__((Hypothesis, ...)), Lin, Lin)
    given, left, right = table.arguments(parts, kinds)
    free = frozenset[object]().union(*(one.free for one in (left, right, *given)))
    says = {
        "left": str(left),
        "relation": "=" if equal else "<=",
        "right": str(right),
        "assuming": sorted(map(str, given)),
        "where": sorted(map(str, KERNEL["k"].runs_of(left, right, *given))),
        "for_all": sorted(f"{v} {v.sort.value}" for v in free if hasattr(v, "sort")),
    }
    same = named(record["reads"]) == named(says)
    need(same, "'reads' is not what the terms say")
    if record["label"] == "open":
        name, assumed = record["id"], frozenset(given)
        try:
            KERNEL["decide"](name, assumed, left, right, equal, None, None)
        except KERNEL["Rejected"] as error:
            need("nothing decides it" in str(error), str(error))


def named(says: dict[str, Any]) -> dict[str, object]:
    """Return the names that a printed statement has, part by part.

    How the kernel arranges a sum or a denominator depends on what it read before, so
    that one statement prints in several ways; its names are the same in all.
    """
    return {
        key: sorted(
            sorted(set(re.findall(r"<=|=|[A-Za-z_]\w*", text)))
            for text in (told if isinstance(told, list) else [told])
        )
        for key, told in says.items()
    }


def need(condition: object, message: str) -> None:
    """Refuse unless a condition is true.

    Raises:
        ValueError: it is not.
    """
    if not condition:
        raise ValueError(message)


def sealed(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the files of a folder as a whole."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        files = manifest["files"]
        for name, digest in sorted(files.items()):
            path = folder / name
            if digest is None:
                yield f"{name}: the export was not finished"
            elif not path.is_file():
                yield f"{name}: missing"
            elif sha256(path.read_bytes()).hexdigest() != digest:
                yield f"{name}: changed since it was exported"
        if "claims.jsonl" not in files:
            yield "manifest.json: no claims"
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        yield f"manifest.json: {type(error).__name__}: {error}"


def checked(folder: Path, jobs: int) -> int:
    """Print what became of a folder's records.

    Returns:
        The exit status.
    """
    wrong = list(sealed(folder))
    seen = set[str]()
    for file in FILES:
        path = folder / file
        if not path.is_file():
            continue
        counts = dict.fromkeys(LABELS, 0)
        lines = path.read_text("utf-8").splitlines()
        for place, (name, label, why) in enumerate(results(lines, jobs), 1):
            if name in seen:
                why = why or "two records have this id"
            seen.add(name)
            if why is None:
                counts[label] += 1
            else:
                wrong.append(f"{file} {place} {name}: {why}")
            if sys.stderr.isatty():
                print(f"\r{file}: {place} of {len(lines)}", end="", file=sys.stderr)
        if sys.stderr.isatty():
            print(file=sys.stderr)
        told = f"{counts['proved']} proved, {counts['refuted']} refuted: replayed"
        print(f"{file}: {len(lines)} records, {told}; {counts['open']} open")
    print(f"kernel: sha256 {KERNEL['digest']}")
    for one in wrong:
        print(f"REJECTED {ascii(one)[1:-1]}")
    print("every label was replayed" if not wrong else f"{len(wrong)} rejected")
    return int(bool(wrong) or not seen)


def results(lines: Sequence[str], jobs: int) -> Iterator[Outcome]:
    """Yield what became of records, in their order."""
    if jobs == 1 or sys.platform == "win32":
        yield from map(replayed, lines)
        return
    with get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(replayed, lines, chunksize=4)


def shown(folder: Path, name: str) -> int:
    """Print one record as the kernel reads it.

    Returns:
        The exit status.
    """
    for file in FILES:
        path = folder / file
        for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
            record = json.loads(line)
            if record["id"] == name:
                why = replayed(line)[2]
                for key, told in (record["reads"] or {}).items():
                    print(f"  {key}: {told if type(told) is str else '; '.join(told)}")
                print(
                    f"{name}: {record['label'] if why is None else 'REJECTED ' + why}"
                )
                return int(why is not None)
    print(f"no record is called {name!a}")
    return 1


def main(arguments: Sequence[str]) -> int:
    """Return the exit status that `USAGE` explains."""
    folder, jobs = HERE, os.cpu_count() or 1
    name: str | None = None
    given = list(arguments)
    while given:
        one = given.pop(0)
        if one == "--id" and given:
            name = given.pop(0)
        elif one == "--jobs" and given and given[0].isdecimal() and int(given[0]):
            jobs = int(given.pop(0))
        elif one.startswith("-") or folder is not HERE:
            print(USAGE)
            return 2
        else:
            folder = Path(one)
    if not folder.is_dir():
        print(f"{str(folder)!a} is no folder")
        return 2
    return checked(folder, jobs) if name is None else shown(folder, name)


if __name__ == "__main__":
    if not sys.flags.isolated or not sys.flags.no_site:
        sys.exit("run it as: python -I -S check.py [FOLDER]")
    sys.dont_write_bytecode = True
    KERNEL.update(loaded())
    sys.exit(main(sys.argv[1:]))
