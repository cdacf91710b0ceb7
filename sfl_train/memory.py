"""Memory: how much is free, and one line where more would be needed."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

GIBI = 1 << 30


def free() -> int:
    """Return the bytes that this process may still take on the host.

    That is what the machine has without paging out, the rest of the control group's
    limit, and the rest of the process's own limit of addresses, whichever is least.
    """
    return min(_bounds(), default=1 << 62)


def require(need: int, what: str, advice: str, have: int | None = None) -> None:
    """Refuse what cannot fit, before any of it is taken.

    Args:
        need: bytes that are needed at the least.
        what: needs them, with its option, as in "--dataset: 10 images".
        advice: what to do.
        have: bytes that are free; None: those of the host.

    Raises:
        ValueError: if fewer are free.
    """
    have = free() if have is None else have
    if need > have:
        raise ValueError(
            f"{what} needs at least {in_words(need)} of memory, and {in_words(have)} "
            f"is free on this machine: {advice}"
        )


def in_words(size: int) -> str:
    """Return a number of bytes in GiB, with three digits."""
    return f"{size / GIBI:.3g} GiB"


def _bounds() -> Iterator[int]:
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        words = next(line for line in lines if line.startswith("MemAvailable:"))
        yield int(words.split()[1]) * 1024
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        # Without a limit the file says "max", or a number that no machine has.
        with suppress(OSError, ValueError):
            group = Path("/sys/fs/cgroup")
            allowed = int((group / limit).read_text())
            yield max(0, allowed - int((group / used).read_text()))
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY:
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            yield max(0, allowed - pages * os.sysconf("SC_PAGE_SIZE"))
