"""A Python file of the user's own: run, with one line for what it does wrong."""

from __future__ import annotations

import sys
import traceback
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

from sfl_theory.user_files import FileError, read_bytes


def run(path: Path, name: str) -> ModuleType:
    """Run a Python file and return the module that it is.

    The file is the user's own program and may do whatever a program does. It is loaded
    under a private name, leaves no bytecode behind, and may import what lies beside it.

    Args:
        path: of the file.
        name: of the module.

    Returns:
        The module.

    Raises:
        FileError: in one line that begins with the path, if the file cannot be read,
            is no Python, or raises.
    """
    source = read_bytes(path)
    loader = SourceFileLoader(name, str(path))
    spec = spec_from_loader(name, loader)
    if spec is None:
        raise FileError(f"{path}: cannot be loaded")
    module = module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        exec(loader.source_to_code(source, str(path)), vars(module))
    except (Exception, SystemExit) as error:
        raise FileError(f"{path}: running it: {said(error, path)}") from error
    return module


def said(error: BaseException, path: Path | None = None) -> str:
    """Return in one line what a program raised, and in which line of its file.

    Args:
        error: what came out of it.
        path: of the file; None: no line is known.

    Returns:
        Half a sentence.
    """
    words = " ".join(str(error).split())[:200]
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == str(path)
    ]
    what = "raises"
    if isinstance(error, SyntaxError) and error.filename == str(path):
        what, words, lines = "is no Python, raises", error.msg, [error.lineno]
    where = f" (line {lines[-1]})" if lines else ""
    return f"{what} {type(error).__name__}: {words}".rstrip(": ") + where
