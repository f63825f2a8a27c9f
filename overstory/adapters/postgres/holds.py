"""What a run holds while it lives: advisory locks of one connection, which die with its process."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import sqlalchemy as sa

from overstory.adapters.postgres.database import Database
from overstory.adapters.postgres.driver_errors import translated
from overstory.errors import BuildLocked

_log = logging.getLogger(__name__)

_RUN = "overstory.run."
_DATASET = "overstory.build."
_TRY = sa.text("select pg_try_advisory_lock(hashtextextended(:key, 0))")
_HELD = """
select l.pid, a.application_name
from pg_locks l left join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and l.objsubid = 1
  and l.database = (select oid from pg_database where datname = current_database())
  and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(:key, 0)
"""
_NAME = "overstory run "
"""Before a run's id in ``pg_stat_activity``: who looks for the holder of a lock finds the run."""


@dataclass(slots=True)
class PostgresHold:
    """One connection's advisory locks."""

    connection: sa.Connection
    taken: set[str] = field(default_factory=set)

    def take(self, dataset: str) -> None:
        """Hold a dataset against other builds until the hold ends; once taken, see that it is still held.

        Raises:
            BuildLocked: Another build holds it.
            StoreUnavailable: The connection was lost, and with it what was held.
        """
        with translated():
            if dataset in self.taken:
                self.connection.execute(sa.text("select 1"))
                self.connection.commit()
                return
            if not self._locked(_DATASET + dataset):
                raise BuildLocked(
                    f"Another build of dataset '{dataset}' is running{self._by(_DATASET + dataset)}",
                    hint="Wait for it, or end it in the Dagster UI",
                    dataset=dataset,
                )
        self.taken.add(dataset)

    def live(self, run_id: str) -> None:
        """Show that the run's process lives."""
        with translated():
            self.connection.execute(
                sa.text("select set_config('application_name', :name, false)"), {"name": _NAME + run_id}
            )
            self._locked(_RUN + run_id)

    def _locked(self, key: str) -> bool:
        locked = bool(self.connection.scalar(_TRY, {"key": key}))
        self.connection.commit()
        return locked

    def _by(self, key: str) -> str:
        """Which run holds the lock, as far as that can be seen."""
        names = [name for _, name in self.connection.execute(sa.text(_HELD), {"key": key})]
        self.connection.commit()
        return "".join(f" (run {name.removeprefix(_NAME)})" for name in names if name and name.startswith(_NAME))


@contextmanager
def hold(db: Database, run_id: str | None = None) -> Iterator[PostgresHold]:
    """A connection that holds what is taken until the block ends, and shows that the run lives.

    Raises:
        StoreUnavailable: The database does not answer.
    """
    with translated(), db.engine.connect() as connection:
        held = PostgresHold(connection)
        if run_id is not None:
            held.live(run_id)
        try:
            yield held
        finally:
            _release(connection)


def living(db: Database, run_ids: Iterable[str]) -> set[str]:
    """Those of the runs whose process holds its lock."""
    return {run_id for run_id in run_ids if db.rows(_HELD, key=_RUN + run_id)}


def _release(connection: sa.Connection) -> None:
    """Give everything back; where that fails the connection is closed, and the locks go with it."""
    try:
        connection.rollback()
        connection.execute(sa.text("select pg_advisory_unlock_all(), set_config('application_name', '', false)"))
        connection.commit()
    except sa.exc.SQLAlchemyError as error:
        _log.warning("The connection that held the build's lock was lost (%s)", type(error).__name__)
        connection.invalidate()
