"""Reference modules of the kernel's tests lie beside them and import by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
