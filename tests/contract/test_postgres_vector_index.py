"""The record's present vector tables as vector indexes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.database import Database, connect
from overstory.adapters.postgres.vector_index import PgVectorIndexes
from overstory.adapters.postgres.vectors import PgVectors
from overstory.record import VectorRow
from tests.vector_entries import DIMENSION, mixed, space, vectors


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty record."""
    connected = connect(sqlalchemy_url(database_url, "psycopg"))
    yield connected
    connected.engine.dispose()


def test_case_33_a_table_of_the_record_is_migrated_when_it_is_opened(database: Database) -> None:
    with database.transaction() as db:
        db.run("insert into dataset (name, source) values ('manuals', '/nowhere')")
    entries = mixed(30)
    lost = next(entry for entry in entries if entry.original_chunk_id)
    entries = [entry for entry in entries if entry.node_id != lost.original_chunk_id]
    rows = [VectorRow(entry.node_id, entry.kind, entry.level, entry.document_id) for entry in entries]
    record = PgVectors(database)
    record.prepare("manuals", space().embedding_hash, DIMENSION)
    record.upsert("manuals", space().embedding_hash, rows, vectors(len(rows)))

    index = PgVectorIndexes(database).open(space())

    kept = {entry.node_id: entry for entry in entries if entry != lost}
    assert set(index.ids()) == set(kept), "a chunk summary whose leaf nobody knows is to be made again"
    assert index.fetch(list(kept)) == kept
    leaf = next(row for row in rows if row.node_id in kept)
    record.upsert("manuals", space().embedding_hash, [leaf], vectors(1))
    assert index.count() == len(kept), "the record's own writes go on"
