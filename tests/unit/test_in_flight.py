from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from overstory.adapters.in_flight import LoopThread, run_in_flight


class Worker:
    """Doubles numbers; ``act`` runs first and may raise or wait."""

    def __init__(self, act: Callable[[int], object] = lambda item: None) -> None:
        self.act = act
        self.begun: list[int] = []
        self.drained = 0

    async def __call__(self, item: int) -> int:
        self.begun.append(item)
        result = self.act(item)
        if isinstance(result, asyncio.Event):
            await result.wait()
        await asyncio.sleep(0)
        return 2 * item

    async def drain(self) -> None:
        self.drained += 1


def run(items: Iterator[int], worker: Worker, store: Callable[[Sequence[int]], None], limit: int = 4) -> None:
    with LoopThread() as thread:
        run_in_flight(items, worker, store, limit=limit, thread=thread)


def test_every_result_is_stored_once() -> None:
    stored: list[int] = []

    run(iter(range(50)), Worker(), stored.extend)

    assert sorted(stored) == [2 * item for item in range(50)]


def test_items_are_read_and_results_stored_in_the_calling_thread() -> None:
    threads: set[int] = set()

    def items() -> Iterator[int]:
        for item in range(5):
            threads.add(threading.get_ident())
            yield item

    run(items(), Worker(), lambda results: threads.add(threading.get_ident()))

    assert threads == {threading.get_ident()}


def test_slot_is_free_only_after_the_store_has_returned() -> None:
    worker = Worker()
    begun_during_store: list[int] = []
    stored = 0

    def store(results: Sequence[int]) -> None:
        nonlocal stored
        begun_during_store.append(len(worker.begun) - stored)
        stored += len(results)

    run(iter(range(40)), worker, store, limit=4)

    assert max(begun_during_store) <= 4


def test_items_are_read_no_further_than_slots_are_free() -> None:
    read, stored = 0, 0
    ahead: list[int] = []

    def items() -> Iterator[int]:
        nonlocal read
        for item in range(30):
            read += 1
            ahead.append(read - stored)
            yield item

    def store(results: Sequence[int]) -> None:
        nonlocal stored
        stored += len(results)

    run(items(), Worker(), store, limit=3)

    assert max(ahead) <= 3


def test_results_that_are_ready_together_are_stored_together() -> None:
    sizes: list[int] = []
    busy = threading.Event()

    def store(results: Sequence[int]) -> None:
        sizes.append(len(results))
        if len(sizes) == 1:
            busy.wait(5)

    worker = Worker(lambda item: busy.set() if item == 7 else None)
    run(iter(range(8)), worker, store, limit=8)

    assert sum(sizes) == 8
    assert len(sizes) <= 3


def test_exception_of_the_worker_drains_and_stores_what_is_there() -> None:
    stored: list[int] = []

    def fail(item: int) -> None:
        if item == 5:
            raise ValueError("bad item")

    worker = Worker(fail)
    with pytest.raises(ValueError, match="bad item"):
        run(iter(range(100)), worker, stored.extend, limit=2)

    assert worker.drained == 1
    assert set(stored) >= {0, 2, 4, 6, 8} - {10}
    assert len(worker.begun) <= 7


def test_exception_of_the_store_is_raised_without_storing_again() -> None:
    attempts = 0

    def store(results: Sequence[int]) -> None:
        nonlocal attempts
        attempts += 1
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(iter(range(100)), Worker(), store)

    assert attempts == 1


def test_interrupt_abandons_what_runs() -> None:
    stored: list[int] = []
    hang = asyncio.Event()
    worker = Worker(lambda item: hang if item >= 3 else None)

    def items() -> Iterator[int]:
        yield from range(5)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(items(), worker, stored.extend, limit=6)

    assert set(stored) <= {0, 2, 4}
    assert len(worker.begun) <= 5


def test_interrupt_of_the_store_stores_that_batch_once_more() -> None:
    stored: list[int] = []
    interrupted = False

    def store(results: Sequence[int]) -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            raise KeyboardInterrupt
        stored.extend(results)

    with pytest.raises(KeyboardInterrupt):
        run(iter([1]), Worker(), store, limit=1)

    assert stored == [2]


def test_works_while_the_calling_thread_runs_a_loop() -> None:
    stored: list[int] = []

    async def caller() -> None:
        run(iter(range(5)), Worker(), stored.extend)

    asyncio.run(caller())

    assert sorted(stored) == [0, 2, 4, 6, 8]


def test_no_thread_is_left_behind() -> None:
    run(iter(range(3)), Worker(), lambda results: None)

    assert [t.name for t in threading.enumerate() if t.name == "overstory-calls"] == []
