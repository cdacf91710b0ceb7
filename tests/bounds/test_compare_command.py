"""``python -m bounds.compare``: files, JSON, and one line for every mistake."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from small_problems import quadratic_file

from bounds.compare import main
from sfl_theory import Constants

KEYS = {
    "theorem", "paper", "case", "version", "problem", "constants", "rounds",
    "measured", "bound", "verdict", "first_violation", "tightness", "rate",
}  # fmt: skip
RECORD = {
    "config.json", "environment.json", "partition.json", "constants.json",
    "metrics.jsonl", "done",
}  # fmt: skip


@pytest.fixture
def quadratic(tmp_path: Path) -> Path:
    return quadratic_file(tmp_path / "q.npz")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an empty picture: for tests of what stands in the JSON."""
    monkeypatch.setattr("bounds.record.picture", lambda *_: Figure())


def line(
    *more: str, theorem: str = "3.7", version: str = "printed", problem: Path | str
) -> list[str]:
    short = ["--rounds", "6", "--seeds", "3", "--tau", "2", "--quiet"]
    short += ["--version", version]
    name = f"quadratic:{problem}" if isinstance(problem, Path) else problem
    return ["--theorem", theorem, "--problem", name, *short, *more]


def test_writes_picture_json_and_run_records(
    quadratic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, extra = tmp_path / "deep" / "out", tmp_path / "x" / "c.json"
    assert main(line("--out", str(out), "--json", str(extra), problem=quadratic)) == 0
    records = json.loads(extra.read_text())
    assert json.loads((out / "compare.json").read_text()) == records
    assert [r["case"] for r in records] == [
        "strongly_convex", "general_convex", "non_convex",
    ]  # fmt: skip
    for record in records:
        assert record.keys() >= KEYS
        assert set(record["measured"]) >= {"mean", "ci_low", "ci_high", "seeds"}
        assert set(record["rate"]) >= {"measured", "ci", "predicted"}
        lengths = {len(record["rounds"]), len(record["bound"])}
        assert lengths == {len(record["measured"]["mean"])}
        assert record["bound"][-1] / record["measured"]["mean"][-1] == pytest.approx(
            record["tightness"]
        )
        Constants.from_dict(record["constants"])
        folder = out / record["case"]
        assert {path.name for path in folder.iterdir()} == RECORD
        metrics = [json.loads(row) for row in (folder / "metrics.jsonl").open()]
        assert [row["round"] for row in metrics] == record["rounds"]
        assert [row["mean"] for row in metrics] == record["measured"]["mean"]
        assert len(metrics[0]["per_seed"]) == 3
    assert (out / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "compare.pdf").read_bytes().startswith(b"%PDF")
    printed = capsys.readouterr().out
    assert "curve: below the bound" in printed
    assert "holds" not in printed
    assert "parameter_scale" in printed
    assert not list(tmp_path.glob("**/.*"))


@pytest.mark.usefixtures("undrawn")
def test_one_case_and_the_only_case_of_other_papers(
    quadratic: Path, tmp_path: Path
) -> None:
    for key, case in [
        ("3.8", "general_convex"),
        ("huang2023/thm-1", None),
        ("dachille2024/prop-1", None),
        ("3.5", None),
    ]:
        out = tmp_path / key.replace("/", "-")
        more = ["--out", str(out)] + (["--case", case] if case else [])
        assert main(line(*more, theorem=key, problem=quadratic)) == 0
        (record,) = json.loads((out / "compare.json").read_text())
        assert record["case"] == (case or record["case"])


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("given", "rates"),
    [
        ("0.01", [0.01, 0.01, 0.01]),
        ("0.1/(9+t)", [0.1 / 9, 0.1 / 10, 0.1 / 11]),
        ("0.03,0.02", [0.03, 0.02, 0.02]),
    ],
)
def test_learning_rates_of_the_user(
    given: str, rates: list[float], quadratic: Path, tmp_path: Path
) -> None:
    """A constant, a decaying or a listed rate enters the bound's sum of eta^2."""
    out = tmp_path / "o"
    more = ["--case", "non_convex", "--learning-rate", given, "--out", str(out)]
    assert main(line(*more, problem=quadratic)) == 0
    (record,) = json.loads((out / "compare.json").read_text())
    sums = np.array(record["terms"]["noise and heterogeneity"]) * record["rounds"]
    shown = record["rounds"].index(1), record["rounds"].index(2)
    first = sums[shown[0]] / rates[0] ** 2
    assert sums[shown[1]] / first == pytest.approx(rates[0] ** 2 + rates[1] ** 2)
    assert record["config"]["learning_rate"]


