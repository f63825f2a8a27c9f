"""Locks between processes that end with the process that holds them."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overstory.errors import EmbeddedServerError

PAUSE_SECONDS = 0.02


@contextmanager
def locked(path: Path, deadline: float, *, busy: str) -> Iterator[int]:
    """Hold the lock of a file, created if it is missing; what is in it never matters. Gives its descriptor.

    Args:
        path: The file, which may not be a symbolic link.
        deadline: When to give up, on the clock of ``time.monotonic``.
        busy: What to say then.

    Raises:
        EmbeddedServerError: Another process holds it.
        OSError: The file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while not try_lock(descriptor):
            if time.monotonic() > deadline:
                raise EmbeddedServerError(busy, hint="Try again", path=path)
            time.sleep(PAUSE_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Take the lock of an open file if it is free."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
