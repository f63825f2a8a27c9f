"""Partitions: 64 hash shards of every dataset, fixed for the life of an index."""

from __future__ import annotations

from collections.abc import Iterable

import dagster as dg

from overstory.identity import SHARDS, shard_key

SHARD_KEYS = tuple(shard_key(shard) for shard in range(SHARDS))

shards = dg.StaticPartitionsDefinition(SHARD_KEYS)


def shard_numbers(keys: Iterable[str]) -> list[int]:
    """The shards, 0 to 63, that partition keys name."""
    return [int(key) for key in keys]
