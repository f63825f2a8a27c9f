"""Calls to a paid endpoint: how many at once, how fast, and when to ask again.

The only place that retries. From the outside in: a request holds its slot until it is stored (``in_flight``),
``call_with_retries`` bounds the attempts, and ``Gate`` lets an attempt through.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from overstory.errors import ModelError, ModelUnavailable

log = logging.getLogger(__name__)

T = TypeVar("T")
Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class AttemptError(Exception):
    """One attempt that brought no answer; the adapter of a vendor raises it in place of the vendor's errors.

    Args:
        outcome: A short reason for the ledger: ``http 500``, ``timeout``, ...
        transient: Whether the same call may succeed later.
        retry_after_seconds: The endpoint's wish not to be asked sooner, by anyone.
        congested: Whether the endpoint said that it is asked too much.
        reached: Whether the endpoint saw the call at all.
        charged: Whether it may charge for the call's input: it was at work when the answer was given up or lost.
        usage: Input and output tokens that it says it has used.
    """

    def __init__(
        self,
        outcome: str,
        *,
        transient: bool = True,
        retry_after_seconds: float | None = None,
        congested: bool = False,
        reached: bool = True,
        charged: bool = False,
        usage: tuple[int, int] | None = None,
    ) -> None:
        self.outcome = outcome
        self.transient = transient
        self.retry_after_seconds = retry_after_seconds
        self.congested = congested
        self.reached = reached
        self.charged = charged
        self.usage = usage
        super().__init__(outcome)


class StoppedError(Exception):
    """The gate was closed: nothing more is asked of the endpoint."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a call is made, and how long to wait in between."""

    max_attempts: int = 5
    base_seconds: float = 0.5
    congested_seconds: float = 2.0
    """In place of ``base_seconds`` after a rate limit that names no time."""
    cap_seconds: float = 60.0
    longest_pause_seconds: float = 600.0
    """An endpoint that wants to be left alone for longer counts as unavailable."""

    def delay(self, attempt: int, key: str, *, congested: bool = False) -> float:
        """Seconds to wait after ``attempt`` (from 1): doubling, and 50-100 % of that by ``key``."""
        base = self.congested_seconds if congested else self.base_seconds
        seconds = min(self.cap_seconds, base * 2.0 ** (attempt - 1))
        return seconds * (0.5 + 0.5 * _fraction(f"{key}/{attempt}"))


def _fraction(text: str) -> float:
    """A number in [0, 1) that depends on ``text`` alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


class Pace:
    """Spreads an amount evenly over time: requests or tokens a minute."""

    def __init__(self, per_minute: float) -> None:
        self._seconds_each = 60.0 / per_minute
        self._free_at = 0.0

    def reserve(self, amount: float, now: float) -> float:
        """Seconds to wait before ``amount`` may be spent; it is then taken as spent."""
        start = max(now, self._free_at)
        self._free_at = start + amount * self._seconds_each
        return start - now


class Gate:
    """Lets attempts through: ``ceiling`` at once, fewer after a rate limit, none during a pause.

    The limit is halved when the endpoint says that it is asked too much (once for all calls that were under
    way then) and grows by one for each ``limit`` successes. Belongs to one event loop.
    """

    def __init__(
        self,
        ceiling: int,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.ceiling = ceiling
        self.limit = float(ceiling)
        self.sleep = sleep
        self.calling: set[asyncio.Task[object]] = set()
        """Tasks that wait for an answer of the endpoint at this moment."""
        self._clock = clock
        self._request_pace = Pace(requests_per_minute) if requests_per_minute else None
        self._token_pace = Pace(tokens_per_minute) if tokens_per_minute else None
        self._active = 0
        self._epoch = 0
        self._paused_until = 0.0
        self._stopped = False
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def attempt(self, tokens: int = 0) -> AsyncIterator[None]:
        """Wait for a turn and hold it; a ``AttemptError`` raised inside adapts limit and pause.

        Raises:
            StoppedError: ``stop`` was called.
        """
        await self._enter()
        epoch = self._epoch
        try:
            await self._wait_for_pace(tokens)
            epoch = self._epoch
            with self._marked_as_calling():
                yield
            self.limit = min(float(self.ceiling), self.limit + 1.0 / self.limit)
        except AttemptError as failure:
            self._adapt(failure, epoch)
            raise
        finally:
            self._active -= 1
            self._wake()

    def pause(self, seconds: float) -> None:
        """Let nobody through for ``seconds`` from now."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)

    def stop(self) -> None:
        """Let nobody through any more; attempts under way go on."""
        self._stopped = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _enter(self) -> None:
        while not self._stopped and self._active >= int(self.limit):
            await self._changed.wait()
        self._refuse_if_stopped()
        self._active += 1

    async def _wait_for_pace(self, tokens: int) -> None:
        now = self._clock()
        waits = [
            pace.reserve(amount, now)
            for pace, amount in ((self._request_pace, 1), (self._token_pace, tokens))
            if pace is not None
        ]
        if (wait := max(waits, default=0.0)) > 0:
            await self.sleep(wait)
        while (wait := self._paused_until - self._clock()) > 0:
            await self.sleep(wait)
        self._refuse_if_stopped()

    @contextmanager
    def _marked_as_calling(self) -> Iterator[None]:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an attempt runs inside a task")
        self.calling.add(task)
        try:
            yield
        finally:
            self.calling.discard(task)

    def _adapt(self, failure: AttemptError, epoch: int) -> None:
        if failure.congested and epoch == self._epoch:
            self._epoch += 1
            self.limit = max(1.0, self.limit / 2)
            log.warning("The endpoint limits the rate: %d calls at once from now on", int(self.limit))
        if failure.retry_after_seconds is not None:
            self.pause(failure.retry_after_seconds)

    def _refuse_if_stopped(self) -> None:
        if self._stopped:
            raise StoppedError


