"""Which embedder a query is asked with: the one that made the vectors that serve, whatever the settings name by now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from overstory.errors import EmbeddingError, ModelError, SettingsError
from overstory.known_embedders import KnownEmbedder, KnownEmbedders, RecognizedEmbedder
from overstory.ports import Embedder

if TYPE_CHECKING:
    from overstory.ports import Vectors

EmbedderOf = Callable[[str | None], Embedder]
"""The embedder of an embedding_hash; of the settings where nothing serves yet."""


@dataclass(slots=True)
class FormerEmbedder:
    """The embedder of the vectors that still serve, while the settings name another: its errors say so."""

    inner: Embedder
    dataset: str
    name: str = field(init=False)
    paid: bool = field(init=False)

    def __post_init__(self) -> None:
        self.name, self.paid = self.inner.name, self.inner.paid

    @property
    def dimension(self) -> int:
        """The length of its vectors."""
        return self.inner.dimension

    @property
    def embedding_hash(self) -> str:
        """Of the vectors that serve."""
        return self.inner.embedding_hash

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), float32, rows L2-normalized."""
        with still_needed(self.dataset, self.name):
            return self.inner.embed(texts)


@contextmanager
def still_needed(dataset: str, name: str) -> Iterator[None]:
    """Errors of the block as those of an embedder that searches need until a build with another one has ended."""
    try:
        yield
    except (SettingsError, EmbeddingError, ModelError) as error:
        raise type(error)(
            f"Searches of dataset '{dataset}' need {name} until a build with the new embedder has ended: "
            f"{error.message}",
            hint=f"Build to the end: overstory build. Or: {error.hint}",
            dataset=dataset,
        ) from error


@dataclass(frozen=True, slots=True)
class ServingEmbedders:
    """Opens the embedder of an embedding, once for as many searches as there are."""

    dataset: str
    named: Callable[[], Embedder]
    """Opens the embedder that the settings name."""
    reopen: Callable[[KnownEmbedder], Embedder]
    """Opens one that the record remembers."""
    default: Callable[[], Embedder]
    """Opens the embedder that needs no settings, of which the record need not remember anything."""
    known: KnownEmbedders
    _opened: dict[str, Embedder] = field(default_factory=dict)

    def __call__(self, embedding_hash: str | None) -> Embedder:
        """The embedder of an embedding; of the settings where nothing serves yet.

        Raises:
            SettingsError: It cannot be opened any more.
        """
        if embedding_hash is None:
            return self.named()
        if embedding_hash not in self._opened:
            self._opened[embedding_hash] = self._open(embedding_hash)
        return self._opened[embedding_hash]

    def _open(self, embedding_hash: str) -> Embedder:
        makers = self.known.making(embedding_hash)
        if not makers:
            return self._unremembered(embedding_hash)
        named = self._named()
        if isinstance(named, RecognizedEmbedder) and named.recipe in {maker.recipe for maker in makers}:
            if named.embedding_hash == embedding_hash:
                return named
            raise _other_vectors(self.dataset, named.name)
        for maker in makers:
            with still_needed(self.dataset, maker.name):
                former = self.reopen(maker)
                if former.embedding_hash == embedding_hash:
                    return FormerEmbedder(former, self.dataset)
        raise _other_vectors(self.dataset, makers[0].name)

    def _unremembered(self, embedding_hash: str) -> Embedder:
        """That of the settings, or the default one; an endpoint is asked only where it can be no other."""
        named = self._named()
        if named and not isinstance(named, RecognizedEmbedder) and named.embedding_hash == embedding_hash:
            return named
        default = self.default()
        if default.embedding_hash == embedding_hash:
            return FormerEmbedder(default, self.dataset)
        named = named or self.named()
        if named.embedding_hash == embedding_hash:
            return named
        raise SettingsError(
            f"The index of dataset '{self.dataset}' was built with another embedder than {named.name}",
            hint="Build to the end: overstory build. Or set embedding.name back",
            dataset=self.dataset,
        )

    def _named(self) -> Embedder | None:
        """The embedder of the settings; None where it lacks something, which those that serve may not need."""
        try:
            return self.named()
        except SettingsError:
            return None


def _other_vectors(dataset: str, name: str) -> SettingsError:
    return SettingsError(
        f"The index of dataset '{dataset}' was built with {name}, which gives other vectors by now",
        hint="Build again, which embeds every text anew: overstory build. Or bring the former model back",
        dataset=dataset,
    )
