"""What makes the site lies in docs/made and is imported by name."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
