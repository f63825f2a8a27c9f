from __future__ import annotations

import operator
import os
from collections.abc import Iterator

import pytest

from overstory.parallel import map_batches

MANY = 200


def process_of(number: int) -> tuple[int, int]:
    return number, os.getpid()


def counted(items: int, taken: list[int]) -> Iterator[int]:
    for item in range(items):
        taken.append(item)
        yield item


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("items", [0, 1, 63, 64, MANY])
def test_results_come_in_order(items: int, workers: int) -> None:
    assert list(map_batches(operator.neg, range(items), workers=workers)) == [-n for n in range(items)]


def test_few_items_stay_in_this_process() -> None:
    assert {process for _, process in map_batches(process_of, range(10), workers=2)} == {os.getpid()}


def test_many_items_go_to_other_processes() -> None:
    assert os.getpid() not in {process for _, process in map_batches(process_of, range(MANY), workers=2)}


def test_one_worker_needs_no_process() -> None:
    assert {process for _, process in map_batches(process_of, range(MANY), workers=1)} == {os.getpid()}


def test_items_are_read_a_bounded_number_ahead() -> None:
    taken: list[int] = []
    results = map_batches(operator.neg, counted(1000, taken), workers=2)
    next(results)
    assert len(taken) <= 64 + 4 * 2
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("items", [3, MANY])
def test_error_of_an_item_reaches_the_caller(items: int) -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_batches(reciprocal, range(items), workers=2))


def test_pool_works_again_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_batches(reciprocal, range(MANY), workers=2))
    assert len(list(map_batches(operator.neg, range(MANY), workers=2))) == MANY


def reciprocal(number: int) -> float:
    return 1 / number
