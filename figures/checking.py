"""``python -m figures check``: what the papers read off their figures, against runs."""

from __future__ import annotations

import argparse
import difflib
import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from figures import selection
from figures.scale import Preset
from sfl_theory.command import CommandError, Parser

if TYPE_CHECKING:
    from figures.claims import Claim
    from figures.judging import Part, Result
    from figures.paired import Interval


def add_arguments(parser: Parser) -> None:
    """Add the options of ``check``.

    Args:
        parser: of the sub-command.
    """
    selection.add_keys(parser)
    selection.add_preset(parser)
    parser.add_argument("--claim", metavar="ID", help="one claim in full")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results")


def work(options: argparse.Namespace) -> int:
    """Test claims and print the verdicts.

    Args:
        options: parsed.

    Returns:
        0, whatever the verdicts.

    Raises:
        CommandError: for a mistake, or a run folder that cannot be read.
        ModuleNotFoundError: SciPy is not installed.
    """
    from figures.judging import results
    from sfl_train.files import check_writable, replace_file

    if find_spec("scipy") is None:  # told at once, not after the table
        raise ModuleNotFoundError("no scipy", name="scipy")
    claims, preset = _claims(options), selection.preset(options)
    try:
        if options.json is not None:
            check_writable("--json", options.json, folder=False)
        found = results(claims, preset, options.runs)
        if options.json is not None:
            content = json.dumps(as_dict(found, preset), indent=1) + "\n"
            options.json.parent.mkdir(parents=True, exist_ok=True)
            replace_file(options.json, content.encode())
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
    if options.claim is not None:
        print(in_full(found[0], preset))
    else:
        _print_table(found, preset)
    return 0


def _claims(options: argparse.Namespace) -> Sequence[Claim]:
    from figures.papers.claims import CLAIMS

    if options.claim is None:
        keys = {figure.key for figure in selection.chosen(options)}
        return [claim for claim in CLAIMS if keys & set(claim.figures)]
    if options.keys or options.all:
        raise CommandError("--claim: leave out the keys and --all")
    named = [claim for claim in CLAIMS if claim.id == options.claim]
    if not named:
        near = difflib.get_close_matches(
            options.claim, [claim.id for claim in CLAIMS], 3, 0.5
        )
        raise CommandError(
            f"--claim: unknown claim {options.claim!r}; "
            + (f"did you mean {' or '.join(near)}?" if near else "'check --all' lists")
        )
    return named


def as_dict(found: Sequence[Result], preset: Preset) -> dict[str, Any]:
    """Return results for a JSON file.

    Args:
        found: results.
        preset: the sizes.

    Returns:
        Counts, the correction and one object per claim.
    """
    from figures.judging import families, statements, tally
    from figures.paired import LEVEL

    return {
        "preset": preset.name,
        "size": preset.caption,
        "seeds": list(preset.seeds),
        "level": LEVEL,
        "correction": "Holm's method within each paper; t intervals over seeds at the "
        "level at which it compared the statement",
        "families": families(preset),
        "verdicts": tally(found),
        "statements": statements(found),
        "results": [_one(result) for result in found],
    }


def _one(result: Result) -> dict[str, Any]:
    from figures.judging import Judgement

    claim = result.claim
    content: dict[str, Any] = {
        "id": claim.id,
        "figures": claim.figures,
        "quote": claim.quote,
        "location": claim.location,
        "also": claim.also,
        "reading": claim.reading,
        "test": claim.test.words,
        "audit": claim.audit,
        "verdict": None,
    }
    if not isinstance(result, Judgement):
        return content | {"why": result.why, "missing": result.missing}
    return content | {
        "verdict": result.verdict,
        "decisive": result.decisive,
        "effects": [asdict(part) for part in result.parts],
    }


def in_full(result: Result, preset: Preset) -> str:
    """Return everything about one claim, as text.

    Args:
        result: of the claim.
        preset: the sizes.

    Returns:
        Several lines.
    """
    from figures.judging import Judgement, in_words

    claim = result.claim
    lines = [
        f"{claim.id} ({claim.location})",
        f'sentence:  "{claim.quote}"',
        f"reading:   {claim.reading}; {claim.test.words}",
        f"size:      {preset.caption}",
    ]
    if claim.also:
        lines.append(f"also:      {'; '.join(claim.also)}")
    if not isinstance(result, Judgement):
        lines.append(f"verdict:   none; {result.why}")
    else:
        lines.append(f"verdict:   {in_words(result.verdict, preset)}")
        lines += [
            f"  {words(part)} {span(part.found)}, {part.verdict}; uncorrected "
            f"{span(part.uncorrected)}{_notes(part, result.family)}"
            for part in result.parts
        ]
    lines += [
        f"audit:     python -m bounds.audit --claim {name}" for name in claim.audit
    ]
    return "\n".join(textwrap.fill(one, 88, subsequent_indent="    ") for one in lines)


def words(part: Part) -> str:
    """Return an effect with its size."""
    return f"{part.words}: {part.found.mean:+.3g} {part.unit}"


def span(found: Interval) -> str:
    """Return both ends of an interval."""
    return f"[{found.low:+.3g}, {found.high:+.3g}]"


def _notes(part: Part, family: int) -> str:
    notes = []
    if part.known:
        notes.append("one training on both sides, verified, in no family")
    else:
        level = f"{100 * part.level:.2f} %"
        notes.append(f"level {level}, Holm's among {family} statements of the paper")
    if part.printed is not None:
        notes.append(f"in the paper's table {part.printed:+.2f}")
    if part.seeds_to_decide is not None:
        notes.append(f"about {part.seeds_to_decide} seeds would decide")
    return "".join(f"; {note}" for note in notes)


def _print_table(found: Sequence[Result], preset: Preset) -> None:
    from rich.console import Console
    from rich.table import Table

    from figures.judging import VERDICTS, Judgement, in_words, plan, statements, tally

    console = Console(highlight=False, soft_wrap=False)
    judged = [one for one in found if isinstance(one, Judgement)]
    if judged:
        table = Table(title=f"Claims, {preset.caption}", title_justify="left")
        table.add_column("verdict", min_width=len(in_words(VERDICTS[1], preset)))
        table.add_column("claim, and what it says", overflow="fold")
        table.add_column("interval")
        for one in judged:
            verdict = in_words(one.verdict, preset)
            if len(one.parts) == 1:
                text = f"{one.claim.id}\n  {words(one.part)}"
                table.add_row(verdict, text, f"\n{span(one.part.found)}")
                continue
            table.add_row(verdict, f"{one.claim.id}, all of:", "")
            for part in one.parts:
                table.add_row(f"  {part.verdict}", f"  {words(part)}", span(part.found))
        console.print(table)
    for one in found:
        if not isinstance(one, Judgement):
            console.print(f"{one.claim.id}: {one.why}", soft_wrap=True)

    def counted(counts: dict[str, int]) -> str:
        return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())

    console.print(
        f"At the size of preset {preset.name}: {counted(tally(found))}; of what they "
        f"say, statement by statement: {counted(statements(found))}.",
        soft_wrap=True,
    )
    console.print(
        "Verdicts about a paper are right together with probability 95 %: Holm's "
        "method. Intervals are t intervals over seeds at the level at which it "
        "compared the statement.",
        soft_wrap=True,
    )
    for line in plan((one.claim.paper for one in found), preset):
        console.print(line, soft_wrap=True)
    console.print("python -m figures check --claim ID shows one in full")
