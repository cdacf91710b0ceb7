"""Public names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return what a package's ``__getattr__`` is.

    Args:
        package: its name.
        homes: module of the package -> the names there, with spaces between them;
            the module is a public name itself.

    Returns:
        The function.
    """

    def found(name: str) -> Any:
        for home, public in homes.items():
            if name in (home, *public.split()):
                module = import_module(f"{package}.{home}")
                return module if name == home else getattr(module, name)
        raise AttributeError(f"module '{package}' has no attribute '{name}'")

    return found
