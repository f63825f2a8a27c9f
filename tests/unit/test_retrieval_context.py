from __future__ import annotations

from overstory.identity import ClusterId, DocumentId, NodeId
from overstory.nodes import NodeKind, NodeState
from overstory.retrieval.context import pack, source_line
from overstory.retrieval.hits import Hit, MatchedVia, compose


def words(text: str) -> int:
    return len(text.split())


def leaf(name: str, text: str, *, state: NodeState = NodeState.FRESH, reason: str = "") -> Hit:
    return Hit(
        node_id=NodeId(name),
        kind=NodeKind.LEAF,
        level=0,
        score=1.0,
        similarity=0.5,
        matched_via=MatchedVia.TEXT,
        text=text,
        context="",
        tokens=words(text),
        path="a.md",
        title="A",
        headings=("Part", "Fees"),
        start=10,
        end=20,
        document_id=DocumentId("d"),
        cluster_id=None,
        children=(),
        state=state,
        reason=reason,
    )


def cluster(name: str) -> Hit:
    return Hit(
        node_id=NodeId(name),
        kind=NodeKind.CLUSTER_SUMMARY,
        level=2,
        score=1.0,
        similarity=None,
        matched_via=MatchedVia.TEXT,
        text="fees rose",
        context="",
        tokens=2,
        path="",
        title="",
        headings=(),
        start=None,
        end=None,
        document_id=None,
        cluster_id=ClusterId("c"),
        children=(NodeId("x"), NodeId("y")),
        state=NodeState.FRESH,
        reason="",
    )


def test_hits_are_numbered_with_their_sources() -> None:
    context = pack([leaf("one", "Fees are due."), cluster("two")], 100, words)

    assert context.text == (
        "[1] a.md > Part > Fees, characters 10-20\nFees are due.\n\n[2] summary of 2 nodes\nfees rose"
    )
    assert [(c.number, c.node_id, c.start, c.end) for c in context.citations] == [
        (1, "one", 10, 20),
        (2, "two", None, None),
    ]


def test_a_hit_that_does_not_fit_is_passed_over_for_one_that_does() -> None:
    context = pack([leaf("long", "word " * 50), leaf("short", "word")], 20, words)

    assert [citation.node_id for citation in context.citations] == ["short"]
    assert context.tokens <= 20


def test_nothing_fits_no_budget() -> None:
    assert pack([leaf("one", "word")], 0, words).text == ""


def test_the_composition_is_of_what_was_packed() -> None:
    context = pack([leaf("long", "word " * 50), cluster("two")], 20, words)

    assert (context.composition.leaves, context.composition.summaries) == (0, 1)


def test_a_stale_hit_says_so_with_its_cause() -> None:
    assert source_line(leaf("one", "x", state=NodeState.STALE, reason="edited")).endswith("(stale: edited)")


def test_the_context_of_a_leaf_is_read_before_its_text() -> None:
    from dataclasses import replace

    table = replace(leaf("one", "| 5 |"), context="| Fee |\n| --- |\n")

    assert "| Fee |\n| --- |\n| 5 |" in pack([table], 100, words).text


def test_composition_counts_kinds_levels_and_stale_nodes() -> None:
    composition = compose((leaf("one", "x"), leaf("two", "y", state=NodeState.STALE, reason="edited"), cluster("c")))

    assert composition.kinds == {NodeKind.LEAF: 2, NodeKind.CLUSTER_SUMMARY: 1}
    assert composition.levels == {0: 2, 2: 1}
    assert composition.stale == 1
