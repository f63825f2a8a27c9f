"""What every store of vector indexes does alike: memory, pgvector and Weaviate."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overstory.adapters.database_url import sqlalchemy_url
from overstory.adapters.memory_index import MemoryIndexes
from overstory.adapters.postgres.database import connect
from overstory.adapters.postgres.vector_index import PgVectorIndexes
from overstory.adapters.weaviate import WeaviateIndexes
from overstory.adapters.weaviate.server import WeaviateServer
from overstory.errors import EmbeddingError, StoreError
from overstory.identity import DocumentId, NodeId, document_id
from overstory.nodes import NodeKind
from overstory.vector_index import Entry, Filter, Space, VectorIndex, VectorIndexes
from tests.conftest import DatabaseMaker
from tests.vector_entries import DIMENSION, leaves, mixed, nodes, space, vectors
from tests.weaviate_server import CAP, weaviate_or_skip

NAMES = itertools.count(1)
LOOPS = CAP * 3 + 20
"""Entries that take several rounds to delete or to list."""


@pytest.fixture(scope="module", params=["memory", "pgvector", "weaviate"])
def indexes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VectorIndexes]:
    """One store for the whole file."""
    store: VectorIndexes
    end: Callable[[], None] = lambda: None  # noqa: E731
    if request.param == "memory":
        store = MemoryIndexes()
    elif request.param == "pgvector":
        make: DatabaseMaker = request.getfixturevalue("make_database")
        database = connect(sqlalchemy_url(make(), "psycopg"))
        with database.transaction() as db:
            db.run("insert into dataset (name, source) values ('manuals', '/nowhere')")
        store = PgVectorIndexes(database)
    else:
        server = weaviate_or_skip(tmp_path_factory.mktemp("weaviate"), QUERY_MAXIMUM_RESULTS=str(CAP))
        end = server.kill
        store = WeaviateIndexes(WeaviateServer.connect(server.address))
    yield store
    store.close()
    end()


@pytest.fixture
def index(indexes: VectorIndexes) -> Iterator[VectorIndex]:
    """An empty index."""
    opened = indexes.open(new_space())
    yield opened
    opened.drop()


def new_space() -> Space:
    return space(embedding=f"{next(NAMES):064}")


def test_an_index_that_was_opened_is_empty(index: VectorIndex) -> None:
    assert (index.count(), list(index.ids())) == (0, [])
    assert index.search(vectors(1)[0], 5) == []


def test_every_property_comes_back_from_fetch_and_from_search(index: VectorIndex) -> None:
    entries = mixed(20)
    assert {entry.kind for entry in entries} >= {NodeKind.LEAF, NodeKind.CHUNK_SUMMARY, NodeKind.CLUSTER_SUMMARY}
    index.upsert(entries, vectors(20))
    assert index.fetch(nodes(entries)) == {entry.node_id: entry for entry in entries}
    assert {found.entry for found in index.search(vectors(1)[0], 50)} == set(entries)


def test_case_33_the_words_of_a_summary_find_it_with_its_original_chunk(index: VectorIndex) -> None:
    entries, rows = mixed(30), vectors(30)
    index.upsert(entries, rows)
    number = next(n for n, entry in enumerate(entries) if entry.kind is NodeKind.CHUNK_SUMMARY)
    best = index.search(rows[number], 1)[0]
    assert best.entry.is_summary
    assert best.entry.original_chunk_id == entries[number].original_chunk_id
    assert best.score == pytest.approx(1, abs=1e-5)


def test_the_same_upsert_again_changes_nothing(index: VectorIndex) -> None:
    entries, rows = mixed(20), vectors(20)
    first = index.upsert(entries, rows)
    again = index.upsert(entries, rows)
    assert (first.stored, again.stored, index.count()) == (20, 20, 20)


def test_an_upsert_replaces_vector_and_properties(index: VectorIndex) -> None:
    (entry,), (old, new) = leaves(1), vectors(2)
    index.upsert([entry], [old])
    moved = replace(entry, document_id=document_id("manuals", "other.md"))
    index.upsert([moved], [new])
    assert index.fetch([entry.node_id]) == {entry.node_id: moved}
    np.testing.assert_allclose(index.vectors([entry.node_id])[entry.node_id], new, atol=1e-6)


def test_a_property_that_is_gone_is_gone_after_an_upsert(index: VectorIndex) -> None:
    entry = next(entry for entry in mixed(9) if entry.kind is NodeKind.CHUNK_SUMMARY)
    index.upsert([entry], vectors(1))
    bare = Entry(entry.node_id, NodeKind.CLUSTER_SUMMARY, 2, None)
    index.upsert([bare], vectors(1))
    assert index.fetch([entry.node_id]) == {entry.node_id: bare}


def test_of_a_node_that_comes_twice_in_a_batch_the_last_counts(index: VectorIndex) -> None:
    (entry,), rows = leaves(1), vectors(2)
    assert index.upsert([entry, entry], rows).stored == 1
    np.testing.assert_allclose(index.vectors([entry.node_id])[entry.node_id], rows[1], atol=1e-6)


def test_nothing_may_be_upserted(index: VectorIndex) -> None:
    assert index.upsert([], vectors(0)).stored == 0


def test_another_number_of_vectors_than_entries_is_refused_as_a_whole(index: VectorIndex) -> None:
    with pytest.raises(EmbeddingError, match="2 vectors came for 3 texts"):
        index.upsert(leaves(3), vectors(2))
    assert index.count() == 0


@pytest.mark.parametrize(
    ("entry", "vector", "reason"),
    [
        (leaves(4)[3], vectors(1, dimension=3)[0], "shape"),
        (leaves(4)[3], np.full(DIMENSION, np.nan, np.float32), "finite"),
        (Entry(NodeId("x' or 1=1 --"), NodeKind.LEAF, 0, None), vectors(1)[0], "node_id"),
        (replace(leaves(4)[3], document_id=DocumentId("\x00\u202e../..")), vectors(1)[0], "document_id"),
        (replace(leaves(4)[3], original_chunk_id=NodeId('{"operator": "Or"}')), vectors(1)[0], "original_chunk_id"),
        (replace(leaves(4)[3], kind=NodeKind.CHUNK_SUMMARY), vectors(1)[0], "without its original_chunk_id"),
    ],
    ids=["dimension", "not finite", "node", "document", "original", "no original"],
)
def test_one_refused_item_is_reported_and_the_others_are_stored(
    index: VectorIndex, entry: Entry, vector: np.ndarray, reason: str
) -> None:
    good = leaves(3)
    done = index.upsert([good[0], entry, *good[1:]], [vectors(1)[0], vector, *vectors(2)])
    assert (done.stored, index.count()) == (3, 3)
    assert list(done.refused) == [entry.node_id]
    assert reason in done.refused[entry.node_id]


def test_a_vector_of_zeros_is_stored_and_scores_zero(index: VectorIndex) -> None:
    index.upsert(leaves(1), np.zeros((1, DIMENSION), np.float32))
    assert index.search(vectors(1)[0], 1)[0].score == pytest.approx(0)


def test_filters_choose_levels_and_documents(index: VectorIndex) -> None:
    entries = mixed(60)
    index.upsert(entries, vectors(60))
    owner = entries[0].document_id
    assert owner is not None
    for where in (
        Filter(levels=frozenset({0})),
        Filter(levels=frozenset({1, 2})),
        Filter(levels=frozenset({0, 2})),
        Filter(documents=frozenset({owner})),
        Filter(levels=frozenset({1}), documents=frozenset({owner})),
        Filter(documents=frozenset({document_id("manuals", "unknown.md")})),
        Filter(documents=frozenset({DocumentId("' or true --")})),
        Filter(levels=frozenset()),
        Filter(documents=frozenset()),
    ):
        met = {entry for entry in entries if where.meets(entry)}
        assert {found.entry for found in index.search(vectors(1)[0], 60, where)} == met
        assert index.count(where) == len(met)


def test_a_filter_that_few_meet_still_finds_as_many_as_were_asked_for(index: VectorIndex) -> None:
    entries = leaves(800, documents=160)
    index.upsert(entries, vectors(800))
    rare = Filter(documents=frozenset({entries[0].document_id or DocumentId("")}))
    assert len(index.search(-vectors(1)[0], 5, rare)) == 5


def test_two_datasets_never_see_each_other(indexes: VectorIndexes) -> None:
    embedding = f"{next(NAMES):064}"
    names = ["manuals", "Manuals", "manuals ", "日本語 🗂", "a/../b", "x'; drop table dataset; --", '{"a": 1}']
    spaces = [space(name, embedding) for name in names]
    if isinstance(indexes, PgVectorIndexes):
        with indexes.db.transaction() as db:
            for name in names[1:]:
                db.run("insert into dataset (name, source) values (:name, '/nowhere')", name=name)
    opened = [indexes.open(each) for each in spaces]
    for number, each in enumerate(opened):
        each.upsert(leaves(number + 1), vectors(number + 1))
    assert [each.count() for each in opened] == list(range(1, len(names) + 1))
    opened[0].drop()
    assert [each.count() for each in opened[1:]] == list(range(2, len(names) + 1))
    for each in opened[1:]:
        each.drop()


def test_two_embeddings_of_a_dataset_are_two_indexes(indexes: VectorIndexes) -> None:
    small, large = indexes.open(new_space()), indexes.open(replace(new_space(), dimension=16))
    small.upsert(leaves(2), vectors(2))
    large.upsert(leaves(3), vectors(3, dimension=16))
    assert (small.count(), large.count()) == (2, 3)
    small.drop()
    large.drop()


def test_what_was_stored_is_there_when_the_index_is_opened_again(indexes: VectorIndexes, index: VectorIndex) -> None:
    index.upsert(leaves(3), vectors(3))
    assert set(indexes.open(index.space).ids()) == set(nodes(leaves(3)))


def test_another_dimension_is_refused_when_an_index_is_opened(indexes: VectorIndexes, index: VectorIndex) -> None:
    with pytest.raises(StoreError, match="vectors of 8 numbers, not 9"):
        indexes.open(replace(index.space, dimension=9))


def test_fetch_leaves_out_what_is_not_there(index: VectorIndex) -> None:
    entries = leaves(2)
    index.upsert(entries[:1], vectors(1))
    asked = [*nodes(entries), NodeId("no id"), NodeId("")]
    assert list(index.fetch(asked)) == list(index.vectors(asked)) == nodes(entries[:1])
    assert index.fetch([]) == {}


def test_deleting_nodes_counts_those_that_were_there(index: VectorIndex) -> None:
    entries = leaves(4)
    index.upsert(entries[:3], vectors(3))
    assert index.delete([*nodes(entries[1:]), NodeId("no id")]) == 2
    assert index.delete(nodes(entries[1:])) == 0
    assert list(index.ids()) == nodes(entries[:1])


def test_case_15_more_than_a_servers_cap_is_listed_fetched_and_deleted(index: VectorIndex) -> None:
    entries = leaves(LOOPS, documents=1)
    other = leaves(1, documents=1)[0]
    kept = replace(other, node_id=document_id("manuals", "kept"), document_id=document_id("manuals", "kept.md"))  # type: ignore[arg-type]
    index.upsert([*entries, kept], vectors(LOOPS + 1))
    assert len(list(index.ids())) == len(set(index.ids())) == LOOPS + 1
    assert len(index.fetch(nodes(entries))) == LOOPS
    assert index.delete_where(Filter(documents=frozenset({entries[0].document_id or DocumentId("")}))) == LOOPS
    assert list(index.ids()) == [kept.node_id]


def test_more_nodes_than_a_servers_cap_are_deleted_by_id(index: VectorIndex) -> None:
    entries = leaves(LOOPS)
    index.upsert(entries, vectors(LOOPS))
    assert index.delete(nodes(entries)) == LOOPS
    assert index.count() == 0


def test_a_filter_without_a_condition_deletes_everything(index: VectorIndex) -> None:
    index.upsert(mixed(LOOPS), vectors(LOOPS))
    assert index.delete_where(Filter()) == LOOPS
    assert index.count() == 0


def test_a_filter_that_nothing_meets_deletes_nothing(index: VectorIndex) -> None:
    index.upsert(leaves(3), vectors(3))
    assert index.delete_where(Filter(levels=frozenset())) == 0
    assert index.count() == 3


def test_case_11_a_write_into_a_dropped_index_fails_and_makes_nothing(indexes: VectorIndexes) -> None:
    dropped = indexes.open(new_space())
    dropped.upsert(leaves(2), vectors(2))
    dropped.drop()
    with pytest.raises(StoreError):
        dropped.upsert(leaves(2), vectors(2))
    anew = indexes.open(dropped.space)
    assert anew.count() == 0
    anew.drop()


def test_dropping_twice_is_no_error(indexes: VectorIndexes) -> None:
    dropped = indexes.open(new_space())
    dropped.drop()
    dropped.drop()


@given(
    count=st.integers(1, 40),
    seed=st.integers(0, 10_000),
    limit=st.integers(1, 12),
    levels=st.one_of(st.none(), st.frozensets(st.integers(0, 2))),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_search_agrees_with_an_exact_one(
    indexes: VectorIndexes, count: int, seed: int, limit: int, levels: frozenset[int] | None
) -> None:
    index = indexes.open(new_space())
    entries, rows, query = mixed(count), vectors(count, seed), vectors(1, seed + 1)[0]
    index.upsert(entries, rows)
    where = Filter(levels=levels)
    scores = {e.node_id: float(row @ query) for e, row in zip(entries, rows, strict=True) if where.meets(e)}
    found = index.search(query, limit, where)
    index.drop()
    assert [hit.score for hit in found] == pytest.approx(sorted(scores.values(), reverse=True)[:limit], abs=1e-5)
    assert [hit.score for hit in found] == pytest.approx([scores[hit.entry.node_id] for hit in found], abs=1e-5)
