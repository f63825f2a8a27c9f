from __future__ import annotations

from overstory.identity import DocumentId, NodeId, document_id, leaf_id, summary_id
from overstory.nodes import NodeKind
from overstory.retrieval.ports import Candidate, Scope
from overstory.retrieval.resolve import leaf_entries, misplaced, summary_entries

DOCUMENT = document_id("dataset", "a.md")
LEAF = leaf_id(DOCUMENT, "hash", 0)
OTHER = leaf_id(DOCUMENT, "other hash", 0)


def leaf(node: NodeId, score: float) -> Candidate:
    return Candidate(node, NodeKind.LEAF, score, DOCUMENT, 0)


def proxy(of: NodeId, score: float, *, at: NodeId | None) -> Candidate:
    node = summary_id(NodeKind.CHUNK_SUMMARY, of)
    return Candidate(node, NodeKind.CHUNK_SUMMARY, score, DOCUMENT, 0, leaf_id=at)


def test_case_35_direct_and_via_summary_are_one_entry_with_the_better_score() -> None:
    entries = leaf_entries([leaf(LEAF, 0.61), proxy(LEAF, 0.74, at=LEAF)])

    assert [(entry.node_id, entry.candidate.score, entry.via_summary) for entry in entries] == [(LEAF, 0.74, True)]


def test_a_better_direct_score_is_no_match_via_summary() -> None:
    entries = leaf_entries([proxy(LEAF, 0.61, at=LEAF), leaf(LEAF, 0.74)])

    assert [(entry.candidate.score, entry.via_summary) for entry in entries] == [(0.74, False)]


def test_equal_scores_count_as_a_direct_match_whatever_comes_first() -> None:
    both = [proxy(LEAF, 0.5, at=LEAF), leaf(LEAF, 0.5)]

    assert [entry.via_summary for entry in (*leaf_entries(both), *leaf_entries(both[::-1]))] == [False, False]


def test_case_33_a_chunk_summary_alone_stands_for_its_leaf() -> None:
    (entry,) = leaf_entries([proxy(LEAF, 0.9, at=LEAF)])

    assert (entry.node_id, entry.candidate.kind, entry.via_summary) == (LEAF, NodeKind.LEAF, True)


def test_a_chunk_summary_whose_leaf_moved_is_found_among_the_documents_leaves() -> None:
    moved = proxy(LEAF, 0.9, at=OTHER)

    assert misplaced([moved, leaf(OTHER, 0.1)]) == {DOCUMENT}
    (entry,) = leaf_entries([moved], {DOCUMENT: (OTHER, LEAF)})
    assert (entry.node_id, entry.candidate.ordinal) == (LEAF, 1)


def test_a_chunk_summary_whose_leaf_is_gone_is_left_out() -> None:
    assert leaf_entries([proxy(LEAF, 0.9, at=None)], {DOCUMENT: (OTHER,)}) == []


def test_entries_are_ordered_by_score_then_id() -> None:
    low, high = sorted((LEAF, OTHER))

    assert [e.node_id for e in leaf_entries([leaf(high, 0.5), leaf(low, 0.5)])] == [low, high]


def test_a_passed_through_summary_leaves_its_place_to_its_child() -> None:
    own = Candidate(NodeId("own"), NodeKind.DOCUMENT_SUMMARY, 0.9, DOCUMENT)
    passed = Candidate(NodeId("passed"), NodeKind.DOCUMENT_SUMMARY, 0.95, DOCUMENT, passed_through=True)

    assert [entry.node_id for entry in summary_entries([passed, own])] == ["own"]


def test_a_scope_holds_the_leaves_of_its_documents_within_its_range() -> None:
    scope = Scope(frozenset({DOCUMENT}), first=2, last=3)
    places = [Candidate(LEAF, NodeKind.LEAF, 1.0, DOCUMENT, ordinal) for ordinal in range(6)]

    assert [scope.holds(place) for place in places] == [False, False, True, True, False, False]
    assert not scope.holds(Candidate(LEAF, NodeKind.LEAF, 1.0, DocumentId("another"), 2))
