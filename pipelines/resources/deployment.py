"""The deployment as a resource: opens a dataset's ports for an asset, and its record once for a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field, PrivateAttr

from pipelines.deployment import read_settings

if TYPE_CHECKING:
    from overstory.adapters.postgres.record import PostgresRecord
    from overstory.building.context import BuildContext
    from overstory.ports import Progress
    from overstory.settings import Settings


class Deployment(dg.ConfigurableResource[None]):
    """Settings, record and embedded server of one deployment; its configuration chooses what a run touches."""

    documents: list[str] = Field(
        default=[],
        description="Documents to bring up to date, by path or id; all of the chosen shards when empty. "
        "The clusters above them follow either way.",
    )
    _settings: Settings | None = PrivateAttr(default=None)
    _record: PostgresRecord | None = PrivateAttr(default=None)

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:  # noqa: ARG002  (Dagster passes it by name)
        """Give the connections back at the end of the run."""
        if self._record is not None:
            self._record.close()
            self._record = None

    @contextmanager
    def building(self, dataset: str, run_id: str, progress: Progress, *, alone: bool = True) -> Iterator[BuildContext]:
        """A dataset with its ports; held ``alone`` against other builds until the block ends.

        Raises:
            BuildLocked: Another build holds the dataset.
            SettingsError: The settings no longer have the dataset, or it has no such document.
        """
        from overstory import api

        settings, record = self._opened()
        ctx = api.open_dataset(settings.dataset(dataset), record, run_id=run_id, progress=progress)
        if self.documents:
            ctx = replace(ctx, only=api.choose_documents(ctx, self.documents))
        with record.lock(dataset) if alone else nullcontext():
            yield ctx

    def _opened(self) -> tuple[Settings, PostgresRecord]:
        from overstory import api

        if self._settings is None:
            self._settings = read_settings()
        if self._record is None:
            self._record = api.open_record(api.home_of(self._settings))
        return self._settings, self._record
