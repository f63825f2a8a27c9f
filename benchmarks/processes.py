"""Runs a command as a user would and measures the whole of it: wall time, peak memory of all its processes."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

COMMAND = str(Path(sys.executable).with_name("overstory"))
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """A finished command."""

    seconds: float
    peak_mib: float
    """Most resident memory of the command and its children together, at any moment."""
    output: str


def overstory(arguments: Sequence[str], environ: Mapping[str, str], folder: Path | None = None) -> Run:
    """Run ``overstory`` with the arguments; its standard output is kept, errors go to the terminal."""
    started = time.monotonic()
    process = subprocess.Popen(
        [COMMAND, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environ},
    )
    peak = _Peak(process.pid)
    output, _ = process.communicate()
    seconds = time.monotonic() - started
    if process.returncode:
        raise SystemExit(f"overstory {' '.join(arguments)} ended with status {process.returncode}")
    return Run(seconds, peak.stop(), output)


class _Peak(threading.Thread):
    """Samples the memory of a process and its children; the embedded Postgres is nobody's child and not counted."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._done = threading.Event()
        self._bytes = 0
        self.start()

    def run(self) -> None:
        while not self._done.wait(_PAUSE_SECONDS):
            self._bytes = max(self._bytes, self._sample())

    def _sample(self) -> int:
        total = 0
        try:
            family = [self._process, *self._process.children(recursive=True)]
        except psutil.NoSuchProcess:
            return 0
        for process in family:
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return total

    def stop(self) -> float:
        """The peak in MiB."""
        self._done.set()
        self.join()
        return self._bytes / 2**20
