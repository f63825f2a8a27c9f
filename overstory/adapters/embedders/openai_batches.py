"""The calls of one ``embed``: batches of texts, halved where they do not fit, each attempt metered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from overstory.adapters.embedders.openai_reply import read_tokens, read_vectors
from overstory.adapters.metering import AttemptError, Clock, Gate, Retries, StoppedError, call_with_retries
from overstory.adapters.openai_endpoint import Endpoint
from overstory.errors import ContextOverflow, EmbeddingError, OverstoryError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from openai import AsyncOpenAI

    Rows = list[NDArray[np.float64]]

log = logging.getLogger(__name__)

SHORTEST_CHARS = 32
"""A model that does not take a text of this length takes none."""

Meter = Callable[[str, int, float], None]
"""Told the outcome, the input tokens and the seconds of each call that the endpoint saw."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts to send in one call."""

    places: tuple[int, ...]
    """Where each text's vector belongs."""
    texts: tuple[str, ...]
    tokens: int

    def halves(self) -> tuple[Batch, Batch]:
        """Two batches of half the texts each."""
        middle = len(self.texts) // 2
        tokens = self.tokens // 2
        return (
            Batch(self.places[:middle], self.texts[:middle], tokens),
            Batch(self.places[middle:], self.texts[middle:], self.tokens - tokens),
        )

    def beginning(self) -> Batch:
        """The first half of its only text."""
        text = self.texts[0]
        return Batch(self.places, (text[: len(text) // 2],), self.tokens // 2)


def batches(
    texts: Sequence[tuple[int, str]], count: Callable[[str], int], *, max_texts: int, max_tokens: int
) -> Iterator[Batch]:
    """Batches in order, each of at most ``max_texts`` texts and ``max_tokens`` tokens, or of one longer text."""
    chosen: list[tuple[int, str]] = []
    tokens = 0
    for place, text in texts:
        size = count(text)
        if chosen and (len(chosen) == max_texts or tokens + size > max_tokens):
            yield _batch(chosen, tokens)
            chosen, tokens = [], 0
        chosen.append((place, text))
        tokens += size
    if chosen:
        yield _batch(chosen, tokens)


def _batch(chosen: list[tuple[int, str]], tokens: int) -> Batch:
    places, texts = zip(*chosen, strict=True)
    return Batch(places, texts, tokens)


@dataclass(slots=True)
class BatchEmbedder:
    """Asks one endpoint for the vectors of batches; belongs to one event loop."""

    client: AsyncOpenAI
    endpoint: Endpoint
    dimension: int | None
    """Dimensions to ask for; None for as many as the model has."""
    gate: Gate
    retries: Retries
    meter: Meter
    clock: Clock
    now: Callable[[], datetime]
    answered: bool
    """Whether the endpoint has answered before: then a refused connection is worth another attempt."""

    async def __call__(self, item: Batch) -> tuple[Batch, Rows]:
        """The batch with its vectors; raises what ends the whole ``embed``."""
        try:
            return item, await self._rows(item)
        except StoppedError:
            raise asyncio.CancelledError from None
        except OverstoryError:
            self.gate.stop()
            raise

    async def drain(self) -> None:
        """Begin nothing new: vectors that still arrive would be thrown away with the rest."""
        self.gate.stop()

    async def _rows(self, batch: Batch) -> Rows:
        try:
            return await call_with_retries(
                lambda: self._attempt(batch),
                gate=self.gate,
                retries=self.retries,
                key=f"embedding/{batch.places[0]}",
                tokens=batch.tokens,
            )
        except ContextOverflow as error:
            if len(batch.texts) > 1:
                first, second = batch.halves()
                return [*await self._rows(first), *await self._rows(second)]
            if len(batch.texts[0]) <= SHORTEST_CHARS:
                raise self._takes_nothing() from error
        log.warning("A text of %d tokens is too long to embed: its end does not count", batch.tokens)
        return await self._rows(batch.beginning())

    async def _attempt(self, batch: Batch) -> Rows:
        started = self.clock()
        try:
            reply = await self._ask(batch)
            rows = read_vectors(reply, len(batch.texts), f"openai:{self.endpoint.model}")
        except AttemptError as failure:
            if failure.reached:
                tokens = batch.tokens if failure.charged else 0
                self.meter(failure.outcome, tokens, self.clock() - started)
            raise
        except ContextOverflow:
            self.meter("context overflow", 0, self.clock() - started)
            raise
        except EmbeddingError:
            self.meter("unusable vectors", batch.tokens, self.clock() - started)
            raise
        self.answered = True
        self.meter("ok", read_tokens(reply) or batch.tokens, self.clock() - started)
        return rows

    async def _ask(self, batch: Batch) -> object:
        import openai

        dimensions: dict[str, Any] = {} if self.dimension is None else {"dimensions": self.dimension}
        encoding: Literal["base64"] = "base64"  # fewer bytes than digits; the default of the client too
        try:
            async with asyncio.timeout(self.endpoint.timeout_seconds):
                return await self.client.embeddings.create(
                    model=self.endpoint.model, input=list(batch.texts), encoding_format=encoding, **dimensions
                )
        except (openai.OpenAIError, ValueError, TimeoutError) as error:
            # "from None": a vendor's message may repeat the key or a document's text
            raise self.endpoint.translated(error, answered=self.answered, now=self.now()) from None

    def _takes_nothing(self) -> EmbeddingError:
        return EmbeddingError(
            f"The model {self.endpoint.model} refuses a text of {SHORTEST_CHARS} characters as too long",
            hint="Check that the model embeds texts",
        )