@pytest.mark.usefixtures("undrawn")
def test_both_versions_are_compared(quadratic: Path, tmp_path: Path) -> None:
    """Printed and repaired bounds beside each other, case by case."""
    out = tmp_path / "o"
    assert main(line("--version", "both", "--out", str(out), problem=quadratic)) == 0
    records = json.loads((out / "compare.json").read_text())
    assert [(r["case"], r["version"]) for r in records] == [
        (case, version)
        for case in ("strongly_convex", "general_convex", "non_convex")
        for version in ("printed", "repaired")
    ]
    assert all(r["verdict"] == "holds" for r in records if r["version"] == "repaired")


@pytest.mark.usefixtures("undrawn")
def test_versions_with_one_learning_rate_share_their_run(
    quadratic: Path, tmp_path: Path
) -> None:
    """Theorem 3.6 at tau = tau_server: printed and repaired bound one curve."""
    out = tmp_path / "o"
    more = ["--version", "both", "--case", "strongly_convex", "--out", str(out)]
    assert main(line(*more, theorem="3.6", problem=quadratic)) == 0
    printed, repaired = json.loads((out / "compare.json").read_text())
    assert printed["measured"] == repaired["measured"]
    assert repaired["bound"] == printed["bound"]  # only the step sizes are repaired
    assert not (out / "strongly_convex-repaired").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_proved_variant_is_compared_by_its_name(
    quadratic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``sharper`` is smaller than the repaired bound and still above the curve."""
    more = ["--case", "strongly_convex"]
    found = []
    for version in ("repaired", "sharper"):
        out = tmp_path / version
        asked = [*more, "--version", version, "--out", str(out)]
        assert main(line(*asked, theorem="3.6", problem=quadratic)) == 0
        (record,) = json.loads((out / "compare.json").read_text())
        assert record["version"] == version
        assert record["verdict"] == "holds"
        found.append(record["bound"])
    repaired, sharper = found
    assert all(less < more for less, more in zip(sharper, repaired, strict=True))
    with pytest.raises(SystemExit) as stopped:
        main(line(*more, "--version", "sharpest", theorem="3.6", problem=quadratic))
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    for case in ("strongly_convex: printed, repaired, sharper", "non_convex: printed"):
        assert case in error


@pytest.mark.usefixtures("undrawn")
def test_cases_follow_the_problem(quadratic: Path, tmp_path: Path) -> None:
    """A merely convex problem is compared with the cases it meets, no others."""
    path = quadratic_file(
        tmp_path / "flat.npz",
        H=np.stack([np.diag([1.0, 2, 0, 0])] * 3),
        b=np.tile([1.0, 1, 0, 0], (3, 1)),
    )
    out = tmp_path / "o"
    assert main(line("--out", str(out), problem=path)) == 0
    records = json.loads((out / "compare.json").read_text())
    assert [r["case"] for r in records] == ["general_convex", "non_convex"]


ASYMMETRIC = np.stack([np.eye(4) + np.diag([1.0, 0, 0], 1)] * 3)
INFINITE = np.full((3, 4, 4), np.inf)

MISTAKES = [
    (["--theorem", "3.99"], "--theorem"),
    (["--case", "concave"], "--case"),
    (
        ["--theorem", "3.7", "--case", "non_convex", "--version", "sharper"],
        "--version",
    ),
    (["--version", "newest"], "--version"),
    (["--version", "best"], "'story'"),
    (["--problem", "softmax:mnist"], "--problem"),
    (["--problem", "quadratic:absent.npz"], "--problem: absent.npz"),
    (["--problem", "quadratic:cut.npz"], "--problem: cut.npz"),
    (["--clients", "0"], "--clients"),
    (["--clients", "7"], "--clients"),
    (["--seed", str(10**20)], "--seed"),
    (["--seeds", str(10**20)], "--seeds"),
    (["--rounds", str(10**20)], "--rounds"),
    (["--tau", str(10**20)], "--tau"),
    (["--clients", str(10**20)], "--clients"),
    (["--batch-size", str(10**20)], "--batch-size"),
    (
        ["--problem", "ridge:diabetes", "--batch-size", "999", "--without-replacement"],
        "--batch-size",
    ),
    (["--theorem", "dachille2024/prop-1", "--tau-server", "3"], "--tau-server"),
    (["--cut", "0"], "--cut"),
    (["--cut", "4"], "--cut"),
    (["--cut", "middle"], "--cut"),
    (["--tau", "0"], "--tau"),
    (["--tau", "two"], "--tau"),
    (["--tau-server", "9"], "--tau-server"),
    (["--rounds", "0"], "--rounds"),
    (["--seeds", "0"], "--seeds"),
    (["--seed", "-1"], "--seed"),
    (["--participation", "0.5"], "--participation"),
    (["--theorem", "3.9", "--participation", "0"], "--participation"),
    (["--theorem", "3.9", "--participation", "1.5"], "--participation"),
    (["--theorem", "3.9", "--participation", "0.5,0.5"], "--participation"),
    (["--theorem", "3.9", "--participation", "often"], "--participation"),
    (["--weights", "0.5,0.5"], "--weights"),
    (["--weights", "0.5,0.5,0.5"], "--weights"),
    (["--weights", "heavy"], "--weights"),
    (["--batch-size", "0"], "--batch-size"),
    (["--batch-size", "some"], "--batch-size"),
    (["--learning-rate", "0"], "--learning-rate"),
    (["--learning-rate", "nan"], "--learning-rate"),
    (["--learning-rate", "1e6"], "diverged in round"),
    (["--learning-rate", "fast"], "--learning-rate"),
    (["--learning-rate", "0.1,-0.1"], "--learning-rate"),
    (["--learning-rate", "0.1/(-3+t)"], "--learning-rate"),
    (["--out", "{file}"], "--out"),
    (["--out", "{file}/deeper"], "--out"),
    (["--out", "/proc/no/one/may/write/here"], "--out"),
    (["--json", "/proc/nor/here.json"], "--json"),
    (["--json", "{folder}"], "--json"),
    (["--json", "/dev/null"], "--json"),
    (["--json", "{folder}/../out"], "--json"),
    (["--frobnicate"], "--frobnicate"),
    (["--problem", "softmax:digits", "--partition", "thirds"], "--partition"),
    (["--problem", "softmax:digits", "--partition", "natural"], "--partition"),
    (["--problem", "softmax:digits", "--clients", "5000"], "--clients"),
    (["--problem", "least-squares:digits", "--case", "strongly_convex"], "--case"),
]


@pytest.mark.parametrize(("more", "word"), MISTAKES)
def test_mistakes_are_one_line_and_status_2(
    more: list[str],
    word: str,
    quadratic: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line on standard error that names the option; nothing is written."""
    file, folder, out = tmp_path / "file", tmp_path / "folder", tmp_path / "out"
    file.write_text("")
    folder.mkdir()
    more = [item.format(file=file, folder=folder) for item in more]
    with pytest.raises(SystemExit) as stop:
        main([*line("--out", str(out), problem=quadratic), *more])
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.err.count("\n") == 1, captured.err
    assert word in captured.err
    assert captured.out == ""
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder", "q.npz"}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"H": ASYMMETRIC}, "symmetric"),
        ({"H": INFINITE}, "finite"),
        ({"H": None}, "H"),
        ({"b": np.zeros((3, 5))}, "b"),
        ({"x0": np.zeros(3)}, "x0"),
        ({"x0": np.full(4, np.nan)}, "x0"),
        ({"cut": 4}, "cut"),
        ({"cut": 1.5}, "cut"),
        ({"noise": np.full(3, -1.0)}, "noise"),
        ({"H": np.zeros((3, 4, 4)), "b": np.ones((3, 4))}, "minimiser"),
        ({"b": np.array([{"a": 1}], dtype=object)}, "b"),
        ({"x0": np.full(4, 1e160)}, "x0"),
        ({"H": np.full((3, 4, 4), 1j)}, "real"),
    ],
)
def test_bad_problem_files_are_refused(
    changes: dict,
    word: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = quadratic_file(tmp_path / "bad.npz", **changes)
    with pytest.raises(SystemExit) as stop:
        main(line("--out", str(tmp_path / "out"), problem=path))
    captured = capsys.readouterr()
    assert stop.value.code == 2
    assert captured.err.count("\n") == 1, captured.err
    assert word in captured.err
    assert "--problem: " in captured.err
    assert "bad.npz" in captured.err
    assert not (tmp_path / "out").exists()


def test_broken_archives_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Truncated, encrypted, oversized, doubled, unknown compression: one line each."""
    whole = quadratic_file(tmp_path / "whole.npz").read_bytes()
    heads = {b"PK\x03\x04": (6, 8), b"PK\x01\x02": (8, 10)}

    def marked(which: int, value: int) -> bytes:
        content = bytearray(whole)
        for magic, offsets in heads.items():
            at = content.find(magic)
            while at >= 0:
                content[at + offsets[which]] = value
                at = content.find(magic, at + 1)
        return bytes(content)

    def with_H(*entries: bytes) -> bytes:
        stream = io.BytesIO()
        with (
            warnings.catch_warnings(action="ignore"),
            zipfile.ZipFile(stream, "w") as archive,
            zipfile.ZipFile(io.BytesIO(whole)) as old,
        ):
            for name in old.namelist():
                if name != "H.npy":
                    archive.writestr(name, old.read(name))
            for entry in entries or (old.read("H.npy"), old.read("H.npy")):
                archive.writestr("H.npy", entry)
        return stream.getvalue()

    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (3, 10**7, 10**7)}
    np.lib.format.write_array_header_1_0(header, shape)
    archives = {
        "half": whole[: len(whole) // 2],
        "nothing": b"",
        "encrypted": marked(0, 1),
        "compression": marked(1, 99),
        "doubled": with_H(),
        "oversized": with_H(header.getvalue()),
        "header": with_H(header.getvalue()[:10] + b"{" * 118),
    }
    for name, content in archives.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        with pytest.raises(SystemExit) as stop:
            main(line("--out", str(tmp_path / "out"), problem=path))
        captured = capsys.readouterr()
        assert stop.value.code == 2
        assert captured.err.count("\n") == 1, captured.err
        assert f"--problem: {path}" in captured.err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("undrawn")
def test_everything_is_written_inside_the_folder(
    quadratic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder on another file system, or in one that is closed, serves as well."""
    out, used = tmp_path / "out", []
    make = tempfile.mkdtemp
    monkeypatch.setattr(
        "bounds.record.tempfile.mkdtemp",
        lambda **given: used.append(Path(given["dir"])) or make(**given),
    )
    assert main(line("--out", str(out), problem=quadratic)) == 0
    assert used == [out]
    modes = {path.stat().st_mode & 0o777 for path in out.rglob("*") if path.is_file()}
    assert len(modes) == 1


def test_curves_of_zeros_are_drawn_on_a_linear_axis(
    tmp_path: Path, recwarn: pytest.WarningsRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x0 = x* without noise: nothing is positive, and a log axis would show nothing."""
    drawn, save = list[str](), Figure.savefig

    def seen(figure: Figure, *args: Any, **more: Any) -> None:
        drawn.append(figure.axes[0].get_yscale())
        save(figure, *args, **more)

    monkeypatch.setattr(Figure, "savefig", seen)
    same = {"H": np.stack([np.eye(4)] * 3), "b": np.ones((3, 4)), "noise": np.zeros(3)}
    path = quadratic_file(tmp_path / "q.npz", **{**same, "x0": np.ones(4)})
    more = ["--case", "strongly_convex", "--out", str(tmp_path / "out")]
    assert main(line(*more, problem=path)) == 0
    assert drawn
    assert set(drawn) == {"linear"}
    assert not [item for item in recwarn if "log" in str(item.message)]


@pytest.mark.long
def test_runs_as_a_module_from_anywhere(quadratic: Path, tmp_path: Path) -> None:
    """The command works as users call it, with exit status and default folder."""
    root = Path(__file__).parents[2]
    words = line(theorem="3.5", problem=quadratic)
    done = subprocess.run(
        [sys.executable, "-m", "bounds.compare", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "compare-out" / "han2024-prop-3.5" / "compare.png").exists()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [["--version", "printed"], ["--refute"]])
def test_proofs_are_refused_where_no_bound_round_by_round_is_drawn(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proofs = tmp_path / "proofs"
    with pytest.raises(SystemExit, match="2"):
        main(["--theorem", "3.7", "--proof", str(proofs), *more])
    error = capsys.readouterr().err
    assert "--proof: bounds round by round" in error
    assert not proofs.exists()
