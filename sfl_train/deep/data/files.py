"""The files of a data set: found below ``--data-root``, checked, never trusted.

A data set lies in a folder, or in the archive it is published in. An archive is read
where it lies, after its checksum was verified; nothing is unpacked to the disk, so no
path inside an archive is ever written to.
"""

from __future__ import annotations

import hashlib
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sfl_theory.user_files import ARRAYS, FileError, read_bytes

LARGEST = 4 * ARRAYS
"""Bytes of the largest file of a data set."""


class DataError(ValueError):
    """Files of a data set that cannot be used; the message names the file."""

    def __init__(self, message: str) -> None:
        """Keep the message to one line, whatever the error it reports says."""
        super().__init__(" ".join(message.splitlines()))


@dataclass(frozen=True)
class Layout:
    """One of the ways in which a data set lies on a disk.

    Attributes:
        folder: that holds it, relative to the root.
        origin: where it can be had.
        archive: its published archive (``.tar.gz`` or ``.zip``), which contains the
            folder; empty: none is read.
        md5: checksum of the archive.
        digests: MD5 of files in the folder, as far as they are known.
    """

    folder: str
    origin: str
    archive: str = ""
    md5: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def advice(self) -> str:
        """Where to get it, with the checksum."""
        return f"get {self.origin}" + (f" (md5 {self.md5})" if self.md5 else "")


def find(name: str, root: Path, layouts: Sequence[Layout]) -> tuple[Layout, Files]:
    """Find a data set: first the folders in the given order, then the archives.

    Args:
        name: of the data set.
        root: folder of all data sets.
        layouts: in which it may lie.

    Returns:
        The layout found and its files.

    Raises:
        DataError: if there is none, or an archive has another checksum.
    """
    for layout in layouts:
        if (root / layout.folder).is_dir():
            return layout, _Folder(layout, root / layout.folder)
    for layout in layouts:
        place = root / layout.archive
        if layout.archive and place.is_file():
            _check(_file_md5(place), layout.md5, str(place), layout.advice)
            kind = _Zip if layout.archive.endswith(".zip") else _Tar
            return layout, kind(layout, place)
    places = [f"{layout.folder}/" for layout in layouts]
    places += [layout.archive for layout in layouts if layout.archive]
    raise DataError(
        f"{name}: found no {' or '.join(places)} in {root} (--data-root); "
        f"{layouts[0].advice}"
    )


class Files(ABC):
    """Files of a data set by their path below the layout's folder."""

    def __init__(self, layout: Layout, place: Path) -> None:
        """Open the folder or archive at ``place``."""
        self.layout = layout
        self.place = place

    def read(self, name: str) -> bytes:
        """Return the content of a file whose checksum is right, if it is known.

        Args:
            name: relative to the layout's folder, with slashes.

        Returns:
            All bytes.

        Raises:
            DataError: if the file is missing, unreadable, truncated or changed.
        """
        where, advice = self.where(name), self.layout.advice
        try:
            content = self._content(name)
        except FileError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise DataError(f"{where}: missing; {advice}") from error
            raise DataError(f"{error}; {advice}") from error
        except KeyError as error:
            raise DataError(f"{where}: missing; {advice}") from error
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise DataError(f"{where}: cannot be read ({error}); {advice}") from error
        if name in self.layout.digests:
            found = hashlib.md5(content, usedforsecurity=False).hexdigest()
            _check(found, self.layout.digests[name], where, advice)
        return content

    @abstractmethod
    def where(self, name: str) -> str:
        """Return what to call a file in a message."""

    @abstractmethod
    def names(self) -> list[str]:
        """Return the paths of all files, sorted."""

    @abstractmethod
    def _content(self, name: str) -> bytes: ...


class _Folder(Files):
    def where(self, name: str) -> str:
        return str(self.place / name)

    def names(self) -> list[str]:
        paths = (path for path in self.place.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.place).as_posix() for path in paths)

    def _content(self, name: str) -> bytes:
        return read_bytes(self.place / name, LARGEST)


class _Archived(Files):
    def where(self, name: str) -> str:
        return f"{self.place}: {self.layout.folder}/{name}"


class _Tar(_Archived):
    """A compressed archive has no random access: it is read once, in one pass."""

    def __init__(self, layout: Layout, place: Path) -> None:
        super().__init__(layout, place)
        prefix = layout.folder + "/"
        self._members: dict[str, bytes] = {}
        try:
            with tarfile.open(place, "r:gz") as archive:
                for member in archive:
                    stream = archive.extractfile(member) if member.isreg() else None
                    if stream is not None and member.name.startswith(prefix):
                        name = member.name.removeprefix(prefix)
                        self._members[name] = stream.read()
        except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
            raise DataError(f"{place}: cannot be read ({error})") from error

    def names(self) -> list[str]:
        return sorted(self._members)

    def _content(self, name: str) -> bytes:
        return self._members[name]


class _Zip(_Archived):
    def __init__(self, layout: Layout, place: Path) -> None:
        super().__init__(layout, place)
        try:
            self._archive = zipfile.ZipFile(place)
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(f"{place}: cannot be read ({error})") from error

    def names(self) -> list[str]:
        prefix = self.layout.folder + "/"
        return sorted(
            info.filename.removeprefix(prefix)
            for info in self._archive.infolist()
            if info.filename.startswith(prefix) and not info.is_dir()
        )

    def _content(self, name: str) -> bytes:
        return self._archive.read(f"{self.layout.folder}/{name}")


def _file_md5(place: Path) -> str:
    try:
        with place.open("rb") as stream:
            # What was published is MD5; it finds damage, not an adversary.
            return hashlib.file_digest(
                stream, lambda: hashlib.md5(usedforsecurity=False)
            ).hexdigest()
    except OSError as error:
        raise DataError(f"{place}: cannot be read ({error.strerror})") from error


def _check(found: str, expected: str, where: str, advice: str) -> None:
    if found != expected:
        raise DataError(
            f"{where}: wrong checksum: expected md5 {expected}, got {found}; the file "
            f"is truncated or changed: {advice}"
        )
