"""A longer run begins with a copy of a finished shorter one, where there is one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from sfl_train.deep.config import Config
from sfl_train.runs.done import MEASURED, RESULTS, read_done
from sfl_train.runs.files import UNFINISHED, RunError, read_json

COPIED = ("config.json", "environment.json", "speed.jsonl", "checkpoint", "done")
"""What goes along with the results."""


def copy_shorter(out: Path, config: Config) -> Path | None:
    """Fill a new run folder with the longest finished run that this one begins with.

    The other run stays as it is. The copy appears as a whole or not at all.

    Args:
        out: folder named after the run's hash; its neighbours are looked at.
        config: of the run.

    Returns:
        The folder of the other run; None if there is none, or something at ``out``.

    Raises:
        RunError: if the disk refuses.
    """
    if out.exists() or config.bound_to_rounds is not None:
        return None
    kind = out.name.rpartition("-")[0]
    found = [(_rounds(one, config), one) for one in out.parent.glob(f"{kind}-*")]
    rounds, there = max(found, default=(0, out))
    if not rounds:
        return None
    beside = out.with_name(f"{UNFINISHED}{out.name}-{os.getpid()}")
    try:
        beside.mkdir()
        for name in (*COPIED, *RESULTS, MEASURED):
            if (there / name).is_dir():
                shutil.copytree(there / name, beside / name)
            elif (there / name).exists():
                shutil.copyfile(there / name, beside / name)
        with suppress(OSError):  # another process was faster: its folder is as good
            beside.rename(out)
    except (OSError, shutil.Error) as error:
        raise RunError(
            f"--out: {out}: cannot be copied from {there}: {error}"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return there


def _rounds(folder: Path, config: Config) -> int:
    """Return the rounds of a finished run that another one begins with; else 0."""
    try:
        options = read_json(folder / "config.json")
        options.pop("hash")
        there = Config(**options)
        if there.lineage != config.lineage or there.rounds >= config.rounds:
            return 0
        done = read_done(folder, there.hash)
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0
    return 0 if done is None or done.summary["diverged"] else there.rounds
