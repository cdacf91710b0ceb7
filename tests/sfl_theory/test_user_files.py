"""Protects the machine from what is no ordinary file, or too much of one."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sfl_theory.user_files import FileError, ordinary_size, read_bytes, read_text


def extraordinary(folder: Path) -> dict[str, tuple[Path, str]]:
    """Return paths that no command may read, each with a word of the refusal."""
    pipe, link, plain = folder / "pipe", folder / "link", folder / "plain"
    (folder / "loop").symlink_to("loop")
    (folder / "astray").symlink_to("none")
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    plain.write_text("x")
    with socket.socket(socket.AF_UNIX) as held:
        place = os.getcwd()
        os.chdir(folder)  # a socket's path is at most 107 bytes long
        try:
            held.bind("socket")
        finally:
            os.chdir(place)
    return {
        "device": (Path("/dev/zero"), "a device"),
        "device by a link": (link, "a device"),
        "pipe": (pipe, "a pipe"),
        "socket": (folder / "socket", "a socket"),
        "folder": (folder, "a folder"),
        "nothing": (folder / "none", "No such file"),
        "below a file": (plain / "x", "Not a directory"),
        "link to itself": (folder / "loop", "symbolic links"),
        "link to nothing": (folder / "astray", "No such file"),
        "long name": (folder / ("x" * 300), "too long"),
        "null": (folder / "a\0b", "not a path"),
    }


KINDS = (
    "device", "device by a link", "pipe", "socket", "folder", "nothing",
    "below a file", "link to itself", "link to nothing", "long name", "null",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read", [read_bytes, read_text, ordinary_size])
def test_only_ordinary_files_are_read(read, kind, tmp_path) -> None:
    path, words = extraordinary(tmp_path)[kind]
    with pytest.raises(FileError, match=words) as error:
        read(path)
    assert "\n" not in str(error.value)


def test_a_limit_is_kept_even_where_the_size_is_not_told(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, 100) == b"x" * 100
    with pytest.raises(FileError, match="larger than"):
        read_bytes(path, 99)
    # Files of /proc have a size of 0 and a content.
    assert len(read_bytes("/proc/self/status")) > 100
    with pytest.raises(FileError, match="larger than"):
        read_bytes("/proc/self/status", 100)


def test_a_text_is_utf8(tmp_path) -> None:
    path = tmp_path / "file"
    path.write_bytes("ü".encode())
    assert read_text(path) == "ü"
    path.write_bytes(b"\xff")
    with pytest.raises(FileError, match="not a text"):
        read_text(path)
