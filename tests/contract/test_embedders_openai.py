"""The OpenAI-compatible embedder against a local server that speaks the protocol, well and badly."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from overstory.adapters.embedders import open_embedder
from overstory.adapters.embedders.openai_embedder import OpenAIEmbedder
from overstory.canonical import CANONICAL_SENTENCE
from overstory.errors import (
    EmbeddingError,
    ModelError,
    ModelRefusedAccess,
    ModelUnavailable,
    QuotaExhausted,
    SettingsError,
)
from overstory.ports import Metered
from overstory.settings import Prices
from tests.llm_behaviors import Behavior, Call, Response, drops, embed, error, html, insufficient_quota, rate_limited
from tests.llm_server import LLMServer, llm_server

__all__ = ["llm_server"]

SECRET = "sk-do-not-show-1234567890"
DIMENSION = 64


def opened(server: LLMServer, **options: Any) -> OpenAIEmbedder:
    chosen: dict[str, Any] = {"dimension": DIMENSION, "api_key": SECRET, "sleep": no_wait, **options}
    return OpenAIEmbedder("embed-1", base_url=server.base_url, **chosen)


async def no_wait(seconds: float) -> None:
    del seconds
    await asyncio.sleep(0)


def sent(server: LLMServer) -> list[list[str]]:
    return [call.body["input"] for call in server.embeddings]


def reply(change: Callable[[list[dict[str, Any]]], Any]) -> Behavior:
    """A good reply whose list of vectors was changed."""

    def behave(call: Call) -> Response:
        data = [
            {"object": "embedding", "index": i, "embedding": embed(text, DIMENSION)}
            for i, text in enumerate(call.body["input"])
        ]
        body = {"object": "list", "model": "m", "data": change(data)}
        return Response(json.dumps(body).encode())

    return behave


def as_base64(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for item in data:
        item["embedding"] = base64.b64encode(np.array(item["embedding"], dtype="<f4").tobytes()).decode()
    return data


def without_index(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for item in data:
        del item["index"]
    return data


def with_vector(value: object) -> Callable[[list[dict[str, Any]]], Any]:
    def change(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
        data[-1]["embedding"] = value
        return data

    return change


def with_index(value: object) -> Callable[[list[dict[str, Any]]], Any]:
    def change(data: list[dict[str, Any]]) -> list[dict[str, Any]]:
        data[-1]["index"] = value
        return data

    return change


def too_long_above(chars: int) -> Behavior:
    """400 for a call whose texts have more characters than ``chars`` together, good otherwise."""

    def behave(call: Call) -> Response:
        if sum(map(len, call.body["input"])) > chars:
            return error(400, code="context_length_exceeded")(call)
        return reply(lambda data: data)(call)

    return behave


def expected(texts: list[str]) -> list[list[float]]:
    return [embed(text, DIMENSION) for text in texts]


TEXTS = [f"text number {i}" for i in range(10)]


def test_vectors_come_in_the_order_of_the_texts(llm_server: LLMServer) -> None:
    vectors = opened(llm_server, batch_texts=3, concurrency=4).embed(TEXTS)
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    assert vectors.dtype == np.float32


def test_blank_text_is_never_sent_and_gives_zeros(llm_server: LLMServer) -> None:
    vectors = opened(llm_server).embed(["", "one", " \n\t", "two"])
    assert sent(llm_server) == [["one", "two"]]
    assert vectors.any(axis=1).tolist() == [False, True, False, True]


def test_blank_texts_alone_make_no_call(llm_server: LLMServer) -> None:
    assert not opened(llm_server).embed(["", " "]).any()
    assert llm_server.calls == []


def test_batches_are_bounded_by_number(llm_server: LLMServer) -> None:
    opened(llm_server, batch_texts=4, concurrency=1).embed(TEXTS)
    assert [len(texts) for texts in sent(llm_server)] == [4, 4, 2]


def test_batches_are_bounded_by_tokens_and_a_longer_text_goes_alone(llm_server: LLMServer) -> None:
    texts = ["a b c", "word " * 50, "d e f", "g h i"]
    opened(llm_server, batch_tokens=8, concurrency=1).embed(texts)
    assert [len(texts) for texts in sent(llm_server)] == [1, 1, 2]


def test_calls_in_flight_are_bounded(llm_server: LLMServer) -> None:
    llm_server.latency_seconds = 0.02
    opened(llm_server, batch_texts=1, concurrency=3).embed(TEXTS)
    assert llm_server.max_in_flight == 3


def test_key_of_the_named_variable_signs_in(llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    opened(llm_server, api_key=None, api_key_env="MY_KEY").embed(["text"])
    assert llm_server.embeddings[0].headers["authorization"] == f"Bearer {SECRET}"


def test_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    remote = OpenAIEmbedder("m", base_url="http://203.0.113.1/v1", api_key_env="MY_KEY", dimension=8)
    with pytest.raises(ModelRefusedAccess, match="MY_KEY is not set"):
        remote.embed(["text"])


def test_asked_dimension_is_sent(llm_server: LLMServer) -> None:
    vectors = opened(llm_server, dimension=16).embed(["text"])
    assert (llm_server.embeddings[0].body["dimensions"], vectors.shape) == (16, (1, 16))


def test_dimension_that_nobody_named_is_learned_from_one_call(llm_server: LLMServer) -> None:
    embedder = opened(llm_server, dimension=None)
    assert (embedder.dimension, embedder.embed(["text"]).shape) == (DIMENSION, (1, DIMENSION))
    assert sent(llm_server) == [[CANONICAL_SENTENCE], ["text"]]
    assert all("dimensions" not in call.body for call in llm_server.embeddings)


def test_dimension_that_nobody_named_is_told_by_the_first_answer(llm_server: LLMServer) -> None:
    embedder = opened(llm_server, dimension=None)
    assert (embedder.embed(["text"]).shape, embedder.dimension) == ((1, DIMENSION), DIMENSION)
    assert sent(llm_server) == [["text"]]


def test_embedding_hash_costs_one_call(llm_server: LLMServer) -> None:
    embedder = opened(llm_server)
    assert len({embedder.embedding_hash for _ in range(2)}) == 1
    assert sent(llm_server) == [[CANONICAL_SENTENCE]]


def test_recipe_costs_no_call_and_changes_with_what_decides_vectors(llm_server: LLMServer) -> None:
    elsewhere = OpenAIEmbedder("embed-1", base_url="http://127.0.0.1:1/v1", dimension=DIMENSION)
    others = [elsewhere, opened(llm_server, dimension=None), OpenAIEmbedder("embed-2", base_url=llm_server.base_url)]
    assert len({embedder.recipe for embedder in (opened(llm_server), *others)}) == 4
    assert opened(llm_server, api_key="another", concurrency=2).recipe == opened(llm_server).recipe
    assert llm_server.calls == []


def test_opening_costs_no_call(llm_server: LLMServer) -> None:
    embedder = open_embedder(
        "openai:embed-1", base_url=llm_server.base_url, api_key_env="NONE", dimension=8, concurrency=2
    )
    assert (embedder.name, embedder.dimension, embedder.paid) == ("openai:embed-1", 8, True)
    assert llm_server.calls == []


def test_silently_changed_model_changes_the_embedding_hash(llm_server: LLMServer) -> None:
    before = opened(llm_server).embedding_hash
    flipped = [-x for x in embed(CANONICAL_SENTENCE, DIMENSION)]
    llm_server.next(reply(with_vector(flipped)))
    assert opened(llm_server).embedding_hash != before


@pytest.mark.parametrize(
    "change", [as_base64, without_index, lambda data: data[::-1]], ids=["base64", "no index", "other order"]
)
def test_variants_of_the_protocol_are_read(
    llm_server: LLMServer, change: Callable[[list[dict[str, Any]]], Any]
) -> None:
    llm_server.next(reply(change))
    np.testing.assert_allclose(opened(llm_server).embed(TEXTS), expected(TEXTS), atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[1:], "gave 9 vectors for 10 texts"),
        (lambda data: [*data, data[0]], "gave 11 vectors for 10 texts"),
        (lambda data: [], "gave 0 vectors for 10 texts"),
        (with_index(0), "to which text each belongs"),
        (with_index(10), "to which text each belongs"),
        (with_index("9"), "to which text each belongs"),
        (with_vector([0.5] * 63), "vectors of 63 dimensions where 64 were expected"),
        (with_vector([]), "vectors of 0 dimensions where 64 were expected"),
        (with_vector([float("nan")] * DIMENSION), "no finite numbers"),
        (with_vector([None] * DIMENSION), "no finite numbers"),
        (with_vector(["x"] * DIMENSION), "no finite numbers"),
        (with_vector("?not base64?"), "no finite numbers"),
        (with_vector("AAAA"), "no finite numbers"),
        (with_vector(None), "something else than a vector"),
        (with_vector([[0.5] * DIMENSION]), "something else than a vector"),
    ],
)
def test_unusable_vectors_are_an_embedding_error(
    llm_server: LLMServer, change: Callable[[list[dict[str, Any]]], Any], message: str
) -> None:
    llm_server.next(reply(change))
    with pytest.raises(EmbeddingError, match=message):
        opened(llm_server).embed(TEXTS)
    assert len(llm_server.embeddings) == 1


@pytest.mark.parametrize("bad", [error(500), error(503), rate_limited(0), drops, html()])
def test_transient_failure_is_asked_again(llm_server: LLMServer, bad: Behavior) -> None:
    llm_server.next(bad, bad)
    np.testing.assert_allclose(opened(llm_server).embed(["text"]), expected(["text"]), atol=1e-6)
    assert len(llm_server.embeddings) == 3


def test_attempts_are_bounded(llm_server: LLMServer) -> None:
    llm_server.when("text", error(500))
    with pytest.raises(ModelUnavailable, match="did not answer in 3 attempts: http 500"):
        opened(llm_server, max_attempts=3).embed(["text"])
    assert len(llm_server.embeddings) == 3


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (insufficient_quota(), QuotaExhausted),
        (error(401), ModelRefusedAccess),
        (error(404, code="model_not_found"), ModelRefusedAccess),
        (error(400), ModelError),
    ],
)
def test_lasting_refusal_is_not_asked_again(llm_server: LLMServer, bad: Behavior, kind: type[ModelError]) -> None:
    llm_server.when("text", bad)
    with pytest.raises(kind):
        opened(llm_server, batch_texts=1, concurrency=1).embed(TEXTS)
    assert len(llm_server.embeddings) == 1


def test_refused_key_is_told_by_where_it_came_from(llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    llm_server.when("text", error(401))
    with pytest.raises(ModelRefusedAccess, match="the environment variable MY_KEY"):
        opened(llm_server, api_key=None, api_key_env="MY_KEY").embed(["text"])
    with pytest.raises(ModelRefusedAccess, match="Put a valid key into api_key"):
        opened(llm_server).embed(["text"])


def test_neither_key_nor_text_is_in_an_error(llm_server: LLMServer) -> None:
    llm_server.when("text", error(401, message=f"bad key {SECRET} for 'text'"))
    with pytest.raises(ModelRefusedAccess) as caught:
        opened(llm_server).embed(["text of a document"])
    shown = f"{caught.value} {caught.value!r} {caught.value.__cause__} {opened(llm_server)!r}"
    assert SECRET not in shown
    assert "text of a document" not in shown


def test_batch_that_does_not_fit_is_halved(llm_server: LLMServer) -> None:
    llm_server.when("text", too_long_above(50))
    vectors = opened(llm_server).embed(TEXTS)
    np.testing.assert_allclose(vectors, expected(TEXTS), atol=1e-6)
    assert sorted(len(texts) for texts in sent(llm_server)) == [2, 2, 3, 3, 5, 5, 10]


def test_beginning_of_a_text_that_does_not_fit_is_embedded(llm_server: LLMServer) -> None:
    llm_server.when("word", too_long_above(600))
    text = "".join(f"word{i} " for i in range(300))
    vectors = opened(llm_server).embed([text])
    np.testing.assert_allclose(vectors, expected([text[: len(text) // 4]]), atol=1e-6)


def test_model_that_finds_everything_too_long_is_an_embedding_error(llm_server: LLMServer) -> None:
    llm_server.when("word", too_long_above(0))
    with pytest.raises(EmbeddingError, match="refuses a text of 32 characters"):
        opened(llm_server).embed(["word " * 100])


def test_calls_are_metered_with_the_counts_of_the_endpoint(llm_server: LLMServer) -> None:
    embedder = opened(llm_server, batch_texts=5, concurrency=1, prices=Prices(usd_per_mtok_embedding=10.0))
    llm_server.next(error(500))
    embedder.embed(TEXTS)
    calls = embedder.take_calls()
    assert [(call.outcome, call.kind, call.model) for call in calls] == [
        ("http 500", "embedding", "embed-1"),
        ("ok", "embedding", "embed-1"),
        ("ok", "embedding", "embed-1"),
    ]
    assert sum(call.tokens_in for call in calls) == llm_server.tokens_in
    assert sum(call.usd for call in calls) == pytest.approx(llm_server.tokens_in * 10.0 / 1e6)


def test_calls_of_an_endpoint_without_usage_are_metered_with_our_own_count(llm_server: LLMServer) -> None:
    embedder = opened(llm_server)
    llm_server.next(reply(lambda data: data))
    embedder.embed(["three more words"])
    assert [call.tokens_in for call in embedder.take_calls()] == [3]


def test_calls_are_handed_out_once_also_after_a_failure(llm_server: LLMServer) -> None:
    embedder = opened(llm_server, max_attempts=2)
    llm_server.when("text", error(500))
    with pytest.raises(ModelUnavailable):
        embedder.embed(["text"])
    assert ([call.outcome for call in embedder.take_calls()], embedder.take_calls()) == (["http 500"] * 2, [])


def test_only_remote_embedders_are_metered(llm_server: LLMServer) -> None:
    assert isinstance(opened(llm_server), Metered)
    assert not isinstance(open_embedder("wordllama"), Metered)


def test_embeds_while_the_caller_runs_an_event_loop(llm_server: LLMServer) -> None:
    async def caller() -> tuple[int, ...]:
        return opened(llm_server).embed(["text"]).shape

    assert asyncio.run(caller()) == (1, DIMENSION)


@pytest.mark.parametrize("address", ["ftp://host/v1", "host:80", "http://user:password@host/v1"])
def test_unusable_address_is_refused_when_opened(address: str) -> None:
    with pytest.raises(SettingsError, match="base_url"):
        open_embedder("openai:m", base_url=address)


@pytest.fixture
def dead_server() -> LLMServer:
    with LLMServer() as server:
        pass
    return server


def test_server_that_is_not_there_is_told_at_once(dead_server: LLMServer) -> None:
    with pytest.raises(ModelRefusedAccess, match="No model server can be reached"):
        opened(dead_server).embed(["text"])
