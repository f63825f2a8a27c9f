from __future__ import annotations

import subprocess
import sys
import uuid

from hypothesis import given
from hypothesis import strategies as st

from overstory.identity import (
    SHARDS,
    content_hash,
    derive_id,
    digest,
    document_id,
    encode,
    leaf_id,
    ordered_child_hash,
    recipe_change,
    recipe_hash,
    shard_key,
    shard_of,
    summary_id,
    unordered_child_hash,
    version_id,
    with_parameters,
)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
fields = st.lists(text, max_size=5)


@given(text, fields, text, fields)
def test_encoding_of_two_different_lists_is_never_the_same(
    one: str, of_one: list[str], other: str, of_other: list[str]
) -> None:
    assert (encode(one, of_one) == encode(other, of_other)) == ((one, of_one) == (other, of_other))


@given(fields)
def test_unordered_hash_does_not_depend_on_the_order(children: list[str]) -> None:
    assert unordered_child_hash(children) == unordered_child_hash(list(reversed(children)))


@given(st.lists(text, min_size=2, max_size=5, unique=True))
def test_ordered_hash_depends_on_the_order(children: list[str]) -> None:
    assert ordered_child_hash(children) != ordered_child_hash(list(reversed(children)))


def test_repeated_child_counts() -> None:
    assert unordered_child_hash(["a", "a"]) != unordered_child_hash(["a"])


def test_hashes_of_different_purposes_differ() -> None:
    assert len({content_hash("a"), ordered_child_hash(["a"]), unordered_child_hash(["a"]), digest("other", "a")}) == 4


def test_hash_is_the_same_in_another_process() -> None:
    code = "from overstory.identity import content_hash; print(content_hash('é🦜'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == content_hash("é🦜")


def test_hash_of_a_known_text_never_changes() -> None:
    assert content_hash("overstory") == "e4fb01eea615a2f1c8a6c5faf2980e19df76b522d63e2acf69e4e2f660a12f8e"


def test_recipe_tells_which_part_changed() -> None:
    base = recipe_hash("model", "prompt", "parameters")
    assert len(base) == 64
    assert recipe_change(base, recipe_hash("another", "prompt", "parameters")) == "model"
    assert recipe_change(base, recipe_hash("model", "another", "parameters")) == "prompt"
    assert recipe_change(base, recipe_hash("model", "prompt", "other")) == "parameters"
    assert recipe_change(base, with_parameters(base, "more")) == "parameters"
    assert recipe_change(base, base) == ""


def test_model_change_is_told_before_a_change_of_prompt() -> None:
    assert recipe_change(recipe_hash("a", "a", "a"), recipe_hash("b", "b", "b")) == "model"


def test_ids_are_uuids_that_depend_on_every_field() -> None:
    document = document_id("docs", "a.md")
    ids = [
        document,
        document_id("docs", "b.md"),
        document_id("other", "a.md"),
        document_id("docs", "a.md", "1"),
        version_id(document, 1),
        version_id(document, 2),
        leaf_id(document, "hash", 0),
        leaf_id(document, "hash", 1),
        summary_id("document_summary", document),
        summary_id("section_summary", document, "0"),
        summary_id("section_summary", document, "1"),
        derive_id("other", "a"),
    ]
    assert len({uuid.UUID(identifier) for identifier in ids}) == len(ids)


@given(text)
def test_shard_is_between_0_and_63(path: str) -> None:
    shard = shard_of(document_id("docs", path))
    assert 0 <= shard < SHARDS
    assert int(shard_key(shard)) == shard
    assert len(shard_key(shard)) == 2


def test_shards_share_documents_evenly() -> None:
    counts = [0] * SHARDS
    for number in range(6400):
        counts[shard_of(document_id("docs", f"{number}.md"))] += 1
    assert min(counts) > 60
    assert max(counts) < 140
