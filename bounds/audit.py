"""``python -m bounds.audit``: the ledger of claims, every status earned by a replay."""

from __future__ import annotations

import argparse
import gc
import json
import os
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

from sfl_theory.command import CommandError, Parser, run
from sfl_theory.ledger import (
    COVERAGE,
    STATUSES,
    Entry,
    Ledger,
    Outcome,
    entry_alone,
    ledger,
)
from sfl_theory.papers import PAPERS
from sfl_train.files import check_writable, replace_file

FEW = 8
"""So many claims are replayed in one process."""
_ASKED: list[Entry] = []
"""What forked processes find in memory."""
WIDE = 120
"""From so many columns on what decides a claim stands beside it, else below it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status.
    """
    return run(_parser(), _uncollected, arguments)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m bounds.audit",
        description="Decide the claims of the papers: the kernel replays proofs and "
        "models, in exact arithmetic.",
    )
    parser.add_argument("--claim", metavar="ID", help="one entry in full")
    parser.add_argument("--paper", choices=PAPERS, help="one paper only")
    parser.add_argument(
        "--file",
        type=Path,
        metavar="MINE.py",
        help="audit the CLAIMS of a Python file of your own, which is run",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the entries")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write them as a page"
    )
    parser.add_argument(
        "--proofs",
        type=Path,
        metavar="FILE",
        help="write statements, derivations and models for the standalone checker: "
        "python -I -S sfl_theory/kernel/check.py FILE",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="print what has to be trusted: the kernel's modules and rules, each with "
        "its proof, and how many claims rest on it",
    )
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="change the proved statements (constant halved, exponent or binder "
        "changed, term or hypothesis dropped, condition doubled) and count how many of "
        "these mutants are proved, refuted or neither; exit status 1 if one is both. "
        "--claim and --paper choose the claims, --json holds the mutants. Minutes; "
        "Ctrl-C shows what is judged until then.",
    )
    return parser


