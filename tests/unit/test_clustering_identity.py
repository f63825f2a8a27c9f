from __future__ import annotations

from overstory.cluster_identity import carry_ids, overlaps
from overstory.identity import ClusterId

A, B, C, X, Y, Z = (ClusterId(name) for name in "abcxyz")


def test_a_cluster_that_shares_half_takes_the_old_id() -> None:
    assert carry_ids({A: {"1", "2", "3"}}, {X: {"1", "2", "4"}}) == {X: A}


def test_a_cluster_that_shares_less_than_half_keeps_its_own_id() -> None:
    assert carry_ids({A: {"1", "2", "3"}}, {X: {"1", "4", "5"}}) == {X: X}


def test_the_most_similar_heir_takes_the_id() -> None:
    old = {A: {"1", "2", "3", "4"}}
    assert carry_ids(old, {X: {"1", "2"}, Y: {"1", "2", "3"}}) == {X: X, Y: A}


def test_a_new_cluster_takes_one_id() -> None:
    old = {A: {"1", "2", "3"}, B: {"1", "2", "4"}}
    assert carry_ids(old, {X: {"1", "2", "4"}, Y: {"9"}}) == {X: B, Y: Y}


def test_equal_similarity_is_settled_by_id() -> None:
    same = {"1", "2"}
    assert carry_ids({B: same, A: same}, {Y: same, X: same}) == {X: A, Y: B}


def test_nothing_before_carries_nothing() -> None:
    assert carry_ids({}, {X: {"1"}}) == {X: X}
    assert carry_ids({A: {"1"}}, {}) == {}


def test_overlaps_are_jaccard_similarities_of_pairs_that_meet() -> None:
    old = {A: {"1", "2"}, B: {"3"}, C: {"9"}}
    new = {X: {"1", "2"}, Y: {"2", "3"}, Z: {"7"}}
    assert overlaps(old, new) == [(1.0, A, X), (0.5, B, Y), (1 / 3, A, Y)]
