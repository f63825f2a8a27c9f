from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from overstory.clustering import ClusterModel, ClusterParameters, Member, update
from overstory.clustering.rule import choose, limit_secondaries, nearest
from overstory.clustering.space import build_space
from tests.unit.clustering_corpora import SMALL, covered, fitted, hashes, member, members_of, sizes, vectors

PARAMETERS = st.sampled_from([SMALL, ClusterParameters()])


@st.composite
def corpora(draw: st.DrawFn, most: int = 120) -> list[Member]:
    """Topics, copies, zero vectors and strangers, in any mixture."""
    count, dim = draw(st.integers(0, most)), draw(st.integers(1, 12))
    topics, spread = draw(st.integers(1, 12)), draw(st.sampled_from([0.0, 0.1, 0.6, 1.5]))
    random_rows = np.random.default_rng(draw(st.integers(0, 2**16)))
    rows = random_rows.normal(size=(topics, dim))[random_rows.integers(0, topics, count)]
    rows = rows + spread * random_rows.normal(size=(count, dim))
    rows[random_rows.random(count) < draw(st.sampled_from([0.0, 0.1, 0.9]))] = 0
    return members_of(rows)


def split_off(members: list[Member], share: float) -> tuple[list[Member], list[Member]]:
    cut = int(len(members) * share)
    return members[:cut], members[cut:]


def edits_of(members: list[Member], every: int) -> list[Member]:
    """Every n-th member with the vector of its opposite and another summary."""
    return [
        member(int(m.id[1:]), members[-1 - row].vector, "edited") for row, m in enumerate(members) if row % every == 0
    ]


def within(model: ClusterModel, most: int) -> bool:
    """Whether all sizes are allowed; a cluster may be small only where it is the last."""
    least = model.parameters.min_size if len(model.ids) > 1 else 1
    return all(least <= size <= most for size in sizes(model))


def contradicting(model: ClusterModel, members: list[Member]) -> int:
    """How many members have other clusters than the rule gives for the frozen shapes."""
    space = build_space(members, model.parameters.dimensions)
    twins = [(model.ids.index(one), model.ids.index(other)) for one, other in model.twins]
    near = nearest(space.points, model.centroids, model.parameters, twins)
    wanted = [
        {model.ids[c] for c, holds in zip(near.clusters[row], mask, strict=True) if holds}
        for row, mask in enumerate(choose(near, model.gates, model.margin))
    ]
    stored = [{cluster for cluster, _ in model.memberships[member]} for member in space.ids]
    return sum(one != other for one, other in zip(stored, wanted, strict=True))


@given(corpora(), PARAMETERS)
@settings(deadline=None)
def test_a_fit_covers_every_member_within_the_sizes(members: list[Member], parameters: ClusterParameters) -> None:
    model = fitted(members, parameters)
    assert set(model.hashes) == {m.id for m in members}
    assert len(members) < 2 or covered(model)
    assert within(model, max(parameters.fit_max, parameters.single_cluster_max))


