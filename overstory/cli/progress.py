"""Progress on the terminal: one bar a stage; a line a stage where nobody watches."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Bars:
    """A bar for each stage on standard error, gone when the work is done.

    Use as a context manager; call it as ``ports.Progress``.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, TaskID] = {}
        self._progress: Progress | None = None

    def __enter__(self) -> Bars:
        """Show nothing until the first call."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bars away."""
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Move a stage's bar."""
        if not sys.stderr.isatty():
            if done >= total:
                sys.stderr.write(f"{_words(stage)}: {total:,}\n")
            return
        progress = self._started()
        if stage not in self._tasks:
            self._tasks[stage] = progress.add_task(_words(stage), total=total)
        progress.update(self._tasks[stage], completed=done, total=total)

    def _started(self) -> Progress:
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._progress = Progress(
                TextColumn("{task.description:<20}"),
                BarColumn(bar_width=32),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._progress.start()
        return self._progress


def _words(stage: str) -> str:
    return stage.replace("_", " ")
