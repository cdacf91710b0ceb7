"""``python -m figures report``: figures, tables, claims and constants on one page."""

from __future__ import annotations

import argparse
from pathlib import Path

from figures import selection
from sfl_theory.command import CommandError, Parser


def add_arguments(parser: Parser) -> None:
    """Add the options of ``report``.

    Args:
        parser: of the sub-command.
    """
    selection.add_preset(parser)
    parser.add_argument(
        "--html", type=Path, required=True, metavar="FILE", help="the page"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("drawn"),
        metavar="DIR",
        help="pictures that 'make' drew; what is not there or older than its runs is "
        "drawn anew (default: drawn)",
    )
    parser.add_argument(
        "--audit",
        metavar="FILE",
        help="page of 'bounds.audit --html', relative to this one, to link to",
    )


def work(options: argparse.Namespace) -> int:
    """Write the page.

    Args:
        options: parsed.

    Returns:
        0.

    Raises:
        CommandError: for a mistake, or a run folder that cannot be read.
    """
    from figures.report_page import page
    from sfl_train.files import check_writable, replace_file

    try:
        check_writable("--html", options.html, folder=False)
        text = page(selection.preset(options), options.runs, options.out, options.audit)
        options.html.parent.mkdir(parents=True, exist_ok=True)
        replace_file(options.html, text.encode())
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
    return 0
