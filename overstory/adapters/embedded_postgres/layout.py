"""Where the files of one embedded server lie.

In the home: ``postgres/``. Where the server's user cannot reach the home (root's own folders), ``postgres`` is
a symbolic link into ``/var/lib/overstory``, so that no folder above the home needs another mode.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from overstory.adapters.embedded_postgres.account import Account
from overstory.adapters.embedded_postgres.processes import end_servers
from overstory.adapters.embedded_postgres.state import STATE, make_state
from overstory.errors import EmbeddedServerError
from overstory.home import log_folder

logger = logging.getLogger(__name__)

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_BYTES = 103
"""Longest path of a socket everywhere: ``sun_path`` has 108 bytes on Linux, 104 on macOS, the last one zero."""

PLAIN = re.compile(r"[A-Za-z0-9/._+-]+")
"""Paths that mean the same to a shell, in a URL and in a list separated by commas, as libpq reads its host."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one server."""

    home: Path
    folder: Path
    """Holds everything; symbolic links resolved."""

    @property
    def data(self) -> Path:
        """The data folder of Postgres."""
        return self.folder / "data"

    @property
    def unfinished(self) -> Path:
        """A data folder in the making, renamed to ``data`` when it is complete."""
        return self.folder / "data.new"

    @property
    def log(self) -> Path:
        """What the server has to say."""
        return log_folder(self.home) / "postgres.log"

    @property
    def socket(self) -> Path:
        """The folder of the socket: in ``folder`` unless that path is too long or has a character with a meaning."""
        near = self.folder / "socket"
        if len(os.fsencode(near / SOCKET_NAME)) <= SOCKET_PATH_BYTES and PLAIN.fullmatch(str(near)):
            return near
        if os.geteuid() == 0:
            return STATE / "sockets" / path_hash(self.folder)
        return Path(f"/tmp/overstory-{os.geteuid()}") / path_hash(self.folder)  # noqa: S108 - checked by make_private

    def share(self, descriptor: int) -> None:
        """Give an open file of root's to the owner of the home, who has to be able to go on with it."""
        if os.geteuid() == 0:
            owner = self.home.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def path_hash(path: Path) -> str:
    """16 hexadecimal digits that name ``path``."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]


def lock_path(home: Path) -> Path:
    """The file whose lock says that somebody starts or stops the server; what is in it never matters."""
    return home / "postgres.lock"


def find_layout(home: Path) -> Layout | None:
    """The layout of the server of ``home``, or None if it never had one.

    Raises:
        EmbeddedServerError: Something else is in its place.
        OSError: It cannot be looked at.
    """
    link = home / "postgres"
    try:
        link.lstat()
        folder = link.resolve()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if link.is_symlink() and folder.parent != STATE.resolve():
        raise EmbeddedServerError(
            f"{link} is a symbolic link to {folder}, which Overstory did not make", hint="Remove the link"
        )
    if folder.exists() and not folder.is_dir():
        raise EmbeddedServerError(f"{link} is not a folder", hint="Move it away")
    return Layout(home, folder)


def make_layout(home: Path, account: Account) -> Layout:
    """The layout of the server of ``home``, its folder created where ``account`` reaches it.

    Raises:
        EmbeddedServerError: As ``find_layout``.
        OSError: A folder cannot be created.
    """
    if (layout := find_layout(home)) and layout.folder.is_dir():
        return layout
    link = home / "postgres"
    if link.is_symlink():
        link.unlink()  # What it pointed to is gone.
    make_private(link, account)
    if not account.reaches(link):
        link.rmdir()
        link.symlink_to(_make_state_folder(home, account))
    return Layout(home, link.resolve())


def _make_state_folder(home: Path, account: Account) -> Path:
    folder = STATE / path_hash(home.resolve())
    if (folder / "data").exists():
        # Its home was deleted and made anew: nobody asked for the old index, and nobody asked to destroy it.
        end_servers(folder / "data")
        spare = next(p for n in range(1, 10_000) if not (p := folder.with_suffix(f".{n}")).exists())
        folder.rename(spare)
        logger.warning("The data of a deleted home lies in %s", spare)
    make_state()
    make_private(folder, account)
    return folder


def make_private(folder: Path, account: Account) -> None:
    """Create ``folder`` for ``account`` alone, or make sure that it is such a folder.

    Raises:
        EmbeddedServerError: It is a link, no folder, belongs to someone else or is open to others.
        OSError: It cannot be created.
    """
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        pass
    else:
        account.give(folder)
    found = folder.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == account.uid and not stat.S_IMODE(found.st_mode) & 0o077:
        return
    raise EmbeddedServerError(
        f"{folder} is not a folder that user {account.uid} alone may enter, so no socket or data can lie in it",
        hint="Move it away",
        path=folder,
    )
