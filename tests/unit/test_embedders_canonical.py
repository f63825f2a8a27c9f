"""An embedding hash changes with the model, and not with noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from overstory.canonical import exact_hash, steady_hash

Vector = NDArray[np.float32]


def floats(*values: float) -> Vector:
    return np.array(values, dtype=np.float32)


def vector(seed: int, dimension: int = 384) -> Vector:
    values = np.random.default_rng(seed).normal(size=dimension)
    return floats(*(values / np.linalg.norm(values)))


def test_exact_hash_ignores_what_lies_beyond_three_decimals() -> None:
    assert exact_hash("m", floats(0.1232, -0.0002)) == exact_hash("m", floats(0.1228, 0.0002))


def test_exact_hash_changes_with_a_third_decimal() -> None:
    assert exact_hash("m", floats(0.123, 0.5)) != exact_hash("m", floats(0.124, 0.5))


def test_steady_hash_survives_the_noise_of_an_endpoint() -> None:
    noise = np.random.default_rng(0).normal(scale=1e-4, size=384).astype(np.float32)
    same = [steady_hash("m", vector(seed)) == steady_hash("m", vector(seed) + noise) for seed in range(200)]
    assert sum(same) >= 190


def test_steady_hash_tells_other_models_apart() -> None:
    assert len({steady_hash("m", vector(seed)) for seed in range(200)}) > 100


@pytest.mark.parametrize("hashed", [exact_hash, steady_hash])
def test_hash_changes_with_the_name_and_the_dimension(hashed: Callable[[str, Vector], str]) -> None:
    zeros, longer = floats(*[0.0] * 8), floats(*[0.0] * 16)
    assert len({hashed("a", zeros), hashed("b", zeros), hashed("a", longer)}) == 3
