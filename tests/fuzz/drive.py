"""``python tests/fuzz/drive.py``: malformed inputs for every command, and what they do.

Whatever a user gives, a command ends with a status that its help knows, says a mistake
in exactly one line on standard error, shows neither traceback nor warning, leaves the
user's files as they were, and needs neither much time nor much memory. A line that it
does understand begins work, which is stopped, as by Ctrl-C, after a moment.

Input k of a seed is always the same: ``--only K`` shows it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import re
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random

from commands import COMMANDS, Command, spoken_of, stock
from inputs import (
    EXTRAORDINARY,
    changed_bytes,
    changed_json,
    changed_lines,
    changed_npz,
    changed_toml,
    value,
)

WORK = 0.06
"""Seconds of processor time after which accepted work is stopped."""
HANG = 60
"""Seconds after which an input counts as hanging, whatever else the machine does."""
MEMORY = 3 << 30
"""Bytes of addresses that a process may take beyond what it has when it begins."""
BATCH = 40
"""Inputs that one process is given."""
LOADED = (
    "fontTools.subset", "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg", "bounds.compare", "bounds.experiment",
    "bounds.page", "bounds.record", "bounds.run_comparison", "bounds.run_record",
    "figures.checking", "figures.drawing", "figures.judging", "figures.papers.claims",
    "figures.report_page", "sfl_theory.worst_case.solve", "sfl_train.deep.training",
    "sfl_train.problems.named",
)  # fmt: skip
"""What commands load when they need it; a stop in the middle of that would be rare."""
CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": changed_json, ".jsonl": changed_lines, ".npz": changed_npz,
    ".toml": changed_toml, "": changed_json,
}  # fmt: skip


@dataclass(frozen=True)
class Input:
    """A command line, and the files that were changed for it.

    Attributes:
        command: that is run.
        line: its arguments.
        files: path -> content.
    """

    command: Command
    line: tuple[str, ...]
    files: dict[str, bytes]


def drawn(seed: int, number: int, user: Path) -> Input:
    """Return one input.

    Args:
        seed: of all inputs.
        number: of this one.
        user: the user's files as they should be.

    Returns:
        The input.
    """
    draw = Random(f"{seed} {number}")
    command = draw.choices(COMMANDS, [one.weight for one in COMMANDS])[0]
    line, files = list(draw.choice(command.lines)), {}
    options = command.options
    by_file = draw.random() < (0.45 if options else 1.0)
    if by_file and (known := [*spoken_of(line)]):
        path = _of_folder(draw.choice(known), user, draw)
        content = (user.parent / path).read_bytes()
        files[path] = _changed(path, content, draw)
        end = Path(path).with_name("done")
        if (
            (user.parent / end).exists()
            and end.name not in path
            and draw.random() < 0.7
        ):
            # An earlier version's end, without digests: what is behind them is read.
            summary = json.loads((user.parent / end).read_bytes())
            summary.pop("files")
            files[str(end)] = json.dumps(summary).encode()
    if not options:
        return Input(command, tuple(line), files)
    for _ in range(0 if files else draw.choice((1, 1, 1, 2, 3))):
        kind = draw.random()
        if kind < 0.75:
            _option(command, options, line, draw)
        elif kind < 0.85:
            line.insert(draw.randrange(len(line) + 1), value(draw))
        elif kind < 0.92:
            del line[draw.randrange(len(line))]
        else:
            line.append(f"{draw.choice(options).option_strings[-1]}={value(draw)}")
        line = line or [""]
    return Input(command, tuple(word.replace("\0", "") for word in line), files)


def _option(
    command: Command, options: list[argparse.Action], line: list[str], draw: Random
) -> None:
    one = draw.choice(options)
    name = one.option_strings[-1]
    if one.nargs == 0:
        line.append(draw.choice(one.option_strings))
        return
    hints = command.hints.get(name, ())
    if one.choices and draw.random() < 0.3:
        hints = [str(choice) for choice in one.choices]
    given = value(draw)
    if hints and draw.random() < 0.45:
        given = draw.choice(hints)
    elif one.type is Path or any("user/" in hint for hint in hints):
        given = draw.choice((given, draw.choice(EXTRAORDINARY)))
    elif draw.random() < 0.1:
        given = "--"
    if name in line[:-1] and draw.random() < 0.7:
        line[line.index(name) + 1] = given
    elif draw.random() < 0.5:
        line.append(f"{name}={given}")
    else:
        line.extend((name, given))


def _of_folder(path: str, user: Path, draw: Random) -> str:
    """Return a file of a run folder, or of a folder of runs, or the file itself."""
    place = user.parent / path
    while place.is_dir():
        inside = sorted(one for one in place.iterdir() if one.name != "lock")
        place = draw.choice(inside)
    return str(place.relative_to(user.parent))


def _changed(path: str, content: bytes, draw: Random) -> bytes:
    change = CHANGES.get(Path(path).suffix, changed_bytes)
    if draw.random() < 0.3:
        change = changed_bytes
    try:
        return change(content, draw)
    except ValueError:
        return changed_bytes(content, draw)


def fingerprint(user: Path) -> dict[str, tuple[int, ...]]:
    """Return by what a change of a user's files is seen."""
    found = {}
    for place in user.rglob("*"):
        one = place.lstat()
        version = (one.st_mtime_ns, one.st_size) if stat.S_ISREG(one.st_mode) else ()
        found[str(place)] = (one.st_mode, one.st_ino, *version)
    return found


