"""Progress on the terminal: one bar a stage; a line a stage where nobody watches."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status


class Bars:
    """A bar for each stage on standard error, gone when the work is done; a pulse while no stage has begun.

    Use as a context manager; call it as ``ports.Progress``.
    """

    def __init__(self) -> None:
        self._tasks: dict[str, TaskID] = {}
        self._progress = _progress() if sys.stderr.isatty() else None
        self._opening: TaskID | None = None

    def __enter__(self) -> Bars:
        """Show that the work is being prepared: Postgres may have to start, and Dagster takes seconds to load."""
        if self._progress is not None:
            self._progress.start()
            self._opening = self._progress.add_task("starting", total=None)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the bars away."""
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Move a stage's bar."""
        if self._progress is None:
            if done >= total:
                sys.stderr.write(f"{_words(stage)}: {total:,}\n")
            return
        if self._opening is not None:
            self._progress.remove_task(self._opening)
            self._opening = None
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(_words(stage), total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)


class Notice:
    """Says on standard error what is being waited for: a spinner on a terminal, else a line.

    Use as a context manager; call it with what is waited for, or with None when that is over.
    """

    def __init__(self) -> None:
        self._spinner: Status | None = None

    def __enter__(self) -> Notice:
        """Nothing is shown yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the spinner away."""
        self(None)

    def __call__(self, what: str | None) -> None:
        """Show what is waited for from now on."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None
        if what is None:
            return
        if not sys.stderr.isatty():
            sys.stderr.write(f"{what} …\n")
            return
        from rich.console import Console

        self._spinner = Console(stderr=True).status(f"{what} …")
        self._spinner.start()


def _progress() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description:<20}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _words(stage: str) -> str:
    return stage.replace("_", " ")
