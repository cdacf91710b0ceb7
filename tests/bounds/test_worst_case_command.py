"""``python -m bounds.worst_case``: values, JSON, sweeps, and refusals in one line."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.worst_case import main, outward, shown

KEYS = {
    "value", "upper", "lower", "gap", "status", "relaxed", "instance", "residuals",
    "size", "seconds",
}  # fmt: skip
CHECK = "--heterogeneity 1 --metric distance --rounds 1 --S 1 --mu 0.1 --quiet"


def test_the_value_that_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "value.json"
    told = f"--algorithm fedavg --clients 2 --tau 1 --eta-client 0.5 {CHECK}".split()
    assert main([*told, "--certify", "--json", str(path)]) == 0
    record = json.loads(path.read_text())
    assert set(record) >= KEYS
    assert record["value"] == pytest.approx(0.9025, rel=1e-6)
    assert record["lower"] == 0.9025 <= record["upper"]
    assert record["gap"] == pytest.approx(0, abs=1e-6)
    out = capsys.readouterr().out
    assert "decided in integers" in out
    assert "admissible in exact arithmetic" in out


def test_a_float_never_reads_as_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "value.json"
    told = f"--clients 2 --eta 0.5 --tolerance 1e-2 {CHECK}".split()
    main([*told, "--json", str(path)])
    assert json.loads(path.read_text())["status"] == "computed"
    assert "proved" not in capsys.readouterr().out


def test_bounded_gradients_say_what_they_mean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = "--algorithm sfl-v1 --tau 2 --rounds 2 --bounded-gradients 1 --quiet"
    assert main([*told.split(), "--theorem", "3.6"]) == 0
    assert "not bounded: the statement is on runs" in capsys.readouterr().out


def test_the_worst_order_is_the_worse_one(tmp_path: Path) -> None:
    values = {}
    orders = ("client-sequential", "interleaved:1,2;2,1", "2,1", "worst")
    for order in orders:
        path = tmp_path / "order.json"
        told = "--algorithm sfl-v2 --tau 2 --heterogeneity 1 --eta 0.25 --quiet"
        assert main([*told.split(), "--order", order, "--json", str(path)]) == 0
        record = json.loads(path.read_text())
        values[order] = record["value"]
    assert record["size"]["orders"] == 6
    worst = values.pop("worst")
    assert worst == pytest.approx(max(values.values()), rel=1e-6)
    assert min(values.values()) < worst * (1 - 1e-3)


def test_participation_is_enumerated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One client: (1 - q) + q (1 - mu eta / q)^2."""
    path = tmp_path / "value.json"
    told = f"--clients 1 --participation 1/2 --eta 0.5 {CHECK}"
    assert main([*told.split(), "--certify", "--json", str(path)]) == 0
    record = json.loads(path.read_text())
    assert record["value"] == pytest.approx(0.905, rel=1e-6)
    assert record["size"]["scenarios"] == 2
    out = capsys.readouterr().out
    assert "participation 1/2" in out
    assert "all outcomes of chance: 2 scenarios" in out


def test_noise_of_two_values_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "value.json"
    told = f"--clients 1 --noise 1 --two-point {CHECK} --json {path}"
    assert main(told.split()) == 0
    record = json.loads(path.read_text())
    assert Fraction(record["lower"]) <= Fraction("1.1525") < record["upper"]
    for bound in ("lower", "upper"):
        assert record[bound] == pytest.approx(1.1525, rel=1e-6)


@given(st.fractions(), st.integers(1, 17))
def test_bounds_are_rounded_outwards(value: Fraction, digits: int) -> None:
    low, high = (outward(value, up) for up in (False, True))
    assert low <= value <= high
    assert high <= math.nextafter(low, math.inf)
    low, high = (Fraction(shown(value, up, digits)) for up in (False, True))
    assert low <= value <= high
    assert high - low <= abs(value) * Fraction(1, 10 ** (digits - 1))


