"""One command of many verbs; a core without the trainer; a wheel that works."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

import bounds.__main__ as command
from sfl_theory.command import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("sfl_theory", "sfl_train", "bounds", "figures")
DISTRIBUTIONS = {"sklearn": "scikit-learn", "PIL": "pillow"}
SOFT = {"threadpoolctl"}
"""Used where it is there, done without where it is not."""
NEEDS_TORCH = 'error: needs torch: pip install "sfl-verify[train]"\n'
READING = (
    "show li2020/thm-1",
    "evaluate 3.7 --case strongly_convex --constants constants.json --rounds 1,10",
    "audit --claim li2020/thm-1 --html page.html",
    "worst-case --rounds 1 --heterogeneity 1 --metric distance",
)
"""Verbs that the core is enough for."""
CONSTANTS = (
    '{"S": 2, "mu": 0.1, "sigma2": [1, 2], "G2": 3, "weights": [0.5, 0.5], "tau": 5,'
    ' "initial_distance2": 2}'
)


def run(
    line: Sequence[str], folder: Path, status: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def names(requirements: Sequence[str]) -> set[str]:
    return {re.split(r"[<>=\[]", one)[0] for one in requirements}


def imported() -> Iterator[tuple[Path, str]]:
    """Yield every module that the packages import, by its first name."""
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from ((path, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    yield path, str(node.module)


def test_a_verb_is_its_python_m(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is found, and gets the verb's words before the user's."""
    seen = []
    monkeypatch.setattr(
        command, "run_module", lambda name, **how: seen.append((name, sys.argv[1:]))
    )
    monkeypatch.setattr(sys, "argv", ["sfl-verify"])
    for verb, (line, _) in command.VERBS.items():
        command.main([verb, "--json", "a b"])
        module, *first = line.split()
        assert seen.pop() == (module, [*first, "--json", "a b"])
        assert find_spec(module) is not None
    assert list(command.VERBS) == [
        "compare", "audit", "worst-case", "show", "evaluate", "train", "figures",
    ]  # fmt: skip


@pytest.mark.parametrize("words", ["show nonsense", "evaluate", "train --help-data"])
def test_a_verb_prints_and_ends_as_its_python_m(words: str, tmp_path: Path) -> None:
    verb, _, rest = words.partition(" ")
    line = f"{command.VERBS[verb][0]} {rest}"
    both = [
        subprocess.run(
            [sys.executable, "-m", *shlex.split(one)],
            cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
            check=False,
        )
        for one in (f"bounds {words}", line)
    ]  # fmt: skip
    told = [(one.returncode, one.stdout, one.stderr) for one in both]
    assert told[0] == told[1]
    assert told[0][0] == (0 if verb == "train" else 2)


def test_the_verbs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    shown = capsys.readouterr().out
    for verb, (line, words) in command.VERBS.items():
        assert re.search(rf"^  {verb} +{line} +{words}$", shown, re.M)


def test_an_unknown_verb_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["compar"])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("sfl-verify: error: no verb 'compar'")
    assert error.count("\n") == 1


def test_what_is_imported_is_declared_once() -> None:
    """By the core, or by the extra that the command names where it is absent."""
    core = names(PROJECT["dependencies"])
    assert core == {"numpy", "rich", "sympy"}
    known = core | set(EXTRAS) | SOFT | set(PACKAGES) | sys.stdlib_module_names
    for path, name in imported():
        assert name.partition(".")[0] in known, path
    extras = PROJECT["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert DISTRIBUTIONS.get(module, module) in names(extras[extra])


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("bounds.compare", "--theorem 3.7"),
        ("bounds.compare", "--theorem 3.7 --refute"),
        ("bounds.worst_case", "--sweep eta=0.1:1:3 --out curve.png"),
        ("sfl_train", "--rounds 1"),
        ("figures", "make han2024/fig-2"),
        ("figures.server_optimizer", "--draw-only"),
    ],
)
def test_a_command_without_its_extra_says_so_in_one_line(
    module: str, words: str, tmp_path: Path
) -> None:
    block = f"import sys; sys.modules.update(dict.fromkeys({sorted(EXTRAS)}))"
    start = f"import runpy; runpy.run_module({module!r}, run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", f"{block}; {start}", *shlex.split(words)],
        cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    said = rf'python -m {module}: error: needs \w+: pip install "sfl-verify\[train\]"\n'
    assert re.fullmatch(said, done.stderr)
    assert not done.stdout
    assert not [*tmp_path.iterdir()]


def test_one_version_everywhere() -> None:
    cited = re.search(
        r'^version: "(.*)"$', (ROOT / "CITATION.cff").read_text(), flags=re.M
    )
    logged = re.search(
        r"^## ([0-9.]+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.M
    )
    assert cited is not None and logged is not None
    assert cited[1] == logged[1] == PROJECT["version"]


@pytest.mark.long
def test_wheel_and_sdist_work_in_a_fresh_environment(tmp_path: Path) -> None:
    """Made from the sdist alone, the wheel reads theorems with the core only."""
    if not (ROOT / ".git").exists():
        pytest.skip("what is packed is what git tracks, and this is no checkout")
    run([sys.executable, "-m", "venv", "fresh"], tmp_path)
    binaries = tmp_path / "fresh" / "bin"
    pip = str(binaries / "python"), "-m", "pip", "install", "--quiet"
    run([*pip, "build"], tmp_path)
    tree = tmp_path / "tree"
    tracked = run(["git", "ls-files", "-z"], ROOT).stdout.split("\0")
    for name in filter(None, tracked):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes((ROOT / name).read_bytes())
    run([str(binaries / "python"), "-m", "build", str(tree)], tmp_path)
    (wheel,) = (tree / "dist").glob("*.whl")
    run([*pip, str(wheel)], tmp_path)
    (tmp_path / "constants.json").write_text(CONSTANTS)
    sfl_verify = str(binaries / "sfl-verify")
    assert all(verb in run([sfl_verify], tmp_path).stdout for verb in command.VERBS)
    installed = run([str(binaries / "pip"), "list"], tmp_path).stdout
    assert not re.search("^(torch|scipy|matplotlib|scikit-learn) ", installed, re.M)
    for line in READING:
        assert run([sfl_verify, *shlex.split(line)], tmp_path).stdout
    told = run([sfl_verify, "compare", "--theorem", "3.7"], tmp_path, 2).stderr
    assert told.endswith(NEEDS_TORCH)
    (sdist,) = (tree / "dist").glob("*.tar.gz")
    kept = run(["tar", "-tzf", str(sdist)], tmp_path).stdout
    for name in filter(None, tracked):
        if not name.startswith("."):
            assert f"/{name}\n" in kept, name
