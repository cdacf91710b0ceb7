"""Standalone checker: ``python -I -S sfl_theory/kernel/check.py proofs.json``.

It compiles the sources beside it, in this order, and looks for nothing else: neither
bytecode nor another module of the same name is ever loaded in their place.
"""

import gc
import sys
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path

SAID = ("algebra", "binders", "terms", "hypotheses")
REFUTED = ("models", "conditions", "moments")
PROVED = ("theorems", "rules", "reader", "replay")
SOURCES = SAID + REFUTED + PROVED


def _loaded() -> dict[str, object]:
    """Return the names of the last source."""
    here, names = Path(__file__).resolve().parent, dict[str, object]()
    for name in ("kernel", *(f"kernel.{source}" for source in SOURCES)):
        spec = ModuleSpec(name, None, is_package=name == "kernel")
        module = sys.modules[name] = module_from_spec(spec)
        names = vars(module)
        if name != "kernel":
            path = here / f"{name.partition('.')[2]}.py"
            exec(compile(path.read_bytes(), str(path), "exec"), names)
    return names


if __name__ == "__main__":
    if not sys.flags.isolated or not sys.flags.no_site:
        sys.exit("run it as: python -I -S check.py FILE...")
    sys.dont_write_bytecode = True
    gc.disable()
    main = _loaded()["main"]
    status = main(sys.argv[1:]) if callable(main) else 1
    gc.freeze()
    sys.exit(status)
