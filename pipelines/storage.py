"""Dagster's event log in Postgres, with the events of all shards of a step stored at once.

Dagster stores a batch in one statement only if it holds nothing but materializations. The announcements and checks
of 64 shards then take 64 times three connections (docs/decisions/0007-dagster-graph.md has the times).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dagster import AssetCheckEvaluation, DagsterEventType
from dagster._config.config_schema import UserConfigSchema
from dagster._core.events.log import EventLogEntry
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable
from dagster._serdes import ConfigurableClassData, serialize_value
from dagster_postgres import PostgresEventLogStorage
from dagster_postgres.utils import create_pg_engine, pg_url_from_config

if TYPE_CHECKING:
    from sqlalchemy import Connection


class ShardEventLogStorage(PostgresEventLogStorage):
    """Postgres event log storage that also batches announcements and checks of one asset."""

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> ShardEventLogStorage:
        """The storage that ``dagster.yaml`` describes."""
        url = pg_url_from_config(config_value)
        create = config_value.get("should_autocreate_tables", True)
        storage = cls(inst_data=inst_data, postgres_url=url, should_autocreate_tables=create)
        # Dagster opens a connection for every statement; a build writes a hundred events one by one.
        storage._engine = create_pg_engine(url, None, isolation_level="AUTOCOMMIT", pool_size=1, pool_pre_ping=True)
        return storage

    def dispose(self) -> None:
        """Give the connection back."""
        super().dispose()
        self._engine.dispose()

    @classmethod
    def config_type(cls) -> UserConfigSchema:
        """The configuration of Dagster's own storage."""
        schema: UserConfigSchema = super().config_type()
        return schema

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events of one kind and one asset in as few statements as there are tables."""
        kinds = {event.get_dagster_event().event_type for event in events}
        if kinds == {DagsterEventType.ASSET_MATERIALIZATION_PLANNED}:
            self._store_planned(events)
        elif kinds == {DagsterEventType.ASSET_CHECK_EVALUATION}:
            self._store_evaluations(events)
        else:
            super().store_event_batch(events)

    def _store_planned(self, events: Sequence[EventLogEntry]) -> None:
        if len({event.get_dagster_event().asset_key for event in events}) > 1:
            super().store_event_batch(events)
            return
        with self.index_transaction() as connection:
            ids = self._insert(connection, events)
            # One row stands for the asset: the last event is the one that counts.
            self._store_asset_event(connection, events[-1], ids[-1])

    def _store_evaluations(self, events: Sequence[EventLogEntry]) -> None:
        with self.index_transaction() as connection:
            ids = self._insert(connection, events)
            table = AssetCheckExecutionsTable
            rows = [self._check_row(event, number) for event, number in zip(events, ids, strict=True)]
            connection.execute(
                table.delete().where(
                    table.c.asset_key == rows[0]["asset_key"],
                    table.c.check_name == rows[0]["check_name"],
                    table.c.run_id == rows[0]["run_id"],
                    table.c.partition.in_([row["partition"] for row in rows]),
                )
            )
            connection.execute(table.insert().values(rows))

    def _insert(self, connection: Connection, events: Sequence[EventLogEntry]) -> list[int]:
        statement = self.prepare_insert_event_batch(events).returning(SqlEventLogStorageTable.c.id)
        return [int(number) for (number,) in connection.execute(statement)]

    def _check_row(self, event: EventLogEntry, number: int) -> dict[str, Any]:
        evaluation = event.get_dagster_event().event_specific_data
        if not isinstance(evaluation, AssetCheckEvaluation):
            raise TypeError(f"An evaluation was expected, not {type(evaluation).__name__}")
        status = AssetCheckExecutionRecordStatus
        target = evaluation.target_materialization_data
        return {
            "asset_key": evaluation.asset_key.to_string(),
            "check_name": evaluation.check_name,
            "partition": evaluation.partition,
            "run_id": event.run_id,
            "execution_status": (status.SUCCEEDED if evaluation.passed else status.FAILED).value,
            "evaluation_event": serialize_value(event),
            "evaluation_event_timestamp": datetime.fromtimestamp(event.timestamp, UTC).replace(tzinfo=None),
            "evaluation_event_storage_id": number,
            "materialization_event_storage_id": target.storage_id if target else None,
        }
