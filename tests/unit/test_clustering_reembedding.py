from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overstory.clustering import ClusterModel, Member, update
from overstory.clustering.reembedding import reembed
from tests.unit.clustering_corpora import covered, fitted, hashes, topical, vectors


def turned(members: list[Member], dim: int) -> list[Member]:
    """The members as another embedder of ``dim`` dimensions sees them, nearly alike."""
    draw = np.random.default_rng(9)
    other = draw.normal(size=(members[0].vector.size, dim))
    return [replace(m, vector=(m.vector @ other).astype(np.float32)) for m in members]


@pytest.mark.parametrize("count", [2, 24, 60, 300])
def test_another_embedder_changes_no_cluster_and_no_child_hash(count: int) -> None:
    members = topical(count, topics=25)
    model = fitted(members)
    after = reembed(model, turned(members, 96))
    assert after.ids == model.ids
    assert after.rosters == model.rosters
    assert hashes(after) == hashes(model)
    assert after.dimension == 96
    assert covered(after)


def test_an_update_goes_on_in_the_new_space() -> None:
    *members, added = turned(topical(301, topics=25), 96)
    model = reembed(fitted(topical(301, topics=25)[:-1]), members)
    change = update(model, upserts=[added], current=vectors(members))
    assert 1 <= len(change.dirty) <= 4
    assert covered(change.model)


def test_members_the_model_does_not_know_are_left_to_an_update() -> None:
    members = topical(300, topics=25)
    after = reembed(fitted(members[:200]), turned(members, 96))
    assert set(after.hashes) == {m.id for m in members[:200]}


def test_members_without_a_new_vector_stay_in_their_clusters() -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    after = reembed(model, turned(members[::2], 96))
    assert after.rosters == model.rosters
    assert hashes(after) == hashes(model)
    assert covered(after)


def without(members: list[Member], model: ClusterModel, lost: int) -> list[Member]:
    """The members that are in none of the first ``lost`` clusters."""
    gone = set().union(*(model.rosters[cluster] for cluster in model.ids[:lost]))
    return [m for m in members if m.id not in gone]


@pytest.mark.parametrize("lost", [1, 3, 12])
def test_clusters_without_any_new_vector_stay(lost: int) -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    after = reembed(model, turned(without(members, model, lost), 96))
    assert after.ids == model.ids
    assert after.rosters == model.rosters
    assert hashes(after) == hashes(model)
    assert ClusterModel.from_bytes(after.to_bytes()).rosters == after.rosters


def test_a_cluster_without_any_new_vector_admits_nobody() -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    kept = turned(without(members, model, 1), 96)
    after = reembed(model, kept)
    like_them = [replace(m, id=f"new {m.id}") for m in turned(members, 96) if m.id in model.rosters[model.ids[0]]]
    change = update(after, upserts=like_them, current=vectors(kept))
    assert change.model.rosters[model.ids[0]] == model.rosters[model.ids[0]]
    assert covered(change.model)


@pytest.mark.parametrize("count", [0, 1, 24])
def test_a_model_that_knows_no_member_cannot_be_carried_over(count: int) -> None:
    strangers = [replace(m, id=f"new {m.id}") for m in topical(30)]
    with pytest.raises(ValueError, match="no member"):
        reembed(fitted(topical(count)), strangers)