@given(corpora(), PARAMETERS, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_members_does_not_matter(
    members: list[Member], parameters: ClusterParameters, shuffler: random.Random
) -> None:
    shuffled = members.copy()
    shuffler.shuffle(shuffled)
    assert fitted(shuffled, parameters).to_bytes() == fitted(members, parameters).to_bytes()


@given(corpora(), PARAMETERS)
@settings(deadline=None)
def test_an_update_with_all_members_as_they_are_is_the_model_itself(
    members: list[Member], parameters: ClusterParameters
) -> None:
    model = fitted(members, parameters)
    assert update(model, upserts=members, current={}).model is model


@given(corpora(), PARAMETERS)
@settings(deadline=None)
def test_bytes_give_back_the_model(members: list[Member], parameters: ClusterParameters) -> None:
    first, rest = split_off(members, 0.7)
    model = update(fitted(first, parameters), upserts=rest, deletes=["d0001"], current=vectors(first)).model
    back = ClusterModel.from_bytes(model.to_bytes())
    assert back.to_bytes() == model.to_bytes()
    assert (back.memberships, back.hashes, back.rosters, back.memo, back.parameters) == (
        model.memberships,
        model.hashes,
        model.rosters,
        model.memo,
        model.parameters,
    )
    assert np.array_equal(back.centroids, model.centroids)
    assert np.array_equal(back.gates, model.gates)


@given(corpora(), PARAMETERS, st.sampled_from([0.0, 0.05, 0.5, 0.9]), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_a_batch_covers_every_member_in_any_order(
    members: list[Member], parameters: ClusterParameters, share: float, shuffler: random.Random
) -> None:
    first, rest = split_off(members, share)
    model, gone = fitted(first, parameters), [m.id for m in first[::4]]
    batch = [*rest, *edits_of([m for m in first if m.id not in gone], 3)]
    one = update(model, upserts=batch, deletes=gone, current=vectors(first))
    shuffler.shuffle(batch)
    shuffler.shuffle(gone)
    other = update(model, upserts=batch, deletes=gone, current=vectors(members))
    assert other.model.to_bytes() == one.model.to_bytes()
    assert len(one.model.hashes) < 2 or covered(one.model)
    assert within(one.model, parameters.max_size)
    assert set(one.model.ids) == (set(model.ids) - set(one.removed)) | set(one.created)


@given(corpora(), PARAMETERS)
@settings(deadline=None)
def test_dirty_clusters_are_those_with_a_new_child_hash(members: list[Member], parameters: ClusterParameters) -> None:
    first, rest = split_off(members, 0.9)
    model = fitted(first, parameters)
    change = update(model, upserts=[*rest, *edits_of(first, 20)], current=vectors(first))
    before = {c: model.child_hash(c) for c in model.ids}
    after = {c: change.model.child_hash(c) for c in change.model.ids}
    assert set(change.dirty) == {c for c, found in after.items() if before.get(c) != found}


@given(corpora(), PARAMETERS)
@settings(deadline=None)
def test_one_addition_taken_back_restores_all_child_hashes(
    members: list[Member], parameters: ClusterParameters
) -> None:
    first, added = members[:-1], members[-1:]
    before = fitted(first, parameters)
    grown = update(before, upserts=added, current=vectors(first))
    shrunk = update(grown.model, deletes=[m.id for m in added], current=vectors(first)).model
    assert hashes(shrunk) == hashes(before)


@given(st.integers(0, 2**16), st.integers(130, 400))
@settings(deadline=None, max_examples=20)
def test_memberships_of_a_fit_are_the_fixed_point_of_the_rule_but_for_a_few(seed: int, count: int) -> None:
    # Rule and sizes can chase each other for ever: about two fits in a thousand do not come to rest.
    random_rows = np.random.default_rng(seed)
    rows = random_rows.normal(size=(30, 16))[random_rows.integers(0, 30, count)]
    members = members_of(rows + 0.8 * random_rows.normal(size=(count, 16)))
    assert contradicting(fitted(members), members) <= 0.1 * count


@given(st.integers(0, 2**16), st.integers(1, 12))
@settings(deadline=None, max_examples=30)
def test_limited_secondaries_never_overfill_a_cluster(seed: int, most: int) -> None:
    random_rows = np.random.default_rng(seed)
    points = build_space(members_of(random_rows.normal(size=(60, 5))), 64).points
    near = nearest(points, points[:9], ClusterParameters())
    free = choose(near, np.full(9, -1.0), 0.5)
    kept = limit_secondaries(free, near, most)
    assert not (kept & ~free).any()
    assert kept[:, 0].all()
    secondary = np.zeros_like(kept)
    secondary[:, 1:] = kept[:, 1:]
    primary = np.bincount(near.clusters[:, 0], minlength=9)
    total = np.bincount(near.clusters[kept], minlength=9)
    taken = np.bincount(near.clusters[secondary], minlength=9)
    assert ((total <= most) | (taken == 0)).all()
    refused = np.bincount(near.clusters[free & ~kept], minlength=9)
    assert (total[refused > 0] >= np.maximum(most, primary[refused > 0])).all()
