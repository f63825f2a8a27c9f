"""Documents in a folder of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from overstory.errors import ExtractionError, SourceError
from overstory.ports import SourceFile


class FolderSource:
    """The files below a folder that match the patterns; hidden ones and those behind links out of it are left out."""

    def __init__(self, folder: Path, include: Sequence[str], exclude: Sequence[str], max_bytes: int) -> None:
        self.folder = folder.resolve()
        self._include = tuple(include)
        self._exclude = tuple(exclude)
        self._max_bytes = max_bytes
        self._real: dict[str, Path] = {}

    def files(self) -> list[SourceFile]:
        """All documents, by path."""
        if not self.folder.exists():
            raise SourceError(f"The folder {self.folder} does not exist", hint="Check the path")
        if not self.folder.is_dir():
            raise SourceError(f"{self.folder} is not a folder", hint="Name the folder that holds the documents")
        found = {_readable(path.relative_to(self.folder)): path for path in self._walk()}
        self._real = dict(sorted(found.items()))
        return [SourceFile(name, _size(path)) for name, path in self._real.items()]

    def _walk(self) -> Iterator[Path]:
        def fail(error: OSError) -> None:
            raise SourceError(
                f"The folder {error.filename} cannot be listed: {error.strerror}",
                hint="Mend its permissions; nothing was deleted from the index",
            ) from error

        for root, folders, names in os.walk(self.folder, onerror=fail):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in names:
                path = Path(root, name)
                if not name.startswith(".") and name != "overstory.toml" and self._wanted(path):
                    yield path

    def _wanted(self, path: Path) -> bool:
        relative = PurePosixPath(path.relative_to(self.folder).as_posix())
        matched = any(_matches(relative, pattern) for pattern in self._include)
        if not matched or any(_matches(relative, pattern) for pattern in self._exclude):
            return False
        if path.is_symlink():
            return path.is_file() and path.resolve().is_relative_to(self.folder)
        return path.is_file()

    def read(self, path: str) -> bytes:
        """The bytes of one document."""
        real = self._real.get(path)
        if real is None:
            raise ExtractionError(f"'{path}' is not a document of this source", hint="List the source again")
        try:
            if real.stat().st_size > self._max_bytes:
                raise ExtractionError(
                    f"'{path}' is larger than {self._max_bytes:,} bytes", hint="Split it, or raise max_document_bytes"
                )
            return real.read_bytes()
        except OSError as error:
            raise ExtractionError(f"'{path}' cannot be read: {error.strerror}", hint="Mend its permissions") from error


def _matches(path: PurePosixPath, pattern: str) -> bool:
    if pattern in ("**", "**/*"):
        return True
    if pattern.startswith("**/"):
        return path.match(pattern[3:])
    return path.match(pattern)


def _readable(relative: Path) -> str:
    """A path as valid Unicode: bytes that are none (PEP 383) are spelled ``%XX``."""
    text = relative.as_posix()
    return "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
