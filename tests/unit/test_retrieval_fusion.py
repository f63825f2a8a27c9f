from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.identity import NodeId
from overstory.retrieval.fusion import Ranking, fuse

Nodes = st.lists(st.integers(0, 30).map(lambda n: NodeId(f"node{n:02d}")), unique=True, max_size=20)


def node(name: str) -> NodeId:
    return NodeId(name)


def test_score_is_the_weighted_sum_of_reciprocal_ranks_over_the_highest_possible() -> None:
    fused = fuse([Ranking([node("a"), node("b")], 0.5), Ranking([node("b"), node("c")])], constant=10)

    assert fused == pytest.approx(
        {
            "b": (0.5 / 12 + 1 / 11) / (1.5 / 11),
            "c": (1 / 12) / (1.5 / 11),
            "a": (0.5 / 11) / (1.5 / 11),
        }
    )


def test_first_in_every_ranking_scores_one() -> None:
    assert fuse([Ranking([node("a")]), Ranking([node("a"), node("b")])])[node("a")] == pytest.approx(1.0)


def test_equal_scores_are_ordered_by_id() -> None:
    assert list(fuse([Ranking([node("b"), node("c")]), Ranking([node("a"), node("d")])])) == ["a", "b", "c", "d"]


def test_no_ranking_gives_nothing() -> None:
    assert fuse([]) == {}


@given(st.lists(Nodes, max_size=4))
def test_every_ranked_node_is_fused_once_with_a_score_in_0_to_1(rankings: list[list[NodeId]]) -> None:
    fused = fuse([Ranking(nodes) for nodes in rankings])

    assert set(fused) == {each for nodes in rankings for each in nodes}
    assert all(0 < score <= 1 + 1e-9 for score in fused.values())
    assert list(fused.values()) == sorted(fused.values(), reverse=True)


@given(Nodes, Nodes)
def test_a_node_that_is_ahead_in_both_rankings_is_ahead_in_the_fused_one(
    first: list[NodeId], second: list[NodeId]
) -> None:
    fused = list(fuse([Ranking(first), Ranking(second)]))
    both = [each for each in first if each in second]
    for ahead in both:
        for behind in both:
            if first.index(ahead) < first.index(behind) and second.index(ahead) < second.index(behind):
                assert fused.index(ahead) < fused.index(behind)
