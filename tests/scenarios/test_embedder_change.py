"""A change of embedder: searches are served all the while, and one that is the same is recognized for nothing."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest

from overstory import api
from overstory.building.leaves import cut_leaves
from overstory.building.memberships import update_memberships
from overstory.canonical import CANONICAL_SENTENCE
from overstory.clustering import ClusterModel
from overstory.errors import EmbeddingError, ModelRefusedAccess, OverstoryError, SettingsError
from overstory.identity import ClusterId
from overstory.retrieval.collapsed import search
from overstory.retrieval.quota import Quota
from tests.llm_behaviors import Call, Response, embed
from tests.llm_server import LLMServer
from tests.scenarios.corpora import corpus, document, grouped
from tests.scenarios.workbench import DATASET, Built, Workbench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from overstory.ports import Embedder, Vectors
    from overstory.retrieval.hits import SearchResult

QUERY = "What does the garden team say about the compost?"


def remote(server: LLMServer, model: str = "embed-1", **options: Any) -> dict[str, Any]:
    """Settings of an embedder behind a server."""
    return {"name": f"openai:{model}", "base_url": server.base_url, **options}


@pytest.fixture
def remote_bench(llm_bench: Workbench, llm_server: LLMServer) -> Workbench:
    """An index of 30 documents, summarized and embedded by the local model server."""
    llm_bench.settings["embedding"] = remote(llm_server)
    llm_bench.fill(corpus(30))
    build(llm_bench)
    llm_server.reset()
    return llm_bench


@pytest.fixture
def second_server() -> Iterator[LLMServer]:
    """Another model server."""
    with LLMServer() as server:
        yield server


def build(bench: Workbench) -> Built:
    """Build as a process of its own does."""
    bench.embedder = None
    return bench.build()


def embed_some(bench: Workbench) -> None:
    """Begin an embedder change: half of the shards are embedded."""
    bench.embedder = None
    cut_leaves(bench.context(), set(range(32)))


def ask(bench: Workbench) -> SearchResult:
    """Search as a process of its own does, by the settings as they are now."""
    return api.search(bench.record, bench.dataset, QUERY)


def found(result: SearchResult) -> list[tuple[str, float]]:
    """What was served: ids and scores."""
    return [(hit.node_id, hit.score) for hit in result.hits]


def models(server: LLMServer) -> Counter[str]:
    """Embedding calls by model."""
    return Counter(call.body["model"] for call in server.embeddings)


def rosters(bench: Workbench) -> dict[str, set[str]]:
    """Members by cluster."""
    return {cluster: {member for member, _ in held} for cluster, held in bench.memberships().items()}


def other_model(call: Call) -> Response:
    """What another model of as many dimensions answers."""
    data = [
        {"object": "embedding", "index": i, "embedding": embed(f"{t[::-1]}", 64)} for i, t in enumerate(inputs(call))
    ]
    return Response(json.dumps({"object": "list", "model": "m", "data": data}).encode())


def inputs(call: Call) -> list[str]:
    """The texts of an embedding call."""
    return list(call.body["input"])


def change_model(server: LLMServer) -> None:
    """From now on another model answers under the same name."""
    server.when(lambda call: call.path == "/v1/embeddings", other_model)


# Served without a gap.


def test_search_with_new_settings_is_served_from_the_old_vectors(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    before = ask(remote_bench)
    llm_server.reset()
    remote_bench.settings["embedding"] = remote(llm_server, "embed-2", dimension=32)
    assert found(ask(remote_bench)) == found(before)
    assert models(llm_server) == {"embed-1": 1}
    embed_some(remote_bench)
    llm_server.reset()
    assert found(ask(remote_bench)) == found(before)
    assert models(llm_server) == {"embed-1": 1}
    build(remote_bench)


def test_search_asks_the_new_embedder_once_the_change_is_complete(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    remote_bench.settings["embedding"] = remote(llm_server, "embed-2", dimension=32)
    build(remote_bench)
    llm_server.reset()
    assert ask(remote_bench).hits
    assert models(llm_server) == {"embed-2": 1}


def test_embedder_change_calls_no_model_and_keeps_memberships(remote_bench: Workbench, llm_server: LLMServer) -> None:
    vectors, before = len(remote_bench.inspection.vectors(DATASET)), rosters(remote_bench)
    remote_bench.settings["embedding"] = remote(llm_server, "embed-2", dimension=32)
    assert build(remote_bench).total.embedded == vectors
    assert llm_server.chats == []
    assert rosters(remote_bench) == before


def test_new_endpoint_that_is_not_there_yet_keeps_no_search_from_being_served(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    before = ask(remote_bench)
    remote_bench.settings["embedding"] = {"name": "openai:embed-2", "base_url": "http://127.0.0.1:1/v1"}
    assert found(ask(remote_bench)) == found(before)
    remote_bench.settings["embedding"] = remote(llm_server)


def test_default_embedder_serves_until_an_endpoint_has_embedded_everything(
    bench: Workbench, llm_server: LLMServer
) -> None:
    bench.fill(corpus(12))
    bench.build()
    before = ask(bench)
    bench.settings["embedding"] = remote(llm_server)
    assert found(ask(bench)) == found(before)
    assert llm_server.calls == []
    build(bench)
    llm_server.reset()
    assert ask(bench).hits
    assert models(llm_server) == {"embed-1": 1}


def test_endpoint_serves_until_the_default_embedder_has_embedded_everything(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    before = ask(remote_bench)
    llm_server.reset()
    del remote_bench.settings["embedding"]
    embed_some(remote_bench)
    assert found(ask(remote_bench)) == found(before)
    assert len(llm_server.embeddings) == 1
    build(remote_bench)
    llm_server.reset()
    assert ask(remote_bench).hits
    assert llm_server.calls == []


def test_new_embedder_that_cannot_be_opened_keeps_no_search_from_being_served(
    remote_bench: Workbench, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask(remote_bench)
    monkeypatch.setitem(sys.modules, "fastembed", None)
    remote_bench.settings["embedding"] = {"name": "fastembed:acme/embed"}
    assert found(ask(remote_bench)) == found(before)
    remote_bench.settings["embedding"] = remote(llm_server)


# An embedder that cannot be opened any more.


def one_line(error: OverstoryError) -> str:
    """What a person reads."""
    assert "\n" not in str(error)
    return str(error)


def test_endpoint_of_the_old_vectors_that_is_gone_is_told(bench: Workbench, llm_server: LLMServer) -> None:
    with LLMServer() as gone:
        bench.settings["embedding"] = remote(gone)
        bench.fill(corpus(6))
        build(bench)
    bench.settings["embedding"] = remote(llm_server, "embed-2")
    with pytest.raises(ModelRefusedAccess) as caught:
        ask(bench)
    told = one_line(caught.value)
    assert "need openai:embed-1 until a build with the new embedder has ended" in told
    assert "overstory build" in told
    build(bench)


def test_package_of_the_old_embedder_that_is_not_installed_any_more_is_told(
    remote_bench: Workbench, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    remote_bench.run_sql(
        "update embedder set name = 'fastembed:acme/embed', settings = '{\"name\": \"fastembed:acme/embed\"}'"
    )
    del remote_bench.settings["embedding"]
    with pytest.raises(SettingsError) as caught:
        ask(remote_bench)
    told = one_line(caught.value)
    assert "need fastembed:acme/embed until" in told
    assert "pip install 'overstory[fastembed]'" in told
    build(remote_bench)


# A switch in the middle of a search.


@dataclass(slots=True)
class SwitchingEmbedder:
    """Embeds a query; meanwhile another embedder takes over."""

    inner: Embedder
    bench: Workbench
    name: str = "switching"
    paid: bool = False

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    @property
    def embedding_hash(self) -> str:
        return self.inner.embedding_hash

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = self.inner.embed(texts)
        build(self.bench)
        return vectors


def test_search_whose_vectors_are_replaced_meanwhile_is_served_from_the_new_ones(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    remote_bench.settings["embedding"] = remote(llm_server, "embed-2", dimension=32)
    ctx = api.open_search(remote_bench.dataset, remote_bench.record)
    old = remote_bench.record.vectors.serving(DATASET)

    def opened(embedding_hash: str | None) -> Embedder:
        embedder = ctx.embedder_of(embedding_hash)
        return SwitchingEmbedder(embedder, remote_bench) if embedding_hash == old else embedder

    result = search(replace(ctx, embedder_of=opened), QUERY, Quota(6, 2))
    assert result.trace.embedding_hash == remote_bench.record.vectors.serving(DATASET) != old
    assert len(result.hits) == 8


# An embedder that is the same costs nothing to recognize.


def test_search_by_an_unchanged_embedder_makes_one_call(remote_bench: Workbench, llm_server: LLMServer) -> None:
    ask(remote_bench)
    assert [inputs(call) for call in llm_server.embeddings] == [[CANONICAL_SENTENCE, QUERY]]


def test_further_searches_of_one_opening_send_the_query_alone(remote_bench: Workbench, llm_server: LLMServer) -> None:
    ctx = api.open_search(remote_bench.dataset, remote_bench.record)
    search(ctx, QUERY, Quota(6, 2))
    search(ctx, QUERY, Quota(6, 2))
    assert [inputs(call) for call in llm_server.embeddings][1:] == [[QUERY]]


def test_build_plan_and_health_with_nothing_to_do_make_no_call(remote_bench: Workbench, llm_server: LLMServer) -> None:
    build(remote_bench)
    remote_bench.embedder = None
    remote_bench.plan()
    remote_bench.health()
    assert llm_server.calls == []


def test_build_that_embeds_compares_the_canonical_vector_once(remote_bench: Workbench, llm_server: LLMServer) -> None:
    remote_bench.write("garden/new.md", document("garden", 77))
    build(remote_bench)
    assert sum(inputs(call) == [CANONICAL_SENTENCE] for call in llm_server.embeddings) == 1


def test_stages_of_one_run_in_several_processes_compare_the_canonical_vector_once(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    for _ in range(3):
        embedder = api.open_embedding(remote_bench.dataset, remote_bench.record, run_id="one run")
        embedder.embed(["a text"])
    sent = [inputs(call) for call in llm_server.embeddings]
    assert sent == [[CANONICAL_SENTENCE], ["a text"], ["a text"], ["a text"]]


def test_first_build_asks_for_the_canonical_vector_once(llm_bench: Workbench, llm_server: LLMServer) -> None:
    llm_bench.settings["embedding"] = remote(llm_server)
    llm_bench.fill(corpus(6))
    llm_bench.plan()
    build(llm_bench)
    assert sum(CANONICAL_SENTENCE in inputs(call) for call in llm_server.embeddings) == 2  # the plan, the build


def test_same_model_at_another_address_is_recognized_with_one_call(
    remote_bench: Workbench, second_server: LLMServer
) -> None:
    remote_bench.settings["embedding"] = remote(second_server)
    assert build(remote_bench).total.embedded == 0
    assert [inputs(call) for call in second_server.embeddings] == [[CANONICAL_SENTENCE]]
    assert ask(remote_bench).hits
    assert len(second_server.embeddings) == 2


def test_embedder_of_an_index_that_does_not_remember_it_is_recognized_with_one_call(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    remote_bench.run_sql("delete from embedder")
    assert build(remote_bench).total.embedded == 0
    assert [inputs(call) for call in llm_server.embeddings] == [[CANONICAL_SENTENCE]]


def test_call_that_asks_which_embedder_it_is_stands_in_the_ledger(
    remote_bench: Workbench, second_server: LLMServer
) -> None:
    before = remote_bench.record.ledger.spent(DATASET).calls
    remote_bench.settings["embedding"] = remote(second_server)
    api.open_embedding(remote_bench.dataset, remote_bench.record, run_id="a run").embedding_hash  # noqa: B018
    assert remote_bench.record.ledger.spent(DATASET, "a run").calls == 1
    assert remote_bench.record.ledger.spent(DATASET).calls == before + 1


# A model that changed under the same name.


def test_model_that_changed_is_found_by_a_search_and_told(remote_bench: Workbench, llm_server: LLMServer) -> None:
    change_model(llm_server)
    with pytest.raises(EmbeddingError) as caught:
        ask(remote_bench)
    told = one_line(caught.value)
    assert "openai:embed-1 gives other vectors than those of the index" in told
    assert "Build again" in told
    build(remote_bench)


def test_model_that_changed_is_found_by_a_build_before_it_stores_a_vector(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    before = remote_bench.inspection.vectors(DATASET)
    change_model(llm_server)
    remote_bench.write("garden/new.md", document("garden", 77))
    with pytest.raises(EmbeddingError, match="changed under the same name"):
        build(remote_bench)
    assert remote_bench.inspection.vectors(DATASET) == before
    assert len(llm_server.embeddings) == 1
    build(remote_bench)


def test_build_after_a_changed_model_was_told_embeds_everything_and_calls_no_model(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    vectors, before = len(remote_bench.inspection.vectors(DATASET)), rosters(remote_bench)
    change_model(llm_server)
    with pytest.raises(EmbeddingError):
        ask(remote_bench)
    remote_bench.embedder = None
    assert remote_bench.plan().embeddings == {"new embedder": vectors}
    with pytest.raises(SettingsError, match="gives other vectors by now"):
        ask(remote_bench)
    assert build(remote_bench).total.embedded == vectors
    assert llm_server.chats == []
    assert rosters(remote_bench) == before
    assert ask(remote_bench).hits


def test_former_model_that_is_back_is_recognized_and_embeds_nothing(
    remote_bench: Workbench, llm_server: LLMServer
) -> None:
    change_model(llm_server)
    with pytest.raises(EmbeddingError):
        ask(remote_bench)
    llm_server.reset()
    assert build(remote_bench).total.embedded == 0
    assert [inputs(call) for call in llm_server.embeddings] == [[CANONICAL_SENTENCE]]
    assert ask(remote_bench).hits


def test_model_of_other_dimensions_under_the_same_name_is_told(remote_bench: Workbench, llm_server: LLMServer) -> None:
    llm_server.dimensions = 32
    with pytest.raises(EmbeddingError, match="changed under the same name"):
        ask(remote_bench)
    build(remote_bench)


# Clusters.


@pytest.fixture
def failing(loose_bench: Workbench, llm_server: LLMServer) -> tuple[Workbench, str]:
    """An index in which all members of one cluster have failed since, about to be embedded anew; with that cluster."""
    loose_bench.settings["clusters"] = {"target_size": 4}
    loose_bench.fill(grouped(10, 4))
    loose_bench.build()
    held = rosters(loose_bench)
    cluster = min(held, key=lambda each: len(held[each]))
    loose_bench.run_sql(
        "update summary set text = '', failure = 'refusal' where document_id = any(cast(:ids as uuid[]))",
        ids=sorted(held[cluster]),
    )
    loose_bench.settings["embedding"] = remote(llm_server)
    return loose_bench, cluster


def test_cluster_of_failed_nodes_alone_outlives_an_embedder_change(failing: tuple[Workbench, str]) -> None:
    bench, cluster = failing
    before = rosters(bench)
    build_without_summaries(bench)
    assert rosters(bench) == before
    assert before[cluster]


def test_cluster_of_failed_nodes_alone_lies_where_their_leaves_do(failing: tuple[Workbench, str]) -> None:
    bench, cluster = failing
    build_without_summaries(bench)
    stored = bench.record.clusters.model(DATASET, 2)
    assert stored is not None
    model = ClusterModel.from_bytes(stored.state)
    assert model.centroids[model.ids.index(ClusterId(cluster))].any()


def build_without_summaries(bench: Workbench) -> None:
    """Build while no summary can be made: those that failed stay failed."""
    bench.embedder = None
    cut_leaves(bench.context())
    update_memberships(bench.context())