def _uncollected(options: argparse.Namespace) -> int:
    """Do the work without the collector: terms and theorems stay, and form no circles.

    Frozen, they are not searched for circles when the process ends either.

    Returns:
        The exit status.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        return _work(options)
    finally:
        gc.freeze()
        if running:
            gc.enable()


def _work(options: argparse.Namespace) -> int:
    if options.trust:
        print_trust()
        return 0
    if options.file is not None:
        for option in ("paper", "mutate"):
            if getattr(options, option):
                raise CommandError(
                    f"--{option} is about the papers' ledger: leave it out with --file"
                )
    try:
        for option in ("json", "html", "proofs"):
            path = getattr(options, option)
            if path is not None:
                check_writable(f"--{option}", path, folder=False)
    except ValueError as error:
        raise CommandError(str(error)) from error
    entries = _own(options) if options.file is not None else _papers(options)
    if options.mutate:
        return _mutate(options, entries)
    _decide(entries)
    if options.json is not None:
        content = json.dumps([entry.as_dict() for entry in entries], indent=1) + "\n"
        _write(options.json, content)
    if options.html is not None:
        from bounds.page import page

        about = (f"Audit of {options.file}", "") if options.file is not None else ()
        _write(options.html, page(entries, *about))
    if options.proofs is not None:
        _write(options.proofs, _proofs(entries))
    if options.claim is not None:
        print_entry(entries[0])
    else:
        print_table(entries)
    return 0


def _papers(options: argparse.Namespace) -> list[Entry]:
    """Return the entries of the papers' ledger that are asked for.

    Returns:
        One, those of a paper, or all.

    Raises:
        CommandError: if there is no such claim.
    """
    if options.claim is None:
        return [ledger().entry(claim.id) for claim in ledger().claims(options.paper)]
    try:
        return [entry_alone(options.claim)]
    except ValueError as error:
        raise CommandError(f"--claim: {error}") from error


def _own(options: argparse.Namespace) -> list[Entry]:
    """Return the entries of the user's file that are asked for.

    Its claims may depend on those of the papers.

    Returns:
        One, or all.

    Raises:
        CommandError: if the file holds no claims or not the one asked for.
    """
    from bounds.own_file import load_claims

    try:
        claims = load_claims(options.file)
        own = Ledger((*ledger().claims(), *claims), str(options.file))
    except ValueError as error:
        raise CommandError(f"--file: {error}") from error
    names = [claim.id for claim in claims]
    if options.claim is None:
        return [own.entry(name) for name in names]
    if options.claim not in names:
        raise CommandError(
            f"--claim: {options.file} has no claim '{options.claim}'; it holds "
            f"{', '.join(names)}"
        )
    return [own.entry(options.claim)]


def _decide(entries: Sequence[Entry]) -> None:
    """Ask the kernel about many entries, in a process per core; each keeps its answer.

    Which process asks changes no answer.
    """
    workers = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    if workers < 2 or len(entries) < FEW:
        return
    from rich.console import Console
    from rich.progress import Progress

    _ASKED[:] = entries
    bars = Progress(console=Console(stderr=True), transient=True)
    with bars, get_context("fork").Pool(workers) as pool:
        bar = bars.add_task("claims replayed", total=len(entries))
        answers = pool.imap_unordered(_answers, range(len(entries)), chunksize=2)
        for place, outcome, repair in answers:
            # where a cached property keeps what it was
            vars(entries[place]).update(outcome=outcome, repair=repair)
            bars.advance(bar)
    _ASKED.clear()


def _answers(place: int) -> tuple[int, Outcome, Outcome | None]:
    entry = _ASKED[place]
    return place, entry.outcome, entry.repair


def _mutate(options: argparse.Namespace, entries: Sequence[Entry]) -> int:
    from bounds.mutate import as_json, exit_status, mutate, print_figures

    if options.html is not None:
        raise CommandError("--html shows the ledger: leave it out with --mutate")
    verdicts = mutate([entry.claim for entry in entries])
    if options.json is not None:
        _write(options.json, as_json(verdicts))
    print_figures(verdicts)
    return exit_status(verdicts)


def _proofs(entries: Sequence[Entry]) -> str:
    """Return the file in which the kernel's proofs and models of the entries stand.

    Raises:
        CommandError: no entry's statement is a term.
    """
    from sfl_theory.claims import evidence, parts_of
    from sfl_theory.proofs.export import document

    proved, refuted, witnesses = [], [], {}
    for entry in entries:
        for name, part in parts_of(entry.claim):
            theorem, model = evidence(part, name)
            statement = part.says.statement(name)
            if theorem is not None:
                proved.append((statement, theorem))
                witnesses.update({} if model is None else {name: model})
            elif model is not None:
                refuted.append((statement, model))
    if not proved and not refuted:
        raise CommandError("--proofs: no kernel proof or model among these entries")
    return document(proved, refuted, witnesses)


def print_trust() -> None:
    """Print the trusted base: modules, rules with their proofs, and who rests on it."""
    from sfl_theory import kernel
    from sfl_theory.kernel.rules import RULES

    sources = sorted(Path(str(kernel.__file__)).parent.glob("*.py"))
    counts = {path.name: len(path.read_text().splitlines()) for path in sources}
    print(f"sfl_theory/kernel: {sum(counts.values())} lines, standard library only")
    print("  " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    print(f"{len(RULES)} rules; a theorem comes from a rule only:")
    for rule in RULES.values():
        head, _, proof = rule.proof.partition("Proof:")
        print(f"\n{rule.name}: {' '.join(head.split())}")
        text = f"Proof: {' '.join(proof.split())}"
        print(textwrap.fill(text, 88, initial_indent="    ", subsequent_indent="    "))
    claims = ledger().claims()
    decided = sum(bool(claim.parts) for claim in claims)
    print("\ninequalities assumed outside rules and hypotheses: 0")
    print(
        f"claims of the papers whose statements are terms: {decided} of {len(claims)}"
    )


def print_table(entries: Sequence[Entry]) -> None:
    """Print status counts and one line per entry, paper by paper.

    Args:
        entries: in the order to print.
    """
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    wide = console.width >= WIDE
    for paper in dict.fromkeys(entry.claim.id.split("/")[0] for entry in entries):
        here = [e for e in entries if e.claim.id.split("/")[0] == paper]
        counts = Counter(entry.outcome.status for entry in here)
        words = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
        table = Table(
            title=f"{paper}: {len(here)} claims, {words}",
            title_justify="left",
            expand=True,
        )
        names = [
            entry.claim.id if entry.file else entry.claim.id.removeprefix(f"{paper}/")
            for entry in here
        ]
        if wide:
            table.add_column("claim", min_width=max(map(len, names)))
        table.add_column("status", min_width=8)
        table.add_column("repair", min_width=8)
        heading = "why" if wide else "claim, and why"
        table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=1)
        for entry, name in zip(here, names, strict=True):
            repair = "" if entry.repair is None else entry.repair.status
            cells = entry.outcome.status, repair
            if wide:
                table.add_row(name, *cells, entry.why)
            else:
                table.add_row(*cells, f"{name}\n  {entry.why}")
        console.print(table)
    files = {entry.file for entry in entries if entry.file}
    if not files:
        console.print(COVERAGE)
    where = "".join(f" --file {shlex.quote(file)}" for file in files)
    print(f"python -m bounds.audit{where} --claim ID shows an entry in full")


def print_entry(entry: Entry) -> None:
    """Print one entry in full.

    Args:
        entry: to print.
    """
    claim, outcome, now = entry.claim, entry.outcome, entry.standing

    def show(label: str, text: str) -> None:
        print(textwrap.fill(f"{label}{text}", 88, subsequent_indent="    "))

    show("", f"{claim.id} ({claim.location})")
    show("kind:      ", claim.kind.value)
    show("statement: ", claim.statement)
    if entry.reading:
        show("reading:   ", entry.reading)
    show("status:    ", f"{outcome.status} ({outcome.method})")
    if now.scope:
        show("scope:     ", now.words)
    if now.cause:
        severity = f" ({claim.severity.value})" if claim.severity else ""
        show("cause:     ", now.cause + severity)
    for line in outcome.lines:
        show("  ", line)
    if claim.depends_on:
        show("the paper's proof uses: ", ", ".join(claim.depends_on))
    if claim.repair is not None and entry.repair is not None:
        show("repair:    ", entry.repaired)
        show("change:    ", claim.repair.change)
        show("status:    ", f"{entry.repair.status} ({entry.repair.method})")
        for line in entry.repair.lines:
            show("  ", line)
    print(f"replay:    {entry.reproduce}")


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content.encode())


if __name__ == "__main__":
    sys.exit(main())
