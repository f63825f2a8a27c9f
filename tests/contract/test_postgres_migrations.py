"""Records that earlier versions of the program made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.database import HEAD, MIGRATIONS, SCHEMA
from overstory.adapters.postgres.record import PostgresRecord
from overstory.identity import (
    content_hash,
    derive_id,
    document_id,
    leaf_id,
    ordered_child_hash,
    recipe_hash,
    shard_of,
    summary_id,
    version_id,
)
from overstory.nodes import NodeKind, NodeState
from tests.scenarios.workbench import DATASET, Workbench

ONE_DOCUMENT = """
insert into overstory.dataset (name, source) values ('docs', '/docs');
insert into overstory.document (id, dataset, path, shard, raw_hash, content_hash)
values (:document, 'docs', 'a.md', 1, 'raw', 'content');
insert into overstory.document_version (id, document_id, number, content_hash, text, chars)
values (:version, :document, 1, 'content', 'text', 4)
"""


def made_by(url: str, revision: str, rows: str, values: Mapping[str, object]) -> None:
    """Make a record of an earlier version with rows in it."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(f"create schema {SCHEMA}"))
        connection.execute(sa.text("create extension vector with schema public"))
        connection.execute(sa.text(f"set local search_path = {SCHEMA}, public"))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in rows.split(";"):
            connection.execute(sa.text(statement), values)
    engine.dispose()


def test_record_of_the_second_version_keeps_its_documents_and_knows_what_it_does_not_know(database_url: str) -> None:
    url = sqlalchemy_url(database_url, "psycopg")
    made_by(url, "0002", ONE_DOCUMENT, {"document": derive_id("document"), "version": derive_id("version")})
    record = PostgresRecord.open(url)
    (row,) = record.documents.rows("docs")
    assert record.db.rows("select version_num from overstory.schema_version") == [(HEAD,)]
    assert (row.path, row.content_hash, row.last_number, row.extraction_recipe) == ("a.md", "content", 1, None)
    assert (record.leaves.language("docs"), record.documents.withheld("docs")) == (None, {})
    record.close()


KEPT = "Kettles are descaled on 3 March 2025, at a price of $40."
SMALL_INDEX = """
insert into overstory.dataset (name, source, embedding_hash) values (:dataset, :source, 'an old embedding');
insert into overstory.document (id, dataset, path, shard, raw_hash, content_hash, title, media_type, current_version)
values (:kept, :dataset, 'kept.md', :kept_shard, 'raw', :kept_hash, '', 'text/markdown', :kept_version),
       (:gone, :dataset, 'gone.md', :gone_shard, 'raw', 'hash', '', 'text/markdown', :gone_version);
insert into overstory.document_version
    (id, document_id, number, content_hash, chunk_recipe, child_hash, chars, tokens, current_at)
values (:kept_version, :kept, 1, :kept_hash, 'an old way to cut', :kept_children, :chars, 20, now()),
       (:gone_version, :gone, 1, 'hash', 'an old way to cut', 'children', 5, 2, now());
insert into overstory.leaf (id, document_id, content_hash, text, context, tokens, language)
values (:kept_leaf, :kept, :kept_hash, :text, '', 20, 'english'),
       (:gone_leaf, :gone, 'hash', 'Gone.', '', 2, 'english');
insert into overstory.version_leaf (version_id, ordinal, leaf_id, start_char, end_char, headings)
values (:kept_version, 0, :kept_leaf, 0, :chars, '{}'), (:gone_version, 0, :gone_leaf, 0, 5, '{}');
insert into overstory.summary
    (id, dataset, kind, level, document_id, text, text_hash, child_hash, recipe_hash, tokens, language)
values (:kept_summary, :dataset, 'document_summary', 1, :kept, 'An old summary.', 'old', :kept_children, :recipe, 4,
        'english'),
       (:gone_summary, :dataset, 'document_summary', 1, :gone, 'Gone.', 'gone', 'children', :recipe, 2, 'english');
insert into overstory.cluster (id, dataset, level, kind, shard) values (:cluster, :dataset, 2, 'topic', 0);
insert into overstory.membership (cluster_id, member_id, weight) values (:cluster, :kept, 1), (:cluster, :gone, 1);
insert into overstory.answer (dataset, child_hash, recipe_hash, text) values (:dataset, 'a', 'b', 'A paid answer.');
insert into overstory.ledger
    (dataset, run_id, node_id, kind, cause, model, tokens_in, tokens_out, usd, seconds, outcome)
values (:dataset, 'an old run', :kept_summary, 'document_summary', 'new', 'm', 100, 20, 0.5, 1, 'ok')
"""


def small_index(source: Path) -> dict[str, object]:
    """The values of ``SMALL_INDEX``: one document that the source still has, and one that it no longer has."""
    values: dict[str, object] = {"dataset": DATASET, "source": str(source), "text": KEPT, "chars": len(KEPT)}
    hashed = content_hash(KEPT)
    values |= {"kept_hash": hashed, "kept_children": ordered_child_hash([hashed])}
    values |= {"recipe": recipe_hash("model", "prompt", "parameters"), "cluster": derive_id("cluster")}
    for name, leaf in (("kept", hashed), ("gone", "hash")):
        document = document_id(DATASET, f"{name}.md")
        values |= {name: document, f"{name}_shard": shard_of(document), f"{name}_version": version_id(document, 1)}
        values |= {f"{name}_leaf": leaf_id(document, leaf, 0)}
        values |= {f"{name}_summary": summary_id(NodeKind.DOCUMENT_SUMMARY, document)}
    return values


@pytest.fixture
def first_record(tmp_path: Path, database_url: str) -> Iterator[Workbench]:
    """A record that the first version made, as the present one opens it."""
    source = tmp_path / "source"
    made_by(sqlalchemy_url(database_url, "psycopg"), "0001", SMALL_INDEX, small_index(source))
    bench = Workbench(source, database_url)
    bench.write("kept.md", KEPT)
    yield bench
    bench.record.close()


def test_record_of_the_first_version_is_read_as_it_was(first_record: Workbench) -> None:
    record = first_record.record
    assert record.db.rows("select version_num from overstory.schema_version") == [(HEAD,)]
    assert first_record.paths() == ["gone.md", "kept.md"]
    assert [s.text for s in first_record.summaries("document_summary") if s.document_id] != []
    assert record.ledger.spent(DATASET).usd == 0.5


def test_answers_of_unknown_origin_are_forgotten(first_record: Workbench) -> None:
    assert first_record.sql("select text from answer") == []


def test_stale_nodes_of_a_record_of_the_first_version_are_told(first_record: Workbench) -> None:
    assert NodeState.STALE in {state for _, state in first_record.health().unfresh.values()}


def test_build_of_a_record_of_the_first_version_keeps_leaves_and_makes_the_rest_anew(first_record: Workbench) -> None:
    before = first_record.value(
        "select l.id::text from leaf l join document d on d.id = l.document_id and path = 'kept.md'"
    )
    built = first_record.build()
    assert built.problems == []
    assert first_record.paths() == ["kept.md"]
    assert first_record.value("select id::text from leaf") == before
    assert "$40" in first_record.summary("kept.md").text
    first_record.check()
