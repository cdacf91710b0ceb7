"""``python -m bounds.audit``: entries as a table, one in full, and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bounds.audit import main
from bounds.page import LARGEST
from sfl_theory import kernel
from sfl_theory.evidence import parts_of
from sfl_theory.ledger import ledger
from sfl_theory.notation.plain import plain

KEYS = {
    "id", "location", "kind", "statement", "latex", "reading", "status", "severity",
    "scope", "cause", "first_failure", "method", "evidence", "reproduce", "depends_on",
    "used_by", "repair",
}  # fmt: skip


def test_table_has_every_entry_with_status_and_why(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert main(["--paper", "dachille2024"]) == 0
    out = capsys.readouterr().out
    for claim in ledger().claims("dachille2024"):
        (line,) = (row for row in out.splitlines() if f" {claim.id[13:]} " in row)
        assert claim.cause[:60] in line


def test_one_entry_in_full_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "entries.json"
    name = "han2024/lemma-C.7"
    assert main(["--claim", name, "--json", str(path)]) == 0
    out = capsys.readouterr().out
    (entry,) = json.loads(path.read_text())
    assert set(entry) == KEYS
    assert (entry["id"], entry["status"], entry["method"]) == (
        name, "refuted", "instance",
    )  # fmt: skip
    assert entry["repair"]["status"] == "proved"
    words = " ".join(out.split())
    for part in (entry["cause"], entry["scope"], *map(plain, entry["latex"])):
        assert part in words
    assert out.splitlines()[-1] == f"replay:    {entry['reproduce']}"


def test_every_part_has_its_reading_beside_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What stands for a formula, a repair's too, is said where it stands."""
    name = "han2024/thm-3.6/general_convex"
    assert main(["--claim", name]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert words.count("reading: for every constant rate") == 1
    _, parts = words.split("repaired:")
    assert len(parts.split(" reading: ")) == 4
    assert parts.count("Lambda stands for the exponential") == 2
    shared = ledger().entry("han2024/eq-104")
    assert main(["--claim", shared.claim.id]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert words.count(f"reading: {shared.repair_reading}") == 2
    assert shared.as_dict()["repair"]["reading"] == shared.repair_reading


def test_the_standalone_checker_decides_what_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Statement, derivation, models: the file alone gives the same verdicts."""
    from sfl_theory.kernel.replay import replay

    path = tmp_path / "proofs.json"
    assert main(["--claim", "han2024/lemma-C.7", "--proofs", str(path)]) == 0
    verdicts = [claim.proved for claim in replay(path.read_text())]
    assert set(verdicts) == {False, True}  # the claim, and its repair


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="claims are shared by forks")
def test_two_processes_write_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which process finds a proof changes no statement and no verdict of the file."""
    from sfl_theory.kernel.replay import replay

    found = []
    for cores in (1, 2):
        path = tmp_path / f"{cores}.json"
        own = set(range(cores))
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, own=own: own)
        assert main(["--paper", "li2020", "--proofs", str(path)]) == 0
        found.append([str(claim) for claim in replay(path.read_text())])
    assert found[0] == found[1]


@pytest.mark.whole
def test_the_whole_ledger_replays_from_its_file_alone(tmp_path: Path) -> None:
    """Proofs are found in one process, decided in another that shares nothing.

    The page of the whole ledger is made along with the file, and fits.
    """
    path, check = tmp_path / "proofs.json", Path(str(kernel.__file__)).parent
    page = tmp_path / "audit.html"
    assert main(["--proofs", str(path), "--html", str(page)]) == 0
    assert page.stat().st_size <= LARGEST
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(check / "check.py"), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    decided = [
        line.split(": ")[-1]
        for line in done.stdout.splitlines()
        if line.endswith((": proved", ": refuted"))
    ]
    written = json.loads(path.read_text())["claims"]
    assert decided == ["proved" if "theorem" in one else "refuted" for one in written]
    parts = [one for claim in ledger().claims() for one in parts_of(claim)]
    assert {one["id"] for one in written} == {name for name, part in parts if part.by}


def test_trust_names_rules_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--trust"]) == 0
    out = capsys.readouterr().out
    assert "standard library only" in out
    assert f"of {len(ledger().claims())}" in out


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (["--claim", "han2024/lemma-Z.9"], "--claim"),
        (["--claim", "thm-3.7/non_convex"], "close: han2024/thm-3.7/non_convex"),
        (["--claim", "han2024/theorem-3.7"], "close: han2024/thm-3.7"),
        (["--claim", "li2020/thm-1", "--paper", "han2024"], "--paper han2024"),
        (["--paper", "nobody2020"], "--paper"),
        (["--claim", "han2024/prop-3.5", "--json", "/proc/no/x.json"], "--json"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    line: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line)
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert err.count("\n") == 1
    assert word in err


@pytest.mark.parametrize(
    ("line", "idle"),
    [
        (["--trust", "--json", "a"], "--json"),
        (["--trust", "--claim", "han2024/eq-2"], "--claim"),
        (["--export", "a", "--latex", "b"], "--latex"),
        (["--export", "a", "--json", "b"], "--json"),
        (["--mutate", "--html", "a"], "--html"),
        (["--mutate", "--proofs", "a"], "--proofs"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    line: list[str],
    idle: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(line)
    assert stopped.value.code == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert f"{idle} does nothing beside {line[0]}" in said
    assert not [*tmp_path.iterdir()]
