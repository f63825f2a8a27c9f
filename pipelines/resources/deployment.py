"""The deployment as a resource: opens a dataset's ports for an asset, and its record once for a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field, PrivateAttr

from overstory.errors import BuildLocked
from pipelines.caller import caller
from pipelines.deployment import read_settings

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord
    from overstory.building.context import BuildContext
    from overstory.ports import Progress
    from overstory.record import Hold
    from overstory.settings import Settings

POLL_SECONDS = 1.0
"""Between two looks whether another build has ended."""


class Deployment(dg.ConfigurableResource[None]):
    """Settings, record and embedded server of one deployment; its configuration chooses what a run touches."""

    documents: list[str] = Field(
        default=[],
        description="Documents to bring up to date, by path or id; all of the chosen shards when empty. "
        "The clusters above them follow either way.",
    )
    _settings: Settings | None = PrivateAttr(default=None)
    _record: PostgresRecord | None = PrivateAttr(default=None)
    _run: ExitStack = PrivateAttr(default_factory=ExitStack)
    """What ends with the run."""
    _hold: Hold | None = PrivateAttr(default=None)
    _stages: int = PrivateAttr(default=0)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002  (Dagster passes it by name)
        """Give locks and connections back at the end of the run."""
        self._hold = self._record = None
        self._run.close()

    def building(
        self, dataset: str, run_id: str, progress: Progress, *, alone: bool = True, tell: Callable[[str], object]
    ) -> BuildContext:
        """A dataset with its ports; held ``alone`` against other builds until the run ends.

        A run that Dagster launched waits for another build of the dataset, and tells so once. One with a caller has
        taken the dataset before it began.

        Raises:
            SettingsError: The settings no longer have the dataset, or it has no such document.
            StoreUnavailable: The database does not answer, or has given away what the run held.
        """
        from overstory import api

        settings, record = self._opened()
        chosen = settings.dataset(dataset)
        hold = self._holding(record, run_id)
        if alone:
            _wait_for(hold, dataset, tell)
        ctx = api.open_dataset(chosen, record, run_id=run_id, progress=progress)
        if self.documents:
            ctx = replace(ctx, only=api.choose_documents(ctx, self.documents))
        return ctx

    def first_stage(self) -> bool:
        """Whether this is the first stage of the run that asks."""
        self._stages += 1
        return self._stages == 1

    def _holding(self, record: PostgresRecord, run_id: str) -> Hold:
        if (watching := caller()) is not None:
            return watching.hold
        if self._hold is None:
            self._hold = self._run.enter_context(record.hold(run_id))
        return self._hold

    def _opened(self) -> tuple[Settings, PostgresRecord]:
        from overstory import api

        if self._settings is None:
            self._settings = read_settings()
        if self._record is None:
            self._record = api.open_record(api.home_of(self._settings))
            self._run.callback(self._record.close)
        return self._settings, self._record


def _wait_for(hold: Hold, dataset: str, tell: Callable[[str], object]) -> None:
    """Take the dataset as soon as no other build holds it; Terminate ends the wait."""
    told = False
    while True:
        try:
            hold.take(dataset)
        except BuildLocked as error:
            if not told:
                tell(f"{error}. This run waits for it")
                told = True
            time.sleep(POLL_SECONDS)
        else:
            return
