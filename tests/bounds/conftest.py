"""Commands that tests run in one process share what the kernel said of a theorem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import SimpleNamespace

import pytest

from bounds import audited, parallel
from sfl_theory import Theorem


@pytest.fixture(scope="session", autouse=True)
def asked_once() -> Iterator[None]:
    """Let commands ask the kernel about a case once in a process of the tests.

    Nothing is kept beyond the process. Jobs run in it, too: workers of one test run
    share the cores, and a fork would take its answers with it.
    """
    ask = audited.audited
    found: dict[tuple[object, ...], tuple[Theorem, audited.Audited | None]] = {}

    def once(
        item: Theorem, case: str, versions: Iterable[str] | None = None
    ) -> audited.Audited | None:
        names = None if versions is None else tuple(versions)
        key = id(item), case, names
        if key not in found:
            found[key] = item, ask(item, case, names)
        return found[key][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audited, "audited", once)
        patch.setattr(parallel, "os", SimpleNamespace(sched_getaffinity=lambda _: {0}))
        yield
