"""What one run of the tests shares; reference modules lie beside tests, by name."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import pytest

for folder in ("sfl_theory", "sfl_train", "sfl_train/deep", "bounds", "figures"):
    sys.path.insert(0, str(Path(__file__).parent / folder))


os.environ.setdefault("OMP_NUM_THREADS", "1")
"""Also for commands in processes of their own: the workers share the cores."""


def pytest_configure() -> None:
    """Collect tests without the search for circles: what is imported stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Search for circles again, but not among hundred thousands of modules' terms."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    """Give torch one thread where a module's tests use it.

    Workers of one test run share the cores; two threads each make small products wait
    for each other. Tests of the theory never load torch.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
