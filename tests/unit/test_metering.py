from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from overstory.adapters.metering import (
    AttemptError,
    Gate,
    Pace,
    Retries,
    StoppedError,
    call_with_retries,
    usd,
)
from overstory.errors import ModelError, ModelUnavailable


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@dataclass
class Endpoint:
    """Fails as told, then succeeds."""

    failures: list[AttemptError]
    time: Time
    at: list[float] = field(default_factory=list)

    async def __call__(self) -> str:
        self.at.append(self.time.now)
        if self.failures:
            raise self.failures.pop(0)
        return "answer"


PATIENT = Retries()


def call(endpoint: Endpoint, retries: Retries = PATIENT, gate: Gate | None = None) -> str:
    gate = gate or Gate(4, clock=endpoint.time.clock, sleep=endpoint.time.sleep)
    return asyncio.run(call_with_retries(endpoint, gate=gate, retries=retries, key="k"))


def test_transient_failures_are_tried_again() -> None:
    endpoint = Endpoint([AttemptError("http 500"), AttemptError("timeout")], Time())

    assert call(endpoint) == "answer"
    assert len(endpoint.at) == 3


def test_case_45_attempts_are_bounded() -> None:
    endpoint = Endpoint([AttemptError("http 500") for _ in range(9)], Time())

    with pytest.raises(ModelUnavailable, match="http 500") as error:
        call(endpoint, Retries(max_attempts=5))

    assert len(endpoint.at) == 5
    assert error.value.attributes["outcome"] == "http 500"


def test_failure_that_would_come_again_is_not_retried() -> None:
    endpoint = Endpoint([AttemptError("http 400", transient=False)], Time())

    with pytest.raises(ModelError, match="http 400"):
        call(endpoint)
    assert len(endpoint.at) == 1


def test_waits_double_and_depend_on_the_key_alone() -> None:
    retries = Retries(base_seconds=1.0, cap_seconds=8.0)

    waits = [retries.delay(attempt, "k") for attempt in range(1, 7)]

    assert waits == [retries.delay(attempt, "k") for attempt in range(1, 7)]
    for wait, most in zip(waits, [1, 2, 4, 8, 8, 8], strict=True):
        assert most / 2 <= wait <= most
    assert waits[0] != retries.delay(1, "another")


def test_case_45_retry_after_is_waited_for_by_everybody() -> None:
    time = Time()
    gate = Gate(4, clock=time.clock, sleep=time.sleep)
    limited = Endpoint([AttemptError("http 429", congested=True, retry_after_seconds=2.0)], time)
    other = Endpoint([], time)

    async def both() -> None:
        first = asyncio.create_task(call_with_retries(limited, gate=gate, retries=Retries(), key="a"))
        while not limited.at:
            await asyncio.sleep(0)
        await call_with_retries(other, gate=gate, retries=Retries(), key="b")
        await first

    asyncio.run(both())

    assert limited.at == [0.0, 2.0]
    assert other.at == [2.0]


def test_wish_to_be_left_alone_for_long_counts_as_unavailable() -> None:
    endpoint = Endpoint([AttemptError("http 429", congested=True, retry_after_seconds=3600.0)], Time())

    with pytest.raises(ModelUnavailable) as error:
        call(endpoint, Retries(longest_pause_seconds=600.0))

    assert len(endpoint.at) == 1
    assert "3600 seconds" in str(error.value)


def test_rate_limit_without_a_time_pauses_everybody_longer_than_an_error_would() -> None:
    time = Time()
    call(Endpoint([AttemptError("http 429", congested=True)], time), Retries(congested_seconds=2.0))

    assert 1.0 <= time.now <= 2.0


def test_case_45_concurrency_is_halved_once_for_all_calls_under_way_and_grows_back() -> None:
    gate = Gate(8)

    async def attempt(failure: AttemptError | None, started: asyncio.Barrier | None = None) -> None:
        try:
            async with gate.attempt():
                if started:
                    await started.wait()
                if failure:
                    raise failure
        except AttemptError:
            pass

    async def scenario() -> tuple[float, float, float]:
        started = asyncio.Barrier(8)
        await asyncio.gather(*(attempt(AttemptError("http 429", congested=True), started) for _ in range(8)))
        halved = gate.limit
        await attempt(AttemptError("http 429", congested=True))
        quartered = gate.limit
        for _ in range(200):
            await attempt(None)
        return halved, quartered, gate.limit

    assert asyncio.run(scenario()) == (4.0, 2.0, 8.0)


def test_failure_that_is_no_rate_limit_leaves_the_concurrency() -> None:
    gate = Gate(8, sleep=Time().sleep)

    call(Endpoint([AttemptError("http 500")], Time()), gate=gate)

    assert gate.limit == 8.0


@pytest.mark.parametrize("ceiling", [1, 3, 7])
def test_never_more_attempts_at_once_than_the_ceiling(ceiling: int) -> None:
    gate = Gate(ceiling)
    active, most = 0, 0

    async def work() -> None:
        nonlocal active, most
        async with gate.attempt():
            active += 1
            most = max(most, active)
            await asyncio.sleep(0)
            active -= 1

    async def scenario() -> None:
        await asyncio.gather(*(work() for _ in range(40)))

    asyncio.run(scenario())

    assert most == ceiling


def test_stopped_gate_refuses_those_who_wait_and_those_who_come() -> None:
    gate = Gate(1)

    async def scenario() -> list[object]:
        async with gate.attempt():
            waiting = asyncio.create_task(enter())
            await asyncio.sleep(0)
            gate.stop()
            return list(await asyncio.gather(waiting, enter(), return_exceptions=True))

    async def enter() -> None:
        async with gate.attempt():
            pass

    assert [type(result) for result in asyncio.run(scenario())] == [StoppedError, StoppedError]


def test_cancelled_attempt_frees_its_turn() -> None:
    gate = Gate(1)

    async def hang() -> None:
        async with gate.attempt():
            await asyncio.Event().wait()

    async def scenario() -> bool:
        task = asyncio.create_task(hang())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with gate.attempt():
            return not gate.calling - {asyncio.current_task()}

    assert asyncio.run(scenario())


def test_pace_spreads_requests_over_the_minute() -> None:
    pace = Pace(per_minute=60)

    assert [pace.reserve(1, now=0.0) for _ in range(4)] == [0.0, 1.0, 2.0, 3.0]
    assert pace.reserve(1, now=10.0) == 0.0


def test_paced_calls_begin_no_sooner_than_allowed() -> None:
    time = Time()
    gate = Gate(8, requests_per_minute=60, tokens_per_minute=6000, clock=time.clock, sleep=time.sleep)
    endpoint = Endpoint([], time)

    async def scenario() -> None:
        for tokens in (500, 100, 0):
            await call_with_retries(endpoint, gate=gate, retries=Retries(), key="k", tokens=tokens)

    asyncio.run(scenario())

    assert endpoint.at == [0.0, 5.0, 6.0]


def test_price_is_a_million_tokens() -> None:
    assert usd(25_000, 0.25) == pytest.approx(0.00625)
