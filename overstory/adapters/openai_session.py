"""The work on one request: its prompts are asked, its calls are metered, its outcome is decided."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from overstory.adapters.metering import AttemptError, Clock, Gate, Retries, StoppedError, call_with_retries, usd
from overstory.adapters.openai_chat import Chat, ChatReply
from overstory.errors import ContextOverflow, ModelError, ModelRefusedAccess, ModelUnavailable, QuotaExhausted
from overstory.ports import Call, SummaryOutcome, SummaryRequest
from overstory.prompts import PromptTemplate
from overstory.replies import Verdict, judge
from overstory.settings import Prices
from overstory.summarizing import Ask, Count, Overflow, Window, advance, within_limit, write

UNANSWERED_IN_A_ROW = 10
"""So many requests refused without any answer in between end the run: the endpoint refuses them all."""

FAULTS_IN_A_ROW = 3
"""So many requests that used up their attempts without any answer in between end the run: the endpoint is at fault,
not one of the documents. Each has been asked ``max_attempts`` times by then."""

DRAIN_SECONDS = 10.0
"""How long answers that are under way, and paid for, are waited for when the run has to stop."""


class _UnansweredError(Exception):
    """One request got no answer; the others go on."""


@dataclass(slots=True)
class Session:
    """Everything that the requests of one run share; belongs to one event loop."""

    chat: Chat
    gate: Gate
    retries: Retries
    template: PromptTemplate
    window: Window
    count: Count
    model: str
    prices: Prices
    clock: Clock
    lost: list[Call] = field(default_factory=list)
    """Calls of requests that end without an outcome, because the run ends."""
    _tasks: set[asyncio.Task[object]] = field(default_factory=set)
    _unanswered: int = 0
    _faults: int = 0

    async def __call__(self, item: SummaryRequest) -> SummaryOutcome:
        """What became of ``item``; raises only what ends the whole run."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            return await self._outcome(item)
        except StoppedError:
            raise asyncio.CancelledError from None
        except ModelError:
            self.gate.stop()
            raise

    async def drain(self) -> None:
        """Abandon what waits for its turn; give answers under way a last chance to arrive."""
        self.gate.stop()
        for task in self._tasks - self.gate.calling:
            if task is not asyncio.current_task():
                task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=DRAIN_SECONDS)

    async def _outcome(self, request: SummaryRequest) -> SummaryOutcome:
        calls: list[Call] = []
        writing = write(request, self.template, self.window, self.count)
        try:
            step = advance(writing, None)
            while isinstance(step, Ask):
                step = advance(writing, await self._answer(request, step, calls))
        except _UnansweredError as unanswered:
            step = Verdict("", str(unanswered))
        except BaseException:
            self.lost += calls
            raise
        return SummaryOutcome(request.key, step.text, step.failure, tuple(calls))

    async def _answer(self, request: SummaryRequest, ask: Ask, calls: list[Call]) -> Verdict | Overflow:
        try:
            reply = await call_with_retries(
                lambda: self._attempt(request, ask, calls),
                gate=self.gate,
                retries=self.retries,
                key=request.key,
                tokens=ask.size,
            )
        except ContextOverflow:
            return Overflow()
        except (QuotaExhausted, ModelRefusedAccess):
            raise
        except ModelError as error:
            self._note_unanswered(error)
            raise _UnansweredError(str(error.attributes["outcome"])) from error
        self._unanswered = self._faults = 0
        return reply

    async def _attempt(self, request: SummaryRequest, ask: Ask, calls: list[Call]) -> Verdict:
        started = self.clock()

        def meter(outcome: str, tokens_in: int = 0, tokens_out: int = 0) -> None:
            calls.append(self._call(request, outcome, tokens_in, tokens_out, self.clock() - started))

        try:
            answer = await self.chat.ask(ask.prompt, ask.max_tokens)
        except AttemptError as failure:
            if failure.reached:
                meter(failure.outcome, *(failure.usage or (ask.tokens if failure.charged else 0, 0)))
            raise
        except ContextOverflow:
            meter("context overflow")
            raise
        except (QuotaExhausted, ModelRefusedAccess) as error:
            if "status" in error.attributes:  # or the endpoint was never reached
                meter(f"http {error.attributes['status']}")
            raise
        except asyncio.CancelledError:
            meter("abandoned")
            raise
        verdict = within_limit(judge(answer.reply, ask.question), ask, self.count)
        meter(verdict.failure or "ok", *self._usage(ask, answer))
        return verdict

    def _usage(self, ask: Ask, answer: ChatReply) -> tuple[int, int]:
        tokens_in, tokens_out = answer.tokens_in, answer.tokens_out
        return (
            ask.tokens if tokens_in is None else tokens_in,
            self.count(answer.reply.text) if tokens_out is None else tokens_out,
        )

    def _call(self, request: SummaryRequest, outcome: str, tokens_in: int, tokens_out: int, seconds: float) -> Call:
        price = usd(tokens_in, self.prices.usd_per_mtok_in) + usd(tokens_out, self.prices.usd_per_mtok_out)
        return Call(
            key=request.key,
            kind=request.kind,
            cause=request.cause,
            model=self.model,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            usd=price,
            seconds=seconds,
            outcome=outcome,
        )

    def _note_unanswered(self, error: ModelError) -> None:
        """End the run when the endpoint has stopped answering, or asks to be left alone for long."""
        wait = error.attributes.get("retry_after_seconds")
        if isinstance(wait, float) and wait > self.retries.longest_pause_seconds:
            raise error
        if isinstance(error, ModelUnavailable):
            self._faults += 1
            if self._faults >= FAULTS_IN_A_ROW:
                raise self._at_fault(str(error.attributes["outcome"]))
            return
        self._unanswered += 1
        if self._unanswered >= UNANSWERED_IN_A_ROW:
            outcome = error.attributes["outcome"]
            raise ModelRefusedAccess(
                f"{self.model} refused {self._unanswered} requests in a row: {outcome}",
                hint="Check the model, its parameters and the prompt in the settings",
                outcome=outcome,
            )

    def _at_fault(self, outcome: str) -> ModelUnavailable:
        hints = {
            "malformed reply": "Check base_url (it usually ends in /v1): what answers there is no model",
            "http 429": "Run the same command later, it goes on where it stopped; or lower requests_per_minute",
            "timeout": "Raise timeout_seconds or lower concurrency, then run it again: it goes on where it stopped",
        }
        return ModelUnavailable(
            f"{self._faults} requests in a row got no answer of {self.model}: {outcome}",
            hint=hints.get(outcome, "Run the same command when the endpoint answers: it goes on where it stopped"),
            outcome=outcome,
        )
