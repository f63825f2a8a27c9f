from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from overstory.clustering import ClusterParameters, fit
from overstory.clustering.fit import settle
from overstory.clustering.model import Naming
from overstory.clustering.space import build_space
from overstory.errors import EmbeddingError, SettingsError
from overstory.identity import ClusterId, derive_id
from tests.unit.clustering_corpora import SMALL, covered, fitted, member, members_of, sizes, topical


@pytest.mark.parametrize("count", [0, 1])
def test_case_25_no_cluster_for_none_or_one(count: int) -> None:
    assert fitted(topical(count)).ids == ()


@pytest.mark.parametrize("count", [2, 3, 5, 11, 24])
def test_case_25_a_small_corpus_is_one_cluster_with_weight_one(count: int) -> None:
    model = fitted(topical(count))
    assert [model.members(cluster) for cluster in model.ids] == [
        tuple((f"d{number:04d}", 1.0) for number in range(count))
    ]


@pytest.mark.parametrize(("count", "clusters"), [(25, 2), (40, 2), (60, 4), (100, 7), (691, 52), (8111, 608)])
def test_clusters_asked_for_grow_with_the_corpus(count: int, clusters: int) -> None:
    assert ClusterParameters().clusters_for(count) == clusters


@pytest.mark.parametrize("count", [25, 26, 40, 60, 100, 119, 120])
def test_a_growing_corpus_is_covered_within_the_sizes(count: int) -> None:
    model = fitted(topical(count))
    assert covered(model)
    assert sizes(model)[-1] <= 28
    assert len(model.ids) >= 2


@pytest.mark.parametrize(("count", "expected"), [(40, [14, 26]), (100, [10, 12, 15, 19, 22, 22])])
def test_identical_vectors_are_cut_without_a_copy_in_two_clusters(count: int, expected: list[int]) -> None:
    assert sizes(fitted(members_of(np.ones((count, 16))))) == expected


def test_zero_vectors_are_cut_like_identical_ones() -> None:
    assert sizes(fitted(members_of(np.zeros((40, 16))))) == [14, 26]


def test_copies_strangers_and_a_zero_vector_are_all_covered() -> None:
    draw = np.random.default_rng(3)
    rows = np.vstack([np.tile(draw.normal(size=16), (40, 1)), draw.normal(size=(10, 16)), np.zeros((1, 16))])
    model = fitted(members_of(rows))
    assert covered(model)
    assert max(len(weights) for weights in model.memberships.values()) <= 2


def test_a_rare_topic_ends_in_one_cluster() -> None:
    draw = np.random.default_rng(4)
    common, rare = draw.normal(size=(2, 32))
    rows = np.vstack([common + 0.3 * draw.normal(size=(50, 32)), rare + 0.3 * draw.normal(size=(5, 32))])
    model = fitted(members_of(rows))
    assert len({model.memberships[f"d{number:04d}"][0][0] for number in range(50, 55)}) == 1


@pytest.mark.parametrize("broken", [math.nan, math.inf, 1e300])
def test_a_vector_that_is_not_finite_is_refused_by_name(broken: float) -> None:
    rows = np.ones((30, 8))
    rows[7, 2] = broken
    members = members_of(np.ones((30, 8)))
    members[7] = replace(members[7], vector=rows[7])  # float64, to hold 1e300
    with pytest.raises(EmbeddingError, match="d0007 holds NaN or infinity"):
        fitted(members)


def test_vectors_of_two_lengths_are_refused_by_name() -> None:
    with pytest.raises(EmbeddingError, match=r"d0009 has shape \(4,\), not \(8,\)"):
        fitted([*members_of(np.ones((5, 8))), member(9, np.ones(4))])


def test_an_id_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="d0001 occurs more than once"):
        fitted([member(1, np.ones(4)), member(1, np.zeros(4))])


def test_the_id_of_a_single_cluster_is_derived_from_its_founders() -> None:
    model = fit(topical(3), namespace="handbook", generation=7, level=3)
    assert model.ids == (derive_id("cluster", "handbook", "3", "7", "d0000", "d0001", "d0002"),)


def test_large_corpora_are_reduced_to_64_dimensions() -> None:
    model = fitted(topical(260, topics=20, dim=80))
    assert model.basis is not None
    assert model.basis.shape == (80, 64)
    assert covered(model)


def test_small_corpora_keep_all_dimensions() -> None:
    assert fitted(topical(200, dim=80)).basis is None


def test_vectors_of_few_independent_directions_are_reduced_to_those() -> None:
    draw = np.random.default_rng(2)
    model = fitted(members_of(draw.normal(size=(300, 5)) @ draw.normal(size=(5, 90))))
    assert model.basis is not None
    assert model.basis.shape == (90, 5)


def test_members_of_two_topics_are_soft() -> None:
    model = fitted(topical(400, topics=25))
    shared = [weights for weights in model.memberships.values() if len(weights) > 1]
    assert 100 <= len(shared) <= 300
    assert all(a >= b for weights in shared for (_, a), (_, b) in pairwise(weights))


def test_a_seed_that_no_member_is_nearest_to_makes_no_cluster() -> None:
    space = build_space(topical(60), 64)
    naming = Naming("handbook", 2, 1)
    seeds = dict(zip((ClusterId(c) for c in "abc"), space.points[[0, 1, 1]], strict=True))
    assert "c" not in settle(space, seeds, ClusterParameters(), naming).shapes


def test_one_membership_each_where_the_mean_is_one() -> None:
    model = fitted(topical(400, topics=25), ClusterParameters(mean_memberships=1.0))
    assert {len(weights) for weights in model.memberships.values()} == {1}


def test_two_memberships_at_most_where_the_settings_say_so() -> None:
    model = fitted(topical(400, topics=25), ClusterParameters(max_memberships=2))
    assert {len(weights) for weights in model.memberships.values()} == {1, 2}


def test_no_two_clusters_share_half_of_their_members() -> None:
    model = fitted(topical(300, topics=40, spread=1.0), SMALL)
    rosters = list(model.rosters.values())
    pairs = [(a, b) for n, a in enumerate(rosters) for b in rosters[:n]]
    assert max(len(a & b) / len(a | b) for a, b in pairs) < 0.5


@pytest.mark.parametrize(
    "wrong",
    [
        {"target_size": 1},
        {"max_memberships": 4},
        {"mean_memberships": 0.9},
        {"mean_memberships": 3.5},
        {"mean_memberships": math.nan},
        {"fit_max": 33},
        {"secondary_max": 0},
        {"min_size": 11},
        {"gate_quantile": 1.0},
        {"hysteresis": -0.1},
        {"dimensions": 1},
        {"duplicate_cosine": 0.0},
        {"duplicate_jaccard": 1.5},
        {"single_cluster_max": 33},
    ],
)
def test_parameters_out_of_range_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        ClusterParameters(**wrong)  # type: ignore[arg-type]  # the values are wrong on purpose