class Place:
    """A working directory in which commands run, one after the other."""

    def __init__(self, original: Path, folder: Path) -> None:
        """Copy the user's files.

        Args:
            original: that is copied.
            folder: the directory; made.
        """
        self.original, self.folder = original, folder
        self.user = folder / "user"
        folder.mkdir()
        os.chdir(folder)
        self._fresh()
        self._said = [
            (folder.parent / f"{folder.name}.{k}").open("w+b") for k in (1, 2)
        ]
        for k, stream in enumerate(self._said, 1):
            os.dup2(stream.fileno(), k)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding="utf-8", errors="backslashreplace", closefd=False
        )

    def _fresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(exist_ok=True)
        os.chdir(self.folder)
        shutil.copytree(
            self.original, self.user, symlinks=True, copy_function=_copied,
            ignore=lambda at, names: {"pipe", "socket"},
        )  # fmt: skip
        for name in ("pipe", "socket"):
            os.link(self.original / name, self.user / name, follow_symlinks=False)

    def _restore(self, given: Input) -> None:
        """Undo what is known to have changed, which is quicker than starting anew."""
        for path in given.files:
            (self.folder / path).write_bytes((self.original.parent / path).read_bytes())
        for place in self.folder.iterdir():
            if place != self.user and place.is_dir() and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)
            elif place != self.user:
                place.unlink()

    def run(self, given: Input) -> tuple[str, str]:
        """Run an input and look at what it did.

        Args:
            given: the input.

        Returns:
            How it ended, and what is wrong with that, or nothing.
        """
        for path, content in given.files.items():
            (self.folder / path).write_bytes(content)
        before = fingerprint(self.user)
        for stream in self._said:
            os.ftruncate(stream.fileno(), 0)
            os.lseek(stream.fileno(), 0, os.SEEK_SET)
        status, wrong = _status(given)
        sys.stdout.flush()
        sys.stderr.flush()
        said = Path(f"{self.folder}.2").read_bytes().decode(errors="replace")
        os.chdir(self.folder)
        if not wrong:
            wrong = _wrong(given, status, said)
        after = fingerprint(self.user)
        lost = {path for path in before if after.get(path) != before[path]}
        mine = {str(self.user / "run"), str(self.user / "plain")}
        if "sfl_train" in given.command.module:
            # A run goes on in its own folder.
            lost = {path for path in lost if not any(path.startswith(m) for m in mine)}
        if lost and not wrong:
            wrong = f"changed {sorted(lost)[:3]}"
        if after != before:
            self._fresh()
        else:
            self._restore(given)
        return {0: "done", 1: "done, status 1", 2: "refused", 130: "stopped"}.get(
            status, f"status {status}"
        ), wrong and f"{wrong}; said: {said[-1500:]}"


def _copied(source: str, target: str) -> None:
    shutil.copy2(source, target, follow_symlinks=False)


def _status(given: Input) -> tuple[int, str]:
    def stop(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    # Who starts this in the background may have asked for no Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPROF, stop)
    try:
        main = given.command.main
        signal.setitimer(signal.ITIMER_PROF, WORK, 1.0)
        try:
            return int(main(list(given.line)) or 0), ""
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None), ""
    except KeyboardInterrupt:
        return 130, ""
    except BaseException:
        return -1, traceback.format_exc()[-3000:]


_IGNORED = re.compile(r"Exception ignored in.*?^KeyboardInterrupt:? ?$\n?", re.S | re.M)
"""What Python says of a stop of ours that met a finaliser: no command saw it."""


def _wrong(given: Input, status: int, said: str) -> str:
    said = _IGNORED.sub("", said)
    if status not in given.command.ends:
        return f"status {status}"
    if status == 2 and (said.count("\n") != 1 or not said.endswith("\n")):
        return "a mistake is not told in one line"
    if status == 2 and not said.strip():
        return "a mistake is not told"
    for word in ("Traceback", "Warning"):
        if word in said:
            return f"a {word}"
    return ""


