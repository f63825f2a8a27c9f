"""The folder for what root's servers need outside of a home."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from overstory.adapters.embedded_postgres.locking import locked

STATE = Path("/var/lib/overstory")
"""Folders in it belong to the users that the servers run as."""

PATIENCE_SECONDS = 60


def make_state() -> None:
    """Create the folder and those in it that are nobody's alone."""
    for folder in (STATE, STATE / "sockets", STATE / "programs"):
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            # Whatever the umask: others have to pass through, and need not look around.
            folder.chmod(0o711)


@contextmanager
def state_locked() -> Iterator[None]:
    """Keep other processes from changing the folder or the system's users; homes have locks of their own."""
    make_state()
    busy = f"Another process is still at work in {STATE}"
    with locked(STATE / "state.lock", time.monotonic() + PATIENCE_SECONDS, busy=busy):
        yield
