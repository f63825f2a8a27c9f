"""Progress on the terminal: one bar a stage; a line a stage where nobody watches."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from overstory.cli.tables import duration

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.status import Status


STEADY_SECONDS = 3.0
STEADY_SHARE = 0.05
"""How much of a stage is done before its rate says something about the rest."""


class Bars:
    """A bar for each stage on standard error, gone when the work is done; a pulse while no stage has begun.

    Use as a context manager; call it as ``ports.Progress``.

    Args:
        lines: Whether anything is said where nobody watches.
    """

    def __init__(self, *, lines: bool = True) -> None:
        self._lines = lines
        self._tasks: dict[str, TaskID] = {}
        self._progress = _progress() if sys.stderr.isatty() else None
        self._opening: TaskID | None = None
        self._told: dict[str, int] = {}

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
            if self._lines and done >= total > 0 and self._told.get(stage) != total:
                self._told[stage] = total
                sys.stderr.write(f"{_words(stage)}: {total:,} done\n")
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
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeElapsedColumn
    from rich.text import Text

    class Remaining(TextColumn):
        def __init__(self) -> None:
            super().__init__("")

        def render(self, task: Task) -> Text:
            return Text(remaining(task.completed, task.total, task.elapsed))

    return Progress(
        TextColumn("{task.description:<20}"),
        BarColumn(bar_width=32),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        Remaining(),
        console=Console(stderr=True),
        transient=True,
    )


def remaining(done: float, total: float | None, seconds: float | None) -> str:
    """How long the rest will take, once there is enough of it to tell by; empty before and at the end."""
    if not total or not seconds or seconds < STEADY_SECONDS or done < STEADY_SHARE * total or done >= total:
        return ""
    return f"about {duration(seconds / done * (total - done))} left"


def _words(stage: str) -> str:
    return stage.replace("_", " ")
