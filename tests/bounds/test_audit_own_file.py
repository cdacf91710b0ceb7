"""``python -m bounds.audit --file``: a user's own claims, replayed like the papers'."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sfl_theory.audits import LEDGER

from bounds.audit import main

OWN = """
from __future__ import annotations
from dataclasses import dataclass
from fractions import Fraction
from sfl_theory import evidence as ev

@dataclass(frozen=True)
class Point:
    x: Fraction

def square():
    (x,) = ev.vectors("x")
    domain = ev.Domain("no parameter", {}, ())
    return ev.Certificate("mine/square", 0, ev.norm2(x), (), domain, (), ((x, 1),))

def two():
    at = Point(Fraction(2))
    sides = (ev.Interval.of(v) for v in (at.x**2, at.x))
    return ev.Finding("x = 2", (ev.equal("x", at.x, 2),), *sides)

def mistaken():
    return undefined_name

refuted = ev.Refutation(two, "x^2 > x [here]. More words.", scope="for x > 1")
CLAIMS = [
    ev.Claim("mine/square", "p. 1", "lemma", "0 <= x^2", ev.Proof((square,), "Yes.")),
    ev.Claim("mine/two", "p. 2", "theorem", "x^2 <= x", refuted, ("mine/square",)),
    ev.Claim("mine/typo", "p. 3", "theorem", "?", ev.Proof((mistaken,), "Hm."),
             ("han2024/prop-3.5",)),
]
"""
CLAIM = 'import sfl_theory.evidence as ev\no = ev.Open("?")\n'


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a folder with spaces, which is the working directory."""
    folder = tmp_path / "my own"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = Path("a file's [red]name that is too long for one line.py")
    path.write_text(OWN)
    return path


def test_table_shows_every_claim_with_its_status_and_cause(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns too; a mistake in one proof leaves the others standing."""
    for columns in ("80", "160"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["--file", str(own)]) == 0
        out = capsys.readouterr().out
        assert "1 proved, 1 refuted, 1 unproved" in out
        assert "mine/square" in out
        assert "x^2 > x [here]." in out
        assert "evidence raises NameError" in out
        assert "three papers" not in out
    assert {path.name for path in Path().iterdir()} == {own.name}


def test_every_replay_line_works_when_pasted(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the terminal, in the JSON and on the page, from a path that needs quotes."""
    target = ["--json", "out.json", "--html", "out.html"]
    assert main(["--file", str(own), *target]) == 0
    records = json.loads(Path("out.json").read_text())
    status = {record["id"]: record["status"] for record in records}
    assert status == {
        "mine/square": "proved", "mine/two": "refuted", "mine/typo": "unproved"
    }  # fmt: skip
    page = Path("out.html").read_text()
    assert "three papers" not in page
    assert "--file" in page
    two = records[1]
    assert (two["scope"], two["cause"]) == ("for x > 1", "x^2 > x [here].")
    capsys.readouterr()
    assert main(["--file", str(own), "--claim", "mine/two"]) == 0
    entry = capsys.readouterr().out
    assert "scope:     refuted for x > 1" in entry
    assert entry.splitlines()[-1] == f"replay:    {two['reproduce']}"
    words = shlex.split(two["reproduce"])
    assert words[:2] == ["python", "-m"]
    done = subprocess.run(
        [sys.executable, *words[1:]], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, entry)


def test_the_papers_replay_lines_are_as_before() -> None:
    """No file belongs to the toolkit's own claims."""
    entry = LEDGER.entry("han2024/prop-3.5")
    assert entry.reproduce == "python -m bounds.audit --claim han2024/prop-3.5"


def test_file_may_import_what_lies_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it may when it is run by itself; the working directory is another one."""
    (tmp_path / "beside_it.py").write_text('WORDS = "imported"')
    path = tmp_path / "mine.py"
    path.write_text(
        f"{CLAIM}from beside_it import WORDS\n"
        'CLAIMS = (ev.Claim("a/b", "x", "text", WORDS, o),)'
    )
    assert main(["--file", str(path), "--claim", "a/b"]) == 0
    assert "statement: imported" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, [], ["--file", "absent.py", "does not exist"]),
        ("x = (1,\n", [], ["no Python", "line 1"]),
        ("x = 1\n1 / 0\n", [], ["ZeroDivisionError", "line 2"]),
        ("import sys\nsys.exit(0)\n", [], ["SystemExit", "line 2"]),
        ("raise RuntimeError('two\\nlines')", [], ["two lines"]),
        ("x = '\\ud800'.encode()", [], ["UnicodeEncodeError"]),
        ("\0", [], ["null bytes"]),
        ("x = 1\n", [], ["holds no claim", "CLAIMS"]),
        ("CLAIMS = ()\n", [], ["holds no claim"]),
        ("CLAIMS = 7\n", [], ["holds no claim"]),
        ("CLAIMS = 'gd/rate'\n", [], ["Claim", "got a str"]),
        (f'{CLAIM}CLAIMS = (ev.Claim(7, "x", "text", "s", o),)', [], ["id", "7"]),
        (f'{CLAIM}CLAIMS = (ev.Claim("a", "x", "text", "s", 1),)', [], ["got a int"]),
        (f'{CLAIM}CLAIMS = (ev.Claim("a", "x", "poem", "s", o),)', [], ["kind"]),
        (f'{CLAIM}CLAIMS = (ev.Claim("a", "x", "text", "s", o),) * 2', [], ["two"]),
        (f'{CLAIM}CLAIMS = (ev.Claim("a", "x", "text", "s", o, ("b",)),)', [],
         ["unknown b"]),
        (OWN, ["--claim", "mine/three"], ["--claim", "mine/square", "mine/two"]),
        (OWN, ["--claim", "han2024/prop-3.5"], ["--claim", "mine/two"]),
        (OWN, ["--paper", "han2024"], ["--paper", "--file"]),
        (OWN, ["--mutate"], ["--mutate", "--file"]),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_and_status_2(
    content: str | None,
    options: list[str],
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever the file does, nobody sees a traceback."""
    path = tmp_path / ("absent.py" if content is None else "mine.py")
    if content is not None:
        path.write_text(content)
    with pytest.raises(SystemExit) as stop:
        main(["--file", str(path), *options])
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert all(word in captured.err for word in words)


def test_a_folder_is_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--file", str(tmp_path)])
    assert stop.value.code == 2
    assert "is no file" in capsys.readouterr().err
