"""A pure function over many items, in a few processes, a bounded number ahead."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_WORTH_A_PROCESS = 64
"""Fewer batches than this are done here: starting a process costs about a second of imports."""


def map_batches(function: Callable[[T], R], items: Iterable[T], *, workers: int) -> Iterator[R]:
    """``function`` of each item, in order; in ``workers`` processes when there are many items.

    Args:
        function: A top-level function of a module that is cheap to import; its items and results are pickled.
        items: Consumed lazily, at most ``4 * workers`` ahead of the results.
        workers: Processes; 1 for none beside this one.
    """
    iterator = iter(items)
    first = list(islice(iterator, _WORTH_A_PROCESS))
    if workers < 2 or len(first) < _WORTH_A_PROCESS:
        yield from map(function, chain(first, iterator))
        return
    with _pool(workers) as pool:
        waiting: deque[Future[R]] = deque()
        for item in chain(first, iterator):
            waiting.append(pool.submit(function, item))
            if len(waiting) >= 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool that leaves nothing behind, however the block ends."""
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("forkserver"))
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
