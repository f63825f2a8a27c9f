"""Drift: shown in numbers, proposed where the rule says so, and never acted on."""

from __future__ import annotations

from overstory.building.drifting import measure_drift
from overstory.clustering import Drift
from tests.scenarios.corpora import corpus
from tests.scenarios.workbench import DATASET, Workbench


def drift_of(bench: Workbench) -> Drift:
    found = measure_drift(bench.context())
    assert found is not None
    return found


def test_index_without_clusters_has_no_drift(bench: Workbench) -> None:
    bench.write("a.md", "The only document.")
    bench.build()
    assert measure_drift(bench.context()) is None


def test_index_that_was_never_built_has_no_drift(loose_bench: Workbench) -> None:
    assert measure_drift(loose_bench.context()) is None


def test_fresh_fit_has_not_turned_over(bench: Workbench) -> None:
    bench.fill(corpus(40))
    bench.build()
    assert drift_of(bench).turnover == 0


def test_growth_by_half_makes_a_reclustering_worth_proposing(bench: Workbench) -> None:
    bench.fill(corpus(40))
    bench.build()
    bench.fill(corpus(60))
    bench.build()
    found = drift_of(bench)
    assert (found.turnover, found.propose) == (0.5, True)


def test_proposed_reclustering_is_not_made_by_the_next_build(bench: Workbench) -> None:
    bench.fill(corpus(40))
    bench.build()
    bench.fill(corpus(60))
    bench.build()
    before = bench.memberships()
    bench.build()
    assert bench.memberships() == before


def test_measuring_writes_nothing(bench: Workbench) -> None:
    bench.fill(corpus(40))
    bench.build()
    before = bench.dump()
    drift_of(bench)
    assert bench.dump() == before


def test_drift_is_measured_while_summaries_are_missing_and_new_ones_are_not_placed(bench: Workbench) -> None:
    bench.fill(corpus(40))
    bench.build()
    before = drift_of(bench)
    rows = bench.record.documents.rows(DATASET)
    bench.record.vectors.delete(DATASET, bench.record.summaries.purge([row.id for row in rows[:3]]))
    assert abs(drift_of(bench).misplaced - before.misplaced) <= 3 / 40
    bench.build()
