"""Programs start warm: forks of one process that has read the toolkit already.

A page shows dozens of commands, and most of the time of a short one goes into imports
and the ledger of claims. `python` on a page's path is `ask`: it hands command line,
folder, environment and its three files to the process that `serve` is, which forks; the
fork runs the program as ``python -m MODULE``, ``-c CODE`` or ``FILE.py`` would, and its
exit status comes back. With other options it is the interpreter itself.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

MOST = 1 << 20
"""Bytes of a request."""
READ = ("torch", "bounds.comparison", "bounds.page", "sfl_theory.show", "figures.grid")
"""What is read before, with all that it imports."""


def serve(address: str) -> None:
    """Answer until standard input ends; a fork returns where it is a program."""
    del sys.path[0]
    for name in READ:
        import_module(name)
    import_module("sfl_theory.ledger").ledger()
    gc.freeze()
    hidden = f"{address}.new"
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(hidden)
        listening.listen()
        os.rename(hidden, address)
        while True:
            ready, _, _ = select.select([listening, 0], [], [])
            if 0 in ready:
                return
            asking, _ = listening.accept()
            if not os.fork():
                break
            asking.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, files, _, _ = socket.recv_fds(asking, MOST, 3)
    program = os.fork()
    if program:
        _, status = os.waitpid(program, 0)
        asking.sendall(bytes([os.waitstatus_to_exitcode(status) % 256]))
        os._exit(0)
    asking.close()
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
    given = json.loads(request)
    os.environ.clear()
    os.environ.update(given["environment"])
    os.chdir(given["folder"])
    _end(given["words"])


def _end(words: list[str]) -> NoReturn:
    """Run a program and end as the interpreter does, but take nothing apart.

    What was read before the fork is shared; to take it apart is to copy all of it.
    """
    status: object = 1
    try:
        _start(words)
        status = 0
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
    if not isinstance(status, int | None):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit((status or 0) % 256)


def _start(words: list[str]) -> None:
    """Run a program as the interpreter does with this command line."""
    first, *rest = words
    if first == "-c":
        code, *rest = rest
        sys.argv[:], sys.path[:0] = ["-c", *rest], [""]
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(code, "<string>", "exec"), vars(main))
    elif first == "-m":
        name, *rest = rest
        sys.argv[:], sys.path[:0] = ["-m", *rest], [os.getcwd()]
        if not hasattr(sys.modules.get(name), "__path__"):
            sys.modules.pop(name, None)
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.argv[:], sys.path[:0] = words, [str(Path(first).resolve().parent)]
        runpy.run_path(first, run_name="__main__")


def ask(address: str, words: list[str]) -> int:
    """Have a program run, or become the interpreter.

    Args:
        address: of the socket.
        words: the command line after "python".

    Returns:
        The exit status.
    """
    if not words or not (words[0] in {"-m", "-c"} or words[0].endswith(".py")):
        os.execv(sys.executable, [sys.executable, *words])
    given = {
        "words": words,
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        socket.send_fds(asking, [json.dumps(given).encode()], [0, 1, 2])
        return (asking.recv(1) or b"\1")[0]


@cache
def address() -> str:
    """Return the address of a process that serves, started by the first who asks.

    Returns:
        The path of its socket.

    Raises:
        RuntimeError: it has ended.
    """
    folder = tempfile.TemporaryDirectory()
    found = f"{folder.name}/socket"
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", found],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
    )

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    while not Path(found).exists():
        if process.poll() is not None:
            raise RuntimeError("the process that starts programs has ended")
        time.sleep(0.02)
    return found


if __name__ == "__main__":
    verb, where, *line = sys.argv[1:]
    sys.exit(ask(where, line) if verb == "ask" else serve(where))
