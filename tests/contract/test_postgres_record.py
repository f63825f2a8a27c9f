from __future__ import annotations

import threading

import numpy as np
import pytest
import sqlalchemy as sa

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.postgres.database import HEAD
from overstory.adapters.postgres.record import PostgresRecord
from overstory.adapters.postgres.vectors import table_name
from overstory.errors import BuildLocked, EmbeddingError, RecordTooNew, SettingsError, StoreError, StoreUnavailable
from overstory.identity import ClusterId, NodeId, content_hash, derive_id, shard_of
from overstory.nodes import NodeKind
from overstory.ports import Call
from overstory.record import StoredModel, VectorRow
from tests.contract.postgres_corpus import CHUNK_RECIPE, Corpus, cut, summary_row

TABLES_OF_DOCUMENTS = ("document", "document_version", "leaf", "version_leaf", "section", "membership", "summary")


def count(record: PostgresRecord, table: str) -> int:
    return int(record.db.rows(f"select count(*) from {table}")[0][0])


def vectors(corpus: Corpus) -> int:
    return count(corpus.record, table_name(corpus.name, corpus.embedder.embedding_hash))


def test_an_empty_database_is_migrated_to_this_version(database_url: str) -> None:
    record = PostgresRecord.open(sqlalchemy_url(database_url, "psycopg"))

    assert record.db.rows("select version_num from overstory.schema_version") == [(HEAD,)]
    record.close()


def test_opening_a_migrated_record_changes_nothing(record: PostgresRecord) -> None:
    before = record.db.rows("select relname from pg_class where relnamespace = 'overstory'::regnamespace order by 1")
    PostgresRecord.open(record.db.engine.url.render_as_string(hide_password=False)).close()

    assert (
        record.db.rows("select relname from pg_class where relnamespace = 'overstory'::regnamespace order by 1")
        == before
    )


def test_two_that_open_an_empty_database_at_once_both_get_a_record(database_url: str) -> None:
    url, failures = sqlalchemy_url(database_url, "psycopg"), list[BaseException]()

    def opened() -> None:
        try:
            PostgresRecord.open(url).close()
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=opened) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_record_of_a_newer_program_is_refused(record: PostgresRecord) -> None:
    record.db.run("update overstory.schema_version set version_num = '9999'")

    with pytest.raises(RecordTooNew, match="9999"):
        PostgresRecord.open(record.db.engine.url.render_as_string(hide_password=False))


def test_a_database_that_does_not_answer_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable):
        PostgresRecord.open("postgresql+psycopg://nobody@127.0.0.1:1/nothing")


def test_a_dataset_keeps_its_source(record: PostgresRecord) -> None:
    record.ensure_dataset("corpus", "/one")
    record.ensure_dataset("corpus", "/one")

    with pytest.raises(SettingsError, match="/one"):
        record.ensure_dataset("corpus", "/two")


