"""Standalone checker: ``python -I -S sfl_theory/kernel/check.py proofs.json``."""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parent.parent))
    sys.exit(import_module("kernel.replay").main(sys.argv[1:]))
