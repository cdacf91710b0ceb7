"""The device of a run: whether it is there, and how its products are computed.

PyTorch lets convolutions on GPUs round their factors to TF32 unless told otherwise, so
"fp32" is told too. By default cuDNN tries its algorithms and keeps the fastest, which
may sum in another order in the next run; a deterministic run forgoes that and refuses
operators without a deterministic form.
"""

from __future__ import annotations

import os

import torch


def check(device: str) -> torch.device:
    """Return a device after a look whether it can be used.

    Args:
        device: "cpu", "cuda" or "cuda:N".

    Returns:
        The device.

    Raises:
        ValueError: if it is none of these or not there.
    """
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    if found is None or found.type not in {"cpu", "cuda"}:
        raise ValueError(f"--device: expected cpu, cuda or cuda:N, got {device!r}")
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            seen = f"{count} GPUs" if count else "no GPU"
            raise ValueError(
                f"--device: {device} is not there, PyTorch {torch.__version__} sees "
                f"{seen}; use --device cpu"
            )
    return found


def prepare(device: str, precision: str, deterministic: bool) -> None:
    """Set how a GPU computes; the CPU needs no setting and is always deterministic.

    Args:
        device: of the run.
        precision: "fp32", "tf32" or "bf16".
        deterministic: the same run gives the same bits on the same machine.

    Raises:
        ValueError: if the device is not there.
    """
    if check(device).type != "cuda":
        return
    tf32 = precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = not deterministic
    if deterministic:
        # cuBLAS reads it when it is first used.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(deterministic)
