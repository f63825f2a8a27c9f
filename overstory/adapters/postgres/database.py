"""Connections to the record: engine, transactions, bulk COPY and migration."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from pgvector.psycopg import register_vector

from overstory.adapters.postgres.driver_errors import interruption, translated
from overstory.errors import OverstoryError, RecordTooNew, SettingsError, StoreError

SCHEMA = "overstory"
HEAD = "0008"
IN_SHARDS = "(cast(:shards as int[]) is null or d.shard = any(cast(:shards as int[])))"
"""Condition on a document ``d``: the bound shards, or all of them when null."""
MIGRATIONS = Path(__file__).parent / "migrations"
_OPTIONS = (
    f"search_path={SCHEMA},public",
    "timezone=UTC",
    "hnsw.ef_search=100",
    "hnsw.iterative_scan=strict_order",  # else an index scan ends after ef_search rows, whatever is asked
)
_KEEPALIVES = {"keepalives": 1, "keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A build's lock waits on an idle connection: proxies keep it open, and a peer that is gone is noticed in a minute."""


@dataclass(frozen=True, slots=True)
class Database:
    """An engine, or one of its connections inside a transaction."""

    engine: sa.Engine
    connection: sa.Connection | None = None

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """The bound connection, or a transaction of its own that commits when the block ends.

        Raises:
            StoreError: The database refused, is full or does not answer; nothing of the block was kept.
        """
        if self.connection is not None:
            yield self.connection
            return
        with translated(), self.engine.begin() as connection:
            try:
                yield connection
            except BaseException as error:
                if interruption(error) is not None:
                    # A signal may have come in the middle of a COPY, where the server accepts no rollback.
                    connection.invalidate()
                raise

    @contextmanager
    def transaction(self) -> Iterator[Database]:
        """This database bound to one transaction."""
        with self.begin() as connection:
            yield Database(self.engine, connection)

    def rows(self, sql: str, **parameters: object) -> Sequence[Any]:
        """All rows of a query with bound parameters."""
        with self.begin() as connection:
            return connection.execute(_statement(sql), parameters).all()

    def run(self, sql: str, **parameters: object) -> int:
        """The number of rows that a statement with bound parameters touched."""
        with self.begin() as connection:
            return connection.execute(_statement(sql), parameters).rowcount

    def language_oid(self, language: str) -> int:
        """The oid of a text search configuration, as binary COPY wants it.

        Raises:
            SettingsError: Postgres has no such configuration.
        """
        found = self.rows("select oid from pg_ts_config where cfgname = :name", name=language)
        if not found:
            raise SettingsError(
                f"Postgres has no text search configuration '{language}'",
                hint="Set retrieval.language to one that 'select cfgname from pg_ts_config' lists, or to simple",
            )
        return int(found[0][0])

    def copy(self, table: str, columns: Sequence[str], types: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Append rows by binary COPY; ``table`` and ``columns`` are our own constants, never input."""
        with self.begin() as connection:
            raw = driver_connection(connection)
            statement = f"copy {table} ({', '.join(columns)}) from stdin (format binary)"
            with raw.cursor() as cursor, cursor.copy(statement.encode()) as copy:
                copy.set_types(list(types))
                for row in rows:
                    copy.write_row(row)


@lru_cache(maxsize=512)
def _statement(sql: str) -> sa.TextClause:
    """The statement with its parameters found, which takes as long as running a small one."""
    return sa.text(sql)


def listed(shards: Collection[int] | None) -> list[int] | None:
    """Shards as the parameter of ``IN_SHARDS``."""
    return None if shards is None else sorted(shards)


def driver_connection(connection: sa.Connection) -> psycopg.Connection[Any]:
    """The psycopg connection beneath an SQLAlchemy one."""
    raw = connection.connection.driver_connection
    if not isinstance(raw, psycopg.Connection):
        raise StoreError("The record needs the psycopg driver", hint="Use a postgresql+psycopg address")
    return raw


def connect(url: str) -> Database:
    """A database at an SQLAlchemy address with the psycopg driver, migrated to this program's version.

    Raises:
        StoreUnavailable: It does not answer.
        RecordTooNew: A newer program has migrated it.
    """
    engine = sa.create_engine(
        url,
        pool_size=4,
        max_overflow=4,
        hide_parameters=True,  # statements carry texts of documents, which no error may quote
        connect_args={"options": " ".join(f"-c{option}" for option in _OPTIONS), "connect_timeout": 10, **_KEEPALIVES},
    )
    sa.event.listen(engine, "connect", _adapt_vectors)
    database = Database(engine)
    try:
        migrate(database)
    except OverstoryError:
        engine.dispose()
        raise
    return database


def _adapt_vectors(raw: Any, _record: object) -> None:
    """Teach a new connection the vector type; before the first migration there is none to learn."""
    known = raw.execute("select 1 from pg_type where typname = 'vector'").fetchone()
    if known:
        register_vector(raw)
    raw.rollback()


def migrate(database: Database) -> None:
    """Bring the record to this program's version; asks Alembic only when there is something to do."""
    version = _version(database)
    if version == HEAD:
        return
    if version is not None and version > HEAD:
        raise RecordTooNew(
            f"The record has version {version}, this program knows up to {HEAD}",
            hint="Use the Overstory that wrote it, or a newer one",
        )
    _upgrade(database)


def _version(database: Database) -> str | None:
    with database.begin() as connection:
        if connection.scalar(sa.text("select to_regclass('overstory.schema_version')")) is None:
            return None
        version: str | None = connection.scalar(sa.text("select version_num from overstory.schema_version"))
        return version


def _upgrade(database: Database) -> None:
    from alembic import command
    from alembic.config import Config

    with database.begin() as connection:
        connection.execute(sa.text("select pg_advisory_xact_lock(hashtext('overstory.migrate'))"))
        connection.execute(sa.text(f"create schema if not exists {SCHEMA}"))
        connection.execute(sa.text("create extension if not exists vector with schema public"))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    database.engine.dispose()
