from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from overstory.clustering import Change, ClusterModel, Member, update
from overstory.errors import EmbeddingError
from tests.unit.clustering_corpora import (
    DIM,
    SMALL,
    covered,
    fitted,
    hashes,
    member,
    members_of,
    sizes,
    topical,
    vectors,
)


def never(_: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
    raise LookupError("no vector may be asked for")


def grow(model: ClusterModel, arrivals: list[Member], present: list[Member]) -> list[Change]:
    """Add members one by one."""
    known, changes = list(present), []
    for arrival in arrivals:
        changes.append(update(model, upserts=[arrival], current=vectors(known)))
        model = changes[-1].model
        known.append(arrival)
    return changes


def test_no_change_gives_the_model_itself() -> None:
    members = topical(60)
    model = fitted(members)
    change = update(model, upserts=members, deletes=["unknown"], current=never)
    assert change.model is model
    assert change.dirty == change.removed == ()


def test_a_known_summary_is_skipped_whatever_its_vector() -> None:
    members = topical(60)
    model = fitted(members)
    assert update(model, upserts=[replace(members[0], vector=members[9].vector)], current=never).model is model


@pytest.mark.parametrize("seed", range(5))
def test_case_30_one_more_of_200_touches_its_own_clusters_only(seed: int) -> None:
    *members, added = topical(201, topics=25, seed=seed)
    change = update(fitted(members), upserts=[added], current=never)
    assert 1 <= len(change.dirty) <= 4
    assert set(change.dirty) == {cluster for cluster, _ in change.model.memberships[added.id]}


@pytest.mark.parametrize("seed", range(3))
def test_case_30_from_500_on_nine_of_ten_clusters_stay(seed: int) -> None:
    *members, added = topical(501, topics=40, seed=seed)
    model = fitted(members)
    change = update(model, upserts=[added], current=never)
    assert len(change.touched) + len(change.removed) <= 0.1 * len(model.ids)


@pytest.mark.parametrize("count", [2, 24, 25, 60, 200, 500])
def test_case_30_removing_the_addition_restores_the_former_hashes(count: int) -> None:
    *members, added = topical(count + 1, topics=25)
    before = fitted(members)
    grown = update(before, upserts=[added], current=vectors(members)).model
    shrunk = update(grown, deletes=[added.id], current=vectors(members)).model
    assert hashes(shrunk) == hashes(before)
    assert hashes(grown) != hashes(before)


@pytest.mark.parametrize("number", range(0, 200, 20))
def test_an_edit_taken_back_restores_hashes_and_weights(number: int) -> None:
    members = topical(200, topics=25)
    before = fitted(members)
    edit = member(number, members[(number + 70) % 200].vector, "b")
    there = update(before, upserts=[edit], current=vectors(members)).model
    back = update(there, upserts=[members[number]], current=vectors(members)).model
    assert hashes(back) == hashes(before)
    assert back.memberships == before.memberships


def test_an_edit_moves_nobody_else() -> None:
    members = topical(200, topics=25)
    before = fitted(members)
    after = update(before, upserts=[member(5, members[90].vector, "b")], current=never).model
    moved = [m for m in before.hashes if before.memberships[m] != after.memberships[m]]
    assert moved == ["d0005"]


def test_a_small_edit_keeps_its_clusters_where_a_new_member_would_have_others() -> None:
    members = topical(300, topics=25)
    model = fitted(members)
    draw = np.random.default_rng(1)
    flips = [0, 0]
    for number, old in enumerate(members):
        near = old.vector + 0.05 * np.linalg.norm(old.vector) * draw.normal(size=DIM) / DIM**0.5
        edit = member(number, near, "b")
        kept = {c for c, _ in model.memberships[old.id]}
        for way, gone in enumerate(([], [old.id])):
            after = update(model, upserts=[edit], deletes=gone, current=vectors(members)).model
            flips[way] += {c for c, _ in after.memberships[old.id]} != kept
    assert flips[0] < flips[1] / 2


def test_a_deleted_member_leaves_and_nobody_moves() -> None:
    members = topical(200, topics=25)
    before = fitted(members)
    change = update(before, deletes=["d0007"], current=never)
    assert {c for c, _ in before.memberships["d0007"]} == set(change.touched)
    assert "d0007" not in change.model.memberships
    assert change.created == change.removed == ()


def test_a_member_deleted_and_added_at_once_is_placed_as_new() -> None:
    members = topical(200, topics=25)
    change = update(fitted(members), upserts=[members[3]], deletes=["d0003"], current=never)
    assert change.dirty == ()
    assert change.model.turned == 2


def test_one_batch_gives_one_result_in_any_order() -> None:
    members = topical(260, topics=25)
    model, batch = fitted(members[:200]), [*members[200:], member(3, members[77].vector, "b")]
    gone = ["d0010", "d0011", "d0150"]
    one = update(model, upserts=batch, deletes=gone, current=vectors(members))
    other = update(model, upserts=batch[::-1], deletes=gone[::-1], current=vectors(members[::-1]))
    assert one.model.to_bytes() == other.model.to_bytes()
    assert one.dirty == other.dirty


def test_an_overfull_cluster_is_cut_in_two_and_the_larger_half_keeps_the_id() -> None:
    members = topical(120, topics=20)
    model = fitted(members)
    target = max(model.ids, key=lambda c: len(model.rosters[c]))
    place = model.ids.index(target)
    draw = np.random.default_rng(2)
    crowd = [member(1000 + n, model.centroids[place] + 0.05 * draw.normal(size=DIM)) for n in range(40)]
    changes = grow(model, crowd, members)
    cut = next(change for change in changes if change.created)
    after = cut.model
    assert not cut.refitted
    assert cut.removed == ()
    assert target in cut.touched
    assert len(after.rosters[target]) >= len(after.rosters[cut.created[0]]) >= 11
    assert len(cut.dirty) <= 4


def test_after_a_crowd_all_are_covered_within_the_sizes() -> None:
    members = topical(120, topics=20)
    model = fitted(members)
    crowd = [member(1000 + n, members[0].vector + 0.01 * n) for n in range(300)]
    after = update(model, upserts=crowd, current=vectors(members)).model
    assert covered(after)
    assert sizes(after)[-1] <= 32


def test_a_small_cluster_is_dissolved_without_a_call_where_all_have_another() -> None:
    members = topical(400, topics=25)
    model = fitted(members)
    shared = {c: [m for m in roster if len(model.memberships[m]) == 1] for c, roster in model.rosters.items()}
    cluster = min(shared, key=lambda c: len(shared[c]))
    others = sorted(model.rosters[cluster] - set(shared[cluster]))
    leaving = [*shared[cluster], *others[: len(others) - 4]]
    change = update(model, deletes=leaving, current=never)
    assert change.removed == (cluster,)
    assert covered(change.model)


def test_members_of_a_dissolved_cluster_without_another_move_to_the_nearest_together() -> None:
    members = topical(400, topics=25)
    model = fitted(members)
    lone = {c: sorted(m for m in roster if len(model.memberships[m]) == 1) for c, roster in model.rosters.items()}
    cluster = max(lone, key=lambda c: len(lone[c]))
    leaving = sorted(model.rosters[cluster] - set(lone[cluster][:3]))
    change = update(model, deletes=leaving, current=never)
    homes = {change.model.memberships[m] for m in lone[cluster][:3]}
    assert change.removed == (cluster,)
    assert len(homes) == 1
    assert next(iter(homes))[0][1] == 1.0


def test_while_clusters_are_few_an_overfull_one_refits_all_and_ids_live_on() -> None:
    members = topical(60, topics=3, spread=0.4)
    model = fitted(members[:40])
    changes = grow(model, members[40:], members[:40])
    refits = [change for change in changes if change.refitted]
    assert len(refits) == 1
    assert refits[0].model.generation == 2
    assert set(refits[0].model.ids) & set(model.ids)


def test_growth_by_new_topics_costs_about_a_call_each_and_finds_the_topics() -> None:
    draw = np.random.default_rng(6)
    centers = draw.normal(size=(4, 32))
    labels = [0] * 10 + [1 + n % 3 for n in range(85)]
    members = members_of(centers[labels] + 0.5 * draw.normal(size=(95, 32)))
    changes = grow(fitted(members[:10]), members[10:], members[:10])
    model = changes[-1].model
    assert sum(len(change.dirty) for change in changes) / 85 <= 1.3
    parts = [[labels[int(m[1:])] for m in roster] for roster in model.rosters.values()]
    assert sum(max(map(part.count, part)) for part in parts) / sum(map(len, parts)) >= 0.9


def test_a_corpus_that_grows_and_shrinks_one_by_one_is_always_covered() -> None:
    members = topical(120)
    model = fitted(members[:1])
    for change in grow(model, members[1:], members[:1]):
        assert covered(change.model)
        assert sizes(change.model)[-1] <= 32
        model = change.model
    for gone in members[:1:-1]:
        model = update(model, deletes=[gone.id], current=vectors(members)).model
        assert covered(model)
        assert sizes(model)[-1] <= 32
    assert sizes(model) == [2]


@pytest.mark.parametrize("count", [0, 1])
def test_deleting_down_to_one_or_none_leaves_no_cluster(count: int) -> None:
    members = topical(30)
    change = update(fitted(members), deletes=[m.id for m in members[count:]], current=vectors(members))
    assert change.model.ids == ()
    assert len(change.removed) == 2
    assert len(change.model.hashes) == count


def test_a_cluster_of_a_small_corpus_keeps_its_id_and_asks_for_no_vector() -> None:
    members = topical(20)
    model = fitted(members[:5])
    change = update(model, upserts=members[5:], deletes=["d0000", "d0001", "d0002"], current=never)
    assert change.model.ids == change.touched == model.ids
    assert sizes(change.model) == [17]


@pytest.mark.parametrize("count", [5, 200])
def test_a_broken_vector_is_refused_and_named(count: int) -> None:
    model = fitted(topical(count))
    with pytest.raises(EmbeddingError, match="d0999 holds NaN"):
        update(model, upserts=[member(999, np.full(DIM, np.nan))], current=never)


def test_a_vector_that_is_needed_and_missing_is_named() -> None:
    *members, added = topical(25)
    with pytest.raises(EmbeddingError, match="d0000 is missing"):
        update(fitted(members), upserts=[added], current={})


def test_a_fetch_is_asked_for_the_split_cluster_only() -> None:
    members = topical(300, topics=40)
    model = fitted(members, SMALL)
    asked: list[str] = []

    def fetch(ids: Sequence[str]) -> Mapping[str, NDArray[np.float32]]:
        asked.extend(ids)
        return {m: vectors(members)[m] for m in ids}

    crowd = [member(1000 + n, members[0].vector * (1 + n)) for n in range(9)]
    change = update(model, upserts=crowd, current=fetch)
    split = {m for c in change.touched for m in model.rosters[c]}
    assert asked
    assert set(asked) <= split


def test_the_memo_is_bounded() -> None:
    members = topical(30)
    model = fitted(members)
    for state in range(40):
        batch = [replace(m, summary_hash=f"{m.id} {state}") for m in members]
        model = update(model, upserts=batch, current=vectors(members)).model
    assert len(model.memo) == 1000
