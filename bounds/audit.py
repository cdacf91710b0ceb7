"""``python -m bounds.audit``: the ledger of claims, every status earned by a replay."""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bounds.audit_entry import print_entry
from bounds.audit_table import print_table
from sfl_theory.command import CommandError, Parser, run
from sfl_theory.evidence import parts_of
from sfl_theory.ledger import Entry, Ledger, Outcome, claim, ledger
from sfl_theory.papers import PAPERS
from sfl_theory.proofs.export import Encoder, Json, Piece
from sfl_train.files import check_files, replace_file

if TYPE_CHECKING:
    from bounds.page.drawn import Drawn
    from bounds.page.sheet import Sheet

FEW = 8
"""So many claims are replayed in one process."""
WRITTEN = ("json", "html", "latex", "proofs")
"""Options that name a file to be written."""
MINUTES = 100_000
"""What ``--minutes`` is below."""


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
    parser.add_argument(
        "--claim",
        metavar="ID",
        help="one entry in full, like han2024/thm-3.7/non_convex",
    )
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
        "--latex",
        type=Path,
        metavar="FILE",
        help="write them as a LaTeX document (amsmath, amssymb, amsthm): statements, "
        "verdicts, repaired statements with their proofs; --claim or --paper choose",
    )
    parser.add_argument(
        "--export",
        type=Path,
        metavar="DIR",
        help="write a folder of machine-checked labels: statements in LaTeX and as "
        "terms, label and evidence as JSON Lines, a data card, and a checker that "
        "replays every label from that folder alone. With --mutate the mutants, too: "
        "minutes; stopped with Ctrl-C, the same command goes on",
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
        "--claim and --paper choose the claims, --json holds the mutants. The whole "
        "ledger takes a quarter of an hour or more; Ctrl-C shows what is judged until "
        "then; with --json the same command goes on",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        metavar="M",
        help="with --mutate: judge statements in a random order, as many as M minutes "
        "allow, and give the shares an interval; with --json or --export the same "
        "command goes on for M minutes more",
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
    _check_idle(options)
    if options.trust:
        print_trust()
        return 0
    if options.minutes is not None:
        if not options.mutate:
            raise CommandError("--minutes is for --mutate: leave it out without")
        if not 0 < options.minutes < MINUTES:
            raise CommandError(f"--minutes: above 0, below {MINUTES}")
    if options.file is not None:
        for option in ("paper", "mutate"):
            if getattr(options, option):
                raise CommandError(
                    f"--{option} is about the papers' ledger: leave it out with --file"
                )
    try:
        check_files(
            {f"--{one}": getattr(options, one) for one in WRITTEN},
            {"--file": options.file},
        )
    except ValueError as error:
        raise CommandError(str(error)) from error
    if options.export is not None:
        from bounds.export import check_folder

        check_folder(options.export)
    entries = _own(options) if options.file is not None else _papers(options)
    if options.export is not None:
        from bounds.export import export

        _decide(entries)
        return export(options.export, entries, options.mutate, options.minutes)
    if options.mutate:
        return _mutate(options, entries)
    written = None if options.proofs is None else Encoder()
    shown, claims = _decide(entries, options.html is not None, written)
    if options.json is not None:
        content = json.dumps([entry.as_dict() for entry in entries], indent=1) + "\n"
        _write(options.json, content)
    title = f"Audit of {options.file}" if options.file is not None else ""
    if options.html is not None:
        from bounds.page import page

        _write(options.html, page(entries, title, shown))
    if options.latex is not None:
        from bounds.latex import document

        _write(options.latex, document(entries, title))
    if written is not None:
        _write(options.proofs, written.document(claims))
    if options.claim is not None:
        print_entry(entries[0])
    else:
        print_table(entries)
    return 0


ALONE = {
    "trust": ("claim", "paper", "file", "export", "mutate", *WRITTEN),
    "export": WRITTEN,
    "mutate": WRITTEN[1:],
}
"""An option, and those that would do nothing beside it."""


def _check_idle(options: argparse.Namespace) -> None:
    for option, idle in ALONE.items():
        for one in idle if getattr(options, option) else ():
            if getattr(options, one):
                raise CommandError(
                    f"--{one} does nothing beside --{option}: leave one of them out"
                )


def _papers(options: argparse.Namespace) -> list[Entry]:
    """Return the entries of the papers' ledger that are asked for.

    Returns:
        One, those of a paper, or all.

    Raises:
        CommandError: if there is no such claim, or it is of another paper.
    """
    if options.claim is None:
        return [ledger().entry(claim.id) for claim in ledger().claims(options.paper)]
    try:
        found = claim(options.claim)
    except ValueError as error:
        raise CommandError(f"--claim: {error}") from error
    if options.paper not in {None, options.claim.split("/")[0]}:
        raise CommandError(
            f"--claim: {options.claim} is none of --paper {options.paper}"
        )
    return [found]


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


@dataclass(frozen=True)
class Answer:
    """What a process found out about an entry.

    Attributes:
        process: its number.
        outcome: of the claim.
        repair: of its repair.
        picture: what a page shows of it, where one is asked for.
        proofs: statements and evidence for the checker, where they are asked for.
    """

    process: int
    outcome: Outcome
    repair: Outcome | None
    picture: Drawn | None
    proofs: Piece | None


def _decide(
    entries: Sequence[Entry], draw: bool = False, proofs: Encoder | None = None
) -> tuple[dict[str, Drawn], list[dict[str, Json]]]:
    """Ask the kernel about many entries, in a process per core; each keeps its answer.

    Which process asks changes no answer.

    Args:
        entries: to be asked about.
        draw: whether a page will show proofs and models: they stay in the process.
        proofs: takes terms and steps of what decides them; None: they are not written.

    Returns:
        What the page shows of them, by id, empty where no other process was asked; and
        the claims that `proofs` is to write, proved ones first.

    Raises:
        CommandError: proofs are to be written, and nothing is decided by one.
    """
    shown: dict[str, Drawn] = {}
    claims: dict[str, dict[str, Json]] = {}
    workers = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    if workers > 1 and len(entries) >= FEW:
        pieces: dict[int, list[Piece]] = {}
        for place, found in _asked(entries, draw, proofs is not None, workers):
            if found.picture is not None:
                shown[entries[place].claim.id] = found.picture
            if found.proofs is not None:
                pieces.setdefault(found.process, []).append(found.proofs)
            # where a cached property keeps what it was
            own = {"outcome": found.outcome, "repair": found.repair}
            vars(entries[place]).update(own)
        if proofs is not None:
            for sent in pieces.values():
                claims |= proofs.joined(sent)
    elif proofs is not None:
        for entry in entries:
            claims |= {str(one["id"]): one for one in _encoded(entry, proofs)}
    if proofs is not None and not claims:
        raise CommandError("--proofs: no kernel proof or model among these entries")
    names = [name for entry in entries for name, _ in parts_of(entry.claim)]
    ordered = [claims[name] for name in names if name in claims]
    return shown, sorted(ordered, key=lambda one: "theorem" not in one)


def _asked(
    entries: Sequence[Entry], draw: bool, write: bool, workers: int
) -> Iterator[tuple[int, Answer]]:
    """Yield what the processes find, in no order, and show how far they are."""
    from rich.console import Console
    from rich.progress import Progress

    from bounds.shares import shared

    sheet = None
    if draw:
        from bounds.page.sheet import Sheet

        sheet = Sheet()
    bars = Progress(console=Console(stderr=True), transient=True)
    with bars:
        bar = bars.add_task("claims replayed", total=len(entries))
        asked = partial(_answer, entries, sheet, Encoder() if write else None)
        for found in shared(asked, len(entries), workers):
            yield found
            bars.advance(bar)


def _answer(
    entries: Sequence[Entry], sheet: Sheet | None, proofs: Encoder | None, place: int
) -> Answer:
    entry, picture, piece = entries[place], None, None
    if sheet is not None:
        from bounds.page.drawn import drawn

        picture = drawn(entry, sheet)
    if proofs is not None:
        piece = proofs.piece(_encoded(entry, proofs))
    repair = None if entry.repair is None else replace(entry.repair, decided=())
    outcome = replace(entry.outcome, decided=())
    return Answer(os.getpid(), outcome, repair, picture, piece)


def _encoded(entry: Entry, proofs: Encoder) -> list[dict[str, Json]]:
    """Return the statements of an entry with the evidence that decides them."""
    repair = () if entry.repair is None else entry.repair.decided
    decided = (*entry.outcome.decided, *repair)
    found = []
    for (name, part), one in zip(parts_of(entry.claim), decided, strict=True):
        statement = part.says.statement(name)
        if one.theorem is not None:
            found.append(proofs.claim(statement, one.theorem, one.data))
        elif one.data is not None:
            found.append(proofs.refutation(statement, one.data))
    return found


def _mutate(options: argparse.Namespace, entries: Sequence[Entry]) -> int:
    from bounds.journal import Journal
    from bounds.mutate import mutate, statements, subjects
    from bounds.mutation_figures import as_json, covered, exit_status, print_figures

    journal = Journal()
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        try:
            journal = Journal(options.json.with_name(f"{options.json.name}.part"))
        except ValueError as error:
            raise CommandError(f"--json: {error}") from error
    claims = [entry.claim for entry in entries]
    verdicts = mutate(claims, journal=journal, minutes=options.minutes)
    parts = covered(subjects(statements(claims)), journal.verdicts)
    if options.json is not None:
        _write(options.json, as_json(verdicts, parts))
    print_figures(verdicts, parts)
    if journal.done == journal.total:
        journal.finish()
    return exit_status(verdicts)


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


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A claim of a user may hold what is no text.
    replace_file(path, content.encode(errors="backslashreplace"))


if __name__ == "__main__":
    sys.exit(main())
