"""Summaries from any endpoint that speaks the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING

from overstory.adapters.in_flight import LoopThread, run_in_flight
from overstory.adapters.metering import Clock, Gate, Retries, Sleep
from overstory.adapters.openai_chat import Chat
from overstory.adapters.openai_endpoint import Endpoint
from overstory.adapters.openai_session import Session
from overstory.identity import recipe_hash
from overstory.nodes import NodeKind
from overstory.ports import Call, StoreOutcomes, SummaryRequest, Tokenizer
from overstory.prompts import DEFAULT_TEMPLATE, PromptTemplate
from overstory.settings import Prices
from overstory.summarizing import Window, expected

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_MAX_TOKENS_RULE = "as requested, doubled once after a truncated reply"


class OpenAISummarizer:
    """Writes summaries with a language model behind an OpenAI-compatible endpoint.

    Args:
        base_url: The endpoint, usually ending in ``/v1``; nothing else is connected to.
        model: The model's name there.
        tokenizer: Counts input where the endpoint does not say, and for plans and splits.
        api_key_env: Names the environment variable that holds the key; a loopback endpoint may go without.
        api_key: The key itself, for programs that have it from elsewhere.
        concurrency: Requests in flight at most, each until it is stored.
        prices: Dollars a million tokens, for the ledger.
        timeout_seconds: For one attempt, from connecting to the last byte.
        max_attempts: Attempts at one call after transient failures.
        prompt: A template in place of the built-in one (``prompts.PromptTemplate``).
        window_tokens: Input and output tokens that the model takes; larger requests are split beforehand.
        requests_per_minute: Paces the calls; None for as fast as they come.
        tokens_per_minute: Paces input and most possible output tokens.
        seed: Sent along where the endpoint supports it.
        clock: Monotonic seconds.
        sleep: Waits for seconds.
        now: Compared to a ``Retry-After`` date.

    Raises:
        SettingsError: The address or the template is not usable.
    """

    paid = True

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        tokenizer: Tokenizer,
        api_key_env: str = "OPENAI_API_KEY",
        api_key: str | None = None,
        concurrency: int = 64,
        prices: Prices | None = None,
        timeout_seconds: float = 60.0,
        max_attempts: int = 5,
        prompt: str | None = None,
        window_tokens: int | None = None,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        seed: int | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.name = f"openai:{model}"
        self.concurrency = concurrency
        self._endpoint = Endpoint(base_url, model, api_key_env, api_key, timeout_seconds)
        self._template = PromptTemplate(DEFAULT_TEMPLATE if prompt is None else prompt)
        self._tokenizer = tokenizer
        self._prices = prices or Prices()
        self._retries = Retries(max_attempts)
        self._window_tokens = window_tokens
        self._pace = (requests_per_minute, tokens_per_minute)
        self._seed = seed
        self._clock, self._sleep, self._now = clock, sleep, now
        self._lost: list[Call] = []

    def __repr__(self) -> str:
        """The address and the model, never the key."""
        return f"OpenAISummarizer(base_url={self._endpoint.base_url!r}, model={self._endpoint.model!r})"

    def recipe_hash(self, kind: NodeKind) -> str:
        """Changes with the prompt, the model, its parameters; not with address, price or speed."""
        seed = "none" if self._seed is None else str(self._seed)
        model = self._endpoint.model
        parameters = f"temperature 0, seed {seed}, {_MAX_TOKENS_RULE}"
        return recipe_hash(model, self._template.recipe(kind), parameters)

    def prompt_tokens(self, request: SummaryRequest) -> tuple[int, int]:
        """(calls, input tokens) that ``request`` costs.

        Exact for what fits ``window_tokens``. Where it is split, the pieces are exact, and their summaries,
        which are read once more, count as long as their target.
        """
        return expected(request, self._template, Window(self._window_tokens), self._tokenizer.count)

    def take_calls(self) -> list[Call]:
        """Calls that no outcome tells of, because the run ended before there was one; each is handed out once."""
        calls, self._lost = self._lost, []
        return calls

    def summarize_many(self, requests: Iterable[SummaryRequest], store: StoreOutcomes) -> None:
        """Write all summaries; ``requests`` is read, and ``store`` called, in the calling thread.

        A request whose answers are unusable ends as an outcome with a failure. A request that had to be split
        may pay all its calls again if the process dies before it is stored.

        Raises:
            QuotaExhausted: The account is empty; outcomes so far were stored.
            ModelRefusedAccess: Wrong key, model or address, or every request is refused.
            ModelUnavailable: The endpoint has stopped answering; outcomes so far were stored.
        """
        items = iter(requests)
        first = next(items, None)
        if first is not None:  # nothing to do: no thread, no client, no import of 0.7 s
            self._run(chain([first], items), store)

    def _run(self, requests: Iterator[SummaryRequest], store: StoreOutcomes) -> None:
        client = self._endpoint.client(self.concurrency)
        session = self._session(client)
        with LoopThread() as thread:
            try:
                run_in_flight(requests, session, store, limit=self.concurrency, thread=thread)
            finally:
                thread.cancel_all()
                thread.run(client.close())
                self._lost += session.lost

    def _session(self, client: AsyncOpenAI) -> Session:
        requests_per_minute, tokens_per_minute = self._pace
        gate = Gate(
            self.concurrency,
            requests_per_minute=requests_per_minute,
            tokens_per_minute=tokens_per_minute,
            clock=self._clock,
            sleep=self._sleep,
        )
        return Session(
            chat=Chat(client, self._endpoint, seed=self._seed, now=self._now),
            gate=gate,
            retries=self._retries,
            template=self._template,
            window=Window(self._window_tokens),
            count=self._tokenizer.count,
            model=self._endpoint.model,
            prices=self._prices,
            clock=self._clock,
        )
