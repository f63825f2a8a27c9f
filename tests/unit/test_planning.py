from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overstory.identity import NodeId
from overstory.nodes import NodeKind
from overstory.planning import Action, ClusterOutlook, Estimate, Plan, Price, cluster_estimate, priced, total
from overstory.settings import Prices

PRICES = Prices(usd_per_mtok_in=1.0, usd_per_mtok_out=10.0)
NOTHING = Estimate((0, 0, 0), Price(), Price(), Price())
OUTLOOK = ClusterOutlook(
    documents=100, clusters=6, stale=0, changed=0, tokens_in=4000, tokens_out=380, first_build=False
)


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


@pytest.mark.parametrize("documents", [0, 1])
def test_fewer_than_two_documents_have_no_cluster(documents: int) -> None:
    outlook = replace(OUTLOOK, documents=documents, first_build=True)
    assert cluster_estimate(outlook, PRICES, paid=True) == NOTHING


def test_nothing_changed_costs_no_cluster() -> None:
    assert cluster_estimate(OUTLOOK, PRICES, paid=True).summaries == (0, 0, 0)


def test_stale_clusters_are_certain() -> None:
    assert cluster_estimate(replace(OUTLOOK, stale=6), PRICES, paid=True).summaries == (6, 6, 6)


def test_one_change_reaches_its_clusters() -> None:
    assert cluster_estimate(replace(OUTLOOK, changed=1), PRICES, paid=True).summaries == (0, 2, 4)


def test_free_summarizer_counts_summaries_without_a_price() -> None:
    found = cluster_estimate(replace(OUTLOOK, stale=6), PRICES, paid=False)
    assert (found.summaries, found.most) == ((6, 6, 6), Price())


@given(
    st.builds(
        ClusterOutlook,
        documents=st.integers(0, 500),
        clusters=st.integers(0, 60),
        stale=st.integers(0, 60),
        changed=st.integers(0, 500),
        tokens_in=st.integers(0, 5000),
        tokens_out=st.integers(0, 500),
        first_build=st.booleans(),
    )
)
def test_least_is_at_most_expected_and_expected_at_most_most(outlook: ClusterOutlook) -> None:
    found = cluster_estimate(outlook, PRICES, paid=True)
    assert list(found.summaries) == sorted(found.summaries)
    assert found.least.usd <= found.expected.usd <= found.most.usd


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
    ],
    ids=["move", "deletion", "summary", "embedding", "cluster"],
)
def test_any_change_is_something_to_do(change: dict[str, object]) -> None:
    assert not plan(**change).nothing_to_do
