"""Many coroutines at once on a loop of their own; what they bring is stored in the caller's thread.

The caller's thread reads the items and stores the results, so neither a database session nor a framework's
context leaves the thread it belongs to, and a KeyboardInterrupt arrives where it can be acted upon. It also
works when that thread runs an event loop itself.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

In = TypeVar("In", contravariant=True)
Out = TypeVar("Out", covariant=True)
A = TypeVar("A")
B = TypeVar("B")


class Worker(Protocol[In, Out]):
    """Does the work on one item; all its methods run on the loop."""

    async def __call__(self, item: In) -> Out:
        """The result for ``item``; an exception ends the whole run."""
        ...

    async def drain(self) -> None:
        """Called once after such an exception: begin nothing new, let finish what is worth it, return."""
        ...


class LoopThread:
    """An event loop in a thread of its own, ended with all its tasks at the end of the ``with`` block."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="overstory-calls", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel_all()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cancel_all(self) -> None:
        """End every task on the loop and wait until it has."""
        self.run(_cancel_all())

    def submit(self, work: Coroutine[Any, Any, B]) -> Future[B]:
        """Start ``work`` on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, B]) -> B:
        """The result of ``work``, waited for."""
        return self.submit(work).result()


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def run_in_flight(
    items: Iterable[A],
    worker: Worker[A, B],
    store: Callable[[Sequence[B]], None],
    *,
    limit: int,
    thread: LoopThread,
) -> None:
    """Work on ``items``, at most ``limit`` of them between being read and being stored.

    ``items`` is read only as slots become free; ``store`` gets everything that is ready, in one call. On an
    exception of the worker, what is worth finishing is finished and stored before it is raised; on any
    other, a KeyboardInterrupt above all, the calls under way are abandoned and what has arrived is stored.
    """
    flight = _Flight(iter(items), worker, store, limit, thread)
    try:
        flight.fly()
    except BaseException as error:
        flight.abandon(error)
        raise


class _Flight:
    def __init__(
        self,
        items: Iterator[A],
        worker: Worker[A, B],
        store: Callable[[Sequence[B]], None],
        limit: int,
        thread: LoopThread,
    ) -> None:
        self._items = items
        self._worker = worker
        self._store = store
        self._limit = limit
        self._thread = thread
        self._running: set[Future[Any]] = set()
        self._landed: SimpleQueue[Future[Any]] = SimpleQueue()
        self._unsaved: list[Any] = []
        self._storing = False

    def fly(self) -> None:
        self._start()
        while self._running:
            error = self._receive()
            if error is not None:
                self._thread.run(self._worker.drain())
                for future in list(self._running):
                    self._keep(future)
            self._save()
            if error is not None:
                raise error
            self._start()

    def abandon(self, error: BaseException) -> None:
        """Cancel what runs and store what has arrived, unless it was the store that failed."""
        for future in self._running:
            future.cancel()
        while self._running:
            try:
                self._keep(self._landed.get_nowait())
            except Empty:
                break
        if not (self._storing and isinstance(error, Exception)):
            self._save()

    def _start(self) -> None:
        while len(self._running) < self._limit:
            try:
                item = next(self._items)
            except StopIteration:
                return
            future = self._thread.submit(self._worker(item))
            self._running.add(future)
            future.add_done_callback(self._landed.put)

    def _receive(self) -> BaseException | None:
        """Wait for a result and take all there are; the first exception among them."""
        error = self._keep(self._landed.get())
        while True:
            try:
                future = self._landed.get_nowait()
            except Empty:
                return error
            found = self._keep(future)
            error = error or found

    def _keep(self, future: Future[Any]) -> BaseException | None:
        if future not in self._running or not future.done():
            return None
        self._running.discard(future)
        if future.cancelled():
            return None
        error = future.exception()
        if error is None:
            self._unsaved.append(future.result())
        return error

    def _save(self) -> None:
        if not self._unsaved:
            return
        self._storing = True
        self._store(tuple(self._unsaved))
        self._storing = False
        self._unsaved.clear()
