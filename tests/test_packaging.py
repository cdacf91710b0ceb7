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
from typing import NamedTuple

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


LACKING = "lacking"
"""Before a command: no extra can be imported."""


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


TOGETHER = f"""
import json, os, runpy, shlex, sys
from sfl_theory import theorems; [*theorems()]
extras = dict.fromkeys({sorted(EXTRAS)})
assert not extras.keys() & sys.modules
folder, *lines = sys.argv[1:]
for number, line in enumerate(lines):
    if not (child := os.fork()):
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{{folder}}/{{number}}.{{name}}", 65, 0o600), stream)
        module, *sys.argv[1:] = shlex.split(line)
        if module == "{LACKING}":
            sys.modules.update(extras)
            module = sys.argv.pop(1)
        status = 0
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except SystemExit as ended:
            status = ended.code or 0
        sys.stdout.flush()
        os._exit(status)  # what is shared is not taken apart
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ended]:
    """How commands end in a folder, each a fork of one that knows the theory."""
    folder, told = (tmp_path_factory.mktemp(name) for name in ("commands", "told"))
    lines = (
        *(f"bounds {words}" for words in VERBATIM),
        *map(in_full, VERBATIM),
        *(f"{LACKING} {line}" for line in NEED_EXTRAS),
    )
    done = subprocess.run(
        [sys.executable, "-c", TOGETHER, str(told), *lines],
        cwd=folder, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not [*folder.iterdir()]
    return {
        line: Ended(int(status), *((told / f"{number}.{name}").read_text()
                                   for name in ("out", "err")))
        for number, (line, status) in enumerate(
            zip(lines, done.stdout.split(), strict=True)
        )
    }  # fmt: skip


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


VERBATIM = ("show nonsense", "evaluate", "train --help-data")


def in_full(words: str) -> str:
    """Return the module of a verb with the same words."""
    verb, _, rest = words.partition(" ")
    return f"{command.VERBS[verb][0]} {rest}"


@pytest.mark.parametrize("words", VERBATIM)
def test_a_verb_prints_and_ends_as_its_python_m(
    words: str, ended: dict[str, Ended]
) -> None:
    verb = ended[f"bounds {words}"]
    assert verb == ended[in_full(words)]
    assert verb.status == (0 if words.startswith("train") else 2)
    assert verb.out + verb.err


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


NEED_EXTRAS = (
    "bounds.compare --theorem 3.7",
    "bounds.compare --theorem 3.7 --refute",
    "bounds.worst_case --sweep eta=0.1:1:3 --out curve.png",
    "sfl_train --rounds 1",
    "figures make han2024/fig-2",
    "figures.server_optimizer --draw-only",
)


@pytest.mark.parametrize("line", NEED_EXTRAS)
def test_a_command_without_its_extra_says_so_in_one_line(
    line: str, ended: dict[str, Ended]
) -> None:
    module, found = line.split()[0], ended[f"{LACKING} {line}"]
    assert found.status == 2, found.err
    said = rf'python -m {module}: error: needs \w+: pip install "sfl-verify\[train\]"\n'
    assert re.fullmatch(said, found.err)
    assert not found.out


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
