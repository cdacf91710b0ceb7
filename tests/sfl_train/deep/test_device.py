"""Protects `--device`: what is not there is told in one line, before anything else."""

from __future__ import annotations

import pytest
import torch

from sfl_train.__main__ import main
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import resolve
from sfl_train.deep.device import check, prepare

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@NO_GPU
@pytest.mark.parametrize("device", ["cuda", "cuda:3"])
def test_a_missing_gpu_ends_the_command_with_one_line(device, tmp_path, capsys) -> None:
    out = tmp_path / "run"
    with pytest.raises(SystemExit) as stopped:
        main(["--device", device, "--out", str(out), "--quiet"])
    assert stopped.value.code == 2
    shown = capsys.readouterr()
    assert len(shown.err.strip().splitlines()) == 1
    assert f"--device: {device} is not there" in shown.err and not shown.out
    assert not out.exists()


@pytest.mark.parametrize("device", ["gpu", "mps", "cuda:x", "cpu:cpu", ""])
def test_an_unknown_device_is_refused(device) -> None:
    with pytest.raises(ValueError, match="--device: expected cpu, cuda or cuda:N"):
        check(device)


@NO_GPU
def test_a_missing_gpu_is_refused_where_a_run_is_built() -> None:
    with pytest.raises(ValueError, match="sees no GPU"):
        assemble(resolve("paper", {"device": "cuda"}))


def test_the_cpu_is_left_as_it_is(monkeypatch) -> None:
    monkeypatch.setattr(torch, "use_deterministic_algorithms", pytest.fail)
    before = torch.get_float32_matmul_precision()
    prepare("cpu", "tf32", True)
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_gpu_computes_as_asked(precision, deterministic, monkeypatch) -> None:
    """The switches themselves; no GPU is used."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":16:8")
    cudnn, seen = torch.backends.cudnn, []
    before = torch.get_float32_matmul_precision(), cudnn.allow_tf32, cudnn.benchmark
    monkeypatch.setattr(torch, "use_deterministic_algorithms", seen.append)
    try:
        prepare("cuda", precision, deterministic)
        assert cudnn.allow_tf32 == (precision == "tf32")
        assert cudnn.benchmark == (not deterministic)
        wanted = "high" if precision == "tf32" else "highest"
        assert torch.get_float32_matmul_precision() == wanted
        assert seen == [deterministic]
    finally:
        torch.set_float32_matmul_precision(before[0])
        cudnn.allow_tf32, cudnn.benchmark = before[1:]


@GPU
def test_deterministic_runs_agree_to_the_last_bit() -> None:
    config = resolve("paper", {
        "device": "cuda", "deterministic": True, "model": "resnet18", "width": 0.25,
        "dataset": "synthetic:10x3x32:400", "augmentation": "crop-flip", "clients": 2,
    })  # fmt: skip
    found = []
    for _ in range(2):
        assembly = assemble(config)
        for t in range(2):
            assembly.run.round(t, assembly.rates(t))
        found.append(assembly.run.state.parameters)
    assert torch.equal(*found)
