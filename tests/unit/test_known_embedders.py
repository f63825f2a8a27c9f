"""An embedder is recognized by its canonical vector, whatever noise is in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from overstory.canonical import alike, steady_hash
from overstory.errors import EmbeddingError
from overstory.known_embedders import KnownEmbedder, RecognizedEmbedder

if TYPE_CHECKING:
    from overstory.ports import Vectors

DIMENSION = 64


@dataclass
class OneVector:
    """Gives every text the same vector."""

    vector: Vectors
    name: str = "model"
    paid: bool = True
    asked: list[list[str]] = field(default_factory=list)

    @property
    def dimension(self) -> int:
        return len(self.vector)

    @property
    def embedding_hash(self) -> str:
        return steady_hash(self.name, self.vector)

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        return np.tile(self.vector, (len(texts), 1))


@dataclass
class Memory:
    """Remembers embedders as the record does."""

    rows: list[KnownEmbedder] = field(default_factory=list)

    def opened_by(self, recipe: str) -> KnownEmbedder | None:
        return next((row for row in self.rows if row.recipe == recipe), None)

    def making(self, embedding_hash: str) -> list[KnownEmbedder]:
        return [row for row in self.rows if row.embedding_hash == embedding_hash]

    def named(self, name: str) -> list[KnownEmbedder]:
        return [row for row in self.rows if row.name == name]

    def keep(self, known: KnownEmbedder) -> None:
        self.rows = [known, *(row for row in self.rows if not _same(row, known))]

    def note(self, known: KnownEmbedder) -> None:
        self.rows = [known if _same(row, known) else row for row in self.rows]


def _same(one: KnownEmbedder, other: KnownEmbedder) -> bool:
    return (one.recipe, one.embedding_hash) == (other.recipe, other.embedding_hash)


def unit(seed: int) -> Vectors:
    vector = np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def balanced() -> Vectors:
    """A vector in which the sum of every eighth component is nearly zero: noise turns its sign."""
    vector = unit(0).reshape(DIMENSION // 8, 8)
    vector -= vector.mean(axis=0)
    flat = vector.reshape(-1)
    return flat / np.linalg.norm(flat)


def opened(inner: OneVector, memory: Memory, recipe: str = "recipe") -> RecognizedEmbedder:
    return RecognizedEmbedder(inner, recipe, {"name": inner.name}, memory)


def test_noise_that_turns_a_sign_leaves_the_hash() -> None:
    noisy = balanced() + np.float32(1e-3)
    hashes = {steady_hash("model", vector) for vector in (balanced() - np.float32(1e-3), noisy)}
    memory = Memory()
    first = opened(OneVector(balanced() - np.float32(1e-3)), memory).embedding_hash
    assert len(hashes) == 2
    assert opened(OneVector(noisy), memory, "another address").embedding_hash == first


def test_other_model_whose_signs_are_the_same_has_another_hash() -> None:
    memory, vector = Memory(), np.abs(unit(1))
    other = np.roll(np.sort(vector), 3)
    other[: DIMENSION // 2] *= np.float32(0.01)
    assert steady_hash("model", vector) == steady_hash("model", other)
    assert not alike(vector.tolist(), other.tolist())
    first = opened(OneVector(vector), memory).embedding_hash
    assert opened(OneVector(other), memory, "another address").embedding_hash != first


def test_known_embedder_is_asked_nothing_for_its_hash_and_dimension() -> None:
    memory = Memory()
    first = opened(OneVector(unit(1)), memory).embedding_hash
    again = OneVector(unit(1))
    assert (opened(again, memory).embedding_hash, opened(again, memory).dimension) == (first, DIMENSION)
    assert again.asked == []


def test_blank_texts_alone_ask_nothing() -> None:
    memory, inner = Memory(), OneVector(unit(1))
    embedder = opened(inner, memory)
    assert embedder.dimension == DIMENSION
    inner.asked.clear()
    assert opened(inner, memory).embed(["", " \n"]).shape == (2, DIMENSION)
    assert not opened(inner, memory).embed(["", " \n"]).any()
    assert inner.asked == []


def test_doubted_embedder_is_asked_before_its_hash_is_told() -> None:
    memory = Memory()
    first = opened(OneVector(unit(1)), memory).embedding_hash
    with pytest.raises(EmbeddingError, match="changed under the same name"):
        opened(OneVector(unit(2)), memory).embed(["text"])
    assert memory.rows[0].doubted
    second = opened(OneVector(unit(2)), memory).embedding_hash
    assert second != first
    assert opened(OneVector(unit(2)), memory).embedding_hash == second


def test_former_model_has_its_former_hash_again() -> None:
    memory = Memory()
    first = opened(OneVector(unit(1)), memory).embedding_hash
    assert opened(OneVector(unit(2)), memory, "meanwhile").embedding_hash != first
    memory.rows = [replace(row, doubted=True) for row in memory.rows]
    assert opened(OneVector(unit(1)), memory).embedding_hash == first


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((1.0, 0.0), (1.0, 0.1), True),
        ((1.0, 0.0), (1.0, 0.5), False),
        ((1.0, 0.0), (1.0, 0.0, 0.0), False),
        ((0.0, 0.0), (0.0, 0.0), True),
        ((0.0, 0.0), (1.0, 0.0), False),
    ],
)
def test_canonical_vectors_are_alike_within_noise(one: tuple[float, ...], other: tuple[float, ...], same: bool) -> None:
    assert alike(one, other) is same
