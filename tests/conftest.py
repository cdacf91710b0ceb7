"""Reference modules shared by test files lie beside them and import by name."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

for folder in ("sfl_theory", "sfl_train", "sfl_train/deep", "bounds", "figures"):
    sys.path.insert(0, str(Path(__file__).parent / folder))

# Workers of one test run share the cores; two threads each make small products wait
# for each other.
torch.set_num_threads(1)
