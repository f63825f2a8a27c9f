from __future__ import annotations

from overstory.building.shard_states import ShardState


def test_shards_without_anything_are_alike() -> None:
    assert ShardState().version == ShardState().version


def test_order_does_not_matter_to_the_version() -> None:
    assert ShardState(hashes={"a": "1", "b": "2"}).version == ShardState(hashes={"b": "2", "a": "1"}).version


def test_another_hash_is_another_version() -> None:
    assert ShardState(hashes={"a": "1"}).version != ShardState(hashes={"a": "2"}).version


def test_shard_without_nodes_is_not_stale() -> None:
    assert ShardState().staleness == 0.0


def test_staleness_is_the_share_of_nodes_behind() -> None:
    assert ShardState(nodes=8, behind=2).staleness == 0.25
