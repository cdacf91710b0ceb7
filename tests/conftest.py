"""Reference modules shared by test files lie beside them and import by name."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("sfl_theory", "sfl_train", "bounds"):
    sys.path.insert(0, str(Path(__file__).parent / folder))
