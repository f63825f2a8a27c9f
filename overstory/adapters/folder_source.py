"""Documents in a folder of this machine."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from overstory.errors import ExtractionError, SourceError
from overstory.patterns import EVERYTHING, Patterns
from overstory.ports import ClosedFolder, FileState, SourceFile

_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""What says that nothing is at a path; any other error may pass, and what is there is no deletion meanwhile."""


class FolderSource:
    """The files below a folder that match the patterns; hidden ones and those behind links out of it are left out."""

    def __init__(self, folder: Path, include: Sequence[str], exclude: Sequence[str], max_bytes: int) -> None:
        self.folder = folder.resolve()
        self._include = Patterns(include)
        self._exclude = Patterns(exclude)
        self._max_bytes = max_bytes
        self._real: dict[str, Path] = {}
        self._closed: dict[str, ClosedFolder] = {}
        self._seen: list[str] = []
        """What the last listing met, folders with a slash at the end."""

    def check(self) -> None:
        """Make sure that there is a folder.

        Raises:
            SourceError: There is none, or nobody says what is there.
        """
        try:
            mode = self.folder.stat().st_mode
        except (FileNotFoundError, NotADirectoryError) as error:
            raise SourceError(f"The folder {self.folder} does not exist", hint="Check the path") from error
        except OSError as error:
            raise SourceError(
                f"The folder {self.folder} cannot be reached: {error.strerror}", hint="Mend its permissions"
            ) from error
        if not stat.S_ISDIR(mode):
            raise SourceError(f"{self.folder} is not a folder", hint="Name the folder that holds the documents")

    def files(self) -> list[SourceFile]:
        """All documents, by path."""
        self.check()
        self._closed, self._seen = {}, []
        self._real = dict(sorted(_named(self.folder, list(self._walk())).items()))
        return [SourceFile(name, _state(path)) for name, path in self._real.items()]

    def closed_folders(self) -> list[ClosedFolder]:
        """Folders that the last listing could not look into, by path."""
        return [self._closed[path] for path in sorted(self._closed)]

    def unused_patterns(self) -> list[str]:
        """Patterns that matched nothing in the last listing, as the settings spell them."""
        included = [pattern for pattern in self._include.unused(self._seen) if pattern != EVERYTHING]
        return list(dict.fromkeys(included + self._exclude.unused(self._seen)))

    def _walk(self) -> Iterator[Path]:
        waiting = [self.folder]
        while waiting:
            folder = waiting.pop()
            for entry in self._entries(folder):
                if entry.name.startswith(".") or entry.name == "overstory.toml":
                    continue
                path = Path(entry.path)
                name = path.relative_to(self.folder).as_posix()
                if entry.is_dir(follow_symlinks=False):
                    self._seen.append(f"{name}/")
                    # What is left out whole is not looked into: it may be large, or closed to us.
                    if not self._exclude.match_all_beneath(name):
                        waiting.append(path)
                    continue
                self._seen.append(name)
                if self._include.match(name) and not self._exclude.match(name) and self._is_document(path):
                    yield path

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """What is in a folder; nothing where it has gone meanwhile, or is closed to us, which is noted."""
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            if folder == self.folder:
                raise SourceError(
                    f"The folder {folder} cannot be listed: {reason}",
                    hint="Mend its permissions; nothing was deleted from the index",
                ) from error
            if not isinstance(error, FileNotFoundError):
                path = _spelled_out(folder.relative_to(self.folder).as_posix())
                self._closed[path] = ClosedFolder(path, reason)
            return []

    def _is_document(self, path: Path) -> bool:
        """Whether it is a file of this folder, as far as one may know: reading tells why it is closed to us."""
        try:
            is_file = stat.S_ISREG(path.stat().st_mode)
            return is_file and (not path.is_symlink() or path.resolve().is_relative_to(self.folder))
        except OSError as error:
            return error.errno not in _NOWHERE

    def read(self, path: str) -> bytes:
        """The bytes of one document."""
        real = self._real.get(path)
        if real is None:
            for folder in self._closed.values():
                if path.startswith(f"{folder.path}/"):
                    raise ExtractionError(
                        f"'{path}' cannot be read: the folder '{folder.path}' cannot be listed ({folder.reason})",
                        hint="Mend its permissions",
                    )
            raise ExtractionError(f"'{path}' is not a document of this source", hint="List the source again")
        try:
            return self._bytes(path, real)
        except OSError as error:
            hint = "The next build looks again" if error.errno in _NOWHERE else "Mend its permissions"
            raise ExtractionError(f"'{path}' cannot be read: {error.strerror}", hint=hint) from error

    def _bytes(self, path: str, real: Path) -> bytes:
        # What was a file when it was listed may be a pipe by now: opening one would wait for somebody to write.
        with os.fdopen(os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise ExtractionError(f"'{path}' is no file any more", hint="Remove it from the source")
            raw = opened.read(self._max_bytes + 1)
        if len(raw) > self._max_bytes:
            raise ExtractionError(
                f"'{path}' is larger than {self._max_bytes:,} bytes", hint="Split it, or raise max_document_bytes"
            )
        return raw


def _named(folder: Path, paths: Sequence[Path]) -> dict[str, Path]:
    """Paths by their names as valid Unicode, no two alike."""
    names = {path: path.relative_to(folder).as_posix() for path in paths}
    found = {name: path for path, name in names.items() if _spelled_out(name) == name}
    for path, name in sorted(names.items()):
        spelled = _spelled_out(name)
        if spelled == name:
            continue
        while spelled in found:
            spelled = spelled.replace("%", "%%", 1)
        found[spelled] = path
    return found


def _spelled_out(text: str) -> str:
    """A name as valid Unicode: bytes that are none (PEP 383) are spelled ``%XX``."""
    return "".join(f"%{ord(c) - 0xDC00:02X}" if 0xDC80 <= ord(c) <= 0xDCFF else c for c in text)


def _state(path: Path) -> FileState:
    try:
        found = path.stat()
    except OSError:
        return FileState(0, 0)
    return FileState(found.st_size, found.st_mtime_ns)
