"""``python -m sfl_train``: train what the papers train, in a folder that survives."""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfl_theory.command import CommandError, Parser, run
from sfl_theory.user_files import FileError, read_text
from sfl_train.deep.config import PRESETS, Config, flag, kind, resolve
from sfl_train.deep.idle_options import refuse_idle
from sfl_train.deep.own_files import own_dataset

if TYPE_CHECKING:
    from sfl_train.follow import Follower


LOGS = ("csv", "tensorboard")
"""What ``--log`` may be."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        The exit status: 0, 1 if training diverged, 2 for a mistake.
    """
    return run(_parser(), _work, arguments)


def _parser() -> Parser:
    parser = Parser(
        prog="python -m sfl_train",
        description="Train an algorithm of split federated learning. The same options, "
        "without the hyphens in front, may stand in a TOML file.",
    )
    parser.add_argument(
        "--help-data", action=_HelpData, help="describe the data sets and exit"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file")
    parser.add_argument(
        "--preset",
        choices=tuple(PRESETS),
        help="where the options start: the algorithms as written (default), or every "
        "departure of the released code",
    )
    for item in fields(Config):
        if not item.metadata["given"]:
            continue
        annotation = kind(str(item.type))
        shown = "" if item.default is None else f" (default: {item.default})"
        words = item.metadata["help"].replace("%", "%%") + shown
        options: dict[str, Any] = {"default": argparse.SUPPRESS, "help": words}
        if annotation is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"] = annotation
            if item.metadata["choices"]:
                options["choices"] = item.metadata["choices"]
            else:
                options["metavar"] = annotation.__name__.upper()
        parser.add_argument(f"--{flag(item.name)}", dest=item.name, **options)
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="run folder (default: runs/ALGORITHM-DATASET-HASH)",
    )
    parser.add_argument(
        "--log",
        choices=LOGS,
        help="also write metrics.csv or TensorBoard's event files into the run folder",
    )
    parser.add_argument("--quiet", action="store_true", help="no live progress")
    return parser


