"""``bounds.compare --run``: a finished deep run beside a bound, and what it is not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

from bounds.compare import main
from bounds.finished_run import FinishedRun, load
from bounds.run_comparison import (
    _verdict,
    compare_runs,
    left_side,
    shown_rounds,
)
from bounds.run_departures import departures, largest_rates
from bounds.verdict import Band
from sfl_theory import Constants, schedules, theorem
from sfl_theory.bound import total
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import Config
from sfl_train.deep.schedule import LearningRates
from sfl_train.deep.training import train

KEYS = {
    "theorem", "paper", "case", "version", "problem", "constants", "rounds",
    "measured", "bound", "verdict", "first_violation", "tightness", "rate",
    "run", "departures",
}  # fmt: skip
BASE = {
    "algorithm": "sfl-v2", "model": "mlp", "width": 0.05, "clients": 3, "tau": 2,
    "epochs": None, "rounds": 4, "sampling": "replacement", "lr": 1e-4,
    "measure": "every=1", "evaluate_every": 100, "partition": "iid",
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs by name: two seeds, a sparse one, whole batches, epochs, not measured."""
    before = torch.get_num_threads()
    folder = tmp_path_factory.mktemp("runs")
    wanted = {
        "a": {"schedule": "cosine"},
        "b": {"schedule": "cosine", "seed": 1},
        "sparse": {"measure": "every=3", "rounds": 8, "lr": 0.01},
        "whole": {"algorithm": "sfl-v1", "sampling": "reshuffle", "batch_size": 999},
        "epochs": {"tau": None, "epochs": 1, "partition": "dirichlet:0.5", "rounds": 1},
        "off": {"measure": "off", "rounds": 1},
    }
    for name, options in wanted.items():
        train(Config(**{**BASE, **options}), folder / name)
    torch.set_num_threads(before)
    return {name: folder / name for name in wanted}


def compared(*folders: Path, number: str = "3.7") -> dict:
    """Compare without drawing."""
    item = theorem(number)
    bound = item.case("non_convex").bound()
    return compare_runs(item, "non_convex", [bound], folders)[0].as_dict()


def commanded(out: Path, *folders: Path, more: tuple[str, ...] = ()) -> list[dict]:
    line = ["--theorem", "3.7", "--out", str(out), *more]
    for folder in folders:
        line += ["--run", str(folder)]
    assert main(line) == 0
    return json.loads((out / "compare.json").read_text())


def named(lines: tuple[str, ...] | list[str]) -> list[str]:
    return [line.split(":")[0] for line in lines]


def by_hand(folder: Path, rates: list[float]) -> list[float]:
    """Return (1/T) sum_{t<T} eta^t ||grad f(x^t)||^2 for T = 1, 2, ..., R."""
    found, total = [], 0.0
    for line in map(json.loads, (folder / "metrics.jsonl").open()):
        t = line["round"]
        if t < len(rates):
            total += rates[t] * line["measured"]["gradient2"]
            found.append(total / (t + 1))
    return found


COSINE = [1e-4 * 0.5 * (1 + np.cos(np.pi * t / 4)) for t in range(4)]


