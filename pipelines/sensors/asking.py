"""What both sensors share: what became of the run that was asked for, the request itself, and the cursor."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.storage.tags import RUN_KEY_TAG

from overstory.asking import Asked, Outcome, decide
from overstory.errors import OverstoryError
from pipelines.deployment import read_settings
from pipelines.jobs import ALL_SHARDS, CAUSE_TAG, DATASET_TAG
from pipelines.lost_runs import sorted_out

if TYPE_CHECKING:
    from overstory.building.context import BuildContext
    from overstory.building.differences import Differences

CHANGES_TAG = "overstory/changes"
DOCUMENTS_TAG = "overstory/documents"
SHOWN_DOCUMENTS = 20
"""Ids on a run's tag; more are counted."""

OUTCOMES = {
    dg.DagsterRunStatus.SUCCESS: Outcome.SUCCEEDED,
    dg.DagsterRunStatus.FAILURE: Outcome.FAILED,
    dg.DagsterRunStatus.CANCELED: Outcome.CANCELED,
}


@dataclass(frozen=True, slots=True)
class Memory:
    """What a sensor keeps between its ticks, as its cursor."""

    asked: Asked
    full_scan: float
    """When all bytes were read last, in seconds since 1970; 0 for never."""

    @classmethod
    def read(cls, cursor: str | None, now: float) -> Memory:
        """The memory that a cursor holds; a new one where there is none or it cannot be read."""
        try:
            found = json.loads(cursor or "")
            return cls(Asked(**found["asked"]), float(found["full_scan"]))
        except (ValueError, TypeError, KeyError):
            # Costs one full scan; another series, since keys of the lost one must not come again.
            return cls(Asked(series=f"{now:.0f}"), 0.0)

    def written(self) -> str:
        """The cursor that holds it."""
        return json.dumps({"asked": asdict(self.asked), "full_scan": self.full_scan})


@contextmanager
def opened(dataset: str) -> Iterator[BuildContext]:
    """The dataset, to be read only."""
    from overstory import api

    settings = read_settings()
    record = api.open_record(api.home_of(settings))
    try:
        yield api.open_dataset(settings.dataset(dataset), record)
    finally:
        record.close()


def busy(instance: dg.DagsterInstance, ctx: BuildContext) -> str | None:
    """The id of a run of the dataset that waits in the queue or is at work; lost ones are no reason to wait."""
    queued = dg.RunsFilter(tags={DATASET_TAG: ctx.name}, statuses=[dg.DagsterRunStatus.QUEUED])
    waiting = instance.get_runs(queued, limit=1)
    _, alive = sorted_out(instance, ctx.record.living, ctx.name, datetime.now(UTC))
    return next((run.run_id for run in [*waiting, *alive]), None)


def tick(
    context: dg.SensorEvaluationContext,
    dataset: str,
    cause: str,
    memory: Memory,
    now: float,
    find: Callable[[BuildContext], Differences],
) -> dg.SensorResult | dg.SkipReason:
    """A request for a run, or why there is none.

    Args:
        context: Of the tick.
        dataset: To be looked at.
        cause: Of the run, kept as its tag.
        memory: To be kept where the tick has looked.
        now: Seconds since 1970.
        find: What differs.
    """
    try:
        with opened(dataset) as ctx:
            if (run_id := busy(context.instance, ctx)) is not None:
                return dg.SkipReason(f"Run {run_id} is at work: looks again when it has ended")
            found = find(ctx)
    except OverstoryError as error:
        return dg.SkipReason(str(error))
    outcome, since = _outcome(context.instance, dataset, memory.asked, now)
    decision = decide(found.state, memory.asked, outcome, since)
    kept = Memory(decision.asked, memory.full_scan).written()
    if not decision.run:
        return dg.SensorResult(skip_reason=". ".join([decision.reason, *found.notes]), cursor=kept)
    return dg.SensorResult(run_requests=[_request(decision.asked, cause, found)], cursor=kept)


def _outcome(instance: dg.DagsterInstance, dataset: str, asked: Asked, now: float) -> tuple[Outcome, float]:
    """What became of the last request, and how many seconds ago."""
    if not asked.number:
        return Outcome.NONE, 0.0
    wanted = dg.RunsFilter(tags={DATASET_TAG: dataset, RUN_KEY_TAG: asked.key})
    records = instance.get_run_records(wanted, limit=1)
    if not records:
        return Outcome.NONE, 0.0
    outcome = OUTCOMES.get(records[0].dagster_run.status, Outcome.RUNNING)
    return outcome, now - (records[0].end_time or now)


def _request(asked: Asked, cause: str, found: Differences) -> dg.RunRequest:
    """One run over all shards, whose tags say what it is for; what is fresh stays as it is."""
    changes = ", ".join(f"{number} {what}" for what, number in found.counts.items())
    shown = ", ".join(found.documents[:SHOWN_DOCUMENTS])
    more = len(found.documents) - SHOWN_DOCUMENTS
    return dg.RunRequest(
        run_key=asked.key,
        tags={
            CAUSE_TAG: cause,
            CHANGES_TAG: changes,
            DOCUMENTS_TAG: f"{shown} and {more} more" if more > 0 else shown,
            **ALL_SHARDS,
        },
    )
