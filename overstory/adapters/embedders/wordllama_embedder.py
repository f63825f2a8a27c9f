"""The default embedder: the mean of WordLlama's token vectors, from the files that its wheel carries.

WordLlama's own loader is not imported: it configures the root logger, pulls in an HTTP client and would look
for a missing file on the network. Its tokenizer and its table are read directly (docs/decisions/0006).
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from overstory.adapters.embedders.vectors import encodable, is_blank
from overstory.canonical import CANONICAL_SENTENCE, exact_hash
from overstory.errors import EmbeddingError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from overstory.ports import Vectors

DIMENSION = 256
TOKENIZER_FILE = "tokenizers/l2_supercat_tokenizer_config.json"
TABLE_FILE = "weights/l2_supercat_256.safetensors"

MAX_CHARS = 65_536
"""Of a longer text only the beginning counts, about 64 leaves, so that time and memory stay bounded."""

BATCH_TEXTS = 64
BATCH_CHARS = 262_144
"""Texts tokenized in one call; a batch ends at whichever limit comes first."""

BLOCK_TOKENS = 1_024
"""Rows of the token table summed at a time: one block stays in a core's cache."""


class _Model(NamedTuple):
    tokenizer: Tokenizer
    table: Vectors


class WordLlamaEmbedder:
    """WordLlama ``l2_supercat``: offline, free, and the same bits for the same text."""

    name = "wordllama"
    dimension = DIMENSION
    paid = False

    @cached_property
    def embedding_hash(self) -> str:
        """Changes when the files of the wheel change."""
        return exact_hash(self.name, self.embed([CANONICAL_SENTENCE])[0])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, 256), float32, rows L2-normalized; a blank text gives zeros.

        A text's vector does not depend on the other texts or on the number of threads. Only the first
        ``MAX_CHARS`` characters of a text count.

        Raises:
            EmbeddingError: The package wordllama or one of its files is missing.
        """
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        model = _model()
        batches = list(_batches(texts))

        def fill(batch: list[int]) -> None:
            for index, vector in zip(batch, _embed_batch(model, [texts[i] for i in batch]), strict=True):
                vectors[index] = vector

        threads = min(len(batches), _cores())
        if threads < 2:
            for batch in batches:
                fill(batch)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(fill, batches))
        return vectors


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Indices of the texts that are not blank, in batches bounded by number and characters."""
    batch: list[int] = []
    chars = 0
    for index, text in enumerate(texts):
        if is_blank(text):
            continue
        size = min(len(text), MAX_CHARS)
        if batch and (len(batch) == BATCH_TEXTS or chars + size > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(index)
        chars += size
    if batch:
        yield batch


def _embed_batch(model: _Model, texts: list[str]) -> Iterator[Vectors]:
    readable = [encodable(text, MAX_CHARS) for text in texts]
    encodings = model.tokenizer.encode_batch_fast(readable, add_special_tokens=False)
    scratch = np.empty((BLOCK_TOKENS, DIMENSION), dtype=np.float32)
    for encoding in encodings:
        yield _unit(_token_sum(model.table, encoding.ids, scratch))


def _token_sum(table: Vectors, ids: list[int], scratch: Vectors) -> Vectors:
    """The sum of the tokens' rows, added in the order of the text: the same bits on every machine.

    The sum stands for the mean, since the vector is normalized afterwards.
    """
    total = np.zeros(DIMENSION, dtype=np.float32)
    for start in range(0, len(ids), BLOCK_TOKENS):
        block = ids[start : start + BLOCK_TOKENS]
        rows = scratch[: len(block)]
        np.take(table, block, axis=0, out=rows, mode="clip")
        total += np.add.reduce(rows, axis=0)
    return total


def _unit(vector: Vectors) -> Vectors:
    norm = math.sqrt(float(np.square(vector, dtype=np.float64).sum()))
    return vector / np.float32(norm) if norm else vector


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _model() -> _Model:
    """The tokenizer and the table, read once in a process."""
    from safetensors import safe_open
    from tokenizers import Tokenizer

    # The tokenizer's own thread pool does not survive a fork. `embed` spreads batches over threads that end
    # with the call instead; who sets the variable keeps what they set.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    folder = _package_folder()
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.encode_special_tokens = True  # "<s>" in a document is text, not a mark
    with safe_open(folder / TABLE_FILE, framework="np") as tensors:
        table = tensors.get_tensor("embedding.weight").astype(np.float32)
    return _Model(tokenizer, table)


def _package_folder() -> Path:
    """The folder of the installed package, found without importing it."""
    spec = importlib.util.find_spec("wordllama")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    if folder is None or not (folder / TOKENIZER_FILE).is_file() or not (folder / TABLE_FILE).is_file():
        raise EmbeddingError(
            "The package wordllama with its model l2_supercat is not installed",
            hint="Install it again: pip install --force-reinstall wordllama",
        )
    return folder
