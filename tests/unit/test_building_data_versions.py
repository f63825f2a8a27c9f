from __future__ import annotations

from overstory.building.data_versions import roots
from overstory.tree import merkle_root


def test_shard_without_anything_has_the_root_of_nothing() -> None:
    assert roots([3], []) == {3: merkle_root({})}


def test_each_shard_has_the_root_of_its_own() -> None:
    found = roots([3, 4], [(3, "a", "1"), (4, "b", "2"), (3, "c", "3")])
    assert found == {3: merkle_root({"a": "1", "c": "3"}), 4: merkle_root({"b": "2"})}


def test_order_does_not_matter() -> None:
    pairs = [(3, "a", "1"), (3, "b", "2")]
    assert roots([3], pairs) == roots([3], reversed(pairs))
