"""Vectors from any endpoint that speaks the OpenAI embeddings protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from overstory.adapters.embedders.openai_batches import Batch, BatchEmbedder, batches
from overstory.adapters.embedders.vectors import encodable, is_blank, unit_rows
from overstory.adapters.in_flight import LoopThread, run_in_flight
from overstory.adapters.metering import Clock, Gate, Retries, Sleep, usd
from overstory.adapters.openai_endpoint import Endpoint
from overstory.adapters.tokenizers import OpenAITokenizer
from overstory.canonical import CANONICAL_SENTENCE, steady_hash
from overstory.identity import digest
from overstory.ports import EMBEDDING, Call, Tokenizer
from overstory.settings import Prices

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from overstory.adapters.embedders.openai_batches import Rows
    from overstory.ports import Vectors

MAX_CHARS = 65_536
"""Of a longer text only the beginning counts; models take 512 to 32,768 tokens."""


class OpenAIEmbedder:
    """Embeds with a model behind an OpenAI-compatible endpoint.

    Args:
        model: The model's name there.
        base_url: The endpoint, usually ending in ``/v1``; nothing else is connected to.
        api_key_env: Names the environment variable that holds the key; a loopback endpoint may go without.
        api_key: The key itself, for programs that have it from elsewhere.
        dimension: Dimensions to ask for; None for as many as the model has, which the first call tells.
        concurrency: Calls in flight at most.
        batch_texts: Texts in one call at most; some servers take no more than 32.
        batch_tokens: Tokens in one call at most, where one text does not exceed them.
        prices: Dollars a million tokens, for the ledger.
        timeout_seconds: For one attempt, from connecting to the last byte.
        max_attempts: Attempts at one call after transient failures.
        tokenizer: Counts the tokens of a batch, and of a call where the endpoint does not say.
        clock: Monotonic seconds.
        sleep: Waits for seconds.
        now: Compared to a ``Retry-After`` date.

    Raises:
        SettingsError: The address is not usable.
    """

    paid = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        api_key_env: str = "OPENAI_API_KEY",
        api_key: str | None = None,
        dimension: int | None = None,
        concurrency: int = 8,
        batch_texts: int = 32,
        batch_tokens: int = 16_000,
        prices: Prices | None = None,
        timeout_seconds: float = 60.0,
        max_attempts: int = 5,
        tokenizer: Tokenizer | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = f"openai:{model}"
        self.concurrency = concurrency
        self._endpoint = Endpoint(base_url, model, api_key_env, api_key, timeout_seconds)
        self._asked_dimension = dimension
        self._told_dimension: int | None = None
        self._limits = (batch_texts, batch_tokens)
        self._usd_per_mtok = (prices or Prices()).usd_per_mtok_embedding
        self._retries = Retries(max_attempts)
        self._count = (tokenizer or OpenAITokenizer()).count
        self._clock, self._sleep, self._now = clock, sleep, now
        self._calls: list[Call] = []
        self._answered = False

    def __repr__(self) -> str:
        """The address and the model, never the key."""
        return f"OpenAIEmbedder({self._endpoint.model!r}, base_url={self._endpoint.base_url!r})"

    @property
    def recipe(self) -> str:
        """Changes with the address, the model and the number of dimensions asked for."""
        return digest("embedder", self.name, self._endpoint.base_url, str(self._asked_dimension or ""))

    @property
    def dimension(self) -> int:
        """Dimensions of the vectors; costs one call where neither the settings nor an answer have told them."""
        return self._asked_dimension or self._told_dimension or len(self._canonical)

    @cached_property
    def embedding_hash(self) -> str:
        """Changes with the model's name, dimension and the signs of its canonical vector; costs one call."""
        return steady_hash(self.name, self._canonical)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape (n, dimension), float32, rows L2-normalized; a blank text gives zeros, unsent.

        Where a text does not fit the model, its beginning is embedded.

        Raises:
            EmbeddingError: The endpoint gave vectors of another number or shape, or without finite numbers.
            ModelUnavailable: The endpoint did not answer.
            ModelRefusedAccess: Wrong key, model or address.
            QuotaExhausted: The account is empty.
        """
        full = [(i, encodable(text, MAX_CHARS)) for i, text in enumerate(texts) if not is_blank(text)]
        answers = self._ask(full, "canonical vector" if texts == [CANONICAL_SENTENCE] else "embed")
        if answers and not self._asked_dimension:
            self._told_dimension = self._told_dimension or len(answers[0][1][0])
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for batch, rows in answers:
            vectors[list(batch.places)] = unit_rows(rows, self.dimension, self.name)
        return vectors

    def take_calls(self) -> list[Call]:
        """The calls since this was last asked, failed ones included; each is handed out once."""
        taken, self._calls = self._calls, []
        return taken

    @cached_property
    def _canonical(self) -> Vectors:
        vector: Vectors = self.embed([CANONICAL_SENTENCE])[0]
        return vector

    def _ask(self, texts: Sequence[tuple[int, str]], cause: str) -> list[tuple[Batch, Rows]]:
        if not texts:  # nothing to do: no thread, no client, no import of 0.7 s
            return []
        max_texts, max_tokens = self._limits
        waiting = batches(texts, self._count, max_texts=max_texts, max_tokens=max_tokens)
        answers: list[tuple[Batch, Rows]] = []
        client = self._endpoint.client(self.concurrency)
        with LoopThread() as thread:
            worker = self._worker(client, cause)
            try:
                run_in_flight(waiting, worker, answers.extend, limit=self.concurrency, thread=thread)
            finally:
                self._answered = worker.answered
                thread.cancel_all()
                thread.run(client.close())
        return answers

    def _worker(self, client: AsyncOpenAI, cause: str) -> BatchEmbedder:
        return BatchEmbedder(
            client=client,
            endpoint=self._endpoint,
            dimension=self._asked_dimension,
            gate=Gate(self.concurrency, clock=self._clock, sleep=self._sleep),
            retries=self._retries,
            meter=lambda outcome, tokens, seconds: self._meter(cause, outcome, tokens, seconds),
            clock=self._clock,
            now=self._now,
            answered=self._answered,
        )

    def _meter(self, cause: str, outcome: str, tokens: int, seconds: float) -> None:
        call = Call(
            key="",
            kind=EMBEDDING,
            cause=cause,
            model=self._endpoint.model,
            tokens_in=tokens,
            tokens_out=0,
            usd=usd(tokens, self._usd_per_mtok),
            seconds=seconds,
            outcome=outcome,
        )
        self._calls.append(call)
