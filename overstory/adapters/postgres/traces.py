"""Every column of the database that may hold text, found in its catalog, and what takes bytes out of its files."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from overstory.adapters.postgres.database import SCHEMA, Database
from overstory.adapters.postgres.driver_errors import translated
from overstory.identity import DocumentId
from overstory.traces import Store

_COLUMNS = """
select n.nspname, c.relname, a.attname, t.typname
from pg_attribute a
join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p', 'm')
join pg_namespace n on n.oid = c.relnamespace
join pg_type t on t.oid = a.atttypid
where a.attnum > 0 and not a.attisdropped
  and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and t.typcategory not in ('N', 'B', 'D', 'T')
  and t.typname not in ('uuid', '_uuid', 'vector', 'halfvec', '_float4', '_float8', '_int2', '_int4', '_int8')
order by 1, 2, 3
"""
"""All types but those that cannot hold words: one that is added later is looked at."""

_VECTOR_TABLES = "select 'overstory.' || name from overstory.vector_table order by name"

_STATISTICS = """
select coalesce(most_common_vals::text, '') || ' ' || coalesce(histogram_bounds::text, '') || ' '
       || coalesce(most_common_elems::text, '')
from pg_stats where schemaname not in ('pg_catalog', 'information_schema')
"""
"""What ANALYZE keeps for the planner quotes rows."""

_OWN = """
select l.context || l.text from leaf l where l.document_id = cast(:id as uuid)
union all select v.text from document_version v where v.document_id = cast(:id as uuid) and v.text is not null
"""

_OTHERS = """
select l.context || l.text from leaf l where l.document_id <> cast(:id as uuid)
union all select v.text from document_version v where v.document_id <> cast(:id as uuid) and v.text is not null
"""

_TABLES = """
select quote_ident(n.nspname) || '.' || quote_ident(c.relname) from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'm') and n.nspname = :schema order by 1
"""

_OLD_SNAPSHOTS = """
select count(*) from pg_stat_activity
where backend_xmin is not null and pid <> pg_backend_pid() and datname = current_database()
"""

BATCH_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class PostgresTexts:
    """``traces.TextStores`` over Postgres."""

    db: Database
    own_server: bool = False
    """Whether the server is the embedded one, whose log of changes (WAL) is ours to clear."""

    def texts_of(self, document: DocumentId) -> list[str]:
        """All texts that are known of a document, pending versions too."""
        return [text for (text,) in self.db.rows(_OWN, id=document)]

    def texts_of_others(self, document: DocumentId) -> Iterator[str]:
        """All texts that are known of all other documents, of whatever dataset."""
        yield from self._streamed(_OTHERS, id=document)

    def stores(self) -> Iterator[Store]:
        """Every column that may hold text, every vector table, and the planner's statistics."""
        for schema, table, column, kind in self.db.rows(_COLUMNS):
            yield Store(f"{schema}.{table}.{column}", self._column(schema, table, column, kind))
        for (table,) in self.db.rows(_VECTOR_TABLES):
            yield Store(f"{table} (rows)", self._streamed(f"select t::text from {table} t"))
        yield Store("pg_stats", self._streamed(_STATISTICS))

    def _column(self, schema: str, table: str, column: str, kind: str) -> Iterator[str]:
        value = f'"{column}"' if kind == "bytea" else f'"{column}"::text'
        for held in self._streamed(f'select {value} from "{schema}"."{table}" where "{column}" is not null'):
            for text in [held] if isinstance(held, str) else _decoded(held):
                yield text
                yield from _unescaped(text)

    def _streamed(self, sql: str, **parameters: object) -> Iterator[Any]:  # Any: what the one column of a query is
        with translated(), self.db.engine.connect() as connection:
            options = connection.execution_options(yield_per=BATCH_ROWS)
            for (held,) in options.execute(sa.text(sql), parameters):
                yield held

    def settle(self) -> None:
        """Let the planner's statistics forget rows that are gone, and take them anew."""
        with self._maintenance() as run:
            if run("show server_version_num", read=True)[0][0] >= "180000":
                # ANALYZE of a table that has become empty keeps what it knew.
                run(
                    "select pg_clear_attribute_stats(schemaname, tablename, attname, inherited) "
                    "from pg_stats where schemaname = 'overstory'",
                    read=True,
                )
            for (table,) in self.db.rows(_TABLES, schema=SCHEMA):
                run(f"analyze {table}")

    def erase(self) -> list[str]:
        """Write all tables of the record anew and let the server drop what the old files held.

        Returns:
            What was not reached, for people.
        """
        missed = []
        with self._maintenance() as run:
            superuser = run("select rolsuper from pg_roles where rolname = current_user", read=True)[0][0]
            if run(_OLD_SNAPSHOTS, read=True)[0][0]:
                missed.append("other sessions hold old snapshots: rows that these can see stay; erase again later")
            for (table,) in self.db.rows(_TABLES, schema=SCHEMA):
                run(f"vacuum (full, analyze) {table}")
            if superuser:
                run("vacuum full pg_catalog.pg_statistic")
                run("checkpoint")
            else:
                missed.append("this user may not ask for a checkpoint: old files go with the server's next one")
            if superuser and self.own_server:
                _clear_log(run)
            else:
                missed.append("the server's WAL segments keep what was written until they are reused")
        missed.append("backups, archived WAL, replicas and the free blocks of the disk")
        return missed

    def _maintenance(self) -> _Maintenance:
        return _Maintenance(self.db.engine)


class _Maintenance:
    """Runs statements outside of transactions."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def __enter__(self) -> _Maintenance:
        with translated():
            self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        return self

    def __exit__(self, *_error: object) -> None:
        # A connection in autocommit does not go back among the others.
        self._connection.invalidate()
        self._connection.close()

    def __call__(self, sql: str, *, read: bool = False) -> Any:
        with translated():
            done = self._connection.execute(sa.text(sql))
            return done.all() if read else None


def _clear_log(run: _Maintenance) -> None:
    """Fill the rest of every kept segment of the log of changes with zeros, and remove those that are done with."""
    run("alter system set wal_recycle = off")
    run("select pg_reload_conf()", read=True)
    try:
        segments = run("select count(*) from pg_ls_waldir() where name ~ '^[0-9A-F]{24}$'", read=True)[0][0]
        for _ in range(segments + 1):
            run("select pg_logical_emit_message(false, 'overstory', 'erase')", read=True)
            run("select pg_switch_wal()", read=True)
        run("checkpoint")
        run("checkpoint")  # The segment with the former one's own record is kept by it.
    finally:
        run("alter system reset wal_recycle")
        run("select pg_reload_conf()", read=True)


def _decoded(raw: bytes) -> Iterator[str]:
    """Bytes as text, and what is in them where they are compressed, as some of Dagster's are."""
    yield bytes(raw).decode("utf-8", errors="replace")
    try:
        yield zlib.decompress(raw).decode("utf-8", errors="replace")
    except zlib.error:
        return


def _unescaped(text: str) -> Iterator[str]:
    r"""The strings in a text that is JSON: in it, a line end is the two characters ``\n``."""
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        value = json.loads(text)
    except ValueError:
        return
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            waiting += item
