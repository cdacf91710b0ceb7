"""``python -m bounds.compare --theorem 3.7``: train, measure, evaluate, judge, draw."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bounds.run_options import fill, gradient_case
from sfl_theory import Bound, Theorem, schedules, theorem
from sfl_theory.command import CommandError, Parser, run
from sfl_theory.statement import Case

if TYPE_CHECKING:
    from bounds.comparison import Comparison
    from bounds.experiment import Experiment
    from sfl_theory.schedules import Schedule


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
        prog="python -m bounds.compare",
        description="Train what a theorem speaks of, measure its constants, and put "
        "the measured curve beside the bound.",
    )
    add = parser.add_argument
    add("--theorem", required=True, help="3.7, huang2023/thm-1, ...")
    add("--case", help="strongly_convex, general_convex or non_convex; default: all")
    add("--version", default="printed", help="printed, repaired, both or sharper")
    add("--problem", help="softmax:digits, quadratic:FILE.npz, ...; default: by case")
    add("--clients", type=int, help="N (default: the problem's)")
    add(
        "--partition", help="iid, dirichlet:0.5 (default), blocks:R, natural, file:PATH"
    )
    add("--weights", help="uniform, size (default), or a list 0.2,0.3,0.5")
    add("--participation", help="q, one number or a list; partial theorems only")
    add("--tau", type=int, help="local steps (default 5)")
    add("--tau-server", type=int, help="server-side period of SFL-V1 (default: tau)")
    add("--rounds", type=int, help="T (default 100)")
    add("--seeds", type=int, help="number of seeds (default 10)")
    add("--seed", type=int, help="first seed, partition, initial model (default 0)")
    add("--batch-size", help="mini-batch size, or full (default 32)")
    add("--without-replacement", action="store_true", help="draw distinct samples")
    add("--cut", help="coordinates of the client block, or a label")
    add("--learning-rate", help="ETA, SCALE/(OFFSET+t) or ETA0,ETA1,...")
    add("--order", choices=("interleaved", "client-sequential"))
    add("--clock", choices=("analysis", "algorithm"))
    add("--aggregation", choices=("updates", "models"))
    add(
        "--run",
        type=Path,
        action="append",
        metavar="DIR",
        help="train nothing: take a finished run of python -m sfl_train made with "
        "--measure; once for every seed",
    )
    add(
        "--out",
        type=Path,
        help="folder (default compare-out/THEOREM, with --run THEOREM-run)",
    )
    add("--json", type=Path, metavar="FILE", help="also write the JSON here")
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def _work(options: argparse.Namespace) -> int:
    # Refuse what can be refused before the slow imports and the training.
    versions = (
        ("printed", "repaired") if options.version == "both" else (options.version,)
    )
    option = "--theorem"
    try:
        item = theorem(options.theorem)
        option = "--case" if options.case else "--theorem"
        wanted = [item.case(options.case)] if options.case else [*item.cases.values()]
        if options.run is not None:
            wanted = [gradient_case(item, wanted)]
        option = "--version"
        for case in wanted:
            _versions(case, versions)
    except ValueError as error:
        raise CommandError(f"{option}: {error}") from error
    fill(options)
    from bounds.audit import refuting_instances
    from bounds.record import write_folder, write_json
    from sfl_train.files import check_writable

    name = item.key.replace("/", "-") + ("" if options.run is None else "-run")
    out = options.out or Path("compare-out") / name
    try:
        check_writable("--out", out, folder=True)
        if options.json is not None:
            check_writable("--json", options.json, folder=False)
            if options.json.resolve() in (out.resolve(), *out.resolve().parents):
                raise ValueError(f"--json: {options.json} is the folder of --out")
        _check_apart(options)
        if options.run is None:
            write = write_folder
            experiment = _experiment(options)
            comparisons = _compare(
                item, options.case, versions, experiment, options.quiet
            )
        else:
            from bounds.run_comparison import compare_runs
            from bounds.run_record import write_run_folder as write

            (case,) = wanted
            bounds = _versions(case, versions)
            comparisons = compare_runs(item, case.name, bounds, options.run)
        instances = {}
        if options.version == "both":
            instances = refuting_instances(item, [c.case for c in comparisons])
        picture = write(out, comparisons, instances)
        if options.json is not None:
            write_json(options.json, comparisons)
    except ValueError as error:
        raise CommandError(_named(str(error), options.problem)) from error
    except MemoryError as error:
        raise CommandError(
            f"not enough memory ({error}): take a smaller --seeds, --clients, --tau or "
            "--batch-size"
        ) from error
    except OSError as error:
        raise CommandError(f"--out: {error}") from error
    from bounds.report import print_report

    print_report(comparisons, picture)
    return 0


def _check_apart(options: argparse.Namespace) -> None:
    """Refuse to write into a run folder, which is only read.

    Args:
        options: of the command.

    Raises:
        ValueError: if a target lies in one.
    """
    for name in ("out", "json"):
        target = getattr(options, name)
        for folder in options.run or ():
            inside = target is not None and target.resolve().is_relative_to(
                folder.resolve()
            )
            if inside and folder.is_dir():
                raise ValueError(
                    f"--{name}: {target} lies in the run folder {folder}, which is "
                    "only read: choose another place"
                )


def _experiment(options: argparse.Namespace) -> Experiment:
    from bounds.experiment import Experiment

    batch = options.batch_size
    if batch != "full":
        try:
            batch = int(batch)
        except ValueError:
            raise ValueError(
                f"batch-size must be an integer or full, got '{batch}'"
            ) from None
    weights = options.weights
    if weights not in {None, "uniform", "size"}:
        weights = _floats("weights", weights)
    q = options.participation
    if q is not None:
        q = _floats("participation", q)
        q = q[0] if len(q) == 1 else q
    return Experiment(
        problem=options.problem,
        clients=options.clients,
        tau=options.tau,
        tau_server=options.tau_server,
        rounds=options.rounds,
        seeds=options.seeds,
        seed=options.seed,
        weights=weights,
        participation=q,
        partition=options.partition,
        cut=options.cut,
        batch_size=None if batch == "full" else batch,
        replacement=not options.without_replacement,
        learning_rate=_learning_rate(options.learning_rate),
        order=options.order,
        clock=options.clock,
        aggregation=options.aggregation,
    )


def _learning_rate(text: str | None) -> float | Schedule | None:
    """Read ETA, SCALE/(OFFSET+t), or one rate per round separated by commas.

    Returns:
        A constant, a schedule, or None where nothing was given.
    """
    if text is None:
        return None
    inverse = re.fullmatch(r"([^/]+)/\(([^/]+)\+t\)", text.replace(" ", ""))
    if inverse:
        scale, offset = _floats("learning rate", ",".join(inverse.groups()))
        return schedules.inverse_time(scale, offset)
    rates = _floats("learning rate", text)
    return rates[0] if len(rates) == 1 else schedules.table(rates)


def _floats(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(
            f"{option} must be a number or numbers separated by commas, got '{text}'"
        ) from None


def _compare(
    item: Theorem,
    case: str | None,
    versions: Sequence[str],
    experiment: Experiment,
    quiet: bool,
) -> list[Comparison]:
    """Compare case by case; versions with one learning rate share their run.

    One thread: the products are small, and the numbers then do not depend on how many
    cores a machine has.

    Returns:
        One comparison per case and version.

    Raises:
        ValueError: if a choice is impossible or a run diverges.
    """
    import torch

    from bounds.comparison import against
    from bounds.experiment import cases_for, resolve
    from bounds.measurement import Measurement, measure, serves
    from bounds.report import progress
    from sfl_train.engine import Diverged

    torch.set_num_threads(1)
    names = [case] if case else [*cases_for(item, experiment)]
    tested = {name: _versions(item.case(name), versions) for name in names}
    for name, bounds in tested.items():
        for bound in bounds:
            resolve(item, name, bound, experiment)
    comparisons = []
    with progress(quiet) as show:
        for name, bounds in tested.items():
            runs: list[Measurement] = []
            for bound in bounds:
                found = next((run for run in runs if serves(run, bound)), None)
                if found is None:
                    try:
                        found = measure(item, name, bound, experiment, show(item, name))
                    except Diverged as error:
                        raise ValueError(f"{item.key} ({name}): {error}") from error
                    runs.append(found)
                comparisons.append(against(item, name, bound, found))
    return comparisons


def _versions(case: Case, versions: Sequence[str]) -> list[Bound]:
    """Return the bounds asked for; of "both", the repaired one where there is one."""
    if len(versions) == 1:
        return [case.bound(versions[0])]
    return [case.printed, *([case.repaired] if case.repaired is not None else [])]


OPTIONS = {
    "unknown weights": "--weights",
    "unknown partition": "--partition",
    "case": "--case",
    "problem": "--problem",
    "unknown problem": "--problem",
    "partition": "--partition",
    "clients": "--clients",
    "the number of clients": "--clients",
    "tau-server": "--tau-server",
    "tau": "--tau",
    "rounds": "--rounds",
    "seeds": "--seeds",
    "seed": "--seed",
    "weights": "--weights",
    "participation": "--participation",
    "batch-size": "--batch-size",
    "cut": "--cut",
    "learning rate": "--learning-rate",
    "a learning rate": "--learning-rate",
    "learning rates": "--learning-rate",
    "scale and offset": "--learning-rate",
}


def _named(message: str, problem: str | None) -> str:
    """Put the option in front of a message that begins with what it sets.

    Returns:
        The message, with an option where one is known.
    """
    # A file may be called like an option, so the problem comes first.
    for name in (problem, (problem or "").removeprefix("quadratic:")):
        if name and message.startswith(f"{name}: "):
            return f"--problem: {message}"
    for start, option in OPTIONS.items():
        if message.startswith(f"{start}: "):
            return f"{option}: {message.removeprefix(f'{start}: ')}"
        if message.startswith(start):
            return f"{option}: {message}"
    return message


if __name__ == "__main__":
    sys.exit(main())