def test_folders_of_what_is_written_are_made(tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}" / "file" for k in range(4)]
    picture = paths[3].with_suffix(".svg")
    one = f"--clients 1 {CHECK} --json {paths[0]} --proof {paths[1]}"
    curve = f"--clients 1 --sweep eta=1:2:2 {CHECK} --json {paths[2]} --out {picture}"
    assert main(one.split()) == main(curve.split()) == 0
    assert all(path.stat().st_size for path in (*paths[:3], picture))


def test_a_sweep_finds_the_best_step_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Gradient descent, one step: ``max(1 - mu eta, S eta - 1)^2`` is least between."""
    path, picture = tmp_path / "sweep.json", tmp_path / "sweep.svg"
    told = f"--clients 1 --sweep eta=1:2.5:4 {CHECK}".split()
    assert main([*told, "--json", str(path), "--out", str(picture)]) == 0
    record = json.loads(path.read_text())
    for point in record["points"]:
        eta = point["eta"]
        exact = max(1 - 0.1 * eta, eta - 1) ** 2
        assert point["value"] == pytest.approx(exact, rel=1e-5)
        assert point["contracts"] is (exact < 1)
    assert record["best"] == pytest.approx(1.842, abs=1e-3)
    assert picture.stat().st_size > 1000
    assert "<- best" in capsys.readouterr().out


def test_whatever_is_plain_is_certified(tmp_path: Path) -> None:
    """Clients that nothing holds together, far and near, steep and flat."""
    path = tmp_path / "value.json"
    for told in (
        "--rounds 3 --metric gap --reading average --mu 0",
        "--rounds 3 --metric gradient --reading average",
        "--rounds 2 --noise 1",
        "--rounds 2 --weights 1/4,3/4 --noise 1",
        "--rounds 2 --algorithm minibatch-sfl --noise 1 --clients 3",
        "--rounds 2 --initial 1e-20",
        "--rounds 2 --S 1e4 --tau 2 --heterogeneity 1",
        "--rounds 2 --initial 1e8 --tau 2 --heterogeneity 1",
    ):
        assert main([*told.split(), "--certify", "--quiet", "--json", str(path)]) == 0
        record = json.loads(path.read_text())
        assert record["upper"] == pytest.approx(record["value"], rel=1e-5)


def test_a_sweep_decides_whether_steps_contract(tmp_path: Path) -> None:
    """Points of the solver that lie outside by rounding are moved inside."""
    path = tmp_path / "sweep.json"
    told = "--algorithm sfl-v2 --tau 2 --mu 0.1 --metric distance --quiet --json"
    steps = "--heterogeneity 0.01 --eta-client 0.1 --sweep eta-server=0.1:1.6:5"
    assert main([*told.split(), str(path), *steps.split()]) == 0
    points = json.loads(path.read_text())["points"]
    assert [p["contracts"] for p in points] == [p["value"] < 1 for p in points]
    assert {p["contracts"] for p in points} == {True, False}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("--mu 2", "--mu: mu must be in [0, S)"),
        ("--mu 1", "--mu: mu must be in [0, S)"),
        ("--S 0", "--S: S must be positive"),
        ("--S nan", "--S: a number is needed"),
        ("--mu 1e999", "--mu: a number is needed"),
        ("--rounds 0", "--rounds: between 1"),
        ("--rounds 9 --tau 100 --heterogeneity 1", "too large: the number of"),
        ("--tau 2", "--heterogeneity: several clients need a bound"),
        ("--tau 0 --heterogeneity 1", "--tau: tau and tau_server"),
        ("--weights 1/2,1/3 --heterogeneity 1", "--weights: weights must be positive"),
        ("--clients all --weights 1/2,1/2", "--clients: all needs equal weights"),
        ("--algorithm sfl-v2 --clients all", "--clients: sfl-v2 needs a number"),
        ("--algorithm sgd", "--algorithm: algorithm must be one of fedavg"),
        ("--eta 1,2,3 --rounds 2", "--eta-client: one step size or 2, got 3"),
        ("--theorem 3.6 --eta 1", "--theorem: it fixes the step sizes"),
        ("--theorem 9.9 --heterogeneity 1", "--theorem:"),
        ("--heterogeneity -1", "--heterogeneity: must not be negative"),
        ("--metric area", "--metric: metric must be one of"),
        ("--non-convex --mu 0", "--mu: problems of --non-convex have none"),
        ("--non-convex --heterogeneity 1", "--heterogeneity: zeta speaks of x*"),
        ("--start gradients", "--start: a start by bounded gradients"),
        ("--mu 0 --start gap --metric distance", "--start: a start by gap says"),
        ("--eta 0 --reading mean", "--eta-client: a mean over rounds is weighted"),
        ("--bounded-gradients 0", "--bounded-gradients: gradients that are"),
        ("--sweep eta=1:2:2 --out curve.xyz", "--out: a picture such as curve.svg"),
        ("--sweep eta=1:0:5", "--sweep: needs 0 < FROM < TO"),
        ("--json pyproject.toml/all.json", "--json:"),
        ("--table 0", "--table: between 1 and 100"),
        ("--table many", "--table"),
        ("--table --tau 2", "--tau: --table has its own"),
        ("--table --bounded-gradients 1", "--bounded-gradients: --table has its own"),
        ("--table --sweep eta=1:2:3", "--sweep: --table has its own"),
        ("--table --proof proof.json", "--proof: --table has its own"),
        ("--table --theorem 3.5", "--theorem: --table is of 3.6, 3.7, 3.8, 3.9"),
        ("--table --case convex", "--case: one of strongly_convex"),
        ("--table --json pyproject.toml/all.json", "--json:"),
        ("--participation 1/2 --heterogeneity 1", "--participation: participation is"),
        ("--participation 2 --clients 1", "--participation: participation must be"),
        ("--participation 1/2,1 --clients 3", "--participation: participation must be"),
        ("--participation half --clients 2", "--participation: a number is needed"),
        ("--participation 1/2 --clients 2", "--heterogeneity: several clients need"),
        (
            "--participation 1/2 --clients 4 --rounds 3 --heterogeneity 1",
            "too large: the number of scenarios is 4096, the limit is 1024",
        ),
        ("--two-point --clients 1", "--two-point: two-point noise is enumerated"),
        (
            "--algorithm sfl-v2 --heterogeneity 1 --order up",
            "--order: client-sequential",
        ),
        ("--algorithm sfl-v2 --heterogeneity 1 --order 1,", "--order:"),
        (
            "--algorithm sfl-v2 --heterogeneity 1 --order 1,3",
            "--order: an order of visits",
        ),
        ("--algorithm sfl-v2 --heterogeneity 1 --order worst:1,2", "--order:"),
        (
            "--algorithm sfl-v2 --heterogeneity 1 --order 1,2;2,1",
            "--order: an order of visits: one, or 1 of them, got 2",
        ),
        (
            "--clients 2 --heterogeneity 1 --order 1,2",
            "--order: of the visits of sfl-v2",
        ),
        (
            "--algorithm sfl-v2 --clients 4 --rounds 3 --heterogeneity 1 --order worst",
            "too large: 1.382e+04 orders of visits",
        ),
        ("--start decrease --heterogeneity 1", "--start: one of distance"),
        ("--noise -1", "--noise: noise must have"),
        ("--initial -1", "--initial: the initial distance"),
        ("--bounded-gradients 1 --initial 2", "--initial: bounded gradients leave"),
        ("--server-moves printed", "--server-moves: of the visits of sfl-v2"),
        ("--case non_convex", "--case: of a --theorem"),
        ("--out curve.png", "--out: draws the curve of a --sweep"),
        ("--sweep eta=0.1:1:3 --proof p.json", "--proof: not with --sweep"),
        ("--sweep eta=0.1:1:3 --theorem 3.6", "--theorem: not with --sweep"),
        ("--sweep eta=0.1:1:3 --eta-client 1", "--eta-client: not with --sweep"),
    ],
)
def test_refusals_in_one_line(
    told: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([*told.split(), "--quiet"])
    assert stopped.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_an_interruption_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sfl_theory.worst_case import solve

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "searched", stop)
    assert main(CHECK.split()) == 130
    assert "interrupted" in capsys.readouterr().err