async def call_with_retries(
    attempt: Callable[[], Awaitable[T]], *, gate: Gate, retries: Retries, key: str, tokens: int = 0
) -> T:
    """The result of ``attempt``, made again after transient failures.

    Args:
        attempt: One call; raises ``AttemptError``, or another error that ends everything at once.
        gate: Shared by all calls to the endpoint.
        retries: Bounds the attempts.
        key: Names the call; equal keys wait equally long.
        tokens: What the call costs of ``tokens_per_minute``.

    Raises:
        ModelUnavailable: No attempt brought an answer; ``attributes["outcome"]`` has the last reason.
        ModelError: The endpoint refuses this call; ``attributes["outcome"]`` has the reason.
        StoppedError: The gate was closed.
    """
    number = 0
    while True:
        number += 1
        try:
            async with gate.attempt(tokens):
                return await attempt()
        except AttemptError as failure:
            if not failure.transient:
                raise _refused(failure) from failure
            if number >= retries.max_attempts or _asks_too_long(failure, retries):
                raise _unavailable(failure, number) from failure
            await _back_off(failure, number, key, gate, retries)


async def _back_off(failure: AttemptError, number: int, key: str, gate: Gate, retries: Retries) -> None:
    log.info("Attempt %d of %d failed: %s", number, retries.max_attempts, failure.outcome)
    if failure.retry_after_seconds is not None:
        return  # the gate is paused for everybody
    delay = retries.delay(number, key, congested=failure.congested)
    if failure.congested:
        gate.pause(delay)
    else:
        await gate.sleep(delay)


def _asks_too_long(failure: AttemptError, retries: Retries) -> bool:
    return (failure.retry_after_seconds or 0.0) > retries.longest_pause_seconds


def _unavailable(failure: AttemptError, attempts: int) -> ModelUnavailable:
    wait = failure.retry_after_seconds
    hint = f"Ask again in {wait:.0f} seconds" if wait else "Run it again when the endpoint answers"
    return ModelUnavailable(
        f"The endpoint did not answer in {attempts} attempts: {failure.outcome}",
        hint=hint,
        outcome=failure.outcome,
        retry_after_seconds=wait,
    )


def _refused(failure: AttemptError) -> ModelError:
    return ModelError(
        f"The endpoint refuses the call: {failure.outcome}",
        hint="Check the model's limits and parameters",
        outcome=failure.outcome,
    )


def usd(tokens: int, usd_per_mtok: float) -> float:
    """The price of ``tokens`` at ``usd_per_mtok`` dollars a million."""
    return tokens * usd_per_mtok / 1_000_000
