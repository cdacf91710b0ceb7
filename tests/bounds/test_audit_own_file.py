"""``python -m bounds.audit --file``: a user's own claims, replayed like the papers'."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bounds.audit import main
from sfl_theory.ledger import ledger

OWN = """
from __future__ import annotations
from dataclasses import dataclass
from fractions import Fraction
from sfl_theory.notation import written as w
from sfl_theory.evidence import Claim, Kind, Model, Part, Proof, Severity, says
from sfl_theory.models.federation import bare
from sfl_theory.proofs.notation import combine

@dataclass(frozen=True)
class Point:
    c: Fraction

u, c = w.point("u"), w.nonnegative("c")

def square():
    return combine((u.value, 1))

def two():
    return bare(1, {c: Point(Fraction(2)).c})

def mistaken():
    return undefined_name

CLAIMS = [
    Claim("mine/square", "p. 1", Kind.LEMMA, "A square.",
          (Part(says(0, w.norm2(u)), Proof(square, "Yes.")),)),
    Claim("mine/two", "p. 2", Kind.THEOREM, "A square is small.",
          (Part(says(c**2, c), Model(two, "c = 2")),), Severity.THEOREM, "for c > 1",
          "c^2 > c [here].", uses="square"),
    Claim("mine/typo", "p. 3", Kind.THEOREM, "?",
          (Part(says(0, c), Proof(mistaken, "Hm.")),), uses="han2024/prop-3.5"),
]
"""
MUTE = """class Mute(Exception):
    def __str__(self):
        raise self
raise Mute
"""
CLAIM = "from sfl_theory.evidence import Claim, Kind, Part\nT = Kind.TEXT\n"


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
        assert "1 proved, 1 refuted (1 stated result), 1 unproved" in out
        assert "mine/square" in out
        assert "c^2 > c [here]." in out
        assert "evidence rejected: NameError" in out
        assert "papers on split" not in out
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
    assert "papers on split" not in page
    assert "--file" in page
    two = records[1]
    assert (two["scope"], two["cause"]) == ("for c > 1", "c^2 > c [here].")
    capsys.readouterr()
    assert main(["--file", str(own), "--claim", "mine/two"]) == 0
    entry = capsys.readouterr().out
    assert "scope:     refuted for c > 1" in entry
    assert entry.splitlines()[-1] == f"replay:    {two['reproduce']}"
    words = shlex.split(two["reproduce"])
    assert words[:2] == ["python", "-m"]
    done = subprocess.run(
        [sys.executable, *words[1:]], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, entry)


def test_the_papers_replay_lines_are_as_before() -> None:
    """No file belongs to the toolkit's own claims."""
    entry = ledger().entry("han2024/prop-3.5")
    assert entry.reproduce == "python -m bounds.audit --claim han2024/prop-3.5"


def test_file_may_import_what_lies_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it may when it is run by itself; the working directory is another one."""
    (tmp_path / "beside_it.py").write_text('WORDS = "imported"')
    path = tmp_path / "mine.py"
    path.write_text(
        f'{CLAIM}from beside_it import WORDS\nCLAIMS = (Claim("a/b", "x", T, WORDS),)'
    )
    assert main(["--file", str(path), "--claim", "a/b"]) == 0
    assert "statement: imported" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, [], ["--file", "absent.py", "No such file"]),
        ("x = (1,\n", [], ["no Python", "line 1"]),
        ("x = 1\n1 / 0\n", [], ["ZeroDivisionError", "line 2"]),
        ("import sys\nsys.exit(0)\n", [], ["SystemExit", "line 2"]),
        ("raise RuntimeError('two\\nlines')", [], ["two lines"]),
        (MUTE, [], ["Mute: (and cannot say what) (line 4)"]),
        ("x = '\\ud800'.encode()", [], ["UnicodeEncodeError"]),
        ("\0", [], ["null bytes"]),
        ("x = 1\n", [], ["holds no claim", "CLAIMS"]),
        ("CLAIMS = ()\n", [], ["holds no claim"]),
        ("CLAIMS = 7\n", [], ["holds no claim"]),
        ("CLAIMS = 'gd/rate'\n", [], ["Claim", "got a str"]),
        (f'{CLAIM}CLAIMS = (Claim(7, "x", T, "s"),)', [], ["id", "7"]),
        (f'{CLAIM}CLAIMS = (Claim("a", "x", T, "s", (1,)),)', [],
         ["AttributeError", "line 3"]),
        (f'{CLAIM}CLAIMS = (Claim("a", "x", T, "s", 1),)', [], ["TypeError"]),
        (f'{CLAIM}CLAIMS = (Claim("a", "x", T, "s", (Part(1, None),)),)', [],
         ["statement", "Says", "got a int"]),
        (f'{CLAIM}CLAIMS = (Claim("a", "x", T, 7),)', [], ["title", "str", "int"]),
        (f'{CLAIM}CLAIMS = (Claim("a", "x", "poem", "s"),)', [], ["kind"]),
        (f'{CLAIM}CLAIMS = (Claim("a", "x", T, "s"),) * 2', [], ["two"]),
        (f'{CLAIM}CLAIMS = (Claim("a/c", "x", T, "s", uses="b"),)', [],
         ["unknown a/b"]),
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
    assert "is a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "fault", ["raise SystemExit(5)", f"{MUTE}".replace("\n", "\n    ")]
)
def test_a_proof_that_ends_the_program_is_no_proof(
    fault: str, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own.write_text(OWN.replace("return undefined_name", fault))
    assert main(["--file", str(own)]) == 0
    assert "unproved" in capsys.readouterr().out


def test_what_is_no_text_is_written_all_the_same(own: Path) -> None:
    own.write_text(OWN.replace('"A square."', r'"A \udcff square."'))
    files = ["--json", "a", "--html", "b", "--latex", "c", "--proofs", "d"]
    assert main(["--file", str(own), *files]) == 0
    assert r"\udcff" in Path("b").read_text()
