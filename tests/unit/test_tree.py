from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from overstory.freshness import Cause
from overstory.identity import (
    ClusterId,
    DocumentId,
    NodeId,
    VersionId,
    ordered_child_hash,
    unordered_child_hash,
)
from overstory.nodes import NodeKind
from overstory.record import ClusterTree, DocumentTree, Member, SectionRow, StoredSummary
from overstory.tree import (
    PASSED_THROUGH,
    LeafRange,
    chunk_targets,
    cluster_target,
    document_target,
    merkle_root,
    section_id,
    section_targets,
)

DOCUMENT = DocumentId("00000000-0000-5000-8000-000000000001")


def recipes(kind: NodeKind) -> str:
    return f"recipe of {kind}"


def tree(leaves: int = 3, sections: int = 0, number: int = 1) -> DocumentTree:
    """A document whose leaves are shared evenly by its sections."""
    size = leaves // sections if sections else 0
    return DocumentTree(
        document_id=DOCUMENT,
        path="a.md",
        title="A",
        shard=7,
        version_id=VersionId("version"),
        version_number=number,
        child_hash="over the leaves",
        leaf_count=leaves,
        sections=tuple(
            SectionRow(place, place * size, place * size + size - 1, "", f"over section {place}")
            for place in range(sections)
        ),
        leaves=tuple((NodeId(f"leaf {place}"), f"hash {place}") for place in range(leaves)),
    )


def made(document: DocumentTree, **failures: str) -> dict[NodeId, StoredSummary]:
    """The section summaries of a document, as they ought to be."""
    found = {}
    for target in section_targets(document, recipes):
        failure = failures.get(f"section_{target.ordinal}")
        found[target.id] = StoredSummary(
            target.id,
            target.kind,
            target.ordinal,
            target.desired.child_hash or "",
            target.desired.recipe_hash,
            f"text {target.ordinal}",
            failure,
        )
    return found


def test_short_document_stands_over_its_leaves() -> None:
    target = document_target(tree(3), recipes, {})
    assert target.children == LeafRange(VersionId("version"), 0, 2)
    assert target.desired.child_hash == "over the leaves"
    assert (target.level, target.shard, target.owner, target.blocked) == (1, 7, DOCUMENT, "")


def test_document_of_one_leaf_is_passed_through() -> None:
    target = document_target(tree(1), recipes, {})
    assert target.single
    assert target.desired.recipe_hash == PASSED_THROUGH


def test_document_of_two_leaves_is_summarized() -> None:
    target = document_target(tree(2), recipes, {})
    assert not target.single
    assert target.desired.recipe_hash == recipes(NodeKind.DOCUMENT_SUMMARY)


def test_long_document_stands_over_its_sections_in_order() -> None:
    document = tree(6, sections=3)
    target = document_target(document, recipes, made(document))
    assert target.children == tuple(section_id(document, place) for place in range(3))
    assert target.desired.child_hash == ordered_child_hash(["text 0", "text 1", "text 2"])


def test_document_waits_for_a_section_without_summary() -> None:
    document = tree(6, sections=3)
    stored = made(document)
    del stored[section_id(document, 1)]
    target = document_target(document, recipes, stored)
    assert target.desired.child_hash is None
    assert target.blocked == "section 2 has no summary"


def test_document_waits_for_a_failed_section() -> None:
    document = tree(6, sections=3)
    target = document_target(document, recipes, made(document, section_2="refusal"))
    assert target.blocked == "section 3 has no summary"


def test_document_waits_for_a_section_that_describes_another_text() -> None:
    document = tree(6, sections=3)
    stored = made(document)
    first = section_id(document, 0)
    stored[first] = replace(stored[first], child_hash="of another text")
    assert document_target(document, recipes, stored).blocked == "section 1 has no summary"


def test_document_does_not_wait_for_a_section_that_only_has_another_recipe() -> None:
    document = tree(6, sections=3)
    stored = {node: replace(summary, recipe_hash="former") for node, summary in made(document).items()}
    assert document_target(document, recipes, stored).blocked == ""


def test_section_of_one_leaf_is_passed_through() -> None:
    assert [target.single for target in section_targets(tree(3, sections=3), recipes)] == [True, True, True]


def test_chunk_summary_of_a_single_leaf_is_no_copy_of_it() -> None:
    (target,) = chunk_targets(tree(1), recipes)
    assert not target.single
    assert target.level == 0
    assert target.desired.child_hash == ordered_child_hash(["hash 0"])


def test_second_version_counts_as_edited() -> None:
    assert document_target(tree(number=1), recipes, {}).edited is None
    assert document_target(tree(number=2), recipes, {}).edited is Cause.EDITED
    again = replace(tree(number=2), reextracted=True)
    assert document_target(again, recipes, {}).edited is Cause.NEW_EXTRACTOR


def cluster(texts: Mapping[str, str | None], level: int = 2) -> ClusterTree:
    members = tuple(
        Member(member, NodeId(f"summary of {member}") if text else None, text) for member, text in texts.items()
    )
    return ClusterTree(ClusterId("00000000-0000-5000-8000-000000000002"), level, 9, members, None)


def test_cluster_stands_over_its_members_sorted_by_text() -> None:
    target = cluster_target(cluster({"x": "b", "y": "a"}), recipes)
    assert target.children == ("summary of y", "summary of x")
    assert target.desired.child_hash == unordered_child_hash(["a", "b"])


@given(st.permutations(["a", "b", "c", "d"]))
def test_cluster_does_not_depend_on_the_names_of_its_members(order: list[str]) -> None:
    named = cluster_target(cluster({f"member {place}": text for place, text in enumerate(order)}), recipes)
    assert named.desired.child_hash == unordered_child_hash(["a", "b", "c", "d"])


def test_member_without_summary_is_left_out() -> None:
    target = cluster_target(cluster({"x": "a", "y": None, "z": "b"}), recipes)
    assert len(target.children) == 2 if isinstance(target.children, tuple) else False


def test_cluster_with_one_usable_member_passes_it_through() -> None:
    target = cluster_target(cluster({"x": "a", "y": None}), recipes)
    assert target.single
    assert target.desired.recipe_hash == PASSED_THROUGH


def test_cluster_without_any_usable_member_waits() -> None:
    target = cluster_target(cluster({"x": None}), recipes)
    assert target.desired.child_hash is None
    assert target.blocked


def test_cluster_keeps_its_level() -> None:
    assert cluster_target(cluster({"x": "a"}, level=3), recipes).level == 3


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=6))
def test_merkle_root_depends_on_what_is_held_alone(hashes: dict[str, str]) -> None:
    assert merkle_root(hashes) == merkle_root(dict(reversed(hashes.items())))
    assert merkle_root({**hashes, "one more": "hash"}) != merkle_root(hashes)