def test_a_transaction_that_fails_leaves_nothing_behind(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. "])

    def move_and_fail() -> None:
        with corpus.record.transaction() as record:
            record.documents.move({corpus.id_of("a.md"): "b.md"})
            record.db.run("select 1 / 0")

    with pytest.raises(StoreError):
        move_and_fail()
    assert [row.path for row in corpus.record.documents.rows(corpus.name)] == ["a.md"]


def test_errors_of_the_database_carry_no_values_of_the_statement(corpus: Corpus) -> None:
    with pytest.raises(StoreError) as caught:
        corpus.record.db.run("select cast(:value as int)", value="a secret text")

    assert "a secret text" not in caught.value.message


def test_texts_come_back_as_extracted_and_once_cut_as_rebuilt_from_the_leaves(corpus: Corpus) -> None:
    texts = ["Erste Zeile. ", "  zweite\n\n", "dritte 🚦 | Zeile"]
    version = corpus.scan("a.md", texts)
    before = corpus.record.documents.texts([version])
    cut_version = corpus.add("a.md", texts)

    after = corpus.record.documents.texts([cut_version.version_id])
    assert before == {version: "".join(texts)}
    assert after == {cut_version.version_id: "".join(texts)}


def test_overlapping_leaves_rebuild_the_text_once(corpus: Corpus) -> None:
    from dataclasses import replace

    corpus.scan("a.md", ["abcdefgh"])
    version = cut(corpus.id_of("a.md"), 1, ["abcdef", "defgh"])
    first, second = version.leaves
    version = replace(version, leaves=(replace(first, start=0, end=6), replace(second, start=3, end=8)))
    corpus.record.leaves.make_current([version], {leaf.id for leaf in version.leaves}, "english")

    assert corpus.record.documents.texts([version.version_id]) == {version.version_id: "abcdefgh"}


def test_pending_are_new_versions_and_those_cut_by_another_recipe(corpus: Corpus) -> None:
    corpus.add("cut.md", ["One."])
    corpus.scan("new.md", ["Two."])

    pending = corpus.record.documents.pending(corpus.name, CHUNK_RECIPE)
    assert [(item.path, item.replaces) for item in pending] == [("new.md", None)]
    assert {item.path for item in corpus.record.documents.pending(corpus.name, "cut otherwise")} == {"cut.md", "new.md"}


def test_a_pending_version_names_the_one_it_replaces(corpus: Corpus) -> None:
    old = corpus.add("a.md", ["One."])
    corpus.scan("a.md", ["Two."])

    (item,) = corpus.record.documents.pending(corpus.name, CHUNK_RECIPE)
    assert item.replaces == old.version_id


def test_two_documents_swap_their_paths(corpus: Corpus) -> None:
    corpus.add("a.md", ["A."])
    corpus.add("b.md", ["B."])
    corpus.record.documents.move({corpus.id_of("a.md"): "b.md", corpus.id_of("b.md"): "a.md"})

    assert {row.path: row.id for row in corpus.record.documents.rows(corpus.name)} == {
        "b.md": corpus.id_of("a.md"),
        "a.md": corpus.id_of("b.md"),
    }


def test_an_edit_keeps_the_ids_and_vectors_of_unchanged_leaves_and_drops_the_others(corpus: Corpus) -> None:
    first = corpus.add("a.md", ["Kept. ", "Gone. "])
    second = corpus.add("a.md", ["New. ", "Kept. "])

    kept, gone = (leaf.id for leaf in first.leaves)
    assert corpus.record.leaves.known([corpus.id_of("a.md")]) == {leaf.id for leaf in second.leaves}
    assert kept in {leaf.id for leaf in second.leaves}
    assert gone not in {leaf.id for leaf in second.leaves}
    assert vectors(corpus) == 2


def test_equal_leaves_of_one_document_are_two_rows(corpus: Corpus) -> None:
    corpus.add("a.md", ["Same. ", "Same. "])

    assert count(corpus.record, "leaf") == 2


def test_the_words_of_a_leaf_are_indexed_in_its_language_with_its_context(corpus: Corpus) -> None:
    corpus.add("a.md", ["Running horses."])

    assert corpus.record.db.rows("select cast(search as text) from leaf") == [("'hors':2 'run':1",)]


def test_an_unknown_language_is_named(corpus: Corpus) -> None:
    corpus.scan("a.md", ["One."])
    version = cut(corpus.id_of("a.md"), 1, ["One."])

    with pytest.raises(SettingsError, match="klingon"):
        corpus.record.leaves.make_current([version], {leaf.id for leaf in version.leaves}, "klingon")


def test_summaries_come_back_with_their_hashes_and_a_second_save_replaces_them(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    node = corpus.summarize("a.md", "First text.")
    corpus.summarize("a.md", "Second text.")

    (tree,) = corpus.record.summaries.trees(corpus.name)
    assert {key: stored.text_hash for key, stored in tree.stored.items()} == {node: content_hash("Second text.")}
    assert corpus.record.summaries.texts([node]) == {node: "Second text."}


def test_a_failed_summary_keeps_its_reason_and_no_text(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    row = summary_row(corpus.target("a.md"), "", failure="refusal")
    corpus.save([row])

    (tree,) = corpus.record.summaries.trees(corpus.name)
    assert tree.stored[row.id].failure == "refusal"


def test_a_tree_tells_leaves_and_sections_in_order(corpus: Corpus) -> None:
    version = corpus.add("a.md", ["One. ", "Two. ", "Three."], sections=[(0, 1), (2, 2)])

    (tree,) = corpus.record.summaries.trees(corpus.name, with_leaves=True)
    assert tree.leaves == tuple((leaf.id, leaf.content_hash) for leaf in version.leaves)
    assert [(row.first_leaf, row.last_leaf) for row in tree.sections] == [(0, 1), (2, 2)]
    assert (tree.leaf_count, tree.version_number) == (3, 1)


def test_shards_limit_what_is_read(corpus: Corpus) -> None:
    for name in ("a.md", "b.md", "c.md"):
        corpus.add(name, [f"Text of {name}"])
    shard = shard_of(corpus.id_of("b.md"))

    for read in (corpus.record.documents.rows, corpus.record.summaries.trees):
        assert "b.md" in {item.path for item in read(corpus.name, [shard])}
        assert read(corpus.name, []) == []


def test_remembered_answers_are_found_by_both_hashes_and_per_dataset(corpus: Corpus) -> None:
    corpus.record.summaries.remember(corpus.name, {("child", "recipe"): "text"})
    other = Corpus(corpus.record, "another")

    assert corpus.record.summaries.answers(corpus.name, [("child", "recipe"), ("child", "other")]) == {
        ("child", "recipe"): "text"
    }
    assert other.record.summaries.answers(other.name, [("child", "recipe")]) == {}


def test_the_ledger_adds_up_the_calls_of_a_run(corpus: Corpus) -> None:
    call = Call("", NodeKind.DOCUMENT_SUMMARY, "new", "model", 100, 20, 0.25, 1.5, "ok")
    corpus.record.ledger.add(corpus.name, "run 1", [call, call])
    corpus.record.ledger.add(corpus.name, "run 2", [call])

    assert count(corpus.record, "ledger") == 3
    assert corpus.record.db.rows("select sum(usd) from ledger where run_id = 'run 1'") == [(0.5,)]


def test_the_ledger_keeps_every_field_of_every_call_in_order(corpus: Corpus) -> None:
    node = derive_id("node")
    calls = [
        Call(node, NodeKind.DOCUMENT_SUMMARY, "new", "model", 2**33, 20, 1, 1.5, "ok"),
        Call("", "embedding", "edited", "embed", 7, 0, 0.125, 0.25, "http 500"),
    ]
    corpus.record.ledger.add(corpus.name, "run", calls)

    assert corpus.record.db.rows(
        "select node_id::text, kind, cause, model, tokens_in, tokens_out, usd, seconds, outcome from ledger order by id"
    ) == [
        (node, "document_summary", "new", "model", 2**33, 20, 1.0, 1.5, "ok"),
        (None, "embedding", "edited", "embed", 7, 0, 0.125, 0.25, "http 500"),
    ]


def test_a_call_is_in_the_ledger_for_others_as_soon_as_it_was_added(corpus: Corpus) -> None:
    call = Call("", "embedding", "new", "model", 100, 0, 0.25, 1.5, "ok")
    corpus.record.ledger.add(corpus.name, "run", [call, call])

    url = corpus.record.db.engine.url.set(drivername="postgresql+psycopg")
    engine = sa.create_engine(url)
    with engine.connect() as other:
        seen = other.execute(sa.text("select count(*) from overstory.ledger")).scalar()
    engine.dispose()
    assert seen == 2


def test_vectors_come_back_as_they_were_stored(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    corpus.summarize("a.md", "Some text.")

    ids, hashes, found = corpus.record.vectors.document_summaries(corpus.name, corpus.embedder.embedding_hash)
    assert (ids, hashes) == ([corpus.id_of("a.md")], [content_hash("Some text.")])
    np.testing.assert_array_equal(found, corpus.embedder.embed(["Some text."]))


def test_fewer_vectors_than_texts_are_refused(corpus: Corpus) -> None:
    row = VectorRow(NodeId(corpus.id_of("x")), NodeKind.LEAF, 0, None)

    with pytest.raises(EmbeddingError):
        corpus.record.vectors.upsert(corpus.name, corpus.embedder.embedding_hash, [row], corpus.embedder.embed([]))


def test_nodes_without_a_vector_are_current_leaves_and_usable_summaries(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    corpus.summarize("a.md", "Some text.")
    corpus.add("b.md", ["Three. ", "Four."])
    corpus.save([summary_row(corpus.target("b.md"), "", failure="refusal")])
    corpus.record.vectors.prepare(corpus.name, "another", 128)

    found = [text for _, text in corpus.record.vectors.without_vector(corpus.name, "another")]
    assert sorted(found) == ["Four.", "One. ", "Some text.", "Three. ", "Two."]
    assert list(corpus.record.vectors.without_vector(corpus.name, corpus.embedder.embedding_hash)) == []


def test_the_switch_to_another_embedding_drops_the_old_table(corpus: Corpus) -> None:
    corpus.add("a.md", ["One."])
    old = table_name(corpus.name, corpus.embedder.embedding_hash)
    corpus.record.vectors.prepare(corpus.name, "another", 128)
    corpus.record.vectors.finish_load(corpus.name, "another")

    assert corpus.record.vectors.serving(corpus.name) == "another"
    assert corpus.record.db.rows("select to_regclass(:old)", old=old) == [(None,)]


def test_a_large_table_is_indexed_and_a_search_uses_the_index(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overstory.adapters.postgres.vectors.INDEX_FROM_ROWS", 10)
    corpus.add("a.md", [f"Text number {n}. " for n in range(200)])
    corpus.record.vectors.finish_load(corpus.name, corpus.embedder.embedding_hash)
    table = table_name(corpus.name, corpus.embedder.embedding_hash)

    assert {
        name for (name,) in corpus.record.db.rows("select indexname from pg_indexes where tablename = :t", t=table)
    } >= {
        f"{table}_leaves",
        f"{table}_upper",
    }
    assert len(corpus.search("text number", leaves=150, summaries=0).hits) == 150


def test_unchanged_memberships_are_not_written_again(corpus: Corpus) -> None:
    corpus.add("a.md", ["One."])
    cluster = ClusterId(derive_id("cluster", "x"))
    model = StoredModel(b"model", 1, "hash")
    memberships = {cluster: [(corpus.id_of("a.md"), 0.3)]}
    corpus.record.clusters.save(corpus.name, 2, model, memberships)
    before = corpus.record.db.rows("select xmin::text from membership")
    corpus.record.clusters.save(corpus.name, 2, model, memberships)

    assert corpus.record.db.rows("select xmin::text from membership") == before
    assert corpus.record.clusters.model(corpus.name, 2) == model


def test_a_removed_cluster_takes_its_summary_along_and_names_it(corpus: Corpus) -> None:
    corpus.add("a.md", ["One. ", "Two."])
    corpus.summarize("a.md", "Some text.")
    node = corpus.cluster(["a.md"], "Cluster text.")

    removed = corpus.record.clusters.save(corpus.name, 2, None, {})
    assert removed == [node]
    assert count(corpus.record, "cluster") == count(corpus.record, "membership") == 0


@pytest.fixture
def full(corpus: Corpus) -> Corpus:
    """A document of every kind of node in two versions, a cluster over it, and a second document."""
    corpus.add("long.md", ["Old. ", "One. ", "Two. ", "Three."])
    corpus.add("long.md", ["One. ", "Two. ", "Three. ", "Four."], sections=[(0, 1), (2, 3)])
    for ordinal in range(2):
        corpus.summarize("long.md", f"Section {ordinal}.", NodeKind.SECTION_SUMMARY, ordinal)
    corpus.summarize("long.md", "Leaf summary.", NodeKind.CHUNK_SUMMARY, 0)
    corpus.summarize("long.md", "Whole document.")
    corpus.cluster(["long.md"], "Cluster text.")
    return corpus


def test_purge_removes_every_summary_of_a_document_and_names_them(full: Corpus) -> None:
    purged = full.record.summaries.purge([full.id_of("long.md")])
    full.record.vectors.delete(full.name, purged)

    assert len(purged) == 4
    assert full.record.db.rows("select kind from summary") == [("cluster_summary",)]
    assert vectors(full) == 4 + 1


def test_deleting_the_last_document_leaves_no_row_and_no_vector(full: Corpus) -> None:
    document = full.id_of("long.md")
    with full.record.transaction() as record:
        nodes = [*record.leaves.known([document]), *record.summaries.purge([document])]
        record.vectors.delete(full.name, [*nodes, *record.documents.delete([document])])
        record.clusters.save(full.name, 2, None, {})

    assert {table: count(full.record, table) for table in TABLES_OF_DOCUMENTS} == dict.fromkeys(TABLES_OF_DOCUMENTS, 0)
    assert count(full.record, "cluster") == 0
    assert vectors(full) == 0


def test_deleting_one_document_leaves_the_other_whole(full: Corpus) -> None:
    other = full.add("other.md", ["Five. ", "Six."])
    full.record.vectors.delete(full.name, list(full.record.leaves.known([full.id_of("long.md")])))
    full.record.documents.delete([full.id_of("long.md")])

    assert full.record.documents.texts([other.version_id]) == {other.version_id: "Five. Six."}
    assert [row.path for row in full.record.documents.rows(full.name)] == ["other.md"]


def test_a_dataset_is_held_against_other_builds_and_given_back(record: PostgresRecord) -> None:
    other = PostgresRecord.open(record.db.engine.url.render_as_string(hide_password=False))
    with record.lock("corpus"):
        with pytest.raises(BuildLocked), other.lock("corpus"):
            pass
        with other.lock("another"):
            pass
    with other.lock("corpus"):
        pass
    other.close()


def test_a_lock_dies_with_the_connection_of_its_holder(record: PostgresRecord) -> None:
    other = PostgresRecord.open(record.db.engine.url.render_as_string(hide_password=False))
    key = sa.text("select pg_advisory_lock(hashtextextended('overstory.build.corpus', 0))")
    holder = other.db.engine.connect()
    holder.execute(key)
    pid = holder.scalar(sa.text("select pg_backend_pid()"))
    holder.invalidate()
    while record.db.rows("select from pg_stat_activity where pid = :pid", pid=pid):
        pass  # The server takes a moment to see that its peer is gone.

    with record.lock("corpus"):
        pass
    other.close()


def test_the_oldest_change_is_none_where_nothing_is_stale(full: Corpus) -> None:
    assert full.record.oldest_change([], []) is None
    assert full.record.oldest_change([full.id_of("long.md")], []) is not None
