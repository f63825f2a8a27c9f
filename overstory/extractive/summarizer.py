"""The extractive summarizer behind the port of all summarizers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from overstory.extractive.summarizing import VERSION, summarize
from overstory.identity import recipe_hash
from overstory.nodes import NodeKind
from overstory.parallel import map_batches
from overstory.ports import StoreOutcomes, SummaryOutcome, SummaryRequest, Tokenizer

MakeTokenizer = Callable[[], Tokenizer]

BATCH_OUTCOMES = 64
"""Outcomes that are stored at once: a transaction each costs more than a summary."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What a worker process needs for one summary."""

    request: SummaryRequest
    make_tokenizer: MakeTokenizer


class ExtractiveSummarizer:
    """Makes summaries of whole statements of their children; free, private and deterministic.

    Args:
        make_tokenizer: Gives the tokenizer that lengths are counted by: a class or a function of a module,
            since it is sent to worker processes.
        workers: Processes for large builds; 1 for none beside this one.
    """

    name = "extractive"
    paid = False
    concurrency = 1

    def __init__(self, make_tokenizer: MakeTokenizer, *, workers: int = 1) -> None:
        self._make_tokenizer = make_tokenizer
        self._workers = workers

    def recipe_hash(self, kind: NodeKind) -> str:
        """Changes with the version of the method, the tokenizer and the kind."""
        return recipe_hash(self.name, VERSION, f"{_tokenizer(self._make_tokenizer).name} {kind}")

    def prompt_tokens(self, request: SummaryRequest) -> tuple[int, int]:
        """(0, 0): nothing is asked of a model."""
        del request
        return (0, 0)

    def summarize_many(self, requests: Iterable[SummaryRequest], store: StoreOutcomes) -> None:
        """Summarize each request and hand the outcomes to ``store``, in order, many at once."""
        jobs = (_Job(request, self._make_tokenizer) for request in requests)
        for batch in _batches(map_batches(_outcome, jobs, workers=self._workers)):
            store(batch)


def _batches(outcomes: Iterator[SummaryOutcome]) -> Iterator[list[SummaryOutcome]]:
    batch: list[SummaryOutcome] = []
    for outcome in outcomes:
        batch.append(outcome)
        if len(batch) == BATCH_OUTCOMES:
            yield batch
            batch = []
    if batch:
        yield batch


@lru_cache(maxsize=4)
def _tokenizer(make: MakeTokenizer) -> Tokenizer:
    return make()


def _outcome(job: _Job) -> SummaryOutcome:
    """The summary of one request, or why there is none."""
    request = job.request
    text = summarize(
        request.parts,
        request.target_tokens,
        request.max_tokens,
        _tokenizer(job.make_tokenizer).count,
        separate=request.kind is NodeKind.CLUSTER_SUMMARY,
    )
    if text:
        return SummaryOutcome(request.key, text)
    empty = not any(char.isalnum() for part in request.parts for char in part)
    reason = "the children hold no words" if empty else f"no statement fits into {request.max_tokens} tokens"
    return SummaryOutcome(request.key, "", reason)
