"""A pure function over many items, in a few processes, a bounded number ahead."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from itertools import chain, islice
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

_WORTH_A_PROCESS = 64
"""Fewer items than this are done here: starting a process costs about a second of imports."""

_IDLE_SECONDS = 20
"""Workers outlive one stage of a build, so that the next need not start them again."""


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
    yield from _in_processes(function, chain(first, iterator), workers)


def _in_processes(function: Callable[[T], R], items: Iterable[T], workers: int) -> Iterator[R]:
    # Unlike multiprocessing's own pools, loky never runs the caller's main module in a worker: a user's script needs
    # no guard, and Dagster's processes are not started anew.
    from loky import get_reusable_executor

    pool = get_reusable_executor(max_workers=workers, timeout=_IDLE_SECONDS)
    finished = False
    try:
        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) >= 4 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        finished = True
    finally:
        if not finished:
            pool.shutdown(wait=False, kill_workers=True)
