"""``python -m figures.server_optimizer``: missing runs, picture, table, report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sfl_theory.command import CommandError, Parser, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status.
    """
    parser = Parser(
        prog="python -m figures.server_optimizer",
        description="Train SFL-V1 at every cut with the server's optimizer rebuilt or "
        "kept, and report the slope of the accuracy in the cut.",
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="run folders")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(__file__).parents[1],
        help="of picture and report",
    )
    parser.add_argument(
        "--draw-only",
        action="store_true",
        help="draw again what server_optimizer.csv in --out holds; make no runs",
    )
    parser.add_argument("--quiet", action="store_true", help="no live progress")
    return run(parser, _work, arguments)


def _work(options: argparse.Namespace) -> int:
    from figures import grid
    from figures.server_optimizer import design, report

    if options.draw_only:
        try:
            report.draw(report.read(options.out / f"{report.NAME}.csv"), options.out)
        except (OSError, KeyError, ValueError) as error:
            raise CommandError(f"--draw-only: {error}") from error
        return 0
    chosen = [design.config(*cell) for cell in design.cells()]
    try:
        grid.make(chosen, options.runs, options.quiet)
        design.check_invariance(options.runs)
        found = design.accuracies(options.runs)
    except ValueError as error:
        raise CommandError(str(error)) from error
    spent = [grid.seconds(one, options.runs) for one in chosen]
    print(report.write(found, spent, options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
