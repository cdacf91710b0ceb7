"""``bounds.worst_case --proof FILE``: a file that replays, or a line that says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bounds.worst_case import PASTS, main
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.replay import replay

PROBLEM = ["--S", "1", "--mu", "0.1", "--heterogeneity", "1", "--quiet"]
STEP = ["--tau", "1", "--rounds", "1", "--eta-client", "0.5", "--metric", "distance"]


def test_a_proof_is_written_and_read_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, record = tmp_path / "proof.json", tmp_path / "record.json"
    files = ["--proof", str(proof), "--json", str(record)]
    assert main(["--algorithm", "fedavg", *STEP, *PROBLEM, *files]) == 0
    (claim,) = replay(proof.read_text(encoding="utf-8"))
    assert claim.proved
    assert str(claim) in capsys.readouterr().out
    found = json.loads(record.read_text(encoding="utf-8"))
    assert (found["status"], found["relaxed"]) == ("proved", False)
    assert found["upper"] == pytest.approx(0.9025, rel=1e-6)


def test_visits_one_after_another_are_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "proof.json"
    asked = ["--algorithm", "sfl-v2", "--clients", "2", "--eta-server", "0.25"]
    assert main([*asked, *STEP, *PROBLEM, "--proof", str(proof)]) == 0
    (claim,) = replay(proof.read_text(encoding="utf-8"))
    assert claim.proved and claim.sides is not None
    printed = capsys.readouterr().out
    assert str(claim) in printed
    for line in (
        "assumes (2 - N) >= 0",
        "assumes for all i3 < 1: for all i2 < 1: for all i1 < 1: "
        "(before(#0,i1;#1,i2;i3) - 1) >= 0",
        "where #p is client p = 0, 1, ..., the last one beyond",
    ):
        assert line in printed


def test_who_takes_part_is_assumed_in_the_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "proof.json"
    asked = ["--algorithm", "fedavg", "--clients", "2", "--participation", "0.5"]
    assert main([*asked, *STEP, *PROBLEM, "--proof", str(proof)]) == 0
    (claim,) = replay(proof.read_text(encoding="utf-8"))
    assert claim.proved and claim.sides is not None
    printed = capsys.readouterr().out
    for line in (
        "assumes clients take part independently, n with probability q[n]",
        "assumes for all n1: ((1/q[n1]-1) - 1) >= 0",
        "assumes for all n1: (1 - (1/q[n1]-1)) >= 0",
        "SFL-v1(updates; client: 1 steps at 1/2; server: 1 steps at 1/2)",
    ):
        assert line in printed


def test_the_mean_of_those_present_is_named_in_the_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "proof.json"
    asked = ["--algorithm", "minibatch-sfl", "--clients", "2", "--participation", "0.5"]
    asked += ["--eta-server", "0.25"]
    assert main([*asked, *STEP, *PROBLEM, "--proof", str(proof)]) == 0
    text = proof.read_text(encoding="utf-8")
    (claim,) = replay(text)
    assert claim.proved and claim.sides is not None
    means = "updates, the server's mean of those present, weighted by a/q"
    assert f"SFL-minibatch({means}; client: 1" in capsys.readouterr().out
    with pytest.raises(Rejected):  # it is no proof of the sum over those present
        replay(text.replace(means, "updates"))


def test_noise_of_those_who_take_part_is_proved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "proof.json"
    asked = ["--algorithm", "sfl-v1", "--clients", "2", "--participation", "0.5"]
    asked += ["--eta-server", "0.25", "--noise", "1"]
    assert main([*asked, *STEP, *PROBLEM, "--proof", str(proof)]) == 0
    (claim,) = replay(proof.read_text(encoding="utf-8"))
    assert claim.proved and claim.sides is not None
    printed = capsys.readouterr().out
    for line in (
        "assumes stochastic gradients are unbiased",
        "assumes samples are independent across clients",
        "assumes for all n1: ||xi(n1, round, step)||^2 <= 1 in every round",
    ):
        assert line in printed


def test_noise_of_several_rounds_is_proved_and_said_to_be_relaxed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("proof.json", "proved.json", "whole.json")]
    proof, record, whole = map(str, files)
    asked = ["--algorithm", "fedavg", "--clients", "2", "--participation", "0.5,1"]
    asked += [*STEP, "--rounds", "2", "--noise", "1", *PROBLEM]
    assert main([*asked, "--proof", proof, "--json", record]) == 0
    (claim,) = replay(files[0].read_text(encoding="utf-8"))
    assert claim.proved and claim.sides is not None
    printed = capsys.readouterr().out
    assert PASTS in printed
    assert main([*asked, "--certify", "--json", whole]) == 0
    assert PASTS not in capsys.readouterr().out
    proved, computed = (json.loads(one.read_text()) for one in files[1:])
    assert (proved["status"], proved["relaxed"]) == ("proved", True)
    assert (computed["status"], computed["relaxed"]) == ("computed", False)
    assert computed["value"] <= proved["upper"] * (1 + 1e-6)


@pytest.mark.parametrize("algorithm", ["sfl-v2", "minibatch-sfl"])
def test_noise_of_those_who_meet_is_proved(algorithm: str, tmp_path: Path) -> None:
    proof, asked = tmp_path / "proof.json", ["--algorithm", algorithm, "--clients", "2"]
    drawn = ["--participation", "0.5", "--noise", "1", "--proof", str(proof)]
    assert main([*asked, *STEP, *PROBLEM, *drawn]) == 0
    (claim,) = replay(proof.read_text(encoding="utf-8"))
    assert claim.proved and claim.sides is not None


def test_without_a_proof_nothing_reads_as_proved(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    main(["--algorithm", "fedavg", *STEP, *PROBLEM, "--json", str(record)])
    assert json.loads(record.read_text(encoding="utf-8"))["status"] == "computed"


def test_what_has_no_proof_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof = tmp_path / "proof.json"
    asked = ["--algorithm", "fedavg", "--clients", "2", "--noise", "1", "--two-point"]
    with pytest.raises(SystemExit, match="2"):
        main([*asked, *STEP, *PROBLEM, "--proof", str(proof)])
    assert "noise of two values" in capsys.readouterr().err
    assert not proof.exists()
