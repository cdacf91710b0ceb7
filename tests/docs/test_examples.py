"""What the pages show runs as shown and prints what they say."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from made import examples
from made.examples import Block, agrees, blocks

from bounds.__main__ import VERBS

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
    *sorted((ROOT / "docs" / "examples").glob("*.md")),
]
SHOWING = [page for page in PAGES if blocks(page.read_text(encoding="utf-8"))]
OWN = ROOT / "docs" / "examples" / "own-paper.md"
OPTION = re.compile(r"--[a-z][\w-]*")
EIGHT = {
    "refute", "own-bound", "own-problem", "own-paper", "finished-run", "ray",
    "constants", "worst-case",
}  # fmt: skip


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def complaints(page: Path, folder: Path, long: bool = False) -> list[str]:
    found = blocks(page.read_text(encoding="utf-8"))
    return [one for one in examples.run(found, folder, long) if one]


SLOW = {"docs/guide/audit.md", "docs/guide/first-steps.md"}
"""Pages whose commands take long; the eight examples are not among them."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(one, marks=pytest.mark.long if name(one) in SLOW else ())
        for one in SHOWING
        if one != OWN
    ],
    ids=name,
)
def test_a_page_runs_as_it_stands(page: Path, tmp_path: Path) -> None:
    """Every block that no comment takes out; what it prints, where the page says it."""
    assert complaints(page, tmp_path) == []


LONG = [page for page in SHOWING if "<!-- long -->" in page.read_text(encoding="utf-8")]


@pytest.mark.long
@pytest.mark.parametrize("page", LONG, ids=name)
def test_a_page_runs_with_its_long_blocks(page: Path, tmp_path: Path) -> None:
    assert complaints(page, tmp_path, long=True) == []


@pytest.mark.long
def test_the_sweep_runs_where_ray_is(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    assert complaints(ROOT / "docs" / "examples" / "ray.md", tmp_path, long=True) == []


def test_the_eight_examples_are_there_and_run_something() -> None:
    assert {page.stem for page in SHOWING if page.parent.name == "examples"} == EIGHT
    for page in SHOWING:
        found = blocks(page.read_text(encoding="utf-8"))
        if page.parent.name == "examples":
            assert any(one.about("not run") is None for one in found), page
            assert page.stem == "ray" or any(one.output for one in found), page


def test_every_fenced_command_is_seen() -> None:
    """No block escapes by a form that the runner does not read."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        fences = re.findall(r"^ *```(?:sh|bash|python|console)$", text, re.MULTILINE)
        assert len(fences) == len(blocks(text)), page


def test_the_replay_line_of_an_own_claim_prints_the_entry_again(tmp_path: Path) -> None:
    """And the page runs as it stands."""
    found = blocks(OWN.read_text(encoding="utf-8"))
    assert found[0].code.count("\n") < 60
    assert [one for one in examples.run(found, tmp_path, False) if one] == []
    (replay,) = re.findall(r"^replay: +(python .*)$", found[-1].output or "", re.M)
    again = examples.execute(Block("sh", replay, "", None, 0), tmp_path)
    assert agrees(found[-1].output or "", again.stdout)


def made_by_hand(page: Path) -> bool:
    return page.parent.name not in {"api", "papers", "theorems"}


def options(module: str, capsys: pytest.CaptureFixture[str]) -> frozenset[str]:
    """Return the options that a command's help names, or its file if it has no help."""
    name, *verb = module.split()
    if name == "bounds" and verb:
        name, *verb = VERBS[verb[0]][0].split()
    path = (ROOT / name.replace(".", "/")).with_suffix(".py")
    found = import_module(name if path.exists() else f"{name}.__main__")
    with suppress(SystemExit, AttributeError):
        found.main([*verb, "--help"])
    told = capsys.readouterr().out
    text = told if told.startswith("usage:") else path.read_text("utf-8")
    return frozenset(OPTION.findall(text))


PACKAGES = {"sfl_theory", "bounds", "figures", "sfl_train"}


def commands() -> dict[str, set[str]]:
    """Return every option that a page of the docs gives to a command."""
    found: dict[str, set[str]] = {}
    inside = (page for page in (ROOT / "docs").rglob("*.md") if made_by_hand(page))
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *inside]:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        text = re.sub(r"sfl-verify (?=[a-z])", "python -m bounds ", text)
        for words in re.findall(r"python3? -m ([^`&;|\n]+)", text):
            module, *rest = shlex.split(words, comments=True)
            if module.split(".")[0] not in PACKAGES:
                continue
            if module in {"bounds", "sfl_theory", "figures"} and rest:
                module = f"{module} {rest[0]}"
            used = re.findall(r"(?:^| )(--[a-z][\w-]*)", " ".join(rest))
            found.setdefault(module, set()).update(used)
    return found


def test_every_option_that_a_page_names_exists(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for module, used in commands().items():
        if used:
            assert used <= options(module, capsys), module


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("T = 3305, 0.0533", "T = 3305, 0.0534\n", True),
        ("T = 3305, 0.0533", "T = 3305, 0.0553", False),
        ("T = 3305", "T = 3306", False),
        ("T = 3305.0", "T = 3305.0 and more", False),
        ("a ... z", "a b c z", True),
        ("a ... z", "a b c", False),
        ("a ... c ... z", "a b z", False),
        ("eta(...)*tau", "eta(i1)*tau", True),
        ("eta(...)*tau", "eta(i1)*mu", False),
        ("done in 0.1 s", "done in 12 s", True),
        ("-0.5", "0.5", False),
        ("refuted", "proved", False),
    ],
)
def test_what_agrees(expected: str, printed: str, same: bool) -> None:
    assert agrees(expected, printed) is same


LAST = "atexit.register(print, 2)"


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "instead of"),
        ("```sh\nfalse\ntrue\n```\n", "status 1"),
        ("```python\nraise SystemExit(3)\n```\n", "status 3"),
        ("```python\nraise SystemExit('no')\n```\n", "status 1: no"),
        ("```python\n1 / 0\n```\n", "status 1: Traceback"),
        (f"```python\nimport atexit\n{LAST}\n```\n\n```text\n1\n```\n", "printed\n2"),
        ("<!-- needs: no_such_module -->\n```sh\necho ran\n```\n", "no one-line"),
        ("<!-- needs: no_such_module -->\n```sh\necho x >&2; exit 2\n```\n", ""),
        ("<!-- needs: json -->\n```sh\nfalse\n```\n", ""),
        ("<!-- not run: why -->\n```sh\nfalse\n```\n", ""),
    ],
)
def test_what_is_wrong_is_said(page: str, wrong: str, tmp_path: Path) -> None:
    found = "".join(examples.run(blocks(page), tmp_path, False))
    assert (wrong in found) if wrong else found == ""


def test_what_needs_a_module_runs_with_the_long_blocks(tmp_path: Path) -> None:
    found = blocks("<!-- needs: json -->\n```sh\nfalse\n```\n")
    assert list(examples.run(found, tmp_path, long=False)) == [""]
    (told,) = examples.run(found, tmp_path, long=True)
    assert "status 1" in told


def test_an_unknown_comment_takes_no_block_out() -> None:
    with pytest.raises(ValueError, match="skip this"):
        blocks("<!-- skip this -->\n```sh\nfalse\n```\n")