def batch(
    seed: int, numbers: list[int], original: Path, folder: Path, told: int
) -> None:
    """Run some inputs in this process and tell of each before and after."""
    size = int(Path("/proc/self/statm").read_text().split()[0])
    most = size * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    place = Place(original, folder)
    for number in numbers:
        os.write(told, f"{json.dumps([number, None, ''])}\n".encode())
        given = drawn(seed, number, original)
        # A thread of its own ends the process: nothing in it can prevent that.
        faulthandler.dump_traceback_later(HANG, exit=True)
        began = time.process_time()
        end, wrong = place.run(given)
        faulthandler.cancel_dump_traceback_later()
        spent = time.process_time() - began
        if spent > 20 and not wrong:
            wrong = f"went on for {spent:.0f} s after it was stopped"
        key = [number, [given.command.name, bool(given.files), end], wrong]
        os.write(told, f"{json.dumps(key)}\n".encode())


def results(
    seed: int, numbers: list[int], jobs: int, original: Path, scratch: Path
) -> Iterator[tuple[int, list[object], str]]:
    """Run inputs in forked processes.

    Args:
        seed: of the inputs.
        numbers: which.
        jobs: processes at a time.
        original: the user's files.
        scratch: folder of the working directories.

    Yields:
        Of every input its number, its command and end, and what is wrong.
    """
    waiting = [numbers[k : k + BATCH] for k in range(0, len(numbers), BATCH)]
    working: dict[int, tuple[int, list[int], bytearray]] = {}
    count = 0
    cores = sorted(os.sched_getaffinity(0))
    while waiting or working:
        while waiting and len(working) < jobs:
            chosen, count = waiting.pop(0), count + 1
            here, there = os.pipe()
            child = os.fork()
            if child == 0:
                try:
                    # Commands that share work among cores make processes of their own.
                    os.sched_setaffinity(0, {cores[count % len(cores)]})
                    os.setpgid(0, 0)
                    batch(seed, chosen, original, scratch / f"{count}", there)
                except BaseException:
                    traceback.print_exc(file=sys.__stderr__)
                    os._exit(9)
                os._exit(0)
            os.close(there)
            os.set_blocking(here, False)
            working[child] = (here, chosen, bytearray())
        time.sleep(0.01)
        for child, (here, chosen, heard) in list(working.items()):
            ended, state = os.waitpid(child, os.WNOHANG)
            try:
                while part := os.read(here, 1 << 16):
                    heard += part
            except BlockingIOError:
                pass
            *lines, rest = bytes(heard).split(b"\n")
            heard[:] = rest
            for number, found, wrong in map(json.loads, lines):
                if found is None:
                    chosen[:] = chosen[chosen.index(number) :]
                else:
                    chosen.remove(number)
                    yield number, found, wrong
            if ended:
                os.close(here)
                del working[child]
                if chosen:
                    number, *left = chosen
                    waiting.insert(0, left) if left else None
                    words = f"its process died or hung (state {state})"
                    yield (
                        number,
                        [_command(seed, number, original), False, "died"],
                        words,
                    )


def _command(seed: int, number: int, original: Path) -> str:
    return drawn(seed, number, original).command.name


def _warm() -> None:
    """Load what commands load, once for all processes."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    import matplotlib

    matplotlib.use("Agg")
    import pytest
    import torch
    from planted_runs import shrink

    torch.set_num_threads(1)
    shrink(pytest.MonkeyPatch())
    from figures.engines import local

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt  # no processes of processes

    local.LocalEngine.run = stopped  # type: ignore[assignment, method-assign]
    for name in (*LOADED, *(command.module for command in COMMANDS)):
        import_module(name)
    from sfl_theory.ledger import ledger

    ledger()


def main() -> int:
    """Return 1 if an input did what it must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", type=int, nargs="*")
    options = parser.parse_args()
    began = time.monotonic()
    _warm()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        original = scratch / "original" / "user"
        original.mkdir(parents=True)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1) if (kept := os.dup(1)) else None
        stock(original)
        sys.stdout.flush()
        os.dup2(kept, 1)
        numbers = [*range(options.count)] if options.only is None else options.only
        if options.only is not None:
            for number in numbers:
                print(drawn(options.seed, number, original))
        ends, bad = Counter[tuple[object, ...]](), []
        for number, found, wrong in results(
            options.seed, numbers, options.jobs, original, scratch
        ):
            ends[found[0], found[2]] += 1
            if wrong:
                bad.append(number)
                line = drawn(options.seed, number, original).line
                print(f"{number}: {found}: {line!s:.600}\n    {wrong}\n", flush=True)
        os.chdir("/")
    print(table(ends))
    seconds = time.monotonic() - began
    print(f"{sum(ends.values())} inputs, {len(bad)} bad, in {seconds:.0f} s")
    return int(bool(bad))


def table(ends: Counter[tuple[object, ...]]) -> str:
    """Return the counts by command and end as a table of Markdown."""
    kinds = sorted({str(end) for _, end in ends})
    lines = [
        f"| command | inputs | {' | '.join(kinds)} |",
        "|---" * (len(kinds) + 2) + "|",
    ]
    for command in dict.fromkeys(one.name for one in COMMANDS):
        counts = [ends[command, kind] for kind in kinds]
        cells = " | ".join(map(str, [sum(counts), *counts]))
        lines.append(f"| `{command}` | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
