"""Records that earlier versions of the program made."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.database import HEAD, MIGRATIONS, SCHEMA
from overstory.adapters.postgres.record import PostgresRecord
from overstory.identity import derive_id

ROWS = """
insert into overstory.dataset (name, source) values ('docs', '/docs');
insert into overstory.document (id, dataset, path, shard, raw_hash, content_hash)
values (:document, 'docs', 'a.md', 1, 'raw', 'content');
insert into overstory.document_version (id, document_id, number, content_hash, text, chars)
values (:version, :document, 1, 'content', 'text', 4)
"""


def made_by(url: str, revision: str) -> None:
    """Make a record of an earlier version with one document."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"create schema {SCHEMA}"))
        connection.execute(sa.text("create extension vector with schema public"))
        connection.execute(sa.text(f"set local search_path = {SCHEMA}, public"))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        ids = {"document": derive_id("document"), "version": derive_id("version")}
        for statement in ROWS.split(";"):
            connection.execute(sa.text(statement), ids)
    engine.dispose()


def test_record_of_the_second_version_keeps_its_documents_and_knows_what_it_does_not_know(database_url: str) -> None:
    url = sqlalchemy_url(database_url, "psycopg")
    made_by(url, "0002")
    record = PostgresRecord.open(url)
    (row,) = record.documents.rows("docs")
    assert record.db.rows("select version_num from overstory.schema_version") == [(HEAD,)]
    assert (row.path, row.content_hash, row.last_number, row.extraction_recipe) == ("a.md", "content", 1, None)
    assert (record.leaves.language("docs"), record.documents.withheld("docs")) == (None, {})
    record.close()
