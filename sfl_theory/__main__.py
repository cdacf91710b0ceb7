"""``python -m sfl_theory``: read a theorem, evaluate a bound."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import numpy as np

from sfl_theory import schedules
from sfl_theory.best import choose
from sfl_theory.command import CommandError, Parser, run
from sfl_theory.constants import Constants
from sfl_theory.registry import theorem
from sfl_theory.show import ALL, show_list, show_table, show_theorem
from sfl_theory.statement import VERSIONS


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
        prog="python -m sfl_theory",
        description="Bounds of papers on split federated learning.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("list", help="every statement that has a bound")
    show = verbs.add_parser("show", help="print a theorem, and what the audit says")
    show.add_argument("theorem", help="3.7, huang2023/thm-1, table-2, ...")
    show.add_argument("--case", help="one case only")
    show.add_argument(
        "--version", default="printed", help=f"{', '.join(VERSIONS)}, or {ALL}"
    )
    show.add_argument("--latex", action="store_true", help="print LaTeX")
    evaluate = verbs.add_parser("evaluate", help="the bound as numbers")
    evaluate.add_argument("theorem", help="3.7, huang2023/thm-1, ...")
    evaluate.add_argument("--case", help="needed where there are several")
    evaluate.add_argument("--version", default="printed", help=", ".join(VERSIONS))
    evaluate.add_argument(
        "--constants",
        required=True,
        metavar="FILE.json",
        help='a JSON object: {"S": 2, "mu": 0.1, "sigma2": 1, "weights": [0.5, 0.5], '
        '"tau": 5, ...}; one that is missing is named',
    )
    evaluate.add_argument(
        "--rounds", required=True, help="comma-separated rounds T, like 1,10,100"
    )
    evaluate.add_argument(
        "--learning-rate",
        type=float,
        help="constant learning rate in sums over it (default: the theorem's rule)",
    )
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _work(options: argparse.Namespace) -> int:
    try:
        if options.verb == "list":
            show_list()
        elif options.verb == "show" and options.theorem.startswith("table-"):
            show_table(options.theorem, options.latex)
        elif options.verb == "show":
            show_theorem(
                theorem(options.theorem), options.case, options.version, options.latex
            )
        else:
            _evaluate(options)
    except CommandError:
        raise
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0


def _evaluate(options: argparse.Namespace) -> None:
    item = theorem(options.theorem)
    choice = choose(item, item.case(options.case), options.version)
    bound = choice.bound
    try:
        constants = Constants.from_json(options.constants)
    except ValueError as error:
        raise CommandError(f"--constants: {error}") from error
    try:
        rounds = [int(item) for item in options.rounds.split(",")]
    except ValueError:
        raise CommandError(
            f"--rounds must be integers separated by commas, got '{options.rounds}'"
        ) from None
    schedule = None
    if options.learning_rate is not None:
        schedule = schedules.constant(options.learning_rate)
    try:
        with np.errstate(all="ignore"):
            terms = bound.terms(constants, rounds, schedule)
            values = bound.evaluate(constants, rounds, schedule)
        finite = bool(np.isfinite(values).all())
    except (OverflowError, ZeroDivisionError):
        finite = False
    if not finite:
        raise CommandError(
            f"--constants: with the values of {options.constants} the bound leaves "
            "the range of numbers (float64)"
        )
    if options.json:
        json.dump(
            {
                "theorem": options.theorem,
                "version": bound.version,
                "metric": bound.metric.key,
                "source": str(bound.source),
                "rounds": rounds,
                "bound": values.tolist(),
                "terms": {name: term.tolist() for name, term in terms.items()},
                "constants": constants.as_dict(),
            },
            sys.stdout,
            indent=2,
        )
        print()
        return
    widths = [max(12, len(name)) for name in terms]
    names = "  ".join(f"{name:>{w}}" for name, w in zip(terms, widths, strict=True))
    if choice.why:
        print(choice.why)
    print(f"{bound.metric.words} <=   [{bound.source}]")
    print(f"{'T':>10}  {'bound':>12}  {names}")
    for position, T in enumerate(rounds):
        cells = "  ".join(
            f"{term[position]:>{w}.5g}"
            for term, w in zip(terms.values(), widths, strict=True)
        )
        print(f"{T:>10}  {values[position]:>12.5g}  {cells}")


if __name__ == "__main__":
    sys.exit(main())
