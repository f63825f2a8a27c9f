"""Cuts a set of points into groups by their principal directions, without random numbers."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from overstory.clustering.geometry import GRID, Array, Rows

_POWER_STEPS = 30
"""Power iteration, not an eigensolver: where two directions are equal, it still gives one well-defined answer."""

_TWO_MEANS_STEPS = 10


def principal_direction(centered: Array, ties: NDArray[np.uint64]) -> Array:
    """A unit vector along which the rows vary most; zero if they do not vary."""
    lengths = np.rint(np.einsum("ij,ij->i", centered, centered) * GRID)
    direction: Array = centered[np.lexsort((ties, -lengths))[0]]
    for _ in range(_POWER_STEPS):
        norm = float(np.linalg.norm(direction))
        if norm == 0:
            break
        direction = centered.T @ (centered @ (direction / norm))
    norm = float(np.linalg.norm(direction))
    return direction / norm if norm else direction


def halves(points: Array, ties: NDArray[np.uint64]) -> tuple[Rows, Rows]:
    """Two groups of row numbers, ascending, each at least a third of the (at least two) points.

    Points that lie level are cut in the order of ``ties``, so identical and zero points need no special case.
    """
    centered = points - points.mean(axis=0)
    heights = np.rint(centered @ principal_direction(centered, ties) * GRID)
    order = np.lexsort((ties, heights))
    cut = _two_means(heights[order])
    return np.sort(order[:cut]), np.sort(order[cut:])


def _two_means(heights: Array) -> int:
    """Where to cut ascending heights: the start of the upper group."""
    count = len(heights)
    least, most = math.ceil(count / 3), math.floor(count * 2 / 3)
    sums = np.concatenate(([0.0], np.cumsum(heights)))
    cut = count // 2
    for _ in range(_TWO_MEANS_STEPS):
        middle = (sums[cut] / cut + (sums[-1] - sums[cut]) / (count - cut)) / 2
        moved = min(most, max(least, int(np.searchsorted(heights, middle))))
        if moved == cut:
            break
        cut = moved
    return cut


def bisect(points: Array, ties: NDArray[np.uint64], groups: list[Rows], count: int) -> list[Rows]:
    """``groups`` of row numbers, the largest cut in two until there are ``count``; O(N d log count)."""
    heap = [(-len(rows), int(rows[0]), rows) for rows in groups]
    heapq.heapify(heap)
    while len(heap) < count and -heap[0][0] > 1:
        rows = heapq.heappop(heap)[2]
        for half in halves(points[rows], ties[rows]):
            heapq.heappush(heap, (-len(half), int(rows[half[0]]), rows[half]))
    return [rows for _, _, rows in sorted(heap, key=lambda item: item[1])]
