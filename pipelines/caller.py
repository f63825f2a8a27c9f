"""Who runs a job in this process, and wants more than Dagster hands back: reports, progress and the error itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overstory.building.report import StageReport
    from overstory.errors import OverstoryError
    from overstory.ports import Progress
    from overstory.record import Hold


@dataclass(slots=True)
class Caller:
    """Collects what a run in this process did."""

    progress: Progress
    hold: Hold
    """Of the run: it has taken the dataset before the run began."""
    reports: list[StageReport] = field(default_factory=list)
    error: OverstoryError | None = None
    """Why the run failed."""


_caller: ContextVar[Caller | None] = ContextVar("overstory_caller", default=None)


def caller() -> Caller | None:
    """The caller of the run in this process; None where Dagster started it."""
    return _caller.get()


@contextmanager
def calling(new: Caller) -> Iterator[Caller]:
    """Be the caller of runs in the block."""
    token = _caller.set(new)
    try:
        yield new
    finally:
        _caller.reset(token)
