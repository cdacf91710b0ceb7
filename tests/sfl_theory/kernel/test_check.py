"""What the standalone checker prints, loads and returns."""

from __future__ import annotations

import importlib._bootstrap_external as bootstrap
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction as Q
from pathlib import Path

import pytest
import statements
from calls import GD, ONE, ZERO, F, i, n, of
from test_attacks import NOTHING, ONE_FORM, TWO, claimed, modelled, small_model

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import reader
from sfl_theory.kernel import replay as checker
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import constant, iterate, norm2
from sfl_theory.proofs import foundations
from sfl_theory.proofs.export import document
from sfl_theory.proofs.notation import combine, steps

KERNEL = Path(__file__).parents[3] / "sfl_theory" / "kernel"
HONEST = document([(statements.prop_35_statement(), foundations.prop_35())])
ONE_BELOW_ZERO = {
    "terms": [
        ["number", [["-1", []]], []],
        ["number", [["1", []]], []],
        ["constant", 1],
        ["number", [], []],
        ["constant", 3],
    ],
    "steps": [["square", 0]],
    "claims": [{"id": "c", "hypotheses": [], "left": 2, "right": 4, "theorem": 0}],
}


def checked(
    *arguments: object, kernel: Path = KERNEL, isolated: bool = True
) -> subprocess.CompletedProcess[str]:
    flags = ["-I", "-S"] if isolated else []
    return subprocess.run(
        [sys.executable, *flags, str(kernel / "check.py"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def written(folder: Path, data: object) -> Path:
    file = folder / "proofs.json"
    text = data if isinstance(data, str) else json.dumps(data)
    file.write_text(text, encoding="utf-8")
    return file


def test_exit_status_zero_needs_claims(tmp_path: Path) -> None:
    nothing = checked()
    assert nothing.returncode == 2
    assert nothing.stdout.startswith("usage:")
    assert "Status 2: no file" in nothing.stdout
    empty = checked(written(tmp_path, {"terms": [], "steps": [], "claims": []}))
    assert empty.returncode == 1
    assert "REJECTED" in empty.stdout
    assert checked(written(tmp_path, HONEST)).returncode == 0


def test_what_is_no_ordinary_file_is_one_line_and_status_two(tmp_path: Path) -> None:
    pipe, hidden = tmp_path / "pipe", written(tmp_path, HONEST)
    os.mkfifo(pipe)
    for path in ("/dev/zero", pipe, tmp_path, tmp_path / "absent.json"):
        done = checked(path)
        assert done.returncode == 2
        assert not done.stdout
        assert done.stderr == f"{path}: no ordinary file to read\n"
    with_others = checked(hidden, pipe, written(tmp_path / pipe.parent, HONEST))
    assert with_others.returncode == 2
    assert with_others.stdout.count("1 proved, 0 refuted") == 2
    rejected = tmp_path / "rejected.json"
    rejected.write_text("[]", encoding="utf-8")
    assert checked(pipe, rejected).returncode == 2
    assert checked(rejected).returncode == 1


def test_a_file_without_end_is_read_up_to_the_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long = written(tmp_path, "[" + " " * 10_000)
    monkeypatch.setattr(reader, "MAX_CHARACTERS", 100)
    monkeypatch.setattr(checker, "MAX_CHARACTERS", 100)
    asked: list[int] = []

    def seen(text: str) -> list[object]:
        asked.append(len(text))
        return replay(text)  # type: ignore[return-value]

    monkeypatch.setattr(checker, "replay", seen)
    assert checker.main([str(long)]) == 1
    assert asked == [101]
    assert "the file is too long" in capsys.readouterr().out


EVIL = "\r\x1b[2Khuang-1: proved\n  1\n  <= 0\n\x1b[8m\u202e\x9b"


@pytest.mark.parametrize(
    "data",
    [
        {"terms": [[EVIL]], "steps": [], "claims": []},
        {"terms": [], "steps": [[EVIL]], "claims": []},
        {"terms": [["client", EVIL]], "steps": [], "claims": []},
        {"terms": [["var", "v", EVIL]], "steps": [], "claims": []},
        {"terms": [["number", [[EVIL, []]], []]], "steps": [], "claims": []},
        {"terms": [], "steps": [], "claims": [{EVIL: 0}]},
        {"terms": [], "steps": [], "claims": [{"id": EVIL, "hypotheses": [],
            "left": 0, "right": 0, "theorem": 0}]},
        {EVIL: []},
        EVIL,
    ],
)  # fmt: skip
def test_a_file_cannot_steer_the_terminal(tmp_path: Path, data: object) -> None:
    done = checked(written(tmp_path, data))
    assert done.returncode == 1
    assert re.fullmatch(r"[ -~]*REJECTED: [ -~]*\n", done.stdout)
    assert not done.stderr


def test_a_claim_nested_too_deep_to_print_is_rejected(tmp_path: Path) -> None:
    terms: list[object] = [["point", "y"], ["number", [["1", []]], []]]
    terms += [["vector", [[0, 1]]], ["function", "g"]]
    terms += [["gradient", 3, 2 if not deep else deep + 3] for deep in range(3000)]
    last = len(terms)
    terms += [["value", 3, last - 1]]
    claim = {"id": "c", "hypotheses": [], "left": last, "right": last, "theorem": 1}
    made = [["square", 1], ["combine", [], [], last + 2, []]]
    terms += [["number", [], []], ["constant", last + 1]]
    data = {"terms": terms, "steps": made, "claims": [claim]}
    done = checked(written(tmp_path, data))
    assert done.returncode == 1
    assert "REJECTED" in done.stdout
    assert "proved" not in done.stdout
    assert not done.stderr


def with_pyc(folder: Path, source: str) -> Path:
    """Return a copy of the kernel with bytecode of `square` that proves c >= 0."""
    copy = folder / source / "kernel"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(KERNEL, copy, ignore=ignored)
    rules = copy / "theorems.py"
    text = rules.read_text(encoding="utf-8")
    evil = text.replace("(k.constant(c * c))", "(k.constant(c))")
    assert evil != text
    code = compile(evil, "theorems.py", "exec")
    seen = importlib.util.source_hash(text.encode())
    data = bootstrap._code_to_hash_pyc(code, seen, False)
    beside = Path(importlib.util.cache_from_source(str(rules)))
    if source == "package":
        (copy / "theorems").mkdir()
        (copy / "theorems" / "__init__.py").write_text(evil, encoding="utf-8")
    else:
        beside.parent.mkdir()
        beside.write_bytes(data)
    return copy


@pytest.mark.skipif(not Path("/proc/kmsg").is_file(), reason="no such log")
def test_a_log_that_has_no_end_is_not_waited_for() -> None:
    """It says that it is an ordinary file, and a reader waits for the next message."""
    done = checked(Path("/proc/kmsg"))
    assert done.returncode in (1, 2)


@pytest.mark.parametrize("source", ["bytecode", "package"])
def test_only_the_listed_sources_run(tmp_path: Path, source: str) -> None:
    kernel = with_pyc(tmp_path, source)
    done = checked(written(tmp_path, ONE_BELOW_ZERO), kernel=kernel)
    assert done.returncode == 1
    assert "REJECTED" in done.stdout
    assert checked(written(tmp_path, HONEST), kernel=kernel).returncode == 0
    left = {file.name for file in kernel.rglob("*.pyc")}
    assert len(left) == (source == "bytecode")


def test_the_checker_runs_isolated_only(tmp_path: Path) -> None:
    done = checked(written(tmp_path, HONEST), isolated=False)
    assert done.returncode == 1
    assert not done.stdout


def test_the_run_of_a_hypothesis_is_printed() -> None:
    """Else 1 <= 0 would follow from something that looks satisfiable."""
    still = k.Descent(F, k.Rate(ZERO))
    gap = iterate(still, 1) - iterate(still, 0)
    moved = R.assume(norm2(gap) - ONE_FORM)
    below = combine(moved, (R.descend(still, ZERO, gap), -1))
    (claim,) = claimed(below, ONE_FORM, NOTHING, *below.hypotheses)
    assert "where x, p, xi are of GD(phi; rate 0)" in str(claim)
    (claim,) = modelled(
        ONE_FORM, NOTHING, {h.Unbiased(TWO)}, small_model(order=((0, 0), (0, 1)))
    )
    assert "are of SFL-v2(everyone; client: 2 steps" in str(claim)


def test_values_that_differ_print_differently() -> None:
    tiny = Q(1, 10**30)
    (claim,) = modelled(constant(1 + tiny), constant(1), (), small_model())
    assert f"{1 + tiny} > 1 (apart by {tiny})" in str(claim)
    huge = Q(7, 10**390)
    (claim,) = modelled(constant(2 + huge), constant(2), (), small_model())
    assert "about 2.0000000 > 2 (apart by about 7E-390)" in str(claim)
    (claim,) = modelled(constant(Q(10) ** 390), constant(1), (), small_model())
    assert "about 1.0000000E+390 > 1" in str(claim)


def test_quantifiers_print_as_such() -> None:
    low = h.Holds(constant(1 - of(i)))
    assert str(h.every(k.NATURALS, i, low)).startswith("for all natural i1: ")
    assert str(h.every(steps(3), i, low)).startswith("for all i1 < 3: ")
    assert str(h.every(k.CLIENTS, n, h.Smooth(k.Local(n), ONE))).startswith(
        "for all n1: "
    )
    assert str(GD) == "GD(phi; rate eta(round))"


def test_honest_claims_still_pass() -> None:
    assert [claim.proved for claim in replay(HONEST)] == [True]
