"""Recognizes an embedder that the record knows, so that its hash and dimension cost no call where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from overstory.canonical import CANONICAL_SENTENCE, alike, exact_hash, steady_hash
from overstory.errors import EmbeddingError
from overstory.ports import Call, Embedder, Metered

if TYPE_CHECKING:
    from overstory.ports import Vectors


@dataclass(frozen=True, slots=True)
class KnownEmbedder:
    """An embedder as the record remembers it."""

    recipe: str
    """The settings that decide its vectors."""
    embedding_hash: str
    name: str
    settings: Mapping[str, Any]  # Any: as the settings file spells them
    """How to open it again: a table ``embedding`` of the settings, in which no key stands."""
    canonical: tuple[float, ...]
    """Its canonical vector, which is also as long as all of its vectors."""
    checked_run: str = ""
    """The last run that compared the canonical vector."""
    doubted: bool = False
    """Whether it has given another canonical vector since: it is asked again before it is used."""


class KnownEmbedders(Protocol):
    """What the record remembers of embedders."""

    def opened_by(self, recipe: str) -> KnownEmbedder | None:
        """What a recipe opened when it was last asked."""
        ...

    def making(self, embedding_hash: str) -> list[KnownEmbedder]:
        """The embedders that have made vectors of an embedding, the one seen last first."""
        ...

    def named(self, name: str) -> list[KnownEmbedder]:
        """The embedders of a name, by any recipe, the one seen last first."""
        ...

    def keep(self, known: KnownEmbedder) -> None:
        """Note that its recipe opens this embedder from now on."""
        ...

    def note(self, known: KnownEmbedder) -> None:
        """Note its doubt and the run that compared it, where it is remembered."""
        ...


@runtime_checkable
class Recognizable(Protocol):
    """An embedder whose last digits vary: it is told from others by comparing canonical vectors."""

    @property
    def recipe(self) -> str:
        """Changes with the settings that decide its vectors; known without a call."""
        ...


class RecognizedEmbedder:
    """An embedder with the hash and the dimension that the record remembers for it.

    Whoever stores vectors has the canonical vector compared once in a run, before the first text is embedded. A search
    sends the sentence along with its first query to an endpoint: no call more.

    Args:
        inner: Embeds.
        recipe: The settings that decide its vectors.
        settings: How to open it again.
        known: The record.
        run_id: Names the build, whose processes have the vector compared once together.
        searching: Nothing is stored: compare only along with a query.
        enter: Enters a call into the ledger that only asked which embedder it is; others come by ``take_calls``.
    """

    def __init__(
        self,
        inner: Embedder,
        recipe: str,
        settings: Mapping[str, Any],
        known: KnownEmbedders,
        *,
        run_id: str = "",
        searching: bool = False,
        enter: Callable[[list[Call]], None] | None = None,
    ) -> None:
        self.name, self.paid, self.recipe = inner.name, inner.paid, recipe
        self._inner, self._settings, self._known = inner, settings, known
        self._run_id, self._searching, self._enter = run_id, searching, enter
        self._compared = searching and not inner.paid

    @property
    def dimension(self) -> int:
        """The length of its vectors."""
        return len(self._self.canonical)

    @property
    def embedding_hash(self) -> str:
        """That of the record; costs a call where the record does not know the recipe, or doubts it."""
        return self._self.embedding_hash

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), float32, rows L2-normalized; blank texts alone give zeros, unsent.

        Raises:
            EmbeddingError: The embedder gives other vectors than it gave to what is stored.
        """
        if not any(text.strip() for text in texts):
            return self._zeros(len(texts))
        known = self._self
        if self._compared or (self._run_id and known.checked_run == self._run_id):
            return self._same_length(self._inner.embed(texts))
        if self._searching:
            vectors = self._same_length(self._inner.embed([CANONICAL_SENTENCE, *texts]))
            self._compare(vectors[0])
            return vectors[1:]
        self._compare(self._canonical())
        return self._same_length(self._inner.embed(texts))

    def take_calls(self) -> list[Call]:
        """The calls since this was last asked, failed ones included; each is handed out once."""
        return self._inner.take_calls() if isinstance(self._inner, Metered) else []

    @cached_property
    def _self(self) -> KnownEmbedder:
        found = self._known.opened_by(self.recipe)
        return self._identified(self._canonical()) if found is None or found.doubted else found

    def _canonical(self) -> Vectors:
        try:
            vector: Vectors = self._inner.embed([CANONICAL_SENTENCE])[0]
        finally:
            if self._enter and (calls := self.take_calls()):
                self._enter(calls)
        return vector

    def _identified(self, vector: Vectors) -> KnownEmbedder:
        """The embedder that gives this canonical vector: one that the record knows by any settings, or a new one."""
        canonical = tuple(vector.tolist())
        others = self._known.named(self.name)
        same = next((known for known in others if alike(known.canonical, canonical)), None)
        hashed = same.embedding_hash if same else steady_hash(self.name, vector)
        if same is None and hashed in {known.embedding_hash for known in others}:
            hashed = exact_hash(self.name, vector)
        found = KnownEmbedder(
            recipe=self.recipe,
            embedding_hash=hashed,
            name=self.name,
            settings=self._settings,
            canonical=same.canonical if same else canonical,
            checked_run=self._run_id,
        )
        self._known.keep(found)
        self._compared = True
        return found

    def _compare(self, vector: Vectors) -> None:
        if not alike(self._self.canonical, vector.tolist()):
            raise self._changed()
        self._compared = True
        if self._run_id:
            self._known.note(replace(self._self, checked_run=self._run_id))

    def _same_length(self, vectors: Vectors) -> Vectors:
        if vectors.shape[1] != self.dimension:
            raise self._changed()
        return vectors

    def _changed(self) -> EmbeddingError:
        """Note the doubt, so that the next build asks before it trusts what the record remembers."""
        self._known.note(replace(self._self, doubted=True))
        return EmbeddingError(
            f"{self.name} gives other vectors than those of the index: its model was changed under the same name",
            hint="Build again, which embeds every text anew, or bring the former model back",
            embedder=self.name,
        )

    def _zeros(self, rows: int) -> Vectors:
        import numpy as np

        return np.zeros((rows, self.dimension), dtype=np.float32)
