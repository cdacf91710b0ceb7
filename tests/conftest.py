"""Reference modules shared by test files lie beside them and import by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

for folder in ("sfl_theory", "sfl_train", "sfl_train/deep", "bounds", "figures"):
    sys.path.insert(0, str(Path(__file__).parent / folder))


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    """Give torch one thread where a module's tests use it.

    Workers of one test run share the cores; two threads each make small products wait
    for each other. Tests of the theory never load torch.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
