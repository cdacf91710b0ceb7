"""Where a run was made: versions and machine."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib import metadata
from typing import Any

import torch


def environment(device: str) -> dict[str, Any]:
    """Return versions, threads and processor.

    Args:
        device: of the run.

    Returns:
        A record for ``environment.json``.
    """
    record: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": dict(_packages()),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": device,
    }
    if device.startswith("cuda") and torch.cuda.is_available():
        record["gpu"] = torch.cuda.get_device_name(device)
        record["cuda"] = torch.version.cuda
    return record


@cache
def _packages() -> dict[str, str]:
    names = ("torch", "numpy", "scikit-learn", "safetensors")
    return {name: metadata.version(name) for name in names}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
