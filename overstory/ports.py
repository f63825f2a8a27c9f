"""What the core asks of the outside: one protocol per collaborator, implemented under ``adapters``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, Protocol, runtime_checkable

from overstory.nodes import NodeKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Tokenizer(Protocol):
    """Counts and cuts in a model's tokens; never fails on any text, special-token text included."""

    name: str

    def count(self, text: str) -> int:
        """The number of tokens of ``text``, at least 0."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    name: str
    paid: bool
    """Whether it asks an endpoint that charges for tokens."""

    @property
    def dimension(self) -> int:
        """The length of its vectors."""
        ...

    @property
    def embedding_hash(self) -> str:
        """Changes when the same text would get another vector: name, dimension and a canonical vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), float32, rows L2-normalized (a text without content: zeros).

        Raises:
            EmbeddingError: The number or shape of the vectors is not what was promised.
            ModelUnavailable: A remote embedder did not answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """One summary to write."""

    key: str
    """Names the request in its outcome: the id of the node to be."""
    kind: NodeKind
    parts: tuple[str, ...]
    """Texts of the children, in the order in which they are to be read."""
    target_tokens: int
    """Length to aim at; output may not exceed ``max_tokens``."""
    max_tokens: int
    cause: str = ""
    """Why it is written (new, edited, ...): kept in the ledger."""


EMBEDDING: Final = "embedding"
"""The kind of a call to an embedder."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to a model, as the ledger keeps it."""

    key: str
    """The node that it was made for; empty for an embedding, which serves many."""
    kind: NodeKind | Literal["embedding"]
    cause: str
    model: str
    tokens_in: int
    tokens_out: int
    usd: float
    seconds: float
    outcome: str
    """``ok``, or why the answer was not used: ``refusal``, ``truncated``, ``http 500``, ..."""


@runtime_checkable
class Metered(Protocol):
    """An embedder whose calls belong into the ledger, or a summarizer that may end without an outcome for some."""

    def take_calls(self) -> list[Call]:
        """The calls since this was last asked, failed ones included; each is handed out once."""
        ...


@dataclass(frozen=True, slots=True)
class SummaryOutcome:
    """What became of one request: a text, or the reason why there is none."""

    key: str
    text: str
    """The validated summary; empty exactly when ``failure`` is not."""
    failure: str = ""
    calls: tuple[Call, ...] = field(default=())


StoreOutcomes = Callable[[Sequence[SummaryOutcome]], None]


class Summarizer(Protocol):
    """Writes summaries."""

    name: str
    paid: bool
    """Whether it makes calls; if not, it runs in this process and costs nothing."""
    concurrency: int
    """Requests in flight at most; 1 for what runs in this process."""

    def recipe_hash(self, kind: NodeKind) -> str:
        """Changes when the same children would be asked for another summary: prompt, model, parameters."""
        ...

    def prompt_tokens(self, request: SummaryRequest) -> tuple[int, int]:
        """(calls, input tokens) that ``request`` will cost; (0, 0) for what is free."""
        ...

    def summarize_many(self, requests: Iterable[SummaryRequest], store: StoreOutcomes) -> None:
        """Write all summaries and hand outcomes to ``store`` as they come, several at once.

        A request counts as in flight until ``store`` has returned, so a process that dies pays at most
        ``concurrency`` calls twice.

        Raises:
            QuotaExhausted: The account is empty; outcomes so far were stored.
            ModelRefusedAccess: Wrong key, model or address; nothing can succeed.
            ModelUnavailable: The endpoint stopped answering; outcomes so far were stored.
        """
        ...


@dataclass(frozen=True, slots=True)
class FileState:
    """What a source tells of a document without reading it: where this is the same, the bytes most likely are."""

    size_bytes: int
    modified: int
    """Nanoseconds since 1970, 0 where the source does not say."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One document where it comes from."""

    path: str
    """Within the source, ``/`` between folders; valid Unicode, whatever the file system says."""
    state: FileState


@dataclass(frozen=True, slots=True)
class ClosedFolder:
    """A folder of a source that cannot be listed: nobody knows what is beneath it."""

    path: str
    """Within the source, spelled as paths of documents are."""
    reason: str


class Source(Protocol):
    """Where documents come from."""

    def files(self) -> list[SourceFile]:
        """All documents, by path.

        Raises:
            SourceError: The source cannot be listed.
        """
        ...

    def closed_folders(self) -> list[ClosedFolder]:
        """Folders that the last listing could not look into, by path; documents beneath them may still be there."""
        ...

    def unused_patterns(self) -> list[str]:
        """Patterns of the settings that matched nothing in the last listing."""
        ...

    def read(self, path: str) -> bytes:
        """The bytes of one document.

        Raises:
            ExtractionError: It cannot be read, is too large, or lies outside the source.
        """
        ...


class Progress(Protocol):
    """Told how far a stage is."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """``done`` of ``total`` items of ``stage`` are finished."""
        ...
