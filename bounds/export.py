"""``bounds.audit --export``: a folder of machine-checked labels that checks itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from bounds.journal import Journal
from bounds.mutate import mutate, statements
from bounds.mutation_figures import defects, exit_status
from sfl_theory.benchmark.card import card
from sfl_theory.benchmark.check import FILES
from sfl_theory.benchmark.records import Record, claim_record, sources, unstated
from sfl_theory.command import CommandError
from sfl_theory.kernel.check import SOURCES
from sfl_theory.ledger import Entry
from sfl_theory.user_files import ARRAYS, read_bytes, read_text
from sfl_train.files import check_writable, replace_file

MANIFEST = "manifest.json"
MAKER = "sfl-verify export"
JOURNAL = "mutants.part.jsonl"
NOT_MUTATED = "not made; `bounds.audit --export DIR --mutate` makes them."
MUTATED = (
    "one small change of a proved statement each (a constant halved, a term or a "
    "hypothesis dropped, an exponent, a sum or a condition changed), of {done} of "
    "{total} proved statements. *proved*: the kernel derives it all the same; "
    "*refuted*: a search found a model; *open*: neither, and it may be true. None is "
    "both"
)
UNFINISHED = (
    ". These statements come first in a random order in which each kind has its share. "
    "**The export was interrupted, or its time was up**: the same command goes on."
)
KERNEL = ("__init__", "check", *SOURCES)


def check_folder(folder: Path) -> None:
    """Refuse a folder that is not ours to write into, before any work.

    A folder is ours if its manifest says so; in it, a file that the manifest does not
    list, or that was changed since, stays as it is, and nothing is written.

    Raises:
        CommandError: it cannot be written, or holds what is not ours.
    """
    try:
        check_writable("--export", folder, folder=True)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if not folder.exists() or not any(folder.iterdir()):
        return
    known = _digests(folder)
    if known is None:
        raise CommandError(
            f"--export: {folder} is not empty and no export: choose another folder"
        )
    for name in _names():
        path = folder / name
        if not (path.exists() or path.is_symlink()):
            continue
        ours = name in (MANIFEST, JOURNAL) or name in known
        plain = path.is_file() and not path.is_symlink()
        digest = known.get(name)
        if not (ours and plain and (digest is None or _digest(path) == digest)):
            raise CommandError(
                f"--export: {path} was changed by another hand: choose another folder"
            )


def export(
    folder: Path,
    entries: Sequence[Entry],
    with_mutants: bool,
    minutes: float | None = None,
) -> int:
    """Write the records of claims, and of mutants where they are asked for.

    The claims are written first, and the folder is complete with them. Mutants are kept
    as they are judged: interrupted, the folder says how many statements are mutated,
    and the same call goes on.

    Args:
        folder: empty, absent, or an earlier export.
        entries: in order.
        with_mutants: of what is proved.
        minutes: for these; None: until all are judged.

    Returns:
        The exit status: 1 if a mutant is wrongly proved.

    Raises:
        CommandError: mutants of an earlier export would be lost.
    """
    if not with_mutants and (folder / "mutants.jsonl").exists():
        raise CommandError(
            f"--export: {folder} holds mutants; add --mutate to make them again, or "
            "choose another folder"
        )
    journal = None
    if with_mutants:
        try:
            journal = Journal(folder / JOURNAL, keeps_records=True)
        except ValueError as error:
            raise CommandError(f"--export: {error}") from error
    records = _claims(entries)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / JOURNAL).exists():
        _write(folder, records, [], NOT_MUTATED)
    _say(folder, records, "claims.jsonl")
    if journal is None:
        return 0
    claims = [entry.claim for entry in entries]
    verdicts = mutate(claims, journal=journal, minutes=minutes)
    mutants = journal.records(statements(claims))
    whole = journal.done == journal.total
    told = MUTATED.format(done=journal.done, total=journal.total)
    _write(folder, records, mutants, told + ("." if whole else UNFINISHED))
    if whole:
        journal.finish()
    _say(folder, mutants, "mutants.jsonl")
    print(*defects(verdicts) or ["no mutant is wrongly proved"], sep="\n")
    return exit_status(verdicts)


def _claims(entries: Sequence[Entry]) -> list[Record]:
    """Return the records of claims, with a progress bar."""
    from rich.console import Console
    from rich.progress import track

    shown = Console(stderr=True)
    out: list[Record] = []
    for entry in track(entries, "claims exported", console=shown, transient=True):
        made = [claim_record(one) for one in sources([entry])]
        out += made or [unstated(entry)]
    return out


def _write(
    folder: Path, claims: Sequence[Record], mutants: Sequence[Record], told: str
) -> None:
    """Write every file; while they are, the manifest has no digests of them."""
    here = files("sfl_theory")
    content = {
        "README.md": card(claims, mutants, told, date.today().isoformat(), _version()),
        "check.py": (here / "benchmark" / "check.py").read_text("utf-8"),
        "claims.jsonl": _lines(claims),
    }
    for name in KERNEL:
        source = here / "kernel" / f"{name}.py"
        content[f"kernel/{name}.py"] = source.read_text("utf-8")
    if mutants:
        content["mutants.jsonl"] = _lines(mutants)
    else:
        (folder / "mutants.jsonl").unlink(missing_ok=True)
    made = {name: text.encode() for name, text in content.items()}
    _seal(folder, dict.fromkeys(made))
    (folder / "kernel").mkdir(exist_ok=True)
    for name, data in made.items():
        replace_file(folder / name, data)
    _seal(folder, {name: sha256(data).hexdigest() for name, data in made.items()})


def _seal(folder: Path, digests: dict[str, str] | dict[str, None]) -> None:
    manifest = {"made_by": MAKER, "format": 1, "files": digests}
    replace_file(folder / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())


def _digests(folder: Path) -> dict[str, str | None] | None:
    """Return the digests of an earlier export, None if the folder is none."""
    try:
        manifest = json.loads(read_text(folder / MANIFEST))
        ours = manifest["made_by"] == MAKER
        return dict(manifest["files"]) if ours else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _names() -> list[str]:
    kernel = [f"kernel/{name}.py" for name in KERNEL]
    return [MANIFEST, JOURNAL, "README.md", "check.py", *FILES, *kernel]


def _digest(path: Path) -> str:
    return sha256(read_bytes(path, ARRAYS)).hexdigest()


def _lines(records: Sequence[Record]) -> str:
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in records)


def _version() -> str:
    try:
        return f"sfl-verify {version('sfl-verify')}"
    except PackageNotFoundError:
        return "sfl-verify"


def _say(folder: Path, records: Sequence[Record], file: str) -> None:
    counts = {
        label: sum(one["label"] == label for one in records)
        for label in ("proved", "refuted", "open")
    }
    words = ", ".join(f"{number} {label}" for label, number in counts.items())
    print(f"{folder / file}: {len(records)} records, {words}")
    print(f"replay them: python -I -S {folder / 'check.py'}", flush=True)
