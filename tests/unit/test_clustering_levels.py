from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from overstory.clustering import ClusterModel, ClusterParameters, above, centroids_as_members, fit_above, update
from overstory.clustering.geometry import unit
from overstory.identity import ClusterId
from tests.unit.clustering_corpora import SMALL, covered, fitted, members_of, topical


def summary_hashes(model: ClusterModel) -> dict[ClusterId, str]:
    return {cluster: model.child_hash(cluster) for cluster in model.ids}


def levels(model: ClusterModel) -> list[int]:
    """Nodes of each level from the clusters of documents up."""
    found: list[int] = []
    current: ClusterModel | None = model
    while current is not None and current.ids:
        found.append(len(current.ids))
        current = fit_above(current, summary_hashes(current))
    return found


@pytest.mark.parametrize("count", [2, 3, 5, 8, 24])
def test_case_26_few_documents_have_one_parent_in_one_step(count: int) -> None:
    assert levels(fitted(members_of(np.eye(count)))) == [1]


def test_case_26_thirty_separate_documents_make_no_staircase() -> None:
    found = levels(fitted(members_of(np.eye(30))))
    assert found == [2, 1]
    assert sum(found) <= 15


@pytest.mark.parametrize("count", [0, 1])
def test_case_26_no_document_or_one_has_no_level(count: int) -> None:
    assert levels(fitted(topical(count))) == []


@pytest.mark.parametrize("count", [60, 300, 900])
def test_case_26_each_level_is_at_most_half_of_the_one_below(count: int) -> None:
    found = [count, *levels(fitted(topical(count, topics=60)))]
    assert found[-1] == 1
    assert all(2 * higher <= lower for lower, higher in pairwise(found))


def test_a_level_of_more_than_half_the_nodes_below_is_not_built() -> None:
    pairs = ClusterParameters(
        target_size=2, fit_max=2, secondary_max=2, max_size=3, min_size=1, single_cluster_max=2, mean_memberships=1.0
    )
    model = fitted(members_of(np.repeat(np.eye(3), 2, axis=0)), pairs)
    assert len(model.ids) == 3
    assert fit_above(model, summary_hashes(model)) is None


def test_a_cluster_of_clusters_has_one_parent() -> None:
    model = fitted(topical(900, topics=60))
    higher = fit_above(model, summary_hashes(model))
    assert higher is not None
    assert higher.level == 3
    assert covered(higher)
    assert {len(weights) for weights in higher.memberships.values()} == {1}


def test_centroids_stand_in_the_space_of_the_documents() -> None:
    model = fitted(topical(300, topics=25, dim=80))
    members = centroids_as_members(model, summary_hashes(model))
    assert model.basis is not None
    rows = np.stack([m.vector for m in members]).astype(np.float64)
    assert rows.shape == (len(model.ids), 80)
    assert np.allclose(unit(rows @ model.basis), model.centroids, atol=1e-6)


def test_clusters_without_a_summary_are_no_members() -> None:
    model = fitted(topical(100))
    some = dict(list(summary_hashes(model).items())[1:])
    assert [m.id for m in centroids_as_members(model, some)] == list(model.ids[1:])


def test_a_new_summary_below_touches_one_parent_and_moves_nobody() -> None:
    model = fitted(topical(900, topics=60))
    higher = fit_above(model, summary_hashes(model))
    assert higher is not None
    changed = {**summary_hashes(model), model.ids[4]: "another"}
    change = update(higher, upserts=centroids_as_members(model, changed), current={})
    assert change.touched == (higher.memberships[model.ids[4]][0][0],)
    assert change.model.memberships == higher.memberships


def test_levels_above_want_one_parent_each() -> None:
    assert above(SMALL).mean_memberships == 1.0
    assert above(SMALL).target_size == SMALL.target_size
