"""Imports point one way (docs/house.md): what decides rests on nothing it decides."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sfl_theory

ROOT = Path(str(sfl_theory.__file__)).parent
LIBRARY = {
    "affine", "bound", "constants", "registry", "schedules", "statement", "symbols",
}  # fmt: skip
MAY = {
    "kernel": set(),
    "notation/formulas": {"kernel"},
    "notation/written": {"kernel", "notation.formulas"},
    "notation/latex_reader": set(),
    "notation/plain": {"notation.latex_reader"},
    "proofs": {"kernel", "proofs"},
    "models": {"kernel", "notation.written", "models", "proofs.export", *LIBRARY},
    "evidence": {
        "kernel",
        "notation.written",
        "notation.plain",
        "models",
        "proofs",
        "papers.PAPERS",
    },
    "affine": set(),
    "threads": set(),
    "worst_case": {"kernel", "proofs", "worst_case", "threads"},
    "mutation": {
        "kernel",
        "evidence",
        "models",
        "mutation",
        "proofs.export",
        "threads",
    },
    "ledger": {
        "evidence",
        "notation.plain",
        "models",
        "papers.PAPERS",
        "papers.about",
    },
}
"""Folder or module -> what of ``sfl_theory`` it may import."""
FOREIGN = {"torch", "matplotlib", "sfl_train", "bounds", "figures", "scipy", "sklearn"}


def imports(path: Path) -> Iterator[str]:
    """Yield every imported name in full; relative ones are within their folder."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 1, path


def files(part: str) -> list[Path]:
    folder = ROOT / part
    return [*folder.rglob("*.py")] if folder.is_dir() else [ROOT / f"{part}.py"]


@pytest.mark.parametrize("part", MAY)
def test_no_arrow_points_back(part: str) -> None:
    for path in files(part):
        for name in imports(path):
            package, _, rest = name.partition(".")
            if package == "sfl_theory":
                fits = any(
                    rest == one or rest.startswith(f"{one}.") for one in MAY[part]
                )
                assert fits, f"{path.relative_to(ROOT)} imports {name}"


def test_the_kernel_needs_the_standard_library_only() -> None:
    for path in files("kernel"):
        for name in imports(path):
            assert name.split(".")[0] in sys.stdlib_module_names, f"{path}: {name}"


def test_the_theory_needs_no_trainer_and_no_plots() -> None:
    for path in ROOT.rglob("*.py"):
        assert not FOREIGN & {name.split(".")[0] for name in imports(path)}, path


def test_the_theorys_tests_need_no_trainer() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        found = {name.split(".")[0] for name in imports(path)}
        assert not found & {"torch", "sfl_train", "bounds"}, path
