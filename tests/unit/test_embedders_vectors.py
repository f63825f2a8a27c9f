"""Texts before, and vectors after a model has seen them."""

from __future__ import annotations

import numpy as np
import pytest

from overstory.adapters.embedders.vectors import encodable, is_blank, unit_rows
from overstory.errors import EmbeddingError


@pytest.mark.parametrize(("text", "blank"), [("", True), ("\u2003\r\n", True), (".", False), ("\u200b", False)])
def test_white_space_alone_is_blank(text: str, blank: bool) -> None:
    assert is_blank(text) is blank


def test_encodable_keeps_the_beginning_and_replaces_lone_surrogates() -> None:
    assert encodable("a\udfffbcd", 3) == "a?b"


def test_rows_are_divided_by_their_length() -> None:
    assert unit_rows([[3.0, 4.0]], 2, "m").tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]


def test_row_of_zeros_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="a vector of zeros"):
        unit_rows([[0.0, 0.0]], 2, "m")


@pytest.mark.parametrize("value", [1e39, -1e300])
def test_value_beyond_32_bits_is_refused(value: float) -> None:
    with pytest.raises(EmbeddingError, match="no finite numbers"):
        unit_rows([[1.0, value]], 2, "m")


def test_tiny_values_keep_their_direction() -> None:
    assert unit_rows([[1e-30, 0.0]], 2, "m").tolist() == [[1.0, 0.0]]


def test_row_of_another_length_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="m gave vectors of 3 dimensions where 2 were expected"):
        unit_rows([[1.0, 0.0], [1.0, 0.0, 0.0]], 2, "m")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_value_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(EmbeddingError, match="no finite numbers"):
        unit_rows([np.array([1.0, value])], 2, "m")
