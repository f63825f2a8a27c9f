from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.errors import SettingsError
from overstory.retrieval.quota import Quota, choose

ranked_lists = st.lists(st.integers(0, 60), unique=True, max_size=40)


def test_slots_that_summaries_leave_free_go_to_leaves() -> None:
    assert [Quota(6, 2).leaf_slots(served) for served in (2, 1, 0)] == [6, 7, 8]


def test_no_leaf_slots_where_no_leaf_is_asked_for() -> None:
    assert Quota(0, 2).leaf_slots(0) == 0


@pytest.mark.parametrize(("leaves", "summaries"), [(0, 0), (-1, 2), (6, -1)])
def test_a_quota_for_nothing_is_refused(leaves: int, summaries: int) -> None:
    with pytest.raises(SettingsError):
        Quota(leaves, summaries)


def test_what_is_brought_takes_the_place_of_the_last_ranked() -> None:
    assert choose([1, 2, 3, 4, 5, 6, 7, 8], [8], 6) == [1, 2, 3, 4, 5, 8]


def test_what_is_brought_and_ranked_among_the_first_displaces_nothing() -> None:
    assert choose([1, 2, 3, 4, 5, 6, 7], [3], 6) == [1, 2, 3, 4, 5, 6]


def test_what_is_brought_and_unranked_stands_last() -> None:
    assert choose([1, 2, 3, 4], [99], 4) == [1, 2, 3, 99]


def test_what_is_brought_takes_half_of_the_slots_at_most() -> None:
    assert choose([1, 2, 3, 4], [90, 91, 92, 93], 4) == [1, 2, 90, 91]


def test_a_short_ranking_is_not_padded() -> None:
    assert choose([1, 2], [], 6) == [1, 2]


@given(ranked_lists, ranked_lists, st.integers(0, 12))
def test_chosen_are_unique_known_and_fill_the_slots_as_far_as_they_reach(
    ranked: list[int], brought: list[int], slots: int
) -> None:
    chosen = choose(ranked, brought, slots)

    assert len(chosen) == len(set(chosen))
    assert set(chosen) <= {*ranked, *brought}
    assert min(slots, len(ranked)) <= len(chosen) <= slots


@given(ranked_lists, ranked_lists, st.integers(0, 12))
def test_the_best_ranked_half_is_always_chosen_in_its_order(ranked: list[int], brought: list[int], slots: int) -> None:
    chosen = choose(ranked, brought, slots)

    assert set(ranked[: slots - slots // 2]) <= set(chosen)
    known = [each for each in chosen if each in ranked]
    assert known == sorted(known, key=ranked.index)
