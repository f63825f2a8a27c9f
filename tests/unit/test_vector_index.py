"""Filters, and stores of vector indexes found by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from overstory.adapters.memory_index import MemoryIndexes
from overstory.errors import SettingsError
from overstory.vector_index import EVERYTHING, Filter, Opening
from overstory.vector_index_registry import GROUP, open_vector_indexes
from tests.vector_entries import mixed


def offered(*pairs: tuple[str, str]) -> list[EntryPoint]:
    return [EntryPoint(name, value, GROUP) for name, value in pairs]


def test_the_stores_of_this_package_are_found_by_name() -> None:
    assert isinstance(open_vector_indexes("memory", Opening()), MemoryIndexes)


def test_an_unknown_name_is_refused_on_one_line_that_tells_the_known_ones() -> None:
    with pytest.raises(SettingsError) as raised:
        open_vector_indexes("pinecone", Opening())
    expected = "No package offers a vector index called 'pinecone'. Known are: memory, pgvector, weaviate"
    assert str(raised.value) == expected


def test_a_name_that_two_packages_claim_is_refused() -> None:
    points = offered(("mine", "a:open"), ("mine", "b:open"))
    with pytest.raises(SettingsError, match="Several packages offer a vector index called 'mine'"):
        open_vector_indexes("mine", Opening(), points)


@pytest.mark.parametrize("value", ["no_such_module:open", "overstory.vector_index:no_such_name"])
def test_a_store_that_cannot_be_imported_is_named(value: str) -> None:
    with pytest.raises(SettingsError, match="vector index 'mine' cannot be loaded"):
        open_vector_indexes("mine", Opening(), offered(("mine", value)))


def test_no_condition_is_met_by_all_and_an_empty_set_by_none() -> None:
    entries = mixed(9)
    assert all(EVERYTHING.meets(entry) for entry in entries)
    for where in (Filter(levels=frozenset()), Filter(documents=frozenset())):
        assert where.nothing
        assert not any(where.meets(entry) for entry in entries)
