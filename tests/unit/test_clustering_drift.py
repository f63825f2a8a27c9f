from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overstory.clustering import ClusterParameters, cohesion, compare, drift, propose, recluster, update
from tests.unit.clustering_corpora import covered, fitted, hashes, member, members_of, sizes, topical, vectors


def test_a_new_fit_does_not_drift() -> None:
    members = topical(300, topics=25)
    found = drift(fitted(members), members)
    assert found.misplaced < 0.025
    assert (found.turnover, found.propose) == (0.0, False)


@pytest.mark.parametrize("count", [0, 1, 20])
def test_a_small_corpus_is_never_misplaced(count: int) -> None:
    members = topical(count)
    found = drift(fitted(members), members)
    assert (found.misplaced, found.propose) == (0.0, False)


def test_turnover_of_half_the_members_proposes_and_a_refusal_holds_for_a_tenth_more() -> None:
    members = topical(300, topics=25)
    model = update(fitted(members), deletes=[m.id for m in members[:150]], current=vectors(members)).model
    found = drift(model, members[150:])
    assert found.turnover == 0.5
    assert found.propose
    assert not drift(model, members[150:], declined_at=0.45).propose
    assert drift(model, members[150:], declined_at=0.4).propose


def test_topics_that_moved_are_misplaced() -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    draw = np.random.default_rng(8)
    strangers = [member(1000 + n, row) for n, row in enumerate(draw.normal(size=(80, 8)))]
    moved = [member(n, draw.normal(size=8), "b") for n in range(60)]
    after = update(model, upserts=[*strangers, *moved], current=vectors(members)).model
    found = drift(after, [*moved, *members[60:], *strangers])
    assert found.misplaced > drift(model, members).misplaced
    assert found.misplaced >= 0.025
    assert found.propose


def test_drift_needs_exactly_the_members_of_the_model() -> None:
    members = topical(60)
    with pytest.raises(ValueError, match="not those of the model"):
        drift(fitted(members), members[1:])


def test_cohesion_is_the_mean_pairwise_cosine_within_clusters() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    members = members_of(rows)
    assert cohesion(fitted(members), members) == pytest.approx((0 + 2 * 0.5**0.5) / 3)


def test_a_cluster_of_one_has_no_say_in_cohesion() -> None:
    lone = ClusterParameters(min_size=1, single_cluster_max=2, target_size=2, fit_max=2)
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    model = fitted(members_of(rows), lone)
    assert sizes(model) == [1, 2]
    assert cohesion(model, members_of(rows)) == pytest.approx(1.0)


def test_cohesion_without_clusters_is_zero() -> None:
    assert cohesion(fitted(topical(1)), topical(1)) == 0.0


def test_a_warm_recluster_keeps_more_ids_than_a_fit_and_covers_all() -> None:
    members = topical(500, topics=40)
    model = update(fitted(members[:400]), upserts=members[400:], current=vectors(members)).model
    warm = recluster(model, members)
    cold = compare(model, fitted(members)).model
    assert covered(warm)
    assert sizes(warm)[-1] <= 28
    assert warm.generation == 2
    assert warm.fitted == 500
    assert warm.turned == 0
    assert len(set(warm.ids) & set(model.ids)) >= 0.8 * len(model.ids)
    assert len(set(cold.ids) & set(model.ids)) < len(set(warm.ids) & set(model.ids))


def test_a_recluster_splits_until_the_corpus_has_the_clusters_it_asks_for() -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    finer = recluster(model, members, replace(model.parameters, target_size=10))
    assert len(finer.ids) >= 1.5 * len(model.ids)
    assert finer.parameters.target_size == 10


def test_a_recluster_makes_no_more_clusters_than_members() -> None:
    members = topical(40)
    finest = ClusterParameters(target_size=2, mean_memberships=3.0, min_size=1, single_cluster_max=2)
    after = recluster(fitted(members), members, finest)
    assert covered(after)
    assert len(after.ids) <= 40


@pytest.mark.parametrize("count", [0, 1, 20])
def test_a_recluster_of_a_small_corpus_is_a_fit(count: int) -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    after = recluster(model, members[:count])
    assert len(after.ids) == int(count > 1)
    assert set(after.hashes) == {m.id for m in members[:count]}


def test_a_recluster_takes_members_the_model_does_not_know() -> None:
    members = topical(300, topics=25)
    after = recluster(fitted(members[:200]), members)
    assert covered(after)
    assert len(after.hashes) == 300


def test_a_cold_refit_carries_the_ids_of_clusters_that_stayed_together() -> None:
    members = topical(60, topics=3, spread=0.2)
    model = fitted(members[:20])
    after = recluster(model, members[:21])
    assert after.ids == model.ids


def test_a_proposal_prices_what_it_does_not_do() -> None:
    members = topical(400, topics=30)
    model = update(fitted(members[:200]), upserts=members[200:], current=vectors(members)).model
    found = propose(model, members)
    after = found.change.model
    assert found.calls == sum(child not in hashes(model) for child in hashes(after))
    assert found.cohesion == cohesion(model, members)
    assert found.cohesion_then == cohesion(after, members)
    assert found.ids_kept == len(set(after.ids) & set(model.ids)) / len(model.ids)
    assert found.worthwhile == (found.cohesion_then - found.cohesion >= 0.01)


def test_a_proposal_without_clusters_keeps_all_ids() -> None:
    assert propose(fitted(topical(1)), topical(1), ClusterParameters()).ids_kept == 1.0
