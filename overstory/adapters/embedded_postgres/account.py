"""The system user that the server runs as: ours, or as root another one, since Postgres refuses root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from overstory.adapters.embedded_postgres.state import state_locked
from overstory.errors import EmbeddedServerError

USER_NAME = "overstory"
NO_ACCOUNT_HINT = (
    f"Create a system user named {USER_NAME}, run Overstory as a user other than root, "
    "or set OVERSTORY_DATABASE_URL to a server of yours"
)

CREATE_USER = (
    ("useradd", "-r", "-U", "-M", "-d", "/nonexistent", "-s", "/usr/sbin/nologin", USER_NAME),
    # BusyBox has only this one.
    ("adduser", "-S", "-D", "-H", "-h", "/nonexistent", "-s", "/sbin/nologin", USER_NAME),
)


ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC"}
"""Nothing of the caller's: PGDATA, PGOPTIONS and the like would reach the server."""


@dataclass(frozen=True, slots=True)
class Account:
    """A system user, by number."""

    uid: int
    gid: int
    foreign: bool
    """Another user than the one this process runs as."""

    def run(
        self, command: Sequence[str | Path], *, stderr: BinaryIO | None = None, keep_open: tuple[int, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run a program of ours as this user, in a session of its own.

        Args:
            command: The program and its arguments.
            stderr: Where its errors go; captured by default.
            keep_open: Descriptors that it inherits.

        Raises:
            OSError: It cannot be run, or not as this user.
        """
        return subprocess.run(  # noqa: S603 - the programs are ours, no shell reads the arguments
            [str(part) for part in command],
            user=self.uid if self.foreign else None,
            group=self.gid if self.foreign else None,
            extra_groups=[] if self.foreign else None,
            env=ENVIRONMENT,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr or subprocess.PIPE,
            pass_fds=keep_open,
            start_new_session=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )

    def give(self, path: Path) -> None:
        """Make this user the owner of ``path``; a symbolic link is not followed."""
        if self.foreign:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def reaches(self, folder: Path) -> bool:
        """Whether this user may enter ``folder`` through all folders above it."""
        if not self.foreign:
            return True
        # The kernel decides, not our reading of mode bits: access lists and mounts count too.
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", folder]).returncode == 0


def server_account(home: Path) -> Account:
    """The user for the server of ``home``: this process's; as root the owner of ``home``, else one of our own.

    Raises:
        EmbeddedServerError: This process is root and no other user can be created.
    """
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), foreign=False)
    owner = home.stat()
    if owner.st_uid != 0 and _known(owner.st_uid):
        return Account(owner.st_uid, owner.st_gid, foreign=True)
    entry = _find_user() or _create_user()
    return Account(entry.pw_uid, entry.pw_gid, foreign=True)


def _known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _find_user() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(USER_NAME)
    except KeyError:
        return None


def _create_user() -> pwd.struct_passwd:
    with state_locked():
        return _find_user() or _create_user_locked()


def _create_user_locked() -> pwd.struct_passwd:
    reason = "neither useradd nor adduser is installed"
    for program, *arguments in CREATE_USER:
        if (path := shutil.which(program)) is None:
            continue
        done = Account(os.geteuid(), os.getegid(), foreign=False).run([path, *arguments])
        if entry := _find_user():
            return entry
        reason = (done.stderr.strip() or f"{program} failed").splitlines()[-1]
    raise EmbeddedServerError(
        f"Postgres refuses to run as root, and no user can be created for it: {reason}", hint=NO_ACCOUNT_HINT
    )
