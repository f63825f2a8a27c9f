from __future__ import annotations

import numpy as np
import pytest

from overstory.clustering.bisection import bisect, halves, principal_direction
from overstory.clustering.draft import tie_breaks

TIES = tie_breaks([f"d{number}" for number in range(1000)])


def test_two_topics_are_parted() -> None:
    points = np.array([[0.0, 0.0], [9.0, 9.0], [0.1, 0.0], [9.0, 9.1]])
    low, high = halves(points, TIES[:4])
    assert {tuple(low), tuple(high)} == {(0, 2), (1, 3)}


@pytest.mark.parametrize("outliers", [1, 5, 10])
def test_a_few_outliers_take_others_with_them_up_to_a_third(outliers: int) -> None:
    points = np.zeros((30, 2))
    points[:outliers, 0] = 50
    assert sorted(map(len, halves(points, TIES[:30]))) == [10, 20]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 29, 33])
def test_identical_points_are_cut_a_third_from_the_end(count: int) -> None:
    low, high = halves(np.ones((count, 3)), TIES[:count])
    assert len(low) == -(-count // 3)
    assert sorted([*low, *high]) == list(range(count))


def test_a_cut_that_does_not_settle_is_taken_after_ten_steps() -> None:
    heights = np.random.default_rng(132).normal(size=1000)
    low, high = halves(heights[:, None], TIES)
    assert min(len(low), len(high)) >= 333
    assert max(heights[low]) <= min(heights[high]) or max(heights[high]) <= min(heights[low])


def test_the_principal_direction_is_that_of_the_largest_eigenvalue() -> None:
    points = np.random.default_rng(1).normal(size=(200, 4)) * [1.0, 5.0, 2.0, 0.5]
    centered = points - points.mean(axis=0)
    found = principal_direction(centered, TIES[:200])
    assert abs(found @ np.linalg.eigh(centered.T @ centered)[1][:, -1]) == pytest.approx(1.0)


def test_directions_of_equal_variance_give_one_well_defined_answer() -> None:
    points = np.eye(6) - np.eye(6).mean(axis=0)
    noise = 1e-15 * np.random.default_rng(1).normal(size=(6, 6))
    assert np.allclose(principal_direction(points, TIES[:6]), principal_direction(points + noise, TIES[:6]))


def test_the_largest_group_is_cut_until_there_are_enough() -> None:
    points = np.random.default_rng(1).normal(size=(90, 3))
    groups = bisect(points, TIES[:90], [np.arange(10), np.arange(10, 90)], 6)
    assert len(groups) == 6
    assert sorted(row for rows in groups for row in rows) == list(range(90))
    assert list(range(10)) in [list(rows) for rows in groups]


def test_points_run_out_before_groups() -> None:
    assert [list(rows) for rows in bisect(np.eye(3), TIES[:3], [np.arange(3)], 9)] == [[0], [1], [2]]