def test_one_run_beside_the_bound(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Left side and bound by hand; without seeds nothing is decided, in words."""
    record, repaired = commanded(tmp_path / "o", runs["a"])
    assert (record["version"], repaired["version"]) == ("printed", "repaired")
    assert record["measured"] == repaired["measured"]
    assert record["audit"]["status"] == "refuted"
    assert 0 < record["progress"] < 1
    assert record.keys() >= KEYS
    assert record["case"] == "non_convex"
    assert record["rounds"] == [1, 2, 3, 4]
    assert record["measured"]["mean"] == pytest.approx(by_hand(runs["a"], COSINE))
    stored = json.loads((runs["a"] / "constants.json").read_text())
    assert record["constants"]["provenance"] == stored["provenance"]
    bound = theorem("3.7").case("non_convex").bound()
    value = total(
        bound.formula(
            Constants.from_dict(stored["constants"]),
            [1, 2, 3, 4],
            schedules.table(COSINE),
        )
    )
    assert record["bound"] == pytest.approx(value.tolist())
    assert record["verdict"] == "inconclusive"
    assert record["measured"]["ci_low"] == [None] * 4
    assert record["run"][0]["seed"] == 0
    assert record["run"][0]["folder"] == str(runs["a"])
    assert named(record["departures"]) == ["smoothness"]
    assert (tmp_path / "o" / "compare.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "o" / "compare.pdf").read_bytes().startswith(b"%PDF")
    assert not list(tmp_path.glob("**/.*"))
    printed = " ".join(capsys.readouterr().out.split())
    assert "departs: smoothness" in printed
    assert "one run does not estimate the expectation" in printed
    assert "lead, no refutation" in printed


def test_seeds_give_mean_and_band(runs: dict[str, Path]) -> None:
    """Student's t over runs; the bound is the mean of each run's own."""
    record = compared(runs["b"], runs["a"])
    curves = np.array([by_hand(runs[name], COSINE) for name in ("a", "b")])
    half = stats.t.ppf(1 - 0.05 / (2 * 4), 1) * curves.std(0, ddof=1) / np.sqrt(2)
    assert record["measured"]["mean"] == pytest.approx(curves.mean(0).tolist())
    assert record["measured"]["ci_high"] == pytest.approx(
        (curves.mean(0) + half).tolist()
    )
    singles = [compared(runs[name])["bound"] for name in ("a", "b")]
    assert record["bound"] == pytest.approx(np.mean(singles, axis=0).tolist())
    assert record["verdict"] == "holds"
    assert [one["seed"] for one in record["run"]] == [0, 1]
    assert record["config"]["seeds"] == [0, 1]


def test_a_curve_above_the_bound_is_violated(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    """A planted large gradient turns the verdict, from that round on."""
    copies = []
    for name in ("a", "b"):
        copies.append(shutil.copytree(runs[name], tmp_path / name))
        edit_log(copies[-1], 2, lambda line: with_gradient(line, 1e8))
        unsigned(copies[-1])
    record = compared(*copies)
    assert record["verdict"] == "violated"
    assert record["first_violation"] == 3


def test_average_over_measured_rounds_is_labelled(runs: dict[str, Path]) -> None:
    """With K = 3 the measured rounds 0, 3, 6 stand in for all, and it says so."""
    record = compared(runs["sparse"])
    lines = map(json.loads, (runs["sparse"] / "metrics.jsonl").open())
    g = {
        line["round"]: line["measured"]["gradient2"]
        for line in lines
        if "measured" in line
    }
    assert record["rounds"] == [1, 4, 7, 8]
    mean = [g[0], (g[0] + g[3]) / 2, *[(g[0] + g[3] + g[6]) / 3] * 2]
    assert record["measured"]["mean"] == pytest.approx([0.01 * v for v in mean])
    assert "over_measured_rounds" in record["metric"]
    assert any("3 of 8 rounds were measured" in words for words in record["remarks"])
    (run,) = load([runs["sparse"]])
    _, least = left_side(run, shown_rounds(run))
    assert least[-1] == pytest.approx(0.01 * (g[0] + g[3] + g[6]) / 8)


def test_unmeasured_rounds_refute_nothing() -> None:
    """The average lies above the bound, the measured rounds alone may not."""
    rounds, bound = np.array([1, 4]), np.array([5.0, 1.0])

    def band(*values: float) -> Band:
        return Band.of(rounds, np.array([values]).T, deterministic=True)

    verdict, remark = _verdict(band(4, 3), band(4, 0.9), bound)
    assert verdict.word == "inconclusive"
    assert verdict.first_violation is None
    assert "measure every round" in remark[0]
    assert _verdict(band(4, 3), band(4, 1.1), bound)[0].word == "violated"
    assert _verdict(band(4, 0.5), band(4, 0.2), bound)[0].word == "holds"
    assert _verdict(band(4, 0.9999), band(4, 0.2), bound)[0].word == "inconclusive"


def test_whole_batches_draw_nothing_and_one_run_decides(
    runs: dict[str, Path],
) -> None:
    found = compared(runs["whole"], number="3.7")["departures"]
    assert named(found) == ["algorithm", "smoothness"]
    record = compared(runs["whole"], number="3.6")
    assert named(record["departures"]) == ["smoothness"]
    assert record["verdict"] == "holds"
    assert record["measured"]["ci_low"] == record["measured"]["mean"]
    (run,) = load([runs["whole"]])
    assert run.deterministic
    assert not replace(run, config=replace(run.config, batch_size=32)).deterministic
    drawn = replace(run.config, sampling="replacement")
    assert not replace(run, config=drawn).deterministic


def test_unequal_steps_are_no_theorems_algorithm(runs: dict[str, Path]) -> None:
    """An epoch over unequal data: named, and drawn with the largest tau."""
    record = compared(runs["epochs"])
    sizes = json.loads((runs["epochs"] / "partition.json").read_text())["sizes"]
    steps = [-(-size // 32) for size in sizes]
    assert min(steps) < max(steps)
    assert "periods" in named(record["departures"])
    assert f"{min(steps)} to {max(steps)} local steps" in str(record["departures"])
    assert record["constants"]["tau"] == max(steps)
    assert record["constants"]["provenance"]["tau"] == "assumed"


@pytest.fixture
def run(runs: dict[str, Path]) -> FinishedRun:
    return load([runs["a"]])[0]


@pytest.mark.parametrize(
    ("number", "changes", "names"),
    [
        ("3.7", {}, []),
        ("3.9", {}, []),
        ("3.6", {"algorithm": "fedavg"}, []),
        ("3.6", {}, ["algorithm"]),
        ("3.7", {"algorithm": "sfl-v1"}, ["algorithm"]),
        ("3.6", {"algorithm": "sfl-v1", "server_waits": True}, ["server"]),
        ("3.7", {"order": "client-sequential"}, ["order"]),
        ("3.7", {"server_weights": "size"}, ["server rate"]),
        ("3.7", {"momentum": 0.9}, ["optimizer"]),
        ("3.7", {"momentum": 0.9, "lifetime": "step"}, ["optimizer"]),
        (
            "3.7",
            {"momentum": 0.9, "lifetime": "step", "server_lifetime": "step"},
            [],
        ),
        ("3.7", {"optimizer": "adam"}, ["optimizer"]),
        ("3.7", {"server_optimizer": "adam"}, ["optimizer"]),
        ("3.7", {"weight_decay": 5e-4}, ["weight decay"]),
        ("3.7", {"lr_server": 5e-5}, ["server rate"]),
        ("3.7", {"lr": 1.0}, ["step size"]),
        ("3.7", {"sampling": "reshuffle"}, ["sampling"]),
        ("3.7", {"sampling": "reshuffle", "batch_size": 999}, []),
        ("3.7", {"sampling": "reshuffle", "tau": 1}, []),
        ("3.7", {"augmentation": "crop-flip"}, ["augmentation"]),
        ("3.7", {"precision": "bf16"}, ["precision"]),
        ("3.7", {"model": "resnet18"}, ["BatchNorm"]),
        ("3.7", {"model": "resnet18", "norm": "group"}, []),
        ("3.7", {"model": "cnn", "norm": "batch"}, ["BatchNorm"]),
    ],
)
def test_departures_are_named(
    run: FinishedRun, number: str, changes: dict, names: list[str]
) -> None:
    changed = replace(run, config=replace(run.config, **changes))
    item = theorem(number)
    found = departures(item, item.case("non_convex").bound(), [changed])
    assert named(found) == [*names, "smoothness"]


def test_departures_of_partial_participation(run: FinishedRun) -> None:
    half = replace(run, constants=run.constants.with_values(participation=(0.5,) * 3))

    def found(number: str, **changes: str) -> list[str]:
        item = theorem(number)
        changed = replace(half, config=replace(run.config, **changes))
        case = item.case("non_convex").bound()
        return named(departures(item, case, [changed]))

    assert found("3.7") == ["participation", "smoothness"]
    assert found("3.9") == ["smoothness"]
    fixed = found("3.9", participation_draw="fixed")
    assert fixed == ["participation", "smoothness"]
    for rule in ("models", "normalised"):
        assert found("3.9", aggregation=rule) == ["aggregation", "smoothness"]


def test_departures_of_the_repaired_bound(run: FinishedRun) -> None:
    """Equal weights and a server rate over N: by lr_server or by weighted steps."""
    item = theorem("3.7")
    bound = item.case("non_convex").bound("repaired")

    def found(weights: tuple[float, ...], **changes: object) -> list[str]:
        constants = run.constants.with_values(weights=weights)
        config = replace(run.config, **changes)
        changed = replace(run, constants=constants, config=config)
        return named(departures(item, bound, [changed]))

    equal = (1 / 3,) * 3
    assert found(equal) == ["server rate", "smoothness"]
    assert found(equal, lr_server=run.config.lr / 3) == ["smoothness"]
    assert found(equal, server_weights="size") == ["smoothness"]
    assert found((0.2, 0.3, 0.5), lr_server=run.config.lr / 3) == [
        "weights", "smoothness",
    ]  # fmt: skip


def test_step_size_condition_at_its_edge(run: FinishedRun) -> None:
    """The largest admitted rate is admitted; with the measured S, not a fixed one."""
    bound = theorem("3.7").case("non_convex").bound()
    S, tau, N = run.constants.S, run.constants.tau, 3
    edge = min(1 / (16 * S * tau), 1 / (8 * S * N**2 * tau))
    admitted = largest_rates(bound, run)
    assert admitted is not None
    assert admitted[0] == pytest.approx([edge] * 4)

    def found(lr: float) -> tuple[str, ...]:
        config = replace(run.config, lr=lr, schedule="constant")
        changed = replace(run, config=config)
        return departures(theorem("3.7"), bound, [changed, changed])

    assert named(found(edge)) == ["smoothness"]
    (first, _) = found(edge * 1.001)
    assert first.startswith("step size: the step-size condition is not met (eta ")
    assert "the theorem does not speak about this run" in first


def test_unequal_periods_under_a_theorem_with_one(run: FinishedRun) -> None:
    item = theorem("dachille2024/prop-1")
    config = replace(run.config, algorithm="sfl-v1", tau_server=1)
    constants = run.constants.with_values(tau_server=1)
    changed = replace(run, config=config, constants=constants)
    assert named(departures(item, item.case().bound(), [changed])) == [
        "periods", "smoothness",
    ]  # fmt: skip
    two = theorem("3.6")
    bound = two.case("non_convex").bound()
    assert named(departures(two, bound, [changed])) == ["smoothness"]


def edit_log(folder: Path, index: int, change) -> None:
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines()
    changed = change(lines[index])
    lines[index : index + 1] = [] if changed is None else [changed]
    path.write_text("".join(f"{line}\n" for line in lines))


def edit(folder: Path, name: str, change) -> None:
    path = folder / name
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def with_gradient(line: str, value: float) -> str:
    record = json.loads(line)
    record["measured"]["gradient2"] = value
    return json.dumps(record)


def removed(name: str):
    return lambda folder: (folder / name).unlink()


def cut_short(name: str):
    def damage(folder: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[:-40])

    return damage


def changed(name: str, *keys: str, value: object):
    def change(content: dict) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return lambda folder: edit(folder, name, change)


DAMAGES = {
    "config.json is missing": removed("config.json"),
    "unfinished": removed("done"),
    "partition.json": removed("partition.json"),
    "constants.json": removed("constants.json"),
    "metrics.jsonl": removed("metrics.jsonl"),
    "config.json: cannot be read": cut_short("config.json"),
    "constants.json: cannot be read": cut_short("constants.json"),
    "done: cannot be read": cut_short("done"),
    "measured rounds are missing": cut_short("metrics.jsonl"),
    "rounds are missing or not": lambda f: edit_log(f, 1, lambda line: None),
    "metrics.jsonl: cannot be read": lambda f: edit_log(f, 1, lambda line: "{"),
    "metrics.jsonl: damaged": lambda f: edit_log(f, 1, lambda line: "3"),
    "gradient of round 2 is nan": lambda f: edit_log(
        f, 2, lambda line: with_gradient(line, float("nan"))
    ),
    "another version of the format": changed("config.json", "lr", value=0.3),
    "another version, or": changed("config.json", "colour", value="red"),
    "not the configuration": lambda f: (f / "config.json").write_text("[1]"),
    "no summary of this run": changed("done", "hash", value="0" * 64),
    "diverged in round 3": lambda f: edit(
        f, "done", lambda d: d.update(diverged=True, rounds=3)
    ),
    "says 2 of 4": changed("done", "rounds", value=2),
    "S must be positive": changed("constants.json", "constants", "S", value=-1.0),
    "not of the rounds": changed("constants.json", "rounds", value=[0, 1]),
    "constants is missing": lambda f: (f / "constants.json").write_text("{}"),
    "constants.json: damaged": lambda f: (f / "constants.json").write_text("7"),
    "nested too deeply": lambda f: (f / "config.json").write_text("[" * 10**5),
    "2 clients in partition.json": changed(
        "partition.json", "clients", value=[[0], [1]]
    ),
}


@pytest.mark.parametrize("words", DAMAGES)
def test_bad_folders_are_one_line(
    words: str,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(runs["a"], tmp_path / "run")
    DAMAGES[words](folder)
    if (folder / "done").exists() and "done" not in words:
        unsigned(folder)
    assert words in refused(capsys, "--run", str(folder), "--out", str(tmp_path / "o"))
    assert not (tmp_path / "o").exists()


def unsigned(folder: Path) -> None:
    """Take away the digests, as if an earlier version had written the end."""
    edit(folder, "done", lambda content: content.pop("files", None))


@pytest.mark.parametrize(
    "name",
    ["metrics.jsonl", "model.safetensors", "partition.json", "constants.json",
     "bytes.json"],
)  # fmt: skip
def test_results_that_were_lost_or_changed_are_not_compared(
    name: str,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(runs["a"], tmp_path / "run")
    given = ("--run", str(folder), "--out", str(tmp_path / "o"))
    with (folder / name).open("ab") as stream:
        stream.write(b" ")
    assert f"{name} is changed since the run ended" in refused(capsys, *given)
    (folder / name).unlink()
    assert f"{name} is missing" in refused(capsys, *given)
    if name != "constants.json":  # which only a measured run has
        unsigned(folder)
        assert f"{name} is missing" in refused(capsys, *given)
    assert not (tmp_path / "o").exists()


def refused(capsys: pytest.CaptureFixture[str], *line: str) -> str:
    theorem_given = [] if "--theorem" in line else ["--theorem", "3.7"]
    with pytest.raises(SystemExit) as stop:
        main([*theorem_given, *line])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_what_cannot_be_compared_is_one_line(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, out = str(runs["a"]), ("--out", str(tmp_path / "o"))
    assert "no such folder" in refused(capsys, "--run", str(tmp_path / "x"), *out)
    file = tmp_path / "file"
    file.write_text("")
    assert "is not a folder" in refused(capsys, "--run", str(file), *out)
    assert "nothing was measured" in refused(capsys, "--run", str(runs["off"]), *out)
    error = refused(capsys, "--run", a, "--run", str(runs["sparse"]), *out)
    assert "more than the seed" in error
    assert "--lr 0.0001 there, 0.01 here" in error
    assert "same seed 0" in refused(capsys, "--run", a, "--run", a, *out)
    for case in ("strongly_convex", "general_convex"):
        error = refused(capsys, "--run", a, "--case", case, *out)
        assert "--case: " in error
        assert "minimum unknown" in error
    for key in ("huang2023/thm-1", "3.5"):
        assert "--theorem: " in refused(capsys, "--theorem", key, "--run", a, *out)
    for option in (("--tau", "5"), ("--seed", "0"), ("--without-replacement",)):
        error = refused(capsys, "--run", a, *option, *out)
        assert f"{option[0]}: does not go with --run" in error
    error = refused(capsys, "--run", a, "--version", "sharper", *out)
    assert "--version: " in error
    assert "does not go with" in refused(capsys, "--run", a, "--refute", *out)
    assert not (tmp_path / "o").exists()


def test_both_versions_and_the_instance(runs: dict[str, Path], tmp_path: Path) -> None:
    """Each version has its own departures; the run folder stays as it was."""
    before = {p: p.read_bytes() for p in runs["a"].rglob("*") if p.is_file()}
    more = ("--version", "both", "--json", str(tmp_path / "c.json"))
    records = commanded(tmp_path / "o", runs["a"], more=more)
    assert json.loads((tmp_path / "c.json").read_text()) == records
    assert [record["version"] for record in records] == ["printed", "repaired"]
    assert "server rate" not in named(records[0]["departures"])
    assert "server rate" in named(records[1]["departures"])
    assert {p: p.read_bytes() for p in runs["a"].rglob("*") if p.is_file()} == before


def test_a_theorems_own_rates_are_read_as_they_were_trained(tmp_path: Path) -> None:
    """The rule depends on the clients' weights, which only the partition tells."""
    options = {
        "algorithm": "sfl-v1", "partition": "dirichlet:0.1", "rounds": 1,
        "participation": 0.5, "schedule": "theorem:3.8/non_convex:S=40",
    }  # fmt: skip
    config = Config(**{**BASE, **options})
    train(config, tmp_path / "run")
    (run,) = load([tmp_path / "run"])
    assert len(set(run.sizes)) > 1
    assert run.rates[0][0] == assemble(config).rates(0).client
    assert run.rates[0][0] < 0.99 * LearningRates(config)(0).client


@pytest.mark.parametrize("option", ["--out", "--json"])
@pytest.mark.parametrize("place", ["", "config.json", "beside/x"])
def test_nothing_is_written_into_a_run_folder(
    option: str,
    place: str,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = shutil.copytree(runs["a"], tmp_path / "run")
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    line = ["--run", str(folder), "--out", str(tmp_path / "o")]
    assert f"{option}: " in refused(capsys, *line, option, str(folder / place))
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before
