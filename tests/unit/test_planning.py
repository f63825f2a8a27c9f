from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.identity import NodeId
from overstory.nodes import NodeKind
from overstory.planning import (
    Action,
    Estimate,
    LevelEstimate,
    Plan,
    Price,
    Unplaced,
    fitted,
    fitted_above,
    priced,
    reached_by,
    summed,
    total,
)
from overstory.settings import Prices

PRICES = Prices(usd_per_mtok_in=1.0, usd_per_mtok_out=10.0)
NOTHING = Estimate((0, 0, 0), Price(), Price(), Price())


def plan(**changes: object) -> Plan:
    base = Plan(
        dataset="docs",
        documents={"unchanged": 3},
        actions=(),
        clusters=NOTHING,
        embeddings={},
        embedding_tokens=0,
        embedding_usd=0.0,
        call_seconds=0.0,
        seconds=0.0,
        paid=True,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def action(usd: float = 1.0) -> Action:
    return Action(NodeId("n"), NodeKind.DOCUMENT_SUMMARY, 1, "a.md", "new", Price(1, 10, 5, usd))


def test_price_is_tokens_times_dollars_a_million() -> None:
    assert priced(2, 1_000_000, 100_000, PRICES) == Price(2, 1_000_000, 100_000, 2.0)


def test_what_takes_no_call_is_free() -> None:
    assert priced(0, 500, 500, PRICES) == Price()


def test_sum_of_nothing_is_nothing() -> None:
    assert total([]) == Price()


def test_sum_adds_every_part() -> None:
    assert total([Price(1, 2, 3, 4.0), Price(10, 20, 30, 40.0)]) == Price(11, 22, 33, 44.0)


def test_price_of_several_is_several_prices() -> None:
    assert Price(2, 10, 5, 0.5).times(3) == Price(6, 30, 15, 1.5)


def test_no_document_out_of_place_reaches_no_cluster() -> None:
    assert reached_by(Unplaced(), 6, 6) == (0, 0, 0)


def test_one_addition_reaches_two_clusters() -> None:
    assert reached_by(Unplaced(additions=1), 100, 100) == (0, 2, 6)


def test_one_edit_is_expected_to_stay_where_it_is() -> None:
    assert reached_by(Unplaced(edits=1), 100, 98) == (0, 0, 3)


def test_many_additions_reach_every_cluster_once() -> None:
    assert reached_by(Unplaced(additions=1000), 10, 10)[1] == 10


def test_clusters_that_change_anyway_are_not_counted_again() -> None:
    assert reached_by(Unplaced(edits=50), 10, 0) == (0, 0, 0)


@given(st.integers(0, 500), st.integers(0, 500), st.integers(0, 60), st.integers(0, 60))
def test_least_is_at_most_expected_and_expected_at_most_most(
    edits: int, additions: int, clusters: int, touched: int
) -> None:
    found = reached_by(Unplaced(edits, additions), clusters, max(0, clusters - touched))
    assert list(found) == sorted(found)


@pytest.mark.parametrize(("start", "bounds"), [(0, (0, 0, 0)), (1, (1, 1, 1)), (6, (4, 6, 9))])
def test_fit_ends_near_the_number_that_it_starts_with(start: int, bounds: tuple[int, int, int]) -> None:
    assert fitted(start) == bounds


@pytest.mark.parametrize(
    ("below", "bounds"),
    [
        ((0, 0, 0), (0, 0, 0)),
        ((1, 1, 1), (0, 0, 0)),
        ((1, 2, 3), (0, 1, 1)),
        ((4, 6, 9), (1, 1, 1)),
        ((60, 80, 100), (2, 4, 7)),
    ],
    ids=str,
)
def test_level_above_has_one_cluster_over_a_few(below: tuple[int, int, int], bounds: tuple[int, int, int]) -> None:
    assert fitted_above(below, lambda members: 1 if members <= 24 else round(members / 20)) == bounds


def test_level_above_that_may_be_a_staircase_is_not_certain() -> None:
    assert fitted_above((10, 10, 10), lambda members: members // 2) == (0, 5, 5)


@given(st.tuples(st.integers(0, 90), st.integers(0, 90), st.integers(0, 90)).map(lambda found: tuple(sorted(found))))
def test_level_above_is_at_most_half_of_the_level(below: tuple[int, int, int]) -> None:
    found = fitted_above(below, lambda members: members // 4 + 1)
    assert list(found) == sorted(found)
    assert all(2 * above <= number for above, number in zip(found, below, strict=True))


def test_estimate_has_each_level_and_cause_once_and_leaves_out_those_of_nothing() -> None:
    def level(number: int, *summaries: int) -> LevelEstimate:
        least, expected, most = summaries
        one = Price(1, 10, 5, 0.1)
        return LevelEstimate(
            number, "new", (least, expected, most), one.times(least), one.times(expected), one.times(most)
        )

    levels = [level(3, 0, 1, 1), level(2, 1, 2, 3), level(4, 0, 0, 0), level(2, 0, 1, 4)]
    found = summed(levels, embedding_tokens=7, reshaped=1, removed=2)
    assert (found.summaries, found.expected.calls) == ((1, 4, 8), 4)
    assert [(part.level, part.summaries) for part in found.levels] == [(2, (1, 3, 7)), (3, (0, 1, 1))]


def test_plan_adds_what_is_exact_and_what_is_expected() -> None:
    clusters = Estimate((1, 2, 3), Price(1, 0, 0, 1.0), Price(2, 0, 0, 2.0), Price(3, 0, 0, 3.0))
    found = plan(actions=(action(), action()), clusters=clusters)
    assert (found.exact.usd, found.expected.usd, found.expected.calls) == (2.0, 4.0, 4)


def test_unchanged_documents_are_nothing_to_do() -> None:
    assert plan().nothing_to_do


def test_documents_that_fail_again_are_nothing_to_do() -> None:
    assert plan(documents={"unchanged": 3, "failed": 1}).nothing_to_do


@pytest.mark.parametrize(
    "change",
    [
        {"documents": {"moved": 1}},
        {"documents": {"deleted": 1}},
        {"actions": (action(),)},
        {"embeddings": {"new embedder": 5}},
        {"clusters": replace(NOTHING, summaries=(0, 0, 1))},
        {"clusters": replace(NOTHING, reshaped=1)},
        {"clusters": replace(NOTHING, removed=1)},
        {"removed": 1},
    ],
    ids=["move", "deletion", "summary", "embedding", "cluster", "membership", "cluster gone", "summary gone"],
)
def test_any_change_is_something_to_do(change: dict[str, object]) -> None:
    assert not plan(**change).nothing_to_do
