"""``python -m sfl_theory``: read a theorem, evaluate a bound."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from sfl_theory import schedules, symbols
from sfl_theory.bound import Bound, StepSize
from sfl_theory.command import CommandError, Parser, run
from sfl_theory.constants import Constants
from sfl_theory.papers.baselines import TABLE_4, rate_table
from sfl_theory.registry import theorem, theorems


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
        description="Bounds of three papers on split federated learning.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verbs.add_parser("list", help="every statement that has a bound")
    show = verbs.add_parser("show", help="print a theorem as the paper states it")
    show.add_argument("theorem", help="3.7, huang2023/thm-1, table-2, ...")
    show.add_argument("--case", help="one case only")
    show.add_argument("--version", default="printed", help="printed or repaired")
    show.add_argument("--latex", action="store_true", help="print LaTeX")
    evaluate = verbs.add_parser("evaluate", help="the bound as numbers")
    evaluate.add_argument("theorem", help="3.7, huang2023/thm-1, ...")
    evaluate.add_argument("--case", help="needed where there are several")
    evaluate.add_argument("--version", default="printed", help="printed or repaired")
    evaluate.add_argument(
        "--constants", required=True, metavar="FILE.json", help="the constants"
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
            for item in theorems():
                print(f"{item.key:22} {item.title} ({', '.join(item.cases)})")
        elif options.verb == "show":
            _show(options)
        else:
            _evaluate(options)
    except CommandError:
        raise
    except ValueError as error:
        raise CommandError(str(error)) from error
    return 0


def _show(options: argparse.Namespace) -> None:
    if options.theorem.startswith("table-"):
        _show_table(options.theorem.removeprefix("table-"), options.latex)
        return
    item = theorem(options.theorem)
    cases = [item.case(options.case)] if options.case else [*item.cases.values()]
    bounds = {case.name: case.bound(options.version) for case in cases}
    print(f"{item.key}: {item.title}")
    for name, bound in bounds.items():
        print()
        _show_case(name, bound, options.latex)


def _show_case(name: str, bound: Bound, latex: bool) -> None:
    print(f"{name} ({bound.version}; {bound.source})")
    print("  assumptions: " + "; ".join(bound.conditions))
    if bound.step_size is not None:
        print("  step size:   " + _step(bound.step_size, latex))
    if latex:
        print("  " + bound.latex())
    else:
        print(f"  {bound.metric.words} <=")
    for position, (name, part) in enumerate(bound.parts.items()):
        if latex:
            print(f"  % {name}: {symbols.latex(part)}")
        else:
            print(f"    {'+' if position else ' '} {name}:")
            print(_pretty(part, 8))
    definitions = {**(bound.step_size.definitions if bound.step_size else {})}
    definitions.update(bound.definitions)
    for symbol, meaning in definitions.items():
        write = symbols.latex if latex else _line
        print(f"  where {write(symbol)} = {write(meaning)}")
    print("  order in T:  " + _order(bound))
    for finding in bound.findings:
        print(f"  FAILS {finding.relation}: {finding.words}")
    for note in bound.notes:
        print(f"  note: {note}")


def _step(step: StepSize, latex: bool) -> str:
    if latex:
        return step.latex()
    sign = step.relation
    index = "i (local step)" if step.per_step else "t"
    if step.same:
        return f"eta^{index} {sign} {_line(step.client)}"
    return (
        f"eta^{index} {sign} {_line(step.client)} on the client side, "
        f"{sign} {_line(step.server)} on the server side"
    )


def _order(bound: Bound) -> str:
    exponent = bound.exponent()
    if bound.sums_learning_rates:
        return f"T^({exponent}) with a constant learning rate"
    return f"T^({exponent})"


def _line(expr: Any) -> str:
    return str(expr).replace("**", "^")


def _pretty(expr: Any, indent: int) -> str:
    block = sp.pretty(expr, use_unicode=True, wrap_line=False)
    return "\n".join(" " * indent + line for line in block.splitlines())


def _show_table(number: str, latex: bool) -> None:
    if number == "4":
        print("han2024 Table 4: per client | all clients | time of a round")
        for row in TABLE_4:
            entries = (row.per_client, row.total, row.time)
            shown = " | ".join(symbols.latex(e) if latex else _line(e) for e in entries)
            print(f"  {row.method:8} {shown}")
        return
    if number not in {"1", "2", "3"}:
        raise CommandError(f"unknown table 'table-{number}'; valid: table-1..4")
    print(f"han2024 Table {number}: rates, absolute constants and logarithms omitted")
    for rate in rate_table(int(number)):
        shown = symbols.latex(rate.expr) if latex else _line(rate.expr)
        print(f"  {rate.participation:8}{rate.case:16}{rate.method:22}{shown}")
        for finding in rate.findings:
            print(f"      FAILS {finding.relation}: {finding.words}")


def _evaluate(options: argparse.Namespace) -> None:
    bound = theorem(options.theorem).case(options.case).bound(options.version)
    constants = Constants.from_json(options.constants)
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
