"""``python -m bounds.audit``: the ledger of claims, every status earned by a replay."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sfl_theory.command import CommandError, Parser, run
from sfl_theory.evidence.ledger import STATUSES, Entry
from sfl_train.files import check_writable, replace_file

PAPERS = ("han2024", "huang2023", "dachille2024")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status.
    """
    return run(_parser(), _work, arguments)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m bounds.audit",
        description="Replay the evidence for the claims of the papers: certificates "
        "and instances, in exact arithmetic.",
    )
    parser.add_argument("--claim", metavar="ID", help="one entry in full")
    parser.add_argument("--paper", choices=PAPERS, help="one paper only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the entries")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="write them as a page"
    )
    parser.add_argument(
        "--mutate",
        action="store_true",
        help="change the proved statements (constant halved, exponent changed, factor "
        "dropped, step size doubled, hypothesis removed) and count how many of these "
        "mutants are proved, refuted or neither; exit status 1 if one is both. "
        "--claim and --paper choose the claims, --json holds the mutants. Minutes.",
    )
    return parser


def _work(options: argparse.Namespace) -> int:
    from sfl_theory.audits import LEDGER

    try:
        for option, path in (("--json", options.json), ("--html", options.html)):
            if path is not None:
                check_writable(option, path, folder=False)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options.claim is not None:
        try:
            entries = [LEDGER.entry(options.claim)]
        except ValueError as error:
            raise CommandError(f"--claim: {error}") from error
    else:
        entries = [Entry(claim) for claim in LEDGER.claims(options.paper)]
    if options.mutate:
        return _mutate(options, entries)
    if options.json is not None:
        content = json.dumps([entry.as_dict() for entry in entries], indent=1) + "\n"
        _write(options.json, content)
    if options.html is not None:
        from bounds.page import page

        _write(options.html, page(entries))
    if options.claim is not None:
        print_entry(entries[0])
    else:
        print_table(entries)
    return 0


def _mutate(options: argparse.Namespace, entries: Sequence[Entry]) -> int:
    from bounds.mutate import as_json, exit_status, mutate, print_figures

    if options.html is not None:
        raise CommandError("--html shows the ledger: leave it out with --mutate")
    verdicts = mutate([entry.claim for entry in entries])
    if options.json is not None:
        _write(options.json, as_json(verdicts))
    print_figures(verdicts)
    return exit_status(verdicts)


def print_table(entries: Sequence[Entry]) -> None:
    """Print status counts and one line per entry, paper by paper.

    Args:
        entries: in the order to print.
    """
    from rich.console import Console
    from rich.table import Table

    from sfl_theory.audits import COVERAGE

    console = Console(highlight=False)
    for paper in dict.fromkeys(entry.claim.id.split("/")[0] for entry in entries):
        here = [e for e in entries if e.claim.id.split("/")[0] == paper]
        counts = Counter(entry.outcome.status for entry in here)
        words = ", ".join(f"{counts[status]} {status}" for status in STATUSES)
        table = Table(
            title=f"{paper}: {len(here)} claims, {words}",
            title_justify="left",
            expand=True,
        )
        names = [entry.claim.id.removeprefix(f"{paper}/") for entry in here]
        table.add_column("claim", min_width=max(map(len, names)))
        table.add_column("status", min_width=8)
        table.add_column("repair", min_width=8)
        table.add_column("why", no_wrap=True, overflow="ellipsis", ratio=1)
        for entry, name in zip(here, names, strict=True):
            repair = "" if entry.repair is None else entry.repair.status
            why = entry.outcome.lines[0] if entry.outcome.lines else ""
            table.add_row(
                name,
                entry.outcome.status,
                repair,
                why,
            )
        console.print(table)
    console.print(COVERAGE)
    console.print("python -m bounds.audit --claim ID shows an entry in full")


def print_entry(entry: Entry) -> None:
    """Print one entry in full.

    Args:
        entry: to print.
    """
    claim, outcome = entry.claim, entry.outcome

    def show(label: str, text: str) -> None:
        print(textwrap.fill(f"{label}{text}", 88, subsequent_indent="    "))

    show("", f"{claim.id} ({claim.location})")
    show("kind:      ", claim.kind)
    show("statement: ", claim.statement)
    if claim.reading:
        show("reading:   ", claim.reading)
    show("status:    ", f"{outcome.status} ({outcome.method})")
    for line in outcome.lines:
        show("  ", line)
    if claim.depends_on:
        show("the paper's proof uses: ", ", ".join(claim.depends_on))
    if claim.repair is not None and entry.repair is not None:
        show("repair:    ", claim.repair.statement)
        show("change:    ", claim.repair.change)
        show("status:    ", f"{entry.repair.status} ({entry.repair.method})")
        for line in entry.repair.lines:
            show("  ", line)
    show("replay:    ", f"python -m bounds.audit --claim {claim.id}")


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, content.encode())


if __name__ == "__main__":
    sys.exit(main())
