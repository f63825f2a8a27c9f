"""The default embedder: offline, silent, and independent of batches and threads."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overstory.adapters.embedders import wordllama_embedder
from overstory.adapters.embedders.wordllama_embedder import (
    BATCH_TEXTS,
    BLOCK_TOKENS,
    MAX_CHARS,
    WordLlamaEmbedder,
)
from overstory.canonical import CANONICAL_SENTENCE
from overstory.errors import EmbeddingError
from overstory.ports import Embedder

CANONICAL_VECTOR = (0.14224935, -0.03471538, -0.07117197, 0.01331236, -0.10563533, -0.07829965)
EMBEDDING_HASH = "fbb00f6ef7227fb2f8a2fa876da9a3e2587e959a606824338211db09b15c5ee0"

OFFLINE = """
import socket
def forbidden(*_, **__):
    raise AssertionError("the network was used")
socket.socket = socket.create_connection = socket.getaddrinfo = forbidden
from overstory.adapters.embedders import open_embedder
print(open_embedder("wordllama").embedding_hash)
"""

AFTER_A_FORK = """
import os
from overstory.adapters.embedders import open_embedder
embedder = open_embedder("wordllama")
texts = [f"number {i}" for i in range(500)]
before = embedder.embed(texts)
child = os.fork()
if child == 0:
    os._exit(0 if (embedder.embed(texts) == before).all() else 1)
print(os.waitpid(child, 0)[1])
"""


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "TOKENIZERS_PARALLELISM"}
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
    )


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return WordLlamaEmbedder()


def one_by_one(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    return [embedder.embed([text]).tobytes() for text in texts]


def test_vectors_are_float32_unit_rows(embedder: Embedder) -> None:
    vectors = embedder.embed(["Refunds are paid within 30 days.", "日本語の文章です。"])
    assert (vectors.shape, vectors.dtype.name) == ((2, 256), "float32")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0], abs=1e-6)


def test_no_texts_give_an_empty_array(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 256)


@pytest.mark.parametrize("text", ["", " ", "\n\t \u00a0\u3000"])
def test_blank_text_gives_the_zero_vector_among_others(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed(["before", text, "after"])
    assert not vectors[1].any()
    assert vectors[0].any()
    assert vectors[2].any()


def test_canonical_vector_is_the_pinned_one(embedder: Embedder) -> None:
    assert embedder.embed([CANONICAL_SENTENCE])[0, :6] == pytest.approx(CANONICAL_VECTOR, abs=1e-7)


def test_embedding_hash_is_the_pinned_one(embedder: Embedder) -> None:
    assert embedder.embedding_hash == EMBEDDING_HASH


def test_no_rounded_digit_of_the_canonical_vector_is_near_flipping(embedder: Embedder) -> None:
    thousandths = embedder.embed([CANONICAL_SENTENCE])[0].astype(np.float64) * 1000
    assert np.abs(np.abs(thousandths) % 1 - 0.5).min() > 1e-3


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=12))
def test_vector_does_not_depend_on_the_batch(texts: list[str]) -> None:
    embedder = WordLlamaEmbedder()
    assert [row.tobytes() for row in embedder.embed(texts)] == one_by_one(embedder, texts)


def test_vector_does_not_depend_on_the_number_of_threads(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"Section {i}: the fee is {i * 7} USD from Q{i % 4 + 1}." for i in range(5 * BATCH_TEXTS)]
    results = []
    for cores in (1, 2, 5):
        monkeypatch.setattr(wordllama_embedder, "_cores", lambda cores=cores: cores)
        results.append(embedder.embed(texts).tobytes())
    assert results[0] == results[1] == results[2]


def test_only_the_beginning_of_a_huge_text_counts(embedder: Embedder) -> None:
    beginning = ("word " * MAX_CHARS)[:MAX_CHARS]
    assert np.array_equal(embedder.embed([beginning + "zebra " * 100_000]), embedder.embed([beginning]))


def test_all_blocks_of_a_long_text_count(embedder: Embedder) -> None:
    one, other = embedder.embed(["word " * 2 * BLOCK_TOKENS + end for end in ("apples " * 900, "engines " * 900)])
    assert float(one @ other) < 0.95


def test_lone_surrogate_is_embedded_as_a_question_mark(embedder: Embedder) -> None:
    broken, mended = embedder.embed(["price \ud800 list", "price ? list"])
    assert np.array_equal(broken, mended)


def test_special_token_in_a_text_is_text(embedder: Embedder) -> None:
    end_of_sequence = wordllama_embedder._model().table[2]
    assert float(embedder.embed(["</s>"])[0] @ end_of_sequence) < 0.9 * float(np.linalg.norm(end_of_sequence))


def test_related_texts_are_nearer_than_unrelated_ones(embedder: Embedder) -> None:
    refund, money_back, engine = embedder.embed(
        ["How do I get a refund?", "Customers receive their money back.", "The turbine blade overheats."]
    )
    assert refund @ money_back > refund @ engine


def test_loading_uses_no_network_and_says_nothing() -> None:
    result = run_python(OFFLINE)
    assert (result.stdout.strip(), result.stderr) == (EMBEDDING_HASH, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_process_embeds_alike_and_says_nothing() -> None:
    result = run_python(AFTER_A_FORK)
    assert (result.stdout.strip(), result.stderr) == ("0", "")


def test_loading_leaves_the_root_logger_alone() -> None:
    code = OFFLINE + "import logging, sys; print(logging.getLogger().handlers, 'wordllama' in sys.modules)"
    assert run_python(code).stdout.splitlines()[1] == "[] False"


def test_missing_model_file_is_an_embedding_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordllama_embedder, "TABLE_FILE", "weights/gone.safetensors")
    with pytest.raises(EmbeddingError, match="wordllama with its model l2_supercat is not installed"):
        wordllama_embedder._package_folder()
