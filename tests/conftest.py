"""What one run of the tests shares; reference modules lie beside tests, by name."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

if TYPE_CHECKING:
    from sfl_theory.evidence import Decided, Part

for folder in ("sfl_theory", "sfl_train", "sfl_train/deep", "bounds", "figures"):
    sys.path.insert(0, str(Path(__file__).parent / folder))


os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Also for commands in processes of their own: the workers share the cores."""


def pytest_configure() -> None:
    """Collect tests without the search for circles: what is imported stays."""
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first what asks the kernel about the ledger, then the rest of the theory."""
    tests = Path(__file__).parent
    theory = tests / "sfl_theory"
    asks = {tests / "bounds", theory / "papers"}

    @cache
    def late(module: Path) -> tuple[bool, bool]:
        above = module.parents
        return above[0] != theory and asks.isdisjoint(above), theory not in above

    items.sort(key=lambda item: late(item.path))


class FromBothEnds(LoadScopeScheduling):
    """Half of the workers take modules from the front, half from the back.

    What a worker has derived is not derived again in its next modules, so that two
    workers derive little twice.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        if int(node.gateway.id.removeprefix("gw")) % 2:
            self.workqueue.move_to_end(next(reversed(self.workqueue)), last=False)
        super()._assign_work_unit(node)


def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadScopeScheduling:
    """Distribute modules over the workers."""
    return FromBothEnds(config, log)


def pytest_collection_finish() -> None:
    """Search for circles again, but not among hundred thousands of modules' terms."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


def pytest_sessionfinish() -> None:
    """Leave what is held as it is: the process ends, no search for circles is due."""
    gc.freeze()
    gc.disable()


@pytest.fixture(scope="session", autouse=True)
def decided_once() -> Iterator[None]:
    """Ask the kernel about a part of the ledger once in a process of the tests.

    Only what the ledger and the bounds ask: a test that changes a part asks anew.
    """
    if "sfl_theory.ledger" not in sys.modules:
        yield
        return
    from sfl_theory import best, evidence, ledger

    found: dict[tuple[int, str], tuple[Part, Decided]] = {}

    def decide(part: Part, name: str) -> Decided:
        key = id(part), name
        if key not in found:
            found[key] = part, evidence.decide(part, name)
        return found[key][1]

    with pytest.MonkeyPatch.context() as patch:
        for module in (best, ledger):
            patch.setattr(module, "decide", decide)
        yield


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    """Give torch one thread where a module's tests use it.

    Workers of one test run share the cores; two threads each make small products wait
    for each other. Tests of the theory never load torch.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
