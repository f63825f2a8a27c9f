"""What every use case of a build is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec

from overstory.building.report import StageReport
from overstory.extraction import Extractor
from overstory.identity import DocumentId
from overstory.ports import Embedder, Progress, Source, Summarizer, Tokenizer
from overstory.record import Record
from overstory.settings import Dataset


def no_progress(stage: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class BuildContext:
    """A dataset with the ports that its build works through."""

    dataset: Dataset
    record: Record
    source: Source
    extractor: Extractor
    """Sent to worker processes, so it can be pickled."""
    embedder: Embedder
    summarizer: Summarizer
    tokenizer: Tokenizer
    run_id: str
    only: frozenset[DocumentId] | None = None
    """Documents to bring up to date; all of them when None. Clusters above them follow either way."""
    workers: int = 1
    """Processes for extraction, cutting and extractive summaries."""
    progress: Progress = no_progress
    clock: Callable[[], float] = lambda: 0.0
    """Seconds, monotonic."""

    @property
    def name(self) -> str:
        """The dataset's name."""
        return self.dataset.name

    def chosen(self, document: DocumentId) -> bool:
        """Whether this build is to touch the document."""
        return self.only is None or document in self.only


P = ParamSpec("P")


def timed(
    use_case: Callable[Concatenate[BuildContext, P], StageReport],
) -> Callable[Concatenate[BuildContext, P], StageReport]:
    """A use case that notes in its report how long it took."""

    @wraps(use_case)
    def measured(ctx: BuildContext, /, *args: P.args, **kwargs: P.kwargs) -> StageReport:
        started = ctx.clock()
        report = use_case(ctx, *args, **kwargs)
        report.seconds = ctx.clock() - started
        return report

    return measured
