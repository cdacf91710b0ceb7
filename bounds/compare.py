"""``python -m bounds.compare --theorem 3.7``: train, measure, evaluate, judge, draw."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bounds.run_options import INSTANCE, check_refuting, fill, gradient_case
from bounds.versions import versions
from sfl_theory import Bound, Theorem, schedules, theorem
from sfl_theory.command import CommandError, Parser, run

if TYPE_CHECKING:
    from bounds.audited import Audited
    from bounds.certified import Derived
    from bounds.comparison import Comparison
    from bounds.experiment import Experiment
    from bounds.parallel import Job
    from bounds.training import Progress, Trained, Training
    from sfl_theory.schedules import Schedule
    from sfl_theory.worst_case.round_by_round import Followed


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
    add(
        "--version",
        default="story",
        help="story (default: printed, repaired as far as a case has it, best: at "
        "every T the smallest that is proved, and certificates of single rounds, "
        "chained), both (printed and repaired), or one by its name; "
        "'python -m sfl_theory show THEOREM' lists a case's versions",
    )
    add(
        "--problem",
        help="softmax:digits, quadratic:FILE.npz, ...; instance:CLAIM runs the "
        "instance that refutes a claim of the ledger; default: by case",
    )
    add(
        "--refute",
        action="store_true",
        help="run the refuting instance of every case that the ledger refutes",
    )
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
    add(
        "--order",
        choices=("interleaved", "client-sequential"),
        help="of SFL-V2's visits (default: interleaved)",
    )
    add(
        "--clock",
        choices=("analysis", "algorithm"),
        help="SFL-V1 with --tau-server: rounds as App. C.2 counts them (default), or "
        "as the box of Algorithm 1",
    )
    add(
        "--aggregation",
        choices=("updates", "models"),
        help="under partial participation (default: updates)",
    )
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
    add("--csv", type=Path, metavar="FILE", help="write curves and bounds as a table")
    add(
        "--proof",
        type=Path,
        metavar="FOLDER",
        help="prove the bounds round by round, however long it takes, and write a file "
        "per case, which python -I -S sfl_theory/kernel/check.py FILE replays",
    )
    add("--quiet", action="store_true", help="no progress on standard error")
    return parser


def _work(options: argparse.Namespace) -> int:
    # Refuse what can be refused before the slow imports and the training.
    instance = (options.problem or "").removeprefix(INSTANCE)
    refuting = options.refute or instance != (options.problem or "")
    option = "--theorem"
    try:
        item = theorem(options.theorem)
        option = "--case" if options.case else "--theorem"
        wanted = [item.case(options.case)] if options.case else [*item.cases.values()]
        if options.run is not None:
            wanted = [gradient_case(item, wanted)]
        option = "--version"
        periods = {options.tau_server or options.tau or 5, options.tau or 5}
        asked, notes = versions(item, wanted, options.version, len(periods) == 1)
    except ValueError as error:
        raise CommandError(f"{option}: {error}") from error
    if options.proof and (refuting or options.run or options.version != "story"):
        raise CommandError(
            "--proof: bounds round by round stand beside trained runs, with --version "
            "story"
        )
    if refuting:
        check_refuting(options)
    else:
        fill(options)
    from bounds.record import write_csv, write_folder, write_json
    from sfl_train.files import check_files, check_writable

    ending = "-refuted" if refuting else "" if options.run is None else "-run"
    name = item.key.replace("/", "-") + ending
    out = options.out or Path("compare-out") / name
    try:
        check_writable("--out", out, folder=True)
        targets = {"--json": options.json, "--csv": options.csv}
        read = (options.problem or "").removeprefix("quadratic:")
        parts = (options.partition or "").removeprefix("file:")
        check_files(targets, {"--problem": read, "--partition": parts})
        for option, path in targets.items():
            if path and path.resolve() in (out.resolve(), *out.resolve().parents):
                raise ValueError(f"{option}: {path} is the folder of --out")
        if options.proof is not None:
            check_writable("--proof", options.proof, folder=True)
        _check_apart(options)
        write = write_folder
        if refuting:
            from bounds.refuting import refute

            claim = None if options.refute else instance
            comparisons, audits, notes = refute(item, wanted, claim, options)
        elif options.run is None:
            from bounds.experiment import cases_for

            experiment = _experiment(options)
            if options.case is None:
                asked = {name: asked[name] for name in cases_for(item, experiment)}
            story = options.version == "story"
            comparisons, audits = _compare(
                item, asked, experiment, story, options.quiet, bool(options.proof)
            )
        else:
            from bounds.audited import audited
            from bounds.run_comparison import compare_runs
            from bounds.run_record import write_run_folder as write

            (case,) = wanted
            audit = audited(
                item, case.name, [bound.version for bound in asked[case.name]]
            )
            comparisons = compare_runs(
                item, case.name, asked[case.name], options.run, audit
            )
            audits = {} if audit is None else {case.name: audit}
        picture = write(out, comparisons, audits)
        if options.json is not None:
            write_json(options.json, comparisons)
        if options.csv is not None:
            write_csv(options.csv, comparisons)
        if options.proof is not None:
            from bounds.certified import write_proofs

            notes = (*notes, *write_proofs(options.proof, comparisons))
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

    print_report(comparisons, audits, notes, picture)
    return 0


def _check_apart(options: argparse.Namespace) -> None:
    """Refuse to write into a run folder, which is only read.

    Args:
        options: of the command.

    Raises:
        ValueError: if a target lies in one.
    """
    for name in ("out", "json", "csv"):
        target = getattr(options, name)
        for folder in options.run or ():
            if (
                target is not None
                and os.path.isdir(folder)  # False where a path is none
                and target.resolve().is_relative_to(folder.resolve())
            ):
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
    asked: Mapping[str, Sequence[Bound]],
    experiment: Experiment,
    story: bool,
    quiet: bool,
    large: bool,
) -> tuple[list[Comparison], dict[str, Audited]]:
    """Train every distinct run, replay the audit, and compare case by case.

    One thread a process: the products are small, and the numbers then do not depend on
    how many cores a machine has.

    Args:
        item: the theorem.
        asked: case -> versions of its bound.
        experiment: the choices.
        story: beside the last version of a case, in place of the sharper one, the
            smallest proved bound.
        quiet: no progress.
        large: whether bounds round by round are proved however long it takes.

    Returns:
        One comparison per case and version, and what the ledger says of each case.
    """
    import torch

    from bounds.comparison import against
    from bounds.measurement import measured
    from bounds.parallel import run_all
    from bounds.report import progress
    from bounds.sharpest import sharpest
    from bounds.training import trainings
    from sfl_theory.ledger import ledger

    torch.set_num_threads(1)
    ledger()  # read once: the forked processes find it in memory
    if story:
        asked = {
            case: [bound for bound in bounds if bound.version != "sharper"]
            for case, bounds in asked.items()
        }
    runs: dict[str, Training] = {}
    for case, bounds in asked.items():
        for one in trainings(item, case, bounds, experiment):
            who = ", ".join(bound.version for bound in one.bounds)
            runs[f"{item.number} {case} ({who})"] = one
    jobs: dict[str, Job] = {
        words: partial(_trained, item, one) for words, one in runs.items()
    }
    for case, bounds in asked.items():
        # the smallest proved one may be any
        names = None if story else tuple(bound.version for bound in bounds)
        jobs[f"audit of {item.number} {case}"] = partial(_audited, item, case, names)
    with progress(quiet) as show:
        results = run_all(jobs, show)
    audits = dict(zip(asked, results[len(runs) :], strict=True))
    comparisons = {}
    for training, found in zip(runs.values(), results, strict=False):
        case = training.setting.case
        each = measured(training, found)
        for bound, measurement in zip(training.bounds, each, strict=True):
            audit = audits[case]
            standing = audit and audit.of(item.case(case), bound)
            comparisons[case, bound.version] = against(
                item, case, bound, measurement, standing
            )
    ordered = []
    for case, bounds in asked.items():
        ordered += [comparisons[case, bound.version] for bound in bounds]
        if story and (best := sharpest(ordered[-1], audits[case])) is not None:
            ordered.append(best)
    if story:
        ordered = _certified(ordered, quiet, large)
    return ordered, {case: audit for case, audit in audits.items() if audit}


def _certified(
    comparisons: list[Comparison], quiet: bool, large: bool
) -> list[Comparison]:
    """Return the comparisons, after those of a case the chain of certificates.

    Args:
        comparisons: of all cases.
        quiet: no progress.
        large: whether it is proved however long it takes.
    """
    from bounds.certified import certified
    from bounds.parallel import run_all
    from bounds.report import progress
    from bounds.side_by_side import by_case

    cases = by_case(comparisons)
    jobs: dict[str, Job] = {
        f"rounds of {case}": partial(_chained, ours[-1], large)
        for case, ours in cases.items()
    }
    with progress(quiet) as show:
        results = run_all(jobs, show)
    ordered: list[Comparison] = []
    for ours, found in zip(cases.values(), results, strict=True):
        *others, last = ours
        ordered += others
        if isinstance(found, str):
            run = last.measurement
            words = f"no certificates of single rounds: {found}"
            run = replace(run, remarks=(*run.remarks, words))
            last = replace(last, measurement=run)
        ordered.append(last)
        if isinstance(found, tuple):
            ordered.append(certified(last, *found))
    return ordered


def _chained(
    beside: Comparison, large: bool, progress: Progress
) -> tuple[Followed, Derived | str] | str | None:
    from bounds.certified import chained, derived
    from sfl_theory.worst_case.round_by_round import Followed

    found = chained(beside)
    if not isinstance(found, Followed):
        return found
    name = f"round-by-round/{beside.theorem.key}/{beside.case}"
    return found, derived(found, name, large)


def _trained(item: Theorem, training: Training, progress: Progress) -> Trained:
    from bounds.training import train
    from sfl_train.engine import Diverged

    try:
        return train(training, progress)
    except Diverged as error:
        raise ValueError(f"{item.key} ({training.setting.case}): {error}") from error


def _audited(
    item: Theorem, case: str, versions: tuple[str, ...] | None, progress: Progress
) -> Audited | None:
    from bounds.audited import audited

    return audited(item, case, versions)


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