class _HelpData(argparse.Action):
    """Print the table of data sets, as ``--help`` prints the options."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(
            option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS,
            help=help,
        )  # fmt: skip

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        from sfl_train.deep.data.named import table

        print(table())
        parser.exit()


def _work(options: argparse.Namespace) -> int:
    given = dict(vars(options))
    file, preset, out, quiet, log = (
        given.pop(name) for name in ("config", "preset", "out", "quiet", "log")
    )
    layer = _toml(file) if file is not None else {}
    below = layer.pop("preset", "paper"), _own(layer, "out", str)
    preset = preset or below[0]
    out = out or (Path(below[1]) if below[1] is not None else None)
    quiet = _own(layer, "quiet", bool) or quiet
    below_log = _own(layer, "log", str)
    log = log or below_log
    if log not in {None, *LOGS}:
        raise CommandError(f"--log: expected one of {', '.join(LOGS)}, got {log!r}")
    try:
        config = resolve(preset, layer, given)
        refuse_idle(config, {**layer, **given})
    except ValueError as error:
        raise CommandError(str(error)) from error
    # Not before: these take seconds, and a mistake should be told at once.
    from sfl_train.deep.cluster import joined
    from sfl_train.deep.training import train
    from sfl_train.follow import Follower
    from sfl_train.runs.begun import copy_shorter
    from sfl_train.runs.done import nobody, read_done
    from sfl_train.runs.files import RunError

    own = own_dataset(config.dataset)
    dataset = config.dataset if own is None else f"npz-{own.stem}"
    dataset = dataset.replace(":", "-").replace("/", "-")
    given_out = out is not None
    out = out or Path("runs") / f"{config.algorithm}-{dataset}-{config.hash[:12]}"
    try:
        with joined(config.device) as (cluster, device):
            config, first = replace(config, device=device), cluster.rank == 0
            begun = None if given_out or not first else copy_shorter(out, config)
            if begun is not None:
                print(f"going on from {begun}, which stays", file=sys.stderr)
            follower = Follower(log, out) if log is not None and first else None
            with _display(quiet or not first) as show:
                watch = show if follower is None else _watched(follower, show)
                summary = train(config, out, watch, cluster)
            if follower is not None:
                follower.step()
    except (RunError, ValueError) as error:
        raise CommandError(_named(str(error))) from error
    except OSError as error:
        raise CommandError(f"--out: {error}") from error
    except (MemoryError, RuntimeError) as error:
        if not _memory(error):
            raise
        raise CommandError(
            "not enough memory: take a smaller --model, --width, --batch-size or "
            f"--dataset ({str(error).splitlines()[0] if str(error) else 'no more'})"
        ) from error
    except KeyboardInterrupt:
        print(f"stopped; the same command goes on with {out}", file=sys.stderr)
        return 130
    if not first:
        return int(summary["diverged"])
    try:
        done, idle = read_done(out, config.hash), nobody(out)
    except RunError as error:
        raise CommandError(str(error)) from error
    if done is not None and done.note:
        print(done.note, file=sys.stderr)
    if idle:
        print("nobody took part in any round: nothing was trained", file=sys.stderr)
    if summary["diverged"]:
        print(f"diverged in round {summary['rounds']}; {out}", file=sys.stderr)
        return 1
    print(
        f"round {summary['rounds']}: accuracy {summary['test_accuracy']:.4f}, "
        f"loss {summary['test_loss']:.4f}; {out}"
    )
    return 0


def _watched(
    follower: Follower, show: Callable[[Any], None] | None
) -> Callable[[Any], None]:
    """Return what is told after every round: the follower looks, then the display."""

    def watch(now: Any) -> None:
        follower.step()
        if show is not None:
            show(now)

    return watch


SETS = {
    "cut": "cut",
    "participation": "participation",
    "momentum": "momentum",
    "norm": "norm",
    "blocks": "depth",
    "clients": "clients",
}
"""What a message of the packages begins with, and the option that sets it."""


def _named(message: str) -> str:
    """Return a message with the option in front whose value it begins with."""
    if message.startswith(("partition '", "unknown partition ")):
        return f"--partition: {message}"
    what, colon, words = message.partition(": ")
    return f"--{SETS[what]}: {words}" if colon and what in SETS else message


def _own(layer: dict[str, Any], name: str, wanted: type) -> Any:
    """Take an option of the command itself out of a file's options.

    Args:
        layer: options of the file; changed.
        name: of the option.
        wanted: its type.

    Returns:
        Its value, or None.

    Raises:
        CommandError: if it has another type.
    """
    value = layer.pop(name, None)
    if value is not None and type(value) is not wanted:
        raise CommandError(f"--{name}: expected {wanted.__name__}, got {value!r}")
    return value


def _memory(error: Exception) -> bool:
    """Return whether an error says that memory, of the host or of a GPU, is used up."""
    from torch import OutOfMemoryError

    used_up = isinstance(error, MemoryError | OutOfMemoryError)
    return used_up or "DefaultCPUAllocator" in str(error)


def _toml(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(read_text(path))
    except FileError as error:
        raise CommandError(f"--config: {error}") from error
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else error
        raise CommandError(f"--config: {path}: {why}") from error
    return {name.replace("-", "_"): value for name, value in content.items()}


@contextmanager
def _display(quiet: bool):  # type: ignore[no-untyped-def]
    """Show a progress line while training, unless quiet or not on a terminal.

    Args:
        quiet: show nothing.

    Yields:
        What `train` tells its progress to, or None.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    bar = Progress(
        TextColumn("round {task.completed}/{task.total}"),
        BarColumn(table_column=Column(min_width=1)),
        TextColumn("{task.fields[state]}", table_column=Column(no_wrap=True)),
        TimeRemainingColumn(True, table_column=Column(min_width=7)),
        console=Console(stderr=True),
    )
    with bar:
        task = bar.add_task("", total=None, state="starting")

        def show(now: Any) -> None:
            rate = (now.round - now.started) / now.seconds
            words = [f"{rate:.3g} rounds/s", f"{now.images / now.seconds:.0f} images/s"]
            if now.loss is not None:
                words.append(f"loss {now.loss:.4f}")
            if now.accuracy is not None:
                words.append(f"accuracy {now.accuracy:.4f}")
            bar.update(
                task, total=now.rounds, completed=now.round, state=" ".join(words)
            )

        shown: Callable[[Any], None] = show
        yield shown


def _leave(status: int) -> None:
    """End the process.

    Under ``torchrun`` without the interpreter's tear-down: a thread of gloo that has
    not ended by then aborts the process now and then, after all work is done.

    Args:
        status: the exit status.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        os._exit(status)
    sys.exit(status)


if __name__ == "__main__":
    _leave(main())
