"""What is Weaviate's own: lost servers, keys, refusals by the server, and collections that other programs made."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any
from unittest.mock import MagicMock

import pytest

from overstory.adapters.weaviate import WeaviateIndexes, open_indexes
from overstory.adapters.weaviate.index import BATCH, WeaviateIndex
from overstory.adapters.weaviate.schema import PROPERTIES, VECTOR, collection_name, description, properties, values
from overstory.adapters.weaviate.server import API_KEY, GRPC_PORT, URL, ServerAddress, WeaviateServer
from overstory.errors import RecordTooNew, SettingsError, StoreError, StoreUnavailable, Transient
from overstory.vector_index import EVERYTHING, Entry, Opening, Space
from tests.vector_entries import leaves, mixed, nodes, space, vectors
from tests.weaviate_server import CAP, WeaviateProcess, free_ports, weaviate_or_skip

KEY = "sk-this-is-a-secret"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WeaviateProcess]:
    """A server that tests may kill; the next test finds it started again."""
    server = weaviate_or_skip(tmp_path_factory.mktemp("weaviate"), QUERY_MAXIMUM_RESULTS=str(CAP))
    yield server
    server.kill()


@pytest.fixture
def store(process: WeaviateProcess) -> Iterator[WeaviateIndexes]:
    """An open store without collections."""
    if process.process is None:
        process.start()
    opened = WeaviateIndexes(WeaviateServer.connect(process.address))
    opened.server.client.collections.delete_all()
    yield opened
    opened.close()


def old_collection(store: WeaviateIndexes, told: str, lacking: set[str]) -> Space:
    """A collection as a program with fewer properties made it."""
    from weaviate.classes.config import Configure, VectorDistances

    store.server.client.collections.create(
        collection_name(space()),
        description=told,
        properties=[found for name, found in properties().items() if name not in lacking],
        vector_config=Configure.Vectors.self_provided(
            name=VECTOR, vector_index_config=Configure.VectorIndex.hnsw(distance_metric=VectorDistances.DOT)
        ),
    )
    return space()


def put(store: WeaviateIndexes, entries: list[Entry], lacking: set[str], dimension: int = 8) -> None:
    """Objects as that program wrote them."""
    objects = store.server.client.collections.get(collection_name(space()))
    for entry, vector in zip(entries, vectors(len(entries), dimension=dimension), strict=True):
        found = {name: value for name, value in values(entry).items() if name not in lacking}
        objects.data.insert(found, uuid=entry.node_id, vector={VECTOR: vector.tolist()})


def test_case_24_a_server_killed_within_an_upsert_is_transient_and_a_retry_completes(
    store: WeaviateIndexes, process: WeaviateProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries, rows = leaves(BATCH * 3), vectors(BATCH * 3)
    index = store.open(space())
    write, written = WeaviateIndex._store, []

    def write_then_die(self: WeaviateIndex, part: Any, found: Any) -> Any:
        refused = write(self, part, found)
        written.append(len(part))
        process.kill()
        return refused

    monkeypatch.setattr(WeaviateIndex, "_store", write_then_die)
    with pytest.raises(StoreUnavailable, match="does not answer") as raised:
        index.upsert(entries, rows)
    assert isinstance(raised.value, Transient)
    assert written == [BATCH]
    monkeypatch.undo()
    process.start()
    again = store.open(space())
    assert again.count() == BATCH, "what was confirmed has survived the kill"
    assert again.upsert(entries, rows).stored == BATCH * 3
    assert set(again.ids()) == set(nodes(entries))


def test_every_call_to_a_server_that_is_gone_says_so_at_once(store: WeaviateIndexes, process: WeaviateProcess) -> None:
    index = store.open(space())
    process.kill()
    for call in (
        lambda: index.search(vectors(1)[0], 3),
        lambda: index.fetch(nodes(leaves(1))),
        lambda: index.delete(nodes(leaves(1))),
        lambda: index.delete_where(EVERYTHING),
        lambda: list(index.ids()),
        index.count,
        index.drop,
        lambda: store.open(space()),
    ):
        with pytest.raises(StoreUnavailable):
            call()


def test_where_nothing_listens_the_store_is_unavailable_on_one_line() -> None:
    http, grpc = free_ports(2)
    environ = {URL: f"http://127.0.0.1:{http}", GRPC_PORT: str(grpc), API_KEY: KEY}
    with pytest.raises(StoreUnavailable) as raised:
        open_indexes(Opening(environ=environ))
    assert str(raised.value).count("\n") == 0
    assert f"127.0.0.1:{http}" in str(raised.value)
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_a_wrong_key_is_refused_without_quoting_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    locked = weaviate_or_skip(
        tmp_path_factory.mktemp("locked"),
        AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED="false",
        AUTHENTICATION_APIKEY_ENABLED="true",
        AUTHENTICATION_APIKEY_ALLOWED_KEYS="right",
        AUTHENTICATION_APIKEY_USERS="overstory",
        AUTHORIZATION_ADMINLIST_ENABLED="true",
        AUTHORIZATION_ADMINLIST_USERS="overstory",
    )
    try:
        base = {URL: f"http://127.0.0.1:{locked.http}", GRPC_PORT: str(locked.grpc)}
        with pytest.raises(StoreError, match=f"refuses the key.*{API_KEY}") as raised:
            open_indexes(Opening(environ=base | {API_KEY: KEY}))
        assert KEY not in "".join(traceback.format_exception(raised.value))
        opened = open_indexes(Opening(environ=base | {API_KEY: "right"}))
        assert opened.open(space()).upsert(leaves(2), vectors(2)).stored == 2
        opened.close()
    finally:
        locked.kill()


@pytest.mark.parametrize("url", ["ftp://host", "http://", "http://user:secret@host:1", "http://host:port", "host:8080"])
def test_an_address_that_is_none_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(SettingsError) as raised:
        ServerAddress.of({URL: url})
    assert url not in "".join(traceback.format_exception(raised.value))


def test_without_an_environment_the_server_is_this_machines() -> None:
    assert ServerAddress.of({}) == ServerAddress("127.0.0.1", 8080, 50051)


def test_a_key_is_no_part_of_what_an_address_prints() -> None:
    address = ServerAddress.of({API_KEY: KEY})
    assert KEY not in f"{address} {address!r}"


def test_case_17_what_the_server_refuses_is_reported_item_by_item(store: WeaviateIndexes) -> None:
    old_collection(store, description(space()), set())
    foreign = leaves(4)[3:]
    put(store, foreign, set(), dimension=5)  # by a foreign hand: from here on the server wants 5 numbers
    done = store.open(space()).upsert(leaves(3), vectors(3))
    assert done.stored == 0
    assert set(done.refused) == set(nodes(leaves(3)))
    assert all("length" in reason and "\n" not in reason for reason in done.refused.values())


def test_a_search_beyond_the_servers_cap_says_so(store: WeaviateIndexes) -> None:
    index = store.open(space())
    with pytest.raises(StoreError, match="maximum"):
        index.search(vectors(1)[0], CAP + 1)


def test_case_33_a_collection_of_an_older_schema_is_migrated(store: WeaviateIndexes) -> None:
    lacking = {"is_summary", "original_chunk_id"}
    entries = mixed(CAP + 30)
    lost = next(entry for entry in entries if entry.original_chunk_id)
    entries = [entry for entry in entries if entry.node_id != lost.original_chunk_id]
    older = old_collection(store, "", lacking)
    put(store, entries, lacking)
    index = store.open(older)
    kept = {entry.node_id: entry for entry in entries if entry != lost}
    assert set(index.ids()) == set(kept), "a chunk summary whose leaf nobody knows is to be made again"
    assert index.fetch(list(kept)) == kept
    leaf = next(entry.node_id for entry in entries if not entry.is_summary)
    found = index.objects.query.fetch_object_by_id(leaf, return_properties=list(PROPERTIES))
    assert found.properties["is_summary"] is False


def test_a_migrated_collection_is_not_migrated_again(store: WeaviateIndexes, monkeypatch: pytest.MonkeyPatch) -> None:
    old_collection(store, "", {"is_summary"})
    put(store, leaves(3), {"is_summary"})
    store.open(space())
    monkeypatch.setattr(WeaviateIndex, "upsert", lambda *_: pytest.fail("written again"))
    assert store.open(space()).count() == 3


def test_a_collection_of_a_newer_program_is_refused(store: WeaviateIndexes) -> None:
    old_collection(store, description(space(), version=99), set())
    with pytest.raises(RecordTooNew, match="schema 99"):
        store.open(space())


@pytest.mark.parametrize(
    "done", [MagicMock(matches=5, successful=3, failed=2), MagicMock(matches=5, successful=0, failed=0)]
)
def test_case_15_a_deletion_that_leaves_something_raises(done: MagicMock) -> None:
    objects = MagicMock()
    objects.data.delete_many.return_value = done
    server = MagicMock()
    server.calling.return_value.__exit__.return_value = None
    with pytest.raises(StoreError, match=f"deleted {done.successful} of 5"):
        WeaviateIndex(server, objects, space()).delete_where(EVERYTHING)
