"""Groups a row of sized pieces into runs under a cap: the cheapest way to cut, found by dynamic programming.

A cut has a price, low at strong separators, and a run has one, low when it is full. Prices depend on a
piece's own content only, so a change in one place moves the cuts around it and no others for long.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

RUN = 0.1
"""Price of one more run; a cut at a paragraph costs 0.2 more than one at a heading (``atoms``)."""
SLACK = 0.4
"""Price of an empty run; grows with the square of the empty share, so that none is nearly empty.

Measured with benchmarks/chunking.py: with 1.0 for both, chunks are 4 % fuller, but an inserted paragraph
changes 3.3 chunks on average instead of 2.2 and fewer chunks begin at a heading.
"""
JITTER = 0.1
"""Largest content-derived difference between two cuts of one kind: decides ties by content, not by count."""


def pack(sizes: Sequence[int], prices: Sequence[float], extras: Sequence[int], cap: int) -> list[int]:
    """The indices at which the runs begin, the first of them 0; empty for no pieces.

    Args:
        sizes: Size of each piece, at least 1; one above ``cap`` becomes a run of its own.
        prices: Price of a run that begins with this piece.
        extras: What a run that begins with this piece holds beside its pieces.
        cap: Largest size of a run.
    """
    best, origin = [0.0], [0]
    for end in range(1, len(sizes) + 1):
        price, start = _cheapest(end, best, sizes, prices, extras, cap)
        best.append(price)
        origin.append(start)
    starts = []
    at = len(sizes)
    while at > 0:
        at = origin[at]
        starts.append(at)
    return starts[::-1]


def _cheapest(
    end: int,
    best: Sequence[float],
    sizes: Sequence[int],
    prices: Sequence[float],
    extras: Sequence[int],
    cap: int,
) -> tuple[float, int]:
    """The lowest price of all runs up to ``end``, and where the last of them begins."""
    start = end - 1
    total = sizes[start]
    slack = max(0.0, 1 - (total + extras[start]) / cap)
    lowest, origin = best[start] + prices[start] + RUN + SLACK * slack * slack, start
    while start > 0:
        start -= 1
        total += sizes[start]
        if total > cap:
            break
        size = total + extras[start]
        if size <= cap:
            slack = 1 - size / cap
            price = best[start] + prices[start] + RUN + SLACK * slack * slack
            if price < lowest:
                lowest, origin = price, start
    return lowest, origin


def jitter(content: str) -> float:
    """A number from 0 to ``JITTER`` that depends on ``content`` only."""
    return zlib.crc32(content.encode("utf-8", "surrogatepass")) * (JITTER / 2**32)
